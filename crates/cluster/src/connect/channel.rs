//! gRPC over HTTP/2: one call, one stream of messages, and how it ended.

use std::{sync::Arc, time::Duration};

use bytes::{Buf, Bytes, BytesMut};
use fenxi_wire::{login::Tls, tls};
use h2::client::SendRequest;
use http::{HeaderMap, Request};
use tokio::{io::AsyncRead, io::AsyncWrite, net::TcpStream, time::timeout};
use tokio_rustls::TlsConnector;

use crate::connect::{Target, proto::Message};

/// How long a server may take to accept a connection.
const CONNECT: Duration = Duration::from_secs(15);
/// From when on, and how often, a silent connection is tried.
const KEEP_ALIVE: Duration = Duration::from_secs(30);
/// Bytes that may be under way at a time.
const WINDOW: u32 = 8 << 20;
/// Bytes of a message at most.
const LONGEST: usize = 512 << 20;
/// Bytes before a message: whether it is compressed, and its length.
const HEAD: usize = 5;

/// The service's methods that are used.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Method {
    ExecutePlan,
    AnalyzePlan,
    Config,
    Interrupt,
    ReattachExecute,
    ReleaseExecute,
    ReleaseSession,
}

/// How a call failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum CallError {
    /// The server's reason.
    Status { code: u32, message: String },
    /// The connection broke, or was never established.
    Broken(String),
}

impl CallError {
    /// Whether another attempt may succeed.
    pub(crate) fn is_passing(&self) -> bool {
        // UNAVAILABLE; ABORTED has the same meaning for this protocol.
        matches!(self, CallError::Broken(_) | CallError::Status { code: 14 | 10, .. })
    }
}

impl From<h2::Error> for CallError {
    fn from(error: h2::Error) -> CallError {
        CallError::Broken(match error.reason() {
            // The bytes that came are no frame at all: another protocol's words, or those of TLS.
            Some(h2::Reason::FRAME_SIZE_ERROR | h2::Reason::PROTOCOL_ERROR) if !error.is_remote() => {
                "it does not speak Spark Connect, or wants TLS (`use_ssl=true`)".to_owned()
            }
            _ if error.is_io() => format!("the connection broke ({error})"),
            _ => error.to_string(),
        })
    }
}

/// A connection to a server.
pub(crate) struct Channel {
    sender: SendRequest<Bytes>,
    target: Target,
}

impl Channel {
    /// Connects.
    pub(crate) async fn open(target: &Target) -> Result<Channel, CallError> {
        let broken = |e: &dyn std::fmt::Display| CallError::Broken(e.to_string());
        let connected = timeout(CONNECT, TcpStream::connect((target.host.as_str(), target.port))).await;
        let stream = connected
            .map_err(|_| CallError::Broken(format!("it did not answer for {} s", CONNECT.as_secs())))?
            .map_err(|e| CallError::Broken(not_connected(&e)))?;
        stream.set_nodelay(true).map_err(|e| broken(&e))?;
        keep_alive(&stream).map_err(|e| broken(&e))?;
        let sender = if target.tls {
            let files = tls::Files { authority: target.authority.clone(), ..tls::Files::default() };
            let (config, name) = tls::client(Tls::VerifyFull, &files, &target.host).map_err(|e| broken(&e))?;
            let mut config = Arc::unwrap_or_clone(config);
            config.alpn_protocols = vec![b"h2".to_vec()];
            let secured = timeout(CONNECT, TlsConnector::from(Arc::new(config)).connect(name, stream)).await;
            let secured = secured.map_err(|_| CallError::Broken("TLS: it did not answer".to_owned()))?;
            handshake(secured.map_err(|e| CallError::Broken(insecure(&e)))?).await?
        } else {
            handshake(stream).await?
        };
        Ok(Channel { sender, target: target.clone() })
    }

    /// Whether it can carry another call.
    pub(crate) async fn is_open(&mut self) -> bool {
        match self.sender.clone().ready().await {
            Ok(sender) => {
                self.sender = sender;
                true
            }
            Err(_) => false,
        }
    }

    /// Begins a call, whose messages then come.
    pub(crate) async fn call(&self, method: Method, message: Message) -> Result<Stream, CallError> {
        let scheme = if self.target.tls { "https" } else { "http" };
        let host = self.target.to_string();
        let authority = host.trim_start_matches("sc://");
        let mut request = Request::builder()
            .method("POST")
            .uri(format!("{scheme}://{authority}/spark.connect.SparkConnectService/{method:?}"))
            .header("content-type", "application/grpc")
            .header("te", "trailers")
            .header("user-agent", concat!("fenxi/", env!("CARGO_PKG_VERSION")));
        if let Some(token) = &self.target.token {
            request = request.header("authorization", format!("Bearer {token}"));
        }
        for (key, value) in &self.target.headers {
            request = request.header(key, value);
        }
        let request = request.body(()).map_err(|e| CallError::Broken(format!("a header cannot be sent: {e}")))?;
        let bytes = message.into_bytes();
        let length = u32::try_from(bytes.len()).map_err(|_| CallError::Broken("the plan is too long".to_owned()))?;
        let mut body = BytesMut::with_capacity(HEAD + bytes.len());
        body.extend_from_slice(&[0]);
        body.extend_from_slice(&length.to_be_bytes());
        body.extend_from_slice(&bytes);
        let mut sender = self.sender.clone().ready().await?;
        let (response, mut out) = sender.send_request(request, false)?;
        // A server that ends a call before it has all of it gives the reason in its answer, and so does a connection that has ended.
        let _ = out.send_data(body.freeze(), true);
        let (head, body) = response.await?.into_parts();
        // A call that fails at once has its status where others have their head.
        if head.headers.contains_key("grpc-status") {
            status(&head.headers)?;
        } else if !head.status.is_success() {
            // UNAUTHENTICATED, from a proxy in front of the server; UNKNOWN.
            let code = if matches!(head.status.as_u16(), 401 | 403) { 16 } else { 2 };
            return Err(CallError::Status { code, message: format!("HTTP {}", head.status) });
        }
        Ok(Stream { body, buffer: BytesMut::new() })
    }

    /// A call with one answer, within `most`.
    pub(crate) async fn unary(&self, method: Method, message: Message, most: Duration) -> Result<Bytes, CallError> {
        let answer = async {
            let mut stream = self.call(method, message).await?;
            let answer = stream.next().await?;
            // Its status comes after it.
            while stream.next().await?.is_some() {}
            answer.ok_or_else(|| CallError::Broken("there was no answer".to_owned()))
        };
        let late = |_| CallError::Broken(format!("there was no answer for {} s", most.as_secs()));
        timeout(most, answer).await.map_err(late)?
    }
}

async fn handshake<T>(stream: T) -> Result<SendRequest<Bytes>, CallError>
where
    T: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let builder = h2::client::Builder::new()
        .initial_window_size(WINDOW)
        .initial_connection_window_size(2 * WINDOW)
        .enable_push(false)
        .handshake(stream);
    let late = |_| CallError::Broken("it does not speak HTTP/2: no answer".to_owned());
    let (sender, connection) = timeout(CONNECT, builder).await.map_err(late)??;
    // It ends with the last sender; what it fails with reaches the calls.
    tokio::spawn(async move { drop(connection.await) });
    Ok(sender)
}

/// Why no server was reached.
fn not_connected(error: &std::io::Error) -> String {
    match error.kind() {
        std::io::ErrorKind::ConnectionRefused => {
            "no server listens there (connection refused); Spark Connect's own port is 15002".to_owned()
        }
        _ => error.to_string(),
    }
}

/// Why a connection could not be encrypted, with the way out.
fn insecure(error: &std::io::Error) -> String {
    let cause = error.get_ref().and_then(|cause| cause.downcast_ref::<rustls::Error>());
    match cause {
        Some(rustls::Error::InvalidMessage(_)) => "it does not speak TLS: leave out `use_ssl=true`".to_owned(),
        Some(rustls::Error::InvalidCertificate(_)) => {
            format!("TLS: {error}; `sslrootcert=FILE` names the authority to trust")
        }
        _ => format!("TLS: {error}"),
    }
}

/// Has the kernel try a connection on which nothing comes: a statement may take long, a dead server never answers.
fn keep_alive(stream: &TcpStream) -> std::io::Result<()> {
    use rustix::net::sockopt;
    sockopt::set_socket_keepalive(stream, true)?;
    sockopt::set_tcp_keepidle(stream, KEEP_ALIVE)?;
    sockopt::set_tcp_keepintvl(stream, KEEP_ALIVE / 3)?;
    sockopt::set_tcp_keepcnt(stream, 3)?;
    Ok(())
}

/// The messages of a call.
pub(crate) struct Stream {
    body: h2::RecvStream,
    buffer: BytesMut,
}

impl Stream {
    /// The next message; None when the call has ended well.
    pub(crate) async fn next(&mut self) -> Result<Option<Bytes>, CallError> {
        loop {
            if let Some(message) = self.whole()? {
                return Ok(Some(message));
            }
            match self.body.data().await {
                Some(piece) => {
                    let piece = piece?;
                    self.body.flow_control().release_capacity(piece.len())?;
                    self.buffer.extend_from_slice(&piece);
                }
                None if !self.buffer.is_empty() => {
                    return Err(CallError::Broken("a message was cut".to_owned()));
                }
                None => {
                    // Without a status the answer may be incomplete.
                    let trailers = self.body.trailers().await?.unwrap_or_default();
                    return status(&trailers).map(|()| None);
                }
            }
        }
    }

    /// The first message of what has come, when it is whole.
    fn whole(&mut self) -> Result<Option<Bytes>, CallError> {
        if self.buffer.len() < HEAD {
            return Ok(None);
        }
        let mut head = &self.buffer[..HEAD];
        let is_compressed = head.get_u8() != 0;
        let length = head.get_u32() as usize;
        if is_compressed || length > LONGEST {
            let message = "a message is compressed or too long".to_owned();
            return Err(CallError::Status { code: 2, message });
        }
        if self.buffer.len() < HEAD + length {
            return Ok(None);
        }
        self.buffer.advance(HEAD);
        Ok(Some(self.buffer.split_to(length).freeze()))
    }
}

/// How a call ended, as its trailers say.
fn status(trailers: &HeaderMap) -> Result<(), CallError> {
    let text = |name| trailers.get(name).and_then(|value: &http::HeaderValue| value.to_str().ok());
    match text("grpc-status").and_then(|code| code.parse().ok()) {
        Some(0) => Ok(()),
        Some(code) => Err(CallError::Status { code, message: unescaped(text("grpc-message").unwrap_or_default()) }),
        // The answer so far may be half.
        None => Err(CallError::Broken("it ended without a status".to_owned())),
    }
}

/// A status message without its %-escapes; an invalid escape is kept as it is.
fn unescaped(text: &str) -> String {
    let bytes = text.as_bytes();
    let mut out = Vec::with_capacity(bytes.len());
    let mut i = 0;
    while i < bytes.len() {
        let digit = |place: usize| bytes.get(place).and_then(|b| char::from(*b).to_digit(16));
        match (bytes[i], digit(i + 1), digit(i + 2)) {
            (b'%', Some(high), Some(low)) => {
                out.push((high * 16 + low) as u8);
                i += 3;
            }
            (byte, _, _) => {
                out.push(byte);
                i += 1;
            }
        }
    }
    String::from_utf8_lossy(&out).into_owned()
}

#[cfg(test)]
mod tests {
    use super::{CallError, status, unescaped};
    use http::HeaderMap;

    #[test]
    fn a_status_is_read_and_none_is_no_success() {
        let of = |status: &str| {
            let mut map = HeaderMap::new();
            map.insert("grpc-status", status.parse().unwrap());
            map.insert("grpc-message", "a%20b%C3%A9%2".parse().unwrap());
            map
        };
        assert_eq!(status(&of("0")), Ok(()));
        assert_eq!(status(&of("13")), Err(CallError::Status { code: 13, message: "a bé%2".to_owned() }));
        assert!(status(&HeaderMap::new()).unwrap_err().is_passing());
        assert_eq!(unescaped("%"), "%");
    }
}
