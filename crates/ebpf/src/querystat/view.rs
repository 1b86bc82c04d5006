//! `trace querystat`: queries in database servers.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt::Write,
};

use fenxi_live::{
    Frame, View,
    trace::{Buckets, Column, Distribution, Grouping, Groups, Row, Sum, Total, WithCost, in_unit},
};
use fenxi_model::{
    Micros, Place, RowsOf, Unit,
    catalog::{event, histogram, preemption as p, query as c},
    place::F64,
};
use fenxi_source::Options;

use crate::Setting;

/// Throughput after each interval, and all else at the end or then, too.
pub(super) fn new(options: &Options, _: &Setting) -> Box<dyn View> {
    Box::new(WithCost::new(Querystat::new(options)))
}

/// Shows the tables `query`, `histogram`, `preemption` and slow queries of `event`.
#[derive(Debug)]
struct Querystat {
    /// Everything after each interval, instead of at the end.
    each_interval: bool,
    /// How fine distributions are.
    buckets: Buckets,
    /// Statements and pre-emptors at most.
    top: usize,
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
    /// On a CPU, then waiting in the order of [`PARTS`].
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

/// Sums of one server.
#[derive(Debug)]
struct Server {
    /// All, those not pre-empted, those that were.
    totals: [Sums; 3],
    statements: Groups<c::Schema>,
    /// By what they are of: `preempted=no`, `result=hit`.
    distributions: BTreeMap<String, Distribution>,
    preemptors: Groups<p::Schema>,
}

/// Queries of statements: how many, their time, the longest; time in each of [`PARTS`]; how many were pre-empted.
const QUERIES: usize = 0;
const ELAPSED: usize = 1;
const LONGEST: usize = 2;
const PREEMPTED: usize = 9;

static STATEMENTS: Grouping<c::Schema> = Grouping {
    table: &c::TABLE,
    sums: &[
        Sum::Added(|row| of_all(row, None)),
        Sum::Added(|row| of_all(row, Some(c::mean_us))),
        Sum::Maximum(|row| if row.has(c::preempted) { 0.0 } else { row.value(c::max_us) }),
        Sum::Added(|row| of_all(row, Some(c::cpu_us))),
        Sum::Added(|row| of_all(row, Some(c::run_queue_us))),
        Sum::Added(|row| of_all(row, Some(c::block_io_us))),
        Sum::Added(|row| of_all(row, Some(c::lock_us))),
        Sum::Added(|row| of_all(row, Some(c::network_us))),
        Sum::Added(|row| of_all(row, Some(c::other_us))),
        Sum::Added(|row| if row.text(c::preempted) == "yes" { row.value(c::queries) } else { 0.0 }),
    ],
    columns: &[
        Column::Figure("QUERIES", |sums| format!("{:.0}", sums.of(QUERIES))),
        Column::Figure("%TIME", |sums| sums.share(ELAPSED)),
        Column::Figure("AVG", |sums| us(sums.mean(ELAPSED, QUERIES))),
        Column::Figure("MAX", |sums| us(Some(sums.of(LONGEST)))),
        Column::Figure("CPU", |sums| us(sums.mean(3, QUERIES))),
        Column::Figure("RUNQ", |sums| us(sums.mean(4, QUERIES))),
        Column::Figure("IO", |sums| us(sums.mean(5, QUERIES))),
        Column::Figure("LOCK", |sums| us(sums.mean(6, QUERIES))),
        Column::Figure("NET", |sums| us(sums.mean(7, QUERIES))),
        Column::Figure("OTHER", |sums| us(sums.mean(8, QUERIES))),
        Column::Figure("%PREEMPT", |sums| match sums.mean(PREEMPTED, QUERIES) {
            Some(share) => format!("{:.1}", 100.0 * share),
            None => "-".to_owned(),
        }),
        Column::Key("STATEMENT", |row| row.text(c::statement).to_owned()),
    ],
    order: |sums| [sums.of(ELAPSED), 0.0],
    total: Total::None,
    less: "",
};

/// Of a row that is about all queries of a statement, pre-empted or not: how many, or the sum of what a column has the
/// mean of.
fn of_all(row: Row<'_, c::Schema>, mean: Option<Place<c::Schema, F64>>) -> f64 {
    match mean {
        _ if row.has(c::preempted) => 0.0,
        None => row.value(c::queries),
        Some(place) => row.value(place) * row.value(c::queries),
    }
}

fn us(value: Option<f64>) -> String {
    in_unit(Unit::Microseconds, value)
}

static PREEMPTORS: Grouping<p::Schema> = Grouping {
    table: &p::TABLE,
    sums: &[Sum::Added(|row| row.value(p::preemptions)), Sum::Added(|row| row.value(p::waited_s))],
    columns: &[
        Column::Key(
            "PROGRAM",
            |row| if row.has(p::by_comm) { row.text(p::by_comm).to_owned() } else { "?".to_owned() },
        ),
        Column::Number("PID", |row| row.id_or(p::by_pid, "")),
        Column::Figure("TIMES", |sums| format!("{:.0}", sums.of(0))),
        Column::Figure("UNTIL BACK", |sums| Unit::Seconds.human(sums.of(1)).to_string()),
    ],
    order: |sums| [sums.of(0), 0.0],
    total: Total::None,
    less: "",
};

impl Default for Server {
    fn default() -> Server {
        let (statements, preemptors) = (Groups::new(&STATEMENTS), Groups::new(&PREEMPTORS));
        Server { totals: [Sums::default(); 3], statements, distributions: BTreeMap::new(), preemptors }
    }
}

impl Querystat {
    fn new(options: &Options) -> Querystat {
        let buckets = if options.is_given("fine") { Buckets::Fine } else { Buckets::Log2 };
        let (each_interval, top) = (options.is_given("each"), options.count("top"));
        Querystat { each_interval, buckets, top, began: false, elapsed_s: 0.0, servers: BTreeMap::new() }
    }

    fn server(&mut self, name: Option<&str>) -> &mut Server {
        self.servers.entry(name.unwrap_or("?").to_owned()).or_default()
    }

    /// Takes rows of `query`, and gives the queries of the interval by server.
    fn queries(&mut self, rows: RowsOf<'_, c::Schema>, dt: f64) -> BTreeMap<String, Sums> {
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
            let server = self.server(rows.str(row, c::server));
            if rows.str(row, c::digest).is_some() {
                continue;
            }
            let place = match rows.str(row, c::preempted) {
                None => 0,
                Some("no") => 1,
                Some(_) => 2,
            };
            server.totals[place].add(&sums);
            if place == 0 {
                now.entry(rows.str(row, c::server).unwrap_or("?").to_owned()).or_default().add(&sums);
            }
        }
        for (name, server) in &mut self.servers {
            let of_it = |row: Row<'_, c::Schema>| {
                row.has(c::digest) && (if row.has(c::server) { row.text(c::server) } else { "?" }) == name
            };
            server.statements.take(rows, dt, of_it);
        }
        now
    }

    fn distributions(&mut self, rows: RowsOf<'_, histogram::Schema>) {
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

    fn preemptors(&mut self, rows: RowsOf<'_, p::Schema>, dt: f64) {
        for row in 0..rows.n_rows() {
            self.server(rows.str(row, p::server));
        }
        for (name, server) in &mut self.servers {
            let of_it = |row: Row<'_, p::Schema>| (if row.has(p::server) { row.text(p::server) } else { "?" }) == name;
            server.preemptors.take(rows, dt, of_it);
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
        for (name, mut server) in std::mem::take(&mut self.servers) {
            let [all, no, yes] = server.totals;
            let _ = writeln!(out, "\n{name}: {:.0} queries in {elapsed_s:.1} s", all.queries);
            if all.queries == 0.0 {
                continue;
            }
            server.latencies(&all, self.buckets, out);
            server.cache(self.buckets, out);
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
            server.pushed_off(self.top, out);
            server.by_statement(&all, self.top, out);
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
                "median {median:.0} us, 95 % within {p95:.0} us, 99 % within {p99:.0} us, maximum {:.0} us",
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

    fn pushed_off(&mut self, top: usize, out: &mut String) {
        if !self.preemptors.is_empty() {
            let _ = writeln!(out, "Pre-emptors:");
            self.preemptors.show(0.0, top, out);
        }
    }

    fn by_statement(&mut self, all: &Sums, top: usize, out: &mut String) {
        let mut whole = self.statements.whole();
        // Statements that were not distinguished took their part, too.
        whole[ELAPSED] = all.elapsed;
        let _ = writeln!(out, "By statement, averages of one:");
        self.statements.show_of(&whole, 0.0, top, out);
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
        if let Some(rows) = frame.rows.of(&c::TABLE) {
            now = self.queries(rows, frame.dt);
        }
        if let Some(rows) = frame.rows.of(&histogram::TABLE) {
            self.distributions(rows);
        }
        if let Some(rows) = frame.rows.of(&p::TABLE) {
            self.preemptors(rows, frame.dt);
        }
        if let Some(rows) = frame.rows.of(&event::TABLE) {
            slow(rows, out);
        }
        self.throughput(frame, &now, out);
        if self.each_interval {
            self.show(out);
            out.push('\n');
        }
    }

    fn end(&mut self, out: &mut String) {
        if !self.each_interval {
            self.show(out);
        }
    }
}

fn slow(rows: RowsOf<'_, event::Schema>, out: &mut String) {
    for row in 0..rows.n_rows() {
        if rows.str(row, event::kind) == Some("slow query") {
            let t = rows.micros(row, event::t).map(Micros::iso).unwrap_or_default();
            let subject = rows.str(row, event::subject).unwrap_or("");
            let message = rows.str(row, event::message).unwrap_or("");
            let _ = writeln!(out, "{t}   slow  {subject}  {message}");
        }
    }
}
