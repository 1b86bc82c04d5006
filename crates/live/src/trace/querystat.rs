//! `trace querystat`: queries inside database servers.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt::Write,
};

use fenxi_model::{
    Micros, TableId, TableRows, Unit,
    catalog::{T, event, histogram, preemption as p, query as c},
};

use super::{
    distribution::{Buckets, Distribution},
    observed::table,
};
use crate::{Frame, View};

/// What is shown.
#[derive(Clone, Copy, Debug)]
pub struct QuerystatOptions {
    /// Everything after each interval, instead of at the end.
    pub each_interval: bool,
    /// How fine distributions are.
    pub buckets: Buckets,
    /// Statements and pre-emptors at most.
    pub top: usize,
}

/// Shows the tables `query`, `histogram`, `preemption` and slow queries of `event`.
#[derive(Debug)]
pub struct Querystat {
    options: QuerystatOptions,
    began: bool,
    elapsed_s: f64,
    servers: BTreeMap<String, Server>,
}

/// Queries of one kind, times in microseconds all together.
#[derive(Clone, Copy, Debug, Default)]
struct Sums {
    queries: f64,
    elapsed: f64,
    longest: f64,
    /// On a CPU, then waiting as [`PARTS`] says.
    parts: [f64; 6],
}

const PARTS: [&str; 6] = ["on CPU", "run queue", "block I/O", "lock", "network", "other"];

impl Sums {
    fn add(&mut self, more: &Sums) {
        self.queries += more.queries;
        self.elapsed += more.elapsed;
        self.longest = self.longest.max(more.longest);
        self.parts.iter_mut().zip(more.parts).for_each(|(sum, more)| *sum += more);
    }

    fn mean(&self) -> f64 {
        self.elapsed / self.queries
    }
}

/// What was seen of one server.
#[derive(Debug, Default)]
struct Server {
    /// All, those not pre-empted, those that were.
    totals: [Sums; 3],
    statements: BTreeMap<String, Statement>,
    /// By what they are of: `preempted=no`, `result=hit`.
    distributions: BTreeMap<String, Distribution>,
    /// Times and seconds by program and process.
    preemptors: BTreeMap<(String, Option<i64>), (f64, f64)>,
}

#[derive(Debug, Default)]
struct Statement {
    text: String,
    sums: Sums,
    preempted: f64,
}

impl Querystat {
    /// Shows as `options` say.
    pub fn new(options: QuerystatOptions) -> Querystat {
        Querystat { options, began: false, elapsed_s: 0.0, servers: BTreeMap::new() }
    }

    fn server(&mut self, name: Option<&str>) -> &mut Server {
        self.servers.entry(name.unwrap_or("?").to_owned()).or_default()
    }

    /// Takes rows of `query`, and gives the queries of the interval by server.
    fn queries(&mut self, rows: &TableRows) -> BTreeMap<String, Sums> {
        let mut now = BTreeMap::<String, Sums>::new();
        for row in 0..rows.n_rows() {
            let value = |place| rows.f64(row, place).unwrap_or(0.0);
            let queries = value(c::queries);
            let means = [c::cpu_us, c::run_queue_us, c::block_io_us, c::lock_us, c::network_us, c::other_us];
            let sums = Sums {
                queries,
                elapsed: value(c::mean_us) * queries,
                longest: value(c::max_us),
                parts: means.map(|place| value(place) * queries),
            };
            let preempted = rows.str(row, c::preempted);
            let server = self.server(rows.str(row, c::server));
            let Some(digest) = rows.str(row, c::digest) else {
                let place = match preempted {
                    None => 0,
                    Some("no") => 1,
                    Some(_) => 2,
                };
                server.totals[place].add(&sums);
                if place == 0 {
                    now.entry(rows.str(row, c::server).unwrap_or("?").to_owned()).or_default().add(&sums);
                }
                continue;
            };
            let statement = server.statements.entry(digest.to_owned()).or_default();
            match preempted {
                None => {
                    statement.sums.add(&sums);
                    rows.str(row, c::statement).unwrap_or("").clone_into(&mut statement.text);
                }
                Some("yes") => statement.preempted += queries,
                Some(_) => {}
            }
        }
        now
    }

    fn distributions(&mut self, rows: &TableRows) {
        for row in 0..rows.n_rows() {
            let labels = rows.str(row, histogram::labels).unwrap_or("");
            let Some((server, of)) = labels.strip_prefix("server=").and_then(|labels| labels.split_once(',')) else {
                continue;
            };
            let (low, count) = (rows.f64(row, histogram::lo), rows.f64(row, histogram::count));
            if let (Some(low), Some(count)) = (low, count) {
                self.server(Some(server)).distributions.entry(of.to_owned()).or_default().add(low, count);
            }
        }
    }

    fn preemptors(&mut self, rows: &TableRows) {
        for row in 0..rows.n_rows() {
            let who = (rows.str(row, p::by_comm).unwrap_or("?").to_owned(), rows.i64(row, p::by_pid));
            let sums = self.server(rows.str(row, p::server)).preemptors.entry(who).or_default();
            sums.0 += rows.f64(row, p::preemptions).unwrap_or(0.0);
            sums.1 += rows.f64(row, p::waited_s).unwrap_or(0.0);
        }
    }

    fn throughput(&self, frame: &Frame<'_>, now: &BTreeMap<String, Sums>, out: &mut String) {
        let names: BTreeSet<&String> = self.servers.keys().chain(now.keys()).collect();
        let mut line = |name: &str, sums: Sums| {
            let _ = write!(out, "{}   throughput {:.0} queries/sec", frame.t.iso(), sums.queries / frame.dt);
            if sums.queries > 0.0 {
                let _ = write!(out, ", average latency {:.0} us", sums.mean());
            }
            let _ = if name.is_empty() { writeln!(out) } else { writeln!(out, "  {name}") };
        };
        if names.is_empty() {
            line("", Sums::default());
        }
        for name in &names {
            line(name, now.get(*name).copied().unwrap_or_default());
        }
    }

    fn show(&mut self, out: &mut String) {
        let elapsed_s = std::mem::take(&mut self.elapsed_s);
        for (name, server) in std::mem::take(&mut self.servers) {
            let [all, no, yes] = server.totals;
            let _ = writeln!(out, "\n{name}: {:.0} queries in {elapsed_s:.1} s", all.queries);
            if all.queries == 0.0 {
                continue;
            }
            server.latencies(&all, self.options.buckets, out);
            server.cache(self.options.buckets, out);
            for (sums, was) in [(no, "WAS NOT"), (yes, "    WAS")] {
                if sums.queries > 0.0 {
                    let mean = sums.mean();
                    let _ = writeln!(
                        out,
                        "Average latency when query {was} pre-empted: {mean:.0} us ({:.0})",
                        sums.queries
                    );
                }
            }
            server.pushed_off(self.options.top, out);
            server.by_statement(&all, self.options.top, out);
        }
    }
}

impl Server {
    fn latencies(&self, all: &Sums, buckets: Buckets, out: &mut String) {
        let _ = writeln!(out, "Average latency, all queries: {:.0} us", all.mean());
        let parts = PARTS.iter().zip(all.parts).filter(|(_, time)| *time > 0.0);
        let shares: Vec<String> = parts
            .map(|(name, time)| format!("{name} {:.0} us ({:.1}%)", time / all.queries, 100.0 * time / all.elapsed))
            .collect();
        let _ = writeln!(out, "Where it went: {}", shares.join(", "));
        let mut whole = Distribution::default();
        let of = self.distributions.iter().filter(|(name, _)| name.starts_with("preempted="));
        of.for_each(|(_, distribution)| whole.merge(distribution));
        if let (Some(median), Some(p95), Some(p99)) = (whole.quantile(0.5), whole.quantile(0.95), whole.quantile(0.99))
        {
            let _ = writeln!(
                out,
                "median {median:.0} us, 95 % within {p95:.0} us, 99 % within {p99:.0} us, longest {:.0} us",
                all.longest
            );
        }
        let _ = writeln!(out, "Latency distribution, all queries (us):");
        whole.draw(buckets, out);
    }

    fn cache(&self, buckets: Buckets, out: &mut String) {
        let kinds = ["hit", "miss"];
        let found: Vec<_> =
            kinds.iter().filter_map(|kind| Some((kind, self.distributions.get(&format!("result={kind}"))?))).collect();
        if found.is_empty() {
            return;
        }
        let _ = writeln!(out, "Query cache statistics:");
        for (kind, distribution) in &found {
            let _ = writeln!(out, "    count{kind:>16}: {:.0}", distribution.count());
        }
        for (kind, distribution) in &found {
            let _ = writeln!(out, "Latency distribution, for query cache {kind} (us):");
            distribution.draw(buckets, out);
        }
    }

    fn pushed_off(&self, top: usize, out: &mut String) {
        if self.preemptors.is_empty() {
            return;
        }
        let mut who: Vec<_> = self.preemptors.iter().collect();
        who.sort_by(|(_, a), (_, b)| b.0.total_cmp(&a.0));
        let rows = who.iter().map(|((comm, pid), (times, waited_s))| {
            let pid = pid.map_or_else(String::new, |pid| pid.to_string());
            vec![comm.clone(), pid, format!("{times:.0}"), Unit::Seconds.human(*waited_s).to_string()]
        });
        let _ = writeln!(out, "Pre-emptors:");
        table(&["PROGRAM", "PID", "TIMES", "UNTIL BACK"], &[1, 2, 3], rows, (top, ""), out);
    }

    fn by_statement(&self, all: &Sums, top: usize, out: &mut String) {
        let mut statements: Vec<_> = self.statements.values().collect();
        statements.sort_by(|a, b| b.sums.elapsed.total_cmp(&a.sums.elapsed));
        let us = |value: f64| Unit::Microseconds.human(value).to_string();
        let rows = statements.iter().map(|s| {
            let mut cells = vec![
                format!("{:.0}", s.sums.queries),
                format!("{:.1}", 100.0 * s.sums.elapsed / all.elapsed),
                us(s.sums.mean()),
                us(s.sums.longest),
            ];
            cells.extend(s.sums.parts.map(|time| us(time / s.sums.queries)));
            cells.push(format!("{:.1}", 100.0 * s.preempted / s.sums.queries));
            cells.push(s.text.clone());
            cells
        });
        let header =
            ["QUERIES", "%TIME", "AVG", "MAX", "CPU", "RUNQ", "IO", "LOCK", "NET", "OTHER", "%PREEMPT", "STATEMENT"];
        let _ = writeln!(out, "By statement, averages of one:");
        let right: Vec<usize> = (0..header.len() - 1).collect();
        table(&header, &right, rows, (top, ""), out);
    }
}

impl View for Querystat {
    fn frame(&mut self, frame: &Frame<'_>, out: &mut String) {
        if !self.began {
            self.began = true;
            let _ = writeln!(out, "Tracing started before {}", frame.t.iso());
        }
        self.elapsed_s += frame.dt;
        let mut now = BTreeMap::new();
        for rows in frame.rows.tables() {
            match rows.table().id {
                TableId::query => now = self.queries(rows),
                TableId::histogram => self.distributions(rows),
                TableId::preemption => self.preemptors(rows),
                TableId::event => slow(rows, out),
                _ => {}
            }
        }
        self.throughput(frame, &now, out);
        if self.options.each_interval {
            self.show(out);
            out.push('\n');
        }
    }

    fn end(&mut self, out: &mut String) {
        if !self.options.each_interval {
            self.show(out);
        }
    }
}

fn slow(rows: &TableRows, out: &mut String) {
    for row in 0..rows.n_rows() {
        if rows.str(row, event::kind) == Some("slow query") {
            let t = rows.micros(row, T).map(Micros::iso).unwrap_or_default();
            let text = |place| rows.str(row, place).unwrap_or("");
            let _ = writeln!(out, "{t}   slow  {}  {}", text(event::subject), text(event::message));
        }
    }
}
