//! The rule of a description that reads a line, for authors of descriptions.

use super::{TextFormat, Wrong, compile::Rules, report::Report, shipped};
use crate::{Splitter, line_rule::LineRule};

impl TextFormat {
    /// As [`TextFormat::parse`], for who tries a file: that of a shipped format may have its name.
    ///
    /// # Errors
    /// As [`TextFormat::parse`].
    pub fn tried(name: &str, file: &str, text: &str) -> Result<TextFormat, Wrong> {
        match shipped::named(name) {
            Some(_) => TextFormat::described(name, file, text, ""),
            None => TextFormat::parse(name, file, text, ""),
        }
    }

    /// The rule of the description that reads a line. Rows below a header are not distinguished from others: that depends on what is
    /// above them.
    pub(crate) fn rule_of(&self, line: &str) -> Option<LineRule> {
        let text = line.trim_end();
        if text.is_empty() {
            return None;
        }
        self.report.as_ref().and_then(|report| in_report(report, text)).or_else(|| in_rules(self.rules.as_ref()?, text))
    }
}

fn in_report(report: &Report, text: &str) -> Option<LineRule> {
    let mut splitter = Splitter::default();
    let fields = splitter.blanks(text.trim());
    let header = report.tables.iter().position(|rule| rule.is_header(&fields));
    let ignored = || report.ignore.iter().position(|pattern| pattern.is_match(text.trim()));
    header.map(|at| LineRule::Header(at + 1)).or_else(|| ignored().map(|at| LineRule::Ignored(at + 1)))
}

/// In the order in which a line is compared.
fn in_rules(rules: &Rules, text: &str) -> Option<LineRule> {
    if let Some(at) = rules.ignore.iter().position(|pattern| pattern.is_match(text)) {
        return Some(LineRule::Ignored(at + 1));
    }
    if let Some(at) = rules.lines.iter().position(|line| line.pattern.is_match(text)) {
        return Some(LineRule::Pattern(at + 1));
    }
    let pairs = rules.pairs.as_ref()?;
    let (key, _) = pairs.cut(text)?;
    pairs.find(key).map(|(known, _)| LineRule::Pair(known.clone()))
}
