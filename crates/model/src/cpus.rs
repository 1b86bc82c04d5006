//! Lists of CPUs as the kernel writes and takes them: `0-3,8`.

use std::{collections::BTreeSet, fmt::Write};

/// CPU numbers from here on are taken for damage; no kernel has so many.
const MAX_CPUS: usize = 1 << 16;

/// The ranges of a list, first and last of each; what is none is left out.
pub fn cpu_ranges(list: &str) -> Vec<(usize, usize)> {
    let range = |part: &str| {
        let (first, last) = part.trim().split_once('-').unwrap_or((part.trim(), part.trim()));
        Some((first.parse().ok()?, last.parse().ok()?))
    };
    list.split(',').filter_map(range).collect()
}

/// The CPUs of a list; None when it is none. An empty list has no CPUs.
pub fn parse_cpus(list: &str) -> Option<BTreeSet<usize>> {
    let list = list.trim();
    if list.is_empty() {
        return Some(BTreeSet::new());
    }
    let found = cpu_ranges(list);
    let whole = found.len() == list.split(',').count();
    let sane = found.iter().all(|(first, last)| first <= last && *last < MAX_CPUS);
    (whole && sane).then(|| found.into_iter().flat_map(|(first, last)| first..=last).collect())
}

/// The list of `cpus`, as short as it can be.
pub fn format_cpus(cpus: &BTreeSet<usize>) -> String {
    let mut list = String::new();
    let mut rest = cpus.iter().copied().peekable();
    while let Some(first) = rest.next() {
        let mut last = first;
        while let Some(next) = rest.next_if(|next| *next == last + 1) {
            last = next;
        }
        let comma = if list.is_empty() { "" } else { "," };
        let _ = match last - first {
            0 => write!(list, "{comma}{first}"),
            _ => write!(list, "{comma}{first}-{last}"),
        };
    }
    list
}

#[cfg(test)]
mod tests {
    use super::{cpu_ranges, format_cpus, parse_cpus};

    #[test]
    fn lists_are_read_and_written_as_the_kernel_does() {
        for list in ["", "0", "0-1", "0-3,8", "1,3,5-7,64"] {
            assert_eq!(format_cpus(&parse_cpus(list).unwrap()), list);
        }
        assert_eq!(format_cpus(&parse_cpus(" 3,1,2\n").unwrap()), "1-3");
    }

    #[test]
    fn what_is_no_list_is_none() {
        for text in ["x", "1-", "3-1", "0,", "99999999", "(null)"] {
            assert!(parse_cpus(text).is_none(), "{text}");
        }
        let found = ["1-3,8", "(null)", ""].map(cpu_ranges);
        assert_eq!(found, [vec![(1, 3), (8, 8)], vec![], vec![]]);
    }
}
