//! Ranges of time: what a recording has between two moments, put together of its runs as one run.
//!
//! It is one observation, however many runs it was cut from. It lies in the cache under an id derived from what it was made
//! of, so that a second look costs nothing; deleting it is harmless.

use std::{
    collections::{BTreeMap, BTreeSet},
    hash::Hasher,
    sync::atomic::AtomicBool,
    time::{Duration, SystemTime},
};

use arrow_array::RecordBatch;
use fenxi_model::{Micros, RunId, Selector, TimeRange};
use fs_err as fs;
use rustc_hash::FxHasher;
use rustix::fs::{Timespec, Timestamps, UTIME_NOW, UTIME_OMIT, futimens};

use crate::{FORMAT, Labels, Manifest, Stitch, Store, StoreError, Summary, fs::names, stitch::Piece};

/// The present moment as the time of the last change, by the kernel's own clock.
const NOW: Timestamps = Timestamps {
    last_access: Timespec { tv_sec: 0, tv_nsec: UTIME_OMIT },
    last_modification: Timespec { tv_sec: 0, tv_nsec: UTIME_NOW },
};
/// Where ranges are kept.
const RANGES: &str = "cache/ranges";
/// The tag by which runs of one recording belong together.
pub const SERIES: &str = "series";
/// Ranges that are kept, and their bytes: those that were looked at last.
const KEPT: (usize, u64) = (32, 2 << 30);
/// How often it is tried while a recorder changes the runs below.
const TRIES: usize = 3;
/// How long a range stays in any case: somebody may be reading it.
const FRESH: Duration = Duration::from_secs(600);

/// A run that has something of a range.
struct Candidate {
    id: RunId,
    /// Identifies its recording.
    series: String,
    is_rolled: bool,
    name: String,
    start: Micros,
    /// None while it is recorded.
    end: Option<Micros>,
}

impl Store {
    /// Whether the name of a range is that of one, and where it is kept.
    pub(crate) fn range_dir(&self, id: &RunId) -> Option<std::path::PathBuf> {
        id.is_range().then(|| self.path().join(RANGES).join(format!("run={id}")))
    }

    /// The data recorded in `range`, as one run; of the runs that the selector `of` names, if there is one.
    pub(crate) fn range(&self, text: &str, of: Option<&str>, range: &TimeRange) -> Result<RunId, StoreError> {
        for _ in 1..TRIES {
            let (found, span) = self.within(text, of, range)?;
            let is_gone = |c: &Candidate| c.end.is_some() && !self.run_dir(&c.id).exists();
            match self.range_in(&found, span) {
                // A recorder merged some of them, or removed the oldest, since they were listed.
                Err(_) if found.iter().any(is_gone) => {}
                made => return made,
            }
        }
        let (found, span) = self.within(text, of, range)?;
        self.range_in(&found, span)
    }

    fn range_in(&self, found: &[Candidate], span: (Micros, Micros)) -> Result<RunId, StoreError> {
        if let [only] = found
            && only.end.is_some_and(|end| span.0 <= only.start && end <= span.1)
        {
            return Ok(only.id.clone());
        }
        let name = found.first().map_or("", |first| if first.is_rolled { &first.series } else { &first.name });
        // The runs found are known; the one made of them lies in the cache of the whole store.
        self.all_runs().range_of(found, span, name)
    }

    /// The runs that selectors name as they lie in the store, each once, in that order: of a range of time those that have
    /// something of it, also one that is being recorded.
    ///
    /// # Errors
    /// As [`Store::select`].
    pub fn select_runs(&self, selectors: impl IntoIterator<Item = impl AsRef<str>>) -> Result<Vec<RunId>, StoreError> {
        let mut ids: Vec<RunId> = Vec::new();
        for selector in selectors {
            let selector = selector.as_ref();
            let found = match selector.parse()? {
                Selector::Range { of, range } => {
                    self.within(selector, of.as_deref(), &range)?.0.into_iter().map(|c| c.id).collect()
                }
                _ => self.select(selector)?,
            };
            ids.extend(found);
        }
        let mut seen = BTreeSet::new();
        ids.retain(|id| seen.insert(id.clone()));
        Ok(ids)
    }

    /// The runs of one recording that have something of a range, in their order, and the part of it that they have.
    fn within(
        &self,
        text: &str,
        of: Option<&str>,
        range: &TimeRange,
    ) -> Result<(Vec<Candidate>, (Micros, Micros)), StoreError> {
        let now = now();
        let Some(span) = range.resolve(now) else { return Err(StoreError::EmptyRange { range: text.to_owned() }) };
        let all = self.candidates(of)?;
        let is_in = |c: &Candidate| c.start < span.1 && c.end.unwrap_or(now) > span.0;
        // Recordings without an end are what ranges are asked of; others count where there is none.
        let rolled = all.iter().any(|c| c.is_rolled && is_in(c));
        if !all.iter().any(is_in) {
            return Err(no_such(text, span, &all, now));
        }
        let mut found: Vec<Candidate> = all.into_iter().filter(|c| is_in(c) && c.is_rolled == rolled).collect();
        found.sort_by(|a, b| (a.start, &a.id).cmp(&(b.start, &b.id)));
        let names: BTreeSet<&String> = found.iter().map(|c| &c.series).collect();
        if names.len() > 1 {
            let series = names.into_iter().cloned().collect();
            return Err(StoreError::SeveralSeries { range: text.to_owned(), series });
        }
        let first = found.iter().map(|c| c.start).min().unwrap_or(span.0);
        let last = found.iter().map(|c| c.end.unwrap_or(now)).max().unwrap_or(span.1);
        Ok((found, (span.0.max(first), span.1.min(last))))
    }

    /// Summaries of all sealed runs but those that another one has taken the place of: a recorder that was killed while
    /// it merged runs leaves both, whose rows are the same.
    ///
    /// # Errors
    /// When the runs cannot be read.
    pub fn counted(&self) -> Result<Vec<Summary>, StoreError> {
        let mut summaries = self.summaries()?;
        let replaced: BTreeSet<RunId> = summaries.iter().flat_map(|run| run.made_of.clone()).collect();
        summaries.retain(|run| !replaced.contains(&run.id));
        Ok(summaries)
    }

    /// The runs that could have something of a range, without those that others have taken the place of.
    fn candidates(&self, of: Option<&str>) -> Result<Vec<Candidate>, StoreError> {
        let live = self.recordings()?;
        let is_named = |tags: &BTreeMap<String, String>, name: Option<&str>, of: &str| match of.split_once('=') {
            Some((key, value)) => tags.get(key).is_some_and(|v| v == value),
            None => name == Some(of) || tags.get(SERIES).is_some_and(|series| series == of),
        };
        let summaries = self.summaries()?;
        let replaced: BTreeSet<&RunId> = summaries.iter().flat_map(|run| &run.made_of).collect();
        let chosen = |run: &&Summary| match of {
            Some(of) => is_named(&run.labels.tags, run.labels.name.as_deref(), of),
            None => true,
        };
        let mut runs: Vec<&Summary> = summaries.iter().filter(chosen).collect();
        let live: Vec<_> = live
            .into_iter()
            .filter(|run| of.is_none_or(|of| is_named(&run.begin.tags, run.begin.name.as_deref(), of)))
            .collect();
        if let Some(of) = of
            && runs.is_empty()
            && live.is_empty()
        {
            let ids = self.select(of)?;
            runs = summaries.iter().filter(|run| ids.contains(&run.id)).collect();
        }
        runs.retain(|run| !replaced.contains(&run.id));
        let name_of = |name: &Option<String>, id: &RunId| name.clone().unwrap_or_else(|| id.to_string());
        let sealed = runs.into_iter().map(|run| Candidate {
            series: run.labels.tags.get(SERIES).cloned().unwrap_or_else(|| run.id.to_string()),
            is_rolled: run.labels.tags.contains_key(SERIES),
            name: name_of(&run.labels.name, &run.id),
            start: run.start,
            end: Some(run.end),
            id: run.id.clone(),
        });
        let open = live.into_iter().map(|run| Candidate {
            series: run.begin.tags.get(SERIES).cloned().unwrap_or_else(|| run.id.to_string()),
            is_rolled: run.begin.tags.contains_key(SERIES),
            name: name_of(&run.begin.name, &run.id),
            start: run.begin.start,
            end: None,
            id: run.id,
        });
        let mut all: Vec<Candidate> = sealed.collect();
        // Sealed since the others were listed.
        let sealed: BTreeSet<RunId> = all.iter().map(|c| c.id.clone()).collect();
        all.extend(open.filter(|c| !sealed.contains(&c.id)));
        Ok(all)
    }

    /// The run of what `found` have within `span`: the one that was made before, or a new one.
    fn range_of(&self, found: &[Candidate], span: (Micros, Micros), name: &str) -> Result<RunId, StoreError> {
        let mut hash = FxHasher::default();
        hash.write_i64(span.0.0);
        hash.write_i64(span.1.0);
        for candidate in found {
            hash.write(candidate.id.as_str().as_bytes());
            // A run that is still recorded has more at each look.
            hash.write_u64(if candidate.end.is_some() { 0 } else { self.open_bytes(&candidate.id) });
        }
        // The end of a multiplicative hash is in its upper bits.
        let number = hash.finish() >> 40;
        let id = RunId::of_range(span.0, span.1, name, number);
        let dir = self.run_dir(&id);
        if dir.join("run.json").exists() {
            // Looked at again: it stays longer. Where that cannot be written, nothing is lost.
            let _ = fs::File::open(&dir).map(|dir| futimens(dir.file(), &NOW));
            return Ok(id);
        }
        self.make_dir(RANGES)?;
        let mut pieces = Vec::with_capacity(found.len());
        for candidate in found {
            pieces.push(self.piece(candidate)?);
        }
        let ids: Vec<RunId> = found.iter().map(|c| c.id.clone()).collect();
        let stitch = Stitch { pieces: &ids, span: Some(span), step_s: 0.0, stop: &AtomicBool::new(false) };
        let title = title(name, span);
        self.put_together(&pieces, &stitch, id.clone(), title)?;
        self.forget_ranges();
        Ok(id)
    }

    fn piece(&self, candidate: &Candidate) -> Result<Piece, StoreError> {
        if candidate.end.is_none() {
            match self.live_piece(&candidate.id) {
                // Its recorder has sealed it since it was listed.
                Err(StoreError::Unknown { .. }) => {}
                piece => return piece,
            }
        }
        Ok(Piece { manifest: self.manifest(&candidate.id)?, live: None })
    }

    /// Rows so far of a run that is being recorded.
    fn live_piece(&self, id: &RunId) -> Result<Piece, StoreError> {
        let of = |recordings: Vec<crate::Recorded>| recordings.into_iter().find(|run| run.id == *id);
        let unknown = || StoreError::Unknown { selector: id.to_string(), near: Vec::new() };
        let begin = of(self.recordings()?).ok_or_else(unknown)?.begin;
        let mut live: BTreeMap<&'static str, Vec<RecordBatch>> = BTreeMap::new();
        for (table, batch) in self.follow(id)?.advance()?.unwrap_or_default() {
            live.entry(table.name).or_default().push(batch);
        }
        let manifest = Manifest {
            format: FORMAT,
            digest: String::new(),
            id: id.clone(),
            name: begin.name,
            kind: begin.kind,
            hosts: vec![begin.host],
            start: begin.start,
            end: now(),
            interval_s: begin.interval_s,
            command: begin.command,
            exit_status: None,
            signal: None,
            recovered: false,
            params: begin.params,
            tags: begin.tags,
            windows: Vec::new(),
            sources: begin.sources,
            costs: Vec::new(),
            ticks: None,
            missed_ticks: None,
            seal_cpu_s: None,
            inputs: Vec::new(),
            made_of: Vec::new(),
            files: Vec::new(),
        };
        Ok(Piece { manifest, live: Some(live) })
    }

    /// The labels of a range: the marks of its runs that lie within it, as they are now.
    pub(crate) fn labels_of_range(&self, id: &RunId) -> Result<Labels, StoreError> {
        let manifest = self.manifest(id)?;
        let mut labels = manifest.first_labels();
        for piece in &manifest.made_of {
            // Runs that were merged or removed since have none.
            let marks = self.marks(piece).unwrap_or_default().into_iter();
            marks
                .filter(|mark| mark.t >= manifest.start && mark.t < manifest.end)
                .for_each(|mark| labels.add_mark(mark));
        }
        Ok(labels)
    }

    /// Forgets the ranges that were not looked at for longest, where there are many.
    fn forget_ranges(&self) {
        let dir = self.path().join(RANGES);
        let mut kept: Vec<(SystemTime, u64, RunId)> = Vec::new();
        for name in names(&dir).unwrap_or_default() {
            let Some(id) = name.strip_prefix("run=").and_then(RunId::parse) else { continue };
            let Ok(modified) = fs::metadata(dir.join(&name)).and_then(|meta| meta.modified()) else { continue };
            let files = names(&dir.join(&name)).unwrap_or_default();
            let size = |file: &String| fs::metadata(dir.join(&name).join(file)).map_or(0, |meta| meta.len());
            kept.push((modified, files.iter().map(size).sum(), id));
        }
        kept.sort_by_key(|one| std::cmp::Reverse(one.0));
        let mut bytes = 0_u64;
        for (place, (modified, size, id)) in kept.iter().enumerate() {
            bytes += size;
            let is_fresh = modified.elapsed().is_ok_and(|age| age < FRESH);
            if is_fresh || place < KEPT.0 && bytes <= KEPT.1 {
                continue;
            }
            // Out of sight first, so that no reader finds a part of it. What stays is tried again another time.
            if let Ok(scratch) = self.scratch()
                && fs::rename(self.run_dir(id), scratch.path("range")).is_ok()
            {
                self.forget_derived(id);
            }
        }
    }
}

/// The name of a range.
fn title(name: &str, (from, to): (Micros, Micros)) -> String {
    let (from, to) = (from.to_the_second(), to.to_the_second());
    let to = if from.get(..10) == to.get(..10) { to.get(11..).unwrap_or_default() } else { &to };
    format!("{name} {from}..{to}")
}

fn now() -> Micros {
    let now = rustix::time::clock_gettime(rustix::time::ClockId::Realtime);
    Micros(now.tv_sec * 1_000_000 + now.tv_nsec / 1_000)
}

/// The error for a range of which nothing is there, with what there is.
fn no_such(text: &str, span: (Micros, Micros), all: &[Candidate], now: Micros) -> StoreError {
    let rolled = || all.iter().filter(|c| c.is_rolled);
    let begin = rolled().map(|c| c.start).min();
    let end = rolled().map(|c| c.end.unwrap_or(now)).max();
    let there = match (begin, end) {
        (Some(begin), Some(end)) => {
            format!("recordings with --roll reach from {} to {} UTC", begin.to_the_second(), end.to_the_second())
        }
        _ => "no recording with --roll is there; `fenxi runs` lists what is".to_owned(),
    };
    let shown = |t: Micros| if t.0 == i64::MIN { "the begin".to_owned() } else { t.to_the_second() };
    let asked = format!("{} to {} UTC", shown(span.0), shown(span.1));
    StoreError::NothingInRange { range: text.to_owned(), asked, there }
}
