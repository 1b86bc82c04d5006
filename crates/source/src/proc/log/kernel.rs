//! The kernel's log: one record at each read of /dev/kmsg, from where it is opened on.

use std::os::fd::OwnedFd;

use fenxi_model::Micros;
use rustix::{
    fs::{Mode, OFlags, SeekFrom, open, seek},
    io::{Errno, read},
    time::{ClockId, clock_gettime},
};

use super::line::priority;
use crate::{Root, SourceError};

/// The most that a record has (`CONSOLE_EXT_LOG_MAX` of the kernel).
const RECORD_BYTES: usize = 8192;

/// /dev/kmsg, read up to what was reported.
pub struct Kernel {
    file: OwnedFd,
    record: Vec<u8>,
    /// The number of the record that comes next; None before the first.
    next: Option<u64>,
    lost: u64,
}

/// One record.
#[derive(Debug, PartialEq)]
pub struct Record<'a> {
    /// How urgent it is.
    pub priority: Option<&'static str>,
    /// Its number, one more than that of the record before.
    pub number: u64,
    /// Microseconds of the kernel's own clock, which runs as the monotonic clock does, but for some drift.
    pub at_us: u64,
    /// Its text.
    pub message: &'a str,
}

impl Record<'_> {
    /// Its time of day: as long before the end `t` of the interval of `dt` seconds as its clock has it, but within it.
    pub fn moment(&self, t: Micros, dt: f64) -> Micros {
        let now = clock_gettime(ClockId::Monotonic);
        let now_us = now.tv_sec * 1_000_000 + now.tv_nsec / 1000;
        let ago = now_us.saturating_sub(i64::try_from(self.at_us).unwrap_or(i64::MAX));
        Micros(t.0 - ago.clamp(0, (dt * 1e6) as i64))
    }
}

impl Kernel {
    /// Reads what is logged from now on.
    ///
    /// # Errors
    /// When the log may not be read, or `root` is not the system that runs.
    pub fn open(root: &Root) -> Result<Kernel, SourceError> {
        let unavailable = |why: String| SourceError::Unavailable { what: "the kernel's log", why };
        if !root.is_live() {
            return Err(unavailable("a saved system logs nothing".to_owned()));
        }
        let file = open("/dev/kmsg", OFlags::RDONLY | OFlags::NONBLOCK | OFlags::CLOEXEC, Mode::empty())
            .map_err(|e| unavailable(format!("/dev/kmsg: {e}; it takes root, or sysctl kernel.dmesg_restrict=0")))?;
        seek(&file, SeekFrom::End(0)).map_err(|e| unavailable(format!("/dev/kmsg: {e}")))?;
        Ok(Kernel { file, record: vec![0; RECORD_BYTES], next: None, lost: 0 })
    }

    /// Gives every record that came since the last time.
    ///
    /// # Errors
    /// When the log cannot be read any more.
    pub fn read(&mut self, take: &mut dyn FnMut(&Record<'_>)) -> Result<(), SourceError> {
        loop {
            let bytes = match read(&self.file, &mut self.record[..]) {
                Ok(0) | Err(Errno::AGAIN) => return Ok(()),
                Ok(bytes) => bytes,
                // Records were overwritten; the next read gives the oldest that is left.
                Err(Errno::PIPE | Errno::INTR) => continue,
                Err(error) => return Err(SourceError::Io(error.into())),
            };
            let text = String::from_utf8_lossy(self.record.get(..bytes).unwrap_or_default());
            let Some(record) = parse(&text) else { continue };
            self.lost += self.next.map_or(0, |next| record.number.saturating_sub(next));
            self.next = Some(record.number + 1);
            take(&record);
        }
    }

    /// How many records were overwritten before they could be read, since the last time.
    pub fn take_lost(&mut self) -> u64 {
        std::mem::take(&mut self.lost)
    }
}

/// `6,339,5140900,-;message`, and further lines that describe the device.
pub fn parse(text: &str) -> Option<Record<'_>> {
    let (head, message) = text.split_once(';')?;
    let mut fields = head.split(',');
    let code = fields.next()?.parse().ok()?;
    let number = fields.next()?.parse().ok()?;
    let at_us = fields.next()?.parse().ok()?;
    Some(Record { priority: priority(code), number, at_us, message: message.lines().next().unwrap_or_default().trim() })
}
