//! Stores of hand-written rows for tests.

use fenxi_model::{Micros, Rows, RunId, TABLES, Type};
use fenxi_query::{Engine, Options, Scope};
use fenxi_store::{Begin, End, Store};

/// 2026-11-21 14:00:00 UTC.
pub const START: Micros = Micros(1_795_269_600_000_000);

/// `seconds` after [`START`].
pub fn at(seconds: f64) -> Micros {
    Micros(START.0 + (seconds * 1e6) as i64)
}

/// A store in a temporary folder, with an engine when asked.
pub struct TestStore {
    /// The store.
    pub store: Store,
    /// Where it lies.
    pub folder: tempfile::TempDir,
    /// How many runs it has.
    pub n: u64,
}

impl Default for TestStore {
    fn default() -> TestStore {
        TestStore::new()
    }
}

impl TestStore {
    /// An empty one.
    pub fn new() -> TestStore {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open_or_create(folder.path().join("store")).unwrap();
        TestStore { store, folder, n: 0 }
    }

    /// Adds a run of `seconds` with the rows that `fill` makes.
    pub fn run(&mut self, name: &str, seconds: f64, fill: impl FnOnce(&mut Rows)) -> RunId {
        self.run_with(name, fill, End { exit_status: Some(0), ticks: seconds as u64, ..End::at(at(seconds)) })
    }

    /// Adds a run that ends as `end` says.
    pub fn run_with(&mut self, name: &str, fill: impl FnOnce(&mut Rows), end: End) -> RunId {
        self.n += 1;
        let begin = Begin {
            name: Some(name.to_owned()),
            command: vec!["sleep".to_owned(), "10".to_owned()],
            params: [("threads".to_owned(), "8".to_owned())].into(),
            tags: [("build".to_owned(), name.to_owned())].into(),
            interval_s: Some(1.0),
            random: self.n * 7919,
            sources: vec!["cpu".to_owned()],
            ..Begin::new("record", "h1", START)
        };
        let mut open = self.store.begin(begin).unwrap();
        let mut rows = Rows::new("h1");
        fill(&mut rows);
        open.append(&mut rows).unwrap();
        open.seal(end).unwrap()
    }

    /// SQL over it.
    pub fn engine(&self) -> Engine {
        Engine::open(&self.store, &Options { threads: Some(2), ..Options::default() }).unwrap()
    }

    /// All cells of an answer as text, NULL as `-`, numbers with at most 6 decimals.
    pub fn ask(&self, question: &str) -> Vec<Vec<String>> {
        cells(&self.engine().ask(question, &[], &Scope::all()).unwrap())
    }
}

/// All cells of an answer as text, without `run` and `host`.
pub fn cells(answer: &fenxi_query::Answer) -> Vec<Vec<String>> {
    let columns: Vec<Vec<String>> = answer
        .columns
        .iter()
        .filter(|c| c.name != "run" && c.name != "host")
        .map(|c| {
            if c.ty.is_floating() {
                let short = |v: f64| format!("{v:.6}").trim_end_matches('0').trim_end_matches('.').to_owned();
                answer.f64s(&c.name).into_iter().map(|v| v.map_or("-".to_owned(), short)).collect()
            } else {
                answer.strings(&c.name).into_iter().map(|v| v.unwrap_or("-".to_owned())).collect()
            }
        })
        .collect();
    (0..answer.n_rows()).map(|row| columns.iter().map(|c| c[row].clone()).collect()).collect()
}

/// Fills two moments of every table of the catalogue, every column set.
pub fn fill_everything(rows: &mut Rows) {
    for table in TABLES {
        for second in [1.0, 2.0] {
            for label in ["a", "b"] {
                let mut row = rows.row(table, at(second), 1.0);
                for (place, column) in table.columns.iter().enumerate().skip(3) {
                    match column.ty {
                        Type::F64 => row.f64(place, 10.0 * second),
                        Type::I64 => row.i64(place, 7),
                        Type::Label => row.str(place, label),
                        Type::Text => row.text(place, "some words"),
                        Type::Time => row.time(place, at(second)),
                    };
                }
            }
        }
    }
}
