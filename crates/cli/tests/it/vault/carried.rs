//! Content that a run brings with it is a stranger's: its questions may be asked, of it alone, and can do no more than
//! any statement; they can be switched off.

use super::{
    Vault, knows,
    made_up::{Carried, OTHER},
    served::{Served, encoded},
    short,
};

/// The file of the report: harmless rows, and a chart that overwrites the store.
const EVIL: &str = "Title: Innocent results\n\nSection: Throughput\nPlot:p:table:0:SELECT * FROM \
                    enable_profiling(format='json', save_location=current_setting('allowed_directories')[1] || '/store.json')\n\
                    Plot:q:table:0:SELECT 1 AS a\nLoad\tTPS\n--------\t--------\n1\t100\n";

/// Questions that a stranger's archive might bring with it.
fn evil(store: &str) -> Vec<Carried<'static>> {
    let question = |sql: String| format!("-- title: Innocent\n-- section: result\n-- chart: table\n{sql}\n");
    let line = |sql: &str| format!("-- title: Innocent\n-- chart: line\n-- x: t\n-- y: usr\n{sql}\n");
    vec![
        ("own", question("SELECT sum(usr) AS a FROM cpu".to_owned())),
        ("profile", question(format!("FROM enable_profiling(format='json', save_location='{store}/store.json')"))),
        ("log", question(format!("FROM enable_logging(storage='file', storage_path='{store}/evil')"))),
        ("lie", question("--\rCREATE OR REPLACE MACRO wmean(x, dt) AS 42.0;\nSELECT 1 AS a".to_owned())),
        ("table", question("--\rCREATE TABLE kept AS SELECT * FROM range(1000);\nSELECT 1 AS a".to_owned())),
        ("deep", question("SELECT json_structure(repeat('[',20000)||repeat(']',20000)) AS a".to_owned())),
        ("long", question("SELECT levenshtein(repeat('a',1000000), repeat('b',1000000)) AS a".to_owned())),
        ("large", question("SELECT length(repeat('abcdefgh',400000000+(range%2)::INT)) FROM range(1)".to_owned())),
        ("other", question("SELECT * FROM text, runs".to_owned())),
        ("around", question(format!("SELECT * FROM read_text('{store}/runs/*/run.json')"))),
        ("outside", question("SELECT * FROM read_text('/etc/passwd')".to_owned())),
        ("wrapped", line(") TO '/tmp/x.csv'; --")),
        (
            "unwrapped",
            line("SELECT t, usr FROM cpu); CREATE TABLE kept AS SELECT 1; SELECT * FROM (SELECT 1 AS t, 1 AS usr"),
        ),
        ("line", line("SELECT run, host, t, dt, usr FROM cpu --\r; CREATE TABLE kept AS SELECT 1; --")),
        // One that has a shipped one's name must not take its place.
        ("hottest-cpu", question("SELECT 'taken over' AS a".to_owned())),
        ("../escape", question("SELECT 1".to_owned())),
        ("<img src=x onerror=alert(1)>", question("SELECT '<script>alert(1)</script>' AS a".to_owned())),
    ]
}

/// Looks at the run as its page does, and asks each question that it brings.
fn looked_at(vault: &Vault, served: &Served, names: &[&str]) {
    let page = served.get(&format!("/api/v1/run?run={}", vault.one));
    assert_eq!(page.status, 200, "{}", page.text());
    for name in names {
        let answer = served.get(&format!("/api/v1/panel?question={}&run={}", encoded(name), vault.one));
        let shown = format!("{name}: {} {}", answer.status, short(&answer.text()));
        assert!(answer.status == 200 || answer.text().contains("\"error\":\""), "{shown}: {}", served.said());
        let text = answer.text();
        assert!(!text.contains(OTHER) && !text.contains("root:x:0"), "{shown}");
        assert!(*name != "hottest-cpu" || !text.contains("taken over"), "{shown}");
        let next = served.sql("SELECT 42 AS a", None);
        assert_eq!(next.value(), 42, "after {shown}");
    }
}

#[test]
fn questions_that_a_run_brings_write_nothing_and_see_their_run_only() {
    let vault = Vault::carrying(evil);
    let names: Vec<&str> = evil("").into_iter().map(|(name, _)| name).collect();
    for (name, args) in [("writable", &[][..]), ("read-only", &["--read-only"][..])] {
        let served = vault.serve(name, &[args, &["--time-limit", "2s", "--memory", "512MB"]].concat());
        let before = vault.before(name);
        looked_at(&vault, &served, &names);
        let own = served.get(&format!("/api/v1/panel?question=own&run={}", vault.one)).text();
        assert!(own.contains("1860"), "{own}");
        // Of another run, or of all, it is no question at all.
        let target = format!("/api/v1/panel?question=own&run={}", vault.two);
        assert_eq!(served.get(&target).status, 404);
        vault.unchanged(&before, name, "all questions of the run");
        knows(&served);
    }
}

#[test]
fn a_file_of_a_stranger_does_no_harm_when_its_run_is_drawn() {
    let vault = Vault::new();
    let place = vault.place("command line");
    let file = vault.dir.path().join("evil.xan");
    fs_err::write(&file, EVIL).unwrap();
    let fenxi = |args: &[&str]| place.command(args).unwrap().output().unwrap();
    let said = fenxi(&["import", file.to_str().unwrap()]);
    assert!(said.status.success(), "{said:?}");
    // The first look fills the index.
    fenxi(&["runs"]);
    let before = vault.before("command line");
    let report = vault.dir.path().join("r.html");
    fenxi(&["report", "@1", "-o", report.to_str().unwrap()]);
    fenxi(&["ask", "-r", "@1", "throughput-p"]);
    fenxi(&["findings", "@1"]);
    vault.unchanged(&before, "command line", "report, ask and findings");
    let said = fenxi(&["runs"]);
    assert!(said.status.success(), "{said:?}");
    for (name, served) in vault.both() {
        let before = vault.before(name);
        for question in ["throughput-p", "throughput-q"] {
            served.get(&format!("/api/v1/panel?question={question}&run=@1"));
            served.sql("SELECT 1 AS a", None);
        }
        vault.unchanged(&before, name, "panels of the import");
    }
}

#[test]
fn an_archive_brings_its_questions_and_they_do_no_more_than_before() {
    let from = Vault::carrying(evil);
    let archive = from.dir.path().join("runs.tar.zst");
    let place = from.place("command line");
    let said = place.command(&["export", &from.one, "-o", archive.to_str().unwrap()]).unwrap().output().unwrap();
    assert!(said.status.success(), "{said:?}");
    let into = tempfile::tempdir().unwrap();
    fenxi_store::Store::open_or_create(into.path().join("store")).unwrap();
    let to = Vault { dir: into, one: from.one.clone(), two: from.two.clone() };
    let served = to.place("writable").serve(&["--time-limit", "2s", "--memory", "512MB"]).unwrap();
    let taken = served.change("POST", "/api/v1/import", &fs_err::read(&archive).unwrap());
    assert_eq!(taken.status, 200, "{}", taken.text());
    let sum = || served.sql("SELECT sum(usr) AS a FROM cpu", None).value();
    assert_eq!(sum(), 1860.0);
    let before = to.before("writable");
    looked_at(&to, &served, &["own", "profile", "lie", "deep", "unwrapped", "hottest-cpu"]);
    to.unchanged(&before, "writable", "questions of the archive");
    assert_eq!(sum(), 1860.0);
}

#[test]
fn questions_that_come_with_runs_can_be_switched_off() {
    let vault = Vault::carrying(evil);
    let served = vault.serve("switched off", &["--read-only", "--no-carried"]);
    assert_eq!(served.get(&format!("/api/v1/panel?question=own&run={}", vault.one)).status, 404);
    assert!(!served.get(&format!("/api/v1/run?run={}", vault.one)).text().contains("Innocent"));
}
