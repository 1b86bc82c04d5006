//! Formats by name, those of the store among them.

use std::sync::Arc;

use fenxi_formats::{AnyFormat, Formats};
use fenxi_ingest::{Limits, OwnFormats, Programs, own_formats};
use fenxi_store::Store;

use crate::{
    options::{Global, unknown},
    print,
    stop::Stop,
    stores,
};

/// The formats that an import into `store` knows. Errors in one of the store's are reported, and the others are used.
pub fn of_store(store: &Store, stop: &Stop) -> Formats {
    let stop = stop.clone();
    warned(own_formats(store, &Programs::Run { stopped: Arc::new(move || stop.asked()), limits: Limits::default() }))
}

/// The formats of the store that the command line names, for listings; only the shipped ones where there is no store yet.
pub fn known(global: &Global) -> Formats {
    let store = stores::path(global).ok().and_then(|path| Store::open(path).ok());
    let Some(store) = store else { return Formats::default() };
    warned(own_formats(&store, &Programs::Run { stopped: Arc::new(|| false), limits: Limits::default() }))
}

fn warned(own: OwnFormats) -> Formats {
    for wrong in &own.wrong {
        print::message(&format!("warning: a format of the store is left out: {wrong}"));
    }
    own.formats
}

/// The format called `name`.
///
/// # Errors
/// When there is none, with names that are near.
pub fn named(known: &Formats, name: &str) -> anyhow::Result<AnyFormat> {
    known.named(name).ok_or_else(|| unknown("format", name, known.names(), "fenxi list formats"))
}
