//! A comparison as JUnit XML: a suite for each group that is compared, a test case for each result.

use fenxi_analyze::Verdict;
use fenxi_compare::{Headline, Line, SideBySide};

use super::{CompareArgs, counts, fails};
use crate::print;

/// The document. A result with the verdict of `--fail-on` fails, one that too few runs have for a verdict is skipped; groups that
/// are not comparable are an error.
pub fn of(all: &[SideBySide<'_>], args: &CompareArgs) -> String {
    let suites: Vec<Suite> = all.iter().map(|found| Suite::of(found, args)).collect();
    let sum = |of: fn(&Suite) -> usize| suites.iter().map(of).sum::<usize>();
    let counted = attributes(sum(|s| s.tests), sum(|s| s.failures), sum(|s| s.errors), sum(|s| s.skipped));
    let suites: String = suites.iter().map(Suite::text).collect();
    format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites name=\"fenxi compare\" {counted}>\n{suites}</testsuites>\n"
    )
}

#[derive(Default)]
struct Suite {
    name: String,
    cases: String,
    tests: usize,
    failures: usize,
    errors: usize,
    skipped: usize,
}

impl Suite {
    fn of(found: &SideBySide<'_>, args: &CompareArgs) -> Suite {
        let name = format!("{} and {}", found.a.title, found.b.title);
        let mut suite = Suite { name, ..Suite::default() };
        let Some(comparison) = &found.comparison else {
            let reasons: Vec<&str> = found.reasons.iter().filter(|r| r.refuses).map(|r| r.text.as_str()).collect();
            suite.errors = 1;
            suite.case("comparable", &element("error", "not comparable", &reasons.join("\n"), "refused"));
            return suite;
        };
        let is_shown = |line: &&Line| args.all || line.means != [0.0, 0.0] || is_named(line, args);
        for line in comparison.results.iter().filter(is_shown) {
            suite.result(line, args);
        }
        suite
    }

    fn result(&mut self, line: &Line, args: &CompareArgs) {
        let sentence = Headline::of(std::slice::from_ref(line), Some(&line.column), args.replicates());
        let sentence = sentence.map(|headline| headline.text).unwrap_or_default();
        let text = format!("{sentence}\n{}", figures(line));
        let inside = if fails(line, args) {
            self.failures += 1;
            element("failure", &sentence, &text, line.verdict.words())
        } else if line.verdict == Verdict::Insufficient {
            self.skipped += 1;
            format!("<skipped message=\"{}\"/>", escaped(&sentence))
        } else {
            let note = if counts(line, args) { "" } else { "\nThis result is not named by --result: it never fails." };
            format!("<system-out>{}</system-out>", escaped(&format!("{text}{note}")))
        };
        self.case(&line.column, &inside);
    }

    fn case(&mut self, name: &str, inside: &str) {
        self.tests += 1;
        let class = escaped(&self.name);
        self.cases
            .push_str(&format!("    <testcase classname=\"{class}\" name=\"{}\">{inside}</testcase>\n", escaped(name)));
    }

    fn text(&self) -> String {
        let counted = attributes(self.tests, self.failures, self.errors, self.skipped);
        format!("  <testsuite name=\"{}\" {counted}>\n{}  </testsuite>\n", escaped(&self.name), self.cases)
    }
}

fn is_named(line: &Line, args: &CompareArgs) -> bool {
    args.result.iter().any(|counts| counts.result == line.column)
}

/// The figures of a result, a line each.
fn figures(line: &Line) -> String {
    let unit = line.measure();
    let [a, b] = line.means.map(|mean| unit.human(mean).to_string());
    let change = |value| fenxi_compare::change(line, value);
    let interval = line.interval.map(|[low, high]| format!("95 % interval: {} to {}\n", change(low), change(high)));
    let p = line.p.map(|p| format!("p: {p:.4}\n"));
    let [n_a, n_b] = line.runs;
    format!(
        "A: {a} ({n_a} runs)\nB: {b} ({n_b} runs)\nchange: {}\n{}{}verdict: {}",
        change(line.change),
        interval.unwrap_or_default(),
        p.unwrap_or_default(),
        line.verdict.words()
    )
}

fn attributes(tests: usize, failures: usize, errors: usize, skipped: usize) -> String {
    format!("tests=\"{tests}\" failures=\"{failures}\" errors=\"{errors}\" skipped=\"{skipped}\"")
}

fn element(name: &str, message: &str, text: &str, kind: &str) -> String {
    format!("<{name} message=\"{}\" type=\"{}\">{}</{name}>", escaped(message), escaped(kind), escaped(text))
}

/// Text for an attribute or an element: what XML 1.0 cannot hold is a question mark.
fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for (i, line) in text.split('\n').enumerate() {
        if i > 0 {
            out.push('\n');
        }
        for c in print::visible(line).chars() {
            match c {
                '&' => out.push_str("&amp;"),
                '<' => out.push_str("&lt;"),
                '>' => out.push_str("&gt;"),
                '"' => out.push_str("&quot;"),
                '\u{fffe}' | '\u{ffff}' => out.push('?'),
                c => out.push(c),
            }
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::escaped;

    #[test]
    fn text_of_others_is_valid_in_xml() {
        assert_eq!(escaped("a<b> & \"c\"\nd\u{1b}[31m\u{0}\u{fffe}"), "a&lt;b&gt; &amp; &quot;c&quot;\nd?[31m??");
    }
}
