//! Which tests run alone, one after another: those that compare with the live machine while it does nothing else.

use anyhow::{Result, bail};

use super::programs::Program;

/// Tests that run alone, and why.
const LIST: &str = include_str!("../../alone.txt");

/// An entry of the list.
#[derive(Debug, PartialEq)]
pub struct Alone {
    program: &'static str,
    /// The name of a test; with `*` at its end the begin of several.
    pattern: &'static str,
}

impl Alone {
    /// Of a line; None when it is not as it should be.
    pub fn parse(line: &'static str) -> Option<Alone> {
        let (names, why) = line.split_once(" # ")?;
        let (program, pattern) = names.split_once(' ')?;
        (!why.is_empty() && !pattern.contains(' ')).then_some(Alone { program, pattern })
    }

    /// Whether a test of a program is meant.
    pub fn names(&self, program: &str, test: &str) -> bool {
        let is_test = match self.pattern.strip_suffix('*') {
            Some(begin) => test.starts_with(begin),
            None => test == self.pattern,
        };
        self.program == program && is_test
    }
}

/// The list.
///
/// # Errors
/// When an entry has no reason, or names no test: of the programs that there are or, with `whole`, at all.
pub fn list(programs: &[Program], whole: bool) -> Result<Vec<Alone>> {
    let lines = || LIST.lines().filter(|line| !line.starts_with('#'));
    if let Some(line) = lines().find(|line| Alone::parse(line).is_none()) {
        bail!("xtask/alone.txt: `{line}` is not `PROGRAM TEST # REASON`");
    }
    let list: Vec<Alone> = lines().filter_map(Alone::parse).collect();
    let names_none = |entry: &&Alone| {
        let tests = |program: &Program| program.tests.iter().any(|test| entry.names(&program.name, test));
        (whole || programs.iter().any(|program| program.name == entry.program)) && !programs.iter().any(tests)
    };
    if let Some(entry) = list.iter().find(names_none) {
        bail!("xtask/alone.txt: there is no test `{} {}`; correct or remove the line", entry.program, entry.pattern);
    }
    Ok(list)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_entry_names_one_test_or_all_with_a_begin() {
        let one = Alone::parse("load/it many::rates # why").unwrap();
        assert!(one.names("load/it", "many::rates"));
        assert!(!one.names("load/it", "many::rates_again") && !one.names("db/it", "many::rates"));
        let several = Alone::parse("load/it many::* # why").unwrap();
        assert!(several.names("load/it", "many::rates") && !several.names("load/it", "real::rates"));
        for wrong in ["load/it many::rates", "load/it # why", "load/it a b # why", "load/it a # "] {
            assert_eq!(Alone::parse(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn an_entry_for_a_test_that_is_not_there_is_an_error() {
        let entry = LIST.lines().find(|line| !line.starts_with('#')).and_then(Alone::parse).unwrap();
        let program = Program::named(entry.program, &["no_such_test"]);
        let error = list(&[program], false).unwrap_err().to_string();
        assert!(error.contains("there is no test") && error.contains(entry.program), "{error}");
        // Where its program was not built, only the whole list can say so.
        let other = || [Program::named("xtask/none", &["a"])];
        assert!(list(&other(), false).is_ok() && list(&other(), true).is_err());
    }
}
