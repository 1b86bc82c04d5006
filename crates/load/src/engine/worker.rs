//! One thread of a load: phases of a run, intervals, and scheduled starts.

use std::{
    cmp::Reverse,
    collections::{BinaryHeap, VecDeque},
    io,
    os::fd::OwnedFd,
    sync::{atomic::Ordering, mpsc::Sender},
    time::Duration,
};

use rustix::{
    event::{Timespec, epoll},
    time::{Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, timerfd_create, timerfd_settime},
};

use super::{
    Plan, Share, Shared,
    connection::{Connection, Phase},
    gather::PartMessage,
};
use crate::{policy::Failure, random::Random, schedule::Cursor, tally::Tally};
use fenxi_procfs::schedstat;
use fenxi_sys::clock;
use fenxi_wire::target::Target;

/// Sockets that a thread connects at the same time: less than what a server's queue of new connections holds.
pub(super) const MAX_DIALING: usize = 64;
/// The longest sleep: the flag to stop is looked at in between.
const LONGEST_SLEEP_NS: u64 = 50_000_000;
/// The timeouts of epoll are of whole milliseconds: what is due before the next one has an alarm.
const EPOLL_STEP_NS: u64 = 1_000_000;
/// Data of an event of the alarm, in place of the number of a connection.
const ALARM: u64 = u64::MAX;
/// How long connections are kept for who still looks at the server.
const LONGEST_WAIT_NS: u64 = 1_000_000_000;
/// Events that the kernel reports at once.
const EVENTS: usize = 256;

/// Stage of the run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stage {
    /// Connections are made; nothing is counted.
    Opening,
    /// Transactions are begun.
    Measuring,
    /// Those under way are waited for.
    Draining,
}

/// A thread's own part of a run.
pub(super) struct Worker<'a> {
    pub plan: &'a Plan,
    /// Who logs in, at the plan's address.
    pub target: Target,
    pub shared: &'a Shared,
    words: Sender<PartMessage>,
    /// Which of this process's threads it is.
    from: usize,
    pub epoll: OwnedFd,
    alarm: OwnedFd,
    pub connections: Vec<Connection>,
    pub stage: Stage,
    origin: u64,
    /// Free connections, the longest free one first, so that all of them are used alike. May name one that is not free any more.
    pub idle: VecDeque<usize>,
    /// Connections of a closed loop that are to begin a transaction.
    pub ready: VecDeque<usize>,
    /// When, which connection, and its timer's number.
    timers: BinaryHeap<Reverse<(u64, usize, u32)>>,
    /// Connections that are to be made.
    pub dial: VecDeque<usize>,
    pub dialing: usize,
    pub next_dial: u64,
    /// Connections that were never tried to the end.
    pub untried: usize,
    /// The next start, and the next one that is not due.
    pub head: Cursor,
    due: Cursor,
    /// Transactions that were due, and that were begun.
    arrived: u64,
    pub begun: u64,
    /// The next transaction of a closed loop.
    pub turn: u64,
    pub threads: u64,
    interval: usize,
    cpu: u64,
    /// Its time in the run queue until then.
    queued: Option<u64>,
    interval_began: u64,
    pub tally: Tally,
    pub running: u64,
    pub connected: u64,
    /// Pauses between attempts to connect.
    pub random: Random,
    pub input: Vec<u8>,
    /// Bytes of messages of which the rest has not come, of all connections.
    pub held: usize,
    pub output: Vec<u8>,
    pub text: Vec<u8>,
}

impl<'a> Worker<'a> {
    /// The `from`-th thread of a process.
    pub fn new(
        plan: &'a Plan,
        shared: &'a Shared,
        share: Share,
        from: usize,
        words: Sender<PartMessage>,
    ) -> io::Result<Worker<'a>> {
        let (number, threads) = (share.first + from, share.of);
        let idle_pct = usize::try_from(plan.program.idle_pct).unwrap_or(0);
        // Every so-manieth of all connections is idle, whichever thread has it.
        let parked = |n: usize| (n + 1) * idle_pct / 100 > n * idle_pct / 100;
        let own = (number..plan.run.connections).step_by(threads);
        let connections: Vec<_> = own.map(|n| Connection::new(plan.program.slots, parked(n))).collect();
        let head = Cursor::new(&plan.run.schedule, plan.run.seed, number as u64, threads as u64);
        let epoll = epoll::create(epoll::CreateFlags::CLOEXEC)?;
        let alarm = timerfd_create(TimerfdClockId::Monotonic, TimerfdFlags::NONBLOCK | TimerfdFlags::CLOEXEC)?;
        let once = epoll::EventFlags::IN | epoll::EventFlags::ET;
        epoll::add(&epoll, &alarm, epoll::EventData::new_u64(ALARM), once)?;
        Ok(Worker {
            plan,
            target: plan.target.at(&plan.endpoint),
            shared,
            words,
            from,
            epoll,
            alarm,
            stage: Stage::Opening,
            origin: 0,
            idle: VecDeque::with_capacity(connections.len()),
            ready: VecDeque::with_capacity(connections.len()),
            timers: BinaryHeap::with_capacity(connections.len()),
            dial: (0..connections.len()).collect(),
            dialing: 0,
            next_dial: 0,
            untried: connections.len(),
            connections,
            due: head.clone(),
            head,
            arrived: 0,
            begun: 0,
            turn: number as u64,
            threads: threads as u64,
            interval: 0,
            cpu: 0,
            queued: None,
            interval_began: 0,
            tally: Tally::default(),
            running: 0,
            connected: 0,
            random: Random::new(plan.run.seed ^ 0xd1a1, number as u64),
            input: Vec::new(),
            held: 0,
            output: Vec::new(),
            text: Vec::new(),
        })
    }

    /// Runs until the end, and reports what was counted.
    pub fn run(mut self) {
        // The default slack of 50 µs would make every start late. Where it cannot be changed, the lag shows it.
        let _ = rustix::thread::set_current_timer_slack(std::num::NonZeroU64::new(1));
        let mut events = Vec::with_capacity(EVENTS);
        let mut told_ready = false;
        loop {
            let now = self.shared.now();
            if self.stage == Stage::Opening && self.untried == 0 && !told_ready {
                told_ready = true;
                let _ = self.words.send(PartMessage::Ready { from: self.from });
            }
            self.go_on(now);
            if self.stage == Stage::Draining && (self.running == 0 || now >= self.drain_end()) {
                break;
            }
            self.fire_timers(now);
            self.dial_some(now);
            self.start_due(now);
            self.start_ready(now);
            let timeout = self.timeout(self.sleep(self.shared.now()));
            events.clear();
            if epoll::wait(&self.epoll, rustix::buffer::spare_capacity(&mut events), Some(&timeout)).is_err() {
                // A signal; there is no other error with what is passed.
                continue;
            }
            for event in events.iter().filter(|event| event.data.u64() != ALARM) {
                let flags = event.flags;
                self.event(event.data.u64() as usize, flags);
            }
        }
        self.end();
    }

    /// Goes from one part of the run to the next, and reports each interval.
    fn go_on(&mut self, now: u64) {
        if self.stage == Stage::Opening {
            self.origin = self.shared.origin.load(Ordering::Acquire);
            if self.shared.stop.load(Ordering::Relaxed) {
                self.stage = Stage::Draining;
            } else if self.origin != 0 && now >= self.origin {
                self.stage = Stage::Measuring;
                self.interval_began = self.origin;
                (self.cpu, self.queued) = (clock::thread_cpu_ns(), thread_queued());
                // The work to get here is no part of the first interval.
                self.tally = Tally {
                    connects: self.tally.connects,
                    errors: std::mem::take(&mut self.tally.errors),
                    ..Tally::default()
                };
                if !self.plan.run.schedule.is_open() {
                    std::mem::swap(&mut self.idle, &mut self.ready);
                }
            }
            return;
        }
        while self.stage == Stage::Measuring && self.interval_end().is_some_and(|end| now >= end) {
            self.report_interval(now);
        }
        let stopped = self.shared.stop.load(Ordering::Relaxed);
        if self.stage == Stage::Measuring && (self.interval_end().is_none() || stopped) {
            if !stopped {
                // Transactions that were due just before the end.
                self.start_due(now);
            }
            self.stage = Stage::Draining;
        }
    }

    fn interval_end(&self) -> Option<u64> {
        self.shared.ends.get(self.interval).map(|end| self.origin + end)
    }

    fn drain_end(&self) -> u64 {
        // Who stops a test does not want to wait for it.
        let stopped = self.shared.stop.load(Ordering::Relaxed);
        if stopped { 0 } else { self.run_end() + (self.plan.run.drain_s * 1e9) as u64 }
    }

    fn run_end(&self) -> u64 {
        self.origin + self.shared.ends.last().copied().unwrap_or(0)
    }

    fn report_interval(&mut self, now: u64) {
        let end = self.interval_end().unwrap_or(now);
        while self.due.start().is_some_and(|start| self.origin + start < end) {
            self.due.advance();
            self.arrived += 1;
        }
        let (cpu, queued) = (clock::thread_cpu_ns(), thread_queued());
        let mut tally = Box::new(std::mem::take(&mut self.tally));
        tally.cpu_ns = cpu - self.cpu;
        tally.queued_ns = queued.zip(self.queued).map(|(now, then)| now.saturating_sub(then));
        tally.busiest = tally.cpu_ns as f64 / now.saturating_sub(self.interval_began).max(1) as f64;
        tally.waiting = self.arrived.saturating_sub(self.begun);
        tally.running = self.running;
        tally.connected = self.connected;
        (self.cpu, self.queued, self.interval_began) = (cpu, queued, now);
        let _ = self.words.send(PartMessage::Interval { from: self.from, number: self.interval, tally });
        self.interval += 1;
    }

    fn end(mut self) {
        let unstarted = self.arrived.saturating_sub(self.begun);
        let drained = Box::new(std::mem::take(&mut self.tally));
        let _ = self.words.send(PartMessage::End { drained, unfinished: self.running, unstarted });
        // Who measures the server does so while its connections are there.
        let until = self.shared.now() + LONGEST_WAIT_NS;
        let is_over = || self.shared.reported.load(Ordering::Relaxed) || self.shared.stop.load(Ordering::Relaxed);
        while !is_over() && self.shared.now() < until {
            std::thread::sleep(Duration::from_millis(1));
        }
        for connection in &mut self.connections {
            if let (Some(session), Some(channel)) = (&mut connection.session, &mut connection.channel) {
                self.output.clear();
                session.terminate(&mut self.output);
                let _ = channel.send(&self.output);
            }
        }
    }

    /// Begins what is due, as far as connections are free.
    fn start_due(&mut self, now: u64) {
        let latest = now.min(self.run_end() - 1);
        while self.stage == Stage::Measuring {
            let start = self.head.start().map(|start| self.origin + start);
            let Some(start) = start.filter(|start| *start <= latest) else { return };
            let Some(id) = self.idle.pop_front() else { return };
            if self.connections[id].phase != Phase::Idle {
                continue;
            }
            let turn = self.head.turn();
            self.head.advance();
            self.begun += 1;
            self.tally.lag.saturating_record(now - start.max(self.connections[id].idle_since).min(now));
            self.begin(id, turn, start, now);
        }
    }

    /// Begins transactions of a closed loop. One that is done at once waits for the next round, so that this ends.
    pub(super) fn start_ready(&mut self, now: u64) {
        for _ in 0..self.ready.len() {
            let Some(id) = self.ready.pop_front() else { return };
            if self.stage == Stage::Measuring && self.connections[id].phase == Phase::Idle {
                let turn = self.turn;
                self.turn += self.threads;
                self.begin(id, turn, now, now);
            }
        }
    }

    /// For how many nanoseconds nothing is due.
    fn sleep(&self, now: u64) -> u64 {
        let mut until = now + LONGEST_SLEEP_NS;
        let mut at_most = |at: Option<u64>| until = until.min(at.unwrap_or(u64::MAX));
        match self.stage {
            Stage::Opening => at_most(Some(if self.origin > now { self.origin } else { now + 1_000_000 })),
            Stage::Measuring => at_most(self.interval_end()),
            Stage::Draining => at_most(Some(self.drain_end())),
        }
        if self.stage == Stage::Measuring && !self.idle.is_empty() {
            at_most(self.head.start().map(|start| self.origin + start));
        }
        if !self.ready.is_empty() {
            at_most(Some(now));
        }
        at_most(self.timers.peek().map(|Reverse((at, ..))| *at));
        if !self.dial.is_empty() && self.dialing < MAX_DIALING {
            at_most(Some(self.next_dial));
        }
        until.saturating_sub(now)
    }

    /// The timeout of epoll for a sleep of so many nanoseconds: the whole milliseconds in it, or the next one with an alarm before.
    fn timeout(&self, sleep_ns: u64) -> Timespec {
        let of = |ns: u64| Timespec { tv_sec: (ns / 1_000_000_000) as i64, tv_nsec: (ns % 1_000_000_000) as i64 };
        if sleep_ns == 0 || sleep_ns >= EPOLL_STEP_NS {
            return of(sleep_ns - sleep_ns % EPOLL_STEP_NS);
        }
        let once = Itimerspec { it_interval: of(0), it_value: of(sleep_ns) };
        // Without it a start is late by a millisecond, and the lag shows it.
        let _ = timerfd_settime(&self.alarm, TimerfdTimerFlags::empty(), &once);
        of(EPOLL_STEP_NS)
    }

    pub(super) fn set_timer(&mut self, id: usize, at: u64) {
        let connection = &mut self.connections[id];
        connection.timer = connection.timer.wrapping_add(1);
        self.timers.push(Reverse((at, id, connection.timer)));
    }

    fn fire_timers(&mut self, now: u64) {
        while let Some(Reverse((at, id, number))) = self.timers.peek().copied() {
            if at > now {
                break;
            }
            self.timers.pop();
            if self.connections[id].timer != number {
                continue;
            }
            match self.connections[id].phase {
                Phase::Thinking => self.advance(id, now),
                Phase::Closed => self.dial.push_back(id),
                phase if phase.is_new() => self.disconnect(id, now, Failure::Connect, || "no login in 30 s".to_owned()),
                _ => {}
            }
        }
    }
}

/// Time that this thread was runnable without a CPU, in nanoseconds; None where the kernel does not count it.
fn thread_queued() -> Option<u64> {
    let [_, waited, _] = schedstat::times(&fs_err::read_to_string("/proc/thread-self/schedstat").ok()?)?;
    Some(waited)
}
