//! Questions of poolers, plans, memory and free space on rows with answers calculated by hand.

use fenxi_model::{
    Rows,
    catalog::{db_pool, db_setting, db_table, event, metric, page_cache},
};

use crate::store::{TestStore, at};

const POOLER: &str = "localhost:6432";
const SERVER: &str = "localhost:5432";

/// A pool of five connections with two clients that wait in the second second.
fn pool(rows: &mut Rows) {
    for (second, waiting) in [(1.0, 0.0), (2.0, 2.0)] {
        let mut row = |user: Option<&str>| {
            let mut row = rows.row(&db_pool::TABLE, at(second), 1.0);
            row.str(db_pool::server, POOLER).str(db_pool::database, "shop").str(db_pool::user, user);
            match user {
                Some(_) => row
                    .f64(db_pool::clients_waiting, waiting)
                    .f64(db_pool::clients_active, 5.0)
                    .f64(db_pool::size_limit, 5.0),
                None => row.f64(db_pool::transactions_per_s, 100.0).f64(db_pool::wait_time, waiting),
            };
        };
        row(Some("web"));
        row(None);
    }
}

/// A statement that had two plans, in lines of a log as they are imported.
fn plans(rows: &mut Rows) {
    for (second, ms, plan) in [
        (1.0, 2.0, "Index Scan using t_pkey on t  (cost=0.1..8 rows=1 width=4)"),
        (2.0, 4.0, "Index Scan using t_pkey on t  (cost=0.1..9 rows=2 width=4)"),
        (3.0, 90.0, "Seq Scan on t  (cost=0..900 rows=90 width=4) (actual time=0.1..9 rows=1 loops=1)"),
    ] {
        let message = format!("{ms:.3} ms: SELECT a FROM t WHERE id = ?\n{plan}");
        rows.row(&event::TABLE, at(second), None).str(event::kind, "plan").text(event::message, message.as_str());
    }
    // A plan in JSON has no nodes here.
    rows.row(&event::TABLE, at(4.0), None).str(event::kind, "plan").text(event::message, "1.000 ms: SELECT ?");
}

fn memory(rows: &mut Rows) {
    for (name, value, unit) in [("data_directory", "/data", None), ("shared_buffers", "1000", Some("8kB"))] {
        rows.row(&db_setting::TABLE, at(0.0), None)
            .str(db_setting::server, SERVER)
            .str(db_setting::name, name)
            .str(db_setting::unit, unit)
            .text(db_setting::value, value);
    }
    for (second, cached) in [(5.0, 3e6), (15.0, 4e6)] {
        rows.row(&page_cache::TABLE, at(second), 10.0)
            .str(page_cache::kind, "postgres")
            .str(page_cache::place, "/data")
            .f64(page_cache::cached_bytes, cached);
    }
    rows.row(&metric::TABLE, at(10.0), 10.0)
        .str(metric::name, "db_private_memory")
        .str(metric::labels, format!("server={SERVER}").as_str())
        .f64(metric::value, 7e6);
}

/// All of it.
pub fn rows(rows: &mut Rows) {
    pool(rows);
    plans(rows);
    memory(rows);
    rows.row(&db_table::TABLE, at(10.0), 10.0)
        .str(db_table::server, SERVER)
        .str(db_table::database, "shop")
        .str(db_table::relation, "public.old")
        .f64(db_table::size_bytes, 8e6)
        .f64(db_table::free_bytes, 6e6);
}

#[test]
fn pools_plans_memory_and_free_space() {
    let mut s = TestStore::new();
    s.run("shop", 10.0, rows);
    let pools = s.ask("db-pools");
    // t, dt, pool, waiting, active, servers active and idle, limit.
    assert_eq!(pools[1][1..8], ["1", "localhost:6432 shop/web", "2", "5", "-", "-", "5"]);
    let plans: Vec<_> =
        s.ask("db-plans").into_iter().map(|row| (row[1].clone(), row[2].clone(), row[7].clone())).collect();
    let found: Vec<_> = plans.iter().map(|(of, seen, plan)| (of.as_str(), seen.as_str(), plan.as_str())).collect();
    assert_eq!(found, [("2", "2", "Index Scan using t_pkey on t"), ("2", "1", "Seq Scan on t")]);
    // Size of the page cache when memory was read, not later.
    assert_eq!(s.ask("db-memory")[0][2..6], [SERVER, "7000000", "8192000", "3000000"]);
    assert_eq!(s.ask("db-bloat")[0][2..6], ["public.old", "8000000", "6000000", "75"]);
}
