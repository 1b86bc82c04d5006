//! Database servers that run here, and where in their programs queries begin and end.

use std::{
    fmt::Write,
    path::{Path, PathBuf},
};

use fenxi_procfs::{
    Processes, Root,
    reading::{self, PROGRAM_LIMIT},
    servers::{Server, System},
    sockets::listeners,
};
use fs_err as fs;
use object::{Object, ObjectSymbol};

use super::dispatch::{Order, is_dispatch};
use crate::{
    EbpfError, Loaded,
    bpf::Probe,
    elf::{Usdt, file_offset, place_of_register, usdt},
};

/// Which servers are observed.
#[derive(Clone, Debug, Default)]
pub enum Servers {
    /// All that run, those that begin later included.
    #[default]
    All,
    /// All of a kind, of a port, or both.
    Those {
        /// Of this kind only.
        system: Option<System>,
        /// That listens at this TCP port only.
        port: Option<u16>,
    },
    /// Servers of these processes; of a PostgreSQL session's process this session only.
    Processes(Vec<u32>),
}

impl Servers {
    /// Reads what people write: `postgres`, `mariadb`, `mysql`, with `:PORT`, or the server's URL.
    ///
    /// # Errors
    /// When it is none of these.
    pub fn parse(text: &str) -> Result<Servers, String> {
        let (kind, rest) = text.split_once("://").or_else(|| text.split_once(':')).unwrap_or((text, ""));
        let system = match kind {
            "postgres" | "postgresql" => Some(System::Postgres),
            "mariadb" | "mysql" => Some(System::Mariadb),
            "" => None,
            _ => {
                return Err("it is postgres, mariadb, mysql, one of them with :PORT, or a URL of the server".to_owned());
            }
        };
        let place = rest.split(['/', '?']).next().unwrap_or("");
        let port = place.rsplit(':').next().and_then(|port| port.parse().ok());
        Ok(Servers::Those { system, port })
    }
}

/// A server, or one session of it.
#[derive(Clone, Debug)]
pub(super) struct Found {
    /// The process by which it is known: the server's, or the session's.
    pub pid: u32,
    /// As written in tables: `postgres:5432`.
    pub name: String,
    /// Its program, by a path that leads to it from here.
    pub program: PathBuf,
}

/// The servers that are wanted and run now.
pub(super) fn find(wanted: &Servers) -> Result<Vec<Found>, EbpfError> {
    let processes = Processes::of(&Root::live());
    let system = if let Servers::Those { system, .. } = wanted { *system } else { None };
    let running = Server::running(&processes, system);
    let found = |server: &Server| {
        let pid = *server.pids.first()?;
        let ports = ports(&processes, pid);
        Some((Found { pid, name: name(&processes, pid, &ports), program: processes.path(pid, "exe") }, ports))
    };
    match wanted {
        Servers::All => Ok(running.iter().filter_map(found).map(|(found, _)| found).collect()),
        Servers::Those { port, .. } => {
            let found = running.iter().filter_map(found);
            Ok(found.filter(|(_, ports)| port.is_none_or(|port| ports.contains(&port))).map(|(f, _)| f).collect())
        }
        Servers::Processes(pids) => {
            let one = |pid: &u32| {
                if !processes.has(*pid) {
                    return Err(EbpfError::Target(format!("there is no process {pid}")));
                }
                let of = running.iter().find(|server| server.pids.contains(pid)).and_then(|server| server.pids.first());
                let mut found = Found {
                    pid: *pid,
                    name: name(&processes, *of.unwrap_or(pid), &ports(&processes, *of.unwrap_or(pid))),
                    program: processes.path(*pid, "exe"),
                };
                if of.is_some_and(|of| of != pid) {
                    let _ = write!(found.name, "[{pid}]");
                }
                Ok(found)
            };
            pids.iter().map(one).collect()
        }
    }
}

/// A server as it is in tables, by its first process.
pub(crate) fn name_of(processes: &Processes, pid: u32) -> String {
    name(processes, pid, &ports(processes, pid))
}

/// Its program's name and its first port, or its number where it has none.
fn name(processes: &Processes, pid: u32, ports: &[u16]) -> String {
    let comm = processes.comm(pid).unwrap_or_default();
    match ports.first() {
        Some(port) => format!("{comm}:{port}"),
        None => format!("{comm}[{pid}]"),
    }
}

/// TCP ports at which a process listens.
fn ports(processes: &Processes, pid: u32) -> Vec<u16> {
    let own = processes.sockets(pid);
    let table = |file: &str| processes.root().read_text(&format!("/proc/{pid}/net/{file}")).unwrap_or_default();
    let mut ports: Vec<u16> = ["tcp", "tcp6"].iter().flat_map(|file| ports_of(&table(file), &own)).collect();
    ports.sort_unstable();
    ports.dedup();
    ports
}

/// Ports of those of `sockets` (inodes) that listen, from a table as /proc/net/tcp.
fn ports_of(table: &str, sockets: &[u64]) -> Vec<u16> {
    listeners(table).filter(|(_, inode)| sockets.contains(inode)).map(|(address, _)| address.port()).collect()
}

/// Where queries begin and end in a server's program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Places {
    /// MariaDB and MySQL.
    Dispatch {
        /// Of `dispatch_command`.
        dispatch: u64,
        /// The order of its arguments.
        order: Order,
        /// Where a prepared statement gets its number.
        statement: Option<u64>,
        /// Of the query cache's answer.
        cache: Option<u64>,
    },
    /// PostgreSQL: where it reports its activity, begins to execute, begins and ends to wait for a lock.
    Postgres(Vec<Place>),
}

/// Where a program of ours is put.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Place {
    /// Which program.
    ours: &'static str,
    at: Usdt,
    at_return: bool,
}

impl Places {
    /// Looks for them in a program's file.
    pub fn find(program: &Path) -> Result<Places, EbpfError> {
        let target = |why: String| EbpfError::Target(format!("{}: {why}", shown(program).display()));
        let bytes = reading::read(program, PROGRAM_LIMIT).map_err(|error| target(error.to_string()))?;
        let file = object::File::parse(&*bytes).map_err(|error| target(error.to_string()))?;
        let functions = Functions { file: &file, bytes: &bytes };
        if let Some(places) = by_probes(&functions) {
            return Ok(Places::Postgres(places));
        }
        let at = |begin: &str| functions.find(|name| name.starts_with(begin)).map(|(_, at)| at);
        if let Some((name, dispatch)) = functions.find(is_dispatch) {
            return Ok(Places::Dispatch {
                dispatch,
                order: Order::from_symbol(&name).map_err(target)?,
                statement: at("_ZN9StatementC2EP3LEXP11st_mem_rootN11Query_arena10enum_stateEm"),
                cache: at("_ZN11Query_cache21send_result_to_client"),
            });
        }
        if let Some(places) = by_functions(&functions) {
            return Ok(Places::Postgres(places));
        }
        Err(target(
            "neither dispatch_command (MariaDB, MySQL) nor pgstat_report_activity (PostgreSQL) is among its symbols; a \
             program with its symbols or its debug package is needed"
                .to_owned(),
        ))
    }

    /// Attaches the programs; `cache`: also to the query cache. Gives what cannot be seen.
    pub fn attach(&self, loaded: &mut Loaded, program: &Path, pid: u32, cache: bool) -> Result<Vec<String>, EbpfError> {
        let mut notes = Vec::new();
        match self {
            Places::Dispatch { dispatch, order, statement, cache: of_cache } => {
                probe(loaded, order.program(), program, Some(pid), *dispatch, false)?;
                probe(loaded, "response", program, Some(pid), *dispatch, true)?;
                match statement {
                    Some(place) => probe(loaded, "statement_made", program, Some(pid), *place, false)?,
                    None => {
                        notes.push("texts of prepared statements are not seen: no symbol has their numbers".to_owned())
                    }
                }
                match of_cache {
                    Some(place) if cache => probe(loaded, "cache_asked", program, Some(pid), *place, true)?,
                    None if cache => notes.push("the server has no query cache".to_owned()),
                    _ => {}
                }
            }
            Places::Postgres(places) => {
                for place in places {
                    attach(loaded, program, None, place)?;
                }
                if !places.iter().any(|place| place.ours == "postgres_lock_begin") {
                    notes.push("waits for locks of tables and rows are counted under network".to_owned());
                }
            }
        }
        Ok(notes)
    }

    /// Returns true if what is attached serves every process of the program.
    pub fn for_all(&self) -> bool {
        !matches!(self, Places::Dispatch { .. })
    }
}

/// The place of a text at `pgstat_report_activity(state, text)`.
const SECOND_ARGUMENT: &str = if cfg!(target_arch = "x86_64") { "8@%rsi" } else { "8@x1" };

/// Queries that fail before they are executed are queries, too; this is called for them.
const FAILED: &str = "AbortCurrentTransaction";

/// By the probes of its authors; None when it was built without them.
fn by_probes(functions: &Functions<'_>) -> Option<Vec<Place>> {
    let mut places = Vec::new();
    for (ours, name) in [
        ("postgres_activity", "statement__status"),
        ("postgres_executes", "query__execute__start"),
        ("postgres_executes", "transaction__abort"),
        ("postgres_lock_begin", "lock__wait__start"),
        ("postgres_lock_end", "lock__wait__done"),
    ] {
        places.extend(usdt(functions.file, "postgresql", name).into_iter().map(|at| Place {
            ours,
            at,
            at_return: false,
        }));
    }
    places.extend(functions.place("postgres_executes", FAILED, false));
    let of = |ours: &'static str| places.iter().filter(move |place| place.ours == ours);
    let reported = of("postgres_activity").all(|place| place_of_register(&place.at.arguments).is_some());
    let whole = of("postgres_activity").count() > 0 && of("postgres_executes").count() > 1;
    (reported && whole).then_some(places)
}

fn by_functions(functions: &Functions<'_>) -> Option<Vec<Place>> {
    let mut places = Vec::new();
    for (ours, name, at_return) in [
        ("postgres_activity", "pgstat_report_activity", false),
        ("postgres_executes", "PortalRun", false),
        ("postgres_executes", FAILED, false),
        ("postgres_lock_begin", "ProcSleep", false),
        ("postgres_lock_end_function", "ProcSleep", true),
    ] {
        places.extend(functions.place(ours, name, at_return));
    }
    let has = |ours: &str| places.iter().any(|place| place.ours == ours);
    (has("postgres_activity") && has("postgres_executes")).then_some(places)
}

fn attach(loaded: &mut Loaded, file: &Path, pid: Option<u32>, place: &Place) -> Result<(), EbpfError> {
    let of_file = |offset: u64| usize::try_from(offset).unwrap_or(usize::MAX);
    let probe = Probe {
        file,
        pid,
        function: None,
        offset: of_file(place.at.offset),
        at_return: place.at_return,
        semaphore: place.at.semaphore.map(of_file),
    };
    loaded.attach_probe_with(place.ours, &probe, place_of_register(&place.at.arguments).unwrap_or(0))
}

fn probe(
    loaded: &mut Loaded,
    ours: &'static str,
    file: &Path,
    pid: Option<u32>,
    offset: u64,
    at_return: bool,
) -> Result<(), EbpfError> {
    let at = Usdt { offset, semaphore: None, arguments: String::new() };
    attach(loaded, file, pid, &Place { ours, at, at_return })
}

/// Target of `/proc/PID/exe`, for messages.
fn shown(program: &Path) -> PathBuf {
    fs::read_link(program).unwrap_or_else(|_| program.to_owned())
}

struct Functions<'a> {
    file: &'a object::File<'a>,
    bytes: &'a [u8],
}

impl Functions<'_> {
    /// A place in the function of this name; its argument that counts is the second one.
    fn place(&self, ours: &'static str, name: &str, at_return: bool) -> Option<Place> {
        let (_, offset) = self.find(|found| found == name)?;
        Some(Place { ours, at: Usdt { offset, semaphore: None, arguments: SECOND_ARGUMENT.to_owned() }, at_return })
    }

    /// The first function whose name is `wanted`, with where in the file a probe is put at its begin.
    fn find(&self, wanted: impl Fn(&str) -> bool) -> Option<(String, u64)> {
        /// Marks where indirect calls may go to. A probe on it would be single-stepped, at 20 times the cost of one on the
        /// `push` that follows (measured: 9.6 against 0.6 us).
        const ENDBR64: [u8; 4] = [0xf3, 0x0f, 0x1e, 0xfa];
        let mut symbols = self.file.symbols().chain(self.file.dynamic_symbols());
        let symbol = symbols.find(|s| s.is_definition() && s.name().is_ok_and(&wanted))?;
        let at = file_offset(self.file, symbol.address())?;
        let begin = self.bytes.get(usize::try_from(at).ok()?..)?;
        let skip = if begin.starts_with(&ENDBR64) { 4 } else { 0 };
        Some((symbol.name().ok()?.to_owned(), at + skip))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_is_meant_by_its_kind_its_port_or_its_url() {
        let read = |text: &str| match Servers::parse(text) {
            Ok(Servers::Those { system, port }) => (system, port),
            other => panic!("{other:?}"),
        };
        assert_eq!(read("postgres"), (Some(System::Postgres), None));
        assert_eq!(read("mysql:3307"), (Some(System::Mariadb), Some(3307)));
        assert_eq!(read("postgres://bob:pw@localhost:5433/shop?x=1"), (Some(System::Postgres), Some(5433)));
        assert_eq!(read("postgres://localhost/shop"), (Some(System::Postgres), None));
        assert!(Servers::parse("oracle").is_err());
    }

    #[test]
    fn ports_are_those_that_listen_and_are_its_own() {
        let table = "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n   \
                     0: 0100007F:1538 00000000:0000 0A 00000000:00000000 00:00000000 00000000   104        0 777 1\n   \
                     1: 0100007F:1538 0100007F:9C40 01 00000000:00000000 00:00000000 00000000   104        0 778 1\n   \
                     2: 0100007F:0CEA 00000000:0000 0A 00000000:00000000 00:00000000 00000000   104        0 779 1\n";
        assert_eq!(ports_of(table, &[777, 778]), [5432]);
    }
}
