//! Process filter of observers.

use fenxi_procfs::{
    Processes, Root,
    servers::{Server, System},
};
use fenxi_source::Options;
use libbpf_rs::{MapCore, MapFlags};

use crate::{EbpfError, Loaded, Loader, observer::PID};

/// Which processes an observer observes; itself never.
#[derive(Clone, Debug, Default)]
pub enum Tracked {
    /// Every process.
    #[default]
    All,
    /// These, and the children that they will have.
    Processes(Vec<u32>),
    /// The programs that this process will start, from their first instruction on, and their children.
    Children,
}

/// `TRACKED_RUNNING` of `bpf/common.h`.
const RUNNING: u32 = 2;

impl Tracked {
    /// The processes that options ask for.
    pub(crate) fn by(options: &Options) -> Tracked {
        match options.processes(PID.name) {
            [] if options.command_only => Tracked::Children,
            [] => Tracked::All,
            pids => Tracked::Processes(with_sessions(&Processes::of(&Root::live()), pids)),
        }
    }

    /// Sets, before the program is loaded, which processes it observes.
    pub(crate) fn set(&self, loader: &mut Loader) -> Result<(), EbpfError> {
        loader.set("own_tgid", std::process::id())?;
        loader.set("only_tracked", u32::from(!matches!(self, Tracked::All)))?;
        if matches!(self, Tracked::All) {
            loader.leave_out(|program| program.starts_with("follow_"));
        }
        Ok(())
    }

    /// Passes, once the program is attached, the processes that exist already.
    pub(crate) fn begin(&self, loaded: &Loaded) -> Result<(), EbpfError> {
        let Tracked::Processes(pids) = self else { return Ok(()) };
        let map = loaded.map("tracked")?;
        let processes = Processes::of(&Root::live());
        // Sessions that began meanwhile are children that were not followed yet.
        for pid in &with_sessions(&processes, pids) {
            if !processes.has(*pid) {
                return Err(EbpfError::Target(format!("there is no process {pid}")));
            }
            map.update(&pid.to_ne_bytes(), &RUNNING.to_ne_bytes(), MapFlags::ANY)
                .map_err(|source| EbpfError::Map { map: "tracked".to_owned(), source })?;
        }
        Ok(())
    }
}

/// These processes, and of a PostgreSQL server the sessions that it has: who names its first process means the server.
fn with_sessions(processes: &Processes, pids: &[u32]) -> Vec<u32> {
    let mut all = pids.to_vec();
    for server in Server::running(processes, Some(System::Postgres)) {
        if server.pids.first().is_some_and(|first| pids.contains(first)) {
            let new: Vec<u32> = server.pids.into_iter().filter(|pid| !all.contains(pid)).collect();
            all.extend(new);
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_process_of_a_server_means_all_of_its_sessions() {
        let dir = tempfile::tempdir().unwrap();
        for (pid, parent, command) in [
            (10, 1, "/usr/bin/postgres\0-D\0/data\0"),
            (11, 10, "postgres: checkpointer\0"),
            (12, 10, "postgres: ann shop idle\0"),
            (20, 1, "/usr/bin/postgres\0-D\0/other\0"),
            (21, 20, "postgres: bob shop idle\0"),
        ] {
            let folder = dir.path().join(format!("proc/{pid}"));
            fs_err::create_dir_all(&folder).unwrap();
            fs_err::write(folder.join("comm"), "postgres\n").unwrap();
            fs_err::write(folder.join("cmdline"), command).unwrap();
            let stat = format!("{pid} (postgres) S {parent}{}", " 0".repeat(48));
            fs_err::write(folder.join("stat"), stat).unwrap();
        }
        let processes = Processes::of(&Root::saved(dir.path()));
        let of = |pids: &[u32]| {
            let mut all = with_sessions(&processes, pids);
            all.sort_unstable();
            all
        };
        assert_eq!(of(&[10]), [10, 11, 12]);
        assert_eq!(of(&[12]), [12], "a session is itself");
        assert_eq!(of(&[10, 12, 99]), [10, 11, 12, 99]);
    }
}
