//! TLS certificates: of the server, and those that clients must present.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

use fs_err as fs;
use rustls::{
    RootCertStore, ServerConfig,
    pki_types::{CertificateDer, PrivateKeyDer, pem::PemObject},
    server::WebPkiClientVerifier,
};

/// TLS configuration.
#[derive(Clone)]
pub struct Tls {
    pub(crate) config: Arc<ServerConfig>,
    /// Whether a client must show a certificate.
    pub(crate) asks_clients: bool,
}

/// Certificates that are of no use.
#[derive(Debug, thiserror::Error)]
pub enum TlsError {
    /// A file cannot be read.
    #[error(transparent)]
    Io(#[from] std::io::Error),
    /// A file does not hold what it should.
    #[error("{}: expected {expected} in PEM: {why}", .path.display())]
    Pem {
        /// The file.
        path: PathBuf,
        /// The expected content.
        expected: &'static str,
        /// The fault.
        why: String,
    },
    /// Certificate and key cannot be used.
    #[error("certificate and key cannot be used: {0}")]
    Unfit(String),
}

impl Tls {
    /// Reads a certificate (chain) and its key; with `client_ca`, only clients with a certificate of it get in.
    ///
    /// # Errors
    /// When a file cannot be read or used.
    pub fn read(certificate: &Path, key: &Path, client_ca: Option<&Path>) -> Result<Tls, TlsError> {
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let unfit = |e: &dyn std::fmt::Display| TlsError::Unfit(e.to_string());
        let builder = ServerConfig::builder_with_provider(Arc::clone(&provider))
            .with_safe_default_protocol_versions()
            .map_err(|e| unfit(&e))?;
        let builder = match client_ca {
            None => builder.with_no_client_auth(),
            Some(path) => {
                let mut roots = RootCertStore::empty();
                for root in certificates(path)? {
                    roots.add(root).map_err(|e| unfit(&e))?;
                }
                let verifier = WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider).build();
                builder.with_client_cert_verifier(verifier.map_err(|e| unfit(&e))?)
            }
        };
        let pem = |e: rustls::pki_types::pem::Error| TlsError::Pem {
            path: key.to_owned(),
            expected: "a private key",
            why: e.to_string(),
        };
        let private = PrivateKeyDer::from_pem_slice(&fs::read(key)?).map_err(pem)?;
        let mut config = builder.with_single_cert(certificates(certificate)?, private).map_err(|e| unfit(&e))?;
        config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
        Ok(Tls { config: Arc::new(config), asks_clients: client_ca.is_some() })
    }

    /// Returns true if a client must show a certificate.
    pub fn asks_clients(&self) -> bool {
        self.asks_clients
    }
}

fn certificates(path: &Path) -> Result<Vec<CertificateDer<'static>>, TlsError> {
    let bad = |why: String| TlsError::Pem { path: path.to_owned(), expected: "certificates", why };
    let text = fs::read(path)?;
    let all = CertificateDer::pem_slice_iter(&text).collect::<Result<Vec<_>, _>>().map_err(|e| bad(e.to_string()))?;
    if all.is_empty() { Err(bad("there is none".to_owned())) } else { Ok(all) }
}
