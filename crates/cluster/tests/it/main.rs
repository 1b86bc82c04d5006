//! Questions and findings in the words of a cluster: all of them can be written, and where a cluster is given
//! (`FENXI_TEST_CLUSTER`, as `make test-cluster` does) all of them are answered as this machine answers them.

#![allow(clippy::print_stderr, reason = "a test prints what it compared, and what it could not")]

mod failures;
mod many;
#[path = "../../src/connect/tests/proxy.rs"]
mod proxy;
mod server;

use std::{collections::BTreeMap, sync::Arc};

use fenxi_cluster::ClusterOptions;
use fenxi_model::{Rows, RunId};
use fenxi_query::{
    Answer, Binned, ChangeRow, Engine, Finding, MEANS, Options, QueryError, Question, SHIPPED, SHIPPED_FINDINGS, Scope,
    Severity, Value,
};

use fenxi_test_support::store::{self, TestStore, at, fill_everything};

/// Subset for CI, where there is little time: those once answered otherwise, and one or two of each kind of statement.
const SMALL: &[&str] = &[
    "block-latency",
    "cpu-balance",
    "cpu-heatmap",
    "cpu-summary",
    "cpu-waits",
    "db-blocking-tree",
    "db-hot-tables",
    "db-statements",
    "db-unused-indexes",
    "disk-steadiness",
    "facts",
    "headline",
    "hosts-map",
    "load-latency",
    "marks",
    "process-waits",
    "resource-summary",
    "stacks",
    "what-changed",
    "command-failed",
    "cpu-queue",
    "cpu-waves",
    "db-blocking-chain",
    "db-unused-index",
    "db-wait-dominates",
    "disk-neighbour",
    "host-differs",
    "load-stalls",
    "swapping",
    "throughput-drift",
    "writes-throttled",
];

/// An address at which no server listens: what reaches the network was written before.
const NOBODY: &str = "sc://127.0.0.1:9";

fn cluster(store: &TestStore, target: &str) -> Engine {
    let options = ClusterOptions { target: target.parse().unwrap(), store: None };
    Engine::open(&store.store, &Options { backend: Some(Arc::new(options)), ..Options::default() }).unwrap()
}

#[test]
fn every_question_and_finding_can_be_written_for_a_cluster() {
    let store = TestStore::new();
    let engine = cluster(&store, NOBODY);
    let reached = |what: &str, outcome: Result<(), QueryError>| match outcome {
        Err(e) if e.to_string().contains("cannot be reached") => {}
        other => panic!("{what}: {other:?}"),
    };
    for (name, text) in SHIPPED {
        let question = Question::parse(name, text).unwrap();
        reached(name, engine.answer(&question, &[], &Scope::of([])).map(drop));
        if question.x.as_deref() == Some("t") {
            reached(name, engine.answer_binned(&question, &[], &Scope::of([]), 10).map(drop));
        }
    }
    for (name, text) in SHIPPED_FINDINGS {
        let finding = Finding::parse(name, text).unwrap();
        if finding.periods {
            // Changes are computed here; the statement that reads them is the engine's own.
            let rows = [("rows", Value::Text(String::new()))];
            reached(name, engine.query_with(&finding.over_changes(), &rows, &Scope::of([])).map(drop));
            continue;
        }
        reached(
            name,
            engine.find(&finding, &Scope::of([])).map(drop).map_err(|e| match e {
                QueryError::Finding { source, .. } => *source,
                other => other,
            }),
        );
    }
}

#[test]
fn what_has_no_equal_in_a_cluster_is_refused_by_name() {
    let store = TestStore::new();
    let engine = cluster(&store, NOBODY);
    for (sql, what) in [
        ("SELECT * FROM cpu ASOF JOIN disk USING (t)", "asof"),
        ("SELECT DISTINCT ON (run) run, t FROM cpu", "DISTINCT ON"),
        ("SELECT * FROM range(3)", "function behind FROM"),
        ("SELECT json_extract('{}', 'a')", "`json_extract`"),
        ("SELECT COLUMNS('a.*') FROM cpu", "COLUMNS"),
        ("SELECT any_value(x ORDER BY t) FROM (SELECT 1 AS x, 2 AS t)", "ORDER BY within"),
        ("PIVOT cpu ON host USING avg(usr)", "pivot"),
    ] {
        let error = engine.query(sql, &Scope::of([])).unwrap_err().to_string();
        assert!(error.to_lowercase().contains(&what.to_lowercase()), "{sql}: {error}");
    }
    assert!(matches!(engine.query("DROP VIEW cpu", &Scope::all()), Err(QueryError::NotReadOnly { .. })));
}

/// A store with a run for each case of each finding, by the finding's name, one of everything, and one of nothing.
fn cases(wanted: impl Fn(&str) -> bool) -> (TestStore, BTreeMap<&'static str, Vec<RunId>>) {
    let mut store = TestStore::new();
    let mut runs: BTreeMap<&str, Vec<RunId>> = BTreeMap::new();
    for (name, text) in SHIPPED_FINDINGS.iter().filter(|(name, _)| wanted(name)) {
        for (i, case) in Finding::parse(name, text).unwrap().cases.iter().enumerate() {
            let length = case.fill(&mut Rows::new("h1"), at(0.0));
            let end = fenxi_store::End {
                exit_status: case.exit_status,
                ticks: case.samples.unwrap_or(length as u64),
                missed_ticks: case.missed,
                costs: case.costs.clone(),
                ..fenxi_store::End::at(at(length))
            };
            let run = store.run_with(&format!("{name}-{i}"), |rows| _ = case.fill(rows, at(0.0)), end);
            runs.entry(name).or_default().push(run);
        }
    }
    let others = vec![store.run("everything", 2.0, fill_everything), store.run("nothing", 2.0, |_| {})];
    for runs in runs.values_mut() {
        runs.extend(others.iter().cloned());
    }
    runs.insert("", others);
    (store, runs)
}

/// Runs for a question: those of findings about the same things.
fn for_question(question: &Question, runs: &BTreeMap<&'static str, Vec<RunId>>) -> Scope {
    let of_section = |name: &&&str| {
        let text = SHIPPED_FINDINGS.iter().find(|(known, _)| *known == **name);
        text.is_some_and(|(name, text)| Finding::parse(name, text).unwrap().section == question.section)
    };
    let some = runs.keys().filter(of_section).take(6).flat_map(|name| runs[name].iter().take(2).cloned());
    Scope::of(some.chain(runs[""].iter().cloned()))
}

/// Rows as texts and numbers, in an order that does not depend on who answered.
fn rows(answer: &Answer) -> Vec<Vec<(String, Option<f64>)>> {
    let columns: Vec<Vec<(String, Option<f64>)>> = answer
        .columns
        .iter()
        .map(|column| {
            if column.ty.is_numeric() {
                let text = |v: &Option<f64>| v.map_or("-".to_owned(), |_| "#".to_owned());
                answer.f64s(&column.name).iter().map(|v| (text(v), *v)).collect()
            } else {
                answer.strings(&column.name).into_iter().map(|v| (v.unwrap_or("-".to_owned()), None)).collect()
            }
        })
        .collect();
    (0..answer.n_rows()).map(|row| columns.iter().map(|column| column[row].clone()).collect()).collect()
}

/// The part of a figure by which answers may differ: sums are made in another order.
const SHARE: f64 = 1e-9;

/// Where two answers differ by more than `share` of a figure.
fn difference(here: &Answer, there: &Answer, share: f64) -> Option<String> {
    let names = |a: &Answer| a.columns.iter().map(|c| c.name.clone()).collect::<Vec<_>>();
    if names(here) != names(there) {
        return Some(format!("columns {:?} are {:?}", names(here), names(there)));
    }
    if here.n_rows() != there.n_rows() {
        return Some(format!("{} rows are {}", here.n_rows(), there.n_rows()));
    }
    let key = |row: &Vec<(String, Option<f64>)>| {
        row.iter().map(|(text, value)| value.map_or(text.clone(), |v| format!("{v:.6e}"))).collect::<Vec<_>>()
    };
    let [mut a, mut b] = [rows(here), rows(there)];
    let close = |a: &(String, Option<f64>), b: &(String, Option<f64>)| match (a.1, b.1) {
        (Some(a), Some(b)) => a == b || (a - b).abs() <= share * a.abs().max(b.abs()) || (a - b).abs() < 1e-9,
        _ => a.0 == b.0,
    };
    let differ = |a: &[Vec<(String, Option<f64>)>], b: &[Vec<(String, Option<f64>)>]| {
        a.iter()
            .zip(b)
            .find(|(a, b)| !a.iter().zip(b.iter()).all(|(a, b)| close(a, b)))
            .map(|(a, b)| format!("{a:?}\n   is {b:?}"))
    };
    differ(&a, &b)?;
    // Rows that an order leaves equal come in any order.
    a.sort_by_key(key);
    b.sort_by_key(key);
    differ(&a, &b)
}

/// Where charts over time differ.
fn chart_difference(here: &Binned, there: &Binned) -> Option<String> {
    let names = |chart: &Binned| {
        chart.series.iter().map(|s| (s.run.clone(), s.host.clone(), s.name.clone())).collect::<Vec<_>>()
    };
    if names(here) != names(there) {
        return Some(format!("lines {:?} are {:?}", names(here), names(there)));
    }
    let values = |chart: &Binned| {
        let lines = chart.series.iter().flat_map(|s| [&s.min, &s.avg, &s.max]).flatten().copied();
        chart.t_rel_s.iter().copied().map(Some).chain(lines).collect::<Vec<_>>()
    };
    let (here, there) = (values(here), values(there));
    let close = |(a, b): (&Option<f64>, &Option<f64>)| match (a, b) {
        (Some(a), Some(b)) => (a - b).abs() <= SHARE * a.abs().max(b.abs()) || (a - b).abs() < 1e-9,
        (a, b) => a == b,
    };
    if here.len() != there.len() {
        return Some(format!("{} values are {}", here.len(), there.len()));
    }
    here.iter().zip(&there).find(|pair| !close(*pair)).map(|(a, b)| format!("{a:?} is {b:?}"))
}

/// Occurrences of a finding over two periods in made-up changes: in one run all meanings rise, in one all fall, and for each meaning there is
/// a run in which it alone rises and one in which it alone falls.
fn of_changes(engine: &Engine, finding: &Finding) -> Result<Vec<(String, Severity, String)>, QueryError> {
    let falls: Vec<String> = MEANS.iter().map(|means| format!("{means} falls")).collect();
    let rows: Vec<ChangeRow<'_>> = MEANS
        .iter()
        .zip(&falls)
        .flat_map(|(means, falls)| {
            [("all rise", means, 1.0), ("all fall", means, -1.0), (means, means, 1.0), (falls, means, -1.0)]
        })
        .map(|(run, means, change)| ChangeRow {
            run,
            host: "h1",
            name: ["db", "transactions_per_s", ""],
            means,
            inside: 10.0 * f64::exp2(change),
            rest: 10.0,
            change,
            cost: Some(change),
            weight: 2.0,
            is_first: true,
            summary: (*means).to_owned(),
        })
        .collect();
    let found = engine.find_change(finding, &rows, &Scope::of([]))?;
    let mut found: Vec<_> = found.into_iter().map(|o| (o.run, o.severity, o.message)).collect();
    found.sort();
    Ok(found)
}

/// Bins of a chart that is compared.
const BINS: usize = 7;

#[test]
fn a_cluster_answers_as_this_machine_does() {
    let Ok(target) = std::env::var("FENXI_TEST_CLUSTER") else {
        eprintln!("SKIPPED a cluster: none is named by FENXI_TEST_CLUSTER; `make test-cluster` starts one");
        return;
    };
    let only = std::env::var("FENXI_TEST_ONLY").ok().filter(|only| !only.is_empty());
    let is_small = std::env::var("FENXI_TEST_SMALL").is_ok_and(|small| !small.is_empty());
    let wanted = |name: &str| match &only {
        Some(only) => name.contains(only.as_str()),
        None => !is_small || SMALL.contains(&name),
    };
    let (store, runs) = cases(wanted);
    let (here, there) = (store.engine(), cluster(&store, &target));
    let (mut wrong, mut wrong_charts, mut n) = (Vec::new(), Vec::new(), 0);
    let mut compare = |what: &str, a: Result<Answer, QueryError>, b: Result<Answer, QueryError>| {
        n += 1;
        let found = match (a, b) {
            (Ok(a), Ok(b)) => difference(&a, &b, SHARE),
            (a, b) => Some(format!("{:?} {:?}", a.err().map(|e| e.to_string()), b.err().map(|e| e.to_string()))),
        };
        if let Some(found) = found {
            eprintln!("{what}: {found}");
            wrong.push(what.to_owned());
        }
    };
    for (name, text) in SHIPPED.iter().filter(|(name, _)| wanted(name)) {
        let question = Question::parse(name, text).unwrap();
        let scope = for_question(&question, &runs);
        compare(name, here.answer(&question, &[], &scope), there.answer(&question, &[], &scope));
    }
    let mut charts = 0;
    for (name, text) in SHIPPED.iter().filter(|(name, _)| wanted(name)) {
        let question = Question::parse(name, text).unwrap();
        if question.x.as_deref() != Some("t") {
            continue;
        }
        // A run of everything, one without a row, and more runs than have their own bins.
        for scope in
            [Scope::of([runs[""][0].clone()]), Scope::of([runs[""][1].clone()]), for_question(&question, &runs)]
        {
            let [a, b] = [&here, &there].map(|engine| engine.answer_binned(&question, &[], &scope, BINS));
            charts += 1;
            let found = match (a, b) {
                (Ok(a), Ok(b)) => chart_difference(&a, &b),
                (a, b) => Some(format!("{:?} {:?}", a.err().map(|e| e.to_string()), b.err().map(|e| e.to_string()))),
            };
            if let Some(found) = found {
                eprintln!("{name} over time: {found}");
                wrong_charts.push(name.to_owned());
            }
        }
    }
    for (name, text) in SHIPPED_FINDINGS.iter().filter(|(name, _)| wanted(name)) {
        let finding = Finding::parse(name, text).unwrap();
        if finding.periods {
            continue;
        }
        let scope = Scope::of(runs[name].iter().cloned());
        compare(name, here.query(&finding.sql, &scope), there.query(&finding.sql, &scope));
    }
    eprintln!("{} of {n} questions and findings are answered as here", n - wrong.len());
    eprintln!("{} of {charts} charts over time are", charts - wrong_charts.len());
    assert!(n > 0 && wrong.is_empty(), "{} of {n}: {wrong:?}", wrong.len());
    // A part of a name may leave none that is over time.
    assert!(charts > 0 || only.is_some(), "no chart over time was compared");
    assert!(wrong_charts.is_empty(), "{} of {charts}: {wrong_charts:?}", wrong_charts.len());
}

#[test]
fn findings_over_two_periods_are_answered_as_this_machine_does() {
    let Ok(target) = std::env::var("FENXI_TEST_CLUSTER") else {
        eprintln!("SKIPPED a cluster: none is named by FENXI_TEST_CLUSTER; `make test-cluster` starts one");
        return;
    };
    let store = TestStore::new();
    let (here, there) = (store.engine(), cluster(&store, &target));
    let findings = SHIPPED_FINDINGS.iter().map(|(name, text)| Finding::parse(name, text).unwrap());
    let (mut wrong, mut found) = (Vec::new(), 0);
    for finding in findings.filter(|finding| finding.periods) {
        let [a, b] = [&here, &there].map(|engine| of_changes(engine, &finding).map_err(|e| e.to_string()));
        found += a.as_ref().map_or(0, Vec::len);
        if a != b || a.is_err() {
            eprintln!("{}: {a:?} is {b:?}", finding.name);
            wrong.push(finding.name);
        }
    }
    assert!(wrong.is_empty(), "{wrong:?}");
    assert!(found > 20, "{found} occurrences are hardly any to compare");
}

#[test]
fn a_persons_statement_in_a_cluster_reads_tables_and_calls_nothing() {
    let Ok(target) = std::env::var("FENXI_TEST_CLUSTER") else {
        eprintln!("SKIPPED a cluster: none is named by FENXI_TEST_CLUSTER; `make test-cluster` starts one");
        return;
    };
    let mut store = TestStore::new();
    let run = store.run("everything", 2.0, fill_everything);
    let engine = cluster(&store, &target);
    let ask = |sql: &str| {
        let mut n = 0;
        let take = &mut |_: &[_], batch: arrow_array::RecordBatch| {
            n += batch.num_rows();
            Ok(())
        };
        engine.each_own(sql, &Scope::all(), take).map(|_| n)
    };
    for sql in [
        "SELECT reflect('java.lang.System', 'getProperty', 'user.name')",
        "SELECT `reflect`('java.lang.System', 'getProperty', 'user.name')",
        "SELECT IDENTIFIER('re' || 'flect')('java.lang.System', 'getProperty', 'user.name')",
        "SELECT system.builtin.`java_method`('java.lang.System', 'getProperty', 'user.name')",
        r"SELECT '\'', reflect('java.lang.System', 'getProperty', 'user.name'), '\''",
        "SELECT * FROM (SELECT 1 AS a) WHERE a IN (SELECT length(`reflect`('java.lang.System', 'lineSeparator')))",
        "SELECT `reflect`('java.lang.System', 'setProperty', 'fenxi.called', 'yes') FROM VALUES (1)",
        "SELECT `try_reflect`('java.lang.System', 'getProperty', 'user.name')",
        "SELECT TRANSFORM (usr) USING 'sh' AS b FROM cpu",
        "SELECT * FROM text.`/etc/hostname`",
        "SELECT * FROM `org.apache.spark.sql.execution.datasources.text.TextFileFormat`.`/etc/hostname`",
        r"SELECT '\'', * FROM text.`/etc/hostname`, (SELECT '\'')",
        "DROP TABLE cpu",
        "SET spark.sql.ansi.enabled=false",
        "SELECT 1); DROP TABLE cpu; SELECT (1",
        "SELECT 1) x; SELECT * FROM (SELECT 1",
    ] {
        assert!(ask(sql).is_err(), "{sql}");
    }
    let columns: String = (0..200).map(|i| format!("{i} AS a{i}, ")).collect();
    assert!(ask(&format!("SELECT {columns} `reflect`('java.lang.System', 'lineSeparator') AS b")).is_err());
    assert_eq!(ask("SELECT run, `usr` / `idle` FROM cpu LIMIT 1").unwrap(), 1);
    assert_eq!(ask(&format!("SELECT DISTINCT run FROM cpu WHERE run = '{run}'")).unwrap(), 1);
    assert!(ask("EXPLAIN SELECT run FROM cpu").unwrap() > 0);
}

#[test]
fn a_store_that_a_cluster_does_not_find_is_an_error_and_never_a_part() {
    let Ok(target) = std::env::var("FENXI_TEST_CLUSTER") else {
        eprintln!("SKIPPED a cluster: none is named by FENXI_TEST_CLUSTER; `make test-cluster` starts one");
        return;
    };
    let mut store = TestStore::new();
    let runs = [store.run("a", 2.0, fill_everything), store.run("b", 2.0, fill_everything)];
    let sql = "SELECT count(*) FROM cpu";
    let options = ClusterOptions { target: target.parse().unwrap(), store: Some("/nowhere/at/all".to_owned()) };
    let lost = Engine::open(&store.store, &Options { backend: Some(Arc::new(options)), ..Options::default() }).unwrap();
    let error = lost.query("SELECT count(t) FROM cpu", &Scope::all()).unwrap_err().to_string();
    assert!(error.contains("/nowhere/at/all") && error.contains("--engine-store"), "{error}");
    // A part that another copy of the store has is no answer.
    let copy = store.folder.path().join("copy");
    let one = format!("runs/run={}", runs[0]);
    fs_err::create_dir_all(copy.join(&one)).unwrap();
    fs_err::copy(store.store.path().join(&one).join("cpu.parquet"), copy.join(&one).join("cpu.parquet")).unwrap();
    let options = ClusterOptions { target: target.parse().unwrap(), store: Some(copy.display().to_string()) };
    let half = Engine::open(&store.store, &Options { backend: Some(Arc::new(options)), ..Options::default() }).unwrap();
    assert!(half.query(sql, &Scope::of([runs[0].clone()])).is_ok());
    assert!(half.query(sql, &Scope::all()).is_err());
}
