//! Recovery: seals what dead recorders left in `open/`.

use std::path::Path;

use fenxi_model::RunId;
use fs_err as fs;
use rustix::fs::{FlockOperation, flock};
use std::os::unix::fs::MetadataExt;

use crate::{
    Begin, FORMAT, Folder, Recovered, Store, StoreError,
    bounds::WHOLE,
    folder::{open_regular, read_text},
    fs::names,
    seal::{Opened, Recording, SEALING, give_up, is_made_again},
    table_seal::Limits,
};

impl Store {
    /// Seals what dead recorders left, and removes what other killed commands left. Costs one look at `open/` when there is nothing to do.
    ///
    /// Runs that live recorders still write, or that somebody else seals right now, are left alone.
    ///
    /// # Errors
    /// When `open/` cannot be read; a run that cannot be sealed is reported in the list.
    pub fn recover(&self) -> Result<Vec<Recovered>, StoreError> {
        self.recover_with(Limits::DEFAULT)
    }

    pub(crate) fn recover_with(&self, limits: Limits<'_>) -> Result<Vec<Recovered>, StoreError> {
        if self.knows_only_some() {
            return self.all_runs().recover_with(limits);
        }
        let mut done = Vec::new();
        let found = names(&self.open_dir())?;
        for name in &found {
            let dir = self.open_dir().join(name);
            let Some(id) = RunId::parse(name) else { continue };
            match self.recover_one(&id, &dir, limits) {
                Ok(None) => {}
                Ok(Some(dropped_bytes)) => done.push(Recovered { id, dropped_bytes, error: None }),
                Err(error) => done.push(Recovered { id, dropped_bytes: 0, error: Some(error) }),
            }
        }
        // After the runs: what is left of sealing one goes with it.
        if found.iter().any(|name| name.starts_with('.')) {
            self.clear_open();
        }
        Ok(done)
    }

    /// Recordings that dead recorders left, oldest first, each as known at its begin. Those whose removal was killed
    /// are not listed.
    ///
    /// # Errors
    /// When `open/` cannot be read.
    pub fn left(&self) -> Result<Vec<(RunId, Begin)>, StoreError> {
        let mut found = Vec::new();
        for name in names(&self.open_dir())? {
            let dir = self.open_dir().join(&name);
            let Some(id) = RunId::parse(&name) else { continue };
            let Ok(Some(_lock)) = lock(&dir) else { continue };
            let Ok(text) = read_text(&dir.join("begin.json"), WHOLE) else { continue };
            if let Ok(opened) = serde_json::from_str::<Opened>(&text) {
                found.push((id, opened.begin));
            }
        }
        found.sort_by(|a, b| (a.1.start, &a.0).cmp(&(b.1.start, &b.0)));
        Ok(found)
    }

    /// Gives up what a dead recorder left; false when there is no such recording, or its recorder lives.
    ///
    /// # Errors
    /// When it cannot be removed.
    pub fn give_up(&self, id: &RunId) -> Result<bool, StoreError> {
        let dir = self.open_dir().join(id.as_str());
        let Some(_lock) = dir.is_dir().then(|| lock(&dir)).transpose()?.flatten() else { return Ok(false) };
        give_up(&dir)?;
        Ok(true)
    }

    /// None when the run is alive, or is already there.
    fn recover_one(&self, id: &RunId, dir: &Path, limits: Limits<'_>) -> Result<Option<u64>, StoreError> {
        let Some(_lock) = lock(dir)? else { return Ok(None) };
        if self.run_dir(id).exists() {
            // Sealed; the process died before it removed this.
            give_up(dir)?;
            return Ok(None);
        }
        if is_half_removed(dir) {
            give_up(dir)?;
            return Ok(None);
        }
        let path = dir.join("begin.json");
        let opened: Opened =
            serde_json::from_str(&read_text(&path, WHOLE)?).map_err(|e| StoreError::damaged(&path, e))?;
        if opened.format > FORMAT {
            return Err(StoreError::Version { path, found: opened.format, known: FORMAT });
        }
        let end = read_text(&dir.join("end.json"), WHOLE).ok().and_then(|text| serde_json::from_str(&text).ok());
        if is_made_again(&opened.begin.kind) {
            // Half of one would pass for a whole one: what it was made of is where it was.
            let part = self.open_dir().join(format!("{SEALING}{id}"));
            if part.exists() {
                fs::remove_dir_all(part)?;
            }
            give_up(dir)?;
            return Ok(None);
        }
        let (dir, apart, chunks) = (dir.to_owned(), Vec::new(), None);
        let (recovered, live, sync_all) = (true, None, false);
        let recording = Recording { store: self, dir, opened, end, recovered, live, apart, chunks, sync_all, limits };
        recording.seal().map(Some)
    }

    /// Whether a live recorder writes the run `id`.
    pub(crate) fn is_recording(&self, id: &RunId) -> bool {
        let dir = self.open_run_dir(id);
        dir.exists() && matches!(lock(&dir), Ok(None))
    }
}

/// Whether `dir` is what an older fenxi left that was killed while it removed a recording: one has `begin.json` from
/// its first moment, and rows only beside it.
fn is_half_removed(dir: &Path) -> bool {
    let holds = |name: &String| name == "begin.json" || name.ends_with(".arrows");
    names(dir).is_ok_and(|names| !names.iter().any(holds))
}

/// The lock of the recording in `dir`; None when somebody else holds it, or has removed the recording.
pub(crate) fn lock(dir: &Path) -> Result<Option<fs::File>, StoreError> {
    let path = dir.join("lock");
    // Reading is enough for a lock, also on a file system mounted read-only.
    let file = match open_regular(&path) {
        Ok(file) => file,
        // Removed since it was listed, or its removal was cut short after the lock's.
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => {
            if !dir.exists() {
                return Ok(None);
            }
            Folder::open(dir)?.append("lock", 0o600)?
        }
        Err(e) => return Err(e.into()),
    };
    match flock(file.file(), FlockOperation::NonBlockingLockExclusive) {
        Ok(()) => {}
        Err(rustix::io::Errno::WOULDBLOCK) => return Ok(None),
        Err(e) => return Err(std::io::Error::from(e).into()),
    }
    // Between opening and locking, somebody may have sealed the run and removed it.
    let same = match (fs::metadata(&path), file.metadata()) {
        (Ok(now), Ok(held)) => (now.dev(), now.ino()) == (held.dev(), held.ino()),
        _ => false,
    };
    Ok(same.then_some(file))
}
