//! `redis-cli info` of Redis, Valkey and KeyDB, whole or a section, once or in a loop.
//!
//! Counters become rates between two reports; those of the first are averages since the server's start. The server's own clock
//! (`server_time_usec`, Redis 7) is the time, else a time stamp above it. Words are facts.

use fenxi_model::{Micros, catalog::db};
use rustc_hash::FxHashMap;

use crate::{Family, Format, Head, Input, Out, Sure, generic::labels::Labels, number, procps::moments::Moments, stamp};

/// Importer for redis-cli info of Redis and Valkey, whole or a section, once or in a loop.
pub static FORMAT: Format = Format {
    name: "redis-info",
    summary: "redis-cli info of Redis and Valkey, whole or a section, once or in a loop",
    family: Family::Database,
    tables: &[&db::TABLE],
    example: "\
# Server
redis_version:7.0.15
uptime_in_seconds:3600

# Clients
connected_clients:12

# Stats
total_commands_processed:360000
keyspace_hits:1000
",
    sniff,
    read,
};

/// Sections as they are headed.
const SECTIONS: &[&str] = &[
    "# Server",
    "# Clients",
    "# Memory",
    "# Persistence",
    "# Stats",
    "# Replication",
    "# CPU",
    "# Modules",
    "# Commandstats",
    "# Errorstats",
    "# Latencystats",
    "# Cluster",
    "# Keyspace",
    "# Threads",
    "# Debug",
    "# Sentinel",
];
/// Names of which at least one is in every section that is worth reading, and in nothing else.
const OWN: &[&str] = &[
    "redis_version",
    "valkey_version",
    "connected_clients",
    "used_memory_rss",
    "rdb_changes_since_last_save",
    "total_commands_processed",
    "master_repl_offset",
    "used_cpu_user_children",
];
/// Counters that do not begin with `total_`.
const COUNTERS: &[&str] = &[
    "expired_keys",
    "evicted_keys",
    "evicted_clients",
    "keyspace_hits",
    "keyspace_misses",
    "rejected_connections",
    "sync_full",
    "sync_partial_ok",
    "sync_partial_err",
    "expired_time_cap_reached_count",
    "active_defrag_hits",
    "active_defrag_misses",
    "active_defrag_key_hits",
    "active_defrag_key_misses",
    "io_threaded_reads_processed",
    "io_threaded_writes_processed",
    "unexpected_error_replies",
    "dump_payload_sanitizations",
    "reply_buffer_shrinks",
    "reply_buffer_expands",
    "lazyfreed_objects",
    "rdb_saves",
    "aof_rewrites",
    "acl_access_denied_auth",
    "acl_access_denied_cmd",
    "client_query_buffer_limit_disconnections",
    "client_output_buffer_limit_disconnections",
];
/// Fields without information on the load: numbers of processes and ports, clocks, and the same in other words.
const LEFT_OUT: &[&str] =
    &["process_id", "tcp_port", "lru_clock", "server_time_usec", "uptime_in_days", "arch_bits", "rdb_last_save_time"];

/// Names of one report; a server has some hundreds.
const MOST: usize = 1 << 14;

fn sniff(head: &Head<'_>) -> Sure {
    let section = head.any(|line| SECTIONS.contains(&line.trim_end()));
    let own = head.any(|line| line.split_once(':').is_some_and(|(name, _)| OWN.contains(&name)));
    Sure::Certain.when(section && own)
}

#[derive(Default)]
struct Report {
    /// Names and numbers in their order.
    figures: Vec<(String, f64)>,
    /// Figures of a command or a database: name, labels, value, unit, whether it counts.
    others: Vec<(String, String, f64, &'static str, bool)>,
}

struct Reader {
    moments: Moments,
    report: Report,
    /// Sections of the report at hand.
    sections: Vec<String>,
    last: FxHashMap<String, f64>,
    reports: u32,
}

fn read(input: &mut Input<'_>, out: &mut Out<'_>) {
    let mut reader = Reader {
        moments: Moments::new(out),
        report: Report::default(),
        sections: Vec::new(),
        last: FxHashMap::default(),
        reports: 0,
    };
    input.each_line(|at, line| {
        let line = line.trim();
        if SECTIONS.contains(&line) {
            // The same section again is the next report.
            if reader.sections.iter().any(|section| section == line) {
                reader.end(out);
            }
            reader.sections.push(line.to_owned());
        } else if line.starts_with(|c: char| c.is_ascii_digit() || c.is_ascii_uppercase())
            && stamp(line).is_some_and(|stamp| stamp.rest.is_empty())
        {
            // A time with its colons looks like a name and a value, too.
            reader.end(out);
            reader.moments.take(line, out);
        } else if !line.is_empty() && !reader.figure(line, out) {
            out.unknown(at, line, "no name and value of redis-cli info");
        }
    });
    reader.end(out);
}

impl Reader {
    fn figure(&mut self, line: &str, out: &mut Out<'_>) -> bool {
        let Some((name, value)) = line.split_once(':') else { return false };
        if name.is_empty() || !name.bytes().all(|b| b.is_ascii_alphanumeric() || b"_-|.@".contains(&b)) {
            return false;
        }
        if name == "server_time_usec" {
            self.moments.set(Micros(value.parse().unwrap_or(0)));
        }
        if LEFT_OUT.contains(&name) || name.ends_with("_human") {
            return true;
        }
        if let Some(command) = name.strip_prefix("cmdstat_") {
            self.parts("command", command, value);
        } else if let Some(command) = name.strip_prefix("latency_percentiles_usec_") {
            self.parts("command", command, value);
        } else if let Some(error) = name.strip_prefix("errorstat_") {
            self.parts("error", error, value);
        } else if name.starts_with("db") && value.starts_with("keys=") {
            self.parts("database", name, value);
        } else if let Some(number) = number(value.trim_end_matches('%')) {
            if self.report.figures.len() < MOST {
                self.report.figures.push((name.to_owned(), number));
            }
        } else if self.reports == 0 && !value.is_empty() {
            out.fact("redis", name, value);
        }
        true
    }

    /// `calls=5000,usec=1064,usec_per_call=0.21`, `keys=4,expires=0,avg_ttl=0`, `p50=0.001,p99=1.003`.
    fn parts(&mut self, what: &str, of: &str, value: &str) {
        let labels = Labels::of(what, of);
        for (name, value) in value.split(',').filter_map(|part| part.split_once('=')) {
            let Some(value) = number(value).filter(|_| self.report.others.len() < MOST) else { continue };
            let (full, unit, counts) = match (what, name) {
                ("database", "avg_ttl") => ("redis.avg_ttl".to_owned(), "ms", false),
                ("database", name) => (format!("redis.{name}"), "", false),
                (_, "usec") => ("redis.command_time".to_owned(), "us", true),
                (_, "usec_per_call") => continue,
                (_, "count") => ("redis.errors".to_owned(), "", true),
                (_, "calls" | "rejected_calls" | "failed_calls") => (format!("redis.command_{name}"), "", true),
                // Percentiles since the start are no sample.
                (_, p) if p.starts_with('p') => {
                    (format!("redis.latency_{}_since_start", p.replace('.', "")), "us", false)
                }
                (_, name) => (format!("redis.command_{name}"), "", false),
            };
            self.report.others.push((full, labels.text().to_owned(), value, unit, counts));
        }
    }

    fn end(&mut self, out: &mut Out<'_>) {
        self.sections.clear();
        let report = std::mem::take(&mut self.report);
        if report.figures.is_empty() && report.others.is_empty() {
            return;
        }
        let (t, between) = self.moments.next(out);
        let find = |name: &str| report.figures.iter().find(|(n, _)| n == name).map(|(_, value)| *value);
        let first = self.reports == 0;
        let dt = if first { find("uptime_in_seconds").filter(|s| *s > 0.0) } else { between };
        let measured = first || self.moments.is_measured();
        let growth = |key: &str, value: f64| {
            let before = if first { 0.0 } else { *self.last.get(key)? };
            (value >= before && measured).then_some((value - before) / dt?)
        };
        let rate = |name: &str| growth(name, find(name)?);
        out.since_boot(first);
        let mut row = out.row(&db::TABLE, t, dt);
        row.f64(db::statements_per_s, rate("total_commands_processed"));
        row.f64(db::connects_per_s, rate("total_connections_received"));
        row.f64(db::received_bytes_per_s, rate("total_net_input_bytes"));
        row.f64(db::sent_bytes_per_s, rate("total_net_output_bytes"));
        if !first {
            row.f64(db::sessions, find("connected_clients"));
        }
        for (name, value) in report.figures.iter().filter(|(name, _)| counts(name)) {
            let (name_of, unit) = match name.strip_prefix("used_cpu_") {
                Some(_) => (format!("redis.{name}"), "s/s"),
                None => (format!("redis.{name}_per_s"), "/s"),
            };
            out.metric(t, dt, &name_of, "", growth(name, *value), unit);
        }
        for (name, labels, value, unit, _) in report.others.iter().filter(|other| other.4) {
            let key = format!("{name} {labels}");
            let rate = growth(&key, *value);
            // Microseconds of all calls in a second: a share of one CPU.
            let (rate, unit) = if *unit == "us" { (rate.map(|us| us / 1e6), "s/s") } else { (rate, "/s") };
            out.metric(t, dt, &format!("{name}_per_s"), labels, rate, unit);
        }
        out.since_boot(false);
        if first {
            out.row(&db::TABLE, t, None).f64(db::sessions, find("connected_clients"));
        }
        let dt = dt.filter(|_| !first);
        for (name, value) in report.figures.iter().filter(|(name, _)| !counts(name)) {
            let (value, unit) = unit_of(name, *value);
            out.metric(t, dt, &format!("redis.{name}"), "", value, unit);
        }
        for (name, labels, value, unit, _) in report.others.iter().filter(|other| !other.4) {
            out.metric(t, dt, name, labels, *value, unit);
        }
        self.last.clear();
        self.last.extend(report.figures);
        let others = report.others.into_iter().filter(|other| other.4);
        self.last.extend(others.map(|(name, labels, value, ..)| (format!("{name} {labels}"), value)));
        self.reports = self.reports.saturating_add(1);
    }
}

/// Whether a figure grows only.
fn counts(name: &str) -> bool {
    let total = name.starts_with("total_") && name != "total_system_memory" && !name.starts_with("total_blocking");
    let processed = name.ends_with("_processed") || name.starts_with("used_cpu_");
    total || processed || COUNTERS.contains(&name)
}

/// A gauge in the catalogue's units.
fn unit_of(name: &str, value: f64) -> (f64, &'static str) {
    let bytes = ["used_memory", "allocator_", "mem_", "maxmemory", "total_system_memory", "rss_overhead"];
    match name {
        _ if name.ends_with("_perc") => (value, "%"),
        _ if name.ends_with("_ratio") || name.contains("_not_counted") => (value, ""),
        _ if name.ends_with("_kbps") => (value * 1024.0, "B/s"),
        _ if name.ends_with("_bytes") || name.ends_with("_size") => (value, "B"),
        _ if name.ends_with("_usec") => (value, "us"),
        _ if name.ends_with("_sec") || name.ends_with("_in_seconds") => (value, "s"),
        _ if bytes.iter().any(|begin| name.starts_with(begin)) => (value, "B"),
        _ => (value, ""),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{detect, fixtures::read};

    const TWO: &str = "\
# Server
redis_version:7.0.15
server_time_usec:1795611331000000
uptime_in_seconds:100
# Clients
connected_clients:3
# Stats
total_commands_processed:1000
instantaneous_input_kbps:2.00
# Commandstats
cmdstat_get:calls=500,usec=1000,usec_per_call=2.00,rejected_calls=0,failed_calls=0
# Server
redis_version:7.0.15
server_time_usec:1795611341000000
uptime_in_seconds:110
# Clients
connected_clients:5
# Stats
total_commands_processed:3000
instantaneous_input_kbps:2.00
# Commandstats
cmdstat_get:calls=1500,usec=6000,usec_per_call=4.00,rejected_calls=0,failed_calls=0
";

    #[test]
    fn counters_are_rates_by_the_servers_clock() {
        let read = read(&FORMAT, TWO.as_bytes());
        assert_eq!(read.tally.notes, 0, "{}", read.text);
        for line in [
            "2026-11-25T12:55:41.000000Z\t10\tfixture\tredis.total_commands_processed_per_s\t\t200\t/s",
            "2026-11-25T12:55:41.000000Z\t10\tfixture\tredis.command_calls_per_s\tcommand=get\t100\t/s",
            "2026-11-25T12:55:41.000000Z\t10\tfixture\tredis.command_time_per_s\tcommand=get\t0.0005\ts/s",
            "2026-11-25T12:55:31.000000Z\t\tfixture\tredis.instantaneous_input_kbps\t\t2048\tB/s",
        ] {
            assert!(read.text.contains(line), "{line}\n{}", read.text);
        }
    }

    #[test]
    fn a_configuration_is_no_report() {
        let text = "# Memory\nmaxmemory 100mb\nport 6379\n# Clients\nconnected: yes\n";
        assert!(detect(&Head { text }).is_none());
    }
}
