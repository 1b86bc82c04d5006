//! Observes servers as the recorder does, with a clock of the test's own, and reads what came.

use std::{
    thread,
    time::{Duration, Instant},
};

use fenxi_db::{Databases, Rate, Server};
use fenxi_model::{
    Micros, Place, Rows, Table,
    catalog::{db_wait, event, note},
    place,
};
use fenxi_source::{Collector, Root, SourceError, Tick};
use fenxi_wire::target::{Surroundings, Target};

/// An observation that goes on.
pub struct Observation {
    collector: Box<dyn Collector>,
    rows: Rows,
    begun: Instant,
}

/// Begins to observe a server, so many times a second.
pub fn begin(url: &str, samples_per_s: u32) -> Result<Observation, SourceError> {
    let target = Target::parse(url, &Surroundings::default()).unwrap();
    let source = Databases::source(vec![Server::new(&target)], Rate { samples_per_s, poll_s: 1.0 });
    let mut observation =
        Observation { collector: source.start(&Root::live())?, rows: Rows::new("here"), begun: Instant::now() };
    observation.tick(Tick::new(Micros(0), None));
    Ok(observation)
}

impl Observation {
    fn tick(&mut self, tick: Tick) {
        self.collector.sample(tick, &mut self.rows).unwrap();
    }

    /// Goes on for some time.
    pub fn go_on(&mut self, seconds: f64) {
        thread::sleep(Duration::from_secs_f64(seconds));
        let t = Micros(self.begun.elapsed().as_micros() as i64);
        self.tick(Tick::new(t, Some(seconds)));
    }

    /// The rows so far.
    pub fn rows(&self) -> &Rows {
        &self.rows
    }

    /// Takes the last readings.
    pub fn end(mut self) -> Rows {
        let t = Micros(self.begun.elapsed().as_micros() as i64);
        self.tick(Tick { is_last: true, ..Tick::new(t, Some(1.0)) });
        self.rows
    }
}

/// The places of rows of a table for which `is` holds.
pub fn places<S>(rows: &Rows, table: &Table<S>, is: impl Fn(usize) -> bool) -> Vec<usize> {
    (0..rows.of(table).map_or(0, |found| found.n_rows())).filter(|row| is(*row)).collect()
}

/// The sum of a rate over time: how much there was in all.
pub fn amount<S>(
    rows: &Rows,
    table: &'static Table<S>,
    (dt, rate): (Place<S, place::F64>, Place<S, place::F64>),
    is: impl Fn(usize) -> bool,
) -> f64 {
    let Some(found) = rows.of(table) else { return 0.0 };
    let all = places(rows, table, is);
    all.into_iter().filter_map(|row| Some(found.f64(row, rate)? * found.f64(row, dt)?)).sum()
}

/// Time in an activity of clients, in session seconds, as it was measured.
pub fn time_in(rows: &Rows, activity: &str, measured: &str) -> f64 {
    let Some(waits) = rows.of(&db_wait::TABLE) else { return 0.0 };
    amount(rows, &db_wait::TABLE, (db_wait::dt, db_wait::time), |row| {
        waits.str(row, db_wait::activity) == Some(activity)
            && waits.str(row, db_wait::measured) == Some(measured)
            && waits.str(row, db_wait::kind) == Some("client")
    })
}

/// All notes.
pub fn notes(rows: &Rows) -> Vec<String> {
    let Some(found) = rows.of(&note::TABLE) else { return Vec::new() };
    (0..found.n_rows()).filter_map(|row| found.str(row, note::message).map(str::to_owned)).collect()
}

/// Kinds of all events.
pub fn events(rows: &Rows) -> Vec<String> {
    let Some(found) = rows.of(&event::TABLE) else { return Vec::new() };
    (0..found.n_rows()).filter_map(|row| found.str(row, event::kind).map(str::to_owned)).collect()
}

/// All texts of all rows: what is kept of a server.
pub fn texts(rows: &Rows) -> String {
    let mut all = String::new();
    for table in rows.tables() {
        for row in 0..table.n_rows() {
            for column in 0..table.table().columns.len() {
                if let Some(text) = table.str(row, column) {
                    all.push_str(text);
                    all.push('\n');
                }
            }
        }
    }
    all
}
