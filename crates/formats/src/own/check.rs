//! Checks of the tests of shipped descriptions, for a user's own: that it reads its texts, recognises these and
//! nothing else, reports what it cannot read, and survives damage.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use super::{TextFormat, recognise::COMMONPLACE};
use crate::{AnyFormat, Formats, Head, Hints, Input, Out, OwnFormat, Sure, account::account, formats};

/// Places at which a text is cut, and bytes that are changed.
const CUTS: usize = 60;
/// Bytes of a text that are damaged: it is read some two hundred times.
const DAMAGED: usize = 32 << 10;
/// Things of one kind that are named.
const NAMED: usize = 5;
/// A line that no tool prints.
const GARBAGE: &str = "~~ \u{fffd}#!7f ;; what\tis (this = 1,, ::\n";

/// One thing that was tried.
#[derive(Clone, Debug)]
pub struct Check {
    /// What: `reads`, `recognised` …
    pub what: &'static str,
    /// Description of the result.
    pub found: String,
    /// Problems, one each; empty where there are none.
    pub wrong: Vec<String>,
}

impl Check {
    fn new(what: &'static str, found: String, mut wrong: Vec<String>) -> Check {
        if wrong.len() > NAMED {
            let more = wrong.len() - NAMED;
            wrong.truncate(NAMED);
            wrong.push(format!("and {more} more"));
        }
        Check { what, found, wrong }
    }
}

/// A text by its name.
pub type Text = (String, Vec<u8>);

/// Tries a description. `texts` are those that it is for, besides its example; `ordinary` are some that are of no format.
pub fn check(format: &Arc<TextFormat>, texts: &[Text], ordinary: &[Text]) -> Vec<Check> {
    let about = format.about();
    let example =
        (!about.example.trim().is_empty()).then(|| ("its example".to_owned(), about.example.clone().into_bytes()));
    let texts: Vec<Text> = example.into_iter().chain(texts.iter().cloned()).collect();
    let tables: Vec<&str> = about.tables.iter().map(|table| table.name).collect();
    let mut checks = vec![Check::new("columns", format!("it fills {}", tables.join(", ")), Vec::new())];
    if texts.is_empty() {
        let why =
            "there is no text to read: add `example = \"\"\"…\"\"\"` with a few lines, or name a file with --text";
        checks.push(Check::new("reads", "nothing".to_owned(), vec![why.to_owned()]));
        return checks;
    }
    checks.push(reads(format, &texts));
    checks.push(recognised(format, &texts));
    checks.push(of_others(format));
    checks.push(of_nobody(format, ordinary));
    checks.push(damage(format, &texts));
    checks.push(garbage(format, &texts));
    checks
}

fn any(format: &Arc<TextFormat>) -> AnyFormat {
    let own: Arc<dyn OwnFormat> = format.clone();
    AnyFormat::Own(own)
}

fn reads(format: &Arc<TextFormat>, texts: &[Text]) -> Check {
    let (mut rows, mut wrong) = (0, Vec::new());
    for (name, bytes) in texts {
        let account = account(&any(format), bytes, Hints::none(name));
        rows += account.rows.len();
        if account.rows.is_empty() {
            wrong.push(format!("{name} gives no rows"));
        }
        let lines = account.unread().flat_map(|line| line.notes.iter().map(move |note| (line.number, note)));
        wrong.extend(lines.map(|(number, note)| format!("{name}, line {number}: {note}")));
    }
    Check::new("reads", format!("{rows} rows of {} texts", texts.len()), wrong)
}

fn recognised(format: &Arc<TextFormat>, texts: &[Text]) -> Check {
    if !format.about().recognises {
        let found = format!("there is no [recognise]: only `--as {}` reads them", format.about().name);
        return Check::new("recognised", found, Vec::new());
    }
    let known = Formats::with(vec![format.clone()]);
    let mut wrong = Vec::new();
    for (name, bytes) in texts {
        let input = Input::new(&bytes[..]);
        let head = input.head();
        let head = Head { text: &head };
        let lacks = format.lacks(&head);
        if !lacks.is_empty() {
            wrong.push(format!("{name} lacks {}", lacks.join(", ")));
        } else if let Some(other) = known.detect(&head).filter(|found| found.name() != format.about().name) {
            let other = other.name();
            wrong.push(format!(
                "{name} would be read as {other}; `instead_of = \"{other}\"` in [recognise] lets this one read it"
            ));
        }
    }
    Check::new("recognised", format!("{} texts", texts.len()), wrong)
}

/// Examples of all other formats, which it must leave alone.
fn of_others(format: &Arc<TextFormat>) -> Check {
    let about = format.about();
    let others = formats().filter(|other| other.name != about.name && about.instead_of.as_deref() != Some(other.name));
    let (mut n, mut wrong) = (0, Vec::new());
    for other in others {
        n += 1;
        if format.sniff(&Head { text: other.example() }) != Sure::No {
            wrong.push(format!("it takes a text of {}", other.name));
        }
    }
    Check::new("others", format!("it leaves the texts of {n} formats alone"), wrong)
}

/// Texts of no tool, which it must leave alone.
fn of_nobody(format: &Arc<TextFormat>, ordinary: &[Text]) -> Check {
    let mut wrong = Vec::new();
    for text in COMMONPLACE {
        if format.sniff(&Head { text }) != Sure::No {
            wrong.push(format!("it takes a text that begins `{}`", text.lines().next().unwrap_or_default()));
        }
    }
    for (name, bytes) in ordinary {
        let input = Input::new(&bytes[..]);
        if format.sniff(&Head { text: &input.head() }) != Sure::No {
            wrong.push(format!("it takes {name}"));
        }
    }
    Check::new("ordinary", format!("it leaves {} ordinary texts alone", COMMONPLACE.len() + ordinary.len()), wrong)
}

/// Whether reading ends without a panic; and how many notes it leaves.
fn survives(format: &TextFormat, bytes: &[u8]) -> Option<u64> {
    let read = || {
        let mut out = Out::new("", Hints::none("damaged"), |rows, _| rows.clear());
        format.read(&mut Input::new(bytes), &mut out);
        out.finish().notes
    };
    catch_unwind(AssertUnwindSafe(read)).ok()
}

/// Cut at many places, with a byte changed there, its lines backwards, and nothing at all.
fn damage(format: &Arc<TextFormat>, texts: &[Text]) -> Check {
    let (mut n, mut wrong) = (0, Vec::new());
    let mut try_it = |what: &str, name: &str, bytes: &[u8]| {
        n += 1;
        if survives(format, bytes).is_none() {
            wrong.push(format!("{name}, {what}: reading it ends in a panic, which is a bug of Fenxi"));
        }
    };
    for (name, bytes) in texts {
        let bytes = &bytes[..bytes.len().min(DAMAGED)];
        for cut in (0..bytes.len()).step_by((bytes.len() / CUTS).max(1)) {
            try_it(&format!("the first {cut} bytes"), name, &bytes[..cut]);
            try_it(&format!("all but the first {cut} bytes"), name, &bytes[cut..]);
            let mut changed = bytes.to_vec();
            changed[cut] = changed[cut].wrapping_mul(31).wrapping_add(cut as u8);
            try_it(&format!("with byte {cut} changed"), name, &changed);
        }
        let mut lines: Vec<&[u8]> = bytes.split_inclusive(|b| *b == b'\n').collect();
        // Every other line is cut in its middle.
        let halves: Vec<&[u8]> = lines
            .iter()
            .enumerate()
            .map(|(at, line)| if at % 2 == 0 { *line } else { &line[..line.len() / 2] })
            .collect();
        try_it("lines cut in their middle", name, &halves.join(&b"\n"[..]));
        lines.reverse();
        try_it("its lines backwards", name, &lines.concat());
    }
    try_it("nothing", "an empty text", b"");
    try_it("zeros", "a text of zeros", &[0; 5000]);
    Check::new("damage", format!("{n} damaged texts are read to their end"), wrong)
}

/// Lines of garbage between the others must be reported.
fn garbage(format: &Arc<TextFormat>, texts: &[Text]) -> Check {
    let mut wrong = Vec::new();
    for (name, bytes) in texts {
        let text = String::from_utf8_lossy(&bytes[..bytes.len().min(DAMAGED)]);
        if text.trim_start().starts_with(['{', '[']) {
            continue;
        }
        let before = survives(format, text.as_bytes());
        let spoilt: String = text.split_inclusive('\n').flat_map(|line| [line, GARBAGE]).collect();
        if let (Some(before), Some(after)) = (before, survives(format, spoilt.as_bytes()))
            && after <= before
        {
            wrong.push(format!(
                "{name}: garbage between its lines is passed over in silence; is `ignore` or a pattern too wide?"
            ));
        }
    }
    Check::new("garbage", "lines of garbage become notes".to_owned(), wrong)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::own::shipped;

    fn of(toml: &str) -> Vec<Check> {
        let format = TextFormat::parse("mine", "mine.toml", toml, "").unwrap_or_else(|wrong| panic!("{wrong}"));
        check(&Arc::new(format), &[], &[])
    }

    fn wrong(checks: &[Check]) -> Vec<String> {
        checks.iter().flat_map(|check| check.wrong.iter().map(|wrong| format!("{}: {wrong}", check.what))).collect()
    }

    const GOOD: &str = "summary = 'pools'\nexample = \"poolstat 1\\nfast 12\\n\"\n[recognise]\nbegins = 'poolstat \\d'\n[time]\nformat = 'counted'\n[[line]]\npattern = 'poolstat \\d'\nsample = true\n[[line]]\npattern = '(?<pool>[a-z]+) (?<n>\\d+)'\nrow = [{ table = 'metric', name = 'pool', labels = { pool = '{pool}' }, value = '{n}' }]\n";

    #[test]
    fn a_good_description_passes_and_each_fault_is_named() {
        assert_eq!(wrong(&of(GOOD)), Vec::<String>::new());
        let faults = [
            ("fast 12", "fast x", "reads: its example, line 2: no pattern matches"),
            ("summary = 'pools'", "summary = 'pools'\nignore = '.*'", "reads: its example gives no rows"),
            (
                "(?<pool>[a-z]+) (?<n>\\d+)",
                "(?<pool>\\S+)\\s.*?(?<n>\\d+).*",
                "garbage: its example: garbage between its lines",
            ),
            ("example = \"poolstat 1\\nfast 12\\n\"\n", "", "reads: there is no text to read"),
        ];
        for (from, to, expected) in faults {
            let text = GOOD.replace(from, to);
            assert_ne!(text, GOOD, "{from}");
            let found = wrong(&of(&text));
            assert!(found.iter().any(|found| found.contains(expected)), "{expected}: {found:?}");
        }
    }

    #[test]
    fn a_text_that_another_format_reads_is_named() {
        let text = GOOD
            .replace("begins = 'poolstat \\d'", "header = 'Transaction rate:'")
            .replace("poolstat 1\\nfast 12", "poolstat 1\\nTransaction rate: x\\nfast 12");
        let found = wrong(&of(&text));
        assert!(found.iter().any(|found| found == "others: it takes a text of siege"), "{found:?}");
    }

    #[test]
    fn shipped_descriptions_pass() {
        for name in ["siege", "ab", "numactl", "sockperf"] {
            let text = fs_err::read_to_string(shipped::path(name).unwrap()).unwrap();
            let format = Arc::new(TextFormat::tried(name, "x.toml", &text).unwrap());
            let found: Vec<String> = wrong(&check(&format, &[], &[]));
            assert_eq!(found, Vec::<String>::new(), "{name}");
        }
    }
}
