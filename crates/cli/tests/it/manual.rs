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
        "fenxi-nicstat.1",
        "fenxi-mpstat.1",
        "fenxi-pstime.1",
        "fenxi-util.1",
        "fenxi-memstat.1",
        "fenxi-tamp.1",
    ] {
        assert!(names.iter().any(|n| n == name), "{name} is not among {names:?}");
    }
    let page = fenxi.ok(&["man", "nicstat"]);
    assert!(page.contains("fenxi\\-nicstat") && page.contains("\\fB") && page.contains("\\fI"), "{page}");
    assert!(fenxi.fails(1, &["man", "nicstatt"]).contains("did you mean `nicstat`?"));
    // groff tells of macros and escapes that it does not know.
    match std::process::Command::new("groff")
        .args(["-man", "-Tutf8", "-ww", "-z"])
        .arg(dir.path().join("fenxi-nicstat.1"))
        .output()
    {
        Ok(checked) => assert!(checked.stderr.is_empty(), "{}", String::from_utf8_lossy(&checked.stderr)),
        Err(error) => crate::support::skipped("groff reads the pages", &error.to_string()),
    }
}

#[test]
fn completions_know_the_commands() {
    let fenxi = Fenxi::new();
    for shell in ["bash", "zsh", "fish"] {
        let text = fenxi.ok(&["completions", shell]);
        assert!(text.contains("nicstat") && text.contains("compare"), "{shell}");
    }
    fenxi.fails(2, &["completions", "tcl"]);
}
