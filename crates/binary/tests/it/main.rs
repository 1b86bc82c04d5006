//! Programs that are compiled here: two that differ in one option are told apart by the field that the option changes, two of
//! the same options are not. Damaged ones are read without a panic.

#![allow(clippy::print_stderr, reason = "a test prints what it could not do")]

use std::{
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use fenxi_binary::{Binary, Depth, FIELDS, Looked, look, process};
use fenxi_procfs::{Processes, Root};
use tempfile::TempDir;

const SOURCE: &str = "
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
struct pair { double a, b; };
__attribute__((noinline)) double sum(const double *x, const double *y, int n) {
    double s = 0;
    for (int i = 0; i < n; i++) s += x[i] * y[i] + 1.0;
    return s;
}
__attribute__((noinline)) int fill(char *to, const char *from, int n) {
    char buffer[64];
    snprintf(buffer, sizeof buffer, \"%s %d\", from, n);
    strcpy(to, buffer);
    return (int)strlen(to);
}
__attribute__((noinline)) int deep(int n, struct pair *p) {
    struct pair q[4];
    memset(q, n, sizeof q);
    q[n & 3].a += p->b;
    return n ? deep(n - 1, &q[n & 3]) + (int)q[1].a : (int)p->a;
}
int main(int argc, char **argv) {
    double *x = malloc(800), *y = calloc(100, 8);
    char text[128];
    struct pair p = { argc, 2 };
    for (int i = 0; i < 100; i++) x[i] = i;
    printf(\"%d %f %d\\n\", fill(text, argv[0], argc), sum(x, y, 100), deep(argc, &p));
    free(x); free(y);
    return 0;
}
";

/// Options of two programs, and the field that tells them apart.
const PAIRS: &[(&str, &str, &str)] = &[
    ("-O1 -g", "-O2 -g", "options"),
    ("-O1 -frecord-gcc-switches", "-O3 -frecord-gcc-switches", "options"),
    ("-O2", "-O2 -march=x86-64-v3", "code"),
    ("-O2", "-O2 -fno-omit-frame-pointer", "frame pointers"),
    ("-O2 -g", "-O2 -g -flto", "lto"),
    ("-O2", "-O2 -no-pie -fno-pie", "kind"),
    ("-O2", "-O2 -static", "allocator"),
    ("-O2", "-O2 -s", "debug"),
    ("-O2 -c -fcf-protection=none", "-O2 -c -fcf-protection=full", "hardening"),
    ("-O2 -Wl,-z,lazy", "-O2 -Wl,-z,now", "hardening"),
    ("-O2 -fno-stack-protector", "-O2 -fstack-protector-all", "hardening"),
    ("-O2", "-O2 -Wl,--enable-new-dtags,-rpath,/opt/lib", "runpath"),
    ("-O2", "-O2 -Wl,--disable-new-dtags,-rpath,/opt/lib", "rpath"),
    ("-O2", "-O2 -Wl,--build-id=none", "build id"),
    ("-O2", "-O2 -Wl,--no-as-needed -lm", "libraries"),
];

fn has(program: &str) -> bool {
    Command::new(program)
        .arg("--version")
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .is_ok_and(|s| s.success())
}

/// Compiles; None where the compiler refuses, with what it printed.
fn compile(compiler: &str, source: &str, options: &str, to: &Path) -> Result<(), String> {
    let words = options.split(' ').filter(|word| !word.is_empty());
    let file = to.parent().unwrap().join(source);
    let done = Command::new(compiler).arg(file).args(words).arg("-o").arg(to).output().map_err(|e| e.to_string())?;
    done.status.success().then_some(()).ok_or_else(|| String::from_utf8_lossy(&done.stderr).into_owned())
}

fn seen(path: &Path) -> Looked {
    look(&Root::live(), path.to_str().unwrap(), ("", ""), Depth::Whole).unwrap()
}

/// Names of the fields that are not the same.
fn differing(a: &Looked, b: &Looked) -> Vec<&'static str> {
    let differs = |field: &&fenxi_binary::Field| field.name != "file" && (field.of)(a) != (field.of)(b);
    FIELDS.iter().filter(differs).map(|field| field.name).collect()
}

fn folder() -> TempDir {
    let dir = tempfile::tempdir().unwrap();
    fs_err::write(dir.path().join("a.c"), SOURCE).unwrap();
    dir
}

#[test]
fn programs_that_differ_in_one_option_are_told_apart() {
    let mut tried = 0;
    for compiler in ["gcc", "clang"] {
        if !has(compiler) {
            eprintln!("SKIPPED binaries of {compiler}: it is not installed");
            continue;
        }
        for (i, (first, second, field)) in PAIRS.iter().enumerate() {
            let dir = folder();
            let [a, b] = ["one", "two"].map(|name| dir.path().join(name));
            let done = compile(compiler, "a.c", first, &a).and_then(|()| compile(compiler, "a.c", second, &b));
            if let Err(why) = done {
                eprintln!("SKIPPED binaries of {compiler} with {second}: {}", why.lines().next().unwrap_or_default());
                continue;
            }
            let (a, b) = (seen(&a), seen(&b));
            let differ = differing(&a, &b);
            // clang does not leave its options in DWARF unless asked to.
            if compiler == "gcc" || *field != "options" {
                assert!(
                    differ.contains(field),
                    "{compiler} pair {i} ({first} | {second}): {field} is not in {differ:?}\n{a:#?}"
                );
            }
            tried += 1;
        }
    }
    assert!(tried == 0 || tried >= 10, "only {tried} pairs could be compiled");
}

#[test]
fn programs_of_the_same_options_do_not_differ() {
    if !has("gcc") {
        eprintln!("SKIPPED binaries of gcc: it is not installed");
        return;
    }
    for options in ["-O2", "-O2 -s", "-O3 -march=x86-64-v3", "-O2 -flto"] {
        let dir = folder();
        let [a, b] = ["one", "two"].map(|name| dir.path().join(name));
        compile("gcc", "a.c", options, &a).unwrap();
        compile("gcc", "a.c", options, &b).unwrap();
        assert_eq!(differing(&seen(&a), &seen(&b)), Vec::<&str>::new(), "{options}");
    }
}

#[test]
fn programs_of_rustc_name_it_and_show_the_level_of_their_code() {
    if !has("rustc") {
        eprintln!("SKIPPED binaries of rustc: it is not installed");
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let source = "fn main() { let v: Vec<f64> = std::env::args().map(|a| a.len() as f64).collect();
        println!(\"{}\", v.iter().map(|x| x * 1.5 + 2.0).sum::<f64>()); }";
    fs_err::write(dir.path().join("a.rs"), source).unwrap();
    let [a, b] = ["one", "two"].map(|name| dir.path().join(name));
    compile("rustc", "a.rs", "-O", &a).unwrap();
    let (a, text) = (seen(&a), |looked: &Looked, name: &str| {
        FIELDS.iter().find(|field| field.name == name).and_then(|field| (field.of)(looked))
    });
    assert!(text(&a, "compiler").unwrap().contains("rustc version"), "{a:#?}");
    assert!(text(&a, "allocator").unwrap().starts_with("glibc"), "{a:#?}");
    if cfg!(target_arch = "x86_64") {
        compile("rustc", "a.rs", "-O -C target-cpu=x86-64-v3", &b).unwrap();
        assert!(differing(&a, &seen(&b)).contains(&"code"));
    }
}

/// A library that defines malloc, and a program that asks for it in its RUNPATH; None where there is no compiler.
fn with_library(dir: &Path) -> Option<PathBuf> {
    if !has("gcc") {
        eprintln!("SKIPPED binaries of gcc: it is not installed");
        return None;
    }
    let own = "#include <stddef.h>\nstatic char pool[1 << 24]; static size_t used;\n\
        void *malloc(size_t n) { void *p = pool + used; used += (n + 15) & ~15ul; return p; }\n\
        void free(void *p) { (void)p; }\n\
        void *calloc(size_t a, size_t b) { return malloc(a * b); }\n\
        void *realloc(void *p, size_t n) { char *q = malloc(n); for (size_t i = 0; p && i < n; i++) q[i] = ((char *)p)[i]; return q; }\n";
    fs_err::write(dir.join("own.c"), own).unwrap();
    fs_err::write(
        dir.join("wait.c"),
        "#include <unistd.h>\nint main(void) { write(1, \"x\", 1); pause(); return 0; }\n",
    )
    .unwrap();
    let library = dir.join("libown.so");
    compile("gcc", "own.c", "-shared -fPIC -fno-builtin -Wl,-soname,libown.so", &library).unwrap();
    compile("gcc", "wait.c", "-O2", &dir.join("wait")).unwrap();
    Some(library)
}

#[test]
fn the_allocator_is_the_first_library_that_defines_malloc() {
    let dir = folder();
    let Some(library) = with_library(dir.path()) else { return };
    let linked = dir.path().join("linked");
    compile("gcc", "a.c", "-Wl,--no-as-needed -L. -l:libown.so -Wl,-rpath,$ORIGIN", &linked)
        .or_else(|_| {
            let options = format!("-Wl,--no-as-needed {} -Wl,--enable-new-dtags,-rpath,$ORIGIN", library.display());
            compile("gcc", "a.c", &options, &linked)
        })
        .unwrap();
    let library = fs_err::canonicalize(library).unwrap();
    let looked = seen(&linked);
    let found = fs_err::canonicalize(&looked.allocator.as_ref().unwrap().file).unwrap();
    assert_eq!((found, looked.libraries[0].found_by), (library.clone(), "RUNPATH"), "{looked:#?}");
    let preload = library.to_str().unwrap();
    let path = dir.path().join("wait");
    let plain = look(&Root::live(), path.to_str().unwrap(), ("", ""), Depth::Quick).unwrap();
    let loaded = look(&Root::live(), path.to_str().unwrap(), ("", preload), Depth::Quick).unwrap();
    assert_eq!((plain.allocator.unwrap().name.as_str(), loaded.allocator.unwrap().file.as_str()), ("glibc", preload));
}

#[test]
fn a_process_has_what_is_mapped_and_lacks_what_was_not_found() {
    use std::io::Read as _;
    let dir = folder();
    let Some(library) = with_library(dir.path()) else { return };
    let library = fs_err::canonicalize(library).unwrap();
    let preload = format!("{}:libnosuch.so", library.display());
    let mut command = Command::new(dir.path().join("wait"));
    command.env("LD_PRELOAD", preload).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut child = command.spawn().unwrap();
    child.stdout.take().unwrap().read_exact(&mut [0]).unwrap();
    let looked = process(&Processes::of(&Root::live()), child.id(), Depth::Quick);
    child.kill().unwrap();
    child.wait().unwrap();
    let looked = looked.unwrap();
    let preload: Vec<(&str, bool)> = looked.preload.iter().map(|p| (p.name.as_str(), p.is_loaded)).collect();
    assert_eq!(preload, [(library.to_str().unwrap(), true), ("libnosuch.so", false)], "{looked:#?}");
    assert_eq!(looked.allocator.unwrap().file, library.to_str().unwrap());
    assert!(
        looked.libraries.iter().any(|l| l.name == "libc.so.6" && l.found_by == "mapped"),
        "{:#?}",
        looked.libraries
    );
}

#[test]
fn what_is_cut_or_damaged_is_read_without_a_panic() {
    let whole = fs_err::read("/proc/self/exe").unwrap();
    let whole = &whole[..whole.len().min(1 << 20)];
    for end in (0..whole.len()).step_by(whole.len() / 300 + 1) {
        let _ = Binary::read(&whole[..end], Depth::Whole);
    }
    let mut state = 7u64;
    for _ in 0..300 {
        let mut damaged = whole.to_vec();
        for _ in 0..8 {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            let at = (state >> 33) as usize % 4096.min(damaged.len());
            damaged[at] = (state >> 20) as u8;
        }
        let _ = Binary::read(&damaged[..], Depth::Whole);
    }
    assert!(Binary::read(&b"#!/bin/sh\n"[..], Depth::Quick).unwrap_err().to_string().contains("a script"));
}
