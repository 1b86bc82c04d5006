//! Output of test programs: failed and skipped tests. A test that needs what this machine does not have prints a line
//! that begins with `SKIPPED`; libtest hides the output of tests that pass, which is thus asked for and searched here.

/// Tests that may be skipped, and why.
const LIST: &str = include_str!("../../may-skip.txt");

/// Why the test that prints `line` may be skipped; None when it may not.
pub fn reason(line: &str) -> Option<&'static str> {
    let listed = LIST.lines().filter(|entry| !entry.starts_with('#')).filter_map(|entry| entry.split_once(" # "));
    let is = |pattern: &str| match pattern.split_once('*') {
        Some((begin, within)) => line.starts_with(begin) && line.contains(within),
        None => line.starts_with(pattern),
    };
    listed.filter(|(pattern, _)| is(pattern)).map(|(_, why)| why).next()
}

/// Follows the output of libtest: between `successes:` and the result stand what tests that passed have printed.
#[derive(Debug, Default)]
pub struct Outputs {
    within: bool,
    /// Lines of tests that were skipped.
    pub skipped: Vec<String>,
}

impl Outputs {
    /// Whether a line is of interest to the user.
    pub fn shows(&mut self, line: &str) -> bool {
        if line.starts_with("SKIPPED") {
            self.skipped.push(line.to_owned());
            return false;
        }
        match line {
            "successes:" => self.within = true,
            "failures:" => self.within = false,
            _ if line.starts_with("test result:") => self.within = false,
            _ => {}
        }
        !self.within
    }
}

/// The tests that failed: the names in the last list of failures.
pub fn failed(text: &str) -> Vec<&str> {
    let Some((_, list)) = text.rsplit_once("\nfailures:\n") else { return Vec::new() };
    list.lines().map_while(|line| line.strip_prefix("    ")).collect()
}

/// Which of the tests have no result yet.
pub fn unfinished<'a>(text: &str, tests: &'a [String]) -> Vec<&'a str> {
    let finished: Vec<&str> = text.lines().filter_map(finished).collect();
    tests.iter().map(String::as_str).filter(|test| !finished.contains(test)).collect()
}

/// The test whose result is in a line. Of one test at a time the name is printed before it runs.
fn finished(line: &str) -> Option<&str> {
    let (name, result) = line.strip_prefix("test ")?.split_once(" ... ")?;
    (!result.is_empty()).then_some(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_entry_of_the_list_has_a_reason() {
        for line in LIST.lines().filter(|line| !line.starts_with('#')) {
            assert!(line.starts_with("SKIPPED") && line.contains(" # "), "{line}");
        }
        assert!(reason("SKIPPED fio [1]: no such engine").is_some());
        assert!(reason("SKIPPED any test: nicstat is not installed").is_some());
        assert_eq!(reason("SKIPPED procsystime: the kernel refuses BPF"), None);
    }

    #[test]
    fn output_of_tests_that_pass_is_hidden_but_skips_are_seen() {
        let text = "running 2 tests\ntest a ... ok\n\nsuccesses:\n\n---- a stdout ----\nnoise\nSKIPPED a: why\n\n\nsuccesses:\n    a\n\ntest result: ok. 2 passed";
        let mut outputs = Outputs::default();
        let shown: Vec<&str> = text.lines().filter(|line| outputs.shows(line)).collect();
        assert_eq!(shown, ["running 2 tests", "test a ... ok", "", "test result: ok. 2 passed"]);
        assert_eq!(outputs.skipped, ["SKIPPED a: why"]);
    }

    #[test]
    fn what_failed_is_shown_and_named() {
        let text = "test a::b ... FAILED\ntest a::c ... ok\n\nsuccesses:\nnoise\nfailures:\n\n---- a::b stdout ----\npanicked\n    no name\n\n\nfailures:\n    a::b\n    a::d\n\ntest result: FAILED. 1 passed";
        let mut outputs = Outputs::default();
        let shown: Vec<&str> = text.lines().filter(|line| outputs.shows(line)).collect();
        assert!(shown.contains(&"---- a::b stdout ----") && shown.contains(&"panicked") && !shown.contains(&"noise"));
        assert_eq!(failed(text), ["a::b", "a::d"]);
        assert!(failed("test result: ok. 2 passed").is_empty());
    }

    #[test]
    fn tests_without_a_result_are_those_that_run() {
        let text = "test a ... ok\ntest b::c has been running for over 60 seconds\ntest d ... FAILED\ntest f ... ";
        let tests = ["a", "b::c", "d", "f"].map(str::to_owned);
        assert_eq!(unfinished(text, &tests), ["b::c", "f"]);
    }
}
