//! The tables of an import, sealed by a few threads: their rows are in memory already, so that it takes no more of that.
//!
//! Each thread takes the next table. Statistics come to the one file of them in the order of the tables, whichever is done first.

use std::{
    collections::VecDeque,
    io,
    path::Path,
    sync::{
        Arc, Mutex, PoisonError,
        mpsc::{Receiver, SyncSender, sync_channel},
    },
};

use crate::{
    StoreError,
    open::Chunked,
    stats::{Stat, Stats, StatsFile},
    table_seal::{Limits, MAX_THREADS, Sealed, seal_chunked},
};

/// Lines of statistics that are handed over together, and how many such parts may wait.
const LINES: usize = 4096;
const PARTS_AHEAD: usize = 2;

/// The statistics of one column of a series.
struct Line {
    table: &'static str,
    key: Arc<(String, String)>,
    column: &'static str,
    stat: Stat,
}

/// A thread's progress on the table that it seals.
enum Message {
    Lines(Vec<Line>),
    /// The table is sealed, or could not be. It is the last message.
    Sealed(Result<Sealed, StoreError>),
}

/// A table to be sealed, and where to say so.
type Job = (Chunked, SyncSender<Message>);

/// Seals `tables` into `dir`; gives them in their order, and the CPU seconds that other threads than this one took.
pub(crate) fn seal_together(
    tables: Vec<Chunked>,
    dir: &Path,
    stats: &mut StatsFile,
    limits: Limits<'_>,
) -> Result<(Vec<Sealed>, f64), StoreError> {
    let threads = std::thread::available_parallelism().map_or(1, usize::from).min(MAX_THREADS).min(tables.len());
    if threads < 2 {
        let seal = |table: Chunked| seal_chunked(table.gather, table.written, dir, stats, limits);
        return Ok((tables.into_iter().map(seal).collect::<Result<_, _>>()?, 0.0));
    }
    // Tables that did not fit a chunk are read back for their statistics: together in the memory that one may take.
    let read_back = tables.iter().filter(|table| table.written.is_some()).count().clamp(1, threads);
    let limits = Limits { stat_values: limits.stat_values / read_back, ..limits };
    let mut receivers = Vec::new();
    let mut jobs = VecDeque::new();
    for table in tables {
        let (sender, receiver) = sync_channel(PARTS_AHEAD);
        jobs.push_back((table, sender));
        receivers.push(receiver);
    }
    let jobs = Mutex::new(jobs);
    std::thread::scope(|scope| {
        let work = || seal_some(&jobs, dir, limits);
        let running: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
        let sealed = receivers.into_iter().map(|receiver| receive(&receiver, stats)).collect::<Result<Vec<_>, _>>();
        if sealed.is_err() {
            // Sealing ends when its receiver is gone.
            jobs.lock().unwrap_or_else(PoisonError::into_inner).clear();
        }
        let cpu_s = running.into_iter().map(|thread| thread.join().unwrap_or_default()).sum();
        Ok((sealed?, cpu_s))
    })
}

/// Seals tables until there is none left; gives the CPU seconds that this thread took.
fn seal_some(jobs: &Mutex<VecDeque<Job>>, dir: &Path, limits: Limits<'_>) -> f64 {
    loop {
        let next = jobs.lock().unwrap_or_else(PoisonError::into_inner).pop_front();
        let Some((Chunked { gather, written }, to)) = next else { return crate::seal::cpu_seconds() };
        let mut lines = Lines { to, key: Arc::default(), waiting: Vec::new() };
        let sealed = seal_chunked(gather, written, dir, &mut lines, limits);
        let sealed = sealed.and_then(|sealed| lines.send().map(|()| sealed));
        // Without a receiver, an earlier table failed.
        let _ = lines.to.send(Message::Sealed(sealed));
    }
}

/// Handles a progress message of one table.
fn receive(from: &Receiver<Message>, stats: &mut StatsFile) -> Result<Sealed, StoreError> {
    loop {
        match from.recv() {
            Ok(Message::Lines(lines)) => {
                for line in lines {
                    stats.add(line.table, &line.key, line.column, line.stat)?;
                }
            }
            Ok(Message::Sealed(sealed)) => return sealed,
            Err(_) => return Err(ended_early()),
        }
    }
}

fn ended_early() -> StoreError {
    io::Error::other("sealing ended early").into()
}

/// Statistics on their way to the file of them.
struct Lines {
    to: SyncSender<Message>,
    key: Arc<(String, String)>,
    waiting: Vec<Line>,
}

impl Lines {
    fn send(&mut self) -> Result<(), StoreError> {
        let lines = std::mem::take(&mut self.waiting);
        self.to.send(Message::Lines(lines)).map_err(|_| ended_early())
    }
}

impl Stats for Lines {
    fn add(
        &mut self,
        table: &'static str,
        key: &(String, String),
        column: &'static str,
        stat: Stat,
    ) -> Result<(), StoreError> {
        if *self.key != *key {
            self.key = Arc::new(key.clone());
        }
        self.waiting.push(Line { table, key: Arc::clone(&self.key), column, stat });
        if self.waiting.len() < LINES { Ok(()) } else { self.send() }
    }
}

#[cfg(test)]
mod tests {
    use fenxi_model::{
        Micros, Rows, TABLES,
        catalog::{cpu, disk, mem, process},
    };
    use fs_err as fs;

    use super::*;
    use crate::{sort_buffer::SortBuffer, stats::ALL};

    /// Four tables, three of which have more series than are handed over at once.
    fn tables() -> Vec<Chunked> {
        let mut rows = Rows::new("h");
        for second in 0..2 {
            let t = Micros(i64::from(second) * 1_000_000);
            for n in 0..LINES as u32 + 900 {
                let (name, value) = (n.to_string(), f64::from(n + second));
                rows.row(&cpu::TABLE, t, 1.0).str(cpu::cpu, name.as_str()).f64(cpu::intr_per_s, value);
                rows.row(&process::TABLE, t, 1.0).i64(process::pid, i64::from(n)).f64(process::usr, value);
                rows.row(&disk::TABLE, t, 1.0).str(disk::device, name.as_str()).f64(disk::reads_per_s, value);
            }
            rows.row(&mem::TABLE, t, 1.0).f64(mem::free_bytes, f64::from(second));
        }
        let batches = rows.tables_mut().map(|rows| (rows.table().id, rows.take().unwrap()));
        let chunked = batches.map(|(id, batch)| {
            let mut gather = SortBuffer::new(TABLES[id as usize]);
            assert!(gather.push(&batch));
            Chunked { gather, written: None }
        });
        chunked.collect()
    }

    fn files(folder: &Path) -> Vec<(String, Vec<u8>)> {
        let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
        let mut files: Vec<_> =
            entries.map(|path| (path.file_name().unwrap().to_string_lossy().into(), fs::read(path).unwrap())).collect();
        files.sort();
        files
    }

    #[test]
    fn tables_that_are_sealed_together_are_those_that_are_sealed_one_after_another() {
        let [one, two] = [(); 2].map(|()| tempfile::tempdir().unwrap());
        let create = |folder: &Path| StatsFile::create(&folder.join("stats.parquet"), ALL).unwrap();
        let mut stats = create(one.path());
        for Chunked { gather, written } in tables() {
            seal_chunked(gather, written, one.path(), &mut stats, Limits::DEFAULT).unwrap();
        }
        stats.finish().unwrap();
        let mut stats = create(two.path());
        let (sealed, cpu_s) = seal_together(tables(), two.path(), &mut stats, Limits::DEFAULT).unwrap();
        stats.finish().unwrap();
        assert_eq!(sealed.iter().map(|sealed| sealed.entry.rows).collect::<Vec<_>>(), [9992, 2, 9992, 9992]);
        assert!(cpu_s > 0.0 || std::thread::available_parallelism().is_ok_and(|n| n.get() == 1));
        assert!(files(one.path()) == files(two.path()));
    }

    #[test]
    fn one_that_cannot_be_sealed_ends_all() {
        let folder = tempfile::tempdir().unwrap();
        let mut stats = StatsFile::create(&folder.path().join("stats.parquet"), ALL).unwrap();
        // A folder has the name of a table's file.
        fs::create_dir(folder.path().join("cpu.parquet")).unwrap();
        let error = seal_together(tables(), folder.path(), &mut stats, Limits::DEFAULT).unwrap_err();
        assert!(error.to_string().contains("cpu.parquet"), "{error}");
    }
}
