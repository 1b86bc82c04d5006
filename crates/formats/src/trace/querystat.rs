//! `querystat.d`, a DTrace script for MySQL: throughput while it runs, latencies and who pushed the
//! server's threads off the CPU at the end.

use fenxi_model::{
    Micros,
    catalog::{histogram, preemption, query},
};

use super::{
    dtrace::{Bars, header},
    syscalls::Others,
};
use crate::{Clock, Family, Format, Head, Input, Out, Sure, ctime, number};

/// Importer for querystat.d.
pub static FORMAT: Format = Format {
    name: "querystat",
    summary: "querystat.d: throughput, latencies and pre-emption of a MySQL server, by DTrace",
    family: Family::Trace,
    tables: &[&query::TABLE, &histogram::TABLE, &preemption::TABLE],
    example: "\
Tracing started at 2009 Sep 17 16:28:35
2009 Sep 17 16:28:38   throughput 3 queries/sec
Tracing ended   at 2009 Sep 17 16:28:51
Average latency, all queries: 107 us
",
    sniff,
    read,
};

fn sniff(head: &Head<'_>) -> Sure {
    let rates = head.any(|l| throughput(l).is_some());
    Sure::Certain.when(rates || (head.has_words("Query cache statistics:") && head.any(header)))
}

/// `2009 Sep 17 16:28:38   throughput 3 queries/sec`
fn throughput(line: &str) -> Option<f64> {
    let (_, rest) = line.split_once(" throughput ")?;
    number(rest.trim().strip_suffix("queries/sec")?.trim())
}

fn read(input: &mut Input<'_>, out: &mut Out<'_>) {
    let mut reader = Reader {
        clock: Clock::new(out.hints()),
        bars: Bars::default(),
        begun: None,
        last: None,
        title: String::new(),
        preemptors: false,
        others: Others::default(),
    };
    input.each_line(|number, line| reader.line(number, line, out));
    reader.bars.end(out);
    reader.others.tell(out);
}

struct Reader {
    clock: Clock,
    bars: Bars,
    /// When it was started.
    begun: Option<Micros>,
    /// The last time it printed.
    last: Option<Micros>,
    /// Title of the next distribution.
    title: String,
    /// The rows are programs and how often each pushed the server off.
    preemptors: bool,
    others: Others,
}

impl Reader {
    fn line(&mut self, at: u64, line: &str, out: &mut Out<'_>) {
        let bare = line.trim().trim_start_matches("^C");
        if bare.is_empty() || self.bars.line(line, out) {
            return;
        }
        if header(bare) {
            let whole = (self.last, self.dt());
            let title = std::mem::take(&mut self.title);
            return self.bars.begin(&title, whole, out);
        }
        self.bars.end(out);
        let moment = |text: &str, clock: &mut Clock| ctime(text).map(|when| clock.moment(when.when));
        if let Some(text) = bare.strip_prefix("Tracing started at") {
            self.begun = moment(text, &mut self.clock);
            self.last = self.begun;
        } else if let Some(text) = bare.strip_prefix("Tracing ended") {
            self.last = moment(text.trim().trim_start_matches("at"), &mut self.clock).or(self.last);
        } else if let Some(rate) = throughput(bare) {
            let t = moment(bare, &mut self.clock);
            let dt = t.zip(self.last).map(|(t, last)| t.seconds_since(last)).filter(|dt| *dt > 0.0);
            self.last = t;
            out.row(&query::TABLE, t, dt).f64(query::queries, dt.map(|dt| rate * dt));
        } else if !self.sums(bare, out) {
            self.others.add(at, bare);
        }
    }

    /// Length of the whole observation.
    fn dt(&self) -> Option<f64> {
        self.last.zip(self.begun).map(|(last, begun)| last.seconds_since(begun)).filter(|dt| *dt > 0.0)
    }

    fn sums(&mut self, line: &str, out: &mut Out<'_>) -> bool {
        let (t, dt) = (self.last, self.dt());
        if line.starts_with("Latency distribution") {
            line.trim_end_matches(':').clone_into(&mut self.title);
            return true;
        }
        if line == "Query cache statistics:" || line == "Pre-emptors:" || line.starts_with("[") {
            self.preemptors = line == "Pre-emptors:" || self.preemptors;
            return true;
        }
        if let Some((name, value)) = line.rsplit_once(": ") {
            let name: Vec<&str> = name.split_ascii_whitespace().collect();
            let mut words = value.split_ascii_whitespace();
            let (Some(value), unit) = (words.next().and_then(number), words.next().unwrap_or("")) else { return false };
            match name.as_slice() {
                ["Average", "latency,", "all", "queries"] => out.result("latency_mean", value / 1e3, "ms", "lower"),
                ["Average", "latency", "when", "query", "WAS", rest @ ..] => {
                    let preempted = if rest.first() == Some(&"NOT") { "no" } else { "yes" };
                    out.row(&query::TABLE, t, dt).str(query::preempted, preempted).f64(query::mean_us, value);
                    self.preemptors = true;
                }
                ["count", what] => out.metric(t, dt, &format!("querystat.cache_{what}"), "", value, ""),
                ["avg", "latency", what] => {
                    let unit = unit.trim_matches(['(', ')']);
                    out.metric(t, dt, &format!("querystat.cache_{what}_latency"), "", value, unit);
                }
                _ => return false,
            }
            return true;
        }
        let counted = line.rsplit_once(' ').and_then(|(comm, n)| Some((comm.trim(), number(n)?)));
        match counted.filter(|_| self.preemptors) {
            Some((comm, count)) => {
                out.row(&preemption::TABLE, t, dt).str(preemption::by_comm, comm).f64(preemption::preemptions, count);
            }
            None => return false,
        }
        true
    }
}
