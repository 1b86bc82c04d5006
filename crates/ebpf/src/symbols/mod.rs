//! Symbolisation: the function that an address of a process, or of the kernel, belongs to.
//!
//! Mappings of a process are read when it is first asked about, and again when an address is in none of them. Files
//! are read once, whatever number of processes have them.

mod file;
mod kernel;
mod process;
mod watch;

use std::{collections::hash_map::Entry, sync::Arc};

use fenxi_procfs::{Processes, Root};
use rustc_hash::FxHashMap;

pub(crate) use self::process::readable;
pub use self::watch::Watched;
use self::{file::Files, kernel::Kernel, process::Process};
use crate::budget::Budget;

/// Symbol of an address: function and module.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Frame {
    /// The function, demangled; `[file]` where it has no name, `[unknown]` where not even the file is known.
    pub function: Arc<str>,
    /// Name of the file without its folder; empty where it is not known.
    pub file: Arc<str>,
    /// Bytes from the function's begin, or from the file's where the function has no name.
    pub offset: u64,
}

/// Names of what was asked about so far.
#[derive(Debug, Default)]
pub struct Symbols {
    kernel: Option<Kernel>,
    files: Files,
    processes: FxHashMap<u32, Process>,
    turn: u64,
}

/// Turns after which an ended process that no caller asks about is forgotten.
const IDLE: u64 = 30;
/// Processes that are kept where symbols are bounded.
const MOST_PROCESSES: usize = 512;
/// CPU time of bounded symbols: half a thousandth of a CPU, and this many seconds at first.
const RATE: f64 = 0.0005;
const AT_FIRST_S: f64 = 0.06;

/// The function of a process that there was no time to read.
pub(crate) const NOT_READ: &str = "[program not read]";

impl Symbols {
    /// Knows nothing yet.
    pub fn new() -> Symbols {
        Symbols::default()
    }

    /// As [`Symbols::new`], within bounds of memory and of CPU time: what is beyond them is named by its file, or [`NOT_READ`].
    pub(crate) fn bounded() -> Symbols {
        Symbols { files: Files::bounded(Budget::new(RATE, AT_FIRST_S)), ..Symbols::default() }
    }

    /// Names of files whose functions are too many, since the last time.
    pub(crate) fn left_out(&mut self) -> Vec<String> {
        std::mem::take(&mut self.files.left_out)
    }

    /// Begins a turn: a number that was another process's until now is noticed, ended processes are forgotten in time.
    pub fn turn(&mut self) {
        self.turn += 1;
        let turn = self.turn;
        self.files.turn();
        if self.files.is_bounded() {
            // One that comes back is read again.
            let idle = if self.processes.len() > MOST_PROCESSES { 2 } else { IDLE };
            return self.processes.retain(|_, process| turn - process.asked < idle);
        }
        let live = Processes::of(&Root::live());
        self.processes.retain(|pid, process| turn - process.asked < IDLE || live.began(*pid).is_some());
    }

    /// The function of process `pid` that `address` is in. Of a return address, ask for the byte before: the call may
    /// be the function's last instruction.
    pub fn resolve(&mut self, pid: u32, address: u64) -> Frame {
        let (turn, budget) = (self.turn, &mut self.files.budget);
        let process = match self.processes.entry(pid) {
            Entry::Occupied(known) => known.into_mut(),
            Entry::Vacant(place) => match budget.spend(|| Process::read(pid, turn)) {
                Some(process) => place.insert(process),
                None => return Frame { function: NOT_READ.into(), file: "".into(), offset: address },
            },
        };
        if process.asked != turn {
            process.asked = turn;
            // An ended process is known as it was; a new one of its number is read anew.
            if Processes::of(&Root::live()).began(pid).is_some_and(|start| Some(start) != process.start)
                && let Some(read) = budget.spend(|| Process::read(pid, turn))
            {
                *process = read;
            }
        }
        process.resolve(pid, address, turn, &mut self.files)
    }

    /// Reads what a process has mapped now, so that its addresses have names when it has ended.
    pub fn meet(&mut self, pid: u32) {
        let turn = self.turn;
        let Some(process) = self.files.budget.spend(|| Process::read(pid, turn)) else { return };
        // If it has ended already, what was known of it is all there is.
        if !process.is_unknown() || !self.processes.contains_key(&pid) {
            self.processes.insert(pid, process);
        }
    }

    /// The variable of process `pid` that `address` is in; None where it is in none that has a name.
    pub fn variable(&mut self, pid: u32, address: u64) -> Option<Frame> {
        let turn = self.turn;
        let process = self.processes.entry(pid).or_insert_with(|| Process::read(pid, turn));
        process.variable(pid, address, &mut self.files)
    }

    /// The function of the kernel that `address` is in.
    pub fn kernel(&mut self, address: u64) -> Frame {
        self.kernel.get_or_insert_with(Kernel::read).resolve(address)
    }

    /// Returns true if nothing could be read about the process, as it had ended before it was first met or asked about.
    pub fn had_ended(&self, pid: u32) -> bool {
        self.processes.get(&pid).is_some_and(|process| process.is_unknown() && process.start.is_none())
    }
}

/// A name as its authors wrote it, without the parameters of its type.
fn demangled(name: &str) -> Arc<str> {
    if let Ok(rust) = rustc_demangle::try_demangle(name) {
        return format!("{rust:#}").into();
    }
    if name.starts_with("_Z") {
        let options = cpp_demangle::DemangleOptions::new().no_params().no_return_type().hide_expression_literal_types();
        if let Some(text) = cpp_demangle::Symbol::new(name).ok().and_then(|s| s.demangle_with_options(&options).ok()) {
            return text.into();
        }
    }
    // Versions of shared objects are part of their symbols: `memcpy@@GLIBC_2.14`.
    name.split('@').next().unwrap_or(name).into()
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU64, Ordering};

    use super::*;

    #[test]
    fn names_are_as_their_authors_wrote_them() {
        assert_eq!(&*demangled("_Z16dispatch_command19enum_server_commandP3THDPcjb"), "dispatch_command");
        assert_eq!(
            &*demangled("_ZN4core3ptr8non_null16NonNull$LT$T$GT$6as_ptr17h0123456789abcdefE"),
            "core::ptr::non_null::NonNull<T>::as_ptr"
        );
        assert_eq!(&*demangled("memcpy@@GLIBC_2.14"), "memcpy");
        assert_eq!(&*demangled("main"), "main");
    }

    /// A variable that begins as 0 is in no file, another does.
    #[test]
    fn variables_of_this_process_are_found() {
        static NOTHING_YET: AtomicU64 = AtomicU64::new(0);
        static SOMETHING: AtomicU64 = AtomicU64::new(7);
        assert_eq!(NOTHING_YET.load(Ordering::Relaxed) + SOMETHING.load(Ordering::Relaxed), 7);
        let (mut symbols, pid) = (Symbols::new(), std::process::id());
        let mut name = |address: usize| symbols.variable(pid, address as u64).map(|frame| frame.function);
        let (empty, full) = (name(&raw const NOTHING_YET as usize), name(&raw const SOMETHING as usize));
        assert!(empty.as_deref().is_some_and(|name| name.ends_with("::NOTHING_YET")), "{empty:?}");
        assert!(full.as_deref().is_some_and(|name| name.ends_with("::SOMETHING")), "{full:?}");
        let heap = Box::new(1u64);
        assert_eq!(name(&raw const *heap as usize), None);
    }

    #[test]
    fn a_function_of_this_process_is_found() {
        let mut symbols = Symbols::new();
        symbols.turn();
        let address = a_function_of_this_process_is_found as *const () as usize as u64;
        let frame = symbols.resolve(std::process::id(), address);
        assert!(frame.function.contains("a_function_of_this_process_is_found"), "{frame:?}");
        assert_eq!(frame.offset, 0);
        let frame = symbols.resolve(std::process::id(), 8);
        assert_eq!(&*frame.function, "[unknown]");
        assert!(!symbols.had_ended(std::process::id()));
        symbols.resolve(u32::MAX >> 2, address);
        assert!(symbols.had_ended(u32::MAX >> 2));
    }
}
