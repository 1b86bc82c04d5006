//! `fenxi import`.

mod archives;
mod binary;

use std::{collections::BTreeMap, path::PathBuf, process::ExitCode};

use anyhow::{Context, bail};
use clap::Args;
use fenxi_formats::Formats;
use fenxi_ingest::{Content, Imported, Outcome, Plan, Source, UnpackBudget, collect, import, kept};
use fenxi_model::{Micros, RunId, Unit};
use fenxi_store::{RunEntry, Store};
use jiff::{Timestamp, civil::DateTime, tz::TimeZone};
use serde_json::json;

use crate::{
    answers, formats, memory,
    options::{Global, JsonArgs, RunLabels, seconds},
    print,
    progress::{Bar, plural},
    stop::Stop,
    stores,
};

/// `fenxi import`
#[derive(Debug, Args)]
#[command(after_help = "\
A directory becomes one run of all its files, and so does an archive (tar, also
compressed, zip). Files may be compressed (gz, zst, bz2, xz); formats are
detected from contents. The run keeps its inputs, compressed. Averages since
boot, which many tools print first, go to separate tables: `boot.cpu`,
`boot.disk` … An archive written by `fenxi store export` is detected too: its
runs are imported unchanged. Formats of your own are files in the directory
`formats` of the store (`fenxi format try FILE` tries them).

Examples:
  fenxi import mpstat.log iostat.log --name baseline
  vmstat 1 60 | fenxi import -
  fenxi import results/ --tag kernel=6.18
  fenxi import sosreport-db1.tar.xz
  fenxi import vmstat.txt --start '2026-11-21 14:00' --interval 10
  fenxi import --again baseline  read its inputs again with current importers
  fenxi import oltp.tar.zst      import the runs of an archive")]
#[command(mut_arg("name", |arg| arg.help("Name of the run [default: name of the first path]")))]
pub struct ImportArgs {
    /// Files or directories; `-` is standard input
    #[arg(required_unless_present = "again", value_name = "PATH")]
    pub paths: Vec<PathBuf>,
    /// Name and tags
    #[command(flatten)]
    pub labels: RunLabels,
    /// Host name for all rows, overriding the files
    #[arg(long, value_name = "NAME", help_heading = "Hosts and times")]
    pub host: Option<String>,
    /// Start time, for files without dates or times
    #[arg(long, value_name = "TIME", help_heading = "Hosts and times")]
    pub start: Option<String>,
    /// Sampling interval, for files that do not state it
    #[arg(long, short, value_name = "TIME", value_parser = seconds, help_heading = "Hosts and times")]
    pub interval: Option<f64>,
    /// Time zone of times without one, such as `Europe/Berlin` or `UTC` [default: local]
    #[arg(long, value_name = "ZONE", help_heading = "Hosts and times")]
    pub zone: Option<String>,
    /// Format of all files, instead of detecting it (`fenxi list formats`)
    #[arg(long = "as", value_name = "FORMAT")]
    pub known_as: Option<String>,
    /// TOML file that maps columns of CSV, TSV or JSON Lines
    #[arg(long, value_name = "FILE")]
    pub map: Option<PathBuf>,
    /// Make a run of each file instead of one of all
    #[arg(long)]
    pub each: bool,
    /// Fail and keep nothing if anything cannot be read or has to be assumed
    #[arg(long)]
    pub strict: bool,
    /// Import even if an earlier run has the same inputs
    #[arg(long)]
    pub force: bool,
    /// Import the kept inputs of this run again, into a new run
    #[arg(long, value_name = "RUN", conflicts_with_all = ["paths", "each"])]
    pub again: Option<String>,
    /// Leave the answers that the page of a large run begins with to the first request
    #[arg(long)]
    pub no_answers: bool,
    /// Form of the output
    #[command(flatten)]
    pub form: JsonArgs,
}

/// Imports, and prints what each file gave.
pub fn run(global: &Global, args: &ImportArgs) -> anyhow::Result<ExitCode> {
    memory::keep_freed();
    let store = stores::create(global)?;
    let mut paths = args.paths.clone();
    let (archives, of_stdin) = archives::find(&mut paths)?;
    for archive in &archives {
        archives::take_in(global, args, &store, archive)?;
    }
    let stop = Stop::on_interrupt();
    let known = formats::of_store(&store, &stop);
    let plans = match &args.again {
        Some(run) => vec![again((&store, &known), args, run)?],
        None if paths.is_empty() => Vec::new(),
        None => plans((&store, &known), args, &paths, of_stdin, &stop)?,
    };
    for plan in &plans {
        let bar = Bar::new(global.quiet, plan.sources.iter().map(|s| s.content.bytes()).sum());
        let outcome = import(plan, &mut |progress| {
            bar.show(progress);
            !stop.asked()
        });
        bar.clear();
        let outcome = outcome?;
        if args.form.is_json() {
            print::json(&(summary_json(&outcome).to_string() + "\n"))?;
        } else if !global.quiet {
            if outcome.run.is_some() {
                print::text(&summary(&outcome.inputs))?;
            }
            print::messages(&describe(&outcome));
        }
        if let Some(run) = outcome.run.as_ref().filter(|_| !args.no_answers) {
            answers::prepare(&store, run, global.quiet, &stop);
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// The store that runs go to, and the formats that it knows.
type Into<'a> = (&'a Store, &'a Formats);

/// One plan for all paths, or with `--each` one for each file. `of_stdin` is what was read of standard input.
fn plans(
    into: Into<'_>,
    args: &ImportArgs,
    paths: &[PathBuf],
    of_stdin: Vec<u8>,
    stop: &Stop,
) -> anyhow::Result<Vec<Plan>> {
    let stopped = || stop.asked();
    let mut budget = UnpackBudget::until(&stopped);
    let mut sources = Vec::new();
    for path in paths {
        let context = || format!("cannot import {}", path.display());
        sources.extend(
            binary::read(path).transpose().unwrap_or_else(|| Ok(collect(path, &mut budget)?)).with_context(context)?,
        );
    }
    if let Some(source) = sources.iter_mut().find(|s| matches!(s.content, Content::Stdin(_))) {
        source.content = Content::Stdin(of_stdin);
    }
    if args.each {
        let one = |source: Source| plan(into, args, vec![source], None);
        return sources.into_iter().map(one).collect();
    }
    let name = paths.first().and_then(|p| p.file_name()).map(|n| n.to_string_lossy().into_owned());
    Ok(vec![plan(into, args, sources, name.filter(|n| n != "-"))?])
}

fn plan(
    (store, known): Into<'_>,
    args: &ImportArgs,
    sources: Vec<Source>,
    name: Option<String>,
) -> anyhow::Result<Plan> {
    let zone = zone(args.zone.as_deref())?;
    let mapping = match &args.map {
        Some(path) => Some(fs_err::read_to_string(path)?),
        None => None,
    };
    // Only a name that was made of a file's is made shorter.
    let of_file = || plain_name(&name.or_else(|| sources.first().map(|s| s.name.clone())).unwrap_or_default());
    let name = args.labels.name.clone().unwrap_or_else(of_file);
    let now = Micros(Timestamp::now().as_microsecond());
    Ok(Plan {
        tags: args.labels.tag.iter().cloned().collect(),
        command: std::env::args().collect(),
        formats: known.clone(),
        format: args.known_as.as_deref().map(|name| formats::named(known, name)).transpose()?,
        host: args.host.clone(),
        start: args.start.as_deref().map(|text| start(text, &zone)).transpose()?,
        interval_s: args.interval,
        zone,
        mapping,
        strict: args.strict,
        force: args.force,
        ..Plan::new(store.clone(), name, sources, now, stores::random())
    })
}

/// The inputs of a run once more, as they were read then unless the command line says otherwise.
fn again((store, known): Into<'_>, args: &ImportArgs, run: &str) -> anyhow::Result<Plan> {
    let entry = store.run(&store.select_one(run)?)?;
    let sources = kept(store, &entry)?;
    let Some(first) = entry.manifest.inputs.first() else {
        bail!("{} has no inputs: it is a {}, not an import", entry.manifest.id, entry.manifest.kind);
    };
    let said = |key: &str| first.hints.get(key).cloned();
    let zone_name = args.zone.clone().or_else(|| said("zone"));
    let mut plan = plan((store, known), args, sources, entry.labels.name.clone())?;
    plan.zone = zone(zone_name.as_deref())?;
    plan.force = true;
    plan.tags = merged(&entry, plan.tags);
    plan.host = plan.host.or_else(|| said("host"));
    plan.start = plan.start.or_else(|| Micros::parse(&said("start")?));
    plan.interval_s = plan.interval_s.or_else(|| said("interval")?.parse().ok());
    plan.mapping = plan.mapping.or_else(|| said("mapping"));
    if plan.format.is_none() {
        plan.format = said("format").as_deref().map(|name| formats::named(known, name)).transpose()?;
    }
    Ok(plan)
}

fn merged(entry: &RunEntry, tags: BTreeMap<String, String>) -> BTreeMap<String, String> {
    let mut all = entry.labels.tags.clone();
    all.extend(tags);
    all
}

/// A run's name from a file's: without the suffixes of its storage.
fn plain_name(name: &str) -> String {
    let base = name.rsplit('/').next().unwrap_or(name);
    let packed = [".gz", ".zst", ".bz2", ".xz"].iter().find_map(|end| base.strip_suffix(end)).unwrap_or(base);
    let bare = [".txt", ".log", ".out", ".tar", ".tgz", ".zip"]
        .iter()
        .find_map(|end| packed.strip_suffix(end))
        .unwrap_or(packed);
    bare.to_owned()
}

fn zone(name: Option<&str>) -> anyhow::Result<TimeZone> {
    match name {
        None => Ok(TimeZone::system()),
        Some(name) => {
            TimeZone::get(name).with_context(|| format!("--zone {name}: expected a name such as Europe/Berlin or UTC"))
        }
    }
}

/// A moment as people write it; in `zone` unless it names an offset.
fn start(text: &str, zone: &TimeZone) -> anyhow::Result<Micros> {
    if let Ok(timestamp) = text.parse::<Timestamp>() {
        return Ok(Micros(timestamp.as_microsecond()));
    }
    let civil = text.parse::<DateTime>().or_else(|_| format!("{text}:00").parse::<DateTime>());
    let civil = civil.ok().and_then(|civil| civil.to_zoned(zone.clone()).ok());
    match civil {
        Some(zoned) => Ok(Micros(zoned.timestamp().as_microsecond())),
        None => bail!("--start {text}: expected a time such as '2026-11-21 14:00' or 2026-11-21T14:00:00Z"),
    }
}

/// One line for each file.
fn summary(inputs: &[Imported]) -> String {
    let row = |i: &Imported| {
        let time = |t: Option<Micros>| t.map_or("-".to_owned(), Micros::to_the_second);
        let mut tables: Vec<_> = i.tally.tables.iter().map(|(name, n)| format!("{name} {n}")).collect();
        if i.tally.boot_rows > 0 {
            tables.push(format!("since boot {}", i.tally.boot_rows));
        }
        vec![
            i.name.clone(),
            i.format.unwrap_or("-").to_owned(),
            i.tally.rows().to_string(),
            time(i.tally.first),
            time(i.tally.last),
            i.tally.notes.to_string(),
            i.tally.assumptions.to_string(),
            i.skipped.as_ref().map_or_else(|| tables.join(", "), |why| format!("skipped: {why}")),
        ]
    };
    let rows: Vec<_> = inputs.iter().map(row).collect();
    print::listing(
        &["file", "format", "rows", "from (UTC)", "to (UTC)", "notes", "assumed", "tables"],
        &[2, 5, 6],
        &[4, 6],
        &rows,
    )
}

fn describe(outcome: &Outcome) -> String {
    let Some(run) = &outcome.run else {
        let runs: Vec<_> = outcome.already.iter().map(RunId::as_str).collect();
        return format!("already imported as {} (--force imports it again)", runs.join(", "));
    };
    let rows: u64 = outcome.inputs.iter().map(|i| i.tally.rows()).sum();
    let bytes: u64 = outcome.inputs.iter().map(|i| i.bytes).sum();
    let files = plural(outcome.inputs.len() as u64, "file");
    let mut text =
        format!("imported {run}: {} from {files} ({})", plural(rows, "row"), Unit::Bytes.human(bytes as f64));
    if outcome.inputs.len() > 1 {
        text.push('\n');
        text.push_str(&read_of(&outcome.inputs));
    }
    let notes: u64 = outcome.inputs.iter().map(|i| i.tally.notes + i.tally.assumptions).sum();
    if notes > 0 {
        text.push_str(&format!(
            "\n{} on what could not be read or was assumed: fenxi sql -r {run} \"select file, line, message from note\"",
            plural(notes, "note"),
        ));
    }
    text.push_str(&format!("\nnext: fenxi show {run}, fenxi ask -r {run}, fenxi report {run}"));
    text
}

/// Files that are named of those that were not read.
const NAMED: usize = 10;

/// How many of the files were read, and which were not and why.
fn read_of(inputs: &[Imported]) -> String {
    let unread: Vec<String> =
        inputs.iter().filter_map(|i| i.unread().map(|why| format!("{} ({why})", i.name))).collect();
    let read = format!("{} of {} files read", inputs.len() - unread.len(), inputs.len());
    if unread.is_empty() {
        return read;
    }
    let more = unread.len().saturating_sub(NAMED);
    let more = if more > 0 { format!(", and {more} more") } else { String::new() };
    format!("{read}; {} not: {}{more}", unread.len(), unread[..unread.len().min(NAMED)].join(", "))
}

fn summary_json(outcome: &Outcome) -> serde_json::Value {
    let input = |i: &Imported| {
        let tables: BTreeMap<_, _> = i.tally.tables.iter().copied().collect();
        json!({
            "file": i.name, "format": i.format, "bytes": i.bytes, "rows": i.tally.rows(), "tables": tables,
            "rows_since_boot": i.tally.boot_rows, "first": i.tally.first.map(Micros::iso),
            "last": i.tally.last.map(Micros::iso), "notes": i.tally.notes, "assumptions": i.tally.assumptions,
            "skipped": i.skipped, "no_text": i.foreign.map(|foreign| foreign.what),
        })
    };
    let inputs: Vec<_> = outcome.inputs.iter().map(input).collect();
    json!({ "run": outcome.run, "already": outcome.already, "inputs": inputs })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_start_is_read_in_its_zone() {
        let berlin = TimeZone::fixed(jiff::tz::offset(1));
        let at = |text| start(text, &berlin).unwrap().iso();
        assert_eq!(at("2026-11-21 14:00"), "2026-11-21T13:00:00.000000Z");
        assert_eq!(at("2026-11-21T14:00:30"), "2026-11-21T13:00:30.000000Z");
        assert_eq!(at("2026-11-21T14:00:00Z"), "2026-11-21T14:00:00.000000Z");
        assert!(start("yesterday", &berlin).is_err());
    }

    #[test]
    fn what_was_not_read_of_a_directory_is_named() {
        let input = |name: &str, format, rows: u64| Imported {
            name: name.to_owned(),
            format,
            tally: fenxi_formats::Tally { tables: vec![("cpu", rows)], ..Default::default() },
            skipped: None,
            foreign: None,
            bytes: 1,
        };
        let all = [input("a", Some("mpstat"), 5), input("b", None, 0), input("c", Some("vmstat"), 0)];
        assert_eq!(read_of(&all[..1]), "1 of 1 files read");
        assert_eq!(read_of(&all), "1 of 3 files read; 2 not: b (unknown format), c (nothing in it was understood)");
    }

    #[test]
    fn a_run_is_named_after_its_file() {
        assert_eq!(plain_name("dir/mpstat.log.gz"), "mpstat");
        assert_eq!(plain_name("results"), "results");
        assert_eq!((plain_name("a.tar.xz"), plain_name("b.tgz")), ("a".to_owned(), "b".to_owned()));
        assert_eq!(plain_name("a.csv"), "a.csv");
    }
}
