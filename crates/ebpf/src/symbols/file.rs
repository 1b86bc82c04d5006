//! Symbols of an executable or shared library.

use std::{
    collections::hash_map::Entry,
    io::BufReader,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
};

use fenxi_procfs::reading;
use fs_err::File;
use object::{
    Endianness, Object, ObjectSegment, ObjectSymbol, ReadCache, ReadRef, SymbolKind,
    read::elf::{ElfFile, ElfSymbol, FileHeader, SectionHeader, Sym},
};
use rustc_hash::FxHashMap;

use super::demangled;
use crate::{budget::Budget, elf::symbol_bytes};

/// Where symbols are bounded: bytes of all that are kept, and of symbols and names of one file.
const MOST_BYTES: usize = 24 << 20;
const MOST_OF_FILE: u64 = 8 << 20;

/// Symbols of files, by device and inode: each is read once, whatever number of processes have it.
#[derive(Debug)]
pub(super) struct Files {
    known: FxHashMap<(u64, u64), (FileSymbols, u64)>,
    turn: u64,
    /// CPU time that reading may take.
    pub budget: Budget,
    /// Bytes of symbols of a file whose functions are named.
    most_of_file: u64,
    /// Files with more of them, since this was last taken.
    pub left_out: Vec<String>,
}

impl Default for Files {
    fn default() -> Files {
        let (known, left_out) = (FxHashMap::default(), Vec::new());
        Files { known, turn: 0, budget: Budget::UNLIMITED, most_of_file: u64::MAX, left_out }
    }
}

impl Files {
    /// Within a budget, and within [`MOST_BYTES`].
    pub fn bounded(budget: Budget) -> Files {
        Files { budget, most_of_file: MOST_OF_FILE, ..Files::default() }
    }

    pub fn is_bounded(&self) -> bool {
        self.most_of_file < u64::MAX
    }

    /// A turn ends. Bounded ones that are too large keep those that were used in it.
    pub fn turn(&mut self) {
        let bytes: usize = self.known.values().map(|(symbols, _)| symbols.bytes()).sum();
        if self.is_bounded() && bytes > MOST_BYTES {
            let turn = self.turn;
            self.known.retain(|_, (symbols, used)| *used == turn && symbols.bytes() <= MOST_BYTES / 2);
        }
        self.turn += 1;
    }

    /// The symbols of the file `shown`, at a path that is asked for when it was not read yet; None: there is no time for that now.
    pub fn get(&mut self, id: (u64, u64), shown: &Path, path: impl FnOnce() -> PathBuf) -> Option<&FileSymbols> {
        let (known, used) = match self.known.entry(id) {
            Entry::Occupied(known) => known.into_mut(),
            Entry::Vacant(place) => {
                let symbols = self.budget.spend(|| FileSymbols::read(&path(), self.most_of_file))?;
                if symbols.is_left_out {
                    self.left_out.push(shown.display().to_string());
                }
                place.insert((symbols, 0))
            }
        };
        *used = self.turn;
        Some(known)
    }
}

/// The functions and variables of a file, by their addresses in it.
#[derive(Debug, Default)]
pub(super) struct FileSymbols {
    /// Sorted by address.
    functions: Vec<Function>,
    /// The same of variables.
    variables: Vec<Function>,
    /// All names, one after the other.
    names: String,
    /// Loaded parts: offset in the file, size, address.
    segments: Vec<(u64, u64, u64)>,
    /// Their sizes in memory: what is larger there begins as 0.
    sizes: Vec<u64>,
    /// Whether its symbols are too many.
    is_left_out: bool,
    /// Names that were asked for, as they are shown.
    shown: Mutex<FxHashMap<u32, Arc<str>>>,
}

#[derive(Clone, Copy, Debug)]
struct Function {
    address: u64,
    /// 0: not known.
    size: u64,
    name: (u32, u32),
}

/// The less, the plainer: `pthread_mutex_lock` precedes `___pthread_mutex_lock`. Then the order of the file.
fn plainness(names: &str, function: &Function) -> (bool, usize, u32) {
    let name = names.get(function.name.0 as usize..).unwrap_or("");
    let underscores = name.bytes().take_while(|byte| *byte == b'_').count();
    (name.starts_with("__GI_"), underscores, function.name.0)
}

/// Where distributions keep what was stripped.
const DEBUG: &str = "/usr/lib/debug/.build-id";

impl FileSymbols {
    /// Reads a file; what is no program has no functions.
    fn read(path: &Path, most: u64) -> FileSymbols {
        let mut symbols = FileSymbols::default();
        let debug = symbols.take(path, true, most);
        if let Some(debug) = debug.filter(|debug| debug.exists()) {
            symbols.take(&debug, false, most);
        }
        let names = &symbols.names;
        for list in [&mut symbols.functions, &mut symbols.variables] {
            // Names are looked at where there are several only: a compiler's library has half a million symbols.
            list.sort_unstable_by(|a, b| {
                let by_place = a.address.cmp(&b.address).then_with(|| b.size.cmp(&a.size));
                by_place.then_with(|| plainness(names, a).cmp(&plainness(names, b)))
            });
            list.dedup_by_key(|f| f.address);
        }
        symbols
    }

    /// Takes the symbols of a file unless they have more than `most` bytes, and gives the path of its stripped ones.
    fn take(&mut self, path: &Path, with_segments: bool, most: u64) -> Option<PathBuf> {
        let cache = ReadCache::new(BufReader::new(File::from_parts(reading::open_regular(path).ok()?.into(), path)));
        if most < u64::MAX && symbol_bytes(&cache) > most {
            self.is_left_out = true;
            return None;
        }
        let file = object::File::parse(&cache).ok()?;
        if with_segments {
            self.segments = file
                .segments()
                .map(|segment| {
                    let (offset, size) = segment.file_range();
                    (offset, size, segment.address())
                })
                .collect();
            self.sizes = file.segments().map(|segment| segment.size()).collect();
        }
        match &file {
            object::File::Elf32(elf) => self.add_all(elf),
            object::File::Elf64(elf) => self.add_all(elf),
            // The kernel runs no others.
            _ => {}
        }
        let id = file.build_id().ok()??;
        let (first, rest) = id.split_first()?;
        let rest: String = rest.iter().map(|byte| format!("{byte:02x}")).collect();
        Some(Path::new(DEBUG).join(format!("{first:02x}")).join(format!("{rest}.debug")))
    }

    fn add_all<'data, Elf, R>(&mut self, file: &ElfFile<'data, Elf, R>)
    where
        Elf: FileHeader<Endian = Endianness>,
        R: ReadRef<'data>,
    {
        let tables =
            [(file.elf_symbol_table(), file.symbols()), (file.elf_dynamic_symbol_table(), file.dynamic_symbols())];
        for (table, symbols) in tables {
            // Read at once: asked for one by one, each name would be a separate read.
            let section = file.elf_section_table().section(table.string_section());
            let names = section.and_then(|section| section.data(file.endian(), file.data())).unwrap_or_default();
            symbols.for_each(|symbol| self.add(&symbol, names));
        }
    }

    fn add<'data, Elf, R>(&mut self, symbol: &ElfSymbol<'data, '_, Elf, R>, names: &[u8])
    where
        Elf: FileHeader<Endian = Endianness>,
        R: ReadRef<'data>,
    {
        // Assembler code often does not say that its labels are functions.
        let is_code = matches!(symbol.kind(), SymbolKind::Text | SymbolKind::Label)
            || symbol.size() > 0 && symbol.kind() == SymbolKind::Unknown;
        let is_data = symbol.kind() == SymbolKind::Data && symbol.size() > 0;
        if !(is_code || is_data) || symbol.is_undefined() || symbol.address() == 0 {
            return;
        }
        let at = symbol.elf_symbol().st_name(symbol.endian()) as usize;
        let name = names.get(at..).and_then(|rest| rest.split(|byte| *byte == 0).next());
        let Some(name) = name.and_then(|name| str::from_utf8(name).ok()).filter(|name| !name.is_empty()) else {
            return;
        };
        let (Ok(begin), Ok(length)) = (u32::try_from(self.names.len()), u32::try_from(name.len())) else { return };
        self.names.push_str(name);
        let list = if is_code { &mut self.functions } else { &mut self.variables };
        list.push(Function { address: symbol.address(), size: symbol.size(), name: (begin, length) });
    }

    /// About how much memory it takes.
    fn bytes(&self) -> usize {
        self.names.capacity() + (self.functions.capacity() + self.variables.capacity()) * size_of::<Function>()
    }

    /// The address in the file of the byte at `offset`.
    fn address(&self, offset: u64) -> Option<u64> {
        self.segments.iter().find_map(|(begin, size, address)| {
            let into = offset.checked_sub(*begin)?;
            (into < *size).then_some(address + into)
        })
    }

    /// The function that the byte at `offset` of the file belongs to, and how far into it that is.
    pub(super) fn at(&self, offset: u64) -> Option<(Arc<str>, u64)> {
        self.named(&self.functions, self.address(offset)?)
    }

    /// The variable at `into` bytes into a mapping that begins with the byte at `offset` of the file.
    pub(super) fn variable(&self, offset: u64, into: u64) -> Option<(Arc<str>, u64)> {
        // Mappings begin at whole pages, parts need not; the last part that begins before is the one that is mapped.
        let parts = self.segments.iter().zip(&self.sizes).filter(|((begin, _, _), _)| begin & !0xfff <= offset);
        let ((begin, _, address), size) = parts.max_by_key(|((begin, _, _), _)| *begin)?;
        let own = (offset + into).checked_sub(*begin).filter(|own| own < size)?;
        self.named(&self.variables, address + own)
    }

    fn named(&self, list: &[Function], address: u64) -> Option<(Arc<str>, u64)> {
        let place = list.partition_point(|f| f.address <= address).checked_sub(1)?;
        let function = list.get(place)?;
        let into = address - function.address;
        if function.size > 0 && into >= function.size {
            return None;
        }
        let mut shown = self.shown.lock().unwrap_or_else(PoisonError::into_inner);
        let name = shown.entry(function.name.0).or_insert_with(|| {
            let (begin, length) = (function.name.0 as usize, function.name.1 as usize);
            demangled(self.names.get(begin..begin + length).unwrap_or("?"))
        });
        Some((Arc::clone(name), into))
    }
}
