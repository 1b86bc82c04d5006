//! `binary`: which programs a recording is about, and how they were built: the command's, and those of the database servers
//! that run here. Read once, at the start, from headers and notes of their files.

use fenxi_binary::{Looked, facts, look, process};
use fenxi_model::{
    Rows,
    catalog::text::{self, TABLE},
};
use fenxi_procfs::{
    Processes,
    servers::{Server, System},
};

use crate::{Collector, Root, Source, SourceError, Spec, Take, Tick};

/// The source, for a recording without a command.
pub static SOURCE: Binaries = Binaries { command: None };

static SPEC: Spec = Spec {
    name: "binary",
    summary: "programs of the command and of database servers: build-id, compiler, allocator, libraries; at the start",
    tables: &[&TABLE],
    take: Take::StartAndEnd,
    default: true,
    live: false,
};

/// The topic of the facts.
const TOPIC: &str = "binary";

/// The command that a recording runs, as the loader will see it.
#[derive(Clone, Debug)]
pub struct CommandFile {
    /// Its file.
    pub path: String,
    /// `LD_LIBRARY_PATH`.
    pub library_path: String,
    /// `LD_PRELOAD`.
    pub preload: String,
}

/// Collects facts of the topic `binary`.
#[derive(Clone, Debug)]
pub struct Binaries {
    /// The command, if there is one.
    pub command: Option<CommandFile>,
}

impl Source for Binaries {
    fn spec(&self) -> &'static Spec {
        &SPEC
    }

    fn start(&self, root: &Root) -> Result<Box<dyn Collector>, SourceError> {
        Ok(Box::new(Reader { root: root.clone(), command: self.command.clone() }))
    }
}

struct Reader {
    root: Root,
    command: Option<CommandFile>,
}

impl Collector for Reader {
    fn sample(&mut self, tick: Tick, rows: &mut Rows) -> Result<(), SourceError> {
        // Files of a saved copy of /proc and /sys are those of another machine.
        if tick.dt.is_some() || !self.root.is_live() {
            return Ok(());
        }
        if let Some(CommandFile { path, library_path, preload }) = &self.command {
            let looked = look(&self.root, path, (library_path, preload), fenxi_binary::FACTS);
            // A script is no program, but it is the same or not.
            report("command", &looked.unwrap_or_else(|_| Looked::other(&self.root, path)), tick, rows);
        }
        let processes = Processes::of(&self.root);
        let servers = Server::running(&processes, None);
        let alone = |system: System| servers.iter().filter(|server| server.system == system).count() == 1;
        for server in &servers {
            let mut name = server.system.name().to_owned();
            if !alone(server.system) {
                name = format!("{name} {}", server.dir.display());
            }
            let Some(pid) = server.pids.first() else { continue };
            match process(&processes, *pid, fenxi_binary::FACTS) {
                Ok(looked) => report(&name, &looked, tick, rows),
                Err(error) => {
                    rows.note("", None, &format!("the program of {name} (process {pid}) is unknown: {error}"))
                }
            }
        }
        Ok(())
    }
}

fn report(whose: &str, looked: &Looked, tick: Tick, rows: &mut Rows) {
    for (name, value) in facts(looked) {
        let mut row = rows.row(&TABLE, tick.t, None);
        row.str(text::topic, TOPIC)
            .str(text::name, format!("{whose} {name}").as_str())
            .text(text::value, value.as_str());
    }
    // Pairs for the finding `asked-not-in-effect`.
    for preload in &looked.preload {
        let name = format!("{whose} preload {}", preload.name);
        for (topic, value) in [("asked", true), ("in effect", preload.is_loaded)] {
            let value = if value { "loaded" } else { "not loaded" };
            rows.row(&TABLE, tick.t, None)
                .str(text::topic, topic)
                .str(text::name, name.as_str())
                .text(text::value, value);
        }
    }
    for note in &looked.notes {
        rows.note("", None, &format!("{whose}: {note}"));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Machine, Observed};

    #[test]
    fn a_saved_copy_has_no_programs() {
        let machine = Machine::new();
        machine.put("/proc/stat", "cpu 1 2 3\n");
        assert_eq!(machine.start(&SOURCE).tick(None).count("text"), 0);
    }

    #[test]
    fn the_programs_of_a_recording_are_read_at_its_start_only() {
        let path = std::env::current_exe().unwrap().to_string_lossy().into_owned();
        let command =
            CommandFile { path: path.clone(), library_path: String::new(), preload: "/no/such.so".to_owned() };
        let mut collector = Binaries { command: Some(command) }.start(&Root::live()).unwrap();
        let mut at = |t, dt| {
            let mut rows = Rows::new("h");
            collector.sample(Tick::new(fenxi_model::Micros(t), dt), &mut rows).unwrap();
            Observed::of(rows)
        };
        let seen = at(1, None);
        let value = |name: &str| seen.text("text", "value", &[TOPIC, name]);
        assert_eq!(value("command file"), Some(path));
        assert!(value("command compiler").unwrap().contains("rustc"));
        assert_eq!(value("command preload not loaded").as_deref(), Some("/no/such.so"));
        let preload = |topic: &str| seen.text("text", "value", &[topic, "command preload /no/such.so"]);
        assert_eq!([preload("asked"), preload("in effect")].map(Option::unwrap), ["loaded", "not loaded"]);
        assert!(value("command libraries").unwrap().contains("libc.so.6 => /"));
        assert_eq!(at(2, Some(1.0)).count("text"), 0);
    }
}
