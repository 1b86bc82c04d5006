//! Text of others on the way to a terminal: every source of text, through every command, into a pipe and into a terminal.

use std::{
    collections::BTreeMap,
    ffi::{OsStr, OsString},
    os::unix::ffi::OsStringExt,
    path::PathBuf,
    process::{Command, Stdio},
};

use fenxi_model::{Micros, Rows, TABLES, Type, is_hidden};
use fenxi_store::{Begin, End, InputEntry, Store, Window};
use fs_err as fs;

use crate::{
    stub::{Answer, Stub},
    support::{Fenxi, skipped},
};

/// Sets a terminal's title, asks it a question, clears it, rings, turns a line around and breaks it.
const HOSTILE: &str = "a\x1b]0;t\x07\x1b[6n\u{9b}2J\x1b[35m\rb\u{202e}c\x7f\x08\nerror: d\te\u{2066}\u{61c}\u{2028}f";
/// As a key or a name of a file may be.
const HOSTILE_NAME: &str = "n\x1b[6n\u{9b}2J\u{202e}\x7f\nm";

/// In the year 2100, so that `@1` stays the hostile run whatever is recorded meanwhile.
const START: Micros = Micros(4_102_444_800_000_000);

/// Sequences that a progress bar sends besides text; none of them is in the hostile texts.
const OWN: [&str; 5] = ["\x1b[2K", "\x1b[1A", "\x1b[1B", "\x1b[?25l", "\x1b[?25h"];

/// A store in which every text is hostile, and files to read.
struct Place {
    fenxi: Fenxi,
    dir: tempfile::TempDir,
    server: Stub,
}

impl Place {
    fn new() -> Place {
        let fenxi = Fenxi::new();
        let place = Place {
            fenxi,
            dir: tempfile::tempdir().unwrap(),
            server: Stub::start(|_, _| Answer::Refuse("\x1b[6n\u{9b}")),
        };
        let store = Store::open_or_create(place.fenxi.path()).unwrap();
        for random in [1, 2] {
            place.run(&store, random);
        }
        place.files();
        place
    }

    /// A run in which every text is hostile, in every table that there is.
    fn run(&self, store: &Store, random: u64) {
        let one = || BTreeMap::from([(HOSTILE_NAME.to_owned(), HOSTILE.to_owned())]);
        let begin = Begin {
            name: Some(HOSTILE.to_owned()),
            kind: HOSTILE_NAME.to_owned(),
            host: HOSTILE_NAME.to_owned(),
            command: vec![HOSTILE.to_owned(), HOSTILE_NAME.to_owned()],
            params: one(),
            tags: one(),
            start: START,
            interval_s: Some(1.0),
            random,
            sources: vec![HOSTILE_NAME.to_owned()],
        };
        let mut open = store.begin(begin).unwrap();
        let mut rows = Rows::new(HOSTILE_NAME);
        for tick in 1..=3 {
            let t = Micros(START.0 + tick * 1_000_000);
            for table in TABLES {
                let mut row = rows.row(table, t, 1.0);
                for (place, column) in table.columns.iter().enumerate().skip(2) {
                    match column.ty {
                        Type::Label | Type::Text => row.str(place, format!("{HOSTILE}{}", column.name).as_str()),
                        Type::F64 => row.f64(place, 7.0 + tick as f64),
                        Type::I64 => row.i64(place, 7),
                        Type::Time => &mut row,
                    };
                }
            }
            open.append(&mut rows).unwrap();
        }
        let raw = open.raw_file("in").unwrap().finish().unwrap();
        let [name, format] = [HOSTILE; 2].map(str::to_owned);
        let input = InputEntry { name, raw, format: Some(format), ..InputEntry::default() };
        let window = Window { name: HOSTILE_NAME.to_owned(), start: START, end: Micros(START.0 + 2_000_000) };
        let end = End {
            inputs: vec![input],
            windows: vec![window],
            exit_status: Some(0),
            ..End::at(Micros(START.0 + 3_000_000))
        };
        let id = open.seal(end).unwrap();
        let mut labels = store.run(&id).unwrap().labels;
        labels.remarks.push(HOSTILE.to_owned());
        store.set_labels(&id, &labels).unwrap();
    }

    fn files(&self) {
        let line = HOSTILE.replace(['\n', '\r', '\u{2028}'], " ");
        let own = self.fenxi.path();
        _ = ["questions", "findings", "formats"].map(|folder| fs::create_dir_all(own.join(folder)).unwrap());
        let head = format!("-- title: {line}\n-- about: {line}\n-- section: cpu\n-- chart: table\n");
        let sql = "SELECT name AS \"c\u{1b}[6n\u{9b}\", name FROM runs\n";
        fs::write(own.join("questions/own.sql"), format!("{head}-- order: 1\n{sql}")).unwrap();
        let finding = format!("-- title: {line}\n-- severity: warning\n-- section: cpu\n-- message: {line} {{what}}\n");
        let sql = "SELECT run, host, comm AS what FROM process\n";
        fs::write(own.join("findings/own.sql"), format!("{finding}-- advice: {line}\n{sql}")).unwrap();
        let of_lines = "[[line]]\npattern = '(?<all>.*)'\n[[line.row]]\ntable = 'text'\nvalue = '{all}'\n";
        let evil = "\\u001b[6n\\u009b\\u202e\\r\\n\\u2028";
        fs::write(own.join("formats/mine.toml"), format!("summary = \"a{evil}b\"\nexample = \"{evil}\"\n{of_lines}"))
            .unwrap();
        fs::write(own.join(format!("formats/{HOSTILE_NAME}.toml")), format!("summary = \"{line}\"\n")).unwrap();
        fs::write(own.join("formats/wrong.toml"), format!("summary = 'x'\n\"{evil}\" = 1\n")).unwrap();
        let mpstat = "Linux 6.1.0 (n\u{9b}\u{1b}[6n)\t11/21/26\t_x86_64_\t(2 CPU)\n\n\
            10:00:00     CPU    %usr   %nice    %sys\n10:00:01     \u{1b}[6n    1.0    0.0    1.0\n";
        fs::write(self.file("output"), mpstat).unwrap();
        fs::write(self.file("plan.toml"), format!("name = {line:?}\nrepeats = \"{line}\"\n")).unwrap();
        fs::write(self.file("work.toml"), format!("about = \"{line}\"\n[[\x1b[6n\u{9b}")).unwrap();
        fs::write(self.file("text"), HOSTILE).unwrap();
        fs::write(self.file("damaged.zst"), HOSTILE).unwrap();
    }

    /// A file whose name is hostile, too.
    fn file(&self, name: &str) -> PathBuf {
        self.dir.path().join(format!("{HOSTILE_NAME}{name}"))
    }

    fn path(&self, name: &str) -> String {
        self.file(name).into_os_string().into_string().unwrap()
    }
}

/// Uses of each command, by its words.
#[derive(Default)]
struct Uses(BTreeMap<String, Vec<Vec<String>>>);

/// Current name of a renamed command.
fn now(command: &str) -> String {
    match command {
        "dbstat" => "watch db".to_owned(),
        "db top" | "db check" => command.replace("db ", "watch db-"),
        "mpstat" | "nicstat" | "pstime" | "util" | "memstat" => format!("watch {command}"),
        "tag" | "window" | "mark" => format!("label {command}"),
        "verify" | "compact" | "rm" | "push" | "pull" | "export" => format!("store {command}"),
        "formats" | "tables" | "formats test" => format!("list {command}"),
        command => command.to_owned(),
    }
}

impl Uses {
    /// All of them; a new command has to be added below.
    fn of(place: &Place) -> Uses {
        let mut uses = Uses::default();
        uses.keeping(place);
        uses.asking();
        uses.comparing();
        uses.loading(place);
        uses.watching(place);
        uses
    }

    fn add(&mut self, command: &str, args: &[&str]) {
        let words = args.iter().map(|word| (*word).to_owned()).collect();
        self.0.entry(now(command)).or_default().push(words);
    }

    fn keeping(&mut self, place: &Place) {
        let [output, missing, archive] = ["output", "missing", "archive"].map(|name| place.path(name));
        self.add("record", &["--for", "0.2s", "--name", HOSTILE, "--tag", "k=\x1b[6n\u{9b}"]);
        self.add("record", &["--source", HOSTILE]);
        self.add("record", &["--", HOSTILE]);
        self.add("import", &[&output]);
        self.add("import", &["--json", &output]);
        self.add("import", &[&missing]);
        self.add("export", &["@1", "-o", &archive]);
        self.add("export", &[HOSTILE_NAME, "-o", HOSTILE]);
        self.describing(&output, &missing);
        for more in [vec![], vec!["--json"], vec![HOSTILE]] {
            for command in ["formats", "tables", "runs"] {
                self.add(command, &more);
            }
        }
        self.add("label log", &[HOSTILE_NAME]);
        self.add("inspect", &[&output]);
        self.add("inspect", &[HOSTILE]);
        self.add("inspect", &["--package", HOSTILE]);
        self.add("lsync", &["l", HOSTILE]);
        self.add("stripe", &["--io", HOSTILE, "--iops", "1"]);
        self.add("stripe", &["--measure", HOSTILE]);
        self.add("stripe", &[HOSTILE_NAME, "--mount", HOSTILE, "--iops", "1"]);
        self.add("import", &["--format", "mine", "--force", &output]);
        for more in [vec!["@1"], vec!["@1", "--json"], vec![HOSTILE_NAME]] {
            self.add("show", &more);
        }
        self.add("tag", &["@1", "k\u{1b}[6n=v\u{9b}"]);
        self.add("tag", &["@1", "--remark", HOSTILE]);
        self.add("rm", &[HOSTILE_NAME]);
        self.add("rm", &["@99"]);
        self.add("mark", &[HOSTILE, "--run", "@1", "--at", "0s"]);
        self.add("mark", &[HOSTILE, "--run", HOSTILE_NAME]);
        self.add("mark", &["--run", "@1"]);
        self.add("compact", &["--dry-run"]);
        self.add("compact", &[HOSTILE_NAME]);
        self.add("push", &[&place.path("pushed"), "--dry-run"]);
        self.add("push", &[&place.path("pushed")]);
        self.add("push", &["s3://\u{1b}[6n"]);
        self.add("pull", &[&place.path("pushed"), "--dry-run"]);
        self.add("pull", &[HOSTILE, HOSTILE_NAME]);
        self.add("mcp", &[HOSTILE]);
        for list in ["sources", "questions", "playbooks", "boards", "findings", "workloads"] {
            self.add(&format!("list {list}"), &[]);
            self.add(&format!("list {list}"), &["--json"]);
        }
        for label in ["name", "remark"] {
            self.add(&format!("label {label}"), &["@1", HOSTILE]);
        }
        for words in [vec!["db snap", HOSTILE], vec!["db diff", HOSTILE, HOSTILE_NAME], vec!["db report", HOSTILE]] {
            self.add(words[0], &words[1..]);
        }
        self.add("db report", &["@1", "--section", HOSTILE]);
        self.add("store scrub", &[]);
        self.add("store scrub", &["--every", HOSTILE]);
        self.add("store status", &["--clear"]);
        self.add("store status", &["--json"]);
        self.add("verify", &[]);
        self.add("verify", &["--json"]);
        self.add("man", &[HOSTILE]);
        self.add("completions", &[HOSTILE]);
    }

    fn describing(&mut self, output: &str, missing: &str) {
        self.add("formats", &["mine"]);
        for more in [vec!["mine", output], vec!["mine", output, "--json"], vec![HOSTILE, output], vec!["mine", missing]]
        {
            self.add("formats test", &more);
            self.add("format try", &[&["--as"], &more[..]].concat());
        }
        self.add("format try", &[output]);
        self.add("format new", &["--from", output]);
        self.add("format check", &[missing]);
    }

    fn asking(&mut self) {
        for table in TABLES {
            self.add("sql", &[&format!("SELECT * FROM {}", table.name)]);
        }
        for format in ["table", "json", "markdown"] {
            // How a value is written does not depend on the table.
            self.add("sql", &["-o", format, "SELECT * FROM process"]);
            self.add("sql", &["-o", format, "SELECT name, tags AS \"c\x1b[6n\u{9b}\", params FROM runs"]);
            self.add("ask", &["own", "-o", format]);
            self.add("ask", &["-o", format]);
        }
        self.add("sql", &[&format!("SELECT '{HOSTILE}' FROM \"{HOSTILE_NAME}\"")]);
        ["sql", "ask"].into_iter().for_each(|command| self.add(command, &[HOSTILE]));
        for more in [vec!["@1"], vec!["--json"], vec!["--markdown", "@1", "@2"], vec!["--all"], vec![HOSTILE]] {
            self.add("findings", &more);
        }
        self.add("report", &["@1", "-o", HOSTILE_NAME]);
        self.add("report", &[HOSTILE_NAME, "-o", "-"]);
        self.add("serve", &["--listen", HOSTILE]);
        self.add("serve token add", &[HOSTILE, "--token-file", HOSTILE_NAME]);
        self.add("serve token list", &["--token-file", HOSTILE_NAME]);
        self.add("serve token remove", &[HOSTILE, "--token-file", HOSTILE_NAME]);
    }

    fn comparing(&mut self) {
        for more in ["--all", "--json", "--markdown --all", "-f junit", "-f openmetrics"] {
            self.add("compare", &["@1", "@2", "--force"].into_iter().chain(more.split(' ')).collect::<Vec<_>>());
        }
        self.add("compare", &["@1", HOSTILE_NAME]);
        self.add("compare", &["@1", "@2", "--batch", HOSTILE]);
        self.add("db check", &[HOSTILE]);
        self.add("db check", &["postgres://u@127.0.0.1:1/x?sslrootcert=d\u{1b}[6n"]);
        self.add("db top", &[HOSTILE]);
        self.add("db top", &["postgres://u@127.0.0.1:1/x?sslrootcert=d\u{1b}[6n"]);
        self.add("explain", &["@1", "@2"]);
        self.add("explain", &[HOSTILE_NAME, "--markdown"]);
        self.add("representative", &["@1", HOSTILE_NAME]);
        self.add("average", &["@1", "@2"]);
        self.add("average", &[HOSTILE_NAME, "@1"]);
        for more in [&["cpu.usr"][..], &[HOSTILE], &["--batch", HOSTILE, "-f", "markdown"]] {
            self.add("trend", more);
        }
        for more in [vec!["@1"], vec!["@1", "--json"], vec!["@1", HOSTILE_NAME, "0s..1s"], vec!["@1", HOSTILE, HOSTILE]]
        {
            self.add("window", &more);
        }
    }

    fn loading(&mut self, place: &Place) {
        let [plan, work, missing] = ["plan.toml", "work.toml", "missing"].map(|name| place.path(name));
        let refused = place.server.url();
        let url = format!("{refused}?x={HOSTILE_NAME}");
        for plan in [&plan, &missing] {
            self.add("study", &[plan]);
            self.add("study report", &[plan]);
        }
        self.add("study report", &[HOSTILE]);
        for more in [vec![work.as_str()], vec![HOSTILE], vec![], vec!["--json"]] {
            self.add("load workloads", &more);
        }
        let tables = [refused.as_str(), "-w", "oltp_point_select", "--set", "tables=1"];
        for (command, more) in
            [("load prepare", vec![]), ("load cleanup", vec![]), ("load run", vec!["--for", "0.3s", "--ignore", "all"])]
        {
            self.add(command, &[&tables[..], &more].concat());
            self.add(command, &[&[url.as_str(), "-w", HOSTILE][..], &more].concat());
            self.add(command, &[&[url.as_str(), "-w", "tpcb_like"][..], &more].concat());
        }
        self.add("load worker", &["--listen", HOSTILE]);
        self.add("load fit", &[HOSTILE_NAME]);
        self.add("load fit", &["@1", "@2"]);
    }

    fn watching(&mut self, place: &Place) {
        let [text, damaged, missing] = ["text", "damaged.zst", "missing"].map(|name| place.path(name));
        for tool in ["nicstat", "mpstat", "pstime", "util", "memstat", "dbstat"] {
            for run in [vec!["@1"], vec!["@1", "--json"], vec![HOSTILE_NAME]] {
                self.add(tool, &[&["--run"][..], &run].concat());
            }
            self.add(tool, &["--root", &missing, "1", "1"]);
        }
        self.add("nicstat", &["-i", HOSTILE, "0.1", "1"]);
        let observers = "biolatency cachestat contention dbwait iopattern irqsteal microstates pin plockstat procsystime profile \
                         querystat runqlat util";
        for observer in observers.split(' ') {
            for run in [vec!["@1"], vec!["@1", "--json"], vec![HOSTILE_NAME]] {
                self.add(&format!("trace {observer}"), &[&["--run"][..], &run].concat());
            }
        }
        self.add("trace check", &[]);
        self.add("fence", &["-p", HOSTILE]);
        self.add("fence", &[]);
        self.add("tune nic", &[HOSTILE_NAME]);
        self.add("tune nic", &["lo", HOSTILE_NAME]);
        self.add("tune nic", &[]);
        self.add("net mix", &["@1"]);
        self.add("net mix", &["@1", "--json"]);
        self.add("net mix", &[HOSTILE]);
        self.add("net peak", &["--mix", HOSTILE_NAME]);
        self.add("net peak", &["--mix", "60:80", "--listen", HOSTILE]);
        self.add("tamp", &["-kv", &text]);
        self.add("tamp", &["-dc", &damaged]);
        self.add("tamp", &["-l", &damaged, &missing]);
        self.add("tamp bench", &["--rounds", "1", &text]);
    }
}

/// Every command that the program knows, as its own help names them, by the words that lead to it.
fn commands(fenxi: &Fenxi) -> Vec<Vec<String>> {
    let mut all = Vec::new();
    let mut open: Vec<Vec<String>> = vec![Vec::new()];
    while let Some(words) = open.pop() {
        let args: Vec<&str> = words.iter().map(String::as_str).chain(["--help"]).collect();
        let help = fenxi.ok(&args);
        // The first page has them in groups, above the options.
        let groups = help.lines().take_while(|line| words.is_empty() && *line != "Options:");
        let block = help.lines().skip_while(|line| *line != "Commands:").skip(1).take_while(|line| !line.is_empty());
        // Names stand two blanks in, what they do goes on further to the right.
        let names = groups.chain(block).filter(|line| line.starts_with("  ") && !line.starts_with("   "));
        let names = names.filter_map(|line| line.split_whitespace().next());
        for name in names.filter(|name| *name != "help") {
            let inner: Vec<String> = words.iter().cloned().chain([name.to_owned()]).collect();
            open.push(inner.clone());
            all.push(inner);
        }
    }
    all
}

/// The first character in `bytes` that a terminal would obey, with the text around it.
fn hidden(bytes: &[u8]) -> Option<String> {
    let text = match std::str::from_utf8(bytes) {
        Ok(text) => text,
        Err(error) => return Some(format!("no UTF-8 at {}", error.valid_up_to())),
    };
    let (at, c) = text.char_indices().find(|(_, c)| is_hidden(*c) && !matches!(c, '\n' | '\t'))?;
    let around: String = text[..at].chars().rev().take(60).collect::<Vec<_>>().into_iter().rev().collect();
    Some(format!("{c:?} after {around:?}"))
}

/// Both streams of a command in a terminal, as one; None where there is no `script`.
fn in_terminal(command: &Command) -> Option<Vec<u8>> {
    let quoted = |word: &OsStr| {
        let word = word.to_str().unwrap().replace('\'', "'\\''");
        format!("'{word}'")
    };
    let line: Vec<String> = std::iter::once(command.get_program()).chain(command.get_args()).map(quoted).collect();
    let mut script = Command::new("script");
    script.args(["-qec", &line.join(" "), "/dev/null"]).stdin(Stdio::null()).env("COLUMNS", "0").env("TERM", "xterm");
    for (key, value) in command.get_envs() {
        script.env(key, value.unwrap());
    }
    if let Some(folder) = command.get_current_dir() {
        script.current_dir(folder);
    }
    let output = script.output().ok()?;
    let mut text = String::from_utf8_lossy(&output.stdout).replace("\r\n", "\n");
    for own in OWN {
        text = text.replace(own, "");
    }
    // A bar begins its line anew; that nothing else does is seen in a pipe.
    Some(text.replace('\r', "").into_bytes())
}

#[test]
fn no_command_lets_text_of_others_control_a_terminal() {
    let place = Place::new();
    let uses = Uses::of(&place).0;
    let mut wrong = Vec::new();
    for words in commands(&place.fenxi) {
        let name = words.join(" ");
        // A command that only leads to others is tried by these.
        let tried = uses.keys().any(|known| *known == name || known.starts_with(&format!("{name} ")));
        assert!(tried, "say in `Uses` how `fenxi {name}` is tried with hostile text");
    }
    for (command, all) in &uses {
        // Also where the command line itself is wrong.
        for args in all.iter().chain([&vec![format!("--{HOSTILE}")]]) {
            let words: Vec<&str> = command.split(' ').chain(args.iter().map(String::as_str)).collect();
            let mut command = place.fenxi.command(&words);
            command.current_dir(place.dir.path());
            let output = command.output().unwrap();
            for (stream, bytes) in [("stdout", &output.stdout), ("stderr", &output.stderr)] {
                if let Some(found) = hidden(bytes) {
                    wrong.push(format!("{words:?} on {stream}: {found}"));
                }
            }
            let said = String::from_utf8_lossy(&output.stderr);
            if said.lines().any(|line| line.starts_with("error: d")) {
                wrong.push(format!("{words:?}: others begin a line"));
            }
        }
    }
    assert!(wrong.is_empty(), "{} of them:\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn no_command_lets_text_of_others_control_the_terminal_it_is_shown_on() {
    let place = Place::new();
    if Command::new("script").arg("--version").output().is_err() {
        return skipped("hostile text on a terminal", "there is no `script` that gives one");
    }
    let mut wrong = Vec::new();
    let csv = [
        vec!["sql", "-o", "csv", "SELECT name FROM runs"],
        vec!["pstime", "--run", "@1", "--csv"],
        vec!["completions", "zsh"],
    ];
    let csv = csv.map(|words| words.into_iter().map(str::to_owned).collect::<Vec<_>>());
    let all: Vec<Vec<String>> = Uses::of(&place)
        .0
        .iter()
        .flat_map(|(command, all)| {
            let full = |args: &Vec<String>| command.split(' ').map(str::to_owned).chain(args.iter().cloned()).collect();
            // One of many tables is enough where they only pass by.
            all.iter().take(if *command == "sql" { 2 } else { usize::MAX }).map(full).collect::<Vec<Vec<String>>>()
        })
        .chain(csv)
        .collect();
    for args in all {
        let words: Vec<&str> = args.iter().map(String::as_str).collect();
        let mut command = place.fenxi.command(&words);
        command.current_dir(place.dir.path());
        let Some(bytes) = in_terminal(&command) else { continue };
        if let Some(found) = hidden(&bytes) {
            wrong.push(format!("{words:?}: {found}"));
        }
    }
    assert!(wrong.is_empty(), "{} of them:\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn a_row_stays_a_row_and_data_stay_data() {
    let place = Place::new();
    let listed = place.fenxi.ok(&["runs"]);
    assert_eq!(listed.lines().count(), 3, "{listed}");
    assert!(listed.contains("a?]0;t??[6n?2J?[35m?b?c???error: d?e???f"), "{listed}");
    // For programs, nothing is lost.
    let json: serde_json::Value =
        serde_json::from_str(place.fenxi.ok(&["runs", "--json"]).lines().next().unwrap()).unwrap();
    assert_eq!(json["name"], HOSTILE);
    assert_eq!(place.fenxi.sql("SELECT name FROM runs")[0]["name"], HOSTILE);
    let csv = place.fenxi.ok(&["sql", "-o", "csv", "SELECT name FROM runs LIMIT 1"]);
    assert!(csv.contains(HOSTILE), "{csv:?}");
}

#[test]
fn a_word_that_is_no_text_is_said_in_visible_characters() {
    let place = Place::new();
    let word = OsString::from_vec(b"--x\xff\x1b[6n\n\xfe".to_vec());
    let output = place.fenxi.command(&["runs"]).arg(word).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert_eq!(hidden(&output.stderr), None);
}
