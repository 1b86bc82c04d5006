//! `fio`: its JSON and its summary for people. Its logs are a separate format.

mod json;
pub(super) mod report;
mod text;

use fenxi_model::catalog::{disk, histogram, load};

use crate::{Family, Format, Head, Input, Out, Sure};

/// Importer for fio --output-format=json, json+ and normal, --status-interval.
pub static FORMAT: Format = Format {
    name: "fio",
    summary: "fio: --output-format=json, json+ and normal, --status-interval",
    family: Family::Load,
    tables: &[&load::TABLE, &histogram::TABLE, &disk::TABLE],
    example: "\
fio-3.33
mixed: (groupid=0, jobs=1): err= 0: pid=30056: Sat Nov 21 08:47:08 2026
  read: IOPS=499, BW=1999KiB/s (2047kB/s)(4000KiB/2001msec)
",
    sniff,
    read,
};

fn sniff(head: &Head<'_>) -> Sure {
    let json = head.text.contains("\"fio version\"");
    let text = head.any(|l| l.contains(": (groupid=") && l.contains("err=")) || head.any(|l| l.starts_with("fio-"));
    Sure::Certain.when(json || text && head.any(|l| l.contains("(groupid=") || l.contains("rw=")))
}

/// Documents beyond this are not held in memory: some hundred jobs with all their bins are 20 MB.
const MAX_BYTES: usize = 256 << 20;

fn read(input: &mut Input<'_>, out: &mut Out<'_>) {
    if !input.head().contains("\"fio version\"") {
        text::read(input, out);
        return;
    }
    match input.whole(MAX_BYTES) {
        Some(text) => json::read(&text, out),
        None => out.note(None, "the JSON document is too long"),
    }
}
