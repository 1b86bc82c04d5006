//! `fenxi serve`.

mod check;
mod token;

use std::{
    io::Write as _,
    net::SocketAddr,
    path::PathBuf,
    process::{Command, ExitCode, Stdio},
    sync::{Arc, Mutex},
    time::Duration,
};

use anyhow::{Context, bail};
use clap::{Args, Subcommand};
use fenxi_db::{Rate, check::check};
use fenxi_serve::{Access, Audit, Limits, Server, Settings, Tls, Tokens};
use fenxi_source::Root;
use fs_err as fs;
use rustix::process::{Resource, Rlimit, Signal, getpid, getrlimit, kill_process, setrlimit};
use tokio::signal::unix::{SignalKind, signal};
use tokio_util::sync::CancellationToken;

use crate::{
    machine::hostname,
    options::{
        EngineArgs, Global, JsonArgs,
        database::{AUTO, DbArgs, server},
        seconds, size,
    },
    print, stores,
};

/// Files that a server has use for.
const FILES: u64 = 1 << 16;

/// `fenxi serve`
#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
#[command(after_help = "\
By default the server listens on loopback only; other addresses (--listen)
require tokens (--token-file) or client certificates (--client-ca). Each request
is logged to stderr: time, address, method, path, status, milliseconds, bytes,
user.

Examples:
  fenxi serve --open
  fenxi serve token add ann --role writer --token-file ~/.fenxi-token
  fenxi serve --listen 0.0.0.0:7070 --token-file ~/.fenxi-token \\
      --tls-cert cert.pem --tls-key key.pem
  fenxi serve --host perf.example.com --token-file token      (behind a proxy)
  fenxi serve --listen '[::1]:0' --read-only
  fenxi serve --db postgres://mon@db1/shop            (page Database, live)")]
#[command(mut_arg("format", |arg| arg.requires("check")))]
#[command(mut_arg("json", |arg| arg.requires("check")))]
pub struct ServeArgs {
    /// Address and port to listen on; port 0 picks a free one (repeatable)
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:7070")]
    pub listen: Vec<SocketAddr>,
    /// Additional host name to accept, such as that of a proxy (repeatable)
    #[arg(long, value_name = "NAME", help_heading = "Access")]
    pub host: Vec<String>,
    /// File of access tokens, as `fenxi serve token` makes it: TOKEN, or
    /// NAME TOKEN [ROLE [PROJECT,...]] per line
    #[arg(long, value_name = "FILE", help_heading = "Access")]
    pub token_file: Option<PathBuf>,
    /// Refuse all changes to the store
    #[arg(long)]
    pub read_only: bool,
    /// Omit custom questions that imported runs carry
    #[arg(long)]
    pub no_carried: bool,
    /// TLS certificate (chain) of the server, PEM
    #[arg(long, value_name = "FILE", requires = "tls_key", help_heading = "Access")]
    pub tls_cert: Option<PathBuf>,
    /// Private key of the certificate, PEM
    #[arg(long, value_name = "FILE", requires = "tls_cert", help_heading = "Access")]
    pub tls_key: Option<PathBuf>,
    /// Require client certificates of this authority (mutual TLS), PEM
    #[arg(long, value_name = "FILE", requires = "tls_cert", help_heading = "Access")]
    pub client_ca: Option<PathBuf>,
    /// Memory limit of all answers together
    #[arg(long, value_name = "SIZE", default_value = "1GB", value_parser = size, help_heading = "Limits")]
    pub memory: u64,
    /// Time limit per answer
    #[arg(long, value_name = "TIME", default_value = "30s", value_parser = seconds, help_heading = "Limits")]
    pub time_limit: f64,
    #[command(flatten)]
    pub databases: DbArgs,
    /// Maximum number of rows per SQL answer
    #[arg(long, value_name = "N", default_value_t = 100_000, help_heading = "Limits")]
    pub rows: usize,
    /// Maximum size of an upload
    #[arg(long, value_name = "SIZE", default_value = "1GB", value_parser = size, help_heading = "Limits")]
    pub upload: u64,
    /// Time limit per import of an upload
    #[arg(long, value_name = "TIME", default_value = "5m", value_parser = seconds, help_heading = "Limits")]
    pub import_time: f64,
    /// Write the request log to this file instead of stderr
    #[arg(long, value_name = "FILE")]
    pub log: Option<PathBuf>,
    /// Print the OpenAPI 3.1 description of the API and exit
    #[arg(long)]
    pub openapi: bool,
    /// Print what would be served, to which clients, and which limits hold; exit 1 if
    /// it could not serve
    #[arg(long)]
    pub check: bool,
    /// Form of the output
    #[command(flatten)]
    pub form: JsonArgs,
    /// Open the store in a browser
    #[arg(long)]
    pub open: bool,
    /// The engine that answers
    #[command(flatten)]
    pub engine: EngineArgs,
    /// What to do, other than serving
    #[command(subcommand)]
    pub action: Option<Action>,
}

/// What can be done other than serving.
#[derive(Debug, Subcommand)]
pub enum Action {
    /// Make, list and remove the tokens of a server
    Token(token::TokenArgs),
}

/// Serves the store until Ctrl-C.
pub fn run(global: &Global, args: &ServeArgs) -> anyhow::Result<ExitCode> {
    if let Some(Action::Token(args)) = &args.action {
        return token::run(args);
    }
    if args.openapi {
        print::json(&fenxi_serve::openapi())?;
        return Ok(ExitCode::SUCCESS);
    }
    if args.check {
        return check::run(global, args);
    }
    let settings = settings(global, args)?;
    allow_files();
    let clear = settings.tls.is_none() && settings.listen.iter().any(|a| !a.ip().is_loopback());
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().context("cannot start threads")?;
    runtime.block_on(async {
        let server = Server::bind(settings).await?;
        let urls = server.urls();
        // The one thing that others may want to read: on stdout.
        print::text(&format!("{}\n", urls.join("\n")))?;
        if clear {
            print::message("warning: without --tls-cert, tokens and responses cross the network unencrypted");
        }
        if let (true, Some(url)) = (args.open, urls.first()) {
            open(url);
        }
        warn_of_unseen(&args.databases);
        let stop = CancellationToken::new();
        let (mut interrupt, mut terminate) = (signal(SignalKind::interrupt())?, signal(SignalKind::terminate())?);
        let asked = stop.clone();
        let quiet = global.quiet;
        tokio::spawn(async move {
            tokio::select! { _ = interrupt.recv() => {} _ = terminate.recv() => {} }
            if !quiet {
                print::message("shutting down; requests in flight are answered first");
            }
            asked.cancel();
            // A second one does not wait.
            tokio::select! { _ = interrupt.recv() => {} _ = terminate.recv() => {} }
            let _ = kill_process(getpid(), Signal::KILL);
        });
        server.run(stop).await;
        anyhow::Ok(())
    })?;
    // A statement that does not end is not waited for.
    runtime.shutdown_timeout(Duration::from_secs(1));
    Ok(ExitCode::SUCCESS)
}

/// Warns of databases that cannot be observed, with the reason: the user who started the server may look at no page of it.
fn warn_of_unseen(databases: &DbArgs) {
    let named: Vec<String> = databases.servers.iter().filter(|url| *url != AUTO).cloned().collect();
    // A server that does not answer holds up nothing.
    std::thread::spawn(move || {
        for server in named.iter().filter_map(|url| server(url).ok()) {
            if let Err(error) = check(&server, Rate::default().samples_per_s) {
                print::message(&format!("warning: {} is asked for and not seen: {error}", server.name()));
            }
        }
    });
}

/// As many open files as the system lets this process have: every connection is one, and shells allow few.
fn allow_files() {
    let Rlimit { current, maximum } = getrlimit(Resource::Nofile);
    let Some(now) = current else { return };
    let allowed = maximum.map_or(FILES, |most| most.min(FILES)).max(now);
    // Without it there are fewer connections, and nothing else is amiss.
    let _ = setrlimit(Resource::Nofile, Rlimit { current: Some(allowed), maximum });
}

fn settings(global: &Global, args: &ServeArgs) -> anyhow::Result<Settings> {
    let store = if args.read_only { stores::open(global)? } else { stores::create(global)? };
    let (tls, access, limits) = (tls(args)?, access(args)?, limits(args)?);
    Ok(Settings {
        store,
        listen: args.listen.clone(),
        names: args.host.clone(),
        access,
        tls,
        read_only: args.read_only,
        carried: !args.no_carried,
        backend: args.engine.backend(),
        databases: args.databases.source(Vec::new(), 1.0)?,
        limits,
        host: hostname(&Root::live()),
        audit: audit(global, args)?,
        now: stores::now,
    })
}

/// How connections are encrypted.
fn tls(args: &ServeArgs) -> anyhow::Result<Option<Tls>> {
    match (&args.tls_cert, &args.tls_key) {
        (Some(certificate), Some(key)) => Ok(Some(Tls::read(certificate, key, args.client_ca.as_deref())?)),
        _ => Ok(None),
    }
}

/// Who may come in.
fn access(args: &ServeArgs) -> anyhow::Result<Access> {
    Ok(args.token_file.as_deref().map_or(Ok(Access::Open), |path| Tokens::read(path).map(Access::Tokens))?)
}

/// Resource limits of requests.
fn limits(args: &ServeArgs) -> anyhow::Result<Limits> {
    if args.rows == 0 {
        bail!("--rows 0 leaves nothing of an answer");
    }
    Ok(Limits {
        memory_bytes: args.memory,
        time: Duration::from_secs_f64(args.time_limit),
        rows: args.rows,
        upload_bytes: args.upload,
        import_time: Duration::from_secs_f64(args.import_time),
        ..Limits::default()
    })
}

/// Where the line about each request goes.
fn audit(global: &Global, args: &ServeArgs) -> anyhow::Result<Audit> {
    if let Some(path) = &args.log {
        let file = Mutex::new(fs::OpenOptions::new().create(true).append(true).open(path)?);
        return Ok(Arc::new(move |line: &str| {
            if let Ok(mut file) = file.lock() {
                // A full disk ends the log and not the server.
                let _ = file.write_all(format!("{line}\n").as_bytes());
            }
        }));
    }
    let quiet = global.quiet;
    Ok(Arc::new(move |line: &str| {
        if !quiet {
            print::message(line);
        }
    }))
}

fn open(url: &str) {
    let mut opener = Command::new("xdg-open");
    if let Err(error) = opener.arg(url).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn() {
        print::message(&format!("no browser could be opened (xdg-open: {error}); the address is {url}"));
    }
}
