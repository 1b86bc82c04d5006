//! The plan of a recording.

use std::{collections::BTreeMap, ffi::OsString, os::fd::OwnedFd, sync::Arc};

use fenxi_source::{Root, Source};
use fenxi_store::Store;

use crate::{command::Contained, roll::Keep, trigger::Triggers};

/// Plan of a recording: sources, store, interval and duration. Begin with [`Plan::new`].
pub struct Plan {
    /// Where the run is kept; None: rows are only shown to `watch`.
    pub store: Option<Store>,
    /// Name of the run; part of its id.
    pub name: String,
    /// Name of the host observed.
    pub host: String,
    /// Labels of the run.
    pub tags: BTreeMap<String, String>,
    /// Factors and settings of the experiment.
    pub params: BTreeMap<String, String>,
    /// Seconds between two ticks.
    pub interval_s: f64,
    /// Seconds to record; None: until a signal or the command's end.
    pub duration_s: Option<f64>,
    /// Sources to sample.
    pub sources: Vec<Arc<dyn Source>>,
    /// The file system to read.
    pub root: Root,
    /// Command to run meanwhile.
    pub command: Option<Vec<OsString>>,
    /// How the command is kept apart from this process; None: it shares the terminal, and gets its signals.
    pub contained: Option<Contained>,
    /// Standard output of the command; None: this process's own.
    pub output: Option<OwnedFd>,
    /// A random number for the run's id.
    pub random: u64,
    /// True if the averages since boot are wanted too; they are kept apart from the samples.
    pub since_boot: bool,
    /// True if the end of the command is sampled however short the last interval is: sums over the
    /// command are then whole, but rates of that interval say little.
    pub whole: bool,
    /// True if this process does other work, whose end ends the recording by what `watch` answers: the CPU time of that
    /// work is not the recorder's, and what is read at the end only is read once more.
    pub beside_work: bool,
    /// Continuous recording: runs of a fixed length follow one another, of which the oldest are removed.
    pub roll: Option<Roll>,
    /// Triggers: conditions and their actions.
    pub triggers: Option<Triggers>,
}

/// Gives what to record from now on, as its options say now.
pub type Reload = Box<dyn FnMut() -> Result<Plan, String> + Send>;

/// Rolling and retention of a continuous recording.
pub struct Roll {
    /// Seconds of a run, a whole number of intervals; runs begin at multiples of it on the wall clock.
    pub every_s: f64,
    /// The series that its runs are of.
    pub series: String,
    /// Retention of the series.
    pub keep: Keep,
    /// Asked on SIGHUP. None: a new run begins with the same options.
    pub reload: Option<Reload>,
}

impl Plan {
    /// Samples `sources` at `root`, whose host is called `host`, every `interval_s` seconds until a signal, and keeps nothing.
    pub fn new(sources: Vec<Arc<dyn Source>>, root: Root, host: String, interval_s: f64) -> Plan {
        Plan {
            store: None,
            name: String::new(),
            host,
            tags: BTreeMap::new(),
            params: BTreeMap::new(),
            interval_s,
            duration_s: None,
            sources,
            root,
            command: None,
            contained: None,
            output: None,
            random: 0,
            since_boot: false,
            whole: false,
            beside_work: false,
            roll: None,
            triggers: None,
        }
    }

    /// The series that its runs are of, and where.
    pub(crate) fn series(&self) -> Option<(Store, String)> {
        Some((self.store.clone()?, self.roll.as_ref()?.series.clone()))
    }
}
