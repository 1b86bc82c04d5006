//! The protocol: frames of a kind, a length and a payload over a stream socket.
//!
//! Requests are JSON. An answer is the bytes of an Arrow IPC stream in `Data` frames, then `Done`; or `Failed`.
//! Frames of the worker are bounded, and so is what a reader keeps of them: a worker is not believed.

use std::{
    io::{self, Read, Write},
    path::PathBuf,
};

use serde::{Deserialize, Serialize, de::DeserializeOwned};

/// Bytes of a data frame at most.
pub const PIECE: usize = 256 << 10;
/// Bytes of a request at most: the views of ten thousand runs fit well.
const LONGEST_REQUEST: u64 = 512 << 20;
/// Bytes of a failure's text, and of any other answer but data, at most.
const LONGEST_REPLY: u64 = 1 << 20;

/// Kind of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Kind {
    /// JSON of a [`Request`].
    Request = b'Q',
    /// A piece of an Arrow IPC stream.
    Data = b'D',
    /// JSON of an [`Answered`]: the request was carried out.
    Done = b'O',
    /// JSON of a [`Failure`].
    Failed = b'F',
}

impl Kind {
    fn from_byte(byte: u8) -> Option<Kind> {
        [Kind::Request, Kind::Data, Kind::Done, Kind::Failed].into_iter().find(|k| *k as u8 == byte)
    }

    fn longest(self) -> u64 {
        match self {
            Kind::Request => LONGEST_REQUEST,
            Kind::Data => PIECE as u64,
            Kind::Done | Kind::Failed => LONGEST_REPLY,
        }
    }
}

/// Request to a session.
#[derive(Debug, Serialize, Deserialize)]
pub enum Request {
    /// Gives up rights and sets bounds; the first request of every session.
    Setup(Setup),
    /// Runs statements of Fenxi's own: views and tables.
    Run(String),
    /// Adds rows to a table.
    Fill {
        /// The table.
        table: String,
        /// Rows of cells, in the order of its columns.
        rows: Vec<Vec<Cell>>,
    },
    /// Answers one statement that only reads.
    Ask(Statement),
    /// Gives the parser's tree of a statement, which does not run.
    Tree(String),
}

/// Resources that a session may use.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Setup {
    /// Folders whose files may be read.
    pub read_dirs: Vec<PathBuf>,
    /// Single files that may be read.
    pub read_files: Vec<PathBuf>,
    /// Folder where the engine may spill, which is there; None: it may not. [`crate::Workers::session`] chooses it.
    pub spill: Option<PathBuf>,
    /// Limit of spilled data, such as `4GB`; None for nearly all free space.
    pub spill_limit: Option<String>,
    /// The engine's own memory limit, as `512MiB`; None for the engine's default.
    pub memory_limit: Option<String>,
    /// Bytes of private memory of the process beyond what the template had (RLIMIT_DATA); None: no limit.
    pub data_bytes: Option<u64>,
    /// Threads of the engine.
    pub threads: usize,
}

/// One statement that only reads.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Statement {
    /// Its text, without EXPLAIN before it and `;` after it.
    pub sql: String,
    /// Execution, or EXPLAIN.
    pub explain: Explain,
    /// A value for each `$name` in it.
    pub params: Vec<(String, Cell)>,
    /// True if its whole text is Fenxi's own, so that it need not be looked at before it is planned.
    pub is_ours: bool,
}

/// Execution of a statement, or EXPLAIN.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Explain {
    /// It is answered.
    #[default]
    No,
    /// Its plan is returned; it does not run.
    Plan,
    /// It runs, and its plan is returned with times and rows.
    Analyze,
}

/// A value.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Cell {
    /// NULL.
    Null,
    /// A truth value.
    Bool(bool),
    /// A whole number.
    Int(i64),
    /// A number.
    Float(f64),
    /// A text.
    Text(String),
}

impl<T: Into<Cell>> From<Option<T>> for Cell {
    fn from(value: Option<T>) -> Cell {
        value.map_or(Cell::Null, Into::into)
    }
}

impl From<&str> for Cell {
    fn from(text: &str) -> Cell {
        Cell::Text(text.to_owned())
    }
}

impl From<String> for Cell {
    fn from(text: String) -> Cell {
        Cell::Text(text)
    }
}

impl From<i64> for Cell {
    fn from(value: i64) -> Cell {
        Cell::Int(value)
    }
}

impl From<f64> for Cell {
    fn from(value: f64) -> Cell {
        Cell::Float(value)
    }
}

impl From<bool> for Cell {
    fn from(value: bool) -> Cell {
        Cell::Bool(value)
    }
}

/// A request that was carried out.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Answered {
    /// After a setup: what confines the session, in words.
    pub confined: Vec<String>,
    /// After a question for a tree: JSON.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub tree: String,
}

/// Why a request was not carried out.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Failure {
    /// The engine's own message.
    Engine(String),
    /// There is no statement.
    Empty,
    /// There is more than one statement.
    Several,
    /// The statement does something else than read.
    NotReadOnly,
    /// A function that statements may not use.
    Function(String),
    /// The session could not be confined, so it refuses to work.
    Unconfined(String),
}

/// Writes one frame.
///
/// # Errors
/// When the other side has gone.
pub fn write(to: &mut impl Write, kind: Kind, payload: &[u8]) -> io::Result<()> {
    let length = u32::try_from(payload.len()).map_err(|_| io::Error::other("the message is too long"))?;
    let mut head = [kind as u8, 0, 0, 0, 0];
    head[1..].copy_from_slice(&length.to_le_bytes());
    to.write_all(&head)?;
    to.write_all(payload)?;
    to.flush()
}

/// Writes `value` as JSON in one frame.
///
/// # Errors
/// As [`write`].
pub fn write_json(to: &mut impl Write, kind: Kind, value: &impl Serialize) -> io::Result<()> {
    write(to, kind, &serde_json::to_vec(value)?)
}

/// Reads one frame into `payload`; None when the other side has closed the stream.
///
/// # Errors
/// A frame of no known kind or too long, or a stream that ends within one.
pub fn read(from: &mut impl Read, payload: &mut Vec<u8>) -> io::Result<Option<Kind>> {
    let mut head = [0_u8; 5];
    loop {
        match from.read(&mut head[..1]) {
            Ok(0) => return Ok(None),
            Ok(_) => break,
            Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
            Err(e) => return Err(e),
        }
    }
    from.read_exact(&mut head[1..])?;
    let length = u32::from_le_bytes([head[1], head[2], head[3], head[4]]);
    let bad = |what| io::Error::new(io::ErrorKind::InvalidData, what);
    let kind = Kind::from_byte(head[0]).ok_or_else(|| bad("a message of no known kind"))?;
    if u64::from(length) > kind.longest() {
        return Err(bad("a message that is too long"));
    }
    payload.clear();
    // As much as arrives, not as much as was announced.
    let got = from.take(u64::from(length)).read_to_end(payload)?;
    if got < length as usize { Err(io::ErrorKind::UnexpectedEof.into()) } else { Ok(Some(kind)) }
}

/// The JSON of a payload.
///
/// # Errors
/// When it is not that of a `T`.
pub fn json<T: DeserializeOwned>(payload: &[u8]) -> io::Result<T> {
    serde_json::from_slice(payload).map_err(io::Error::from)
}

#[cfg(test)]
mod tests {
    use super::{Cell, Kind, read, write};

    #[test]
    fn a_frame_comes_back_as_it_was_written() {
        let (mut bytes, mut payload) = (Vec::new(), Vec::new());
        write(&mut bytes, Kind::Data, b"abc").unwrap();
        let mut from = bytes.as_slice();
        assert_eq!(read(&mut from, &mut payload).unwrap(), Some(Kind::Data));
        assert_eq!(payload, b"abc");
        assert_eq!(read(&mut from, &mut payload).unwrap(), None);
    }

    #[test]
    fn frames_that_are_too_long_cut_or_unknown_are_refused() {
        let mut payload = Vec::new();
        for bad in [&b"D\xff\xff\xff\xff"[..], b"D\x03\0\0\0ab", b"X\0\0\0\0", b"D\0"] {
            assert!(read(&mut &*bad, &mut payload).is_err(), "{bad:?}");
        }
    }

    #[test]
    fn cells_keep_their_types_in_json() {
        let cells = vec![Cell::Null, Cell::Bool(true), Cell::Int(-3), Cell::Float(2.0), Cell::from("2")];
        let text = serde_json::to_string(&cells).unwrap();
        assert_eq!(serde_json::from_str::<Vec<Cell>>(&text).unwrap(), cells);
    }
}
