//! Metadata of an input besides its content: from the user, from its name, from the file system.

use fenxi_model::Micros;
use jiff::tz::TimeZone;

/// Metadata of an input: file name, host, start time, interval.
#[derive(Clone, Debug)]
pub struct Hints {
    /// The input's name, as notes give it.
    pub file: String,
    /// The host that the user named: it wins over the content.
    pub host: Option<String>,
    /// The host to fall back to: from the file's name, or this machine's.
    pub default_host: String,
    /// Start of the observation, as given by the user.
    pub start: Option<Micros>,
    /// Seconds between two samples, as given by the user.
    pub interval_s: Option<f64>,
    /// The time zone of times that do not name one.
    pub zone: TimeZone,
    /// When the file was last written.
    pub modified: Option<Micros>,
    /// By how many seconds rows without times would end after `modified`, did it begin then
    /// ([`overrun`](crate::overrun)); None where it was not read before.
    pub overrun_s: Option<f64>,
    /// Label that distinguishes its figures from other inputs of the run with the same columns; None where there are none.
    pub label: Option<String>,
    /// How to read columns of an unknown CSV, TSV or JSON lines file: the text of a mapping file.
    pub mapping: Option<String>,
}

impl Hints {
    /// Hints that say nothing, for an input called `file`.
    pub fn none(file: &str) -> Hints {
        Hints {
            file: file.to_owned(),
            host: None,
            default_host: "unknown".to_owned(),
            start: None,
            interval_s: None,
            zone: TimeZone::UTC,
            modified: None,
            overrun_s: None,
            label: None,
            mapping: None,
        }
    }
}
