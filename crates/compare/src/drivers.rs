//! Detection of load generators that ran beside a run, from its statistics.

use std::collections::BTreeMap;

use fenxi_analyze::Driver;
use fenxi_store::SeriesStat;

/// Programs that make load, by the names that the kernel keeps of them: those of the finding
/// `load-driver-saturated`.
const GENERATORS: &[&str] = &[
    "sysbench",
    "pgbench",
    "mysqlslap",
    "wrk",
    "wrk2",
    "ab",
    "siege",
    "hey",
    "oha",
    "h2load",
    "k6",
    "vegeta",
    "locust",
    "iperf",
    "iperf3",
    "netperf",
    "memtier_benchma",
    "redis-benchmark",
    "tpcc_start",
    "go-tpc",
    "fio",
];

/// Gathers load generators while statistics of a run are read, in any order.
#[derive(Debug, Default)]
pub struct Drivers {
    /// By host and key: the program, its use of CPU where known, and whether it has more than one thread.
    processes: BTreeMap<(String, String), (Option<f64>, bool)>,
    /// Single threads.
    threads: Vec<Driver>,
}

impl Drivers {
    /// Looks at one series.
    pub fn see(&mut self, stat: &SeriesStat<'_>) {
        let Some(comm) = generator(stat) else { return };
        match (stat.table, stat.column) {
            ("thread", "cpu") => self.threads.push(Driver { comm: comm.to_owned(), busy: stat.p50 }),
            ("process", "cpu") => self.process(stat).0 = Some(stat.p50),
            ("process", "threads") => self.process(stat).1 |= stat.mean > 1.0,
            _ => {}
        }
    }

    fn process(&mut self, stat: &SeriesStat<'_>) -> &mut (Option<f64>, bool) {
        self.processes.entry((stat.host.to_owned(), stat.key.to_owned())).or_default()
    }

    /// Every generator that has one thread, and every thread of one.
    pub fn found(self) -> Vec<Driver> {
        let single = self.processes.into_iter().filter(|(_, (_, several))| !several);
        let driver = |((_, key), (busy, _)): ((String, String), (Option<f64>, bool))| {
            Some(Driver { comm: label(&key, "comm")?.to_owned(), busy: busy? })
        };
        single.filter_map(driver).chain(self.threads).filter(|driver| driver.busy.is_finite()).collect()
    }
}

fn generator<'s>(stat: &SeriesStat<'s>) -> Option<&'s str> {
    if !matches!(stat.table, "process" | "thread") {
        return None;
    }
    label(stat.key, "comm").filter(|comm| GENERATORS.contains(comm))
}

fn label<'k>(key: &'k str, name: &str) -> Option<&'k str> {
    key.split(',').filter_map(|pair| pair.split_once('=')).find(|(label, _)| *label == name).map(|(_, value)| value)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stat<'s>(table: &'s str, key: &'s str, column: &'s str, value: f64) -> SeriesStat<'s> {
        SeriesStat { table, host: "h", key, column, n: 10, mean: value, p50: value }
    }

    #[test]
    fn generators_of_one_thread_and_threads_of_generators_are_found() {
        let mut drivers = Drivers::default();
        for seen in [
            stat("process", "pid=5,comm=pgbench,user=u", "threads", 1.0),
            stat("process", "pid=5,comm=pgbench,user=u", "cpu", 97.0),
            stat("process", "pid=6,comm=sysbench,user=u", "cpu", 350.0),
            stat("process", "pid=6,comm=sysbench,user=u", "threads", 8.0),
            stat("thread", "pid=6,tid=7,comm=sysbench,user=u", "cpu", 44.0),
            stat("process", "pid=9,comm=postgres,user=u", "cpu", 99.0),
        ] {
            drivers.see(&seen);
        }
        let found: Vec<_> = drivers.found().into_iter().map(|d| (d.comm, d.busy)).collect();
        assert_eq!(found, [("pgbench".to_owned(), 97.0), ("sysbench".to_owned(), 44.0)]);
    }

    #[test]
    fn generators_are_those_of_the_finding() {
        let finding = include_str!("../../../findings/load-driver-saturated.sql");
        let (_, list) = finding.split_once("comm IN (").unwrap();
        let (list, _) = list.split_once(')').unwrap();
        let names: Vec<&str> = list.split(',').map(|name| name.trim().trim_matches('\'')).collect();
        assert_eq!(names, GENERATORS);
    }
}
