//! `fenxi memstat`.

use std::{
    io,
    path::{Path, PathBuf},
    process::ExitCode,
};

use anyhow::bail;
use clap::{Args, CommandFactory, error::ErrorKind};
use fenxi_live::{View, memstat};
use fenxi_model::{
    Table,
    catalog::{file_cache, mem, page_cache},
};
use fenxi_source::{
    Source,
    residency::{self, Files, Processes, System, Target},
};

use super::live::{self, LiveArgs, Tool};
use crate::{args::Cli, print};

/// `fenxi memstat`
#[derive(Debug, Args)]
#[command(after_help = "\
Without an option, the page summary: parts that add up to the machine's memory,
in pages, MB (of 2^20 bytes) and percent. With an INTERVAL, a line each time,
in MB:
  kernel   slab, stacks, page tables, per-CPU data, and what no counter tells
  anon     programs' own memory: heap, stack
  shared   shared memory and tmpfs; PostgreSQL's shared buffers are here
  exec     page cache of executables and libraries, `-` where it cannot be
           known; it is counted again every 10 s at most
  cache    other page cache that is clean; dirty: to be written out
  huge     explicit huge pages, used or not
  free     not used for anything

Files (--files, -p): size, how much of it is in the page cache, how much of
that is dirty, and how processes have it open: with O_DIRECT (`direct`),
through the page cache (`buffered`), or `both`. What of a file is cached is
told to its owner, to who may write it, and to root; `-` is not known.

Databases (--db): the same for a server's data files, its own buffer pool, and
a verdict. Nothing is asked of the server: no password is needed.

INTERVAL and COUNT come before --files.

Examples:
  fenxi memstat                        where memory went
  fenxi memstat 5 12                   a line every 5 seconds, 12 times
  fenxi memstat -p 1234                what of a process's files is cached
  fenxi memstat --files /var/lib/app   the same for the files below a folder
  fenxi memstat 10 --files a.db b.db   two files, every 10 seconds
  fenxi memstat --db                   is a database here cached twice?
  fenxi memstat --db=/var/lib/mysql    only that one, running or not
  fenxi memstat 10 60 --save cache     keep it; later: fenxi memstat --run cache")]
pub struct MemstatArgs {
    /// Residency of these files, or of all below these folders, in the page cache
    #[arg(long, value_name = "PATH", num_args = 0.., conflicts_with_all = ["db", "root"])]
    pub files: Option<Vec<PathBuf>>,
    /// Residency of the files that these processes have open or mapped
    #[arg(short, long = "pid", value_name = "PID", value_delimiter = ',', conflicts_with_all = ["run", "root", "db"])]
    pub pid: Vec<u32>,
    /// Is a database cached twice? Of all servers that run, or: postgres, mariadb, a data directory
    #[arg(long, value_name = "WHICH", num_args = 0..=1, require_equals = true, default_missing_value = "all",
          value_parser = database, conflicts_with = "root")]
    pub db: Option<Db>,
    /// Files to show at most [default: 20; with --db 5]
    #[arg(long, value_name = "N")]
    pub top: Option<usize>,
    /// When, how often, and where to
    #[command(flatten)]
    pub live: LiveArgs,
}

/// Which database servers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Db {
    /// All that run.
    All,
    /// Those of one kind that run.
    Of(System),
    /// That of a data directory.
    At(PathBuf),
}

fn database(text: &str) -> Result<Db, String> {
    match text {
        "all" => Ok(Db::All),
        "postgres" | "postgresql" => Ok(Db::Of(System::Postgres)),
        "mariadb" | "mysql" => Ok(Db::Of(System::Mariadb)),
        path if path.contains('/') || path == "." => Ok(Db::At(PathBuf::from(path))),
        _ => Err("expected postgres, mariadb, or the path of a data directory".to_owned()),
    }
}

/// What is shown: sources, tables and view.
type Shown = (Vec<&'static dyn Source>, Vec<&'static Table>, Box<dyn View>);

/// Shows it until the count is reached or a signal comes.
pub fn run(cli: &Cli, args: &MemstatArgs) -> anyhow::Result<ExitCode> {
    let mut when = args.live.clone();
    // Nothing here is a difference of two moments: without an interval, one is shown at once.
    let once = when.interval.is_none() && when.run.is_none();
    if once {
        (when.interval, when.count) = (Some(AT_ONCE_S), Some(1));
    }
    let (sources, tables, view) = if when.run.is_some() { recorded(args) } else { now(args, once)? };
    live::run(cli, &when, Tool { name: "memstat", sources, tables, view, since_boot: false, command: None })
}

/// Seconds until the only sample: the least interval that there is.
const AT_ONCE_S: f64 = 0.01;

/// What a run has, or what of it was chosen.
fn recorded(args: &MemstatArgs) -> Shown {
    let width = print::width(&io::stdout());
    let [summary, files, databases] = views(args, memstat::Layout::Fitting, width);
    if args.files.as_ref().is_some_and(|paths| !paths.is_empty()) {
        usage("with --run, --files takes no PATH: all files of the run are shown");
    }
    if args.db.is_some() {
        (Vec::new(), vec![&page_cache::TABLE, &file_cache::TABLE], databases)
    } else if args.files.is_some() {
        (Vec::new(), vec![&file_cache::TABLE], files)
    } else {
        let all = Box::new(memstat::Recorded::new(summary, files, databases));
        (Vec::new(), vec![&mem::TABLE, &page_cache::TABLE, &file_cache::TABLE], all)
    }
}

fn now(args: &MemstatArgs, once: bool) -> anyhow::Result<Shown> {
    let layout = if once { memstat::Layout::Fitting } else { memstat::Layout::Lines };
    let [summary, files, databases] = views(args, layout, print::width(&io::stdout()));
    Ok(if let Some(db) = &args.db {
        (vec![leaked(servers(db)?)], vec![&page_cache::TABLE, &file_cache::TABLE], databases)
    } else if args.files.is_some() || !args.pid.is_empty() {
        (vec![leaked(chosen(args)?)], vec![&file_cache::TABLE], files)
    } else {
        // Of a saved copy it is known that programs cannot be asked: no word about it each time.
        let names: &[&str] = if args.live.root.is_some() { &["mem"] } else { &["mem", "page_cache"] };
        (live::sources(names), vec![&mem::TABLE, &page_cache::TABLE], summary)
    })
}

/// The summary, files, databases.
fn views(args: &MemstatArgs, layout: memstat::Layout, width: Option<usize>) -> [Box<dyn View>; 3] {
    [
        Box::new(memstat::Summary::new(layout, residency::page_size(), width)),
        Box::new(memstat::Files::new(args.top.unwrap_or(20), width)),
        Box::new(memstat::Databases::new(args.top.unwrap_or(5), width)),
    ]
}

/// A source that lives as long as the program, as all sources do; there is one.
fn leaked(target: Target) -> &'static dyn Source {
    Box::leak(Box::new(Files::new(target)))
}

fn chosen(args: &MemstatArgs) -> anyhow::Result<Target> {
    let paths = args.files.as_deref().unwrap_or_default();
    match (paths.is_empty(), args.pid.is_empty()) {
        (true, true) => usage("say which files: --files PATH…, or those of processes with -p PID"),
        (false, false) => usage("--files PATH and -p PID are two questions: ask one at a time"),
        (false, true) => {
            if let Some(path) = paths.iter().find(|path| !exists(path)) {
                let number = path.to_str().is_some_and(|text| text.bytes().all(|b| b.is_ascii_digit()));
                let hint = if number { "; INTERVAL and COUNT come before --files" } else { "" };
                bail!("there is no file or folder {}{hint}", path.display());
            }
            Ok(Target::Folders(paths.to_vec()))
        }
        (true, false) => {
            let processes = Processes::new("/proc");
            if let Some(pid) = args.pid.iter().find(|pid| !processes.has(**pid)) {
                bail!("there is no process {pid}");
            }
            Ok(Target::Processes(args.pid.clone()))
        }
    }
}

/// Whether something is there, seen or not.
fn exists(path: &Path) -> bool {
    !matches!(fs_err::symlink_metadata(path), Err(error) if error.kind() == io::ErrorKind::NotFound)
}

fn servers(db: &Db) -> anyhow::Result<Target> {
    let (system, dir) = match db {
        Db::All => (None, None),
        Db::Of(system) => (Some(*system), None),
        Db::At(dir) if !exists(dir) => bail!("there is no data directory {}", dir.display()),
        Db::At(dir) => (None, Some(dir.clone())),
    };
    let what = system.map_or("database server", System::title);
    let target = Target::Servers { system, dir };
    if residency::servers(&Processes::new("/proc"), &target).is_empty() {
        match db {
            Db::At(dir) => {
                bail!("{} holds no data of PostgreSQL or MariaDB that this user may see; try it as root", dir.display())
            }
            _ => bail!("no {what} runs here that this user may see; name a data directory with --db=DIR"),
        }
    }
    Ok(target)
}

/// Ends with a message about the command line, as clap does.
fn usage(message: &str) -> ! {
    let mut command = Cli::command();
    command.build();
    let tool = command.find_subcommand_mut("memstat");
    tool.map_or_else(Cli::command, |tool| tool.clone()).error(ErrorKind::ArgumentConflict, message).exit()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_database_is_a_kind_or_a_path() {
        assert_eq!(database("mysql"), Ok(Db::Of(System::Mariadb)));
        assert_eq!(database("postgresql"), Ok(Db::Of(System::Postgres)));
        assert_eq!(database("./pg"), Ok(Db::At("./pg".into())));
        assert!(database("oracle").is_err());
    }
}
