//! Counters of a MySQL or MariaDB server, each as often as it is worth.

use std::time::Duration;

use fenxi_model::{
    Rows, SECRET,
    catalog::{db, db_setting},
    is_secret_name, text_without_secrets,
};
use fenxi_wire::client::ClientError;
use rustc_hash::FxHashMap;

use super::{
    MARK, having,
    locks::{self, Locks},
    memory::Who,
    metadata,
    own::{self, Own},
    plans,
    readings::READINGS,
    replication::Replication,
    rights::sees_others,
    sessions::{hides_text, threads_are_seen},
    statements,
    status::Status,
    vitals,
};
use crate::{
    client::Client,
    finding::{Finding, timed},
    gather::Heard,
    mark::is_marked,
    moment::Interval,
    observer, own_amounts,
    plans::Plans,
    reading::About,
    schedule::{Due, Turn},
    server::{Server, ServerError},
    task::{Task, Whose},
};

/// Connects a poller.
///
/// # Errors
/// When the server cannot be reached or refuses.
pub fn poller(server: &Server) -> Result<Box<dyn observer::Poller>, ServerError> {
    let mut client = server.client()?;
    let wanted: Vec<_> = READINGS
        .iter()
        .map(|reading| reading.view())
        .chain(locks::VIEWS.iter().copied())
        .chain([statements::VIEW])
        .collect();
    let having = having(&mut client, &wanted)?;
    let by_threads = threads_are_seen(&mut client)?;
    let mut missing = Vec::new();
    if !having.is_on("performance_schema") {
        missing.push(("statements, tables and files", "performance_schema is OFF (it is set at the server's start)"));
    } else if !by_threads {
        missing.push(("tables of the performance schema", "GRANT SELECT ON performance_schema.* helps"));
    } else if !metadata::is_on(&mut client)? {
        missing.push((
            "holders of metadata locks",
            "the instrument `wait/lock/metadata/sql/mdl` is off (performance-schema-instrument='wait/lock/metadata/sql/mdl=ON')",
        ));
    }
    if !sees_others(&mut client)? {
        // The performance schema shows sessions to all users who may read it; transactions are InnoDB's.
        let what = if by_threads { "transactions and row locks" } else { "sessions of other users, and row locks" };
        missing.push((what, "GRANT PROCESS ON *.* helps"));
    }
    let pooled = is_pooled(&mut client)?;
    if pooled {
        missing.push(("threads of sessions", "thread_handling is pool-of-threads, where a session has no thread"));
    }
    let readings = READINGS.iter().filter_map(|reading| reading.prepare(&having));
    let readings = statements::Statements::of(&having, server).into_iter().chain(readings).map(Due::new).collect();
    Ok(Box::new(Mysql {
        server: server.clone(),
        locks: Locks::new(&having),
        own: Own::of(Who::Poller),
        own_amounts: own_amounts::Own::default(),
        client,
        by_threads,
        pooled,
        status: Status::default(),
        readings,
        replication: Replication::default(),
        roster: Roster::default(),
        plans: Plans::default(),
        replicas: Turn::every(1),
        settings: FxHashMap::default(),
        missing,
        executed: None,
        hurries: false,
        has_polled: false,
    }))
}

/// Leaves secrets out of a row of all settings.
pub fn hide_setting(values: &mut [Option<String>]) {
    if let [Some(name), Some(value)] = values {
        *value = without_secrets(name, value);
    }
}

/// The value of a setting without secrets.
fn without_secrets(name: &str, value: &str) -> String {
    let is_secret = is_secret_name(name) || SECRETS.iter().any(|word| name.contains(word));
    if is_secret && !value.is_empty() { SECRET.to_owned() } else { text_without_secrets(value).into_owned() }
}

/// Words in names of settings whose values may hold a password.
const SECRETS: &[&str] = &["password", "init_connect", "passphrase", "sst_auth", "init_replica", "init_slave"];

/// Whether sessions share threads.
fn is_pooled(client: &mut Client) -> Result<bool, ClientError> {
    let mut pooled = false;
    let sql = format!("{MARK} SHOW GLOBAL VARIABLES LIKE 'thread_handling'");
    client.each(&sql, &mut |row| pooled = row.text(1) == Some("pool-of-threads"))?;
    Ok(pooled)
}

/// Threads of the server by the session that they work for.
#[derive(Default)]
struct Roster {
    tasks: Vec<Task>,
    /// `Connections` when it was read: none was added since.
    connections: Option<f64>,
}

struct Mysql {
    server: Server,
    client: Client,
    by_threads: bool,
    /// Whether our own statements wait in the queue of a thread pool, too.
    pooled: bool,
    status: Status,
    own: Own,
    /// Amounts that our own sessions had added at the last poll.
    own_amounts: own_amounts::Own,
    readings: Vec<Due>,
    replication: Replication,
    replicas: Turn,
    roster: Roster,
    plans: Plans,
    locks: Locks,
    /// Settings as they were last read.
    settings: FxHashMap<String, String>,
    missing: Vec<(&'static str, &'static str)>,
    /// Prepared statements that were executed before the first poll; taken when a note was added that there are more.
    executed: Option<f64>,
    hurries: bool,
    has_polled: bool,
}

impl observer::Poller for Mysql {
    fn poll(&mut self, interval: Interval, heard: &Heard, rows: &mut Rows) -> Result<(), ClientError> {
        let server = self.server.name().to_owned();
        let about = About { server: &server, interval, is_last: self.hurries };
        for (what, why) in self.missing.drain(..) {
            rows.note(&server, None, &format!("{what} are not seen: {why}"));
        }
        let asked = self.client.now();
        if self.server.is_asked_once() {
            self.own.read(&mut self.client, &self.server)?;
        }
        let before = self.server.ledger().statements();
        self.status.read(&mut self.client)?;
        let own = self.server.own_amounts(|| own::totals(&self.server));
        self.status.set_under_way(own::under_way(&self.server, before, &own));
        let own_before = std::mem::replace(&mut self.own_amounts, own);
        if vitals::read(&mut self.client, &self.server, (&self.status, asked), &about, rows)? {
            self.status.forget_last();
            self.readings.iter_mut().for_each(Due::forget);
        } else if self.status.was_reset() {
            rows.event(interval.t, "counter reset", &server, "status counters went back (FLUSH STATUS)");
            self.status.forget_flushed();
        }
        self.note_prepared(&about, rows);
        self.own.read(&mut self.client, &self.server)?;
        // In a pool's queue it is no measure of the network.
        let round_trip = self.client.ping()?.filter(|_| !self.pooled);
        if let Some(dt) = interval.dt.filter(|dt| *dt > 0.0) {
            let own = own::added(&self.server, (&self.own_amounts, &own_before), dt);
            self.status.leave_out(own, heard.is_quiet());
            self.tell_server(&about, dt, round_trip, heard, rows)?;
            self.status.tell(&server, interval.t, dt, rows);
        }
        self.read_roster()?;
        for due in &mut self.readings {
            due.read(&mut self.client, &about, rows)?;
        }
        let mut wanted = self.plans.wanted(&self.server, &about, heard);
        if !wanted.is_empty() {
            let whom = (&self.server, &mut self.client);
            let executed = plans::look(whom, &mut wanted, &mut self.plans, (&about, rows))?;
            self.server.memory().executed += executed;
            self.own.did_more();
        }
        if heard.locked > 0 {
            self.locks.read(&mut self.client, &about, rows)?;
            self.own.did_more();
        }
        if let Some(Interval { t, dt }) = self.replicas.take(&about) {
            self.replication.read(&mut self.client, &server, t, dt, rows)?;
        }
        if self.hurries || !self.has_polled {
            self.read_settings(&about, rows)?;
        }
        self.has_polled = true;
        Ok(())
    }

    fn finish(&mut self) -> Result<(), ClientError> {
        self.own.did_more();
        self.own.read(&mut self.client, &self.server)
    }

    fn tasks(&self) -> &[Task] {
        &self.roster.tasks
    }

    fn hurry(&mut self) {
        self.hurries = true;
    }

    fn version(&self) -> String {
        let version = &self.client.about().version;
        let vendor = if version.contains("MariaDB") { "MariaDB" } else { "MySQL" };
        format!("{vendor} {version}")
    }

    fn check(&mut self, about: &About<'_>, _: &Heard, rows: &mut Rows) -> Result<Vec<Finding>, ClientError> {
        let mut all = vec![
            timed("status", 1.0, || self.status.read(&mut self.client))?,
            timed("roster of sessions", 1.0, || self.read_roster())?,
        ];
        for due in &mut self.readings {
            all.push(due.check(&mut self.client, about, rows)?);
        }
        all.push(timed("locks", 1.0, || self.locks.read(&mut self.client, about, rows))?);
        let (server, t) = (about.server, about.interval.t);
        all.push(timed("replication", 1.0, || self.replication.read(&mut self.client, server, t, None, rows))?);
        all.push(timed("settings", 0.0, || self.read_settings(about, rows))?);
        all.extend(self.missing.iter().map(|(what, why)| Finding::missing(what, why)));
        Ok(all)
    }
}

impl Mysql {
    /// Notes once that prepared statements are executed where none of them is counted.
    fn note_prepared(&mut self, about: &About<'_>, rows: &mut Rows) {
        let Some(now) = self.status.value("Com_stmt_execute") else { return };
        let now = now - f64::from(self.server.memory().executed);
        if !self.has_polled {
            self.executed = Some(now);
        } else if self.by_threads && self.executed.take_if(|before| now > *before).is_some() {
            // Measured with MariaDB 10.11 and MySQL 8.0.12.
            let vendor = if self.client.about().version.contains("MariaDB") { "MariaDB" } else { "MySQL" };
            let why = format!(
                "prepared statements are executed, which {vendor} counts in none of its statistics of statements: \
                 samples of sessions show them, and `querystat` counts them"
            );
            rows.note(about.server, None, &why);
        }
    }

    /// The server's own row: what counters, samples and the roster say.
    fn tell_server(
        &mut self,
        about: &About<'_>,
        dt: f64,
        round_trip: Option<Duration>,
        heard: &Heard,
        rows: &mut Rows,
    ) -> Result<(), ClientError> {
        // Our own two sessions are none of the server's work.
        let others = |name: &str, own: f64| self.status.value(name).map(|count| (count - own).max(0.0));
        let mut row = rows.row(&db::TABLE, about.interval.t, dt);
        row.str(db::server, about.server)
            .f64(db::sessions, others("Threads_connected", 2.0))
            .f64(db::active_sessions, others("Threads_running", 1.0))
            .f64(db::waiting_sessions, heard.mean(heard.locked))
            .f64(db::samples, Some(f64::from(heard.samples)).filter(|_| !self.server.is_saved()))
            .f64(db::active_sampled, heard.mean(heard.active))
            .f64(db::round_trip_ms, round_trip.map(|took| 1e3 * took.as_secs_f64()))
            .f64(db::oldest_transaction_s, heard.oldest_transaction_s)
            .f64(db::oldest_statement_s, heard.oldest_statement_s);
        self.status.fill_server(dt, &mut row);
        Ok(())
    }

    /// Which threads serve clients. Without the performance schema only the processlist knows, and makes a temporary table on
    /// disk each time: it is asked when somebody has come.
    fn read_roster(&mut self) -> Result<(), ClientError> {
        let connections = self.status.value("Connections");
        if !self.by_threads && self.roster.connections == connections && !self.roster.tasks.is_empty() {
            return Ok(());
        }
        self.roster.connections = connections;
        let sql = if self.by_threads {
            "SELECT THREAD_OS_ID, PROCESSLIST_ID, PROCESSLIST_USER, PROCESSLIST_COMMAND, PROCESSLIST_INFO FROM performance_schema.threads"
        } else {
            "SELECT TID, ID, USER, COMMAND, INFO FROM information_schema.PROCESSLIST"
        };
        let own = self.server.own();
        let tasks = &mut self.roster.tasks;
        let mut tids = FxHashMap::default();
        tasks.clear();
        let hide = hides_text(4);
        let read = self.client.each_hidden(&format!("{MARK} {sql}"), &hide, &mut |row| {
            let Some(id) = row.text(0).and_then(|tid| tid.parse().ok()) else { return };
            let user = row.text(2).unwrap_or_default();
            if let Some(number) = row.i64(1) {
                tids.insert(number, i64::from(id));
            }
            let is_own = row.i64(1).is_some_and(|number| own.contains(&number)) || row.text(4).is_some_and(is_marked);
            let whose = if is_own {
                Whose::Own
            } else if row.i64(1).is_some() && !user.is_empty() && user != "system user" && row.text(3) != Some("Daemon")
            {
                Whose::Client
            } else {
                Whose::Background
            };
            tasks.push(Task { id, whose });
        });
        drop(own);
        self.server.memory().tids = tids;
        match read {
            // MySQL's processlist has no numbers of threads.
            Err(error) if error.is_refusal() => Ok(()),
            other => other.map(|_| ()),
        }
    }

    fn read_settings(&mut self, about: &About<'_>, rows: &mut Rows) -> Result<(), ClientError> {
        let (server, t) = (about.server, about.interval.t);
        let started = match self.status.value("Uptime") {
            Some(up) if self.settings.is_empty() => vitals::started(&mut self.client, up)?,
            _ => None,
        };
        let known = &mut self.settings;
        let mut tell = |name: &str, value: &str, origin: Option<&str>| {
            let value = without_secrets(name, value);
            if known.get(name).is_some_and(|known| *known == value) {
                return;
            }
            rows.row(&db_setting::TABLE, t, None)
                .str(db_setting::server, server)
                .str(db_setting::name, name)
                .text(db_setting::value, value.as_str())
                .str(db_setting::origin, origin);
            known.insert(name.to_owned(), value);
        };
        let version = self.client.about().version.clone();
        let vendor = if version.contains("MariaDB") { "MariaDB" } else { "MySQL" };
        tell("version", &version, Some("server"));
        tell("vendor", vendor, Some("server"));
        if let Some(started) = &started {
            tell("started", started, Some("server"));
        }
        // These move by themselves.
        let moving = [
            "timestamp",
            "rand_seed",
            "gtid_",
            "last_",
            "identity",
            "insert_id",
            "pseudo_",
            "error_count",
            "warning_count",
        ];
        self.client.each_hidden(&format!("{MARK} SHOW GLOBAL VARIABLES"), &hide_setting, &mut |row| {
            if let (Some(name), Some(value)) = (row.text(0), row.text(1))
                && name != "version"
                && !moving.iter().any(|begin| name.starts_with(begin))
            {
                tell(name, value, None);
            }
        })?;
        Ok(())
    }
}
