//! `fenxi inspect`.

mod measure;

use std::{path::Path, process::ExitCode};

use anyhow::{Context, bail};
use clap::Args;
use fenxi_binary::{Depth, FIELDS, Looked, files_of, look, process};
use fenxi_model::Unit;
use fenxi_procfs::{Processes, Root, online_cpus};
use serde_json::json;

use crate::{
    options::{Global, JsonArgs},
    print,
};

/// `fenxi inspect`
#[derive(Debug, Args)]
#[command(after_help = "\
Shows of programs, libraries and object files (ELF): compilers and their
options (DWARF, .comment, notes of build attributes, Go's build information),
the level of x86-64 that they need (v1 to v4), link-time optimisation, frame
pointers, hardening, build-id, package, libraries and where the loader finds
them (RPATH, RUNPATH, LD_LIBRARY_PATH, ld.so.cache), and the allocator: the
first library in the order of lookup that defines malloc.

Options are known where a file keeps them: built with -g, with
-frecord-gcc-switches, by Go, or with its debug file in /usr/lib/debug. What is
unknown is left out. Of a process (-p), libraries are those that it has mapped,
and libraries in LD_PRELOAD that it does not have are listed.

--measure is about this machine instead: latency and bandwidth of each level of
memory, in some seconds in which the CPUs are busy. Latency is that of loads in
random order, each of which depends on the one before.

Several files are shown side by side; --differs leaves out what is the same.
A recording keeps these facts of its command and of database servers (topic
`binary`), and `fenxi compare` reports when the binaries differ.

Examples:
  fenxi inspect /usr/sbin/mariadbd          how was it built?
  fenxi inspect gzip                        looked for in PATH
  fenxi inspect -p $(pidof mariadbd)        what serves it: allocator, libraries
  fenxi inspect ./old/app ./new/app --differs
  fenxi inspect --package postgresql-15     all programs of a package
  fenxi inspect app.o -f json
  fenxi inspect --measure                   how fast are caches and memory?")]
pub struct InspectArgs {
    /// Programs, libraries, object files; a name without a slash is also looked for in PATH
    #[arg(value_name = "FILE", required_unless_present_any = ["pid", "package", "measure"])]
    pub files: Vec<String>,
    /// The programs of these processes, with what they have loaded
    #[arg(short, long = "pid", value_name = "PID", value_delimiter = ',')]
    pub pid: Vec<u32>,
    /// All ELF files of these packages (dpkg, apk, pacman)
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    pub package: Vec<String>,
    /// Measure the caches and the memory of this machine instead
    #[arg(long, conflicts_with_all = ["files", "pid", "package", "differs"])]
    pub measure: bool,
    /// Only what is not the same in all of them
    #[arg(long)]
    pub differs: bool,
    /// Form of the output
    #[command(flatten)]
    pub form: JsonArgs,
}

/// So many are shown side by side; more, as a list.
const SIDE_BY_SIDE: usize = 4;

/// Shows them.
pub fn run(_global: &Global, args: &InspectArgs) -> anyhow::Result<ExitCode> {
    if args.measure {
        return measured(args.form.is_json());
    }
    let all = looked(args)?;
    if args.form.is_json() {
        let lines: Result<Vec<String>, _> = all.iter().map(serde_json::to_string).collect();
        print::json(&format!("{}\n", lines?.join("\n")))?;
        return Ok(ExitCode::SUCCESS);
    }
    if args.differs && all.len() < 2 {
        bail!("--differs needs at least two files or processes");
    }
    for looked in &all {
        looked.notes.iter().for_each(|note| print::message(&format!("{}: {note}", looked.path)));
    }
    match all.as_slice() {
        [one] => print::text(&block(one))?,
        all if all.len() <= SIDE_BY_SIDE || args.differs => print::text(&side_by_side(all, args.differs))?,
        all => print::text(&list(all))?,
    }
    Ok(ExitCode::SUCCESS)
}

/// Measures this machine's caches and memory.
fn measured(as_json: bool) -> anyhow::Result<ExitCode> {
    let root = Root::live();
    let cpus = online_cpus(&root).map_or(1, |cpus| cpus.len());
    let mut rows = Vec::new();
    for level in measure::levels(&root) {
        let found = measure::measure(&level, cpus);
        if as_json {
            print::json(&format!(
                "{}\n",
                json!({ "level": level.name, "bytes": level.bytes, "buffer_bytes": level.buffer, "cpus": cpus,
                    "latency_ns": 1e9 * found.latency_s, "read_bytes_per_s": found.read,
                    "copy_bytes_per_s": found.copy, "copy_all_bytes_per_s": found.copy_all })
            ))?;
            continue;
        }
        let per_s = |value: f64| Unit::BytesPerS.human(value).to_string();
        let bytes = level.bytes.map_or_else(|| "-".to_owned(), |bytes| Unit::Bytes.human(bytes as f64).to_string());
        let latency = format!("{:.1} ns", 1e9 * found.latency_s);
        rows.push(vec![level.name, bytes, latency, per_s(found.read), per_s(found.copy), per_s(found.copy_all)]);
    }
    if !as_json {
        let all = format!("COPY, {cpus} CPUs");
        print::text(&print::listing(
            &["LEVEL", "SIZE", "LATENCY", "READ", "COPY", &all],
            &[1, 2, 3, 4, 5],
            &[],
            &rows,
        ))?;
    }
    Ok(ExitCode::SUCCESS)
}

fn looked(args: &InspectArgs) -> anyhow::Result<Vec<Looked>> {
    let root = Root::live();
    let environment = |name: &str| std::env::var(name).unwrap_or_default();
    let (library_path, preload) = (environment("LD_LIBRARY_PATH"), environment("LD_PRELOAD"));
    let mut all = Vec::new();
    for file in &args.files {
        let path = found(file)?;
        all.push(look(&root, &path, (&library_path, &preload), Depth::Whole).with_context(|| path.clone())?);
    }
    let processes = Processes::of(&root);
    for pid in &args.pid {
        if !processes.has(*pid) {
            bail!("there is no process {pid}");
        }
        let of = process(&processes, *pid, Depth::Whole);
        all.push(of.with_context(|| {
            format!("process {pid} (kernel threads have no program; others need its user or root)")
        })?);
    }
    for package in &args.package {
        let files = files_of(&root, package);
        if files.is_empty() {
            bail!("no package {package} is known to dpkg, apk or pacman; `rpm -ql {package}` lists files of rpm's");
        }
        // A file that is no ELF file is no program; one that may not be read is reported.
        let before = all.len();
        for path in files.iter().filter(|path| Path::new(path).is_file() && !Path::new(path).is_symlink()) {
            match look(&root, path, (&library_path, ""), Depth::Whole) {
                Ok(looked) => all.push(looked),
                Err(fenxi_binary::Error::Other(_)) => {}
                Err(error) => print::message(&format!("{path}: {error}")),
            }
        }
        if all.len() == before {
            bail!("package {package} has no ELF files");
        }
    }
    Ok(all)
}

/// Where a file is: as it is named, or in PATH.
fn found(name: &str) -> anyhow::Result<String> {
    let here = Path::new(name);
    let in_path = || {
        let folders = std::env::var_os("PATH").filter(|_| !name.contains('/'))?;
        std::env::split_paths(&folders).map(|dir| dir.join(name)).find(|path| path.is_file())
    };
    let path = if here.exists() { Some(here.to_owned()) } else { in_path() };
    let Some(path) = path else {
        bail!("there is no file {name}{}", if name.contains('/') { "" } else { ", here or in PATH" });
    };
    Ok(fs_err::canonicalize(path)?.to_string_lossy().into_owned())
}

/// One program: a line for each thing that is known.
fn block(looked: &Looked) -> String {
    let known = FIELDS.iter().filter_map(|field| Some((field.name, (field.of)(looked)?)));
    let lines = known.map(|(name, value)| {
        let value: Vec<String> = value.lines().map(|line| print::visible(line).into_owned()).collect();
        format!("{name:<20}{}\n", value.join(&format!("\n{:20}", "")))
    });
    lines.collect()
}

/// A line for each thing, a column for each program.
fn side_by_side(all: &[Looked], only_differing: bool) -> String {
    let mut rows: Vec<Vec<String>> = Vec::new();
    for field in FIELDS.iter().filter(|field| !matches!(field.name, "file" | "process")) {
        let values: Vec<Option<String>> = all.iter().map(field.of).collect();
        let is_same = values.windows(2).all(|pair| pair[0] == pair[1]);
        if values.iter().all(Option::is_none) || (only_differing && is_same) {
            continue;
        }
        let lines: Vec<Vec<&str>> =
            values.iter().map(|value| value.as_deref().unwrap_or("-").lines().collect()).collect();
        // Of many lines (libraries), those that all have are no difference.
        let shown = |own: &[&str]| -> Vec<String> {
            let is_common = |line: &&str| lines.iter().all(|other| other.contains(line));
            own.iter().filter(|line| !only_differing || !is_common(line)).map(|line| (*line).to_owned()).collect()
        };
        let lines: Vec<Vec<String>> = lines.iter().map(|own| shown(own)).collect();
        for i in 0..lines.iter().map(Vec::len).max().unwrap_or(0) {
            let name = if i == 0 { field.name } else { "" };
            let cells = lines.iter().map(|own| own.get(i).cloned().unwrap_or_default());
            rows.push(std::iter::once(name.to_owned()).chain(cells).collect());
        }
    }
    if rows.is_empty() {
        return format!("no difference in what is known of these {}\n", all.len());
    }
    let names: Vec<String> = all.iter().map(name).collect();
    let header: Vec<&str> = std::iter::once("").chain(names.iter().map(String::as_str)).collect();
    print::listing(&header, &[], &[], &rows)
}

/// Name of a program above a column: a process by its number as well.
fn name(looked: &Looked) -> String {
    let path = print::visible(&looked.path);
    looked.pid.map_or_else(|| path.to_string(), |pid| format!("{path} ({pid})"))
}

/// A line for each program.
fn list(all: &[Looked]) -> String {
    const COLUMNS: [&str; 6] = ["level", "compiler", "lto", "frame pointers", "allocator", "build id"];
    let of = |looked: &Looked, name: &str| {
        let field = FIELDS.iter().find(|field| field.name == name);
        field.and_then(|field| (field.of)(looked)).unwrap_or_else(|| "-".to_owned())
    };
    let row = |looked: &Looked| -> Vec<String> {
        std::iter::once(name(looked)).chain(COLUMNS.map(|column| of(looked, column))).collect()
    };
    let rows: Vec<Vec<String>> = all.iter().map(row).collect();
    let header: Vec<&str> = std::iter::once("file").chain(COLUMNS).collect();
    print::listing(&header, &[], &[], &rows)
}
