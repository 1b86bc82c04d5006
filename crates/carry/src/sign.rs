//! Signatures of requests to S3: AWS Signature Version 4.

use std::fmt::Write as _;

use hmac::{Hmac, Mac as _};
use sha2::{Digest as _, Sha256};

/// Who asks.
#[derive(Clone)]
pub(crate) struct Credentials {
    pub key: String,
    pub secret: String,
    /// Of temporary credentials.
    pub token: Option<String>,
}

/// A request as it is signed.
pub(crate) struct Unsigned<'a> {
    pub method: &'a str,
    pub host: &'a str,
    /// The encoded path.
    pub path: &'a str,
    /// The encoded query, in order of names.
    pub query: &'a str,
    /// The SHA-256 of the body, in hexadecimal digits.
    pub payload: &'a str,
    /// The time, as `20261121T143553Z`.
    pub time: &'a str,
    pub region: &'a str,
}

impl Unsigned<'_> {
    /// The headers that the request is to have, besides its host.
    pub(crate) fn headers(&self, credentials: &Credentials) -> Vec<(&'static str, String)> {
        let mut headers = vec![("x-amz-content-sha256", self.payload.to_owned()), ("x-amz-date", self.time.to_owned())];
        headers.extend(credentials.token.clone().map(|token| ("x-amz-security-token", token)));
        let mut canonical = format!("host:{}\n", self.host);
        let mut signed = "host".to_owned();
        for (name, value) in &headers {
            // Writing to a string cannot fail.
            let _ = writeln!(canonical, "{name}:{}", value.trim());
            signed += &format!(";{name}");
        }
        let request =
            format!("{}\n{}\n{}\n{canonical}\n{signed}\n{}", self.method, self.path, self.query, self.payload);
        let day = self.time.get(..8).unwrap_or_default();
        let scope = format!("{day}/{}/s3/aws4_request", self.region);
        let text = format!("AWS4-HMAC-SHA256\n{}\n{scope}\n{}", self.time, sha256(request.as_bytes()));
        let mut key = mac(format!("AWS4{}", credentials.secret).as_bytes(), day);
        for part in [self.region, "s3", "aws4_request"] {
            key = mac(&key, part);
        }
        let signature = hex(&mac(&key, &text));
        let value = format!(
            "AWS4-HMAC-SHA256 Credential={}/{scope}, SignedHeaders={signed}, Signature={signature}",
            credentials.key
        );
        headers.push(("authorization", value));
        headers
    }
}

fn mac(key: &[u8], text: &str) -> Vec<u8> {
    // A key of any length will do.
    let Ok(mut mac) = Hmac::<Sha256>::new_from_slice(key) else { return Vec::new() };
    mac.update(text.as_bytes());
    mac.finalize().into_bytes().to_vec()
}

/// The SHA-256 of bytes, in hexadecimal digits.
pub(crate) fn sha256(bytes: &[u8]) -> String {
    hex(&Sha256::digest(bytes))
}

/// Bytes in hexadecimal digits.
pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |text, byte| text + &format!("{byte:02x}"))
}

/// Text as encoded in an address; `kept` stays besides letters, digits and `-._~`.
pub(crate) fn encoded(text: &str, kept: &[u8]) -> String {
    let mut out = String::with_capacity(text.len());
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) || kept.contains(&byte) {
            out.push(char::from(byte));
        } else {
            out += &format!("%{byte:02X}");
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::{Credentials, Unsigned, encoded, sha256};

    #[test]
    fn a_request_is_signed_as_the_services_documentation_has_it() {
        // "GET Bucket (List Objects)" of the documentation of Signature Version 4.
        let credentials = Credentials {
            key: "AKIAIOSFODNN7EXAMPLE".to_owned(),
            secret: "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY".to_owned(),
            token: None,
        };
        let payload = sha256(b"");
        let headers = Unsigned {
            method: "GET",
            host: "examplebucket.s3.amazonaws.com",
            path: "/",
            query: "max-keys=2&prefix=J",
            payload: &payload,
            time: "20130524T000000Z",
            region: "us-east-1",
        }
        .headers(&credentials);
        let signature = "34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7";
        assert!(headers.last().is_some_and(|(_, value)| value.ends_with(signature)), "{headers:?}");
    }

    #[test]
    fn names_of_runs_are_encoded() {
        assert_eq!(encoded("runs/run=a b/ü", b"/"), "runs/run%3Da%20b/%C3%BC");
    }
}
