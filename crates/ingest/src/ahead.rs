//! Reading ahead: a thread unpacks what another one takes apart.

use std::{
    io::{self, Read},
    sync::mpsc::{Receiver, sync_channel},
    thread::Builder,
};

use crate::unpack::read_until_error;

/// Bytes that are handed over at once, and how many such blocks may wait.
const BLOCK: usize = 256 << 10;
const BLOCKS_AHEAD: usize = 4;

/// What a thread reads ahead.
pub(crate) struct Ahead {
    blocks: Receiver<io::Result<Vec<u8>>>,
    current: Vec<u8>,
    at: usize,
}

impl Ahead {
    /// Begins to read `reader` in a thread, which ends with its end or soon after the other side is dropped.
    pub(crate) fn of(mut reader: impl Read + Send + 'static) -> io::Result<Ahead> {
        let (sender, blocks) = sync_channel(BLOCKS_AHEAD);
        Builder::new().name("fenxi-unpack".to_owned()).spawn(move || {
            loop {
                let mut block = vec![0; BLOCK];
                let (n, error) = read_until_error(&mut reader, &mut block);
                block.truncate(n);
                let is_last = n < BLOCK;
                if sender.send(Ok(block)).is_err() {
                    return;
                }
                if let Some(error) = error {
                    let _ = sender.send(Err(error));
                }
                if is_last {
                    return;
                }
            }
        })?;
        Ok(Ahead { blocks, current: Vec::new(), at: 0 })
    }
}

impl Read for Ahead {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        while self.at == self.current.len() {
            match self.blocks.recv() {
                Ok(block) => (self.current, self.at) = (block?, 0),
                // The thread has read all.
                Err(_) => return Ok(0),
            }
        }
        let n = into.len().min(self.current.len() - self.at);
        into[..n].copy_from_slice(&self.current[self.at..self.at + n]);
        self.at += n;
        Ok(n)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn everything_comes_in_its_order_and_an_error_after_what_was_read() {
        let content: Vec<u8> = (0..3 * BLOCK as u32 + 7).map(|i| (i % 251) as u8).collect();
        let mut read = Vec::new();
        Ahead::of(io::Cursor::new(content.clone())).unwrap().read_to_end(&mut read).unwrap();
        assert!(read == content);
        let packed = zstd::encode_all(&content[..], 1).unwrap();
        let cut = io::Cursor::new(packed[..packed.len() - 9].to_vec());
        let mut read = Vec::new();
        let error = Ahead::of(zstd::Decoder::new(cut).unwrap()).unwrap().read_to_end(&mut read).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::UnexpectedEof);
        assert!(content.starts_with(&read) && read.len() >= 2 * BLOCK);
    }
}
