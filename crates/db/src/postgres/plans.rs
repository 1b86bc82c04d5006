//! Plans of PostgreSQL, by EXPLAIN of a statement that is prepared and not executed: of the text with the values of an
//! execution where a session was seen with one, else of the text that `pg_stat_statements` has, whose plan is the one for any
//! values. The same way does on all versions; PostgreSQL 16 can do the second in one step.
//!
//! The session is separate and ends with the look: it logs in with what holds for the database now, and takes what holds
//! for the statement's user. It is read only, takes no lock for longer than it may wait for one, and never executes anything.

use std::time::{Duration, Instant};

use fenxi_model::{
    Rows,
    plan::Plan,
    statement::{Quotes, hidden},
};
use fenxi_wire::client::ClientError;
use rustc_hash::FxHashMap;

use super::{MARK, PREPARED, own, sessions::is_cut, statements::hides_text};
use crate::{
    client::Client,
    observed::body,
    plans::{self, EXAMPLE, Explained, GENERIC, Plans, Wanted},
    reading::About,
    server::Server,
};

/// How long a look may take in all.
const BUDGET: Duration = Duration::from_millis(500);
/// The longest text of a statement that is explained.
const TEXT: usize = 64 << 10;
/// How many texts are kept.
const TEXTS: usize = 200;

/// Settings of roles and databases that a plan depends on: whole names, or what they begin with.
const PLANNER: &[&str] = &[
    "search_path",
    "work_mem",
    "hash_mem_multiplier",
    "enable_",
    "seq_page_cost",
    "random_page_cost",
    "cpu_",
    "parallel_",
    "effective_cache_size",
    "min_parallel_",
    "max_parallel_workers",
    "from_collapse_limit",
    "join_collapse_limit",
    "geqo",
    "cursor_tuple_fraction",
    "constraint_exclusion",
    "debug_parallel_query",
    "force_parallel_mode",
];

/// Executions that sessions did last, which PostgreSQL numbers since 14.
///
/// # Errors
/// When the connection is lost.
pub fn find_examples(client: &mut Client, server: &Server, wanted: &mut [Wanted]) -> Result<(), ClientError> {
    let ids = wanted.iter().filter(|one| one.example.is_none() && is_number(&one.heavy.id));
    let ids: Vec<_> = ids.map(|one| one.heavy.id.clone()).collect();
    if ids.is_empty() || client.is_saved() {
        return Ok(());
    }
    let sql = format!(
        "SELECT {MARK} query_id, datname, left(query, 4096) FROM pg_stat_activity WHERE query_id IN ({}) AND pid <> pg_backend_pid()",
        ids.join(", ")
    );
    let asked = client.each_hidden(&sql, &hides_text(2), &mut |row| {
        if let (Some(id), Some(database), Some(text)) = (row.text(0), row.text(1), row.text(2))
            && !is_cut(text)
            && let Some(one) = wanted.iter_mut().find(|one| one.heavy.id == id && one.heavy.database == database)
        {
            one.example = server.observed().example(&one.heavy.digest, text, database);
        }
    });
    match asked {
        Err(error) if !error.is_refusal() => Err(error),
        _ => Ok(()),
    }
}

/// Whether it is a number that a server gives statements.
fn is_number(id: &str) -> bool {
    !id.is_empty() && id.bytes().all(|byte| byte.is_ascii_digit() || byte == b'-')
}

/// Texts of statements with places for values, by the server's number.
#[derive(Debug, Default)]
pub struct Texts(FxHashMap<String, String>);

impl Texts {
    /// Asks for those that are wanted, where the extension's view is.
    ///
    /// # Errors
    /// When the connection is lost.
    pub fn learn(&mut self, client: &mut Client, view: &str, wanted: &[Wanted]) -> Result<(), ClientError> {
        let ids = wanted.iter().map(|wanted| wanted.heavy.id.as_str());
        let ids: Vec<_> = ids.filter(|id| is_number(id) && !self.0.contains_key(*id)).collect();
        if ids.is_empty() || client.is_saved() {
            return Ok(());
        }
        if self.0.len() > TEXTS {
            self.0.clear();
        }
        let texts = &mut self.0;
        let sql = format!(
            "SELECT {MARK} queryid, query FROM {view}(true) WHERE queryid IN ({}) AND length(query) < {TEXT}",
            ids.join(", ")
        );
        let asked = client.each_hidden(&sql, &hides_text(1), &mut |row| {
            if let (Some(id), Some(text)) = (row.text(0), row.text(1)) {
                texts.insert(id.to_owned(), text.to_owned());
            }
        });
        match asked {
            Err(error) if !error.is_refusal() => Err(error),
            _ => Ok(()),
        }
    }
}

impl Wanted {
    /// Texts that can be explained, and what their plans are.
    fn texts<'a>(&'a self, texts: &'a Texts) -> impl Iterator<Item = (&'static str, &'a str)> {
        let example = self.example.as_ref().filter(|example| example.database == self.heavy.database);
        let generic = texts.0.get(&self.heavy.id).map(|text| (GENERIC, body(text)));
        example.map(|example| (EXAMPLE, example.text.as_str())).into_iter().chain(generic)
    }
}

/// Looks at plans, and reports them.
pub fn look(
    server: &Server,
    wanted: &[Wanted],
    texts: &Texts,
    plans: &mut Plans,
    (about, rows): (&About<'_>, &mut Rows),
) {
    let began = Instant::now();
    let mut session: Option<Session> = None;
    for one in wanted {
        if let Some(kept) = plans::kept(server, one, Plan::of_postgres) {
            kept.into_iter().for_each(|explained| plans.tell(one, Ok(explained), about, rows));
            continue;
        }
        if began.elapsed() > BUDGET {
            break;
        }
        if session.as_ref().is_none_or(|session| session.client.database() != one.heavy.database) {
            session = None;
            match Session::begin(server, &one.heavy.database) {
                Ok(begun) => session = Some(begun),
                Err(why) => plans.tell(one, Err(why), about, rows),
            }
        }
        let Some(at) = &mut session else { continue };
        // Where neither an execution was seen nor the server has kept the text, its turn comes later.
        for (source, text) in one.texts(texts) {
            match at.explain(&one.heavy.user, text) {
                Ok(text) => {
                    let found = Plan::of_postgres(&text).map(|plan| Explained { source, plan });
                    plans::keep(server, one, source, &text, None);
                    plans.tell(one, found.ok_or_else(|| "there is no node in its plan".to_owned()), about, rows);
                }
                Err(error) => {
                    plans.tell(one, Err(plans::why(&error)), about, rows);
                    if !error.is_refusal() {
                        session = None;
                        break;
                    }
                }
            }
        }
    }
}

/// A session in a database.
struct Session {
    client: Client,
    /// Settings of databases and roles: the role, or none for all, the name and the value.
    settings: Vec<(String, String, String)>,
    /// The search path where no one sets another one.
    path: String,
    /// Whose settings hold, and their names.
    user: Option<String>,
    set: Vec<String>,
}

impl Session {
    fn begin(server: &Server, database: &str) -> Result<Session, String> {
        let client = server.client_for_plans(database).map_err(|error| error.to_string())?;
        Session::of(client).map_err(|error| error.to_string())
    }

    fn of(mut client: Client) -> Result<Session, ClientError> {
        // Partitions are left out of a generic plan when it is executed: all of them are to be seen.
        for (name, value) in [("plan_cache_mode", "force_generic_plan"), ("enable_partition_pruning", "off")] {
            client.run(&format!("SELECT {MARK} pg_catalog.set_config('{name}', '{value}', false)"))?;
        }
        client.run(&reset("max_parallel_workers_per_gather"))?;
        let mut path = String::new();
        let sql = format!("SELECT {MARK} reset_val FROM pg_catalog.pg_settings WHERE name = 'search_path'");
        client.each(&sql, &mut |row| row.text(0).unwrap_or_default().clone_into(&mut path))?;
        let mut settings = Vec::new();
        let sql = format!(
            "SELECT {MARK} coalesce(r.rolname, ''), c FROM pg_catalog.pg_db_role_setting s LEFT JOIN pg_catalog.pg_roles r ON r.oid = s.setrole, \
             unnest(s.setconfig) AS c WHERE s.setdatabase IN (0, (SELECT oid FROM pg_catalog.pg_database WHERE datname = current_database())) \
             ORDER BY s.setrole <> 0, s.setdatabase <> 0"
        );
        client.each(&sql, &mut |row| {
            if let (Some(role), Some((name, value))) = (row.text(0), row.text(1).and_then(|one| one.split_once('='))) {
                settings.push((role.to_owned(), name.to_owned(), value.to_owned()));
            }
        })?;
        Ok(Session { client, settings, path, user: None, set: Vec::new() })
    }

    /// Lets hold what holds for a user.
    fn become_user(&mut self, user: &str) -> Result<(), ClientError> {
        if self.user.as_deref() == Some(user) {
            return Ok(());
        }
        for name in std::mem::take(&mut self.set) {
            self.client.run(&reset(&name))?;
        }
        let mut path = self.path.clone();
        let of_user = self.settings.iter().filter(|(role, ..)| role.is_empty() || role == user);
        for (_, name, value) in of_user.cloned().collect::<Vec<_>>() {
            if name == "search_path" {
                path = value;
            } else if PLANNER.iter().any(|begin| name.starts_with(begin)) && name != "enable_partition_pruning" {
                self.set(&name, &value)?;
            }
        }
        let own = format!("\"{}\"", user.replace('"', "\"\""));
        self.set("search_path", &path.replace("\"$user\"", &own).replace("$user", &own))?;
        self.user = Some(user.to_owned());
        Ok(())
    }

    /// A setting that the server refuses stays as it is.
    fn set(&mut self, name: &str, value: &str) -> Result<(), ClientError> {
        let quoted = |text: &str| text.replace('\'', "''");
        let sql = format!("SELECT {MARK} pg_catalog.set_config('{}', '{}', false)", quoted(name), quoted(value));
        match self.client.run(&sql) {
            Ok(_) => self.set.push(name.to_owned()),
            Err(error) if error.is_refusal() => {}
            Err(error) => return Err(error),
        }
        Ok(())
    }

    /// The text of a plan, without values.
    fn explain(&mut self, user: &str, text: &str) -> Result<String, ClientError> {
        self.become_user(user)?;
        let explained = self.plan(text);
        own::publish(&mut self.client)?;
        explained
    }

    fn plan(&mut self, text: &str) -> Result<String, ClientError> {
        // Of several statements in one text a server prepares none.
        self.client.each_again(&format!("PREPARE {MARK} {PREPARED} AS {text}"), &mut |_| ())?;
        let sql = format!(
            "SELECT {MARK} coalesce(pg_catalog.array_length(parameter_types, 1), 0) FROM pg_catalog.pg_prepared_statements WHERE name = '{PREPARED}'"
        );
        let values = self.client.number(&sql)?.unwrap_or_default();
        let values = vec!["NULL"; usize::try_from(values).unwrap_or_default()].join(", ");
        let values = if values.is_empty() { values } else { format!("({values})") };
        let mut lines = String::new();
        let explained = self.client.each(&format!("EXPLAIN {MARK} EXECUTE {PREPARED}{values}"), &mut |row| {
            lines.push_str(&without_values(row.text(0).unwrap_or_default()));
            lines.push('\n');
        });
        self.client.run(&format!("DEALLOCATE {MARK} {PREPARED}"))?;
        explained.map(|_| lines)
    }
}

/// Sets what held at the login.
fn reset(name: &str) -> String {
    let name = name.replace('\'', "''");
    format!(
        "SELECT {MARK} pg_catalog.set_config(name, reset_val, false) FROM pg_catalog.pg_settings WHERE name = '{name}'"
    )
}

/// A line of a plan without the values in its condition.
fn without_values(line: &str) -> String {
    if line.contains("  (cost=") {
        return line.to_owned();
    }
    match line.split_once(": ") {
        Some((key, condition)) => format!("{key}: {}", hidden(condition, Quotes::Standard)),
        None => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kept_plan_has_no_value() {
        let line = "        Filter: ((status = 'secret'::text) AND (n > 4711))";
        assert_eq!(without_values(line), "        Filter: ((status = ?::text) and (n > ?))");
        assert_eq!(without_values(" Sort  (cost=1.0..2.0 rows=3 width=4)"), " Sort  (cost=1.0..2.0 rows=3 width=4)");
    }
}
