//! Readings that an observation of a server would have, those it would lack and why, and how long each answer takes.
//!
//! Nothing is listed twice: what is checked are the readings themselves, each asked once.

use fenxi_model::{Micros, Rows};

pub use crate::finding::{Finding, Seen};
use crate::{
    finding::timed,
    gather::Heard,
    moment::Interval,
    reading::About,
    sample::Sample,
    server::{Server, ServerError},
};

/// The version of a server, and what would be seen of it.
///
/// # Errors
/// When it cannot be reached, or the connection is lost.
pub fn check(server: &Server, samples_per_s: u32) -> Result<(String, Vec<Finding>), ServerError> {
    let mut sampler = server.sampler()?;
    let mut poller = server.poller()?;
    let mut sample = Sample::default();
    // The first one also learns names.
    sampler.sample(&mut sample)?;
    sample.clear();
    let looks = sampler.looks();
    let mut sessions = timed("sessions, waits", 1.0 / f64::from(samples_per_s), || sampler.sample(&mut sample))?;
    if sample.hidden > 0 {
        sessions.seen = Seen::Partly;
        sessions.why = Some(format!("{} sessions of others are hidden: {}", sample.hidden, server.grant()));
    }
    let mut rows = Rows::new("");
    let interval = Interval { t: Micros(0), dt: None };
    let about = About { server: server.name(), interval, is_last: false };
    let mut findings = Vec::from_iter(looks.then_some(sessions));
    findings.extend(poller.check(&about, &Heard::default(), &mut rows)?);
    Ok((poller.version(), findings))
}
