//! Samples at the recorder's ticks, stamped by the recorder's clock.

use std::time::{Duration, Instant};

use fenxi_model::{
    Micros, Rows,
    catalog::{agent, text},
};
use fenxi_record::{Sampling, StepWatch, choose, missed};
use fenxi_source::Root;
use rustix::time::{ClockId, clock_gettime};

use super::{AgentError, Shared, talk::FIRST_PINGS};
use crate::{
    clock::Estimate,
    frame::{AgentMessage, Began, Order},
};

/// The smallest part of an interval that a last sample covers, as in the recorder.
const SHORT: f64 = 0.1;
/// How long the first exchanges may take before sampling begins with what is known.
const PATIENCE: Duration = Duration::from_secs(5);

/// Samples as ordered until it is asked to stop, or the recorder is gone.
///
/// # Errors
/// When it cannot do it, or the recorder has gone.
pub fn run(shared: &Shared, root: &Root) -> Result<(), AgentError> {
    if !shared.wait(None, |state| state.order.is_some()) {
        return gone(shared);
    }
    let Some(order) = shared.lock().order.clone() else { return gone(shared) };
    let mut rows = Rows::new(&order.host);
    let started = order
        .wrong()
        .map_or(Ok(()), Err)
        .and_then(|()| choose(&order.sources))
        .and_then(|sources| Sampling::start(&sources, root, &mut rows).map_err(|error| error.to_string()));
    let mut sampling = match started {
        Ok(sampling) => sampling,
        Err(why) => {
            shared.change(|state| {
                state.word = Some(AgentMessage::Refused { why: why.clone() });
                state.is_done = true;
            });
            shared.wait(Some(Instant::now() + PATIENCE), |state| state.is_said);
            return Err(AgentError::Refused(why));
        }
    };
    shared.wait(Some(Instant::now() + PATIENCE), |state| state.follower.len() >= FIRST_PINGS);
    // Facts cost most, and are read before the recording begins; when that is, is not known yet.
    let mut early = Rows::new(&order.host);
    let own = shared.clock.steady_ns();
    let offset = shared.lock().follower.at(own).map_or(0, |estimate| estimate.offset_ns);
    sampling.facts(Micros((own + offset) / 1000), &mut early);
    shared.change(|state| state.word = Some(AgentMessage::Ready));
    if !shared.wait(None, |state| state.began.is_some() || state.stop) {
        return gone(shared);
    }
    if let Some(began) = { shared.lock().began } {
        rows.append(&early, Micros(began.wall_us - began.steady_ns / 1000));
        Agent::new(shared, order, began, sampling, rows).run();
    }
    shared.change(|state| state.is_done = true);
    if shared.wait(None, |state| state.is_said) { Ok(()) } else { gone(shared) }
}

fn gone(shared: &Shared) -> Result<(), AgentError> {
    let why = shared.lock().gone.clone().unwrap_or_default();
    Err(AgentError::Lost(std::io::Error::other(why)))
}

/// An agent at work.
struct Agent<'a> {
    shared: &'a Shared,
    order: Order,
    began: Began,
    sampling: Sampling,
    rows: Rows,
    /// The last moment that was sent: stamps do not go back where the clock is corrected.
    last_t: Micros,
    last_tick: Instant,
    steps: StepWatch,
    cpu_s: f64,
    sent_bytes: u64,
    dropped: u64,
}

impl<'a> Agent<'a> {
    fn new(shared: &'a Shared, order: Order, began: Began, sampling: Sampling, rows: Rows) -> Agent<'a> {
        let (wall, steady) = shared.clock.both_ns();
        Agent {
            shared,
            order,
            began,
            sampling,
            rows,
            last_t: Micros(began.wall_us),
            last_tick: Instant::now(),
            steps: StepWatch::new(Micros(wall / 1000), steady as f64 / 1e9),
            cpu_s: cpu_s(),
            sent_bytes: 0,
            dropped: 0,
        }
    }

    /// Samples until the end.
    fn run(mut self) {
        let t = self.now().1;
        self.last_tick = Instant::now();
        self.sampling.first(t, &mut self.rows);
        self.about();
        self.hand_over(t);
        let interval = self.order.interval_s;
        let mut n = ((self.elapsed_s() / interval).floor().max(0.0) as u64).saturating_add(1);
        let mut is_over = false;
        while self.wait_until(n as f64 * interval) {
            is_over = self.order.duration_s.is_some_and(|end| n as f64 * interval >= end - interval * 1e-6);
            self.tick(is_over);
            if is_over {
                // The recorder's last sample is of the same moment: nothing more is to come but its word.
                self.shared.wait(None, |state| state.stop);
                break;
            }
            n = self.next(n);
        }
        if self.shared.lock().gone.is_some() {
            return;
        }
        if !is_over {
            self.last_sample();
        }
        let t = self.now().1;
        self.sampling.facts(t, &mut self.rows);
        self.hand_over(t);
    }

    /// Samples the rest of the interval, if it is long enough to mean anything.
    fn last_sample(&mut self) {
        let smallest = Duration::from_secs_f64(self.order.interval_s * SHORT);
        if self.sampling.reads_at_end() {
            std::thread::sleep(smallest.saturating_sub(self.last_tick.elapsed()));
        }
        if self.last_tick.elapsed() >= smallest {
            self.tick(true);
        }
    }

    /// Seconds since the recording began.
    fn elapsed_s(&self) -> f64 {
        (self.recorder_ns(self.shared.clock.steady_ns()).0 - self.began.steady_ns) as f64 / 1e9
    }

    /// The recorder's monotonic clock when ours shows `own`, and what is known of it.
    fn recorder_ns(&self, own: i64) -> (i64, Option<Estimate>) {
        let estimate = self.shared.lock().follower.at(own);
        (own + estimate.map_or(0, |estimate| estimate.offset_ns), estimate)
    }

    /// Our wall clock in seconds ahead of the recorder's, the recorder's time, and what is known of its clock.
    fn now(&mut self) -> (f64, Micros, Option<Estimate>) {
        let (wall, own) = self.shared.clock.both_ns();
        let (recorder, estimate) = self.recorder_ns(own);
        let t = Micros(self.began.wall_us + (recorder - self.began.steady_ns) / 1000);
        self.last_t = Micros(t.0.max(self.last_t.0 + 1));
        ((wall / 1000 - t.0) as f64 / 1e6, self.last_t, estimate)
    }

    /// Waits for the moment so many seconds after the beginning; false when it is to end before.
    fn wait_until(&self, elapsed_s: f64) -> bool {
        loop {
            let own = self.shared.clock.steady_ns();
            let offset = self.recorder_ns(own).0 - own;
            let deadline = self.began.steady_ns.saturating_add((elapsed_s * 1e9).round() as i64).saturating_sub(offset);
            let left = self.shared.clock.until_ns(deadline);
            if left <= 0 {
                let state = self.shared.lock();
                return !state.stop && state.gone.is_none();
            }
            // The estimate of the clock may change meanwhile.
            let until = Instant::now() + Duration::from_nanos(left.unsigned_abs()).min(Duration::from_secs(10));
            if self.shared.wait(Some(until), |state| state.stop) || self.shared.lock().gone.is_some() {
                return false;
            }
        }
    }

    fn tick(&mut self, is_last: bool) {
        let (ahead_s, t, estimate) = self.now();
        let now = Instant::now();
        let dt = (now - std::mem::replace(&mut self.last_tick, now)).as_secs_f64();
        let (wall, steady) = self.shared.clock.both_ns();
        if let Some(step) = self.steps.step(Micros(wall / 1000), steady as f64 / 1e9) {
            let text = format!(
                "the wall clock of this host stepped by {step:+.3} s against its monotonic clock; timestamps of the run do not follow it"
            );
            self.rows.event(t, "clock step", "agent", &text);
        }
        if is_last {
            self.sampling.last(t, &mut self.rows);
        } else {
            self.sampling.tick(t, &mut self.rows);
        }
        self.own_row(t, dt, ahead_s, estimate);
        if std::mem::take(&mut self.shared.lock().facts) {
            self.sampling.facts_anew(t, &mut self.rows);
            self.about();
        }
        self.hand_over(t);
    }

    /// Adds the row about this agent itself, with events and notes.
    fn own_row(&mut self, t: Micros, dt: f64, ahead_s: f64, estimate: Option<Estimate>) {
        let (sent, waiting, dropped, stepped, lost, impossible) = {
            let mut state = self.shared.lock();
            let lost = state.queue.take_dropped();
            let impossible = std::mem::take(&mut state.impossible);
            (state.sent_bytes, state.queue.len(), state.queue.dropped_in_all, state.stepped.take(), lost, impossible)
        };
        if let Some(step) = stepped {
            let text = format!(
                "the monotonic clock of this host stopped or jumped: the recorder's moved by {step:+.3} s against it"
            );
            self.rows.event(t, "clock step", "agent", &text);
        }
        if impossible > 0 {
            self.rows.set_source("agent");
            let text = format!(
                "{impossible} answers of the recorder about its clock were left out: no clock can have given them"
            );
            self.rows.note("", None, &text);
        }
        if let Some((count, from)) = lost {
            let text =
                format!("{count} samples from {} on were dropped: the link is too slow for too long", from.iso());
            self.rows.set_source("agent");
            self.rows.note("", None, &text);
        }
        let cpu = cpu_s();
        let sent_bytes = (sent - std::mem::replace(&mut self.sent_bytes, sent)) as f64;
        let dropped = (dropped - std::mem::replace(&mut self.dropped, dropped)) as f64;
        let mut row = self.rows.row(&agent::TABLE, t, dt);
        row.f64(agent::sent_bytes_per_s, sent_bytes / dt)
            .f64(agent::waiting, waiting as f64)
            .f64(agent::dropped, dropped)
            .f64(agent::cpu_pct, 100.0 * (cpu - std::mem::replace(&mut self.cpu_s, cpu)) / dt);
        if let Some(estimate) = estimate {
            row.f64(agent::clock_offset_s, ahead_s)
                .f64(agent::clock_uncertainty_s, estimate.uncertainty_s)
                .f64(agent::clock_drift_s_per_s, estimate.drift)
                .f64(agent::round_trip_s, estimate.round_trip_s);
        }
    }

    /// Facts about the program that samples.
    fn about(&mut self) {
        let uname = rustix::system::uname();
        let program = std::env::current_exe().map(|path| path.display().to_string()).unwrap_or_default();
        let facts = [
            ("node name", uname.nodename().to_string_lossy().into_owned()),
            ("user id", rustix::process::getuid().as_raw().to_string()),
            ("program", program),
        ];
        for (name, value) in facts {
            let mut row = self.rows.row(&text::TABLE, None, None);
            row.str(text::topic, "agent").str(text::name, name).text(text::value, value.as_str());
        }
    }

    fn hand_over(&mut self, t: Micros) {
        if !self.rows.is_empty() {
            let rows = self.rows.take();
            self.shared.change(|state| state.queue.push(t, rows));
        }
    }

    /// The number of the next tick; what passed more than half an interval ago was missed.
    fn next(&mut self, n: u64) -> u64 {
        let missed = missed(self.elapsed_s(), self.order.interval_s, n + 1);
        if missed > 0 {
            let text = format!("{missed} planned since {} not taken: sampling took too long", self.last_t.iso());
            self.rows.event(self.last_t, "missed tick", "agent", &text);
        }
        n + missed + 1
    }
}

/// CPU seconds that this process has used.
fn cpu_s() -> f64 {
    let used = clock_gettime(ClockId::ProcessCPUTime);
    used.tv_sec as f64 + used.tv_nsec as f64 / 1e9
}
