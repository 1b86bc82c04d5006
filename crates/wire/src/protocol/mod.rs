//! Wire protocols as state machines over bytes (sans I/O): they open nothing, wait for nothing and read no clock.
//!
//! A [`Session`] writes what is to be sent into a buffer of the caller, and is fed with what came. The same session
//! serves the driver, where ten thousand of them share one thread, and [`crate::client`], which waits for each answer.

pub(crate) mod mysql;
pub(crate) mod pg;

pub(crate) use pg::cancellation;

use std::{fmt, sync::Arc};

use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::login::Login;

/// The longest message that is taken from a server. Rows of loads are short; a longer one is a broken stream.
pub const LONGEST_MESSAGE: usize = 64 << 20;
/// The most bytes that a server may send until a login is done. Greetings, challenges and settings take a few hundred.
pub(crate) const LONGEST_LOGIN: usize = 256 << 10;
/// How often a server may ask for something during a login. SCRAM takes four messages, a switch of MySQL's plugin as many.
pub(crate) const MOST_REQUESTS: u32 = 10;
/// How much of a server's version is kept.
pub(crate) const LONGEST_VERSION: usize = 200;
/// How much of a refusal is kept, in bytes.
const LONGEST_REFUSAL: usize = 8 << 10;

/// Which of the two protocols, and which SQL goes with it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Dialect {
    /// PostgreSQL and what speaks its protocol, version 3.0.
    Postgres,
    /// MySQL and MariaDB.
    Mysql,
}

impl Dialect {
    /// The word in workloads and messages.
    pub const fn word(self) -> &'static str {
        match self {
            Dialect::Postgres => "postgres",
            Dialect::Mysql => "mysql",
        }
    }
}

impl fmt::Display for Dialect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.word())
    }
}

/// Protocol of sending statements.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Mode {
    /// As text with the values in it, one at a time.
    Simple,
    /// Prepared when a connection first uses them, one at a time.
    Prepared,
    /// Prepared, and all of a transaction sent before the first answer is awaited; PostgreSQL only.
    Pipelined,
}

/// A server's error.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{message} ({}{})", self.sqlstate(), if *number > 0 { format!(", error {number}") } else { String::new() })]
pub struct ServerError {
    /// Five characters of SQLSTATE.
    pub state: [u8; 5],
    /// The number that MySQL gives to it; 0 with PostgreSQL.
    pub number: u16,
    /// In the server's own words.
    pub message: String,
}

impl ServerError {
    /// The SQLSTATE as text.
    pub fn sqlstate(&self) -> &str {
        std::str::from_utf8(&self.state).unwrap_or("?????")
    }
}

/// Why a session cannot go on: its connection is to be closed.
#[derive(Debug, Error)]
pub enum WireError {
    /// The server refused, or closed the session.
    #[error("{0}")]
    Server(Box<ServerError>),
    /// The server sent something that is not of the protocol.
    #[error("what the server sent is not {dialect}'s protocol: {what}")]
    Protocol {
        /// Which protocol.
        dialect: Dialect,
        /// The violation.
        what: String,
    },
    /// The login cannot be done as the server wants it.
    #[error("{0}")]
    Login(String),
}

/// Parameters of the server and of the session at its beginning.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct About {
    /// Version as the server writes it: `15.18 (Debian 15.18-0+deb12u1)`, `10.11.14-MariaDB-0+deb12u2`.
    pub version: Box<str>,
    /// The session's number: the process of PostgreSQL's backend, MySQL's connection id.
    pub number: u32,
    /// The key with which PostgreSQL accepts a cancel request for this session.
    pub key: Box<[u8]>,
    /// Warnings about the login: a weak method, a connection that others could read.
    pub cautions: Vec<String>,
}

/// The answer to all that was sent since the last one.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Reply {
    /// Statements that were completed.
    pub completed: u32,
    /// Rows that came.
    pub rows: u64,
    /// Rows that were inserted, changed, deleted or copied.
    pub affected: u64,
    /// The first refusal.
    pub error: Option<Box<ServerError>>,
    /// True if the server reports an open transaction. MySQL reports it only with success.
    pub open: bool,
}

/// Outcome of parsing bytes.
#[derive(Debug, PartialEq, Eq)]
pub enum Event<'a> {
    /// They are no whole message: nothing was consumed.
    More,
    /// Nothing that a caller needs to know.
    Nothing,
    /// The output is to be sent as it is, and then TLS begins.
    StartTls,
    /// The login wants to know what binds it to the TLS connection: [`Session::bind`], and the same bytes again.
    Binding,
    /// The login is done, and statements may be sent.
    Ready,
    /// A statement is prepared.
    Prepared,
    /// A row; [`Session::values`] reads it.
    Row(&'a [u8]),
    /// The server waits for data.
    CopyIn,
    /// All that was sent is answered.
    Done(Reply),
}

/// A value of a statement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Value<'a> {
    /// A whole number.
    Int(i64),
    /// Text.
    Text(&'a [u8]),
}

/// A statement with places for values, in the forms that protocols want.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Statement {
    /// Its number among the statements of a workload.
    pub number: u32,
    /// With `$1` or `?` for the values.
    pub text: Box<str>,
    /// The pieces before, between and after the values.
    pub pieces: Box<[Box<str>]>,
}

impl Statement {
    /// A statement of pieces with values between them.
    pub fn new(dialect: Dialect, number: u32, pieces: Vec<String>) -> Statement {
        let mut text = String::new();
        for (place, piece) in pieces.iter().enumerate() {
            match dialect {
                _ if place == 0 => {}
                Dialect::Postgres => text.push_str(&format!("${place}")),
                Dialect::Mysql => text.push('?'),
            }
            text.push_str(piece);
        }
        Statement { number, text: text.into(), pieces: pieces.into_iter().map(Into::into).collect() }
    }

    /// Number of its parameters.
    pub fn values(&self) -> usize {
        self.pieces.len().saturating_sub(1)
    }

    /// Writes the statement with `values` in it.
    fn write(&self, values: &[Value<'_>], dialect: Dialect, out: &mut Vec<u8>) {
        for (place, piece) in self.pieces.iter().enumerate() {
            if let Some(value) = place.checked_sub(1).and_then(|v| values.get(v)) {
                match value {
                    Value::Int(number) => decimal(*number, out),
                    Value::Text(text) => quoted(text, dialect, out),
                }
            }
            out.extend_from_slice(piece.as_bytes());
        }
    }
}

/// Writes a whole number in decimal digits, without allocating.
pub fn decimal(number: i64, out: &mut Vec<u8>) {
    let mut digits = [0_u8; 20];
    let mut begin = digits.len();
    let mut rest = number.unsigned_abs();
    loop {
        begin -= 1;
        digits[begin] = b'0' + (rest % 10) as u8;
        rest /= 10;
        if rest == 0 {
            break;
        }
    }
    if number < 0 {
        out.push(b'-');
    }
    out.extend_from_slice(&digits[begin..]);
}

/// Writes text as a literal of SQL. MySQL's backslashes are doubled as well.
fn quoted(text: &[u8], dialect: Dialect, out: &mut Vec<u8>) {
    out.push(b'\'');
    for byte in text {
        if *byte == b'\'' || (*byte == b'\\' && dialect == Dialect::Mysql) {
            out.push(*byte);
        }
        out.push(*byte);
    }
    out.push(b'\'');
}

/// One connection's side of a protocol.
#[derive(Debug)]
pub enum Session {
    /// PostgreSQL's.
    Postgres(pg::Session),
    /// MySQL's and MariaDB's.
    Mysql(mysql::Session),
}

macro_rules! both {
    ($self:ident, $session:ident => $call:expr) => {
        match $self {
            Session::Postgres($session) => $call,
            Session::Mysql($session) => $call,
        }
    };
}

impl Session {
    /// A session that begins with its login; its first message is written to `out`.
    pub fn new(login: &Arc<Login>, out: &mut Vec<u8>) -> Session {
        match login.dialect {
            Dialect::Postgres => Session::Postgres(pg::Session::new(login, out)),
            Dialect::Mysql => Session::Mysql(mysql::Session::new(login)),
        }
    }

    /// Takes one message from the front of `input`: how many bytes it had, and its content. Answers that the protocol
    /// wants at once are written to `out`.
    ///
    /// # Errors
    /// When the session cannot go on.
    pub fn feed<'a>(&mut self, input: &'a [u8], out: &mut Vec<u8>) -> Result<(usize, Event<'a>), WireError> {
        both!(self, session => session.feed(input, out))
    }

    /// Goes on with the login after TLS was established.
    pub fn secured(&mut self, out: &mut Vec<u8>) {
        both!(self, session => session.secured(out));
    }

    /// Passes the channel binding of the TLS connection to the login, if anything does.
    pub fn bind(&mut self, end_point: Option<Vec<u8>>) {
        if let Session::Postgres(session) = self {
            session.bind(end_point);
        }
    }

    /// Returns true if `statement` can be executed; otherwise it has to be prepared first, with its own answer.
    pub fn is_prepared(&self, statement: &Statement, mode: Mode) -> bool {
        match self {
            Session::Postgres(_) => true,
            Session::Mysql(session) => session.is_prepared(statement, mode),
        }
    }

    /// Prepares a statement; [`Event::Prepared`] or an error answers.
    pub fn prepare(&mut self, statement: &Statement, out: &mut Vec<u8>) {
        if let Session::Mysql(session) = self {
            session.prepare(statement, out);
        }
    }

    /// Writes an execution of `statement`. Pipelined ones are answered after [`Session::sync`].
    pub fn execute(&mut self, statement: &Statement, values: &[Value<'_>], mode: Mode, out: &mut Vec<u8>) {
        both!(self, session => session.execute(statement, values, mode, out));
    }

    /// Ends a pipeline.
    pub fn sync(&mut self, out: &mut Vec<u8>) {
        if let Session::Postgres(session) = self {
            session.sync(out);
        }
    }

    /// Writes a query as text.
    pub fn query(&mut self, sql: &str, out: &mut Vec<u8>) {
        both!(self, session => session.query(sql, out));
    }

    /// Writes a message that is answered at once and is no statement.
    pub fn ping(&mut self, out: &mut Vec<u8>) {
        both!(self, session => session.ping(out));
    }

    /// Writes data that the server waits for, in whole lines of its text format.
    pub fn copy_data(&mut self, data: &[u8], out: &mut Vec<u8>) {
        both!(self, session => session.copy_data(data, out));
    }

    /// Ends the data.
    pub fn copy_end(&mut self, out: &mut Vec<u8>) {
        both!(self, session => session.copy_end(out));
    }

    /// Writes the message that ends the session.
    pub fn terminate(&mut self, out: &mut Vec<u8>) {
        both!(self, session => session.terminate(out));
    }

    /// Whose protocol it speaks.
    pub fn dialect(&self) -> Dialect {
        match self {
            Session::Postgres(_) => Dialect::Postgres,
            Session::Mysql(_) => Dialect::Mysql,
        }
    }

    /// The server's parameters, once the login is done.
    pub fn about(&self) -> &About {
        both!(self, session => &session.about)
    }

    /// Keeps the names of the columns of each result from now on; loads need none, and 10,000 sessions no memory for them.
    pub fn keep_columns(&mut self) {
        both!(self, session => session.columns = Some(Vec::new()));
    }

    /// Names of the columns of the latest result, when they are kept.
    pub fn columns(&self) -> &[String] {
        both!(self, session => session.columns.as_deref().unwrap_or_default())
    }

    /// Takes no message longer than `bytes` from now on.
    pub fn limit(&mut self, bytes: usize) {
        both!(self, session => session.longest = bytes.min(LONGEST_MESSAGE));
    }

    /// Where the values of a row lie in it; None for NULL. `cells` is emptied first, and its memory used again.
    ///
    /// # Errors
    /// When the row is cut short.
    pub fn cells(&self, row: &[u8], cells: &mut Vec<Option<std::ops::Range<usize>>>) -> Result<(), WireError> {
        cells.clear();
        match self {
            Session::Postgres(_) => pg::cells(row, cells),
            Session::Mysql(_) => mysql::cells(row, cells),
        }
    }

    /// The values of a row that answers [`Session::query`]; None for NULL.
    ///
    /// # Errors
    /// When the row is cut short.
    pub fn values<'a>(&self, row: &'a [u8]) -> Result<Vec<Option<&'a [u8]>>, WireError> {
        let mut cells = Vec::new();
        self.cells(row, &mut cells)?;
        Ok(cells.into_iter().map(|cell| cell.and_then(|place| row.get(place))).collect())
    }
}

/// A server's error, as far as it is kept.
pub(crate) fn refusal_text(text: &[u8]) -> String {
    String::from_utf8_lossy(&text[..text.len().min(LONGEST_REFUSAL)]).into_owned()
}

/// The version that a server reports, as far as it is kept.
pub(crate) fn version(text: &[u8]) -> Box<str> {
    String::from_utf8_lossy(&text[..text.len().min(LONGEST_VERSION)]).into()
}

/// Reads fields of a message from its front; every read gives None at the end.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Fields<'a>(pub &'a [u8]);

impl<'a> Fields<'a> {
    pub fn take(&mut self, length: usize) -> Option<&'a [u8]> {
        let (front, rest) = self.0.split_at_checked(length)?;
        self.0 = rest;
        Some(front)
    }

    /// How far the front is from the end of `whole`, whose rest these fields are.
    pub fn place(&self, whole: &[u8]) -> usize {
        whole.len() - self.0.len()
    }

    pub fn byte(&mut self) -> Option<u8> {
        self.take(1).map(|b| b[0])
    }

    pub fn array<const N: usize>(&mut self) -> Option<[u8; N]> {
        self.take(N)?.try_into().ok()
    }

    /// Up to a zero byte, which is consumed.
    pub fn text(&mut self) -> Option<&'a [u8]> {
        let end = self.0.iter().position(|b| *b == 0)?;
        let text = self.take(end);
        self.take(1);
        text
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// Feeds `stream` in pieces that end at `cuts`, and gives what happened, as text, and what was to be sent.
    pub fn play(session: &mut Session, stream: &[u8], cuts: &[usize]) -> (Vec<String>, Vec<u8>) {
        let (mut events, mut out, mut held) = (Vec::new(), Vec::new(), Vec::new());
        let mut begin = 0;
        for end in cuts.iter().copied().chain([stream.len()]) {
            let end = end.clamp(begin, stream.len());
            held.extend_from_slice(&stream[begin..end]);
            begin = end;
            loop {
                let used = match session.feed(&held, &mut out) {
                    Ok((_, Event::More)) => break,
                    Ok((_, Event::Binding)) => {
                        session.bind(Some(vec![7; 32]));
                        continue;
                    }
                    Ok((used, event)) => {
                        if event != Event::Nothing {
                            events.push(format!("{event:?}"));
                        }
                        used
                    }
                    Err(error) => {
                        events.push(format!("failed: {error}"));
                        return (events, out);
                    }
                };
                held.drain(..used);
            }
        }
        (events, out)
    }

    #[test]
    fn a_statement_has_the_form_of_each_protocol() {
        let pieces = vec!["SELECT c FROM t WHERE id = ".to_owned(), " AND c = ".to_owned(), String::new()];
        let pg = Statement::new(Dialect::Postgres, 0, pieces.clone());
        let my = Statement::new(Dialect::Mysql, 0, pieces);
        assert_eq!(&*pg.text, "SELECT c FROM t WHERE id = $1 AND c = $2");
        assert_eq!(&*my.text, "SELECT c FROM t WHERE id = ? AND c = ?");
        let values = [Value::Int(i64::MIN), Value::Text(b"a'b\\c")];
        let written = |dialect| {
            let mut out = Vec::new();
            my.write(&values, dialect, &mut out);
            String::from_utf8(out).unwrap()
        };
        assert_eq!(written(Dialect::Mysql), "SELECT c FROM t WHERE id = -9223372036854775808 AND c = 'a''b\\\\c'");
        assert_eq!(written(Dialect::Postgres), "SELECT c FROM t WHERE id = -9223372036854775808 AND c = 'a''b\\c'");
    }
}
