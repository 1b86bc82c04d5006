//! Output of a recorded command, in the thread that records it: kept in its run, and parsed as an import would parse it.

use std::{io::Read, sync::Arc};

use fenxi_formats::{AnyFormat, Formats, Head, Hints, Input, Out, Tally};
use fenxi_model::Rows;
use fenxi_store::{IMPORT, InputEntry, OpenRun, StoreError};

use crate::{reader_thread, write::format_fact};

/// Way of reading an output.
#[derive(Clone, Debug)]
pub enum Reading {
    /// As the format among these that it looks like, if it looks like any.
    Recognised(Formats),
    /// As this format.
    As(AnyFormat),
    /// Not at all: it is only kept.
    Kept,
}

/// Keeps `content` in the run as `raw/<name>.zst`, and gives its rows, if its format is understood, to
/// `sink`. A content that is not recognised is only kept: most programs print for people.
///
/// # Errors
/// When the content cannot be read or the run cannot be written.
pub fn attach(
    open: &OpenRun,
    name: &str,
    content: Box<dyn Read + Send>,
    hints: Hints,
    reading: Reading,
    sink: &mut dyn FnMut(&mut Rows),
) -> Result<(InputEntry, Tally), StoreError> {
    let (feed, keeping) =
        reader_thread::start(content, |ending| open.raw_file(&format!("{name}{ending}")), None, Arc::default())?;
    let mut input = Input::new(feed);
    let format = match reading {
        Reading::Recognised(formats) => formats.detect(&Head { text: &input.head() }),
        Reading::As(format) => Some(format),
        Reading::Kept => None,
    };
    let tally = format.as_ref().map(|format| {
        let mut facts = Rows::new(&hints.default_host);
        facts.set_source(IMPORT);
        format.owns().for_each(|about| format_fact(about, &mut facts));
        if !facts.is_empty() {
            sink(&mut facts);
        }
        let mut out = Out::new(format.name(), hints, |rows: &mut Rows, since_boot| {
            if !since_boot {
                sink(rows);
            }
        });
        format.read(&mut input, &mut out);
        out.finish()
    });
    drop(input);
    let kept = keeping.join()?;
    let tally = tally.unwrap_or_default();
    let entry = InputEntry {
        name: name.to_owned(),
        raw: kept.raw,
        bytes: kept.bytes,
        blake3: kept.blake3,
        format: format.map(|f| f.name().to_owned()),
        tables: tally.tables.iter().map(|(table, n)| ((*table).to_owned(), *n)).collect(),
        notes: tally.notes,
        ..InputEntry::default()
    };
    Ok((entry, tally))
}
