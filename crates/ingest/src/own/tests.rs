//! Programs that behave, and programs that do not, each as a script in its own store.

use std::{
    os::unix::fs::PermissionsExt,
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, Instant},
};

use fenxi_formats::{AnyFormat, Head, Hints, Input, Out, Tally};
use fenxi_model::catalog::note;
use fenxi_store::Store;
use fs_err as fs;

use super::{Limits, OwnFormats, Programs, own_formats};

mod refused;

/// A store with files in its folder of formats.
struct Place {
    _folder: tempfile::TempDir,
    store: Store,
}

impl Place {
    fn of(files: &[(&str, &str)]) -> Place {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open_or_create(folder.path().join("store")).unwrap();
        for (name, text) in files {
            let path = store.path().join("formats").join(name);
            fs::write(&path, text).unwrap();
            if !name.ends_with(".toml") && text.starts_with("#!") {
                mode(&path, 0o755);
            }
        }
        Place { _folder: folder, store }
    }

    fn formats(&self, limits: Limits) -> OwnFormats {
        own_formats(&self.store, &Programs::Run { stopped: Arc::new(|| false), limits })
    }
}

fn mode(path: &Path, mode: u32) {
    fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
}

/// Limits that a test can wait for.
fn tight() -> Limits {
    Limits {
        wall: Duration::from_secs(5),
        silent: Duration::from_secs(2),
        cpu: Duration::from_secs(2),
        memory_bytes: 200 << 20,
        output_bytes: 1 << 20,
        output_per_input: 16,
        processes: 16,
        ..Limits::default()
    }
}

/// Tally of a text as a format reads it, and its notes.
fn read(format: &AnyFormat, text: &[u8]) -> (Tally, String) {
    let mut notes = String::new();
    let mut out = Out::new(format.name(), Hints::none("file"), |rows, _| {
        if let Some(table) = rows.of(&note::TABLE) {
            for row in 0..table.n_rows() {
                notes.push_str(table.str(row, note::message).unwrap_or_default());
                notes.push('\n');
            }
        }
        rows.clear();
    });
    format.read(&mut Input::new(text), &mut out);
    let tally = out.finish();
    (tally, notes)
}

/// Tally of `input` as the script `text` reads it within `limits`, and its notes.
fn script(text: &str, input: &[u8], limits: Limits) -> (Tally, String) {
    let place = Place::of(&[("mine", text)]);
    let own = place.formats(limits);
    assert_eq!(own.wrong, Vec::<String>::new());
    read(&own.formats.named("mine").unwrap(), input)
}

const ROW: &str = r#"{"table": "sched", "t": 1795271753, "runnable": 1}"#;

#[test]
fn a_program_reads_its_input_and_its_rows_are_taken() {
    let text = "#!/bin/sh\n# summary: jobs of the queue\n[ \"$1\" = --sniff ] && { head -n 1 | grep -q '^jobs v1$' && echo certain; exit; }\n\
        awk '/^[0-9]/ { printf \"{\\\"table\\\": \\\"sched\\\", \\\"t\\\": %s, \\\"runnable\\\": %s}\\n\", $1, $2 }'\n";
    let place = Place::of(&[("jobs", text)]);
    let own = place.formats(tight());
    let input: String = std::iter::once("jobs v1\n".to_owned())
        .chain((0..50_000).map(|i| format!("{} {}\n", 1_795_271_753 + i, i % 7)))
        .collect();
    let found = own.formats.detect(&Head { text: &input[..1000] }).unwrap();
    assert_eq!((found.name(), found.own().unwrap().summary.as_str()), ("jobs", "jobs of the queue"));
    let (tally, notes) = read(&found, input.as_bytes());
    assert_eq!((tally.rows(), notes.as_str()), (50_000, ""));
    assert_eq!(own.formats.detect(&Head { text: "other v1\n1 2\n" }).map(|f| f.name()), None);
}

#[test]
fn a_program_that_hangs_is_ended_with_all_that_it_started() {
    for text in [
        "#!/bin/sh\nsleep 1000\n",
        "#!/bin/sh\ncat > /dev/null\nsleep 1000 &\nsleep 1000\n",
        "#!/bin/sh\ntrap '' TERM INT HUP\ncat > /dev/null\nwhile true; do sleep 100; done\n",
    ] {
        let begun = Instant::now();
        let (_, notes) = script(text, b"a\n", tight());
        assert!(notes.contains("neither read nor printed anything for 2 s"), "{notes}");
        assert!(begun.elapsed() < Duration::from_secs(20));
    }
}

#[test]
fn what_a_program_leaves_behind_is_ended_with_it() {
    // It ends at once; what it started holds its output open.
    let begun = Instant::now();
    let (tally, notes) =
        script(&format!("#!/bin/sh\ncat > /dev/null\necho '{ROW}'\nsleep 1000 &\nexit 0\n"), b"a\n", tight());
    assert_eq!((tally.rows(), notes.as_str()), (1, ""));
    assert!(begun.elapsed() < Duration::from_secs(4), "{:?}", begun.elapsed());
}

#[test]
fn a_program_that_only_computes_is_ended_by_its_cpu_time() {
    let limits = Limits {
        silent: Duration::from_secs(60),
        wall: Duration::from_secs(60),
        cpu: Duration::from_secs(1),
        ..tight()
    };
    let (_, notes) = script("#!/bin/sh\nwhile :; do :; done\n", b"a\n", limits);
    assert!(notes.contains("CPU time") || notes.contains("ended with signal"), "{notes}");
}

#[test]
fn garbage_is_noted_and_ends_a_program_that_prints_nothing_else() {
    let (tally, notes) = script(&format!("#!/bin/sh\ncat > /dev/null\necho hello\necho '{ROW}'\n"), b"a\n", tight());
    assert_eq!((tally.rows(), tally.notes), (1, 1));
    assert!(notes.contains("line 1 of the program's output: no JSON"), "{notes}");
    let (tally, notes) = script("#!/bin/sh\nyes\n", b"a\n", Limits { output_bytes: 1 << 30, ..tight() });
    assert!(tally.notes > 1000, "{tally:?}");
    let (tally, _) = script("#!/bin/sh\nhead -c 300000 /dev/urandom\n", b"a\n", tight());
    assert_eq!(tally.rows(), 0, "{notes}");
}

#[test]
fn a_gigabyte_of_output_is_cut_off() {
    let begun = Instant::now();
    let (_, notes) = script(&format!("#!/bin/sh\nyes '{ROW}' | head -c 1000000000\n"), b"a\n", tight());
    assert!(
        notes.contains("printed more than 1048") && notes.contains("what it printed until then is kept"),
        "{notes}"
    );
    let (_, notes) =
        script("#!/bin/sh\nhead -c 1000000000 /dev/zero\n", b"a\n", Limits { output_bytes: 1 << 40, ..tight() });
    assert!(notes.contains("printed a line of more than"), "{notes}");
    assert!(begun.elapsed() < Duration::from_secs(30));
}

#[test]
fn a_program_that_forks_without_end_is_ended() {
    let begun = Instant::now();
    let text = "#!/bin/sh\nbomb() { sleep 100 & sleep 100 & sleep 0.01; bomb; }\nbomb\n";
    let (_, notes) =
        script(text, b"a\n", Limits { silent: Duration::from_secs(30), wall: Duration::from_secs(30), ..tight() });
    assert!(notes.contains("had more than 16 processes"), "{notes}");
    assert!(begun.elapsed() < Duration::from_secs(20));
}

#[test]
fn a_program_that_dies_is_said_with_its_last_words() {
    let (tally, notes) = script(
        &format!("#!/bin/sh\ncat > /dev/null\necho '{ROW}'\necho 'no such pool' >&2\nexit 3\n"),
        b"a\n",
        tight(),
    );
    assert_eq!(tally.rows(), 1);
    assert!(notes.contains("the program formats/mine ended with exit status: 3: no such pool"), "{notes}");
    let (_, notes) = script("#!/bin/sh\nhead -n 1 > /dev/null\nexit 0\n", &b"a line\n".repeat(1 << 20), tight());
    assert!(notes.contains("did not read all of the input"), "{notes}");
    let (_, notes) = script("#!/no/such/interpreter\n", b"a\n", tight());
    assert!(notes.contains("cannot be run"), "{notes}");
}

#[test]
fn a_program_has_no_network_no_files_to_write_and_no_environment() {
    let dir = tempfile::tempdir().unwrap();
    let target = dir.path().join("written");
    let text = format!(
        "#!/usr/bin/env python3\nimport os, socket, sys\nsys.stdin.read()\ndef tried(what, f):\n  try:\n    f()\n    print('{{\"note\": \"could ' + what + '\"}}')\n  except OSError as e:\n    print('{{\"note\": \"refused ' + what + '\"}}')\n\
         tried('connect', lambda: socket.create_connection(('127.0.0.1', 9), 1))\ntried('listen', lambda: socket.socket(socket.AF_UNIX))\n\
         tried('write', lambda: open('{}', 'w').write('x'))\ntried('leave', os.setsid)\ntried('kill', lambda: os.kill(os.getppid(), 0))\n\
         print('{{\"note\": \"env ' + ' '.join(sorted(k for k in os.environ if k != 'LC_CTYPE')) + '\"}}')\nprint('{{\"note\": \"cap ' + [l for l in open('/proc/self/status') if l.startswith('CapEff')][0].split()[1] + '\"}}')\n",
        target.display()
    );
    let (_, notes) =
        script(&text, b"a\n", Limits { silent: Duration::from_secs(10), wall: Duration::from_secs(20), ..tight() });
    if notes.contains("No such file") {
        return;
    }
    for what in ["connect", "listen", "write", "leave", "kill"] {
        assert!(notes.contains(&format!("refused {what}")), "{notes}");
    }
    assert!(notes.contains("env LANG PATH TZ\n"), "{notes}");
    assert!(notes.contains("cap 0000000000000000"), "{notes}");
    // Landlock may be missing; the limit of files' sizes is not.
    assert_eq!(fs::read_to_string(&target).unwrap_or_default(), "");
}

#[test]
fn a_program_that_takes_too_much_memory_is_ended() {
    let text = "#!/usr/bin/env python3\nimport time\nx = [bytearray(1 << 20) for _ in range(400)]\nfor b in x: b[::4096] = b'x' * len(b[::4096])\ntime.sleep(100)\n";
    let limits = Limits { silent: Duration::from_secs(30), wall: Duration::from_secs(30), ..tight() };
    let (_, notes) = script(text, b"a\n", limits.clone());
    assert!(notes.contains("of memory"), "{notes}");
    let (_, notes) = script(text, b"a\n", Limits { address_bytes: 200 << 20, ..limits });
    assert!(notes.contains("MemoryError") || notes.contains("of memory"), "{notes}");
}

#[test]
fn a_program_is_ended_when_its_user_stops() {
    let place = Place::of(&[("mine", "#!/bin/sh\ncat > /dev/null\nsleep 1000\n")]);
    let stop = Arc::new(AtomicBool::new(false));
    let asked = Arc::clone(&stop);
    let own = own_formats(
        &place.store,
        &Programs::Run { stopped: Arc::new(move || asked.load(Ordering::Relaxed)), limits: Limits::default() },
    );
    let begun = Instant::now();
    let stopper = std::thread::spawn(move || {
        std::thread::sleep(Duration::from_millis(300));
        stop.store(true, Ordering::Relaxed);
    });
    let (_, notes) = read(&own.formats.named("mine").unwrap(), b"a\n");
    stopper.join().unwrap();
    assert!(notes.contains("was stopped"), "{notes}");
    assert!(begun.elapsed() < Duration::from_secs(5));
}

#[test]
fn programs_are_not_run_where_they_must_not_be() {
    let toml = "summary = 'x'\n[[line]]\npattern = '.*'\n[[line.row]]\ntable = 'text'\nvalue = 'x'\n";
    let place = Place::of(&[("mine", "#!/bin/sh\n"), ("words.toml", toml)]);
    let names = |own: &OwnFormats| own.formats.own().iter().map(|format| format.about().name).collect::<Vec<_>>();
    let own = own_formats(&place.store, &Programs::Never);
    assert_eq!((names(&own), own.wrong.len()), (vec!["words"], 0));
    let own = place.formats(tight());
    assert_eq!(names(&own), ["mine", "words"]);
    let program = place.store.path().join("formats/mine");
    for (path, of, back) in [(program.clone(), 0o777, 0o755), (place.store.path().join("formats"), 0o777, 0o755)] {
        mode(&path, of);
        let own = place.formats(tight());
        assert_eq!(names(&own), ["words"]);
        assert!(own.wrong[0].contains("others may change it"), "{:?}", own.wrong);
        mode(&path, back);
    }
    assert_eq!(names(&place.formats(tight())), ["mine", "words"]);
    std::os::unix::fs::symlink("/bin/cat", place.store.path().join("formats/linked")).unwrap();
    assert!(place.formats(tight()).wrong[0].contains("it is a link"));
}

#[test]
fn one_wrong_file_leaves_the_others() {
    let good = "summary = 'x'\n[[line]]\npattern = '.*'\n[[line.row]]\ntable = 'text'\nvalue = 'x'\n";
    let place = Place::of(&[
        ("a.toml", "summary = 5\n"),
        ("b.toml", good),
        ("vmstat.toml", good),
        ("c.txt", "words"),
        ("b", "#!/bin/sh\n"),
        (".hidden", "x"),
        ("d.toml~", "x"),
    ]);
    fs::create_dir(place.store.path().join("formats/folder")).unwrap();
    let own = place.formats(tight());
    let names: Vec<_> = own.formats.own().iter().map(|format| format.about().name).collect();
    assert_eq!(names, ["b"]);
    let reported = own.wrong.join("\n");
    for expected in [
        "formats/a.toml:1: `summary` is of type integer",
        "formats/vmstat.toml:1: `vmstat` is the name of a shipped format",
        "formats/c.txt: it is neither NAME.toml nor a program",
        "formats/b.toml: there is another format called `b`",
        "formats/folder: it is no file",
    ] {
        assert!(reported.contains(expected), "{expected}\n{reported}");
    }
    assert_eq!(own.wrong.len(), 5);
}
