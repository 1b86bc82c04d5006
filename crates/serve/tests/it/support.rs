//! A server on a free port of loopback, and a client that sends exactly the given bytes.

use std::{
    io::{Read, Write},
    net::{SocketAddr, TcpStream},
    path::PathBuf,
    sync::{Arc, Mutex},
    thread::JoinHandle,
    time::Duration,
};

use fenxi_model::Micros;
use fenxi_serve::{Access, Audit, Limits, Server, Settings, Tokens};
use fenxi_store::Store;
use fenxi_test_support::http;
pub use fenxi_test_support::http::Answer;
use tempfile::TempDir;
use tokio_util::sync::CancellationToken;

pub const TOKEN: &str = "0123456789abcdef0123";

/// A server at work; it ends with the test.
pub struct Served {
    pub address: SocketAddr,
    pub store: Store,
    pub log: Arc<Mutex<Vec<String>>>,
    stop: CancellationToken,
    thread: Option<JoinHandle<()>>,
    _dir: TempDir,
}

/// A server over an empty store, with settings changed by `change`.
pub fn serve_with(change: impl FnOnce(&mut Settings)) -> Served {
    let dir = tempfile::tempdir().unwrap();
    let store = Store::open_or_create(dir.path().join("store")).unwrap();
    let log: Arc<Mutex<Vec<String>>> = Arc::default();
    let lines = Arc::clone(&log);
    let mut settings = settings(&store, Arc::new(move |line: &str| lines.lock().unwrap().push(line.to_owned())));
    change(&mut settings);
    let stop = CancellationToken::new();
    let (told, addresses) = std::sync::mpsc::channel();
    let theirs = stop.clone();
    let thread = std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
        runtime.block_on(async {
            let server = Server::bind(settings).await.unwrap();
            told.send(server.addresses()[0]).unwrap();
            server.run(theirs).await;
        });
    });
    let address = addresses.recv().unwrap();
    Served { address, store, log, stop, thread: Some(thread), _dir: dir }
}

pub fn settings(store: &Store, audit: Audit) -> Settings {
    Settings {
        store: store.clone(),
        listen: vec!["127.0.0.1:0".parse().unwrap()],
        names: Vec::new(),
        access: Access::Open,
        tls: None,
        read_only: false,
        carried: true,
        backend: None,
        databases: None,
        limits: Limits { engines: 2, ..Limits::default() },
        host: "here".to_owned(),
        audit,
        now: || Micros(1_763_719_200_000_000),
    }
}

/// A server over an empty store that anybody may ask.
pub fn serve() -> Served {
    serve_with(|_| ())
}

/// The tokens that [`TOKEN`] is one of.
pub fn tokens() -> Access {
    tokens_of(&format!("ann {TOKEN}\n")).0
}

/// The tokens of a file with this text, which stays, and the file.
pub fn tokens_of(text: &str) -> (Access, PathBuf) {
    use fs_err::os::unix::fs::OpenOptionsExt;
    let path = tempfile::tempdir().unwrap().keep().join("token");
    let mut options = fs_err::OpenOptions::new();
    options.write(true).create(true).mode(0o600);
    options.open(&path).unwrap().write_all(text.as_bytes()).unwrap();
    (Access::Tokens(Tokens::read(&path).unwrap()), path)
}

impl Served {
    /// Sends `request` as it is and reads all that comes back.
    pub fn raw(&self, request: &[u8]) -> Answer {
        let mut stream = TcpStream::connect(self.address).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
        // A server that has seen enough may close before everything is sent.
        let _ = stream.write_all(request);
        let mut bytes = Vec::new();
        let _ = stream.read_to_end(&mut bytes);
        http::answer(&bytes)
    }

    /// A request with `headers` (each `Name: value`) and a body.
    pub fn request(&self, method: &str, target: &str, headers: &[&str], body: &[u8]) -> Answer {
        let mut text = format!("{method} {target} HTTP/1.1\r\nConnection: close\r\n");
        if !headers.iter().any(|h| h.to_ascii_lowercase().starts_with("host:")) {
            text += &format!("Host: {}\r\n", self.address);
        }
        for header in headers {
            text += &format!("{header}\r\n");
        }
        if !body.is_empty() || method != "GET" {
            text += &format!("Content-Length: {}\r\n", body.len());
        }
        text += "\r\n";
        self.raw(&[text.as_bytes(), body].concat())
    }

    pub fn get(&self, target: &str) -> Answer {
        self.request("GET", target, &[], b"")
    }

    /// A request as the front end sends it.
    pub fn change(&self, method: &str, target: &str, body: &str) -> Answer {
        let origin = format!("Origin: http://{}", self.address);
        self.request(method, target, &["X-Fenxi: 1", &origin, "Content-Type: application/json"], body.as_bytes())
    }

    /// Waits until the log has a line that holds `part`, and gives it.
    pub fn logged(&self, part: &str) -> String {
        for _ in 0..600 {
            if let Some(line) = self.log.lock().unwrap().iter().find(|l| l.contains(part)) {
                return line.clone();
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        panic!("no line with {part} in {:?}", self.log.lock().unwrap());
    }

    /// Asks the server to end and waits for it.
    pub fn end(&mut self) {
        self.stop.cancel();
        if let Some(thread) = self.thread.take() {
            thread.join().unwrap();
        }
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        self.stop.cancel();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

pub fn wait_for(what: &str, mut done: impl FnMut() -> bool) {
    let begun = std::time::Instant::now();
    while !done() {
        assert!(begun.elapsed() < Duration::from_secs(30), "waited in vain for {what}");
        std::thread::sleep(Duration::from_millis(20));
    }
}
