//! `scripts/engine`: what lies in the cache is believed by its checksum only.

use std::{
    io::{Read, Seek, SeekFrom, Write},
    os::unix::fs::symlink,
    path::{Path, PathBuf},
    process::{Command, Output},
};

const LIBRARY: &str = "libduckdb.so";

/// The clone.
fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap()
}

/// The library that the tests themselves run with.
fn library() -> PathBuf {
    let script = fs_err::read_to_string(root().join("scripts/engine")).unwrap();
    let version = script.lines().find_map(|l| l.strip_prefix("version=")).unwrap();
    let cache = std::env::var_os("FENXI_CACHE").map(PathBuf::from);
    let cache = cache.unwrap_or_else(|| PathBuf::from(std::env::var_os("HOME").unwrap()).join(".cache/fenxi"));
    cache.join(format!("duckdb-{version}")).join(LIBRARY)
}

/// A cache with a folder for the library in it.
fn cache() -> (tempfile::TempDir, PathBuf) {
    let dir = tempfile::tempdir().unwrap();
    let folder = dir.path().join(library().parent().unwrap().file_name().unwrap());
    fs_err::create_dir(&folder).unwrap();
    (dir, folder)
}

/// The script with a separate cache and no registry.
fn engine(cache: &Path, arguments: &[&str]) -> Output {
    Command::new("bash")
        .arg(root().join("scripts/engine"))
        .args(arguments)
        .env("FENXI_CACHE", cache)
        .env("npm_config_registry", "http://127.0.0.1:9")
        .env("npm_config_fetch_retries", "0")
        .env("npm_config_cache", cache.join("npm"))
        .output()
        .unwrap()
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// Changes one byte in the middle.
fn flip(path: &Path) {
    let mut file = fs_err::OpenOptions::new().read(true).write(true).open(path).unwrap();
    let mut byte = [0];
    file.seek(SeekFrom::Start(5_000_000)).unwrap();
    file.read_exact(&mut byte).unwrap();
    file.seek(SeekFrom::Start(5_000_000)).unwrap();
    file.write_all(&[byte[0] ^ 1]).unwrap();
}

#[test]
fn a_library_with_one_byte_changed_is_never_accepted() {
    let (dir, folder) = cache();
    let place = folder.join(LIBRARY);
    fs_err::copy(library(), &place).unwrap();
    let right = engine(dir.path(), &[]);
    assert!(right.status.success(), "{}", said(&right));
    assert_eq!(String::from_utf8_lossy(&right.stdout).trim(), folder.to_str().unwrap());

    flip(&place);
    let wrong = engine(dir.path(), &[]);
    assert!(!wrong.status.success() && wrong.stdout.is_empty());
    for words in ["is not the pinned library", "SHA-256", "could not fetch", "build the engine from source"] {
        assert!(said(&wrong).contains(words), "{words}: {}", said(&wrong));
    }
    // Nothing that is built here may load it from there.
    assert!(!place.exists() && folder.join("libduckdb.so.refused").exists());
    assert!(!engine(dir.path(), &[]).status.success());
}

#[test]
fn links_and_empty_files_are_not_taken_for_the_library() {
    let (dir, folder) = cache();
    let place = folder.join(LIBRARY);
    fs_err::write(&place, "").unwrap();
    assert!(!engine(dir.path(), &[]).status.success());
    symlink("/nowhere", &place).unwrap();
    assert!(!engine(dir.path(), &[]).status.success());
    assert!(!place.exists());
}

#[test]
fn a_check_changes_nothing() {
    let (dir, folder) = cache();
    let place = folder.join(LIBRARY);
    fs_err::write(&place, "not it").unwrap();
    let checked = engine(dir.path(), &["--check", place.to_str().unwrap()]);
    assert!(!checked.status.success() && said(&checked).contains("is not the pinned library"), "{}", said(&checked));
    assert_eq!(fs_err::read_to_string(&place).unwrap(), "not it");
    assert!(engine(dir.path(), &["--check", library().to_str().unwrap()]).status.success());
}

#[test]
fn building_from_source_asks_for_the_sources() {
    let (dir, _) = cache();
    let built = engine(dir.path(), &["--from-source", dir.path().to_str().unwrap()]);
    assert!(!built.status.success() && built.stdout.is_empty());
    assert!(said(&built).contains("there are no sources of DuckDB in "), "{}", said(&built));
}
