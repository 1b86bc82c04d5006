//! Deduplication of inputs, in the import's thread: identical files, prefixes of others, and files of earlier imports.
//!
//! Decided by content, never by size and time. Only inputs that begin alike are read for it.

use std::{
    collections::{BTreeMap, BTreeSet},
    io::{self, Read},
};

use fenxi_model::RunId;
use fenxi_store::{IMPORT, Store, StoreError};

use crate::{
    source::{Content, Source},
    unpack::{read_full, unpacked},
};

/// How much of its beginning decides whether an input may be the same as another: enough to get
/// behind a banner that all tools of one day print. A shorter input is the same only as an equal one.
const HEAD: usize = 256;

/// How much of each input may be hashed, and for how long.
pub(crate) struct HashLimits<'a> {
    /// Bytes of an input, unpacked; what is longer is the same as no other.
    pub(crate) most: u64,
    /// Whether to go on.
    pub(crate) go_on: &'a mut dyn FnMut() -> bool,
}

/// For each input whose content is the beginning of another one's: its place, and that other's. Not all of them when it is
/// to end.
pub(crate) fn duplicates(sources: &[Source], mut limits: HashLimits<'_>) -> BTreeMap<usize, usize> {
    let mut alike: BTreeMap<Vec<u8>, Vec<usize>> = BTreeMap::new();
    if sources.len() > 1 {
        for (place, source) in sources.iter().enumerate() {
            // An unreadable one is reported when it is imported. An empty one repeats nothing.
            if let Some(head) = head(source, HEAD).filter(|h| !h.is_empty()) {
                alike.entry(head).or_default().push(place);
            }
        }
    }
    let mut found = BTreeMap::new();
    for group in alike.into_values().filter(|group| group.len() > 1) {
        let mut hashes = |place: usize, lengths: &[u64]| hash(&sources[place], lengths, &mut limits).ok();
        let hashed = group.into_iter().filter_map(|place| Some((place, hashes(place, &[])?)));
        let mut hashed: Vec<(usize, Hashes)> = hashed.collect();
        // The longest first; of equals the one that was named first.
        hashed.sort_by_key(|(place, of)| (std::cmp::Reverse(of.bytes), *place));
        for (i, (whole, _)) in hashed.iter().enumerate() {
            if found.contains_key(whole) {
                continue;
            }
            let rest: Vec<_> = hashed[i + 1..].iter().filter(|(place, _)| !found.contains_key(place)).collect();
            if rest.is_empty() {
                break;
            }
            let lengths: Vec<u64> = rest.iter().map(|(_, of)| of.bytes).collect();
            let Some(Hashes { prefixes, .. }) = hashes(*whole, &lengths) else { continue };
            let same = rest.into_iter().zip(prefixes).filter(|((_, of), prefix)| of.whole == *prefix);
            found.extend(same.map(|((place, _), _)| (*place, *whole)));
        }
    }
    found
}

/// Those of `digests` that are of inputs which earlier imports kept, and the runs that have them.
pub(crate) fn known_inputs(store: &Store, digests: &BTreeSet<&str>) -> Result<BTreeMap<String, RunId>, StoreError> {
    let mut known = BTreeMap::new();
    for summary in store.summaries()?.iter().filter(|s| s.kind == IMPORT) {
        if known.len() == digests.len() {
            break;
        }
        let run = match store.run(&summary.id) {
            // Removed by somebody else since it was listed.
            Err(StoreError::Unknown { .. }) => continue,
            run => run?,
        };
        for input in run.manifest.inputs {
            if digests.contains(input.blake3.as_str()) {
                known.entry(input.blake3).or_insert_with(|| summary.id.clone());
            }
        }
    }
    Ok(known)
}

/// So many first bytes, unpacked, none of an empty file; None for standard input and for what cannot be
/// read.
pub(crate) fn head(source: &Source, bytes: usize) -> Option<Vec<u8>> {
    if matches!(source.content, Content::Stdin(_)) {
        return None;
    }
    if let Content::Held(content) = &source.content {
        // It is not packed.
        return Some(content[..content.len().min(bytes)].to_vec());
    }
    let (_, mut reader) = unpacked(source.content.open().ok()?).ok()?;
    let mut head = vec![0u8; bytes];
    let n = read_full(&mut reader, &mut head).ok()?;
    head.truncate(n);
    Some(head)
}

/// The BLAKE3 of an input, unpacked, and of beginnings of it.
struct Hashes {
    bytes: u64,
    whole: blake3::Hash,
    prefixes: Vec<blake3::Hash>,
}

/// Hashes an input and its first bytes up to each of `lengths` (descending).
fn hash(source: &Source, lengths: &[u64], limits: &mut HashLimits<'_>) -> io::Result<Hashes> {
    let (_, mut reader) = unpacked(source.content.open()?)?;
    let mut hasher = blake3::Hasher::new();
    let mut prefixes = Vec::new();
    let mut stops = lengths.iter().rev().copied().peekable();
    let mut at = 0u64;
    let mut buffer = vec![0u8; 256 << 10];
    loop {
        while stops.peek() == Some(&at) {
            prefixes.push(hasher.finalize());
            stops.next();
        }
        let most = stops.peek().map_or(buffer.len(), |stop| buffer.len().min((stop - at) as usize));
        let n = reader.read(&mut buffer[..most])?;
        if n == 0 {
            break;
        }
        hasher.update(&buffer[..n]);
        at += n as u64;
        if at > limits.most || !(limits.go_on)() {
            return Err(io::ErrorKind::Interrupted.into());
        }
    }
    prefixes.reverse();
    Ok(Hashes { bytes: at, whole: hasher.finalize(), prefixes })
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;
    use crate::{UnpackBudget, inputs::collect};

    #[test]
    fn equal_files_and_beginnings_of_others_are_found_whatever_their_packing() {
        let dir = tempfile::tempdir().unwrap();
        let text: Vec<u8> = (0..20_000).flat_map(|i| format!("line {i}\n").into_bytes()).collect();
        let mut gz = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        gz.write_all(&text).unwrap();
        let mut other = text.clone();
        other[100_000] ^= 1;
        for (name, bytes) in [
            ("a-whole", &text[..]),
            ("b-packed.gz", &gz.finish().unwrap()),
            ("c-beginning", &text[..50_000]),
            ("d-other", &other),
            ("e-empty", b""),
            ("f-empty", b""),
        ] {
            fs_err::write(dir.path().join(name), bytes).unwrap();
        }
        let sources = collect(dir.path(), &mut UnpackBudget::until(&|| false)).unwrap();
        let found = |most, go_on: bool| {
            let limits = HashLimits { most, go_on: &mut || go_on };
            duplicates(&sources, limits).into_iter().collect::<Vec<_>>()
        };
        assert_eq!(found(u64::MAX, true), [(1, 0), (2, 0)]);
        // A file that is too long is not read to its end, and none is when the search is to end.
        assert_eq!((found(60_000, true), found(u64::MAX, false)), (vec![], vec![]));
    }
}
