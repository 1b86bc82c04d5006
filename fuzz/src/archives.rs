//! The readers of compressed data: `cargo run -p fenxi-fuzz -- zst --seconds 900`, or lz4, or gz.
//!
//! The seeds are archives in many shapes, our own and those of stock tools where there are some. Each input is
//! decompressed as a stream and by parts, and recovered: whatever comes of it, it must end.

use std::{
    io::{Cursor, Write},
    process::{Command, Stdio},
};

use fenxi_model::Random;
use fenxi_tamp::{
    Compress, Decompress, Format, Input, Level, Lost, Meter, Output, compress, decompress, recover, unwatched,
};
use rustix::fs::{MemfdFlags, memfd_create};

/// The format of this name.
pub fn format(name: &str) -> Option<Format> {
    Format::ALL.into_iter().find(|format| format.suffix() == name)
}

/// Archives to begin with.
pub fn seeds(format: Format) -> Vec<Vec<u8>> {
    let mut random = Random::new(5);
    let noise: Vec<u8> = (0..3000).map(|_| random.below(256) as u8).collect();
    let text: Vec<u8> = (0..20_000usize).map(|i| b"usr sys idle 0123456789\n"[(i * i / 7) % 24]).collect();
    let mixed = [&text[..], &noise[..], &[0; 5000][..]].concat();
    let stock: &[(&str, &[&str])] = match format {
        Format::Zst => &[("zstd", &["-qc"]), ("zstd", &["-19", "-qc", "--no-check"])],
        Format::Lz4 => &[("lz4", &["-qc", "-BD", "-B4"]), ("lz4", &["-qc", "-BX"]), ("lz4", &["-qc", "-l"])],
        Format::Gz => &[("gzip", &["-c"]), ("bgzip", &["-c"])],
    };
    let mut seeds = Vec::new();
    for data in [&[][..], &b"x"[..], &noise, &text, &mixed] {
        for (level, block) in [(Level::Of(1), 1 << 10), (Level::Of(6), 1 << 16), (Level::Fast, 1 << 12)] {
            let options = Compress { format, level, threads: 1, block: Some(block), ..Compress::default() };
            seeds.extend(packed(data, &options));
        }
        seeds.extend(stock.iter().filter_map(|(tool, args)| through(tool, args, data)));
    }
    seeds
}

fn packed(data: &[u8], options: &Compress) -> Option<Vec<u8>> {
    let (output, memory) = Output::memory();
    compress(Input::stream(Cursor::new(data.to_vec())), output, options, &Meter::default(), &mut unwatched).ok()?;
    Some(memory.take())
}

/// The output of a tool for `data`, if there is such a tool; the data fits into a pipe.
fn through(tool: &str, args: &[&str], data: &[u8]) -> Option<Vec<u8>> {
    let mut child = Command::new(tool).args(args).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().ok()?;
    child.stdin.take()?.write_all(data).ok()?;
    child.wait_with_output().ok().map(|output| output.stdout)
}

/// Reads `bytes` in every way; gives how many bytes came out.
pub fn read(bytes: &[u8]) -> u64 {
    let stream = || Input::stream(Cursor::new(bytes.to_vec()));
    let mut made = 0;
    for (threads, memory, range) in [(2, None, None), (1, Some(1 << 20), None), (2, None, Some(5000..9000))] {
        let options = Decompress { threads, memory, range };
        let done = decompress(stream(), Output::nowhere(), &options, &Meter::default(), &mut unwatched);
        made += done.map_or(0, |done| done.written.len);
    }
    let (alone, together) = (recovered(bytes, 1), recovered(bytes, 2));
    assert_eq!(alone, together, "two threads recovered something else than one");
    made + alone.map_or(0, |(len, _)| len)
}

/// How much is recovered, and what is lost; `None` if there is nothing.
fn recovered(bytes: &[u8], threads: usize) -> Option<(u64, Vec<Lost>)> {
    let options = Decompress { threads, memory: Some(1 << 20), range: None };
    let recovered = recover(file(bytes)?, Output::nowhere(), &options, &Meter::default(), &mut unwatched).ok()?;
    Some((recovered.written.len, recovered.lost))
}

/// A file in memory.
fn file(bytes: &[u8]) -> Option<fs_err::File> {
    let mut file = fs_err::File::from_parts(memfd_create(c"archive", MemfdFlags::empty()).ok()?.into(), "archive");
    file.write_all(bytes).ok()?;
    Some(file)
}
