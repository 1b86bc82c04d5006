//! Listening sockets, connections, and shutdown.

use std::{
    convert::Infallible,
    io,
    net::SocketAddr,
    sync::Arc,
    time::{Duration, Instant},
};

use axum::{
    Router,
    body::Body,
    extract::Request,
    response::{IntoResponse, Response},
};
use hyper::{body::Incoming, service::service_fn};
use hyper_util::{
    rt::{TokioExecutor, TokioIo, TokioTimer},
    server::conn::auto,
};
use rustix::process::{Resource, getrlimit};
use tokio::{
    io::{AsyncRead, AsyncWrite},
    net::{TcpListener, TcpStream},
};
use tokio_rustls::TlsAcceptor;
use tokio_util::{sync::CancellationToken, task::TaskTracker};
use tower::ServiceExt;

use crate::{
    Access, Settings, Tls, app,
    client_timeout::{Receiving, Sending},
    connections::{Bounds, Guest, House, Seat},
    live,
    peer::{Peer, is_loopback},
    reply::Failure,
    wire::Wire,
};

/// Time for the head of a request after another one; an idle connection lasts as long.
const HEAD: Duration = Duration::from_secs(30);
/// Requests at the same time besides those that wait for an engine and those that listen.
const MORE_REQUESTS: usize = 256;
/// Streams of one connection at the same time: browsers ask for no more than a few panels at once.
const STREAMS: u32 = 32;
/// Bytes that a client may send of one body, and of all of a connection, before they are read.
const WINDOWS: (u32, u32) = (256 << 10, 512 << 10);
/// How often a connection of HTTP/2 is asked whether it is there, and the time it has to answer.
const SIGNS: (Duration, Duration) = (Duration::from_secs(15), Duration::from_secs(10));
/// Streams that a client may end before they were looked at, and that it may make the server end.
const RESETS: (usize, usize) = (20, 64);
/// Bytes of a request's head.
const HEAD_BYTES: u32 = 64 << 10;
/// Bytes that the system holds for a client that does not read. Twice that is what it counts itself.
const SEND_BUFFER: usize = 512 << 10;
/// Time in which those that made room have to go before more are taken.
const OVERFULL: Duration = Duration::from_millis(5);
/// Time that requests in flight have when the server ends.
const GRACE: Duration = Duration::from_secs(10);
/// After an error that is not of one connection (no descriptors left), the server waits before it goes on.
const AFTER_ERROR: Duration = Duration::from_millis(100);

/// Why there is no server.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    /// Others could reach it.
    #[error(
        "{0} can be reached from other machines: give --token-file FILE, or --client-ca FILE (with --tls-cert and \
         --tls-key); without them only loopback addresses are served, as 127.0.0.1:7070"
    )]
    Open(SocketAddr),
    /// An address cannot be listened on.
    #[error(
        "cannot listen on {address}: {source}; choose another with --listen ADDRESS:PORT (port 0 takes a free one)"
    )]
    Bind {
        /// The address.
        address: SocketAddr,
        /// Why.
        source: io::Error,
    },
}

/// Whether no one unknown could come in at `address`.
fn may_listen(address: SocketAddr, access: &Access, tls: Option<&Tls>) -> Result<(), ServeError> {
    let is_open = matches!(access, Access::Open) && !tls.is_some_and(|tls| tls.asks_clients);
    if is_open && !is_loopback(address.ip()) { Err(ServeError::Open(address)) } else { Ok(()) }
}

/// Checks that a server could listen on `address`, by listening for a moment.
///
/// # Errors
/// As [`Server::bind`].
pub fn could_listen(address: SocketAddr, access: &Access, tls: Option<&Tls>) -> Result<(), ServeError> {
    may_listen(address, access, tls)?;
    std::net::TcpListener::bind(address).map(drop).map_err(|source| ServeError::Bind { address, source })
}

/// A server that listens and does not answer yet.
pub struct Server {
    listeners: Vec<TcpListener>,
    addresses: Vec<SocketAddr>,
    settings: Settings,
}

impl Server {
    /// Listens on the addresses of `settings`.
    ///
    /// # Errors
    /// [`ServeError`]: an address that other machines reach while anybody may come in, one that is taken.
    pub async fn bind(settings: Settings) -> Result<Server, ServeError> {
        for address in &settings.listen {
            may_listen(*address, &settings.access, settings.tls.as_ref())?;
        }
        let (mut listeners, mut addresses) = (Vec::new(), Vec::new());
        for address in &settings.listen {
            let failed = |source| ServeError::Bind { address: *address, source };
            let listener = TcpListener::bind(address).await.map_err(failed)?;
            // Connections have what their listener has. Without it, the system holds some more.
            let _ = rustix::net::sockopt::set_socket_send_buffer_size(&listener, SEND_BUFFER);
            addresses.push(listener.local_addr().map_err(failed)?);
            listeners.push(listener);
        }
        Ok(Server { listeners, addresses, settings })
    }

    /// The addresses it listens on, with their real ports.
    pub fn addresses(&self) -> &[SocketAddr] {
        &self.addresses
    }

    /// Where pages are, one address for each that is listened on.
    pub fn urls(&self) -> Vec<String> {
        let scheme = if self.settings.tls.is_some() { "https" } else { "http" };
        self.addresses.iter().map(|address| format!("{scheme}://{address}/")).collect()
    }

    /// Answers until `stop` is cancelled; requests in flight then have ten seconds to end.
    pub async fn run(self, stop: CancellationToken) {
        let tls = self.settings.tls.clone();
        let house = House::new(bounds(&self.settings));
        let port = self.addresses.first().map_or(0, SocketAddr::port);
        let router = app::router(self.settings, port, stop.clone(), Arc::clone(&house));
        let tracker = TaskTracker::new();
        let watching = tokio::spawn(Arc::clone(&house).watch());
        for listener in self.listeners {
            let door = Door {
                tls: tls.clone(),
                router: router.clone(),
                house: Arc::clone(&house),
                stop: stop.clone(),
                tracker: tracker.clone(),
            };
            tracker.spawn(door.accept(listener));
        }
        stop.cancelled().await;
        tracker.close();
        // Connections that do not end in time are cut off: dropping a request interrupts its engine.
        let _ = tokio::time::timeout(GRACE, tracker.wait()).await;
        watching.abort();
    }
}

fn bounds(settings: &Settings) -> Bounds {
    let limits = &settings.limits;
    // Every connection is a file, and answers need files too.
    let files = getrlimit(Resource::Nofile).current.and_then(|n| usize::try_from(n).ok());
    Bounds {
        connections: files.map_or(limits.connections, |files| limits.connections.min(files / 2)),
        requests: limits.queue + live::MOST + MORE_REQUESTS,
        arrival: limits.arrival,
        idle: HEAD,
        patience: limits.patience,
    }
}

/// Shared state of every listener.
struct Door {
    tls: Option<Tls>,
    router: Router,
    house: Arc<House>,
    stop: CancellationToken,
    tracker: TaskTracker,
}

impl Door {
    /// Takes connections as they come. Nothing here waits for a place: there is one for each that comes, or they are
    /// turned away.
    async fn accept(self, listener: TcpListener) {
        loop {
            let accepted = tokio::select! {
                () = self.stop.cancelled() => return,
                accepted = listener.accept() => accepted,
            };
            let Ok((stream, address)) = accepted else {
                self.house.relieve();
                tokio::time::sleep(AFTER_ERROR).await;
                continue;
            };
            while self.house.is_overfull() {
                tokio::time::sleep(OVERFULL).await;
            }
            let Some(seat) = self.house.admit(address.ip(), Instant::now()) else { continue };
            let _ = stream.set_nodelay(true);
            let (tls, router, stop) = (self.tls.clone(), self.router.clone(), self.stop.clone());
            self.tracker.spawn(async move {
                let Ok(local) = stream.local_addr() else { return };
                let peer = Peer { address, local, certificate: None };
                let serve = async {
                    match tls {
                        None => connection(Wire::new(stream, &seat), peer, router, stop, &seat).await,
                        Some(tls) => encrypted(stream, peer, router, stop, &tls, &seat).await,
                    }
                };
                tokio::select! {
                    () = seat.guest.go.cancelled() => (),
                    () = serve => (),
                }
            });
        }
    }
}

async fn encrypted(stream: TcpStream, mut peer: Peer, router: Router, stop: CancellationToken, tls: &Tls, seat: &Seat) {
    // The time for this is that for the first request.
    let handshake = TlsAcceptor::from(Arc::clone(&tls.config)).accept(Wire::new(stream, seat));
    let Ok(stream) = handshake.await else { return };
    let certificate = stream.get_ref().1.peer_certificates().and_then(|c| c.first());
    peer.certificate = certificate.map(|c| format!("certificate-{}", &blake3::hash(c).to_hex()[..12]));
    connection(stream, peer, router, stop, seat).await;
}

/// Serves one connection to its end.
async fn connection(
    stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
    peer: Peer,
    router: Router,
    stop: CancellationToken,
    seat: &Seat,
) {
    let (house, guest) = (Arc::clone(&seat.house), Arc::clone(&seat.guest));
    let service = service_fn(move |request: hyper::Request<Incoming>| {
        answer(request, peer.clone(), router.clone(), Arc::clone(&house), Arc::clone(&guest))
    });
    let builder = builder();
    let connection = builder.serve_connection(TokioIo::new(stream), service);
    tokio::pin!(connection);
    // Errors are of the other end (it went, or spoke no HTTP), and there is no client left to answer.
    tokio::select! {
        _ = connection.as_mut() => return,
        () = stop.cancelled() => (),
        () = seat.guest.leave.cancelled() => (),
    }
    connection.as_mut().graceful_shutdown();
    let _ = connection.await;
}

async fn answer(
    request: hyper::Request<Incoming>,
    peer: Peer,
    router: Router,
    house: Arc<House>,
    guest: Arc<Guest>,
) -> Result<Response, Infallible> {
    let Some(turn) = house.begin(&guest) else { return Ok(Failure::busy().into_response()) };
    let paced = Arc::clone(&turn.request);
    let mut request: Request = request.map(|body| Body::new(Receiving::new(body, paced)));
    request.extensions_mut().insert(peer);
    let response = router.oneshot(request).await.unwrap_or_else(|never| match never {});
    Ok(response.map(|body| Body::new(Sending::new(turn, body))))
}

fn builder() -> auto::Builder<TokioExecutor> {
    let mut builder = auto::Builder::new(TokioExecutor::new());
    builder.http1().timer(TokioTimer::new()).header_read_timeout(HEAD).max_buf_size(HEAD_BYTES as usize);
    builder
        .http2()
        .timer(TokioTimer::new())
        .max_header_list_size(HEAD_BYTES)
        .max_concurrent_streams(STREAMS)
        .initial_stream_window_size(WINDOWS.0)
        .initial_connection_window_size(WINDOWS.1)
        .max_send_buf_size(SEND_BUFFER / 8)
        .max_pending_accept_reset_streams(RESETS.0)
        .max_local_error_reset_streams(RESETS.1)
        .keep_alive_interval(SIGNS.0)
        .keep_alive_timeout(SIGNS.1);
    builder
}
