//! Manifests that a process has read, for the next look at them: that of a run of ten thousand inputs has megabytes, and each
//! table of each statement begins with it.
//!
//! One holds as long as device, inode, size and both times of its file stay what they were. A file may change twice within
//! one step of the kernel's clock: one that was young when it was read is read again, and parsed again only if it is another.

use std::{
    collections::VecDeque,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
};

use crate::{
    Manifest, StoreError,
    bounds::MANY,
    stamp::{Stamp, now_ns},
};

/// Bytes of their texts that are held in all; the last one read is held however long it is.
const MOST_BYTES: u64 = 32 << 20;
/// How many are held: those of as many runs as are looked at one by one.
const MOST: usize = MANY;

/// Manifests that were read, the latest one first.
#[derive(Debug, Default)]
pub(crate) struct KeptManifests(Mutex<VecDeque<Kept>>);

#[derive(Debug)]
struct Kept {
    path: PathBuf,
    stamp: Stamp,
    /// Whether a change since it was read would show in the stamp.
    is_settled: bool,
    digest: blake3::Hash,
    manifest: Arc<Manifest>,
}

impl KeptManifests {
    /// The manifest in the file at `path`, which `stamp` is of: `read` gives its bytes, `parse` what they say.
    pub(crate) fn get(
        &self,
        path: &Path,
        stamp: Stamp,
        read: impl FnOnce() -> Result<(Vec<u8>, Stamp), StoreError>,
        parse: impl FnOnce(&[u8]) -> Result<Manifest, StoreError>,
    ) -> Result<Arc<Manifest>, StoreError> {
        if let Some(kept) = self.find(|kept| kept.path == path && kept.stamp == stamp && kept.is_settled) {
            return Ok(kept);
        }
        let now = now_ns();
        let (text, after) = read()?;
        let (digest, is_settled) = (blake3::hash(&text), stamp.is_settled(now));
        let known = self.find(|kept| kept.path == path && kept.digest == digest);
        let manifest = known.map_or_else(|| parse(&text).map(Arc::new), Ok)?;
        if stamp == after {
            self.add(Kept { path: path.to_owned(), stamp, is_settled, digest, manifest: Arc::clone(&manifest) });
        }
        Ok(manifest)
    }

    fn find(&self, is: impl Fn(&Kept) -> bool) -> Option<Arc<Manifest>> {
        let all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        all.iter().find(|kept| is(kept)).map(|kept| Arc::clone(&kept.manifest))
    }

    fn add(&self, kept: Kept) {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        all.retain(|other| other.path != kept.path);
        all.push_front(kept);
        let mut bytes = 0;
        let mut fits = |kept: &Kept| {
            bytes += kept.stamp.size;
            bytes <= MOST_BYTES
        };
        let n = all.iter().take(MOST).take_while(|kept| fits(kept)).count();
        all.truncate(n.max(1));
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;

    const PATH: &str = "run.json";
    const MANIFEST: &str = r#"{"format": 1, "id": "20261121T000000-a-0000", "kind": "record", "hosts": [], "start": 0, "end": 0, "files": []}"#;

    fn stamp(size: u64, age_s: i128) -> Stamp {
        let then = now_ns() - age_s * 1_000_000_000;
        Stamp { dev: 1, ino: 2, size, mtime_ns: then, ctime_ns: then }
    }

    /// Looks at a file with `text` in it; how often it was read and parsed.
    fn look(kept: &KeptManifests, path: &str, stamp: Stamp, text: &str) -> (u32, u32) {
        let (reads, parses) = (Cell::new(0), Cell::new(0));
        let read = || {
            reads.set(reads.get() + 1);
            Ok((text.as_bytes().to_vec(), stamp))
        };
        let parse = |_: &[u8]| {
            parses.set(parses.get() + 1);
            Ok(Manifest { command: vec![text.to_owned()], ..serde_json::from_str(MANIFEST).unwrap() })
        };
        let found = kept.get(Path::new(path), stamp, read, parse).unwrap();
        assert_eq!(found.command, [text]);
        (reads.get(), parses.get())
    }

    #[test]
    fn an_old_file_is_read_once_and_a_young_one_parsed_once() {
        let kept = KeptManifests::default();
        let (old, young) = (stamp(1, 10), stamp(1, 0));
        assert_eq!(look(&kept, PATH, old, "a"), (1, 1));
        assert_eq!(look(&kept, PATH, old, "a"), (0, 0));
        assert_eq!(look(&kept, PATH, young, "a"), (1, 0), "another file that says the same");
        assert_eq!(look(&kept, PATH, young, "a"), (1, 0));
        // Changed within one step of the clock.
        assert_eq!(look(&kept, PATH, young, "b"), (1, 1));
        assert_eq!(look(&kept, "other", young, "b"), (1, 1), "of another run");
    }

    #[test]
    fn few_are_held() {
        let kept = KeptManifests::default();
        let names: Vec<String> = (0..=MOST).map(|i| i.to_string()).collect();
        names.iter().for_each(|name| assert_eq!(look(&kept, name, stamp(1, 10), "a"), (1, 1)));
        assert_eq!(kept.0.lock().unwrap().len(), MOST);
        assert_eq!(look(&kept, "long", stamp(MOST_BYTES + 1, 10), "a"), (1, 1));
        assert_eq!(kept.0.lock().unwrap().len(), 1, "however long it is");
    }
}
