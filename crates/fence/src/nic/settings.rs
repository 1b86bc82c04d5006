//! Settings of network interfaces, as data: where each is read and written.

use std::{io, path::PathBuf};

use fenxi_model::{format_cpus, parse_cpus};
use fenxi_sys::ethtool::{Ethtool, Feature, MOST_NUMBERS, Numbers};
use fs_err as fs;

use crate::Cpus;

/// Where a setting is.
#[derive(Clone, Copy, Debug)]
pub(super) enum Place {
    /// A number in a file of the interface in /sys.
    File(&'static str),
    /// CPUs, as a mask in such a file of each queue whose name begins so.
    Cpus(&'static str, &'static str),
    /// A number in such a file.
    Queues(&'static str, &'static str),
    /// A number of the whole machine, in /proc/sys.
    Machine(&'static str),
    /// A number of the driver, and of which other one it is at most.
    Number(Numbers, usize, Option<usize>),
    /// The same, as on or off.
    Switch(Numbers, usize),
    /// Features of these names; `*` stands for anything.
    Features(&'static [&'static str]),
}

/// Every setting by its name, in the order in which they are changed: what others depend on comes first.
pub(super) static SETTINGS: &[(&str, Place)] = &[
    ("mtu", Place::File("mtu")),
    ("txqueuelen", Place::File("tx_queue_len")),
    ("rx-csum", Place::Features(&["rx-checksum"])),
    ("tx-csum", Place::Features(&["tx-checksum-*"])),
    ("sg", Place::Features(&["tx-scatter-gather*"])),
    // Others of its kind (ECN and so on) follow these.
    ("tso", Place::Features(&["tx-tcp-segmentation", "tx-tcp6-segmentation"])),
    ("gso", Place::Features(&["tx-generic-segmentation"])),
    ("gro", Place::Features(&["rx-gro"])),
    ("gro-hw", Place::Features(&["rx-gro-hw"])),
    ("lro", Place::Features(&["rx-lro"])),
    ("rxhash", Place::Features(&["rx-hashing"])),
    ("ntuple", Place::Features(&["rx-ntuple-filter"])),
    ("threaded", Place::File("threaded")),
    ("gro-flush-timeout", Place::File("gro_flush_timeout")),
    ("napi-defer-hard-irqs", Place::File("napi_defer_hard_irqs")),
    ("adaptive-rx", Place::Switch(Numbers::Coalescing, 10)),
    ("adaptive-tx", Place::Switch(Numbers::Coalescing, 11)),
    ("rx-usecs", Place::Number(Numbers::Coalescing, 1, None)),
    ("rx-frames", Place::Number(Numbers::Coalescing, 2, None)),
    ("tx-usecs", Place::Number(Numbers::Coalescing, 5, None)),
    ("tx-frames", Place::Number(Numbers::Coalescing, 6, None)),
    ("rx-ring", Place::Number(Numbers::Rings, 5, Some(1))),
    ("tx-ring", Place::Number(Numbers::Rings, 8, Some(4))),
    ("rx-queues", Place::Number(Numbers::Channels, 5, Some(1))),
    ("tx-queues", Place::Number(Numbers::Channels, 6, Some(2))),
    ("combined-queues", Place::Number(Numbers::Channels, 8, Some(4))),
    ("rps", Place::Cpus("rx-", "rps_cpus")),
    ("rps-flows", Place::Queues("rx-", "rps_flow_cnt")),
    ("xps", Place::Cpus("tx-", "xps_cpus")),
    ("busy-poll", Place::Machine("net/core/busy_poll")),
    ("busy-read", Place::Machine("net/core/busy_read")),
];

/// A setting as it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Setting {
    /// Its name.
    pub name: &'static str,
    /// Its value; of queues that differ one for each, separated by `;`. None: this interface does not have it.
    pub value: Option<String>,
    /// The maximum.
    pub maximum: Option<u32>,
    /// Whether it can be changed at all.
    pub changeable: bool,
    /// Whether it is one of all interfaces.
    pub of_machine: bool,
}

/// An interface.
#[derive(Debug)]
pub(super) struct Interface {
    pub name: String,
    pub ethtool: Ethtool,
}

impl Interface {
    fn file(&self, name: &str) -> PathBuf {
        PathBuf::from(format!("/sys/class/net/{}/{name}", self.name))
    }

    /// Files of all queues of a kind, in the order of their numbers.
    fn files(&self, begin: &str, name: &str) -> Vec<PathBuf> {
        let Ok(entries) = fs::read_dir(self.file("queues")) else { return Vec::new() };
        let number = |entry: fs::DirEntry| entry.file_name().to_str()?.strip_prefix(begin)?.parse::<u32>().ok();
        let mut numbers: Vec<u32> = entries.flatten().filter_map(number).collect();
        numbers.sort_unstable();
        numbers.into_iter().map(|number| self.file(&format!("queues/{begin}{number}/{name}"))).collect()
    }

    /// All settings, those that it does not have too.
    pub(super) fn settings(&self) -> Vec<Setting> {
        let features = self.ethtool.features().unwrap_or_default();
        SETTINGS.iter().map(|(name, place)| self.setting(name, *place, &features)).collect()
    }

    fn setting(&self, name: &'static str, place: Place, features: &[Feature]) -> Setting {
        let mut setting = Setting { name, value: None, maximum: None, changeable: true, of_machine: false };
        match place {
            Place::File(file) => setting.value = number_in(&self.file(file)),
            Place::Machine(file) => {
                setting.value = number_in(&machine_file(file));
                setting.of_machine = true;
            }
            Place::Queues(begin, file) => setting.value = joined(self.files(begin, file), |path| number_in(&path)),
            Place::Cpus(begin, file) => {
                let cpus = |path: PathBuf| Some(cpus_text(&cpus_of(&fs::read_to_string(path).ok()?)?));
                setting.value = joined(self.files(begin, file), cpus);
            }
            Place::Number(of, at, most) => {
                let numbers = self.ethtool.numbers(of).ok();
                setting.value = numbers.map(|numbers| numbers[at].to_string());
                setting.maximum = most.and_then(|most| Some(numbers?[most]));
                setting.value = setting.value.filter(|_| setting.maximum != Some(0));
            }
            Place::Switch(of, at) => setting.value = self.ethtool.numbers(of).ok().map(|n| on_off(n[at] != 0)),
            Place::Features(patterns) => {
                let of: Vec<_> = named(features, patterns).map(|(_, feature)| feature).collect();
                setting.changeable = of.iter().any(|feature| feature.changeable);
                // Features that are off and cannot be had are those of other drivers.
                let has = |feature: &&&Feature| feature.on || feature.changeable;
                setting.value = of.iter().find(has).map(|_| on_off(of.iter().any(|feature| feature.on)));
            }
        }
        setting
    }

    /// Changes one.
    ///
    /// # Errors
    /// Why it is refused, in words.
    pub(super) fn set(&self, name: &str, value: &str) -> Result<(), String> {
        let place = SETTINGS.iter().find(|(known, _)| *known == name).map(|(_, place)| *place);
        match place.ok_or("there is no such setting")? {
            Place::File(file) => write(&self.file(file), value),
            Place::Machine(file) => write(&machine_file(file), value),
            Place::Queues(begin, file) => each(&self.files(begin, file), value, |value| Ok(value.to_owned())),
            Place::Cpus(begin, file) => each(&self.files(begin, file), value, |value| {
                mask(&cpus_in(value).ok_or_else(|| format!("`{value}` is no list of CPUs"))?)
            }),
            Place::Number(of, at, most) => {
                let number = value.parse().map_err(|_| format!("`{value}` is no number"))?;
                self.set_number(of, at, most, number)
            }
            Place::Switch(of, at) => self.set_number(of, at, None, u32::from(value == "on")),
            Place::Features(patterns) => {
                let features = self.ethtool.features().map_err(|error| refused(&error))?;
                let of = named(&features, patterns).filter(|(_, feature)| feature.changeable);
                let places: Vec<usize> = of.map(|(place, _)| place).collect();
                if places.is_empty() {
                    return Err("the driver has it fixed".to_owned());
                }
                let set = self.ethtool.set_features(features.len(), &places, value == "on");
                set.map_err(|error| refused(&error))
            }
        }
    }

    fn set_number(&self, of: Numbers, at: usize, most: Option<usize>, number: u32) -> Result<(), String> {
        let mut numbers: [u32; MOST_NUMBERS] = self.ethtool.numbers(of).map_err(|error| refused(&error))?;
        if let Some(most) = most.map(|most| numbers[most]).filter(|most| number > *most) {
            return Err(format!("the driver allows up to {most}"));
        }
        numbers[at] = number;
        self.ethtool.set_numbers(of, numbers).map_err(|error| refused(&error))
    }
}

/// Whether a value can be one of this setting; what is expected where not.
pub(super) fn check(name: &str, value: &str) -> Result<(), String> {
    let Some((_, place)) = SETTINGS.iter().find(|(known, _)| *known == name) else {
        let names: Vec<_> = SETTINGS.iter().map(|(name, _)| *name).collect();
        return Err(format!("there is no setting `{name}`; there are {}", names.join(", ")));
    };
    let is_number = |value: &str| value.parse::<u32>().is_ok();
    let (is_right, expected) = match place {
        Place::File(_) | Place::Machine(_) | Place::Number(..) => (is_number(value), "a number"),
        Place::Queues(..) => (value.split(';').all(is_number), "a number"),
        Place::Cpus(..) => (value.split(';').all(|part| cpus_in(part).is_some()), "a list of CPUs such as 0-3, or off"),
        Place::Switch(..) | Place::Features(_) => (matches!(value, "on" | "off"), "on or off"),
    };
    if is_right { Ok(()) } else { Err(format!("`{name}` is {expected}, not `{value}`")) }
}

fn named<'a>(features: &'a [Feature], patterns: &'a [&str]) -> impl Iterator<Item = (usize, &'a Feature)> {
    let matches = |name: &str, pattern: &&str| match pattern.split_once('*') {
        Some((begin, end)) => name.len() >= begin.len() + end.len() && name.starts_with(begin) && name.ends_with(end),
        None => name == *pattern,
    };
    let is_named = move |feature: &Feature| patterns.iter().any(|pattern| matches(&feature.name, pattern));
    features.iter().enumerate().filter(move |(_, feature)| is_named(feature))
}

fn machine_file(name: &str) -> PathBuf {
    PathBuf::from(format!("/proc/sys/{name}"))
}

fn on_off(on: bool) -> String {
    if on { "on" } else { "off" }.to_owned()
}

fn number_in(path: &std::path::Path) -> Option<String> {
    fs::read_to_string(path).ok().map(|text| text.trim().to_owned()).filter(|text| !text.is_empty())
}

/// The value of all, if they agree, else each one; None where one cannot be read.
fn joined(files: Vec<PathBuf>, read: impl Fn(PathBuf) -> Option<String>) -> Option<String> {
    let values: Vec<String> = files.into_iter().map(read).collect::<Option<_>>()?;
    let first = values.first()?;
    Some(if values.iter().all(|value| value == first) { first.clone() } else { values.join(";") })
}

/// Writes one value to all files, or each its own.
fn each(files: &[PathBuf], value: &str, as_file: impl Fn(&str) -> Result<String, String>) -> Result<(), String> {
    let values: Vec<&str> = value.split(';').collect();
    if files.is_empty() {
        return Err("the interface has no such queues".to_owned());
    }
    if values.len() > 1 && values.len() != files.len() {
        return Err(format!("there are {} queues, not {}", files.len(), values.len()));
    }
    for (file, value) in files.iter().zip(values.iter().cycle()) {
        write(file, &as_file(value)?)?;
    }
    Ok(())
}

fn write(path: &std::path::Path, value: &str) -> Result<(), String> {
    // Not `fs_err`: the error number shows what refused, and the setting is named by the caller.
    #[expect(clippy::disallowed_methods, reason = "the bare error is wanted")]
    std::fs::write(path, value).map_err(|error| refused(&error))
}

/// Why the kernel or a driver refuses.
fn refused(error: &io::Error) -> String {
    match error.raw_os_error() {
        Some(libc::EOPNOTSUPP | libc::ENOENT) => "the driver has no such setting".to_owned(),
        Some(libc::EINVAL | libc::ERANGE) => "the driver does not take this value".to_owned(),
        Some(libc::EPERM | libc::EACCES) => "only root (CAP_NET_ADMIN) may change it".to_owned(),
        Some(libc::EBUSY) => "the driver does not change it while the interface is up or in use".to_owned(),
        _ => error.to_string(),
    }
}

/// CPUs of a mask as the kernel writes it: groups of 32 in hexadecimal, the highest first.
fn cpus_of(mask: &str) -> Option<Cpus> {
    let groups: Vec<u32> =
        mask.trim().split(',').map(|group| u32::from_str_radix(group, 16).ok()).collect::<Option<_>>()?;
    let bits = |(at, group): (usize, &u32)| {
        let group = *group;
        (0..32).filter(move |bit| group & (1 << bit) != 0).map(move |bit| at * 32 + bit)
    };
    Some(groups.iter().rev().enumerate().flat_map(bits).collect())
}

/// The mask of CPUs.
fn mask(cpus: &Cpus) -> Result<String, String> {
    /// More than any kernel has.
    const MOST: usize = 8192;
    let last = cpus.last().copied().unwrap_or(0);
    if last >= MOST {
        return Err(format!("there is no CPU {last}"));
    }
    let mut groups = vec![0u32; last / 32 + 1];
    cpus.iter().for_each(|cpu| groups[cpu / 32] |= 1 << (cpu % 32));
    let groups: Vec<String> = groups.iter().rev().map(|group| format!("{group:08x}")).collect();
    Ok(groups.join(","))
}

/// CPUs as users write them.
fn cpus_in(text: &str) -> Option<Cpus> {
    if text == "off" { Some(Cpus::new()) } else { parse_cpus(text).filter(|cpus| !cpus.is_empty()) }
}

fn cpus_text(cpus: &Cpus) -> String {
    if cpus.is_empty() { "off".to_owned() } else { format_cpus(cpus) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn masks_and_lists_are_the_same_cpus() {
        for (text, list) in [("00000000", "off"), ("00000005", "0,2"), ("00000001,80000000", "31-32"), ("f", "0-3")] {
            assert_eq!(cpus_text(&cpus_of(text).unwrap()), list);
            assert_eq!(cpus_of(&mask(&cpus_in(list).unwrap()).unwrap()), cpus_of(text));
        }
        assert!(cpus_of("no").is_none() && cpus_in("").is_none() && mask(&Cpus::from([9000])).is_err());
    }

    #[test]
    fn values_are_checked_before_anything_is_changed() {
        assert!(check("mtu", "9000").is_ok() && check("rps", "0-3;off").is_ok() && check("gro", "off").is_ok());
        assert_eq!(check("gro", "0").unwrap_err(), "`gro` is on or off, not `0`");
        assert_eq!(check("rx-usecs", "-1").unwrap_err(), "`rx-usecs` is a number, not `-1`");
        assert!(check("mut", "1").unwrap_err().starts_with("there is no setting `mut`; there are mtu, "));
    }

    #[test]
    fn features_are_found_by_their_names() {
        let features: Vec<Feature> = ["rx-gro", "tx-tcp-segmentation", "tx-tcp6-segmentation", "rx-gro-hw"]
            .map(|name| Feature { name: name.to_owned(), on: true, changeable: true })
            .into();
        let of = |patterns: &[&str]| named(&features, patterns).map(|(place, _)| place).collect::<Vec<_>>();
        assert_eq!((of(&["tx-tcp*-segmentation"]), of(&["rx-gro"]), of(&["*x"])), (vec![1, 2], vec![0], vec![]));
    }
}
