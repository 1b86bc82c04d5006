//! A session: one worker, asked one request at a time.

use std::{
    io,
    os::unix::net::UnixStream,
    panic::{AssertUnwindSafe, catch_unwind},
    path::PathBuf,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

use arrow_array::RecordBatch;
use arrow_buffer::Buffer;
use arrow_ipc::reader::StreamDecoder;
use arrow_schema::{Schema, SchemaRef};
use serde::Serialize;

use crate::{
    Answered, Request, Setup, Statement, WorkerError, Workers,
    control::End,
    message::{self, Kind},
};

/// Stops a session from another thread, at once and whatever it does: its process is killed.
#[derive(Clone, Debug)]
pub struct Stop {
    workers: Workers,
    id: u32,
    stopped: Arc<AtomicBool>,
}

impl Stop {
    /// Stops it; what it was asked ends with [`WorkerError::Stopped`].
    pub fn stop(&self) {
        self.stopped.store(true, Ordering::Release);
        self.workers.kill(self.id);
    }
}

/// A worker that answers. Dropping it ends its process.
#[derive(Debug)]
pub struct Session {
    id: u32,
    stream: UnixStream,
    workers: Workers,
    stopped: Arc<AtomicBool>,
    spill: Option<PathBuf>,
    confined: Vec<String>,
    /// Whether its next words belong to a request that was abandoned.
    is_lost: bool,
    /// Frames are read into it.
    payload: Vec<u8>,
}

impl Session {
    pub(crate) fn new(workers: Workers, id: u32, stream: UnixStream) -> Session {
        Session {
            id,
            stream,
            workers,
            stopped: Arc::default(),
            spill: None,
            confined: Vec::new(),
            is_lost: false,
            payload: Vec::new(),
        }
    }

    /// Gives up its rights. `setup` may leave the folder to spill into to the session.
    pub(crate) fn set_up(&mut self, setup: &Setup) -> Result<(), WorkerError> {
        self.spill = setup.spill.clone();
        self.confined = self.request(&Request::Setup(setup.clone()))?.confined;
        Ok(())
    }

    /// Sandbox of its process, in words.
    pub fn confined(&self) -> &[String] {
        &self.confined
    }

    /// A handle to stop it from another thread.
    pub fn stop(&self) -> Stop {
        Stop { workers: self.workers.clone(), id: self.id, stopped: Arc::clone(&self.stopped) }
    }

    /// Returns true if it can be asked once more.
    pub fn is_fit(&self) -> bool {
        !self.is_lost && !self.stopped.load(Ordering::Acquire)
    }

    /// Carries out a request that has no rows for an answer.
    ///
    /// # Errors
    /// [`WorkerError`].
    pub fn request(&mut self, request: &Request) -> Result<Answered, WorkerError> {
        self.send(request)?;
        match self.receive()? {
            Kind::Done => Ok(message::json(&self.payload).map_err(malformed)?),
            Kind::Failed => Err(WorkerError::Failed(message::json(&self.payload).map_err(malformed)?)),
            Kind::Data | Kind::Request => Err(self.lost("it answered rows")),
        }
    }

    /// Asks a statement and hands its answer over batch by batch; `limit` bounds its bytes.
    ///
    /// # Errors
    /// [`WorkerError`], and whatever `take` fails with; then the session is not fit for another request.
    pub fn ask<E: From<WorkerError>>(
        &mut self,
        statement: Statement,
        limit: Option<u64>,
        take: &mut dyn FnMut(RecordBatch) -> Result<(), E>,
    ) -> Result<SchemaRef, E> {
        self.send(&Request::Ask(statement))?;
        let mut decoder = StreamDecoder::new();
        let mut bytes = 0_u64;
        loop {
            match self.receive()? {
                Kind::Data => {
                    bytes += self.payload.len() as u64;
                    if let Some(limit) = limit.filter(|limit| bytes > *limit) {
                        self.is_lost = true;
                        return Err(WorkerError::TooLarge(limit).into());
                    }
                    let mut piece = Buffer::from_vec(std::mem::take(&mut self.payload));
                    while !piece.is_empty() {
                        // The decoder was written for streams that are right; a worker is not believed.
                        let decoded = catch_unwind(AssertUnwindSafe(|| decoder.decode(&mut piece)));
                        let decoded = decoded.map_err(|_| self.lost("its batches are wrong"))?;
                        let batch = decoded.map_err(|e| self.lost(&e.to_string()))?;
                        if let Some(batch) = batch
                            && let Err(error) = take(batch)
                        {
                            self.is_lost = true;
                            return Err(error);
                        }
                    }
                }
                Kind::Done => return Ok(decoder.schema().unwrap_or_else(|| Arc::new(Schema::empty()))),
                Kind::Failed => {
                    let failure = message::json(&self.payload).map_err(malformed)?;
                    return Err(WorkerError::Failed(failure).into());
                }
                Kind::Request => return Err(self.lost("it asked").into()),
            }
        }
    }

    fn send(&mut self, request: &impl Serialize) -> Result<(), WorkerError> {
        message::write_json(&mut self.stream, Kind::Request, request).map_err(|e| self.ended(&e))
    }

    fn receive(&mut self) -> Result<Kind, WorkerError> {
        match message::read(&mut self.stream, &mut self.payload) {
            Ok(Some(kind)) => Ok(kind),
            Ok(None) => Err(self.ended(&io::ErrorKind::UnexpectedEof.into())),
            Err(e) if e.kind() == io::ErrorKind::InvalidData => Err(self.lost(&e.to_string())),
            Err(e) => Err(self.ended(&e)),
        }
    }

    fn lost(&mut self, what: &str) -> WorkerError {
        self.is_lost = true;
        WorkerError::Malformed(what.to_owned())
    }

    /// Why the worker is no more.
    fn ended(&mut self, error: &io::Error) -> WorkerError {
        self.is_lost = true;
        if self.stopped.load(Ordering::Acquire) {
            return WorkerError::Stopped;
        }
        WorkerError::Ended(match self.workers.end_of(self.id) {
            End::Signal(6) => "it aborted (SIGABRT), mostly for lack of memory".to_owned(),
            End::Signal(9) => "it was killed (SIGKILL), mostly for lack of memory".to_owned(),
            End::Signal(11) => "it crashed (SIGSEGV), as with a statement that is nested too deeply".to_owned(),
            End::Signal(31) => "it did what no statement may (SIGSYS)".to_owned(),
            End::Signal(signal) => format!("signal {signal}"),
            End::Exit(status) => format!("exit status {status}"),
            End::Unknown => error.to_string(),
        })
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        self.workers.kill(self.id);
        let Some(spill) = &self.spill else { return };
        // Nearly always nothing was spilled; else its writer has to end first.
        if std::fs::remove_dir(spill).is_err() {
            self.workers.end_of(self.id);
            let _ = fs_err::remove_dir_all(spill);
        }
    }
}

fn malformed(error: io::Error) -> WorkerError {
    WorkerError::Malformed(error.to_string())
}
