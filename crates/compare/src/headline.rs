//! The first sentence of a comparison: by how much which group is better, how sure that is, and by which result.

use fenxi_analyze::{Interval, Verdict, could_have_seen};
use fenxi_model::{Better, Unit};
use schemars::JsonSchema;
use serde::Serialize;

use crate::{
    Line,
    wording::{VerdictWord, verdict},
};

/// Headline of a comparison: one sentence about the result that counts.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize)]
pub struct Headline {
    /// The sentence.
    pub text: String,
    /// The result that it is about.
    pub result: String,
    /// The result of B divided by that of A; None where A has 0.
    pub ratio: Option<f64>,
    /// Where the true ratio is with 95 % probability; None with fewer than two runs in a group.
    pub interval: Option<[f64; 2]>,
    /// The p value, adjusted for all results; None where there is no test.
    pub p: Option<f64>,
    /// Verdict of the result.
    #[serde(serialize_with = "verdict")]
    #[schemars(with = "VerdictWord")]
    pub verdict: Verdict,
}

/// Unit of replication, counted as n.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Replicates {
    /// Runs.
    Runs,
    /// Batches of runs: how many more of them would show a smaller change is not computed.
    Batches,
}

impl Headline {
    /// Of the result `wanted`, or of the first of `results` of which one direction is good; None where there is none.
    pub fn of(results: &[Line], wanted: Option<&str>, replicates: Replicates) -> Option<Headline> {
        let counts = |line: &&Line| line.means != [0.0, 0.0] && line.better != Better::Neither;
        let line = match wanted {
            Some(name) => results.iter().find(|line| line.column == name),
            None => results.iter().find(counts),
        }?;
        let is_ratio = line.relative && 1.0 + line.change > 0.0;
        let interval = line.interval.filter(|[low, _]| is_ratio && 1.0 + low > 0.0);
        Some(Headline {
            text: sentence(line, replicates),
            result: line.column.clone(),
            ratio: is_ratio.then_some(1.0 + line.change),
            interval: interval.map(|ends| ends.map(|end| 1.0 + end)),
            p: line.p,
            verdict: line.verdict,
        })
    }
}

fn sentence(line: &Line, replicates: Replicates) -> String {
    let by = words(&line.column);
    let [a, b] = line.runs;
    match line.verdict {
        Verdict::Same => {
            format!(
                "A and B are the same by {by}: {}{}{}",
                change(line, line.change),
                range(line),
                could_see(line, replicates)
            )
        }
        Verdict::Unclear => {
            let p = line.p.map_or_else(String::new, |p| format!(", {}", p_of(p)));
            format!(
                "A and B do not surely differ by {by}: {}{}{p}{}",
                change(line, line.change),
                range(line),
                could_see(line, replicates)
            )
        }
        Verdict::Insufficient => {
            let (more, _) = differs(line);
            let few = match replicates {
                Replicates::Runs => format!("{a} v {b} runs"),
                Replicates::Batches => "batches".to_owned(),
            };
            format!("{more} by {by}; {few} are too few to distinguish that from chance")
        }
        Verdict::Better | Verdict::Worse | Verdict::Different => {
            let (more, interval) = differs(line);
            let p = line.p.map_or_else(String::new, |p| format!(", {}", p_of(p)));
            format!("{more}{interval}{p}, by {by}")
        }
    }
}

/// A change that one wants to see.
const WANTED: f64 = 0.02;
/// The probability of intervals.
const LEVEL: f64 = 0.95;

/// The change that the comparison would have seen, and the further runs for one of [`WANTED`]; empty where unknown.
fn could_see(line: &Line, replicates: Replicates) -> String {
    if replicates == Replicates::Batches {
        return String::new();
    }
    let [a, b] = line.runs;
    let interval = line.interval.filter(|_| line.relative).map(|[low, high]| Interval { low, high });
    let Some(seen) = interval.and_then(|interval| could_have_seen(interval, (a, b), LEVEL, WANTED)) else {
        return String::new();
    };
    let more = seen.more.map(|more| format!("; to see {:.0} %, run {more} more of each", 100.0 * WANTED));
    format!(
        "; it would have seen {:.1} % or more (in 4 of 5 such comparisons){}",
        100.0 * seen.change,
        more.unwrap_or_default()
    )
}

/// By how much B differs from A, and the interval of that in brackets.
fn differs(line: &Line) -> (String, String) {
    let ratio = 1.0 + line.change;
    if !line.relative || ratio <= 0.0 {
        return (format!("B has {}", change(line, line.change)), range(line));
    }
    if line.change == 0.0 {
        return ("B is equal to A".to_owned(), range(line));
    }
    let ends = line.interval.filter(|[low, _]| 1.0 + low > 0.0).map(|ends| ends.map(|end| 1.0 + end));
    let (factor, ends, what) = match pace(line) {
        // Twice as long is half as fast.
        Some(is_time) => {
            let is_faster = (ratio < 1.0) == is_time;
            let turned = ratio < 1.0;
            let factor = if turned { 1.0 / ratio } else { ratio };
            let ends = ends.map(|[low, high]| if turned { [1.0 / high, 1.0 / low] } else { [low, high] });
            (factor, ends, if is_faster { "faster".to_owned() } else { "slower".to_owned() })
        }
        None => (ratio, ends, format!("the {} of A", words(&line.column))),
    };
    let decimals = if factor < 1.995 {
        2
    } else if factor < 99.5 {
        1
    } else {
        0
    };
    let verb = if pace(line).is_some() { "is" } else { "has" };
    let interval = ends.map(|[low, high]| format!(" (95 % {low:.decimals$} to {high:.decimals$})"));
    (format!("B {verb} {factor:.decimals$} × {what}"), interval.unwrap_or_default())
}

/// Whether a result measures how fast something is: Some(true) as a time, Some(false) as a rate.
fn pace(line: &Line) -> Option<bool> {
    match (line.measure(), line.better) {
        (Unit::Seconds | Unit::Milliseconds | Unit::Microseconds, Better::Lower) => Some(true),
        (Unit::PerS | Unit::BytesPerS | Unit::MegabitsPerS, Better::Higher) => Some(false),
        _ => None,
    }
}

/// A name of a result as words.
fn words(name: &str) -> String {
    match name {
        "elapsed" => "elapsed time".to_owned(),
        name => name.replace('_', " "),
    }
}

/// A change of `line`: a share, points of percent, or a difference in its unit.
pub fn change(line: &Line, value: f64) -> String {
    if line.relative {
        return format!("{:+.1} %", 100.0 * value);
    }
    let sign = if value > 0.0 { "+" } else { "" };
    let difference = line.measure().human(value).to_string();
    // A difference of two percentages is in points: a change by 10 % is another thing.
    match difference.strip_suffix('%') {
        Some(points) if line.measure() == Unit::Percent => format!("{sign}{points} pts"),
        _ => format!("{sign}{difference}"),
    }
}

fn range(line: &Line) -> String {
    line.interval
        .map_or_else(String::new, |[low, high]| format!(" (95 % {} to {})", change(line, low), change(line, high)))
}

/// A p-value with its sign.
fn p_of(p: f64) -> String {
    if p < 0.001 { "p < 0.001".to_owned() } else { format!("p = {p:.3}") }
}

#[cfg(test)]
mod tests {
    use fenxi_analyze::Centre;

    use super::*;

    fn line(column: &str, unit: &str, better: Better, change: f64, verdict: Verdict) -> Line {
        Line {
            table: "result".to_owned(),
            key: String::new(),
            column: column.to_owned(),
            unit: unit.to_owned(),
            better,
            runs: [6, 6],
            centre: Centre::Mean,
            means: [10.0, 10.0 * (1.0 + change)],
            ranges: [[9.0, 11.0], [3.0, 4.0]],
            change,
            relative: true,
            interval: Some([change - 0.1, change + 0.1]),
            effect: -1.0,
            p: Some(0.011),
            verdict,
            group: "results",
            doc: "",
        }
    }

    fn says(line: Line) -> String {
        Headline::of(&[line], None, Replicates::Runs).unwrap().text
    }

    #[test]
    fn times_and_rates_are_faster_or_slower() {
        let time = |change, verdict| says(line("elapsed", "s", Better::Lower, change, verdict));
        assert_eq!(time(-0.6, Verdict::Better), "B is 2.5 × faster (95 % 2.0 to 3.3), p = 0.011, by elapsed time");
        assert_eq!(time(0.5, Verdict::Worse), "B is 1.50 × slower (95 % 1.40 to 1.60), p = 0.011, by elapsed time");
        let rate = |change| says(line("throughput", "/s", Better::Higher, change, Verdict::Better));
        assert_eq!(rate(0.5), "B is 1.50 × faster (95 % 1.40 to 1.60), p = 0.011, by throughput");
        assert_eq!(rate(-0.5), "B is 2.0 × slower (95 % 1.7 to 2.5), p = 0.011, by throughput");
        let other = says(line("max_rss", "B", Better::Lower, -0.5, Verdict::Better));
        assert_eq!(other, "B has 0.50 × the max rss of A (95 % 0.40 to 0.60), p = 0.011, by max rss");
    }

    #[test]
    fn no_difference_is_claimed_where_none_is_sure() {
        let of = |verdict| says(line("elapsed", "s", Better::Lower, -0.01, verdict));
        let same = of(Verdict::Same);
        let begin = "A and B are the same by elapsed time: -1.0 % (95 % -11.0 % to +9.0 %); \
                     it would have seen 13.8 % or more (in 4 of 5 such comparisons); to see 2 %, run 23";
        assert!(same.starts_with(begin), "{same}");
        assert!(of(Verdict::Unclear).starts_with("A and B do not surely differ by elapsed time: -1.0 %"));
        assert_eq!(
            of(Verdict::Insufficient),
            "B is 1.01 × faster by elapsed time; 6 v 6 runs are too few to distinguish that from chance"
        );
    }

    #[test]
    fn the_result_that_counts_is_named_or_the_first_with_a_good_direction() {
        let all = [
            line("requests", "", Better::Neither, 0.5, Verdict::Different),
            line("elapsed", "s", Better::Lower, -0.5, Verdict::Better),
            line("user_time", "s", Better::Lower, -0.2, Verdict::Better),
        ];
        assert_eq!(Headline::of(&all, None, Replicates::Runs).unwrap().result, "elapsed");
        assert_eq!(Headline::of(&all, Some("user_time"), Replicates::Runs).unwrap().ratio, Some(0.8));
        assert_eq!(Headline::of(&all, Some("nothing"), Replicates::Runs), None);
        assert_eq!(Headline::of(&all[..1], None, Replicates::Runs), None);
    }

    #[test]
    fn points_are_no_percent() {
        let mut points = line("busy", "%", Better::Neither, 14.1, Verdict::Different);
        points.relative = false;
        assert_eq!((change(&points, 14.1), change(&points, -2.0)), ("+14.1 pts".to_owned(), "-2.00 pts".to_owned()));
        assert_eq!(change(&line("x", "s", Better::Lower, 0.0, Verdict::Same), -0.991), "-99.1 %");
    }
}
