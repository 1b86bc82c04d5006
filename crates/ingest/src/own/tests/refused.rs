//! Calls that a program is refused, one by one: a script tries each and prints the kernel's error.

use std::{collections::BTreeMap, time::Duration};

use super::{super::refused, *};

/// Prints `WHAT RESULT` for each call of `CALLS`, a list of a name, a number and arguments; a child that a call makes ends at once.
const TRY: &str = r#"#!/usr/bin/env python3
import ctypes, json, os, sys
sys.stdin.read()
libc = ctypes.CDLL(None, use_errno=True)
def say(what, result):
    print(json.dumps({"note": f"{what} {result}"}))
def tried(what, act):
    try:
        act()
        say(what, "done")
    except OSError as e:
        say(what, e.errno)
for what, number, arguments in CALLS:
    arguments = (arguments + [-1] * 6)[:6]
    me = os.getpid()
    result = libc.syscall(ctypes.c_long(number), *[ctypes.c_long(a) for a in arguments])
    if os.getpid() != me:
        os._exit(0)
    say(what, ctypes.get_errno() if result == -1 else "done")
"#;

/// Result of each call of a script: `done`, or the number of an error. None where there is no Python.
fn results(calls: &[(String, libc::c_long, Vec<i64>)], more: &str) -> Option<BTreeMap<String, String>> {
    let calls: Vec<String> =
        calls.iter().map(|(what, number, args)| format!("({what:?}, {number}, {args:?})")).collect();
    let text = TRY.replace("CALLS", &format!("[{}]", calls.join(", "))) + more;
    let limits = Limits { silent: Duration::from_secs(20), wall: Duration::from_secs(40), ..tight() };
    let (_, notes) = script(&text, b"a\n", limits);
    if notes.contains("No such file") {
        return None;
    }
    let pairs = notes.lines().filter_map(|line| line.trim().rsplit_once(' '));
    let found: BTreeMap<String, String> = pairs.map(|(what, result)| (what.to_owned(), result.to_owned())).collect();
    assert!(found.len() >= calls.len(), "{notes}");
    Some(found)
}

#[test]
fn each_call_that_leads_out_is_refused_whatever_its_arguments() {
    let whole = [refused::REFUSED, refused::OLD].concat().into_iter().map(|call| (call.to_string(), call, vec![]));
    let clone = refused::CLONE_REFUSED.iter().map(|flag| {
        let flags = i64::from(*flag) | i64::from(libc::SIGCHLD);
        (format!("clone {flag:#x}"), libc::SYS_clone, vec![flags, 0, 0, 0, 0])
    });
    let fcntl = refused::FCNTL_REFUSED
        .iter()
        .map(|operation| (format!("fcntl {operation}"), libc::SYS_fcntl, vec![0, i64::from(*operation), 0]));
    // FS_IOC_SETFLAGS, FS_IOC_ENABLE_VERITY, FICLONE, TIOCSTI, TIOCSCTTY.
    let ioctl = [0x4008_6602, 0x4080_6685, 0x4004_9409, 0x5412, 0x540e]
        .map(|what| (format!("ioctl {what:#x}"), libc::SYS_ioctl, vec![0, what, 0]));
    let limits = [("prlimit of another".to_owned(), libc::SYS_prlimit64, vec![-1, 0, 0, 0])];
    let refused: Vec<_> = whole.chain(clone).chain(fcntl).chain(ioctl).chain(limits).collect();
    let missing = refused::MISSING.iter().copied().chain([refused::UNKNOWN.into(), 999, 0x4000_0000 + 90]);
    let missing: Vec<_> = missing.map(|call| (format!("missing {call}"), call, vec![])).collect();
    let Some(found) = results(&[refused, missing].concat(), "") else { return };
    for (what, result) in found {
        let expected = if what.starts_with("missing") { libc::ENOSYS } else { libc::EPERM };
        assert_eq!(result, expected.to_string(), "{what}");
    }
}

#[test]
fn files_of_the_user_keep_mode_times_attributes_and_content() {
    let folder = tempfile::tempdir().unwrap();
    let victim = folder.path().join("victim");
    fs::write(&victim, "precious").unwrap();
    mode(&victim, 0o600);
    let before = fs::metadata(&victim).unwrap();
    let more = "\nfd = os.open(VICTIM, os.O_RDONLY)
tried('chmod', lambda: os.chmod(VICTIM, 0o777))
tried('fchmod', lambda: os.fchmod(fd, 0o777))
tried('chown', lambda: os.chown(VICTIM, os.getuid(), os.getgid()))
tried('utime', lambda: os.utime(VICTIM, (1, 1)))
tried('setxattr', lambda: os.setxattr(VICTIM, 'user.x', b'y'))
tried('cut', lambda: os.open(VICTIM, os.O_RDONLY | os.O_TRUNC))
tried('truncate', lambda: os.truncate(VICTIM, 0))
tried('unlink', lambda: os.unlink(VICTIM))
tried('rename', lambda: os.rename(VICTIM, VICTIM + '2'))
import fcntl
tried('lock', lambda: fcntl.flock(fd, fcntl.LOCK_EX))
import resource
tried('limit', lambda: resource.prlimit(os.getppid(), resource.RLIMIT_CORE, resource.getrlimit(resource.RLIMIT_CORE)))
"
    .replace("VICTIM", &format!("{:?}", victim.to_str().unwrap()));
    let Some(found) = results(&[], &more) else { return };
    assert_eq!(found.len(), 11, "{found:?}");
    for (what, result) in found {
        assert!(result != "done", "{what}");
    }
    let after = fs::metadata(&victim).unwrap();
    assert_eq!((before.permissions(), before.modified().unwrap()), (after.permissions(), after.modified().unwrap()));
    assert_eq!(fs::read_to_string(&victim).unwrap(), "precious");
}

#[test]
fn without_landlock_no_file_is_opened_to_be_written() {
    let folder = tempfile::tempdir().unwrap();
    let victim = folder.path().join("victim");
    fs::write(&victim, "precious").unwrap();
    let text = "import os, sys
def tried(what, *flags):
    try:
        os.open(sys.argv[1] + what, *flags, 0o600)
        print('opened', what, flags)
    except OSError as e:
        print(e.errno, what) if e.errno != 1 else None
for access in (os.O_RDONLY | os.O_TRUNC, os.O_WRONLY, os.O_WRONLY | os.O_TRUNC, os.O_RDWR, os.O_RDWR | os.O_TRUNC, 3):
    tried('', access)
for how in (os.O_CREAT, os.O_CREAT | os.O_EXCL | os.O_WRONLY, os.O_WRONLY | os.O_APPEND):
    tried('2', how)
try:
    os.truncate(sys.argv[1], 0)
except OSError:
    print(open(sys.argv[1]).read())
";
    let mut command = std::process::Command::new("/usr/bin/env");
    command.args(["python3", "-c", text]).arg(&victim).env("PATH", "/usr/local/bin:/usr/bin:/bin");
    let held = refused::LandlockScope { files: false, signals: false };
    super::super::confine::confine(&mut command, &tight(), held).unwrap();
    let Ok(output) = command.output() else { return };
    if output.status.code() == Some(127) {
        return;
    }
    let message = String::from_utf8_lossy(&output.stdout);
    assert_eq!(message, "precious\n", "{}", String::from_utf8_lossy(&output.stderr));
    assert_eq!(fs::read_to_string(&victim).unwrap(), "precious");
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
}

#[test]
fn what_programs_need_is_left() {
    let more = r#"
import subprocess, threading, resource
def shell(text):
    return subprocess.run(["sh", "-c", text], capture_output=True, check=True).stdout.decode().strip()
say("pipe", shell("echo 3 4 2> /dev/null | awk '{ print $1 + $2 }' | sort"))
words = []
threads = [threading.Thread(target=lambda: words.append(1)) for _ in range(4)]
[t.start() for t in threads]
[t.join() for t in threads]
say("threads", len(words))
tried("own limit", lambda: resource.setrlimit(resource.RLIMIT_CORE, resource.getrlimit(resource.RLIMIT_CORE)))
tried("terminal", lambda: None if not os.isatty(0) else 1 / 0)
tried("flag", lambda: os.set_blocking(0, False))
if os.access("/usr/bin/perl", os.X_OK):
    say("perl", shell("perl -ne 'print $1 * 2 if /(\\d+)/' /proc/self/stat | wc -l"))
"#;
    let Some(found) = results(&[], more) else { return };
    for (what, result) in
        [("pipe", "7"), ("threads", "4"), ("own limit", "done"), ("terminal", "done"), ("flag", "done")]
    {
        assert_eq!(found.get(what).map(String::as_str), Some(result), "{what}: {found:?}");
    }
}
