//! Shipped formats that are described: each is one file in `formats/FAMILY/` and one line here. They are written in the language
//! of a store's own formats, and are read when they are first asked.

use std::sync::OnceLock;

use super::{
    TextFormat, Wrong, compile,
    document::{Keys, Source},
    recognise::{Compile, Recognise},
};
use crate::{About, Family, Format, Head, Input, Out, OwnFormat, Sure};

/// A description that is part of Fenxi. Nearly all are only asked whether a text is theirs: of these no more is read than how they
/// recognise one, and patterns are compiled when they are needed.
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
            let mut about = self.top(self.text, |top| TextFormat::outlined(top, self.name, self.name, ""))?;
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
        let read = || {
            let parts = ["[recognise]", "[pairs]"].map(|title| part(self.text, title)).concat();
            self.top(&parts, |top| TextFormat::recognised(top, Compile::Later)).flatten()
        };
        self.recognise.get_or_init(read).as_ref().map_or(Sure::No, |recognise| recognise.sniff(head))
    }

    /// Result of `make` for the keys at the top of the text, or of a part of it.
    fn top<T>(&self, text: &str, make: impl FnOnce(&Keys<'_, '_>) -> Result<T, Wrong>) -> Option<T> {
        let source = Source { file: self.name, text };
        let document = source.parse().ok()?;
        make(&compile::top(source, document.get_ref()).ok()?).ok()
    }

    fn run(&self, input: &mut Input<'_>, out: &mut Out<'_>) {
        if let Some(format) = self.format() {
            OwnFormat::read(format, input, out);
        }
    }
}

/// The lines from one with the title to the next one with a title; empty where there is none.
fn part<'t>(text: &'t str, title: &str) -> &'t str {
    let is_title = |begin: &usize| text[..*begin].ends_with('\n') && text[begin + title.len()..].starts_with('\n');
    let Some(begin) = text.match_indices(title).map(|(begin, _)| begin).find(is_title) else { return "" };
    let rest = &text[begin..];
    rest.find("\n[").map_or(rest, |end| &rest[..=end])
}

/// A description, and the format that it is.
struct Entry {
    folder: &'static str,
    shipped: &'static Shipped,
    format: &'static Format,
}

macro_rules! described {
    ($($folder:literal of $family:ident: $($name:literal),+;)+) => {
        static ENTRIES: &[Entry] = &[$($({
            static SHIPPED: Shipped =
                Shipped::new($name, include_str!(concat!("../../../../formats/", $folder, "/", $name, ".toml")));
            static FORMAT: Format = Format {
                name: $name,
                summary: "",
                family: Family::$family,
                tables: &[],
                example: "",
                sniff: |head| SHIPPED.sniff(head),
                read: |input, out| SHIPPED.run(input, out),
            };
            Entry { folder: $folder, shipped: &SHIPPED, format: &FORMAT }
        }),+),+];
    };
}

described! {
    "sysstat" of Linux: "cifsiostat", "cifsiostat-json", "tapestat", "tapestat-json";
    "linux" of Linux: "btrfs-stats", "kubectl-top", "lscpu", "nfsiostat", "numactl", "numastat", "nvidia-smi-table",
        "nvme-smart-log", "smartctl";
    "unix" of Unix: "solaris-vmstat", "bsd-vmstat", "aix-vmstat", "aix-lparstat", "hpux-vmstat", "solaris-iostat",
        "bsd-iostat", "hpux-iostat", "solaris-iopattern", "trapstat", "util-old-new";
    "trace" of Trace: "cputimes", "go-gctrace", "pprof-top";
    "load" of Load: "ab", "bombardier", "bonnie", "cassandra-stress", "coremark", "db-bench", "dbench", "dd", "fenxi-load",
        "fs-mark", "ghz", "h2load", "hey", "httperf", "kafka-perf", "nccl-tests", "oha", "openssl-speed", "osu", "perf-bench",
        "perftest", "qperf", "rabbitmq-perf-test", "rados-bench", "schbench", "siege", "sockperf", "stream", "tpcc-mysql",
        "unixbench", "vegeta";
    "database" of Database: "explain-analyze", "mongostat", "mysql-explain", "mysqltuner", "nodetool-tpstats", "pgbouncer",
        "processlist", "processlist-table";
}

/// The described formats of a folder, as formats like any other.
pub(crate) fn of(folder: &str) -> impl Iterator<Item = &'static Format> {
    ENTRIES.iter().filter(move |entry| entry.folder == folder).map(|entry| entry.format)
}

/// Description of a format, if it is a described one.
pub(crate) fn about(format: &Format) -> Option<&'static About> {
    if format.summary.is_empty() { about_named(format.name) } else { None }
}

/// The described format called `name`.
pub(crate) fn named(name: &str) -> Option<&'static TextFormat> {
    ENTRIES.iter().find(|entry| entry.shipped.name == name)?.shipped.format()
}

/// The [`About`] of the described format called `name`.
pub(super) fn about_named(name: &str) -> Option<&'static About> {
    ENTRIES.iter().find(|entry| entry.shipped.name == name)?.shipped.about()
}

/// The part of a described format that its reader needs.
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
            let claims = |text: &&str| (entry.format.sniff)(&Head { text }) != Sure::No;
            // The parts read to recognise a text give the same as the whole description.
            let of = |text: &str| shipped.top(text, |top| TextFormat::recognised(top, Compile::Later)).flatten();
            let parts = ["[recognise]", "[pairs]"].map(|title| part(shipped.text, title)).concat();
            assert_eq!(format!("{:?}", of(&parts)), format!("{:?}", of(shipped.text)), "{}", shipped.name);
            assert_eq!(super::super::recognise::COMMONPLACE.iter().find(|text| claims(text)), None, "{}", shipped.name);
        }
    }
}
