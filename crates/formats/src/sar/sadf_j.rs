//! `sadf -j`: JSON with an object for each interval, read one interval at a time.

use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, Error as _, IgnoredAny, MapAccess, SeqAccess, Visitor};

use super::{
    moment::{Events, Moments, interval},
    sample::{Elements, Leaf, Pairs, TimeParts},
    sar,
    section::Section,
    write::When,
};
use crate::{
    Family, Format, Head, Input, Out, Sure,
    json::{MOST_VALUES, Measured},
};

/// Importer for sadf -j of sysstat.
pub static FORMAT: Format = Format {
    name: "sadf-j",
    summary: "sadf -j of sysstat: JSON",
    family: Family::Linux,
    tables: sar::FORMAT.tables,
    example: r#"{"sysstat": {"hosts": [{"nodename": "db1", "sysname": "Linux", "file-date": "2026-11-21", "statistics": [
{"timestamp": {"date": "2026-11-21", "time": "08:10:01", "utc": 1, "interval": 600},
 "process-and-context-switch": {"proc": 3.56, "cswch": 68409.30}}]}]}}
"#,
    sniff,
    read,
};

fn sniff(head: &Head<'_>) -> Sure {
    let text = head.text;
    // iostat and mpstat begin alike, with the "date" of their run.
    Sure::Certain.when(
        text.trim_start().starts_with('{')
            && text.contains("\"sysstat\"")
            && text.contains("\"hosts\"")
            && text.contains("\"file-date\""),
    )
}

fn read(input: &mut Input<'_>, out: &mut Out<'_>) {
    let mut reader = Reader {
        moments: Moments::new(out),
        events: Events::default(),
        elements: Elements::new(),
        out,
        pairs: Vec::new(),
    };
    let mut document = serde_json::Deserializer::from_reader(std::io::BufReader::new(Measured::new(input.bytes())));
    let end = Level::Document.deserialize(&mut reader, &mut document);
    reader.elements.flush(reader.out);
    if let Err(error) = end {
        out.note(None, &format!("the JSON document breaks off: {error}"));
    }
}

struct Reader<'a, 'o> {
    moments: Moments,
    events: Events,
    elements: Elements,
    out: &'a mut Out<'o>,
    pairs: Pairs,
}

/// A piece of the document, small enough to be held.
#[derive(Clone, Debug)]
enum Node {
    Leaf(Leaf),
    List(Vec<Node>),
    Map(Vec<(String, Node)>),
}

/// The place of a value in the document.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Level {
    /// Objects on the way to the hosts.
    Document,
    /// The list of hosts, and each of them.
    Hosts,
    /// The intervals of a host.
    Statistics,
    /// Restarts and comments of a host.
    Events,
}

impl Level {
    fn deserialize<'de, D: Deserializer<'de>>(self, reader: &mut Reader<'_, '_>, from: D) -> Result<(), D::Error> {
        Seed { level: self, reader }.deserialize(from)
    }
}

struct Seed<'r, 'a, 'o> {
    level: Level,
    reader: &'r mut Reader<'a, 'o>,
}

impl<'de> DeserializeSeed<'de> for Seed<'_, '_, '_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<(), D::Error> {
        from.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Seed<'_, '_, '_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object or a list")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        let Seed { level, reader } = self;
        while let Some(key) = map.next_key::<String>()? {
            match (level, key.as_str()) {
                (Level::Document, "hosts") => map.next_value_seed(Seed { level: Level::Hosts, reader })?,
                (Level::Document, "sysstat") => map.next_value_seed(Seed { level, reader })?,
                (Level::Hosts, "nodename") => {
                    let host = map.next_value::<String>()?;
                    reader.elements.flush(reader.out);
                    reader.out.set_host(&host);
                }
                (Level::Hosts, "statistics") => map.next_value_seed(Seed { level: Level::Statistics, reader })?,
                (Level::Hosts, "restarts" | "comments") => {
                    map.next_value_seed(Seed { level: Level::Events, reader })?;
                }
                _ => {
                    map.next_value::<IgnoredAny>()?;
                }
            }
        }
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<(), A::Error> {
        let Seed { level, reader } = self;
        match level {
            Level::Document => return Err(A::Error::custom("a list where the report should begin")),
            Level::Hosts => while list.next_element_seed(Seed { level, reader: &mut *reader })?.is_some() {},
            Level::Statistics => {
                while let Some(node) = list.next_element_seed(NodeSeed(&mut { MOST_VALUES }))? {
                    reader.sample(&node);
                }
            }
            Level::Events => {
                while let Some(node) = list.next_element_seed(NodeSeed(&mut { MOST_VALUES }))? {
                    reader.event(&node);
                }
            }
        }
        Ok(())
    }
}

impl Reader<'_, '_> {
    /// Writes one interval.
    fn sample(&mut self, node: &Node) {
        let Node::Map(entries) = node else { return };
        let mut parts = TimeParts::default();
        if let Some((_, Node::Map(stamp))) = entries.iter().find(|(name, _)| name == "timestamp") {
            stamp.iter().for_each(|(name, value)| {
                parts.take(name, &plain(value));
            });
        }
        let Some(t) = self.moments.read(&parts.text()) else {
            // sadf writes an empty object where a data file has no interval.
            if !entries.is_empty() {
                self.out.note(None, "an interval without a time that can be read");
            }
            return;
        };
        let when = When { t, dt: interval(&parts.interval), boot: false };
        for (name, value) in entries.iter().filter(|(name, _)| name != "timestamp") {
            self.walk(when, name, value);
        }
    }

    fn walk(&mut self, when: When, name: &str, node: &Node) {
        match node {
            Node::Leaf(_) => {}
            Node::List(items) => items.iter().for_each(|item| self.walk(when, name, item)),
            Node::Map(entries) => {
                let mut pairs = std::mem::take(&mut self.pairs);
                pairs.clear();
                for (key, value) in entries {
                    match value {
                        Node::Leaf(leaf) => pairs.push((key.clone(), leaf.clone())),
                        // Reads and writes of `io` have separate objects.
                        Node::Map(parts) if Section::of_element(name).is_some() => {
                            let leaves = parts.iter().filter_map(|(key, value)| match value {
                                Node::Leaf(leaf) => Some((key.clone(), leaf.clone())),
                                _ => None,
                            });
                            pairs.extend(leaves);
                        }
                        _ => {}
                    }
                }
                if !pairs.is_empty() {
                    self.elements.write(self.out, when, name, &mut pairs);
                }
                self.pairs = pairs;
                if Section::of_element(name).is_none() {
                    entries.iter().for_each(|(key, value)| self.walk(when, key, value));
                }
            }
        }
    }

    /// Writes a restart or a comment.
    fn event(&mut self, node: &Node) {
        let Node::Map(entries) = node else { return };
        for (kind, value) in entries {
            let Node::Map(values) = value else { continue };
            let mut parts = TimeParts::default();
            let (mut cpus, mut comment) = (String::new(), String::new());
            for (name, value) in values {
                match name.as_str() {
                    "cpu_count" => cpus = format!(" ({} CPU)", plain(value)),
                    "com" => comment = plain(value),
                    _ => {
                        parts.take(name, &plain(value));
                    }
                }
            }
            match self.moments.read(&parts.text()) {
                Some(t) if kind == "boot" => self.events.add(t, "restart", &format!("LINUX RESTART{cpus}"), self.out),
                Some(t) => self.events.add(t, "comment", &comment, self.out),
                None => self.out.note(None, &format!("a {kind} without a time that can be read")),
            }
        }
    }
}

/// A leaf as text.
fn plain(node: &Node) -> String {
    match node {
        Node::Leaf(Leaf::Text(text)) => text.clone(),
        Node::Leaf(Leaf::Number(number)) => number.to_string(),
        _ => String::new(),
    }
}

struct NodeSeed<'a>(&'a mut usize);

impl<'de> DeserializeSeed<'de> for NodeSeed<'_> {
    type Value = Node;

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<Node, D::Error> {
        *self.0 = self.0.checked_sub(1).ok_or_else(|| D::Error::custom("an interval has too many parts"))?;
        from.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for NodeSeed<'_> {
    type Value = Node;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Node, A::Error> {
        let mut entries = Vec::new();
        while let Some(key) = map.next_key::<String>()? {
            entries.push((key, map.next_value_seed(NodeSeed(&mut *self.0))?));
        }
        Ok(Node::Map(entries))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Node, A::Error> {
        let mut items = Vec::new();
        while let Some(item) = list.next_element_seed(NodeSeed(&mut *self.0))? {
            items.push(item);
        }
        Ok(Node::List(items))
    }

    fn visit_str<E>(self, text: &str) -> Result<Node, E> {
        Ok(Node::Leaf(Leaf::Text(text.to_owned())))
    }

    fn visit_f64<E>(self, number: f64) -> Result<Node, E> {
        Ok(Node::Leaf(Leaf::Number(number)))
    }

    fn visit_u64<E>(self, number: u64) -> Result<Node, E> {
        Ok(Node::Leaf(Leaf::Number(number as f64)))
    }

    fn visit_i64<E>(self, number: i64) -> Result<Node, E> {
        Ok(Node::Leaf(Leaf::Number(number as f64)))
    }

    fn visit_bool<E>(self, _: bool) -> Result<Node, E> {
        Ok(Node::Leaf(Leaf::Null))
    }

    fn visit_unit<E>(self) -> Result<Node, E> {
        Ok(Node::Leaf(Leaf::Null))
    }
}
