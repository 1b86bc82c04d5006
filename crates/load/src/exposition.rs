//! What Prometheus is told about a load.

use std::{collections::BTreeMap, fmt::Write as _};

use crate::{engine::Interval, report::Summary};

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
            *self.errors.entry(failure.to_string()).or_default() += count;
        }
        self.last = Some(Summary::of(interval));
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
        counter("failed_total", "Transactions given up", &bare(self.failed));
        counter("retries_total", "Further attempts of transactions", &bare(self.retries));
        counter("reconnects_total", "Connections made again", &bare(self.reconnects));
        let kinds = ["read", "write", "other"].map(|kind| format!("{{kind=\"{kind}\"}}"));
        let statements: Vec<_> = kinds.into_iter().zip(self.statements).collect();
        counter("statements_total", "Statements answered", &statements);
        let errors: Vec<_> = self.errors.iter().map(|(code, n)| (format!("{{code=\"{code}\"}}"), *n)).collect();
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::tests::interval;

    #[test]
    fn prometheus_reads_counts_and_the_last_interval() {
        let mut exposition = Exposition::default();
        exposition.add(&interval());
        exposition.add(&interval());
        let text = exposition.text();
        assert!(text.contains("fenxi_load_transactions_total 400\n") && text.contains("{code=\"lost\"} 2\n"), "{text}");
        assert!(text.contains("fenxi_load_latency_seconds{statistic=\"max\"} 0.1"), "{text}");
    }
}
