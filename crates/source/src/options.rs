//! Options of a source as data: a command line, `--source NAME:key=value` and the pages that describe them all derive from
//! the same declaration.

use std::collections::BTreeMap;

/// One option.
#[derive(Clone, Copy, Debug)]
pub struct Opt {
    /// Its name, as after `--`.
    pub name: &'static str,
    /// Its short form, as after `-`.
    pub short: Option<char>,
    /// Type of its value.
    pub takes: Takes,
    /// Help text, one line.
    pub about: &'static str,
    /// Effect.
    pub changes: Changes,
    /// Options that make no sense beside it.
    pub not_with: &'static [&'static str],
}

impl Opt {
    /// With a short form.
    #[must_use]
    pub const fn short(self, short: char) -> Opt {
        Opt { short: Some(short), ..self }
    }

    /// One that changes how rows are shown only.
    #[must_use]
    pub const fn of_view(self) -> Opt {
        Opt { changes: Changes::View, ..self }
    }

    /// One that makes no sense beside others.
    #[must_use]
    pub const fn without(self, others: &'static [&'static str]) -> Opt {
        Opt { not_with: others, ..self }
    }
}

/// Effect of an option.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Changes {
    /// The observed rows: a recording can have it.
    Rows,
    /// How it is shown only.
    View,
}

/// Type of an option's value.
#[derive(Clone, Copy, Debug)]
pub enum Takes {
    /// Nothing: it is given or not.
    Nothing,
    /// A whole number within bounds.
    Number {
        /// Its placeholder in help.
        what: &'static str,
        /// The value where it is not given.
        default: u64,
        /// The minimum that is taken.
        min: u64,
        /// The maximum that is taken.
        max: u64,
    },
    /// A number of any kind.
    Decimal {
        /// Its placeholder in help.
        what: &'static str,
        /// The value where it is not given.
        default: f64,
    },
    /// A time in seconds, as 5ms or 1s; none where it is not given.
    Time,
    /// One of these words, each with what it means; the first one where it is not given.
    Word(&'static [(&'static str, &'static str)]),
    /// Numbers of processes; none where it is not given.
    Processes,
    /// A text that the function finds nothing wrong with; none where it is not given.
    Text {
        /// Its placeholder in help.
        what: &'static str,
        /// Reports what is wrong with a text.
        check: fn(&str) -> Result<(), String>,
    },
}

/// Value of an option.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// That it is.
    Given,
    /// A whole number.
    Number(u64),
    /// A number of any kind, or seconds.
    Decimal(f64),
    /// A word or text.
    Text(String),
    /// Numbers of processes.
    Processes(Vec<u32>),
}

/// Options as they were given; those that were not have their defaults.
#[derive(Clone, Debug, Default)]
pub struct Options {
    declared: &'static [Opt],
    given: BTreeMap<&'static str, Value>,
    /// True if only the command that is run meanwhile, and what it begins, is observed.
    pub command_only: bool,
}

impl Options {
    /// None of those declared is given.
    pub fn new(declared: &'static [Opt]) -> Options {
        Options { declared, given: BTreeMap::new(), command_only: false }
    }

    /// The declared option of this name.
    fn declared(&self, name: &str) -> Option<&'static Opt> {
        self.declared.iter().find(|option| option.name == name)
    }

    /// Gives one of them.
    ///
    /// # Errors
    /// When the name or the value is wrong; the text states why.
    pub fn give(&mut self, name: &str, text: Option<&str>) -> Result<(), String> {
        let option = self.declared(name).ok_or_else(|| self.unknown(name))?;
        if let Some(other) = self.given.keys().find(|other| excludes(option, self.declared(other))) {
            return Err(format!("`{name}` makes no sense with `{other}`"));
        }
        let value = match (option.takes, text) {
            (Takes::Nothing, None | Some("yes")) => Value::Given,
            (Takes::Nothing, Some(text)) => return Err(format!("`{name}` takes no value; `{text}` is one")),
            (_, None) => return Err(format!("`{name}` wants a value: {name}=…")),
            (takes, Some(text)) => takes.parse(text).map_err(|why| format!("`{name}` is `{text}`: {why}"))?,
        };
        self.put(option, value);
        Ok(())
    }

    /// Gives one of them, as it was read already. Numbers of processes are added to those that were given before.
    pub fn put(&mut self, option: &'static Opt, value: Value) {
        let value = match (self.given.remove(option.name), value) {
            (Some(Value::Processes(before)), Value::Processes(more)) => Value::Processes([before, more].concat()),
            (_, value) => value,
        };
        self.given.insert(option.name, value);
    }

    fn unknown(&self, name: &str) -> String {
        let names: Vec<_> = self.declared.iter().map(|option| option.name).collect();
        match names.is_empty() {
            true => format!("there is no option `{name}`, and no other"),
            false => format!("there is no option `{name}`; there are {}", names.join(", ")),
        }
    }

    fn takes(&self, name: &str) -> Option<&'static Takes> {
        self.declared(name).map(|option| &option.takes)
    }

    /// Returns true if an option that takes nothing is given.
    pub fn is_given(&self, name: &str) -> bool {
        self.given.contains_key(name)
    }

    /// A whole number, or its default.
    pub fn number(&self, name: &str) -> u64 {
        match (self.given.get(name), self.takes(name)) {
            (Some(Value::Number(n)), _) => *n,
            (_, Some(Takes::Number { default, .. })) => *default,
            _ => 0,
        }
    }

    /// Value of an option that is a whole number, or its default.
    pub fn count(&self, name: &str) -> usize {
        usize::try_from(self.number(name)).unwrap_or(usize::MAX)
    }

    /// A number of any kind, or its default.
    pub fn decimal(&self, name: &str) -> f64 {
        match (self.given.get(name), self.takes(name)) {
            (Some(Value::Decimal(n)), _) => *n,
            (_, Some(Takes::Decimal { default, .. })) => *default,
            _ => 0.0,
        }
    }

    /// Seconds, if given.
    pub fn seconds(&self, name: &str) -> Option<f64> {
        match self.given.get(name) {
            Some(Value::Decimal(n)) => Some(*n),
            _ => None,
        }
    }

    /// A word or its default; a text, empty if it is not given.
    pub fn word(&self, name: &str) -> &str {
        match (self.given.get(name), self.takes(name)) {
            (Some(Value::Text(text)), _) => text,
            (_, Some(Takes::Word(words))) => words.first().map_or("", |(word, _)| *word),
            _ => "",
        }
    }

    /// Numbers of processes; empty if none is given.
    pub fn processes(&self, name: &str) -> &[u32] {
        match self.given.get(name) {
            Some(Value::Processes(pids)) => pids,
            _ => &[],
        }
    }
}

fn excludes(option: &Opt, other: Option<&Opt>) -> bool {
    let Some(other) = other else { return false };
    option.not_with.contains(&other.name) || other.not_with.contains(&option.name)
}

impl Takes {
    /// The value in a text. An option without a value has none.
    ///
    /// # Errors
    /// When the text is no such value; the error states why.
    pub fn parse(&self, text: &str) -> Result<Value, String> {
        match self {
            Takes::Nothing => Err("it takes no value".to_owned()),
            Takes::Number { min, max, .. } => match text.parse() {
                Ok(n) if n < *min => Err(format!("less than {min}")),
                Ok(n) if n > *max => Err(format!("more than {max}")),
                Ok(n) => Ok(Value::Number(n)),
                Err(_) => Err("expected a whole number".to_owned()),
            },
            Takes::Decimal { .. } => match text.parse::<f64>() {
                Ok(n) if n.is_finite() => Ok(Value::Decimal(n)),
                _ => Err("expected a number".to_owned()),
            },
            Takes::Time => {
                let seconds = fenxi_model::parse_seconds(text).filter(|seconds| *seconds > 0.0);
                seconds.map(Value::Decimal).ok_or_else(|| "expected a time such as 5ms or 1s".to_owned())
            }
            Takes::Word(words) => match words.iter().find(|(word, _)| *word == text) {
                Some((word, _)) => Ok(Value::Text((*word).to_owned())),
                None => {
                    let words: Vec<_> = words.iter().map(|(word, _)| *word).collect();
                    Err(format!("expected one of {}", words.join(", ")))
                }
            },
            Takes::Processes => {
                let pids: Result<Vec<u32>, _> = text.split(',').map(str::parse).collect();
                pids.map(Value::Processes).map_err(|_| "expected numbers of processes".to_owned())
            }
            Takes::Text { check, .. } => check(text).map(|()| Value::Text(text.to_owned())),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const OPT: Opt =
        Opt { name: "", short: None, takes: Takes::Nothing, about: "", changes: Changes::Rows, not_with: &[] };
    const DECLARED: &[Opt] = &[
        Opt { name: "light", ..OPT }.without(&["pid"]),
        Opt { name: "pid", takes: Takes::Processes, ..OPT },
        Opt { name: "top", takes: Takes::Number { what: "N", default: 40, min: 1, max: 100 }, ..OPT }.of_view(),
        Opt { name: "by", takes: Takes::Word(&[("call", ""), ("process", "")]), ..OPT },
        Opt { name: "slower", takes: Takes::Time, ..OPT },
        Opt { name: "until", takes: Takes::Decimal { what: "PERCENT", default: 95.0 }, ..OPT },
    ];

    #[test]
    fn what_is_not_given_has_its_default() {
        let none = Options::new(DECLARED);
        assert_eq!((none.count("top"), none.word("by"), none.decimal("until")), (40, "call", 95.0));
        assert_eq!((none.is_given("light"), none.processes("pid"), none.seconds("slower")), (false, &[][..], None));
    }

    #[test]
    fn what_is_given_is_read() {
        let mut options = Options::new(DECLARED);
        for (name, value) in [("pid", "7,8"), ("pid", "9"), ("top", "5"), ("by", "process"), ("slower", "5ms")] {
            assert_eq!(options.give(name, Some(value)), Ok(()));
        }
        assert_eq!((options.processes("pid"), options.count("top")), (&[7, 8, 9][..], 5));
        assert_eq!((options.word("by"), options.seconds("slower")), ("process", Some(0.005)));
    }

    #[test]
    fn what_cannot_be_is_told() {
        let mut options = Options::new(DECLARED);
        let mut message = |name: &str, value: Option<&str>| options.give(name, value).unwrap_err();
        assert_eq!(message("tap", None), "there is no option `tap`; there are light, pid, top, by, slower, until");
        assert_eq!(message("top", Some("101")), "`top` is `101`: more than 100");
        assert_eq!(message("by", Some("x")), "`by` is `x`: expected one of call, process");
        assert_eq!(message("by", None), "`by` wants a value: by=…");
        assert_eq!(message("light", Some("1")), "`light` takes no value; `1` is one");
        assert_eq!(message("pid", Some("x")), "`pid` is `x`: expected numbers of processes");
        assert_eq!(options.give("light", None), Ok(()));
        assert_eq!(options.give("pid", Some("1")), Err("`pid` makes no sense with `light`".to_owned()));
    }
}
