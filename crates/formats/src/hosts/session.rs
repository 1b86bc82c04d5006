//! Outputs of several commands in one text: a shell's session (copied, or recorded by `script`), a log of `set -x`, a report
//! with a heading above each output, what `tail -n +1 *` prints of several files, or outputs of well-known tools below each other.
//!
//! The text is split at prompts with a command and at headings with a tool's name ([`prompt`](super::prompt)), and each
//! part is read in the format that recognises it. A line of `date` belongs to the output below it. A command is given to its
//! format with the output where the format makes something of it, as `vmstat 5` has the interval. Only a text of which two parts
//! at least are recognised is taken for one: a single output with a prompt above it is its own format's.

use std::collections::BTreeSet;

use jiff::civil::{Date, Time};

use super::{
    prompt::{begin, first_line},
    segment::Segment,
};
use crate::{
    AnyFormat, Family, Format, Formats, HEAD_BYTES, Head, Hints, Input, Out, Sure, When, banner, detect::surest,
    procps::load::load, stamp, survey,
};

/// Importer for sessions of a shell, script, set -x, tail of several files.
pub static FORMAT: Format = Format {
    name: "session",
    summary: "sessions of a shell, script, set -x, tail of several files: outputs of several commands in one text",
    family: Family::Generic,
    tables: fenxi_model::TABLES,
    example: "\
[root@db1 ~]# uptime
 08:19:07 up  3:22,  2 users,  load average: 0.28, 0.28, 0.48
[root@db1 ~]# free -m
               total        used        free      shared  buff/cache   available
Mem:           24105        1063       18701           8        4654       23041
Swap:              0           0           0
",
    sniff,
    read,
};

/// Text of all parts that is held in memory.
const MOST_BYTES: usize = 128 << 20;
/// Outputs that are recognised, at least.
const FEWEST: usize = 2;
/// Outputs of the beginning that are looked at to recognise the text.
const LOOKED_AT: usize = 12;

/// Splits lines by command.
#[derive(Default)]
pub(super) struct Parts {
    parts: Vec<Output>,
    /// Tool of the first line of the current output, if that is known.
    of: Option<&'static str>,
    bytes: usize,
}

/// A command and what it printed.
#[derive(Default)]
struct Output {
    /// The line of the command, with its number.
    command: Option<(u64, String)>,
    segment: Segment,
}

impl Parts {
    /// Takes a line; false when there is no room for it.
    pub(super) fn add(&mut self, number: u64, line: &str) -> bool {
        if let Some(begun) = begin(line) {
            self.open(begun.host.unwrap_or(""), Some((number, begun.command.to_owned())));
            return true;
        }
        if self.parts.is_empty() {
            self.open("", None);
        }
        if let Some((of, always)) = first_line(line) {
            if self.of.is_some_and(|current| current != of || always) {
                let time = self.parts.last_mut().and_then(|last| last.segment.take_time());
                self.open("", None);
                if let (Some((number, time)), Some(current)) = (time, self.parts.last_mut()) {
                    current.segment.add(number, &time);
                }
            }
            self.of = Some(of);
        }
        let Some(current) = self.parts.last_mut() else { return false };
        self.bytes += current.segment.add(number, line);
        self.bytes <= MOST_BYTES
    }

    /// Begins a block, which is no part of earlier lines.
    pub(super) fn begin_block(&mut self) {
        self.open("", None);
    }

    /// The formats of the first outputs that have one, and how sure they are.
    pub(super) fn known(&self, formats: &Formats, first: usize) -> impl Iterator<Item = (Sure, AnyFormat)> {
        let outputs = self.parts.iter().filter(|output| !output.is_blank()).take(first);
        outputs.filter_map(|output| output.segment.format(formats)).filter(|(sure, _)| *sure > Sure::Perhaps)
    }

    /// Begins an output. One that is only a time is put above the next one.
    fn open(&mut self, host: &str, command: Option<(u64, String)>) {
        self.of = None;
        let mut segment = Segment { host: host.to_owned(), ..Segment::default() };
        if let Some(time) = self.parts.pop_if(|last| last.is_time()) {
            segment.text = time.segment.text;
            segment.lines = time.segment.lines;
        }
        self.parts.push(Output { command, segment });
    }
}

impl Output {
    fn is_blank(&self) -> bool {
        self.segment.text.trim().is_empty()
    }

    /// Whether it is a line of `date` and nothing else.
    fn is_time(&self) -> bool {
        let mut lines = self.segment.text.lines().filter(|line| !line.trim().is_empty());
        let first = lines.next().and_then(stamp);
        lines.next().is_none() && first.is_some_and(|stamp| stamp.rest.trim().is_empty())
    }

    /// The output with its command above it, if its format reads it with fewer notes so, or learns something.
    fn with_command(self, format: &AnyFormat, hints: &Hints) -> Segment {
        let Some((number, command)) = self.command else { return self.segment };
        let with = format!("$ {command}\n{}", self.segment.text);
        let head = |text: &str| {
            let end = (0..=text.len().min(HEAD_BYTES)).rev().find(|end| text.is_char_boundary(*end)).unwrap_or(0);
            survey(format, &mut Input::new(&text.as_bytes()[..end]), hints)
        };
        let (alone, both) = (head(&self.segment.text), head(&with));
        if both.notes > alone.notes || both.rows() + both.boot_rows < alone.rows() + alone.boot_rows {
            return self.segment;
        }
        let lines = std::iter::once(number).chain(self.segment.lines).collect();
        Segment { text: with, lines, ..self.segment }
    }
}

fn sniff(head: &Head<'_>) -> Sure {
    // This distinguishes nearly all texts from a session.
    let begins = |line: &&str| begin(line).is_some() || first_line(line).is_some();
    if head.lines().filter(begins).take(FEWEST).count() < FEWEST {
        return Sure::No;
    }
    let mut parts = Parts::default();
    for (number, line) in head.text.lines().enumerate() {
        parts.add(number as u64 + 1, line);
    }
    let formats = Formats::default();
    let known: Vec<&str> = parts.known(&formats, LOOKED_AT).map(|(_, format)| format.name()).collect();
    // A format may know its own outputs with prompts between them.
    let others = || crate::formats().filter(|format| !super::is_of_parts(format));
    let is_one = || known.iter().all(|name| *name == known[0]);
    let is_anothers = || surest(head, others()).is_some_and(|(sure, _)| sure == Sure::Certain);
    Sure::Certain.when(known.len() >= FEWEST && !(is_one() && is_anothers()))
}

fn read(input: &mut Input<'_>, out: &mut Out<'_>) {
    let mut parts = Parts::default();
    input.each_line(|number, line| {
        if !parts.add(number, line) {
            out.unknown(number, line, "beyond the limit of what is held in memory");
        }
    });
    read_outputs(parts, FORMAT.name, out);
}

/// Reads each output of a text of the format called `source`.
pub(super) fn read_outputs(parts: Parts, source: &'static str, out: &mut Out<'_>) {
    if let Some(host) = only_host(&parts.parts) {
        out.set_host(&host);
    }
    if let Some((date, time)) = dated(&parts.parts) {
        out.date_is(date, time);
    }
    let formats = Formats::default();
    for output in parts.parts {
        if output.is_blank() {
            continue;
        }
        match output.segment.format(&formats) {
            Some((sure, format)) if sure > Sure::Perhaps => {
                let Segment { host, text, lines } = output.with_command(&format, out.hints());
                out.anchor();
                out.begin_part(format.name(), &host, lines);
                format.read(&mut out.part(Input::new(text.as_bytes())), out);
                out.end_part(source);
            }
            _ => not_known(&output, out),
        }
    }
}

/// The one host that prompts and headers of sysstat name: outputs that name none are of it, too.
fn only_host(outputs: &[Output]) -> Option<String> {
    let mut hosts = BTreeSet::new();
    for output in outputs {
        hosts.extend(Some(output.segment.host.clone()).filter(|host| !host.is_empty()));
        hosts.extend(output.segment.text.lines().filter_map(banner).map(|banner| banner.host.to_owned()));
    }
    hosts.pop_first().filter(|_| hosts.is_empty())
}

/// Date of the first output that has one, and the first time of day beside it: outputs that have no date are of that one.
fn dated(outputs: &[Output]) -> Option<(Date, Option<Time>)> {
    let lines = || outputs.iter().flat_map(|output| output.segment.text.lines());
    let date = lines().find_map(|line| match (banner(line), stamp(line).map(|stamp| stamp.when)) {
        (Some(banner), _) => Some(banner.date),
        (None, Some(When::Civil(when, _))) => Some(when.date()),
        _ => None,
    })?;
    let time = lines().filter(|line| line.contains("load average")).find_map(|line| load(line)?.time);
    Some((date, time))
}

/// Reports what was not read.
fn not_known(output: &Output, out: &mut Out<'_>) {
    let mut lines = output.segment.text.lines().zip(&output.segment.lines).filter(|(line, _)| !line.trim().is_empty());
    let Some((line, number)) = lines.next() else { return };
    let why = match &output.command {
        Some((_, command)) if !command.is_empty() => format!("nothing that is recognised below `{command}`"),
        _ => "nothing that is recognised".to_owned(),
    };
    out.unknown(*number, line, &why);
}
