//! `sar` of sysstat, as text: every section of `sar -A`, from its versions 8 to 12.
//!
//! Read from a data file, each section runs over the whole time between two restarts before the next
//! one begins anew; live, each interval has all sections. A header carries the time of the interval's
//! begin, its lines carry the end. Header and line with the same time are the average since boot
//! (`sar 0`). Averages follow from the samples and are skipped.

use std::borrow::Cow;

use fenxi_model::{
    Micros,
    catalog::{cpu, disk, fs, irq, mem, net, pressure, sched, tcp, udp, vm},
};
use jiff::civil::{Date, Time};
use rustc_hash::FxHashMap;

use super::{
    moment::Events,
    plan::Plan,
    stamp::Stamp,
    write::{Cells, Value, When, Writer},
};
use crate::{Clock, Family, Fields, Format, Head, Input, Out, Splitter, Sure, Ticker, banner, civil_date, number};

/// Importer for sar of sysstat.
pub static FORMAT: Format = Format {
    name: "sar",
    summary: "sar of sysstat: all sections of -A, live or from data files",
    family: Family::Linux,
    tables: &[
        &cpu::TABLE,
        &sched::TABLE,
        &pressure::TABLE,
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
Linux 6.1.0 (db1) \t11/21/26 \t_x86_64_\t(8 CPU)

14:35:52        CPU     %user     %nice   %system   %iowait    %steal     %idle
14:35:53        all     12.03      0.00      3.10      0.25      0.00     84.62
",
    sniff,
    read,
};

fn sniff(head: &Head<'_>) -> Sure {
    let known = head.any(|line| {
        let Some(stamp) = Stamp::find(line) else { return false };
        let names: Vec<&str> = stamp.rest.split_ascii_whitespace().collect();
        // mpstat heads its columns much alike, in another order.
        let mpstat = names.windows(2).any(|w| w[1] == "%irq" && w[0] != "%steal") || names == ["CPU", "intr/s"];
        let solaris = ["%wio", "device", "%runocc"].iter().any(|w| names.contains(w));
        !names.is_empty()
            && is_header(names[0], names.get(1).unwrap_or(&""))
            && Plan::of_header(&names).is_known()
            && !mpstat
            && !solaris
    });
    let starts = |words: &str| head.any(|line| Stamp::find(line).is_some_and(|s| s.rest.starts_with(words)));
    let restart = starts("LINUX RESTART");
    match head.banner() {
        Some(banner) if banner.system == "Linux" => Sure::Certain.when(known || restart || starts("COM ")),
        _ => Sure::Likely.when(known || restart),
    }
}

/// Whether the first two words of a line are names, not a name and its figures.
pub(super) fn is_header(first: &str, second: &str) -> bool {
    let figure = |word: &str| matches!(word.as_bytes().first(), Some(b'0'..=b'9' | b'-' | b'.' | b','));
    !figure(first) && !figure(second)
}

/// Whether a date like `05/11/2026` must be of a locale with the day first. With the month first, years
/// have two digits (C) or times are in halves of a day (en_US), and figures have points.
fn is_day_first(head: &str) -> bool {
    let mut stamped = head.lines().filter_map(Stamp::find).skip(1).take(50);
    let halves = stamped.clone().any(|s| s.text.ends_with('M'));
    let commas = stamped.any(|s| s.rest.split_ascii_whitespace().any(|f| number(f).is_some() && f.contains(',')));
    let long = |word: &str| word.len() == 10 && word.contains('/') && civil_date(word).is_some();
    let long_year = head.lines().next().is_some_and(|l| l.split_ascii_whitespace().any(long));
    commas || long_year && !halves
}

/// State of the time in one kind of section since the last restart.
pub(super) struct Pace {
    pub(super) clock: Clock,
    ticker: Ticker,
    /// The last time of day as it was written, and what it means.
    last: Option<(Box<str>, Time, When)>,
    begin: Micros,
}

struct Reader {
    /// The clock at the last restart, or at the beginning.
    base: Clock,
    ticker: Ticker,
    /// By header line: the plan, and the kind of section.
    headers: FxHashMap<Box<str>, (usize, usize)>,
    plans: Vec<Plan>,
    kinds: FxHashMap<Box<str>, usize>,
    /// By kind of section; None until the kind comes after a restart.
    paces: Vec<Option<Pace>>,
    /// The plan and the kind of the last header.
    current: Option<(usize, usize)>,
    /// Whether dates between slashes have the day first.
    day_first: bool,
    /// Whether any interval has been seen; before, header and line of the same time are since boot.
    sampled: bool,
    events: Events,
    writer: Writer,
}

fn read(input: &mut Input<'_>, out: &mut Out<'_>) {
    let head = input.head();
    let ticker = Ticker::new(out.hints(), &head, |line| Stamp::find(line)?.seconds());
    let day_first = is_day_first(&head);
    drop(head);
    let mut reader = Reader {
        base: Clock::new(out.hints()),
        ticker,
        headers: FxHashMap::default(),
        plans: Vec::new(),
        kinds: FxHashMap::default(),
        paces: Vec::new(),
        current: None,
        day_first,
        sampled: false,
        events: Events::default(),
        writer: Writer::new(),
    };
    let mut splitter = Splitter::default();
    input.each_line(|number, line| reader.line(number, line, &mut splitter, out));
    reader.writer.flush(out);
}

impl Reader {
    fn line(&mut self, number: u64, line: &str, splitter: &mut Splitter, out: &mut Out<'_>) {
        let Some(stamp) = Stamp::find(line) else {
            self.untimed(number, line, out);
            return;
        };
        let fields = splitter.blanks(stamp.rest);
        if is_header(fields.get(0), fields.get(1)) {
            self.header(number, stamp, &fields, out);
        } else if stamp.rest.starts_with("COM ") {
            self.special(number, stamp, "comment", stamp.rest[4..].trim(), out);
        } else {
            self.values(number, stamp, &fields, out);
        }
    }

    /// A line without a time: blank, a banner, an average, or a message.
    #[cold]
    fn untimed(&mut self, number: u64, line: &str, out: &mut Out<'_>) {
        let mut words = line.split_ascii_whitespace();
        let Some(first) = words.next() else { return };
        if let Some(banner) = banner(line) {
            self.writer.flush(out);
            out.set_host(banner.host);
            self.base.set_date(self.date(banner.date, line, out));
            self.restart();
            self.sampled = false;
        } else if !(first.ends_with([':', '：']) || matches!(words.next(), Some(":" | "："))) {
            // `Average:`, in whatever language.
            out.unknown(number, line, "neither a time nor an average");
        }
    }

    /// The date of a banner, the other way around where the locale has it so.
    fn date(&self, date: Date, line: &str, out: &mut Out<'_>) -> Date {
        let swapped = Date::new(date.year(), date.day(), date.month());
        match swapped {
            Ok(swapped) if self.day_first && line.contains('/') && swapped != date => {
                out.assume(&format!("the date {swapped}, day first as where times and figures are written so"));
                swapped
            }
            _ => date,
        }
    }

    /// Forgets all sections: the lines that follow do not continue earlier ones.
    fn restart(&mut self) {
        self.current = None;
        self.paces.iter_mut().for_each(|pace| *pace = None);
    }

    fn header(&mut self, number: u64, stamp: Stamp<'_>, fields: &Fields<'_>, out: &mut Out<'_>) {
        if stamp.rest.starts_with("LINUX RESTART") {
            self.special(number, stamp, "restart", stamp.rest, out);
            return;
        }
        if stamp.rest.starts_with("COM ") {
            self.special(number, stamp, "comment", stamp.rest[4..].trim(), out);
            return;
        }
        let (plan, kind) = match self.headers.get(stamp.rest) {
            Some(known) => *known,
            None => self.plan(stamp.rest, fields),
        };
        let Some(time) = stamp.time() else {
            out.unknown(number, stamp.text, "no time of day");
            return;
        };
        let (base, ticker) = (&self.base, self.ticker);
        let pace = self.paces[kind].get_or_insert_with(|| Pace::new(base.clone(), ticker));
        pace.begin(time, out);
        self.current = Some((plan, kind));
    }

    #[cold]
    fn plan(&mut self, header: &str, fields: &Fields<'_>) -> (usize, usize) {
        let names: Vec<&str> = fields.iter().collect();
        // CPUs come and go in the columns of interrupts: the first two names show the kind.
        let kind: Box<str> = names.iter().take(2).copied().collect::<Vec<_>>().join(" ").into();
        let next = self.kinds.len();
        let kind = *self.kinds.entry(kind).or_insert(next);
        if kind == next {
            self.paces.push(None);
        }
        self.plans.push(Plan::of_header(&names));
        let found = (self.plans.len() - 1, kind);
        self.headers.insert(header.into(), found);
        found
    }

    fn values(&mut self, number: u64, stamp: Stamp<'_>, fields: &Fields<'_>, out: &mut Out<'_>) {
        let Some((plan, kind)) = self.current else {
            out.unknown(number, stamp.rest, "figures without a header above them");
            return;
        };
        let (Some(Some(pace)), Some(plan)) = (self.paces.get_mut(kind), self.plans.get(plan)) else { return };
        let Some(when) = pace.when(stamp, self.sampled, out) else {
            out.unknown(number, stamp.text, "no time of day");
            return;
        };
        self.sampled |= !when.boot;
        let fits = fields.len() == plan.columns || plan.tail && fields.len() + 1 >= plan.columns;
        if !fits && is_tickless(fields, plan) {
            self.writer.row(out, number, when, plan, &Tickless { cpu: fields.get(0), idle: plan.columns - 1 });
            return;
        }
        if !fits {
            out.wrong_count(number, stamp.rest, fields.len(), plan.columns);
            return;
        }
        let tail = if plan.tail { plan.columns - 1 } else { usize::MAX };
        self.writer.row(out, number, when, plan, &Line { fields: *fields, tail });
    }

    /// A restart of the system or a comment. Comments come again in each section.
    #[cold]
    fn special(&mut self, number: u64, stamp: Stamp<'_>, kind: &str, text: &str, out: &mut Out<'_>) {
        let Some(time) = stamp.time() else {
            out.unknown(number, stamp.text, "no time of day");
            return;
        };
        let pace = self.current.and_then(|(_, kind)| self.paces.get(kind)?.as_ref());
        let mut clock = pace.map_or(&self.base, |pace| &pace.clock).clone();
        let t = clock.at(time, out);
        if kind == "restart" {
            self.writer.flush(out);
            self.base = clock;
            self.restart();
            self.sampled = true;
        }
        self.events.add(t, kind, text, out);
    }
}

impl Pace {
    pub(super) fn new(clock: Clock, ticker: Ticker) -> Pace {
        Pace { clock, ticker, last: None, begin: Micros(0) }
    }

    /// A header: an interval begins at `time`.
    pub(super) fn begin(&mut self, time: Time, out: &mut Out<'_>) {
        self.last = None;
        self.begin = self.clock.at(time, out);
        self.ticker.tick(self.begin);
    }

    /// Moment that the time at the beginning of a line stands for.
    pub(super) fn when(&mut self, stamp: Stamp<'_>, sampled: bool, out: &mut Out<'_>) -> Option<When> {
        if let Some((text, _, when)) = &self.last
            && **text == *stamp.text
        {
            return Some(*when);
        }
        let time = stamp.time()?;
        if let Some((_, last, _)) = &self.last {
            // A section goes on in time; clocks are set back by less than two hours.
            let back = last.duration_since(time).as_secs();
            if (2 * 3600..=12 * 3600).contains(&back)
                && let Some(date) = self.clock.date().and_then(|date| date.tomorrow().ok())
            {
                self.clock.set_date(date);
            }
        }
        let t = self.clock.at(time, out);
        let boot = t == self.begin && !sampled;
        let dt = if boot { None } else { self.ticker.tick(t) };
        let when = When { t, dt, boot };
        self.last = Some((stamp.text.into(), time, when));
        Some(when)
    }
}

/// Whether it is the line of a CPU that was idle throughout, under `-u ALL`: from version 10 to 12.5
/// such lines lack a column.
fn is_tickless(fields: &Fields<'_>, plan: &Plan) -> bool {
    let idle = fields.len().saturating_sub(1);
    let zeros = fields.iter().take(idle).skip(1).all(|f| matches!(f, "0.00" | "0,00" | "0.0%"));
    let of_cpu = plan.parts.first().is_some_and(|part| part.table.id == cpu::TABLE.id);
    of_cpu && zeros && fields.len() > 5 && fields.len() + 1 == plan.columns && fields.get(idle).starts_with("100")
}

/// The cells of a CPU that was idle throughout.
struct Tickless<'a> {
    cpu: &'a str,
    idle: usize,
}

impl Cells for Tickless<'_> {
    fn text(&self, _: usize) -> Cow<'_, str> {
        Cow::Borrowed(self.cpu)
    }

    fn value(&self, column: usize) -> Value {
        Value::Number(if column == self.idle { 100.0 } else { 0.0 })
    }
}

/// The cells of a line of text. The last one may hold blanks.
pub(super) struct Line<'a> {
    pub(super) fields: Fields<'a>,
    pub(super) tail: usize,
}

impl Cells for Line<'_> {
    fn text(&self, column: usize) -> Cow<'_, str> {
        if column != self.tail {
            return Cow::Borrowed(self.fields.get(column));
        }
        let rest = self.fields.rest(column);
        if rest.contains("  ") {
            return Cow::Owned(rest.split_ascii_whitespace().collect::<Vec<_>>().join(" "));
        }
        Cow::Borrowed(rest)
    }

    fn value(&self, column: usize) -> Value {
        Value::read(self.fields.get(column))
    }
}

#[cfg(test)]
mod tests {
    use std::fmt::Write;

    use proptest::{collection::vec, prelude::*};

    use super::*;
    use crate::{
        fixtures,
        sar::{sadf_d, sadf_j, sadf_p, sadf_x},
    };

    /// Hundredths, as `%.2f` prints them.
    fn hundredths(n: u32) -> String {
        format!("{}.{:02}", n / 100, n % 100)
    }

    /// The tables of a read text: the rows of one, each a list of cells.
    fn table(text: &str, name: &str) -> Vec<Vec<String>> {
        let lines = text.lines().skip_while(|l| *l != format!("# {name}")).skip(1);
        lines.take_while(|l| !l.starts_with('#')).map(|l| l.split('\t').map(str::to_owned).collect()).collect()
    }

    fn value(table: &[Vec<String>], row: usize, column: &str) -> f64 {
        let place = table[0].iter().position(|c| c == column).unwrap_or_else(|| panic!("{column} in {:?}", table[0]));
        table[row + 1][place].parse().unwrap()
    }

    fn near(a: f64, b: f64) -> bool {
        (a - b).abs() <= 1e-9 * b.abs().max(1.0)
    }

    /// The same interval of the same data file gives the same rows, whatever printed it.
    #[test]
    fn all_reports_of_a_data_file_give_the_same_rows() {
        let folder = "fixtures";
        let rows = |format: &'static Format| {
            let bytes = fs_err::read(format!("{folder}/{}/interval.txt", format.name)).unwrap();
            let read = fixtures::read(format, &bytes);
            assert_eq!(read.tally.notes, 0, "{}", read.text);
            let mut lines: Vec<String> = read.text.lines().map(str::to_owned).collect();
            lines.sort();
            lines
        };
        let text = rows(&FORMAT);
        assert!(text.len() > 200);
        for format in [&sadf_d::FORMAT, &sadf_p::FORMAT, &sadf_j::FORMAT, &sadf_x::FORMAT] {
            assert_eq!(text, rows(format), "{}", format.name);
        }
    }

    /// Figures of an interface, of which `%ifutil` is a share.
    fn with_share(mut figures: Vec<u32>) -> Vec<u32> {
        figures[7] %= 10_001;
        figures
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        /// `sar -u -n DEV,EDEV` of any figures, from a file or live, gives these figures: one row for
        /// each interval and interface.
        #[test]
        fn what_is_printed_is_read_back(
            samples in vec((vec(0u32..=10_000, 6), vec(any::<u32>(), 17).prop_map(with_share)), 1..8),
            step in 1i64..3000,
            begin in 0i64..86_400,
            live in any::<bool>(),
        ) {
            let stamp = |i: usize| {
                let s = (begin + step * i as i64) % 86_400;
                format!("{:02}:{:02}:{:02}", s / 3600, s / 60 % 60, s % 60)
            };
            let heads = [
                "CPU     %user     %nice   %system   %iowait    %steal     %idle",
                "IFACE   rxpck/s   txpck/s    rxkB/s    txkB/s   rxcmp/s   txcmp/s  rxmcst/s   %ifutil",
                "IFACE   rxerr/s   txerr/s    coll/s  rxdrop/s  txdrop/s  txcarr/s  rxfram/s  rxfifo/s  txfifo/s",
            ];
            let mut text = "Linux 6.1.0 (db1) \t11/21/26 \t_x86_64_\t(8 CPU)\n".to_owned();
            let mut section = |i: usize, which: usize, head: bool| {
                if head {
                    let _ = write!(text, "\n{:<11}   {}\n", stamp(i), heads[which]);
                }
                let (shares, rates) = &samples[i];
                let (name, figures) = match which {
                    0 => ("all", &shares[..]),
                    1 => ("eth0", &rates[..8]),
                    _ => ("eth0", &rates[8..]),
                };
                let _ = write!(text, "{:<11} {name:>9}", stamp(i + 1));
                figures.iter().for_each(|n| { let _ = write!(text, " {:>9}", hundredths(*n)); });
                text.push('\n');
            };
            let n = samples.len();
            if live {
                (0..n).for_each(|i| (0..3).for_each(|which| section(i, which, true)));
            } else {
                (0..3).for_each(|which| (0..n).for_each(|i| section(i, which, i == 0)));
            }
            let read = fixtures::read(&FORMAT, text.as_bytes());
            prop_assert_eq!(read.tally.notes, 0, "{}", read.text);
            let (cpu, net) = (table(&read.text, "cpu"), table(&read.text, "net"));
            prop_assert_eq!((cpu.len(), net.len()), (n + 1, n + 1));
            for (i, (shares, rates)) in samples.iter().enumerate() {
                let share = |column: &str, at: usize| near(value(&cpu, i, column), f64::from(shares[at]) / 100.0);
                prop_assert!(share("usr", 0) && share("sys", 2) && share("idle", 5));
                prop_assert_eq!(value(&cpu, i, "dt"), step as f64);
                let rate = |column: &str, at: usize, k: f64| near(value(&net, i, column), f64::from(rates[at]) / 100.0 * k);
                prop_assert!(rate("rx_packets_per_s", 0, 1.0) && rate("tx_bytes_per_s", 3, 1024.0) && rate("util", 7, 1.0));
                prop_assert!(rate("rx_errors_per_s", 8, 1.0) && rate("rx_drops_per_s", 11, 1.0) && rate("tx_fifo_per_s", 16, 1.0));
            }
        }
    }
}
