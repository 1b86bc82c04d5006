//! Shipped formats that are described: each is one file in `formats/FAMILY/` and one line here. They are written in the language
//! of a store's own formats, and are read when they are first asked.

use std::sync::OnceLock;

use super::TextFormat;
use crate::{Family, Format, Head, Input, Out, OwnFormat, Sure};

/// A description that is part of Fenxi.
struct Shipped {
    name: &'static str,
    text: &'static str,
    read: OnceLock<Option<TextFormat>>,
}

impl Shipped {
    /// None where the text is wrong, which a test excludes.
    fn format(&self) -> Option<&TextFormat> {
        self.read.get_or_init(|| TextFormat::described(self.name, self.name, self.text, "").ok()).as_ref()
    }

    fn sniff(&self, head: &Head<'_>) -> Sure {
        self.format().map_or(Sure::No, |format| format.sniff(head))
    }

    fn run(&self, input: &mut Input<'_>, out: &mut Out<'_>) {
        if let Some(format) = self.format() {
            OwnFormat::read(format, input, out);
        }
    }
}

/// A description, and how [`Format`] asks it.
struct Entry {
    folder: &'static str,
    family: Family,
    shipped: &'static Shipped,
    sniff: fn(&Head<'_>) -> Sure,
    read: fn(&mut Input<'_>, &mut Out<'_>),
}

macro_rules! described {
    ($($folder:literal of $family:ident: $($name:literal),+;)+) => {
        static ENTRIES: &[Entry] = &[$($({
            static SHIPPED: Shipped = Shipped {
                name: $name,
                text: include_str!(concat!("../../../../formats/", $folder, "/", $name, ".toml")),
                read: OnceLock::new(),
            };
            Entry {
                folder: $folder,
                family: Family::$family,
                shipped: &SHIPPED,
                sniff: |head| SHIPPED.sniff(head),
                read: |input, out| SHIPPED.run(input, out),
            }
        }),+),+];
    };
}

described! {
    "sysstat" of Linux: "cifsiostat", "cifsiostat-json", "tapestat", "tapestat-json";
    "linux" of Linux: "kubectl-top", "numactl";
    "unix" of Unix: "solaris-vmstat", "bsd-vmstat", "aix-vmstat", "aix-lparstat", "hpux-vmstat";
    "load" of Load: "ab", "siege", "h2load", "httperf", "sockperf";
}

/// The described formats of a folder, as formats like any other.
pub(crate) fn of(folder: &str) -> impl Iterator<Item = &'static Format> {
    ENTRIES.iter().filter(move |entry| entry.folder == folder).filter_map(|entry| {
        let about = entry.shipped.format()?.about();
        let format = Format {
            name: entry.shipped.name,
            summary: &about.summary,
            family: entry.family,
            tables: &about.tables,
            example: &about.example,
            sniff: entry.sniff,
            read: entry.read,
        };
        Some(&*Box::leak(Box::new(format)))
    })
}

/// The described format called `name`.
pub(super) fn named(name: &str) -> Option<&'static TextFormat> {
    ENTRIES.iter().find(|entry| entry.shipped.name == name)?.shipped.format()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_shipped_description_is_right_and_no_ordinary_text_is_its_own() {
        for entry in ENTRIES {
            let shipped = entry.shipped;
            if let Err(wrong) = TextFormat::described(shipped.name, shipped.name, shipped.text, "") {
                panic!("formats/{}/{wrong}", entry.folder);
            }
            let claims = |text: &&str| (entry.sniff)(&Head { text }) != Sure::No;
            assert_eq!(super::super::recognise::COMMONPLACE.iter().find(|text| claims(text)), None, "{}", shipped.name);
        }
    }
}
