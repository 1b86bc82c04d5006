//! `fenxi format try`: what reads which lines of a file, and the rows that they give; nothing is kept.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    process::ExitCode,
    sync::Arc,
    time::Duration,
};

use clap::Args;
use fenxi_formats::{
    AnyFormat, Formats, Head, Hints, Input, OwnFormat,
    account::{Account, account},
    foreign, lacks, nearest,
};
use fenxi_model::Micros;
use jiff::tz::TimeZone;

use super::{bytes_of, described, shown};
use crate::{
    formats,
    options::{Global, JsonArgs},
    print,
    stop::Stop,
    stores,
};

/// How often files are looked at that are watched.
const LOOK: Duration = Duration::from_millis(150);
/// Formats that are named where none reads a text.
const NEAR: usize = 3;

/// `fenxi format try`
#[derive(Debug, Args)]
#[command(after_help = "\
Without --description or --as it is the format that `fenxi import` would use.

Examples:
  fenxi format try pool.log --description pool.toml --watch
  fenxi format try iostat.txt
  fenxi format try pool.log --as poolstat --json")]
pub struct TryArgs {
    /// File to read, compressed or not
    #[arg(value_name = "FILE")]
    pub file: PathBuf,
    /// Description to read it by
    #[arg(long, value_name = "X.toml", conflicts_with = "as_format")]
    pub description: Option<PathBuf>,
    /// Format to read it as: a shipped one, or one of the store
    #[arg(long = "as", value_name = "FORMAT")]
    pub as_format: Option<String>,
    /// Try again on each save of the file or the description, until Ctrl-C
    #[arg(long)]
    pub watch: bool,
    /// Show all lines; otherwise the first few that are read the same way
    #[arg(long)]
    pub all: bool,
    /// Form of the output
    #[command(flatten)]
    pub form: JsonArgs,
}

/// Tries it once, or again and again.
pub fn run(global: &Global, args: &TryArgs) -> anyhow::Result<ExitCode> {
    let stop = Stop::on_interrupt();
    if !args.watch {
        let text = once(global, args, &stop)?;
        print::paged(print::Form::json_if(args.form.is_json()), &text)?;
        return Ok(ExitCode::SUCCESS);
    }
    let files: Vec<&Path> = std::iter::once(args.file.as_path()).chain(args.description.as_deref()).collect();
    let mut again = false;
    while !stop.asked() {
        let before = saved(&files);
        match once(global, args, &stop) {
            Ok(text) if args.form.is_json() => print::json(&text)?,
            Ok(text) => print::text(&format!("{}{text}", if again { "\nagain, as it was saved:\n\n" } else { "" }))?,
            // Somebody is in the middle of writing it.
            Err(error) => print::error(&error),
        }
        // An editor may put a new file in the place of the old one: it is gone for a moment.
        let as_before = |now: &[Option<_>]| now == before || now.contains(&None) && !before.contains(&None);
        while !stop.asked() && as_before(&saved(&files)) {
            std::thread::sleep(LOOK);
        }
        again = true;
    }
    Ok(ExitCode::SUCCESS)
}

/// When files were written last, and how long they are; of one that is just being replaced, nothing.
fn saved(files: &[&Path]) -> Vec<Option<(std::time::SystemTime, u64)>> {
    let of = |file: &&Path| fs_err::metadata(file).and_then(|meta| Ok((meta.modified()?, meta.len()))).ok();
    files.iter().map(of).collect()
}

/// The format tried, and the one that `fenxi import` would use.
struct Chosen {
    format: AnyFormat,
    import: Option<&'static str>,
    /// The description's text, so that its parts have lines.
    toml: Option<String>,
}

fn once(global: &Global, args: &TryArgs, stop: &Stop) -> anyhow::Result<String> {
    anyhow::ensure!(args.file.as_os_str() != "-", "give a file: standard input cannot be tried");
    let bytes = bytes_of(&args.file)?;
    if let Some(foreign) = foreign(&bytes[..bytes.len().min(fenxi_formats::HEAD_BYTES)]) {
        anyhow::bail!("{} is {}, no text", args.file.display(), foreign.what);
    }
    let known = match stores::open_as_it_is(global) {
        Ok(store) => formats::of_store(&store, stop),
        Err(_) => Formats::default(),
    };
    let input = Input::new(&bytes[..]);
    let head = input.head();
    let chosen = choose(args, &known, &Head { text: &head })?;
    let name = args.file.display().to_string();
    let modified = fs_err::metadata(&args.file).and_then(|meta| meta.modified()).ok();
    let since_1970 = modified.and_then(|time| time.duration_since(std::time::UNIX_EPOCH).ok());
    let hints = Hints {
        zone: TimeZone::system(),
        modified: since_1970.map(|since| Micros(since.as_micros() as i64)),
        ..Hints::none(&name)
    };
    let account = account(&chosen.format, &bytes, hints);
    anyhow::ensure!(!stop.asked(), "interrupted");
    let parts = parts_of(&chosen);
    let reading = shown::Reading { account: &account, format: chosen.format.name(), parts: &parts, all: args.all };
    if args.form.is_json() {
        return Ok(reading.json(&name, chosen.import));
    }
    let verdict = verdict(&name, &chosen, &account, &Head { text: &head });
    Ok(format!("{}\n{verdict}", reading.text()))
}

fn choose(args: &TryArgs, known: &Formats, head: &Head<'_>) -> anyhow::Result<Chosen> {
    let import = known.detect(head);
    let name = import.as_ref().map(AnyFormat::name);
    if let Some(path) = &args.description {
        let own: Arc<dyn OwnFormat> = described(path)?;
        // As an import with it in the store.
        let with = Formats::with(std::iter::once(own.clone()).chain(known.own().iter().cloned()).collect());
        let import = with.detect(head).map(|format| format.name());
        return Ok(Chosen { format: AnyFormat::Own(own), import, toml: Some(fs_err::read_to_string(path)?) });
    }
    if let Some(wanted) = &args.as_format {
        return Ok(Chosen { format: formats::named(known, wanted)?, import: name, toml: None });
    }
    match import {
        Some(format) => Ok(Chosen { format, import: name, toml: None }),
        None => {
            let near = nearest(known, head, NEAR);
            let lines: String = near.iter().map(|near| format!("\nnear: {near}")).collect();
            anyhow::bail!(
                "no format reads {}; `fenxi format new --from {}` drafts a description{lines}",
                args.file.display(),
                args.file.display()
            )
        }
    }
}

/// The lines of a description at which its parts begin: `[[line]]`, `[[table]]`, by their numbers.
fn parts_of(chosen: &Chosen) -> BTreeMap<&'static str, Vec<usize>> {
    let mut parts: BTreeMap<&'static str, Vec<usize>> = BTreeMap::new();
    for (at, line) in chosen.toml.as_deref().unwrap_or_default().lines().enumerate() {
        for part in ["[[line]]", "[[table]]"] {
            if line.trim_start().starts_with(part) {
                parts.entry(part).or_default().push(at + 1);
            }
        }
    }
    parts
}

/// The verdict: how much was read, and how an import would recognise the file.
fn verdict(file: &str, chosen: &Chosen, account: &Account, head: &Head<'_>) -> String {
    let name = chosen.format.name();
    let recognised = match chosen.import {
        Some(found) if found == name => "recognised by its content".to_owned(),
        found => {
            let import = match found {
                Some(other) => format!("`fenxi import` would read it as {other}; `--as {name}` reads it so"),
                None => format!("not recognised by its content; `fenxi import --as {name}` reads it"),
            };
            match lacks(&chosen.format, head).as_slice() {
                [] => import,
                missing => format!("{import}\n[recognise] asks for {}", missing.join(", ")),
            }
        }
    };
    format!("{}{recognised}\n", shown::summary(file, name, account))
}
