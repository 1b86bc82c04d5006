//! Any bytes come back, through every format, level, number of threads and block size.

use std::io::Cursor;

use proptest::prelude::*;

use super::*;

fn any_bytes() -> impl Strategy<Value = Vec<u8>> {
    let repeated = (any::<Vec<u8>>(), 0usize..3000)
        .prop_map(|(unit, times)| unit.repeat(times % (1 + 100_000 / (1 + unit.len()))));
    prop_oneof![
        proptest::collection::vec(any::<u8>(), 0..3000),
        repeated,
        (0usize..200_000).prop_map(|len| vec![0; len]),
        (0usize..200_000).prop_map(noise),
        (0usize..200_000).prop_map(text),
    ]
}

fn any_level() -> impl Strategy<Value = Level> {
    prop_oneof![Just(Level::Fast), (1u8..=9).prop_map(Level::Of)]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(150))]

    #[test]
    fn any_bytes_come_back(
        data in any_bytes(),
        format in prop_oneof![Just(Format::Zst), Just(Format::Lz4), Just(Format::Gz)],
        level in any_level(),
        threads in 1usize..6,
        block in 1024usize..100_000,
        index in any::<bool>(),
        as_file in any::<bool>(),
        pieces in 1usize..70_000,
    ) {
        let options = Compress { index, ..options(format, level, threads, Some(block)) };
        let made = if as_file {
            let (_directory, file) = in_file(&data);
            pack_from(Input::file(file).expect("a file"), &options)
        } else {
            pack_from(Input::stream(Trickle(Cursor::new(data.clone()), pieces)), &options)
        };
        prop_assert_eq!(&unpacked(&made, threads), &data);
        let (_directory, file) = in_file(&made);
        let (bytes, outcome) = unpack_from(Input::file(file).expect("a file"), &Decompress::default());
        prop_assert!(outcome.is_ok());
        prop_assert_eq!(&bytes, &data);
    }
}

#[test]
fn nothing_comes_back_as_nothing() {
    for format in Format::ALL {
        let made = packed(&[], &options(format, Level::default(), 2, None));
        assert!(!made.is_empty());
        assert_eq!(unpacked(&made, 2), b"");
    }
}

#[test]
fn an_exact_number_of_blocks_comes_back() {
    for format in Format::ALL {
        for blocks in [1, 2, 5] {
            let data = text(blocks * (64 << 10));
            let made = packed(&data, &options(format, Level::default(), 3, Some(64 << 10)));
            assert!(unpacked(&made, 3) == data, "{format:?}, {blocks} blocks");
        }
    }
}

#[test]
fn frames_of_all_formats_may_follow_each_other() {
    let data = text(300_000);
    let mut all = Vec::new();
    for format in [Format::Gz, Format::Zst, Format::Lz4, Format::Zst, Format::Gz] {
        all.extend(packed(&data, &options(format, Level::default(), 2, Some(64 << 10))));
    }
    assert!(unpacked(&all, 3) == data.repeat(5));
}

#[test]
fn files_of_any_size_may_follow_each_other() {
    let (small, large) = (text(1000), text(300_000));
    for format in Format::ALL {
        let made = |data: &[u8]| packed(data, &options(format, Level::default(), 2, Some(64 << 10)));
        for parts in [[&small, &large], [&large, &small], [&small, &small], [&large, &large]] {
            let all = parts.map(|part| made(part)).concat();
            assert!(unpacked(&all, 2) == [&parts[0][..], parts[1]].concat(), "{format:?}");
            // A range that begins in the last of them, by jumping or by passing over.
            let len = (parts[0].len() + parts[1].len()) as u64;
            let (_directory, file) = in_file(&all);
            let range = Decompress { threads: 2, range: Some(len - 10..len), ..Decompress::default() };
            let (bytes, outcome) = unpack_from(Input::file(file).expect("a file"), &range);
            assert!(outcome.is_ok() && bytes == parts[1][parts[1].len() - 10..], "{format:?}: {outcome:?}");
        }
    }
}

#[test]
fn what_is_made_does_not_depend_on_the_number_of_threads() {
    let data = text(1 << 20);
    for format in Format::ALL {
        let one = packed(&data, &options(format, Level::default(), 1, Some(64 << 10)));
        let many = packed(&data, &options(format, Level::default(), 7, Some(64 << 10)));
        assert!(one == many, "{format:?}");
    }
}

#[test]
fn little_memory_is_enough() {
    let data = text(3 << 20);
    for format in Format::ALL {
        let made = packed(&data, &Compress { memory: Some(1), ..options(format, Level::default(), 8, None) });
        let (bytes, outcome) = unpack(&made, &Decompress { threads: 8, memory: Some(4 << 20), range: None });
        assert!(outcome.is_ok() && bytes == data, "{format:?}: {outcome:?}");
    }
}

#[test]
fn higher_levels_are_not_larger() {
    let data = text(1 << 20);
    for format in Format::ALL {
        let len = |level| packed(&data, &options(format, Level::Of(level), 2, None)).len();
        assert!(len(9) <= len(5) && len(5) <= len(1), "{format:?}");
    }
}

#[test]
fn zeros_become_holes() {
    use std::os::unix::fs::MetadataExt;
    let mut data = vec![0; 3 << 20];
    data[1 << 20] = 1;
    let made = packed(&data, &options(Format::Zst, Level::default(), 2, None));
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path().join("sparse");
    let file = fs_err::File::create(&path).expect("created");
    let output = Output::file(file).sparse(true);
    let input = Input::stream(Cursor::new(made));
    decompress(input, output, &Decompress::default(), &Meter::default(), &mut unwatched).expect("decompresses");
    assert!(fs_err::read(&path).expect("read") == data);
    let blocks = fs_err::metadata(&path).expect("facts").blocks();
    assert!(blocks * 512 < 1 << 20, "{blocks} sectors are in use");
}
