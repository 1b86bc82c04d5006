//! A comparison as OpenMetrics text 1.0: a gauge for each figure of each result, and with `--all` of each metric.

use std::{collections::BTreeSet, fmt::Write as _};

use fenxi_analyze::Verdict;
use fenxi_compare::{Line, SideBySide};

use super::{CompareArgs, fails};
use crate::print;

/// The text, which ends with `# EOF`. What is unknown has no sample.
pub fn of(all: &[SideBySide<'_>], args: &CompareArgs) -> String {
    let mut families = Families::default();
    let mut seen = BTreeSet::new();
    for found in all.iter().filter(|found| seen.insert(found.b.title.as_str())) {
        let groups = [("a", found.a.title.as_str()), ("b", found.b.title.as_str())];
        families.add(&COMPARABLE, "", &groups, Some(f64::from(u8::from(!found.refused))));
        let Some(comparison) = &found.comparison else { continue };
        let metrics = comparison.metrics.iter().filter(|_| args.all);
        for line in comparison.results.iter().chain(metrics) {
            families.line(line, &groups, args);
        }
    }
    families.text()
}

/// Name and meaning of a gauge.
struct Gauge {
    name: &'static str,
    help: &'static str,
}

const COMPARABLE: Gauge =
    Gauge { name: "comparable", help: "1 where the two groups can be compared, 0 where the validity gate refuses" };
const CENTRE: Gauge =
    Gauge { name: "centre", help: "Mean of the runs of a group, or median where a few runs are far off" };
const RUNS: Gauge = Gauge { name: "runs", help: "Runs of a group that have the result" };
/// Changes as shares of A, and as differences where A has no share.
const CHANGES: [[Gauge; 2]; 3] = [
    [Gauge { name: "change", help: "B minus A as a share of A" }, Gauge { name: "difference", help: "B minus A" }],
    [
        Gauge { name: "change_low", help: "Lower end of the 95 % confidence interval of the change" },
        Gauge { name: "difference_low", help: "Lower end of the 95 % confidence interval of the difference" },
    ],
    [
        Gauge { name: "change_high", help: "Upper end of the 95 % confidence interval of the change" },
        Gauge { name: "difference_high", help: "Upper end of the 95 % confidence interval of the difference" },
    ],
];
const P_VALUE: Gauge =
    Gauge { name: "p_value", help: "p-value, adjusted for all results compared (Benjamini-Hochberg)" };
const VERDICT: Gauge = Gauge { name: "verdict", help: "What the comparison of a result comes to" };
const FAILED: Gauge = Gauge { name: "failed", help: "1 where a result has the verdict of --fail-on" };

/// Metric families, in the order in which they are first used: the samples of one follow each other.
#[derive(Default)]
struct Families(Vec<Family>);

struct Family {
    name: String,
    head: String,
    samples: String,
}

impl Families {
    /// A sample; a value that is unknown has none.
    fn add(&mut self, gauge: &Gauge, unit: &str, labels: &[(&str, &str)], value: Option<f64>) {
        let Some(value) = value.filter(|value| value.is_finite()) else { return };
        let kind = if gauge.name == VERDICT.name { "stateset" } else { "gauge" };
        let separator = if unit.is_empty() { "" } else { "_" };
        let name = format!("fenxi_compare_{}{separator}{unit}", gauge.name);
        let place = self.0.iter().position(|family| family.name == name).unwrap_or_else(|| {
            let of_unit = if unit.is_empty() { String::new() } else { format!("# UNIT {name} {unit}\n") };
            let head = format!("# TYPE {name} {kind}\n{of_unit}# HELP {name} {}\n", escaped(gauge.help));
            self.0.push(Family { name: name.clone(), head, samples: String::new() });
            self.0.len() - 1
        });
        let labels: Vec<String> = labels.iter().map(|(name, value)| format!("{name}=\"{}\"", escaped(value))).collect();
        let _ = writeln!(self.0[place].samples, "{name}{{{}}} {value}", labels.join(","));
    }

    fn line(&mut self, line: &Line, groups: &[(&str, &str)], args: &CompareArgs) {
        let metric = match line.table.as_str() {
            "result" => line.column.clone(),
            table => format!("{table}.{}", line.column),
        };
        let (unit, factor) = base_unit(&line.unit);
        // A unit that has no name in OpenMetrics is a label.
        let own = if unit.is_empty() { line.unit.as_str() } else { "" };
        let mut labels = groups.to_vec();
        labels.push(("metric", &metric));
        labels
            .extend([("series", line.key.as_str()), ("unit", own)].into_iter().filter(|(_, value)| !value.is_empty()));
        let with = |label: (&'static str, &'static str)| [labels.as_slice(), &[label]].concat();
        for (i, group) in ["a", "b"].into_iter().enumerate() {
            self.add(&CENTRE, unit, &with(("group", group)), Some(line.means[i] * factor));
            self.add(&RUNS, "", &with(("group", group)), Some(line.runs[i] as f64));
        }
        let ends = [Some(line.change), line.interval.map(|[low, _]| low), line.interval.map(|[_, high]| high)];
        for ([share, difference], value) in CHANGES.iter().zip(ends) {
            match line.relative {
                true => self.add(share, "ratio", &labels, value),
                false => self.add(difference, unit, &labels, value.map(|value| value * factor)),
            }
        }
        self.add(&P_VALUE, "", &labels, line.p);
        for verdict in Verdict::ALL {
            let is_this = f64::from(u8::from(line.verdict == verdict));
            self.add(&VERDICT, "", &with(("fenxi_compare_verdict", verdict.words())), Some(is_this));
        }
        if line.table == "result" {
            self.add(&FAILED, "", &labels, Some(f64::from(u8::from(fails(line, args)))));
        }
    }

    fn text(&self) -> String {
        let families = self.0.iter().map(|family| format!("{}{}", family.head, family.samples));
        families.collect::<String>() + "# EOF\n"
    }
}

/// The base unit of a symbol as OpenMetrics names it, and what a value in the symbol's unit is multiplied by; no name for others.
fn base_unit(symbol: &str) -> (&'static str, f64) {
    match symbol {
        "s" => ("seconds", 1.0),
        "ms" => ("seconds", 1e-3),
        "µs" | "us" => ("seconds", 1e-6),
        "B" => ("bytes", 1.0),
        "B/s" => ("bytes_per_second", 1.0),
        "%" => ("ratio", 1e-2),
        _ => ("", 1.0),
    }
}

/// The value of a label, or a help text. Whatever a terminal would obey is a question mark.
fn escaped(value: &str) -> String {
    let line = |line: &str| print::visible(line).replace('\\', "\\\\").replace('"', "\\\"");
    value.split('\n').map(line).collect::<Vec<_>>().join("\\n")
}

#[cfg(test)]
mod tests {
    use super::escaped;

    #[test]
    fn labels_are_escaped_and_control_no_terminal() {
        assert_eq!(escaped("a\"b\\c\nd\u{1b}[31m"), r#"a\"b\\c\nd?[31m"#);
    }
}
