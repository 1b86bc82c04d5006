//! `/api/v1/dbreport`: the report of a database server.

use super::{ApiError, Context, Endpoint, Kind, Param, Query, Reply, chosen, schema};
use crate::db_report::{Asked, DbReport, DbReportError, PeriodScope, report};

pub(super) const DB_REPORT: Endpoint = Endpoint {
    path: "/api/v1/dbreport",
    about: "The report of a database server, as `fenxi db report` makes it: one period, two side by side, or two groups of runs. \
            Every section is a question that can be asked alone.",
    params: &[
        chosen::RUN,
        Param::optional("against", "Runs of the second period, with commas between them", Kind::Text),
        chosen::FROM,
        chosen::TO,
        Param::optional("server", "The server, where several were observed", Kind::Text),
        Param::optional("section", "Only this section", Kind::Text).many(),
    ],
    changes: false,
    answer,
    schema: schema::of::<DbReport>,
};

impl From<DbReportError> for ApiError {
    fn from(error: DbReportError) -> ApiError {
        match error {
            DbReportError::Query(error) => error.into(),
            DbReportError::Compare(error) => error.into(),
            DbReportError::Store(error) => error.into(),
            DbReportError::NoSection(..) | DbReportError::NotThere(..) => ApiError::Unknown(error.to_string()),
            _ => ApiError::Wrong(error.to_string()),
        }
    }
}

fn answer(context: &Context<'_>, query: &Query) -> Result<Reply, ApiError> {
    let store = context.store;
    let first: Vec<&str> = query.all("run").collect();
    if first.is_empty() {
        return Err(ApiError::Wrong("`run` is missing: the run that is reported".to_owned()));
    }
    let against = query.get("against").filter(|against| !against.is_empty());
    let label = |label| if against.is_some() { label } else { "" };
    let range = [query.number("from")?, query.number("to")?];
    let runs = chosen::runs(context, query)?;
    let mut periods = vec![PeriodScope::of(store, label("A"), &first.join(","), runs, range)?];
    if let Some(against) = against {
        periods.push(PeriodScope::of(store, label("B"), against, chosen::named(store, against)?, [None; 2])?);
    }
    let sections: Vec<String> = query.all("section").map(str::to_owned).collect();
    let server = query.get("server").filter(|server| !server.is_empty());
    Reply::json(&report(context.engine, Asked { periods: &periods, server, sections: &sections })?)
}
