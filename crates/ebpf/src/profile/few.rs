//! Few rows for many stacks: the most frequent ones of an interval are kept whole, of the others what they end in.

use rustc_hash::FxHashMap;

/// A row to be.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Line {
    /// None: of several programs.
    pub comm: Option<String>,
    /// None: of several processes.
    pub pid: Option<u32>,
    pub stack: String,
    pub samples: f64,
}

/// Replaces the callers of stacks that are not kept whole.
const CALLERS: &str = "[callers]";
/// Sums what is left.
const OTHERS: &str = "[other stacks]";

/// At most `2 * most + 1` lines with the same samples in all: the `most` most frequent stacks as they are, those of several
/// processes of a name together; the others by how the kernel was entered and by the innermost function; the rest as one.
pub(super) fn few(lines: impl Iterator<Item = Line>, most: usize) -> Vec<Line> {
    let mut whole = merged(lines);
    let rare = whole.split_off(most.min(whole.len()));
    let mut short = merged(rare.into_iter().map(|line| Line { stack: shortened(&line.stack), ..line }));
    let rest = short.split_off(most.min(short.len()));
    let samples: f64 = rest.iter().map(|line| line.samples).sum();
    let rest = (!rest.is_empty()).then(|| Line { comm: None, pid: None, stack: OTHERS.to_owned(), samples });
    whole.into_iter().chain(short).chain(rest).collect()
}

/// One line for each program and stack, those with most samples first.
fn merged(lines: impl Iterator<Item = Line>) -> Vec<Line> {
    let mut places: FxHashMap<(Option<String>, String), usize> = FxHashMap::default();
    let mut all: Vec<Line> = Vec::new();
    for line in lines {
        let place = *places.entry((line.comm.clone(), line.stack.clone())).or_insert(all.len());
        match all.get_mut(place) {
            Some(known) => {
                known.samples += line.samples;
                known.pid = known.pid.filter(|pid| line.pid == Some(*pid));
            }
            None => all.push(line),
        }
    }
    all.sort_by(|a, b| b.samples.total_cmp(&a.samples).then_with(|| (&a.comm, &a.stack).cmp(&(&b.comm, &b.stack))));
    all
}

/// The innermost frame and, in the kernel, the system call or the exception that leads there.
fn shortened(stack: &str) -> String {
    let Some((callers, last)) = stack.rsplit_once(';') else { return stack.to_owned() };
    let is_entry = |frame: &&str| frame.ends_with("_[k]") && (frame.contains("_sys_") || frame.starts_with("asm_"));
    match callers.split(';').find(is_entry).filter(|_| last.ends_with("_[k]")) {
        Some(entry) => format!("{CALLERS};{entry};{last}"),
        None => format!("{CALLERS};{last}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(comm: &str, pid: u32, stack: &str, samples: f64) -> Line {
        Line { comm: Some(comm.to_owned()), pid: Some(pid), stack: stack.to_owned(), samples }
    }

    #[test]
    fn the_most_frequent_stacks_are_whole_and_no_sample_is_lost() {
        let kernel = |caller: &str| format!("main;{caller};do_syscall_64_[k];__x64_sys_read_[k];vfs_read_[k];copy_[k]");
        let lines = [
            line("a", 1, "main;f;hot", 50.0),
            line("a", 2, "main;f;hot", 20.0),
            line("a", 1, "main;g", 9.0),
            line("b", 3, &kernel("x"), 2.0),
            line("b", 3, &kernel("y"), 1.0),
            line("b", 3, "main;rare", 1.0),
            line("c", 4, "alone", 1.0),
        ];
        let few = few(lines.iter().cloned(), 2);
        let shown: Vec<_> = few.iter().map(|l| (l.comm.as_deref(), l.pid, l.stack.as_str(), l.samples)).collect();
        assert_eq!(
            shown,
            [
                (Some("a"), None, "main;f;hot", 70.0),
                (Some("a"), Some(1), "main;g", 9.0),
                (Some("b"), Some(3), "[callers];__x64_sys_read_[k];copy_[k]", 3.0),
                (Some("b"), Some(3), "[callers];rare", 1.0),
                (None, None, "[other stacks]", 1.0),
            ]
        );
    }

    #[test]
    fn few_stacks_stay_as_they_are() {
        let lines = [line("a", 1, "main;f", 2.0), line("b", 1, "main;f", 3.0)];
        assert_eq!(few(lines.iter().cloned(), 2), [lines[1].clone(), lines[0].clone()]);
        assert_eq!(few(std::iter::empty(), 2), []);
    }
}
