//! An execution: from the plan to the server's word that its answer is whole, over as many connections as it takes.

use std::time::{Duration, Instant};

use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use bytes::Bytes;

use crate::connect::{
    ConnectError, Plan, Stop,
    channel::{CallError, Method, Stream},
    proto::Message,
    response::{Response, bad},
    session::{Link, uuid},
};

/// Attempts in a row that bring nothing, within so much time; the wait before the second one, which then doubles, and
/// the longest. Together they leave a server the time to start.
const ATTEMPTS: u32 = 15;
const IN_ALL: Duration = Duration::from_secs(60);
const WAIT: Duration = if cfg!(test) { Duration::from_millis(1) } else { Duration::from_millis(100) };
const LONGEST_WAIT: Duration = Duration::from_millis(50 * WAIT.as_millis() as u64);
/// How often a statement that the server has forgotten begins anew.
const RESTARTS: u32 = 2;

pub(crate) struct Execution {
    plan: Message,
    /// The execution's number.
    id: String,
    stream: Option<Stream>,
    /// The last response that came.
    last: Option<String>,
    /// Whether the server may know of it.
    is_begun: bool,
    is_complete: bool,
    /// Rows that were handed over.
    rows: u64,
    /// Bytes that came.
    pub(crate) bytes: u64,
    pub(crate) schema: Option<SchemaRef>,
    failures: u32,
    /// When the first of them was.
    failing_since: Option<Instant>,
    restarts: u32,
}

impl Execution {
    pub(crate) fn new(plan: &Plan) -> Result<Execution, ConnectError> {
        Ok(Execution {
            plan: plan.message()?,
            id: uuid()?,
            stream: None,
            last: None,
            is_begun: false,
            is_complete: false,
            rows: 0,
            bytes: 0,
            schema: None,
            failures: 0,
            failing_since: None,
            restarts: 0,
        })
    }

    /// The next batches; None when the server has said that there are no more.
    pub(crate) async fn next(
        &mut self,
        link: &mut Link,
        stop: &Stop,
    ) -> Result<Option<Vec<RecordBatch>>, ConnectError> {
        loop {
            if self.is_complete {
                return Ok(None);
            }
            let came = tokio::select! {
                biased;
                () = stop.wait() => return Err(ConnectError::Stopped),
                came = self.response(link) => came,
            };
            let error = match came {
                Ok(Some(message)) => match self.take_in(&message, link)? {
                    Some(batches) => return Ok(Some(batches)),
                    None => continue,
                },
                // Servers end long streams now and then; what follows is asked for.
                Ok(None) => CallError::Broken("its stream ended".to_owned()),
                Err(error) => error,
            };
            tokio::select! {
                biased;
                () = stop.wait() => return Err(ConnectError::Stopped),
                again = self.failed(link, error) => again?,
            }
        }
    }

    /// Ends it at the server: what is left of it is freed, and what still runs is stopped.
    pub(crate) async fn end(&mut self, link: &mut Link, is_whole: bool) {
        self.stream = None;
        if !self.is_begun {
            return;
        }
        if !is_whole {
            let interrupt = link.request().number(4, 3).text(6, &self.id);
            link.courtesy(Method::Interrupt, interrupt).await;
        }
        let release = link.request().text(3, &self.id).message(5, Message::default());
        link.courtesy(Method::ReleaseExecute, release).await;
    }

    /// The next message of the stream, which is begun or taken up where there is none.
    async fn response(&mut self, link: &mut Link) -> Result<Option<Bytes>, CallError> {
        let stream = match self.stream.take() {
            Some(stream) => stream,
            None => {
                link.ready().await?;
                let (method, message) = self.request(link);
                self.is_begun = true;
                link.watched(link.call(method, message)).await?
            }
        };
        let stream = self.stream.insert(stream);
        link.watched(stream.next()).await
    }

    /// The request that begins the execution, or takes it up.
    fn request(&self, link: &Link) -> (Method, Message) {
        if self.is_begun {
            let request = link.request_observing(6).text(3, &self.id);
            let request = match &self.last {
                Some(last) => request.text(5, last),
                None => request,
            };
            return (Method::ReattachExecute, request);
        }
        let reattachable = Message::default().message(1, Message::default().number(1, 1));
        let request = link.request_observing(8).text(6, &self.id).message(3, self.plan.clone());
        (Method::ExecutePlan, request.message(5, reattachable))
    }

    /// Takes in one response; gives its batches, if it has any.
    fn take_in(&mut self, message: &Bytes, link: &mut Link) -> Result<Option<Vec<RecordBatch>>, ConnectError> {
        let response = Response::of(message)?;
        link.observe(response.server);
        if let Some(id) = response.id.filter(|id| !id.is_empty()) {
            self.last = Some(id);
        }
        (self.failures, self.failing_since) = (0, None);
        self.is_complete |= response.is_complete;
        let Some(rows) = response.rows else { return Ok(None) };
        self.bytes += message.len() as u64;
        let (schema, batches) = rows.batches(self.rows)?;
        match &self.schema {
            None => self.schema = Some(schema),
            Some(known) if *known == schema => {}
            Some(_) => return Err(bad("its columns changed on the way")),
        }
        self.rows += rows.count;
        Ok(Some(batches))
    }

    /// Prepares another attempt after a failure, or says that there is none.
    async fn failed(&mut self, link: &mut Link, error: CallError) -> Result<(), ConnectError> {
        self.stream = None;
        if is_forgotten(&error) {
            // It was restarted, or another server answers: half an answer cannot be completed.
            if self.rows > 0 || self.restarts == RESTARTS {
                return Err(self.broken_off("the server does not know the statement any more"));
            }
            self.restarts += 1;
            (self.id, self.last, self.is_begun) = (uuid()?, None, false);
            return link.renew();
        }
        if !error.is_passing() {
            return Err(link.failed(error));
        }
        self.failures += 1;
        if matches!(&error, CallError::Broken(what) if what != "its stream ended") {
            link.disconnect();
        }
        // Rows of which nothing tells how many came would come twice.
        if self.rows > 0 && self.last.is_none() {
            return Err(self.broken_off("the server does not number what it sends"));
        }
        let since = *self.failing_since.get_or_insert_with(Instant::now);
        if self.failures == ATTEMPTS || since.elapsed() > IN_ALL {
            return Err(match self.is_begun {
                true => self.broken_off(&link.unreachable(error).to_string()),
                false => link.unreachable(error),
            });
        }
        tokio::time::sleep(LONGEST_WAIT.min(WAIT * 2_u32.pow(self.failures - 1))).await;
        Ok(())
    }

    fn broken_off(&self, why: &str) -> ConnectError {
        ConnectError::BrokenOff { rows: self.rows, why: why.to_owned() }
    }
}

/// Whether the server has no knowledge of the session or the execution.
pub(crate) fn is_forgotten(error: &CallError) -> bool {
    const WORDS: [&str; 7] = [
        "INVALID_HANDLE.SESSION_NOT_FOUND",
        "INVALID_HANDLE.SESSION_CHANGED",
        "INVALID_HANDLE.SESSION_CLOSED",
        "INVALID_HANDLE.OPERATION_NOT_FOUND",
        "INVALID_HANDLE.OPERATION_ABANDONED",
        // Sail's, also of an answer that it has sent and nobody received.
        "task context not found",
        "operation not found",
    ];
    match error {
        CallError::Status { message, .. } => WORDS.iter().any(|word| message.contains(word)),
        CallError::Broken(_) => false,
    }
}
