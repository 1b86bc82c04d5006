//! Names that a word can be: of runs, tags, questions, tables, metrics, sources, formats.

use std::collections::BTreeSet;

use clap::Arg;
use fenxi_formats::formats;
use fenxi_load::workload::SHIPPED;
use fenxi_model::{
    Table,
    catalog::{TABLES, Type},
};
use fenxi_query::{boards, playbooks, questions};
use fenxi_store::{Store, Summary};

use super::Candidate;
use crate::{options::Global, overview, stores};

/// Where names come from.
pub struct Values {
    store: Option<Store>,
}

impl Values {
    /// Of the store that the command line names: the one that is completed, or that which completes it.
    pub fn of(global: &Global, words: &[String]) -> Values {
        let named = words.windows(2).find(|pair| pair[0] == "--store").map(|pair| Store::open(&pair[1]).ok());
        Values { store: named.unwrap_or_else(|| stores::open_as_it_is(global).ok()) }
    }

    /// Without a store.
    #[cfg(test)]
    pub fn of_no_store() -> Values {
        Values { store: None }
    }

    /// Values of an argument that begin as `typed` does. Of a list, the last item is completed.
    pub fn matching(&mut self, arg: &Arg, typed: &str) -> Vec<Candidate> {
        let possible = arg.get_possible_values();
        if !possible.is_empty() {
            let shown = possible.iter().filter(|value| !value.is_hide_set());
            let about =
                |value: &clap::builder::PossibleValue| value.get_help().map(ToString::to_string).unwrap_or_default();
            return beginning(shown.map(|value| (value.get_name().to_owned(), about(value))).collect(), "", typed);
        }
        let kind = arg.get_value_names().and_then(|names| names.first()).map_or("", |name| name.as_str());
        let is_list = matches!(kind, "SOURCES" | "RUN" | "RUN[/FROM..TO]" | "A" | "B");
        let (head, item) = match typed.rsplit_once(',').filter(|_| is_list) {
            Some((head, item)) => (format!("{head},"), item),
            None => (String::new(), typed),
        };
        let sign = if kind == "SOURCES" && item.starts_with(['+', '-']) { &item[..1] } else { "" };
        beginning(self.named(kind, &item[sign.len()..]), &format!("{head}{sign}"), typed)
    }

    /// All names of a kind, which is the name that help has for the value.
    fn named(&self, kind: &str, typed: &str) -> Vec<Candidate> {
        let pair = |name: &str, about: &str| (name.to_owned(), about.to_owned());
        match kind {
            "RUN" | "RUN[/FROM..TO]" | "A" | "B" => self.runs(typed),
            "SELECTOR" => tags(&self.summaries()),
            "TABLE" => TABLES.iter().map(|table| pair(table.name, table.doc)).collect(),
            "METRIC" => metrics(),
            "SOURCES" => {
                fenxi_record::sources().map(|source| pair(source.spec().name, source.spec().summary)).collect()
            }
            "FORMAT" => formats().map(|format| pair(format.name, format.summary())).collect(),
            "WORKLOAD" => SHIPPED.iter().map(|(name, _)| pair(name, "workload")).collect(),
            "COMMAND" => commands(),
            "QUESTION" => {
                self.of_store(|store| Some(questions(store).ok()?.iter().map(|q| pair(&q.name, &q.title)).collect()))
            }
            "PLAYBOOK" => {
                self.of_store(|store| Some(playbooks(store).ok()?.iter().map(|p| pair(&p.name, &p.title)).collect()))
            }
            "BOARD" => {
                self.of_store(|store| Some(boards(store).ok()?.keys().map(|name| pair(name, "board")).collect()))
            }
            _ => Vec::new(),
        }
    }

    fn of_store(&self, read: impl FnOnce(&Store) -> Option<Vec<Candidate>>) -> Vec<Candidate> {
        self.store.as_ref().and_then(read).unwrap_or_default()
    }

    /// Names of runs and tags, the latest first; ids where one begins so.
    fn runs(&self, typed: &str) -> Vec<Candidate> {
        let summaries = self.summaries();
        let about = |run: &Summary| format!("{} {}", run.start.to_the_second(), run.hosts.join(","));
        let mut found: Vec<Candidate> = Vec::new();
        if typed.is_empty() || typed.starts_with('@') {
            let latest = summaries.iter().take(9).enumerate();
            found.extend(
                latest.map(|(i, run)| (format!("@{}", i + 1), run.labels.name.clone().unwrap_or_else(|| about(run)))),
            );
        }
        let mut known = BTreeSet::new();
        for run in &summaries {
            let name = run.labels.name.as_ref().filter(|name| known.insert(*name));
            found.extend(name.map(|name| (name.clone(), about(run))));
        }
        if typed.starts_with(|c: char| c.is_ascii_digit()) {
            found.extend(summaries.iter().map(|run| (run.id.to_string(), about(run))));
        }
        found.extend(tags(&summaries));
        found
    }

    fn summaries(&self) -> Vec<Summary> {
        self.store.as_ref().and_then(|store| Some(store.listing().ok()?.0)).unwrap_or_default()
    }
}

/// Tags and parameters of runs, each once, the latest first.
fn tags(summaries: &[Summary]) -> Vec<Candidate> {
    let mut known = BTreeSet::new();
    let all = summaries.iter().flat_map(|run| run.labels.tags.iter().chain(&run.params));
    let new = all.filter(|tag| known.insert(*tag));
    new.map(|(key, value)| (format!("{key}={value}"), "tag".to_owned())).collect()
}

/// Commands in sight.
fn commands() -> Vec<Candidate> {
    let root = overview::built();
    let shown = root.get_subcommands().filter(|command| !command.is_hide_set());
    let about = |command: &clap::Command| command.get_about().map(ToString::to_string).unwrap_or_default();
    shown.map(|command| (command.get_name().to_owned(), about(command))).collect()
}

/// Columns with numbers, of all tables.
fn metrics() -> Vec<Candidate> {
    let of = |table: &'static Table| {
        let columns = table.columns.iter().filter(|column| matches!(column.ty, Type::F64 | Type::I64));
        columns.map(|column| (format!("{}.{}", table.name, column.name), column.doc.to_owned()))
    };
    TABLES.iter().copied().flat_map(of).collect()
}

/// Those with `head` before them that begin as `typed` does.
fn beginning(all: Vec<Candidate>, head: &str, typed: &str) -> Vec<Candidate> {
    let whole = all.into_iter().map(|(word, about)| (format!("{head}{word}"), about));
    // Words that would need quotes are left out: shells quote each in their own way.
    whole
        .filter(|(word, _)| {
            word.starts_with(typed) && !word.contains(|c: char| c.is_whitespace() || "'\"\\$`".contains(c))
        })
        .collect()
}
