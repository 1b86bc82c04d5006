//! `/proc/PID/maps`: what a process has mapped.

/// One line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mapping<'a> {
    /// The first address.
    pub begin: u64,
    /// The address after the last one.
    pub end: u64,
    /// Four letters: `r-xp`.
    pub rights: &'a str,
    /// Where in the file it begins, in bytes.
    pub offset: u64,
    /// Major and minor number of the file's device, 0 where there is no file.
    pub device: (u32, u32),
    /// The inode, 0 where there is no file.
    pub inode: u64,
    /// The file, or what the kernel calls the mapping; empty for a process's private memory.
    pub path: &'a str,
}

impl<'a> Mapping<'a> {
    /// Reads a line; None when it is none.
    pub fn parse(line: &'a str) -> Option<Mapping<'a>> {
        // The path is padded and may hold blanks itself.
        let mut words = line.splitn(6, ' ');
        let (begin, end) = words.next()?.split_once('-')?;
        let rights = words.next()?;
        let hex = |text| u64::from_str_radix(text, 16).ok();
        let (begin, end, offset) = (hex(begin)?, hex(end)?, hex(words.next()?)?);
        let (major, minor) = words.next()?.split_once(':')?;
        let device = (u32::from_str_radix(major, 16).ok()?, u32::from_str_radix(minor, 16).ok()?);
        let inode = words.next()?.parse().ok()?;
        let path = words.next().unwrap_or("").trim_start();
        (begin <= end).then_some(Mapping { begin, end, rights, offset, device, inode, path })
    }

    /// Length in bytes.
    pub fn length(&self) -> u64 {
        self.end - self.begin
    }

    /// Returns true if it can be executed.
    pub fn has_code(&self) -> bool {
        self.rights.as_bytes().get(2) == Some(&b'x')
    }

    /// Returns true if it is executable and mapped from a file.
    pub fn is_program(&self) -> bool {
        self.inode != 0 && self.has_code() && self.path.starts_with('/')
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_read_whole() {
        let line = "7f6e5cfa9000-7f6e5d000000 r-xp 00002000 fe:01 316526                     /usr/lib/a b.so (deleted)";
        let mapping = Mapping::parse(line).unwrap();
        assert_eq!((mapping.begin, mapping.end, mapping.offset), (0x7f6e_5cfa_9000, 0x7f6e_5d00_0000, 0x2000));
        assert_eq!((mapping.device, mapping.inode, mapping.path), ((0xfe, 1), 316_526, "/usr/lib/a b.so (deleted)"));
        assert!(mapping.length() == 0x57000 && mapping.is_program());
    }

    #[test]
    fn memory_without_a_file_is_no_program() {
        let private = Mapping::parse("776a6b000000-776a73000000 rw-p 00000000 00:00 0 ").unwrap();
        assert_eq!((private.length(), private.inode, private.path), (128 << 20, 0, ""));
        let vdso = Mapping::parse("7f6e613ec000-7f6e613ee000 r-xp 00000000 00:00 0                          [vdso]");
        assert!(vdso.unwrap().has_code() && !vdso.unwrap().is_program());
        assert_eq!((Mapping::parse("nonsense"), Mapping::parse("2-1 r-xp 0 0:0 0")), (None, None));
    }
}
