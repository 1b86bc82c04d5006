//! `dcgmi` of NVIDIA's DCGM: `dmon`, which prints fields of GPUs again and again, and `stats`, which sums up a job.
//!
//! Fields are called by the short names above their columns. `dmon` prints no times, and not how far its samples are apart. The
//! fixtures are written by hand after the documented layouts.

use fenxi_model::{
    Micros,
    catalog::{gpu, metric},
};

use super::gpus::{DCGM, GpuRow};
use crate::{
    Family, Format, Head, Input, Out, Sure,
    generic::labels::{Labels, symbol},
    number,
    procps::moments::{Moments, is_prompt},
    stamp,
};

/// Importer for dcgmi dmon and dcgmi stats of NVIDIA DCGM.
pub static FORMAT: Format = Format {
    name: "dcgmi",
    summary: "dcgmi dmon and dcgmi stats of NVIDIA DCGM",
    family: Family::Linux,
    tables: &[&gpu::TABLE, &metric::TABLE],
    example: "\
#Entity   GPUTL   POWER
ID                W
GPU 0     98      301.245
GPU 1     97      298.102
",
    sniff,
    read,
};

/// Short names of fields whose unit is known, and that are no column of the table `gpu`.
const UNITS: &[(&str, &str)] = &[("TOTEC", "mJ"), ("FBFRE", "MiB")];

/// The short names of a header: `#Entity   SMACT   DRAMA`, `# Entity  GPUTL`.
fn header(line: &str) -> Option<Vec<&str>> {
    let mut words = line.strip_prefix('#')?.split_ascii_whitespace();
    (words.next()? == "Entity").then_some(())?;
    let names: Vec<&str> = words.collect();
    let own = |name: &&str| name.bytes().all(|b| b.is_ascii_uppercase() || b.is_ascii_digit() || b == b'_');
    (!names.is_empty() && names.iter().all(own)).then_some(names)
}

/// The line below it: `ID`, and units in some versions.
fn is_second(line: &str) -> bool {
    matches!(line.split_ascii_whitespace().next(), Some("ID" | "Id"))
}

/// `|-----  Execution Stats  ------------+----`
fn box_title(line: &str) -> Option<&str> {
    let title = line.trim_matches(['|', '+', '-', ' ']);
    let framed = line.starts_with("|---") || line.starts_with("+---");
    Some(title.trim_matches(['-', '+', ' '])).filter(|title| framed && title.ends_with(" Stats"))
}

fn sniff(head: &Head<'_>) -> Sure {
    let lines: Vec<&str> = head.lines().take(60).collect();
    let dmon = lines.windows(2).any(|lines| header(lines[0]).is_some() && is_second(lines[1]));
    let stats = lines.iter().any(|line| box_title(line) == Some("Execution Stats"));
    Sure::Certain.when(dmon || stats && lines.iter().any(|line| line.starts_with("| GPU ID:")))
}

struct Reader {
    moments: Moments,
    now: Option<(Micros, Option<f64>)>,
    /// The first of the entities: when it comes again, so does the sample.
    first: Option<String>,
    names: Vec<String>,
    gpu: Option<String>,
}

fn read(input: &mut Input<'_>, out: &mut Out<'_>) {
    let mut reader = Reader { moments: Moments::new(out), now: None, first: None, names: Vec::new(), gpu: None };
    input.each_line(|number, line| {
        let line = line.trim();
        if !line.is_empty() && !reader.line(line, out) {
            out.unknown(number, line, "no line of dcgmi dmon or dcgmi stats");
        }
    });
}

impl Reader {
    fn line(&mut self, line: &str, out: &mut Out<'_>) -> bool {
        if let Some(names) = header(line) {
            self.names = names.into_iter().map(str::to_owned).collect();
            return true;
        }
        if line.starts_with(['|', '+']) {
            return self.framed(line, out);
        }
        if is_second(line) && !self.names.is_empty() || self.sample(line, out) {
            return true;
        }
        if stamp(line).is_some_and(|stamp| stamp.rest.is_empty()) {
            (self.now, self.first) = (None, None);
            self.moments.take(line, out);
            return true;
        }
        line.starts_with("Successfully retrieved") || is_prompt(line, "dcgmi")
    }

    /// `GPU 0     98      301.245`, `GPU-I 3     N/A    0.117`
    fn sample(&mut self, line: &str, out: &mut Out<'_>) -> bool {
        let words: Vec<&str> = line.split_ascii_whitespace().collect();
        let n = self.names.len();
        if n == 0 || words.len() != n + 2 || number(words[1]).is_none() {
            return false;
        }
        let entity = format!("{} {}", words[0], words[1]);
        if self.first.as_ref() == Some(&entity) {
            (self.now, self.first) = (None, None);
        }
        self.first.get_or_insert_with(|| entity.clone());
        let (t, dt) = *self.now.get_or_insert_with(|| self.moments.next(out));
        let labels = Labels::of("entity", &entity);
        // Of other entities (links, switches) fields of the same names are something else.
        let mut row = match words[0] {
            "GPU" => Some(GpuRow { gpu: Some(words[1].to_owned()), ..GpuRow::default() }),
            "GPU-I" => Some(GpuRow { instance: Some(words[1].to_owned()), ..GpuRow::default() }),
            _ => None,
        };
        let mut whole = true;
        for (name, cell) in self.names.iter().zip(&words[2..]) {
            let unit = UNITS.iter().find(|(field, _)| field == name).map_or("", |(_, unit)| unit);
            match number(cell) {
                Some(value) if row.as_mut().is_some_and(|row| row.take(DCGM, name, value)) => {}
                Some(value) => out.metric(t, dt, &format!("dcgmi.{name}"), labels.text(), value, unit),
                None => whole &= matches!(*cell, "N/A" | "-"),
            }
        }
        if let Some(mut row) = row {
            row.write(t, dt, out);
        }
        whole
    }

    /// A line of the box of `dcgmi stats`.
    fn framed(&mut self, line: &str, out: &mut Out<'_>) -> bool {
        // Titles and borders.
        if line.starts_with('+') || line.starts_with("|---") {
            return true;
        }
        let cells: Vec<&str> = line.trim_matches('|').split('|').map(str::trim).collect();
        match cells[..] {
            [one] => match one.strip_prefix("GPU ID:") {
                Some(gpu) => self.gpu = Some(gpu.trim().to_owned()),
                None => out.fact("gpu", "dcgmi", one),
            },
            [title, value] => self.figure(title, value, out),
            _ => return false,
        }
        true
    }

    /// `Power Usage (Watts)` and `Avg: 208.35, Max: 304.634, Min: 42.394`; what is no number is a fact.
    fn figure(&self, title: &str, value: &str, out: &mut Out<'_>) {
        let (name, unit) = match title.strip_suffix(')').and_then(|t| t.rsplit_once(" (")) {
            Some((name, unit)) => (name, unit),
            None => (title, ""),
        };
        let name = name.to_ascii_lowercase().replace(|c: char| !c.is_ascii_alphanumeric(), "_").replace("__", "_");
        let gpu = self.gpu.as_deref().map_or_else(String::new, |gpu| format!("[GPU {gpu}]"));
        let unit = match unit {
            "Joules" => "J",
            "Watts" => "W",
            other => symbol(other),
        };
        if let Some(value) = number(value) {
            out.result(&format!("{name}{gpu}"), value, unit, "neither");
            return;
        }
        let parts: Option<Vec<(String, Option<f64>)>> = value
            .split(", ")
            .map(|part| {
                let (of, value) = part.split_once(": ")?;
                let known = matches!(value.trim(), "N/A" | "Not Specified");
                (known || number(value.trim()).is_some()).then(|| (of.to_ascii_lowercase(), number(value.trim())))
            })
            .collect();
        match parts {
            Some(parts) => {
                // Figures that the GPU does not count are N/A.
                for (of, value) in parts.into_iter().filter(|(_, value)| value.is_some()) {
                    out.result(&format!("{name}_{of}{gpu}"), value, unit, "neither");
                }
            }
            None => out.fact("gpu", &format!("{name}{gpu}"), value),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{FORMAT, header};
    use crate::{Head, Sure, fixtures::read};

    #[test]
    fn a_job_has_its_energy_and_the_spread_of_its_power() {
        let path = "fixtures/dcgmi/stats.txt";
        let read = read(&FORMAT, &fs_err::read(path).unwrap());
        assert_eq!(read.tally.notes, 0, "{}", read.text);
        for line in ["energy_consumed[GPU 0]\t61230\tJ", "power_usage_max[GPU 0]\t301.5\tW"] {
            assert!(read.text.contains(line), "{}", read.text);
        }
    }

    #[test]
    fn samples_begin_with_their_first_gpu() {
        let text = "#Entity  SMACT  POWER\nID\nGPU 0  0.5  100\nGPU 1  N/A  90\nGPU 0  0.6  110\nGPU 1  0.7  95\n";
        let read = read(&FORMAT, text.as_bytes());
        // One row for each GPU and sample; the first cell is its time.
        assert_eq!((read.tally.notes, read.tally.rows()), (0, 4), "{}", read.text);
        assert!(read.text.contains("\t1\tfixture\t0\t60\t110"), "{}", read.text);
    }

    #[test]
    fn comments_are_no_headers() {
        assert_eq!(header("# Entity relations of the model"), None);
        for text in ["#Entity  NAME\nvalue\n", "+---- Stats ----+\n| a | b |\n"] {
            assert_eq!((FORMAT.sniff)(&Head { text }), Sure::No, "{text}");
        }
    }
}
