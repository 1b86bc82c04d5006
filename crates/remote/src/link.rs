//! State shared by the recorder and the thread that keeps a host connected.

use std::{
    sync::{
        Arc, Condvar, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
    time::{Duration, Instant},
};

use fenxi_model::{Micros, Rows, catalog::text, command_without_secrets};
use fenxi_sys::signal::Signals;

use crate::{
    frame::{Began, Order, ToAgent, send},
    handshake::LOOK,
    pipe::Input,
    program::Programs,
    session::{self, Ended},
    target::Target,
};

/// The first pause before a host is connected to again, and the longest.
const PAUSE: Duration = Duration::from_millis(500);
const LONGEST_PAUSE: Duration = Duration::from_secs(30);
/// A connection that lasted so long was a good one: the next pause is short again.
const GOOD: Duration = Duration::from_secs(60);
/// Lines of a transport that are kept as notes.
const LINES: usize = 20;
/// Characters of another host's messages that are kept.
const MOST_WORDS: usize = 500;
/// About how many bytes of rows of all hosts may wait for the recorder's next tick.
const MOST_WAITING: usize = 32 << 20;

/// Phase of a host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// It is being connected to, for the first time or again.
    Connecting,
    /// It samples, or would if the recording had begun.
    Live,
    /// It was notified that the recording has ended.
    Ending,
    /// Nothing more will come.
    Ended,
}

/// Outcome of waiting for a host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Waited {
    /// Nothing more will come.
    Ended,
    /// Nothing more comes until what has come is taken.
    Full,
    /// It was in vain.
    InVain,
}

/// Room for rows that wait for the recorder, which all hosts share.
#[derive(Debug)]
pub struct RowBudget {
    /// About how many bytes wait.
    waiting: AtomicUsize,
    /// How many of a host may, however many there are of others.
    share: usize,
}

impl RowBudget {
    /// For so many hosts.
    pub fn for_hosts(hosts: usize) -> RowBudget {
        RowBudget { waiting: AtomicUsize::new(0), share: MOST_WAITING / hosts.max(1) }
    }

    /// Whether no more is to be read of a host of which so much waits.
    fn is_full(&self, waiting: usize) -> bool {
        waiting > 0 && waiting >= self.share && self.waiting.load(Ordering::Relaxed) >= MOST_WAITING
    }
}

/// A host of a recording.
pub struct Link {
    /// Name of the host, and how it is reached.
    pub target: Target,
    /// Order.
    pub order: Order,
    /// Programs that can be sent there.
    pub programs: Arc<Programs>,
    /// True if it is tried again though it could not be reached at first.
    pub is_patient: bool,
    /// Room for its rows.
    pub room: Arc<RowBudget>,
    /// The way to it.
    pub input: Input,
    state: Mutex<State>,
    /// Rung when the state changes.
    bell: Condvar,
}

struct State {
    phase: Phase,
    began: Option<Began>,
    /// Rows that the recorder has not taken yet.
    rows: Rows,
    /// About how many bytes these are.
    waiting: usize,
    /// Events: when, kind and message.
    events: Vec<(Instant, &'static str, String)>,
    notes: Vec<String>,
    lines: usize,
    /// Progress messages for the waiting thread.
    messages: Vec<String>,
    /// Why it is not there.
    why: Option<String>,
    /// Whether it was there at all.
    was_live: bool,
    is_lost: bool,
    closed: bool,
    /// Until when its last rows are waited for, once they are.
    until: Option<Instant>,
    /// Whether that was in vain.
    is_late: bool,
}

impl State {
    /// How long it is waited for at most.
    fn left(&self) -> Duration {
        self.until.map_or(Duration::MAX, |until| until.saturating_duration_since(Instant::now()))
    }
}

impl Link {
    /// A host that is not connected yet.
    pub fn new(target: Target, order: Order, programs: Arc<Programs>, is_patient: bool, room: Arc<RowBudget>) -> Link {
        let state = State {
            phase: Phase::Connecting,
            began: None,
            rows: Rows::new(&target.name),
            waiting: 0,
            events: Vec::new(),
            notes: Vec::new(),
            lines: 0,
            messages: Vec::new(),
            why: None,
            was_live: false,
            is_lost: false,
            closed: false,
            until: None,
            is_late: false,
        };
        let (input, bell) = (Input::default(), Condvar::new());
        Link { target, order, programs, is_patient, room, input, state: Mutex::new(state), bell }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // A thread that panicked leaves rows that are whole.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn change<T>(&self, change: impl FnOnce(&mut State) -> T) -> T {
        let changed = change(&mut self.lock());
        self.bell.notify_all();
        changed
    }

    /// Keeps the host connected until the recording ends: the work of its own thread.
    pub fn keep(&self) {
        // A signal is for the thread that records.
        let _ = Signals::all().block();
        let mut pause = PAUSE;
        loop {
            let began = Instant::now();
            let ended = session::run(self);
            let is_over = {
                let state = self.lock();
                state.closed || state.phase == Phase::Ending
            };
            match ended {
                Ended::Done | Ended::ByItself => break,
                Ended::Unwanted => {
                    self.change(|state| state.is_late = state.phase == Phase::Ending);
                    break;
                }
                Ended::Lost(why) => {
                    self.lost(&why, Instant::now());
                    let gives_up = !self.lock().was_live && !self.is_patient;
                    if is_over || gives_up {
                        break;
                    }
                }
                Ended::Refused(why) => {
                    self.lost(&why, Instant::now());
                    if is_over || !self.is_patient {
                        break;
                    }
                }
            }
            self.unplug();
            if began.elapsed() >= GOOD {
                pause = PAUSE;
            }
            if !self.pause(pause) {
                break;
            }
            pause = (pause * 2).min(LONGEST_PAUSE);
        }
        self.change(|state| state.phase = Phase::Ended);
    }

    /// Waits before the next attempt; false when there is to be none.
    fn pause(&self, pause: Duration) -> bool {
        let until = Instant::now() + pause;
        let mut state = self.lock();
        loop {
            let left = until.saturating_duration_since(Instant::now());
            if state.closed || state.phase == Phase::Ending {
                return false;
            }
            if left.is_zero() {
                return true;
            }
            state = self.bell.wait_timeout(state, left).unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    /// Its sources have started; gives when the recording began, if it has.
    pub fn ready(&self) -> Option<Began> {
        self.change(|state| {
            state.phase = if state.phase == Phase::Connecting { Phase::Live } else { state.phase };
            state.was_live = true;
            state.why = None;
            if std::mem::take(&mut state.is_lost) {
                state.events.push((Instant::now(), "host back", "it is recorded again".to_owned()));
            }
            state.began
        })
    }

    /// It is not heard any more since `at`.
    pub fn lost(&self, why: &str, at: Instant) {
        let why = &why.chars().take(MOST_WORDS).collect::<String>();
        self.change(|state| {
            state.why = Some(why.to_owned());
            let was_there = state.phase == Phase::Live;
            if was_there && !std::mem::replace(&mut state.is_lost, true) {
                state.events.push((at, "host lost", why.to_owned()));
            } else if !was_there || state.lines < LINES {
                state.lines += 1;
                state.notes.push(format!("not connected: {why}"));
            }
        });
    }

    /// The connection has ended: what comes next is a new one.
    fn unplug(&self) {
        self.change(|state| {
            if state.phase == Phase::Live {
                state.phase = Phase::Connecting;
            }
        });
    }

    /// It is heard again, over the same connection.
    pub fn back(&self) {
        self.change(|state| {
            if std::mem::take(&mut state.is_lost) {
                let text = "it is heard again; what it sampled meanwhile follows".to_owned();
                state.events.push((Instant::now(), "host back", text));
            }
        });
    }

    /// Adds rows that take about `size` bytes in memory.
    pub fn take_in(&self, rows: &Rows, size: usize) {
        let mut state = self.lock();
        state.rows.absorb(rows);
        state.waiting += size;
        self.room.waiting.fetch_add(size, Ordering::Relaxed);
    }

    /// Reports progress to the waiting thread.
    pub fn notify(&self, message: &str) {
        self.change(|state| state.messages.push(format!("{}: {message}", self.target.name)));
    }

    /// Keeps messages of the transport.
    pub fn notify_lines(&self, lines: Vec<String>) {
        if lines.is_empty() {
            return;
        }
        let mut state = self.lock();
        for line in lines {
            if state.lines < LINES {
                state.lines += 1;
                state.notes.push(format!("message of the transport: {line}"));
            }
        }
    }

    /// Returns true if so much waits for the recorder that no more is to be read.
    pub fn is_full(&self) -> bool {
        self.room.is_full(self.lock().waiting)
    }

    /// Waits until the recorder has taken what there is, for a while.
    pub fn wait_for_room(&self, patience: Duration) {
        let state = self.lock();
        if self.room.is_full(state.waiting) && !state.closed {
            drop(self.bell.wait_timeout(state, patience));
        }
    }

    /// Phase.
    pub fn phase(&self) -> Phase {
        self.lock().phase
    }

    /// Returns true if it samples.
    pub fn is_live(&self) -> bool {
        self.lock().was_live
    }

    /// Returns true if nothing more is wanted of it, or not any longer.
    pub fn is_closed(&self) -> bool {
        let state = self.lock();
        state.closed || state.left().is_zero()
    }

    /// Time that its thread waits before it checks again whether the host is wanted.
    pub fn patience(&self) -> Duration {
        self.lock().left().min(LOOK)
    }

    /// Why it is not there, if it is known.
    pub fn why(&self) -> Option<String> {
        self.lock().why.clone()
    }

    /// Progress messages for the waiting thread.
    pub fn take_messages(&self) -> Vec<String> {
        std::mem::take(&mut self.lock().messages)
    }

    /// Notifies it that the recording began.
    pub fn begin(&self, began: Began) {
        let is_live = self.change(|state| {
            state.began = Some(began);
            state.phase == Phase::Live
        });
        if is_live {
            self.say(&ToAgent::Begin(began));
        }
    }

    /// Asks it for its facts once more; one that is connected to later sends them anyway.
    pub fn facts_anew(&self) {
        if self.phase() == Phase::Live {
            self.say(&ToAgent::Facts);
        }
    }

    /// Notifies it that the recording has ended; the rest of its rows comes then, and is taken until `until`.
    pub fn stop(&self, until: Instant) {
        let was_live = self.change(|state| {
            state.until = Some(until);
            let was_live = state.phase == Phase::Live && !state.is_lost;
            if was_live {
                state.phase = Phase::Ending;
            } else if state.phase != Phase::Ending {
                state.closed = true;
            }
            was_live
        });
        if was_live {
            self.say(&ToAgent::Stop);
        } else if self.is_closed() {
            self.input.close();
        }
    }

    /// Wants nothing more of it.
    pub fn close(&self) {
        self.change(|state| state.closed = true);
        self.input.close();
    }

    fn say(&self, message: &ToAgent) {
        let mut bytes = Vec::new();
        // Who takes no word is lost, which its thread notices.
        let _ = send(&mut bytes, message).and_then(|()| self.input.say(&bytes));
    }

    /// Waits until nothing more will come, but not longer than until `until`.
    pub fn wait_for_end(&self, until: Instant) -> Waited {
        let mut state = self.lock();
        while state.phase != Phase::Ended && !state.closed {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Waited::InVain;
            }
            if self.room.is_full(state.waiting) {
                return Waited::Full;
            }
            state = self.bell.wait_timeout(state, left).unwrap_or_else(PoisonError::into_inner).0;
        }
        if state.is_late { Waited::InVain } else { Waited::Ended }
    }

    /// Moves what has come to `rows`; `t` is now.
    pub fn take(&self, t: Micros, rows: &mut Rows) {
        let (came, events, notes) = {
            let mut state = self.lock();
            self.room.waiting.fetch_sub(std::mem::take(&mut state.waiting), Ordering::Relaxed);
            self.bell.notify_all();
            (state.rows.take(), std::mem::take(&mut state.events), std::mem::take(&mut state.notes))
        };
        rows.absorb(&came);
        let own = rows.host().to_owned();
        rows.set_host(&self.target.name);
        for (at, kind, why) in events {
            let ago = i64::try_from(at.elapsed().as_micros()).unwrap_or(0);
            rows.event(Micros(t.0 - ago), kind, &self.target.name, &why);
            rows.note("", None, &format!("{kind}: {why}"));
        }
        for note in notes {
            rows.note("", None, &note);
        }
        rows.set_host(&own);
    }

    /// Facts about the way to it.
    pub fn facts(&self, rows: &mut Rows) {
        let own = rows.host().to_owned();
        rows.set_host(&self.target.name);
        let way = command_without_secrets(&self.target.transport).join(" ");
        rows.row(&text::TABLE, None, None)
            .str(text::topic, "agent")
            .str(text::name, "transport")
            .text(text::value, way.as_str());
        rows.set_host(&own);
    }
}
