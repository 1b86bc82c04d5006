//! Copies of a store: `store.json` names further folders, and what is written to the store is written to all of them.
//!
//! A copy has the same names as the store and its id, so that it can be used as a store. Files of runs never change and are known
//! by their checksums, whichever copy they come from. Of what changes (labels, studies) a copy may be older than the store,
//! with checksums that fit: so the store keeps in `copies.json` which names each copy lacks, written down before they change, and
//! an epoch that the copy must show. A copy that shows another epoch, as one that was restored from a backup, is used for files of
//! runs alone until a scrub has made it equal again.

use std::{
    collections::{BTreeMap, BTreeSet},
    io::{self, Read, Write},
    path::{Path, PathBuf},
};

use fenxi_model::{Micros, RunId};
use fs_err as fs;
use serde::{Deserialize, Serialize};

use crate::{
    FileEntry, Folder, Manifest, Store, StoreError,
    bounds::WHOLE,
    folder::read_regular,
    mark::{self, MARK, MARK_BYTES},
    runs::parse_manifest,
    stamp::now_ns,
};

/// What the store knows of its copies.
const STATE: &str = "copies.json";
/// What a copy shows: whose it is, and how far it came.
const SHOWN: &str = "copy.json";
/// Where the manifest of a run lies in its folder.
const RUN_JSON: &str = "run.json";
/// The name of the store itself among its copies.
pub(crate) const SELF: &str = ".";
/// Bytes copied at a time.
const BUFFER: usize = 256 << 10;
/// Folders of small files that may change and are written to all copies.
pub(crate) const SMALL: &[&str] =
    &["labels", "studies", "questions", "questions/.kept", "formats", "findings", "boards", "compacted"];

/// One copy, and what happened to it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CopyStatus {
    /// Its folder; `.` is the store itself.
    pub path: String,
    /// Reads that failed.
    pub read: u64,
    /// Writes that failed.
    pub write: u64,
    /// Files that were not what their checksum says, or gone.
    pub cksum: u64,
    /// Files of it that were written anew from another copy.
    pub repaired: u64,
    /// The epoch that it shows as long as it is as the store left it; 0: it was never filled.
    pub epoch: i64,
    /// Names that it lacks or has as they were before.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub behind: BTreeSet<String>,
    /// Why it cannot be used, as it was found last.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unavailable: Option<String>,
}

/// The last scrub.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ScrubDone {
    /// When it ended.
    pub at: Micros,
    /// How long it took.
    pub seconds: f64,
    /// Files that it read, in all copies.
    pub files: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Files that it repaired.
    pub repaired: u64,
    /// Files that copies lacked and were given.
    pub filled: u64,
}

impl Default for ScrubDone {
    fn default() -> ScrubDone {
        ScrubDone { at: Micros(0), seconds: 0.0, files: 0, bytes: 0, repaired: 0, filled: 0 }
    }
}

/// What is known of the copies of a store.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct CopiesStatus {
    /// The store itself, then its copies as `store.json` names them.
    pub copies: Vec<CopyStatus>,
    /// The last scrub; None: there was none.
    pub scrub: Option<ScrubDone>,
    /// Files that no copy has whole, and what is wrong with them.
    pub damaged: BTreeMap<String, String>,
}

/// What a copy shows.
#[derive(Serialize, Deserialize)]
struct Shown {
    of: String,
    epoch: i64,
}

impl CopiesStatus {
    pub(crate) fn of(&mut self, path: &str) -> &mut CopyStatus {
        let at = self.copies.iter().position(|copy| copy.path == path).unwrap_or_else(|| {
            self.copies.push(CopyStatus { path: path.to_owned(), ..CopyStatus::default() });
            self.copies.len() - 1
        });
        &mut self.copies[at]
    }
}

impl Store {
    /// The folders of its copies, as `store.json` names them.
    pub fn copies(&self) -> &[PathBuf] {
        &self.copies
    }

    /// What is known of the copies; the folders are looked at, their files are not.
    ///
    /// # Errors
    /// When it is damaged.
    pub fn copies_status(&self) -> Result<CopiesStatus, StoreError> {
        let mut status = self.load_status()?;
        for copy in &*self.copies {
            let unavailable = self.open_copy(copy, &status).err();
            status.of(&name(copy)).unavailable = unavailable;
        }
        Ok(status)
    }

    /// Sets what was counted to 0.
    ///
    /// # Errors
    /// When the store cannot be written.
    pub fn clear_copies_status(&self) -> Result<(), StoreError> {
        let _turn = self.mirroring()?;
        let mut status = self.load_status()?;
        for copy in &mut status.copies {
            (copy.read, copy.write, copy.cksum, copy.repaired) = (0, 0, 0, 0);
        }
        status.damaged.clear();
        self.save_status(&status)
    }

    /// What is written down, with a line for each copy; one that `store.json` no longer names is left out.
    pub(crate) fn load_status(&self) -> Result<CopiesStatus, StoreError> {
        let path = self.path().join(STATE);
        let mut status: CopiesStatus = match self.get_json(&path, &[]) {
            Err(e) if e.is_not_found() => CopiesStatus::default(),
            // Nothing is believed of copies then but what has a checksum: a scrub makes them equal again.
            Err(StoreError::Damaged { .. }) => CopiesStatus::default(),
            read => read?,
        };
        let names: Vec<String> = [SELF.to_owned()].into_iter().chain(self.copies.iter().map(|path| name(path))).collect();
        status.copies.retain(|copy| names.contains(&copy.path));
        for name in &names {
            status.of(name);
        }
        status.copies.sort_by_key(|copy| names.iter().position(|name| *name == copy.path));
        Ok(status)
    }

    pub(crate) fn save_status(&self, status: &CopiesStatus) -> Result<(), StoreError> {
        self.put_json(&self.path().join(STATE), status)
    }

    /// The folder of a copy, with whether it is as this store left it; the error says why it cannot be used.
    pub(crate) fn open_copy(&self, path: &Path, status: &CopiesStatus) -> Result<(Folder, bool), String> {
        let folder = Folder::open(path).map_err(|e| e.to_string())?;
        let known = status.copies.iter().find(|copy| copy.path == name(path));
        let epoch = known.map_or(0, |copy| copy.epoch);
        match folder.read(MARK, MARK_BYTES) {
            Ok(text) if mark::id_of(&text) == mark::id_of(&self.own_mark()?) => {}
            Ok(_) => return Err("it holds another store".to_owned()),
            Err(e) if e.kind() != io::ErrorKind::NotFound => return Err(e.to_string()),
            Err(_) if epoch != 0 => {
                let why = "it was filled before and holds no store now: mount its disk, or take it out of store.json and scrub";
                return Err(format!("{why}, then name it again"));
            }
            Err(_) if folder.entries().map_err(|e| e.to_string())?.iter().any(|e| e.name != "lost+found") => {
                return Err("it holds something else than a store".to_owned());
            }
            Err(_) => return Ok((folder, false)),
        }
        let shown = folder.read(SHOWN, MARK_BYTES).ok().and_then(|text| serde_json::from_slice::<Shown>(&text).ok());
        Ok((folder, epoch != 0 && shown.is_some_and(|shown| shown.epoch == epoch)))
    }

    fn own_mark(&self) -> Result<Vec<u8>, String> {
        read_regular(&self.path().join(MARK), MARK_BYTES).map_err(|e| e.to_string())
    }

    /// Marks a folder as a copy of this store that came as far as `epoch`.
    pub(crate) fn show_epoch(&self, folder: &Folder, epoch: i64) -> io::Result<()> {
        let own = self.own_mark().map_err(io::Error::other)?;
        let of = mark::id_of(&own);
        if !folder.entries()?.iter().any(|entry| entry.name == MARK) {
            let text = mark::of_copy(&own).map_err(io::Error::other)?;
            folder.put(MARK, self.file_mode(), |file| file.write_all(&text))?;
        }
        let text = serde_json::to_vec(&Shown { of, epoch })?;
        folder.put(SHOWN, self.file_mode(), |file| file.write_all(&text))
    }

    /// Does what changes `names` (files, or folders of runs) in the store, and then in all copies.
    pub(crate) fn mirrored<T, E: From<StoreError>>(
        &self,
        names: &[String],
        work: impl FnOnce() -> Result<T, E>,
    ) -> Result<T, E> {
        if self.copies.is_empty() {
            return work();
        }
        // Before anything changes: after a kill in between it is known which names a copy has as they were.
        self.note_behind(names)?;
        let done = work()?;
        self.bring_to_copies(names);
        Ok(done)
    }

    /// Writes down that copies do not have these names as they are.
    pub(crate) fn note_behind(&self, names: &[String]) -> Result<(), StoreError> {
        if self.copies.is_empty() {
            return Ok(());
        }
        let _turn = self.mirroring()?;
        let mut status = self.load_status()?;
        for copy in status.copies.iter_mut().filter(|copy| copy.path != SELF) {
            copy.behind.extend(names.iter().cloned());
        }
        self.save_status(&status)
    }

    /// Brings names to all copies, and what these lacked before. A copy that cannot be written is behind from now on: the store
    /// itself has everything.
    pub(crate) fn bring_to_copies(&self, names: &[String]) {
        if self.copies.is_empty() {
            return;
        }
        let Ok(_turn) = self.mirroring() else { return };
        let Ok(mut status) = self.load_status() else { return };
        for path in &*self.copies {
            let opened = self.open_copy(path, &status);
            let copy = status.of(&name(path));
            copy.behind.extend(names.iter().cloned());
            copy.unavailable = None;
            let (folder, is_equal) = match opened {
                Ok(opened) => opened,
                Err(why) => {
                    (copy.write, copy.unavailable) = (copy.write + 1, Some(why));
                    continue;
                }
            };
            let all = std::mem::take(&mut copy.behind);
            copy.behind = all.into_iter().filter(|one| self.bring(one, &folder).is_err()).collect();
            if !copy.behind.is_empty() {
                copy.write += 1;
            }
            // One that was never filled, or is older, stays so until a scrub has looked at all of it.
            if is_equal {
                let epoch = next_epoch(copy.epoch);
                match self.show_epoch(&folder, epoch) {
                    Ok(()) => copy.epoch = epoch,
                    Err(_) => copy.write += 1,
                }
            }
        }
        // What is not written down is behind for the next one as well.
        let _ = self.save_status(&status);
    }

    /// Makes one name in a copy what it is in the store: a file, a run's folder, or nothing.
    pub(crate) fn bring(&self, name: &str, to: &Folder) -> Result<(), StoreError> {
        if let Some(id) = run_of(name) {
            if !self.own_dir(&id).exists() {
                return Ok(remove_run(to, name)?);
            }
            let manifest = self.manifest(&id)?;
            for entry in self.own_files(&manifest)? {
                put_checked(&self.own_dir(&id).join(&entry.name), to, &format!("{name}/{}", entry.name), entry, self)?;
            }
            let text = read_regular(&self.own_dir(&id).join(RUN_JSON), WHOLE)?;
            return Ok(self.put_in(to, &format!("{name}/{RUN_JSON}"), &text)?);
        }
        match read_regular(&self.path().join(name), WHOLE) {
            Ok(text) => Ok(self.put_in(to, name, &text)?),
            Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(to.remove(name).map(drop)?),
            Err(e) => Err(e.into()),
        }
    }

    /// Puts a small file into a copy, unless it is there.
    pub(crate) fn put_in(&self, to: &Folder, name: &str, text: &[u8]) -> io::Result<()> {
        if to.read(name, WHOLE).is_ok_and(|there| there == text) {
            return Ok(());
        }
        self.make_parent(to, name)?;
        to.put(name, self.file_mode(), |file| file.write_all(text))
    }

    pub(crate) fn make_parent(&self, to: &Folder, name: &str) -> io::Result<()> {
        match name.rsplit_once('/') {
            Some((folders, _)) => to.make(folders, self.modes().of_folders()).map(drop),
            None => Ok(()),
        }
    }
}

/// Puts a file of a run into a copy, unless one of its length is there: what is damaged here must not be copied.
fn put_checked(from: &Path, to: &Folder, name: &str, entry: &FileEntry, store: &Store) -> Result<(), StoreError> {
    if to.file(name).and_then(|file| file.metadata()).is_ok_and(|meta| meta.len() == entry.bytes) {
        return Ok(());
    }
    store.make_parent(to, name)?;
    let mut source = crate::open_regular(from)?;
    Ok(to.put(name, store.file_mode(), |file| copy_hashed(&mut source, file, &entry.blake3).map(drop))?)
}

/// Copies what has this BLAKE3; an error of kind `InvalidData` where it has another. Gives the bytes.
pub(crate) fn copy_hashed(from: &mut dyn Read, to: &mut dyn Write, blake3: &str) -> io::Result<u64> {
    let (mut hasher, mut buffer, mut bytes) = (blake3::Hasher::new(), vec![0; BUFFER], 0);
    loop {
        let n = match from.read(&mut buffer) {
            Ok(0) => break,
            Ok(n) => n,
            Err(e) if e.kind() == io::ErrorKind::Interrupted => continue,
            Err(e) => return Err(e),
        };
        hasher.update(&buffer[..n]);
        to.write_all(&buffer[..n])?;
        bytes += n as u64;
    }
    match hasher.finalize().to_hex().as_str() == blake3 {
        true => Ok(bytes),
        false => Err(io::Error::new(io::ErrorKind::InvalidData, "its BLAKE3 is not the one that was written down")),
    }
}

/// Removes a run from a copy, its manifest first: what is left of a kill is no run.
pub(crate) fn remove_run(from: &Folder, name: &str) -> io::Result<()> {
    let below = match from.below(name) {
        Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(()),
        below => below?,
    };
    below.remove(RUN_JSON)?;
    drop(below);
    fs::remove_dir_all(from.path().join(name))
}

/// The run whose folder a name is.
pub(crate) fn run_of(name: &str) -> Option<RunId> {
    name.strip_prefix("runs/run=").and_then(RunId::parse)
}

/// The name of a copy in what is written down.
pub(crate) fn name(path: &Path) -> String {
    path.display().to_string()
}

/// An epoch that no copy has shown before.
pub(crate) fn next_epoch(last: i64) -> i64 {
    ((now_ns() / 1000) as i64).max(last + 1)
}

/// The manifest of a run as a copy has it, if it is intact.
pub(crate) fn manifest_in(folder: &Folder, id: &RunId) -> Option<(Manifest, Vec<u8>)> {
    let name = format!("runs/run={id}/{RUN_JSON}");
    let text = folder.read(&name, WHOLE).ok()?;
    Some((parse_manifest(id, PathBuf::from(name), &text).ok()?, text))
}
