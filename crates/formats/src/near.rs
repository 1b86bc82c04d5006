//! The formats that come nearest to a text that none of them recognises, and what it lacks to be of each.
//!
//! Each format has an example. Words that few examples have say most; a line of an example of which a text has most such words is
//! what it was probably meant to have.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
};

use crate::{AnyFormat, Family, Format, Formats, Head, OwnFormat, formats, hosts, own::shipped};

/// A text needs as many of the words of a line for it to come near.
const FEWEST_WORDS: usize = 2;
/// And so much of their weight.
const LEAST_SHARE: f64 = 0.3;
/// Words that a message names.
const NAMED: usize = 6;
/// Lines of a text whose words are looked at.
const LINES: usize = 400;

/// A format that comes near to a text.
#[derive(Clone, Debug, PartialEq)]
pub struct Near {
    /// The format.
    pub format: &'static str,
    /// Words of it that the text has.
    pub has: Vec<String>,
    /// Lines or words that the text lacks.
    pub lacks: Vec<String>,
}

impl fmt::Display for Near {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let quoted = |words: &[String]| words.iter().map(|word| format!("`{word}`")).collect::<Vec<_>>().join(", ");
        write!(f, "{} (it has {}; ", self.format, quoted(&self.has))?;
        match self.lacks.as_slice() {
            [] => f.write_str("its rows do not follow)"),
            lacks => write!(f, "lacks {})", lacks.join(", ")),
        }
    }
}

/// The `most` formats that come nearest, the nearest first; none where nothing comes near.
pub fn nearest(known: &Formats, head: &Head<'_>, most: usize) -> Vec<Near> {
    let all: Vec<(AnyFormat, String)> = known
        .own()
        .iter()
        .map(|own| (AnyFormat::Own(own.clone()), own.about().example.clone()))
        .chain(formats().filter(has_words).map(|format| (AnyFormat::Shipped(format), format.example().to_owned())))
        .collect();
    let mut known_by: BTreeMap<&str, usize> = BTreeMap::new();
    for (_, example) in &all {
        words(example).into_iter().for_each(|word| *known_by.entry(word).or_default() += 1);
    }
    let weight = |word: &str| (all.len() as f64 / *known_by.get(word).unwrap_or(&1) as f64).ln();
    let found: BTreeSet<&str> = head.lines().take(LINES).flat_map(words).collect();
    let mut near: Vec<(f64, Near)> = all
        .iter()
        .filter_map(|(format, example)| {
            let lines = example.lines().filter_map(|line| like(line, &found, &weight));
            let (score, has, lacks) = lines.max_by(|a, b| a.0.total_cmp(&b.0))?;
            let told = self::lacks(format, head);
            let lacks = if told.is_empty() { lacks } else { told };
            Some((score, Near { format: format.name(), has, lacks }))
        })
        .collect();
    near.sort_by(|(a, _), (b, _)| b.total_cmp(a));
    near.into_iter().take(most).map(|(_, near)| near).collect()
}

/// Lines or words that a text lacks to be recognised as the format; empty where that is unknown.
pub fn lacks(format: &AnyFormat, head: &Head<'_>) -> Vec<String> {
    match format {
        AnyFormat::Shipped(format) => shipped::named(format.name).map_or_else(Vec::new, |own| own.lacks(head)),
        AnyFormat::Own(format) => format.lacks(head),
        AnyFormat::Hosts(_) => Vec::new(),
    }
}

/// Whether a format has distinctive words: one that carries anything, or the outputs of others, has not.
fn has_words(format: &&'static Format) -> bool {
    format.family != Family::Generic && !hosts::FORMATS.iter().any(|other| other.name == format.name)
}

/// How much a text with the words `found` is like a line of an example: a score, words that it has and those that it lacks.
fn like(line: &str, found: &BTreeSet<&str>, weight: &dyn Fn(&str) -> f64) -> Option<(f64, Vec<String>, Vec<String>)> {
    let (has, lacks): (Vec<&str>, Vec<&str>) = words(line).into_iter().partition(|word| found.contains(word));
    let sum = |words: &[&str]| words.iter().map(|word| weight(word)).sum::<f64>();
    let (of_it, of_all) = (sum(&has), sum(&has) + sum(&lacks));
    if has.len() < FEWEST_WORDS || of_it < LEAST_SHARE * of_all {
        return None;
    }
    let heaviest = |words: &[&str]| -> Vec<String> {
        let mut words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
        words.sort_by(|a, b| weight(b).total_cmp(&weight(a)));
        words.truncate(NAMED);
        words
    };
    let lacks = heaviest(&lacks).iter().map(|word| format!("`{word}`")).collect();
    Some((of_it * of_it / of_all, heaviest(&has), lacks))
}

/// The words of a text that are no numbers, each once.
fn words(text: &str) -> BTreeSet<&str> {
    fn bare(word: &str) -> &str {
        word.trim_matches(|c: char| !c.is_alphanumeric() && c != '%' && c != '/')
    }
    let says = |word: &&str| {
        let letters = word.chars().filter(|c| c.is_alphabetic()).count();
        letters >= 2 && !word.starts_with(|c: char| c.is_ascii_digit())
    };
    text.split_whitespace().map(bare).filter(says).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &str) -> Vec<Near> {
        nearest(&Formats::default(), &Head { text }, 3)
    }

    #[test]
    fn what_a_text_lacks_to_be_a_format_is_named() {
        let near =
            of("Transactions:\t\t 1147 hits\nElapsed time:\t\t 1.66 secs\nTransaction rate:\t 690.96 trans/sec\n");
        assert_eq!(near[0].format, "siege", "{near:?}");
        assert_eq!(near[0].lacks, ["a line `availability: …`"]);
        assert!(near[0].to_string().starts_with("siege (it has `"), "{}", near[0]);
        // One column has another name: what is known by its words in Rust.
        let near = of("Device tps kB_reed/s kB_wrtn/s kB_dscd/s kB_read kB_wrtn kB_dscd\nsda 1.0 2.0 3.0 4.0 5 6 7\n");
        assert_eq!(near[0].format, "iostat", "{near:?}");
        assert!(near[0].lacks.contains(&"`kB_read/s`".to_owned()), "{near:?}");
    }

    #[test]
    fn prose_comes_near_to_nothing() {
        for text in [
            "Dear all,\nplease find below what we have agreed on in the meeting of last Tuesday.\nBest regards\n",
            "# a comment\n[section]\nkey = 1\n",
            "",
            "1 2 3\n4 5 6\n",
        ] {
            assert_eq!(of(text), [], "{text}");
        }
    }
}
