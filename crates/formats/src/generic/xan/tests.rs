//! Random tables, rendered as `.xan` files are and read back.

use fenxi_model::Micros;
use proptest::prelude::*;

use super::FORMAT;
use crate::{
    Hints,
    fixtures::{Read, read, read_with},
};

fn rows<'a>(read: &'a Read, table: &str) -> Vec<Vec<&'a str>> {
    let begin = format!("# {table}\n");
    let Some((_, text)) = read.text.split_once(&begin) else { return Vec::new() };
    text.lines().skip(1).take_while(|l| !l.starts_with('#')).map(|l| l.split('\t').collect()).collect()
}

#[test]
fn rows_without_a_place_become_notes_and_dashes_do_not() {
    let text = "Title: x\nSection: s\nName  A  B\n----  -  -\n- a comment\na  1  2\nb  3\nc  -  4\nd  1,234,567  41%\n";
    let read = read(&FORMAT, text.as_bytes());
    assert_eq!(read.tally.notes, 1, "{}", read.text);
    assert!(read.text.contains("2 cells under 3 columns: b  3"), "{}", read.text);
    let values: Vec<_> = rows(&read, "metric").iter().map(|r| (r[1], r[2], r[3])).collect();
    let name = |n: &'static str| format!("section=s,Name={n}");
    let expected = [
        ("A", name("a"), "1"),
        ("B", name("a"), "2"),
        ("B", name("c"), "4"),
        ("A", name("d"), "1234567"),
        ("B", name("d"), "41"),
    ];
    assert_eq!(values, expected.each_ref().map(|(n, l, v)| (*n, l.as_str(), *v)));
}

#[test]
fn negative_first_values_and_comments_behind_are_read() {
    let text = "Title: x\nSection: s\nOffset  Count  # how often\n-5  1\n-4  2  # two\n";
    let read = read(&FORMAT, text.as_bytes());
    assert_eq!(read.tally.notes, 0, "{}", read.text);
    assert_eq!(
        rows(&read, "metric").iter().map(|r| r[2]).collect::<Vec<_>>(),
        ["section=s,Offset=-5", "section=s,Offset=-4"]
    );
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Any table of numbers with gaps, in any of the ways to separate cells, is read as it was.
    #[test]
    fn tables_are_read_as_they_were_written(
        cells in proptest::collection::vec(proptest::collection::vec(proptest::option::of(-1_000_000i64..1_000_000), 1..5), 1..30),
        step in 1i64..1000,
        tabs in any::<bool>(),
        dashes in any::<bool>(),
    ) {
        let columns = cells[0].len();
        let gap = if tabs { "\t" } else { "   " };
        let names: Vec<String> = (0..columns).map(|i| format!("col {i}")).collect();
        let mut text = format!("Title: t\n\nSection: s, all\nDisplay: Line\nTime (s){gap}{}\n", names.join(gap));
        if dashes {
            text += "-----   ----\n";
        }
        let mut expected = Vec::new();
        for (i, row) in cells.iter().enumerate() {
            let at = i as i64 * step;
            let row: Vec<_> = (0..columns).map(|c| row.get(c).copied().flatten()).collect();
            for (c, value) in row.iter().enumerate() {
                if let Some(value) = value {
                    expected.push((Micros(at * 1_000_000).iso(), names[c].clone(), (*value as f64 / 100.0).to_string()));
                }
            }
            let row: Vec<_> = row.iter().map(|v| v.map_or("-".to_owned(), |v| format!("{:.2}", v as f64 / 100.0))).collect();
            text += &format!("{at}{gap}{}\n", row.join(gap));
        }
        let read = read_with(&FORMAT, text.as_bytes(), Hints { start: Some(Micros(0)), ..Hints::none("x") });
        prop_assert_eq!(read.tally.notes, 0, "{}", read.text);
        // With one row its length is unknown and there is no such column.
        let shift = usize::from(cells.len() > 1 && !expected.is_empty());
        let found: Vec<_> = rows(&read, "metric").iter()
            .map(|r| (r[0].to_owned(), r[2 + shift].to_owned(), r[4 + shift].to_owned())).collect();
        prop_assert_eq!(found, expected, "{}\n{}", text, read.text);
        if cells.len() > 1 {
            prop_assert!(rows(&read, "metric").iter().all(|r| r[1] == step.to_string()));
        }
    }

    #[test]
    fn nothing_panics(text in "(Title:|Section:|Display: Line\n|Plot:a:b:2:c|[-#\\\\ \ta1:.,é\n]){0,60}") {
        read(&FORMAT, format!("Title: x\n{text}").as_bytes());
    }
}

#[test]
fn a_distribution_of_response_times_is_a_histogram_under_any_title() {
    for (section, labels) in [
        ("Web Frequency Distribution of Response Times (seconds)", "generator=Web,operation=Buy"),
        ("Response Time Distribution (seconds)", "operation=Buy"),
    ] {
        let text = format!(
            "Title: Web bench\n\nSection: {section}\nDisplay: Line\nTime (s)  Buy\n0.0  3\n0.1  5\n0.2  0\n0.3  1\n"
        );
        let read = read(&super::FORMAT, text.as_bytes());
        for bucket in ["0\t100\tms\t3", "100\t200\tms\t5", "300\t400\tms\t1"] {
            assert!(read.text.contains(&format!("latency_ms\t{labels}\t{bucket}")), "{bucket}: {}", read.text);
        }
        assert_eq!(read.tally.notes, 0, "{}", read.text);
    }
}
