//! Verification of a run against its manifest.

use std::{
    collections::BTreeSet,
    io::{self, Read as _, Seek as _, SeekFrom},
    path::Path,
};

use fenxi_model::RunId;
use fs_err as fs;
use parquet::arrow::arrow_reader::ArrowReaderMetadata;

use crate::{
    FileEntry, Manifest, Problem, Store, StoreError,
    bounds::WHOLE,
    folder::{open_regular, read_regular},
    packed::PackedFile,
    rows::RUN,
    seal::manifest_is_intact,
};

impl Store {
    /// Compares every file of `id` with its manifest; an empty list means the run is as it was sealed.
    ///
    /// # Errors
    /// When there is no such run.
    pub fn verify(&self, id: &RunId) -> Result<Vec<Problem>, StoreError> {
        let dir = self.run_dir(id);
        if !dir.is_dir() {
            return Err(self.unknown(id.as_str()));
        }
        let path = dir.join("run.json");
        let mut problems = Vec::new();
        let mut add = |path: &Path, what: String| problems.push(Problem { path: path.to_owned(), what });
        let text = match read_regular(&path, WHOLE) {
            Ok(bytes) => String::from_utf8_lossy(&bytes).into_owned(),
            Err(e) if e.kind() == io::ErrorKind::NotFound => {
                add(&path, "is missing".to_owned());
                return Ok(problems);
            }
            Err(e) => {
                add(&path, format!("cannot be read: {e}"));
                return Ok(problems);
            }
        };
        let manifest: Manifest = match serde_json::from_str(&text) {
            Ok(manifest) => manifest,
            Err(e) => {
                add(&path, format!("is not a manifest: {e}"));
                return Ok(problems);
            }
        };
        if !manifest_is_intact(&text, &manifest.digest) {
            add(&path, "was changed: its digest does not fit".to_owned());
        }
        if manifest.id != *id {
            add(&path, format!("belongs to run {}", manifest.id));
        }
        let compacted = self.compacted()?;
        for file in &manifest.files {
            match file.table.as_deref().and_then(|table| compacted.find(id, table)) {
                Some(packed) => {
                    if let Err(what) = self.check_packed(id, file, packed) {
                        add(&self.packed_path(packed), what);
                    }
                }
                None => {
                    let path = dir.join(&file.name);
                    if let Err(what) = check(&path, file) {
                        add(&path, what);
                    }
                }
            }
        }
        let known: BTreeSet<&str> = manifest.files.iter().map(|f| f.name.as_str()).chain(["run.json"]).collect();
        let mut found = Vec::new();
        list(&dir, "", &mut found)?;
        for name in found.iter().filter(|n| !known.contains(n.as_str())) {
            add(&dir.join(name), "is not in the manifest".to_owned());
        }
        Ok(problems)
    }
}

impl Store {
    /// Checks a file of many runs, all of it once in the life of this handle, and that it has the rows of a run.
    fn check_packed(&self, run: &RunId, entry: &FileEntry, packed: &PackedFile) -> Result<(), String> {
        if !self.packed().was_verified(&packed.name) {
            self.verify_packed(packed)?;
            self.packed().set_verified(&packed.name);
        }
        let rows = self.rows(run, entry, Some(&[RUN])).map_err(|e| e.to_string())?.n_rows();
        if rows == entry.rows {
            Ok(())
        } else {
            Err(format!("has {rows} rows of {run}, its manifest says {}", entry.rows))
        }
    }

    /// Compares a file of many runs with the manifest of these.
    pub(crate) fn verify_packed(&self, packed: &PackedFile) -> Result<(), String> {
        let entry = FileEntry {
            name: packed.name.clone(),
            table: Some(packed.table.clone()),
            rows: packed.rows,
            bytes: packed.bytes,
            // The one in the manifest is of the columns without `run`.
            fingerprint: String::new(),
            blake3: packed.blake3.clone(),
        };
        check(&self.packed_path(packed), &entry)
    }
}

/// Every file below `dir`, as paths within it.
fn list(dir: &Path, within: &str, found: &mut Vec<String>) -> Result<(), StoreError> {
    for entry in fs::read_dir(dir)? {
        let entry = entry?;
        let name = format!("{within}{}", entry.file_name().to_string_lossy());
        if entry.file_type()?.is_dir() {
            list(&entry.path(), &format!("{name}/"), found)?;
        } else {
            found.push(name);
        }
    }
    Ok(())
}

fn check(path: &Path, entry: &FileEntry) -> Result<(), String> {
    let file = match open_regular(path) {
        Ok(file) => file,
        Err(e) if e.kind() == io::ErrorKind::NotFound => return Err("is missing".to_owned()),
        Err(e) => return Err(format!("cannot be read: {e}")),
    };
    let mut hasher = blake3::Hasher::new();
    let read = io::copy(&mut &file, &mut hasher).map_err(|e| format!("cannot be read: {e}"))?;
    if read != entry.bytes {
        return Err(format!("has {read} bytes, {} were sealed", entry.bytes));
    }
    if hasher.finalize().to_hex().as_str() != entry.blake3 {
        return Err("was changed: its BLAKE3 is not the one in the manifest".to_owned());
    }
    if entry.name.ends_with(".parquet") { check_table(file, entry) } else { Ok(()) }
}

/// The longest description of its own content that a Parquet file may have; all of it is read into memory.
const FOOTER: u32 = 32 << 20;

/// Refuses a Parquet file whose description is longer than that of any run.
fn check_footer(mut file: &fs::File) -> Result<(), String> {
    let mut end = [0u8; 8];
    let unreadable = |e: io::Error| format!("is not readable Parquet: {e}");
    file.seek(SeekFrom::End(-8)).and_then(|_| file.read_exact(&mut end)).map_err(unreadable)?;
    let [a, b, c, d, ..] = end;
    let bytes = u32::from_le_bytes([a, b, c, d]);
    if bytes > FOOTER { Err(format!("describes itself in {bytes} bytes, and {FOOTER} are the most")) } else { Ok(()) }
}

/// Compares what a Parquet file says of its rows and columns with the manifest.
pub(crate) fn check_table(file: fs::File, entry: &FileEntry) -> Result<(), String> {
    check_footer(&file)?;
    let file = file.into_file();
    let reader =
        ArrowReaderMetadata::load(&file, Default::default()).map_err(|e| format!("is not readable Parquet: {e}"))?;
    let rows = reader.metadata().file_metadata().num_rows();
    if rows != entry.rows as i64 {
        return Err(format!("has {rows} rows, the manifest says {}", entry.rows));
    }
    // Files of one fingerprint are read as one table without a look at each.
    if !entry.fingerprint.is_empty() && fenxi_model::fingerprint(reader.schema()) != entry.fingerprint {
        return Err("has other columns than the manifest says".to_owned());
    }
    Ok(())
}
