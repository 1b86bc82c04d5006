//! Views over the store's files: one per table of the catalogue, made only for tables that a query
//! mentions, from files named one by one.
//!
//! Files are grouped by schema fingerprint, so that making a view opens one file a group and
//! never lists a directory. Every column of the catalogue is there; one that a group lacks is NULL.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::{Path, PathBuf},
};

use fenxi_model::{Micros, RunId, Shape, TABLES, Table, Type, catalog::event, schema_of};
use fenxi_store::{APART, Holds, RunFilter, Store, TableFile};
use parquet::{
    arrow::arrow_reader::ArrowReaderMetadata,
    file::{metadata::RowGroupMetaData, statistics::Statistics},
};

use crate::{
    Part, QueryError, Scope,
    derived::{DERIVED, Derived},
    lex, time_parts,
    views::sources::Sources,
};

pub(crate) mod marks;
mod sources;

/// Names whose mention asks for every view: they list tables or columns.
const LISTINGS: [&str; 6] =
    ["tables", "information_schema", "duckdb_views", "duckdb_columns", "duckdb_tables", "pg_catalog"];

/// Columns of the statistics that the store keeps beside each run's tables.
pub const STATS: [(&str, Type); 14] = [
    ("table_name", Type::Text),
    ("host", Type::Text),
    ("key", Type::Text),
    ("column_name", Type::Text),
    ("window_name", Type::Text),
    ("n", Type::I64),
    ("seconds", Type::F64),
    ("mean", Type::F64),
    ("sd", Type::F64),
    ("min", Type::F64),
    ("max", Type::F64),
    ("p50", Type::F64),
    ("p95", Type::F64),
    ("p99", Type::F64),
];

/// Tables and views of the store that a query mentions.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Mentions {
    /// Tables of the catalogue.
    pub tables: Vec<&'static str>,
    /// The list of runs.
    pub runs: bool,
    /// The stored statistics of runs.
    pub stats: bool,
    /// The `cost` table is mentioned.
    pub costs: bool,
    /// Where the time of runs went.
    pub time_parts: bool,
    /// Schemas of what is kept apart from the tables: averages since boot, standard deviations.
    pub apart: Vec<&'static str>,
    /// Views that are derived from tables; those tables are among `tables`.
    pub derived: Vec<&'static Derived>,
}

impl Mentions {
    /// Finds what `sql` mentions; rather too much than too little.
    pub fn of(sql: &str) -> Mentions {
        let mut names = names(sql);
        let derived: Vec<&Derived> = DERIVED.iter().filter(|view| names.contains(view.name)).collect();
        for view in &derived {
            names.extend(self::names(view.sql));
        }
        let names: BTreeSet<&str> = names.iter().map(String::as_str).collect();
        let all = names.iter().any(|n| LISTINGS.contains(n));
        Mentions {
            tables: TABLES.iter().map(|t| t.name).filter(|n| all || names.contains(n)).collect(),
            runs: all || names.contains("runs"),
            stats: all || names.contains("stats"),
            costs: all || names.contains("cost"),
            // Much is read for it: a list of tables asks for it without.
            time_parts: names.contains(time_parts::NAME),
            apart: APART.into_iter().filter(|schema| names.contains(schema)).collect(),
            derived,
        }
    }
}

impl Mentions {
    /// Whether it reads more than tables of runs: the list of runs, statistics, costs, parts of time.
    pub(crate) fn reads_more(&self) -> bool {
        self.runs || self.stats || self.costs || self.time_parts || !self.apart.is_empty()
    }

    /// Whether there can be an answer where only the tables that `holds` names have rows: not where all that the rows of `sql`, which
    /// mentions this, come from is empty. What is no table of a run never is.
    pub(crate) fn may_answer(&self, sql: &str, holds: &dyn Fn(&str) -> bool) -> bool {
        let mut from = Sources::in_sql(sql);
        for view in self.derived.iter().filter(|view| from.names.remove(view.name)).collect::<Vec<_>>() {
            from.names.extend(Sources::in_sql(view.sql).names);
        }
        let is_read = |table: &&str| from.names.contains(*table);
        let more = ["runs", "stats", "cost", time_parts::NAME];
        let mut tables = self.tables.iter().copied().filter(is_read).peekable();
        let is_of_runs = self.apart.is_empty() && !from.made && !more.iter().any(|name| from.names.contains(*name));
        !is_of_runs || tables.peek().is_none() || tables.any(holds)
    }
}

/// Tables that `sql` mentions itself, and not through a derived view.
pub(crate) fn tables_in(sql: &str) -> Vec<&'static str> {
    let names = names(sql);
    TABLES.iter().map(|table| table.name).filter(|name| names.contains(*name)).collect()
}

/// All names in `sql`.
fn names(sql: &str) -> BTreeSet<String> {
    let name = |(_, token)| if let lex::Token::Name(name) = token { Some(name) } else { None };
    lex::tokens(sql).into_iter().filter_map(name).collect()
}

/// Whether the view of `table` has rows of labels, which are kept beside the runs and may change.
pub(crate) fn has_labels(table: &str) -> bool {
    table == event::TABLE.name
}

/// The statement that makes the view of `table` (also `boot.<table>`, `spread.<table>`) over the runs of `scope`.
pub(crate) fn view(store: &Store, table: &str, scope: &Scope) -> Result<String, QueryError> {
    let name = table.split('.').map(identifier).collect::<Vec<_>>().join(".");
    Ok(format!("CREATE OR REPLACE VIEW {name} AS {};", rows(store, table, scope)?))
}

/// The statement that selects the rows of `table` over the runs of `scope`.
pub(crate) fn rows(store: &Store, table: &str, scope: &Scope) -> Result<String, QueryError> {
    let files = store.files(table, scope.runs.as_deref())?;
    // Before anything of a file is believed, its footer included.
    store.check(&files)?;
    let declared = fenxi_model::table(table.rsplit('.').next().unwrap_or(table));
    let part = scope.part.filter(|_| declared.is_some_and(|t| t.shape != Shape::Facts));
    let mut parts = Vec::new();
    if let (Some(part), Some(declared)) = (part, declared) {
        let starts = starts(store, scope)?;
        for file in &files {
            for run in file.runs() {
                let Some(start) = starts.get(run) else { continue };
                let own = matches!(file.holds, Holds::Run(_));
                let of_run = if own { "true".to_owned() } else { format!("run = {}", literal(run.as_str())) };
                let within = within(&file.path, *start, part)?;
                parts.push(format!("{} WHERE {of_run} AND {within}", select(Some(declared), &[file])?));
            }
        }
    } else {
        let mut groups: BTreeMap<(&str, bool, Option<String>), Vec<&TableFile>> = BTreeMap::new();
        for file in &files {
            let own = matches!(file.holds, Holds::Run(_));
            groups.entry((&file.fingerprint, own, condition(file))).or_default().push(file);
        }
        for ((_, _, condition), group) in &groups {
            let condition = condition.as_ref().map(|c| format!(" WHERE {c}")).unwrap_or_default();
            parts.push(select(declared, group)? + &condition);
        }
    }
    if has_labels(table) {
        parts.extend(marks::rows(store, scope)?);
    }
    if parts.is_empty() {
        parts.push(empty(declared));
    }
    Ok(parts.join(" UNION ALL BY NAME "))
}

/// The statement that makes the view `name` of Parquet files.
pub(crate) fn of_files(name: &str, files: &[PathBuf]) -> String {
    let files: Vec<String> = files.iter().map(|f| literal(&f.to_string_lossy())).collect();
    format!("CREATE OR REPLACE VIEW {name} AS SELECT * FROM read_parquet([{}]);", files.join(", "))
}

/// When each run of `scope` began.
fn starts(store: &Store, scope: &Scope) -> Result<BTreeMap<RunId, Micros>, QueryError> {
    match &scope.runs {
        Some(runs) => runs.iter().map(|id| Ok((id.clone(), store.run(id)?.manifest.start))).collect(),
        None => Ok(store.listing()?.0.into_iter().map(|s| (s.id, s.start)).collect()),
    }
}

/// The condition that holds for the rows of a file that are asked for; None for all of them.
pub fn condition(file: &TableFile) -> Option<String> {
    let list = |runs: &[RunId]| runs.iter().map(|run| literal(run.as_str())).collect::<Vec<_>>().join(", ");
    let Holds::Runs { runs, filter } = &file.holds else { return None };
    match (filter, runs.as_slice()) {
        (RunFilter::All, _) => None,
        (RunFilter::Only, [run]) => Some(format!("run = {}", literal(run.as_str()))),
        // The ends are what row groups are left out by, whatever the engine makes of a long list.
        (RunFilter::Only, [first, .., last]) => Some(format!(
            "run BETWEEN {} AND {} AND run IN ({})",
            literal(first.as_str()),
            literal(last.as_str()),
            list(runs)
        )),
        (RunFilter::Only, []) => Some("false".to_owned()),
        (RunFilter::Except(gone), _) => Some(format!("run NOT IN ({})", list(gone))),
    }
}

/// The condition that holds for rows within `part` of a run.
///
/// The middle of an interval decides, as it does for windows; comparisons of `t` alone go before it, because by
/// these the engine leaves out whole row groups. An interval that has its middle before the part's end ends at
/// most half the longest interval later.
fn within(path: &Path, start: Micros, part: Part) -> Result<String, QueryError> {
    let moment = |us: i64| format!("make_timestamptz({us})");
    let mut conditions = Vec::new();
    let middle = "epoch_us(t) - coalesce(dt, 0) * 5e5";
    if let Some(from) = part.from_us {
        let from = start.0.saturating_add(from);
        conditions.push(format!("t >= {} AND {middle} >= {from}", moment(from)));
    }
    if let Some(to) = part.to_us {
        let to = start.0.saturating_add(to);
        if let Some(longest_us) = longest_us(path)? {
            conditions.push(format!("t <= {}", moment(to.saturating_add(longest_us / 2 + 1))));
        }
        conditions.push(format!("{middle} <= {to}"));
    }
    Ok(conditions.join(" AND "))
}

/// The longest interval of any row of the file, as its statistics have it; None when they do not say.
fn longest_us(path: &Path) -> Result<Option<i64>, QueryError> {
    let longest = largest(path, "dt")?;
    Ok(longest.filter(|s| s.is_finite()).map(|s| (s * 1e6) as i64))
}

/// The latest moment in the file, in microseconds since 1970, as its statistics have it; None when they do not say.
pub(crate) fn last_us(path: &Path) -> Result<Option<i64>, QueryError> {
    Ok(largest(path, "t")?.map(|t| t as i64))
}

/// The largest value of a column, 0 where it has none; None when the statistics lack it.
fn largest(path: &Path, column: &str) -> Result<Option<f64>, QueryError> {
    let file = footer(path)?;
    let Some(place) = file.parquet_schema().columns().iter().position(|c| c.name() == column) else {
        return Ok(Some(0.0));
    };
    let mut largest = 0.0_f64;
    for group in file.metadata().row_groups() {
        let (most, nulls) = match group.column(place).statistics() {
            Some(Statistics::Double(of)) => (of.max_opt().copied(), of.null_count_opt()),
            // Microseconds of our time are whole in a float.
            Some(Statistics::Int64(of)) => (of.max_opt().map(|most| *most as f64), of.null_count_opt()),
            _ => return Ok(None),
        };
        match most {
            Some(most) => largest = largest.max(most),
            None if nulls == Some(group.num_rows() as u64) => {}
            None => return Ok(None),
        }
    }
    Ok(Some(largest))
}

/// The columns of `table` that have a value in runs of `scope`, as the statistics of their files have it; of a file of many runs those
/// of any.
pub(crate) fn columns_with_values(store: &Store, table: &str, scope: &Scope) -> Result<BTreeSet<String>, QueryError> {
    let files = store.files(table, scope.runs.as_deref())?;
    store.check(&files)?;
    let mut there = BTreeSet::new();
    for file in &files {
        let file = footer(&file.path)?;
        let groups = file.metadata().row_groups();
        for (place, column) in file.parquet_schema().columns().iter().enumerate() {
            let has = |group: &RowGroupMetaData| {
                let nulls = group.column(place).statistics().and_then(Statistics::null_count_opt);
                group.num_rows() > 0 && nulls != Some(group.num_rows() as u64)
            };
            if groups.iter().any(has) {
                there.insert(column.name().to_owned());
            }
        }
    }
    Ok(there)
}

/// The footer of a file: its columns, and statistics of its row groups.
pub fn footer(path: &Path) -> Result<ArrowReaderMetadata, QueryError> {
    let file = fs_err::File::open(path)?.into_parts().0;
    ArrowReaderMetadata::load(&file, Default::default())
        .map_err(|e| QueryError::File { path: path.to_owned(), message: e.to_string() })
}

/// Reads one group of files, all of the same columns.
fn select(declared: Option<&Table>, group: &[&TableFile]) -> Result<String, QueryError> {
    let list: Vec<String> = group.iter().map(|f| literal(&f.path.to_string_lossy())).collect();
    let columns = match declared {
        // Of a file of many runs the first column is `run`, of another one the last.
        None => "* EXCLUDE (run), run".to_owned(),
        Some(table) => columns(table, &group[0].path)?,
    };
    // The run of an own file is in its folder's name; a file of many runs has it as a column, whatever folders are called.
    let how = match group[0].holds {
        Holds::Run(_) => "hive_partitioning = true, hive_types = {'run': VARCHAR}",
        Holds::Runs { .. } => "hive_partitioning = false",
    };
    Ok(format!("SELECT {columns} FROM read_parquet([{}], {how})", list.join(",")))
}

/// The catalogue's columns as the file at `path` has them, or NULL where it does not.
fn columns(table: &Table, path: &Path) -> Result<String, QueryError> {
    let reader = footer(path)?;
    let there = reader.schema();
    let wanted = schema_of(table, 0..table.columns.len());
    let mut out = "run".to_owned();
    for (column, field) in table.columns.iter().zip(wanted.fields()) {
        let name = identifier(column.name);
        out += &match there.field_with_name(column.name) {
            Ok(found) if found.data_type() == field.data_type() => format!(", {name}"),
            Ok(_) => format!(", CAST({name} AS {}) AS {name}", sql_type(column.ty)),
            Err(_) => format!(", CAST(NULL AS {}) AS {name}", sql_type(column.ty)),
        };
    }
    Ok(out)
}

/// A view of no rows with the right columns.
fn empty(declared: Option<&Table>) -> String {
    let mut out = "SELECT CAST(NULL AS VARCHAR) AS run".to_owned();
    match declared {
        Some(table) => {
            for column in table.columns {
                out += &format!(", CAST(NULL AS {}) AS {}", sql_type(column.ty), identifier(column.name));
            }
        }
        None => {
            for (name, ty) in STATS {
                out += &format!(", CAST(NULL AS {}) AS {}", sql_type(ty), identifier(name));
            }
        }
    }
    out + " WHERE false"
}

fn sql_type(ty: Type) -> &'static str {
    match ty {
        Type::F64 => "DOUBLE",
        Type::I64 => "BIGINT",
        Type::Label | Type::Text => "VARCHAR",
        Type::Time => "TIMESTAMPTZ",
    }
}

/// `name` as the engine reads it whatever it is.
pub(crate) fn identifier(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

/// `text` as an SQL string.
pub(crate) fn literal(text: &str) -> String {
    format!("'{}'", text.replace('\'', "''"))
}

#[cfg(test)]
mod tests {
    use super::{Mentions, literal};

    #[test]
    fn a_derived_view_brings_the_tables_that_it_reads() {
        let m = Mentions::of("SELECT sum(sessions) FROM db_best_wait");
        assert_eq!(m.derived.iter().map(|view| view.name).collect::<Vec<_>>(), ["db_best_wait"]);
        assert_eq!(m.tables, ["db", "db_session", "db_wait"]);
        assert!(Mentions::of("SELECT 1 FROM db_wait").derived.is_empty());
    }

    #[test]
    fn only_tables_that_are_mentioned_get_views() {
        let m = Mentions::of("SELECT avg(usr) FROM cpu JOIN runs USING (run) WHERE host = 'disk'");
        assert_eq!(
            m,
            Mentions {
                tables: vec!["cpu"],
                runs: true,
                stats: false,
                costs: false,
                time_parts: false,
                apart: vec![],
                derived: vec![]
            }
        );
        assert_eq!(Mentions::of("SELECT usr FROM spread.cpu").apart, ["spread"]);
        assert!(Mentions::of("SHOW TABLES").tables.len() > 20);
    }

    #[test]
    fn what_reads_only_empty_tables_has_no_answer() {
        let only_cpu = |table: &str| table == "cpu";
        let may = |sql| Mentions::of(sql).may_answer(sql, &only_cpu);
        assert!(may("SELECT usr FROM cpu LEFT JOIN disk USING (t)") && may("SELECT 1"));
        assert!(!may("SELECT busy FROM disk") && !may("SELECT sum(sessions) FROM db_best_wait"));
        // A join adds no row, nor does a column that is called like a table.
        assert!(!may("SELECT cpu FROM disk JOIN runs USING (run) LEFT JOIN cpu USING (t)"));
        // A run is there without any row, and so may be what recording cost.
        assert!(may("SELECT name FROM runs LEFT JOIN disk USING (run)"));
        assert!(may("SELECT cpu_s FROM cost") && may("SELECT share FROM time_part LEFT JOIN disk USING (run)"));
    }

    #[test]
    fn strings_are_quoted() {
        assert_eq!(literal("it's"), "'it''s'");
    }
}
