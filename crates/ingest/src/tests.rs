//! Imports of short texts into separate stores.

use std::{
    collections::BTreeMap,
    io::{self, Read, Write},
};

use arrow_array::{
    Array,
    cast::AsArray,
    types::{Float64Type, TimestampMicrosecondType},
};
use fenxi_model::{Micros, RunId};
use fenxi_store::{BOOT, Manifest, Store, StoreError, label};
use fs_err as fs;

use crate::{ImportError, Imported, Outcome, Plan, Progress, Source, UnpackBudget, collect, import, kept};

mod many;
mod meanwhile;
mod output;
mod trees;

/// 2026-11-21 08:00:00 UTC.
const EIGHT: i64 = 1_795_248_000_000_000;

/// Two seconds of host db1.
const MPSTAT: &str = "\
Linux 6.17.0 (db1) \t2026-11-21 \t_x86_64_\t(2 CPU)

08:00:01        CPU    %usr   %nice    %sys %iowait    %irq   %soft  %steal  %guest  %gnice   %idle
08:00:02        all   10.00    0.00    5.00    0.00    0.00    0.00    0.00    0.00    0.00   85.00
08:00:03        all   20.00    0.00    5.00    0.00    0.00    0.00    0.00    0.00    0.00   75.00
";

/// The average since boot and one second; it names no host.
const VMSTAT: &str = "\
procs -----------memory---------- ---swap-- -----io---- -system-- ------cpu----- -----timestamp-----
 r  b   swpd   free   buff  cache   si   so    bi    bo   in   cs us sy id wa st                 UTC
 1  0      0 200000  10000  90000    0    0   800  1500  200  300 28  3 69  0  0 2026-11-21 08:00:01
 2  0      0 200000  10000  90000    0    0     0     0  200  300 40 10 50  0  0 2026-11-21 08:00:02
";

/// A folder with inputs, and a store.
struct Place {
    folder: tempfile::TempDir,
    store: Store,
}

impl Place {
    /// A folder of these files, which may be in folders below it.
    fn of(files: &[(&str, &[u8])]) -> Place {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open_or_create(folder.path().join("store")).unwrap();
        let place = Place { folder, store };
        for (name, content) in files {
            place.write(name, content);
        }
        place
    }

    fn write(&self, name: &str, content: &[u8]) {
        let path = self.folder.path().join("in").join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
    }

    fn sources(&self) -> Vec<Source> {
        collect(&self.folder.path().join("in"), &mut UnpackBudget::until(&|| false)).unwrap()
    }

    fn plan(&self) -> Plan {
        let now = Micros(EIGHT + 3_600_000_000);
        Plan::new(self.store.clone(), "imported".to_owned(), self.sources(), now, 4711)
    }

    fn import(&self, change: impl FnOnce(&mut Plan)) -> Result<Outcome, ImportError> {
        let mut plan = self.plan();
        change(&mut plan);
        import(&plan, &mut |_| true)
    }

    /// The run that an import of all files makes.
    fn imported(&self, change: impl FnOnce(&mut Plan)) -> (Manifest, Vec<Imported>) {
        let outcome = self.import(change).unwrap();
        (self.store.run(&outcome.run.unwrap()).unwrap().manifest, outcome.inputs)
    }

    fn usr(&self, run: &RunId, table: &str) -> Vec<(f64, String, f64)> {
        let mut found = Vec::new();
        for batch in self.store.read(run, table).unwrap() {
            let times = batch["t"].as_primitive::<TimestampMicrosecondType>();
            let usr = batch["usr"].as_primitive::<Float64Type>();
            for row in (0..batch.num_rows()).filter(|row| usr.is_valid(*row)) {
                let seconds = Micros(times.value(row)).seconds_since(Micros(EIGHT));
                found.push((seconds, label(&batch, "host", row).unwrap().to_owned(), usr.value(row)));
            }
        }
        found
    }

    fn notes(&self, run: &RunId) -> Vec<(String, String)> {
        let mut found = Vec::new();
        for batch in self.store.read(run, "note").unwrap() {
            let texts = batch["message"].as_string::<i32>();
            let file = |row| label(&batch, "file", row).unwrap_or_default().to_owned();
            found.extend((0..batch.num_rows()).map(|row| (file(row), texts.value(row).to_owned())));
        }
        found
    }

    /// Whether nothing is kept, neither a run nor the begin of one.
    fn is_empty(&self) -> bool {
        let open = fs::read_dir(self.store.path().join("open")).map_or(0, Iterator::count);
        self.store.ids().unwrap().is_empty() && open == 0
    }
}

fn gzip(content: &[u8]) -> Vec<u8> {
    let mut packer = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    packer.write_all(content).unwrap();
    packer.finish().unwrap()
}

fn unpacked(source: &Source) -> String {
    let mut text = String::new();
    source.content.unpacked().unwrap().read_to_string(&mut text).unwrap();
    text
}

#[test]
fn a_file_becomes_a_run_with_its_rows_its_times_and_the_file() {
    let place = Place::of(&[("mpstat.log", MPSTAT.as_bytes())]);
    let (run, inputs) = place.imported(|_| {});
    assert_eq!(place.usr(&run.id, "cpu"), [(2.0, "db1".to_owned(), 10.0), (3.0, "db1".to_owned(), 20.0)]);
    let tally = &inputs[0].tally;
    assert_eq!((inputs[0].format, &tally.tables, tally.notes), (Some("mpstat"), &vec![("cpu", 2)], 0));
    // The first row is the second before 08:00:02.
    assert_eq!((tally.first, tally.last), (Some(Micros(EIGHT + 1_000_000)), Some(Micros(EIGHT + 3_000_000))));
    assert_eq!((run.start, run.end), (Micros(EIGHT + 1_000_000), Micros(EIGHT + 3_000_000)));
    assert_eq!(
        (run.kind.as_str(), run.hosts.clone(), run.name.as_deref()),
        ("import", vec!["db1".to_owned()], Some("imported"))
    );
    let [input] = run.inputs.as_slice() else { panic!("{:?}", run.inputs) };
    assert_eq!((input.name.as_str(), input.raw.name.as_str()), ("mpstat.log", "raw/mpstat.log.zst"));
    assert_eq!((input.bytes, &input.blake3), (MPSTAT.len() as u64, &blake3::hash(MPSTAT.as_bytes()).to_string()));
    let again = kept(&place.store, &place.store.run(&run.id).unwrap()).unwrap();
    assert_eq!((again[0].name.as_str(), unpacked(&again[0]).as_str()), ("mpstat.log", MPSTAT));
}

#[test]
fn averages_since_boot_are_kept_apart() {
    let place = Place::of(&[("vmstat.log.web-2", VMSTAT.as_bytes())]);
    let (run, inputs) = place.imported(|_| {});
    // The content names no host, the file's name does.
    assert_eq!(place.usr(&run.id, "cpu"), [(2.0, "web-2".to_owned(), 40.0)]);
    assert_eq!(place.usr(&run.id, &format!("{BOOT}.cpu")).iter().map(|row| row.2).collect::<Vec<_>>(), [28.0]);
    let tables: BTreeMap<&str, u64> = inputs[0].tally.tables.iter().copied().collect();
    assert_eq!(tables["cpu"], 1);
}

#[test]
fn what_the_store_has_is_not_imported_again_unless_forced() {
    let place = Place::of(&[("mpstat.log", MPSTAT.as_bytes())]);
    let (run, _) = place.imported(|_| {});
    // Packed it is the same content.
    fs::remove_file(place.folder.path().join("in/mpstat.log")).unwrap();
    place.write("mpstat.gz", &gzip(MPSTAT.as_bytes()));
    let again = place.import(|_| {}).unwrap();
    assert_eq!((again.run, again.already), (None, vec![run.id.clone()]));
    assert_eq!(place.store.ids().unwrap().len(), 1);
    // Beside something new it belongs to the run.
    place.write("vmstat.log", VMSTAT.as_bytes());
    let more = place.import(|plan| plan.random = 1).unwrap();
    assert_eq!((more.run.is_some(), more.already.len(), more.inputs.len()), (true, 0, 2));
    let forced = place.import(|plan| (plan.force, plan.random) = (true, 2)).unwrap();
    assert!(forced.run.is_some() && forced.already.is_empty());
    assert_eq!(place.store.ids().unwrap().len(), 3);
}

#[test]
fn unknown_text_is_an_error_alone_and_kept_beside_others() {
    let place = Place::of(&[("readme", b"Nothing that a tool has printed.\n")]);
    let error = place.import(|_| {}).unwrap_err();
    assert!(matches!(&error, ImportError::Unknown { names, .. } if names == "readme"), "{error}");
    assert!(place.is_empty());
    place.write("mpstat.log", MPSTAT.as_bytes());
    let (run, inputs) = place.imported(|_| {});
    let formats: Vec<_> = inputs.iter().map(|input| (input.name.as_str(), input.format, input.tally.notes)).collect();
    assert_eq!(formats, [("mpstat.log", Some("mpstat"), 0), ("readme", None, 1)]);
    let note = ("readme".to_owned(), "unknown format; its text is a fact, and the file is kept as it is".to_owned());
    assert_eq!((place.notes(&run.id), run.inputs[1].raw.name.as_str()), (vec![note], "raw/readme.zst"));
}

#[test]
fn what_is_no_text_is_named_with_the_way_out() {
    let recording = [&b"PERFILE2"[..], &[0; 200]].concat();
    let place = Place::of(&[("perf.data", &recording), ("empty", b"")]);
    let error = place.import(|_| {}).unwrap_err();
    assert_eq!(
        error.to_string(),
        "nothing can be imported:\nempty is an empty file\nperf.data is a recording of perf: `perf script -i FILE` prints it as \
         text, which can be imported"
    );
    let error = place.import(|plan| plan.format = plan.formats.named("vmstat")).unwrap_err();
    assert_eq!(error.to_string(), "empty is an empty file; it cannot be read as vmstat");
    assert!(place.is_empty());
    place.write("mpstat.log", MPSTAT.as_bytes());
    let (run, inputs) = place.imported(|_| {});
    let unread: Vec<_> = inputs.iter().map(Imported::unread).collect();
    assert_eq!(unread, [Some("an empty file"), None, Some("a recording of perf")]);
    assert!(place.notes(&run.id).iter().any(|(file, text)| file == "perf.data" && text.contains("`perf script")));
}

#[test]
fn utf16_is_read() {
    let units = MPSTAT.encode_utf16();
    let bytes: Vec<u8> = [0xff, 0xfe].into_iter().chain(units.flat_map(u16::to_le_bytes)).collect();
    let place = Place::of(&[("mpstat.log", &bytes)]);
    let (run, inputs) = place.imported(|_| {});
    assert_eq!((inputs[0].format, inputs[0].bytes), (Some("mpstat"), bytes.len() as u64));
    assert_eq!(place.usr(&run.id, "cpu").len(), 2);
    assert_eq!(run.hosts, ["db1"]);
}

#[test]
fn an_archive_is_imported_like_a_directory() {
    let mut builder = tar::Builder::new(Vec::new());
    for (name, text) in [("host/mpstat.log", MPSTAT), ("host/vmstat.log", VMSTAT)] {
        let mut header = tar::Header::new_gnu();
        header.set_size(text.len() as u64);
        header.set_mode(0o600);
        builder.append_data(&mut header, name, text.as_bytes()).unwrap();
    }
    let place = Place::of(&[("results.tar", &builder.into_inner().unwrap())]);
    let (run, inputs) = place.imported(|_| {});
    let names: Vec<_> = inputs.iter().map(|input| (input.name.as_str(), input.format)).collect();
    let expected = [("results.tar/host/mpstat.log", Some("mpstat")), ("results.tar/host/vmstat.log", Some("vmstat"))];
    assert_eq!(names, expected);
    assert_eq!(run.inputs.len(), 2);
    // Kept inputs are read again, without the archive.
    let again = kept(&place.store, &place.store.run(&run.id).unwrap()).unwrap();
    assert_eq!(again.len(), 2);
}

#[test]
fn strict_imports_nothing_when_a_line_cannot_be_read() {
    let broken = MPSTAT.replace("   20.00", "   twelve");
    let place = Place::of(&[("mpstat.log", broken.as_bytes())]);
    let error = place.import(|plan| plan.strict = true).unwrap_err();
    let ImportError::Strict { count, first } = &error else { panic!("{error}") };
    assert_eq!(*count, 1);
    assert!(first.starts_with("  mpstat.log:5: "), "{first}");
    assert!(place.is_empty());
    let (run, inputs) = place.imported(|_| {});
    assert_eq!((place.usr(&run.id, "cpu").len(), inputs[0].tally.notes), (1, 1));
    // Without a fault it is an import like any other.
    let whole = Place::of(&[("mpstat.log", MPSTAT.as_bytes())]);
    assert!(whole.import(|plan| plan.strict = true).unwrap().run.is_some());
}

#[test]
fn what_unpacks_to_more_than_accepted_is_refused() {
    let zeros = [MPSTAT.as_bytes(), &vec![b'\n'; 4 << 20]].concat();
    let packed = gzip(&zeros);
    assert!(packed.len() < zeros.len() / 100, "{} bytes", packed.len());
    let place = Place::of(&[("bomb.gz", &packed)]);
    let most = zeros.len() as u64 - 1;
    let error = place.import(|plan| plan.most_bytes = Some(most)).unwrap_err();
    assert!(matches!(error, ImportError::TooLong(bytes) if bytes == most), "{error}");
    assert!(place.is_empty());
    let (run, _) = place.imported(|plan| plan.most_bytes = Some(most + 1));
    assert_eq!((run.inputs[0].bytes, place.usr(&run.id, "cpu").len()), (most + 1, 2));
}

#[test]
fn watch_is_told_how_far_it_is_and_keeps_nothing_when_it_says_no() {
    let place = Place::of(&[("mpstat.log", MPSTAT.as_bytes())]);
    let error = import(&place.plan(), &mut |_| false).unwrap_err();
    assert_eq!(error.to_string(), "interrupted; nothing was imported");
    assert!(place.is_empty());
    let mut last = None;
    let outcome = import(&place.plan(), &mut |progress: Progress<'_>| {
        let Progress { name, bytes, rows, sealing } = progress;
        last = Some((name.to_owned(), bytes, rows, sealing));
        true
    });
    assert!(outcome.unwrap().run.is_some());
    assert_eq!(last, Some((String::new(), MPSTAT.len() as u64, 2, true)));
}

#[test]
fn packed_inputs_are_read_and_kept_as_they_are() {
    let zst = zstd::bulk::compress(VMSTAT.as_bytes(), 1).unwrap();
    let gz = gzip(MPSTAT.as_bytes());
    let place = Place::of(&[("a.gz", &gz), ("b", &zst)]);
    let (run, _) = place.imported(|_| {});
    let read: Vec<(&str, Option<&str>, u64)> =
        run.inputs.iter().map(|input| (input.raw.name.as_str(), input.format.as_deref(), input.bytes)).collect();
    assert_eq!(
        read,
        [("raw/a.gz", Some("mpstat"), MPSTAT.len() as u64), ("raw/b", Some("vmstat"), VMSTAT.len() as u64)]
    );
    assert_eq!(fs::read(place.store.run_dir(&run.id).join("raw/a.gz")).unwrap(), gz);
    // db1 is the only host that anything names.
    assert_eq!(place.usr(&run.id, "cpu").iter().map(|row| row.1.as_str()).collect::<Vec<_>>(), ["db1"; 3]);
}

#[test]
fn a_packed_input_that_ends_early_is_read_as_far_as_it_goes() {
    let mut gz = gzip(MPSTAT.as_bytes());
    gz.truncate(gz.len() - 8);
    let place = Place::of(&[("cut.gz", &gz)]);
    let (run, inputs) = place.imported(|_| {});
    // Only the checksum at its end is missing.
    assert_eq!((place.usr(&run.id, "cpu").len(), inputs[0].tally.notes), (2, 1));
    let [(file, note)] = place.notes(&run.id).try_into().unwrap();
    assert!(file == "cut.gz" && note.starts_with("reading ended early: "), "{file}: {note}");
    assert_eq!(fs::read(place.store.run_dir(&run.id).join("raw/cut.gz")).unwrap(), gz);
}

#[test]
fn an_input_that_another_contains_is_skipped() {
    let more = MPSTAT.lines().last().unwrap().replace("08:00:03", "08:00:04");
    let (whole, banner) = (format!("{MPSTAT}{more}\n"), MPSTAT.lines().next().unwrap());
    let place = Place::of(&[("a", MPSTAT.as_bytes()), ("b", whole.as_bytes()), ("c", banner.as_bytes())]);
    let (run, inputs) = place.imported(|_| {});
    let why = "its content is at the beginning of b";
    // A line that all tools of a day print is no copy of what one of them printed.
    assert_eq!(inputs.iter().map(|i| i.skipped.as_deref()).collect::<Vec<_>>(), [Some(why), None, None]);
    assert_eq!(run.inputs.iter().map(|input| input.name.as_str()).collect::<Vec<_>>(), ["b", "c"]);
    assert_eq!(place.usr(&run.id, "cpu").len(), 3);
    assert!(place.notes(&run.id).contains(&("a".to_owned(), format!("skipped: {why}"))));
}

#[test]
fn the_host_that_the_user_names_wins_and_two_hosts_leave_others_unknown() {
    let other = MPSTAT.replace("db1", "db2");
    let files = [("a", MPSTAT.as_bytes()), ("b", other.as_bytes()), ("c", VMSTAT.as_bytes())];
    let place = Place::of(&files);
    let hosts = |run: &Manifest| -> Vec<String> {
        place.usr(&run.id, "cpu").into_iter().filter(|row| row.0 == 2.0).map(|row| row.1).collect()
    };
    let (run, _) = place.imported(|_| {});
    assert_eq!(hosts(&run), ["db1", "db2", "unknown"]);
    let (named, _) = place.imported(|plan| (plan.host, plan.force, plan.random) = (Some("h".to_owned()), true, 1));
    assert_eq!((hosts(&named), named.hosts.clone()), (vec!["h".to_owned(); 3], vec!["h".to_owned()]));
    assert_eq!(named.inputs[0].hints["host"], "h");
}

#[test]
fn inputs_of_like_names_are_kept_apart_and_none_is_hidden() {
    let files = [("a/x.log", "one\n"), ("a+x.log", "two\n"), (".b c", "three\n"), ("mpstat", MPSTAT)];
    let place = Place::of(&files.map(|(name, text)| (name, text.as_bytes())));
    let (run, _) = place.imported(|_| {});
    let raw: Vec<(&str, &str)> = run.inputs.iter().map(|i| (i.name.as_str(), i.raw.name.as_str())).collect();
    assert_eq!(
        raw,
        [
            (".b c", "raw/_.b_c.zst"),
            ("a/x.log", "raw/a+x.log.zst"),
            ("a+x.log", "raw/2-a+x.log.zst"),
            ("mpstat", "raw/mpstat.zst"),
        ]
    );
}

#[test]
fn an_input_that_is_gone_is_an_error_with_its_name() {
    let place = Place::of(&[("a", MPSTAT.as_bytes())]);
    let plan = place.plan();
    fs::remove_file(place.folder.path().join("in/a")).unwrap();
    let error = import(&plan, &mut |_| true).unwrap_err();
    let gone =
        matches!(&error, ImportError::Open { name, source } if name == "a" && source.kind() == io::ErrorKind::NotFound);
    assert!(gone && place.is_empty(), "{error}");
}

#[test]
fn a_kept_input_that_was_changed_is_not_read_again() {
    let place = Place::of(&[("a", MPSTAT.as_bytes())]);
    let (run, _) = place.imported(|_| {});
    let path = place.store.run_dir(&run.id).join("raw/a.zst");
    let mut bytes = fs::read(&path).unwrap();
    *bytes.last_mut().unwrap() ^= 1;
    fs::write(&path, bytes).unwrap();
    let error = kept(&place.store, &place.store.run(&run.id).unwrap()).unwrap_err();
    assert!(matches!(error, StoreError::Damaged { .. }), "{error}");
}

#[test]
fn files_of_a_directory_share_their_host_and_end_when_they_were_written() {
    let mpstat = "Linux 6.1.0 (web1) \t11/21/26 \t_x86_64_\t(1 CPU)\n\n\
        14:35:52     CPU    %usr   %nice    %sys %iowait    %irq   %soft  %steal  %guest  %gnice   %idle\n\
        14:35:53     all   12.03    0.00    3.10    0.25    0.00    0.38    0.00    0.00    0.00   84.24\n";
    let head = "procs -----------memory---------- ---swap-- -----io---- -system-- ------cpu-----\n r  b   swpd   free   buff  cache   si   so    bi    bo   in   cs us sy id wa st\n";
    // More than is looked at to recognise a format.
    let line = " 1  0      0 812340  10240 401200    0    0     5     7  210  340  3  1 95  1  0\n";
    let counted = [head, &line.repeat(2001)].concat();
    let place =
        Place::of(&[("a", mpstat.as_bytes()), ("b", counted.as_bytes()), ("c", b"words about the experiment\n")]);
    let written = place.sources()[1].modified;
    let (run, inputs) = place.imported(|_| {});
    let [named, counted, unknown] = &inputs[..] else { panic!("{inputs:?}") };
    // One assumption for the times, one for the seconds between lines, one for the host.
    assert_eq!((named.tally.assumptions, counted.tally.assumptions), (0, 3));
    assert_eq!((named.unread(), counted.unread(), unknown.unread()), (None, None, Some("unknown format")));
    assert_eq!(counted.tally.last, written);
    let seconds = counted.tally.last.zip(counted.tally.first).map(|(last, first)| last.seconds_since(first));
    assert_eq!(seconds, Some(2000.0));
    assert_eq!(run.hosts, ["web1"]);
}
