//! Two groups of runs: the comparison of the database with intervals and verdicts, and the means of both.

use fenxi_analyze::Verdict;
use fenxi_compare::{Chosen, Group, Line as Compared, Request, SideBySide, windows};
use fenxi_query::Engine;

use super::{Asked, COMPARISON, Cell, Column, DbReport, DbReportError, Line, PeriodScope, Section, periods};

/// Lines of the comparison.
const MOST: usize = 40;

/// The report of two groups.
///
/// # Errors
/// As [`periods`], and when the groups cannot be compared.
pub(super) fn groups(engine: &Engine, both: [&PeriodScope; 2], asked: Asked<'_>) -> Result<DbReport, DbReportError> {
    let chosen = Chosen { by: &[], window: windows::AUTO };
    let read = |asked: &PeriodScope| Group::read(engine, &asked.period.selector, chosen);
    let (a, b) = (read(both[0])?, read(both[1])?);
    let found = SideBySide::of(&a, &b, Request::default())?;
    let mut report = periods(engine, asked)?;
    report.remarks = found.reasons.iter().map(|reason| reason.text.clone()).collect();
    if found.refused {
        report.remarks.push("These groups are not compared; their means stand side by side.".to_owned());
    }
    let Some(comparison) = found.comparison else { return Ok(report) };
    report.remarks.extend(comparison.insufficient.clone());
    report.remarks.push("Values of lines are means over the runs of a group.".to_owned());
    let comparison = comparison.only_news();
    let is_ours = |line: &&Compared| line.table.starts_with("db") || line.table == "result";
    let all: Vec<_> = comparison.results.iter().chain(&comparison.metrics).filter(is_ours).collect();
    let section = Section {
        id: COMPARISON.to_owned(),
        title: "What differs between the groups".to_owned(),
        question: String::new(),
        keys: vec!["metric".to_owned()],
        columns: ["mean", "change", "95 % interval", "p", "verdict"].into_iter().map(column).collect(),
        lines: all.iter().take(MOST).map(|line| compared(line)).collect(),
        more: all.len().saturating_sub(MOST),
    };
    if !section.lines.is_empty() && asked.has(COMPARISON) {
        report.sections.insert(0, section);
    }
    Ok(report)
}

fn column(heading: &str) -> Column {
    Column { name: heading.to_owned(), heading: heading.to_owned(), is_of_all: heading != "mean" }
}

fn compared(line: &Compared) -> Line {
    let unit = line.measure();
    let change = |value: f64| match line.relative {
        true => format!("{:+.1} %", 100.0 * value),
        false => format!("{}{}", if value > 0.0 { "+" } else { "" }, unit.human(value)),
    };
    let said = |text: String| vec![Cell::text(Some(text))];
    let interval =
        line.interval.map_or_else(|| "-".to_owned(), |[low, high]| format!("{} … {}", change(low), change(high)));
    let verdict = match line.verdict {
        Verdict::Worse => "worse",
        Verdict::Better => "better",
        Verdict::Different => "different",
        Verdict::Insufficient => "too few runs",
        _ => "no difference",
    };
    let key = if line.key.is_empty() { String::new() } else { format!(" {}", line.key) };
    Line {
        keys: vec![format!("{}.{}{key}", line.table, line.column)],
        text: None,
        only_in: None,
        cells: vec![
            line.means.iter().map(|mean| Cell::number(Some(*mean), unit)).collect(),
            vec![Cell { value: Some(line.change), unit: "", shown: change(line.change) }],
            said(interval),
            said(line.p.map_or_else(|| "-".to_owned(), |p| format!("{p:.3}"))),
            said(verdict.to_owned()),
        ],
    }
}
