//! Observers of a server: one looks at its sessions, one reads its counters.

use fenxi_model::Rows;
use fenxi_wire::client::ClientError;

use crate::{finding::Finding, gather::Heard, moment::Interval, reading::About, sample::Sample, task::Task};

/// Looks at the sessions of a server.
pub trait Sampler: Send {
    /// Adds the sessions that are not idle.
    ///
    /// # Errors
    /// When the server refuses, or the connection is lost.
    fn sample(&mut self, into: &mut Sample) -> Result<(), ClientError>;

    /// Reports what it added to the server's counters, when it does nothing more.
    ///
    /// # Errors
    /// When the connection is lost.
    fn finish(&mut self) -> Result<(), ClientError> {
        Ok(())
    }

    /// Whether there is anything to look at.
    fn looks(&self) -> bool {
        true
    }
}

/// Reads the counters of a server.
pub trait Poller: Send {
    /// Reads what is due and adds rows; `heard` is what the sampler found since the last time. Readings that the server
    /// refuses become notes.
    ///
    /// # Errors
    /// When the connection is lost.
    fn poll(&mut self, interval: Interval, heard: &Heard, rows: &mut Rows) -> Result<(), ClientError>;

    /// Counters began anew since the last poll, which are named as a snapshot names them.
    fn was_reset(&mut self, what: &str) {
        let _ = what;
    }

    /// Reports what it added to the server's counters, when it does nothing more.
    ///
    /// # Errors
    /// When the connection is lost.
    fn finish(&mut self) -> Result<(), ClientError> {
        Ok(())
    }

    /// The processes or threads of the sessions that there were at the last poll, on the server's host.
    fn tasks(&self) -> &[Task];

    /// Announces that this is the last poll: all is due.
    fn hurry(&mut self);

    /// The server's version, as it reports it.
    fn version(&self) -> String;

    /// Asks everything once, and returns how it went.
    ///
    /// # Errors
    /// When the connection is lost.
    fn check(&mut self, about: &About<'_>, heard: &Heard, rows: &mut Rows) -> Result<Vec<Finding>, ClientError>;
}
