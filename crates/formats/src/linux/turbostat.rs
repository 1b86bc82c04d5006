//! `turbostat`: frequencies, C-states, temperatures and power, as columns that vary with the machine.
//!
//! A sample is a line with `-` for all CPUs and a line for each of them. A line leaves off at the
//! end what is in another CPU's line for its core or package. Counts are of the interval, whose
//! length is only in the text when a command was run or the column `Time_Of_Day_Seconds` was asked for.

use fenxi_model::{Micros, catalog::cpu};

use crate::{
    Clock, Family, Fields, Format, Head, Input, Out, Relative, Splitter, Sure, Ticker, number,
    stamp::{in_front, stamp},
};

/// Importer for turbostat.
pub static FORMAT: Format = Format {
    name: "turbostat",
    summary: "turbostat: any columns, also --Summary",
    family: Family::Linux,
    tables: &[&cpu::TABLE],
    example: "\
Core    CPU     Avg_MHz Busy%   Bzy_MHz TSC_MHz IRQ     C1%     CoreTmp
-       -       478     12.53   3799    3411    2777    0.01    49
",
    sniff,
    read,
};

/// Seconds between samples by turbostat's default.
const DEFAULT_INTERVAL_S: f64 = 5.0;

/// Columns that say what a line is of.
const KEYS: [&str; 9] = ["Package", "Die", "Node", "Core", "CPU", "APIC", "X2APIC", "pk", "cor"];
/// Columns that count what happened in the interval, besides the entries into C-states.
const COUNTS: [&str; 4] = ["IRQ", "SMI", "NMI", "LLCkRPS"];

fn is_header(line: &str) -> bool {
    let has = |word: &str| line.split_ascii_whitespace().any(|w| w == word);
    (has("Avg_MHz") && (has("Bzy_MHz") || has("Busy%") || has("%Busy"))) || (has("%c0") && has("GHz") && has("TSC"))
}

fn sniff(head: &Head<'_>) -> Sure {
    // With a time in front of each line it is read without.
    Sure::Certain.when(head.any(|line| is_header(line) && in_front(line).is_none()))
}

/// Role of a column.
#[derive(Clone, Debug, PartialEq)]
enum Column {
    /// The CPU's number.
    Cpu,
    /// Another key, by its name in labels.
    Key(String),
    /// Seconds since 1970.
    Epoch,
    /// Frequency while the CPU ran, in so many hertz.
    Frequency(f64),
    Interrupts,
    /// A count of the interval, or a figure.
    Metric {
        name: String,
        unit: &'static str,
        count: bool,
    },
}

fn column(title: &str) -> Column {
    match title {
        "CPU" => return Column::Cpu,
        "Time_Of_Day_Seconds" => return Column::Epoch,
        "Bzy_MHz" => return Column::Frequency(1e6),
        "GHz" => return Column::Frequency(1e9),
        "IRQ" => return Column::Interrupts,
        "pk" => return Column::Key("package".to_owned()),
        "cor" => return Column::Key("core".to_owned()),
        _ if KEYS.contains(&title) => return Column::Key(title.to_ascii_lowercase()),
        _ => {}
    }
    // `C1` and `POLL` count entries, `C1%` is a share of time.
    let state = title.strip_prefix('C').is_some_and(|n| n.starts_with(|c: char| c.is_ascii_digit()));
    let count =
        COUNTS.contains(&title) || (!title.contains('%') && (title == "POLL" || (state && !title.contains("Tmp"))));
    let unit = match title {
        _ if title.contains('%') => "%",
        _ if title.ends_with("MHz") => "MHz",
        _ if title.ends_with("Watt") => "W",
        _ if title.ends_with("_J") => "J",
        _ if title.ends_with("Tmp") => "°C",
        _ if count => "/s",
        _ => "",
    };
    let per_second = if count { "_per_s" } else { "" };
    Column::Metric { name: format!("turbostat.{title}{per_second}"), unit, count }
}

struct Reader {
    columns: Vec<Column>,
    relative: Option<Relative>,
    ticker: Ticker,
    /// Seconds of the sample, from a line before its titles.
    seconds: Option<f64>,
    now: Option<(Micros, Option<f64>)>,
    /// Key of the sample's first line.
    first: String,
    /// The next line begins a sample.
    begins: bool,
    /// The time of the next sample, from a line above it.
    told: Option<Micros>,
}

fn read(input: &mut Input<'_>, out: &mut Out<'_>) {
    let mut reader = Reader {
        columns: Vec::new(),
        relative: None,
        ticker: Ticker::new(out.hints(), "", |_| None),
        seconds: None,
        now: None,
        first: String::new(),
        begins: true,
        told: None,
    };
    let mut clock = Clock::new(out.hints());
    let mut splitter = Splitter::default();
    while input.line().is_some() {
        let (number, line) = (input.number(), input.text());
        if line.trim().is_empty() {
            continue;
        }
        // Values have no colons.
        let alone = if line.contains(':') { stamp(line).filter(|stamp| stamp.rest.is_empty()) } else { None };
        if let Some(stamp) = alone {
            reader.told = Some(stamp.when.moment(&mut clock, out));
        } else if is_header(line) {
            reader.columns = line.split_ascii_whitespace().map(column).collect();
            reader.begins = true;
        } else if let Some(seconds) = line.trim().strip_suffix(" sec").and_then(|s| self::number(s.trim())) {
            reader.seconds = Some(seconds).filter(|s| *s > 0.0);
        } else if reader.columns.is_empty() {
            // Before the first titles it prints the machine's setup.
            if let Some((topic, value)) = line.split_once(": ") {
                out.fact("turbostat", topic.trim(), value.trim());
            }
        } else {
            reader.values(number, &splitter.blanks(line), out);
        }
    }
}

impl Reader {
    fn values(&mut self, line: u64, fields: &Fields<'_>, out: &mut Out<'_>) {
        let numbers = fields.iter().all(|f| f == "-" || number(f).is_some() || f.starts_with("0x"));
        if !numbers || fields.len() > self.columns.len() {
            // The setup is printed again when a CPU comes or goes, and names files where one cannot be read.
            out.unknown(line, fields.rest(0), "neither titles nor figures of turbostat");
            return;
        }
        let mut labels = String::new();
        let mut cpu_key = None;
        for (column, cell) in self.columns.iter().zip(fields.iter()).filter(|(_, cell)| *cell != "-") {
            let name = match column {
                Column::Cpu => {
                    cpu_key = Some(cell);
                    "cpu"
                }
                Column::Key(name) => name,
                _ => continue,
            };
            if !labels.is_empty() {
                labels.push(',');
            }
            labels.push_str(&format!("{name}={cell}"));
        }
        let (t, dt) = self.sample(&labels, fields, out);
        let mut row = out.row(&cpu::TABLE, t, dt);
        row.str(cpu::cpu, cpu_key);
        for (column, cell) in self.columns.iter().zip(fields.iter()) {
            match column {
                Column::Frequency(hertz) => {
                    row.f64(cpu::freq_hz, number(cell).map(|v| v * hertz));
                }
                Column::Interrupts => {
                    row.f64(cpu::intr_per_s, number(cell).zip(dt).map(|(n, dt)| n / dt));
                }
                _ => {}
            }
        }
        for (column, cell) in self.columns.iter().zip(fields.iter()) {
            let Column::Metric { name, unit, count } = column else { continue };
            let value = if *count { number(cell).zip(dt).map(|(n, dt)| n / dt) } else { number(cell) };
            if value.is_some() {
                out.metric(t, dt, name, &labels, value, unit);
            }
        }
    }

    /// The time and length of the sample that a line belongs to.
    fn sample(&mut self, key: &str, fields: &Fields<'_>, out: &mut Out<'_>) -> (Micros, Option<f64>) {
        let begins = self.begins || key == self.first;
        if let (false, Some(now)) = (begins, self.now) {
            return now;
        }
        self.begins = false;
        key.clone_into(&mut self.first);
        let epoch = self.columns.iter().position(|c| *c == Column::Epoch);
        let epoch = epoch.and_then(|at| number(fields.get(at))).filter(|s| *s > 0.0 && *s < 1e11);
        let told = epoch.map(|epoch| Micros((epoch * 1e6).round() as i64)).or(self.told.take());
        let now = match (told, self.seconds.take()) {
            (Some(t), seconds) => (t, self.ticker.tick(t).or(seconds)),
            (None, seconds) => {
                let relative = self.relative.get_or_insert_with(|| {
                    if out.hints().interval_s.or(seconds).is_none() {
                        out.assume(
                            "five seconds between samples, as turbostat has it unless told otherwise (give --interval)",
                        );
                    }
                    Relative::new(out, Some(seconds.unwrap_or(DEFAULT_INTERVAL_S)))
                });
                let (t, dt) = relative.tick();
                (t, Some(seconds.unwrap_or(dt)))
            }
        };
        self.now = Some(now);
        now
    }
}
