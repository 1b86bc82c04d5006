//! Figures of `fenxi db report` against the same window calculated by SQL from the server's counters, with the definitions of
//! pgstatspack and pg_profile: within 1 %.

use std::{collections::BTreeMap, time::Duration};

use fenxi_wire::client::Client;
use serde_json::Value;

use crate::{
    server::{Server, skipped},
    support::Fenxi,
};

/// Counters by name.
type Counters = BTreeMap<String, f64>;

/// Counters of PostgreSQL: those of the whole server, of a database, a table, an index and a statement.
const POSTGRES: &[(&str, &str)] = &[
    ("all.transactions", "xact_commit + xact_rollback FROM pg_stat_database"),
    ("all.inserted", "tup_inserted FROM pg_stat_database"),
    ("all.wal", "pg_current_wal_insert_lsn() - '0/0'"),
    ("database.transactions", "xact_commit + xact_rollback FROM pg_stat_database WHERE datname = 'shop'"),
    ("database.returned", "tup_returned FROM pg_stat_database WHERE datname = 'shop'"),
    ("database.updated", "tup_updated FROM pg_stat_database WHERE datname = 'shop'"),
    ("database.blocks", "blks_hit + blks_read FROM pg_stat_database WHERE datname = 'shop'"),
    ("database.hit", "blks_hit FROM pg_stat_database WHERE datname = 'shop'"),
    ("database.read", "blks_read FROM pg_stat_database WHERE datname = 'shop'"),
    ("table.seq_scan", "seq_scan FROM pg_stat_user_tables WHERE relname = 'a'"),
    ("table.idx_scan", "idx_scan FROM pg_stat_user_tables WHERE relname = 'a'"),
    ("table.inserted", "n_tup_ins FROM pg_stat_user_tables WHERE relname = 'a'"),
    ("table.deleted", "n_tup_del FROM pg_stat_user_tables WHERE relname = 'a'"),
    ("table.heap_hit", "heap_blks_hit FROM pg_statio_user_tables WHERE relname = 'a'"),
    ("table.idx_hit", "idx_blks_hit FROM pg_statio_user_tables WHERE relname = 'a'"),
    ("index.idx_scan", "idx_scan FROM pg_stat_user_indexes WHERE indexrelname = 'a_pkey'"),
    ("index.tup_read", "idx_tup_read FROM pg_stat_user_indexes WHERE indexrelname = 'a_pkey'"),
    ("statement.calls", "calls FROM pg_stat_statements WHERE query LIKE 'INSERT INTO a%'"),
    ("statement.time", "total_exec_time / 1000 FROM pg_stat_statements WHERE query LIKE 'INSERT INTO a%'"),
    ("statement.wal", "wal_bytes FROM pg_stat_statements WHERE query LIKE 'INSERT INTO a%'"),
];

/// Section, line, column and the counter whose growth is its value times the seconds.
const OF_POSTGRES: &[(&str, &str, &str, &str)] = &[
    ("load-profile", "transactions", "per_second", "all.transactions"),
    ("load-profile", "rows inserted", "per_second", "all.inserted"),
    ("load-profile", "log", "per_second", "all.wal"),
    ("databases", "shop", "transactions_per_s", "database.transactions"),
    ("databases", "shop", "rows_per_s", "database.returned"),
    ("databases", "shop", "logical_reads_per_s", "database.blocks"),
    ("databases", "shop", "updates_per_s", "database.updated"),
    ("tables-read", "public.a", "full_scans_per_s", "table.seq_scan"),
    ("tables-read", "public.a", "index_scans_per_s", "table.idx_scan"),
    ("tables-read", "public.a", "table_hits_per_s", "table.heap_hit"),
    ("tables-read", "public.a", "index_hits_per_s", "table.idx_hit"),
    ("tables-changed", "public.a", "inserts_per_s", "table.inserted"),
    ("tables-changed", "public.a", "deletes_per_s", "table.deleted"),
    ("indexes", "a_pkey", "scans_per_s", "index.idx_scan"),
    ("indexes", "a_pkey", "entries_read_per_s", "index.tup_read"),
    ("statements-time", "insert into a", "calls_per_s", "statement.calls"),
    ("statements-time", "insert into a", "running", "statement.time"),
    ("statements-wal", "insert into a", "per_second", "statement.wal"),
];

const MARIADB: &[(&str, &str)] = &[
    ("rows inserted", "Handler_write"),
    ("rows updated", "Handler_update"),
    ("rows deleted", "Handler_delete"),
    ("logical reads", "Innodb_buffer_pool_read_requests"),
    ("log", "Innodb_os_log_written"),
];

/// Whether counters are those of another database than ours.
fn is_from_without(name: &str) -> bool {
    name.starts_with("all.") || name.starts_with("database.")
}

fn counters(client: &mut Client, is_wanted: impl Fn(&str) -> bool) -> Counters {
    let mut number = |sql: &str| {
        let sql = if sql.contains(" FROM") { sql.replacen(" FROM", ") FROM", 1) } else { format!("{sql})") };
        client.rows(&format!("SELECT sum({sql}")).unwrap()[0][0].as_deref().unwrap_or("0").parse::<f64>().unwrap()
    };
    let wanted = POSTGRES.iter().filter(|(name, _)| is_wanted(name));
    wanted.map(|(name, sql)| ((*name).to_owned(), number(sql))).collect()
}

/// Waits until the counts of a session that has ended are published.
fn published() {
    std::thread::sleep(Duration::from_millis(1100));
}

/// Value of a figure of the report: of the first line whose keys or text begin so.
fn figure(report: &Value, (section, line, column): (&str, &str, &str)) -> f64 {
    let sections = report["sections"].as_array().unwrap();
    let found = sections.iter().find(|one| one["id"] == section).unwrap_or_else(|| panic!("no {section}"));
    let place = found["columns"].as_array().unwrap().iter().position(|one| one["name"] == column);
    let place = place.unwrap_or_else(|| panic!("{section} has no {column}"));
    let is_it = |one: &&Value| {
        let begins = |text: &Value| text.as_str().is_some_and(|text| text.starts_with(line));
        begins(&one["text"]) || one["keys"].as_array().unwrap().iter().any(|key| key == line)
    };
    let found = found["lines"].as_array().unwrap().iter().find(is_it).unwrap_or_else(|| panic!("{section}: no {line}"));
    found["cells"][place][0]["value"].as_f64().unwrap_or_else(|| panic!("{section} {line} {column}: {found}"))
}

/// Figures that differ by more than 1 % from the growth of counters.
fn off(report: &Value, wanted: &[(&str, &str, &str, &str)], [before, after]: [&Counters; 2]) -> Vec<String> {
    let seconds = report["periods"][0]["seconds"].as_f64().unwrap();
    let mut wrong = Vec::new();
    for (section, line, column, counter) in wanted {
        let ours = figure(report, (section, line, column)) * seconds;
        let grown = after[*counter] - before[*counter];
        eprintln!("{section} {line} {column}: {ours:.1}, by SQL {grown:.1}");
        if grown <= 0.0 || (ours - grown).abs() > 0.01 * grown {
            wrong.push(format!("{section} {line} {column}: {ours:.2}, by SQL {grown:.2}"));
        }
    }
    wrong
}

fn work(server: &Server, database: &str) {
    let mut client = server.client(database);
    // Long rows: what the snapshots read themselves is to be next to nothing beside.
    let words = "words ".repeat(60);
    for n in 0..4_000 {
        client.run(&format!("INSERT INTO a VALUES ({n}, '{words}')")).unwrap();
    }
    client.run("UPDATE a SET v = concat(v, 'more') WHERE n % 2 = 0").unwrap();
    for n in 0..4_000 {
        client.run(&format!("SELECT v FROM a WHERE n = {n}")).unwrap();
    }
    for _ in 0..2_000 {
        client.run("SELECT count(v) FROM a").unwrap();
    }
    client.run("DELETE FROM a WHERE n % 4 = 0").unwrap();
    drop(client);
    published();
}

fn report(fenxi: &Fenxi) -> Value {
    serde_json::from_str(&fenxi.ok(&["db", "report", "before", "after", "--json"])).unwrap()
}

#[test]
fn figures_of_postgresql_are_those_of_its_counters() {
    let more = ["-c", "shared_preload_libraries=pg_stat_statements", "-c", "autovacuum=off"];
    let Some(server) = Server::postgres_with(&more) else { return skipped("PostgreSQL", "it is not installed") };
    let (fenxi, url) = (Fenxi::new(), server.url("postgres"));
    server.client("postgres").run("CREATE EXTENSION pg_stat_statements").unwrap();
    server.client("postgres").run("CREATE DATABASE shop").unwrap();
    let mut shop = server.client("shop");
    shop.run("CREATE EXTENSION pg_stat_statements").unwrap();
    shop.run("CREATE TABLE a (n int PRIMARY KEY, v text)").unwrap();
    drop(shop);
    // Who reads the counters of a database from within adds to them: those of tables are read from there outside of the interval,
    // in which no one else changes them.
    let within = |server: &Server| counters(&mut server.client("shop"), |name| !is_from_without(name));
    let mut before = within(&server);
    published();
    fenxi.ok(&["db", "snap", &url, "--name", "before", "-q"]);
    let mut client = server.client("postgres");
    before.extend(counters(&mut client, is_from_without));
    work(&server, "shop");
    let mut after = counters(&mut client, is_from_without);
    fenxi.ok(&["db", "snap", &url, "--name", "after", "-q"]);
    after.extend(within(&server));
    let report = report(&fenxi);
    let wrong = off(&report, OF_POSTGRES, [&before, &after]);
    assert!(wrong.is_empty(), "{wrong:#?}");
    let [hit, read] = ["database.hit", "database.read"].map(|name| after[name] - before[name]);
    let (ours, theirs) = (figure(&report, ("databases", "shop", "hit_pct")), 100.0 * hit / (hit + read));
    assert!((ours - theirs).abs() <= 1.0, "hit rate {ours}, by SQL {theirs}");
}

#[test]
fn figures_of_mariadb_are_those_of_its_counters() {
    let Some(server) = Server::mariadb() else { return skipped("MariaDB", "it is not installed") };
    let (fenxi, url) = (Fenxi::new(), server.url("mysql"));
    let mut client = server.client("mysql");
    client.run("CREATE DATABASE shop").unwrap();
    client.run("CREATE TABLE shop.a (n int PRIMARY KEY, v varchar(400))").unwrap();
    let mut counters = || {
        let rows = client.rows("SHOW GLOBAL STATUS").unwrap();
        let is_it =
            |row: &&Vec<Option<String>>, name: &str| row[0].as_deref().is_some_and(|of| of.eq_ignore_ascii_case(name));
        let value =
            |name: &str| rows.iter().find(|row| is_it(row, name)).unwrap_or_else(|| panic!("{name}"))[1].clone();
        let known = MARIADB.iter().map(|(line, name)| ((*line).to_owned(), value(name).unwrap().parse().unwrap()));
        known.collect::<Counters>()
    };
    fenxi.ok(&["db", "snap", &url, "--name", "before", "-q"]);
    let before = counters();
    work(&server, "shop");
    let after = counters();
    fenxi.ok(&["db", "snap", &url, "--name", "after", "-q"]);
    let wanted: Vec<_> = MARIADB.iter().map(|(line, _)| ("load-profile", *line, "per_second", *line)).collect();
    let wrong = off(&report(&fenxi), &wanted, [&before, &after]);
    assert!(wrong.is_empty(), "{wrong:#?}");
}
