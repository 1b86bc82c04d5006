//! Connection limits: who is connected, and who is evicted for others.
//!
//! A client may be slow, but neither for ever nor at the cost of others. Every connection and every request has a place
//! here, with what is waited for. A client that is waited for longer than is allowed is cut off; when all places are
//! taken, the one that was waited for longest makes room for who comes, so that those who ask are heard however many
//! are silent.

use std::{
    collections::BTreeMap,
    net::IpAddr,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, AtomicUsize, Ordering},
    },
    time::{Duration, Instant},
};

use tokio_util::sync::CancellationToken;

use crate::client_timeout::Request;

/// Time between two looks for clients that are overdue.
const LOOK: Duration = Duration::from_millis(500);
/// Time between asking a client to go and closing its connection.
const PARTING: Duration = Duration::from_secs(5);
/// The part of all connections that one other machine may have.
const SHARE: usize = 4;
/// Connections that are open beyond the bound because those that made room have not gone yet.
const OVERHANG: usize = 64;
/// How much longer a client may be waited for that has asked for something than one that has not.
const ASKED: f64 = 4.0;

/// Limits of connections and requests.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Bounds {
    /// Connections at the same time.
    pub(crate) connections: usize,
    /// Requests at the same time.
    pub(crate) requests: usize,
    /// Time from the begin of a connection to its first request, encryption included.
    pub(crate) arrival: Duration,
    /// Time between two requests of a connection.
    pub(crate) idle: Duration,
    /// Time for which a request may wait for its client.
    pub(crate) patience: Duration,
}

/// The origin of a client, as far as addresses distinguish one from another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Household {
    /// This machine: all its users have the same address, or any that they like.
    Here,
    /// An IPv4 address.
    V4(u32),
    /// The network of an IPv6 address: who has one address has all of it.
    V6(u64),
}

impl Household {
    pub(crate) fn of(ip: IpAddr) -> Household {
        match ip.to_canonical() {
            ip if ip.is_loopback() => Household::Here,
            IpAddr::V4(ip) => Household::V4(ip.to_bits()),
            IpAddr::V6(ip) => Household::V6((ip.to_bits() >> 64) as u64),
        }
    }
}

/// All that are connected.
pub(crate) struct House {
    bounds: Bounds,
    begun: Instant,
    guests: Mutex<Guests>,
    number: AtomicU64,
    /// Open connections, with those that were asked to go.
    open: AtomicUsize,
    requests: AtomicUsize,
    /// Connections that made room or were refused, and requests that did.
    turned_away: AtomicU64,
}

#[derive(Default)]
struct Guests {
    /// By number, and so by the time they came.
    all: BTreeMap<u64, Arc<Guest>>,
    of: BTreeMap<Household, usize>,
}

impl Guests {
    fn remove(&mut self, number: u64) {
        let Some(guest) = self.all.remove(&number) else { return };
        if let Some(n) = self.of.get_mut(&guest.household) {
            *n -= 1;
            if *n == 0 {
                self.of.remove(&guest.household);
            }
        }
    }
}

/// A connection.
pub(crate) struct Guest {
    number: u64,
    household: Household,
    arrived: Instant,
    /// Closes the connection, whatever it does.
    pub(crate) go: CancellationToken,
    /// Asks the client to go: nothing more is begun.
    pub(crate) leave: CancellationToken,
    state: Mutex<State>,
    /// Milliseconds from the house's begin to when a write had to wait, and one more; 0 when none waits.
    blocked: AtomicU64,
}

struct State {
    has_asked: bool,
    idle_since: Instant,
    asked_to_go: Option<Instant>,
    requests: Vec<Arc<Request>>,
}

/// State of a connection.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Doing {
    /// It has not asked for anything yet.
    Arriving(Instant),
    /// It asks for nothing.
    Idle(Instant),
    /// Its client is waited for.
    Stalled(Instant),
    /// The server works for it.
    Working,
}

impl Guest {
    fn doing(&self, begun: Instant) -> Doing {
        let state = locked(&self.state);
        if !state.has_asked {
            return Doing::Arriving(self.arrived);
        }
        if state.requests.is_empty() {
            return self.blocked(begun).map_or(Doing::Idle(state.idle_since), Doing::Stalled);
        }
        // As long as one of its requests goes on, the connection does.
        let all: Option<Vec<Instant>> = state.requests.iter().map(|r| r.stalled()).collect();
        all.and_then(|all| all.into_iter().max()).map_or(Doing::Working, Doing::Stalled)
    }

    /// Since when its socket takes nothing.
    fn blocked(&self, begun: Instant) -> Option<Instant> {
        let ms = self.blocked.load(Ordering::Relaxed).checked_sub(1)?;
        Some(begun + Duration::from_millis(ms))
    }

    /// How urgently it should make room: the time it was waited for, more where it has never asked for anything.
    fn weight(&self, begun: Instant, now: Instant) -> Option<f64> {
        let waited = |since: Instant| now.saturating_duration_since(since).as_secs_f64();
        match self.doing(begun) {
            Doing::Arriving(since) | Doing::Idle(since) => Some(waited(since)),
            Doing::Stalled(since) => Some(waited(since) / ASKED),
            Doing::Working => None,
        }
    }
}

impl House {
    pub(crate) fn new(bounds: Bounds) -> Arc<House> {
        Arc::new(House {
            bounds,
            begun: Instant::now(),
            guests: Mutex::default(),
            number: AtomicU64::new(0),
            open: AtomicUsize::new(0),
            requests: AtomicUsize::new(0),
            turned_away: AtomicU64::new(0),
        })
    }

    /// Open connections, requests at work, and how many made room or were refused.
    pub(crate) fn load(&self) -> (usize, usize, u64) {
        let (open, requests) = (self.open.load(Ordering::Relaxed), self.requests.load(Ordering::Relaxed));
        (open, requests, self.turned_away.load(Ordering::Relaxed))
    }

    /// Whether those that were asked to go have yet to do so before more can come.
    pub(crate) fn is_overfull(&self) -> bool {
        self.open.load(Ordering::Relaxed) >= self.bounds.connections + OVERHANG
    }

    /// A place for a connection from `ip`; None when there is none and none can make room.
    pub(crate) fn admit(self: &Arc<House>, ip: IpAddr, now: Instant) -> Option<Seat> {
        let household = Household::of(ip);
        let share = match household {
            Household::Here => self.bounds.connections,
            _ => (self.bounds.connections / SHARE).max(1),
        };
        let mut guests = locked(&self.guests);
        let has_room = if guests.of.get(&household).is_some_and(|n| *n >= share) {
            self.make_room(&mut guests, Some(household), now)
        } else {
            guests.all.len() < self.bounds.connections || self.make_room(&mut guests, None, now)
        };
        if !has_room {
            self.turned_away.fetch_add(1, Ordering::Relaxed);
            return None;
        }
        let guest = Arc::new(Guest {
            number: self.number.fetch_add(1, Ordering::Relaxed),
            household,
            arrived: now,
            go: CancellationToken::new(),
            leave: CancellationToken::new(),
            state: Mutex::new(State { has_asked: false, idle_since: now, asked_to_go: None, requests: Vec::new() }),
            blocked: AtomicU64::new(0),
        });
        guests.all.insert(guest.number, Arc::clone(&guest));
        *guests.of.entry(household).or_default() += 1;
        self.open.fetch_add(1, Ordering::Relaxed);
        Some(Seat { house: Arc::clone(self), guest })
    }

    /// Lets one connection make room, of `household` if it is given; false when all are at work.
    fn make_room(&self, guests: &mut Guests, household: Option<Household>, now: Instant) -> bool {
        let among = guests.all.values().filter(|g| household.is_none_or(|h| g.household == h));
        let weighed = among.filter_map(|guest| {
            // Who has many connections gives one up before who has few.
            let many = guests.of.get(&guest.household).map_or(1.0, |n| *n as f64);
            Some((guest.weight(self.begun, now)? * many, guest.number))
        });
        let Some((_, number)) = weighed.max_by(|a, b| a.0.total_cmp(&b.0)) else { return false };
        if let Some(guest) = guests.all.get(&number) {
            guest.go.cancel();
        }
        guests.remove(number);
        self.turned_away.fetch_add(1, Ordering::Relaxed);
        true
    }

    /// Lets a connection make room because the system has none for another.
    pub(crate) fn relieve(&self) {
        self.make_room(&mut locked(&self.guests), None, Instant::now());
    }

    /// A turn for a request of `guest`; None when there are too many and none of them waits for its client.
    pub(crate) fn begin(self: &Arc<House>, guest: &Arc<Guest>) -> Option<Turn> {
        let now = Instant::now();
        if self.requests.fetch_add(1, Ordering::Relaxed) >= self.bounds.requests && !self.drop_longest(now) {
            self.requests.fetch_sub(1, Ordering::Relaxed);
            self.turned_away.fetch_add(1, Ordering::Relaxed);
            return None;
        }
        let request = Arc::new(Request::default());
        let mut state = locked(&guest.state);
        state.has_asked = true;
        state.requests.push(Arc::clone(&request));
        drop(state);
        Some(Turn { house: Arc::clone(self), guest: Arc::clone(guest), request })
    }

    /// Cuts off the request that has waited for its client for longest; false when none waits.
    fn drop_longest(&self, now: Instant) -> bool {
        let waits = |r: &Arc<Request>| Some((r.counted_stalled()?, Arc::clone(r)));
        let all: Vec<Arc<Guest>> = locked(&self.guests).all.values().cloned().collect();
        let longest = all.iter().filter_map(|guest| {
            let state = locked(&guest.state);
            state.requests.iter().filter_map(waits).min_by_key(|(since, _)| *since)
        });
        let Some((_, request)) = longest.min_by_key(|(since, _)| *since) else { return false };
        self.cut(&request, now);
        self.turned_away.fetch_add(1, Ordering::Relaxed);
        true
    }

    /// Cuts off all requests that have waited for their clients for `since` or longer: what they hold is needed.
    pub(crate) fn drop_stalled(&self, since: Duration) {
        let now = Instant::now();
        let all: Vec<Arc<Guest>> = locked(&self.guests).all.values().cloned().collect();
        for guest in all {
            let requests = locked(&guest.state).requests.clone();
            let stalled = |r: &&Arc<Request>| r.counted_stalled().is_some_and(|s| now.duration_since(s) >= since);
            for request in requests.iter().filter(stalled) {
                self.cut(request, now);
            }
        }
    }

    fn cut(&self, request: &Request, now: Instant) {
        request.cut(now);
        self.uncount(request);
    }

    fn uncount(&self, request: &Request) {
        if request.uncount() {
            self.requests.fetch_sub(1, Ordering::Relaxed);
        }
    }

    /// Cuts off who is waited for longer than is allowed, for as long as the house lives.
    pub(crate) async fn watch(self: Arc<House>) {
        let mut look = tokio::time::interval(LOOK);
        loop {
            look.tick().await;
            self.sweep(Instant::now());
        }
    }

    fn sweep(&self, now: Instant) {
        let all: Vec<Arc<Guest>> = locked(&self.guests).all.values().cloned().collect();
        let gone: Vec<u64> = all.iter().filter(|guest| self.is_overdue(guest, now)).map(|guest| guest.number).collect();
        let mut guests = locked(&self.guests);
        for number in gone {
            if let Some(guest) = guests.all.get(&number) {
                guest.go.cancel();
            }
            guests.remove(number);
        }
    }

    /// Whether a connection has to be closed; cuts off its requests and asks it to go where that is enough.
    fn is_overdue(&self, guest: &Guest, now: Instant) -> bool {
        let Bounds { arrival, idle, patience, .. } = self.bounds;
        let passed = |since: Instant, allowed: Duration| now.saturating_duration_since(since) > allowed;
        if guest.blocked(self.begun).is_some_and(|since| passed(since, patience)) {
            return true;
        }
        match guest.doing(self.begun) {
            Doing::Arriving(since) => passed(since, arrival),
            Doing::Idle(since) | Doing::Stalled(since) if locked(&guest.state).requests.is_empty() => {
                let mut state = locked(&guest.state);
                if let Some(asked) = state.asked_to_go {
                    return passed(asked, PARTING);
                }
                if passed(since, idle) {
                    state.asked_to_go = Some(now);
                    guest.leave.cancel();
                }
                false
            }
            _ => {
                let requests = locked(&guest.state).requests.clone();
                for request in requests.iter().filter(|r| r.is_overdue(now, patience)) {
                    self.cut(request, now);
                }
                // A client that takes none of its answers will not take the end of one either.
                let is_gone = |r: &Arc<Request>| r.cut_since().is_some_and(|since| passed(since, PARTING));
                !requests.is_empty() && requests.iter().all(is_gone)
            }
        }
    }
}

impl Guest {
    /// Its socket takes nothing at the moment.
    pub(crate) fn write_waits(&self, house: &House) {
        let ms = house.begun.elapsed().as_millis() as u64 + 1;
        // The first time counts.
        let _ = self.blocked.compare_exchange(0, ms, Ordering::Relaxed, Ordering::Relaxed);
    }

    /// Its socket took something.
    pub(crate) fn write_goes_on(&self) {
        self.blocked.store(0, Ordering::Relaxed);
    }
}

/// The place of a connection, given up when it is dropped.
pub(crate) struct Seat {
    pub(crate) house: Arc<House>,
    pub(crate) guest: Arc<Guest>,
}

impl Drop for Seat {
    fn drop(&mut self) {
        locked(&self.house.guests).remove(self.guest.number);
        self.house.open.fetch_sub(1, Ordering::Relaxed);
    }
}

/// The place of a request, given up when it is dropped.
pub(crate) struct Turn {
    house: Arc<House>,
    guest: Arc<Guest>,
    pub(crate) request: Arc<Request>,
}

impl Drop for Turn {
    fn drop(&mut self) {
        self.house.uncount(&self.request);
        let mut state = locked(&self.guest.state);
        state.requests.retain(|r| !Arc::ptr_eq(r, &self.request));
        state.idle_since = Instant::now();
    }
}

pub(crate) fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests;
