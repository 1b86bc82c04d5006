//! `pstime`: CPU time of processes over an interval, as the tool of that name on Solaris and `fenxi watch pstime` print it.
//!
//! The latter prints of how many CPUs its percentages are, or that they are seconds. The former prints shares of all CPUs of a machine
//! whose number it does not say: these are metrics, as percentages of `process` are of one CPU, and its row has who it is.

use fenxi_model::{Micros, catalog::process};

use crate::{
    Clock, Family, Format, Head, Input, Out, Relative, Sure, generic::labels::Labels, number,
    procps::moments::is_prompt, stamp,
};

/// Importer for pstime of Solaris and fenxi watch pstime.
pub static FORMAT: Format = Format {
    name: "pstime",
    summary: "pstime of Solaris and fenxi watch pstime: CPU time of processes over an interval",
    family: Family::Linux,
    tables: &[&process::TABLE],
    example: "\
2026-11-21T15:05:16.832242Z  2.000 s, % of 2 CPUs, by clock, record
USER         PID     %USR     %SYS     %CPU    %WAIT    %CHLD    COMMAND
root       21689    12.80   0.3849    13.18    20.72        - +- gzip
",
    sniff,
    read,
};

/// The lines above the titles: the moment, the length of the interval, and what a figure is to be multiplied by to be a
/// percentage of one CPU.
fn heading(line: &str) -> Option<(&str, f64, f64)> {
    let (before, rest) = line.split_once(" s, ")?;
    let (time, seconds) = before.rsplit_once(' ').unwrap_or(("", before));
    let seconds = number(seconds)?;
    let what = rest.split(", by ").next()?;
    let scale = if what == "CPU seconds" {
        100.0 / seconds
    } else if let Some(cpus) = what.strip_prefix("% of ") {
        cpus.strip_suffix(" CPUs").and_then(number).unwrap_or(1.0)
    } else {
        return None;
    };
    rest.contains(", by ").then_some((time.trim(), seconds, scale))
}

/// The columns between the process and its command.
fn titles(line: &str) -> Option<Vec<&str>> {
    let words: Vec<&str> = line.split_ascii_whitespace().collect();
    let [user, pid, columns @ .., "COMMAND"] = &words[..] else { return None };
    let user = matches!(*user, "UID" | "USER" | "UNAME");
    let own = columns.starts_with(&["%USR", "%SYS"]) || columns.starts_with(&["USR-s", "SYS-s"]);
    (user && matches!(*pid, "PID" | "TID") && own).then(|| columns.to_vec())
}

fn sniff(head: &Head<'_>) -> Sure {
    Sure::Certain.when(head.any(|line| titles(line).is_some()))
}

struct Reader {
    clock: Clock,
    relative: Option<Relative>,
    interval_s: Option<f64>,
    /// The moment, the interval and the scale of a heading.
    now: Option<(Option<Micros>, f64, f64)>,
    at: Option<(Micros, Option<f64>)>,
    columns: Vec<String>,
    threads: bool,
}

fn read(input: &mut Input<'_>, out: &mut Out<'_>) {
    let mut reader = Reader {
        clock: Clock::new(out.hints()),
        relative: None,
        interval_s: None,
        now: None,
        at: None,
        columns: Vec::new(),
        threads: false,
    };
    input.each_line(|at, line| {
        let line = line.trim();
        if line.is_empty() || reader.line(line, out) {
            return;
        }
        let mut words = line.split_ascii_whitespace().take(4);
        if is_prompt(line, "pstime") || words.any(|word| word.rsplit('/').next() == Some("pstime")) {
            // `pstime 10 7141 19870`
            let after = line.split_ascii_whitespace().skip_while(|word| !word.ends_with("pstime"));
            reader.interval_s = after.skip(1).find_map(number).filter(|s| *s > 0.0);
            return;
        }
        out.unknown(at, line, "no process under the titles of pstime");
    });
}

impl Reader {
    fn line(&mut self, line: &str, out: &mut Out<'_>) -> bool {
        if let Some((time, seconds, scale)) = heading(line) {
            let t = stamp(time).map(|stamp| stamp.when.moment(&mut self.clock, out));
            (self.now, self.at) = (Some((t, seconds, scale)), None);
            return true;
        }
        if let Some(columns) = titles(line) {
            self.threads = line.contains(" TID ");
            self.columns = columns.into_iter().map(str::to_owned).collect();
            self.at = None;
            return true;
        }
        if self.columns.is_empty() {
            return false;
        }
        let words: Vec<&str> = line.split_ascii_whitespace().collect();
        let Some(cells) = words.get(2..2 + self.columns.len()) else { return false };
        let Some(pid) =
            words.get(1).and_then(|pid| if *pid == "-" { Some(None) } else { pid.parse::<i64>().ok().map(Some) })
        else {
            return false;
        };
        let values: Vec<Option<f64>> = cells.iter().map(|cell| number(cell)).collect();
        if !cells.iter().zip(&values).all(|(cell, value)| value.is_some() || *cell == "-") {
            return false;
        }
        let command: Vec<&str> =
            words.iter().skip(2 + self.columns.len()).copied().skip_while(|w| is_mark(w)).collect();
        let command = command.join(" ");
        // The sum of all lines.
        if !command.starts_with("(total") {
            self.write(words[0], pid, &command, &values, out);
        }
        true
    }

    fn moment(&mut self, out: &mut Out<'_>) -> (Micros, Option<f64>) {
        if let Some(at) = self.at {
            return at;
        }
        let told = self.now.map(|(_, seconds, _)| seconds);
        let at = match self.now.and_then(|(t, ..)| t) {
            Some(t) => (t, told),
            None => {
                let first = told.or(self.interval_s);
                let (t, dt) = self.relative.get_or_insert_with(|| Relative::new(out, first)).tick();
                (t, told.or(Some(dt)))
            }
        };
        self.at = Some(at);
        at
    }

    fn write(&mut self, user: &str, pid: Option<i64>, command: &str, values: &[Option<f64>], out: &mut Out<'_>) {
        let (t, dt) = self.moment(out);
        let scale = self.now.map(|(_, _, scale)| scale);
        let find = |names: [&str; 2]| {
            self.columns
                .iter()
                .position(|column| names.contains(&column.as_str()))
                .and_then(|at| values.get(at).copied())
                .flatten()
        };
        let user = Some(user).filter(|user| *user != "-");
        let name: String = if command == "(exited)" {
            command.to_owned()
        } else {
            let program = command.split(' ').next().unwrap_or("");
            program.rsplit('/').next().unwrap_or("").trim_start_matches('-').chars().take(15).collect()
        };
        if !self.threads {
            let of = |names| find(names).zip(scale).map(|(value, scale)| value * scale);
            let mut row = out.row(&process::TABLE, t, dt);
            row.i64(process::pid, pid).str(process::comm, name.as_str()).str(process::user, user);
            row.str(process::command, Some(command).filter(|c| !c.is_empty()));
            row.f64(process::usr, of(["%USR", "USR-s"])).f64(process::sys, of(["%SYS", "SYS-s"]));
            row.f64(process::cpu, of(["%CPU", "CPU-s"])).f64(process::run_queue_wait, of(["%WAIT", "WAIT-s"]));
            row.f64(process::children_cpu, of(["%CHLD", "CHLD-s"]));
            if scale.is_some() {
                return;
            }
        }
        let mut labels =
            Labels::of(if self.threads { "tid" } else { "pid" }, &pid.map_or("-".to_owned(), |pid| pid.to_string()));
        labels.push("comm", &name);
        labels.push("user", user.unwrap_or(""));
        for (column, what) in [(["%USR", "USR-s"], "usr"), (["%SYS", "SYS-s"], "sys"), (["%CPU", "CPU-s"], "cpu")] {
            if let Some(value) = find(column) {
                // Seconds say it without a number of CPUs.
                let (value, unit) = match scale {
                    Some(scale) => (value * scale, "%"),
                    None => (value, "% of all CPUs"),
                };
                out.metric(t, dt, &format!("pstime.{what}"), labels.text(), value, unit);
            }
        }
    }
}

/// `+-`, `~`: that a process began or ended in the interval, or how it was measured.
fn is_mark(word: &str) -> bool {
    word.chars().all(|c| matches!(c, '+' | '-' | '~'))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{detect, fixtures::read};

    #[test]
    fn shares_of_known_cpus_are_of_one() {
        let read = read(&FORMAT, FORMAT.example.as_bytes());
        assert!(read.text.contains("21689\tgzip\troot\t25.6\t0.7698\t26.36\t41.44"), "{}", read.text);
        assert_eq!(read.tally.notes, 0, "{}", read.text);
    }

    #[test]
    fn shares_of_unknown_cpus_are_metrics_of_the_interval_that_the_command_says() {
        let text = "\
mashie ) pstime 10 `pgrep mysqld`
   UID    PID  %USR  %SYS COMMAND
 mysql   7141 44.17 3.391 /u/dist/mysql60-debug/bin/mysqld --defaults-file=/et
";
        assert_eq!(detect(&Head { text }).unwrap().name, "pstime");
        let read = read(&FORMAT, text.as_bytes());
        assert!(
            read.text.contains("\t10\tfixture\tpstime.usr\tpid=7141,comm=mysqld,user=mysql\t44.17\t% of all CPUs"),
            "{}",
            read.text
        );
        assert!(read.text.contains("\t7141\tmysqld\tmysql\t/u/dist/mysql60-debug/bin/mysqld --def"), "{}", read.text);
        assert_eq!(read.tally.notes, 0, "{}", read.text);
    }
}
