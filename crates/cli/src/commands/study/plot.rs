//! Text bar plots with confidence intervals, for terminals and Markdown.

/// Characters of the longest bar.
const WIDTH: usize = 40;
/// Eighths of a character.
const EIGHTHS: [&str; 8] = ["", "▏", "▎", "▍", "▌", "▋", "▊", "▉"];

/// One bar.
pub(super) struct Bar {
    pub(super) label: String,
    pub(super) value: f64,
    pub(super) interval: Option<[f64; 2]>,
    pub(super) text: String,
}

/// Bars from 0 on, one a line: up to the value, `─` from there to the upper end of the interval.
pub(super) fn bars(bars: &[Bar]) -> String {
    let upper = |bar: &Bar| bar.interval.map_or(bar.value, |i| i[1].max(bar.value));
    let most_value = bars.iter().map(|bar| bar.value).filter(|v| v.is_finite()).fold(0.0, f64::max);
    // One wide interval must not press all bars together.
    let most = bars.iter().map(upper).filter(|v| v.is_finite()).fold(0.0, f64::max).min(most_value * 1.25);
    let width = bars.iter().map(|bar| bar.label.chars().count()).max().unwrap_or(0);
    let mut text = String::new();
    for bar in bars {
        let pad = " ".repeat(width - bar.label.chars().count());
        text.push_str(&format!("{pad}{} ┤", bar.label));
        if bar.value.is_finite() && most > 0.0 {
            let eighths = (bar.value.max(0.0) / most * (WIDTH * 8) as f64).round() as usize;
            let whole = eighths / 8;
            text.push_str(&"█".repeat(whole));
            text.push_str(EIGHTHS[eighths % 8]);
            let at = eighths.div_ceil(8);
            let end = ((upper(bar) / most * WIDTH as f64).round() as usize).min(WIDTH);
            text.push_str(&"─".repeat(end.saturating_sub(at)));
        }
        text.push_str(&format!(" {}\n", bar.text));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::{Bar, bars};

    #[test]
    fn bars_are_in_proportion_and_show_their_interval() {
        let bar =
            |label: &str, value, interval| Bar { label: label.to_owned(), value, interval, text: format!("{value}") };
        let plot = bars(&[bar("1", 10.0, Some([9.0, 11.0])), bar("16", 20.0, None), bar("x", f64::NAN, None)]);
        let lines: Vec<&str> = plot.lines().collect();
        assert_eq!(lines[0], format!(" 1 ┤{}── 10", "█".repeat(20)));
        assert_eq!(lines[1], format!("16 ┤{} 20", "█".repeat(40)));
        assert_eq!(lines[2], " x ┤ NaN");
    }
}
