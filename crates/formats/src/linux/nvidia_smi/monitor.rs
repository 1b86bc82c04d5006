//! `dmon` and `pmon`: two lines of titles that begin with `#`, columns and units, again and again.

use fenxi_model::Micros;
use jiff::civil::Date;

use super::{Target, base_unit, figure, missing};
use crate::{Clock, Fields, Out, Relative, Splitter, Ticker, civil_time};

/// Whether a line has the titles of `dmon` or `pmon`.
pub(super) fn is_titles(line: &str) -> bool {
    let Some(titles) = line.trim_start().strip_prefix('#') else { return false };
    let has = |word: &str| titles.split([' ', ',', '\t']).any(|w| w == word);
    has("gpu")
        && (has("pwr")
            || has("sm")
            || has("pid")
            || has("gtemp")
            || has("temp")
            || has("fb")
            || has("mclk")
            || has("rxpci"))
}

pub(super) struct Monitor {
    columns: Vec<String>,
    units: Vec<String>,
    comma: bool,
    clock: Clock,
    ticker: Ticker,
    relative: Option<Relative>,
    /// The sample of lines without times.
    now: Option<(Micros, Option<f64>)>,
    /// GPUs and processes that had a line in it.
    keys: Vec<String>,
}

/// The time of day in a line, to find the usual interval.
fn stamp_seconds(line: &str) -> Option<f64> {
    if line.trim_start().starts_with('#') {
        return None;
    }
    let time = line.split([' ', ',']).filter(|w| !w.is_empty()).take(2).find_map(|w| civil_time(w, None))?;
    Some(f64::from(time.hour()) * 3600.0 + f64::from(time.minute()) * 60.0 + f64::from(time.second()))
}

impl Monitor {
    pub(super) fn new(head: &str, out: &Out<'_>) -> Monitor {
        Monitor {
            columns: Vec::new(),
            units: Vec::new(),
            comma: false,
            clock: Clock::new(out.hints()),
            ticker: Ticker::new(out.hints(), head, stamp_seconds),
            relative: None,
            now: None,
            keys: Vec::new(),
        }
    }

    /// A line of titles or of units.
    pub(super) fn titles(&mut self, line: &str) {
        let words = |line: &str| -> Vec<String> {
            let line = line.trim().trim_start_matches('#');
            line.split([' ', ',', '\t']).filter(|w| !w.is_empty()).map(str::to_owned).collect()
        };
        if is_titles(line) {
            self.comma = line.contains(',');
            self.columns = words(line);
            self.units.clear();
        } else if !self.columns.is_empty() {
            self.units = words(line);
        }
    }

    pub(super) fn values(&mut self, line: u64, text: &str, splitter: &mut Splitter, out: &mut Out<'_>) {
        let fields = if self.comma { splitter.at(text, b',') } else { splitter.blanks(text) };
        let n = self.columns.len();
        // The last column of `pmon` is a name, which may have blanks in it.
        let named = self.columns.last().is_some_and(|c| c == "command");
        let trailing = self.comma && fields.len() == n + 1 && fields.get(n).is_empty();
        if n == 0 || fields.len() < n || (fields.len() > n && !named && !trailing) {
            out.unknown(line, text, "figures that do not fit the titles of nvidia-smi");
            return;
        }
        let mut labels = String::new();
        let mut target = Target::default();
        for (column, cell) in self.columns.iter().zip(fields.iter()) {
            let name = match column.as_str() {
                "gpu" => "gpu",
                "pid" => "pid",
                "command" => "process",
                "type" => "type",
                _ => continue,
            };
            if name == "pid" && cell == "-" {
                return; // No process uses this GPU.
            }
            if cell != "-" {
                let cell = if name == "process" { fields.rest(n.saturating_sub(1)) } else { cell };
                target.label(name, cell);
                labels.push_str(if labels.is_empty() { "" } else { "," });
                labels.push_str(&format!("{name}={}", cell.replace(',', "_")));
            }
        }
        let Some((t, dt)) = self.time(&labels, &fields, out) else {
            out.unknown(line, text, "no time where the titles say so");
            return;
        };
        for (i, (column, cell)) in self.columns.iter().zip(fields.iter()).enumerate() {
            if matches!(column.as_str(), "gpu" | "pid" | "command" | "type" | "Date" | "Time") || missing(cell) {
                continue;
            }
            let (factor, unit) = base_unit(self.units.get(i).map_or("", String::as_str));
            match figure(cell) {
                Some(value) if target.take(column, value * factor) => {}
                Some(value) => out.metric(t, dt, &format!("nvidia-smi.{column}"), &labels, value * factor, unit),
                None => out.unknown(line, cell, "no number"),
            }
        }
        target.write(t, dt, out);
    }

    fn time(&mut self, key: &str, fields: &Fields<'_>, out: &mut Out<'_>) -> Option<(Micros, Option<f64>)> {
        let at = |name: &str| self.columns.iter().position(|c| c == name);
        if let Some(time) = at("Time") {
            let time = civil_time(fields.get(time), None)?;
            let t = match at("Date").and_then(|date| self::date(fields.get(date))) {
                Some(date) => self.clock.moment(date.to_datetime(time)),
                None => self.clock.at(time, out),
            };
            return Some((t, self.ticker.tick(t)));
        }
        if let Some(now) = self.now
            && !self.keys.iter().any(|k| k == key)
        {
            self.keys.push(key.to_owned());
            return Some(now);
        }
        // A sample of each GPU every second, unless the user gave another interval.
        let (t, dt) = self.relative.get_or_insert_with(|| Relative::new(out, None)).tick();
        self.keys.clear();
        self.keys.push(key.to_owned());
        self.now = Some((t, Some(dt)));
        self.now
    }
}

/// The date in `20240601`.
fn date(text: &str) -> Option<Date> {
    let part = |range: std::ops::Range<usize>| text.get(range).and_then(|p| p.parse::<i16>().ok());
    let (month, day) = (i8::try_from(part(4..6)?).ok()?, i8::try_from(part(6..8)?).ok()?);
    Date::new(part(0..4)?, month, day).ok()
}
