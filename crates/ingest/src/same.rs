//! Inputs that say the same twice: equal files, and files that are the beginning of another one.
//!
//! Told by content, never by size and time. Only inputs that begin alike are read for it.

use std::{
    collections::BTreeMap,
    io::{self, Read},
};

use crate::{
    inputs::{Content, Source},
    unpack::{read_full, unpacked},
};

/// How much of its beginning tells whether an input may be the same as another: enough to get
/// behind a banner that all tools of one day print.
const HEAD: usize = 256;

/// For each input that another one contains: its place, and that other's.
pub(crate) fn contained(sources: &[Source]) -> BTreeMap<usize, usize> {
    let mut alike: BTreeMap<Vec<u8>, Vec<usize>> = BTreeMap::new();
    if sources.len() > 1 {
        for (place, source) in sources.iter().enumerate() {
            // One that cannot be read is told when it is imported.
            if let Some(head) = head(source).filter(|h| !h.is_empty()) {
                alike.entry(head).or_default().push(place);
            }
        }
    }
    let mut found = BTreeMap::new();
    for group in alike.into_values().filter(|group| group.len() > 1) {
        let mut sized: Vec<(u64, usize)> = Vec::new();
        for place in group {
            if let Ok(length) = hash_until(&sources[place], &[]).map(|(length, _)| length) {
                sized.push((length, place));
            }
        }
        // The longest first; of equals the one that was named first.
        sized.sort_by_key(|(length, place)| (std::cmp::Reverse(*length), *place));
        for (i, (_, whole)) in sized.iter().enumerate() {
            if found.contains_key(whole) {
                continue;
            }
            let rest: Vec<_> = sized[i + 1..].iter().filter(|(_, place)| !found.contains_key(place)).collect();
            let lengths: Vec<u64> = rest.iter().map(|(length, _)| *length).collect();
            let Ok((_, prefixes)) = hash_until(&sources[*whole], &lengths) else { continue };
            for ((length, place), prefix) in rest.into_iter().zip(prefixes) {
                if hash_until(&sources[*place], &[*length]).is_ok_and(|(_, own)| own.first() == Some(&prefix)) {
                    found.insert(*place, *whole);
                }
            }
        }
    }
    found
}

/// The first bytes, unpacked; None for standard input and for what cannot be read. Never empty
/// files are alike.
pub(crate) fn head(source: &Source) -> Option<Vec<u8>> {
    let Content::File(_) = source.content else { return None };
    let (_, mut reader) = unpacked(source.content.open().ok()?).ok()?;
    let mut head = vec![0u8; HEAD];
    let n = read_full(&mut reader, &mut head).ok()?;
    head.truncate(n);
    Some(head)
}

/// The unpacked length, and the BLAKE3 of the first bytes up to each of `lengths` (descending).
fn hash_until(source: &Source, lengths: &[u64]) -> io::Result<(u64, Vec<blake3::Hash>)> {
    let (_, mut reader) = unpacked(source.content.open()?)?;
    let mut hasher = blake3::Hasher::new();
    let mut hashes = Vec::new();
    let mut stops = lengths.iter().rev().copied().peekable();
    let mut at = 0u64;
    let mut buffer = vec![0u8; 256 << 10];
    loop {
        while stops.peek() == Some(&at) {
            hashes.push(hasher.finalize());
            stops.next();
        }
        let most = stops.peek().map_or(buffer.len(), |stop| buffer.len().min((stop - at) as usize));
        let n = reader.read(&mut buffer[..most])?;
        if n == 0 {
            break;
        }
        hasher.update(&buffer[..n]);
        at += n as u64;
    }
    hashes.reverse();
    Ok((at, hashes))
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;
    use crate::inputs::collect;

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
        let sources = collect(dir.path()).unwrap();
        let found: Vec<_> = contained(&sources).into_iter().collect();
        assert_eq!(found, [(1, 0), (2, 0)]);
    }
}
