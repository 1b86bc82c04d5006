//! Load generators and benchmarks.

#[cfg(test)]
mod agreement;
mod cells;
pub(crate) mod ghz;
pub(crate) mod names;
pub(crate) mod oha;
pub(crate) mod repeats;
mod seconds;
mod spread;
mod tree;
pub(crate) mod units;
pub(crate) mod vegeta;

formats! {
    sysbench,
    pgbench,
    pgbench_aggregate,
    pgbench_log,
    mysqlslap,
    ycsb,
    hammerdb,
    benchbase,
    benchbase_csv,
    wrk,
    fio,
    fio_log,
    jmeter,
    k6,
    iperf3,
    iperf2,
    redis_benchmark,
    memtier_benchmark,
    hyperfine,
    google_benchmark,
    go_bench,
    jmh,
    criterion,
    netperf,
    stress_ng,
    fio_terse,
    fio_hist_log,
    hdr_histogram,
    locust,
    vllm_bench,
    gatling,
    uperf,
    lkp,
    pbench,
    ping,
    mtr,
    nuttcp,
    ioping,
    time,
    cyclictest,
    requests_csv,
}

#[cfg(test)]
pub(crate) mod tests {
    /// The values of one column in the rows that a test read, None where empty or absent.
    pub(super) fn column(text: &str, table: &str, name: &str) -> Vec<Option<f64>> {
        let title = format!("# {table}\n");
        let mut values = Vec::new();
        for section in text.split(&title).skip(1) {
            let mut lines = section.lines().take_while(|l| !l.starts_with('#'));
            let place = lines.next().and_then(|header| header.split('\t').position(|h| h == name));
            values.extend(lines.map(|l| l.split('\t').nth(place?)?.parse().ok()));
        }
        values
    }

    /// The result called `name`.
    pub(crate) fn result(text: &str, name: &str) -> Option<f64> {
        let mut lines = text.split("# result\n").nth(1)?.lines().take_while(|l| !l.starts_with('#'));
        lines.find_map(|l| (l.split('\t').nth(1)? == name).then(|| l.split('\t').nth(2)?.parse().ok())?)
    }
}
