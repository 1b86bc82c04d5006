//! The lines that show a recording or an import in progress.

use std::{
    cell::OnceCell,
    io::{self, IsTerminal},
    ops::ControlFlow,
    time::{Duration, Instant},
};

use fenxi_model::Unit;
use fenxi_record::{Progress, Stage};
use fenxi_study::Event;
use fenxi_tamp::Totals;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use crate::{print, stop::Stop};

/// Draws a recording's progress on the terminal, or nothing when there is none.
#[derive(Debug)]
pub struct Line {
    bar: ProgressBar,
}

impl Line {
    /// A line on stderr; nothing unless stderr is a terminal that is not also `busy` with a command's output.
    pub fn new(quiet: bool, busy: bool, planned_s: Option<f64>) -> Line {
        let busy = busy && io::stdout().is_terminal();
        let length = planned_s.map(|s| (s * 1000.0) as u64);
        Line { bar: bar(!quiet && !busy, length, if length.is_some() { "{bar:20} {msg}" } else { "{spinner} {msg}" }) }
    }

    /// Shows what the recorder does now.
    pub fn show(&self, stage: &Stage<'_>) {
        match stage {
            Stage::Began { .. } => self.bar.set_message("recording; Ctrl-C ends it and keeps the run"),
            Stage::Tick { progress, .. } => {
                self.bar.set_position((progress.elapsed_s * 1000.0) as u64);
                tell(&self.bar, &describe(progress));
            }
            Stage::SinceBoot { .. } | Stage::Rolled { .. } => {}
            Stage::Sealing => self.bar.set_message("writing the run"),
        }
    }

    /// Prints something above the line.
    pub fn say(&self, message: &str) {
        self.bar.suspend(|| print::message(message));
    }

    /// Takes the line away.
    pub fn clear(&self) {
        self.bar.finish_and_clear();
    }
}

/// A bar on stderr; nothing unless it is to be `shown` and stderr is a terminal. `length` is that of
/// the whole bar, if it is known.
fn bar(shown: bool, length: Option<u64>, template: &str) -> ProgressBar {
    let shown = shown && io::stderr().is_terminal();
    let target = if shown { ProgressDrawTarget::stderr_with_hz(10) } else { ProgressDrawTarget::hidden() };
    let bar = ProgressBar::with_draw_target(length, target);
    if let Ok(style) = ProgressStyle::with_template(template) {
        bar.set_style(style.progress_chars("=> "));
    }
    bar
}

/// Shows `text` beside a bar. The bar moves the cursor itself; no other text may.
fn tell(bar: &ProgressBar, text: &str) {
    bar.set_message(print::visible(text).into_owned());
}

/// Imports that take less than this are not shown.
const SHORT: Duration = Duration::from_millis(200);
/// Columns of the terminal that an import's line takes at most for all but its message.
const BESIDE_MESSAGE: usize = 54;
/// Characters of a file's name that are kept however narrow the terminal is.
const LEAST_NAME: usize = 8;

/// The line that shows an import in progress.
#[derive(Debug)]
pub struct Bar {
    bar: ProgressBar,
    begun: Instant,
    /// Columns of the terminal.
    width: usize,
}

impl Bar {
    /// A line on stderr; `total` is how many bytes there are to be read, if that is known.
    pub fn new(quiet: bool, total: Option<u64>) -> Bar {
        // The last part is cut where the terminal ends.
        let known = "{bar:20} {bytes}/{total_bytes} (eta {eta}) {wide_msg}";
        let bar = bar(!quiet, total, if total.is_some() { known } else { "{spinner} {bytes} {wide_msg}" });
        let width = print::width(&io::stderr()).unwrap_or(usize::MAX);
        Bar { bar, begun: Instant::now(), width }
    }

    /// Shows how far the import is.
    pub fn show(&self, progress: fenxi_ingest::Progress<'_>) {
        // Short imports need no bar, and drawing one costs more than a chunk.
        if self.bar.is_hidden() || self.begun.elapsed() < SHORT {
            return;
        }
        self.bar.set_position(progress.bytes);
        if progress.sealing {
            self.bar.set_message("writing the run");
            return;
        }
        let rows = plural(progress.rows, "row");
        let room = self.width.saturating_sub(BESIDE_MESSAGE + rows.len() + 2).max(LEAST_NAME);
        tell(&self.bar, &format!("{rows}, {}", ending(progress.name, room)));
    }

    /// Takes the line away.
    pub fn clear(&self) {
        self.bar.finish_and_clear();
    }
}

/// The line that shows work of a known number of steps.
#[derive(Debug)]
pub struct Steps {
    bar: ProgressBar,
}

impl Steps {
    /// A line on stderr that begins with what is being done.
    pub fn new(quiet: bool, doing: &'static str) -> Steps {
        let bar = bar(!quiet, Some(1), "{prefix} {bar:20} {pos}/{len} {wide_msg}");
        bar.set_prefix(doing);
        Steps { bar }
    }

    /// Shows that step `i` of `n` begins.
    pub fn show(&self, name: &str, i: usize, n: usize) {
        self.bar.set_length(n as u64);
        self.bar.set_position(i as u64);
        tell(&self.bar, name);
    }

    /// Takes the line away.
    pub fn clear(&self) {
        self.bar.finish_and_clear();
    }
}

/// The line that shows data on its way: how fast, how much smaller or larger, and how long it will take.
#[derive(Debug)]
pub struct Transfer {
    bar: ProgressBar,
    begun: Instant,
}

impl Transfer {
    /// A line on stderr; `total` is how many bytes there are to be read, if that is known.
    pub fn new(quiet: bool, total: Option<u64>) -> Transfer {
        let known = "{bar:20} {percent}% {bytes}/{total_bytes} {msg}, {eta} left";
        let bar = bar(!quiet, total, if total.is_some() { known } else { "{spinner} {bytes} {msg}" });
        Transfer { bar, begun: Instant::now() }
    }

    /// Shows how much was moved, and gives back whether to go on.
    pub fn show(&self, totals: Totals, stop: &Stop) -> ControlFlow<()> {
        let elapsed = self.begun.elapsed();
        if !self.bar.is_hidden() && elapsed >= SHORT {
            let rate = Unit::BytesPerS.human(totals.read as f64 / elapsed.as_secs_f64());
            self.bar.set_position(totals.read);
            let ratio = |read: u64| format!("{rate}, ratio {:.3}", totals.written as f64 / read as f64);
            tell(&self.bar, &if totals.read == 0 { rate.to_string() } else { ratio(totals.read) });
        }
        if stop.asked() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }

    /// Takes the line away.
    pub fn clear(&self) {
        self.bar.finish_and_clear();
    }
}

/// The line that shows tables being loaded.
#[derive(Debug)]
pub struct LoadLine {
    bar: ProgressBar,
    /// When it began, and how many rows were there then.
    begun: OnceCell<(Instant, u64)>,
}

impl LoadLine {
    /// A line on stderr.
    pub fn new(quiet: bool) -> LoadLine {
        LoadLine { bar: bar(!quiet, Some(1), "{bar:20} {percent}% {wide_msg}"), begun: OnceCell::new() }
    }

    /// Shows how far it is.
    pub fn show(&self, progress: &fenxi_load::prepare::Progress) {
        self.bar.set_length(progress.of.max(1));
        self.bar.set_position(progress.rows);
        let (begun, before) = *self.begun.get_or_init(|| (Instant::now(), progress.rows));
        if progress.rows >= progress.of {
            tell(&self.bar, &format!("keys and indexes, {} of {}", progress.after, progress.after_of));
            return;
        }
        let per_s = (progress.rows - before) as f64 / begun.elapsed().as_secs_f64();
        let mut text = format!("{} of {} rows", progress.rows, progress.of);
        if per_s > 0.0 {
            let left = Unit::Seconds.human((progress.of - progress.rows) as f64 / per_s);
            text.push_str(&format!(", {per_s:.0} rows/s, {left} left"));
        }
        tell(&self.bar, &text);
    }

    /// Takes the line away.
    pub fn clear(&self) {
        self.bar.finish_and_clear();
    }
}

/// The lines that show a study in progress: one that changes, on a terminal, and one for every run.
#[derive(Debug)]
pub struct StudyLine {
    bar: ProgressBar,
    quiet: bool,
}

impl StudyLine {
    /// Lines on stderr; `quiet` leaves failures and warnings.
    pub fn new(quiet: bool) -> StudyLine {
        StudyLine { bar: bar(!quiet, Some(0), "{bar:20} {pos}/{len} {wide_msg}"), quiet }
    }

    /// Shows what happens in `study`, whose order begins at `seed`.
    pub fn show(&self, study: &str, seed: u64, event: &Event<'_>) {
        let left = |seconds: &Option<f64>| match seconds {
            Some(seconds) if *seconds > 0.0 => format!("; {} left", Unit::Seconds.human(*seconds)),
            _ => String::new(),
        };
        match event {
            Event::Begins { finished, planned, left_s } => {
                self.bar.set_length(*planned as u64);
                self.bar.set_position(*finished as u64);
                let before =
                    if *finished > 0 { format!(", {finished} of them already finished") } else { String::new() };
                let study = print::visible(study);
                self.say(&format!(
                    "study {study}: {}{before}, seed {seed}{}",
                    plural(*planned as u64, "run"),
                    left(left_s)
                ));
            }
            Event::Doing { slot, cell, what, seconds } => {
                let time = if *seconds > 0.0 { format!(" {seconds:.0} s") } else { String::new() };
                tell(&self.bar, &format!("block {} {}: {what}{time}", slot.block, cell.label));
            }
            Event::Finished { slot, cell, seconds, finished, left_s, .. } => {
                self.bar.set_position(*finished as u64);
                let (of, seconds) = (self.bar.length().unwrap_or(0), Unit::Seconds.human(*seconds));
                self.say(&format!("{finished}/{of} block {} {}: {seconds}{}", slot.block, cell.label, left(left_s)));
            }
            Event::Failed { slot, cell, why, again } => {
                let next = if *again { "\n  it will be retried" } else { "" };
                self.always(&format!("failed: block {} {}: {why}{next}", slot.block, cell.label));
            }
            Event::Warning { text } => self.always(&format!("warning: {text}")),
        }
    }

    fn say(&self, text: &str) {
        if !self.quiet {
            self.always(text);
        }
    }

    fn always(&self, text: &str) {
        self.bar.suspend(|| print::message(text));
    }

    /// Takes the changing line away.
    pub fn clear(&self) {
        self.bar.finish_and_clear();
    }
}

/// The end of `name`, which distinguishes files of one directory, in at most `room` characters.
fn ending(name: &str, room: usize) -> String {
    let skipped = name.chars().count().saturating_sub(room);
    if skipped == 0 {
        return name.to_owned();
    }
    std::iter::once('…').chain(name.chars().skip(skipped + 1)).collect()
}

/// `12 s, 12 samples, cpu 45%, disk 1.20 MiB/s, net 3.00 KiB/s`.
fn describe(progress: &Progress) -> String {
    let mut text = format!("{:.0} s", progress.elapsed_s);
    if let Some(planned) = progress.planned_s {
        text = format!("{text} of {planned:.0} s");
    }
    text.push_str(&format!(", {}", plural(progress.ticks, "sample")));
    if progress.missed > 0 {
        text.push_str(&format!(" ({} missed)", progress.missed));
    }
    if let Some(busy) = progress.cpu_busy {
        text.push_str(&format!(", cpu {}", Unit::Percent.human(busy)));
    }
    if let Some(bytes) = progress.disk_bytes_per_s {
        text.push_str(&format!(", disk {}", Unit::BytesPerS.human(bytes)));
    }
    if let Some(bytes) = progress.net_bytes_per_s {
        text.push_str(&format!(", net {}", Unit::BytesPerS.human(bytes)));
    }
    text
}

/// `1 sample`, `2 samples`.
pub fn plural(n: u64, thing: &str) -> String {
    if n == 1 { format!("1 {thing}") } else { format!("{n} {thing}s") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn progress_is_one_readable_line() {
        let progress = Progress { elapsed_s: 12.02, ticks: 12, cpu_busy: Some(45.0), missed: 1, ..Progress::default() };
        assert_eq!(describe(&progress), "12 s, 12 samples (1 missed), cpu 45.0%");
    }

    #[test]
    fn a_long_name_keeps_its_end() {
        assert_eq!(ending("dir/vmstat.log.büro-1", 21), "dir/vmstat.log.büro-1");
        assert_eq!(ending("dir/vmstat.log.büro-1", 8), "….büro-1");
    }
}
