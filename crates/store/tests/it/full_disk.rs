//! A full or read-only disk. It is mounted without mount(8): between fork and exec a child holds copies of every lock of
//! its process, which would make the dead recordings of other tests look alive.
#![allow(unsafe_code, reason = "mount(2) and umount2(2), without a feature of a dependency more")]

use std::{
    ffi::{CStr, CString, c_char, c_int, c_ulong},
    os::unix::ffi::OsStrExt,
    path::Path,
};

use fenxi_model::Rows;
use fenxi_store::Store;

use crate::common::{begin, end, tick};

const MS_RDONLY: c_ulong = 1;
const MS_REMOUNT: c_ulong = 32;
const MNT_DETACH: c_int = 2;

unsafe extern "C" {
    fn mount(
        from: *const c_char,
        at: *const c_char,
        kind: *const c_char,
        flags: c_ulong,
        options: *const c_char,
    ) -> c_int;
    fn umount2(at: *const c_char, flags: c_int) -> c_int;
}

/// A file system in memory, gone with the value.
struct Tmpfs(CString);

impl Tmpfs {
    /// One of a mebibyte at `path`; None where mounting is not permitted.
    fn mount(path: &Path) -> Option<Tmpfs> {
        let disk = Tmpfs(CString::new(path.as_os_str().as_bytes()).unwrap());
        disk.set(0, c"size=1m").then_some(disk)
    }

    fn remount(&self, flags: c_ulong) {
        assert!(self.set(MS_REMOUNT | flags, c"size=16m"));
    }

    fn set(&self, flags: c_ulong, options: &CStr) -> bool {
        // SAFETY: the texts end with a NUL and outlive the call; the kernel reads no more of them.
        unsafe { mount(c"tmpfs".as_ptr(), self.0.as_ptr(), c"tmpfs".as_ptr(), flags, options.as_ptr()) == 0 }
    }
}

impl Drop for Tmpfs {
    fn drop(&mut self) {
        // SAFETY: the text ends with a NUL and outlives the call. Where nothing is mounted, nothing happens.
        unsafe { umount2(self.0.as_ptr(), MNT_DETACH) };
    }
}

#[test]
#[allow(clippy::print_stderr, reason = "a test that is skipped must say so")]
fn a_full_or_read_only_disk_loses_nothing_that_was_written() {
    let dir = tempfile::tempdir().unwrap();
    let Some(disk) = Tmpfs::mount(dir.path()) else {
        eprintln!("SKIPPED: mounting a tmpfs is not permitted here, ENOSPC and EROFS were not tested");
        return;
    };
    let store = Store::open_or_create(dir.path().join("store")).unwrap();
    let mut open = store.begin(begin("full", 1)).unwrap();
    let id = open.id().clone();
    let mut rows = Rows::new("h1");
    let mut written = 0;
    let error = loop {
        tick(written + 1, &mut rows);
        match open.append(&mut rows) {
            Ok(()) => written += 1,
            Err(error) => break error,
        }
    };
    assert!(error.to_string().contains("make room"), "{error}");
    assert!(error.to_string().contains(".arrows"), "{error}");
    // Nothing fits: sealing fails and keeps everything.
    let error = open.seal(end(written)).unwrap_err();
    assert!(error.to_string().contains("make room"), "{error}");
    assert!(store.ids().unwrap().is_empty());
    disk.remount(MS_RDONLY);
    let failed = store.recover().unwrap().remove(0).error.unwrap().to_string();
    assert!(failed.contains("--store DIR"), "{failed}");
    let error = store.begin(begin("ro", 2)).unwrap_err().to_string();
    assert!(error.contains("--store DIR"), "{error}");
    assert!(store.summaries().unwrap().is_empty());
    disk.remount(0);
    assert!(store.recover().unwrap()[0].error.is_none());
    let rows = store.run(&id).unwrap().manifest.file("cpu").unwrap().rows;
    assert!(rows == written * 5 || rows == (written + 1) * 5, "{rows} rows of {written} ticks");
    assert_eq!(store.verify(&id).unwrap(), []);
}
