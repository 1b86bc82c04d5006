//! Blocking client for one statement at a time; the load driver itself has non-blocking sessions.
//!
//! A client with a limit of time cancels a statement that takes longer, over another connection, and is of no use
//! afterwards: what a server did not answer in time may still come.

use std::{
    io,
    ops::Range,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};

use rustix::event::PollFlags;

mod error;
mod socket;
mod tally;

use self::socket::{establish, late, wait_for};
pub use self::{
    error::ClientError,
    tally::{Counts, Tally},
};
use crate::{
    About, Dialect, Event, Mode, Reply, Row, Session, Statement, WireError,
    channel::{Channel, Received},
    login::Tls,
    protocol::cancellation,
    target::{Endpoint, Target},
    tls,
};

/// SQLSTATEs of a prepared statement that is none any more: a changed result, an unknown or known name, a confused protocol.
const NOT_PREPARED: &[&str] = &["0A000", "26000", "42P05", "08P01"];

/// How long cancelling a statement may take.
const CANCEL: Duration = Duration::from_secs(1);

/// Default limits of an answer: bytes of one message, bytes of all of them, and rows.
const MESSAGE: usize = 16 << 20;
const ANSWER: u64 = 64 << 20;
const ROWS: u64 = 200_000;
/// A buffer of this size is given back when an answer needed more.
const BUFFER: usize = 1 << 20;

/// A connection.
#[derive(Debug)]
pub struct Client {
    name: String,
    channel: Channel,
    session: Session,
    endpoint: Endpoint,
    input: Vec<u8>,
    output: Vec<u8>,
    /// Where this connection leads, to cancel a statement.
    target: Target,
    /// How long a statement may take.
    limit: Option<Duration>,
    cells: Vec<Option<Range<usize>>>,
    /// The most rows of an answer.
    most_rows: u64,
    /// The most bytes of an answer, with all that comes beside its rows.
    most_bytes: u64,
    /// Bytes that may still be kept of answers, which several connections share.
    allowance: Option<Arc<AtomicU64>>,
    /// Further cautions for the user about how the connection was made.
    cautions: Vec<String>,
    /// Statements that are prepared, and whether they can be.
    repeated: Vec<(Statement, bool)>,
    /// Counts of its work so far.
    tally: Arc<Tally>,
}

/// Callback for each row.
type OnRow<'a> = dyn FnMut(&Session, &[u8]) -> Result<(), WireError> + 'a;

/// The first of the awaited events.
enum Came {
    Ready,
    CopyIn,
    Done(Reply),
}

impl Client {
    /// Connects and logs in, at the first address that answers. All of it takes `patience` at most, but for looking up the
    /// addresses.
    ///
    /// # Errors
    /// When none does, or the server refuses.
    pub fn connect(target: &Target, patience: Duration) -> Result<Client, ClientError> {
        let until = Instant::now() + patience;
        let mut last = io::Error::other("no address");
        let endpoints = target.endpoints()?;
        for (place, endpoint) in endpoints.iter().enumerate() {
            // One that does not answer leaves some time for the others.
            let others = (endpoints.len() - place) as u32;
            let share = Instant::now() + until.saturating_duration_since(Instant::now()) / others;
            match establish(endpoint, share) {
                Ok(channel) => return Client::begin(&target.at(endpoint), channel, endpoint, until),
                Err(error) => last = error,
            }
        }
        Err(ClientError::Connect { target: target.to_string(), source: last })
    }

    /// Logs in, without encryption where that is only preferred and none can be agreed upon: a server may offer encryption
    /// and know no method that is still safe.
    fn begin(target: &Target, channel: Channel, endpoint: &Endpoint, until: Instant) -> Result<Client, ClientError> {
        let why = match Client::log_in(target, channel, endpoint, until) {
            Err(ClientError::Lost { source, .. }) if target.login.tls == Tls::Prefer && tls::is_failure(&source) => {
                source
            }
            done => return done,
        };
        let in_clear = target.in_clear();
        let again =
            establish(endpoint, until).map_err(|source| ClientError::Connect { target: target.to_string(), source });
        let mut client = Client::log_in(&in_clear, again?, endpoint, until)?;
        client.cautions.push(format!("the connection is not encrypted: TLS failed ({why})"));
        Ok(client)
    }

    fn log_in(target: &Target, channel: Channel, endpoint: &Endpoint, until: Instant) -> Result<Client, ClientError> {
        let mut output = Vec::new();
        let mut session = Session::new(&target.login, &mut output);
        session.limit(MESSAGE);
        let mut client = Client {
            name: target.to_string(),
            channel,
            session,
            endpoint: endpoint.clone(),
            input: Vec::new(),
            output,
            target: target.clone(),
            limit: None,
            cells: Vec::new(),
            most_rows: ROWS,
            most_bytes: ANSWER,
            allowance: None,
            cautions: Vec::new(),
            repeated: Vec::new(),
            tally: Arc::new(Tally::begin()),
        };
        match client.wait(Some(until), &mut |_, _| Ok(()))? {
            Came::Ready => Ok(client),
            _ => Err(client.lost(io::Error::other("the login ended with an answer to no question"))),
        }
    }

    /// Warnings about the connection: a weak login, no encryption.
    pub fn cautions(&self) -> impl Iterator<Item = &String> {
        self.about().cautions.iter().chain(&self.cautions)
    }

    /// Counts of the statements and bytes that it caused, which outlive the connection.
    pub fn tally(&self) -> &Arc<Tally> {
        &self.tally
    }

    /// The address that answered.
    pub fn endpoint(&self) -> &Endpoint {
        &self.endpoint
    }

    /// The server's parameters from the beginning of the session.
    pub fn about(&self) -> &About {
        self.session.about()
    }

    /// A statement that takes longer from now on is cancelled.
    pub fn set_limit(&mut self, limit: Duration) {
        self.limit = Some(limit);
    }

    /// Takes no message longer than `bytes` from now on: a server that sends one is no longer listened to.
    pub fn set_longest_message(&mut self, bytes: usize) {
        self.session.limit(bytes);
    }

    /// An answer with more rows than this ends the connection from now on: it is no answer to what was asked.
    pub fn set_most_rows(&mut self, rows: u64) {
        self.most_rows = rows;
    }

    /// An answer with more bytes than this ends the connection from now on.
    pub fn set_most_bytes(&mut self, bytes: u64) {
        self.most_bytes = bytes;
    }

    /// Bytes that may be kept of rows from now on: each row takes its share, and the one for which nothing is left ends
    /// the connection. Who shares it fills it up again.
    pub fn set_allowance(&mut self, allowance: &Arc<AtomicU64>) {
        self.allowance = Some(Arc::clone(allowance));
    }

    /// Gives each row of a query to `row`, without a copy of it; the names of the columns are known afterwards.
    ///
    /// # Errors
    /// As [`Client::run`].
    pub fn each(&mut self, sql: &str, row: &mut dyn FnMut(Row<'_>)) -> Result<Reply, ClientError> {
        self.session.query(sql, &mut self.output);
        self.give(sql, row)
    }

    /// As [`Client::each`], of a statement that is asked again and again: PostgreSQL parses and plans it once, which can
    /// cost more than executing it. The names of its columns are not known afterwards.
    ///
    /// # Errors
    /// As [`Client::run`].
    pub fn each_again(&mut self, sql: &str, row: &mut dyn FnMut(Row<'_>)) -> Result<Reply, ClientError> {
        let Some(place) = self.repeated(sql) else { return self.each(sql, row) };
        let (statement, _) = &self.repeated[place];
        self.session.execute(statement, &[], Mode::Prepared, &mut self.output);
        match self.give(sql, row) {
            // An object it uses was changed, or a pooler gave us another session: it is asked as text from now on.
            Err(ClientError::Refused { error, .. }) if NOT_PREPARED.contains(&error.sqlstate()) => {
                self.repeated[place].1 = false;
                self.each(sql, row)
            }
            other => other,
        }
    }

    /// The place of a statement among those that are prepared; None for one that cannot be.
    fn repeated(&mut self, sql: &str) -> Option<usize> {
        if let Some(place) = self.repeated.iter().position(|(statement, _)| *statement.text == *sql) {
            return self.repeated[place].1.then_some(place);
        }
        let place = self.repeated.len();
        let number = u32::try_from(place).ok()?;
        self.repeated.push((Statement::new(self.target.login.dialect, number, vec![sql.to_owned()]), true));
        Some(place)
    }

    /// Gives the rows that come to `row`.
    fn give(&mut self, sql: &str, row: &mut dyn FnMut(Row<'_>)) -> Result<Reply, ClientError> {
        let mut cells = std::mem::take(&mut self.cells);
        let (mut count, most, allowance) = (0, self.most_rows, self.allowance.clone());
        let came = self.answer(sql, &mut |session, bytes| {
            count += 1;
            let unfit = |what: String| Err(WireError::Protocol { dialect: session.dialect(), what });
            if count > most {
                return unfit(format!("more than {most} rows"));
            }
            session.cells(bytes, &mut cells)?;
            if !allowance.as_ref().is_none_or(|left| takes(left, bytes.len(), cells.len())) {
                return unfit("more rows than are kept of a server at a time".to_owned());
            }
            row(Row::new(bytes, &cells));
            Ok(())
        });
        self.cells = cells;
        let came = came?;
        self.done(sql, came)
    }

    /// Keeps the names of each result's columns from now on, for [`Client::columns`].
    pub fn keep_columns(&mut self) {
        self.session.keep_columns();
    }

    /// Names of the columns of the latest result, when they are kept.
    pub fn columns(&self) -> &[String] {
        self.session.columns()
    }

    /// Waits for the answer to a statement, and cancels it when that takes too long.
    fn answer(&mut self, sql: &str, row: &mut OnRow<'_>) -> Result<Came, ClientError> {
        let until = self.limit.map(|limit| Instant::now() + limit);
        let came = self.wait(until, row);
        match (came, self.limit) {
            (Err(ClientError::Lost { source, .. }), Some(limit)) if source.kind() == io::ErrorKind::TimedOut => {
                self.cancel();
                Err(ClientError::Late {
                    target: self.name.clone(),
                    seconds: limit.as_secs_f64(),
                    sql: error::shortened(sql),
                })
            }
            (came, _) => came,
        }
    }

    /// Asks the server to give up the statement of this session. Whether it does is not waited for: the session's own
    /// `statement_timeout` ends it as well.
    fn cancel(&self) {
        match self.target.login.dialect {
            Dialect::Postgres => {
                if let Ok(mut channel) = establish(&self.endpoint, Instant::now() + CANCEL) {
                    let _ = channel.send(&cancellation(self.about()));
                }
            }
            Dialect::Mysql => {
                if let Ok(mut other) = Client::connect(&self.target, CANCEL) {
                    other.set_limit(CANCEL);
                    let _ = other.wait_for_kill(self.about().number);
                }
            }
        }
    }

    fn wait_for_kill(&mut self, number: u32) -> Result<(), ClientError> {
        self.session.query(&format!("KILL QUERY {number}"), &mut self.output);
        let until = Some(Instant::now() + CANCEL);
        self.wait(until, &mut |_, _| Ok(())).map(|_| ())
    }

    /// Runs a statement, however long it takes unless a limit is set.
    ///
    /// # Errors
    /// When the server refuses it, or the connection is lost.
    pub fn run(&mut self, sql: &str) -> Result<Reply, ClientError> {
        self.session.query(sql, &mut self.output);
        let came = self.answer(sql, &mut |_, _| Ok(()))?;
        self.done(sql, came)
    }

    /// Measures the round-trip time of a message. It is no statement and begins no transaction.
    ///
    /// # Errors
    /// As [`Client::run`].
    pub fn ping(&mut self) -> Result<Duration, ClientError> {
        const WHAT: &str = "ping";
        self.session.ping(&mut self.output);
        let began = Instant::now();
        let came = self.answer(WHAT, &mut |_, _| Ok(()))?;
        let took = began.elapsed();
        self.reply(WHAT, came).map(|_| took)
    }

    /// Runs a query and gives its rows as text; None for NULL.
    ///
    /// # Errors
    /// As [`Client::run`].
    pub fn rows(&mut self, sql: &str) -> Result<Vec<Vec<Option<String>>>, ClientError> {
        let mut rows = Vec::new();
        self.each(sql, &mut |row| {
            let text = |column| row.bytes(column).map(|value| String::from_utf8_lossy(value).into_owned());
            rows.push((0..row.len()).map(text).collect());
        })?;
        Ok(rows)
    }

    /// The only value of a query, as a number; None when there is no row, NULL or no number.
    ///
    /// # Errors
    /// As [`Client::run`].
    pub fn number(&mut self, sql: &str) -> Result<Option<i64>, ClientError> {
        let rows = self.rows(sql)?;
        Ok(rows.into_iter().flatten().flatten().next().and_then(|text| text.parse().ok()))
    }

    /// Runs a statement that takes data. `fill` writes lines to an empty buffer; an empty one is the end.
    ///
    /// # Errors
    /// As [`Client::run`].
    pub fn copy(&mut self, sql: &str, fill: &mut dyn FnMut(&mut Vec<u8>)) -> Result<Reply, ClientError> {
        self.session.query(sql, &mut self.output);
        let came = self.wait(None, &mut |_, _| Ok(()))?;
        if !matches!(came, Came::CopyIn) {
            return self.done(sql, came);
        }
        let mut data = Vec::new();
        loop {
            data.clear();
            fill(&mut data);
            if data.is_empty() {
                break;
            }
            self.session.copy_data(&data, &mut self.output);
            self.push(None).map_err(|e| self.lost(e))?;
        }
        self.session.copy_end(&mut self.output);
        let came = self.wait(None, &mut |_, _| Ok(()))?;
        self.done(sql, came)
    }

    /// As [`Client::reply`], of a statement, which is counted.
    fn done(&self, sql: &str, came: Came) -> Result<Reply, ClientError> {
        let reply = self.reply(sql, came);
        self.tally.count(&reply);
        reply
    }

    fn reply(&self, sql: &str, came: Came) -> Result<Reply, ClientError> {
        match came {
            Came::Done(Reply { error: Some(error), .. }) => {
                Err(ClientError::Refused { sql: error::shortened(sql), error })
            }
            Came::Done(reply) => Ok(reply),
            Came::Ready | Came::CopyIn => Err(self.lost(io::Error::other("an answer to no question"))),
        }
    }

    /// Sends what was written, waiting as long as the server reads, or `until`.
    fn push(&mut self, until: Option<Instant>) -> io::Result<()> {
        if !self.output.is_empty() {
            self.channel.send(&self.output)?;
            self.output.clear();
        }
        while self.channel.has_unsent() {
            // The server may send why it takes no more; that is read while waiting for the answer.
            wait_for(&self.channel, PollFlags::OUT, until)?;
            self.channel.flush()?;
        }
        Ok(())
    }

    /// Sends what was written and reads until something is done, or `until`.
    fn wait(&mut self, until: Option<Instant>, row: &mut OnRow<'_>) -> Result<Came, ClientError> {
        let mut heard = 0;
        loop {
            self.push(until).map_err(|e| self.lost(e))?;
            let mut used = 0;
            let mut came = None;
            while came.is_none() {
                let (count, event) = match self.session.feed(&self.input[used..], &mut self.output) {
                    Ok(fed) => fed,
                    Err(source) => return Err(self.unfit(source)),
                };
                used += count;
                match event {
                    Event::More => break,
                    Event::Nothing | Event::Prepared => {}
                    Event::Row(values) => {
                        let read = row(&self.session, values);
                        read.map_err(|source| self.unfit(source))?;
                    }
                    Event::Binding => self.session.bind(self.channel.end_point()),
                    Event::StartTls => {
                        self.push(until).map_err(|e| self.lost(e))?;
                        self.channel.secure(&self.target).map_err(|e| self.lost(e))?;
                        self.session.secured(&mut self.output);
                    }
                    Event::Ready => came = Some(Came::Ready),
                    Event::CopyIn => came = Some(Came::CopyIn),
                    Event::Done(reply) => came = Some(Came::Done(reply)),
                }
            }
            self.input.drain(..used);
            if let Some(came) = came {
                if self.input.is_empty() && self.input.capacity() > BUFFER {
                    self.input = Vec::new();
                }
                return Ok(came);
            }
            self.push(until).map_err(|e| self.lost(e))?;
            let held = self.input.len();
            self.read(until).map_err(|e| self.lost(e))?;
            heard += (self.input.len() - held) as u64;
            if heard > self.most_bytes {
                let what = format!("an answer of more than {} bytes", self.most_bytes);
                return Err(self.unfit(WireError::Protocol { dialect: self.session.dialect(), what }));
            }
        }
    }

    fn read(&mut self, until: Option<Instant>) -> io::Result<()> {
        // Time is over also for who sends without a pause.
        if until.is_some_and(|until| Instant::now() >= until) {
            return Err(late());
        }
        loop {
            match self.channel.receive(&mut self.input)? {
                Received::Some | Received::All => return Ok(()),
                Received::End => return Err(io::Error::other("the server closed it")),
                Received::Later => wait_for(&self.channel, PollFlags::IN, until)?,
            }
        }
    }

    fn unfit(&self, source: WireError) -> ClientError {
        ClientError::Session { target: self.name.clone(), source }
    }

    fn lost(&self, source: io::Error) -> ClientError {
        ClientError::Lost { target: self.name.clone(), source }
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        self.tally.end();
        self.output.clear();
        self.session.terminate(&mut self.output);
        // The server ends the session anyway when the socket is closed.
        let _ = self.channel.send(&self.output);
    }
}

/// Takes a row's cost from an allowance: its bytes, and what is kept of each value. False when that much is not left.
fn takes(left: &AtomicU64, bytes: usize, cells: usize) -> bool {
    const ROW: u64 = 64;
    const CELL: u64 = 32;
    let cost = bytes as u64 + ROW + CELL * cells as u64;
    left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| left.checked_sub(cost)).is_ok()
}
