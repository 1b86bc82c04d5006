//! Copies of a store: `store.json` names further folders, and what is written to the store is written to all of them.
//!
//! A copy has the same names as the store and its id, so that it can be used as a store. Files of runs never change and are known
//! by their checksums, whichever copy they come from. Of what changes (labels, studies) a copy may be older than the store,
//! with checksums that fit: so the store keeps in `copies.json` which names each copy lacks, written down before they change, and
//! an epoch that the copy must show. A copy that shows another epoch, as one that was restored from a backup, is used for files of
//! runs alone until a scrub has made it equal again.

use std::{
    collections::BTreeMap,
    io::{self, Read, Write},
    path::{Path, PathBuf},
};

use fenxi_model::{Micros, RunId};
use fs_err as fs;
use serde::{Deserialize, Serialize};

use crate::{
    Folder, Store, StoreError,
    bounds::WHOLE,
    folder::{open_regular, read_regular},
    locks::HeldLock,
    mark::{self, MARK, MARK_BYTES},
    runs::parse_manifest,
    scrub_copies::is_intact,
    stamp::now_ns,
};

/// Status of the store's copies.
const STATE: &str = "copies.json";
/// Identity of a copy: whose it is, and how far it came.
const SHOWN: &str = "copy.json";
/// Where the manifest of a run lies in its folder.
const RUN_JSON: &str = "run.json";
/// How names of files end that are not read whole.
const LARGE: &str = ".parquet";
/// The name of the store itself among its copies.
pub(crate) const SELF: &str = ".";
/// How many incidents are kept.
const INCIDENTS: usize = 100;
/// Bytes copied at a time.
const BUFFER: usize = 256 << 10;

/// One copy, and what happened to it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CopyStatus {
    /// Its folder; `.` is the store itself.
    pub path: String,
    /// Reads that failed.
    pub read: u64,
    /// Writes that failed.
    pub write: u64,
    /// Files that did not match their checksum, or were gone.
    pub cksum: u64,
    /// Files of it that were written anew from another copy.
    pub repaired: u64,
    /// The epoch that it shows as long as it is as the store left it; 0: it was never filled.
    pub epoch: i64,
    /// Names that it lacks or has as they were before, with how many changes of each did not reach it.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub behind: BTreeMap<String, u64>,
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

/// A file that was found damaged, and what became of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Incident {
    /// Its number, from 1 on.
    pub n: u64,
    /// When it was found.
    pub at: Micros,
    /// The copy that it lies in; `.` is the store itself.
    pub copy: String,
    /// Its name within that.
    pub file: String,
    /// True if it was repaired.
    pub repaired: bool,
}

/// Status of the copies of a store.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct CopiesStatus {
    /// The store itself, then its copies as `store.json` names them.
    pub copies: Vec<CopyStatus>,
    /// The last scrub; None: there was none.
    pub scrub: Option<ScrubDone>,
    /// Files that no copy has whole, and what is wrong with them.
    pub damaged: BTreeMap<String, String>,
    /// Latest incidents, oldest first.
    pub incidents: Vec<Incident>,
}

/// Content of `copy.json`.
#[derive(Serialize, Deserialize)]
struct Shown {
    of: String,
    epoch: i64,
}

impl CopyStatus {
    /// Writes down that it does not have a name as it is, until a scrub.
    pub(crate) fn lacks(&mut self, name: &str) {
        self.behind.entry(name.to_owned()).or_insert(1);
    }
}

/// A change that is announced: what it concerns is not believed of copies until it reached them.
pub(crate) struct Change {
    names: Vec<String>,
    /// Scrubs that would take the announcement back wait for it. None: there are no copies.
    held: Option<HeldLock>,
}

impl CopiesStatus {
    pub(crate) fn of(&mut self, path: &str) -> &mut CopyStatus {
        let at = self.copies.iter().position(|copy| copy.path == path).unwrap_or_else(|| {
            self.copies.push(CopyStatus { path: path.to_owned(), ..CopyStatus::default() });
            self.copies.len() - 1
        });
        &mut self.copies[at]
    }

    /// Counts a file that was wrong (`harm`) and is repaired.
    pub(crate) fn repaired(&mut self, path: &str, file: &str, harm: Harm) {
        self.count(path, harm);
        self.of(path).repaired += 1;
        self.damaged.remove(file);
        self.log(path, file, true);
    }

    /// Counts a file of the store that no copy has whole; once, however often it is read.
    pub(crate) fn lost(&mut self, file: &str, harm: Harm, why: String) {
        if self.damaged.insert(file.to_owned(), why).is_none() {
            self.count(SELF, harm);
            self.log(SELF, file, false);
        }
    }

    pub(crate) fn count(&mut self, path: &str, harm: Harm) {
        let copy = self.of(path);
        match harm {
            Harm::Lacking => {}
            Harm::Wrong => copy.cksum += 1,
            Harm::Unreadable => copy.read += 1,
        }
    }

    fn log(&mut self, copy: &str, file: &str, repaired: bool) {
        let n = self.incidents.last().map_or(1, |last| last.n + 1);
        let at = Micros((now_ns() / 1000) as i64);
        self.incidents.push(Incident { n, at, copy: copy.to_owned(), file: file.to_owned(), repaired });
        let surplus = self.incidents.len().saturating_sub(INCIDENTS);
        self.incidents.drain(..surplus);
    }
}

/// Fault of a file of a copy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Harm {
    /// It was not yet brought there: no fault.
    Lacking,
    /// It does not match its checksum, or is gone.
    Wrong,
    /// The disk does not give it.
    Unreadable,
}

impl Store {
    /// The folders of its copies, as `store.json` names them.
    pub fn copies(&self) -> &[PathBuf] {
        &self.copies
    }

    /// Status of the copies, from their folders without reading files.
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
        status.incidents.clear();
        self.save_status(&status)
    }

    /// The status that is written down, with a line for each copy; one that `store.json` no longer names is left out.
    pub(crate) fn load_status(&self) -> Result<CopiesStatus, StoreError> {
        let path = self.path().join(STATE);
        let mut status: CopiesStatus = match self.get_json(&path, &[]) {
            Err(e) if e.is_not_found() => CopiesStatus::default(),
            // Nothing is believed of copies then but what has a checksum: a scrub makes them equal again.
            Err(StoreError::Damaged { .. }) => CopiesStatus::default(),
            read => read?,
        };
        let names: Vec<String> =
            [SELF.to_owned()].into_iter().chain(self.copies.iter().map(|path| name(path))).collect();
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
        let change = self.begin_change(names)?;
        let done = work()?;
        self.end_change(change);
        Ok(done)
    }

    /// Writes down that copies will not have these names as they are, before they change: after a kill in between that is known.
    pub(crate) fn begin_change(&self, names: &[String]) -> Result<Change, StoreError> {
        if self.copies.is_empty() {
            return Ok(Change { names: Vec::new(), held: None });
        }
        let held = Some(self.changes_copies()?);
        let _turn = self.mirroring()?;
        let mut status = self.load_status()?;
        for copy in status.copies.iter_mut().filter(|copy| copy.path != SELF && copy.epoch != 0) {
            names.iter().for_each(|name| *copy.behind.entry(name.clone()).or_default() += 1);
        }
        self.save_status(&status)?;
        Ok(Change { names: names.to_vec(), held })
    }

    /// Brings what was changed to all copies. A copy that cannot be written is behind from now on: the store itself has everything.
    pub(crate) fn end_change(&self, change: Change) {
        let Change { names, held: Some(_held) } = change else { return };
        self.bring_large(&names);
        let Ok(_turn) = self.mirroring() else { return };
        let Ok(mut status) = self.load_status() else { return };
        for path in &*self.copies {
            let opened = self.open_copy(path, &status);
            let copy = status.of(&name(path));
            copy.unavailable = None;
            let (folder, is_equal) = match opened {
                Ok(opened) => opened,
                Err(why) => {
                    (copy.write, copy.unavailable) = (copy.write + 1, Some(why));
                    continue;
                }
            };
            // One that was never filled gets all of it from a scrub.
            if copy.epoch == 0 {
                continue;
            }
            let brought: Vec<&String> = names.iter().filter(|one| self.bring(one, &folder).is_ok()).collect();
            if brought.len() < names.len() {
                copy.write += 1;
            }
            for name in brought {
                // Others may be about to change it as well, or were killed before they brought it.
                if let Some(n) = copy.behind.get_mut(name) {
                    *n = n.saturating_sub(1);
                }
            }
            copy.behind.retain(|_, n| *n > 0);
            // One that is older stays so until a scrub has looked at all of it.
            if is_equal {
                let epoch = next_epoch(copy.epoch);
                match self.show_epoch(&folder, epoch) {
                    Ok(()) => copy.epoch = epoch,
                    Err(_) => copy.write += 1,
                }
            }
        }
        // Changes that are not written down stay announced.
        let _ = self.save_status(&status);
    }

    /// Brings files of runs, which may be large, before others have to wait: what fails is tried again under the lock.
    fn bring_large(&self, names: &[String]) {
        let Ok(status) = self.load_status() else { return };
        for path in self.copies.iter().filter(|path| status.copies.iter().any(|c| c.path == name(path) && c.epoch != 0))
        {
            let Ok((folder, _)) = self.open_copy(path, &status) else { continue };
            for one in names.iter().filter(|one| run_of(one).is_some() || one.ends_with(LARGE)) {
                let _ = self.bring_files(one, &folder);
            }
        }
    }

    /// The files of a run, without its manifest, or a file of many runs.
    fn bring_files(&self, name: &str, to: &Folder) -> Result<(), StoreError> {
        let Some(id) = run_of(name) else {
            return match open_regular(&self.path().join(name)) {
                Ok(mut file) => {
                    Ok(self.put_long(to, name, file.metadata()?.len(), |to| io::copy(&mut file, to).map(drop))?)
                }
                Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(()),
                Err(e) => Err(e.into()),
            };
        };
        let dir = self.own_dir(&id);
        let text = read_regular(&dir.join(RUN_JSON), WHOLE)?;
        let manifest = parse_manifest(&id, dir.join(RUN_JSON), &text)?;
        for entry in self.own_files(&manifest)? {
            let mut from = open_regular(&dir.join(&entry.name))?;
            let name = format!("{name}/{}", entry.name);
            // A file that is damaged here must not be copied.
            self.put_long(to, &name, entry.bytes, |to| copy_hashed(&mut from, to, &entry.blake3).map(drop))?;
        }
        Ok(())
    }

    /// Puts a file that never changes into a copy, unless one of its length is there: a scrub compares it.
    fn put_long(
        &self,
        to: &Folder,
        name: &str,
        bytes: u64,
        fill: impl FnOnce(&mut fs::File) -> io::Result<()>,
    ) -> io::Result<()> {
        if to.file(name).and_then(|file| file.metadata()).is_ok_and(|meta| meta.len() == bytes) {
            return Ok(());
        }
        self.make_parent(to, name)?;
        to.put(name, self.file_mode(), fill)
    }

    /// Makes one name in a copy what it is in the store: a file, a run's folder, or nothing.
    pub(crate) fn bring(&self, name: &str, to: &Folder) -> Result<(), StoreError> {
        if let Some(id) = run_of(name) {
            let dir = self.own_dir(&id);
            if !dir.exists() {
                return Ok(remove_run(to, name)?);
            }
            self.bring_files(name, to)?;
            let text = read_regular(&dir.join(RUN_JSON), WHOLE)?;
            // Removed meanwhile: the one who did that waits for us, and removes it there.
            return Ok(self.put_in(to, &format!("{name}/{RUN_JSON}"), &text)?);
        }
        if name.ends_with(LARGE) && self.path().join(name).exists() {
            return self.bring_files(name, to);
        }
        match read_regular(&self.path().join(name), WHOLE) {
            // A text that is damaged here must not replace what is whole there.
            Ok(text) if is_intact(name, &text) => Ok(self.put_in(to, name, &text)?),
            Ok(_) => Err(StoreError::damaged(self.path().join(name), "its digest does not fit")),
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
