//! Whatever happens to a small file, it is detected or it is harmless; and what is undamaged can be recovered.

use proptest::prelude::*;

use super::*;
use crate::{Lost, recover};

/// Several small blocks, the last not full.
fn small(format: Format, data: &[u8]) -> Vec<u8> {
    // The smallest block of LZ4 is larger than what can be tried at every byte: few bytes that compress well.
    packed(data, &options(format, Level::default(), 2, Some(1 << 10)))
}

fn sample(format: Format) -> Vec<u8> {
    let mut data = text(2500);
    if format == Format::Lz4 {
        data.extend(vec![b'x'; 140 << 10]);
        data.extend(noise(300));
    }
    data
}

fn inputs(format: Format) -> Vec<(Vec<u8>, Vec<u8>)> {
    let data = sample(format);
    let (_directory, file) = in_file(&data);
    let known = pack_from(Input::file(file).expect("a file"), &options(format, Level::default(), 2, Some(1 << 10)));
    vec![(small(format, &data), data.clone()), (known, data)]
}

#[test]
fn every_truncation_is_detected_or_harmless() {
    for format in Format::ALL {
        for (made, data) in inputs(format) {
            for len in 0..made.len() {
                let (bytes, outcome) = unpack(&made[..len], &Decompress { threads: 2, ..Decompress::default() });
                assert!(outcome.is_err() || bytes == data, "{format:?} cut to {len} of {}", made.len());
                assert!(data.starts_with(&bytes), "{format:?} cut to {len} gave something else");
            }
        }
    }
}

#[test]
fn every_corruption_of_one_byte_is_detected_or_harmless() {
    for format in Format::ALL {
        for (made, data) in inputs(format) {
            for at in 0..made.len() {
                for change in [0x01, 0x02, 0x04, 0x08, 0x10, 0x20, 0x40, 0x80, 0xFF] {
                    let mut damaged = made.clone();
                    damaged[at] ^= change;
                    let (bytes, outcome) = unpack(&damaged, &Decompress { threads: 2, ..Decompress::default() });
                    assert!(outcome.is_err() || bytes == data, "{format:?}: byte {at} ^ {change:#x} of {}", made.len());
                }
            }
        }
    }
}

/// The result of `--recover` for a file with these bytes, with so many threads; `None` if it finds nothing.
fn recovered_by(threads: usize, made: &[u8]) -> (Vec<u8>, Option<Vec<Lost>>) {
    let (_directory, file) = in_file(made);
    let (output, memory) = Output::memory();
    let options = Decompress { threads, ..Decompress::default() };
    let outcome = recover(file, output, &options, &Meter::default(), &mut unwatched);
    (memory.take(), outcome.ok().map(|recovered| recovered.lost))
}

fn recovered(made: &[u8]) -> (Vec<u8>, Vec<Lost>) {
    let (bytes, lost) = recovered_by(3, made);
    (bytes, lost.expect("recovers"))
}

/// Damage to a file.
#[derive(Clone, Debug)]
enum Blow {
    Flip(usize, u8),
    Zeros(usize, usize),
    Removed(usize, usize),
    Inserted(usize, Vec<u8>),
    Cut(usize),
}

fn any_blow() -> impl Strategy<Value = Blow> {
    let place = 0usize..1 << 20;
    prop_oneof![
        (place.clone(), 1u8..).prop_map(|(at, change)| Blow::Flip(at, change)),
        (place.clone(), 1usize..50_000).prop_map(|(at, len)| Blow::Zeros(at, len)),
        (place.clone(), 1usize..50_000).prop_map(|(at, len)| Blow::Removed(at, len)),
        (place.clone(), proptest::collection::vec(any::<u8>(), 1..300))
            .prop_map(|(at, bytes)| Blow::Inserted(at, bytes)),
        place.prop_map(Blow::Cut),
    ]
}

impl Blow {
    fn strike(&self, bytes: &mut Vec<u8>) {
        let n = bytes.len().max(1);
        let part = |at: usize, len: usize| (at % n)..(at % n + len).min(n);
        match self {
            _ if bytes.is_empty() => {}
            Blow::Flip(at, change) => bytes[at % n] ^= change,
            Blow::Zeros(at, len) => bytes[part(*at, *len)].fill(0),
            Blow::Removed(at, len) => drop(bytes.drain(part(*at, *len))),
            Blow::Inserted(at, more) => drop(bytes.splice(at % n..at % n, more.iter().copied())),
            Blow::Cut(at) => bytes.truncate(at % n),
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn many_threads_recover_what_one_does(
        formats in proptest::collection::vec(prop_oneof![Just(Format::Zst), Just(Format::Lz4), Just(Format::Gz)], 1..3),
        blows in proptest::collection::vec(any_blow(), 0..6),
        len in 0usize..400_000,
        noisy in any::<bool>(),
        index in any::<bool>(),
        block in 1usize << 10..100_000,
        as_file in any::<bool>(),
    ) {
        let data = if noisy { noise(len) } else { text(len) };
        let mut made = Vec::new();
        for format in formats {
            let options = Compress { index, ..options(format, Level::default(), 2, Some(block)) };
            let (_directory, file) = in_file(&data);
            let input = Input::file(file).expect("a file");
            made.extend(if as_file { pack_from(input, &options) } else { packed(&data, &options) });
        }
        blows.iter().for_each(|blow| blow.strike(&mut made));
        let (bytes, lost) = recovered_by(1, &made);
        for threads in [2, 5] {
            let (more, lost_too) = recovered_by(threads, &made);
            prop_assert_eq!(&lost_too, &lost);
            prop_assert!(more == bytes, "{} bytes and {} bytes", more.len(), bytes.len());
        }
    }
}

#[test]
fn an_undamaged_file_is_recovered_whole() {
    for format in Format::ALL {
        for (made, data) in inputs(format) {
            let (bytes, lost) = recovered(&made);
            assert!(bytes == data && lost.is_empty(), "{format:?}: {lost:?}");
        }
    }
}

#[test]
fn a_damaged_block_is_lost_and_no_other() {
    let data = noise(10 * (64 << 10) + 1000);
    for format in Format::ALL {
        for index in [true, false] {
            let made = packed(&data, &Compress { index, ..options(format, Level::default(), 2, Some(64 << 10)) });
            let mut damaged = made.clone();
            // In the contents of the fifth block.
            let at = 4 * (64 << 10) + (32 << 10);
            damaged[at] ^= 0xFF;
            let (bytes, lost) = recovered(&damaged);
            let mut expected = data.clone();
            expected[4 * (64 << 10)..5 * (64 << 10)].fill(0);
            assert!(bytes == expected, "{format:?}: {lost:?}, {} bytes of {}", bytes.len(), data.len());
            assert_eq!(lost.len(), 1, "{format:?}: {lost:?}");
            assert_eq!((lost[0].content_at, lost[0].content), (4 * (64 << 10), Some(64 << 10)));
            assert!(lost[0].from <= at as u64 && lost[0].to > at as u64);
        }
    }
}

#[test]
fn a_hole_over_several_blocks_loses_these() {
    let data = noise(10 * (64 << 10) + 1000);
    for format in Format::ALL {
        let made = packed(&data, &options(format, Level::default(), 2, Some(64 << 10)));
        let mut damaged = made.clone();
        damaged[4 * (64 << 10) - 200..6 * (64 << 10) + 200].fill(0);
        let (bytes, lost) = recovered(&damaged);
        assert!(!lost.is_empty() && bytes.starts_with(&data[..3 * (64 << 10)]), "{format:?}: {lost:?}");
        assert!(bytes.ends_with(&data[7 * (64 << 10)..]), "{format:?}: {lost:?}");
    }
}

#[test]
fn a_file_that_is_cut_off_is_recovered_as_far_as_it_goes() {
    let data = noise(5 * (64 << 10));
    for format in Format::ALL {
        let made = packed(&data, &options(format, Level::default(), 2, Some(64 << 10)));
        let (bytes, lost) = recovered(&made[..made.len() * 7 / 10]);
        assert!(bytes.len() >= 3 * (64 << 10) && bytes.starts_with(&data[..3 * (64 << 10)]), "{format:?}");
        assert!(!lost.is_empty(), "{format:?}");
    }
}

#[test]
fn recovery_ends_whatever_the_bytes_are() {
    for format in Format::ALL {
        let made = small(format, &sample(format));
        for at in (0..made.len()).step_by(7) {
            let mut damaged = made.clone();
            damaged[at] ^= 0x55;
            damaged.truncate(made.len() - at % 11);
            // It may say that there is nothing; it may not hang or panic.
            let _ = recovered_by(2, &damaged);
        }
    }
}

#[test]
fn a_damaged_length_is_not_believed() {
    for format in Format::ALL {
        let data = noise(3000);
        let (_directory, file) = in_file(&data);
        let mut made = pack_from(Input::file(file).expect("a file"), &options(format, Level::default(), 2, None));
        let middle = made.len() / 2;
        made[middle] ^= 0xFF;
        match format {
            // Magic number, then: eight bytes of length, and a single segment.
            Format::Zst => drop(made.splice(4..7, [0xE0 | 4, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0x0F])),
            Format::Lz4 => {
                made[6..14].copy_from_slice(&(u64::MAX >> 4).to_le_bytes());
                made[14] = crate::lz4::header_sum(&made[4..14]);
            }
            Format::Gz => {
                let end = made.len();
                made[end - 4..].fill(0xFF);
            }
        }
        let (bytes, lost) = recovered(&made);
        assert!(!lost.is_empty() && bytes.len() < 100 << 20, "{format:?}: {lost:?}");
    }
}

#[test]
fn other_files_are_refused() {
    for other in [&b""[..], b"\0", b"plain text, which is no archive", b"\x28\xb5\x2f", b"BZh91AY&SY"] {
        let (bytes, outcome) = unpack(other, &Decompress::default());
        assert!(bytes.is_empty());
        assert!(outcome.expect_err("refused").is_damage());
    }
}
