//! `fenxi tune nic` on a veth pair in a network namespace: what is applied is in effect, what is refused has its reason, and all is
//! undone.

use std::{
    path::Path,
    process::{Command, Output},
};

use serde_json::Value;

use crate::support::{skipped, text};

/// A network namespace with a veth pair, removed in the end.
struct Namespace(String);

impl Namespace {
    /// None, reported loudly, where that is not allowed.
    fn new(test: &str) -> Option<Namespace> {
        if !rustix::process::geteuid().is_root() {
            skipped(test, "network namespaces need root");
            return None;
        }
        let name = format!("fxtune{}{test}", std::process::id());
        if !ip(&["netns", "add", &name]) {
            skipped(test, "`ip netns add` is refused here");
            return None;
        }
        let here = Namespace(name);
        assert!(ip(&["-n", &here.0, "link", "add", "v0", "type", "veth", "peer", "name", "v1"]));
        Some(here)
    }

    fn command(&self, program: &Path, arguments: &[&str], state: &Path) -> Output {
        let mut command = Command::new("ip");
        command.args(["netns", "exec", &self.0]).arg(program).args(arguments).env("FENXI_STATE", state);
        command.output().unwrap()
    }

    fn tune(&self, arguments: &[&str], state: &Path) -> Output {
        self.command(Path::new(env!("CARGO_BIN_EXE_fenxi")), &[&["tune", "nic"], arguments].concat(), state)
    }

    /// A setting as `--json` has it.
    fn value(&self, interface: &str, name: &str, state: &Path) -> Value {
        let shown = self.tune(&[interface, "--json"], state);
        let shown: Value = serde_json::from_slice(&shown.stdout).unwrap();
        let settings = shown["settings"].as_array().unwrap();
        settings.iter().find(|setting| setting["name"] == name).unwrap()["value"].clone()
    }

    /// A file as another program sees it.
    fn file(&self, path: &str, state: &Path) -> String {
        text(&self.command(Path::new("cat"), &[path], state).stdout).trim().to_owned()
    }
}

impl Drop for Namespace {
    fn drop(&mut self) {
        let _ = ip(&["netns", "del", &self.0]);
    }
}

fn ip(arguments: &[&str]) -> bool {
    Command::new("ip").args(arguments).output().is_ok_and(|output| output.status.success())
}

#[test]
fn changes_are_in_effect_and_undone() {
    let Some(here) = Namespace::new("a") else { return };
    let folder = tempfile::tempdir().unwrap();
    let state = folder.path();
    let before: Vec<Value> = ["mtu", "tso", "gro", "rps"].iter().map(|name| here.value("v0", name, state)).collect();
    let applied = here.tune(&["v0", "rps=0", "mtu=9000", "tso=off", "gro=on", "--apply"], state);
    assert!(applied.status.success(), "{applied:?}");
    assert_eq!(here.file("/sys/class/net/v0/mtu", state), "9000");
    assert_eq!(here.file("/sys/class/net/v0/queues/rx-0/rps_cpus", state).trim_start_matches(['0', ',']), "1");
    assert_eq!((here.value("v0", "tso", state), here.value("v0", "gro", state)), ("off".into(), "on".into()));
    // A second change is undone together with the first.
    assert!(here.tune(&["v0", "mtu=4000", "--apply"], state).status.success());
    let undone = here.tune(&["v0", "--undo"], state);
    assert!(undone.status.success(), "{undone:?}");
    let after: Vec<Value> = ["mtu", "tso", "gro", "rps"].iter().map(|name| here.value("v0", name, state)).collect();
    assert_eq!(before, after);
    let again = here.tune(&["--undo"], state);
    assert!(text(&again.stderr).contains("there is nothing to undo"), "{again:?}");
}

#[test]
fn what_depends_on_a_change_is_reported_and_restored() {
    let Some(here) = Namespace::new("b") else { return };
    let folder = tempfile::tempdir().unwrap();
    let applied = here.tune(&["v0", "tx-csum=off", "--apply"], folder.path());
    assert!(text(&applied.stderr).contains("v0: tso is off, was on, as it depends on tx-csum"), "{applied:?}");
    assert!(here.tune(&["--undo"], folder.path()).status.success());
    assert_eq!(here.value("v0", "tso", folder.path()), "on");
}

#[test]
fn what_the_driver_refuses_has_a_reason_and_changes_nothing() {
    let Some(here) = Namespace::new("c") else { return };
    let folder = tempfile::tempdir().unwrap();
    let state = folder.path();
    for (change, reason) in [
        ("rx-ring=512", "v0: rx-ring is not set: the driver has no such setting"),
        ("mtu=3", "v0: mtu stays 1500: the driver does not take this value"),
        ("rx-queues=4096", "v0: rx-queues stays 1: the driver allows up to"),
        ("lro=on", "v0: lro is not set: the driver has it fixed"),
    ] {
        let refused = here.tune(&["v0", change, "--apply"], state);
        assert_eq!(refused.status.code(), Some(1), "{change}: {refused:?}");
        assert!(text(&refused.stderr).contains(reason), "{change}: {refused:?}");
    }
    assert_eq!(here.file("/sys/class/net/v0/mtu", state), "1500");
    // Others go on where one is refused.
    let some = here.tune(&["v0", "mtu=2000", "rx-ring=512", "--apply"], state);
    assert_eq!((some.status.code(), here.value("v0", "mtu", state)), (Some(1), "2000".into()), "{some:?}");
}

#[test]
fn what_others_changed_meanwhile_is_left() {
    let Some(here) = Namespace::new("d") else { return };
    let folder = tempfile::tempdir().unwrap();
    let state = folder.path();
    assert!(here.tune(&["v0", "mtu=9000", "gro=on", "--apply"], state).status.success());
    assert!(ip(&["-n", &here.0, "link", "set", "v0", "mtu", "3000"]));
    let undone = here.tune(&["v0", "--undo"], state);
    assert!(text(&undone.stderr).contains("mtu stays 3000: it was changed again meanwhile"), "{undone:?}");
    assert_eq!((here.value("v0", "mtu", state), here.value("v0", "gro", state)), ("3000".into(), "off".into()));
}

#[test]
fn a_plan_changes_nothing() {
    let Some(here) = Namespace::new("e") else { return };
    let folder = tempfile::tempdir().unwrap();
    let plan = here.tune(&["v0", "mtu=9000"], folder.path());
    assert!(plan.status.success() && text(&plan.stdout).contains("Nothing is changed yet"), "{plan:?}");
    assert_eq!(here.file("/sys/class/net/v0/mtu", folder.path()), "1500");
    for (arguments, message) in [
        (&["v0", "mtu=x"][..], "`mtu` is a number, not `x`"),
        (&["v0", "mtu=1", "mtu=2"], "`mtu` is given twice"),
        (&["v7", "mtu=1", "--apply"], "there is no network interface `v7`; there are lo, v0, v1"),
    ] {
        let refused = here.tune(arguments, folder.path());
        assert!(!refused.status.success() && text(&refused.stderr).contains(message), "{refused:?}");
    }
}
