//! Output of dstat for known figures is read back, from its file and from a terminal's text.

use std::fmt::Write;

use proptest::prelude::*;

use super::FORMAT;
use crate::fixtures::read;

/// The samples of a table: for each row the cells by their columns' names.
fn rows<'a>(text: &'a str, table: &str) -> Vec<Vec<(&'a str, &'a str)>> {
    let head = format!("# {table}");
    let mut lines = text.lines().skip_while(|l| *l != head).skip(1);
    let names: Vec<&str> = lines.next().unwrap_or("").split('\t').collect();
    let rows = lines.take_while(|l| !l.starts_with("# "));
    rows.map(|row| names.iter().copied().zip(row.split('\t')).collect()).collect()
}

fn value(row: &[(&str, &str)], name: &str) -> Option<f64> {
    row.iter().find(|(n, _)| *n == name)?.1.parse().ok()
}

type Sample = (f64, u32, u64, u64, f64);

fn samples() -> impl Strategy<Value = Vec<Sample>> {
    prop::collection::vec((0.0..100.0, 0u32..1_000_000, 0u64..1 << 40, 0u64..1 << 36, 0.0..500.0), 2..10)
}

proptest! {
    #[test]
    fn the_file_is_read_back(samples in samples(), delay in 1u32..60) {
        let mut text = format!(
            "\"Dstat 0.7.3 CSV output\"\n\"Host:\",\"db1\",,,,\"User:\",\"root\"\n\
             \"Cmdline:\",\"dstat -cyd --output x.csv {delay}\",,,,\"Date:\",\"09 Apr 2017 02:48:19 UTC\"\n\n\
             \"total cpu usage\",,\"system\",,\"dsk/sda\",,\"load avg\"\n\
             \"usr\",\"idl\",\"int\",\"csw\",\"read\",\"writ\",\"1m\"\n"
        );
        for (usr, int, read, written, load) in &samples {
            let _ = writeln!(text, "{usr:.3},{:.3},{int}.0,7.0,{read}.0,{written}.0,{load:.3}", 100.0 - usr);
        }
        let read = read(&FORMAT, text.as_bytes());
        prop_assert_eq!((read.tally.notes, read.tally.boot_rows), (0, 3));
        let (cpu, sched, disk) = (rows(&read.text, "cpu"), rows(&read.text, "sched"), rows(&read.text, "disk"));
        prop_assert_eq!((cpu.len(), sched.len(), disk.len()), (samples.len() - 1, samples.len() - 1, samples.len() - 1));
        for (i, (usr, int, bytes, written, load)) in samples[1..].iter().enumerate() {
            prop_assert!((value(&cpu[i], "usr").unwrap() - usr).abs() < 0.001);
            prop_assert_eq!(value(&sched[i], "intr_per_s"), Some(f64::from(*int)));
            prop_assert!((value(&sched[i], "load1").unwrap() - load).abs() < 0.001);
            let close = |name: &str, v: u64| (value(&disk[i], name).unwrap() - v as f64).abs() <= v as f64 * 1e-11;
            prop_assert!(close("read_bytes_per_s", *bytes) && close("write_bytes_per_s", *written));
            prop_assert_eq!(value(&disk[i], "dt"), Some(f64::from(delay)));
        }
    }

    #[test]
    fn the_text_is_read_back(samples in prop::collection::vec((0u32..=100, 0u32..10_000, 0u32..1024), 2..10)) {
        let titles = "----system---- total-usage -dsk/total- ---system--\n     time     |usr sys| read  writ| int   csw \n";
        let mut text = titles.to_owned();
        for (i, (usr, int, kilobytes)) in samples.iter().enumerate() {
            let _ = writeln!(text, "21-11 08:30:{:02}|{usr:3} {:3}|{kilobytes:4}k    0 |{int:4}     1 ", i * 2, 100 - usr);
            if i == 3 {
                text.push_str(titles);
            }
        }
        let read = read(&FORMAT, text.as_bytes());
        prop_assert_eq!((read.tally.notes, read.tally.boot_rows), (0, 3));
        let (cpu, sched, disk) = (rows(&read.text, "cpu"), rows(&read.text, "sched"), rows(&read.text, "disk"));
        for (i, (usr, int, kilobytes)) in samples[1..].iter().enumerate() {
            prop_assert_eq!(value(&cpu[i], "usr"), Some(f64::from(*usr)));
            prop_assert_eq!(value(&sched[i], "intr_per_s"), Some(f64::from(*int)));
            prop_assert_eq!(value(&disk[i], "read_bytes_per_s"), Some(f64::from(*kilobytes) * 1024.0));
            prop_assert_eq!(value(&disk[i], "dt"), Some(2.0));
        }
    }
}
