//! Rows as lockstat prints them come back, whatever the names in them.

use std::fmt::Write;

use proptest::prelude::*;

use super::*;
use crate::fixtures::read;

#[test]
fn a_lock_may_have_blanks_in_its_name_and_a_caller_may_be_wrapped() {
    let header = line::header("Count indv cuml rcnt     nsec Lock                   Caller").unwrap();
    let row = line::row(" 412   6%  95% 0.00     1205 bufobj interlock       vputx+0x5a", header).unwrap();
    assert_eq!((row.lock, row.caller, row.mean), ("bufobj interlock", "vputx+0x5a", Some(1205.0)));
    let row = line::row("  412   6%  95% 0.00     1205 a_lock_with_a_long_name", header).unwrap();
    assert_eq!((row.lock, row.caller), ("a_lock_with_a_long_name", ""));
    assert_eq!(line::row("Count of 12% 13% things", header), None);
}

#[test]
fn a_rate_below_one_is_an_unknown_number_with_a_known_mean() {
    let text = "Spin lock hold: 7 events in 5.000 seconds (1 events/sec)\n\n\
        ops/s indv cuml rcnt     nsec Lock                   Caller\n\
        -------------------------------------------------------------------------------\n\
            1  71%  71% 0.00     2000 a                      f+0x1\n\
            0  29% 100% 0.00     3000 b                      g+0x2\n";
    let read = read(&FORMAT, text.as_bytes());
    assert!(read.text.contains("spinlock hold\ta\tf+0x1\t5\t2\t0.00001\t71.4285714286\n"), "{}", read.text);
    assert!(read.text.contains("spinlock hold\tb\tg+0x2\t\t3\t\t\n"), "{}", read.text);
}

prop_compose! {
    fn row()(count in 1u32..5_000_000, ns in 0u64..10_000_000_000, lock in "[a-z_]{1,30}(\\+0x[0-9a-f]{1,3})?|0x[0-9a-f]{16}", caller in "[a-z_]{1,30}\\+0x[0-9a-f]{1,4}") -> (u32, u64, String, String) {
        (count, ns, lock, caller)
    }
}

proptest! {
    /// Rows printed as the tool prints them come back, whichever the event and however long the names.
    #[test]
    fn rows_come_back(mut rows in prop::collection::vec(row(), 1..12), seconds in 1.0f64..1000.0) {
        rows.sort_by(|a, b| (&a.2, &a.3).cmp(&(&b.2, &b.3)));
        rows.dedup_by(|a, b| (&a.2, &a.3) == (&b.2, &b.3));
        let total: u64 = rows.iter().map(|r| u64::from(r.0)).sum();
        let dashes = "-".repeat(79);
        let mut text = format!("\nR/W reader hold: {total} events in {seconds:.3} seconds (0 events/sec)\n\n");
        let _ = writeln!(text, "{:>5} {:>4} {:>4} {:>4} {:>8} {:<22} {:<24}\n{dashes}", "Count", "indv", "cuml", "rcnt", "nsec", "Lock", "Caller");
        let mut sum = 0;
        for (count, ns, lock, caller) in &rows {
            sum += u64::from(*count);
            let share = |n: u64| 100.0 * n as f64 / total as f64;
            let _ = writeln!(text, "{count:>5} {:>3.0}% {:>3.0}% {:4.2} {ns:>8} {lock:<22} {caller:<24}", share(u64::from(*count)), share(sum), 0.0);
        }
        let _ = writeln!(text, "{dashes}");
        let read = read(&FORMAT, text.as_bytes());
        prop_assert_eq!(read.tally.notes, 0);
        let lines: Vec<&str> = read.text.lines().skip_while(|l| !l.starts_with("# lock")).skip(2).take(rows.len()).collect();
        prop_assert_eq!(lines.len(), rows.len());
        for (line, (count, ns, lock, caller)) in lines.iter().zip(&rows) {
            let cells: Vec<&str> = line.split('\t').collect();
            let count = count.to_string();
            prop_assert_eq!(&cells[3..7], &["rwlock read hold", lock, caller, &count]);
            let mean: f64 = cells[7].parse().unwrap();
            prop_assert!((mean - *ns as f64 / 1e3).abs() <= 1e-9 * mean.abs() + 1e-12);
        }
    }
}
