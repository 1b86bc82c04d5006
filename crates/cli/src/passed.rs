//! Standard output of a recorded command, where results can be in it: read while it passes, and never held up.
//!
//! A command keeps its streams. Output to a file is read there when it has ended. Of known load generators and benchmarks,
//! which print for people, read no keys and leave nothing behind, the output passes through this process: through a separate terminal where it
//! goes to a terminal (the program prints as it would), else through a pipe. The output of any other program that goes to a terminal
//! or a pipe is not touched, and thus not read.

use std::{
    ffi::OsString,
    io::{self, Read, Seek, SeekFrom},
    os::fd::{BorrowedFd, OwnedFd},
    path::Path,
    sync::{Arc, Mutex, PoisonError},
    thread::JoinHandle,
    time::Duration,
};

use fenxi_sys::{signal::Signals, terminal};
use rustix::{
    fs::{FileType, OFlags},
    stdio::stdout,
};

/// Programs whose output passes through this process.
const READ: &[&str] = &[
    "ab",
    "bombardier",
    "cyclictest",
    "fio",
    "ghz",
    "h2load",
    "hammerdbcli",
    "hey",
    "httperf",
    "hyperfine",
    "ioping",
    "iperf3",
    "k6",
    "mariadb-slap",
    "memtier_benchmark",
    "mysqlslap",
    "netperf",
    "oha",
    "pgbench",
    "qperf",
    "redis-benchmark",
    "siege",
    "sockperf",
    "stress-ng",
    "sysbench",
    "uperf",
    "valkey-benchmark",
    "wrk",
    "wrk2",
];
/// Programs that run another one, which follows on their command line.
const WRAPPERS: &[&str] = &[
    "chrt", "doas", "env", "ionice", "nice", "nohup", "numactl", "prlimit", "runuser", "setarch", "stdbuf", "sudo",
    "taskset", "time", "timeout",
];
/// Longer outputs are not what such a program prints for people.
const MOST: u64 = 16 << 20;
/// When the command has ended, and nothing came for so long, somebody that it left behind holds its output.
const QUIET: Duration = Duration::from_millis(200);

/// The output of a command.
#[derive(Debug)]
pub enum Passed {
    /// It is not read.
    Unread,
    /// It goes into a file: from this byte on.
    File(u64),
    /// It passes through.
    Through(Through),
}

/// Copies what comes to standard output, and keeps it.
#[derive(Debug)]
pub struct Through {
    kept: Arc<Mutex<Captured>>,
    thread: JoinHandle<()>,
}

#[derive(Debug, Default)]
struct Captured {
    bytes: Vec<u8>,
    /// All that came: more than is kept when it is too long.
    came: u64,
}

impl Passed {
    /// How the output of `command` is read, and what its standard output is where that is not this process's own.
    pub fn begin(command: &[OsString]) -> (Passed, Option<OwnedFd>) {
        if let Some(from) = begin_of_file(stdout()) {
            return (Passed::File(from), None);
        }
        if !is_read(command) {
            return (Passed::Unread, None);
        }
        // Without it the command has what it would have anyway.
        match Through::begin() {
            Ok((through, output)) => (Passed::Through(through), Some(output)),
            Err(_) => (Passed::Unread, None),
        }
    }

    /// Output of the command, when it has ended; None where that is unknown, or too long.
    pub fn text(self) -> Option<Vec<u8>> {
        let text = match self {
            Passed::Unread => None,
            Passed::File(from) => of_file(from).ok(),
            Passed::Through(through) => through.end(),
        };
        text.filter(|text| !text.is_empty())
    }
}

impl Through {
    fn begin() -> io::Result<(Through, OwnedFd)> {
        let (reader, output) = match rustix::termios::isatty(stdout()) {
            true => terminal::pair(stdout())?,
            false => io::pipe().map(|(reader, writer)| (reader.into(), writer.into()))?,
        };
        let kept = Arc::new(Mutex::new(Captured::default()));
        let theirs = Arc::clone(&kept);
        // The thread has no signals: they are for the recorder, and for the command.
        let before = Signals::all().block()?;
        let thread = std::thread::Builder::new().name("output".to_owned()).spawn(move || copy(&reader, &theirs));
        before.block_only()?;
        Ok((Through { kept, thread: thread? }, output))
    }

    fn end(self) -> Option<Vec<u8>> {
        let came = || self.kept.lock().unwrap_or_else(PoisonError::into_inner).came;
        let (mut last, mut quiet) = (came(), Duration::ZERO);
        let step = Duration::from_millis(5);
        while !self.thread.is_finished() && quiet < QUIET {
            std::thread::sleep(step);
            quiet = if came() == last { quiet + step } else { Duration::ZERO };
            last = came();
        }
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        (kept.came <= MOST).then(|| std::mem::take(&mut kept.bytes))
    }
}

/// Passes on what comes as it comes, until the writer or the reader has gone.
fn copy(reader: &OwnedFd, kept: &Mutex<Captured>) {
    let mut buffer = vec![0; 64 << 10];
    loop {
        let n = match rustix::io::read(reader, &mut buffer[..]) {
            Err(rustix::io::Errno::INTR) => continue,
            // A terminal without a writer any more is an error.
            Ok(0) | Err(_) => return,
            Ok(n) => n,
        };
        let mut left = &buffer[..n];
        while !left.is_empty() {
            match rustix::io::write(stdout(), left) {
                Ok(n) => left = &left[n..],
                Err(rustix::io::Errno::INTR) => {}
                Err(rustix::io::Errno::AGAIN) => std::thread::sleep(Duration::from_millis(1)),
                // The reader has left: so does the command's.
                Err(_) => return,
            }
        }
        let mut kept = kept.lock().unwrap_or_else(PoisonError::into_inner);
        kept.came += n as u64;
        if kept.came <= MOST {
            kept.bytes.extend(&buffer[..n]);
        }
    }
}

/// Where what is written to a regular file from now on begins; None when it is none.
fn begin_of_file(file: BorrowedFd<'_>) -> Option<u64> {
    let stat = rustix::fs::fstat(file).ok()?;
    if FileType::from_raw_mode(stat.st_mode) != FileType::RegularFile {
        return None;
    }
    match rustix::fs::fcntl_getfl(file).ok()?.contains(OFlags::APPEND) {
        true => u64::try_from(stat.st_size).ok(),
        false => rustix::fs::tell(file).ok(),
    }
}

/// Content of standard output's file behind byte `from`.
fn of_file(from: u64) -> io::Result<Vec<u8>> {
    // Opened anew: ours may only be written, and its position is shared with the command's.
    let mut file = fs_err::File::open("/proc/self/fd/1")?;
    let mut text = Vec::new();
    if file.metadata()?.len().saturating_sub(from) <= MOST {
        file.seek(SeekFrom::Start(from))?;
        file.take(MOST).read_to_end(&mut text)?;
    }
    Ok(text)
}

/// Whether a command line runs one of the programs that are read.
fn is_read(command: &[OsString]) -> bool {
    let name = |word: &OsString| Path::new(word).file_name().map(|name| name.to_string_lossy().into_owned());
    let names: Vec<_> = command.iter().map(|word| name(word).unwrap_or_default()).collect();
    // Of our own commands, `load run` is such a program.
    let is_load = |at: usize| names[at] == "fenxi" && names[at + 1..].starts_with(&["load".into(), "run".into()]);
    let is_read = |at: usize| READ.contains(&&*names[at]) || is_load(at);
    let Some(first) = names.first() else { return false };
    is_read(0) || WRAPPERS.contains(&&**first) && (1..names.len()).any(is_read)
}

#[cfg(test)]
mod tests {
    use super::is_read;

    #[test]
    fn programs_are_known_by_their_names_also_behind_others() {
        let is_read = |line: &str| is_read(&line.split(' ').map(Into::into).collect::<Vec<_>>());
        for line in [
            "pgbench -c 8 shop",
            "/usr/bin/wrk -d 5 http://h/",
            "sudo -u postgres pgbench shop",
            "taskset -c 0 timeout 9 fio a.fio",
            "nice /opt/fenxi load run postgres:///shop -w tpcb_like",
        ] {
            assert!(is_read(line), "{line}");
        }
        let others = [
            "man pgbench",
            "sh -c pgbench",
            "less wrk",
            "grep pgbench x",
            "vim fio",
            "",
            "dd if=/dev/zero",
            "fenxi load",
        ];
        for line in others {
            assert!(!is_read(line), "{line}");
        }
    }
}
