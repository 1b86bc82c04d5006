//! Archives among inputs: tar, packed or not, and zip. Their members are inputs as files of a directory are.
//!
//! Members are unpacked into a folder of their own that goes with the last of them, under numbers: a name is never a path
//! there. Links, devices and folders are left out.

use std::{
    io::{self, Read, Seek},
    path::{Component, Path},
    sync::Arc,
};

use fenxi_model::Micros;
use fs_err as fs;
use tempfile::TempDir;

use crate::{
    Content, Source,
    inputs::host_in,
    unpack::{read_full, unpacked},
};

/// What an archive may hold: more is refused before the disk is full.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Limits {
    pub(crate) members: usize,
    pub(crate) bytes: u64,
}

pub(crate) const LIMITS: Limits = Limits { members: 200_000, bytes: 32 << 30 };

/// How an archive is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Tar,
    Zip,
}

/// Bytes that tell an archive.
const HEAD: usize = 512;

/// The members of the archive at `path`, named within it; None when it is no archive, or one of runs.
///
/// # Errors
/// When it is damaged, holds no file, or more than `limits`.
pub(crate) fn members(path: &Path, limits: Limits) -> io::Result<Option<Vec<Source>>> {
    let Some(kind) = kind(path)? else { return Ok(None) };
    if fenxi_store::is_archive(fs::File::open(path)?).unwrap_or(false) {
        return Ok(None);
    }
    let folder = Arc::new(tempfile::Builder::new().prefix("fenxi-import-").tempdir()?);
    let mut unpacking = Unpacking { folder, found: Vec::new(), left: limits };
    match kind {
        Kind::Tar => unpacking.tar(unpacked(fs::File::open(path)?)?.1)?,
        Kind::Zip => unpacking.zip(fs::File::open(path)?)?,
    }
    if unpacking.found.is_empty() {
        return Err(io::Error::new(io::ErrorKind::NotFound, format!("{}: no file in this archive", path.display())));
    }
    Ok(Some(unpacking.found))
}

fn kind(path: &Path) -> io::Result<Option<Kind>> {
    let mut head = [0; HEAD];
    let mut file = fs::File::open(path)?;
    let n = read_full(&mut file, &mut head)?;
    if head[..n].starts_with(b"PK\x03\x04") {
        return Ok(Some(Kind::Zip));
    }
    // What begins like something packed and is not is for the importer to complain of.
    let Ok((_, mut reader)) = unpacked(io::Cursor::new(head[..n].to_vec()).chain(file)) else { return Ok(None) };
    let mut head = [0; HEAD];
    let n = read_full(&mut reader, &mut head).unwrap_or(0);
    Ok((head[..n].get(257..262) == Some(b"ustar")).then_some(Kind::Tar))
}

/// An archive being unpacked.
struct Unpacking {
    folder: Arc<TempDir>,
    found: Vec<Source>,
    left: Limits,
}

impl Unpacking {
    fn tar(&mut self, reader: impl Read) -> io::Result<()> {
        let mut archive = tar::Archive::new(reader);
        for entry in archive.entries()? {
            let mut entry = entry?;
            let kind = entry.header().entry_type();
            if kind.is_file() || kind.is_contiguous() || kind.is_gnu_sparse() {
                let name = String::from_utf8_lossy(&entry.path_bytes()).into_owned();
                let modified = entry.header().mtime().ok();
                self.take(&name, modified, &mut entry)?;
            }
        }
        Ok(())
    }

    fn zip(&mut self, reader: impl Read + Seek) -> io::Result<()> {
        let mut archive = zip::ZipArchive::new(reader)?;
        for place in 0..archive.len() {
            let mut entry = archive.by_index(place)?;
            if entry.is_file() {
                let name = entry.name()?.into_owned();
                self.take(&name, None, &mut entry)?;
            }
        }
        Ok(())
    }

    /// Unpacks a member. Its name is text: only the names of folders and of the file in it count.
    fn take(&mut self, name: &str, modified_s: Option<u64>, reader: &mut dyn Read) -> io::Result<()> {
        let too_much = |what: String| Err(io::Error::new(io::ErrorKind::InvalidData, what));
        if self.left.members == 0 {
            return too_much(format!("it holds more than {} files", self.found.len()));
        }
        self.left.members -= 1;
        let path = self.folder.path().join(self.found.len().to_string());
        let mut file = fs::File::create_new(&path)?;
        let bytes = io::copy(&mut reader.take(self.left.bytes.saturating_add(1)), &mut file)?;
        let Some(left) = self.left.bytes.checked_sub(bytes) else {
            return too_much("it unpacks to more than is accepted".to_owned());
        };
        self.left.bytes = left;
        let parts = Path::new(name).components().filter_map(|part| match part {
            Component::Normal(part) => Some(part.to_string_lossy()),
            _ => None,
        });
        let name = parts.collect::<Vec<_>>().join("/");
        self.found.push(Source {
            host: host_in(name.rsplit('/').next().unwrap_or(&name)),
            modified: modified_s.and_then(|s| i64::try_from(s).ok()?.checked_mul(1_000_000)).map(Micros),
            content: Content::Member { path, folder: Arc::clone(&self.folder) },
            name,
        });
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    /// A tar archive of files by name, also of names that would lead elsewhere.
    fn tar_of(files: &[(&str, &[u8])]) -> Vec<u8> {
        let mut builder = tar::Builder::new(Vec::new());
        for (name, content) in files {
            let mut header = tar::Header::new_gnu();
            header.as_gnu_mut().unwrap().name[..name.len()].copy_from_slice(name.as_bytes());
            header.set_size(content.len() as u64);
            header.set_mtime(1_795_000_000);
            header.set_mode(0o644);
            header.set_entry_type(tar::EntryType::Regular);
            header.set_cksum();
            builder.append(&header, *content).unwrap();
        }
        let mut link = tar::Header::new_gnu();
        link.set_entry_type(tar::EntryType::Symlink);
        link.set_size(0);
        builder.append_link(&mut link, "link", "/etc/passwd").unwrap();
        builder.into_inner().unwrap()
    }

    fn zip_of(files: &[(&str, &[u8])]) -> Vec<u8> {
        let mut writer = zip::ZipWriter::new(io::Cursor::new(Vec::new()));
        for (name, content) in files {
            writer.start_file(*name, zip::write::SimpleFileOptions::default()).unwrap();
            writer.write_all(content).unwrap();
        }
        writer.finish().unwrap().into_inner()
    }

    fn found(bytes: &[u8], limits: Limits) -> io::Result<Option<Vec<(String, String)>>> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("archive");
        fs::write(&path, bytes).unwrap();
        let sources = members(&path, limits)?;
        let read = |source: Source| {
            let mut text = String::new();
            source.content.open().unwrap().read_to_string(&mut text).unwrap();
            (source.name, text)
        };
        Ok(sources.map(|sources| sources.into_iter().map(read).collect()))
    }

    const FILES: [(&str, &[u8]); 3] =
        [("dir/mpstat.txt", b"one"), ("../../etc/cron.d/evil", b"two"), ("/absolute", b"three")];

    #[test]
    fn members_are_found_under_names_that_lead_nowhere() {
        let expected = [("dir/mpstat.txt", "one"), ("etc/cron.d/evil", "two"), ("absolute", "three")];
        let expected: Vec<(String, String)> = expected.map(|(n, t)| (n.to_owned(), t.to_owned())).into();
        let tar = tar_of(&FILES);
        let zstd = zstd::encode_all(&tar[..], 1).unwrap();
        let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        gzip.write_all(&tar).unwrap();
        for bytes in [tar.clone(), zstd, gzip.finish().unwrap(), zip_of(&FILES)] {
            assert_eq!(found(&bytes, LIMITS).unwrap(), Some(expected.clone()));
        }
    }

    #[test]
    fn what_is_unpacked_goes_with_its_last_member() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("archive");
        fs::write(&path, tar_of(&FILES)).unwrap();
        let sources = members(&path, LIMITS).unwrap().unwrap();
        assert_eq!(sources[0].modified, Some(Micros(1_795_000_000_000_000)));
        let Content::Member { folder, .. } = &sources[0].content else { panic!() };
        let unpacked = folder.path().to_owned();
        assert!(unpacked.is_dir());
        drop(sources);
        assert!(!unpacked.exists());
    }

    #[test]
    fn texts_are_no_archives_and_bombs_are_refused() {
        assert_eq!(found(b"12:00:01 all 3.4\n", LIMITS).unwrap(), None);
        assert_eq!(found(b"\x1f\x8b\x08 no gzip", LIMITS).unwrap(), None);
        let error = |bytes: &[u8], limits| found(bytes, limits).unwrap_err().to_string();
        let few = Limits { members: 2, ..LIMITS };
        assert_eq!(error(&tar_of(&FILES), few), "it holds more than 2 files");
        let small = Limits { bytes: 7, ..LIMITS };
        for bytes in [tar_of(&FILES), zip_of(&FILES)] {
            assert_eq!(error(&bytes, small), "it unpacks to more than is accepted");
        }
        let tar = tar_of(&FILES);
        assert!(found(&tar[..700], LIMITS).is_err(), "cut short");
        assert!(error(&tar_of(&[]), LIMITS).ends_with("no file in this archive"));
    }
}
