//! Pulling: remote runs are fetched into a hidden store, and imported from there as from an archive.
//!
//! So what comes from a remote place is validated like any archive: every file against its checksum, whole runs or none.

use std::collections::BTreeMap;

use fenxi_model::RunId;
use fenxi_store::{ArchiveLimits, Folder, LONGEST_LABELS, LONGEST_MANIFEST, LabelConflict, Store};

use crate::{
    CarryError, Place, Transfer,
    fetch::{Size, receive, small},
    names::{MARK_BYTES, manifest_of},
    peer::is_broken_pipe,
};

/// Runs that are fetched before they are taken in: they lie on the disk twice meanwhile.
const AT_ONCE: usize = 32;
/// Manifest of files of many runs, and its size limit: a hundred bytes for each of half a million runs.
const PACKING: &str = "compacted/manifest.json";
const PACKING_BYTES: u64 = 64 << 20;

/// Result of a pull, or of a dry run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Pulled {
    /// Runs that were here already.
    pub known: usize,
    /// Runs that came.
    pub runs: usize,
    /// Bytes that were fetched.
    pub bytes: u64,
    /// The runs that came.
    pub ids: Vec<RunId>,
    /// Runs that were here already whose labels were merged.
    pub labels: usize,
    /// Fields of labels that both sides had changed.
    pub conflicts: Vec<LabelConflict>,
    /// Runs that cannot be read there, and why.
    pub unreadable: Vec<String>,
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
    if small(place, "store.json", MARK_BYTES)?.is_none() {
        return Err(CarryError::NoStore(place.name()));
    }
    let there = place.list()?;
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
    let mut pulled = Pulled { known: all - ids.len(), ids: ids.clone(), ..Pulled::default() };
    let n_runs = ids.len();
    if transfer.dry_run {
        let of = |id: &RunId| of_run(&there, id).map(|(_, bytes)| bytes).sum::<u64>();
        return Ok(Pulled { runs: n_runs, bytes: ids.iter().map(of).sum(), ..pulled });
    }
    let scratch = store.scratch()?;
    let hidden = Store::open_or_create(scratch.path("store"))?;
    for some in ids.chunks(AT_ONCE) {
        packing(&hidden, place, &there)?;
        for id in some {
            pulled.bytes += fetch(&hidden, place, &there, id)?;
            pulled.runs += 1;
            (transfer.watch)(pulled.runs, n_runs, pulled.bytes);
        }
        pulled.bytes += packed(&hidden, place, &there, some)?;
        import_hidden(store, &hidden, some)?;
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

/// Fetches what lies in a run's folder, and its labels: the manifest first, which lists the files.
fn fetch(hidden: &Store, place: &dyn Place, there: &BTreeMap<String, u64>, id: &RunId) -> Result<u64, CarryError> {
    let mut fetched = 0;
    for (name, most) in [(format!("labels/{id}.json"), LONGEST_LABELS as u64), (manifest_of(id), LONGEST_MANIFEST)] {
        if let Some(size) = there.get(&name) {
            fetched += listed(hidden, place, (&name, *size), most)?;
        }
    }
    let manifest = hidden.kept_manifest(id)?;
    for file in hidden.own_files(&manifest)? {
        let name = format!("runs/run={id}/{}", file.name);
        fetched += stated(hidden, place, there, (&name, file.bytes))?;
    }
    Ok(fetched)
}

/// Fetches a file whose size is only in the list.
fn listed(hidden: &Store, place: &dyn Place, (name, size): (&str, u64), most: u64) -> Result<u64, CarryError> {
    if size > most {
        let why = format!("it has {size} bytes in the list, and {most} are the most");
        return Err(CarryError::Lie { place: place.name(), name: name.to_owned(), why });
    }
    into(hidden, place, name, size)
}

/// Fetches a file that a manifest names, if the list agrees.
fn stated(
    hidden: &Store,
    place: &dyn Place,
    there: &BTreeMap<String, u64>,
    (name, bytes): (&str, u64),
) -> Result<u64, CarryError> {
    let lie = |why: String| Err(CarryError::Lie { place: place.name(), name: name.to_owned(), why });
    match there.get(name) {
        Some(size) if *size == bytes => into(hidden, place, name, bytes),
        Some(size) => lie(format!("it has {size} bytes in the list, and {bytes} in the manifest")),
        None => lie("a manifest names it, and it is not there".to_owned()),
    }
}

/// Fetches a file into the hidden store.
fn into(hidden: &Store, place: &dyn Place, name: &str, bytes: u64) -> Result<u64, CarryError> {
    let folder = Folder::open(hidden.path())?;
    folder.make(name.rsplit_once('/').map_or("", |(folders, _)| folders), 0o700)?;
    // That of the runs before.
    folder.remove(name)?;
    let mut file = folder.create(name, 0o600)?;
    match receive(place, name, Size::Listed(bytes), &mut file)? {
        Some(bytes) => Ok(bytes),
        None => {
            let why = "it is in the list, and it is not there".to_owned();
            Err(CarryError::Lie { place: place.name(), name: name.to_owned(), why })
        }
    }
}

/// Fetches what names the files of many runs.
fn packing(hidden: &Store, place: &dyn Place, there: &BTreeMap<String, u64>) -> Result<(), CarryError> {
    match there.get(PACKING) {
        None => Ok(()),
        Some(size) => listed(hidden, place, (PACKING, *size), PACKING_BYTES).map(drop),
    }
}

/// Fetches the files of many runs that hold tables of these.
fn packed(hidden: &Store, place: &dyn Place, there: &BTreeMap<String, u64>, ids: &[RunId]) -> Result<u64, CarryError> {
    let wanted = hidden.shared_files(ids)?;
    let mut fetched = 0;
    for file in hidden.packed_files()? {
        let path = hidden.path().join(&file.name);
        if wanted.contains(&path) && !path.exists() {
            fetched += stated(hidden, place, there, (&file.name, file.bytes))?;
        }
    }
    Ok(fetched)
}

/// Takes runs in from the hidden store, as from an archive.
fn import_hidden(store: &Store, hidden: &Store, ids: &[RunId]) -> Result<(), CarryError> {
    let (reader, writer) = std::io::pipe()?;
    std::thread::scope(|scope| {
        let exporting = scope.spawn(move || hidden.export(ids, writer).map(drop));
        let taken = store.import_archive(reader, &ArchiveLimits::default()).map(drop);
        // An error of the content is reported by its first reader.
        match exporting.join() {
            Ok(Err(error)) if !is_broken_pipe(&error) => Err(error.into()),
            _ => Ok(taken?),
        }
    })
}
