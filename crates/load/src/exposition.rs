//! Prometheus metrics of a load.

use std::{collections::BTreeMap, fmt::Write as _};

use crate::{engine::Interval, report::Summary};

/// Codes that are distinguished: a server may have as many as it likes.
const CODES: usize = 500;
/// The code of all others.
const OTHERS: &str = "others";

/// The last interval and the counts since the beginning, as Prometheus reads them.
#[derive(Clone, Debug, Default)]
pub struct Exposition {
    transactions: u64,
    failed: u64,
    retries: u64,
    reconnects: u64,
    statements: [u64; 3],
    errors: BTreeMap<String, u64>,
    last: Option<Summary>,
}

impl Exposition {
    /// Adds an interval.
    pub fn add(&mut self, interval: &Interval) {
        let tally = &interval.tally;
        self.transactions += tally.transactions;
        self.failed += tally.failed;
        self.retries += tally.retries;
        self.reconnects += tally.reconnects;
        for (sum, count) in self.statements.iter_mut().zip([tally.reads, tally.writes, tally.others]) {
            *sum += count;
        }
        for (failure, (count, _)) in &tally.errors {
            let code = failure.to_string();
            let is_one_too_many = self.errors.len() >= CODES && !self.errors.contains_key(&code);
            *self.errors.entry(if is_one_too_many { OTHERS.to_owned() } else { code }).or_default() += count;
        }
        self.last = Some(Summary::from_interval(interval));
    }

    /// The text.
    pub fn text(&self) -> String {
        let mut out = String::new();
        let mut counter = |name: &str, help: &str, values: &[(String, u64)]| {
            let _ = writeln!(out, "# HELP fenxi_load_{name} {help}\n# TYPE fenxi_load_{name} counter");
            for (labels, value) in values {
                let _ = writeln!(out, "fenxi_load_{name}{labels} {value}");
            }
        };
        let bare = |value: u64| [(String::new(), value)];
        counter("transactions_total", "Transactions completed", &bare(self.transactions));
        counter("failed_total", "Transactions abandoned", &bare(self.failed));
        counter("retries_total", "Transaction retries", &bare(self.retries));
        counter("reconnects_total", "Reconnects", &bare(self.reconnects));
        let kinds = ["read", "write", "other"].map(|kind| format!("{{kind=\"{kind}\"}}"));
        let statements: Vec<_> = kinds.into_iter().zip(self.statements).collect();
        counter("statements_total", "Statements executed", &statements);
        let code = |code: &str| format!("{{code=\"{}\"}}", label(code));
        let errors: Vec<_> = self.errors.iter().map(|(failure, n)| (code(failure), *n)).collect();
        counter("errors_total", "Errors by code", &errors);
        let Some(last) = &self.last else { return out };
        let _ = writeln!(out, "# HELP fenxi_load_latency_seconds Latency from the intended start, last interval");
        out.push_str("# TYPE fenxi_load_latency_seconds gauge\n");
        for (name, value) in last.latency.named() {
            if let Some(ms) = value {
                let _ = writeln!(out, "fenxi_load_latency_seconds{{statistic=\"{name}\"}} {}", ms / 1e3);
            }
        }
        for (name, value) in [
            ("transactions_per_second", last.transactions_per_s),
            ("connected", last.connected as f64),
            ("waiting", last.waiting as f64),
        ] {
            let _ = writeln!(out, "# TYPE fenxi_load_{name} gauge\nfenxi_load_{name} {value}");
        }
        out
    }
}

/// The value of a label: a server chooses its codes, and may send anything.
fn label(value: &str) -> String {
    value.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{policy::Failure, report::tests::interval};

    #[test]
    fn prometheus_reads_counts_and_the_last_interval() {
        let mut exposition = Exposition::default();
        exposition.add(&interval());
        exposition.add(&interval());
        let text = exposition.text();
        assert!(text.contains("fenxi_load_transactions_total 400\n") && text.contains("{code=\"lost\"} 2\n"), "{text}");
        assert!(text.contains("fenxi_load_latency_seconds{statistic=\"max\"} 0.1"), "{text}");
    }

    #[test]
    fn what_a_server_calls_its_errors_stays_within_the_label() {
        let mut interval = interval();
        interval.tally.errors.clear();
        let first = interval.tally.errors.len();
        assert_eq!(first, 0);
        interval.tally.errors.insert(Failure::Server(*b"\"\\\n} ", 0), (1, String::new()));
        let mut exposition = Exposition::default();
        exposition.add(&interval);
        let text = exposition.text();
        assert!(text.contains("fenxi_load_errors_total{code=\"\\\"\\\\\\n} \"} 1\n"), "{text}");
        // And there are not more of them than anybody can look at.
        for number in 1..2000 {
            interval.tally.errors.insert(Failure::Server(*b"HY000", number), (1, String::new()));
        }
        exposition.add(&interval);
        let codes = exposition.text().lines().filter(|l| l.starts_with("fenxi_load_errors_total{")).count();
        assert_eq!(codes, CODES + 1);
        assert!(exposition.text().contains("{code=\"others\"} "));
    }
}
