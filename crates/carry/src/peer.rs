//! Another fenxi with a store: one at the other end of ssh, or a server.
//!
//! Runs travel as archives, which either side imports as from an untrusted file: every file is compared with its checksum, and a run
//! appears whole. So two stores become the union of their runs; nothing is removed or replaced. Labels are merged.

use std::{
    collections::BTreeMap,
    io::{self, Read},
};

use fenxi_model::RunId;
use fenxi_store::{ArchiveLimits, LabelConflict, Labels, Store, StoreError};
use serde::{Deserialize, Serialize};

use crate::{CarryError, Pulled, Pushed, Transfer};

/// Bytes of the runs of one archive: what was transferred when the line is cut stays, archive by archive.
const ARCHIVE_BYTES: u64 = 32 << 20;
/// Runs of one archive.
const ARCHIVE_RUNS: usize = 200;

/// Offer of a store: ids and checksums of its runs, and labels.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Offer {
    /// Its runs.
    pub runs: BTreeMap<RunId, Offered>,
    /// Runs that cannot be read there, and why.
    #[serde(default)]
    pub unreadable: BTreeMap<RunId, String>,
}

/// A run of another store.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Offered {
    /// The digest of its manifest: equal where the runs are.
    pub digest: String,
    /// Bytes of its files.
    pub bytes: u64,
    /// Its labels.
    pub labels: Labels,
}

impl Offer {
    /// The offer of `store`.
    ///
    /// # Errors
    /// When its runs cannot be listed.
    pub fn of(store: &Store) -> Result<Offer, StoreError> {
        let mut offer = Offer::default();
        for id in store.ids()? {
            match store.run(&id) {
                Ok(run) => {
                    let bytes = run.manifest.files.iter().map(|file| file.bytes).sum();
                    offer.runs.insert(id, Offered { digest: run.manifest.digest, bytes, labels: run.labels });
                }
                // Removed since it was listed.
                Err(StoreError::Unknown { .. }) => {}
                Err(error) => drop(offer.unreadable.insert(id, error.to_string())),
            }
        }
        Ok(offer)
    }
}

/// Labels of several runs.
pub type ManyLabels = BTreeMap<RunId, Labels>;

/// Merges labels into those of a store; runs that it does not have are left out.
///
/// # Errors
/// When the store cannot be written.
pub fn merge(store: &Store, labels: &ManyLabels) -> Result<Vec<LabelConflict>, StoreError> {
    let mut conflicts = Vec::new();
    for (id, theirs) in labels {
        match store.merge_labels(id, theirs) {
            Ok(more) => conflicts.extend(more),
            Err(StoreError::Unknown { .. }) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(conflicts)
}

/// The store of another fenxi.
pub trait Peer {
    /// It in words, for messages.
    fn name(&self) -> String;

    /// Its offer; None where there is no store yet.
    ///
    /// # Errors
    /// When it cannot be asked.
    fn offer(&mut self) -> Result<Option<Offer>, CarryError>;

    /// Sends an archive, which it imports before this returns.
    ///
    /// # Errors
    /// When the archive cannot be read, does not arrive, or is refused.
    fn take(&mut self, archive: &mut dyn Read) -> Result<(), CarryError>;

    /// Asks for an archive of runs. What comes is not verified yet.
    ///
    /// # Errors
    /// When it cannot be asked.
    fn give<'p>(&'p mut self, runs: &[RunId]) -> Result<Box<dyn Read + 'p>, CarryError>;

    /// Merges labels into those that it has.
    ///
    /// # Errors
    /// When it cannot be asked, or its store cannot be written.
    fn merge(&mut self, labels: &ManyLabels) -> Result<Vec<LabelConflict>, CarryError>;
}

/// Sends runs that a peer does not have, all of them without `chosen`, and merges the labels of all into its.
pub(crate) fn push(
    store: &Store,
    peer: &mut dyn Peer,
    chosen: Option<&[RunId]>,
    transfer: &Transfer<'_>,
) -> Result<Pushed, CarryError> {
    let there = peer.offer()?.unwrap_or_default();
    let mut ids = chosen.map_or_else(|| store.ids(), |runs| Ok(runs.to_vec()))?;
    ids.sort();
    ids.dedup();
    let (mut new, mut labels) = (Vec::new(), ManyLabels::new());
    let mut pushed = Pushed::default();
    for id in ids {
        let run = store.run(&id)?;
        match there.runs.get(&id) {
            None if there.unreadable.contains_key(&id) => pushed.unreadable.push(unreadable(&there, &id)),
            None => {
                pushed.files += run.manifest.files.len() as u64 + 1;
                new.push((id, run.manifest.files.iter().map(|file| file.bytes).sum()));
            }
            Some(known) if known.digest != run.manifest.digest => return Err(differs(peer, &id)),
            Some(known) => {
                pushed.known += 1;
                if known.labels.merged(&run.labels, &id).0 != known.labels {
                    labels.insert(id, run.labels);
                }
            }
        }
    }
    pushed.ids = new.iter().map(|(id, _)| id.clone()).collect();
    (pushed.runs, pushed.labels) = (new.len(), labels.len());
    pushed.bytes = new.iter().map(|(_, bytes)| bytes).sum();
    if transfer.dry_run {
        return Ok(pushed);
    }
    each_archive(&new, transfer, |ids| send(store, peer, ids))?;
    if !labels.is_empty() {
        pushed.conflicts = peer.merge(&labels)?;
    }
    Ok(pushed)
}

/// Fetches runs that are not here, and merges the labels of all into ours; `chosen` are ids or beginnings of ids, all without any.
pub(crate) fn pull(
    store: &Store,
    peer: &mut dyn Peer,
    chosen: &[String],
    transfer: &Transfer<'_>,
) -> Result<Pulled, CarryError> {
    let name = peer.name();
    let there = peer.offer()?.ok_or_else(|| CarryError::NoStore(name.clone()))?;
    let all = || there.runs.keys().chain(there.unreadable.keys());
    for beginning in chosen {
        if !all().any(|id| id.as_str().starts_with(beginning.as_str())) {
            let what = format!("no run of {name} begins with `{beginning}`");
            return Err(CarryError::Storage { what, why: "give an id or the beginning of one".to_owned() });
        }
    }
    let wanted = |id: &RunId| chosen.is_empty() || chosen.iter().any(|c| id.as_str().starts_with(c.as_str()));
    let of_them = there.unreadable.keys().filter(|id| wanted(id)).map(|id| unreadable(&there, id)).collect();
    let mut pulled = Pulled { unreadable: of_them, ..Pulled::default() };
    let (mut new, mut labels) = (Vec::new(), ManyLabels::new());
    for (id, offered) in there.runs.iter().filter(|(id, _)| wanted(id)) {
        if !store.run_dir(id).exists() {
            new.push((id.clone(), offered.bytes));
            continue;
        }
        let own = store.run(id)?;
        if own.manifest.digest != offered.digest {
            return Err(differs(peer, id));
        }
        pulled.known += 1;
        if own.labels.merged(&offered.labels, id).0 != own.labels {
            labels.insert(id.clone(), offered.labels.clone());
        }
    }
    pulled.ids = new.iter().map(|(id, _)| id.clone()).collect();
    (pulled.runs, pulled.labels) = (new.len(), labels.len());
    pulled.bytes = new.iter().map(|(_, bytes)| bytes).sum();
    if transfer.dry_run {
        return Ok(pulled);
    }
    each_archive(&new, transfer, |ids| {
        store.import_archive(peer.give(ids)?, &ArchiveLimits::default())?;
        Ok(())
    })?;
    pulled.conflicts = merge(store, &labels)?;
    Ok(pulled)
}

/// Carries runs, an archive after the other, and reports each.
fn each_archive(
    runs: &[(RunId, u64)],
    transfer: &Transfer<'_>,
    mut carry: impl FnMut(&[RunId]) -> Result<(), CarryError>,
) -> Result<(), CarryError> {
    let (mut done, mut bytes) = (0, 0);
    for some in archives(runs) {
        let ids: Vec<RunId> = some.iter().map(|(id, _)| id.clone()).collect();
        carry(&ids)?;
        done += some.len();
        bytes += some.iter().map(|(_, bytes)| bytes).sum::<u64>();
        (transfer.watch)(done, runs.len(), bytes);
    }
    Ok(())
}

/// Runs in the order of their ids, as many as go into one archive.
fn archives(runs: &[(RunId, u64)]) -> Vec<&[(RunId, u64)]> {
    let (mut archives, mut from, mut bytes) = (Vec::new(), 0, 0);
    for (at, (_, size)) in runs.iter().enumerate() {
        if at > from && (bytes + size > ARCHIVE_BYTES || at - from == ARCHIVE_RUNS) {
            archives.push(&runs[from..at]);
            (from, bytes) = (at, 0);
        }
        bytes += size;
    }
    if from < runs.len() {
        archives.push(&runs[from..]);
    }
    archives
}

fn send(store: &Store, peer: &mut dyn Peer, ids: &[RunId]) -> Result<(), CarryError> {
    let (reader, writer) = io::pipe()?;
    std::thread::scope(|scope| {
        let exporting = scope.spawn(move || store.export(ids, writer).map(drop));
        // The reader goes with this call: an export whose archive no one takes ends.
        let mut reader = reader;
        let sent = peer.take(&mut reader);
        drop(reader);
        match exporting.join() {
            Ok(Err(error)) if !is_broken_pipe(&error) => Err(error.into()),
            _ => sent,
        }
    })
}

pub(crate) fn is_broken_pipe(error: &StoreError) -> bool {
    matches!(error, StoreError::Io { source } if source.kind() == io::ErrorKind::BrokenPipe)
}

fn differs(peer: &dyn Peer, id: &RunId) -> CarryError {
    CarryError::Differs { place: peer.name(), run: id.to_string() }
}

fn unreadable(there: &Offer, id: &RunId) -> String {
    format!("{id}: {}", there.unreadable.get(id).map_or("it cannot be read", String::as_str))
}
