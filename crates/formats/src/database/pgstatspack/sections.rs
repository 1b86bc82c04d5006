//! The tables of a pgstatspack report, known by their columns.

use fenxi_model::{
    catalog::{db, db_index, db_setting, db_statement},
    statement,
};

use super::Report;
use crate::{Out, database::psql, generic::labels::Labels, number, scaled};

/// The content of a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Section {
    Snapshot,
    Version,
    Size,
    Databases,
    Tables,
    Indexes,
    Statements,
    Settings,
    /// Figures that follow from other tables of the report.
    Derived,
    /// Numbers under their column's name, one row or several.
    Other,
}

/// The first columns of the tables.
const KNOWN: &[(&[&str], Section)] = &[
    (&["snapid", "ts"], Section::Snapshot),
    (&["version"], Section::Version),
    (&["current_database", "dbsize"], Section::Size),
    (&["database", "tps"], Section::Databases),
    (&["table"], Section::Tables),
    (&["index", "table"], Section::Indexes),
    (&["calls", "total_time"], Section::Statements),
    (&["name", "start_setting"], Section::Settings),
    (&["checkpoints_timed", "minutes_between_checkpoint"], Section::Derived),
];

/// Whether a line is the header of a table that is known and has several columns.
pub(super) fn is_header(line: &str) -> bool {
    line.contains('|') && known(psql::cells(line)).is_some()
}

fn known<'a>(cells: impl Iterator<Item = &'a str> + Clone) -> Option<Section> {
    let found = KNOWN.iter().find(|(columns, _)| cells.clone().take(columns.len()).eq(columns.iter().copied()));
    found.map(|(_, section)| *section)
}

impl Section {
    pub(super) fn of(headers: &[String]) -> Section {
        known(headers.iter().map(String::as_str)).unwrap_or(Section::Other)
    }

    /// Whether its rows carry the report's time.
    pub(super) fn is_timed(self) -> bool {
        !matches!(self, Section::Snapshot | Section::Version | Section::Derived)
    }

    pub(super) fn row(self, report: &mut Report, headers: &[String], row: &[String], out: &mut Out<'_>) {
        let cell =
            |name: &str| headers.iter().position(|h| h == name).and_then(|i| row.get(i)).map_or("", String::as_str);
        let value = |name: &str| number(cell(name));
        let rate = |name: &str, dt: Option<f64>| Some(value(name)? / dt?);
        let (t, dt) = (report.t, report.dt);
        match self {
            Section::Version => {
                report.time_scale = if in_seconds(cell("version")) { 1000.0 } else { 1.0 };
                out.fact("database", "version", cell("version"));
            }
            Section::Size => {
                cell("current_database").clone_into(&mut report.database);
                report.size = scaled(cell("dbsize").trim_end_matches("bytes"), 1024.0);
            }
            Section::Databases => {
                let database = cell("database");
                let size = if report.database == database { report.size.take() } else { None };
                let misses = value("pio_ps").or_else(|| value("rd_ps"));
                let hits = value("lio_ps").zip(misses).map(|(all, misses)| (all - misses).max(0.0));
                let mut cells = out.row(&db::TABLE, t, dt);
                cells.str(db::database, database).f64(db::commits_per_s, value("tps"));
                cells.f64(db::rollbacks_per_s, value("rollbk_ps")).f64(db::size_bytes, size);
                cells.f64(db::cache_hits_per_s, hits).f64(db::cache_misses_per_s, misses);
                cells.f64(db::rows_returned_per_s, value("rows_ps")).f64(db::rows_inserted_per_s, value("ins_ps"));
                cells.f64(db::rows_updated_per_s, value("upd_ps")).f64(db::rows_deleted_per_s, value("del_ps"));
            }
            Section::Tables => table(report, headers, row, out),
            Section::Indexes if dt.is_some() => {
                let mut cells = out.row(&db_index::TABLE, t, dt);
                cells.str(db_index::database, Some(report.database.as_str()).filter(|d| !d.is_empty()));
                cells.str(db_index::index_name, cell("index")).str(db_index::relation, cell("table"));
                cells.f64(db_index::scans_per_s, rate("scans", dt));
                cells.f64(db_index::entries_read_per_s, rate("tup_read", dt));
                cells.f64(db_index::rows_fetched_per_s, rate("tup_fetch", dt));
                cells.f64(db_index::cache_misses_per_s, rate("idx_blks_read", dt));
                cells.f64(db_index::cache_hits_per_s, rate("idx_blks_hit", dt));
            }
            Section::Statements => {
                let total_ms = value("total_time").map(|time| time * report.time_scale);
                let calls = value("calls").filter(|calls| *calls > 0.0);
                let mut cells = out.row(&db_statement::TABLE, t, dt);
                cells.str(db_statement::database, Some(report.database.as_str()).filter(|d| !d.is_empty()));
                let digest = statement::digest(&statement::form(cell("query"), false));
                cells.str(db_statement::digest, &*digest).str(db_statement::statement, cell("query"));
                cells.str(db_statement::user, cell("user")).f64(db_statement::calls_per_s, rate("calls", dt));
                cells.f64(db_statement::mean_ms, total_ms.zip(calls).map(|(ms, calls)| ms / calls));
                cells.f64(db_statement::time, total_ms.zip(dt).map(|(ms, dt)| ms / 1000.0 / dt));
                cells.f64(db_statement::rows_per_s, rate("rows", dt));
            }
            Section::Settings => {
                let (name, start, stop) = (cell("name"), cell("start_setting"), cell("stop_setting"));
                let mut cells = out.row(&db_setting::TABLE, t, None);
                cells.str(db_setting::name, name).text(db_setting::value, stop).str(db_setting::origin, cell("source"));
                if start != stop {
                    out.event(t, "fact changed", name, &format!("{start} became {stop}"));
                }
            }
            Section::Snapshot | Section::Derived => {}
            Section::Indexes | Section::Other => other(report, headers, row, out),
        }
    }
}

/// Statements' times were seconds before PostgreSQL 9.2.
fn in_seconds(version: &str) -> bool {
    let number = version.split_ascii_whitespace().nth(1).unwrap_or("");
    let mut parts = number.split('.').map(|part| part.parse::<u32>().unwrap_or(u32::MAX));
    (parts.next().unwrap_or(u32::MAX), parts.next().unwrap_or(0)) < (9, 2)
}

/// A row about a table: counts become rates of one row a table, the rest metrics.
fn table(report: &mut Report, headers: &[String], row: &[String], out: &mut Out<'_>) {
    use fenxi_model::catalog::db_table;
    let relation = row.first().map_or("", String::as_str);
    // A table of the prototype alone has the database in its title only.
    let database = Some(report.database.as_str()).filter(|name| report.dt.is_none() && !name.is_empty());
    let mut labels = database.map_or_else(Labels::default, |database| Labels::of("database", database));
    labels.push("table", relation);
    for (header, cell) in headers.iter().zip(row).skip(1) {
        let place = match header.as_str() {
            "table_inserts" => Some(db_table::rows_inserted_per_s),
            "table_updates" => Some(db_table::rows_updated_per_s),
            "table_deletes" => Some(db_table::rows_deleted_per_s),
            "tab_hit" => Some(db_table::cache_hits_per_s),
            "tab_read" => Some(db_table::cache_misses_per_s),
            _ => None,
        };
        let Some(value) = number(cell) else { continue };
        match (place, report.dt) {
            (Some(place), Some(dt)) => {
                report.tables.set(out, report.t, report.dt, relation, place, Some(value / dt));
            }
            _ => metric(report, header, labels.text(), value, out),
        }
    }
}

fn other(report: &Report, headers: &[String], row: &[String], out: &mut Out<'_>) {
    let mut labels = Labels::default();
    for (header, cell) in headers.iter().zip(row).filter(|(_, cell)| number(cell).is_none() && !cell.is_empty()) {
        labels.push(header, cell);
    }
    for (header, cell) in headers.iter().zip(row) {
        if let Some(value) = number(cell) {
            metric(report, header, labels.text(), value, out);
        }
    }
}

fn metric(report: &Report, header: &str, labels: &str, value: f64, out: &mut Out<'_>) {
    let unit = match header {
        "table_growth" | "index_growth" => "B",
        _ if ["pct", "hitrate", "percent"].iter().any(|word| header.ends_with(word)) => "%",
        _ => "",
    };
    out.metric(report.t, report.dt, &format!("pgstatspack.{header}"), labels, value, unit);
}

/// The size of a database that no other row was about.
pub(super) fn size_alone(report: &mut Report, out: &mut Out<'_>) {
    if let Some(size) = report.size.take() {
        out.row(&db::TABLE, report.t, None).str(db::database, report.database.as_str()).f64(db::size_bytes, size);
    }
}
