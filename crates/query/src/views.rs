//! Views over the store's files: one per table of the catalogue, made only for tables that a query
//! mentions, from files named one by one.
//!
//! Files are grouped by schema fingerprint, so that making a view opens one file a group and
//! never lists a directory. Every column of the catalogue is there; one that a group lacks is NULL.

use std::{collections::BTreeMap, path::Path};

use fenxi_model::{TABLES, Table, schema_of};
use fenxi_store::{APART, Store, TableFile};
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;

use crate::{QueryError, Scope, lex};

/// Names whose mention asks for every view: they list tables or columns.
const LISTINGS: [&str; 6] =
    ["tables", "information_schema", "duckdb_views", "duckdb_columns", "duckdb_tables", "pg_catalog"];

/// What a query mentions of what the store offers.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Mentions {
    /// Tables of the catalogue.
    pub tables: Vec<&'static str>,
    /// The list of runs.
    pub runs: bool,
    /// The stored statistics of runs.
    pub stats: bool,
    /// What recording cost.
    pub costs: bool,
    /// Schemas of what is kept apart from the tables: averages since boot, standard deviations.
    pub apart: Vec<&'static str>,
}

impl Mentions {
    /// Finds what `sql` mentions; rather too much than too little.
    pub(crate) fn of(sql: &str) -> Mentions {
        let tokens = lex::tokens(sql);
        let names: std::collections::BTreeSet<&str> = tokens
            .iter()
            .filter_map(|(_, t)| if let lex::Token::Name(n) = t { Some(n.as_str()) } else { None })
            .collect();
        let all = names.iter().any(|n| LISTINGS.contains(n));
        Mentions {
            tables: TABLES.iter().map(|t| t.name).filter(|n| all || names.contains(n)).collect(),
            runs: all || names.contains("runs"),
            stats: all || names.contains("stats"),
            costs: all || names.contains("cost"),
            apart: APART.into_iter().filter(|schema| names.contains(schema)).collect(),
        }
    }
}

/// The statement that makes the view of `table` (also `boot.<table>`, `spread.<table>`) over the runs of `scope`.
pub(crate) fn view(store: &Store, table: &str, scope: &Scope) -> Result<String, QueryError> {
    let files = store.files(table, scope.runs.as_deref())?;
    let declared = fenxi_model::table(table.rsplit('.').next().unwrap_or(table));
    let mut groups: BTreeMap<&str, Vec<&TableFile>> = BTreeMap::new();
    for file in &files {
        groups.entry(&file.fingerprint).or_default().push(file);
    }
    let mut parts = Vec::new();
    for group in groups.values() {
        parts.push(select(declared, group)?);
    }
    if parts.is_empty() {
        parts.push(empty(declared));
    }
    let name = table.split('.').map(identifier).collect::<Vec<_>>().join(".");
    Ok(format!("CREATE OR REPLACE VIEW {name} AS {};", parts.join(" UNION ALL BY NAME ")))
}

/// Reads one group of files, all of the same columns.
fn select(declared: Option<&Table>, group: &[&TableFile]) -> Result<String, QueryError> {
    let list: Vec<String> = group.iter().map(|f| literal(&f.path.to_string_lossy())).collect();
    let columns = match declared {
        None => "*".to_owned(),
        Some(table) => columns(table, &group[0].path)?,
    };
    Ok(format!(
        "SELECT {columns} FROM read_parquet([{}], hive_partitioning = true, hive_types = {{'run': VARCHAR}})",
        list.join(",")
    ))
}

/// The catalogue's columns as the file at `path` has them, or NULL where it does not.
fn columns(table: &Table, path: &Path) -> Result<String, QueryError> {
    let unreadable = |message: String| QueryError::File { path: path.to_owned(), message };
    let file = fs_err::File::open(path)?.into_parts().0;
    let reader = ParquetRecordBatchReaderBuilder::try_new(file).map_err(|e| unreadable(e.to_string()))?;
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
        // The statistics that the store keeps beside each run's tables.
        None => {
            for name in ["table_name", "host", "key", "column_name", "window_name"] {
                out += &format!(", CAST(NULL AS VARCHAR) AS {}", identifier(name));
            }
            out += ", CAST(NULL AS BIGINT) AS n";
            for name in ["seconds", "mean", "sd", "min", "max", "p50", "p95", "p99"] {
                out += &format!(", CAST(NULL AS DOUBLE) AS {}", identifier(name));
            }
        }
    }
    out + " WHERE false"
}

fn sql_type(ty: fenxi_model::Type) -> &'static str {
    use fenxi_model::Type;
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
    fn only_tables_that_are_mentioned_get_views() {
        let m = Mentions::of("SELECT avg(usr) FROM cpu JOIN runs USING (run) WHERE host = 'disk'");
        assert_eq!(m, Mentions { tables: vec!["cpu"], runs: true, stats: false, costs: false, apart: vec![] });
        assert_eq!(Mentions::of("SELECT usr FROM spread.cpu").apart, ["spread"]);
        assert!(Mentions::of("SHOW TABLES").tables.len() > 20);
    }

    #[test]
    fn strings_are_quoted() {
        assert_eq!(literal("it's"), "'it''s'");
    }
}
