//! `fenxi serve token`: the tokens of a server, and what each may do. The file has hashes alone; a token is printed once.

use std::{
    collections::BTreeSet,
    io::Write as _,
    path::{Path, PathBuf},
    process::ExitCode,
};

use anyhow::{Context, bail};
use clap::{Args, Subcommand, ValueEnum};
use fenxi_serve::{Role, Token, tokens_of};
use fs_err::{self as fs, os::unix::fs::OpenOptionsExt};
use rustix::fs::{FlockOperation, flock};
use serde_json::json;

use crate::{options::JsonArgs, print};

/// `fenxi serve token`
#[derive(Debug, Args)]
#[command(after_help = "\
A reader sees runs; a writer adds runs too, and changes labels, marks and
windows; an admin does all, such as removing runs. With --project, only the runs
are seen whose tag `project` is one of those given, and what is added gets that
tag. A running server reads the file again when it changes.

Examples:
  fenxi serve token add ann --role writer --project shop --token-file tokens
  fenxi serve token list --token-file tokens
  fenxi serve token remove ann --token-file tokens")]
pub struct TokenArgs {
    /// What to do
    #[command(subcommand)]
    pub action: Action,
}

/// What can be done with tokens.
#[derive(Debug, Subcommand)]
pub enum Action {
    /// Make a token and print it; the file gets its hash
    Add(AddArgs),
    /// List the tokens of a file and what they may do
    List(ListArgs),
    /// Remove a token: it has no access from then on
    Remove(RemoveArgs),
}

/// The file.
#[derive(Debug, Args)]
pub struct FileArgs {
    /// File of access tokens, as for `fenxi serve`
    #[arg(long, value_name = "FILE")]
    pub token_file: PathBuf,
}

/// `fenxi serve token add`
#[derive(Debug, Args)]
#[command(after_help = "\
Example:
  fenxi serve token add ann --role writer --project shop --token-file tokens")]
pub struct AddArgs {
    /// Name of its owner, for the log and for labels
    #[arg(value_name = "NAME")]
    pub name: String,
    /// What it may do
    #[arg(long, value_enum, default_value_t = RoleArg::Reader)]
    pub role: RoleArg,
    /// A project whose runs it sees (repeatable) [default: all runs]
    #[arg(long = "project", value_name = "PROJECT")]
    pub projects: Vec<String>,
    #[command(flatten)]
    pub file: FileArgs,
}

/// `fenxi serve token list`
#[derive(Debug, Args)]
#[command(after_help = "\
Example:
  fenxi serve token list --token-file tokens")]
pub struct ListArgs {
    #[command(flatten)]
    pub file: FileArgs,
    /// Form of the output
    #[command(flatten)]
    pub form: JsonArgs,
}

/// `fenxi serve token remove`
#[derive(Debug, Args)]
#[command(after_help = "\
Example:
  fenxi serve token remove ann --token-file tokens")]
pub struct RemoveArgs {
    /// Name of its owner
    #[arg(value_name = "NAME")]
    pub name: String,
    #[command(flatten)]
    pub file: FileArgs,
}

/// What a token may do.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub enum RoleArg {
    /// See runs
    Reader,
    /// Add runs and change labels too
    Writer,
    /// Do all
    Admin,
}

/// Changes or lists the tokens of a file.
pub(super) fn run(args: &TokenArgs) -> anyhow::Result<ExitCode> {
    match &args.action {
        Action::Add(args) => add(args)?,
        Action::List(args) => list(args)?,
        Action::Remove(args) => remove(args)?,
    }
    Ok(ExitCode::SUCCESS)
}

fn add(args: &AddArgs) -> anyhow::Result<()> {
    let is_word = |text: &str| !text.is_empty() && !text.chars().any(|c| c.is_whitespace() || c.is_control());
    if !is_word(&args.name) || args.name.starts_with('#') {
        bail!("a name has no blank and does not begin with `#`");
    }
    if let Some(wrong) = args.projects.iter().find(|name| !is_word(name) || name.contains(',')) {
        bail!("`{}` is no name of a project: it has no blank and no comma", print::visible(wrong));
    }
    let role = match args.role {
        RoleArg::Reader => Role::Reader,
        RoleArg::Writer => Role::Writer,
        RoleArg::Admin => Role::Admin,
    };
    if role == Role::Admin && !args.projects.is_empty() {
        bail!("an admin has all projects; leave out --project, or give --role writer");
    }
    let path = &args.file.token_file;
    let mut options = fs::OpenOptions::new();
    let mut file = options.read(true).append(true).create(true).mode(0o600).open(path)?;
    flock(file.file(), FlockOperation::LockExclusive)?;
    let before = fs::read_to_string(path)?;
    if has_tokens(&before) && tokens_of(path)?.iter().any(|token| token.name == args.name) {
        bail!("{} has a token of {} already; `fenxi serve token remove {0}` removes it", path.display(), args.name);
    }
    let projects: BTreeSet<String> = args.projects.iter().cloned().collect();
    let token = Token::new(&args.name, role, Some(projects).filter(|projects| !projects.is_empty()));
    let (token, text) = token.context("there are no random numbers")?;
    let begin = if before.is_empty() || before.ends_with('\n') { "" } else { "\n" };
    file.write_all(format!("{begin}{token}\n").as_bytes())?;
    file.sync_all()?;
    print::text(&format!("{text}\n"))?;
    print::message(&format!("this is the token of {}, {}; it is printed only now", args.name, may(&token)));
    Ok(())
}

fn list(args: &ListArgs) -> anyhow::Result<()> {
    let path = &args.file.token_file;
    let tokens = if has_tokens(&fs::read_to_string(path)?) { tokens_of(path)? } else { Vec::new() };
    if args.form.is_json() {
        let one = |t: &Token| json!({ "name": t.name, "role": t.role.to_string(), "projects": t.projects });
        return print::json(&format!("{:#}\n", json!(tokens.iter().map(one).collect::<Vec<_>>())));
    }
    let width = tokens.iter().map(|token| token.name.chars().count()).max().unwrap_or(0);
    let line = |token: &Token| format!("{:width$}  {}\n", print::visible(&token.name), print::visible(&may(token)));
    print::text(&tokens.iter().map(line).collect::<String>())
}

fn remove(args: &RemoveArgs) -> anyhow::Result<()> {
    let path = &args.file.token_file;
    let file = fs::File::open(path)?;
    flock(file.file(), FlockOperation::LockExclusive)?;
    let before = fs::read_to_string(path)?;
    let is_theirs = |line: &&str| {
        let mut words = line.split_ascii_whitespace();
        words.next() == Some(&args.name) && words.next().is_some()
    };
    let kept: String = before.split_inclusive('\n').filter(|line| !is_theirs(line)).collect();
    if kept == before {
        bail!("{} has no token of {}", path.display(), print::visible(&args.name));
    }
    replace(path, &kept)
}

/// Puts a file with this text, for its owner only, in the place of another.
fn replace(path: &Path, text: &str) -> anyhow::Result<()> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let part = folder.join(format!(".fenxi-tokens-{}", std::process::id()));
    let written = fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(&part).and_then(|mut file| {
        file.write_all(text.as_bytes())?;
        file.sync_all()?;
        fs::rename(&part, path)
    });
    if written.is_err() {
        let _ = fs::remove_file(&part);
    }
    Ok(written?)
}

/// Whether a file has any line that is a token.
fn has_tokens(text: &str) -> bool {
    text.lines().any(|line| !line.trim().is_empty() && !line.starts_with('#'))
}

/// Permissions of a token, in words.
fn may(token: &Token) -> String {
    match &token.projects {
        None => format!("{} of all projects", token.role),
        Some(projects) => format!("{} of {}", token.role, projects.iter().cloned().collect::<Vec<_>>().join(", ")),
    }
}
