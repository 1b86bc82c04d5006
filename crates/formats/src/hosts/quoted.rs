//! Documents that quote outputs: issues and notes in Markdown, messages with an answer below each `> `, tickets with `{noformat}`,
//! pages with `<pre>`.
//!
//! Quoted text is read as a session is, each block by itself; the text around it is one note. Only a document of which
//! a format recognises a block with certainty is taken for one: configuration, sources and commands are quoted as well.

use std::borrow::Cow;

use super::session::{Parts, read_outputs};
use crate::{
    Family, Format, Formats, Head, Input, Out, Sure,
    document::{is_document, is_source},
};

/// Importer for Markdown, mail, tickets and pages that quote outputs.
pub static FORMAT: Format = Format {
    name: "quoted",
    summary: "Markdown, mail, tickets and pages that quote outputs: blocks between ``` or ~~~, lines behind >, {noformat}, <pre>",
    family: Family::Generic,
    tables: fenxi_model::TABLES,
    example: "\
The machine is slow since the upgrade:

```
procs -----------memory---------- ---swap-- -----io---- -system-- ------cpu-----
 r  b   swpd   free   buff  cache   si   so    bi    bo   in   cs us sy id wa st
 1  0      0 401348  84120 812344    0    0    12   134  512  901 12  3 84  1  0
 2  0      0 401300  84120 812344    0    0    12   134  512  901 22  3 74  1  0
```
",
    sniff,
    read,
};

/// Blocks of the beginning that are looked at.
const LOOKED_AT: usize = 24;
/// Marks of replies in front of a line that are taken off.
const DEEPEST: usize = 4;
/// Fence on a separate line that begins and ends a block.
const MARKS: &[(&str, &str)] =
    &[("{noformat", "{noformat}"), ("{code", "{code}"), ("[code", "[/code]"), ("<pre", "</pre>")];

/// Position of a line in a document.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
enum Within {
    /// Between blocks.
    #[default]
    Prose,
    /// Behind so many of this mark, indented by so much.
    Fence(u8, usize, usize),
    /// Behind one of [`MARKS`].
    Mark(usize),
    /// Among lines of a reply that are in no other block.
    Reply,
}

/// Role of a line.
#[derive(Debug, PartialEq)]
enum Line<'a> {
    Prose,
    /// It begins a block, of which this is the first line if any.
    Begins(Option<Cow<'a, str>>),
    /// It is one of a block.
    Quoted(Cow<'a, str>),
    /// A fence: a block begins or ends.
    Mark,
}

/// Detects quoted blocks, line by line.
#[derive(Default)]
struct Quotes {
    within: Within,
    /// Marks of replies in front of the last line.
    depth: usize,
}

impl Quotes {
    fn line<'a>(&mut self, line: &'a str) -> Line<'a> {
        let (depth, text) = reply(line);
        if depth != self.depth {
            (self.depth, self.within) = (depth, Within::Prose);
        }
        match self.within {
            Within::Fence(mark, most, indent) => {
                if fence(text).is_some_and(|(m, n, _, rest)| m == mark && n >= most && rest.is_empty()) {
                    self.within = Within::Prose;
                    Line::Mark
                } else {
                    Line::Quoted(dedent(text, indent).into())
                }
            }
            Within::Mark(at) => match text.split_once(MARKS[at].1) {
                Some((last, _)) => {
                    self.within = Within::Prose;
                    let last = last.strip_suffix("</code>").unwrap_or(last);
                    if last.trim().is_empty() { Line::Mark } else { Line::Quoted(plain(at, last)) }
                }
                None => Line::Quoted(plain(at, text)),
            },
            _ => self.outside(text),
        }
    }

    /// A line that is in no block, or of a reply.
    fn outside<'a>(&mut self, text: &'a str) -> Line<'a> {
        if let Some((mark, n, indent, rest)) = fence(text) {
            self.within = Within::Fence(mark, n, indent);
            // An output may begin behind the mark; a single word is a language.
            return if rest.contains(' ') { Line::Begins(Some(rest.into())) } else { Line::Begins(None) };
        }
        let trimmed = text.trim_start();
        for (at, (begin, end)) in MARKS.iter().enumerate() {
            let Some(behind) = trimmed.strip_prefix(begin) else { continue };
            let Some((_, first)) = behind.split_once(['}', ']', '>']) else { continue };
            if first.contains(end) {
                break;
            }
            self.within = Within::Mark(at);
            let first = match first.strip_prefix("<code").and_then(|rest| rest.split_once('>')) {
                Some((_, first)) => first,
                None => first,
            };
            return Line::Begins(Some(plain(at, first)).filter(|first| !first.trim().is_empty()));
        }
        if self.depth > 0 {
            let begins = self.within != Within::Reply;
            self.within = Within::Reply;
            return if begins { Line::Begins(Some(text.into())) } else { Line::Quoted(text.into()) };
        }
        self.within = Within::Prose;
        Line::Prose
    }
}

/// How many marks of replies stand in front of a line, and what follows them.
fn reply(line: &str) -> (usize, &str) {
    let (mut depth, mut rest) = (0, line);
    while depth < DEEPEST
        && let Some(behind) =
            rest.strip_prefix('>').filter(|behind| behind.is_empty() || behind.starts_with([' ', '>']))
    {
        (depth, rest) = (depth + 1, behind.strip_prefix(' ').unwrap_or(behind));
    }
    (depth, rest)
}

/// The mark of a fence, how many there are of it, its indentation, and what follows.
fn fence(line: &str) -> Option<(u8, usize, usize, &str)> {
    let text = line.trim_start();
    let mark = *text.as_bytes().first().filter(|mark| matches!(mark, b'`' | b'~'))?;
    let n = text.bytes().take_while(|byte| *byte == mark).count();
    let rest = text[n..].trim();
    (n >= 3 && !rest.contains('`')).then_some((mark, n, line.len() - text.len(), rest))
}

/// A line without so many blanks in front, as far as it has them.
fn dedent(line: &str, indent: usize) -> &str {
    if indent > 0 && line.starts_with('\t') {
        return &line[1..];
    }
    let blanks = line.bytes().take(indent).take_while(|byte| *byte == b' ').count();
    &line[blanks..]
}

/// A line of a block behind one of [`MARKS`]; in pages some characters are written as names.
fn plain(mark: usize, text: &str) -> Cow<'_, str> {
    if !MARKS[mark].0.starts_with('<') || !text.contains('&') {
        return text.into();
    }
    let names = [("&lt;", "<"), ("&gt;", ">"), ("&quot;", "\""), ("&#39;", "'"), ("&nbsp;", " "), ("&amp;", "&")];
    names.iter().fold(text.to_owned(), |text, (name, character)| text.replace(name, character)).into()
}

/// Whether a text can be a document that quotes something: most texts have none of the marks.
fn may_quote(text: &str) -> bool {
    let has = |mark: &str| memchr::memmem::find(text.as_bytes(), mark.as_bytes()).is_some();
    let first = |mark: &str| text.trim_start().starts_with(mark);
    ["```", "~~~", "\n>", "{noformat", "{code", "[code", "<pre"].iter().any(|mark| has(mark)) || first(">")
}

fn sniff(head: &Head<'_>) -> Sure {
    // Text that is no document is a reply and nothing else, or a format's own.
    if !may_quote(head.text) || is_source(head.text) || !(head.first().starts_with('>') || is_document(head.text)) {
        return Sure::No;
    }
    let (mut quotes, mut parts) = (Quotes::default(), Parts::default());
    for (number, line) in head.text.lines().enumerate() {
        add(&mut parts, &mut quotes, number as u64 + 1, line);
    }
    let formats = Formats::default();
    Sure::Certain.when(parts.known(&formats, LOOKED_AT).any(|(sure, _)| sure == Sure::Certain))
}

/// Adds a line to its block. Returns whether it is prose, and whether there was room for it.
fn add(parts: &mut Parts, quotes: &mut Quotes, number: u64, line: &str) -> (bool, bool) {
    let fits = match quotes.line(line) {
        Line::Prose => return (!line.trim().is_empty(), true),
        Line::Mark => true,
        Line::Begins(first) => {
            parts.begin_block();
            first.is_none_or(|first| parts.add(number, &first))
        }
        Line::Quoted(text) => parts.add(number, &text),
    };
    (false, fits)
}

fn read(input: &mut Input<'_>, out: &mut Out<'_>) {
    let (mut quotes, mut parts) = (Quotes::default(), Parts::default());
    let mut prose: Option<(u64, u64, String)> = None;
    input.each_line(|number, line| {
        let (is_prose, fits) = add(&mut parts, &mut quotes, number, line);
        if !fits {
            out.unknown(number, line, "beyond the limit of what is held in memory");
        }
        if is_prose {
            prose.get_or_insert_with(|| (0, number, line.to_owned())).0 += 1;
        }
    });
    if let Some((lines, number, first)) = prose {
        let what = if lines == 1 { "a line of text is".to_owned() } else { format!("{lines} lines of text are") };
        out.unknown(number, &first, &format!("{what} around the outputs, the first"));
    }
    read_outputs(parts, FORMAT.name, out);
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The lines of blocks, each block begun by `|`.
    fn blocks(text: &str) -> String {
        let mut quotes = Quotes::default();
        let mut all = String::new();
        for line in text.lines() {
            match quotes.line(line) {
                Line::Prose | Line::Mark => {}
                Line::Begins(first) => all.extend(["|", &first.unwrap_or_default()]),
                Line::Quoted(text) => all.extend([";", &text]),
            }
        }
        all
    }

    #[test]
    fn blocks_are_found_in_every_form() {
        for (text, expected) in [
            ("a\n```\n b\nc\n```\nd", "|; b;c"),
            ("a\n~~~text\nb\n```\n~~~\nd", "|;b;```"),
            ("1. a\n   ```sh\n   $ b\n    c\n   ```", "|;$ b; c"),
            ("````\n```\n````", "|;```"),
            ("```procs -- x\nb\n```", "|procs -- x;b"),
            ("> a\n> b\n\n> c", "|a;b|c"),
            ("> ```\n> a\n> ```\nb", "|;a"),
            (">> a\n> b", "|a|b"),
            ("a\n\n    b\n      c\n", ""),
            ("{noformat}\na\n{noformat}\nb", "|;a"),
            ("{code:title=x}\na\n{code}", "|;a"),
            ("<pre><code class=\"y\">a\nb</code></pre>", "|a;b"),
            ("<pre class=\"x\"><code>a &lt; b\nc</code></pre>\nd", "|a < b;c"),
            ("`a` and ```b``` and <pre>c</pre>", ""),
        ] {
            assert_eq!(blocks(text), expected, "{text}");
        }
    }
}
