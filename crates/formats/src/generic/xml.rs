//! Small XML documents, element by element, in bounded memory.

use std::io::BufReader;

use quick_xml::{
    Reader, XmlVersion,
    events::{BytesStart, Event},
};

use crate::{Input, Out};

/// How deep elements may be nested; what is deeper is skipped.
const MAX_DEPTH: usize = 64;
/// How many closed elements an element remembers.
const MAX_CHILDREN: usize = 4096;
/// The longest text of an element that is kept.
const MAX_TEXT: usize = 1 << 16;

/// An element while it is open.
#[derive(Debug, Default)]
pub(super) struct Element {
    /// Its name without a namespace.
    pub(super) name: String,
    pub(super) attributes: Vec<(String, String)>,
    /// Its own text so far.
    pub(super) text: String,
    /// The elements in it that are closed, without theirs.
    pub(super) children: Vec<Element>,
}

impl Element {
    /// The attribute called `name`; empty when there is none.
    pub(super) fn attribute(&self, name: &str) -> &str {
        self.attributes.iter().find(|(n, _)| n == name).map_or("", |(_, value)| value)
    }

    /// The text of the first element in it called `name`; empty when there is none.
    pub(super) fn child(&self, name: &str) -> &str {
        self.children.iter().find(|c| c.name == name).map_or("", Element::text)
    }

    /// Its text without blanks around it.
    pub(super) fn text(&self) -> &str {
        self.text.trim()
    }
}

/// Calls `closed` at each element's end with all open elements, the root first and it last.
///
/// XML that is broken or cut off becomes a note; what came before it has been given.
pub(super) fn walk(input: &mut Input<'_>, out: &mut Out<'_>, mut closed: impl FnMut(&[Element], &mut Out<'_>)) {
    let mut reader = Reader::from_reader(BufReader::new(input.bytes()));
    reader.config_mut().expand_empty_elements = true;
    let (mut open, mut skipped, mut buffer) = (Vec::<Element>::new(), 0usize, Vec::new());
    loop {
        buffer.clear();
        match reader.read_event_into(&mut buffer) {
            Ok(Event::Start(start)) if open.len() < MAX_DEPTH && skipped == 0 => {
                open.push(element(&start));
            }
            Ok(Event::Start(_)) => skipped += 1,
            Ok(Event::End(_)) if skipped > 0 => skipped -= 1,
            Ok(Event::End(_)) => {
                closed(&open, out);
                let element = open.pop().map(|e| Element { children: Vec::new(), ..e });
                if let Some(parent) = open.last_mut().filter(|parent| parent.children.len() < MAX_CHILDREN) {
                    parent.children.extend(element);
                }
            }
            Ok(Event::Text(text)) => append(&mut open, &String::from_utf8_lossy(&text)),
            Ok(Event::CData(text)) => append(&mut open, &String::from_utf8_lossy(&text)),
            Ok(Event::GeneralRef(reference)) => {
                let name = String::from_utf8_lossy(&reference).into_owned();
                let character = reference.resolve_char_ref().ok().flatten().map(String::from);
                let text = character.or_else(|| quick_xml::escape::resolve_predefined_entity(&name).map(str::to_owned));
                append(&mut open, &text.unwrap_or(name));
            }
            Ok(Event::Eof) => break,
            Ok(_) => {}
            Err(error) => {
                let place = reader.buffer_position();
                out.note(None, &format!("the XML breaks off or is broken at byte {place}: {error}"));
                return;
            }
        }
    }
    if !open.is_empty() {
        out.note(None, "the XML ends before its last element does");
    }
}

fn append(open: &mut [Element], text: &str) {
    if let Some(element) = open.last_mut()
        && element.text.len() + text.len() <= MAX_TEXT
    {
        element.text.push_str(text);
    }
}

fn element(start: &BytesStart<'_>) -> Element {
    let local = |name: &[u8]| String::from_utf8_lossy(name).into_owned();
    let attributes = start.attributes().flatten().map(|a| {
        let value = a.normalized_value(XmlVersion::Implicit1_0).map_or_else(|_| local(&a.value), |v| v.into_owned());
        (local(a.key.local_name().as_ref()), value)
    });
    Element {
        name: local(start.local_name().as_ref()),
        attributes: attributes.collect(),
        text: String::new(),
        children: Vec::new(),
    }
}
