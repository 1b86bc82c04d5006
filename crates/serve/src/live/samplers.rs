//! The active samplers, shared by all listeners.

use std::{
    collections::{BTreeMap, VecDeque},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use tokio::sync::broadcast;

use super::values::Tick;

/// Ticks that a slow listener may be behind; then it misses some.
const BEHIND: usize = 8;
/// Past ticks that a new listener gets.
const PAST: usize = 600;
/// Ticks that are sampled on after the last listener has gone: a listener that changes pages misses nothing.
const LINGER: u32 = 120;

/// An event for all listeners: its name and its data.
pub(super) type Told = (&'static str, Arc<str>);

/// The source that is sampled; None for all that are marked as live.
pub(super) type Key = Option<&'static str>;

/// An active sampler.
pub(super) struct Sampler {
    pub(super) sender: broadcast::Sender<Told>,
    /// Its latest ticks: milliseconds since the epoch, and their text.
    pub(super) past: VecDeque<(f64, Arc<str>)>,
    /// Ticks since the last listener has gone.
    unheard: u32,
}

impl Sampler {
    pub(super) fn new() -> Sampler {
        Sampler { sender: broadcast::channel(BEHIND).0, past: VecDeque::new(), unheard: 0 }
    }

    /// Whether it is to go on, now that another tick is there.
    pub(super) fn is_wanted(&mut self, key: Key) -> bool {
        self.unheard = if self.sender.receiver_count() > 0 { 0 } else { self.unheard + 1 };
        self.unheard == 0 || (key.is_none() && self.unheard <= LINGER)
    }

    pub(super) fn tell(&mut self, tick: &Tick, key: Key) {
        let text: Arc<str> = tick.text().into();
        if key.is_none() {
            self.past.push_back((tick.t_ms, Arc::clone(&text)));
            self.past.drain(..self.past.len().saturating_sub(PAST));
        }
        let _ = self.sender.send(("tick", text));
    }
}

/// The samplers at work.
pub(super) type AtWork = BTreeMap<Key, Sampler>;

/// The active samplers, shared by all listeners.
#[derive(Default)]
pub(crate) struct Samplers(Mutex<AtWork>);

impl Samplers {
    pub(super) fn lock(&self) -> MutexGuard<'_, AtWork> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
