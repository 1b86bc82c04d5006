//! Servers that this process asks, by the first process of each on this host: others that observe the same server name it alike.

use std::{
    collections::BTreeMap,
    sync::{Mutex, PoisonError},
};

static NAMES: Mutex<BTreeMap<u32, String>> = Mutex::new(BTreeMap::new());

/// The name under which rows are of the server whose first process is `pid`; None where it is not asked.
pub fn name_of(pid: u32) -> Option<String> {
    NAMES.lock().unwrap_or_else(PoisonError::into_inner).get(&pid).cloned()
}

/// Remembers it.
pub(crate) fn remember(pid: u32, name: &str) {
    NAMES.lock().unwrap_or_else(PoisonError::into_inner).insert(pid, name.to_owned());
}
