//! Tests of the whole: every format, alone and with the stock tools, undamaged and damaged.

mod damage;
mod engine;
mod range;
mod round_trip;
mod stock;

use std::io::{self, Cursor, Read, Write};

use crate::{Compress, Decompress, Error, Format, Input, Level, Meter, Output, compress, decompress, unwatched};

/// Options with a block size.
pub(crate) fn options(format: Format, level: Level, threads: usize, block: Option<usize>) -> Compress {
    Compress { format, level, threads, block, ..Compress::default() }
}

/// `data` compressed as a stream.
pub(crate) fn packed(data: &[u8], options: &Compress) -> Vec<u8> {
    pack_from(Input::stream(Cursor::new(data.to_vec())), options)
}

/// An input compressed.
pub(crate) fn pack_from(input: Input, options: &Compress) -> Vec<u8> {
    let (output, memory) = Output::memory();
    compress(input, output, options, &Meter::default(), &mut unwatched).expect("compresses");
    memory.take()
}

/// The decompressed bytes, and the outcome.
pub(crate) fn unpack(data: &[u8], options: &Decompress) -> (Vec<u8>, Result<(), Error>) {
    unpack_from(Input::stream(Cursor::new(data.to_vec())), options)
}

/// As [`unpack`], from any input.
pub(crate) fn unpack_from(input: Input, options: &Decompress) -> (Vec<u8>, Result<(), Error>) {
    let (output, memory) = Output::memory();
    let outcome = decompress(input, output, options, &Meter::default(), &mut unwatched);
    (memory.take(), outcome.map(|_| ()))
}

/// `data` decompressed by so many threads.
pub(crate) fn unpacked(data: &[u8], threads: usize) -> Vec<u8> {
    let (bytes, outcome) = unpack(data, &Decompress { threads, ..Decompress::default() });
    outcome.expect("decompresses");
    bytes
}

/// A file with these bytes, as an input, and the directory that it is in.
pub(crate) fn in_file(data: &[u8]) -> (tempfile::TempDir, fs_err::File) {
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path().join("data");
    fs_err::write(&path, data).expect("written");
    let file = fs_err::File::open(&path).expect("open");
    (directory, file)
}

/// Text of this many bytes that compresses about as logs do, the same each time.
pub(crate) fn text(len: usize) -> Vec<u8> {
    let mut state = 7u64;
    let mut text = Vec::with_capacity(len + 80);
    while text.len() < len {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let word = ["usr", "sys", "iowait", "disk", "eth0", "nvme0n1", "0.00", "wait"][(state >> 61) as usize];
        text.extend_from_slice(format!("{word} {} ", (state >> 40) % 5000).as_bytes());
    }
    text.truncate(len);
    text
}

/// Bytes that do not compress, the same each time.
pub(crate) fn noise(len: usize) -> Vec<u8> {
    let mut state = 0x9E37_79B9_7F4A_7C15u64;
    (0..len)
        .map(|_| {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            (state >> 32) as u8
        })
        .collect()
}

/// A reader that gives a few bytes at a time, as a slow pipe.
pub(crate) struct Trickle(pub Cursor<Vec<u8>>, pub usize);

impl Read for Trickle {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let n = buffer.len().min(self.1);
        self.0.read(&mut buffer[..n])
    }
}
