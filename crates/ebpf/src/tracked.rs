//! Process filter of observers.

use fenxi_procfs::{Processes, Root};
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
    /// Whom options ask for.
    pub(crate) fn by(options: &Options) -> Tracked {
        match options.processes(PID.name) {
            [] if options.command_only => Tracked::Children,
            [] => Tracked::All,
            pids => Tracked::Processes(pids.to_vec()),
        }
    }

    /// Tells the program, before it is loaded, whom it observes.
    pub(crate) fn set(&self, loader: &mut Loader) -> Result<(), EbpfError> {
        loader.set("own_tgid", std::process::id())?;
        loader.set("only_tracked", u32::from(!matches!(self, Tracked::All)))?;
        if matches!(self, Tracked::All) {
            loader.leave_out(|program| program.starts_with("follow_"));
        }
        Ok(())
    }

    /// Tells the program, once it is attached, of the processes that exist already.
    pub(crate) fn begin(&self, loaded: &Loaded) -> Result<(), EbpfError> {
        let Tracked::Processes(pids) = self else { return Ok(()) };
        let map = loaded.map("tracked")?;
        let processes = Processes::of(&Root::live());
        for pid in pids {
            if !processes.has(*pid) {
                return Err(EbpfError::Target(format!("there is no process {pid}")));
            }
            map.update(&pid.to_ne_bytes(), &RUNNING.to_ne_bytes(), MapFlags::ANY)
                .map_err(|source| EbpfError::Map { map: "tracked".to_owned(), source })?;
        }
        Ok(())
    }
}
