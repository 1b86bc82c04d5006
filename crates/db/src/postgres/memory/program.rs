//! Where variables of a server's program are in the memory of its processes: its exported symbols, and where it was loaded.

use fenxi_procfs::{
    Processes,
    reading::{self, PROGRAM_LIMIT},
};
use object::{Object, ObjectSegment, ObjectSymbol};

use super::layout::{self, Layout};

/// Addresses of variables: the same in all processes of a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Program {
    /// The pointer to what all processes are listed in.
    pub processes: u64,
    /// A process's pointer to its own status.
    pub own_status: u64,
    /// A process's pointer to what it waits for.
    pub own_wait: u64,
    /// A process's pointer to what it is listed as.
    pub own_proc: u64,
    /// The pointer that leads to the next transaction's number.
    pub next_xid: u64,
    /// The length of texts of statements (32 bits).
    pub text_length: u64,
}

/// Why a program's variables are not found.
#[derive(Debug, thiserror::Error)]
pub enum ProgramError {
    /// Its file cannot be read.
    #[error("the program of process {pid} cannot be read: {source}")]
    Unreadable {
        /// The process.
        pid: u32,
        /// Why.
        source: std::io::Error,
    },
    /// It is no program of a known kind.
    #[error("the program of process {pid} is not understood: {why}")]
    Unknown {
        /// The process.
        pid: u32,
        /// Reason, such as the missing part.
        why: String,
    },
}

impl Program {
    /// Looks at the program of a server's first process.
    ///
    /// # Errors
    /// When its file or its mappings cannot be read, or a symbol is missing.
    pub fn of(processes: &Processes, pid: u32, layout: &Layout) -> Result<Program, ProgramError> {
        let unreadable = |source| ProgramError::Unreadable { pid, source };
        let unknown = |why: &str| ProgramError::Unknown { pid, why: why.to_owned() };
        let path = processes.path(pid, "exe");
        let bytes = reading::read(&path, PROGRAM_LIMIT).map_err(unreadable)?;
        let file = object::File::parse(&*bytes).map_err(|error| unknown(&error.to_string()))?;
        if !file.is_64() || file.is_little_endian() != cfg!(target_endian = "little") {
            return Err(unknown("it is not one of 64 bit"));
        }
        let first = file.segments().find(|segment| segment.file_range().0 == 0).map(|segment| segment.address());
        let first = first.ok_or_else(|| unknown("its first segment is missing"))?;
        let link = fs_err::read_link(&path).map_err(unreadable)?;
        let (mut loaded, link) = (None, link.to_string_lossy());
        processes.each_mapping(pid, &mut |mapping| {
            if mapping.offset == 0 && mapping.inode != 0 && mapping.path.trim_end() == link && loaded.is_none() {
                loaded = Some(mapping.begin);
            }
        });
        let loaded = loaded.ok_or_else(|| unknown("it is not among its mappings, or these cannot be read"))?;
        let find = |name: &str| {
            let mut all = file.dynamic_symbols().chain(file.symbols());
            let found = all.find(|symbol| symbol.is_definition() && symbol.name() == Ok(name));
            let address = found.map(|symbol| symbol.address().wrapping_sub(first).wrapping_add(loaded));
            address.ok_or_else(|| unknown(&format!("it has no symbol `{name}`")))
        };
        Ok(Program {
            processes: find("ProcGlobal")?,
            own_status: find("MyBEEntry")?,
            own_wait: find("my_wait_event_info")?,
            own_proc: find("MyProc")?,
            next_xid: find(layout.next_xid)?,
            text_length: find("pgstat_track_activity_query_size")?,
        })
    }

    /// As [`Program::of`], where the version is not known: by what the program reports of itself.
    ///
    /// # Errors
    /// As [`Program::of`], and when the version is not one of those that are known.
    pub fn of_any(processes: &Processes, pid: u32) -> Result<(Program, &'static Layout), ProgramError> {
        let unreadable = |source| ProgramError::Unreadable { pid, source };
        let bytes = reading::read(&processes.path(pid, "exe"), PROGRAM_LIMIT).map_err(unreadable)?;
        let major = major_of(&bytes);
        let found = major.and_then(layout::of).ok_or_else(|| ProgramError::Unknown {
            pid,
            why: match major {
                Some(major) => format!("PostgreSQL {major} is none of 14 to 18"),
                None => "it does not say which version of PostgreSQL it is".to_owned(),
            },
        })?;
        Ok((Program::of(processes, pid, found)?, found))
    }
}

/// Text in a program before its version.
const SAYS: &[u8] = b"postgres (PostgreSQL) ";

/// The major version that a program reports, as with `--version`.
fn major_of(bytes: &[u8]) -> Option<u32> {
    for at in memchr::memmem::find_iter(bytes, SAYS) {
        let rest = &bytes[at + SAYS.len()..];
        let digits = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
        if let Some(major) = std::str::from_utf8(&rest[..digits]).ok().and_then(|text| text.parse().ok()) {
            return Some(major);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_says_its_version() {
        assert_eq!(major_of(b"xx\0postgres (PostgreSQL) \0postgres (PostgreSQL) 15.18 (Debian)\n"), Some(15));
        assert_eq!(major_of(b"psql (PostgreSQL) 15.18"), None);
        assert_eq!(major_of(b""), None);
    }
}
