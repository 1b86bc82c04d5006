//! Formats that a store brings as files: patterns of lines in TOML, compiled into rules; and rows as programs print them.
//!
//! `document.rs` reads TOML strictly, `compile.rs` turns it into rules, `read.rs` reads a text by them. Nothing here opens a
//! file: whoever has a store hands in texts. `docs/own-formats.md` describes the file.

mod compile;
mod document;
mod json_rows;
mod read;
mod recognise;
#[cfg(test)]
pub(crate) mod tests;
mod unit;
mod value;

use super::{About, Head, Input, Out, OwnFormat, Sure, any};
use compile::Rules;
use document::Source;
pub use document::Wrong;
pub use json_rows::JsonRows;
use recognise::Recognise;

/// The longest file of a format.
const MOST_BYTES: usize = 1 << 20;

/// A format whose lines a file describes by patterns.
#[derive(Debug)]
pub struct TextFormat {
    about: About,
    recognise: Option<Recognise>,
    rules: Rules,
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
        let document = source.parse()?;
        let top = compile::top(source, document.get_ref())?;
        let summary = top.needed("summary", "\"what prints such texts\"")?;
        let recognise = match top.table("recognise", "[recognise]", recognise::KEYS)? {
            Some(keys) => Some(Recognise::read(keys)?),
            None => None,
        };
        let rules = Rules::read(name, &top)?;
        let example = top.text("example")?;
        let about = About {
            name: any::lasting(name),
            file: file.to_owned(),
            digest: digest.to_owned(),
            summary: summary.text.lines().next().unwrap_or_default().trim().to_owned(),
            tables: rules.tables(),
            example: example.map(|said| said.text.to_owned()).unwrap_or_default(),
            is_program: false,
            recognises: recognise.is_some(),
            instead_of: recognise.as_ref().and_then(|recognise| recognise.instead_of.clone()),
        };
        let format = TextFormat { about, recognise, rules };
        if let Some(example) = example
            && format.recognise.is_some()
            && format.sniff(&Head { text: example.text }) != Sure::Certain
        {
            return Err(source.wrong(example.at, "`example` is not recognised by [recognise]: one of both is wrong"));
        }
        Ok(format)
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
        read::read(&self.rules, input, out);
    }
}
