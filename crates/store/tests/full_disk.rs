//! A full or read-only disk. A test program of its own: it starts mount(8), and between fork and exec a
//! child holds copies of every lock of its process, which would make other tests' dead recordings look alive.

mod common;

use std::path::{Path, PathBuf};

use common::{begin, end, tick};
use fenxi_model::Rows;
use fenxi_store::Store;

/// A file system of `bytes` at `path`, gone with the value; None where mounting is not permitted.
struct Tmpfs(PathBuf);

impl Tmpfs {
    fn mount(path: &Path, bytes: usize) -> Option<Tmpfs> {
        let size = format!("size={bytes}");
        let args = ["-t", "tmpfs", "-o", size.as_str(), "tmpfs"];
        let done = std::process::Command::new("mount").args(args).arg(path).output().ok()?;
        done.status.success().then(|| Tmpfs(path.to_owned()))
    }

    fn remount(&self, options: &str) {
        let done = std::process::Command::new("mount").args(["-o", options]).arg(&self.0).status().unwrap();
        assert!(done.success());
    }
}

impl Drop for Tmpfs {
    fn drop(&mut self) {
        let _ = std::process::Command::new("umount").arg("-l").arg(&self.0).status();
    }
}

#[test]
#[allow(clippy::print_stderr, reason = "a test that is skipped must say so")]
fn a_full_or_read_only_disk_loses_nothing_that_was_written() {
    let dir = tempfile::tempdir().unwrap();
    let Some(disk) = Tmpfs::mount(dir.path(), 1 << 20) else {
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
    disk.remount("remount,ro,size=16m");
    let failed = store.recover().unwrap().remove(0).error.unwrap().to_string();
    assert!(failed.contains("--store DIR"), "{failed}");
    let error = store.begin(begin("ro", 2)).unwrap_err().to_string();
    assert!(error.contains("--store DIR"), "{error}");
    assert!(store.summaries().unwrap().is_empty());
    disk.remount("remount,rw,size=16m");
    assert!(store.recover().unwrap()[0].error.is_none());
    let rows = store.run(&id).unwrap().manifest.file("cpu").unwrap().rows;
    assert!(rows == written * 5 || rows == (written + 1) * 5, "{rows} rows of {written} ticks");
    assert_eq!(store.verify(&id).unwrap(), []);
}
