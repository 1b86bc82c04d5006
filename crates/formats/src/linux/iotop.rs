//! `iotop -b`: the I/O of processes, of the Python program and of the one in C.
//!
//! The first report covers the moment between two readings at the start, so its interval is not known. Figures of
//! threads (without `-P`) are metrics, as are amounts since the start (`-a`). Shares of time are missing where the kernel
//! does not measure them (`task_delayacct`): the program in C prints zeros then, so its zeros are not taken. A letter
//! means a power of 1024.

use fenxi_model::{
    Micros,
    catalog::{metric, process},
};

use crate::{
    Family, Format, Head, Input, Out, Sure,
    generic::labels::Labels,
    next_word, number,
    procps::moments::{Moments, is_prompt},
    scaled, stamp,
};

/// Importer for iotop -b of both programs.
pub static FORMAT: Format = Format {
    name: "iotop",
    summary: "iotop -b of both programs: -o, -P, -t, -k, -a, -q",
    family: Family::Linux,
    tables: &[&process::TABLE, &metric::TABLE],
    example: "\
Total DISK READ:         0.00 B/s | Total DISK WRITE:         3.22 M/s
Current DISK READ:       0.00 B/s | Current DISK WRITE:       0.00 B/s
  PID  PRIO  USER     DISK READ  DISK WRITE  SWAPIN      IO    COMMAND
 3094 be/4 mysql       0.00 B/s    3.22 M/s  0.00 %  1.25 % mariadbd
",
    sniff,
    read,
};

/// Bytes, and whether they are per second.
type Amount = (f64, bool);

/// The totals of a report: `Total DISK READ: 0.00 B/s | Total DISK WRITE: 3.22 M/s`.
fn totals(line: &str) -> Option<(&str, [Amount; 2], &str)> {
    let (read, rest) = line.trim_start().split_once('|')?;
    let (name, read) = read.split_once(" DISK READ")?;
    let (write, after) = rest.split_once('|').unwrap_or((rest, ""));
    let write = write.split_once(" DISK WRITE")?.1;
    let value = |text: &str| amount(text.trim_start().strip_prefix(':')?.trim());
    Some((name.trim(), [value(read)?, value(write)?], after.trim()))
}

/// `3.22 M/s`: bytes, and whether they are per second.
fn amount(text: &str) -> Option<Amount> {
    let (value, unit) = text.trim().split_once(' ')?;
    let (unit, rate) = unit.trim().strip_suffix("/s").map_or((unit.trim(), false), |unit| (unit, true));
    let known = matches!(unit, "B" | "K" | "M" | "G" | "T" | "P");
    Some((scaled(&format!("{value}{unit}"), 1024.0).filter(|_| known)?, rate))
}

/// The line without the time that `-t` puts in front.
fn untimed(line: &str) -> &str {
    let text = line.trim_start();
    let (first, rest) = text.split_once(' ').unwrap_or((text, ""));
    if first.len() == 8 && first.bytes().filter(|b| *b == b':').count() == 2 { rest } else { text }
}

/// The kind of the numbers in front by a line of titles: whether they are of processes.
fn titles(line: &str) -> Option<bool> {
    let mut words = line.split_ascii_whitespace().filter(|word| *word != "TIME");
    let first = words.next()?;
    let own = words.next() == Some("PRIO") && line.contains("DISK READ") && line.contains("DISK WRITE");
    matches!(first, "PID" | "TID").then_some(first == "PID").filter(|_| own)
}

fn sniff(head: &Head<'_>) -> Sure {
    let own = |line: &str| {
        let line = untimed(line);
        totals(line).is_some_and(|(name, ..)| matches!(name, "Total" | "Current" | "Actual"))
    };
    Sure::Certain.when(head.lines().take(30).any(own))
}

/// A process or a thread.
struct Task<'l> {
    id: i64,
    user: &'l str,
    read: Amount,
    write: Amount,
    swapin: Option<f64>,
    io: Option<f64>,
    command: &'l str,
}

impl<'l> Task<'l> {
    /// Reads `3094 be/4 mysql 0.00 B/s 3.22 M/s 0.00 % 1.25 % mariadbd`.
    fn read(line: &'l str) -> Option<Task<'l>> {
        let mut rest = line;
        let mut next = || next_word(&mut rest);
        let id = next()?.parse().ok()?;
        next()?;
        let user = next()?;
        let mut value = || amount(&format!("{} {}", next()?, next()?));
        let (read, write) = (value()?, value()?);
        let text = rest.trim_start();
        let (swapin, io, command) = match text.strip_prefix("?unavailable?") {
            Some(command) => (None, None, command),
            None => {
                let (swapin, text) = text.split_once('%')?;
                let (io, command) = text.split_once('%')?;
                (Some(number(swapin.trim())?), Some(number(io.trim())?), command)
            }
        };
        Some(Task { id, user, read, write, swapin, io, command: command.trim() })
    }

    /// The name of the program: the last part of the first word.
    fn comm(&self) -> &'l str {
        let first = self.command.split_ascii_whitespace().next().unwrap_or("");
        if first.starts_with('[') {
            return first.trim_matches(['[', ']']);
        }
        first.rsplit('/').next().unwrap_or(first)
    }
}

struct Reader {
    moments: Moments,
    now: Option<(Micros, Option<f64>)>,
    reports: u64,
    /// Whether tasks are processes; None before any titles.
    processes: Option<bool>,
    /// Whether shares of time that are zero were measured.
    zeros: bool,
}

fn read(input: &mut Input<'_>, out: &mut Out<'_>) {
    let mut reader = Reader { moments: Moments::new(out), now: None, reports: 0, processes: None, zeros: true };
    input.each_line(|number, line| {
        let line = line.trim_end();
        let text = untimed(line);
        if line.is_empty() {
            return;
        }
        // With a time in front, the text after it shows whose line it is.
        if totals(text).is_some_and(|(name, ..)| name == "Total") && text.len() < line.trim_start().len() {
            reader.moments.take(line, out);
        }
        if reader.line(text, out) {
            return;
        }
        if let Some(rest) = stamp(line).map(|stamp| stamp.rest.to_owned()) {
            let title = totals(&rest).is_some_and(|(name, ..)| name == "Total");
            if rest.is_empty() || title {
                reader.moments.take(line, out);
            }
            if rest.is_empty() || reader.line(&rest, out) {
                return;
            }
        }
        if !is_prompt(line.trim(), "iotop") && !is_prompt(line.trim(), "iotop-c") {
            out.unknown(number, line, "no line of iotop");
        }
    });
}

impl Reader {
    fn line(&mut self, line: &str, out: &mut Out<'_>) -> bool {
        if line.contains("task_delayacct") {
            self.zeros = false;
            return true;
        }
        if let Some((name, values, after)) = totals(line) {
            self.totals(name, values, after, out);
            return true;
        }
        if let Some(processes) = titles(line) {
            self.processes = Some(processes);
            // The titles of the program in C.
            self.zeros &= !line.trim_end().ends_with(" IO COMMAND");
            return true;
        }
        let (Some(task), Some(now)) = (Task::read(line), self.now) else { return false };
        self.task(&task, now, out);
        true
    }

    fn totals(&mut self, name: &str, values: [Amount; 2], after: &str, out: &mut Out<'_>) {
        if name == "Total" || self.now.is_none() {
            if stamp(after).is_some_and(|stamp| stamp.rest.is_empty()) {
                self.moments.take(after, out);
            }
            let (t, dt) = self.moments.next(out);
            self.reports += 1;
            self.now = Some((t, dt.filter(|_| self.reports > 1)));
        }
        let Some((t, dt)) = self.now else { return };
        for (direction, (value, rate)) in ["read", "write"].into_iter().zip(values) {
            let (end, unit) = if rate { ("bytes_per_s", "B/s") } else { ("bytes", "B") };
            let name = format!("iotop.{}_{direction}_{end}", name.to_lowercase());
            out.metric(t, dt, &name, "", value, unit);
        }
    }

    fn task(&mut self, task: &Task<'_>, (t, dt): (Micros, Option<f64>), out: &mut Out<'_>) {
        let of = |figure: Amount| Some(figure.0).filter(|_| figure.1);
        let measured = |share: &f64| self.zeros || *share > 0.0;
        let (swapin, io) = (task.swapin.filter(measured), task.io.filter(measured));
        let processes = self.processes == Some(true);
        let mut labels = Labels::of(if processes { "pid" } else { "tid" }, &task.id.to_string());
        labels.push("comm", task.comm());
        let mut metrics = Vec::new();
        for (name, figure) in [("read_bytes", task.read), ("write_bytes", task.write)] {
            match figure {
                (value, false) => metrics.push((name.to_owned(), Some(value), "B")),
                (value, true) if !processes => metrics.push((format!("{name}_per_s"), Some(value), "B/s")),
                (_, true) => {}
            }
        }
        if processes && (task.read.1 || io.is_some()) {
            let mut row = out.row(&process::TABLE, t, dt);
            row.i64(process::pid, task.id).str(process::comm, task.comm()).str(process::user, task.user);
            row.str(process::command, task.command).f64(process::io_wait, io);
            row.f64(process::read_bytes_per_s, of(task.read)).f64(process::write_bytes_per_s, of(task.write));
        }
        if !processes {
            metrics.push(("io_wait".to_owned(), io, "%"));
        }
        metrics.push(("swapin_wait".to_owned(), swapin, "%"));
        for (name, value, unit) in metrics.into_iter().filter(|(_, value, _)| value.is_some()) {
            out.metric(t, dt, &format!("iotop.{name}"), labels.text(), value, unit);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{FORMAT, Task, amount, titles, totals, untimed};
    use crate::{Head, Sure, fixtures::read};

    #[test]
    fn lines_of_both_programs_are_read() {
        assert_eq!(amount("3.50 M/s"), Some((3.5 * 1048576.0, true)));
        assert_eq!(amount("768.00 K"), Some((786432.0, false)));
        assert_eq!(amount("5 X/s"), None);
        assert_eq!(untimed("04:21:45 28102 be/4"), "28102 be/4");
        assert_eq!(
            titles("    TIME  PID  PRIO  USER     DISK READ  DISK WRITE  SWAPIN      IO    COMMAND"),
            Some(true)
        );
        assert_eq!(titles("   TID PRIO     USER   DISK READ  DISK WRITE SWAPIN     IO COMMAND"), Some(false));
        let (name, values, after) =
            totals("  Total DISK READ:    1.00 K/s |   Total DISK WRITE:    2.00 B   | Mon Nov 23 04:25:28 2026")
                .unwrap();
        assert_eq!((name, values, after), ("Total", [(1024.0, true), (2.0, false)], "Mon Nov 23 04:25:28 2026"));
        let task = Task::read("   35 be/4 root   0.00 B/s   19.44 K/s 0.50 % 12.00 % [kworker/u8:2-x] y").unwrap();
        assert_eq!((task.id, task.swapin, task.io, task.comm()), (35, Some(0.5), Some(12.0), "kworker/u8:2-x"));
        assert_eq!(Task::read("1 be/4 a 0 B/s 0 B/s ?unavailable?  /usr/bin/x -y").map(|t| t.comm()), Some("x"));
    }

    #[test]
    fn shares_that_the_kernel_does_not_measure_are_not_taken() {
        let report = "Total DISK READ: 0.00 B/s | Total DISK WRITE: 0.00 B/s\n  PID  PRIO  USER     DISK READ  DISK WRITE  SWAPIN      IO    COMMAND\n 7 be/4 root 0.00 B/s 1.00 B/s 0.00 % 2.00 % x\n";
        assert!(read(&FORMAT, report.as_bytes()).text.contains("\tio_wait\t"));
        let zero = report.replace("2.00 %", "0.00 %");
        assert!(read(&FORMAT, zero.as_bytes()).text.contains("\tio_wait\t"));
        let of_c = zero.replace("IO    COMMAND", "IO COMMAND");
        assert!(!read(&FORMAT, of_c.as_bytes()).text.contains("io_wait"));
        let warned =
            format!("Warning: task_delayacct is 0, enable by: echo 1 > /proc/sys/kernel/task_delayacct\n{zero}");
        assert!(!read(&FORMAT, warned.as_bytes()).text.contains("io_wait"));
    }

    #[test]
    fn a_line_of_titles_alone_is_nobodys() {
        let text = "  PID  PRIO  USER     DISK READ  DISK WRITE  SWAPIN      IO    COMMAND\n";
        assert_eq!((FORMAT.sniff)(&Head { text }), Sure::No);
    }
}
