//! The end of a file that grows: what is written to it from now on, also when another one takes its name.

use std::os::fd::OwnedFd;

use rustix::{
    fs::fstat,
    io::{Errno, pread},
};

use crate::{Root, SourceError};

/// Bytes that are read at once.
const BLOCK: usize = 64 << 10;
/// Bytes that are read of one interval; what is beyond is read in the next.
const MOST_OF_INTERVAL: usize = 4 << 20;
/// A line that is longer ends here.
const LINE_BYTES: usize = 64 << 10;

/// A log file, read up to what was reported.
pub struct Tail {
    root: Root,
    path: String,
    file: OwnedFd,
    inode: u64,
    at: u64,
    /// The beginning of a line whose end is not yet written.
    begun: Vec<u8>,
    block: Vec<u8>,
}

impl Tail {
    /// From the present end of the file at `path` on.
    ///
    /// # Errors
    /// When it cannot be opened.
    pub fn at_end(root: &Root, path: &str) -> Result<Tail, SourceError> {
        let file = root.open_file(path)?;
        let stat = fstat(&file).map_err(std::io::Error::from)?;
        let at = u64::try_from(stat.st_size).unwrap_or(0);
        let (root, path) = (root.clone(), path.to_owned());
        Ok(Tail { root, path, file, inode: stat.st_ino, at, begun: Vec::new(), block: vec![0; BLOCK] })
    }

    /// Gives every whole line that was written since the last time.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub fn read(&mut self, take: &mut dyn FnMut(&str)) -> Result<(), SourceError> {
        self.read_open(take)?;
        self.follow();
        self.read_open(take)
    }

    fn read_open(&mut self, take: &mut dyn FnMut(&str)) -> Result<(), SourceError> {
        let end = self.at + MOST_OF_INTERVAL as u64;
        while self.at < end {
            let bytes = match pread(&self.file, &mut self.block[..], self.at) {
                Ok(0) => break,
                Ok(bytes) => bytes,
                Err(Errno::INTR) => continue,
                Err(error) => return Err(SourceError::Io(error.into())),
            };
            self.at += bytes as u64;
            let mut rest = self.block.get(..bytes).unwrap_or_default();
            while let Some(end) = memchr::memchr(b'\n', rest) {
                let (line, after) = rest.split_at(end);
                self.begun.extend_from_slice(line);
                give(&mut self.begun, take);
                rest = after.get(1..).unwrap_or_default();
            }
            self.begun.extend_from_slice(rest);
            if self.begun.len() > LINE_BYTES {
                give(&mut self.begun, take);
            }
        }
        Ok(())
    }

    /// Goes to the beginning of the file that has the name now, if it is another one or was emptied.
    fn follow(&mut self) {
        let Ok(file) = self.root.open_file(&self.path) else { return };
        let Ok(stat) = fstat(&file) else { return };
        let emptied = u64::try_from(stat.st_size).is_ok_and(|size| size < self.at);
        if stat.st_ino != self.inode || emptied {
            (self.file, self.inode, self.at) = (file, stat.st_ino, 0);
            self.begun.clear();
        }
    }
}

/// Gives a line unless it is blank, and empties it.
fn give(line: &mut Vec<u8>, take: &mut dyn FnMut(&str)) {
    let text = String::from_utf8_lossy(line);
    if !text.trim().is_empty() {
        take(&text);
    }
    line.clear();
}
