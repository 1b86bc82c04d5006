//! Findings of a run are evaluated once and kept in `cache/windows`, beside the statistics of its windows.
//!
//! A sealed run never changes, so what a shipped finding finds in it holds until the finding does. Findings of the store are
//! evaluated anew each time: they may look at more than one run. What a cluster found is kept apart from what this machine did.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::PathBuf,
};

use fenxi_model::RunId;
use fs_err as fs;
use serde::{Deserialize, Serialize};

use super::{Finding, Found, Occurrence, Severity, order};
use crate::{Engine, Part, QueryError, Scope, views::Mentions};

/// What was found in one run, or a part of it, by the finding's name.
#[derive(Debug, Default, Serialize, Deserialize)]
struct Kept {
    findings: BTreeMap<String, Evaluated>,
    /// Whether it holds what its file does not.
    #[serde(skip)]
    is_news: bool,
}

/// What one finding found.
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
    says: String,
    /// As JSON, so that a number is the same however often it is kept and read.
    evidence: String,
}

impl Engine {
    /// Lets `findings` look at the runs of `scope`: those that found something or could not look, the worst first, and so what
    /// each found; what is equally bad stands by run.
    ///
    /// # Errors
    /// When the store cannot be read, the cluster is lost or the work interrupted: half of the findings are no answer. Any other
    /// finding that fails stands among what is given back.
    pub(super) fn look(&self, findings: Vec<Finding>, scope: &Scope) -> Result<Vec<Found>, QueryError> {
        let runs = self.runs_of(scope)?;
        let by = self.program()?.map(|program| word(&program));
        let path = |run: &RunId| self.kept_path(run, scope.part, by.as_deref());
        let mut kept: Vec<Kept> = runs.iter().map(|run| self.kept(path(run))).collect();
        let mut all = Vec::new();
        for finding in findings {
            let outcome = match finding.own {
                true => self.find(&finding, scope),
                false => self.evaluate(&finding, &runs, scope.part, &mut kept),
            };
            let mut outcome = match outcome {
                Err(QueryError::Finding { source, .. })
                    if matches!(*source, QueryError::Cluster(_) | QueryError::Interrupted) =>
                {
                    return Err(*source);
                }
                outcome => outcome,
            };
            if let Ok(occurrences) = &mut outcome {
                occurrences.sort_by_key(|occurrence| occurrence.severity);
            }
            if outcome.as_ref().map_or(true, |occurrences| !occurrences.is_empty()) {
                all.push(Found { outcome, finding, follows_from: Vec::new(), of_latency: None });
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
            None => self.store().summaries()?.into_iter().map(|summary| summary.id).collect(),
        };
        Ok(all.into_iter().filter(|run| seen.insert(run.clone())).collect())
    }

    /// Evaluates a finding in those runs of which nothing is kept, and gives what it finds in all.
    fn evaluate(
        &self,
        finding: &Finding,
        runs: &[RunId],
        part: Option<Part>,
        kept: &mut [Kept],
    ) -> Result<Vec<Occurrence>, QueryError> {
        let version = version(finding);
        let is_kept = |kept: &Kept| kept.findings.get(&finding.name).is_some_and(|found| found.version == version);
        let missing: Vec<usize> = (0..runs.len()).filter(|i| !is_kept(&kept[*i])).collect();
        if !missing.is_empty() {
            let scope = Scope { runs: Some(missing.iter().map(|i| runs[*i].clone()).collect()), part };
            let found = self.find(finding, &scope)?;
            for i in missing {
                let of_run = found.iter().filter(|occurrence| occurrence.run == runs[i].as_str());
                let rows = of_run.map(Row::of).collect();
                kept[i].findings.insert(finding.name.clone(), Evaluated { version: version.clone(), rows });
                kept[i].is_news = true;
            }
        }
        let rows = runs.iter().zip(kept.iter()).flat_map(|(run, kept)| {
            let rows = kept.findings.get(&finding.name).map(|found| found.rows.as_slice()).unwrap_or_default();
            rows.iter().filter_map(|row| row.occurrence(run))
        });
        Ok(rows.collect())
    }

    /// What is kept of a run; nothing where that cannot be believed.
    fn kept(&self, path: PathBuf) -> Kept {
        if !self.store().has_cached(&path) {
            return Kept::default();
        }
        fs::read(path).ok().and_then(|text| serde_json::from_slice(&text).ok()).unwrap_or_default()
    }

    fn keep(&self, path: PathBuf, kept: &Kept) -> Result<(), QueryError> {
        self.store().make_derived()?;
        let scratch = self.store().scratch()?;
        let text = serde_json::to_string(kept).map_err(|e| QueryError::Io(e.into()))?;
        fs::write(scratch.path("findings.json"), text)?;
        Ok(self.store().keep_cached(&scratch.path("findings.json"), &path)?)
    }

    /// Where is kept what was found in a run, or a part of it, by this machine or another program.
    fn kept_path(&self, run: &RunId, part: Option<Part>, by: Option<&str>) -> PathBuf {
        let edge = |us: Option<i64>| us.map(|us| us.to_string()).unwrap_or_default();
        let part = part.map(|part| format!("{}-{}.", edge(part.from_us), edge(part.to_us))).unwrap_or_default();
        let by = by.map(|by| format!("{by}.")).unwrap_or_default();
        self.store().derived(run, &format!("{part}{by}findings.json"))
    }
}

/// Changes with what views and macros give findings to read, which their own text does not tell.
const VIEWS: u32 = 1;

/// A program and its version as part of a file's name.
fn word(program: &str) -> String {
    blake3::hash(program.as_bytes()).to_hex().chars().take(12).collect()
}

/// Tells a finding from what it was before.
fn version(finding: &Finding) -> String {
    let mut text = format!("{VIEWS}\n{}\n{}\n{}", finding.severity, finding.says(), finding.sql);
    text.extend(Mentions::of(&finding.sql).derived.iter().map(|view| view.sql));
    blake3::hash(text.as_bytes()).to_hex().chars().take(20).collect()
}

impl Row {
    fn of(occurrence: &Occurrence) -> Row {
        Row {
            host: occurrence.host.clone(),
            severity: occurrence.severity.word().to_owned(),
            says: occurrence.says.clone(),
            evidence: serde_json::to_string(&occurrence.evidence).unwrap_or_default(),
        }
    }

    /// None where a word is none of ours, which a checksum excludes.
    fn occurrence(&self, run: &RunId) -> Option<Occurrence> {
        Some(Occurrence {
            run: run.to_string(),
            host: self.host.clone(),
            severity: Severity::parse(&self.severity)?,
            says: self.says.clone(),
            evidence: serde_json::from_str(&self.evidence).ok()?,
        })
    }
}
