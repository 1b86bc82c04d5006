//! Archives among inputs: tar, packed or not, and zip; unpacked in the caller's thread, before the import.
//!
//! Their members are inputs as files of a directory are. Short members are held in memory, others unpacked into a separate folder that is removed with the last of them, under
//! numbers: a name is never a path there. Links, devices and folders are left out.

use std::{
    cell::Cell,
    io::{self, Read, Seek},
    path::{Component, Path, PathBuf},
    sync::Arc,
};

use fenxi_model::Micros;
use fs_err as fs;
use tempfile::TempDir;

use crate::{
    read_ahead::read_ahead,
    source::{Content, Source, host_in},
    unpack::{Packing, read_full, unpacked},
};

/// Where archives are unpacked, and how much of them: more is refused before the disk is full.
pub struct UnpackBudget<'a> {
    /// The folder in which the folder of an archive is made.
    pub folder: PathBuf,
    /// Files of all archives together.
    pub members: usize,
    /// Bytes of all these files.
    pub bytes: u64,
    /// Limit of the unpacked size of each archive, nested ones included; None: all of `bytes`.
    pub growth: Option<Growth>,
    /// Whether somebody wants it to end.
    pub stopped: &'a (dyn Fn() -> bool + 'a),
}

/// Limit of the expansion ratio: small inputs that unpack to much are made to be harmful.
#[derive(Clone, Copy, Debug)]
pub struct Growth {
    /// Bytes that anything may unpack to.
    pub bytes: u64,
    /// Else so many times its size.
    pub times: u64,
}

impl Growth {
    /// Limit of the unpacked size for `bytes` of packed data.
    pub fn of(&self, bytes: u64) -> u64 {
        self.bytes.max(bytes.saturating_mul(self.times))
    }
}

impl<'a> UnpackBudget<'a> {
    /// 200,000 files and 32 GiB in the folder for temporary files, until `stopped`.
    pub fn until(stopped: &'a (dyn Fn() -> bool + 'a)) -> UnpackBudget<'a> {
        UnpackBudget { folder: std::env::temp_dir(), members: 200_000, bytes: 32 << 30, growth: None, stopped }
    }
}

/// How an archive is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Tar,
    Zip,
}

/// Magic bytes of archives.
const HEAD: usize = 512;
/// The bytes that a zip archive begins with, and those of a tar archive at byte 257.
const ZIP: &[u8] = b"PK\x03\x04";
const TAR: &[u8] = b"ustar";
/// How deep archives within archives are unpacked; one that is deeper is an input as it is.
const DEPTH: usize = 3;
/// First members of zip archives that are not to be unpacked: of Office and OpenDocument files, and of Java programs.
const DOCUMENTS: [&[u8]; 3] = [b"[Content_Types].xml", b"mimetype", b"META-INF/"];
/// Members up to this many bytes are held in memory, as long as all that are held take no more than [`HELD_ALL`]: a file of
/// its own would cost more than reading what is in it.
const HELD: u64 = 64 << 10;
const HELD_ALL: u64 = 128 << 20;
/// Bytes of all headers of one member of a tar archive: they have names, times and the holes of sparse files.
const HEADERS: u64 = 4 << 20;
/// Bytes that are unpacked between two looks at whether it is to end.
const STEP: u64 = 1 << 20;

/// The members of the archive at `path`, named within it, those of archives among them too; None when it is no archive, or
/// one of runs. What they take is subtracted from the `budget`.
///
/// # Errors
/// When it is damaged, holds no file, more than the `budget` allows, or when it is to end.
pub(crate) fn members(path: &Path, budget: &mut UnpackBudget<'_>) -> io::Result<Option<Vec<Source>>> {
    let Some(kind) = kind(path)? else { return Ok(None) };
    let folder = Arc::new(tempfile::Builder::new().prefix("fenxi-import-").tempdir_in(&budget.folder)?);
    let mut unpacking = Unpacking {
        folder,
        found: Vec::new(),
        within: Vec::new(),
        files: 0,
        held: 0,
        scratch: Vec::new(),
        is_over: false,
        allowed: u64::MAX,
        budget,
    };
    unpacking.archive(kind, path)?;
    if unpacking.found.is_empty() {
        return Err(io::Error::new(io::ErrorKind::NotFound, "no file in this archive"));
    }
    Ok(Some(unpacking.found))
}

fn kind(path: &Path) -> io::Result<Option<Kind>> {
    let mut head = [0; HEAD];
    let mut file = fs::File::open(path)?;
    let n = read_full(&mut file, &mut head)?;
    if head[..n].starts_with(ZIP) {
        // Documents and programs are zip archives, too; recognised by the name of the first member.
        let first = head[..n].get(30..).unwrap_or_default();
        let is_document = DOCUMENTS.iter().any(|name| first.starts_with(name));
        return Ok((!is_document).then_some(Kind::Zip));
    }
    // The importer reports an input that begins like something packed and is not.
    let Ok((_, mut reader)) = unpacked(io::Cursor::new(head[..n].to_vec()).chain(file)) else { return Ok(None) };
    let mut head = [0; HEAD];
    let n = read_full(&mut reader, &mut head).unwrap_or(0);
    let is_tar = head[..n].get(257..262) == Some(TAR);
    // An archive of runs is not unpacked, but taken in.
    let is_ours = || fenxi_store::is_archive(fs::File::open(path)?);
    Ok((is_tar && !is_ours().unwrap_or(false)).then_some(Kind::Tar))
}

/// Whether a member is neither packed nor an archive itself.
fn is_plain(content: &[u8]) -> bool {
    Packing::from_magic(content) == Packing::Plain && !content.starts_with(ZIP) && content.get(257..262) != Some(TAR)
}

/// A tar archive of which no more may be read than is left.
struct Metered<'c, R> {
    inner: R,
    left: &'c Cell<u64>,
}

impl<R: Read> Read for Metered<'_, R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let n = self.inner.read(into)?;
        let left = self.left.get().checked_sub(n as u64);
        self.left.set(left.ok_or_else(|| io::Error::new(io::ErrorKind::InvalidData, "a member's header is too long"))?);
        Ok(n)
    }
}

/// An archive being unpacked.
struct Unpacking<'r, 'a> {
    folder: Arc<TempDir>,
    found: Vec<Source>,
    /// The archives in which the present one is.
    within: Vec<String>,
    /// Files made in the folder so far.
    files: usize,
    /// Bytes of members that are held in memory.
    held: u64,
    /// Memory into which the next one is read.
    scratch: Vec<u8>,
    /// Whether the budget is spent, or it is to end.
    is_over: bool,
    /// Bytes that the present archive may still unpack to by its own size.
    allowed: u64,
    budget: &'r mut UnpackBudget<'a>,
}

impl Unpacking<'_, '_> {
    fn archive(&mut self, kind: Kind, path: &Path) -> io::Result<()> {
        let allowed = match self.budget.growth {
            Some(growth) => growth.of(fs::metadata(path)?.len()),
            None => u64::MAX,
        };
        let outer = std::mem::replace(&mut self.allowed, allowed);
        let unpacked = self.unpack(kind, path);
        self.allowed = outer;
        unpacked
    }

    fn unpack(&mut self, kind: Kind, path: &Path) -> io::Result<()> {
        match kind {
            Kind::Tar => match unpacked(fs::File::open(path)?)? {
                (Packing::Plain, reader) => self.tar(reader),
                (_, reader) => self.tar(read_ahead(reader)?),
            },
            Kind::Zip => self.zip(fs::File::open(path)?),
        }
    }

    fn tar(&mut self, reader: impl Read) -> io::Result<()> {
        let left = Cell::new(HEADERS);
        let mut archive = tar::Archive::new(Metered { inner: reader, left: &left });
        let mut entries = archive.entries()?;
        loop {
            // Bytes between two members are headers, which are held in memory.
            left.set(HEADERS);
            let Some(entry) = entries.next() else { return Ok(()) };
            let mut entry = entry?;
            left.set(u64::MAX);
            let kind = entry.header().entry_type();
            if kind.is_file() || kind.is_contiguous() || kind.is_gnu_sparse() {
                let name = String::from_utf8_lossy(&entry.path_bytes()).into_owned();
                let modified = entry.header().mtime().ok();
                self.unpack_member(&name, modified, &mut entry)?;
            }
            // The rest of it, of what is left out all.
            while io::copy(&mut (&mut entry).take(STEP), &mut io::sink())? > 0 {
                self.look()?;
            }
        }
    }

    fn zip(&mut self, reader: impl Read + Seek) -> io::Result<()> {
        let mut archive = zip::ZipArchive::new(reader)?;
        for place in 0..archive.len() {
            let mut entry = archive.by_index(place)?;
            if entry.is_file() {
                let name = entry.name()?.into_owned();
                self.unpack_member(&name, None, &mut entry)?;
            }
        }
        Ok(())
    }

    /// Unpacks a member, and what is in it if it is an archive itself. Its name is text: only the names of folders and of the
    /// file in it count.
    fn unpack_member(&mut self, name: &str, modified_s: Option<u64>, reader: &mut dyn Read) -> io::Result<()> {
        let mut begun = std::mem::take(&mut self.scratch);
        begun.clear();
        (&mut *reader).take(HELD + 1).read_to_end(&mut begun)?;
        let parts = Path::new(name).components().filter_map(|part| match part {
            Component::Normal(part) => Some(part.to_string_lossy()),
            _ => None,
        });
        let name = parts.collect::<Vec<_>>().join("/");
        let name = if name.is_empty() { "unnamed".to_owned() } else { name };
        let bytes = begun.len() as u64;
        if bytes <= HELD && self.held + bytes <= HELD_ALL && is_plain(&begun) {
            self.begin_member()?;
            self.count(bytes)?;
            self.held += bytes;
            self.add(name, modified_s, Content::Held(Arc::from(&begun[..])));
            self.scratch = begun;
            return Ok(());
        }
        let path = self.folder.path().join(self.files.to_string());
        self.files += 1;
        self.write(&path, &mut io::Cursor::new(begun).chain(reader))?;
        if self.within.len() + 1 < DEPTH
            && let Some(kind) = kind(&path)?
        {
            let found = self.found.len();
            self.within.push(name);
            let unpacked = self.archive(kind, &path);
            let Some(name) = self.within.pop() else { return unpacked };
            match unpacked {
                Ok(()) => return fs::remove_file(path),
                Err(error) if self.is_over => return Err(error),
                // A damaged one is an input as it is.
                Err(_) => self.found.truncate(found),
            }
            self.add(name, modified_s, Content::Member { path, folder: Arc::clone(&self.folder) });
            return Ok(());
        }
        self.add(name, modified_s, Content::Member { path, folder: Arc::clone(&self.folder) });
        Ok(())
    }

    fn add(&mut self, name: String, modified_s: Option<u64>, content: Content) {
        self.found.push(Source {
            host: host_in(name.rsplit('/').next().unwrap_or(&name)),
            modified: modified_s.and_then(|s| i64::try_from(s).ok()?.checked_mul(1_000_000)).map(Micros),
            content,
            name: self.within.iter().chain([&name]).map(String::as_str).collect::<Vec<_>>().join("/"),
        });
    }

    /// Takes the place of one more member, if there is any.
    fn begin_member(&mut self) -> io::Result<()> {
        let Some(members) = self.budget.members.checked_sub(1) else {
            return self.end(io::ErrorKind::InvalidData, "it holds more files than are accepted");
        };
        self.budget.members = members;
        self.look()
    }

    fn look(&mut self) -> io::Result<()> {
        match (self.budget.stopped)() {
            true => self.end(io::ErrorKind::Interrupted, "interrupted; nothing was imported"),
            false => Ok(()),
        }
    }

    /// Takes so many bytes from the budget, if it has them.
    fn count(&mut self, bytes: u64) -> io::Result<()> {
        let left = (self.budget.bytes.checked_sub(bytes), self.allowed.checked_sub(bytes));
        let (Some(left), Some(allowed)) = left else {
            return self.end(io::ErrorKind::InvalidData, "it unpacks to more than is accepted");
        };
        (self.budget.bytes, self.allowed) = (left, allowed);
        Ok(())
    }

    /// Writes a file as long as the budget allows it and it is not stopped.
    fn write(&mut self, path: &Path, reader: &mut dyn Read) -> io::Result<()> {
        self.begin_member()?;
        let mut file = fs::File::create_new(path)?;
        loop {
            self.look()?;
            let bytes =
                io::copy(&mut reader.take(STEP.min(self.budget.bytes.min(self.allowed).saturating_add(1))), &mut file)?;
            if bytes == 0 {
                return Ok(());
            }
            self.count(bytes)?;
        }
    }

    fn end(&mut self, kind: io::ErrorKind, why: &str) -> io::Result<()> {
        self.is_over = true;
        Err(io::Error::new(kind, why))
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    /// A tar archive of files by name, also of names that would lead out of the folder.
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

    /// A budget of so many `members` and `bytes`.
    fn budget(members: usize, bytes: u64) -> UnpackBudget<'static> {
        UnpackBudget { members, bytes, ..UnpackBudget::until(&|| false) }
    }

    fn enough() -> UnpackBudget<'static> {
        UnpackBudget::until(&|| false)
    }

    fn found(bytes: &[u8], mut budget: UnpackBudget<'_>) -> io::Result<Option<Vec<(String, String)>>> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("archive");
        fs::write(&path, bytes).unwrap();
        let sources = members(&path, &mut budget)?;
        let read = |source: Source| {
            let mut bytes = Vec::new();
            source.content.open().unwrap().read_to_end(&mut bytes).unwrap();
            (source.name, bytes.into_iter().map(char::from).collect())
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
            assert_eq!(found(&bytes, enough()).unwrap(), Some(expected.clone()));
        }
    }

    #[test]
    fn a_name_without_an_end_is_not_held_in_memory() {
        let mut header = tar::Header::new_gnu();
        header.set_entry_type(tar::EntryType::GNULongName);
        header.set_size(2 << 30);
        header.set_cksum();
        let mut packer = zstd::Encoder::new(Vec::new(), 1).unwrap();
        packer.write_all(header.as_bytes()).unwrap();
        io::copy(&mut io::repeat(b'x').take(8 << 20), &mut packer).unwrap();
        let error = found(&packer.finish().unwrap(), enough()).unwrap_err().to_string();
        assert!(error.contains("a member's header is too long"), "{error}");
    }

    #[test]
    fn what_is_left_out_can_be_interrupted_and_what_has_no_name_gets_one() {
        let mut folder = tar::Header::new_gnu();
        folder.set_entry_type(tar::EntryType::Directory);
        folder.set_size(5 << 20);
        folder.set_cksum();
        let skipped = [folder.as_bytes().to_vec(), vec![0; 5 << 20]].concat();
        let bytes = [&skipped[..], &tar_of(&[("..", b"one")])].concat();
        let expected = vec![("unnamed".to_owned(), "one".to_owned())];
        assert_eq!(found(&bytes, enough()).unwrap(), Some(expected));
        let stopped = found(&bytes, UnpackBudget::until(&|| true)).unwrap_err();
        assert_eq!(stopped.kind(), io::ErrorKind::Interrupted);
    }

    #[test]
    fn what_is_unpacked_goes_with_its_last_member() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("archive");
        let long = vec![b'x'; HELD as usize + 1];
        fs::write(&path, tar_of(&[("long", &long), FILES[0]])).unwrap();
        let sources = members(&path, &mut enough()).unwrap().unwrap();
        assert_eq!(sources[0].modified, Some(Micros(1_795_000_000_000_000)));
        let Content::Member { folder, .. } = &sources[0].content else { panic!() };
        let unpacked = folder.path().to_owned();
        assert_eq!(fs::read_dir(&unpacked).unwrap().count(), 1);
        assert!(matches!(&sources[1].content, Content::Held(bytes) if **bytes == *FILES[0].1));
        drop(sources);
        assert!(!unpacked.exists());
    }

    #[test]
    fn archives_in_archives_are_unpacked_too() {
        let inner = tar_of(&[("top.txt", b"one")]);
        let cut = zip_of(&FILES)[..60].to_vec();
        let report = zip_of(&[("[Content_Types].xml", b"<x/>"), ("word/a.xml", b"<y/>")]);
        let middle = zip_of(&[("inner.tar", &inner), ("cut.zip", &cut), ("report.docx", &report)]);
        let outer = tar_of(&[("middle.zip", &middle), ("plain", b"two")]);
        let names = |bytes: &[u8]| {
            let found = found(bytes, enough()).unwrap().unwrap();
            found.into_iter().map(|(name, text)| format!("{name} {}", text.chars().count())).collect::<Vec<_>>()
        };
        let expected = ["middle.zip/inner.tar/top.txt 3", "middle.zip/cut.zip 60"].map(str::to_owned);
        let document = format!("middle.zip/report.docx {}", report.len());
        assert_eq!(names(&outer), [&expected[..], &[document, "plain 3".to_owned()]].concat());
        // Deeper archives stay as they are.
        let deeper = tar_of(&[("outer.tar", &outer)]);
        assert_eq!(names(&deeper)[0], format!("outer.tar/middle.zip/inner.tar {}", inner.len()));
        // All of them share the budget.
        assert!(found(&outer, budget(4, 1 << 20)).unwrap_err().to_string().starts_with("it holds more files"));
    }

    #[test]
    fn an_archive_in_another_counts_against_its_own_size() {
        let growth = Some(Growth { bytes: 100_000, times: 20 });
        let zeros = zip_of(&[("zeros", &[0; 300_000])]);
        // Of the bytes that it is packed to; the outer one is as long as in its header.
        assert!(zeros.len() < 10_000);
        let filling = vec![b'x'; 50_000];
        let outer = tar_of(&[("filling", &filling), ("zeros.zip", &zeros)]);
        assert!(found(&outer, enough()).is_ok());
        let error = found(&outer, UnpackBudget { growth, ..enough() }).unwrap_err();
        assert_eq!(error.to_string(), "it unpacks to more than is accepted");
        // An archive that is packed as usual is unpacked.
        let log: String = (0..20_000).map(|i| format!("line {} of a log\n", i * 7919 % 10_007)).collect();
        let plain = tar_of(&[("log.zip", &zip_of(&[("log", log.as_bytes())]))]);
        assert_eq!(found(&plain, UnpackBudget { growth, ..enough() }).unwrap().unwrap().len(), 1);
    }

    #[test]
    fn texts_are_no_archives_and_bombs_are_refused() {
        assert_eq!(found(b"12:00:01 all 3.4\n", enough()).unwrap(), None);
        assert_eq!(found(b"\x1f\x8b\x08 no gzip", enough()).unwrap(), None);
        let error = |bytes: &[u8], budget| found(bytes, budget).unwrap_err().to_string();
        assert_eq!(error(&tar_of(&FILES), budget(2, 100)), "it holds more files than are accepted");
        for bytes in [tar_of(&FILES), zip_of(&FILES)] {
            assert_eq!(error(&bytes, budget(9, 7)), "it unpacks to more than is accepted");
        }
        let stopped = UnpackBudget { stopped: &|| true, ..enough() };
        assert_eq!(error(&tar_of(&FILES), stopped), "interrupted; nothing was imported");
        let tar = tar_of(&FILES);
        assert!(found(&tar[..700], enough()).is_err(), "cut short");
        assert_eq!(error(&tar_of(&[]), enough()), "no file in this archive");
    }
}
