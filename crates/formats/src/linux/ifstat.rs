//! `ifstat` 1.1 (Gaël Roualland's): what interfaces received and sent, one line for each interval.
//!
//! It prints kilobytes (1024 bytes) per second, with `-b` kilobits (1024 bits). With `-t` a time of day is in front of each line. The tool of
//! the same name of iproute2 prints totals that are rounded, and is not read.

use fenxi_model::{Micros, catalog::net};

use crate::{
    Clock, Family, Format, Head, Input, Out, Relative, Sure, Ticker, civil_time, number, procps::moments::is_prompt,
    stamp,
};

/// Importer for ifstat 1.1, also -t, -T, -b and -a.
pub static FORMAT: Format = Format {
    name: "ifstat",
    summary: "ifstat 1.1, also -t, -T, -b and -a",
    family: Family::Linux,
    tables: &[&net::TABLE],
    example: "\
  Time           eth0       
HH:MM:SS   KB/s in  KB/s out
12:53:01      1.50      0.25
12:53:02      2.00      0.50
",
    sniff,
    read,
};

/// Bytes of a `KB`, and of a `Kb`, which is 1024 bits here.
const KILOBYTE: f64 = 1024.0;
const KILOBIT: f64 = 1024.0 / 8.0;

/// The second line of its header: whether times are in front, of how many interfaces, and what is counted.
fn units(line: &str) -> Option<(bool, usize, f64)> {
    let words: Vec<&str> = line.split_ascii_whitespace().collect();
    let (timed, words) = match words.split_first() {
        Some((&"HH:MM:SS", rest)) => (true, rest),
        _ => (false, &words[..]),
    };
    let all = |unit: &str| {
        !words.is_empty()
            && words.len() % 4 == 0
            && words.chunks(4).all(|chunk| matches!(chunk, [a, "in", b, "out"] if *a == unit && *b == unit))
    };
    let scale = if all("KB/s") {
        KILOBYTE
    } else if all("Kbps") {
        KILOBIT
    } else {
        return None;
    };
    Some((timed, words.len() / 4, scale))
}

fn sniff(head: &Head<'_>) -> Sure {
    Sure::Certain.when(head.any(|line| units(line).is_some()))
}

struct Reader {
    clock: Clock,
    ticker: Ticker,
    relative: Option<Relative>,
    interfaces: Vec<String>,
    timed: bool,
    scale: f64,
    /// The line before, which may name interfaces.
    before: Option<(u64, String)>,
    /// Seconds between lines by the command.
    interval_s: Option<f64>,
}

fn read(input: &mut Input<'_>, out: &mut Out<'_>) {
    let seconds = |line: &str| {
        let time = civil_time(line.split_ascii_whitespace().next()?, None)?;
        Some(f64::from(time.hour()) * 3600.0 + f64::from(time.minute()) * 60.0 + f64::from(time.second()))
    };
    let mut reader = Reader {
        clock: Clock::new(out.hints()),
        ticker: Ticker::new(out.hints(), &input.head(), seconds),
        relative: None,
        interfaces: Vec::new(),
        timed: false,
        scale: KILOBYTE,
        before: None,
        interval_s: None,
    };
    input.each_line(|at, line| {
        let line = line.trim_end();
        if line.trim().is_empty() || reader.line(line, out) {
            return;
        }
        if is_prompt(line.trim(), "ifstat") {
            reader.interval_s = line.split_ascii_whitespace().filter_map(number).find(|s| *s > 0.0);
            return;
        }
        if let Some((at, line)) = reader.before.replace((at, line.to_owned())) {
            out.unknown(at, &line, "no line of ifstat");
        }
    });
    if let Some((at, line)) = reader.before {
        out.unknown(at, &line, "no line of ifstat");
    }
}

impl Reader {
    fn line(&mut self, line: &str, out: &mut Out<'_>) -> bool {
        if let Some((timed, n, scale)) = units(line) {
            let names = self.before.take().map(|(_, names)| names).unwrap_or_default();
            let names: Vec<String> = names.split_ascii_whitespace().map(str::to_owned).collect();
            // `Time` is above the times.
            let names = if timed && names.len() == n + 1 { names[1..].to_vec() } else { names };
            (self.timed, self.scale) = (timed, scale);
            self.interfaces = if names.len() == n { names } else { Vec::new() };
            if self.interfaces.is_empty() {
                out.note(None, "a header of ifstat without a name for each interface");
            }
            return true;
        }
        if self.interfaces.is_empty() {
            return false;
        }
        let (mut t, mut rest) = (None, line.trim());
        if self.timed {
            let Some((time, after)) = rest.split_once(' ') else { return false };
            let Some(time) = civil_time(time, None) else { return false };
            (t, rest) = (Some(self.clock.at(time, out)), after.trim());
        } else if let Some(stamp) = stamp(rest).filter(|stamp| !stamp.rest.is_empty()) {
            (t, rest) = (Some(stamp.when.moment(&mut self.clock, out)), stamp.rest.trim());
        }
        let cells: Vec<&str> = rest.split_ascii_whitespace().collect();
        let is_value = |cell: &&str| *cell == "n/a" || number(cell).is_some();
        if cells.len() != self.interfaces.len() * 2 || !cells.iter().all(is_value) {
            return false;
        }
        let (t, dt) = self.moment(t, out);
        for (interface, cells) in self.interfaces.iter().zip(cells.chunks(2)) {
            // `Total` is the sum of what is shown.
            if interface == "Total" {
                continue;
            }
            let bytes = |cell: &str| number(cell).map(|value| value * self.scale);
            let mut row = out.row(&net::TABLE, t, dt);
            row.str(net::interface, interface.as_str());
            row.f64(net::rx_bytes_per_s, bytes(cells[0])).f64(net::tx_bytes_per_s, bytes(cells[1]));
        }
        true
    }

    fn moment(&mut self, t: Option<Micros>, out: &mut Out<'_>) -> (Micros, Option<f64>) {
        match t {
            Some(t) => (t, self.ticker.tick(t)),
            None => {
                let interval_s = self.interval_s;
                let (t, dt) = self.relative.get_or_insert_with(|| Relative::new(out, interval_s)).tick();
                (t, Some(dt))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{detect, fixtures::read};

    #[test]
    fn kilobytes_and_kilobits_are_bytes() {
        let text = "       eth0                 lo\n KB/s in  KB/s out   KB/s in  KB/s out\n    1.50      0.25      0.00      n/a\n";
        assert_eq!(detect(&Head { text }).unwrap().name, "ifstat");
        let read = read(&FORMAT, text.as_bytes());
        assert!(read.text.contains("eth0\t1536\t256"), "{}", read.text);
        assert_eq!(read.tally.notes, 0, "{}", read.text);
        let text = "       eth0\n Kbps in  Kbps out\n    8.00      16.00\n";
        let read = crate::fixtures::read(&FORMAT, text.as_bytes());
        assert!(read.text.contains("eth0\t1024\t2048"), "{}", read.text);
    }

    #[test]
    fn a_table_of_speeds_is_nobodys() {
        for text in ["disk KB/s in KB/s\nsda 3 4\n", "KB/s in KB/s of out\n1 2\n"] {
            assert!(detect(&Head { text }).is_none(), "{text}");
        }
    }
}
