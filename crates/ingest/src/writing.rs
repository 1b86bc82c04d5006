//! What becomes of inputs that were read: rows go into the run, texts are kept.

use std::sync::atomic::Ordering;

use fenxi_model::Rows;
use fenxi_store::{BOOT, FileEntry, OpenRun, StoreError};

use crate::{
    feed::{Kept, Shared},
    pack::Pack,
};

/// Keeps a short input among others; its BLAKE3 may be known already.
pub(crate) fn keep_in(
    pack: &mut Pack,
    content: &[u8],
    blake3: Option<String>,
    open: &OpenRun,
) -> Result<Kept, StoreError> {
    let part = pack.add(content, |name| open.raw_file(name))?;
    let blake3 = blake3.unwrap_or_else(|| blake3::hash(content).to_hex().to_string());
    // The file is known when all inputs are in it.
    Ok(Kept { bytes: content.len() as u64, blake3, raw: FileEntry::default(), part: Some(part) })
}

/// Writes rows into the run until there are no more; gives what went wrong.
pub(crate) fn write(
    rows: impl IntoIterator<Item = (Rows, bool)>,
    open: &mut OpenRun,
    shared: &Shared,
) -> Option<StoreError> {
    let mut failed = None;
    for (mut rows, since_boot) in rows {
        let stored = if since_boot { open.append_apart(BOOT, &mut rows) } else { open.append(&mut rows) };
        if let Err(error) = stored {
            shared.cancelled.store(true, Ordering::Relaxed);
            failed.get_or_insert(error);
        }
    }
    failed
}

/// The first notes among `rows`, as `file:line: message`.
pub(crate) fn repeat_notes(rows: &Rows, said: &mut Vec<String>) {
    use fenxi_model::catalog::note;
    if let Some(table) = rows.of(&note::TABLE) {
        for row in 0..table.n_rows() {
            if said.len() >= 10 {
                return;
            }
            let line = table.f64(row, note::line).map_or(String::new(), |l| format!("{l}:"));
            let file = table.str(row, note::file).unwrap_or("");
            let message = table.str(row, note::message).unwrap_or("");
            said.push(format!("  {file}:{line} {message}"));
        }
    }
}
