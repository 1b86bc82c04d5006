//! Parts of the contents, from files with a table, without one, and from pipes.

use super::*;

#[test]
fn a_range_is_that_part_of_the_contents() {
    let data = text(500_000);
    let len = data.len() as u64;
    for format in Format::ALL {
        for index in [true, false] {
            let made = packed(&data, &Compress { index, ..options(format, Level::default(), 3, Some(64 << 10)) });
            for (from, to) in [
                (0, 0),
                (0, 1),
                (0, len),
                (65_535, 65_537),
                (65_536, 131_072),
                (200_000, 200_001),
                (499_999, 600_000),
                (499_000, 500_000),
                (600_000, 700_000),
            ] {
                let wanted = &data[from.min(len) as usize..to.min(len) as usize];
                let options = Decompress { threads: 2, range: Some(from..to), ..Decompress::default() };
                let (bytes, outcome) = unpack(&made, &options);
                assert!(outcome.is_ok() && bytes == wanted, "{format:?} {from}..{to} of a stream: {outcome:?}");
                let (_directory, file) = in_file(&made);
                let (bytes, outcome) = unpack_from(Input::file(file).expect("a file"), &options);
                assert!(outcome.is_ok() && bytes == wanted, "{format:?} {from}..{to} of a file: {outcome:?}");
            }
        }
    }
}

#[test]
fn with_a_table_only_what_is_needed_is_read() {
    let data = noise(4 << 20);
    let made = packed(&data, &options(Format::Zst, Level::default(), 2, Some(64 << 10)));
    let (_directory, file) = in_file(&made);
    let meter = Meter::default();
    let options = Decompress { threads: 1, range: Some(3_000_000..3_000_010), ..Decompress::default() };
    let (output, memory) = Output::memory();
    let input = Input::file(file).expect("a file");
    decompress(input, output, &options, &meter, &mut unwatched).expect("decompresses");
    assert_eq!(memory.take(), &data[3_000_000..3_000_010]);
}

#[test]
fn a_damaged_table_gives_no_wrong_data() {
    let data = noise(20_000);
    let made = packed(&data, &options(Format::Zst, Level::default(), 1, Some(1 << 10)));
    let wanted = &data[10_000..10_100];
    for at in made.len() - 250..made.len() {
        let mut damaged = made.clone();
        damaged[at] ^= 1;
        let (_directory, file) = in_file(&damaged);
        let options = Decompress { threads: 1, range: Some(10_000..10_100), ..Decompress::default() };
        let (bytes, outcome) = unpack_from(Input::file(file).expect("a file"), &options);
        assert!(outcome.is_err() || bytes == wanted, "byte {at}");
    }
}

#[test]
fn a_listing_has_true_numbers() {
    let data = text(300_000);
    for format in Format::ALL {
        let made = packed(&data, &options(format, Level::default(), 2, Some(64 << 10)));
        let (_directory, file) = in_file(&made);
        let listing = crate::list(file, &Decompress::default(), &mut unwatched).expect("lists");
        assert_eq!(listing.format, Some(format));
        assert_eq!((listing.compressed, listing.content), (made.len() as u64, data.len() as u64));
        assert_eq!(listing.decoded, format != Format::Zst);
    }
}
