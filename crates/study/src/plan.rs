//! Plan of a study: factors, command and responses, validated.

use std::{fmt, path::PathBuf};

use fenxi_model::{Better, Unit};
use regex::Regex;

use crate::ask::RunQuestion;

/// A study as it is planned.
#[derive(Clone, Debug)]
pub struct StudyPlan {
    /// The file it was read from.
    pub path: PathBuf,
    /// Name of the study, unique in a store.
    pub name: String,
    /// Description.
    pub about: Option<String>,
    /// Factors, in the order of the file.
    pub factors: Vec<Factor>,
    /// The factor that is a degree of parallelism, along which there is a speed-up; None where no factor is.
    pub scaling: Option<String>,
    /// The factor whose levels are set up once in each block, for all of their runs.
    pub series: Option<String>,
    /// A factor and the level of it with which the others are compared, at each level of the other factors.
    pub reference: Option<(String, String)>,
    /// The combinations to run; None for all.
    pub cells: Option<Vec<Pattern>>,
    /// Combinations that are left out.
    pub exclude: Vec<Pattern>,
    /// How often each cell is run: once in each block.
    pub repeats: u32,
    /// Where the random order begins; None to draw it.
    pub seed: Option<u64>,
    /// True if the cells of a block are run in the order of the plan instead of a random one.
    pub in_order: bool,
    /// The command that is measured.
    pub command: Command,
    /// Directory in which everything runs.
    pub directory: PathBuf,
    /// Variables of the environment of everything that runs.
    pub env: Vec<(String, String)>,
    /// Before the first and after the last run of an invocation.
    pub around: Around,
    /// Before and after every run.
    pub each: Around,
    /// Readiness probe before a run is measured.
    pub ready: Option<Probe>,
    /// Warm-up before a run is measured.
    pub warmup: Option<Warmup>,
    /// Seconds of rest after a run.
    pub cooldown_s: f64,
    /// Seconds after which the measured command is ended, which is no failure.
    pub duration_s: Option<f64>,
    /// Seconds after which the measured command is ended, which is a failure.
    pub timeout_s: Option<f64>,
    /// Seconds that a set-up, tear-down or warm-up may take.
    pub step_timeout_s: f64,
    /// True if the study goes on after a run that failed for good.
    pub goes_on: bool,
    /// How often a run that failed is tried again.
    pub retries: u32,
    /// Recording while the command runs.
    pub record: Recording,
    /// How the command's output is read: None as what it looks like.
    pub import: Import,
    /// Responses: the measured results.
    pub responses: Vec<Response>,
}

/// A command with places for factors: a line for the shell, or words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Command {
    /// A line for `sh -c`.
    Shell(String),
    /// The program and its arguments.
    Words(Vec<String>),
}

impl fmt::Display for Command {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Command::Shell(line) => f.write_str(line.trim()),
            Command::Words(words) => write!(f, "{words:?}"),
        }
    }
}

/// Set-up and tear-down.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Around {
    /// Before.
    pub setup: Option<Command>,
    /// Check before a run is measured; it succeeds only where the set-up took effect.
    pub check: Option<Command>,
    /// After, also when something between failed.
    pub teardown: Option<Command>,
}

/// Factor of a study.
#[derive(Clone, Debug)]
pub struct Factor {
    /// Its name, as in placeholders.
    pub name: String,
    /// Its levels, in the order of the plan.
    pub levels: Vec<Level>,
}

impl Factor {
    /// The place of the level `name`.
    pub fn level(&self, name: &str) -> Option<usize> {
        self.levels.iter().position(|level| level.name == name)
    }

    /// Returns true if all levels are numbers.
    pub fn is_numeric(&self) -> bool {
        self.levels.iter().all(|level| level.number.is_some())
    }
}

/// One value of a factor.
#[derive(Clone, Debug, PartialEq)]
pub struct Level {
    /// Its text, as placeholders give it.
    pub name: String,
    /// Its number, if it is one.
    pub number: Option<f64>,
    /// Variables of the environment of runs with this level.
    pub env: Vec<(String, String)>,
    /// Before and after runs with this level.
    pub around: Around,
}

/// Some factors and the level of each; a cell matches when it has these levels.
pub type Pattern = Vec<(String, String)>;

/// When the system under test is ready.
#[derive(Clone, Debug, PartialEq)]
pub struct Probe {
    /// How it is probed.
    pub how: ProbeHow,
    /// Seconds to wait for it.
    pub timeout_s: f64,
}

/// Kind of readiness probe.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ProbeHow {
    /// A command that succeeds.
    Command(Command),
    /// A TCP port, `host:port`, that accepts connections.
    Tcp(String),
}

/// Warm-up of the system.
#[derive(Clone, Debug, PartialEq)]
pub enum Warmup {
    /// The measured command itself, ended after so many seconds.
    Seconds(f64),
    /// Another command, to its end.
    Command(Command),
}

/// Recording while the command runs.
#[derive(Clone, Debug, PartialEq)]
pub struct Recording {
    /// Seconds between two samples.
    pub interval_s: f64,
    /// Sources, as `fenxi record --source` takes them.
    pub sources: Vec<String>,
    /// URLs of database servers to observe, without passwords.
    pub databases: Vec<String>,
    /// Other hosts to record, as `fenxi record --on` takes them.
    pub hosts: Vec<String>,
    /// Roles of hosts, as `fenxi record --role` takes them.
    pub roles: Vec<String>,
}

/// Import of the measured command's output.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Import {
    /// As the format that it looks like.
    Recognised,
    /// As the format of this name.
    As(&'static str),
    /// Not at all.
    Off,
}

/// Response of a study: a number that is measured in each run.
#[derive(Clone, Debug)]
pub struct Response {
    /// Its name.
    pub name: String,
    /// Where it comes from.
    pub from: From,
    /// Its unit.
    pub unit: String,
    /// Which direction is good; None: that of the result.
    pub better: Option<Better>,
    /// Kind for the report; None: by its unit.
    pub kind: Option<Kind>,
}

/// Where a response comes from.
#[derive(Clone, Debug)]
pub enum From {
    /// A result of the run: of the command itself, or of the tool whose output was read.
    Result(String),
    /// The first group of a pattern in the output, the last match.
    Pattern(Regex),
    /// So much work, a number after its placeholders are filled, per second elapsed.
    Work(String),
    /// The answer to a question about the run.
    Asked(RunQuestion),
}

/// Kind of a response, for the report.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Work per time: it has a speed-up and a law of scaling.
    Throughput,
    /// The time of one of many operations.
    Latency,
    /// The time of the whole run: its inverse is a throughput.
    Elapsed,
    /// Anything else.
    Other,
}

impl StudyPlan {
    /// Returns true if a response is the answer to a question, so that it takes somebody who answers.
    pub fn asks(&self) -> bool {
        crate::ask::asked(self).next().is_some()
    }
}

impl Response {
    /// The name of the `result` rows that hold it.
    pub fn result_name(&self) -> &str {
        match &self.from {
            From::Result(name) => name,
            From::Pattern(_) | From::Work(_) | From::Asked(_) => &self.name,
        }
    }

    /// Its meaning, from the plan and from the unit of its results.
    pub fn kind(&self, unit: &str, better: Better) -> Kind {
        if let Some(kind) = self.kind {
            return kind;
        }
        let time = matches!(Unit::from_symbol(unit), Unit::Seconds | Unit::Milliseconds | Unit::Microseconds);
        match &self.from {
            From::Work(_) => Kind::Throughput,
            From::Result(name) if name == "elapsed" => Kind::Elapsed,
            _ if unit.ends_with("/s") && better != Better::Lower => Kind::Throughput,
            _ if time && better != Better::Higher => Kind::Latency,
            _ => Kind::Other,
        }
    }
}
