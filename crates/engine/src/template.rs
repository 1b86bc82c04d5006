//! The template: a process with the engine open that forks a child for each session.
//!
//! It runs no statement, so that it is always there to end its children. A child has its own database, as
//! fresh as this one, at the price of a fork.
#![allow(unsafe_code, reason = "fork has no safe interface")]

use std::{collections::BTreeMap, io, os::fd::OwnedFd, path::Path, time::Duration};

use fenxi_worker::control::{self, End, Order};
use rustix::process::{Pid, Signal, WaitOptions, kill_process, waitpid};

use crate::{database::Template, session};

/// Ends that are remembered for who may ask.
const REMEMBERED: usize = 256;
/// How often and how long an end is waited for: who asks has seen the socket close.
const WAITS: u32 = 2000;
const WAIT: Duration = Duration::from_millis(1);

/// Serves until who started this has gone, and then removes the folder for spilling, `scratch`, if that one was killed.
pub(crate) fn serve(scratch: Option<&Path>) -> io::Result<()> {
    let database = Template::open().map_err(io::Error::other)?;
    let mut children = Children::default();
    let orders = std::io::stdin();
    while let Ok(Some((order, socket))) = control::receive(&orders) {
        children.reap();
        match (order, socket) {
            (Order::Fork(id), Some(socket)) => children.fork(id, socket, &database)?,
            (Order::Fork(_), None) => {}
            (Order::Kill(id), _) => children.kill(id),
            (Order::Ask(id), _) => control::send_end(&orders, children.end_of(id))?,
        }
    }
    children.kill_all();
    if let Some(scratch) = scratch.filter(|scratch| scratch.exists()) {
        children.wait_all();
        fenxi_worker::remove_if_left(scratch);
    }
    Ok(())
}

/// Sessions that live, and how the last ones ended.
#[derive(Default)]
struct Children {
    living: BTreeMap<u32, Pid>,
    ended: BTreeMap<u32, End>,
}

impl Children {
    fn fork(&mut self, id: u32, socket: OwnedFd, database: &Template) -> io::Result<()> {
        // SAFETY: no thread of ours exists, and those of the allocator take care of forks themselves; the child
        // goes on as an ordinary program.
        let forked = unsafe { libc::fork() };
        if forked < 0 {
            return Err(io::Error::last_os_error());
        }
        let Some(child) = Pid::from_raw(forked) else {
            let status = i32::from(session::serve(socket, database).is_err());
            // Without destructors: what the template has is not this process's to tidy up.
            // SAFETY: ends the process, and does nothing else.
            unsafe { libc::_exit(status) }
        };
        self.living.insert(id, child);
        Ok(())
    }

    /// Takes note of those that have ended.
    fn reap(&mut self) {
        let ended: Vec<(u32, End)> = self.living.iter().filter_map(|(id, pid)| Some((*id, end(*pid)?))).collect();
        for (id, end) in ended {
            self.living.remove(&id);
            self.ended.insert(id, end);
        }
        while self.ended.len() > REMEMBERED {
            self.ended.pop_first();
        }
    }

    /// Kills a session. It was not reaped yet, so its number is no other process's.
    fn kill(&self, id: u32) {
        if let Some(pid) = self.living.get(&id) {
            let _ = kill_process(*pid, Signal::KILL);
        }
    }

    /// Waits until `is_over`, but not for ever.
    fn wait(&mut self, is_over: impl Fn(&Children) -> bool) {
        for _ in 0..WAITS {
            self.reap();
            if is_over(self) {
                break;
            }
            std::thread::sleep(WAIT);
        }
    }

    /// Waits for those that were killed, so that none writes any more.
    fn wait_all(&mut self) {
        self.wait(|children| children.living.is_empty());
    }

    fn end_of(&mut self, id: u32) -> End {
        self.wait(|children| !children.living.contains_key(&id));
        self.ended.get(&id).copied().unwrap_or(End::Unknown)
    }

    fn kill_all(&self) {
        for id in self.living.keys() {
            self.kill(*id);
        }
    }
}

/// How a child ended; None while it lives.
fn end(pid: Pid) -> Option<End> {
    match waitpid(Some(pid), WaitOptions::NOHANG) {
        Ok(Some((_, status))) => {
            status.exit_status().map(End::Exit).or_else(|| status.terminating_signal().map(End::Signal))
        }
        Ok(None) => None,
        Err(_) => Some(End::Unknown),
    }
}
