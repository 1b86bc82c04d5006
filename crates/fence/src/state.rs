//! State file of a fence: all earlier settings, written before the first change, so that every change can be undone.

use std::{
    io::{self, Write},
    path::{Path, PathBuf},
};

use fenxi_procfs::Root;
use fs_err as fs;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{Cpus, Error};

/// The format of the file.
const FORMAT: u64 = 1;

/// How things were before a fence.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct State {
    /// Of the machine's run: after a restart nothing of a fence is left.
    pub boot: String,
    pub pid: u32,
    pub began: u64,
    pub command: String,
    /// Where the process is kept.
    #[serde(with = "list")]
    pub cpus: Cpus,
    pub group: Group,
    pub threads: Vec<ThreadWas>,
    pub irqs: Vec<IrqWas>,
}

/// How the process is kept there.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub(crate) enum Group {
    /// By a new cpuset of version 1; threads go back to `ThreadWas::group`.
    New {
        #[serde(rename = "new")]
        folder: PathBuf,
        above: PathBuf,
    },
    /// By its own group of version 2, whose `cpuset.cpus` was this text.
    Own {
        #[serde(rename = "own")]
        folder: PathBuf,
        was: String,
    },
    /// By the affinity of its threads; `null` in the file.
    None,
}

/// A thread before the fence.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct ThreadWas {
    pub tid: u32,
    #[serde(rename = "cpus", with = "list")]
    pub allowed: Cpus,
    /// Its cpuset of version 1.
    pub group: Option<PathBuf>,
}

/// An interrupt before the fence.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct IrqWas {
    pub irq: u32,
    pub driver: String,
    #[serde(rename = "cpus", with = "list")]
    pub allowed: Cpus,
    #[serde(default, with = "list::optional")]
    pub effective: Option<Cpus>,
    /// Where the fence sent it.
    #[serde(rename = "set_to", with = "list")]
    pub to: Cpus,
}

/// Content of the file.
#[derive(Serialize)]
struct Saved<'a> {
    format: u64,
    #[serde(flatten)]
    state: &'a State,
}

/// CPUs in the file: lists as the kernel writes them.
mod list {
    use fenxi_model::{format_cpus, parse_cpus};
    use serde::{Deserialize, Deserializer, Serializer, de::Error};

    use crate::Cpus;

    pub(super) fn serialize<S: Serializer>(cpus: &Cpus, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str(&format_cpus(cpus))
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Cpus, D::Error> {
        read(&String::deserialize(from)?)
    }

    fn read<E: Error>(text: &str) -> Result<Cpus, E> {
        parse_cpus(text).ok_or_else(|| E::custom(format!("`{text}` is no list of CPUs")))
    }

    /// A list, or `null`.
    pub(super) mod optional {
        use super::{Cpus, Deserialize, Deserializer, Serializer, format_cpus, read};

        pub(in super::super) fn serialize<S: Serializer>(cpus: &Option<Cpus>, to: S) -> Result<S::Ok, S::Error> {
            match cpus {
                Some(cpus) => to.serialize_some(&format_cpus(cpus)),
                None => to.serialize_none(),
            }
        }

        pub(in super::super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Cpus>, D::Error> {
            Option::<String>::deserialize(from)?.map(|text| read(&text)).transpose()
        }
    }
}

/// Names this run of the machine.
pub(crate) fn boot(root: &Root) -> String {
    root.read_text("/proc/sys/kernel/random/boot_id").unwrap_or_default()
}

/// Where states are saved by default: `$XDG_STATE_HOME/fenxi` or `~/.local/state/fenxi`.
pub fn default_folder() -> PathBuf {
    let set = |name| std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    match (set("XDG_STATE_HOME"), set("HOME")) {
        (Some(state), _) => state.join("fenxi"),
        (None, Some(home)) => home.join(".local/state/fenxi"),
        (None, None) => PathBuf::from("/var/lib/fenxi"),
    }
}

/// The file of the fence around `pid`.
pub(crate) fn file(folder: &Path, pid: u32) -> PathBuf {
    folder.join(format!("fence-{pid}.json"))
}

/// Files of all fences, the latest first: they are undone in that order.
pub(crate) fn files(folder: &Path) -> Result<Vec<PathBuf>, Error> {
    let entries = match fs::read_dir(folder) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        entries => entries?,
    };
    let mut files = Vec::new();
    for entry in entries {
        let entry = entry?;
        let name = entry.file_name().to_string_lossy().into_owned();
        if name.strip_prefix("fence-").and_then(|rest| rest.strip_suffix(".json")).is_some() {
            files.push((entry.metadata()?.modified()?, entry.path()));
        }
    }
    files.sort();
    Ok(files.into_iter().rev().map(|(_, path)| path).collect())
}

/// Writes a state durably: a reader sees all of it or nothing.
pub(crate) fn write(state: &impl Serialize, path: &Path) -> Result<(), Error> {
    let folder = path.parent().unwrap_or(Path::new("/"));
    let mut text = serde_json::to_vec_pretty(state).map_err(io::Error::from)?;
    text.push(b'\n');
    fs::create_dir_all(folder)?;
    let part = path.with_extension("json.part");
    let mut file = fs::File::create(&part)?;
    file.write_all(&text)?;
    file.sync_all()?;
    fs::rename(&part, path)?;
    fs::File::open(folder)?.sync_all()?;
    Ok(())
}

impl State {
    /// Writes it durably.
    pub(crate) fn write(&self, path: &Path) -> Result<(), Error> {
        write(&Saved { format: FORMAT, state: self }, path)
    }

    /// Reads it back.
    pub(crate) fn read(path: &Path) -> Result<State, Error> {
        let text = fs::read_to_string(path)?;
        let value: Value =
            serde_json::from_str(&text).map_err(|source| Error::NotJson { path: path.to_owned(), source })?;
        match value["format"].as_u64() {
            Some(FORMAT) => {}
            format => return Err(Error::OtherFormat { path: path.to_owned(), format }),
        }
        serde_json::from_value(value).map_err(|source| Error::NotAState { path: path.to_owned(), source })
    }
}

#[cfg(test)]
mod tests {
    use fenxi_model::parse_cpus;

    use super::*;

    #[test]
    fn a_state_is_read_back_as_it_was_written() {
        let folder = tempfile::tempdir().unwrap();
        let cpus = |list| parse_cpus(list).unwrap();
        let irq = IrqWas { irq: 36, driver: "disk".into(), allowed: cpus("0-3"), effective: None, to: cpus("0-1") };
        for group in [
            Group::New { folder: "/c/new".into(), above: "/c".into() },
            Group::Own { folder: "/c".into(), was: String::new() },
            Group::None,
        ] {
            let state = State {
                boot: "b".into(),
                pid: 7,
                began: 99,
                command: "a \"b\"".into(),
                cpus: cpus("2-3"),
                group,
                threads: vec![ThreadWas { tid: 7, allowed: cpus("0-3"), group: Some("/c".into()) }],
                irqs: vec![irq.clone(), IrqWas { effective: Some(cpus("3")), ..irq.clone() }],
            };
            let path = file(folder.path(), 7);
            state.write(&path).unwrap();
            assert_eq!(State::read(&path).unwrap(), state);
            assert_eq!(files(folder.path()).unwrap(), [path]);
        }
    }

    #[test]
    fn a_file_is_in_the_format_of_earlier_versions() {
        let folder = tempfile::tempdir().unwrap();
        let path = file(folder.path(), 7);
        let text = r#"{
            "began": 99, "boot": "b", "command": "db", "cpus": "2-3", "format": 1,
            "group": {"above": "/c", "new": "/c/new"},
            "irqs": [{"cpus": "0-3", "driver": "disk", "effective": null, "irq": 36, "set_to": "0-1"}],
            "pid": 7,
            "threads": [{"cpus": "0-3", "group": "/c", "tid": 7}, {"cpus": "0,2", "group": null, "tid": 8}]
        }"#;
        fs::write(&path, text).unwrap();
        let state = State::read(&path).unwrap();
        assert_eq!(state.group, Group::New { folder: "/c/new".into(), above: "/c".into() });
        assert_eq!((state.threads[1].group.as_ref(), state.irqs[0].effective.as_ref()), (None, None));
        state.write(&path).unwrap();
        let written: Value = serde_json::from_str(&fs::read_to_string(&path).unwrap()).unwrap();
        assert_eq!(written, serde_json::from_str::<Value>(text).unwrap());
    }

    #[test]
    fn what_is_no_state_is_said() {
        let folder = tempfile::tempdir().unwrap();
        let path = file(folder.path(), 1);
        for text in ["", "{}", "{\"format\": 9}", "{\"format\": 1}"] {
            fs::write(&path, text).unwrap();
            assert!(State::read(&path).is_err(), "{text}");
        }
    }
}
