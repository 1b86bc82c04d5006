//! Classification of futex waits by the function names on the stack.

use crate::symbols::Frame;

/// Kind of measurement; the order of the first ones is that of `enum kind` (`plockstat.bpf.c`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Lock,
    Pi,
    Other,
    Join,
    MutexHeld,
    ReadHeld,
    WriteHeld,
}

impl Kind {
    pub(super) fn of(place: u32) -> Kind {
        let kinds = [Kind::Lock, Kind::Pi, Kind::Other, Kind::Join, Kind::MutexHeld, Kind::ReadHeld, Kind::WriteHeld];
        kinds.get(place as usize).copied().unwrap_or(Kind::Other)
    }
}

/// A wait or a hold.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Judged {
    /// As `lock.event` has it.
    pub event: &'static str,
    /// True if it is a lock; else a wait for something to happen.
    pub is_lock: bool,
    /// True if the lock is one of malloc's.
    pub malloc: bool,
    /// Place of the caller in the frames; None: no caller is known beyond the lock's own functions.
    pub caller: Option<usize>,
}

/// Parts of functions' names that identify what is waited for; the innermost function that has one decides, and of several
/// parts the first.
const TELLING: &[(&str, &str, bool)] = &[
    ("mutex_cond_lock", "mutex block", true),
    ("Condvar", "condition wait", false),
    ("condvar", "condition wait", false),
    ("condition_variable", "condition wait", false),
    ("pthread_cond_", "condition wait", false),
    ("pthread_join", "join", false),
    ("join_ex", "join", false),
    ("pthread_barrier", "barrier wait", false),
    ("pthread_once", "once wait", false),
    ("sem_wait", "semaphore wait", false),
    ("sem_timedwait", "semaphore wait", false),
    ("sem_clockwait", "semaphore wait", false),
    ("rwlock_rdlock", "rwlock read block", true),
    ("rwlock_timedrdlock", "rwlock read block", true),
    ("RwLock::read", "rwlock read block", true),
    ("rwlock_wrlock", "rwlock write block", true),
    ("rwlock_timedwrlock", "rwlock write block", true),
    ("RwLock::write", "rwlock write block", true),
    ("RawRwLock::lock_shared", "rwlock read block", true),
    ("RawRwLock::lock_exclusive", "rwlock write block", true),
    ("mutex", "mutex block", true),
    ("Mutex", "mutex block", true),
    ("lll_lock", "mutex block", true),
    ("Thread::park", "park", false),
    ("thread::park", "park", false),
];

/// Functions that are a lock's own: who called them is the caller.
const OWN: &[&str] = &[
    "pthread_mutex_",
    "pthread_rwlock_",
    "pthread_cond_",
    "pthread_spin_",
    "lll_",
    "futex",
    "syscall",
    "std::sys::",
    "std::sync::",
    "std::mutex::",
    "std::timed_mutex::",
    "std::recursive_mutex::",
    "std::shared_mutex::",
    "std::__shared_mutex_pthread::",
    "std::unique_lock",
    "std::shared_lock",
    "std::lock_guard",
    "std::scoped_lock",
    "gthread_",
    "parking_lot::",
    "parking_lot_core::",
    "lock_api::",
    "RawMutex",
    "absl::Mutex::",
    "absl::base_internal::",
];

/// Functions of allocators.
const ALLOCATORS: &[&str] = &[
    "malloc",
    "free",
    "cfree",
    "calloc",
    "realloc",
    "reallocarray",
    "memalign",
    "aligned_alloc",
    "posix_memalign",
    "int_malloc",
    "int_free",
    "int_realloc",
    "int_memalign",
    "libc_malloc",
    "libc_free",
    "libc_calloc",
    "libc_realloc",
    "libc_memalign",
    "mid_memalign",
    "arena_get2",
    "arena_get_retry",
    "reused_arena",
    "tcache_init",
    "malloc_consolidate",
    "systrim",
    "sysmalloc",
];

/// Functions that call the allocator for others.
const OF_ALLOCATION: &[&str] =
    &["operator new", "operator delete", "alloc::alloc::", "__rust_alloc", "__rdl_", "std::alloc::"];

/// A function's name without what compilers put before and behind it.
fn plain(name: &str) -> &str {
    let name = name.trim_start_matches('_').trim_start_matches('<');
    // Prefix of glibc's own functions.
    let name = name.strip_prefix("GI_").map_or(name, |rest| rest.trim_start_matches('_'));
    name.split(".constprop")
        .next()
        .unwrap_or(name)
        .split(".part")
        .next()
        .unwrap_or(name)
        .split(".isra")
        .next()
        .unwrap_or(name)
}

/// The function's name, where it has one: files without names are in brackets.
fn function(frame: &Frame) -> Option<&str> {
    Some(&*frame.function).filter(|name| !name.starts_with('['))
}

fn is_libc(frame: &Frame) -> bool {
    frame.file.starts_with("libc.so") || frame.file.starts_with("libc-") || frame.file.starts_with("libpthread")
}

fn is_own(frame: &Frame) -> bool {
    match function(frame) {
        Some(function) => OWN.iter().any(|own| plain(function).starts_with(own)),
        // Those of libc that it does not name are no one's callers.
        None => is_libc(frame) || frame.file.is_empty(),
    }
}

fn is_allocator(frame: &Frame) -> bool {
    is_libc(frame) && function(frame).is_some_and(|function| ALLOCATORS.contains(&plain(function)))
}

fn calls_allocator(frame: &Frame) -> bool {
    let function = function(frame).unwrap_or("");
    OF_ALLOCATION.iter().any(|of| function.starts_with(of)) || plain(function).starts_with("rust_alloc")
}

/// Judges by the frames, from the innermost.
pub(super) fn judge(kind: Kind, frames: &[Frame]) -> Judged {
    let reported = frames.iter().find_map(|frame| {
        let function = function(frame)?;
        TELLING.iter().find(|(part, _, _)| function.contains(part)).filter(|_| is_own(frame) || is_libc(frame))
    });
    let malloc = frames.iter().take_while(|frame| is_own(frame) || is_allocator(frame)).any(is_allocator);
    let (event, is_lock) = match (kind, reported) {
        (Kind::MutexHeld, _) => ("mutex hold", true),
        (Kind::ReadHeld, _) => ("rwlock read hold", true),
        (Kind::WriteHeld, _) => ("rwlock write hold", true),
        (Kind::Join, _) => ("join", false),
        (Kind::Pi, _) => ("mutex block", true),
        (_, Some((_, event, is_lock))) if !malloc => (*event, *is_lock),
        (Kind::Lock, _) => ("mutex block", true),
        (Kind::Other, _) => ("wait", false),
    };
    let mine = |frame: &Frame| is_own(frame) || malloc && (is_allocator(frame) || calls_allocator(frame));
    Judged { event, is_lock, malloc, caller: frames.iter().position(|frame| !mine(frame)) }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;

    fn frames(names: &[(&str, &str)]) -> Vec<Frame> {
        let frame = |(file, name): &(&str, &str)| Frame {
            function: Arc::from(if name.is_empty() { format!("[{file}]") } else { (*name).to_owned() }),
            file: Arc::from(*file),
            offset: 7,
        };
        names.iter().map(frame).collect()
    }

    #[test]
    fn the_caller_is_who_called_the_locks_own_functions() {
        let stack = frames(&[("libc.so.6", ""), ("libc.so.6", "pthread_mutex_lock"), ("app", "add"), ("app", "main")]);
        let judged = judge(Kind::Lock, &stack);
        assert_eq!((judged.event, judged.is_lock, judged.caller), ("mutex block", true, Some(2)));
        let stack = frames(&[("libc.so.6", "__GI___lll_lock_wait"), ("app", "add")]);
        assert_eq!(judge(Kind::Lock, &stack).caller, Some(1));
        let rust = frames(&[("app", "std::sys::sync::mutex::futex::Mutex::lock_contended"), ("app", "app::work")]);
        assert_eq!(judge(Kind::Lock, &rust).caller, Some(1));
    }

    #[test]
    fn waits_for_something_to_happen_are_no_locks() {
        for (name, event) in [
            ("pthread_cond_wait", "condition wait"),
            ("__pthread_clockjoin_ex", "join"),
            ("std::sys::sync::condvar::futex::Condvar::wait", "condition wait"),
        ] {
            let judged = judge(Kind::Other, &frames(&[("libc.so.6", name), ("app", "main")]));
            assert_eq!((judged.event, judged.is_lock), (event, false));
        }
        assert_eq!(judge(Kind::Other, &frames(&[("app", "main")])).event, "wait");
    }

    #[test]
    fn a_mutex_that_is_taken_again_after_a_condition_is_a_lock() {
        let stack =
            frames(&[("libc.so.6", "__pthread_mutex_cond_lock"), ("libc.so.6", "pthread_cond_wait"), ("app", "f")]);
        let judged = judge(Kind::Lock, &stack);
        assert_eq!((judged.event, judged.caller), ("mutex block", Some(2)));
    }

    #[test]
    fn read_write_locks_are_told_apart() {
        let stack = frames(&[("libc.so.6", "pthread_rwlock_rdlock"), ("app", "f")]);
        assert_eq!(judge(Kind::Other, &stack).event, "rwlock read block");
        let stack = frames(&[("app", "std::sys::sync::rwlock::futex::RwLock::write_contended"), ("app", "f")]);
        assert_eq!(judge(Kind::Other, &stack).event, "rwlock write block");
    }

    #[test]
    fn the_lock_of_malloc_is_known_by_its_callers() {
        let stack = frames(&[
            ("libc.so.6", "__lll_lock_wait_private"),
            ("libc.so.6", "_int_free"),
            ("libc.so.6", "free"),
            ("libstdc++.so.6", "operator delete"),
            ("app", "clear"),
        ]);
        let judged = judge(Kind::Lock, &stack);
        assert_eq!((judged.malloc, judged.is_lock, judged.caller), (true, true, Some(4)));
        // One whose caller allocates in another function is not.
        let stack = frames(&[("libc.so.6", "pthread_mutex_lock"), ("app", "work"), ("libc.so.6", "malloc")]);
        assert!(!judge(Kind::Lock, &stack).malloc);
    }
}
