//! Which allocator serves a program: what first defines `malloc` in the order in which the loader looks.

use serde::Serialize;

/// Who answers `malloc`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Allocator {
    /// `glibc`, `jemalloc`, `tcmalloc`, …; the library's name where it is none of these.
    pub name: String,
    /// The file that defines it.
    pub file: String,
}

/// Functions that only one allocator has, and its name.
const FUNCTIONS: &[(&[u8], &str)] = &[
    (b"mi_malloc", "mimalloc"),
    (b"je_malloc", "jemalloc"),
    (b"_rjem_malloc", "jemalloc"),
    (b"mallocx", "jemalloc"),
    (b"tc_malloc", "tcmalloc"),
    (b"TCMallocInternalMalloc", "tcmalloc"),
    (b"scalable_malloc", "tbbmalloc"),
    (b"rpmalloc", "rpmalloc"),
    (b"sn_rust_alloc", "snmalloc"),
    (b"xxmalloc", "hoard"),
    (b"umem_alloc", "umem"),
    (b"__libc_malloc", "glibc"),
];

/// Adds the allocator that has a function of this name.
pub(crate) fn of_symbol(name: &[u8], found: &mut Vec<&'static str>) {
    if let Some((_, allocator)) = FUNCTIONS.iter().find(|(function, _)| *function == name)
        && !found.contains(allocator)
    {
        found.push(allocator);
    }
}

/// Name of the allocator of a file that defines `malloc`.
pub(crate) fn named(allocators: &[&'static str], soname: Option<&str>, file: &str) -> String {
    // glibc's own functions are also in programs that are linked statically with another allocator.
    if let Some(name) = allocators.iter().find(|name| **name != "glibc").or(allocators.first()) {
        return (*name).to_owned();
    }
    let name = soname.unwrap_or_else(|| file.rsplit('/').next().unwrap_or(file));
    // The whole name of what loads programs there is the library, too.
    if name.starts_with("libc.musl") || name.starts_with("ld-musl") { "musl".to_owned() } else { name.to_owned() }
}
