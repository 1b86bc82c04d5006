//! Every shipped finding on the rows of the header, and findings that users write.

use fenxi_model::{
    Rows,
    catalog::{cgroup, cpu, disk, mem, pressure, process, sched},
};
use fenxi_query::{
    CULPRITS, Case, Engine, Expected, Finding, NamesCause, Occurrence, QueryError, SHIPPED_FINDINGS, Scope, Severity,
    findings, question,
};
use fenxi_store::End;

use crate::store::{START, TestStore, at, fill_everything};

fn folder() -> std::path::PathBuf {
    std::path::PathBuf::from("../../findings")
}

/// The findings as their files are now, by name.
fn in_files() -> Vec<Finding> {
    let mut all: Vec<Finding> = fs_err::read_dir(folder())
        .unwrap()
        .map(|entry| {
            let path = entry.unwrap().path();
            let name = path.file_stem().unwrap().to_string_lossy().into_owned();
            Finding::parse(&name, &fs_err::read_to_string(&path).unwrap()).unwrap()
        })
        .collect();
    all.sort_by(|a, b| a.name.cmp(&b.name));
    all
}

/// Occurrences of `finding` in a run of the rows of `case`.
fn look(finding: &Finding, case: &Case, s: &mut TestStore) -> Result<Vec<Occurrence>, QueryError> {
    let length = case.fill(&mut Rows::new("h1"), START);
    let end = End {
        exit_status: case.exit_status,
        costs: case.costs.clone(),
        ticks: case.samples.unwrap_or(length as u64),
        missed_ticks: case.missed,
        ..End::at(at(length))
    };
    let run = s.run_with("case", |rows| _ = case.fill(rows, START), end);
    s.engine().find(finding, &Scope::of([run]))
}

/// Errors in how `finding` takes its own rows.
fn wrong_cases(finding: &Finding, s: &mut TestStore) -> Vec<String> {
    let name = &finding.name;
    let mut wrong = Vec::new();
    for (word, expected) in [("yes", Expected::Found), ("no", Expected::Nothing)] {
        if !finding.cases.iter().any(|case| case.expected == expected) {
            wrong.push(format!("{name}: there is no `{word}` row"));
        }
    }
    for (place, case) in finding.cases.iter().enumerate() {
        match (look(finding, case, s), case.expected) {
            (Err(e), _) => wrong.push(format!("{name}: {e}")),
            (Ok(found), Expected::Nothing) => {
                wrong.extend(found.first().map(|o| format!("{name}, case {place} (no): {}", o.message)));
            }
            (Ok(found), expected) => match found.first() {
                None => wrong.push(format!("{name}, case {place} (yes): silent")),
                Some(o) if expected == Expected::Fact && o.severity != Severity::Info => {
                    wrong.push(format!("{name}, case {place} (fact): a {}: {}", o.severity, o.message));
                }
                Some(o) if o.message.contains(['{', '}']) || o.message.contains("(unknown)") => {
                    wrong.push(format!("{name}: {}", o.message));
                }
                Some(o) if o.host.is_none() => wrong.push(format!("{name}: no host")),
                Some(_) => {}
            },
        }
    }
    wrong
}

#[test]
fn every_finding_speaks_on_its_yes_rows_and_is_silent_on_its_no_rows() {
    let mut s = TestStore::new();
    // Those over two periods are checked where changes are computed.
    let all: Vec<Finding> = in_files().into_iter().filter(|finding| !finding.periods).collect();
    let wrong: Vec<String> = all.iter().flat_map(|finding| wrong_cases(finding, &mut s)).collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn every_kind_of_culprit_names_somebody_on_its_yes_rows_and_nobody_on_its_no_rows() {
    let mut s = TestStore::new();
    let parsed = |(name, text): &(&str, &str)| Finding::parse(name, text).unwrap();
    let all: Vec<Finding> = CULPRITS.iter().map(parsed).collect();
    let wrong: Vec<String> = all.iter().flat_map(|finding| wrong_cases(finding, &mut s)).collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(CULPRITS.windows(2).all(|w| w[0].0 < w[1].0), "the list is sorted");
}

#[test]
fn a_finding_names_culprits_and_speaks_in_its_worlds_only() {
    let mut s = TestStore::new();
    let run = s.run("r", 9.0, |rows| {
        for second in 1..=9 {
            let mut row = rows.row(&process::TABLE, at(f64::from(second)), 1.0);
            row.i64(process::pid, 7).str(process::comm, "gzip").f64(process::cpu, 90.0);
        }
    });
    let finding = |world: &str| {
        let text = format!(
            "-- title: T\n-- severity: info\n-- section: cpu\n-- message: It is {{one}}.\n-- names: process, function\n{world}\
             SELECT run, host, 1 AS one FROM process GROUP BY run, host"
        );
        Finding::parse("own", &text).unwrap()
    };
    let find = |world: &str| s.engine().find(&finding(world), &Scope::of([run.clone()])).unwrap();
    let found = find("");
    assert_eq!(found[0].message, "It is 1. Most CPU time: gzip (process 7) 0.90 CPU.");
    assert_eq!(found[0].named(), Some("Most CPU time: gzip (process 7) 0.90 CPU."));
    assert_eq!(find("-- world: recording; database\n").len(), 1);
    assert!(find("-- world: database; http load; import of wrk\n").is_empty());
    let wrong = |line: &str| Finding::parse("x", &format!("-- title: T\n-- {line}\nSELECT 1")).unwrap_err().to_string();
    assert!(wrong("names: nobody").contains("names: `nobody` is not one of"), "{}", wrong("names: nobody"));
    assert!(wrong("world: moon").contains("world: `moon` is not one of"));
    assert!(wrong("causes: steal").contains("causes: expected"));
}

#[test]
fn every_shipped_finding_is_listed_and_has_a_whole_header() {
    let s = TestStore::new();
    assert_eq!(
        fs_err::read_dir(folder()).unwrap().count(),
        SHIPPED_FINDINGS.len(),
        "a finding is one file and one line in shipped.rs"
    );
    assert!(SHIPPED_FINDINGS.len() >= 25);
    assert!(SHIPPED_FINDINGS.windows(2).all(|w| w[0].0 < w[1].0), "the list is sorted");
    let names: Vec<String> = findings(&s.store).unwrap().into_iter().map(|finding| finding.name).collect();
    for finding in findings(&s.store).unwrap() {
        let name = &finding.name;
        assert!(finding.message().ends_with('.') && finding.message().contains('{'), "{name}: {}", finding.message());
        assert!(finding.advice.ends_with('.') && finding.advice.len() > 40, "{name}: {}", finding.advice);
        assert!(!finding.title.ends_with(['.', '?']), "{name}: {}", finding.title);
        assert!(!finding.sql.contains('"'), "{name}: other engines read double quotes as strings");
        for other in &finding.explains {
            assert!(names.contains(other) && other != name, "{name}: explains `{other}`");
        }
        if let Some(ask) = &finding.ask {
            question(&s.store, ask).unwrap_or_else(|e| panic!("{name}: {e}"));
        }
    }
}

#[test]
fn what_follows_from_something_else_stands_behind_it() {
    let mut s = TestStore::new();
    let queue = |rows: &mut Rows| {
        for second in 1..=30 {
            rows.row(&sched::TABLE, at(f64::from(second)), 1.0).f64(sched::runnable, 40.0).f64(sched::cpus_online, 2.0);
        }
    };
    s.run("alone", 30.0, queue);
    s.run("throttled", 30.0, |rows| {
        queue(rows);
        for second in 1..=30 {
            let mut row = rows.row(&cgroup::TABLE, at(f64::from(second)), 1.0);
            row.str(cgroup::cgroup, "/app").f64(cgroup::throttled, 20.0).f64(cgroup::cpu, 40.0);
        }
    });
    let found = s.engine().find_all(&Scope::all()).unwrap();
    let of = |name: &str| found.iter().position(|found| found.finding.name == name).unwrap_or_else(|| panic!("{name}"));
    assert!(of("cgroup-throttled") < of("cpu-queue"), "{found:?}");
    assert_eq!(found[of("cpu-queue")].follows_from, ["A cgroup is throttled by its CPU quota"]);
    let alone = s.run("by itself", 30.0, queue);
    let found = s.engine().find_all(&Scope::of([alone])).unwrap();
    assert!(found.iter().all(|found| found.follows_from.is_empty()), "{found:?}");
}

#[test]
fn every_finding_runs_on_an_empty_store_and_on_tables_with_every_column() {
    let empty = TestStore::new();
    let mut full = TestStore::new();
    full.run("full", 2.0, fill_everything);
    let find = |e: &Engine, f: &Finding| e.find(f, &Scope::all()).unwrap_or_else(|e| panic!("{}: {e}", f.name));
    let (on_empty, on_full) = (empty.engine(), full.engine());
    for finding in in_files() {
        assert_eq!(find(&on_empty, &finding), [], "{}", finding.name);
        find(&on_full, &finding);
    }
}

#[test]
fn an_idle_machine_has_nothing_critical_and_no_warning() {
    let mut s = TestStore::new();
    s.run("idle", 30.0, |rows| {
        for second in 1..=30 {
            let t = at(f64::from(second));
            for n in [None, Some("0"), Some("1")] {
                rows.row(&cpu::TABLE, t, 1.0)
                    .str(cpu::cpu, n)
                    .f64(cpu::usr, 0.4)
                    .f64(cpu::sys, 0.6)
                    .f64(cpu::idle, 99.0);
            }
            rows.row(&sched::TABLE, t, 1.0)
                .f64(sched::runnable, 1.0)
                .f64(sched::cpus_online, 2.0)
                .f64(sched::forks_per_s, 0.5);
            rows.row(&mem::TABLE, t, 1.0).f64(mem::total_bytes, 8e9).f64(mem::available_bytes, 7e9);
            rows.row(&disk::TABLE, t, 1.0)
                .str(disk::device, "sda")
                .str(disk::class, "disk")
                .f64(disk::util, 0.1)
                .f64(disk::write_await_ms, 2.0);
            rows.row(&pressure::TABLE, t, 1.0)
                .str(pressure::resource, "io")
                .f64(pressure::some, 0.1)
                .f64(pressure::full, 0.1);
        }
    });
    for found in s.engine().find_all(&Scope::all()).unwrap() {
        assert_eq!(found.severity(), Severity::Info, "{}: {:?}", found.finding.name, found.outcome);
    }
}

const MINE: &str = "-- title: Mine\n-- severity: info\n-- section: cpu\n-- message: usr was {usr:%}.\n";

#[test]
fn a_store_can_have_findings_of_its_own_and_a_row_can_say_how_much_it_matters() {
    let mut s = TestStore::new();
    s.run("r", 2.0, |rows| _ = rows.row(&cpu::TABLE, at(1.0), 1.0).f64(cpu::usr, 12.5));
    let folder = s.store.path().join("findings");
    fs_err::create_dir_all(&folder).unwrap();
    fs_err::write(folder.join("mine.sql"), format!("{MINE}SELECT run, host, usr, 'critical' AS severity FROM cpu"))
        .unwrap();
    fs_err::write(folder.join("wrong.sql"), format!("{MINE}\nSELECT run, usrr FROM cpu")).unwrap();
    let all = s.engine().find_all(&Scope::all()).unwrap();
    let mine = all.iter().find(|f| f.finding.name == "mine").unwrap();
    let found = &mine.outcome.as_ref().unwrap()[0];
    assert_eq!(
        (found.message.as_str(), found.severity, mine.finding.own),
        ("usr was 12.5%.", Severity::Critical, true)
    );
    let wrong = all.iter().find(|f| f.finding.name == "wrong").unwrap();
    let error = wrong.outcome.as_ref().unwrap_err().to_string();
    assert!(error.starts_with("wrong.sql: there is no column `usrr`\n  line 6 | "), "{error}");
}

#[test]
fn findings_of_a_store_may_use_the_former_names_of_keys_findings_and_columns() {
    let s = TestStore::new();
    let folder = s.store.path().join("findings");
    fs_err::create_dir_all(&folder).unwrap();
    let before = MINE.replace("-- message:", "-- says:");
    assert_ne!(before, MINE);
    fs_err::write(
        folder.join("far-server.sql"),
        format!("{before}-- explains: far-server, steal\nSELECT run, usr FROM cpu"),
    )
    .unwrap();
    let all = fenxi_query::findings(&s.store).unwrap();
    let mine = all.iter().find(|finding| finding.own).unwrap();
    assert_eq!((mine.name.as_str(), mine.message().as_str()), ("far-server", "usr was {usr:%}."));
    assert_eq!(mine.explains, ["network-latency", "steal"]);
    assert!(!all.iter().any(|finding| finding.name == "network-latency"), "the store's own replaces it");
    let changes =
        Finding::parse("x", &format!("{before}-- periods: inside, rest\nSELECT run, said FROM change")).unwrap();
    assert!(changes.over_changes().contains(" AS said"));
}

#[test]
fn a_wrong_header_is_reported_with_file_and_line() {
    let error = |text: &str| Finding::parse("x", text).unwrap_err().to_string();
    assert_eq!(
        error("-- title: X\n-- severity: bad\nSELECT 1"),
        "x.sql: line 2: `bad` is not a severity: one of critical, warning, info"
    );
    assert_eq!(error("-- title: X\nSELECT 1"), "x.sql: line 1: there is no `-- message: …` in the header");
    assert!(
        error(&format!("{MINE}-- yes: cpu uzr=1\nSELECT 1"))
            .starts_with("x.sql: line 5: table cpu has no column `uzr`")
    );
    assert_eq!(error(MINE), "x.sql: line 5: there is no SQL after the header");
    assert_eq!(
        error(&format!("{MINE}-- part: round trips >= most\nSELECT 1")),
        "x.sql: line 5: part: expected a share in percent after `>=`, as `round trips >= 50 %`"
    );
    let of_parts = Finding::parse("x", &format!("{MINE}-- part: on CPU, user; run queue >= 25 %\nSELECT 1")).unwrap();
    assert_eq!(
        (of_parts.parts, of_parts.min_part),
        (vec!["on CPU, user".to_owned(), "run queue".to_owned()], Some(0.25))
    );
    let of_changes = |word: &str| format!("{MINE}-- periods: inside, rest\n-- names-cause: {word}\nSELECT 1");
    let names = |name: &str, text: &str| Finding::parse(name, text).unwrap().names_cause;
    assert_eq!(names("x", &of_changes("fallback")), NamesCause::Fallback);
    assert_eq!(names("x", &format!("{MINE}SELECT 1")), NamesCause::Yes);
    assert!(error(&of_changes("maybe")).contains("`maybe` is not a names-cause: one of yes, fallback, broadly, no"));
    assert!(
        error(&format!("{MINE}-- names-cause: no\nSELECT 1")).contains("names-cause: only a finding with `periods")
    );
    let mut s = TestStore::new();
    s.run("r", 2.0, |rows| _ = rows.row(&cpu::TABLE, at(1.0), 1.0).f64(cpu::usr, 12.5));
    let finding = Finding::parse("x", &format!("{MINE}SELECT run, sys FROM cpu")).unwrap();
    let error = s.engine().find(&finding, &Scope::all()).unwrap_err().to_string();
    assert_eq!(error, "x.sql: line 4: message: there is no column `usr`; the SQL gives run, sys");
}
