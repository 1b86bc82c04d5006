//! Process filter.

use super::{exits::Ended, reader::Reader};
use fenxi_procfs::scan::lines;

/// Decides whether a name or a command line is wanted.
pub type Matches = Box<dyn Fn(&str) -> bool + Send + Sync>;

/// Which processes are wanted: those that fulfil all of what is given. Nothing given is all of them.
#[derive(Default)]
pub struct Selection {
    /// One of these numbers; none given is any number.
    pub pids: Vec<u32>,
    /// Name or command line.
    pub name: Option<Matches>,
    /// Effective user.
    pub uid: Option<u32>,
    /// Control group as `/proc/PID/cgroup` has it, or one below it.
    pub cgroup: Option<String>,
    /// Descendants of this process, and of no other.
    pub descendants: bool,
}

impl std::fmt::Debug for Selection {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Selection").field("pids", &self.pids).field("uid", &self.uid).finish_non_exhaustive()
    }
}

/// Candidate for a row: a process and its use of resources.
pub struct Candidate<'a> {
    pub pid: u32,
    pub comm: &'a str,
    /// True if its parent is wanted.
    pub parent: bool,
}

impl Selection {
    /// Returns true if everything is wanted.
    pub fn is_all(&self) -> bool {
        self.pids.is_empty() && self.name.is_none() && self.uid.is_none() && self.cgroup.is_none() && !self.descendants
    }

    /// Returns true if a process that lives is wanted; reads of it what it takes to know.
    pub fn wants(&self, reader: &mut Reader, candidate: &Candidate<'_>) -> bool {
        let pid = candidate.pid;
        (self.pids.is_empty() || self.pids.contains(&pid))
            && (!self.descendants || candidate.parent)
            && self.uid.is_none_or(|uid| reader.uid(pid) == Some(uid))
            && self.cgroup.as_ref().is_none_or(|group| in_group(reader, pid, group))
            && self.name.as_ref().is_none_or(|matches| {
                // Who looks for a name has it in its own command line.
                reader.own != Some(pid)
                    && (matches(candidate.comm) || reader.command(pid).is_some_and(|command| matches(&command)))
            })
    }

    /// Returns true if a process that was never seen alive is wanted, of which only its record is known.
    pub fn wants_ended(&self, ended: &Ended, parent: bool) -> bool {
        (self.pids.is_empty() || self.pids.contains(&ended.pid))
            // A child begins in its parent's group.
            && (!self.descendants && self.cgroup.is_none() || parent)
            && self.uid.is_none_or(|uid| ended.uid == uid)
            && self.name.as_ref().is_none_or(|matches| matches(&ended.comm))
    }
}

/// Whether a line of the process's `cgroup` (`0::/a/b`, `4:memory:/a/b`) names `group` or one below it.
fn in_group(reader: &mut Reader, pid: u32, group: &str) -> bool {
    let group = group.trim_matches('/').as_bytes();
    let Some(text) = reader.file(pid, None, "cgroup") else { return false };
    lines(text).any(|line| {
        let path = line.splitn(3, |b| *b == b':').nth(2).and_then(|path| path.strip_prefix(b"/"));
        path.and_then(|path| path.strip_prefix(group))
            .is_some_and(|rest| group.is_empty() || rest.is_empty() || rest[0] == b'/')
    })
}
