//! The `iostat`s of Solaris, HP-UX and the BSDs, by the words of their descriptions: one line for each device under a
//! header that names its columns (`-x`), or one line for each sample with all devices, the CPU and
//! the terminals side by side.

use fenxi_model::{
    Micros, Place, Table,
    catalog::{cpu, disk, sched},
    place::F64,
};
use rustc_hash::FxHashMap;

use super::times::Times;
use crate::{
    Fields, Input, Out, Splitter, number,
    own::{Classes, Coded, Goal, Per, words::Word},
};

/// Content of a column.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Cell {
    /// A column of the `disk` table, and the factor to its unit.
    Disk(usize, f64),
    /// A rate of the `disk` table, printed as a count over the interval.
    Count(usize, f64),
    /// Milliseconds waiting; those of an active request behind them are the rest of its time.
    Waiting,
    /// Errors since boot.
    Errors,
    /// Columns of the `cpu` and `sched` tables.
    Cpu(usize),
    Sched(usize),
    /// Goes to `metric` under its own name: of the device, or of the whole host.
    Other,
    Whole,
    /// Known, and worth nothing.
    Skip,
    /// The device's name.
    Device,
}

/// The group of words that are of the host, and of no device.
const HOST: &str = "host";

impl Cell {
    /// Meaning of a word of the description.
    fn of(word: &Word) -> Cell {
        match &word.goal {
            Goal::Key { .. } => Cell::Device,
            Goal::Column { table, place, .. } if table.id == cpu::TABLE.id => Cell::Cpu(*place),
            Goal::Column { table, place, .. } if table.id == sched::TABLE.id => Cell::Sched(*place),
            Goal::Column { place, .. } if *place == disk::errors.index() => Cell::Errors,
            Goal::Column { place, .. } if *place == disk::wait_ms.index() => Cell::Waiting,
            Goal::Column { place, scale, per: Per::Interval, .. } => Cell::Count(*place, *scale),
            Goal::Column { place, scale, .. } => Cell::Disk(*place, *scale),
            Goal::Metric { .. } if word.group == HOST => Cell::Whole,
            Goal::Metric { .. } => Cell::Other,
            _ => Cell::Skip,
        }
    }

    fn is_of_disk(self) -> bool {
        matches!(self, Cell::Disk(..) | Cell::Count(..) | Cell::Waiting | Cell::Errors)
    }
}

/// One system's iostat: every word that can stand in a header, and what is below it.
struct Dialect<'c> {
    coded: &'c Coded,
    words: Vec<(&'c str, Cell)>,
}

/// Words of lines above a header that name no device.
const TITLE: &[&str] = &["extended", "device", "disk", "statistics", "----", "errors", "---"];
/// Words above the columns of a line with everything side by side that name no device.
const GROUPS: &[&str] = &["tty", "cpu", "CPU", "load", "average"];
/// Most devices whose error counters are kept, and most columns of a header.
const MAX_DEVICES: usize = 1 << 16;
const MAX_COLUMNS: usize = 1 << 12;

/// A header line.
struct Header<'c> {
    cells: Vec<(&'c str, Cell)>,
    /// Columns that belong to one device each: `cells[begin..end]`.
    disks: Vec<(usize, usize)>,
    /// Place of the device's name, if each device has a separate line.
    device: Option<usize>,
    /// Whether cells are separated by commas.
    raw: bool,
}

impl<'c> Header<'c> {
    /// Reads a header line; None when any word of it is unknown.
    fn read(line: &str, splitter: &mut Splitter, dialect: &Dialect<'c>) -> Option<Header<'c>> {
        let raw = line.contains(',');
        let fields = cut(line, raw, splitter);
        if fields.len() < 2 || fields.len() > MAX_COLUMNS {
            return None;
        }
        let mut counts = vec![0u32; dialect.words.len()];
        let mut header = Header { cells: Vec::with_capacity(fields.len()), disks: Vec::new(), device: None, raw };
        let mut nth = None;
        for (column, word) in fields.iter().enumerate() {
            let at = dialect.words.iter().position(|(w, _)| *w == word)?;
            let (name, cell) = dialect.words[at];
            header.cells.push((name, cell));
            if cell == Cell::Device {
                header.device = Some(column);
            }
            if !cell.is_of_disk() {
                nth = None;
                continue;
            }
            // The same word again is the next device's.
            match header.disks.last_mut().filter(|_| nth == Some(counts[at])) {
                Some((_, end)) => *end = column + 1,
                None => header.disks.push((column, column + 1)),
            }
            nth = Some(counts[at]);
            counts[at] += 1;
        }
        if header.device.is_some() && !header.disks.is_empty() {
            // A line is one device's, whatever is between its columns.
            header.disks = vec![(0, fields.len())];
        }
        Some(header)
    }
}

/// The cells of a line, which may end in a comma.
fn cut<'a>(line: &'a str, raw: bool, splitter: &'a mut Splitter) -> Fields<'a> {
    if raw { splitter.at(line.trim_end_matches(','), b',') } else { splitter.blanks(line) }
}

struct Reader<'c> {
    dialect: Dialect<'c>,
    classes: Classes,
    times: Times,
    header: Option<Header<'c>>,
    /// Devices by their order in side-by-side output.
    names: Vec<String>,
    /// A line that may name the devices of the next header, with its number.
    above: Option<(u64, String)>,
    /// Whether the CPU has separate lines before those of the devices.
    mixed: bool,
    block: Option<Block>,
    rows: u32,
    errors: FxHashMap<String, f64>,
}

/// The block being read.
struct Block {
    t: Micros,
    dt: Option<f64>,
    /// Whether its header of devices was seen.
    devices: bool,
    /// The first device: when it comes again, a block begins.
    first: Option<String>,
}

/// Reads all of the input.
pub(crate) fn read(coded: &Coded, input: &mut Input<'_>, out: &mut Out<'_>) {
    let words = coded.words.iter().map(|word| (word.word.as_str(), Cell::of(word))).collect();
    let dialect = Dialect { coded, words };
    let mut splitter = Splitter::default();
    let mut kinds = (false, false);
    for line in input.head().lines().take(400) {
        match Header::read(line.trim(), &mut splitter, &dialect) {
            Some(header) if header.device.is_some() => kinds.0 = true,
            Some(_) => kinds.1 = true,
            None => {}
        }
    }
    let mut reader = Reader {
        dialect,
        classes: Classes::default(),
        times: Times::new(input, out, coded.tool()),
        header: None,
        names: Vec::new(),
        above: None,
        mixed: kinds.0 && kinds.1,
        block: None,
        rows: 0,
        errors: FxHashMap::default(),
    };
    input.each_line(|number, line| reader.line(number, line, &mut splitter, out));
    reader.drop_above(out);
    out.since_boot(false);
}

impl<'c> Reader<'c> {
    fn line(&mut self, number: u64, line: &str, splitter: &mut Splitter, out: &mut Out<'_>) {
        let stripped = self.times.strip(line, out).trim();
        if stripped.is_empty() {
            if !line.trim().is_empty() {
                // A separate time begins a block.
                self.block = None;
            }
            return;
        }
        if let Some(header) = Header::read(stripped, splitter, &self.dialect) {
            self.header(header, out);
        } else if self.is_values(stripped) {
            self.drop_above(out);
            self.values(number, stripped, splitter, out);
        } else if stripped.split_ascii_whitespace().all(|word| TITLE.contains(&word)) {
            self.drop_above(out);
        } else if self.times.knows(stripped) {
            self.block = None;
        } else {
            self.drop_above(out);
            self.above = Some((number, stripped.to_owned()));
        }
    }

    /// A line that was kept for the names in it, and no header came.
    fn drop_above(&mut self, out: &mut Out<'_>) {
        if let Some((number, line)) = self.above.take() {
            out.unknown(number, &line, "neither header nor values");
        }
    }

    /// Whether a line holds the values of the last header: all numbers but one, the name.
    fn is_values(&self, line: &str) -> bool {
        let Some(header) = &self.header else { return false };
        let numeric = |word: Option<&str>| word.is_some_and(|w| number(w.trim()).is_some() || w.trim() == "-");
        let mut words =
            line.split(|c: char| if header.raw { c == ',' } else { c.is_ascii_whitespace() }).filter(|w| !w.is_empty());
        match header.device {
            Some(0) => words.nth(1).is_some_and(|w| numeric(Some(w))),
            _ => numeric(words.next()),
        }
    }

    fn header(&mut self, header: Header<'c>, out: &mut Out<'_>) {
        let above = self.above.take();
        if header.device.is_some() {
            match &mut self.block {
                Some(block) if !block.devices => block.devices = true,
                _ => self.begin(true, out),
            }
        } else {
            // Only a header with the names above it is one of a tool that begins.
            let begins = above.is_some();
            if let Some((_, line)) = above.filter(|_| !header.disks.is_empty()) {
                let words = line.split(|c: char| c == ',' || c.is_ascii_whitespace());
                let names = words.filter(|w| !w.is_empty() && !GROUPS.contains(w));
                self.names = names.map(str::to_owned).collect();
            }
            if self.mixed {
                self.begin(false, out);
            } else if begins && (1..self.dialect.coded.header_every()).contains(&self.rows) {
                self.times.restart();
            }
            self.rows = 0;
        }
        self.header = Some(header);
    }

    fn begin(&mut self, devices: bool, out: &mut Out<'_>) {
        let (t, dt) = self.times.begin(out);
        self.block = Some(Block { t, dt, devices, first: None });
    }

    fn values(&mut self, line: u64, text: &str, splitter: &mut Splitter, out: &mut Out<'_>) {
        let Some(header) = self.header.take() else { return };
        let fields = cut(text, header.raw, splitter);
        match header.device {
            Some(at) => self.device_line(line, &header, &fields, at, out),
            None => {
                if !self.mixed || self.block.is_none() {
                    self.begin(false, out);
                }
                self.rows = self.rows.saturating_add(1);
                if fields.len() == header.cells.len() {
                    for (nth, _) in header.disks.iter().enumerate() {
                        let name = self.names.get(nth).cloned().unwrap_or_else(|| (nth + 1).to_string());
                        self.disk(line, &header, nth, &fields, &name, out);
                    }
                    self.rest(line, &header, &fields, out);
                } else {
                    out.wrong_count(line, fields.rest(0), fields.len(), header.cells.len());
                }
            }
        }
        self.header = Some(header);
    }

    /// The line of one device. The CPU and the terminals may follow on the first one.
    fn device_line(&mut self, line: u64, header: &Header<'_>, fields: &Fields<'_>, at: usize, out: &mut Out<'_>) {
        let of_device = |cell: Cell| cell.is_of_disk() || matches!(cell, Cell::Device | Cell::Other | Cell::Skip);
        let own = header.cells.iter().filter(|(_, cell)| of_device(*cell)).count();
        // The name may have a mount point in brackets behind it, when it is last.
        let whole = if at + 1 == header.cells.len() { fields.len() > at } else { fields.len() == header.cells.len() };
        if !whole && fields.len() != own {
            out.wrong_count(line, fields.rest(0), fields.len(), header.cells.len());
            return;
        }
        let name = fields.get(at).split('(').next().unwrap_or("").to_owned();
        let again = self.block.as_ref().is_none_or(|b| b.first.as_ref() == Some(&name));
        if again {
            self.begin(true, out);
        }
        if let Some(block) = &mut self.block {
            block.first.get_or_insert_with(|| name.clone());
        }
        for nth in 0..header.disks.len() {
            self.disk(line, header, nth, fields, &name, out);
        }
        self.metrics(header, fields, Cell::Other, &format!("device={name}"), out);
        if whole {
            self.rest(line, header, fields, out);
        }
    }

    /// Writes the columns of one device.
    fn disk(&mut self, line: u64, header: &Header<'_>, nth: usize, fields: &Fields<'_>, name: &str, out: &mut Out<'_>) {
        let (Some(block), Some((begin, end))) = (&self.block, header.disks.get(nth)) else { return };
        let (mut bad, mut waiting) = (None, None);
        let class = self.classes.of(name, self.dialect.coded);
        let columns = || header.cells.iter().enumerate().take(*end).skip(*begin);
        let moved =
            Moved::read(columns().map(|(column, (_, cell))| (*cell, number(fields.get(column)).unwrap_or(0.0))));
        let mut row = out.row(&disk::TABLE, block.t, block.dt).any();
        row.str(disk::device.index(), name).str(disk::class.index(), class);
        for (column, (_, cell)) in columns() {
            if !cell.is_of_disk() {
                continue;
            }
            let value = number(fields.get(column)).map(|value| value + 0.0);
            if value.is_none() && fields.get(column) != "-" {
                bad = Some(column);
            }
            match *cell {
                Cell::Disk(place, scale) if place == disk::await_ms.index() => {
                    let waiting = waiting.unwrap_or(Some(0.0));
                    let whole = value.zip(waiting).map(|(active, waiting)| active * scale + waiting);
                    row.f64(place, whole.filter(|v| *v != 0.0 || !moved.lacks(place)));
                }
                Cell::Disk(place, scale) => {
                    row.f64(place, value.map(|v| v * scale).filter(|v| *v != 0.0 || !moved.lacks(place)));
                }
                Cell::Count(place, scale) => {
                    let seconds = block.dt.filter(|dt| *dt > 0.0);
                    row.f64(place, seconds.and_then(|dt| value.map(|v| v * scale / dt)));
                }
                Cell::Waiting => {
                    waiting = Some(value);
                    let place = disk::wait_ms.index();
                    row.f64(place, value.filter(|v| *v != 0.0 || !moved.lacks(place)));
                }
                Cell::Errors => {
                    let before = self.errors.get(name).copied();
                    let since = if block.dt.is_some() { before } else { Some(0.0) };
                    row.f64(disk::errors.index(), value.zip(since).map(|(now, was)| now - was).filter(|n| *n >= 0.0));
                    if let Some(value) = value.filter(|_| before.is_some() || self.errors.len() < MAX_DEVICES) {
                        self.errors.insert(name.to_owned(), value);
                    }
                }
                _ => {}
            }
        }
        if let Some(column) = bad {
            out.no_number(line, fields.get(column), column);
        }
    }

    /// Writes what belongs to no device.
    fn rest(&self, line: u64, header: &Header<'_>, fields: &Fields<'_>, out: &mut Out<'_>) {
        let Some(block) = &self.block else { return };
        let (t, dt) = (block.t, block.dt);
        let tables: [(&'static Table, bool); 2] = [(&cpu::TABLE, true), (&sched::TABLE, false)];
        for (table, of_cpu) in tables {
            let place = |cell: Cell| match cell {
                Cell::Cpu(place) if of_cpu => Some(place),
                Cell::Sched(place) if !of_cpu => Some(place),
                _ => None,
            };
            if !header.cells.iter().any(|(_, cell)| place(*cell).is_some()) {
                continue;
            }
            let mut bad = None;
            let mut row = out.row(table, t, dt);
            for (column, (_, cell)) in header.cells.iter().enumerate() {
                if let Some(place) = place(*cell) {
                    let value = number(fields.get(column));
                    bad = bad.or(Some(column).filter(|_| value.is_none()));
                    row.f64(place, value);
                }
            }
            if let Some(column) = bad {
                out.no_number(line, fields.get(column), column);
            }
        }
        self.metrics(header, fields, Cell::Whole, "", out);
    }

    fn metrics(&self, header: &Header<'_>, fields: &Fields<'_>, kind: Cell, labels: &str, out: &mut Out<'_>) {
        let Some(block) = &self.block else { return };
        for (column, (word, cell)) in header.cells.iter().enumerate() {
            if *cell == kind {
                let name = format!("{}.{word}", self.dialect.coded.name);
                out.metric(block.t, block.dt, &name, labels, number(fields.get(column)), "");
            }
        }
    }
}

/// Transfers of a device: tools print 0 for the mean of nothing.
struct Moved {
    reads: f64,
    writes: f64,
    all: f64,
}

impl Moved {
    fn read(cells: impl Iterator<Item = (Cell, f64)>) -> Moved {
        let mut moved = Moved { reads: 0.0, writes: 0.0, all: 0.0 };
        for (cell, value) in cells {
            let (Cell::Disk(place, _) | Cell::Count(place, _)) = cell else { continue };
            let counts = [(disk::reads_per_s, &mut moved.reads), (disk::writes_per_s, &mut moved.writes)];
            let counts = counts.into_iter().chain([(disk::transfers_per_s, &mut moved.all)]);
            counts.filter(|(of, _)| of.index() == place).for_each(|(_, count)| *count = value);
        }
        moved
    }

    /// Whether nothing happened of which the column at `place` would be the mean.
    fn lacks(&self, place: usize) -> bool {
        let is = |column: Place<disk::Schema, F64>| column.index() == place;
        let of_all = is(disk::await_ms) || is(disk::wait_ms) || is(disk::transfer_size_bytes);
        is(disk::read_await_ms) && self.reads == 0.0
            || is(disk::write_await_ms) && self.writes == 0.0
            || of_all && self.reads + self.writes + self.all == 0.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::own::shipped;

    #[test]
    fn devices_are_told_from_their_parts() {
        let coded = shipped::coded("solaris-iostat");
        for (name, want) in [
            ("c0t0d0", Some("disk")),
            ("c2d0", Some("disk")),
            ("c0t600A0B8000499C84d0", Some("disk")),
            ("c0t0d0s7", Some("partition")),
            ("c1t1d0p0", Some("partition")),
            ("sd3", Some("disk")),
            ("ssd12", Some("disk")),
            ("sd3,c", Some("partition")),
            ("zones", None),
            ("c1", None),
            ("nfs1", None),
            ("host:/export/home", None),
            ("md/d10", None),
            ("", None),
        ] {
            assert_eq!(Classes::default().of(name, coded), want, "{name}");
        }
    }
}
