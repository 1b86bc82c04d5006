//! A PostgreSQL that was built without its authors' probes is observed by its functions, and counted the same.

use std::{
    path::{Path, PathBuf},
    process::Command,
};

use fenxi_wire::Mode;

use super::{a_lock_is_a_lock, every_way_of_sending_is_counted_once, latency, skipped, ten_thousand_are_ten_thousand};
use crate::server::{Server, postgres_programs, quietly};

/// A copy of the installed program from which the notes with its probes are removed; None when that cannot be
/// done here.
fn without_notes(installed: &Path, folder: &Path) -> Option<PathBuf> {
    let program = folder.join("postgres");
    let done =
        Command::new("objcopy").args(["--remove-section", ".note.stapsdt"]).arg(installed).arg(&program).status();
    if !done.is_ok_and(|status| status.success()) {
        return None;
    }
    let probe = b"statement__status";
    assert!(
        !fs_err::read(&program).unwrap().windows(probe.len()).any(|bytes| bytes == probe),
        "its notes are still there"
    );
    // The server's user is another one.
    assert!(quietly(Command::new("chmod").arg("755").arg(folder).arg(&program)));
    Some(program)
}

#[test]
fn a_postgres_without_probes_is_counted_the_same_by_its_functions() {
    let Some(installed) = postgres_programs() else { return skipped("PostgreSQL without probes") };
    let folder = tempfile::tempdir().unwrap();
    let Some(program) = without_notes(&installed.join("postgres"), folder.path()) else {
        return eprintln!("SKIPPED querystat of PostgreSQL without probes: objcopy cannot take them out of a copy");
    };
    let server = Server::postgres_by(&program, &[]).unwrap();
    ten_thousand_are_ten_thousand(&server);
    every_way_of_sending_is_counted_once(&server, &[Mode::Simple, Mode::Prepared, Mode::Pipelined]);
    a_lock_is_a_lock(&server);
    latency::inside_is_outside_less_the_round_trip(&server);
}
