//! Which tests may be skipped. A test that needs what this machine does not have prints a line that begins with
//! `SKIPPED`; libtest hides what tests that pass print, so that it is asked for and looked through here.

use std::{
    io::{BufRead, BufReader},
    process::{Command, Stdio},
};

use anyhow::{Context, Result, bail};

/// What may be skipped, and why.
const LIST: &str = include_str!("../may-skip.txt");

/// How many tests may fail the first time. Tests that compare with the live machine can be disturbed by what else runs on
/// it; more than a few at once are a defect.
const MAY_FAIL_ONCE: usize = 3;

/// Runs the cargo command that `cargo` makes with `--show-output`, shows what it prints but for the output of tests that
/// pass, and lists the tests that were skipped. With `strict`, one that is not on the list is an error. Tests that fail run
/// once more, alone; they are named as flaky if they pass then.
pub fn run(cargo: impl Fn() -> Command, strict: bool) -> Result<()> {
    let mut outputs = Outputs::default();
    let mut passed = follow(cargo().args(["--", "--show-output"]), &mut outputs)?;
    let failed = std::mem::take(&mut outputs.failed);
    if !passed && !failed.is_empty() && failed.len() <= MAY_FAIL_ONCE {
        println!("--> failed, and run once more alone: {}", failed.join(", "));
        let alone = ["--", "--show-output", "--test-threads=1", "--exact"];
        passed = follow(cargo().args(alone).args(&failed), &mut outputs)?;
        if passed {
            println!("FLAKY, passed when run alone: {}", failed.join(", "));
        }
    }
    outputs.skipped.sort();
    outputs.skipped.dedup();
    let unlisted: Vec<&String> = outputs.skipped.iter().filter(|line| reason(line).is_none()).collect();
    for line in &outputs.skipped {
        println!("{line}{}", reason(line).map_or_else(String::new, |why| format!(" (may be: {why})")));
    }
    if !passed {
        bail!("tests failed");
    }
    if strict && !unlisted.is_empty() {
        bail!("{} skipped tests are not listed in xtask/may-skip.txt (see above)", unlisted.len());
    }
    Ok(())
}

/// Runs `command` and shows the lines of interest; whether it ended well.
fn follow(command: &mut Command, outputs: &mut Outputs) -> Result<bool> {
    let mut child = command.stdout(Stdio::piped()).spawn()?;
    for line in BufReader::new(child.stdout.take().context("no output")?).split(b'\n') {
        let line = String::from_utf8_lossy(&line?).into_owned();
        if outputs.shows(&line) {
            println!("{line}");
        }
    }
    Ok(child.wait()?.success())
}

/// Why the test that prints `line` may be skipped; None when it may not.
fn reason(line: &str) -> Option<&'static str> {
    let listed = LIST.lines().filter(|entry| !entry.starts_with('#')).filter_map(|entry| entry.split_once(" # "));
    let is = |pattern: &str| match pattern.split_once('*') {
        Some((begin, within)) => line.starts_with(begin) && line.contains(within),
        None => line.starts_with(pattern),
    };
    listed.filter(|(pattern, _)| is(pattern)).map(|(_, why)| why).next()
}

/// Follows the output of libtest: between `successes:` and the result stand what tests that passed have printed.
#[derive(Default)]
struct Outputs {
    within: bool,
    skipped: Vec<String>,
    failed: Vec<String>,
}

impl Outputs {
    /// Whether a line is of interest to whoever runs the tests.
    fn shows(&mut self, line: &str) -> bool {
        if line.starts_with("SKIPPED") {
            self.skipped.push(line.to_owned());
            return false;
        }
        if let Some(test) = line.strip_prefix("test ").and_then(|rest| rest.strip_suffix(" ... FAILED")) {
            self.failed.push(test.to_owned());
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
    fn what_failed_is_shown() {
        let mut outputs = Outputs::default();
        for line in ["test a::b ... FAILED", "test a::c ... ok", "successes:", "noise", "failures:"] {
            outputs.shows(line);
        }
        assert_eq!(outputs.failed, ["a::b"]);
        assert!(outputs.shows("---- b stdout ----") && outputs.shows("panicked at"));
    }
}
