//! Tools of bcc and libbpf-tools that print a line for each event: execsnoop, exitsnoop, opensnoop, tcplife, biosnoop, ext4slower,
//! tcpconnect, tcpretrans, killsnoop, filelife ...; and the tables of syscount and cachestat.
//!
//! Programs, files and connections become events. The I/Os of biosnoop are added up by second, device and operation, as a line for
//! each would be too many. Without a column of times events are taken to be from when the file was written.

use std::collections::BTreeMap;

use fenxi_model::{
    Micros,
    catalog::{block_io, event, syscall},
};

use super::syscalls::Others;
use crate::{Clock, Family, Format, Head, Input, Out, Relative, Sure, Ticker, civil_time, number};

/// Importer for event lines of bcc and libbpf-tools.
pub static FORMAT: Format = Format {
    name: "bcc-events",
    summary: "event lines of bcc and libbpf-tools: execsnoop, opensnoop, tcplife, biosnoop, ext4slower, syscount, cachestat ...",
    family: Family::Trace,
    tables: &[&event::TABLE, &block_io::TABLE, &syscall::TABLE],
    example: "\
TIME     PCOMM            PID    PPID   RET ARGS
04:49:55 ls               11495  11398    0 /usr/bin/ls /etc 
",
    sniff,
    read,
};

/// The tools.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Tool {
    Exec,
    Exit,
    Open,
    Tcp,
    Block,
    Syscalls,
    Cache,
    /// A line is an event of this kind, with all of its columns.
    Event(&'static str),
}

/// Headers of tools whose lines are kept as they are, as [`tool`] has them, and the kind of their events.
const EVENTS: &[(&[&str], &str)] = &[
    // perf-tools' opensnoop.
    (&["COMM", "PID", "FD", "FILE"], "open"),
    (&["PID", "COMM", "AGE(s)", "FILE"], "short-lived file"),
    (&["COMM", "PID", "T", "BYTES", "OFF_KB", "LAT(ms)", "FILENAME"], "slow file operation"),
    (&["COMM", "PID", "D", "BYTES", "LAT(ms)", "FILENAME"], "slow file operation"),
    (&["PID", "COMM", "SADDR", "DADDR", "DPORT"], "tcp connect"),
    (&["PID", "COMM", "SADDR", "DADDR", "DPORT", "LAT(ms)"], "tcp connect"),
    (&["PID", "COMM", "RADDR", "RPORT", "LADDR", "LPORT"], "tcp accept"),
    (&["PID", "LADDR:LPORT", "T>", "RADDR:RPORT", "STATE"], "tcp retransmit"),
    (&["PID", "COMM", "SIG", "TPID", "RESULT"], "kill"),
    (&["PID", "COMM", "LATms", "HOST"], "host lookup"),
];

/// Which tool prints such a header; columns of times and users come and go.
fn tool(line: &str) -> Option<Tool> {
    let words: Vec<&str> = line
        .split_ascii_whitespace()
        .filter(|word| !matches!(*word, "TIME" | "TIME(s)" | "UID" | "IP" | "QUE(ms)" | "TOTAL"))
        .collect();
    Some(match words[..] {
        ["PCOMM", "PID", "PPID", "RET", "ARGS"] => Tool::Exec,
        ["PCOMM", "PID", "PPID", "TID", "AGE(s)", "EXIT_CODE"] => Tool::Exit,
        ["PID", "COMM", "FD", "ERR", "PATH"] => Tool::Open,
        ["PID", "COMM", "LADDR", "LPORT", "RADDR", "RPORT", "TX_KB", "RX_KB", "MS"] => Tool::Tcp,
        ["COMM", "PID", "DISK", "T", "SECTOR", "BYTES", "LAT(ms)"] => Tool::Block,
        ["SYSCALL", "COUNT"] | ["SYSCALL", "COUNT", "TIME", "(us)"] | ["SYSCALL", "COUNT", "(us)"] => Tool::Syscalls,
        ["PID", "COMM", "COUNT"] => Tool::Syscalls,
        ["HITS", "MISSES", "DIRTIES", "HITRATIO", "BUFFERS_MB", "CACHED_MB"] => Tool::Cache,
        _ => Tool::Event(EVENTS.iter().find(|(header, _)| *header == words)?.1),
    })
}

fn sniff(head: &Head<'_>) -> Sure {
    let tool = head.lines().take(20).find_map(tool);
    // Counts by process or call could be a table of anybody's.
    let counts = tool == Some(Tool::Syscalls);
    Sure::Certain.when(tool.is_some() && (!counts || head.first().starts_with("Tracing syscalls, printing top")))
}

/// The columns of the header that was read last.
#[derive(Debug)]
struct Layout {
    tool: Tool,
    names: Vec<String>,
    /// Where the name of the program begins, and how wide its column is, as it may have blanks in it.
    comm: Option<(usize, usize)>,
}

fn layout(line: &str, tool: Tool) -> Layout {
    let names: Vec<String> = line.split_ascii_whitespace().map(str::to_owned).collect();
    let comm = line.find("PCOMM").or_else(|| line.find("COMM")).filter(|_| tool != Tool::Syscalls);
    let comm = comm.map(|at| {
        let rest = line.get(at..).unwrap_or("");
        let name = rest.find(' ').unwrap_or(rest.len());
        let next = rest.get(name..).and_then(|gap| gap.find(|c: char| c != ' ')).map_or(16, |gap| name + gap);
        // Figures that follow are at the right of their columns, under a wider gap.
        (at, next.min(16))
    });
    Layout { tool, names, comm }
}

impl Layout {
    /// The values of a line, by the names of the columns; the last takes the rest.
    fn values<'a>(&self, line: &'a str) -> Option<Vec<(&str, &'a str)>> {
        let mut values = Vec::new();
        let mut rest = line;
        for (i, name) in self.names.iter().enumerate() {
            rest = rest.trim_start();
            let at = line.len() - rest.len();
            let width = self.comm.filter(|(begin, _)| *begin == at && name.ends_with("COMM")).map(|(_, width)| width);
            let end = match width {
                Some(width) => width.min(rest.len()),
                None => rest.find(' ').unwrap_or(rest.len()),
            };
            let end = if i + 1 == self.names.len() { rest.len() } else { end };
            let (value, behind) = rest.split_at_checked(end)?;
            values.push((name.as_str(), value.trim_end()));
            rest = behind;
        }
        Some(values)
    }
}

struct Reader {
    clock: Clock,
    ticker: Ticker,
    elapsed: Option<Relative>,
    times: Option<Relative>,
    layout: Option<Layout>,
    /// The time on a separate line, and the interval that ended then.
    stamp: (Option<Micros>, Option<f64>),
    /// I/Os of a second, by device and operation: how many, their time, those in a queue and the time there.
    second: Option<i64>,
    blocks: BTreeMap<(String, String), [f64; 4]>,
    others: Others,
}

fn read(input: &mut Input<'_>, out: &mut Out<'_>) {
    let head = input.head();
    let mut reader = Reader {
        clock: Clock::new(out.hints()),
        ticker: Ticker::new(out.hints(), &head, |line| time_alone(line).map(seconds)),
        elapsed: None,
        times: None,
        layout: None,
        stamp: (None, None),
        second: None,
        blocks: BTreeMap::new(),
        others: Others::default(),
    };
    drop(head);
    input.each_line(|at, line| reader.line(at, line, out));
    reader.second_ends(out);
    reader.others.tell(out);
}

/// The columns of an event but for its time and program.
fn message(values: &[(&str, &str)]) -> String {
    let shown = values.iter().filter(|(name, _)| !matches!(*name, "TIME" | "TIME(s)" | "COMM" | "IP"));
    shown.map(|(name, value)| format!("{name} {value}")).collect::<Vec<_>>().join(", ")
}

/// A line with a time of day in brackets or alone.
fn time_alone(line: &str) -> Option<jiff::civil::Time> {
    let bare = line.trim().trim_start_matches('[').trim_end_matches(']');
    if bare.len() == 8 { civil_time(bare, None) } else { None }
}

fn seconds(time: jiff::civil::Time) -> f64 {
    f64::from(time.hour()) * 3600.0 + f64::from(time.minute()) * 60.0 + f64::from(time.second())
}

impl Reader {
    fn line(&mut self, at: u64, line: &str, out: &mut Out<'_>) {
        let bare = line.trim();
        if let Some(tool) = tool(line) {
            self.layout = Some(layout(line, tool));
            return;
        }
        if bare.is_empty() || bare == "^C" || bare.starts_with("Tracing ") || bare.starts_with("Detaching") {
            return;
        }
        if let Some(time) = time_alone(line) {
            let t = self.clock.at(time, out);
            self.stamp = (Some(t), self.ticker.tick(t));
            return;
        }
        let Some(layout) = self.layout.take() else { return self.others.add(at, bare) };
        let read = layout.values(line).is_some_and(|values| self.values(layout.tool, &values, out).is_some());
        if !read && layout.tool == Tool::Exec {
            // Arguments may have line ends in them.
            self.others.add(at, bare);
        } else if !read {
            out.unknown(at, line, "no values under the columns of the header");
        }
        self.layout = Some(layout);
    }

    /// The moment in a column of times, or that of the whole file.
    fn moment(&mut self, values: &[(&str, &str)], out: &mut Out<'_>) -> Option<Micros> {
        let column = values.iter().find(|(name, _)| matches!(*name, "TIME" | "TIME(s)"));
        let Some((_, text)) = column else {
            return Some(self.elapsed.get_or_insert_with(|| Relative::elapsed(out)).after(0.0));
        };
        if text.contains(':') {
            return Some(self.clock.at(civil_time(text, None)?, out));
        }
        let seconds = number(text)?;
        Some(self.elapsed.get_or_insert_with(|| Relative::elapsed(out)).after(seconds))
    }

    /// None where something is no number that must be one.
    fn values(&mut self, tool: Tool, values: &[(&str, &str)], out: &mut Out<'_>) -> Option<()> {
        let of = |name: &str| values.iter().find(|(column, _)| *column == name).map_or("", |(_, value)| *value);
        match tool {
            Tool::Syscalls => return self.syscalls(values, out),
            Tool::Cache => return self.cache(values, out),
            Tool::Block => return self.block(values, out),
            _ => {}
        }
        number(of("PID"))?;
        let (pid, comm) = (of("PID"), if of("PCOMM").is_empty() { of("COMM") } else { of("PCOMM") });
        let (kind, message) = match tool {
            Tool::Event(kind) => (kind, message(values)),
            Tool::Exec => {
                number(of("RET"))?;
                ("exec", format!("pid {pid}, parent {}, returned {}: {}", of("PPID"), of("RET"), of("ARGS")))
            }
            Tool::Exit => {
                number(of("AGE(s)"))?;
                (
                    "exit",
                    format!(
                        "pid {pid}, parent {}, thread {}, age {} s, {}",
                        of("PPID"),
                        of("TID"),
                        of("AGE(s)"),
                        of("EXIT_CODE")
                    ),
                )
            }
            Tool::Open => {
                number(of("FD"))?;
                number(of("ERR"))?;
                ("open", format!("pid {pid}, descriptor {}, error {}: {}", of("FD"), of("ERR"), of("PATH")))
            }
            _ => {
                let (sent, received, ms) = (number(of("TX_KB"))?, number(of("RX_KB"))?, number(of("MS"))?);
                let ends = format!("{}:{} to {}:{}", of("LADDR"), of("LPORT"), of("RADDR"), of("RPORT"));
                ("tcp connection", format!("pid {pid}, {ends}, {ms} ms, sent {sent} KiB, received {received} KiB"))
            }
        };
        let t = self.moment(values, out)?;
        let pid = format!("pid {pid}");
        out.event(t, kind, if comm.is_empty() { &pid } else { comm }, &message);
        Some(())
    }

    /// Calls by name or by process, below a line with the time.
    fn syscalls(&mut self, values: &[(&str, &str)], out: &mut Out<'_>) -> Option<()> {
        let of = |name: &str| values.iter().find(|(column, _)| *column == name).map(|(_, value)| *value);
        let count = number(of("COUNT")?)?;
        // The header of the times is two words.
        let us = of("TIME").and_then(number);
        let (t, dt) = self.stamp;
        let mut row = out.row(&syscall::TABLE, t, dt);
        row.str(syscall::syscall, of("SYSCALL")).str(syscall::comm, of("COMM"));
        row.i64(syscall::pid, of("PID").and_then(|pid| pid.parse().ok()));
        row.f64(syscall::calls, count).f64(syscall::elapsed_s, us.map(|us| us / 1e6));
        Some(())
    }

    /// Hits and misses of the page cache in an interval, and what it and the buffers hold.
    fn cache(&mut self, values: &[(&str, &str)], out: &mut Out<'_>) -> Option<()> {
        let timed = values.iter().any(|(name, _)| *name == "TIME");
        let (t, dt) = if timed {
            let t = self.moment(values, out)?;
            (t, self.ticker.tick(t))
        } else {
            let (t, dt) = self.times.get_or_insert_with(|| Relative::new(out, None)).tick();
            (t, Some(dt))
        };
        for (name, value) in values.iter().filter(|(name, _)| *name != "TIME") {
            let plain = number(value.trim_end_matches('%'))?;
            let (metric, scale, unit) = match *name {
                "HITRATIO" => ("hit_ratio".to_owned(), 1.0, "%"),
                "BUFFERS_MB" => ("buffers_bytes".to_owned(), 1_048_576.0, "B"),
                "CACHED_MB" => ("cached_bytes".to_owned(), 1_048_576.0, "B"),
                _ => (name.to_lowercase(), 1.0, ""),
            };
            out.metric(t, dt, &format!("bcc-events.cache_{metric}"), "", plain * scale, unit);
        }
        Some(())
    }

    fn block(&mut self, values: &[(&str, &str)], out: &mut Out<'_>) -> Option<()> {
        let of = |name: &str| values.iter().find(|(column, _)| *column == name).map(|(_, value)| *value);
        let ms = number(of("LAT(ms)")?)?;
        let queued = of("QUE(ms)").and_then(number);
        let t = self.moment(values, out)?;
        let second = t.0.div_euclid(1_000_000);
        if self.second != Some(second) {
            self.second_ends(out);
            self.second = Some(second);
        }
        let op = match of("T")? {
            op if op.starts_with('R') => "read",
            op if op.starts_with('W') => "write",
            op if op.starts_with('F') => "flush",
            op if op.starts_with('D') => "discard",
            op => op,
        };
        let sum = self.blocks.entry((of("DISK")?.to_owned(), op.to_owned())).or_default();
        let more = [1.0, ms, f64::from(u8::from(queued.is_some())), queued.unwrap_or(0.0)];
        sum.iter_mut().zip(more).for_each(|(sum, more)| *sum += more);
        Some(())
    }

    /// Writes the I/Os of a second.
    fn second_ends(&mut self, out: &mut Out<'_>) {
        let Some(second) = self.second.take() else { return };
        let t = Micros(second.saturating_add(1).saturating_mul(1_000_000));
        for ((device, op), [n, ms, queued, queue_ms]) in std::mem::take(&mut self.blocks) {
            let mut row = out.row(&block_io::TABLE, t, Some(1.0));
            row.str(block_io::device, device.as_str()).str(block_io::op, op.as_str()).f64(block_io::requests, n);
            row.f64(block_io::device_us, ms / n * 1000.0);
            row.f64(block_io::queue_us, Some(queue_ms / queued * 1000.0).filter(|_| queued > 0.0));
        }
    }
}
