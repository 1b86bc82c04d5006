//! Lines with a key and a value.

use std::collections::BTreeSet;

use super::{Sketch, key, quoted, slug, unique};
use crate::{
    load::names,
    number,
    own::{goal::Goal, results::same_key},
};

/// With fewer it is no report.
const FEWEST: usize = 3;
/// The longest key.
const LONGEST: usize = 48;
/// Keys by which a text is recognised.
const RECOGNISED: usize = 3;

/// `[pairs]` for the lines of a text that have a key and a number.
pub(super) fn sketch(name: &str, lines: &[&str]) -> Option<Sketch> {
    let found = |between: &'static str| (between, pairs(lines, between));
    let (between, pairs) = [found(":"), found("=")].into_iter().max_by_key(|(_, pairs)| pairs.len())?;
    if pairs.len() < FEWEST {
        return None;
    }
    let recognised: Vec<String> = pairs.iter().take(RECOGNISED).map(|(key, ..)| quoted(key)).collect();
    let mut rest = String::from("\n[pairs]\n");
    if between != ":" {
        rest.push_str(&format!("between = {}\n", quoted(between)));
    }
    rest.push_str(&format!(
        "begins = {}    # ? the key with which each report begins\n\n\
         # ? Behind each: its unit, and for a new name which direction is better: higher, lower or neither.\n[pairs.keys]\n",
        quoted(pairs[0].0)
    ));
    let mut known = BTreeSet::new();
    for (found, value, _) in &pairs {
        rest.push_str(&format!("{} = {}    # {value}\n", key(found), quoted(&goal(name, found, value, &mut known))));
    }
    let example = pairs.iter().map(|(_, _, line)| (*line).to_owned()).collect();
    Some(Sketch { kind: "pairs", recognise: format!("pairs = [{}]\n", recognised.join(", ")), rest, example })
}

/// Key, value and line of each line that has them, each key once.
fn pairs<'l>(lines: &[&'l str], between: &str) -> Vec<(&'l str, &'l str, &'l str)> {
    let mut pairs: Vec<(&str, &str, &str)> = Vec::new();
    for line in lines {
        let Some((key, value)) = line.split_once(between).map(|(key, value)| (key.trim(), value.trim())) else {
            continue;
        };
        let is_key = key.chars().any(char::is_alphabetic) && key.len() <= LONGEST && !key.contains(['"', '{', '[']);
        let has_number = value
            .split([' ', '%', ','])
            .next()
            .is_some_and(|word| number(word).is_some() || unit_behind(word).is_some());
        if is_key && has_number && !pairs.iter().any(|(known, ..)| same_key(known, key)) {
            pairs.push((key, value, line));
        }
    }
    pairs
}

/// The text directly behind the digits of a word: `ms` of `12.5ms`.
fn unit_behind(word: &str) -> Option<&str> {
    let end = word.find(|c: char| !c.is_ascii_digit() && !matches!(c, '.' | ','))?;
    let (digits, unit) = word.split_at(end);
    let is_unit =
        matches!(unit, "ns" | "us" | "µs" | "ms" | "s" | "m" | "h" | "KB" | "MB" | "GB" | "KiB" | "MiB" | "GiB" | "B");
    (number(digits).is_some() && is_unit).then_some(unit)
}

/// The result that a pair is, as far as its key and its value say.
fn goal(name: &str, found: &str, value: &str, known: &mut BTreeSet<String>) -> String {
    let word = slug(found);
    let is_right = |goal: &str| Goal::read(goal).is_ok();
    let first = value.split_whitespace().next().unwrap_or_default();
    let unit = match unit_behind(first.trim_end_matches(',')) {
        Some("ns" | "us" | "µs" | "ms" | "s" | "m" | "h") => "ms auto".to_owned(),
        Some(_) => "B auto".to_owned(),
        None if first.ends_with('%') => "%".to_owned(),
        None => value.split_whitespace().nth(1).unwrap_or_default().trim_matches(['(', ')', ',']).to_owned(),
    };
    if names::named(&word).is_some() && known.insert(word.clone()) {
        let all = [format!("result.{word} {unit}"), format!("result.{word}")];
        if let Some(goal) = all.into_iter().map(|goal| goal.trim().to_owned()).find(|goal| is_right(goal)) {
            return goal;
        }
    }
    let word = if names::named(&word).is_some() || word.is_empty() { format!("{name}_{word}") } else { word };
    let word = unique(word, known);
    let all = [format!("result.{word} {unit} neither"), format!("result.{word} neither")];
    all.into_iter().find(|goal| is_right(goal)).unwrap_or_else(|| "skip".to_owned())
}
