//! A store with a copy, through the binary: killed in the middle of repairs, with a copy on a full disk, and the example.

use std::{
    path::{Path, PathBuf},
    time::Duration,
};

use crate::support::{Fenxi, Tmpfs, skipped, text, walk};

const ASKED: [&str; 4] = ["sql", "-o", "csv", "SELECT * FROM cpu ORDER BY ALL"];

/// A store with a recording, and a copy in `copy`.
fn mirrored(copy: &Path) -> Fenxi {
    let fenxi = Fenxi::new();
    fenxi.ok(&["record", "--quiet", "--name", "a", "--interval", "20ms", "--for", "200ms", "--source", "cpu,mem"]);
    let path = fenxi.path().join("store.json");
    let mut mark: serde_json::Value = serde_json::from_slice(&fs_err::read(&path).unwrap()).unwrap();
    mark["copies"] = serde_json::json!([copy]);
    fs_err::write(&path, mark.to_string()).unwrap();
    fenxi.ok(&["store", "scrub"]);
    fenxi
}

fn table(store: &Path) -> PathBuf {
    walk(store).into_iter().find(|path| path.ends_with("cpu.parquet")).unwrap()
}

fn flip(path: &Path, at: usize) {
    let mut bytes = fs_err::read(path).unwrap();
    let at = at % bytes.len();
    bytes[at] ^= 16;
    fs_err::write(path, bytes).unwrap();
}

#[test]
fn a_kill_in_the_middle_of_a_repair_costs_nothing() {
    let dir = tempfile::TempDir::new().unwrap();
    let fenxi = mirrored(dir.path());
    let right = fenxi.ok(&ASKED);
    let whole = fs_err::read(table(&fenxi.path())).unwrap();
    let rounds = std::env::var("FENXI_KILLS").ok().and_then(|n| n.parse().ok()).unwrap_or(12);
    for round in 0..rounds {
        let side = if round % 3 == 2 { dir.path().to_owned() } else { fenxi.path() };
        flip(&table(&side), 91 + round * 517);
        let args: &[&str] = if round % 3 == 0 { &ASKED } else { &["store", "scrub"] };
        let mut child = fenxi.spawn(args);
        std::thread::sleep(Duration::from_millis((round * 7 % 60) as u64));
        let _ = child.kill();
        child.wait().unwrap();
        assert_eq!(fenxi.ok(&ASKED), right, "round {round}");
        fenxi.ok(&["store", "scrub"]);
        assert_eq!(fs_err::read(table(&fenxi.path())).unwrap(), whole);
        assert_eq!(fs_err::read(table(dir.path())).unwrap(), whole);
    }
    fenxi.ok(&["store", "verify"]);
    fenxi.ok(&["store", "--store", &dir.path().display().to_string(), "verify"]);
    let left: Vec<PathBuf> =
        walk(dir.path()).into_iter().filter(|path| path.to_string_lossy().contains(".part")).collect();
    assert!(left.len() < rounds, "{left:?}");
}

#[test]
fn a_copy_on_a_full_disk_costs_no_recording_and_is_filled_later() {
    const NAME: &str = "a_copy_on_a_full_disk_costs_no_recording_and_is_filled_later";
    let dir = tempfile::TempDir::new().unwrap();
    let Some(_disk) = Tmpfs::mount(dir.path(), 4 << 20) else { return skipped(NAME, "mounting is not permitted") };
    let fenxi = mirrored(dir.path());
    let other = dir.path().join("lost+found");
    assert!(fs_err::write(&other, vec![1; 5 << 20]).is_err(), "what others wrote fills it");
    fenxi.ok(&["record", "--quiet", "--name", "b", "--interval", "20ms", "--for", "100ms", "--source", "cpu"]);
    let right = fenxi.ok(&ASKED);
    let status = text(&fenxi.run(&["store", "status"]).stdout);
    assert!(status.contains("BEHIND") && status.contains("action:"), "{status}");
    fs_err::remove_file(&other).unwrap();
    fenxi.ok(&["store", "scrub"]);
    let status = fenxi.ok(&["store", "status", "--clear"]);
    assert!(status.contains("state: ONLINE") && !status.contains("BEHIND"), "{status}");
    fs_err::remove_file(table(&fenxi.path())).unwrap();
    assert_eq!(fenxi.ok(&ASKED), right);
    let status = fenxi.ok(&["store", "status"]);
    assert!(status.contains("No known data errors") && status.contains("See whether the disk"), "{status}");
    assert!(fenxi.ok(&["store", "scrub", "--every", "7d"]).is_empty());
}

#[test]
fn the_example_shows_the_same_checksum_four_times() {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/self-healing/heal");
    let output = std::process::Command::new(script).arg(env!("CARGO_BIN_EXE_fenxi")).output().unwrap();
    assert!(output.status.success(), "{}{}", text(&output.stdout), text(&output.stderr));
    assert!(text(&output.stdout).contains("no copy could repair it"), "{}", text(&output.stdout));
}
