//! Gatling 3: `simulation.log` as text, `stats.json` and `global_stats.json` of its report, and what it prints.
//!
//! Gatling writes its log as text up to 3.12; since 3.13 it is binary, and only what it prints can be imported. The log is
//! Gatling's own matter and changes between versions: 3.4 left the numbers of users out.

mod console;
mod figures;
mod log;
mod stats;

use fenxi_model::catalog::{histogram, load};

use crate::{Family, Format, Head, Input, Out, Sure};

/// Importer for Gatling simulation.log as text (up to 3.12), stats.json, global_stats.json, console.
pub static FORMAT: Format = Format {
    name: "gatling",
    summary: "Gatling: simulation.log as text (up to 3.12), stats.json, global_stats.json, console",
    family: Family::Load,
    tables: &[&load::TABLE, &histogram::TABLE],
    example: "\
RUN\tshop.ShopSimulation\tshopsimulation\t1795425709273\t \t3.9.5
USER\tBrowse\tSTART\t1795425710157
REQUEST\t\tHome\t1795425710032\t1795425710215\tOK\t 
",
    sniff,
    read,
};

/// Which of its texts an input is.
enum Kind {
    Log,
    Stats,
    Console,
}

fn kind(head: &Head<'_>) -> Option<Kind> {
    if head.first().starts_with('{') {
        return stats::is_stats(head).then_some(Kind::Stats);
    }
    if log::is_log(head) {
        return Some(Kind::Log);
    }
    console::is_console(head).then_some(Kind::Console)
}

fn sniff(head: &Head<'_>) -> Sure {
    Sure::Certain.when(kind(head).is_some())
}

fn read(input: &mut Input<'_>, out: &mut Out<'_>) {
    let kind = kind(&Head { text: &input.head() });
    match kind {
        Some(Kind::Stats) => stats::read(input, out),
        Some(Kind::Console) => console::read(input, out),
        // A text that is none of them is noted line by line.
        Some(Kind::Log) | None => log::read(input, out),
    }
}

#[cfg(test)]
mod tests {
    use super::FORMAT;
    use crate::{
        Head, Sure,
        fixtures::read,
        load::tests::{column, result},
    };

    fn fixture(name: &str) -> String {
        let path = format!("fixtures/gatling/{name}");
        let read = read(&FORMAT, &fs_err::read(path).unwrap());
        assert_eq!(read.tally.notes, 0, "{}", read.text);
        read.text
    }

    #[test]
    fn seconds_of_the_log_add_up_to_what_gatling_counted() {
        for (name, requests, failed) in [("3.9-simulation.log", 137.0, 9.0), ("3.3-simulation.log", 50.0, 5.0)] {
            let text = fixture(name);
            let sum = |name: &str| {
                let all = column(&text, "load", "operation");
                // Names are no numbers: rows of operations are those with one.
                let rows = text.split("# load\n").nth(1).unwrap().lines().skip(1).take(all.len());
                let total = rows.map(|row| row.split('\t').nth(4) == Some(""));
                column(&text, "load", name).iter().zip(total).filter(|(_, t)| *t).filter_map(|(v, _)| *v).sum::<f64>()
            };
            assert_eq!((sum("transactions_per_s"), sum("errors_per_s")), (requests, failed), "{name}");
            assert_eq!(result(&text, "transactions"), Some(requests));
        }
    }

    /// Of so few requests Gatling's percentiles are interpolated differently between two values; it rounds to milliseconds.
    #[test]
    fn counts_means_and_extremes_of_the_log_are_those_that_gatling_reports() {
        for version in ["3.3", "3.9"] {
            let (log, stats) =
                (fixture(&format!("{version}-simulation.log")), fixture(&format!("{version}-stats.json")));
            let mut compared = 0;
            for operation in ["", "[Home]", "[Missing page]", "[Basket / Add]", "[Basket / Show]", "[group Basket]"] {
                for name in ["transactions", "errors", "latency_min", "latency_max", "latency_mean", "latency_sd"] {
                    let name = format!("{name}{operation}");
                    let (Some(a), Some(b)) = (result(&log, &name), result(&stats, &name)) else { continue };
                    compared += 1;
                    assert!((a - b).abs() <= 1.0, "{version} {name}: {a} {b}");
                }
            }
            assert!(compared == 36, "{version}: {compared}");
        }
    }

    #[test]
    fn logs_of_others_are_nobodys() {
        for text in ["RUN\ta\tb\tc\n", "REQUEST\ta\tb\n", "{\"name\": \"All Requests\"}\n", "---- Requests ----\n"] {
            assert_eq!((FORMAT.sniff)(&Head { text }), Sure::No, "{text}");
        }
    }
}
