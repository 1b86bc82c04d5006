//! Random families, rendered as exporters do and read back.

use proptest::prelude::*;

use super::FORMAT;
use crate::fixtures::read;

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Gauges with any labels and counters over any number of scrapes.
    #[test]
    fn scrapes_are_read_as_they_were_written(
        values in proptest::collection::vec((0u32..1_000_000, 0u32..1_000_000), 1..20),
        label in "[a-zA-Z0-9 ,={}#\\\\\"é\n]{0,12}",
        millis in any::<bool>(),
    ) {
        let escaped = label.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n");
        let shown = label.replace(',', ";").replace('\n', " ");
        let labels = if shown.is_empty() { String::new() } else { format!("x={shown}") };
        let (mut text, mut total) = (String::new(), 0u64);
        let mut expected = Vec::new();
        for (i, (gauge, step)) in values.iter().enumerate() {
            total += u64::from(*step);
            let stamp = if millis { (1_700_000_000_000 + i * 5_000).to_string() } else { format!("{}.0", 1_700_000_000 + i * 5) };
            text += "# HELP g_bytes something\n# TYPE g_bytes gauge\n";
            text += &format!("g_bytes{{x=\"{escaped}\"}} {gauge} {stamp}\n# TYPE c_total counter\n");
            text += &format!("c_total{{x=\"{escaped}\",}} {total} {stamp}\n");
            expected.push(format!("g_bytes\t{labels}\t{gauge}"));
            if i > 0 {
                expected.push(format!("c_per_s\t{labels}\t{}", f64::from(*step) / 5.0));
            }
        }
        let read = read(&FORMAT, text.as_bytes());
        prop_assert_eq!(read.tally.notes, 0, "{}\n{}", text, read.text);
        for line in expected {
            // A column that no row sets is not there.
            let line = if labels.is_empty() { line.replace("\t\t", "\t") } else { line };
            prop_assert!(read.text.contains(&line), "{line}\n{}", read.text);
        }
        prop_assert_eq!(read.tally.boot_rows, u64::from(values.len() > 1));
    }

    /// Buckets' counts add up to the histogram's, whatever it counts.
    #[test]
    fn buckets_add_up(scrapes in proptest::collection::vec(proptest::collection::vec(0u64..1000, 4), 2..6)) {
        let mut text = "# TYPE h_seconds histogram\n".to_owned();
        let mut counts = [0u64; 4];
        for (i, more) in scrapes.iter().enumerate() {
            let mut below = 0;
            for ((count, more), le) in counts.iter_mut().zip(more).zip(["0.1", "0.5", "1", "+Inf"]) {
                *count += more;
                below += *count;
                text += &format!("h_seconds_bucket{{le=\"{le}\"}} {below} {}\n", 1_700_000_000 + i);
            }
            text += &format!("h_seconds_sum 1 {}\nh_seconds_count {below} {}\n", 1_700_000_000 + i, 1_700_000_000 + i);
        }
        let read = read(&FORMAT, text.as_bytes());
        prop_assert_eq!(read.tally.notes, 0);
        let (_, rows) = read.text.split_once("# histogram\n").unwrap_or(("", ""));
        let rows = rows.lines().skip(1).take_while(|l| !l.starts_with('#'));
        let sum: f64 = rows.map(|l| l.rsplit('\t').next().unwrap().parse::<f64>().unwrap()).sum();
        let expected: u64 = scrapes.iter().skip(1).flatten().sum();
        prop_assert_eq!(sum, expected as f64, "{}", read.text);
    }

    #[test]
    fn nothing_panics(text in "(# (TYPE|EOF|UNIT|HELP) |a|_bucket|[{}=\"\\\\, 0-9.e+\n#é-]|le=\"1\"){0,60}") {
        read(&FORMAT, text.as_bytes());
    }
}
