//! Files that are no text: what each is, and how to get text of it.

use crate::terminal::is_screens;

/// A kind of file that is not read, by what it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Foreign {
    /// Description, such as `a recording of perf`.
    pub what: &'static str,
    /// Command that prints it as text that can be imported; empty where there is none.
    pub way_out: &'static str,
}

/// Magic number of a kind of file: bytes at an offset.
type Magic = (usize, &'static [u8]);

/// The kinds that are known by their first bytes.
const KINDS: &[(Magic, &str, &str)] = &[
    ((0, b"PERFILE2"), "a recording of perf", "perf script -i FILE"),
    ((0, b"2ELIFREP"), "a recording of perf", "perf script -i FILE"),
    ((0, b"\x96\xd5"), "a file of sadc (sar)", "sadf -j FILE -- -A"),
    ((0, b"\xd5\x96"), "a file of sadc (sar)", "sadf -j FILE -- -A"),
    ((4, b"\x50\x05\x26"), "an archive of PCP", "pcp2json -a ARCHIVE -t 1s :configured"),
    ((0, b"\xef\xbe\xed\xfe"), "a log of atop", "atop -r FILE -P ALL"),
    ((0, b"\x17\x08\x44tracing"), "a recording of trace-cmd", "trace-cmd report -i FILE"),
    ((0, b"\x07taa"), "a recording of blktrace", "blkparse -i FILE"),
    ((0, b"FLR\0"), "a recording of Java Flight Recorder", "jfr print FILE"),
    ((0, b"JAVA PROFILE"), "a heap dump of Java", ""),
    ((0, b"LPKSHHRH"), "a file of the systemd journal", "journalctl --file FILE -o short-iso"),
    ((0, b"\xd4\xc3\xb2\xa1"), "captured packets", "tcpdump -r FILE -nn"),
    ((0, b"\xa1\xb2\xc3\xd4"), "captured packets", "tcpdump -r FILE -nn"),
    ((0, b"\x4d\x3c\xb2\xa1"), "captured packets", "tcpdump -r FILE -nn"),
    ((0, b"\x0a\x0d\x0d\x0a"), "captured packets", "tcpdump -r FILE -nn"),
    // Its length and the version.
    ((0, b"\0\0\0\0\x063.1"), "a binary log of Gatling since 3.13 (import what Gatling prints at its end)", ""),
    ((0, b"\0\0\0\0\x073.1"), "a binary log of Gatling since 3.13 (import what Gatling prints at its end)", ""),
    ((0, b"SQLite format 3\0"), "a database of SQLite", "sqlite3 -header -csv FILE 'SELECT …'"),
    ((0, b"\x89PNG\r\n"), "a picture", ""),
    ((0, b"GIF8"), "a picture", ""),
    ((0, b"\xff\xd8\xff"), "a picture", ""),
    ((0, b"%PDF-"), "a PDF document", "pdftotext -layout FILE"),
    ((0, b"\x7fELF"), "a program or library", ""),
    ((0, b"7z\xbc\xaf\x27\x1c"), "a 7z archive", "7z x FILE"),
    ((0, b"Rar!\x1a\x07"), "a RAR archive", "unrar x FILE"),
    ((0, b"PK\x05\x06"), "an empty zip archive", ""),
];

/// Screens that `watch`, `htop` and their like sent to a terminal.
const SCREENS: Foreign = Foreign {
    what: "a recording of screens, in which only what changed is drawn",
    way_out: "top -b, or the tool in a loop (while date; do free; sleep 5; done)",
};

/// Characters of control that no text has: below blank, without tabs, ends of lines and pages, backspaces and escapes.
fn is_binary(byte: u8) -> bool {
    matches!(byte, 0x00..=0x06 | 0x0e..=0x1a | 0x1c..=0x1f)
}

/// Recognises a binary file by its first bytes; None for text.
pub fn foreign(head: &[u8]) -> Option<Foreign> {
    if head.is_empty() {
        return Some(Foreign { what: "an empty file", way_out: "" });
    }
    // The only one that is read as it is.
    if head.starts_with(b"PAR1") {
        return None;
    }
    let begins = |(at, bytes): &Magic| head.get(*at..).is_some_and(|rest| rest.starts_with(bytes));
    if let Some((_, what, way_out)) = KINDS.iter().find(|(magic, _, _)| begins(magic)) {
        // The shortest marks could begin a text of another encoding; what follows could not.
        if head.iter().any(|byte| is_binary(*byte)) || head.len() < 16 || head.is_ascii() {
            return Some(Foreign { what, way_out });
        }
    }
    if is_screens(head) {
        return Some(SCREENS);
    }
    // A stray one is somebody's slip, as of a tool that was killed.
    // Counted in bytes that cannot overflow, as many at once as the processor can.
    let counted = |some: &[u8]| some.iter().fold(0u8, |n, byte| n.wrapping_add(u8::from(is_binary(*byte))));
    let strange: usize = head.chunks(255).map(|some| usize::from(counted(some))).sum();
    (strange * 50 > head.len()).then_some(Foreign { what: "a binary file", way_out: "" })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_are_told_by_their_first_bytes() {
        let what = |head: &[u8]| foreign(head).map(|f| f.what);
        let padded = |head: &[u8]| [head, &[0; 100]].concat();
        assert_eq!(what(&padded(b"PERFILE2")), Some("a recording of perf"));
        assert_eq!(what(&padded(b"\x96\xd5\x75\x21")), Some("a file of sadc (sar)"));
        assert_eq!(what(&padded(b"\0\0\0\x84\x50\x05\x26\x02")), Some("an archive of PCP"));
        let gatling = what(&padded(b"\0\0\0\0\x063.13.5\0\0\0\0\x13shop.ShopSimulation")).unwrap();
        assert!(gatling.contains("Gatling since 3.13"), "{gatling}");
        assert_eq!(what(&padded(b"PAR1\x15\x04")), None);
        assert_eq!(what(b""), Some("an empty file"));
        assert_eq!(what(&[1, 2, 3, 0, 0, 0]), Some("a binary file"));
        assert!(KINDS.iter().all(|(_, what, _)| !what.ends_with('.')));
    }

    #[test]
    fn text_is_none_of_them() {
        let texts: [&[u8]; 7] = [
            b"12:00:01 all 3.4\n",
            b"\x1b[1mtop\x1b[0m - 12:00\n",
            "µs ≤ 5\n".as_bytes(),
            b"caf\xe9 latin1 text \xd5\x96 and more of it\n",
            b"page 1\x0c page 2\x08\n",
            b"one stray \0 in a line that is long enough to be somebody's text, after all\n",
            b"PK is how my text begins\n",
        ];
        for text in texts {
            assert_eq!(foreign(text), None, "{}", String::from_utf8_lossy(text));
        }
    }
}
