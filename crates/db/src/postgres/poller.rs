//! Counters of a PostgreSQL server, each as often as it is worth.

use std::time::Instant;

use fenxi_model::{Rows, catalog::db};
use fenxi_wire::client::ClientError;

use super::{
    MARK, extension, having, locks, own, plans,
    readings::{DATABASES, READINGS},
    relations, resets,
    roster::Roster,
    settings::Settings,
    statements::{HIDDEN, Statements},
};
use crate::{
    client::Client,
    finding::{Finding, Seen as SeenAs, timed},
    gather::Heard,
    moment::Interval,
    number::Number,
    observer,
    plans::Plans,
    reading::{About, Active, Having, Ready},
    schedule::{Due, Turn},
    server::{Server, ServerError},
    task::Task,
};

/// Databases whose tables are read, at most: each needs its own connection.
const DATABASES_AT_MOST: usize = 10;
/// The database that is in every server.
const USUAL: &str = "postgres";
/// Seconds between two readings of statements and tables.
const SELDOM_S: u32 = 10;

/// A shorter interval at the end of a recording has no row of databases: sessions that end publish what they had not published yet,
/// which would be a burst in it.
const SHORTEST_S: f64 = 0.5;

/// Views that no [`crate::reading::Reading`] names.
const FURTHER_VIEWS: &[&str] =
    &["pg_stat_database", "pg_stat_checkpointer", "pg_locks", "pg_stat_activity", "pg_stat_replication_slots"];

/// Connects a poller.
///
/// # Errors
/// When the server cannot be reached or refuses.
pub fn poller(server: &Server) -> Result<Box<dyn observer::Poller>, ServerError> {
    let mut client = server.client()?;
    let mut wanted: Vec<_> = READINGS.iter().map(|reading| reading.view()).collect();
    wanted.extend(FURTHER_VIEWS);
    wanted.push("pg_class");
    let having = having(&mut client, &wanted)?;
    let statements = find_statements(server, &mut client)?;
    let databases = Ready::new(&DATABASES, &having);
    let readings = READINGS.iter().filter_map(|reading| reading.prepare(&having)).map(Due::new).collect();
    let mut missing = Vec::new();
    if statements.is_none() {
        let database = &server.target().login.database;
        let why = format!(
            "pg_stat_statements is not installed in database `{database}` (shared_preload_libraries, CREATE EXTENSION)"
        );
        missing.push(("statements", why));
    }
    if !having.is_on("track_io_timing") {
        missing.push(("times of reads and writes", "track_io_timing is off".to_owned()));
    }
    Ok(Box::new(Postgres {
        server: server.clone(),
        roster: Roster::new(having.has("pg_stat_activity", "query_id")),
        locks: locks::statement(&having),
        relations: Relations { of: Vec::new(), turn: Turn::every(SELDOM_S) },
        statements,
        plans: Default::default(),
        vitals: Vitals::default(),
        settings: Settings::default(),
        client,
        having,
        databases,
        readings,
        missing,
        has_noted_hidden: false,
        hurries: false,
        has_polled: false,
        has_told: false,
    }))
}

/// Where statements are counted: the extension shows those of all databases, and can be installed in any of them.
struct Seen {
    /// A connection to another database, where the extension is not in our own.
    other: Option<Client>,
    statements: Statements,
    turn: Turn,
    /// Asks how many statements were evicted.
    evicted: Option<String>,
}

/// Looks for the extension in our own database and in the one that every server has.
fn find_statements(server: &Server, client: &mut Client) -> Result<Option<Seen>, ClientError> {
    let found = |client: &mut Client| -> Result<Option<(Statements, bool)>, ClientError> {
        let Some(view) = extension(client, "pg_stat_statements")? else { return Ok(None) };
        let info = format!("{view}_info");
        let having = having(client, &[&view, &info])?;
        Ok(Statements::new(&view, &having).map(|statements| (statements, having.has(&info, "dealloc"))))
    };
    let (mut other, mut seen) = (None, found(client)?);
    if seen.is_none()
        && server.target().login.database != USUAL
        && let Ok(mut usual) = server.client_in(USUAL)
    {
        seen = found(&mut usual)?;
        other = Some(usual);
    }
    let seen = seen.map(|(statements, has_info)| {
        let evicted = has_info.then(|| format!("SELECT {MARK} dealloc FROM {}_info", statements.view()));
        Seen { other, statements, turn: Turn::every(SELDOM_S), evicted }
    });
    Ok(seen)
}

/// Tables of the server's databases.
struct Relations {
    of: Vec<(Client, Vec<Box<dyn Active>>)>,
    turn: Turn,
}

/// State of the server itself, read at each poll.
#[derive(Default)]
struct Vitals {
    started: String,
    in_recovery: Option<bool>,
    log_position: Option<Number>,
    log_grown: Option<f64>,
}

struct Postgres {
    server: Server,
    client: Client,
    having: Having,
    roster: Roster,
    databases: Option<Ready<db::Schema>>,
    readings: Vec<Due>,
    statements: Option<Seen>,
    relations: Relations,
    locks: String,
    plans: (Plans, plans::Texts),
    vitals: Vitals,
    settings: Settings,
    /// Data that cannot be seen and why, to be noted once.
    missing: Vec<(&'static str, String)>,
    has_noted_hidden: bool,
    hurries: bool,
    has_polled: bool,
    /// Whether the server has had a row.
    has_told: bool,
}

/// Lets a reading that the server refuses be a note; what else goes wrong ends the connection.
fn noted(outcome: Result<(), ClientError>, what: &str, server: &str, rows: &mut Rows) -> Result<bool, ClientError> {
    match outcome {
        Ok(()) => Ok(true),
        Err(error) if error.is_refusal() => {
            rows.note(server, None, &format!("{what} cannot be read: {error}"));
            Ok(false)
        }
        Err(error) => Err(error),
    }
}

impl observer::Poller for Postgres {
    fn poll(&mut self, interval: Interval, heard: &Heard, rows: &mut Rows) -> Result<(), ClientError> {
        let server = self.server.name().to_owned();
        let about = About { server: &server, interval, is_last: self.hurries };
        for (what, why) in self.missing.drain(..) {
            rows.note(&server, None, &format!("{what} are not seen: {why}"));
        }
        self.read_vitals(&about, rows)?;
        self.roster.read(&mut self.client)?;
        // The server's row has how many statements were evicted.
        self.read_statements(&about, rows)?;
        self.read_server(&about, heard, rows)?;
        let kinds = &self.roster.kinds;
        let is_there = |due: &&mut Due| due.only_with().is_none_or(|kind| kinds.contains(kind));
        for due in self.readings.iter_mut().filter(is_there) {
            due.read(&mut self.client, &about, rows)?;
        }
        if heard.locked > 0 {
            let statements = self.statements.as_ref().map(|seen| &seen.statements);
            let read = locks::read(&mut self.client, &self.locks, &about, &self.roster, statements, rows);
            noted(read, "locks", &server, rows)?;
        }
        self.look_at_plans(&about, heard, rows)?;
        self.read_relations(&about, rows)?;
        if self.hurries || !self.has_polled {
            let read = self.settings.read(&mut self.client, &server, interval.t, rows);
            noted(read, "settings", &server, rows)?;
        }
        self.has_polled = true;
        Ok(())
    }

    fn was_reset(&mut self, what: &str) {
        if let Some((number, name)) = resets::database(what) {
            self.databases.iter_mut().for_each(|databases| databases.forget_row(number));
            // Counters of its tables began anew with its own.
            let of = self.relations.of.iter_mut().filter(|(client, _)| client.database() == name);
            of.flat_map(|(_, readings)| readings).for_each(|reading| reading.forget());
        } else if what == resets::STATEMENTS {
            self.statements.iter_mut().for_each(|seen| seen.statements.began_anew());
        } else if let Some(reading) = resets::reading(what) {
            self.readings.iter_mut().filter(|due| due.name() == reading).for_each(Due::forget);
        }
    }

    fn tasks(&self) -> &[Task] {
        &self.roster.tasks
    }

    fn hurry(&mut self) {
        self.hurries = true;
    }

    fn version(&self) -> String {
        format!("PostgreSQL {}", self.client.about().version)
    }

    fn check(&mut self, about: &About<'_>, heard: &Heard, rows: &mut Rows) -> Result<Vec<Finding>, ClientError> {
        let mut all = vec![
            timed("roster of sessions", 1.0, || self.roster.read(&mut self.client))?,
            timed("databases", 1.0, || self.read_server(about, heard, rows))?,
        ];
        for due in &mut self.readings {
            all.push(due.check(&mut self.client, about, rows)?);
        }
        all.push(timed("locks", 1.0, || locks::read(&mut self.client, &self.locks, about, &self.roster, None, rows))?);
        let mut statements = timed("statements", f64::from(SELDOM_S), || self.read_statements(about, rows))?;
        let relations = timed("tables, indexes", f64::from(SELDOM_S), || self.read_relations(about, rows))?;
        let settings =
            timed("settings", 0.0, || self.settings.read(&mut self.client, about.server, about.interval.t, rows))?;
        match self.statements.as_ref().map(|seen| seen.statements.hidden) {
            None => statements.seen = SeenAs::Missing,
            Some(0) => {}
            Some(hidden) => {
                statements.seen = SeenAs::Partly;
                statements.why = Some(format!("{hidden} statements of others are hidden: {HIDDEN}"));
            }
        }
        all.extend([statements, relations, settings]);
        all.extend(self.missing.iter().map(|(what, why)| Finding::missing(what, why)));
        Ok(all)
    }
}

impl Postgres {
    /// When the server began, whether it is a standby, and how far its log is.
    fn read_vitals(&mut self, about: &About<'_>, rows: &mut Rows) -> Result<(), ClientError> {
        let sql = format!(
            "SELECT {MARK} pg_postmaster_start_time(), pg_is_in_recovery(), \
             CASE WHEN pg_is_in_recovery() THEN pg_last_wal_replay_lsn() ELSE pg_current_wal_insert_lsn() END - '0/0'"
        );
        let mut vitals = Vitals::default();
        self.client.each_again(&sql, &mut |row| {
            row.text(0).unwrap_or_default().clone_into(&mut vitals.started);
            vitals.in_recovery = row.is_yes(1);
            vitals.log_position = row.text(2).and_then(Number::read);
        })?;
        own::publish(&mut self.client)?;
        let last = &self.vitals;
        vitals.log_grown = vitals.log_position.zip(last.log_position).and_then(|(now, last)| now.since(last));
        if last.in_recovery.is_some() && last.in_recovery != vitals.in_recovery {
            let role = if vitals.in_recovery == Some(true) { "a standby" } else { "a primary" };
            rows.event(about.interval.t, "role changed", about.server, &format!("the server is now {role}"));
        }
        if !last.started.is_empty() && last.started != vitals.started {
            rows.event(about.interval.t, "restart", about.server, "the server was started again");
            self.forget();
        }
        self.vitals = vitals;
        Ok(())
    }

    fn forget(&mut self) {
        self.databases.iter_mut().for_each(Active::forget);
        self.readings.iter_mut().for_each(Due::forget);
        self.statements.iter_mut().for_each(|seen| seen.statements.forget());
        self.relations.of.iter_mut().flat_map(|(_, readings)| readings).for_each(|reading| reading.forget());
    }

    /// Databases, and the row of all of them with what samples and the roster say.
    fn read_server(&mut self, about: &About<'_>, heard: &Heard, rows: &mut Rows) -> Result<(), ClientError> {
        // Counts that sessions had not published yet are published when they end: a burst in so short an interval.
        let is_short = about.is_last && self.has_told && about.interval.dt.is_some_and(|dt| dt < SHORTEST_S);
        // Statements are read at the end: how many were evicted is in no other place.
        let has_lost = self.statements.as_ref().is_some_and(|seen| seen.statements.lost.is_some_and(|lost| lost > 0.0));
        if is_short && !has_lost {
            return Ok(());
        }
        if let Some(databases) = self.databases.as_mut().filter(|_| !is_short) {
            let mut ledger = self.server.ledger();
            databases
                .leave_out(self.server.own_amounts(|| ledger.amounts()), heard.is_quiet() && self.roster.active == 0);
            databases.read(&mut self.client, about, rows)?;
        }
        if heard.hidden > 0 && !std::mem::replace(&mut self.has_noted_hidden, true) {
            let user = &self.server.target().login.user;
            let why =
                format!("{} sessions of others are not seen: GRANT pg_monitor TO {user} shows them", heard.hidden);
            rows.note(about.server, None, &why);
        }
        let round_trip = self.client.ping()?;
        let Some(dt) = about.interval.dt.filter(|dt| *dt > 0.0) else { return Ok(()) };
        self.has_told = true;
        let mut row = rows.row(&db::TABLE, about.interval.t, dt);
        row.str(db::server, about.server)
            .f64(db::sessions, f64::from(self.roster.sessions))
            .f64(db::active_sessions, f64::from(self.roster.active))
            .f64(db::idle_in_transaction_sessions, f64::from(self.roster.idle_in_transaction))
            .f64(db::waiting_sessions, f64::from(self.roster.waiting))
            .f64(db::samples, Some(f64::from(heard.samples)).filter(|_| !self.server.is_saved()))
            .f64(db::active_sampled, heard.mean(heard.active))
            .f64(db::round_trip_ms, round_trip.map(|took| 1e3 * took.as_secs_f64()))
            .f64(db::oldest_transaction_s, heard.oldest_transaction_s)
            .f64(db::oldest_statement_s, heard.oldest_statement_s)
            .f64(db::oldest_xmin_transactions, self.roster.oldest_xmin)
            .f64(db::log_bytes_per_s, self.vitals.log_grown.map(|bytes| bytes / dt));
        if let Some(databases) = self.databases.as_ref().filter(|_| !is_short) {
            databases.fill_totals(&mut row);
        }
        if let Some(seen) = &mut self.statements {
            row.f64(db::statements_lost, seen.statements.lost.take());
        }
        Ok(())
    }

    fn read_statements(&mut self, about: &About<'_>, rows: &mut Rows) -> Result<(), ClientError> {
        let Some(Seen { other, statements, turn, evicted }) = &mut self.statements else { return Ok(()) };
        let Some(interval) = turn.take(about) else { return Ok(()) };
        let about = About { interval, ..*about };
        let client = other.as_mut().unwrap_or(&mut self.client);
        let began = Instant::now();
        let read =
            statements.read(client, &about, rows).and_then(|()| statements.count_lost(client, evicted.as_deref()));
        other.as_mut().map_or(Ok(()), own::publish)?;
        turn.took(began);
        if !noted(read, "statements", about.server, rows)? {
            self.statements = None;
        }
        Ok(())
    }

    /// Plans of the statements whose time moved.
    fn look_at_plans(&mut self, about: &About<'_>, heard: &Heard, rows: &mut Rows) -> Result<(), ClientError> {
        let (plans, texts) = &mut self.plans;
        if let Some(heavy) = self.statements.as_mut().and_then(|seen| seen.statements.heavy.take()) {
            self.server.observed().read(heavy);
        } else if self.statements.is_some() {
            return Ok(());
        }
        let mut wanted = plans.wanted(&self.server, about, heard);
        if wanted.is_empty() {
            return Ok(());
        }
        if self.having.has("pg_stat_activity", "query_id") {
            plans::find_examples(&mut self.client, &self.server, &mut wanted)?;
        }
        if let Some(Seen { other, statements, .. }) = &mut self.statements {
            texts.learn(other.as_mut().unwrap_or(&mut self.client), statements.view(), &wanted)?;
        }
        plans::look(&self.server, &wanted, texts, plans, (about, rows));
        Ok(())
    }

    fn read_relations(&mut self, about: &About<'_>, rows: &mut Rows) -> Result<(), ClientError> {
        let Some(interval) = self.relations.turn.take(about) else { return Ok(()) };
        let about = About { interval, ..*about };
        if self.relations.of.is_empty() {
            self.connect_databases(about.server, rows)?;
        }
        let began = Instant::now();
        self.relations.of.retain_mut(|(client, readings)| {
            let mut keep = true;
            for reading in readings.iter_mut() {
                match noted(reading.read(client, &about, rows), reading.name(), about.server, rows) {
                    Ok(_) => {}
                    Err(error) => {
                        rows.note(about.server, None, &format!("{} are no longer read: {error}", reading.name()));
                        keep = false;
                    }
                }
            }
            keep && own::publish(client).is_ok()
        });
        self.relations.turn.took(began);
        Ok(())
    }

    /// A connection to each database: tables are seen from within only.
    fn connect_databases(&mut self, server: &str, rows: &mut Rows) -> Result<(), ClientError> {
        let mut names = Vec::new();
        let sql = format!(
            "SELECT {MARK} datname FROM pg_database WHERE datallowconn AND NOT datistemplate \
             AND has_database_privilege(datname, 'CONNECT') ORDER BY datname = current_database() DESC, datname"
        );
        self.client.each(&sql, &mut |row| names.extend(row.text(0).map(str::to_owned)))?;
        if names.len() > DATABASES_AT_MOST {
            let left = names.len() - DATABASES_AT_MOST;
            rows.note(server, None, &format!("tables of {left} more databases are not read: each needs a connection"));
            names.truncate(DATABASES_AT_MOST);
        }
        for name in names {
            match self.server.client_in(&name) {
                Ok(client) => {
                    let readings = relations::READINGS.iter().filter_map(|reading| reading.prepare(&self.having));
                    self.relations.of.push((client, readings.collect()));
                }
                Err(error) => rows.note(server, None, &format!("tables of database `{name}` are not read: {error}")),
            }
        }
        Ok(())
    }
}
