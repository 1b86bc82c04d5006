//! Stores that become the union of both: through ssh, with a stand-in and a real sshd on loopback, and through a server.

use std::{
    io::{BufRead, BufReader},
    os::unix::fs::PermissionsExt,
    path::Path,
    process::{Child, Command, Output, Stdio},
};

use crate::support::{Fenxi, skipped, text, wait_for, walk};

const ASKED: [&str; 4] =
    ["sql", "-o", "csv", "SELECT run, count(*), round(sum(usr), 6) FROM cpu GROUP BY run ORDER BY run"];

fn record(fenxi: &Fenxi, names: &[&str]) {
    for name in names {
        fenxi.ok(&["record", "--quiet", "--name", name, "--interval", "20ms", "--for", "60ms", "--source", "cpu"]);
    }
}

/// A program that is called as ssh is: it drops options, and runs the words behind the host in a shell here, with PATH for
/// this build's fenxi and another home. Where `cut` is, it hands over that many bytes and ends.
fn stand_in(dir: &Path, home: &Path) {
    let bin = Path::new(env!("CARGO_BIN_EXE_fenxi")).parent().unwrap().display();
    let ssh = format!(
        "#!/bin/sh\nwhile [ $# -gt 0 ]; do case $1 in -o) shift 2;; --) shift; break;; -*) shift;; *) break;; esac; done\n\
         echo \"$1\" >>{dir}/hosts; shift\nunset FENXI_STORE XDG_DATA_HOME; HOME={home}; export HOME; cd \"$HOME\" || exit 1\n\
         echo Welcome to a host that greets\nPATH={bin}:$PATH; export PATH\n\
         if [ -e {dir}/cut ]; then dd bs=1 count=\"$(cat {dir}/cut)\" 2>/dev/null | sh -c \"$*\"; exit 255; fi\n\
         if [ -e {dir}/none ]; then echo 'sh: fenxi: not found' >&2; exit 127; fi\nexec sh -c \"$*\"\n",
        dir = dir.display(),
        home = home.display(),
    );
    fs_err::write(dir.join("ssh"), ssh).unwrap();
    fs_err::set_permissions(dir.join("ssh"), std::fs::Permissions::from_mode(0o755)).unwrap();
}

fn with_ssh(fenxi: &Fenxi, dir: &Path, args: &[&str]) -> Output {
    let path = format!("{}:{}", dir.display(), std::env::var("PATH").unwrap());
    fenxi.command(args).env("PATH", path).env("USER", "ann").output().unwrap()
}

fn done(output: &Output) -> String {
    assert!(output.status.success(), "{}", text(&output.stderr));
    text(&output.stdout) + &text(&output.stderr)
}

#[test]
fn what_is_no_known_kind_of_place_is_refused_and_makes_no_folder() {
    let (fenxi, there) = (Fenxi::new(), tempfile::TempDir::new().unwrap());
    record(&fenxi, &["a"]);
    for address in ["db1:runs", "gs://bucket", "ssh:", "x:y"] {
        let output = fenxi.command(&["store", "push", address]).current_dir(there.path()).output().unwrap();
        assert_eq!(output.status.code(), Some(1), "{address}");
        assert!(text(&output.stderr).contains("names no place"), "{}", text(&output.stderr));
    }
    assert!(walk(there.path()).is_empty());
}

#[test]
fn two_stores_become_the_union_of_both_through_ssh() {
    let (fenxi, other, dir) = (Fenxi::new(), Fenxi::new(), tempfile::TempDir::new().unwrap());
    record(&fenxi, &["a", "b"]);
    record(&other, &["c"]);
    stand_in(dir.path(), other.path().parent().unwrap());
    let (to, both) = ("ssh:ann@bench:store", ["store", "push", "ssh:ann@bench:store"]);
    let listed = done(&with_ssh(&fenxi, dir.path(), &["-q", "store", "push", to, "--list"]));
    assert_eq!(listed.lines().count(), 2, "{listed}");
    assert_eq!(other.store().ids().unwrap().len(), 1);
    let told = done(&with_ssh(&fenxi, dir.path(), &both));
    assert!(told.contains("pushed 2 runs") && told.contains("to ssh:ann@bench:store; 0 runs there already"), "{told}");
    assert!(fs_err::read_to_string(dir.path().join("hosts")).unwrap().lines().all(|host| host == "ann@bench"));
    assert!(done(&with_ssh(&fenxi, dir.path(), &both)).contains("pushed 0 runs"));
    done(&with_ssh(&fenxi, dir.path(), &["store", "pull", to]));
    assert_eq!(fenxi.ok(&ASKED), other.ok(&ASKED));
    other.ok(&["store", "verify"]);
    // A run removed here stays there, and comes back when it is asked for.
    fenxi.ok(&["store", "rm", "a"]);
    done(&with_ssh(&fenxi, dir.path(), &both));
    assert_eq!(other.store().ids().unwrap().len(), 3);
    done(&with_ssh(&fenxi, dir.path(), &["store", "pull", to]));
    assert_eq!(fenxi.store().ids().unwrap().len(), 3);
    // Into a store that is not there yet, under a path that a shell would misread.
    done(&with_ssh(&fenxi, dir.path(), &["store", "push", "ssh:bench:it's $new", "c"]));
    assert!(other.path().with_file_name("it's $new").join("store.json").exists());
}

#[test]
fn labels_of_both_sides_are_merged_and_what_both_changed_is_printed() {
    let (fenxi, other, dir) = (Fenxi::new(), Fenxi::new(), tempfile::TempDir::new().unwrap());
    record(&fenxi, &["a"]);
    stand_in(dir.path(), other.path().parent().unwrap());
    let (push, pull) = (["store", "push", "ssh:h:store"], ["store", "pull", "ssh:h:store"]);
    done(&with_ssh(&fenxi, dir.path(), &push));
    let as_user = |fenxi: &Fenxi, user: &str, args: &[&str]| {
        assert!(fenxi.command(args).env("USER", user).output().unwrap().status.success(), "{args:?}");
    };
    as_user(&fenxi, "ann", &["label", "tag", "a", "good=yes", "kernel=6.1"]);
    as_user(&fenxi, "ann", &["label", "remark", "a", "slow disk"]);
    as_user(&other, "bob", &["label", "remark", "a", "new firmware"]);
    as_user(&other, "bob", &["label", "tag", "a", "good=no"]);
    let told = done(&with_ssh(&fenxi, dir.path(), &push));
    assert!(told.contains("merged the labels of 1 run"), "{told}");
    assert!(told.contains("tag good: `no` by bob@") && told.contains("which was `yes` by ann@"), "{told}");
    let told = done(&with_ssh(&fenxi, dir.path(), &pull));
    assert!(!told.contains("conflict"), "{told}");
    let labels = |fenxi: &Fenxi| {
        let mut labels = fenxi.store().runs().unwrap().remove(0).labels;
        labels.remarks.sort();
        labels
    };
    assert_eq!(labels(&fenxi), labels(&other));
    assert_eq!(labels(&fenxi).remarks, ["new firmware", "slow disk"]);
    let log = fenxi.ok(&["label", "log", "a"]);
    assert!(log.contains("bob@") && log.contains("tag good: yes") && log.lines().count() == 5, "{log}");
    assert!(!done(&with_ssh(&fenxi, dir.path(), &push)).contains("merged"), "nothing is left to merge");
}

#[test]
fn a_line_that_is_cut_costs_no_run_and_the_same_command_goes_on() {
    let (fenxi, other, dir) = (Fenxi::new(), Fenxi::new(), tempfile::TempDir::new().unwrap());
    record(&fenxi, &["a", "b"]);
    stand_in(dir.path(), other.path().parent().unwrap());
    let push = ["store", "push", "ssh:h:store"];
    for bytes in ["0", "100", "400", "2000"] {
        fs_err::write(dir.path().join("cut"), bytes).unwrap();
        let output = with_ssh(&fenxi, dir.path(), &push);
        assert_eq!(output.status.code(), Some(1), "{bytes}: {}", text(&output.stderr));
    }
    fs_err::remove_file(dir.path().join("cut")).unwrap();
    assert!(other.path().join("store.json").exists(), "it came as far as an archive");
    other.ok(&["store", "verify"]);
    assert!(done(&with_ssh(&fenxi, dir.path(), &push)).contains("pushed 2 runs"));
    assert_eq!(fenxi.ok(&ASKED), other.ok(&ASKED));
    fs_err::write(dir.path().join("none"), "").unwrap();
    let output = with_ssh(&fenxi, dir.path(), &push);
    assert!(text(&output.stderr).contains("there is no `fenxi` on PATH"), "{}", text(&output.stderr));
}

#[test]
fn a_run_of_the_same_id_with_other_content_is_refused_before_anything_travels() {
    let (fenxi, other, dir) = (Fenxi::new(), Fenxi::new(), tempfile::TempDir::new().unwrap());
    record(&fenxi, &["a", "b"]);
    stand_in(dir.path(), other.path().parent().unwrap());
    done(&with_ssh(&fenxi, dir.path(), &["store", "push", "ssh:h:store", "a"]));
    let manifest = walk(&other.path().join("runs")).into_iter().find(|path| path.ends_with("run.json")).unwrap();
    let mut text_of: serde_json::Value = serde_json::from_slice(&fs_err::read(&manifest).unwrap()).unwrap();
    text_of["kind"] = "other".into();
    text_of["digest"] = "0".repeat(64).into();
    let plain = serde_json::to_string(&text_of).unwrap();
    let digest = blake3::hash(plain.as_bytes()).to_hex();
    fs_err::write(&manifest, plain.replacen(&"0".repeat(64), &digest, 1)).unwrap();
    for way in ["push", "pull"] {
        let output = with_ssh(&fenxi, dir.path(), &["store", way, "ssh:h:store"]);
        assert_eq!(output.status.code(), Some(1));
        assert!(text(&output.stderr).contains("has another run"), "{}", text(&output.stderr));
    }
    assert_eq!(other.store().ids().unwrap().len(), 1);
}

/// A server that ends with the value.
struct Served(Child, String);

impl Served {
    fn of(fenxi: &Fenxi, more: &[&str]) -> Served {
        let mut command = fenxi.command(&["serve", "--listen", "127.0.0.1:0"]);
        let mut child = command.args(more).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        Served(child, line.trim().to_owned())
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn a_server_with_a_token_is_a_place_as_well() {
    let (fenxi, other, dir) = (Fenxi::new(), Fenxi::new(), tempfile::TempDir::new().unwrap());
    record(&fenxi, &["a", "b"]);
    record(&other, &["c"]);
    let file = dir.path().join("token");
    fs_err::write(&file, "ann 0123456789abcdef0123\n").unwrap();
    fs_err::set_permissions(&file, std::fs::Permissions::from_mode(0o600)).unwrap();
    let file = file.display().to_string();
    let served = Served::of(&other, &["--token-file", &file]);
    let at = served.1.as_str();
    let refused = fenxi.fails(1, &["store", "push", at]);
    assert!(refused.contains("wants a token: `--token-file FILE`"), "{refused}");
    let wrong = fenxi.command(&["store", "push", at]).env("FENXI_TOKEN", "0123456789abcdef9999").output().unwrap();
    assert!(text(&wrong.stderr).contains("does not accept this token"), "{}", text(&wrong.stderr));
    fenxi.ok(&["store", "push", at, "--token-file", &file]);
    fenxi.ok(&["store", "pull", at, "--token-file", &file]);
    assert_eq!(fenxi.ok(&ASKED), other.ok(&ASKED));
    assert_eq!(fenxi.store().ids().unwrap().len(), 3);
    fenxi.ok(&["label", "remark", "c", "seen"]);
    fenxi.ok(&["store", "push", at, "--token-file", &file]);
    assert!(other.ok(&["show", "c"]).contains("seen"));
    drop(served);
    // One that only reads is pulled from, and takes nothing.
    let served = Served::of(&other, &["--read-only"]);
    fenxi.ok(&["store", "rm", "a"]);
    fenxi.ok(&["store", "pull", &served.1]);
    record(&fenxi, &["d"]);
    assert!(fenxi.fails(1, &["store", "push", &served.1]).contains("read-only"));
    assert_eq!(other.store().ids().unwrap().len(), 3);
}

/// The program of an sshd, which is started by its whole path.
const SSHD: &str = "/usr/sbin/sshd";

#[test]
fn runs_travel_through_a_real_sshd_on_loopback() {
    const NAME: &str = "runs_travel_through_a_real_sshd_on_loopback";
    let is_root = rustix::process::geteuid().is_root();
    if !Path::new(SSHD).exists() || !is_root {
        return skipped(NAME, "it needs /usr/sbin/sshd and root");
    }
    let (fenxi, other, dir) = (Fenxi::new(), Fenxi::new(), tempfile::TempDir::new().unwrap());
    record(&fenxi, &["a", "b"]);
    let at = |name: &str| dir.path().join(name).display().to_string();
    for key in ["host", "user"] {
        let made = Command::new("ssh-keygen").args(["-q", "-t", "ed25519", "-N", "", "-f", &at(key)]).status();
        if !made.is_ok_and(|status| status.success()) {
            return skipped(NAME, "there is no ssh-keygen");
        }
    }
    fs_err::create_dir_all("/run/sshd").unwrap();
    let port = crate::server::free_port();
    let bin = Path::new(env!("CARGO_BIN_EXE_fenxi")).parent().unwrap().display().to_string();
    let server = format!(
        "ListenAddress 127.0.0.1\nPort {port}\nHostKey {}\nAuthorizedKeysFile {}\nPidFile none\nStrictModes no\nUsePAM no\n\
         PermitRootLogin yes\nSetEnv PATH={bin}:/usr/bin:/bin\n",
        at("host"),
        at("user.pub")
    );
    fs_err::write(at("sshd_config"), server).unwrap();
    let log = fs_err::File::create(at("log")).unwrap().into_parts().0;
    let sshd = Command::new(SSHD).args(["-D", "-e", "-f", &at("sshd_config")]).stderr(log).spawn().unwrap();
    let _sshd = Served(sshd, String::new());
    wait_for("sshd", || fs_err::read_to_string(at("log")).is_ok_and(|log| log.contains("listening")));
    let real = std::env::split_paths(&std::env::var_os("PATH").unwrap()).map(|p| p.join("ssh")).find(|p| p.exists());
    let Some(real) = real else { return skipped(NAME, "there is no ssh") };
    let ssh = format!(
        "#!/bin/sh\nexec {} -o IdentityFile={} -o UserKnownHostsFile={} -o StrictHostKeyChecking=no -o LogLevel=ERROR \"$@\"\n",
        real.display(),
        at("user"),
        at("known")
    );
    fs_err::write(at("ssh"), ssh).unwrap();
    fs_err::set_permissions(at("ssh"), std::fs::Permissions::from_mode(0o755)).unwrap();
    let to = format!("ssh://root@127.0.0.1:{port}{}", other.path().display());
    let told = done(&with_ssh(&fenxi, dir.path(), &["store", "push", &to]));
    assert!(told.contains("pushed 2 runs"), "{told}");
    assert_eq!(fenxi.ok(&ASKED), other.ok(&ASKED));
    record(&other, &["c"]);
    done(&with_ssh(&fenxi, dir.path(), &["store", "pull", &to]));
    assert_eq!(fenxi.ok(&ASKED), other.ok(&ASKED));
    fs_err::remove_file(at("user")).unwrap();
    let refused = with_ssh(&fenxi, dir.path(), &["store", "push", &to]);
    assert_eq!(refused.status.code(), Some(1));
    assert!(text(&refused.stderr).contains("Permission denied"), "{}", text(&refused.stderr));
}
