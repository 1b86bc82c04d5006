//! Who changed what: the sender, the receiver, or both, since their homes had it in common; and what a sync does about it. Pure
//! functions.
//!
//! Of each path there are states that both homes had in common, more than one where a sync was interrupted. A side whose state is
//! none of them has newer work there; one whose state is older than the other's is only behind.

use std::collections::BTreeSet;

use serde::Serialize;

use crate::{Side, rsync::Differs};

/// The state of a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// As rsync calls it: `f`, `d`, `L`, `D` or `S`.
    pub kind: u8,
    /// Bytes.
    pub size: u64,
    /// As rsync prints it, in UTC.
    pub mtime: String,
    /// MD5, where it was asked for.
    pub hash: Option<String>,
}

impl Entry {
    /// Whether it is a directory.
    pub fn is_dir(&self) -> bool {
        self.kind == b'd'
    }

    /// Bytes of a file; 0 of others.
    pub fn bytes(&self) -> u64 {
        if self.kind == b'f' { self.size } else { 0 }
    }

    /// Whether both are the same as far as it is known of both. A directory is the same whatever its time.
    pub(crate) fn same(&self, other: &Entry) -> bool {
        let hashes = self.hash.as_ref().zip(other.hash.as_ref());
        self.kind == other.kind
            && (self.is_dir() || (self.size, &self.mtime) == (other.size, &other.mtime))
            && hashes.is_none_or(|(a, b)| a == b)
    }
}

/// Whose change it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Verdict {
    /// The sender's: a sync takes it to the receiver.
    Sender,
    /// The receiver's: a sync would undo it.
    Receiver,
    /// Both changed it, or nothing is known of it.
    Conflict,
}

/// States of a path and which sync they are of: the later, the larger.
pub(crate) type Known = [(usize, Option<Entry>)];

/// A path that differs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Item {
    /// Below the home, as bytes.
    pub path: Vec<u8>,
    /// At the sender.
    pub sender: Option<Entry>,
    /// At the receiver.
    pub receiver: Option<Entry>,
    /// Whose change it is.
    pub verdict: Verdict,
}

impl Item {
    /// Judges a path by the states that each side may have without any work on it.
    pub(crate) fn judge(
        path: Vec<u8>,
        [sender, receiver]: [Option<Entry>; 2],
        differs: Differs,
        [of_sender, of_receiver]: [&Known; 2],
    ) -> Item {
        let same = |a: &Option<Entry>, b: &Option<Entry>| match (a, b) {
            (Some(a), Some(b)) => a.same(b),
            (a, b) => a.is_none() && b.is_none(),
        };
        let place = |state: &Option<Entry>, known: &Known| Some(known.iter().rfind(|(_, one)| same(one, state))?.0);
        let only_attributes = differs == Differs::Attributes && same(&sender, &receiver);
        let verdict = match (place(&sender, of_sender), place(&receiver, of_receiver)) {
            _ if only_attributes => Verdict::Sender,
            (None, Some(_)) => Verdict::Sender,
            (Some(_), None) => Verdict::Receiver,
            (Some(sender), Some(receiver)) if sender > receiver => Verdict::Sender,
            (Some(sender), Some(receiver)) if sender < receiver => Verdict::Receiver,
            _ => Verdict::Conflict,
        };
        Item { path, sender, receiver, verdict }
    }

    /// The kind of its change.
    pub fn change(&self) -> &'static str {
        match (self.verdict, self.sender.is_some(), self.receiver.is_some()) {
            (Verdict::Conflict, true, true) => "conflict: both changed",
            (Verdict::Conflict, false, _) => "conflict: sender deleted, receiver changed",
            (Verdict::Conflict, _, false) => "conflict: sender changed, receiver deleted",
            (Verdict::Sender, true, false) | (Verdict::Receiver, false, true) => "new",
            (Verdict::Sender, false, _) | (Verdict::Receiver, _, false) => "deleted",
            _ => "changed",
        }
    }

    /// Whether a sync deletes it at the receiver.
    pub fn is_deletion(&self) -> bool {
        self.sender.is_none()
    }

    /// The entry that is sent or deleted.
    pub fn entry(&self) -> Option<&Entry> {
        self.sender.as_ref().or(self.receiver.as_ref())
    }
}

/// Actions of a sync, and the items that it leaves alone.
#[derive(Clone, Debug, Default)]
pub struct Plan {
    /// Items to delete at the receiver.
    pub deletions: Vec<Item>,
    /// Items to send.
    pub transfers: Vec<Item>,
    /// Newer work of the receiver, and what is in its place or below it.
    pub left: Vec<Item>,
}

impl Plan {
    /// The plan for what a check found; newer work of the receiver goes only where the version of the sender counts.
    pub fn new(items: &[Item], from: Side, whose: Option<Side>) -> Plan {
        let goes = |item: &&Item| item.verdict == Verdict::Sender || whose == Some(from);
        let (go, left): (Vec<&Item>, Vec<&Item>) = items.iter().partition(goes);
        let kept: BTreeSet<&[u8]> = left.iter().map(|item| item.path.as_slice()).collect();
        let mut plan = Plan { left: left.into_iter().cloned().collect(), ..Plan::default() };
        for item in go {
            let becomes_dir = item.sender.as_ref().is_some_and(Entry::is_dir);
            let holds = !becomes_dir && has_below(&kept, &item.path);
            let list = match item.is_deletion() {
                _ if holds || has_above(&kept, &item.path) => &mut plan.left,
                true => &mut plan.deletions,
                false => &mut plan.transfers,
            };
            list.push(item.clone());
        }
        plan
    }

    /// Whether there is nothing to do.
    pub fn is_empty(&self) -> bool {
        self.deletions.is_empty() && self.transfers.is_empty()
    }

    /// Files that are sent or deleted, and their bytes.
    pub fn files(items: &[Item]) -> (usize, u64) {
        let files = items.iter().filter_map(Item::entry).filter(|entry| !entry.is_dir());
        files.fold((0, 0), |(n, bytes), entry| (n + 1, bytes + entry.bytes()))
    }
}

/// Whether one of `paths` is below `path`.
fn has_below(paths: &BTreeSet<&[u8]>, path: &[u8]) -> bool {
    let folder = [path, b"/"].concat();
    paths.range(folder.as_slice()..).next().is_some_and(|first| first.starts_with(&folder))
}

/// Whether one of `paths` is above `path`.
pub(crate) fn has_above(paths: &BTreeSet<&[u8]>, path: &[u8]) -> bool {
    let mut ends = path.iter().enumerate().filter(|(_, byte)| **byte == b'/').map(|(at, _)| at);
    ends.any(|at| paths.contains(&path[..at]))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(kind: u8, size: u64, hash: Option<&str>) -> Option<Entry> {
        Some(Entry { kind, size, mtime: "1".to_owned(), hash: hash.map(str::to_owned) })
    }

    fn file(size: u64) -> Option<Entry> {
        entry(b'f', size, None)
    }

    #[test]
    fn each_side_is_judged_by_the_common_states() {
        use Verdict::{Conflict, Receiver, Sender};
        let md5 = |hash: &str| entry(b'f', 1, Some(hash));
        for (known, sender, receiver, expected) in [
            (vec![file(1)], file(2), file(1), Sender),
            (vec![file(1)], file(1), file(2), Receiver),
            (vec![file(1)], None, file(1), Sender),
            (vec![file(1)], file(1), None, Receiver),
            (vec![file(1)], file(2), file(3), Conflict),
            (vec![file(1)], None, file(3), Conflict),
            (vec![file(1)], file(3), None, Conflict),
            (vec![None], file(2), None, Sender),
            (vec![None], None, file(2), Receiver),
            (vec![None], file(1), file(2), Conflict),
            // Who is behind has no newer work.
            (vec![file(1), file(2)], file(2), file(1), Sender),
            (vec![file(1), file(2)], file(1), file(2), Receiver),
            (vec![file(1), None], None, file(1), Sender),
            (vec![file(1), file(2)], file(3), file(1), Sender),
            (vec![file(1), file(2)], file(3), file(4), Conflict),
            // Within a second the checksum alone shows it.
            (vec![md5("a")], md5("b"), md5("a"), Sender),
            (vec![md5("a")], md5("a"), md5("b"), Receiver),
            (vec![file(1)], md5("a"), md5("b"), Conflict),
        ] {
            let known: Vec<_> = known.into_iter().enumerate().collect();
            let item = Item::judge(b"x".to_vec(), [sender, receiver], Differs::Content, [&known; 2]);
            assert_eq!(item.verdict, expected, "{item:?} of {known:?}");
        }
        // Attributes, and times of directories, are no work.
        for [sender, receiver] in [[file(1), file(1)], [entry(b'd', 1, None), entry(b'd', 2, None)]] {
            let item = Item::judge(b"x".to_vec(), [sender, receiver], Differs::Attributes, [&[(0, None)]; 2]);
            assert_eq!(item.verdict, Sender);
        }
    }

    #[test]
    fn newer_work_is_left_with_what_holds_it() {
        use Verdict::{Conflict, Receiver, Sender};
        let items = [
            ("d", None, Some(b'd'), Sender),
            ("d/old", None, Some(b'f'), Sender),
            ("d/new", None, Some(b'f'), Receiver),
            ("dd", None, Some(b'f'), Sender),
            ("k", Some(b'd'), Some(b'f'), Conflict),
            ("k/in", Some(b'f'), None, Sender),
            ("s", Some(b'd'), Some(b'd'), Sender),
            ("s/x", Some(b'f'), Some(b'f'), Conflict),
            ("s/y", Some(b'f'), Some(b'f'), Sender),
        ];
        let items = items.map(|(path, sender, receiver, verdict)| {
            let states = [sender, receiver].map(|kind| kind.and_then(|kind| entry(kind, 10, None)));
            Item { verdict, ..Item::judge(path.into(), states, Differs::Content, [&[]; 2]) }
        });
        for (whose, expected) in [
            (None, ["d/old dd", "s s/y", "d/new k s/x d k/in"]),
            (Some(Side::Master), ["d/old dd", "s s/y", "d/new k s/x d k/in"]),
            (Some(Side::Laptop), ["d d/old d/new dd", "k k/in s s/x s/y", ""]),
        ] {
            let plan = Plan::new(&items, Side::Laptop, whose);
            let paths = [&plan.deletions, &plan.transfers, &plan.left].map(|items| {
                let paths: Vec<_> = items.iter().map(|item| str::from_utf8(&item.path).unwrap()).collect();
                paths.join(" ")
            });
            assert_eq!(paths, expected);
        }
    }
}
