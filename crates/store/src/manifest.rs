//! Metadata of a run besides its rows: the manifest (`run.json`, never changed after
//! sealing) and the labels (`labels/<id>.json`, which may change).

use std::{collections::BTreeMap, path::PathBuf};

use fenxi_model::{Micros, RunId};
use serde::{Deserialize, Serialize};

/// The format version that this code writes and the latest that it reads.
pub const FORMAT: u32 = 1;

/// Metadata that a recorder or importer has at the start of a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Begin {
    /// The run's name; None or empty for a run without one.
    pub name: Option<String>,
    /// `record`, `import`, `average` and so on.
    pub kind: String,
    /// The host observed; a run of several hosts names the first.
    pub host: String,
    /// The command that was run under observation, or the command line of an import; may be empty.
    pub command: Vec<String>,
    /// Factors and settings of the experiment: they never change.
    pub params: BTreeMap<String, String>,
    /// First tags; they may be changed later.
    pub tags: BTreeMap<String, String>,
    /// When the run began.
    pub start: Micros,
    /// Seconds between two samples; None where there is no fixed interval.
    pub interval_s: Option<f64>,
    /// A random number that makes the id unique without coordination.
    pub random: u64,
    /// Names of the sources that feed the run.
    pub sources: Vec<String>,
}

impl Begin {
    /// A run of `kind` on `host` that begins at `start`, with no other properties.
    pub fn new(kind: &str, host: &str, start: Micros) -> Begin {
        Begin {
            name: None,
            kind: kind.to_owned(),
            host: host.to_owned(),
            command: Vec::new(),
            params: BTreeMap::new(),
            tags: BTreeMap::new(),
            start,
            interval_s: None,
            random: 0,
            sources: Vec::new(),
        }
    }
}

/// Metadata at the end of a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct End {
    /// When the run began, where that is known only at its end, as by an import.
    #[serde(default)]
    pub start: Option<Micros>,
    /// When the run ended.
    pub end: Micros,
    /// Exit status of the command, when it ran one and it exited.
    pub exit_status: Option<i32>,
    /// Signal that ended the command, when one did.
    pub signal: Option<i32>,
    /// Cost of each source.
    pub costs: Vec<SourceCost>,
    /// Named parts of the run.
    pub windows: Vec<Window>,
    /// Samples taken.
    pub ticks: u64,
    /// Samples that were due and not taken.
    pub missed_ticks: u64,
    /// Imported inputs.
    #[serde(default)]
    pub inputs: Vec<InputEntry>,
}

impl End {
    /// The end of a run at `end` with no other properties.
    pub fn at(end: Micros) -> End {
        End {
            start: None,
            end,
            exit_status: None,
            signal: None,
            costs: Vec::new(),
            windows: Vec::new(),
            ticks: 0,
            missed_ticks: 0,
            inputs: Vec::new(),
        }
    }
}

/// One input of an import: a file that another tool wrote.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct InputEntry {
    /// Its path, within the directory that was imported if it was one.
    pub name: String,
    /// Where it is kept in the run's directory, compressed.
    pub raw: FileEntry,
    /// Its position in that file, which it shares with others; None where the file is its own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub part: Option<Part>,
    /// Bytes of its content, unpacked.
    pub bytes: u64,
    /// BLAKE3 of its content, unpacked: equal for equal inputs, however they are packed or named.
    pub blake3: String,
    /// The format it was read as; None when it was not recognised.
    pub format: Option<String>,
    /// Rows by table.
    pub tables: BTreeMap<String, u64>,
    /// Things in it that could not be read.
    pub notes: u64,
    /// When the file was last written.
    pub modified: Option<Micros>,
    /// The user's import options, to read it again in the same way: `host`, `start`, `interval`,
    /// `zone`, `format`, `mapping`.
    pub hints: BTreeMap<String, String>,
}

/// The position of a short input in a file of several: zstd frames one after another, each of some inputs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Part {
    /// The byte of the file at which its frame begins.
    pub frame: u64,
    /// The byte of the frame's content at which it begins.
    pub from: u64,
}

/// Cost of one source over the whole run: CPU time, samples, wall time.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct SourceCost {
    /// The source's name.
    pub source: String,
    /// Times it was sampled.
    pub samples: u64,
    /// CPU time in seconds.
    pub cpu_s: f64,
    /// Elapsed time in seconds.
    pub wall_s: f64,
    /// Longest single sample in seconds, elapsed.
    pub max_s: f64,
    /// Samples that failed.
    pub failures: u64,
    /// Rows it yielded.
    pub rows: u64,
}

impl SourceCost {
    /// Used in place of a source where the cost is that of the whole recorder, its sources among it.
    pub const WHOLE: &str = "recorder in all";
}

/// A named part of a run: `warmup`, `steady`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Window {
    /// Its name.
    pub name: String,
    /// Its begin.
    pub start: Micros,
    /// Its end.
    pub end: Micros,
}

/// A run's manifest, `run.json`. Fields that this version does not know are ignored when read.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Manifest {
    /// Format version, see [`FORMAT`].
    pub format: u32,
    /// BLAKE3 of this file with 64 zeros in this place.
    #[serde(default)]
    pub digest: String,
    /// The run's id.
    pub id: RunId,
    /// The name it was given when it began; [`Labels::name`] is the one to show.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// `record`, `import`, `average` and so on.
    pub kind: String,
    /// Hosts observed, the first one first.
    pub hosts: Vec<String>,
    /// When it began.
    pub start: Micros,
    /// When it ended; of a recovered run the time of its last row.
    pub end: Micros,
    /// Seconds between two samples.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub interval_s: Option<f64>,
    /// The command that was run, word by word.
    #[serde(default)]
    pub command: Vec<String>,
    /// Exit status of the command.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exit_status: Option<i32>,
    /// Signal that ended the command.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub signal: Option<i32>,
    /// True if its recorder died and the run was sealed from what it left.
    #[serde(default)]
    pub recovered: bool,
    /// Factors and settings of the experiment.
    #[serde(default)]
    pub params: BTreeMap<String, String>,
    /// Tags given when it began; [`Labels::tags`] are the ones that hold.
    #[serde(default)]
    pub tags: BTreeMap<String, String>,
    /// Named parts.
    #[serde(default)]
    pub windows: Vec<Window>,
    /// Names of the sources that fed it.
    #[serde(default)]
    pub sources: Vec<String>,
    /// Cost of each source; empty for a recovered run.
    #[serde(default)]
    pub costs: Vec<SourceCost>,
    /// Samples taken; of a recovered run the most that any table received.
    #[serde(default)]
    pub ticks: Option<u64>,
    /// Samples due and not taken; None when they were not counted.
    #[serde(default)]
    pub missed_ticks: Option<u64>,
    /// CPU seconds that sealing took, statistics included.
    #[serde(default)]
    pub seal_cpu_s: Option<f64>,
    /// Imported inputs.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub inputs: Vec<InputEntry>,
    /// The runs of which it was made, one after another in time. They are gone, or about to be.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub made_of: Vec<RunId>,
    /// Every file of the run but this one.
    pub files: Vec<FileEntry>,
}

impl Manifest {
    /// Seconds from start to end.
    pub fn seconds(&self) -> f64 {
        self.end.seconds_since(self.start)
    }

    /// Bytes of all files but the manifest.
    pub fn bytes(&self) -> u64 {
        self.files.iter().map(|f| f.bytes).sum()
    }

    /// Rows of all tables; those of `stats.parquet` are not counted.
    pub fn rows(&self) -> u64 {
        self.files.iter().filter(|f| f.table.as_deref() != Some("stats")).map(|f| f.rows).sum()
    }

    /// The file that holds `table`.
    pub fn file(&self, table: &str) -> Option<&FileEntry> {
        self.files.iter().find(|f| f.table.as_deref() == Some(table))
    }

    /// CPU seconds of recording; None where nothing was recorded.
    pub fn recorder_cpu_s(&self) -> Option<f64> {
        let whole = self.costs.iter().find(|cost| cost.source == SourceCost::WHOLE);
        // A killed recorder has written no total.
        let sum = || (!self.costs.is_empty()).then(|| self.costs.iter().map(|cost| cost.cpu_s).sum());
        whole.map(|cost| cost.cpu_s).or_else(sum)
    }

    /// The labels of a run whose labels were never changed.
    pub fn first_labels(&self) -> Labels {
        Labels { name: self.name.clone(), tags: self.tags.clone(), ..Labels::default() }
    }
}

/// One file of a run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct FileEntry {
    /// Path within the run's directory.
    pub name: String,
    /// The table it holds (`stats` for the statistics, `boot.cpu` for averages since boot that are
    /// kept apart); None for other files.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub table: Option<String>,
    /// Rows of the table.
    #[serde(default)]
    pub rows: u64,
    /// Size in bytes.
    pub bytes: u64,
    /// Equal for two files with the same columns and types, see [`fenxi_model::fingerprint`].
    #[serde(default)]
    pub fingerprint: String,
    /// BLAKE3 of the file, 64 hexadecimal digits.
    pub blake3: String,
}

/// One change of one field of a run's labels.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct LabelChange {
    /// When, by the clock of the machine that changed it.
    pub at: Micros,
    /// Who: `user@host`, or the name of a server's token.
    pub by: String,
    /// `name`, `baseline`, `tag KEY`, `remark TEXT`, `window NAME` or `mark JSON`.
    pub field: String,
    /// Value since then; None when it was removed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub value: Option<String>,
}

/// Mutable labels of a sealed run: name, tags, remarks, windows, marks.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Labels {
    /// The run's name.
    pub name: Option<String>,
    /// Tags by key.
    pub tags: BTreeMap<String, String>,
    /// True if it is the run that others are compared with.
    pub baseline: bool,
    /// Free remarks, oldest first.
    pub remarks: Vec<String>,
    /// Parts that were named after the run, in place of those of the same name that it was made with.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub windows: Vec<Window>,
    /// Moments that were named, in order of time.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub marks: Vec<Mark>,
    /// Who changed what of these and when, oldest first: what merges them with those of another store.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub changes: Vec<LabelChange>,
}

impl Labels {
    /// Names a part; one of the same name is replaced.
    pub fn set_window(&mut self, window: Window) {
        self.windows.retain(|w| w.name != window.name);
        self.windows.push(window);
    }

    /// Forgets a part that was named after the run; whether there was one.
    pub fn remove_window(&mut self, name: &str) -> bool {
        let before = self.windows.len();
        self.windows.retain(|w| w.name != name);
        self.windows.len() < before
    }

    /// Adds a mark, in order of time; one that is there already is not added again.
    pub fn add_mark(&mut self, mark: Mark) {
        if !self.marks.contains(&mark) {
            let place = self.marks.partition_point(|other| other.t <= mark.t);
            self.marks.insert(place, mark);
        }
    }

    /// Removes the marks of this text, at this moment if one is given; how many there were.
    pub fn remove_marks(&mut self, text: &str, at: Option<Micros>) -> usize {
        let before = self.marks.len();
        self.marks.retain(|mark| mark.text != text || at.is_some_and(|at| at != mark.t));
        before - self.marks.len()
    }
}

/// A moment with a name.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Mark {
    /// The moment.
    pub t: Micros,
    /// Text of the label.
    pub text: String,
    /// The host that it is about; None: that of the run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host: Option<String>,
}

/// A sealed run: what was written once and what may change.
#[derive(Clone, Debug, PartialEq)]
pub struct RunEntry {
    /// The manifest.
    pub manifest: Manifest,
    /// The labels that hold now.
    pub labels: Labels,
}

impl RunEntry {
    /// Its named parts, in order of their begin.
    pub fn windows(&self) -> Vec<Window> {
        let mut windows = self.labels.windows.clone();
        let own = |w: &&Window| !self.labels.windows.iter().any(|l| l.name == w.name);
        windows.extend(self.manifest.windows.iter().filter(own).cloned());
        windows.sort_by_key(|w| (w.start, w.end));
        windows
    }
}

/// Metadata of a run for listings and selectors; cached in the index, so that 10,000 runs are cheap to list.
#[derive(Clone, Debug, PartialEq)]
pub struct Summary {
    /// The run's id.
    pub id: RunId,
    /// `record`, `import`, `average` and so on.
    pub kind: String,
    /// Hosts observed.
    pub hosts: Vec<String>,
    /// When it began.
    pub start: Micros,
    /// When it ended.
    pub end: Micros,
    /// The command that was run, word by word; of a long one the beginning.
    pub command: Vec<String>,
    /// Exit status of the command.
    pub exit_status: Option<i32>,
    /// True if its recorder died.
    pub recovered: bool,
    /// Samples taken, where that is known.
    pub ticks: Option<u64>,
    /// Samples that were due and not taken, where that is known.
    pub missed_ticks: Option<u64>,
    /// Factors and settings.
    pub params: BTreeMap<String, String>,
    /// Rows of all tables.
    pub rows: u64,
    /// Bytes of all files.
    pub bytes: u64,
    /// Tables it holds (also `stats`): name, fingerprint, rows.
    pub tables: Vec<(String, String, u64)>,
    /// The runs of which it was made, see [`Manifest::made_of`].
    pub made_of: Vec<RunId>,
    /// The labels that hold now.
    pub labels: Labels,
}

/// A run that was sealed for a dead recorder, or could not be.
#[derive(Debug)]
pub struct Recovered {
    /// The run.
    pub id: RunId,
    /// Bytes of torn messages that were dropped.
    pub dropped_bytes: u64,
    /// Why it could not be sealed; what was recorded is kept.
    pub error: Option<crate::StoreError>,
}

/// Something wrong with a sealed run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Problem {
    /// The file, whole path.
    pub path: PathBuf,
    /// Description of the problem.
    pub what: String,
}

impl std::fmt::Display for Problem {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}: {}", self.path.display(), self.what)
    }
}
