//! Sources asked for by name and not observed. A note in the run records them as well, but a user who believes to have
//! them does not look there; so they are printed on the terminal, when it is known and once more at the end.

use std::collections::BTreeSet;

use fenxi_model::{Rows, catalog::note};
use fenxi_record::Stage;

/// How notes of what is not observed begin: those of a recorder on a source, those of a source on one of several servers.
const BEGINNINGS: [&str; 2] = ["not recorded: ", "not observed: "];

/// Sources that were named, and what became of them.
#[derive(Debug)]
pub struct Unmet {
    named: BTreeSet<String>,
    told: BTreeSet<String>,
}

impl Unmet {
    /// Of a list of sources as it is typed, and of what other options ask for.
    pub fn of<'a>(list: &'a [String], further: impl IntoIterator<Item = &'a str>) -> Unmet {
        let name = |item: &'a String| {
            let item = item.trim();
            let name = item.strip_prefix('+').unwrap_or(item).split(':').next().unwrap_or_default();
            (!item.starts_with('-') && !name.is_empty()).then_some(name)
        };
        let named = list.iter().filter_map(name).chain(further).map(str::to_owned).collect();
        Unmet { named, told: BTreeSet::new() }
    }

    /// Looks at what a stage brought; gives each warning once.
    pub fn look(&mut self, stage: &Stage<'_>) -> Vec<String> {
        match stage {
            Stage::Began { rows, .. }
            | Stage::Tick { rows, .. }
            | Stage::SinceBoot { rows, .. }
            | Stage::Rolled { rows, .. } => self.look_at(rows),
            Stage::Sealing => Vec::new(),
        }
    }

    fn look_at(&mut self, rows: &Rows) -> Vec<String> {
        let Some(notes) = rows.of(&note::TABLE) else { return Vec::new() };
        let mut new = Vec::new();
        for row in 0..notes.n_rows() {
            let Some(source) = notes.str(row, note::source).filter(|name| self.named.contains(*name)) else { continue };
            let message = notes.str(row, note::message).unwrap_or_default();
            let Some(why) = BEGINNINGS.iter().find_map(|begin| message.strip_prefix(begin)) else { continue };
            let what = notes.str(row, note::file).filter(|file| !file.is_empty()).unwrap_or(source);
            let warning = format!("warning: {what} is asked for and not recorded: {why}");
            if self.told.insert(warning.clone()) {
                new.push(warning);
            }
        }
        new
    }

    /// All that was reported, for the end.
    pub fn told(&self) -> impl Iterator<Item = &str> {
        self.told.iter().map(String::as_str)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_was_named_is_told_and_once() {
        let list = ["+profile", "log:file=/nonexistent", "-net", "cpu"].map(str::to_owned);
        let mut unmet = Unmet::of(&list, ["db"]);
        let mut rows = Rows::new("here");
        for (source, file, message) in [
            ("profile", "", "not recorded: perf_event_open is not allowed"),
            ("net", "", "not recorded: there is no /proc/net"),
            ("irq", "", "not recorded: it may not be read"),
            ("db", "127.0.0.1:1", "not observed: connection refused"),
            ("db", "127.0.0.1:2", "its tables are not read"),
            ("log", "", "not recorded: /nonexistent: no such file"),
        ] {
            rows.set_source(source);
            rows.note(file, None, message);
        }
        let told = unmet.look_at(&rows);
        assert_eq!(
            told,
            [
                "warning: profile is asked for and not recorded: perf_event_open is not allowed",
                "warning: 127.0.0.1:1 is asked for and not recorded: connection refused",
                "warning: log is asked for and not recorded: /nonexistent: no such file",
            ]
        );
        assert!(unmet.look_at(&rows).is_empty());
        assert_eq!(unmet.told().count(), 3);
    }
}
