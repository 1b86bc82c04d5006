//! Formats that are described in TOML, shipped ones and those of a store; and rows as a store's programs print them.
//!
//! `document.rs` reads TOML strictly. Its content becomes rules: `compile.rs` for patterns of lines, `results.rs` for
//! results of runs, `report.rs` for tables below headers, `documents.rs` for JSON; `goal.rs` parses where a value goes. `read.rs` and `tables.rs` read texts by
//! them. Nothing here opens a file: the caller with a store hands in texts. `docs/own-formats.md` describes the file.

pub mod check;
mod coded;
mod compile;
mod document;
mod documents;
pub mod draft;
mod each;
mod explain;
mod filled;
mod goal;
mod json_rows;
mod objects;
mod read;
mod recognise;
mod report;
mod results;
mod samples;
pub(crate) mod shipped;
mod tables;
#[cfg(test)]
pub(crate) mod tests;
mod timing;
mod unit;
mod value;
pub(crate) mod words;

use super::{About, Head, Input, Out, OwnFormat, Sure, any, line_rule::LineRule};
pub(crate) use coded::{Classes, Coded};
use compile::Rules;
pub use document::Wrong;
pub(crate) use document::{Keys, Source};
use documents::Json;
pub(crate) use goal::{Goal, place_of};
pub use json_rows::JsonRows;
use recognise::{Compile, Recognise};
use report::Report;
pub(crate) use unit::Per;

/// The longest file of a format.
const MOST_BYTES: usize = 1 << 20;

/// A format that a file describes.
#[derive(Debug)]
pub struct TextFormat {
    about: About,
    recognise: Option<Recognise>,
    rules: Option<Rules>,
    report: Option<Report>,
    document: Option<Json>,
    coded: Option<Coded>,
}

impl TextFormat {
    /// The format called `name` that `text`, the content of `file`, describes; `digest` is of that content.
    ///
    /// # Errors
    /// When anything in it cannot be used: with the line, what was expected, and what to do.
    pub fn parse(name: &str, file: &str, text: &str, digest: &str) -> Result<TextFormat, Wrong> {
        let source = Source { file, text };
        if let Some(why) = any::wrong_name(name) {
            return Err(source.wrong(0, why));
        }
        if text.len() > MOST_BYTES {
            return Err(source.wrong(0, format!("it is longer than {MOST_BYTES} bytes; write a program instead")));
        }
        let format = TextFormat::described(name, file, text, digest)?;
        if let Some(text) = format.recognise.as_ref().and_then(Recognise::claims_commonplace) {
            let at = text.lines().next().unwrap_or_default();
            let why = format!(
                "[recognise] would also take a text that begins `{at}`, which many programs print; name what only this tool does"
            );
            return Err(source.wrong(format.recognise_at(source), why));
        }
        Ok(format)
    }

    /// As [`TextFormat::parse`], for a shipped format too, whose name is known and whose text a test has checked.
    fn described(name: &str, file: &str, text: &str, digest: &str) -> Result<TextFormat, Wrong> {
        let source = Source { file, text };
        let document = source.parse()?;
        let top = compile::top(source, document.get_ref())?;
        let name = any::lasting(name);
        let about = TextFormat::outlined(&top, name, file, digest)?;
        let report = Report::read(name, &top)?;
        let json = Json::read(name, &top)?;
        let coded = Coded::read(name, &top)?;
        let whole = report.is_some() || json.is_some() || coded.is_some();
        let rules = match (top.value("line").or(top.value("pairs")), whole) {
            (None, true) => None,
            (Some(line), _) if report.is_some() || coded.is_some() => {
                let why = "a text is read by `[[table]]`, or by `[[line]]` and `[pairs]`, not by both: leave one of them away";
                return Err(source.wrong(line.span().start, why));
            }
            _ => Some(Rules::read(name, &top)?),
        };
        let recognise = TextFormat::recognised(&top, Compile::Now)?;
        let format = TextFormat { about, recognise, rules, report, document: json, coded };
        if let Some(example) = top.text("example")?
            && format.recognise.is_some()
            && format.sniff(&Head { text: example.text }) != Sure::Certain
        {
            return Err(source.wrong(example.at, "`example` is not recognised by [recognise]: one of both is wrong"));
        }
        Ok(format)
    }

    /// Description of the format, without the rules that read it.
    fn outlined(top: &Keys<'_, '_>, name: &'static str, file: &str, digest: &str) -> Result<About, Wrong> {
        let summary = top.needed("summary", "\"what prints such texts\"")?;
        let recognise = top.table("recognise", "[recognise]", recognise::KEYS)?;
        let instead_of = recognise.map(|keys| keys.text("instead_of")).transpose()?.flatten();
        Ok(About {
            name,
            file: file.to_owned(),
            digest: digest.to_owned(),
            summary: summary.text.lines().next().unwrap_or_default().trim().to_owned(),
            tables: filled::tables(top),
            example: top.text("example")?.map(|said| said.text.to_owned()).unwrap_or_default(),
            is_program: false,
            recognises: recognise.is_some(),
            instead_of: instead_of.map(|said| said.text.to_owned()),
        })
    }

    /// How its texts are recognised, if they are.
    fn recognised(top: &Keys<'_, '_>, compile: Compile) -> Result<Option<Recognise>, Wrong> {
        let pairs = top.table("pairs", "[pairs]", results::OF_PAIRS)?;
        let between = pairs.map(|pairs| pairs.text("between")).transpose()?.flatten().map_or(":", |said| said.text);
        let keys = top.table("recognise", "[recognise]", recognise::KEYS)?;
        keys.map(|keys| Recognise::read(keys, between, compile)).transpose()
    }

    /// The line of `[recognise]`, for messages.
    fn recognise_at(&self, source: Source<'_>) -> usize {
        source.text.find("[recognise]").unwrap_or(0)
    }
}

impl OwnFormat for TextFormat {
    fn about(&self) -> &About {
        &self.about
    }

    fn sniff(&self, head: &Head<'_>) -> Sure {
        self.recognise.as_ref().map_or(Sure::No, |recognise| recognise.sniff(head))
    }

    fn read(&self, input: &mut Input<'_>, out: &mut Out<'_>) {
        if let Some(coded) = &self.coded {
            return coded.run(input, out);
        }
        let is_json =
            self.rules.is_none() && self.report.is_none() || input.head().trim_start().starts_with(['{', '[']);
        match (&self.document, &self.report, &self.rules) {
            (Some(document), ..) if is_json => document.run(input, out),
            (_, Some(report), _) => tables::read(report, input, out),
            (.., Some(rules)) => read::read(rules, input, out),
            _ => {}
        }
    }
    fn rule(&self, line: &str) -> Option<LineRule> {
        self.rule_of(line)
    }

    fn lacks(&self, head: &Head<'_>) -> Vec<String> {
        self.recognise.as_ref().map_or_else(Vec::new, |recognise| recognise.missing(head))
    }
}
