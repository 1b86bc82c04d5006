//! `pstime`: CPU time of processes, as exact as the kernel measures it.

use std::{collections::BTreeMap, fmt::Write};

use fenxi_model::{
    Micros, RowsOf,
    catalog::{cpu, process, thread},
};

use crate::{Frame, View};

/// Unit of CPU time: percent of all CPUs or of one, or seconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Scale {
    /// Percent of all CPUs together.
    #[default]
    Machine,
    /// Percent of one CPU.
    OneCpu,
    /// CPU seconds in the interval.
    Seconds,
}

/// Below this width some columns are left out.
const NARROW: usize = 76;

/// Sort key of lines, largest first; ties by number.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Order {
    /// CPU time, user and system.
    #[default]
    Cpu,
    /// Time in user code.
    Usr,
    /// Time in the kernel.
    Sys,
    /// Time runnable without a CPU.
    Wait,
    /// Time of ended children.
    Children,
    /// Number of the process, smallest first.
    Pid,
}

/// Whether a row (process id, user, name, command line) is to be shown.
pub type Chooses = Box<dyn Fn(Option<i64>, Option<&str>, &str, &str) -> bool>;

/// Options of the view.
#[derive(Default)]
pub struct PstimeOptions {
    /// The unit of figures.
    pub scale: Scale,
    /// The order of lines.
    pub order: Order,
    /// Lines at most.
    pub top: Option<usize>,
    /// A line for each thread instead of each process.
    pub threads: bool,
    /// Nothing for each interval, but all intervals together at the end.
    pub summary: bool,
    /// Characters in a line; None: as many as it takes.
    pub width: Option<usize>,
    /// Which rows; None: all of them.
    pub chooses: Option<Chooses>,
    /// CPUs of the machine, if they are not in the rows.
    pub n_cpus: Option<usize>,
}

impl std::fmt::Debug for PstimeOptions {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("PstimeOptions").field("scale", &self.scale).finish_non_exhaustive()
    }
}

/// Shows processes with the CPU time they used.
#[derive(Debug)]
pub struct Pstime {
    options: PstimeOptions,
    lines: Vec<Line>,
    n_cpus: Option<usize>,
    /// All intervals so far, by process (and thread) and name.
    sums: BTreeMap<(Option<i64>, Option<i64>, String), Line>,
    elapsed_s: f64,
}

/// One process or thread; figures are CPU seconds.
#[derive(Clone, Debug, Default)]
struct Line {
    pid: Option<i64>,
    tid: Option<i64>,
    user: String,
    usr: Option<f64>,
    sys: Option<f64>,
    cpu: Option<f64>,
    wait: Option<f64>,
    children: Option<f64>,
    marks: Marks,
    command: String,
}

/// Properties of a line besides its figures.
#[derive(Clone, Copy, Debug, Default)]
struct Marks {
    begun: bool,
    ended: bool,
    /// Its place in [`WAYS`].
    way: Option<usize>,
}

/// How CPU time can be known, best first, as `cpu_measured` names it.
const WAYS: [&str; 5] = ["clock", "schedstat", "record", "rusage", "ticks"];
const TICKS: usize = 4;

impl Marks {
    fn text(self) -> String {
        let marks = [(self.begun, '+'), (self.ended, '-'), (self.way == Some(TICKS), '~')];
        marks.iter().filter(|(on, _)| *on).map(|(_, mark)| mark).collect()
    }
}

impl Pstime {
    /// Shows as `options` say.
    pub fn new(options: PstimeOptions) -> Pstime {
        let n_cpus = options.n_cpus;
        Pstime { options, lines: Vec::new(), n_cpus, sums: BTreeMap::new(), elapsed_s: 0.0 }
    }

    fn take(&mut self, frame: &Frame<'_>) {
        self.lines.clear();
        for rows in frame.rows.tables() {
            if let Some(cpus) = rows.typed(&cpu::TABLE) {
                let n = (0..cpus.n_rows()).filter(|row| cpus.str(*row, cpu::cpu).is_some()).count();
                self.n_cpus = Some(n).filter(|n| *n > 0).or(self.n_cpus);
            } else if let Some(processes) = rows.typed(&process::TABLE) {
                self.take_processes(processes, frame.dt);
            } else if let Some(threads) = rows.typed(&thread::TABLE).filter(|_| self.options.threads) {
                self.take_threads(threads, frame.dt);
            }
        }
        if self.options.threads {
            // A process that lives is the sum of its threads: its own line would count them twice.
            self.lines.retain(|line| line.tid.is_some() || line.marks.ended || line.pid.is_none());
        }
    }

    fn take_processes(&mut self, rows: RowsOf<'_, process::Schema>, frame_dt: f64) {
        for row in 0..rows.n_rows() {
            let dt = rows.f64(row, process::dt).unwrap_or(frame_dt);
            self.take_line(process_line(rows, row, dt), rows.str(row, process::comm));
        }
    }

    fn take_threads(&mut self, rows: RowsOf<'_, thread::Schema>, frame_dt: f64) {
        for row in 0..rows.n_rows() {
            let dt = rows.f64(row, thread::dt).unwrap_or(frame_dt);
            self.take_line(thread_line(rows, row, dt), rows.str(row, thread::comm));
        }
    }

    fn take_line(&mut self, mut line: Line, comm: Option<&str>) {
        if line.children == Some(0.0) && line.pid.is_none() {
            line.children = None;
        }
        let user = Some(&*line.user).filter(|user| !user.is_empty());
        let comm = comm.unwrap_or("");
        if self.options.chooses.as_ref().is_none_or(|chooses| chooses(line.pid, user, comm, &line.command)) {
            self.lines.push(line);
        }
    }

    fn add_up(&mut self, dt: f64) {
        self.elapsed_s += dt;
        for line in &self.lines {
            let sum = self.sums.entry((line.pid, line.tid, line.user.clone())).or_default();
            let add = |sum: &mut Option<f64>, more: Option<f64>| {
                *sum = more.map(|m| sum.unwrap_or(0.0) + m).or(*sum);
            };
            add(&mut sum.usr, line.usr);
            add(&mut sum.sys, line.sys);
            add(&mut sum.cpu, line.cpu);
            add(&mut sum.wait, line.wait);
            add(&mut sum.children, line.children);
            (sum.pid, sum.tid) = (line.pid, line.tid);
            sum.user.clone_from(&line.user);
            sum.command.clone_from(&line.command);
            let (a, b) = (sum.marks, line.marks);
            // The worst of the ways that its time was known.
            sum.marks = Marks { begun: a.begun || b.begun, ended: a.ended || b.ended, way: a.way.max(b.way) };
        }
    }

    /// Adds what the table is of: when, how long, in which unit, and how CPU times are known.
    fn begin(&self, t: Option<Micros>, dt: f64, lines: &[Line], out: &mut String) {
        let mut text = format!("{dt:.3} s, {}", self.unit());
        for (place, way) in WAYS.iter().enumerate() {
            if lines.iter().any(|line| line.marks.way == Some(place)) {
                text.push_str(if text.contains(" by ") { ", " } else { ", by " });
                text.push_str(way);
            }
        }
        if let Some(t) = t {
            if self.options.width.is_some_and(|width| width < NARROW) {
                self.push(&t.iso(), out);
            } else {
                text = format!("{}  {text}", t.iso());
            }
        }
        self.push(&text, out);
    }

    /// Adds the table of `lines`, which cover `dt` seconds; gives them back, at most as many as were shown.
    fn show(&self, mut lines: Vec<Line>, dt: f64, out: &mut String) -> Vec<Line> {
        self.sort(&mut lines);
        let mut total = Line { command: "(total)".to_owned(), ..Line::default() };
        for line in &lines {
            for (sum, value) in [
                (&mut total.usr, line.usr),
                (&mut total.sys, line.sys),
                (&mut total.cpu, line.cpu),
                (&mut total.wait, line.wait),
            ] {
                *sum = value.map(|v| sum.unwrap_or(0.0) + v).or(*sum);
            }
        }
        let n = lines.len();
        let shown = self.options.top.unwrap_or(n).min(n);
        if shown < n {
            total.command = format!("(total of {n}, {shown} shown)");
        }
        lines.truncate(shown);
        // Of nothing, nothing was used.
        for sum in [&mut total.usr, &mut total.sys, &mut total.cpu] {
            sum.get_or_insert(0.0);
        }
        self.header(out);
        for line in lines.iter().chain([&total]) {
            self.line(line, dt, out);
        }
        lines
    }

    fn sort(&self, lines: &mut [Line]) {
        let value = |line: &Line| match self.options.order {
            Order::Cpu => line.cpu,
            Order::Usr => line.usr,
            Order::Sys => line.sys,
            Order::Wait => line.wait,
            Order::Children => line.children,
            Order::Pid => None,
        };
        lines.sort_by(|a, b| {
            let number = |line: &Line| value(line).unwrap_or(-1.0);
            // Those without a number come last.
            let pid = |line: &Line| (line.pid.unwrap_or(i64::MAX), line.tid);
            number(b).total_cmp(&number(a)).then_with(|| pid(a).cmp(&pid(b)))
        });
    }

    /// How many of the columns of figures there is room for.
    fn n_figures(&self) -> usize {
        match self.options.width {
            Some(width) if width < 60 => 2,
            Some(width) if width < NARROW => 3,
            _ => 5,
        }
    }

    /// Whether there is room for the user.
    fn has_user(&self) -> bool {
        self.options.width.is_none_or(|width| width >= 50)
    }

    fn header(&self, out: &mut String) {
        let names = match self.options.scale {
            Scale::Seconds => ["USR-s", "SYS-s", "CPU-s", "WAIT-s", "CHLD-s"],
            _ => ["%USR", "%SYS", "%CPU", "%WAIT", "%CHLD"],
        };
        let mut text = if self.has_user() { format!("{:<8} ", "USER") } else { String::new() };
        let _ = write!(text, "{:>7}", "PID");
        if self.options.threads {
            let _ = write!(text, " {:>7}", "TID");
        }
        for name in names.iter().take(self.n_figures()) {
            let _ = write!(text, " {name:>8}");
        }
        text.push_str("    COMMAND");
        self.push(&text, out);
    }

    fn line(&self, line: &Line, dt: f64, out: &mut String) {
        let number = |n: Option<i64>| n.map_or_else(|| "-".to_owned(), |n| n.to_string());
        let user = if line.user.is_empty() { "-" } else { &line.user };
        let mut text = if self.has_user() { format!("{:<8} ", cut(user, 8)) } else { String::new() };
        let _ = write!(text, "{:>7}", number(line.pid));
        if self.options.threads {
            let _ = write!(text, " {:>7}", number(line.tid));
        }
        let factor = match self.options.scale {
            Scale::Seconds => 1.0,
            Scale::OneCpu => 100.0 / dt,
            Scale::Machine => 100.0 / dt / self.n_cpus.unwrap_or(1) as f64,
        };
        let figures = [line.usr, line.sys, line.cpu, line.wait, line.children];
        for figure in figures.into_iter().take(self.n_figures()) {
            let figure = figure.filter(|_| dt > 0.0).map_or_else(|| "-".to_owned(), |s| four_digits(s * factor));
            let _ = write!(text, " {figure:>8}");
        }
        let _ = write!(text, " {:<2} {}", line.marks.text(), line.command);
        self.push(&text, out);
    }

    fn push(&self, text: &str, out: &mut String) {
        let text = self.options.width.map_or(text, |width| cut(text, width));
        let _ = writeln!(out, "{}", text.trim_end());
    }

    fn unit(&self) -> String {
        match (self.options.scale, self.n_cpus) {
            (Scale::Seconds, _) => "CPU seconds".to_owned(),
            (Scale::Machine, Some(1)) | (Scale::OneCpu, _) => "% of one CPU".to_owned(),
            (Scale::Machine, Some(n)) => format!("% of {n} CPUs"),
            (Scale::Machine, None) => "% of one CPU (the number of CPUs is not known)".to_owned(),
        }
    }
}

fn process_line(rows: RowsOf<'_, process::Schema>, row: usize, dt: f64) -> Line {
    let seconds = |place| rows.f64(row, place).map(|pct| pct * dt / 100.0);
    let comm = rows.str(row, process::comm).unwrap_or("-");
    // A process without a command line is a thread of the kernel, or ended before it could be read.
    let command = rows.str(row, process::command).map_or_else(|| comm.to_owned(), str::to_owned);
    Line {
        pid: rows.i64(row, process::pid),
        tid: None,
        user: rows.str(row, process::user).unwrap_or("").to_owned(),
        usr: seconds(process::usr),
        sys: seconds(process::sys),
        cpu: seconds(process::cpu),
        wait: seconds(process::run_queue_wait),
        children: seconds(process::children_cpu),
        marks: Marks {
            begun: rows.f64(row, process::lived_s).is_some_and(|lived| lived <= dt),
            ended: rows.str(row, process::state) == Some("X"),
            way: way(rows.str(row, process::cpu_measured)),
        },
        command,
    }
}

fn thread_line(rows: RowsOf<'_, thread::Schema>, row: usize, dt: f64) -> Line {
    let seconds = |place| rows.f64(row, place).map(|pct| pct * dt / 100.0);
    Line {
        pid: rows.i64(row, thread::pid),
        tid: rows.i64(row, thread::tid),
        user: rows.str(row, thread::user).unwrap_or("").to_owned(),
        usr: seconds(thread::usr),
        sys: seconds(thread::sys),
        cpu: seconds(thread::cpu),
        wait: seconds(thread::run_queue_wait),
        children: None,
        marks: Marks { way: way(rows.str(row, thread::cpu_measured)), ..Marks::default() },
        command: rows.str(row, thread::comm).unwrap_or("-").to_owned(),
    }
}

/// The place of a way to know CPU time.
fn way(name: Option<&str>) -> Option<usize> {
    WAYS.iter().position(|way| Some(*way) == name)
}

impl View for Pstime {
    fn frame(&mut self, frame: &Frame<'_>, out: &mut String) {
        if frame.since_boot {
            return;
        }
        self.take(frame);
        self.add_up(frame.dt);
        if !self.options.summary {
            let lines = std::mem::take(&mut self.lines);
            self.begin(Some(frame.t), frame.dt, &lines, out);
            self.lines = self.show(lines, frame.dt, out);
            out.push('\n');
        }
    }

    fn end(&mut self, out: &mut String) {
        if self.options.summary {
            let lines: Vec<Line> = std::mem::take(&mut self.sums).into_values().collect();
            self.begin(None, self.elapsed_s, &lines, out);
            let _ = self.show(lines, self.elapsed_s, out);
        }
    }
}

/// A figure with four significant digits where six decimals show as many.
fn four_digits(value: f64) -> String {
    let decimals = match value.abs() {
        v if v >= 1000.0 => 0,
        v if v >= 100.0 => 1,
        v if v >= 10.0 => 2,
        v if v >= 1.0 || v == 0.0 => 3,
        v if v >= 0.1 => 4,
        v if v >= 0.01 => 5,
        _ => 6,
    };
    format!("{value:.decimals$}")
}

/// At most `width` characters of `text`.
fn cut(text: &str, width: usize) -> &str {
    text.char_indices().nth(width).map_or(text, |(end, _)| &text[..end])
}

#[cfg(test)]
mod tests;
