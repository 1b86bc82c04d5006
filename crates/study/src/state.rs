//! State of a study: a small record of its plan, `studies/<name>.json` in the store, and its runs, which are identified
//! by their parameters. Nothing else is kept, so that nothing can disagree.

use std::{
    collections::BTreeMap,
    io,
    path::{Path, PathBuf},
};

use fenxi_model::{Micros, RunId, near};
use fenxi_store::{Folder, Store, StoreError, Summary};
use fs_err as fs;
use rustix::fs::{FlockOperation, flock};
use serde::{Deserialize, Serialize};

use crate::{
    StudyError,
    facets::{Facets, changes, facets},
    plan::StudyPlan,
};

/// The tag of a run that failed: why.
pub const FAILED: &str = "failed";

/// Record of a study that is kept beside its runs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Record {
    /// Name of the study.
    pub name: String,
    /// Distinguishes its runs from those of another study of that name.
    pub id: String,
    /// Where its random order begins.
    pub seed: u64,
    /// When it began.
    pub began: Micros,
    /// The content of its plan.
    pub plan: Facets,
    /// The whole plan, so that a report needs no file.
    pub text: String,
    /// The plan's file.
    pub path: PathBuf,
}

/// The members of a record, for those from before they had a checksum.
const MEMBERS: &[&str] = &["name", "id", "seed", "began", "plan", "text", "path"];

/// Options with which the study began, beside its plan.
#[derive(Clone, Copy, Debug)]
pub struct Beginning {
    /// True if a plan with more runs than before is welcome.
    pub extends: bool,
    /// A random number, for the seed and the id.
    pub random: u64,
    /// The time.
    pub now: Micros,
}

impl Record {
    fn path(store: &Store, name: &str) -> PathBuf {
        store.studies_dir().join(format!("{name}.json"))
    }

    /// Loads the record of the study `name`; None when it never began.
    ///
    /// # Errors
    /// When it cannot be read.
    pub fn load(store: &Store, name: &str) -> Result<Option<Record>, StudyError> {
        let path = Record::path(store, name);
        match store.get_json(&path, MEMBERS) {
            Ok(record) => Ok(Some(record)),
            Err(StoreError::Io { source }) if source.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(StoreError::Damaged { path, why }) => Err(StudyError::Damaged { path, what: why }),
            Err(error) => Err(error.into()),
        }
    }

    /// The study `name`, which has to be there.
    ///
    /// # Errors
    /// [`StudyError::Unknown`] with near names.
    pub fn named(store: &Store, name: &str) -> Result<Record, StudyError> {
        // Looked up among those that are there: a name may come over the network, and leads to no other file.
        let names = names(store)?;
        if names.iter().any(|known| known == name)
            && let Some(record) = Record::load(store, name)?
        {
            return Ok(record);
        }
        let near = near(name, names.iter().map(String::as_str));
        Err(StudyError::Unknown { name: name.to_owned(), near })
    }

    /// The record that `plan` would go on with, or begin: what is there, checked, or a new one. Nothing is written.
    ///
    /// # Errors
    /// [`StudyError::Changed`] when the plan is another than the study was begun with.
    pub fn plan(store: &Store, plan: &StudyPlan, text: &str, how: Beginning) -> Result<Record, StudyError> {
        let now = facets(plan);
        let Some(record) = Record::load(store, &plan.name)? else {
            // Short enough to be typed into a plan.
            let seed = plan.seed.unwrap_or(how.random >> 40);
            let id = format!("{:08x}", (how.random ^ how.now.0 as u64) & 0xffff_ffff);
            let (text, path) = (text.to_owned(), plan.path.clone());
            return Ok(Record { name: plan.name.clone(), id, seed, began: how.now, plan: now, text, path });
        };
        let found = changes(&record.plan, &now);
        let goes_on = found.lines.is_empty() || (how.extends && found.is_extension);
        if !goes_on {
            let way_out = match found.is_extension {
                true => "finished runs stay valid: `--extend` goes on with the new plan",
                false => "runs of both would not measure the same thing: give the study another `name`",
            };
            let (path, name) = (plan.path.clone(), plan.name.clone());
            return Err(StudyError::Changed { path, name, changes: found.lines, way_out });
        }
        let seed = plan.seed.unwrap_or(record.seed);
        Ok(Record { seed, plan: now, text: text.to_owned(), path: plan.path.clone(), ..record })
    }

    /// Writes it, whole or not at all.
    ///
    /// # Errors
    /// When the store cannot be written.
    pub fn save(&self, store: &Store) -> Result<(), StudyError> {
        store.make_dir("studies")?;
        Ok(store.put_json(&Record::path(store, &self.name), self)?)
    }
}

/// Names of all studies of a store, in no order.
///
/// # Errors
/// When the store cannot be read.
pub fn names(store: &Store) -> Result<Vec<String>, StudyError> {
    let entries = match fs::read_dir(store.studies_dir()) {
        Ok(entries) => entries,
        Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(e) => return Err(e.into()),
    };
    let name = |path: &Path| {
        let is_record = path.extension().is_some_and(|e| e == "json");
        is_record.then(|| path.file_stem().map(|n| n.to_string_lossy().into_owned())).flatten()
    };
    Ok(entries.filter_map(|entry| name(&entry.ok()?.path())).collect())
}

/// Keeps other processes from making the same study, for as long as it lives.
#[derive(Debug)]
pub struct Lock {
    _file: fs::File,
}

impl Lock {
    /// Takes the study `name`.
    ///
    /// # Errors
    /// [`StudyError::Busy`] when another process has it.
    pub fn acquire(store: &Store, name: &str) -> Result<Lock, StudyError> {
        let studies = store.make_dir("studies")?;
        let lock = studies.join(format!("{name}.lock"));
        // The mode that it is to have from its first moment on: a command can be killed at any.
        let file = Folder::open(store.path())?.append(&format!("studies/{name}.lock"), store.file_mode())?;
        match flock(file.file(), FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => Ok(Lock { _file: file }),
            Err(rustix::io::Errno::WOULDBLOCK) => Err(StudyError::Busy { name: name.to_owned(), lock }),
            Err(e) => Err(io::Error::from(e).into()),
        }
    }
}

/// One run that was made for a study.
#[derive(Clone, Debug, PartialEq)]
pub struct StudyRun {
    /// The run.
    pub run: RunId,
    /// Its block.
    pub block: u32,
    /// Its cell, by label.
    pub cell: String,
    /// Which try it was, from 1.
    pub attempt: u32,
    /// Why it does not count, if it does not.
    pub failed: Option<String>,
    /// Seconds from its begin to its end.
    pub seconds: f64,
}

/// All runs that were made for a study, the oldest first.
///
/// # Errors
/// When the store cannot be read.
pub fn made(store: &Store, record: &Record) -> Result<Vec<StudyRun>, StoreError> {
    let mut runs: Vec<(Micros, StudyRun)> = store.summaries()?.iter().filter_map(|s| of_study(s, record)).collect();
    runs.sort_by(|a, b| (a.0, &a.1.run).cmp(&(b.0, &b.1.run)));
    Ok(runs.into_iter().map(|(_, made)| made).collect())
}

fn of_study(summary: &Summary, record: &Record) -> Option<(Micros, StudyRun)> {
    let param = |key: &str| summary.params.get(key).map(String::as_str);
    if param("study_id") != Some(&record.id) {
        return None;
    }
    // A run that a dead recorder left is incomplete.
    let cut_short = summary.recovered.then(|| "cut short: its recorder died".to_owned());
    Some((
        summary.start,
        StudyRun {
            run: summary.id.clone(),
            block: param("block")?.parse().ok()?,
            cell: param("cell")?.to_owned(),
            attempt: param("attempt").and_then(|n| n.parse().ok()).unwrap_or(1),
            failed: summary.labels.tags.get(FAILED).cloned().or(cut_short),
            seconds: summary.end.seconds_since(summary.start),
        },
    ))
}

/// The runs that count, by block and cell: the latest where there are several.
pub fn finished(made: &[StudyRun]) -> BTreeMap<(u32, &str), &StudyRun> {
    made.iter().filter(|m| m.failed.is_none()).map(|m| ((m.block, m.cell.as_str()), m)).collect()
}
