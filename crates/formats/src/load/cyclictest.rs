//! `cyclictest` of rt-tests: how late threads woke up, as text (`-q`) and with a histogram (`-h`, `-H`). Microseconds, or
//! nanoseconds with `-N`, which its text does not show.

use fenxi_model::catalog::histogram;

use super::names::{self, LATENCY_BUCKETS, Results};
use crate::{Family, Format, Head, Input, Out, Sure, number};

/// Importer for cyclictest of rt-tests.
pub static FORMAT: Format = Format {
    name: "cyclictest",
    summary: "cyclictest of rt-tests: latency of each thread, -h with a histogram",
    family: Family::Load,
    tables: &[&histogram::TABLE],
    example: "\
# /dev/cpu_dma_latency set to 0us
T: 0 (20158) P: 0 I:2000 C:    500 Min:     49 Act:   69 Avg:  107 Max:    2881
",
    sniff,
    read,
};

/// The most threads whose histograms are side by side.
const MOST_THREADS: usize = 4096;

/// `T: 0 (20158) P: 0 I:2000 C:    500 Min:     49 Act:   69 Avg:  107 Max:    2881`: the thread, and C, Min, Avg, Max.
fn thread(line: &str) -> Option<(u32, [Option<f64>; 4])> {
    let rest = line.strip_prefix("T:")?;
    let thread = rest.trim_start().split(' ').next()?.parse().ok()?;
    let after = |key: &str| number(rest.split_once(key)?.1.split_ascii_whitespace().next()?);
    rest.contains("Act:").then(|| (thread, [after("C:"), after("Min:"), after("Avg:"), after("Max:")]))
}

fn sniff(head: &Head<'_>) -> Sure {
    let histogram = head.any(|l| l.starts_with("# Min Latencies:")) && head.any(|l| l == "# Histogram");
    Sure::Certain
        .when(histogram || head.any(|line| thread(line).is_some()) || head.text.contains("# Histogram\n000000 "))
}

#[derive(Default)]
struct Reader {
    runs: u32,
    results: Results,
    /// Figures of the last line of each thread: without `-q` lines come again and again.
    threads: std::collections::BTreeMap<u32, [Option<f64>; 4]>,
}

fn read(input: &mut Input<'_>, out: &mut Out<'_>) {
    let mut reader = Reader { runs: 1, ..Reader::default() };
    while input.line().is_some() {
        let (at, line) = (input.number(), input.text().trim());
        if line.starts_with("# /dev/cpu_dma_latency") && !reader.threads.is_empty() {
            reader.end(out);
        }
        if let Some((thread, figures)) = thread(line) {
            if reader.threads.len() < MOST_THREADS {
                reader.threads.insert(thread, figures);
            }
        } else if !line.is_empty() && !reader.histogram(line, out) && !line.starts_with("policy: ") {
            out.unknown(at, line, "no line of cyclictest");
        }
    }
    reader.end(out);
}

impl Reader {
    fn end(&mut self, out: &mut Out<'_>) {
        for (thread, [cycles, min, mean, max]) in std::mem::take(&mut self.threads) {
            let operation = format!("thread {thread}");
            self.results.of(out, names::ITERATIONS, &operation, cycles);
            self.latency(out, &operation, [min, mean, max]);
        }
        self.runs = self.runs.saturating_add(1);
        self.results = Results::nth(self.runs);
    }

    fn latency(&mut self, out: &mut Out<'_>, operation: &str, figures: [Option<f64>; 3]) {
        let order = [names::LATENCY_MIN, names::LATENCY_MEAN, names::LATENCY_MAX];
        for (name, value) in order.into_iter().zip(figures) {
            self.results.of(out, name, operation, value.map(|us| us / 1e3));
        }
    }

    /// `000049 000012\t000003`: microseconds, and how often in each thread; `# Max Latencies: 33060 00120`.
    fn histogram(&mut self, line: &str, out: &mut Out<'_>) -> bool {
        let Some(comment) = line.strip_prefix('#') else {
            let mut figures = line.split_ascii_whitespace().map(number);
            let Some(Some(us)) = figures.next() else { return false };
            for (thread, count) in figures.enumerate().take(MOST_THREADS) {
                let Some(count) = count else { return false };
                if count > 0.0 {
                    let labels = format!("thread={thread}");
                    out.bucket(None, None, LATENCY_BUCKETS, &labels, us / 1e3, (us + 1.0) / 1e3, "ms", count);
                }
            }
            return true;
        };
        let Some((key, values)) = comment.trim().split_once(':') else { return true };
        let name = match key {
            "Total" => names::ITERATIONS,
            "Min Latencies" => names::LATENCY_MIN,
            "Avg Latencies" => names::LATENCY_MEAN,
            "Max Latencies" => names::LATENCY_MAX,
            "Histogram Overflows" => names::OVER_LIMIT,
            _ => return true,
        };
        let scale = if key.ends_with("Latencies") { 1e3 } else { 1.0 };
        for (thread, value) in values.split_ascii_whitespace().map(number).enumerate().take(MOST_THREADS) {
            self.results.of(out, name, &format!("thread {thread}"), value.map(|v| v / scale));
        }
        true
    }
}
