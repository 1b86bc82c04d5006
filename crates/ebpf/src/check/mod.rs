//! Capability check: what works on this kernel, what does not, and which observers are affected.

use std::time::{Duration, Instant};

use fenxi_model::{Micros, Rows, catalog::note};
use fenxi_procfs::Root;
use fenxi_source::Tick;
use fs_err as fs;

use crate::{
    EbpfError, Loaded, Loader, OBSERVERS, Way,
    bpf::{Compiled, Probe, compiled},
    privileges::missing_capabilities,
};

static CHECK: Compiled = compiled!("check");

/// One thing that a kernel may have or let us do.
#[derive(Clone, Debug)]
pub struct Ability {
    /// Name of the ability.
    pub name: &'static str,
    /// Why it is not there; None: it is.
    pub refused: Option<String>,
    /// Loss without it.
    pub lost: String,
}

/// Result of checking an observer on this machine.
#[derive(Clone, Debug)]
pub struct Finding {
    /// Name of its source.
    pub observer: &'static str,
    /// Summary of what it observes.
    pub summary: &'static str,
    /// Why it cannot observe; None: it can.
    pub refused: Option<String>,
    /// Blind spots, where it works.
    pub notes: Vec<String>,
}

/// Detects which kernel features that observers use are available.
pub fn abilities() -> Vec<Ability> {
    let missing = missing_capabilities();
    let refused = (!missing.is_empty()).then(|| format!("this process lacks {}", missing.join(" and ")));
    let all_of_them = || "all observers".to_owned();
    let mut all = vec![Ability { name: "capabilities", refused, lost: all_of_them() }];
    let btf = fs::metadata("/sys/kernel/btf/vmlinux").err().map(|_| "CONFIG_DEBUG_INFO_BTF is off".to_owned());
    all.push(Ability { name: "types of the kernel (BTF)", refused: btf, lost: all_of_them() });
    for (program, name, lost) in KINDS {
        let lost = match lost {
            Lost::Words(words) => (*words).to_owned(),
            Lost::Without(way) => lost_without(*way),
        };
        all.push(Ability { name, refused: attached(program).err().map(|e| e.to_string()), lost });
    }
    all
}

/// Loss without a kind of attaching.
enum Lost {
    Words(&'static str),
    /// The losses that observers state.
    Without(Way),
}

fn lost_without(way: Way) -> String {
    let needs = OBSERVERS.iter().flat_map(|observer| observer.needs);
    let lost: Vec<_> = needs.filter(|(needed, _)| *needed == way).map(|(_, lost)| *lost).collect();
    lost.join("; ")
}

/// Programs of `check.bpf.c`, what they are called, and what is lost without them.
const KINDS: &[(&str, &str, Lost)] = &[
    ("kind_tp_btf", "typed tracepoints (tp_btf)", Lost::Words("all observers")),
    ("kind_raw_tp", "raw tracepoints", Lost::Words("nothing, where typed ones work")),
    ("kind_tracepoint", "tracepoints of system calls", Lost::Without(Way::Tracepoint)),
    ("kind_fentry", "entries of kernel functions (fentry)", Lost::Words("nothing")),
    ("kind_kprobe", "kernel probes (kprobe)", Lost::Words("nothing, where fentry works; else as fentry")),
    ("kind_perf_event", "sampling by a clock (perf_event)", Lost::Without(Way::Clock)),
    ("kind_uprobe", "probes in programs (uprobe)", Lost::Without(Way::Probe)),
    (
        "kind_uprobe_multi",
        "many probes at once (uprobe.multi, Linux 6.6)",
        Lost::Words("nothing: probes are put in one by one"),
    ),
];

fn attached(program: &str) -> Result<Loaded, EbpfError> {
    let mut loader = Loader::open(CHECK)?;
    loader.leave_out(|name| name != program);
    let mut loaded = loader.load()?;
    match program {
        "kind_uprobe" => loaded.attach_probe(program, &own_probe()?.probe())?,
        "kind_uprobe_multi" => {
            let own = own_probe()?;
            loaded.attach_probes(program, &own.file, Some(std::process::id()), &[own.offset])?;
        }
        "kind_perf_event" => {
            let event = crate::perf::clock(0, 1_000_000_000)?;
            loaded.attach_perf(program, event)?;
        }
        _ => loaded.attach()?,
    }
    Ok(loaded)
}

/// A place in this program's own file where a probe can be tried.
struct Own {
    file: std::path::PathBuf,
    offset: u64,
}

impl Own {
    fn probe(&self) -> Probe<'_> {
        let offset = usize::try_from(self.offset).unwrap_or(0);
        let pid = Some(std::process::id());
        Probe { file: &self.file, pid, function: None, offset, at_return: false, semaphore: None }
    }
}

fn own_probe() -> Result<Own, EbpfError> {
    let target = |e: &dyn std::fmt::Display| EbpfError::Target(format!("this program cannot be read: {e}"));
    let file = std::env::current_exe().map_err(|e| target(&e))?;
    let bytes = fs::read(&file).map_err(|e| target(&e))?;
    let parsed = object::File::parse(&*bytes).map_err(|e| target(&e))?;
    let offset = crate::elf::file_offset(&parsed, object::Object::entry(&parsed));
    Ok(Own { file, offset: offset.ok_or_else(|| EbpfError::Target("this program has no entry".to_owned()))? })
}

/// Tries every observer: begins it as it would be recorded, reads once, ends it.
pub fn observers() -> Vec<Finding> {
    let root = Root::live();
    OBSERVERS
        .iter()
        .map(|observer| {
            let source = observer.source;
            let spec = source.spec();
            let mut rows = Rows::new("");
            let tried = source.start(&root).and_then(|mut collector| {
                let began = Instant::now();
                collector.sample(Tick::new(Micros(0), None), &mut rows)?;
                std::thread::sleep(Duration::from_millis(20));
                collector.sample(Tick::new(Micros(1), Some(began.elapsed().as_secs_f64())), &mut rows)
            });
            let of_notes = rows.of(&note::TABLE).into_iter();
            let notes = of_notes.flat_map(|table| {
                (0..table.n_rows()).filter_map(move |row| table.str(row, note::message).map(str::to_owned))
            });
            Finding {
                observer: spec.name,
                summary: spec.summary,
                refused: tried.err().map(|error| error.to_string()),
                notes: notes.collect(),
            }
        })
        .collect()
}
