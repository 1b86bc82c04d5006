//! Memory limits for untrusted text: lists are counted before anything is allocated for them.
//!
//! A few bytes of JSON can be a hundred of memory, and what a manifest holds is read again with every listing. What
//! no recorder and no import ever has a reason to write is refused in words.

use std::fmt;

use serde::{
    Deserialize, Deserializer,
    de::{IgnoredAny, MapAccess, SeqAccess, Visitor},
};

/// Above so many runs, a whole look at the index is cheaper than one look at each manifest.
pub(crate) const MANY: usize = 64;

/// Bytes of a manifest or of labels without its list of files.
pub const TEXT: usize = 1 << 20;
/// Bytes that a manifest may have for each of its files and inputs.
const TEXT_OF_FILE: usize = 2 << 10;
/// Bytes of any manifest.
pub const MANIFEST: u64 = 8 << 20;
/// Bytes of any file of a store that is read whole: the index of ten thousand runs is the longest.
pub const WHOLE: u64 = 256 << 20;
/// Words of a command.
pub(crate) const WORDS: usize = 10_000;
/// Bytes of a command: JSON may need six for each, and the manifest must still be one that is taken in.
pub(crate) const COMMAND: usize = 128 << 10;
/// Words, and bytes, of a command in a listing.
const LISTED: (usize, usize) = (200, 4 << 10);

/// How many entries a list or a map has. Nothing is kept of them.
#[derive(Clone, Copy, Debug, Default)]
struct Count(usize);

impl<'de> Deserialize<'de> for Count {
    fn deserialize<D: Deserializer<'de>>(reader: D) -> Result<Count, D::Error> {
        reader.deserialize_any(Counting)
    }
}

struct Counting;

impl<'de> Visitor<'de> for Counting {
    type Value = Count;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list or a map")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Count, A::Error> {
        let mut n = 0;
        while list.next_element::<IgnoredAny>()?.is_some() {
            n += 1;
        }
        Ok(Count(n))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Count, A::Error> {
        let mut n = 0;
        while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {
            n += 1;
        }
        Ok(Count(n))
    }

    // Whether it may be anything else is for those to say who read it.
    fn visit_unit<E>(self) -> Result<Count, E> {
        Ok(Count(0))
    }

    fn visit_bool<E>(self, _: bool) -> Result<Count, E> {
        Ok(Count(0))
    }

    fn visit_i64<E>(self, _: i64) -> Result<Count, E> {
        Ok(Count(0))
    }

    fn visit_u64<E>(self, _: u64) -> Result<Count, E> {
        Ok(Count(0))
    }

    fn visit_f64<E>(self, _: f64) -> Result<Count, E> {
        Ok(Count(0))
    }

    fn visit_str<E>(self, _: &str) -> Result<Count, E> {
        Ok(Count(0))
    }
}

/// The lists of a manifest, or of labels.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Counts {
    command: Count,
    hosts: Count,
    params: Count,
    tags: Count,
    windows: Count,
    sources: Count,
    costs: Count,
    remarks: Count,
    inputs: Count,
    files: Count,
}

/// The excess of a manifest or of labels over the limits; None when they may be read.
pub(crate) fn excess(text: &[u8]) -> Option<String> {
    let counts: Counts = match serde_json::from_slice(text) {
        Ok(counts) => counts,
        // A key given twice, for one: other readers may use either value.
        Err(error) if error.is_data() => return Some(format!("what cannot be counted: {error}")),
        // Invalid JSON is reported where it is parsed.
        Err(_) => return None,
    };
    let lists = [
        ("words of a command", counts.command, 2 * WORDS),
        ("hosts", counts.hosts, 10_000),
        ("parameters", counts.params, 1000),
        ("tags", counts.tags, 1000),
        ("windows", counts.windows, 10_000),
        ("sources", counts.sources, 10_000),
        ("costs", counts.costs, 10_000),
        ("remarks", counts.remarks, 10_000),
    ];
    if let Some((what, count, most)) = lists.into_iter().find(|(_, count, most)| count.0 > *most) {
        return Some(format!("{} {what}, and {most} are the most", count.0));
    }
    let allowed = TEXT + TEXT_OF_FILE.saturating_mul(counts.inputs.0 + counts.files.0);
    (text.len() > allowed).then(|| format!("{} bytes, and {allowed} are the most for its files", text.len()))
}

/// A command as a manifest keeps it: the beginning of one that is longer than anybody reads, and how much is missing.
pub(crate) fn kept_command(command: Vec<String>) -> Vec<String> {
    beginning(command, WORDS, COMMAND)
}

/// A command as a listing has it.
pub(crate) fn listed_command(command: Vec<String>) -> Vec<String> {
    beginning(command, LISTED.0, LISTED.1)
}

fn beginning(mut command: Vec<String>, words: usize, bytes: usize) -> Vec<String> {
    let mut left = bytes;
    let mut fits = |word: &String| {
        let fits = word.len() < left;
        left = left.saturating_sub(word.len() + 1);
        fits
    };
    let kept = command.iter().take(words).take_while(|word| fits(word)).count();
    let missing = command.len() - kept;
    if missing == 0 {
        return command;
    }
    command.truncate(kept);
    command.push(format!("… ({missing} more words)"));
    command
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_are_counted_and_what_is_too_much_is_told() {
        assert_eq!(excess(b"{}"), None);
        assert_eq!(excess(b"nothing"), None);
        let words = format!("{{\"command\":[{}\"\"],\"x\":[1]}}", "\"\",".repeat(20_000));
        assert!(excess(words.as_bytes()).is_some_and(|e| e.contains("20001 words of a command")));
        // Lists that are not counted because something else is wrong would be read all the same.
        for wrong in ["\"remarks\":1,\"remarks\":1", "\"remarks\":1,\"x\":{}"] {
            let hidden = format!("{{{wrong},{}", &words[1..]);
            assert!(excess(hidden.as_bytes()).is_some(), "{wrong}");
        }
        let tags = |n: usize| {
            let tags: Vec<String> = (0..n).map(|i| format!("\"{i}\":\"\"")).collect();
            format!("{{\"tags\":{{{}}}}}", tags.join(","))
        };
        assert_eq!(excess(tags(1000).as_bytes()), None);
        assert!(excess(tags(1001).as_bytes()).is_some_and(|e| e.contains("1001 tags")));
        let long = format!("{{\"name\":\"{}\"}}", "x".repeat(TEXT));
        assert!(excess(long.as_bytes()).is_some_and(|e| e.contains("bytes")));
        let with_files = format!("{{\"name\":\"{}\",\"files\":[1,2]}}", "x".repeat(TEXT));
        assert_eq!(excess(with_files.as_bytes()), None);
    }

    #[test]
    fn a_long_command_keeps_its_beginning_and_says_what_is_missing() {
        let words = |n: usize, word: &str| vec![word.to_owned(); n];
        assert_eq!(kept_command(words(10, "a")), words(10, "a"));
        let kept = kept_command(words(WORDS + 5, "a"));
        assert_eq!((kept.len(), kept.last().map(String::as_str)), (WORDS + 1, Some("… (5 more words)")));
        let kept = listed_command(words(3, &"x".repeat(3000)));
        assert_eq!((kept.len(), kept[1].as_str()), (2, "… (2 more words)"));
    }
}
