//! Work that hides from the clock: a thread that wakes just after the timer's tick, burns most of the
//! time until the next one, and is asleep when it comes.

use std::{
    fmt,
    num::NonZeroU64,
    process::ExitCode,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
        mpsc,
    },
    thread::{self, JoinHandle},
};

use anyhow::{Context, anyhow};
use fenxi_source::{thread_ticks_ns, timer_tick_ns};
use rustix::{
    thread::{clock_nanosleep_absolute, set_current_timer_slack},
    time::{ClockId, Timespec, clock_gettime},
};

use crate::print;

/// It wakes this share of a tick after the tick.
const WAKE_AFTER: f64 = 0.06;
/// It sleeps from this share of a tick on, so that being late by a little does no harm.
const WORK_UNTIL: f64 = 0.80;
/// Ticks that are watched to find out when they come.
const WATCHED_TICKS: usize = 16;

/// A thread that hides.
#[derive(Debug)]
pub struct Hiding {
    stop: Arc<AtomicBool>,
    thread: JoinHandle<Used>,
}

/// CPU time it used, by both accounts.
#[derive(Clone, Copy, Debug)]
pub struct Used {
    measured_ns: u64,
    ticks_ns: Option<u64>,
}

impl Hiding {
    /// Starts it, and waits until it hides.
    ///
    /// # Errors
    /// When the system has no clock for it, or no thread.
    pub fn start() -> anyhow::Result<Hiding> {
        let tick_ns = timer_tick_ns().context("this system does not report its timer frequency")?;
        let stop = Arc::new(AtomicBool::new(false));
        let told = Arc::clone(&stop);
        let (ready, begun) = mpsc::channel();
        let work = move || {
            let origin = find_tick(tick_ns);
            let _ = ready.send(());
            hide(tick_ns, origin, &told)
        };
        let thread = thread::Builder::new().name("fenxi-hides".to_owned()).spawn(work)?;
        // To find the tick it works in the open.
        let _ = begun.recv();
        Ok(Hiding { stop, thread })
    }

    /// Stops it and returns what it used.
    ///
    /// # Errors
    /// When it broke down.
    pub fn stop(self) -> anyhow::Result<Used> {
        self.stop.store(true, Ordering::Relaxed);
        self.thread.join().map_err(|_| anyhow!("the demonstration failed"))
    }
}

/// Does `show`, beside a thread that hides from the clock if one is wanted; at the end it returns what it used.
pub fn beside(wanted: bool, show: impl FnOnce() -> anyhow::Result<ExitCode>) -> anyhow::Result<ExitCode> {
    let hiding = if wanted { Some(Hiding::start()?) } else { None };
    let code = show();
    if let Some(hiding) = hiding {
        print::message(&hiding.stop()?.to_string());
    }
    code
}

impl fmt::Display for Used {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let seconds = |ns: u64| ns as f64 / 1e9;
        write!(f, "demo: the hiding thread ran {:.3} s as measured, ", seconds(self.measured_ns))?;
        match self.ticks_ns {
            Some(ticks) => write!(f, "{:.3} s as the kernel's usr and sys count it", seconds(ticks))?,
            None => f.write_str("for which usr and sys of this kernel are unknown")?,
        }
        match self.ticks_ns {
            Some(ticks) if ticks * 10 > self.measured_ns * 9 => {
                f.write_str(": this kernel's accounting is EXACT, nothing hides from it")
            }
            _ => Ok(()),
        }
    }
}

fn now_ns(clock: ClockId) -> u64 {
    let time = clock_gettime(clock);
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

/// When ticks come: nanoseconds of CLOCK_MONOTONIC of one of them.
///
/// The coarse clock stands still between ticks. Its steps are seen late when others run, never early:
/// the earliest, relative to the first, is the best.
fn find_tick(tick_ns: u64) -> u64 {
    let half = tick_ns / 2;
    let mut first = None;
    let mut earliest = 0_i64;
    for _ in 0..WATCHED_TICKS {
        let before = now_ns(ClockId::MonotonicCoarse);
        while now_ns(ClockId::MonotonicCoarse) == before {}
        let seen = now_ns(ClockId::Monotonic);
        let origin = *first.get_or_insert(seen);
        let apart = ((seen - origin + half) % tick_ns) as i64 - half as i64;
        earliest = earliest.min(apart);
    }
    first.unwrap_or_default().saturating_add_signed(earliest)
}

fn hide(tick_ns: u64, mut origin: u64, stop: &AtomicBool) -> Used {
    // A sleep may otherwise last 50 us longer.
    let _ = set_current_timer_slack(NonZeroU64::new(1));
    let (measured, ticks) = (now_ns(ClockId::ThreadCPUTime), thread_ticks_ns());
    let part = |share: f64| (tick_ns as f64 * share) as u64;
    while !stop.load(Ordering::Relaxed) {
        let now = now_ns(ClockId::Monotonic);
        let tick = now - now.saturating_sub(origin) % tick_ns;
        if let Some(caught) = work(tick_ns, tick + part(WORK_UNTIL)) {
            origin = caught;
            continue;
        }
        let wake = tick + tick_ns + part(WAKE_AFTER);
        let wake = Timespec { tv_sec: (wake / 1_000_000_000) as i64, tv_nsec: (wake % 1_000_000_000) as i64 };
        // Woken by a signal it only works a little earlier.
        let _ = clock_nanosleep_absolute(ClockId::Monotonic, &wake);
    }
    Used {
        measured_ns: now_ns(ClockId::ThreadCPUTime).saturating_sub(measured),
        ticks_ns: ticks.and_then(|before| Some(thread_ticks_ns()?.saturating_sub(before))),
    }
}

/// Burns CPU time until the moment `until`. A tick that catches it shows when ticks really come on this
/// CPU (on a busy machine they were found late): gives that moment.
fn work(tick_ns: u64, until: u64) -> Option<u64> {
    let (mut last, mut charged) = (now_ns(ClockId::Monotonic), thread_ticks_ns());
    while last < until {
        let (now, charge) = (now_ns(ClockId::Monotonic), thread_ticks_ns());
        let by_tick = charged.zip(charge).is_some_and(|(before, after)| after.saturating_sub(before) > tick_ns / 2);
        // Off the CPU between the two looks, it would not know when the tick came.
        if by_tick && now - last < tick_ns / 40 {
            return Some(last);
        }
        (last, charged) = (now, charge);
    }
    None
}
