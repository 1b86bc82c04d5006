//! Studies: what is run, what is kept, and what a crash, a failure or an impatient person leaves.

use std::{collections::BTreeMap, path::PathBuf, time::Duration};

use fenxi_store::{RunEntry, Store};
use rustix::process::Signal;

use crate::support::{Fenxi, Tmpfs, signal, skipped, text, wait_for};

/// A plan in a separate directory, and the store beside it.
struct Study {
    fenxi: Fenxi,
    dir: tempfile::TempDir,
}

impl Study {
    fn new(plan: &str) -> Study {
        let study = Study { fenxi: Fenxi::new(), dir: tempfile::TempDir::new().unwrap() };
        study.write(plan);
        study
    }

    fn write(&self, plan: &str) {
        let quick = "[record]\ninterval = \"100ms\"\nsources = [\"cpu\"]\n";
        fs_err::write(self.plan(), format!("{plan}\n{quick}")).unwrap();
    }

    fn plan(&self) -> PathBuf {
        self.dir.path().join("plan.toml")
    }

    fn args<'a>(&self, plan: &'a str, more: &[&'a str]) -> Vec<&'a str> {
        [&["study", plan], more].concat()
    }

    fn ok(&self, more: &[&str]) -> String {
        let plan = self.plan().display().to_string();
        let output = self.fenxi.run(&self.args(&plan, more));
        assert!(output.status.success(), "{}", text(&output.stderr));
        text(&output.stdout) + &text(&output.stderr)
    }

    fn fails(&self, code: i32, more: &[&str]) -> String {
        let plan = self.plan().display().to_string();
        self.fenxi.fails(code, &self.args(&plan, more)).replace(&plan, "plan.toml")
    }

    fn runs(&self) -> Vec<RunEntry> {
        let store = Store::open(self.fenxi.path()).unwrap();
        store.recover().unwrap();
        store.runs().unwrap()
    }

    /// How often each cell was finished in each block.
    fn finished(&self) -> BTreeMap<(String, String), usize> {
        let mut count = BTreeMap::new();
        for run in self.runs().iter().filter(|run| !run.labels.tags.contains_key("failed") && !run.manifest.recovered) {
            let param = |key: &str| run.manifest.params[key].clone();
            *count.entry((param("block"), param("cell"))).or_default() += 1;
        }
        count
    }

    /// Text that the commands wrote into the file `log`.
    fn log(&self) -> String {
        fs_err::read_to_string(self.dir.path().join("log")).unwrap_or_default()
    }
}

#[test]
fn a_study_runs_every_cell_in_every_block_with_its_set_ups_around_it() {
    let study = Study::new(
        r#"
name = "small"
repeats = 2
seed = 3
command = "echo \"run {n} $FENXI_FACTOR_n $FENXI_FACTOR_kind $WHO\" >> log; echo \"rate: {n}.5\""
setup = "echo begin >> log"
teardown = "echo end >> log"
exclude = [{ n = 2, kind = "b" }]
[factors]
n = [1, 2]
kind = ["a", { name = "b", env = { WHO = "bee" }, setup = "echo up-b >> log", teardown = "echo down-b >> log" }]
[run]
setup = "echo up {block} >> log"
teardown = "echo down >> log"
[[response]]
name = "rate"
pattern = 'rate: ([0-9.]+)'
unit = "/s"
better = "higher"
[[response]]
name = "throughput"
work = "{n}"
"#,
    );
    let said = study.ok(&[]);
    assert!(said.contains("study small: 6 runs, seed 3") && said.contains("6/6 block 2"), "{said}");
    let finished = study.finished();
    assert_eq!((finished.len(), finished.values().max()), (6, Some(&1)));
    let log = study.log();
    let lines: Vec<&str> = log.lines().collect();
    assert_eq!((lines[0], lines[lines.len() - 1]), ("begin", "end"));
    assert!(log.contains("up-b\nup 1\nrun 1 1 b bee\ndown\ndown-b\n"), "{log}");
    assert!(!log.contains("run 2 2 b"), "{log}");
    // Each run is a run like any other, with its factors, its output and its responses.
    let run = study.runs().into_iter().find(|r| r.manifest.params["cell"] == "n=2 kind=a").unwrap();
    assert_eq!((run.manifest.params["study"].as_str(), run.manifest.params["n"].as_str()), ("small", "2"));
    assert_eq!(run.manifest.inputs[0].name, "stdout");
    let rate = study.fenxi.number("select value from result where name = 'rate' and value = 2.5 limit 1");
    assert_eq!(rate, 2.5);
    // It is complete: nothing is run again.
    assert!(study.ok(&[]).contains("all 6 runs exist"));
    assert_eq!(study.log(), log);
    assert_eq!(study.fenxi.ok(&["runs", "study=small", "--json"]).lines().count(), 6);
}

#[test]
fn a_series_is_set_up_once_a_level_and_block_and_each_run_is_checked() {
    let study = Study::new(
        r#"
name = "series"
repeats = 2
seed = 3
series = "kind"
on_failure = "continue"
command = "echo run {n} {kind} >> log"
[factors]
kind = [
    { name = "a", setup = "echo up-a {block} >> log", teardown = "echo down-a >> log", check = "echo check-a >> log" },
    { name = "b", setup = "echo up-b {block} >> log", teardown = "echo down-b >> log", check = "false" },
    { name = "c", setup = "echo up-c >> log; false", teardown = "echo down-c >> log" },
]
n = [1, 2]
"#,
    );
    let told = study.fails(1, &[]);
    assert!(told.contains("check of kind=b failed: exit status 1"), "{told}");
    let log = study.log();
    let count = |what: &str| log.lines().filter(|line| line.starts_with(what)).count();
    assert_eq!((count("up-a"), count("down-a"), count("check-a"), count("run")), (2, 2, 4, 4), "{log}");
    assert_eq!((count("up-b"), count("down-b"), count("up-c"), count("down-c")), (2, 2, 4, 4), "{log}");
    assert!(!log.contains("run 1 b") && !log.contains("run 2 c"), "{log}");
    assert!(study.finished().keys().all(|(_, cell)| cell.starts_with("kind=a ")));
}

#[test]
fn a_study_killed_at_any_moment_goes_on_and_finishes_each_cell_once() {
    let study = Study::new("name = \"killed\"\nrepeats = 3\ncommand = \"sleep 0.15\"\n[factors]\nn = [1, 2]\n");
    let plan = study.plan().display().to_string();
    for kill in 0..3u64 {
        let mut child = study.fenxi.spawn(&["study", &plan]);
        study.fenxi.wait_until_recording();
        std::thread::sleep(Duration::from_millis(70 * kill + 20));
        signal(&child, Signal::KILL);
        child.wait().unwrap();
    }
    let before = study.finished();
    let said = study.ok(&[]);
    assert!(before.is_empty() || said.contains(&format!("{} of them already finished", before.len())), "{said}");
    let finished = study.finished();
    assert_eq!((finished.len(), finished.values().max()), (6, Some(&1)), "{finished:?}");
    // Runs that were cut off are marked.
    for run in study.runs().iter().filter(|run| run.manifest.recovered) {
        assert_eq!(run.labels.tags["failed"], "cut short: its recorder died");
    }
}

#[test]
fn an_interrupted_study_ends_its_command_tears_down_and_goes_on_later() {
    let study = Study::new(
        r#"
name = "interrupted"
repeats = 2
order = "given"
command = "test {n} = 1 || test -e go || (echo waiting >> log; sleep 60); echo ran >> log"
teardown = "echo end >> log"
[factors]
n = [1, 2]
[run]
teardown = "echo down >> log"
"#,
    );
    let plan = study.plan().display().to_string();
    let child = study.fenxi.spawn(&["study", &plan]);
    wait_for("the second run", || study.log().contains("waiting"));
    signal(&child, Signal::INT);
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(130));
    let said = text(&output.stderr);
    assert!(said.contains("interrupted after 1 of 4 runs: finished runs are kept; `fenxi study "), "{said}");
    assert_eq!(study.log(), "ran\ndown\nwaiting\ndown\nend\n");
    assert_eq!(study.runs().len(), 1, "of the run that was ended nothing is kept");
    fs_err::write(study.dir.path().join("go"), "").unwrap();
    study.ok(&[]);
    assert_eq!(study.finished().len(), 4);
}

#[test]
fn a_failure_stops_or_is_tried_again_as_the_plan_says_and_is_kept() {
    let plan = |policy: &str| {
        format!(
            "name = \"failing\"\norder = \"given\"\n{policy}\n\
             command = \"echo no luck >&2; test {{n}} = 1 || test -e go\"\n[factors]\nn = [1, 2, 3]\n"
        )
    };
    let study = Study::new(&plan("retries = 1"));
    let said = study.fails(1, &[]);
    assert!(said.contains("failed: block 1 n=2: exit status 1\n  | no luck\n  it will be retried"), "{said}");
    assert!(
        said.contains("error: finished runs are kept; `fenxi study plan.toml` resumes: block 1, n=2: exit status 1"),
        "{said}"
    );
    let failed = |study: &Study| study.runs().iter().filter(|r| r.labels.tags.contains_key("failed")).count();
    assert_eq!((study.finished().len(), failed(&study)), (1, 2));
    // How failures are handled may be changed at any time.
    study.write(&plan("on_failure = \"continue\""));
    let said = study.fails(1, &[]);
    assert!(said.contains("2 runs of 3 failed: finished runs are kept"), "{said}");
    assert_eq!((study.finished().len(), failed(&study)), (1, 4));
    fs_err::write(study.dir.path().join("go"), "").unwrap();
    study.ok(&[]);
    assert_eq!((study.finished().len(), failed(&study)), (3, 4));
}

#[test]
fn what_goes_wrong_is_said_with_the_way_out() {
    let one = |more: &str| Study::new(&format!("name = \"wrong\"\n{more}\n")).fails(1, &[]);
    let said = one("command = \"sleep 60\"\ntimeout = \"300ms\"");
    assert!(said.contains("block 1, all: timed out after 300 ms"), "{said}");
    let said = one("command = [\"no-such-program\"]");
    assert!(said.contains("block 1, all: cannot run `no-such-program` in "), "{said}");
    let said = one("command = \"no-such-program\"");
    assert!(
        said.contains("exit status 127 (the shell found no such command)") && said.contains("no-such-program"),
        "{said}"
    );
    let said = one("command = \"true\"\n[run]\nready = { tcp = \"127.0.0.1:1\", timeout = \"200ms\" }");
    assert!(said.contains("not ready after 200 ms (127.0.0.1:1: Connection refused"), "{said}");
    let said = one("command = \"true\"\n[run]\nready = { command = \"echo not yet; exit 3\", timeout = \"200ms\" }");
    assert!(said.contains("not ready after 200 ms (probe failed: exit status 3"), "{said}");
    let said = one("command = \"true\"\nsetup = \"echo broken; false\"");
    assert!(said.contains("the study's set-up failed: set-up failed: exit status 1\n  | broken"), "{said}");
    let said = one("command = \"echo 1\"\n[[response]]\nname = \"r\"\npattern = 'rate ([0-9]+)'");
    assert!(said.contains("no response `r`: nothing in the output matches `rate ([0-9]+)`"), "{said}");
    let said = one("command = \"echo 1\"\n[[response]]\nresult = \"tps\"");
    assert!(said.contains("no response `tps`: the run has no result `tps`; there are `block_input`, "), "{said}");
    let said = one("command = \"true\"\ndirectory = \"nowhere\"");
    assert!(said.contains("nowhere, which is no directory"), "{said}");
}

#[test]
fn a_changed_plan_is_refused_with_what_changed_unless_it_extends() {
    let study = Study::new("name = \"changing\"\ncommand = \"true\"\n[factors]\nn = [1]\n");
    study.ok(&[]);
    study.write("name = \"changing\"\ncommand = \"true\"\nrepeats = 2\n[factors]\nn = [1]\n");
    let said = study.fails(2, &[]);
    let expected = "error: plan.toml: the plan has changed since the study `changing` began:\n    \
                    `repeats` was `1`, is `2`\n  finished runs stay valid: `--extend` goes on with the new plan\n";
    assert_eq!(said, expected);
    study.ok(&["--extend"]);
    assert_eq!(study.finished().len(), 2);
    study.write("name = \"changing\"\ncommand = \"false\"\nrepeats = 2\n[factors]\nn = [1]\n");
    let said = study.fails(2, &["--extend"]);
    assert!(
        said.contains("`command` was `true`, is `false`\n  runs of both would not measure the same thing"),
        "{said}"
    );
    study.write("name = \"changing\"\ncomand = \"true\"");
    assert!(
        study.fails(2, &[]).contains("plan.toml:2: unknown key `comand`") || study.fails(2, &[]).contains("`command`")
    );
}

#[test]
fn a_dry_run_tells_the_order_and_the_time_and_runs_nothing() {
    let study = Study::new(
        "name = \"dry\"\nrepeats = 2\nseed = 1\nduration = \"2s\"\ncommand = \"echo ran >> log\"\n[factors]\nn = [1, 2]\n",
    );
    let said = study.ok(&["--dry-run"]);
    assert!(said.contains("run  block  cell  estimate\n  1      1  n="), "{said}");
    assert!(said.contains("2 cells in 2 blocks: 4 runs to make, about 8.00 s; seed 1\n"), "{said}");
    assert_eq!((study.log(), study.runs().len()), (String::new(), 0));
    study.ok(&[]);
    let lines = study.ok(&["--dry-run", "--json"]);
    let first: serde_json::Value = serde_json::from_str(lines.lines().next().unwrap()).unwrap();
    assert!(first["run"].is_string() && first["factors"]["n"].is_string(), "{first}");
    assert!(study.ok(&["--dry-run"]).contains("nothing left to do"));
}

#[test]
fn the_output_of_a_known_tool_gives_results() {
    let pgbench = "transaction type: <builtin: TPC-B (sort of)>\\nscaling factor: 1\\nquery mode: simple\\nnumber of clients: 1\\n\
                   number of threads: 1\\nduration: 5 s\\nnumber of transactions actually processed: 500\\n\
                   latency average = 10.000 ms\\ntps = 100.500000 (without initial connection time)\\n";
    let study = Study::new(&format!(
        "name = \"tool\"\ncommand = '''printf '{pgbench}' '''\n[[response]]\nresult = \"throughput\"\n"
    ));
    study.ok(&[]);
    assert_eq!(study.fenxi.number("select value from result where name = 'throughput'"), 100.5);
}

#[test]
fn a_report_says_what_scales_what_is_best_and_what_failed() {
    // Twice the threads give 1.8 times the rate, whatever the tool; blocks differ by a tenth.
    let study = Study::new(
        r#"
name = "reported"
repeats = 4
retries = 1
command = """
test {attempt} = 2 || test {block}{threads}{tool} != 31fast || exit 7
awk 'BEGIN { f["slow"] = 1; f["fast"] = 3; r["1"] = 100; r["2"] = 180; r["4"] = 300; t = "{threads}"; b = {block}
    printf "rate: %f latency: %f\\n", f["{tool}"] * r[t] * (1 + b / 10) * (1 + b * t % 3 / 1000), 5 * t }'
"""
[factors]
threads = [1, 2, 4]
tool = ["slow", "fast"]
[[response]]
name = "rate"
pattern = 'rate: ([0-9.]+)'
unit = "/s"
better = "higher"
[[response]]
name = "latency"
pattern = 'latency: ([0-9.]+)'
unit = "ms"
better = "lower"
"#,
    );
    study.ok(&["--quiet"]);
    let report = study.fenxi.ok(&["study", "report", "reported"]);
    assert!(
        report.contains("Best: threads=4 tool=fast, ") && report.contains("All others differ significantly."),
        "{report}"
    );
    assert!(report.contains("latency against rate") && report.contains("exit status 7"), "{report}");
    assert!(report.lines().all(|line| line.chars().count() <= 80), "{report}");
    let json: serde_json::Value =
        serde_json::from_str(&study.fenxi.ok(&["study", "report", "reported", "--json"])).unwrap();
    let rate = &json["responses"][0];
    let point = &rate["curves"][0]["points"][1];
    assert!((point["speedup"].as_f64().unwrap() - 1.8).abs() < 0.01, "{point}");
    // Amdahl by hand: 1.8 of 2 is a contention of 1/9, 3 of 4 as well.
    let alpha = rate["curves"][0]["amdahl"]["alpha"].as_f64().unwrap();
    assert!((alpha - 1.0 / 9.0).abs() < 0.01, "{alpha}");
    assert_eq!((json["failures"][0]["made_later"].as_bool(), json["finished"].as_u64()), (Some(true), Some(24)));
    let plan = study.plan().display().to_string();
    assert!(study.fenxi.ok(&["study", "report", &plan, "--markdown"]).contains("| cell "));
    assert!(study.fenxi.fails(1, &["study", "report", "reportd"]).contains("did you mean `reported`?"));
}

#[test]
fn an_answer_about_each_run_is_a_response() {
    let study = Study::new(
        r#"
name = "asked"
repeats = 2
command = "sleep 0.35"
[factors]
n = [1, 2]
[[response]]
name = "busy"
sql = "select avg(100 - idle) as busy from cpu where cpu is null"
unit = "%"
better = "lower"
[[response]]
question = "samples"
params = { times = 3 }
column = "n"
"#,
    );
    let own = study.fenxi.path().join("questions");
    Store::open_or_create(study.fenxi.path()).unwrap();
    fs_err::write(
        own.join("samples.sql"),
        "-- title: Samples\n-- param: times = 1, how often each counts\n\
         SELECT 'all' AS word, count(*) * $times AS n, 1 AS other FROM cpu WHERE cpu IS NULL\n",
    )
    .unwrap();
    study.ok(&["--dry-run"]);
    let said = study.ok(&[]);
    assert!(said.contains("busy") && said.contains("samples"), "{said}");
    let json: serde_json::Value =
        serde_json::from_str(&study.fenxi.ok(&["study", "report", "asked", "--json"])).unwrap();
    for cell in ["n=1", "n=2"] {
        let mean = |response: usize| {
            let cells = json["responses"][response]["cells"].as_array().unwrap();
            cells.iter().find(|c| c["cell"] == cell).unwrap()["mean"].as_f64().unwrap()
        };
        let of_runs = |value: &str| {
            let runs = study.runs().into_iter().filter(|r| r.manifest.params["cell"] == cell);
            let ids: Vec<String> = runs.map(|r| format!("'{}'", r.manifest.id)).collect();
            let ids = ids.join(", ");
            let each = format!("select {value} as v from cpu where cpu is null and run in ({ids}) group by run");
            study.fenxi.number(&format!("select avg(v) from ({each})"))
        };
        assert!((mean(0) - of_runs("avg(100 - idle)")).abs() < 1e-9);
        assert!((mean(1) - of_runs("3 * count(*)")).abs() < 1e-9);
    }
}

#[test]
fn a_question_that_cannot_be_asked_is_told_before_the_first_run() {
    let plan = |response: &str| {
        format!("name = \"asking\"\ncommand = \"echo ran >> log; sleep 0.3\"\n[[response]]\nname = \"r\"\n{response}\n")
    };
    let cases = [
        ("question = \"hotest-cpu\"", "the response `r`: there is no question `hotest-cpu`"),
        ("question = \"hottest-cpu\"\nparams = { nn = 1 }", "there is no parameter `nn`"),
        ("sql = \"selec 1\"", "the response `r`: "),
        ("sql = \"select usr from cpus\"", "cpus"),
        ("sql = \"select usr, sys from cpu\"", "several columns of numbers; name one with `column`: `usr`, `sys`"),
        ("sql = \"select usr from cpu\"\ncolumn = \"user\"", "the answer has no column `user`; there are `usr`"),
        ("sql = \"select 'a' as a, 1 as b\"\ncolumn = \"a\"", "`a` of the answer is Utf8 where a number is expected"),
        ("sql = \"create table x (a int)\"", "the response `r`: "),
    ];
    for (response, words) in cases {
        let study = Study::new(&plan(response));
        for more in [&["--dry-run"][..], &[]] {
            let said = study.fails(2, more);
            assert!(said.contains("plan.toml:3: ") && said.contains(words), "{said}");
        }
        assert_eq!((study.log(), study.runs().len()), (String::new(), 0));
    }
    // A fault that only a run can show fails the run, which is kept with the reason.
    let cases = [
        ("sql = \"select usr from cpu where cpu = 'none'\"", "no row where one is expected"),
        ("sql = \"select usr from cpu limit 2\"", "2 rows where one is expected"),
        ("sql = \"select max(usr) as most from cpu where cpu = 'none'\"", "`most` of the answer is NULL"),
    ];
    for (response, words) in cases {
        let study = Study::new(&plan(response));
        let said = study.fails(1, &[]);
        assert!(said.contains("no response `r`: ") && said.contains(words), "{said}");
        assert!(study.runs()[0].labels.tags["failed"].contains(words));
        assert!(study.finished().is_empty());
    }
}

#[test]
fn two_studies_at_once_are_two_plans() {
    let slow = "command = \"echo ran >> log; sleep 1\"\nrepeats = 2\n";
    let study = Study::new(&format!("name = \"first\"\n{slow}"));
    let other = study.dir.path().join("other.toml");
    fs_err::write(&other, format!("name = \"second\"\n{slow}[record]\nsources = [\"cpu\"]\n")).unwrap();
    let plan = study.plan().display().to_string();
    let [first, second] = [plan.as_str(), other.to_str().unwrap()].map(|plan| study.fenxi.spawn(&["study", plan]));
    wait_for("both to run", || study.log().lines().count() >= 2);
    let said = study.fails(1, &[]);
    assert!(
        said.contains("the study `first` is being made by another process (its lock is ")
            && said.contains("first.lock"),
        "{said}"
    );
    for child in [first, second] {
        let output = child.wait_with_output().unwrap();
        assert!(output.status.success(), "{}", text(&output.stderr));
    }
    let of = |name: &str| study.fenxi.ok(&["runs", &format!("study={name}"), "--json"]).lines().count();
    assert_eq!((of("first"), of("second"), study.log().lines().count()), (2, 2, 4));
}

#[test]
fn a_disk_that_fills_up_stops_a_study_which_goes_on_when_there_is_room() {
    let dir = tempfile::TempDir::new().unwrap();
    let Some(disk) = Tmpfs::mount(dir.path(), 3 << 20) else {
        skipped("a disk that fills up", "mounting a tmpfs is not permitted here");
        return;
    };
    let (store, filler) = (dir.path().join("store"), dir.path().join("filler"));
    let study = Study::new(&format!(
        "name = \"full\"\norder = \"given\"\n\
         command = \"test {{n}} = 1 || test -e go || dd if=/dev/zero of={} bs=64k 2>/dev/null; sleep 0.3\"\n\
         [factors]\nn = [1, 2]\n",
        filler.display()
    ));
    let plan = study.plan().display().to_string();
    let store = store.to_str().unwrap();
    let run = |more: &[&str]| study.fenxi.run(&[&["--store", store], more].concat());
    let full = run(&["study", &plan]);
    let said = text(&full.stderr);
    assert_eq!(full.status.code(), Some(1), "{said}");
    assert!(said.contains("No space left on device") && said.contains("make room"), "{said}");
    assert!(said.contains("finished runs are kept; `fenxi study "), "{said}");
    let finished = |store: &str| {
        let all = Store::open(store).unwrap().summaries().unwrap();
        all.into_iter().filter(|s| !s.recovered && !s.labels.tags.contains_key("failed")).count()
    };
    assert_eq!(finished(store), 1);
    assert!(run(&["verify"]).status.success());
    fs_err::remove_file(&filler).unwrap();
    fs_err::write(study.dir.path().join("go"), "").unwrap();
    let again = run(&["study", &plan]);
    assert!(again.status.success(), "{}", text(&again.stderr));
    assert_eq!(finished(store), 2);
    assert!(run(&["verify"]).status.success());
    drop(disk);
}
