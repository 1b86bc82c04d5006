//! `/proc/PID/mountinfo` and `/proc/PID/mounts`: what is mounted where.

use crate::scan::{lines, number, words};

/// One line of mountinfo.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mount {
    /// Major and minor number of the device, as the kernel knows it.
    pub device: (u32, u32),
    /// The directory of the file system that is seen here; `/` is all of it.
    pub root: String,
    /// Where it is mounted.
    pub point: String,
    /// The type of the file system: `ext4`, `cgroup2`.
    pub fstype: String,
    /// Options of the file system itself, separated by commas; of cgroup version 1 its controllers are among them.
    pub super_options: String,
}

impl Mount {
    /// Reads a line; None when it is none.
    ///
    /// Fields before a lone `-` vary in number: `36 35 98:0 / /mnt rw,noatime master:1 - ext3 /dev/root rw`.
    pub fn parse(line: &[u8]) -> Option<Mount> {
        let mut fields = words(line).skip(2);
        let device = fields.next()?;
        let colon = device.iter().position(|b| *b == b':')?;
        let part = |digits| u32::try_from(number(digits)?).ok();
        let device = (part(&device[..colon])?, part(&device[colon + 1..])?);
        let (root, point) = (unescape(fields.next()?), unescape(fields.next()?));
        let mut after = fields.skip_while(|word| *word != b"-").skip(1);
        let fstype = unescape(after.next()?);
        // A source that is empty leaves only the options.
        let super_options = after.last().map(unescape).unwrap_or_default();
        Some(Mount { device, root, point, fstype, super_options })
    }

    /// Returns true if it is the version 1 hierarchy of a cgroup controller (`cpuset`, `cpuacct`).
    pub fn is_controller(&self, controller: &str) -> bool {
        self.fstype == "cgroup" && self.super_options.split(',').any(|option| option == controller)
    }

    /// The full path of `within` (without a leading slash) of its file system, as it is seen at this mount.
    pub fn path(&self, within: &str) -> String {
        let root = self.root.trim_matches('/');
        let seen = within.strip_prefix(root).map_or(within, |rest| rest.trim_start_matches('/'));
        format!("{}/{seen}", self.point.trim_end_matches('/'))
    }
}

/// The mounts of a mountinfo, in its order; lines that are none are left out.
pub fn mounts(mountinfo: &[u8]) -> impl Iterator<Item = Mount> {
    lines(mountinfo).filter_map(Mount::parse)
}

/// Replaces `\040` and the like, with which blanks, tabs, newlines and backslashes are written.
pub fn unescape(word: &[u8]) -> String {
    let mut bytes = Vec::with_capacity(word.len());
    let mut rest = word;
    while let Some((first, tail)) = rest.split_first() {
        let code = (*first == b'\\').then(|| tail.get(..3).and_then(octal)).flatten();
        bytes.push(code.unwrap_or(*first));
        rest = if code.is_some() { &tail[3..] } else { tail };
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

fn octal(digits: &[u8]) -> Option<u8> {
    digits.iter().try_fold(0_u8, |n, b| match b {
        b'0'..=b'7' => n.checked_mul(8)?.checked_add(b - b'0'),
        _ => None,
    })
}

#[cfg(test)]
mod tests {
    use super::{Mount, mounts, unescape};

    #[test]
    fn octal_escapes_are_undone() {
        assert_eq!(unescape(br"/mnt/my\040disk"), "/mnt/my disk");
        assert_eq!(unescape(br"a\134040b\011c\012\043"), "a\\040b\tc\n#");
        assert_eq!(unescape(br"odd\0\9end\"), r"odd\0\9end\");
    }

    #[test]
    fn optional_fields_vary_in_number() {
        let text = b"36 35 98:0 /sub /mnt/my\\040disk rw,noatime master:1 shared:2 - ext3 /dev/root rw,errors=continue\n\
            28 27 0:26 / /run rw - tmpfs none rw\nno line\n30 24 0:30 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu,cpuacct\n";
        let mounts: Vec<Mount> = mounts(text).collect();
        assert_eq!(mounts.len(), 3);
        assert_eq!((mounts[0].device, mounts[0].root.as_str()), ((98, 0), "/sub"));
        assert_eq!((mounts[0].point.as_str(), mounts[0].fstype.as_str()), ("/mnt/my disk", "ext3"));
        assert_eq!(mounts[0].super_options, "rw,errors=continue");
        assert_eq!((mounts[1].point.as_str(), mounts[1].fstype.as_str()), ("/run", "tmpfs"));
        assert!(mounts[2].is_controller("cpuacct") && !mounts[2].is_controller("cpus"));
        assert!(!mounts[1].is_controller("rw"));
    }

    #[test]
    fn a_path_is_what_is_seen_at_the_mount() {
        let mount = |line: &str| Mount::parse(line.as_bytes()).unwrap();
        assert_eq!(mount("27 1 254:0 / / rw - ext4 /dev/vda rw").path("var/log/x"), "/var/log/x");
        assert_eq!(mount("30 27 259:1 /sub /only/part rw - xfs /dev/x rw").path("sub/x/y"), "/only/part/x/y");
    }
}
