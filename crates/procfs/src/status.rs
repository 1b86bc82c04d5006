//! `/proc/PID/status`: lines of a key, a colon and a value.

/// The value of `key` (without its colon), trimmed; None when there is no such line.
pub fn value<'a>(status: &'a str, key: &str) -> Option<&'a str> {
    status.lines().find_map(|line| Some(line.strip_prefix(key)?.strip_prefix(':')?.trim()))
}

/// A size in bytes, which is written in kB; None when there is none, as for a kernel thread.
pub fn bytes(status: &str, key: &str) -> Option<u64> {
    value(status, key)?.strip_suffix(" kB")?.trim_end().parse::<u64>().ok()?.checked_mul(1024)
}

#[cfg(test)]
mod tests {
    use super::{bytes, value};

    #[test]
    fn a_key_is_matched_whole() {
        let status = "Name:\tsh\nVmRSSx:\t1 kB\nVmRSS:\t    2048 kB\nCpus_allowed:\t3\nCpus_allowed_list:\t0-1\n";
        assert_eq!((value(status, "Name"), value(status, "Cpus_allowed")), (Some("sh"), Some("3")));
        assert_eq!((value(status, "Cpus_allowed_list"), value(status, "Cpus")), (Some("0-1"), None));
        assert_eq!(
            (bytes(status, "VmRSS"), bytes(status, "Name"), bytes(status, "VmSwap")),
            (Some(2 << 20), None, None)
        );
    }
}
