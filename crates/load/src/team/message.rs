//! Messages between coordinator and workers: length-prefixed JSON.

use std::io::{self, Read, Write};

use serde::{Deserialize, Serialize, de::DeserializeOwned};

use crate::{engine::Settings, tally::Tally};

/// Both sides are the same program in the same version: what a workload means is nowhere else agreed upon.
pub const VERSION: &str = env!("CARGO_PKG_VERSION");
/// The longest message before it is known who speaks.
pub const SHORT: usize = 4 << 10;
/// The longest message. A recorded trace of some million starts is the longest that there is.
pub const LONG: usize = 256 << 20;

/// A worker's part of a load.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Order {
    /// The database's address.
    pub url: String,
    /// Who logs in, where the address does not say it.
    pub user: String,
    /// With which password.
    pub password: Option<String>,
    /// Name of the workload.
    pub workload: String,
    /// Text of its file.
    pub text: String,
    /// Options that differ from the file's.
    pub settings: Vec<(String, String)>,
    /// Of all workers together.
    pub run: Settings,
    /// Threads of this worker.
    pub threads: usize,
    /// Threads of the workers before this one, and of all.
    pub share: (usize, usize),
}

/// A message.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum Message {
    /// The coordinator begins.
    Hello {
        /// Its version.
        version: String,
        /// A token, where the worker wants one.
        token: Option<String>,
    },
    /// The worker takes orders; it has so many processors.
    Welcome {
        /// Processors that it may use.
        processors: usize,
    },
    /// The worker does not take this coordinator's orders, or cannot do what was ordered.
    Refused {
        /// Why.
        why: String,
    },
    /// The coordinator asks how long an answer takes.
    Ping,
    /// The answer.
    Pong,
    /// The worker's part of the load.
    Order(Box<Order>),
    /// All connections were tried.
    Ready,
    /// The load begins so many nanoseconds after this was read.
    Begin {
        /// Nanoseconds.
        after_ns: u64,
    },
    /// The load ends now.
    Stop,
    /// An interval has ended.
    Interval {
        /// Its number, from 0.
        number: usize,
        /// Counts of that interval.
        tally: Box<Tally>,
    },
    /// The worker's load has ended, as in [`crate::engine::Outcome`].
    End {
        /// Transactions completed after the end.
        drained: Box<Tally>,
        /// Transactions still under way.
        unfinished: u64,
        /// Transactions that were due and never begun.
        unstarted: u64,
        /// Why it ended before its time.
        stopped: Option<String>,
    },
    /// Nothing, so that the other side knows that there is one.
    Alive,
}

/// Sends a message.
///
/// # Errors
/// When the other side does not take it.
pub fn send(to: &mut dyn Write, message: &impl Serialize) -> io::Result<()> {
    let mut bytes = vec![0; 4];
    serde_json::to_writer(&mut bytes, message)?;
    let length = u32::try_from(bytes.len() - 4).map_err(|_| io::Error::other("a message of more than 4 GiB"))?;
    bytes[..4].copy_from_slice(&length.to_be_bytes());
    to.write_all(&bytes)?;
    to.flush()
}

/// Reads a message of at most so many bytes.
///
/// # Errors
/// When the other side ends, is silent for too long, or sends what is no message.
pub fn receive<M: DeserializeOwned>(from: &mut dyn Read, longest: usize) -> io::Result<M> {
    let mut length = [0; 4];
    from.read_exact(&mut length)?;
    let length = u32::from_be_bytes(length) as usize;
    if length > longest {
        return Err(io::Error::other(format!("a message of {length} bytes; {longest} are allowed")));
    }
    // Grows with what comes, so that a length alone takes no memory.
    let mut bytes = Vec::new();
    from.take(length as u64).read_to_end(&mut bytes)?;
    if bytes.len() < length {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    Ok(serde_json::from_slice(&bytes)?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schedule::Schedule;

    #[test]
    fn what_is_sent_is_received_and_noise_is_an_error() {
        let mut bytes = Vec::new();
        let schedule = Schedule::Trace([0, 5].into());
        send(&mut bytes, &Message::Refused { why: serde_json::to_string(&schedule).unwrap() }).unwrap();
        let Message::Refused { why } = receive(&mut bytes.as_slice(), SHORT).unwrap() else { panic!() };
        assert_eq!(serde_json::from_str::<Schedule>(&why).unwrap(), schedule);
        for end in 0..bytes.len() {
            assert!(receive::<Message>(&mut &bytes[..end], SHORT).is_err());
        }
        assert!(receive::<Message>(&mut &b"\xff\xff\xff\xff{}"[..], LONG).unwrap_err().to_string().contains("allowed"));
        assert!(receive::<Message>(&mut &b"\0\0\0\x02{}"[..], SHORT).is_err());
    }

    #[test]
    fn a_rate_that_lasts_survives_json() {
        let rate = crate::schedule::Rate::parse("100..200@5s,300").unwrap();
        let schedule = Schedule::Open { rate, arrival: crate::schedule::Arrival::Steady { jitter: 0.25 } };
        let text = serde_json::to_string(&schedule).unwrap();
        assert_eq!(serde_json::from_str::<Schedule>(&text).unwrap(), schedule);
    }
}
