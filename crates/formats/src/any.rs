//! Formats that are shipped, and those that a store brings: both recognise a text and read it.
//!
//! A shipped format is a static; one of a store is loaded when the store is used, from a file that people wrote
//! ([`TextFormat`](crate::TextFormat)) or from a program beside it. An import asks [`Formats`] for either kind.

use std::{
    collections::BTreeSet,
    fmt::Debug,
    sync::{Arc, Mutex, PoisonError},
};

use fenxi_model::Table;

use super::{
    Format, Head, Input, Out, Sure,
    detect::{of_document, surest},
    document::is_document,
    formats,
    hosts::{self, by_host, segment::read_with_rest},
    line_rule::LineRule,
};

/// A format that a store brings.
pub trait OwnFormat: Debug + Send + Sync {
    /// Description of this format.
    fn about(&self) -> &About;
    /// Whether a text that begins so is its own.
    fn sniff(&self, head: &Head<'_>) -> Sure;
    /// Reads all of the input; what it cannot read it notes.
    fn read(&self, input: &mut Input<'_>, out: &mut Out<'_>);
    /// The rule of a description that reads a line, if it is one.
    fn rule(&self, _line: &str) -> Option<LineRule> {
        None
    }
    /// Conditions that a text fails to be its own, in words, as far as they are known.
    fn lacks(&self, _head: &Head<'_>) -> Vec<String> {
        Vec::new()
    }
}

/// Description of a format that belongs to a store.
#[derive(Clone, Debug)]
pub struct About {
    /// Its name for `import --as`: its file's, without the ending.
    pub name: &'static str,
    /// Its file, as messages name it.
    pub file: String,
    /// BLAKE3 of its file, so that it is known which version of it read an input.
    pub digest: String,
    /// Summary in one line.
    pub summary: String,
    /// The tables that it fills; none for a program, which may fill any.
    pub tables: Vec<&'static Table>,
    /// A few lines of such a text; may be empty.
    pub example: String,
    /// True if it is a program.
    pub is_program: bool,
    /// True if it recognises its texts; else it reads those that it is named for.
    pub recognises: bool,
    /// The shipped format that it replaces where both recognise a text.
    pub instead_of: Option<String>,
}

/// A format of either kind.
#[derive(Clone, Debug)]
pub enum AnyFormat {
    /// A part of Fenxi.
    Shipped(&'static Format),
    /// Of a store.
    Own(Arc<dyn OwnFormat>),
    /// Outputs of several hosts in one text, some of which are of these formats of a store.
    Hosts(Vec<Arc<dyn OwnFormat>>),
}

impl AnyFormat {
    /// Its name.
    pub fn name(&self) -> &'static str {
        match self {
            AnyFormat::Shipped(format) => format.name,
            AnyFormat::Own(format) => format.about().name,
            AnyFormat::Hosts(_) => by_host::FORMAT.name,
        }
    }

    /// Reads all of the input.
    pub fn read(&self, input: &mut Input<'_>, out: &mut Out<'_>) {
        match self {
            AnyFormat::Shipped(format) => read_with_rest(format, input, out),
            AnyFormat::Own(format) => format.read(input, out),
            AnyFormat::Hosts(own) => by_host::read_among(&Formats::with(own.clone()), input, out),
        }
    }

    /// Description, if it is a store's format.
    pub fn own(&self) -> Option<&About> {
        match self {
            AnyFormat::Shipped(_) | AnyFormat::Hosts(_) => None,
            AnyFormat::Own(format) => Some(format.about()),
        }
    }

    /// The formats of a store that read by it.
    pub fn owns(&self) -> impl Iterator<Item = &About> {
        let own = match self {
            AnyFormat::Shipped(_) => &[],
            AnyFormat::Own(format) => std::slice::from_ref(format),
            AnyFormat::Hosts(own) => own.as_slice(),
        };
        own.iter().map(|format| format.about())
    }

    /// Returns true if a part of an input may be read beforehand, to learn from it. A program reads an input once, and whole.
    pub fn surveys(&self) -> bool {
        self.own().is_none_or(|about| !about.is_program)
    }
}

impl From<&'static Format> for AnyFormat {
    fn from(format: &'static Format) -> AnyFormat {
        AnyFormat::Shipped(format)
    }
}

/// All formats that an import knows: the shipped ones and those of a store.
#[derive(Clone, Debug, Default)]
pub struct Formats {
    own: Vec<Arc<dyn OwnFormat>>,
}

impl Formats {
    /// The shipped ones and `own`, of which earlier ones win.
    pub fn with(own: Vec<Arc<dyn OwnFormat>>) -> Formats {
        Formats { own }
    }

    /// Those of the store.
    pub fn own(&self) -> &[Arc<dyn OwnFormat>] {
        &self.own
    }

    /// The names of all.
    pub fn names(&self) -> impl Iterator<Item = &'static str> {
        self.own.iter().map(|format| format.about().name).chain(formats().map(|format| format.name))
    }

    /// The format called `name`.
    pub fn named(&self, name: &str) -> Option<AnyFormat> {
        let own = self.own.iter().find(|format| format.about().name == name);
        own.map(|format| AnyFormat::Own(Arc::clone(format)))
            .or_else(|| formats().find(|format| format.name == name).map(AnyFormat::Shipped))
    }

    /// The format that reads a text which begins so; None when no format claims it.
    ///
    /// A shipped format that is certain wins, unless a store's declares `instead_of`. Programs are asked last,
    /// and only about texts that no other format is certain of.
    pub fn detect(&self, head: &Head<'_>) -> Option<AnyFormat> {
        if is_document(head.text) {
            return of_document(head).map(AnyFormat::Shipped);
        }
        // Stops at the first that is certain: most texts are recognised by few of the formats.
        let shipped = surest(head, formats());
        let certain = shipped.filter(|(sure, _)| *sure == Sure::Certain).map(|(_, format)| format);
        let may = |format: &&Arc<dyn OwnFormat>| match certain {
            Some(shipped) => format.about().instead_of.as_deref() == Some(shipped.name),
            None => true,
        };
        let claims = |format: &&Arc<dyn OwnFormat>| format.about().recognises && format.sniff(head) == Sure::Certain;
        let of_kind =
            |program: bool| self.own.iter().filter(move |format| format.about().is_program == program).filter(may);
        if let Some(own) = of_kind(false).find(claims) {
            return Some(AnyFormat::Own(Arc::clone(own)));
        }
        // A shipped format may find what it looks for in the part of one host.
        let other = certain.is_some_and(|format| format.name != by_host::FORMAT.name);
        if let Some(own) = by_host::own_of(self, head, if other { 2 } else { 1 }) {
            return Some(AnyFormat::Hosts(own));
        }
        let own = of_kind(true).find(claims).map(|format| AnyFormat::Own(Arc::clone(format)));
        own.or_else(|| shipped.map(|(_, format)| AnyFormat::Shipped(format)))
    }

    /// The format of one host's part of a text, and how sure that is. No program is asked: a text may have thousands of hosts.
    pub(crate) fn detect_part(&self, head: &Head<'_>) -> Option<(Sure, AnyFormat)> {
        if is_document(head.text) {
            return None;
        }
        let shipped = surest(head, formats().filter(|format| !hosts::is_of_parts(format)));
        let certain = shipped.filter(|(sure, _)| *sure == Sure::Certain).map(|(_, format)| format.name);
        let own = self.own.iter().map(|format| (format, format.about())).find(|(format, about)| {
            let may = certain.is_none_or(|shipped| about.instead_of.as_deref() == Some(shipped));
            may && about.recognises && !about.is_program && format.sniff(head) == Sure::Certain
        });
        own.map(|(format, _)| (Sure::Certain, AnyFormat::Own(Arc::clone(format))))
            .or_else(|| shipped.map(|(sure, format)| (sure, AnyFormat::Shipped(format))))
    }
}

/// The longest name of a store's format.
const LONGEST_NAME: usize = 64;

/// Why a store's format cannot be called `name`; None when it can.
pub fn wrong_name(name: &str) -> Option<String> {
    let plain = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-';
    if name.is_empty() || name.len() > LONGEST_NAME || !name.bytes().all(plain) || name.starts_with('-') {
        return Some(format!(
            "a format's name has lower-case letters, digits and `-`, at most {LONGEST_NAME}; rename the file"
        ));
    }
    formats().any(|format| format.name == name).then(|| {
        format!(
            "`{name}` is the name of a shipped format; rename the file (`instead_of` lets it read what that one reads)"
        )
    })
}

/// The same name for as long as the process lives, which rows carry. Each name is kept once: a server that reads a store's
/// formats again and again keeps no more of them than there are names.
pub fn lasting(name: &str) -> &'static str {
    static NAMES: Mutex<BTreeSet<&'static str>> = Mutex::new(BTreeSet::new());
    let mut names = NAMES.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(known) = names.get(name) {
        return known;
    }
    let kept: &'static str = Box::leak(name.to_owned().into_boxed_str());
    names.insert(kept);
    kept
}
