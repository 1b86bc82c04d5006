//! Encryption and tokens, with certificates that `openssl` makes; no message contains a secret.

use std::{path::Path, process::Command, sync::Arc};

use rustls::{
    ServerConfig,
    crypto::ring,
    pki_types::{CertificateDer, PrivateKeyDer, pem::PemObject},
};
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::TlsAcceptor;

use super::{
    all, ask, open,
    server::{Manner, Server},
};
use crate::connect::{ConnectError, Session, Stop};

const CERTIFICATES: &str = "
new() { openssl req -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 \"$@\" 2>/dev/null; }
new -x509 -keyout ca.key -out ca.pem -subj /CN=ca
new -x509 -keyout stranger.key -out stranger.pem -subj /CN=stranger
echo 'subjectAltName=IP:127.0.0.1' > ext
new -keyout server.key -out server.csr -subj /CN=server
openssl x509 -req -in server.csr -CA ca.pem -CAkey ca.key -CAcreateserial -days 2 -extfile ext -out server.pem 2>/dev/null";

const TOKEN: &str = "s3cr3t-t0ken";

/// Certificates in `folder`, and what a server shows of them.
fn certified(folder: &Path) -> TlsAcceptor {
    let made = Command::new("sh").arg("-ec").arg(CERTIFICATES).current_dir(folder).status().unwrap();
    assert!(made.success());
    let chain = CertificateDer::pem_file_iter(folder.join("server.pem")).unwrap().map(Result::unwrap).collect();
    let key = PrivateKeyDer::from_pem_file(folder.join("server.key")).unwrap();
    let builder = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()));
    let builder = builder.with_safe_default_protocol_versions().unwrap().with_no_client_auth();
    let mut config = builder.with_single_cert(chain, key).unwrap();
    config.alpn_protocols = vec![b"h2".to_vec()];
    TlsAcceptor::from(Arc::new(config))
}

/// A session at an address without its `sc://`, or the error.
fn session(address: &str) -> Result<Session, String> {
    let target = format!("sc://{address}").parse().map_err(|e: crate::connect::BadTarget| e.to_string())?;
    Session::open(&target, Stop::default()).map_err(|e| e.to_string())
}

#[test]
fn a_server_is_known_by_its_certificate_and_a_client_by_its_token() {
    let folder = tempfile::tempdir().unwrap();
    let tls = certified(folder.path());
    let file = |name: &str| folder.path().join(name).display().to_string();
    let (ours, stranger) = (file("ca.pem"), file("stranger.pem"));
    let server = Server::start(Manner { token: Some(TOKEN), ..Manner::default() }, Some(tls));
    let port = server.port;
    let mut good = session(&format!("127.0.0.1:{port}/;use_ssl=true;sslrootcert={ours};token={TOKEN}")).unwrap();
    assert_eq!(ask(&mut good, |_| {}).unwrap(), all());
    let said = |address: String, words: &[&str]| {
        let error = session(&address).map(drop).unwrap_err();
        for word in words {
            assert!(error.contains(word), "{address}: {error}");
        }
        for secret in [TOKEN, "wr0ng-t0ken", "authorization", "team-key"] {
            assert!(!error.contains(secret), "{address}: {error}");
        }
    };
    let with =
        |host: &str, authority: &str, more: &str| format!("{host}:{port}/;use_ssl=true;sslrootcert={authority}{more}");
    let token = format!(";token={TOKEN}");
    said(with("127.0.0.1", &stranger, &token), &["cannot be reached", "certificate", "`sslrootcert=FILE`"]);
    said(with("localhost", &ours, &token), &["cannot be reached", "not valid for name"]);
    // The system's authorities do not know it either.
    said(format!("127.0.0.1:{port}/;use_ssl=true{token}"), &["cannot be reached"]);
    said(with("127.0.0.1", &file("nothing.pem"), &token), &["cannot be reached", "nothing.pem"]);
    said(with("127.0.0.1", &ours, ""), &["cannot be reached", "refuses who asks", "unknown"]);
    // The server's echo of the token is left out.
    said(with("127.0.0.1", &ours, ";token=wr0ng-t0ken"), &["refuses who asks: Invalid token Bearer …"]);
    said(with("127.0.0.1", &ours, ";x-key=team-key"), &["refuses who asks"]);
    said(format!("127.0.0.1:{port}"), &["wants TLS (`use_ssl=true`)"]);
    said(format!("example.org/{token}"), &["only sent encrypted"]);
    // A server without TLS, which is asked for it.
    let plain = Server::start(Manner::default(), None);
    said(format!("127.0.0.1:{}/;use_ssl=true;sslrootcert={ours}", plain.port), &["does not speak TLS"]);
}

#[test]
fn a_token_that_is_no_longer_valid_is_said() {
    let server = Server::start(Manner { token: Some(TOKEN), ..Manner::default() }, None);
    let mut good = session(&format!("127.0.0.1:{}/;token={TOKEN}", server.port)).unwrap();
    server.expect_token("another");
    let error = ask(&mut good, |_| {}).unwrap_err();
    assert!(matches!(error, ConnectError::Unreachable { .. }), "{error:?}");
    assert!(error.to_string().contains("refuses who asks") && !error.to_string().contains(TOKEN), "{error}");
    assert!(good.explain(&super::Plan::default()).unwrap_err().to_string().contains("refuses who asks"));
}

#[test]
fn a_real_cluster_answers_behind_tls() {
    let Ok(target) = std::env::var("FENXI_TEST_CLUSTER") else {
        eprintln!("SKIPPED a cluster: none is named by FENXI_TEST_CLUSTER; `make test-cluster` starts one");
        return;
    };
    let folder = tempfile::tempdir().unwrap();
    let tls = certified(folder.path());
    let target: crate::connect::Target = target.parse().unwrap();
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
    let listener = runtime.block_on(TcpListener::bind("127.0.0.1:0")).unwrap();
    let port = listener.local_addr().unwrap().port();
    runtime.spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            let (tls, target) = (tls.clone(), target.clone());
            tokio::spawn(async move {
                let mut stream = tls.accept(stream).await.ok()?;
                let mut server = TcpStream::connect((target.host.as_str(), target.port)).await.ok()?;
                tokio::io::copy_bidirectional(&mut stream, &mut server).await.ok()
            });
        }
    });
    let authority = folder.path().join("ca.pem");
    let address = format!("127.0.0.1:{port}/;use_ssl=true;sslrootcert={};token={TOKEN}", authority.display());
    let mut good = session(&address).unwrap();
    let plan = crate::connect::Plan { sql: "SELECT 6 * 7 AS a".to_owned(), tables: Vec::new() };
    let mut rows = 0;
    good.ask::<ConnectError>(&plan, None, &mut |batch| {
        rows += batch.num_rows();
        Ok(())
    })
    .unwrap();
    assert_eq!(rows, 1);
    assert!(session(&address.replace("ca.pem", "stranger.pem")).map(drop).unwrap_err().contains("certificate"));
    assert!(open(port).map(drop).unwrap_err().to_string().contains("cannot be reached"));
}
