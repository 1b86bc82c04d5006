//! The console of pgbouncer: how many clients its pools serve, and how many wait for a connection to the server.
//!
//! It speaks PostgreSQL's protocol and has its own commands: no SQL, no comments, no prepared statements.

use fenxi_model::{
    Micros, Place, Row, Rows, SECRET,
    catalog::{db_pool, db_setting},
    is_secret_name,
    place::F64,
    text_without_secrets,
};
use fenxi_wire::client::ClientError;
use rustc_hash::FxHashMap;

use crate::{
    client::Client,
    finding::{Finding, timed},
    gather::Heard,
    moment::Interval,
    number::Number,
    observer,
    reading::About,
    sample::Sample,
    server::{CONSOLE, Server, ServerError},
    task::Task,
};

/// How its version ends, where a server has its system.
const VERSION: &str = "/bouncer";

/// A connection to the console of a pooler; None when the target is none.
///
/// # Errors
/// When what should be one cannot be reached or refuses.
pub fn console(server: &Server) -> Result<Option<Client>, ServerError> {
    if !server.may_be_console() {
        return Ok(None);
    }
    let client = server.unsettled(server.target())?;
    Ok(client.about().version.ends_with(VERSION).then_some(client))
}

/// Sampler of a pooler, which samples nothing: a pooler shows clients, and not their waits in the server.
pub struct NoSampler;

impl observer::Sampler for NoSampler {
    fn sample(&mut self, _: &mut Sample) -> Result<(), ClientError> {
        Ok(())
    }

    fn looks(&self) -> bool {
        false
    }
}

/// Reads pools through a console.
pub fn poller(server: &Server, client: Client) -> Box<dyn observer::Poller> {
    Box::new(Pooler {
        server: server.name().to_owned(),
        client,
        last: FxHashMap::default(),
        settings: FxHashMap::default(),
        hurries: false,
    })
}

struct Pooler {
    server: String,
    client: Client,
    /// Counters of each database as they were last read, in the order of [`COUNTERS`].
    last: FxHashMap<String, Vec<Option<Number>>>,
    /// Settings as they were last read.
    settings: FxHashMap<String, String>,
    hurries: bool,
}

/// Counters of a database by the pooler's names for them. Times are microseconds.
const COUNTERS: &[(&str, Place<db_pool::Schema, F64>, f64)] = &[
    ("total_xact_count", db_pool::transactions_per_s, 1.0),
    ("total_query_count", db_pool::statements_per_s, 1.0),
    ("total_xact_time", db_pool::transaction_time, 1e-6),
    ("total_query_time", db_pool::statement_time, 1e-6),
    ("total_wait_time", db_pool::wait_time, 1e-6),
    ("total_received", db_pool::received_bytes_per_s, 1.0),
    ("total_sent", db_pool::sent_bytes_per_s, 1.0),
];

/// Gauges of a pool: its values at a moment.
const GAUGES: &[(&str, Place<db_pool::Schema, F64>)] = &[
    ("cl_active", db_pool::clients_active),
    ("cl_waiting", db_pool::clients_waiting),
    ("sv_active", db_pool::servers_active),
    ("sv_idle", db_pool::servers_idle),
];

/// An answer of the console, by the names of its columns.
struct Answer {
    columns: Vec<String>,
    rows: Vec<Vec<Option<String>>>,
}

impl Answer {
    fn to(client: &mut Client, words: &str) -> Result<Answer, ClientError> {
        let rows = client.rows(words)?;
        Ok(Answer { columns: client.columns().to_vec(), rows })
    }

    /// The values of rows of clients' databases.
    fn rows(&self) -> impl Iterator<Item = Values<'_>> {
        let rows = self.rows.iter().map(|row| Values { columns: &self.columns, row });
        rows.filter(|values| values.get("database").or_else(|| values.get("name")) != Some(CONSOLE))
    }
}

/// A row of an answer.
struct Values<'a> {
    columns: &'a [String],
    row: &'a [Option<String>],
}

impl<'a> Values<'a> {
    fn get(&self, name: &str) -> Option<&'a str> {
        let place = self.columns.iter().position(|column| column == name)?;
        self.row.get(place)?.as_deref()
    }

    fn number(&self, name: &str) -> Option<Number> {
        self.get(name).and_then(Number::read)
    }

    fn f64(&self, name: &str) -> Option<f64> {
        self.number(name).map(Number::as_f64)
    }
}

impl Pooler {
    /// A row for each pool: a database and a user.
    fn read_pools(&mut self, t: Micros, dt: f64, rows: &mut Rows) -> Result<(), ClientError> {
        let databases = Answer::to(&mut self.client, "SHOW DATABASES")?;
        let limits: FxHashMap<_, _> = databases.rows().map(|of| (of.get("name"), of.f64("pool_size"))).collect();
        let pools = Answer::to(&mut self.client, "SHOW POOLS")?;
        for pool in pools.rows() {
            let database = pool.get("database");
            let mut row = self.row(database, t, dt, rows);
            row.str(db_pool::user, pool.get("user")).str(db_pool::mode, pool.get("pool_mode"));
            for (name, place) in GAUGES {
                row.f64(*place, pool.f64(name));
            }
            let waited = pool.f64("maxwait").map(|seconds| seconds + pool.f64("maxwait_us").unwrap_or(0.0) / 1e6);
            row.f64(db_pool::first_wait_s, waited).f64(db_pool::size_limit, limits.get(&database).copied().flatten());
        }
        Ok(())
    }

    /// A row for each database: what is counted by database only.
    fn read_counters(&mut self, interval: Interval, rows: &mut Rows) -> Result<(), ClientError> {
        let answer = Answer::to(&mut self.client, "SHOW STATS")?;
        for values in answer.rows() {
            let Some(database) = values.get("database") else { continue };
            let now: Vec<_> = COUNTERS.iter().map(|(name, ..)| values.number(name)).collect();
            let last = self.last.insert(database.to_owned(), now.clone());
            let (Some(last), Some(dt)) = (last, interval.dt.filter(|dt| *dt > 0.0)) else { continue };
            let grown: Vec<_> = now.iter().zip(&last).map(|(now, last)| Some(now.as_ref()?.since((*last)?))).collect();
            if grown.contains(&Some(None)) {
                rows.event(interval.t, "counter reset", &self.server, &format!("counters of {database} went back"));
                continue;
            }
            let mut row = self.row(Some(database), interval.t, dt, rows);
            for ((_, place, factor), grown) in COUNTERS.iter().zip(grown) {
                row.f64(*place, grown.flatten().map(|grown| grown * factor / dt));
            }
        }
        Ok(())
    }

    fn row<'a>(&self, database: Option<&str>, t: Micros, dt: f64, rows: &'a mut Rows) -> Row<'a, db_pool::Schema> {
        let mut row = rows.row(&db_pool::TABLE, t, dt);
        row.str(db_pool::server, self.server.as_str()).str(db_pool::database, database);
        row
    }

    fn read_settings(&mut self, t: Micros, rows: &mut Rows) -> Result<(), ClientError> {
        let version = observer::Poller::version(self);
        let answer = Answer::to(&mut self.client, "SHOW CONFIG")?;
        let own =
            [("vendor", "pgbouncer"), ("version", version.as_str())].map(|(name, value)| (name, value, None, true));
        let told = answer.rows().filter_map(|of| Some((of.get("key")?, of.get("value")?, of.get("default"), false)));
        for (name, value, built_in, is_server) in own.into_iter().chain(told) {
            let without = |value: &str| match is_secret_name(name) && !value.is_empty() {
                true => SECRET.to_owned(),
                false => text_without_secrets(value).into_owned(),
            };
            let value = without(value);
            if self.settings.get(name) == Some(&value) {
                continue;
            }
            rows.row(&db_setting::TABLE, t, None)
                .str(db_setting::server, self.server.as_str())
                .str(db_setting::name, name)
                .text(db_setting::value, value.as_str())
                .text(db_setting::built_in, built_in.map(without).as_deref())
                .str(db_setting::origin, is_server.then_some("server"));
            self.settings.insert(name.to_owned(), value);
        }
        Ok(())
    }
}

impl observer::Poller for Pooler {
    fn poll(&mut self, interval: Interval, _: &Heard, rows: &mut Rows) -> Result<(), ClientError> {
        if self.hurries || self.settings.is_empty() {
            self.read_settings(interval.t, rows)?;
        }
        if let Some(dt) = interval.dt.filter(|dt| *dt > 0.0) {
            self.read_pools(interval.t, dt, rows)?;
        }
        self.read_counters(interval, rows)
    }

    fn tasks(&self) -> &[Task] {
        &[]
    }

    fn hurry(&mut self) {
        self.hurries = true;
    }

    fn version(&self) -> String {
        let version = &self.client.about().version;
        format!("pgbouncer {}", version.strip_suffix(VERSION).unwrap_or(version))
    }

    fn check(&mut self, about: &About<'_>, _: &Heard, rows: &mut Rows) -> Result<Vec<Finding>, ClientError> {
        let t = about.interval.t;
        Ok(vec![
            timed("pools", 1.0, || self.read_pools(t, 1.0, rows))?,
            timed("counters of databases", 1.0, || self.read_counters(about.interval, rows))?,
            timed("settings", 0.0, || self.read_settings(t, rows))?,
        ])
    }
}
