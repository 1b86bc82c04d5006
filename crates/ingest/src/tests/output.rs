//! Output of commands: kept in the run, and read by a format that is shipped or of the store.

use fenxi_formats::{Formats, Hints, TextFormat};
use fenxi_model::Micros;
use fenxi_store::{Begin, End};

use super::{EIGHT, MPSTAT, Place, VMSTAT};
use crate::{Reading, attach};

const QUEUEMON: &str = "queuemon 1\n2026-11-21T14:00:00Z 3 waiting\n2026-11-21T14:00:10Z 4 waiting\n";

/// The shipped formats, and one of a store.
fn queuemon() -> Formats {
    let text = "summary = 'queues'\n[recognise]\nbegins = 'queuemon \\d'\n[time]\nformat = 'iso'\n\
        [[line]]\npattern = 'queuemon .*'\n[[line]]\npattern = '(?<time>\\S+Z) (?<n>\\d+) waiting'\n\
        [[line.row]]\ntable = 'metric'\nname = 'queuemon.waiting'\nvalue = '{n}'\n";
    let format = TextFormat::parse("queuemon", "formats/queuemon.toml", text, "digest").unwrap();
    Formats::with(vec![std::sync::Arc::new(format)])
}

#[test]
fn output_of_a_command_is_kept_and_read_as_asked() {
    let place = Place::of(&[]);
    let begin = Begin { random: 1, ..Begin::new("record", "here", Micros(EIGHT)) };
    let open = place.store.begin(begin).unwrap();
    let read = |name: &str, text: &'static str, reading| {
        let mut rows = 0;
        let content = Box::new(text.as_bytes());
        let (entry, tally) =
            attach(&open, name, content, Hints::none(name), reading, &mut |new| rows += new.take().len()).unwrap();
        assert_eq!((entry.bytes, entry.raw.name), (text.len() as u64, format!("raw/{name}.zst")));
        (entry.format, rows, tally.rows())
    };
    let shipped = || Reading::Recognised(Formats::default());
    let format = |name: &str| fenxi_formats::formats().find(|format| format.name == name).unwrap();
    assert_eq!(read("known", MPSTAT, shipped()), (Some("mpstat".to_owned()), 2, 2));
    assert_eq!(read("named", MPSTAT, Reading::As(format("mpstat").into())), (Some("mpstat".to_owned()), 2, 2));
    assert_eq!(read("kept", MPSTAT, Reading::Kept), (None, 0, 0));
    assert_eq!(read("words", "done\n", shipped()), (None, 0, 0));
    let (format, rows, tally) = read("own", QUEUEMON, Reading::Recognised(queuemon()));
    // A fact has the version of the store's format read it.
    assert_eq!((format.as_deref(), rows, tally), (Some("queuemon"), 3, 2));
    // Of vmstat only the second line is of the command's time: a row of each of its tables.
    let (_, rows, tally) = read("boot", VMSTAT, shipped());
    assert!(rows > 0 && rows as u64 == tally, "{rows} of {tally}");
    open.seal(End::at(Micros(EIGHT + 1_000_000))).unwrap();
}
