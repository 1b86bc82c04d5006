//! The lines above top's list: processors, tasks, memory.

use fenxi_model::{
    Place,
    catalog::{cpu, mem},
    place::F64,
};

use crate::number;

/// Figures of a line, each with the words behind it: `5.9 us,  5.9 sy,` and `0.1%us,  0.0%sy,`, also
/// `0.0 ni,100.0 id` and decimal commas.
pub fn figures(line: &str) -> Vec<(Option<f64>, &str, &str)> {
    let mut found = Vec::new();
    let mut rest = line;
    while let Some(begin) = rest.find(|c: char| c.is_ascii_digit()) {
        let text = &rest[begin..];
        let end = text.find(|c: char| !c.is_ascii_digit() && c != '.' && c != ',').unwrap_or(text.len());
        let digits = text[..end].trim_end_matches([',', '.']);
        let after = &text[digits.len()..];
        let word = after.trim_start_matches([' ', '\t', '+', '%']);
        let unit = &after[..after.len() - word.len()];
        let stop = word.find(|c: char| c.is_ascii_digit() || matches!(c, ',' | '.')).unwrap_or(word.len());
        // `216940+used`: more digits were there than had room.
        let value = number(digits).filter(|_| !unit.contains('+'));
        found.push((value, unit.trim_end(), word[..stop].trim()));
        rest = &word[stop..];
    }
    found
}

/// Places of the shares in the order of all versions since 3.2.
const ORDER: [Place<cpu::Schema, F64>; 8] =
    [cpu::usr, cpu::sys, cpu::nice, cpu::idle, cpu::iowait, cpu::irq, cpu::softirq, cpu::steal];

/// How top (all versions) and busybox call the shares.
fn share(label: &str) -> Option<Place<cpu::Schema, F64>> {
    Some(match label {
        "us" | "user" | "un" | "usr" => cpu::usr,
        "sy" | "system" | "sys" => cpu::sys,
        "ni" | "nice" | "nic" => cpu::nice,
        "id" | "idle" => cpu::idle,
        "wa" | "iowait" | "wait" | "io" => cpu::iowait,
        "hi" | "irq" => cpu::irq,
        "si" | "softirq" | "sirq" => cpu::softirq,
        "st" | "steal" => cpu::steal,
        "gu" | "guest" => cpu::guest,
        "gn" => cpu::guest_nice,
        _ => return None,
    })
}

/// One CPU's shares.
#[derive(Debug, PartialEq)]
pub struct Cpu<'a> {
    /// None for all together.
    pub cpu: Option<&'a str>,
    pub shares: Vec<(Place<cpu::Schema, F64>, f64)>,
}

/// Reads a line of one or more CPUs; None when it is none.
pub fn cpus(line: &str) -> Option<Vec<Cpu<'_>>> {
    let line = line.trim();
    if let Some(states) = line.strip_prefix("CPU states:").or_else(|| line.strip_prefix("CPU:")) {
        return Some(vec![Cpu { cpu: None, shares: shares(states)? }]);
    }
    let bare = line.strip_prefix('%').unwrap_or(line);
    if !bare.starts_with("Cpu") {
        return None;
    }
    let mut all = Vec::new();
    for part in bare.split("%Cpu").flat_map(|p| p.split("Cpu")).filter(|p| !p.trim().is_empty()) {
        let (name, figures) = part.split_once(':')?;
        let name = name.trim();
        let cpu = match name {
            "(s)" => None,
            _ if !name.is_empty() && name.bytes().all(|b| b.is_ascii_digit()) => Some(name),
            // 4.0 can show several as one (`%Cpu0-3`), and kinds of cores (`%CpP`).
            _ => return None,
        };
        all.push(Cpu { cpu, shares: shares(figures)? });
    }
    (!all.is_empty()).then_some(all)
}

fn shares(text: &str) -> Option<Vec<(Place<cpu::Schema, F64>, f64)>> {
    let figures = figures(text);
    let by_order = figures.len() == ORDER.len() && figures.iter().any(|(_, _, label)| share(label).is_none());
    let mut shares = Vec::with_capacity(figures.len());
    for (i, (value, _, label)) in figures.iter().enumerate() {
        let place = if by_order { ORDER[i] } else { share(label)? };
        shares.push((place, (*value)?));
    }
    (shares.len() >= 3).then_some(shares)
}

/// Reads a line of memory or swap into the table's places and bytes; None when it is none.
pub fn memory(line: &str) -> Option<Vec<(Place<mem::Schema, F64>, f64)>> {
    let (title, text) = line.split_once(':')?;
    let mut words = title.split_ascii_whitespace();
    let (mut unit, mut kind) = (1024.0, words.next()?);
    if let Some(bytes) = unit_of(kind) {
        (unit, kind) = (bytes, words.next()?);
    }
    let swap = match kind {
        "Mem" | "Mém" | "Pam" | "Minne" | "Spch" => false,
        "Swap" | "Éch" | "Wymiana" | "Ausl" => true,
        _ => return None,
    };
    let mut values = Vec::new();
    for (i, (value, suffix, label)) in figures(text).into_iter().enumerate() {
        let letter = label.get(..1).unwrap_or("");
        let (unit, label) = match label {
            // `3861332k total`, `7982.949M total`
            _ if suffix.is_empty() && label.contains(' ') && matches!(letter, "k" | "K" | "M" | "G") => {
                (letter_bytes(letter), label.split_once(' ').map_or("", |(_, l)| l.trim()))
            }
            _ => (unit, label),
        };
        let place = match (label, swap) {
            ("total" | "totalt" | "razem", false) => mem::total_bytes,
            ("total" | "totalt" | "razem", true) => mem::swap_total_bytes,
            ("free" | "libr" | "wolne" | "fritt", false) => mem::free_bytes,
            ("free" | "libr" | "wolne" | "fritt", true) => mem::swap_free_bytes,
            ("used" | "util" | "użyte" | "anv" | "av", true) => mem::swap_used_bytes,
            ("buffers" | "buff", _) => mem::buffers_bytes,
            ("cached" | "cached Mem", _) => mem::cached_bytes,
            ("avail Mem" | "avail Spch" | "dispo Mem" | "dost" | "tillg Mem", _) => mem::available_bytes,
            ("shrd", _) => mem::shmem_bytes,
            // Others of the first four follow from these.
            _ if i < 4 => continue,
            _ => return None,
        };
        if let Some(value) = value {
            values.push((place, value * unit));
        }
    }
    (!values.is_empty()).then_some(values)
}

/// The lines of memory and swap where both are in one, as with wide output and `1`.
pub fn abreast(line: &str) -> Option<(&str, &str)> {
    let at = line.find("iB Swap")?.checked_sub(1)?;
    if at == 0 { None } else { line.split_at_checked(at) }
}

/// Returns true if a line of memory is in GiB or larger units.
pub fn is_coarse(line: &str) -> bool {
    line.split_ascii_whitespace().next().and_then(unit_of).is_some_and(|bytes| bytes > 2e6)
}

fn unit_of(word: &str) -> Option<f64> {
    Some(match word {
        "KiB" => 1024.0,
        "MiB" => 1_048_576.0,
        "GiB" => 1_073_741_824.0,
        "TiB" => 1_099_511_627_776.0,
        "PiB" => 1_125_899_906_842_624.0,
        "EiB" => 1_152_921_504_606_846_976.0,
        _ => return None,
    })
}

fn letter_bytes(letter: &str) -> f64 {
    match letter {
        "M" => 1_048_576.0,
        "G" => 1_073_741_824.0,
        _ => 1024.0,
    }
}

/// `Mem: 8441652K used, 16242448K free, 69144K shrd, ...`: busybox does not say how much there is.
pub fn busybox_memory(line: &str) -> Option<Vec<(Place<mem::Schema, F64>, f64)>> {
    let text = line.strip_prefix("Mem:").filter(|t| t.contains("shrd"))?;
    let mut values = Vec::new();
    let mut total = 0.0;
    for part in text.split(',') {
        let mut words = part.split_ascii_whitespace();
        let value = number(words.next()?.trim_end_matches('K'))? * 1024.0;
        let place = match words.next()? {
            "used" => {
                total += value;
                continue;
            }
            "free" => {
                total += value;
                mem::free_bytes
            }
            "shrd" => mem::shmem_bytes,
            "buff" => mem::buffers_bytes,
            "cached" => mem::cached_bytes,
            _ => return None,
        };
        values.push((place, value));
    }
    values.push((mem::total_bytes, total));
    Some(values)
}

/// Numbers of tasks: `Tasks: 112 total,   1 running, ...`, `189 threads`.
pub fn tasks(line: &str) -> Option<(bool, Vec<(&'static str, f64)>)> {
    let (threads, text) = match line.split_once(':') {
        Some(("Tasks" | "Tâches" | "Uppg." | "Tarefas" | "Zadania", text)) => (false, text),
        Some(("Threads", text)) => (true, text),
        Some((n, text)) if n.trim_end().ends_with(" processes") => {
            let total = number(n.split_ascii_whitespace().next()?)?;
            let (_, mut counts) = named(text);
            counts.insert(0, ("total", total));
            return Some((false, counts));
        }
        _ => return None,
    };
    let (complete, counts) = named(text);
    complete.then_some((threads, counts))
}

/// Counts in their order, which is the same in all languages.
fn named(text: &str) -> (bool, Vec<(&'static str, f64)>) {
    let names: &[&str] = if figures(text).len() >= 5 {
        &["total", "running", "sleeping", "stopped", "zombie"]
    } else {
        &["sleeping", "running", "zombie", "stopped"]
    };
    let values = figures(text);
    let counts: Vec<_> = names.iter().zip(&values).filter_map(|(n, (v, _, _))| Some((*n, (*v)?))).collect();
    (counts.len() == values.len(), counts)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_of_all_versions_are_read() {
        let new = "%Cpu(s):  5.9 us,  5.9 sy,  0.0 ni,100.0 id,  0.0 wa,  0.0 hi,  0.0 si,  0.5 st";
        let read = cpus(new).unwrap();
        assert_eq!((read[0].cpu, read[0].shares[3], read[0].shares[7]), (None, (cpu::idle, 100.0), (cpu::steal, 0.5)));
        let old = cpus("Cpu12 :  0.1%us,  2.0%sy,  0.0%ni, 97.9%id,  0.0%wa,  0.0%hi,  0.0%si,  0.0%st").unwrap();
        assert_eq!((old[0].cpu, old[0].shares[1]), (Some("12"), (cpu::sys, 2.0)));
        let comma = cpus("%Cpu0  :  5,9 us,  5,9 sy,  0,0 ni,100,0 id,  0,0 wa,  0,0 hi,  0,0 si,  0,0 st").unwrap();
        assert_eq!(comma[0].shares[3], (cpu::idle, 100.0));
        let two = "%Cpu0  :  5.9 us,  5.9 sy,  0.0 ni, 88.2 id,  0.0 wa,  0.0 hi,  0.0 si,  0.0 st   %Cpu1  :  1.0 us,  2.0 sy,  0.0 ni, 97.0 id,  0.0 wa,  0.0 hi,  0.0 si,  0.0 st";
        assert_eq!(cpus(two).unwrap().iter().map(|c| c.cpu).collect::<Vec<_>>(), [Some("0"), Some("1")]);
        let busybox = cpus("CPU:  77% usr   4% sys  18% nic   1% idle   0% io   0% irq   0% sirq").unwrap();
        assert_eq!(busybox[0].shares[3], (cpu::idle, 1.0));
        assert_eq!(cpus("CPU states:  2.5% user,  1.0% system,  0.0% nice, 96.5% idle").unwrap()[0].shares.len(), 4);
        let swedish = cpus("%Cpu(s):  5,9 an,  5,9 sy,  0,0 ni, 88,2 in,  0,0 vä,  0,0 ha,  0,0 ma,  0,0 st").unwrap();
        assert_eq!(swedish[0].shares[4], (cpu::iowait, 0.0));
        assert_eq!(cpus("Cpu frequency: high"), None);
    }

    #[test]
    fn memory_of_all_versions_is_read() {
        let of = |line, place| memory(line).unwrap().iter().find(|(p, _)| *p == place).map(|(_, v)| v / 1024.0);
        let new = "KiB Mem :  3861332 total,  3446476 free,   216940 used,   197916 buff/cache";
        assert_eq!((of(new, mem::total_bytes), of(new, mem::free_bytes)), (Some(3_861_332.0), Some(3_446_476.0)));
        let swap = "KiB Swap:  2097148 total,  2097140 free,        8 used.  3419356 avail Mem ";
        assert_eq!((of(swap, mem::swap_used_bytes), of(swap, mem::available_bytes)), (Some(8.0), Some(3_419_356.0)));
        let old = "Swap:  4194296k total,     1204k used,  4193092k free,  5120044k cached";
        assert_eq!((of(old, mem::swap_used_bytes), of(old, mem::cached_bytes)), (Some(1204.0), Some(5_120_044.0)));
        let mib = "MiB Mem :  24105.5 total,  16323.5 free,   1795.0 used,   6414.6 buff/cache     ";
        assert_eq!(of(mib, mem::total_bytes), Some(24_105.5 * 1024.0));
        let cut = "KiB Mem : 26392236+total, 20614204 free, 1245128 used, 33019716 buff/cache";
        assert_eq!((of(cut, mem::total_bytes), of(cut, mem::free_bytes)), (None, Some(20_614_204.0)));
        let middle = "KiB Swap:  2097148 total,        0 used,  2097148 free.   191234 cached Mem";
        assert_eq!(of(middle, mem::cached_bytes), Some(191_234.0));
        assert_eq!(
            busybox_memory("Mem: 80K used, 20K free, 1K shrd, 2K buff, 3K cached").unwrap()[4].1,
            100.0 * 1024.0
        );
        assert_eq!(memory("Tasks: 5 total"), None);
    }
}
