//! Tests of the notices: that they name what is linked, asked another way, and that what lacks a text is refused.

use std::process::Command;

use super::*;

#[test]
fn every_crate_that_is_linked_is_named_with_its_version() {
    let repository = Repository::here();
    let page = repository.read(FILE).unwrap();
    // Asked of another command than the notices are made from.
    for target in ["x86_64-unknown-linux-gnu", "aarch64-unknown-linux-gnu"] {
        let tree = Command::new(std::env::var("CARGO").unwrap_or_else(|_| "cargo".to_owned()))
            .args(["tree", "--locked", "--package", "fenxi-cli", "--edges", "normal,no-proc-macro", "--prefix", "none"])
            .args(["--target", target, "--format", "{p}"])
            .current_dir(&repository.root)
            .output()
            .unwrap();
        let tree = String::from_utf8(tree.stdout).unwrap();
        let outside: Vec<(&str, &str)> =
            tree.lines().filter(|line| !line.contains('(')).filter_map(|line| line.split_once(" v")).collect();
        assert!(outside.len() > 200, "{tree}");
        for (name, version) in outside {
            assert!(page.contains(&format!("\n* {name} {version} · crate · ")), "{name} {version} is not in {FILE}");
        }
    }
}

#[test]
fn what_is_shipped_and_is_no_crate_is_named() {
    let page = Repository::here().read(FILE).unwrap();
    for name in [
        "DuckDB",
        "libelf (elfutils)",
        "libbpf",
        "zlib",
        "Rust standard library",
        "preact",
        "uplot",
        "@codemirror/view",
    ] {
        assert!(page.contains(&format!("\n* {name} ")), "{name}");
    }
    assert!(page.contains("Stichting DuckDB Foundation") && page.contains("GNU LESSER GENERAL PUBLIC LICENSE"));
}

#[test]
fn a_crate_without_a_licence_text_is_refused_with_the_way_out() {
    let repository = Repository::here();
    let folder = repository.root.join("questions");
    let [name, version, licence] = ["bare", "1.0.0", "MIT"].map(str::to_owned);
    let bare = Linked { name, version, licence, folder };
    let bundled: toml::Table = repository.read(BUNDLED).unwrap().parse().unwrap();
    let error = of_crate(&repository, &bare, &[], &bundled, &mut Texts::default()).unwrap_err().to_string();
    assert!(error.contains("bare 1.0.0") && error.contains("[stand-in]"), "{error}");
}

#[test]
fn texts_of_another_release_are_refused() {
    let repository = Repository::here();
    let mut bundled: toml::Table = repository.read(BUNDLED).unwrap().parse().unwrap();
    bundled["release"]["duckdb"] = "1.0.0".into();
    let error = same_releases(&repository, &bundled).unwrap_err().to_string();
    assert!(error.contains("duckdb are of release 1.0.0"), "{error}");
}

#[test]
fn a_page_without_notices_is_refused() {
    let read = |file: &str| of_page("app.js", file, "pages", &mut Texts::default());
    assert!(read("var a=1").is_err());
    assert!(read("/*! Contains\npreact 1 MIT */").is_err());
    let parts = read("/*! Contains:\n@a/b 1.0.0 (MIT): Copyright (c) A\n\nText\n*/\nvar a").unwrap();
    assert_eq!(
        (parts[0].name.as_str(), parts[0].version.as_str(), parts[0].head[0].as_str()),
        ("@a/b", "1.0.0", "Copyright (c) A")
    );
}
