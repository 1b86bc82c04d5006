//! Errors of loading and attaching programs, with the way out.

use std::sync::{Mutex, PoisonError};

use fenxi_source::{Root, SourceError};
use libbpf_rs::{ErrorKind, PrintLevel};

use crate::privileges;

/// Why an observer cannot observe.
#[derive(Debug, thiserror::Error)]
pub enum EbpfError {
    /// The kernel refused to load a program, or to attach it.
    #[error("the kernel refuses {what}: {why}")]
    Refused {
        /// The program, or the step.
        what: String,
        /// The missing part, and the way out.
        why: String,
    },
    /// The committed object is not what this crate expects: a mistake of ours.
    #[error("the BPF object `{object}` has no {what}")]
    Object {
        /// Name of the object.
        object: &'static str,
        /// The missing part.
        what: String,
    },
    /// A map could not be read or written.
    #[error("the map `{map}` cannot be read: {source}")]
    Map {
        /// Its name.
        map: String,
        /// Why.
        source: libbpf_rs::Error,
    },
    /// The target of the observation is not there.
    #[error("{0}")]
    Target(String),
}

impl EbpfError {
    /// A refusal of `what`, explained by what this process may do and what this kernel has.
    pub(crate) fn refused(what: impl Into<String>, error: &libbpf_rs::Error) -> EbpfError {
        let said = take_said();
        let why = match error.kind() {
            ErrorKind::PermissionDenied => privileges::why_refused(),
            ErrorKind::NotFound => format!("it has no such thing ({})", last_of(&said, error)),
            _ => last_of(&said, error),
        };
        EbpfError::Refused { what: what.into(), why }
    }
}

impl From<EbpfError> for SourceError {
    fn from(error: EbpfError) -> SourceError {
        SourceError::Refused(error.to_string())
    }
}

/// Observers watch the running kernel, no saved copy of /proc.
pub(crate) fn live_only(root: &Root) -> Result<(), SourceError> {
    if root.is_live() {
        return Ok(());
    }
    let why = "it watches the running kernel, not a saved copy (--root)".to_owned();
    Err(SourceError::Unavailable { what: "an eBPF observer", why })
}

fn last_of(said: &[String], error: &libbpf_rs::Error) -> String {
    let last =
        said.iter().rev().map(|line| line.trim()).find(|line| line.starts_with("libbpf: ") && !line.contains("BEGIN"));
    match last {
        Some(line) => format!("{error:#}; {}", line.trim_start_matches("libbpf: ")),
        None => format!("{error:#}"),
    }
}

/// Messages of libbpf since the last call: they have the reason, its errors have not.
static SAID: Mutex<Vec<String>> = Mutex::new(Vec::new());
/// Lines that are kept: a verifier's log can be long.
const KEPT: usize = 64;

/// Lets libbpf's messages be kept instead of printed.
pub(crate) fn listen() {
    libbpf_rs::set_print(Some((PrintLevel::Warn, |_, text| {
        let mut said = SAID.lock().unwrap_or_else(PoisonError::into_inner);
        if said.len() == KEPT {
            said.remove(0);
        }
        said.push(text);
    })));
}

fn take_said() -> Vec<String> {
    std::mem::take(&mut SAID.lock().unwrap_or_else(PoisonError::into_inner))
}
