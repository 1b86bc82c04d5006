//! PostgreSQL's protocol 3.0: login, simple and extended queries, pipelines, COPY from the client.

mod login;
mod scram;

use std::{ops::Range, sync::Arc};

use self::login::Handshake;
use super::{
    About, Dialect, Event, Fields, LONGEST_LOGIN, LONGEST_MESSAGE, Mode, Reply, ServerError, Statement, Value,
    WireError, decimal,
};
use crate::login::Login;

/// One connection's side.
#[derive(Debug)]
pub struct Session {
    /// Until the login is done.
    handshake: Option<Box<Handshake>>,
    reply: Reply,
    /// A bit for each statement that was sent to be prepared.
    prepared: Vec<u64>,
    /// Statements that were sent to be prepared and are not yet confirmed.
    unconfirmed: Vec<u32>,
    /// How many of those were confirmed since the last sync.
    confirmed: usize,
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
    /// A session at its beginning; its first message is written to `out`.
    pub fn new(login: &Arc<Login>, out: &mut Vec<u8>) -> Session {
        Session {
            handshake: Some(Box::new(Handshake::new(login, out))),
            reply: Reply::default(),
            prepared: Vec::new(),
            unconfirmed: Vec::new(),
            confirmed: 0,
            about: About::default(),
            columns: None,
            longest: LONGEST_MESSAGE,
            heard: 0,
        }
    }

    /// The startup message, inside TLS.
    pub fn secured(&mut self, out: &mut Vec<u8>) {
        if let Some(handshake) = &mut self.handshake {
            handshake.secured(out);
        }
    }

    /// As [`super::Session::bind`].
    pub fn bind(&mut self, end_point: Option<Vec<u8>>) {
        if let Some(handshake) = &mut self.handshake {
            handshake.bind(end_point);
        }
    }

    /// As [`super::Session::feed`].
    ///
    /// # Errors
    /// When the session cannot go on.
    pub fn feed<'a>(&mut self, input: &'a [u8], out: &mut Vec<u8>) -> Result<(usize, Event<'a>), WireError> {
        if let Some(handshake) = &mut self.handshake
            && handshake.awaits_tls()
        {
            return handshake.tls(input, out);
        }
        let longest = if self.handshake.is_some() { self.longest.min(LONGEST_LOGIN) } else { self.longest };
        let Some((tag, body, used)) = frame(input, longest)? else { return Ok((0, Event::More)) };
        let event = match &mut self.handshake {
            Some(handshake) => {
                if handshake.wants_binding(tag, body) {
                    return Ok((0, Event::Binding));
                }
                self.heard += used;
                if self.heard > LONGEST_LOGIN {
                    return Err(malformed("a login without an end"));
                }
                let event = handshake.message(tag, body, out)?;
                match tag {
                    b'S' => self.parameter(body),
                    b'K' => self.key(body),
                    _ => {}
                }
                if event == Event::Ready {
                    self.about.cautions = self.handshake.take().map_or_else(Vec::new, |mut done| done.cautions());
                }
                event
            }
            None => self.message(tag, body)?,
        };
        Ok((used, event))
    }

    fn message<'a>(&mut self, tag: u8, body: &'a [u8]) -> Result<Event<'a>, WireError> {
        match tag {
            b'D' => {
                self.reply.rows += 1;
                return Ok(Event::Row(body));
            }
            b'C' => {
                self.reply.completed = self.reply.completed.saturating_add(1);
                self.reply.affected = self.reply.affected.saturating_add(affected(body));
            }
            b'I' => self.reply.completed = self.reply.completed.saturating_add(1),
            b'1' => self.confirmed += 1,
            b'G' => return Ok(Event::CopyIn),
            b'E' => {
                let (error, fatal) = refusal(body);
                if fatal {
                    return Err(WireError::Server(error));
                }
                self.reply.error.get_or_insert(error);
            }
            b'Z' => {
                let status = body.first().copied().ok_or_else(|| malformed("an empty ReadyForQuery"))?;
                return Ok(Event::Done(self.finish(status)));
            }
            b'T' => {
                if let Some(columns) = &mut self.columns {
                    names(body, columns).ok_or_else(|| malformed("a description of columns that is cut short"))?;
                }
            }
            // BindComplete, NoData, ParameterDescription, CloseComplete, PortalSuspended;
            // NoticeResponse, ParameterStatus, NotificationResponse.
            b'2' | b'n' | b't' | b'3' | b's' | b'N' | b'S' | b'A' => {}
            b'H' | b'W' => return Err(malformed("a COPY that no workload asks for")),
            _ => return Err(malformed(&format!("message `{}`", char::from(tag).escape_default()))),
        }
        Ok(Event::Nothing)
    }

    /// A setting that the server reports.
    fn parameter(&mut self, body: &[u8]) {
        let mut fields = Fields(body);
        if let (Some(b"server_version"), Some(version)) = (fields.text(), fields.text()) {
            self.about.version = super::version(version);
        }
    }

    /// The backend's process, and its key for cancel requests.
    fn key(&mut self, body: &[u8]) {
        let mut fields = Fields(body);
        self.about.number = fields.array().map_or(0, u32::from_be_bytes);
        self.about.key = fields.0.into();
    }

    fn finish(&mut self, status: u8) -> Reply {
        // After an error the rest of a pipeline is skipped, statements to be prepared as well.
        for number in self.unconfirmed.drain(..).skip(self.confirmed) {
            if let Some(word) = self.prepared.get_mut(number as usize / 64) {
                *word &= !(1 << (number % 64));
            }
        }
        self.confirmed = 0;
        Reply { open: status != b'I', ..std::mem::take(&mut self.reply) }
    }

    /// As [`super::Session::execute`].
    pub fn execute(&mut self, statement: &Statement, values: &[Value<'_>], mode: Mode, out: &mut Vec<u8>) {
        if mode == Mode::Simple {
            return message(b'Q', out, |out| {
                statement.write(values, Dialect::Postgres, out);
                out.push(0);
            });
        }
        if self.mark(statement.number) {
            message(b'P', out, |out| {
                name(statement.number, out);
                out.extend_from_slice(statement.text.as_bytes());
                // The types of the values are left to the server.
                out.extend_from_slice(&[0, 0, 0]);
            });
        }
        message(b'B', out, |out| {
            out.push(0);
            name(statement.number, out);
            // All values and all columns are text, which is what the server takes the types from.
            out.extend_from_slice(&[0, 0]);
            out.extend_from_slice(&(values.len() as u16).to_be_bytes());
            for value in values {
                sized(out, |out| match value {
                    Value::Int(number) => decimal(*number, out),
                    Value::Text(text) => out.extend_from_slice(text),
                });
            }
            out.extend_from_slice(&[0, 0]);
        });
        // Execute: the unnamed portal, all rows.
        out.extend_from_slice(b"E\0\0\0\x09\0\0\0\0\0");
        if mode == Mode::Prepared {
            self.sync(out);
        }
    }

    /// Marks a statement as prepared; whether it was not.
    fn mark(&mut self, number: u32) -> bool {
        let (word, bit) = (number as usize / 64, 1_u64 << (number % 64));
        if self.prepared.len() <= word {
            self.prepared.resize(word + 1, 0);
        }
        let new = self.prepared[word] & bit == 0;
        if new {
            self.prepared[word] |= bit;
            self.unconfirmed.push(number);
        }
        new
    }

    /// Ends a pipeline: everything before it is answered.
    pub fn sync(&mut self, out: &mut Vec<u8>) {
        out.extend_from_slice(b"S\0\0\0\x04");
    }

    /// A query as text.
    pub fn query(&mut self, sql: &str, out: &mut Vec<u8>) {
        message(b'Q', out, |out| {
            out.extend_from_slice(sql.as_bytes());
            out.push(0);
        });
    }

    /// A message that the server answers at once, in no transaction: the end of an empty pipeline.
    pub fn ping(&mut self, out: &mut Vec<u8>) {
        self.sync(out);
    }

    /// Lines of COPY's text format.
    pub fn copy_data(&mut self, data: &[u8], out: &mut Vec<u8>) {
        message(b'd', out, |out| out.extend_from_slice(data));
    }

    /// The end of the lines.
    pub fn copy_end(&mut self, out: &mut Vec<u8>) {
        out.extend_from_slice(b"c\0\0\0\x04");
    }

    /// Farewell.
    pub fn terminate(&mut self, out: &mut Vec<u8>) {
        out.extend_from_slice(b"X\0\0\0\x04");
    }
}

/// A message: its tag, its body and its length in all.
type Framed<'a> = (u8, &'a [u8], usize);

/// Names of the columns that a RowDescription describes.
fn names(body: &[u8], into: &mut Vec<String>) -> Option<()> {
    into.clear();
    let mut fields = Fields(body);
    for _ in 0..u16::from_be_bytes(fields.array()?) {
        into.push(String::from_utf8_lossy(fields.text()?).into_owned());
        // Table, column, type, length, modifier, format.
        fields.take(18)?;
    }
    Some(())
}

/// Asks for the statement of another session to be cancelled; it is all that is sent on a connection.
pub(crate) fn cancellation(about: &About) -> Vec<u8> {
    let mut out = ((12 + about.key.len()) as u32).to_be_bytes().to_vec();
    out.extend_from_slice(&80_877_102_u32.to_be_bytes());
    out.extend_from_slice(&about.number.to_be_bytes());
    out.extend_from_slice(&about.key);
    out
}

/// The first message of `input`, which has at most `longest` bytes.
fn frame(input: &[u8], longest: usize) -> Result<Option<Framed<'_>>, WireError> {
    let Some(head) = input.first_chunk::<5>() else { return Ok(None) };
    let length = u32::from_be_bytes([head[1], head[2], head[3], head[4]]) as usize;
    if !(4..=longest).contains(&length) {
        return Err(malformed(&format!("a message of {length} bytes")));
    }
    let used = length + 1;
    Ok(input.get(5..used).map(|body| (head[0], body, used)))
}

/// Writes a message: its tag, its length, and what `body` writes.
fn message(tag: u8, out: &mut Vec<u8>, body: impl FnOnce(&mut Vec<u8>)) {
    out.push(tag);
    prefixed(out, 4, body);
}

/// Writes what `body` writes, behind its length.
fn sized(out: &mut Vec<u8>, body: impl FnOnce(&mut Vec<u8>)) {
    prefixed(out, 0, body);
}

/// Writes a length that counts `more` bytes besides the body's.
fn prefixed(out: &mut Vec<u8>, more: usize, body: impl FnOnce(&mut Vec<u8>)) {
    let at = out.len();
    out.extend_from_slice(&[0; 4]);
    body(out);
    let length = ((out.len() - at - 4 + more) as u32).to_be_bytes();
    out[at..at + 4].copy_from_slice(&length);
}

/// The name of a prepared statement, with the zero that ends it.
fn name(number: u32, out: &mut Vec<u8>) {
    out.push(b's');
    decimal(i64::from(number), out);
    out.push(0);
}

/// Rows affected by a command tag: `INSERT 0 5`, `UPDATE 3`, `COPY 100`; rows of SELECT were counted already.
fn affected(tag: &[u8]) -> u64 {
    let tag = tag.strip_suffix(b"\0").unwrap_or(tag);
    if tag.starts_with(b"SELECT") || tag.starts_with(b"FETCH") {
        return 0;
    }
    let digits = tag.rsplit(|b| *b == b' ').next().unwrap_or_default();
    std::str::from_utf8(digits).ok().and_then(|text| text.parse().ok()).unwrap_or(0)
}

/// The content of an ErrorResponse, and whether it ends the session.
fn refusal(body: &[u8]) -> (Box<ServerError>, bool) {
    let mut error = Box::new(ServerError { state: *b"?????", number: 0, message: String::new() });
    let mut fatal = false;
    let mut fields = Fields(body);
    while let Some(kind) = fields.byte().filter(|kind| *kind != 0) {
        let Some(text) = fields.text() else { break };
        match kind {
            b'V' => fatal = text == b"FATAL" || text == b"PANIC",
            b'C' => error.state = text.try_into().unwrap_or(*b"?????"),
            b'M' => error.message = super::refusal_text(text),
            _ => {}
        }
    }
    (error, fatal)
}

/// Where the values of a DataRow are.
pub fn cells(row: &[u8], into: &mut Vec<Option<Range<usize>>>) -> Result<(), WireError> {
    let short = || malformed("a row that is cut short");
    let mut fields = Fields(row);
    for _ in 0..u16::from_be_bytes(fields.array().ok_or_else(short)?) {
        let length = i32::from_be_bytes(fields.array().ok_or_else(short)?);
        into.push(match usize::try_from(length) {
            Ok(length) => {
                let begin = fields.place(row);
                fields.take(length).ok_or_else(short)?;
                Some(begin..begin + length)
            }
            Err(_) => None,
        });
    }
    Ok(())
}

fn malformed(what: &str) -> WireError {
    WireError::Protocol { dialect: Dialect::Postgres, what: what.to_owned() }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{
        super::{Session as Both, tests::play},
        *,
    };

    fn msg(tag: u8, body: &[u8]) -> Vec<u8> {
        let mut out = Vec::new();
        message(tag, &mut out, |out| out.extend_from_slice(body));
        out
    }

    fn ready() -> Both {
        let mut session = Session::new(&Arc::new(Login::new(Dialect::Postgres, "u")), &mut Vec::new());
        session.handshake = None;
        Both::Postgres(session)
    }

    fn statement() -> Statement {
        Statement::new(Dialect::Postgres, 70, vec!["SELECT ".to_owned(), String::new()])
    }

    #[test]
    fn a_statement_is_parsed_once_and_then_only_bound() {
        let mut session = ready();
        let mut out = Vec::new();
        session.execute(&statement(), &[Value::Int(-5)], Mode::Prepared, &mut out);
        let bind = b"B\0\0\0\x15\0s70\0\0\0\0\x01\0\0\0\x02-5\0\0E\0\0\0\x09\0\0\0\0\0S\0\0\0\x04";
        assert_eq!(out, [&b"P\0\0\0\x14s70\0SELECT $1\0\0\0"[..], bind].concat());
        out.clear();
        session.execute(&statement(), &[Value::Int(-5)], Mode::Prepared, &mut out);
        assert_eq!(out, bind);
    }

    #[test]
    fn what_a_failed_pipeline_skipped_is_prepared_again() {
        let mut session = ready();
        let other = Statement { number: 3, ..statement() };
        let mut out = Vec::new();
        session.execute(&statement(), &[Value::Int(1)], Mode::Pipelined, &mut out);
        session.execute(&other, &[Value::Int(1)], Mode::Pipelined, &mut out);
        session.sync(&mut out);
        let error = b"SERROR\0VERROR\0C40P01\0Mdeadlock detected\0\0";
        let (events, _) = play(&mut session, &[msg(b'1', b""), msg(b'E', error), msg(b'Z', b"E")].concat(), &[]);
        assert_eq!(events.len(), 1);
        assert!(events[0].contains("number: 0, message: \"deadlock detected\"") && events[0].contains("open: true"));
        let prepares = |session: &mut Both, statement: &Statement| {
            let mut out = Vec::new();
            session.execute(statement, &[Value::Int(1)], Mode::Prepared, &mut out);
            out[0] == b'P'
        };
        assert!(!prepares(&mut session, &statement()) && prepares(&mut session, &other));
    }

    #[test]
    fn text_is_sent_as_a_literal_in_the_simple_protocol() {
        let mut out = Vec::new();
        ready().execute(&statement(), &[Value::Text(b"it's")], Mode::Simple, &mut out);
        assert_eq!(out, msg(b'Q', b"SELECT 'it''s'\0"));
    }

    #[test]
    fn an_end_by_the_administrator_ends_the_session_with_its_reason() {
        let error = msg(b'E', b"SFATAL\0VFATAL\0C57P01\0Mterminating connection\0\0");
        let (events, _) = play(&mut ready(), &error, &[]);
        assert_eq!(events, ["failed: terminating connection (57P01)"]);
    }

    #[test]
    fn copied_and_changed_rows_are_counted_and_selected_ones_not_twice() {
        for (tag, count) in [("INSERT 0 5", 5), ("COPY 100", 100), ("SELECT 9", 0), ("BEGIN", 0), ("UPDATE 3", 3)] {
            assert_eq!(affected(format!("{tag}\0").as_bytes()), count, "{tag}");
        }
    }

    #[test]
    fn a_row_gives_its_values_and_null_is_none() {
        let row = b"\0\x02\0\0\0\x02ab\xff\xff\xff\xff";
        let mut found = Vec::new();
        cells(row, &mut found).unwrap();
        assert_eq!(found, [Some(6..8), None]);
        assert!(cells(&row[..7], &mut found).is_err() && cells(b"", &mut found).is_err());
    }

    proptest! {
        #[test]
        fn it_does_not_matter_how_a_stream_is_cut(cuts in prop::collection::vec(0_usize..200, 0..8)) {
            let row = b"\0\x01\0\0\0\x03abc";
            let stream = [
                msg(b'T', b"\0\0"), msg(b'D', row), msg(b'D', row), msg(b'C', b"SELECT 2\0"), msg(b'Z', b"T"),
                msg(b'N', b"\0"), msg(b'C', b"UPDATE 4\0"), msg(b'Z', b"I"),
            ].concat();
            let mut cuts = cuts;
            cuts.sort_unstable();
            prop_assert_eq!(play(&mut ready(), &stream, &cuts), play(&mut ready(), &stream, &[]));
        }

        #[test]
        fn noise_never_panics(noise in prop::collection::vec(any::<u8>(), 0..300)) {
            play(&mut ready(), &noise, &[]);
            let login = Arc::new(Login::new(Dialect::Postgres, "u"));
            play(&mut Both::Postgres(Session::new(&login, &mut Vec::new())), &noise, &[7, 40]);
        }
    }
}
