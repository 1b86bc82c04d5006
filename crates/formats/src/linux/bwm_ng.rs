//! `bwm-ng -o csv`: what interfaces received and sent, a line for each at each interval.
//!
//! Its columns have no header: time, interface, bytes per second out, in and total, bytes in and out; the same of packets; errors; and
//! since 0.6.1 bits. They are recognised by their number and by the line `total` at the end of each interval, which is left out. The bytes
//! are bytes with `-u bits` too.

use fenxi_model::{Micros, catalog::net};

use crate::{Family, Format, Head, Input, Out, Sure, number};

/// Importer for bwm-ng -o csv.
pub static FORMAT: Format = Format {
    name: "bwm-ng",
    summary: "bwm-ng -o csv",
    family: Family::Linux,
    tables: &[&net::TABLE],
    example: "\
1795611275.894526;eth0;100.00;300.00;400.00;150;50;2.00;4.00;6.00;2;1;0.00;0.00;0;0;0.00;0.00;0.00;0;0
1795611275.894595;total;100.00;300.00;400.00;150;50;2.00;4.00;6.00;2;1;0.00;0.00;0;0;0.00;0.00;0.00;0;0
",
    sniff,
    read,
};

/// One line: time, interface, and the rates of bytes and packets out and in, errors out and in.
struct Line<'l> {
    t: Micros,
    interface: &'l str,
    rates: [Option<f64>; 6],
    /// The length of the interval, where it is known.
    seconds: Option<f64>,
}

fn line(text: &str) -> Option<Line<'_>> {
    let cells: Vec<&str> = text.trim().split([';', ',']).collect();
    // 16 columns before version 0.6.1 counts bits, too.
    if !(cells.len() == 16 || cells.len() == 21) || !cells[0].bytes().all(|b| b.is_ascii_digit() || b == b'.') {
        return None;
    }
    let seconds = number(cells[0]).filter(|s| (5e8..5e9).contains(s))?;
    let all = cells[2..].iter().all(|cell| number(cell).is_some());
    let interface = cells[1];
    let named = !interface.is_empty() && number(interface).is_none();
    let at = |place: usize| cells.get(place).and_then(|cell| number(cell));
    (all && named).then(|| Line {
        t: Micros((seconds * 1e6).round() as i64),
        interface,
        rates: [at(2), at(3), at(7), at(8), at(12), at(13)],
        // The count of the interval, divided by the count per second.
        seconds: at(5).zip(at(3)).map(|(count, rate)| count / rate).filter(|s| *s > 0.0 && s.is_finite()),
    })
}

fn sniff(head: &Head<'_>) -> Sure {
    let mut lines = head.text.lines().filter(|text| !text.trim().is_empty()).take(40);
    let (mut read, mut totals) = (0, 0);
    // The last one may be cut.
    while let Some(text) = lines.next() {
        match line(text) {
            Some(line) => (read, totals) = (read + 1, totals + u32::from(line.interface == "total")),
            None if read > 0 && lines.next().is_none() => {}
            None => return Sure::No,
        }
    }
    Sure::Certain.when(read >= 2 && totals > 0)
}

fn read(input: &mut Input<'_>, out: &mut Out<'_>) {
    let mut last: Option<Micros> = None;
    let (mut now, mut dt): (Option<Micros>, Option<f64>) = (None, None);
    let told = out.hints().interval_s;
    input.each_line(|at, text| {
        let Some(line) = line(text) else {
            if !text.trim().is_empty() {
                out.unknown(at, text, "no line of bwm-ng -o csv");
            }
            return;
        };
        // Lines of one interval are some microseconds apart.
        let t = *now.get_or_insert_with(|| {
            dt = told.or(last.map(|last| line.t.seconds_since(last)).filter(|dt| *dt > 0.0)).or(line.seconds);
            line.t
        });
        if line.interface == "total" {
            (last, now) = (Some(t), None);
            return;
        }
        let [tx, rx, tx_packets, rx_packets, tx_errors, rx_errors] = line.rates;
        let mut row = out.row(&net::TABLE, t, dt);
        row.str(net::interface, line.interface).f64(net::rx_bytes_per_s, rx).f64(net::tx_bytes_per_s, tx);
        row.f64(net::rx_packets_per_s, rx_packets).f64(net::tx_packets_per_s, tx_packets);
        row.f64(net::rx_errors_per_s, rx_errors).f64(net::tx_errors_per_s, tx_errors);
    });
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{detect, fixtures::read};

    #[test]
    fn a_line_is_of_one_interface() {
        let read = read(&FORMAT, FORMAT.example.as_bytes());
        assert!(read.text.contains("eth0\t300\t100\t4\t2\t0\t0"), "{}", read.text);
        assert_eq!(read.tally.notes, 0);
    }

    #[test]
    fn other_tables_of_numbers_are_nobodys() {
        let text = "1795611275;a;1;2;3;4;5;6;7;8;9;10;11;12;13;14\n1795611276;b;1;2;3;4;5;6;7;8;9;10;11;12;13;14\n";
        assert!(detect(&Head { text }).is_none_or(|format| format.name != "bwm-ng"));
    }
}
