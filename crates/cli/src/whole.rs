//! Files that are written whole or not at all.

use std::path::Path;

use fenxi_tamp::files::{Existing, Making};
use fs_err::{self as fs, File};

/// Lets `work` write the file at `path`: an older one stays until the new one is complete, and nothing is left of one
/// that was not finished. A device or a pipe is written into, and not replaced.
///
/// # Errors
/// Those of `work`, and when the file cannot be made.
pub fn write<T>(path: &Path, work: impl FnOnce(&mut File) -> anyhow::Result<T>) -> anyhow::Result<T> {
    // What a link leads to is meant, and not the link.
    let place = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    if fs::metadata(&place).is_ok_and(|facts| !facts.is_file() && !facts.is_dir()) {
        return work(&mut fs::OpenOptions::new().write(true).open(&place)?);
    }
    let (making, mut file) = Making::begin(&place, 0o666)?;
    let done = work(&mut file)?;
    making.keep(None, Existing::Replaced)?;
    Ok(done)
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};

    use fs_err::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn a_file_is_replaced_only_by_a_whole_one() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("file");
        fs::write(&path, "old").unwrap();
        symlink("file", dir.path().join("link")).unwrap();
        let failed = write(&path, |file| {
            file.write_all(b"half")?;
            anyhow::bail!("no more") as anyhow::Result<()>
        });
        assert!(failed.is_err());
        assert_eq!(fs::read_to_string(&path).unwrap(), "old");
        write(&dir.path().join("link"), |file| Ok(file.write_all(b"new")?)).unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "new");
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 2);
        assert!(fs::symlink_metadata(dir.path().join("link")).unwrap().is_symlink());
    }

    #[test]
    fn a_pipe_is_written_into() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("pipe");
        rustix::fs::mkfifoat(rustix::fs::CWD, &path, rustix::fs::Mode::RWXU).unwrap();
        let theirs = path.clone();
        let reader = std::thread::spawn(move || {
            let mut text = String::new();
            File::open(theirs).unwrap().read_to_string(&mut text).unwrap();
            text
        });
        write(&path, |file| Ok(file.write_all(b"text")?)).unwrap();
        assert_eq!(reader.join().unwrap(), "text");
        assert!(!fs::metadata(&path).unwrap().is_file());
    }
}
