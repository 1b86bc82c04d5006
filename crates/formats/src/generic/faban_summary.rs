//! The `summary.xml` of a Faban run: its metric, whether it passed, and for each driver the mix of
//! operations, response times, delays and the benchmark's own statistics.
//!
//! A percentile beyond the last bucket is printed as `> 5.000`: that is no value, and is kept as a
//! fact. Times are Java's, with a zone's abbreviation, which does not identify the zone.

use fenxi_model::{Micros, Place, catalog::load, place::F64};

use super::{
    labels::{Labels, seconds_of, symbol},
    when::moment,
    xml::{Element, walk},
};
use crate::{Family, Format, Head, Input, Out, Sure, ctime, number};

/// Importer for summary.xml of Faban.
pub static FORMAT: Format = Format {
    name: "faban-summary",
    summary: "summary.xml of Faban: metric, mix, response times and delays by driver and operation",
    family: Family::Load,
    tables: &[&load::TABLE],
    example: r#"<?xml version="1.0" encoding="UTF-8"?>
<benchResults>
    <benchSummary name="Sample" version="0.1">
        <metric unit="ops/sec">12.500</metric>
    </benchSummary>
</benchResults>
"#,
    sniff,
    read,
};

fn sniff(head: &Head<'_>) -> Sure {
    let xml = head.first().starts_with('<');
    Sure::Certain.when(xml && head.text.contains("<benchResults") && head.text.contains("<benchSummary"))
}

/// Columns of `load` for the percentiles that have one.
const PERCENTILES: &[(&str, Place<load::Schema, F64>)] = &[
    ("50", load::latency_p50_ms),
    ("90", load::latency_p90_ms),
    ("95", load::latency_p95_ms),
    ("99", load::latency_p99_ms),
    ("99.9", load::latency_p999_ms),
];

fn read(input: &mut Input<'_>, out: &mut Out<'_>) {
    let mut run = Run::default();
    walk(input, out, |open, out| {
        let names: Vec<&str> = open.iter().skip(1).map(|e| e.name.as_str()).collect();
        let Some((element, parents)) = open.split_last() else { return };
        let driver = parents.get(1).map_or("", |driver| driver.attribute("name"));
        match names.as_slice() {
            ["benchSummary"] => run.benchmark(element, out),
            ["driverSummary"] => driver_totals(element, out),
            ["driverSummary", "mix", "operation"] => run.mix(driver, element, out),
            ["driverSummary", "responseTimes", "operation"] => run.response(driver, parents, element, out),
            ["driverSummary", "delayTimes", "operation"] => delays(driver, element, out),
            ["driverSummary", "customStats" | "miscStats", "stat"] => statistic(driver, parents, element, out),
            ["driverSummary", "customTable", "head"] => {
                run.columns = element.children.iter().map(|c| c.text().to_owned()).collect();
            }
            ["driverSummary", "customTable", "tr"] => run.table_row(driver, parents, element, out),
            _ => {}
        }
    });
    if let Some(failures) = run.failures {
        out.result("errors", failures, "", "lower");
    }
}

/// Figures and titles known from earlier elements.
#[derive(Default)]
struct Run {
    end: Option<Micros>,
    failures: Option<f64>,
    /// The header of the benchmark's own table.
    columns: Vec<String>,
}

impl Run {
    fn benchmark(&mut self, element: &Element, out: &mut Out<'_>) {
        out.set_host(element.attribute("host"));
        for (name, value) in [
            ("benchmark", element.attribute("name")),
            ("version", element.attribute("version")),
            ("run", element.child("runId")),
            ("start", element.child("startTime")),
            ("end", element.child("endTime")),
        ] {
            if !value.is_empty() {
                out.fact("faban", name, value);
            }
        }
        let start = time(element.child("startTime"), out);
        self.end = time(element.child("endTime"), out);
        if let (Some(start), Some(end)) = (start, self.end) {
            out.result("elapsed", end.seconds_since(start), "s", "neither");
        }
        if let Some(metric) = element.children.iter().find(|c| c.name == "metric") {
            out.result("throughput", number(metric.text()), symbol(metric.attribute("unit")), "higher");
        }
        if let Some(passed) = truth(element.child("passed")) {
            out.result("passed", passed, "", "higher");
        }
    }

    /// How often each operation was done, and its share of all.
    fn mix(&mut self, driver: &str, element: &Element, out: &mut Out<'_>) {
        if let Some(failures) = number(element.child("failures")) {
            *self.failures.get_or_insert(0.0) += failures;
        }
        let labels = labels(driver, element);
        for (name, metric, unit, scale) in [
            ("successes", "faban.successes", "", 1.0),
            ("failures", "faban.failures", "", 1.0),
            ("mix", "faban.mix", "%", 100.0),
            ("requiredMix", "faban.required_mix", "%", 100.0),
        ] {
            if let Some(value) = number(element.child(name)) {
                out.metric(None, None, metric, labels.text(), value * scale, unit);
            }
        }
        verdict("mix", &labels, element, out);
    }

    /// Response times of an operation, in the unit that the parent names.
    fn response(&mut self, driver: &str, parents: &[Element], element: &Element, out: &mut Out<'_>) {
        let unit = parents.last().map_or("", |p| p.attribute("unit"));
        let scale = seconds_of(unit).unwrap_or(1.0) * 1000.0;
        let operation = operation(element);
        let result = |what: &str| format!("{what}[{driver}.{operation}]");
        let mut columns = Vec::new();
        for child in &element.children {
            let nth = match child.name.as_str() {
                "avg" => "mean",
                "max" => "max",
                "sd" => "sd",
                "p90th" => "90",
                "p99th" => "99",
                "percentile" => child.attribute("nth"),
                _ => continue,
            };
            let name = match nth {
                "mean" | "max" | "sd" => format!("latency_{nth}"),
                _ => format!("latency_p{}", nth.replace('.', "")),
            };
            match number(child.text()) {
                Some(value) => {
                    out.result(&result(&name), value * scale, "ms", "lower");
                    columns.push((nth.to_owned(), value * scale));
                }
                None if child.text().is_empty() => {}
                None => out.fact("faban", &result(&name), &format!("{} {unit}", child.text())),
            }
        }
        verdict("response times", &labels(driver, element), element, out);
        if columns.is_empty() {
            return;
        }
        let users = parents.get(1).and_then(|driver| number(driver.child("users")));
        let mut row = out.row(&load::TABLE, self.end, None);
        row.str(load::generator, driver).str(load::operation, operation).f64(load::clients, users);
        for (nth, value) in &columns {
            let place = match nth.as_str() {
                "mean" => Some(load::latency_mean_ms),
                "max" => Some(load::latency_max_ms),
                "sd" => Some(load::latency_sd_ms),
                _ => PERCENTILES.iter().find(|(p, _)| p == nth).map(|(_, place)| *place),
            };
            if let Some(place) = place {
                row.f64(place, *value);
            }
        }
    }

    fn table_row(&mut self, driver: &str, parents: &[Element], element: &Element, out: &mut Out<'_>) {
        let table = parents.last().map_or("", |p| p.attribute("name"));
        let mut labels = Labels::of("generator", driver);
        labels.push("section", table);
        let cells = || self.columns.iter().map(String::as_str).zip(element.children.iter().map(Element::text));
        for (column, cell) in cells().enumerate().filter(|(i, (_, c))| *i == 0 || number(c).is_none()).map(|(_, c)| c) {
            labels.push(column, cell);
        }
        for (column, cell) in cells().skip(1) {
            if let Some(value) = number(cell) {
                out.metric(None, None, column, labels.text(), value, "");
            }
        }
    }
}

/// The totals of one driver.
fn driver_totals(element: &Element, out: &mut Out<'_>) {
    let labels = Labels::of("generator", element.attribute("name"));
    for child in &element.children {
        let (name, unit) = match child.name.as_str() {
            "metric" => ("faban.throughput", symbol(child.attribute("unit"))),
            "totalOps" => ("faban.operations", ""),
            "users" => ("faban.users", ""),
            // The mean number of users that were busy, if the figures are right: users, that is.
            "rtXtps" => ("faban.users_by_littles_law", ""),
            _ => continue,
        };
        if let Some(value) = number(child.text()) {
            out.metric(None, None, name, labels.text(), value, unit);
        }
    }
    verdict("all", &labels, element, out);
}

/// Cycle or think times of an operation, in seconds.
fn delays(driver: &str, element: &Element, out: &mut Out<'_>) {
    let mut labels = labels(driver, element);
    labels.push("type", element.attribute("type"));
    for (name, metric) in [
        ("targetedAvg", "faban.delay_targeted_mean"),
        ("actualAvg", "faban.delay_mean"),
        ("min", "faban.delay_min"),
        ("max", "faban.delay_max"),
    ] {
        if let Some(value) = number(element.child(name)) {
            out.metric(None, None, metric, labels.text(), value, "s");
        }
    }
    verdict("delay times", &labels, element, out);
}

/// One of the benchmark's own statistics: a number, or words.
fn statistic(driver: &str, parents: &[Element], element: &Element, out: &mut Out<'_>) {
    let section = parents.last().map_or("", |p| p.attribute("name"));
    let name = element.child("description");
    let mut labels = Labels::of("generator", driver);
    labels.push("section", section);
    match number(element.child("result")) {
        Some(value) => out.metric(None, None, name, labels.text(), value, ""),
        None if element.child("result").is_empty() => {}
        None => out.fact(if section.is_empty() { "faban" } else { section }, name, element.child("result")),
    }
    if let Some(target) = number(element.child("target")) {
        out.metric(None, None, &format!("{name} target"), labels.text(), target, "");
    }
    labels.push("statistic", name);
    verdict("statistic", &labels, element, out);
}

/// Whether what `element` describes met its requirement: 1 or 0.
fn verdict(of: &str, labels: &Labels, element: &Element, out: &mut Out<'_>) {
    let mut labels = labels.clone();
    labels.push("of", of);
    if let Some(passed) = truth(element.child("passed")) {
        out.metric(None, None, "faban.passed", labels.text(), passed, "");
    }
}

/// An operation's name; one in the background carries an ampersand.
fn operation(element: &Element) -> &str {
    element.attribute("name").trim_end_matches('&').trim_end()
}

fn labels(driver: &str, element: &Element) -> Labels {
    let mut labels = Labels::of("generator", driver);
    labels.push("operation", operation(element));
    labels
}

fn truth(text: &str) -> Option<f64> {
    match text {
        "true" => Some(1.0),
        "false" => Some(0.0),
        _ => None,
    }
}

/// A time as Java prints it.
fn time(text: &str, out: &mut Out<'_>) -> Option<Micros> {
    let zone = out.hints().zone.clone();
    if let Some(named) = ctime(text).and_then(|read| read.zone).filter(|z| !matches!(*z, "UTC" | "GMT")) {
        out.assume(&format!("that the zone {named} of the run's times is the one of all times here"));
    }
    moment(text, &zone)
}
