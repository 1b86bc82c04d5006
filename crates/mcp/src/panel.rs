//! A panel of the API with its series unpacked.

use base64::{Engine as _, engine::general_purpose::STANDARD};
use fenxi_api::{ApiError, Context, Query};
use serde_json::{Map, Value, json};

/// Digits of a bin's value: what a chart shows.
const DIGITS: i32 = 4;

/// The answer to a question.
pub(crate) struct Panel {
    /// As the API has it.
    pub value: Value,
    /// Ids and names of the runs that it is about.
    pub runs: Vec<(String, String)>,
}

/// One line of a chart.
pub(crate) struct Series {
    pub name: String,
    pub values: Vec<Option<f64>>,
}

impl Panel {
    /// Asks the API.
    pub(crate) fn ask(context: &Context<'_>, query: &Query) -> Result<Panel, ApiError> {
        let reply = fenxi_api::answer(context, "/api/v1/panel", query)?;
        let value: Value = serde_json::from_slice(&reply.bytes)?;
        if let Some(error) = value["error"].as_str() {
            return Err(ApiError::Wrong(error.to_owned()));
        }
        let selectors = query.all("run").flat_map(|text| text.split(',')).map(str::trim).filter(|s| !s.is_empty());
        let mut runs = Vec::new();
        for id in context.store.select_all(selectors)? {
            let name = context.store.run(&id)?.labels.name.filter(|n| !n.is_empty());
            runs.push((id.to_string(), name.unwrap_or_else(|| id.to_string())));
        }
        Ok(Panel { value, runs })
    }

    /// A text of its header.
    pub(crate) fn text(&self, name: &str) -> &str {
        self.value[name].as_str().unwrap_or_default()
    }

    /// End of the first bin and length of a bin, in seconds.
    pub(crate) fn bins(&self) -> (f64, f64) {
        let number = |name: &str| self.value["time"][name].as_f64().unwrap_or(1.0);
        (number("t0"), number("step"))
    }

    /// Its series over time; empty where it is a table.
    pub(crate) fn series(&self) -> Vec<Series> {
        let all = self.value["time"]["series"].as_array().map(Vec::as_slice).unwrap_or_default();
        all.iter().map(|s| Series { name: self.name_of(s), values: unpack(&s["avg"]) }).collect()
    }

    fn name_of(&self, series: &Value) -> String {
        let name = series["name"].as_str().unwrap_or_default();
        let place = series["run"].as_u64().unwrap_or(0) as usize;
        match self.runs.get(place).filter(|_| self.runs.len() > 1) {
            Some((_, run)) => format!("{run}: {name}"),
            None => name.to_owned(),
        }
    }

    /// The value for a model: question, meanings of columns, and rows, or for each series figures and every bin's mean.
    pub(crate) fn told(&self) -> Value {
        let mut out = Map::new();
        for (key, name) in
            [("question", "id"), ("title", "title"), ("about", "about"), ("unit", "unit"), ("columns", "columns")]
        {
            let value = &self.value[name];
            if !value.is_null() && *value != json!("") {
                out.insert(key.to_owned(), value.clone());
            }
        }
        out.insert("runs".to_owned(), self.runs.iter().map(|(id, name)| json!({ "run": id, "name": name })).collect());
        match self.value["quiet"].as_str() {
            Some("zero") => drop(out.insert("note".to_owned(), json!("every value is 0"))),
            Some(_) => drop(out.insert("note".to_owned(), json!("there are no rows, or only missing values"))),
            None => {}
        }
        let table = &self.value["table"];
        if table.is_object() {
            let columns = table["columns"].as_array().map(Vec::as_slice).unwrap_or_default();
            let columns = columns.iter().map(|c| json!({ "name": c["name"], "unit": c["unit"] })).collect::<Vec<_>>();
            out.insert(
                "table".to_owned(),
                json!({ "columns": columns, "rows": table["rows"], "total": table["total"] }),
            );
        }
        let time = &self.value["time"];
        if time.is_object() {
            let (t0, step) = self.bins();
            let all = time["series"].as_array().map(Vec::as_slice).unwrap_or_default();
            let one = |(series, s): (Series, &Value)| {
                let values: Vec<Option<f64>> = series.values.iter().map(|v| v.map(rounded)).collect();
                json!({ "name": series.name, "unit": s["unit"], "stats": s["stats"], "mean_per_bin": values })
            };
            let series: Vec<Value> = self.series().into_iter().zip(all).map(one).collect();
            out.insert(
                "time".to_owned(),
                json!({ "first_bin_ends_s": t0, "bin_s": step, "series": series, "series_left_out": time["left_out"] }),
            );
        }
        Value::Object(out)
    }
}

fn rounded(value: f64) -> f64 {
    if value == 0.0 || !value.is_finite() {
        return value;
    }
    let factor = 10f64.powi(DIGITS - 1 - value.abs().log10().floor() as i32);
    let out = (value * factor).round() / factor;
    if out.is_finite() { out } else { value }
}

/// The values of a packed series: 16 bits each, as the report's `pack` makes them.
fn unpack(packed: &Value) -> Vec<Option<f64>> {
    let bytes = STANDARD.decode(packed["d"].as_str().unwrap_or_default()).unwrap_or_default();
    let number = |name: &str| packed[name].as_f64().unwrap_or(0.0);
    let (lo, hi) = (number("lo"), number("hi"));
    let is_linear = packed["as"] == "lin";
    let value = |code: u16| match (code, is_linear) {
        (0, _) => None,
        (code, true) => Some(lo + (hi - lo) * f64::from(code - 1) / 65_534.0),
        (1, false) => Some(0.0),
        (code, false) => Some(lo * (hi / lo).powf(f64::from(code - 2) / 65_533.0)),
    };
    bytes.chunks_exact(2).map(|pair| value(u16::from_le_bytes([pair[0], pair[1]]))).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::unpack;

    #[test]
    fn series_are_unpacked_as_they_were_packed() {
        // Missing, zero, the minimum and the maximum; the codes are those that the report's own test has.
        let log = json!({ "as": "log", "lo": 1e-3, "hi": 1e9, "d": "AAABAAIA//8AAA==" });
        let close = |a: Option<f64>, b: f64| a.is_some_and(|a| (a / b - 1.0).abs() < 1e-9);
        let values = unpack(&log);
        assert_eq!((values[0], values[1], values[4]), (None, Some(0.0), None));
        assert!(close(values[2], 1e-3) && close(values[3], 1e9));
        assert_eq!(unpack(&json!({ "as": "lin", "lo": -1.0, "hi": 1.0, "d": "AQD//w==" })), [Some(-1.0), Some(1.0)]);
        assert_eq!(unpack(&json!({})), []);
    }
}
