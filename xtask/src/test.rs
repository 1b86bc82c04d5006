//! Runs the tests: several programs at once, since most of them wait for servers and clocks, and after them, one by one, the
//! tests that compare with the live machine. Those that fail run once more.
//!
//! `cargo test` runs one program after another, with as many tests at once as there are CPUs. What a test program prints is
//! kept in the target folder, below `test-output`.

mod alone;
mod outputs;
mod pool;
mod programs;

use std::path::Path;

use anyhow::{Result, bail};

use crate::repository::Repository;
use alone::Alone;
use outputs::Outputs;
use pool::{Ended, Job};
use programs::{Program, Programs};

/// How many tests may fail the first time. Tests that compare with the live machine can be disturbed by what else runs on
/// it; more than a few at once are a defect.
const MAY_FAIL_ONCE: usize = 5;

/// How many of the slowest programs are named at the end.
const SLOWEST: usize = 10;

/// Programs that mostly wait, the longest first: these begin before all others, with more tests at once.
const WAITING: &[&str] = &["cli/it", "load/it", "db/it", "ebpf/it", "query/it", "serve/it", "remote/lib", "record/lib"];

/// Tests at once, for each CPU: of a program that waits, of another one, and of all that run.
const WAITING_TESTS: usize = 4;
const OTHER_TESTS: usize = 1;
const ALL_TESTS: usize = 8;

/// Which tests to run; all of them unless something is named.
#[derive(Debug, Default)]
pub struct Selection {
    /// Crates, with or without `fenxi-`; all when empty.
    crates: Vec<String>,
    /// A part of the names of the tests.
    filter: Option<String>,
}

impl Selection {
    /// From the words of a command line: `[-p CRATE]… [FILTER]`; None when they make no sense.
    pub fn parse(words: &[&str]) -> Option<Selection> {
        let mut selection = Selection::default();
        let mut words = words.iter();
        while let Some(word) = words.next() {
            match *word {
                "-p" => selection.crates.push((*words.next()?).to_owned()),
                option if option.starts_with('-') => return None,
                _ if selection.filter.is_some() => return None,
                filter => selection.filter = Some(filter.to_owned()),
            }
        }
        Some(selection)
    }

    fn has(&self, test: &str) -> bool {
        self.filter.as_deref().is_none_or(|filter| test.contains(filter))
    }
}

/// Builds and runs the selected tests. With `strict`, a test that is skipped without being on the list is an error.
///
/// # Errors
/// When something does not compile, a test fails twice, more than a few fail, or a program does not end.
pub fn run(repository: &Repository, selection: &Selection, strict: bool) -> Result<()> {
    let all = Programs::build(repository, &selection.crates)?;
    let list = alone::list(&all.programs, selection.crates.is_empty())?;
    let cpus = std::thread::available_parallelism()?.get();
    let folder = all.target.join("test-output");
    fs_err::create_dir_all(&folder)?;
    let (together, one_by_one) = jobs(&all, &list, selection, cpus, &folder);
    let mut report = Report::default();
    println!("    {} test programs, at most {} tests at once", together.len(), ALL_TESTS * cpus);
    pool::run(together, ALL_TESTS * cpus, |ended| report.add(ended))?;
    if !one_by_one.is_empty() {
        println!("    tests that compare with the live machine, one by one");
        pool::run(one_by_one, 1, |ended| report.add(ended))?;
    }
    report.run_again(&all.programs, &folder)?;
    report.close(strict)
}

/// The programs with the tests that run together, and those with the tests that run alone.
fn jobs(all: &Programs, list: &[Alone], selection: &Selection, cpus: usize, folder: &Path) -> (Vec<Job>, Vec<Job>) {
    let waits = |program: &Program| WAITING.iter().position(|name| *name == program.name);
    let mut programs: Vec<&Program> = all.programs.iter().collect();
    programs.sort_by_key(|program| waits(program).unwrap_or(WAITING.len()));
    let (mut together, mut one_by_one) = (Vec::new(), Vec::new());
    for program in programs {
        let selected = program.tests.iter().map(String::as_str).filter(|test| selection.has(test));
        let is_alone = |test: &&str| list.iter().any(|entry| entry.names(&program.name, test));
        let (alone, others): (Vec<&str>, Vec<&str>) = selected.partition(is_alone);
        let threads = if waits(program).is_some() { WAITING_TESTS } else { OTHER_TESTS } * cpus;
        if !others.is_empty() {
            together.push(program.job(&others, threads, folder, ""));
        }
        if !alone.is_empty() {
            one_by_one.push(program.job(&alone, 1, folder, " alone"));
        }
    }
    together.extend(all.documentation(selection.filter.as_deref(), cpus, folder));
    (together, one_by_one)
}

/// Results of the programs.
#[derive(Debug, Default)]
struct Report {
    /// Program and test.
    failed: Vec<(String, String)>,
    /// Other failures.
    broken: Vec<String>,
    skipped: Vec<String>,
    seconds: Vec<(f64, String)>,
}

impl Report {
    /// Shows how a program ended: the result, or all but the output of tests that passed.
    fn add(&mut self, ended: Ended) {
        println!("{}, {:.0} s", ended.label(), ended.seconds);
        let mut outputs = Outputs::default();
        for line in ended.stdout.lines() {
            let shown = outputs.shows(line);
            if shown && (!ended.passed() || line.starts_with("test result:")) {
                println!("{line}");
            }
        }
        for line in ended.stderr.lines() {
            if outputs.shows(line) && !ended.passed() {
                println!("{line}");
            }
        }
        let failed = outputs::failed(&ended.stdout);
        if !ended.passed() && (failed.is_empty() || ended.overdue) {
            self.broken.push(ended.why());
        }
        self.failed.extend(failed.into_iter().map(|test| (ended.program.clone(), test.to_owned())));
        self.skipped.append(&mut outputs.skipped);
        self.seconds.push((ended.seconds, ended.label()));
    }

    /// Runs the tests that failed once more, alone, where that are few and nothing else went wrong.
    fn run_again(&mut self, programs: &[Program], folder: &Path) -> Result<()> {
        if self.failed.is_empty() || self.failed.len() > MAY_FAIL_ONCE || !self.broken.is_empty() {
            return Ok(());
        }
        let again = |(name, test): &(String, String)| {
            let program = programs.iter().find(|program| program.name == *name)?;
            Some(program.job(&[test.as_str()], 1, folder, " again"))
        };
        // Documentation cannot be asked for one test.
        let Some(jobs) = self.failed.iter().map(again).collect::<Option<Vec<Job>>>() else { return Ok(()) };
        let names = std::mem::take(&mut self.failed);
        let names: Vec<String> = names.into_iter().map(|(program, test)| format!("{program} {test}")).collect();
        println!("--> failed, and run once more alone: {}", names.join(", "));
        pool::run(jobs, 1, |ended| self.add(ended))?;
        if self.failed.is_empty() && self.broken.is_empty() {
            println!("FLAKY, passed when run alone: {}", names.join(", "));
        }
        Ok(())
    }

    /// The closing lines: the slowest, the skipped, the failed.
    fn close(mut self, strict: bool) -> Result<()> {
        self.seconds.sort_by(|a, b| b.0.total_cmp(&a.0));
        let slowest: Vec<_> = self.seconds.iter().take(SLOWEST).map(|(s, name)| format!("{name} {s:.0} s")).collect();
        println!("    slowest: {}", slowest.join(", "));
        self.skipped.sort();
        self.skipped.dedup();
        let mut unlisted = 0;
        for line in &self.skipped {
            let why = outputs::reason(line);
            unlisted += usize::from(why.is_none());
            println!("{line}{}", why.map_or_else(String::new, |why| format!(" (may be: {why})")));
        }
        let failed = self.failed.iter().map(|(program, test)| format!("{program} {test}"));
        let failed: Vec<String> = failed.chain(self.broken).collect();
        if !failed.is_empty() {
            bail!("tests failed: {}", failed.join(", "));
        }
        if strict && unlisted > 0 {
            bail!("{unlisted} skipped tests are not listed in xtask/may-skip.txt (see above)");
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_select_crates_and_names() {
        let selection = Selection::parse(&["-p", "store", "life", "-p", "fenxi-load"]).unwrap();
        assert_eq!(selection.crates, ["store", "fenxi-load"]);
        assert!(selection.has("life::a_run") && !selection.has("vault::a_run"));
        assert!(Selection::parse(&[]).unwrap().has("anything"));
        for wrong in [&["-p"][..], &["a", "b"], &["--nonsense"]] {
            assert!(Selection::parse(wrong).is_none(), "{wrong:?}");
        }
    }

    #[test]
    fn every_test_runs_once_and_some_alone() {
        let programs =
            vec![Program::named("x/lib", &["a", "b", "c"]), Program::named("load/it", &["a", "m::b", "m::c"])];
        let all = Programs::of(programs);
        let list = [Alone::parse("load/it m::* # why").unwrap()];
        let names = |selection: &Selection| {
            let (together, one_by_one) = jobs(&all, &list, selection, 2, Path::new("x"));
            let of =
                |jobs: &[Job]| jobs.iter().map(|job| (job.program.clone(), job.tests.join(" "))).collect::<Vec<_>>();
            (of(&together), of(&one_by_one))
        };
        let pair = |program: &str, tests: &str| (program.to_owned(), tests.to_owned());
        let (together, one_by_one) = names(&Selection::default());
        assert_eq!(together, [pair("load/it", "a"), pair("x/lib", "a b c")], "what waits begins first");
        assert_eq!(one_by_one, [pair("load/it", "m::b m::c")]);
        let (together, one_by_one) = names(&Selection::parse(&["c"]).unwrap());
        assert_eq!((together, one_by_one), (vec![pair("x/lib", "c")], vec![pair("load/it", "m::c")]));
    }

    #[test]
    fn programs_that_wait_are_there() {
        for name in WAITING {
            let (own, target) = name.split_once('/').unwrap();
            let file = if target == "lib" { "src/lib.rs".to_owned() } else { format!("tests/{target}/main.rs") };
            assert!(Repository::here().root.join("crates").join(own).join(file).exists(), "{name}");
        }
    }
}
