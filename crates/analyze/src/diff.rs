//! Text diff: settings by key, long lines by word, everything else line by line.

use std::collections::BTreeMap;

/// Operation of a diff on a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Op {
    /// Only the first text has it.
    Removed,
    /// Only the second text has it.
    Added,
    /// Both have it; it is there to show where the others are.
    Equal,
}

/// A line of a difference.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DiffLine {
    /// Operation.
    pub op: Op,
    /// The line, or words of a long one.
    pub text: String,
}

/// Lines shown before and after what differs.
const LINES_BESIDE: usize = 2;
/// Words shown before and after what differs.
const WORDS_BESIDE: usize = 3;
/// Words from which on a line is compared word by word.
const MANY_WORDS: usize = 6;
/// Cells of the table in which the longest common part is looked for; larger texts are compared without
/// regard to the order of their lines.
const MOST_CELLS: usize = 4_000_000;

/// Returns true if two texts say the same: the order of settings (`key = value`) does not matter, nor do blank
/// lines and blanks at the ends of lines.
pub fn same_text(a: Option<&str>, b: Option<&str>) -> bool {
    let (Some(a), Some(b)) = (a, b) else { return a.is_none() && b.is_none() };
    let (lines_a, lines_b) = (lines(a), lines(b));
    if lines_a == lines_b {
        return true;
    }
    match (settings(&lines_a), settings(&lines_b)) {
        (Some(a), Some(b)) => a == b,
        _ => false,
    }
}

/// Differences between two texts, in their order, with a little context; empty when [`same_text`] holds.
/// A text that is missing differs in all of its lines from one that is there.
pub fn diff(a: Option<&str>, b: Option<&str>) -> Vec<DiffLine> {
    if same_text(a, b) {
        return Vec::new();
    }
    let (lines_a, lines_b) = (lines(a.unwrap_or_default()), lines(b.unwrap_or_default()));
    if let ([a], [b]) = (lines_a.as_slice(), lines_b.as_slice()) {
        let [words_a, words_b]: [Vec<&str>; 2] = [a, b].map(|line| line.split_whitespace().collect());
        if words_a.len().min(words_b.len()) >= MANY_WORDS {
            return of_words(&ordered(&words_a, &words_b));
        }
    } else if let (Some(a), Some(b)) = (settings(&lines_a), settings(&lines_b)) {
        return of_settings(&a, &b);
    }
    around(&ordered(&lines_a, &lines_b), LINES_BESIDE, "line")
        .into_iter()
        .map(|(op, text)| DiffLine { op, text: text.into_owned() })
        .collect()
}

fn lines(text: &str) -> Vec<&str> {
    text.lines().map(str::trim_end).filter(|line| !line.is_empty()).collect()
}

/// Section and key with the values given to it.
type Settings<'t> = BTreeMap<(&'t str, &'t str), Vec<&'t str>>;

/// The settings of a text all of whose lines are one, a `[section]` or a comment; None for another.
fn settings<'t>(lines: &[&'t str]) -> Option<Settings<'t>> {
    let (mut section, mut found) = ("", Settings::new());
    for line in lines.iter().map(|line| line.trim()) {
        if line.starts_with(['#', ';']) {
            continue;
        }
        if line.starts_with('[') && line.ends_with(']') {
            section = line;
            continue;
        }
        let (key, value) = line.split_once('=')?;
        let key = key.trim();
        if key.is_empty() || key.contains(char::is_whitespace) {
            return None;
        }
        found.entry((section, key)).or_default().push(value.trim());
    }
    (!found.is_empty()).then_some(found)
}

fn of_settings(a: &Settings<'_>, b: &Settings<'_>) -> Vec<DiffLine> {
    let keys: std::collections::BTreeSet<_> = a.keys().chain(b.keys()).collect();
    let (mut out, mut last) = (Vec::new(), "");
    for key in keys {
        let (of_a, of_b) = (a.get(key), b.get(key));
        if of_a == of_b {
            continue;
        }
        let (section, name) = *key;
        if section != last {
            out.push(DiffLine { op: Op::Equal, text: section.to_owned() });
            last = section;
        }
        for (op, values) in [(Op::Removed, of_a), (Op::Added, of_b)] {
            let line = |value: &&str| DiffLine { op, text: format!("{name} = {value}") };
            out.extend(values.into_iter().flatten().map(line));
        }
    }
    out
}

/// Every item of both, the removed before the added where they stand at the same place.
fn ordered<'t>(a: &[&'t str], b: &[&'t str]) -> Vec<(Op, &'t str)> {
    let before = a.iter().zip(b).take_while(|(a, b)| a == b).count();
    let rest = a.len().min(b.len()) - before;
    let after = a.iter().rev().zip(b.iter().rev()).take(rest).take_while(|(a, b)| a == b).count();
    let (mid_a, mid_b) = (&a[before..a.len() - after], &b[before..b.len() - after]);
    let equal = |items: &[&'t str]| items.iter().map(|item| (Op::Equal, *item)).collect::<Vec<_>>();
    let mut out = equal(&a[..before]);
    if mid_a.len().saturating_mul(mid_b.len()) > MOST_CELLS {
        out.extend(unordered(mid_a, mid_b));
    } else {
        out.extend(longest_common(mid_a, mid_b));
    }
    out.extend(equal(&a[a.len() - after..]));
    out
}

/// By the longest common subsequence (Wagner and Fischer 1974).
fn longest_common<'t>(a: &[&'t str], b: &[&'t str]) -> Vec<(Op, &'t str)> {
    let width = b.len() + 1;
    // Length of the longest common part of what follows place (i, j).
    let mut length = vec![0_u32; (a.len() + 1) * width];
    for i in (0..a.len()).rev() {
        for j in (0..b.len()).rev() {
            length[i * width + j] = if a[i] == b[j] {
                length[(i + 1) * width + j + 1] + 1
            } else {
                length[(i + 1) * width + j].max(length[i * width + j + 1])
            };
        }
    }
    let (mut i, mut j, mut out) = (0, 0, Vec::with_capacity(a.len().max(b.len())));
    while i < a.len() || j < b.len() {
        if i < a.len() && j < b.len() && a[i] == b[j] {
            out.push((Op::Equal, a[i]));
            (i, j) = (i + 1, j + 1);
        } else if j == b.len() || (i < a.len() && length[(i + 1) * width + j] >= length[i * width + j + 1]) {
            out.push((Op::Removed, a[i]));
            i += 1;
        } else {
            out.push((Op::Added, b[j]));
            j += 1;
        }
    }
    out
}

/// Items that one list has more often than the other, at any position.
fn unordered<'t>(a: &[&'t str], b: &[&'t str]) -> Vec<(Op, &'t str)> {
    let more = |op: Op, of: &[&'t str], than: &[&'t str]| {
        let mut left: BTreeMap<&str, usize> = BTreeMap::new();
        than.iter().for_each(|item| *left.entry(item).or_default() += 1);
        let only = |item: &&&'t str| match left.get_mut(**item) {
            Some(n) if *n > 0 => {
                *n -= 1;
                false
            }
            _ => true,
        };
        of.iter().filter(only).map(|item| (op, *item)).collect::<Vec<_>>()
    };
    more(Op::Removed, a, b).into_iter().chain(more(Op::Added, b, a)).collect()
}

/// Items that differ, with `beside` equal ones on either side; a word stands for those left out.
fn around<'t>(items: &[(Op, &'t str)], beside: usize, thing: &str) -> Vec<(Op, std::borrow::Cow<'t, str>)> {
    let near = |place: usize| {
        let window = &items[place.saturating_sub(beside)..(place + beside + 1).min(items.len())];
        window.iter().any(|(op, _)| *op != Op::Equal)
    };
    let (mut out, mut left_out) = (Vec::new(), 0);
    for (place, (op, text)) in items.iter().enumerate() {
        if near(place) {
            out.extend(gap(std::mem::take(&mut left_out), thing).map(|text| (Op::Equal, text.into())));
            out.push((*op, (*text).into()));
        } else {
            left_out += 1;
        }
    }
    out.extend(gap(left_out, thing).map(|text| (Op::Equal, text.into())));
    out
}

fn gap(n: usize, thing: &str) -> Option<String> {
    match n {
        0 => None,
        1 => Some(format!("… 1 {thing} …")),
        n => Some(format!("… {n} {thing}s …")),
    }
}

/// Words of a line, those that follow each other and fared alike on one line.
fn of_words(items: &[(Op, &str)]) -> Vec<DiffLine> {
    let mut out: Vec<DiffLine> = Vec::new();
    for (op, text) in around(items, WORDS_BESIDE, "word") {
        match out.last_mut() {
            Some(last) if last.op == op => {
                last.text.push(' ');
                last.text.push_str(&text);
            }
            _ => out.push(DiffLine { op, text: text.into_owned() }),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(a: &str, b: &str) -> Vec<String> {
        let sign = |op| match op {
            Op::Removed => '-',
            Op::Added => '+',
            Op::Equal => '=',
        };
        diff(Some(a), Some(b)).into_iter().map(|line| format!("{}{}", sign(line.op), line.text)).collect()
    }

    #[test]
    fn settings_differ_by_key_wherever_they_stand() {
        assert!(same_text(Some("a = 1\n# why\nb=2\n"), Some("b = 2\n\na = 1")));
        assert_eq!(shown("a = 1\nb = 2\nc = 3", "c = 3\nb = 5\na = 1\nd = 4"), ["-b = 2", "+b = 5", "+d = 4"]);
        assert_eq!(shown("[x]\nk=1\n[y]\nk=1", "[y]\nk=2\n[x]\nk=1"), ["=[y]", "-k = 1", "+k = 2"]);
    }

    #[test]
    fn the_order_of_other_lines_matters_and_what_is_far_is_left_out() {
        assert!(!same_text(Some("first\nsecond"), Some("second\nfirst")));
        let a: Vec<String> = (0..20).map(|i| format!("line {i}")).collect();
        let mut b = a.clone();
        b[9] = "other".to_owned();
        assert_eq!(
            shown(&a.join("\n"), &b.join("\n")),
            ["=… 7 lines …", "=line 7", "=line 8", "-line 9", "+other", "=line 10", "=line 11", "=… 8 lines …"]
        );
        assert_eq!(shown("60", "10"), ["-60", "+10"]);
    }

    #[test]
    fn long_lines_differ_by_words() {
        let modules = "a b c d e f g h i j k";
        assert_eq!(
            shown(modules, &modules.replace(" e", " x y")),
            ["=… 1 word … b c d", "-e", "+x y", "=f g h … 3 words …"]
        );
    }

    #[test]
    fn a_text_that_is_missing_differs_in_all_its_lines() {
        let found = diff(None, Some("a = 1\nb = 2"));
        assert_eq!(
            found.iter().map(|l| (l.op, l.text.as_str())).collect::<Vec<_>>(),
            [(Op::Added, "a = 1"), (Op::Added, "b = 2")]
        );
        assert_eq!(diff(None, None), []);
    }

    /// Common and removed items make up the first text, common and added ones the second.
    #[test]
    fn either_text_can_be_made_of_the_difference() {
        let mut random = crate::Random::new(5);
        for _ in 0..200 {
            let mut text = || -> Vec<&str> {
                let n = (random.unit() * 12.0) as usize;
                (0..n).map(|_| ["a", "b", "c"][(random.unit() * 3.0) as usize]).collect()
            };
            let (a, b) = (text(), text());
            let found = ordered(&a, &b);
            let of = |not: Op| found.iter().filter(|(op, _)| *op != not).map(|(_, t)| *t).collect::<Vec<_>>();
            assert_eq!((of(Op::Added), of(Op::Removed)), (a.clone(), b.clone()));
            let count = |op: Op| unordered(&a, &b).iter().filter(|(o, _)| *o == op).count();
            assert_eq!(a.len() + count(Op::Added), b.len() + count(Op::Removed));
        }
    }
}
