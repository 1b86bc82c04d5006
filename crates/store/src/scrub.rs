//! Integrity check of a whole store: every file in it is known and verified, or reported.
//!
//! Runs are compared one by one ([`Store::verify`]); this is the rest. What is damaged is a problem; what is only
//! worth knowing (put there by hand, left by a killed command, without a checksum because it is old) is a remark.

use std::{
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
};

use fenxi_model::RunId;
use fs_err as fs;
use serde_json::Value;

use crate::{
    Labels, Problem, Store, StoreError,
    compacted::{COPY, MANIFEST},
    digest::{self, Carries},
    fs::{Modes, names},
    own_text::Origin,
    packed::Compacted,
    runs::{OF_LABELS, REMOVED},
    seal::{GONE, SEALING},
    store::OWN,
    verified,
};

/// Problems and remarks that a scrub found in a store.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ScrubReport {
    /// Damage.
    pub problems: Vec<Problem>,
    /// Remarks that are no damage.
    pub remarks: Vec<Problem>,
}

/// Members of a record of a study that was written before it had a checksum: its crate knows them.
const OLD_STUDY: &[&str] = &["name", "id", "seed", "began", "plan", "text", "path"];

impl ScrubReport {
    fn problem(&mut self, path: &Path, what: impl ToString) {
        self.problems.push(Problem { path: path.to_owned(), what: what.to_string() });
    }

    fn remark(&mut self, path: &Path, what: impl ToString) {
        self.remarks.push(Problem { path: path.to_owned(), what: what.to_string() });
    }

    fn unknown(&mut self, path: &Path) {
        self.remark(path, "is not a file of the store");
    }

    fn error(&mut self, path: &Path, error: StoreError) {
        match error {
            StoreError::Damaged { path, why } => self.problem(&path, why),
            StoreError::Io { source } if source.kind() == std::io::ErrorKind::NotFound => {}
            other => self.problem(path, other),
        }
    }
}

impl Store {
    /// Looks at everything in the store but the files of sealed runs.
    ///
    /// # Errors
    /// When a directory cannot be read.
    pub fn scrub(&self) -> Result<ScrubReport, StoreError> {
        let mut found = ScrubReport::default();
        let left = self.leftovers();
        for path in &left {
            found.remark(path, "was left by a command that was killed; the next one that writes removes it");
        }
        for name in names(self.path())? {
            let path = self.path().join(&name);
            match name.as_str() {
                "runs" => self.look_at_runs(&left, &mut found)?,
                "compacted" => self.look_at_compacted(&mut found)?,
                "open" => self.look_at_open(&left, &mut found)?,
                "labels" => self.look_at_labels(&left, &mut found)?,
                "questions" => self.look_at_questions(&left, &mut found)?,
                // Files of people: errors in one are reported when it is used.
                "formats" | "boards" => {}
                "studies" => self.look_at_studies(&left, &mut found)?,
                "findings" => self.look_at_findings(&mut found)?,
                "cache" => self.look_at_cache(&left, &mut found)?,
                "locks" => self.look_at_locks(&mut found)?,
                // A store with copies, and a copy: `fenxi store scrub` looks at these.
                "store.json" | "copies.json" | "copy.json" | "left" => {}
                _ if left.contains(&path) => {}
                _ => found.unknown(&path),
            }
        }
        for name in OWN.iter().filter(|name| ["runs", "store.json"].contains(name)) {
            if !self.path().join(name).exists() {
                found.problem(&self.path().join(name), "is missing");
            }
        }
        if self.modes() == Modes::Private {
            open_to_others(self.path(), &mut found)?;
        }
        Ok(found)
    }

    fn look_at_runs(&self, left: &[PathBuf], found: &mut ScrubReport) -> Result<(), StoreError> {
        for name in names(&self.runs_dir())? {
            let path = self.runs_dir().join(&name);
            let is_run = name.strip_prefix("run=").and_then(RunId::parse).is_some() && path.is_dir();
            if !is_run && !left.contains(&path) {
                found.unknown(&path);
            }
        }
        Ok(())
    }

    fn look_at_compacted(&self, found: &mut ScrubReport) -> Result<(), StoreError> {
        let dir = self.compacted_dir();
        for name in [MANIFEST, COPY] {
            let path = dir.join(name);
            if path.exists() {
                found.json::<Compacted>(self, &path, &[]);
            }
        }
        for name in names(&dir)? {
            let path = dir.join(&name);
            if !path.is_dir() && ![MANIFEST, COPY].contains(&name.as_str()) {
                found.unknown(&path);
            }
        }
        for path in self.unnamed_packed()? {
            found.remark(&path, "is in use no longer; the next `fenxi store compact` removes it");
        }
        for file in &self.compacted()?.files {
            let path = self.packed_path(file);
            match self.verify_packed(file) {
                Err(what) => found.problem(&path, what),
                // A file that was read now is not read again for each of its runs.
                Ok(()) => self.packed().set_verified(&file.name),
            }
            if file.unswept {
                found.remark(
                    &path,
                    "is of a compaction that was interrupted; the next `fenxi store compact` finishes it",
                );
            }
        }
        Ok(())
    }

    fn look_at_open(&self, left: &[PathBuf], found: &mut ScrubReport) -> Result<(), StoreError> {
        for name in names(&self.open_dir())? {
            let path = self.open_dir().join(&name);
            let hidden = [".new-", SEALING, GONE, REMOVED].iter().any(|prefix| name.starts_with(prefix));
            if hidden || left.contains(&path) {
                continue;
            }
            match RunId::parse(&name) {
                Some(id) if self.is_recording(&id) => {}
                Some(_) => found.remark(&path, "was recorded and is not yet sealed; the next command does that"),
                None => found.unknown(&path),
            }
        }
        Ok(())
    }

    fn look_at_labels(&self, left: &[PathBuf], found: &mut ScrubReport) -> Result<(), StoreError> {
        for name in names(&self.labels_dir())? {
            let path = self.labels_dir().join(&name);
            let Some(id) = name.strip_suffix(".json").and_then(RunId::parse) else {
                if !left.contains(&path) {
                    found.unknown(&path);
                }
                continue;
            };
            if !self.run_dir(&id).exists() {
                found.remark(&path, "belongs to a run that is not there");
            }
            found.json::<Labels>(self, &path, OF_LABELS);
        }
        Ok(())
    }

    fn look_at_studies(&self, left: &[PathBuf], found: &mut ScrubReport) -> Result<(), StoreError> {
        for name in names(&self.studies_dir())? {
            let path = self.studies_dir().join(&name);
            if name.ends_with(".json") {
                found.json::<Value>(self, &path, OLD_STUDY);
            } else if !name.ends_with(".lock") && !left.contains(&path) {
                found.unknown(&path);
            }
        }
        Ok(())
    }

    fn look_at_questions(&self, left: &[PathBuf], found: &mut ScrubReport) -> Result<(), StoreError> {
        let dir = self.path().join("questions");
        for name in names(&dir)? {
            let path = dir.join(&name);
            let Some(question) = name.strip_suffix(".sql") else {
                if name != ".kept" && !left.contains(&path) {
                    found.unknown(&path);
                }
                continue;
            };
            match self.question_of(question) {
                Ok((_, Origin::Kept)) => {}
                Ok((_, Origin::Edited)) => found.remark(&path, "was changed by hand since it was kept"),
                Ok((_, Origin::ByHand)) => found.remark(&path, BY_HAND),
                Err(error) => found.error(&path, error),
            }
        }
        for name in names(&dir.join(".kept"))? {
            let path = dir.join(".kept").join(&name);
            match name.strip_suffix(".json") {
                Some(question) if dir.join(format!("{question}.sql")).exists() => found.json::<Value>(self, &path, &[]),
                Some(_) => found.remark(&path, "belongs to a question that is not there"),
                None => found.unknown(&path),
            }
        }
        Ok(())
    }

    fn look_at_findings(&self, found: &mut ScrubReport) -> Result<(), StoreError> {
        let dir = self.path().join("findings");
        for name in names(&dir)? {
            let path = dir.join(&name);
            match self.read_text(&path) {
                _ if !name.ends_with(".sql") => found.unknown(&path),
                Ok(_) => found.remark(&path, BY_HAND),
                Err(e) => found.problem(&path, format!("cannot be read: {e}")),
            }
        }
        Ok(())
    }

    fn look_at_cache(&self, left: &[PathBuf], found: &mut ScrubReport) -> Result<(), StoreError> {
        let dir = self.path().join("cache");
        for name in names(&dir)? {
            let path = dir.join(&name);
            match name.as_str() {
                "index.json" | "verified" => {
                    let text = self.read_own(&path).unwrap_or_default();
                    if text.starts_with(b"{") {
                        found.remark(&path, "is of an older fenxi and has no checksum; it is not used and made anew");
                    } else if !text.is_empty() && verified::body(&text).is_none() {
                        found.problem(&path, "was changed: its checksum does not fit; it is not used and made anew");
                    }
                }
                "windows" => self.look_at_cached(&path, left, found)?,
                "ranges" => self.look_at_ranges(&path, found)?,
                "uploads" => {}
                _ if left.contains(&path) => {}
                _ => found.unknown(&path),
            }
        }
        Ok(())
    }

    fn look_at_ranges(&self, dir: &Path, found: &mut ScrubReport) -> Result<(), StoreError> {
        for name in names(dir)? {
            let path = dir.join(&name);
            match name.strip_prefix("run=").and_then(RunId::parse) {
                Some(id) if path.is_dir() => {
                    for problem in self.verify(&id)? {
                        found.problem(&problem.path, problem.what);
                    }
                }
                _ => found.unknown(&path),
            }
        }
        Ok(())
    }

    fn look_at_cached(&self, dir: &Path, left: &[PathBuf], found: &mut ScrubReport) -> Result<(), StoreError> {
        let listed = names(dir)?;
        for name in &listed {
            let path = dir.join(name);
            if left.contains(&path) {
                continue;
            }
            match name.strip_suffix(".b3") {
                Some(of) if listed.iter().any(|other| other == of) => {}
                Some(_) => found.remark(&path, "is the checksum of a file that is not there"),
                None => match self.cached_as(&path) {
                    Some(expected) => {
                        if let Err(error) = self.compare_anew(expected) {
                            found.error(&path, error);
                        }
                    }
                    None => found.problem(&path, "has no checksum that can be read; it is not used and made anew"),
                },
            }
        }
        Ok(())
    }

    fn look_at_locks(&self, found: &mut ScrubReport) -> Result<(), StoreError> {
        let dir = self.path().join("locks");
        let is_known = |name: &str| {
            ["begin", "changes", "compact", "copies", "changes-copies", "scrub"].contains(&name)
                || name.starts_with("series-")
        };
        for name in names(&dir)?.iter().filter(|name| !is_known(name)) {
            found.unknown(&dir.join(name));
        }
        Ok(())
    }
}

/// The remark on a text that people put into the store.
const BY_HAND: &str = "was put there by hand: it has no checksum";

impl ScrubReport {
    fn json<T: serde::de::DeserializeOwned>(&mut self, store: &Store, path: &Path, known: &[&str]) {
        match store.read_own(path).and_then(|text| digest::value_of::<T>(&text, path, known)) {
            Ok((_, Carries::Digest)) => {}
            Ok((_, Carries::Nothing)) => {
                self.remark(path, "is of an older fenxi and has no checksum; its next change gives it one");
            }
            Err(error) => self.error(path, error),
        }
    }
}

/// Names what others than the owner may read in a store marked private.
fn open_to_others(path: &Path, found: &mut ScrubReport) -> Result<(), StoreError> {
    let meta = match fs::symlink_metadata(path) {
        Ok(meta) => meta,
        // Gone since it was listed.
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => return Ok(()),
        Err(e) => return Err(e.into()),
    };
    let mode = meta.permissions().mode() & 0o777;
    if !meta.is_symlink() && mode & 0o077 != 0 {
        let may = if meta.is_dir() { "0700" } else { "0600" };
        found.remark(path, format!("has mode {mode:04o}, but store.json has private: {may}"));
    }
    if meta.is_dir() {
        for name in names(path)? {
            open_to_others(&path.join(name), found)?;
        }
    }
    Ok(())
}
