//! `queuelog`: how long a print server's queue is. It exists only here, as an example.
//!
//! Each line is a date, a time, a host, and pairs of a name and a number:
//! `2026-11-21 14:35:53 ps1 running 3 waiting 12`.

use fenxi_model::catalog::sched;

use super::{Clock, Family, Format, Head, Input, Out, Splitter, Sure, Ticker, civil_date, civil_time, number};

/// Importer for queuelog of the print server.
pub static FORMAT: Format = Format {
    name: "queuelog",
    summary: "queuelog of the print server",
    family: Family::Linux,
    tables: &[&sched::TABLE],
    example: "2026-11-21 14:35:53 ps1 running 3 waiting 12\n",
    sniff,
    read,
};

/// Sure only of what nothing else prints: two words at their places behind a date.
fn sniff(head: &Head<'_>) -> Sure {
    let own = |line: &str| {
        let words: Vec<&str> = line.split_whitespace().collect();
        matches!(words[..], [date, _, _, "running", _, "waiting", _] if civil_date(date).is_some())
    };
    Sure::Certain.when(own(head.first()))
}

fn read(input: &mut Input<'_>, out: &mut Out<'_>) {
    let mut clock = Clock::new(out.hints());
    // The usual distance between two lines, for the length of the first interval.
    let time = |line: &str| civil_time(line.split_whitespace().nth(1)?, None);
    let seconds = |line: &str| {
        time(line).map(|t| f64::from(t.hour()) * 3600.0 + f64::from(t.minute()) * 60.0 + f64::from(t.second()))
    };
    let mut ticker = Ticker::new(out.hints(), &input.head(), seconds);
    let mut splitter = Splitter::default();
    while input.line().is_some() {
        let (line, text) = (input.number(), input.text());
        if text.trim().is_empty() {
            continue;
        }
        let fields = splitter.blanks(text);
        let (Some(date), Some(time)) = (civil_date(fields.get(0)), civil_time(fields.get(1), None)) else {
            out.unknown(line, text, "no date and time at the beginning of the line");
            continue;
        };
        let t = clock.moment(date.to_datetime(time));
        let dt = ticker.tick(t);
        out.set_host(fields.get(2));
        // One row for each moment and host; a name without its own column becomes a metric.
        out.row(&sched::TABLE, t, dt).f64(sched::runnable, number(fields.get(4)));
        out.metric(t, dt, "queuelog.waiting", "", number(fields.get(6)), "");
    }
}

#[cfg(test)]
mod tests {
    use crate::fixtures::read;

    #[test]
    fn lines_become_rows_and_what_is_none_a_note() {
        let text = "2026-11-21 23:59:55 ps1 running 3 waiting 12\n2026-11-22 00:00:05 ps1 running 4 waiting -\nhello\n";
        let read = read(&super::FORMAT, text.as_bytes());
        let expected = "\
# sched
t	dt	host	runnable
2026-11-21T23:59:55.000000Z	10	ps1	3
2026-11-22T00:00:05.000000Z	10	ps1	4
# metric
t	dt	host	name	value
2026-11-21T23:59:55.000000Z	10	ps1	queuelog.waiting	12
2026-11-22T00:00:05.000000Z	10	ps1	queuelog.waiting	";
        assert!(read.text.starts_with(expected), "{}", read.text);
        assert!(read.text.contains("\t3\tno date and time at the beginning of the line: hello"), "{}", read.text);
        assert_eq!(read.tally.notes, 1);
    }
}
