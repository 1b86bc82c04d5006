//! `fenxi tamp bench`: which format and level for this data?

use std::{
    collections::BTreeMap,
    io::{Cursor, Read, Seek, SeekFrom},
    path::{Path, PathBuf},
    process::ExitCode,
    sync::Arc,
    time::Instant,
};

use anyhow::{Context, bail};
use clap::Args;
use fenxi_model::{
    Rows, Unit,
    catalog::{metric, result, text},
};
use fenxi_source::Root;
use fenxi_store::{Begin, End};
use fenxi_sys::usage::{Whose, cpu_times};
use fenxi_tamp::{Compress, Decompress, Format, Input, Level, Meter, Output, Totals, compress, decompress};

use super::picture::{self, Point};
use crate::{
    machine::hostname,
    options::{Global, key_value, size},
    print,
    progress::Steps,
    stop::Stop,
    stores,
};

/// The kind of run that it makes.
const KIND: &str = "bench";
/// Parts of a large file that make up a sample.
const PARTS: u64 = 16;

/// `fenxi tamp bench`
#[derive(Debug, Args)]
#[command(after_help = "\
The sample is held in memory, so that disk speed does not matter; of a larger
file it is 16 parts spread over it. Modes take turns; the median of all rounds
is reported. Modes on the Pareto front (`*`) are those that no other beats in
both speed and size.

Examples:
  tamp bench /var/lib/postgresql/data/base/5/16384
  tamp bench --sample 1G --rounds 5 --name backups backup.tar
  fenxi report @1                        plot the results")]
pub struct BenchArgs {
    /// File with typical data
    #[arg(value_name = "FILE")]
    pub file: PathBuf,
    /// Sample size
    #[arg(long, value_name = "SIZE", default_value = "256MB", value_parser = size)]
    pub sample: u64,
    /// Number of rounds
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = clap::value_parser!(u16).range(1..))]
    pub rounds: u16,
    /// Include slow levels
    #[arg(long)]
    pub all: bool,
    /// Number of threads; 0 is one per available CPU
    #[arg(short = 'p', long, value_name = "N", default_value_t = 0, hide_default_value = true)]
    pub threads: usize,
    /// Name of the run
    #[arg(long, short)]
    pub name: Option<String>,
    /// Tag of the run (repeatable)
    #[arg(long, short, value_name = "KEY=VALUE", value_parser = key_value)]
    pub tag: Vec<(String, String)>,
    /// Do not save a run
    #[arg(long)]
    pub no_save: bool,
}

/// A format at a level.
#[derive(Clone, Copy)]
struct Way {
    format: Format,
    level: Level,
}

impl Way {
    fn name(self) -> String {
        match self.level {
            Level::Fast => format!("{} --fast", self.format.suffix()),
            Level::Of(level) => format!("{} -{level}", self.format.suffix()),
        }
    }
}

/// Size and times of one round of one way.
#[derive(Clone, Copy)]
struct Took {
    compressed: u64,
    compress_s: f64,
    compress_cpu_s: f64,
    decompress_s: f64,
    decompress_cpu_s: f64,
}

/// Tries all ways, draws them, and keeps them as a run.
pub(super) fn run(global: &Global, args: &BenchArgs) -> anyhow::Result<ExitCode> {
    let start = stores::now();
    let sample: Arc<[u8]> = sample(&args.file, args.sample)?.into();
    if sample.is_empty() {
        bail!("{} is empty", args.file.display());
    }
    let stop = Stop::on_interrupt();
    let ways = ways(args.all);
    let threads = if args.threads == 0 { fenxi_tamp::threads() } else { args.threads };
    let bar = Steps::new(global.quiet, "trying");
    let mut took: Vec<Vec<Took>> = vec![Vec::new(); ways.len()];
    let steps = ways.len() * usize::from(args.rounds);
    for step in 0..steps {
        // Each round in another order, so that none always comes after the same.
        let (round, i) = (step / ways.len(), step % ways.len());
        let i = (i + round * 5) % ways.len();
        bar.show(&ways[i].name(), step, steps);
        took[i].push(once(ways[i], &sample, threads, &stop)?);
    }
    bar.clear();
    let points = points(&ways, &took, sample.len() as u64);
    print::text(&picture::draw(&points, sample.len() as u64, threads))?;
    if !args.no_save {
        let id = save(global, args, &points, start, (sample.len() as u64, threads))?;
        if !global.quiet {
            print::message(&format!("saved as {id}; next: fenxi ask compression-front {id}, fenxi report {id}"));
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn ways(all: bool) -> Vec<Way> {
    let of = |format, levels: &[u8]| {
        let levels = levels.iter().map(|level| Level::Of(*level)).chain([Level::Fast]).collect::<Vec<_>>();
        levels.into_iter().map(move |level| Way { format, level })
    };
    match all {
        true => Format::ALL.into_iter().flat_map(|format| of(format, &[1, 2, 3, 4, 5, 6, 7, 8, 9])).collect(),
        false => of(Format::Lz4, &[1, 3, 6])
            .chain(of(Format::Zst, &[1, 2, 3, 4, 5]))
            .chain(of(Format::Gz, &[1, 6]).filter(|way| way.level != Level::Fast))
            .collect(),
    }
}

/// The file, or parts from all over it.
fn sample(path: &Path, most: u64) -> anyhow::Result<Vec<u8>> {
    let mut file = fs_err::File::open(path)?;
    let len = file.metadata()?.len();
    let mut bytes = Vec::new();
    if len <= most {
        file.take(most).read_to_end(&mut bytes)?;
        return Ok(bytes);
    }
    let part = most / PARTS;
    for i in 0..PARTS {
        file.seek(SeekFrom::Start((len - part) / (PARTS - 1) * i))?;
        (&mut file).take(part).read_to_end(&mut bytes)?;
    }
    Ok(bytes)
}

/// CPU seconds of this process.
fn cpu_s() -> anyhow::Result<f64> {
    let times = cpu_times(Whose::Own)?;
    Ok((times.user + times.system).as_secs_f64())
}

/// Compresses and decompresses the sample once.
fn once(way: Way, sample: &Arc<[u8]>, threads: usize, stop: &Stop) -> anyhow::Result<Took> {
    let mut watch = |_: Totals| {
        if stop.asked() { std::ops::ControlFlow::Break(()) } else { std::ops::ControlFlow::Continue(()) }
    };
    let options = Compress { format: way.format, level: way.level, threads, ..Compress::default() };
    let (output, memory) = Output::memory();
    let (begun, cpu) = (Instant::now(), cpu_s()?);
    let input = Input::stream(Cursor::new(Arc::clone(sample)));
    compress(input, output, &options, &Meter::default(), &mut watch)?;
    let (compress_s, compress_cpu_s) = (begun.elapsed().as_secs_f64(), cpu_s()? - cpu);
    let packed: Arc<[u8]> = memory.take().into();
    let (begun, cpu) = (Instant::now(), cpu_s()?);
    let input = Input::stream(Cursor::new(Arc::clone(&packed)));
    let options = Decompress { threads, ..Decompress::default() };
    let unpacked = decompress(input, Output::nowhere(), &options, &Meter::default(), &mut watch)?;
    let (decompress_s, decompress_cpu_s) = (begun.elapsed().as_secs_f64(), cpu_s()? - cpu);
    if unpacked.written.len != sample.len() as u64 {
        bail!("{}: {} bytes became {}", way.name(), sample.len(), unpacked.written.len);
    }
    Ok(Took { compressed: packed.len() as u64, compress_s, compress_cpu_s, decompress_s, decompress_cpu_s })
}

fn median(values: impl Iterator<Item = f64>) -> f64 {
    let mut values: Vec<f64> = values.collect();
    values.sort_by(f64::total_cmp);
    let n = values.len();
    match n {
        0 => f64::NAN,
        _ => (values[(n - 1) / 2] + values[n / 2]) / 2.0,
    }
}

/// The medians of each way, in bytes of contents per second.
fn points(ways: &[Way], took: &[Vec<Took>], len: u64) -> Vec<Point> {
    let len = len as f64;
    let of = |rounds: &[Took], what: fn(&Took) -> f64| len / median(rounds.iter().map(what)).max(1e-6);
    ways.iter()
        .zip(took)
        .map(|(way, rounds)| Point {
            name: way.name(),
            ratio: rounds.first().map_or(f64::NAN, |took| took.compressed as f64 / len),
            compress: of(rounds, |took| took.compress_s),
            compress_cpu: of(rounds, |took| took.compress_cpu_s),
            decompress: of(rounds, |took| took.decompress_s),
            decompress_cpu: of(rounds, |took| took.decompress_cpu_s),
        })
        .collect()
}

/// Keeps what was found as a run; its id. `made` are bytes of the sample and threads.
fn save(
    global: &Global,
    args: &BenchArgs,
    points: &[Point],
    start: fenxi_model::Micros,
    made: (u64, usize),
) -> anyhow::Result<fenxi_model::RunId> {
    let store = stores::create(global)?;
    let host = hostname(&Root::live());
    let file = args.file.file_name().unwrap_or(args.file.as_os_str()).to_string_lossy().into_owned();
    let params = BTreeMap::from([
        ("file".to_owned(), file.clone()),
        ("sample".to_owned(), made.0.to_string()),
        ("threads".to_owned(), made.1.to_string()),
        ("rounds".to_owned(), args.rounds.to_string()),
    ]);
    let mut open = store.begin(Begin {
        name: Some(args.name.clone().unwrap_or_else(|| format!("tamp {file}"))),
        command: std::env::args().collect(),
        params,
        tags: args.tag.iter().cloned().collect(),
        random: stores::random(),
        sources: vec!["tamp".to_owned()],
        ..Begin::new(KIND, &host, start)
    })?;
    let end = stores::now();
    let mut rows = rows(points, &host, &args.file, end);
    open.append(&mut rows)?;
    let nothing = End::at(end);
    open.seal(nothing).context("the run cannot be kept")
}

fn rows(points: &[Point], host: &str, path: &Path, end: fenxi_model::Micros) -> Rows {
    let mut rows = Rows::new(host);
    rows.set_source("tamp");
    let speed = Unit::BytesPerS.symbol();
    for point in points {
        let labels = format!("mode={}", point.name);
        for (name, value, unit) in [
            ("tamp ratio", point.ratio, ""),
            ("tamp compress", point.compress, speed),
            ("tamp compress per cpu", point.compress_cpu, speed),
            ("tamp decompress", point.decompress, speed),
            ("tamp decompress per cpu", point.decompress_cpu, speed),
        ] {
            let mut row = rows.row(&metric::TABLE, end, None);
            row.str(metric::name, name).str(metric::labels, &*labels).f64(metric::value, value).str(metric::unit, unit);
        }
    }
    // The run's own results are those of `tamp`'s defaults.
    if let Some(point) = points.iter().find(|point| point.name == "zst -1") {
        for (name, value, unit, better) in [
            ("ratio", point.ratio, "", "lower"),
            ("compress", point.compress, speed, "higher"),
            ("decompress", point.decompress, speed, "higher"),
        ] {
            let mut row = rows.row(&result::TABLE, None, None);
            row.str(result::name, name).f64(result::value, value).str(result::unit, unit);
            row.str(result::better, better).str(result::source, "tamp zst -1");
        }
    }
    let mut row = rows.row(&text::TABLE, None, None);
    row.str(text::topic, "tamp").str(text::name, "file").text(text::value, &*path.to_string_lossy());
    rows
}
