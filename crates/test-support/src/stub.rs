//! A server that speaks as much of PostgreSQL's protocol as a load needs, and answers on command. The tests of
//! the command use it too.

#![allow(dead_code, reason = "each of two tests uses a part of it")]

use std::{
    io::{Read, Write},
    net::{TcpListener, TcpStream},
    sync::{Arc, Mutex},
    thread,
    time::{Duration, Instant},
};

use fenxi_wire::target::{Surroundings, Target};

/// The server's reaction to a query.
#[derive(Clone, Debug)]
pub enum Answer {
    /// Answers, not before the time has passed since the server's first query.
    NotBefore(Duration),
    /// Refuses with a SQLSTATE.
    Refuse(&'static str),
    /// Closes the connection.
    Close,
}

/// Decides by when a query came, since the first one, and by its text.
type Behaviour = dyn Fn(Duration, &str) -> Answer + Send + Sync;

/// A server; it ends with the test's process.
pub struct Stub {
    port: u16,
    seen: Arc<Mutex<Vec<(Instant, String)>>>,
}

impl Stub {
    /// Starts one.
    pub fn start(behaviour: impl Fn(Duration, &str) -> Answer + Send + Sync + 'static) -> Stub {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let seen = Arc::new(Mutex::new(Vec::new()));
        let (behaviour, queries): (Arc<Behaviour>, _) = (Arc::new(behaviour), Arc::clone(&seen));
        thread::spawn(move || {
            for stream in listener.incoming() {
                let (behaviour, queries) = (Arc::clone(&behaviour), Arc::clone(&queries));
                thread::spawn(move || serve(stream.unwrap(), &*behaviour, &queries));
            }
        });
        Stub { port, seen }
    }

    /// One that answers at once.
    pub fn quick() -> Stub {
        Stub::start(|_, _| Answer::NotBefore(Duration::ZERO))
    }

    pub fn url(&self) -> String {
        format!("postgres://u@127.0.0.1:{}/d", self.port)
    }

    pub fn target(&self) -> Target {
        Target::parse(&self.url(), &Surroundings::default()).unwrap()
    }

    /// When queries came, and their texts.
    pub fn seen(&self) -> Vec<(Instant, String)> {
        self.seen.lock().unwrap().clone()
    }
}

/// One connection, until it ends.
fn serve(mut stream: TcpStream, behaviour: &Behaviour, seen: &Mutex<Vec<(Instant, String)>>) -> Option<()> {
    stream.set_nodelay(true).unwrap();
    let mut length = [0; 4];
    stream.read_exact(&mut length).ok()?;
    let mut body = vec![0; u32::from_be_bytes(length) as usize - 4];
    stream.read_exact(&mut body).ok()?;
    stream.write_all(b"R\0\0\0\x08\0\0\0\0Z\0\0\0\x05I").ok()?;
    loop {
        let mut head = [0; 5];
        stream.read_exact(&mut head).ok()?;
        let mut body = vec![0; u32::from_be_bytes(head[1..].try_into().unwrap()) as usize - 4];
        stream.read_exact(&mut body).ok()?;
        if head[0] != b'Q' {
            return None;
        }
        let now = Instant::now();
        let text = String::from_utf8_lossy(&body[..body.len() - 1]).into_owned();
        let first = {
            let mut seen = seen.lock().unwrap();
            seen.push((now, text.clone()));
            seen[0].0
        };
        match behaviour(now - first, &text) {
            Answer::NotBefore(time) => {
                thread::sleep((first + time).saturating_duration_since(Instant::now()));
                stream.write_all(b"C\0\0\0\x0dSELECT 1\0Z\0\0\0\x05I").ok()?;
            }
            Answer::Refuse(state) => {
                let fields = format!("VERROR\0C{state}\0Mrefused\0\0");
                let mut message = vec![b'E'];
                message.extend_from_slice(&(fields.len() as u32 + 4).to_be_bytes());
                message.extend_from_slice(fields.as_bytes());
                message.extend_from_slice(b"Z\0\0\0\x05I");
                stream.write_all(&message).ok()?;
            }
            Answer::Close => return None,
        }
    }
}
