//! The list of mounts in /proc/self/mounts.

use crate::proc::scan::{lines, words};

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
    use super::{parse, unescape};

    #[test]
    fn octal_escapes_are_undone() {
        assert_eq!(unescape(br"/mnt/my\040disk"), "/mnt/my disk");
        assert_eq!(unescape(br"a\134040b\011c\012\043"), "a\\040b\tc\n#");
        assert_eq!(unescape(br"odd\0\9end\"), r"odd\0\9end\");
    }

    #[test]
    fn a_line_is_device_path_type_and_options() {
        let mounts = parse(b"/dev/sda1 /mnt/my\\040disk ext4 rw,noatime 0 0\n\nshort line\n");
        assert_eq!(mounts.len(), 1);
        assert_eq!((mounts[0].mount.as_str(), mounts[0].options.as_str()), ("/mnt/my disk", "rw,noatime"));
    }
}
