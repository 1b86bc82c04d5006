//! Addresses, connections, and their end.

use std::{
    convert::Infallible,
    io,
    net::{IpAddr, SocketAddr},
    sync::Arc,
    time::Duration,
};

use axum::{Router, body::Body, extract::Request};
use hyper::{body::Incoming, service::service_fn};
use hyper_util::{
    rt::{TokioExecutor, TokioIo, TokioTimer},
    server::conn::auto,
};
use tokio::{
    io::{AsyncRead, AsyncWrite},
    net::{TcpListener, TcpStream},
    sync::Semaphore,
};
use tokio_rustls::TlsAcceptor;
use tokio_util::{sync::CancellationToken, task::TaskTracker};
use tower::ServiceExt;

use crate::{Access, Settings, Tls, app};

/// Time for a TLS handshake, and for the head of a request; an idle connection lasts as long.
const HEAD: Duration = Duration::from_secs(30);
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

/// Who is at the other end of a connection.
#[derive(Clone, Debug)]
pub(crate) struct Peer {
    /// Its address.
    pub(crate) address: SocketAddr,
    /// The address of ours that it reached.
    pub(crate) local: SocketAddr,
    /// A short name of the certificate that it showed.
    pub(crate) certificate: Option<String>,
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
        let is_open = matches!(settings.access, Access::Open) && !settings.tls.as_ref().is_some_and(|t| t.asks_clients);
        if let Some(address) = settings.listen.iter().find(|a| is_open && !is_loopback(a.ip())) {
            return Err(ServeError::Open(*address));
        }
        let (mut listeners, mut addresses) = (Vec::new(), Vec::new());
        for address in &settings.listen {
            let failed = |source| ServeError::Bind { address: *address, source };
            let listener = TcpListener::bind(address).await.map_err(failed)?;
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
        let connections = Arc::new(Semaphore::new(self.settings.limits.connections));
        let port = self.addresses.first().map_or(0, SocketAddr::port);
        let router = app::router(self.settings, port, stop.clone());
        let tracker = TaskTracker::new();
        for listener in self.listeners {
            let door = Door {
                tls: tls.clone(),
                router: router.clone(),
                connections: Arc::clone(&connections),
                stop: stop.clone(),
                tracker: tracker.clone(),
            };
            tracker.spawn(door.accept(listener));
        }
        stop.cancelled().await;
        tracker.close();
        // What does not end in time is cut off: dropping a request interrupts its engine.
        let _ = tokio::time::timeout(GRACE, tracker.wait()).await;
    }
}

/// Whether only this machine reaches `ip`, also where it is an IPv4 address in the clothes of IPv6.
pub(crate) fn is_loopback(ip: IpAddr) -> bool {
    ip.to_canonical().is_loopback()
}

/// What every listener needs.
struct Door {
    tls: Option<Tls>,
    router: Router,
    connections: Arc<Semaphore>,
    stop: CancellationToken,
    tracker: TaskTracker,
}

impl Door {
    async fn accept(self, listener: TcpListener) {
        loop {
            let Ok(place) = Arc::clone(&self.connections).acquire_owned().await else { return };
            let accepted = tokio::select! {
                () = self.stop.cancelled() => return,
                accepted = listener.accept() => accepted,
            };
            let Ok((stream, address)) = accepted else {
                tokio::time::sleep(AFTER_ERROR).await;
                continue;
            };
            let _ = stream.set_nodelay(true);
            let (tls, router, stop) = (self.tls.clone(), self.router.clone(), self.stop.clone());
            self.tracker.spawn(async move {
                let _place = place;
                let Ok(local) = stream.local_addr() else { return };
                let peer = Peer { address, local, certificate: None };
                match tls {
                    None => connection(stream, peer, router, stop).await,
                    Some(tls) => encrypted(stream, peer, router, stop, &tls).await,
                }
            });
        }
    }
}

async fn encrypted(stream: TcpStream, mut peer: Peer, router: Router, stop: CancellationToken, tls: &Tls) {
    let handshake = TlsAcceptor::from(Arc::clone(&tls.config)).accept(stream);
    let Ok(Ok(stream)) = tokio::time::timeout(HEAD, handshake).await else { return };
    let certificate = stream.get_ref().1.peer_certificates().and_then(|c| c.first());
    peer.certificate = certificate.map(|c| format!("certificate-{}", &blake3::hash(c).to_hex()[..12]));
    connection(stream, peer, router, stop).await;
}

/// Serves one connection to its end.
async fn connection(
    stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
    peer: Peer,
    router: Router,
    stop: CancellationToken,
) {
    let service = service_fn(move |request: hyper::Request<Incoming>| {
        let mut request: Request = request.map(Body::new);
        request.extensions_mut().insert(peer.clone());
        let router = router.clone();
        async move { Ok::<_, Infallible>(router.oneshot(request).await.unwrap_or_else(|never| match never {})) }
    });
    let mut builder = auto::Builder::new(TokioExecutor::new());
    builder.http1().timer(TokioTimer::new()).header_read_timeout(HEAD).max_buf_size(64 << 10);
    builder
        .http2()
        .timer(TokioTimer::new())
        .max_header_list_size(64 << 10)
        .max_concurrent_streams(100)
        .keep_alive_interval(HEAD);
    let connection = builder.serve_connection(TokioIo::new(stream), service);
    tokio::pin!(connection);
    // Errors are of the other end (it went, or spoke no HTTP), and there is nobody left to tell.
    tokio::select! {
        _ = connection.as_mut() => return,
        () = stop.cancelled() => connection.as_mut().graceful_shutdown(),
    }
    let _ = connection.await;
}
