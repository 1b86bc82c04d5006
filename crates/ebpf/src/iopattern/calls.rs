//! Table of system calls that read, write, name and query files: one line each.

use libbpf_rs::{MapCore, MapFlags, MapHandle};

use crate::{EbpfError, syscalls};

/// Operation on a file; the order is that of `enum op` (`iopattern.h`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Op {
    Read,
    Write,
    Lookup,
    Create,
    Remove,
    Attr,
    Readdir,
    Sync,
}

/// Kind of a call's arguments; the order is that of `enum kind` (`iopattern.bpf.c`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    AtPosition,
    AtOffset,
    AtOffsetOrPosition,
    Sendfile,
    Path,
    AtPath,
    NewPath,
    NewAtPath,
    AtPathAtPath,
    Open,
    OpenAt,
    Fd,
    Submit,
    GetEvents,
}

/// Calls by what they do and by their arguments.
const CALLS: &[(Op, Kind, &[&str])] = &[
    (Op::Read, Kind::AtPosition, &["read", "readv"]),
    (Op::Read, Kind::AtOffset, &["pread64", "preadv"]),
    (Op::Read, Kind::AtOffsetOrPosition, &["preadv2"]),
    (Op::Read, Kind::Sendfile, &["sendfile"]),
    (Op::Write, Kind::AtPosition, &["write", "writev"]),
    (Op::Write, Kind::AtOffset, &["pwrite64", "pwritev"]),
    (Op::Write, Kind::AtOffsetOrPosition, &["pwritev2"]),
    (Op::Read, Kind::Submit, &["io_submit"]),
    (Op::Read, Kind::GetEvents, &["io_getevents", "io_pgetevents"]),
    (Op::Lookup, Kind::Open, &["open", "creat"]),
    (Op::Lookup, Kind::OpenAt, &["openat", "openat2"]),
    (Op::Lookup, Kind::Path, &["access", "readlink"]),
    (Op::Lookup, Kind::AtPath, &["faccessat", "faccessat2", "readlinkat"]),
    (Op::Create, Kind::Path, &["mkdir", "mknod"]),
    (Op::Create, Kind::AtPath, &["mkdirat", "mknodat"]),
    (Op::Create, Kind::NewPath, &["link", "symlink", "rename"]),
    (Op::Create, Kind::NewAtPath, &["symlinkat"]),
    (Op::Create, Kind::AtPathAtPath, &["linkat", "renameat", "renameat2"]),
    (Op::Remove, Kind::Path, &["unlink", "rmdir"]),
    (Op::Remove, Kind::AtPath, &["unlinkat"]),
    (
        Op::Attr,
        Kind::Path,
        &[
            "stat",
            "lstat",
            "chmod",
            "chown",
            "lchown",
            "utime",
            "utimes",
            "truncate",
            "getxattr",
            "lgetxattr",
            "setxattr",
            "lsetxattr",
            "listxattr",
            "llistxattr",
            "removexattr",
            "lremovexattr",
        ],
    ),
    (Op::Attr, Kind::AtPath, &["newfstatat", "statx", "fchmodat", "fchmodat2", "fchownat", "utimensat", "futimesat"]),
    (
        Op::Attr,
        Kind::Fd,
        &[
            "fstat",
            "fchmod",
            "fchown",
            "ftruncate",
            "fallocate",
            "fgetxattr",
            "fsetxattr",
            "flistxattr",
            "fremovexattr",
        ],
    ),
    (Op::Readdir, Kind::Fd, &["getdents", "getdents64"]),
    (Op::Sync, Kind::Fd, &["fsync", "fdatasync", "sync_file_range", "syncfs"]),
];

/// Of a meaning: there is one (`MEANING_OP` and `MEANING_KIND` in C).
const KNOWN: u32 = 1 << 16;

/// Passes the meanings of calls to the programs, by their numbers here; those that this architecture never had are passed over.
pub(super) fn set_meanings(meanings: &MapHandle) -> Result<(), EbpfError> {
    for (op, kind, names) in CALLS {
        let meaning = KNOWN | (*kind as u32) << 8 | *op as u32;
        for number in names.iter().filter_map(|name| syscalls::number(name)) {
            let updated = meanings.update(&number.to_ne_bytes(), &meaning.to_ne_bytes(), MapFlags::ANY);
            updated.map_err(|source| EbpfError::Map { map: "meanings".to_owned(), source })?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_call_is_named_once_and_most_are_known() {
        let mut names: Vec<_> = CALLS.iter().flat_map(|(_, _, names)| names.iter().copied()).collect();
        let all = names.len();
        let unknown: Vec<_> = names.iter().filter(|name| syscalls::number(name).is_none()).collect();
        assert!(unknown.len() < 3, "{unknown:?}");
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), all);
    }
}
