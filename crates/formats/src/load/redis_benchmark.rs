//! `redis-benchmark` and `valkey-benchmark`: the report of each test, `-q`, and `--csv` of version 6.2 and later.
//!
//! The tool is a closed loop: its latencies suffer from coordinated omission. With `-P` a latency is that of a whole pipeline,
//! while throughput counts its commands. Bars of progress, which overwrite each other on a terminal, are left out. Before 6.2
//! there are shares of requests by whole milliseconds and neither minimum nor mean.

use fenxi_model::catalog::histogram;

use super::{
    names::{self, LATENCY_BUCKETS, Name, Results},
    repeats::Repeats,
};
use crate::{Family, Fields, Format, Head, Input, Out, Splitter, Sure, number};

/// Importer for redis-benchmark, valkey-benchmark.
pub static FORMAT: Format = Format {
    name: "redis-benchmark",
    summary: "redis-benchmark, valkey-benchmark: report, -q, --csv",
    family: Family::Load,
    tables: &[&histogram::TABLE],
    example: "\
====== SET ======
  20000 requests completed in 0.31 seconds
  20 parallel clients
  3 bytes payload
",
    sniff,
    read,
};

/// The text on the terminal after a line's overwrites.
fn last(line: &str) -> &str {
    line.rsplit('\r').map(str::trim).find(|part| !part.is_empty()).unwrap_or("")
}

fn title(line: &str) -> Option<&str> {
    line.strip_prefix("====== ")?.strip_suffix(" ======")
}

/// `SET: 48543.69 requests per second, p50=0.239 msec`
fn quick(line: &str) -> Option<(&str, f64, Option<f64>)> {
    let (test, rest) = line.rsplit_once(": ")?;
    let (rate, more) = rest.split_once(" requests per second")?;
    if test == "throughput summary" {
        return None;
    }
    let median = more.strip_prefix(", p50=").and_then(|m| number(m.strip_suffix(" msec")?));
    (median.is_some() || more.is_empty()).then_some((test, number(rate)?, median))
}

const CSV: &str = "\"test\",\"rps\",\"avg_latency_ms\"";

fn sniff(head: &Head<'_>) -> Sure {
    let report = head.any(|l| title(last(l)).is_some())
        && head.any(|l| l.contains(" requests completed in ") && l.ends_with(" seconds"))
        && head.any(|l| l.ends_with(" parallel clients"));
    let (mut timed, mut quick_ones, mut others) = (false, 0, 0);
    let complete = head.text.rfind('\n').map_or("", |end| head.text.get(..end).unwrap_or(""));
    for line in complete.lines().take(400).map(last).filter(|line| !line.is_empty()) {
        match quick(line) {
            Some((.., median)) => (timed, quick_ones) = (timed || median.is_some(), quick_ones + 1),
            None => others += 1,
        }
    }
    // Before 6.2 the lines have no median: then all of them must be like that.
    let old = quick_ones > 0 && others == 0;
    Sure::Certain.when(report || timed || head.first().starts_with(CSV)).max(Sure::Likely.when(old))
}

#[derive(Default)]
struct Reader {
    repeats: Repeats,
    test: String,
    results: Results,
    tests: u64,
    /// Upper bounds in milliseconds and how many requests are not above them.
    points: Vec<(f64, f64)>,
    /// The next line has the figures of the summary.
    figures: bool,
}

fn read(input: &mut Input<'_>, out: &mut Out<'_>) {
    let mut reader = Reader::default();
    let mut splitter = Splitter::default();
    if input.head().trim_start().starts_with(CSV) {
        csv(input, out);
        return;
    }
    while input.line().is_some() {
        let (number, line) = (input.number(), last(input.text()));
        if !line.is_empty() && !reader.line(line, &splitter.blanks(line), out) {
            out.unknown(number, line, "no line of redis-benchmark");
        }
    }
    reader.flush(out);
}

impl Reader {
    fn line(&mut self, line: &str, words: &Fields<'_>, out: &mut Out<'_>) -> bool {
        if let Some(test) = title(line) {
            self.flush(out);
            test.clone_into(&mut self.test);
            self.results = self.repeats.next(test);
            self.tests += 1;
            return true;
        }
        if let Some((test, rate, median)) = quick(line) {
            let mut results = self.repeats.next(test);
            results.of(out, names::THROUGHPUT, test, rate);
            results.percentile(out, 50.0, test, median);
            return true;
        }
        let (first, test) = (number(words.get(0)), self.test.as_str());
        let results = &mut self.results;
        if line.contains(" requests completed in ") {
            results.of(out, names::TRANSACTIONS, test, first);
            results.of(out, names::ELAPSED, test, number(words.get(4)));
        } else if line.ends_with(" parallel clients") {
            results.of(out, names::CLIENTS, test, first);
        } else if let Some(rate) = line.strip_prefix("throughput summary: ") {
            results.of(out, names::THROUGHPUT, test, rate.split(' ').next().and_then(number));
        } else if line.starts_with("avg ") {
            self.figures = true;
            return line.split_ascii_whitespace().eq(COLUMNS.iter().map(|(name, _)| *name));
        } else if std::mem::take(&mut self.figures) && words.len() == COLUMNS.len() {
            for (i, (_, figure)) in COLUMNS.iter().enumerate() {
                write(results, out, *figure, test, number(words.get(i)));
            }
        } else if let Some(share) = words.get(0).strip_suffix('%').filter(|_| words.get(1) == "<=") {
            return self.share(number(share), words, out);
        } else if line.ends_with(" requests per second") && words.len() == 4 {
            results.of(out, names::THROUGHPUT, test, first);
        } else if SETTINGS.iter().any(|s| line.contains(s)) {
            if self.tests == 1 {
                setting(line, out);
            }
        } else {
            // A bar of progress that was cut, or a title.
            return line.contains(": rps=") || line.ends_with(':');
        }
        true
    }

    /// `50.000% <= 0.207 milliseconds (cumulative count 10330)`, before 6.2 without the count.
    fn share(&mut self, share: Option<f64>, words: &Fields<'_>, out: &mut Out<'_>) -> bool {
        let Some(ms) = number(words.get(2)).filter(|_| words.get(3).starts_with("millisecond")) else { return false };
        match number(words.get(6).trim_end_matches(')')) {
            Some(count) => {
                if self.points.len() < 4096 {
                    self.points.push((ms, count));
                }
            }
            None => {
                let labels = format!("test={},ms={ms}", self.test.replace(',', "_"));
                out.metric(None, None, "redis-benchmark.share_within", &labels, share, "%");
            }
        }
        share.is_some()
    }

    /// Writes the distribution: both lists of the report are points of the same.
    fn flush(&mut self, out: &mut Out<'_>) {
        let mut points = std::mem::take(&mut self.points);
        points.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.total_cmp(&b.1)));
        let labels = format!("operation={}", self.test.replace(',', "_"));
        let (mut lo, mut below): (f64, f64) = (0.0, 0.0);
        for (ms, count) in points {
            if count > below && ms > lo {
                out.bucket(None, None, LATENCY_BUCKETS, &labels, lo, ms, "ms", count - below);
            }
            (lo, below) = (ms, count.max(below));
        }
    }
}

/// Result of a column of the summary.
#[derive(Clone, Copy)]
enum Figure {
    Known(Name),
    Percentile(f64),
}

const COLUMNS: [(&str, Figure); 6] = [
    ("avg", Figure::Known(names::LATENCY_MEAN)),
    ("min", Figure::Known(names::LATENCY_MIN)),
    ("p50", Figure::Percentile(50.0)),
    ("p95", Figure::Percentile(95.0)),
    ("p99", Figure::Percentile(99.0)),
    ("max", Figure::Known(names::LATENCY_MAX)),
];

fn write(results: &mut Results, out: &mut Out<'_>, figure: Figure, test: &str, value: Option<f64>) {
    match figure {
        Figure::Known(name) => results.of(out, name, test, value),
        Figure::Percentile(percent) => results.percentile(out, percent, test, value),
    }
}

const SETTINGS: [&str; 9] = [
    " bytes payload",
    "keep alive: ",
    "host configuration ",
    "multi-thread: ",
    "threads: ",
    "cluster mode: ",
    "node [",
    "node configuration ",
    " masters",
];

/// `keep alive: 1`, `3 bytes payload`
fn setting(line: &str, out: &mut Out<'_>) {
    if let Some((name, value)) = line.split_once(": ") {
        out.fact("load", &format!("redis-benchmark {}", name.replace('"', "")), value.trim_matches('"'));
    } else if let Some(payload) = line.strip_suffix(" bytes payload") {
        out.fact("load", "redis-benchmark payload bytes", payload);
    }
}

/// `"SET","243902.44","2.769",…` under the header.
fn csv(input: &mut Input<'_>, out: &mut Out<'_>) {
    let mut repeats = Repeats::default();
    let mut header: Vec<String> = Vec::new();
    while input.line().is_some() {
        let (line, text) = (input.number(), last(input.text()));
        let cells: Vec<&str> = text.trim_matches('"').split("\",\"").collect();
        if text.is_empty() {
            continue;
        }
        if text.starts_with(CSV) {
            header = cells.iter().map(|c| (*c).to_owned()).collect();
            continue;
        }
        let Some((test, figures)) = cells.split_first().filter(|_| cells.len() == header.len()) else {
            out.wrong_count(line, text, cells.len(), header.len());
            continue;
        };
        let mut results = repeats.next(test);
        for (name, value) in header.iter().skip(1).zip(figures) {
            let value = number(value);
            let short = name.trim_end_matches("_latency_ms");
            let known = COLUMNS.iter().find(|(column, _)| *column == short);
            match known {
                Some((_, figure)) => write(&mut results, out, *figure, test, value),
                None if name == "rps" => results.of(out, names::THROUGHPUT, test, value),
                None => results.named(out, &format!("redis-benchmark.{name}"), test, value, "", "neither"),
            }
            if value.is_none() {
                out.unknown(line, text, "a cell is no number");
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::FORMAT;
    use crate::{Head, detect, fixtures::read, load::tests::result};

    #[test]
    fn reports_before_6_2_have_shares_and_a_rate() {
        let text = "\
====== SET ======
  1000 requests completed in 0.02 seconds
  50 parallel clients
  3 bytes payload
  keep alive: 1

99.90% <= 1 milliseconds
100.00% <= 2 milliseconds
50000.00 requests per second

";
        assert_eq!(detect(&Head { text }).map(|f| f.name), Some("redis-benchmark"));
        let read = read(&FORMAT, text.as_bytes());
        assert_eq!(result(&read.text, "throughput[SET]"), Some(50_000.0), "{}", read.text);
        assert!(read.text.contains("redis-benchmark.share_within\ttest=SET,ms=1\t99.9\t%"), "{}", read.text);
        assert_eq!(read.tally.notes, 0);
        // -q
        let text = "SET: 81300.81 requests per second\nGET: 80000.00 requests per second\n\n";
        assert_eq!(detect(&Head { text }).map(|f| f.name), Some("redis-benchmark"));
        assert!(detect(&Head { text: "web: 12.00 requests per second\nand more\n" }).is_none());
    }
}
