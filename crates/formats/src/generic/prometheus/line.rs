//! One line of the Prometheus text format or of OpenMetrics, taken apart.

use crate::generic::labels::Labels;

/// The parts of a sample's line.
#[derive(Debug, PartialEq)]
pub(super) struct Sample<'a> {
    pub(super) value: f64,
    /// As printed: milliseconds in the Prometheus format, seconds in OpenMetrics.
    pub(super) stamp: Option<f64>,
    /// The exemplar after ` # `: labels, a value and a time.
    pub(super) exemplar: Option<&'a str>,
}

/// Series that a sample belongs to; its memory is kept from line to line.
#[derive(Debug, Default)]
pub(super) struct Series {
    pub(super) name: String,
    pub(super) labels: Labels,
    /// The upper bound of a bucket, which is no label of the series.
    pub(super) le: Option<f64>,
    pub(super) quoted: bool,
    word: String,
}

impl Series {
    /// Reads a sample's line; None when it is none.
    pub(super) fn read<'a>(&mut self, line: &'a str) -> Option<Sample<'a>> {
        self.name.clear();
        self.labels.cut(0);
        (self.le, self.quoted) = (None, false);
        let end = line.find(['{', ' ', '\t'])?;
        self.name.push_str(&line[..end]);
        let mut rest = line[end..].trim_start();
        if let Some(inner) = rest.strip_prefix('{') {
            rest = self.braces(inner)?;
        }
        if self.name.is_empty() || self.name.contains(['"', '=', ',']) {
            return None;
        }
        let (sample, exemplar) = match rest.split_once(" # ") {
            Some((sample, exemplar)) => (sample, Some(exemplar.trim())),
            None => (rest, None),
        };
        let mut words = sample.split_ascii_whitespace();
        let value = float(words.next()?)?;
        let stamp = match words.next() {
            Some(word) => Some(float(word).filter(|v| v.is_finite())?),
            None => None,
        };
        if words.next().is_some() {
            return None;
        }
        Some(Sample { value, stamp, exemplar })
    }

    /// Reads labels up to the closing brace and gives what follows it.
    fn braces<'a>(&mut self, mut text: &'a str) -> Option<&'a str> {
        loop {
            text = text.trim_start_matches([' ', '\t', ',']);
            if let Some(rest) = text.strip_prefix('}') {
                return Some(rest);
            }
            if let Some(quoted) = text.strip_prefix('"') {
                // Since 3.0 a name that is no plain word is within the braces.
                let mut name = String::new();
                text = unquote(quoted, &mut name)?.trim_start();
                let Some(value) = text.strip_prefix('=') else {
                    self.name = name;
                    continue;
                };
                text = unquote(value.trim_start().strip_prefix('"')?, &mut self.word)?;
                self.labels.push(&name, &self.word);
                continue;
            }
            let (key, value) = text.split_once('=')?;
            text = unquote(value.trim_start().strip_prefix('"')?, &mut self.word)?;
            self.quoted = true;
            match key.trim() {
                "__name__" => self.name.clone_from(&self.word),
                "le" => {
                    // `le` of something that is no bucket stays a label; names show which it is.
                    self.le = float(&self.word);
                    if self.le.is_none() {
                        self.labels.push("le", &self.word);
                    }
                }
                key if key.contains(|c: char| c.is_whitespace() || matches!(c, '{' | '}' | '"')) => return None,
                key => self.labels.push(key, &self.word),
            }
        }
    }
}

/// Reads up to the closing quote into `into` and gives what follows it.
fn unquote<'a>(text: &'a str, into: &mut String) -> Option<&'a str> {
    into.clear();
    let mut characters = text.char_indices();
    while let Some((at, c)) = characters.next() {
        match c {
            '"' => return Some(&text[at + 1..]),
            '\\' => match characters.next()?.1 {
                'n' => into.push('\n'),
                other => into.push(other),
            },
            _ => into.push(c),
        }
    }
    None
}

/// Reads a number as Go prints it.
pub(super) fn float(word: &str) -> Option<f64> {
    if let Some(value) = crate::number(word) {
        return Some(value).filter(|_| !word.contains(','));
    }
    match word.trim_start_matches(['+', '-']).to_ascii_lowercase().as_str() {
        "inf" | "infinity" => Some(if word.starts_with('-') { f64::NEG_INFINITY } else { f64::INFINITY }),
        "nan" => Some(f64::NAN),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn samples_are_taken_apart() {
        let mut series = Series::default();
        let sample = series.read(r#"a_total{x="1, \"2\"\n", y="z\\",} 3e2 1520879607789"#).unwrap();
        assert_eq!(sample, Sample { value: 300.0, stamp: Some(1_520_879_607_789.0), exemplar: None });
        assert_eq!((series.name.as_str(), series.labels.text()), ("a_total", "x=1; \"2\" ,y=z\\"));
        let sample = series.read(r#"h_bucket{le="+Inf"} 4 # {trace_id="a b"} 0.5 1.2"#).unwrap();
        assert_eq!((sample.exemplar, series.le), (Some(r#"{trace_id="a b"} 0.5 1.2"#), Some(f64::INFINITY)));
        assert!(series.read(r#"{"my.metric", "a b"="c"} 1"#).is_some());
        assert_eq!((series.name.as_str(), series.labels.text()), ("my.metric", "a b=c"));
        assert!(series.read(r#"{__name__="up", job="x"} 1 1"#).is_some());
        assert_eq!(series.name, "up");
        for line in ["", "a", "a b", "a{b} 1", r#"a{b="c} 1"#, "a 1 2 3", "a 1 x", "{} 1", "a 1,5"] {
            assert_eq!(series.read(line), None, "{line}");
        }
    }
}
