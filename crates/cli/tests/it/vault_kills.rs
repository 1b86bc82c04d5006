//! Commands that write, many at once and killed at any moment: nothing is lost, and nothing is left.

use std::{
    collections::hash_map::RandomState,
    hash::BuildHasher,
    path::{Path, PathBuf},
    process::Stdio,
    sync::Mutex,
    time::{Duration, Instant},
};

use fenxi_store::{ArchiveLimits, Store};
use rustix::process::Signal;

use crate::support::{Fenxi, signal, text};

/// How often each command is killed unless `FENXI_KILLS` is set.
const KILLS: usize = 4;
/// Commands that are tried at the same time: they mostly wait.
const AT_ONCE: usize = 4;

#[test]
fn forty_tags_set_at_the_same_time_are_all_kept() {
    let fenxi = Fenxi::new();
    fenxi.ok(&["record", "--name", "a", "--interval", "20ms", "--for", "60ms", "--source", "cpu"]);
    let set = |i: usize| match i % 2 {
        0 => fenxi.spawn(&["tag", "a", &format!("t{i}=x"), "--remark", &format!("remark {i}")]),
        _ => fenxi.spawn(&["window", "a", &format!("w{i}"), "0s..0.03s"]),
    };
    let children: Vec<_> = (0..40).map(set).collect();
    for child in children {
        let output = child.wait_with_output().unwrap();
        assert!(output.status.success(), "{}", text(&output.stderr));
    }
    let store = fenxi.store();
    let run = store.select_one("a").unwrap();
    let labels = store.run(&run).unwrap().labels;
    let tags = labels.tags.keys().filter(|key| key.starts_with('t')).count();
    assert_eq!((tags, labels.remarks.len(), labels.windows.len()), (20, 20, 20));
}

/// A command that writes, in a copy of the store.
struct Written {
    name: &'static str,
    args: Vec<String>,
    /// Whether a run that was there may be gone.
    removes: bool,
}

fn commands(dir: &Path) -> Vec<Written> {
    let of =
        |name, args: &[&str], removes| Written { name, args: args.iter().map(|a| (*a).to_owned()).collect(), removes };
    let path = |name: &str| dir.join(name).display().to_string();
    vec![
        of("record", &["record", "--name", "new", "--interval", "10ms", "--for", "80ms", "--source", "cpu,mem"], false),
        of("import", &["import", "--name", "new", &path("vmstat.txt")], false),
        of("archive", &["import", &path("other.tar.zst")], false),
        of("average", &["average", "a", "b", "--name", "new"], false),
        of("export", &["export", "a", "b", "-o", &path("out.tar.zst")], false),
        of("rm", &["rm", "a"], true),
        of("tag", &["tag", "a", "new=yes", "--remark", "new"], false),
        of("window", &["window", "a", "new", "0s..0.03s"], false),
        of("compare", &["compare", "a", "b"], false),
        of("study", &["study", &path("plan.toml")], false),
        of("push", &["push", &path("place")], false),
    ]
}

/// A store with two runs, and what the commands need beside it.
fn prepared() -> (Fenxi, tempfile::TempDir) {
    let (fenxi, dir) = (Fenxi::new(), tempfile::TempDir::new().unwrap());
    for name in ["a", "b"] {
        fenxi.ok(&["record", "--name", name, "--interval", "20ms", "--for", "80ms", "--source", "cpu,mem"]);
        fenxi.ok(&["tag", name, "kept=yes"]);
        fenxi.ok(&["window", name, "steady", "0s..0.06s"]);
    }
    let other = Fenxi::new();
    other.ok(&["record", "--name", "other", "--interval", "20ms", "--for", "60ms", "--source", "cpu"]);
    other.ok(&["tag", "other", "far=yes"]);
    other.ok(&["export", "other", "-o", &dir.path().join("other.tar.zst").display().to_string()]);
    let input = Path::new(env!("CARGO_MANIFEST_DIR")).join("../formats/fixtures/vmstat/t-procps4.txt");
    // Longer than the fixture, so that a kill meets it at work.
    let text = fs_err::read_to_string(input).unwrap().repeat(200);
    fs_err::write(dir.path().join("vmstat.txt"), text).unwrap();
    let plan = "name = \"tiny\"\nrepeats = 1\nseed = 3\ncommand = \"true\"\n[factors]\nn = [1, 2]\n\
                [record]\ninterval = \"20ms\"\nsources = [\"cpu\"]\n";
    fs_err::write(dir.path().join("plan.toml"), plan).unwrap();
    (fenxi, dir)
}

/// Copies a folder with its modes.
pub fn copy(from: &Path, to: &Path) {
    fs_err::create_dir_all(to).unwrap();
    fs_err::set_permissions(to, fs_err::metadata(from).unwrap().permissions()).unwrap();
    for entry in fs_err::read_dir(from).unwrap() {
        let path = entry.unwrap().path();
        let target = to.join(path.file_name().unwrap());
        if path.is_dir() {
            copy(&path, &target);
        } else {
            fs_err::copy(&path, &target).unwrap();
        }
        fs_err::set_permissions(&target, fs_err::metadata(&path).unwrap().permissions()).unwrap();
    }
}

#[test]
fn whatever_command_is_killed_nothing_is_lost_and_nothing_is_left_after_the_next() {
    let (base, dir) = prepared();
    let kills = std::env::var("FENXI_KILLS").ok().and_then(|n| n.parse().ok()).unwrap_or(KILLS);
    let left = Mutex::new(commands(dir.path()));
    std::thread::scope(|scope| {
        for _ in 0..AT_ONCE {
            scope.spawn(|| {
                loop {
                    // The lock is given back before the command is tried.
                    let Some(written) = left.lock().unwrap().pop() else { break };
                    killed(&base, dir.path(), &written, kills);
                }
            });
        }
    });
}

/// Kills a command until so many kills met it at work.
fn killed(base: &Fenxi, dir: &Path, written: &Written, kills: usize) {
    let args: Vec<&str> = written.args.iter().map(String::as_str).collect();
    // How long it takes when it is not killed.
    let whole = {
        let fenxi = Fenxi::new();
        copy(&base.path(), &fenxi.path());
        let begun = Instant::now();
        let output = fenxi.run(&args);
        assert!(output.status.success(), "{}: {}", written.name, text(&output.stderr));
        begun.elapsed()
    };
    let (mut seed, mut met, mut tries) = (RandomState::new().hash_one(written.name), 0, 0);
    while met < kills {
        tries += 1;
        assert!(tries < 20 * kills, "{}: only {met} of {tries} kills met it at work", written.name);
        let fenxi = Fenxi::new();
        copy(&base.path(), &fenxi.path());
        if written.name == "export" {
            let _ = fs_err::remove_file(dir.join("out.tar.zst"));
        }
        let mut command = fenxi.command(&args);
        let mut child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        std::thread::sleep(Duration::from_micros((seed >> 33) % (whole.as_micros() as u64 + 1)));
        signal(&child, Signal::KILL);
        met += usize::from(!child.wait().unwrap().success());
        look(&fenxi, dir, written, tries);
    }
    eprintln!("{}: killed {met} times of {tries} within {} ms", written.name, whole.as_millis());
}

/// Checks the state after a kill and one more command.
fn look(fenxi: &Fenxi, dir: &Path, written: &Written, kill: usize) {
    let what = format!("{} {kill}", written.name);
    fenxi.ok(&["runs", "--quiet"]);
    let verified = fenxi.run(&["verify"]);
    assert!(verified.status.success() && verified.stdout.is_empty(), "{what}: {verified:?}");
    let left: Vec<PathBuf> = fs_err::read_dir(fenxi.path().join("open")).unwrap().map(|e| e.unwrap().path()).collect();
    assert!(left.is_empty(), "{what}: {left:?}");
    let store = fenxi.store();
    let summaries = store.summaries().unwrap();
    for name in ["a", "b"] {
        let Some(run) = summaries.iter().find(|s| s.labels.name.as_deref() == Some(name)) else {
            assert!(written.removes && name == "a", "{what}: run {name} is lost");
            continue;
        };
        let labels = &run.labels;
        assert_eq!(
            (labels.tags.get("kept").map(String::as_str), labels.windows.is_empty()),
            (Some("yes"), false),
            "{what}"
        );
        // The two things that one command sets come together.
        assert_eq!(labels.tags.contains_key("new"), labels.remarks.contains(&"new".to_owned()), "{what}");
    }
    for run in summaries.iter().filter(|s| s.kind == "average") {
        assert!(!run.recovered, "{what}: half an average");
    }
    // A pushed copy is whole once a push came to its end.
    if written.name == "push" {
        let place = dir.join("place").display().to_string();
        fenxi.ok(&["push", &place]);
        let back = Fenxi::new();
        back.ok(&["pull", &place]);
        assert_eq!(back.ok(&["verify"]), "", "{what}");
        assert_eq!(back.store().ids().unwrap().len(), 2, "{what}");
        fs_err::remove_dir_all(dir.join("place")).unwrap();
    }
    // An archive is whole, or has not got its name.
    if written.name == "export"
        && let Ok(archive) = fs_err::File::open(dir.join("out.tar.zst"))
    {
        let other = tempfile::TempDir::new().unwrap();
        let taken = Store::open_or_create(other.path().join("store"))
            .unwrap()
            .import_archive(archive, &ArchiveLimits::default());
        assert_eq!(taken.unwrap().len(), 2, "{what}");
    }
}
