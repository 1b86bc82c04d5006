//! `sadf -x`: XML with an element for each interval, read event by event.
//!
//! Figures are attributes, but for memory, where they are separate elements.

use std::io::BufReader;

use quick_xml::{
    Reader as Xml, XmlVersion,
    events::{BytesStart, Event},
};

use super::{
    moment::{Events, Moments, interval},
    sample::{Elements, Leaf, Pairs, TimeParts},
    sar,
    write::When,
};
use crate::{Family, Format, Head, Input, Out, Sure};

/// Importer for sadf -x of sysstat.
pub static FORMAT: Format = Format {
    name: "sadf-x",
    summary: "sadf -x of sysstat: XML",
    family: Family::Linux,
    tables: sar::FORMAT.tables,
    example: r#"<?xml version="1.0" encoding="UTF-8"?>
<sysstat>
<sysdata-version>3.11</sysdata-version>
<host nodename="db1"><statistics><timestamp date="2026-11-21" time="08:10:01" utc="1" interval="600">
<process-and-context-switch per="second" proc="3.56" cswch="68409.30"/>
</timestamp></statistics></host></sysstat>
"#,
    sniff,
    read,
};

fn sniff(head: &Head<'_>) -> Sure {
    let text = head.text;
    Sure::Certain
        .when(text.trim_start().starts_with('<') && text.contains("<sysstat") && text.contains("<host nodename="))
}

/// Elements whose figures are spread over the elements in them.
const GATHERED: [&str; 3] = ["memory", "hugepages", "io"];
/// The deepest nesting that is followed.
const MAX_DEPTH: usize = 64;

struct Reader<'a, 'o> {
    moments: Moments,
    events: Events,
    elements: Elements,
    out: &'a mut Out<'o>,
    when: Option<When>,
    /// Names of the elements that are open.
    open: Vec<String>,
    /// The element of [`GATHERED`] that is open: its depth and its figures.
    gathered: Option<(usize, Pairs)>,
    /// Figures of one interrupt on all its CPUs.
    interrupt: Pairs,
    pairs: Pairs,
}

fn read(input: &mut Input<'_>, out: &mut Out<'_>) {
    let mut reader = Reader {
        moments: Moments::new(out),
        events: Events::default(),
        elements: Elements::new(),
        out,
        when: None,
        open: Vec::new(),
        gathered: None,
        interrupt: Vec::new(),
        pairs: Vec::new(),
    };
    let mut xml = Xml::from_reader(BufReader::new(input.bytes()));
    let mut buffer = Vec::new();
    let end = loop {
        buffer.clear();
        match xml.read_event_into(&mut buffer) {
            Ok(Event::Start(element)) => {
                reader.start(&element);
                if reader.open.len() < MAX_DEPTH {
                    reader.open.push(name_of(&element));
                } else {
                    break Some("elements nested too deep".to_owned());
                }
            }
            Ok(Event::Empty(element)) => {
                reader.start(&element);
                reader.end(&name_of(&element), reader.open.len() + 1);
            }
            Ok(Event::End(_)) => {
                let depth = reader.open.len();
                if let Some(name) = reader.open.pop() {
                    reader.end(&name, depth);
                }
            }
            Ok(Event::Text(text)) => reader.text(&String::from_utf8_lossy(&text)),
            Ok(Event::Eof) => break (!reader.open.is_empty()).then(|| "it ends within an element".to_owned()),
            Ok(_) => {}
            Err(error) => break Some(error.to_string()),
        }
    };
    reader.flush_interrupt();
    reader.elements.flush(reader.out);
    if let Some(error) = end {
        out.note(None, &format!("the XML document breaks off: {error}"));
    }
}

fn name_of(element: &BytesStart<'_>) -> String {
    String::from_utf8_lossy(element.local_name().as_ref()).into_owned()
}

impl Reader<'_, '_> {
    fn start(&mut self, element: &BytesStart<'_>) {
        let name = name_of(element);
        let mut pairs = std::mem::take(&mut self.pairs);
        pairs.clear();
        for attribute in element.attributes().with_checks(false).flatten() {
            let key = String::from_utf8_lossy(attribute.key.local_name().as_ref()).into_owned();
            let raw = String::from_utf8_lossy(&attribute.value);
            let value = attribute
                .normalized_value(XmlVersion::Implicit1_0)
                .map_or_else(|_| raw.to_string(), |v| v.into_owned());
            // The base of a figure's rate, its unit and its start are known.
            if !matches!(key.as_str(), "per" | "unit" | "since") {
                pairs.push((key, Leaf::Text(value)));
            }
        }
        self.element(&name, &mut pairs);
        self.pairs = pairs;
    }

    fn element(&mut self, name: &str, pairs: &mut Pairs) {
        match name {
            "host" => {
                if let Some((_, Leaf::Text(host))) = pairs.iter().find(|(name, _)| name == "nodename") {
                    self.elements.flush(self.out);
                    self.out.set_host(host);
                }
            }
            "timestamp" => {
                let parts = time_parts(pairs);
                let t = self.moments.read(&parts.text());
                self.when = t.map(|t| When { t, dt: interval(&parts.interval), boot: false });
                if self.when.is_none() {
                    self.out.note(None, "an interval without a time that can be read");
                }
            }
            "boot" | "comment" => self.event(name, pairs),
            _ if GATHERED.contains(&name) => {
                self.gathered = Some((self.open.len() + 1, std::mem::take(pairs)));
            }
            _ => {
                if let Some((_, gathered)) = &mut self.gathered {
                    gathered.append(pairs);
                } else if let Some(when) = self.when.filter(|_| !pairs.is_empty()) {
                    if name == "irq" {
                        self.irq(when, pairs);
                    } else {
                        self.elements.write(self.out, when, name, pairs);
                    }
                }
            }
        }
    }

    /// Gathers the CPUs of an interrupt: each has its own element.
    fn irq(&mut self, when: When, pairs: &mut Pairs) {
        let [(intr, _), (cpu, Leaf::Text(number)), (value, _)] = &pairs[..] else {
            self.elements.write(self.out, when, "interrupts", pairs);
            return;
        };
        if (intr.as_str(), cpu.as_str(), value.as_str()) != ("intr", "cpu", "value") {
            self.elements.write(self.out, when, "interrupts", pairs);
            return;
        }
        let column = if number == "all" { number.clone() } else { format!("CPU{number}") };
        let (first, figure) = (pairs[0].clone(), pairs[2].1.clone());
        if self.interrupt.first().is_some_and(|begun| *begun != first) {
            self.flush_interrupt();
        }
        if self.interrupt.is_empty() {
            self.interrupt.push(first);
        }
        self.interrupt.push((column, figure));
    }

    fn flush_interrupt(&mut self) {
        let mut pairs = std::mem::take(&mut self.interrupt);
        if let Some(when) = self.when.filter(|_| !pairs.is_empty()) {
            self.elements.write(self.out, when, "interrupts", &mut pairs);
        }
    }

    fn text(&mut self, text: &str) {
        if let (Some((depth, pairs)), Some(name)) = (&mut self.gathered, self.open.last()) {
            let text = text.trim();
            if self.open.len() > *depth && !text.is_empty() {
                pairs.push((name.clone(), Leaf::Text(text.to_owned())));
            }
        }
    }

    fn end(&mut self, name: &str, depth: usize) {
        if self.gathered.as_ref().is_some_and(|(begun, _)| *begun == depth)
            && let Some((_, mut pairs)) = self.gathered.take()
            && let Some(when) = self.when.filter(|_| !pairs.is_empty())
        {
            self.elements.write(self.out, when, name, &mut pairs);
        }
        match name {
            "interrupts" => self.flush_interrupt(),
            "timestamp" => {
                self.flush_interrupt();
                self.when = None;
            }
            _ => {}
        }
    }

    fn event(&mut self, name: &str, pairs: &Pairs) {
        let parts = time_parts(pairs);
        let text = |wanted: &str| {
            pairs.iter().find_map(|(name, value)| match value {
                Leaf::Text(text) if name == wanted => Some(text.as_str()),
                _ => None,
            })
        };
        let Some(t) = self.moments.read(&parts.text()) else {
            self.out.note(None, &format!("a {name} without a time that can be read"));
            return;
        };
        if name == "boot" {
            let cpus = text("cpu_count").map_or(String::new(), |n| format!(" ({n} CPU)"));
            self.events.add(t, "restart", &format!("LINUX RESTART{cpus}"), self.out);
        } else {
            self.events.add(t, "comment", text("com").unwrap_or(""), self.out);
        }
    }
}

fn time_parts(pairs: &Pairs) -> TimeParts {
    let mut parts = TimeParts::default();
    for (name, value) in pairs {
        if let Leaf::Text(value) = value {
            // Old versions: `05-10-01`.
            let dashed = name == "time" && value.len() == 8 && value.matches('-').count() == 2;
            let value = if dashed { &value.replace('-', ":") } else { value };
            parts.take(name, value);
        }
    }
    parts
}
