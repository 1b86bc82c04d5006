//! Plans that change while servers are observed, each for another reason, and plans that do not.

use std::time::{Duration, Instant};

use fenxi_model::{
    Rows,
    catalog::{db_plan, db_session, db_statement},
};
use fenxi_wire::client::Client;

use crate::{
    observe::{begin, events, notes, places},
    server::{Server, postgres_programs, skipped},
    versions::{MORE, fetched, readable},
};

const STATEMENTS: &[&str] = &["-c", "shared_preload_libraries=pg_stat_statements"];

/// Executes a statement for some time.
fn work(client: &mut Client, sql: &str, seconds: f64) {
    let began = Instant::now();
    while began.elapsed() < Duration::from_secs_f64(seconds) {
        client.run(sql).unwrap();
    }
}

/// Rows observed of a statement before and after something happens.
fn observed(server: &Server, database: &str, sql: &str, happens: impl FnOnce(&mut Client)) -> Rows {
    let mut client = server.client(database);
    work(&mut client, sql, 0.3);
    let mut observation = begin(&server.url(database), 20).unwrap();
    // Where no one counts statements, samples of a second know them first.
    work(&mut client, sql, 2.5);
    observation.go_on(0.1);
    happens(&mut client);
    work(&mut client, sql, 2.5);
    observation.end()
}

/// Plans of statements whose text begins so: shape and change.
fn plans(rows: &Rows, begin: &str) -> Vec<(String, Option<String>)> {
    let Some(plans) = rows.of(&db_plan::TABLE) else { return Vec::new() };
    let found = places(rows, &db_plan::TABLE, |row| {
        plans.str(row, db_plan::statement).is_some_and(|text| text.starts_with(begin))
    });
    let text = |row, place| plans.str(row, place).map(str::to_owned);
    found.into_iter().map(|row| (text(row, db_plan::shape).unwrap(), text(row, db_plan::change))).collect()
}

/// The change of the statement that changed.
fn change(rows: &Rows, begin: &str) -> String {
    let all = plans(rows, begin);
    all.iter().find_map(|(_, change)| change.clone()).unwrap_or_else(|| format!("none of {all:?}; {:?}", notes(rows)))
}

/// A table with an index that finds a hundred of a hundred thousand rows.
const ORDERS: &[&str] = &[
    "CREATE TABLE orders (id int PRIMARY KEY, customer int, status varchar(10), v varchar(40))",
    "CREATE INDEX orders_customer ON orders (customer)",
];
const BY_CUSTOMER: &str = "SELECT count(v) FROM orders WHERE customer = 7";

fn postgres(server: &Server, name: &str) -> Client {
    server.client("postgres").run(&format!("CREATE DATABASE {name}")).unwrap();
    let mut client = server.client(name);
    client.run("CREATE EXTENSION IF NOT EXISTS pg_stat_statements").unwrap();
    // Statements of other databases took more time before: they would be looked at first.
    client.run("SELECT pg_stat_statements_reset()").unwrap();
    for sql in ORDERS {
        client.run(sql).unwrap();
    }
    client
        .run("INSERT INTO orders SELECT i, i % 1000, 'done', 'some words' FROM generate_series(1, 100000) i")
        .unwrap();
    client.run("ANALYZE").unwrap();
    client
}

/// Five reasons, each in its own database; what each changed.
fn five_of_postgres(server: &Server) -> Vec<String> {
    let mut all = Vec::new();
    let mut run = |name: &str, sql: &str, happens: &[&str]| {
        postgres(server, name);
        let rows = observed(server, name, sql, |client| {
            for sql in happens {
                client.run(sql).unwrap();
            }
        });
        let begin = "select count(v)";
        assert!(rows.of(&db_statement::TABLE).is_some());
        no_statement_of_ours(&rows);
        all.push(change(&rows, begin));
    };
    run("dropped", BY_CUSTOMER, &["DROP INDEX orders_customer"]);
    // Wrong statistics of the values.
    run(
        "statistics",
        BY_CUSTOMER,
        &[
            "ALTER TABLE orders ALTER customer SET (n_distinct = 1)",
            "UPDATE pg_statistic SET stanumbers1 = NULL, \
         stakind1 = 0, stavalues1 = NULL, stadistinct = 1 WHERE starelid = 'orders'::regclass AND staattnum = 2",
        ],
    );
    run("parameter", BY_CUSTOMER, &["ALTER DATABASE parameter SET random_page_cost = 100000"]);
    // A table that was small when it was analysed.
    run(
        "loaded",
        "SELECT count(v) FROM orders JOIN (SELECT 7 AS c) x ON customer = c WHERE customer = 7",
        &["INSERT INTO orders SELECT i, 7, 'done', 'more' FROM generate_series(100001, 400000) i", "ANALYZE orders"],
    );
    all
}

/// Nothing that we asked is in a figure.
fn no_statement_of_ours(rows: &Rows) {
    let statements = rows.of(&db_statement::TABLE);
    for row in 0..statements.map_or(0, |statements| statements.n_rows()) {
        let text = statements.and_then(|statements| statements.str(row, db_statement::statement)).unwrap_or_default();
        for word in ["explain", "fenxi_db", "deallocate", "set_config", "show s"] {
            assert!(!text.contains(word), "{text}");
        }
    }
    if let Some(sessions) = rows.of(&db_session::TABLE) {
        let own = places(rows, &db_session::TABLE, |row| {
            sessions.str(row, db_session::application).is_some_and(|name| name.starts_with("fenxi-db"))
        });
        assert!(own.is_empty());
    }
}

#[test]
fn plans_of_postgresql_that_change_are_named_with_the_relation() {
    if postgres_programs().is_none() {
        return skipped("PostgreSQL", "it is not installed");
    }
    let Some(server) = Server::postgres_with(STATEMENTS) else { return };
    let all = five_of_postgres(&server);
    for told in &all {
        assert!(
            told.starts_with("orders: bitmap heap scan using orders_customer → ") && told.ends_with("sequential scan"),
            "{all:?}"
        );
    }
}

#[test]
fn plans_of_every_version_of_postgresql_are_seen() {
    for version in [12, 13, 14, 16, 17, 18] {
        let Some(programs) = fetched(version) else {
            skipped(&format!("PostgreSQL {version}"), "scripts/postgres-versions has not fetched it");
            continue;
        };
        let folder = tempfile::tempdir().unwrap();
        let bin = readable(&programs, folder.path()).join("bin");
        let server = Server::postgres_of(&bin, &bin.join("postgres"), &MORE);
        postgres(&server, "shop");
        let rows =
            observed(&server, "shop", BY_CUSTOMER, |client| _ = client.run("DROP INDEX orders_customer").unwrap());
        let told = change(&rows, "select count(v)");
        assert_eq!(told, "orders: bitmap heap scan using orders_customer → sequential scan", "{version}");
        no_statement_of_ours(&rows);
    }
}

#[test]
fn a_constant_plan_and_what_moves_by_itself_are_no_change() {
    let Some(server) = Server::postgres_with(STATEMENTS) else { return skipped("PostgreSQL", "it is not installed") };
    postgres(&server, "constant");
    let rows = observed(&server, "constant", BY_CUSTOMER, |client| {
        // A few more rows of all customers, and statistics that know it.
        client
            .run("INSERT INTO orders SELECT i, i % 1000, 'done', 'w' FROM generate_series(100001, 105000) i")
            .unwrap();
        client.run("ANALYZE").unwrap();
        client.run("ANALYZE").unwrap();
    });
    let all = plans(&rows, "select count(v)");
    assert!(!all.is_empty() && all.iter().all(|(_, change)| change.is_none()), "{all:?}");
    // A month comes, and another gets another name.
    let mut client = server.client("constant");
    client.run("CREATE TABLE parts (id int, n int, v text) PARTITION BY RANGE (id)").unwrap();
    for n in 0..3 {
        let (from, to) = (n * 10_000, (n + 1) * 10_000);
        client.run(&format!("CREATE TABLE part_{n} PARTITION OF parts FOR VALUES FROM ({from}) TO ({to})")).unwrap();
    }
    client.run("CREATE INDEX ON parts (n)").unwrap();
    client.run("INSERT INTO parts SELECT i, i, 'w' FROM generate_series(0, 29999) i").unwrap();
    client.run("ANALYZE").unwrap();
    let rows = observed(&server, "constant", "SELECT count(v), pg_sleep(0.005) FROM parts WHERE n = 7", |client| {
        client.run("ALTER TABLE part_0 RENAME TO part_old").unwrap();
        client.run("ALTER INDEX part_0_n_idx RENAME TO other_idx").unwrap();
        client.run("CREATE TABLE part_3 PARTITION OF parts FOR VALUES FROM (30000) TO (40000)").unwrap();
        client.run("INSERT INTO parts SELECT i, i, 'w' FROM generate_series(30000, 39999) i").unwrap();
        client.run("ANALYZE").unwrap();
    });
    let all = plans(&rows, "select count(v), pg_sleep");
    assert!(!all.is_empty() && all.iter().all(|(_, change)| change.is_none()), "{all:?}");
    assert!(!events(&rows).iter().any(|kind| kind == "plan changed"));
    assert!(all[0].0.contains("on partitions of parts by "), "{all:?}");
}

#[test]
fn a_statement_that_changes_data_is_explained_and_not_executed() {
    let Some(server) = Server::postgres_with(STATEMENTS) else { return skipped("PostgreSQL", "it is not installed") };
    let mut client = postgres(&server, "changed");
    client.run("ALTER TABLE orders ADD n int DEFAULT 0").unwrap();
    let program = "UPDATE orders SET n = n + 1 WHERE customer = 7 AND n < 100000000";
    let rows = observed(&server, "changed", program, |_| {});
    assert!(plans(&rows, "update orders").first().is_some_and(|(shape, _)| shape.starts_with("update on orders\n")));
    // One as many updates as the test made: all rows of the customer have one number.
    let numbers = client.rows("SELECT count(DISTINCT n) FROM orders WHERE customer = 7").unwrap();
    assert_eq!(numbers[0][0].as_deref(), Some("1"));
    let calls = client.rows("SELECT sum(calls) FROM pg_stat_statements WHERE query LIKE 'UPDATE orders%'").unwrap();
    let n = client.rows("SELECT max(n) FROM orders").unwrap();
    assert_eq!(calls, n);
}

fn mariadb(server: &Server, name: &str) -> Client {
    server.client("mysql").run(&format!("CREATE DATABASE {name}")).unwrap();
    let mut client = server.client(name);
    for sql in ORDERS {
        client.run(sql).unwrap();
    }
    client.run("INSERT INTO orders WITH RECURSIVE s AS (SELECT 1 AS i UNION ALL SELECT i + 1 FROM s WHERE i < 900) \
         SELECT a.i * 1000 + b.i, (a.i * 37 + b.i) % 1000, 'done', 'words' FROM s a JOIN s b ON b.i <= 60 WHERE a.i <= 900").unwrap();
    client.run("ANALYZE TABLE orders").unwrap();
    client
}

fn five_of_mysql(server: &Server) -> Vec<String> {
    let mut all = Vec::new();
    let mut run = |name: &str, sql: &str, happens: &[&str]| {
        mariadb(server, name);
        let rows = observed(server, name, sql, |client| {
            for sql in happens {
                client.run(sql).unwrap();
            }
        });
        no_statement_of_ours(&rows);
        all.push(change(&rows, "select count(v)"));
    };
    run("dropped", BY_CUSTOMER, &["DROP INDEX orders_customer ON orders"]);
    run("hidden", BY_CUSTOMER, &["ALTER TABLE orders ADD KEY other (customer, v), DROP KEY orders_customer"]);
    run(
        "statistics",
        BY_CUSTOMER,
        &["SET SESSION sql_mode = ''", "UPDATE orders SET customer = 7", "ANALYZE TABLE orders"],
    );
    run("parameter", BY_CUSTOMER, &["ALTER TABLE orders ALTER INDEX orders_customer IGNORED"]);
    run(
        "loaded",
        BY_CUSTOMER,
        &["INSERT INTO orders SELECT id + 10000000, 7, status, v FROM orders", "ANALYZE TABLE orders"],
    );
    all
}

#[test]
fn plans_of_mariadb_that_change_are_named_with_the_relation() {
    for schema in ["ON", "OFF"] {
        let Some(server) = Server::mariadb_with(&[&format!("--performance-schema={schema}")]) else {
            return skipped("MariaDB", "it is not installed");
        };
        let all = five_of_mysql(&server);
        assert!(all.iter().all(|told| told.starts_with("orders: index lookup")), "{schema}: {all:?}");
    }
}

#[test]
fn a_variable_that_holds_for_new_sessions_changes_a_plan_of_mariadb() {
    let Some(server) = Server::mariadb() else { return skipped("MariaDB", "it is not installed") };
    mariadb(&server, "switch");
    let sql =
        "SELECT count(v) FROM orders WHERE customer IN (SELECT customer FROM orders WHERE id BETWEEN 2000 AND 2010)";
    let rows = observed(&server, "switch", sql, |client| {
        client.run("SET GLOBAL optimizer_switch = 'semijoin=off,materialization=off'").unwrap();
    });
    let told = change(&rows, "select count(v)");
    assert!(told.contains("orders") && told.contains(" → "), "{told}");
    // Before it nothing changed.
    let all = plans(&rows, "select count(v)");
    assert_eq!(all.iter().filter(|(_, change)| change.is_some()).count(), 1, "{all:?}");
}
