//! Pulling: runs that lie elsewhere are fetched into a hidden store, and taken in from there as from an archive.
//!
//! So what comes from elsewhere is validated like any archive: every file against its checksum, whole runs or none.

use std::{collections::BTreeMap, path::Path};

use fenxi_model::RunId;
use fenxi_store::{Store, TakeLimits};
use fs_err as fs;

use crate::{CarryError, Place, Transfer};

/// Runs that are fetched before they are taken in: they lie on the disk twice meanwhile.
const AT_ONCE: usize = 32;

/// What a pull did, or would do.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Pulled {
    /// Runs that were here already.
    pub known: usize,
    /// Runs that came.
    pub runs: usize,
    /// Bytes that were fetched.
    pub bytes: u64,
}

/// Fetches runs that are not here; `chosen` are ids or beginnings of ids, all runs without any.
///
/// # Errors
/// When the place cannot be asked, what came is damaged, or the store cannot be written. Runs that were taken in stay.
pub fn pull(
    store: &Store,
    place: &dyn Place,
    chosen: &[String],
    transfer: &Transfer<'_>,
) -> Result<Pulled, CarryError> {
    if place.get("store.json")?.is_none() {
        return Err(CarryError::NoStore(place.name()));
    }
    let there = place.list("")?;
    let manifest = |name: &str| name.strip_prefix("runs/run=")?.strip_suffix("/run.json").and_then(RunId::parse);
    let mut ids: Vec<RunId> = there.keys().filter_map(|name| manifest(name)).collect();
    for beginning in chosen {
        if !ids.iter().any(|id| id.as_str().starts_with(beginning.as_str())) {
            let what = format!("no run of {} begins with `{beginning}`", place.name());
            return Err(CarryError::Storage { what, why: "give an id or the beginning of one".to_owned() });
        }
    }
    ids.retain(|id| chosen.is_empty() || chosen.iter().any(|c| id.as_str().starts_with(c.as_str())));
    let all = ids.len();
    ids.retain(|id| !store.run_dir(id).exists());
    let mut pulled = Pulled { known: all - ids.len(), ..Pulled::default() };
    let n_runs = ids.len();
    if transfer.dry_run {
        let of = |id: &RunId| of_run(&there, id).map(|(_, bytes)| bytes).sum::<u64>();
        return Ok(Pulled { runs: n_runs, bytes: ids.iter().map(of).sum(), ..pulled });
    }
    let scratch = store.scratch()?;
    let hidden = Store::open_or_create(scratch.path("store"))?;
    for some in ids.chunks(AT_ONCE) {
        for id in some {
            pulled.bytes += fetch(&hidden, place, &there, id)?;
            pulled.runs += 1;
            (transfer.watch)(pulled.runs, n_runs, pulled.bytes);
        }
        pulled.bytes += packed(&hidden, place, &there, some)?;
        take(store, &hidden, some)?;
        for id in some {
            hidden.remove(id)?;
        }
    }
    Ok(pulled)
}

fn of_run<'a>(there: &'a BTreeMap<String, u64>, id: &RunId) -> impl Iterator<Item = (&'a str, u64)> {
    let folder = format!("runs/run={id}/");
    there.iter().filter(move |(name, _)| name.starts_with(&folder)).map(|(name, bytes)| (name.as_str(), *bytes))
}

/// Fetches what lies in a run's folder, and its labels.
fn fetch(hidden: &Store, place: &dyn Place, there: &BTreeMap<String, u64>, id: &RunId) -> Result<u64, CarryError> {
    let labels = format!("labels/{id}.json");
    let labels = there.get_key_value(&labels).map(|(name, bytes)| (name.as_str(), *bytes));
    let mut fetched = 0;
    for (name, bytes) in of_run(there, id).chain(labels) {
        if !is_plain(name) {
            let why = "its name leads elsewhere".to_owned();
            return Err(CarryError::Storage { what: format!("{} in {}", name, place.name()), why });
        }
        into(hidden.path(), place, name)?;
        fetched += bytes;
    }
    Ok(fetched)
}

/// Whether a name of a run's file stays within its folder.
fn is_plain(name: &str) -> bool {
    name.split('/').all(|part| !matches!(part, "" | "." | ".."))
}

fn into(root: &Path, place: &dyn Place, name: &str) -> Result<(), CarryError> {
    let path = root.join(name);
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder)?;
    }
    place.get_file(name, &path)
}

/// Fetches the files of many runs that hold tables of these, and what names them.
fn packed(hidden: &Store, place: &dyn Place, there: &BTreeMap<String, u64>, ids: &[RunId]) -> Result<u64, CarryError> {
    if !there.contains_key("compacted/manifest.json") {
        return Ok(0);
    }
    into(hidden.path(), place, "compacted/manifest.json")?;
    let mut fetched = 0;
    for path in hidden.shared_files(ids)? {
        let Some(name) = path.strip_prefix(hidden.path()).ok().and_then(Path::to_str) else { continue };
        if is_plain(name) && !path.exists() {
            into(hidden.path(), place, name)?;
            fetched += there.get(name).copied().unwrap_or(0);
        }
    }
    Ok(fetched)
}

/// Takes runs in from the hidden store, as from an archive.
fn take(store: &Store, hidden: &Store, ids: &[RunId]) -> Result<(), CarryError> {
    let (reader, writer) = std::io::pipe()?;
    std::thread::scope(|scope| {
        let exporting = scope.spawn(move || hidden.export(ids, writer).map(drop));
        let taken = store.take_in(reader, &TakeLimits::default()).map(drop);
        // What is wrong with what came is said by the one that reads it first.
        match exporting.join() {
            Ok(Err(error)) if !is_broken_pipe(&error) => Err(error.into()),
            _ => Ok(taken?),
        }
    })
}

fn is_broken_pipe(error: &fenxi_store::StoreError) -> bool {
    matches!(error, fenxi_store::StoreError::Io { source } if source.kind() == std::io::ErrorKind::BrokenPipe)
}
