//! A session: the child of a template that gives up its rights and then carries out requests.

use std::{
    io::{self, BufWriter, Write},
    os::{fd::OwnedFd, unix::net::UnixStream},
};

use arrow_ipc::writer::StreamWriter;
use fenxi_worker::{
    Answered, Cell, Failure, Request, Setup, Statement,
    message::{self, Explain, Kind, PIECE},
};

use crate::{
    connection::EngineError,
    database::{Database, Template},
    gate, nesting, sandbox,
};

/// Serves requests until who asks has gone.
pub(crate) fn serve(socket: OwnedFd, template: &Template) -> io::Result<()> {
    let database = &template.session().map_err(io::Error::other)?;
    let mut stream = UnixStream::from(socket);
    let mut payload = Vec::new();
    let mut session = Session { database, stream: stream.try_clone()?, is_set_up: false };
    while let Some(kind) = message::read(&mut stream, &mut payload)? {
        if kind != Kind::Request {
            return Err(io::ErrorKind::InvalidData.into());
        }
        let outcome = match message::json(&payload)? {
            Request::Setup(setup) => session.set_up(&setup),
            // Nothing runs before the rights are gone.
            _ if !session.is_set_up => Err(Trouble::Failed(Failure::Unconfined("it was not set up".to_owned()))),
            Request::Run(sql) => session.run(&sql),
            Request::Fill { table, rows } => session.fill(&table, &rows),
            Request::Ask(statement) => session.ask(&statement),
            Request::Tree(sql) => session.tree(&sql),
        };
        match outcome {
            Ok(answered) => message::write_json(&mut stream, Kind::Done, &answered)?,
            Err(Trouble::Failed(failure)) => message::write_json(&mut stream, Kind::Failed, &shortened(failure))?,
            Err(Trouble::Gone(error)) => return Err(error),
        }
    }
    Ok(())
}

/// Why a request was not carried out.
enum Trouble {
    /// The client gets the error.
    Failed(Failure),
    /// The client is gone.
    Gone(io::Error),
}

impl From<Failure> for Trouble {
    fn from(failure: Failure) -> Trouble {
        Trouble::Failed(failure)
    }
}

impl From<EngineError> for Trouble {
    fn from(error: EngineError) -> Trouble {
        Trouble::Failed(error.into())
    }
}

struct Session<'a> {
    database: &'a Database<'a>,
    /// Where answers go.
    stream: UnixStream,
    is_set_up: bool,
}

impl Session<'_> {
    fn set_up(&mut self, setup: &Setup) -> Result<Answered, Trouble> {
        if self.is_set_up {
            return Err(Failure::Unconfined("it is set up already".to_owned()).into());
        }
        let confined = sandbox::enter(setup, &self.stream).map_err(|e| Failure::Unconfined(e.to_string()))?;
        // Nothing is spilled where the kernel does not confine that to a folder.
        let setup = Setup { spill: setup.spill.clone().filter(|_| confined.may_spill), ..setup.clone() };
        self.database.narrow(&setup)?;
        self.is_set_up = true;
        Ok(Answered { confined: confined.by, ..Answered::default() })
    }

    fn run(&self, sql: &str) -> Result<Answered, Trouble> {
        self.database.con().run(sql)?;
        Ok(Answered::default())
    }

    fn tree(&self, sql: &str) -> Result<Answered, Trouble> {
        Ok(Answered { tree: gate::statement(self.database, sql)?, ..Answered::default() })
    }

    fn fill(&self, table: &str, rows: &[Vec<Cell>]) -> Result<Answered, Trouble> {
        let mut appender = self.database.con().appender(table)?;
        for row in rows {
            appender.row(row)?;
        }
        appender.flush()?;
        Ok(Answered::default())
    }

    fn ask(&self, statement: &Statement) -> Result<Answered, Trouble> {
        // The gate plans a statement, as answering it does: of texts that were tested with it, it would only cost time.
        if !statement.is_ours {
            gate::check(self.database, &statement.sql)?;
        }
        let explain = match statement.explain {
            Explain::No => "",
            Explain::Plan => "EXPLAIN ",
            Explain::Analyze => "EXPLAIN ANALYZE ",
        };
        // The text after EXPLAIN was a reading statement by itself.
        let mut prepared = self.database.con().prepare(&format!("{explain}{}", statement.sql))?;
        let params: Vec<(&str, &Cell)> = statement.params.iter().map(|(name, cell)| (name.as_str(), cell)).collect();
        prepared.bind(&params)?;
        let mut rows = prepared.stream()?;
        nesting::check(&rows.schema())?;
        let pieces = BufWriter::with_capacity(PIECE, Pieces(&self.stream));
        let mut writer = StreamWriter::try_new(pieces, &rows.schema()).map_err(gone)?;
        // Who asked wants the columns also when rows take long.
        writer.flush().map_err(gone)?;
        while let Some(batch) = rows.next()? {
            writer.write(&batch).map_err(gone)?;
            writer.flush().map_err(gone)?;
        }
        writer.finish().map_err(gone)?;
        writer.get_mut().flush().map_err(Trouble::Gone)?;
        Ok(Answered::default())
    }
}

fn gone(error: impl std::error::Error + Send + Sync + 'static) -> Trouble {
    Trouble::Gone(io::Error::other(error))
}

/// A failure whose text fits into a frame and a person's patience.
fn shortened(failure: Failure) -> Failure {
    const LONGEST: usize = 16 << 10;
    match failure {
        Failure::Engine(mut text) if text.len() > LONGEST => {
            let end = (0..=LONGEST).rev().find(|i| text.is_char_boundary(*i)).unwrap_or(0);
            text.truncate(end);
            Failure::Engine(text + " …")
        }
        other => other,
    }
}

/// Makes data frames of what is written.
struct Pieces<'a>(&'a UnixStream);

impl Write for Pieces<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let piece = &bytes[..bytes.len().min(PIECE)];
        message::write(&mut self.0, Kind::Data, piece)?;
        Ok(piece.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
