//! Which runs of a series are kept: old ones are merged and thinned, and removed by age and size.
//!
//! Only runs are touched that were recorded for the series and still wear its tag. One that is labelled `keep`, or is a
//! baseline, stays as it is whatever happens; one to which a person gave any other label is not merged.
//!
//! Nothing is lost at any moment: the merged run is there, with one rename, before those that it was made of are
//! removed. Who is killed in between leaves both; the merged one names the others, so that none is counted twice, and
//! they are removed the next time.

use std::{
    collections::BTreeSet,
    sync::atomic::{AtomicBool, Ordering},
};

use fenxi_model::{Micros, RunId};
use fenxi_store::{Begin, Labels, Recovered, RunEntry, SERIES, Stitch, Store, StoreError, Summary};

use crate::roll::{Keep, Thin};

/// The tag of a run that stays.
pub const KEEP: &str = "keep";

/// Runs are merged day by day, in microseconds.
const DAY_US: i64 = 86_400_000_000;

/// Applies the rules of `keep` to a series, as of `now`; stops between two steps when `hurry` is set.
///
/// # Errors
/// When the store cannot be read or written.
pub fn apply_retention(
    store: &Store,
    series: &str,
    keep: &Keep,
    now: Micros,
    hurry: &AtomicBool,
) -> Result<(), StoreError> {
    // Runs that a killed recorder left: no other command may open this store for weeks.
    recover(store, series, None)?;
    let runs = of_series(store, series)?;
    remove_all(store, replaced(&runs), hurry)?;
    remove_all(store, too_old(&runs, keep, now), hurry)?;
    limit(store, series, keep, hurry)?;
    for thin in &keep.thin {
        for group in mergeable(store, &of_series(store, series)?, thin, now)? {
            if hurry.load(Ordering::Relaxed) {
                return Ok(());
            }
            merge(store, &group, thin, hurry)?;
        }
    }
    limit(store, series, keep, hurry)
}

/// Removes the oldest runs until the series takes no more than is asked for.
fn limit(store: &Store, series: &str, keep: &Keep, hurry: &AtomicBool) -> Result<(), StoreError> {
    let is_own = |run: &fenxi_store::Recorded| run.begin.tags.get(SERIES).is_some_and(|s| s == series);
    let open = store.recordings()?.iter().filter(|run| is_own(run)).map(|run| store.open_bytes(&run.id)).sum();
    remove_all(store, too_much(&of_series(store, series)?, keep, open), hurry)
}

fn remove_all(store: &Store, runs: Vec<RunId>, hurry: &AtomicBool) -> Result<(), StoreError> {
    runs.iter().take_while(|_| !hurry.load(Ordering::Relaxed)).try_for_each(|id| remove(store, id))
}

/// Runs that a merged one has taken the place of.
fn replaced(runs: &[Summary]) -> Vec<RunId> {
    let replaced: BTreeSet<&RunId> = runs.iter().flat_map(|run| &run.made_of).collect();
    runs.iter().filter(|run| replaced.contains(&run.id) && !stays(run)).map(|run| run.id.clone()).collect()
}

/// Runs of one day each that are to become one run, or one with fewer rows.
fn mergeable(store: &Store, runs: &[Summary], thin: &Thin, now: Micros) -> Result<Vec<Vec<RunId>>, StoreError> {
    let before = now.after(-thin.after_s).0;
    let mut groups: Vec<Vec<RunEntry>> = Vec::new();
    let mut goes_on = false;
    for run in runs {
        let day = run.start.0.div_euclid(DAY_US);
        if (day + 1) * DAY_US > before {
            break;
        }
        let entry = match store.run(&run.id) {
            Err(StoreError::Unknown { .. }) => continue,
            entry => entry?,
        };
        if stays(run) || !is_plain(&entry) {
            goes_on = false;
            continue;
        }
        let alike = |last: &RunEntry| {
            last.manifest.start.0.div_euclid(DAY_US) == day
                && last.manifest.hosts == entry.manifest.hosts
                && coarse(&last.manifest, thin) == coarse(&entry.manifest, thin)
        };
        match groups.last_mut() {
            Some(group) if goes_on && group.last().is_some_and(alike) => group.push(entry),
            _ => groups.push(vec![entry]),
        }
        goes_on = true;
    }
    let is_due = |group: &Vec<RunEntry>| {
        group.len() > 1 || group.iter().any(|run| run.manifest.interval_s.unwrap_or(f64::MAX) < thin.step_s)
    };
    let ids = |group: Vec<RunEntry>| group.into_iter().map(|entry| entry.manifest.id).collect();
    Ok(groups.into_iter().filter(is_due).map(ids).collect())
}

/// Whether a run has no label but marks, which a merged run has too.
fn is_plain(entry: &RunEntry) -> bool {
    Labels { marks: Vec::new(), ..entry.labels.clone() } == entry.manifest.first_labels()
}

/// The interval of a run once it is thinned, in microseconds.
fn coarse(manifest: &fenxi_store::Manifest, thin: &Thin) -> i64 {
    (manifest.interval_s.unwrap_or(0.0).max(thin.step_s) * 1e6) as i64
}

fn merge(store: &Store, group: &[RunId], thin: &Thin, hurry: &AtomicBool) -> Result<(), StoreError> {
    let Some(first) = group.first() else { return Ok(()) };
    // The id ends in what distinguishes it from that of the first run.
    let random = first.as_str().bytes().fold(group.len() as u64, |hash, byte| hash.rotate_left(5) ^ u64::from(byte));
    let stitch = Stitch { pieces: group, span: None, step_s: thin.step_s, stop: hurry };
    let Some(merged) = store.stitch(&stitch, random)? else { return Ok(()) };
    let known = store.marks(&merged)?;
    for id in group {
        let entry = match store.run(id) {
            Err(StoreError::Unknown { .. }) => continue,
            entry => entry?,
        };
        // Marked or labelled meanwhile: a mark goes over, what has another label stays beside.
        for mark in entry.labels.marks.iter().filter(|mark| !known.contains(mark)) {
            store.mark(&merged, mark.clone())?;
        }
        if is_plain(&entry) {
            remove(store, id)?;
        }
    }
    Ok(())
}

/// Seals what recorders left; where the disk is full, the oldest runs of the series make room for it, but not `spared`.
///
/// # Errors
/// When the store cannot be read.
pub fn recover(store: &Store, series: &str, spared: Option<&RunId>) -> Result<(), StoreError> {
    loop {
        let is_full = |run: &Recovered| run.error.as_ref().is_some_and(StoreError::is_full);
        if !store.recover()?.iter().any(is_full) || !make_room(store, series, spared)? {
            return Ok(());
        }
    }
}

/// Removes the oldest run of a series that may go, sealed or left by a dead recorder, but not `spared`; false when there is none.
///
/// # Errors
/// When the store cannot be read or written.
pub fn make_room(store: &Store, series: &str, spared: Option<&RunId>) -> Result<bool, StoreError> {
    let runs = of_series(store, series)?;
    let sealed = runs.iter().find(|run| !stays(run));
    let is_own = |begin: &Begin| begin.tags.get(SERIES).is_some_and(|s| s == series);
    let left = store.left()?.into_iter().find(|(id, begin)| is_own(begin) && Some(id) != spared);
    match (sealed, left) {
        (Some(run), Some((_, begin))) if run.start <= begin.start => remove(store, &run.id).map(|()| true),
        (_, Some((id, _))) => store.give_up(&id),
        (Some(run), None) => remove(store, &run.id).map(|()| true),
        (None, None) => Ok(false),
    }
}

fn remove(store: &Store, id: &RunId) -> Result<(), StoreError> {
    match store.remove(id) {
        // Somebody was quicker.
        Err(StoreError::Unknown { .. }) => Ok(()),
        removed => removed,
    }
}

/// The sealed runs of a series, oldest first.
fn of_series(store: &Store, series: &str) -> Result<Vec<Summary>, StoreError> {
    let mut runs = store.summaries()?;
    runs.retain(|run| run.kind == "record" && run.labels.tags.get(SERIES).is_some_and(|s| s == series));
    runs.sort_by(|a, b| (a.start, &a.id).cmp(&(b.start, &b.id)));
    Ok(runs)
}

/// Whether a person asked for a run to stay.
fn stays(run: &Summary) -> bool {
    let is_no = |value: &String| ["no", "false", "0"].contains(&value.as_str());
    run.labels.baseline || run.labels.tags.get(KEEP).is_some_and(|value| !is_no(value))
}

fn too_old(runs: &[Summary], keep: &Keep, now: Micros) -> Vec<RunId> {
    let Some(age_s) = keep.age_s else { return Vec::new() };
    let is_old = |run: &&Summary| now.seconds_since(run.end) > age_s && !stays(run);
    runs.iter().filter(is_old).map(|run| run.id.clone()).collect()
}

/// The oldest runs of `runs` (oldest first) that must go for all to take no more than is asked for, together with the
/// `open` bytes of the run that is open and with room for sealing it.
fn too_much(runs: &[Summary], keep: &Keep, open: u64) -> Vec<RunId> {
    let Some(most) = keep.bytes else { return Vec::new() };
    let largest = runs.iter().rev().take(RECENT).map(|run| run.bytes).max().unwrap_or(0);
    let mut bytes: u64 = runs.iter().map(|run| run.bytes).sum::<u64>() + open + 2 * largest;
    let mut gone = Vec::new();
    for run in runs.iter().filter(|run| !stays(run)) {
        if bytes <= most {
            break;
        }
        bytes -= run.bytes;
        gone.push(run.id.clone());
    }
    gone
}

/// Runs by which the size of the next is foretold.
const RECENT: usize = 24;
