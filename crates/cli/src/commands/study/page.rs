//! A report as text for a terminal of 80 columns, or as a page of Markdown.

use fenxi_model::{Unit, visible};
use fenxi_study::reported::{
    AtLevel, Curve, Effect, EffectLevel, Far, Fit, LatencyKnee, OfCell, OfResponse, Point, Range, Report,
};

use super::plot::{Bar, bars};
use crate::print;

/// Characters of a line of prose on a terminal.
const WIDTH: usize = 80;
/// Cells beside the best that are named, where many are as good.
const NAMED: usize = 6;

/// How a report is printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Style {
    /// For a terminal.
    Text,
    /// For a document.
    Markdown,
}

/// Prints a report.
pub fn render(report: &Report, style: Style) -> String {
    let mut page = Page { style, text: String::new() };
    page.heading(1, &format!("Study {}", report.study));
    if let Some(about) = &report.about {
        page.line(about);
    }
    let planned = report.cells * report.blocks as usize;
    page.line(&format!(
        "{} cells in {} blocks: {} of {planned} runs; order from seed {}. Intervals are 95 % confidence intervals.",
        report.cells, report.blocks, report.finished, report.seed
    ));
    for response in &report.responses {
        page.response(response);
    }
    page.latency(report);
    page.failures(report);
    page.text
}

struct Page {
    style: Style,
    text: String,
}

/// A value in the unit of its response, scaled so that all of them are readable.
struct Scale {
    divisor: f64,
    unit: String,
}

impl Scale {
    /// For values up to `most` in `unit`.
    fn new(unit: &str, most: f64) -> Scale {
        let (step, prefixes): (f64, &[&str]) = match Unit::from_symbol(unit) {
            Unit::Bytes | Unit::BytesPerS => (1024.0, &["", "Ki", "Mi", "Gi", "Ti"]),
            _ if matches!(unit, "" | "/s") => (1000.0, &["", "k", "M", "G", "T"]),
            _ => (1.0, &[""]),
        };
        let (mut divisor, mut place) = (1.0, 0);
        while most.abs() / divisor >= step * 10.0 && place + 1 < prefixes.len() {
            divisor *= step;
            place += 1;
        }
        let gap = if unit == "/s" && place > 0 { " " } else { "" };
        Scale { divisor, unit: format!("{}{gap}{unit}", prefixes[place]) }
    }

    fn show(&self, value: f64) -> String {
        digits(value / self.divisor)
    }

    fn range(&self, range: Range) -> String {
        range.map_or("-".to_owned(), |[low, high]| format!("{} … {}", self.show(low), self.show(high)))
    }

    /// `name (unit)`.
    fn title(&self, name: &str) -> String {
        if self.unit.is_empty() { name.to_owned() } else { format!("{name} ({})", self.unit) }
    }
}

/// Four significant digits.
fn digits(value: f64) -> String {
    let magnitude = value.abs();
    match () {
        () if !value.is_finite() => "-".to_owned(),
        () if magnitude == 0.0 => "0".to_owned(),
        () if magnitude < 0.001 => format!("{value:.2e}"),
        () if magnitude < 1.0 => format!("{value:.4}"),
        () if magnitude < 10.0 => format!("{value:.3}"),
        () if magnitude < 100.0 => format!("{value:.2}"),
        () if magnitude < 1000.0 => format!("{value:.1}"),
        () => format!("{value:.0}"),
    }
}

fn times(value: Option<f64>) -> String {
    value.map_or("-".to_owned(), |v| format!("{v:.2}"))
}

fn between(range: Range) -> String {
    range.map_or("-".to_owned(), |[low, high]| format!("{low:.2} … {high:.2}"))
}

impl Page {
    fn heading(&mut self, level: usize, text: &str) {
        self.gap();
        let text = visible(text);
        match self.style {
            Style::Markdown => self.text.push_str(&format!("{} {text}\n", "#".repeat(level))),
            Style::Text => {
                let under = if level < 3 { "=" } else { "-" };
                self.text.push_str(&format!("{text}\n{}\n", under.repeat(text.chars().count())));
            }
        }
    }

    /// A blank line between what was and what comes.
    fn gap(&mut self) {
        if !self.text.is_empty() {
            self.text.push('\n');
        }
    }

    /// A paragraph, broken into lines of 80 characters on a terminal.
    fn line(&mut self, text: &str) {
        self.gap();
        if self.style == Style::Markdown {
            self.text.push_str(&format!("{}\n", visible(text)));
            return;
        }
        for line in print::wrapped(text, WIDTH) {
            self.text.push_str(&line);
            self.text.push('\n');
        }
    }

    /// A table; its first column is of words, the others of numbers.
    fn table(&mut self, header: &[&str], rows: &[Vec<String>]) {
        self.gap();
        self.text.push_str(&print::table(header, 1..header.len(), &[], rows, self.style == Style::Markdown));
    }

    fn plot(&mut self, text: &str) {
        self.gap();
        match self.style {
            Style::Markdown => self.text.push_str(&format!("```\n{text}```\n")),
            Style::Text => self.text.push_str(text),
        }
    }

    fn response(&mut self, response: &OfResponse) {
        let most = response.cells.iter().map(|c| c.mean).filter(|m| m.is_finite()).fold(0.0, f64::max);
        let scale = Scale::new(&response.unit, most);
        self.heading(2, &scale.title(&response.name));
        self.cells(response, &scale);
        for effect in &response.effects {
            self.effect(effect, &scale);
        }
        self.against(response);
        for curve in &response.curves {
            self.curve(response, curve);
        }
        response.knees.iter().for_each(|knee| self.knee(&response.name, knee));
        self.best(response, &scale);
        self.interactions(response);
        for modes in &response.modes {
            self.line(&format!(
                "Two modes in {}: {} runs near {} and {} near {}. Its mean describes neither; see what differs between them.",
                modes.cell,
                modes.low_runs,
                scale.show(modes.low),
                modes.high_runs,
                scale.show(modes.high)
            ));
        }
        if !response.outliers.is_empty() {
            let far = |f: &Far| format!("{} ({}, block {}): {:.2} times", f.run, f.cell, f.block, f.ratio);
            let all: Vec<String> = response.outliers.iter().take(5).map(far).collect();
            let more = response.outliers.len().saturating_sub(5);
            let more = if more > 0 { format!("; and {more} more") } else { String::new() };
            self.line(&format!("Outliers, relative to the median of their cell: {}{more}.", all.join("; ")));
        }
    }

    fn cells(&mut self, response: &OfResponse, scale: &Scale) {
        let bar = |cell: &OfCell| Bar {
            label: cell.cell.clone(),
            value: cell.mean,
            interval: cell.interval,
            text: scale.show(cell.mean),
        };
        self.plot(&bars(&response.cells.iter().map(bar).collect::<Vec<_>>()));
        let per_unit = response.cells.iter().any(|cell| cell.cpu_s_per_unit.is_some());
        let number = |value: Option<f64>| value.map_or("-".to_owned(), digits);
        let row = |cell: &OfCell| {
            let mut row =
                vec![cell.cell.clone(), cell.n.to_string(), scale.show(cell.mean), scale.range(cell.interval)];
            row.extend([number(cell.command_cpu_s), number(cell.machine_cpu_s)]);
            if per_unit {
                row.push(number(cell.cpu_s_per_unit.map(|cpu_s| cpu_s * scale.divisor)));
            }
            row
        };
        let rows: Vec<_> = response.cells.iter().map(row).collect();
        // Throughput is so much a second: what is left without the second is the work.
        let work = scale.unit.trim_end_matches("/s").trim();
        let per = format!("per {}", if work.is_empty() { "unit" } else { work });
        let header = ["cell", "runs", "mean", "95 % interval", "cpu s", "machine", &per];
        self.table(&header[..if per_unit { 7 } else { 6 }], &rows);
        let unit = match per_unit {
            true => format!("; `{per}` is CPU seconds of the machine per unit of work"),
            false => String::new(),
        };
        self.line(&format!(
            "`cpu s` is CPU time of the command and what it started, `machine` that of all CPUs meanwhile, in seconds a \
             run{unit}."
        ));
    }

    fn effect(&mut self, effect: &Effect, scale: &Scale) {
        self.heading(3, &format!("Main effect of {}", effect.factor));
        let row = |level: &EffectLevel| {
            let (mean, range) = (scale.show(level.mean), scale.range(level.interval));
            vec![level.level.clone(), mean, range, format!("{:.2}", level.ratio), between(level.ratio_interval)]
        };
        let rows: Vec<_> = effect.levels.iter().map(row).collect();
        self.table(&[&effect.factor, "mean", "95 % interval", "ratio", "95 % interval"], &rows);
    }

    /// Levels against the reference, at each combination of the other factors.
    fn against(&mut self, response: &OfResponse) {
        let Some(first) = response.against.first() else { return };
        self.heading(3, &format!("{} against {}", first.factor, first.reference));
        let row = |at: &AtLevel| {
            let others = if at.others.is_empty() { "-" } else { &at.others };
            let change = format!("{:+.1}%", 100.0 * (at.ratio - 1.0));
            vec![
                others.to_owned(),
                at.level.clone(),
                at.n.to_string(),
                change,
                format!("{:.2}", at.ratio),
                between(at.interval),
            ]
        };
        let rows: Vec<_> = response.against.iter().map(row).collect();
        self.table(&["at", &first.factor, "blocks", "change", "ratio", "95 % interval"], &rows);
    }

    fn knee(&mut self, latency: &str, knee: &LatencyKnee) {
        let others = if knee.others.is_empty() { String::new() } else { format!(" ({})", knee.others) };
        let scale = Scale::new(&knee.throughput_unit, knee.throughput);
        let unit = if scale.unit.is_empty() { String::new() } else { format!(" {}", scale.unit) };
        let interval = knee.interval.map_or_else(String::new, |_| format!(" (95 %: {})", scale.range(knee.interval)));
        let levels: Vec<String> = knee.beyond_peak.iter().map(f64::to_string).collect();
        let beyond = match levels.is_empty() {
            true => String::new(),
            false => format!(" Beyond the highest throughput, and left out: {} = {}.", knee.factor, levels.join(", ")),
        };
        self.line(&format!(
            "From {}{unit}{interval} on, at {} = {}{others}, {latency} grows fast: the point farthest from the chord.{beyond}",
            scale.show(knee.throughput),
            knee.factor,
            knee.level
        ));
    }

    fn curve(&mut self, response: &OfResponse, curve: &Curve) {
        if curve.points.iter().all(|p| p.speedup.is_none()) || curve.points.len() < 2 {
            return;
        }
        let others = if curve.others.is_empty() { String::new() } else { format!(", {}", curve.others) };
        self.heading(3, &format!("Speed-up with {}{others}", curve.factor));
        let row = |p: &Point| {
            let runs = response.cells[p.cell].n.to_string();
            let efficiency = p.efficiency.map_or("-".to_owned(), |e| format!("{:.0}%", e * 100.0));
            vec![p.level.to_string(), runs, times(p.speedup), between(p.speedup_interval), efficiency]
        };
        let rows: Vec<_> = curve.points.iter().map(row).collect();
        self.table(&[&curve.factor, "runs", "speed-up", "95 % interval", "efficiency"], &rows);
        let texts: Vec<String> = [("USL", &curve.usl), ("Amdahl", &curve.amdahl)]
            .iter()
            .filter_map(|(n, f)| Some(law(n, f.as_ref()?)))
            .collect();
        match texts.is_empty() {
            true => self.line("No scaling law fitted: it needs three levels with two runs each."),
            false => texts.iter().for_each(|text| self.line(text)),
        }
    }

    fn best(&mut self, response: &OfResponse, scale: &Scale) {
        let Some(best) = &response.best else { return };
        let unit = if scale.unit.is_empty() { String::new() } else { format!(" {}", scale.unit) };
        let mut text = format!("Best: {}, {}{unit}.", best.cell, scale.show(best.mean));
        let mut named: Vec<String> =
            best.as_good.iter().take(NAMED).map(|(cell, p)| format!("{cell} (p = {p:.2})")).collect();
        if best.as_good.len() > NAMED {
            named.push(format!("and {} more of {}", best.as_good.len() - NAMED, response.cells.len()));
        }
        match (named.is_empty(), best.unknown.is_empty()) {
            (false, _) => text.push_str(&format!(" Not significantly different: {}.", named.join(", "))),
            (true, true) => text.push_str(" All others differ significantly."),
            (true, false) => {}
        }
        if !best.unknown.is_empty() {
            text.push_str(&format!(" Too few runs for a test: {}.", best.unknown.join(", ")));
        }
        if best.is_pooled && best.unknown.len() + 1 < response.cells.len() {
            text.push_str(" With so few runs per cell, p-values use a null distribution pooled over all cells.");
        }
        self.line(&text);
    }

    fn interactions(&mut self, response: &OfResponse) {
        if response.effects.len() > 1 && response.interactions.is_empty() {
            self.line(match response.pairs_tested {
                0 => "Interactions were not tested: that needs two blocks with a run in every cell.",
                _ => "No significant interactions (effects below 5 % are ignored).",
            });
        }
        for together in &response.interactions {
            let [a, b] = &together.factors;
            let effect = |(level, ratio): &(String, f64)| format!("{ratio:.2} times with {a}={level}");
            let effects: Vec<String> = together.effects.iter().map(effect).collect();
            self.line(&format!(
                "Interaction: the effect of {b} depends on {a} (p = {:.3}): from its first to its last level, {}.",
                together.p,
                effects.join(", ")
            ));
        }
    }

    /// Latency against throughput, where a study has both.
    fn latency(&mut self, report: &Report) {
        let of = |throughput: bool| {
            report.responses.iter().find(|r| if throughput { r.is_throughput } else { r.is_latency })
        };
        let (Some(throughput), Some(latency)) = (of(true), of(false)) else { return };
        let most = |r: &OfResponse| r.cells.iter().map(|c| c.mean).fold(0.0, f64::max);
        let scales = [throughput, latency].map(|r| Scale::new(&r.unit, most(r)));
        self.heading(2, &format!("{} against {}", latency.name, throughput.name));
        let mut pairs: Vec<_> = throughput.cells.iter().zip(&latency.cells).collect();
        pairs.sort_by(|a, b| a.0.mean.total_cmp(&b.0.mean));
        let row = |(x, r): &(&OfCell, &OfCell)| {
            vec![x.cell.clone(), scales[0].show(x.mean), scales[1].show(r.mean), scales[1].range(r.interval)]
        };
        let rows: Vec<_> = pairs.iter().map(row).collect();
        let titles = [scales[0].title(&throughput.name), scales[1].title(&latency.name)];
        self.table(&["cell", &titles[0], &titles[1], "95 % interval"], &rows);
    }

    fn failures(&mut self, report: &Report) {
        if report.failures.is_empty() {
            return;
        }
        self.heading(2, "Failures");
        for failure in &report.failures {
            let later = if failure.made_later { "repeated later" } else { "not repeated yet" };
            self.line(&format!(
                "{} (block {}, {}): {}; {later}.",
                failure.run, failure.block, failure.cell, failure.why
            ));
        }
    }
}

/// A law in words.
fn law(name: &str, fit: &Fit) -> String {
    let with = |value: f64, range: Range| match range {
        Some([low, high]) => format!("{} ({} … {})", digits(value), digits(low), digits(high)),
        None => digits(value),
    };
    let ends = |range: &Option<[Option<f64>; 2]>| {
        let end = |end: Option<f64>| end.map_or("∞".to_owned(), |e| format!("{e:.1}"));
        range.map_or(String::new(), |[low, high]| format!(" ({} … {})", end(low), end(high)))
    };
    let mut text = format!("{name}: contention {}", with(fit.alpha, fit.alpha_interval));
    if name == "USL" {
        text.push_str(&format!(", coherency {}", with(fit.beta, fit.beta_interval)));
    }
    if fit.alpha_is_held {
        text.push_str(match fit.alpha >= 1.0 {
            true => " (bounded at 1: more does not help)",
            false => " (bounded at 0: linear scaling or better)",
        });
    }
    text.push_str(&format!(", explains {:.1} %", fit.r_squared * 100.0));
    match fit.knee {
        Some(knee) => text.push_str(&format!("; knee at {knee:.1}{}", ends(&fit.knee_interval))),
        None => text.push_str("; no knee"),
    }
    if let Some(peak) = fit.peak {
        text.push_str(&format!("; maximum at {peak:.1}{}", ends(&fit.peak_interval)));
    }
    text + "."
}
