//! Names of the kernel's locks, and which functions of a stack belong to locking itself.

use fs_err as fs;

use super::FRAMES;
use crate::symbols::Symbols;

/// Bytes after a variable's begin in which a lock is still taken for a part of it.
const REACH: u64 = 4096;
/// Bytes of the kernel's image at most: where its variables are is not always listed.
const IMAGE: u64 = 1 << 29;

/// Where the kernel has its code of locking, and its variables.
#[derive(Debug, Default)]
pub(super) struct Names {
    /// Sections with the functions that wait.
    sections: Vec<(u64, u64)>,
    /// Variables, by address; empty where the kernel lists code only (CONFIG_KALLSYMS_ALL).
    variables: Vec<(u64, Box<str>)>,
    /// Begin of the kernel's image; 0: unknown.
    begin: u64,
}

impl Names {
    pub(super) fn read() -> Names {
        Names::parse(&fs::read_to_string("/proc/kallsyms").unwrap_or_default())
    }

    fn parse(text: &str) -> Names {
        let mut names = Names::default();
        let mut open: Option<u64> = None;
        for line in text.lines() {
            let mut words = line.split_ascii_whitespace();
            let Some(address) = words.next().and_then(|word| u64::from_str_radix(word, 16).ok()) else { continue };
            let (Some(kind), Some(name)) = (words.next(), words.next()) else { continue };
            match name {
                // Without the right to see them, all addresses are 0; per-CPU variables have offsets.
                _ if address >> 63 == 0 => {}
                "_stext" => names.begin = address,
                "__sched_text_start" | "__lock_text_start" | "__cpuidle_text_start" => open = Some(address),
                "__sched_text_end" | "__lock_text_end" => {
                    names.sections.extend(open.take().map(|begin| (begin, address)))
                }
                _ if matches!(kind, "d" | "D" | "b" | "B") => names.variables.push((address, name.into())),
                _ => {}
            }
        }
        names.variables.sort_unstable_by_key(|(address, _)| *address);
        names
    }

    /// Where variables of the kernel are: from, to.
    pub(super) fn image(&self) -> (u64, u64) {
        (self.begin, if self.begin == 0 { 0 } else { self.begin.saturating_add(IMAGE) })
    }

    /// The variable at an address, else the address.
    pub(super) fn variable(&self, address: u64) -> String {
        let place = self.variables.partition_point(|(begin, _)| *begin <= address).checked_sub(1);
        match place.and_then(|place| self.variables.get(place)).map(|(begin, name)| (address - begin, name)) {
            Some((0, name)) => name.to_string(),
            Some((offset, name)) if offset < REACH => format!("{name}+{offset:#x}"),
            _ => format!("{address:#x}"),
        }
    }

    /// Who wanted a lock: the innermost function that is not locking itself, and the functions from the outermost to it.
    pub(super) fn caller(&self, frames: [u64; FRAMES], symbols: &mut Symbols) -> (String, String) {
        let frames = frames.into_iter().take_while(|address| *address != 0);
        // The call may be the function's last instruction.
        let named = frames.map(|address| (address, symbols.kernel(address.saturating_sub(1)).function));
        let named: Vec<_> = named.collect();
        let first = named.iter().position(|(address, name)| !self.is_locking(*address, name)).unwrap_or(0);
        let named = &named[first..];
        let stack: Vec<&str> = named.iter().rev().map(|(_, name)| &**name).collect();
        (named.first().map_or_else(|| "?".to_owned(), |(_, name)| name.to_string()), stack.join(";"))
    }

    fn is_locking(&self, address: u64, name: &str) -> bool {
        let in_section = self.sections.iter().any(|(begin, end)| (*begin..=*end).contains(&address));
        in_section || OBSERVING.iter().chain(LOCKING).any(|begin| name.starts_with(begin))
    }
}

/// How functions begin that run a program at a tracepoint.
const OBSERVING: &[&str] = &["bpf_", "__bpf_trace_", "__traceiter_", "trace_contention_", "[kernel]"];
/// How functions of locking begin that are in no section of theirs: they differ between versions and configurations.
const LOCKING: &[&str] = &[
    "_raw_spin_",
    "_raw_read_",
    "_raw_write_",
    "__raw_spin_",
    "__raw_callee_save___pv_queued_spin_",
    "native_queued_spin_",
    "__pv_queued_spin_",
    "queued_spin_",
    "queued_read_",
    "queued_write_",
    "resilient_queued_spin_",
    "do_raw_spin_",
    "__mutex_",
    "mutex_lock",
    "ww_mutex_lock",
    "rwsem_",
    "__down_",
    "down_read",
    "down_write",
    "percpu_down_",
    "__percpu_down_",
    "percpu_rwsem_",
    "__percpu_rwsem_",
    "rt_mutex_",
    "__rt_mutex_",
    "rtlock_",
    "rt_spin_",
    "lock_acquire",
];

#[cfg(test)]
mod tests {
    use super::*;

    fn names() -> Names {
        Names::parse(
            "0000000000000010 D per_cpu\nffffffff81000000 T _stext\nffffffff82000000 T __sched_text_start\n\
             ffffffff82000100 t __mutex_lock\nffffffff82001000 T __sched_text_end\n\
             ffffffff83000000 D tasklist_lock\nffffffff83000040 b other\n0 D hidden\nrubbish\nffff T\n",
        )
    }

    #[test]
    fn locks_have_the_names_of_the_variables_that_they_are_in() {
        let names = names();
        assert_eq!(names.variable(0xffff_ffff_8300_0000), "tasklist_lock");
        assert_eq!(names.variable(0xffff_ffff_8300_0048), "other+0x8");
        assert_eq!(names.variable(0xffff_ffff_8310_0000), "0xffffffff83100000", "far behind the last one");
        assert_eq!(names.variable(0xffff_8880_0000_0000), "0xffff888000000000", "on the heap");
        assert_eq!(names.image(), (0xffff_ffff_8100_0000, 0xffff_ffff_a100_0000));
        assert_eq!(Names::parse("").image(), (0, 0));
    }

    #[test]
    fn functions_of_locking_are_no_callers() {
        let names = names();
        assert!(names.is_locking(0xffff_ffff_8200_0180, "any"));
        assert!(names.is_locking(0xffff_ffff_8100_0180, "native_queued_spin_lock_slowpath"));
        assert!(!names.is_locking(0xffff_ffff_8100_0180, "do_user_addr_fault"));
        assert!(!names.is_locking(0xffff_ffff_8100_0180, "lock_mm_and_find_vma"));
    }
}
