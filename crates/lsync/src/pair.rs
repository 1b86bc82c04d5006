//! The two hosts, as `lsync.toml` has them: which of them this one is, and how the home of each is named to rsync.

use std::{
    ffi::OsString,
    path::{Path, PathBuf},
};

use fs_err as fs;
use serde::Deserialize;

use crate::{Error, STATE};

/// Days after which the trash of a sync is removed.
const TRASH_DAYS: u32 = 30;

/// A side of the pair.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// The laptop.
    Laptop,
    /// The master.
    Master,
}

impl Side {
    /// The other one.
    #[must_use]
    pub fn other(self) -> Side {
        match self {
            Side::Laptop => Side::Master,
            Side::Master => Side::Laptop,
        }
    }
}

/// Settings that the file may have.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Config {
    master: String,
    laptop: Option<String>,
    user: Option<String>,
    includes: Option<PathBuf>,
    trash_days: Option<u32>,
    rsh: Option<String>,
}

/// Two hosts with a home each, seen from one of them.
#[derive(Clone, Debug)]
pub struct Pair {
    /// The home of this host, canonical.
    pub home: PathBuf,
    /// Which side this host is.
    pub here: Side,
    /// rsync's rules for what is synced of a whole home.
    pub includes: PathBuf,
    /// The remote shell, with its options.
    pub rsh: String,
    pub(crate) user: Option<String>,
    pub(crate) trash_days: u32,
    laptop: String,
    master: String,
}

impl Pair {
    /// Reads it from `config` on the host that is called `host`.
    ///
    /// # Errors
    /// There is no such file or home, or the file is wrong.
    pub fn read(config: &Path, home: &Path, host: &str) -> Result<Pair, Error> {
        let wrong = |why: String| Error::Usage(format!("{}: {why}", config.display()));
        let text = fs::read_to_string(config).map_err(|error| match error.kind() {
            std::io::ErrorKind::NotFound => {
                wrong("there is no such file; write `master = \"HOST\"` into it".to_owned())
            }
            _ => error.into(),
        })?;
        let Config { master, laptop, user, includes, trash_days, rsh } =
            toml::from_str(&text).map_err(|error| wrong(error.to_string()))?;
        let here = if is_host(&master, host) { Side::Master } else { Side::Laptop };
        if here == Side::Master && laptop.is_none() {
            return Err(wrong(format!("this host ({host}) is the master: name the `laptop` to sync from here")));
        }
        let laptop = laptop.unwrap_or_else(|| host.to_owned());
        if is_host(&master, &laptop) {
            return Err(wrong(format!("laptop and master are both `{master}`")));
        }
        // These become words of rsync and of shells as they are.
        for (key, word) in [("master", Some(&master)), ("laptop", Some(&laptop)), ("user", user.as_ref())] {
            let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_' | ':' | '%');
            if word.is_some_and(|word| word.is_empty() || word.starts_with(['-', '.']) || !word.chars().all(is_plain)) {
                return Err(wrong(format!("`{key}` is no name of a host or user")));
            }
        }
        let rsh = rsh.unwrap_or_else(|| "ssh".to_owned());
        let (home, trash_days) = (fs::canonicalize(home)?, trash_days.unwrap_or(TRASH_DAYS));
        let includes = home.join(includes.unwrap_or_else(|| ".rsync-include".into()));
        fs::create_dir_all(home.join(STATE))?;
        Ok(Pair { home, here, includes, rsh, user, trash_days, laptop, master })
    }

    /// The name of a side's host.
    pub fn name(&self, side: Side) -> &str {
        match side {
            Side::Master => &self.master,
            Side::Laptop => &self.laptop,
        }
    }

    /// The home of a side, or a path in it, as rsync takes it.
    pub(crate) fn location(&self, side: Side, path: &str) -> OsString {
        if side == self.here {
            return self.home.join(path).into();
        }
        let host = self.name(side);
        let host = if host.contains(':') { format!("[{host}]") } else { host.to_owned() };
        let user = self.user.as_ref().map(|user| format!("{user}@")).unwrap_or_default();
        format!("{user}{host}:./{path}").into()
    }

    /// A file of this pair's state, below the home and with the same name on both hosts.
    pub(crate) fn state(&self, ending: &str) -> String {
        format!("{STATE}/{}+{}.{ending}", self.laptop, self.master).replace(':', "_")
    }
}

/// Whether a name of the configuration is this host: in full, or without the domain that one of them has.
fn is_host(name: &str, host: &str) -> bool {
    let first = |name: &str| name.split('.').next().unwrap_or_default().to_lowercase();
    let is_short = !name.contains('.') || !host.contains('.');
    name.eq_ignore_ascii_case(host) || is_short && first(name) == first(host)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str, host: &str) -> Result<Pair, String> {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("lsync.toml");
        fs::write(&path, text).unwrap();
        Pair::read(&path, dir.path(), host).map_err(|error| error.to_string())
    }

    #[test]
    fn this_host_is_the_laptop_unless_it_is_the_master() {
        for (text, host, expected) in [
            ("master = 'big.lab'", "d-mpk12-65-186", Ok(Side::Laptop)),
            ("master = 'big.lab'\nlaptop = 'lap'", "dhcp7", Ok(Side::Laptop)),
            ("master = 'big.lab'\nlaptop = 'lap'", "big", Ok(Side::Master)),
            ("master = 'big'\nlaptop = 'lap'", "BIG.home", Ok(Side::Master)),
            ("master = 'host'", "host", Err("name the `laptop`")),
            ("master = 'm.x'\nlaptop = 'm'", "m", Err("both `m.x`")),
            ("", "host", Err("missing field `master`")),
            ("master = 'a b'", "host", Err("`master` is no name")),
            ("master = '-oProxyCommand=x'", "host", Err("`master` is no name")),
            ("master = 'm'\nuser = '$(x)'", "host", Err("`user` is no name")),
            ("master = 'm'\nmister = 'x'", "host", Err("unknown field `mister`")),
        ] {
            match (read(text, host), expected) {
                (Ok(pair), Ok(side)) => assert_eq!(pair.here, side, "{text}"),
                (Err(error), Err(why)) => assert!(error.contains(why) && error.contains("lsync.toml"), "{error}"),
                (other, _) => panic!("{text}: {other:?}"),
            }
        }
        let pair = read("master = 'fe80::1'\nuser = 'tc'", "lap").unwrap();
        assert_eq!(pair.location(Side::Master, "x"), "tc@[fe80::1]:./x");
        assert_eq!(pair.state("list"), ".lsync/lap+fe80__1.list");
    }
}
