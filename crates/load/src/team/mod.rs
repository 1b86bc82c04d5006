//! Distributed load: a coordinator gives worker processes, on this host or on others, their shares, starts them at the
//! same moment, and merges their counts.
//!
//! A share is a range of threads ([`crate::engine::Share`]): connections, starts and random numbers follow from a thread's number, so
//! that many processes make exactly the load that one would.

pub(crate) mod message;
mod worker;

use std::{
    io::{self, Read, Write},
    net::{TcpStream, ToSocketAddrs},
    process::{ChildStdin, ChildStdout},
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicBool, Ordering},
        mpsc::{self, Sender},
    },
    time::{Duration, Instant},
};

use rustix::event::{PollFd, PollFlags, Timespec, poll};

use self::message::{LONG, Message, Order, SHORT, VERSION, receive, send};
pub use self::worker::{Access, serve, serve_pipe};
use crate::engine::{
    EngineError, Outcome, Plan, Watch,
    gather::{Crew, Gatherer, PartMessage},
};

/// How long a silent side is waited for.
const SILENCE: Duration = Duration::from_secs(10);
/// How often each side sends a sign of life.
const BEAT: Duration = Duration::from_secs(1);
/// How long a worker may take to take a connection.
const PATIENCE: Duration = Duration::from_secs(5);
/// So many questions find out how long a way is.
const PINGS: usize = 5;
/// Longer than any way, so that every worker knows the moment before it comes.
const MARGIN: Duration = Duration::from_millis(200);
/// Connections that a thread serves by default.
pub const CONNECTIONS_PER_THREAD: usize = 8;

/// Instructions for workers beside the plan.
#[derive(Clone, Debug)]
pub struct Job {
    /// The database's address, as it was given.
    pub url: String,
    /// Name of the workload.
    pub workload: String,
    /// Text of its file.
    pub text: String,
    /// Its options that were chosen.
    pub settings: Vec<(String, String)>,
    /// Threads of each worker; None for what its processors and connections suggest.
    pub threads: Option<usize>,
}

/// The threads that serve so many connections where there are so many processors.
pub fn threads_for(connections: usize, processors: usize) -> usize {
    connections.div_ceil(CONNECTIONS_PER_THREAD).clamp(1, processors.max(1))
}

/// Stream that several threads write to.
type Writer = Mutex<Box<dyn Write + Send>>;

/// A way to a worker.
pub struct Link {
    name: String,
    reader: Box<dyn Read + Send>,
    writer: Writer,
    processors: usize,
    /// How long a message takes.
    way: Duration,
    /// Whether it cannot be intercepted: a pipe, or this machine.
    is_private: bool,
}

impl std::fmt::Debug for Link {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "worker {}", self.name)
    }
}

impl Link {
    /// Connects to a worker at `host:port`.
    ///
    /// # Errors
    /// When it is not there, or does not take our orders.
    pub fn connect(place: &str, token: Option<&str>) -> Result<Link, EngineError> {
        let wrong = |what: String| EngineError::Plan(format!("worker {place}: {what}"));
        let addresses = place.to_socket_addrs().map_err(|e| wrong(format!("{e}; workers are given as HOST:PORT")))?;
        let mut last = io::Error::other("it has no address");
        for address in addresses {
            match tcp(&address) {
                Ok((reader, writer)) => {
                    let is_private = address.ip().to_canonical().is_loopback();
                    let link = Link::greet(place, Box::new(reader), Box::new(writer), token)?;
                    return Ok(Link { is_private, ..link });
                }
                Err(error) => last = error,
            }
        }
        Err(wrong(format!("{last}; start it with `fenxi load worker`")))
    }

    /// Greets a worker that can be reached.
    fn greet(
        name: &str,
        mut reader: Box<dyn Read + Send>,
        mut writer: Box<dyn Write + Send>,
        token: Option<&str>,
    ) -> Result<Link, EngineError> {
        let wrong = |what: String| EngineError::Plan(format!("worker {name}: {what}"));
        let hello = Message::Hello { version: VERSION.to_owned(), token: token.map(str::to_owned) };
        let mut ask = |question: &Message| {
            send(&mut *writer, question)?;
            receive(&mut *reader, SHORT)
        };
        let processors = match ask(&hello) {
            Ok(Message::Welcome { processors }) => processors,
            Ok(Message::Refused { why }) => return Err(wrong(why)),
            Ok(_) => return Err(wrong("it answers, but is not a worker".to_owned())),
            Err(error) => return Err(wrong(error.to_string())),
        };
        let mut way = Duration::MAX;
        for _ in 0..PINGS {
            let asked = Instant::now();
            ask(&Message::Ping).map_err(|e| wrong(e.to_string()))?;
            way = way.min(asked.elapsed() / 2);
        }
        Ok(Link { name: name.to_owned(), reader, writer: Mutex::new(writer), processors, way, is_private: true })
    }

    /// Greets a child of this process over its pipes.
    ///
    /// # Errors
    /// As [`Link::connect`].
    pub fn child(name: &str, output: ChildStdout, input: ChildStdin) -> Result<Link, EngineError> {
        Link::greet(name, Box::new(Patient(output)), Box::new(input), None)
    }

    fn send(&self, message: &Message) -> io::Result<()> {
        send(&mut **self.writer.lock().unwrap_or_else(PoisonError::into_inner), message)
    }
}

fn tcp(address: &std::net::SocketAddr) -> io::Result<(TcpStream, TcpStream)> {
    let stream = TcpStream::connect_timeout(address, PATIENCE)?;
    stream.set_nodelay(true)?;
    stream.set_read_timeout(Some(SILENCE))?;
    stream.set_write_timeout(Some(SILENCE))?;
    Ok((stream.try_clone()?, stream))
}

/// A pipe whose silence has an end, as that of a socket.
pub(crate) struct Patient(pub(crate) ChildStdout);

impl Read for Patient {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let patience = Timespec { tv_sec: SILENCE.as_secs() as i64, tv_nsec: 0 };
        match poll(&mut [PollFd::new(&self.0, PollFlags::IN)], Some(&patience)) {
            Ok(0) => Err(io::ErrorKind::TimedOut.into()),
            Ok(_) => self.0.read(into),
            Err(error) => Err(error.into()),
        }
    }
}

/// The workers as those who take orders.
struct Workers<'a> {
    /// And how long a message takes.
    ways: &'a [(Writer, Duration)],
    reason: Mutex<Option<String>>,
}

impl Workers<'_> {
    /// Who does not take a message is lost, which its reader notices.
    fn send_all(&self, mut message: impl FnMut(Duration) -> Message) {
        for (writer, way) in self.ways {
            let _ = send(&mut **writer.lock().unwrap_or_else(PoisonError::into_inner), &message(*way));
        }
    }
}

impl Crew for Workers<'_> {
    fn begin(&self, at: Instant) {
        self.send_all(|way| {
            let after = at.saturating_duration_since(Instant::now()).saturating_sub(way);
            Message::Begin { after_ns: after.as_nanos() as u64 }
        });
    }

    fn stop(&self, reason: &str) {
        let first = {
            let mut kept = self.reason.lock().unwrap_or_else(PoisonError::into_inner);
            let first = kept.is_none();
            kept.get_or_insert_with(|| reason.to_owned());
            first
        };
        if first {
            self.send_all(|_| Message::Stop);
        }
    }

    fn reason(&self) -> Option<String> {
        self.reason.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

/// Gives the beginning a margin for the ways.
struct Later<'a>(&'a mut dyn Watch);

impl Watch for Later<'_> {
    fn ready(&mut self) -> Option<Instant> {
        self.0.ready().map(|at| at + MARGIN)
    }

    fn interval(&mut self, interval: &crate::engine::Interval) -> std::ops::ControlFlow<()> {
        self.0.interval(interval)
    }

    fn wants_end(&mut self) -> bool {
        self.0.wants_end()
    }
}

/// Lets workers make the load of a plan, of which threads and share are theirs.
///
/// # Errors
/// When a worker cannot begin. One that is lost later is counted as an error of class `worker`, and what follows is what
/// the policy allows.
pub fn run(plan: &Plan, job: &Job, links: Vec<Link>, watch: &mut dyn Watch) -> Result<Outcome, EngineError> {
    let orders = orders(plan, job, &links)?;
    for (link, order) in links.iter().zip(orders) {
        let sent = link.send(&Message::Order(Box::new(order)));
        sent.map_err(|e| EngineError::Plan(format!("worker {}: {e}", link.name)))?;
    }
    let (mut readers, mut ways) = (Vec::new(), Vec::new());
    for link in links {
        readers.push((link.name, link.reader));
        ways.push((link.writer, link.way));
    }
    let workers = Workers { ways: &ways, reason: Mutex::new(None) };
    let over = AtomicBool::new(false);
    let (sender, words) = mpsc::channel();
    std::thread::scope(|scope| {
        for (from, (name, mut reader)) in readers.into_iter().enumerate() {
            let (sender, workers) = (sender.clone(), &workers);
            scope.spawn(move || hear(from, &name, &mut *reader, workers, &sender));
        }
        drop(sender);
        scope.spawn(|| beat(&over, || workers.send_all(|_| Message::Alive)));
        let gathered = Gatherer::new(plan, &workers, ways.len()).gather(&words, &mut Later(watch));
        over.store(true, Ordering::Relaxed);
        gathered
    })
}

/// Does something each second until it is over.
fn beat(over: &AtomicBool, mut act: impl FnMut()) {
    let mut last = Instant::now();
    while !over.load(Ordering::Relaxed) {
        std::thread::sleep(Duration::from_millis(20));
        if last.elapsed() >= BEAT {
            last = Instant::now();
            act();
        }
    }
}

/// Passes on a worker's messages, until its end.
fn hear(from: usize, name: &str, reader: &mut dyn Read, workers: &Workers<'_>, words: &Sender<PartMessage>) {
    let lost = |what: String| PartMessage::Lost { from, what: format!("worker {name}: {what}") };
    loop {
        let word = match receive(reader, LONG) {
            Ok(Message::Alive | Message::Pong) => continue,
            Ok(Message::Ready) => PartMessage::Ready { from },
            Ok(Message::Interval { number, tally }) => PartMessage::Interval { from, number, tally },
            Ok(Message::End { drained, unfinished, unstarted, stopped }) => {
                if let Some(reason) = stopped {
                    workers.stop(&reason);
                }
                let _ = words.send(PartMessage::End { drained, unfinished, unstarted });
                return;
            }
            Ok(Message::Refused { why }) => lost(why),
            Ok(_) => lost("it sent an unexpected message".to_owned()),
            Err(error) => lost(match error.kind() {
                io::ErrorKind::UnexpectedEof | io::ErrorKind::ConnectionReset => "it disconnected".to_owned(),
                io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut => "it does not respond".to_owned(),
                _ => error.to_string(),
            }),
        };
        let ends = matches!(word, PartMessage::Lost { .. });
        // The receiver is gone when the load has ended.
        if words.send(word).is_err() || ends {
            return;
        }
    }
}

/// The order to each worker.
fn orders(plan: &Plan, job: &Job, links: &[Link]) -> Result<Vec<Order>, EngineError> {
    let count = links.len();
    if count == 0 || plan.run.connections < count {
        return Err(EngineError::Plan(format!("{count} workers need at least one connection each")));
    }
    let open = links.iter().find(|link| !link.is_private && plan.target.login.password.is_some());
    if let Some(Link { name, .. }) = open {
        return Err(EngineError::Plan(format!(
            "worker {name}: the database's password would go there unencrypted; start the worker by ssh (`--worker-on HOST`), \
             use a tunnel (`ssh -L`), or a user without a password"
        )));
    }
    let share = plan.run.connections.div_ceil(count);
    let mut threads: Vec<usize> =
        links.iter().map(|link| job.threads.unwrap_or_else(|| threads_for(share, link.processors)).max(1)).collect();
    // A thread without a connection would be due transactions and never begin them.
    while threads.iter().sum::<usize>() > plan.run.connections {
        if let Some(most) = threads.iter_mut().max() {
            *most -= 1;
        }
    }
    let all: usize = threads.iter().sum();
    let mut first = 0;
    let orders = threads.into_iter().map(|threads| {
        let share = (first, all);
        first += threads;
        Order {
            url: job.url.clone(),
            user: plan.target.login.user.clone(),
            password: plan.target.login.password.as_ref().map(|password| password.reveal().to_owned()),
            workload: job.workload.clone(),
            text: job.text.clone(),
            settings: job.settings.clone(),
            run: plan.run.clone(),
            threads,
            share,
        }
    });
    Ok(orders.collect())
}

#[cfg(test)]
mod tests {
    use fenxi_wire::target::{Surroundings, Target};

    use super::*;

    #[test]
    fn a_password_of_the_database_goes_to_no_worker_over_a_network() {
        let orders_of = |url: &str, is_private| {
            let (reader, writer) = (Box::new(io::empty()), Mutex::new(Box::new(io::sink()) as Box<dyn Write + Send>));
            let link = Link { name: "w".to_owned(), reader, writer, processors: 1, way: Duration::ZERO, is_private };
            let target = Target::parse(url, &Surroundings::default()).unwrap();
            let plan = Plan { target, ..crate::engine::tests::plan() };
            let (workload, text) = ("x".to_owned(), String::new());
            orders(&plan, &Job { url: url.to_owned(), workload, text, settings: Vec::new(), threads: None }, &[link])
        };
        assert!(orders_of("postgres://u:p@h/d", true).is_ok() && orders_of("postgres://u@h/d", false).is_ok());
        assert!(orders_of("postgres://u:p@h/d", false).unwrap_err().to_string().contains("unencrypted"));
    }
}
