//! `fenxi lsync`, which is also the command `Lsync`: keeps two home directories the same, with rsync over ssh.

use std::{
    io::{self, BufRead},
    path::{Path, PathBuf},
    process::{Command, ExitCode},
};

use anyhow::{Context, bail};
use clap::Args;
use fenxi_lsync::{Check, Entry, Error, Item, Pair, Plan, Scope, Side, TRASH, Undo, Verdict};
use fenxi_model::Unit;
use fenxi_source::Root;
use jiff::{Timestamp, tz::TimeZone};
use serde_json::{Value, json};

use crate::{
    machine,
    options::{Global, JsonArgs},
    print,
};

/// Deletions above which a `y` is not enough, and the share of the files that they are.
const MANY: usize = 100;
const MANY_OF: u64 = 20;

/// `fenxi lsync`
#[derive(Debug, Args)]
#[command(
    alias = "Lsync",
    after_help = "\
Functions:
  l     list what to sync from the laptop to the master
  m     list what to sync from the master to the laptop
  L     sync from the laptop to the master
  M     sync from the master to the laptop
  e     edit the rsync includes file: what of a whole home is synced
  undo  restore what the last sync replaced and deleted

The hosts are named in ~/.config/fenxi/lsync.toml; `master = \"HOST\"` is enough.
The other host needs ssh and rsync. A file that changed on the receiver since
the last sync is not replaced or deleted without --mine or --theirs.

Exit status: 0 done, or nothing in the way; 1 refused, not confirmed, or failed;
2 wrong command line or configuration.

Examples:
  fenxi lsync l               what changed here
  fenxi lsync L               take it to the master
  fenxi lsync L ~/tools/sh    only this directory; the includes do not count
  fenxi lsync L --theirs      but nothing that is newer there"
)]
pub struct LsyncArgs {
    /// Function: l, m, L, M, e or undo
    #[arg(value_name = "FUNCTION", value_parser = ["l", "m", "L", "M", "e", "undo"], hide_possible_values = true)]
    pub function: String,
    /// Directory below the home [default: the whole home]
    #[arg(value_name = "DIR")]
    pub dir: Option<PathBuf>,
    /// Where the receiver has newer work, this host's version counts
    #[arg(long, conflicts_with = "theirs")]
    pub mine: bool,
    /// Where the receiver has newer work, the other host's version counts
    #[arg(long)]
    pub theirs: bool,
    /// Compare contents, not size and time
    #[arg(long)]
    pub checksum: bool,
    /// Remote shell, with its options [default: ssh]
    #[arg(long, value_name = "COMMAND")]
    pub rsh: Option<String>,
    /// Form of the output of `l` and `m`
    #[command(flatten)]
    pub form: JsonArgs,
}

/// Lists, syncs, edits or undoes.
pub fn run(_: &Global, args: &LsyncArgs) -> anyhow::Result<ExitCode> {
    match work(args) {
        Ok(is_done) => Ok(if is_done { ExitCode::SUCCESS } else { ExitCode::FAILURE }),
        // In the words of the original tool.
        Err(error) if matches!(error.downcast_ref(), Some(Error::Usage(_))) => {
            print::message(&error.to_string());
            Ok(ExitCode::from(2))
        }
        Err(error) => Err(error),
    }
}

/// Whether all was done, and nothing is in the way.
fn work(args: &LsyncArgs) -> anyhow::Result<bool> {
    let home = std::env::home_dir().context("HOME is not set")?;
    let place = std::env::var_os("XDG_CONFIG_HOME").filter(|path| !path.is_empty());
    let place = place.map_or_else(|| home.join(".config"), PathBuf::from).join("fenxi/lsync.toml");
    let is_list = ["l", "m"].contains(&args.function.as_str());
    if args.form.is_json() && !is_list {
        return Err(Error::Usage("JSON is for the functions l and m".to_owned()).into());
    }
    if ["e", "undo"].contains(&args.function.as_str()) && args.dir.is_some() {
        return Err(Error::Usage("this function takes no directory".to_owned()).into());
    }
    let mut pair = Pair::read(&place, &home, &machine::hostname(&Root::live()))?;
    if let Some(rsh) = &args.rsh {
        pair.rsh.clone_from(rsh);
    }
    let from = match args.function.as_str() {
        "l" | "L" => Side::Laptop,
        "m" | "M" => Side::Master,
        "e" => return edit(&pair.includes),
        _ => return undo(&pair),
    };
    let scope = args.dir.as_ref().map_or(Ok(Scope::default()), |dir| Scope::new(&pair, dir))?;
    let whose = match (args.mine, args.theirs) {
        (true, _) => Some(pair.here),
        (_, true) => Some(pair.here.other()),
        _ => None,
    };
    let _lock = if is_list { None } else { Some(pair.lock()?) };
    if !args.form.is_json() {
        let what = if is_list { "listing what to sync" } else { "SYNCING everything" };
        let ([from, to], under) = ([from, from.other()].map(|side| pair.name(side)), scope.shown());
        print::text(&format!("-- Lsync: {what} under {} from {from} to {to}\n", print::visible(&under)))?;
    }
    let check = Check::new(&pair, from, scope, args.checksum)?;
    check.report.messages.iter().for_each(|line| print::message(line));
    let plan = Plan::new(&check.items, from, whose);
    let is_refused = whose.is_none() && !plan.left.is_empty();
    let found = Found { pair: &pair, check, plan };
    if args.form.is_json() {
        print::json(&format!("{:#}\n", found.json()))?;
        return Ok(!is_refused && found.check.report.is_whole);
    }
    print::text(&found.text(is_list))?;
    if is_refused {
        print::messages(&found.refusal());
        return Ok(false);
    }
    if !is_list {
        return found.sync();
    }
    if !found.plan.is_empty() {
        print::text(&format!("-- Use \"Lsync {}\" to perform sync\n", letter(from)))?;
    }
    Ok(found.check.report.is_whole)
}

/// The letter of the function that syncs from a side.
fn letter(from: Side) -> &'static str {
    if from == Side::Laptop { "L" } else { "M" }
}

/// Findings of a check, and the plan that resolves them.
struct Found<'p> {
    pair: &'p Pair,
    check: Check,
    plan: Plan,
}

impl Found<'_> {
    fn sync(&self) -> anyhow::Result<bool> {
        let Found { pair, check, plan } = self;
        if !plan.is_empty() && !self.is_confirmed()? {
            print::message("Lsync: not confirmed, nothing was synced");
            return Ok(false);
        }
        let trash = trash_name();
        let report = pair.sync(check, plan, &trash, &mut |line| {
            // Where no one reads it, the sync goes on: it is half done.
            let _ = print::text(&path(check, &line.path, line.is_dir, line.entry.is_none()));
        })?;
        report.messages.iter().for_each(|line| print::message(line));
        report.totals.iter().try_for_each(|line| print::text(&format!("{line}\n")))?;
        if !plan.is_empty() {
            let (what, to) = ("-- What was replaced or deleted", pair.name(check.from.other()));
            print::text(&format!("{what} is in ~/{TRASH}/{trash} on {to}; \"Lsync undo\" restores it\n"))?;
        }
        Ok(report.is_whole && check.report.is_whole)
    }

    /// Asks whether to go on: for a `y`, or where much is deleted, for the number.
    fn is_confirmed(&self) -> anyhow::Result<bool> {
        let (deleted, _) = Plan::files(&self.plan.deletions);
        if deleted > MANY || deleted as u64 * MANY_OF > self.check.report.files + deleted as u64 {
            let question = format!("Enter {deleted}, the number of files to delete, to confirm:");
            return is_answered(&question, &deleted.to_string());
        }
        is_answered("Enter 'y' to confirm:", "y")
    }

    /// Deletions first, then what is sent if that is asked for, what is newer on the receiver, and totals.
    fn text(&self, with_sent: bool) -> String {
        let Found { pair, check, plan } = self;
        let to = pair.name(check.from.other());
        let sent = plan.transfers.iter().filter(|_| with_sent);
        let items = plan.deletions.iter().chain(sent);
        let mut text: String = items
            .map(|item| path(check, &item.path, item.entry().is_some_and(Entry::is_dir), item.is_deletion()))
            .collect();
        let width = plan.left.iter().map(|item| why(item).len()).max().unwrap_or(0);
        for (n, item) in plan.left.iter().enumerate() {
            if n == 0 {
                text += &format!("-- Newer on {to}:\n");
            }
            text += &format!("{:width$}  {}", why(item), path(check, &item.path, false, false));
        }
        check.report.totals.iter().filter(|_| with_sent).for_each(|line| text += &format!("{line}\n"));
        let count = |n: usize| if n == 1 { "1 file".to_owned() } else { format!("{n} files") };
        let of = |(n, bytes): (usize, u64)| format!("{} ({})", count(n), Unit::Bytes.human(bytes as f64));
        text += &format!(
            "-- To delete: {}; to send: {}",
            of(Plan::files(&plan.deletions)),
            of(Plan::files(&plan.transfers))
        );
        let newer = plan.left.len();
        text + &if newer == 0 { "\n".to_owned() } else { format!(", {newer} newer on {to}\n") }
    }

    /// Why a sync is refused, and the ways out.
    fn refusal(&self) -> String {
        let Found { pair, check, plan } = self;
        let (letter, to) = (letter(check.from), pair.name(check.from.other()));
        let [leaves, replaces] = if check.from == pair.here { ["theirs", "mine"] } else { ["mine", "theirs"] };
        let n = plan.left.len();
        let paths = if n == 1 { "1 path is".to_owned() } else { format!("{n} paths are") };
        format!(
            "Lsync: refused: {paths} newer on {to}\n\
             \"Lsync {letter} --{leaves}\" leaves them alone and syncs the rest\n\
             \"Lsync {letter} --{replaces}\" replaces them; they go to the trash on {to}"
        )
    }

    /// A check for programs.
    fn json(&self) -> Value {
        let Found { pair, check, plan } = self;
        let all = [(&plan.deletions, "delete"), (&plan.transfers, "send"), (&plan.left, "leave")];
        let items = all.iter().flat_map(|(items, action)| items.iter().map(|item| json_of(item, action)));
        let sum = |(files, bytes): (usize, u64)| json!({"files": files, "bytes": bytes});
        json!({
            "from": pair.name(check.from), "to": pair.name(check.from.other()), "under": check.scope.shown(),
            "items": items.collect::<Vec<_>>(), "delete": sum(Plan::files(&plan.deletions)), "send": sum(Plan::files(&plan.transfers)),
            "newer": plan.left.len(), "whole": check.report.is_whole, "messages": check.report.messages,
        })
    }
}

/// A path that is sent or deleted.
fn path(check: &Check, path: &[u8], is_dir: bool, is_deletion: bool) -> String {
    let deleting = if is_deletion { "deleting " } else { "" };
    let name = String::from_utf8_lossy(check.scope.relative(path));
    format!("{deleting}{}{}\n", print::visible(&name), if is_dir { "/" } else { "" })
}

/// Why a sync leaves it alone.
fn why(item: &Item) -> &'static str {
    if item.verdict == Verdict::Sender { "in its place" } else { item.change() }
}

fn json_of(item: &Item, action: &str) -> Value {
    let mut value = json!({
        "path": String::from_utf8_lossy(&item.path), "action": action, "changed_by": item.verdict,
        "change": item.change(),
        "bytes": item.entry().map(Entry::bytes),
    });
    // A name that is no text: JSON has no other way to hold it.
    if str::from_utf8(&item.path).is_err() {
        value["path_hex"] = item.path.iter().map(|byte| format!("{byte:02x}")).collect::<String>().into();
    }
    value
}

/// The name of a new folder in the trash, by which these are in the order of time.
fn trash_name() -> String {
    Timestamp::now().to_zoned(TimeZone::UTC).strftime("%Y%m%d-%H%M%S-%3f").to_string()
}

fn is_answered(question: &str, expected: &str) -> anyhow::Result<bool> {
    print::message(question);
    let mut answer = String::new();
    io::stdin().lock().read_line(&mut answer)?;
    Ok(answer.trim() == expected)
}

/// Lets the user's editor change the includes.
fn edit(includes: &Path) -> anyhow::Result<bool> {
    // The variables may hold options: the shell makes words of them.
    let script = "exec ${VISUAL:-${EDITOR:-vi}} \"$1\"";
    let status = Command::new("sh").args(["-c", script, "sh"]).arg(includes).status().context("sh")?;
    if !status.success() {
        bail!("the editor failed ({status}); VISUAL or EDITOR names another one");
    }
    Ok(true)
}

fn undo(pair: &Pair) -> anyhow::Result<bool> {
    let _lock = pair.lock()?;
    let Some(undo) = Undo::last(pair)? else { bail!("no sync of these homes is known here that could be undone") };
    let on = pair.name(undo.receiver);
    print::text(&format!("-- Lsync: restoring from ~/{} on {on}\n", undo.from))?;
    let paths = undo.list(pair)?;
    let line = |path: &Vec<u8>| format!("{}\n", print::visible(&String::from_utf8_lossy(path)));
    print::text(&paths.iter().map(line).collect::<String>())?;
    if paths.is_empty() {
        print::text("-- Nothing is to be restored\n")?;
        return Ok(true);
    }
    if !is_answered("Enter 'y' to confirm:", "y")? {
        print::message("Lsync: not confirmed, nothing was restored");
        return Ok(false);
    }
    let trash = trash_name();
    let report = undo.apply(pair, &trash)?;
    report.messages.iter().for_each(|line| print::message(line));
    print::text(&format!("-- What was in their place is in ~/{TRASH}/{trash} on {on}\n"))?;
    Ok(report.is_whole)
}
