//! Playbooks: the order in which somebody with experience asks. A file of steps; each is a question, what to look for in its
//! answer, and which step follows from what.
//!
//! ```toml
//! title = "The CPU is full"
//! about = "Which CPUs, in which state, and for which processes."
//! needs = "fenxi record -- COMMAND"     # optional: what a run needs for it
//!
//! [[step]]
//! name = "states"
//! ask = "cpu-summary"
//! param = { n = "10" }                  # optional
//! look = "Which state leads."
//! then = [{ when = "user time leads", step = "who" }, { when = "a disk is full", playbook = "disk-is-slow" }]
//! ```

use std::collections::BTreeMap;

use fenxi_model::near;
use fenxi_store::Store;
use serde::Deserialize;

use crate::{QueryError, shipped::SHIPPED_PLAYBOOKS};

/// The order in which questions are asked about something.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Playbook {
    /// Its name: the file's without `.toml`.
    #[serde(skip)]
    pub name: String,
    /// Title of the step: a statement or a question.
    pub title: String,
    /// One sentence on the way it goes.
    pub about: String,
    /// How a run is made that can answer all of it; None for any recording.
    pub needs: Option<String>,
    /// In the order of the file; the first one is the beginning.
    #[serde(rename = "step")]
    pub steps: Vec<Step>,
    /// True if it is none of the shipped ones.
    #[serde(skip)]
    pub own: bool,
}

/// A question of a playbook.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Step {
    /// Its name within the playbook.
    pub name: String,
    /// Name of the question.
    pub ask: String,
    /// Values of the question's parameters, as typed.
    #[serde(default)]
    pub param: BTreeMap<String, String>,
    /// Hint: what to look for in the answer.
    pub look: String,
    /// Next steps; empty at an end.
    #[serde(default)]
    pub then: Vec<Next>,
}

/// Next step of a playbook, and its condition.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Next {
    /// Condition: what the answer shows.
    pub when: String,
    /// The step that follows.
    pub step: Option<String>,
    /// Or the playbook that takes over.
    pub playbook: Option<String>,
}

impl Playbook {
    /// Reads a playbook from the text of a file called `name`.toml.
    ///
    /// # Errors
    /// [`QueryError::Question`] with the line: no TOML, an unknown key, a step that is not there or there twice.
    pub fn parse(name: &str, text: &str) -> Result<Playbook, QueryError> {
        let bad = |line, message| QueryError::Question { file: format!("{name}.toml"), line, message };
        let read: Result<Playbook, toml::de::Error> = toml::from_str(text);
        let playbook = read.map_err(|error| {
            let before = error.span().and_then(|span| text.get(..span.start)).unwrap_or_default();
            bad(1 + before.matches('\n').count(), error.message().to_owned())
        })?;
        let line_of = |step: &str| {
            let wanted = format!("name = \"{step}\"");
            1 + text.lines().position(|line| line.trim() == wanted).unwrap_or_default()
        };
        if playbook.steps.is_empty() {
            return Err(bad(1, "there is no `[[step]]`".to_owned()));
        }
        for (place, step) in playbook.steps.iter().enumerate() {
            let wrong = |message| Err(bad(line_of(&step.name), message));
            if playbook.steps[..place].iter().any(|other| other.name == step.name) {
                return wrong(format!("there are two steps `{}`", step.name));
            }
            for next in &step.then {
                match (&next.step, &next.playbook) {
                    (Some(to), None) if playbook.steps.iter().any(|step| step.name == *to) => {}
                    (Some(to), None) => return wrong(format!("step `{}`: there is no step `{to}`", step.name)),
                    (None, Some(_)) => {}
                    _ => return wrong(format!("step `{}`: `then` needs either `step` or `playbook`", step.name)),
                }
            }
        }
        Ok(Playbook { name: name.to_owned(), ..playbook })
    }
}

/// All playbooks by name: those that are shipped, and those in the store's folder `playbooks`, which replace shipped ones
/// of the same name.
///
/// # Errors
/// When one of the store cannot be read; those shipped are tested to be right.
pub fn playbooks(store: &Store) -> Result<Vec<Playbook>, QueryError> {
    let mut by_name = BTreeMap::new();
    for (name, text) in SHIPPED_PLAYBOOKS {
        by_name.insert((*name).to_owned(), Playbook::parse(name, text)?);
    }
    let folder = store.path().join("playbooks");
    if folder.is_dir() {
        for entry in fs_err::read_dir(&folder)? {
            let path = entry?.path();
            if path.extension().is_some_and(|e| e == "toml") {
                let name = path.file_stem().map(|s| s.to_string_lossy().into_owned()).unwrap_or_default();
                let playbook = Playbook::parse(&name, &fs_err::read_to_string(&path)?)?;
                by_name.insert(name, Playbook { own: true, ..playbook });
            }
        }
    }
    Ok(by_name.into_values().collect())
}

/// The playbook called `name`, shipped or the store's own.
///
/// # Errors
/// [`QueryError::UnknownPlaybook`] with near names.
pub fn playbook(store: &Store, name: &str) -> Result<Playbook, QueryError> {
    let mut all = playbooks(store)?;
    match all.iter().position(|playbook| playbook.name == name) {
        Some(place) => Ok(all.swap_remove(place)),
        None => {
            let near = near(name, all.iter().map(|playbook| playbook.name.as_str()));
            Err(QueryError::UnknownPlaybook { name: name.to_owned(), near })
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Playbook;

    #[test]
    fn what_is_wrong_is_said_with_its_line() {
        let head = "title = \"T\"\nabout = \"A.\"\n";
        let error = |text: &str| Playbook::parse("p", &format!("{head}{text}")).unwrap_err().to_string();
        let step = "[[step]]\nname = \"a\"\nask = \"q\"\nlook = \"l\"\n";
        assert!(Playbook::parse("p", &format!("{head}{step}")).is_ok());
        assert_eq!(error(&format!("{step}{step}")), "p.toml: line 4: there are two steps `a`");
        let then = |next: &str| error(&format!("{step}then = [{{ when = \"w\"{next} }}]\n"));
        assert_eq!(then(", step = \"b\""), "p.toml: line 4: step `a`: there is no step `b`");
        assert!(then("").contains("either `step` or `playbook`"));
        assert!(error("step = []\n").contains("there is no `[[step]]`"));
        assert!(error("[[step]]\nname = 3\n").starts_with("p.toml: line 4: "), "{}", error("[[step]]\nname = 3\n"));
    }
}
