//! Shipped formats that are described: each is one file in `formats/FAMILY/` and one line here. They are written in the language
//! of a store's own formats, and are read when they are first asked.

use std::sync::OnceLock;

use super::{
    TextFormat, Wrong, compile,
    document::{Keys, Source},
    recognise::{Compile, Recognise},
};
use crate::{About, Family, Format, Head, Input, Out, OwnFormat, Sure};

/// A description that is part of Fenxi. Nearly all are only asked whether a text is theirs, so that patterns of lines are compiled
/// when they are needed.
struct Shipped {
    name: &'static str,
    text: &'static str,
    about: OnceLock<Option<About>>,
    recognise: OnceLock<Option<Recognise>>,
    format: OnceLock<Option<TextFormat>>,
}

impl Shipped {
    const fn new(name: &'static str, text: &'static str) -> Shipped {
        Shipped { name, text, about: OnceLock::new(), recognise: OnceLock::new(), format: OnceLock::new() }
    }

    /// None, as below, where the text is wrong, which a test excludes.
    fn about(&self) -> Option<&About> {
        let outlined = || {
            let mut about = self.top(|top| TextFormat::outlined(top, self.name, self.name, ""))?;
            // Any format may have facts and results.
            about.tables.retain(|table| !matches!(table.name, "text" | "result"));
            Some(about)
        };
        self.about.get_or_init(outlined).as_ref()
    }

    fn format(&self) -> Option<&TextFormat> {
        self.format.get_or_init(|| TextFormat::described(self.name, self.name, self.text, "").ok()).as_ref()
    }

    fn sniff(&self, head: &Head<'_>) -> Sure {
        let recognise =
            self.recognise.get_or_init(|| self.top(|top| TextFormat::recognised(top, Compile::Later)).flatten());
        recognise.as_ref().map_or(Sure::No, |recognise| recognise.sniff(head))
    }

    /// What is made of the keys at the top.
    fn top<T>(&self, make: impl FnOnce(&Keys<'_, '_>) -> Result<T, Wrong>) -> Option<T> {
        let source = Source { file: self.name, text: self.text };
        let document = source.parse().ok()?;
        make(&compile::top(source, document.get_ref()).ok()?).ok()
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
            static SHIPPED: Shipped =
                Shipped::new($name, include_str!(concat!("../../../../formats/", $folder, "/", $name, ".toml")));
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
    "linux" of Linux: "btrfs-stats", "kubectl-top", "lscpu", "numactl", "nvidia-smi-table", "nvme-smart-log", "smartctl";
    "unix" of Unix: "solaris-vmstat", "bsd-vmstat", "aix-vmstat", "aix-lparstat", "hpux-vmstat", "solaris-iostat",
        "bsd-iostat", "hpux-iostat";
    "trace" of Trace: "go-gctrace", "pprof-top";
    "load" of Load: "ab", "bonnie", "db-bench", "dd", "ghz", "h2load", "hey", "httperf", "kafka-perf", "oha", "rados-bench", "siege", "sockperf", "stream";
    "database" of Database: "explain-analyze", "mongostat", "mysqltuner", "nodetool-tpstats", "pgbouncer", "processlist";
}

/// The described formats of a folder, as formats like any other.
pub(crate) fn of(folder: &str) -> impl Iterator<Item = &'static Format> {
    ENTRIES.iter().filter(move |entry| entry.folder == folder).filter_map(|entry| {
        let about = entry.shipped.about()?;
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
pub(crate) fn named(name: &str) -> Option<&'static TextFormat> {
    ENTRIES.iter().find(|entry| entry.shipped.name == name)?.shipped.format()
}

/// What the described format called `name` is.
pub(super) fn about(name: &str) -> Option<&'static About> {
    ENTRIES.iter().find(|entry| entry.shipped.name == name)?.shipped.about()
}

/// What the reader of a described format knows of it.
#[cfg(test)]
pub(crate) fn coded(name: &str) -> &'static super::Coded {
    named(name).and_then(|format| format.coded.as_ref()).expect("a description with a reader")
}

/// The file of the described format called `name`.
#[cfg(test)]
pub(crate) fn path(name: &str) -> Option<std::path::PathBuf> {
    let entry = ENTRIES.iter().find(|entry| entry.shipped.name == name)?;
    Some(std::path::Path::new("../../formats").join(entry.folder).join(format!("{name}.toml")))
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
