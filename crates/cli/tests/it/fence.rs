//! `fenxi fence`: what it proposes for a saved machine, and what it changes on this one and changes back.

use std::{
    collections::BTreeMap,
    os::fd::OwnedFd,
    path::Path,
    process::{Child, Command},
};

use fs_err as fs;
use rustix::fs::{FlockOperation, flock};
use serde_json::Value;

use crate::support::{Fenxi, skipped, text};

fn put(root: &Path, path: &str, content: &str) {
    let path = root.join(path);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, content).unwrap();
}

/// A machine of four CPUs: two disks' interrupts, one without a driver, and process 77 in a cpuset.
fn saved() -> tempfile::TempDir {
    let root = tempfile::tempdir().unwrap();
    let at = root.path();
    put(at, "sys/devices/system/cpu/online", "0-3\n");
    for (irq, driver, allowed, effective) in
        [(36, "nvme0q1", "0-3", "3"), (37, "nvme0q2", "2-3", "2"), (9, "", "0-3", "0")]
    {
        put(at, &format!("proc/irq/{irq}/smp_affinity_list"), &format!("{allowed}\n"));
        put(at, &format!("proc/irq/{irq}/effective_affinity_list"), &format!("{effective}\n"));
        if !driver.is_empty() {
            fs::create_dir_all(at.join(format!("proc/irq/{irq}/{driver}"))).unwrap();
        }
    }
    let stat = |tid: u32, cpu: u32| {
        format!(
            "{tid} (a (db)) S 1 77 77 0 -1 4194560 1 0 0 0 150 50 0 0 20 0 2 0 9876 1 1 1 1 1 1 1 1 0 0 0 0 0 0 0 17 {cpu} 0 0\n"
        )
    };
    put(at, "proc/77/stat", &stat(77, 2));
    for (tid, cpu) in [(77, 2), (78, 3)] {
        put(at, &format!("proc/77/task/{tid}/stat"), &stat(tid, cpu));
        put(at, &format!("proc/77/task/{tid}/status"), "Name:\tdb\nCpus_allowed:\tc\nCpus_allowed_list:\t2-3\n");
    }
    put(at, "proc/77/cgroup", "3:cpuset:/db\n0::/\n");
    put(at, "proc/self/mountinfo", "30 25 0:26 / /sys/fs/cgroup/cpuset rw,relatime - cgroup cgroup rw,cpuset\n");
    put(at, "sys/fs/cgroup/cpuset/db/cpuset.cpus", "0-3\n");
    root
}

#[test]
fn a_saved_machine_shows_interrupts_on_the_process_s_cpus_and_what_would_change() {
    let (fenxi, root) = (Fenxi::new(), saved());
    let root = root.path().to_str().unwrap();
    let shown: Value = serde_json::from_str(&fenxi.ok(&["fence", "--root", root, "-p", "77", "--json"])).unwrap();
    assert_eq!(shown["process"]["command"], "a (db)");
    assert_eq!((&shown["process"]["cpus"], &shown["process"]["ran_on"]), (&Value::from("2-3"), &Value::from("2-3")));
    let irqs = shown["irqs"].as_array().unwrap();
    let brief: Vec<String> =
        irqs.iter().map(|irq| format!("{} {} {}", irq["irq"], irq["driver"], irq["would_go_to"])).collect();
    assert_eq!(brief, ["36 \"nvme0q1\" \"0-1\"", "37 \"nvme0q2\" \"0-1\""]);
    assert_eq!(irqs[0]["intr_per_s"], Value::Null, "a saved machine has no rates");
    assert_eq!(shown["fence"]["cpus"], "2-3", "the process is bound there");
    assert!(shown["fence"]["by"].as_str().unwrap().ends_with("/sys/fs/cgroup/cpuset/db/fenxi-fence-77"));
    let text = fenxi.ok(&["fence", "--root", root, "-p", "77", "--cpus", "1"]);
    assert!(text.contains("Nothing is changed yet") && text.contains("CPUs 1, by a new cpuset"), "{text}");
    assert!(fenxi.ok(&["fence", "--root", root]).contains("nvme0q1"));
}

#[test]
fn what_cannot_be_fenced_is_said() {
    let (fenxi, root) = (Fenxi::new(), saved());
    let state = tempfile::tempdir().unwrap();
    let (root, state) = (root.path().to_str().unwrap(), state.path().to_str().unwrap());
    assert!(fenxi.fails(1, &["fence", "--root", root, "-p", "5"]).contains("there is no process 5"));
    assert!(
        fenxi
            .fails(1, &["fence", "--root", root, "-p", "77", "--cpus", "0-3"])
            .contains("interrupts need at least one other")
    );
    assert!(
        fenxi
            .fails(1, &["fence", "--root", root, "-p", "77", "--cpus", "core:9"])
            .contains("there is no core 9; there are 0-3")
    );
    assert!(fenxi.fails(1, &["fence", "--root", root, "-p", "77", "--cpus", "9"]).contains("online CPUs (0-3)"));
    fenxi.fails(2, &["fence", "--root", root, "-p", "77", "--apply"]);
    fenxi.fails(2, &["fence", "--apply"]);
    fenxi.fails(2, &["fence", "-p", "77", "--cpus", "3-1"]);
    fenxi.fails(2, &["fence", "-p", "77", "--cpus", "chip:1"]);
    assert!(fenxi.fails(1, &["fence", "--undo", "--state", state]).contains("nothing to undo"));
    assert!(fenxi.fails(1, &["fence", "--undo", "-p", "77", "--state", state]).contains("77"));
}

/// Held while interrupts are moved: they are the whole machine's, and another test, or this one run twice, moves them, too.
fn alone() -> OwnedFd {
    let (file, _) = fs::File::create(std::env::temp_dir().join("fenxi-test-fence.lock")).unwrap().into_parts();
    flock(&file, FlockOperation::LockExclusive).unwrap();
    OwnedFd::from(file)
}

/// A process to be fenced, ended when dropped; before that every fence of `state` is undone, whatever failed.
struct Fenced<'a> {
    child: Child,
    fenxi: &'a Fenxi,
    state: &'a str,
}

impl Drop for Fenced<'_> {
    fn drop(&mut self) {
        let _ = self.fenxi.run(&["fence", "--undo", "--state", self.state]);
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// State that a fence may change: where the process may run, its groups, where interrupts may go.
fn now(pid: u32) -> (String, String, BTreeMap<String, String>) {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    let allowed = status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:")).unwrap().trim().to_owned();
    let groups = fs::read_to_string(format!("/proc/{pid}/cgroup")).unwrap();
    let irqs = fs::read_dir("/proc/irq").unwrap().filter_map(|entry| {
        let path = entry.unwrap().path().join("smp_affinity_list");
        Some((path.display().to_string(), fs::read_to_string(path).ok()?))
    });
    (allowed, groups, irqs.collect())
}

#[test]
fn a_fence_is_put_up_and_undone_exactly() {
    let fenxi = Fenxi::new();
    let folder = tempfile::tempdir().unwrap();
    let state = folder.path().join("state").display().to_string();
    let online = fs::read_to_string("/sys/devices/system/cpu/online").unwrap();
    let Some((_, last)) = online.trim().rsplit_once(['-', ',']) else {
        return skipped("a fence", "there is one CPU");
    };
    let _alone = alone();
    let child = Command::new("sleep").arg("600").spawn().unwrap();
    let fenced = Fenced { child, fenxi: &fenxi, state: &state };
    let pid = fenced.child.id();
    let before = now(pid);
    let pid_text = pid.to_string();
    let fence = ["fence", "-p", &pid_text, "--state", &state, "--watch", "100ms"];
    let shown = fenxi.ok(&[&fence[..], &["--cpus", last]].concat());
    assert!(shown.contains("Nothing is changed yet"), "{shown}");
    assert_eq!(now(pid), before, "nothing is");
    assert!(!Path::new(&state).exists());

    let output = fenxi.run(&[&fence[..], &["--cpus", last, "--apply"]].concat());
    let said = text(&output.stderr);
    if !output.status.success() {
        assert!(said.contains("nothing is left changed"), "{said}");
        assert_eq!(now(pid), before);
        return skipped("a fence", &said);
    }
    let (allowed, _, irqs) = now(pid);
    assert_eq!(allowed, last);
    let file: Value = serde_json::from_str(&fs::read_to_string(format!("{state}/fence-{pid}.json")).unwrap()).unwrap();
    for irq in file["irqs"].as_array().unwrap() {
        let list = irqs[&format!("/proc/irq/{}/smp_affinity_list", irq["irq"])].trim();
        let stays = said.contains(&format!("irq {} ({}) stays", irq["irq"], irq["driver"].as_str().unwrap()));
        assert_eq!(list == irq["set_to"].as_str().unwrap(), !stays, "irq {}: {list}; {said}", irq["irq"]);
    }
    eprintln!("{said}");
    assert!(fenxi.fails(1, &[&fence[..], &["--apply"]].concat()).contains("fenced already"));

    let undone = fenxi.run(&["fence", "--undo", "-p", &pid_text, "--state", &state]);
    assert!(undone.status.success(), "{}", text(&undone.stderr));
    assert_eq!(now(pid), before, "all is as it was");
    assert!(!Path::new(&format!("{state}/fence-{pid}.json")).exists());
}

#[test]
fn a_fence_whose_process_has_ended_is_undone_all_the_same() {
    let fenxi = Fenxi::new();
    let folder = tempfile::tempdir().unwrap();
    let state = folder.path().display().to_string();
    let _alone = alone();
    let child = Command::new("sleep").arg("600").spawn().unwrap();
    let mut fenced = Fenced { child, fenxi: &fenxi, state: &state };
    let pid = fenced.child.id().to_string();
    let before = now(fenced.child.id()).2;
    let output = fenxi.run(&["fence", "-p", &pid, "--state", &state, "--watch", "50ms", "--apply"]);
    if !output.status.success() {
        return skipped("a fence of a process that ends", &text(&output.stderr));
    }
    fenced.child.kill().unwrap();
    fenced.child.wait().unwrap();
    let undone = fenxi.run(&["fence", "--undo", "--state", &state]);
    assert!(undone.status.success() && text(&undone.stderr).contains("has ended"), "{}", text(&undone.stderr));
    let after = now(std::process::id()).2;
    assert_eq!(after, before);
    assert!(fs::read_dir(&state).unwrap().next().is_none(), "no file is left");
}

#[test]
fn a_group_of_version_2_is_used_only_by_who_is_alone_in_it() {
    let (fenxi, saved) = (Fenxi::new(), saved());
    let at = saved.path();
    put(at, "proc/77/cgroup", "0::/db\n");
    put(at, "proc/self/mountinfo", "30 25 0:26 / /sys/fs/cgroup rw,relatime - cgroup2 cgroup2 rw\n");
    let by = || {
        let shown = fenxi.ok(&["fence", "--root", at.to_str().unwrap(), "-p", "77", "--json"]);
        serde_json::from_str::<Value>(&shown).unwrap()["fence"]["by"].as_str().unwrap().to_owned()
    };
    assert!(by().contains("affinity of its threads (its cgroup has no cpuset controller"), "{}", by());
    put(at, "sys/fs/cgroup/db/cpuset.cpus", "\n");
    put(at, "sys/fs/cgroup/db/cgroup.procs", "77\n");
    assert!(by().contains("separate cgroup") && by().ends_with("/sys/fs/cgroup/db"), "{}", by());
    put(at, "sys/fs/cgroup/db/cgroup.procs", "12\n77\n");
    assert!(by().contains("affinity of its threads (its cgroup has other processes"), "{}", by());
}
