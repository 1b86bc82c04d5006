//! Finding the store, and sealing what a dead recorder left in it.

use std::{
    hash::{BuildHasher, Hasher, RandomState},
    path::PathBuf,
};

use fenxi_model::Micros;
use fenxi_store::Store;

use crate::{options::Global, print};

/// Where the store is that the command line names, from the root on: processes that answer questions work in another folder.
pub fn path(global: &Global) -> std::io::Result<PathBuf> {
    std::path::absolute(global.store.clone().unwrap_or_else(Store::default_path))
}

/// The store that the command line names, made if there is none yet.
pub fn create(global: &Global) -> anyhow::Result<Store> {
    let store = Store::open_or_create(path(global)?)?;
    recover(global, &store);
    store.clear();
    Ok(store)
}

/// The store that the command line names, as it is: nothing in it is sealed or removed.
pub fn open_as_it_is(global: &Global) -> anyhow::Result<Store> {
    Ok(Store::open(path(global)?)?)
}

/// The store that the command line names; it must exist.
pub fn open(global: &Global) -> anyhow::Result<Store> {
    let store = Store::open(path(global)?)?;
    recover(global, &store);
    Ok(store)
}

fn recover(global: &Global, store: &Store) {
    match store.recover() {
        Ok(recovered) => {
            for run in &recovered {
                match &run.error {
                    Some(e) => print::message(&format!("warning: {} could not be recovered: {e}", run.id)),
                    None if global.quiet => {}
                    None => print::message(&format!("recovered {}: its recorder had died", run.id)),
                }
            }
        }
        // A store that cannot be written can still be read.
        Err(e) => print::message(&format!("warning: an unfinished run could not be sealed: {e}")),
    }
}

/// A number that distinguishes the id of a new run from that of another which began in the same second.
pub fn random() -> u64 {
    RandomState::new().build_hasher().finish()
}

/// The time.
pub fn now() -> Micros {
    Micros(jiff::Timestamp::now().as_microsecond())
}
