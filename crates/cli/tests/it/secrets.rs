//! Passwords are fed in every way in which Fenxi could come upon one, and looked for in all that it leaves: the bytes of
//! the store, all texts of all tables, messages, reports, and the command lines of the processes that it starts.

use std::{
    io::Write,
    path::Path,
    process::{Command, Stdio},
    sync::atomic::{AtomicBool, Ordering},
    thread,
    time::{Duration, Instant},
};

use fenxi_procfs::{Root, stat};
use fenxi_wire::client::Client;

use crate::{
    server::Server,
    support::{Fenxi, skipped, text, walk},
};

/// Part of every password.
const MARKER: &str = "Zq9hunter";

fn secret(of: &str) -> String {
    format!("{MARKER}{of}")
}

fn holds(bytes: &[u8]) -> bool {
    memchr::memmem::find(bytes, MARKER.as_bytes()).is_some()
}

/// Bytes around a password, to be shown.
fn around(bytes: &[u8]) -> String {
    let at = memchr::memmem::find(bytes, MARKER.as_bytes()).unwrap_or(0);
    text(&bytes[at.saturating_sub(120)..(at + 60).min(bytes.len())])
}

/// Every file of a folder, byte by byte.
fn bytes_are_free_of_it(folder: &Path) {
    for file in walk(folder) {
        let Ok(bytes) = fs_err::read(&file) else { continue };
        assert!(!holds(&bytes), "{}: {}", file.display(), around(&bytes));
    }
}

/// Every text of every table, as pages of Parquet are compressed; and what is written about runs.
fn runs_are_free_of_it(fenxi: &Fenxi) {
    bytes_are_free_of_it(&fenxi.path());
    let texts = |name: &str| format!("SELECT CAST(t AS VARCHAR) AS found FROM \"{name}\" AS t");
    let of_all: Vec<String> = fenxi_model::TABLES.iter().map(|table| texts(table.name)).collect();
    let found = fenxi.sql(&of_all.join(" UNION ALL "));
    for row in &found {
        assert!(!row["found"].as_str().unwrap_or_default().contains(MARKER), "{row:?}");
    }
    assert!(found.len() > 500, "{} rows", found.len());
    let runs = fenxi.sql("SELECT DISTINCT run FROM cpu");
    let page = fenxi.path().with_file_name("report.html");
    for run in &runs {
        let run = run["run"].as_str().unwrap();
        let mut told = fenxi.ok(&["report", run, "-o", page.to_str().unwrap()]);
        told.push_str(&fenxi.ok(&["show", run]));
        told.push_str(&text(&fenxi.run(&["findings", run]).stdout));
        told.push_str(&fenxi.ok(&["ask", "db-statements", "-r", run, "-o", "markdown"]));
        assert!(!told.contains(MARKER), "{told}");
        assert!(!holds(&fs_err::read(&page).unwrap()));
    }
    assert!(!fenxi.ok(&["runs"]).contains(MARKER));
    copies_and_models_are_free_of_it(fenxi);
}

/// Checks a pushed copy, the output of a failed push, and answers to a language model.
fn copies_and_models_are_free_of_it(fenxi: &Fenxi) {
    let there = tempfile::tempdir().unwrap();
    fenxi.ok(&["push", there.path().to_str().unwrap()]);
    assert!(walk(there.path()).len() > 10);
    bytes_are_free_of_it(there.path());
    let mut push = fenxi.command(&["push", "s3://bucket/prefix"]);
    push.env("AWS_ACCESS_KEY_ID", secret("id")).env("AWS_SECRET_ACCESS_KEY", secret("key"));
    push.env("AWS_SESSION_TOKEN", secret("token")).env("AWS_ENDPOINT_URL", "http://127.0.0.1:1");
    let refused = push.output().unwrap();
    assert!(
        !refused.status.success() && !holds(&refused.stdout) && !holds(&refused.stderr),
        "{}",
        text(&refused.stderr)
    );
    let calls = [
        ("list_runs", "{}"),
        ("show_run", r#"{"run":["config"]}"#),
        ("findings", "{}"),
        ("ask", r#"{"question":"db-statements","run":["config"]}"#),
        ("sql", r#"{"q":"SELECT DISTINCT statement FROM db_session","run":["config"]}"#),
        ("sql", r#"{"q":"SELECT DISTINCT command FROM process","run":["config"]}"#),
        ("sql", r#"{"q":"SELECT name, value FROM db_setting","run":["config"]}"#),
    ];
    let mut command = fenxi.command(&["mcp"]);
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let mut input = child.stdin.take().unwrap();
    for (id, (tool, arguments)) in calls.iter().enumerate() {
        let call = format!(r#"{{"name":"{tool}","arguments":{arguments}}}"#);
        writeln!(input, r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{call}}}"#).unwrap();
    }
    drop(input);
    let told = child.wait_with_output().unwrap().stdout;
    let answered =
        text(&told).lines().filter(|line| line.contains("\"result\"") && !line.contains("\"isError\":true")).count();
    assert!(answered == calls.len() && !holds(&told), "{}", if holds(&told) { around(&told) } else { text(&told) });
}

/// Runs `fenxi` in a separate environment: a home with files that hold passwords.
fn fenxi_at_home(fenxi: &Fenxi, home: &Path, variables: &[(&str, &str)], args: &[&str]) {
    let mut command = fenxi.command(args);
    command.env("HOME", home);
    for name in ["PGPASSWORD", "PGPASSFILE", "MYSQL_PWD", "PGUSER", "PGHOST", "PGPORT"] {
        command.env_remove(name);
    }
    let watching = AtomicBool::new(true);
    let output = thread::scope(|scope| {
        let _until = Until(&watching);
        let child =
            command.envs(variables.iter().copied()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let id = child.id();
        let watching = &watching;
        // The data of an open run is in no sealed one, and the processes it starts are gone at its end.
        scope.spawn(move || {
            while watching.load(Ordering::Relaxed) {
                started_by(id);
                bytes_are_free_of_it(&fenxi.path());
                thread::sleep(Duration::from_millis(100));
            }
        });
        child.wait_with_output().unwrap()
    });
    assert!(output.status.success(), "{args:?}: {}", text(&output.stderr));
    for bytes in [&output.stdout, &output.stderr] {
        assert!(!holds(bytes), "{}", around(bytes));
    }
}

/// Ends what runs beside a test, also when the test fails.
struct Until<'a>(&'a AtomicBool);

impl Drop for Until<'_> {
    fn drop(&mut self) {
        self.0.store(false, Ordering::Relaxed);
    }
}

/// How long a fork may have the command line of the process that forked it.
const BECOMES_ITSELF_WITHIN: Duration = Duration::from_secs(2);

/// Command lines of `fenxi`'s own processes below one.
fn started_by(parent: u32) {
    let own = Path::new(env!("CARGO_BIN_EXE_fenxi")).parent().unwrap();
    for entry in fs_err::read_dir("/proc").unwrap().flatten() {
        let Some(pid) = entry.file_name().to_str().and_then(|name| name.parse::<u32>().ok()) else { continue };
        let is_child = stat::of_process(&Root::live(), pid).is_some_and(|(stat, _)| stat.ppid == parent);
        let is_ours = || fs_err::read_link(entry.path().join("exe")).is_ok_and(|exe| exe.starts_with(own));
        if is_child && is_ours() {
            let line = || fs_err::read(entry.path().join("cmdline")).unwrap_or_default();
            let since = Instant::now();
            while holds(&line()) && since.elapsed() < BECOMES_ITSELF_WITHIN {
                thread::sleep(Duration::from_millis(10));
            }
            let line = line();
            assert!(!holds(&line), "{}", around(&line));
        }
    }
}

/// Runs statements again and again while something is recorded; what a server refuses is one more text with a password.
fn fed<T>(server: &Server, statements: &[String], work: impl FnOnce() -> T) -> T {
    let feeding = AtomicBool::new(true);
    thread::scope(|scope| {
        let _until = Until(&feeding);
        scope.spawn(|| {
            let connect = || Client::connect(&server.target(server.database()), Duration::from_secs(10)).unwrap();
            let mut client = connect();
            while feeding.load(Ordering::Relaxed) {
                for statement in statements {
                    if client.run(statement).is_err_and(|error| !error.is_refusal()) {
                        client = connect();
                    }
                }
                thread::sleep(Duration::from_millis(50));
            }
        });
        work()
    })
}

/// A command whose words hold passwords.
fn command_with(url: &str) -> Vec<String> {
    let script = format!("PGPASSWORD={} MYSQL_PWD={} sleep 3", secret("a"), secret("b"));
    let words = ["sh", "-c", &script, "sh", url, "--password", &secret("c"), &format!("--db-password={}", secret("d"))];
    words.map(str::to_owned).to_vec()
}

fn home_with(name: &str, content: &str) -> tempfile::TempDir {
    let home = tempfile::tempdir().unwrap();
    let file = home.path().join(name);
    fs_err::write(&file, content).unwrap();
    assert!(Command::new("chmod").arg("600").arg(&file).status().unwrap().success());
    home
}

/// Records in each way in which a password can be given: in the URL, in a file of the user's home, in the environment.
fn record_with(fenxi: &Fenxi, server: &Server, (user, variable): (&str, &str), (name, content): (&str, &str)) {
    let password = secret("login");
    let place = format!("127.0.0.1:{}/{}", server.port, server.database());
    let (plain, full) =
        (format!("{}://{user}@{place}", server.scheme), format!("{}://{user}:{password}@{place}", server.scheme));
    let home = home_with(name, content);
    let command = command_with(&full);
    let mut words = vec!["record", "--db", &full, "--db-rate", "100", "--name", "url", "--"];
    words.extend(command.iter().map(String::as_str));
    let nobody = tempfile::tempdir().unwrap();
    fenxi_at_home(fenxi, nobody.path(), &[], &words);
    // A file of options, and an agent whose transport has a password in its words.
    let (conf, on) = (nobody.path().join("record.conf"), format!("b=env PGPASSWORD={}", secret("transport")));
    fs_err::write(&conf, format!("db {full}\non {on}\n")).unwrap();
    let mut words = vec!["record", "--config", conf.to_str().unwrap(), "--name", "config", "--"];
    words.extend(command.iter().map(String::as_str));
    fenxi_at_home(fenxi, nobody.path(), &[], &words);
    assert_eq!(fenxi.number("SELECT count(DISTINCT host) FROM process"), 2.0);
    let short = ["record", "--db", &plain, "--for", "2s", "--db-rate", "100"];
    fenxi_at_home(fenxi, home.path(), &[], &short);
    fenxi_at_home(fenxi, nobody.path(), &[(variable, &password)], &short);
    let load =
        ["load", "run", &full, "-w", "oltp_point_select", "-c", "2", "--for", "2s", "--record", "--processes", "2"];
    fenxi_at_home(fenxi, nobody.path(), &[], &["load", "prepare", &full, "-w", "oltp_point_select"]);
    fenxi_at_home(fenxi, nobody.path(), &[], &load);
    // It was observed: what is free of passwords is not just empty.
    assert!(fenxi.number("SELECT count(DISTINCT run) FROM db WHERE samples > 0") >= 5.0);
    assert!(fenxi.number("SELECT count(*) FROM db_session WHERE statement IS NOT NULL") > 10.0);
    assert!(fenxi.ok(&["show", "url"]).contains(":***@127.0.0.1:"));
    // A wrong password, and a URL that is none.
    for url in [full.replace("login", "wrong"), format!("{full}?nothing=1"), full.replace(MARKER, "Zq9hunter/")] {
        let told = fenxi.run(&["record", "--db", &url, "--for", "1s"]);
        assert!(!holds(&told.stderr), "{}", text(&told.stderr));
        let told = fenxi.run(&["load", "run", &url, "-w", "oltp_point_select"]);
        assert!(!told.status.success() && !holds(&told.stderr), "{}", text(&told.stderr));
    }
}

#[test]
fn no_password_of_postgresql_is_kept_shown_or_handed_on() {
    let conninfo = format!("host=127.0.0.1 port=1 user=u password={}", secret("conninfo"));
    let setting = format!("primary_conninfo={conninfo}");
    let archive = format!("archive_command=PGPASSWORD={} true", secret("archive"));
    let more = ["-c", "shared_preload_libraries=pg_stat_statements", "-c", &setting, "-c", &archive];
    let Some(server) = Server::postgres_with(&more) else { return skipped("secrets", "PostgreSQL is not installed") };
    let login = secret("login");
    let mut client = server.client("postgres");
    for statement in [
        "CREATE EXTENSION pg_stat_statements",
        "CREATE EXTENSION dblink",
        "CREATE EXTENSION postgres_fdw",
        "CREATE SERVER other FOREIGN DATA WRAPPER postgres_fdw",
        "CREATE ROLE fed",
        &format!("CREATE ROLE mon LOGIN SUPERUSER PASSWORD '{login}'"),
        &format!("ALTER DATABASE postgres SET app.api_token = '{}'", secret("guc")),
    ] {
        client.run(statement).unwrap();
    }
    // A client that calls itself `mon` has to know the password.
    let rules = server.folder.path().join("data/pg_hba.conf");
    let trusting = fs_err::read_to_string(&rules).unwrap();
    fs_err::write(&rules, format!("host all mon 127.0.0.1/32 scram-sha-256\n{trusting}")).unwrap();
    client.run("SELECT pg_reload_conf()").unwrap();
    let s = secret("sql");
    let statements = [
        format!("ALTER ROLE fed PASSWORD '{s}'"),
        format!("ALTER ROLE fed PASSWORD $$it's {s}$$"),
        format!("ALTER ROLE fed PASSWORD {s}"),
        format!("ALTER ROLE fed PASSWORD \"my {s}\""),
        format!("DO $x$ BEGIN PERFORM '{s}', pg_sleep(0.1); END $x$"),
        format!("SELECT pg_sleep(0.1), '{s}', E'it\\'s {s}', $$ {s} $$"),
        format!("/* a /* b */ {s} */ SELECT pg_sleep(0.1) -- {s}"),
        format!("SELECT dblink_connect('c', 'host=127.0.0.1 port=1 password={s}')"),
        "DROP USER MAPPING IF EXISTS FOR fed SERVER other".to_owned(),
        format!("CREATE USER MAPPING FOR fed SERVER other OPTIONS (user 'u', password '{s}')"),
        format!(
            "CREATE SUBSCRIPTION s CONNECTION 'host=127.0.0.1 port=1 password={s}' PUBLICATION p WITH (connect = false)"
        ),
        format!("SET app.password = {s}"),
        format!("COPY (SELECT 1) TO PROGRAM 'PGPASSWORD={s} sleep 0.1'"),
    ];
    let fenxi = Fenxi::new();
    let file = (".pgpass", format!("*:*:*:mon:{login}\n"));
    fed(&server, &statements, || record_with(&fenxi, &server, ("mon", "PGPASSWORD"), (file.0, &file.1)));
    let settings = fenxi.sql("SELECT DISTINCT value FROM db_setting WHERE name = 'primary_conninfo'");
    assert_eq!(settings[0]["value"], "host=127.0.0.1 port=1 user=u password=***");
    assert!(fenxi.number("SELECT count(*) FROM db_statement WHERE statement LIKE 'alter role fed password%'") > 0.0);
    runs_are_free_of_it(&fenxi);
}

#[test]
fn no_password_of_mariadb_is_kept_shown_or_handed_on() {
    let init = format!("--init-connect=SET @a = '{}'", secret("init"));
    let report = format!("--report-password={}", secret("report"));
    let Some(server) = Server::mariadb_with(&["--performance-schema=ON", &init, &report]) else {
        return skipped("secrets", "MariaDB is not installed");
    };
    let login = secret("login");
    let mut client = server.client("test");
    for statement in ["CREATE USER fed", &format!("CREATE USER mon IDENTIFIED BY '{login}'"), "GRANT ALL ON *.* TO mon"]
    {
        client.run(statement).unwrap();
    }
    let s = secret("sql");
    let statements = [
        format!("ALTER USER fed IDENTIFIED BY '{s}'"),
        format!("ALTER USER fed IDENTIFIED BY \"it's {s}\""),
        format!("ALTER USER fed IDENTIFIED BY {s}"),
        format!("SET PASSWORD FOR fed = PASSWORD('{s}')"),
        format!("GRANT USAGE ON *.* TO fed IDENTIFIED BY '{s}'"),
        format!("SELECT SLEEP(0.1), '{s}', 'it\\'s {s}', \"{s}\" # {s}"),
        format!("SELECT 5--'\n{s}', SLEEP(0.1)"),
        format!("SELECT SLEEP(0.1) /* {s} */"),
        format!("CHANGE MASTER TO MASTER_HOST='127.0.0.1', MASTER_USER='u', MASTER_PASSWORD='{s}'"),
        format!("CREATE OR REPLACE SERVER other FOREIGN DATA WRAPPER mysql OPTIONS (USER 'u', PASSWORD '{s}')"),
    ];
    let fenxi = Fenxi::new();
    let file = format!("[client]\nuser=mon\npassword={login}\n");
    fed(&server, &statements, || record_with(&fenxi, &server, ("mon", "MYSQL_PWD"), (".my.cnf", &file)));
    let settings = fenxi.sql("SELECT DISTINCT value FROM db_setting WHERE name IN ('report_password', 'init_connect')");
    assert!(settings.iter().all(|row| row["value"] == "***"), "{settings:?}");
    runs_are_free_of_it(&fenxi);
}
