//! Results of texts, undamaged and damaged, and which are recognised.

use super::{fixtures, format, read, read_bytes};
use crate::{AnyFormat, Formats, Head, Hints, JsonRows, Out, Sure};

/// Rows of the table called `name`, without its header.
fn rows(text: &str, name: &str) -> Vec<String> {
    let after = text.split(&format!("# {name}\n")).nth(1).unwrap_or("");
    after.lines().skip(1).take_while(|line| !line.starts_with('#')).map(str::to_owned).collect()
}

#[test]
fn every_fixture_gives_its_rows() {
    let update = std::env::var_os("FENXI_UPDATE").is_some();
    let mut wrong = Vec::new();
    for (format, path, bytes) in fixtures() {
        let read = read_bytes(&format, &bytes);
        let rows = path.with_extension("txt.rows");
        if read.tally.notes > 0 {
            wrong.push(format!("{}: {} notes\n{}", path.display(), read.tally.notes, read.text));
        }
        if update {
            fs_err::write(&rows, &read.text).unwrap();
        } else if fs_err::read_to_string(&rows).unwrap_or_default() != read.text {
            wrong.push(format!("{}: other rows (FENXI_UPDATE=1 writes them)", path.display()));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn damaged_texts_are_read_without_a_panic() {
    for (format, _, bytes) in fixtures() {
        for cut in 0..bytes.len() {
            read_bytes(&format, &bytes[..cut]);
            read_bytes(&format, &bytes[cut..]);
            let mut changed = bytes.clone();
            changed[cut] = changed[cut].wrapping_mul(31).wrapping_add(cut as u8);
            read_bytes(&format, &changed);
        }
        let mut lines: Vec<&[u8]> = bytes.split_inclusive(|b| *b == b'\n').collect();
        lines.reverse();
        read_bytes(&format, &lines.concat());
        read_bytes(&format, b"");
        read_bytes(&format, &[0u8; 5000]);
    }
}

#[test]
fn each_others_texts_are_read_without_a_panic_and_never_claimed() {
    let own = fixtures();
    let shipped = crate::fixtures::fixtures();
    for (format, path, _) in &own {
        let AnyFormat::Own(of_store) = format else { panic!("they are of a store") };
        for (of, _, bytes) in &shipped {
            let bytes = &bytes[..bytes.len().min(4000)];
            read_bytes(format, bytes);
            let text = String::from_utf8_lossy(bytes);
            assert_eq!(
                of_store.sniff(&Head { text: &text }),
                Sure::No,
                "{} claims a text of {}",
                path.display(),
                of.name
            );
        }
    }
}

#[test]
fn a_stores_format_reads_what_it_is_certain_of_unless_a_shipped_one_is() {
    let vmstat = crate::format("vmstat").unwrap().example;
    let of = |recognise: &str| {
        let text = format!(
            "summary = \"mine\"\n{recognise}\n[[line]]\npattern = '.*'\n[[line.row]]\ntable = 'text'\nvalue = 'x'\n"
        );
        Formats::with(vec![std::sync::Arc::new(format(&text))])
    };
    let name = |formats: &Formats, text: &str| formats.detect(&Head { text }).map(|format| format.name());
    let heading = "[recognise]\nbegins = 'procs -+memory-+ .*'\n";
    assert_eq!(name(&of(heading), vmstat), Some("vmstat"));
    assert_eq!(name(&of(&format!("{heading}instead_of = 'vmstat'")), vmstat), Some("mine"));
    assert_eq!(name(&of(&format!("{heading}instead_of = 'iostat'")), vmstat), Some("vmstat"));
    let table = "time,mine_a,mine_b\n1,2,3\n4,5,6\n";
    assert_eq!(name(&of(""), table), Some("csv"));
    assert_eq!(name(&of("[recognise]\nbegins = 'time,mine_a,'"), table), Some("mine"));
    assert_eq!(of("").named("mine").map(|format| format.name()), Some("mine"));
    assert_eq!(of("").named("csv").map(|format| format.name()), Some("csv"));
}

#[test]
fn what_cannot_be_read_is_noted_with_its_line() {
    let (format, _, bytes) = fixtures().into_iter().find(|(format, _, _)| format.name() == "poolstat").unwrap();
    let text = String::from_utf8(bytes).unwrap();
    let text = text.replacen("15200", "many", 1).replacen("182.5", "x", 1).replace("21.11.2026 14:00:10", "on Friday");
    let read = read_bytes(&format, text.as_bytes());
    let notes = rows(&read.text, "note").join("\n");
    assert!(notes.contains("\t4\tno pattern matches: nvme0n1: many reads"), "{notes}");
    assert!(notes.contains("\t10\tno time in the form of [time]: on Friday"), "{notes}");
    assert!(notes.contains("\t12\tno time in this line, nor before it"), "{notes}");
    let text = text.replacen("many", "15200", 1);
    let read = read_bytes(&format, text.as_bytes());
    assert!(read.text.contains("\t4\tno number in the group `rmib`"), "{}", read.text);
}

#[test]
fn a_value_of_a_heading_that_never_came_gives_no_row() {
    let mine = "summary = 'x'\n[time]\nformat = 'iso'\n[[line]]\npattern = 'pool (?<pool>\\w+)'\nkeep = 'pool'\n[[line]]\npattern = 'end'\n\
        forget = 'pool'\n[[line]]\npattern = '(?<time>\\S+) (?<n>\\d+)'\n[[line.row]]\ntable = 'metric'\nname = 'jobs.{pool}'\nvalue = '{n}'\n";
    let text = "2026-11-21T14:00:00Z 1\npool a\n2026-11-21T14:00:10Z 2\nend\n2026-11-21T14:00:20Z 3\n";
    let read = read(format(mine), text);
    assert_eq!(rows(&read.text, "metric").len(), 1, "{}", read.text);
    assert_eq!(read.tally.notes, 2);
    assert!(read.text.contains("jobs.a\t2"), "{}", read.text);
    assert!(read.text.contains("no line before it had `pool`"), "{}", read.text);
}

#[test]
fn a_total_that_went_back_gives_null() {
    let mine = "summary = 'x'\n[time]\nformat = 'epoch_s'\n[[line]]\npattern = '(?<time>\\d+) (?<n>\\d+)'\n[[line.row]]\ntable = 'sched'\n\
        forks_per_s = '{n} total'\ntasks = '{n}'\n";
    let read = read(format(mine), "1795271700 10\n1795271710 60\n1795271720 5\n1795271730 25\n");
    let last: Vec<_> =
        rows(&read.text, "sched").iter().map(|row| row.rsplit('\t').next().unwrap().to_owned()).collect();
    assert_eq!(last, ["", "5", "", "2"], "{}", read.text);
}

#[test]
fn a_pattern_that_could_run_for_ever_does_not() {
    let mine = "summary = 'x'\n[[line]]\npattern = '(?:(?:a*)*)*b'\n[[line.row]]\ntable = 'text'\nvalue = 'x'\n";
    let begun = std::time::Instant::now();
    let read = read(format(mine), &"a".repeat(1 << 20));
    assert_eq!(read.tally.notes, 1);
    assert!(begun.elapsed().as_secs() < 20);
}

/// Rows, wrong lines and notes of lines of a program.
fn json(lines: &[&str]) -> (u64, u64, Vec<String>) {
    let mut notes = Vec::new();
    let mut out = Out::new("mine", Hints::none("file"), |rows, _| {
        use fenxi_model::catalog::note;
        if let Some(table) = rows.of(&note::TABLE) {
            notes.extend((0..table.n_rows()).map(|row| table.str(row, note::message).unwrap_or_default().to_owned()));
        }
        rows.clear();
    });
    let mut rows = JsonRows::new(&out);
    for line in lines {
        rows.line(line, &mut out);
    }
    let wrong = rows.wrong();
    let tally = out.finish();
    (tally.rows(), wrong, notes)
}

#[test]
fn rows_of_programs_are_checked_against_their_tables() {
    let good = [
        r#"{"table": "disk", "t": "2026-11-21T14:00:00Z", "dt": 10, "host": "db1", "device": "sda", "reads_per_s": 1.5}"#,
        r#"{"table": "metric", "t": 1795271753.5, "name": "q", "labels": {"pool": "a", "n": 3}, "value": 4, "unit": null}"#,
        r#"{"table": "result", "name": "tps", "value": 12, "better": "higher"}"#,
        "",
    ];
    assert_eq!(json(&good), (3, 0, Vec::new()));
    for (line, why) in [
        ("garbage", "no JSON ("),
        ("[1]", "no JSON object"),
        ("{}", "no `table` (nor `note`)"),
        (r#"{"table": "dsk", "t": 1}"#, "there is no table `dsk`; did you mean `disk`?"),
        (r#"{"table": "disk", "device": "sda"}"#, "rows of `disk` need a time `t`"),
        (r#"{"table": "disk", "t": "then"}"#, "`t` is no time"),
        (r#"{"table": "disk", "t": 1e300}"#, "`t` is no time"),
        (r#"{"table": "disk", "t": 1, "dt": -1}"#, "`dt` is no length"),
        (
            r#"{"table": "disk", "t": 1, "read_per_s": 1}"#,
            "`disk` has no column `read_per_s`; did you mean `reads_per_s`?",
        ),
        (r#"{"table": "disk", "t": 1, "reads_per_s": "1"}"#, "`reads_per_s` is of the wrong type: expected double"),
        (r#"{"table": "metric", "t": 1, "labels": {"a": []}}"#, "label `a` is neither a text nor a number"),
        (r#"{"table": "note", "message": "x"}"#, "rows of `note` are written as"),
        (r#"{"note": 5}"#, "`note` is no text"),
    ] {
        let (rows, wrong, notes) = json(&[line]);
        assert_eq!((rows, wrong), (0, 1), "{line}");
        assert!(notes[0].contains(why), "{line}: {}", notes[0]);
    }
    let (_, wrong, notes) = json(&[r#"{"note": "no such disk", "line": 7}"#]);
    assert_eq!((wrong, notes[0].as_str()), (0, "no such disk"));
}
