//! An input of an import: its name, where its bytes are, and the host in its name.

use std::{
    io::{self, Read},
    path::PathBuf,
    sync::Arc,
};

use fenxi_model::Micros;
use fenxi_store::Part;
use fs_err as fs;
use jiff::{civil::DateTime, tz::TimeZone};
use tempfile::TempDir;

use crate::{pack, unpack::unpacked};

/// One input to be imported.
#[derive(Debug)]
pub struct Source {
    /// Its name as summaries and notes give it; within a directory, the path below it.
    pub name: String,
    /// Where its bytes are.
    pub content: Content,
    /// The host in its name, or the tree that it is in, if any.
    pub host: Option<String>,
    /// When it was last written.
    pub modified: Option<Micros>,
}

/// Where an input's bytes are.
#[derive(Debug)]
pub enum Content {
    /// In a file, perhaps compressed.
    File(PathBuf),
    /// In a file that was unpacked from an archive, with the folder that goes with the last of them.
    Member {
        /// The file.
        path: PathBuf,
        /// The folder it is in.
        folder: Arc<TempDir>,
    },
    /// In a file that keeps several inputs of a run.
    Part {
        /// The file.
        path: PathBuf,
        /// Where the input begins.
        part: Part,
        /// Its length.
        bytes: u64,
    },
    /// In memory: a short member of an archive, which is not packed itself.
    Held(Arc<[u8]>),
    /// On standard input, of which this much was read.
    Stdin(Vec<u8>),
}

impl Content {
    /// Opens it. Standard input can be opened once.
    pub(crate) fn open(&self) -> io::Result<Box<dyn Read + Send>> {
        Ok(match self {
            Content::File(path) | Content::Member { path, .. } => Box::new(fs::File::open(path)?),
            Content::Part { path, part, bytes } => Box::new(pack::read(path, *part, *bytes)?),
            Content::Held(bytes) => Box::new(io::Cursor::new(Arc::clone(bytes))),
            Content::Stdin(begun) => Box::new(io::Cursor::new(begun.clone()).chain(io::stdin())),
        })
    }

    /// Opens it and unpacks it, whatever it is packed with.
    ///
    /// # Errors
    /// When it cannot be opened or begins like something packed and is not.
    pub fn unpacked(&self) -> io::Result<Box<dyn Read + Send>> {
        Ok(unpacked(self.open()?)?.1)
    }

    /// Its size as it lies there, when it has one.
    pub fn bytes(&self) -> Option<u64> {
        match self {
            Content::File(path) | Content::Member { path, .. } => fs::metadata(path).ok().map(|m| m.len()),
            Content::Part { bytes, .. } => Some(*bytes),
            Content::Held(bytes) => Some(bytes.len() as u64),
            Content::Stdin(_) => None,
        }
    }
}

/// Endings that say what a file is, not where it comes from.
const ENDINGS: [&str; 22] = [
    "gz", "zst", "bz2", "xz", "z", "txt", "text", "log", "out", "err", "xan", "csv", "tsv", "json", "jsonl", "ndjson",
    "xml", "dat", "data", "nmon", "prom", "html",
];

/// The host in a name like `vmstat.log.db1` or `mpstat.xan.web-2.gz`: what follows an ending that
/// names what the file is.
pub(crate) fn host_in(name: &str) -> Option<String> {
    let parts: Vec<&str> = name.split('.').collect();
    let known = |part: &str| ENDINGS.contains(&part.to_ascii_lowercase().as_str());
    let end = parts.iter().rposition(|part| !known(part))? + 1;
    let kind = parts[..end].iter().rposition(|part| known(part))?;
    let host = parts[kind + 1..end].join(".");
    // A number is the turn of a rotated log, or a date.
    let name_like = host.bytes().any(|b| b.is_ascii_alphabetic()) && !host.contains([' ', '~']);
    (kind > 0 && name_like).then_some(host)
}

/// The time in a name like `2012_08_09_21_23_10-vmstat`: when `pt-stalk` began to collect it, in the machine's zone.
pub(crate) fn start_in(name: &str, zone: &TimeZone) -> Option<Micros> {
    let file = name.rsplit('/').next().unwrap_or(name);
    let (stamp, _) = file.split_once('-').filter(|(stamp, _)| stamp.len() == "2012_08_09_21_23_10".len())?;
    let when = DateTime::strptime("%Y_%m_%d_%H_%M_%S", stamp).ok()?;
    let moment = zone.to_ambiguous_timestamp(when).compatible().ok()?;
    Some(Micros(moment.as_microsecond()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_of_pt_stalk_tells_when_it_began() {
        let read = |name: &str| start_in(name, &TimeZone::UTC).map(Micros::iso);
        let expected = Micros::parse("2012-08-09T21:23:10").map(Micros::iso);
        assert!(expected.is_some());
        assert_eq!(read("2012_08_09_21_23_10-vmstat"), expected);
        assert_eq!(read("samples/2012_08_09_21_23_10-mutex-status1"), expected);
        for name in ["vmstat.txt", "2012_08_09-vmstat", "2012_99_09_21_23_10-vmstat", "2012-08-09_21_23_10-vmstat", ""]
        {
            assert_eq!(read(name), None, "{name}");
        }
    }

    #[test]
    fn a_name_may_tell_the_host() {
        for (name, host) in [
            ("vmstat.log.db1", Some("db1")),
            ("mpstat.xan.web-2.gz", Some("web-2")),
            ("iostat.log.db1.example.com.zst", Some("db1.example.com")),
            ("vmstat.txt", None),
            ("syslog.log.1.gz", None),
            ("db1.log", None),
            ("sar.2026-11-21", None),
            ("log.db1", None),
        ] {
            assert_eq!(host_in(name).as_deref(), host, "{name}");
        }
    }
}
