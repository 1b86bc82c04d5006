//! Rules for Rust files. They lean on rustfmt: a function ends at the brace in its own column.

use anyhow::Result;

use crate::repository::Repository;

/// Most lines a file may have.
const MAX_FILE: usize = 500;
/// Most lines a function may have, from its name to its closing brace.
const MAX_FUNCTION: usize = 70;

/// Files that may be longer, and why: only what is regular, one shape repeated.
const LONG_FILES: &[(&str, &str)] = &[];

/// Files that may hold unsafe code, and why.
const UNSAFE_FILES: &[(&str, &str)] = &[
    ("crates/sys/src/clock.rs", "CPU clocks by number, which rustix cannot name"),
    ("crates/sys/src/ethtool.rs", "SIOCETHTOOL, which rustix lacks"),
    ("crates/sys/src/interface.rs", "getifaddrs(3), which rustix lacks"),
    ("crates/sys/src/memory.rs", "process_vm_readv(2) into memory of our own"),
    ("crates/sys/src/signal.rs", "signals of a thread, which are the C library's"),
    ("crates/sys/src/socket.rs", "arrival times of bytes: an option and a message that rustix lacks"),
    (
        "crates/sys/src/terminal.rs",
        "pseudoterminals: two requests of ioctl(2), without another feature of rustix for all that use it",
    ),
    ("crates/sys/src/usage.rs", "getrusage(2)"),
    ("crates/sys/src/user.rs", "getpwnam_r(3) and getpwuid_r(3)"),
    ("crates/source/src/ethtool.rs", "an ioctl whose structure holds a pointer to the answer"),
    ("crates/cli/src/memory.rs", "mallopt(3) has no safe interface"),
    ("crates/cli/src/netns.rs", "unshare(2) is unsafe for descriptors, which it leaves alone here"),
    ("crates/engine/src/connection.rs", "the engine's C interface: databases, connections, statements"),
    ("crates/engine/src/ffi.rs", "the engine's C interface: its functions"),
    ("crates/engine/src/rows.rs", "the engine's C interface: rows as Arrow"),
    ("crates/engine/src/sandbox.rs", "what a session inherits is closed by number"),
    ("crates/engine/src/template.rs", "fork has no safe interface"),
    ("crates/ingest/src/own/confine.rs", "what is done between fork and exec has no safe interface"),
    ("crates/record/src/command.rs", "a child's signal mask is set between fork and exec"),
    ("crates/source/src/perf.rs", "perf_event_open(2), to count only"),
    ("crates/source/src/residency/pages.rs", "cachestat, and mincore over a mapping, have no safe wrapper"),
    ("crates/source/src/proc/facts/ethtool.rs", "an interface's offloads are available by an ioctl only"),
    ("crates/store/tests/it/full_disk.rs", "mount(2), without a feature of a dependency more"),
    ("crates/ebpf/src/cost.rs", "what libbpf-rs has no call for: measuring programs"),
    ("crates/ebpf/src/drain.rs", "what libbpf-rs has no call for: batches of per-CPU maps"),
    ("crates/ebpf/src/perf.rs", "perf_event_open(2)"),
];

/// Attributes that hide a test that does not hold; spelled apart so that this file passes.
const BANNED_ATTRIBUTES: &[&str] = &[concat!("#[ign", "ore"), concat!("#[should", "_panic")];

/// Complains about every Rust file that breaks a rule.
pub fn check(repository: &Repository) -> Result<Vec<String>> {
    let mut complaints = Vec::new();
    for path in repository.files()?.iter().filter(|p| p.ends_with(".rs")) {
        let text = repository.read(path)?;
        let long = LONG_FILES.iter().any(|(p, _)| p == path);
        let may_be_unsafe = UNSAFE_FILES.iter().any(|(p, _)| p == path);
        complaints.extend(complaints_about(&text, long, may_be_unsafe).into_iter().map(|c| format!("{path}{c}")));
    }
    Ok(complaints)
}

/// Complaints about one file, each beginning with `:line: `.
fn complaints_about(text: &str, long: bool, may_be_unsafe: bool) -> Vec<String> {
    let lines: Vec<&str> = text.lines().collect();
    let mut complaints = Vec::new();
    if !lines.first().is_some_and(|l| l.starts_with("//!")) {
        complaints.push(":1: does not begin with a `//!` on why the file exists".to_owned());
    }
    if lines.len() > MAX_FILE && !long {
        complaints.push(format!(":{}: more than {MAX_FILE} lines", lines.len()));
    }
    for (i, line) in lines.iter().enumerate() {
        let code = line.trim_start();
        if BANNED_ATTRIBUTES.iter().any(|a| code.starts_with(a)) {
            complaints.push(format!(":{}: a test must hold: {code}", i + 1));
        }
        if !may_be_unsafe && is_unsafe(code) {
            complaints.push(format!(":{}: unsafe code outside the files listed for it", i + 1));
        }
        if let Some(length) = function_length(&lines[i..]).filter(|n| *n > MAX_FUNCTION) {
            complaints.push(format!(":{}: a function of {length} lines, more than {MAX_FUNCTION}", i + 1));
        }
    }
    complaints
}

/// Whether a line of code opens something unsafe. Comments and strings do not.
fn is_unsafe(code: &str) -> bool {
    let code = code.split("//").next().unwrap_or_default();
    ["unsafe {", "unsafe fn ", "unsafe impl ", "unsafe extern "].iter().any(|opening| {
        // An odd number of quotes before it: inside a string.
        code.find(opening).is_some_and(|at| code[..at].matches('"').count().is_multiple_of(2))
    })
}

/// The length of the function that begins at the first line, None when none does.
fn function_length(lines: &[&str]) -> Option<usize> {
    let first = lines.first()?;
    let code = first.trim_start();
    let indent = &first[..first.len() - code.len()];
    let mut words = code.split_whitespace().skip_while(|w| {
        w.starts_with("pub") || w.starts_with('"') || matches!(*w, "const" | "async" | "unsafe" | "extern")
    });
    if words.next() != Some("fn") || code.ends_with('}') || code.ends_with(';') {
        return None;
    }
    // A declaration without a body ends before any brace in its own column.
    for (i, line) in lines.iter().enumerate() {
        if let Some(rest) = line.strip_prefix(indent) {
            match rest {
                "}" => return Some(i + 1),
                rest if i > 0 && rest.starts_with(')') && rest.ends_with(';') => return None,
                _ => {}
            }
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn function(n_lines: usize) -> String {
        let body = "    let _ = 1;\n".repeat(n_lines - 2);
        format!("//! Why.\npub async fn f(\n) {{\n{body}}}\n", body = &body[15..])
    }

    #[test]
    fn a_function_is_measured_from_its_name_to_its_brace() {
        assert!(complaints_about(&function(70), false, false).is_empty());
        assert_eq!(complaints_about(&function(71), false, false), [":2: a function of 71 lines, more than 70"]);
    }

    #[test]
    fn a_file_without_a_reason_is_found() {
        let complaints = complaints_about("use std::fmt;\n", false, false);
        assert_eq!(complaints, [":1: does not begin with a `//!` on why the file exists"]);
    }

    #[test]
    fn a_test_that_does_not_run_is_found() {
        let text = format!("//! Why.\n    {}]\n", BANNED_ATTRIBUTES[0]);
        assert_eq!(complaints_about(&text, false, false).len(), 1);
    }

    #[test]
    fn unsafe_code_is_found_but_not_talk_of_it() {
        assert!(is_unsafe("let x = unsafe { *p };"));
        assert!(is_unsafe("pub unsafe fn f() {"));
        assert!(!is_unsafe("// never unsafe { here"));
        assert!(!is_unsafe(concat!("f(\"un", "safe { in a string\");")));
        assert!(!is_unsafe("unsafe_code = deny"));
    }
}
