//! Errors that prevent an import, with the way out.

use fenxi_formats::Foreign;
use fenxi_store::StoreError;

/// Why an import failed; nothing of it is kept then.
#[derive(Debug, thiserror::Error)]
pub enum ImportError {
    /// An input could not be opened or read at all.
    #[error("{name}: {source}")]
    Open {
        /// The input.
        name: String,
        /// Why.
        source: std::io::Error,
    },
    /// None of the inputs is of a format that is understood.
    #[error(
        "{names}: unknown format (`fenxi list formats` lists the known ones; --as NAME forces one, \
         --map FILE reads columns of any text; `fenxi format new --from FILE` drafts a format){near}"
    )]
    Unknown {
        /// The inputs.
        names: String,
        /// The formats that come nearest to each, and what it lacks: a line each, with a newline before.
        near: String,
    },
    /// Inputs are of formats that are understood, and have nothing of what these are made of; a line for each.
    #[error("nothing was imported:\n{0}")]
    Empty(String),
    /// None of the inputs is a text; a line for each.
    #[error("nothing can be imported:\n{0}")]
    NoText(String),
    /// An input that is no text was to be read as a format.
    #[error("{}; it cannot be read as {format}", says(.name, .foreign))]
    Forced {
        /// The input.
        name: String,
        /// Kind of the input.
        foreign: Foreign,
        /// The format that was named.
        format: &'static str,
    },
    /// With `strict`, something could not be read or had to be assumed.
    #[error("--strict: {count} could not be read or had to be assumed; nothing was imported\n{first}")]
    Strict {
        /// How many things.
        count: u64,
        /// The first of them, a line each.
        first: String,
    },
    /// Packed inputs unpack to more than they may.
    #[error("it unpacks to more than the {0} bytes that are accepted here; nothing was imported")]
    TooLong(u64),
    /// The store could not be written.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// A sentence with the kind of an input that is no text, and the way out.
pub(crate) fn says(name: &str, foreign: &Foreign) -> String {
    match foreign.way_out {
        "" => format!("{name} is {}", foreign.what),
        way_out => format!("{name} is {}: `{way_out}` prints it as text, which can be imported", foreign.what),
    }
}
