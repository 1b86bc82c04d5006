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

#[test]
fn counts_of_an_interval_are_rates_and_a_complement_is_what_is_left() {
    let text =
        POOLS.replace("disk.reads_per_s", "disk.reads_per_s /interval").replace("metric ms", "disk.util complement");
    let found = read(
        format(&text),
        "$ poolstat 5\npool reads written lag\nfast 10 3 30\npool reads written lag\nfast 20 4 75\n",
    );
    assert!(found.text.contains("\tfast\t4\t8192\t25\n"), "{}", found.text);
    assert!(found.text.contains("\tfast\t6144\t70\n"), "since boot there is no interval: {}", found.text);
}

const SECTIONS: &str = r#"
summary = "hammer of the storage team"
overwritten = true
[[line]]
pattern = 'hammer of (?<what>\w+)'
begins = "{what}"
section = ""
[[line]]
pattern = '(?<title>\w+):'
section = "bars"
[[line]]
in = "bars"
pattern = '(?<hi>\d+) us (?<n>\d+)'
bucket = { below = "{hi} us", count = "{n} total" }
[[line]]
pattern = '(?<a>\d+)\+(?<b>\d+) failed'
sums = { errors = ["{a}", "{b}"], retries = 0 }
[[line]]
pattern = '(?<bytes>\S+) in (?<s>\S+) s'
results = { errors = "sum", transfer_bytes_per_s = "{bytes} / {s} kB/s" }
[[line]]
pattern = 'wrong.*'
note = "the results are wrong"
"#;

#[test]
fn sections_sums_buckets_and_ratios_are_of_their_report() {
    let text = "hammer of nails\n5 us 1\n1+2 failed\n0+4 failed\nbars:\n1000 us 2\n2000 us 2\n3000 us 5\nmore:\n500 us 1\n\
                waiting\r6 in 2 s\n1+1 failed\nhammer of screws\nhammer of nails\n3 in 0 s\nx in 2 s\nwrong!\n";
    let found = read(format(SECTIONS), text);
    for row in [
        "\t0\t1\tms\t2\n",
        "\t2\t3\tms\t3\n",
        "\t0\t0.5\tms\t1\n",
        "\terrors\t7\t",
        "\ttransfer_bytes_per_s\t3000\tB/s",
        "\terrors\t2\t",
        "\tretries\t0\t",
        "\tthe results are wrong",
    ] {
        assert!(found.text.contains(row), "{row}\n{}", found.text);
    }
    assert!(!found.text.contains("#2"), "nothing by nothing is no figure: {}", found.text);
    assert_eq!(found.tally.notes, 3, "no section yet, no figure, and what is wrong: {}", found.text);
    for (from, to, why) in [
        ("in = \"bars\"", "in = \"bar\"", "`in`: no line begins a section `bar`; did you mean `bars`"),
        ("{n} total", "n total", "`bucket`: `n total` is no figure"),
        ("\"sum\"", "\"all\"", "`all` is no figure"),
        ("begins = \"{what}\"", "begins = 1", "true, or a text"),
        ("{ errors = \"sum\",", "{ \"of {s}\" = \"{s} lower\",", "`of {s}`: a group names what a result is of"),
    ] {
        let wrong = TextFormat::parse("mine", "mine.toml", &SECTIONS.replace(from, to), "").unwrap_err().to_string();
        assert!(wrong.contains(why), "{to}: {wrong}");
    }
}

#[test]
fn figures_of_results_have_separators_as_the_file_says() {
    let rules = |decimal: &str| {
        format!(
            "summary = 'x'\n{decimal}[[line]]\npattern = 'mean (?<ms>.*)'\nresults = {{ latency_mean = '{{ms}} ms' }}\n\
             [[line]]\npattern = 'rate (?<n>\\S+) in (?<s>\\S+)'\nresults = {{ throughput = '{{n}} / {{s}}' }}\n[pairs.keys]\n'done' = 'result.done higher'\n"
        )
    };
    for (decimal, text, results) in [
        (
            "",
            "mean 13,132\nrate 1,200,000 in 2.5\ndone: 4,096\n",
            ["latency_mean\t13132", "throughput\t480000", "done\t4096"],
        ),
        (
            "decimal = ','\n",
            "mean 13,132\nrate 1.200.000 in 2,5\ndone: 4.096,5\n",
            ["latency_mean\t13.132", "throughput\t480000", "done\t4096.5"],
        ),
        ("", "mean 0.51, 0.20, 0.90\nrate 3 in 1.5\ndone: 7, 8\n", ["latency_mean\t0.51", "throughput\t2", "done\t7"]),
    ] {
        let found = read(format(&rules(decimal)), text);
        for result in results {
            assert!(found.text.contains(result), "{result}\n{}", found.text);
        }
    }
}

#[test]
fn devices_of_one_output_are_of_one_moment() {
    let description = "summary = 'x'\n[time]\nformat = 'moments'\ncommand = 'errs'\n[[line]]\npattern = '(?<device>\\w+) written (?<n>\\d+)'\nsample_per = 'device'\n\
         row = [{ table = 'metric', name = 'written', labels = { device = '{device}' }, value = '{n}' }]\n";
    let text = "Mon Jan  5 10:00:00 UTC 2026\na written 1\nb written 2\nMon Jan  5 10:00:10 UTC 2026\nb written 3\na written 4\nb written 5\n";
    let found = read(format(description), text);
    let times: Vec<_> = found.text.lines().filter(|line| line.contains("device=")).map(|line| &line[11..19]).collect();
    assert_eq!(times, ["10:00:00", "10:00:00", "10:00:10", "10:00:10", "10:00:11"], "{}", found.text);
    let wrong = TextFormat::parse("mine", "mine.toml", &description.replace("= 'device'", "= 'devise'"), "");
    assert!(wrong.err().unwrap().to_string().contains("the pattern has no group `devise`; did you mean `device`"));
}
