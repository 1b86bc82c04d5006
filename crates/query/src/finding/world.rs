//! The worlds of a run: what it is of. A finding that names worlds applies to these only, so that no finding is about the
//! transactions of a disk benchmark.

use fenxi_model::RunId;
use fenxi_store::{IMPORT, Manifest};

use super::{Finding, Occurrence};
use crate::{Engine, QueryError};

/// A world, and what makes a run one of it.
struct World {
    name: &'static str,
    /// Tables, of which it has one.
    tables: &'static [&'static str],
    /// Formats, in one of which an input was.
    formats: &'static [&'static str],
}

const fn world(name: &'static str, tables: &'static [&'static str], formats: &'static [&'static str]) -> World {
    World { name, tables, formats }
}

const WORLDS: &[World] = &[
    world("database", &["db", "db_wait", "db_session", "db_statement", "db_setting", "db_table", "query"], &[]),
    world("machine", &["cpu", "sched", "pressure", "mem", "vm", "disk", "net", "process"], &[]),
    world(
        "database load",
        &["query"],
        &[
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
    ),
    world(
        "http load",
        &[],
        &[
            "wrk", "ab", "hey", "oha", "jmeter", "k6", "vegeta", "siege", "locust", "ghz", "gatling", "h2load",
            "httperf",
        ],
    ),
    world(
        "storage bench",
        &[],
        &["fio", "fio-log", "fio-terse", "fio-hist-log", "dd", "ioping", "bonnie", "dbench", "stream"],
    ),
];

/// What a command is called, and a recording.
const COMMAND: &str = "command";
const RECORDING: &str = "recording";
/// Begins the world of an import of one format.
const IMPORT_OF: &str = "import of ";

/// The worlds of a header, with `;` between them; which one there is not as a message.
pub(super) fn parse(value: &str) -> Result<Vec<String>, String> {
    let is_known = |name: &str| {
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
        name => WORLDS.iter().filter(|world| world.name == name).any(|world| {
            world.tables.iter().any(|table| manifest.file(table).is_some())
                || world.formats.iter().any(|format| is_read_as(format))
        }),
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
                Some(run) => {
                    let manifest = &self.store().run(&run)?.manifest;
                    finding.world.iter().any(|name| is_of(manifest, name))
                }
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
