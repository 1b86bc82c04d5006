//! A file that several collectors read at the same moment: the kernel writes it once for all of them.
//!
//! /proc/interrupts of a machine with many CPUs takes the kernel milliseconds to write, so two collectors must not have
//! it written twice.

use std::{
    fmt, io,
    sync::{Arc, Mutex, PoisonError, Weak},
};

use rustc_hash::FxHashMap;

use crate::ProcFile;

/// The files of a root that are shared at the moment.
#[derive(Clone, Default)]
pub(crate) struct SharedFiles {
    open: Arc<Mutex<Open>>,
}

/// The files that are open, by their absolute path.
type Open = FxHashMap<Box<str>, Weak<Mutex<CachedFile>>>;

impl fmt::Debug for SharedFiles {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SharedFiles")
    }
}

impl SharedFiles {
    /// The file that others have open already, or the one that `open` gives.
    pub(crate) fn get(&self, absolute: &str, open: impl FnOnce() -> io::Result<ProcFile>) -> io::Result<SharedFile> {
        let mut files = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(kept) = files.get(absolute).and_then(Weak::upgrade) {
            return Ok(SharedFile { kept, had: 0 });
        }
        let kept = Arc::new(Mutex::new(CachedFile { file: open()?, bytes: Vec::new(), moment: None, n: 0 }));
        files.insert(absolute.into(), Arc::downgrade(&kept));
        Ok(SharedFile { kept, had: 0 })
    }
}

#[derive(Debug)]
struct CachedFile {
    file: ProcFile,
    /// Bytes of the last reading.
    bytes: Vec<u8>,
    /// The moment it was read for.
    moment: Option<i64>,
    /// How often it was read.
    n: u64,
}

/// One reader's hold on a shared file.
#[derive(Debug)]
pub struct SharedFile {
    kept: Arc<Mutex<CachedFile>>,
    /// The reading that this reader had last.
    had: u64,
}

impl SharedFile {
    /// Gives `with` the content at `moment`: what another reader read for that moment, unless this one had that already.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub fn read_at<R>(&mut self, moment: i64, with: impl FnOnce(&[u8]) -> R) -> io::Result<R> {
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        let kept = &mut *kept;
        if kept.moment != Some(moment) || kept.n == self.had {
            kept.moment = None;
            let read = kept.file.read()?;
            kept.bytes.clear();
            kept.bytes.extend_from_slice(read);
            (kept.moment, kept.n) = (Some(moment), kept.n + 1);
        }
        self.had = kept.n;
        Ok(with(&kept.bytes))
    }
}

#[cfg(test)]
mod tests {
    use crate::{Given, Root};

    #[test]
    fn readers_of_one_moment_share_a_reading_and_each_has_it_once() {
        let given = Given::default();
        let root = Root::given(&given);
        given.set("/proc/interrupts", b"a".to_vec());
        let (mut one, mut other) =
            (root.open_shared("/proc/interrupts").unwrap(), root.clone().open_shared("/proc/interrupts").unwrap());
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        assert_eq!(one.read_at(1, text).unwrap(), "a");
        given.set("/proc/interrupts", b"b".to_vec());
        assert_eq!(other.read_at(1, text).unwrap(), "a", "what the first read");
        assert_eq!(other.read_at(1, text).unwrap(), "b", "asked again, it is read again");
        assert_eq!(one.read_at(1, text).unwrap(), "b");
        given.set("/proc/interrupts", b"c".to_vec());
        assert_eq!(one.read_at(2, text).unwrap(), "c");
        assert_eq!(other.read_at(2, text).unwrap(), "c");
    }

    #[test]
    fn a_file_that_is_not_there_is_an_error_for_each() {
        let root = Root::saved("/nowhere");
        assert!(root.open_shared("/proc/interrupts").is_err());
        assert!(root.open_shared("/proc/interrupts").is_err());
    }
}
