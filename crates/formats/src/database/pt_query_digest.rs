//! `pt-query-digest` of the Percona Toolkit: what a server's slow log, general log or packets held,
//! statement by statement.
//!
//! Figures have factors behind them (`3.87k`, of 1000 for times and 1024 for the rest) and units
//! (`13ms`). The bars of a distribution are scaled to the longest and carry no counts: they are left
//! out. A statement that is not in the report's details is still in its profile.

use fenxi_model::{
    Micros,
    catalog::{db, db_statement},
};
use jiff::tz::TimeZone;
use rustc_hash::FxHashMap;

use crate::{Family, Format, Head, Input, Out, Sure, generic::labels::Labels, generic::when::moment, number, scaled};

/// Importer for pt-query-digest of the Percona Toolkit.
pub static FORMAT: Format = Format {
    name: "pt-query-digest",
    summary: "pt-query-digest of the Percona Toolkit: overall figures, profile and statements",
    family: Family::Database,
    tables: &[&db::TABLE, &db_statement::TABLE],
    example: "\
# Overall: 42 total, 11 unique, 0.88 QPS, 0.01x concurrency ______________
# Time range: 2026-11-21 08:56:09 to 08:56:57
# Attribute          total     min     max     avg     95%  stddev  median
",
    sniff,
    read,
};

fn sniff(head: &Head<'_>) -> Sure {
    let overall = |line: &str| line.starts_with("# Overall: ") && line.contains(" unique");
    let columns = |line: &str| line.starts_with("# Attribute ") && line.contains("stddev");
    let query = |line: &str| line.starts_with("# Query 1:") && line.contains(" QPS, ");
    Sure::Certain.when(head.any(overall) || (head.any(query) && head.any(columns)))
}

/// Part of the report at hand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Part {
    Header,
    Overall,
    Profile,
    Query,
    /// The statement's text after its figures.
    Text,
}

/// A statement.
#[derive(Debug, Default)]
struct Query {
    digest: String,
    /// Name of the statement in the profile.
    item: String,
    text: String,
    database: Option<String>,
    user: Option<String>,
    calls: Option<f64>,
    time_s: Option<f64>,
    max_s: Option<f64>,
    rows: Option<f64>,
    examined: Option<f64>,
    metrics: Vec<(String, f64)>,
}

/// The longest text of a statement that is kept.
const MAX_TEXT: usize = 16 << 10;
/// Statements that are kept; the tool itself prints some tens.
const MAX_QUERIES: usize = 1 << 16;

struct Reader {
    part: Part,
    queries: Vec<Query>,
    places: FxHashMap<String, usize>,
    current: Option<usize>,
    t: Option<Micros>,
    dt: Option<f64>,
    zone: TimeZone,
    overall: Vec<(String, [Option<f64>; 7])>,
    qps: Option<f64>,
    concurrency: Option<f64>,
}

fn read(input: &mut Input<'_>, out: &mut Out<'_>) {
    let mut reader = Reader {
        part: Part::Header,
        queries: Vec::new(),
        places: FxHashMap::default(),
        current: None,
        t: None,
        dt: None,
        zone: out.hints().zone.clone(),
        overall: Vec::new(),
        qps: None,
        concurrency: None,
    };
    input.each_line(|number, line| reader.line(number, line, out));
    reader.write(out);
}

impl Reader {
    fn line(&mut self, number: u64, line: &str, out: &mut Out<'_>) {
        let Some(comment) = line.strip_prefix('#') else {
            self.text(line);
            return;
        };
        let comment = comment.trim();
        if let Some(rest) = comment.strip_prefix("Overall:") {
            self.part = Part::Overall;
            self.overall_line(rest);
        } else if comment == "Profile" {
            self.part = Part::Profile;
        } else if let Some(rest) = comment.strip_prefix("Query ").or_else(|| comment.strip_prefix("Item ")) {
            if let Some((rank, rest)) = rest.split_once(':').filter(|(rank, _)| rank.parse::<u32>().is_ok()) {
                let _ = rank;
                self.begin_query(rest);
            }
        } else {
            match self.part {
                Part::Header => header(comment, out),
                Part::Profile => self.profile(number, comment, line, out),
                Part::Overall | Part::Query => self.attribute(comment),
                Part::Text => {}
            }
        }
    }

    /// `42 total, 11 unique, 0.88 QPS, 0.01x concurrency ____`.
    fn overall_line(&mut self, rest: &str) {
        let mut before = "";
        for word in rest.split_ascii_whitespace() {
            let word = word.trim_end_matches(',');
            match word {
                "QPS" => self.qps = scaled(before, 1000.0),
                "concurrency" => self.concurrency = scaled(before.trim_end_matches('x'), 1000.0),
                _ => {}
            }
            before = word;
        }
    }

    /// ` 6 QPS, 0.30x concurrency, ID 0x59A74D08D407B5ED at byte 6440`.
    fn begin_query(&mut self, rest: &str) {
        let mut words = rest.split_ascii_whitespace().skip_while(|word| *word != "ID").skip(1);
        self.part = Part::Query;
        self.current = words.next().and_then(|digest| self.place(digest));
    }

    /// The place of the statement with this identifier, which a profile may have cut.
    fn place(&mut self, digest: &str) -> Option<usize> {
        let digest = digest.trim_end_matches('.');
        if let Some(place) = self.places.get(digest) {
            return Some(*place);
        }
        // A profile of few rows: an identifier that begins alike is the same.
        let cut = self.queries.iter().take(1000).position(|q| digest.starts_with(&q.digest));
        if let Some(place) = cut {
            digest.clone_into(&mut self.queries[place].digest);
            self.places.insert(digest.to_owned(), place);
            return Some(place);
        }
        if self.queries.len() >= MAX_QUERIES {
            return None;
        }
        self.places.insert(digest.to_owned(), self.queries.len());
        self.queries.push(Query { digest: digest.to_owned(), ..Query::default() });
        Some(self.queries.len() - 1)
    }

    /// A row of the profile: rank, identifier, time and its share, calls, time per call, V/M, item.
    fn profile(&mut self, number: u64, comment: &str, line: &str, out: &mut Out<'_>) {
        let words: Vec<&str> = comment.split_ascii_whitespace().collect();
        match words.as_slice() {
            [] | ["Rank" | "====", ..] => {}
            ["MISC", _, time, _, calls, _, _, item @ ..] => {
                let query = Query {
                    digest: "MISC".to_owned(),
                    item: item.join(" "),
                    calls: amount(calls),
                    time_s: amount(time),
                    ..Query::default()
                };
                self.queries.push(query);
            }
            [rank, digest, time, share, calls, _, _, item @ ..]
                if number_of(rank) && digest.starts_with("0x") && share.ends_with('%') =>
            {
                let Some(place) = self.place(digest) else { return };
                let Some(query) = self.queries.get_mut(place) else { return };
                query.item = item.join(" ");
                query.time_s = amount(time);
                query.calls = amount(calls);
            }
            _ => out.unknown(number, line, "no row of a profile"),
        }
    }

    /// A row of figures, overall or of a statement.
    fn attribute(&mut self, comment: &str) {
        if let Some(range) = comment.strip_prefix("Time range:") {
            if self.part == Part::Overall {
                self.range(range);
            }
            return;
        }
        let query = self.current.filter(|_| self.part == Part::Query).and_then(|place| self.queries.get_mut(place));
        for (name, place) in [("Databases", 0), ("Users", 1)] {
            if let Some(value) = comment.strip_prefix(name).filter(|v| v.starts_with(' ')) {
                // Several are listed with their counts.
                let one = value.trim().split(' ').next().filter(|_| !value.contains('('));
                if let (Some(query), Some(one)) = (query, one) {
                    let into = if place == 0 { &mut query.database } else { &mut query.user };
                    *into = Some(one.to_owned());
                }
                return;
            }
        }
        let Some((name, values)) = name_and_values(comment) else { return };
        match query {
            None if self.part == Part::Overall => {
                let mut row = [None; 7];
                for (into, value) in row.iter_mut().zip(values) {
                    *into = value;
                }
                self.overall.push((name.to_owned(), row));
            }
            None => {}
            Some(query) => {
                // Of a statement the share of all comes first.
                let total = values.get(1).copied().flatten();
                match name {
                    "Count" => query.calls = total.or(query.calls),
                    "Exec time" => {
                        // The profile has more digits.
                        query.time_s = query.time_s.or(total);
                        query.max_s = values.get(3).copied().flatten();
                    }
                    "Rows sent" => query.rows = total,
                    "Rows examine" => query.examined = total,
                    _ => query.metrics.extend(total.map(|total| (name.to_owned(), total))),
                }
            }
        }
    }

    /// `2026-11-21 08:56:09 to 08:56:57`, or `all events occurred at 2026-11-21 08:56:09`.
    fn range(&mut self, range: &str) {
        let range = range.trim().trim_start_matches("all events occurred at ");
        let (begin, end) = range.split_once(" to ").unwrap_or((range, range));
        let first = moment(&begin.replace('T', " "), &self.zone);
        // The end leaves out the date when it is the begin's.
        let dated = match begin.split_once([' ', 'T']) {
            Some((date, _)) if !end.contains('-') => format!("{date} {}", end.trim()),
            _ => end.replace('T', " "),
        };
        self.t = moment(&dated, &self.zone).or(first);
        self.dt = first.zip(self.t).map(|(first, last)| last.seconds_since(first)).filter(|dt| *dt > 0.0);
    }

    /// A line that is no comment: the statement itself, or how it reads as a SELECT.
    fn text(&mut self, line: &str) {
        if line.trim().is_empty() {
            return;
        }
        let first = self.part == Part::Query;
        if !first && self.part != Part::Text {
            return;
        }
        self.part = Part::Text;
        let Some(query) = self.current.and_then(|place| self.queries.get_mut(place)) else { return };
        // Text after the first statement was made from it for EXPLAIN.
        let whole = query.text.ends_with("\\G");
        if !whole && query.text.len() + line.len() < MAX_TEXT {
            if !query.text.is_empty() {
                query.text.push(' ');
            }
            query.text.push_str(line.trim());
        }
    }

    fn write(self, out: &mut Out<'_>) {
        let (t, dt) = (self.t, self.dt);
        let total = |name: &str| self.overall.iter().find(|(n, _)| n == name).map(|(_, values)| *values);
        let column = |name: &str, place: usize| total(name).and_then(|values| values.get(place).copied().flatten());
        if self.qps.is_some() || !self.overall.is_empty() {
            let mut row = out.row(&db::TABLE, t, dt);
            row.f64(db::statements_per_s, self.qps).f64(db::active_sessions, self.concurrency);
            if let (Some(sent), Some(dt)) = (column("Rows sent", 0), dt) {
                row.f64(db::rows_returned_per_s, sent / dt);
            }
        }
        if let Some(qps) = self.qps {
            out.result("throughput", qps, "/s", "higher");
        }
        for (name, place) in [("latency_mean", 3), ("latency_p95", 4), ("latency_max", 2), ("latency_p50", 6)] {
            if let Some(seconds) = column("Exec time", place) {
                out.result(name, seconds * 1000.0, "ms", "lower");
            }
        }
        for (name, values) in &self.overall {
            if let Some(total) = values[0] {
                out.metric(t, dt, &format!("pt-query-digest.{}", plain(name)), "", total, unit(name));
            }
        }
        for query in self.queries {
            write_query(query, (t, dt), out);
        }
    }
}

fn write_query(query: Query, (t, dt): (Option<Micros>, Option<f64>), out: &mut Out<'_>) {
    let rate = |count: Option<f64>| Some(count? / dt?);
    let text = query.text.strip_suffix("\\G").unwrap_or(&query.text);
    let statement = if text.is_empty() { query.item.as_str() } else { text };
    let calls = query.calls.filter(|calls| *calls > 0.0);
    let mut row = out.row(&db_statement::TABLE, t, dt);
    row.str(db_statement::digest, query.digest.as_str());
    row.str(db_statement::statement, Some(statement).filter(|s| !s.is_empty()));
    row.str(db_statement::database, query.database.as_deref()).str(db_statement::user, query.user.as_deref());
    row.f64(db_statement::calls_per_s, rate(query.calls)).f64(db_statement::time, rate(query.time_s));
    row.f64(db_statement::mean_ms, query.time_s.zip(calls).map(|(time, calls)| time * 1000.0 / calls));
    row.f64(db_statement::max_ms, query.max_s.map(|seconds| seconds * 1000.0));
    row.f64(db_statement::rows_per_s, rate(query.rows));
    row.f64(db_statement::rows_examined_per_s, rate(query.examined));
    let labels = Labels::of("digest", &query.digest);
    for (name, value) in &query.metrics {
        out.metric(t, dt, &format!("pt-query-digest.{}", plain(name)), labels.text(), *value, unit(name));
    }
}

/// The text before the first part.
fn header(comment: &str, out: &mut Out<'_>) {
    if let Some(host) = comment.strip_prefix("Hostname:") {
        // Where the tool ran, which need not be where the server does.
        out.fact("pt-query-digest", "host of the tool", host.trim());
    } else if let Some(files) = comment.strip_prefix("Files:") {
        out.fact("pt-query-digest", "files", files.trim());
    }
}

fn number_of(word: &str) -> bool {
    word.parse::<u32>().is_ok()
}

/// The name of a row of figures and its figures; None for what is no such row.
fn name_and_values(comment: &str) -> Option<(&str, Vec<Option<f64>>)> {
    // Names are padded to twelve characters.
    let name = comment.get(..12).unwrap_or(comment).trim();
    let rest = comment.get(12..)?;
    if name.is_empty() || name.starts_with('=') || name == "Attribute" || rest.contains('%') {
        return None;
    }
    let time = name.ends_with("time");
    let values: Vec<Option<f64>> =
        rest.split_ascii_whitespace().map(|word| if time { seconds(word) } else { amount(word) }).collect();
    (values.len() >= 2 && values.iter().all(Option::is_some)).then_some((name, values))
}

/// A number with a factor of 1024.
fn amount(word: &str) -> Option<f64> {
    scaled(word, 1024.0)
}

/// A time: `0`, `13ms`, `206us`, `1s`, `2m`, `3h`.
fn seconds(word: &str) -> Option<f64> {
    let factors = [("ms", 1e-3), ("us", 1e-6), ("ns", 1e-9), ("s", 1.0), ("m", 60.0), ("h", 3600.0), ("d", 86_400.0)];
    match factors.iter().find_map(|(unit, factor)| Some((word.strip_suffix(unit)?, factor))) {
        Some((digits, factor)) => Some(number(digits)? * factor),
        None => number(word),
    }
}

fn plain(name: &str) -> String {
    name.to_lowercase().replace(' ', "_")
}

fn unit(name: &str) -> &'static str {
    match name {
        _ if name.ends_with("time") => "s",
        "Bytes sent" | "Query size" | "Tmp tbl size" => "B",
        _ => "",
    }
}
