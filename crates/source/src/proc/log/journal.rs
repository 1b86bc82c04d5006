//! The systemd journal: what `journalctl --follow` prints meanwhile, in its export format.
//!
//! A thread takes what comes, so that a flood of entries neither waits in the pipe nor fills the memory.

use std::{
    io::{self, BufRead, BufReader, Read},
    os::unix::process::CommandExt,
    process::{Child, Command, Stdio},
    sync::{Arc, Mutex, PoisonError},
    thread::{Builder, JoinHandle},
};

use fenxi_model::Micros;
use fenxi_procfs::{TICK_NS, stat};
use rustix::time::{ClockId, clock_gettime};

use super::{MOST_BYTES, MOST_OF_INTERVAL, line::priority};
use crate::{Root, SourceError};

/// Fields that are read of each entry; times come in any case.
const FIELDS: &str = "MESSAGE,PRIORITY,SYSLOG_IDENTIFIER,_COMM,_SYSTEMD_UNIT,UNIT,_TRANSPORT";
/// Bytes of a field that are looked at; the rest of a longer one is skipped.
const FIELD_BYTES: u64 = 64 << 10;

/// An entry of the journal.
#[derive(Debug, Default, PartialEq)]
pub struct Entry {
    /// When it was received, in microseconds since 1970.
    pub at_us: i64,
    /// The program.
    pub program: String,
    /// The unit that it belongs to.
    pub unit: String,
    /// How urgent it is.
    pub priority: Option<&'static str>,
    /// Its text.
    pub message: String,
    /// Whether it is a line of the kernel's log.
    is_kernel: bool,
}

impl Entry {
    /// Its time of day, but within the interval of `dt` seconds that ends at `t`.
    pub fn moment(&self, t: Micros, dt: f64) -> Micros {
        Micros(t.0 - t.0.saturating_sub(self.at_us).clamp(0, (dt * 1e6) as i64))
    }

    /// The message, behind the unit where that has another name than the program.
    pub fn line(&self) -> String {
        let name = self.unit.strip_suffix(".service").unwrap_or(&self.unit);
        match self.unit.is_empty() || name == self.program {
            true => self.message.clone(),
            false => format!("[{}] {}", self.unit, self.message),
        }
    }
}

/// Entries since the last call.
#[derive(Debug, Default)]
pub struct Came {
    /// The first entries.
    pub entries: Vec<Entry>,
    /// How many came besides.
    pub left_out: u64,
    /// Whether no more come.
    ended: bool,
}

/// `journalctl` at work.
pub struct Journal {
    child: Child,
    came: Arc<Mutex<Came>>,
    reader: Option<JoinHandle<()>>,
}

/// Microseconds since 1970 by the clock that stamps entries: those before are left out.
pub fn now_us() -> i64 {
    let now = clock_gettime(ClockId::Realtime);
    now.tv_sec * 1_000_000 + now.tv_nsec / 1000
}

impl Journal {
    /// Reads what is logged from now on, of the system or of the journal files in the folder `within`; what the kernel logs
    /// only `with_kernel`.
    ///
    /// # Errors
    /// When there is no `journalctl`, or the journal is not that of the system at `root`.
    pub fn follow(root: &Root, within: Option<&str>, with_kernel: bool) -> Result<Journal, SourceError> {
        let unavailable = |why: String| SourceError::Unavailable { what: "the systemd journal", why };
        if !root.is_live() && within.is_none() {
            return Err(unavailable("a saved system logs nothing".to_owned()));
        }
        let begun_us = now_us();
        let mut command = Command::new("journalctl");
        command.args(["--follow", "--quiet", "--no-pager", "--output=export"]);
        command.arg(format!("--output-fields={FIELDS}")).arg(format!("--since=@{}", begun_us / 1_000_000));
        command.args(within.map(|folder| format!("--directory={folder}")));
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        // Ctrl-C is for the recorder, which reads what came before it ends.
        command.process_group(0);
        let mut child = command.spawn().map_err(|error| {
            unavailable(format!("journalctl: {error}; name a log file instead: --source +log:file=/var/log/syslog"))
        })?;
        let came = Arc::new(Mutex::new(Came::default()));
        let (output, theirs) = (child.stdout.take(), Arc::clone(&came));
        let work = move || {
            if let Some(output) = output {
                take_entries(&mut BufReader::new(output), &theirs, |entry| {
                    entry.at_us >= begun_us && (with_kernel || !entry.is_kernel)
                });
            }
            theirs.lock().unwrap_or_else(PoisonError::into_inner).ended = true;
        };
        let reader = Builder::new().name("fenxi-journal".to_owned()).spawn(work)?;
        Ok(Journal { child, came, reader: Some(reader) })
    }

    /// Reads the entries since the last call.
    ///
    /// # Errors
    /// When `journalctl` has ended, with its message.
    pub fn drain(&mut self) -> Result<Came, SourceError> {
        let mut came = self.came.lock().unwrap_or_else(PoisonError::into_inner);
        let ended = came.ended;
        let taken = std::mem::replace(&mut *came, Came { ended, ..Came::default() });
        drop(came);
        if ended && taken.entries.is_empty() {
            return Err(self.ended());
        }
        Ok(taken)
    }

    fn ended(&mut self) -> SourceError {
        let mut reported = String::new();
        if let Some(stderr) = self.child.stderr.as_mut() {
            // Text that cannot be read is left out.
            let _ = stderr.take(MOST_BYTES as u64).read_to_string(&mut reported);
        }
        let status = self.child.try_wait().ok().flatten().map(|status| status.to_string()).unwrap_or_default();
        let why = if reported.trim().is_empty() { status } else { reported.trim().to_owned() };
        SourceError::Unavailable { what: "the systemd journal", why: format!("journalctl ended: {why}") }
    }

    /// CPU seconds that `journalctl` has used.
    pub fn cpu_s(&self) -> f64 {
        let ticks = stat::of_process(&Root::live(), self.child.id()).map_or(0, |(stat, _)| stat.ticks());
        (ticks * TICK_NS) as f64 / 1e9
    }
}

impl Drop for Journal {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.child.kill();
        let _ = self.child.wait();
        if let Some(reader) = self.reader.take() {
            let _ = reader.join();
        }
    }
}

/// Takes entries as they come until there are no more; those that are not `wanted` are left out and not counted.
fn take_entries(from: &mut impl BufRead, came: &Mutex<Came>, wanted: impl Fn(&Entry) -> bool) {
    while let Ok(Some(entry)) = next_entry(from) {
        if !wanted(&entry) {
            continue;
        }
        let mut came = came.lock().unwrap_or_else(PoisonError::into_inner);
        if came.entries.len() < MOST_OF_INTERVAL as usize {
            came.entries.push(entry);
        } else {
            came.left_out += 1;
        }
    }
}

/// The next entry: fields up to an empty line, each `NAME=value`, or `NAME`, the length as eight bytes and the value where
/// that has line ends or is no text.
pub fn next_entry(from: &mut impl BufRead) -> io::Result<Option<Entry>> {
    let (mut entry, mut any, mut field) = (Entry::default(), false, Vec::new());
    loop {
        field.clear();
        from.by_ref().take(FIELD_BYTES).read_until(b'\n', &mut field)?;
        if field.pop_if(|last| *last == b'\n').is_none() {
            if field.is_empty() {
                return Ok(None);
            }
            skip_line(from)?;
        }
        if field.is_empty() {
            if any {
                return Ok(Some(entry));
            }
            continue;
        }
        any = true;
        match memchr::memchr(b'=', &field) {
            Some(at) => entry.set(&field[..at], &field[at + 1..]),
            None => {
                let name = std::mem::take(&mut field);
                let mut length = [0; 8];
                from.read_exact(&mut length)?;
                let length = u64::from_le_bytes(length);
                let kept = from.by_ref().take(length.min(FIELD_BYTES)).read_to_end(&mut field)? as u64;
                io::copy(&mut from.by_ref().take(length - kept), &mut io::sink())?;
                skip_line(from)?;
                entry.set(&name, &field);
            }
        }
    }
}

/// Goes behind the end of the line, however far it is.
fn skip_line(from: &mut impl BufRead) -> io::Result<()> {
    from.skip_until(b'\n').map(|_| ())
}

impl Entry {
    fn set(&mut self, name: &[u8], value: &[u8]) {
        let text = || String::from_utf8_lossy(value).trim().to_owned();
        match name {
            b"__REALTIME_TIMESTAMP" => self.at_us = text().parse().unwrap_or(0),
            b"PRIORITY" => self.priority = text().parse().ok().and_then(priority),
            b"SYSLOG_IDENTIFIER" => self.program = text(),
            b"_COMM" if self.program.is_empty() => self.program = text(),
            // For systemd's own messages about a unit, that unit.
            b"UNIT" => self.unit = text(),
            b"_SYSTEMD_UNIT" if self.unit.is_empty() => self.unit = text(),
            b"MESSAGE" => self.message = text(),
            b"_TRANSPORT" => self.is_kernel = value == b"kernel",
            _ => {}
        }
    }
}
