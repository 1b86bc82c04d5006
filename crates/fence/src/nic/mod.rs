//! Settings of a network interface: shown, changed, and restored.

mod settings;

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
};

use fenxi_procfs::Root;
use fenxi_sys::ethtool::Ethtool;
use fs_err as fs;
use serde::{Deserialize, Serialize};

pub use self::settings::Setting;
use self::settings::{Interface, SETTINGS, check};
use crate::{
    Error, Outcome,
    state::{self, boot},
};

/// A network interface and its settings.
#[derive(Clone, Debug)]
pub struct Nic {
    /// Its name.
    pub name: String,
    /// Its driver; None where it has none of a name.
    pub driver: Option<String>,
    /// Every setting, also those that it does not have.
    pub settings: Vec<Setting>,
}

/// A change that is asked for: the setting and its value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    /// Name of the setting.
    pub name: String,
    /// The value.
    pub value: String,
}

impl std::str::FromStr for Change {
    type Err = String;

    /// `mtu=9000`.
    fn from_str(text: &str) -> Result<Change, String> {
        let (name, value) = text.split_once('=').ok_or_else(|| format!("expected NAME=VALUE, not `{text}`"))?;
        check(name, value)?;
        Ok(Change { name: name.to_owned(), value: value.to_owned() })
    }
}

/// Network interfaces of this network namespace.
///
/// # Errors
/// When the system does not list them.
pub fn interfaces() -> Result<Vec<String>, Error> {
    let mut names = Vec::new();
    for entry in fs::read_dir("/sys/class/net")? {
        let entry = entry?;
        // Files of bonding are among them.
        if entry.path().join("ifindex").exists() {
            names.push(entry.file_name().to_string_lossy().into_owned());
        }
    }
    names.sort();
    Ok(names)
}

/// Reads an interface.
///
/// # Errors
/// When there is none of this name.
pub fn nic(name: &str) -> Result<Nic, Error> {
    let interface = open(name)?;
    Ok(Nic {
        name: name.to_owned(),
        driver: interface.ethtool.driver().ok().filter(|driver| !driver.is_empty()),
        settings: interface.settings(),
    })
}

fn open(name: &str) -> Result<Interface, Error> {
    let known = interfaces()?;
    if !known.iter().any(|known| known == name) {
        return Err(Error::NoInterface { name: name.to_owned(), known: known.join(", ") });
    }
    Ok(Interface { name: name.to_owned(), ethtool: Ethtool::open(name)? })
}

/// State of an interface before it was changed. Written before the first change.
#[derive(Debug, Serialize, Deserialize)]
struct NicState {
    format: u64,
    /// Of the machine's run: a restart ends all settings.
    boot: String,
    interface: String,
    /// Another interface may have the name by then.
    index: String,
    before: BTreeMap<String, String>,
    /// As the changes left it; what others change later is theirs. Empty: it was not reached.
    after: BTreeMap<String, String>,
}

const FORMAT: u64 = 1;

fn file(folder: &Path, name: &str) -> PathBuf {
    folder.join(format!("nic-{name}.json"))
}

fn values(interface: &Interface) -> BTreeMap<String, String> {
    let settings = interface.settings();
    settings.into_iter().filter_map(|setting| Some((setting.name.to_owned(), setting.value?))).collect()
}

fn index(name: &str) -> String {
    fs::read_to_string(format!("/sys/class/net/{name}/ifindex"))
        .map_or_else(|_| String::new(), |text| text.trim().into())
}

/// Changes settings, one after the other, and reports what became of each; what it was is saved in `folder` first. What is
/// refused is left as it is.
///
/// # Errors
/// When there is no such interface, or its state cannot be saved.
pub fn apply_nic(name: &str, changes: &[Change], folder: &Path) -> Result<Outcome, Error> {
    let interface = open(name)?;
    let path = file(folder, name);
    let mut earlier = values(&interface);
    let boot = boot(&Root::live());
    // Of several changes the first state is the one to restore.
    let saved = if path.exists() { Some(read(&path)?) } else { None };
    let before = match saved.filter(|saved| saved.boot == boot && saved.index == index(name)) {
        Some(saved) => saved.before,
        None => earlier.clone(),
    };
    let mut state = NicState {
        format: FORMAT,
        boot,
        interface: name.to_owned(),
        index: index(name),
        before,
        after: BTreeMap::new(),
    };
    state::write(&state, &path)?;
    let mut outcome = Outcome::default();
    for (setting, _) in SETTINGS {
        for change in changes.iter().filter(|change| change.name == *setting) {
            let set = interface.set(setting, &change.value);
            let now = values(&interface);
            report(&interface.name, change, set, (&earlier, &now), &mut outcome);
            earlier = now;
        }
    }
    state.after = earlier;
    state::write(&state, &path)?;
    Ok(outcome)
}

/// Reports what became of one change, and what followed from it.
fn report(
    interface: &str,
    change: &Change,
    set: Result<(), String>,
    (before, after): (&BTreeMap<String, String>, &BTreeMap<String, String>),
    outcome: &mut Outcome,
) {
    let Change { name, value } = change;
    let was = before.get(name).map_or("not there", String::as_str);
    let is = after.get(name).map_or("not there", String::as_str);
    match set {
        Err(_) if is == value => outcome.done.push(format!("{interface}: {name} is {value} already")),
        Err(why) if !before.contains_key(name) => outcome.failed.push(format!("{interface}: {name} is not set: {why}")),
        Err(why) => outcome.failed.push(format!("{interface}: {name} stays {was}: {why}")),
        Ok(()) if is == value && was == value => outcome.done.push(format!("{interface}: {name} is {value} already")),
        Ok(()) if is == value => outcome.done.push(format!("{interface}: {name} is {value}, was {was}")),
        Ok(()) => outcome.failed.push(format!("{interface}: {name} is {is}, not {value}: the driver made it so")),
    }
    for (other, is) in after.iter().filter(|(other, is)| *other != name && before.get(*other) != Some(*is)) {
        let was = before.get(other).map_or("not there", String::as_str);
        outcome.done.push(format!("{interface}: {other} is {is}, was {was}, as it depends on {name}"));
    }
}

fn read(path: &Path) -> Result<NicState, Error> {
    let text = fs::read_to_string(path)?;
    let state: NicState =
        serde_json::from_str(&text).map_err(|source| Error::NotAState { path: path.to_owned(), source })?;
    match state.format {
        FORMAT => Ok(state),
        other => Err(Error::OtherFormat { path: path.to_owned(), format: Some(other) }),
    }
}

/// Restores what was changed of an interface, or of all. What others changed meanwhile is left. What could not be restored is
/// reported, and its file stays.
///
/// # Errors
/// When nothing was changed, or a file is no saved state.
pub fn undo_nic(name: Option<&str>, folder: &Path) -> Result<Outcome, Error> {
    let names = match name {
        Some(name) => vec![name.to_owned()],
        None => saved(folder),
    };
    let mut outcome = Outcome::default();
    let mut is_any = false;
    for name in names {
        let path = file(folder, &name);
        if path.exists() {
            is_any = true;
            undo_one(&path, &mut outcome)?;
        }
    }
    if is_any { Ok(outcome) } else { Err(Error::NoNicToUndo { folder: folder.to_owned() }) }
}

/// Interfaces of which there are saved states.
fn saved(folder: &Path) -> Vec<String> {
    let Ok(entries) = fs::read_dir(folder) else { return Vec::new() };
    let name =
        |entry: fs::DirEntry| Some(entry.file_name().to_str()?.strip_prefix("nic-")?.strip_suffix(".json")?.to_owned());
    let mut names: Vec<String> = entries.flatten().filter_map(name).collect();
    names.sort();
    names
}

fn undo_one(path: &Path, outcome: &mut Outcome) -> Result<(), Error> {
    let state = read(path)?;
    let name = &state.interface;
    if state.boot != boot(&Root::live()) || state.index != index(name) {
        outcome.done.push(format!("{name}: its settings ended with the interface"));
        return Ok(fs::remove_file(path)?);
    }
    let interface = open(name)?;
    let failed = outcome.failed.len();
    for (setting, _) in SETTINGS {
        // One that was restored may have restored others.
        let now = values(&interface);
        let (Some(before), Some(is)) = (state.before.get(*setting), now.get(*setting)) else { continue };
        let was_changed = state.after.is_empty() || state.after.get(*setting) != Some(before);
        if before == is || !was_changed {
            continue;
        }
        if state.after.get(*setting).is_some_and(|after| after != is) {
            outcome.done.push(format!("{name}: {setting} stays {is}: it was changed again meanwhile"));
            continue;
        }
        let set = interface.set(setting, before);
        match values(&interface).get(*setting) {
            Some(is) if is == before => outcome.done.push(format!("{name}: {setting} is {before} again")),
            is => {
                let is = is.map_or("not there", String::as_str);
                let why = set.err().unwrap_or_else(|| format!("the driver made it {is}"));
                outcome.failed.push(format!("{name}: {setting} is not restored to {before}: {why}"));
            }
        }
    }
    if outcome.failed.len() == failed {
        fs::remove_file(path)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_loopback_interface_is_read() {
        let lo = nic("lo").unwrap();
        let of = |name: &str| lo.settings.iter().find(|setting| setting.name == name).unwrap();
        assert_eq!(lo.settings.len(), SETTINGS.len());
        assert!(of("mtu").value.as_ref().is_some_and(|mtu| mtu.parse::<u32>().is_ok()), "{lo:?}");
        assert_eq!((&of("rx-ring").value, of("busy-poll").of_machine), (&None, true), "{lo:?}");
    }

    #[test]
    fn what_is_no_interface_or_no_change_is_refused() {
        let error = nic("nothing0").unwrap_err().to_string();
        assert!(error.starts_with("there is no network interface `nothing0`; there are "), "{error}");
        assert!("mtu".parse::<Change>().is_err() && "mtu=x".parse::<Change>().is_err());
        let folder = tempfile::tempdir().unwrap();
        assert!(undo_nic(None, folder.path()).unwrap_err().to_string().contains("nothing is changed"));
        fs::write(file(folder.path(), "lo"), "{}").unwrap();
        assert!(undo_nic(Some("lo"), folder.path()).is_err());
    }

    #[test]
    fn a_state_of_another_run_of_the_machine_is_forgotten() {
        let folder = tempfile::tempdir().unwrap();
        let state = NicState {
            format: FORMAT,
            boot: "another".to_owned(),
            interface: "lo".to_owned(),
            index: index("lo"),
            before: BTreeMap::from([("mtu".to_owned(), "1".to_owned())]),
            after: BTreeMap::new(),
        };
        state::write(&state, &file(folder.path(), "lo")).unwrap();
        let outcome = undo_nic(None, folder.path()).unwrap();
        assert_eq!((outcome.done.len(), outcome.failed.len(), file(folder.path(), "lo").exists()), (1, 0, false));
    }
}
