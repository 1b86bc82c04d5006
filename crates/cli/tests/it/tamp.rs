//! `fenxi tamp` on real files: what it makes, what it leaves alone, and what it does when things go wrong.

use std::{
    io::{Read, Write},
    os::unix::fs::{MetadataExt, PermissionsExt, symlink},
    path::PathBuf,
    process::{Command, Output, Stdio},
    time::{Duration, SystemTime},
};

use fs_err as fs;
use rustix::fs::{XattrFlags, fgetxattr, fsetxattr};
use rustix::process::Signal;

use crate::support::{Fenxi, signal, skipped, text, wait_for};

struct Place {
    fenxi: Fenxi,
    dir: tempfile::TempDir,
}

impl Place {
    fn new() -> Place {
        Place { fenxi: Fenxi::new(), dir: tempfile::tempdir().unwrap() }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    fn write(&self, name: &str, data: &[u8]) -> PathBuf {
        let path = self.path(name);
        fs::write(&path, data).unwrap();
        path
    }

    /// Runs in the directory.
    fn run(&self, args: &[&str]) -> Output {
        let all: Vec<&str> = std::iter::once("tamp").chain(args.iter().copied()).collect();
        self.fenxi.command(&all).current_dir(self.dir.path()).output().unwrap()
    }

    fn ok(&self, args: &[&str]) -> Output {
        let output = self.run(args);
        assert!(output.status.success(), "tamp {args:?}: {}", text(&output.stderr));
        output
    }

    fn fails(&self, code: i32, args: &[&str]) -> String {
        let output = self.run(args);
        assert_eq!(output.status.code(), Some(code), "tamp {args:?}: {}", text(&output.stderr));
        text(&output.stderr)
    }

    /// Names in the directory, hidden ones too.
    fn names(&self) -> Vec<String> {
        let mut names: Vec<String> =
            fs::read_dir(self.dir.path()).unwrap().map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }
}

fn data(len: usize) -> Vec<u8> {
    (0..len).map(|i| ((i / 7) ^ (i >> 11)) as u8).collect()
}

/// Whether a process has begun its output in the directory: a file without a name, or one with a hidden one.
fn makes(child: &std::process::Child, place: &Place) -> bool {
    let open = fs::read_dir(format!("/proc/{}/fd", child.id())).into_iter().flatten().flatten();
    let nameless = |path: PathBuf| path.starts_with(place.dir.path()) && path.to_string_lossy().contains("(deleted)");
    open.filter_map(|entry| fs::read_link(entry.path()).ok()).any(nameless)
        || place.names().iter().any(|name| name.contains(".tamp-"))
}

/// Whether this user may write where it may not: then a read-only directory proves nothing.
fn is_root() -> bool {
    fs::metadata("/proc/self").unwrap().uid() == 0
}

#[test]
fn a_file_is_replaced_and_comes_back_with_mode_and_times() {
    for (flag, suffix) in [("--zstd", "zst"), ("--lz4", "lz4"), ("--gzip", "gz")] {
        let place = Place::new();
        let path = place.write("file", &data(3_000_000));
        fs::set_permissions(&path, std::fs::Permissions::from_mode(0o640)).unwrap();
        let then = SystemTime::UNIX_EPOCH + Duration::new(1_000_000_000, 123_456_789);
        fs::File::open(&path).unwrap().set_modified(then).unwrap();
        place.ok(&[flag, "-3", "file"]);
        let made = format!("file.{suffix}");
        assert_eq!(place.names(), [made.as_str()]);
        place.ok(&["-d", &made]);
        assert_eq!(place.names(), ["file"]);
        assert!(fs::read(&path).unwrap() == data(3_000_000));
        let facts = fs::metadata(&path).unwrap();
        assert_eq!((facts.mode() & 0o7777, facts.modified().unwrap()), (0o640, then));
    }
}

#[test]
fn standard_input_goes_to_standard_output() {
    let place = Place::new();
    let sample = data(2_000_000);
    let through = |args: &[&str], input: &[u8]| {
        let all: Vec<&str> = std::iter::once("tamp").chain(args.iter().copied()).collect();
        let mut child = place.fenxi.command(&all).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let mut pipe = child.stdin.take().unwrap();
        let input = input.to_vec();
        let writer = std::thread::spawn(move || pipe.write_all(&input));
        let output = child.wait_with_output().unwrap();
        writer.join().unwrap().unwrap();
        assert!(output.status.success());
        output.stdout
    };
    for flag in ["--zstd", "--lz4", "--gzip"] {
        let made = through(&[flag], &sample);
        assert!(made.len() < sample.len());
        assert!(through(&["-d", "-p", "3"], &made) == sample);
    }
}

#[test]
fn files_that_are_meant_for_something_else_stay() {
    let place = Place::new();
    let sample = data(1000);
    place.write("file", &sample);
    place.write("file.zst", b"mine");
    assert!(place.fails(1, &["file"]).contains("exists already"));
    assert_eq!(fs::read(place.path("file.zst")).unwrap(), b"mine");
    assert!(place.fails(1, &["file.zst"]).contains("compresses it again"));
    place.ok(&["-f", "file"]);
    assert_eq!(place.names(), ["file.zst"]);
    assert!(place.ok(&["-dc", "file.zst"]).stdout == sample);

    place.write("one", &sample);
    symlink("one", place.path("link")).unwrap();
    fs::hard_link(place.path("one"), place.path("other")).unwrap();
    assert!(place.fails(1, &["link"]).contains("symbolic link"));
    assert!(place.fails(1, &["one"]).contains("2 names"));
    assert!(place.fails(1, &["."]).contains("directory"));
    assert_eq!(place.names(), ["file.zst", "link", "one", "other"]);
    place.ok(&["-k", "one"]);
    assert!(place.ok(&["-dc", "one.zst"]).stdout == sample);
    place.write("plain", b"text");
    assert!(place.fails(1, &["-d", "plain"]).contains("no known suffix"));
    assert!(place.fails(2, &["-o", "x", "one", "other"]).contains("`-o` takes one file"));
}

#[test]
fn one_that_fails_does_not_keep_others_from_being_done() {
    let place = Place::new();
    place.write("a", &data(1000));
    place.write("c", &data(1000));
    let said = place.fails(1, &["a", "b", "c"]);
    assert!(said.contains("`b`") || said.contains("b:") || said.contains("b\""), "{said}");
    assert_eq!(place.names(), ["a.zst", "c.zst"]);
}

#[test]
fn damage_leaves_the_input_and_no_output() {
    let place = Place::new();
    place.write("file", &data(3_000_000));
    place.ok(&["file"]);
    let mut made = fs::read(place.path("file.zst")).unwrap();
    let middle = made.len() / 3;
    made[middle] ^= 0xFF;
    fs::write(place.path("file.zst"), &made).unwrap();
    assert!(place.fails(1, &["-t", "file.zst"]).contains("damaged"));
    assert!(place.fails(1, &["-d", "file.zst"]).contains("--recover"));
    assert_eq!(place.names(), ["file.zst"]);
    let said = place.fails(1, &["-d", "--recover", "file.zst"]);
    assert!(said.contains("lost: bytes "), "{said}");
    assert_eq!(place.names(), ["file", "file.zst"]);
    let recovered = fs::read(place.path("file")).unwrap();
    let sample = data(3_000_000);
    assert_eq!(recovered.len(), sample.len());
    let wrong = recovered.iter().zip(&sample).filter(|(a, b)| a != b).count();
    assert!(wrong > 0 && wrong <= 2 << 20, "{wrong} bytes differ");
    fs::write(place.path("short.zst"), &made[..made.len() / 4]).unwrap();
    assert!(place.fails(1, &["-d", "short.zst"]).contains("cut off"));
    fs::write(place.path("text.zst"), "no archive").unwrap();
    assert!(place.fails(1, &["-d", "text.zst"]).contains("not in zstd, LZ4 or gzip format"));
}

#[test]
fn parts_sizes_and_whole_directories() {
    let place = Place::new();
    let sample = data(5_000_000);
    place.write("file", &sample);
    place.ok(&["-k", "file"]);
    assert!(place.ok(&["-dc", "--range", "3M:+1K", "file.zst"]).stdout == sample[3 << 20..(3 << 20) + 1024]);
    let listed = text(&place.ok(&["-l", "file.zst"]).stdout);
    assert!(listed.contains("5000000") && listed.contains("zst"), "{listed}");
    fs::create_dir_all(place.path("tree/below")).unwrap();
    for name in ["tree/a", "tree/b", "tree/below/c"] {
        place.write(name, &sample[..100_000]);
    }
    place.ok(&["-r", "--lz4", "tree"]);
    assert!(place.path("tree/below/c.lz4").exists() && !place.path("tree/a").exists());
    place.ok(&["-t", "-r", "tree"]);
    place.ok(&["-dr", "tree"]);
    assert!(fs::read(place.path("tree/below/c")).unwrap() == sample[..100_000]);
}

#[test]
fn a_fifo_is_read_and_stays() {
    let place = Place::new();
    let fifo = place.path("fifo");
    rustix::fs::mkfifoat(rustix::fs::CWD, &fifo, rustix::fs::Mode::RWXU).unwrap();
    assert!(place.fails(1, &["fifo"]).contains("not a regular file"));
    let theirs = fifo.clone();
    let writer = std::thread::spawn(move || fs::write(theirs, data(500_000)).unwrap());
    place.ok(&["-o", "made.zst", "fifo"]);
    writer.join().unwrap();
    assert!(fifo.exists());
    assert!(place.ok(&["-dc", "made.zst"]).stdout == data(500_000));
}

#[test]
fn a_full_disk_leaves_the_input_and_no_output() {
    let dir = tempfile::tempdir().unwrap();
    let mounted = Command::new("mount").args(["-t", "tmpfs", "-o", "size=2m", "tmpfs"]).arg(dir.path()).output();
    if !mounted.is_ok_and(|mounted| mounted.status.success()) {
        return skipped("tamp on a full disk", "no file system can be mounted");
    }
    let place = Place::new();
    let mut random = 0x9E37_79B9_7F4A_7C15_u64;
    let mut next = || {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        (random >> 56) as u8
    };
    let noise: Vec<u8> = (0..1_500_000).map(|_| next()).collect();
    fs::write(dir.path().join("file"), &noise).unwrap();
    let path = dir.path().join("file");
    let said = place.fails(1, &[path.to_str().unwrap()]);
    let names: Vec<_> = fs::read_dir(dir.path()).unwrap().map(|e| e.unwrap().file_name()).collect();
    let whole = fs::read(&path).unwrap() == noise;
    assert!(Command::new("umount").arg(dir.path()).status().unwrap().success());
    assert!(said.contains("No space left"), "{said}");
    assert!(whole && names == ["file"], "{names:?}");
}

/// Capabilities by which root reads and writes what it may not.
const OVERRIDES: &str = "-dac_override,-dac_read_search";

#[test]
fn directories_and_files_that_may_not_be_used_are_said() {
    let place = Place::new();
    let run = |args: &[&str]| {
        let tamp = place.fenxi.command(&[&["tamp"], args].concat());
        let mut command = match is_root() {
            true => {
                let mut command = Command::new("setpriv");
                command.args(["--bounding-set", OVERRIDES, "--inh-caps", OVERRIDES]);
                command.arg(tamp.get_program()).args(tamp.get_args());
                command
            }
            false => tamp,
        };
        command.current_dir(place.dir.path()).output()
    };
    if !run(&["--help"]).is_ok_and(|output| output.status.success()) {
        return skipped("tamp where it may not write", "root without `setpriv` may write everywhere");
    }
    let refused = |args: &[&str]| {
        let output = run(args).unwrap();
        let said = text(&output.stderr);
        assert!(output.status.code() == Some(1) && said.contains("ermission denied"), "{args:?}: {said}");
    };
    let path = place.write("file", &data(1000));
    fs::set_permissions(place.dir.path(), std::fs::Permissions::from_mode(0o500)).unwrap();
    refused(&["file"]);
    fs::set_permissions(place.dir.path(), std::fs::Permissions::from_mode(0o700)).unwrap();
    fs::set_permissions(&path, std::fs::Permissions::from_mode(0o000)).unwrap();
    refused(&["file"]);
    refused(&["-c", "file"]);
    assert_eq!(place.names(), ["file"]);
}

#[test]
fn a_file_that_grows_is_read_as_far_as_it_went_and_said() {
    let place = Place::new();
    let sample = data(20_000_000);
    let path = place.write("file", &sample);
    let mut command = place.fenxi.command(&["tamp", "--gzip", "-c", "file"]);
    command.current_dir(place.dir.path()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let mut made = vec![0; 10];
    let mut pipe = child.stdout.take().unwrap();
    // It has begun, and waits until somebody reads what does not fit into the pipe.
    pipe.read_exact(&mut made).unwrap();
    fs::OpenOptions::new().append(true).open(&path).unwrap().write_all(b"more").unwrap();
    pipe.read_to_end(&mut made).unwrap();
    assert!(made.len() > 100_000, "it fits into the pipe");
    let output = child.wait_with_output().unwrap();
    assert!(text(&output.stderr).contains("changed while it was read"), "{}", text(&output.stderr));
    assert_eq!(output.status.code(), Some(1));
    place.write("made.gz", &made);
    assert!(place.ok(&["-dc", "made.gz"]).stdout == sample);
}

#[test]
fn an_interrupt_leaves_the_input_and_no_output() {
    let place = Place::new();
    let fifo = place.path("fifo");
    rustix::fs::mkfifoat(rustix::fs::CWD, &fifo, rustix::fs::Mode::RWXU).unwrap();
    let child = place
        .fenxi
        .command(&["tamp", "-o", "made.zst", "fifo"])
        .current_dir(place.dir.path())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut writer = fs::OpenOptions::new().write(true).open(&fifo).unwrap();
    writer.write_all(&data(100_000)).unwrap();
    wait_for("the output to be made", || makes(&child, &place));
    signal(&child, Signal::TERM);
    // The pipe is still open and silent.
    let output = child.wait_with_output().unwrap();
    drop(writer);
    assert!(!output.status.success());
    assert!(text(&output.stderr).contains("interrupted"), "{}", text(&output.stderr));
    assert_eq!(place.names(), ["fifo"]);
}

/// A `tamp -f` that has begun to replace `made.zst` and waits for more of `fifo`.
fn waiting(place: &Place) -> (std::process::Child, fs::File) {
    let fifo = place.path("fifo");
    if !fifo.exists() {
        rustix::fs::mkfifoat(rustix::fs::CWD, &fifo, rustix::fs::Mode::RWXU).unwrap();
    }
    let mut command = place.fenxi.command(&["tamp", "-f", "-o", "made.zst", "fifo"]);
    let child = command.current_dir(place.dir.path()).stderr(Stdio::piped()).spawn().unwrap();
    let mut writer = fs::OpenOptions::new().write(true).open(&fifo).unwrap();
    writer.write_all(&data(100_000)).unwrap();
    wait_for("the output to be made", || makes(&child, place));
    (child, writer)
}

#[test]
fn a_killed_tamp_leaves_nothing_and_no_signal_does() {
    let ignored = fs::read_to_string("/proc/self/status").unwrap();
    let ignored = ignored.lines().find_map(|line| line.strip_prefix("SigIgn:")).unwrap().trim().to_owned();
    let ignored = u64::from_str_radix(&ignored, 16).unwrap();
    for end in [Signal::KILL, Signal::HUP, Signal::TERM, Signal::INT] {
        // Below `nohup` a signal that was ignored stays so, and would be waited for in vain.
        if ignored >> (end.as_raw() - 1) & 1 == 1 {
            eprintln!("SKIPPED tamp ended by {end:?}: it is ignored here");
            continue;
        }
        let place = Place::new();
        place.write("made.zst", b"before");
        let (child, writer) = waiting(&place);
        signal(&child, end);
        let output = child.wait_with_output().unwrap();
        drop(writer);
        assert!(!output.status.success(), "{end:?}");
        assert_eq!(place.names(), ["fifo", "made.zst"], "{end:?}");
        assert_eq!(fs::read(place.path("made.zst")).unwrap(), b"before");
    }
}

#[test]
fn what_an_earlier_tamp_left_is_removed_and_what_is_no_leftover_stays() {
    let place = Place::new();
    place.write("file", &data(1000));
    place.write(".file.zst.tamp-0", b"left");
    place.write(".file.zst.tamp-1", b"left");
    place.write(".other.zst.tamp-0", b"of another file");
    place.ok(&["-k", "file"]);
    assert_eq!(place.names(), [".other.zst.tamp-0", "file", "file.zst"]);
    // Somebody writes to it, or it is none of ours.
    let locked = fs::File::open(place.write(".file.zst.tamp-0", b"locked")).unwrap();
    rustix::fs::flock(&locked, rustix::fs::FlockOperation::LockExclusive).unwrap();
    symlink("file", place.path(".file.zst.tamp-1")).unwrap();
    rustix::fs::mkfifoat(rustix::fs::CWD, place.path(".file.zst.tamp-2"), rustix::fs::Mode::RWXU).unwrap();
    place.ok(&["-kf", "file"]);
    assert_eq!(fs::read(place.path(".file.zst.tamp-0")).unwrap(), b"locked");
    assert!(place.path(".file.zst.tamp-1").exists() && place.path(".file.zst.tamp-2").exists());
    drop(locked);
    place.ok(&["-kf", "file"]);
    assert!(!place.path(".file.zst.tamp-0").exists());
}

#[test]
fn extended_attributes_and_lists_of_rights_are_kept() {
    let place = Place::new();
    let path = place.write("file", &data(100_000));
    let file = fs::File::open(&path).unwrap();
    if fsetxattr(&file, "user.origin", b"somewhere\n\xff", XattrFlags::empty()).is_err() {
        return skipped("extended attributes", "this file system has none");
    }
    // One named user may read: version 2; owner, user 12345, group, mask, others.
    let entry =
        |tag: u16, rights: u16, id: u32| [&tag.to_le_bytes()[..], &rights.to_le_bytes(), &id.to_le_bytes()].concat();
    let nobody = u32::MAX;
    let entries =
        [entry(1, 6, nobody), entry(2, 4, 12_345), entry(4, 4, nobody), entry(16, 4, nobody), entry(32, 0, nobody)];
    let rights = [&2_u32.to_le_bytes()[..], &entries.concat()].concat();
    let with_rights = fsetxattr(&file, "system.posix_acl_access", &rights, XattrFlags::empty()).is_ok();
    let mode = file.metadata().unwrap().mode();
    place.ok(&["file"]);
    place.ok(&["-d", "file.zst"]);
    let file = fs::File::open(&path).unwrap();
    let value = |name: &str| {
        let mut value = vec![0; 1000];
        let len = fgetxattr(&file, name, &mut value[..]).unwrap();
        value[..len].to_vec()
    };
    assert_eq!(value("user.origin"), b"somewhere\n\xff");
    assert_eq!(file.metadata().unwrap().mode(), mode);
    if !with_rights {
        return skipped("lists of rights", "this file system has none");
    }
    assert_eq!(value("system.posix_acl_access"), rights);
}

#[test]
fn memory_does_not_grow_with_the_input() {
    let place = Place::new();
    // A sparse file of zeros: larger than memory may become.
    let path = place.path("zeros");
    fs::File::create(&path).unwrap().set_len(1 << 30).unwrap();
    let script = format!(
        "ulimit -v 600000; exec {} tamp -c -p 2 {} > {}",
        env!("CARGO_BIN_EXE_fenxi"),
        path.display(),
        place.path("zeros.zst").display()
    );
    let output = Command::new("bash").args(["-c", &script]).output().unwrap();
    assert!(output.status.success(), "{}", text(&output.stderr));
    let listed = text(&place.ok(&["-l", "zeros.zst"]).stdout);
    assert!(listed.contains(&(1u64 << 30).to_string()), "{listed}");
    place.ok(&["-d", "--sparse", "-o", "again", "zeros.zst"]);
    let facts = fs::metadata(place.path("again")).unwrap();
    assert_eq!((facts.len(), facts.blocks()), (1 << 30, 0));
}

#[test]
fn a_bench_is_drawn_and_kept_as_a_run() {
    let place = Place::new();
    place.write("file", &data(2_000_000));
    let drawn = text(&place.ok(&["bench", "--rounds", "1", "file"]).stdout);
    assert!(drawn.contains("zst -1") && drawn.contains("ratio +---"), "{drawn}");
    let answer = place.fenxi.ok(&["ask", "compression-front", "-r", "@1"]);
    assert!(answer.contains("lz4 -1") && answer.contains("front"), "{answer}");
}
