//! HdrHistogram: the percentile distribution as text (`.hgrm`) or CSV, and the interval log (`.hlog`).
//!
//! Neither names its unit: values are kept as they are. A line of the distribution has how many values are not above it, so two
//! lines give a bucket. In a log the histograms themselves are compressed: their begin, length and maximum are read, the rest is not.

use fenxi_model::{Micros, catalog::histogram};

use super::names::percentile_name;
use crate::{Family, Format, Head, Input, Out, Relative, Sure, number};

/// Importer for HdrHistogram.
pub static FORMAT: Format = Format {
    name: "hdr-histogram",
    summary: "HdrHistogram: percentile distribution (text, CSV), interval log (maxima only)",
    family: Family::Load,
    tables: &[&histogram::TABLE],
    example: "\
       Value   Percentile   TotalCount 1/(1-Percentile)

        0.02     0.000000          136         1.00
#[Mean    =        0.169, StdDeviation   =        0.592]
",
    sniff,
    read,
};

fn is_header(line: &str) -> bool {
    line.split([',', ' ', '\t']).map(|w| w.trim_matches('"')).filter(|w| !w.is_empty()).eq([
        "Value",
        "Percentile",
        "TotalCount",
        "1/(1-Percentile)",
    ])
}

fn is_log(line: &str) -> bool {
    line.starts_with("#[") && line.contains("istogram log format version")
}

fn sniff(head: &Head<'_>) -> Sure {
    // Some load generators print the same within their reports.
    let log = head.lines().take_while(|l| l.starts_with("#[") || l.starts_with("\"Start")).any(is_log);
    // Below a line or two of text it is of no other format.
    let below = Sure::Likely.when(head.lines().skip(1).take(3).any(is_header));
    Sure::Certain.when(is_header(head.first()) || log).max(below)
}

fn read(input: &mut Input<'_>, out: &mut Out<'_>) {
    let log = input.head().lines().find(|l| !l.trim().is_empty()).is_some_and(|l| l.starts_with("#["));
    if log { read_log(input, out) } else { read_distribution(input, out) }
}

/// Percentiles that become results, where a line has just that one.
const PERCENTILES: [f64; 7] = [50.0, 75.0, 90.0, 95.0, 99.0, 99.9, 99.99];

fn read_distribution(input: &mut Input<'_>, out: &mut Out<'_>) {
    // The bucket that is not written yet: bounds, and how many values were below it and are below its end.
    let (mut lo, mut hi, mut below, mut upto) = (0.0, 0.0, 0.0, 0.0f64);
    // Percentiles that no line reached yet.
    let mut wanted = PERCENTILES.iter().peekable();
    input.each_line(|line, text| {
        let text = text.trim();
        if text.is_empty() || is_header(text) {
            return;
        }
        if let Some(rest) = text.strip_prefix("#[") {
            summary(rest.trim_end_matches(']'), out);
            return;
        }
        let words: Vec<&str> = text.split([',', ' ', '\t']).filter(|w| !w.is_empty()).collect();
        let (Some(value), Some(share), Some(count)) = (
            words.first().and_then(|w| number(w)),
            words.get(1).and_then(|w| number(w)),
            words.get(2).and_then(|w| number(w)),
        ) else {
            out.unknown(line, text, "expected a value, its percentile and a count");
            return;
        };
        // Values are rounded: several lines may have the same.
        if value > hi {
            if upto > below {
                out.bucket(None, None, "hdr-histogram", "", lo, hi, "", upto - below);
            }
            (lo, hi, below) = (hi, value, upto);
        }
        upto = upto.max(count);
        while let Some(percent) = wanted.next_if(|percent| share * 100.0 + 1e-9 >= **percent) {
            let name = format!("hdr-histogram.{}", percentile_name(*percent));
            out.result(&name, value, "", "neither");
        }
    });
    if upto > below {
        out.bucket(None, None, "hdr-histogram", "", lo, hi, "", upto - below);
    }
}

/// `Mean    =        0.169, StdDeviation   =        0.592`
fn summary(text: &str, out: &mut Out<'_>) {
    for (name, value) in text.split(',').filter_map(|part| part.split_once('=')) {
        let name = match name.trim() {
            "Mean" => "hdr-histogram.mean",
            "StdDeviation" => "hdr-histogram.sd",
            "Max" => "hdr-histogram.max",
            "Total count" => "hdr-histogram.count",
            // How the histogram is made.
            _ => continue,
        };
        if let Some(value) = number(value.trim()) {
            out.result(name, value, "", "neither");
        }
    }
}

#[derive(Default)]
struct Log {
    /// Seconds since 1970 that the lines count from.
    base: Option<f64>,
    start: Option<f64>,
    /// The second column is the end, not the length.
    ends: bool,
    relative: Option<Relative>,
    lines: u64,
}

fn read_log(input: &mut Input<'_>, out: &mut Out<'_>) {
    let mut log = Log::default();
    input.each_line(|number_, text| {
        let text = text.trim();
        let seconds = |name: &str| {
            let rest = text.strip_prefix("#[")?.strip_prefix(name)?;
            number(rest.trim_start_matches([':', ' ']).split(' ').next()?)
        };
        if let Some(base) = seconds("BaseTime") {
            log.base = Some(base);
        } else if let Some(start) = seconds("StartTime") {
            log.start = Some(start);
        } else if text.starts_with("\"StartTimestamp\"") {
            log.ends = text.contains("\"EndTimestamp\"");
        } else if !text.is_empty() && !text.starts_with('#') && !log.line(text, out) {
            out.unknown(number_, text, "expected begin, length, maximum and a histogram");
        }
    });
    if log.lines > 0 {
        out.assume("nothing of the histograms but their maxima, as they are compressed");
    }
}

impl Log {
    /// `[Tag=A,]0.127,1.007,2.769,HISTFAAAAE…`
    fn line(&mut self, text: &str, out: &mut Out<'_>) -> bool {
        let (tag, rest) = match text.strip_prefix("Tag=").and_then(|t| t.split_once(',')) {
            Some((tag, rest)) => (tag, rest),
            None => ("", text),
        };
        let cells: Vec<&str> = rest.splitn(4, ',').collect();
        let [begin, length, max, histogram] = cells[..] else { return false };
        let (Some(begin), Some(length), Some(max)) = (number(begin), number(length), number(max)) else { return false };
        if histogram.is_empty() {
            return false;
        }
        let length = if self.ends { length - begin } else { length };
        // Begins are since 1970, or since the base, or else since the start.
        let absolute = if begin > 1e8 { Some(begin) } else { self.base.or(self.start).map(|base| base + begin) };
        let t = match absolute {
            Some(begin) => Micros(((begin + length).clamp(0.0, 1e11) * 1e6).round() as i64),
            None => self.relative.get_or_insert_with(|| Relative::elapsed(out)).after(begin + length),
        };
        self.lines += 1;
        let labels = if tag.is_empty() { String::new() } else { format!("tag={tag}") };
        out.metric(t, Some(length).filter(|l| *l > 0.0), "hdr-histogram.interval_max", &labels, max, "");
        true
    }
}
