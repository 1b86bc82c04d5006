//! The stock tools read our output, and the other way round. Missing tools are reported.

use std::{
    io::{Cursor, Write as _},
    process::{Command, Stdio},
};

use super::*;

/// Runs a tool over bytes; `None`, reported, if the machine does not have it.
fn through(tool: &str, args: &[&str], data: &[u8]) -> Option<Vec<u8>> {
    let child = Command::new(tool).args(args).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn();
    let mut child = match child {
        Ok(child) => child,
        Err(error) => {
            // The test is about this tool and no other.
            let _ = writeln!(io::stderr(), "NOT TESTED with `{tool}`, which cannot be run: {error}");
            return None;
        }
    };
    let mut input = child.stdin.take().expect("a pipe");
    let data = data.to_vec();
    let writer = std::thread::spawn(move || input.write_all(&data));
    let output = child.wait_with_output().expect("it ends");
    writer.join().expect("no panic").expect("it reads all");
    assert!(output.status.success(), "{tool} {args:?}: {}", output.status);
    Some(output.stdout)
}

fn samples() -> Vec<Vec<u8>> {
    vec![Vec::new(), b"x".to_vec(), text(1000), text(700_000), noise(700_000), vec![0; 3_000_000]]
}

#[test]
fn the_stock_tools_read_what_we_write() {
    for data in samples() {
        for (format, tools) in
            [(Format::Zst, &["zstd"][..]), (Format::Lz4, &["lz4"]), (Format::Gz, &["gzip", "pigz", "bgzip"])]
        {
            for (level, block) in
                [(Level::default(), None), (Level::Of(6), Some(64 << 10)), (Level::Fast, Some(1 << 20))]
            {
                let options = options(format, level, 2, block);
                let (_directory, file) = in_file(&data);
                for made in [packed(&data, &options), pack_from(Input::file(file).expect("a file"), &options)] {
                    for tool in tools {
                        if let Some(bytes) = through(tool, &["-dc"], &made) {
                            assert!(bytes == data, "{tool} of {} bytes at {level:?}", data.len());
                        }
                    }
                }
            }
        }
    }
}

#[test]
fn we_read_what_the_stock_tools_write() {
    let ways: [(&str, &[&str]); 19] = [
        ("zstd", &["-qc"]),
        ("zstd", &["-qc", "-19", "--no-check"]),
        ("zstd", &["-qc", "-T2", "-B100000"]),
        ("zstd", &["-qc", "--long=27"]),
        ("zstd", &["-qc", "--format=lz4"]),
        ("zstd", &["-qc", "--format=gzip"]),
        ("lz4", &["-qc"]),
        ("lz4", &["-qc", "-9", "-B4"]),
        ("lz4", &["-qc", "-BD", "-B4"]),
        ("lz4", &["-qc", "-BD", "-B5", "-9", "-BX"]),
        ("lz4", &["-qc", "-BX", "--no-frame-crc"]),
        ("lz4", &["-qc", "-l"]),
        ("gzip", &["-c"]),
        ("gzip", &["-c", "-1"]),
        ("pigz", &["-c"]),
        ("pigz", &["-c", "-i", "-b", "128"]),
        ("pigz", &["-c", "-11", "-I", "1"]),
        ("bgzip", &["-c"]),
        ("bgzip", &["-c", "-@", "2"]),
    ];
    for data in samples() {
        for (tool, args) in ways {
            // Zopfli takes long, and pads nothing that matters here.
            if args.contains(&"-11") && data.len() > 1000 {
                continue;
            }
            if args.iter().any(|arg| arg.starts_with("--format")) && through("zstd", &["-V"], b"").is_none() {
                continue;
            }
            let Some(made) = through(tool, args, &data) else { continue };
            for threads in [1, 3] {
                assert!(unpacked(&made, threads) == data, "{tool} {args:?}: {} bytes", data.len());
            }
            let twice = [made.clone(), made].concat();
            assert!(unpacked(&twice, 2) == data.repeat(2), "{tool} {args:?} twice: {} bytes", data.len());
        }
    }
}

#[test]
fn damage_to_what_stock_tools_write_is_detected() {
    let data = text(3000);
    for (tool, args) in [("zstd", &["-qc"]), ("lz4", &["-qc"]), ("gzip", &["-c"]), ("bgzip", &["-c"])] {
        let Some(made) = through(tool, args, &data) else { continue };
        for at in 0..made.len() {
            let (bytes, outcome) = unpack(&made[..at], &Decompress::default());
            // An index of bgzip ends with an empty member, which other writers leave out.
            assert!(outcome.is_err() || bytes == data, "{tool} cut to {at} of {}", made.len());
            let mut damaged = made.clone();
            damaged[at] ^= 0x10;
            let (bytes, outcome) = unpack(&damaged, &Decompress::default());
            assert!(outcome.is_err() || bytes == data, "{tool}, byte {at} of {}", made.len());
        }
    }
}

#[test]
fn blocks_of_the_stock_tools_are_decoded_side_by_side() {
    let data = text(20 << 20);
    for (tool, args, serial) in [
        ("lz4", &["-qc"][..], false),
        ("bgzip", &["-c"], false),
        ("gzip", &["-c", "-1"], true),
        ("zstd", &["-qc"], true),
        ("zstd", &["-qc", "--no-check"], true),
        ("lz4", &["-qc", "-l"], false),
    ] {
        let Some(made) = through(tool, args, &data) else { continue };
        let input = Input::stream(Cursor::new(made));
        let found = decompress(input, Output::nowhere(), &Decompress::default(), &Meter::default(), &mut unwatched);
        let found = found.expect("decompresses");
        assert_eq!((found.written.len, found.serial), (data.len() as u64, serial), "{tool} {args:?}");
        assert!(serial || found.blocks > 2);
    }
}
