//! Worker of a distributed load: takes an order from a coordinator, generates its share, and reports its counts. It
//! stops when the coordinator is gone.

use std::{
    io::{self, Read, Write},
    net::{TcpListener, TcpStream},
    ops::ControlFlow,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, AtomicUsize, Ordering},
        mpsc::{self, Receiver, RecvTimeoutError, Sender},
    },
    time::{Duration, Instant},
};

use rustix::event::{PollFd, PollFlags, Timespec, poll};

use super::{
    SILENCE, Writer, beat,
    message::{LONG, Message, Order, SHORT, VERSION, receive, send},
};
use crate::{
    engine::{self, Interval, Plan, Share, Watch},
    workload::Workload,
};
use fenxi_wire::{
    client::Client,
    login::Password,
    target::{Surroundings, Target},
};

/// Whether a token, or none, lets a coordinator in.
pub type Access = dyn Fn(Option<&str>) -> bool + Send + Sync;

/// How long a wrong token is thought about, so that guessing takes time.
const WRONG: Duration = Duration::from_secs(1);
/// Who may greet at the same time.
const GREETERS: usize = 16;
/// How long the server may take to take the first connection.
const PATIENCE: Duration = Duration::from_secs(30);
/// How often it is looked whether to end.
const GLANCE: Duration = Duration::from_millis(50);

/// Serves coordinators, one after the other, until `ends` is true. `log` gets who comes and the outcome.
///
/// # Errors
/// When the listener is of no use any more.
pub fn serve(
    listener: &TcpListener,
    access: &Access,
    ends: &(dyn Fn() -> bool + Sync),
    log: &(dyn Fn(&str) + Sync),
) -> io::Result<()> {
    let (busy, greeters) = (AtomicBool::new(false), AtomicUsize::new(0));
    listener.set_nonblocking(true)?;
    let pause = Timespec { tv_sec: 0, tv_nsec: i64::from(GLANCE.subsec_nanos()) };
    std::thread::scope(|scope| {
        while !ends() {
            let mut sockets = [PollFd::new(listener, PollFlags::IN)];
            if !matches!(poll(&mut sockets, Some(&pause)), Ok(1..)) {
                continue;
            }
            let Ok((stream, peer)) = listener.accept() else { continue };
            if greeters.fetch_add(1, Ordering::Relaxed) >= GREETERS {
                greeters.fetch_sub(1, Ordering::Relaxed);
                continue;
            }
            let (busy, greeters) = (&busy, &greeters);
            scope.spawn(move || {
                let printed = match halves(stream) {
                    Ok((mut reader, writer)) => session(&mut reader, Box::new(writer), Some(busy), access, ends),
                    Err(error) => Err(error),
                };
                greeters.fetch_sub(1, Ordering::Relaxed);
                match printed {
                    Ok(printed) => log(&format!("{peer}: {printed}")),
                    Err(error) => log(&format!("{peer}: {error}")),
                }
            });
        }
        Ok(())
    })
}

/// Serves the coordinator that has made this process, over its pipes.
///
/// # Errors
/// When the coordinator is none, or has gone.
pub fn serve_pipe(mut reader: impl Read + Send, writer: impl Write + Send + 'static) -> io::Result<()> {
    session(&mut reader, Box::new(writer), None, &|_| true, &|| false).map(drop)
}

fn halves(stream: TcpStream) -> io::Result<(TcpStream, TcpStream)> {
    stream.set_nonblocking(false)?;
    stream.set_nodelay(true)?;
    stream.set_read_timeout(Some(SILENCE))?;
    stream.set_write_timeout(Some(SILENCE))?;
    Ok((stream.try_clone()?, stream))
}

fn say(way: &Writer, message: &Message) -> io::Result<()> {
    send(&mut **way.lock().unwrap_or_else(PoisonError::into_inner), message)
}

/// Frees the worker for others when a session has ended, however it has.
struct Occupied<'a>(&'a AtomicBool);

impl Drop for Occupied<'_> {
    fn drop(&mut self) {
        self.0.store(false, Ordering::Release);
    }
}

/// One coordinator, from its greeting to the end of its load; what became of it.
fn session(
    reader: &mut (dyn Read + Send),
    writer: Box<dyn Write + Send>,
    busy: Option<&AtomicBool>,
    access: &Access,
    ends: &(dyn Fn() -> bool + Sync),
) -> io::Result<String> {
    let way: Writer = Mutex::new(writer);
    let refuse = |why: &str| say(&way, &Message::Refused { why: why.to_owned() }).map(|()| format!("refused: {why}"));
    let Message::Hello { version, token } = receive(reader, SHORT)? else { return refuse("not a greeting") };
    if !access(token.as_deref()) {
        std::thread::sleep(WRONG);
        return refuse("this is not its token; give the file that has it with --token-file");
    }
    if version != VERSION {
        return refuse(&format!("it is version {VERSION} and the coordinator {version}; both must be the same"));
    }
    if busy.is_some_and(|busy| busy.swap(true, Ordering::Acquire)) {
        return refuse("it is busy with another coordinator");
    }
    let _occupied = busy.map(Occupied);
    let processors = std::thread::available_parallelism().map_or(1, usize::from);
    say(&way, &Message::Welcome { processors })?;
    let order = loop {
        match receive(reader, LONG)? {
            Message::Ping => say(&way, &Message::Pong)?,
            Message::Order(order) => break order,
            Message::Alive => {}
            _ => return refuse("not an order"),
        }
    };
    work(reader, &way, &order, ends)
}

/// Makes a share of a load.
fn work(
    reader: &mut (dyn Read + Send),
    way: &Writer,
    order: &Order,
    ends: &(dyn Fn() -> bool + Sync),
) -> io::Result<String> {
    let (over, stop) = (AtomicBool::new(false), AtomicBool::new(false));
    let (sender, begin) = mpsc::channel();
    std::thread::scope(|scope| {
        // Sends signs of life, also while it is connecting.
        scope.spawn(|| beat(&over, || drop(say(way, &Message::Alive))));
        scope.spawn(|| listen(reader, &sender, &stop, &over));
        let outcome = plan(order).and_then(|plan| {
            let mut watch = Reporter { way, begin, stop: &stop, ends, reported: 0 };
            engine::run_watched(&plan, &mut watch).map_err(|e| e.to_string())
        });
        over.store(true, Ordering::Relaxed);
        let printed = match outcome {
            Ok(outcome) => {
                let (unfinished, unstarted) = (outcome.unfinished, outcome.unstarted);
                // A worker that was asked to stop has no reason itself.
                let stopped = outcome.stopped.filter(|_| !stop.load(Ordering::Relaxed));
                let drained = Box::new(outcome.drained);
                if ends() {
                    say(way, &Message::Refused { why: "it was ended".to_owned() })?;
                } else {
                    say(way, &Message::End { drained, unfinished, unstarted, stopped })?;
                }
                format!("{} transactions", outcome.total.tally.transactions)
            }
            Err(why) => {
                say(way, &Message::Refused { why: why.clone() })?;
                why
            }
        };
        Ok(printed)
    })
}

/// Reads the coordinator's messages until the load is over or the coordinator has gone, which ends the load as well.
fn listen(reader: &mut dyn Read, begin: &Sender<Instant>, stop: &AtomicBool, over: &AtomicBool) {
    while !over.load(Ordering::Relaxed) {
        match receive(reader, SHORT) {
            Ok(Message::Begin { after_ns }) => drop(begin.send(Instant::now() + Duration::from_nanos(after_ns))),
            Ok(Message::Alive) => {}
            Ok(Message::Stop) | Err(_) => {
                stop.store(true, Ordering::Relaxed);
                return;
            }
            Ok(_) => {}
        }
    }
}

/// The plan of an order.
fn plan(order: &Order) -> Result<Plan, String> {
    let (first, of) = order.share;
    if first.checked_add(order.threads).is_none_or(|end| end > of) {
        return Err(format!("threads {first} and {} more are no share of {of}", order.threads));
    }
    let around = Surroundings {
        user: Some(order.user.clone()),
        password: order.password.clone().map(Password::new),
        ..Surroundings::default()
    };
    let target = Target::parse(&order.url, &around).map_err(|e| e.to_string())?;
    let mut workload = Workload::parse(&order.workload, &order.text).map_err(|e| e.to_string())?;
    for (key, value) in &order.settings {
        workload.set(key, value).map_err(|e| e.to_string())?;
    }
    let program = workload.compile(target.login.dialect).map_err(|e| e.to_string())?;
    let endpoint = Client::connect(&target, PATIENCE).map_err(|e| e.to_string())?.endpoint().clone();
    Ok(Plan {
        target,
        endpoint,
        program: Arc::new(program),
        threads: order.threads,
        share: Some(Share { first, of }),
        run: order.run.clone(),
    })
}

/// Reports to the coordinator, and follows its orders.
struct Reporter<'a> {
    way: &'a Writer,
    begin: Receiver<Instant>,
    stop: &'a AtomicBool,
    ends: &'a (dyn Fn() -> bool + Sync),
    /// Intervals that were reported to it.
    reported: usize,
}

impl Watch for Reporter<'_> {
    fn ready(&mut self) -> Option<Instant> {
        say(self.way, &Message::Ready).ok()?;
        loop {
            match self.begin.recv_timeout(GLANCE) {
                Ok(at) => return Some(at),
                Err(RecvTimeoutError::Timeout) if !self.wants_end() => {}
                Err(_) => return None,
            }
        }
    }

    fn interval(&mut self, interval: &Interval) -> ControlFlow<()> {
        let number = self.reported;
        self.reported += 1;
        match say(self.way, &Message::Interval { number, tally: Box::new(interval.tally.clone()) }) {
            Ok(()) => ControlFlow::Continue(()),
            Err(_) => ControlFlow::Break(()),
        }
    }

    fn wants_end(&mut self) -> bool {
        self.stop.load(Ordering::Relaxed) || (self.ends)()
    }
}
