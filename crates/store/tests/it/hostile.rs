//! Stores that came from somebody: links, pipes and devices where a store has its files lead nothing out of it and hold nothing
//! up, and one file that is damaged hides no other.

use std::{
    path::Path,
    time::{Duration, Instant},
};

use fenxi_model::{Micros, Rows};
use fenxi_store::{Labels, Mark, Store};
use fs_err::{self as fs, os::unix::fs::symlink};
use rustix::fs::{CWD, FileType, Mode, mknodat};

use crate::common::{begin, end, run, store, tick};

fn pipe(path: &Path) {
    mknodat(CWD, path, FileType::Fifo, Mode::RWXU, 0).unwrap();
}

fn named(name: &str) -> Labels {
    Labels { name: Some(name.to_owned()), ..Labels::default() }
}

/// The text of an error, which must not take long.
fn says<T: std::fmt::Debug, E: std::fmt::Display + std::fmt::Debug>(of: impl FnOnce() -> Result<T, E>) -> String {
    let begun = Instant::now();
    let message = of().unwrap_err().to_string();
    assert!(begun.elapsed() < Duration::from_secs(10), "{message}");
    message
}

#[test]
fn a_folder_of_a_store_that_is_a_link_is_refused_by_name_and_nothing_is_written_behind_it() {
    let (dir, store) = store();
    run(&store, "a", 1, 1);
    let other_place = dir.path().join("other_place");
    fs::create_dir(&other_place).unwrap();
    for name in ["cache", "labels", "locks", "open", "questions", "boards", "runs", "compacted", "store.json"] {
        let (path, kept) = (store.path().join(name), dir.path().join("kept"));
        fs::create_dir_all(store.path().join("boards")).unwrap();
        fs::rename(&path, &kept).unwrap();
        symlink(&other_place, &path).unwrap();
        let message = says(|| Store::open(store.path()));
        assert!(message.contains(&format!("{name} is a symbolic link")), "{message}");
        // Also where it was opened before the link came.
        let _ = store.set_labels(&store.ids().unwrap_or_default().pop().unwrap_or(common_id()), &named("x"));
        let _ = store.keep_question("q", "SELECT 1");
        let _ = store.summaries();
        let _ = store.begin(begin("b", 2));
        assert_eq!(fs::read_dir(&other_place).unwrap().count(), 0, "{name}");
        fs::remove_file(&path).unwrap();
        fs::rename(&kept, &path).unwrap();
    }
    assert_eq!(Store::open(store.path()).unwrap().ids().unwrap().len(), 1);
}

fn common_id() -> fenxi_model::RunId {
    fenxi_model::RunId::parse("20261121T143553-a-k3f9").unwrap()
}

#[test]
fn a_label_file_that_is_damaged_or_a_link_does_not_hide_the_other_runs() {
    let (dir, store) = store();
    let (one, two) = (run(&store, "a", 1, 1), run(&store, "b", 2, 1));
    store.set_labels(&one, &named("one")).unwrap();
    store.set_labels(&two, &named("two")).unwrap();
    let path = store.path().join(format!("labels/{two}.json"));
    let good = fs::read(&path).unwrap();
    let mut flipped = good.clone();
    flipped[100] ^= 1;
    let outside = dir.path().join("outside.json");
    fs::write(&outside, &good).unwrap();
    let wrongs: [(&str, &dyn Fn()); 5] = [
        ("was changed: its digest does not fit", &|| fs::write(&path, &flipped).unwrap()),
        ("is a symbolic link", &|| symlink(&outside, &path).unwrap()),
        ("is a symbolic link", &|| symlink("nowhere", &path).unwrap()),
        ("is a named pipe", &|| pipe(&path)),
        ("bytes, and at most", &|| fs::File::create(&path).unwrap().set_len(3 << 30).unwrap()),
    ];
    for (what, make) in wrongs {
        fs::remove_file(&path).unwrap();
        make();
        for _ in 0..2 {
            let (all, wrong) = store.listing().unwrap();
            let names: Vec<_> = all.iter().map(|run| (run.id.clone(), run.labels.name.clone().unwrap())).collect();
            assert!(names.contains(&(one.clone(), "one".to_owned())), "{names:?}");
            assert!(names.contains(&(two.clone(), "b".to_owned())), "{names:?}");
            assert!(wrong.len() == 1 && wrong[0].to_string().contains(what), "{what}: {wrong:?}");
            assert!(wrong[0].to_string().contains(path.to_str().unwrap()), "{wrong:?}");
        }
        // Who asks by labels must not be answered without some.
        assert!(says(|| store.summaries()).contains(what));
        assert!(says(|| store.run(&two)).contains(what));
        assert!(store.run(&one).is_ok());
    }
    fs::remove_file(&path).unwrap();
    fs::write(&path, &good).unwrap();
    assert_eq!(store.summaries().unwrap().len(), 2);
}

#[test]
fn pipes_in_place_of_files_hold_nothing_up() {
    let (_dir, store) = store();
    let id = run(&store, "a", 1, 1);
    let in_place = |name: &str, says_so: &dyn Fn() -> String| {
        let path = store.path().join(name);
        let kept = fs::read(&path).unwrap_or_default();
        let _ = fs::remove_file(&path);
        pipe(&path);
        let message = says_so();
        assert!(message.contains("is a named pipe"), "{name}: {message}");
        fs::remove_file(&path).unwrap();
        fs::write(&path, kept).unwrap();
    };
    in_place("store.json", &|| says(|| Store::open(store.path())));
    in_place(&format!("runs/run={id}/run.json"), &|| says(|| Store::open(store.path()).unwrap().run(&id)));
    in_place(&format!("runs/run={id}/cpu.parquet"), &|| {
        let fresh = Store::open(store.path()).unwrap();
        says(|| fresh.check(&fresh.files("cpu", None).unwrap()))
    });
    in_place("questions/q.sql", &|| says(|| store.question_text("q")));
    in_place("locks/changes", &|| says(|| store.set_labels(&id, &named("x"))));
    // A recording of a dead recorder, or of one who wants to look like one.
    let open = store.path().join("open").join("20261121T143553-x-k3f9");
    fs::create_dir(&open).unwrap();
    fs::write(open.join("lock"), "").unwrap();
    pipe(&open.join("begin.json"));
    let begun = Instant::now();
    let _ = store.recover();
    assert!(store.left().unwrap().is_empty() && begun.elapsed() < Duration::from_secs(10));
    fs::remove_dir_all(&open).unwrap();
}

#[test]
fn questions_and_marks_that_are_links_are_neither_read_nor_written() {
    let (dir, store) = store();
    let victim = dir.path().join("victim");
    fs::write(&victim, "SECRET").unwrap();
    symlink(&victim, store.path().join("questions/q.sql")).unwrap();
    assert!(says(|| store.question_text("q")).contains("q.sql is a symbolic link"));
    fs::create_dir_all(store.path().join("boards")).unwrap();
    symlink(&victim, store.path().join("boards/x.md")).unwrap();
    assert!(says(|| store.read_text(&store.path().join("boards/x.md"))).contains("x.md is a symbolic link"));
    assert!(says(|| store.read_text(&victim)).contains("does not lie in the store"));
    let open = store.begin(begin("b", 2)).unwrap();
    let id = open.id().clone();
    let marks = store.path().join("open").join(id.as_str()).join("marks.jsonl");
    symlink(&victim, &marks).unwrap();
    let mark = Mark { t: Micros(1), text: "x".to_owned(), host: None };
    assert!(says(|| store.mark(&id, mark.clone())).contains("marks.jsonl is a symbolic link"));
    assert_eq!(fs::read(&victim).unwrap(), b"SECRET");
    fs::remove_file(&marks).unwrap();
    store.mark(&id, mark).unwrap();
    assert_eq!(store.marks(&id).unwrap().len(), 1);
}

#[test]
fn links_where_a_recording_is_sealed_lead_nowhere_and_are_not_in_the_way() {
    let (dir, store) = store();
    let other_place = dir.path().join("other_place");
    fs::create_dir(&other_place).unwrap();
    fs::write(other_place.join("victim"), "precious").unwrap();
    for (random, behind) in [(1, other_place.clone()), (2, other_place.join("not there"))] {
        let mut open = store.begin(begin("b", random)).unwrap();
        let mut rows = Rows::new("h1");
        tick(1, &mut rows);
        open.append(&mut rows).unwrap();
        let id = open.id().clone();
        symlink(other_place.join("victim"), store.path().join("open").join(id.as_str()).join("end.json")).unwrap();
        symlink(&behind, store.path().join(format!("open/.sealing-{id}"))).unwrap();
        open.seal(end(1)).unwrap();
        assert_eq!(store.verify(&id).unwrap(), []);
    }
    assert_eq!(fs::read_to_string(other_place.join("victim")).unwrap(), "precious");
    assert_eq!(fs::read_dir(&other_place).unwrap().count(), 1);
    assert_eq!(fs::read_dir(store.path().join("open")).unwrap().count(), 0);
}
