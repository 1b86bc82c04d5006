//! Names that look like a mistyped one, for error messages.

/// Most names that are suggested.
const MOST: usize = 3;
/// Longer names are compared by their first characters only.
const LONGEST: usize = 64;
/// Names that are looked at: those of a run may be hundreds of thousands, and all for an error message.
const LOOKED_AT: usize = 5_000;

/// Up to three of `known` that `name` may have been meant to be, the nearest first.
///
/// Near is what contains `name`, the shortest first, or is away from it by at most a third of its length.
pub fn near<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> Vec<String> {
    let name = name.to_lowercase();
    let mut close: Vec<(usize, usize, &str)> = Vec::new();
    for candidate in known.into_iter().take(LOOKED_AT) {
        let lower = candidate.to_lowercase();
        let contained = name.len() > 2 && lower.contains(&name);
        let away = edits(&name, &lower);
        let allowed = (name.chars().count().max(candidate.chars().count()) / 3).max(1);
        if contained || away <= allowed {
            close.push((if contained { 1 } else { away }, away, candidate));
        }
    }
    close.sort_unstable();
    close.dedup();
    close.into_iter().take(MOST).map(|(_, _, candidate)| candidate.to_owned()).collect()
}

/// How many characters must be added, removed, replaced or swapped with their neighbour to make
/// `b` of `a` (optimal string alignment distance).
fn edits(a: &str, b: &str) -> usize {
    let begin = |text: &str| text.chars().take(LONGEST).collect::<String>();
    strsim::osa_distance(&begin(a), &begin(b))
}

#[cfg(test)]
mod tests {
    use super::{LONGEST, edits, near};

    #[test]
    fn edits_are_counted() {
        for (a, b, want) in [("kitten", "sitting", 3), ("", "abc", 3), ("same", "same", 0), ("alhpa", "alpha", 1)] {
            assert_eq!(edits(a, b), want, "{a} {b}");
        }
        // Characters and not bytes, and of long names only the beginning.
        assert_eq!(edits("überlauf", "uberlauf"), 1);
        assert_eq!(edits(&"x".repeat(LONGEST), &"x".repeat(LONGEST + 9)), 0);
    }

    #[test]
    fn what_looks_alike_is_suggested_the_nearest_first() {
        assert_eq!(near("procces", ["process", "cpu", "pressure"]), ["process"]);
        assert_eq!(near("Hot", ["hot-disks", "hottest-cpu", "net"]), ["hot-disks", "hottest-cpu", "net"][..2]);
        assert_eq!(near("hotest-cpu", ["hottest-cpu", "cpu-time", "notes"]), ["hottest-cpu"]);
        assert_eq!(near("proces", ["gpu_process", "process"]), ["process", "gpu_process"]);
        assert!(near("zzz", ["cpu", "disk"]).is_empty());
    }
}
