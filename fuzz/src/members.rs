//! Archives among inputs, as importing unpacks them: `cargo run -p fenxi-fuzz -- archives --seconds 600`.
//!
//! The seeds are tar and zip archives with names that lead out of the folder, sizes that lie, long names, holes, archives in
//! archives and packed members. Whatever is damaged in them: what is unpacked stays within its budget, has names that lead
//! nowhere, and is gone when it is not read any more.

use std::{
    io::{self, Cursor, Read, Write},
    path::{Component, Path},
};

use fenxi_ingest::{Content, UnpackBudget, collect};
use fenxi_model::Random;

use crate::mutate::{MAX_BYTES, mutate};

/// Members and bytes that may be unpacked of one input.
const BUDGET: (usize, u64) = (300, 8 << 20);
/// How much of a packed member is read.
const MEMBER: u64 = 4 << 20;
/// A block of tar.
const BLOCK: usize = 512;

const NAMES: [&str; 10] = [
    "mpstat.txt",
    "dir/vmstat.log.db1",
    "../../etc/passwd",
    "/absolute",
    "..",
    ".",
    "a/./b//c",
    "line\nbreak\u{1b}[31m",
    "é漢",
    "C:\\x\\..\\y",
];

/// Archives to begin with.
pub fn seeds() -> Vec<Vec<u8>> {
    let mut random = Random::new(7);
    let mut seeds: Vec<Vec<u8>> = Vec::new();
    for turn in 0..60 {
        let members: Vec<(&str, Vec<u8>)> = (0..1 + random.below(6)).map(|_| member(&seeds, &mut random)).collect();
        seeds.push(if turn % 3 == 2 { zip(&members) } else { tar(&members, &mut random) });
    }
    seeds.retain(|seed| seed.len() < MAX_BYTES / 2);
    seeds
}

/// A member: text, noise, an archive that was made before, or something packed.
fn member(made: &[Vec<u8>], random: &mut Random) -> (&'static str, Vec<u8>) {
    let name = NAMES[random.below(NAMES.len())];
    let length = [0, 1, 511, 512, 513, 4000, 70_000][random.below(7)];
    let content: Vec<u8> = match random.below(5) {
        0 => (0..length).map(|_| random.below(256) as u8).collect(),
        1 if !made.is_empty() => made[random.below(made.len())].clone(),
        2 => packed(&vec![b'0'; length * 20], random),
        _ => (0..length).map(|i| b"12:00:01 all 1.00 2.00\n"[i % 23]).collect(),
    };
    (name, content)
}

/// A tar archive, of which some headers lie or are of rare kinds.
fn tar(members: &[(&str, Vec<u8>)], random: &mut Random) -> Vec<u8> {
    let mut out = Vec::new();
    for (name, content) in members {
        match random.below(6) {
            0 => out.extend(tar_member("././@LongLink", b'L', name.repeat(40).as_bytes(), content.len() as u64)),
            1 => {
                let record = format!("path={name}\n");
                let record = format!("{} {record}", record.len() + 3);
                out.extend(tar_member("PaxHeader", b'x', record.as_bytes(), record.len() as u64));
            }
            2 => out.extend(tar_member("PaxHeader", b'x', b"21 size=999999999999\n", 21)),
            _ => {}
        }
        let kind = [b'0', b'0', b'0', b'0', b'S', b'2', b'5', b'7', b'g', 0][random.below(10)];
        let length = content.len() as u64;
        let size = if random.below(5) == 0 { [0, 1, u64::MAX >> 1, length + 4096][random.below(4)] } else { length };
        out.extend(tar_member(name, kind, content, size));
    }
    if random.below(3) > 0 {
        out.extend([0; 2 * BLOCK]);
    }
    out
}

fn tar_member(name: &str, kind: u8, content: &[u8], size: u64) -> Vec<u8> {
    let mut header = tar::Header::new_gnu();
    if let Some(gnu) = header.as_gnu_mut() {
        let length = name.len().min(gnu.name.len());
        gnu.name[..length].copy_from_slice(&name.as_bytes()[..length]);
    }
    header.set_entry_type(tar::EntryType::new(kind));
    header.set_mode(0o644);
    header.set_mtime(1_795_000_000);
    header.set_size(size);
    header.set_cksum();
    let mut out = header.as_bytes().to_vec();
    out.extend_from_slice(content);
    out.resize(out.len().next_multiple_of(BLOCK), 0);
    out
}

/// A zip archive; what it could not hold is left out.
fn zip(members: &[(&str, Vec<u8>)]) -> Vec<u8> {
    let mut writer = zip::ZipWriter::new(Cursor::new(Vec::new()));
    for (name, content) in members {
        if writer.start_file(*name, zip::write::SimpleFileOptions::default()).is_ok() {
            let _ = writer.write_all(content);
        }
    }
    writer.finish().map(Cursor::into_inner).unwrap_or_default()
}

fn packed(bytes: &[u8], random: &mut Random) -> Vec<u8> {
    if random.below(2) == 0 {
        return zstd::encode_all(bytes, 1).unwrap_or_default();
    }
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    gzip.write_all(bytes).and_then(|()| gzip.finish()).unwrap_or_default()
}

/// A damaged archive. The sums of most headers are made right again, so that what is behind them is read, and some are packed,
/// which may be damaged, too.
pub fn input(seeds: &[Vec<u8>], random: &mut Random) -> Vec<u8> {
    let mut bytes = mutate(seeds, random);
    if random.below(4) > 0 {
        for block in bytes.chunks_exact_mut(BLOCK).filter(|block| block[257..262] == *b"ustar") {
            let mut header = tar::Header::new_old();
            header.as_mut_bytes().copy_from_slice(block);
            header.set_cksum();
            block.copy_from_slice(header.as_bytes());
        }
    }
    match random.below(8) {
        0 | 1 => packed(&bytes, random),
        2 => mutate(&[packed(&bytes, random)], random),
        _ => bytes,
    }
}

/// Unpacks `bytes` and reads all members; gives how many bytes came out.
pub fn read(bytes: &[u8]) -> u64 {
    unpacked(bytes).unwrap_or(0)
}

fn unpacked(bytes: &[u8]) -> io::Result<u64> {
    let folder = tempfile::tempdir()?;
    let (path, inside) = (folder.path().join("archive"), folder.path().join("room"));
    fs_err::create_dir(&inside)?;
    fs_err::write(&path, bytes)?;
    let mut budget =
        UnpackBudget { folder: inside.clone(), members: BUDGET.0, bytes: BUDGET.1, ..UnpackBudget::until(&|| false) };
    let mut made = 0;
    let found = collect(&path, &mut budget);
    if let Ok(sources) = found {
        assert!(!sources.is_empty() && sources.len() <= BUDGET.0, "{} members", sources.len());
        let lying: u64 =
            sources.iter().filter(|s| !matches!(s.content, Content::File(_))).filter_map(|s| s.content.bytes()).sum();
        assert!(lying <= BUDGET.1, "{lying} bytes in a budget of {}", BUDGET.1);
        for source in &sources {
            let names = Path::new(&source.name).components().all(|part| matches!(part, Component::Normal(_)));
            assert!(names && !source.name.is_empty(), "a name that leads out of the folder: {:?}", source.name);
            // A damaged one may end in an error.
            if let Ok(reader) = source.content.unpacked() {
                made += io::copy(&mut reader.take(MEMBER), &mut io::sink()).unwrap_or(0);
            }
        }
    }
    assert!(fs_err::read_dir(&inside)?.next().is_none(), "something unpacked is left");
    Ok(made)
}
