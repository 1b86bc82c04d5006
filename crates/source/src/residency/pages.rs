//! Page cache residency of one file: `cachestat` where the kernel has it (6.5), else `mincore`.
//!
//! Both show strangers nothing: the caller must own the file, or may write it, or be root. `mincore`
//! does not refuse but claims that every page is there, so the permission is checked here first.

use std::{
    io,
    os::fd::{AsFd, AsRawFd, BorrowedFd},
    ptr::null_mut,
    sync::atomic::{AtomicBool, Ordering},
};

use rustix::fs::{Access, AtFlags, Stat};

/// Part of a file that is in the page cache, in bytes of whole pages.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Resident {
    /// In the page cache.
    pub cached: u64,
    /// Of these, not yet written out; only by `cachestat`.
    pub dirty: Option<u64>,
    /// Of these, being written out; only by `cachestat`.
    pub writeback: Option<u64>,
    /// Dropped so recently that it would still fit; only by `cachestat`.
    pub recently_evicted: Option<u64>,
}

/// The number of `cachestat`, one for all architectures but those with their own numbers.
const CACHESTAT: Option<libc::c_long> =
    if cfg!(any(target_arch = "mips", target_arch = "mips64", target_arch = "mips32r6", target_arch = "mips64r6")) {
        None
    } else {
        Some(451)
    };

/// Bytes of a file that are mapped at once for `mincore`: one byte of answer for each page.
const WINDOW: u64 = 1 << 30;

/// Asks about files, each by the best means that this kernel has.
#[derive(Debug, Default)]
pub struct Asker {
    /// Whether the kernel has no `cachestat`, or a sandbox forbids it.
    without_cachestat: AtomicBool,
}

impl Asker {
    /// An asker that uses `mincore` only, as on kernels before 6.5.
    #[cfg(test)]
    pub fn old() -> Asker {
        Asker { without_cachestat: AtomicBool::new(true) }
    }

    /// Measures how much of `file`, open for reading, is in the page cache.
    ///
    /// # Errors
    /// `PermissionDenied` when this user may not see it; else the kernel's error.
    pub fn ask(&self, file: &impl AsFd) -> io::Result<Resident> {
        let file = file.as_fd();
        if !self.without_cachestat.load(Ordering::Relaxed) {
            match cachestat(file) {
                Ok(resident) => return Ok(resident),
                Err(error) if error.raw_os_error() == Some(libc::ENOSYS) => {
                    self.without_cachestat.store(true, Ordering::Relaxed);
                }
                // Of this user, or of a sandbox that does not know the call.
                Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {}
                Err(error) => return Err(error),
            }
        }
        let stat = rustix::fs::fstat(file)?;
        if !may_be_told(file, &stat) {
            let why = "only the owner of a file, who may write it, or root can see how much of it is in memory";
            return Err(io::Error::new(io::ErrorKind::PermissionDenied, why));
        }
        mincore(file, stat.st_size.max(0) as u64)
    }
}

/// The kernel's own condition.
fn may_be_told(file: BorrowedFd<'_>, stat: &Stat) -> bool {
    let me = rustix::process::geteuid();
    let link = format!("/proc/self/fd/{}", file.as_raw_fd());
    me.is_root()
        || me.as_raw() == stat.st_uid
        || rustix::fs::accessat(rustix::fs::CWD, link, Access::WRITE_OK, AtFlags::EACCESS).is_ok()
}

/// `struct cachestat_range`: where to look.
#[repr(C)]
struct Range {
    off: u64,
    len: u64,
}

/// `struct cachestat`: numbers of pages.
#[repr(C)]
#[derive(Default)]
struct Pages {
    cached: u64,
    dirty: u64,
    writeback: u64,
    evicted: u64,
    recently_evicted: u64,
}

#[allow(unsafe_code, reason = "cachestat has no wrapper")]
fn cachestat(file: BorrowedFd<'_>) -> io::Result<Resident> {
    let number = CACHESTAT.ok_or(io::Error::from_raw_os_error(libc::ENOSYS))?;
    // A length of 0 means to the end.
    let range = Range { off: 0, len: 0 };
    let mut pages = Pages::default();
    // SAFETY: the kernel reads `range` and writes `pages`, both of the layout that it documents; both
    // outlive the call, and so does the descriptor.
    let answer = unsafe { libc::syscall(number, file.as_raw_fd(), &raw const range, &raw mut pages, 0_u32) };
    if answer != 0 {
        return Err(io::Error::last_os_error());
    }
    let bytes = |pages: u64| pages.saturating_mul(page_size());
    Ok(Resident {
        cached: bytes(pages.cached),
        dirty: Some(bytes(pages.dirty)),
        writeback: Some(bytes(pages.writeback)),
        recently_evicted: Some(bytes(pages.recently_evicted)),
    })
}

fn mincore(file: BorrowedFd<'_>, size: u64) -> io::Result<Resident> {
    let mut cached = 0;
    let mut answer = vec![0; size.min(WINDOW).div_ceil(page_size()) as usize];
    let mut from = 0;
    while from < size {
        let length = (size - from).min(WINDOW);
        let pages = &mut answer[..length.div_ceil(page_size()) as usize];
        mincore_window(file, from, pages)?;
        // The other bits have no meaning yet.
        cached += pages.iter().filter(|page| **page & 1 != 0).count() as u64;
        from += length;
    }
    Ok(Resident { cached: cached * page_size(), ..Resident::default() })
}

/// Asks about the pages from `from` on, a multiple of the window: a byte of `pages` for each.
#[allow(unsafe_code, reason = "mincore wants a mapping, which has no safe wrapper")]
fn mincore_window(file: BorrowedFd<'_>, from: u64, pages: &mut [u8]) -> io::Result<()> {
    let length = pages.len() * page_size() as usize;
    let offset = from as libc::off_t;
    // SAFETY: a new mapping where the kernel likes it touches no memory of ours; it is never read.
    let place = unsafe { libc::mmap(null_mut(), length, libc::PROT_NONE, libc::MAP_SHARED, file.as_raw_fd(), offset) };
    if place == libc::MAP_FAILED {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the mapping is `length` bytes long, and `pages` holds a byte for each of its pages.
    let reported = unsafe { libc::mincore(place, length, pages.as_mut_ptr().cast()) };
    let error = io::Error::last_os_error();
    // SAFETY: this is the mapping made above, which has no other user.
    unsafe { libc::munmap(place, length) };
    if reported == 0 { Ok(()) } else { Err(error) }
}

/// Bytes of a page.
pub fn page_size() -> u64 {
    rustix::param::page_size() as u64
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use rustix::fs::Advice;

    use super::{Asker, page_size};

    #[test]
    fn both_ways_agree_on_what_was_written_and_on_what_was_dropped() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("file");
        let mut file = fs_err::File::create_new(&path).unwrap();
        let n_pages = 100;
        file.write_all(&vec![7; (n_pages * page_size() - 5) as usize]).unwrap();
        let file = fs_err::File::open(&path).unwrap();
        for asker in [Asker::default(), Asker::old()] {
            assert_eq!(asker.ask(file.file()).unwrap().cached, n_pages * page_size());
        }
        file.sync_all().unwrap();
        rustix::fs::fadvise(file.file(), 0, None, Advice::DontNeed).unwrap();
        let now = Asker::default().ask(file.file()).unwrap();
        assert_eq!((now.cached, now.dirty.unwrap_or(0)), (Asker::old().ask(file.file()).unwrap().cached, 0));
    }

    #[test]
    fn an_empty_file_has_nothing_in_memory() {
        let file = tempfile::tempfile().unwrap();
        assert_eq!((Asker::default().ask(&file).unwrap().cached, Asker::old().ask(&file).unwrap().cached), (0, 0));
    }
}
