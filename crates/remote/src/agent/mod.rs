//! The other end of the pipe: samples as ordered and sends rows, until the recorder ends or is gone.
//!
//! Three threads: one reads the recorder's messages, one writes the agent's, and the first one samples and waits for
//! neither. It listens at no port, writes no file that outlives it, and ends when its standard input does.

mod clock;
mod queue;
mod sampling;
mod talk;

use std::{
    io::{self, Read, Write},
    sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

use fenxi_source::Root;

use self::{clock::OwnClock, queue::Queue};
use crate::{
    clock::Follower,
    frame::{Began, Hello, MARK, Order, id},
};

pub use self::clock::CLOCK_VARIABLE;

/// How long nothing may be heard of the recorder: a host that lost its power closes no pipe.
const SILENCE: Duration = Duration::from_secs(30);

/// Why an agent ended before the recorder asked for it.
#[derive(Debug, thiserror::Error)]
pub enum AgentError {
    /// The pipe could not be read or written, or a thread not started.
    #[error("the recorder is lost: {0}")]
    Lost(#[from] io::Error),
    /// It cannot do what was ordered; the recorder knows why.
    #[error("{0}")]
    Refused(String),
}

/// State shared by the threads.
struct Shared {
    state: Mutex<State>,
    /// Rung when the state changes.
    bell: Condvar,
    clock: OwnClock,
}

/// How far an agent is.
struct State {
    order: Option<Order>,
    began: Option<Began>,
    /// Facts are wanted once more.
    facts: bool,
    /// The recording has ended.
    stop: bool,
    /// The recorder is gone.
    gone: Option<String>,
    /// When the recorder was last heard.
    heard: Instant,
    /// The recorder's clock.
    follower: Follower,
    /// A step of it that was not reported yet, seconds.
    stepped: Option<f64>,
    /// Answers of it that no clock can have given, and were not reported yet.
    impossible: u64,
    /// Rows to send.
    queue: Queue,
    /// The message to send before them.
    word: Option<crate::frame::AgentMessage>,
    /// No more rows will come.
    is_done: bool,
    /// Everything was sent.
    is_said: bool,
    sent_bytes: u64,
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        // A thread that panicked leaves a state that the others can end by.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Changes the state and wakes who waits for it.
    fn change(&self, change: impl FnOnce(&mut State)) {
        change(&mut self.lock());
        self.bell.notify_all();
    }

    /// Waits until `until`, or something is so; false when the time was over, or the recorder is gone.
    fn wait(&self, until: Option<Instant>, is_so: impl Fn(&State) -> bool) -> bool {
        let mut state = self.lock();
        loop {
            if state.gone.is_none() && state.heard.elapsed() > SILENCE {
                state.gone = Some(format!("nothing was heard of it for {} s", SILENCE.as_secs()));
                self.bell.notify_all();
            }
            if state.gone.is_some() {
                return false;
            }
            if is_so(&state) {
                return true;
            }
            let now = Instant::now();
            if until.is_some_and(|until| until <= now) {
                return false;
            }
            let longest = Duration::from_secs(1);
            let patience = until.map_or(longest, |until| (until - now).min(longest));
            state = self.bell.wait_timeout(state, patience).unwrap_or_else(PoisonError::into_inner).0;
        }
    }
}

/// Announces that a program of this version runs here.
///
/// # Errors
/// When the pipe is closed.
pub fn hello(output: &mut impl Write) -> io::Result<()> {
    let uname = rustix::system::uname();
    let hello = Hello {
        id: id(),
        nodename: uname.nodename().to_string_lossy().into_owned(),
        machine: uname.machine().to_string_lossy().into_owned(),
        uid: rustix::process::getuid().as_raw(),
        program: std::env::current_exe().map(|path| path.display().to_string()).unwrap_or_default(),
    };
    let hello = serde_json::to_string(&hello)?;
    output.write_all(format!("{MARK}hello {hello}\n").as_bytes())?;
    output.flush()
}

/// Serves the recorder at the other end of `input` and `output` until it ends.
///
/// # Errors
/// When it ended by itself, or cannot be served.
pub fn run(
    input: impl Read + Send + 'static,
    mut output: impl Write + Send + 'static,
    root: &Root,
) -> Result<(), AgentError> {
    hello(&mut output)?;
    let shared = Arc::new(Shared {
        clock: OwnClock::of_environment(),
        bell: Condvar::new(),
        state: Mutex::new(State {
            order: None,
            began: None,
            facts: false,
            stop: false,
            gone: None,
            heard: Instant::now(),
            follower: Follower::default(),
            stepped: None,
            impossible: 0,
            queue: Queue::default(),
            word: None,
            is_done: false,
            is_said: false,
            sent_bytes: 0,
        }),
    });
    let (reader, writer) = (Arc::clone(&shared), Arc::clone(&shared));
    std::thread::Builder::new().name("agent-read".to_owned()).spawn(move || talk::read(&reader, input))?;
    std::thread::Builder::new().name("agent-write".to_owned()).spawn(move || talk::write(&writer, output))?;
    // The other threads may hang in a pipe; the process ends with this one.
    sampling::run(&shared, root)
}
