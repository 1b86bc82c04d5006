//! Rows that wait for the link: a few ticks in memory, more in a file without a name, and when that is full, what is dropped is
//! counted. Sampling never waits.

use std::{
    collections::VecDeque,
    io::{self, Read, Seek, SeekFrom, Write},
};

use fenxi_model::{Micros, Rows};
use rustix::fs::{Mode, OFlags};

use crate::codec::{Decoder, Encoder};

/// Ticks that are kept in memory.
const IN_MEMORY: usize = 8;
/// Rows that are kept in memory.
const ROWS_IN_MEMORY: usize = 100_000;
/// Ticks that are kept in memory where no file can be had.
const WITHOUT_FILE: usize = 64;
/// Bytes of the file.
const ON_DISK: u64 = 64 << 20;

/// Ticks in their order.
pub struct Queue {
    /// Bytes that may wait on disk.
    on_disk: u64,
    memory: VecDeque<Rows>,
    rows: usize,
    disk: Option<Spool>,
    /// Ticks that were dropped and not reported yet, and the moment of the first one.
    dropped: Option<(u64, Micros)>,
    pub dropped_in_all: u64,
}

impl Default for Queue {
    fn default() -> Queue {
        Queue { on_disk: ON_DISK, memory: VecDeque::new(), rows: 0, disk: None, dropped: None, dropped_in_all: 0 }
    }
}

impl Queue {
    /// Adds the rows of a tick at `t`.
    pub fn push(&mut self, t: Micros, rows: Rows) {
        let waits_on_disk = self.disk.as_ref().is_some_and(|spool| spool.ticks > 0);
        let is_small = self.memory.len() < IN_MEMORY && self.rows + rows.len() <= ROWS_IN_MEMORY;
        // One tick has its place, however large it is.
        if !waits_on_disk && (is_small || self.memory.is_empty()) {
            return self.keep(rows);
        }
        if self.disk.is_none() {
            self.disk = Spool::new().ok();
        }
        let is_kept = match &mut self.disk {
            Some(spool) => spool.push(&rows, self.on_disk).is_ok(),
            None if self.memory.len() < WITHOUT_FILE && self.rows + rows.len() <= ROWS_IN_MEMORY => {
                self.keep(rows);
                true
            }
            None => false,
        };
        if !is_kept {
            self.dropped_in_all += 1;
            self.dropped.get_or_insert((0, t)).0 += 1;
        }
    }

    fn keep(&mut self, rows: Rows) {
        self.rows += rows.len();
        self.memory.push_back(rows);
    }

    /// The oldest tick, to be sent next.
    pub fn pop(&mut self) -> Option<Rows> {
        if let Some(rows) = self.memory.pop_front() {
            self.rows -= rows.len();
            return Some(rows);
        }
        self.disk.as_mut()?.pop()
    }

    /// Number of waiting ticks.
    pub fn len(&self) -> usize {
        self.memory.len() + self.disk.as_ref().map_or(0, |spool| spool.ticks)
    }

    /// Returns true if none does.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// How many ticks were dropped since the last call, and the moment of the first one.
    pub fn take_dropped(&mut self) -> Option<(u64, Micros)> {
        self.dropped.take()
    }
}

/// A file that is gone with the process: ticks one behind the other, each by itself.
struct Spool {
    file: fs_err::File,
    lengths: VecDeque<u32>,
    read: u64,
    written: u64,
    ticks: usize,
}

impl Spool {
    fn new() -> io::Result<Spool> {
        let flags = OFlags::TMPFILE | OFlags::RDWR | OFlags::CLOEXEC;
        let folder = std::env::temp_dir();
        let fd = rustix::fs::open(&folder, flags, Mode::RUSR | Mode::WUSR)?;
        let file = fs_err::File::from_parts(fd.into(), folder);
        Ok(Spool { file, lengths: VecDeque::new(), read: 0, written: 0, ticks: 0 })
    }

    fn push(&mut self, rows: &Rows, limit: u64) -> io::Result<()> {
        let bytes = Encoder::new()?.encode(rows)?;
        let length = u32::try_from(bytes.len()).map_err(io::Error::other)?;
        if self.written + u64::from(length) > limit {
            return Err(io::ErrorKind::StorageFull.into());
        }
        self.file.seek(SeekFrom::Start(self.written))?;
        // Half of one is overwritten by the next.
        self.file.write_all(&bytes)?;
        self.written += u64::from(length);
        self.lengths.push_back(length);
        self.ticks += 1;
        Ok(())
    }

    fn pop(&mut self) -> Option<Rows> {
        let length = self.lengths.pop_front()?;
        self.ticks -= 1;
        let mut bytes = vec![0; length as usize];
        let read = self.file.seek(SeekFrom::Start(self.read)).and_then(|_| self.file.read_exact(&mut bytes));
        self.read += u64::from(length);
        if self.ticks == 0 {
            (self.read, self.written) = (0, 0);
            let _ = self.file.file().set_len(0);
        }
        let mut rows = Rows::new("");
        let decoded = read.and_then(|()| Decoder::new()?.decode(&bytes, &mut rows));
        if let Err(error) = decoded {
            rows = Rows::new("");
            rows.note("", None, &format!("a sample that waited for the link on disk is lost: {error}"));
        }
        Some(rows)
    }
}

#[cfg(test)]
mod tests {
    use fenxi_model::catalog::{event, mem};

    use super::*;

    fn tick(n: i64) -> Rows {
        let mut rows = Rows::new("x");
        rows.row(&mem::TABLE, Micros(n), 1.0);
        rows
    }

    #[test]
    fn ticks_keep_their_order_through_memory_and_disk() {
        let mut queue = Queue::default();
        let mut seen = Vec::new();
        let mut next = 0;
        // More than memory holds, then as fast out as in, then all out.
        for (pushes, pops) in [(40, 0), (30, 30), (0, 35), (3, 0), (0, 8)] {
            for _ in 0..pushes {
                queue.push(Micros(next), tick(next));
                next += 1;
            }
            for _ in 0..pops {
                let rows = queue.pop().unwrap();
                seen.push(rows.of(&mem::TABLE).unwrap().micros(0, mem::t).unwrap().0);
            }
        }
        assert!(queue.is_empty() && queue.pop().is_none());
        assert_eq!(seen, (0..73).collect::<Vec<_>>());
        assert!(queue.take_dropped().is_none());
    }

    #[test]
    fn what_has_no_place_is_dropped_and_counted() {
        let mut queue = Queue { on_disk: 1 << 20, ..Queue::default() };
        let mut seed = 1_u64;
        // Text that hardly compresses: 128 KiB each.
        for n in 0..50 {
            let mut rows = Rows::new("x");
            let noise = (0..1 << 14).map(|_| {
                seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                format!("{:08x}", seed >> 32)
            });
            rows.event(Micros(n), "log", "x", &noise.collect::<String>());
            queue.push(Micros(n), rows);
        }
        let (dropped, first) = queue.take_dropped().unwrap();
        assert!(dropped > 0 && first.0 == 50 - dropped as i64, "{dropped} from {first:?}");
        assert_eq!(queue.len() as u64, 50 - dropped);
        let last = std::iter::from_fn(|| queue.pop()).last().unwrap();
        assert_eq!(last.of(&event::TABLE).unwrap().micros(0, event::t), Some(Micros(first.0 - 1)));
    }
}
