//! Snapshots in the store, and the runs that two of them make.

use std::{
    collections::BTreeMap,
    io::{BufRead, BufReader, Read, Write},
};

use anyhow::{Context, bail};
use fenxi_db::snapshot::{Head, Snapshot, Taken, period};
use fenxi_model::{Micros, RunId};
use fenxi_source::Root;
use fenxi_store::{Begin, End, InputEntry, PERIOD, SNAPSHOT, Store, Summary};

use crate::{machine::hostname, options::RunLabels, stores};

/// The file in which answers are kept.
const ANSWERS: &str = "answers.jsonl";
/// Format name of an input that is a snapshot.
const FORMAT: &str = "fenxi-db-snapshot";
/// How much answers are compressed.
const LEVEL: i32 = 9;
/// The most bytes of a snapshot's text.
const MOST: u64 = 1 << 30;
/// Parameters of the run that two snapshots make.
const PARAMS: [&str; 2] = ["first", "second"];

/// Keeps a snapshot as a run; gives its id and what its answers take.
pub fn keep(store: &Store, labels: &RunLabels, taken: Taken) -> anyhow::Result<(RunId, u64)> {
    let Taken { snapshot, mut rows } = taken;
    let (host, start) = (hostname(&Root::live()), Micros(snapshot.head.taken_us));
    rows.set_host(&host);
    let mut open = store.begin(Begin {
        params: BTreeMap::from([("server".to_owned(), snapshot.head.server.clone())]),
        ..begin(SNAPSHOT, labels, &snapshot.head, (&host, start))
    })?;
    let text = snapshot.to_text();
    let mut file = open.raw_file(&format!("{ANSWERS}.zst"))?;
    file.write_all(&zstd::encode_all(text.as_bytes(), LEVEL)?)?;
    let raw = file.finish()?;
    let bytes = raw.bytes;
    let input = InputEntry {
        name: ANSWERS.to_owned(),
        raw,
        bytes: text.len() as u64,
        blake3: blake3::hash(text.as_bytes()).to_hex().to_string(),
        format: Some(FORMAT.to_owned()),
        ..InputEntry::default()
    };
    open.append(&mut rows)?;
    let run = open.seal(End { inputs: vec![input], ticks: 1, ..End::at(start) }).context("the snapshot is not kept")?;
    Ok((run, bytes))
}

fn begin(kind: &str, labels: &RunLabels, head: &Head, (host, start): (&str, Micros)) -> Begin {
    let name = labels.name.clone().unwrap_or_else(|| format!("{} {}", head.server.replace(['/', ':'], "-"), kind));
    Begin {
        name: Some(name),
        command: std::env::args().collect(),
        tags: labels.tag.iter().cloned().collect(),
        random: stores::random(),
        sources: vec![fenxi_db::SOURCE_NAME.to_owned()],
        ..Begin::new(kind, host, start)
    }
}

/// A run that two snapshots made.
pub struct Interval {
    /// Its id.
    pub run: RunId,
    /// Its length.
    pub seconds: f64,
    /// Reasons why some of its figures are unknown.
    pub warnings: Vec<String>,
    /// Whether it was made now.
    pub is_new: bool,
}

/// The run that two snapshots make, which is made once.
pub fn interval(store: &Store, selectors: [&str; 2], labels: &RunLabels) -> anyhow::Result<Interval> {
    let mut ids = [store.select_one(selectors[0])?, store.select_one(selectors[1])?];
    let all = store.summaries()?;
    for id in &ids {
        if !is_snapshot(&all, id) {
            bail!("{id} is no snapshot: `fenxi db snap` makes one; a run of any other kind has its interval already");
        }
    }
    if ids[0] == ids[1] {
        bail!("{} is one snapshot: an interval takes two", ids[0]);
    }
    ids.sort_by_key(|id| all.iter().find(|summary| summary.id == *id).map(|summary| summary.start));
    if let Some(made) = all.iter().find(|summary| is_of(summary, &ids) && labels.name.is_none()) {
        let seconds = (made.end.0 - made.start.0) as f64 / 1e6;
        return Ok(Interval { run: made.id.clone(), seconds, warnings: Vec::new(), is_new: false });
    }
    let [first, second] = [read(store, &ids[0])?, read(store, &ids[1])?];
    let between = between(store, &all, &first.head, &second.head);
    let (head, host) = (first.head.clone(), hostname(&Root::live()));
    let mut made =
        period(first, second, between).with_context(|| format!("{} and {} are no interval", ids[0], ids[1]))?;
    made.rows.set_host(&host);
    let seconds = (made.end.0 - made.start.0) as f64 / 1e6;
    let params = PARAMS.iter().zip(&ids).map(|(name, id)| ((*name).to_owned(), id.to_string())).collect();
    let begun = Begin { params, interval_s: Some(seconds), ..begin(PERIOD, labels, &head, (&host, made.start)) };
    let mut open = store.begin(begun)?;
    open.append(&mut made.rows)?;
    let run = open.seal(End { ticks: 1, ..End::at(made.end) }).context("the interval is not kept")?;
    Ok(Interval { run, seconds, warnings: made.warnings, is_new: true })
}

/// Whether a run is a snapshot.
pub fn is_snapshot(all: &[Summary], id: &RunId) -> bool {
    all.iter().any(|summary| summary.id == *id && summary.kind == SNAPSHOT)
}

/// Whether a run is the interval between two.
fn is_of(summary: &Summary, ids: &[RunId; 2]) -> bool {
    let is = |(name, id): (&&str, &RunId)| summary.params.get(*name).is_some_and(|of| of == id.as_str());
    summary.kind == PERIOD && PARAMS.iter().zip(ids).all(is)
}

/// Snapshots of the same server between two: what they did is no load.
fn between(store: &Store, all: &[Summary], first: &Head, second: &Head) -> Vec<Head> {
    let (from, to) = (first.taken_us.min(second.taken_us), first.taken_us.max(second.taken_us));
    let is_between = |summary: &&Summary| {
        summary.kind == SNAPSHOT
            && summary.start.0 > from
            && summary.start.0 < to
            && summary.params.get("server").is_some_and(|server| *server == first.server)
    };
    all.iter().filter(is_between).filter_map(|summary| read_head(store, &summary.id).ok()).collect()
}

/// Kept answers of a snapshot, as text.
fn open(store: &Store, id: &RunId) -> anyhow::Result<impl Read> {
    let entry = store.run(id)?;
    let input = entry.manifest.inputs.iter().find(|input| input.format.as_deref() == Some(FORMAT));
    let input = input.with_context(|| format!("{id} has no answers"))?;
    store.check_file(id, &input.raw)?;
    let file = fs_err::File::open(store.run_dir(id).join(&input.raw.name))?;
    Ok(zstd::Decoder::new(file)?.take(MOST))
}

fn read(store: &Store, id: &RunId) -> anyhow::Result<Snapshot> {
    let mut text = String::new();
    open(store, id)?.read_to_string(&mut text)?;
    Snapshot::from_text(&text).with_context(|| format!("{id} cannot be read"))
}

fn read_head(store: &Store, id: &RunId) -> anyhow::Result<Head> {
    let mut line = String::new();
    BufReader::new(open(store, id)?).read_line(&mut line)?;
    Ok(Head::from_text(&line)?)
}
