//! Files that are written whole or not at all.

use std::{os::unix::fs::MetadataExt, path::Path};

use fenxi_tamp::files::{Existing, Making};
use fs_err::{self as fs, File};

/// Lets `work` write the file at `path`: an older one stays until the new one is complete, and nothing is left of one
/// that was not finished. A device or a pipe is written into, and not replaced.
///
/// # Errors
/// Those of `work`, and when the file cannot be made.
pub fn write<T>(path: &Path, work: impl FnOnce(&mut File) -> anyhow::Result<T>) -> anyhow::Result<T> {
    if is_planted(path) {
        anyhow::bail!(
            "{} is a link that another user made in a folder for all: remove it, or name another file",
            path.display()
        );
    }
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

/// Whether it is a link that another user left where all may: the kernel follows none there if it is set up so
/// (`fs.protected_symlinks`), but does not hold who reads where it leads.
fn is_planted(path: &Path) -> bool {
    let Ok(link) = fs::symlink_metadata(path) else { return false };
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let Ok(folder) = fs::metadata(folder) else { return false };
    let is_for_all = folder.mode() & 0o1002 == 0o1002;
    let (owner, me) = (link.uid(), rustix::process::geteuid().as_raw());
    link.is_symlink() && is_for_all && owner != me && owner != folder.uid()
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
    fn a_link_of_another_user_in_a_folder_for_all_is_not_followed() {
        use rustix::fs::{AtFlags, CWD, Mode, Uid, chmodat, chownat};
        let dir = tempfile::tempdir().unwrap();
        let (all, victim) = (dir.path().join("all"), dir.path().join("victim"));
        fs::create_dir(&all).unwrap();
        chmodat(CWD, &all, Mode::from_raw_mode(0o1777), AtFlags::empty()).unwrap();
        fs::write(&victim, "precious").unwrap();
        symlink(&victim, all.join("mine")).unwrap();
        symlink(&victim, all.join("theirs")).unwrap();
        // Only root can plant one.
        let other = Some(Uid::from_raw(1234));
        if chownat(CWD, all.join("theirs"), other, None, AtFlags::SYMLINK_NOFOLLOW).is_ok() {
            let planted = write(&all.join("theirs"), |file| Ok(file.write_all(b"new")?)).unwrap_err().to_string();
            assert!(planted.contains("is a link that another user made"), "{planted}");
            assert_eq!(fs::read_to_string(&victim).unwrap(), "precious");
        }
        write(&all.join("mine"), |file| Ok(file.write_all(b"new")?)).unwrap();
        assert_eq!(fs::read_to_string(&victim).unwrap(), "new");
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
