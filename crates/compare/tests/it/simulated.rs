//! A made-up database server, second by second: clients in a closed loop, a server of four CPUs, a disk, locks and a network, with noise,
//! as tools that know nothing of Fenxi would record it. Throughput and latency follow from what a transaction needs; nothing is set by hand.

use fenxi_model::{Random, catalog::metric};

use crate::runs::Made;

const CPUS: f64 = 4.0;
/// Seconds of a recording.
pub const SECONDS: usize = 240;

/// Behaviour of clients, and resources that a transaction needs.
#[derive(Clone, Debug)]
pub struct Load {
    pub terminals: f64,
    pub think_ms: f64,
    pub cpu_ms: f64,
    pub round_trip_ms: f64,
    pub lock_ms: f64,
    pub rows_read: f64,
    pub rows_inserted: f64,
    pub log_row_bytes: f64,
    pub write_requests_row: f64,
    pub misses: f64,
    /// Use by others on the machine.
    pub other_cpus: f64,
    pub other_read_bytes: f64,
    pub other_write_bytes: f64,
    /// Work of one session more in the database each second.
    pub more_rows_scanned: f64,
    pub more_rows_inserted: f64,
    pub more_sent_bytes: f64,
    pub more_misses: f64,
    pub more_cpus: f64,
    pub full_scans: f64,
    pub opened_tables: f64,
    pub flushes: f64,
}

impl Default for Load {
    fn default() -> Load {
        Load {
            terminals: 32.0,
            think_ms: 60.0,
            cpu_ms: 4.0,
            round_trip_ms: 0.3,
            lock_ms: 1.0,
            rows_read: 120.0,
            rows_inserted: 10.0,
            log_row_bytes: 260.0,
            write_requests_row: 14.0,
            misses: 0.6,
            other_cpus: 0.08,
            other_read_bytes: 30e3,
            other_write_bytes: 300e3,
            more_rows_scanned: 0.0,
            more_rows_inserted: 0.0,
            more_sent_bytes: 0.0,
            more_misses: 0.0,
            more_cpus: 0.0,
            full_scans: 0.02,
            opened_tables: 0.15,
            flushes: 0.0,
        }
    }
}

/// Values that a recorder reads each second.
pub type Second = Vec<(&'static str, f64)>;

/// Statements of a transaction, each a round trip.
const STATEMENTS: f64 = 24.0;

impl Load {
    /// Transactions per second, their latency in milliseconds, utilisation of the CPUs and of the disk, 0 to 1.
    fn solved(&self) -> (f64, f64, f64, f64) {
        let (mut x, mut latency, mut cpu, mut disk) = (100.0, 10.0, 0.0, 0.0);
        for _ in 0..200 {
            let demand = x * self.cpu_ms / 1e3 + self.more_cpus + self.other_cpus;
            cpu = (demand / CPUS).min(1.0);
            let rows = x * self.rows_inserted + self.more_rows_inserted;
            let bytes = self.other_read_bytes + self.other_write_bytes + rows * self.log_row_bytes * 3.0;
            let reads = x * self.misses + self.more_misses;
            disk = (bytes / 130e6 + (reads + x * 1.5) / 4000.0).min(0.99);
            let on_cpu = self.cpu_ms / (1.0 - (demand / CPUS).min(0.985).powi(3));
            let on_disk = (1.0 + self.misses * 0.8) / (1.0 - disk);
            let wait = self.lock_ms * (0.5 + x / 600.0);
            latency = on_cpu + on_disk + wait + STATEMENTS * self.round_trip_ms;
            let wanted = 1e3 * self.terminals / (self.think_ms + latency);
            // No more than the CPUs have left for it, and of a fair share at least.
            let left = (CPUS - self.other_cpus - self.more_cpus).max(CPUS * 0.3) * 1e3 / self.cpu_ms;
            x = 0.7 * x + 0.3 * wanted.min(left);
            latency = latency.max(1e3 * self.terminals / x - self.think_ms);
        }
        (x, latency, cpu, disk)
    }

    /// One second, with what one second differs from another anyway.
    pub fn second(&self, noise: &mut Noise) -> Second {
        let (x, latency, cpu, disk) = self.solved();
        let common = noise.common();
        let x = x * common;
        let inserted = x * self.rows_inserted + self.more_rows_inserted;
        let log = inserted * self.log_row_bytes + x * 700.0;
        let misses = x * self.misses + self.more_misses;
        let others = (self.other_cpus / CPUS * 100.0).min(100.0);
        let busy = (100.0 * cpu * common).min(100.0);
        let active = x * (latency - STATEMENTS * self.round_trip_ms).max(1.0) / 1e3 * 0.6
            + 1.0
            + f64::from(u8::from(self.more_cpus > 0.0));
        let sent = x * 9e3 + self.more_sent_bytes;
        let received = x * 4e3 + self.more_rows_inserted * 180.0;
        let lock_wait_ms = x * self.lock_ms * (0.5 + x / 600.0);
        let own_write = log + inserted * 500.0;
        let written = own_write * 2.0 + self.other_write_bytes;
        let mut out: Second = vec![
            ("tps", x),
            ("latency_ms", latency),
            ("usr", (0.75 * busy).max(0.7 * others)),
            ("sys", 0.25 * busy),
            ("wai", (100.0 - busy) * disk * 0.5),
            ("csw", 3000.0 + x * 60.0),
            ("runnable", 1.0 + CPUS * cpu + if cpu > 0.97 { 6.0 + self.other_cpus } else { 0.0 }),
            ("blocked", 4.0 * disk * disk),
            ("disk_read", misses * 16e3 + self.other_read_bytes),
            ("disk_write", written),
            ("disk_util", 100.0 * disk),
            ("net_recv", received * 1.1 + 2e3),
            ("net_send", sent * 1.1 + 2e3),
            ("sessions", self.terminals + 3.0),
            ("active", active),
            ("commits", x),
            ("queries", x * STATEMENTS + 5.0),
            ("rows_read", x * self.rows_read + self.more_rows_scanned),
            ("read_next", x * 60.0 + self.more_rows_scanned + 400.0),
            ("inserted", inserted),
            ("updated", x * 8.0),
            ("log_written", log),
            ("write_requests", inserted * self.write_requests_row + x * 30.0),
            ("pool_reads", misses),
            ("pages_written", own_write / 16e3 + 3.0),
            ("bytes_sent", sent),
            ("bytes_received", received),
            ("lock_waits", lock_wait_ms / 8.0),
            ("lock_time_ms", lock_wait_ms),
            ("full_scans", self.full_scans),
            ("opened", self.opened_tables),
            ("flush_commands", self.flushes),
            ("retransmits", 0.4),
        ];
        for (name, value) in &mut out {
            *value = match *name {
                "sessions" | "wai" | "usr" | "sys" | "disk_util" => *value * noise.own(0.03),
                "opened" | "flush_commands" | "full_scans" | "retransmits" => noise.events(*value),
                _ => *value * noise.own(0.06),
            };
        }
        out.iter_mut()
            .filter(|(name, _)| ["usr", "sys", "wai", "disk_util"].contains(name))
            .for_each(|v| v.1 = v.1.min(100.0));
        out
    }
}

/// Noise that depends on what it was a second ago.
pub struct Noise {
    random: Random,
    last: f64,
}

impl Noise {
    pub fn new(seed: u64) -> Noise {
        Noise { random: Random::new(seed), last: 0.0 }
    }

    /// Roughly normal, standard deviation 1.
    fn normal(&mut self) -> f64 {
        (0..12).map(|_| self.random.unit()).sum::<f64>() - 6.0
    }

    fn common(&mut self) -> f64 {
        self.last = 0.6 * self.last + 0.04 * self.normal();
        self.last.exp()
    }

    fn own(&mut self, by: f64) -> f64 {
        (by * self.normal()).exp()
    }

    /// A number of events where so many are expected.
    fn events(&mut self, mean: f64) -> f64 {
        let (limit, mut product, mut n) = ((-mean.min(50.0)).exp(), self.random.unit(), 0.0);
        while product > limit {
            product *= self.random.unit();
            n += 1.0;
        }
        n
    }
}

/// How the numbers are called.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Names {
    /// As dstat and a server's status variables call them.
    Raw,
    /// As the catalogue does, as far as it has them.
    Catalogue,
}

/// Its name in dstat and the server.
fn raw(name: &str) -> &str {
    match name {
        "latency_ms" => "avg_latency_ms",
        "runnable" => "procs_run",
        "blocked" => "procs_blk",
        "disk_read" => "dsk_read",
        "disk_write" => "dsk_writ",
        "disk_util" => "sda_util",
        "sessions" => "Threads_connected",
        "active" => "Threads_running",
        "commits" => "Com_commit",
        "queries" => "Questions",
        "rows_read" => "Innodb_rows_read",
        "read_next" => "Handler_read_rnd_next",
        "inserted" => "Innodb_rows_inserted",
        "updated" => "Innodb_rows_updated",
        "log_written" => "Innodb_os_log_written",
        "write_requests" => "Innodb_buffer_pool_write_requests",
        "pool_reads" => "Innodb_buffer_pool_reads",
        "pages_written" => "Innodb_pages_written",
        "bytes_sent" => "Bytes_sent",
        "bytes_received" => "Bytes_received",
        "lock_waits" => "Innodb_row_lock_waits",
        "lock_time_ms" => "Innodb_row_lock_time",
        "full_scans" => "Select_scan",
        "opened" => "Opened_tables",
        "flush_commands" => "Com_flush",
        other => other,
    }
}

type Key = (&'static str, &'static str);

/// Table, column, key and its value, and the factor.
fn column(name: &str) -> Option<(&'static str, &'static str, Option<Key>, f64)> {
    let db = |column| Some(("db", column, Some(("server", "db1:3306")), 1.0));
    match name {
        "tps" => Some(("load", "transactions_per_s", None, 1.0)),
        "latency_ms" => Some(("load", "latency_mean_ms", None, 1.0)),
        "usr" => Some(("cpu", "usr", None, 1.0)),
        "sys" => Some(("cpu", "sys", None, 1.0)),
        "wai" => Some(("cpu", "iowait", None, 1.0)),
        "csw" => Some(("sched", "context_switches_per_s", None, 1.0)),
        "runnable" => Some(("sched", "runnable", None, 1.0)),
        "blocked" => Some(("sched", "blocked", None, 1.0)),
        "disk_read" => Some(("disk", "read_bytes_per_s", Some(("device", "sda")), 1.0)),
        "disk_write" => Some(("disk", "write_bytes_per_s", Some(("device", "sda")), 1.0)),
        "disk_util" => Some(("disk", "util", Some(("device", "sda")), 1.0)),
        "net_recv" => Some(("net", "rx_bytes_per_s", Some(("interface", "eth0")), 1.0)),
        "net_send" => Some(("net", "tx_bytes_per_s", Some(("interface", "eth0")), 1.0)),
        "sessions" => db("sessions"),
        "active" => db("active_sessions"),
        "commits" => db("commits_per_s"),
        "queries" => db("statements_per_s"),
        "rows_read" => db("rows_returned_per_s"),
        "inserted" => db("rows_inserted_per_s"),
        "updated" => db("rows_updated_per_s"),
        "log_written" => db("log_bytes_per_s"),
        "pool_reads" => db("cache_misses_per_s"),
        "bytes_sent" => db("sent_bytes_per_s"),
        "bytes_received" => db("received_bytes_per_s"),
        "lock_waits" => db("row_lock_waits_per_s"),
        "lock_time_ms" => Some(("db", "row_lock_time", Some(("server", "db1:3306")), 1e-3)),
        "full_scans" => db("full_scans_per_s"),
        "opened" => db("table_cache_misses_per_s"),
        "retransmits" => Some(("tcp", "retransmits_per_s", None, 1.0)),
        _ => None,
    }
}

/// Writes seconds as rows.
pub fn write(run: &mut Made, seconds: &[Second], names: Names) {
    for (n, second) in seconds.iter().enumerate() {
        let t = run.at(n as f64 + 1.0);
        type Row = (&'static str, Option<Key>, Vec<(&'static str, f64)>);
        let mut tables: Vec<Row> = Vec::new();
        for (name, value) in second {
            match column(name).filter(|_| names == Names::Catalogue) {
                Some((table, column, key, by)) => match tables.iter_mut().find(|row| row.0 == table) {
                    Some(row) => row.2.push((column, value * by)),
                    None => tables.push((table, key, vec![(column, value * by)])),
                },
                None => {
                    let mut row = run.rows.row(&metric::TABLE, t, 1.0);
                    row.str(metric::name, raw(name)).f64(metric::value, *value);
                }
            }
        }
        for (table, key, cells) in tables {
            let table = fenxi_model::table(table).unwrap();
            let place = |column: &str| table.index_of(column).unwrap();
            let mut row = run.rows.row(table, t, 1.0);
            if let Some((column, value)) = key {
                row.str(place(column), value);
            }
            if table.name == "cpu" {
                let busy: f64 = cells.iter().map(|(_, value)| value).sum();
                row.f64(place("idle"), (100.0 - busy).max(0.0));
            }
            for (column, value) in cells {
                row.f64(place(column), value);
            }
        }
    }
}
