//! Who answers a poller: a server, a server whose answers are kept, or answers that were kept.
//!
//! Pollers do not know which it is, so that two snapshots become figures by the code that makes them of a server.

use std::{
    ops::Range,
    sync::{Arc, atomic::AtomicU64},
    time::{Duration, Instant},
};

use fenxi_wire::{
    About, Reply, Row,
    client::{self, ClientError, Tally},
    target::Target,
};

use crate::snapshot::{Answer, Keeping, Played};

/// The words under which a round trip is kept.
const PING: &str = "ping";

/// A connection, or saved answers of one.
#[derive(Debug)]
pub struct Client {
    source: Source,
    database: String,
}

#[derive(Debug)]
enum Source {
    Server { client: Box<client::Client>, keeping: Option<Keeping> },
    Saved { played: Arc<Played>, about: About, tally: Arc<Tally>, columns: Vec<String> },
}

/// Removes from a row what must not be kept.
pub type Hide<'a> = &'a dyn Fn(&mut [Option<String>]);

/// Handler of a row.
type OnRow<'a> = &'a mut dyn FnMut(Row<'_>);

impl Client {
    /// Connects to a server; `keeping` takes what it answers.
    ///
    /// # Errors
    /// When it cannot be reached, or refuses.
    pub fn connect(target: &Target, patience: Duration, keeping: Option<Keeping>) -> Result<Client, ClientError> {
        let client = Box::new(client::Client::connect(target, patience)?);
        let database = target.login.database.clone();
        Ok(Client { source: Source::Server { client, keeping }, database })
    }

    /// Client that answers from two saved snapshots of a database.
    pub fn of_saved(played: &Arc<Played>, database: &str) -> Client {
        let about = About {
            version: played.first().version.as_str().into(),
            number: 0,
            key: Box::default(),
            cautions: Vec::new(),
        };
        let tally = Arc::new(Tally::begin());
        let source = Source::Saved { played: Arc::clone(played), about, tally, columns: Vec::new() };
        Client { source, database: database.to_owned() }
    }

    /// Sets the limits of a connection.
    pub fn limit(&mut self, answer: Duration, (message, rows, bytes): (usize, u64, u64), allowance: &Arc<AtomicU64>) {
        if let Source::Server { client, .. } = &mut self.source {
            client.set_limit(answer);
            client.set_longest_message(message);
            client.set_most_rows(rows);
            client.set_most_bytes(bytes);
            client.set_allowance(allowance);
            client.keep_columns();
        }
    }

    /// As [`Client::limit`], of time only.
    pub fn limit_time(&mut self, answer: Duration) {
        if let Source::Server { client, .. } = &mut self.source {
            client.set_limit(answer);
        }
    }

    /// The database that was connected to.
    pub fn database(&self) -> &str {
        &self.database
    }

    /// Returns true if no server answers.
    pub fn is_saved(&self) -> bool {
        matches!(self.source, Source::Saved { .. })
    }

    /// The moment of its answers.
    pub fn now(&self) -> Instant {
        match &self.source {
            Source::Server { .. } => Instant::now(),
            Source::Saved { played, .. } => played.now(),
        }
    }

    /// Warnings about the connection: a weak login, no encryption.
    pub fn cautions(&self) -> Vec<String> {
        match &self.source {
            Source::Server { client, .. } => client.cautions().cloned().collect(),
            Source::Saved { .. } => Vec::new(),
        }
    }

    /// Counts of the statements and bytes that it caused, which outlive the connection.
    pub fn tally(&self) -> &Arc<Tally> {
        match &self.source {
            Source::Server { client, .. } => client.tally(),
            Source::Saved { tally, .. } => tally,
        }
    }

    /// The server's parameters at the beginning of the session.
    pub fn about(&self) -> &About {
        match &self.source {
            Source::Server { client, .. } => client.about(),
            Source::Saved { about, .. } => about,
        }
    }

    /// Names of the columns of the latest result.
    pub fn columns(&self) -> &[String] {
        match &self.source {
            Source::Server { client, .. } => client.columns(),
            Source::Saved { columns, .. } => columns,
        }
    }

    /// Gives each row of a query to `row`; the names of the columns are known afterwards.
    ///
    /// # Errors
    /// When the server refuses it, or the connection is lost.
    pub fn each(&mut self, sql: &str, row: OnRow<'_>) -> Result<Reply, ClientError> {
        self.asked(sql, false, &|_| (), row)
    }

    /// As [`Client::each`], of a statement that is asked again and again.
    ///
    /// # Errors
    /// As [`Client::each`].
    pub fn each_again(&mut self, sql: &str, row: OnRow<'_>) -> Result<Reply, ClientError> {
        self.asked(sql, true, &|_| (), row)
    }

    /// As [`Client::each`], of rows from which `hide` removes what must not be kept.
    ///
    /// # Errors
    /// As [`Client::each`].
    pub fn each_hidden(&mut self, sql: &str, hide: Hide<'_>, row: OnRow<'_>) -> Result<Reply, ClientError> {
        self.asked(sql, false, hide, row)
    }

    /// As [`Client::each_hidden`], of a statement that is asked again and again.
    ///
    /// # Errors
    /// As [`Client::each`].
    pub fn each_hidden_again(&mut self, sql: &str, hide: Hide<'_>, row: OnRow<'_>) -> Result<Reply, ClientError> {
        self.asked(sql, true, hide, row)
    }

    fn asked(&mut self, sql: &str, again: bool, hide: Hide<'_>, row: OnRow<'_>) -> Result<Reply, ClientError> {
        match &mut self.source {
            Source::Saved { played, columns, .. } => {
                let answer = played.answer(&self.database, sql)?;
                columns.clone_from(&answer.columns);
                let reply = Reply { completed: 1, rows: answer.rows.len() as u64, ..Reply::default() };
                answer.rows.iter().for_each(|values| give(values, row));
                Ok(reply)
            }
            Source::Server { client, keeping: None } if again => client.each_again(sql, row),
            Source::Server { client, keeping: None } => client.each(sql, row),
            Source::Server { client, keeping: Some(keeping) } => {
                let mut rows = Vec::new();
                let answered = client.each(sql, &mut |answer| {
                    let text = |place| answer.bytes(place).map(|value| String::from_utf8_lossy(value).into_owned());
                    let mut values: Vec<_> = (0..answer.len()).map(text).collect();
                    hide(&mut values);
                    rows.push(values);
                    row(answer);
                });
                let refused = match &answered {
                    Err(error) if error.is_refusal() => Some(error.to_string()),
                    _ => None,
                };
                let columns = client.columns().to_vec();
                keeping.keep(Answer { database: self.database.clone(), sql: sql.to_owned(), refused, columns, rows });
                answered
            }
        }
    }

    /// Lets `ask` ask what is not kept.
    pub fn unkept<T>(&mut self, ask: impl FnOnce(&mut Client) -> T) -> T {
        let kept = match &mut self.source {
            Source::Server { keeping, .. } => keeping.take(),
            Source::Saved { .. } => None,
        };
        let found = ask(self);
        if let Source::Server { keeping, .. } = &mut self.source {
            *keeping = kept;
        }
        found
    }

    /// Runs a statement of which nothing is to be known.
    ///
    /// # Errors
    /// As [`Client::each`].
    pub fn run(&mut self, sql: &str) -> Result<Reply, ClientError> {
        match &mut self.source {
            Source::Server { client, .. } => client.run(sql),
            Source::Saved { .. } => Ok(Reply::default()),
        }
    }

    /// Measures the round-trip time of a message; None where it was not kept.
    ///
    /// # Errors
    /// When the connection is lost.
    pub fn ping(&mut self) -> Result<Option<Duration>, ClientError> {
        match &mut self.source {
            Source::Server { client, keeping } => {
                let took = client.ping()?;
                if let Some(keeping) = keeping {
                    let rows = vec![vec![Some(took.as_secs_f64().to_string())]];
                    keeping.keep(Answer { sql: PING.to_owned(), rows, ..Answer::default() });
                }
                Ok(Some(took))
            }
            Source::Saved { played, .. } => {
                let answer = played.answer("", PING).ok();
                let seconds = answer.and_then(|answer| answer.rows.first()?.first()?.as_deref()?.parse::<f64>().ok());
                Ok(seconds.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok()))
            }
        }
    }

    /// Runs a query and gives its rows as text; None for NULL.
    ///
    /// # Errors
    /// As [`Client::each`].
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
    /// As [`Client::each`].
    pub fn number(&mut self, sql: &str) -> Result<Option<i64>, ClientError> {
        let rows = self.rows(sql)?;
        Ok(rows.into_iter().flatten().flatten().next().and_then(|text| text.parse().ok()))
    }
}

/// Gives values as a row of a connection.
fn give(values: &[Option<String>], row: OnRow<'_>) {
    let mut bytes = Vec::new();
    let mut cells: Vec<Option<Range<usize>>> = Vec::with_capacity(values.len());
    for value in values {
        let begin = bytes.len();
        bytes.extend(value.iter().flat_map(|text| text.bytes()));
        cells.push(value.as_ref().map(|_| begin..bytes.len()));
    }
    row(Row::new(&bytes, &cells));
}
