//! Manual pages and completions.

use fs_err as fs;

use crate::support::Fenxi;

#[test]
fn every_command_has_a_page_that_man_reads_without_complaint() {
    let fenxi = Fenxi::new();
    let dir = tempfile::tempdir().unwrap();
    fenxi.ok(&["man", "--all", dir.path().to_str().unwrap()]);
    let mut names: Vec<String> =
        fs::read_dir(dir.path()).unwrap().map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    for name in [
        "fenxi.1",
        "fenxi-watch-nicstat.1",
        "fenxi-watch-mpstat.1",
        "fenxi-watch-pstime.1",
        "fenxi-watch-util.1",
        "fenxi-watch-memstat.1",
        "fenxi-watch-db.1",
        "fenxi-load-run.1",
        "fenxi-tamp.1",
    ] {
        assert!(names.iter().any(|n| n == name), "{name} is not among {names:?}");
    }
    assert!(!names.iter().any(|name| name == "fenxi-nicstat.1"), "a name of before has no page");
    let page = fenxi.ok(&["man", "watch", "nicstat"]);
    assert_eq!(fenxi.ok(&["man", "nicstat"]), page, "a tool is found by its own name");
    assert!(page.contains("fenxi\\-watch\\-nicstat") && page.contains("\\fB") && page.contains("\\fI"), "{page}");
    assert!(fenxi.fails(1, &["man", "nicstatt"]).contains("did you mean `nicstat`?"));
    // groff reports macros, escapes and characters that it does not know.
    for name in names {
        let page = dir.path().join(&name);
        match std::process::Command::new("groff").args(["-man", "-Tutf8", "-ww", "-z"]).arg(page).output() {
            Ok(checked) => assert!(checked.stderr.is_empty(), "{name}: {}", String::from_utf8_lossy(&checked.stderr)),
            Err(error) => return crate::support::skipped("groff reads the pages", &error.to_string()),
        }
    }
}

#[test]
fn without_a_command_there_is_help_with_the_commands_in_groups() {
    let fenxi = Fenxi::new();
    let page = fenxi.ok(&[]);
    assert!(page.contains("\nRecord and import:\n  record ") && page.contains("\nTools:\n  inspect "), "{page}");
    assert_eq!(fenxi.ok(&["--help"]), page);
    assert_eq!(fenxi.ok(&["help"]), page);
    let unknown = fenxi.fails(2, &["recrod"]);
    assert!(unknown.contains("'record'"), "{unknown}");
}

#[test]
fn the_licences_of_all_parts_are_printed() {
    let fenxi = Fenxi::new();
    let text = fenxi.ok(&["--licenses"]);
    for part in
        ["* serde_json ", "* DuckDB ", "* preact ", "* libbpf ", "Apache License", "Stichting DuckDB Foundation"]
    {
        assert!(text.contains(part), "{part}");
    }
    let json = fenxi.ok(&["--quiet", "--licenses", "--json"]);
    let parts: Vec<serde_json::Value> = json.lines().map(|l| serde_json::from_str(l).unwrap()).collect();
    assert_eq!(parts.len(), text.lines().filter(|l| l.starts_with("* ") && l.contains(" · ")).count());
    let found = parts.iter().find(|p| p["name"] == "DuckDB").unwrap();
    assert_eq!((found["version"].as_str(), found["licence"].as_str()), (Some("1.5.6"), Some("MIT")));
    assert!(parts.iter().any(|p| p["name"] == "libelf (elfutils)" && p["version"].is_null()));
    // A word of another command stays what it is.
    fenxi.fails(1, &["show", "--", "--licenses"]);
}
