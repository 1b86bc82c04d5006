//! A session: one connection to a server, asked one statement at a time.

use std::{
    fmt,
    pin::pin,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use bytes::Bytes;
use tokio::{runtime::Runtime, sync::Notify, time::timeout};

use crate::connect::{
    ConnectError, Plan, Target,
    channel::{CallError, Channel, Method, Stream},
    execution::{Execution, is_forgotten},
    proto::{Fields, Message},
    response::{bad, malformed},
};

/// How long a server may take over what is no execution: it may have to look at ten thousand files.
const PATIENCE: Duration = Duration::from_secs(300);
/// How long one may take over what is only a courtesy.
const BRIEF: Duration = Duration::from_secs(2);
/// After so long without a word a server is asked whether it is still there, and so long it may take to say so.
const SILENCE: Duration = if cfg!(test) { Duration::from_millis(250) } else { Duration::from_secs(20) };
const SIGN: Duration = if cfg!(test) { Duration::from_millis(250) } else { Duration::from_secs(15) };
/// Settings of the session: what answers depend on, and what keeps a statement to reading tables.
const SETTINGS: [(&str, &str); 6] = [
    ("spark.sql.session.timeZone", "UTC"),
    // A file that is not there, or is damaged, is an error.
    ("spark.sql.files.ignoreMissingFiles", "false"),
    ("spark.sql.files.ignoreCorruptFiles", "false"),
    // A path is no table.
    ("spark.sql.runSQLOnFiles", "false"),
    // A plan that is looked through must be whole, and planning must call nothing that running would call.
    ("spark.sql.debug.maxToStringFields", "1000000"),
    ("spark.sql.optimizer.excludedRules", "org.apache.spark.sql.catalyst.optimizer.ConvertToLocalRelation"),
];

/// Stops a session's statement from another thread.
#[derive(Clone, Default)]
pub struct Stop(pub(crate) Arc<Stopping>);

#[derive(Default)]
pub(crate) struct Stopping {
    pub(crate) stopped: AtomicBool,
    pub(crate) told: Notify,
}

impl Stop {
    /// Stops it; it ends with [`ConnectError::Stopped`], and so does each further one.
    pub fn stop(&self) {
        self.0.stopped.store(true, Ordering::Release);
        self.0.told.notify_one();
    }

    pub(crate) fn is_stopped(&self) -> bool {
        self.0.stopped.load(Ordering::Acquire)
    }

    /// Waits until it is stopped.
    pub(crate) async fn wait(&self) {
        while !self.is_stopped() {
            self.0.told.notified().await;
        }
    }
}

impl fmt::Debug for Stop {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Stop")
    }
}

/// A session at a server. Dropping it ends it there.
pub struct Session {
    /// None only while it is dropped.
    runtime: Option<Runtime>,
    pub(crate) link: Link,
    pub(crate) stop: Stop,
    /// Whether the server is Spark itself, and its version.
    server: Option<(bool, String)>,
}

/// The session's side of the connection.
pub(crate) struct Link {
    pub(crate) target: Target,
    channel: Option<Channel>,
    /// The session's number, which the client chooses.
    id: String,
    /// The server's own one, once it is known: another server, or the same after a restart, has another.
    observed: Option<String>,
    is_set: bool,
}

impl Session {
    /// Connects to the server at `target`; `stop` stops that, too.
    ///
    /// # Errors
    /// [`ConnectError`]: it cannot be reached, or refuses.
    pub fn open(target: &Target, stop: Stop) -> Result<Session, ConnectError> {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .thread_name("connect")
            .enable_io()
            .enable_time()
            .build()?;
        let link = Link { target: target.clone(), channel: None, id: uuid()?, observed: None, is_set: false };
        let mut session = Session { runtime: Some(runtime), link, stop, server: None };
        let version = session.block(async |link| {
            let answer = link.analyze(|message| message.message(10, Message::default())).await?;
            Ok(field_text(&answer, 8)?.unwrap_or_default())
        })?;
        let own = match session.own_version() {
            Err(ConnectError::BrokenOff { .. }) => session.own_version()?,
            own => own?,
        };
        session.server = Some((own.starts_with(&version) && !version.is_empty(), own));
        Ok(session)
    }

    /// Returns true if the server is Spark itself, not another one of its protocol.
    pub fn is_spark(&self) -> bool {
        self.server.as_ref().is_some_and(|(is_spark, _)| *is_spark)
    }

    /// The version that the server reports.
    pub fn version(&self) -> &str {
        self.server.as_ref().map_or("", |(_, version)| version)
    }

    /// A handle to stop its statement from another thread.
    pub fn stop(&self) -> Stop {
        self.stop.clone()
    }

    /// Returns true if it can be asked once more.
    pub fn is_fit(&self) -> bool {
        !self.stop.is_stopped()
    }

    /// Asks a statement and hands its answer over batch by batch; `limit` bounds its bytes.
    ///
    /// # Errors
    /// [`ConnectError`], and whatever `take` fails with. After an error nothing that was handed over is an answer.
    pub fn ask<E: From<ConnectError>>(
        &mut self,
        plan: &Plan,
        limit: Option<u64>,
        take: &mut dyn FnMut(RecordBatch) -> Result<(), E>,
    ) -> Result<SchemaRef, E> {
        let Session { runtime, link, stop, .. } = self;
        let runtime = runtime.as_ref().ok_or_else(|| bad("the session has ended"))?;
        let mut execution = Execution::new(plan)?;
        let mut asked = || loop {
            let batches = runtime.block_on(execution.next(link, stop))?;
            let Some(batches) = batches else { return Ok(()) };
            if let Some(limit) = limit.filter(|limit| execution.bytes > *limit) {
                return Err(E::from(ConnectError::TooLarge(limit)));
            }
            for batch in batches {
                take(batch)?;
            }
        };
        let outcome = asked();
        // Its buffers are freed; the result of that is of no interest any more.
        runtime.block_on(execution.end(link, outcome.is_ok()));
        outcome?;
        execution.schema.take().ok_or_else(|| bad("there were no columns").into())
    }

    /// The plan by which the server would answer a statement, as text.
    ///
    /// # Errors
    /// [`ConnectError`].
    pub fn explain(&mut self, plan: &Plan) -> Result<String, ConnectError> {
        let message = plan.message()?;
        self.block(async |link| {
            // 2 is the extended form: as it was parsed, as it was analysed, as it would run.
            let explain = Message::default().message(1, message.clone()).number(2, 2);
            let answer = link.analyze(|request| request.message(5, explain.clone())).await?;
            Ok(field_text(&answer, 3)?.unwrap_or_default())
        })
    }

    /// The version of the program itself. Servers that imitate Spark report Spark's version in another message.
    fn own_version(&mut self) -> Result<String, ConnectError> {
        let plan = Plan { sql: "SELECT version() AS version".to_owned(), tables: Vec::new() };
        let mut found = String::new();
        self.ask::<ConnectError>(&plan, None, &mut |batch| {
            let column = arrow_array::cast::as_string_array(batch.column(0));
            found.push_str(column.iter().flatten().next().unwrap_or_default());
            Ok(())
        })?;
        Ok(found)
    }

    fn block<T>(&mut self, work: impl AsyncFnOnce(&mut Link) -> Result<T, ConnectError>) -> Result<T, ConnectError> {
        let Session { runtime, link, stop, .. } = self;
        let runtime = runtime.as_ref().ok_or_else(|| bad("the session has ended"))?;
        runtime.block_on(async {
            tokio::select! {
                done = work(link) => done,
                () = stop.wait() => Err(ConnectError::Stopped),
            }
        })
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        let Some(runtime) = self.runtime.take() else { return };
        if self.link.channel.is_some() {
            let release = self.link.courtesy(Method::ReleaseSession, self.link.request());
            // In its own thread, since the thread that drops this may belong to another runtime. Left alone the session
            // ends by itself after an hour.
            std::thread::scope(|scope| drop(scope.spawn(|| runtime.block_on(release)).join()));
        }
        runtime.shutdown_background();
    }
}

impl Link {
    /// An open connection, with a session whose settings are set.
    pub(crate) async fn ready(&mut self) -> Result<(), CallError> {
        let is_open = match &mut self.channel {
            Some(channel) => channel.is_open().await,
            None => false,
        };
        if !is_open {
            self.channel = Some(Channel::open(&self.target).await?);
        }
        if !self.is_set {
            let set = SETTINGS.iter().fold(Message::default(), |set, (key, value)| set.entry(1, key, value));
            let message = self.request_observing(8).message(3, Message::default().message(1, set));
            let answer = self.unary(Method::Config, message).await?;
            let server = Fields::of(&answer).text(4);
            self.observe(server.ok().flatten());
            self.is_set = true;
        }
        Ok(())
    }

    /// Begins a call on the open connection.
    pub(crate) async fn call(&self, method: Method, message: Message) -> Result<Stream, CallError> {
        match &self.channel {
            Some(channel) => channel.call(method, message).await,
            None => Err(CallError::Broken("there is no connection".to_owned())),
        }
    }

    /// Gives the connection up, so that the next call makes another one.
    pub(crate) fn disconnect(&mut self) {
        self.channel = None;
    }

    /// Begins a session anew: the server does not know the old one any more.
    pub(crate) fn renew(&mut self) -> Result<(), ConnectError> {
        (self.id, self.observed, self.is_set) = (uuid()?, None, false);
        Ok(())
    }

    /// Remembers the server's own number of the session.
    pub(crate) fn observe(&mut self, server: Option<String>) {
        if let Some(server) = server.filter(|server| !server.is_empty()) {
            self.observed.get_or_insert(server);
        }
    }

    /// Fields that every request begins with.
    pub(crate) fn request(&self) -> Message {
        let user = Message::default().text(1, &self.target.user).text(2, &self.target.user);
        Message::default().text(1, &self.id).message(2, user)
    }

    /// The same with the server's own number of the session in `field`, where it is known.
    pub(crate) fn request_observing(&self, field: u32) -> Message {
        let request = self.request();
        match &self.observed {
            Some(observed) => request.text(field, observed),
            None => request,
        }
    }

    /// A call with one answer on the open connection.
    pub(crate) async fn unary(&self, method: Method, message: Message) -> Result<Bytes, CallError> {
        match &self.channel {
            Some(channel) => self.watched(channel.unary(method, message, PATIENCE)).await,
            None => Err(CallError::Broken("there is no connection".to_owned())),
        }
    }

    /// A call whose outcome matters little.
    pub(crate) async fn courtesy(&self, method: Method, message: Message) {
        if let Some(channel) = &self.channel {
            let _ = channel.unary(method, message, BRIEF).await;
        }
    }

    /// Waits for what `work` brings, as long as the server gives a sign of life on the same connection.
    ///
    /// A proxy may keep a connection open whose other end has gone. That HTTP/2 has a frame for this question
    /// is of no use: servers of gRPC end connections on which it comes more often than every five minutes.
    pub(crate) async fn watched<T>(&self, work: impl Future<Output = Result<T, CallError>>) -> Result<T, CallError> {
        let mut work = pin!(work);
        loop {
            if let Ok(done) = timeout(SILENCE, work.as_mut()).await {
                return done;
            }
            tokio::select! {
                biased;
                done = work.as_mut() => return done,
                sign = self.sign_of_life() => sign?,
            }
        }
    }

    async fn sign_of_life(&self) -> Result<(), CallError> {
        let Some(channel) = &self.channel else { return Ok(()) };
        let get = Message::default().message(2, Message::default().text(1, SETTINGS[0].0));
        let message = self.request_observing(8).message(3, get);
        match channel.unary(Method::Config, message, SIGN).await {
            Err(CallError::Broken(_)) => Err(CallError::Broken("it fell silent".to_owned())),
            // Any answer shows that it is there.
            Ok(_) | Err(CallError::Status { .. }) => Ok(()),
        }
    }

    /// Asks about a plan; `add` adds what is asked. Once more where the connection had broken, and where the server was
    /// restarted.
    async fn analyze(&mut self, add: impl Fn(Message) -> Message) -> Result<Bytes, ConnectError> {
        let mut attempts = 0..2;
        loop {
            self.ready().await.map_err(|e| self.unreachable(e))?;
            let message = add(self.request_observing(17));
            match self.unary(Method::AnalyzePlan, message).await {
                Ok(answer) => return Ok(answer),
                Err(error) if attempts.next().is_none() => return Err(self.failed(error)),
                Err(error) if is_forgotten(&error) => self.renew()?,
                Err(CallError::Broken(_)) => self.disconnect(),
                Err(error) => return Err(self.failed(error)),
            }
        }
    }

    /// A server's message without the trace that follows it, and without what is secret of the address.
    fn readable(&self, message: &str) -> String {
        let end = message.find("\n\nJVM stacktrace").unwrap_or(message.len());
        let secrets = self.target.token.iter().chain(self.target.headers.iter().map(|(_, value)| value));
        let text = message[..end].trim_end().to_owned();
        secrets.filter(|secret| secret.len() > 3).fold(text, |text, secret| text.replace(secret.as_str(), "…"))
    }

    /// The error that a failed call means to who asked.
    pub(crate) fn failed(&self, error: CallError) -> ConnectError {
        match error {
            // UNAUTHENTICATED: a token that is not valid any more.
            CallError::Status { code: 16, .. } | CallError::Broken(_) => self.unreachable(error),
            CallError::Status { message, .. } => ConnectError::Refused(self.readable(&message)),
        }
    }

    pub(crate) fn unreachable(&self, error: CallError) -> ConnectError {
        let why = match error {
            CallError::Status { code: 16 | 7, message } => {
                let what = Some(self.readable(&message)).filter(|what| !what.is_empty());
                format!("it refuses who asks{}", what.map(|what| format!(": {what}")).unwrap_or_default())
            }
            // UNIMPLEMENTED: another service of the same protocol below.
            CallError::Status { code: 12, message } => format!("it is no Spark Connect: {}", self.readable(&message)),
            CallError::Status { message, .. } => self.readable(&message),
            CallError::Broken(why) => why,
        };
        ConnectError::Unreachable { target: self.target.to_string(), why }
    }
}

/// A text within the message `field` of an analysis.
fn field_text(answer: &[u8], field: u32) -> Result<Option<String>, ConnectError> {
    let inner = Fields::of(answer).bytes(field).map_err(malformed)?;
    Fields::of(inner.unwrap_or_default()).text(1).map_err(malformed)
}

/// A random number in the form that the protocol wants.
pub(crate) fn uuid() -> Result<String, ConnectError> {
    let mut bytes = [0_u8; 16];
    getrandom::fill(&mut bytes).map_err(|e| std::io::Error::other(e.to_string()))?;
    (bytes[6], bytes[8]) = (bytes[6] & 0x0f | 0x40, bytes[8] & 0x3f | 0x80);
    let hex: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    Ok([&hex[..8], &hex[8..12], &hex[12..16], &hex[16..20], &hex[20..]].join("-"))
}
