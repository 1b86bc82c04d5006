//! Unwinding of user stacks without frame pointers: what `bpf/unwind.h` follows is made here.
//!
//! A process that a program meets is read: which code it has mapped, and of each file a table of rules. When it maps more, the
//! program asks again. Tables are shared by all processes that have the file.

mod python;
mod rules;
mod tables;

use std::time::Duration;

use fenxi_model::{Rows, catalog::metric};
use fenxi_procfs::{
    Processes, Root,
    reading::{LIMIT, text},
};
use fenxi_source::Tick;
use libbpf_rs::{MapCore, MapFlags, MapHandle};
use rustc_hash::{FxHashMap, FxHashSet};

pub(crate) use self::tables::Bounds;
use self::{
    python::Python,
    tables::{FileId, NO_TABLE, Tables},
};
use crate::{EbpfError, Loader, budget::Budget, kernel::now_ns, observing::Observing, sums, symbols::readable};

/// How walks end, in the order of `enum end`: a word, and what it means.
const ENDS: [(&str, &str); 7] = [
    ("whole", "reached the outermost function"),
    ("deep", "are longer than 127 frames"),
    ("unmapped", "reach code that was mapped a moment before"),
    ("no-table", "reach code with neither unwind tables nor frame pointers"),
    ("expression", "reach code whose unwind rules are expressions"),
    ("broken", "could not be followed in memory"),
    ("frame-pointers", "are of programs not known yet, or of 32 bits, and followed by frame pointers"),
];

/// A process is asked to be read again at most so often when that showed nothing new: twice as long each time.
const SHORTEST: Duration = Duration::from_millis(50);
const LONGEST: Duration = Duration::from_secs(10);
/// Turns from one look at which processes have ended to the next.
const EVERY: u64 = 10;
/// Code mappings of a process; of more, those with the highest addresses are left out. The search has as many steps.
const MOST_MAPPINGS: usize = 4095;

/// Sets, before the programs are loaded, whether they follow tables.
pub(crate) fn set(loader: &mut Loader, with_tables: bool) -> Result<(), EbpfError> {
    loader.set("with_tables", u32::from(with_tables))?;
    if !with_tables {
        for map in ["tables", "mappings", "layouts"] {
            loader.room(map, 1)?;
        }
    }
    Ok(())
}

/// Begins an observer with tables where the kernel takes the programs so, else without; gives then why, too.
///
/// # Errors
/// When it takes them in neither way.
pub(crate) fn begin(
    begin: impl FnMut(bool) -> Result<Observing, EbpfError>,
) -> Result<(Observing, Option<Unwinder>, Option<String>), EbpfError> {
    begin_within(Bounds::WIDE, begin)
}

/// As [`begin`], with tables within bounds.
pub(crate) fn begin_within(
    bounds: Bounds,
    mut begin: impl FnMut(bool) -> Result<Observing, EbpfError>,
) -> Result<(Observing, Option<Unwinder>, Option<String>), EbpfError> {
    if !cfg!(target_arch = "x86_64") {
        let why = "stacks are followed by frame pointers only: unwind tables are those of x86-64";
        return Ok((begin(false)?, None, Some(why.to_owned())));
    }
    match begin(true) {
        Ok(observing) => {
            let unwinder = Unwinder::new(&observing, bounds)?;
            Ok((observing, Some(unwinder), None))
        }
        // A refusal without tables as well is not for their sake.
        Err(with) => {
            let observing = begin(false)?;
            Ok((observing, None, Some(format!("stacks are followed by frame pointers only: {with}"))))
        }
    }
}

/// Fills the maps of the programs.
#[derive(Debug)]
pub struct Unwinder {
    layouts: MapHandle,
    mappings: MapHandle,
    /// None: the programs know nothing of Python.
    pythons: Option<MapHandle>,
    ends: MapHandle,
    tables: Tables,
    processes: FxHashMap<u32, Known>,
    next: u32,
    turn: u64,
    /// How walks had ended when it was last reported.
    ended: Vec<u64>,
    reported: FxHashSet<&'static str>,
    /// Programs that had no room.
    left_out: u64,
}

/// `struct mapping`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Mapping {
    begin: u64,
    end: u64,
    base: u64,
    table: u32,
    chunks: u32,
}

/// Code that a process has mapped.
#[derive(Debug, Default)]
struct Mapped {
    code: Vec<Mapping>,
    /// Where the code is from.
    files: Vec<FileId>,
    /// The interpreter that it has, at its addresses there.
    python: Option<Python>,
}

/// A known process.
#[derive(Debug)]
struct Known {
    layout: u32,
    image: Image,
    mapped: Mapped,
    quiet: Duration,
}

/// Addresses that are another program's with another image.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Image {
    start_code: u64,
    start_stack: u64,
}

impl Unwinder {
    /// Of an observer whose programs include `bpf/unwind.h`. Processes that are tracked already are read now.
    ///
    /// # Errors
    /// When a map is missing.
    fn new(observing: &Observing, bounds: Bounds) -> Result<Unwinder, EbpfError> {
        let mut unwinder = Unwinder {
            layouts: observing.map("layouts")?,
            mappings: observing.map("mappings")?,
            pythons: observing.map("pythons").ok(),
            ends: observing.map("ends")?,
            tables: Tables::new(observing.map("tables")?, bounds),
            processes: FxHashMap::default(),
            next: 1,
            turn: 0,
            ended: Vec::new(),
            reported: FxHashSet::default(),
            left_out: 0,
        };
        let tracked = observing.map("tracked")?;
        for pid in tracked.keys().filter_map(|key| Some(u32::from_ne_bytes(key.try_into().ok()?))) {
            unwinder.meet(pid);
        }
        Ok(unwinder)
    }

    /// Reads what a process has mapped now; false: there is no time for it.
    pub(crate) fn meet(&mut self, pid: u32) -> bool {
        // Files that are read are part of it.
        let mut budget = std::mem::replace(&mut self.tables.bounds.budget, Budget::UNLIMITED);
        let is_read = budget.spend(|| self.read_anew(pid)).is_some();
        self.tables.bounds.budget = budget;
        is_read
    }

    fn read_anew(&mut self, pid: u32) {
        // Read before and after: an image that has changed meanwhile is met again.
        let Some(image) = image(pid) else { return };
        let mapped = self.read(pid);
        if mapped.code.is_empty() || self::image(pid) != Some(image) {
            return;
        }
        if let Some(known) = self.processes.get_mut(&pid)
            && known.image == image
            && known.mapped.code == mapped.code
        {
            known.quiet = (known.quiet * 2).min(LONGEST);
            let value = known.value();
            let _ = self.layouts.update(&pid.to_ne_bytes(), &value, MapFlags::ANY);
            return;
        }
        let known = Known { layout: self.next, image, mapped, quiet: SHORTEST };
        self.next = self.next.wrapping_add(1);
        let is_put = self.put(pid, &known);
        if !is_put {
            self.left_out += 1;
            let _ = self.layouts.delete(&pid.to_ne_bytes());
            self.forget(&known);
        }
        let before = if is_put { self.processes.insert(pid, known) } else { self.processes.remove(&pid) };
        if let Some(before) = before {
            self.forget(&before);
        }
    }

    /// The code that a process has mapped now.
    fn read(&mut self, pid: u32) -> Mapped {
        let mut mapped = Mapped::default();
        let tables = &mut self.tables;
        Processes::of(&Root::live()).each_mapping(pid, &mut |mapping| {
            if !mapping.has_code() || mapping.path == "[vsyscall]" || mapped.code.len() == MOST_MAPPINGS {
                return;
            }
            let (begin, end) = (mapping.begin, mapping.end);
            let table = match (mapping.inode, mapping.path) {
                (0, "[vdso]") => tables.of_vdso(),
                (0, _) => None,
                (_, path) => {
                    let (file, table) = tables.of_file(&readable(pid, begin, end, path.as_ref()));
                    mapped.files.extend(file);
                    table
                }
            };
            if let Some(python) = table.as_ref().and_then(|table| table.python(begin, mapping.offset)) {
                mapped.python = Some(python);
            }
            let based = table.and_then(|table| Some((table.base(begin, mapping.offset)?, table.number, table.chunks)));
            let (base, table, chunks) = based.unwrap_or((0, NO_TABLE, 0));
            mapped.code.push(Mapping { begin, end, base, table, chunks });
        });
        mapped
    }

    /// Whether there was room for what is known of a process.
    fn put(&self, pid: u32, known: &Known) -> bool {
        let all_put = (0u32..).zip(&known.mapped.code).all(|(place, mapping)| {
            let Mapping { begin, end, base, table, chunks } = mapping;
            let mut value = [*begin, *end, *base].map(u64::to_ne_bytes).concat();
            value.extend([*table, *chunks].map(u32::to_ne_bytes).concat());
            self.mappings.update(&key(known.layout, place), &value, MapFlags::ANY).is_ok()
        });
        if let (Some(pythons), Some(python)) = (&self.pythons, known.mapped.python) {
            // Without room for it, it has the native functions.
            let _ = pythons.update(&known.layout.to_ne_bytes(), &python.value(), MapFlags::ANY);
        }
        all_put && self.layouts.update(&pid.to_ne_bytes(), &known.value(), MapFlags::ANY).is_ok()
    }

    /// Takes out the mappings of what is no longer so.
    fn forget(&self, known: &Known) {
        for (place, _) in (0u32..).zip(&known.mapped.code) {
            let _ = self.mappings.delete(&key(known.layout, place));
        }
        if let (Some(pythons), Some(_)) = (&self.pythons, known.mapped.python) {
            let _ = pythons.delete(&known.layout.to_ne_bytes());
        }
    }

    /// A turn has ended: processes that have ended are forgotten now and then, and how walks ended becomes rows.
    pub(crate) fn report(&mut self, observer: &str, tick: Tick, rows: &mut Rows) -> Result<(), EbpfError> {
        self.turn += 1;
        if self.turn.is_multiple_of(EVERY) {
            let live = Processes::of(&Root::live());
            let ended: Vec<u32> = self.processes.keys().copied().filter(|pid| live.began(*pid).is_none()).collect();
            for pid in ended {
                let _ = self.layouts.delete(&pid.to_ne_bytes());
                if let Some(known) = self.processes.remove(&pid) {
                    self.forget(&known);
                }
            }
        }
        self.tables.turn(self.processes.values().flat_map(|known| known.mapped.files.iter().copied()));
        self.note_left_out(observer, rows);
        let now = sums::array("ends", &self.ends)?;
        let then = std::mem::replace(&mut self.ended, now);
        let more = |place: usize| {
            let count = |of: &[u64]| of.get(place).copied().unwrap_or(0);
            count(&self.ended).saturating_sub(count(&then))
        };
        if tick.dt.is_none() {
            return Ok(());
        }
        let all: u64 = (0..ENDS.len()).map(more).sum();
        // Where little is to be spent, programs that are not read are no surprise.
        let is_bounded = self.tables.bounds.budget.is_limited();
        for (place, (end, meaning)) in ENDS.iter().enumerate().filter(|(place, _)| more(*place) > 0) {
            let mut row = rows.row(&metric::TABLE, tick.t, tick.dt);
            row.str(metric::name, "observer_stacks")
                .str(metric::labels, format!("observer={observer},end={end}").as_str());
            row.f64(metric::value, more(place) as f64).str(metric::unit, "stacks");
            // A few are so always: a moment in which a process was not known.
            if !is_bounded && place > 0 && more(place) * 20 > all && all >= 100 && self.reported.insert(end) {
                let text =
                    format!("{} of {all} user stacks {meaning}; outermost functions may be missing", more(place));
                rows.note(observer, None, &text);
            }
        }
        Ok(())
    }

    fn note_left_out(&mut self, observer: &str, rows: &mut Rows) {
        for file in std::mem::take(&mut self.tables.left_out) {
            let most = self.tables.bounds.bytes >> 20;
            let text = format!(
                "unwind tables of `{file}` are left out: all take {most} MiB at most; its stacks are by frame pointers"
            );
            rows.note(observer, None, &text);
        }
        let left_out = std::mem::take(&mut self.left_out);
        if left_out > 0 && self.reported.insert("left out") {
            let text =
                format!("mappings of {left_out} processes had no room: their stacks are followed by frame pointers");
            rows.note(observer, None, &text);
        }
    }
}

/// A key of `mappings`.
fn key(layout: u32, place: u32) -> Vec<u8> {
    [layout, place].map(u32::to_ne_bytes).concat()
}

impl Known {
    /// `struct layout`.
    fn value(&self) -> Vec<u8> {
        let until = now_ns().saturating_add(u64::try_from(self.quiet.as_nanos()).unwrap_or(u64::MAX));
        let mut value = [self.image.start_code, self.image.start_stack, until].map(u64::to_ne_bytes).concat();
        let n = u32::try_from(self.mapped.code.len()).unwrap_or(0);
        value.extend([self.layout, n, u32::from(self.mapped.python.is_some()), 0].map(u32::to_ne_bytes).concat());
        value
    }
}

/// Fields 26 and 28 of `/proc/PID/stat`.
fn image(pid: u32) -> Option<Image> {
    image_of(&text(format!("/proc/{pid}/stat"), LIMIT).ok()?)
}

fn image_of(stat: &str) -> Option<Image> {
    // A name may hold blanks and brackets.
    let mut fields = stat.rsplit_once(") ")?.1.split_ascii_whitespace();
    let start_code = fields.nth(23)?.parse().ok()?;
    let start_stack = fields.nth(1)?.parse().ok()?;
    Some(Image { start_code, start_stack })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_image_is_known_by_where_its_code_and_its_stack_begin() {
        let stat = "7 (a ) S b) R 1 7 7 0 -1 4194304 1 0 0 0 1 2 0 0 20 0 1 0 5 1000 50 18446744073709551615 4096 8192 \
                    140000 0 0 0 0 0 0 0 0 0 17 1";
        assert_eq!(image_of(stat), Some(Image { start_code: 4096, start_stack: 140_000 }));
        assert_eq!((image_of("7 (short) R 1"), image_of("")), (None, None));
        let own = image(std::process::id()).unwrap();
        assert!(own.start_code > 0 && own.start_stack > own.start_code, "{own:?}");
    }
}
