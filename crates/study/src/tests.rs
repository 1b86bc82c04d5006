//! Studies whose runs are made up: no command runs.

use std::{cell::Cell, path::Path};

use fenxi_model::{
    Better, Micros, Rows, RunId,
    catalog::{cpu, result},
};
use fenxi_store::{Begin, End, Store};

use crate::{
    Answered, Asks, Beginning, Design, Estimate, FAILED, Kind, Record, RunQuestion, StudyError, StudyPlan,
    collect::{Series, collect},
    finished, made, names, parse, report,
    state::Lock,
};

/// 2026-11-21 14:00:00 UTC: when the study begins, and its first run an hour later.
const START: i64 = 1_795_269_600_000_000;

/// Two cells in two blocks, in the order of the plan.
pub(crate) const PLAN: &str = "\
name = \"n\"
command = \"true\"
repeats = 2
order = \"given\"
[factors]
a = [1, 2]
[[response]]
result = \"tps\"
";

/// A study in its own store.
pub(crate) struct Study {
    pub(crate) store: Store,
    pub(crate) plan: StudyPlan,
    pub(crate) record: Record,
    made: Cell<u64>,
    _folder: tempfile::TempDir,
}

/// A run to be.
pub(crate) struct Run {
    pub(crate) begin: Begin,
    pub(crate) end: End,
    pub(crate) rows: Rows,
}

impl Run {
    pub(crate) fn result(&mut self, name: &str, value: f64, unit: &str, better: &str) {
        let mut row = self.rows.row(&result::TABLE, None, None);
        row.str(result::name, name).f64(result::value, value).str(result::unit, unit).str(result::better, better);
    }

    /// Marks it as failed.
    pub(crate) fn failed(&mut self, why: &str) {
        self.begin.tags.insert(FAILED.to_owned(), why.to_owned());
    }
}

impl Study {
    pub(crate) fn new(text: &str) -> Study {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open_or_create(folder.path().join("store")).unwrap();
        let plan = parse(Path::new("plan.toml"), text).unwrap();
        let record = Record::plan(&store, &plan, text, BEGINNING).unwrap();
        Study { store, plan, record, made: Cell::new(0), _folder: folder }
    }

    /// Begins a run of `seconds` as `conduct` would, an hour after the one before.
    fn begin(&self, block: u32, cell: &str, attempt: u32, seconds: f64) -> Run {
        self.made.set(self.made.get() + 1);
        let start = Micros(START + self.made.get() as i64 * 3_600_000_000);
        let params = [
            ("study_id", self.record.id.clone()),
            ("block", block.to_string()),
            ("cell", cell.to_owned()),
            ("attempt", attempt.to_string()),
        ];
        let begin = Begin {
            name: None,
            kind: "record".to_owned(),
            host: "h1".to_owned(),
            command: Vec::new(),
            params: params.map(|(key, value)| (key.to_owned(), value)).into(),
            tags: [].into(),
            start,
            interval_s: Some(1.0),
            random: self.made.get() * 7919,
            sources: Vec::new(),
        };
        Run { begin, end: End::at(Micros(start.0 + (seconds * 1e6) as i64)), rows: Rows::new("h1") }
    }

    /// Adds a run as `fill` makes it.
    pub(crate) fn run(&self, place: (u32, &str, u32), seconds: f64, fill: impl FnOnce(&mut Run)) -> RunId {
        let (block, cell, attempt) = place;
        let mut run = self.begin(block, cell, attempt, seconds);
        fill(&mut run);
        let mut open = self.store.begin(run.begin).unwrap();
        open.append(&mut run.rows).unwrap();
        open.seal(run.end).unwrap()
    }

    /// Adds a run whose recorder died.
    pub(crate) fn cut_short(&self, block: u32, cell: &str) -> RunId {
        let mut run = self.begin(block, cell, 1, 1.0);
        run.rows.row(&cpu::TABLE, run.end.end, 1.0).f64(cpu::usr, 1.0);
        let mut open = self.store.begin(run.begin).unwrap();
        open.append(&mut run.rows).unwrap();
        let id = open.id().clone();
        drop(open);
        assert_eq!(self.store.recover().unwrap().len(), 1);
        id
    }
}

const BEGINNING: Beginning = Beginning { extends: false, random: 0x1234_5678_9abc_def0, now: Micros(START) };

fn with_tps(run: &mut Run, tps: f64) {
    run.result("tps", tps, "/s", "higher");
}

#[test]
fn what_was_made_is_read_from_the_parameters_of_runs() {
    let study = Study::new(PLAN);
    let first = study.run((1, "a=1", 1), 5.0, |run| run.failed("timed out"));
    let second = study.run((1, "a=1", 2), 7.0, |_| {});
    // Neither a run of another study nor one without a cell belongs to it.
    study.run((1, "a=2", 1), 1.0, |run| drop(run.begin.params.insert("study_id".to_owned(), "0".to_owned())));
    study.run((1, "a=2", 1), 1.0, |run| drop(run.begin.params.remove("cell")));
    let third = study.run((2, "a=2", 1), 3.0, |run| drop(run.begin.params.remove("attempt")));
    let dead = study.cut_short(2, "a=1");
    let all = made(&study.store, &study.record).unwrap();
    let reported: Vec<_> =
        all.iter().map(|m| (&m.run, m.block, m.cell.as_str(), m.attempt, m.failed.as_deref())).collect();
    assert_eq!(
        reported,
        [
            (&first, 1, "a=1", 1, Some("timed out")),
            (&second, 1, "a=1", 2, None),
            (&third, 2, "a=2", 1, None),
            (&dead, 2, "a=1", 1, Some("cut short: its recorder died")),
        ]
    );
    assert_eq!(all.iter().take(3).map(|m| m.seconds).collect::<Vec<_>>(), [5.0, 7.0, 3.0]);
    let done = finished(&all);
    let done: Vec<_> = done.iter().map(|(place, made)| (*place, &made.run)).collect();
    assert_eq!(done, [((1, "a=1"), &second), ((2, "a=2"), &third)]);
}

#[test]
fn of_several_finished_runs_of_a_slot_the_latest_counts() {
    let study = Study::new(PLAN);
    let runs = [1, 2].map(|attempt| study.run((1, "a=1", attempt), 1.0, |_| {}));
    study.run((1, "a=1", 3), 1.0, |run| run.failed("why"));
    let all = made(&study.store, &study.record).unwrap();
    assert_eq!(finished(&all)[&(1, "a=1")].run, runs[1]);
}

#[test]
fn a_record_is_found_again_and_goes_on_only_with_the_same_plan() {
    let study = Study::new(PLAN);
    // The upper 24 bits of the random number; its lower 32, 9abcdef0, with those of the time, c6c8b800.
    assert_eq!((study.record.seed, study.record.id.as_str()), (0x12_3456, "5c7466f0"));
    assert!(Record::load(&study.store, "n").unwrap().is_none() && names(&study.store).unwrap().is_empty());
    study.record.save(&study.store).unwrap();
    assert_eq!(Record::load(&study.store, "n").unwrap().as_ref(), Some(&study.record));
    assert_eq!(
        (names(&study.store).unwrap(), Record::named(&study.store, "n").unwrap()),
        (vec!["n".to_owned()], study.record.clone())
    );
    let unknown = Record::named(&study.store, "m").unwrap_err();
    assert_eq!(unknown.to_string(), "the store has no study called `m`; did you mean `n`?");

    let go_on = |text: &str, extends| {
        let plan = parse(Path::new("plan.toml"), text).unwrap();
        Record::plan(&study.store, &plan, text, Beginning { extends, random: 1, now: Micros(START + 1) })
    };
    assert_eq!(go_on(PLAN, false).unwrap(), study.record);
    let more = PLAN.replace("repeats = 2", "repeats = 3\nseed = 7");
    assert!(matches!(go_on(&more, false), Err(StudyError::Changed { changes, .. }) if changes.len() == 2));
    let extended = go_on(&more, true).unwrap();
    assert_eq!((extended.seed, extended.id.as_str(), extended.text), (7, study.record.id.as_str(), more));
    // Another command measures another thing.
    let other = go_on(&PLAN.replace("true", "false"), true);
    assert!(matches!(other, Err(StudyError::Changed { .. })), "{other:?}");
}

#[test]
fn a_study_is_made_by_one_process_at_a_time() {
    let study = Study::new(PLAN);
    let lock = Lock::acquire(&study.store, "n").unwrap();
    let busy = Lock::acquire(&study.store, "n").unwrap_err();
    assert!(matches!(&busy, StudyError::Busy { name, .. } if name == "n"), "{busy}");
    assert!(Lock::acquire(&study.store, "another").is_ok());
    drop(lock);
    assert!(Lock::acquire(&study.store, "n").is_ok());
}

#[test]
fn the_rest_takes_what_runs_of_the_cell_took_or_of_others_or_what_is_planned() {
    let plan = |more: &str| parse(Path::new("p"), &PLAN.replace("repeats = 2\n", more)).unwrap();
    let unknown = Estimate::new(&plan(""));
    assert_eq!((unknown.one(0), unknown.rest([].into_iter())), (None, Some(0.0)));
    // 60 s, 5 s of rest and 10 s of warm-up.
    let planned = plan("repeats = 3\nduration = \"60s\"\ncooldown = \"5s\"\nrun = { warmup = \"10s\" }\n");
    let mut estimate = Estimate::new(&planned);
    let design = Design::new(&planned, 1).unwrap();
    assert_eq!(estimate.whole(&design), Some(6.0 * 75.0));
    estimate.add(0, 20.0);
    estimate.add(0, 40.0);
    assert_eq!((estimate.one(0), estimate.one(1)), (Some(45.0), Some(45.0)));
    estimate.add(1, 90.0);
    // A cell that was never run takes the mean of the means of others: 30 and 90.
    assert_eq!([0, 1, 2].map(|cell| estimate.one(cell)), [Some(45.0), Some(105.0), Some(75.0)]);
    assert_eq!(estimate.rest(design.order[..3].iter().copied()), Some(45.0 + 105.0 + 45.0));
}

/// Values with NaN as None, by cell and block.
fn known(series: &Series) -> Vec<Vec<Option<f64>>> {
    let cells = series.values.iter();
    cells.map(|values| values.iter().map(|v| Some(*v).filter(|v| !v.is_nan())).collect()).collect()
}

#[test]
fn responses_are_the_results_of_finished_runs_by_cell_and_block() {
    let study = Study::new(&format!("{PLAN}[[response]]\nresult = \"p95\"\nunit = \"ms\"\nbetter = \"lower\"\n"));
    study.run((1, "a=1", 1), 1.0, |run| with_tps(run, 10.0));
    study.run((1, "a=2", 1), 1.0, |run| {
        with_tps(run, 20.0);
        run.result("p95", 3.0, "s", "neither");
    });
    study.run((2, "a=1", 1), 1.0, |run| {
        run.failed("exit status 1");
        with_tps(run, 99.0);
    });
    study.run((2, "a=2", 1), 1.0, |_| {});
    let all = collect(&study.store, &study.plan, &study.record, None).unwrap();
    let [tps, p95] = all.series.as_slice() else { panic!("{:?}", all.series) };
    assert_eq!(known(tps), [[Some(10.0), None], [Some(20.0), None]]);
    // Unit and direction are those of the result unless the plan sets them.
    assert_eq!((tps.unit.as_str(), tps.better, tps.kind), ("/s", Better::Higher, Kind::Throughput));
    assert_eq!(
        (known(p95), p95.unit.as_str(), p95.better),
        (vec![vec![None, None], vec![Some(3.0), None]], "ms", Better::Lower)
    );
    assert_eq!(p95.kind, Kind::Latency);
    let runs: Vec<Vec<bool>> = all.runs.iter().map(|runs| runs.iter().map(Option::is_some).collect()).collect();
    assert_eq!(runs, [[true, false], [true, true]]);
}

#[test]
fn cpu_time_is_that_of_the_command_and_that_of_all_cpus() {
    let study = Study::new(PLAN);
    let busy = |run: &mut Run, cpus: &[&str]| {
        run.result("user_time", 3.0, "s", "lower");
        run.result("system_time", 0.5, "s", "lower");
        run.result("elapsed", 9.0, "s", "lower");
        let t = run.end.end;
        run.rows.row(&cpu::TABLE, t, 1.0).f64(cpu::idle, 60.0).f64(cpu::iowait, 15.0);
        for cpu in cpus {
            run.rows.row(&cpu::TABLE, t, 1.0).str(cpu::cpu, *cpu).f64(cpu::idle, 60.0);
        }
    };
    study.run((1, "a=1", 1), 10.0, |run| busy(run, &["0", "1"]));
    // How many CPUs there are is unknown.
    study.run((1, "a=2", 1), 10.0, |run| busy(run, &[]));
    let all = collect(&study.store, &study.plan, &study.record, None).unwrap();
    assert_eq!(known(&all.command_cpu), [[Some(3.5), None], [Some(3.5), None]]);
    assert_eq!(known(&all.elapsed), [[Some(9.0), None], [Some(9.0), None]]);
    // A quarter of two CPUs for 10 s.
    assert_eq!(known(&all.machine_cpu), [[Some(5.0), None], [None, None]]);
}

/// Answers with the seconds of a run, and not at all for one run.
struct Answers<'a> {
    study: &'a Study,
    not: &'a RunId,
}

impl Asks for Answers<'_> {
    fn check(&self, _: &RunQuestion) -> Result<(), String> {
        Ok(())
    }

    fn ask(&self, run: &RunId, asked: &RunQuestion, _: f64) -> Result<Answered, String> {
        if run == self.not {
            return Err(format!("`{asked}` gives no row"));
        }
        Ok(Answered { value: self.study.store.run(run).unwrap().manifest.seconds(), unit: "s".to_owned() })
    }
}

#[test]
fn questions_are_asked_about_each_run_and_what_is_not_answered_is_reported() {
    let study = Study::new(&PLAN.replace("result = \"tps\"", "name = \"long\"\nsql = \"select 1\""));
    study.run((1, "a=1", 1), 4.0, |_| {});
    let second = study.run((1, "a=2", 1), 5.0, |_| {});
    let failed = study.run((2, "a=1", 1), 6.0, |run| run.failed("exit status 1"));
    study.run((2, "a=1", 2), 7.0, |_| {});
    let answers = Answers { study: &study, not: &second };
    let all = collect(&study.store, &study.plan, &study.record, Some(&answers)).unwrap();
    assert_eq!(known(&all.series[0]), [[Some(4.0), Some(7.0)], [None, None]]);
    assert_eq!(all.unanswered, [(second.clone(), "no response `long`: `sql select 1` gives no row".to_owned())]);

    let page = report(&study.store, &study.plan, &study.record, Some(&answers)).unwrap();
    assert_eq!((page.cells, page.blocks, page.finished), (2, 2, 3));
    let cells: Vec<_> = page.responses[0].cells.iter().map(|cell| (cell.cell.as_str(), cell.n)).collect();
    assert_eq!((cells, page.responses[0].cells[0].mean), (vec![("a=1", 2), ("a=2", 0)], 5.5));
    let failures: Vec<_> = page.failures.iter().map(|f| (f.run.as_str(), f.why.as_str(), f.made_later)).collect();
    assert_eq!(
        failures,
        [
            (second.as_str(), "no response `long`: `sql select 1` gives no row", false),
            (failed.as_str(), "exit status 1", true),
        ]
    );
    // Without anybody who answers there is no number, and a reason for each run.
    let no_one = collect(&study.store, &study.plan, &study.record, None).unwrap();
    assert_eq!((known(&no_one.series[0]), no_one.unanswered.len()), (vec![vec![None, None]; 2], 3));
    let asked = crate::check(&study.plan, None);
    assert!(matches!(asked, Err(StudyError::NobodyAnswers)), "{asked:?}");
    assert!(crate::check(&study.plan, Some(&answers)).is_ok());
}

/// A plan of two allocators at eight rates, in three blocks.
const SWEEP: &str = "\
name = \"sweep\"
command = \"true\"
repeats = 3
order = \"given\"
reference = { malloc = \"libc\" }
[factors]
malloc = [\"libc\", \"other\"]
rate = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10]
[[response]]
result = \"tps\"
[[response]]
result = \"p95\"
";

#[test]
fn levels_are_compared_with_the_reference_at_each_level_and_latency_has_a_knee() {
    let study = Study::new(SWEEP);
    for block in 1..=3_u32 {
        for malloc in ["libc", "other"] {
            for rate in 1..=10_u32 {
                // A block is faster than another as a whole; the other allocator is 10 % faster at rate 2 and 50 % at rate 9.
                let faster =
                    if malloc == "other" { 1.0 + 0.05 * f64::from(rate) + 0.001 * f64::from(block) } else { 1.0 };
                let tps = f64::from(rate.min(9)) * 100.0 - if rate == 10 { 50.0 } else { 0.0 };
                let p95 = 1.0 / (1.0 - tps / 1000.0);
                study.run((block, &format!("malloc={malloc} rate={rate}"), 1), 1.0, |run| {
                    run.result("tps", tps * f64::from(block) * faster, "/s", "higher");
                    run.result("p95", p95, "ms", "lower");
                });
            }
        }
    }
    let report = report(&study.store, &study.plan, &study.record, None).unwrap();
    let against = &report.responses[0].against;
    assert_eq!(against.len(), 10);
    let at = |rate: usize| &against[rate - 1];
    assert_eq!((at(2).others.as_str(), at(2).level.as_str(), at(2).n), ("rate=2", "other", 3));
    assert!((at(2).ratio - 1.102).abs() < 1e-4 && (at(9).ratio - 1.452).abs() < 1e-4, "{against:?}");
    let [low, high] = at(2).interval.unwrap();
    assert!(low < at(2).ratio && at(2).ratio < high && high < 1.11, "{low} {high}");
    let knees = &report.responses[1].knees;
    assert_eq!(knees.len(), 2, "{knees:?}");
    assert_eq!((knees[0].others.as_str(), knees[0].level), ("malloc=libc", 7.0));
    assert_eq!(knees[0].beyond_peak, [10.0]);
    // A rate is no degree of parallelism: it has no speed-up.
    assert!(report.responses.iter().all(|response| response.curves.is_empty()));
    assert!(report.responses[0].knees.is_empty());
}
