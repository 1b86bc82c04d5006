//! Figures in few characters.

/// A mean number of sessions, in three characters up to 99,999.
pub fn sessions(value: f64) -> String {
    match value {
        0.0 => "0".to_owned(),
        v if v < 9.95 => format!("{v:.1}"),
        v if v < 999.5 => format!("{v:.0}"),
        v => format!("{:.0}k", v / 1e3),
    }
}

/// An amount, in four characters: 1.2, 9999, 12k, 1.2M.
pub fn amount(value: f64) -> String {
    if value < 9999.5 {
        let is_whole = value.fract() == 0.0 || value >= 9.95;
        return if is_whole { format!("{value:.0}") } else { format!("{value:.1}") };
    }
    scaled(value / 1e3, 1e3, &["k", "M", "G", "T"])
}

/// Bytes, in four characters: 999, 1.2K, 12K, 1.2M.
pub fn bytes(value: f64) -> String {
    if value < 999.5 { format!("{value:.0}") } else { scaled(value / 1024.0, 1024.0, &["K", "M", "G", "T", "P"]) }
}

/// At most three digits before the unit.
fn scaled(mut value: f64, step: f64, units: &[&str]) -> String {
    let mut unit = 0;
    while value >= 999.5 && unit + 1 < units.len() {
        value /= step;
        unit += 1;
    }
    let decimals = usize::from(value < 9.95);
    format!("{value:.decimals$}{}", units[unit])
}

/// Milliseconds, in four characters; what takes longer than 9999 ms in seconds.
pub fn milliseconds(value: f64) -> String {
    match value {
        v if v < 9.995 => format!("{v:.2}"),
        v if v < 99.95 => format!("{v:.1}"),
        v if v < 9999.5 => format!("{v:.0}"),
        v => age(v / 1e3),
    }
}

/// A percentage, in four characters. What is not all is never 100.
pub fn percent(value: f64) -> String {
    if value >= 100.0 { "100".to_owned() } else { format!("{:.1}", (value * 10.0).floor() / 10.0) }
}

/// A time, in four characters.
pub fn age(seconds: f64) -> String {
    match seconds {
        s if s < 0.05 => "0".to_owned(),
        s if s < 9.95 => format!("{s:.1}s"),
        s if s < 99.5 => format!("{s:.0}s"),
        s if s < 99.5 * 60.0 => format!("{:.0}m", s / 60.0),
        s if s < 99.5 * 3600.0 => format!("{:.0}h", s / 3600.0),
        s => format!("{:.0}d", s / 86_400.0),
    }
}

/// A number of things.
pub fn count(value: f64) -> String {
    format!("{value:.0}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_keep_to_their_width() {
        let all = |show: fn(f64) -> String, values: &[f64]| values.iter().map(|v| show(*v)).collect::<Vec<_>>();
        assert_eq!(all(sessions, &[0.0, 0.04, 2.35, 9.96, 100.0, 1500.0]), ["0", "0.0", "2.4", "10", "100", "2k"]);
        assert_eq!(
            all(amount, &[0.0, 8.0, 0.5, 9.96, 1610.0, 9999.6, 12_345.0, 1.2e6]),
            ["0", "8", "0.5", "10", "1610", "10k", "12k", "1.2M"]
        );
        assert_eq!(
            all(bytes, &[0.0, 999.0, 1000.0, 1536.0, 20_480.0, 1_048_000.0, 3.3e9]),
            ["0", "999", "1.0K", "1.5K", "20K", "1.0M", "3.1G"]
        );
        assert_eq!(all(milliseconds, &[0.023, 1.234, 12.34, 123.4, 12_345.0]), ["0.02", "1.23", "12.3", "123", "12s"]);
        assert_eq!(all(percent, &[0.0, 50.0, 99.97, 100.0]), ["0.0", "50.0", "99.9", "100"]);
        assert_eq!(all(age, &[0.0, 3.21, 42.0, 100.0, 7200.0, 1e6]), ["0", "3.2s", "42s", "2m", "2h", "12d"]);
    }
}
