//! Whatever happens to a small file, it is detected or it is harmless; and what is undamaged can be recovered.

use super::*;
use crate::recover;

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

/// What `--recover` makes of a file with these bytes.
fn recovered(made: &[u8]) -> (Vec<u8>, Vec<crate::Lost>) {
    let (_directory, file) = in_file(made);
    let (output, memory) = Output::memory();
    let outcome = recover(file, output, None, &Meter::default(), &mut unwatched);
    (memory.take(), outcome.expect("recovers").lost)
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
            let (_directory, file) = in_file(&damaged);
            let (output, _) = Output::memory();
            // It may say that there is nothing; it may not hang or panic.
            let _ = recover(file, output, None, &Meter::default(), &mut unwatched);
        }
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
