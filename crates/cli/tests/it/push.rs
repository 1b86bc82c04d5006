//! `fenxi store push` and `pull` through the binary, to a directory and back.

use crate::support::{Fenxi, text, walk};

fn recorded(names: &[&str]) -> Fenxi {
    let fenxi = Fenxi::new();
    for name in names {
        fenxi.ok(&["record", "--quiet", "--name", name, "--interval", "20ms", "--for", "60ms", "--source", "cpu,mem"]);
    }
    fenxi.ok(&["tag", names[0], "good=yes", "--remark", "kept"]);
    fenxi
}

fn json(text: &str) -> serde_json::Value {
    serde_json::from_str(text).unwrap_or_else(|e| panic!("{e}: {text}"))
}

const ASKED: [&str; 4] =
    ["sql", "-o", "csv", "SELECT run, count(*), round(sum(usr), 6) FROM cpu GROUP BY run ORDER BY run"];

#[test]
fn what_is_missing_is_pushed_and_comes_back_equal() {
    let (fenxi, there) = (recorded(&["a", "b", "c"]), tempfile::TempDir::new().unwrap());
    let to = there.path().join("share").display().to_string();
    let told = json(&fenxi.ok(&["push", &to, "--dry-run", "--json"]));
    assert_eq!((&told["runs"], walk(there.path()).len()), (&3.into(), 0), "{told}");
    fenxi.ok(&["push", &to, "a"]);
    let told = json(&fenxi.ok(&["push", &format!("file://{to}"), "--json"]));
    assert_eq!((&told["runs"], &told["known_runs"]), (&2.into(), &1.into()), "{told}");
    let again = json(&fenxi.ok(&["push", &to, "--json"]));
    assert_eq!((&again["runs"], &again["files"]), (&0.into(), &0.into()), "{again}");
    // A label that was changed is all that goes.
    fenxi.ok(&["tag", "b", "good=no"]);
    assert_eq!(json(&fenxi.ok(&["push", &to, "--json"]))["files"], 1);

    let other = Fenxi::new();
    other.ok(&["pull", &to]);
    assert_eq!(other.ok(&ASKED), fenxi.ok(&ASKED));
    assert!(other.ok(&["show", "a"]).contains("kept") && other.ok(&["runs", "good=no"]).contains('b'));
    other.ok(&["verify"]);
    assert_eq!(json(&other.ok(&["pull", &to, "--json"]))["runs"], 0);
    // The copy there is a store as well.
    assert_eq!(text(&fenxi.command(&ASKED).args(["--store", &to]).output().unwrap().stdout), fenxi.ok(&ASKED));
}

#[test]
fn a_push_that_was_interrupted_goes_on_and_a_torn_run_is_not_there() {
    let (fenxi, there) = (recorded(&["a", "b"]), tempfile::TempDir::new().unwrap());
    let to = there.path().display().to_string();
    fenxi.ok(&["push", &to]);
    // As a kill leaves it: without the manifest, which goes last, and without one of the files.
    let run = walk(&there.path().join("runs")).into_iter().find(|p| p.ends_with("run.json")).unwrap();
    fs_err::remove_file(&run).unwrap();
    fs_err::remove_file(run.with_file_name("cpu.parquet")).unwrap();
    let other = Fenxi::new();
    other.ok(&["pull", &to]);
    assert_eq!(other.ok(&["runs", "--json"]).lines().count(), 1);
    let told = json(&fenxi.ok(&["push", &to, "--json"]));
    assert_eq!((&told["runs"], &told["files"]), (&1.into(), &2.into()), "{told}");
    other.ok(&["pull", &to]);
    assert_eq!(other.ok(&ASKED), fenxi.ok(&ASKED));
}

#[test]
fn a_compacted_store_is_pushed_as_it_is_and_pulled_whole() {
    let (fenxi, there) = (recorded(&["a", "b", "c"]), tempfile::TempDir::new().unwrap());
    let to = there.path().display().to_string();
    fenxi.ok(&["push", &to]);
    fenxi.ok(&["compact"]);
    assert!(json(&fenxi.ok(&["push", &to, "--json"]))["removed_files"].as_u64().unwrap() >= 6);
    assert_eq!(text(&fenxi.command(&ASKED).args(["--store", &to]).output().unwrap().stdout), fenxi.ok(&ASKED));
    let other = Fenxi::new();
    other.ok(&["pull", &to]);
    assert_eq!(other.ok(&ASKED), fenxi.ok(&ASKED));
    other.ok(&["verify"]);
    // One run of a compacted store goes as a separate run.
    let alone = tempfile::TempDir::new().unwrap();
    fenxi.ok(&["push", &alone.path().display().to_string(), "b"]);
    assert!(walk(&alone.path().join("runs")).iter().any(|p| p.ends_with("cpu.parquet")));
}

#[test]
fn damage_on_the_way_and_wrong_addresses_are_said() {
    let (fenxi, there) = (recorded(&["a"]), tempfile::TempDir::new().unwrap());
    let to = there.path().display().to_string();
    fenxi.ok(&["push", &to]);
    let file = walk(&there.path().join("runs")).into_iter().find(|p| p.ends_with("cpu.parquet")).unwrap();
    let mut bytes = fs_err::read(&file).unwrap();
    bytes[9] ^= 1;
    fs_err::write(&file, bytes).unwrap();
    let other = Fenxi::new();
    let said = other.fails(1, &["pull", &to]);
    assert!(said.contains("cpu.parquet") && said.contains("BLAKE3"), "{said}");
    assert_eq!(other.ok(&["runs", "--json"]), "");
    assert!(other.fails(1, &["pull", &there.path().join("nothing").display().to_string()]).contains("no store"));
    assert!(other.fails(1, &["pull", "gs://bucket"]).contains("names no place"));
    let mut command = other.command(&["push", "s3://bucket/x"]);
    let said = command.env_remove("AWS_ACCESS_KEY_ID").env_remove("AWS_SECRET_ACCESS_KEY").output().unwrap();
    assert!(text(&said.stderr).contains("AWS_ACCESS_KEY_ID"), "{said:?}");
}
