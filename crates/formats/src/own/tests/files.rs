//! Invalid files, and their errors.

use super::format;
use crate::TextFormat;

/// A file that is right, by its lines.
const GOOD: &str = "\
summary = 'mine'
[recognise]
begins = 'minestat \\d+'
[time]
format = 'iso'
[[line]]
pattern = '(?<time>\\S+) (?<disk>\\w+) (?<kb>\\d+)'
[[line.row]]
table = 'disk'
device = '{disk}'
read_bytes_per_s = '{kb} kB/s'
";

/// The error of a file.
fn said(text: &str) -> String {
    match TextFormat::parse("mine", "mine.toml", text, "") {
        Ok(_) => panic!("it is accepted:\n{text}"),
        Err(error) => error.to_string(),
    }
}

/// The error of the good file with a piece of it changed.
fn changed(piece: &str, to: &str) -> String {
    assert!(GOOD.contains(piece), "{piece}");
    said(&GOOD.replacen(piece, to, 1))
}

#[test]
fn the_good_file_is_good() {
    format(GOOD);
}

/// Changes of the good file: the text, its replacement, and the error then.
const MISTAKES: &[(&str, &str, &str)] = &[
    ("summary = 'mine'\n", "", "mine.toml:1: a format has no `summary`; add `summary = "),
    ("summary = 'mine'", "summary = 5", "mine.toml:1: `summary` is of type integer; expected a text in quotes"),
    (
        "summary = 'mine'",
        "summary = 'mine'\nsumary = 1",
        "mine.toml:2: a format has no key `sumary`; did you mean `summary`?",
    ),
    ("summary = 'mine'", "summary = 'mine", "mine.toml:1: "),
    ("begins = ", "begin = ", "mine.toml:3: [recognise] has no key `begin`; did you mean `begins`?"),
    ("begins = 'minestat \\d+'\n", "", "mine.toml:2: [recognise] has nothing that a text must contain"),
    ("'minestat \\d+'", "'.*'", "mine.toml:2: [recognise] would also take a text that begins `a`"),
    ("'minestat \\d+'", "'\\d+'", "which many programs print; name what only this tool does"),
    ("'minestat \\d+'", "'minestat ('", "mine.toml:3: the pattern `minestat (` cannot be read: unclosed group"),
    (
        "'minestat \\d+'",
        "'minestat'\ninstead_of = 'vmstatt'",
        "mine.toml:4: `instead_of`: no shipped format is called `vmstatt`; did you mean `vmstat`",
    ),
    ("format = 'iso'", "", "mine.toml:4: [time] has no `format`; add `format = \"iso\"`"),
    ("'iso'", "'isoo'", "mine.toml:5: `format`: `isoo` is not known; did you mean `iso`?"),
    ("'iso'", "'%H:%M'", "mine.toml:5: `format`: `%H:%M`"),
    ("'iso'", "'%Y-%m-%d'", "mine.toml:5: `format`: `%Y-%m-%d` has no time of day"),
    ("'iso'", "'%Q%'", "mine.toml:5: `format`: `%Q%`"),
    ("'iso'", "'iso'\nzone = 'Europe/Bonn'", "mine.toml:6: `Europe/Bonn` is no time zone"),
    ("'iso'", "'iso'\ninterval = 0", "mine.toml:6: `interval` is of type integer; expected a number, more than 0"),
    ("'iso'", "'iso'\ndate = '%Y-%m-%d'", "mine.toml:6: `date` is for a group `(?<date>…)` apart"),
    ("'iso'", "'counted'", "mine.toml:5: a pattern has a group `time`, but times are `counted`"),
    ("?<time>", "?<tim>", "mine.toml:5: no pattern has a group `(?<time>…)`"),
    ("[time]\nformat = 'iso'\n", "", "mine.toml:4: the line has a time, but there is no [time]"),
    ("[[line]]", "[line]", "`line` is of type table; expected a list of tables: each begins with `[[line]]`"),
    ("pattern =", "patern =", "mine.toml:7: [[line]] has no key `patern`; did you mean `pattern`?"),
    ("(?<kb>\\d+)", "(?<kb>\\d{1,9999999}){999}", "it is too large"),
    ("(?<kb>\\d+)'", "(?<kb>\\d+)'\nkeep = 'pol'", "mine.toml:8: `keep`: the pattern has no group `pol`"),
    ("(?<kb>\\d+)'", "(?<kb>\\d+)'\nkeep = 'time'", "mine.toml:8: `keep`: `time` holds for what follows anyway"),
    ("(?<kb>\\d+)'", "(?<kb>\\d+)'\nforget = 'disk'", "mine.toml:8: `forget`: no line keeps a group `disk`"),
    ("(?<kb>\\d+)'", "(?<kb>\\d+)'\ninterval = '{kb} kB'", "mine.toml:8: `interval`: `kB` measures something else"),
    ("(?<kb>\\d+)'", "(?<kb>\\d+)'\nsample = 1", "mine.toml:8: `sample` is of type integer; expected true or false"),
    ("table = 'disk'\n", "", "mine.toml:8: [[line.row]] has no `table`"),
    ("table = 'disk'", "table = 'disc'", "mine.toml:9: there is no table `disc`; did you mean `disk`?"),
    ("table = 'disk'", "table = 'note'", "mine.toml:9: the table `note` is Fenxi's own"),
    ("device =", "devise =", "mine.toml:10: the table `disk` has no column `devise`; did you mean `device`?"),
    ("device =", "host =", "mine.toml:10: `host` comes from a group"),
    ("device =", "t =", "mine.toml:10: `t` comes from the group"),
    ("device =", "dt =", "mine.toml:10: `dt` comes from `interval`"),
    ("'{disk}'", "5", "mine.toml:10: `device`: expected a text in quotes"),
    (
        "'{disk}'",
        "'{disc}'",
        "mine.toml:10: `device`: no group is called `disc`; did you mean `disk`?; there are `time`, `disk`, `kb`",
    ),
    ("'{disk}'", "'{disk'", "mine.toml:10: `device`: `{disk` has a single `{`"),
    ("'{disk}'", "'disk}'", "mine.toml:10: `device`: `disk}` has a single `}`"),
    ("'{kb} kB/s'", "'kb'", "mine.toml:11: `read_bytes_per_s`: `kb` is no number: expected `{group}`"),
    ("'{kb} kB/s'", "'{kb} kB'", "mine.toml:11: `read_bytes_per_s`: `kB` is no rate; the column is in B/s"),
    ("'{kb} kB/s'", "'{kb} ms/s'", "mine.toml:11: `read_bytes_per_s`: `ms/s` measures something else"),
    ("'{kb} kB/s'", "'{kb} * x'", "mine.toml:11: `read_bytes_per_s`: `{kb} * x` is no number"),
    ("'{kb} kB/s'", "true", "mine.toml:11: `read_bytes_per_s`: expected a number, or a text such as"),
    ("read_bytes_per_s = '{kb} kB/s'\n", "", "mine.toml:9: the row of `disk` has no value: set one of `"),
];

#[test]
fn each_mistake_is_named_with_its_line_and_a_way_out() {
    for (piece, to, expected) in MISTAKES {
        let found = changed(piece, to);
        assert!(found.contains(expected), "{piece} -> {to}\nexpected: {expected}\nfound:    {found}");
        assert!(found.starts_with("mine.toml:"), "{found}");
        assert!(!found.ends_with('.') && !found.contains('\n'), "{found}");
    }
}

#[test]
fn a_file_without_lines_or_rows_is_wrong() {
    assert!(said("summary = 'x'\n").contains("there is no [[line]]"));
    assert!(said("summary = 'x'\n[[line]]\npattern = 'a'\n").contains("no [[line]] has a [[line.row]]"));
    let untimed = "summary = 'x'\n[[line]]\npattern = '(?<n>\\d+)'\n[[line.row]]\ntable = 'sched'\nrunnable = '{n}'\n";
    assert!(said(untimed).contains("mine.toml:5: rows of `sched` have a time: add [time]"));
    let counted = "summary = 'x'\n[time]\nformat = 'counted'\n[[line]]\npattern = '(?<n>\\d+)'\n[[line.row]]\ntable = 'sched'\nrunnable = '{n}'\n";
    assert!(said(counted).contains("mine.toml:3: times are `counted`, but no [[line]] has `sample = true`"));
    assert!(said(&format!("example = 'other'\n{GOOD}")).contains("mine.toml:1: `example` is not recognised"));
    assert!(said(&format!("decimal = ';'\n{GOOD}")).contains("mine.toml:1: `decimal` is \".\" or \",\""));
}

#[test]
fn a_name_is_plain_and_of_no_shipped_format() {
    let of = |name: &str| TextFormat::parse(name, "f.toml", GOOD, "").map(|_| ()).map_err(|e| e.to_string());
    assert_eq!(of("pool-stat2"), Ok(()));
    assert!(of("vmstat").unwrap_err().contains("`vmstat` is the name of a shipped format"));
    for name in ["", "Pool", "a b", "-x", "a/b", "é", &"x".repeat(65)] {
        assert!(of(name).unwrap_err().contains("lower-case letters"), "{name}");
    }
}
