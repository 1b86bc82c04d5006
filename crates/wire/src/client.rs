//! Blocking client for one statement at a time; the load driver itself has non-blocking sessions.
//!
//! A client with a limit of time cancels a statement that takes longer, over another connection, and is of no use
//! afterwards: what a server did not answer in time may still come.

use std::{
    io,
    ops::Range,
    time::{Duration, Instant},
};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use thiserror::Error;

use crate::{
    About, Dialect, Event, Mode, Reply, Row, ServerError, Session, Statement, WireError,
    channel::{Channel, Received},
    login::Tls,
    protocol::cancellation,
    target::{Endpoint, Target, TargetError},
    tls,
};

/// SQLSTATEs of a prepared statement that is none any more: a changed result, an unknown or known name, a confused protocol.
const NOT_PREPARED: &[&str] = &["0A000", "26000", "42P05", "08P01"];

/// How long cancelling a statement may take.
const CANCEL: Duration = Duration::from_secs(1);

/// Why something was not done.
#[derive(Debug, Error)]
pub enum ClientError {
    /// No address answered.
    #[error("{target}: {source}")]
    Connect {
        /// Without its password.
        target: String,
        /// What the last address said.
        source: io::Error,
    },
    /// The target is none.
    #[error(transparent)]
    Target(#[from] TargetError),
    /// The login was refused, or the stream is broken.
    #[error("{target}: {source}")]
    Session {
        /// Without its password.
        target: String,
        /// Why.
        source: WireError,
    },
    /// The connection was lost.
    #[error("{target}: the connection was lost: {source}")]
    Lost {
        /// Without its password.
        target: String,
        /// Why.
        source: io::Error,
    },
    /// A statement took longer than it may; it was cancelled, and the connection is of no more use.
    #[error("{target}: no answer in {seconds} s to: {sql}")]
    Late {
        /// Without its password.
        target: String,
        /// The limit.
        seconds: f64,
        /// The statement.
        sql: String,
    },
    /// The server refused a statement.
    #[error("{sql}: {error}")]
    Refused {
        /// The statement.
        sql: String,
        /// What the server says.
        error: Box<ServerError>,
    },
}

impl ClientError {
    /// Whether the connection can still be used.
    pub fn is_refusal(&self) -> bool {
        matches!(self, ClientError::Refused { .. })
    }

    /// What the server said, when it is the server that refused.
    pub fn server(&self) -> Option<&ServerError> {
        match self {
            ClientError::Refused { error, .. } => Some(error),
            ClientError::Session { source: WireError::Server(error), .. } => Some(error),
            _ => None,
        }
    }
}

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
    /// Statements that are prepared, and whether they can be.
    repeated: Vec<(Statement, bool)>,
}

/// What is done with a row.
type OnRow<'a> = dyn FnMut(&Session, &[u8]) -> Result<(), WireError> + 'a;

/// What came first of what was waited for.
enum Came {
    Ready,
    CopyIn,
    Done(Reply),
}

impl Client {
    /// Connects and logs in, at the first address that answers within `patience`.
    ///
    /// # Errors
    /// When none does, or the server refuses.
    pub fn connect(target: &Target, patience: Duration) -> Result<Client, ClientError> {
        let mut last = io::Error::other("no address");
        for endpoint in target.endpoints()? {
            match establish(&endpoint, patience) {
                Ok(channel) => match Client::log_in(target, channel, endpoint, patience) {
                    // A server may offer encryption and know no method that is still safe.
                    Err(ClientError::Lost { source, .. })
                        if target.login.tls == Tls::Prefer && tls::is_failure(&source) =>
                    {
                        return Client::connect(&target.in_clear(), patience);
                    }
                    done => return done,
                },
                Err(error) => last = error,
            }
        }
        Err(ClientError::Connect { target: target.to_string(), source: last })
    }

    fn log_in(
        target: &Target,
        channel: Channel,
        endpoint: Endpoint,
        patience: Duration,
    ) -> Result<Client, ClientError> {
        let mut output = Vec::new();
        let session = Session::new(&target.login, &mut output);
        let mut client = Client {
            name: target.to_string(),
            channel,
            session,
            endpoint,
            input: Vec::new(),
            output,
            target: target.clone(),
            limit: None,
            cells: Vec::new(),
            most_rows: u64::MAX,
            repeated: Vec::new(),
        };
        let until = Instant::now() + patience;
        match client.wait(Some(until), &mut |_, _| Ok(()))? {
            Came::Ready => Ok(client),
            _ => Err(client.lost(io::Error::other("the login ended with an answer to no question"))),
        }
    }

    /// The address that answered.
    pub fn endpoint(&self) -> &Endpoint {
        &self.endpoint
    }

    /// What the server told of itself when the session began.
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
            // What it depends on was changed, or a pooler gave us another session: it is asked as text from now on.
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
        let (mut count, most) = (0, self.most_rows);
        let came = self.answer(sql, &mut |session, bytes| {
            count += 1;
            if count > most {
                let what = format!("more than {most} rows");
                return Err(WireError::Protocol { dialect: session.dialect(), what });
            }
            session.cells(bytes, &mut cells)?;
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
                Err(ClientError::Late { target: self.name.clone(), seconds: limit.as_secs_f64(), sql: shortened(sql) })
            }
            (came, _) => came,
        }
    }

    /// Asks the server to give up the statement of this session. Whether it does is not waited for: the session's own
    /// `statement_timeout` ends it as well.
    fn cancel(&self) {
        match self.target.login.dialect {
            Dialect::Postgres => {
                if let Ok(mut channel) = establish(&self.endpoint, CANCEL) {
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

    /// How long a message to the server and its answer take. It is no statement and begins no transaction.
    ///
    /// # Errors
    /// As [`Client::run`].
    pub fn ping(&mut self) -> Result<Duration, ClientError> {
        const WHAT: &str = "ping";
        self.session.ping(&mut self.output);
        let began = Instant::now();
        let came = self.answer(WHAT, &mut |_, _| Ok(()))?;
        let took = began.elapsed();
        self.done(WHAT, came).map(|_| took)
    }

    /// Runs a query and gives its rows as text; None for NULL.
    ///
    /// # Errors
    /// As [`Client::run`].
    pub fn rows(&mut self, sql: &str) -> Result<Vec<Vec<Option<String>>>, ClientError> {
        let mut rows = Vec::new();
        self.session.query(sql, &mut self.output);
        let came = self.answer(sql, &mut |session, row| {
            let text = |value: Option<&[u8]>| value.map(|v| String::from_utf8_lossy(v).into_owned());
            rows.push(session.values(row)?.into_iter().map(text).collect());
            Ok(())
        })?;
        self.done(sql, came)?;
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

    fn done(&self, sql: &str, came: Came) -> Result<Reply, ClientError> {
        match came {
            Came::Done(Reply { error: Some(error), .. }) => Err(ClientError::Refused { sql: shortened(sql), error }),
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
            // The server may say why it takes no more; that is read by whoever waits for the answer.
            wait_for(&self.channel, PollFlags::OUT, until)?;
            self.channel.flush()?;
        }
        Ok(())
    }

    /// Sends what was written and reads until something is done, or `until`.
    fn wait(&mut self, until: Option<Instant>, row: &mut OnRow<'_>) -> Result<Came, ClientError> {
        loop {
            self.push(until).map_err(|e| self.lost(e))?;
            let mut used = 0;
            let mut came = None;
            while came.is_none() {
                let (count, event) = match self.session.feed(&self.input[used..], &mut self.output) {
                    Ok(fed) => fed,
                    Err(source) => return Err(ClientError::Session { target: self.name.clone(), source }),
                };
                used += count;
                match event {
                    Event::More => break,
                    Event::Nothing | Event::Prepared => {}
                    Event::Row(values) => {
                        let read = row(&self.session, values);
                        read.map_err(|source| ClientError::Session { target: self.name.clone(), source })?;
                    }
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
                return Ok(came);
            }
            self.push(until).map_err(|e| self.lost(e))?;
            self.read(until).map_err(|e| self.lost(e))?;
        }
    }

    fn read(&mut self, until: Option<Instant>) -> io::Result<()> {
        loop {
            match self.channel.receive(&mut self.input)? {
                Received::Some | Received::All => return Ok(()),
                Received::End => return Err(io::Error::other("the server closed it")),
                Received::Later => wait_for(&self.channel, PollFlags::IN, until)?,
            }
        }
    }

    fn lost(&self, source: io::Error) -> ClientError {
        ClientError::Lost { target: self.name.clone(), source }
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        self.output.clear();
        self.session.terminate(&mut self.output);
        // The server ends the session anyway when the socket is closed.
        let _ = self.channel.send(&self.output);
    }
}

fn establish(endpoint: &Endpoint, patience: Duration) -> io::Result<Channel> {
    let channel = Channel::connect(endpoint)?;
    wait_for(&channel, PollFlags::OUT, Some(Instant::now() + patience))?;
    channel.established()?;
    Ok(channel)
}

/// Waits until the socket can be read or written.
fn wait_for(channel: &Channel, what: PollFlags, until: Option<Instant>) -> io::Result<()> {
    let left = until.map(|until| until.saturating_duration_since(Instant::now()));
    let timeout = left.map(|left| Timespec { tv_sec: left.as_secs() as i64, tv_nsec: left.subsec_nanos().into() });
    let mut sockets = [PollFd::new(channel, what)];
    match poll(&mut sockets, timeout.as_ref()) {
        Ok(0) => Err(io::Error::new(io::ErrorKind::TimedOut, "no answer in time")),
        Ok(_) | Err(rustix::io::Errno::INTR) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

/// The beginning of a statement, for messages.
fn shortened(sql: &str) -> String {
    let mut text: String = sql.chars().take(120).collect();
    if text.len() < sql.len() {
        text.push('…');
    }
    text
}
