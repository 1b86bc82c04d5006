//! The profile that is recorded by default: every answer ends in functions and system calls.

use std::{path::Path, process::Command};

use crate::support::{Fenxi, skipped};

const SOURCE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/it/programs/always_on.c");
/// The loads of one recording: a computation, copies out of the page cache, and a shell that forks, each of them for as long.
fn loads(program: &Path, folder: &Path, seconds: u32) -> String {
    let (program, file) = (program.display(), folder.join("copied"));
    format!(
        "{program} compute {seconds} & {program} copy {seconds} {} &
         end=$(($(date +%s) + {seconds}))
         while [ $(date +%s) -lt $end ]; do for i in 1 2 3 4 5 6 7 8 9; do (:); (:); (:); (:); done; done
         wait",
        file.display()
    )
}

#[test]
fn every_answer_ends_in_functions_and_system_calls() {
    let folder = tempfile::tempdir().unwrap();
    let program = folder.path().join("always_on");
    let compiled = Command::new("cc").args(["-O1", "-o"]).arg(&program).arg(SOURCE).status();
    if !compiled.is_ok_and(|status| status.success()) {
        return skipped("the profile by default", "there is no C compiler");
    }
    let fenxi = Fenxi::new();
    let mut said = String::new();
    // Others may use the CPUs more than the loads.
    for attempt in 0..4 {
        let name = format!("loads-{attempt}");
        let script = loads(&program, folder.path(), 12);
        fenxi.ok(&["record", "--name", &name, "--", "sh", "-c", &script]);
        let refused = "SELECT message FROM note WHERE source = 'profile' AND message LIKE 'not recorded: %'";
        let refused: Vec<_> = fenxi.sql(refused);
        if let Some(why) = refused.first() {
            return skipped("the profile by default", &why.to_string());
        }
        said = fenxi.ok(&["explain", &name]).split_whitespace().collect::<Vec<_>>().join(" ");
        let functions = said.split_once("On CPU: ").unwrap_or_else(|| panic!("{said}")).1;
        let functions = functions.split_once(" samples").unwrap_or_else(|| panic!("{said}")).0.to_owned();
        eprintln!("attempt {attempt}: {functions} samples");
        let expected = ["mix_rows_of_test of always_on ", " of pread64 ", "fork/exec/exit "];
        if expected.iter().all(|name| functions.contains(name)) {
            return;
        }
    }
    panic!("{said}");
}

#[test]
fn it_is_recorded_unless_it_is_left_out() {
    let fenxi = Fenxi::new();
    fenxi.ok(&["record", "--name", "without", "--source=-profile", "--for", "300ms"]);
    fenxi.ok(&["record", "--name", "short", "--for", "300ms"]);
    let has_it = |run: &str| fenxi.ok(&["show", run, "--json"]).contains("\"profile\"");
    assert_eq!((has_it("without"), has_it("short")), (false, true));
    let list = fenxi.ok(&["list", "sources"]);
    assert!(list.lines().any(|line| line.starts_with("profile      *")), "{list}");
}
