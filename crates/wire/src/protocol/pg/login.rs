//! PostgreSQL session start: TLS, startup message, authentication.

use std::sync::Arc;

use rsa::rand_core::{OsRng, RngCore};

use super::{
    super::{Event, Fields, WireError},
    malformed, message, refusal,
    scram::{Scram, md5},
};
use crate::login::{Login, Tls};

/// Protocol 3.0.
const VERSION: u32 = 3 << 16;
/// What stands in the place of a version to ask for TLS.
const ASK_TLS: u32 = 80_877_103;

/// A login that is under way.
#[derive(Debug)]
pub struct Handshake {
    login: Arc<Login>,
    awaits_tls: bool,
    scram: Option<Scram>,
}

impl Handshake {
    /// Begins, with a request for TLS or with the startup message.
    pub fn new(login: &Arc<Login>, out: &mut Vec<u8>) -> Handshake {
        let awaits_tls = login.tls != Tls::Disable && !login.local;
        let mut handshake = Handshake { login: Arc::clone(login), awaits_tls, scram: None };
        if awaits_tls {
            out.extend_from_slice(&8_u32.to_be_bytes());
            out.extend_from_slice(&ASK_TLS.to_be_bytes());
        } else {
            handshake.secured(out);
        }
        handshake
    }

    /// Whether the next byte is the answer to the request for TLS, which is no message.
    pub fn awaits_tls(&self) -> bool {
        self.awaits_tls
    }

    /// Reads that byte.
    pub fn tls<'a>(&mut self, input: &'a [u8], out: &mut Vec<u8>) -> Result<(usize, Event<'a>), WireError> {
        match input {
            [] => Ok((0, Event::More)),
            [b'S'] => {
                self.awaits_tls = false;
                Ok((1, Event::StartTls))
            }
            // Whoever is between could have added it before the encryption began.
            [b'S', ..] => Err(malformed("plain bytes behind the consent to TLS")),
            [b'N', ..] if self.login.tls == Tls::Prefer => {
                self.awaits_tls = false;
                self.secured(out);
                Ok((1, Event::Nothing))
            }
            [b'N', ..] => {
                Err(WireError::Login("the server offers no TLS; use `sslmode=disable` if it is not needed".into()))
            }
            _ => Err(malformed("the answer to the request for TLS")),
        }
    }

    /// Writes the startup message.
    pub fn secured(&mut self, out: &mut Vec<u8>) {
        let at = out.len();
        out.extend_from_slice(&[0; 4]);
        out.extend_from_slice(&VERSION.to_be_bytes());
        for text in
            ["user", &self.login.user, "database", &self.login.database, "application_name", &self.login.application]
        {
            out.extend_from_slice(text.as_bytes());
            out.push(0);
        }
        out.push(0);
        let length = ((out.len() - at) as u32).to_be_bytes();
        out[at..at + 4].copy_from_slice(&length);
    }

    /// Takes a message of the login.
    pub fn message<'a>(&mut self, tag: u8, body: &[u8], out: &mut Vec<u8>) -> Result<Event<'a>, WireError> {
        match tag {
            b'R' => self.authentication(body, out)?,
            b'E' => return Err(WireError::Server(refusal(body).0)),
            b'Z' => return Ok(Event::Ready),
            // NegotiateProtocolVersion, ParameterStatus, BackendKeyData, NoticeResponse.
            b'v' | b'S' | b'K' | b'N' => {}
            _ => return Err(malformed(&format!("message `{}` during the login", char::from(tag).escape_default()))),
        }
        Ok(Event::Nothing)
    }

    fn authentication(&mut self, body: &[u8], out: &mut Vec<u8>) -> Result<(), WireError> {
        let mut fields = Fields(body);
        let kind =
            fields.array().map(u32::from_be_bytes).ok_or_else(|| malformed("an empty authentication request"))?;
        if kind != 0 && self.login.password.is_none() {
            return Err(WireError::Login(format!(
                "the server asks for a password of `{}` and none is given; use the URL, PGPASSWORD or the password file",
                self.login.user
            )));
        }
        match kind {
            // Done.
            0 => {}
            3 => {
                let password = self.login.password.as_ref().map_or("", |p| p.reveal());
                message(b'p', out, |out| {
                    out.extend_from_slice(password.as_bytes());
                    out.push(0);
                });
            }
            5 => {
                let salt = fields.array().ok_or_else(|| malformed("MD5 without a salt"))?;
                let answer = md5(&self.login, salt);
                message(b'p', out, |out| {
                    out.extend_from_slice(answer.as_bytes());
                    out.push(0);
                });
            }
            10 => self.scram_begins(fields, out)?,
            11 | 12 => {
                let scram = self.scram.as_mut().ok_or_else(|| malformed("SCRAM that was not begun"))?;
                if kind == 11 {
                    let proof = scram.proof(fields.0, &self.login).map_err(WireError::Login)?;
                    message(b'p', out, |out| out.extend_from_slice(proof.as_bytes()));
                } else {
                    scram.verify(fields.0).map_err(WireError::Login)?;
                }
            }
            _ => {
                let name = match kind {
                    2 => "Kerberos 5",
                    7 | 8 => "GSSAPI",
                    9 => "SSPI",
                    _ => "an unknown method",
                };
                return Err(WireError::Login(format!(
                    "the server requires {name} authentication; supported are SCRAM, MD5, password and trust"
                )));
            }
        }
        Ok(())
    }

    fn scram_begins(&mut self, mut mechanisms: Fields<'_>, out: &mut Vec<u8>) -> Result<(), WireError> {
        const MECHANISM: &[u8] = b"SCRAM-SHA-256";
        let offered = std::iter::from_fn(|| mechanisms.text().filter(|name| !name.is_empty()));
        if !offered.into_iter().any(|name| name == MECHANISM) {
            return Err(WireError::Login("the server offers no SCRAM-SHA-256".into()));
        }
        let mut random = [0; 18];
        OsRng.try_fill_bytes(&mut random).map_err(|e| WireError::Login(format!("no random numbers: {e}")))?;
        let scram = Scram::new(random);
        let first = scram.first();
        message(b'p', out, |out| {
            out.extend_from_slice(MECHANISM);
            out.push(0);
            out.extend_from_slice(&(first.len() as u32).to_be_bytes());
            out.extend_from_slice(first.as_bytes());
        });
        self.scram = Some(scram);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::{
        super::super::{Dialect, Session, tests::play},
        *,
    };
    use crate::login::Password;

    fn request(kind: u32, rest: &[u8]) -> Vec<u8> {
        let mut out = Vec::new();
        message(b'R', &mut out, |out| {
            out.extend_from_slice(&kind.to_be_bytes());
            out.extend_from_slice(rest);
        });
        out
    }

    fn login(password: Option<&str>, tls: Tls) -> Arc<Login> {
        let password = password.map(Password::new);
        Arc::new(Login { password, tls, database: "d".into(), ..Login::new(Dialect::Postgres, "bob") })
    }

    fn begin(login: &Arc<Login>) -> (Session, Vec<u8>) {
        let mut out = Vec::new();
        (Session::new(login, &mut out), out)
    }

    #[test]
    fn a_trusted_user_says_who_and_where_and_is_ready() {
        let (mut session, first) = begin(&login(None, Tls::Disable));
        assert_eq!(first, b"\0\0\0\x34\0\x03\0\0user\0bob\0database\0d\0application_name\0fenxi\0\0");
        let mut stream = request(0, b"");
        stream.extend_from_slice(b"S\0\0\0\x08a\0b\0K\0\0\0\x0c12345678Z\0\0\0\x05I");
        for cut in 0..stream.len() {
            let (mut again, _) = begin(&login(None, Tls::Disable));
            assert_eq!(play(&mut again, &stream, &[cut]).0, ["Ready"]);
        }
        assert_eq!(play(&mut session, &stream, &[]), (vec!["Ready".to_owned()], Vec::new()));
    }

    #[test]
    fn a_password_goes_out_as_it_is_asked_for() {
        let (mut session, _) = begin(&login(Some("secret"), Tls::Disable));
        assert_eq!(play(&mut session, &request(3, b""), &[]).1, b"p\0\0\0\x0bsecret\0");
        let (mut session, _) = begin(&login(Some("secret"), Tls::Disable));
        let (_, sent) = play(&mut session, &request(5, &[1, 2, 3, 4]), &[]);
        assert!(sent.starts_with(b"p\0\0\0\x28md5") && sent.len() == 41);
        let (mut session, _) = begin(&login(Some("secret"), Tls::Disable));
        let (_, sent) = play(&mut session, &request(10, b"SCRAM-SHA-256-PLUS\0SCRAM-SHA-256\0\0"), &[]);
        assert!(sent[5..].starts_with(b"SCRAM-SHA-256\0\0\0\0\x20n,,n=,r="));
    }

    #[test]
    fn what_cannot_be_done_is_said() {
        let said = |login: &Arc<Login>, stream: &[u8]| play(&mut begin(login).0, stream, &[]).0.join(" ");
        assert!(said(&login(None, Tls::Disable), &request(5, &[0; 4])).contains("none is given"));
        assert!(said(&login(Some("x"), Tls::Disable), &request(7, b"")).contains("GSSAPI"));
        assert!(said(&login(Some("x"), Tls::Disable), &request(10, b"OTHER\0\0")).contains("SCRAM-SHA-256"));
        let mut refused = Vec::new();
        message(b'E', &mut refused, |out| out.extend_from_slice(b"SFATAL\0VFATAL\0C28P01\0Mwrong password\0\0"));
        assert!(said(&login(Some("x"), Tls::Disable), &refused).contains("wrong password (28P01)"));
        assert!(said(&login(None, Tls::Require), b"N").contains("offers no TLS"));
        assert!(said(&login(None, Tls::Require), b"SR").contains("plain bytes"));
        assert_eq!(said(&login(None, Tls::Require), b"S"), "StartTls");
    }
}
