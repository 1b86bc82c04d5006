//! MySQL's and MariaDB's protocol: login, text and prepared statements, LOAD DATA LOCAL.
//!
//! Results end with EOF packets: the shorter form that newer servers offer is not asked for, so that one way of
//! reading serves all of them.

mod auth;
mod login;

use std::{ops::Range, sync::Arc};

use self::login::{Handshake, Step};
use super::{
    About, Dialect, Event, Fields, LONGEST_LOGIN, LONGEST_MESSAGE, Mode, Reply, ServerError, Statement, Value,
    WireError,
};
use crate::login::Login;

/// The length of a packet that is continued by the next one.
const FULL: usize = 0xff_ffff;
/// More columns than any server gives: a result with more would only fill the memory. PostgreSQL's protocol can count no more.
const MOST_COLUMNS: usize = 65_535;
/// How much data goes into one packet of a load.
const LOAD_PACKET: usize = 1 << 20;

const COM_QUIT: u8 = 0x01;
const COM_QUERY: u8 = 0x03;
const COM_PING: u8 = 0x0e;
const COM_STMT_PREPARE: u8 = 0x16;
const COM_STMT_EXECUTE: u8 = 0x17;

const IN_TRANSACTION: u16 = 0x0001;
const MORE_RESULTS: u16 = 0x0008;

/// The kind of packet expected next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Expected {
    /// The head of a result: OK, an error, a request for data or a number of columns.
    Result,
    /// Definitions of columns, and the EOF behind them.
    Columns,
    /// Rows, and the EOF behind them.
    Rows,
    /// The head of what answers a statement to be prepared.
    Prepared,
    /// That many definitions and EOFs to skip.
    Passed(u32),
}

/// One connection's side.
#[derive(Debug)]
pub struct Session {
    /// Until the login is done.
    handshake: Option<Box<Handshake>>,
    expected: Expected,
    reply: Reply,
    /// The server's number for each statement, 0 when it is not prepared.
    prepared: Vec<u32>,
    /// The statement that is being prepared.
    preparing: u32,
    /// The number of the next packet in this exchange.
    sequence: u8,
    /// Whether the next packet continues one that is too long for one.
    continued: bool,
    local_files: bool,
    /// The server's parameters.
    pub(super) about: About,
    /// Names of the columns of the latest result, when they are wanted.
    pub(super) columns: Option<Vec<String>>,
    /// The longest message that is taken.
    pub(super) longest: usize,
    /// Bytes of the login so far.
    heard: usize,
}

impl Session {
    /// A session that waits for the server's greeting.
    pub fn new(login: &Arc<Login>) -> Session {
        Session {
            handshake: Some(Box::new(Handshake::new(login))),
            expected: Expected::Result,
            reply: Reply::default(),
            prepared: Vec::new(),
            preparing: 0,
            sequence: 0,
            continued: false,
            local_files: login.local_files,
            about: About::default(),
            columns: None,
            longest: LONGEST_MESSAGE,
            heard: 0,
        }
    }

    /// The rest of the login, inside TLS.
    pub fn secured(&mut self, out: &mut Vec<u8>) {
        if let Some(handshake) = &mut self.handshake {
            handshake.secured(out);
        }
    }

    /// As [`super::Session::feed`].
    ///
    /// # Errors
    /// When the session cannot go on.
    pub fn feed<'a>(&mut self, input: &'a [u8], out: &mut Vec<u8>) -> Result<(usize, Event<'a>), WireError> {
        let Some(head) = input.first_chunk::<4>() else { return Ok((0, Event::More)) };
        let length = u32::from_le_bytes([head[0], head[1], head[2], 0]) as usize;
        let used = length + 4;
        let longest = if self.handshake.is_some() { self.longest.min(LONGEST_LOGIN) } else { self.longest };
        if length > longest {
            return Err(malformed(&format!("a packet of {length} bytes")));
        }
        let Some(body) = input.get(4..used) else { return Ok((0, Event::More)) };
        self.sequence = head[3].wrapping_add(1);
        if std::mem::replace(&mut self.continued, length == FULL) {
            return Ok((used, Event::Nothing));
        }
        let event = match &mut self.handshake {
            Some(handshake) => {
                self.heard += used;
                if self.heard > LONGEST_LOGIN {
                    return Err(malformed("a login without an end"));
                }
                match handshake.packet(body, self.sequence, out)? {
                    Step::Waits => Event::Nothing,
                    // An interceptor could have added them before the encryption began.
                    Step::StartTls if input.len() > used => return Err(malformed("plain bytes before TLS")),
                    Step::StartTls => Event::StartTls,
                    Step::Done => {
                        self.about = handshake.about();
                        self.handshake = None;
                        Event::Ready
                    }
                }
            }
            None => self.packet(body)?,
        };
        Ok((used, event))
    }

    fn packet<'a>(&mut self, body: &'a [u8]) -> Result<Event<'a>, WireError> {
        let first = body.first().copied().ok_or_else(|| malformed("an empty packet"))?;
        if first == 0xff {
            self.reply.error = Some(refusal(body));
            return Ok(self.finish());
        }
        let ends = first == 0xfe && body.len() < 9;
        match self.expected {
            Expected::Result => return self.result(first, body),
            Expected::Columns if ends => self.expected = Expected::Rows,
            Expected::Columns => {
                if let Some(columns) = &mut self.columns {
                    if columns.len() == MOST_COLUMNS {
                        return Err(malformed("a result of too many columns"));
                    }
                    let name = column_name(body).ok_or_else(|| malformed("a column that is cut short"))?;
                    columns.push(String::from_utf8_lossy(name).into_owned());
                }
            }
            Expected::Rows if ends => {
                let mut fields = Fields(&body[1..]);
                fields.take(2);
                let status = fields.array().map_or(0, u16::from_le_bytes);
                return Ok(self.completed(status));
            }
            Expected::Rows => {
                self.reply.rows += 1;
                return Ok(Event::Row(body));
            }
            Expected::Prepared => {
                let mut fields = Fields(&body[1..]);
                let read = |fields: &mut Fields<'_>| -> Option<(u32, u16, u16)> {
                    let number = u32::from_le_bytes(fields.array()?);
                    let columns = u16::from_le_bytes(fields.array()?);
                    Some((number, columns, u16::from_le_bytes(fields.array()?)))
                };
                let (number, columns, values) =
                    read(&mut fields).ok_or_else(|| malformed("a prepared statement that is cut short"))?;
                let place = self.preparing as usize;
                if self.prepared.len() <= place {
                    self.prepared.resize(place + 1, 0);
                }
                self.prepared[place] = number;
                // Each list of definitions has an EOF behind it.
                let listed = |count: u16| if count > 0 { u32::from(count) + 1 } else { 0 };
                self.expected = Expected::Passed(listed(columns) + listed(values));
                return Ok(self.passed(0));
            }
            Expected::Passed(_) => return Ok(self.passed(1)),
        }
        Ok(Event::Nothing)
    }

    /// Counts off definitions; behind the last one the statement is prepared.
    fn passed(&mut self, count: u32) -> Event<'static> {
        match self.expected {
            Expected::Passed(left) if left > count => {
                self.expected = Expected::Passed(left - count);
                Event::Nothing
            }
            _ => {
                self.expected = Expected::Result;
                Event::Prepared
            }
        }
    }

    fn result<'a>(&mut self, first: u8, body: &'a [u8]) -> Result<Event<'a>, WireError> {
        match first {
            0x00 => {
                let mut fields = Fields(&body[1..]);
                let short = || malformed("an OK that is cut short");
                let affected = length_encoded(&mut fields).ok_or_else(short)?;
                self.reply.affected = self.reply.affected.saturating_add(affected);
                length_encoded(&mut fields).ok_or_else(short)?;
                let status = fields.array().map(u16::from_le_bytes).ok_or_else(short)?;
                Ok(self.completed(status))
            }
            0xfb if self.local_files => Ok(Event::CopyIn),
            0xfb => Err(malformed("a request for a local file that was not offered")),
            _ => {
                self.expected = Expected::Columns;
                self.columns.iter_mut().for_each(Vec::clear);
                Ok(Event::Nothing)
            }
        }
    }

    /// Ends one result, and the reply when it is the last.
    fn completed(&mut self, status: u16) -> Event<'static> {
        self.expected = Expected::Result;
        if status & MORE_RESULTS != 0 {
            return Event::Nothing;
        }
        self.reply.completed = self.reply.completed.saturating_add(1);
        self.reply.open = status & IN_TRANSACTION != 0;
        self.finish()
    }

    fn finish(&mut self) -> Event<'static> {
        self.expected = Expected::Result;
        Event::Done(std::mem::take(&mut self.reply))
    }

    /// Returns true if a statement can be sent now. Without values it is sent as text: BEGIN cannot be prepared everywhere.
    pub fn is_prepared(&self, statement: &Statement, mode: Mode) -> bool {
        mode == Mode::Simple || statement.values() == 0 || self.number(statement) != 0
    }

    fn number(&self, statement: &Statement) -> u32 {
        self.prepared.get(statement.number as usize).copied().unwrap_or(0)
    }

    /// Sends a statement to be prepared.
    pub fn prepare(&mut self, statement: &Statement, out: &mut Vec<u8>) {
        self.preparing = statement.number;
        self.expected = Expected::Prepared;
        self.command(COM_STMT_PREPARE, out, |out| out.extend_from_slice(statement.text.as_bytes()));
    }

    /// As [`super::Session::execute`].
    pub fn execute(&mut self, statement: &Statement, values: &[Value<'_>], mode: Mode, out: &mut Vec<u8>) {
        let number = self.number(statement);
        if mode == Mode::Simple || statement.values() == 0 || number == 0 {
            return self.command(COM_QUERY, out, |out| statement.write(values, Dialect::Mysql, out));
        }
        self.command(COM_STMT_EXECUTE, out, |out| {
            out.extend_from_slice(&number.to_le_bytes());
            // No cursor; once.
            out.extend_from_slice(&[0, 1, 0, 0, 0]);
            // No value is NULL; their types follow.
            out.resize(out.len() + values.len().div_ceil(8), 0);
            out.push(1);
            for value in values {
                out.extend_from_slice(match value {
                    Value::Int(_) => &[0x08, 0],
                    Value::Text(_) => &[0xfd, 0],
                });
            }
            for value in values {
                match value {
                    Value::Int(number) => out.extend_from_slice(&number.to_le_bytes()),
                    Value::Text(text) => {
                        put_length(text.len(), out);
                        out.extend_from_slice(text);
                    }
                }
            }
        });
    }

    /// A query as text.
    pub fn query(&mut self, sql: &str, out: &mut Vec<u8>) {
        self.command(COM_QUERY, out, |out| out.extend_from_slice(sql.as_bytes()));
    }

    /// A message that the server answers at once, and does not count as a statement.
    pub fn ping(&mut self, out: &mut Vec<u8>) {
        self.command(COM_PING, out, |_| {});
    }

    /// Lines that the server asked for.
    pub fn copy_data(&mut self, data: &[u8], out: &mut Vec<u8>) {
        for part in data.chunks(LOAD_PACKET) {
            packet(self.sequence, out, |out| out.extend_from_slice(part));
            self.sequence = self.sequence.wrapping_add(1);
        }
    }

    /// The end of the lines: an empty packet.
    pub fn copy_end(&mut self, out: &mut Vec<u8>) {
        packet(self.sequence, out, |_| {});
    }

    /// Farewell.
    pub fn terminate(&mut self, out: &mut Vec<u8>) {
        self.command(COM_QUIT, out, |_| {});
    }

    /// Writes a command. Ones that need more than one packet are of no use to a load: the server refuses the cut.
    fn command(&mut self, command: u8, out: &mut Vec<u8>, body: impl FnOnce(&mut Vec<u8>)) {
        packet(0, out, |out| {
            out.push(command);
            body(out);
        });
    }
}

/// Writes a packet with what `body` writes in it.
fn packet(sequence: u8, out: &mut Vec<u8>, body: impl FnOnce(&mut Vec<u8>)) {
    let at = out.len();
    out.extend_from_slice(&[0, 0, 0, sequence]);
    body(out);
    let length = (out.len() - at - 4).min(FULL) as u32;
    out[at..at + 3].copy_from_slice(&length.to_le_bytes()[..3]);
}

/// Writes a length in as few bytes as the protocol allows.
fn put_length(length: usize, out: &mut Vec<u8>) {
    match length {
        0..251 => out.push(length as u8),
        251..0x1_0000 => {
            out.push(0xfc);
            out.extend_from_slice(&(length as u16).to_le_bytes());
        }
        _ => {
            out.push(0xfd);
            out.extend_from_slice(&(length as u32).to_le_bytes()[..3]);
        }
    }
}

/// Reads such a number; None for NULL and at the end.
fn length_encoded(fields: &mut Fields<'_>) -> Option<u64> {
    match fields.byte()? {
        small @ 0..=250 => Some(u64::from(small)),
        0xfc => fields.array().map(|b| u64::from(u16::from_le_bytes(b))),
        0xfd => fields.array().map(|[a, b, c]| u64::from(u32::from_le_bytes([a, b, c, 0]))),
        0xfe => fields.array().map(u64::from_le_bytes),
        _ => None,
    }
}

/// A text behind its length.
fn text<'a>(fields: &mut Fields<'a>) -> Option<&'a [u8]> {
    let length = usize::try_from(length_encoded(fields)?).ok()?;
    fields.take(length)
}

/// The name in a column's definition: behind catalog, schema, table and original table.
fn column_name(body: &[u8]) -> Option<&[u8]> {
    let mut fields = Fields(body);
    for _ in 0..4 {
        text(&mut fields)?;
    }
    text(&mut fields)
}

/// The content of an error packet. A server that takes no connection sends one without a SQLSTATE.
fn refusal(body: &[u8]) -> Box<ServerError> {
    let mut fields = Fields(body.get(1..).unwrap_or_default());
    let number = fields.array().map_or(0, u16::from_le_bytes);
    let mut state = *b"HY000";
    if let Some((b'#', rest)) = fields.0.split_first() {
        fields.0 = rest;
        state = fields.array().unwrap_or(state);
    }
    Box::new(ServerError { state, number, message: super::refusal_text(fields.0) })
}

/// Where the values of a row of the text protocol are.
pub fn cells(row: &[u8], into: &mut Vec<Option<Range<usize>>>) -> Result<(), WireError> {
    let mut fields = Fields(row);
    while let Some(first) = fields.0.first() {
        if into.len() == MOST_COLUMNS {
            return Err(malformed("a row of too many columns"));
        }
        if *first == 0xfb {
            fields.byte();
            into.push(None);
            continue;
        }
        let value = text(&mut fields).ok_or_else(|| malformed("a row that is cut short"))?;
        let end = fields.place(row);
        into.push(Some(end - value.len()..end));
    }
    Ok(())
}

fn malformed(what: &str) -> WireError {
    WireError::Protocol { dialect: Dialect::Mysql, what: what.to_owned() }
}

#[cfg(test)]
mod tests;
