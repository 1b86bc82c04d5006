//! Aggregation rules: how the values of a column are averaged.

use fenxi_model::{Column, Kind, Shape, Statistic, Table};

/// Rule by which values of several runs are merged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rule {
    /// Their mean; its spread is kept.
    Mean,
    /// Their sum: buckets of a distribution and samples of a stack.
    Sum,
    /// The minimum of them.
    Minimum,
    /// The maximum of them.
    Maximum,
    /// No value: a percentile of several runs cannot be had from those of each.
    Missing,
}

/// The rule for a column of numbers.
pub fn rule(table: &Table, column: &Column) -> Rule {
    match column.statistic {
        _ if table.shape == Shape::Distribution && column.kind == Kind::Count => Rule::Sum,
        Statistic::Mean => Rule::Mean,
        Statistic::Minimum => Rule::Minimum,
        Statistic::Maximum => Rule::Maximum,
        Statistic::Percentile => Rule::Missing,
    }
}

/// Returns true if the name of a result, which any tool may have chosen, is that of a percentile: `latency_p99_ms`, `p95`, `median`, `percentile_99`.
pub fn is_percentile(name: &str) -> bool {
    name.split(|c: char| !c.is_ascii_alphanumeric()).any(|word| {
        let word = word.to_ascii_lowercase();
        let digits = word.strip_prefix('p').filter(|d| !d.is_empty());
        digits.is_some_and(|d| d.bytes().all(|b| b.is_ascii_digit()))
            || ["median", "percentile", "quantile"].contains(&word.as_str())
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use fenxi_model::table;

    #[test]
    fn percentiles_are_never_averaged() {
        let of = |name: &str, column: &str| {
            let table = table(name).unwrap();
            rule(table, &table.columns[table.index_of(column).unwrap()])
        };
        assert_eq!(of("load", "latency_p99_ms"), Rule::Missing);
        assert_eq!(of("load", "latency_p50_ms"), Rule::Missing);
        assert_eq!(of("load", "latency_mean_ms"), Rule::Mean);
        assert_eq!((of("load", "latency_min_ms"), of("load", "latency_max_ms")), (Rule::Minimum, Rule::Maximum));
        assert_eq!((of("query", "max_us"), of("db_statement", "max_ms")), (Rule::Maximum, Rule::Maximum));
        assert_eq!(of("histogram", "count"), Rule::Sum);
        assert_eq!(of("cpu", "usr"), Rule::Mean);
        assert!(is_percentile("latency_p95") && is_percentile("p999") && is_percentile("latency median"));
        assert!(!is_percentile("tps") && !is_percentile("pages") && !is_percentile("p"));
    }
}
