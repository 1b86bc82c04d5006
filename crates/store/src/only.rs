//! Handles that know only the runs with a tag, such as those of a project: for who may see no others.
//!
//! Where a run lies is asked of `own_dir`, `open_run_dir` and `labels_path` alone, and what they answer for an unknown run is
//! never there. So it is a run that does not exist, whatever is asked. Such a handle cannot change the tag to another value
//! than its own, and what it makes has one of these. What keeps house (sealing, compaction, what dead commands left) works
//! with the whole store.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::PathBuf,
    sync::{Arc, PoisonError, RwLock},
};

use fenxi_model::RunId;

use crate::{Labels, Store, StoreError, Summary};

/// The runs that a handle knows.
#[derive(Debug)]
pub(crate) struct Seen {
    /// The tag that decides.
    key: String,
    /// Its values.
    values: BTreeSet<String>,
    /// Those that had one of them when the handle was made, and what it made since.
    runs: RwLock<BTreeSet<RunId>>,
}

impl Seen {
    fn has(&self, id: &RunId) -> bool {
        self.runs.read().unwrap_or_else(PoisonError::into_inner).contains(id)
    }

    fn refused(&self) -> StoreError {
        let values: Vec<&str> = self.values.iter().map(String::as_str).collect();
        StoreError::Filed { key: self.key.clone(), values: values.join(", ") }
    }

    /// Gives the tags of a new run one of the values, where they have none and there is only one.
    fn file(&self, tags: &mut BTreeMap<String, String>) -> Result<(), StoreError> {
        match (tags.get(&self.key), self.values.first()) {
            (Some(value), _) if self.values.contains(value) => Ok(()),
            (_, Some(only)) if self.values.len() == 1 => {
                tags.insert(self.key.clone(), only.clone());
                Ok(())
            }
            _ => Err(self.refused()),
        }
    }
}

impl Store {
    /// The same store, of which only the runs are known, sealed or being recorded, whose tag `key` is one of `values` now. A
    /// range of time is known when all that it was made of is. A run whose labels cannot be read is not.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub fn only(&self, key: &str, values: &BTreeSet<String>) -> Result<Store, StoreError> {
        let (all, wrong) = self.listing()?;
        // A listing has the labels that a run was made with where those it has now cannot be read.
        let is_sure = |run: &Summary| wrong.is_empty() || self.read_labels(&run.id).is_ok();
        let is_tagged = |tags: &BTreeMap<String, String>| tags.get(key).is_some_and(|value| values.contains(value));
        let tagged = all.iter().filter(|run| is_tagged(&run.labels.tags) && is_sure(run));
        let mut runs: BTreeSet<RunId> = tagged.map(|run| run.id.clone()).collect();
        let sealed: BTreeSet<&RunId> = all.iter().map(|run| &run.id).collect();
        let open = self.recordings()?.into_iter().filter(|run| !sealed.contains(&run.id));
        runs.extend(open.filter(|run| is_tagged(&run.begin.tags)).map(|run| run.id));
        let seen = Seen { key: key.to_owned(), values: values.clone(), runs: RwLock::new(runs) };
        Ok(self.with_seen(Some(Arc::new(seen))))
    }

    fn with_seen(&self, seen: Option<Arc<Seen>>) -> Store {
        let mut store = self.clone();
        store.seen = seen;
        store
    }

    /// The same store with all of its runs.
    pub(crate) fn all_runs(&self) -> Store {
        self.with_seen(None)
    }

    /// Whether not all runs are known: those that a statement sees have to be named.
    pub fn knows_only_some(&self) -> bool {
        self.seen.is_some()
    }

    /// Whether this handle knows the run `id`, if there is one.
    pub fn knows(&self, id: &RunId) -> bool {
        let Some(seen) = &self.seen else { return true };
        seen.has(id) || id.is_range() && self.knows_range(id, seen)
    }

    /// Whether all that a range was made of is known; one that was not made yet hides nothing.
    fn knows_range(&self, id: &RunId, seen: &Seen) -> bool {
        let all = self.all_runs();
        if all.own_dir(id).exists() {
            return false;
        }
        match all.kept_manifest(id) {
            Ok(range) => !range.made_of.is_empty() && range.made_of.iter().all(|run| seen.has(run)),
            Err(StoreError::Unknown { .. }) => true,
            Err(_) => false,
        }
    }

    /// Makes a run known to this handle, with which it was made.
    pub(crate) fn made(&self, id: &RunId) {
        if let Some(seen) = &self.seen {
            seen.runs.write().unwrap_or_else(PoisonError::into_inner).insert(id.clone());
        }
    }

    /// Gives a new run's tags what makes it known to this handle.
    pub(crate) fn file(&self, tags: &mut BTreeMap<String, String>) -> Result<(), StoreError> {
        self.seen.as_ref().map_or(Ok(()), |seen| seen.file(tags))
    }

    /// An error where a change of labels would move a run out of what this handle knows.
    pub(crate) fn may_become(&self, after: &Labels) -> Result<(), StoreError> {
        let Some(seen) = &self.seen else { return Ok(()) };
        let stays = after.tags.get(&seen.key).is_some_and(|value| seen.values.contains(value));
        if stays { Ok(()) } else { Err(seen.refused()) }
    }

    /// The labels of another store without what would move a run out of what this handle knows.
    pub(crate) fn without_moves(&self, ours: &Labels, theirs: &Labels) -> Labels {
        let mut theirs = theirs.clone();
        if let Some(seen) = &self.seen {
            let field = Labels::field_of_tag(&seen.key);
            theirs.changes.retain(|change| change.field != field);
            let own = ours.tags.get(&seen.key);
            own.map(|value| theirs.tags.insert(seen.key.clone(), value.clone()));
        }
        theirs
    }

    /// The folder of the recording `id`.
    pub(crate) fn open_run_dir(&self, id: &RunId) -> PathBuf {
        self.known_dir("open", id).join(id.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Begin, End, Labels, Mark};
    use fenxi_model::Micros;

    fn run(store: &Store, name: &str, project: &str, at_s: i64) -> RunId {
        let start = Micros(at_s * 1_000_000);
        let tags = [("project".to_owned(), project.to_owned())].into();
        let begin = Begin { name: Some(name.to_owned()), tags, ..Begin::new("record", "h", start) };
        let mut open = store.begin(begin).unwrap();
        open.tag("of", name);
        open.seal(End::at(Micros(start.0 + 1_000_000))).unwrap()
    }

    fn only(store: &Store, values: &[&str]) -> Store {
        store.only("project", &values.iter().map(|value| (*value).to_owned()).collect()).unwrap()
    }

    #[test]
    fn what_a_handle_makes_and_changes_stays_within_what_it_knows() {
        let dir = tempfile::tempdir().unwrap();
        let all = Store::open_or_create(dir.path().join("store")).unwrap();
        let some = only(&all, &["p"]);
        let begin = |tags: &[(&str, &str)]| {
            let tags = tags.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect();
            Begin { name: Some("new".to_owned()), tags, ..Begin::new("record", "h", Micros(1_000_000)) }
        };
        for tags in [&[][..], &[("project", "q")], &[("project", "p")]] {
            let id = some.begin(begin(tags)).unwrap().seal(End::at(Micros(2_000_000))).unwrap();
            assert_eq!(some.run(&id).unwrap().labels.tags["project"], "p");
            assert_eq!(all.run(&id).unwrap().labels.tags["project"], "p");
        }
        let id = some.ids().unwrap().remove(0);
        let set = |value: Option<&str>| {
            some.change_labels(&id, |entry| {
                entry.labels.tags.remove("project");
                value.map(|value| entry.labels.tags.insert("project".to_owned(), value.to_owned()));
                Ok::<_, StoreError>(())
            })
        };
        assert!(matches!(set(Some("q")), Err(StoreError::Filed { .. })));
        assert!(matches!(set(None), Err(StoreError::Filed { .. })));
        assert!(matches!(some.set_labels(&id, &Labels::default()), Err(StoreError::Filed { .. })));
        let mut theirs = Labels { remarks: vec!["seen".to_owned()], ..Labels::default() };
        theirs.tags.insert("project".to_owned(), "q".to_owned());
        let theirs = all.logged(&Labels::default(), &theirs);
        assert!(some.merge_labels(&id, &theirs).unwrap().is_empty());
        let now = all.run(&id).unwrap().labels;
        assert_eq!((now.tags["project"].as_str(), now.remarks), ("p", vec!["seen".to_owned()]));
        // With two values a new run names its own.
        let two = only(&all, &["p", "q"]);
        assert!(matches!(two.begin(begin(&[])), Err(StoreError::Filed { .. })));
        assert!(matches!(two.begin(begin(&[("project", "r")])), Err(StoreError::Filed { .. })));
        assert!(two.begin(begin(&[("project", "q")])).is_ok());
    }

    #[test]
    fn an_archive_becomes_runs_of_what_the_handle_knows_and_changes_no_other() {
        let dir = tempfile::tempdir().unwrap();
        let from = Store::open_or_create(dir.path().join("from")).unwrap();
        let all = Store::open_or_create(dir.path().join("all")).unwrap();
        let id = run(&from, "carried", "q", 1_000);
        let mut archive = Vec::new();
        from.export(std::slice::from_ref(&id), &mut archive).unwrap();
        let some = only(&all, &["p"]);
        let limits = crate::ArchiveLimits::default();
        assert!(some.import_archive(&archive[..], &limits).unwrap()[0].is_new);
        assert_eq!(some.run(&id).unwrap().labels.tags["project"], "p");
        assert_eq!(from.run(&id).unwrap().labels.tags["project"], "q");
        // Who has the same bytes learns that they are there, and nothing more; their labels stay.
        let others = only(&all, &["q"]);
        assert!(!others.import_archive(&archive[..], &limits).unwrap()[0].is_new);
        assert!(!others.knows(&id) && others.run(&id).is_err());
        assert_eq!(all.run(&id).unwrap().labels.tags["project"], "p");
    }

    #[test]
    fn a_run_that_a_handle_does_not_know_does_not_exist_for_it() {
        let dir = tempfile::tempdir().unwrap();
        let all = Store::open_or_create(dir.path().join("store")).unwrap();
        let (ours, theirs) = (run(&all, "ours", "p", 1_000), run(&all, "theirs", "q", 2_000));
        let some = only(&all, &["p"]);
        assert_eq!(some.ids().unwrap(), vec![ours.clone()]);
        assert_eq!(some.summaries().unwrap().len(), 1);
        assert_eq!(some.select("@1").unwrap(), vec![ours.clone()]);
        for selector in [theirs.as_str(), &theirs.as_str()[..12], "theirs", "project=q", "of=theirs", "@2"] {
            let near = match some.select(selector) {
                Err(StoreError::Unknown { near, .. }) => near,
                other => panic!("{selector}: {other:?}"),
            };
            assert!(near.iter().all(|name| !name.contains("theirs") && !name.contains("=q")), "{near:?}");
        }
        let none = |what: &str, outcome: Result<(), StoreError>| {
            assert!(matches!(outcome, Err(StoreError::Unknown { .. })), "{what}: {outcome:?}");
        };
        none("run", some.run(&theirs).map(drop));
        none("summary", some.summary(&theirs).map(drop));
        none("read", some.read(&theirs, "cpu").map(drop));
        none("results", some.results(&theirs).map(drop));
        none("marks", some.marks(&theirs).map(drop));
        none("mark", some.mark(&theirs, Mark { t: Micros(2_000_000_000), text: "m".to_owned(), host: None }));
        none("labels", some.set_labels(&theirs, &Labels::default()));
        none("change", some.change_labels(&theirs, |_| Ok(())));
        none("merge", some.merge_labels(&theirs, &Labels::default()).map(drop));
        none("remove", some.remove(&theirs));
        none("export", some.export(std::slice::from_ref(&theirs), &mut Vec::new()).map(drop));
        none("files", some.files("cpu", Some(std::slice::from_ref(&theirs))).map(drop));
        none("follow", some.follow(&theirs).map(drop));
        none("verify", some.verify(&theirs).map(drop));
        assert!(some.files("stats", None).unwrap().iter().all(|file| file.runs() == [ours.clone()]));
        // Housekeeping knows all: nothing of others is taken for a leftover, and the list of runs stays whole.
        some.clear();
        assert_eq!(all.summaries().unwrap().len(), 2);
        assert_eq!(all.run(&theirs).unwrap().labels.name.as_deref(), Some("theirs"));
    }

    #[test]
    fn a_run_whose_labels_cannot_be_read_has_no_tags_that_anybody_trusts() {
        let dir = tempfile::tempdir().unwrap();
        let all = Store::open_or_create(dir.path().join("store")).unwrap();
        let id = run(&all, "moved", "p", 1_000);
        all.change_labels(&id, |entry| {
            entry.labels.tags.insert("project".to_owned(), "q".to_owned());
            Ok::<_, StoreError>(())
        })
        .unwrap();
        assert!(only(&all, &["p"]).ids().unwrap().is_empty());
        fs_err::write(all.labels_path(&id), "{").unwrap();
        assert!(only(&all, &["p", "q"]).ids().unwrap().is_empty());
    }
}
