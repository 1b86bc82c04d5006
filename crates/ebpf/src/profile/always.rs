//! The profile that is always on: few samples, within a budget of CPU time, read in its own thread, so that neither the
//! beginning of a recording nor a tick waits for it.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
        mpsc::{Receiver, RecvTimeoutError, Sender, channel},
    },
    thread,
    time::{Duration, Instant},
};

use fenxi_model::{Micros, Rows};
use fenxi_source::{Collector, Opt, Options, Root, Source, SourceError, Spec, Tick};
use fenxi_sys::clock::thread_cpu_ns;

use super::{OPTIONS, Profile, SPEC};
use crate::{Tracked, error::live_only, kernel, privileges};

/// Samples per second on each CPU, and on all of them: on many CPUs as many samples show as much.
const FREQUENCY: u32 = 19;
const MOST_SAMPLES: u32 = 16 * FREQUENCY;
/// A recording that ends before is too short to be worth loading programs for.
const DELAY: Duration = Duration::from_millis(500);
/// Seconds between two readings.
const EVERY: Duration = Duration::from_secs(5);
/// How long the last reading is waited for.
const LAST: Duration = Duration::from_secs(2);

/// The profile that is recorded where stacks are not asked for.
pub static ALWAYS: Always = Always;

/// The source `profile` as it is by default.
#[derive(Debug)]
pub struct Always;

impl Source for Always {
    fn spec(&self) -> &'static Spec {
        &SPEC
    }

    fn options(&self) -> &'static [Opt] {
        OPTIONS
    }

    fn with(&self, options: &Options) -> Result<Arc<dyn Source>, SourceError> {
        Profile::ALL.with(options)
    }

    fn start(&self, root: &Root) -> Result<Box<dyn Collector>, SourceError> {
        live_only(root)?;
        if !privileges::missing_capabilities().is_empty() {
            return Err(SourceError::Unavailable { what: "the profile", why: privileges::why_refused() });
        }
        let (commands, asked) = channel();
        let (results, taken) = channel();
        let cpu_ns = Arc::new(AtomicU64::new(0));
        let of_thread = Arc::clone(&cpu_ns);
        thread::Builder::new().name("profile".to_owned()).spawn(move || work(&asked, &results, &of_thread))?;
        Ok(Box::new(Apart { commands: Some(commands), taken, cpu_ns, refused: None }))
    }
}

/// Rows that the thread has read; Err: the kernel refuses it, for this reason.
type Reading = Result<Rows, String>;

/// Reads until it is asked for the last time, or the recording has ended.
fn work(asked: &Receiver<()>, results: &Sender<Reading>, cpu_ns: &AtomicU64) {
    let has_time = asked.recv_timeout(DELAY);
    if has_time != Err(RecvTimeoutError::Timeout) {
        return;
    }
    let frequency = (MOST_SAMPLES / kernel::n_cpus()).clamp(1, FREQUENCY);
    let light = Profile { tracked: Tracked::All, frequency, off_cpu: false, light: true };
    let mut collector = match light.observe(&Root::live()) {
        Ok(collector) => collector,
        Err(error) => {
            let _ = results.send(Err(error.to_string()));
            return;
        }
    };
    // Stamps are those of the tick that takes the rows.
    let mut rows = Rows::new("");
    let mut sample = |dt: Option<f64>| {
        rows.set_source(SPEC.name);
        if let Err(error) = collector.sample(Tick::new(Micros(0), dt), &mut rows) {
            rows.note("", None, &error.to_string());
        }
        let threads_ns = (collector.cpu_of_threads() * 1e9) as u64;
        cpu_ns.store(thread_cpu_ns() + threads_ns, Ordering::Relaxed);
        rows.take()
    };
    sample(None);
    let mut last = Instant::now();
    loop {
        let asked = asked.recv_timeout(EVERY);
        if asked == Err(RecvTimeoutError::Disconnected) {
            return;
        }
        let dt = last.elapsed().as_secs_f64();
        last = Instant::now();
        if results.send(Ok(sample(Some(dt)))).is_err() || asked.is_ok() {
            return;
        }
    }
}

/// The recorder's end of the thread.
struct Apart {
    /// None: the last reading was asked for.
    commands: Option<Sender<()>>,
    taken: Receiver<Reading>,
    cpu_ns: Arc<AtomicU64>,
    /// Why there is no profile.
    refused: Option<String>,
}

impl Apart {
    /// Takes a reading; samples from before the first interval belong to no interval.
    fn take(&mut self, reading: Reading, tick: Tick, rows: &mut Rows) {
        match reading {
            Ok(_) if tick.dt.is_none() => {}
            Ok(read) => rows.append(&read, tick.t),
            Err(why) => {
                note(&why, rows);
                self.refused = Some(why);
            }
        }
    }
}

fn note(why: &str, rows: &mut Rows) {
    rows.note("", None, &format!("not recorded: {why}"));
}

impl Collector for Apart {
    fn sample(&mut self, tick: Tick, rows: &mut Rows) -> Result<(), SourceError> {
        while let Ok(reading) = self.taken.try_recv() {
            self.take(reading, tick, rows);
        }
        if tick.is_last {
            self.finish();
            while let Ok(reading) = self.taken.recv_timeout(LAST) {
                self.take(reading, tick, rows);
            }
        }
        Ok(())
    }

    fn begin_next(&mut self, _: Micros, rows: &mut Rows) {
        if let Some(why) = &self.refused {
            note(why, rows);
        }
    }

    fn finish(&mut self) {
        if let Some(commands) = self.commands.take() {
            let _ = commands.send(());
        }
    }

    fn cpu_of_threads(&self) -> f64 {
        self.cpu_ns.load(Ordering::Relaxed) as f64 / 1e9
    }
}
