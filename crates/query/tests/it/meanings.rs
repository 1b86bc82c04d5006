//! Columns that show trouble, and the findings that read them.

use std::collections::{BTreeMap, BTreeSet};

use fenxi_model::{Better, Shape, TABLES, catalog::disk};
use fenxi_query::{SHIPPED_FINDINGS, Scope};

use crate::store::{TestStore, at, fill_everything};

/// Columns with a bad direction that no finding reads, by the reason why none does: another column shows it, or it shows nothing by itself.
const UNREAD: &[(&str, &str)] = &[
    (
        "a part or another view of a column that a finding reads",
        "net.rx_fifo_per_s net.tx_fifo_per_s net.frame_errors_per_s net.carrier_errors_per_s \
         tcp.listen_drops_per_s tcp.timeouts_per_s tcp.fast_retransmits_per_s tcp.estab_resets_per_s \
         tcp.out_resets_per_s tcp.attempt_fails_per_s netns.attempt_fails_per_s netns.timeouts_per_s \
         udp.in_errors_per_s db_lock.depth db_replication.flush_lag_bytes db_replication.replay_lag_bytes \
         db_replication.flush_lag_s db.temp_files db_table.index_misses_per_s db_table.xid_age \
         db_statement.temp_read_bytes_per_s db_statement.temp_tables_per_s db_session.xmin_age db_replication.xmin_age disk.wait_ms \
         disk.svctm_ms disk.wait_util fs.used_bytes fs.inodes_free process.usr thread.usr process.rss_bytes \
         cgroup.usr cgroup.sys cgroup.throttled_time cgroup.cpu_some cgroup.cpu_full cgroup.memory_full \
         cgroup.io_some cgroup.io_full cgroup.major_faults_per_s cgroup.swap_bytes cpu_time.sys_cpus \
         cpu_time.irq_cpus cpu_time.steal_cpus vm.steal_direct_pages_per_s mem.swap_used_bytes sched.swapped \
         load.latency_min_ms load.latency_sd_ms db_wal.write_time db_wal.sync_time db_checkpoint.sync_time \
         db_io.read_time db_io.write_time db_io.extend_time db_io.fsync_time db_table.read_time \
         db_table.write_time process.io_wait",
    ),
    (
        "a mean over time of what is no queue: blocked tasks are in it, and the minutes before",
        "sched.load1 sched.load5 sched.load15",
    ),
    (
        "how long something takes, which is long or short only against another run",
        "load.latency_p50_ms load.latency_p90_ms load.latency_p95_ms load.latency_p99_ms load.latency_p999_ms \
         load.latency_max_ms db.oldest_statement_s db_statement.sd_ms db_session.statement_age_s \
         io_pattern.mean_us block_io.queue_us block_io.device_us run_queue.waited_s run_queue.mean_us \
         query.queries query.mean_us query.max_us query.cpu_us query.run_queue_us query.block_io_us query.lock_us \
         query.network_us query.other_us disk.discard_await_ms syscall.elapsed_s syscall.cpu_s \
         preemption.preemptions preemption.waited_s pin.events pin.pinned_s pin.run_queue_wait_s \
         agent.round_trip_s load.queue_length db_pool.transactions_per_s db_pool.statements_per_s \
         lock.max_us load.transfer_bytes_per_s db_plan.elapsed_ms db_statement_wait.mean_ms db_statement_wait.time db_statement_wait.waits_per_s",
    ),
    (
        "how much there is of something that is there on purpose, or that its operator knows",
        "agent.sent_bytes_per_s agent.waiting agent.cpu_pct mem.dirty_bytes mem.writeback_bytes \
         cache_access.hit_ratio cache_access.misses cache_access.removed page_cache.unread_files page_cache.unread_processes page_cache.dirty_bytes file_cache.dirty_bytes \
         file_cache.writeback_bytes file_cache.recently_evicted_bytes db_session.rows_locked \
         db_session.memory_bytes db_table.free_bytes db_table.modified_since_analyze db_table.analyze_age_s \
         db_table.rows_newpage_updated_per_s db_lock.blocker_transaction_age_s db_wal.commits_per_sync \
         cpu.freq_hz softnet.backlog cpu_idle.too_deep cpu_idle.too_shallow load.retries_per_s load.reconnects_per_s",
    ),
    (
        "normal to some unknown rate, or of systems whose tools print nothing beside it",
        "net.collisions_per_s net.saturation_per_s tcp.in_errors_per_s tcp.syncookies_per_s \
         tcp.receive_pruned_per_s udp.no_ports_per_s udp.send_buffer_errors_per_s udp.checksum_errors_per_s \
         softnet.flow_limits_per_s db.sessions_abandoned db.slow_statements_per_s db.threads_created_per_s \
         process.involuntary_switches_per_s thread.involuntary_switches_per_s cpu.involuntary_switches_per_s \
         gpu.pcie_replays cpu.cross_calls_per_s cpu.rwlock_spins_per_s thread.text_fault thread.data_fault thread.lock_wait \
         vm.compact_stalls_per_s vm.refaults_anon_per_s vm.thp_splits_per_s syscall.errors db.round_trip_ms tcp.send_buffer_limited",
    ),
];

/// Names in SQL, without its comments.
fn words(sql: &str) -> BTreeSet<String> {
    let code = sql.lines().filter(|line| !line.starts_with("--"));
    let split =
        |line: &str| line.split(|c: char| !c.is_alphanumeric() && c != '_').map(str::to_owned).collect::<Vec<_>>();
    code.flat_map(split).collect()
}

/// Names that a finding reads, with those of the views that it names.
fn names_of(sql: &str, views: &BTreeMap<String, BTreeSet<String>>) -> BTreeSet<String> {
    let mut names = words(sql);
    let read: Vec<_> = views.iter().filter(|(name, _)| names.contains(*name)).map(|(_, words)| words.clone()).collect();
    names.extend(read.into_iter().flatten());
    names
}

#[test]
fn a_column_that_tells_of_trouble_is_read_by_a_finding_or_somebody_said_why_not() {
    let views: BTreeMap<String, BTreeSet<String>> = fs_err::read_dir("src/derived")
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .map(|path| {
            let name = path.file_stem().unwrap().to_string_lossy().into_owned();
            (name, words(&fs_err::read_to_string(&path).unwrap()))
        })
        .collect();
    let read: Vec<BTreeSet<String>> = SHIPPED_FINDINGS.iter().map(|(_, sql)| names_of(sql, &views)).collect();
    let message: BTreeSet<&str> = UNREAD.iter().flat_map(|(_, columns)| columns.split(' ')).collect();
    let mut unread = BTreeSet::new();
    for table in TABLES.iter().filter(|table| table.shape == Shape::Series || table.shape == Shape::Distribution) {
        for column in table.columns.iter().filter(|column| column.is_value() && column.better != Better::Neither) {
            let is_read = read.iter().any(|names| names.contains(table.name) && names.contains(column.name));
            if !is_read {
                unread.insert(format!("{}.{}", table.name, column.name));
            }
        }
    }
    let silent: Vec<&String> = unread.iter().filter(|name| !message.contains(name.as_str())).collect();
    assert!(silent.is_empty(), "no finding reads these, and no reason is given: {silent:?}");
}

#[test]
fn what_a_rule_lacks_is_told_once() {
    let mut s = TestStore::new();
    let run = s.run("import", 30.0, |rows| {
        for second in 1..=30 {
            rows.row(&disk::TABLE, at(f64::from(second)), 1.0).str(disk::device, "sda").f64(disk::util, 99.0);
        }
    });
    let asked = s.engine().asked(&Scope::of([run])).unwrap();
    assert!(asked.lacks("disk-saturated").contains("of disk"), "{asked:?}");
    assert_eq!(asked.lacks("db-deadlocks"), "none of its tables is there");
    let sentence = asked.sentence().unwrap();
    assert!(sentence.contains("not asked: no ") && sentence.len() < 200, "{sentence}");
    let full = s.run("all", 2.0, fill_everything);
    let asked = s.engine().asked(&Scope::of([full])).unwrap();
    assert_eq!((asked.lacks("disk-saturated"), asked.lacks("cpu-queue")), (String::new(), String::new()));
}
