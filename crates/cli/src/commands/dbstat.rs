//! `fenxi watch db`.

use std::{io, process::ExitCode};

use anyhow::bail;
use clap::Args;
use fenxi_db::{Databases, Rate};
use fenxi_live::dbstat::Dbstat;
use fenxi_model::catalog::{db, db_checkpoint, db_statement, db_wait, event};
use jiff::tz::TimeZone;

use crate::{
    live::{self, Tool},
    options::{
        Global, LiveArgs,
        database::{AUTO, server, server_or_only},
        interval,
    },
    print,
};

/// `fenxi watch db`
#[derive(Debug, Args)]
#[command(after_help = "\
URL: postgres://user@host:port/database, postgres:///database,
mysql://user@host/, mysql:///?socket=/path; `auto` or nothing: the only server
that runs here, as the user who runs this. `fenxi help record` and
docs/databases.md describe passwords and rights.

Columns; those of sessions are means over the interval:
  sess act     open connections; active sessions of clients
  cpu runq     on a CPU, and waiting for one. From the operating system where
               the server is local; else cpu is what samples found waiting for
               nothing, time in the run queue included
  io cmt       reading and writing data; making commits durable
  ltch lock    latches (LWLocks, mutexes); locks of transactions
  oth net      other waits (processes, pauses, extensions); the client
  itx          idle in a transaction, which is no part of act
  tps st/s ms  transactions and statements per second; mean time of a statement.
               PostgreSQL: statements of the last ten seconds, if there is
               pg_stat_statements
  hit% rd/s    share of blocks found in the server's cache; blocks requested
               from the operating system per second
  log tmp      bytes per second of write-ahead or redo log; of temporary files
  ck old       checkpoints begun; age of the oldest open transaction

Examples:
  fenxi watch db                            this host's server, every second
  fenxi watch db postgres://mon@db1/shop 5  a remote one, every five seconds
  fenxi watch db 1 60 --save before         also save it as a run
  fenxi watch db --run before               replay that run")]
pub struct DbstatArgs {
    /// Database server [default: the only one that runs here]
    #[arg(value_name = "URL")]
    pub url: Option<String>,
    /// Interval, count and output
    #[command(flatten)]
    pub live: LiveArgs,
    /// Samples of sessions per second, 1 to 100
    #[arg(long = "db-rate", value_name = "N", default_value_t = 10, value_parser = clap::value_parser!(u32).range(1..=100))]
    pub samples_per_s: u32,
}

/// Shows it until the count is reached or a signal comes.
pub fn run(global: &Global, args: &DbstatArgs) -> anyhow::Result<ExitCode> {
    let (url, live) = sorted(args)?;
    if !live.machine.is_live() {
        bail!("--root has no database server that could be asked; --run shows a recorded one");
    }
    let is_replay = live.run.is_some();
    let only = match url.filter(|url| is_replay && *url != AUTO) {
        Some(url) => Some(server(url)?.name().to_owned()),
        None => None,
    };
    let sources = if is_replay {
        Vec::new()
    } else {
        let poll_s = live.interval.unwrap_or(1.0);
        let rate = Rate { samples_per_s: args.samples_per_s, poll_s };
        vec![Databases::source(vec![server_or_only(url)?], rate)]
    };
    let view = Dbstat::new(only, TimeZone::system());
    let view = match print::width(&io::stdout()) {
        Some(width) => view.within(width),
        None => view,
    };
    let tool = Tool {
        name: "watch db",
        sources,
        tables: vec![&db::TABLE, &db_wait::TABLE, &db_checkpoint::TABLE, &db_statement::TABLE, &event::TABLE],
        view: Box::new(view),
        since_boot: false,
        command: None,
    };
    live::run(global, &live, tool)
}

/// The URL, and the rest. Without a URL the interval takes its place, and the count that of the interval.
fn sorted(args: &DbstatArgs) -> anyhow::Result<(Option<&str>, LiveArgs)> {
    let mut live = args.live.clone();
    let Some(first) = args.url.as_deref() else { return Ok((None, live)) };
    let Ok(seconds) = interval(first) else { return Ok((Some(first), live)) };
    live.count = match (args.live.interval, args.live.count) {
        (None, _) => None,
        (Some(count), None) if count.fract() == 0.0 && count >= 1.0 => Some(count as u64),
        _ => bail!("expected [URL] [INTERVAL [COUNT]], where COUNT is a whole number"),
    };
    live.interval = Some(seconds);
    Ok((None, live))
}

#[cfg(test)]
mod tests {
    use clap::{Args, FromArgMatches};

    use super::*;

    fn read(words: &[&str]) -> Option<(Option<String>, Option<f64>, Option<u64>)> {
        let command = DbstatArgs::augment_args(clap::Command::new("dbstat"));
        let matches = command.try_get_matches_from(std::iter::once(&"dbstat").chain(words)).ok()?;
        let args = DbstatArgs::from_arg_matches(&matches).ok()?;
        let (url, live) = sorted(&args).ok()?;
        Some((url.map(str::to_owned), live.interval, live.count))
    }

    #[test]
    fn the_url_may_be_left_out() {
        let url = || Some("postgres:///x".to_owned());
        assert_eq!(read(&[]), Some((None, None, None)));
        assert_eq!(read(&["2"]), Some((None, Some(2.0), None)));
        assert_eq!(read(&["500ms", "10"]), Some((None, Some(0.5), Some(10))));
        assert_eq!(read(&["postgres:///x"]), Some((url(), None, None)));
        assert_eq!(read(&["postgres:///x", "2", "10"]), Some((url(), Some(2.0), Some(10))));
        assert_eq!((read(&["1", "2.5"]), read(&["1", "2", "3"])), (None, None));
    }
}
