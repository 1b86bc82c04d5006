//! Tables in the kernel, one for each file, for as long as processes have it.

use std::{
    os::fd::{AsFd, AsRawFd},
    path::Path,
};

use fenxi_procfs::{Processes, Root, reading};
use fs_err::File;
use libbpf_rs::{MapCore, MapFlags, MapHandle, MapType};
use rustc_hash::FxHashMap;
use rustix::fs::fstat;

use super::{
    python::Python,
    rules::{Code, Most, NONE, Row},
};
use crate::budget::Budget;

/// Rows of a chunk (`CHUNK` of `bpf/unwind.h`).
const CHUNK: usize = 512;
/// Fills up the last chunk (`NO_ADDRESS`).
const NO_ADDRESS: u32 = u32::MAX;
/// The table of what has none (`NO_TABLE`).
pub(super) const NO_TABLE: u32 = u32::MAX;
/// Bytes of a chunk in the kernel.
const CHUNK_BYTES: u64 = 2 * 4 * CHUNK as u64;

/// Limits of tables.
#[derive(Debug)]
pub(crate) struct Bounds {
    /// Of one file.
    pub(super) file: Most,
    /// Bytes of all tables in the kernel.
    pub(super) bytes: u64,
    /// CPU time of reading processes and files.
    pub(super) budget: Budget,
}

impl Bounds {
    /// Where stacks are asked for.
    pub(crate) const WIDE: Bounds = Bounds { file: Most::ALL, bytes: 200 << 20, budget: Budget::UNLIMITED };

    /// Where they are always taken: half a thousandth of a CPU, and these seconds at first.
    pub(crate) fn narrow() -> Bounds {
        Bounds { file: Most::FEW, bytes: 16 << 20, budget: Budget::new(0.0005, 0.06) }
    }
}

/// Turns that a table stays which no process has.
const IDLE: u64 = 60;

/// Which file it is, and which state of it: device, inode, size, seconds and nanoseconds of its last change.
pub(super) type FileId = (u64, u64, i64, i64, u64);

/// Where the table of a file is.
#[derive(Clone, Debug, Default)]
pub(super) struct Table {
    pub number: u32,
    pub chunks: u32,
    /// The address in the file of the first row.
    first: u64,
    code: Segments,
    python: Option<Python>,
}

/// Loaded parts of a file, as [`Code::segments`] has them.
type Segments = Vec<(u64, u64, u64)>;

#[derive(Debug)]
struct Entry {
    table: Option<Table>,
    used: u64,
}

/// The tables.
#[derive(Debug)]
pub(super) struct Tables {
    map: MapHandle,
    files: FxHashMap<FileId, Entry>,
    vdso: Option<Option<Table>>,
    free: Vec<u32>,
    next: u32,
    bytes: u64,
    pub bounds: Bounds,
    turn: u64,
    /// Names of files that had no room.
    pub left_out: Vec<String>,
}

impl Tables {
    pub fn new(map: MapHandle, bounds: Bounds) -> Tables {
        let (files, free, left_out) = (FxHashMap::default(), Vec::new(), Vec::new());
        Tables { map, files, vdso: None, free, next: 0, bytes: 0, bounds, turn: 0, left_out }
    }

    /// The table of the file at `path`, and which it is; it is read when no process had it before.
    pub fn of_file(&mut self, path: &Path) -> (Option<FileId>, Option<Table>) {
        let Ok(file) = reading::open_regular(path) else { return (None, None) };
        let Ok(stat) = fstat(&file) else { return (None, None) };
        let id = (stat.st_dev, stat.st_ino, stat.st_size, stat.st_mtime, stat.st_mtime_nsec);
        if let Some(entry) = self.files.get_mut(&id) {
            entry.used = self.turn;
            return (Some(id), entry.table.clone());
        }
        let code = Code::read(File::from_parts(file.into(), path), self.bounds.file);
        let table = code.and_then(|code| self.put(code, path));
        self.files.insert(id, Entry { table: table.clone(), used: self.turn });
        (Some(id), table)
    }

    /// The table of the kernel's code that all processes have, by the image in this process.
    pub fn of_vdso(&mut self) -> Option<Table> {
        if self.vdso.is_none() {
            let table = vdso().and_then(|image| Code::of_image(&image));
            self.vdso = Some(table.and_then(|code| self.put(code, Path::new("[vdso]"))));
        }
        self.vdso.clone().flatten()
    }

    /// A turn has ended: these files are used. Tables that were not used for long are taken out.
    pub fn turn(&mut self, used: impl Iterator<Item = FileId>) {
        self.turn += 1;
        let turn = self.turn;
        for id in used {
            if let Some(entry) = self.files.get_mut(&id) {
                entry.used = turn;
            }
        }
        let (map, free, bytes) = (&self.map, &mut self.free, &mut self.bytes);
        self.files.retain(|_, entry| {
            let stays = turn - entry.used < IDLE;
            if let (false, Some(table)) = (stays, &entry.table) {
                let _ = map.delete(&table.number.to_ne_bytes());
                *bytes -= u64::from(table.chunks) * CHUNK_BYTES;
                free.push(table.number);
            }
            stays
        });
    }

    /// Puts a table into the kernel; None when it is empty, or there is no room.
    fn put(&mut self, code: Code, path: &Path) -> Option<Table> {
        let first = code.rows.first()?.address;
        let chunks = u32::try_from(code.rows.len().div_ceil(CHUNK)).ok()?;
        let bytes = u64::from(chunks) * CHUNK_BYTES;
        let number = self.free.pop().unwrap_or(self.next);
        if self.bytes + bytes > self.bounds.bytes
            || number >= self.map.max_entries()
            || self.fill(number, first, &code.rows).is_none()
        {
            if number != self.next {
                self.free.push(number);
            }
            self.left_out.push(path.display().to_string());
            return None;
        }
        self.next = self.next.max(number + 1);
        self.bytes += bytes;
        Some(Table { number, chunks, first, code: code.segments, python: code.python })
    }

    fn fill(&self, number: u32, first: u64, rows: &[Row]) -> Option<()> {
        let options = libbpf_sys::bpf_map_create_opts {
            sz: size_of::<libbpf_sys::bpf_map_create_opts>() as libbpf_sys::size_t,
            map_flags: libbpf_sys::BPF_F_INNER_MAP,
            ..Default::default()
        };
        let chunks = u32::try_from(rows.len().div_ceil(CHUNK)).ok()?;
        let name = Some("unwinding");
        let table = MapHandle::create(MapType::Array, name, 4, CHUNK_BYTES as u32, chunks, &options).ok()?;
        let mut bytes = Vec::with_capacity(CHUNK_BYTES as usize);
        for (place, rows) in (0u32..).zip(rows.chunks(CHUNK)) {
            bytes.clear();
            let relative = |row: &Row| u32::try_from(row.address - first).unwrap_or(NO_ADDRESS);
            let fill = |value: u32| std::iter::repeat_n(value, CHUNK - rows.len());
            bytes.extend(rows.iter().map(relative).chain(fill(NO_ADDRESS)).flat_map(u32::to_ne_bytes));
            bytes.extend(rows.iter().map(|row| row.rule).chain(fill(NONE)).flat_map(u32::to_ne_bytes));
            table.update(&place.to_ne_bytes(), &bytes, MapFlags::ANY).ok()?;
        }
        let fd = u32::try_from(table.as_fd().as_raw_fd()).ok()?;
        self.map.update(&number.to_ne_bytes(), &fd.to_ne_bytes(), MapFlags::ANY).ok()
    }
}

impl Table {
    /// The number to subtract from an address to make it relative to the first row, where a mapping begins at `begin`
    /// with the byte at `offset` of the file; None: no code of the file is mapped there.
    pub fn base(&self, begin: u64, offset: u64) -> Option<u64> {
        Some(self.moved_by(begin, offset)?.wrapping_add(self.first))
    }

    /// The interpreter of the file, where it is then.
    pub fn python(&self, begin: u64, offset: u64) -> Option<Python> {
        Some(self.python?.moved(self.moved_by(begin, offset)?))
    }

    fn moved_by(&self, begin: u64, offset: u64) -> Option<u64> {
        let code = Code { segments: self.code.clone(), ..Code::default() };
        Some(begin.wrapping_sub(code.address(offset)?))
    }
}

/// The kernel's code in this process, which is the same in all.
fn vdso() -> Option<Vec<u8>> {
    let mut place = None;
    Processes::of(&Root::live()).each_mapping(std::process::id(), &mut |mapping| {
        if mapping.path == "[vdso]" {
            place = Some((mapping.begin, mapping.length()));
        }
    });
    let (begin, length) = place?;
    let mut image = vec![0; usize::try_from(length).ok()?];
    let memory = reading::open_regular(Path::new("/proc/self/mem")).ok()?;
    let read = rustix::io::pread(&memory, &mut image, begin).ok()?;
    image.truncate(read);
    Some(image)
}
