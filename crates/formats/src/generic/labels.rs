//! Labels of a metric: `key=value` joined by commas, however the input writes them.

/// Gathers labels into one text, without an allocation per row.
///
/// Within a key or value a comma becomes `;`, so that the text can be cut at its commas.
#[derive(Clone, Debug, Default)]
pub(crate) struct Labels {
    text: String,
}

impl Labels {
    /// Labels that begin with `key=value`.
    pub(crate) fn of(key: &str, value: &str) -> Labels {
        let mut labels = Labels::default();
        labels.push(key, value);
        labels
    }

    /// Adds `key=value`; an empty value adds nothing.
    pub(crate) fn push(&mut self, key: &str, value: &str) {
        if value.is_empty() {
            return;
        }
        if !self.text.is_empty() {
            self.text.push(',');
        }
        self.word(key);
        self.text.push('=');
        self.word(value);
    }

    /// Appends one word, its commas and line ends replaced.
    fn word(&mut self, word: &str) {
        self.text.extend(word.chars().map(|c| match c {
            ',' => ';',
            '\n' | '\r' => ' ',
            _ => c,
        }));
    }

    /// How long the text is now, for [`Labels::cut`].
    pub(crate) fn len(&self) -> usize {
        self.text.len()
    }

    /// Takes away what was added after the text was `len` long.
    pub(crate) fn cut(&mut self, len: usize) {
        self.text.truncate(len);
    }

    /// The labels as one text.
    pub(crate) fn text(&self) -> &str {
        &self.text
    }
}

/// The unit at the end of a column's header: `latency (ms)`, `size [bytes]`, `%usr`, `ops/s`; empty
/// when there is none.
pub(crate) fn unit_of(header: &str) -> &str {
    let header = header.trim();
    if header.starts_with('%') || header.ends_with('%') {
        return "%";
    }
    let bracketed = header
        .strip_suffix(')')
        .and_then(|h| h.rsplit_once('('))
        .or_else(|| header.strip_suffix(']').and_then(|h| h.rsplit_once('[')));
    let unit = match bracketed {
        Some((_, unit)) => unit.trim(),
        None => {
            header.rsplit(char::is_whitespace).next().filter(|w| w.ends_with("/s") || w.ends_with("/sec")).unwrap_or("")
        }
    };
    symbol(unit)
}

/// The catalogue's symbol of a unit that people write in other ways too; others as they are.
pub(crate) fn symbol(unit: &str) -> &str {
    match unit {
        "seconds" | "second" | "secs" | "sec" => "s",
        "milliseconds" | "millisecond" | "msec" | "msecs" => "ms",
        "microseconds" | "microsecond" | "usec" | "usecs" | "µs" => "us",
        "nanoseconds" | "nanosecond" | "nsec" => "ns",
        "bytes" | "byte" => "B",
        "percent" | "pct" => "%",
        "bytes/s" | "bytes/sec" => "B/s",
        "ops/s" | "ops/sec" | "per second" | "1/s" => "/s",
        _ => unit,
    }
}

/// How many seconds one of a unit of time is.
pub(crate) fn seconds_of(unit: &str) -> Option<f64> {
    Some(match symbol(unit) {
        "s" => 1.0,
        "ms" => 1e-3,
        "us" => 1e-6,
        "ns" => 1e-9,
        "min" | "minutes" | "minute" => 60.0,
        "h" | "hours" | "hour" => 3600.0,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_can_be_cut_at_their_commas() {
        let mut labels = Labels::of("section", "a, b");
        let base = labels.len();
        labels.push("mode", "read");
        labels.push("empty", "");
        assert_eq!(labels.text(), "section=a; b,mode=read");
        labels.cut(base);
        assert_eq!(labels.text(), "section=a; b");
    }

    #[test]
    fn units_are_read_from_headers() {
        for (header, unit) in [
            ("Time (seconds)", "s"),
            ("%usr", "%"),
            ("GET ops/s", "/s"),
            ("rKB/s", "rKB/s"),
            ("size [bytes]", "B"),
            ("x", ""),
        ] {
            assert_eq!(unit_of(header), unit, "{header}");
        }
    }
}
