//! Random sheets, rendered as spreadsheets do and read back.

use fenxi_model::Micros;
use proptest::prelude::*;

use super::FORMAT;
use crate::{
    Head, Hints, Sure,
    fixtures::{read, read_with},
};

fn mapped(mapping: &str, text: &str) -> String {
    let hints = Hints { mapping: Some(mapping.to_owned()), start: Some(Micros(0)), ..Hints::none("x") };
    read_with(&FORMAT, text.as_bytes(), hints).text
}

#[test]
fn sheets_of_a_tree_are_told_apart_by_their_names() {
    let text = "timestamp_ms,cpu0,where\n1517524864000,3,a\n1517524867000,4,b\n";
    let labelled = |mapping: Option<&str>| {
        let (label, mapping) = (Some("irq/11,x".to_owned()), mapping.map(str::to_owned));
        read_with(&FORMAT, text.as_bytes(), Hints { label, mapping, ..Hints::none("x") }).text
    };
    let rows = labelled(None);
    assert!(rows.contains("file=irq/11;x,where=a") && rows.contains("file=irq/11;x,where=b"), "{rows}");
    assert!(!labelled(Some("[time]\ncolumn = 'timestamp_ms'\n")).contains("file="));
    assert!(!read(&FORMAT, text.as_bytes()).text.contains("file="));
}

#[test]
fn a_mapping_file_says_where_columns_go() {
    let mapping = r#"
        separator = ";"
        decimal = ","
        skip = 1
        host = "machine"
        labels = { disk = "device" }
        others = "ignore"
        [time]
        column = ["day", "clock"]
        format = "%d.%m.%Y %H:%M:%S"
        zone = "UTC"
        [[value]]
        column = "rkb"
        table = "disk"
        to = "read_bytes_per_s"
        scale = 1024
        [[value]]
        column = "total"
        metric = "ops"
        unit = "/s"
        cumulative = true
    "#;
    let text = "Report of a day\nday;clock;machine;disk;rkb;total;remark\n\
        21.11.2026;14:00:00;db1;sda;1,5;100;a\n21.11.2026;14:00:10;db1;sda;2.000,0;150;b\n";
    let expected = "# disk\nt\tdt\thost\tdevice\tread_bytes_per_s\n\
        2026-11-21T14:00:00.000000Z\t10\tdb1\tsda\t1536\n2026-11-21T14:00:10.000000Z\t10\tdb1\tsda\t2048000\n\
        # metric\nt\tdt\thost\tname\tlabels\tvalue\tunit\n\
        2026-11-21T14:00:10.000000Z\t10\tdb1\tops\tdevice=sda\t5\t/s\n";
    assert_eq!(mapped(mapping, text), expected);
}

#[test]
fn wide_columns_become_rows_with_labels_of_their_names() {
    let value = |column: &str, to: &str, more: &str| {
        let (table, to) = to.split_once('.').unwrap();
        format!("[[value]]\ncolumn = \"{column}\"\ntable = \"{table}\"\nto = \"{to}\"\n{more}\n")
    };
    let mapping = [
        "set = { server = \"db1\" }\n".to_owned(),
        value("cpu core #<cpu>", "cpu.idle", "scale = -1\noffset = 100"),
        value("<device> read", "disk.read_bytes_per_s", ""),
        value("<device> busy", "disk.util", ""),
        value("lock ms", "db.row_lock_time", "counter = true\nscale = 0.001"),
        value("commits", "db.commits_per_s", "amount = true"),
        value("stalled", "pressure.some", "set = { resource = \"io\" }"),
    ]
    .concat();
    let text = "time,cpu core #0,cpu core #1,sda read,sda busy,sdb read,lock ms,commits,stalled,my read\n\
        2026-11-21T14:00:00Z,10,20,5,50,7,1000,40,3,1\n2026-11-21T14:00:10Z,10,30,5,50,,500,40,3,1\n2026-11-21T14:00:20Z,10,30,5,50,,3500,40,3,1\n";
    let rows = mapped(&mapping, text);
    for row in [
        "14:00:00.000000Z\t10\tx\t0\t90",
        "14:00:10.000000Z\t10\tx\t1\t70",
        "14:00:00.000000Z\t10\tx\tsda\t5\t50",
        "14:00:00.000000Z\t10\tx\tsdb\t7",
        "14:00:00.000000Z\t10\tx\tio\t3",
        // A reset counter gives no figure for the interval.
        "14:00:10.000000Z\t10\tx\tdb1\t4\t\n",
        "14:00:20.000000Z\t10\tx\tdb1\t4\t0.3\n",
    ] {
        assert!(rows.contains(&row.replace("\tx\t", "\tunknown\t")), "{row:?}\n{rows}");
    }
    assert!(!rows.contains("14:00:10.000000Z\t10\tunknown\tsdb"), "{rows}");
}

#[test]
fn the_example_of_the_documentation_is_right() {
    let page = include_str!("../../../../../docs/import-mapping.md");
    let block = |kind: &str| {
        let (_, rest) = page.split_once(&format!("```{kind}\n")).unwrap();
        rest.split_once("```").unwrap().0.to_owned()
    };
    let read = mapped(&block("toml"), &block("csv"));
    assert_eq!(read.replace('\t', "|"), block("text").replace('\t', "|"));
}

#[test]
fn what_is_wrong_in_a_mapping_is_said() {
    let text = "a,b\n1,2\n3,4\n";
    for (mapping, words) in [
        ("colour = 1", "left out: line 1: a mapping has no key `colour`"),
        ("[[value]]\ncolumn = 'a'\ntable = 'disc'\nto = 'x'", "no table `disc`; did you mean `disk`?"),
        ("[[value]]\ncolumn = 'a'\ntable = 'disk'\nto = 'red_bytes_per_s'", "did you mean `read_bytes_per_s`"),
        ("[[value]]\ncolumn = 'a'\ntable = 'disk'", "belong together"),
        ("[time]\ncolumn = 'when'", "no column that the mapping file names for the time"),
        ("[time]\ncolumn = 'a'\nzone = 'Nowhere/Else'", "line 3: `Nowhere/Else` is no time zone"),
    ] {
        let read = mapped(mapping, text);
        assert!(read.contains(words), "{mapping}: {read}");
    }
}

#[test]
fn columns_of_measurements_are_claimed() {
    for text in [
        "cpu,ops\n1,2\n",
        "time,ops\n2026-11-21 14:00:00,12\n2026-11-21 14:00:10,13\n",
        "timestamp,host,cpu %,read MB/s\n1700000000,db1,12.5,3\n1700000010,db1,13.5,4\n",
        "Datum;Zeit;Durchsatz\n21.11.2026;14:00:00;1.234,5\n",
        "disk\treads\twrites\nsda\t120\t30\nsdb\t-\t31\n",
        "metric,value\ncpu.usr,12\n",
        "time,ops\n14:00:00,12\n14:00:10,\n",
    ] {
        assert_eq!((FORMAT.sniff)(&Head { text }), Sure::Perhaps, "{text}");
    }
}

#[test]
fn ordinary_texts_with_separators_are_not_claimed() {
    for text in [
        "",
        "a,b\n",
        "Dear Sir,\nwe write, as ever, to\nyou",
        "1,2\n3,4\n",
        "{\"a\": 1,\n\"b\": 2}",
        "a b\n1 2\n",
        // Lists of words and a number.
        "Name,Code\nAfghanistan,4\nAlbania,8\nAlgeria,12\n",
        "keyword\tline\nalpha\t1\nbeta\t20\n",
        "Sherlock Holmes|1887\nWatson|1887\nMoriarty|1893\n",
        // Codes, some of which look like numbers.
        "# comment\n00DF; 00DF; 0053 0073; 0053 0053; # LATIN SMALL LETTER SHARP S\nFB00; FB00; 0046 0066; 0046 0046; # LIGATURE FF\n0149; 0149; 02BC 004E; 02BC 004E; # APOSTROPHE\n",
        // A few numbers among words.
        "package,version,section\nbash,5.2,shells\nzsh,none,shells\nvim,9,editors\ned,a,editors\nnano,b,editors\n",
        // The same name twice, and names without a letter.
        "a,a\n1,2\n3,4\n",
        "--,==\n1,2\n3,4\n",
        // Rows of other lengths.
        "a,b,c\n1,2\n3\n4,5,6\n",
    ] {
        assert_eq!((FORMAT.sniff)(&Head { text }), Sure::No, "{text}");
    }
}

#[test]
fn irregular_rows_become_notes_and_others_are_read() {
    let text = "t,a,b\n1,2\n2,3,4\n3,x,5\n\nt,a,b\n# end\n4,6,7,\n";
    let read = read(&FORMAT, text.as_bytes());
    assert_eq!(read.tally.notes, 1, "{}", read.text);
    // `a` has a word in it, so it is a label.
    assert!(read.text.contains("a=x") && read.text.contains("2 cells under 3 columns"), "{}", read.text);
    assert_eq!(read.tally.tables, [("metric", 3)]);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Whatever the separator, the quotes and the decimal sign: each number comes back.
    #[test]
    fn sheets_are_read_as_they_were_written(
        rows in proptest::collection::vec((proptest::option::of(-10_000_000i64..10_000_000), "[a-z ,;\"\t|é]{1,8}x"), 2..20),
        separator in prop_oneof![Just(','), Just(';'), Just('\t'), Just('|')],
        comma in any::<bool>(),
        crlf in any::<bool>(),
        bom in any::<bool>(),
    ) {
        let comma = comma && separator == ';';
        let end = if crlf { "\r\n" } else { "\n" };
        let mut text = if bom { "\u{feff}".to_owned() } else { String::new() };
        text += &format!("Timestamp{separator}kind{separator}value, or so (ms){end}").replace("value, or", if separator == ',' { "value or" } else { "value, or" });
        let name = if separator == ',' { "value or so (ms)" } else { "value, or so (ms)" };
        let mut expected = Vec::new();
        for (i, (value, label)) in rows.iter().enumerate() {
            let t = Micros(1_700_000_000_000_000 + i as i64 * 10_000_000);
            let cell = value.map_or(String::new(), |v| {
                let digits = format!("{:.2}", v as f64 / 100.0);
                if comma { digits.replace('.', ",") } else { digits }
            });
            text += &format!("{}{separator}\"{}\"{separator}{cell}{end}", t.iso(), label.replace('"', "\"\""));
            if let Some(value) = value {
                let label = label.trim().replace(',', ";").replace('\t', " ");
                expected.push(format!("{name}\tkind={label}\t{}\tms", *value as f64 / 100.0));
            }
        }
        // A column without any number in it is no column of numbers.
        prop_assume!(!expected.is_empty());
        let read = read(&FORMAT, text.as_bytes());
        prop_assert_eq!(read.tally.notes, 0, "{}\n{}", text, read.text);
        let found: Vec<_> = read.text.lines().filter(|l| l.contains("\tkind=") && l.ends_with("\tms"))
            .map(|l| l.split('\t').skip_while(|c| *c != name).collect::<Vec<_>>().join("\t")).collect();
        prop_assert_eq!(found, expected, "{}\n{}", text, read.text);
    }

    #[test]
    fn nothing_panics(text in "[a0-9,;\t|\"\n.: -]{0,200}", mapping in "(columns = \\['a'\\]\n|skip = [0-9]\n|separator = ';'\n|\\[time\\]\ncolumn = 'a'\n){0,3}") {
        read(&FORMAT, text.as_bytes());
        mapped(&mapping, &text);
    }
}
