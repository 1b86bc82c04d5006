//! Who changed labels and when, and what becomes of labels that were changed in two stores.
//!
//! Labels are a set of fields with a text each. The log of a run's labels has a line for each field that was changed. Two logs show
//! which change followed which: where the last change of one store is in the other's log, that store only lacks what came after
//! it. Where neither has seen the other's last change, the later one wins and both are reported.

use std::collections::BTreeMap;

use fenxi_model::{Micros, RunId};
use serde::{Deserialize, Serialize};

use crate::{LabelChange, Labels, Mark, Store, StoreError, Window, stamp::now_ns};

/// Bytes that a log may have; the oldest changes go first.
const LOG_BYTES: usize = 64 << 10;
/// Bytes of a line of the log besides its texts.
const LINE_BYTES: usize = 96;
/// Characters of who changed something.
const LONGEST_NAME: usize = 100;

/// A field that two stores changed without knowing of each other.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LabelConflict {
    /// The run.
    pub run: RunId,
    /// The field, see [`LabelChange::field`].
    pub field: String,
    /// Current value; None: removed.
    pub kept: Option<String>,
    /// Who set that; None where no log shows it.
    pub kept_by: Option<String>,
    /// Value in the other store.
    pub other: Option<String>,
    /// Who set that.
    pub other_by: Option<String>,
}

impl Labels {
    /// Its fields and their texts, in the order in which they are shown.
    fn fields(&self) -> Vec<(String, String)> {
        let mut fields: Vec<(String, String)> =
            self.name.iter().map(|name| ("name".to_owned(), name.clone())).collect();
        fields.extend(self.baseline.then(|| ("baseline".to_owned(), "true".to_owned())));
        fields.extend(self.tags.iter().map(|(key, value)| (Labels::field_of_tag(key), value.clone())));
        fields.extend(self.remarks.iter().map(|text| (format!("remark {text}"), String::new())));
        fields.extend(self.windows.iter().map(|window| (format!("window {}", window.name), json(window))));
        fields.extend(self.marks.iter().map(|mark| (format!("mark {}", json(mark)), String::new())));
        fields
    }

    /// A digest that distinguishes these labels from all that the run ever had.
    pub fn version(&self) -> String {
        let labels = Labels { changes: Vec::new(), ..self.clone() };
        // Labels can always be written.
        let text = serde_json::to_vec(&labels).unwrap_or_default();
        blake3::hash(&text).to_hex()[..32].to_owned()
    }

    /// Who made a remark, and when, as far as a log shows it.
    pub fn remarked(&self, remark: &str) -> Option<&LabelChange> {
        self.set_by(&format!("remark {remark}"))
    }

    /// Who set a mark, and when, as far as a log shows it.
    pub fn marked(&self, mark: &Mark) -> Option<&LabelChange> {
        self.set_by(&format!("mark {}", json(mark)))
    }

    fn set_by(&self, field: &str) -> Option<&LabelChange> {
        self.changes.iter().rev().find(|change| change.field == field).filter(|change| change.value.is_some())
    }

    /// The field of the tag `key`.
    pub(crate) fn field_of_tag(key: &str) -> String {
        format!("tag {key}")
    }

    /// Gives one field another text; a text that is none of its kind changes nothing.
    fn set_field(&mut self, field: &str, value: Option<&str>) {
        let (kind, of) = field.split_once(' ').unwrap_or((field, ""));
        match kind {
            "name" => self.name = value.map(str::to_owned),
            "baseline" => self.baseline = value.is_some(),
            "tag" => match value {
                Some(value) => drop(self.tags.insert(of.to_owned(), value.to_owned())),
                None => drop(self.tags.remove(of)),
            },
            "remark" if value.is_some() => self.remarks.push(of.to_owned()),
            "remark" => self.remarks.retain(|remark| remark != of),
            "window" => match value.map(serde_json::from_str::<Window>) {
                Some(Ok(window)) => self.set_window(window),
                Some(Err(_)) => {}
                None => drop(self.remove_window(of)),
            },
            "mark" => {
                let Ok(mark) = serde_json::from_str::<Mark>(of) else { return };
                if value.is_some() { self.add_mark(mark) } else { self.marks.retain(|other| *other != mark) }
            }
            _ => {}
        }
    }

    /// Writes down what distinguishes it from what it was before.
    fn log_since(&mut self, before: &Labels, by: &str, at: Micros) {
        let (old, new) = (by_name(before), by_name(self));
        let mut log = before.changes.clone();
        let mut add = |field: &String, value: Option<&String>| {
            log.push(LabelChange { at, by: by.to_owned(), field: field.clone(), value: value.cloned() });
        };
        for (field, value) in &new {
            if old.get(field) != Some(value) {
                add(field, Some(value));
            }
        }
        old.keys().filter(|field| !new.contains_key(*field)).for_each(|field| add(field, None));
        self.changes = bounded(log);
    }

    /// These labels with what another store knows of the same run, and the fields that both have changed.
    pub fn merged(&self, theirs: &Labels, run: &RunId) -> (Labels, Vec<LabelConflict>) {
        let (own, other) = (by_name(self), by_name(theirs));
        let (own_log, other_log) = (last(self), last(theirs));
        let (mut merged, mut conflicts) = (self.clone(), Vec::new());
        // In their order, so that remarks keep it; then what only we have, or had.
        let order = theirs.fields().into_iter().map(|(field, _)| field);
        let rest = own.keys().filter(|field| !other.contains_key(*field)).cloned();
        for field in order.chain(rest) {
            let (a, b) = (own.get(&field), other.get(&field));
            if a == b {
                continue;
            }
            let (ours, hers) = (own_log.get(field.as_str()).copied(), other_log.get(field.as_str()).copied());
            // Whose text it is from now on, and whether one side knew of the other's.
            let (is_theirs, seen) = match (ours, hers) {
                (None, Some(_)) => (true, true),
                (Some(_), None) => (false, true),
                // No log shows which is the later one: nothing is lost of what only one has.
                (None, None) => (a.is_none(), a.is_none() || b.is_none()),
                (Some(_), Some(y)) if self.changes.contains(y) => (false, true),
                (Some(x), Some(_)) if theirs.changes.contains(x) => (true, true),
                (Some(x), Some(y)) => ((y.at, &y.by, b) > (x.at, &x.by, a), false),
            };
            if is_theirs {
                merged.set_field(&field, b.map(String::as_str));
            }
            if !seen {
                let who = |change: Option<&LabelChange>| change.map(|change| change.by.clone());
                let (kept, lost) = if is_theirs { ((b, hers), (a, ours)) } else { ((a, ours), (b, hers)) };
                conflicts.push(LabelConflict {
                    run: run.clone(),
                    field,
                    kept: kept.0.cloned(),
                    kept_by: who(kept.1),
                    other: lost.0.cloned(),
                    other_by: who(lost.1),
                });
            }
        }
        let mut log = self.changes.clone();
        let known: rustc_hash::FxHashSet<&LabelChange> = self.changes.iter().collect();
        log.extend(theirs.changes.iter().filter(|change| !known.contains(change)).cloned());
        log.sort_by_key(|change| change.at);
        merged.changes = bounded(log);
        (merged, conflicts)
    }
}

fn json<T: Serialize>(value: &T) -> String {
    // Windows and marks have nothing that cannot be written.
    serde_json::to_string(value).unwrap_or_default()
}

fn by_name(labels: &Labels) -> BTreeMap<String, String> {
    labels.fields().into_iter().collect()
}

/// The last change of each field.
fn last(labels: &Labels) -> BTreeMap<&str, &LabelChange> {
    labels.changes.iter().map(|change| (change.field.as_str(), change)).collect()
}

fn bounded(mut log: Vec<LabelChange>) -> Vec<LabelChange> {
    let bytes = |c: &LabelChange| LINE_BYTES + c.by.len() + c.field.len() + c.value.as_ref().map_or(0, String::len);
    let mut left = LOG_BYTES;
    let kept = log.iter().rev().take_while(|change| {
        let fits = bytes(change) <= left;
        left = left.saturating_sub(bytes(change));
        fits
    });
    let kept = kept.count();
    log.drain(..log.len() - kept);
    log
}

impl Store {
    /// The same store, whose changes of labels are those of `who`.
    pub fn acting_as(mut self, who: &str) -> Store {
        self.by = Some(who.chars().take(LONGEST_NAME).collect::<String>().into());
        self
    }

    /// The labels as they are to be written: with who has changed what of those that were, and when.
    pub(crate) fn logged(&self, before: &Labels, after: &Labels) -> Labels {
        let by = self.by.as_deref().map_or_else(this_user, str::to_owned);
        let mut after = after.clone();
        after.log_since(before, &by, Micros((now_ns() / 1000) as i64));
        after
    }

    /// Adds what another store knows of a run's labels; gives the fields that both have changed.
    ///
    /// # Errors
    /// When there is no such run or the store cannot be written.
    pub fn merge_labels(&self, id: &RunId, theirs: &Labels) -> Result<Vec<LabelConflict>, StoreError> {
        let _turn = self.changing()?;
        self.not_a_range(id)?;
        if !self.run_dir(id).is_dir() {
            return Err(self.unknown(id.as_str()));
        }
        let ours = self.run(id)?.labels;
        let (merged, conflicts) = ours.merged(&self.without_moves(&ours, theirs), id);
        if merged != ours {
            self.write_labels(id, &merged)?;
        }
        Ok(conflicts)
    }
}

/// The user and the host of this process.
fn this_user() -> String {
    let set = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
    let uid = rustix::process::getuid().as_raw();
    let user = set("USER").or_else(|| fenxi_sys::user::name(uid)).unwrap_or_else(|| uid.to_string());
    let host = rustix::system::uname();
    let name = format!("{user}@{}", host.nodename().to_string_lossy());
    name.chars().filter(|c| !c.is_control()).take(LONGEST_NAME).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run() -> RunId {
        RunId::parse("20261121T143553-base-d5na").unwrap()
    }

    fn tagged(pairs: &[(&str, &str)]) -> Labels {
        let tags = pairs.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect();
        Labels { tags, ..Labels::default() }
    }

    fn changed(before: &Labels, by: &str, at: i64, change: impl FnOnce(&mut Labels)) -> Labels {
        let mut after = before.clone();
        change(&mut after);
        after.log_since(before, by, Micros(at));
        after
    }

    #[test]
    fn what_two_people_added_is_united_and_a_later_change_of_the_same_line_follows_it() {
        let base = tagged(&[("a", "1")]);
        let ann = changed(&base, "ann", 10, |l| {
            l.remarks.push("slow disk".to_owned());
            l.tags.insert("a".to_owned(), "2".to_owned());
        });
        let bob = changed(&base, "bob", 20, |l| {
            l.remarks.push("new kernel".to_owned());
            l.tags.insert("b".to_owned(), "x".to_owned());
        });
        let (one, conflicts) = ann.merged(&bob, &run());
        assert!(conflicts.is_empty(), "{conflicts:?}");
        let (two, _) = bob.merged(&ann, &run());
        assert_eq!((&one.tags, &two.tags), (&tagged(&[("a", "2"), ("b", "x")]).tags, &one.tags));
        assert_eq!((one.remarks.len(), two.remarks.len()), (2, 2));
        // Bob has seen ann's change and changes it again: no conflict, in either direction.
        let later = changed(&two, "bob", 5, |l| drop(l.tags.insert("a".to_owned(), "3".to_owned())));
        for (from, to) in [(&later, &one), (&one, &later)] {
            let (merged, conflicts) = to.merged(from, &run());
            assert_eq!((merged.tags["a"].as_str(), conflicts.len()), ("3", 0));
        }
    }

    #[test]
    fn a_field_that_both_changed_is_a_conflict_and_both_stores_end_with_the_later_one() {
        let base = tagged(&[("good", "maybe")]);
        let ann = changed(&base, "ann", 10, |l| drop(l.tags.insert("good".to_owned(), "yes".to_owned())));
        let bob = changed(&base, "bob", 20, |l| drop(l.tags.insert("good".to_owned(), "no".to_owned())));
        let (one, conflicts) = ann.merged(&bob, &run());
        let (two, other) = bob.merged(&ann, &run());
        assert_eq!((one.tags["good"].as_str(), two.tags["good"].as_str()), ("no", "no"));
        assert_eq!((conflicts.len(), other.len()), (1, 1));
        assert_eq!((conflicts[0].kept_by.as_deref(), conflicts[0].other.as_deref()), (Some("bob"), Some("yes")));
        // Both logs have both: the conflict is over.
        assert!(one.merged(&two, &run()).1.is_empty());
    }

    #[test]
    fn what_was_removed_stays_removed_and_what_has_no_log_is_lost_by_nobody() {
        let base = tagged(&[("a", "1")]);
        let ann = changed(&base, "ann", 10, |l| drop(l.tags.remove("a")));
        assert!(ann.merged(&base, &run()).0.tags.is_empty());
        assert!(base.merged(&ann, &run()).0.tags.is_empty());
        let (merged, conflicts) = tagged(&[("a", "1"), ("c", "x")]).merged(&tagged(&[("b", "2"), ("c", "y")]), &run());
        assert_eq!(merged.tags, tagged(&[("a", "1"), ("b", "2"), ("c", "x")]).tags);
        assert_eq!((conflicts.len(), conflicts[0].field.as_str()), (1, "tag c"));
    }

    #[test]
    fn a_log_is_bounded_and_every_field_can_be_set_and_removed() {
        let mut labels = Labels::default();
        for i in 0..2_000 {
            labels = changed(&labels.clone(), "ann", i, |l| drop(l.tags.insert("a".to_owned(), i.to_string())));
        }
        assert!(labels.changes.len() < 1_000 && labels.changes.last().unwrap().value.as_deref() == Some("1999"));
        let full = Labels {
            name: Some("n".to_owned()),
            baseline: true,
            remarks: vec!["one two".to_owned()],
            windows: vec![Window { name: "steady".to_owned(), start: Micros(1), end: Micros(2) }],
            marks: vec![Mark { t: Micros(5), text: "m".to_owned(), host: None }],
            ..tagged(&[("k k", "v")])
        };
        let mut set = Labels::default();
        full.fields().iter().for_each(|(field, value)| set.set_field(field, Some(value)));
        assert_eq!(set, full);
        full.fields().iter().for_each(|(field, _)| set.set_field(field, None));
        assert_eq!(set, Labels::default());
    }
}
