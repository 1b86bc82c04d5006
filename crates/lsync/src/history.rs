//! Common states of both homes: the list after the last sync, and the plans of syncs since that did not complete.
//!
//! Both files hold records that end in NUL, as names may have any other byte: `#` and a head in JSON, then an entry a path. The list is
//! the same file in both homes.

use std::{collections::BTreeMap, io::ErrorKind, io::Write, path::Path};

use fs_err as fs;
use serde::{Deserialize, Serialize};

use crate::{Entry, Error, Pair, Side};

/// The format of today.
const FORMAT: u32 = 1;

/// States of paths; those that a sync deletes are None.
pub(crate) type States = BTreeMap<Vec<u8>, Option<Entry>>;

/// A list or a plan; what is serialized is its head.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Record {
    pub lsync: u32,
    /// The folder of its trash, or of the last sync that has one, and the side where that is.
    pub trash: Option<String>,
    pub is_on_laptop: bool,
    #[serde(skip)]
    pub states: States,
}

impl Record {
    pub fn new(trash: Option<String>, receiver: Side, states: States) -> Record {
        Record { lsync: FORMAT, trash, is_on_laptop: receiver == Side::Laptop, states }
    }

    pub fn receiver(&self) -> Side {
        if self.is_on_laptop { Side::Laptop } else { Side::Master }
    }
}

/// The known history of both homes.
#[derive(Clone, Debug, Default)]
pub(crate) struct History {
    /// None where there was no sync, or the other home has another list: one of the homes is that of before, and nothing is common.
    pub list: Option<Record>,
    /// Older ones first.
    pub plans: Vec<Record>,
}

impl History {
    /// Reads it; of the list only so many words, of which the first one is its head.
    pub fn read(pair: &Pair, is_split: bool, words: usize) -> Result<History, Error> {
        let list = read(&pair.home.join(pair.state("list")), words)?.pop().filter(|_| !is_split);
        Ok(History { list, plans: read(&pair.home.join(pair.state("plan")), usize::MAX)? })
    }

    /// The states of a path that a side may have without any work on it, older ones first. The receiver of a sync that was interrupted
    /// may have that of before; the sender had the new one, or has changed it since.
    pub fn of(&self, path: &[u8], side: Side) -> Vec<(usize, Option<Entry>)> {
        let mut states = vec![(0, self.list.as_ref().and_then(|list| list.states.get(path).cloned().flatten()))];
        for (n, plan) in self.plans.iter().enumerate() {
            if let Some(state) = plan.states.get(path) {
                states.retain(|_| side == plan.receiver());
                states.push((n + 1, state.clone()));
            }
        }
        states
    }

    /// The last sync, whether it came to its end or not.
    pub fn last(&self) -> Option<&Record> {
        self.plans.last().or(self.list.as_ref())
    }
}

/// Writes records, whole or not at all.
pub(crate) fn write(records: &[Record], path: &Path) -> Result<(), Error> {
    let mut bytes = Vec::new();
    for record in records {
        bytes.push(b'#');
        serde_json::to_writer(&mut bytes, record).map_err(|error| Error::Failed(error.to_string()))?;
        bytes.push(0);
        for (path, state) in &record.states {
            match state {
                Some(Entry { kind, size, mtime, hash }) => {
                    write!(bytes, "{} {size} {mtime} {} ", char::from(*kind), hash.as_deref().unwrap_or("-"))?;
                }
                None => bytes.extend(b"- "),
            }
            bytes.extend(path);
            bytes.push(0);
        }
    }
    let new = path.with_extension("part");
    let mut file = fs::File::create(&new)?;
    file.write_all(&bytes)?;
    file.sync_all()?;
    Ok(fs::rename(new, path)?)
}

fn read(path: &Path, words: usize) -> Result<Vec<Record>, Error> {
    let bytes = match fs::read(path) {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(error.into()),
    };
    parsed(&bytes, words).ok_or_else(|| {
        let way = "remove it on both hosts, and decide with --mine or --theirs about what differs";
        Error::Failed(format!("{} is damaged: {way}", path.display()))
    })
}

fn parsed(bytes: &[u8], words: usize) -> Option<Vec<Record>> {
    let mut records: Vec<Record> = Vec::new();
    for word in bytes.strip_suffix(b"\0")?.split(|byte| *byte == 0).take(words) {
        if let Some(head) = word.strip_prefix(b"#") {
            let record: Record = serde_json::from_slice(head).ok()?;
            // The other host may have written it, and it becomes a word of commands.
            let is_name = |name: &String| !name.is_empty() && name.bytes().all(|b| b.is_ascii_digit() || b == b'-');
            if record.lsync != FORMAT || !record.trash.iter().all(is_name) {
                return None;
            }
            records.push(record);
        } else {
            let (path, state) = entry(word)?;
            records.last_mut()?.states.insert(path, state);
        }
    }
    Some(records)
}

fn entry(word: &[u8]) -> Option<(Vec<u8>, Option<Entry>)> {
    if let Some(path) = word.strip_prefix(b"- ") {
        return Some((path.to_vec(), None));
    }
    let mut words = word.splitn(5, |byte| *byte == b' ');
    let [kind] = *words.next()? else { return None };
    let mut text = || str::from_utf8(words.next()?).ok();
    let (size, mtime, hash) = (text()?.parse().ok()?, text()?.to_owned(), text()?);
    let hash = (hash != "-").then(|| hash.to_owned());
    Some((words.next()?.to_vec(), Some(Entry { kind, size, mtime, hash })))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(size: u64) -> Record {
        let entry = |size| Entry { kind: b'f', size, mtime: "2026/11/29-10:02:34".to_owned(), hash: None };
        let states = [
            (b"a b\nc".to_vec(), Some(entry(size))),
            (b"\xff \\".to_vec(), Some(Entry { hash: Some("00ff".to_owned()), ..entry(0) })),
            (b"# gone".to_vec(), None),
            (Vec::new(), Some(Entry { kind: b'd', ..entry(1) })),
        ];
        Record::new(Some("20261129-101500".to_owned()), Side::Master, states.into())
    }

    #[test]
    fn records_are_read_as_they_were_written_and_nothing_else() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("x.list");
        assert_eq!(read(&path, usize::MAX).unwrap(), []);
        let all = [record(1), record(2)];
        write(&all, &path).unwrap();
        assert_eq!(read(&path, usize::MAX).unwrap(), all);
        let whole = fs::read(&path).unwrap();
        let with = |old: &str, new: &str| String::from_utf8_lossy(&whole).replace(old, new).into_bytes();
        for bytes in [
            &whole[..whole.len() - 1],
            b"f 1 2 - x\0",
            b"x",
            b"",
            b"#{}\0",
            &with("20261129-101500", "../../x"),
            &with("\"lsync\":1", "\"lsync\":2"),
        ] {
            fs::write(&path, bytes).unwrap();
            assert!(read(&path, usize::MAX).unwrap_err().to_string().contains("damaged"));
        }
    }
}
