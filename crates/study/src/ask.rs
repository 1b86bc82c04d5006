//! Responses that come from answers to questions about a run. This crate knows no SQL engine: the caller passes one
//! in.
//!
//! Answers are kept nowhere. A run never changes, so that a question gives the same number whenever it is asked,
//! and all runs of a report are asked in the same way, also those that were made before the question was.

use fenxi_model::RunId;

use crate::{
    StudyError,
    error::PlanError,
    plan::{From, Response, StudyPlan},
};

/// A question that a response asks about its run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunQuestion {
    /// Question or SQL statement.
    pub question: Asking,
    /// The column of the answer; None for its only column of numbers.
    pub column: Option<String>,
    /// Its line in the plan.
    pub line: usize,
}

/// Question or SQL statement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Asking {
    /// A ready question, with its parameters as typed.
    Named {
        /// Its name.
        name: String,
        /// Name and value.
        params: Vec<(String, String)>,
    },
    /// A statement.
    Sql(String),
}

impl std::fmt::Display for RunQuestion {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match &self.question {
            Asking::Named { name, params } => {
                write!(f, "question {name}")?;
                params.iter().try_for_each(|(key, value)| write!(f, " {key}={value}"))?;
            }
            Asking::Sql(sql) => write!(f, "sql {}", sql.trim())?,
        }
        self.column.iter().try_for_each(|column| write!(f, ", column {column}"))
    }
}

/// An answer: a number, and the unit of its column.
#[derive(Clone, Debug, PartialEq)]
pub struct Answered {
    /// The number; it is finite.
    pub value: f64,
    /// Its unit; empty when it has none.
    pub unit: String,
}

/// Answers questions about runs of a store. Errors are texts, for the line of a response.
pub trait Asks {
    /// Whether the question can be asked at all: before there is a run.
    ///
    /// # Errors
    /// When there is no such question, parameter or column, or the statement is wrong.
    fn check(&self, asked: &RunQuestion) -> Result<(), String>;

    /// Asks about one run; gives up after `limit_s` seconds.
    ///
    /// # Errors
    /// When the answer is not one number.
    fn ask(&self, run: &RunId, asked: &RunQuestion, limit_s: f64) -> Result<Answered, String>;
}

/// Responses of a plan that are questions.
pub(crate) fn asked(plan: &StudyPlan) -> impl Iterator<Item = (&Response, &RunQuestion)> {
    plan.responses.iter().filter_map(|response| match &response.from {
        From::Asked(asked) => Some((response, asked)),
        _ => None,
    })
}

/// That every question of a plan can be asked.
///
/// # Errors
/// A [`PlanError`] with the line of the first that cannot, [`StudyError::NobodyAnswers`] when `asks` is None.
pub fn check(plan: &StudyPlan, asks: Option<&dyn Asks>) -> Result<(), StudyError> {
    for (response, asked) in asked(plan) {
        let asks = asks.ok_or(StudyError::NobodyAnswers)?;
        asks.check(asked).map_err(|why| PlanError {
            path: plan.path.clone(),
            line: Some(asked.line),
            message: format!("the response `{}`: {why}", response.name),
        })?;
    }
    Ok(())
}

/// Asks about a run; the error names the missing response.
pub(crate) fn answer(
    plan: &StudyPlan,
    asks: Option<&dyn Asks>,
    run: &RunId,
    response: &Response,
    asked: &RunQuestion,
) -> Result<Answered, String> {
    let answer = match asks {
        Some(asks) => asks.ask(run, asked, plan.step_timeout_s),
        None => Err(StudyError::NobodyAnswers.to_string()),
    };
    answer.map_err(|why| format!("no response `{}`: {why}", response.name))
}
