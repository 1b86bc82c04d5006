//! The threads of a server: when they look, what they do when the connection is lost, and what they cost.

use std::{
    io,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{Arc, atomic::Ordering},
    thread,
    time::{Duration, Instant},
};

use fenxi_model::{Micros, Rows, catalog::metric};
use fenxi_sys::clock;
use fenxi_wire::client::ClientError;

use super::{Heard, MOST_SESSIONS, Shared, heard, locked};
use crate::{
    moment::Interval,
    observer::{Poller, Sampler},
    os::Os,
    reading::About,
    sample::Sample,
    server::{Server, ServerError},
};

/// The shortest and the longest pause before a lost server is tried again.
const PAUSES: (Duration, Duration) = (Duration::from_millis(100), Duration::from_secs(5));

/// Starts the thread that connects and polls, which starts the one that samples.
pub fn spawn(server: &Server, shared: &Arc<Shared>, step: Duration, poll: Duration) -> io::Result<()> {
    let (server, shared) = (server.clone(), Arc::clone(shared));
    let poll = move || {
        let _ending = Ending::of(&shared);
        let connected = connect(&server, &shared, step);
        match connected {
            Ok((poller, begun)) => Polling { server, shared, every: poll, begun, pause: PAUSES.0 }.run(poller),
            Err(error) => shared.refuse(&error),
        }
    };
    thread::Builder::new().name("db-poller".to_owned()).spawn(poll).map(|_| ())
}

/// Connects both, and lets the sampler begin.
fn connect(server: &Server, shared: &Arc<Shared>, step: Duration) -> Result<(Box<dyn Poller>, Instant), ServerError> {
    let (sampler, poller) = (server.sampler()?, server.poller()?);
    let begun = Instant::now();
    let sampling = Sampling {
        server: server.clone(),
        shared: Arc::clone(shared),
        step,
        begun,
        pause: PAUSES.0,
        random: 0x2545_f491,
    };
    let ending = Ending::of(shared);
    let sample = move || {
        let _ending = ending;
        sampling.run(sampler);
    };
    let started = thread::Builder::new().name("db-sampler".to_owned()).spawn(sample);
    started.map_err(|error| ServerError::Unfit {
        server: server.name().to_owned(),
        why: format!("no thread can be started: {error}"),
    })?;
    Ok((poller, begun))
}

/// Counts the end of a thread, also when it panicked.
struct Ending(Arc<Shared>);

impl Ending {
    fn of(shared: &Arc<Shared>) -> Ending {
        shared.advance(|stage| stage.begun += 1);
        Ending(Arc::clone(shared))
    }
}

impl Drop for Ending {
    fn drop(&mut self) {
        self.0.advance(|stage| stage.ended += 1);
    }
}

/// Reports a loss, and tries to connect until it succeeds or all is over. `pause` grows with each attempt: who is let in
/// and gets no answer that is one is asked as seldom as who is not let in.
fn again<T>(
    (server, shared): (&Server, &Shared),
    why: &ClientError,
    pause: &mut Duration,
    connect: impl Fn(&Server) -> Option<T>,
) -> Option<T> {
    let event = |kind: &str, message: &str| {
        locked(&shared.rows).event(shared.epoch.now(), kind, server.name(), message);
    };
    event("connection lost", &why.to_string());
    while shared.sleep_until(Instant::now() + *pause) {
        *pause = (*pause * 2).min(PAUSES.1);
        if let Some(connected) = connect(server) {
            event("connected", "the server answers again");
            return Some(connected);
        }
    }
    None
}

struct Sampling {
    server: Server,
    shared: Arc<Shared>,
    step: Duration,
    begun: Instant,
    pause: Duration,
    random: u32,
}

impl Sampling {
    fn run(mut self, mut sampler: Box<dyn Sampler>) {
        if !sampler.looks() {
            return;
        }
        let mut sample = Sample::default();
        let (mut n, mut last) = (0_u32, self.begun);
        loop {
            n += 1;
            // Against loads that beat in time with the sampler, each look is up to a tenth of the step late.
            let jitter = self.step.mul_f64(f64::from(self.next_random()) / f64::from(u32::MAX) / 10.0);
            if !self.shared.sleep_until(self.begun + self.step * n + jitter) {
                return;
            }
            sample.clear();
            self.server.allow_sample();
            let taken = catch_unwind(AssertUnwindSafe(|| sampler.sample(&mut sample)));
            let now = Instant::now();
            match taken {
                Ok(Ok(())) => {
                    self.pause = PAUSES.0;
                    self.keep(&sample, now, now - last);
                }
                Ok(Err(error)) if error.is_refusal() => self.note(&format!("sessions are not sampled: {error}")),
                Ok(Err(error)) => {
                    let connect = |server: &Server| server.sampler().ok();
                    let whose = (&self.server, &*self.shared);
                    let Some(connected) = again(whose, &error, &mut self.pause, connect) else { return };
                    sampler = connected;
                }
                Err(_) => return self.note("the sampler failed unexpectedly; please report this"),
            }
            last = now;
            self.shared.cpu_ns[0].store(clock::thread_cpu_ns(), Ordering::Relaxed);
            let due =
                u32::try_from((self.begun.elapsed().as_nanos() / self.step.as_nanos().max(1)).max(1)).unwrap_or(n);
            if due > n {
                locked(&self.shared.heard).late += due - n;
                n = due;
            }
        }
    }

    fn keep(&self, sample: &Sample, now: Instant, since: Duration) {
        let interval = Interval { t: self.shared.epoch.at(now), dt: Some(since.as_secs_f64()) };
        let held = self.shared.sessions.fetch_add(heard::bytes(sample), Ordering::Relaxed);
        if held < MOST_SESSIONS {
            heard::sessions(self.server.name(), sample, interval, &mut locked(&self.shared.rows));
        } else if !self.shared.has_left_out.swap(true, Ordering::Relaxed) {
            self.note("more sessions were seen between two intervals than are kept: some have no rows, and count in sums only");
        }
        locked(&self.shared.heard).add(sample);
    }

    fn note(&self, message: &str) {
        note(&self.shared, &self.server, message);
    }

    /// Marsaglia's xorshift; nothing hangs on its quality.
    fn next_random(&mut self) -> u32 {
        self.random ^= self.random << 13;
        self.random ^= self.random >> 17;
        self.random ^= self.random << 5;
        self.random
    }
}

fn note(shared: &Shared, server: &Server, message: &str) {
    let mut rows = locked(&shared.rows);
    rows.set_source("db");
    rows.note(server.name(), None, message);
}

struct Polling {
    server: Server,
    shared: Arc<Shared>,
    every: Duration,
    begun: Instant,
    pause: Duration,
}

impl Polling {
    fn run(mut self, mut poller: Box<dyn Poller>) {
        let mut os = Os::find(&self.server);
        let mut last: Option<Instant> = None;
        let mut n = 0_u32;
        loop {
            let goes_on = n == 0 || self.shared.sleep_until(self.begun + self.every * n);
            if !goes_on {
                poller.hurry();
            }
            let heard = std::mem::take(&mut *locked(&self.shared.heard));
            let now = Instant::now();
            let dt = last.map(|last| (now - last).as_secs_f64());
            let interval = Interval { t: self.shared.epoch.at(now), dt };
            let mut rows = Rows::new("");
            rows.set_source("db");
            self.server.allow_poll();
            let polled = catch_unwind(AssertUnwindSafe(|| poller.poll(interval, &heard, &mut rows)));
            heard.waits(self.server.name(), interval, &mut rows);
            if let Some(os) = &mut os {
                let about = About { server: self.server.name(), interval, is_last: !goes_on };
                os.read(&about, poller.tasks(), &mut rows);
            }
            self.tell_cost(&heard, interval.t, dt, &mut rows);
            locked(&self.shared.rows).append(&rows, Micros(0));
            self.shared.advance(|stage| stage.has_polled = true);
            self.shared.cpu_ns[1].store(clock::thread_cpu_ns(), Ordering::Relaxed);
            match polled {
                _ if !goes_on => return,
                Ok(Ok(())) => {
                    self.pause = PAUSES.0;
                    last = Some(now);
                }
                Ok(Err(error)) => {
                    let connect = |server: &Server| server.poller().ok();
                    let whose = (&self.server, &*self.shared);
                    let Some(connected) = again(whose, &error, &mut self.pause, connect) else { return };
                    poller = connected;
                    // Its counters are of another time: the first reading only remembers them.
                    last = None;
                    os = Os::find(&self.server);
                }
                Err(_) => {
                    return note(&self.shared, &self.server, "the poller failed unexpectedly; please report this");
                }
            }
            n = u32::try_from(self.begun.elapsed().as_nanos() / self.every.as_nanos().max(1)).unwrap_or(n).max(n) + 1;
        }
    }

    /// How many looks at sessions were missed.
    fn tell_cost(&self, heard: &Heard, t: Micros, dt: Option<f64>, rows: &mut Rows) {
        let Some(dt) = dt.filter(|_| heard.late > 0) else { return };
        rows.row(&metric::TABLE, t, dt)
            .str(metric::name, "db_poller_late")
            .str(metric::labels, format!("server={}", self.server.name()).as_str())
            .f64(metric::value, f64::from(heard.late));
    }
}
