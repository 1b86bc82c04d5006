//! A scrub: every file of every copy is read and compared, what is wrong is repaired from a copy that is right, and what a copy
//! lacks is brought to it.
//!
//! Comparing takes no lock, so that recordings and labels go on. What is found wrong is looked at again under the lock of copies,
//! and repaired there.

use std::{
    collections::BTreeSet,
    io::{self, Write},
    path::PathBuf,
    time::Instant,
};

use fenxi_model::{Micros, RunId};
use serde_json::{Map, Value};

use crate::{
    CopiesStatus, FileEntry, Folder, Manifest, PART, ScrubDone, Store, StoreError,
    bounds::WHOLE,
    copies::{Harm, SELF, copy_hashed, name, next_epoch, remove_run, run_of},
    digest,
    locks::SMALL,
    runs::parse_manifest,
    stamp::now_ns,
};

/// Where a copy's files go that the store does not have, and that may be of an older state.
const LEFT: &str = "left";
/// The manifest of a run in its folder.
const RUN_JSON: &str = "run.json";

/// The store itself, or a copy that can be read.
pub(crate) struct Side {
    pub(crate) name: String,
    pub(crate) folder: Folder,
    /// Whether it is the store itself, or as the store left it.
    is_equal: bool,
    behind: BTreeSet<String>,
}

impl Side {
    /// Whether a file of this name is as the store left it, if its checksum fits.
    pub(crate) fn vouches_for(&self, file: &str) -> bool {
        self.is_equal && !self.is_behind(file)
    }

    fn is_behind(&self, file: &str) -> bool {
        let is_in =
            |folder: &str| file.strip_prefix(folder).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'));
        let holds = |name: &str| name.strip_prefix(file).is_some_and(|rest| rest.starts_with('/'));
        self.behind.iter().any(|name| is_in(name) || holds(name))
    }
}

/// State of a scrub that goes on.
struct Scrubbing<'a> {
    store: &'a Store,
    /// The store itself first.
    sides: Vec<Side>,
    done: ScrubDone,
}

impl Store {
    /// The store itself, and the copies that can be read.
    pub(crate) fn sides(&self, status: &CopiesStatus) -> Vec<Side> {
        let Ok(folder) = self.folder() else { return Vec::new() };
        let mut sides = vec![Side { name: SELF.to_owned(), folder, is_equal: true, behind: BTreeSet::new() }];
        for path in self.copies() {
            let Ok((folder, is_equal)) = self.open_copy(path, status) else { continue };
            let behind = status
                .copies
                .iter()
                .find(|copy| copy.path == name(path))
                .map(|copy| copy.behind.keys().cloned().collect());
            sides.push(Side { name: name(path), folder, is_equal, behind: behind.unwrap_or_default() });
        }
        sides
    }

    /// Compares all copies of the store and repairs them; `watch` takes runs done and all. What no copy has whole is in the status.
    ///
    /// # Errors
    /// When the store itself cannot be listed or written, or another process scrubs it.
    pub fn scrub_copies(&self, watch: &mut dyn FnMut(usize, usize)) -> Result<CopiesStatus, StoreError> {
        let begun = Instant::now();
        let _only = self.only_one("scrub")?;
        let sides = {
            let _turn = self.mirroring()?;
            let mut status = self.load_status()?;
            status.damaged.clear();
            for path in self.copies() {
                let opened = self.open_copy(path, &status);
                let copy = status.of(&name(path));
                // A folder that is to be filled is marked first: after a kill it is known whose it is.
                let begun = opened.and_then(|(folder, _)| match copy.epoch {
                    0 => self.show_epoch(&folder, 0).map_err(|e| e.to_string()),
                    _ => Ok(()),
                });
                copy.unavailable = begun.err();
            }
            self.save_status(&status)?;
            self.sides(&status)
        };
        let mut scrubbing = Scrubbing { store: self, sides, done: ScrubDone::default() };
        scrubbing.all(watch)?;
        let Scrubbing { sides, mut done, .. } = scrubbing;
        // Announced changes that did not come, as their process was killed, are settled where none goes on.
        let none_goes_on = self.no_change_of_copies();
        let _turn = self.mirroring()?;
        let mut status = self.load_status()?;
        for side in sides.iter().filter(|side| side.name != SELF) {
            let known = status.of(&side.name);
            if none_goes_on.is_ok() {
                known.behind.retain(|one, _| self.bring(one, &side.folder).is_err());
            }
            let epoch = next_epoch(known.epoch);
            match self.show_epoch(&side.folder, epoch) {
                Ok(()) => known.epoch = epoch,
                Err(e) => (known.write, known.unavailable) = (known.write + 1, Some(e.to_string())),
            }
        }
        (done.at, done.seconds) = (Micros((now_ns() / 1000) as i64), begun.elapsed().as_secs_f64());
        status.scrub = Some(done);
        self.save_status(&status)?;
        Ok(status)
    }
}

impl Scrubbing<'_> {
    fn all(&mut self, watch: &mut dyn FnMut(usize, usize)) -> Result<(), StoreError> {
        for file in self.store.packed_files()? {
            let is_named =
                |store: &Store| store.packed_files().is_ok_and(|files| files.iter().any(|f| f.name == file.name));
            self.file(&file.name, &file, &is_named)?;
        }
        let mut ids: BTreeSet<RunId> = self.store.ids()?.into_iter().collect();
        for side in &self.sides {
            let Ok(runs) = side.folder.below("runs") else { continue };
            ids.extend(runs.entries()?.iter().filter_map(|entry| run_of(&format!("runs/{}", entry.name))));
        }
        let n = ids.len();
        for (at, id) in ids.iter().enumerate() {
            self.run(id)?;
            watch(at + 1, n);
        }
        self.small()?;
        self.sweep_packed()
    }

    /// Looks at copies as they are now, while no process writes to them.
    fn locked(
        &mut self,
        work: impl FnOnce(&mut Self, &[Side], &mut CopiesStatus) -> Result<(), StoreError>,
    ) -> Result<(), StoreError> {
        let _turn = self.store.mirroring()?;
        let mut status = self.store.load_status()?;
        let before = status.clone();
        let sides = self.store.sides(&status);
        // A copy that came or went since the scrub began is for the next one.
        let is_as_it_was = sides.iter().map(|side| &side.name).eq(self.sides.iter().map(|side| &side.name));
        let worked = if is_as_it_was { work(self, &sides, &mut status) } else { Ok(()) };
        if status != before {
            self.store.save_status(&status)?;
        }
        worked
    }

    /// One run: its manifest here, what that lists in all copies, and then the manifest there: where it is, the run is whole.
    fn run(&mut self, id: &RunId) -> Result<(), StoreError> {
        let (folder, name) = (format!("runs/run={id}"), format!("runs/run={id}/{RUN_JSON}"));
        let own = self.store.own_dir(id);
        if !own.exists() {
            self.brought_back_or_removed(id, &folder)?;
        }
        if !own.exists() {
            return Ok(());
        }
        let parsed = |text: &[u8]| parse_manifest(id, PathBuf::from(&name), text).ok();
        let text = |side: &Side| side.folder.read(&name, WHOLE).ok();
        let mut manifest = self.sides.first().and_then(text).and_then(|text| parsed(&text));
        if manifest.is_none() {
            self.small_file(&name, &|text| parsed(text).is_some(), 1)?;
            manifest = self.sides.first().and_then(text).and_then(|text| parsed(&text));
        }
        let Some(manifest) = manifest else { return Ok(()) };
        for entry in self.store.own_files(&manifest)? {
            // It may be removed, or moved to a file of many runs, meanwhile.
            let is_own = |store: &Store| {
                own.exists() && store.own_files(&manifest).is_ok_and(|files| files.iter().any(|f| f.name == entry.name))
            };
            self.file(&format!("{folder}/{}", entry.name), entry, &is_own)?;
        }
        self.small_file(&name, &|text| parsed(text).is_some(), self.sides.len())?;
        self.sweep_run(&folder, &manifest)
    }

    /// A run whose folder is not in the store: lost with its disk where a copy that is as the store left it has it; removed otherwise.
    fn brought_back_or_removed(&mut self, id: &RunId, folder: &str) -> Result<(), StoreError> {
        let name = format!("{folder}/{RUN_JSON}");
        self.locked(|this, sides, status| {
            if this.store.own_dir(id).exists() {
                return Ok(());
            }
            let has = |side: &&Side| {
                let text = side.folder.read(&name, WHOLE).ok();
                side.vouches_for(folder)
                    && text.is_some_and(|text| parse_manifest(id, PathBuf::from(&name), &text).is_ok())
            };
            if sides.iter().skip(1).any(|side| has(&side)) {
                return this.store.make_dir(folder).map(drop);
            }
            for side in sides.iter().skip(1) {
                let gone = match side.is_equal {
                    true => remove_run(&side.folder, folder),
                    false => set_aside(&side.folder, folder),
                };
                if !is_gone(&gone) {
                    status.of(&side.name).lacks(folder);
                }
            }
            Ok(())
        })
    }

    /// One file that never changes, in all copies; `is_named` as long as the store has it.
    fn file(&mut self, name: &str, entry: &FileEntry, is_named: &dyn Fn(&Store) -> bool) -> Result<(), StoreError> {
        let compared = |side: &Side| {
            let mut file = side.folder.file(name)?;
            copy_hashed(&mut file, &mut io::sink(), &entry.blake3)
        };
        let first: Vec<io::Result<u64>> = self.sides.iter().map(compared).collect();
        self.done.files += first.len() as u64;
        self.done.bytes += first.iter().flatten().sum::<u64>();
        if first.iter().all(Result::is_ok) {
            return Ok(());
        }
        self.locked(|this, sides, status| {
            if !is_named(this.store) {
                return Ok(());
            }
            // Another process may have repaired it while we waited.
            let again = sides.iter().zip(&first).map(|(side, first)| match first {
                Ok(_) => Ok(()),
                Err(_) => compared(side).map(drop).map_err(|e| e.kind()),
            });
            let states: Vec<Result<(), io::ErrorKind>> = again.collect();
            let Some(good) = states.iter().position(Result::is_ok).and_then(|at| sides.get(at)) else {
                status.lost(name, Harm::Wrong, "no copy has it as it was sealed".to_owned());
                return Ok(());
            };
            for (side, state) in sides.iter().zip(&states) {
                let harm = match state {
                    Ok(()) => continue,
                    Err(io::ErrorKind::NotFound) if !side.vouches_for(name) => Harm::Lacking,
                    Err(io::ErrorKind::NotFound | io::ErrorKind::InvalidData) => Harm::Wrong,
                    Err(_) => Harm::Unreadable,
                };
                let written = good.folder.file(name).map_err(StoreError::from).and_then(|mut from| {
                    this.put(side, name, &mut |to| copy_hashed(&mut from, to, &entry.blake3).map(drop))
                });
                this.note(status, side, name, harm, written);
            }
            Ok(())
        })
    }

    /// Labels, studies, questions and their like.
    fn small(&mut self) -> Result<(), StoreError> {
        let mut names = BTreeSet::new();
        for side in &self.sides {
            for folder in SMALL {
                let Ok(below) = side.folder.below(folder) else { continue };
                let files =
                    below.entries()?.into_iter().filter(|entry| entry.kind == rustix::fs::FileType::RegularFile);
                let ours = files.filter(|entry| !entry.name.starts_with('.') && !entry.name.ends_with(".lock"));
                names.extend(ours.map(|entry| format!("{folder}/{}", entry.name)));
            }
        }
        for name in names {
            self.small_file(&name, &|text| is_intact(&name, text), self.sides.len())?;
        }
        Ok(())
    }

    /// One file that may change, in the first `most` of the sides: what the store has counts, unless its digest shows that it is
    /// damaged.
    fn small_file(&mut self, name: &str, fits: &dyn Fn(&[u8]) -> bool, most: usize) -> Result<(), StoreError> {
        let read = |side: &Side| side.folder.read(name, WHOLE).ok();
        let texts: Vec<Option<Vec<u8>>> = self.sides.iter().take(most).map(read).collect();
        self.done.files += texts.len() as u64;
        let own = texts.first().and_then(Option::as_ref).filter(|text| fits(text));
        if own.is_some_and(|own| texts.iter().all(|text| text.as_ref() == Some(own))) {
            return Ok(());
        }
        self.locked(|this, sides, status| {
            let texts: Vec<Option<Vec<u8>>> = sides.iter().map(read).collect();
            let is_here = texts.first().is_some_and(Option::is_some);
            let may = |side: &Side| side.name == SELF || side.vouches_for(name) && (is_here || has_digest(name));
            let good =
                sides.iter().zip(&texts).find(|(side, text)| may(side) && text.as_ref().is_some_and(|text| fits(text)));
            let Some(good) = good.and_then(|(_, text)| text.clone()) else {
                this.without(status, sides, name, is_here);
                return Ok(());
            };
            for (side, text) in sides.iter().zip(&texts).take(most).filter(|(_, text)| text.as_ref() != Some(&good)) {
                // Another text that fits is of another time, and one without a digest was edited by people.
                let is_fault = match text {
                    Some(text) => has_digest(name) && !fits(text),
                    None => has_digest(name) && side.vouches_for(name),
                };
                let harm = if is_fault { Harm::Wrong } else { Harm::Lacking };
                let written = this.put(side, name, &mut |to| to.write_all(&good));
                this.note(status, side, name, harm, written);
            }
            Ok(())
        })
    }

    /// A small file that neither the store has nor a copy that can be believed: damaged here, or removed.
    fn without(&self, status: &mut CopiesStatus, sides: &[Side], name: &str, is_here: bool) {
        if is_here {
            status.lost(name, Harm::Wrong, "its digest does not fit, and no copy has it".to_owned());
        }
        for side in sides.iter().skip(1) {
            // A copy's version of a file damaged here may be older: it is not believed from now on.
            let taken = match side.is_behind(name) && side.is_equal {
                _ if is_here => Err(io::ErrorKind::InvalidData.into()),
                true => side.folder.remove(name).map(drop),
                false => set_aside(&side.folder, name),
            };
            if !is_gone(&taken) {
                status.of(&side.name).lacks(name);
            }
        }
    }

    fn put(
        &self,
        side: &Side,
        name: &str,
        fill: &mut dyn FnMut(&mut fs_err::File) -> io::Result<()>,
    ) -> Result<(), StoreError> {
        if side.name == SELF {
            if let Some((folders, _)) = name.rsplit_once('/') {
                self.store.make_dir(folders)?;
            }
            return self.store.replace_with(&self.store.path().join(name), |to| fill(to));
        }
        self.store.make_parent(&side.folder, name)?;
        Ok(side.folder.put(name, self.store.file_mode(), |to| fill(to))?)
    }

    fn note(
        &mut self,
        status: &mut CopiesStatus,
        side: &Side,
        name: &str,
        harm: Harm,
        written: Result<(), StoreError>,
    ) {
        match written {
            Ok(()) if harm == Harm::Lacking => self.done.filled += 1,
            Ok(()) => {
                self.done.repaired += 1;
                status.repaired(&side.name, name, harm);
            }
            Err(error) => {
                status.of(&side.name).write += 1;
                if side.name == SELF {
                    status.lost(name, harm, format!("it could not be repaired: {error}"));
                } else {
                    status.count(&side.name, harm);
                    status.of(&side.name).lacks(name);
                }
            }
        }
    }

    /// Removes from copies of a run what lies in files of many runs since it was compacted, and what a kill left.
    fn sweep_run(&self, folder: &str, manifest: &Manifest) -> Result<(), StoreError> {
        let own: BTreeSet<&str> = self.store.own_files(manifest)?.into_iter().map(|file| file.name.as_str()).collect();
        let is_moved = |name: &str| !own.contains(name) && manifest.files.iter().any(|file| file.name == name);
        for side in self.sides.iter().skip(1) {
            let Ok(below) = side.folder.below(folder) else { continue };
            for entry in below.entries()?.iter().filter(|entry| is_moved(&entry.name) || is_part(&entry.name)) {
                // It is looked at again by the next scrub.
                let _ = below.remove(&entry.name);
            }
        }
        Ok(())
    }

    /// The same of files of many runs that newer ones replaced.
    fn sweep_packed(&self) -> Result<(), StoreError> {
        // A compaction puts files into copies before it names them.
        let Ok(_none_compacts) = self.store.only_one("compact") else { return Ok(()) };
        let named: BTreeSet<String> = self.store.packed_files()?.into_iter().map(|file| file.name).collect();
        for side in self.sides.iter().skip(1) {
            let Ok(top) = side.folder.below("compacted") else { continue };
            for table in top.entries()?.iter().filter(|entry| entry.kind == rustix::fs::FileType::Directory) {
                let below = top.below(&table.name)?;
                let is_old = |name: &str| !named.contains(&format!("compacted/{}/{name}", table.name));
                for entry in below.entries()?.iter().filter(|entry| is_old(&entry.name)) {
                    let _ = below.remove(&entry.name);
                }
            }
        }
        Ok(())
    }
}

fn is_part(name: &str) -> bool {
    name.starts_with('.') && name.ends_with(PART)
}

/// Whether what has this name carries a digest: that of people does not.
fn has_digest(name: &str) -> bool {
    name.ends_with(".json") && !["formats/", "findings/", "boards/"].iter().any(|folder| name.starts_with(folder))
}

/// Whether a small file is what was written, or from before there were digests.
pub(crate) fn is_intact(name: &str, text: &[u8]) -> bool {
    // A damaged name of a digest must not pass for one that was left out: its value is there.
    let is_digest = |value: &Value| value.as_str().is_some_and(|text| text.len() == digest::BLANK.len());
    let is_from_before =
        || serde_json::from_slice::<Map<String, Value>>(text).is_ok_and(|members| !members.values().any(is_digest));
    !has_digest(name)
        || digest::value_of::<Map<String, Value>>(text, &PathBuf::from(name), &[]).is_ok()
        || is_from_before()
}

/// Moves what the store does not have out of the way in a copy that may be older: it is not removed, and never used.
fn set_aside(folder: &Folder, name: &str) -> io::Result<()> {
    let (folders, _) = name.rsplit_once('/').unwrap_or(("", name));
    folder.make(&format!("{LEFT}/{folders}"), 0o700)?;
    folder.rename(name, folder, &format!("{LEFT}/{name}"))
}

/// Whether what was to be taken away is there no more.
fn is_gone(taken: &io::Result<()>) -> bool {
    taken.as_ref().err().is_none_or(|e| e.kind() == io::ErrorKind::NotFound)
}
