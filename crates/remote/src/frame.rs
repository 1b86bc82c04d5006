//! Messages between recorder and agent: frames of a length, a kind and a body. Rows are bytes, all else is JSON.
//!
//! Both sides are of the same version: [`id`] is compared before anything else is sent.

use std::io::{self, Read, Write};

use fenxi_model::TABLES;
use serde::{Deserialize, Serialize, de::DeserializeOwned};

use crate::clock::LONGEST_NS;

/// Prefix of a line by an agent or its bootstrap script; a login may print others.
pub const MARK: &str = "fenxi-agent: ";
/// Changed with the protocol.
const PROTOCOL: u32 = 2;
/// The longest frame of rows, and of anything else.
pub const LONGEST: usize = 16 << 20;
const LONGEST_WORDS: usize = 1 << 20;
const HEADER: usize = 5;
const JSON: u8 = b'J';
const ROWS: u8 = b'R';

/// Names the version, the protocol and the catalogue: two programs of one id understand each other.
pub fn id() -> String {
    let mut hash = 0xcbf2_9ce4_8422_2325_u64;
    let mut add = |text: &str| {
        for byte in text.bytes().chain([0]) {
            hash = (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        }
    };
    for table in TABLES {
        add(table.name);
        for column in table.columns {
            add(column.name);
            add(&column.ty.to_string());
        }
    }
    format!("{}-{PROTOCOL}-{hash:016x}", env!("CARGO_PKG_VERSION"))
}

/// An agent's greeting, in a line, before the first frame.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Hello {
    /// See [`id`].
    pub id: String,
    /// The host's own name.
    pub nodename: String,
    /// `x86_64` and so on.
    pub machine: String,
    /// Its user.
    pub uid: u32,
    /// Where the program lies.
    pub program: String,
}

/// Order to an agent: sources, interval, duration.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Order {
    /// The host of its rows.
    pub host: String,
    /// Elements of the list of sources.
    pub sources: Vec<String>,
    /// Seconds between two ticks.
    pub interval_s: f64,
    /// Seconds that the recording lasts, where that is known.
    pub duration_s: Option<f64>,
}

/// Seconds between two ticks that an agent does.
const INTERVALS: std::ops::RangeInclusive<f64> = 1e-3..=1e6;
/// The longest recording whose end is known, in seconds.
const LONGEST_RECORDING_S: f64 = 1e9;

impl Order {
    /// Problem that prevents the order from being carried out; None where there is none.
    pub fn wrong(&self) -> Option<String> {
        let (every, lasts) = (self.interval_s, self.duration_s.unwrap_or(0.0));
        if !INTERVALS.contains(&every) {
            return Some(format!("an interval of {every} s"));
        }
        (!(0.0..=LONGEST_RECORDING_S).contains(&lasts)).then(|| format!("a recording of {lasts} s"))
    }
}

/// When the recording began, on the recorder's clocks.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Began {
    /// Nanoseconds of the monotonic clock.
    pub steady_ns: i64,
    /// Microseconds of the wall clock at that moment.
    pub wall_us: i64,
}

impl Began {
    /// Returns true if clocks can have shown this.
    pub fn is_possible(&self) -> bool {
        [self.steady_ns, self.wall_us].iter().all(|t| (-LONGEST_NS..=LONGEST_NS).contains(t))
    }
}

/// A message of the recorder.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum ToAgent {
    /// The order: host, sources, interval and duration.
    Order(Order),
    /// The recording has begun.
    Begin(Began),
    /// The answer to a ping.
    Pong {
        /// As it was asked.
        asked: i64,
        /// When the ping came, nanoseconds of the recorder's monotonic clock.
        got: i64,
        /// When this was sent.
        sent: i64,
    },
    /// Another run has begun: facts are wanted once more.
    Facts,
    /// The recording has ended.
    Stop,
}

/// A message of the agent.
#[derive(Clone, Debug, PartialEq)]
pub enum FromAgent {
    /// See [`AgentMessage`].
    Message(AgentMessage),
    /// Compressed rows.
    Rows(Vec<u8>),
}

/// A message of the agent without rows.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum AgentMessage {
    /// Asks for the recorder's time; it is also a sign of life.
    Ping {
        /// Nanoseconds of the agent's monotonic clock.
        asked: i64,
    },
    /// Sources have started, and it is known how late the clock is.
    Ready,
    /// It cannot do what was ordered.
    Refused {
        /// Why.
        why: String,
    },
    /// Everything was sent.
    End,
}

/// Sends a message as JSON.
///
/// # Errors
/// When the other side does not take it.
pub fn send(to: &mut impl Write, message: &impl Serialize) -> io::Result<()> {
    let body = serde_json::to_vec(message)?;
    frame(to, JSON, &body)
}

/// Sends compressed rows; gives how many bytes went.
///
/// # Errors
/// When the other side does not take them.
pub fn send_rows(to: &mut impl Write, rows: &[u8]) -> io::Result<usize> {
    frame(to, ROWS, rows)?;
    Ok(HEADER + rows.len())
}

fn frame(to: &mut impl Write, kind: u8, body: &[u8]) -> io::Result<()> {
    let length = u32::try_from(body.len()).map_err(|_| io::Error::other("a frame of more than 4 GiB"))?;
    let mut bytes = Vec::with_capacity(HEADER + body.len());
    bytes.extend(length.to_le_bytes());
    bytes.push(kind);
    bytes.extend(body);
    // One write, so that a frame is not half on its way while a thread waits.
    to.write_all(&bytes)?;
    to.flush()
}

/// Reads a message of the recorder; None at the end of the stream.
///
/// # Errors
/// When that is no frame, or breaks off.
pub fn receive(from: &mut impl Read) -> io::Result<Option<ToAgent>> {
    let mut header = [0; HEADER];
    let mut got = 0;
    while got < HEADER {
        match from.read(&mut header[got..])? {
            0 if got == 0 => return Ok(None),
            0 => return Err(io::ErrorKind::UnexpectedEof.into()),
            n => got += n,
        }
    }
    let (length, kind) = split(&header)?;
    let mut body = Vec::new();
    from.take(length as u64).read_to_end(&mut body)?;
    if body.len() < length {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    if kind == JSON { json(&body).map(Some) } else { Err(wrong("a frame of an unknown kind")) }
}

/// Frames of an agent that were not read yet.
#[derive(Debug, Default)]
pub struct Inbox {
    bytes: Vec<u8>,
    read: usize,
}

impl Inbox {
    /// Adds what has come.
    pub fn add(&mut self, bytes: &[u8]) {
        self.bytes.drain(..std::mem::take(&mut self.read));
        self.bytes.extend(bytes);
    }

    /// Number of waiting bytes.
    pub fn waiting(&self) -> usize {
        self.bytes.len() - self.read
    }

    /// Everything that was not read yet.
    pub fn rest(&mut self) -> Vec<u8> {
        let rest = self.bytes.split_off(self.read);
        (self.bytes, self.read) = (Vec::new(), 0);
        rest
    }

    /// The next whole line, without its end.
    pub fn line(&mut self) -> Option<String> {
        let rest = &self.bytes[self.read..];
        let end = rest.iter().position(|byte| *byte == b'\n')?;
        let line = String::from_utf8_lossy(&rest[..end]).trim_end_matches('\r').to_owned();
        self.read += end + 1;
        Some(line)
    }

    /// The next whole frame.
    ///
    /// # Errors
    /// When what has come is no frame.
    pub fn frame(&mut self) -> io::Result<Option<FromAgent>> {
        let rest = &self.bytes[self.read..];
        let Some(header) = rest.first_chunk::<HEADER>() else { return Ok(None) };
        let (length, kind) = split(header)?;
        let Some(body) = rest.get(HEADER..HEADER + length) else { return Ok(None) };
        let frame = match kind {
            JSON => FromAgent::Message(json(body)?),
            ROWS => FromAgent::Rows(body.to_vec()),
            _ => return Err(wrong("a frame of an unknown kind")),
        };
        self.read += HEADER + length;
        Ok(Some(frame))
    }
}

fn split(header: &[u8; HEADER]) -> io::Result<(usize, u8)> {
    let [a, b, c, d, kind] = *header;
    let length = u32::from_le_bytes([a, b, c, d]) as usize;
    let longest = if kind == ROWS { LONGEST } else { LONGEST_WORDS };
    if length > longest { Err(wrong("a frame that is too long")) } else { Ok((length, kind)) }
}

fn json<M: DeserializeOwned>(body: &[u8]) -> io::Result<M> {
    serde_json::from_slice(body).map_err(|error| wrong(&format!("a message that cannot be read: {error}")))
}

fn wrong(what: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, what)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_arrive_whole_however_they_are_cut() {
        let mut bytes = b"Last login: today\nfenxi-agent: hello {}\r\n".to_vec();
        send(&mut bytes, &AgentMessage::Ping { asked: 7 }).unwrap();
        send_rows(&mut bytes, b"\n\n").unwrap();
        for step in 1..bytes.len() {
            let (mut inbox, mut lines, mut frames) = (Inbox::default(), Vec::new(), Vec::new());
            for piece in bytes.chunks(step) {
                inbox.add(piece);
                while lines.len() < 2 {
                    let Some(line) = inbox.line() else { break };
                    lines.push(line);
                }
                while lines.len() == 2 {
                    let Some(frame) = inbox.frame().unwrap() else { break };
                    frames.push(frame);
                }
            }
            assert_eq!(lines, ["Last login: today", "fenxi-agent: hello {}"]);
            assert_eq!(
                frames,
                [FromAgent::Message(AgentMessage::Ping { asked: 7 }), FromAgent::Rows(b"\n\n".to_vec())]
            );
        }
    }

    #[test]
    fn noise_is_an_error_and_an_end_is_none() {
        let mut bytes = Vec::new();
        send(&mut bytes, &ToAgent::Stop).unwrap();
        let mut from = bytes.as_slice();
        assert_eq!(receive(&mut from).unwrap(), Some(ToAgent::Stop));
        assert_eq!(receive(&mut from).unwrap(), None);
        assert!(receive(&mut &bytes[..3]).is_err());
        assert!(receive(&mut &b"\xff\xff\xff\xffJ"[..]).unwrap_err().to_string().contains("too long"));
        let mut inbox = Inbox::default();
        inbox.add(b"\x02\0\0\0J{]");
        assert!(inbox.frame().is_err());
    }
}
