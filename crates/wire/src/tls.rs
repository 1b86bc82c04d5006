//! TLS of connections: trusted certificates, and verification of the server.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

use rustls::{
    ClientConfig, DigitallySignedStruct, Error, RootCertStore, SignatureScheme,
    client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier},
    crypto::{CryptoProvider, ring, verify_tls12_signature, verify_tls13_signature},
    pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime, pem::PemObject},
};
use thiserror::Error as ThisError;

use crate::login::Tls;

/// Where distributions keep the authorities that they trust.
const SYSTEM: &[&str] =
    &["/etc/ssl/certs/ca-certificates.crt", "/etc/pki/tls/certs/ca-bundle.crt", "/etc/ssl/cert.pem"];

/// Why encryption cannot be set up.
#[derive(Debug, ThisError)]
pub enum TlsError {
    /// A file of certificates that cannot be read.
    #[error("{path}: no certificates in PEM form: {what}")]
    Authority {
        /// The file.
        path: String,
        /// Why not.
        what: String,
    },
    /// A file without a private key.
    #[error("{path}: no private key in PEM form: {what}")]
    Key {
        /// The file.
        path: String,
        /// Why not.
        what: String,
    },
    /// No file of certificates.
    #[error("this host has no list of trusted certificate authorities; give one with `sslrootcert` or `ssl-ca`")]
    NoAuthority,
    /// A host that can have no certificate.
    #[error("`{0}` is not a valid certificate name")]
    Name(String),
    /// The library refused.
    #[error("TLS cannot be set up: {0}")]
    Setup(#[from] Error),
}

/// Files that a target names for its encryption.
#[derive(Clone, Debug, Default)]
pub struct Files {
    /// Certificates of the authorities that are trusted.
    pub authority: Option<PathBuf>,
    /// The client's own certificate, and its private key.
    pub certificate: Option<(PathBuf, PathBuf)>,
}

/// What connections to `host` are encrypted with.
///
/// # Errors
/// When a file cannot be read.
pub fn client(mode: Tls, files: &Files, host: &str) -> Result<(Arc<ClientConfig>, ServerName<'static>), TlsError> {
    let provider = Arc::new(ring::default_provider());
    let name = ServerName::try_from(host.to_owned()).map_err(|_| TlsError::Name(host.to_owned()))?;
    let builder = ClientConfig::builder_with_provider(Arc::clone(&provider)).with_safe_default_protocol_versions()?;
    let config = match mode {
        Tls::VerifyFull => builder.with_root_certificates(authorities(files.authority.as_deref())?),
        // As the clients of both databases do: encrypted, whoever it is.
        Tls::Disable | Tls::Prefer | Tls::Require => {
            builder.dangerous().with_custom_certificate_verifier(Arc::new(Anyone(provider)))
        }
    };
    let config = match &files.certificate {
        Some((certificate, key)) => config.with_client_auth_cert(chain(certificate)?, private_key(key)?)?,
        None => config.with_no_client_auth(),
    };
    Ok((Arc::new(config), name))
}

fn chain(path: &Path) -> Result<Vec<CertificateDer<'static>>, TlsError> {
    let wrong = |what: String| TlsError::Authority { path: path.display().to_string(), what };
    let found: Result<Vec<_>, _> = CertificateDer::pem_file_iter(path).and_then(Iterator::collect);
    found.map_err(|e| wrong(e.to_string()))
}

fn private_key(path: &Path) -> Result<PrivateKeyDer<'static>, TlsError> {
    PrivateKeyDer::from_pem_file(path)
        .map_err(|e| TlsError::Key { path: path.display().to_string(), what: e.to_string() })
}

fn authorities(path: Option<&Path>) -> Result<RootCertStore, TlsError> {
    let path = match path {
        Some(path) => path,
        None => SYSTEM.iter().map(Path::new).find(|path| path.exists()).ok_or(TlsError::NoAuthority)?,
    };
    let wrong = |what: String| TlsError::Authority { path: path.display().to_string(), what };
    let text = fs_err::read(path).map_err(|e| wrong(e.to_string()))?;
    let mut store = RootCertStore::empty();
    let found: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(&text).collect();
    let (added, _) = store.add_parsable_certificates(found.map_err(|e| wrong(e.to_string()))?);
    if added == 0 { Err(wrong("there is none".to_owned())) } else { Ok(store) }
}

/// Takes any certificate; the handshake itself is checked.
#[derive(Debug)]
struct Anyone(Arc<CryptoProvider>);

impl ServerCertVerifier for Anyone {
    fn verify_server_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls12_signature(message, cert, signed, &self.0.signature_verification_algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls13_signature(message, cert, signed, &self.0.signature_verification_algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.signature_verification_algorithms.supported_schemes()
    }
}

/// Whether a connection was lost because no encryption could be agreed upon.
pub(crate) fn is_failure(error: &std::io::Error) -> bool {
    error.get_ref().is_some_and(|error| error.is::<rustls::Error>())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_without_certificates_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("ca.pem");
        fs_err::write(&path, "nothing").unwrap();
        let files = Files { authority: Some(path.clone()), certificate: None };
        let error = client(Tls::VerifyFull, &files, "host").unwrap_err().to_string();
        assert!(error.contains("ca.pem: no certificates"), "{error}");
        let none = Files::default();
        assert!(client(Tls::Require, &none, "host").is_ok());
        let files = Files { authority: None, certificate: Some((path.clone(), path)) };
        assert!(client(Tls::Require, &files, "host").unwrap_err().to_string().contains("no private key"));
        assert!(client(Tls::Require, &none, "not a host").unwrap_err().to_string().contains("`not a host`"));
    }
}
