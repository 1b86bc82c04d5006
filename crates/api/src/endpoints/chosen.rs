//! Selection of the runs of a request.

use fenxi_compare::windows;
use fenxi_model::RunId;
use fenxi_query::Scope;
use fenxi_store::Store;

use super::{ApiError, Context, Kind, Param, Query};
use crate::payload::Run;

/// The runs of a request.
pub(super) const RUN: Param =
    Param::required("run", "Run: an id or its beginning, a name, `@1`, `tag=value`", Kind::Text).many();
/// The same where none means all of them.
pub(super) const ANY_RUN: Param =
    Param::optional("run", "Run: an id or its beginning, a name, `@1`, `tag=value`; all without it", Kind::Text).many();
pub(super) const FROM: Param =
    Param::optional("from", "Start of the time range, in seconds since the start of the run", Kind::Number);
pub(super) const TO: Param =
    Param::optional("to", "End of the time range, in seconds since the start of the run", Kind::Number);
/// The part of runs whose statistics are asked.
pub(super) const WINDOW: Param = Param::optional(
    "window",
    "Time window: `auto` (default) for the steady state, `all`, a name, or FROM..TO",
    Kind::Text,
);

/// The meaning of [`WINDOW`].
pub(super) fn window(query: &Query) -> &str {
    query.get("window").unwrap_or(windows::AUTO)
}

/// The runs that selectors with commas between them name, each once.
pub(crate) fn named(store: &Store, selectors: &str) -> Result<Vec<RunId>, ApiError> {
    Ok(fenxi_compare::group(store, selectors)?)
}

/// The runs that `run` names, in that order, each once; none when it is not there.
pub(crate) fn runs(context: &Context<'_>, query: &Query) -> Result<Vec<RunId>, ApiError> {
    let selectors = query.all("run").flat_map(|text| text.split(',')).map(str::trim).filter(|s| !s.is_empty());
    Ok(context.store.select_all(selectors)?)
}

/// Scope of a request: its runs, between `from` and `to`.
pub(super) fn scope(runs: &[RunId], query: &Query) -> Result<Scope, ApiError> {
    let scope = if runs.is_empty() { Scope::all() } else { Scope::of(runs.iter().cloned()) };
    Ok(scope.between(query.number("from")?, query.number("to")?))
}

/// The runs as pages name them.
pub(super) fn shown(store: &Store, runs: &[RunId]) -> Result<Vec<Run>, ApiError> {
    let entries = runs.iter().map(|id| store.run(id)).collect::<Result<Vec<_>, _>>()?;
    Ok(Run::all(&entries))
}
