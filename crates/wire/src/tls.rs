//! TLS of connections: trusted certificates, and verification of the server.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

use rustls::{
    ClientConfig, DigitallySignedStruct, Error, RootCertStore, SignatureScheme,
    client::{
        danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier},
        verify_server_cert_signed_by_trust_anchor,
    },
    crypto::{CryptoProvider, ring, verify_tls12_signature, verify_tls13_signature},
    pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime, pem::PemObject},
    server::ParsedCertificate,
};
use sha2::{Digest, Sha224, Sha256, Sha384, Sha512};
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

/// TLS configuration for connections to `host`, and its server name.
///
/// # Errors
/// When a file cannot be read.
pub fn client(mode: Tls, files: &Files, host: &str) -> Result<(Arc<ClientConfig>, ServerName<'static>), TlsError> {
    let provider = Arc::new(ring::default_provider());
    let name = ServerName::try_from(host.to_owned()).map_err(|_| TlsError::Name(host.to_owned()))?;
    let builder = ClientConfig::builder_with_provider(Arc::clone(&provider)).with_safe_default_protocol_versions()?;
    let config = match mode {
        Tls::VerifyFull => builder.with_root_certificates(authorities(files.authority.as_deref())?),
        Tls::VerifyCa => {
            let trusted = Some(authorities(files.authority.as_deref())?);
            builder.dangerous().with_custom_certificate_verifier(Arc::new(AnyName { provider, trusted }))
        }
        // As the clients of both databases do: encrypted without verification.
        Tls::Disable | Tls::Prefer | Tls::Require => {
            builder.dangerous().with_custom_certificate_verifier(Arc::new(AnyName { provider, trusted: None }))
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

/// Takes a certificate for any host: one that an authority signed, or any; the handshake itself is checked.
#[derive(Debug)]
struct AnyName {
    provider: Arc<CryptoProvider>,
    trusted: Option<RootCertStore>,
}

impl ServerCertVerifier for AnyName {
    fn verify_server_cert(
        &self,
        certificate: &CertificateDer<'_>,
        between: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        if let Some(trusted) = &self.trusted {
            let parsed = ParsedCertificate::try_from(certificate)?;
            let algorithms = self.provider.signature_verification_algorithms.all;
            verify_server_cert_signed_by_trust_anchor(&parsed, trusted, between, now, algorithms)?;
        }
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls12_signature(message, cert, signed, &self.provider.signature_verification_algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls13_signature(message, cert, signed, &self.provider.signature_verification_algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.provider.signature_verification_algorithms.supported_schemes()
    }
}

/// Channel binding of a login to TLS (RFC 5929, `tls-server-end-point`): the hash of the server's certificate, by the
/// hash function of its signature, or SHA-256 where that is MD5 or SHA-1. None where the signature has no known one.
pub fn end_point(certificate: &[u8]) -> Option<Vec<u8>> {
    let (_, whole, _) = element(certificate)?;
    let (_, _, behind) = element(whole)?;
    let (_, algorithm, _) = element(behind)?;
    let (_, name, parameters) = element(algorithm)?;
    let bits = if let Some(kind) = name.strip_prefix(RSA) {
        match kind {
            // MD5, SHA-1 and SHA-256.
            [4 | 5 | 11] => 256,
            [12] => 384,
            [13] => 512,
            [14] => 224,
            // RSASSA-PSS names its hash among the parameters; SHA-1 if it names none.
            [10] => [(2, 384), (3, 512)].into_iter().find(|(hash, _)| names(parameters, *hash)).map_or(256, |(_, n)| n),
            _ => return None,
        }
    } else {
        match name.strip_prefix(ECDSA)? {
            // SHA-1 and SHA-256.
            [1] | [3, 2] => 256,
            [3, 3] => 384,
            [3, 4] => 512,
            [3, 1] => 224,
            _ => return None,
        }
    };
    Some(match bits {
        224 => Sha224::digest(certificate).to_vec(),
        384 => Sha384::digest(certificate).to_vec(),
        512 => Sha512::digest(certificate).to_vec(),
        _ => Sha256::digest(certificate).to_vec(),
    })
}

/// 1.2.840.113549.1.1, below which signatures with RSA are.
const RSA: &[u8] = &[0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 1, 1];
/// 1.2.840.10045.4, below which signatures with ECDSA are.
const ECDSA: &[u8] = &[0x2a, 0x86, 0x48, 0xce, 0x3d, 4];
/// 2.16.840.1.101.3.4.2, below which hash functions are.
const HASHES: &[u8] = &[0x60, 0x86, 0x48, 1, 0x65, 3, 4, 2];

/// Whether parameters name a hash function.
fn names(parameters: &[u8], hash: u8) -> bool {
    parameters.windows(HASHES.len() + 1).any(|at| at.strip_prefix(HASHES).is_some_and(|rest| rest == [hash]))
}

/// The first element of DER: its tag, what is in it, and what is behind it.
fn element(der: &[u8]) -> Option<(u8, &[u8], &[u8])> {
    let (tag, rest) = der.split_first()?;
    let (first, rest) = rest.split_first()?;
    let (length, rest) = match first {
        0..=0x7f => (usize::from(*first), rest),
        // Four bytes of length are more than any certificate has.
        0x81..=0x84 => {
            let (digits, rest) = rest.split_at_checked(usize::from(first & 0x7f))?;
            (digits.iter().fold(0, |length, digit| length << 8 | usize::from(*digit)), rest)
        }
        _ => return None,
    };
    let (inside, behind) = rest.split_at_checked(length)?;
    Some((*tag, inside, behind))
}

/// Whether a connection was lost because no encryption could be agreed upon.
pub(crate) fn is_failure(error: &std::io::Error) -> bool {
    error.get_ref().is_some_and(|error| error.is::<rustls::Error>())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A certificate whose signature has this algorithm.
    fn signed(algorithm: &[u8], parameters: &[u8]) -> Vec<u8> {
        let element = |tag: u8, inside: &[u8]| [&[tag, inside.len() as u8][..], inside].concat();
        let algorithm = element(0x30, &[element(6, algorithm), parameters.to_vec()].concat());
        element(0x30, &[element(0x30, b"what is signed"), algorithm, element(3, b"signature")].concat())
    }

    #[test]
    fn a_login_is_bound_by_the_hash_of_the_certificates_signature() {
        let length = |name: &[u8], more: &[u8], parameters: &[u8]| {
            let certificate = signed(&[name, more].concat(), parameters);
            end_point(&certificate).map(|hash| hash.len())
        };
        let rsa = |kind| length(RSA, &[kind], b"\x05\0");
        assert_eq!([4, 5, 11, 12, 13, 14].map(rsa), [32, 32, 32, 48, 64, 28].map(Some));
        assert_eq!([2, 3, 4].map(|kind| length(ECDSA, &[3, kind], b"")), [32, 48, 64].map(Some));
        let pss = |hash: u8| length(RSA, &[10], &[HASHES, &[hash]].concat());
        assert_eq!([1, 2, 3].map(pss), [32, 48, 64].map(Some));
        // Ed25519 has no separate hash.
        assert_eq!(length(&[0x2b, 0x65, 0x70], &[], b""), None);
        let whole = signed(&[RSA, &[12]].concat(), b"");
        assert_eq!(end_point(&whole), Some(Sha384::digest(&whole).to_vec()));
        assert!((0..whole.len()).all(|end| end_point(&whole[..end]).is_none()));
        assert_eq!(end_point(b"\x30\x84\xff\xff\xff\xff"), None);
    }

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
