//! Two outputs of one run, in different forms, must give the same figures.

use std::collections::BTreeMap;

use crate::{Format, fixtures::read, format};

/// The results of a fixture by name.
fn results(file: &str) -> BTreeMap<String, f64> {
    let path = std::path::Path::new("fixtures").join(file);
    let name = file.split('/').next().unwrap();
    let format: &'static Format = format(name).unwrap();
    let text = read(format, &fs_err::read(path).unwrap()).text;
    let rows = text.split("# result\n").nth(1).unwrap_or("").lines().skip(1).take_while(|l| !l.starts_with('#'));
    rows.filter_map(|l| {
        let cells: Vec<&str> = l.split('\t').collect();
        Some(((*cells.get(1)?).to_owned(), cells.get(2)?.parse().ok()?))
    })
    .collect()
}

/// Two files, how far figures may be apart as rounding goes (relative, and in units of the result), and how many both have.
type Pair = (&'static str, &'static str, f64, f64, usize);

const PAIRS: &[Pair] = &[
    ("iperf3/client.json", "iperf3/server-of-client-json.txt", 0.005, 0.0, 3),
    ("iperf3/parallel.txt", "iperf3/server-parallel.json", 0.005, 0.0, 3),
    ("iperf3/reverse-MBytes.txt", "iperf3/server-reverse.json", 0.005, 0.0, 1),
    // Counts of a sender and a receiver differ by the data in flight.
    ("iperf3/bidir-timestamps.txt", "iperf3/server-bidir.txt", 0.01, 0.0, 4),
    ("iperf3/bidir-parallel.txt", "iperf3/server-bidir-parallel.json", 0.005, 0.0, 4),
    ("iperf3/udp-parallel.json", "iperf3/server-udp-parallel.txt", 0.005, 0.0005, 4),
    ("iperf3/verbose-omit-timestamps.txt", "iperf3/server-verbose.txt", 0.005, 0.0, 3),
    ("hyperfine/1.15.json", "hyperfine/1.15.csv", 1e-9, 0.0, 14),
    ("hyperfine/1.15.json", "hyperfine/1.15.txt", 0.0, 0.00006, 14),
    ("hyperfine/1.15-parameters.json", "hyperfine/1.15-parameters.txt", 0.0, 0.00006, 14),
    ("google-benchmark/1.7-aggregates-only.json", "google-benchmark/1.7-aggregates-only.txt", 0.01, 6e-10, 20),
    ("jmh/1.37-all-modes.json", "jmh/1.37-all-modes.txt", 0.02, 6e-10, 20),
    ("jmh/1.37-gc.json", "jmh/1.37-gc-log.txt", 0.05, 0.0006, 5),
    ("memtier-benchmark/git.json", "memtier-benchmark/git-distribution.txt", 0.03, 0.001, 15),
    ("memtier-benchmark/git-two-runs.json", "memtier-benchmark/git-two-runs.txt", 0.01, 0.001, 15),
    ("stress-ng/0.15-b.yaml", "stress-ng/0.15-brief.txt", 0.01, 0.006, 15),
    ("stress-ng/0.15-m.yaml", "stress-ng/0.15-m.txt", 0.01, 0.006, 20),
    ("fio-terse/3.33-numjobs.txt", "fio/3.33-terse-numjobs.json", 0.01, 0.001, 20),
    ("vllm-bench/vllm.json", "vllm-bench/vllm.txt", 0.01, 0.0, 18),
    ("gatling/3.9-stats.json", "gatling/3.9-console.txt", 0.005, 0.0, 14),
    ("gatling/3.9-stats.json", "gatling/3.9-global_stats.json", 0.0, 0.0, 25),
    ("gatling/3.3-stats.json", "gatling/3.3-console.txt", 0.005, 0.0, 14),
];

#[test]
fn forms_of_one_run_have_the_same_figures() {
    let mut wrong = Vec::new();
    for (a, b, relative, absolute, fewest) in PAIRS {
        let (left, right) = (results(a), results(b));
        let mut common = 0;
        for (name, x) in &left {
            // Names in text may lack the package.
            let short = name.replace("[org.example.", "[");
            let Some(y) = right.get(name).or_else(|| right.get(&short)) else { continue };
            common += 1;
            if (x - y).abs() > relative * x.abs() + absolute {
                wrong.push(format!("{a}, {b}: {name} is {x} and {y}"));
            }
        }
        if common < *fewest {
            let names = |of: &BTreeMap<String, f64>| of.keys().cloned().collect::<Vec<_>>().join(" ");
            wrong.push(format!("{a}, {b}: only {common} in common: {} and {}", names(&left), names(&right)));
        }
    }
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
}
