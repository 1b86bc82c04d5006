//! JMeter's results (JTL): CSV with a line for each sample, and XML.
//!
//! A sample's time is its begin in milliseconds since 1970, or a date in the machine's zone, as
//! set by `jmeter.save.saveservice.timestamp_format`. Files without a header have JMeter's default
//! columns. Samples within samples are parts of these and are not counted again.

use fenxi_model::{
    Micros,
    catalog::{histogram, load},
};
use quick_xml::{Reader as Xml, XmlVersion, events::Event as Node};

use super::seconds::{Event, Kinds, Seconds};
use crate::{Clock, Family, Fields, Format, Head, Input, Out, Splitter, Sure, civil_date, civil_time, number};

/// Importer for JMeter.
pub static FORMAT: Format = Format {
    name: "jmeter",
    summary: "JMeter: JTL results as CSV and as XML",
    family: Family::Load,
    tables: &[&load::TABLE, &histogram::TABLE],
    example: "timeStamp,elapsed,label,responseCode,responseMessage,threadName,success,bytes,grpThreads,allThreads,Latency\n\
              1700000000123,42,Home,200,OK,Users 1-1,true,1024,1,1,41\n",
    sniff,
    read,
};

/// The place where XML shows what it is.
const FIRST_LINES: usize = 5;
/// The first place of `success` in a file without a header.
const SUCCESS: usize = 7;

const KINDS: Kinds = Kinds { errors: true, retries: false };

fn sniff(head: &Head<'_>) -> Sure {
    let is_xml = head.lines().take(FIRST_LINES).any(|line| line.contains("<testResults"));
    if is_xml || separator(head.first()).is_some() {
        return Sure::Certain;
    }
    // Without a header: time, elapsed, label, code, message, thread, type, success, ...
    let mut cells = head.first().split(',');
    let time = cells.next().is_some_and(|c| c.len() == 13 && c.bytes().all(|b| b.is_ascii_digit()));
    let elapsed = cells.next().is_some_and(|c| !c.is_empty() && c.bytes().all(|b| b.is_ascii_digit()));
    // A message may have commas.
    let success = cells.skip(SUCCESS - 2).any(|c| matches!(c, "true" | "false"));
    Sure::Likely.when(time && elapsed && success)
}

/// Separator of the columns of a header line; None when it is none.
fn separator(header: &str) -> Option<u8> {
    let at = header.find("timeStamp")?;
    let separator = *header.as_bytes().get(at + "timeStamp".len())?;
    // The times alone could be anybody's.
    let of_samples =
        ["label", "success", "responseCode", "Latency"].iter().filter(|name| header.contains(*name)).count();
    (header.contains("elapsed") && of_samples >= 2 && matches!(separator, b',' | b'\t' | b';' | b'|'))
        .then_some(separator)
}

/// Columns of a file without a header, of version 3.1 and later, of 2.4 and of earlier ones.
const DEFAULTS: [&str; 3] = [
    "timeStamp,elapsed,label,responseCode,responseMessage,threadName,dataType,success,failureMessage,bytes,sentBytes,\
     grpThreads,allThreads,URL,Latency,IdleTime,Connect",
    "timeStamp,elapsed,label,responseCode,responseMessage,threadName,dataType,success,bytes,grpThreads,allThreads,Latency",
    "timeStamp,elapsed,label,responseCode,responseMessage,threadName,dataType,success,bytes,Latency",
];
/// Columns that all of them have.
const COMMON: &str = "timeStamp,elapsed,label,responseCode,responseMessage,threadName,dataType,success";

/// Where the columns are.
struct Columns {
    time: Option<usize>,
    elapsed: Option<usize>,
    label: Option<usize>,
    success: Option<usize>,
    bytes: Option<usize>,
    threads: Option<usize>,
    count: usize,
}

impl Columns {
    fn new(header: &str, separator: u8) -> Columns {
        let names: Vec<&str> = header.trim().split(char::from(separator)).collect();
        let place = |name: &str| names.iter().position(|n| n.trim_matches('"') == name);
        Columns {
            time: place("timeStamp"),
            elapsed: place("elapsed"),
            label: place("label"),
            success: place("success"),
            bytes: place("bytes"),
            threads: place("allThreads"),
            count: names.len(),
        }
    }
}

fn read(input: &mut Input<'_>, out: &mut Out<'_>) {
    if input.head().contains("<testResults") {
        read_xml(input, out);
        return;
    }
    let first = input.head().lines().next().unwrap_or("").to_owned();
    let (columns, separator) = match separator(&first) {
        Some(separator) => {
            input.line();
            (Columns::new(&first, separator), separator)
        }
        None => {
            out.assume("JMeter's default columns, as there is no header");
            let cells = first.split(',').count();
            let header = DEFAULTS.into_iter().find(|d| d.split(',').count() == cells).unwrap_or(COMMON);
            (Columns::new(header, b','), b',')
        }
    };
    let mut samples = Samples::new(out);
    let mut splitter = Splitter::default();
    let (mut pending, mut cells) = (String::new(), String::new());
    while input.line().is_some() {
        let (number, text) = (input.number(), input.text());
        if text.trim().is_empty() || text.starts_with("timeStamp") {
            continue;
        }
        if pending.is_empty() && !text.contains('"') {
            samples.line(number, &splitter.at(text, separator), &columns, out);
            continue;
        }
        // A message may have separators and line ends within quotes.
        pending.push_str(text);
        if quoted(&pending, separator, &mut cells) {
            samples.line(number, &splitter.at(&cells, CUT), &columns, out);
        } else if pending.len() < MAX_RECORD {
            pending.push(' ');
            continue;
        } else {
            out.unknown(number, &pending, "a quote that is not closed");
        }
        pending.clear();
    }
    if !pending.is_empty() {
        out.unknown(input.number(), &pending, "a quote that is not closed");
    }
    samples.seconds.finish(out);
}

/// The longest record whose quotes are waited for.
const MAX_RECORD: usize = 1 << 20;
/// Separates cells whose quotes are gone.
const CUT: u8 = 1;

/// Puts the cells of a line with quotes into `cells`, separated by [`CUT`]; false when a quote is
/// not closed.
fn quoted(line: &str, separator: u8, cells: &mut String) -> bool {
    cells.clear();
    let mut inside = false;
    for c in line.chars() {
        match c {
            '"' => inside = !inside,
            c if c == char::from(separator) && !inside => cells.push(char::from(CUT)),
            c => cells.push(c),
        }
    }
    !inside
}

struct Samples {
    clock: Clock,
    seconds: Seconds,
}

impl Samples {
    fn new(out: &Out<'_>) -> Samples {
        let clock = Clock::new(out.hints());
        Samples { clock, seconds: Seconds::new("jmeter", 1.0, KINDS) }
    }

    fn line(&mut self, line: u64, fields: &Fields<'_>, columns: &Columns, out: &mut Out<'_>) {
        let cell = |place: Option<usize>| place.map_or("", |place| fields.get(place));
        let begin = self.moment(cell(columns.time));
        let (Some(begin), Ok(elapsed)) = (begin, cell(columns.elapsed).parse::<u64>()) else {
            let why = format!("expected a time and milliseconds in {} columns", columns.count);
            out.unknown(line, fields.rest(0), &why);
            return;
        };
        let numbers = [columns.bytes, columns.threads].map(|place| number(cell(place)));
        self.sample(begin, elapsed, cell(columns.label), cell(columns.success) != "false", numbers, out);
    }

    fn sample(
        &mut self,
        begin: Micros,
        ms: u64,
        label: &str,
        good: bool,
        [bytes, clients]: [Option<f64>; 2],
        out: &mut Out<'_>,
    ) {
        let length = i64::try_from(ms.saturating_mul(1000)).unwrap_or(i64::MAX);
        let end = Micros(begin.0.saturating_add(length));
        let operation = self.seconds.operation(label);
        let event = Event { failed: !good, bytes, clients, ..Event::done(end, ms) };
        self.seconds.add(out, operation, &event);
    }

    /// `1700000000123`, `2023/11/14 22:13:20`, `2023-11-14 22:13:20.123`
    fn moment(&mut self, text: &str) -> Option<Micros> {
        if let Ok(ms) = text.parse::<i64>() {
            return (0..100_000_000_000_000).contains(&ms).then_some(Micros(ms.saturating_mul(1000)));
        }
        let (date, time) = text.split_once([' ', 'T'])?;
        let date = civil_date(date).or_else(|| civil_date(&date.replace('/', "-")))?;
        Some(self.clock.moment(date.to_datetime(civil_time(time, None)?)))
    }
}

fn read_xml(input: &mut Input<'_>, out: &mut Out<'_>) {
    let mut samples = Samples::new(out);
    let mut failed = None;
    {
        let mut xml = Xml::from_reader(std::io::BufReader::new(input.bytes()));
        xml.config_mut().check_end_names = false;
        let mut buffer = Vec::new();
        let mut depth = 0u32;
        loop {
            buffer.clear();
            let (node, empty) = match xml.read_event_into(&mut buffer) {
                Ok(Node::Start(node)) => (node, false),
                Ok(Node::Empty(node)) => (node, true),
                Ok(Node::End(node)) => {
                    depth = depth.saturating_sub(u32::from(is_sample(node.name().as_ref())));
                    continue;
                }
                Ok(Node::Eof) => break,
                Ok(_) => continue,
                Err(e) => {
                    failed = Some(e.to_string());
                    break;
                }
            };
            if !is_sample(node.name().as_ref()) {
                continue;
            }
            if depth == 0 && !sample_of(&node, &mut samples, out) {
                out.note(None, "a sample without a time or its length");
            }
            depth = depth.saturating_add(u32::from(!empty));
        }
    }
    if let Some(why) = failed {
        out.note(None, &format!("the XML ends early: {why}"));
    }
    samples.seconds.finish(out);
}

fn is_sample(name: &[u8]) -> bool {
    matches!(name, b"sample" | b"httpSample")
}

/// Reads `<httpSample t="42" lt="41" ts="1700000000123" s="true" lb="Home" by="1024" na="4" .../>`.
fn sample_of(node: &quick_xml::events::BytesStart<'_>, samples: &mut Samples, out: &mut Out<'_>) -> bool {
    let attribute = |name: &str| {
        let found = node.try_get_attribute(name).ok()??;
        Some(found.normalized_value(XmlVersion::Implicit1_0).ok()?.into_owned())
    };
    let begin = attribute("ts").and_then(|ts| samples.moment(&ts));
    let elapsed = attribute("t").and_then(|t| t.parse::<u64>().ok());
    let (Some(begin), Some(elapsed)) = (begin, elapsed) else { return false };
    let numbers = ["by", "na"].map(|name| attribute(name).and_then(|v| number(&v)));
    let good = attribute("s").as_deref() != Some("false");
    samples.sample(begin, elapsed, attribute("lb").as_deref().unwrap_or(""), good, numbers, out);
    true
}
