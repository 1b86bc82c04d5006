//! Gives Prometheus what it asks for while a load runs.

use std::{
    io::{self, Read, Write},
    net::{SocketAddr, TcpListener, TcpStream},
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use fenxi_load::{engine::Interval, exposition::Exposition};
use fenxi_sys::signal::Signals;

/// The longest that a client may take to ask.
const PATIENCE: Duration = Duration::from_secs(2);

/// The figures that clients are given; it ends with the process.
#[derive(Debug)]
pub struct Exporter(Arc<Mutex<Exposition>>);

impl Exporter {
    /// Listens at an address.
    ///
    /// # Errors
    /// When it cannot be listened at.
    pub fn listen(address: SocketAddr) -> io::Result<Exporter> {
        let listener = TcpListener::bind(address)?;
        let exposition = Arc::new(Mutex::new(Exposition::default()));
        let given = Arc::clone(&exposition);
        std::thread::spawn(move || {
            // Signals are for the thread that waits for them; here they would end the process.
            let _ = Signals::all().block();
            // One after the other: a load is asked once in some seconds.
            for stream in listener.incoming().flatten() {
                let text = given.lock().unwrap_or_else(PoisonError::into_inner).text();
                // A client that goes away is its own affair.
                let _ = answer(stream, &text);
            }
        });
        Ok(Exporter(exposition))
    }

    /// Adds an interval.
    pub fn add(&self, interval: &Interval) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).add(interval);
    }
}

/// Any request gets the text.
fn answer(mut stream: TcpStream, text: &str) -> io::Result<()> {
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.set_write_timeout(Some(PATIENCE))?;
    let mut asked = [0; 4096];
    let _ = stream.read(&mut asked)?;
    let head = format!(
        "HTTP/1.1 200 OK\r\nContent-Type: text/plain; version=0.0.4\r\nContent-Length: {}\r\nConnection: close\r\n\r\n",
        text.len()
    );
    stream.write_all(head.as_bytes())?;
    stream.write_all(text.as_bytes())
}
