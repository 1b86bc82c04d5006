//! Settings that are asked for in files, on the kernel's command line and by servers, beside what is in effect.
//!
//! Each is a pair of facts of one name and one form: topic `asked`, and topic `in effect`. Where they are not the same, the
//! finding `asked-not-in-effect` reports it. What is in effect and cannot be read gives no pair: unknown is no difference.

use std::collections::BTreeMap;

use fenxi_model::{format_cpus, parse_cpus};
use fenxi_procfs::{
    Processes, cgroup,
    servers::{Class, Server},
};

use super::{Facts, names};
use crate::{Root, proc::fs::parse_mounts};

/// Adds a pair; nothing where either is unknown.
fn pair(facts: &mut Facts, name: String, asked: impl Into<String>, in_effect: Option<String>) {
    if let Some(in_effect) = in_effect {
        facts.add("asked", name.clone(), asked);
        facts.add("in effect", name, in_effect);
    }
}

/// Everything that is asked for on this machine.
pub fn asked(root: &Root, facts: &mut Facts) {
    // Files of a container's image set nothing: the machine's do.
    if !["/.dockerenv", "/run/.containerenv", "/run/systemd/container"].iter().any(|sign| root.exists(sign)) {
        sysctl(root, facts);
        governor(root, facts);
        mounts(root, facts);
    }
    command_line(root, facts);
    own_group(root, facts);
    servers(root, facts);
}

/// Folders of settings in the order in which a file of one hides that of the same name in the next.
const SYSCTL: [&str; 5] =
    ["/etc/sysctl.d", "/run/sysctl.d", "/usr/local/lib/sysctl.d", "/usr/lib/sysctl.d", "/lib/sysctl.d"];

/// Settings of the kernel that an administrator asks for: the last file holds. One that a later file sets otherwise is a
/// separate pair.
fn sysctl(root: &Root, facts: &mut Facts) {
    let mut files: BTreeMap<String, String> = BTreeMap::new();
    for folder in SYSCTL {
        for name in names(root, folder).into_iter().filter(|name| name.ends_with(".conf")) {
            let path = format!("{folder}/{name}");
            files.entry(name).or_insert(path);
        }
    }
    // `sysctl --system` reads this one last.
    let last = [("~".to_owned(), "/etc/sysctl.conf".to_owned())];
    let mut asked: BTreeMap<String, Vec<(String, String)>> = BTreeMap::new();
    for (_, path) in files.into_iter().chain(last) {
        for line in root.read_text(&path).unwrap_or_default().lines() {
            let line = line.trim().trim_start_matches('-');
            let Some((key, value)) = line.split_once('=').filter(|_| !line.starts_with(['#', ';'])) else { continue };
            let key = dotted(key.trim());
            // A pattern sets what is there when it is read.
            if !key.contains('*') {
                asked.entry(key).or_default().push((path.clone(), one_blank(value)));
            }
        }
    }
    for (key, settings) in asked {
        let Some((of_last, wanted)) = settings.last() else { continue };
        let now = root.read_text(&format!("/proc/sys/{}", key.replace('.', "/"))).map(|value| one_blank(&value));
        let is_administrators = |path: &str| path.starts_with("/etc/");
        if is_administrators(of_last) {
            pair(facts, format!("sysctl {key}"), wanted, now.clone());
        }
        for (path, value) in settings.iter().filter(|(path, value)| is_administrators(path) && value != wanted) {
            pair(facts, format!("sysctl {key} of {path}, which {of_last} reverses"), value, now.clone());
        }
    }
}

/// A key with dots: where a slash comes first, dots are part of names.
fn dotted(key: &str) -> String {
    match key.find(['.', '/']).map(|at| &key[at..=at]) {
        Some("/") => key.replace('.', "\u{1}").replace('/', ".").replace('\u{1}', "/"),
        _ => key.to_owned(),
    }
}

fn one_blank(text: &str) -> String {
    text.split_ascii_whitespace().collect::<Vec<_>>().join(" ")
}

/// The word in brackets of `always [madvise] never`.
fn chosen(text: &str) -> Option<String> {
    Some(text.split_once('[')?.1.split_once(']')?.0.to_owned())
}

/// Parameters of the kernel and files that show what became of them, as they are written or the word in brackets.
const PARAMETERS: [(&str, &str); 7] = [
    ("transparent_hugepage", "/sys/kernel/mm/transparent_hugepage/enabled"),
    ("isolcpus", "/sys/devices/system/cpu/isolated"),
    ("nohz_full", "/sys/devices/system/cpu/nohz_full"),
    ("clocksource", "/sys/devices/system/clocksource/clocksource0/current_clocksource"),
    ("hugepages", "/proc/sys/vm/nr_hugepages"),
    ("numa_balancing", "/proc/sys/kernel/numa_balancing"),
    ("cpufreq.default_governor", "/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor"),
];

/// Parameters on the kernel's command line.
fn command_line(root: &Root, facts: &mut Facts) {
    let line = root.read_text("/proc/cmdline").unwrap_or_default();
    let words: Vec<&str> = line.split_ascii_whitespace().take_while(|word| *word != "--").collect();
    // Pages of which size they are is written before them.
    let has_size = words.iter().any(|word| word.starts_with("hugepagesz="));
    for (name, file) in PARAMETERS {
        let of = |word: &&str| word.strip_prefix(name)?.strip_prefix('=').map(str::to_owned);
        let Some(value) = words.iter().rev().find_map(of).filter(|_| name != "hugepages" || !has_size) else {
            continue;
        };
        let asked = match name {
            // Flags come before the CPUs; lists may be written in more ways than one.
            "isolcpus" | "nohz_full" => {
                let is_cpus = |word: &&str| word.starts_with(|c: char| c.is_ascii_digit());
                value.split(',').filter(is_cpus).collect::<Vec<_>>().join(",")
            }
            "numa_balancing" => u8::from(value == "enable").to_string(),
            _ => value,
        };
        let now = root.read_text(file).map(|text| chosen(&text).unwrap_or_else(|| text.trim().to_owned()));
        let now = now.map(|now| if now.is_empty() { "none".to_owned() } else { now });
        // More pages than were asked for at boot are asked for later.
        let more = |now: &String| name == "hugepages" && now.parse::<u64>().ok() > asked.parse::<u64>().ok();
        let now = now.map(|now| if more(&now) { asked.clone() } else { now });
        pair(facts, format!("kernel parameter {name}"), same_list(&asked), now.map(|now| same_list(&now)));
    }
}

/// A list of CPUs in one form: `0,1,2` as `0-2`; other texts as they are.
fn same_list(text: &str) -> String {
    let is_list = text.contains([',', '-']) && text.bytes().all(|byte| byte.is_ascii_digit() || b",-".contains(&byte));
    let cpus = if is_list { parse_cpus(text) } else { None };
    cpus.map_or_else(|| text.to_owned(), |cpus| format_cpus(&cpus))
}

/// The governor that a service sets at boot, for each CPU that has another.
fn governor(root: &Root, facts: &mut Facts) {
    let files =
        ["/etc/default/cpufrequtils", "/etc/default/cpupower", "/etc/sysconfig/cpupower", "/etc/conf.d/cpupower"];
    let of = |path: &&str| {
        let text = root.read_text(path)?;
        let line = text
            .lines()
            .rev()
            .find_map(|line| line.trim().to_ascii_lowercase().strip_prefix("governor=").map(str::to_owned))?;
        Some(line.trim_matches(['"', '\'']).to_owned()).filter(|value| !value.is_empty())
    };
    let Some(wanted) = files.iter().find_map(of) else { return };
    let cpus = names(root, "/sys/devices/system/cpu");
    let governors = cpus
        .iter()
        .filter_map(|cpu| root.read_text(&format!("/sys/devices/system/cpu/{cpu}/cpufreq/scaling_governor")));
    let mut governors: Vec<String> = governors.collect();
    governors.sort();
    governors.dedup();
    let now = (!governors.is_empty()).then(|| governors.join(", "));
    pair(facts, "CPU frequency governor".to_owned(), wanted, now);
}

/// Options of a mount that are asked for in /etc/fstab and seen in /proc/mounts as they are written.
const OPTIONS: [&str; 6] = ["noatime", "nodiratime", "ro", "sync", "discard", "dax"];

fn mounts(root: &Root, facts: &mut Facts) {
    let Some(now) = root.read_text("/proc/self/mounts") else { return };
    let now = parse_mounts(now.as_bytes());
    let fstab = root.read_text("/etc/fstab").unwrap_or_default();
    for line in fstab.lines().filter(|line| !line.trim_start().starts_with('#')) {
        let mut fields = line.split_ascii_whitespace().skip(1);
        let (Some(place), Some(kind), Some(options)) = (fields.next(), fields.next(), fields.next()) else { continue };
        let Some(mount) = now.iter().rev().find(|mount| mount.mount == place && mount.fstype == kind) else { continue };
        let wanted: Vec<&str> = options.split(',').filter(|option| OPTIONS.contains(option)).collect();
        let has = |option: &&&str| {
            mount.options.split(',').any(|other| other == **option || (**option == "dax" && other == "dax=always"))
        };
        let kept: Vec<&str> = wanted.iter().filter(has).copied().collect();
        let kept = if kept.is_empty() { "none of them".to_owned() } else { kept.join(",") };
        if !wanted.is_empty() {
            pair(facts, format!("mount options of {place}"), wanted.join(","), Some(kept));
        }
    }
}

/// Limits of this process's control group that one above it makes smaller (version 2).
fn own_group(root: &Root, facts: &mut Facts) {
    let Some(own) = root.read_text("/proc/self/cgroup") else { return };
    let Some(path) = cgroup::path_of(&own, "").map(str::to_owned) else { return };
    let mounts = root.read_text("/proc/self/mounts").unwrap_or_default();
    let mounts = parse_mounts(mounts.as_bytes());
    let Some(top) = mounts.iter().find(|mount| mount.fstype == "cgroup2").map(|mount| mount.mount.clone()) else {
        return;
    };
    let read = |path: &str, file: &str| root.read_text(&format!("{top}{path}/{file}"));
    for (file, what) in [("memory.max", "bytes"), ("cpu.max", "CPUs")] {
        let amount = |text: String| -> Option<f64> {
            let mut words = text.split_ascii_whitespace();
            let first: f64 = words.next()?.parse().ok()?;
            Some(words.next().and_then(|period| period.parse::<f64>().ok()).map_or(first, |period| first / period))
        };
        let Some(asked) = read(&path, file).and_then(amount) else { continue };
        let mut least = asked;
        let mut above = path.as_str();
        while let Some((parent, _)) = above.rsplit_once('/') {
            above = parent;
            least = read(above, file).and_then(amount).map_or(least, |limit| limit.min(least));
        }
        pair(facts, format!("{file} of {path}, in {what}"), asked.to_string(), Some(least.to_string()));
    }
    if let Some(asked) = read(&path, "cpuset.cpus").filter(|asked| !asked.is_empty()) {
        let now = read(&path, "cpuset.cpus.effective").map(|now| same_list(&now));
        pair(facts, format!("cpuset.cpus of {path}"), same_list(&asked), now);
    }
}

/// Adds settings that database servers are configured with, and those that their processes have.
fn servers(root: &Root, facts: &mut Facts) {
    let processes = Processes::of(root);
    for server in Server::running(&processes, None) {
        let name = format!("{} {}", server.system.name(), server.dir.display());
        if let Some(setting) = server.open_setting.as_deref().filter(|setting| is_direct(setting)) {
            let (asked, now) = opened(&processes, &server);
            pair(facts, format!("{name}: {setting}"), asked, now);
        }
        if let Some(setting) = &server.huge_setting {
            let wanted = matches!(
                setting.split('=').next_back().map(str::to_ascii_lowercase).as_deref(),
                Some("on" | "try" | "1" | "true" | "yes" | "")
            );
            let now = server.has_huge.map(|has| if has { "huge pages" } else { "no huge pages" }.to_owned());
            if wanted {
                pair(facts, format!("{name}: {setting}"), "huge pages", now);
            }
        }
    }
}

/// Whether a setting has data files opened with O_DIRECT.
fn is_direct(setting: &str) -> bool {
    let (name, value) = setting.split_once('=').unwrap_or((setting, ""));
    let value = value.trim().to_ascii_lowercase();
    match name {
        "innodb_flush_method" => matches!(value.as_str(), "o_direct" | "o_direct_no_fsync"),
        "innodb_data_file_buffering" => matches!(value.as_str(), "off" | "0"),
        "debug_io_direct" => value.split([',', ' ']).any(|word| word == "data"),
        _ => false,
    }
}

/// How a server's data files are opened: asked, and seen; the latter unknown where none can be looked at.
fn opened(processes: &Processes, server: &Server) -> (String, Option<String>) {
    let (mut direct, mut buffered) = (0u32, 0u32);
    processes.each_open(&server.pids, &mut |pid, fd, _| {
        let Ok(path) = fs_err::read_link(processes.path(pid, &format!("fd/{fd}"))) else { return };
        let Ok(below) = path.strip_prefix(&server.dir) else { return };
        // Temporary tables are data as well, but servers open them otherwise.
        if server.system.class(below) != Class::Data || below.to_string_lossy().contains("ibtmp") {
            return;
        }
        match processes.is_direct(pid, fd) {
            Some(true) => direct += 1,
            Some(false) => buffered += 1,
            None => {}
        }
    });
    let now = match (direct, buffered) {
        (0, 0) => None,
        (_, 0) => Some("data files with O_DIRECT".to_owned()),
        (0, _) => Some(format!("{buffered} data files through the page cache")),
        _ => Some(format!("{buffered} of {} data files through the page cache", direct + buffered)),
    };
    ("data files with O_DIRECT".to_owned(), now)
}
