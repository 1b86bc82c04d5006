//! Tables, results and moments in the formats of a store.

use super::{super::TextFormat, format, read};
use crate::OwnFormat;

const POOLS: &str = r#"
summary = "pools of the storage team"
[recognise]
header = "pool reads written lag"
[report]
command = "poolstat"
since_boot = "first"
[[table]]
header = "pool reads lag"
[table.columns]
pool = "disk.device"
reads = "disk.reads_per_s"
written = "disk.write_bytes_per_s 2KiB/s"
lag = "metric ms"
"#;

#[test]
fn a_table_is_read_by_the_words_of_its_header() {
    let text = "$ poolstat 5\npool reads written lag extra\nfast 10 3 1.5 7\npool lag reads\nslow - 20\nslow 1\n";
    let found = read(format(POOLS), text);
    for row in
        ["\tfast\t10\t6144", "\t5\tfixture\tslow\t20", "mine.lag\tdevice=fast\t0.0015\ts", "mine.extra\tdevice=fast\t7"]
    {
        assert!(found.text.contains(row), "{row}\n{}", found.text);
    }
    assert!(found.text.contains("# disk since boot"), "the first report: {}", found.text);
    assert_eq!(found.tally.notes, 1, "a row that is too short: {}", found.text);
    let names = |format: &TextFormat| format.about().tables.iter().map(|table| table.name).collect::<Vec<_>>();
    assert_eq!(names(&format(POOLS)), ["disk", "metric"]);
}

#[test]
fn results_have_their_units_and_a_second_report_a_number() {
    let description = r#"
summary = "hammer of the storage team"
[[line]]
pattern = 'hammer \d+'
begins = true
[[line]]
pattern = '(?<p>\S+)% below (?<latency>\S+)'
results = { "percentile {p}[read]" = "{latency} auto" }
[pairs.keys]
"mean latency" = "result.latency_mean us"
"done" = "result.error_share ratio complement"
"heat" = "result.heat lower"
"#;
    let text = "hammer 1\nmean_latency: 1500,\nhammer 2\nhammer 2\nMean latency: 500 us\ndone: 0.75\nheat: 7\n99.9% below 2s\nheat: warm\ncold: 1\n";
    let found = read(format(description), text);
    for row in [
        "\tlatency_mean\t1.5\tms\tlower",
        "\tlatency_mean#2\t0.5\tms\tlower",
        "\terror_share#2\t25\t%\tlower",
        "\tlatency_p999[read]#2\t2000\tms",
    ] {
        assert!(found.text.contains(row), "{row}\n{}", found.text);
    }
    assert!(!found.text.contains("#3") && found.text.contains("heat#2\t7"), "{}", found.text);
    assert_eq!(found.tally.notes, 2, "no number, and no such key: {}", found.text);
}

#[test]
fn what_a_table_cannot_have_is_named_with_its_line() {
    let wrong = |from: &str, to: &str| {
        let text = POOLS.replace(from, to);
        assert_ne!(text, POOLS, "{from}");
        TextFormat::parse("mine", "mine.toml", &text, "").unwrap_err().to_string()
    };
    for (from, to, why) in [
        ("disk.reads_per_s", "disk.reeds_per_s", "mine.toml:12: `reads`: the table `disk` has no column `reeds_per_s`"),
        ("2KiB/s", "ms", "`ms` is no rate"),
        ("disk.device", "disk.device MB", "expected nothing behind it"),
        ("metric ms", "result.latency_mean", "a table has samples"),
        ("header = \"pool reads lag\"", "", "[[table]] has no `header`"),
        ("\"first\"", "\"last\"", "`since_boot` is \"first\""),
        ("[[table]]", "[[line]]\npattern = 'x'\n[[table]]", "not by both"),
        ("pool reads written lag", "time value", "which many programs print"),
    ] {
        let found = wrong(from, to);
        assert!(found.contains(why), "{to}: {found}");
    }
}
