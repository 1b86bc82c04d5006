//! Conditions of a description that a text does not meet, in words.

use super::{Pattern, Recognise};
use crate::Head;

impl Recognise {
    /// Conditions that a text does not meet to be recognised; empty where it is.
    pub(in crate::own) fn missing(&self, head: &Head<'_>) -> Vec<String> {
        let mut lacks = Vec::new();
        if self.claims(head) {
            return lacks;
        }
        let has = |text: &str| memchr::memmem::find(head.text.as_bytes(), text.as_bytes()).is_some();
        if let Some(begins) = self.begins.as_ref().filter(|begins| !begins.is_match(head.first())) {
            lacks.push(format!("a first line that begins with `{}`", bare(begins)));
        }
        if !self.header.is_empty() && !self.header.iter().any(|header| self.has_header(head, header)) {
            lacks.push(self.missing_header(head));
        }
        let without = self.pairs.iter().filter(|key| !head.any(|line| self.is_pair(line, key)));
        lacks.extend(without.map(|key| format!("a line `{key}{} …`", self.between.trim_end())));
        let without = self.contains.iter().filter(|pattern| !head.any(|line| pattern.is_match(line)));
        lacks.extend(without.map(|pattern| format!("a line that matches `{}`", bare(pattern))));
        if !self.some.is_empty() && !head.any(|line| self.some.iter().any(|pattern| pattern.is_match(line))) {
            let all: Vec<String> = self.some.iter().map(|pattern| format!("`{}`", bare(pattern))).collect();
            lacks.push(format!("a line that matches {}", all.join(" or ")));
        }
        lacks.extend(self.has.iter().filter(|text| !has(text)).map(|text| format!("`{}`", text.trim())));
        let with = self.lacks.iter().filter(|text| has(text));
        lacks.extend(with.map(|text| format!("the absence of `{}`", text.trim())));
        lacks
    }

    /// Words of a header missing from the line that has most of them.
    fn missing_header(&self, head: &Head<'_>) -> String {
        let lacking = |header: &str, line: &str| -> Vec<String> {
            let has = |word: &str| line.split_ascii_whitespace().any(|found| found == word);
            header.split_ascii_whitespace().filter(|word| !has(word)).map(str::to_owned).collect()
        };
        let all = self.header.iter().flat_map(|header| head.lines().map(move |line| (header, lacking(header, line))));
        match all.min_by_key(|(_, lacking)| lacking.len()) {
            Some((header, lacking))
                if lacking.len() < header.split_ascii_whitespace().count() && !lacking.is_empty() =>
            {
                format!(
                    "{} in the header",
                    lacking.iter().map(|word| format!("`{word}`")).collect::<Vec<_>>().join(", ")
                )
            }
            Some((header, lacking)) if lacking.is_empty() && self.row_below => {
                format!("a row of as many values below `{header}`")
            }
            _ => format!("the header `{}`", self.header.join("` or `")),
        }
    }
}

/// A pattern as the description has it.
fn bare(pattern: &Pattern) -> &str {
    let text = pattern.text.as_str();
    let text = text.strip_prefix("^(?:").unwrap_or(text);
    text.strip_suffix(")$").or_else(|| text.strip_suffix(')')).unwrap_or(text)
}

#[cfg(test)]
mod tests {
    use crate::{Head, OwnFormat, own::shipped};

    #[test]
    fn what_is_recognised_as_json_lacks_nothing_of_the_text() {
        let oha = shipped::named("oha").unwrap();
        let files = fs_err::read_dir("fixtures/oha").unwrap().map(|file| file.unwrap().path());
        let texts: Vec<String> = files
            .filter(|path| path.extension().is_none_or(|ending| ending != "rows"))
            .filter_map(|path| fs_err::read_to_string(path).ok())
            .filter(|text| text.trim_start().starts_with('{'))
            .collect();
        assert!(!texts.is_empty());
        for text in &texts {
            assert_eq!(oha.lacks(&Head { text }), Vec::<String>::new());
        }
        assert!(!oha.lacks(&Head { text: "{\"other\": 1}\n" }).is_empty());
    }
}
