//! Resource use of all processes of a session: rlimits hold for each of them alone.

use fenxi_procfs::{Root, TICK_NS};

/// Resource use of a session now.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Usage {
    pub(super) processes: usize,
    /// CPU time of those that run, and of those that they waited for.
    pub(super) cpu_s: f64,
    pub(super) resident_bytes: u64,
}

/// Resource use of the processes of the session `leader`; nothing where /proc does not show it.
pub(super) fn of_session(root: &Root, leader: u32) -> Usage {
    let mut usage = Usage::default();
    let Ok(entries) = root.list("/proc") else { return usage };
    for (name, _) in entries {
        let Some(pid) = name.to_str().filter(|name| name.bytes().all(|b| b.is_ascii_digit())) else { continue };
        let Ok(text) = root.read(&format!("/proc/{pid}/stat")) else { continue };
        if session(&text) != Some(leader) {
            continue;
        }
        let Some((stat, _)) = fenxi_procfs::stat::parse(&text) else { continue };
        let ticks = stat.utime + stat.stime + stat.child_utime + stat.child_stime;
        usage.processes += 1;
        usage.cpu_s += ticks as f64 * TICK_NS as f64 / 1e9;
        usage.resident_bytes += stat.rss_bytes;
    }
    usage
}

/// The session of a process: the fourth word behind its name.
fn session(stat: &[u8]) -> Option<u32> {
    let close = stat.iter().rposition(|b| *b == b')')?;
    let word = stat[close + 1..].split(|b| *b == b' ').filter(|word| !word.is_empty()).nth(3)?;
    std::str::from_utf8(word).ok()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_session_is_read_behind_a_name_that_tries_to_hide_it() {
        assert_eq!(session(b"12 (a b) c) S 1 12 7 0 -1 4194560"), Some(7));
        assert_eq!(session(b"12 (x"), None);
        // Not by getsid(2), whose answer rustix takes for at least 1: it is 0 where the leader is outside of this PID namespace.
        let own = session(&Root::live().read("/proc/self/stat").unwrap()).unwrap();
        assert!(of_session(&Root::live(), own).processes >= 1);
    }
}
