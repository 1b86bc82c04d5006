//! fio's logs: `--write_bw_log`, `--write_iops_log`, `--write_lat_log`.
//!
//! A line is `milliseconds, value, direction, block size`, then offset or priority. The content does
//! not show what the value is; the file's name does. With `--log_avg_msec` a line is the mean of
//! an interval and its block size 0, otherwise there is a line for each operation.

use fenxi_model::{
    Micros, Table,
    catalog::{histogram, load},
};

use super::seconds::{Event, Kinds, Seconds};
use crate::{Family, Fields, Format, Head, Input, Out, Relative, Splitter, Sure};

static TABLES: &[&Table] = &[&load::TABLE, &histogram::TABLE];

/// Importer for fio bandwidth, IOPS and latency logs (*_bw.log, *_iops.log, *_lat.log, *_clat.log, *_slat.log).
pub static FORMAT: Format = Format {
    name: "fio-log",
    summary: "fio: bandwidth, IOPS and latency logs (*_bw.log, *_iops.log, *_lat.log, *_clat.log, *_slat.log)",
    family: Family::Load,
    tables: TABLES,
    example: "500, 1002112, 0, 0, 0\n1002, 1126067, 0, 0, 0\n1504, 1144079, 1, 0, 0\n",
    sniff,
    read,
};

fn sniff(head: &Head<'_>) -> Sure {
    let complete = head.text.rfind('\n').map_or(head.text, |end| &head.text[..end]);
    let mut splitter = Splitter::default();
    let mut lines = complete.lines().filter(|l| !l.trim().is_empty()).take(50).peekable();
    let spaced = lines.peek().is_some_and(|line| line.contains(", "));
    if !spaced {
        return Sure::No;
    }
    let (mut n, mut back, mut fields, mut first, mut last) = (0, 0, 0, 0, 0);
    let (mut means, mut value) = (0, 0);
    for text in lines {
        let cells = splitter.at(text, b',');
        let Some(line) = Line::read(&cells) else { return Sure::No };
        if line.block % SECTOR != 0 {
            return Sure::No;
        }
        fields = cells.len();
        first = if n == 0 { line.ms } else { first };
        // Each job's lines may follow the others'.
        back += usize::from(line.ms < last);
        (n, last, value) = (n + 1, line.ms, value.max(line.value));
        means += usize::from(line.block == 0);
    }
    // Other numbers are in fours, too; zeros in the last two places say nothing.
    let apart = n > 2 && u64::try_from(n - 1).is_ok_and(|n| last >= first + n * SHORTEST_MEAN);
    let is_of_means = means == n && last >= SHORTEST_MEAN && (fields > 4 || apart);
    Sure::Likely.when(back * 10 <= n && value > 0 && (is_of_means || means == 0) && (n == 1 || last > first))
}

/// Blocks are of whole sectors.
const SECTOR: u64 = 512;
/// Milliseconds of which a line is at least, where lines are means.
const SHORTEST_MEAN: u64 = 100;

struct Line {
    ms: u64,
    value: u64,
    direction: usize,
    block: u64,
}

impl Line {
    fn read(fields: &Fields<'_>) -> Option<Line> {
        if !(4..=7).contains(&fields.len())
            || !fields.iter().skip(4).all(|f| f.bytes().all(|b| b.is_ascii_hexdigit() || b == b'x'))
        {
            return None;
        }
        let direction: usize = fields.get(2).parse().ok().filter(|d| *d < DIRECTIONS.len())?;
        let whole = |i: usize| fields.get(i).parse::<u64>().ok();
        Some(Line { ms: whole(0)?, value: whole(1)?, direction, block: whole(3)? })
    }
}

const DIRECTIONS: [&str; 4] = ["read", "write", "trim", "sync"];

/// Of what the values are.
#[derive(Clone, Copy, PartialEq)]
enum Kind {
    /// Kibibytes per second.
    Bandwidth,
    /// Operations per second.
    Iops,
    /// Nanoseconds from submission to completion, or a part of that.
    Latency(&'static str),
    Unknown,
}

fn kind(file: &str) -> Kind {
    let name = file.rsplit('/').next().unwrap_or(file);
    let has = |word: &str| name.contains(&format!("_{word}.")) || name.starts_with(&format!("{word}."));
    match () {
        () if has("bw") => Kind::Bandwidth,
        () if has("iops") => Kind::Iops,
        () if has("lat") => Kind::Latency("fio"),
        () if has("clat") => Kind::Latency("fio completion"),
        () if has("slat") => Kind::Latency("fio submission"),
        () => Kind::Unknown,
    }
}

struct Reader {
    kind: Kind,
    relative: Option<Relative>,
    /// Where the last mean of each direction ended.
    last: [Option<Micros>; 4],
    seconds: Option<Seconds>,
    /// The second that is being counted, and operations and bytes of each direction in it.
    second: i64,
    counts: [(f64, f64); 4],
}

fn read(input: &mut Input<'_>, out: &mut Out<'_>) {
    let kind = kind(&out.hints().file);
    if matches!(kind, Kind::Latency(_)) {
        out.assume("latencies in nanoseconds, as fio 3 logs them (fio 2 logged microseconds)");
    }
    let mut reader =
        Reader { kind, relative: None, last: [None; 4], seconds: None, second: i64::MIN, counts: [(0.0, 0.0); 4] };
    let mut splitter = Splitter::default();
    while input.line().is_some() {
        let (number, text) = (input.number(), input.text());
        let fields = splitter.at(text, b',');
        if text.trim().is_empty() {
            continue;
        }
        match Line::read(&fields) {
            Some(line) => reader.line(&line, out),
            None => out.unknown(number, text, "expected `milliseconds, value, direction, block size`"),
        }
    }
    reader.count_second(out);
    if let Some(seconds) = reader.seconds.take() {
        seconds.finish_without_results(out);
    }
}

impl Reader {
    fn line(&mut self, line: &Line, out: &mut Out<'_>) {
        let t = if line.ms > 100_000_000_000 {
            Micros(i64::try_from(line.ms.saturating_mul(1000)).unwrap_or(i64::MAX))
        } else {
            let relative = self.relative.get_or_insert_with(|| Relative::new(out, Some(1.0)));
            relative.after(line.ms as f64 / 1e3)
        };
        let operation = DIRECTIONS[line.direction];
        if line.block == 0 || self.kind == Kind::Unknown {
            self.mean(t, line, operation, out);
        } else if let Kind::Latency(generator) = self.kind {
            let kinds = Kinds { errors: false, retries: false };
            let seconds = self.seconds.get_or_insert_with(|| Seconds::new(generator, 1e-6, kinds));
            let operation = seconds.operation(operation);
            let event = Event { bytes: Some(line.block as f64), ..Event::done(t, line.value) };
            seconds.add(out, operation, &event);
        } else {
            let second = t.0.div_euclid(1_000_000);
            if second != self.second {
                self.count_second(out);
                self.second = second;
            }
            let count = &mut self.counts[line.direction];
            *count = (count.0 + 1.0, count.1 + line.block as f64);
        }
    }

    /// A line that is the mean of an interval.
    fn mean(&mut self, t: Micros, line: &Line, operation: &str, out: &mut Out<'_>) {
        let begin = self.last[line.direction].or_else(|| self.relative.map(|r| r.after(0.0)));
        self.last[line.direction] = Some(t);
        let dt = begin.map(|begin| t.seconds_since(begin)).filter(|dt| *dt > 0.0);
        let value = line.value as f64;
        let (column, value, generator) = match self.kind {
            Kind::Bandwidth => (load::transfer_bytes_per_s, value * 1024.0, "fio"),
            Kind::Iops => (load::transactions_per_s, value, "fio"),
            Kind::Latency(generator) => (load::latency_mean_ms, value / 1e6, generator),
            Kind::Unknown => {
                out.metric(t, dt, "fio_log.value", &format!("direction={operation}"), value, "");
                return;
            }
        };
        let mut row = out.row(&load::TABLE, t, dt);
        row.str(load::generator, generator).str(load::operation, operation).f64(column, value);
    }

    /// Writes the second that lines for each operation were counted in.
    fn count_second(&mut self, out: &mut Out<'_>) {
        let counts = std::mem::take(&mut self.counts);
        let t = Micros(self.second.saturating_add(1).saturating_mul(1_000_000));
        for (operation, (count, bytes)) in DIRECTIONS.iter().zip(counts).filter(|(_, (count, _))| *count > 0.0) {
            let mut row = out.row(&load::TABLE, t, 1.0);
            row.str(load::generator, "fio").str(load::operation, *operation);
            match self.kind {
                Kind::Iops => row.f64(load::transactions_per_s, count),
                _ => row.f64(load::transfer_bytes_per_s, bytes),
            };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        Hints,
        fixtures::read_with,
        load::tests::{column, result},
    };

    fn named(file: &str, text: &str) -> String {
        let modified = Micros::parse("2026-01-02T03:04:05");
        read_with(&FORMAT, text.as_bytes(), Hints { modified, ..Hints::none(file) }).text
    }

    #[test]
    fn the_files_name_tells_what_the_values_are() {
        let means = "500, 1000, 0, 0, 0\n1000, 3000, 0, 0, 0\n1000, 7, 1, 0, 0\n";
        let bandwidth = named("dir/job_bw.1.log", means);
        assert_eq!(column(&bandwidth, "load", "transfer_bytes_per_s"), [1_024_000.0, 3_072_000.0, 7168.0].map(Some));
        assert_eq!(column(&bandwidth, "load", "dt"), [0.5, 0.5, 1.0].map(Some));
        let iops = named("job_iops.1.log", means);
        assert_eq!(column(&iops, "load", "transactions_per_s"), [1000.0, 3000.0, 7.0].map(Some));
        assert_eq!(column(&named("job_clat.1.log", means), "load", "latency_mean_ms")[1], Some(0.003));
        assert_eq!(column(&named("x", means), "metric", "value").len(), 3);
    }

    #[test]
    fn four_numbers_in_a_line_are_no_log() {
        let sure = |text| sniff(&Head { text });
        for text in [
            "100, 200, 0, 1\n110, 210, 0, 1\n120, 190, 1, 1\n",
            "12, 40, 1, 64\n15, 42, 0, 64\n",
            "1, 5, 0, 0\n2, 8, 1, 0\n3, 9, 0, 0\n",
            "0, 0, 0, 0, 0\n0, 0, 1, 0, 0\n",
            "900, 5, 0, 512\n100, 8, 1, 512\n",
        ] {
            assert_eq!(sure(text), Sure::No, "{text}");
        }
        assert_eq!(sure("3, 3815655, 0, 4096\n4, 221299, 0, 4096\n"), Sure::Likely);
        assert_eq!(sure(FORMAT.example), Sure::Likely);
    }

    #[test]
    fn operations_are_counted_by_the_second() {
        let each =
            "100, 50000, 0, 4096, 0\n200, 70000, 0, 4096, 0\n300, 1000000, 1, 8192, 0\n1100, 60000, 0, 4096, 0\n";
        let latency = named("a_lat.1.log", each);
        assert_eq!(column(&latency, "load", "transactions_per_s"), [3.0, 2.0, 1.0, 1.0, 1.0].map(Some));
        assert_eq!(column(&latency, "load", "latency_max_ms")[0], Some(1.0));
        assert_eq!(result(&latency, "latency_mean"), None);
        assert_eq!(
            column(&named("a_bw.log", each), "load", "transfer_bytes_per_s"),
            [8192.0, 8192.0, 4096.0].map(Some)
        );
    }
}
