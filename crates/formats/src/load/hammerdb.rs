//! HammerDB: the log of a run, the transaction counter's log and the time profiles.
//!
//! `NOPM` are new orders and `TPM` all of the database's transactions per minute. The profile
//! `xtprof` prints milliseconds for each virtual user and for all; `etprof` prints microseconds
//! every ten seconds.

use fenxi_model::{Micros, catalog::load};
use jiff::tz::TimeZone;

use super::names::{self, Results};
use crate::{
    Clock, Family, Format, Head, Input, Out, Relative, Sure, Ticker, civil_date, civil_time, ctime, number, zone_named,
};

/// Importer for HammerDB.
pub static FORMAT: Format = Format {
    name: "hammerdb",
    summary: "HammerDB: test results, hdbtcount.log, xtprof and etprof time profiles",
    family: Family::Load,
    tables: &[&load::TABLE],
    example: "\
Vuser 1:4 Active Virtual Users configured
Vuser 1:TEST RESULT : System achieved 264796 NOPM from 616230 PostgreSQL TPM
",
    sniff,
    read,
};

fn sniff(head: &Head<'_>) -> Sure {
    let own = |line: &str| {
        line.contains("TEST RESULT : System achieved")
            || line.contains("ammerdb Transaction Counter Log @")
            || line.contains("ammerdb Time Profile Report @")
            || line.starts_with(">>>>> PROC: ")
            || virtual_user(line).is_some()
    };
    Sure::Certain.when(head.any(own))
}

/// A setting and its new value: `Changed tpcc:pg_count_ware from 1 to 100 for PostgreSQL`.
fn changed(text: &str) -> Option<(&str, &str)> {
    let (setting, values) = text.strip_prefix("Changed ")?.split_once(" from ")?;
    let (values, _) = values.rsplit_once(" for ")?;
    Some((setting, values.rsplit_once(" to ")?.1))
}

struct Reader {
    clock: Clock,
    relative: Option<Relative>,
    ticker: Ticker,
    tests: u32,
    /// Clients of the test that runs.
    clients: Option<f64>,
    /// Whose profile follows: a virtual user, or all of them.
    user: Option<String>,
    procedure: String,
    /// The interval that an etprof block describes.
    interval: Option<(Micros, f64)>,
}

fn read(input: &mut Input<'_>, out: &mut Out<'_>) {
    let head = input.head();
    // The ticker needs only distances, so the zone does not matter.
    let ticker = Ticker::new(out.hints(), &head, |line| {
        let (_, when) = counter(line)?;
        let when = ctime(when?)?.when.to_zoned(TimeZone::UTC).ok()?;
        Some(when.timestamp().as_second() as f64)
    });
    drop(head);
    let mut reader = Reader {
        clock: Clock::new(out.hints()),
        relative: None,
        ticker,
        tests: 0,
        clients: None,
        user: None,
        procedure: String::new(),
        interval: None,
    };
    while input.line().is_some() {
        let (number, line) = (input.number(), input.text().trim());
        if !line.is_empty() && !reader.line(line, out) {
            // It may be of a setting, and a password one.
            let shown = if line.to_ascii_lowercase().contains("pass") { "" } else { line };
            out.unknown(number, shown, "no line of HammerDB");
        }
    }
}

/// `1630290 MSSQLServer tpm @ Mon Apr 14 13:18:44 BST 2025`, without the time on the console:
/// transactions per second and when.
fn counter(line: &str) -> Option<(f64, Option<&str>)> {
    let (front, when) = match line.split_once(" @ ") {
        Some((front, when)) => (front, Some(when)),
        None => (line, None),
    };
    let (count, unit) = (front.split(' ').next()?, front.rsplit(' ').next()?);
    let per = match unit {
        "tpm" => 60.0,
        "qph" => 3600.0,
        _ => return None,
    };
    Some((number(count)? / per, when))
}

/// `Vuser 2:RUNNING`: the number and the message of the virtual user.
fn virtual_user(line: &str) -> Option<(&str, &str)> {
    let (user, text) = line.strip_prefix("Vuser ")?.split_once(':')?;
    user.bytes().all(|b| b.is_ascii_digit()).then_some((user, text.trim()))
}

impl Reader {
    fn line(&mut self, line: &str, out: &mut Out<'_>) -> bool {
        let (user, text) = virtual_user(line).map_or((None, line), |(user, text)| (Some(user), text));
        if let Some((rate, when)) = counter(text) {
            return self.counted(rate, when, out);
        }
        if let Some((_, result)) = text.split_once("TEST RESULT : System achieved ") {
            return self.result(result, out);
        }
        if let Some((setting, value)) = changed(text) {
            let value = if setting.contains("pass") { "(hidden)" } else { value };
            out.fact("load", &format!("hammerdb {setting}"), value);
        } else if let Some((clients, _)) = text.split_once(" Active Virtual Users configured") {
            self.clients = number(clients);
        } else if let Some(rest) = text.strip_prefix(">>>>> ") {
            self.title(rest, out);
        } else if text.starts_with("CALLS: ") || text.starts_with("P99: ") {
            self.profile(text, out);
        } else if let Some(rest) = text.trim_start_matches('|').strip_prefix("PERCENTILES ") {
            self.interval = self.span(rest);
        } else if text.starts_with('|') {
            self.row(text, out);
        } else if let Some(rest) = text.strip_prefix("query ").filter(|r| r.contains(" completed in ")) {
            let (query, seconds) = rest.split_once(" completed in ").unwrap_or((rest, ""));
            let seconds = seconds.split(' ').next().and_then(number);
            let name = format!("VU{} query {query}", user.unwrap_or("1"));
            Results::default().of(out, names::LATENCY_MEAN, &name, seconds.map(|s| s * 1e3));
        } else if let Some((_, seconds)) = text.split_once("query set(s) in ") {
            Results::default().set(out, names::ELAPSED, seconds.split(' ').next().and_then(number));
        } else if let Some((_, seconds)) =
            text.split_once("Geometric mean of query times").filter(|_| text.contains(" is "))
        {
            let seconds = seconds.rsplit(' ').next().and_then(number);
            Results::default().other(out, "query_geometric_mean", seconds, "s");
        } else if text.contains("Error") || text.contains("ERROR") {
            out.fact("load", "hammerdb message", line);
        } else {
            // Other messages of virtual users and the console are no measurements.
            self.log_zone(text, out);
            return user.is_some() || text.starts_with('+') || KNOWN.iter().any(|known| text.contains(known));
        }
        true
    }

    /// The periods of a profile name no zone: it is that of the log's first line, `Hammerdb Log @ Fri Jul 05 09:55:26 BST 2019`.
    fn log_zone(&mut self, text: &str, out: &mut Out<'_>) {
        let log =
            ["Hammerdb Log @ ", "Hammerdb Time Profile Report @ "].iter().find_map(|title| text.split_once(title));
        if let Some(zone) = log.and_then(|(_, when)| ctime(when)).and_then(|when| when.zone) {
            self.clock.set_zone(zone_named(zone, out));
        }
    }

    fn counted(&mut self, rate: f64, when: Option<&str>, out: &mut Out<'_>) -> bool {
        let (t, dt) = match when {
            Some(when) => {
                let Some(when) = ctime(when) else { return false };
                if matches!(when.zone, Some("UTC" | "GMT")) {
                    self.clock.set_zone(TimeZone::UTC);
                }
                let t = self.clock.moment(when.when);
                (t, self.ticker.tick(t))
            }
            None => {
                let relative = self.relative.get_or_insert_with(|| Relative::new(out, Some(10.0)));
                let (t, dt) = relative.tick();
                (t, Some(dt))
            }
        };
        let mut row = out.row(&load::TABLE, t, dt);
        row.str(load::generator, "hammerdb").f64(load::transactions_per_s, rate);
        true
    }

    /// `264796 NOPM from 616230 PostgreSQL TPM`, or `616230 PostgreSQL TPM at 264796 NOPM`.
    fn result(&mut self, result: &str, out: &mut Out<'_>) -> bool {
        let parts = result.split(" from ").flat_map(|part| part.split(" at "));
        let find = |unit: &str| {
            let part = parts.clone().find(|part| part.trim_end().ends_with(unit))?;
            number(part.split(' ').next()?)
        };
        let (nopm, tpm) = (find("NOPM"), find("TPM"));
        if nopm.is_none() && tpm.is_none() {
            return false;
        }
        self.tests = self.tests.saturating_add(1);
        let mut results = Results::nth(self.tests);
        results.set(out, names::CLIENTS, self.clients);
        results.set(out, names::NEW_ORDERS, nopm);
        results.set(out, names::TPM, tpm);
        results.set(out, names::THROUGHPUT, tpm.map(|tpm| tpm / 60.0));
        true
    }

    /// Headings of `xtprof`.
    fn title(&mut self, rest: &str, out: &mut Out<'_>) {
        let elapsed = rest.split_once("ELAPSED TIME : ").and_then(|(_, t)| number(t.trim().trim_end_matches("ms")));
        let elapsed_s = elapsed.map(|ms| ms / 1e3);
        if let Some(procedure) = rest.strip_prefix("PROC: ") {
            procedure.clone_into(&mut self.procedure);
        } else if rest.starts_with("SUMMARY OF") {
            self.user = None;
            Results::default().set(out, names::ELAPSED, elapsed_s);
        } else if let Some(user) = rest.strip_prefix("VIRTUAL USER ") {
            self.user = user.split(' ').next().map(str::to_owned);
            if let (Some(user), Some(_)) = (&self.user, elapsed_s) {
                out.metric(None, None, "hammerdb.elapsed", &format!("vuser={user}"), elapsed_s, "s");
            }
        }
    }

    /// `CALLS: 83476 MIN: 0.5ms AVG: 1.2ms MAX: 50.1ms TOTAL: 99999.9ms` and `P99: 3.0ms ...`, with tabs between.
    fn profile(&self, text: &str, out: &mut Out<'_>) {
        let mut results = Results::default();
        for part in text.split('\t') {
            let Some((key, value)) = part.trim().split_once(": ") else { continue };
            let Some(value) = number(value.trim_end_matches("ms").trim_end_matches('%')) else { continue };
            if let Some(user) = &self.user {
                let labels = format!("procedure={},vuser={user}", self.procedure);
                let unit = if matches!(key, "CALLS") { "" } else { "ms" };
                if key != "RATIO" {
                    let name = format!("hammerdb.{}", key.to_ascii_lowercase());
                    out.metric(None, None, &name, &labels, value, unit);
                }
                continue;
            }
            let name = match key {
                "CALLS" => names::TRANSACTIONS,
                "MIN" => names::LATENCY_MIN,
                "AVG" => names::LATENCY_MEAN,
                "MAX" => names::LATENCY_MAX,
                "SD" => names::LATENCY_SD,
                _ => {
                    if let Some(percent) = key.strip_prefix('P').and_then(number) {
                        results.percentile(out, percent, &self.procedure, value);
                    }
                    continue;
                }
            };
            results.of(out, name, &self.procedure, value);
        }
    }

    /// `2019-05-24 11:50:05 to 2019-05-24 11:50:14`
    fn span(&mut self, text: &str) -> Option<(Micros, f64)> {
        let (begin, end) = text.trim_end_matches(':').split_once(" to ")?;
        let mut moment = |text: &str| {
            let (date, time) = text.trim().split_once(' ')?;
            Some(self.clock.moment(civil_date(date)?.to_datetime(civil_time(time, None)?)))
        };
        let (begin, end) = (moment(begin)?, moment(end)?);
        Some((end, end.seconds_since(begin)))
    }

    /// Rows of `etprof`: `|neword|MIN-391|P50%-685|P95%-1286|P99%-3298|MAX-246555|SAMPLES-3603`, and of
    /// its summary `|neword |82051665|39.96%| 36264| 2262| 93452341|`.
    fn row(&self, text: &str, out: &mut Out<'_>) {
        let mut cells = text.trim_matches('|').split('|').map(str::trim);
        let Some(procedure) = cells.next() else { return };
        if !text.contains("SAMPLES-") {
            let cells: Vec<_> = cells.take(8).collect();
            let [_, _, calls, mean, ..] = cells[..] else { return };
            let mut results = Results::default();
            results.of(out, names::TRANSACTIONS, procedure, number(calls));
            results.of(out, names::LATENCY_MEAN, procedure, number(mean).map(|us| us / 1e3));
            return;
        }
        let (t, dt) = self.interval.unzip();
        let dt = dt.filter(|dt| *dt > 0.0);
        let mut row = out.row(&load::TABLE, t, dt);
        row.str(load::generator, "hammerdb").str(load::operation, procedure);
        for (key, value) in cells.filter_map(|cell| cell.split_once('-')) {
            let value = number(value);
            let ms = value.map(|us| us / 1e3);
            match key {
                "MIN" => row.f64(load::latency_min_ms, ms),
                "P50%" => row.f64(load::latency_p50_ms, ms),
                "P95%" => row.f64(load::latency_p95_ms, ms),
                "P99%" => row.f64(load::latency_p99_ms, ms),
                "MAX" => row.f64(load::latency_max_ms, ms),
                "SAMPLES" => row.f64(load::transactions_per_s, value.zip(dt).map(|(n, dt)| n / dt)),
                _ => &mut row,
            };
        }
    }
}

/// Parts of lines that say what is being done.
const KNOWN: &[&str] = &[
    "ALL VIRTUAL USERS COMPLETE",
    "Benchmark Run jobid",
    "Database set to",
    "Benchmark set to",
    "Dropping",
    "HammerDB",
    "Hammerdb Transaction Counter Log @",
    "Hammerdb Time Profile Report @",
    "Logging activated",
    "Script loaded",
    "Starting",
    "Stopping",
    "Transaction Counter",
    "VU TEST",
    "Value ",
    "Virtual Users Created",
    "changed from",
    "created MONITOR",
    "created - WAIT IDLE",
    "hammerdb>",
    "to /",
    "vudestroy",
    "Initialized",
    "Type ",
    "Copyright",
    "The xml is well-formed",
    "Vuser ",
    "Unique",
    "Hammerdb Log @",
    "Timestamp ",
    "Use",
    "TX Logging",
];

#[cfg(test)]
mod tests {
    use crate::fixtures::read;

    #[test]
    fn a_profile_has_the_periods_that_stand_above_it() {
        let text = "\
Hammerdb Log @ Fri Jul 05 09:55:26 BST 2019
Vuser 2:|PERCENTILES 2019-07-05 09:55:46 to 2019-07-05 09:55:56
Vuser 2:|neword|MIN-391|P50%-685|P95%-1286|P99%-3298|MAX-246555|SAMPLES-3603
Vuser 2:|PERCENTILES 2019-07-05 09:55:56 to 2019-07-05 09:56:06
Vuser 2:|neword|MIN-391|P50%-685|P95%-1286|P99%-3298|MAX-246555|SAMPLES-3000
";
        let read = read(&super::FORMAT, text.as_bytes());
        for row in [
            "2019-07-05T08:55:56.000000Z\t10\tfixture\thammerdb\tneword\t360.3\t",
            "2019-07-05T08:56:06.000000Z\t10\tfixture\thammerdb\tneword\t300\t",
        ] {
            assert!(read.text.contains(row), "{}", read.text);
        }
    }

    #[test]
    fn settings_are_kept_and_passwords_are_not() {
        let text = "HammerDB CLI v4.9\nChanged tpcc:pg_count_ware from 1 to 100 for PostgreSQL\n\
            Changed connection:mysql_pass from mysql to secret1 for MySQL\nmysql_pass = secret2\n\
            Vuser 1:TEST RESULT : System achieved 1234 NOPM from 5678 MySQL TPM\n";
        let read = crate::fixtures::read(&super::FORMAT, text.as_bytes());
        assert!(read.text.contains("hammerdb tpcc:pg_count_ware\t100"), "{}", read.text);
        assert!(!read.text.contains("secret"), "{}", read.text);
        assert_eq!(read.tally.notes, 1, "{}", read.text);
    }
}
