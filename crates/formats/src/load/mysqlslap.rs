//! `mysqlslap` and `mariadb-slap`: the report and `--csv`.
//!
//! A block for each engine and number of clients has how long all queries took together, over the
//! iterations; the rate follows from it. The CSV has no header: engine, type, mean, min and max
//! seconds, clients, queries of each client.

use super::names::{self, Results};
use crate::{Family, Fields, Format, Head, Input, Out, Splitter, Sure, number};

/// Importer for mysqlslap, mariadb-slap.
pub static FORMAT: Format = Format {
    name: "mysqlslap",
    summary: "mysqlslap, mariadb-slap: report and --csv",
    family: Family::Load,
    tables: &[],
    example: "\
Benchmark
\tAverage number of seconds to run all queries: 0.103 seconds
\tMinimum number of seconds to run all queries: 0.087 seconds
\tMaximum number of seconds to run all queries: 0.120 seconds
\tNumber of clients running queries: 8
\tAverage number of queries per client: 50
",
    sniff,
    read,
};

fn sniff(head: &Head<'_>) -> Sure {
    if head.any(|l| l.starts_with("Average number of seconds to run all queries:")) {
        return Sure::Certain;
    }
    let mut splitter = Splitter::default();
    Sure::Likely.when(Block::of_csv(&splitter.at(head.first(), b',')).is_some())
}

/// Blocks that are kept at most.
const MAX_BLOCKS: usize = 10_000;

/// The figures of one engine and number of clients.
#[derive(Debug, Default)]
struct Block {
    engine: String,
    mean: Option<f64>,
    min: Option<f64>,
    max: Option<f64>,
    clients: Option<f64>,
    queries: Option<f64>,
}

impl Block {
    fn of_csv(fields: &Fields<'_>) -> Option<Block> {
        let known = matches!(fields.get(1), "mixed" | "read" | "write" | "update" | "key" | "load");
        if !known || fields.len() < 7 {
            return None;
        }
        let value = |i: usize| number(fields.get(i));
        Some(Block {
            engine: fields.get(0).to_owned(),
            mean: Some(value(2)?),
            min: Some(value(3)?),
            max: Some(value(4)?),
            clients: Some(value(5)?),
            queries: Some(value(6)?),
        })
    }

    /// Reads a line of the report; false when it is none.
    fn line(&mut self, line: &str) -> bool {
        if let Some(engine) = line.strip_prefix("Running for engine ") {
            engine.clone_into(&mut self.engine);
            return true;
        }
        let Some((key, value)) = line.split_once(": ") else { return false };
        let value = value.split(' ').next().and_then(number);
        *match key {
            "Average number of seconds to run all queries" => &mut self.mean,
            "Minimum number of seconds to run all queries" => &mut self.min,
            "Maximum number of seconds to run all queries" => &mut self.max,
            "Number of clients running queries" => &mut self.clients,
            "Average number of queries per client" => &mut self.queries,
            _ => return false,
        } = value;
        value.is_some()
    }

    fn write(&self, out: &mut Out<'_>, results: &mut Results, name: &str) {
        let queries = self.clients.zip(self.queries).map(|(clients, each)| clients * each);
        let rate = queries.zip(self.mean.filter(|s| *s > 0.0)).map(|(queries, seconds)| queries / seconds);
        results.of(out, names::CLIENTS, name, self.clients);
        results.of(out, names::TRANSACTIONS, name, queries);
        results.of(out, names::ELAPSED, name, self.mean);
        results.of(out, names::ELAPSED_MIN, name, self.min);
        results.of(out, names::ELAPSED_MAX, name, self.max);
        results.of(out, names::THROUGHPUT, name, rate);
    }
}

fn read(input: &mut Input<'_>, out: &mut Out<'_>) {
    let mut blocks: Vec<Block> = Vec::new();
    let mut splitter = Splitter::default();
    while input.line().is_some() {
        let (number, line) = (input.number(), input.text().trim());
        if line.is_empty() {
            continue;
        }
        if blocks.len() >= MAX_BLOCKS {
            out.unknown(number, line, "more blocks than can be kept");
            return;
        }
        if line == "Benchmark" {
            blocks.push(Block::default());
        } else if let Some(block) = Block::of_csv(&splitter.at(line, b',')) {
            blocks.push(block);
        } else if !blocks.last_mut().is_some_and(|block| block.line(line)) {
            if line.contains("mysqlslap") || line.contains("slap:") {
                out.fact("load", "mysqlslap message", line);
            } else {
                out.unknown(number, line, "no line of mysqlslap");
            }
        }
    }
    let mut results = Results::default();
    let single = blocks.len() == 1;
    for block in &blocks {
        let clients = block.clients.map_or(String::new(), |c| format!("{c} clients"));
        let name = if block.engine.is_empty() { clients } else { format!("{}, {clients}", block.engine) };
        block.write(out, &mut results, if single { "" } else { &name });
    }
}
