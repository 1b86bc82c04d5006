//! `fenxi label mark`.

use std::process::ExitCode;

use anyhow::{anyhow, bail};
use clap::Args;
use fenxi_model::{Micros, RunId, parse_seconds};
use fenxi_store::{Mark, Store, StoreError};
use jiff::{Zoned, civil::Time, tz::TimeZone};
use serde_json::json;

use crate::{
    options::{Global, JsonArgs},
    print, stores,
};

/// `fenxi label mark`
#[derive(Debug, Args)]
#[command(after_help = "\
A mark names a moment: charts show it, and SQL has it as a row of the table
`event` whose kind is `mark`. Without --run, all recordings that are in progress
in the store are marked now. A mark in a run that has ended needs --at. Marks
are labels: the data of a run does not change, and a mark can be removed.

TIME is a time since the start of the run (90s, 5m), a time of day here
(14:30, 14:30:05.250), or a date and time (2026-11-21T14:30:05Z).

Examples:
  fenxi label mark 'failover begins'  in the recording in progress
  fenxi label mark 'index built' --run @1 --at 14:32:10
  fenxi label mark 'ramp ends' --run @1 --at 90s
  fenxi label mark --run @1           list marks
  fenxi label mark 'ramp ends' --run @1 --remove
  fenxi sql -r @1 \"SELECT t, message FROM event WHERE kind = 'mark'\"")]
pub struct MarkArgs {
    /// Text of the mark; omit it to list marks
    #[arg(value_name = "TEXT")]
    pub text: Option<String>,
    /// Run to mark, also one that is being recorded [default: every recording in progress]
    #[arg(long, short, value_name = "RUN")]
    pub run: Option<String>,
    /// Time of the mark [default: now]
    #[arg(long, value_name = "TIME")]
    pub at: Option<String>,
    /// Host of the mark, in a run of several hosts
    #[arg(long, value_name = "HOST")]
    pub host: Option<String>,
    /// Remove the marks of this text (of those at TIME only, with --at)
    #[arg(long, requires_all = ["text", "run"])]
    pub remove: bool,
    /// Form of the output
    #[command(flatten)]
    pub form: JsonArgs,
}

/// A run, sealed or being recorded.
struct Target {
    id: RunId,
    start: Micros,
    /// None: it is being recorded.
    end: Option<Micros>,
}

/// Sets, lists or removes marks.
pub fn run(global: &Global, args: &MarkArgs) -> anyhow::Result<ExitCode> {
    let store = stores::open(global)?;
    let targets = targets(&store, args)?;
    let Some(text) = args.text.as_deref().map(str::trim).filter(|text| !text.is_empty()) else {
        print::put(print::Form::json_if(args.form.is_json()), list(&store, &targets, args.form.is_json())?.as_bytes())?;
        return Ok(ExitCode::SUCCESS);
    };
    for target in &targets {
        let at = args.at.as_deref().map(|at| moment(at, target)).transpose()?;
        let said = if args.remove { remove(&store, target, text, at)? } else { set(&store, target, args, text, at)? };
        if !global.quiet {
            print::message(&format!("{}: {said}", target.id));
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn targets(store: &Store, args: &MarkArgs) -> anyhow::Result<Vec<Target>> {
    let recorded = store.recordings()?;
    let open = |of: &fenxi_store::Recorded| Target { id: of.id.clone(), start: of.begin.start, end: None };
    let Some(selector) = &args.run else {
        if recorded.is_empty() {
            bail!("no recording is in progress in this store; name a run with --run, such as --run @1 --at 90s");
        }
        return Ok(recorded.iter().map(open).collect());
    };
    let by_id = |of: &&fenxi_store::Recorded| of.id.as_str() == selector || of.begin.name.as_deref() == Some(selector);
    let chosen: Vec<Target> = recorded.iter().filter(by_id).map(open).collect();
    if !chosen.is_empty() {
        return Ok(chosen);
    }
    let sealed = |id: RunId| {
        let manifest = store.run(&id)?.manifest;
        Ok::<_, StoreError>(Target { id, start: manifest.start, end: Some(manifest.end) })
    };
    Ok(store.select_all([selector])?.into_iter().map(sealed).collect::<Result<_, _>>()?)
}

fn set(store: &Store, target: &Target, args: &MarkArgs, text: &str, at: Option<Micros>) -> anyhow::Result<String> {
    let now = stores::now();
    let t = match (at, target.end) {
        (Some(t), _) => t,
        (None, None) => now,
        (None, Some(_)) => bail!("run {} has ended: say when, such as --at 90s or --at 14:30", target.id),
    };
    let end = target.end.unwrap_or(now);
    if t < target.start || t > end {
        bail!("{} is outside run {}, which is from {} to {}", t.iso(), target.id, target.start.iso(), end.iso());
    }
    store.mark(&target.id, Mark { t, text: text.to_owned(), host: args.host.clone() })?;
    Ok(format!("`{text}` is marked at {} ({:.3} s)", t.iso(), t.seconds_since(target.start)))
}

fn remove(store: &Store, target: &Target, text: &str, at: Option<Micros>) -> anyhow::Result<String> {
    if target.end.is_none() {
        bail!("run {} is still being recorded: its marks can be removed when it has ended", target.id);
    }
    let n = store.change_labels(&target.id, |entry| Ok::<_, StoreError>(entry.labels.remove_marks(text, at)))?;
    if n == 0 {
        bail!("run {} has no mark `{text}`{}", target.id, at.map_or(String::new(), |at| format!(" at {}", at.iso())));
    }
    Ok(format!("`{text}` is removed"))
}

/// The moment that `text` means in a run: since its start, or on the clock.
fn moment(text: &str, target: &Target) -> anyhow::Result<Micros> {
    if let Some(seconds) = parse_seconds(text) {
        return Ok(target.start.after(seconds));
    }
    if let Some(t) = Micros::parse(text) {
        return Ok(t);
    }
    let time: Time = format!("T{text}").parse().map_err(|_| {
        anyhow!("`{text}` is no time: write 90s (since the start), 14:30:05 (here) or 2026-11-21T14:30:05Z")
    })?;
    // The day of the start, or the one after for a run over midnight.
    let begin: Zoned = jiff::Timestamp::from_microsecond(target.start.0)?.to_zoned(TimeZone::system());
    let at = |day: jiff::civil::Date| {
        Ok::<_, jiff::Error>(day.to_datetime(time).to_zoned(begin.time_zone().clone())?.timestamp())
    };
    let today = Micros(at(begin.date())?.as_microsecond());
    if today >= target.start { Ok(today) } else { Ok(Micros(at(begin.date().tomorrow()?)?.as_microsecond())) }
}

fn list(store: &Store, targets: &[Target], as_json: bool) -> anyhow::Result<String> {
    let mut rows = Vec::new();
    let mut lines = String::new();
    for target in targets {
        for mark in store.marks(&target.id)? {
            let at_s = mark.t.seconds_since(target.start);
            if as_json {
                let line = json!({
                    "run": target.id, "t": mark.t.iso(), "at_s": at_s, "text": mark.text, "host": mark.host,
                });
                lines += &format!("{line}\n");
            } else {
                rows.push(vec![target.id.to_string(), mark.t.iso(), format!("{at_s:.3}"), mark.text]);
            }
        }
    }
    if as_json {
        return Ok(lines);
    }
    if rows.is_empty() {
        return Ok("no marks; `fenxi label mark TEXT --run RUN --at 90s` sets one\n".to_owned());
    }
    Ok(print::listing(&["run", "time", "seconds", "mark"], &[2], &[1], &rows))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_moment_is_since_the_start_or_on_the_clock() {
        let start = Micros::parse("2026-11-21T23:30:00Z").unwrap();
        let target = Target { id: RunId::new(start, "x", 1), start, end: None };
        let at = |text: &str| moment(text, &target).map(Micros::iso).map_err(|e| e.to_string());
        assert_eq!(at("90s").unwrap(), "2026-11-21T23:31:30.000000Z");
        assert_eq!(at("2026-11-21T23:40:00Z").unwrap(), "2026-11-21T23:40:00.000000Z");
        let begin = jiff::Timestamp::from_microsecond(start.0).unwrap().to_zoned(TimeZone::system());
        let later = begin.saturating_add(jiff::Span::new().minutes(45));
        let expected = Micros(later.timestamp().as_microsecond()).iso();
        assert_eq!(at(&later.strftime("%H:%M").to_string()).unwrap(), expected, "perhaps after midnight");
        assert!(at("noon").unwrap_err().starts_with("`noon` is no time: "));
    }
}
