//! Formats that are descriptions alone: what their fixtures do not show.

use crate::{Format, Head, Sure, fixtures::read, format};

fn of(name: &str) -> &'static Format {
    format(name).unwrap()
}

#[test]
fn a_second_output_of_tpstats_makes_counts_rates() {
    let output = |completed: u64, blocked: u64, dropped: u64| {
        format!(
            "Pool Name                    Active   Pending      Completed   Blocked  All time blocked\n\
             Native-Transport-Requests         1         2  {completed}         0  {blocked}\n\n\
             Message type           Dropped\nMUTATION  {dropped}\n"
        )
    };
    let text = format!(
        "Sat Nov 28 10:00:00 UTC 2026\n{}Sat Nov 28 10:01:00 UTC 2026\n{}",
        output(1000, 10, 7),
        output(7000, 40, 67)
    );
    let read = read(of("nodetool-tpstats"), text.as_bytes());
    for row in [
        "cassandra.pool.completed\tpool=Native-Transport-Requests\t100\t/s",
        "cassandra.pool.block\tpool=Native-Transport-Requests\t0.5\t/s",
        "cassandra.message.dropped\tmessage=MUTATION\t1\t/s",
        "cassandra\tdropped MUTATION\t67",
    ] {
        assert!(read.text.contains(row), "{row}\n{}", read.text);
    }
    // 7 and 67 are facts: nothing shows over which time the first of them came about.
    assert!(!read.text.contains("dropped\tmessage=MUTATION\t7"), "{}", read.text);
    assert_eq!(read.tally.notes, 0, "{}", read.text);
}

#[test]
fn what_has_no_interval_yet_has_no_bandwidth() {
    let text = "  sec Cur ops   started  finished  avg MB/s  cur MB/s last lat(s)  avg lat(s)\n    0      16        44        28   443.565        -1   0.0280238   0.0316347\n    1      16       331       315   295.994       287   0.0443058   0.0518279\n    2      16       331       315   295.994        -1   0.0443058   0.0518279\n";
    let read = read(of("rados-bench"), text.as_bytes());
    assert_eq!(read.text.matches("rados bench\t").count(), 1, "{}", read.text);
    assert!(read.text.contains("rados bench\t300941312"), "287 MiB/s: {}", read.text);
}

#[test]
fn sizes_of_mongostat_have_prefixes_of_1024_and_its_network_of_1000() {
    let read = read(of("mongostat"), of("mongostat").example().as_bytes());
    for cell in ["\t8210\t167000", "mongostat.virtual\t1524713390.08\tB", "mongostat.resident\t81788928\tB"] {
        assert!(read.text.contains(cell), "{cell}\n{}", read.text);
    }
}

#[test]
fn a_log_of_postgresql_is_none_of_pgbouncer() {
    let text = "2026-09-03 08:00:20.374 UTC [139] LOG:  checkpoint starting: time\n2026-09-03 08:00:21 UTC [139] LOG:  stats: 3 xacts\n";
    assert_eq!((of("pgbouncer").sniff)(&Head { text }), Sure::No);
}

#[test]
fn without_transactions_pgbouncer_says_nothing_of_how_long_they_took() {
    let line = "2026-11-28 12:59:51.481 UTC [14502] LOG stats: 0 xacts/s, 0 queries/s, in 0 B/s, out 0 B/s, xact 0 us, query 0 us, wait 0 us\n";
    let read = read(of("pgbouncer"), line.as_bytes());
    assert!(
        read.text.contains("pgbouncer.transactions\t0") && read.text.contains("pgbouncer.wait\t0"),
        "{}",
        read.text
    );
    assert!(
        !read.text.contains("pgbouncer.transaction\t") && !read.text.contains("pgbouncer.query\t"),
        "{}",
        read.text
    );
    assert_eq!(read.tally.notes, 0, "{}", read.text);
}

#[test]
fn benchmarks_of_perf_and_hackbench_in_one_text_keep_their_names() {
    let text = "\
# Running 'sched/pipe' benchmark:
# Executed 20000 pipe operations between two processes

     Total time: 0.156 [sec]

       7.812700 usecs/op
         127996 ops/sec
# Running 'mem/memcpy' benchmark:
# function 'default' (Default memcpy() provided by glibc)
# Copying 1MB bytes ...

      19.5 GB/sec
Running in process mode with 2 groups using 40 file descriptors each (== 80 tasks)
Each sender will pass 100 messages of 100 bytes
Time: 0.242
";
    let read = read(of("perf-bench"), text.as_bytes());
    for row in [
        "throughput[sched/pipe]\t127996\t",
        "transfer_bytes_per_s[mem/memcpy default]\t20937965568\t",
        "elapsed[hackbench]\t0.242\ts\tlower",
    ] {
        assert!(read.text.contains(row), "{row}\n{}", read.text);
    }
    assert_eq!(read.tally.notes, 0, "{}", read.text);
    for text in ["Running 5 km\nTime: 25:10\n", "Running in circles\nTime: 3\n", "# Running 'make' first\n"] {
        assert_eq!((of("perf-bench").sniff)(&Head { text }), Sure::No, "{text}");
    }
}
