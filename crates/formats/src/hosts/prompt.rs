//! Where an output begins in a text that has several: at a command behind a shell's prompt, or at a heading with its name.

/// A line about the output below it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Begin<'a> {
    /// The host that the prompt names.
    pub(super) host: Option<&'a str>,
    /// The command or the name of a file; empty behind a prompt at which nothing was entered.
    pub(super) command: &'a str,
}

/// Commands whose outputs are measurements or facts. Behind a prompt of a single mark, and in a heading, only these begin an
/// output: marks like these also begin comments and lists.
const TOOLS: &[&str] = &[
    "ab",
    "atop",
    "bpftrace",
    "cat",
    "collectl",
    "cpustat",
    "cifsiostat",
    "date",
    "dcgmi",
    "df",
    "dmesg",
    "docker",
    "dool",
    "dpkg",
    "dstat",
    "ethtool",
    "execsnoop",
    "fio",
    "free",
    "grep",
    "head",
    "hey",
    "hostname",
    "ifstat",
    "ioping",
    "iostat",
    "iotop",
    "iperf3",
    "journalctl",
    "jstat",
    "kubectl",
    "lockstat",
    "ls",
    "lscpu",
    "lspci",
    "lsblk",
    "mpstat",
    "mtr",
    "mysqladmin",
    "netperf",
    "netstat",
    "nfsiostat",
    "nfsstat",
    "nicstat",
    "nmon",
    "nproc",
    "numactl",
    "numastat",
    "nvidia-smi",
    "oha",
    "perf",
    "pgbench",
    "pidstat",
    "ping",
    "plockstat",
    "prstat",
    "ps",
    "redis-benchmark",
    "rpm",
    "sadf",
    "sar",
    "siege",
    "ss",
    "strace",
    "stress-ng",
    "sysbench",
    "sysctl",
    "tail",
    "tapestat",
    "top",
    "trapstat",
    "turbostat",
    "uname",
    "uptime",
    "vm_stat",
    "vmstat",
    "w",
    "wrk",
    "zpool",
];

/// Words before a command that change how it runs and not what it prints.
const BEFORE: &[&str] = &[
    "sudo", "doas", "time", "nohup", "nice", "ionice", "chrt", "taskset", "timeout", "stdbuf", "env", "exec", "script",
];

/// The output that a line begins, if it begins one.
pub(super) fn begin(line: &str) -> Option<Begin<'_>> {
    let line = line.trim();
    bracketed(line).or_else(|| named(line)).or_else(|| bare(line)).or_else(|| heading(line))
}

/// The tool that a command runs: its first word that is no option, variable or wrapper.
pub(super) fn tool(command: &str) -> Option<&str> {
    let mut wrapped = false;
    for word in command.split_ascii_whitespace() {
        let name = word.rsplit('/').next().unwrap_or(word);
        let is_option = wrapped
            && (word.starts_with('-') || word.bytes().all(|b| b.is_ascii_digit() || matches!(b, b'.' | b',' | b's')));
        let is_variable = word.split_once('=').is_some_and(|(name, _)| is_name(name));
        if BEFORE.contains(&name) {
            wrapped = true;
        } else if !is_option && !is_variable {
            return Some(name.trim_end_matches([';', ':', ',']));
        }
    }
    None
}

fn is_name(word: &str) -> bool {
    !word.is_empty() && word.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_')
}

fn is_known(command: &str) -> bool {
    command.starts_with("/proc/")
        || command.starts_with("/sys/")
        || tool(command).is_some_and(|tool| TOOLS.contains(&tool))
}

/// Digits of a number that may be a time in seconds since 1970, or in parts of them.
const TIME_DIGITS: usize = 10;

/// Whether a word can be the name or the address of a host.
pub(super) fn is_host(word: &str) -> bool {
    let plain = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'-' | b'_');
    let is_time = || word.len() >= TIME_DIGITS && word.bytes().all(|b| b.is_ascii_digit());
    word.len() <= 255 && word.starts_with(|c: char| c.is_ascii_alphanumeric()) && word.bytes().all(plain) && !is_time()
}

/// The mark at the end of a prompt, and the command behind it.
fn marked(text: &str) -> Option<&str> {
    let rest = text.strip_prefix(['$', '#', '%', '>'])?;
    (rest.is_empty() || rest.starts_with(' ')).then(|| rest.trim())
}

/// `[root@db1 ~]# vmstat 1`.
fn bracketed(line: &str) -> Option<Begin<'_>> {
    let (inside, rest) = line.strip_prefix('[')?.split_once(']')?;
    let host = inside.split_once('@')?.1.split([' ', ':']).next()?;
    let command = marked(rest.trim_start())?;
    is_host(host).then_some(Begin { host: Some(host), command })
}

/// `me@db1:~/x$ vmstat 1`, `(venv) me@db1 ~ % vmstat 1`, `db1:~ # vmstat 1`, `db1# vmstat 1`, `bash-5.1$ vmstat 1`.
fn named(line: &str) -> Option<Begin<'_>> {
    let line = match line.strip_prefix('(') {
        Some(rest) => rest.split_once(") ")?.1,
        None => line,
    };
    // Each line of every text comes here.
    let (before, mark) = line.split_at(memchr::memchr3(b'$', b'#', b'%', line.as_bytes())?);
    let command = marked(mark)?;
    let (name, path) = before.trim_end().split_once([':', ' ']).unwrap_or((before.trim_end(), ""));
    let path = path.trim();
    let is_path = path.is_empty() || path.starts_with(['~', '/']) || !path.contains(' ') && path.len() < 40;
    let (user, host) = name.split_once('@').map_or((None, name), |(user, host)| (Some(user), host));
    let user_fits = user.is_none_or(is_host);
    let shell = ["bash-", "sh-"].iter().any(|shell| host.starts_with(shell)) || matches!(host, "bash" | "sh" | "root");
    // Without a user's name, only a known tool distinguishes a prompt from other text.
    let fits = is_host(host) && user_fits && is_path && (user.is_some() || is_known(command));
    fits.then_some(Begin { host: Some(host).filter(|_| !shell), command })
}

/// `$ vmstat 1`, `# vmstat 1`, `+ vmstat 1` (of `set -x`).
fn bare(line: &str) -> Option<Begin<'_>> {
    let command = line.trim_start_matches('+');
    let command = if command.len() < line.len() { command.strip_prefix(' ')? } else { marked(line)? };
    is_known(command).then_some(Begin { host: None, command })
}

/// `==> vmstat.txt <==`, `=== vmstat 1 5 ===`, `----- free -m`, `## /proc/meminfo ##`, `vmstat 1 5:`.
fn heading(line: &str) -> Option<Begin<'_>> {
    if let Some(file) = line.strip_prefix("==> ").and_then(|rest| rest.strip_suffix(" <==")) {
        return Some(Begin { host: None, command: file });
    }
    if let Some(command) = line.strip_suffix(':').filter(|_| line.len() < 80) {
        let is_first = tool(command).is_some_and(|tool| command.starts_with(tool));
        return (is_first && is_known(command)).then_some(Begin { host: None, command });
    }
    let mark = line.chars().next().filter(|c| matches!(c, '=' | '-' | '*' | '#' | '>' | '+' | '~'))?;
    let rest = line.trim_start_matches(mark);
    let fewest = if matches!(mark, '=' | '#') { 2 } else { 3 };
    if line.len() - rest.len() < fewest || !rest.starts_with([' ', '[', '`', '\'', '"']) {
        return None;
    }
    let closes =
        |c: char| matches!(c, '=' | '-' | '*' | '#' | '<' | '+' | '~' | ':' | ' ' | '[' | ']' | '`' | '\'' | '"');
    let command = rest.trim_matches(closes);
    is_known(command).then_some(Begin { host: None, command })
}

/// Lines with which outputs begin that people put below each other without anything between them: the words, the tool, and whether
/// another such line always begins another output.
const FIRST_LINES: &[(&[&str], &str, bool)] = &[
    (&["Linux"], "sysstat", true),
    (&["procs"], "vmstat", false),
    (&["total", "used", "free", "shared"], "free", false),
    (&["top", "-"], "top", false),
    (&["USER", "PID", "%CPU", "%MEM"], "ps", false),
    (&["Netid", "State", "Recv-Q"], "ss", false),
    (&["Filesystem"], "df", false),
];

/// The tool that an output which begins with `line` is of, and whether it begins one even below its own lines.
pub(super) fn first_line(line: &str) -> Option<(&'static str, bool)> {
    let mut words = line.split_ascii_whitespace();
    let first = words.next()?;
    let (wanted, tool, always) = FIRST_LINES.iter().find(|(wanted, ..)| wanted[0] == first)?;
    let follows = wanted[1..].iter().all(|word| words.next() == Some(*word));
    let fits = match *tool {
        "sysstat" => line.ends_with(" CPU)"),
        "vmstat" => line.contains("-memory-"),
        "df" => line.ends_with("Mounted on"),
        _ => true,
    };
    (follows && fits).then_some((*tool, *always))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn prompts_have_a_command_and_perhaps_a_host() {
        for (line, host, command) in [
            ("[root@db1 ~]# vmstat 1 3", Some("db1"), "vmstat 1 3"),
            ("[me@db1.x tmp]$ ./run", Some("db1.x"), "./run"),
            ("me@db1:~/a$ mpstat -P ALL 1", Some("db1"), "mpstat -P ALL 1"),
            ("root@db1:/# sudo iostat -x", Some("db1"), "sudo iostat -x"),
            ("(venv) me@db1:~$ ls", Some("db1"), "ls"),
            ("me@db1 ~ % vm_stat", Some("db1"), "vm_stat"),
            ("me@db1:~$", Some("db1"), ""),
            ("db1:~ # vmstat", Some("db1"), "vmstat"),
            ("db1# nicstat 5", Some("db1"), "nicstat 5"),
            ("bash-5.1$ free -m", None, "free -m"),
            ("$ LC_ALL=C sudo -n nice -n 5 vmstat 1", None, "LC_ALL=C sudo -n nice -n 5 vmstat 1"),
            ("# free", None, "free"),
            ("+ df -h", None, "df -h"),
            ("++ uptime", None, "uptime"),
            ("==> a/vmstat.txt <==", None, "a/vmstat.txt"),
            ("=== iostat -x 1 ===", None, "iostat -x 1"),
            ("#### `free -m` ####", None, "free -m"),
            ("----- /proc/meminfo -----", None, "/proc/meminfo"),
            ("## vmstat", None, "vmstat"),
            ("iostat -x 1:", None, "iostat -x 1"),
        ] {
            assert_eq!(begin(line), Some(Begin { host, command }), "{line}");
        }
    }

    #[test]
    fn other_lines_are_none() {
        for line in [
            "",
            "# a comment",
            "# HELP node_load1 1m load average.",
            "#Time     cpu sys inter  ctxsw",
            "# started on Sun Nov 22 10:00:00 2026",
            "$ ",
            "----total-cpu-usage---- -dsk/total-",
            "procs -----------memory---------- ---swap--",
            "--- 127.0.0.1 ping statistics ---",
            "08:19:03 PM  all   12.03 % 5",
            "12.5 % of all",
            "Mem:",
            "avg-cpu:",
            "sudo vmstat:",
            "  100 %",
            "cpu: 5 % used by free",
            "+----------+-----+",
            "| a | 5 |",
            "-- Plan hash value: 1",
            "=====================",
            "*** System and Process Activity since Boot ***",
            "[2026-11-25 07:10:37] x # y",
            "price: $ 5",
        ] {
            assert_eq!(begin(line), None, "{line}");
        }
    }

    #[test]
    fn first_lines_tell_their_tool() {
        let banner = "Linux 6.1.0 (db1) \t11/21/26 \t_x86_64_\t(8 CPU)";
        assert_eq!(first_line(banner), Some(("sysstat", true)));
        assert_eq!(first_line("procs -----------memory---------- ---swap--"), Some(("vmstat", false)));
        assert_eq!(first_line("               total        used        free      shared"), Some(("free", false)));
        for line in ["Linux db1 6.1.0 #1 SMP", "procs", "total 52", "top", "Filesystem"] {
            assert_eq!(first_line(line), None, "{line}");
        }
    }

    proptest! {
        #[test]
        fn nothing_panics(line in "\\PC{0,40}", marks in "[\\[\\]@:~/$#%>=+() a-zé]{0,30}") {
            let _ = (begin(&line), begin(&marks), tool(&line), first_line(&line));
        }
    }
}
