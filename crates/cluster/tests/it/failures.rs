//! Executors that are killed, connections that are cut or fall silent, servers that are restarted, all with a real cluster:
//! an answer is right or an error, never half.

use std::{
    thread,
    time::{Duration, Instant},
};

use fenxi_model::{Rows, catalog::cpu};
use fenxi_query::{Answer, Engine, QueryError, Question, SHIPPED, Scope};

use super::{
    SHARE, difference,
    proxy::{Fate, Proxy},
    server::Server,
};
use crate::store::{TestStore, at, fill_everything};

/// Questions, and how many of them lose an executor while they are answered.
const ASKED: usize = 40;
const KILLED: usize = 20;
const RUNS: usize = 6;
const CPUS: usize = 64;
/// An answer of many batches.
const LONG: &str = "SELECT run, t, cpu, usr, sys, idle FROM cpu WHERE cpu IS NOT NULL ORDER BY run, t, cpu";

/// The kind of cluster that is to be tried; None where none is named.
fn wanted() -> Option<String> {
    let kind = std::env::var("FENXI_TEST_FAILURES").ok().filter(|kind| !kind.is_empty());
    if kind.is_none() {
        eprintln!("SKIPPED a cluster: none is named by FENXI_TEST_FAILURES; `make test-cluster` names one");
    }
    kind
}

fn is_small() -> bool {
    std::env::var("FENXI_TEST_SMALL").is_ok_and(|small| !small.is_empty())
}

/// A store with rows enough for answers of some megabytes.
fn store() -> TestStore {
    let mut store = TestStore::new();
    let seconds = if is_small() { 60 } else { 600 };
    let fill = |rows: &mut Rows, run: usize| {
        for second in 0..seconds {
            for n in 0..CPUS {
                let usr = ((second * 31 + n * 17 + run * 7) % 1000) as f64 / 10.0;
                rows.row(&cpu::TABLE, at(second as f64), 1.0)
                    .str(cpu::cpu, n.to_string().as_str())
                    .f64(cpu::usr, usr)
                    .f64(cpu::sys, usr / 7.0)
                    .f64(cpu::idle, 100.0 - usr);
            }
        }
    };
    for run in 0..RUNS {
        store.run(&format!("run {run}"), seconds as f64, |rows| fill(rows, run));
    }
    store.run("everything", 2.0, fill_everything);
    store
}

/// Numbers that look as if by chance, the same each time.
struct Chance(u64);

impl Chance {
    fn below(&mut self, n: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % n.max(1)
    }
}

/// Outcomes of questions.
#[derive(Debug, Default)]
struct Told {
    right: usize,
    errors: Vec<String>,
    wrong: Vec<String>,
}

impl Told {
    fn add(&mut self, what: &str, here: &Answer, there: Result<Answer, QueryError>) {
        match there {
            Ok(there) => match difference(here, &there, SHARE) {
                None => self.right += 1,
                Some(how) => self.wrong.push(format!("{what}: {how}")),
            },
            Err(error @ (QueryError::Cluster(_) | QueryError::Sql { .. })) => {
                self.errors.push(format!("{what}: {error}"));
            }
            Err(error) => self.wrong.push(format!("{what}: {error:?}")),
        }
    }

    /// Prints the figures; a wrong answer, or an error without a reason, fails the test.
    fn tell(&self, what: &str) {
        eprintln!("{what}: {} right, {} errors, {} wrong", self.right, self.errors.len(), self.wrong.len());
        for error in &self.errors {
            eprintln!("   {}", error.lines().next().unwrap_or_default());
        }
        assert!(self.wrong.is_empty(), "{what}: {:#?}", self.wrong);
        assert!(self.errors.iter().all(|error| error.contains("cluster")), "{:#?}", self.errors);
    }
}

fn long(engine: &Engine) -> Result<Answer, QueryError> {
    engine.query(LONG, &Scope::all())
}

#[test]
fn a_killed_executor_costs_time_and_no_rows() {
    let Some(kind) = wanted().filter(|kind| kind == "spark") else {
        eprintln!("SKIPPED a cluster: executors are processes of Spark only");
        return;
    };
    let store = store();
    let server = Server::start(&kind);
    let (here, there) = (store.engine(), server.engine(&store, server.port));
    let mut chance = Chance(23);
    let mut told = Told::default();
    let mut killed = 0;
    let questions = SHIPPED.iter().map(|(name, text)| Question::parse(name, text).unwrap());
    let statement = |question: &Question, engine: &Engine| engine.answer(question, &[], &Scope::all());
    for question in questions.take(ASKED) {
        let right = statement(&question, &here).unwrap();
        // How long it takes undisturbed.
        let began = Instant::now();
        told.add(&question.name, &right, statement(&question, &there));
        let took = began.elapsed();
        if killed == KILLED {
            continue;
        }
        let wait = Duration::from_micros(chance.below(took.as_micros() as u64 * 8 / 10));
        let executors = server.executors();
        assert!(!executors.is_empty(), "there is no executor");
        let victim = executors[chance.below(executors.len() as u64) as usize];
        let killer = thread::spawn(move || {
            thread::sleep(wait);
            let is_killed = std::process::Command::new("kill").args(["-9", &victim.to_string()]).status();
            (is_killed.unwrap().success(), Instant::now())
        });
        let there = statement(&question, &there);
        let ended = Instant::now();
        let (is_killed, at) = killer.join().unwrap();
        killed += usize::from(is_killed && at < ended);
        told.add(&format!("{} after {wait:?}", question.name), &right, there);
        // The master starts another one.
        let began = Instant::now();
        while server.executors().len() < 2 && began.elapsed() < Duration::from_secs(60) {
            thread::sleep(Duration::from_millis(100));
        }
    }
    told.tell(&format!("executors killed in the middle of {killed} of {ASKED} questions"));
    assert!(killed >= ASKED / 4 && told.right > ASKED, "{killed} {told:?}");
}

#[test]
fn a_connection_that_breaks_brings_the_whole_answer_or_an_error() {
    let Some(kind) = wanted() else { return };
    let store = store();
    let server = Server::start(&kind);
    let here = long(&store.engine()).unwrap();
    let proxy = Proxy::new(server.port);
    let engine = || server.engine(&store, proxy.port);
    assert_eq!(difference(&here, &long(&engine()).unwrap(), SHARE), None);
    let (down, up) = proxy.bytes();
    eprintln!("{kind}: {} rows in {down} bytes for {up}", here.n_rows());
    let mut chance = Chance(42);
    let (mut once, mut told) = (Told::default(), Told::default());
    let n = if is_small() { 4 } else { 20 };
    for i in 0..n {
        // The first ones anywhere, the others as the session begins or the statement goes up.
        let fate = match i % 4 {
            0 | 1 => Fate::Cut(chance.below(down)),
            2 => Fate::Cut(chance.below(4000)),
            _ => Fate::CutUp(chance.below(up)),
        };
        proxy.fates(&[fate], Fate::Whole);
        once.add(&format!("{fate:?}"), &here, long(&engine()));
    }
    once.tell(&format!("{kind}: a connection cut once at {n} places"));
    assert!(once.right > n / 3, "{once:?}");
    if is_small() {
        return;
    }
    // All of them at once, since each waits.
    thread::scope(|scope| {
        let fates = [
            ([Fate::Whole; 0].to_vec(), Fate::Cut(chance.below(down))),
            (Vec::new(), Fate::Cut(down / 3)),
            (Vec::new(), Fate::Cut(3000)),
            (vec![Fate::Silent(down / 2)], Fate::Whole),
            (vec![Fate::Silent(chance.below(down))], Fate::Whole),
            (vec![Fate::Silent(chance.below(3000))], Fate::Whole),
            (vec![Fate::Silent(down / 5)], Fate::Cut(down / 5)),
        ];
        let all: Vec<_> = fates
            .into_iter()
            .map(|(next, always)| {
                let (server, store, here) = (&server, &store, &here);
                scope.spawn(move || {
                    let proxy = Proxy::new(server.port);
                    proxy.fates(&next, always);
                    let mut one = Told::default();
                    let began = Instant::now();
                    let answer = long(&server.engine(store, proxy.port));
                    one.add(&format!("{next:?} {always:?}, {:.0} s", began.elapsed().as_secs_f64()), here, answer);
                    one
                })
            })
            .collect();
        for one in all {
            let one = one.join().unwrap();
            told.right += one.right;
            told.errors.extend(one.errors);
            told.wrong.extend(one.wrong);
        }
    });
    told.tell(&format!("{kind}: connections that break again and again, or fall silent"));
}

#[test]
fn a_server_that_is_restarted_answers_again() {
    let Some(kind) = wanted() else { return };
    if is_small() {
        return;
    }
    let store = store();
    let mut server = Server::start(&kind);
    let here = long(&store.engine()).unwrap();
    let engine = server.engine(&store, server.port);
    let mut told = Told::default();
    told.add("before", &here, long(&engine));
    // Between two statements: the client's session lives on.
    server.kill();
    server.start_again();
    told.add("while it starts", &here, long(&engine));
    server.wait();
    told.add("after", &here, long(&engine));
    // In the middle of statements, at once afterwards, and in the middle of an answer.
    for wait in [50, 200, 700] {
        let ended = thread::scope(|scope| {
            let killer = scope.spawn(|| {
                thread::sleep(Duration::from_millis(wait));
                server.kill();
                server.start_again();
            });
            told.add(&format!("killed after {wait} ms"), &here, long(&engine));
            killer.join()
        });
        ended.unwrap();
        server.wait();
        told.add("after", &here, long(&engine));
    }
    let mut rows = 0;
    let outcome = engine.each(LONG, &[], &Scope::all(), &mut |_, batch| {
        if rows == 0 {
            server.kill();
            server.start_again();
        }
        rows += batch.num_rows();
        Ok(())
    });
    match outcome {
        Ok(_) => assert_eq!(rows, here.n_rows()),
        Err(error) => told.errors.push(format!("after {rows} rows: {error}")),
    }
    server.wait();
    told.add("after", &here, long(&engine));
    told.tell(&format!("{kind}: restarted"));
    // Whatever came while it was away: afterwards the answer is whole.
    assert!(told.right >= 6, "{told:?}");
}
