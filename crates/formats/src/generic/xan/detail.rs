//! The sections of Faban's `detail.xan`, whose meaning is known: throughput, response times and
//! their distributions by driver and operation.
//!
//! Times count from the start of the run, and each is the begin of its interval, not the end. A mean
//! response time of 0 means that nothing was completed. The last bucket of a full distribution also
//! holds everything beyond it, which the file does not show.

use fenxi_model::{Micros, catalog::load};

use super::section::{Cells, value};
use crate::{
    Join, Out,
    generic::labels::{Labels, seconds_of},
};

/// Content of a section.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) enum Kind {
    /// Anything.
    #[default]
    Plain,
    /// Operations per second of a driver.
    Throughput(String),
    /// Mean response times of a driver, in units of so many milliseconds.
    Response(String, f64),
    /// How often a driver saw which time, in units of so many milliseconds.
    Histogram { driver: String, name: &'static str, scale: f64 },
}

impl Kind {
    pub(super) fn may_be_timed(&self) -> bool {
        !matches!(self, Kind::Histogram { .. })
    }
}

/// State gathered over the sections of one driver.
#[derive(Debug, Default)]
pub(super) struct Detail {
    active: bool,
    driver: String,
    join: Option<Join<load::Schema>>,
    /// The bucket whose end is in the next row: its begin, its counts, and how wide the one before was.
    bucket: Option<(f64, Vec<f64>)>,
    width: f64,
    /// Name and labels of the open bucket's columns.
    series: (&'static str, Vec<Labels>),
}

impl Detail {
    pub(super) fn of(title: &str, out: &mut Out<'_>) -> Detail {
        let host = title.split_once(" Partial Detailed Results for Driver ").map(|(_, host)| host.trim());
        if let Some(host) = host {
            out.set_host(host);
        }
        Detail { active: host.is_some() || title.ends_with(" Detailed Results"), ..Detail::default() }
    }

    /// Content of the section called `name`.
    pub(super) fn kind(&mut self, name: &str, out: &mut Out<'_>) -> Kind {
        let Some(kind) = self.classify(name) else { return Kind::Plain };
        let (Kind::Throughput(driver) | Kind::Response(driver, _) | Kind::Histogram { driver, .. }) = &kind else {
            return kind;
        };
        if self.driver != *driver {
            self.flush(out);
            driver.clone_into(&mut self.driver);
        }
        kind
    }

    fn classify(&self, name: &str) -> Option<Kind> {
        if !self.active {
            return distribution(name);
        }
        if let Some(driver) = name.strip_suffix(" Throughput") {
            return Some(Kind::Throughput(driver.to_owned()));
        }
        if let Some(distribution) = distribution(name) {
            return Some(distribution);
        }
        let (name, unit) = name.strip_suffix(')')?.rsplit_once(" (")?;
        let driver = name.strip_suffix(" Response Times")?;
        Some(Kind::Response(driver.to_owned(), seconds_of(unit)? * 1000.0))
    }

    /// Takes a row of throughput or response times that begins at `t`.
    pub(super) fn timed(
        &mut self,
        kind: &Kind,
        (t, dt): (Micros, Option<f64>),
        headers: &[String],
        cells: &Cells<'_>,
        out: &mut Out<'_>,
    ) {
        let (place, scale) = match kind {
            Kind::Response(_, scale) => (load::latency_mean_ms, *scale),
            _ => (load::transactions_per_s, 1.0),
        };
        let end = Micros(t.0.saturating_add((dt.unwrap_or(0.0) * 1e6) as i64));
        let driver = &self.driver;
        let join = self.join.get_or_insert_with(|| {
            let places = [load::transactions_per_s, load::latency_mean_ms];
            Join::new(&load::TABLE, Some(load::operation), &places).with(load::generator, driver)
        });
        for (header, cell) in headers.iter().zip(cells.iter()).skip(1) {
            let none = |value: &f64| *value == 0.0 && place == load::latency_mean_ms;
            let value = value(cell).filter(|value| !none(value)).map(|value| value * scale);
            join.set(out, end, dt, header, place, value);
        }
    }

    /// Takes a row of a distribution.
    pub(super) fn bucket(&mut self, kind: &Kind, headers: &[String], cells: &Cells<'_>, line: u64, out: &mut Out<'_>) {
        let Kind::Histogram { driver, name, scale } = kind else { return };
        let Some(lo) = value(cells.get(0)).map(|lo| lo * scale) else {
            out.unknown(line, cells.get(0), "no number in the first column");
            return;
        };
        match &self.bucket {
            Some((before, _)) => {
                self.width = lo - before;
                self.write_bucket(Some(lo), out);
            }
            None => {
                let labels = |operation: &String| {
                    let mut labels =
                        if driver.is_empty() { Labels::default() } else { Labels::of("generator", driver) };
                    labels.push("operation", operation);
                    labels
                };
                self.series = (name, headers.iter().skip(1).map(labels).collect());
            }
        }
        self.bucket = Some((lo, cells.iter().skip(1).map(|cell| value(cell).unwrap_or(0.0)).collect()));
    }

    fn write_bucket(&mut self, hi: Option<f64>, out: &mut Out<'_>) {
        let Some((lo, counts)) = self.bucket.take() else { return };
        let (name, labels) = &self.series;
        for (labels, count) in labels.iter().zip(counts) {
            if count > 0.0 {
                out.bucket(None, None, name, labels.text(), lo, hi, "ms", count);
            }
        }
    }

    /// The section is over.
    pub(super) fn end_section(&mut self, out: &mut Out<'_>) {
        let hi = self.bucket.as_ref().map(|(lo, _)| lo + self.width).filter(|_| self.width > 0.0);
        self.write_bucket(hi, out);
        self.width = 0.0;
    }

    /// Writes what was gathered for a driver.
    pub(super) fn flush(&mut self, out: &mut Out<'_>) {
        if let Some(mut join) = self.join.take() {
            join.flush(out);
        }
    }
}

/// The distribution that a section called `name` holds: `Web Frequency Distribution of Response Times (seconds)`,
/// `Response Time Distribution (ms)`.
fn distribution(name: &str) -> Option<Kind> {
    let (name, unit) = name.strip_suffix(')')?.rsplit_once(" (")?;
    let (driver, of) = match name.split_once("Frequency Distribution of ") {
        Some((driver, of)) => (driver, of.trim_end_matches('s')),
        None => {
            let name = name.strip_suffix(" Distribution")?.trim_end_matches(" Frequency").trim_end_matches('s');
            let at = name.len().checked_sub("Response Time".len()).filter(|at| name.is_char_boundary(*at))?;
            name.split_at(at)
        }
    };
    let name = match of {
        "Response Time" => "latency_ms",
        "Cycle/Think Time" => "cycle_time_ms",
        "Targeted Cycle/Think Time" => "targeted_cycle_time_ms",
        _ => return None,
    };
    Some(Kind::Histogram { driver: driver.trim().to_owned(), name, scale: seconds_of(unit)? * 1000.0 })
}
