//! Stacks of waits as texts: where in the kernel and in the server a process was when it left its CPU.

use fenxi_model::{Rows, catalog::stack as c};
use fenxi_source::Tick;
use libbpf_rs::MapHandle;

use crate::{
    EbpfError,
    observing::Observing,
    profile::{is_of_switching, kept},
    symbols::Watched,
    unwind::Unwinder,
};

/// Kernel and user stacks by their keys.
pub(super) struct Stacks {
    map: MapHandle,
    watched: Watched,
}

impl Stacks {
    pub fn new(observing: &Observing, unwinder: Option<Unwinder>) -> Result<Stacks, EbpfError> {
        Ok(Stacks { map: observing.map("stacks")?, watched: Watched::new(observing.map("met")?, unwinder)? })
    }

    /// A new interval begins.
    pub fn turn(&mut self, tick: Tick, rows: &mut Rows) -> Result<(), EbpfError> {
        self.watched.symbols().turn();
        self.watched.report("dbwait", tick, rows)
    }

    /// Adds a row for waits of process `pid` at one place.
    pub fn put(
        &mut self,
        (pid, kernel, user): (u32, u64, u64),
        event: &str,
        (waits, ns): (u64, u64),
        tick: Tick,
        rows: &mut Rows,
    ) {
        let mut frames: Vec<String> = Vec::new();
        let mut symbols = self.watched.symbols();
        for (n, address) in kept(&self.map, kernel).into_iter().enumerate() {
            let function = symbols.kernel(address - u64::from(n > 0)).function;
            if !(frames.is_empty() && is_of_switching(&function)) {
                frames.push(format!("{function}_[k]"));
            }
        }
        for (n, address) in kept(&self.map, user).into_iter().enumerate() {
            // All but the innermost are where calls return to.
            let function = symbols.resolve(pid, address.saturating_sub(u64::from(n > 0))).function;
            frames.push(function.replace(';', ":"));
        }
        if frames.is_empty() {
            frames.push("[no stack]".to_owned());
        }
        frames.reverse();
        let mut row = rows.row(&c::TABLE, tick.t, tick.dt);
        row.str(c::comm, "postgres").i64(c::pid, i64::from(pid)).str(c::stack, frames.join(";").as_str());
        row.str(c::event, event).f64(c::samples, waits as f64).f64(c::time_s, ns as f64 / 1e9);
    }
}
