//! Runs carried to another store in one file: whole and equal, and never what somebody made of it.

use std::{collections::BTreeMap, io::Write, path::Path};

use fenxi_model::{Micros, Rows, RunId};
use fenxi_store::{ArchiveLimits, ImportedRun, InputEntry, Labels, Store, StoreError, Window, is_archive};
use serde_json::{Value, json};

use crate::common::{START, begin, end, run, store, tick};

/// Two runs: one with labels and its own window, one that was imported and keeps its inputs.
fn filled(store: &Store) -> Vec<RunId> {
    let first = run(store, "labelled", 1, 5);
    let mut labels = store.run(&first).unwrap().labels;
    labels.tags.insert("good".to_owned(), "yes".to_owned());
    labels.remarks.push("as it should be".to_owned());
    labels.windows.push(Window { name: "steady".to_owned(), start: START, end: Micros(START.0 + 3_000_000) });
    store.set_labels(&first, &labels).unwrap();
    let mut import = begin("imported", 2);
    import.kind = "import".to_owned();
    let mut open = store.begin(import).unwrap();
    let mut rows = Rows::new("h1");
    tick(1, &mut rows);
    open.append(&mut rows).unwrap();
    let mut inputs = Vec::new();
    for name in ["a.txt.zst".to_owned(), format!("{}.zst", "long-".repeat(30))] {
        let mut raw = open.raw_file(&name).unwrap();
        raw.write_all(name.repeat(100).as_bytes()).unwrap();
        inputs.push(InputEntry { name, raw: raw.finish().unwrap(), ..InputEntry::default() });
    }
    let second = open.seal(fenxi_store::End { inputs, ..end(1) }).unwrap();
    vec![first, second]
}

fn export(store: &Store, ids: &[RunId]) -> Vec<u8> {
    let mut archive = Vec::new();
    store.export(ids, &mut archive).unwrap();
    archive
}

fn take(store: &Store, archive: &[u8]) -> Result<Vec<ImportedRun>, StoreError> {
    store.import_archive(archive, &ArchiveLimits::default())
}

/// Every file below `dir`, with its content.
fn files(dir: &Path, within: &str) -> BTreeMap<String, Vec<u8>> {
    let mut found = BTreeMap::new();
    for entry in fs_err::read_dir(dir).unwrap().map(Result::unwrap) {
        let name = format!("{within}{}", entry.file_name().to_string_lossy());
        if entry.file_type().unwrap().is_dir() {
            found.extend(files(&entry.path(), &format!("{name}/")));
        } else {
            found.insert(name, fs_err::read(entry.path()).unwrap());
        }
    }
    found
}

/// Runs and labels of a store, as they lie on disk.
fn content(store: &Store) -> BTreeMap<String, Vec<u8>> {
    let mut all = files(&store.path().join("runs"), "runs/");
    all.extend(files(&store.path().join("labels"), "labels/"));
    all
}

/// That the archive is refused with these words, and that nothing of it is left in the store.
fn refused(archive: &[u8], words: &str) {
    let (_dir, store) = store();
    let message = take(&store, archive).unwrap_err().to_string();
    assert!(message.contains(words), "`{message}` does not say `{words}`");
    let left = [content(&store), files(&store.path().join("open"), "open/")];
    assert!(left.iter().all(BTreeMap::is_empty), "{message}: {:?}", left[0].keys());
}

/// One entry of an archive, with all its tar header fields.
type Entry = (tar::EntryType, String, Vec<u8>);

fn unpack(archive: &[u8]) -> Vec<Entry> {
    let mut tar = tar::Archive::new(zstd::Decoder::new(archive).unwrap());
    let entry = |entry: std::io::Result<tar::Entry<'_, _>>| {
        let mut entry = entry.unwrap();
        let mut bytes = Vec::new();
        std::io::copy(&mut entry, &mut bytes).unwrap();
        (entry.header().entry_type(), entry.path().unwrap().to_str().unwrap().to_owned(), bytes)
    };
    tar.entries().unwrap().map(entry).collect()
}

/// A tar of entries, also of such as no tool would write.
fn pack(entries: &[Entry]) -> Vec<u8> {
    let mut tar = tar::Builder::new(zstd::Encoder::new(Vec::new(), 1).unwrap());
    for (kind, name, bytes) in entries {
        let mut header = tar::Header::new_gnu();
        header.set_entry_type(*kind);
        header.set_size(bytes.len() as u64);
        if name.len() > 100 || name.starts_with("runs/run=") && !name.contains("..") {
            tar.append_data(&mut header, name, &bytes[..]).unwrap();
            continue;
        }
        header.as_old_mut().name[..name.len()].copy_from_slice(name.as_bytes());
        header.set_cksum();
        tar.append(&header, &bytes[..]).unwrap();
    }
    tar.into_inner().unwrap().finish().unwrap()
}

/// An archive of one run whose manifest was changed and given the digest that fits.
fn forged(change: impl Fn(&mut Value)) -> Vec<u8> {
    let (_dir, store) = store();
    let ids = filled(&store);
    let mut entries = unpack(&export(&store, &ids[1..]));
    let place = entries.iter().position(|(_, name, _)| name.ends_with("run.json")).unwrap();
    let mut manifest: Value = serde_json::from_slice(&entries[place].2).unwrap();
    change(&mut manifest);
    manifest["digest"] = json!("0".repeat(64));
    let text = manifest.to_string();
    let digest = blake3::hash(text.as_bytes()).to_hex().to_string();
    entries[place].2 = text.replacen(&"0".repeat(64), &digest, 1).into_bytes();
    pack(&entries)
}

#[test]
fn an_archive_is_the_same_for_the_same_runs_and_brings_them_whole() {
    let (_here, here) = store();
    let ids = filled(&here);
    let archive = export(&here, &ids);
    assert!(is_archive(&archive[..]).unwrap());
    assert!(archive == export(&here, &[ids[1].clone(), ids[0].clone(), ids[1].clone()]), "the order is the ids'");
    let (_there, there) = store();
    let taken = take(&there, &archive).unwrap();
    // `imported` comes before `labelled`.
    assert_eq!(taken.iter().map(|t| (&t.id, t.is_new)).collect::<Vec<_>>(), [(&ids[1], true), (&ids[0], true)]);
    assert_eq!(content(&here), content(&there));
    for id in &ids {
        assert_eq!(there.verify(id).unwrap(), []);
        assert_eq!(there.run(id).unwrap(), here.run(id).unwrap());
    }
    assert_eq!(there.run(&ids[0]).unwrap().windows()[0].name, "steady");
    assert_eq!(there.summaries().unwrap().len(), 2);
    assert!(export(&there, &ids) == archive);
    // Taken once more, nothing changes; labels that were changed meanwhile stay.
    let mut labels = there.run(&ids[0]).unwrap().labels;
    labels.name = Some("renamed".to_owned());
    there.set_labels(&ids[0], &labels).unwrap();
    assert!(take(&there, &archive).unwrap().iter().all(|t| !t.is_new));
    let now = there.run(&ids[0]).unwrap().labels;
    assert_eq!(now.changes.last().map(|change| change.field.as_str()), Some("name"));
    assert_eq!(Labels { changes: labels.changes.clone(), ..now }, labels);
    assert!(files(&there.path().join("open"), "").is_empty());
}

#[test]
fn what_other_tools_see_in_an_archive_is_a_store() {
    let (_dir, store) = store();
    let ids = filled(&store);
    let archive = export(&store, &ids);
    let outside = tempfile::tempdir().unwrap();
    let mut tar = tar::Archive::new(zstd::Decoder::new(&archive[..]).unwrap());
    tar.unpack(outside.path()).unwrap();
    assert_eq!(files(&outside.path().join("runs"), ""), files(&store.path().join("runs"), ""));
    for entry in tar::Archive::new(zstd::Decoder::new(&archive[..]).unwrap()).entries().unwrap() {
        let header = entry.unwrap().header().clone();
        let message = (header.mtime().unwrap(), header.uid().unwrap(), header.gid().unwrap(), header.mode().unwrap());
        assert_eq!(message, (0, 0, 0, 0o644));
    }
}

#[test]
fn a_damaged_run_is_not_exported_and_an_unknown_one_before_anything_is_written() {
    let (_dir, store) = store();
    let ids = filled(&store);
    let path = store.run_dir(&ids[0]).join("cpu.parquet");
    let whole = fs_err::read(&path).unwrap();
    let export = || store.export(&ids, std::io::sink()).unwrap_err().to_string();
    let mut bytes = whole.clone();
    bytes[10] ^= 1;
    fs_err::write(&path, &bytes).unwrap();
    assert!(export().contains("cpu.parquet is damaged: its BLAKE3"), "{}", export());
    fs_err::write(&path, &whole[1..]).unwrap();
    assert!(export().contains("cpu.parquet is damaged: it has "), "{}", export());
    let mut out = Vec::new();
    let none = RunId::parse("20200101T000000-none-0000").unwrap();
    assert!(store.export(&[ids[1].clone(), none], &mut out).is_err() && out.is_empty());
}

#[test]
fn another_run_of_the_same_id_is_refused() {
    let archive = forged(|manifest| manifest["host"] = json!("another"));
    let (_dir, store) = store();
    let ids = filled(&store);
    let before = content(&store);
    let error = take(&store, &archive).unwrap_err();
    assert!(matches!(&error, StoreError::Differs { id } if *id == ids[1]), "{error}");
    assert!(error.to_string().contains("--store DIR"), "{error}");
    assert_eq!(content(&store), before);
}

#[test]
fn an_archive_that_is_cut_or_changed_anywhere_is_refused() {
    let (_dir, here) = store();
    let ids = filled(&here);
    let archive = export(&here, &ids);
    let (_whole, whole) = store();
    take(&whole, &archive).unwrap();
    let (mut _there, mut there) = store();
    for cut in (0..archive.len()).step_by(397).chain([archive.len() - 1]) {
        assert!(cut < 1000 || is_archive(&archive[..cut]).unwrap(), "cut at {cut}");
        let message = take(&there, &archive[..cut]).unwrap_err().to_string();
        assert!(message.contains("nothing of it was imported"), "cut at {cut}: {message}");
    }
    assert!(take(&there, &archive[..archive.len() - 9]).unwrap_err().to_string().contains("is cut short"));
    for at in (0..archive.len()).step_by(211) {
        let mut changed = archive.clone();
        // Two bits: the one of them is unused where it falls on the descriptor of a Zstandard frame.
        changed[at] ^= 0x11;
        if take(&there, &changed).is_ok() {
            // Some changes mean nothing to who unpacks: bytes of frames have more than one form, a tar is padded.
            assert_eq!(content(&there), content(&whole), "byte {at} of {}", archive.len());
            (_there, there) = store();
        }
    }
    assert!(content(&there).is_empty() && there.ids().unwrap().is_empty());
    // The compressed form need not be ours; what is inside must be.
    let entries = unpack(&archive);
    assert_eq!(take(&there, &pack(&entries)).unwrap().len(), 2);
    refused(&[archive.clone(), archive].concat(), "goes on after its end");
    refused(&pack(&entries[..entries.len() - 1]), "is cut short");
    refused(&pack(&entries[1..]), "where fenxi-archive.json is expected");
    refused(&pack(&[]), "is not an archive of runs");
    refused(b"hello", "nothing of it was imported");
}

#[test]
fn names_in_an_archive_are_never_followed() {
    let (_dir, here) = store();
    let ids = filled(&here);
    let entries = unpack(&export(&here, &ids));
    let with = |place: usize, entry: Entry| {
        let mut changed = entries.clone();
        changed[place] = entry;
        pack(&changed)
    };
    let place = entries.iter().position(|(_, name, _)| name.ends_with("cpu.parquet")).unwrap();
    let (kind, name, bytes) = entries[place].clone();
    let run = name.strip_suffix("cpu.parquet").unwrap();
    for evil in ["/tmp/evil", "../../evil", "runs/../../evil", &format!("{run}../evil"), "runs/run=x/cpu.parquet"] {
        refused(&with(place, (kind, evil.to_owned(), bytes.clone())), "is expected");
    }
    for link in [tar::EntryType::Symlink, tar::EntryType::Link, tar::EntryType::Directory, tar::EntryType::Fifo] {
        refused(&with(place, (link, name.clone(), Vec::new())), "not a regular file");
    }
    refused(&with(place, (kind, name.clone(), bytes[1..].to_vec())), "by its manifest");
    let mut changed = bytes.clone();
    changed[8] ^= 1;
    refused(&with(place, (kind, name, changed)), "the BLAKE3 of");
    let more = [entries.clone(), vec![(kind, "labels/x.json".to_owned(), Vec::new())]].concat();
    refused(&pack(&more), "after its last run");
    let head = |text: &str| with(0, (kind, "fenxi-archive.json".to_owned(), text.as_bytes().to_vec()));
    refused(&head("{"), "has no list of runs");
    refused(&head("{\"fenxi_archive\": 1, \"runs\": []}"), "no list of runs in order");
    refused(&head("{\"fenxi_archive\": 1, \"runs\": [\"20261121T143553-../../x\"]}"), "no list of runs in order");
    refused(&head("{\"fenxi_archive\": 2, \"runs\": []}"), "use a newer fenxi");
}

#[test]
fn what_a_manifest_names_lies_within_its_run() {
    assert!(take(&store().1, &forged(|_| {})).is_ok());
    for name in ["../evil", "/etc/evil", "raw/../evil", "raw/.evil", "raw/", "run.json", "raw/a/b", "raw/a\u{1b}[2J"] {
        refused(&forged(|m| m["files"][0] = json!({ "name": name, "bytes": 1, "blake3": "" })), "no file of a run");
    }
    refused(&forged(|m| m["files"][0]["table"] = json!("../../cpu")), "no file of a run");
    refused(&forged(|m| m["files"][0]["table"] = json!("disk")), "no file of a run");
    refused(&forged(|m| m["files"][1] = m["files"][0].clone()), "twice");
    refused(&forged(|m| m["inputs"][0]["raw"]["name"] = json!("../../../etc/passwd")), "none of its files");
    refused(&forged(|m| m["id"] = json!("20261121T143553-other-0000")), "is that of");
    refused(&forged(|m| m["format"] = json!(99)), "use a newer fenxi");
    refused(&forged(|m| m["files"][0]["rows"] = json!(7_000)), "rows, 7000 by the manifest");
    refused(&forged(|m| m["files"][0]["fingerprint"] = json!("00")), "other columns");
}

#[test]
fn an_archive_larger_than_the_limits_is_refused_before_it_is_unpacked() {
    let (_dir, here) = store();
    let ids = filled(&here);
    let archive = export(&here, &ids);
    let generous = ArchiveLimits { runs: 2, files: 100, bytes: 1 << 20, ratio: 100, text: 1 << 30 };
    let (_there, there) = store();
    let refused_by = |archive: &[u8], limits: ArchiveLimits, words: &str| {
        let error = there.import_archive(archive, &limits).unwrap_err();
        assert!(matches!(error, StoreError::ArchiveLimit { .. }), "{error}");
        assert!(error.to_string().contains(words), "{error}");
        assert!(content(&there).is_empty());
    };
    refused_by(&archive, ArchiveLimits { runs: 1, ..generous }, "more runs");
    refused_by(&archive, ArchiveLimits { files: 5, ..generous }, "more files");
    refused_by(&archive, ArchiveLimits { bytes: 9_000, ..generous }, "more bytes");
    // 30 MiB of spaces where labels are expected, and 100 MiB of zeros that their manifest promises.
    let mut entries = unpack(&archive);
    let labels = entries.iter().position(|(_, name, _)| name.starts_with("labels/")).unwrap();
    entries[labels].2 = vec![b' '; 30 << 20];
    refused_by(&pack(&entries), ArchiveLimits { bytes: 1 << 40, ..generous }, "bytes in labels/");
    entries[labels].2 = vec![b' '; 40 << 20];
    refused_by(&pack(&entries), ArchiveLimits { bytes: 1 << 40, ratio: 1 << 40, ..generous }, "bytes in labels/");
    let zeros = vec![0u8; 100 << 20];
    let entry = json!({ "name": "raw/a", "bytes": zeros.len(), "blake3": blake3::hash(&zeros).to_hex().as_str() });
    let promise = forged(|m| {
        m["files"] = json!([entry]);
        m["inputs"] = json!([]);
    });
    let mut entries = unpack(&promise);
    entries.truncate(2);
    let name = entries[1].1.replace("run.json", "raw/a");
    entries.push((tar::EntryType::Regular, name, zeros));
    refused_by(&pack(&entries), ArchiveLimits { bytes: 1 << 40, ..generous }, "for what it takes packed");
    assert!(there.import_archive(&archive[..], &generous).is_ok());
}

#[test]
fn a_manifest_that_holds_more_than_anybody_writes_is_refused_before_it_is_read() {
    let many = |n: usize| Value::Array(vec![json!(""); n]);
    refused(&forged(|m| m["command"] = many(30_000)), "30000 words of a command");
    refused(&forged(|m| m["hosts"] = many(20_000)), "20000 hosts");
    let map = |n: usize| Value::Object((0..n).map(|i| (i.to_string(), json!(""))).collect());
    refused(&forged(|m| m["params"] = map(2000)), "2000 parameters");
    refused(&forged(|m| m["tags"] = map(2000)), "2000 tags");
    refused(&forged(|m| m["name"] = json!("x".repeat(2 << 20))), "bytes, and ");
    refused(&forged(|m| m["command"] = many(10_000_000)), "bytes in runs/run=");
}

#[test]
fn labels_that_hold_more_than_anybody_writes_are_refused() {
    let (_dir, store) = store();
    let ids = filled(&store);
    let mut entries = unpack(&export(&store, &ids[..1]));
    let place = entries.iter().position(|(_, name, _)| name.starts_with("labels/")).unwrap();
    entries[place].2 = json!({ "remarks": vec![""; 20_000] }).to_string().into_bytes();
    refused(&pack(&entries), "20000 remarks");
    entries[place].2 = json!({ "name": "x".repeat(2 << 20) }).to_string().into_bytes();
    refused(&pack(&entries), "bytes in labels/");
}

#[test]
fn all_manifests_together_are_bounded() {
    let (_here, here) = store();
    let archive = export(&here, &filled(&here));
    let (_there, there) = store();
    let limits = ArchiveLimits { text: 2000, ..ArchiveLimits::default() };
    let message = there.import_archive(&archive[..], &limits).unwrap_err().to_string();
    assert!(message.contains("bytes of manifests and labels"), "{message}");
    assert!(content(&there).is_empty());
}

#[test]
fn a_list_of_more_runs_than_are_taken_is_refused_before_it_is_read() {
    let head = json!({ "fenxi_archive": 1, "runs": vec![""; 400_000] }).to_string().into_bytes();
    refused(&pack(&[(tar::EntryType::Regular, "fenxi-archive.json".to_owned(), head)]), "more runs than");
}

#[test]
fn a_run_of_a_command_of_any_length_can_be_carried() {
    let (_here, here) = store();
    let mut long = begin("long", 1);
    long.command = vec!["\u{1}x".repeat(20); 100_000];
    let mut open = here.begin(long).unwrap();
    let mut rows = Rows::new("h1");
    tick(1, &mut rows);
    open.append(&mut rows).unwrap();
    let id = open.seal(end(1)).unwrap();
    let command = here.run(&id).unwrap().manifest.command;
    let missing = 100_000 - (command.len() - 1);
    assert_eq!(command.last().unwrap(), &format!("… ({missing} more words)"));
    let listed = &here.summaries().unwrap()[0].command;
    assert!(listed.len() <= 201 && command.starts_with(&listed[..listed.len() - 1]));
    let (_there, there) = store();
    take(&there, &export(&here, std::slice::from_ref(&id))).unwrap();
    assert_eq!(there.run(&id).unwrap().manifest, here.run(&id).unwrap().manifest);
}
