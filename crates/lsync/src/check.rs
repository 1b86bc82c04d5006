//! A check: what differs between both homes, and whose change it is.

use std::collections::BTreeMap;

use crate::{
    Entry, Error, Item, Pair, STATE, Scope, Side,
    history::History,
    rsync::{Differs, Line, Report, Rsync},
};

/// The outcome of a check.
#[derive(Clone, Debug)]
pub struct Check {
    /// The sender.
    pub from: Side,
    /// The part of the home that was checked.
    pub scope: Scope,
    /// Paths that differ; deletions first.
    pub items: Vec<Item>,
    /// rsync's totals and messages, and messages about the lists.
    pub report: Report,
    /// Whether contents were compared.
    pub(crate) with_hash: bool,
    /// Paths that are the same, if they were asked for.
    pub(crate) same: BTreeMap<Vec<u8>, Entry>,
    pub(crate) history: History,
}

impl Check {
    /// Compares the home of `from` with the other one: size and time of files, or with `with_hash` what is in them.
    ///
    /// # Errors
    /// rsync failed, or a list cannot be read.
    pub fn new(pair: &Pair, from: Side, scope: Scope, with_hash: bool) -> Result<Check, Error> {
        Check::of("-i", pair, &Check { scope, with_hash, ..Check::empty(from) })
    }

    /// One that has found nothing.
    pub(crate) fn empty(from: Side) -> Check {
        let (scope, report, history) = (Scope::default(), Report::default(), History::default());
        Check { from, scope, items: Vec::new(), report, with_hash: false, same: BTreeMap::new(), history }
    }

    /// Makes one of what another asks; with `-ii` also of what is the same, for the list after a sync.
    pub(crate) fn of(level: &str, pair: &Pair, asked: &Check) -> Result<Check, Error> {
        let (from, scope, with_hash) = (asked.from, asked.scope.clone(), asked.with_hash);
        let list = pair.state("list");
        let (mut differing, mut same, mut is_split) = (BTreeMap::new(), BTreeMap::new(), false);
        let rsync = Rsync::new(pair, with_hash).args([level, "-n", "--recursive", "--delete"]).args(scope.rules(pair));
        let rsync = rsync.args([pair.location(from, ""), pair.location(from.other(), "")]);
        let mut report = rsync.run(&mut |Line { path, entry, differs, .. }| match entry {
            _ if path == list.as_bytes() => is_split |= differs != Differs::No,
            _ if path.is_empty() || path == STATE.as_bytes() || !scope.has(&path) => {}
            // A directory that becomes a file is deleted and sent.
            None => drop(differing.entry(path).or_insert((None, differs))),
            Some(entry) if differs == Differs::No => drop(same.insert(path, entry)),
            entry => drop(differing.insert(path, (entry, differs))),
        })?;
        // Where nothing differs, the head of the list has the last sync.
        let words = if level == "-i" && differing.is_empty() { 1 } else { usize::MAX };
        let history = History::read(pair, is_split, words)?;
        if is_split {
            let there = pair.name(pair.here.other());
            report
                .messages
                .push(format!("{there} has another list of the last sync: one of the homes is that of before"));
        }
        let mut receiver = states_of(pair, from.other(), &differing, with_hash)?;
        let items = differing.into_iter().filter_map(|(path, (sender, differs))| {
            let receiver = receiver.remove(&path);
            // Vanished meanwhile, or what is not synced: sockets, pipes and devices.
            let is_nothing = receiver.as_ref().is_none_or(|entry| matches!(entry.kind, b'S' | b'D'));
            let [known, there] = [from, from.other()].map(|side| history.of(&path, side));
            (sender.is_some() || !is_nothing).then(|| Item::judge(path, [sender, receiver], differs, [&known, &there]))
        });
        let mut items: Vec<Item> = items.collect();
        items.sort_by_key(|item| !item.is_deletion());
        Ok(Check { from, scope, items, report, with_hash, same, history })
    }
}

/// The states of paths at a side: rsync lists them as for a copy into an empty folder.
fn states_of<T>(
    pair: &Pair,
    side: Side,
    paths: &BTreeMap<Vec<u8>, T>,
    with_hash: bool,
) -> Result<BTreeMap<Vec<u8>, Entry>, Error> {
    let mut states = BTreeMap::new();
    if paths.is_empty() {
        return Ok(states);
    }
    let rsync = Rsync::new(pair, with_hash).args(["-n", "--specials", "--devices", "--ignore-missing-args"]);
    let rsync = rsync.only(paths.keys().map(Vec::as_slice));
    let nowhere = pair.home.join(STATE).join("nowhere/");
    // Where a path leads through what is no directory there it complains, and the path is none.
    rsync.args([pair.location(side, ""), nowhere.into()]).run(&mut |line| {
        states.extend(line.entry.map(|entry| (line.path, entry)));
    })?;
    Ok(states)
}
