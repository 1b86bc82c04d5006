//! Run archives: runs in one tar.zst file, byte for byte reproducible, to be imported into another store.
//!
//! ```text
//! fenxi-archive.json                {"fenxi_archive": 1, "runs": ["<id>", …]}, ids in order
//! labels/<id>.json                  only where labels were set
//! runs/run=<id>/run.json            the manifest, before what it lists
//! runs/run=<id>/<file>              every file of the manifest, by name
//! …                                 the next run
//! ```
//!
//! Names are those of a store, so that other tools can unpack an archive too. Times, owners and modes
//! say nothing about a run and are left out.

use std::{
    collections::BTreeSet,
    io::{self, Read, Write},
    path::Path,
};

use fenxi_model::RunId;
use serde::{Deserialize, Serialize};
use tar::{Builder, EntryType, Header};

use crate::{FileEntry, Store, StoreError, folder::open_regular};

/// The version of archives that this code writes, and the latest that it reads.
pub(crate) const ARCHIVE: u32 = 1;
/// The first entry of every archive.
pub(crate) const HEAD: &str = "fenxi-archive.json";
/// Level of zstd: what is inside is compressed already.
const LEVEL: i32 = 1;
/// Bytes of a tar's block.
const BLOCK: usize = 512;
/// Magic number of a zstd frame.
const ZSTD: &[u8] = &[0x28, 0xb5, 0x2f, 0xfd];
/// Bytes that hold the first block of a frame of zstd: it has at most 128 KiB.
const FIRST_BLOCK: u64 = 256 << 10;

/// The content of the first entry.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Head {
    pub(crate) fenxi_archive: u32,
    pub(crate) runs: Vec<String>,
}

/// Result of an export: runs and bytes written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Exported {
    /// Runs.
    pub runs: usize,
    /// Files of all runs, their manifests included.
    pub files: u64,
    /// Bytes of these files, before compression.
    pub bytes: u64,
}

/// The name of a file of a run within an archive.
pub(crate) fn run_file(id: &RunId, name: &str) -> String {
    format!("runs/run={id}/{name}")
}

/// The name of the labels of a run within an archive.
pub(crate) fn labels_file(id: &RunId) -> String {
    format!("labels/{id}.json")
}

/// Returns true if `reader` begins with an archive of runs: compressed with zstd, and begun as [`Store::export`] does.
///
/// # Errors
/// When it cannot be read; what cannot be unpacked is no archive.
pub fn is_archive(mut reader: impl Read) -> io::Result<bool> {
    let mut packed = Vec::new();
    // Only the magic bytes: another process may still be writing a file that is no archive.
    (&mut reader).take(ZSTD.len() as u64).read_to_end(&mut packed)?;
    if packed != ZSTD {
        return Ok(false);
    }
    // A cut frame gives what is in it so far.
    reader.take(FIRST_BLOCK).read_to_end(&mut packed)?;
    let mut block = [0u8; BLOCK];
    let read = zstd::Decoder::new(&packed[..]).and_then(|mut unpacked| unpacked.read_exact(&mut block));
    Ok(read.is_ok() && Header::from_byte_slice(&block).path_bytes().as_ref() == HEAD.as_bytes())
}

impl Store {
    /// Writes runs as one archive, each once and in the order of their ids: the same bytes whenever the same runs are
    /// exported. Every file is compared with its manifest on the way.
    ///
    /// # Errors
    /// When there is no such run, a file of it is damaged, or `out` cannot be written. What was written so far is
    /// no archive then.
    pub fn export(&self, runs: &[RunId], out: impl Write) -> Result<Exported, StoreError> {
        let ids: BTreeSet<&RunId> = runs.iter().collect();
        for id in &ids {
            // Before anything is written: a name that is no run's is a mistake of the asker.
            self.manifest(id)?;
        }
        let mut packer = zstd::Encoder::new(out, LEVEL)?;
        packer.include_checksum(true)?;
        let mut archive = Builder::new(packer);
        let head = Head { fenxi_archive: ARCHIVE, runs: ids.iter().map(ToString::to_string).collect() };
        let head = serde_json::to_vec(&head).map_err(|e| StoreError::damaged(HEAD, e))?;
        append(&mut archive, HEAD, head.len() as u64, &head[..])?;
        // Its own block: a truncated archive is still recognised by its beginning.
        archive.get_mut().flush()?;
        let mut exported = Exported::default();
        for id in ids {
            self.export_run(id, &mut archive, &mut exported)?;
        }
        archive.into_inner()?.finish()?.flush()?;
        Ok(exported)
    }

    fn export_run(
        &self,
        id: &RunId,
        archive: &mut Builder<impl Write>,
        exported: &mut Exported,
    ) -> Result<(), StoreError> {
        // Read first as what they are: damaged labels are not carried on.
        self.read_labels(id)?;
        match self.read_own(&self.labels_path(id)) {
            Ok(labels) => append(archive, &labels_file(id), labels.len() as u64, &labels[..])?,
            Err(e) if e.is_not_found() => {}
            Err(e) => return Err(e),
        }
        let whole = self.whole(id)?;
        let text = whole.manifest_text();
        append(archive, &run_file(id, "run.json"), text.len() as u64, text)?;
        for (file, path) in whole.files() {
            export_file(id, file, &path, archive)?;
        }
        exported.runs += 1;
        exported.files += whole.manifest().files.len() as u64 + 1;
        exported.bytes += whole.manifest().bytes() + text.len() as u64;
        Ok(())
    }
}

fn export_file(id: &RunId, file: &FileEntry, path: &Path, archive: &mut Builder<impl Write>) -> Result<(), StoreError> {
    let open = open_regular(path)?;
    let bytes = open.metadata()?.len();
    if bytes != file.bytes {
        return Err(StoreError::damaged(path, format!("it has {bytes} bytes, {} were sealed", file.bytes)));
    }
    let mut reader = Hashed { inner: open.take(file.bytes), hasher: blake3::Hasher::new() };
    append(archive, &run_file(id, &file.name), file.bytes, &mut reader)?;
    if reader.hasher.finalize().to_hex().as_str() != file.blake3 {
        return Err(StoreError::damaged(path, "its BLAKE3 is not the one in the manifest"));
    }
    Ok(())
}

/// Adds a file of `size` bytes.
fn append(archive: &mut Builder<impl Write>, name: &str, size: u64, content: impl Read) -> io::Result<()> {
    let mut header = Header::new_gnu();
    header.set_entry_type(EntryType::Regular);
    header.set_size(size);
    header.set_mode(0o644);
    // `Header` starts with empty times and owners, which some tools do not read as a number.
    header.set_mtime(0);
    header.set_uid(0);
    header.set_gid(0);
    archive.append_data(&mut header, Path::new(name), content)
}

/// A reader that hashes what it gives.
struct Hashed<R> {
    inner: R,
    hasher: blake3::Hasher,
}

impl<R: Read> Read for Hashed<R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let n = self.inner.read(into)?;
        self.hasher.update(&into[..n]);
        Ok(n)
    }
}
