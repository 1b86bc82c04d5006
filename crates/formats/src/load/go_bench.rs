//! `go test -bench`: what it prints, with `-benchmem`, `-count`, `-v`, metrics of one's own, and as `-json`.
//!
//! `ns/op` is elapsed time of one operation, over all goroutines together in a parallel benchmark. `-8` behind a name is GOMAXPROCS.
//! With `-count` each run is a separate result (`#2`). `MB/s` are millions of bytes. Where there are several packages, a benchmark
//! is called after its own.

use serde_json::{Map, Value};

use super::{names, repeats::Repeats, tree::text};
use crate::{Family, Format, Head, Input, Out, Sure, number};

/// Importer for go test -bench.
pub static FORMAT: Format = Format {
    name: "go-bench",
    summary: "go test -bench: -benchmem, -count, -json, custom metrics",
    family: Family::Load,
    tables: &[],
    example: "\
goos: linux
goarch: amd64
pkg: example.com/strings
BenchmarkJoin-2       \t  462597\t       235.2 ns/op\t       8 B/op\t       1 allocs/op
",
    sniff,
    read,
};

/// Numbers with their units.
type Figures<'a> = Vec<(f64, &'a str)>;

/// `BenchmarkJoin-2  462597  235.2 ns/op …`: the name, and number and unit of each figure.
fn benchmark(line: &str) -> Option<(&str, f64, Figures<'_>)> {
    let mut words = line.split_ascii_whitespace();
    let name = words.next()?.strip_prefix("Benchmark")?;
    let runs = words.next().filter(|n| n.bytes().all(|b| b.is_ascii_digit())).and_then(number)?;
    let mut figures = Vec::new();
    while let Some(value) = words.next() {
        figures.push((number(value)?, words.next()?));
    }
    (!figures.is_empty()).then_some((name, runs, figures))
}

fn sniff(head: &Head<'_>) -> Sure {
    let own = |l: &str| benchmark(l).is_some_and(|(.., figures)| figures.iter().any(|(_, unit)| *unit == "ns/op"));
    // Scripts that run it print its command above.
    let below = head.first().contains("go test ") && head.lines().nth(1).is_some_and(own);
    let begins = ["goos: ", "goarch: ", "pkg: "];
    let text = head.any(|l| begins.iter().any(|b| l.starts_with(b)));
    let json = head.text.starts_with("{\"Time\":\"")
        && head.first().contains("\"Action\":\"")
        && head.text.contains("\"Output\":\"Benchmark");
    Sure::Certain.when(json || text && head.any(own)).max(Sure::Likely.when(own(head.first()) || below))
}

#[derive(Default)]
struct Reader {
    repeats: Repeats,
    package: String,
    several: bool,
    facts: u32,
    /// Outputs of `-json` until the end of their line.
    gathered: String,
}

/// A line longer than this is no benchmark's.
const LONGEST: usize = 1 << 16;

fn read(input: &mut Input<'_>, out: &mut Out<'_>) {
    let head = input.head();
    let json = head.starts_with("{\"Time\"");
    let mut packages: Vec<&str> = head
        .lines()
        .filter_map(
            |l| if json { l.split("\"Package\":\"").nth(1)?.split('"').next() } else { l.strip_prefix("pkg: ") },
        )
        .collect();
    packages.dedup();
    let mut reader = Reader { several: packages.len() > 1, ..Reader::default() };
    drop(head);
    input.each_line(|number, line| {
        let known = if json { reader.event(line, out) } else { reader.line(line, out) };
        if !known {
            out.unknown(number, line, "no line of go test");
        }
    });
}

impl Reader {
    /// `{"Time":"…","Action":"output","Package":"…","Output":"goos: linux\n"}`
    fn event(&mut self, line: &str, out: &mut Out<'_>) -> bool {
        let Ok(event) = serde_json::from_str::<Map<String, Value>>(line) else { return line.trim().is_empty() };
        let package = text(&event, "Package");
        if package != self.package {
            package.clone_into(&mut self.package);
            self.gathered.clear();
        }
        if self.gathered.len() < LONGEST {
            self.gathered.push_str(text(&event, "Output"));
        }
        if !self.gathered.ends_with('\n') {
            return true;
        }
        let gathered = std::mem::take(&mut self.gathered);
        gathered.lines().all(|line| self.line(line, out))
    }

    fn line(&mut self, line: &str, out: &mut Out<'_>) -> bool {
        if let Some((name, runs, figures)) = benchmark(line) {
            let full = if self.several { format!("{}.{name}", self.package) } else { name.to_owned() };
            self.write(&full, runs, &figures, out);
            return true;
        }
        if let Some(package) = line.strip_prefix("pkg: ") {
            package.trim().clone_into(&mut self.package);
            return true;
        }
        if let Some((name, value)) = line.split_once(": ").filter(|(name, _)| FACTS.contains(name)) {
            // Each package prints the same.
            if self.facts < 3 {
                self.facts += 1;
                out.fact("load", &format!("go-bench {name}"), value.trim());
            }
            return true;
        }
        if let Some(name) = line.strip_prefix("--- FAIL: ") {
            out.fact("load", "go-bench failed", name);
            return true;
        }
        // Names that `-v` prints first, logs of benchmarks, and lines on the package.
        let begins = ["PASS", "FAIL", "ok ", "ok\t", "?", "---", "===", "exit status", "    ", "testing: ", "#"];
        let title = line.starts_with("Benchmark") && line.split_ascii_whitespace().count() == 1;
        title || line.trim().is_empty() || begins.iter().any(|b| line.starts_with(b))
    }

    fn write(&mut self, name: &str, runs: f64, figures: &[(f64, &str)], out: &mut Out<'_>) {
        let mut results = self.repeats.next(name);
        results.of(out, names::ITERATIONS, name, runs);
        for (value, unit) in figures {
            match *unit {
                "ns/op" => results.of(out, names::TIME_PER_OP, name, value / 1e9),
                "B/op" => results.of(out, names::ALLOC_BYTES_PER_OP, name, *value),
                "allocs/op" => results.of(out, names::ALLOCS_PER_OP, name, *value),
                "MB/s" => results.of(out, names::TRANSFER_BYTES_PER_S, name, value * 1e6),
                unit => results.named(out, &format!("go-bench.{unit}"), name, Some(*value), unit, "neither"),
            }
        }
    }
}

const FACTS: [&str; 3] = ["goos", "goarch", "cpu"];
