//! Invariants of every table and column.

use super::*;

#[test]
fn every_table_stands_at_its_own_id_and_begins_alike() {
    for (place, table) in TABLES.iter().enumerate() {
        assert_eq!(table.id as usize, place, "{}", table.name);
        let first: Vec<_> = table.columns[..N_COMMON].iter().map(|c| c.name).collect();
        assert_eq!(first, ["t", "dt", "host"], "{}", table.name);
    }
}

#[test]
fn every_column_has_a_unique_name_a_meaning_and_its_unit() {
    for table in TABLES {
        let mut seen = std::collections::BTreeSet::new();
        for c in table.columns {
            assert!(seen.insert(c.name), "{}.{} twice", table.name, c.name);
            assert!(c.doc.len() > 10, "{}.{} has no meaning", table.name, c.name);
            assert!(c.doc.ends_with('.'), "{}.{}: {}", table.name, c.name, c.doc);
            let suffix = match c.unit {
                Unit::PerS => "_per_s",
                Unit::BytesPerS => "_bytes_per_s",
                Unit::Bytes => "_bytes",
                Unit::Milliseconds => "_ms",
                Unit::Microseconds => "_us",
                Unit::Seconds if c.name != "dt" => "_s",
                Unit::MegabitsPerS => "_mbps",
                Unit::Hertz => "_hz",
                Unit::Watts => "_w",
                Unit::Celsius => "_c",
                _ => "",
            };
            assert!(c.name.ends_with(suffix), "{}.{} should end in {suffix}", table.name, c.name);
        }
    }
}

#[test]
fn what_a_name_says_of_a_column_the_column_says() {
    for (table, column) in TABLES.iter().flat_map(|table| table.columns.iter().map(move |column| (table, column))) {
        let says = |wanted: &dyn Fn(&str) -> bool| column.name.split('_').any(wanted);
        let is_rank = |word: &str| word.strip_prefix('p').is_some_and(|rank| rank.parse::<u32>().is_ok());
        let expected = match () {
            () if says(&is_rank) => Statistic::Percentile,
            () if says(&|word| word == "min") => Statistic::Minimum,
            () if says(&|word| word == "max") => Statistic::Maximum,
            () => Statistic::Mean,
        };
        assert_eq!(column.statistic, expected, "{}.{}", table.name, column.name);
        if says(&|word| matches!(word, "pid" | "tid" | "ppid")) {
            assert!(column.is_of_one_run, "{}.{}", table.name, column.name);
        }
    }
}

#[test]
fn keys_come_first_and_are_labels() {
    for table in TABLES {
        for key in table.keys() {
            assert_eq!(key.kind, Kind::Label, "{}.{}", table.name, key.name);
        }
    }
}
