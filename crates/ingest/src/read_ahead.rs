//! The thread `fenxi-unpack`: unpacks a packed archive ahead of the thread that splits it into members.

use std::{
    io::{self, Read},
    sync::{Arc, mpsc::sync_channel},
    thread::Builder,
};

use crate::{reader_thread::Feed, unpack::read_until_error};

/// Bytes that are handed over at once, and how many such blocks may wait.
const BLOCK: usize = 256 << 10;
const BLOCKS_AHEAD: usize = 4;

/// Reads `reader` ahead in a thread, which ends with its end or soon after the other side is dropped.
pub(crate) fn read_ahead(mut reader: impl Read + Send + 'static) -> io::Result<Feed> {
    let (sender, receiver) = sync_channel(BLOCKS_AHEAD);
    Builder::new().name("fenxi-unpack".to_owned()).spawn(move || {
        loop {
            let mut block = vec![0; BLOCK];
            let (n, error) = read_until_error(&mut reader, &mut block);
            block.truncate(n);
            if sender.send(Ok(Arc::new(block))).is_err() {
                return;
            }
            if let Some(error) = error {
                let _ = sender.send(Err(error));
            }
            if n < BLOCK {
                return;
            }
        }
    })?;
    Ok(Feed::new(receiver, Arc::default()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn everything_comes_in_its_order_and_an_error_after_what_was_read() {
        let content: Vec<u8> = (0..3 * BLOCK as u32 + 7).map(|i| (i % 251) as u8).collect();
        let mut read = Vec::new();
        read_ahead(io::Cursor::new(content.clone())).unwrap().read_to_end(&mut read).unwrap();
        assert!(read == content);
        let packed = zstd::encode_all(&content[..], 1).unwrap();
        let cut = io::Cursor::new(packed[..packed.len() - 9].to_vec());
        let mut read = Vec::new();
        let error = read_ahead(zstd::Decoder::new(cut).unwrap()).unwrap().read_to_end(&mut read).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::UnexpectedEof);
        assert!(content.starts_with(&read) && read.len() >= 2 * BLOCK);
    }
}
