//! Findings: `.sql` files that flag what is wrong or unusual in a run, with evidence and advice.
//!
//! ```sql
//! -- title: One CPU is saturated while others are idle
//! -- severity: warning
//! -- section: cpu
//! -- message: CPU {cpu} was busy {busy:%} of the time while all together were busy {machine:%}.
//! -- advice: What to do next, and when this is harmless.
//! -- ask: hottest-cpu
//! -- yes: cpu cpu=0 usr=99 idle=1 *30
//! -- no: cpu cpu=0 usr=30 idle=70 *30
//! SELECT run, host, cpu, busy, machine FROM …
//! ```
//! Further lines of the header are comments: they say why a threshold is what it is. A row of the
//! answer is one occurrence, the worst first; no row means that there is nothing to say.
//! A column called `severity` overrules the header's for its row. A key `comparison` marks findings that matter to
//! a comparison of the run: `warn`, or `refuse` where a comparison has no meaning.

mod asked;
mod fixture;
mod kept;
mod message;
mod periods;
mod rank;
mod world;

use std::{
    collections::{BTreeMap, BTreeSet},
    path::Path,
};

use fenxi_model::{Section, words};
use fenxi_store::Store;
use serde_json::Value;

pub use asked::{CanAsk, Missing};
pub use fixture::{Case, Expected};
pub use periods::{ChangeRow, MEANS, Meaning};
pub use rank::{DB_TIME, Impact, ImpactColumn, Kind, LATENCY, NamesCause, QUEUE, SERVICE, Splits, rank};

use crate::{
    Answer, Engine, QueryError, SHIPPED_FINDINGS, Scope,
    answers::{Asked, Author, Dialect},
    culprit,
};
use fixture::Cases;
use message::Message;
use rank::order;

words! {
    /// How much a finding matters, the worst first.
    Severity {
        /// Work surely suffered.
        Critical = "critical",
        /// Work probably suffers, or the measurement is in doubt.
        Warning = "warning",
        /// Good to know.
        Info = "info",
    }
}

words! {
    /// What a finding means to a comparison of the run with others, the worst first.
    Validity {
        /// The comparison has no meaning.
        Refuse = "refuse",
        /// A difference may come from it.
        Warn = "warn",
    }
}

/// Findings that had another name, and the one that they have now: a store's own may still use it.
const RENAMED: [(&str, &str); 1] = [("far-server", "network-latency")];

/// The evidence in which an occurrence has the sentences that name culprits.
const NAMED: &str = "named";

/// A rule that looks at runs.
#[derive(Clone, Debug)]
pub struct Finding {
    /// Its name: the file's without `.sql`.
    pub name: String,
    /// Title, as a statement.
    pub title: String,
    /// How much it matters, unless a row has its own.
    pub severity: Severity,
    /// Where it belongs.
    pub section: Section,
    /// Advice: what to check or do next, and when it is harmless.
    pub advice: String,
    /// The question that shows the evidence.
    pub ask: Option<String>,
    /// Consequence for a comparison; None where it has none.
    pub comparison: Option<Validity>,
    /// Its role in the search for a cause.
    pub kind: Kind,
    /// How far it names the cause of a change.
    pub names_cause: NamesCause,
    /// True if it reads how series changed from one period to another, and not a run's tables.
    pub periods: bool,
    /// Names of findings that follow from what it finds, and are listed after it in the same run.
    pub explains: Vec<String>,
    /// Parts of a transaction's latency, any of which it accounts for; empty where it has nothing to do with one.
    pub parts: Vec<String>,
    /// The share that these parts have at least where there is anything to say; None where that does not matter.
    pub min_part: Option<f64>,
    /// Which column of its rows has its share.
    pub impact: Option<ImpactColumn>,
    /// Kinds of culprits that its sentence names, in this order.
    pub names: Vec<String>,
    /// Possible causes of a symptom, in the order in which one looks: names of findings, with a description.
    pub causes: Vec<(String, String)>,
    /// The worlds in which it has something to say; empty for all.
    pub world: Vec<String>,
    /// Rows on which it must speak or be silent, for its test.
    pub cases: Vec<Case>,
    /// The SQL without the header.
    pub sql: String,
    /// True if it comes from the store's own `findings` folder.
    pub own: bool,
    message: Message,
    /// Line of `message` in the file.
    message_line: usize,
}

/// One row of a finding's answer.
#[derive(Clone, Debug, PartialEq)]
pub struct Occurrence {
    /// The run's id.
    pub run: String,
    /// The host, where the answer names it.
    pub host: Option<String>,
    /// How much this one matters.
    pub severity: Severity,
    /// The sentence with its places filled.
    pub message: String,
    /// Every further column with its value, in order.
    pub evidence: Vec<(String, Value)>,
}

impl Occurrence {
    /// The sentences that name who had most of what it is about.
    pub fn named(&self) -> Option<&str> {
        self.evidence.iter().find(|(name, _)| name == NAMED)?.1.as_str()
    }
}

/// Result of a finding.
#[derive(Debug)]
pub struct Found {
    /// The finding.
    pub finding: Finding,
    /// Its occurrences, the worst first; or why it could not look.
    pub outcome: Result<Vec<Occurrence>, QueryError>,
    /// Titles of what was found in the same runs and explains it.
    pub follows_from: Vec<String>,
    /// The share that the parts have which it accounts for; None until [`rank`] has set it.
    pub of_part: Option<Impact>,
    /// True if it is known of a run that it looked at where the time went.
    pub is_split: bool,
}

impl Finding {
    /// Reads a finding from the text of a file called `name`.sql.
    ///
    /// # Errors
    /// [`QueryError::Question`] with the line: an unknown key, word, table or column, a missing key, no SQL.
    pub fn parse(name: &str, text: &str) -> Result<Finding, QueryError> {
        let bad = |line: usize, message: String| QueryError::Question { file: format!("{name}.sql"), line, message };
        let mut header = Header::default();
        let mut cases = Cases::default();
        let mut lines = 0;
        for line in text.lines() {
            let Some(comment) = line.strip_prefix("--") else { break };
            lines += 1;
            let pair = comment.split_once(':').map(|(key, value)| (key.trim(), value.trim()));
            match pair.filter(|(key, _)| !key.contains(' ')) {
                Some((key, value)) => match expected(key) {
                    Some(expected) => cases.line(expected, value).map_err(|m| bad(lines, m))?,
                    None => header.set(key, value, lines).map_err(|m| bad(lines, m))?,
                },
                // A colon within a sentence makes no key of its beginning.
                None => cases.end(),
            }
        }
        if header.names_cause.is_some() && !header.periods {
            let message = "names-cause: only a finding with `periods: inside, rest` looks for the cause of a change";
            return Err(bad(1, message.to_owned()));
        }
        let missing = |key: &str| bad(1, format!("there is no `-- {key}: …` in the header"));
        let (message, message_line) = header.message.ok_or_else(|| missing("message"))?;
        let finding = Finding {
            name: name.to_owned(),
            title: header.title.ok_or_else(|| missing("title"))?,
            severity: header.severity.ok_or_else(|| missing("severity"))?,
            section: header.section.ok_or_else(|| missing("section"))?,
            advice: header.advice.unwrap_or_default(),
            ask: header.ask,
            comparison: header.comparison,
            kind: header.kind.unwrap_or(Kind::Problem),
            names_cause: header.names_cause.unwrap_or(NamesCause::Yes),
            periods: header.periods,
            explains: header.explains,
            parts: header.parts,
            min_part: header.min_part,
            impact: header.impact,
            names: header.names,
            causes: header.causes,
            world: header.world,
            cases: cases.all,
            // Lines of the header stay as empty ones, so that the engine's line numbers are the file's.
            sql: "\n".repeat(lines) + &text.lines().skip(lines).collect::<Vec<_>>().join("\n"),
            own: false,
            message,
            message_line,
        };
        if finding.sql.trim().is_empty() {
            return Err(bad(lines + 1, "there is no SQL after the header".to_owned()));
        }
        Ok(finding)
    }

    /// The file that it is read from.
    pub fn file(&self) -> String {
        format!("{}.sql", self.name)
    }

    /// The sentence as the header has it, with its places in braces.
    pub fn message(&self) -> String {
        self.message.to_string()
    }

    /// The occurrences in an answer.
    fn occurrences(&self, answer: &Answer) -> Result<Vec<Occurrence>, QueryError> {
        let bad = |line, message| QueryError::Question { file: self.file(), line, message };
        let names: Vec<&str> = answer.columns.iter().map(|c| c.name.as_str()).collect();
        if let Some(name) = self.message.columns().find(|c| !names.contains(c)) {
            let message = format!("message: there is no column `{name}`; the SQL gives {}", names.join(", "));
            return Err(bad(self.message_line, message));
        }
        if !self.tells_share(&names) {
            return Err(bad(self.message_line, "impact: the SQL does not give its column".to_owned()));
        }
        if !names.contains(&"run") {
            return Err(bad(self.message_line, "the SQL must give a column `run`".to_owned()));
        }
        let (runs, hosts, severities) = (answer.strings("run"), answer.strings("host"), answer.strings("severity"));
        let columns = message::Columns::from_answer(answer);
        let one = |row: usize| {
            let severity = match severities.get(row) {
                Some(Some(word)) => Severity::parse(word).ok_or_else(|| {
                    bad(self.message_line, format!("severity: `{word}` is not one of critical, warning, info"))
                })?,
                _ => self.severity,
            };
            Ok(Occurrence {
                run: runs[row].clone().unwrap_or_default(),
                host: hosts.get(row).cloned().flatten(),
                severity,
                message: self.message.fill(&columns, row),
                evidence: columns.evidence(row),
            })
        };
        (0..answer.n_rows()).map(one).collect()
    }
}

/// The keys of a header so far.
#[derive(Default)]
struct Header {
    title: Option<String>,
    severity: Option<Severity>,
    section: Option<Section>,
    message: Option<(Message, usize)>,
    advice: Option<String>,
    ask: Option<String>,
    comparison: Option<Validity>,
    kind: Option<Kind>,
    names_cause: Option<NamesCause>,
    periods: bool,
    explains: Vec<String>,
    parts: Vec<String>,
    min_part: Option<f64>,
    impact: Option<ImpactColumn>,
    names: Vec<String>,
    causes: Vec<(String, String)>,
    world: Vec<String>,
}

impl Header {
    fn set(&mut self, key: &str, value: &str, line: usize) -> Result<(), String> {
        if value.is_empty() {
            return Err(format!("{key}: there is nothing after the colon"));
        }
        let words = |all: &[&str]| format!("`{value}` is not a {key}: one of {}", all.join(", "));
        match key {
            "title" => self.title = Some(value.to_owned()),
            "severity" => {
                let word = Severity::parse(value);
                self.severity = Some(word.ok_or_else(|| words(Severity::WORDS))?);
            }
            "section" => {
                let word = Section::parse(value);
                self.section = Some(word.ok_or_else(|| words(Section::WORDS))?);
            }
            "message" | "says" => self.message = Some((Message::parse(value)?, line)),
            "advice" => self.advice = Some(value.to_owned()),
            "ask" => self.ask = Some(value.to_owned()),
            "periods" if list(value) == ["inside", "rest"] => self.periods = true,
            "periods" => return Err("periods: expected `inside, rest`".to_owned()),
            "explains" => self.explains = list(value).into_iter().map(|name| current(&name).to_owned()).collect(),
            "part" => (self.parts, self.min_part) = parts(value)?,
            "impact" => {
                let reported = ImpactColumn::parse(value)
                    .ok_or("impact: expected `COLUMN of WHAT` or `COLUMN / COLUMN of WHAT`, as `stalled of time`")?;
                self.impact = Some(reported);
            }
            "names" => self.names = culprit::kinds(value)?,
            "causes" => self.causes = causes(value)?,
            "world" => self.world = world::parse(value)?,
            "kind" => {
                let word = Kind::parse(value);
                self.kind = Some(word.ok_or_else(|| words(Kind::WORDS))?);
            }
            "names-cause" => {
                let word = NamesCause::parse(value);
                self.names_cause = Some(word.ok_or_else(|| words(NamesCause::WORDS))?);
            }
            "comparison" => {
                let word = Validity::parse(value);
                self.comparison = Some(word.ok_or_else(|| words(Validity::WORDS))?);
            }
            _ => {
                return Err(format!(
                    "unknown key `{key}`: one of title, severity, section, message, advice, ask, comparison, kind, periods, \
                     explains, part, impact, names, names-cause, causes, world, yes, fact, no"
                ));
            }
        }
        Ok(())
    }
}

/// `NAME; NAME` or `NAME; NAME >= N %`: names of parts have commas.
fn parts(value: &str) -> Result<(Vec<String>, Option<f64>), String> {
    let (names, smallest) = match value.split_once(">=") {
        None => (value, None),
        Some((names, smallest)) => {
            let share = smallest.trim().strip_suffix('%').and_then(|n| n.trim().parse::<f64>().ok());
            let share = share.filter(|share| (0.0..=100.0).contains(share));
            (
                names,
                Some(share.ok_or("part: expected a share in percent after `>=`, as `round trips >= 50 %`")? / 100.0),
            )
        }
    };
    Ok((names.split(';').map(|name| name.trim().to_owned()).collect(), smallest))
}

/// Findings with what they are in words: `steal (time that the hypervisor took), cpu-neighbour (another program)`.
fn causes(value: &str) -> Result<Vec<(String, String)>, String> {
    let one = |text: &str| {
        let (name, words) = text.trim().strip_suffix(')')?.split_once('(')?;
        Some((current(name.trim()).to_owned(), words.trim().to_owned()))
    };
    let all = value.split("),").map(|text| format!("{})", text.trim().trim_end_matches(')')));
    all.map(|text| one(&text).ok_or_else(|| format!("causes: expected `FINDING (what it is)`, not `{text}`"))).collect()
}

/// The name that a finding has now, for one that may be from before it was renamed.
fn current(name: &str) -> &str {
    RENAMED.iter().find(|(before, _)| *before == name).map_or(name, |(_, now)| now)
}

/// Expected outcome of rows behind `key`; None for a key of the header.
fn expected(key: &str) -> Option<Expected> {
    match key {
        "yes" => Some(Expected::Found),
        "fact" => Some(Expected::Fact),
        "no" => Some(Expected::Nothing),
        _ => None,
    }
}

/// The words between commas.
fn list(value: &str) -> Vec<String> {
    value.split(',').map(|word| word.trim().to_owned()).collect()
}

/// All findings: those that are shipped, and those in the store's `findings` folder, which replace
/// shipped ones of the same name; by severity, section and name.
///
/// # Errors
/// When a finding of the store cannot be read; those shipped are tested to be right.
pub fn findings(store: &Store) -> Result<Vec<Finding>, QueryError> {
    let mut by_name = BTreeMap::new();
    for (name, text) in SHIPPED_FINDINGS {
        by_name.insert((*name).to_owned(), Finding::parse(name, text)?);
    }
    let folder = store.path().join("findings");
    if folder.is_dir() {
        for entry in fs_err::read_dir(&folder)? {
            let path = entry?.path();
            if path.extension().is_some_and(|e| e == "sql") {
                let finding = own(store, &path)?;
                // One that has the former name of a shipped finding replaces that.
                by_name.remove(current(&finding.name));
                by_name.insert(finding.name.clone(), finding);
            }
        }
    }
    let mut all: Vec<Finding> = by_name.into_values().collect();
    all.sort_by(|a, b| (a.severity, a.section, &a.name).cmp(&(b.severity, b.section, &b.name)));
    Ok(all)
}

fn own(store: &Store, path: &Path) -> Result<Finding, QueryError> {
    let name = path.file_stem().map(|s| s.to_string_lossy().into_owned()).unwrap_or_default();
    let finding = Finding::parse(&name, &store.read_text(path)?)?;
    Ok(Finding { own: true, ..finding })
}

impl Engine {
    /// Lets `finding` look at the runs of `scope`. One over two periods finds nothing in runs alone.
    ///
    /// # Errors
    /// [`QueryError::Finding`], which names the file: wrong SQL, or a sentence with a column that the SQL does not give.
    pub fn find(&self, finding: &Finding, scope: &Scope) -> Result<Vec<Occurrence>, QueryError> {
        if finding.periods {
            return Ok(Vec::new());
        }
        let author = if finding.own { Author::Other } else { Author::Ours };
        let answer = self
            .whole(&Asked { author, dialect: Dialect::Questions, sql: &finding.sql, params: &[], scope, files: &[] })
            .map_err(|e| QueryError::Finding { file: finding.file(), source: Box::new(e) })?;
        let mut found = finding.occurrences(&answer)?;
        self.keep_to_world(finding, &mut found)?;
        self.name_culprits(finding, scope, &mut found)?;
        Ok(found)
    }

    /// Adds the largest culprits after the first sentence about each host.
    fn name_culprits(&self, finding: &Finding, scope: &Scope, found: &mut [Occurrence]) -> Result<(), QueryError> {
        let kinds = finding.names.iter().filter(|_| !found.is_empty());
        let all = kinds.map(|kind| self.culprits_anew(kind, scope)).collect::<Result<Vec<_>, _>>()?;
        let mut named = BTreeSet::new();
        for occurrence in found.iter_mut() {
            if !named.insert((occurrence.run.clone(), occurrence.host.clone())) {
                continue;
            }
            let reported = all.iter().filter_map(|of| of.sentence(&occurrence.run, occurrence.host.as_deref()));
            let reported: Vec<String> = reported.map(|sentence| format!("{sentence}.")).collect();
            if !reported.is_empty() {
                let reported = reported.join(" ");
                occurrence.message = format!("{} {reported}", occurrence.message);
                occurrence.evidence.push((NAMED.to_owned(), Value::from(reported)));
            }
        }
        Ok(())
    }

    /// Lets all findings look at the runs of `scope`: those that found something or could not look, the
    /// worst first.
    ///
    /// # Errors
    /// When a finding of the store cannot be read, or the store, or the cluster that answers is lost. One that fails is
    /// among what is given back.
    pub fn find_all(&self, scope: &Scope) -> Result<Vec<Found>, QueryError> {
        let mut all = findings(self.store())?;
        all.retain(|finding| !finding.periods);
        self.look(all, scope)
    }

    /// Like [`Engine::find_all`] with those findings only that bear on a comparison of the runs with others.
    ///
    /// # Errors
    /// As [`Engine::find_all`].
    pub fn find_comparison(&self, scope: &Scope) -> Result<Vec<Found>, QueryError> {
        let mut bearing = findings(self.store())?;
        bearing.retain(|finding| finding.comparison.is_some());
        self.look(bearing, scope)
    }
}
