//! Findings of a run are evaluated once and kept in `cache/windows`, beside the statistics of its windows.
//!
//! A sealed run never changes, so what a shipped finding finds in it holds until the finding does. Findings of the store are
//! evaluated anew each time: they may look at more than one run. What a cluster found is kept apart from what this machine did.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::PathBuf,
};

use fenxi_model::RunId;
use fenxi_store::Manifest;
use serde::{Deserialize, Serialize};

use super::{Finding, Found, Occurrence, Severity, order};
use crate::{
    Answer, Engine, Part, QueryError, Scope, culprit,
    views::{self, Mentions},
};

/// So many statements are worth that what they read is held in memory.
const WORTH_HOLDING: usize = 8;

/// Of more runs it is not asked which tables they have.
const MANY_RUNS: usize = 100;

/// Result of a finding: its occurrences, or why it could not look.
type Outcome = Result<Vec<Occurrence>, QueryError>;

/// Results of findings in one run, or a part of it, by the finding's name.
#[derive(Debug, Default, Serialize, Deserialize)]
struct CachedFindings {
    findings: BTreeMap<String, Evaluated>,
    /// Whether it holds what its file does not.
    #[serde(skip)]
    is_news: bool,
}

/// Result of one finding.
#[derive(Debug, Serialize, Deserialize)]
struct Evaluated {
    /// The finding as it was, see [`version`].
    version: String,
    rows: Vec<Row>,
}

/// One occurrence, without its run.
#[derive(Debug, Serialize, Deserialize)]
struct Row {
    host: Option<String>,
    severity: String,
    #[serde(alias = "says")]
    message: String,
    /// As JSON, so that a number is the same however often it is kept and read.
    evidence: String,
}

impl Engine {
    /// Lets `findings` look at the runs of `scope`: those that found something or could not look, the worst first, and so what
    /// each found; equally bad ones are sorted by run.
    ///
    /// # Errors
    /// When the store cannot be read, the cluster is lost or the work interrupted: half of the findings are no answer. Any other
    /// finding that fails is among what is given back.
    pub(crate) fn look(&self, findings: Vec<Finding>, scope: &Scope) -> Result<Vec<Found>, QueryError> {
        let runs = self.runs_of(scope)?;
        let by = self.program()?.map(|program| word(&program));
        let path = |run: &RunId| self.kept_path(run, scope.part, by.as_deref(), "findings.json");
        let mut kept: Vec<CachedFindings> = runs.iter().map(|run| self.kept(path(run))).collect();
        let known = self.known_of(&runs);
        let jobs: Vec<Job> =
            findings.iter().map(|finding| Job::of(finding, &runs, scope, &kept, known.as_deref())).collect();
        let found = self.find_each(&findings, &jobs);
        let mut all = Vec::new();
        for ((finding, job), found) in findings.into_iter().zip(jobs).zip(found) {
            let mut outcome = match found.transpose() {
                Err(QueryError::Finding { source, .. }) if is_end(&source) => return Err(*source),
                Err(error) => Err(error),
                Ok(found) if finding.own => Ok(found.unwrap_or_default()),
                Ok(found) => Ok(job.keep(&finding, &found.unwrap_or_default(), &runs, &mut kept)),
            };
            if let Ok(occurrences) = &mut outcome {
                occurrences.sort_by_key(|occurrence| occurrence.severity);
            }
            if outcome.as_ref().map_or(true, |occurrences| !occurrences.is_empty()) {
                all.push(Found { outcome, finding, follows_from: Vec::new(), of_part: None, is_split: false });
            }
        }
        order(&mut all);
        for (run, kept) in runs.iter().zip(&kept).filter(|(_, kept)| kept.is_news) {
            // A store that cannot be written is read all the same, only slower.
            let _ = self.keep(path(run), kept);
        }
        Ok(all)
    }

    /// The runs of `scope`, each once.
    fn runs_of(&self, scope: &Scope) -> Result<Vec<RunId>, QueryError> {
        let mut seen = BTreeSet::new();
        let all = match &scope.runs {
            Some(runs) => runs.clone(),
            None => self.store().listing()?.0.into_iter().map(|summary| summary.id).collect(),
        };
        Ok(all.into_iter().filter(|run| seen.insert(run.clone())).collect())
    }

    /// Manifests of the runs; None where there are many, or one cannot be read.
    fn known_of(&self, runs: &[RunId]) -> Option<Vec<Manifest>> {
        let known = |run: &RunId| Some(self.store().run(run).ok()?.manifest);
        if runs.len() > MANY_RUNS { None } else { runs.iter().map(known).collect() }
    }

    /// Outcome of each finding in the scope of its job, in order; None where there is nothing to look for. Nearly all
    /// time is planning: one process that holds what all of them read takes less of it than several at once.
    fn find_each(&self, findings: &[Finding], jobs: &[Job]) -> Vec<Option<Outcome>> {
        let work = || findings.iter().zip(jobs).filter_map(|(finding, job)| Some((finding, job.scope.as_ref()?)));
        let ours = || work().filter(|(finding, _)| !finding.own);
        let shared = ours().next().map(|(_, scope)| scope).filter(|first| ours().all(|(_, scope)| scope == *first));
        if let Some(scope) = shared.filter(|_| ours().count() >= WORTH_HOLDING) {
            let text: String = ours().map(|(finding, _)| format!("{};\n", finding.sql)).collect();
            self.hold(&text, scope);
        }
        let mut is_over = false;
        let look = |(finding, job): (&Finding, &Job)| {
            let outcome = self.find(finding, job.scope.as_ref().filter(|_| !is_over)?);
            is_over = matches!(&outcome, Err(QueryError::Finding { source, .. }) if is_end(source));
            Some(outcome)
        };
        findings.iter().zip(jobs).map(look).collect()
    }

    /// Results that are kept of a run; empty where they cannot be believed.
    fn kept(&self, path: PathBuf) -> CachedFindings {
        self.store().read_cached(&path).and_then(|text| serde_json::from_slice(&text).ok()).unwrap_or_default()
    }

    fn keep(&self, path: PathBuf, kept: &CachedFindings) -> Result<(), QueryError> {
        let text = serde_json::to_vec(kept).map_err(|e| QueryError::Io(e.into()))?;
        Ok(self.store().keep_derived(&path, &text)?)
    }

    /// Text that `say` makes of the answer to a shipped statement. Of a single run, or a part of it, it is made once
    /// and kept under `name`: a sealed run never changes.
    ///
    /// # Errors
    /// When the statement cannot be answered.
    pub fn say_once(
        &self,
        name: &str,
        sql: &str,
        scope: &Scope,
        say: impl FnOnce(&Answer) -> String,
    ) -> Result<String, QueryError> {
        let by = self.program()?.map(|program| word(&program));
        let path = match self.runs_of(scope)?.as_slice() {
            [run] => {
                Some(self.kept_path(run, scope.part, by.as_deref(), &format!("{name}-{}.txt", version_of(sql, ""))))
            }
            _ => None,
        };
        let kept = path.as_ref().and_then(|path| String::from_utf8(self.store().read_cached(path)?).ok());
        if let Some(message) = kept {
            return Ok(message);
        }
        let message = say(&self.ours(sql, &[], scope)?);
        if let Some(path) = path {
            // A store that cannot be written is read all the same, only slower.
            let _ = self.store().keep_derived(&path, message.as_bytes());
        }
        Ok(message)
    }

    /// Where is kept `what` is known of a run, or a part of it, by this machine or another program.
    fn kept_path(&self, run: &RunId, part: Option<Part>, by: Option<&str>, what: &str) -> PathBuf {
        let edge = |us: Option<i64>| us.map(|us| us.to_string()).unwrap_or_default();
        let part = part.map(|part| format!("{}-{}.", edge(part.from_us), edge(part.to_us))).unwrap_or_default();
        let by = by.map(|by| format!("{by}.")).unwrap_or_default();
        self.store().derived(run, &format!("{part}{by}{what}"))
    }
}

/// Whether an error ends the whole look: half of the findings are no answer.
fn is_end(error: &QueryError) -> bool {
    matches!(error, QueryError::Cluster(_) | QueryError::Interrupted)
}

/// Where a finding has to look.
struct Job {
    /// The finding as it is, see [`version`].
    version: String,
    /// Places of the runs of which nothing is kept.
    missing: Vec<usize>,
    /// The scope to look at; None where everything is kept.
    scope: Option<Scope>,
}

impl Job {
    /// A finding of the store looks at everything each time, a shipped one at the runs of which nothing is kept: all of
    /// them, so that statements share what they read. What is about none of these, or reads only tables without rows, finds nothing.
    fn of(
        finding: &Finding,
        runs: &[RunId],
        scope: &Scope,
        kept: &[CachedFindings],
        known: Option<&[Manifest]>,
    ) -> Job {
        let version = version(finding);
        if finding.own {
            return Job { version, missing: Vec::new(), scope: Some(scope.clone()) };
        }
        let is_kept =
            |kept: &CachedFindings| kept.findings.get(&finding.name).is_some_and(|found| found.version == version);
        let missing: Vec<usize> = (0..runs.len()).filter(|i| !is_kept(&kept[*i])).collect();
        let of = |i: &usize| known.and_then(|known| known.get(*i));
        let is_about = |i: &&usize| of(i).is_none_or(|known| finding.is_about(known));
        let about: Vec<&usize> = missing.iter().filter(is_about).collect();
        let has_rows = |table: &str| {
            let in_run = |known: &Manifest| known.file(table).is_some_and(|file| file.rows > 0);
            // Marks are kept beside the runs.
            views::has_labels(table) || about.iter().any(|i| of(i).is_none_or(in_run))
        };
        let may_find = !about.is_empty() && Mentions::of(&finding.sql).may_answer(&finding.sql, &has_rows);
        let narrowed = Scope { runs: Some(missing.iter().map(|i| runs[*i].clone()).collect()), part: scope.part };
        Job { version, scope: may_find.then_some(narrowed), missing }
    }

    /// Keeps what a shipped finding found in the runs that it looked at, and gives what it finds in all.
    fn keep(
        &self,
        finding: &Finding,
        found: &[Occurrence],
        runs: &[RunId],
        kept: &mut [CachedFindings],
    ) -> Vec<Occurrence> {
        for i in &self.missing {
            let of_run = found.iter().filter(|occurrence| occurrence.run == runs[*i].as_str());
            let evaluated = Evaluated { version: self.version.clone(), rows: of_run.map(Row::of).collect() };
            kept[*i].findings.insert(finding.name.clone(), evaluated);
            kept[*i].is_news = true;
        }
        let rows = runs.iter().zip(kept.iter()).flat_map(|(run, kept)| {
            let rows = kept.findings.get(&finding.name).map(|found| found.rows.as_slice()).unwrap_or_default();
            rows.iter().filter_map(|row| row.occurrence(run))
        });
        rows.collect()
    }
}

/// Changes with what views and macros give findings to read, which is not in their own text.
const VIEWS: u32 = 1;

/// A program and its version as part of a file's name.
fn word(program: &str) -> String {
    blake3::hash(program.as_bytes()).to_hex().chars().take(12).collect()
}

/// Distinguishes versions of a finding.
fn version(finding: &Finding) -> String {
    let names: Vec<&str> = finding.names.iter().map(|kind| culprit::text(kind)).collect();
    let message = format!("{}\n{}\n{}", finding.severity, finding.message(), finding.world.join(";"));
    version_of(&format!("{}\n{}", finding.sql, names.join("\n")), &message)
}

/// Distinguishes versions of a statement with its message.
fn version_of(sql: &str, message: &str) -> String {
    let mut text = format!("{VIEWS}\n{message}\n{sql}");
    text.extend(Mentions::of(sql).derived.iter().map(|view| view.sql));
    blake3::hash(text.as_bytes()).to_hex().chars().take(20).collect()
}

impl Row {
    fn of(occurrence: &Occurrence) -> Row {
        Row {
            host: occurrence.host.clone(),
            severity: occurrence.severity.word().to_owned(),
            message: occurrence.message.clone(),
            evidence: serde_json::to_string(&occurrence.evidence).unwrap_or_default(),
        }
    }

    /// None where a word is none of ours, which a checksum excludes.
    fn occurrence(&self, run: &RunId) -> Option<Occurrence> {
        Some(Occurrence {
            run: run.to_string(),
            host: self.host.clone(),
            severity: Severity::parse(&self.severity)?,
            message: self.message.clone(),
            evidence: serde_json::from_str(&self.evidence).ok()?,
        })
    }
}
