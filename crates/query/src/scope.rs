//! Which runs a statement sees, and which part of their time.

use fenxi_model::RunId;

/// Which runs a query sees, and which part of them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Scope {
    /// These runs only; None for all.
    pub runs: Option<Vec<RunId>>,
    /// The same time range of each of them; None for the whole.
    pub part: Option<Part>,
}

/// A time range of a run, in microseconds since its begin; an end that is open is the run's own.
///
/// A row belongs to it when the middle of its interval lies within.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Part {
    /// Its begin.
    pub from_us: Option<i64>,
    /// Its end.
    pub to_us: Option<i64>,
}

impl Scope {
    /// All runs of the store.
    pub fn all() -> Scope {
        Scope::default()
    }

    /// Only `runs`.
    pub fn of(runs: impl IntoIterator<Item = RunId>) -> Scope {
        Scope { runs: Some(runs.into_iter().collect()), part: None }
    }

    /// Of these runs only the time from `from` to `to`, in seconds since each run's begin.
    #[must_use]
    pub fn between(self, from: Option<f64>, to: Option<f64>) -> Scope {
        let micros = |s: f64| (s * 1e6).round() as i64;
        let part = Part { from_us: from.map(micros), to_us: to.map(micros) };
        Scope { part: Some(part).filter(|p| *p != Part::default()), ..self }
    }

    /// Only those of its runs that are among `runs`.
    #[must_use]
    pub(crate) fn within(&self, runs: &[RunId]) -> Scope {
        let kept = match &self.runs {
            None => runs.to_vec(),
            Some(own) => own.iter().filter(|id| runs.contains(id)).cloned().collect(),
        };
        Scope { runs: Some(kept), part: self.part }
    }
}
