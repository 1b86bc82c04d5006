//! Programs as `fenxi inspect` reads them: `cargo run -p fenxi-fuzz -- elf --seconds 600`.
//!
//! The seeds are programs and an object file that the C compiler of this machine makes, with DWARF of versions 4 and 5, plain and
//! compressed, and the notes of build attributes. Whatever is damaged in them, a read ends, does not panic, and gives texts
//! of a bounded length.

use std::{path::Path, process::Command};

use anyhow::{Result, bail};
use fenxi_binary::{Binary, Depth};
use fenxi_model::Random;

use crate::mutate::{MAX_BYTES, mutate};

const SOURCE: &str = "#include <stdio.h>\n#include <stdlib.h>\nstatic double half(double x) { return x / 2; }\n\
    int main(int n, char **v) { char b[64]; double *p = malloc(80); p[n] = half(n); sprintf(b, v[0]); return printf(b, p[n]); }\n\
    __asm__(\".pushsection .gnu.build.attributes, \\\"\\\", %note\\n.long 8, 0, 0x100\\n.ascii \\\"GA*GOW\\\"\\n.byte 0, 4\\n.popsection\");\n";
/// Options of the seeds.
const OPTIONS: [&str; 8] = [
    "-O2 -g -gdwarf-5",
    "-O0 -g -gdwarf-4 -gz=zlib",
    "-O2 -g -c",
    "-O3 -s",
    "-O2 -static -s",
    "-O2 -no-pie -fno-pie -frecord-gcc-switches",
    "-shared -fPIC -Wl,-soname,liba.so,-rpath,$ORIGIN/x",
    "-O2 -flto -ffat-lto-objects -c -g",
];

/// Programs to begin with.
pub fn seeds() -> Result<Vec<Vec<u8>>> {
    let dir = tempfile::tempdir()?;
    let compile = |(i, options): (usize, &str)| compile(dir.path(), i, options);
    let seeds: Vec<Vec<u8>> = OPTIONS.into_iter().enumerate().filter_map(compile).collect();
    if seeds.is_empty() {
        bail!("programs to begin with are compiled here: no C compiler `cc` is installed");
    }
    Ok(seeds)
}

fn compile(dir: &Path, i: usize, options: &str) -> Option<Vec<u8>> {
    let (source, to) = (dir.join("a.c"), dir.join(i.to_string()));
    fs_err::write(&source, SOURCE).ok()?;
    let done = Command::new("cc").arg(&source).args(options.split(' ')).arg("-o").arg(&to).output().ok()?;
    let bytes = fs_err::read(&to).ok().filter(|_| done.status.success())?;
    (bytes.len() <= 4 * MAX_BYTES).then_some(bytes)
}

/// A damaged program: numbers of its headers and tables, which lead everywhere, or any bytes.
pub fn input(seeds: &[Vec<u8>], random: &mut Random) -> Vec<u8> {
    if random.below(4) == 0 {
        return mutate(seeds, random);
    }
    let mut bytes = seeds[random.below(seeds.len())].clone();
    // The header, the section headers at the end, or any place.
    for _ in 0..1 + random.below(6) {
        let near = match random.below(3) {
            0 => random.below(1024.min(bytes.len())),
            1 => bytes.len() - 1 - random.below(4096.min(bytes.len())),
            _ => random.below(bytes.len()),
        };
        let numbers =
            [0, 1, 0x7f, 0xff, 0x8000_0000, 0xffff_ffff, u64::MAX, bytes.len() as u64, random.below(1 << 20) as u64];
        let number = numbers[random.below(numbers.len())].to_le_bytes();
        let size = [1, 2, 4, 8][random.below(4)];
        for (to, from) in bytes[near..].iter_mut().zip(&number[..size]) {
            *to = *from;
        }
    }
    if random.below(8) == 0 {
        bytes.truncate(random.below(bytes.len()));
    }
    bytes
}

/// Reads a program, quickly and whole; gives how many facts there were.
pub fn read(bytes: &[u8]) -> u64 {
    let quick = Binary::read(bytes, Depth::Quick);
    let Ok(whole) = Binary::read(bytes, Depth::Whole) else {
        assert!(quick.is_err(), "it matters how much is read");
        return 0;
    };
    let text = serde_json::to_string(&whole).map_or(0, |text| text.len());
    assert!(text < (64 << 20), "{text} bytes of text");
    (whole.compilers.len() + whole.needed.len() + whole.hardening.len()) as u64
}
