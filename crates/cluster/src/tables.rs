//! Tables that go with a statement to a cluster: files named one by one, with the columns of the catalogue.

use std::{collections::BTreeMap, path::Path};

use arrow_array::RecordBatch;
use arrow_schema::DataType;
use fenxi_model::{Micros, RunId, Shape, Table, Type, catalog::event};
use fenxi_query::{
    Part, QueryError, Scope,
    backend::{Dialect, Kind, Marked, Mentions, STATS, condition, footer, made, marked},
};
use fenxi_store::{Holds, Store, TableFile};
use fenxi_worker::Cell;

use crate::{
    connect::{Source, Table as Sent},
    options::ClusterOptions,
    rows,
    spark::{apart, literal, quoted},
};

/// The list of runs, made of [`made::runs`].
const RUNS: &str = "
SELECT run, name, kind, host, timestamp_micros(start_us) AS start, timestamp_micros(end_us) AS `end`,
    seen_us / 1000000D AS duration_s, command, CAST(exit_status AS INT) AS exit_status, recovered, baseline, samples,
    missed_samples, n_rows, bytes, from_json(tags, 'MAP<STRING, STRING>') AS tags,
    from_json(params, 'MAP<STRING, STRING>') AS params
FROM fenxi_runs";

/// Where tables come from.
pub(crate) struct Tables<'a> {
    pub store: &'a Store,
    pub cluster: &'a ClusterOptions,
    /// True if the server finds the column `run` in the names of folders, as Spark does.
    pub is_spark: bool,
}

/// Tables that `sql` mentions; rather too many than too few.
pub(crate) fn mentions(sql: &str, dialect: Dialect) -> Mentions {
    match dialect {
        Dialect::Questions => Mentions::of(sql),
        // There a table that is kept apart has a name of one part.
        Dialect::Own => {
            let parted = |sql: String, schema: &&str| sql.replace(&apart(schema, ""), &format!("{schema} "));
            Mentions::of(&fenxi_store::APART.iter().fold(sql.to_owned(), parted))
        }
    }
}

/// The table of the parts of time, which has `rows`.
pub(crate) fn time_parts(of_parts: &[Vec<Cell>]) -> Result<Sent, QueryError> {
    let rows = rows::batch(&made::TIME_PART_COLUMNS, of_parts)?;
    Ok(Sent { name: made::TIME_PART.to_owned(), source: Source::Rows(rows) })
}

impl Tables<'_> {
    /// The tables that are mentioned, but those that are derived from them.
    pub(crate) fn of(&self, mentions: &Mentions, scope: &Scope) -> Result<Vec<Sent>, QueryError> {
        let mut sent = Vec::new();
        for name in &mentions.tables {
            self.table(name, name, scope, &mut sent)?;
            for schema in &mentions.apart {
                self.table(&format!("{schema}.{name}"), &apart(schema, name), scope, &mut sent)?;
            }
        }
        if mentions.stats {
            self.table("stats", "stats", scope, &mut sent)?;
        }
        if mentions.runs {
            let rows = rows::batch(&made::RUN_COLUMNS, &made::runs(self.store, scope)?)?;
            sent.push(Sent { name: "fenxi_runs".to_owned(), source: Source::Rows(rows) });
            sent.push(Sent { name: "runs".to_owned(), source: Source::Sql(RUNS.to_owned()) });
        }
        if mentions.costs {
            let rows = rows::batch(&made::COST_COLUMNS, &made::costs(self.store, scope)?)?;
            sent.push(Sent { name: "cost".to_owned(), source: Source::Rows(rows) });
        }
        Ok(sent)
    }

    /// The table `table` of the store under `name`: its files, and what is read of them.
    fn table(&self, table: &str, name: &str, scope: &Scope, sent: &mut Vec<Sent>) -> Result<(), QueryError> {
        let files = self.store.files(table, scope.runs.as_deref())?;
        let declared = fenxi_model::table(table.rsplit('.').next().unwrap_or(table));
        let columns = columns(declared);
        let mut parts = Vec::new();
        for (place, group) in self.groups(&files, &columns)?.into_iter().enumerate() {
            let source = format!("fenxi_{name}_{place}");
            let paths = group.files.iter().map(|file| self.path_there(&file.path)).collect::<Result<_, _>>()?;
            let condition = group.condition.as_ref().map(|c| format!(" WHERE {c}")).unwrap_or_default();
            parts.push(format!("SELECT {} FROM {}{condition}", group.selected(&columns), quoted(&source)));
            // The run of an own file is in its folder's name; a file of many runs has it as a column.
            let schema = self.is_spark.then(|| group.schema(&columns));
            let is_told = self.is_spark && !group.is_shared;
            let base = is_told.then(|| self.path_there(&self.store.path().join("runs"))).transpose()?;
            sent.push(Sent { name: source, source: Source::Files { schema, paths, base } });
        }
        if parts.is_empty() {
            let none: String =
                columns.iter().map(|(column, ty)| format!(", CAST(NULL AS {ty}) AS {}", quoted(column))).collect();
            parts.push(format!("SELECT CAST(NULL AS STRING) AS run{none} WHERE false"));
        }
        let mut sql = parts.join(" UNION ALL ");
        if let Some(part) = scope.part.filter(|_| declared.is_some_and(|t| t.shape != Shape::Facts)) {
            sql = format!("SELECT * FROM ({sql}) WHERE {}", self.within(&files, part)?);
        }
        if table == event::TABLE.name
            && let Some(marks) = self.marks(scope)?
        {
            sent.push(Sent { name: "fenxi_marks".to_owned(), source: Source::Rows(marks) });
            let row = |(column, ty): &(&str, &str)| match *column {
                "t" => ", timestamp_micros(us) AS `t`".to_owned(),
                "kind" => ", 'mark' AS `kind`".to_owned(),
                "host" | "message" => format!(", {}", quoted(column)),
                column => format!(", CAST(NULL AS {ty}) AS {}", quoted(column)),
            };
            let row: String = columns.iter().map(row).collect();
            sql = format!("{sql} UNION ALL SELECT run{row} FROM fenxi_marks");
        }
        sent.push(Sent { name: name.to_owned(), source: Source::Sql(sql) });
        Ok(())
    }

    /// Moments that people named; None where there are none. They are kept beside the runs.
    fn marks(&self, scope: &Scope) -> Result<Option<RecordBatch>, QueryError> {
        let columns = [("run", Kind::Text), ("host", Kind::Text), ("us", Kind::I64), ("message", Kind::Text)];
        let marks = marked(self.store, scope)?;
        let row = |mark: Marked| vec![Cell::Text(mark.run), mark.host.into(), Cell::Int(mark.t.0), mark.text.into()];
        let rows: Vec<Vec<Cell>> = marks.into_iter().map(row).collect();
        if rows.is_empty() { Ok(None) } else { rows::batch(&columns, &rows).map(Some) }
    }

    /// Files that can be read as one: of the same types where the server is Spark, each by itself where it is another.
    fn groups<'a>(
        &self,
        files: &'a [TableFile],
        columns: &[(&'static str, &'static str)],
    ) -> Result<Vec<Group<'a>>, QueryError> {
        let mut types: BTreeMap<&str, BTreeMap<&'static str, &'static str>> = BTreeMap::new();
        let mut groups: Vec<Group<'a>> = Vec::new();
        for file in files {
            if !types.contains_key(file.fingerprint.as_str()) {
                types.insert(&file.fingerprint, types_of(&file.path, columns)?);
            }
            let mut types = types[file.fingerprint.as_str()].clone();
            let run = match &file.holds {
                Holds::Run(run) if !self.is_spark => Some(run),
                _ => None,
            };
            let (is_shared, condition) = (matches!(file.holds, Holds::Runs { .. }), condition(file));
            if self.is_spark {
                // A column that is there as it should be, or is not there, is read the same way.
                types.retain(|name, ty| columns.iter().any(|(column, wanted)| column == name && wanted != ty));
            }
            let like = Group { types, run, is_shared, condition, is_spark: self.is_spark, files: vec![file] };
            // Others pass over a file that they do not find when it is listed beside one that they do.
            match groups.iter_mut().find(|group| self.is_spark && group.is_like(&like)) {
                Some(group) => group.files.push(file),
                None => groups.push(like),
            }
        }
        Ok(groups)
    }

    /// The condition that holds for rows within `part` of their run: the middle of an interval decides.
    fn within(&self, files: &[TableFile], part: Part) -> Result<String, QueryError> {
        let mut starts: BTreeMap<&RunId, Micros> = BTreeMap::new();
        for run in files.iter().flat_map(TableFile::runs) {
            if !starts.contains_key(run) {
                starts.insert(run, self.store.run(run)?.manifest.start);
            }
        }
        let moment = |us: i64| {
            let when = |(run, start): (&&RunId, &Micros)| {
                format!(" WHEN {} THEN {}L", literal(run.as_str()), start.0.saturating_add(us))
            };
            match starts.len() {
                0 => "0L".to_owned(),
                1 => format!("{}L", starts.values().next().map_or(0, |start| start.0.saturating_add(us))),
                _ => format!("CASE run{} END", starts.iter().map(when).collect::<String>()),
            }
        };
        let middle = "unix_micros(t) - coalesce(dt, 0D) * 500000D";
        let mut conditions = vec!["true".to_owned()];
        if let Some(from) = part.from_us {
            let from = moment(from);
            // By the first of the two row groups are left out.
            conditions.push(format!("t >= timestamp_micros({from}) AND {middle} >= {from}"));
        }
        if let Some(to) = part.to_us {
            conditions.push(format!("{middle} <= {}", moment(to)));
        }
        Ok(conditions.join(" AND "))
    }

    /// A path of the store as the cluster finds it.
    fn path_there(&self, path: &Path) -> Result<String, QueryError> {
        let within = path.strip_prefix(self.store.path()).ok().and_then(Path::to_str);
        let within = within.ok_or_else(|| QueryError::File {
            path: path.to_owned(),
            message: "its name is not text that a cluster can be given".to_owned(),
        })?;
        Ok(format!("{}/{within}", store_there(self.store, self.cluster)))
    }
}

/// The store as the cluster finds it, without a slash at its end.
pub(crate) fn store_there(store: &Store, cluster: &ClusterOptions) -> String {
    let path = match &cluster.store {
        Some(path) => path.clone(),
        None => std::path::absolute(store.path()).unwrap_or_else(|_| store.path().to_owned()).display().to_string(),
    };
    path.trim_end_matches('/').to_owned()
}

/// Files that are read as one.
struct Group<'a> {
    /// Types of columns that are not the catalogue's; of all columns that are there where the server takes
    /// columns as the files have them.
    types: BTreeMap<&'static str, &'static str>,
    /// The run, where it is not in the files' paths.
    run: Option<&'a RunId>,
    /// Whether they hold many runs each.
    is_shared: bool,
    /// The condition that holds for the rows that are asked for.
    condition: Option<String>,
    /// Whether columns come as they are declared.
    is_spark: bool,
    files: Vec<&'a TableFile>,
}

impl Group<'_> {
    fn is_like(&self, other: &Group<'_>) -> bool {
        (&self.types, self.run, self.is_shared, &self.condition)
            == (&other.types, other.run, other.is_shared, &other.condition)
    }

    /// The columns that the server is to read.
    fn schema(&self, columns: &[(&'static str, &'static str)]) -> String {
        let one = |(column, ty): &(&'static str, &'static str)| {
            format!(", {} {}", quoted(column), self.types.get(column).unwrap_or(ty))
        };
        "`run` STRING".to_owned() + &columns.iter().map(one).collect::<String>()
    }

    /// The catalogue's columns, made of those of the files.
    fn selected(&self, columns: &[(&'static str, &'static str)]) -> String {
        let run = match self.run {
            Some(run) => format!("{} AS run", literal(run.as_str())),
            None => "CAST(run AS STRING) AS run".to_owned(),
        };
        let one = |(column, ty): &(&'static str, &'static str)| {
            let name = quoted(column);
            match (self.types.get(column), self.is_spark) {
                // A label may have come as a dictionary.
                (Some(found), false) if found == ty && *ty != "STRING" => format!(", {name}"),
                (Some(_), _) => format!(", CAST({name} AS {ty}) AS {name}"),
                (None, true) => format!(", {name}"),
                (None, false) => format!(", CAST(NULL AS {ty}) AS {name}"),
            }
        };
        run + &columns.iter().map(one).collect::<String>()
    }
}

/// The columns of a table with the types that they have there; of the stored statistics where none is declared.
fn columns(declared: Option<&Table>) -> Vec<(&'static str, &'static str)> {
    match declared {
        Some(table) => table.columns.iter().map(|column| (column.name, sql_type(column.ty))).collect(),
        None => STATS.iter().map(|(name, ty)| (*name, sql_type(*ty))).collect(),
    }
}

fn sql_type(ty: Type) -> &'static str {
    match ty {
        Type::F64 => "DOUBLE",
        Type::I64 => "BIGINT",
        Type::Label | Type::Text => "STRING",
        Type::Time => "TIMESTAMP",
    }
}

/// The types that columns have in the file at `path`; those of older versions differ from the catalogue's.
fn types_of(
    path: &Path,
    columns: &[(&'static str, &'static str)],
) -> Result<BTreeMap<&'static str, &'static str>, QueryError> {
    let reader = footer(path)?;
    let there = reader.schema();
    let ty = |ty: &DataType| match ty {
        DataType::Float64 => "DOUBLE",
        DataType::Float32 => "FLOAT",
        DataType::Int64 | DataType::UInt64 => "BIGINT",
        DataType::Int32 | DataType::UInt32 => "INT",
        DataType::Boolean => "BOOLEAN",
        DataType::Timestamp(..) => "TIMESTAMP",
        _ => "STRING",
    };
    let of = |(column, _): &(&'static str, &'static str)| {
        Some((*column, ty(there.field_with_name(column).ok()?.data_type())))
    };
    Ok(columns.iter().filter_map(of).collect())
}
