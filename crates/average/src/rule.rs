//! Aggregation rules: how the values of a column are averaged.

use fenxi_model::{Column, Kind, Table};

/// How values of several runs become one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rule {
    /// Their mean; its spread is kept.
    Mean,
    /// Their sum: buckets of a distribution and samples of a stack.
    Sum,
    /// The least of them.
    Least,
    /// The greatest of them.
    Greatest,
    /// No value: a percentile of several runs cannot be had from those of each.
    Missing,
}

/// The rule for a column of numbers.
pub fn rule(table: &Table, column: &Column) -> Rule {
    if is_distribution(table) && column.kind == Kind::Count {
        return Rule::Sum;
    }
    let mut words = column.name.split('_');
    match () {
        () if is_percentile(column.name) => Rule::Missing,
        () if words.clone().any(|w| w == "min") => Rule::Least,
        () if words.any(|w| w == "max") => Rule::Greatest,
        () => Rule::Mean,
    }
}

/// Whether rows are parts of a distribution, which merge by adding.
pub fn is_distribution(table: &Table) -> bool {
    ["histogram", "stack"].contains(&table.name)
}

/// Whether a name is that of a percentile: `latency_p99_ms`, `p95`, `median`, `percentile_99`.
pub fn is_percentile(name: &str) -> bool {
    name.split(|c: char| !c.is_ascii_alphanumeric()).any(|word| {
        let word = word.to_ascii_lowercase();
        let digits = word.strip_prefix('p').filter(|d| !d.is_empty());
        digits.is_some_and(|d| d.bytes().all(|b| b.is_ascii_digit()))
            || ["median", "percentile", "quantile"].contains(&word.as_str())
    })
}

/// Keys that name one moment's thing only: another run has other process ids. Their rows are added up
/// over these keys.
pub fn is_passing(table: &Table, place: usize) -> bool {
    matches!(table.columns[place].name, "pid" | "tid")
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
        assert_eq!((of("load", "latency_min_ms"), of("load", "latency_max_ms")), (Rule::Least, Rule::Greatest));
        assert_eq!(of("histogram", "count"), Rule::Sum);
        assert_eq!(of("cpu", "usr"), Rule::Mean);
        assert!(is_percentile("latency_p95") && is_percentile("p999") && is_percentile("latency median"));
        assert!(!is_percentile("tps") && !is_percentile("pages") && !is_percentile("p"));
    }
}
