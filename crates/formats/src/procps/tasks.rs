//! Lists of processes and threads under a header line, as `top` and `ps` print them.

use fenxi_model::{
    Micros,
    catalog::{process, thread},
};

use crate::{Fields, Out, number, scaled};

/// Meaning of a column.
#[derive(Clone, Debug, PartialEq)]
pub enum Column {
    Pid,
    Tid,
    Ppid,
    User,
    /// The program's name or the whole command line.
    Command,
    /// CPU time over the interval (top) or over the life (ps), in percent of one CPU.
    Cpu,
    /// Resident and virtual memory in KiB or with a unit.
    Rss,
    Vsz,
    State,
    Threads,
    LastCpu,
    Priority,
    /// CPU time since its start.
    Time,
    /// When it began: one word, or several.
    Started,
    /// A text that may have blanks in it.
    Wide,
    /// Follows from other columns, or is a scheduling attribute: of no use as a figure.
    Skip,
    /// A size in KiB that the table has no column for.
    Size(String),
    /// CPU time that the table has no column for.
    Elapsed(String),
    /// A share in percent that the table has no column for.
    Share(String),
    /// A figure that the table has no column for.
    Metric(String),
}

/// The columns of a header line.
#[derive(Clone, Debug)]
pub struct Header {
    columns: Vec<Column>,
    /// Place of the command, which may contain blanks.
    command: usize,
    /// True if each line is a thread.
    pub threads: bool,
    /// Whether the command is a whole command line as a rule.
    arguments: bool,
}

/// One line of a list.
#[derive(Debug, Default)]
pub struct Task<'a> {
    pub pid: Option<i64>,
    pub tid: Option<i64>,
    ppid: Option<i64>,
    user: Option<&'a str>,
    command: &'a str,
    arguments: bool,
    pub cpu: Option<f64>,
    rss: Option<f64>,
    vsz: Option<f64>,
    state: Option<&'a str>,
    threads: Option<f64>,
    last_cpu: Option<i64>,
    priority: Option<f64>,
    pub time_s: Option<f64>,
}

/// Column with this name in a header, in all versions of top and ps and in busybox.
fn column(format: &str, name: &str) -> Column {
    match name {
        "PID" | "Pid" => Column::Pid,
        "TGID" => Column::Pid,
        "LWP" | "TID" | "SPID" => Column::Tid,
        "PPID" => Column::Ppid,
        "USER" | "EUSER" | "USERNAME" | "UNAME" => Column::User,
        "UID" | "EUID" => Column::User,
        "COMMAND" | "CMD" | "COMM" | "ARGS" | "UCMD" => Column::Command,
        "%CPU" | "CPU%" | "PCPU" => Column::Cpu,
        "RES" | "RSS" | "RSZ" | "RSSIZE" => Column::Rss,
        "VIRT" | "VSZ" | "SIZE" | "VSIZE" if format == "top" || name != "SIZE" => Column::Vsz,
        "S" | "STAT" | "STATE" => Column::State,
        "nTH" | "NLWP" | "THCNT" => Column::Threads,
        "P" | "PSR" | "#C" | "SGI_P" | "LC" => Column::LastCpu,
        "PR" => Column::Priority,
        // `ps` makes a column of it where the table has one.
        "TIME+" | "TIME" if format == "top" => Column::Elapsed(format!("{format}.{name}")),
        "%MEM" | "%VSZ" if format == "top" => Column::Share(format!("{format}.{name}")),
        "TIME" | "TIME+" | "CPUTIME" | "CPU-TIME" => Column::Time,
        "START" | "STIME" | "STARTED" | "LSTART" | "BSDSTART" => Column::Started,
        // Of these, busybox' memory is a share of all as well.
        "%MEM" | "%VSZ" | "NI" | "PRI" | "TTY" | "TT" | "F" | "ADDR" | "SZ" | "C" | "WCHAN" | "CLS" | "POL" | "SCH"
        | "RTPRIO" | "FLAGS" | "Flags" | "GROUP" | "EGROUP" | "GID" | "EGID" | "RUSER" | "RUID" | "SUSER" | "SUID"
        | "PGRP" | "PGID" | "SID" | "SESS" | "TPGID" | "TPG" | "ELAPSED" | "LABEL" | "CGNAME" | "NU" | "UNIT"
        | "USERNS" | "PIDNS" | "MNTNS" | "NETNS" | "IPCNS" | "UTSNS" | "nsIPC" | "nsMNT" | "nsNET" | "nsPID"
        | "nsUSER" | "nsUTS" | "LXC" | "SLICE" | "SESSION" | "SEAT" | "MACHINE" | "OOMADJ" | "LOGID" | "EXE"
        | "OOMa" | "OOMs" | "AGID" | "AGNI" => Column::Skip,
        "ENVIRON" | "CGROUPS" | "SUPGIDS" | "SUPGRPS" => Column::Wide,
        "SHR" | "SHARE" | "SWAP" | "CODE" | "DATA" | "TRS" | "DRS" | "LIB" | "USED" | "RSan" | "RSfd" | "RSlk"
        | "RSsh" | "PSS" | "USS" | "SIZE" => Column::Size(format!("{format}.{name}")),
        _ => Column::Metric(format!("{format}.{name}")),
    }
}

impl Header {
    /// Reads a header line of the list of `format`; None when it is none.
    pub fn read(format: &str, line: &str) -> Option<Header> {
        let mut columns = Vec::new();
        for name in line.split_ascii_whitespace() {
            // A value is no name.
            let letters = name.bytes().any(|b| b.is_ascii_alphabetic())
                && !name.bytes().any(|b| b.is_ascii_lowercase() && name.len() > 6);
            if !letters && name != "#C" {
                return None;
            }
            columns.push(column(format, name));
        }
        let has = |c: &Column| columns.contains(c);
        if columns.len() < 2 || !(has(&Column::Pid) || has(&Column::Tid)) {
            return None;
        }
        let known = columns.iter().filter(|c| !matches!(c, Column::Metric(_) | Column::Size(_))).count();
        if known * 2 < columns.len() || !(has(&Column::Command) || has(&Column::Cpu) || has(&Column::Rss)) {
            return None;
        }
        let command = columns.iter().rposition(|c| *c == Column::Command).unwrap_or(columns.len());
        let named = |name: &str| line.split_ascii_whitespace().any(|w| w == name);
        // `ps -e` prints names under CMD, `ps -ef` command lines; `ps -eo comm` and `args` look alike.
        let names = named("COMM") || named("UCMD") || named("CMD") && !named("STIME");
        let arguments = if format == "top" { named("%VSZ") } else { !names };
        Some(Header { threads: has(&Column::Tid), columns, command, arguments })
    }

    /// Reads a line below it and gives it, with what goes to `metric`, to `take`; None when it has
    /// too few words.
    pub fn task<'a>(&self, fields: &Fields<'a>, metric: &mut dyn FnMut(&str, f64, &'static str)) -> Option<Task<'a>> {
        let mut task = Task { arguments: self.arguments, ..Task::default() };
        let mut at = 0;
        for (nth, column) in self.columns[..self.command].iter().enumerate() {
            // Bold in Markdown.
            let word = fields.get(at).trim_matches('*');
            at += match column {
                Column::Wide => self.words_of_wide(nth, fields, at),
                Column::Started => words_of_start(fields, at),
                // busybox prints `S <` for high priority.
                Column::State if fields.get(at + 1) == "<" => 2,
                _ => 1,
            };
            if at > fields.len() {
                return None;
            }
            task.set(column, word, metric);
        }
        if self.command == self.columns.len() {
            return (at == fields.len()).then_some(task);
        }
        let behind = self.columns.get(self.command + 1..).unwrap_or(&[]);
        let rest = fields.rest(at);
        if behind.is_empty() {
            task.command = rest;
        } else {
            // A name in the middle is padded; the last column (the environment) may have blanks too.
            task.command = rest.split_once("  ").map_or(rest, |(name, _)| name);
            let words = task.command.split_ascii_whitespace().count().max(1);
            let words = if fields.len() == at + 1 + behind.len() { 1 } else { words };
            if fields.len() < at + words {
                return None;
            }
            for (i, column) in behind.iter().enumerate() {
                task.set(column, fields.get(at + words + i), metric);
            }
        }
        Some(task)
    }
}

impl Header {
    /// How many words a text with blanks has, from `at` on: as few as leave figures for the columns of figures behind it.
    fn words_of_wide(&self, nth: usize, fields: &Fields<'_>, at: usize) -> usize {
        let behind = &self.columns[nth + 1..self.command];
        let fits = |from: usize| {
            behind.iter().enumerate().all(|(i, column)| match column {
                Column::Wide | Column::Skip | Column::User | Column::State | Column::Started => true,
                _ => fields.get(from + i).starts_with(|c: char| c.is_ascii_digit() || matches!(c, '-' | '.')),
            })
        };
        let most = fields.len().saturating_sub(at + behind.len()).max(1);
        (1..=most).find(|words| fits(at + words)).unwrap_or(1)
    }
}

/// How many words the start has: `08:19`, `Nov20`, `Nov 20`, `Sat Nov 21 08:19:03 2026`.
fn words_of_start(fields: &Fields<'_>, at: usize) -> usize {
    let word = fields.get(at);
    let three = word.len() == 3 && word.bytes().all(|b| b.is_ascii_alphabetic());
    let year = |i: usize| fields.get(i).len() == 4 && fields.get(i).bytes().all(|b| b.is_ascii_digit());
    match three {
        true if fields.get(at + 3).contains(':') && year(at + 4) => 5,
        true => 2,
        false => 1,
    }
}

impl<'a> Task<'a> {
    fn set(&mut self, column: &Column, word: &'a str, metric: &mut dyn FnMut(&str, f64, &'static str)) {
        match column {
            Column::Pid => self.pid = word.parse().ok(),
            Column::Tid => self.tid = word.parse().ok(),
            Column::Ppid => self.ppid = word.parse().ok(),
            // A name wins over a number.
            Column::User if self.user.is_none_or(|u| u.bytes().all(|b| b.is_ascii_digit())) => self.user = Some(word),
            Column::Cpu => self.cpu = number(word.trim_end_matches('%')),
            Column::Rss => self.rss = kib(word),
            Column::Vsz => self.vsz = kib(word),
            Column::State => self.state = word.get(..1),
            Column::Threads => self.threads = number(word),
            Column::LastCpu => self.last_cpu = word.parse().ok(),
            // `rt` is any of the real-time priorities.
            Column::Priority => self.priority = number(word),
            Column::Time => self.time_s = cpu_time(word),
            Column::Size(name) => {
                kib(word).filter(|v| *v > 0.0).inspect(|v| metric(name, *v, "B"));
            }
            Column::Elapsed(name) => {
                self.time_s = cpu_time(word);
                self.time_s.inspect(|v| metric(name, *v, "s"));
            }
            Column::Share(name) => {
                number(word.trim_end_matches('%')).inspect(|v| metric(name, *v, "%"));
            }
            Column::Metric(name) => {
                number(word).or_else(|| scaled(word, 1000.0)).inspect(|v| metric(name, *v, ""));
            }
            Column::User | Column::Command | Column::Started | Column::Wide | Column::Skip => {}
        }
    }

    /// The program's name, of at most 15 characters as the kernel keeps it.
    pub fn comm(&self) -> Option<&'a str> {
        Some(program(self.command, self.arguments)).filter(|c| !c.is_empty())
    }

    /// Adds it to the table of processes, or of threads. `cpu` is its CPU time in the interval.
    pub fn write(&self, out: &mut Out<'_>, (t, dt): (Micros, Option<f64>), threads: bool, cpu: Option<f64>) {
        if threads {
            let mut row = out.row(&thread::TABLE, t, dt);
            row.i64(thread::pid, self.pid).i64(thread::tid, self.tid);
            row.str(thread::comm, self.comm()).str(thread::user, self.user);
            row.f64(thread::cpu, cpu).i64(thread::last_cpu, self.last_cpu).str(thread::state, self.state);
            return;
        }
        let mut row = out.row(&process::TABLE, t, dt);
        row.i64(process::pid, self.pid).str(process::comm, self.comm()).str(process::user, self.user);
        row.i64(process::ppid, self.ppid).f64(process::cpu, cpu);
        row.f64(process::rss_bytes, self.rss).f64(process::vsz_bytes, self.vsz);
        row.f64(process::threads, self.threads).i64(process::last_cpu, self.last_cpu);
        row.str(process::state, self.state).f64(process::priority, self.priority);
    }
}

/// A size in bytes: KiB, or with a unit as `1.2g`.
fn kib(word: &str) -> Option<f64> {
    match number(word) {
        Some(value) => Some(value * 1024.0),
        None => scaled(word, 1024.0),
    }
}

/// CPU time in seconds: `0:01.22`, `123:45`, `01:02:03`, `2-01:02:03`, `1d02h`, `3h12m`.
fn cpu_time(word: &str) -> Option<f64> {
    let (days, clock) = match word.split_once('-') {
        Some((days, clock)) => (number(days)?, clock),
        None => (0.0, word),
    };
    let mut seconds = 0.0;
    let mut parts = 0;
    for part in clock.split(':') {
        seconds = seconds * 60.0 + number(part)?;
        parts += 1;
    }
    (2..=3).contains(&parts).then_some(days * 86_400.0 + seconds)
}

/// The program in a command line: `/usr/bin/python3 -m x` is `python3`, `[kthreadd]` is `kthreadd`,
/// `-bash` is `bash`, `sshd: root@pts/0` is `sshd`. Unless it is known to have `arguments`, a short
/// name is left as it is, blanks and all.
fn program(command: &str, arguments: bool) -> &str {
    let command = command.trim();
    // top -c and ps f draw trees.
    let command = command.trim_start_matches(['|', '`', '\\', '_', ' ']).trim_start_matches("- ");
    if let Some(kernel) = command.strip_prefix('[').and_then(|c| c.split_once(']')) {
        return kernel.0;
    }
    if !arguments
        && command.len() <= 15
        && !command.contains(['/', ':'])
        && !command.contains(" -")
        && !command.starts_with('-')
    {
        return command;
    }
    let first = command.split_ascii_whitespace().next().unwrap_or("");
    let name = if first.starts_with('/') || first.starts_with("./") {
        first.rsplit('/').next().unwrap_or(first)
    } else {
        first
    };
    let name = name.trim_start_matches('-').trim_end_matches(':');
    let end = name.char_indices().nth(15).map_or(name.len(), |(at, _)| at);
    &name[..end]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_times_and_sizes_are_read() {
        for (command, name) in [
            ("/usr/bin/python3 -m http.server", "python3"),
            ("[kworker/0:1-events]", "kworker/0:1-events"),
            ("-bash", "bash"),
            ("sshd: root@pts/0", "sshd"),
            ("Web Content", "Web Content"),
            ("kworker/u256:0", "kworker/u256:0"),
            ("postgres: walwriter   ", "postgres"),
            (" \\_ ps axf", "ps axf"),
            ("a_very_long_program_name --x", "a_very_long_pro"),
            ("", ""),
        ] {
            assert_eq!(program(command, false), name, "{command}");
        }
        assert_eq!(program("sleep 30", true), "sleep");
        assert_eq!(cpu_time("0:01.22"), Some(1.22));
        assert_eq!(cpu_time("2-01:02:03"), Some(2.0 * 86_400.0 + 3723.0));
        assert_eq!((cpu_time("123:45"), cpu_time("x")), (Some(123.0 * 60.0 + 45.0), None));
        assert_eq!((kib("2108"), kib("1.5g")), (Some(2108.0 * 1024.0), Some(1.5 * 1024.0 * 1024.0 * 1024.0)));
    }

    #[test]
    fn a_header_is_told_from_a_line_of_values() {
        assert!(
            Header::read("top", "  PID USER      PR  NI    VIRT    RES    SHR S  %CPU  %MEM     TIME+ COMMAND")
                .is_some()
        );
        assert!(Header::read("ps", "UID          PID    PPID  C STIME TTY          TIME CMD").is_some());
        assert!(Header::read("ps", "  PID   RSS    VSZ").is_some());
        assert!(Header::read("ps", "1 root 20 0 0 0 0 S 0.0 0.0 0:01.22 systemd").is_none());
        assert!(Header::read("ps", "total used free").is_none());
    }
}
