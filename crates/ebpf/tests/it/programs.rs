//! C programs of known behaviour, compiled once.

use std::{
    collections::BTreeMap,
    path::PathBuf,
    process::Command,
    sync::{Mutex, PoisonError},
};

/// The program of `programs/NAME.c`; None, reported, when it cannot be compiled here.
pub fn compiled(name: &'static str, options: &[&str]) -> Option<PathBuf> {
    compiled_as(name, name, options)
}

/// As [`compiled`], as the file `to`.
pub fn compiled_as(to: &'static str, name: &'static str, options: &[&str]) -> Option<PathBuf> {
    static BUILT: Mutex<BTreeMap<&str, Option<PathBuf>>> = Mutex::new(BTreeMap::new());
    let mut built = BUILT.lock().unwrap_or_else(PoisonError::into_inner);
    let program = built.entry(to).or_insert_with(|| {
        let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("programs-{}", std::process::id()));
        fs_err::create_dir_all(&folder).unwrap();
        let source = format!("{}/tests/it/programs/{name}.c", env!("CARGO_MANIFEST_DIR"));
        let program = folder.join(to);
        let done = Command::new("cc").args(options).arg("-o").arg(&program).arg(source).status();
        done.is_ok_and(|status| status.success()).then_some(program)
    });
    if program.is_none() {
        eprintln!("SKIPPED {name}.c: `cc` cannot compile it here");
    }
    program.clone()
}
