//! The daily files of sysstat (`/var/log/sysstat/sa27`): binary, and of another form in each version. Only its own `sadf` reads
//! those of this machine for sure, so it is asked, where it is installed.

use std::{
    io::{ErrorKind, Read},
    path::Path,
    process::{Command, Stdio},
};

use anyhow::{Context, bail};
use fenxi_ingest::{Content, Source};
use fs_err::File;

/// How such a file begins, on machines of either byte order.
const MAGIC: [[u8; 2]; 2] = [[0x96, 0xd5], [0xd5, 0x96]];

/// What `sadf` reads in the file at `path`, as an input; None where that is none of sysstat's.
///
/// # Errors
/// When `sadf` is not here, or cannot read it.
pub fn read(path: &Path) -> anyhow::Result<Option<Vec<Source>>> {
    if !begins_as_daily(path) {
        return Ok(None);
    }
    let asked = Command::new("sadf").arg("-j").arg(path).args(["--", "-A"]).stdin(Stdio::null()).output();
    let answer = match asked {
        Err(error) if error.kind() == ErrorKind::NotFound => bail!(
            "it is a binary file of sysstat, which only its `sadf` reads, and that is not installed here; \
             import what `sadf -j FILE -- -A` prints where it is"
        ),
        answer => answer.context("sadf")?,
    };
    if !answer.status.success() {
        bail!(
            "it is a binary file of sysstat, and sadf cannot read it: {}",
            String::from_utf8_lossy(&answer.stderr).trim()
        );
    }
    let name = path.file_name().unwrap_or(path.as_os_str()).to_string_lossy().into_owned();
    Ok(Some(vec![Source { name, content: Content::Held(answer.stdout.into()), host: None, modified: None }]))
}

fn begins_as_daily(path: &Path) -> bool {
    let mut begin = [0; 2];
    path.is_file()
        && File::open(path).is_ok_and(|mut file| file.read_exact(&mut begin).is_ok())
        && MAGIC.contains(&begin)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_files_of_sysstat_are_read_by_sadf() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("sa27");
        fs_err::write(&path, "12:00:00 CPU %user").unwrap();
        assert!(read(&path).unwrap().is_none() && read(dir.path()).unwrap().is_none());
        // Nothing but its first bytes: sadf refuses it, or is not here; in no case is it imported.
        fs_err::write(&path, [0x96, 0xd5, 0, 0]).unwrap();
        let refused = read(&path).unwrap_err().to_string();
        assert!(refused.starts_with("it is a binary file of sysstat"), "{refused}");
    }
}
