//! Encryption against real servers, with an authority and a certificate that the test makes.

use std::{
    path::{Path, PathBuf},
    process::Command,
    time::Duration,
};

use fenxi_load::schedule::Schedule;
use fenxi_wire::{
    Mode,
    client::Client,
    target::{Surroundings, Target},
};
use fs_err as fs;

use crate::server::{Server, is_root, quietly, skipped};

/// An authority, and what a server at 127.0.0.1 shows that it signed.
struct Certificates {
    folder: tempfile::TempDir,
}

impl Certificates {
    /// None where there is no openssl. The key is `owner`'s.
    fn make(owner: &str) -> Option<Certificates> {
        Command::new("openssl").arg("version").output().ok()?;
        let folder = tempfile::tempdir().unwrap();
        assert!(quietly(Command::new("chmod").arg("755").arg(folder.path())));
        let made = Certificates { folder };
        for authority in ["ca", "other"] {
            made.openssl(
                &["req", "-x509", "-keyout", &format!("{authority}.key"), "-out", &format!("{authority}.pem")],
                &["-subj", &format!("/CN={authority}")],
            );
        }
        made.openssl(&["req", "-keyout", "server.key", "-out", "server.csr"], &["-subj", "/CN=server"]);
        fs::write(made.path("names"), "subjectAltName=IP:127.0.0.1\n").unwrap();
        made.sign("-sha256");
        assert!(quietly(Command::new("chmod").arg("600").arg(made.path("server.key"))));
        if is_root() {
            assert!(quietly(Command::new("chown").arg(owner).arg(made.path("server.key"))));
        }
        Some(made)
    }

    /// Signs what the server shows, with a hash function.
    fn sign(&self, hash: &str) {
        let sign = ["x509", "-req", hash, "-in", "server.csr", "-CA", "ca.pem", "-CAkey", "ca.key", "-CAcreateserial"];
        let names = ["-extfile", "names", "-out", "server.pem"];
        assert!(quietly(Command::new("openssl").args(sign).args(names).current_dir(&self.folder)));
    }

    fn openssl(&self, what: &[&str], more: &[&str]) {
        let key = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"];
        let mut command = Command::new("openssl");
        assert!(quietly(command.args(what).args(key).args(more).current_dir(&self.folder)));
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }
}

fn connect(url: &str) -> Result<Client, String> {
    let target = Target::parse(url, &Surroundings::default()).map_err(|e| e.to_string())?;
    Client::connect(&target, Duration::from_secs(10)).map_err(|e| e.to_string())
}

/// Who is let in, and who not. `mode` and `authority` are the parameters' names.
fn verified(server: &Server, mode: &str, authority: &str, certificates: &Certificates) -> Client {
    let url = |host: &str, mode_is: &str, file: &Path| {
        let place = server.url(server.database()).replace("127.0.0.1", host);
        format!("{place}?{mode}={mode_is}&{authority}={}", file.display())
    };
    let (ours, other) = (certificates.path("ca.pem"), certificates.path("other.pem"));
    connect(&url("localhost", "require", &other)).unwrap();
    let client = connect(&url("127.0.0.1", "verify-full", &ours)).unwrap();
    let wrong_name = connect(&url("localhost", "verify-full", &ours)).unwrap_err();
    assert!(wrong_name.contains("certificate not valid for name"), "{wrong_name}");
    connect(&url("localhost", "verify-ca", &ours)).unwrap();
    for mode_is in ["verify-ca", "verify-full"] {
        let unknown = connect(&url("127.0.0.1", mode_is, &other)).unwrap_err();
        assert!(unknown.contains("invalid peer certificate"), "{unknown}");
    }
    // A load is driven over it as over any connection.
    let program = server.program("select_only", &[]);
    server.prepare(&program).unwrap();
    let mut plan = server.plan(program, Mode::Prepared, Schedule::Closed);
    plan.target = Target::parse(&url("127.0.0.1", "verify-full", &ours), &Surroundings::default()).unwrap();
    let outcome = fenxi_load::engine::run(&plan, &mut |_| std::ops::ControlFlow::Continue(())).unwrap();
    let tally = &outcome.total.tally;
    assert!(tally.transactions > 10 && tally.errors.is_empty(), "{tally:?}");
    // And one that cannot be made is counted for each connection, with the reason.
    plan.target = Target::parse(&url("localhost", "verify-full", &ours), &Surroundings::default()).unwrap();
    let outcome = fenxi_load::engine::run(&plan, &mut |_| std::ops::ControlFlow::Continue(())).unwrap();
    let (count, example) = outcome.total.tally.errors.values().next().unwrap();
    assert!(*count >= 8 && example.contains("certificate") && outcome.total.tally.connects == 0, "{count} {example}");
    client
}

#[test]
fn postgres_is_encrypted_and_known_by_its_certificate() {
    let Some(certificates) = Certificates::make("postgres") else {
        return skipped("PostgreSQL with TLS", "openssl is not installed here");
    };
    let (pem, key) = (certificates.path("server.pem"), certificates.path("server.key"));
    let (pem, key) = (format!("ssl_cert_file={}", pem.display()), format!("ssl_key_file={}", key.display()));
    let Some(server) = Server::postgres_with(&["-c", "ssl=on", "-c", &pem, "-c", &key]) else {
        return skipped("PostgreSQL with TLS", "it is not installed here");
    };
    let encrypted = "SELECT count(*) FROM pg_stat_ssl WHERE pid = pg_backend_pid() AND ssl";
    assert_eq!(verified(&server, "sslmode", "sslrootcert", &certificates).number(encrypted).unwrap(), Some(1));
    assert_eq!(server.number(encrypted), 0);
}

/// Who logs in how: `bound` by SCRAM, `hashed` by MD5, `clear` by the password itself.
const RULES: &str = "host all postgres all trust\nlocal all postgres trust\nlocal all clear password\n\
    host all bound all scram-sha-256\nhost all hashed all md5\nhost all clear all password\n";

#[test]
fn a_login_of_postgres_is_bound_to_its_certificate_and_a_clear_password_needs_tls() {
    let Some(certificates) = Certificates::make("postgres") else {
        return skipped("PostgreSQL with channel binding", "openssl is not installed here");
    };
    fs::write(certificates.path("rules"), RULES).unwrap();
    for hash in ["-sha256", "-sha384"] {
        certificates.sign(hash);
        let files = [("ssl_cert_file", "server.pem"), ("ssl_key_file", "server.key"), ("hba_file", "rules")];
        let files = files.map(|(name, file)| format!("{name}={}", certificates.path(file).display()));
        let options: Vec<_> =
            ["ssl=on"].into_iter().chain(files.iter().map(String::as_str)).flat_map(|o| ["-c", o]).collect();
        let Some(server) = Server::postgres_with(&options) else {
            return skipped("PostgreSQL with channel binding", "it is not installed here");
        };
        let mut admin = server.client("postgres");
        for (user, method) in [("bound", "scram-sha-256"), ("hashed", "md5"), ("clear", "scram-sha-256")] {
            admin.run(&format!("SET password_encryption = '{method}'")).unwrap();
            admin.run(&format!("CREATE ROLE {user} LOGIN PASSWORD 'secret'")).unwrap();
        }
        let url = |user: &str, how: &str| format!("postgres://{user}:secret@127.0.0.1:{}/postgres?{how}", server.port);
        let cautions = |client: Client| client.cautions().cloned().collect::<Vec<_>>().join(" ");
        for binding in ["require", "prefer", "disable"] {
            let client = connect(&url("bound", &format!("sslmode=require&channel_binding={binding}"))).unwrap();
            assert_eq!(cautions(client), "", "{hash} {binding}");
        }
        connect(&url("bound", "sslmode=disable")).unwrap();
        let unbound = connect(&url("bound", "sslmode=disable&channel_binding=require")).unwrap_err();
        assert!(unbound.contains("channel binding needs TLS"), "{unbound}");
        for user in ["hashed", "clear"] {
            let unbound = connect(&url(user, "sslmode=require&channel_binding=require")).unwrap_err();
            assert!(unbound.contains("SCRAM-SHA-256-PLUS"), "{unbound}");
        }
        assert!(cautions(connect(&url("hashed", "sslmode=require")).unwrap()).contains("MD5"));
        let refused = connect(&url("clear", "sslmode=disable")).unwrap_err();
        assert!(refused.contains("needs TLS or a Unix socket"), "{refused}");
        assert!(cautions(connect(&url("clear", "sslmode=require")).unwrap()).contains("not verified"));
        let ca = certificates.path("ca.pem");
        let verified = url("clear", &format!("sslmode=verify-ca&sslrootcert={}", ca.display()));
        assert_eq!(cautions(connect(&verified).unwrap()), "");
        let folder = server.folder.path().display().to_string().replace('/', "%2F");
        connect(&format!("postgres://clear:secret@{folder}:{}/postgres", server.port)).unwrap();
    }
}

#[test]
fn mariadb_is_encrypted_and_known_by_its_certificate() {
    let Some(certificates) = Certificates::make("mysql") else {
        return skipped("MariaDB with TLS", "openssl is not installed here");
    };
    let (pem, key) = (certificates.path("server.pem"), certificates.path("server.key"));
    let (pem, key) = (format!("--ssl-cert={}", pem.display()), format!("--ssl-key={}", key.display()));
    let Some(server) = Server::mariadb_with(&[&pem, &key]) else {
        return skipped("MariaDB with TLS", "it is not installed here");
    };
    let cipher = "SHOW STATUS LIKE 'Ssl_cipher'";
    let mut client = verified(&server, "ssl-mode", "ssl-ca", &certificates);
    assert!(client.rows(cipher).unwrap()[0][1].as_ref().is_some_and(|name| !name.is_empty()));
    assert_eq!(server.client("test").rows(cipher).unwrap()[0][1].as_deref(), Some(""));
    // Without it, a server answers that it has none.
    let Some(plain) = Server::mariadb_with(&["--skip-ssl"]) else { return };
    assert!(connect(&format!("{}?ssl-mode=require", plain.url("test"))).unwrap_err().contains("offers no TLS"));
}

#[test]
fn who_only_prefers_encryption_goes_without_where_none_can_be_agreed_upon() {
    let Some(certificates) = Certificates::make("postgres") else {
        return skipped("PostgreSQL with TLS", "openssl is not installed here");
    };
    let (pem, key) = (certificates.path("server.pem"), certificates.path("server.key"));
    let (pem, key) = (format!("ssl_cert_file={}", pem.display()), format!("ssl_key_file={}", key.display()));
    // A cipher without forward secrecy, as servers of old have.
    let old = ["-c", "ssl_ciphers=AES128-SHA256", "-c", "ssl_max_protocol_version=TLSv1.2"];
    let Some(server) = Server::postgres_with(&[&["-c", "ssl=on", "-c", &pem, "-c", &key], &old[..]].concat()) else {
        return skipped("PostgreSQL with TLS", "it is not installed here");
    };
    let url = |mode: &str| format!("{}?sslmode={mode}", server.url(server.database()));
    let encrypted = "SELECT count(*) FROM pg_stat_ssl WHERE pid = pg_backend_pid() AND ssl";
    assert_eq!(connect(&url("prefer")).unwrap().number(encrypted).unwrap(), Some(0));
    let refused = connect(&url("require")).unwrap_err();
    assert!(refused.contains("HandshakeFailure"), "{refused}");
}
