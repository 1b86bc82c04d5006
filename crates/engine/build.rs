//! Links the engine's library, libduckdb.so, from the folder that `DUCKDB_LIB_DIR` names. Only what links this crate needs
//! it: the program `fenxi-engine` and tests.
#![allow(clippy::print_stdout, reason = "this is how a build script answers Cargo")]

use std::path::Path;

/// Names the folder. `scripts/env` sets it, which the Makefile and every script begin with.
const FOLDER: &str = "DUCKDB_LIB_DIR";

fn main() {
    println!("cargo::rerun-if-env-changed={FOLDER}");
    let Some(folder) = std::env::var_os(FOLDER) else {
        println!(
            "cargo::error={FOLDER} is not set: it names the folder of the SQL engine's library. Build with `make build`, or run \
             `. scripts/env` before cargo; `scripts/engine` fetches the library"
        );
        return;
    };
    let folder = Path::new(&folder);
    if !folder.join("libduckdb.so").is_file() {
        println!(
            "cargo::error=there is no libduckdb.so in {} ({FOLDER}): `scripts/engine` fetches it, `scripts/engine --from-source` \
             builds it",
            folder.display()
        );
        return;
    }
    println!("cargo::rustc-link-search=native={}", folder.display());
    println!("cargo::rustc-link-lib=dylib=duckdb");
}
