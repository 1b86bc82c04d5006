//! Responses of a study that are questions, answered by the SQL engine.

use std::{
    sync::mpsc::{RecvTimeoutError, channel},
    time::Duration,
};

use fenxi_model::RunId;
use fenxi_query::{Answer, Engine, Options, QueryError, Scope, question};
use fenxi_store::Store;
use fenxi_study::{Answered, Asking, Asks, RunQuestion};

/// Seconds that a question over no runs at all may take.
const CHECK_S: f64 = 60.0;
/// Between two attempts to interrupt.
const AGAIN: Duration = Duration::from_millis(10);

/// Answerer of a study's questions while its runs are made: each question has a separate engine that exists only
/// meanwhile, and nothing of it runs beside a measurement.
pub fn study_asks(store: &Store) -> Box<dyn Asks> {
    Box::new(Apart(store.clone()))
}

/// Answers in an engine that is at hand, and whose bounds hold: for who reports on a study.
pub(crate) struct AtHand<'e>(pub &'e Engine);

impl Asks for AtHand<'_> {
    fn check(&self, asked: &RunQuestion) -> Result<(), String> {
        if let Asking::Named { name, params } = &asked.question {
            question(self.0.store(), name).and_then(|q| q.bind(params).map(|_| ())).map_err(|e| e.to_string())?;
        }
        // Over no runs the columns are known, and a wrong statement is reported.
        let answer = self.answer(asked, &Scope::of([]))?;
        column(&answer, asked).map(|_| ())
    }

    fn ask(&self, run: &RunId, asked: &RunQuestion, _: f64) -> Result<Answered, String> {
        number(&self.answer(asked, &Scope::of([run.clone()]))?, asked)
    }
}

impl AtHand<'_> {
    fn answer(&self, asked: &RunQuestion, scope: &Scope) -> Result<Answer, String> {
        let answer = match &asked.question {
            Asking::Named { name, params } => self.0.ask(name, params, scope),
            Asking::Sql(sql) => self.0.query(sql, scope),
        };
        answer.map_err(|error| match error {
            QueryError::Interrupted => "the answer took too long".to_owned(),
            error => error.to_string(),
        })
    }
}

/// Answers about runs of a store in an engine that is opened for each answer.
struct Apart(Store);

impl Apart {
    /// Does `work` in an engine that is interrupted after `limit_s`.
    fn within<T>(&self, limit_s: f64, work: impl FnOnce(&AtHand<'_>) -> Result<T, String>) -> Result<T, String> {
        let engine = Engine::open(&self.0, &Options::default()).map_err(|e| e.to_string())?;
        let interrupt = engine.interrupt();
        let (done, end) = channel::<()>();
        let watch = std::thread::spawn(move || {
            let mut limit = Duration::from_secs_f64(limit_s);
            let mut over = false;
            // Again and again: between two statements there is nothing to interrupt.
            while end.recv_timeout(limit) == Err(RecvTimeoutError::Timeout) {
                (over, limit) = (true, AGAIN);
                interrupt.interrupt();
            }
            over
        });
        let outcome = work(&AtHand(&engine));
        drop(done);
        // It cannot panic, and ends as soon as the sender is gone.
        let over = watch.join().unwrap_or(false);
        outcome.map_err(|why| if over { format!("the answer took longer than {limit_s} s") } else { why })
    }
}

impl Asks for Apart {
    fn check(&self, asked: &RunQuestion) -> Result<(), String> {
        self.within(CHECK_S, |engine| engine.check(asked))
    }

    fn ask(&self, run: &RunId, asked: &RunQuestion, limit_s: f64) -> Result<Answered, String> {
        self.within(limit_s, |engine| engine.ask(run, asked, limit_s))
    }
}

/// The one number of an answer.
fn number(answer: &Answer, asked: &RunQuestion) -> Result<Answered, String> {
    let column = &answer.columns[column(answer, asked)?];
    let rows = answer.n_rows();
    if rows != 1 {
        let (n, way_out) = match rows {
            0 => ("no row".to_owned(), "was what it asks for recorded?"),
            n => (format!("{n} rows"), "aggregate them, or take one with LIMIT 1"),
        };
        return Err(format!("the answer has {n} where one is expected; {way_out}"));
    }
    match answer.f64s(&column.name).first().copied().flatten() {
        Some(value) if value.is_finite() => Ok(Answered { value, unit: column.unit.symbol().to_owned() }),
        Some(value) => Err(format!("`{}` of the answer is {value} where a number is expected", column.name)),
        None => Err(format!(
            "`{}` of the answer is NULL where a number is expected; it was not recorded, or nothing of it happened",
            column.name
        )),
    }
}

/// The place of the column that is asked for.
fn column(answer: &Answer, asked: &RunQuestion) -> Result<usize, String> {
    let is_number = |place: &usize| answer.columns[*place].ty.is_numeric();
    let names = |places: &[usize]| {
        let names: Vec<&str> = places.iter().map(|place| answer.columns[*place].name.as_str()).collect();
        names.join("`, `")
    };
    let numbers: Vec<usize> = (0..answer.columns.len()).filter(is_number).collect();
    let Some(name) = &asked.column else {
        return match numbers.as_slice() {
            [one] => Ok(*one),
            [] => Err("the answer has no column of numbers".to_owned()),
            several => {
                Err(format!("the answer has several columns of numbers; name one with `column`: `{}`", names(several)))
            }
        };
    };
    match answer.index_of(name) {
        Some(place) if is_number(&place) => Ok(place),
        Some(place) => {
            Err(format!("`{name}` of the answer is {} where a number is expected", answer.columns[place].ty))
        }
        None => {
            let all: Vec<usize> = (0..answer.columns.len()).collect();
            Err(format!("the answer has no column `{name}`; there are `{}`", names(&all)))
        }
    }
}
