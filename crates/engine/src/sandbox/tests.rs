//! Rights left after the others are given up, tried with system calls and no engine between: each test starts
//! itself as a second process, which gives up its rights and tries.

#![allow(clippy::print_stdout, reason = "a second process reports to the first one, and a skipped test prints it")]

use std::{
    env,
    net::{TcpListener, TcpStream, UdpSocket},
    os::unix::net::{UnixListener, UnixStream},
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use fenxi_worker::Setup;

use super::{allowed, enter, no_clone3};

/// The environment variable for the second process.
const FOLDER: &str = "FENXI_TEST_SANDBOX";

/// Runs the test `name` again in its own process; gives what it printed after its rights were gone.
fn again(name: &str, folder: &Path) -> String {
    let output = Command::new(env::current_exe().unwrap())
        .args(["--exact", &format!("sandbox::tests::{name}"), "--nocapture", "--test-threads=1"])
        .env(FOLDER, folder)
        .output()
        .unwrap();
    String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr)
}

/// The folder, in the second process.
fn inside() -> Option<PathBuf> {
    env::var_os(FOLDER).map(PathBuf::from)
}

fn folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    for name in ["run", "other", "spill"] {
        fs_err::create_dir(folder.path().join(name)).unwrap();
    }
    fs_err::write(folder.path().join("run/rows"), "mine").unwrap();
    fs_err::write(folder.path().join("other/rows"), "theirs").unwrap();
    std::os::unix::fs::symlink(folder.path().join("other/rows"), folder.path().join("run/link")).unwrap();
    folder
}

/// Everything that a process may try, with whether it worked.
fn tried(folder: &Path) -> Vec<(&'static str, bool)> {
    let [run, other, spill] = ["run", "other", "spill"].map(|name| folder.join(name));
    let reads = |path: PathBuf| fs_err::read(path).is_ok();
    let writes = |path: PathBuf| fs_err::write(path, "x").is_ok();
    vec![
        ("read own", reads(run.join("rows"))),
        ("spill", writes(spill.join("a")) && reads(spill.join("a")) && fs_err::remove_file(spill.join("a")).is_ok()),
        ("thread", std::thread::Builder::new().spawn(|| 1).is_ok_and(|t| t.join().is_ok())),
        ("read other", reads(other.join("rows"))),
        ("read by link", reads(run.join("link"))),
        ("read by ..", reads(run.join("../other/rows"))),
        ("read passwd", reads("/etc/passwd".into())),
        ("read environ", reads("/proc/self/environ".into())),
        ("list root", fs_err::read_dir("/").is_ok()),
        ("write own", writes(run.join("new"))),
        ("overwrite own", writes(run.join("rows"))),
        ("append", fs_err::OpenOptions::new().append(true).open(run.join("rows")).is_ok()),
        ("write tmp", writes(env::temp_dir().join("fenxi-sandbox-evil"))),
        ("remove own", fs_err::remove_file(run.join("rows")).is_ok()),
        ("rename", fs_err::rename(run.join("rows"), spill.join("rows")).is_ok()),
        ("hard link", fs_err::hard_link(run.join("rows"), spill.join("rows")).is_ok()),
        ("symbolic link", std::os::unix::fs::symlink("/etc/passwd", spill.join("l")).is_ok()),
        ("make folder", fs_err::create_dir(run.join("d")).is_ok()),
        (
            "mode",
            fs_err::set_permissions(run.join("rows"), std::os::unix::fs::PermissionsExt::from_mode(0o777)).is_ok(),
        ),
        ("tcp", TcpStream::connect("127.0.0.1:1").is_err_and(|e| e.kind() != std::io::ErrorKind::PermissionDenied)),
        ("listen", TcpListener::bind("127.0.0.1:0").is_ok()),
        ("udp", UdpSocket::bind("127.0.0.1:0").is_ok()),
        ("unix", UnixListener::bind(spill.join("s")).is_ok() || UnixStream::pair().is_ok()),
        ("program", Command::new("/bin/true").stdin(Stdio::null()).status().is_ok()),
        ("signal", rustix::process::test_kill_process(rustix::process::getppid().unwrap()).is_ok()),
        (
            "limit",
            rustix::process::setrlimit(
                rustix::process::Resource::Data,
                rustix::process::Rlimit { current: None, maximum: None },
            )
            .is_ok(),
        ),
        ("root", rustix::process::chroot("/").is_ok()),
        ("namespace", unshare_users().is_ok()),
    ]
}

#[expect(deprecated, reason = "the call in its place is unsafe because of descriptors, which stay shared here")]
fn unshare_users() -> rustix::io::Result<()> {
    rustix::thread::unshare(rustix::thread::UnshareFlags::NEWUSER)
}

/// Attempts that have to work; all others must not.
const WORKS: [&str; 3] = ["read own", "spill", "thread"];

#[test]
fn what_is_not_needed_is_refused_by_the_kernel() {
    let Some(folder_path) = inside() else {
        let folder = folder();
        let printed = again("what_is_not_needed_is_refused_by_the_kernel", folder.path());
        let message = fs_err::read_to_string(folder.path().join("spill/printed")).unwrap_or(printed);
        if message.contains("1 passed") {
            println!("SKIPPED: this kernel has no Landlock");
            return;
        }
        assert_eq!(message, "ALL TRIED");
        return;
    };
    let (ours, _theirs) = UnixStream::pair().unwrap();
    let setup = Setup {
        read_dirs: vec![folder_path.join("run")],
        spill: Some(folder_path.join("spill")),
        data_bytes: Some(1 << 30),
        ..Setup::default()
    };
    // Standard output will be gone: what there is to say goes where may be written.
    let message = folder_path.join("spill/printed");
    let confined = enter(&setup, &ours).unwrap_or_else(|e| panic!("{e}"));
    if !confined.may_spill {
        return;
    }
    let tried = tried(&folder_path);
    let wrong: Vec<_> = tried.iter().filter(|(name, worked)| *worked != WORKS.contains(name)).collect();
    let text = if wrong.is_empty() { "ALL TRIED".to_owned() } else { format!("{wrong:?}") };
    fs_err::write(message, text).unwrap();
}

#[test]
fn without_landlock_nothing_can_be_opened_for_writing() {
    let Some(folder_path) = inside() else {
        let folder = folder();
        let message = again("without_landlock_nothing_can_be_opened_for_writing", folder.path());
        assert!(message.contains("NOTHING WRITTEN"), "{message}");
        return;
    };
    seccompiler::apply_filter(&no_clone3().unwrap()).unwrap();
    seccompiler::apply_filter(&allowed(false).unwrap()).unwrap();
    let (run, spill) = (folder_path.join("run"), folder_path.join("spill"));
    assert!(fs_err::read(run.join("rows")).is_ok());
    assert!(fs_err::write(run.join("rows"), "x").is_err() && fs_err::write(spill.join("x"), "x").is_err());
    assert!(fs_err::create_dir(spill.join("d")).is_err() && fs_err::remove_file(run.join("rows")).is_err());
    println!("NOTHING WRITTEN");
}
