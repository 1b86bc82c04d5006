//! Several processes for one load: `fenxi load worker`, and how `fenxi load run` finds or starts workers.

use std::{
    io,
    net::{SocketAddr, TcpListener},
    os::unix::process::CommandExt,
    path::PathBuf,
    process::{Child, Command, ExitCode, Stdio},
    time::{Duration, Instant},
};

use anyhow::{Context, bail};
use clap::Args;
use fenxi_load::team::{self, Link};
use fenxi_remote::{Programs, RemoteCommand, Target};
use fenxi_serve::{Tokens, own_token};

use crate::{options::Global, print, stop::Stop};

/// How long a child may take to end once its peer has gone.
const PATIENCE: Duration = Duration::from_secs(5);

/// Who makes a load.
#[derive(Debug, Args)]
#[command(next_help_heading = "Load generators")]
pub struct TeamArgs {
    /// Distribute the load over workers (`fenxi load worker`) at these addresses
    #[arg(long, value_name = "HOST:PORT,…", value_delimiter = ',', conflicts_with = "processes")]
    pub workers: Vec<String>,
    /// Distribute the load over this many local processes
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub processes: Option<u16>,
    /// Distribute the load over a worker at this host: HOST by ssh, or NAME=COMMAND
    /// that reaches it; can be repeated
    #[arg(long, value_name = "HOST", value_parser = Target::parse, conflicts_with_all = ["workers", "processes"])]
    pub worker_on: Vec<Target>,
    /// File whose first token authenticates to the workers
    #[arg(long, value_name = "FILE", requires = "workers")]
    pub token_file: Option<PathBuf>,
}

/// `fenxi load worker`
#[derive(Debug, Args)]
#[command(after_help = "\
A worker waits for `fenxi load run --workers`, which sends its share of
connections and rate, the workload, and the database URL with its password. A
worker stores nothing. Every host that reaches it can generate load on
databases, so addresses other than loopback require --token-file. Connections
are not encrypted: on shared networks use a tunnel (ssh -L 7071:127.0.0.1:7071).

Examples:
  fenxi load worker --listen 127.0.0.1:7071
  fenxi load worker --listen 10.0.0.7:7071 --token-file ~/.fenxi-token")]
pub struct WorkerArgs {
    /// Address and port to listen on; port 0 picks a free one
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:7071")]
    pub listen: SocketAddr,
    /// File of tokens that authenticate coordinators: TOKEN or NAME TOKEN per line
    #[arg(long, value_name = "FILE")]
    pub token_file: Option<PathBuf>,
    /// Serve the parent process over standard input and output
    #[arg(long, hide = true, conflicts_with_all = ["listen", "token_file"])]
    pub pipe: bool,
}

/// Makes parts of loads until Ctrl-C.
pub fn worker(global: &Global, args: &WorkerArgs) -> anyhow::Result<ExitCode> {
    if args.pipe {
        team::serve_pipe(io::stdin(), io::stdout())?;
        return Ok(ExitCode::SUCCESS);
    }
    let tokens = args.token_file.as_deref().map(Tokens::read).transpose()?;
    if !args.listen.ip().is_loopback() {
        if tokens.is_none() {
            bail!("{} is reachable from other hosts; give a --token-file", args.listen);
        }
        print::message("warning: the database password and the token cross the network unencrypted");
    }
    let stop = Stop::on_interrupt();
    let listener = TcpListener::bind(args.listen).with_context(|| format!("cannot listen at {}", args.listen))?;
    // The one thing that others may want to read: on stdout.
    print::text(&format!("{}\n", listener.local_addr()?))?;
    let access = move |token: Option<&str>| {
        tokens.as_ref().is_none_or(|tokens| token.is_some_and(|token| tokens.who(token).is_some()))
    };
    let log = |line: &str| {
        if !global.quiet {
            print::message(line);
        }
    };
    team::serve(&listener, &access, &|| stop.asked(), &log)?;
    Ok(ExitCode::SUCCESS)
}

/// The workers of a load; those that this process has started end with it.
pub struct Team {
    /// The ways to them.
    pub links: Vec<Link>,
    /// Waited for once their links are gone.
    pub children: Children,
}

impl TeamArgs {
    /// How many make the load; None when this process alone does.
    pub fn count(&self) -> Option<usize> {
        let others = self.workers.len() + self.worker_on.len();
        self.processes.map(usize::from).or(Some(others).filter(|count| *count > 0))
    }

    /// Finds the workers, or starts them; None when this process makes the load alone.
    pub fn gather(&self) -> anyhow::Result<Option<Team>> {
        let mut children = Children::default();
        let links = match self.processes {
            Some(count) => (1..=count).map(|n| child(n, &mut children)).collect::<anyhow::Result<_>>()?,
            None if !self.worker_on.is_empty() => {
                let programs = Programs::default();
                self.worker_on.iter().map(|target| elsewhere(target, &programs)).collect::<anyhow::Result<_>>()?
            }
            None if self.workers.is_empty() => return Ok(None),
            None => {
                let token = self.token_file.as_deref().map(own_token).transpose()?;
                let links = self.workers.iter().map(|place| Link::connect(place, token.as_deref()));
                links.collect::<Result<_, _>>()?
            }
        };
        Ok(Some(Team { links, children }))
    }
}

/// Starts a worker on this host.
fn child(number: u16, children: &mut Children) -> anyhow::Result<Link> {
    let program = std::env::current_exe().context("cannot find the path of this program")?;
    let mut command = Command::new(&program);
    command.args(["load", "worker", "--pipe"]).stdin(Stdio::piped()).stdout(Stdio::piped());
    // Ctrl-C is for this process, which ends its workers; they end by themselves when it has gone.
    command.process_group(0);
    let mut child = command.spawn().with_context(|| format!("cannot run {}", program.display()))?;
    let (output, input) = (child.stdout.take(), child.stdin.take());
    children.0.push(child);
    let (Some(output), Some(input)) = (output, input) else { bail!("a worker has no pipes") };
    Ok(Link::child(&number.to_string(), output, input)?)
}

/// Starts a worker at another host, which ends when its pipe is closed.
fn elsewhere(target: &Target, programs: &Programs) -> anyhow::Result<Link> {
    let words = ["--exec", "--", "load", "worker", "--pipe"].map(str::to_owned);
    let worker = RemoteCommand::run(target, programs, &words, &print::message).map_err(anyhow::Error::msg)?;
    let (output, input) = worker.into_pipes()?;
    Ok(Link::child(&target.name, output, input)?)
}

/// Processes that end when their peer has gone.
#[derive(Debug, Default)]
pub struct Children(Vec<Child>);

impl Drop for Children {
    fn drop(&mut self) {
        let until = Instant::now() + PATIENCE;
        for child in &mut self.0 {
            while matches!(child.try_wait(), Ok(None)) {
                if Instant::now() >= until {
                    // It is held up; what it does is of no use to anybody.
                    let _ = child.kill();
                    let _ = child.wait();
                    break;
                }
                std::thread::sleep(Duration::from_millis(10));
            }
        }
    }
}
