//! A disk that fails: whatever a command was at, it reports the error or has done it, and nothing that was there is lost or read wrongly.

use std::{
    io::{BufRead, BufReader},
    path::PathBuf,
    process::{Child, Command, Stdio},
};

use crate::support::{Fenxi, skipped, text};

/// How often the disk fails, unless `FENXI_EIO` is set.
const FAILURES: usize = 12;

/// The store's disk, gone with the value.
struct Disk {
    mount: PathBuf,
    control: PathBuf,
    child: Child,
}

impl Disk {
    /// One that fails on request, under the whole store; why there is none.
    fn under(fenxi: &Fenxi) -> Result<Disk, String> {
        let (mount, back) = (fenxi.path(), fenxi.path().with_file_name("back"));
        let control = fenxi.path().with_file_name("control");
        for folder in [&mount, &back] {
            fs_err::create_dir_all(folder).map_err(|e| e.to_string())?;
        }
        let program = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/failing_fs.py");
        let mut command = Command::new("python3");
        command.arg(program).arg(back).arg(&mount).arg(&control).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().map_err(|e| format!("no python3: {e}"))?;
        let mut said = String::new();
        let _ = child.stdout.take().map(|out| BufReader::new(out).read_line(&mut said));
        if said == "mounted\n" {
            return Ok(Disk { mount, control, child });
        }
        let output = child.wait_with_output().map_err(|e| e.to_string())?;
        let why = text(&output.stderr);
        Err(why.lines().last().unwrap_or("no /dev/fuse").to_owned())
    }

    /// Lets all that does `what` fail after `n` that do not.
    fn fail(&self, what: &str, n: u64) {
        fs_err::write(&self.control, format!("{what} {n}")).unwrap();
    }

    fn heal(&self) {
        fs_err::remove_file(&self.control).unwrap();
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("-l").arg(&self.mount).status();
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Commands about the runs that were there before.
const ASKED: &[&[&str]] = &[
    &["show", "a", "--json"],
    &["sql", "-o", "csv", "-r", "a", "-r", "b", "SELECT * FROM cpu ORDER BY ALL"],
    &["sql", "-o", "csv", "-r", "a", "SELECT * FROM stats ORDER BY ALL"],
];

/// Output of each command; None where it is an error that names what is wrong.
fn answers(fenxi: &Fenxi) -> Vec<Option<String>> {
    let ask = |args: &&[&str]| {
        let output = fenxi.run(args);
        let said = text(&output.stderr);
        assert!(output.status.code().is_some() && !said.contains("panicked"), "fenxi {args:?}: {output:?}");
        assert!(output.status.success() || !said.is_empty(), "fenxi {args:?} failed without a word");
        output.status.success().then(|| text(&output.stdout))
    };
    ASKED.iter().map(ask).collect()
}

#[test]
fn a_disk_that_fails_loses_nothing_and_nothing_in_silence() {
    let fenxi = Fenxi::new();
    let disk = match Disk::under(&fenxi) {
        Ok(disk) => disk,
        Err(why) => return skipped("a_disk_that_fails_loses_nothing_and_nothing_in_silence", &why),
    };
    for name in ["a", "b", "c"] {
        fenxi.ok(&["record", "--quiet", "--name", name, "--interval", "20ms", "--for", "80ms", "--source", "cpu,mem"]);
    }
    fenxi.ok(&["tag", "a", "kept=yes"]);
    let right = answers(&fenxi);
    assert!(right.iter().all(Option::is_some), "{right:?}");
    let input = concat!(env!("CARGO_MANIFEST_DIR"), "/../formats/fixtures/vmstat/t-procps4.txt");
    let commands: [&[&str]; 6] = [
        &["record", "--quiet", "--name", "new", "--interval", "20ms", "--for", "80ms", "--source", "cpu,mem"],
        &["import", "--quiet", "--name", "new", input],
        &["tag", "c", "new=yes", "--remark", "new"],
        &["average", "b", "c", "--name", "new"],
        &["compact", "--quiet"],
        &["rm", "new"],
    ];
    let failures = std::env::var("FENXI_EIO").ok().and_then(|n| n.parse().ok()).unwrap_or(FAILURES);
    let (mut seed, mut told, mut unheard) = (3_u64, 0, 0);
    let mut next = |n: u64| {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (seed >> 33) % n
    };
    for failure in 0..failures {
        let args = commands[failure % commands.len()];
        disk.fail("write", next(60));
        let before = fs_err::read_dir(fenxi.path().join("runs")).unwrap().count();
        let output = fenxi.run(args);
        disk.heal();
        let said = text(&output.stderr);
        assert!(output.status.code().is_some() && !said.contains("panicked"), "{args:?}: {output:?}");
        if output.status.success() {
            unheard += 1;
            let is_there = fs_err::read_dir(fenxi.path().join("runs")).unwrap().count() > before;
            assert!(is_there || args[0] != "record", "{args:?} printed that it recorded: {said}");
        } else {
            told += 1;
            assert!(said.contains("rror") || args[0] == "rm", "{args:?}: {said}");
        }
        fenxi.ok(&["runs", "--quiet"]);
        let verified = fenxi.run(&["verify"]);
        // Remains that the next `compact` finishes are no problem, and reported.
        let is_clean = text(&verified.stdout).lines().all(|line| line.contains(": remark: "));
        assert!(verified.status.success() && is_clean, "{failure} {args:?}: {verified:?}");
        assert_eq!(answers(&fenxi), right, "{failure} {args:?}");
        if failure % 24 == 23 {
            // With what was recorded so far each check would take longer than the last.
            while fenxi.run(&["rm", "new"]).status.success() {}
        }
    }
    for n in 0..(failures as u64).min(40) {
        disk.fail("read", n);
        let now = answers(&fenxi);
        disk.heal();
        let wrong = now.iter().zip(&right).find(|(now, right)| now.is_some() && now != right);
        assert!(wrong.is_none(), "with {n} reads: {wrong:?}");
    }
    assert_eq!(answers(&fenxi), right);
    eprintln!("the disk failed {failures} times: {told} commands reported it, {unheard} had done their work");
}
