//! A scrub: every file of every copy is read and compared, what is wrong is repaired from a copy that is right, and what a copy
//! lacks is brought to it.

use std::{
    collections::{BTreeMap, BTreeSet},
    io::{self, Read},
    path::PathBuf,
    time::Instant,
};

use fenxi_model::{Micros, RunId};
use serde_json::{Map, Value};

use crate::{
    CopiesStatus, FileEntry, Folder, Manifest, ScrubDone, Store, StoreError,
    bounds::WHOLE,
    copies::{SELF, SMALL, copy_hashed, manifest_in, name, next_epoch, remove_run, run_of},
    digest,
    stamp::now_ns,
};

/// Where a copy's files go that the store does not have, and that may be of an older state.
const LEFT: &str = "left";

/// One copy that can be read.
struct Open {
    name: String,
    folder: Folder,
    /// Whether it is the store itself, or as the store left it.
    is_equal: bool,
    behind: BTreeSet<String>,
    /// What could not be brought to it.
    failed: BTreeSet<String>,
}

/// What goes on.
struct Scrubbing<'a> {
    store: &'a Store,
    status: CopiesStatus,
    /// The store itself first.
    open: Vec<Open>,
    done: ScrubDone,
    watch: &'a mut dyn FnMut(usize, usize),
}

impl Store {
    /// Compares all copies of the store and repairs them; `watch` takes runs done and all. What no copy has whole is in the status.
    ///
    /// # Errors
    /// When the store itself cannot be listed or written.
    pub fn scrub_copies(&self, watch: &mut dyn FnMut(usize, usize)) -> Result<CopiesStatus, StoreError> {
        let begun = Instant::now();
        let _turn = self.mirroring()?;
        let mut status = self.load_status()?;
        status.damaged.clear();
        let own = Open { name: SELF.to_owned(), folder: self.folder()?, is_equal: true, behind: BTreeSet::new(), failed: BTreeSet::new() };
        let mut open = vec![own];
        for path in self.copies() {
            let opened = self.open_copy(path, &status);
            let copy = status.of(&name(path));
            copy.unavailable = opened.as_ref().err().cloned();
            if let Ok((folder, is_equal)) = opened {
                let behind = copy.behind.clone();
                open.push(Open { name: name(path), folder, is_equal, behind, failed: BTreeSet::new() });
            }
        }
        let mut scrubbing = Scrubbing { store: self, status, open, done: ScrubDone::default(), watch };
        scrubbing.all()?;
        let Scrubbing { mut status, open, mut done, .. } = scrubbing;
        for copy in open.iter().filter(|copy| copy.name != SELF) {
            let known = status.of(&copy.name);
            known.behind = copy.failed.clone();
            let epoch = next_epoch(known.epoch);
            match self.show_epoch(&copy.folder, epoch) {
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
    fn all(&mut self) -> Result<(), StoreError> {
        let mut ids: BTreeSet<RunId> = self.store.ids()?.into_iter().collect();
        for copy in &self.open {
            let entries = match copy.folder.below("runs") {
                Ok(runs) => runs.entries()?,
                Err(_) => continue,
            };
            ids.extend(entries.iter().filter_map(|entry| run_of(&format!("runs/{}", entry.name))));
        }
        let n = ids.len();
        for (at, id) in ids.iter().enumerate() {
            self.run(id)?;
            (self.watch)(at + 1, n);
        }
        let packed = self.store.packed_files()?;
        for file in &packed {
            self.file(&file.name.clone(), file)?;
        }
        self.small()
    }

    /// One run: its manifest, then what that lists.
    fn run(&mut self, id: &RunId) -> Result<(), StoreError> {
        let folder = format!("runs/run={id}");
        let found: Vec<Option<(Manifest, Vec<u8>)>> =
            self.open.iter().map(|copy| manifest_in(&copy.folder, id)).collect();
        let is_here = self.store.own_dir(id).exists();
        let may = |copy: &Open| copy.is_equal && !copy.behind.iter().any(|name| run_of(name).as_ref() == Some(id));
        let source = (0..self.open.len()).find(|at| found[*at].is_some() && (*at == 0 || may(&self.open[*at])));
        let Some(source) = source else {
            return self.without_manifest(id, &folder, is_here);
        };
        let Some((manifest, text)) = found[source].clone() else { return Ok(()) };
        for entry in self.store.own_files(&manifest)? {
            self.file(&format!("{folder}/{}", entry.name), entry)?;
        }
        // The manifest last: a run whose manifest is there is whole.
        let name = format!("{folder}/run.json");
        for at in 0..self.open.len() {
            self.done.files += 1;
            if found[at].as_ref().is_none_or(|(_, there)| *there != text) {
                let is_new = at > 0 && !may(&self.open[at]);
                let written = self.write(at, &name, is_new, &mut |to| io::Write::write_all(to, &text));
                self.note(at, &name, written);
            }
        }
        Ok(())
    }

    /// A run whose manifest no copy has that can be believed: damaged, or removed.
    fn without_manifest(&mut self, id: &RunId, folder: &str, is_here: bool) -> Result<(), StoreError> {
        if is_here {
            self.status.of(SELF).cksum += 1;
            let text = "its manifest is damaged, and no copy has it".to_owned();
            self.status.damaged.insert(format!("{folder}/run.json"), text);
            // What a copy has of it may be older: it stays behind, so that it is not believed from now on.
            self.open[1..].iter_mut().for_each(|copy| drop(copy.failed.insert(folder.to_owned())));
            return Ok(());
        }
        for copy in &mut self.open[1..] {
            let gone = match copy.is_equal {
                // It was removed here while this copy was away.
                true => remove_run(&copy.folder, folder),
                false => set_aside(&copy.folder, folder),
            };
            if gone.is_err_and(|e| e.kind() != io::ErrorKind::NotFound) {
                copy.failed.insert(format!("runs/run={id}"));
            }
        }
        Ok(())
    }

    /// One file that never changes, in all copies.
    fn file(&mut self, name: &str, entry: &FileEntry) -> Result<(), StoreError> {
        let mut states = Vec::with_capacity(self.open.len());
        for copy in &self.open {
            let state = copy.folder.file(name).and_then(|mut file| copy_hashed(&mut file, &mut io::sink(), &entry.blake3));
            self.done.files += 1;
            self.done.bytes += state.as_ref().copied().unwrap_or(0);
            states.push(state.map(drop).map_err(|e| e.kind()));
        }
        let Some(good) = states.iter().position(Result::is_ok) else {
            self.status.of(SELF).cksum += 1;
            self.status.damaged.insert(name.to_owned(), "no copy has it as it was sealed".to_owned());
            return Ok(());
        };
        for at in 0..self.open.len() {
            let Err(kind) = states[at] else { continue };
            let copy = &self.open[at];
            let belongs = |behind: &String| name == behind || name.starts_with(&format!("{behind}/"));
            let is_new = kind == io::ErrorKind::NotFound && (!copy.is_equal || copy.behind.iter().any(belongs));
            if kind != io::ErrorKind::NotFound && kind != io::ErrorKind::InvalidData {
                self.status.of(&copy.name.clone()).read += 1;
            }
            let mut from = self.open[good].folder.file(name)?;
            let written = self.write(at, name, is_new, &mut |to| copy_hashed(&mut from, to, &entry.blake3).map(drop));
            self.note(at, name, written);
        }
        Ok(())
    }

    /// Writes a file of one copy anew; it was lacking where `is_new`, and wrong otherwise.
    fn write(
        &mut self,
        at: usize,
        name: &str,
        is_new: bool,
        fill: &mut dyn FnMut(&mut fs_err::File) -> io::Result<()>,
    ) -> Result<(), StoreError> {
        if !is_new {
            self.status.of(&self.open[at].name.clone()).cksum += 1;
        }
        if at == 0 {
            if let Some((folders, _)) = name.rsplit_once('/') {
                self.store.make_dir(folders)?;
            }
            self.store.replace_with(&self.store.path().join(name), |to| fill(to))?;
        } else {
            let folder = &self.open[at].folder;
            self.store.make_parent(folder, name)?;
            folder.put(name, self.store.file_mode(), |to| fill(to))?;
        }
        if is_new {
            self.done.filled += 1;
        } else {
            self.done.repaired += 1;
            self.status.of(&self.open[at].name.clone()).repaired += 1;
        }
        Ok(())
    }

    fn note(&mut self, at: usize, name: &str, written: Result<(), StoreError>) {
        if let Err(error) = written {
            self.status.of(&self.open[at].name.clone()).write += 1;
            self.open[at].failed.insert(name.to_owned());
            if at == 0 {
                self.status.damaged.insert(name.to_owned(), format!("it could not be repaired: {error}"));
            }
        }
    }

    /// Labels, studies, questions and their like: what the store has counts, unless its own checksum shows that it is damaged.
    fn small(&mut self) -> Result<(), StoreError> {
        let mut names: BTreeMap<String, Vec<bool>> = BTreeMap::new();
        for (at, copy) in self.open.iter().enumerate() {
            for folder in SMALL {
                let Ok(below) = copy.folder.below(folder) else { continue };
                for entry in below.entries()? {
                    let is_ours = entry.kind == rustix::fs::FileType::RegularFile
                        && !entry.name.starts_with('.')
                        && !entry.name.ends_with(".lock");
                    if is_ours {
                        let has = names.entry(format!("{folder}/{}", entry.name)).or_default();
                        has.resize(self.open.len(), false);
                        has[at] = true;
                    }
                }
            }
        }
        for (name, has) in names {
            self.one_small(&name, has[0])?;
        }
        Ok(())
    }

    fn one_small(&mut self, name: &str, is_here: bool) -> Result<(), StoreError> {
        let texts: Vec<Option<Vec<u8>>> = self.open.iter().map(|copy| copy.folder.read(name, WHOLE).ok()).collect();
        let may = |copy: &Open| copy.is_equal && !copy.behind.contains(name);
        let fits = |text: &Option<Vec<u8>>| text.as_ref().is_some_and(|text| is_intact(name, text));
        let good = (0..texts.len()).find(|at| fits(&texts[*at]) && (*at == 0 || may(&self.open[*at])));
        let Some(good) = good else {
            if is_here {
                self.status.of(SELF).cksum += 1;
                self.status.damaged.insert(name.to_owned(), "its digest does not fit, and no copy has it".to_owned());
                self.open[1..].iter_mut().for_each(|copy| drop(copy.failed.insert(name.to_owned())));
                return Ok(());
            }
            // Removed here while the copy was away, or of an older state of it.
            for copy in &mut self.open[1..] {
                let gone = if copy.is_equal { copy.folder.remove(name).map(drop) } else { set_aside(&copy.folder, name) };
                if gone.is_err_and(|e| e.kind() != io::ErrorKind::NotFound) {
                    copy.failed.insert(name.to_owned());
                }
            }
            return Ok(());
        };
        let text = texts[good].clone().unwrap_or_default();
        for at in 0..self.open.len() {
            self.done.files += 1;
            if texts[at].as_deref() != Some(&text[..]) {
                let is_new = at > 0 && !may(&self.open[at]);
                let written = self.write(at, name, is_new, &mut |to| io::Write::write_all(to, &text));
                self.note(at, name, written);
            }
        }
        Ok(())
    }
}

/// Whether a small file is what was written: where it carries a digest, that fits.
fn is_intact(name: &str, text: &[u8]) -> bool {
    let path = PathBuf::from(name);
    !name.ends_with(".json") || digest::value_of::<Map<String, Value>>(text, &path, &[]).is_ok() || !has_digest(text)
}

/// Files from before there were checksums have none.
fn has_digest(text: &[u8]) -> bool {
    let mut begin = Vec::new();
    // A slice can always be read.
    let _ = text.take(64).read_to_end(&mut begin);
    String::from_utf8_lossy(&begin).contains("\"digest\"")
        || serde_json::from_slice::<Map<String, Value>>(text).is_err()
}

/// Moves what the store does not have out of the way in a copy that may be older: it is not removed, and never used.
fn set_aside(folder: &Folder, name: &str) -> io::Result<()> {
    let (folders, _) = name.rsplit_once('/').unwrap_or(("", name));
    folder.make(&format!("{LEFT}/{folders}"), 0o700)?;
    folder.rename(name, folder, &format!("{LEFT}/{name}"))
}
