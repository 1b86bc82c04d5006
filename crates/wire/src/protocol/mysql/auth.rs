//! MySQL authentication plugins: `mysql_native_password`, `caching_sha2_password`, `sha256_password`.

use rsa::{Oaep, RsaPublicKey, pkcs8::DecodePublicKey, rand_core::OsRng};
use sha1::{Digest, Sha1};
use sha2::Sha256;

/// SHA1(password) ⊕ SHA1(challenge, SHA1(SHA1(password))); empty for an empty password.
pub fn native(password: &str, challenge: &[u8]) -> Vec<u8> {
    scramble::<Sha1>(password, |twice| [challenge, twice].concat())
}

/// SHA256(password) ⊕ SHA256(SHA256(SHA256(password)), challenge); empty for an empty password.
pub fn caching_sha2(password: &str, challenge: &[u8]) -> Vec<u8> {
    scramble::<Sha256>(password, |twice| [twice, challenge].concat())
}

fn scramble<D: Digest>(password: &str, mix: impl FnOnce(&[u8]) -> Vec<u8>) -> Vec<u8> {
    if password.is_empty() {
        return Vec::new();
    }
    let once = D::digest(password);
    let mask = D::digest(mix(&D::digest(&once)));
    once.iter().zip(mask).map(|(a, b)| a ^ b).collect()
}

/// The password under the server's RSA key, for a connection that others may listen to.
///
/// # Errors
/// The fault of the key.
pub fn encrypted(password: &str, challenge: &[u8], key: &[u8]) -> Result<Vec<u8>, String> {
    let unusable = |e: &dyn std::fmt::Display| format!("the server's RSA key cannot be used: {e}");
    let pem = std::str::from_utf8(key).map_err(|e| unusable(&e))?;
    let key = RsaPublicKey::from_public_key_pem(pem.trim_end_matches('\0')).map_err(|e| unusable(&e))?;
    let masked: Vec<u8> = clear(password).iter().zip(challenge.iter().cycle()).map(|(a, b)| a ^ b).collect();
    key.encrypt(&mut OsRng, Oaep::new::<Sha1>(), &masked).map_err(|e| unusable(&e))
}

/// The password as it is, for a connection that cannot be intercepted.
pub fn clear(password: &str) -> Vec<u8> {
    [password.as_bytes(), &[0]].concat()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hex(bytes: &[u8]) -> String {
        bytes.iter().map(|b| format!("{b:02x}")).collect()
    }

    #[test]
    fn challenges_are_answered_as_servers_compute_it() {
        // Computed with Python's hashlib from the formulas of the manuals.
        let challenge: Vec<u8> = (1..=20).collect();
        assert_eq!(hex(&native("secret", &challenge)), "b32bb3a583e1340c0a1108d58b1be49781ad8c2f");
        assert_eq!(
            hex(&caching_sha2("secret", &challenge)),
            "746ebe205d56a0707acb3e796e834e0dd7b1d61743b26bd5202c7a623230c7c9"
        );
        assert!(native("", &challenge).is_empty() && caching_sha2("", &challenge).is_empty());
    }

    #[test]
    fn a_key_that_is_none_is_said() {
        assert!(encrypted("secret", &[1; 20], b"no key").unwrap_err().contains("RSA key"));
        assert!(encrypted("secret", &[1; 20], &[0xff, 0xfe]).is_err());
    }

    #[test]
    fn only_the_servers_key_opens_an_encrypted_password() {
        use rsa::{
            RsaPrivateKey,
            pkcs8::{EncodePublicKey, LineEnding},
        };
        let private = RsaPrivateKey::new(&mut OsRng, 1024).unwrap();
        let pem = private.to_public_key().to_public_key_pem(LineEnding::LF).unwrap();
        let sealed = encrypted("secret", &[5; 20], pem.as_bytes()).unwrap();
        let opened = private.decrypt(Oaep::new::<Sha1>(), &sealed).unwrap();
        assert_eq!(opened.iter().map(|b| b ^ 5).collect::<Vec<_>>(), b"secret\0");
    }
}
