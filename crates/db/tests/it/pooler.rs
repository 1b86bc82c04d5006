//! A pooler between: in transaction mode it gives sessions of the server to others, in session mode it does not.

use std::{
    net::TcpStream,
    path::Path,
    process::{Child, Command, Stdio},
    time::{Duration, Instant},
};

use fs_err as fs;

use crate::{
    observe::{begin, notes, time_in},
    server::{Server, as_user, free_port, quietly, skipped},
};

const PROGRAM: &str = "/usr/sbin/pgbouncer";

struct Pooler {
    child: Child,
    port: u16,
    _folder: tempfile::TempDir,
}

impl Pooler {
    fn before(server: &Server, mode: &str) -> Option<Pooler> {
        if !Path::new(PROGRAM).exists() {
            skipped("pgbouncer", "it is not installed (Debian: pgbouncer)");
            return None;
        }
        let (folder, port) = (tempfile::tempdir().unwrap(), free_port());
        assert!(quietly(Command::new("chmod").arg("777").arg(folder.path())));
        let (users, settings) = (folder.path().join("users"), folder.path().join("pgbouncer.ini"));
        fs::write(&users, "\"postgres\" \"\"\n").unwrap();
        let text = format!(
            "[databases]\n* = host=127.0.0.1 port={}\n[pgbouncer]\nlisten_addr = 127.0.0.1\nlisten_port = {port}\n\
             auth_type = trust\nauth_file = {}\npool_mode = {mode}\nunix_socket_dir =\n\
             ignore_startup_parameters = extra_float_digits\n",
            server.port,
            users.display()
        );
        fs::write(&settings, text).unwrap();
        let mut command = as_user("postgres", PROGRAM);
        let child = command.arg("-q").arg(&settings).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        let until = Instant::now() + Duration::from_secs(20);
        while TcpStream::connect(("127.0.0.1", port)).is_err() {
            assert!(Instant::now() < until, "pgbouncer does not start");
            std::thread::sleep(Duration::from_millis(50));
        }
        Some(Pooler { child, port, _folder: folder })
    }

    fn url(&self) -> String {
        format!("postgres://postgres@127.0.0.1:{}/postgres", self.port)
    }
}

impl Drop for Pooler {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn a_pooler_in_transaction_mode_is_refused_before_anything_is_set() {
    let Some(server) = Server::postgres() else { return skipped("pgbouncer", "PostgreSQL is not installed") };
    let Some(pooler) = Pooler::before(&server, "transaction") else { return };
    let error = begin(&pooler.url(), 10).err().expect("it is refused").to_string();
    assert!(error.contains("pooler") && error.contains("name the server itself"), "{error}");
    // The next client of the session may write.
    let mut client = fenxi_wire::client::Client::connect(
        &fenxi_wire::target::Target::parse(&pooler.url(), &fenxi_wire::target::Surroundings::default()).unwrap(),
        Duration::from_secs(5),
    )
    .unwrap();
    client.run("CREATE TABLE a (n int)").unwrap();
}

#[test]
fn a_pooler_in_session_mode_shows_the_server() {
    let Some(server) = Server::postgres() else { return skipped("pgbouncer", "PostgreSQL is not installed") };
    let Some(pooler) = Pooler::before(&server, "session") else { return };
    let mut observation = begin(&pooler.url(), 20).unwrap();
    server.client("postgres").run("SELECT pg_sleep(1)").unwrap();
    observation.go_on(1.2);
    let rows = observation.end();
    let slept = time_in(&rows, "timeout", "sampled");
    assert!((0.8..1.2).contains(&slept), "{slept}: {:?}", notes(&rows));
}
