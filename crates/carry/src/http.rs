//! A store that `fenxi serve` serves: archives are exported and imported as by its pages, one request compares and merges.

use std::{
    io::{self, Read},
    time::Duration,
};

use fenxi_model::RunId;
use fenxi_store::LabelConflict;
use serde::{Deserialize, Serialize};
use ureq::{
    Agent, SendBody,
    http::{Request, Response, StatusCode, request::Builder},
};

use crate::{
    CarryError,
    fetch::{Pace, Patience, Stopped, copy},
    peer::{ManyLabels, Offer, Peer},
};

/// Bytes of labels in one request; a server takes a megabyte.
const LABELS: usize = 512 << 10;
/// Bytes of an answer that is not an archive.
const ANSWER: u64 = 256 << 20;
/// Bytes of an error's text.
const ERROR_TEXT: u64 = 16 << 10;
/// How sending ends where the other side closes.
const CUT: [io::ErrorKind; 2] = [io::ErrorKind::BrokenPipe, io::ErrorKind::ConnectionReset];
/// The silence that ends a connection while a server imports: it may take five minutes for that.
const SILENCE: Duration = Duration::from_secs(330);

/// Request and answer of [`Server::EXCHANGE`].
#[derive(Debug, Default, Serialize, Deserialize)]
pub struct Exchange {
    /// Offer of the store.
    #[serde(flatten)]
    pub offer: Offer,
    /// Fields of labels that both sides have changed.
    pub conflicts: Vec<LabelConflict>,
}

/// A served store.
pub struct Server {
    agent: Agent,
    base: String,
    token: Option<String>,
}

impl Server {
    /// The path at which stores are compared.
    pub const EXCHANGE: &str = "/api/v1/exchange";

    /// The server at `http://HOST:PORT` or `https://HOST`.
    pub(crate) fn new(base: &str, token: Option<String>) -> Server {
        let config = Agent::config_builder()
            .http_status_as_error(false)
            .max_redirects(0)
            .timeout_connect(Some(Duration::from_secs(20)))
            .timeout_recv_response(Some(SILENCE))
            .timeout_per_read(Some(Patience::default().silence))
            .timeout_per_write(Some(Patience::default().silence))
            .build();
        Server { agent: config.into(), base: base.trim_end_matches('/').to_owned(), token }
    }

    fn request(&self, method: &str, path: &str) -> Builder {
        // Without the header a server takes a change for one that the form of another site sends.
        let request = Request::builder().method(method).uri(format!("{}{path}", self.base)).header("x-fenxi", "1");
        match &self.token {
            Some(token) => request.header("authorization", format!("Bearer {token}")),
            None => request,
        }
    }

    fn failed(&self, why: impl ToString) -> CarryError {
        CarryError::Storage { what: self.base.clone(), why: why.to_string() }
    }

    fn post(&self, path: &str, media: &str, body: SendBody<'_>) -> Result<Response<ureq::Body>, CarryError> {
        let request = self.request("POST", path).header("content-type", media).body(body);
        match self.agent.run(request.map_err(|e| self.failed(e))?) {
            Ok(answer) => self.accepted(answer),
            Err(ureq::Error::Io(error)) if CUT.contains(&error.kind()) => {
                // A server that refuses closes before it has read the body: without one it gives the reason.
                let empty = self.request("POST", path).header("content-type", media).body(());
                match self.agent.run(empty.map_err(|e| self.failed(e))?) {
                    Ok(answer) if answer.status() != StatusCode::BAD_REQUEST => {
                        self.accepted(answer).and(Err(self.failed(error)))
                    }
                    _ => Err(self.failed(error)),
                }
            }
            Err(error) => Err(self.failed(error)),
        }
    }

    fn accepted(&self, answer: Response<ureq::Body>) -> Result<Response<ureq::Body>, CarryError> {
        #[derive(Deserialize)]
        struct Refused {
            error: String,
        }
        let status = answer.status();
        if status.is_success() {
            return Ok(answer);
        }
        let mut text = Vec::new();
        // An error's text that does not come whole is left out.
        let _ = copy(&mut answer.into_body().into_reader(), &mut text, ERROR_TEXT, &mut Pace::new(Patience::default()));
        let text = serde_json::from_slice(&text).map(|Refused { error }| error);
        Err(self.failed(match (status, text) {
            (StatusCode::UNAUTHORIZED, _) => {
                let given = if self.token.is_some() { "does not accept this token" } else { "wants a token" };
                format!("the server {given}: `--token-file FILE` or FENXI_TOKEN names one of its token file")
            }
            (status, Ok(text)) => format!("{status}: {text}"),
            (status, Err(_)) => {
                format!("{status}: there is no server of fenxi at that address, or it is another version")
            }
        }))
    }

    fn exchange(&self, labels: &ManyLabels) -> Result<Exchange, CarryError> {
        #[derive(Serialize)]
        struct Given<'a> {
            labels: &'a ManyLabels,
        }
        let body = serde_json::to_vec(&Given { labels }).map_err(|e| self.failed(e))?;
        let answer = self.post(Server::EXCHANGE, "application/json", SendBody::from_reader(&mut &body[..]))?;
        let mut text = Vec::new();
        let mut pace = Pace::new(Patience::default());
        match copy(&mut answer.into_body().into_reader(), &mut text, ANSWER, &mut pace) {
            Ok(_) => {}
            Err(Stopped::Long) => return Err(self.failed(format!("its answer has more than {ANSWER} bytes"))),
            Err(Stopped::Read(e) | Stopped::Write(e)) => return Err(self.failed(e)),
        }
        serde_json::from_slice(&text)
            .map_err(|e| self.failed(format!("its answer is not that of a server of fenxi: {e}")))
    }
}

impl Peer for Server {
    fn name(&self) -> String {
        self.base.clone()
    }

    fn offer(&mut self) -> Result<Option<Offer>, CarryError> {
        self.exchange(&ManyLabels::new()).map(|exchange| Some(exchange.offer))
    }

    fn take(&mut self, archive: &mut dyn Read) -> Result<(), CarryError> {
        let mut archive = archive;
        self.post("/api/v1/import?filename=pushed.tar.zst", "application/zstd", SendBody::from_reader(&mut archive))
            .map(drop)
    }

    fn give<'p>(&'p mut self, runs: &[RunId]) -> Result<Box<dyn Read + 'p>, CarryError> {
        let runs: Vec<String> = runs.iter().map(|id| format!("run={id}")).collect();
        let request = self.request("GET", &format!("/api/v1/export?{}", runs.join("&"))).body(());
        let answer = self.agent.run(request.map_err(|e| self.failed(e))?).map_err(|e| self.failed(e))?;
        Ok(Box::new(self.accepted(answer)?.into_body().into_reader()))
    }

    fn merge(&mut self, labels: &ManyLabels) -> Result<Vec<LabelConflict>, CarryError> {
        let (mut conflicts, mut some, mut bytes) = (Vec::new(), ManyLabels::new(), 0);
        for (id, labels) in labels {
            let size = serde_json::to_vec(labels).map_err(io::Error::from)?.len() + 64;
            if bytes + size > LABELS && !some.is_empty() {
                conflicts.extend(self.exchange(&some)?.conflicts);
                (some, bytes) = (ManyLabels::new(), 0);
            }
            some.insert(id.clone(), labels.clone());
            bytes += size;
        }
        conflicts.extend(self.exchange(&some)?.conflicts);
        Ok(conflicts)
    }
}
