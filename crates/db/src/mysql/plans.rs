//! Plans of MySQL and MariaDB, by EXPLAIN of an execution that was seen: these servers plan each execution anew, with its values.
//!
//! The table of `EXPLAIN FORMAT=TRADITIONAL` is the same in all versions; what JSON has more differs between them, and holds
//! values. EXPLAIN is in a prepared statement: a server takes no second statement in one, and the statistics of statements
//! know it by its name only.

use std::time::{Duration, Instant};

use fenxi_model::{Rows, plan::Plan};
use fenxi_wire::client::ClientError;

use super::{HOME, MARK, sessions::hides_text};
use crate::{
    client::Client,
    observed::is_planned,
    plans::{self, EXAMPLE, Explained, Plans, Wanted},
    reading::About,
    server::Server,
};

/// How long a look may take in all.
const BUDGET: Duration = Duration::from_millis(500);
/// Prefix of the names of our prepared statements.
pub const NAME: &str = "fenxi_db";
/// Variables that a plan depends on, of which a session takes the global values when it begins.
const PLANNER: &[&str] = &[
    "optimizer_switch",
    "optimizer_search_depth",
    "optimizer_prune_level",
    "optimizer_use_condition_selectivity",
    "optimizer_max_sel_arg_weight",
    "optimizer_extra_pruning_depth",
    "range_optimizer_max_mem_size",
    "eq_range_index_dive_limit",
    "max_seeks_for_key",
    "use_stat_tables",
    "join_cache_level",
    "join_buffer_size",
    "sort_buffer_size",
    "tmp_table_size",
    "max_heap_table_size",
];
/// Columns of the table, with and without two of them.
const COLUMNS: [&str; 2] = [
    "id\tselect_type\ttable\ttype\tpossible_keys\tkey\tkey_len\tref\trows\tExtra",
    "id\tselect_type\ttable\tpartitions\ttype\tpossible_keys\tkey\tkey_len\tref\trows\tfiltered\tExtra",
];

/// Looks at plans over the poller's own session, and reports them. Returns how many statements were executed as prepared ones.
///
/// # Errors
/// When the connection is lost.
pub fn look(
    (server, client): (&Server, &mut Client),
    wanted: &mut [Wanted],
    plans: &mut Plans,
    (about, rows): (&About<'_>, &mut Rows),
) -> Result<u32, ClientError> {
    let began = Instant::now();
    let mut executed = 0;
    if !server.is_saved() {
        find_examples((server, client), wanted)?;
        client.unkept(as_new_sessions)?;
    }
    for one in wanted.iter() {
        if let Some(kept) = plans::kept(server, one, Plan::of_table) {
            kept.into_iter().for_each(|explained| plans.tell(one, Ok(explained), about, rows));
            continue;
        }
        // One that no session was seen with yet has its turn later.
        let Some(example) = &one.example else {
            if about.is_last {
                let why = "no execution was seen with its values, which prepared statements keep apart from their text";
                plans.tell(one, Err(why.to_owned()), about, rows);
            }
            continue;
        };
        if began.elapsed() > BUDGET {
            break;
        }
        let explained = client.unkept(|client| explain(client, &one.heavy.database, &example.text));
        client.run(&format!("USE {HOME}"))?;
        executed += 2;
        let found = match explained {
            Ok((text, cost)) => {
                plans::keep(server, one, EXAMPLE, &text, cost);
                Plan::of_table(&text).ok_or_else(|| "its plan has no row".to_owned()).map(|mut plan| {
                    plan.set_cost(cost);
                    Explained { source: EXAMPLE, plan }
                })
            }
            Err(error) if error.is_refusal() => Err(plans::why(&error)),
            Err(error) => return Err(error),
        };
        plans.tell(one, found, about, rows);
    }
    Ok(executed)
}

/// Executions that the performance schema remembers: the latest one of each session.
fn find_examples((server, client): (&Server, &mut Client), wanted: &mut [Wanted]) -> Result<(), ClientError> {
    let is_digest = |id: &str| !id.is_empty() && id.bytes().all(|byte| byte.is_ascii_hexdigit());
    let ids = wanted.iter().filter(|one| one.example.is_none() && is_digest(&one.heavy.id));
    let ids: Vec<_> = ids.map(|one| format!("'{}'", one.heavy.id)).collect();
    if ids.is_empty() {
        return Ok(());
    }
    let sql = format!(
        "{MARK} SELECT DIGEST, CURRENT_SCHEMA, SQL_TEXT FROM performance_schema.events_statements_current WHERE SQL_TEXT IS NOT NULL \
         AND DIGEST IN ({})",
        ids.join(", ")
    );
    let mut found = Vec::new();
    let asked = client.each_hidden(&sql, &hides_text(2), &mut |row| {
        if let (Some(id), Some(database), Some(text)) = (row.text(0), row.text(1), row.text(2)) {
            found.push((id.to_owned(), database.to_owned(), text.to_owned()));
        }
    });
    match asked {
        Err(error) if !error.is_refusal() => return Err(error),
        _ => {}
    }
    for one in wanted.iter_mut().filter(|one| one.example.is_none()) {
        let fits = |(id, database, text): &&(String, String, String)| {
            // The server cuts a long text and ends it in points.
            *id == one.heavy.id && *database == one.heavy.database && is_planned(text) && !text.ends_with("...")
        };
        let text = found.iter().find(fits).map(|(_, _, text)| text);
        one.example = text.and_then(|text| server.observed().example(&one.heavy.digest, text, &one.heavy.database));
    }
    Ok(())
}

/// Plans are those of a session that begins now: a variable that was changed meanwhile holds for it.
fn as_new_sessions(client: &mut Client) -> Result<(), ClientError> {
    let names: Vec<_> = PLANNER.iter().map(|name| format!("'{name}'")).collect();
    let mut set: Vec<String> = Vec::new();
    let sql = format!("{MARK} SHOW GLOBAL VARIABLES WHERE Variable_name IN ({})", names.join(", "));
    let asked = client.each(&sql, &mut |row| set.extend(row.text(0).map(|name| format!("{name} = @@GLOBAL.{name}"))));
    match asked.and_then(|_| client.run(&format!("{MARK} SET SESSION {}", set.join(", ")))) {
        Err(error) if !error.is_refusal() => Err(error),
        _ => Ok(()),
    }
}

/// The plan's table, and its cost.
fn explain(client: &mut Client, database: &str, text: &str) -> Result<(String, Option<f64>), ClientError> {
    client.run(&format!("USE `{}`", database.replace('`', "``")))?;
    client.run(&format!("PREPARE {NAME}_cost FROM 'SHOW SESSION STATUS LIKE ''Last_query_cost'''"))?;
    let text = text.replace('\\', "\\\\").replace('\'', "''");
    client.run(&format!("PREPARE {NAME} FROM 'EXPLAIN FORMAT=TRADITIONAL {text}'"))?;
    let mut lines = String::new();
    let explained = client.each(&format!("EXECUTE {NAME}"), &mut |row| {
        if lines.is_empty() {
            lines.push_str(COLUMNS[usize::from(row.len() == 12)]);
        }
        let cells: Vec<_> = (0..row.len()).map(|at| row.text(at).unwrap_or("\\N").replace(['\t', '\n'], " ")).collect();
        lines.push('\n');
        lines.push_str(&cells.join("\t"));
    });
    let mut cost = None;
    if explained.is_ok() {
        client.each(&format!("EXECUTE {NAME}_cost"), &mut |row| cost = row.f64(1).filter(|cost| *cost > 0.0))?;
    }
    explained.map(|_| (lines, cost))
}
