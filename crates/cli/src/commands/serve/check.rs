//! `fenxi serve --check`: whether the server could start, what would hold it, and what would be open to which clients. Nothing is served
//! and nothing changed.

use std::{path::Path, process::ExitCode, time::Duration};

use fenxi_procfs::{Root, cgroup};
use fenxi_query::{Engine, Options};
use fenxi_serve::{Access, Limits, Tls, could_listen};
use fenxi_store::Store;
use rustix::{
    fs::{self, Access as Rights},
    process::{Resource, getrlimit},
};
use serde_json::{Map, Value, json};

use super::{FILES, ServeArgs, access, limits, tls};
use crate::{options::Global, print, stores};

/// Files that each connection needs: its own, and one of the store.
const FILES_EACH: u64 = 2;

/// Findings, in the order in which they are printed.
#[derive(Default)]
struct Found {
    sections: Vec<(&'static str, Vec<(&'static str, Value)>)>,
    /// Why it could not serve.
    problems: Vec<String>,
    /// Protections weaker than they could be.
    warnings: Vec<String>,
}

/// Prints what a server with these arguments would be; exit status 1 when it could not serve.
pub(super) fn run(global: &Global, args: &ServeArgs) -> anyhow::Result<ExitCode> {
    let mut found = Found::default();
    let tls = found.or_problem(tls(args)).flatten();
    let access = found.or_problem(access(args));
    let limits = found.or_problem(limits(args)).unwrap_or_default();
    found.door(args, access.as_ref(), tls.as_ref());
    found.may(args, access.as_ref(), tls.as_ref());
    found.store(global, args, &limits);
    found.kernel(&limits);
    found.limits(&limits);
    let could_serve = found.problems.is_empty();
    if args.form.is_json() {
        print::json(&format!("{:#}\n", found.json()))?;
    } else {
        print::text(&found.text())?;
    }
    Ok(if could_serve { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Who gets in.
fn who(access: Option<&Access>, tls: Option<&Tls>) -> &'static str {
    match (access, tls.is_some_and(Tls::asks_clients)) {
        (None, _) => "no one: the tokens cannot be read",
        (Some(Access::Open), false) => "everybody on this machine",
        (Some(Access::Open), true) => "clients with a certificate",
        (Some(Access::Tokens(_)), false) => "clients with a token",
        (Some(Access::Tokens(_)), true) => "clients with a certificate and a token",
    }
}

impl Found {
    fn or_problem<T>(&mut self, result: anyhow::Result<T>) -> Option<T> {
        result.map_err(|error| self.problems.push(format!("{error:#}"))).ok()
    }

    fn door(&mut self, args: &ServeArgs, access: Option<&Access>, tls: Option<&Tls>) {
        for address in &args.listen {
            if let Some(access) = access
                && let Err(error) = could_listen(*address, access, tls)
            {
                self.problems.push(error.to_string());
            }
        }
        let is_clear = tls.is_none() && args.listen.iter().any(|address| !address.ip().is_loopback());
        if is_clear {
            self.warnings.push("without --tls-cert, tokens and responses cross the network unencrypted".to_owned());
        }
        let encryption = match tls.map(Tls::asks_clients) {
            None => "none",
            Some(false) => "TLS",
            Some(true) => "TLS, with certificates of clients",
        };
        let listen: Vec<String> = args.listen.iter().map(ToString::to_string).collect();
        let door = vec![
            ("listen", json!(listen)),
            ("names", json!(args.host)),
            ("encryption", json!(encryption)),
            ("open_to", json!(who(access, tls))),
        ];
        self.sections.push(("door", door));
    }

    fn may(&mut self, args: &ServeArgs, access: Option<&Access>, tls: Option<&Tls>) {
        let who = who(access, tls);
        let changes = if args.read_only { "no one (--read-only)" } else { who };
        let carried = if args.no_carried { "no one (--no-carried)" } else { "imported runs, about themselves" };
        let actions = [("see_runs", who), ("ask_sql", who), ("ask_carried_questions", carried)];
        let changing = ["import", "change_labels_and_questions", "delete_runs"];
        let all = actions.into_iter().chain(changing.map(|action| (action, changes)));
        self.sections.push(("may", all.map(|(action, who)| (action, json!(who))).collect()));
    }

    /// The store, and what holds the processes that answer from it.
    fn store(&mut self, global: &Global, args: &ServeArgs, limits: &Limits) {
        let path = stores::path(global).unwrap_or_default();
        let mut rows = vec![("path", json!(path.to_string_lossy()))];
        if !path.exists() && !args.read_only {
            rows.push(("state", json!("there is none yet; the server makes it")));
            self.warnings.push("what confines statements is known when there is a store".to_owned());
        } else if let Some(store) = self.or_problem(stores::open_as_it_is(global)) {
            if !args.read_only && fs::access(&path, Rights::WRITE_OK).is_err() {
                self.warnings
                    .push(format!("{} cannot be written; --read-only makes that known to clients", path.display()));
            }
            rows.push(("statements_confined_by", json!(self.confined(&store, args, limits))));
        }
        self.sections.push(("store", rows));
    }

    /// Confinement of a worker here: one is started and asked.
    fn confined(&mut self, store: &Store, args: &ServeArgs, limits: &Limits) -> Vec<String> {
        let options = Options { backend: args.engine.backend(), ..limits.one_engine(true) };
        let confined = Engine::open(store, &options).and_then(|engine| engine.confined());
        let confined = self.or_problem(confined.map_err(Into::into)).unwrap_or_default();
        self.warnings.extend(confined.iter().filter(|by| by.starts_with("no ")).cloned());
        confined
    }

    fn kernel(&mut self, limits: &Limits) {
        let memory = memory_limit(&Root::live());
        match memory {
            None => self.warnings.push("no cgroup bounds the memory of all processes together (MemoryMax=)".to_owned()),
            Some(bytes) if bytes < limits.memory_bytes => {
                self.warnings.push(format!("the cgroup has {bytes} bytes of memory, less than --memory"));
            }
            Some(_) => {}
        }
        // The server raises its own limit as far as it may.
        let files = getrlimit(Resource::Nofile).maximum.map_or(FILES, |most| most.min(FILES));
        let connections = (files / FILES_EACH).min(limits.connections as u64);
        let rows = vec![
            ("cgroup_memory_bytes", json!(memory)),
            ("address_space_bytes", json!(getrlimit(Resource::As).current)),
            ("data_bytes", json!(getrlimit(Resource::Data).current)),
            ("open_files", json!(files)),
            ("connections", json!(connections)),
        ];
        self.sections.push(("kernel", rows));
    }

    fn limits(&mut self, limits: &Limits) {
        let seconds = |time: Duration| json!(time.as_secs_f64());
        let rows = vec![
            ("memory_bytes", json!(limits.memory_bytes)),
            ("time_s", seconds(limits.time)),
            ("rows", json!(limits.rows)),
            ("engines", json!(limits.engines)),
            ("queue", json!(limits.queue)),
            ("upload_bytes", json!(limits.upload_bytes)),
            ("import_time_s", seconds(limits.import_time)),
            ("imports_at_once", json!(limits.imports)),
        ];
        self.sections.push(("limits", rows));
    }

    fn json(&self) -> Value {
        let mut all = Map::new();
        all.insert("could_serve".to_owned(), json!(self.problems.is_empty()));
        all.insert("problems".to_owned(), json!(self.problems));
        all.insert("warnings".to_owned(), json!(self.warnings));
        for (section, rows) in &self.sections {
            let rows: Map<String, Value> =
                rows.iter().map(|(what, value)| ((*what).to_owned(), value.clone())).collect();
            all.insert((*section).to_owned(), Value::Object(rows));
        }
        Value::Object(all)
    }

    fn text(&self) -> String {
        let width = self.sections.iter().flat_map(|(_, rows)| rows).map(|(what, _)| what.len()).max().unwrap_or(0);
        let mut out = String::new();
        for (section, rows) in &self.sections {
            out += &format!("{}\n", title(section));
            for (what, value) in rows {
                out += &format!("  {:width$}  {}\n", what.replace('_', " "), print::visible(&shown(value)));
            }
        }
        for (kind, texts) in [("warning", &self.warnings), ("problem", &self.problems)] {
            out.extend(texts.iter().map(|text| format!("{kind}: {}\n", print::visible(text))));
        }
        out + if self.problems.is_empty() { "it could serve\n" } else { "it could not serve\n" }
    }
}

/// The title of a section, whose name is that of a key in JSON.
fn title(section: &str) -> &str {
    match section {
        "door" => "listener",
        "may" => "permissions",
        other => other,
    }
}

/// A value as people read it.
fn shown(value: &Value) -> String {
    match value {
        Value::Null => "none".to_owned(),
        Value::String(text) => text.clone(),
        Value::Array(values) if values.is_empty() => "none".to_owned(),
        Value::Array(values) => values.iter().map(shown).collect::<Vec<_>>().join(", "),
        other => other.to_string(),
    }
}

/// The smallest memory limit that a cgroup of this process, or one around it, may have; None without a limit.
fn memory_limit(root: &Root) -> Option<u64> {
    let pid = std::process::id();
    let limits = |controller: &str, file: &str| {
        let folder = cgroup::folder_of(root, pid, controller)?;
        let read = |folder: &Path| fs_err::read_to_string(folder.join(file)).ok()?.trim().parse::<u64>().ok();
        folder.ancestors().filter_map(read).min()
    };
    // Version 1 has "no limit" as a number that no machine has.
    let version1 = limits("memory", "memory.limit_in_bytes").filter(|bytes| *bytes < 1 << 60);
    limits("", "memory.max").into_iter().chain(version1).min()
}
