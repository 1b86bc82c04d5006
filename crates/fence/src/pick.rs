//! CPUs by what they are: by number, or all threads or one of each core, a socket, a NUMA node.

use std::str::FromStr;

use fenxi_model::{format_cpus, parse_cpus};
use fenxi_procfs::Root;

use crate::{Cpus, Error};

const CPUS: &str = "/sys/devices/system/cpu";

/// Which CPUs are meant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pick {
    kind: Kind,
    numbers: Cpus,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Cpus,
    Cores,
    OneOfCores,
    Sockets,
    Nodes,
}

impl FromStr for Pick {
    type Err = String;

    fn from_str(text: &str) -> Result<Pick, String> {
        let (kind, list) = match text.split_once(':') {
            None => (Kind::Cpus, text),
            Some(("core", list)) => (Kind::Cores, list),
            Some(("thread", list)) => (Kind::OneOfCores, list),
            Some(("socket", list)) => (Kind::Sockets, list),
            Some(("node", list)) => (Kind::Nodes, list),
            Some((kind, _)) => {
                return Err(format!("unknown kind `{kind}`; expected core:, thread:, socket: or node: with numbers"));
            }
        };
        let numbers = parse_cpus(list).filter(|numbers| !numbers.is_empty());
        let numbers = numbers.ok_or_else(|| "expected a list of numbers, as 2-3,7 or core:0-1".to_owned())?;
        Ok(Pick { kind, numbers })
    }
}

impl Pick {
    /// The CPUs that are meant, of those that are online.
    ///
    /// # Errors
    /// When one of the numbers is no core, socket or node here. CPUs by number are not looked up.
    pub fn cpus(&self, root: &Root, online: &Cpus) -> Result<Cpus, Error> {
        let (what, groups) = match self.kind {
            Kind::Cpus => return Ok(self.numbers.clone()),
            Kind::Cores | Kind::OneOfCores => ("core", cores(root, online)),
            Kind::Sockets => ("socket", sockets(root, online)),
            Kind::Nodes => ("NUMA node", nodes(root, online)),
        };
        let mut cpus = Cpus::new();
        for number in &self.numbers {
            let Some((_, group)) = groups.iter().find(|(known, _)| known == number) else {
                let known: Cpus = groups.iter().map(|(known, _)| *known).collect();
                return Err(Error::NoSuch { what, number: *number, known: format_cpus(&known) });
            };
            let most = if self.kind == Kind::OneOfCores { 1 } else { group.len() };
            cpus.extend(group.iter().take(most));
        }
        Ok(cpus)
    }
}

/// Cores in the order of their first CPUs, from 0: `core_id` is not unique on a machine with several sockets.
fn cores(root: &Root, online: &Cpus) -> Vec<(usize, Cpus)> {
    let mut cores: Vec<Cpus> = Vec::new();
    for cpu in online {
        if cores.iter().any(|core| core.contains(cpu)) {
            continue;
        }
        let siblings = root.read_text(&format!("{CPUS}/cpu{cpu}/topology/thread_siblings_list"));
        let siblings = siblings.and_then(|text| parse_cpus(&text)).unwrap_or_default();
        cores.push(siblings.intersection(online).copied().chain([*cpu]).collect());
    }
    cores.into_iter().enumerate().collect()
}

fn sockets(root: &Root, online: &Cpus) -> Vec<(usize, Cpus)> {
    let mut sockets: Vec<(usize, Cpus)> = Vec::new();
    for cpu in online {
        let number = root.read_text(&format!("{CPUS}/cpu{cpu}/topology/physical_package_id"));
        let Some(number) = number.and_then(|text| text.parse().ok()) else { continue };
        match sockets.iter_mut().find(|(known, _)| *known == number) {
            Some((_, cpus)) => drop(cpus.insert(*cpu)),
            None => sockets.push((number, Cpus::from([*cpu]))),
        }
    }
    sockets
}

fn nodes(root: &Root, online: &Cpus) -> Vec<(usize, Cpus)> {
    const NODES: &str = "/sys/devices/system/node";
    let number = |name: std::ffi::OsString| name.to_str()?.strip_prefix("node")?.parse::<usize>().ok();
    let names = root.list(NODES).unwrap_or_default();
    let mut nodes: Vec<(usize, Cpus)> = names
        .into_iter()
        .filter_map(|(name, _)| {
            let number = number(name)?;
            let cpus = parse_cpus(&root.read_text(&format!("{NODES}/node{number}/cpulist"))?)?;
            Some((number, cpus.intersection(online).copied().collect()))
        })
        .collect();
    nodes.sort();
    nodes
}

/// Other threads of the cores that `cpus` are of: what runs there shares these cores.
pub fn beside(root: &Root, cpus: &Cpus, online: &Cpus) -> Cpus {
    let cores = cores(root, online);
    let shared = cores.iter().filter(|(_, core)| !core.is_disjoint(cpus));
    shared.flat_map(|(_, core)| core.difference(cpus).copied().collect::<Vec<_>>()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two sockets of two cores of two threads each: CPU n and n + 4 share a core, as Linux numbers them.
    fn machine() -> (tempfile::TempDir, Root) {
        let folder = tempfile::tempdir().unwrap();
        let put = |path: String, text: String| {
            let path = folder.path().join(path.trim_start_matches('/'));
            fs_err::create_dir_all(path.parent().unwrap()).unwrap();
            fs_err::write(path, text).unwrap();
        };
        for cpu in 0..8 {
            let topology = format!("{CPUS}/cpu{cpu}/topology");
            put(format!("{topology}/thread_siblings_list"), format!("{},{}\n", cpu % 4, cpu % 4 + 4));
            put(format!("{topology}/physical_package_id"), format!("{}\n", cpu % 4 / 2));
        }
        put("/sys/devices/system/node/node0/cpulist".to_owned(), "0-1,4-5\n".to_owned());
        put("/sys/devices/system/node/node1/cpulist".to_owned(), "2-3,6-7\n".to_owned());
        put("/sys/devices/system/node/possible".to_owned(), "0-1\n".to_owned());
        let root = Root::saved(folder.path());
        (folder, root)
    }

    fn picked(text: &str, online: &str) -> Result<String, String> {
        let (_folder, root) = machine();
        let online = parse_cpus(online).unwrap();
        let cpus = text.parse::<Pick>()?.cpus(&root, &online).map_err(|error| error.to_string())?;
        Ok(format_cpus(&cpus))
    }

    #[test]
    fn cores_threads_sockets_and_nodes_are_picked() {
        let ok = |text: &str| picked(text, "0-7").unwrap();
        assert_eq!(ok("2-3,7"), "2-3,7");
        assert_eq!(ok("core:0-1"), "0-1,4-5");
        assert_eq!(ok("thread:0-1"), "0-1");
        assert_eq!(ok("thread:3"), "3");
        assert_eq!((ok("socket:1").as_str(), ok("node:0").as_str()), ("2-3,6-7", "0-1,4-5"));
        // Of what is offline nothing is picked, and cores are counted without it.
        assert_eq!(picked("core:0", "1-7").unwrap(), "1,5");
        assert_eq!(picked("core:3", "1-7").unwrap(), "4");
    }

    #[test]
    fn what_is_not_there_is_refused_with_what_is() {
        assert_eq!(picked("core:4", "0-7").unwrap_err(), "there is no core 4; there are 0-3");
        assert_eq!(picked("node:2", "0-7").unwrap_err(), "there is no NUMA node 2; there are 0-1");
        for wrong in ["chip:1", "core:", "core:x", "", "core:1:2"] {
            assert!(wrong.parse::<Pick>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn threads_of_the_same_cores_are_named() {
        let (_folder, root) = machine();
        let online = parse_cpus("0-7").unwrap();
        let of = |cpus: &str| format_cpus(&beside(&root, &parse_cpus(cpus).unwrap(), &online));
        assert_eq!((of("0-1").as_str(), of("0,4").as_str(), of("3,7,2").as_str()), ("4-5", "", "6"));
    }
}
