//! The line that shows a recording in progress.

use std::io::{self, IsTerminal};

use fenxi_model::Unit;
use fenxi_record::{Progress, Stage};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

/// Draws a recording's progress on the terminal, or nothing when there is none.
#[derive(Debug)]
pub struct Line {
    bar: ProgressBar,
}

impl Line {
    /// A line on stderr; nothing unless stderr is a terminal that is not also `busy` with a command's output.
    pub fn new(quiet: bool, busy: bool, planned_s: Option<f64>) -> Line {
        let shown = !quiet && io::stderr().is_terminal() && !(busy && io::stdout().is_terminal());
        let target = if shown { ProgressDrawTarget::stderr() } else { ProgressDrawTarget::hidden() };
        let bar = ProgressBar::with_draw_target(planned_s.map(|s| (s * 1000.0) as u64), target);
        let template = if planned_s.is_some() { "{bar:20} {msg}" } else { "{spinner} {msg}" };
        if let Ok(style) = ProgressStyle::with_template(template) {
            bar.set_style(style.progress_chars("=> "));
        }
        Line { bar }
    }

    /// Shows what the recorder does now.
    pub fn show(&self, stage: &Stage<'_>) {
        match stage {
            Stage::Began(_) => self.bar.set_message("recording; Ctrl-C ends it and keeps the run"),
            Stage::Tick(progress) => {
                self.bar.set_position((progress.elapsed_s * 1000.0) as u64);
                self.bar.set_message(describe(progress));
            }
            Stage::Sealing => self.bar.set_message("writing the run"),
        }
    }

    /// Takes the line away.
    pub fn clear(&self) {
        self.bar.finish_and_clear();
    }
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
}
