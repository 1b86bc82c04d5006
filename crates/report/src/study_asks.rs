//! Questions of a study, answered by the SQL engine.

use std::{
    sync::mpsc::{RecvTimeoutError, channel},
    time::Duration,
};

use fenxi_model::RunId;
use fenxi_query::{Answer, Engine, Options, QueryError, Scope, question};
use fenxi_store::Store;
use fenxi_study::{Answered, Asked, Asking, Asks};

/// Seconds that a question over no runs at all may take.
const CHECK_S: f64 = 60.0;

/// Answers questions about runs of a store.
struct Questions(Store);

/// What answers a study's questions, each in an engine of its own that is there only meanwhile.
pub fn study_asks(store: &Store) -> Box<dyn Asks> {
    Box::new(Questions(store.clone()))
}

impl Questions {
    /// Answers over `scope`. The engine is there only meanwhile: nothing of it runs beside a measurement.
    fn answer(&self, asked: &Asked, scope: &Scope, limit_s: f64) -> Result<Answer, String> {
        let engine = Engine::open(&self.0, &Options::default()).map_err(|e| e.to_string())?;
        let interrupt = engine.interrupt();
        let (done, end) = channel::<()>();
        let watch = std::thread::spawn(move || {
            if end.recv_timeout(Duration::from_secs_f64(limit_s)) == Err(RecvTimeoutError::Timeout) {
                interrupt.interrupt();
            }
        });
        let answer = match &asked.question {
            Asking::Named { name, params } => engine.ask(name, params, scope),
            Asking::Sql(sql) => engine.query(sql, scope),
        };
        drop(done);
        // It cannot panic, and ends as soon as the sender is gone.
        let _ = watch.join();
        answer.map_err(|error| match error {
            QueryError::Interrupted => format!("the answer took longer than {limit_s} s"),
            error => error.to_string(),
        })
    }
}

impl Asks for Questions {
    fn check(&self, asked: &Asked) -> Result<(), String> {
        if let Asking::Named { name, params } = &asked.question {
            question(&self.0, name).and_then(|q| q.bind(params).map(|_| ())).map_err(|e| e.to_string())?;
        }
        // Over no runs the columns are known, and a wrong statement is told.
        let answer = self.answer(asked, &Scope::of([]), CHECK_S)?;
        column(&answer, asked).map(|_| ())
    }

    fn ask(&self, run: &RunId, asked: &Asked, limit_s: f64) -> Result<Answered, String> {
        let answer = self.answer(asked, &Scope::of([run.clone()]), limit_s)?;
        let place = column(&answer, asked)?;
        let column = &answer.columns[place];
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
}

/// The place of the column that is asked for.
fn column(answer: &Answer, asked: &Asked) -> Result<usize, String> {
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
