//! `profile`: stacks sampled on the CPUs by a timer; optionally off-CPU stacks.

mod always;
mod few;
mod python;
mod view;

use std::time::Duration;

use fenxi_model::{Rows, catalog::stack as c};
use fenxi_source::{Collector, Opt, Root, SourceError, Spec, Takes, Tick};
use libbpf_rs::{MapCore, MapFlags, MapHandle};
use rustc_hash::FxHashMap;

pub use self::always::{ALWAYS, Always};
use self::{
    few::{Line, few},
    python::Functions,
};
use crate::{
    EbpfError, Loaded, Loader, Meanwhile, Observer, Tracked, Way,
    bpf::{Compiled, compiled},
    bytes::Bytes,
    drain::Drain,
    kernel,
    observer::{PID, option, source, spec},
    observing::Observing,
    perf,
    symbols::{NOT_READ, Symbols, Watched},
    unwind::{self, Bounds},
};

static OBJECT: Compiled = compiled!("profile");
static SPEC: Spec = Spec {
    default: true,
    ..spec("profile", "stacks of what runs on the CPUs, 19 times a second; asked for, 97 times (eBPF)", &[&c::TABLE])
};

/// The observer.
pub static OBSERVER: Observer = Observer {
    source: &Profile::ALL,
    formerly: None,
    about: "Profile stacks, on-CPU and off-CPU",
    question: "Which functions use the CPUs, which wait?",
    help: "\
Functions are sorted by self time (samples in which they ran themselves), until
they cover 95 % of all samples. %WITH CALLEES is inclusive: it adds samples in
functions that they called. Kernel frames end with _[k].

User stacks are unwound by .eh_frame (x86-64), which needs no frame pointers,
and in code without it by frame pointers. Functions of CPython 3.9 to 3.14 are
named as they run. JIT-compiled languages need a perf map:
node --perf-basic-prof, java with perf-map-agent.

Examples:
  fenxi trace profile -- make                  CPU profile of make
  fenxi trace profile -p 1234 --off-cpu 10 1   on-CPU and off-CPU time
  fenxi trace profile --folded 10 1 > out.txt  input for flame graph tools
  fenxi trace profile --save p 1 30            save; fenxi report p plots it",
    command: Meanwhile::ObservesIt,
    interval_s: None,
    needs: &[(Way::Clock, "profile")],
    view: view::new,
};

const OPTIONS: &[Opt] = &[
    option("frequency", Takes::Number { what: "HZ", default: 97, min: 1, max: 10_000 }, "Sampling frequency per CPU")
        .short('F'),
    option("off-cpu", Takes::Nothing, "Add off-CPU time: stacks of blocked or preempted threads (higher overhead)"),
    option(
        "until",
        Takes::Decimal { what: "PERCENT", default: 95.0 },
        "Show functions until they cover this percentage of samples",
    )
    .of_view(),
    option("stacks", Takes::Number { what: "N", default: 0, min: 0, max: u64::MAX }, "Also show the N hottest stacks")
        .of_view(),
    option("folded", Takes::Nothing, "Print folded stacks only: `program;outermost;…;innermost samples`")
        .of_view()
        .without(&["json", "csv", "stacks"]),
    PID,
];

/// Samples stacks.
#[derive(Clone, Debug)]
pub struct Profile {
    /// The processes observed.
    pub tracked: Tracked,
    /// Samples per second on each CPU. A number that divides no other clock does not beat with it.
    pub frequency: u32,
    /// True if waits are taken, too.
    pub off_cpu: bool,
    /// True if it is to cost little, whatever the machine does ([`ALWAYS`]): short-lived programs and the rarest stacks are not
    /// shown whole.
    pub light: bool,
}

impl Profile {
    /// Every process, on CPUs only.
    pub const ALL: Profile = Profile { tracked: Tracked::All, frequency: 97, off_cpu: false, light: false };
}

source!(Profile, |options| {
    let frequency = u32::try_from(options.number("frequency")).unwrap_or(u32::MAX);
    Profile { tracked: Tracked::by(options), frequency, off_cpu: options.is_given("off-cpu"), light: false }
});

impl Profile {
    fn observe(&self, _: &Root) -> Result<Box<dyn Collector>, SourceError> {
        let set = |loader: &mut Loader, with_tables: bool| {
            unwind::set(loader, with_tables)?;
            // Different stacks in one interval: of more CPUs there are more.
            let stacks = if self.light { 512 } else { 4096 } * kernel::n_cpus().clamp(2, 16);
            for map in ["stacks_0", "stacks_1"] {
                loader.room(map, stacks)?;
            }
            if self.light {
                loader.set("met_after", MET_AFTER)?;
                // Costs at each start of a program; a sample shows as well that a process has begun another one.
                loader.leave_out(|program| program == "met_anew");
                for map in ["places_0", "places_1"] {
                    loader.room(map, stacks)?;
                }
                if with_tables {
                    loader.room("mappings", 16_384)?;
                }
            }
            let (pythons, codes) = if self.light { (1024, 4096) } else { (8192, 16_384) };
            loader.room("pythons", if with_tables { pythons } else { 1 })?;
            loader.room("python_codes", if with_tables { codes } else { 1 })?;
            if self.off_cpu {
                return loader.room("wait_stacks", 2 * stacks);
            }
            loader.leave_out(|program| program == "off_cpu");
            // Nothing is put there; maps without room are refused.
            loader.room("wait_stacks", 1)?;
            loader.room("wait_places", 1)
        };
        let attach = |loaded: &mut Loaded| {
            loaded.attach()?;
            sample(loaded, self.frequency.max(1))
        };
        let bounds = || if self.light { Bounds::narrow() } else { Bounds::WIDE };
        let begin = |with_tables: bool| {
            let set = |loader: &mut Loader| set(loader, with_tables);
            Observing::begin(SPEC.name, OBJECT, &self.tracked, set, attach)
        };
        let (observing, unwinder, refused) = unwind::begin_within(bounds(), begin)?;
        let sides = [Side::new(&observing, 0)?, Side::new(&observing, 1)?];
        let waits = match self.off_cpu {
            true => Some(Drain::new("wait_places", observing.map("wait_places")?)?),
            false => None,
        };
        let known = observing.map("known")?;
        // One that there was no time to read is met anew.
        let later = move |pid: u32| _ = known.delete(&pid.to_ne_bytes());
        let symbols = if self.light { Symbols::bounded() } else { Symbols::new() };
        let watched = Watched::with(symbols, observing.map("met")?, unwinder, later)?;
        let functions = Functions::new(observing.map("python_codes")?);
        Ok(Box::new(Observed {
            which: observing.map("side")?,
            wait_stacks: observing.map("wait_stacks")?,
            observing,
            refused,
            sides,
            writing: 0,
            waits,
            period_s: 1.0 / f64::from(self.frequency.max(1)),
            light: self.light,
            left_out_reported: false,
            folded: Folded { watched, functions, ended: 0, is_reported: self.light },
        }))
    }
}

/// Samples of a process after which a light profile reads it: what ran for less than about a tenth of a second has no names.
const MET_AFTER: u32 = 3;

/// Lets a clock call the program on every CPU.
fn sample(loaded: &mut Loaded, frequency: u32) -> Result<(), EbpfError> {
    let period_ns = 1_000_000_000 / u64::from(frequency);
    for cpu in kernel::cpus() {
        let event = perf::clock(cpu, period_ns)?;
        loaded.attach_perf("on_cpu", event)?;
    }
    Ok(())
}

/// One of the two sides to which stacks go.
struct Side {
    /// `struct stack`: bytes of addresses, then these.
    stacks: Drain<1>,
    /// `struct sum`: samples, nanoseconds.
    places: Drain<2>,
}

impl Side {
    fn new(observing: &Observing, number: u32) -> Result<Side, EbpfError> {
        Ok(Side {
            stacks: Drain::new("stacks", observing.map(&format!("stacks_{number}"))?)?,
            places: Drain::new("places", observing.map(&format!("places_{number}"))?)?,
        })
    }
}

struct Observed {
    observing: Observing,
    /// Why stacks are followed by frame pointers only; reported once.
    refused: Option<String>,
    sides: [Side; 2],
    /// Switches the side to which the programs write.
    which: MapHandle,
    writing: usize,
    wait_stacks: MapHandle,
    /// `struct sum`: times, nanoseconds.
    waits: Option<Drain<2>>,
    period_s: f64,
    light: bool,
    left_out_reported: bool,
    folded: Folded,
}

/// How long a program that has begun to write to a side may take to end: they take microseconds.
const GRACE: Duration = Duration::from_millis(1);

impl Observed {
    /// Lets the programs write to the other side.
    fn turn(&mut self) -> Result<(), EbpfError> {
        self.writing = 1 - self.writing;
        let number = u32::from(self.writing == 1);
        let failed = |source| EbpfError::Map { map: "side".to_owned(), source };
        self.which.update(&[0; 4], &number.to_ne_bytes(), MapFlags::ANY).map_err(failed)?;
        std::thread::sleep(GRACE);
        Ok(())
    }

    /// Empties the side that was written to until now: a row for each place where there were samples.
    fn on_cpu(&mut self, tick: Tick, rows: &mut Rows) -> Result<(), EbpfError> {
        self.turn()?;
        let side = &mut self.sides[1 - self.writing];
        let mut stacks: FxHashMap<u64, Vec<u64>> = FxHashMap::default();
        side.stacks.added(|added| {
            stacks.insert(Bytes(added.key).u64(), addresses(added.sums[0], added.rest));
        })?;
        let mut places: Vec<(Place, u64)> = Vec::new();
        side.places.added(|added| {
            // Samples of the first reading are from before the recording.
            if tick.dt.is_some() {
                places.push((Place::of(added.key), added.sums[0]));
            }
        })?;
        // Those with most samples are named first, as there may be no time for all.
        places.sort_by_key(|(_, samples)| std::cmp::Reverse(*samples));
        let (folded, period_s) = (&mut self.folded, self.period_s);
        let lines = places.into_iter().map(|(place, samples)| {
            let stack = folded.stack(&place, |key| stacks.get(&key).cloned().unwrap_or_default());
            Line { comm: Some(place.comm), pid: Some(place.pid), stack, samples: samples as f64 }
        });
        let lines: Vec<Line> = if self.light { few(lines, MOST_STACKS) } else { lines.collect() };
        for line in &lines {
            row(rows, tick, line, "on-cpu", line.samples * period_s);
        }
        Ok(())
    }

    /// A row for each place where threads waited.
    fn off_cpu(&mut self, tick: Tick, rows: &mut Rows) -> Result<(), EbpfError> {
        let Some(waits) = &mut self.waits else { return Ok(()) };
        let (folded, stacks) = (&mut self.folded, &self.wait_stacks);
        waits.added(|added| {
            if tick.dt.is_some() {
                let place = Place::of(added.key);
                let stack = folded.stack(&place, |key| kept(stacks, key));
                let [samples, ns] = added.sums.map(|sum| sum as f64);
                let line = Line { comm: Some(place.comm), pid: Some(place.pid), stack, samples };
                row(rows, tick, &line, "off-cpu", ns / 1e9);
            }
        })
    }
}

/// `struct place` of the program.
struct Place {
    pid: u32,
    /// Keys of the stacks; 0: there is none.
    kernel: u64,
    user: u64,
    comm: String,
}

impl Place {
    fn of(key: &[u8]) -> Place {
        let mut key = Bytes(key);
        let (pid, _, kernel, user) = (key.u32(), key.u32(), key.u64(), key.u64());
        Place { pid, kernel, user, comm: key.text(16) }
    }
}

impl Collector for Observed {
    fn sample(&mut self, tick: Tick, rows: &mut Rows) -> Result<(), SourceError> {
        self.folded.watched.symbols().turn();
        self.on_cpu(tick, rows)?;
        self.off_cpu(tick, rows)?;
        let ended = std::mem::take(&mut self.folded.ended);
        if ended > 0 && !std::mem::replace(&mut self.folded.is_reported, true) {
            let text = format!(
                "programs had ended before their functions could be named: {ENDED} replaces them in {ended} stacks, \
                 their names are in the column `comm`"
            );
            rows.note(SPEC.name, None, &text);
        }
        if let Some(why) = self.refused.take() {
            rows.note(SPEC.name, None, &why);
        }
        let left_out = self.folded.watched.symbols().left_out();
        if let Some(file) = left_out.first().filter(|_| !std::mem::replace(&mut self.left_out_reported, true)) {
            let text = format!(
                "functions of `{file}`, and of other files with as many, are not named; `--source +profile` names them"
            );
            rows.note(SPEC.name, None, &text);
        }
        self.folded.watched.report(SPEC.name, tick, rows)?;
        Ok(self.observing.report(tick, rows)?)
    }

    fn cpu_of_threads(&self) -> f64 {
        self.folded.watched.cpu_of_threads()
    }
}

/// Stacks of an interval that a light profile keeps whole.
const MOST_STACKS: usize = 100;

fn row(rows: &mut Rows, tick: Tick, line: &Line, event: &str, time_s: f64) {
    let mut row = rows.row(&c::TABLE, tick.t, tick.dt);
    row.str(c::comm, line.comm.as_deref());
    row.i64(c::pid, line.pid.map(i64::from));
    row.str(c::stack, line.stack.as_str());
    row.str(c::event, event);
    row.f64(c::samples, line.samples);
    row.f64(c::time_s, time_s);
}

/// Replaces the functions of a program that ended within milliseconds of its first sample.
const ENDED: &str = "[program ended]";

/// Stacks as texts.
struct Folded {
    watched: Watched,
    functions: Functions,
    /// Stacks of programs of which nothing could be read any more.
    ended: u64,
    is_reported: bool,
}

impl Folded {
    /// Frames from the outermost to the innermost, separated by `;`: those of the program, then those of the kernel,
    /// which have `_[k]` at their ends, as others write them, too.
    fn stack(&mut self, place: &Place, addresses: impl Fn(u64) -> Vec<u64>) -> String {
        let mut symbols = self.watched.symbols();
        let mut frames: Vec<String> = Vec::new();
        for (n, address) in addresses(place.kernel).into_iter().enumerate() {
            let function = symbols.kernel(address - u64::from(n > 0)).function;
            if !(frames.is_empty() && is_of_switching(&function)) {
                frames.push(format!("{function}_[k]"));
            }
        }
        let mut user = addresses(place.user);
        let python = self.functions.take(&mut user);
        let mut native: Vec<String> = Vec::new();
        for (n, address) in user.into_iter().enumerate() {
            // All but the innermost are where calls return to.
            let address = if n > 0 { address.saturating_sub(1) } else { address };
            let function = symbols.resolve(place.pid, address).function;
            let unread = if symbols.had_ended(place.pid) {
                self.ended += 1;
                Some(ENDED)
            } else {
                Some(NOT_READ).filter(|unread| &*function == *unread)
            };
            if let Some(unread) = unread {
                // Functions of Python have their names all the same.
                native.extend(python.is_empty().then(|| unread.to_owned()));
                break;
            }
            // Code without frame pointers leads into nowhere, often for many frames: one shows as much.
            if !(is_nowhere(&function) && native.last().is_some_and(|last| is_nowhere(last))) {
                native.push(function.replace(';', ":"));
            }
        }
        frames.extend(python.among(native));
        if frames.is_empty() {
            frames.push("[no stack]".to_owned());
        }
        frames.reverse();
        frames.join(";")
    }
}

fn is_nowhere(function: &str) -> bool {
    function == "[unknown]"
}

/// Whether a function is on every stack of a wait: the switch itself, and our program in it.
pub(crate) fn is_of_switching(function: &str) -> bool {
    ["bpf_prog_", "bpf_trace_run", "__bpf_trace_", "__traceiter_", "trace_event_raw_event_"]
        .iter()
        .any(|s| function.starts_with(s))
        || ["__schedule", "schedule", "schedule_idle", "preempt_schedule_irq"].contains(&function)
}

/// The addresses of a stack, the innermost first.
fn addresses(size: u64, words: &[u8]) -> Vec<u64> {
    let n = usize::try_from(size / 8).unwrap_or(0);
    words.chunks_exact(8).take(n).map(|word| Bytes(word).u64()).collect()
}

/// The addresses of a stack of the map.
pub(crate) fn kept(stacks: &MapHandle, key: u64) -> Vec<u64> {
    if key == 0 {
        return Vec::new();
    }
    let value = stacks.lookup(&key.to_ne_bytes(), MapFlags::ANY).ok().flatten().unwrap_or_default();
    let mut value = Bytes(&value);
    addresses(value.u64(), value.0)
}
