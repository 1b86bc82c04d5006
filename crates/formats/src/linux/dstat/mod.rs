//! `dstat` and its kin `dool` and `pcp dstat`: the file of `--output`, and the text on a terminal.
//!
//! Both have two lines of titles: groups, and the columns in each. The first line of figures is an
//! average since boot; `pcp dstat` leaves its rates empty instead.

mod columns;
mod lines;
#[cfg(test)]
mod tests;
mod times;

use fenxi_model::catalog::{cpu, db, disk, fs, irq, mem, net, sched, tcp, udp, vm};

use crate::{Family, Format, Head, Input, Out, Splitter, Sure};
use columns::{Cells, Plan};
use lines::{csv_cells, is_titles, plain, text_cells, text_columns, unquoted};
use times::Times;

/// Importer for dstat, dool and pcp dstat.
pub static FORMAT: Format = Format {
    name: "dstat",
    summary: "dstat, dool and pcp dstat: --output files and text",
    family: Family::Linux,
    tables: &[
        &cpu::TABLE,
        &db::TABLE,
        &sched::TABLE,
        &mem::TABLE,
        &vm::TABLE,
        &disk::TABLE,
        &fs::TABLE,
        &net::TABLE,
        &tcp::TABLE,
        &udp::TABLE,
        &irq::TABLE,
    ],
    example: "\
----total-cpu-usage---- -dsk/total- -net/total- ---system--
usr sys idl wai hiq siq| read  writ| recv  send| int   csw
 39   6  47   9   0   0| 205M  293M|  17k 3006B|6918  5466
",
    sniff,
    read,
};

fn sniff(head: &Head<'_>) -> Sure {
    const NAMES: [&str; 9] = [
        "usr sys idl wai",
        "read writ",
        "recv send",
        "int csw",
        "1m 5m 15m",
        "used free buff cach",
        "run blk new",
        "in out |",
        "used free",
    ];
    let mut titles = false;
    for line in head.lines() {
        if ["\"Dstat ", "\"dool ", "\"pcp-dstat "].iter().any(|p| line.starts_with(p)) && line.ends_with("utput\"") {
            return Sure::Certain;
        }
        if line.starts_with('"') && ["usr\",\"", "recv\",\"", "read\",\""].iter().any(|n| line.contains(n)) && titles {
            return Sure::Certain;
        }
        let text = plain(line);
        if titles && !line.starts_with('"') {
            let words = text.replace(['|', ':'], " | ");
            let words = words.split_ascii_whitespace().collect::<Vec<_>>().join(" ");
            if NAMES.iter().any(|n| words.contains(n)) {
                return Sure::Certain;
            }
        }
        titles = is_titles(text) || groups_of_csv(line);
    }
    Sure::No
}

/// Whether a line of a CSV file is the upper of the two title lines.
fn groups_of_csv(line: &str) -> bool {
    const GROUPS: [&str; 8] = [
        "\"total cpu usage\"",
        "\"total usage\"",
        "\"dsk/",
        "\"net/",
        "\"load avg\"",
        "\"memory usage\"",
        "\"procs\"",
        "\"cpu0 usage\"",
    ];
    line.contains('"') && GROUPS.iter().any(|group| line.contains(group))
}

/// Where the reader is in the text.
struct Reader {
    times: Times,
    /// The upper line of titles, until the lower one comes.
    groups: Option<String>,
    plan: Option<Plan>,
    /// The lower line of titles of a terminal's text, which shows where groups are divided.
    shape: Vec<usize>,
    /// The next line of figures is the first of a run.
    first: bool,
    pcp: bool,
    /// A terminal's text shows bytes as bits (`--bits`).
    bits: bool,
    cells: Cells,
}

fn read(input: &mut Input<'_>, out: &mut Out<'_>) {
    let head = input.head();
    let bits = head.lines().any(shows_bits);
    let mut reader = Reader {
        times: Times::new(out.hints(), &head),
        groups: None,
        plan: None,
        shape: Vec::new(),
        first: true,
        pcp: false,
        bits,
        cells: Cells::default(),
    };
    drop(head);
    let mut splitter = Splitter::default();
    while input.line().is_some() {
        let (number, line) = (input.number(), input.text());
        if line.trim().is_empty() {
            continue;
        }
        if line.starts_with('"') {
            reader.quoted(number, line, out);
        } else if reader.shape.is_empty() && reader.plan.is_some() {
            csv_cells(line, &mut splitter, &mut reader.cells);
            reader.figures(number, line, out);
        } else {
            reader.text(number, plain(line), out);
        }
    }
}

/// A line of figures with one in bits, `512b`.
fn shows_bits(line: &str) -> bool {
    let bits =
        |word: &str| word.strip_suffix('b').is_some_and(|n| !n.is_empty() && n.bytes().all(|b| b.is_ascii_digit()));
    line.contains('|') && line.split([' ', '|', ':']).any(bits)
}

impl Reader {
    /// A line of a CSV file's head.
    fn quoted(&mut self, number: u64, line: &str, out: &mut Out<'_>) {
        let mut words = line.split(',').map(unquoted).filter(|w| !w.is_empty());
        match words.next().unwrap_or("") {
            "Author:" => {}
            "Host:" => {
                out.set_host(words.next().unwrap_or(""));
                self.restart();
            }
            "Cmdline:" => self.times.command(line, out.hints()),
            title if title.ends_with(" CSV output") || title.ends_with(" CSV Output") => {
                self.pcp = title.starts_with("pcp");
                self.restart();
            }
            _ => match self.groups.take() {
                None => self.groups = Some(line.to_owned()),
                Some(groups) => {
                    let plan = Plan::of_csv(&groups, line);
                    if plan.is_none() {
                        out.unknown(number, line, "titles that do not fit the line of groups before");
                    }
                    self.plan = plan;
                    self.shape.clear();
                }
            },
        }
    }

    fn restart(&mut self) {
        self.first = true;
        self.groups = None;
        self.plan = None;
        self.times.restart();
    }

    /// A line as a terminal shows it.
    fn text(&mut self, number: u64, line: &str, out: &mut Out<'_>) {
        if line.trim().is_empty() || line.starts_with("You did not select") || line.starts_with("Terminal width") {
            return;
        }
        if is_titles(line) {
            self.groups = Some(line.to_owned());
            return;
        }
        if let Some(groups) = self.groups.take() {
            match text_columns(&groups, line) {
                Some((columns, shape)) => {
                    self.plan = Some(Plan::of_text(&columns, self.bits));
                    self.shape = shape;
                }
                None => out.unknown(number, line, "titles that do not fit the line of groups before"),
            }
            return;
        }
        let fits = match &self.plan {
            Some(plan) => text_cells(line, &self.shape, plan, &mut self.cells),
            None => false,
        };
        if fits {
            self.figures(number, line, out);
        } else {
            out.unknown(number, line, "figures that do not fit the titles");
        }
    }

    /// The cells of one line of figures.
    fn figures(&mut self, number: u64, line: &str, out: &mut Out<'_>) {
        let Some(plan) = &self.plan else { return };
        if self.cells.len() != plan.len() {
            out.wrong_count(number, line, self.cells.len(), plan.len());
            return;
        }
        let rates_missing = plan.lacks_rates(&self.cells);
        let boot = self.first && !rates_missing && !(self.pcp && self.cells.any_empty());
        let time = self.times.at(plan.stamp(&self.cells), self.first, out);
        let Some((t, dt)) = time else {
            out.unknown(number, line, "no time in the column of times");
            return;
        };
        self.first = false;
        out.since_boot(boot);
        plan.write(number, (t, dt.filter(|_| !boot)), &self.cells, out);
        out.since_boot(false);
    }
}
