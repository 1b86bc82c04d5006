//! Output of nicstat for known rates is read back as these rates.

use std::fmt::Write;

use proptest::prelude::*;

use super::FORMAT;
use crate::fixtures::read;

/// As the tool chooses decimals: fewer for larger values.
fn decimals(value: f64) -> usize {
    match value {
        v if v < 100.0 => 2,
        v if v < 100_000.0 => 1,
        _ => 0,
    }
}

fn shown(value: f64) -> String {
    format!("{value:.*}", decimals(value))
}

/// The rows of table `net` that are samples: column names, then cells.
fn net_rows(text: &str) -> (Vec<&str>, Vec<Vec<&str>>) {
    let mut lines = text.lines().skip_while(|l| *l != "# net").skip(1);
    let names = lines.next().unwrap_or("").split('\t').collect();
    (names, lines.take_while(|l| !l.starts_with("# ")).map(|l| l.split('\t').collect()).collect())
}

fn cell(names: &[&str], row: &[&str], name: &str) -> Option<f64> {
    row[names.iter().position(|n| *n == name)?].parse().ok()
}

fn name() -> impl Strategy<Value = String> {
    "[a-z][a-z0-9]{0,8}(\\.[0-9]{1,4})?".prop_filter("a name of a protocol", |n| !n.starts_with("lo"))
}

type Rates = (f64, f64, f64, f64, f64);

fn rates() -> impl Strategy<Value = Rates> {
    (0.0..2e7, 0.0..2e7, 0.0..1e7, 0.0..1e7, 0.5..100.0)
}

proptest! {
    #[test]
    fn what_is_printed_is_read_back(name in name(), samples in prop::collection::vec(rates(), 2..8)) {
        let mut text = String::new();
        for (i, (r, w, rp, wp, util)) in samples.iter().enumerate() {
            let _ = writeln!(text, "    Time      Int   rKB/s   wKB/s   rPk/s   wPk/s    rAvs    wAvs %Util    Sat");
            let cells = [*r, *w, *rp, *wp, 100.0, 200.0].map(shown).map(|v| format!(" {v:>7}")).concat();
            let _ = writeln!(text, "10:00:{:02} {name:>8}{cells} {util:5.2} {:6.2}", i * 5, 0.25);
        }
        let read = read(&FORMAT, text.as_bytes());
        prop_assert_eq!((read.tally.notes, read.tally.boot_rows), (0, 1));
        let (names, rows) = net_rows(&read.text);
        prop_assert_eq!(rows.len(), samples.len() - 1);
        for (row, (r, w, rp, wp, util)) in rows.iter().zip(&samples[1..]) {
            let expected = [
                ("rx_bytes_per_s", r * 1024.0, 1024.0), ("tx_bytes_per_s", w * 1024.0, 1024.0),
                ("rx_packets_per_s", *rp, 1.0), ("tx_packets_per_s", *wp, 1.0), ("util", *util, 1.0),
                ("saturation_per_s", 0.25, 1.0), ("dt", 5.0, 1.0),
            ];
            for (column, value, unit) in expected {
                let least = 0.51 * unit * 10f64.powi(-(decimals(value / unit) as i32));
                let read = cell(&names, row, column);
                prop_assert!(read.is_some_and(|v| (v - value).abs() <= least), "{column}: {read:?}, not {value}");
            }
        }
    }

    #[test]
    fn the_parseable_form_keeps_names_with_colons(name in name(), alias in "(:[a-z0-9]{1,3}){0,2}", util in 0u8..=100) {
        let line = |t: u32| format!("{t}:{name}{alias}:1.500:20.25:300.5:40000:{util}:0.00\n");
        let read = read(&FORMAT, (line(1_795_229_087) + &line(1_795_229_097)).as_bytes());
        prop_assert_eq!((read.tally.notes, read.tally.boot_rows), (0, 1));
        let (names, rows) = net_rows(&read.text);
        prop_assert_eq!(rows[0][names.iter().position(|n| *n == "interface").unwrap()], format!("{name}{alias}"));
        prop_assert_eq!(cell(&names, &rows[0], "tx_packets_per_s"), Some(40_000.0));
        prop_assert_eq!(cell(&names, &rows[0], "dt"), Some(10.0));
    }
}
