//! The threads of a server: when they look, what they do when the connection is lost, and what they cost.

use std::{
    io,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{Arc, atomic::Ordering},
    thread,
    time::{Duration, Instant},
};

use fenxi_model::{Micros, Rows, catalog::metric};
use fenxi_wire::client::ClientError;
use rustix::time::{ClockId, clock_gettime};

use super::{Connected, Heard, Poller, Sampler, Shared, heard, locked};
use crate::{moment::Interval, os::Os, reading::About, sample::Sample, server::Server};

/// The shortest and the longest pause before a lost server is tried again.
const PAUSES: (Duration, Duration) = (Duration::from_millis(100), Duration::from_secs(5));

/// Starts both threads.
pub fn spawn(
    server: &Server,
    connected: Connected,
    shared: &Arc<Shared>,
    step: Duration,
    poll: Duration,
) -> io::Result<()> {
    let Connected { sampler, poller } = connected;
    let begun = Instant::now();
    let (server_of_poller, shared_of_poller) = (server.clone(), Arc::clone(shared));
    let polling = Polling { server: server_of_poller, shared: shared_of_poller, every: poll, begun };
    thread::Builder::new().name("db-poller".to_owned()).spawn(move || polling.run(poller))?;
    let sampling = Sampling { server: server.clone(), shared: Arc::clone(shared), step, begun, random: 0x2545_f491 };
    let started = thread::Builder::new().name("db-sampler".to_owned()).spawn(move || sampling.run(sampler));
    if started.is_err() {
        shared.stop.store(true, Ordering::Release);
    }
    started.map(|_| ())
}

/// Counts the end of a thread, also when it panicked.
struct Ending(Arc<Shared>);

impl Drop for Ending {
    fn drop(&mut self) {
        self.0.advance(|stage| stage.ended += 1);
    }
}

/// CPU time of this thread so far.
fn cpu_ns() -> u64 {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

/// Tells of a loss, and tries to connect until it succeeds or all is over.
fn again<T>(server: &Server, shared: &Shared, why: &ClientError, connect: impl Fn(&Server) -> Option<T>) -> Option<T> {
    let event = |kind: &str, message: &str| {
        locked(&shared.rows).event(shared.epoch.now(), kind, server.name(), message);
    };
    event("connection lost", &why.to_string());
    let mut pause = PAUSES.0;
    while shared.sleep_until(Instant::now() + pause) {
        if let Some(connected) = connect(server) {
            event("connected", "the server answers again");
            return Some(connected);
        }
        pause = (pause * 2).min(PAUSES.1);
    }
    None
}

struct Sampling {
    server: Server,
    shared: Arc<Shared>,
    step: Duration,
    begun: Instant,
    random: u32,
}

impl Sampling {
    fn run(mut self, mut sampler: Box<dyn Sampler>) {
        let _ending = Ending(Arc::clone(&self.shared));
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
            let taken = catch_unwind(AssertUnwindSafe(|| sampler.sample(&mut sample)));
            let now = Instant::now();
            match taken {
                Ok(Ok(())) => self.keep(&sample, now, now - last),
                Ok(Err(error)) if error.is_refusal() => self.note(&format!("sessions are not sampled: {error}")),
                Ok(Err(error)) => {
                    let connect = |server: &Server| server.sampler().ok();
                    let Some(connected) = again(&self.server, &self.shared, &error, connect) else { return };
                    sampler = connected;
                }
                Err(_) => return self.note("the sampler failed unexpectedly; please report this"),
            }
            last = now;
            self.shared.cpu_ns[0].store(cpu_ns(), Ordering::Relaxed);
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
        heard::sessions(self.server.name(), sample, interval, &mut locked(&self.shared.rows));
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
}

impl Polling {
    fn run(self, mut poller: Box<dyn Poller>) {
        let _ending = Ending(Arc::clone(&self.shared));
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
            let polled = catch_unwind(AssertUnwindSafe(|| poller.poll(interval, &heard, &mut rows)));
            heard.waits(self.server.name(), interval, &mut rows);
            if let Some(os) = &mut os {
                let about = About { server: self.server.name(), interval, is_last: !goes_on };
                os.read(&about, poller.tasks(), &mut rows);
            }
            self.tell_cost(&heard, interval.t, dt, &mut rows);
            locked(&self.shared.rows).append(&rows, Micros(0));
            self.shared.advance(|stage| stage.has_polled = true);
            self.shared.cpu_ns[1].store(cpu_ns(), Ordering::Relaxed);
            match polled {
                _ if !goes_on => return,
                Ok(Ok(())) => last = Some(now),
                Ok(Err(error)) => {
                    let connect = |server: &Server| server.poller().ok();
                    let Some(connected) = again(&self.server, &self.shared, &error, connect) else { return };
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
