//! `fenxi store status`: copies of a store and their errors, as `zpool status` prints a pool.

use std::{fmt::Write, process::ExitCode, time::Duration};

use clap::Args;
use fenxi_model::Unit;
use fenxi_store::{CopiesStatus, CopyStatus, Store};
use serde_json::json;

use crate::{
    options::{Global, JsonArgs},
    print,
    progress::plural,
    stores,
};

/// How often `--follow` looks.
const LOOK: Duration = Duration::from_millis(200);

/// `fenxi store status`
#[derive(Debug, Args)]
#[command(after_help = "\
READ and WRITE count what failed, CKSUM files that did not match their checksum
or were gone, REPAIRED files that were written anew from another copy. The exit
status is 1 where a file is whole in no copy, or a copy cannot be used.

Examples:
  fenxi store status
  fenxi store status --clear
  fenxi store status --follow")]
pub struct StatusArgs {
    /// Set the counts to 0 first
    #[arg(long)]
    pub clear: bool,
    /// Print each file that is found damaged from now on, until Ctrl-C
    #[arg(long, conflicts_with_all = ["format", "json"])]
    pub follow: bool,
    /// Form of the output
    #[command(flatten)]
    pub form: JsonArgs,
}

/// Prints what is known of the copies.
pub fn run(global: &Global, args: &StatusArgs) -> anyhow::Result<ExitCode> {
    let store = stores::open_as_it_is(global)?;
    if args.clear {
        store.clear_copies_status()?;
    }
    let status = store.copies_status()?;
    let code = print(&store, &status, &args.form)?;
    if args.follow {
        follow(&store, status.incidents.last().map_or(0, |last| last.n))?;
    }
    Ok(code)
}

/// Prints what is found from now on, one line for each file.
fn follow(store: &Store, mut seen: u64) -> anyhow::Result<()> {
    loop {
        std::thread::sleep(LOOK);
        let incidents = store.copies_status()?.incidents;
        // Counts that were cleared begin anew.
        if incidents.last().is_none_or(|last| last.n < seen) {
            seen = 0;
        }
        for incident in incidents.iter().filter(|incident| incident.n > seen) {
            let copy = if incident.copy == "." { store.path().display().to_string() } else { incident.copy.clone() };
            let became = if incident.repaired { "repaired" } else { "whole in no copy" };
            let (at, file) = (incident.at.to_the_second(), print::visible(&incident.file));
            print::text(&format!("{at}  {became}  {file}  in {}\n", print::visible(&copy)))?;
        }
        seen = incidents.last().map_or(seen, |last| last.n);
    }
}

/// State of a store, in order of weight.
#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    Online,
    Behind,
    Repaired,
    Degraded,
    Faulted,
}

impl State {
    fn of(status: &CopiesStatus) -> State {
        let any = |test: fn(&CopyStatus) -> bool| status.copies.iter().any(test);
        match () {
            () if !status.damaged.is_empty() => State::Faulted,
            () if any(|copy| copy.unavailable.is_some()) => State::Degraded,
            () if any(|copy| copy.read + copy.write + copy.cksum > 0) => State::Repaired,
            () if any(is_behind) => State::Behind,
            () => State::Online,
        }
    }

    fn name(self) -> &'static str {
        match self {
            State::Online | State::Repaired | State::Behind => "ONLINE",
            State::Degraded => "DEGRADED",
            State::Faulted => "FAULTED",
        }
    }

    /// `status:` and `action:` in words.
    fn words(self) -> Option<(&'static str, &'static str)> {
        match self {
            State::Online => None,
            State::Behind => Some(("A copy lacks what was written meanwhile.", "`fenxi store scrub` brings it there.")),
            State::Repaired => Some((
                "Files could not be read, written, or did not match their checksum. What a copy had whole was repaired; \
                 no answer was affected.",
                "See whether the disk of that copy needs to be replaced; `fenxi store status --clear` sets the counts to 0.",
            )),
            State::Degraded => Some((
                "A copy cannot be used. Everything is read from the others.",
                "Mount or repair its disk, then run `fenxi store scrub`.",
            )),
            State::Faulted => Some((
                "Files are whole in no copy. The runs below cannot be read; all others can.",
                "Restore them from an archive: `fenxi store rm RUN`, then `fenxi import`; `fenxi store scrub` looks again.",
            )),
        }
    }
}

fn is_behind(copy: &CopyStatus) -> bool {
    copy.path != "." && (copy.epoch == 0 || !copy.behind.is_empty())
}

fn state_of(copy: &CopyStatus) -> &'static str {
    match () {
        () if copy.unavailable.is_some() => "UNAVAIL",
        () if is_behind(copy) => "BEHIND",
        () => "ONLINE",
    }
}

/// Prints a status; the exit status is 1 where something has to be done.
pub fn print(store: &Store, status: &CopiesStatus, form: &JsonArgs) -> anyhow::Result<ExitCode> {
    let state = State::of(status);
    if form.is_json() {
        let shown = json!({ "store": store.path(), "state": state.name(), "status": state.words().map(|(words, _)| words),
            "action": state.words().map(|(_, action)| action), "copies": status.copies, "scrub": status.scrub,
            "damaged": status.damaged, "incidents": status.incidents });
        print::json(&format!("{shown}\n"))?;
    } else {
        print::text(&text(store, status, state))?;
    }
    let is_bad = matches!(state, State::Degraded | State::Faulted);
    Ok(if is_bad { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

fn text(store: &Store, status: &CopiesStatus, state: State) -> String {
    let mut out =
        format!("  store: {}\n  state: {}\n", print::visible(&store.path().display().to_string()), state.name());
    if let Some((words, action)) = state.words() {
        // Writing to a string cannot fail.
        let _ = write!(out, " status: {words}\n action: {action}\n");
    }
    let scrub = match &status.scrub {
        None => "none yet".to_owned(),
        Some(done) => {
            let (files, bytes) = (plural(done.files, "file"), Unit::Bytes.human(done.bytes as f64));
            let (repaired, filled) = (done.repaired, done.filled);
            let at = done.at.to_the_second();
            format!("repaired {repaired}, filled {filled}; {files} ({bytes}) read in {:.1} s, ended {at}", done.seconds)
        }
    };
    let _ = write!(out, "   scan: scrub {scrub}\nconfig:\n\n");
    let rows: Vec<Vec<String>> = status
        .copies
        .iter()
        .map(|copy| {
            let path = if copy.path == "." { store.path().display().to_string() } else { copy.path.clone() };
            let counts = [copy.read, copy.write, copy.cksum, copy.repaired].map(|n| n.to_string());
            [vec![print::visible(&path).into_owned(), state_of(copy).to_owned()], counts.to_vec()].concat()
        })
        .collect();
    let table = print::listing(&["COPY", "STATE", "READ", "WRITE", "CKSUM", "REPAIRED"], &[2, 3, 4, 5], &[], &rows);
    table.lines().for_each(|line| out += &format!("        {line}\n"));
    for copy in &status.copies {
        if let Some(why) = &copy.unavailable {
            let _ = writeln!(out, "        {}: {}", print::visible(&copy.path), print::visible(why));
        }
    }
    if status.copies.len() < 2 {
        out += "\nThere are no copies: `copies` in store.json names folders for them.\n";
    }
    match status.damaged.is_empty() {
        true => out += "\nerrors: No known data errors\n",
        false => {
            out += "\nerrors: whole in no copy:\n";
            status
                .damaged
                .iter()
                .for_each(|(file, why)| out += &format!("        {}: {}\n", print::visible(file), print::visible(why)));
        }
    }
    out
}
