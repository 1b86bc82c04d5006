//! Encrypted connections, and clients that show a certificate. Certificates are made, and used, by `openssl`.

use std::{path::Path, process::Command};

use fenxi_serve::{Access, Tls, TlsError};

use crate::support::{serve_with, tokens};

fn sh(dir: &Path, script: &str) -> String {
    let output = Command::new("sh").arg("-ec").arg(script).current_dir(dir).output().unwrap();
    assert!(output.status.success(), "{script}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// A certificate authority, a server's certificate of it and a client's, and one without a signature.
const CERTIFICATES: &str = "
new() { openssl req -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 \"$@\" 2>/dev/null; }
new -x509 -keyout ca.key -out ca.pem -subj /CN=ca
sign() { openssl x509 -req -in $1.csr -CA ca.pem -CAkey ca.key -CAcreateserial -days 2 -extfile ext -out $1.pem 2>/dev/null; }
echo 'subjectAltName=IP:127.0.0.1,DNS:localhost' > ext
for name in server client; do new -keyout $name.key -out $name.csr -subj /CN=$name; sign $name; done
new -x509 -keyout stranger.key -out stranger.pem -subj /CN=stranger";

#[test]
fn connections_are_encrypted_and_only_known_clients_come_in() {
    let dir = tempfile::tempdir().unwrap();
    let dir = dir.path();
    sh(dir, CERTIFICATES);
    let tls = |ca: Option<&str>| {
        let ca = ca.map(|name| dir.join(name));
        Tls::read(&dir.join("server.pem"), &dir.join("server.key"), ca.as_deref()).unwrap()
    };
    let plain = serve_with(|s| s.tls = Some(tls(None)));
    let about = |port: u16, more: &str| {
        sh(dir, &format!("curl -s {more} --cacert ca.pem https://127.0.0.1:{port}/api/v1/about || echo refused"))
    };
    assert!(about(plain.address.port(), "").contains("\"fenxi\""));
    assert!(about(plain.address.port(), "--http1.1").contains("\"fenxi\""));
    let guarded = serve_with(|s| s.tls = Some(tls(Some("ca.pem"))));
    let port = guarded.address.port();
    assert_eq!(about(port, "").trim(), "refused");
    assert_eq!(about(port, "--cert stranger.pem --key stranger.key").trim(), "refused");
    assert!(about(port, "--cert client.pem --key client.key").contains("\"fenxi\""));
    assert!(guarded.logged("/api/v1/about 200").contains(" certificate-"));
    // Both are needed where both are asked for.
    let both = serve_with(|s| {
        s.tls = Some(tls(Some("ca.pem")));
        s.access = tokens();
    });
    let refused = about(both.address.port(), "--cert client.pem --key client.key");
    assert!(refused.contains("log in"), "{refused}");
    let cookie = sh(
        dir,
        &format!(
            "curl -s -D - --cert client.pem --key client.key --cacert ca.pem -d token={} https://127.0.0.1:{}/login",
            crate::support::TOKEN,
            both.address.port(),
        ),
    );
    assert!(cookie.to_ascii_lowercase().contains("; secure"), "{cookie}");
}

#[test]
fn with_client_certificates_other_machines_may_come() {
    let dir = tempfile::tempdir().unwrap();
    sh(dir.path(), CERTIFICATES);
    let path = |name: &str| dir.path().join(name);
    let tls = Tls::read(&path("server.pem"), &path("server.key"), Some(&path("ca.pem"))).unwrap();
    let served = serve_with(|s| {
        s.listen = vec!["0.0.0.0:0".parse().unwrap()];
        s.tls = Some(tls);
        assert!(matches!(s.access, Access::Open));
    });
    assert!(served.address.port() > 0);
    let wrong = Tls::read(&path("server.key"), &path("server.key"), None);
    assert!(matches!(wrong, Err(TlsError::Pem { expected: "certificates", .. })));
    let wrong = Tls::read(&path("server.pem"), &path("client.key"), None);
    assert!(matches!(wrong, Err(TlsError::Unfit(_))));
}

#[test]
fn connections_that_never_shake_hands_keep_nobody_out_and_are_closed() {
    use std::io::{Read, Write};
    let dir = tempfile::tempdir().unwrap();
    let dir = dir.path();
    sh(dir, CERTIFICATES);
    let served = serve_with(|s| {
        s.tls = Some(Tls::read(&dir.join("server.pem"), &dir.join("server.key"), None).unwrap());
        s.limits.connections = 32;
        s.limits.arrival = std::time::Duration::from_secs(2);
    });
    let open = |begin: &[u8]| {
        let mut stream = std::net::TcpStream::connect(served.address).unwrap();
        // It may have been closed already.
        let _ = stream.write_all(begin);
        stream
    };
    let begins: [&[u8]; 3] = [b"", b"\x16", b"\x16\x03\x01\x02\x00\x01\x00"];
    let silent: Vec<_> = (0..150).map(|i| open(begins[i % 3])).collect();
    let port = served.address.port();
    let about = sh(dir, &format!("curl -s --max-time 10 --cacert ca.pem https://127.0.0.1:{port}/api/v1/about"));
    assert!(about.contains("\"fenxi\""));
    for mut stream in silent {
        stream.set_read_timeout(Some(std::time::Duration::from_secs(30))).unwrap();
        let end = stream.read_to_end(&mut Vec::new());
        assert!(!end.is_err_and(|e| e.kind() == std::io::ErrorKind::WouldBlock), "it was not closed");
    }
}
