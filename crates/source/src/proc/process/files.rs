//! How many files a process has open, and how many it may have.

use fenxi_procfs::scan::{lines, number, words};

use super::reader::Reader;

/// Samples after which a limit is read anew: it hardly ever changes.
const LIMIT_AGE: u32 = 16;

/// Open files of a process: number and limit.
#[derive(Debug, Default)]
pub struct OpenFiles {
    /// How many are open; None before Linux 6.2, where they would have to be counted one by one.
    pub open: Option<u64>,
    /// How many may be; None without a limit, and where it may not be read.
    pub limit: Option<u64>,
    age: u32,
}

impl OpenFiles {
    /// Looks at the process.
    pub fn look(&mut self, reader: &mut Reader, pid: u32) {
        self.open = reader.open_files(pid);
        if self.age == 0 && self.open.is_some() {
            self.limit = reader.file(pid, None, "limits").and_then(limit);
        }
        self.age = (self.age + 1) % LIMIT_AGE;
    }
}

/// The soft limit in `Max open files            1024                 524288               files`.
fn limit(text: &[u8]) -> Option<u64> {
    let line = lines(text).find_map(|line| line.strip_prefix(b"Max open files"))?;
    number(words(line).next()?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Root;

    #[test]
    fn the_soft_limit_is_the_first_number() {
        let text = b"Limit                     Soft Limit           Hard Limit           Units     \n\
            Max processes             94230                94230                processes \n\
            Max open files            1024                 524288               files     \n";
        assert_eq!(limit(text), Some(1024));
        assert_eq!(limit(b"Max open files            unlimited            unlimited            files\n"), None);
    }

    #[test]
    fn an_open_file_counts() {
        let mut reader = Reader::open(&Root::live()).unwrap();
        let (pid, mut files) = (std::process::id(), OpenFiles::default());
        files.look(&mut reader, pid);
        let Some(before) = files.open else { return };
        let held: Vec<_> = (0..50).map(|_| fs_err::File::open("/dev/null").unwrap()).collect();
        files.look(&mut reader, pid);
        // Other tests of this process open and close files meanwhile.
        assert!(files.open.unwrap() + 25 >= before + held.len() as u64, "{before} then {files:?}");
        assert!(files.limit.is_none_or(|limit| limit >= 50));
    }
}
