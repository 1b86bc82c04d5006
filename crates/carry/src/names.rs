//! Names and lengths of files that both ways know.

use fenxi_model::RunId;

/// Files there that may change, as far as they are known: BLAKE3 by name.
pub(crate) const STATE: &str = ".fenxi-push.json";
/// The most that the mark of a store may have.
pub(crate) const MARK_BYTES: u64 = 64 << 10;

pub(crate) fn manifest_of(id: &RunId) -> String {
    format!("runs/run={id}/run.json")
}
