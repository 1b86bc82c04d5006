//! Stacks of waits as texts: where in the kernel and in the server a process was when it left its CPU.

use fenxi_model::{Rows, catalog::stack as c};
use fenxi_source::Tick;
use libbpf_rs::{MapCore, MapFlags, MapHandle};

use crate::{bytes::Bytes, profile::is_of_switching, symbols::Symbols};

/// Kernel and user stacks by their numbers.
pub(super) struct Stacks {
    map: MapHandle,
    symbols: Symbols,
}

impl Stacks {
    pub fn new(map: MapHandle) -> Stacks {
        Stacks { map, symbols: Symbols::new() }
    }

    /// A new interval begins.
    pub fn turn(&mut self) {
        self.symbols.turn();
    }

    /// Adds a row for waits of process `pid` at one place.
    pub fn put(
        &mut self,
        (pid, kernel, user): (u32, i32, i32),
        event: &str,
        (waits, ns): (u64, u64),
        tick: Tick,
        rows: &mut Rows,
    ) {
        let mut frames: Vec<String> = Vec::new();
        for (n, address) in self.addresses(kernel).into_iter().enumerate() {
            let function = self.symbols.kernel(address - u64::from(n > 0)).function;
            if !(frames.is_empty() && is_of_switching(&function)) {
                frames.push(format!("{function}_[k]"));
            }
        }
        for (n, address) in self.addresses(user).into_iter().enumerate() {
            // All but the innermost are where calls return to.
            let function = self.symbols.resolve(pid, address.saturating_sub(u64::from(n > 0))).function;
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

    /// Innermost first; none where there is no such stack.
    fn addresses(&self, number: i32) -> Vec<u64> {
        if number < 0 {
            return Vec::new();
        }
        let value = self.map.lookup(&number.to_ne_bytes(), MapFlags::ANY).ok().flatten().unwrap_or_default();
        value.chunks_exact(8).map(|word| Bytes(word).u64()).take_while(|address| *address != 0).collect()
    }
}
