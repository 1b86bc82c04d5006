//! One line of a comparison, as the terminal and JSON show it.

use fenxi_analyze::{Centre, Interval, Verdict};
use fenxi_model::{Better, Section, TableId, Unit, table};
use schemars::JsonSchema;
use serde::Serialize;

use crate::wording::{BetterWord, VerdictWord, centre, centre_schema, verdict, words_of};

/// A metric or a result of two groups.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize)]
pub struct Line {
    /// The table of the catalogue; `result` for the runs' own results.
    pub table: String,
    /// The keys as `key=value,…`, with the host where a run has several; empty for none.
    pub key: String,
    /// The column, or the name of the result.
    pub column: String,
    /// The unit: its symbol, or for a result a word; empty for a plain number.
    pub unit: String,
    /// Which direction is good.
    #[serde(serialize_with = "words_of")]
    #[schemars(with = "BetterWord")]
    pub better: Better,
    /// Runs of each group that have it.
    pub runs: [usize; 2],
    /// Central value of each group: its mean, or its median where there are outliers.
    #[serde(serialize_with = "centre")]
    #[schemars(schema_with = "centre_schema")]
    pub centre: Centre,
    /// Mean or median of each group.
    pub means: [f64; 2],
    /// Minimum and maximum of each group.
    pub ranges: [[f64; 2]; 2],
    /// The second mean less the first; as a share of the first where `relative`.
    pub change: f64,
    /// True if the change is a share: 0.1 is 10 % more.
    pub relative: bool,
    /// Where the true change is with 95 % probability; None with fewer than two runs in a group.
    pub interval: Option<[f64; 2]>,
    /// Cliff's delta: -1 when every run of B is below every run of A, 1 when every one is above.
    pub effect: f64,
    /// The p value, adjusted for all that was compared beside it; None where there is no test.
    pub p: Option<f64>,
    /// Verdict.
    #[serde(serialize_with = "verdict")]
    #[schemars(with = "VerdictWord")]
    pub verdict: Verdict,
    /// The section of its table, by which metrics are grouped.
    pub group: &'static str,
    /// Meaning of the metric; empty for a result.
    pub doc: &'static str,
}

/// The section of a table; of one that is not in the catalogue, the last.
fn section(name: &str) -> Section {
    table(name).map_or(Section::Facts, |table| table.section)
}

impl Line {
    pub(crate) fn of(line: fenxi_analyze::Line) -> Line {
        let fenxi_analyze::Line { metric, unit, word, better, compared, p, verdict } = line;
        let pair = |i: Interval| [i.low, i.high];
        let column = table(&metric.table).filter(|t| t.name != "result");
        let doc = column.and_then(|t| Some(t.columns[t.index_of(&metric.column)?].doc));
        Line {
            group: section(&metric.table).word(),
            doc: doc.unwrap_or_default(),
            table: metric.table,
            key: metric.key,
            column: metric.column,
            unit: if word.is_empty() { unit.symbol().to_owned() } else { word },
            better,
            runs: compared.n.into(),
            centre: compared.centre,
            means: compared.means.into(),
            ranges: compared.ranges.map(pair),
            change: compared.change.value,
            relative: compared.is_relative,
            interval: compared.change.interval.map(pair),
            effect: compared.effect,
            p: Some(p).filter(|p| p.is_finite()),
            verdict,
        }
    }

    /// The unit, to show numbers with; none for a result with its own word.
    pub fn measure(&self) -> Unit {
        Unit::from_symbol(&self.unit)
    }

    /// Returns true if the line has a change.
    pub fn is_change(&self) -> bool {
        matches!(self.verdict, Verdict::Worse | Verdict::Better | Verdict::Different)
    }

    /// Whether too few runs had it, and yet no run of one group is among those of the other.
    pub(crate) fn seems_changed(&self) -> bool {
        self.verdict == Verdict::Insufficient && self.effect.abs() >= 1.0 && self.change.abs() > 0.05
    }

    /// How much a difference matters: good and bad before neither, then by its size.
    pub(crate) fn weight(&self) -> f64 {
        let judged = if matches!(self.verdict, Verdict::Worse | Verdict::Better) { 1e6 } else { 0.0 };
        let [a, b] = self.means;
        let fold = if a * b > 0.0 { (b / a).ln().abs() } else { 10.0 };
        judged + if self.means == [0.0, 0.0] { 0.0 } else { fold }
    }

    /// Place of its section and its table among all.
    pub(crate) fn place(&self) -> (Section, Option<TableId>) {
        (section(&self.table), table(&self.table).map(|table| table.id))
    }
}

/// The minimum and the maximum of several numbers, in words.
pub fn range_words([least, greatest]: [f64; 2], unit: Unit) -> String {
    if least == greatest {
        unit.human(least).to_string()
    } else {
        format!("{} … {}", unit.human(least), unit.human(greatest))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_metric_is_grouped_by_the_section_of_its_table() {
        assert_eq!((section("pin"), section("preemption")), (Section::Interrupt, Section::Database));
        assert_eq!(section("of_an_older_fenxi"), Section::Facts);
    }
}
