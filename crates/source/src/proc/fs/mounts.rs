//! The list of mounts in /proc/self/mounts.

use fenxi_procfs::{
    mountinfo::unescape,
    scan::{lines, words},
};

/// One mount.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mount {
    /// The device or source.
    pub device: String,
    /// Where it is mounted.
    pub mount: String,
    /// Type of the file system.
    pub fstype: String,
    /// Its options, separated by commas.
    pub options: String,
}

/// Reads all mounts; a line with fewer than four words is left out (the kernel never writes one).
pub fn parse(text: &[u8]) -> Vec<Mount> {
    lines(text).filter_map(parse_line).collect()
}

fn parse_line(line: &[u8]) -> Option<Mount> {
    let mut words = words(line).map(unescape);
    Some(Mount { device: words.next()?, mount: words.next()?, fstype: words.next()?, options: words.next()? })
}

#[cfg(test)]
mod tests {
    use super::parse;

    #[test]
    fn a_line_is_device_path_type_and_options() {
        let mounts = parse(b"/dev/sda1 /mnt/my\\040disk ext4 rw,noatime 0 0\n\nshort line\n");
        assert_eq!(mounts.len(), 1);
        assert_eq!((mounts[0].mount.as_str(), mounts[0].options.as_str()), ("/mnt/my disk", "rw,noatime"));
    }
}
