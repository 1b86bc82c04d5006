//! A small store in which every figure is known: shared by the standing adversary and the tests of the command line.

use std::path::Path;

use fenxi_model::{
    Micros, Rows, RunId,
    catalog::{cpu, text},
};
use fenxi_store::{Begin, End, Store, StoreError};

/// 2026-11-21 14:00:00 UTC.
const START: Micros = Micros(1_795_269_600_000_000);
/// Samples of a run.
pub const SECONDS: i64 = 60;
/// The constant `usr` of the whole machine, in the first run and in the second.
pub const USR: [f64; 2] = [31.0, 67.0];
/// Is in the second run, in its facts, labels and name, and in no answer about the first.
pub const OTHER: &str = "canary-of-the-second-run";

/// A question that a run brings with it: its name and the text of its file.
pub type Carried<'a> = (&'a str, String);

/// Makes a store at `path` with two runs; the first one brings `carried` with it.
///
/// # Errors
/// When it cannot be written.
pub fn store(path: &Path, carried: &[Carried<'_>]) -> Result<(Store, [RunId; 2]), StoreError> {
    let store = Store::open_or_create(path)?;
    let one = run(&store, "first", USR[0], 1, carried)?;
    let two = run(&store, OTHER, USR[1], 2, &[])?;
    Ok((store, [one, two]))
}

/// Adds one run.
///
/// # Errors
/// When it cannot be written.
pub fn run(store: &Store, name: &str, usr: f64, number: u64, carried: &[Carried<'_>]) -> Result<RunId, StoreError> {
    let begin = Begin {
        name: Some(name.to_owned()),
        kind: "record".to_owned(),
        host: "made-up".to_owned(),
        command: vec!["true".to_owned(), name.to_owned()],
        params: [("threads".to_owned(), "8".to_owned())].into(),
        tags: [("build".to_owned(), name.to_owned())].into(),
        start: START,
        interval_s: Some(1.0),
        random: number * 7919,
        sources: vec!["cpu".to_owned()],
    };
    let mut open = store.begin(begin)?;
    let mut rows = Rows::new("made-up");
    for second in 1..=SECONDS {
        let at = Micros(START.0 + second * 1_000_000);
        rows.row(&cpu::TABLE, at, 1.0).f64(cpu::usr, usr).f64(cpu::idle, 100.0 - usr);
    }
    let facts = carried.iter().map(|(name, value)| ("question", *name, value.as_str()));
    for (topic, name, value) in facts.chain([("remark", "who", name)]) {
        let mut row = rows.row(&text::TABLE, START, 1.0);
        row.str(text::topic, topic).str(text::name, name).text(text::value, value);
    }
    open.append(&mut rows)?;
    let end = Micros(START.0 + SECONDS * 1_000_000);
    open.seal(End { exit_status: Some(0), ticks: SECONDS as u64, ..End::at(end) })
}
