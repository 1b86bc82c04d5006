//! Error policy: retry the transaction, abandon it, or abort the run.

use std::fmt;

use serde::{Deserialize, Serialize};

use fenxi_wire::{Dialect, ServerError};

/// Action after a failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Action {
    /// The same transaction again, with its own values and its own intended start.
    Retry,
    /// It is given up and counted.
    Ignore,
    /// The test ends.
    Stop,
}

/// Class of failure, by which failures are counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Failure {
    /// The server refused a statement or a login: SQLSTATE and MySQL's number, 0 with PostgreSQL.
    Server([u8; 5], u16),
    /// No connection could be made.
    Connect,
    /// A login could not be done, other than by the server's refusal.
    Login,
    /// A connection ended within a session.
    Lost,
    /// A process that made a part of the load was lost.
    Worker,
}

impl From<&ServerError> for Failure {
    fn from(error: &ServerError) -> Failure {
        Failure::Server(error.state, error.number)
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Failure::Server(state, 0) => write!(f, "{}", String::from_utf8_lossy(state)),
            Failure::Server(state, number) => write!(f, "{number}/{}", String::from_utf8_lossy(state)),
            Failure::Connect => f.write_str("connect"),
            Failure::Login => f.write_str("login"),
            Failure::Lost => f.write_str("lost"),
            Failure::Worker => f.write_str("worker"),
        }
    }
}

/// A class of failures.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
enum Class {
    All,
    /// The beginning of a SQLSTATE.
    State(String),
    Number(u16),
    Word(Failure),
}

impl Class {
    fn parse(text: &str) -> Option<Class> {
        let upper = text.to_ascii_uppercase();
        let is_code = upper.bytes().all(|b| b.is_ascii_digit() || b.is_ascii_uppercase());
        Some(match text {
            "all" => Class::All,
            "connect" => Class::Word(Failure::Connect),
            "login" => Class::Word(Failure::Login),
            "lost" => Class::Word(Failure::Lost),
            "worker" => Class::Word(Failure::Worker),
            // MySQL's numbers have three or four digits, states five characters and classes of them two.
            _ if matches!(text.len(), 3 | 4) => Class::Number(text.parse().ok()?),
            _ if matches!(text.len(), 2 | 5) && is_code => Class::State(upper),
            _ => return None,
        })
    }

    fn holds(&self, failure: Failure) -> bool {
        match (self, failure) {
            (Class::All, _) => true,
            (Class::State(begin), Failure::Server(state, _)) => state.starts_with(begin.as_bytes()),
            (Class::Number(number), Failure::Server(_, own)) => *number == own,
            (Class::Word(word), failure) => *word == failure,
            _ => false,
        }
    }
}

/// An action for each class of failures.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Policy {
    /// Later ones win.
    rules: Vec<(Class, Action)>,
    /// How often a transaction is tried again.
    pub max_retries: u32,
}

impl Policy {
    /// Deadlocks, failed serialisations, lock timeouts and duplicate keys are tried again: they are of the race between
    /// transactions, as when two of them delete and insert the same row. All else is counted and given up.
    pub fn for_dialect(dialect: Dialect) -> Policy {
        let retried: &[&str] = match dialect {
            Dialect::Postgres => &["40001", "40P01", "55P03", "23505"],
            Dialect::Mysql => &["1213", "1205", "1062", "40001"],
        };
        let rules = retried.iter().filter_map(|code| Some((Class::parse(code)?, Action::Retry))).collect();
        Policy { rules, max_retries: 100 }
    }

    /// Adds a rule for a class: a SQLSTATE or two characters of it, MySQL's number, `connect`, `login`, `lost`,
    /// `worker` or `all`.
    ///
    /// # Errors
    /// When it is no class.
    pub fn add(&mut self, class: &str, action: Action) -> Result<(), String> {
        let known = "a SQLSTATE (40P01) or its class (40), a number of MySQL's (1213), connect, login, lost, \
                     worker, all";
        let class = Class::parse(class).ok_or_else(|| format!("unknown error class `{class}`; known are {known}"))?;
        self.rules.push((class, action));
        Ok(())
    }

    /// Action after a failure.
    pub fn action(&self, failure: Failure) -> Action {
        let rule = self.rules.iter().rev().find(|(class, _)| class.holds(failure));
        rule.map_or(Action::Ignore, |(_, action)| *action)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_rule_that_fits_decides() {
        let mut policy = Policy::for_dialect(Dialect::Postgres);
        let deadlock = Failure::Server(*b"40P01", 0);
        assert_eq!(policy.action(deadlock), Action::Retry);
        assert_eq!(policy.action(Failure::Lost), Action::Ignore);
        policy.add("all", Action::Stop).unwrap();
        policy.add("40", Action::Ignore).unwrap();
        assert_eq!((policy.action(deadlock), policy.action(Failure::Lost)), (Action::Ignore, Action::Stop));
        policy.add("lost", Action::Retry).unwrap();
        assert_eq!(policy.action(Failure::Lost), Action::Retry);
        assert_eq!(Policy::for_dialect(Dialect::Mysql).action(Failure::Server(*b"23000", 1062)), Action::Retry);
        for wrong in ["", "deadlock", "4", "12x", "*****"] {
            assert!(policy.add(wrong, Action::Stop).is_err(), "{wrong}");
        }
    }

    #[test]
    fn failures_are_named_by_their_codes() {
        assert_eq!(Failure::Server(*b"40P01", 0).to_string(), "40P01");
        assert_eq!(Failure::Server(*b"40001", 1213).to_string(), "1213/40001");
    }
}
