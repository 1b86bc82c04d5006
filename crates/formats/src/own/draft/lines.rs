//! Lines that differ in their numbers, and perhaps in one word: a pattern for each shape.

use std::collections::{BTreeMap, BTreeSet};

use super::{Sketch, pattern, quoted, slug, unique};
use crate::{civil_date, stamp};

/// Patterns of one draft.
const MOST: usize = 12;
/// Shapes that are compared with each other.
const SHAPES: usize = 400;
/// Numbers of a line that become rows.
const NUMBERS: usize = 8;
/// Words of a line that are looked at.
const WORDS: usize = 40;
/// Placeholders in a shape: of a number, and of a word that differs.
const NUMBER: char = '\u{1}';
const NAME: &str = "\u{2}";

/// A shape: its words, and the lines that have it.
#[derive(Default)]
struct Shape<'l> {
    words: Vec<String>,
    lines: Vec<&'l str>,
    /// Words in front of it that are its time.
    stamped: usize,
}

/// `[[line]]` for each shape of lines that have numbers.
pub(super) fn sketch(name: &str, lines: &[&str]) -> Option<Sketch> {
    let mut shapes: BTreeMap<(usize, Vec<String>), Vec<&str>> = BTreeMap::new();
    for line in lines.iter().filter(|line| !line.trim().is_empty()) {
        let stamped = stamp(line).map_or(0, |stamp| line[..line.len() - stamp.rest.len()].split_whitespace().count());
        let words: Vec<String> = line.split_whitespace().skip(stamped).take(WORDS).map(shape).collect();
        if words.iter().any(|word| word.contains(NUMBER))
            && words.iter().any(|word| word.chars().any(char::is_alphabetic))
        {
            let full = shapes.len() >= SHAPES;
            if let Some(same) = shapes.get_mut(&(stamped, words.clone())) {
                same.push(line);
            } else if !full {
                shapes.insert((stamped, words), vec![line]);
            }
        }
    }
    let mut shapes: Vec<Shape<'_>> =
        shapes.into_iter().map(|((stamped, words), lines)| Shape { words, lines, stamped }).collect();
    shapes = merged(shapes);
    // A line that comes once is a heading or a remark, where others come again and again.
    let again = shapes.iter().any(|shape| shape.lines.len() > 1);
    shapes.retain(|shape| !again || shape.lines.len() > 1);
    shapes.sort_by_key(|shape| std::cmp::Reverse(shape.lines.len()));
    shapes.truncate(MOST);
    let first = shapes.first()?;
    let stamped = shapes.iter().any(|shape| shape.stamped > 0);
    let dated = first.lines.first().is_some_and(|line| {
        line.split_whitespace().any(|word| civil_date(word.trim_start_matches('[')).is_some() || word.contains('T'))
    });
    let mut rest = match (stamped, dated) {
        (true, true) => "\n[time]\nformat = \"iso\"    # ? or as strftime prints it: \"%d.%m.%Y %H:%M:%S\"\nzone = \"UTC\"    # ?\n".to_owned(),
        (true, false) => "\n[time]\nformat = \"clock\"    # a time of day\n".to_owned(),
        (false, _) => "\n# ? No line has a time: samples are counted, and each begins with the line that is marked `sample`.\n[time]\nformat = \"counted\"\ninterval = 1    # ?\n".to_owned(),
    };
    let mut known = BTreeSet::new();
    for (at, shape) in shapes.iter().enumerate() {
        rest.push_str(&shape.toml(name, !stamped && at == 0, &mut known));
    }
    let recognise = format!("contains = [{}]\n", pattern(&first.pattern().0));
    let example = shapes.iter().flat_map(|shape| shape.lines.iter().take(2)).map(|line| (*line).to_owned()).collect();
    Some(Sketch { kind: "lines", recognise, rest, example })
}

/// A word with its numbers taken out; digits behind a letter are part of a name.
fn shape(word: &str) -> String {
    let mut shape = String::new();
    let mut before = ' ';
    let mut rest = word.chars().peekable();
    while let Some(c) = rest.next() {
        if c.is_ascii_digit() && !before.is_alphanumeric() && before != '_' {
            shape.push(NUMBER);
            while let Some(next) = rest.peek().copied().filter(|next| next.is_ascii_digit() || *next == '.') {
                before = next;
                rest.next();
            }
            // The end of a sentence.
            if before == '.' {
                shape.push('.');
            }
            before = '0';
            continue;
        }
        shape.push(c);
        before = c;
    }
    shape
}

/// Shapes that differ in one word become one.
fn merged(mut shapes: Vec<Shape<'_>>) -> Vec<Shape<'_>> {
    let mut like: BTreeMap<(usize, Vec<String>), usize> = BTreeMap::new();
    let without = |shape: &Shape<'_>, at: usize| {
        let mut words = shape.words.clone();
        words[at] = NAME.to_owned();
        (shape.stamped, words)
    };
    let places =
        |shape: &Shape<'_>| (0..shape.words.len()).filter(|at| !shape.words[*at].contains(NUMBER)).collect::<Vec<_>>();
    for shape in &shapes {
        places(shape).into_iter().for_each(|at| *like.entry(without(shape, at)).or_default() += 1);
    }
    let mut merged: BTreeMap<(usize, Vec<String>), Vec<&str>> = BTreeMap::new();
    for shape in std::mem::take(&mut shapes) {
        let best = places(&shape).into_iter().map(|at| without(&shape, at)).max_by_key(|key| like[key]);
        let key = best.filter(|key| like[key] > 1).unwrap_or((shape.stamped, shape.words));
        merged.entry(key).or_default().extend(shape.lines);
    }
    merged.into_iter().map(|((stamped, words), lines)| Shape { words, lines, stamped }).collect()
}

impl Shape<'_> {
    /// Its pattern, and a name for each of its numbers: the letters beside it.
    fn pattern(&self) -> (String, Vec<String>) {
        let mut text = String::from(if self.stamped > 0 { "" } else { r"\s*" });
        let mut names = Vec::new();
        if self.stamped > 0 {
            text.push_str(&format!("(?<time>{})[: ]*", vec![r"\S+"; self.stamped].join(" ")));
        }
        let mut last = String::new();
        for (at, word) in self.words.iter().enumerate() {
            if at > 0 {
                text.push_str(r"\s+");
            }
            if word == NAME {
                text.push_str(r"(?<name>\S+)");
                continue;
            }
            let mut pieces = word.split(NUMBER);
            text.push_str(&regex::escape(pieces.next().unwrap_or_default()));
            for piece in pieces {
                names.push(last.clone());
                text.push_str(&format!(r"(?<n{}>[\d.]+)", names.len()));
                text.push_str(&regex::escape(piece));
            }
            let letters: String = word.chars().filter(|c| *c != NUMBER).collect();
            // `15 jobs` is called by what follows, `jobs=15` and `jobs: 15` by the word in front.
            match slug(&letters) {
                own if own.is_empty() => {}
                own => {
                    if word.contains(NUMBER) || last.is_empty() {
                        if let Some(name) = names.last_mut().filter(|_| word.contains(NUMBER)) {
                            own.clone_into(name);
                        }
                    } else if let Some(name) = names.last_mut().filter(|_| self.words[at - 1].contains(NUMBER)) {
                        own.clone_into(name);
                    }
                    last = own;
                }
            }
        }
        (text, names)
    }

    fn toml(&self, format: &str, sample: bool, known: &mut BTreeSet<String>) -> String {
        let (text, names) = self.pattern();
        let line: String = self.lines[0].trim().chars().filter(|c| !c.is_control()).take(100).collect();
        let mut toml = format!("\n# {line}\n[[line]]\npattern = {}\n", pattern(&text));
        if sample {
            toml.push_str("sample = true\n");
        }
        let label = if self.words.iter().any(|word| word == NAME) { "labels = { name = \"{name}\" }\n" } else { "" };
        for (at, name) in names.iter().take(NUMBERS).enumerate() {
            let name = if name.is_empty() { format!("value{}", at + 1) } else { name.clone() };
            let name = unique(format!("{format}.{name}"), known);
            toml.push_str(&format!(
                "\n[[line.row]]\ntable = \"metric\"\nname = {}    # ?\n{label}value = \"{{n{}}}\"    # ? its unit: \"{{n{}}} ms\"\n",
                quoted(&name),
                at + 1,
                at + 1
            ));
        }
        toml
    }
}
