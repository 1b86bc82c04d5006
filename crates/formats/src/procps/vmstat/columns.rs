//! The columns of vmstat's lines of figures.

use fenxi_model::catalog::{cpu, mem, sched, vm};

use crate::{Field, Layout, col, number};

/// No version has more columns.
pub const MOST: usize = 32;
/// No version has fewer.
pub const MIN_COLUMNS: usize = 13;

const KIB: f64 = 1024.0;

/// All columns of all versions; sizes in memory and swap are in `unit`.
fn known(unit: f64) -> [Field; 22] {
    [
        col("r", &sched::TABLE, sched::runnable),
        col("b", &sched::TABLE, sched::blocked),
        // Up to procps 2: runnable but swapped out.
        col("w", &sched::TABLE, sched::swapped),
        col("swpd", &mem::TABLE, mem::swap_used_bytes).times(unit),
        col("free", &mem::TABLE, mem::free_bytes).times(unit),
        col("buff", &mem::TABLE, mem::buffers_bytes).times(unit),
        col("cache", &mem::TABLE, mem::cached_bytes).times(unit),
        col("inact", &mem::TABLE, mem::inactive_bytes).times(unit),
        col("active", &mem::TABLE, mem::active_bytes).times(unit),
        col("si", &vm::TABLE, vm::swap_in_bytes_per_s).times(unit),
        col("so", &vm::TABLE, vm::swap_out_bytes_per_s).times(unit),
        col("bi", &vm::TABLE, vm::page_in_bytes_per_s).times(KIB),
        col("bo", &vm::TABLE, vm::page_out_bytes_per_s).times(KIB),
        col("in", &sched::TABLE, sched::intr_per_s),
        col("cs", &sched::TABLE, sched::context_switches_per_s),
        col("us", &cpu::TABLE, cpu::usr),
        col("sy", &cpu::TABLE, cpu::sys),
        col("id", &cpu::TABLE, cpu::idle),
        col("wa", &cpu::TABLE, cpu::iowait),
        col("st", &cpu::TABLE, cpu::steal),
        col("gu", &cpu::TABLE, cpu::guest),
        Field::skip("timestamp"),
    ]
}

/// The columns in the order that they have had since procps 3; later ones are added at the end.
const ORDER: [&str; 18] =
    ["r", "b", "swpd", "free", "buff", "cache", "si", "so", "bi", "bo", "in", "cs", "us", "sy", "id", "wa", "st", "gu"];

/// How translations call inactive memory, which distinguishes `-a` from the usual columns.
const INACTIVE: &[&str] = &["inact", "inakt", "nieakt", "inativ", "비활", "不活动"];

/// Returns true if `line` names the columns, in English or a translation that keeps these names.
pub fn is_header(line: &str) -> bool {
    let mut words = line.split_ascii_whitespace().skip_while(|w| *w != "r");
    let mut next = || words.next().unwrap_or("");
    // Not collectl's imitation, which has both kinds of memory columns.
    (next(), next()) == ("r", "b")
        && match next() {
            "swpd" => true,
            "w" => next() == "swpd",
            _ => false,
        }
        && !line.contains("cache  inact")
}

/// Returns true if `line` is the line of groups above the names: `procs ---memory--- ---swap-- ...`.
pub fn is_groups(line: &str) -> bool {
    let dashed =
        line.split_ascii_whitespace().filter(|w| w.starts_with('-') && w.ends_with('-') && w.len() > 4).count();
    dashed >= 4 && !line.contains('|') && !line.starts_with("disk")
        // procps 2 had blanks only.
        || line.split_ascii_whitespace().eq(["procs", "memory", "swap", "io", "system", "cpu"])
}

/// Returns true if three lines are a header of some translation and figures below it.
pub fn is_translated(groups: &str, names: &str, line: &str) -> bool {
    let mut values = [0.0; MOST];
    let n = figures(line, &mut values).0;
    let n_names = names.split_ascii_whitespace().count();
    is_groups(groups)
        && (16..=18).contains(&n)
        && (n_names == n || n_names == n + 1)
        && !names.bytes().any(|b| b.is_ascii_digit())
}

/// The zone's abbreviation at the end of a header of `-t`.
pub fn zone_of(line: &str) -> Option<&str> {
    let last = line.split_ascii_whitespace().next_back()?;
    let zone = last.bytes().all(|b| b.is_ascii_uppercase()) || last.starts_with(['+', '-']);
    zone.then_some(last)
}

/// Reads whole numbers from the beginning of `line`; gives how many, and what follows them.
#[inline]
pub fn figures<'a>(line: &'a str, values: &mut [f64; MOST]) -> (usize, &'a str) {
    let bytes = line.as_bytes();
    let (mut at, mut n) = (0, 0);
    loop {
        while at < bytes.len() && (bytes[at] == b' ' || bytes[at] == b'\t') {
            at += 1;
        }
        if at == bytes.len() || n == MOST {
            return (n, line.get(at..).unwrap_or(""));
        }
        let begin = at;
        let mut value = 0u64;
        while at < bytes.len() && bytes[at].is_ascii_digit() {
            value = value.wrapping_mul(10).wrapping_add(u64::from(bytes[at] - b'0'));
            at += 1;
        }
        let ends = at == bytes.len() || bytes[at] == b' ' || bytes[at] == b'\t';
        // A number this long may have wrapped round.
        if !ends || at - begin > 18 {
            match long_or_signed(line, begin) {
                Some((value, end)) => (values[n], at) = (value, end),
                None => return (n, line.get(begin..).unwrap_or("").trim_end()),
            }
        } else {
            values[n] = value as f64;
        }
        n += 1;
    }
}

#[cold]
fn long_or_signed(line: &str, begin: usize) -> Option<(f64, usize)> {
    let word = line.get(begin..)?.split_ascii_whitespace().next()?;
    // A date has dashes within.
    if word.get(1..)?.contains('-') {
        return None;
    }
    Some((number(word)?, begin + word.len()))
}

/// Where the columns of a header go.
pub struct Columns {
    pub layout: Layout,
    memory: std::ops::Range<usize>,
    /// `us` and `gu`.
    guest: Option<(usize, usize)>,
}

impl Columns {
    /// Lays out the header line `header`, of which the first `n` words are columns of figures. None when
    /// it has fewer.
    pub fn new(header: &str, n: usize, unit: f64) -> Option<Columns> {
        let mut names: Vec<&str> = header.split_ascii_whitespace().collect();
        if names.len() < n || names.len() > n + 1 {
            return None;
        }
        names.truncate(n);
        let known = known(unit);
        let english = Layout::new("vmstat", names.iter().copied(), &known);
        if english.known() < n && (16..=ORDER.len()).contains(&n) {
            // A translation: the order is the same everywhere.
            let inactive = names.get(4).is_some_and(|name| INACTIVE.contains(name));
            names = ORDER[..n].to_vec();
            if inactive {
                (names[4], names[5]) = ("inact", "active");
            }
        }
        let place = |name: &str| names.iter().position(|n| *n == name);
        let free = place("free").unwrap_or(0);
        Some(Columns {
            layout: Layout::new("vmstat", names.iter().copied(), &known),
            memory: free..(free + 3).min(n),
            guest: place("us").zip(place("gu")),
        })
    }

    /// Length.
    pub fn len(&self) -> usize {
        self.layout.len()
    }

    /// Returns true if memory, taken as KiB, would be less than 128 MiB: more likely it is in MiB.
    pub fn small(&self, values: &[f64]) -> bool {
        values.get(self.memory.clone()).is_some_and(|m| m.iter().sum::<f64>() < 131_072.0)
    }

    /// Takes out guest time that cannot be. procps 4 prints the guests' time since boot as that of
    /// the interval, and takes it off `us`.
    pub fn mend_guest(&self, values: &mut [f64]) -> bool {
        let Some((us, gu)) = self.guest.filter(|(_, gu)| values.get(*gu).is_some_and(|v| *v > 100.0)) else {
            return false;
        };
        for column in [us, gu] {
            if let Some(value) = values.get_mut(column) {
                *value = f64::NAN;
            }
        }
        true
    }
}
