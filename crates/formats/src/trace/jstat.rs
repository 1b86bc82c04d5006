//! `jstat -gc`, `-gcutil` and `-gccause` of the JDK, with and without `-t`.
//!
//! Counts and times of collections are totals since the JVM began; the share of time in collections is their change over an
//! interval. `-t` prints the JVM's uptime, so that a moment needs the start or the file's time.

use std::sync::LazyLock;

use fenxi_model::Micros;

use crate::{
    Family, Format, Head, Input, Out, Relative, Sure, number,
    own::{Goal, words::Words},
};

/// Importer for jstat -gc, -gcutil, -gccause of the JDK.
pub static FORMAT: Format = Format {
    name: "jstat",
    summary: "jstat -gc, -gcutil, -gccause of the JDK",
    family: Family::Trace,
    tables: &[],
    example: "\
Timestamp         S0     S1     E      O      M     CCS    YGC     YGCT    FGC    FGCT    CGC    CGCT       GCT
            3.6   0.00 100.00   0.00  17.83  97.93  89.27      3     0.030     0     0.000     0     0.000     0.030
",
    sniff,
    read,
};

/// Its columns.
static WORDS: LazyLock<Words> = LazyLock::new(|| Words::shipped(include_str!("../../../../formats/trace/jstat.toml")));

fn sniff(head: &Head<'_>) -> Sure {
    Sure::Certain.when(head.any(is_header))
}

fn is_header(line: &str) -> bool {
    let mut words = line.split_ascii_whitespace().filter(|word| *word != "Timestamp");
    let first: Vec<&str> = words.by_ref().take(4).collect();
    let own = matches!(first[..], ["S0", "S1", "E", "O"] | ["S0C", "S1C", "S0U", "S1U"]);
    own && words.any(|word| word == "YGCT")
}

#[derive(Default)]
struct Reader {
    columns: Vec<String>,
    times: Option<Relative>,
    /// Time and time in collections of the line before.
    last: Option<(Micros, f64)>,
    cause: String,
}

fn read(input: &mut Input<'_>, out: &mut Out<'_>) {
    let mut reader = Reader::default();
    input.each_line(|at, line| {
        if is_header(line) {
            reader.columns = line.split_ascii_whitespace().map(str::to_owned).collect();
        } else if !line.trim().is_empty() {
            reader.line(at, line, out);
        }
    });
}

impl Reader {
    fn line(&mut self, at: u64, line: &str, out: &mut Out<'_>) {
        let names = self.columns.iter().filter(|name| !matches!(name.as_str(), "LGCC" | "GCC")).count();
        let words: Vec<&str> = line.split_ascii_whitespace().collect();
        let causes = self.columns.len() - names;
        let values = words.get(..names).filter(|_| !self.columns.is_empty() && (causes > 0 || words.len() == names));
        let Some(values) = values.filter(|values| values.iter().all(|value| *value == "-" || number(value).is_some()))
        else {
            out.unknown(at, line, "no line of jstat's figures");
            return;
        };
        let stamped = self.columns.first().is_some_and(|name| name == "Timestamp");
        let uptime = values.first().copied().and_then(number).filter(|_| stamped);
        let (t, dt) = match uptime {
            Some(uptime) => {
                let t = self.times.get_or_insert_with(|| Relative::elapsed(out)).after(uptime);
                (t, self.last.map(|(last, _)| t.seconds_since(last)).filter(|dt| *dt > 0.0))
            }
            None => {
                let (t, dt) = self.times.get_or_insert_with(|| Relative::new(out, None)).tick();
                (t, Some(dt))
            }
        };
        let mut spent = None;
        for (name, value) in self.columns.iter().zip(values) {
            let Some(Goal::Metric { name: Some(metric), unit, scale, .. }) = WORDS.find("", name) else { continue };
            let Some(value) = number(value) else { continue };
            if *metric == "gc_time" {
                spent = Some(value);
            }
            out.metric(t, dt, &format!("jstat.{metric}"), "", value * scale, unit);
        }
        if let (Some((_, before)), Some(now), Some(dt)) = (self.last, spent, dt)
            && now >= before
        {
            out.metric(t, dt, "jstat.gc_time_share", "", (now - before) / dt * 100.0, "%");
        }
        self.last = Some((t, spent.unwrap_or(0.0)));
        if causes > 0 {
            self.causes(t, line, names, out);
        }
    }

    /// Writes the cause of the last collection, the first of two columns of words: last and present.
    fn causes(&mut self, t: Micros, line: &str, names: usize, out: &mut Out<'_>) {
        let mut rest = line.trim_start();
        for _ in 0..names {
            rest = rest.split_once(' ').map_or("", |(_, rest)| rest.trim_start());
        }
        let cause = rest.split("  ").next().unwrap_or("").trim();
        if !cause.is_empty() && cause != self.cause {
            out.event(t, "gc cause", "jvm", cause);
            cause.clone_into(&mut self.cause);
        }
    }
}
