//! The worlds of a run: what it is of. A finding that names worlds applies to these only, or to none of those before which it has `not`, so
//! that no finding is about the transactions of a disk benchmark.

use fenxi_model::RunId;
use fenxi_store::{IMPORT, Manifest};

use super::{Finding, Occurrence};
use crate::{Engine, QueryError};

/// A world, and what makes a run one of it: one of these is enough.
struct World {
    name: &'static str,
    /// Tables; a `*` at the end is for any end of the name.
    tables: &'static [&'static str],
    /// Formats in which an input was.
    formats: &'static [&'static str],
    /// Programs that are the command.
    programs: &'static [&'static str],
}

const WORLDS: &[World] = &[
    World { name: "database", tables: &["db", "db_*", "query"], formats: &[], programs: &[] },
    World {
        name: "machine",
        tables: &["cpu", "sched", "pressure", "mem", "vm", "disk", "net", "process"],
        formats: &[],
        programs: &[],
    },
    World { name: "gpu", tables: &["gpu", "gpu_process"], formats: &[], programs: &[] },
    World { name: "load", tables: &["load", "result", "query"], formats: &[], programs: &[] },
    World {
        name: "database load",
        tables: &["query"],
        formats: &[
            "sysbench",
            "pgbench",
            "pgbench-aggregate",
            "pgbench-log",
            "mysqlslap",
            "ycsb",
            "hammerdb",
            "benchbase",
            "benchbase-csv",
        ],
        programs: &["pgbench", "sysbench", "mysqlslap"],
    },
    World {
        name: "http load",
        tables: &[],
        formats: &[
            "wrk", "ab", "hey", "oha", "jmeter", "k6", "vegeta", "siege", "locust", "ghz", "gatling", "h2load",
            "httperf",
        ],
        programs: &["wrk", "wrk2", "ab", "hey", "oha", "k6", "vegeta", "siege", "locust", "ghz", "h2load", "httperf"],
    },
    World {
        name: "storage bench",
        tables: &[],
        formats: &["fio", "fio-log", "fio-terse", "fio-hist-log", "dd", "ioping", "bonnie", "dbench"],
        programs: &["fio", "ioping", "bonnie++", "dbench", "iozone"],
    },
];

/// Names of the worlds of a command and of a recording.
const COMMAND: &str = "command";
const RECORDING: &str = "recording";
/// Begins the world of an import of one format.
const IMPORT_OF: &str = "import of ";
/// Before a world in which a finding has nothing to say.
const NOT: &str = "not ";

/// The worlds of a header, with `;` between them; which one there is not as a message.
pub(super) fn parse(value: &str) -> Result<Vec<String>, String> {
    let is_known = |name: &str| {
        let name = name.strip_prefix(NOT).unwrap_or(name);
        [COMMAND, RECORDING].contains(&name)
            || name.starts_with(IMPORT_OF)
            || WORLDS.iter().any(|world| world.name == name)
    };
    let one = |name: &str| match is_known(name) {
        true => Ok(name.to_owned()),
        false => {
            let known: Vec<&str> = WORLDS.iter().map(|world| world.name).collect();
            Err(format!("world: `{name}` is not one of {COMMAND}, {RECORDING}, {}, import of FORMAT", known.join(", ")))
        }
    };
    value.split(';').map(|name| one(name.trim())).collect()
}

/// Whether a run is of the world that is called `name`.
fn is_of(manifest: &Manifest, name: &str) -> bool {
    let is_read_as = |format: &str| manifest.inputs.iter().any(|input| input.format.as_deref() == Some(format));
    if let Some(format) = name.strip_prefix(IMPORT_OF) {
        return is_read_as(format);
    }
    match name {
        RECORDING => manifest.kind != IMPORT,
        COMMAND => manifest.kind != IMPORT && !manifest.command.is_empty(),
        name => WORLDS.iter().filter(|world| world.name == name).any(|world| world.is_of(manifest, &is_read_as)),
    }
}

impl World {
    fn is_of(&self, manifest: &Manifest, is_read_as: &dyn Fn(&str) -> bool) -> bool {
        let has = |table: &str| match table.strip_suffix('*') {
            Some(begin) => manifest.files.iter().filter_map(|file| file.table.as_ref()).any(|t| t.starts_with(begin)),
            None => manifest.file(table).is_some(),
        };
        let program = manifest.command.first().and_then(|word| word.rsplit('/').next());
        self.tables.iter().any(|table| has(table))
            || self.formats.iter().any(|format| is_read_as(format))
            || program.is_some_and(|program| self.programs.contains(&program))
    }
}

impl Finding {
    /// Whether it has something to say about a run.
    pub(super) fn is_about(&self, manifest: &Manifest) -> bool {
        let (without, within): (Vec<&str>, Vec<&str>) =
            self.world.iter().map(String::as_str).partition(|name| name.starts_with(NOT));
        let is_of = |name: &&str| is_of(manifest, name.strip_prefix(NOT).unwrap_or(name));
        !without.iter().any(is_of) && (within.is_empty() || within.iter().any(is_of))
    }
}

impl Engine {
    /// Leaves out what a finding found in runs of worlds that it does not know.
    pub(super) fn keep_to_world(&self, finding: &Finding, found: &mut Vec<Occurrence>) -> Result<(), QueryError> {
        if finding.world.is_empty() || found.is_empty() {
            return Ok(());
        }
        let mut kept = Vec::with_capacity(found.len());
        for occurrence in found.drain(..) {
            let is_meant = match RunId::parse(&occurrence.run) {
                Some(run) => finding.is_about(&self.store().run(&run)?.manifest),
                None => true,
            };
            if is_meant {
                kept.push(occurrence);
            }
        }
        *found = kept;
        Ok(())
    }
}
