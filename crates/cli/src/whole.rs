//! Files that are written whole or not at all.

use std::{io::Read, os::unix::fs::MetadataExt, path::Path};

use fenxi_tamp::files::{Existing, Making, OnDisk};
use fs_err::{self as fs, File};

/// Kind of a file, by which one that is there already is known as an earlier one of the same command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Output {
    /// A page with all of its answers.
    Report,
    /// An archive of runs.
    Archive,
    /// Whatever is there is replaced: the user asked for it.
    Anything,
}

/// How much of a file is looked at: the styles of a page come before what identifies it.
const LOOKED_AT: u64 = 1 << 20;

impl Output {
    /// Whether `begin` is how such a file begins.
    fn is(self, begin: &[u8]) -> bool {
        let has = |what: &[u8]| begin.windows(what.len()).any(|part| part == what);
        match self {
            Output::Report => begin.starts_with(b"<!doctype html>") && has(b"<div id=\"fenxi\">"),
            Output::Archive => begin.starts_with(&[0x28, 0xb5, 0x2f, 0xfd]),
            Output::Anything => true,
        }
    }

    /// # Errors
    /// When there is another file at `place`, which the user did not ask to replace.
    fn may_replace(self, place: &Path) -> anyhow::Result<()> {
        let Ok(file) = File::open(place) else { return Ok(()) };
        let mut begin = Vec::new();
        file.take(LOOKED_AT).read_to_end(&mut begin)?;
        // An empty one was made for us, as `mktemp` does.
        if begin.is_empty() || self.is(&begin) {
            return Ok(());
        }
        anyhow::bail!(
            "{} is there already, and no earlier output of this command: --force replaces it",
            place.display()
        )
    }
}

/// Lets `work` write the file at `path`: an older one stays until the new one is complete, and nothing is left of one
/// that was not finished. A device or a pipe is written into, and not replaced.
///
/// # Errors
/// Those of `work`, when the file cannot be made, and when another one is there than `output` replaces.
pub fn write<T>(path: &Path, output: Output, work: impl FnOnce(&mut File) -> anyhow::Result<T>) -> anyhow::Result<T> {
    if is_planted(path) {
        anyhow::bail!(
            "{} is a link that another user made in a folder for all: remove it, or name another file",
            path.display()
        );
    }
    // The target of a link is meant, and not the link.
    let place = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    if fs::metadata(&place).is_ok_and(|facts| !facts.is_file() && !facts.is_dir()) {
        return work(&mut fs::OpenOptions::new().write(true).open(&place)?);
    }
    let folder = place.parent().filter(|folder| !folder.as_os_str().is_empty());
    if let Some(folder) = folder.filter(|folder| !folder.is_dir()) {
        anyhow::bail!("cannot write {}: there is no folder {}", path.display(), folder.display());
    }
    if place.is_file() {
        output.may_replace(&place)?;
    }
    let (making, mut file) = Making::begin(&place, 0o666)?;
    let done = work(&mut file)?;
    making.keep(None, Existing::Replaced, OnDisk::Now)?;
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
        let failed = write(&path, Output::Anything, |file| {
            file.write_all(b"half")?;
            anyhow::bail!("no more") as anyhow::Result<()>
        });
        assert!(failed.is_err());
        assert_eq!(fs::read_to_string(&path).unwrap(), "old");
        write(&dir.path().join("link"), Output::Anything, |file| Ok(file.write_all(b"new")?)).unwrap();
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
            let planted = write(&all.join("theirs"), Output::Anything, |file| Ok(file.write_all(b"new")?))
                .unwrap_err()
                .to_string();
            assert!(planted.contains("is a link that another user made"), "{planted}");
            assert_eq!(fs::read_to_string(&victim).unwrap(), "precious");
        }
        write(&all.join("mine"), Output::Anything, |file| Ok(file.write_all(b"new")?)).unwrap();
        assert_eq!(fs::read_to_string(&victim).unwrap(), "new");
    }

    #[test]
    fn what_is_no_earlier_output_is_not_replaced_unasked() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("file");
        let put = |output| write(&path, output, |file| Ok(file.write_all(b"new")?)).map_err(|error| error.to_string());
        for (there, output) in [
            (&b"<!doctype html>\n<body>\n<div id=\"fenxi\">"[..], Output::Report),
            (&[0x28, 0xb5, 0x2f, 0xfd, 0], Output::Archive),
            (b"", Output::Report),
            (b"precious", Output::Anything),
        ] {
            fs::write(&path, there).unwrap();
            assert_eq!(put(output), Ok(()), "{output:?}");
        }
        for output in [Output::Report, Output::Archive] {
            fs::write(&path, "<!doctype html>\nprecious").unwrap();
            assert!(put(output).unwrap_err().contains("--force replaces it"));
            assert_eq!(fs::read_to_string(&path).unwrap(), "<!doctype html>\nprecious");
        }
        let nowhere = write(&dir.path().join("no/file"), Output::Report, |_| Ok(())).unwrap_err().to_string();
        assert!(nowhere.contains("there is no folder"), "{nowhere}");
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
        write(&path, Output::Anything, |file| Ok(file.write_all(b"text")?)).unwrap();
        assert_eq!(reader.join().unwrap(), "text");
        assert!(!fs::metadata(&path).unwrap().is_file());
    }
}
