//! Formats of stores: damaged descriptions are compiled and read whole texts, damaged texts are read by whole descriptions, and
//! damaged lines are taken for rows of programs.

use std::{path::Path, rc::Rc, sync::Arc};

use anyhow::{Result, bail};
use fenxi_formats::{AnyFormat, Formats as Registry, Head, Hints, Input, JsonRows, Out, TextFormat};
use fenxi_model::{Micros, Random};

use crate::Reader;

/// The formats among the fixtures.
pub struct Formats {
    descriptions: Vec<String>,
    texts: Vec<Vec<u8>>,
    formats: Vec<AnyFormat>,
}

/// Rows as programs print them.
const JSON: &str = r#"{"table": "disk", "t": "2026-11-21T14:00:00Z", "dt": 10, "host": "db1", "device": "sda", "reads_per_s": 1.5}
{"table": "metric", "t": 1795271753.5, "name": "q", "labels": {"pool": "a", "n": 3}, "value": 4}
{"table": "result", "name": "tps", "value": 12, "better": "higher"}
{"table": "process", "t": 1795271753, "pid": 12, "comm": "x"}
{"note": "no such disk", "line": 7}
"#;

impl Formats {
    /// Reads them from their folder below `fixtures`.
    pub fn read(fixtures: &Path) -> Result<Formats> {
        let (mut descriptions, mut texts, mut formats) = (Vec::new(), Vec::new(), Vec::new());
        for entry in fs_err::read_dir(fixtures.join("own"))? {
            let path = entry?.path();
            if path.extension().is_some_and(|ending| ending == "txt") {
                texts.push(fs_err::read(path)?);
            } else if path.extension().is_some_and(|ending| ending == "toml") {
                let text = fs_err::read_to_string(path)?;
                formats.push(AnyFormat::Own(Arc::new(TextFormat::parse("fuzzed", "fuzzed.toml", &text, "")?)));
                descriptions.push(text);
            }
        }
        if formats.is_empty() {
            bail!("{}: no formats of stores; run it from the top of the repository", fixtures.display());
        }
        Ok(Formats { descriptions, texts, formats })
    }

    /// The inputs to damage.
    pub fn seeds(&self) -> Vec<Vec<u8>> {
        let descriptions = self.descriptions.iter().map(|text| text.clone().into_bytes());
        descriptions.chain(self.texts.iter().cloned()).chain([JSON.as_bytes().to_vec()]).collect()
    }
}

/// Name and reader of an input: as a description, as a text, or as rows.
pub fn reader(formats: Rc<Formats>, random: &mut Random) -> (&'static str, Reader) {
    let (text, format) = (random.below(formats.texts.len()), random.below(formats.formats.len()));
    match random.below(5) {
        0 | 1 => ("own-description", Box::new(move |bytes| described(&formats, bytes, text))),
        2 | 3 => ("own-text", Box::new(move |bytes| read(&formats.formats[format], bytes))),
        _ => ("own-rows", Box::new(rows)),
    }
}

/// Reads a text by a description, if that is one.
fn described(formats: &Formats, description: &[u8], text: usize) -> u64 {
    let description = String::from_utf8_lossy(description);
    match TextFormat::parse("fuzzed", "fuzzed.toml", &description, "") {
        Ok(format) => {
            let format: Arc<TextFormat> = Arc::new(format);
            let known = Registry::with(vec![format.clone()]);
            let text = &formats.texts[text];
            known.detect(&Head { text: &String::from_utf8_lossy(text) });
            read(&AnyFormat::Own(format), text)
        }
        Err(error) => {
            assert!(error.line >= 1 && !error.what.is_empty(), "an error says where and what");
            0
        }
    }
}

fn hints() -> Hints {
    Hints { modified: Micros::parse("2026-01-02T03:04:05"), ..Hints::none("fuzz") }
}

fn read(format: &AnyFormat, bytes: &[u8]) -> u64 {
    let mut n = 0;
    let mut out = Out::new(format.name(), hints(), |rows, _| n += rows.take().len() as u64);
    format.read(&mut Input::new(bytes), &mut out);
    out.finish();
    n
}

fn rows(bytes: &[u8]) -> u64 {
    let mut n = 0;
    let mut out = Out::new("fuzzed", hints(), |rows, _| n += rows.take().len() as u64);
    let mut rows = JsonRows::new(&out);
    for line in bytes.split(|b| *b == b'\n') {
        rows.line(&String::from_utf8_lossy(line), &mut out);
    }
    out.finish();
    n
}
