//! `fenxi sql`, `ask` and `report` through the binary.

use crate::support::{Fenxi, text};

fn recorded() -> Fenxi {
    let fenxi = Fenxi::new();
    let script = "i=0; while [ $i -lt 300000 ]; do i=$((i+1)); done; ls -lR /usr/share > /dev/null";
    fenxi.ok(&["record", "--name", "small", "--interval", "50ms", "--", "sh", "-c", script]);
    fenxi
}

#[test]
fn every_question_is_answered_in_every_format() {
    let fenxi = recorded();
    let listed = fenxi.ok(&["ask"]);
    let names: Vec<_> = listed.lines().skip(1).filter_map(|l| l.split_whitespace().next()).collect();
    assert!(names.len() >= 15, "{listed}");
    for name in ["hottest-cpu", "cpu-summary", "result-summary"] {
        assert!(names.contains(&name), "{name} in {listed}");
    }
    for (place, name) in names.iter().enumerate() {
        let format = ["table", "csv", "json", "markdown"][place % 4];
        fenxi.ok(&["ask", name, "-o", format]);
    }
}

#[test]
fn bad_sql_is_pointed_at_and_near_names_are_suggested() {
    let fenxi = recorded();
    let message = fenxi.fails(1, &["sql", "select usr from cpuu"]);
    assert!(message.contains("cpu"), "{message}");
    let message = fenxi.fails(1, &["sql", "select ursr from cpu"]);
    assert!(message.contains("usr") && message.contains('^'), "{message}");
    fenxi.fails(1, &["sql", "selec 1"]);
    let message = fenxi.fails(1, &["ask", "hotest-cpu"]);
    assert!(message.contains("hottest-cpu"), "{message}");
}

#[test]
fn sql_cannot_write_or_read_outside_the_store() {
    let fenxi = recorded();
    let outside = tempfile::NamedTempFile::new().unwrap();
    let path = outside.path().display();
    let inside = fenxi.path().join("out.csv");
    for statement in [
        format!("copy (select 1) to '{path}'"),
        format!("copy (select 1) to '{}'", inside.display()),
        format!("attach '{}' as x", inside.display()),
        "create table x as select 1".to_owned(),
        "select * from read_csv('/etc/passwd')".to_owned(),
        "set memory_limit = '100GB'".to_owned(),
        "install httpfs".to_owned(),
        "select 1; drop view cpu".to_owned(),
    ] {
        fenxi.fails(1, &["sql", &statement]);
    }
    assert_eq!(outside.as_file().metadata().unwrap().len(), 0);
    assert!(!inside.exists());
}

#[test]
fn an_interrupted_statement_ends_at_once() {
    let fenxi = recorded();
    let child = fenxi
        .spawn(&["sql", "select count(*) from range(100000000) a, range(100000) b where a.range % 7 = b.range % 5"]);
    std::thread::sleep(std::time::Duration::from_millis(700));
    crate::support::signal(&child, rustix::process::Signal::INT);
    let begun = std::time::Instant::now();
    let output = child.wait_with_output().unwrap();
    assert!(begun.elapsed().as_secs() < 10);
    assert!(!output.status.success(), "{}", text(&output.stdout));
}

#[test]
fn a_report_is_one_file_that_asks_nothing_of_the_network() {
    let fenxi = recorded();
    let file = fenxi.path().join("report.html");
    fenxi.ok(&["report", "@1", "-o", file.to_str().unwrap()]);
    let html = fs_err::read_to_string(&file).unwrap();
    assert!(html.starts_with("<!doctype html>") || html.starts_with("<!DOCTYPE html>"));
    for word in ["src=\"http", "href=\"http", "@import"] {
        assert!(!html.contains(word), "{word}");
    }
    assert!(html.contains("small"));
    let twice = fenxi.path().join("two.html");
    fenxi.ok(&["report", "@1", "small", "-o", twice.to_str().unwrap()]);
    fenxi.fails(1, &["report", "@7"]);
}

#[test]
fn findings_say_what_stands_out_and_list_their_rules() {
    let fenxi = Fenxi::new();
    fenxi.run(&["record", "--name", "bad", "--interval", "50ms", "--", "sh", "-c", "sleep 0.3; exit 3"]);
    let said = fenxi.ok(&["findings"]);
    assert!(said.starts_with("The recorded command failed") && said.contains("\n1 PROBLEM\n"), "{said}");
    assert!(said.contains("ended with status 3") && said.contains("fenxi ask result-summary -r "), "{said}");
    assert!(said.lines().all(|line| line.chars().count() <= 100), "{said}");
    let lines = fenxi.ok(&["findings", "bad", "--json"]);
    let failed = lines.lines().find(|line| line.contains("command-failed")).unwrap();
    let failed: serde_json::Value = serde_json::from_str(failed).unwrap();
    assert_eq!(failed["evidence"]["status"], 3);
    assert!(fenxi.ok(&["findings", "--markdown"]).contains("### The recorded command failed\n\n- sh -c"));
    assert!(fenxi.ok(&["findings", "--all"]).lines().count() > 25);
    let folder = fenxi.path().join("findings");
    fs_err::create_dir_all(&folder).unwrap();
    let rule =
        "-- title: Wrong\n-- severity: info\n-- section: cpu\n-- message: {x}\nSELECT run, no_such AS x FROM cpu";
    fs_err::write(folder.join("wrong.sql"), rule).unwrap();
    let message = fenxi.fails(1, &["findings"]);
    assert!(message.contains("wrong.sql: there is no column `no_such`"), "{message}");
}

#[test]
fn a_playbook_goes_through_its_questions_with_what_follows() {
    let fenxi = recorded();
    let listed = fenxi.ok(&["ask", "--playbooks"]);
    for name in ["database-is-slow", "cpu-is-full", "latency-rises-with-load", "maxed-out", "does-it-scale"] {
        assert!(listed.contains(name), "{name} in {listed}");
    }
    let out = fenxi.ok(&["ask", "--playbook", "cpu-is-full", "small"]);
    assert!(out.starts_with("The CPU is full\n"), "{out}");
    assert!(out.contains("1. states: ") && out.contains("(fenxi ask cpu-summary -r small)"), "{out}");
    assert!(out.contains("look for: ") && out.contains("if user time leads: step 4, who"), "{out}");
    // The command of the run kept a CPU busy.
    assert!(out.contains("usr"), "{out}");
    // Nothing was recorded of system calls: it is reported, and the playbook goes on.
    assert!(out.contains("no answer: ") && out.contains("7. code"), "{out}");
    let json = fenxi.ok(&["ask", "--playbook", "database-is-slow", "-r", "small", "-o", "json"]);
    let first: serde_json::Value = serde_json::from_str(json.lines().next().unwrap()).unwrap();
    assert_eq!(first["step"], "time");
    assert_eq!(first["rows"].as_array().unwrap().len(), 0);
    assert_eq!(first["then"][1]["step"], "locks");
    let text = fenxi.ok(&["ask", "--playbook", "database-is-slow"]);
    assert!(text.contains("not recorded (fenxi record --db"), "{text}");
}

#[test]
fn playbooks_of_the_store_are_read_and_wrong_ones_are_pointed_at() {
    let fenxi = recorded();
    let message = fenxi.fails(1, &["ask", "--playbook", "cpu-is-ful"]);
    assert!(message.contains("there is no playbook `cpu-is-ful`") && message.contains("cpu-is-full"), "{message}");
    assert!(fenxi.fails(1, &["ask", "--playbook", "cpu-is-full", "-o", "csv"]).contains("-o markdown"));
    let folder = fenxi.store().path().join("playbooks");
    fs_err::create_dir_all(&folder).unwrap();
    let step = "[[step]]\nname = \"a\"\nask = \"cpu-time\"\nlook = \"The state that leads.\"\n";
    fs_err::write(folder.join("mine.toml"), format!("title = \"Mine\"\nabout = \"One step.\"\n{step}")).unwrap();
    // Of a series each line is summed up.
    let out = fenxi.ok(&["ask", "--playbook", "mine", "-o", "markdown"]);
    assert!(out.contains("# Mine") && out.contains("| what") && out.contains("usr"), "{out}");
    fs_err::write(folder.join("mine.toml"), "title = \"Mine\"\nabout = \"No step.\"\nstep = []\n").unwrap();
    assert!(fenxi.fails(1, &["ask", "--playbooks"]).contains("mine.toml: line 1: there is no `[[step]]`"));
}
