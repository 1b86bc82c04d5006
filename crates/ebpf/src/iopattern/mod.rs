//! `iopattern`: how files are read and written — in sequence or at random, through mappings, past the page cache — and
//! what is done to their names.

mod calls;
mod cells;
mod mounts;
mod view;

use std::os::unix::fs::MetadataExt;

use fenxi_model::{
    Rows,
    catalog::{histogram, io_pattern},
};
use fenxi_source::{Collector, Opt, Root, SourceError, Spec, Takes, Tick};
use fs_err as fs;
use libbpf_rs::MapHandle;

use self::{
    cells::{Line, Spread},
    mounts::Mounts,
};
use crate::{
    EbpfError, Loaded, Loader, Meanwhile, Observer, Tracked,
    bpf::{Compiled, compiled},
    buckets::BUCKETS,
    drain::Drain,
    kernel,
    observer::{PID, option, source, spec, top},
    observing::Observing,
};

static OBJECT: Compiled = compiled!("iopattern");
static SPEC: Spec = spec(
    "iopattern",
    "reads and writes by file and process: sequential, random, page, direct; operations on names (eBPF)",
    &[&io_pattern::TABLE, &histogram::TABLE],
);

/// Tracepoints that not every kernel has: the program at each, and what is not seen without it.
const OPTIONAL: [(&str, &str, &str); 6] = [
    ("io_uring_submit_req", "io_uring_submit", "io_uring (Linux 6.4)"),
    ("io_uring_complete", "io_uring_done", "io_uring"),
    ("mm_filemap_map_pages", "mapped", "pages that a fault found in the page cache (Linux 6.13)"),
    ("mm_filemap_fault", "faulted_in", "reads through mappings (Linux 6.13)"),
    ("page_fault_user", "fault_user", "reads and writes through mappings"),
    ("page_fault_kernel", "fault_kernel", "mappings that system calls read or write"),
];

/// The observer.
pub static OBSERVER: Observer = Observer {
    source: &Iopattern::ALL,
    formerly: None,
    about: "Show file I/O patterns: sequential or random, mmap, O_DIRECT; by file name",
    question: "Is file I/O sequential or random?",
    help: "\
An operation is sequential if it starts where the previous one of the same kind,
file and process ended. `page`: page faults of memory-mapped files; `direct`:
O_DIRECT. Without an INTERVAL, averages are shown at the end (Ctrl-C, or exit of
COMMAND).

Examples:
  fenxi trace iopattern 1                  each file system, every second
  fenxi trace iopattern --by file -- make  each file that make reads or writes
  fenxi trace iopattern -p 1234 --distributions 10 1
                                           histograms of size and latency, 10 s
  fenxi trace iopattern --save io 1        also save it as a run",
    command: Meanwhile::ObservesIt,
    interval_s: None,
    needs: &[],
    view: view::new,
};

const OPTIONS: &[Opt] = &[
    option("by", Takes::Word(&[("mount", "File systems"), ("file", "Files"), ("process", "Processes")]), "Group by")
        .of_view(),
    option("distributions", Takes::Nothing, "Add histograms of sizes and latencies").of_view(),
    top(40, "Maximum number of lines to show"),
    PID,
];

/// Counts what is done to files.
#[derive(Clone, Debug)]
pub struct Iopattern {
    /// The processes observed.
    pub tracked: Tracked,
}

impl Iopattern {
    /// By every process.
    pub const ALL: Iopattern = Iopattern { tracked: Tracked::All };
}

source!(Iopattern, |options| Iopattern { tracked: Tracked::by(options) });

impl Iopattern {
    fn observe(&self, _: &Root) -> Result<Box<dyn Collector>, SourceError> {
        let missing = kernel::missing_tracepoints(&OPTIONAL.map(|(name, ..)| name))?;
        let observing = Observing::begin(SPEC.name, OBJECT, &self.tracked, |loader| set(loader, &missing), attach)?;
        let unseen = OPTIONAL.iter().filter(|(name, ..)| missing.contains(name)).map(|(.., what)| *what).collect();
        Ok(Box::new(Observed {
            cells: Drain::new("cells", observing.map("cells")?)?,
            rest: Drain::new("rest", observing.map("rest")?)?,
            spreads: Drain::new("spreads", observing.map("spreads")?)?,
            paths: observing.map("paths")?,
            mounts: Mounts::new(observing.map("mounts")?)?,
            observing,
            unseen,
            pages: false,
        }))
    }
}

fn set(loader: &mut Loader, missing: &[&str]) -> Result<(), EbpfError> {
    let root = fs::metadata("/").map_err(|error| EbpfError::Target(error.to_string()))?;
    loader.set("root_inode", root.ino())?;
    loader.set("root_device", mounts::root_device()?)?;
    loader.set("page_bytes", u32::try_from(rustix::param::page_size()).unwrap_or(4096))?;
    loader.leave_out(|program| OPTIONAL.iter().any(|(at, of, _)| *of == program && missing.contains(at)));
    Ok(())
}

fn attach(loaded: &mut Loaded) -> Result<(), EbpfError> {
    calls::set_meanings(&loaded.map("meanings")?)?;
    loaded.attach()
}

struct Observed {
    observing: Observing,
    /// `struct cell`: operations, bytes, those timed, their time; then the program's name.
    cells: Drain<4>,
    /// The same, without file and process.
    rest: Drain<4>,
    /// `struct spread`: sizes, then times.
    spreads: Drain<{ 2 * BUCKETS }>,
    paths: MapHandle,
    mounts: Mounts,
    /// Operations that this kernel does not show; reported once.
    unseen: Vec<&'static str>,
    /// Whether page faults were met and explained.
    pages: bool,
}

impl Collector for Observed {
    fn sample(&mut self, tick: Tick, rows: &mut Rows) -> Result<(), SourceError> {
        for what in self.unseen.drain(..) {
            rows.note(SPEC.name, None, &format!("not seen on this kernel: {what}"));
        }
        self.mounts.refresh()?;
        let mut lines = Vec::new();
        self.cells.added(|added| lines.push(Line::read(&added)))?;
        self.rest.added(|added| lines.push(Line::read(&added)))?;
        let mut spreads = Vec::new();
        self.spreads.added(|added| spreads.push(Spread::read(&added)))?;
        if let Some(dt) = tick.dt.filter(|dt| *dt > 0.0) {
            if !self.pages && lines.iter().any(Line::is_page) {
                self.pages = true;
                rows.note(SPEC.name, None, PAGES);
            }
            for line in cells::fewer(lines) {
                line.row(&mut self.mounts, &self.paths, tick, dt, rows);
            }
            for spread in spreads {
                spread.rows(&mut self.mounts, tick, rows);
            }
        }
        Ok(self.observing.report(tick, rows)?)
    }
}

/// Note on the pattern `page`.
const PAGES: &str = "`page` counts page faults, one page each: what is read or written where a page is mapped already is no \
                     event for the kernel and is not seen";
