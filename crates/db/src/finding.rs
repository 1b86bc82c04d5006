//! Visibility of one thing in a server, and why it is not seen.

use std::time::Instant;

use fenxi_wire::client::ClientError;

/// Visibility of something: all, a part, or none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Seen {
    /// All of it.
    Yes,
    /// A part of it.
    Partly,
    /// The server refuses.
    Refused,
    /// It is switched off, or not there.
    Missing,
}

impl Seen {
    /// As a word.
    pub const fn word(self) -> &'static str {
        match self {
            Seen::Yes => "seen",
            Seen::Partly => "partly seen",
            Seen::Refused => "refused",
            Seen::Missing => "missing",
        }
    }
}

/// One thing that is read, or that could be.
#[derive(Clone, Debug)]
pub struct Finding {
    /// Description.
    pub what: String,
    /// How much of it is seen.
    pub seen: Seen,
    /// Why not all, and what helps.
    pub why: Option<String>,
    /// How long the answer took, in seconds.
    pub took_s: Option<f64>,
    /// Seconds between two readings.
    pub every_s: Option<f64>,
}

impl Finding {
    /// Something that is not there.
    pub fn missing(what: &str, why: &str) -> Finding {
        Finding { what: what.to_owned(), seen: Seen::Missing, why: Some(why.to_owned()), took_s: None, every_s: None }
    }
}

/// Asks once, and returns how it went. A lost connection ends the check.
///
/// # Errors
/// When the connection is lost.
pub(crate) fn timed(
    what: &str,
    every_s: f64,
    ask: impl FnOnce() -> Result<(), ClientError>,
) -> Result<Finding, ClientError> {
    let began = Instant::now();
    let (seen, why) = match ask() {
        Ok(()) => (Seen::Yes, None),
        Err(error) if error.is_refusal() => (Seen::Refused, error.server().map(ToString::to_string)),
        Err(error) => return Err(error),
    };
    let took_s = Some(began.elapsed().as_secs_f64());
    Ok(Finding { what: what.to_owned(), seen, why, took_s, every_s: Some(every_s) })
}
