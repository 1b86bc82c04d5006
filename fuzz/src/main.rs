//! Feeds damaged inputs to the importers, and to the readers of compressed data: `cargo run -p fenxi-fuzz -- linux --seconds 600`.
//!
//! It begins with the importers' fixtures, changes them in the ways in which files really are
//! damaged (cut, interleaved, repeated, other numbers, other bytes) and lets formats of the family
//! read them. A panic, an input that takes too long, and memory that grows beyond the limit end it
//! with the input saved beside. It needs only the stable toolchain; what it lacks in guidance by
//! coverage, the fixtures make up: they reach every branch that matters to begin with.

#![allow(clippy::print_stdout, reason = "a tool for developers: what it found is its output")]

mod archives;
mod elf;
mod members;
mod mutate;
mod own;
mod wire;

use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    path::{Path, PathBuf},
    process::ExitCode,
    rc::Rc,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};

use anyhow::{Result, bail};
use clap::Parser;
use fenxi_formats::{Family, Format, Head, Hints, Input, Out, detect, formats};
use fenxi_model::{Micros, Random};
use fenxi_sys::usage::{Whose, cpu_times};
use rustix::process::{Resource, Rlimit, setrlimit};

use mutate::mutate;

/// Address space that the whole process may take: a blow-up ends it at once.
const MEMORY: u64 = 2 << 30;
/// The most CPU time that one input, of at most [`mutate::MAX_BYTES`], may take.
const SLOW: Duration = Duration::from_secs(10);
/// The longest that it may take on a machine that is busy with something else.
const HANG: Duration = Duration::from_secs(120);

/// Feed damaged inputs to the importers of one family, or to the reader of a compressed format
#[derive(Debug, Parser)]
struct Args {
    /// Family: linux, unix, trace, load, database, generic, own (formats of stores); or format: zst, lz4, gz; or archives
    /// (tar, zip and what is in them), wire (a hostile server's bytes), elf (programs)
    family: String,
    /// How long
    #[arg(long, default_value_t = 60)]
    seconds: u64,
    /// Seed of the changes; the same seed makes the same inputs
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Folder of fixtures, a folder for each format
    #[arg(long, default_value = "crates/formats/fixtures")]
    fixtures: PathBuf,
    /// Where an input that fails is saved
    #[arg(long, default_value = "fuzz-failure.bin")]
    save: PathBuf,
}

/// The input being read, for the one who watches the clock.
#[derive(Default)]
struct Current {
    bytes: Mutex<(Vec<u8>, &'static str)>,
    /// Milliseconds since the start at which it began; 0 for none.
    since: AtomicU64,
    /// Milliseconds of CPU time of the process until then.
    cpu: AtomicU64,
}

fn main() -> Result<ExitCode> {
    let args = Args::parse();
    let subject = Subject::named(&args.family, &args.fixtures)?;
    setrlimit(Resource::As, Rlimit { current: Some(MEMORY), maximum: Some(MEMORY) })?;
    let seeds = subject.seeds(&args.fixtures)?;
    let current = Arc::new(Current::default());
    let begun = Instant::now();
    watch_for_hangs(Arc::clone(&current), begun, args.save.clone());
    let mut random = Random::new(args.seed);
    let (mut runs, mut bytes, mut rows) = (0u64, 0u64, 0u64);
    while begun.elapsed() < Duration::from_secs(args.seconds) {
        let input = subject.input(&seeds, &mut random);
        let (name, read) = subject.reader(&input, &mut random);
        *current.bytes.lock().unwrap_or_else(PoisonError::into_inner) = (input.clone(), name);
        current.cpu.store(cpu_ms(), Ordering::SeqCst);
        current.since.store(ms(begun.elapsed()) + 1, Ordering::SeqCst);
        let read = catch_unwind(AssertUnwindSafe(|| read(&input)));
        current.since.store(0, Ordering::SeqCst);
        let Ok(n) = read else {
            fs_err::write(&args.save, &input)?;
            println!("{name}: a panic; the input is in {}", args.save.display());
            return Ok(ExitCode::FAILURE);
        };
        (runs, bytes, rows) = (runs + 1, bytes + input.len() as u64, rows + n);
    }
    let mib = bytes >> 20;
    println!("{}: {runs} inputs, {mib} MiB, {rows} {}, {} s: clean", args.family, subject.unit(), args.seconds);
    Ok(ExitCode::SUCCESS)
}

/// The subject of fuzzing.
enum Subject {
    Importers(Family, Vec<&'static Format>),
    Archives(fenxi_tamp::Format),
    /// Formats of stores: their files, and texts that they read.
    Own(Rc<own::Formats>),
    /// Archives as importing unpacks them.
    Members,
    /// Streams of database servers.
    Wire,
    /// Programs with their DWARF.
    Elf,
}

/// Reads an input whole, and gives how much came out.
type Reader = Box<dyn Fn(&[u8]) -> u64>;

impl Subject {
    fn named(name: &str, fixtures: &Path) -> Result<Subject> {
        if let Some(format) = archives::format(name) {
            return Ok(Subject::Archives(format));
        }
        match name {
            "own" => return Ok(Subject::Own(Rc::new(own::Formats::read(fixtures)?))),
            "archives" => return Ok(Subject::Members),
            "wire" => return Ok(Subject::Wire),
            "elf" => return Ok(Subject::Elf),
            _ => {}
        }
        let family = family(name)?;
        Ok(Subject::Importers(family, formats().filter(|f| f.family == family).collect()))
    }

    fn seeds(&self, fixtures: &Path) -> Result<Vec<Vec<u8>>> {
        match self {
            Subject::Importers(..) => seeds(fixtures),
            Subject::Archives(format) => Ok(archives::seeds(*format)),
            Subject::Own(formats) => Ok(formats.seeds()),
            Subject::Members => Ok(members::seeds()),
            Subject::Wire => Ok(wire::seeds()),
            Subject::Elf => elf::seeds(),
        }
    }

    /// A damaged input.
    fn input(&self, seeds: &[Vec<u8>], random: &mut Random) -> Vec<u8> {
        match self {
            Subject::Members => members::input(seeds, random),
            Subject::Wire => wire::input(seeds, random),
            Subject::Elf => elf::input(seeds, random),
            _ => mutate(seeds, random),
        }
    }

    /// Name and reader of this input.
    fn reader(&self, input: &[u8], random: &mut Random) -> (&'static str, Reader) {
        match self {
            Subject::Archives(format) => (format.suffix(), Box::new(archives::read)),
            Subject::Own(formats) => own::reader(Rc::clone(formats), random),
            Subject::Members => ("archives", Box::new(members::read)),
            Subject::Wire => ("wire", Box::new(wire::read)),
            Subject::Elf => ("elf", Box::new(elf::read)),
            Subject::Importers(family, targets) => {
                let target = targets[random.below(targets.len())];
                // Mostly what sniffing would choose, to get deep; else any format of the family.
                let head = String::from_utf8_lossy(&input[..input.len().min(64 << 10)]).into_owned();
                let found = detect(&Head { text: &head }).filter(|f| f.family == *family);
                let format = if random.below(4) == 0 { target } else { found.unwrap_or(target) };
                (format.name, Box::new(move |bytes| read(format, bytes)))
            }
        }
    }

    /// The unit of the output.
    fn unit(&self) -> &'static str {
        match self {
            Subject::Importers(..) | Subject::Own(_) => "rows",
            Subject::Archives(_) | Subject::Members => "bytes of contents",
            Subject::Wire => "bytes taken",
            Subject::Elf => "facts",
        }
    }
}

fn family(name: &str) -> Result<Family> {
    Ok(match name {
        "linux" => Family::Linux,
        "unix" => Family::Unix,
        "trace" => Family::Trace,
        "load" => Family::Load,
        "database" => Family::Database,
        "generic" => Family::Generic,
        _ => bail!(
            "{name} is no family: linux, unix, trace, load, database, generic, own, archives, wire or elf; and no format: zst, lz4 or gz"
        ),
    })
}

/// Reads `input` as `format` and throws the rows away; gives how many they were.
fn read(format: &'static Format, bytes: &[u8]) -> u64 {
    let mut input = Input::new(bytes);
    let hints = Hints { modified: Micros::parse("2026-01-02T03:04:05"), ..Hints::none("fuzz") };
    let mut n = 0;
    let mut out = Out::new(format.name, hints, |rows, _| n += rows.take().len() as u64);
    (format.read)(&mut input, &mut out);
    out.finish();
    n
}

fn seeds(folder: &Path) -> Result<Vec<Vec<u8>>> {
    let mut seeds = Vec::new();
    for format in fs_err::read_dir(folder)? {
        for file in fs_err::read_dir(format?.path())? {
            let path = file?.path();
            if path.extension().is_none_or(|e| e != "rows") {
                seeds.push(fs_err::read(path)?);
            }
        }
    }
    if seeds.is_empty() {
        bail!("{}: no fixtures; run it from the top of the repository", folder.display());
    }
    Ok(seeds)
}

fn ms(duration: Duration) -> u64 {
    duration.as_millis() as u64
}

/// Milliseconds of CPU time that all threads have taken; 0 if the system does not say it.
fn cpu_ms() -> u64 {
    cpu_times(Whose::Own).map_or(0, |times| ms(times.user + times.system))
}

/// Ends the process when an input takes too long, and saves it.
fn watch_for_hangs(current: Arc<Current>, begun: Instant, save: PathBuf) {
    std::thread::spawn(move || {
        loop {
            std::thread::sleep(Duration::from_millis(500));
            let since = current.since.load(Ordering::SeqCst);
            let now = ms(begun.elapsed());
            let cpu = cpu_ms().saturating_sub(current.cpu.load(Ordering::SeqCst));
            let (hangs, slow) = (now.saturating_sub(since) > ms(HANG), cpu > ms(SLOW));
            if since > 0 && (hangs || slow) {
                let (bytes, format) = &*current.bytes.lock().unwrap_or_else(PoisonError::into_inner);
                let saved = fs_err::write(&save, bytes);
                let seconds = if slow { SLOW } else { HANG }.as_secs();
                println!("{format}: takes longer than {seconds} s; the input is in {} ({saved:?})", save.display());
                std::process::abort();
            }
        }
    });
}
