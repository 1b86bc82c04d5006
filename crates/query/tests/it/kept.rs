//! Findings of sealed runs are evaluated once; what is kept is believed only while it fits.

use std::path::PathBuf;

use fenxi_model::{RunId, catalog::cpu};
use fenxi_query::{Expected, Finding, Found, Occurrence, SHIPPED_FINDINGS, Scope, findings};
use serde_json::Value;

use crate::store::{START, TestStore, at};

/// A run of 30 s in which the hypervisor takes `steal` percent.
fn run(s: &mut TestStore, name: &str, steal: f64) -> RunId {
    s.run(name, 30.0, |rows| {
        for second in 1..=30 {
            let mut row = rows.row(&cpu::TABLE, at(f64::from(second)), 1.0);
            // Only in the first third.
            row.f64(cpu::steal, if second <= 10 { steal * 3.0 } else { 0.0 }).f64(cpu::idle, 50.0);
        }
    })
}

/// The sentence of the finding `steal`.
fn messages(all: Vec<Found>) -> Vec<String> {
    let of_steal = all.into_iter().filter(|found| found.finding.name == "steal");
    of_steal.flat_map(|found| found.outcome.unwrap()).map(|occurrence| occurrence.message).collect()
}

fn kept(s: &TestStore) -> Vec<PathBuf> {
    let folder = s.store.path().join("cache/windows");
    let entries = fs_err::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let mut files: Vec<PathBuf> = entries.filter(|path| path.extension().is_some_and(|e| e == "json")).collect();
    files.sort();
    files
}

#[test]
fn what_a_finding_found_is_kept_and_believed() {
    let mut s = TestStore::new();
    let scope = Scope::of([run(&mut s, "r", 10.0)]);
    let first = s.engine().find_all(&scope).unwrap();
    let again = s.engine().find_all(&scope).unwrap();
    let outcomes = |all: &[Found]| -> Vec<Vec<Occurrence>> {
        all.iter().map(|found| found.outcome.as_ref().unwrap().clone()).collect()
    };
    assert_eq!(outcomes(&first), outcomes(&again), "evidence and order, too");
    assert!(messages(first)[0].starts_with("Steal was 10"));
    // That it is read and not evaluated shows where it has another text, with a checksum that fits.
    let [file] = kept(&s).try_into().unwrap();
    let other = fs_err::read_to_string(&file).unwrap().replace("Steal was 10", "Steal was 11");
    s.store.keep_derived(&file, other.as_bytes()).unwrap();
    assert!(messages(s.engine().find_all(&scope).unwrap())[0].starts_with("Steal was 11"));
    // Without one it is not believed.
    let text = fs_err::read_to_string(&file).unwrap().replace("Steal was 11", "Steal was 12");
    fs_err::write(&file, text).unwrap();
    assert!(messages(s.engine().find_all(&scope).unwrap())[0].starts_with("Steal was 10"));
}

#[test]
fn what_another_version_of_a_finding_found_is_not_believed() {
    let mut s = TestStore::new();
    let scope = Scope::of([run(&mut s, "r", 10.0)]);
    s.engine().find_all(&scope).unwrap();
    let [file] = kept(&s).try_into().unwrap();
    let mut json: serde_json::Value = serde_json::from_slice(&fs_err::read(&file).unwrap()).unwrap();
    json["findings"]["steal"]["version"] = "another".into();
    json["findings"]["steal"]["rows"] = serde_json::json!([]);
    s.store.keep_derived(&file, json.to_string().as_bytes()).unwrap();
    assert!(messages(s.engine().find_all(&scope).unwrap())[0].starts_with("Steal was 10"));
}

#[test]
fn parts_of_a_run_are_kept_apart_and_forgotten_with_it() {
    let mut s = TestStore::new();
    let (id, other) = (run(&mut s, "r", 10.0), run(&mut s, "other", 20.0));
    let whole = Scope::of([id.clone()]);
    let part = whole.clone().between(Some(15.0), None);
    for _ in 0..2 {
        assert_eq!(messages(s.engine().find_comparison(&part).unwrap()), Vec::<String>::new());
        assert!(messages(s.engine().find_comparison(&whole).unwrap())[0].starts_with("Steal was 10"));
        // By run in the order of the scope, though the other's is worse.
        let both = messages(s.engine().find_comparison(&Scope::of([id.clone(), other.clone()])).unwrap());
        assert!(both[0].starts_with("Steal was 10") && both[1].starts_with("Steal was 20"), "{both:?}");
    }
    assert_eq!(kept(&s).len(), 3);
    s.store.remove(&id).unwrap();
    assert_eq!(kept(&s).len(), 1);
}

#[test]
fn what_a_statement_of_ours_says_of_one_run_is_asked_once() {
    const SQL: &str = "SELECT max(steal) AS steal FROM cpu";
    let mut s = TestStore::new();
    let (id, other) = (run(&mut s, "r", 10.0), run(&mut s, "other", 20.0));
    let asked = std::cell::Cell::new(0);
    let most = |sql: &str, scope: &Scope| {
        let say = |answer: &fenxi_query::Answer| {
            asked.set(asked.get() + 1);
            format!("{:?}", answer.f64s("steal"))
        };
        s.engine().say_once("most", sql, scope, say).unwrap()
    };
    let whole = Scope::of([id.clone()]);
    for (scope, answer, asked_for) in [
        (whole.clone(), "[Some(30.0)]", 1),
        (whole.clone(), "[Some(30.0)]", 1),
        (whole.clone().between(Some(15.0), None), "[Some(0.0)]", 2),
        (Scope::of([id, other]), "[Some(60.0)]", 3),
    ] {
        assert_eq!((most(SQL, &scope).as_str(), asked.get()), (answer, asked_for));
    }
    // Another statement is another answer, and several runs are asked each time.
    assert_eq!(most("SELECT 2 * max(steal) AS steal FROM cpu", &whole), "[Some(60.0)]");
    assert_eq!(asked.get(), 4);
}

#[test]
fn a_finding_of_the_store_is_evaluated_each_time() {
    let mut s = TestStore::new();
    let scope = Scope::of([run(&mut s, "r", 10.0)]);
    let folder = s.store.path().join("findings");
    fs_err::create_dir_all(&folder).unwrap();
    for n in [1, 2] {
        let header =
            "-- title: Mine\n-- severity: info\n-- section: cpu\n-- message: It is {n}.\n-- comparison: refuse\n";
        fs_err::write(folder.join("steal.sql"), format!("{header}SELECT run, host, {n} AS n FROM runs")).unwrap();
        assert_eq!(messages(s.engine().find_comparison(&scope).unwrap()), [format!("It is {n}.")]);
    }
}

/// Occurrences, numbers to twelve digits: threads add them up in another order each time.
fn rounded(mut found: Vec<Occurrence>) -> Vec<Occurrence> {
    for (_, value) in found.iter_mut().flat_map(|o| &mut o.evidence) {
        if let Value::Number(number) = value {
            let text = format!("{:.11e}", number.as_f64().unwrap());
            *value = Value::from(text.parse::<f64>().unwrap());
        }
    }
    found
}

/// The sentences of each finding for each run of the header, with only that run in scope and with all of them.
#[test]
fn a_shipped_finding_looks_at_each_run_by_itself() {
    let mut s = TestStore::new();
    let all: Vec<Finding> = findings(&s.store).unwrap();
    assert_eq!(all.len(), SHIPPED_FINDINGS.len());
    let mut ids = Vec::new();
    for case in all.iter().flat_map(|finding| &finding.cases).filter(|case| case.expected != Expected::Nothing) {
        let end = fenxi_store::End { exit_status: case.exit_status, ..fenxi_store::End::at(at(40.0)) };
        ids.push(s.run_with("case", |rows| _ = case.fill(rows, START), end));
    }
    let engine = s.engine();
    let sorted = |mut rows: Vec<Occurrence>| {
        rows.sort_by(|a, b| (&a.run, &a.message).cmp(&(&b.run, &b.message)));
        rows
    };
    for (place, finding) in all.iter().enumerate() {
        let together = sorted(engine.find(finding, &Scope::of(ids.clone())).unwrap());
        let found_in = |id: &RunId| together.iter().filter(|o| o.run == id.as_str()).cloned().collect::<Vec<_>>();
        // Some of the runs in which it finds nothing; other ones for each finding.
        for id in ids.iter().skip(place % 40).step_by(40).chain(ids.iter().filter(|id| !found_in(id).is_empty())) {
            let alone = sorted(engine.find(finding, &Scope::of([id.clone()])).unwrap());
            assert_eq!(rounded(alone), rounded(found_in(id)), "{}", finding.name);
        }
    }
}
