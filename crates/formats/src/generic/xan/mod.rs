//! `.xan`: tables in sections, as Xanadu, Fenxi and Faban read and write them.
//!
//! Cells are separated by a tab or by two blanks or more. The first column is the time when it looks
//! like one (a date, a time of day, or a number under a header such as `Time (s)`); otherwise it
//! labels the row. Further columns with numbers become metrics called as their header, those with
//! words become labels. Rows without any number are facts.
//!
//! A section with a chart definition (`Display:`, `Plot:`) is kept as a question.

mod detail;
mod question;
mod section;
#[cfg(test)]
mod tests;

use fenxi_model::catalog::{histogram, load};

use crate::{Family, Format, Head, Input, Out, Sure};
use detail::Detail;
use section::{Reader, Section};

/// Importer for .xan tables of Xanadu, Fenxi and Faban.
pub static FORMAT: Format = Format {
    name: "xan",
    summary: ".xan tables of Xanadu, Fenxi and Faban: detail.xan, vmstat.xan.HOST and any other",
    family: Family::Generic,
    tables: &[&load::TABLE, &histogram::TABLE],
    example: "\
Title: Cache bench

Section: Throughput
Display: Line
Time  GET ops/s  SET ops/s
----  ---------  ---------
0     10211.5    988.0
",
    sniff,
    read,
};

fn sniff(head: &Head<'_>) -> Sure {
    Sure::Certain.when(head.first().starts_with("Title:") && head.any(|line| line.starts_with("Section:")))
}

fn read(input: &mut Input<'_>, out: &mut Out<'_>) {
    let mut reader = Reader::new(out);
    while input.line().is_some() {
        line(&mut reader, input.number(), input.text(), out);
    }
    reader.end_section(out);
    reader.detail.flush(out);
}

fn line(reader: &mut Reader, number: u64, line: &str, out: &mut Out<'_>) {
    let text = line.trim();
    if text.is_empty() || text.starts_with('#') {
        return;
    }
    if let Some(title) = text.strip_prefix("Title:") {
        reader.end_section(out);
        reader.detail = Detail::of(title.trim(), out);
        title.trim().clone_into(&mut reader.title);
    } else if let Some(name) = text.strip_prefix("Section:") {
        reader.end_section(out);
        reader.begin_section(Section::new(name.trim()), out);
    } else if reader.section.headers.is_empty() && reader.section.describe(text) {
    } else if text.starts_with('-') && !reader.section.is_row(text) {
        // Dashes under a header, and what Xanadu and Fenxi take for a comment.
    } else if reader.section.headers.is_empty() {
        reader.header(text);
    } else {
        reader.row(number, text, out);
    }
}
