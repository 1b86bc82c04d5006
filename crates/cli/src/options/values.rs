//! Values as they are typed.

use std::collections::BTreeSet;

use anyhow::anyhow;
use fenxi_model::{near, parse_cpus, parse_seconds};

/// The error for a name that is none, with those that it may have been meant to be; `list` is the command that lists all.
pub fn unknown<'a>(what: &str, name: &str, known: impl IntoIterator<Item = &'a str>, list: &str) -> anyhow::Error {
    let close = near(name, known);
    let hint = if close.is_empty() { String::new() } else { format!("; did you mean {}?", close.join(" or ")) };
    anyhow!("unknown {what} `{name}`{hint} (`{list}` lists them)")
}

/// A label as it is typed, `KEY=VALUE`.
pub fn key_value(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((key, value)) if !key.trim().is_empty() => Ok((key.trim().to_owned(), value.to_owned())),
        _ => Err("expected KEY=VALUE".to_owned()),
    }
}

/// A length of time as it is typed, `30s`; longer than nothing.
pub fn seconds(text: &str) -> Result<f64, String> {
    parse_seconds(text).filter(|s| *s > 0.0).ok_or_else(|| "expected a time such as 500ms, 30s, 5m or 1h".to_owned())
}

/// CPUs as they are typed, `2-3,7`; at least one.
pub fn cpu_list(text: &str) -> Result<BTreeSet<usize>, String> {
    parse_cpus(text).filter(|cpus| !cpus.is_empty()).ok_or_else(|| "expected a list of CPUs, as 2-3,7".to_owned())
}

/// The time between two samples as it is typed.
pub fn interval(text: &str) -> Result<f64, String> {
    let interval = seconds(text)?;
    if interval < 0.01 { Err("the shortest interval is 10ms".to_owned()) } else { Ok(interval) }
}

/// A number of bytes as it is typed: `1GB`, `512MiB`, `1048576`.
pub fn size(text: &str) -> Result<u64, String> {
    let bad = || "expected a size such as 512MB or 2GB".to_owned();
    let at = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let number: f64 = text[..at].parse().map_err(|_| bad())?;
    let factor = match text[at..].trim().to_ascii_lowercase().as_str() {
        "" | "b" => 1.0,
        "k" | "kb" | "kib" => 1024.0,
        "m" | "mb" | "mib" => 1024.0 * 1024.0,
        "g" | "gb" | "gib" => 1024.0 * 1024.0 * 1024.0,
        _ => return Err(bad()),
    };
    let bytes = number * factor;
    if (1.0..1e18).contains(&bytes) { Ok(bytes as u64) } else { Err(bad()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_and_pairs_are_read() {
        assert_eq!(interval("10ms"), Ok(0.01));
        assert!(interval("9ms").is_err());
        assert!(seconds("0s").is_err());
        assert_eq!(key_value("a=b=c"), Ok(("a".into(), "b=c".into())));
        assert!(key_value("=b").is_err());
    }

    #[test]
    fn sizes_are_read() {
        assert_eq!((size("1GB"), size("512 MiB"), size("7")), (Ok(1 << 30), Ok(512 << 20), Ok(7)));
        assert!(size("x").is_err() && size("-1").is_err() && size("0").is_err() && size("1XB").is_err());
    }
}
