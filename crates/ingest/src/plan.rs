//! Inputs of an import and how to read them, as the caller asks; read by all threads of the import.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::OnceLock,
};

use fenxi_formats::{AnyFormat, Formats, Head, Hints, Input, foreign};
use fenxi_model::Micros;
use fenxi_store::{GoOn, Store};
use jiff::tz::TimeZone;

use crate::{
    parse::Recognised,
    source::{Source, host_in, start_in},
};

/// The host of inputs that name none.
pub(crate) const UNKNOWN_HOST: &str = "unknown";

/// Inputs to import, with hints and labels of the run.
#[derive(Debug)]
pub struct Plan {
    /// Where the run is kept.
    pub store: Store,
    /// Name of the run; part of its id.
    pub name: String,
    /// Tags of the run.
    pub tags: BTreeMap<String, String>,
    /// The command line, for the record.
    pub command: Vec<String>,
    /// The inputs, which become one run.
    pub sources: Vec<Source>,
    /// The formats among which each input's is found.
    pub formats: Formats,
    /// The format of all inputs; None to recognise each.
    pub format: Option<AnyFormat>,
    /// The host of all rows, whatever the content names.
    pub host: Option<String>,
    /// When the observation began.
    pub start: Option<Micros>,
    /// Seconds between two samples.
    pub interval_s: Option<f64>,
    /// The zone of times that name none.
    pub zone: TimeZone,
    /// How to read columns of unknown text: the text of a mapping file.
    pub mapping: Option<String>,
    /// Fail when anything could not be read or had to be assumed.
    pub strict: bool,
    /// Import also what the store already has.
    pub force: bool,
    /// Bytes that all packed inputs together may unpack to; None for any number.
    pub most_bytes: Option<u64>,
    /// Asked while the run is written whether the import may go on; None: to its end.
    pub go_on: Option<GoOn>,
    /// The time of the import.
    pub now: Micros,
    /// A random number for the run's id.
    pub random: u64,
    /// Endings of names that several inputs have; empty at first, and filled at the first use.
    pub shared_endings: OnceLock<BTreeSet<String>>,
}

impl Plan {
    /// Imports `sources` into `store` as a run called `name`: each in the format that it is recognised as, of the host that it
    /// names, in UTC. `now` is the time of the import, `random` makes the run's id unique.
    pub fn new(store: Store, name: String, sources: Vec<Source>, now: Micros, random: u64) -> Plan {
        Plan {
            store,
            name,
            tags: BTreeMap::new(),
            command: Vec::new(),
            sources,
            formats: Formats::default(),
            format: None,
            host: None,
            start: None,
            interval_s: None,
            zone: TimeZone::UTC,
            mapping: None,
            strict: false,
            force: false,
            most_bytes: None,
            go_on: None,
            now,
            random,
            shared_endings: OnceLock::new(),
        }
    }

    /// The name of an input without its ending, where another input has the same ending: sheets of a tree have the same columns,
    /// each of another thing.
    pub(crate) fn label(&self, source: &Source) -> Option<String> {
        let shared = self.shared_endings.get_or_init(|| {
            let mut seen = BTreeSet::new();
            let endings = self.sources.iter().filter_map(|source| source.name.rsplit_once('.'));
            endings.filter(|(_, ending)| !seen.insert(*ending)).map(|(_, ending)| ending.to_owned()).collect()
        });
        let (stem, ending) = source.name.rsplit_once('.')?;
        shared.contains(ending).then(|| stem.to_owned())
    }

    /// Format of an input, or its kind where it is no text.
    pub(crate) fn recognise(&self, input: &Input<'_>) -> Recognised {
        match foreign(input.head_bytes()) {
            Some(foreign) => Recognised { format: None, foreign: Some(foreign) },
            None => {
                let named = self.format.clone();
                let format = named.or_else(|| self.formats.detect(&Head { text: &input.head() }));
                Recognised { format, foreign: None }
            }
        }
    }

    /// Hints about `source` besides its content; `default_host` is that of all inputs together.
    pub(crate) fn hints(&self, source: &Source, default_host: &str) -> Hints {
        Hints {
            file: source.name.clone(),
            host: self.host.clone(),
            default_host: source.host.clone().unwrap_or_else(|| default_host.to_owned()),
            start: self.start.or_else(|| start_in(&source.name, &self.zone)),
            interval_s: self.interval_s,
            zone: self.zone.clone(),
            modified: source.modified.or(Some(self.now)),
            overrun_s: None,
            label: self.label(source),
            mapping: self.mapping.clone(),
        }
    }

    /// The note on the host of an input that names none; `default_host` is that of all inputs together.
    pub(crate) fn assumed_host(&self, source: &Source, default_host: &str) -> Option<String> {
        if self.host.is_some() {
            return None;
        }
        match &source.host {
            Some(host) => {
                let own = host_in(source.name.rsplit('/').next().unwrap_or(&source.name));
                let by = if own.as_ref() == Some(host) { "in the file's name" } else { "in the folder's name" };
                Some(format!("the host `{host}`, as {by} (or give --host)"))
            }
            None if default_host == UNKNOWN_HOST => None,
            None => Some(format!("the host `{default_host}`, as the other files are of it (or give --host)")),
        }
    }

    /// The caller's options for the inputs, to be able to read them again in the same way.
    pub(crate) fn given(&self) -> BTreeMap<String, String> {
        let plan = self;
        let given = [
            ("format", plan.format.as_ref().map(|f| f.name().to_owned())),
            ("host", plan.host.clone()),
            ("start", plan.start.map(Micros::iso)),
            ("interval", plan.interval_s.map(|s| s.to_string())),
            ("zone", plan.zone.iana_name().map(str::to_owned)),
            ("mapping", plan.mapping.clone()),
        ];
        given.into_iter().filter_map(|(key, value)| Some((key.to_owned(), value?))).collect()
    }
}
