//! An input in an unknown format, in the thread that reads it: a text is kept as a fact, so that it can be asked for and compared.

use fenxi_formats::{Input, Out};

/// Bytes of a text that are kept as a fact; all of it is among the run's inputs.
const MOST: usize = 64 << 10;
/// Bytes of all texts of a run that are kept as facts.
pub(crate) const MOST_OF_RUN: usize = 16 << 20;

/// Keeps a text as the fact `file.NAME`, and reports it. What it takes is taken from `left`.
pub(crate) fn keep(name: &str, left: &mut usize, input: &mut Input<'_>, out: &mut Out<'_>) {
    if input.head_bytes().contains(&0) {
        return out.note(None, "unknown format; the file is kept as it is");
    }
    if *left < MOST {
        return out.note(None, "unknown format; the file is kept as it is, and is no fact, as there are many");
    }
    let mut text = String::new();
    let mut cut = false;
    while let Some(line) = input.line() {
        // All is read, as all of it is kept and counted.
        if cut || text.len() + line.len() > MOST {
            cut = true;
            continue;
        }
        text.push_str(line);
        text.push('\n');
    }
    *left -= text.len();
    out.fact("file", name, text.trim_end());
    out.note(
        None,
        match cut {
            true => "unknown format; the first 64 KiB are a fact, and the file is kept as it is",
            false => "unknown format; its text is a fact, and the file is kept as it is",
        },
    );
}
