//! Processes (`-sZ`).

use fenxi_model::{Micros, catalog::process};

use crate::{Fields, Out, number, scaled};

/// Which column is what, by the titles.
pub(super) struct Process {
    titles: Vec<String>,
    /// Sizes are in KB without a letter: the files for plotting.
    plot: bool,
}

impl Process {
    pub(super) fn new(titles: &[&str], plot: bool) -> Process {
        Process { titles: titles.iter().map(|t| (*t).to_owned()).collect(), plot }
    }

    pub(super) fn write(&self, line: u64, (t, dt): (Micros, Option<f64>), fields: &Fields<'_>, out: &mut Out<'_>) {
        let at = |title: &str| self.titles.iter().position(|t| t == title);
        let cell = |title: &str| at(title).map_or("", |i| fields.get(i));
        let command = fields.rest(self.titles.len().saturating_sub(1));
        let program = command.split_ascii_whitespace().next().unwrap_or("");
        let name = program.rsplit('/').next().filter(|_| program.starts_with('/')).unwrap_or(program);
        let Ok(pid) = cell("PID").trim_end_matches('+').parse::<i64>() else {
            out.unknown(line, fields.rest(0), "no number of a process");
            return;
        };
        let value = |titles: [&str; 2]| titles.iter().find_map(|t| scaled(cell(t), 1024.0));
        let size = |titles: [&str; 2]| value(titles).map(|v| if self.plot { v * 1024.0 } else { v });
        // Seconds of CPU time in the interval.
        let share = |title: &str| number(cell(title)).zip(dt).map(|(seconds, dt)| seconds / dt * 100.0);
        let kilobytes = |title: &str| value([title, ""]).map(|v| v * 1024.0);
        let mut row = out.row(&process::TABLE, t, dt);
        row.i64(process::pid, pid)
            .str(process::comm, name)
            .str(process::user, Some(cell("User")).filter(|u| !u.is_empty()));
        row.i64(process::ppid, cell("PPID").parse::<i64>().ok());
        // Threads besides the first.
        row.f64(process::threads, number(cell("THRD")).map(|n| n + 1.0));
        row.str(process::state, Some(cell("S")).filter(|s| !s.is_empty()));
        row.f64(process::priority, number(cell("PR")));
        row.f64(process::vsz_bytes, size(["VSZ", "VmSize"])).f64(process::rss_bytes, size(["RSS", "VmRSS"]));
        let cpu = if self.plot { cell("CPU") } else { cell("CP") };
        row.i64(process::last_cpu, cpu.parse::<i64>().ok());
        row.f64(process::sys, share("SysT")).f64(process::usr, share("UsrT"));
        row.f64(process::cpu, value(["Pct", "PCT"]));
        row.f64(process::read_bytes_per_s, kilobytes("RKB")).f64(process::write_bytes_per_s, kilobytes("WKB"));
        row.f64(process::major_faults_per_s, value(["MajF", ""])).f64(process::minor_faults_per_s, value(["MinF", ""]));
    }
}
