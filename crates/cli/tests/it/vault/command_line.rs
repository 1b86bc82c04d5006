//! `sql`, `ask`, `report` and `findings` go the same way as a server: a statement writes nothing, and what would end
//! the engine is an error in words.

use std::{
    process::Output,
    time::{Duration, Instant},
};

use rustix::process::{Pid, Signal, kill_process};

use super::{GRACE, Vault, served::SECRET, short, watch::Memory, writes::writing};
use crate::support::text;

const NAME: &str = "command line";

impl Vault {
    fn fenxi(&self, args: &[&str]) -> Output {
        self.place(NAME).command(args).unwrap().output().unwrap()
    }

    /// Runs and demands that it fails in words: no signal, no panic.
    fn fails(&self, args: &[&str]) -> String {
        let output = self.fenxi(args);
        let said = text(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{}: {}", short(&format!("{args:?}")), short(&said));
        assert!(said.starts_with("error: ") && !said.contains("panicked"), "{}", short(&said));
        said
    }
}

#[test]
fn fenxi_sql_writes_nothing() {
    let vault = Vault::new();
    let run = vault.folder_of(&vault.one);
    let before = vault.before(NAME);
    // Each of them is a process: what is other here than in a server is how a statement gets to its engine.
    let statements = writing(&vault.path().to_string_lossy(), &run.to_string_lossy());
    for statement in statements.iter().step_by(3) {
        vault.fails(&["sql", statement]);
        vault.unchanged(&before, NAME, statement);
    }
    vault.fails(&["sql", "--", "--\rCREATE OR REPLACE MACRO wmean(x, dt) AS 42.0;\nSELECT 1"]);
    let told = text(&vault.fenxi(&["sql", "SELECT * FROM read_text('/proc/self/environ')"]).stdout);
    assert!(!told.contains(SECRET), "{told}");
    let sum = vault.fenxi(&["sql", "-o", "csv", "SELECT sum(usr) AS a FROM cpu"]);
    assert_eq!(text(&sum.stdout), "a\n5880.0\n", "{}", text(&sum.stderr));
}

#[test]
fn own_questions_findings_and_reports_write_nothing() {
    let vault = Vault::new();
    let store = vault.path().to_string_lossy().into_owned();
    let run = vault.folder_of(&vault.one);
    let report = vault.dir.path().join("r.html");
    for folder in ["questions", "findings"] {
        fs_err::create_dir_all(vault.path().join(folder)).unwrap();
    }
    let own = vault.path().join("questions/mine.sql");
    let rule = vault.path().join("findings/mine.sql");
    let files = [format!("{store}/store.json"), format!("{}/run.json", run.display())];
    for file in files {
        for sql in [
            format!("SELECT * FROM enable_profiling(format='json', save_location='{file}')"),
            format!("--\rCREATE TABLE x AS FROM enable_profiling(format='json', save_location='{file}');\nSELECT 1"),
            format!("SELECT * FROM query('FROM enable_profiling(format=''json'', save_location=''{file}'')')"),
        ] {
            fs_err::write(&own, format!("-- title: Mine\n-- section: result\n{sql}\n")).unwrap();
            let header = "-- title: Wrong\n-- severity: info\n-- section: cpu\n-- says: x\n";
            fs_err::write(&rule, format!("{header}{sql}\n")).unwrap();
            let before = vault.before(NAME);
            // A line that begins with `--` is of the header, whatever ends it: then `SELECT 1` is left.
            match sql.starts_with("--") {
                true => assert!(vault.fenxi(&["ask", "mine"]).status.success()),
                false => drop(vault.fails(&["--quiet", "ask", "mine"])),
            }
            vault.fenxi(&["findings", "@1"]);
            // A report is made, with an error in the place of the panel, or not at all.
            vault.fenxi(&["report", "@1", "-o", report.to_str().unwrap()]);
            vault.fenxi(&["report", "/sql?q=FROM%20enable_logging()", "-o", report.to_str().unwrap()]);
            vault.unchanged(&before, NAME, &sql);
        }
    }
    fs_err::remove_file(&own).unwrap();
    fs_err::remove_file(&rule).unwrap();
    assert!(vault.fenxi(&["report", "@1", "-o", report.to_str().unwrap()]).status.success());
    assert!(vault.fenxi(&["verify"]).status.success());
}

#[test]
fn a_deep_statement_is_an_error_in_words_or_an_answer() {
    let vault = Vault::new();
    for statement in [
        "SELECT length(json_structure(repeat('[',200000)||repeat(']',200000)))".to_owned(),
        format!("SELECT {}1", "NOT ".repeat(20_000)),
        format!("SELECT {}1{}", "(".repeat(20_000), ")".repeat(20_000)),
    ] {
        let output = vault.fenxi(&["sql", &statement]);
        let code = output.status.code();
        assert!(code == Some(0) || code == Some(1), "{}: {:?}", short(&statement), output.status);
        assert!(code == Some(0) || text(&output.stderr).starts_with("error: "), "{}", text(&output.stderr));
    }
}

#[test]
fn a_statement_that_hears_no_interruption_ends_with_ctrl_c() {
    let vault = Vault::new();
    let statement = "SELECT levenshtein(repeat('a',1000000+(range%2)::INT), repeat('b',1000000)) FROM range(2)";
    let mut child = vault.place(NAME).command(&["sql", statement]).unwrap().spawn().unwrap();
    std::thread::sleep(Duration::from_millis(700));
    kill_process(Pid::from_child(&child), Signal::INT).unwrap();
    let begun = Instant::now();
    while child.try_wait().unwrap().is_none() {
        if begun.elapsed() > 2 * GRACE {
            child.kill().unwrap();
            panic!("it works on after Ctrl-C");
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    assert!(!child.wait().unwrap().success());
}

#[test]
fn fenxi_sql_takes_no_more_memory_than_it_is_given() {
    let vault = Vault::new();
    let (limit, more) = (512_u64 << 20, 200_u64 << 20);
    for statement in [
        "SELECT length(repeat('abcdefgh',400000000+(range%2)::INT)) AS a FROM range(1)",
        "SELECT len(range(400000000+(range%2)::INT)) AS a FROM range(1)",
        "SELECT length(format('{:>2000000000}','x')) AS a",
    ] {
        let mut command = vault.place(NAME).command(&["sql", "--memory", "512", statement]).unwrap();
        let mut child =
            command.stdout(std::process::Stdio::null()).stderr(std::process::Stdio::null()).spawn().unwrap();
        let memory = Memory::watch(child.id() as i32, limit + more);
        let status = child.wait().unwrap();
        assert!(status.code().is_some(), "{statement}: {status}");
        let most = memory.most();
        assert!(most < limit + more, "{} MiB: {statement}", most >> 20);
    }
}
