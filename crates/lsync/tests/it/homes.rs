//! Two homes of this machine and a stand-in for ssh, for the tests of the crate and of the command.

use std::{
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
    process::Command,
    time::{Duration, SystemTime},
};

use fs_err as fs;
use tempfile::TempDir;

/// As ssh, it gives the words behind the host to the shell of the user there, in their home. The call of the number in `fail` loses
/// its connection after as many blocks as `blocks` has, or begins of one.
const RSH: &str = r#"
while [ "$1" = -l ]; do shift 2; done
shift
cd "${0%/*}"
n=$(($(cat calls 2>/dev/null) + 1))
echo $n > calls
cd master
[ $n = "$(cat ../fail 2>/dev/null)" ] || exec sh -c "$*"
exec 3<&0 </dev/null
dd bs=4096 count="$(cat ../blocks)" <&3 3<&- | sh -c "$*" 3<&- &
exec 3<&-
wait
exit 255
"#;

/// A laptop, which this host is, and a master, each with a home.
pub struct Homes {
    pub dir: TempDir,
}

impl Homes {
    /// None, loudly, where there is no rsync.
    pub fn new() -> Option<Homes> {
        if Command::new("rsync").arg("--version").output().is_err() {
            eprintln!("SKIPPED lsync: rsync is not installed");
            return None;
        }
        let homes = Homes { dir: TempDir::new().unwrap() };
        for folder in ["laptop", "master", "config/fenxi"] {
            fs::create_dir_all(homes.at(folder, "")).unwrap();
        }
        let rsh = homes.program("rsh", RSH);
        let config = format!("master = 'paedata'\nlaptop = 'lap'\nuser = 'tc'\nrsh = '{rsh}'\n");
        fs::write(homes.at("config", "fenxi/lsync.toml"), config).unwrap();
        Some(homes)
    }

    /// Writes a script; gives its path.
    pub fn program(&self, name: &str, script: &str) -> String {
        let path = self.dir.path().join(name);
        fs::write(&path, format!("#!/bin/sh\n{script}\n")).unwrap();
        fs::set_permissions(&path, PermissionsExt::from_mode(0o755)).unwrap();
        path.display().to_string()
    }

    pub fn at(&self, side: &str, path: impl AsRef<Path>) -> PathBuf {
        self.dir.path().join(side).join(path)
    }

    /// Writes a file of a side, at a time that follows from its content.
    pub fn write(&self, side: &str, path: impl AsRef<Path>, content: &str) {
        let path = self.at(side, path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, content).unwrap();
        let seconds = 1_700_000_000 + 7 * content.bytes().map(u64::from).sum::<u64>() + content.len() as u64;
        let time = SystemTime::UNIX_EPOCH + Duration::from_secs(seconds);
        fs::File::open(path).unwrap().set_modified(time).unwrap();
    }

    pub fn read(&self, side: &str, path: impl AsRef<Path>) -> Option<String> {
        fs::read_to_string(self.at(side, path)).ok()
    }

    pub fn remove(&self, side: &str, path: impl AsRef<Path>) {
        let path = self.at(side, path);
        if path.is_dir() { fs::remove_dir_all(path) } else { fs::remove_file(path) }.unwrap();
    }
}
