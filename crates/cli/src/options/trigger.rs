//! Conditions that a recording looks for, and actions when one comes true.

use std::sync::Arc;

use anyhow::{anyhow, bail};
use clap::{Args, ValueEnum};
use fenxi_model::parse_seconds;
use fenxi_record::{Condition, Hook, Triggered, Triggers, Who, fills, started};
use fenxi_source::{Root, Source};
use regex::Regex;

use super::seconds;
use crate::{print, progress::plural};

/// Options of triggers: conditions and actions.
#[derive(Debug, Args)]
#[command(next_help_heading = "Triggers")]
pub struct TriggerArgs {
    /// Trigger: act when this condition holds, such as `cpu.busy > 90 for 5s`, `sessions reaches 10,20,30`, `event kind='oom kill'`
    /// or `disk.await_ms unusual`; can be repeated
    #[arg(long, value_name = "CONDITION", value_parser = Condition::parse)]
    pub when: Vec<Condition>,
    /// Sources to start when a trigger fires, as +profile,+querystat
    #[arg(long, value_name = "SOURCES", value_delimiter = ',', allow_hyphen_values = true, requires = "when")]
    pub then: Vec<String>,
    /// Pre-trigger time: keep only the data around triggers, from so long before each; without it, everything is recorded
    #[arg(long, value_name = "TIME", value_parser = seconds, requires = "when")]
    pub before: Option<f64>,
    /// Post-trigger time: how long sources of --then run after a trigger (and rows are kept, with --before)
    #[arg(long, value_name = "TIME", default_value = "60s", value_parser = seconds)]
    pub after: f64,
    /// Target of the started sources: everything, or only the session that reached the level
    #[arg(long, alias = "whom", value_name = "WHAT", default_value = "all", requires = "then")]
    pub only: Only,
    /// Maximum number of times that triggers fire
    #[arg(long, value_name = "N", default_value_t = 10, value_parser = clap::value_parser!(u32).range(1..))]
    pub at_most: u32,
    /// Cooldown: time in which a condition (a level, a series of it) does not fire again
    #[arg(long, value_name = "TIME", default_value = "60s", value_parser = calm)]
    pub calm: f64,
    /// Hook: also run a command, which gets JSON on standard input, or post it to http://…; can be repeated
    #[arg(long, value_name = "COMMAND", value_parser = Hook::parse, requires = "when")]
    pub hook: Vec<Hook>,
    /// Make a mark of each log line that matches this regular expression
    #[arg(long, value_name = "REGEX", value_parser = Regex::new)]
    pub mark_on: Option<Regex>,
}

/// What is observed after a trigger.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Only {
    /// Everything that the sources observe otherwise
    All,
    /// The PostgreSQL session that reached the level
    Session,
}

impl TriggerArgs {
    /// The triggers; None when there are none. Adds sources that conditions need.
    pub fn triggers(&self, sources: &mut Vec<Arc<dyn Source>>) -> anyhow::Result<Option<Triggers>> {
        if self.when.is_empty() && self.mark_on.is_none() {
            return Ok(None);
        }
        for condition in &self.when {
            for table in condition.tables().into_iter().filter(|table| *table != "event") {
                need(table, &condition.text, sources)?;
            }
        }
        if self.mark_on.is_some() {
            need_source("log", sources);
        }
        if !self.then.is_empty() {
            let wanted = started(&self.then, None).map_err(|why| anyhow!("--then: {why}"))?;
            warn_of_refused(wanted.iter().map(|(source, _)| source));
        }
        let who = match self.only {
            Only::All => Who::All,
            Only::Session => Who::Session,
        };
        Ok(Some(Triggers {
            then: self.then.clone(),
            who,
            before_s: self.before,
            after_s: self.after,
            at_most: self.at_most,
            calm_s: self.calm,
            hooks: self.hook.clone(),
            marks: self.mark_on.clone(),
            ..Triggers::new(self.when.clone())
        }))
    }
}

/// Reports now what could not be started when a condition comes true: that may be in hours, and the moment is gone then.
fn warn_of_refused<'s>(sources: impl Iterator<Item = &'s Arc<dyn Source>>) {
    for source in sources {
        // A started source is dropped, and with it what it attached.
        if let Err(error) = source.start(&Root::live()) {
            print::message(&format!("warning: --then {} could not be started here: {error}", source.spec().name));
        }
    }
}

/// How often each condition came true, a line for each with a line break before it.
pub fn came_true(all: &[Triggered]) -> String {
    let line = |one: &Triggered| {
        let fired = || format!("fired {}", plural(u64::from(one.fired), "time"));
        format!("\n`{}` {}", one.condition, one.never.clone().unwrap_or_else(fired))
    };
    all.iter().map(line).collect()
}

/// A time, perhaps none.
fn calm(text: &str) -> Result<f64, String> {
    match parse_seconds(text) {
        Some(0.0) => Ok(0.0),
        _ => seconds(text),
    }
}

/// Sees to it that something that is recorded fills a table.
fn need(table: &str, condition: &str, sources: &mut Vec<Arc<dyn Source>>) -> anyhow::Result<()> {
    if sources.iter().any(|source| source.spec().tables.iter().any(|filled| filled.name == table)) {
        return Ok(());
    }
    match fills(table) {
        Some(source) => sources.push(Arc::new(source)),
        None if table.starts_with("db") => {
            bail!("`{condition}`: `{table}` comes from a database server; name one with --db")
        }
        None => bail!("`{condition}`: nothing that is recorded fills `{table}`; add its source with --source +NAME"),
    }
    Ok(())
}

fn need_source(name: &str, sources: &mut Vec<Arc<dyn Source>>) {
    if let Some(source) = fenxi_record::source(name).filter(|_| !sources.iter().any(|s| s.spec().name == name)) {
        sources.push(Arc::new(source));
    }
}
