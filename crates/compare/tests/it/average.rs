//! Averages of runs that are made up: every number is worked out by hand beside it.

use std::collections::BTreeMap;

use arrow_array::{
    Array, RecordBatch,
    cast::AsArray,
    types::{Float64Type, TimestampMicrosecondType},
};
use fenxi_compare::average::{AverageError, Member, Plan, average};
use fenxi_model::{
    Better, Micros, RunId,
    catalog::{cpu, disk, histogram, load, process},
};
use fenxi_store::{End, Manifest, Store, Window, label};

use crate::runs::{Made, Runs, START};

/// Runs of a store that become one.
struct Averaged {
    runs: Runs,
    members: Vec<Member>,
}

impl Averaged {
    fn new() -> Averaged {
        Averaged { runs: Runs::new(), members: Vec::new() }
    }

    /// Adds a run of `seconds` as `fill` makes it.
    fn add(&mut self, seconds: f64, fill: impl FnOnce(&mut Made)) -> &mut Averaged {
        let name = format!("run{}", self.members.len() + 1);
        self.runs.add(&name, seconds, fill);
        self.members.extend(self.runs.ids.last().map(|id| Member { id: id.clone(), window: None }));
        self
    }

    /// Lets only the part of a run count that is between these seconds.
    fn window(&mut self, run: usize, from: f64, to: f64) {
        let start = self.runs.store.run(&self.members[run].id).unwrap().manifest.start;
        let at = |seconds: f64| Micros(start.0 + (seconds * 1e6) as i64);
        self.members[run].window = Some(Window { name: "steady".to_owned(), start: at(from), end: at(to) });
    }

    fn plan(&self) -> Plan<'_> {
        Plan {
            store: &self.runs.store,
            members: self.members.clone(),
            name: Some("mean".to_owned()),
            tags: BTreeMap::new(),
            random: 4711,
            remarks: Vec::new(),
        }
    }

    fn average(&self) -> Average<'_> {
        let id = average(self.plan(), |_| true).unwrap();
        Average { store: &self.runs.store, manifest: self.runs.store.run(&id).unwrap().manifest }
    }
}

/// The run that an average became.
struct Average<'a> {
    store: &'a Store,
    manifest: Manifest,
}

impl Average<'_> {
    /// The rows of a table, the cells of `columns` with blanks between them; times in seconds since the begin.
    fn rows(&self, table: &str, columns: &str) -> Vec<String> {
        let batches = self.store.read(&self.manifest.id, table).unwrap();
        let row = |batch: &RecordBatch, row: usize| {
            let cells = columns.split(' ').map(|column| self.cell(batch, column, row));
            cells.collect::<Vec<String>>().join(" ")
        };
        batches.iter().flat_map(|batch| (0..batch.num_rows()).map(|at| row(batch, at)).collect::<Vec<_>>()).collect()
    }

    /// A number with at most four decimals; `-` for NULL.
    fn cell(&self, batch: &RecordBatch, column: &str, row: usize) -> String {
        let Some(array) = batch.column_by_name(column).filter(|a| a.is_valid(row)) else { return "-".to_owned() };
        if let Some(times) = array.as_primitive_opt::<TimestampMicrosecondType>() {
            return (Micros(times.value(row)).seconds_since(self.manifest.start)).to_string();
        }
        if let Some(numbers) = array.as_primitive_opt::<Float64Type>() {
            return ((numbers.value(row) * 1e4).round() / 1e4).to_string();
        }
        let texts = array.as_string_opt::<i32>().map(|texts| texts.value(row));
        texts.or(label(batch, column, row)).unwrap_or("-").to_owned()
    }

    fn fact(&self, topic: &str, name: &str) -> Option<String> {
        self.store.facts(&self.manifest.id).unwrap().remove(&(topic.to_owned(), name.to_owned()))
    }

    fn notes(&self) -> Vec<String> {
        self.rows("note", "message")
    }
}

#[test]
fn numbers_are_averaged_interval_by_interval_since_the_begin_of_each_run() {
    let mut runs = Averaged::new();
    runs.add(2.0, |run| run.usr(&[10.0, 20.0])).add(2.0, |run| run.usr(&[30.0, 60.0]));
    let made = runs.average();
    assert_eq!(made.rows("cpu", "t dt host usr"), ["1 1 h1 20", "2 1 h1 40"]);
    // Deviations of 10 and of 20 from the mean: sqrt(2 * 100 / 1), sqrt(2 * 400 / 1).
    assert_eq!(made.rows("spread.cpu", "t usr"), ["1 14.1421", "2 28.2843"]);
    assert_eq!(made.manifest.start.0, START + 3_600_000_000, "the begin of the representative run");
    assert_eq!((made.manifest.seconds(), made.manifest.kind.as_str()), (2.0, "average"));
}

#[test]
fn rows_of_one_interval_weigh_as_long_as_they_are() {
    let mut runs = Averaged::new();
    runs.add(2.0, |run| {
        for (t, dt, usr) in [(0.9, 0.9, 10.0), (1.2, 0.3, 50.0), (1.6, 0.4, 70.0)] {
            let t = run.at(t);
            run.rows.row(&cpu::TABLE, t, dt).f64(cpu::usr, usr);
        }
    });
    // 0.9 and 1.2 s end nearest to the first second: (0.9 * 10 + 0.3 * 50) / 1.2; 1.6 s to the second one.
    assert_eq!(runs.average().rows("cpu", "t usr"), ["1 20", "2 70"]);
}

#[test]
fn runs_of_different_intervals_have_those_of_the_longest() {
    let mut runs = Averaged::new();
    runs.add(4.0, |run| run.usr(&[10.0, 30.0, 50.0, 90.0])).add(4.0, |run| {
        run.begin.interval_s = Some(2.0);
        for (t, usr) in [(2.0, 40.0), (4.0, 100.0)] {
            let t = run.at(t);
            run.rows.row(&cpu::TABLE, t, 2.0).f64(cpu::usr, usr);
        }
    });
    let made = runs.average();
    // A second that ends in the middle of two belongs to the interval that follows: means 20, 50 and 100 v 40.
    assert_eq!(made.rows("cpu", "t dt usr"), ["2 2 30", "4 2 85"]);
    assert_eq!(made.manifest.interval_s, Some(2.0));
}

#[test]
fn a_device_that_only_one_run_has_is_as_it_was_there() {
    let mut runs = Averaged::new();
    for devices in [&[("sda", 10.0)][..], &[("sda", 30.0), ("sdb", 7.0)]] {
        runs.add(1.0, |run| {
            let t = run.at(1.0);
            for (device, reads) in devices {
                let mut row = run.rows.row(&disk::TABLE, t, 1.0);
                row.str(disk::device, *device).str(disk::class, "disk").f64(disk::reads_per_s, *reads);
            }
        });
    }
    let made = runs.average();
    assert_eq!(made.rows("disk", "device class reads_per_s"), ["sda disk 20", "sdb disk 7"]);
    // One value has no deviation.
    assert_eq!(made.rows("spread.disk", "device reads_per_s"), ["sda 14.1421"]);
}

#[test]
fn processes_of_a_name_add_up_and_count_as_0_where_they_were_idle() {
    let mut runs = Averaged::new();
    for processes in [&[(1, "postgres", 30.0)][..], &[(2, "postgres", 20.0), (3, "postgres", 40.0), (4, "gzip", 50.0)]]
    {
        runs.add(1.0, |run| {
            let t = run.at(1.0);
            for (pid, comm, percent) in processes {
                let mut row = run.rows.row(&process::TABLE, t, 1.0);
                row.i64(process::pid, *pid).str(process::comm, *comm).f64(process::cpu, *percent);
            }
        });
    }
    let made = runs.average();
    // gzip: 0 and 50; postgres: 30 and 20 + 40.
    assert_eq!(made.rows("process", "pid comm cpu"), ["- gzip 25", "- postgres 45"]);
    // sqrt(2 * 25^2), sqrt(2 * 15^2)
    assert_eq!(made.rows("spread.process", "comm cpu"), ["gzip 35.3553", "postgres 21.2132"]);
}

#[test]
fn ends_stay_ends_and_percentiles_are_left_out_with_a_note() {
    let mut runs = Averaged::new();
    for [mean, min, max, p99] in [[2.0, 0.5, 9.0, 8.0], [4.0, 1.5, 30.0, 20.0]] {
        runs.add(1.0, |run| {
            let t = run.at(1.0);
            let mut row = run.rows.row(&load::TABLE, t, 1.0);
            row.f64(load::latency_mean_ms, mean).f64(load::latency_min_ms, min);
            row.f64(load::latency_max_ms, max).f64(load::latency_p99_ms, p99);
            run.result("latency_p95", p99, "s", "lower");
        });
    }
    let made = runs.average();
    let columns = "latency_mean_ms latency_min_ms latency_max_ms latency_p99_ms";
    assert_eq!(made.rows("load", columns), ["3 0.5 30 -"]);
    assert_eq!(made.rows("spread.load", columns), ["1.4142 - - -"]);
    assert_eq!(made.rows("result", "name"), [""; 0]);
    assert_eq!(made.notes(), ["percentiles cannot be averaged; omitted: load.latency_p99_ms, latency_p95"]);
}

#[test]
fn distributions_are_merged_by_adding() {
    let mut runs = Averaged::new();
    for buckets in [&[(0.0, 1.0, 5.0), (1.0, 2.0, 3.0)][..], &[(0.0, 1.0, 7.0), (4.0, 8.0, 2.0)]] {
        runs.add(1.0, |run| {
            for (lo, hi, count) in buckets {
                let mut row = run.rows.row(&histogram::TABLE, None, None);
                row.str(histogram::name, "latency_ms").str(histogram::unit, "ms");
                row.f64(histogram::lo, *lo).f64(histogram::hi, *hi).f64(histogram::count, *count);
            }
        });
    }
    let made = runs.average();
    assert_eq!(
        made.rows("histogram", "name unit lo hi count"),
        ["latency_ms ms 0 1 12", "latency_ms ms 1 2 3", "latency_ms ms 4 8 2"]
    );
    assert!(made.manifest.file("spread.histogram").is_none());
}

#[test]
fn windows_are_averaged_since_their_own_begins() {
    let mut runs = Averaged::new();
    runs.add(5.0, |run| run.usr(&[99.0, 99.0, 10.0, 20.0, 99.0])).add(4.0, |run| run.usr(&[99.0, 50.0, 40.0, 99.0]));
    runs.window(0, 2.0, 4.0);
    runs.window(1, 1.0, 3.0);
    let made = runs.average();
    assert_eq!(made.rows("cpu", "t usr"), ["1 30", "2 30"]);
    assert_eq!(made.rows("spread.cpu", "t usr"), ["1 28.2843", "2 14.1421"]);
    assert_eq!(made.manifest.start.0, START + 3_602_000_000);
    assert_eq!((made.manifest.seconds(), made.notes()), (2.0, vec![]));
}

#[test]
fn runs_of_another_length_are_cut_or_lacking_and_said_to_be() {
    let mut runs = Averaged::new();
    runs.add(3.0, |run| run.usr(&[10.0, 20.0, 30.0]));
    runs.add(2.0, |run| run.usr(&[20.0, 30.0]));
    runs.add(4.0, |run| run.usr(&[30.0, 40.0, 50.0, 60.0]));
    let made = runs.average();
    // The third second is that of two runs; the fourth of the last run does not count.
    assert_eq!(made.rows("cpu", "t usr"), ["1 20", "2 30", "3 40"]);
    assert_eq!(made.rows("spread.cpu", "usr"), ["10", "10", "14.1421"]);
    assert_eq!(
        made.notes(),
        ["the average has the length of the representative run, 3.0 s; 1 of the runs are longer and cut there, \
          1 are shorter and lack in the intervals at its end"]
    );
    // A twentieth is no difference.
    let mut runs = Averaged::new();
    runs.add(100.0, |run| run.usr(&[1.0])).add(95.0, |run| run.usr(&[1.0])).add(105.0, |run| run.usr(&[1.0]));
    assert_eq!(runs.average().notes(), [""; 0]);
}

#[test]
fn facts_are_those_of_the_representative_run_and_what_differs_is_said() {
    let long = "x".repeat(61);
    let mut runs = Averaged::new();
    runs.add(1.0, |run| {
        run.fact("kernel", "release", "6.12");
        run.fact("sysctl", "vm.swappiness", "60");
        run.fact("file", "hosts", &long);
    });
    for swappiness in ["10", "60"] {
        runs.add(1.0, |run| {
            run.fact("kernel", "release", "6.12");
            run.fact("sysctl", "vm.swappiness", swappiness);
            run.fact("only", "here", "two\nlines");
        });
    }
    let made = runs.average();
    let fact = |topic, name| made.fact(topic, name);
    assert_eq!(fact("kernel", "release").as_deref(), Some("6.12"));
    assert_eq!(fact("sysctl", "vm.swappiness").as_deref(), Some("60"));
    assert_eq!((fact("differs", "kernel release"), fact("only", "here")), (None, None));
    assert_eq!(fact("differs", "sysctl vm.swappiness").as_deref(), Some("`10` in 1; `60` in 2"));
    assert_eq!(fact("differs", "only here").as_deref(), Some("missing in 1; `two lines` in 2"));
    assert_eq!(fact("differs", "file hosts"), Some(format!("missing in 2; `{}…` in 1", &long[1..])));
    let ids: Vec<&str> = runs.members.iter().map(|member| member.id.as_str()).collect();
    assert_eq!(fact("average", "runs"), Some(ids.join("\n")));
    assert_eq!(fact("average", "representative").as_deref(), Some(ids[0]));
}

#[test]
fn results_have_their_mean_and_apart_from_it_their_spread() {
    let mut runs = Averaged::new();
    runs.add(1.0, |run| run.result("elapsed", 10.0, "s", "lower"));
    runs.add(1.0, |run| run.result("elapsed", 16.0, "s", "lower"));
    runs.add(1.0, |run| {
        run.result("elapsed", 13.0, "s", "lower");
        run.result("errors", 4.0, "s", "lower");
    });
    let made = runs.average();
    let results = made.store.results(&made.manifest.id).unwrap();
    let found: Vec<_> = results.iter().map(|r| (r.name.as_str(), r.value, r.unit.as_str(), r.better)).collect();
    // The mean of a result of one run is that run's value.
    assert_eq!(found, [("elapsed", 13.0, "s", Better::Lower), ("errors", 4.0, "s", Better::Lower)]);
    // sqrt((9 + 9 + 0) / 2)
    assert_eq!(made.rows("spread.result", "name value"), ["elapsed 3"]);
}

#[test]
fn the_average_is_of_what_all_runs_are() {
    let mut runs = Averaged::new();
    for (seed, status) in [("1", 0), ("2", 3)] {
        runs.add(1.0, |run| {
            run.usr(&[1.0]);
            run.begin.command = vec!["pgbench".to_owned()];
            run.begin.params = [("threads", "8"), ("seed", seed)].map(|(k, v)| (k.to_owned(), v.to_owned())).into();
            run.end = End { exit_status: Some(status), ticks: 10, missed_ticks: 2, ..run.end.clone() };
        });
    }
    let made = runs.average().manifest;
    assert_eq!(made.params, BTreeMap::from([("threads".to_owned(), "8".to_owned())]));
    assert_eq!((made.exit_status, made.ticks, made.missed_ticks), (None, Some(20), Some(4)));
    assert_eq!((made.name.as_deref(), made.command), (Some("mean"), vec!["pgbench".to_owned()]));
    runs.members.truncate(1);
    assert_eq!(runs.average().manifest.exit_status, Some(0));
}

#[test]
fn runs_of_one_host_each_are_averaged_whatever_it_is_called() {
    let mut runs = Averaged::new();
    for host in ["h1", "h2"] {
        runs.add(1.0, |run| {
            run.begin.host = host.to_owned();
            run.rows.set_host(host);
            run.usr(&[if host == "h1" { 10.0 } else { 30.0 }]);
        });
    }
    assert_eq!(runs.average().rows("cpu", "host usr"), ["h1 20"]);
    // With a run of two hosts, each host is its own.
    runs.add(1.0, |run| {
        for host in ["h1", "h2"] {
            run.rows.set_host(host);
            run.usr(&[50.0]);
        }
    });
    assert_eq!(runs.average().rows("cpu", "host usr"), ["h1 30", "h2 40"]);
}

#[test]
fn events_are_those_of_the_representative_run_within_its_window() {
    let mut runs = Averaged::new();
    for name in ["first", "second"] {
        runs.add(3.0, |run| {
            run.usr(&[1.0, 1.0, 1.0]);
            for (t, what) in [(0.5, "before"), (1.5, "within")] {
                let t = run.at(t);
                run.rows.event(t, "mark", name, what);
            }
        });
    }
    runs.window(0, 1.0, 3.0);
    assert_eq!(runs.average().rows("event", "t kind subject message"), ["0.5 mark first within"]);
}

#[test]
fn watch_is_told_each_table_and_keeps_nothing_when_it_says_no() {
    let mut runs = Averaged::new();
    runs.add(1.0, |run| {
        run.usr(&[1.0]);
        let t = run.at(1.0);
        run.rows.row(&disk::TABLE, t, 1.0).str(disk::device, "sda").f64(disk::reads_per_s, 1.0);
    });
    let mut told = Vec::new();
    let stopped = average(runs.plan(), |step| {
        told.push((step.table.to_owned(), step.number, step.tables));
        assert!((1..10_000).contains(&step.bytes), "{step:?}");
        step.table == "cpu"
    });
    assert!(matches!(stopped, Err(AverageError::Interrupted)), "{stopped:?}");
    assert_eq!(told, [("cpu".to_owned(), 0, 2), ("disk".to_owned(), 1, 2)]);
    let ids: Vec<RunId> = runs.members.iter().map(|member| member.id.clone()).collect();
    assert_eq!(runs.runs.store.ids().unwrap(), ids);
    assert_eq!(runs.runs.store.path().join("open").read_dir().unwrap().count(), 0);
    let nothing = average(Plan { members: Vec::new(), ..runs.plan() }, |_| true);
    assert!(matches!(nothing, Err(AverageError::Nothing)), "{nothing:?}");
}

#[test]
fn remarks_tags_and_the_numbers_of_runs_are_kept_with_it() {
    let mut runs = Averaged::new();
    runs.add(1.0, |run| run.usr(&[1.0]));
    let (tags, remark) =
        (BTreeMap::from([("g".to_owned(), "a".to_owned())]), ("distance".to_owned(), "0.5".to_owned()));
    let id = average(Plan { tags: tags.clone(), remarks: vec![remark], ..runs.plan() }, |_| true).unwrap();
    let made = Average { store: &runs.runs.store, manifest: runs.runs.store.run(&id).unwrap().manifest };
    assert_eq!((made.fact("average", "distance").as_deref(), &made.manifest.tags), (Some("0.5"), &tags));
    // One run has no spread.
    assert!(made.manifest.file("spread.cpu").is_none());
}
