//! Charts of answers: lines, stacked areas and heat maps over time, bars and points of tables.

use fenxi_api::ApiError;
use fenxi_model::Unit;
use serde_json::Value;

use crate::{
    draw::{Anchor, Colour, Drawing, Shape},
    panel::{Panel, Series},
};

const WIDTH: f64 = 960.0;
const HEIGHT: f64 = 480.0;
/// The edges around what is plotted.
const LEFT: f64 = 84.0;
const RIGHT: f64 = 16.0;
const TOP: f64 = 44.0;
const BOTTOM: f64 = 84.0;
/// Lines that have a colour and a name of their own; the most that are drawn.
const LINES: usize = 10;
/// Rows of a heat map, and bars.
const ROWS: usize = 64;
const BARS: usize = 20;
const INK: Colour = [40, 44, 52];
const FAINT: Colour = [222, 226, 232];
const COLOURS: [Colour; LINES] = [
    [31, 119, 180],
    [214, 39, 40],
    [44, 160, 44],
    [255, 127, 14],
    [148, 103, 189],
    [23, 160, 170],
    [140, 86, 75],
    [227, 90, 170],
    [128, 128, 20],
    [90, 98, 110],
];

/// The chart of an answer, and a sentence on what it shows.
pub(crate) fn chart(panel: &Panel) -> Result<(Drawing, String), ApiError> {
    let mut plot =
        Plot { drawing: Drawing::new(WIDTH as u32, HEIGHT as u32), unit: Unit::from_symbol(panel.text("unit")) };
    plot.drawing.text((LEFT, 24.0), 17.0, Anchor::Start, INK, panel.text("title"));
    let series = panel.series();
    let shown = if !series.is_empty() {
        let (t0, step) = panel.bins();
        let bins = series.iter().map(|s| s.values.len()).max().unwrap_or(1);
        plot.seconds((t0 - step).max(0.0), t0 + step * bins.saturating_sub(1) as f64);
        match panel.text("chart") {
            "heatmap" => plot.heat(&series),
            "stacked" if panel.runs.len() == 1 => plot.stacked(&series),
            _ => plot.lines(&series),
        }
    } else if panel.value["table"].is_object() {
        plot.table(panel)?
    } else {
        return Err(ApiError::Wrong("there is nothing to draw: no rows, or every value is 0".to_owned()));
    };
    let runs: Vec<&str> = panel.runs.iter().map(|(_, name)| name.as_str()).collect();
    let caption = format!("{}: {} Runs: {}. {shown}", panel.text("title"), panel.text("about"), runs.join(", "));
    Ok((plot.drawing, caption))
}

struct Plot {
    drawing: Drawing,
    unit: Unit,
}

impl Plot {
    /// The horizontal axis in seconds.
    fn seconds(&mut self, from: f64, to: f64) {
        self.across(from, to, Unit::Seconds);
        let at = (LEFT, HEIGHT - BOTTOM + 34.0);
        self.drawing.text(at, 12.0, Anchor::Start, INK, "time since the start of the run");
    }

    fn across(&mut self, from: f64, to: f64, unit: Unit) {
        for tick in ticks(from, to, 8) {
            let x = LEFT + (tick - from) / (to - from).max(f64::MIN_POSITIVE) * (WIDTH - LEFT - RIGHT);
            self.drawing.line(vec![(x, HEIGHT - BOTTOM), (x, HEIGHT - BOTTOM + 4.0)], 1.0, INK);
            let label = unit.human(tick).to_string();
            self.drawing.text((x, HEIGHT - BOTTOM + 18.0), 12.0, Anchor::Middle, INK, &label);
        }
    }

    /// The vertical axis; gives where a value stands.
    fn upright(&mut self, from: f64, to: f64) -> impl Fn(f64) -> f64 + use<> {
        let at =
            move |v: f64| HEIGHT - BOTTOM - (v - from) / (to - from).max(f64::MIN_POSITIVE) * (HEIGHT - BOTTOM - TOP);
        for tick in ticks(from, to, 6) {
            self.drawing.line(vec![(LEFT, at(tick)), (WIDTH - RIGHT, at(tick))], 1.0, FAINT);
            let label = self.unit.human(tick).to_string();
            self.drawing.text((LEFT - 8.0, at(tick) + 4.0), 12.0, Anchor::End, INK, &label);
        }
        self.drawing.line(vec![(LEFT, HEIGHT - BOTTOM), (WIDTH - RIGHT, HEIGHT - BOTTOM)], 1.0, INK);
        at
    }

    fn lines(&mut self, series: &[Series]) -> String {
        let shown = &series[..series.len().min(LINES)];
        let values = || shown.iter().flat_map(|s| s.values.iter().flatten()).copied();
        let (from, to) = range(values().fold(0.0, f64::min), values().fold(0.0, f64::max));
        let at = self.upright(from, to);
        for (series, colour) in shown.iter().zip(COLOURS) {
            // A gap is never drawn over.
            for part in series.values.iter().enumerate().collect::<Vec<_>>().split(|(_, v)| v.is_none()) {
                let points: Vec<(f64, f64)> =
                    part.iter().filter_map(|(i, v)| Some((middle(*i, series.values.len()), at((**v)?)))).collect();
                if !points.is_empty() {
                    self.drawing.line(points, 1.8, colour);
                }
            }
        }
        self.legend(shown.iter().map(|s| s.name.as_str()));
        of(shown.len(), series.len(), "Lines")
    }

    fn stacked(&mut self, series: &[Series]) -> String {
        let shown = &series[..series.len().min(LINES)];
        let bins = shown.iter().map(|s| s.values.len()).max().unwrap_or(0);
        let mut below = vec![0.0_f64; bins];
        let total = |bin: usize| shown.iter().filter_map(|s| s.values.get(bin).copied().flatten()).sum::<f64>();
        let (from, to) = range(0.0, (0..bins).map(total).fold(0.0, f64::max));
        let at = self.upright(from, to);
        let known = |bin: &usize| shown.iter().any(|s| s.values.get(*bin).copied().flatten().is_some());
        // A gap is never drawn over.
        let all: Vec<usize> = (0..bins).collect();
        let parts: Vec<&[usize]> = all.split(|bin| !known(bin)).filter(|part| !part.is_empty()).collect();
        for (series, colour) in shown.iter().zip(COLOURS) {
            let lower = below.clone();
            for (bin, value) in series.values.iter().enumerate() {
                below[bin] += value.unwrap_or(0.0).max(0.0);
            }
            for part in &parts {
                let edge = |of: &[f64]| part.iter().map(|i| (middle(*i, bins), at(of[*i]))).collect::<Vec<_>>();
                let mut points = edge(&below);
                points.extend(edge(&lower).into_iter().rev());
                self.drawing.shapes.push(Shape::Area { points, colour });
            }
        }
        self.legend(shown.iter().map(|s| s.name.as_str()));
        of(shown.len(), series.len(), "Areas, one on the other")
    }

    fn heat(&mut self, series: &[Series]) -> String {
        let shown = &series[..series.len().min(ROWS)];
        let top = shown.iter().flat_map(|s| s.values.iter().flatten()).copied().fold(f64::MIN_POSITIVE, f64::max);
        let row = (HEIGHT - BOTTOM - TOP) / shown.len() as f64;
        for (place, series) in shown.iter().enumerate() {
            let y = TOP + row * place as f64;
            let cell = (WIDTH - LEFT - RIGHT) / series.values.len().max(1) as f64;
            for (bin, value) in series.values.iter().enumerate() {
                let Some(value) = value else { continue };
                let share = (value / top).clamp(0.0, 1.0);
                let mix = |light: u8, dark: u8| (f64::from(light) + (f64::from(dark) - f64::from(light)) * share) as u8;
                let colour = [mix(247, 120), mix(247, 0), mix(250, 40)];
                self.drawing.rect(LEFT + cell * bin as f64, y, cell, row, colour);
            }
            if place % shown.len().div_ceil(20) == 0 {
                let at = (LEFT - 8.0, y + row / 2.0 + 4.0);
                self.drawing.text(at, 11.0, Anchor::End, INK, &cut(&series.name, 13));
            }
        }
        format!(
            "{}; the darkest is {}.",
            of(shown.len(), series.len(), "Rows").trim_end_matches('.'),
            self.unit.human(top)
        )
    }

    fn legend<'n>(&mut self, names: impl Iterator<Item = &'n str>) {
        for (place, (name, colour)) in names.zip(COLOURS).enumerate() {
            let (x, y) = (LEFT + (place % 5) as f64 * 172.0, HEIGHT - BOTTOM + 54.0 + (place / 5) as f64 * 18.0);
            self.drawing.rect(x, y - 8.0, 10.0, 10.0, colour);
            self.drawing.text((x + 15.0, y + 1.0), 12.0, Anchor::Start, INK, &cut(name, 22));
        }
    }

    /// Bars of the first column of numbers, named by the columns of text; or points where the answer is a scatter.
    fn table(&mut self, panel: &Panel) -> Result<String, ApiError> {
        let table = &panel.value["table"];
        let columns = table["columns"].as_array().map(Vec::as_slice).unwrap_or_default();
        let rows = table["rows"].as_array().map(Vec::as_slice).unwrap_or_default();
        let place = |name: &str| columns.iter().position(|c| c["name"] == name);
        let y = panel.value["y"].get(0).and_then(Value::as_str).and_then(place);
        let y = y.or_else(|| columns.iter().position(|c| c["numeric"] == true && c["whole"] == false));
        let y = y.or_else(|| columns.iter().position(|c| c["numeric"] == true));
        let y = y.ok_or_else(|| {
            ApiError::Wrong("the answer has no column of numbers to draw: `ask` or `sql` gives its rows".to_owned())
        })?;
        let unit = columns[y]["unit"].as_str().filter(|unit| !unit.is_empty());
        self.unit = unit.map_or(self.unit, Unit::from_symbol);
        let named = columns[y]["name"].as_str().unwrap_or_default();
        let x = panel.value["x"].as_str().and_then(place).filter(|x| columns[*x]["numeric"] == true && *x != y);
        if let (Some(x), true) = (x, panel.text("chart") == "scatter") {
            let points: Vec<(f64, f64)> = rows.iter().filter_map(|r| Some((r[x].as_f64()?, r[y].as_f64()?))).collect();
            return Ok(self.points(&points, (columns[x]["name"].as_str().unwrap_or_default(), named)));
        }
        let label = |row: &Value| {
            let words = (0..columns.len()).filter(|i| *i != y && columns[*i]["numeric"] == false);
            let words: Vec<&str> = words.filter_map(|i| row[i].as_str()).collect();
            let number = || x.and_then(|x| row[x].as_f64()).map(|v| Unit::None.human(v).to_string());
            if words.is_empty() { number().unwrap_or_default() } else { words.join(" ") }
        };
        let bars: Vec<(String, f64)> = rows.iter().filter_map(|r| Some((label(r), r[y].as_f64()?))).collect();
        let shown = &bars[..bars.len().min(BARS)];
        let most = shown.iter().map(|(_, v)| v.abs()).fold(f64::MIN_POSITIVE, f64::max);
        let (left, row) = (LEFT + 180.0, ((HEIGHT - TOP - 30.0) / shown.len().max(1) as f64).min(36.0));
        for (place, (label, value)) in shown.iter().enumerate() {
            let top = TOP + row * place as f64;
            let width = value.abs() / most * (WIDTH - RIGHT - left - 80.0);
            self.drawing.rect(left, top + row * 0.15, width, row * 0.7, COLOURS[usize::from(*value < 0.0)]);
            self.drawing.text((left - 8.0, top + row / 2.0 + 4.0), 12.0, Anchor::End, INK, &cut(label, 38));
            let figure = self.unit.human(*value).to_string();
            self.drawing.text((left + width + 6.0, top + row / 2.0 + 4.0), 12.0, Anchor::Start, INK, &figure);
        }
        Ok(format!("Bars of `{named}`. {}", of(shown.len(), bars.len(), "Rows")))
    }

    fn points(&mut self, points: &[(f64, f64)], (x, y): (&str, &str)) -> String {
        let ends = |of: fn(&(f64, f64)) -> f64| {
            let (low, high) =
                points.iter().map(of).fold((f64::INFINITY, f64::NEG_INFINITY), |(a, b), v| (a.min(v), b.max(v)));
            if low <= high { range(low.min(0.0), high) } else { (0.0, 1.0) }
        };
        let (from, to) = ends(|p| p.0);
        self.across(from, to, Unit::None);
        let (low, high) = ends(|p| p.1);
        let at = self.upright(low, high);
        for (px, py) in points {
            let place = LEFT + (px - from) / (to - from) * (WIDTH - LEFT - RIGHT);
            self.drawing.rect(place - 1.5, at(*py) - 1.5, 3.0, 3.0, COLOURS[0]);
        }
        self.drawing.text((LEFT, HEIGHT - BOTTOM + 34.0), 12.0, Anchor::Start, INK, &format!("{y} against {x}"));
        format!("{} points of `{y}` against `{x}`.", points.len())
    }
}

/// Where the middle of a bin stands.
fn middle(bin: usize, bins: usize) -> f64 {
    LEFT + (bin as f64 + 0.5) / bins.max(1) as f64 * (WIDTH - LEFT - RIGHT)
}

fn of(shown: usize, all: usize, what: &str) -> String {
    if shown < all { format!("{what}: {shown} of {all}, the largest.") } else { format!("{what}: {all}.") }
}

fn cut(text: &str, letters: usize) -> String {
    if text.chars().count() <= letters {
        return text.to_owned();
    }
    text.chars().take(letters.saturating_sub(1)).chain(['…']).collect()
}

/// A range that is not empty, with some room above.
fn range(from: f64, to: f64) -> (f64, f64) {
    if to > from { (from, to + (to - from) * 0.05) } else { (from, from + 1.0) }
}

/// Round values between `from` and `to`, about `wanted` of them.
fn ticks(from: f64, to: f64, wanted: usize) -> Vec<f64> {
    let raw = (to - from) / wanted as f64;
    if !(raw.is_finite() && raw > 0.0) {
        return vec![from];
    }
    let power = 10f64.powf(raw.log10().floor());
    let step = [1.0, 2.0, 5.0, 10.0].into_iter().map(|m| m * power).find(|s| *s >= raw).unwrap_or(raw);
    let first = (from / step).ceil() as i64;
    (first..=first + 2 * wanted as i64).map(|i| i as f64 * step).take_while(|v| *v <= to + step * 1e-9).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{chart, ticks};
    use crate::{draw::Shape, panel::Panel, png::png, svg::svg};

    #[test]
    fn ticks_are_round_and_within() {
        assert_eq!(ticks(0.0, 60.0, 6), [0.0, 10.0, 20.0, 30.0, 40.0, 50.0, 60.0]);
        assert_eq!(ticks(-1.0, 1.0, 4), [-1.0, -0.5, 0.0, 0.5, 1.0]);
        assert_eq!(ticks(5.0, 5.0, 4), [5.0]);
    }

    #[test]
    fn a_gap_cuts_a_line_in_two() {
        // Two bins, one missing, one more: codes 2, 65535, 0, 2 of a logarithmic packing.
        let value = json!({ "title": "T", "about": "A.", "chart": "line", "unit": "%", "time": { "t0": 1.0, "step": 1.0, "n": 4,
            "series": [{ "run": 0, "name": "usr", "avg": { "as": "log", "lo": 1.0, "hi": 50.0, "d": "AgD//wAAAgA=" } }] } });
        let panel = Panel { value, runs: vec![("id".to_owned(), "name".to_owned())] };
        let (drawing, caption) = chart(&panel).unwrap();
        let thick = |s: &&Shape| matches!(s, Shape::Line { width, .. } if *width > 1.5);
        assert_eq!(drawing.shapes.iter().filter(thick).count(), 2);
        assert_eq!(caption, "T: A. Runs: name. Lines: 1.");
        assert!(svg(&drawing).contains(">usr</text>") && png(&drawing).len() > 1000);
    }

    #[test]
    fn a_table_becomes_bars_and_one_without_numbers_an_error() {
        let table = |numeric: bool| {
            json!({ "title": "T", "about": "A.", "chart": "table", "unit": "", "y": [], "table": { "total": 2,
                "columns": [{ "name": "who", "unit": "", "numeric": false, "whole": false },
                    { "name": "v", "unit": "B", "numeric": numeric, "whole": false }],
                "rows": [["a", 2048.0], ["b", null]] } })
        };
        let (drawing, caption) = chart(&Panel { value: table(true), runs: Vec::new() }).unwrap();
        assert!(caption.contains("Bars of `v`. Rows: 1."), "{caption}");
        assert!(svg(&drawing).contains(">2.00 KiB</text>"));
        assert!(chart(&Panel { value: table(false), runs: Vec::new() }).is_err());
    }
}
