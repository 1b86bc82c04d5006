//! Faults of a network: a proxy that cuts connections, or lets them fall silent, after so many bytes.

use std::{
    collections::VecDeque,
    io::{Read, Write},
    net::{Shutdown, TcpListener, TcpStream},
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, AtomicU16, AtomicU64, Ordering::SeqCst},
    },
    thread,
};

/// Fate of a connection.
#[derive(Clone, Copy, Debug)]
pub enum Fate {
    /// It is up.
    Whole,
    /// It is cut after so many bytes of the server.
    Cut(u64),
    /// It is cut after so many bytes of the client.
    CutUp(u64),
    /// It stays open, but nothing of the server comes any more after so many bytes.
    Silent(u64),
}

/// A proxy before a server of this machine.
pub struct Proxy {
    /// Where it listens.
    pub port: u16,
    shared: Arc<Shared>,
}

struct Shared {
    server: AtomicU16,
    fates: Mutex<VecDeque<Fate>>,
    /// Fate of connections behind those.
    always: Mutex<Fate>,
    live: Mutex<Vec<TcpStream>>,
    /// Bytes of the server, and of the client.
    bytes: [AtomicU64; 2],
    has_ended: AtomicBool,
}

impl Proxy {
    /// One before the server at `server`.
    pub fn new(server: u16) -> Proxy {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let shared = Arc::new(Shared {
            server: AtomicU16::new(server),
            fates: Mutex::default(),
            always: Mutex::new(Fate::Whole),
            live: Mutex::default(),
            bytes: Default::default(),
            has_ended: AtomicBool::new(false),
        });
        let theirs = Arc::clone(&shared);
        thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                if theirs.has_ended.load(SeqCst) {
                    return;
                }
                theirs.begin(stream);
            }
        });
        Proxy { port, shared }
    }

    /// Sets the fates of the next connections, one by one; of those after them `always`.
    pub fn fates(&self, next: &[Fate], always: Fate) {
        *self.shared.fates.lock().unwrap() = next.iter().copied().collect();
        *self.shared.always.lock().unwrap() = always;
    }

    /// Cuts all connections now.
    pub fn cut(&self) {
        for stream in self.shared.live.lock().unwrap().drain(..) {
            let _ = stream.shutdown(Shutdown::Both);
        }
    }

    /// Bytes that came of the server, and of clients.
    pub fn bytes(&self) -> (u64, u64) {
        (self.shared.bytes[0].load(SeqCst), self.shared.bytes[1].load(SeqCst))
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.shared.has_ended.store(true, SeqCst);
        let _ = TcpStream::connect(("127.0.0.1", self.port));
        self.cut();
    }
}

impl Shared {
    fn begin(self: &Arc<Shared>, client: TcpStream) {
        let fate = self.fates.lock().unwrap().pop_front().unwrap_or(*self.always.lock().unwrap());
        // A server that is not there: the connection ends at once.
        let Ok(server) = TcpStream::connect(("127.0.0.1", self.server.load(SeqCst))) else { return };
        let _ = (client.set_nodelay(true), server.set_nodelay(true));
        let ends = || (client.try_clone().unwrap(), server.try_clone().unwrap());
        let ((c1, s1), (c2, s2)) = (ends(), ends());
        self.live.lock().unwrap().extend([client, server]);
        let (down, up) = match fate {
            Fate::Whole => (None, None),
            Fate::Cut(n) | Fate::Silent(n) => (Some(n), None),
            Fate::CutUp(n) => (None, Some(n)),
        };
        let is_silent = matches!(fate, Fate::Silent(_));
        let (one, other) = (Arc::clone(self), Arc::clone(self));
        thread::spawn(move || carry(s1, c1, down, is_silent, &one.bytes[0]));
        thread::spawn(move || carry(c2, s2, up, false, &other.bytes[1]));
    }
}

/// Carries bytes from one to the other, `most` of them; then nothing comes any more, or both are cut.
fn carry(mut from: TcpStream, mut to: TcpStream, most: Option<u64>, is_silent: bool, count: &AtomicU64) {
    let mut left = most.unwrap_or(u64::MAX);
    let mut buffer = [0; 1 << 14];
    while left > 0 {
        let room = buffer.len().min(usize::try_from(left).unwrap_or(usize::MAX));
        let Ok(n @ 1..) = from.read(&mut buffer[..room]) else { break };
        if to.write_all(&buffer[..n]).is_err() {
            break;
        }
        count.fetch_add(n as u64, SeqCst);
        left -= n as u64;
    }
    if is_silent && left == 0 {
        while matches!(from.read(&mut buffer), Ok(1..)) {}
    }
    let _ = (from.shutdown(Shutdown::Both), to.shutdown(Shutdown::Both));
}
