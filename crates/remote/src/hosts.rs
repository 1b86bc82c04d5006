//! The source `agent`: all other hosts of a recording.

use std::{
    path::PathBuf,
    sync::{Arc, Mutex, PoisonError},
    thread::JoinHandle,
    time::{Duration, Instant},
};

use fenxi_model::{
    Micros, Rows, Table,
    catalog::{agent, event, note, text},
};
use fenxi_record::{choose, for_host};
use fenxi_source::{Collector, Root, Source, SourceError, Spec, Take, Tick};
use rustix::time::{ClockId, clock_gettime};

use crate::{
    frame::{Began, Order},
    link::{Link, Phase, RowBudget, Waited},
    program::Programs,
    session::steady_ns,
    target::Target,
};

/// How often progress is reported while waiting for hosts.
const LOOK: Duration = Duration::from_millis(50);
/// How long the last rows of all hosts are waited for at the end, whatever comes: with what it takes to end the ways to them, a
/// recording is over within two seconds.
const FAREWELL: Duration = Duration::from_millis(1200);
/// How many times as much as may wait is taken then.
const MOST_AT_END: usize = 4;

static SPEC: Spec = Spec {
    name: "agent",
    summary: "other hosts, each through an agent: clocks, links, and all that is sampled there",
    tables: &[&agent::TABLE as &Table, &event::TABLE, &note::TABLE, &text::TABLE],
    take: Take::EveryTick,
    default: false,
    live: false,
};

/// Order to all hosts.
#[derive(Clone, Debug)]
pub struct Wanted {
    /// Elements of the list of sources; those behind `HOST:` are for that host alone.
    pub sources: Vec<String>,
    /// Seconds between two ticks.
    pub interval_s: f64,
    /// Seconds that the recording lasts, where that is known.
    pub duration_s: Option<f64>,
    /// Where static programs are: a file or a folder.
    pub programs: Option<PathBuf>,
    /// True if recording begins without a host that cannot be reached; it is tried again all the time.
    pub is_patient: bool,
}

/// Why hosts cannot be recorded.
#[derive(Debug, thiserror::Error)]
pub enum HostsError {
    /// They are named wrongly.
    #[error("{0}")]
    Named(String),
    /// Some cannot be reached: a line for each.
    #[error("{0}")]
    Unreachable(String),
    /// No thread could be started.
    #[error("cannot start a thread for a host: {0}")]
    Thread(#[from] std::io::Error),
}

/// Hosts that are connected; they are let go when this is dropped. As a source they can be started more than once, as a study does:
/// each time they are connected to anew.
pub struct Hosts {
    targets: Vec<(Target, Order)>,
    programs: Arc<Programs>,
    is_patient: bool,
    /// Connected, and not recorded yet.
    crew: Mutex<Option<Arc<Crew>>>,
}

struct Crew {
    links: Vec<Arc<Link>>,
    threads: Mutex<Vec<JoinHandle<()>>>,
}

impl Hosts {
    /// Connects to `targets` all at once; `host` is the recorder's own. `notify` is called with what takes time; it gives whether to go on.
    ///
    /// # Errors
    /// When two have one name, a list of sources is wrong, or a host cannot be reached and is wanted from the start.
    pub fn connect(
        targets: &[Target],
        wanted: Wanted,
        host: &str,
        notify: &mut dyn FnMut(&str) -> bool,
    ) -> Result<Hosts, HostsError> {
        let orders = orders(targets, &wanted, host).map_err(HostsError::Named)?;
        let hosts = Hosts {
            targets: targets.iter().cloned().zip(orders).collect(),
            programs: Arc::new(Programs::new(wanted.programs)),
            is_patient: wanted.is_patient,
            crew: Mutex::default(),
        };
        let crew = hosts.reach(notify)?;
        *hosts.crew.lock().unwrap_or_else(PoisonError::into_inner) = Some(crew);
        Ok(hosts)
    }

    /// All of them, as one source.
    pub fn source(self) -> Arc<dyn Source> {
        Arc::new(self)
    }

    /// Hosts that cannot be reached at the moment, each with why.
    pub fn missing(&self) -> Vec<String> {
        let crew = self.crew.lock().unwrap_or_else(PoisonError::into_inner);
        let missing = crew.iter().flat_map(|crew| &crew.links).filter(|link| link.phase() != Phase::Live);
        missing.map(|link| format!("host {}: {}", link.target.name, link.why().unwrap_or_default())).collect()
    }

    /// Connects to all of them.
    fn reach(&self, notify: &mut dyn FnMut(&str) -> bool) -> Result<Arc<Crew>, HostsError> {
        let room = Arc::new(RowBudget::for_hosts(self.targets.len()));
        let links = self.targets.iter().map(|(target, order)| {
            let (programs, room) = (Arc::clone(&self.programs), Arc::clone(&room));
            Arc::new(Link::new(target.clone(), order.clone(), programs, self.is_patient, room))
        });
        let crew = Arc::new(Crew { links: links.collect(), threads: Mutex::default() });
        for link in &crew.links {
            let link = Arc::clone(link);
            let thread = std::thread::Builder::new().name(format!("host-{}", link.target.name));
            let thread = thread.spawn(move || link.keep())?;
            crew.threads.lock().unwrap_or_else(PoisonError::into_inner).push(thread);
        }
        crew.wait(notify)?;
        Ok(crew)
    }
}

impl Crew {
    /// Waits until every host samples, or cannot be reached.
    fn wait(&self, notify: &mut dyn FnMut(&str) -> bool) -> Result<(), HostsError> {
        loop {
            let links = &self.links;
            let messages: Vec<String> = links.iter().flat_map(|link| link.take_messages()).collect();
            let goes_on = messages.iter().all(|message| notify(message)) && notify("");
            let is_waiting = |link: &Arc<Link>| match link.phase() {
                Phase::Connecting => !(link.is_patient && link.why().is_some()),
                Phase::Live | Phase::Ending | Phase::Ended => false,
            };
            if !goes_on || !links.iter().any(is_waiting) {
                break;
            }
            std::thread::sleep(LOOK);
        }
        let lines: Vec<String> = self
            .links
            .iter()
            .filter(|link| link.phase() == Phase::Ended || (link.phase() != Phase::Live && !link.is_patient))
            .map(|link| {
                format!("host {}: {}", link.target.name, link.why().unwrap_or_else(|| "not reached".to_owned()))
            })
            .collect();
        if lines.is_empty() { Ok(()) } else { Err(HostsError::Unreachable(lines.join("\n"))) }
    }
}

/// The order for each host.
fn orders(targets: &[Target], wanted: &Wanted, host: &str) -> Result<Vec<Order>, String> {
    let names: Vec<&str> = targets.iter().map(|target| target.name.as_str()).collect();
    for (n, name) in names.iter().enumerate() {
        if *name == host {
            return Err(format!(
                "host {name} is this one, which is recorded anyway; name the other one differently: NAME={name}"
            ));
        }
        if names[..n].contains(name) {
            return Err(format!("two hosts are called {name}; name one of them differently: NAME={name}"));
        }
    }
    let mut all = names.clone();
    all.push(host);
    let order = |name: &&str| {
        let sources = for_host(&wanted.sources, &all, name);
        choose(&sources).map_err(|why| format!("host {name}: {why}"))?;
        Ok(Order { host: (*name).to_owned(), sources, interval_s: wanted.interval_s, duration_s: wanted.duration_s })
    };
    names.iter().map(order).collect()
}

impl Source for Hosts {
    fn spec(&self) -> &'static Spec {
        &SPEC
    }

    fn start(&self, _root: &Root) -> Result<Box<dyn Collector>, SourceError> {
        let connected = self.crew.lock().unwrap_or_else(PoisonError::into_inner).take();
        let crew = match connected {
            Some(crew) => crew,
            None => self.reach(&mut |_| true).map_err(|error| SourceError::Refused(error.to_string()))?,
        };
        Ok(Box::new(HostsCollector { crew, has_begun: false, until: None }))
    }
}

struct HostsCollector {
    crew: Arc<Crew>,
    has_begun: bool,
    /// Until when last rows are waited for, once they were asked for.
    until: Option<Instant>,
}

impl Collector for HostsCollector {
    fn sample(&mut self, tick: Tick, rows: &mut Rows) -> Result<(), SourceError> {
        let links = &self.crew.links;
        if !std::mem::replace(&mut self.has_begun, true) {
            let began = began(&tick);
            for link in links {
                link.begin(began);
                link.facts(rows);
            }
            return Ok(());
        }
        if tick.is_last {
            self.finish();
            let until = self.until.unwrap_or_else(Instant::now);
            self.crew.links.iter().for_each(|link| last_rows(link, until, tick.t, rows));
        }
        self.crew.links.iter().for_each(|link| link.take(tick.t, rows));
        Ok(())
    }

    fn finish(&mut self) {
        let until = *self.until.get_or_insert_with(|| Instant::now() + FAREWELL);
        self.crew.links.iter().for_each(|link| link.stop(until));
    }

    fn begin_next(&mut self, _t: Micros, rows: &mut Rows) {
        for link in &self.crew.links {
            link.facts_anew();
            link.facts(rows);
        }
    }

    fn reads_at_end(&self) -> bool {
        true
    }
}

/// Waits for the last rows of a host, as for all of them until `until`: many that say nothing take no longer than one.
fn last_rows(link: &Link, until: Instant, t: Micros, rows: &mut Rows) {
    for _ in 0..MOST_AT_END {
        match link.wait_for_end(until) {
            Waited::Ended => return,
            Waited::Full => link.take(t, rows),
            Waited::InVain => break,
        }
    }
    link.close();
    rows.note(&link.target.name, None, "its last rows did not arrive in time");
}

/// The monotonic clock at the moment of `tick`, which the recording counts from.
fn began(tick: &Tick) -> Began {
    let wall = clock_gettime(ClockId::Realtime);
    let since_us = wall.tv_sec * 1_000_000 + wall.tv_nsec / 1000 - tick.t.0;
    Began { steady_ns: steady_ns() - since_us * 1000, wall_us: tick.t.0 }
}

impl Drop for Crew {
    fn drop(&mut self) {
        self.links.iter().for_each(|link| link.close());
        let threads = std::mem::take(&mut *self.threads.lock().unwrap_or_else(PoisonError::into_inner));
        for thread in threads {
            // It cannot panic; if it did, its transport has lost its pipes anyway.
            let _ = thread.join();
        }
    }
}
