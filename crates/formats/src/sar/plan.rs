//! Where the columns under one header go: made once for each header, used for each line under it.

use fenxi_model::{Table, catalog::mem};

use super::section::{OTHER, SYSSTAT, Section, To};

/// Where the columns under one header go.
#[derive(Debug)]
pub(super) struct Plan {
    /// Number of columns.
    pub(super) columns: usize,
    /// Key columns: the column, the label's name, and the places that it fills.
    pub(super) keys: Vec<(usize, &'static str, Places)>,
    pub(super) fixed: Option<(&'static Table, usize, &'static str)>,
    pub(super) parts: Vec<Part>,
    pub(super) metrics: Vec<Metric>,
    /// Set for interrupts, which have their CPUs in columns.
    pub(super) interrupts: Option<Interrupts>,
    /// Whether the last column is a name that may hold blanks, or be missing.
    pub(super) tail: bool,
}

/// Columns of tables.
pub(super) type Places = &'static [(&'static Table, usize)];

/// Columns of one table.
#[derive(Debug)]
pub(super) struct Part {
    pub(super) table: &'static Table,
    pub(super) targets: Vec<Target>,
}

/// A value column that has a place in a table.
#[derive(Debug)]
pub(super) struct Target {
    pub(super) column: usize,
    pub(super) place: usize,
    pub(super) factor: f64,
    /// Whether the value adds to what the place holds.
    pub(super) adds: bool,
}

/// A value column that is a metric.
#[derive(Debug)]
pub(super) struct Metric {
    pub(super) column: usize,
    pub(super) name: String,
    pub(super) unit: &'static str,
    pub(super) factor: f64,
}

/// How a section of interrupts is laid out.
#[derive(Debug)]
pub(super) enum Interrupts {
    /// A row for each interrupt: its column, and columns with their CPUs, None for all of them.
    Rows(usize, Vec<(usize, Option<String>)>),
    /// A row for each CPU: the column and its interrupt (sysstat before 10).
    Columns(Vec<(usize, String)>),
    /// A row for each pair of `intr`, `cpu` and `value` (XML): their columns.
    Pairs(usize, usize),
}

impl Plan {
    /// Plans for the column names of a header line.
    pub(super) fn of_header(headers: &[&str]) -> Plan {
        Plan::among(&SYSSTAT, headers)
    }

    /// Plans for the column names of a header line of one of `sections`.
    pub(super) fn among(sections: &'static [Section], headers: &[&str]) -> Plan {
        let section = Section::of_header(sections, headers.iter().copied()).unwrap_or(&OTHER);
        Plan::new(section, headers)
    }

    /// Multiplies the values of a column by `factor`; without one the column has no place.
    pub(super) fn scale(&mut self, column: usize, factor: Option<f64>) {
        for part in &mut self.parts {
            match factor {
                Some(factor) => {
                    part.targets.iter_mut().filter(|t| t.column == column).for_each(|t| t.factor *= factor);
                }
                None => part.targets.retain(|t| t.column != column),
            }
        }
    }

    /// Plans for the columns of `section` with these headers.
    pub(super) fn new(section: &'static Section, headers: &[&str]) -> Plan {
        let mut plan = Plan {
            columns: headers.len(),
            keys: Vec::new(),
            fixed: section.fixed,
            parts: Vec::new(),
            metrics: Vec::new(),
            interrupts: interrupts(headers),
            tail: false,
        };
        if plan.interrupts.is_some() {
            return plan;
        }
        for (i, header) in headers.iter().enumerate() {
            if let Some(key) = section.key_index(header) {
                plan.keys.push((i, &section.keys[key].label, &section.keys[key].places));
                plan.tail = i > 0 && i + 1 == headers.len();
            } else {
                plan.value(section, i, header);
            }
        }
        // Before there was `kbavail`, used memory was all that is not free.
        let has = |name: &str| headers.contains(&name);
        if has("kbmemfree") && has("kbmemused") && !has("kbavail") {
            for column in (0..headers.len()).filter(|i| matches!(headers[*i], "kbmemfree" | "kbmemused")) {
                let place = mem::total_bytes.index();
                plan.target(&mem::TABLE, Target { column, place, factor: 1024.0, adds: true });
            }
        }
        // `manufact product`: two names with blanks in them at the end of the line are read as one.
        if headers.ends_with(&["manufact", "product"]) {
            plan.keys.pop();
            plan.columns -= 1;
        }
        plan
    }

    fn value(&mut self, section: &'static Section, column: usize, header: &str) {
        match section.column(header).map_or(To::Metric, |c| c.to) {
            To::Skip => {}
            To::Set(table, place, factor, whole) => {
                self.target(table, Target { column, place, factor, adds: false });
                if let Some(place) = whole {
                    self.target(table, Target { column, place, factor, adds: true });
                }
            }
            To::Add(table, place, factor) => self.target(table, Target { column, place, factor, adds: true }),
            To::Metric => {
                // Kilobytes become bytes, and the name has no unit then.
                let (name, unit, factor) = match header.strip_prefix("kb") {
                    Some(name) => (name, "B", 1024.0),
                    None if header.starts_with('%') => (header, "%", 1.0),
                    None if header.ends_with("/s") => (header, "/s", 1.0),
                    None => (header, "", 1.0),
                };
                self.metrics.push(Metric { column, name: format!("sar.{}{name}", section.prefix), unit, factor });
            }
        }
    }

    fn target(&mut self, table: &'static Table, target: Target) {
        match self.parts.iter_mut().find(|p| p.table.id == table.id) {
            Some(part) => part.targets.push(target),
            None => self.parts.push(Part { table, targets: vec![target] }),
        }
    }

    /// The plan with nothing for the first column.
    pub(super) fn without_first(mut self) -> Plan {
        self.metrics.retain(|m| m.column > 0);
        self
    }

    /// Whether any column has a place that is known.
    pub(super) fn is_known(&self) -> bool {
        !self.parts.is_empty() || !self.keys.is_empty() || self.interrupts.is_some()
    }
}

/// All places of `table` that any of `sections` fills.
pub(super) fn places(sections: &'static [Section], table: &'static Table) -> Vec<usize> {
    let mut places = Vec::new();
    for column in sections.iter().flat_map(|s| &s.columns) {
        let (of, all) = match column.to {
            To::Set(of, place, _, whole) => (of, [Some(place), whole]),
            To::Add(of, place, _) => (of, [Some(place), None]),
            To::Skip | To::Metric => continue,
        };
        places
            .extend(all.into_iter().flatten().filter(|p| of.id == table.id && !places.contains(p)).collect::<Vec<_>>());
    }
    places
}

/// The columns of a section of interrupts, if the header is one's.
fn interrupts(headers: &[&str]) -> Option<Interrupts> {
    let cpu_of = |h: &str| match h {
        "all" | "intr/s" | "value" => Some(None),
        _ => h.strip_prefix("CPU").or_else(|| h.strip_prefix("cpu")).map(|n| Some(n.to_owned())),
    };
    match headers {
        ["intr", "cpu", "value"] => Some(Interrupts::Pairs(1, 2)),
        // The name is last in `--pretty` reports.
        ["INTR" | "intr", ..] | [.., "INTR"] => {
            let name = if headers.ends_with(&["INTR"]) { headers.len() - 1 } else { 0 };
            let values = headers.iter().enumerate().filter(|(i, _)| *i != name);
            let columns: Option<Vec<_>> = values.map(|(i, h)| Some((i, cpu_of(h)?))).collect();
            Some(Interrupts::Rows(name, columns?))
        }
        ["CPU", rest @ ..] if !rest.is_empty() && rest.iter().all(|h| old_number(h).is_some()) => {
            let name = |(i, h): (usize, &&str)| Some((i + 1, old_number(h)?.to_owned()));
            Some(Interrupts::Columns(rest.iter().enumerate().filter_map(name).collect()))
        }
        _ => None,
    }
}

/// The number in `i008/s`, without its zeros.
fn old_number(header: &str) -> Option<&str> {
    let digits = header.strip_prefix('i')?.strip_suffix("/s")?;
    let plain = !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit());
    plain.then(|| if digits.bytes().all(|b| b == b'0') { "0" } else { digits.trim_start_matches('0') })
}
