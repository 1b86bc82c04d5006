//! Every shipped question and finding over all runs of a store that somebody names, real ones and made-up ones alike.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use fenxi_query::{Answer, Engine, Finding, Options, QueryError, Question, SHIPPED, SHIPPED_FINDINGS, Scope};
use fenxi_store::Store;

use super::{BINS, ClusterOptions, SHARE, chart_difference, difference};

/// Questions asked of both engines: how they came out, and how long each took.
#[derive(Debug, Default)]
struct Asked {
    n: usize,
    wrong: Vec<String>,
    here: Duration,
    there: Duration,
}

impl Asked {
    /// Asks both, the cluster second; `differ` finds where two answers differ.
    fn ask<A>(
        &mut self,
        name: &str,
        ask: [&dyn Fn() -> Result<A, QueryError>; 2],
        differ: impl Fn(&A, &A) -> Option<String>,
    ) {
        self.n += 1;
        let [here, there] = ask.map(|ask| {
            let began = Instant::now();
            (ask(), began.elapsed())
        });
        self.here += here.1;
        self.there += there.1;
        let found = match (here.0, there.0) {
            (Ok(here), Ok(there)) => differ(&here, &there),
            (here, there) => Some(format!("here {:?}, there {:?}", told(here), told(there))),
        };
        if let Some(found) = found {
            eprintln!("{name}: {found}");
            self.wrong.push(name.to_owned());
        }
    }
}

fn told<A>(answer: Result<A, QueryError>) -> String {
    answer.map_or_else(|error| error.to_string(), |_| "an answer".to_owned())
}

#[test]
fn every_question_and_finding_over_a_whole_store_is_answered_as_here() {
    let told = |name| std::env::var(name).ok().filter(|value: &String| !value.is_empty());
    let (Some(target), Some(path)) = (told("FENXI_TEST_CLUSTER"), told("FENXI_TEST_STORE")) else {
        eprintln!(
            "SKIPPED a cluster: none with a whole store is named by FENXI_TEST_CLUSTER and FENXI_TEST_STORE; FENXI_CLUSTER_RUNS=200 scripts/test-cluster makes both"
        );
        return;
    };
    let store = Store::open(path).unwrap();
    let runs = store.runs().unwrap().len();
    let cluster = ClusterOptions { target: target.parse().unwrap(), store: None };
    let here = Engine::open(&store, &Options { threads: Some(2), ..Options::default() }).unwrap();
    let there = Engine::open(&store, &Options { backend: Some(Arc::new(cluster)), ..Options::default() }).unwrap();
    let all = Scope::all();
    let mut asked = Asked::default();
    let same = |a: &Answer, b: &Answer| difference(a, b, SHARE);
    for (name, text) in SHIPPED {
        let question = Question::parse(name, text).unwrap();
        asked.ask(name, [&|| here.answer(&question, &[], &all), &|| there.answer(&question, &[], &all)], same);
        if question.x.as_deref() == Some("t") {
            let bins = |engine: &Engine| engine.answer_binned(&question, &[], &all, BINS);
            asked.ask(&format!("{name} over time"), [&|| bins(&here), &|| bins(&there)], chart_difference);
        }
    }
    for (name, text) in SHIPPED_FINDINGS {
        let finding = Finding::parse(name, text).unwrap();
        asked.ask(name, [&|| here.query(&finding.sql, &all), &|| there.query(&finding.sql, &all)], same);
    }
    eprintln!(
        "{} of {} questions, charts and findings over {runs} runs are answered as here; {:.0} s here, {:.0} s there",
        asked.n - asked.wrong.len(),
        asked.n,
        asked.here.as_secs_f64(),
        asked.there.as_secs_f64()
    );
    assert!(runs > 0 && asked.n > 0 && asked.wrong.is_empty(), "{:?}", asked.wrong);
}
