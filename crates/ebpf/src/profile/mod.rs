//! `profile`: stacks sampled on the CPUs by a timer; optionally off-CPU stacks.

mod view;

use std::time::Duration;

use fenxi_model::{Rows, catalog::stack as c};
use fenxi_source::{Collector, Opt, Root, SourceError, Spec, Takes, Tick};
use libbpf_rs::{MapCore, MapFlags, MapHandle};
use rustc_hash::FxHashMap;

use crate::{
    EbpfError, Loaded, Loader, Meanwhile, Observer, Tracked, Way,
    bpf::{Compiled, compiled},
    bytes::Bytes,
    drain::Drain,
    kernel,
    observer::{PID, option, source, spec},
    observing::Observing,
    perf,
    symbols::Watched,
};

static OBJECT: Compiled = compiled!("profile");
static SPEC: Spec = spec("profile", "stacks of what runs on the CPUs, 97 times a second on each (eBPF)", &[&c::TABLE]);

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

User stacks are complete for programs compiled with frame pointers, truncated
for others. JIT-compiled languages need a perf map: node --perf-basic-prof,
java with perf-map-agent, python3.12 -X perf.

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
    /// Of whom.
    pub tracked: Tracked,
    /// Samples per second on each CPU. A number that divides no other clock does not beat with it.
    pub frequency: u32,
    /// Whether waits are taken, too.
    pub off_cpu: bool,
}

impl Profile {
    /// Every process, on CPUs only.
    pub const ALL: Profile = Profile { tracked: Tracked::All, frequency: 97, off_cpu: false };
}

source!(Profile, |options| {
    let frequency = u32::try_from(options.number("frequency")).unwrap_or(u32::MAX);
    Profile { tracked: Tracked::by(options), frequency, off_cpu: options.is_given("off-cpu") }
});

impl Profile {
    fn observe(&self, _: &Root) -> Result<Box<dyn Collector>, SourceError> {
        let set = |loader: &mut Loader| {
            // Different stacks in one interval: of more CPUs there are more.
            let stacks = 4096 * kernel::n_cpus().clamp(2, 16);
            for map in ["stacks_0", "stacks_1"] {
                loader.room(map, stacks)?;
            }
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
        let observing = Observing::begin(SPEC.name, OBJECT, &self.tracked, set, attach)?;
        let sides = [Side::new(&observing, 0)?, Side::new(&observing, 1)?];
        let waits = match self.off_cpu {
            true => Some(Drain::new("wait_places", observing.map("wait_places")?)?),
            false => None,
        };
        let watched = Watched::new(observing.map("met")?)?;
        Ok(Box::new(Observed {
            which: observing.map("side")?,
            wait_stacks: observing.map("wait_stacks")?,
            observing,
            sides,
            writing: 0,
            waits,
            period_s: 1.0 / f64::from(self.frequency.max(1)),
            folded: Folded { watched, ended: 0, said: false },
        }))
    }
}

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
    sides: [Side; 2],
    /// Says the programs to which side they write.
    which: MapHandle,
    writing: usize,
    wait_stacks: MapHandle,
    /// `struct sum`: times, nanoseconds.
    waits: Option<Drain<2>>,
    period_s: f64,
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
        let (folded, period_s) = (&mut self.folded, self.period_s);
        side.places.added(|added| {
            // What is read first was seen before the recording began.
            if tick.dt.is_some() {
                let place = Place::of(added.key);
                let stack = folded.stack(&place, |key| stacks.get(&key).cloned().unwrap_or_default());
                let samples = added.sums[0] as f64;
                row(rows, tick, &place, &stack, "on-cpu", samples, samples * period_s);
            }
        })
    }

    /// A row for each place where threads waited.
    fn off_cpu(&mut self, tick: Tick, rows: &mut Rows) -> Result<(), EbpfError> {
        let Some(waits) = &mut self.waits else { return Ok(()) };
        let (folded, stacks) = (&mut self.folded, &self.wait_stacks);
        waits.added(|added| {
            if tick.dt.is_some() {
                let place = Place::of(added.key);
                let stack = folded.stack(&place, |key| kept(stacks, key));
                let [times, ns] = added.sums.map(|sum| sum as f64);
                row(rows, tick, &place, &stack, "off-cpu", times, ns / 1e9);
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
        if ended > 0 && !std::mem::replace(&mut self.folded.said, true) {
            let text = format!(
                "programs had ended before their functions could be named: {ENDED} stands for them in {ended} stacks, \
                 their names are in the column `comm`"
            );
            rows.note(SPEC.name, None, &text);
        }
        Ok(self.observing.report(tick, rows)?)
    }
}

fn row(rows: &mut Rows, tick: Tick, place: &Place, stack: &str, event: &str, samples: f64, time_s: f64) {
    let mut row = rows.row(&c::TABLE, tick.t, tick.dt);
    row.str(c::comm, place.comm.as_str());
    row.i64(c::pid, i64::from(place.pid));
    row.str(c::stack, stack);
    row.str(c::event, event);
    row.f64(c::samples, samples);
    row.f64(c::time_s, time_s);
}

/// Stands for the functions of a program that ended within milliseconds of its first sample.
const ENDED: &str = "[program ended]";

/// Stacks as texts.
struct Folded {
    watched: Watched,
    /// Stacks of programs of which nothing could be read any more.
    ended: u64,
    said: bool,
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
        for (n, address) in addresses(place.user).into_iter().enumerate() {
            // All but the innermost are where calls return to.
            let address = if n > 0 { address.saturating_sub(1) } else { address };
            let function = symbols.resolve(place.pid, address).function;
            if symbols.had_ended(place.pid) {
                self.ended += 1;
                frames.push(ENDED.to_owned());
                break;
            }
            // Code without frame pointers leads into nowhere, often for many frames: one says as much.
            if !(is_nowhere(&function) && frames.last().is_some_and(|last| is_nowhere(last))) {
                frames.push(function.replace(';', ":"));
            }
        }
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

/// What is on every stack of a wait: the switch itself, and our program in it.
fn is_of_switching(function: &str) -> bool {
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
fn kept(stacks: &MapHandle, key: u64) -> Vec<u64> {
    if key == 0 {
        return Vec::new();
    }
    let value = stacks.lookup(&key.to_ne_bytes(), MapFlags::ANY).ok().flatten().unwrap_or_default();
    let mut value = Bytes(&value);
    addresses(value.u64(), value.0)
}
