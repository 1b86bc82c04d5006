//! `fenxi watch memstat`.

use std::{
    io,
    path::{Path, PathBuf},
    process::ExitCode,
    sync::Arc,
};

use anyhow::bail;
use clap::{Args, error::ErrorKind};
use fenxi_live::{View, memstat};
use fenxi_model::{
    Table,
    catalog::{file_cache, mem, page_cache},
};
use fenxi_procfs::{Processes, Root, servers::System};
use fenxi_source::{
    Source,
    residency::{self, Files, Target},
};

use crate::{
    live::{self, Tool},
    options::{Global, LiveArgs},
    overview, print, sources,
};

/// `fenxi watch memstat`
#[derive(Debug, Args)]
#[command(after_help = "\
Without an option: a page summary, whose parts add up to the machine's memory,
in pages, MB (2^20 bytes) and percent. With an INTERVAL: one line per interval,
in MB:
  kernel   slab, stacks, page tables, per-CPU data, and memory that no counter
           accounts for
  anon     anonymous memory: heap, stack
  shared   shared memory and tmpfs, including PostgreSQL's shared buffers
  exec     page cache of executables and libraries, `-` if unknown; updated
           every 10 s at most
  cache    other clean page cache; dirty: page cache to be written back
  huge     explicit huge pages, used or not
  free     free memory

Files (--files, -p): size, page cache residency, dirty part, and how processes
have them open: with O_DIRECT (`direct`), through the page cache (`buffered`),
or `both`. The kernel reports residency only to the owner of a file, to users
who may write it, and to root; `-` is unknown.

Databases (--db): the same for a server's data files, plus its buffer pool and a
verdict on double caching. The server is not queried: no password is needed.

INTERVAL and COUNT must precede --files.

Examples:
  fenxi watch memstat                       where memory is used
  fenxi watch memstat 5 12                  a line every 5 seconds, 12 times
  fenxi watch memstat -p 1234               cached part of a process's files
  fenxi watch memstat --files /var/lib/app  cached part of files below it
  fenxi watch memstat 10 --files a.db b.db  two files, every 10 seconds
  fenxi watch memstat --db                  are local databases cached twice?
  fenxi watch memstat --db=/var/lib/mysql   only this one, running or not
  fenxi watch memstat 10 60 --save cache    save it as a run
  fenxi watch memstat --run cache           replay that run")]
pub struct MemstatArgs {
    /// Show page cache residency of these files, or of all below these directories
    #[arg(long, value_name = "PATH", num_args = 0.., conflicts_with_all = ["db", "root"])]
    pub files: Option<Vec<PathBuf>>,
    /// Show page cache residency of files that these processes have open or mapped
    #[arg(short, long = "pid", value_name = "PID", value_delimiter = ',', conflicts_with_all = ["run", "root", "db"])]
    pub pid: Vec<u32>,
    /// Check databases for double caching: all running servers, or postgres, mariadb, a data directory
    #[arg(long, value_name = "WHICH", num_args = 0..=1, require_equals = true, default_missing_value = "all",
          value_parser = database, conflicts_with = "root")]
    pub db: Option<Db>,
    /// Maximum number of files to show [default: 20; with --db 5]
    #[arg(long, value_name = "N")]
    pub top: Option<usize>,
    /// Interval, count and output
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

/// Parts of a display: sources, tables and view.
type Shown = (Vec<Arc<dyn Source>>, Vec<&'static Table>, Box<dyn View>);

/// Shows it until the count is reached or a signal comes.
pub fn run(global: &Global, args: &MemstatArgs) -> anyhow::Result<ExitCode> {
    let mut when = args.live.clone();
    // Nothing here is a difference of two moments: without an interval, one is shown at once.
    let once = when.interval.is_none() && when.run.is_none();
    if once {
        (when.interval, when.count) = (Some(AT_ONCE_S), Some(1));
    }
    let (sources, tables, view) = if when.run.is_some() { recorded(args) } else { now(args, once)? };
    live::run(global, &when, Tool { name: "watch memstat", sources, tables, view, since_boot: false, command: None })
}

/// Seconds until the only sample: the minimum interval.
const AT_ONCE_S: f64 = 0.01;

/// The tables of a run, or those of them that were chosen.
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
        (vec![files_of(servers(db)?)], vec![&page_cache::TABLE, &file_cache::TABLE], databases)
    } else if args.files.is_some() || !args.pid.is_empty() {
        (vec![files_of(chosen(args)?)], vec![&file_cache::TABLE], files)
    } else {
        // Of a saved copy it is known that programs cannot be asked: no word about it each time.
        let names: &[&str] = if !args.live.machine.is_live() { &["mem"] } else { &["mem", "page_cache"] };
        (sources::named(names), vec![&mem::TABLE, &page_cache::TABLE], summary)
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

fn files_of(target: Target) -> Arc<dyn Source> {
    Arc::new(Files::new(target))
}

fn chosen(args: &MemstatArgs) -> anyhow::Result<Target> {
    let paths = args.files.as_deref().unwrap_or_default();
    match (paths.is_empty(), args.pid.is_empty()) {
        (true, true) => usage("give files with --files PATH…, or processes with -p PID"),
        (false, false) => usage("--files PATH and -p PID are two questions: ask one at a time"),
        (false, true) => {
            if let Some(path) = paths.iter().find(|path| !exists(path)) {
                let number = path.to_str().is_some_and(|text| text.bytes().all(|b| b.is_ascii_digit()));
                let hint = if number { "; INTERVAL and COUNT must precede --files" } else { "" };
                bail!("no such file or directory: {}{hint}", path.display());
            }
            Ok(Target::Folders(paths.to_vec()))
        }
        (true, false) => {
            let processes = Processes::of(&Root::live());
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
    if residency::servers(&Processes::of(&Root::live()), &target).is_empty() {
        match db {
            Db::At(dir) => {
                bail!("{} has no PostgreSQL or MariaDB data that this user may read; try as root", dir.display())
            }
            _ => bail!("no running {what} found that this user may see; give a data directory with --db=DIR"),
        }
    }
    Ok(target)
}

/// Ends with a message about the command line, as clap does.
fn usage(message: &str) -> ! {
    let mut command = overview::built();
    let tool = command.find_subcommand_mut("watch").and_then(|watch| watch.find_subcommand_mut("memstat"));
    tool.map_or_else(overview::command, |tool| tool.clone()).error(ErrorKind::ArgumentConflict, message).exit()
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
