//! `fenxi watch db`. What it prints of servers is in the tests of the crates `live` and `db`.

use crate::support::Fenxi;

#[test]
fn a_server_that_is_not_there_is_an_error_that_names_it() {
    let fenxi = Fenxi::new();
    let told = fenxi.fails(1, &["dbstat", "postgres://u@127.0.0.1:1/d", "1", "1"]);
    assert!(told.contains("127.0.0.1:1"), "{told}");
    assert!(fenxi.fails(1, &["dbstat", "http://h/d"]).contains("`postgres://` and `mysql://`"));
    assert!(fenxi.fails(1, &["dbstat", "1", "2.5"]).contains("whole number"));
}

#[test]
fn a_saved_copy_of_proc_has_no_server() {
    let fenxi = Fenxi::new();
    let folder = tempfile::tempdir().unwrap();
    let told = fenxi.fails(1, &["dbstat", "--root", folder.path().to_str().unwrap(), "1", "1"]);
    assert!(told.contains("--run shows a recorded one"), "{told}");
}
