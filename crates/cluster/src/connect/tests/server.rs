//! A server of the protocol that knows two statements, and does what servers do when something is wrong.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, MutexGuard},
};

use arrow_array::{ArrayRef, Int64Array, RecordBatch, StringArray};
use arrow_ipc::writer::StreamWriter;
use bytes::{BufMut, Bytes, BytesMut};
use h2::server::SendResponse;
use http::{HeaderMap, Request, Response};
use tokio::{
    io::{AsyncRead, AsyncWrite},
    net::TcpListener,
    runtime::Runtime,
    sync::Notify,
};
use tokio_rustls::TlsAcceptor;

use crate::connect::proto::{Fields, Message};

/// Batches of an answer, and rows of each; their values are the numbers from 0.
pub const BATCHES: u64 = 5;
pub const ROWS: u64 = 20;

/// How a server answers.
#[derive(Clone, Copy, Debug, Default)]
pub struct Manner {
    /// Responses after which an answer pauses until [`Server::restart`].
    pub pauses_after: Option<usize>,
    /// True if it never declares that an answer is complete.
    pub never_complete: bool,
    /// True if responses have no numbers.
    pub no_numbers: bool,
    /// The only token that it takes.
    pub token: Option<&'static str>,
}

/// The server; it ends with this value.
pub struct Server {
    pub port: u16,
    state: Arc<Shared>,
    _runtime: Runtime,
}

#[derive(Default)]
struct Shared {
    state: Mutex<State>,
    restarted: Notify,
}

#[derive(Default)]
struct State {
    manner: Manner,
    life: u32,
    executions: BTreeMap<String, Vec<Vec<u8>>>,
    calls: Vec<String>,
}

impl Server {
    pub fn start(manner: Manner, tls: Option<TlsAcceptor>) -> Server {
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
        let state = Arc::new(Shared { state: Mutex::new(State { manner, ..State::default() }), ..Shared::default() });
        let listener = runtime.block_on(TcpListener::bind("127.0.0.1:0")).unwrap();
        let port = listener.local_addr().unwrap().port();
        let theirs = Arc::clone(&state);
        runtime.spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let (tls, state) = (tls.clone(), Arc::clone(&theirs));
                let _ = stream.set_nodelay(true);
                tokio::spawn(async move {
                    match tls {
                        None => connection(stream, state).await,
                        Some(tls) => {
                            if let Ok(stream) = tls.accept(stream).await {
                                connection(stream, state).await;
                            }
                        }
                    }
                });
            }
        });
        Server { port, state, _runtime: runtime }
    }

    /// Forgets everything, as a server that was restarted.
    pub fn restart(&self) {
        let mut state = self.state.lock();
        state.life += 1;
        state.executions.clear();
        drop(state);
        self.state.restarted.notify_waiters();
    }

    /// Takes another token from now on, and no other.
    pub fn expect_token(&self, token: &'static str) {
        self.state.lock().manner.token = Some(token);
    }

    /// Methods that it was asked for since the last time.
    pub fn calls(&self) -> Vec<String> {
        std::mem::take(&mut self.state.lock().calls)
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap()
    }
}

async fn connection(stream: impl AsyncRead + AsyncWrite + Unpin, state: Arc<Shared>) {
    let Ok(mut connection) = h2::server::handshake(stream).await else { return };
    while let Some(Ok((request, respond))) = connection.accept().await {
        tokio::spawn(call(request, respond, Arc::clone(&state)));
    }
}

/// Result of a call: messages and whether more would follow, or a status with its words.
type Outcome = Result<(Vec<Vec<u8>>, bool), (u32, String)>;

async fn call(request: Request<h2::RecvStream>, mut respond: SendResponse<Bytes>, shared: Arc<Shared>) -> Option<()> {
    let method = request.uri().path().rsplit('/').next()?.to_owned();
    let token = request.headers().get("authorization").and_then(|value| value.to_str().ok()).map(str::to_owned);
    let (mut body, mut bytes) = (request.into_body(), Vec::new());
    while let Some(piece) = body.data().await {
        let piece = piece.ok()?;
        body.flow_control().release_capacity(piece.len()).ok()?;
        bytes.extend_from_slice(&piece);
    }
    let restarted = shared.restarted.notified();
    let outcome = shared.lock().answer(&method, bytes.get(5..)?, token.as_deref());
    let head = Response::builder().header("content-type", "application/grpc");
    let (messages, pauses) = match outcome {
        Ok(answer) => answer,
        Err((code, words)) => {
            let words = words.replace(' ', "%20");
            let head = head.header("grpc-status", code).header("grpc-message", words).body(()).ok()?;
            respond.send_response(head, true).ok()?;
            return Some(());
        }
    };
    let mut out = respond.send_response(head.body(()).ok()?, false).ok()?;
    for message in messages {
        let mut frame = BytesMut::new();
        frame.put_u8(0);
        frame.put_u32(message.len() as u32);
        frame.extend_from_slice(&message);
        out.send_data(frame.freeze(), false).ok()?;
    }
    if pauses {
        restarted.await;
    }
    let mut trailers = HeaderMap::new();
    trailers.insert("grpc-status", "0".parse().ok()?);
    out.send_trailers(trailers).ok()
}

impl State {
    fn answer(&mut self, method: &str, request: &[u8], token: Option<&str>) -> Outcome {
        self.calls.push(method.to_owned());
        if let Some(wanted) = self.manner.token
            && token != Some(&format!("Bearer {wanted}"))
        {
            // As some do, with what was sent.
            return Err((16, format!("Invalid token {}", token.unwrap_or("unknown"))));
        }
        let text = |field| Fields::of(request).text(field).unwrap().unwrap_or_default();
        let (session, server) = (text(1), format!("life {}", self.life));
        let observed = text(match method {
            "AnalyzePlan" => 17,
            "ReattachExecute" => 6,
            _ => 8,
        });
        let is_ours = matches!(method, "Config" | "AnalyzePlan" | "ExecutePlan" | "ReattachExecute");
        if is_ours && !observed.is_empty() && observed != server {
            return Err((13, "[INVALID_HANDLE.SESSION_CHANGED] The server was restarted.".to_owned()));
        }
        let one = |message: Message| Ok((vec![message.into_bytes()], false));
        match method {
            "Config" => one(Message::default().text(1, &session).text(4, &server)),
            "AnalyzePlan" => {
                let plan = Message::default().text(1, "== Physical Plan ==");
                one(Message::default().message(8, Message::default().text(1, "4.9.9")).message(3, plan))
            }
            "ExecutePlan" => {
                let is_version = request.windows(9).any(|words| words == b"version()");
                let responses = responses(&server, is_version, self.manner);
                self.executions.insert(text(6), responses.clone());
                Ok(self.from(responses, is_version))
            }
            "ReattachExecute" => {
                let Some(all) = self.executions.get(&text(3)) else {
                    return Err((13, "[INVALID_HANDLE.OPERATION_NOT_FOUND] It is not known.".to_owned()));
                };
                let last = text(5);
                let place = all.iter().position(|response| Fields::of(response).text(13).unwrap().unwrap() == last);
                Ok(self.from(all[place.map_or(0, |place| place + 1)..].to_vec(), false))
            }
            _ => one(Message::default().text(1, &session)),
        }
    }

    fn from(&self, mut responses: Vec<Vec<u8>>, is_version: bool) -> (Vec<Vec<u8>>, bool) {
        let most = self.manner.pauses_after.filter(|_| !is_version);
        responses.truncate(most.unwrap_or(usize::MAX));
        (responses, most.is_some())
    }
}

fn responses(server: &str, is_version: bool, manner: Manner) -> Vec<Vec<u8>> {
    let batches: Vec<ArrayRef> = match is_version {
        true => vec![Arc::new(StringArray::from(vec!["4.9.9"]))],
        false => (0..BATCHES)
            .map(|i| Arc::new(Int64Array::from_iter_values((i * ROWS) as i64..((i + 1) * ROWS) as i64)) as ArrayRef)
            .collect(),
    };
    let mut before = 0;
    let mut all = Vec::new();
    for column in batches {
        let batch = RecordBatch::try_from_iter([("a", column)]).unwrap();
        let mut writer = StreamWriter::try_new(Vec::new(), &batch.schema()).unwrap();
        writer.write(&batch).unwrap();
        let data = writer.into_inner().unwrap();
        let mut rows = Message::default().number(1, batch.num_rows() as u64).bytes(2, &data);
        if !manner.no_numbers {
            rows = rows.number(3, before);
        }
        before += batch.num_rows() as u64;
        all.push(Message::default().message(2, rows));
    }
    if is_version || !manner.never_complete {
        all.push(Message::default().message(14, Message::default()));
    }
    let numbered = |(i, response): (usize, Message)| {
        let id = if manner.no_numbers { String::new() } else { format!("response {i}") };
        response.text(13, &id).text(15, server).into_bytes()
    };
    all.into_iter().enumerate().map(numbered).collect()
}
