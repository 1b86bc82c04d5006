//! Stores of made-up runs.

use fenxi_model::{
    Micros, Rows, RunId,
    catalog::{cpu, load, result, text},
};
use fenxi_query::{Engine, Options};
use fenxi_store::{Begin, End, RunEntry, Store, Window};

/// 2026-11-21 14:00:00 UTC: the first run begins an hour later, each other an hour after the one before.
pub const START: i64 = 1_795_269_600_000_000;

/// A store and its runs in the order in which they were made.
pub struct Runs {
    /// The store.
    pub store: Store,
    /// The runs.
    pub ids: Vec<RunId>,
    _folder: tempfile::TempDir,
}

/// A run to be.
pub struct Made {
    /// How it begins.
    pub begin: Begin,
    /// How it ends.
    pub end: End,
    /// The recorded rows.
    pub rows: Rows,
}

impl Made {
    /// The moment `seconds` after the begin.
    pub fn at(&self, seconds: f64) -> Micros {
        Micros(self.begin.start.0 + (seconds * 1e6) as i64)
    }

    /// A tag.
    pub fn tag(&mut self, key: &str, value: &str) {
        self.begin.tags.insert(key.to_owned(), value.to_owned());
    }

    /// A parameter.
    pub fn param(&mut self, key: &str, value: &str) {
        self.begin.params.insert(key.to_owned(), value.to_owned());
    }

    /// A window of so many seconds from and to.
    pub fn window(&mut self, name: &str, from: f64, to: f64) {
        let (start, end) = (self.at(from), self.at(to));
        self.end.windows.push(Window { name: name.to_owned(), start, end });
    }

    /// A result; `better` is `higher`, `lower` or `neither`.
    pub fn result(&mut self, name: &str, value: f64, unit: &str, better: &str) {
        let mut row = self.rows.row(&result::TABLE, None, None);
        row.str(result::name, name).f64(result::value, value).str(result::unit, unit).str(result::better, better);
    }

    /// Shares of all CPUs together in each second.
    pub fn cpu(&mut self, usr: f64, steal: f64, from: usize, to: usize) {
        for second in from..to {
            let t = self.at(second as f64 + 1.0);
            let mut row = self.rows.row(&cpu::TABLE, t, 1.0);
            row.f64(cpu::usr, usr).f64(cpu::steal, steal).f64(cpu::idle, 100.0 - usr - steal);
        }
    }

    /// `usr` of all CPUs together at the end of each second.
    pub fn usr(&mut self, values: &[f64]) {
        for (i, value) in values.iter().enumerate() {
            let t = self.at(i as f64 + 1.0);
            self.rows.row(&cpu::TABLE, t, 1.0).f64(cpu::usr, *value);
        }
    }

    /// A fact.
    pub fn fact(&mut self, topic: &str, name: &str, value: &str) {
        self.rows.row(&text::TABLE, None, None).str(text::topic, topic).str(text::name, name).text(text::value, value);
    }

    /// Adds a generator's transactions per second, one rate for each second.
    pub fn load(&mut self, generator: &str, rates: impl IntoIterator<Item = f64>) {
        for (second, rate) in rates.into_iter().enumerate() {
            let t = self.at(second as f64 + 1.0);
            let mut row = self.rows.row(&load::TABLE, t, 1.0);
            row.str(load::generator, generator).f64(load::transactions_per_s, rate);
        }
    }
}

impl Default for Runs {
    fn default() -> Runs {
        Runs::new()
    }
}

impl Runs {
    /// An empty store.
    pub fn new() -> Runs {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open_or_create(folder.path().join("store")).unwrap();
        Runs { store, ids: Vec::new(), _folder: folder }
    }

    /// Adds a run of `seconds` as `fill` makes it.
    pub fn add(&mut self, name: &str, seconds: f64, fill: impl FnOnce(&mut Made)) -> &mut Runs {
        let n = self.ids.len() as u64 + 1;
        let begin = Begin {
            name: Some(name.to_owned()),
            interval_s: Some(1.0),
            random: n * 7919,
            ..Begin::new("record", "h1", Micros(START + n as i64 * 3_600_000_000))
        };
        let end = End::at(Micros(begin.start.0 + (seconds * 1e6) as i64));
        let mut made = Made { begin, end, rows: Rows::new("h1") };
        fill(&mut made);
        let mut open = self.store.begin(made.begin).unwrap();
        open.append(&mut made.rows).unwrap();
        self.ids.push(open.seal(made.end).unwrap());
        self
    }

    /// The store's entry of a run, by its place among those made.
    pub fn entry(&self, run: usize) -> RunEntry {
        self.store.run(&self.ids[run]).unwrap()
    }

    /// SQL over the store.
    pub fn engine(&self) -> Engine {
        Engine::open(&self.store, &Options { threads: Some(1), ..Options::default() }).unwrap()
    }
}
