//! What a fence changed, in a file: written whole before anything is changed, so that whatever happens can be undone.

use std::{
    io::Write,
    path::{Path, PathBuf},
};

use anyhow::{Context, bail};
use fenxi_model::{format_cpus, parse_cpus};
use fenxi_source::Root;
use fs_err as fs;
use serde_json::{Value, json};

use super::machine::Cpus;

/// The format of the file.
const FORMAT: u64 = 1;

/// How things were before a fence.
#[derive(Clone, Debug, PartialEq)]
pub struct State {
    /// Of the machine's run: after a restart nothing of a fence is left.
    pub boot: String,
    pub pid: u32,
    pub began: u64,
    pub command: String,
    /// Where the process is kept.
    pub cpus: Cpus,
    pub group: Group,
    pub threads: Vec<ThreadWas>,
    pub irqs: Vec<IrqWas>,
}

/// How the process is kept there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Group {
    /// By a new cpuset of version 1; threads go back to `ThreadWas::group`.
    New { folder: PathBuf, above: PathBuf },
    /// By its own group of version 2, whose `cpuset.cpus` was this text.
    Own { folder: PathBuf, was: String },
    /// By the affinity of its threads.
    None,
}

/// A thread before the fence.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ThreadWas {
    pub tid: u32,
    pub allowed: Cpus,
    /// Its cpuset of version 1.
    pub group: Option<PathBuf>,
}

/// An interrupt before the fence.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IrqWas {
    pub irq: u32,
    pub driver: String,
    pub allowed: Cpus,
    pub effective: Option<Cpus>,
    /// Where the fence sent it.
    pub to: Cpus,
}

/// Names this run of the machine.
pub fn boot(root: &Root) -> String {
    root.read_text("/proc/sys/kernel/random/boot_id").unwrap_or_default()
}

/// `$XDG_STATE_HOME/fenxi` or `~/.local/state/fenxi`.
pub fn default_folder() -> PathBuf {
    let set = |name| std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    match (set("XDG_STATE_HOME"), set("HOME")) {
        (Some(state), _) => state.join("fenxi"),
        (None, Some(home)) => home.join(".local/state/fenxi"),
        (None, None) => PathBuf::from("/var/lib/fenxi"),
    }
}

/// The file of the fence around `pid`.
pub fn file(folder: &Path, pid: u32) -> PathBuf {
    folder.join(format!("fence-{pid}.json"))
}

/// Files of all fences, the latest first: they are undone in that order.
pub fn files(folder: &Path) -> anyhow::Result<Vec<PathBuf>> {
    let entries = match fs::read_dir(folder) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
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

impl State {
    /// Writes it durably: a reader sees all of it or nothing.
    pub fn write(&self, path: &Path) -> anyhow::Result<()> {
        let folder = path.parent().unwrap_or(Path::new("/"));
        fs::create_dir_all(folder)?;
        let part = path.with_extension("json.part");
        let mut file = fs::File::create(&part)?;
        file.write_all(format!("{:#}\n", self.json()).as_bytes())?;
        file.sync_all()?;
        fs::rename(&part, path)?;
        fs::File::open(folder)?.sync_all()?;
        Ok(())
    }

    /// Reads it back.
    pub fn read(path: &Path) -> anyhow::Result<State> {
        let text = fs::read_to_string(path)?;
        let value: Value = serde_json::from_str(&text).with_context(|| format!("{}", path.display()))?;
        match value["format"].as_u64() {
            Some(FORMAT) => {}
            other => bail!("{}: a fence of format {other:?}, written by another version of fenxi", path.display()),
        }
        State::from_json(&value).with_context(|| format!("{} is not the saved state of a fence", path.display()))
    }

    fn json(&self) -> Value {
        let path = |path: &Path| path.display().to_string();
        let group = match &self.group {
            Group::New { folder, above } => json!({"new": path(folder), "above": path(above)}),
            Group::Own { folder, was } => json!({"own": path(folder), "was": was}),
            Group::None => Value::Null,
        };
        let threads = self.threads.iter().map(|thread| {
            let group = thread.group.as_deref().map(path);
            json!({"tid": thread.tid, "cpus": format_cpus(&thread.allowed), "group": group})
        });
        let irqs = self.irqs.iter().map(|irq| {
            let effective = irq.effective.as_ref().map(format_cpus);
            json!({
                "irq": irq.irq, "driver": irq.driver, "cpus": format_cpus(&irq.allowed), "effective": effective,
                "set_to": format_cpus(&irq.to),
            })
        });
        json!({
            "format": FORMAT, "boot": self.boot, "pid": self.pid, "began": self.began, "command": self.command,
            "cpus": format_cpus(&self.cpus), "group": group,
            "threads": threads.collect::<Vec<_>>(), "irqs": irqs.collect::<Vec<_>>(),
        })
    }

    fn from_json(value: &Value) -> Option<State> {
        let cpus = |value: &Value| parse_cpus(value.as_str()?);
        let text = |value: &Value| Some(value.as_str()?.to_owned());
        let path = |value: &Value| value.as_str().map(PathBuf::from);
        let number = |value: &Value| u32::try_from(value.as_u64()?).ok();
        let group = &value["group"];
        let group = match (path(&group["new"]), path(&group["own"])) {
            (Some(folder), _) => Group::New { folder, above: path(&group["above"])? },
            (None, Some(folder)) => Group::Own { folder, was: text(&group["was"])? },
            (None, None) => Group::None,
        };
        let thread = |value: &Value| {
            Some(ThreadWas {
                tid: number(&value["tid"])?,
                allowed: cpus(&value["cpus"])?,
                group: path(&value["group"]),
            })
        };
        let irq = |value: &Value| {
            Some(IrqWas {
                irq: number(&value["irq"])?,
                driver: text(&value["driver"])?,
                allowed: cpus(&value["cpus"])?,
                effective: cpus(&value["effective"]),
                to: cpus(&value["set_to"])?,
            })
        };
        Some(State {
            boot: text(&value["boot"])?,
            pid: number(&value["pid"])?,
            began: value["began"].as_u64()?,
            command: text(&value["command"])?,
            cpus: cpus(&value["cpus"])?,
            group,
            threads: value["threads"].as_array()?.iter().map(thread).collect::<Option<_>>()?,
            irqs: value["irqs"].as_array()?.iter().map(irq).collect::<Option<_>>()?,
        })
    }
}

#[cfg(test)]
mod tests {
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
    fn what_is_no_state_is_said() {
        let folder = tempfile::tempdir().unwrap();
        let path = file(folder.path(), 1);
        for text in ["", "{}", "{\"format\": 9}", "{\"format\": 1}"] {
            fs_err::write(&path, text).unwrap();
            assert!(State::read(&path).is_err(), "{text}");
        }
    }
}
