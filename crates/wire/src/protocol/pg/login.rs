//! PostgreSQL session start: TLS, startup message, authentication.

use std::sync::Arc;

use rsa::rand_core::{OsRng, RngCore};

use super::{
    super::{Event, Fields, MOST_REQUESTS, WireError},
    malformed, message, refusal,
    scram::{Bound, Scram, md5},
};
use crate::{
    login::{Binding, Login, Reach, Tls},
    safety::{Method, permit, unencrypted},
};

/// Protocol 3.0.
const VERSION: u32 = 3 << 16;
/// The version number that asks for TLS.
const ASK_TLS: u32 = 80_877_103;

/// A login that is under way.
#[derive(Debug)]
pub struct Handshake {
    login: Arc<Login>,
    awaits_tls: bool,
    is_encrypted: bool,
    /// Channel binding of the login to the TLS connection, once it was asked for.
    end_point: Option<Option<Vec<u8>>>,
    scram: Option<Scram>,
    /// How often the server asked for something.
    requests: u32,
    cautions: Vec<String>,
}

impl Handshake {
    /// Begins, with a request for TLS or with the startup message.
    pub fn new(login: &Arc<Login>, out: &mut Vec<u8>) -> Handshake {
        let awaits_tls = login.tls != Tls::Disable && login.reach != Reach::Socket;
        let handshake = Handshake {
            login: Arc::clone(login),
            awaits_tls,
            is_encrypted: false,
            end_point: None,
            scram: None,
            requests: 0,
            cautions: Vec::new(),
        };
        if awaits_tls {
            out.extend_from_slice(&8_u32.to_be_bytes());
            out.extend_from_slice(&ASK_TLS.to_be_bytes());
        } else {
            handshake.startup(out);
        }
        handshake
    }

    /// Goes on inside TLS.
    pub fn secured(&mut self, out: &mut Vec<u8>) {
        self.is_encrypted = true;
        self.startup(out);
    }

    /// Returns true if a message is to be answered with what binds the login to the TLS connection, which is not known yet.
    pub fn wants_binding(&self, tag: u8, body: &[u8]) -> bool {
        let is_asked = tag == b'R' && body.starts_with(&[0, 0, 0, 10]) && self.login.binding != Binding::Disable;
        is_asked && self.is_encrypted && self.end_point.is_none()
    }

    /// As [`super::super::Session::bind`].
    pub fn bind(&mut self, end_point: Option<Vec<u8>>) {
        self.end_point = Some(end_point);
    }

    /// Takes warnings, once the login is done.
    pub fn cautions(&mut self) -> Vec<String> {
        self.cautions.extend(unencrypted(&self.login, self.is_encrypted));
        std::mem::take(&mut self.cautions)
    }

    /// Returns true if the next byte is the answer to the request for TLS, which is no message.
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
            // An interceptor could have added it before the encryption began.
            [b'S', ..] => Err(malformed("plain bytes behind the consent to TLS")),
            [b'N', ..] if self.login.tls == Tls::Prefer => {
                self.awaits_tls = false;
                self.startup(out);
                Ok((1, Event::Nothing))
            }
            [b'N', ..] => {
                Err(WireError::Login("the server offers no TLS; use `sslmode=disable` if it is not needed".into()))
            }
            _ => Err(malformed("the answer to the request for TLS")),
        }
    }

    /// Writes the startup message.
    fn startup(&self, out: &mut Vec<u8>) {
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
        self.requests += 1;
        if self.requests > MOST_REQUESTS {
            return Err(malformed("a login that asks without an end"));
        }
        if self.login.binding == Binding::Require && kind != 0 && !(10..=12).contains(&kind) {
            return Err(self.unbound());
        }
        match kind {
            0 => self.is_done()?,
            3 => {
                self.permit(Method::Clear)?;
                let password = self.login.password.as_ref().map_or("", |p| p.reveal());
                message(b'p', out, |out| {
                    out.extend_from_slice(password.as_bytes());
                    out.push(0);
                });
            }
            5 => {
                let salt = fields.array().ok_or_else(|| malformed("MD5 without a salt"))?;
                self.permit(Method::Md5)?;
                let answer = md5(&self.login, salt);
                message(b'p', out, |out| {
                    out.extend_from_slice(answer.as_bytes());
                    out.push(0);
                });
            }
            10 => self.scram_begins(fields, out)?,
            11 | 12 => {
                let scram = self.scram.as_mut().ok_or_else(|| malformed("SCRAM that was not begun"))?;
                if kind == 12 {
                    return scram.verify(fields.0).map_err(WireError::Login);
                }
                if scram.has_proven() {
                    return Err(malformed("a second challenge (SCRAM)"));
                }
                let challenge = scram.challenge(fields.0).map_err(WireError::Login)?;
                let caution = permit(&self.login, self.is_encrypted, Method::Scram(challenge.rounds))?;
                self.cautions.extend(caution);
                let proof = scram.proof(fields.0, &self.login).map_err(WireError::Login)?;
                message(b'p', out, |out| out.extend_from_slice(proof.as_bytes()));
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

    /// Lets an answer out if it is safe.
    fn permit(&mut self, method: Method) -> Result<(), WireError> {
        self.cautions.extend(permit(&self.login, self.is_encrypted, method)?);
        Ok(())
    }

    /// Whether the server may say that the login is done.
    fn is_done(&self) -> Result<(), WireError> {
        match &self.scram {
            Some(scram) if !scram.is_verified() => Err(WireError::Login(
                "the server ended the login without proving that it knows the password; it may be an impostor".into(),
            )),
            Some(scram) if scram.is_bound() => Ok(()),
            _ if self.login.binding == Binding::Require => Err(self.unbound()),
            _ => Ok(()),
        }
    }

    fn unbound(&self) -> WireError {
        WireError::Login(if self.is_encrypted {
            "the server offers no login that is bound to the TLS connection (SCRAM-SHA-256-PLUS); somebody may be in between. \
             `channel_binding=prefer` does without"
                .into()
        } else {
            "channel binding needs TLS: use `sslmode=require`, or `channel_binding=prefer`, which does without".into()
        })
    }

    fn scram_begins(&mut self, mut mechanisms: Fields<'_>, out: &mut Vec<u8>) -> Result<(), WireError> {
        const PLAIN: &[u8] = b"SCRAM-SHA-256";
        const PLUS: &[u8] = b"SCRAM-SHA-256-PLUS";
        let offered: Vec<_> = std::iter::from_fn(|| mechanisms.text().filter(|name| !name.is_empty())).collect();
        let end_point = self.end_point.clone().flatten();
        let (mechanism, bound) = match end_point {
            Some(end_point) if offered.contains(&PLUS) => (PLUS, Bound::To(end_point)),
            _ if self.login.binding == Binding::Require => return Err(self.unbound()),
            // A server that offers it learns that somebody hid that, and refuses.
            Some(_) => (PLAIN, Bound::IfOffered),
            None => (PLAIN, Bound::Never),
        };
        if !offered.contains(&mechanism) {
            return Err(WireError::Login("the server offers no SCRAM-SHA-256".into()));
        }
        self.permit(Method::Scram(u32::MAX))?;
        let mut random = [0; 18];
        OsRng.try_fill_bytes(&mut random).map_err(|e| WireError::Login(format!("no random numbers: {e}")))?;
        let scram = Scram::new(random, bound);
        let first = scram.first();
        message(b'p', out, |out| {
            out.extend_from_slice(mechanism);
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

    /// Over loopback.
    fn login(password: Option<&str>, tls: Tls) -> Arc<Login> {
        at(Reach::Loopback, password, tls)
    }

    fn at(reach: Reach, password: Option<&str>, tls: Tls) -> Arc<Login> {
        let password = password.map(Password::new);
        Arc::new(Login { password, tls, reach, database: "d".into(), ..Login::new(Dialect::Postgres, "bob") })
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
        let (mut session, _) = begin(&at(Reach::Socket, Some("secret"), Tls::Disable));
        assert_eq!(play(&mut session, &request(3, b""), &[]).1, b"p\0\0\0\x0bsecret\0");
        let (mut session, _) = begin(&login(Some("secret"), Tls::Disable));
        let (_, sent) = play(&mut session, &request(5, &[1, 2, 3, 4]), &[]);
        assert!(sent.starts_with(b"p\0\0\0\x28md5") && sent.len() == 41);
        let (mut session, _) = begin(&login(Some("secret"), Tls::Disable));
        let (_, sent) = play(&mut session, &request(10, b"SCRAM-SHA-256-PLUS\0SCRAM-SHA-256\0\0"), &[]);
        assert!(sent[5..].starts_with(b"SCRAM-SHA-256\0\0\0\0\x20n,,n=,r="));
    }

    /// A session inside TLS.
    fn encrypted(login: &Arc<Login>) -> Session {
        let mut session = begin(login).0;
        assert_eq!(play(&mut session, b"S", &[]).0, ["StartTls"]);
        session.secured(&mut Vec::new());
        session
    }

    #[test]
    fn no_password_and_no_hash_of_it_goes_where_others_could_read_it() {
        let methods = [
            request(3, b""),
            request(5, &[1, 2, 3, 4]),
            request(10, b"SCRAM-SHA-256\0\0"),
            request(10, b"SCRAM-SHA-256-PLUS\0\0"),
        ];
        for (reach, refused) in [(Reach::Loopback, 1), (Reach::Network, 3)] {
            for method in &methods[..refused] {
                let (mut session, _) = begin(&at(reach, Some("secret"), Tls::Disable));
                let (events, sent) = play(&mut session, method, &[]);
                assert!(
                    sent.is_empty() && events[0].contains("needs TLS") || events[0].contains("unencrypted"),
                    "{events:?}"
                );
                assert!(sent.is_empty() && events[0].contains("`sslmode=require` encrypts"), "{events:?}");
            }
        }
        // A server without TLS is not talked to where that was not agreed upon.
        for login in
            [at(Reach::Network, Some("secret"), Tls::Require), at(Reach::Network, Some("secret"), Tls::VerifyCa)]
        {
            assert!(play(&mut begin(&login).0, b"N", &[]).0[0].contains("offers no TLS"));
        }
        for method in &methods {
            let mut session = encrypted(&at(Reach::Network, Some("secret"), Tls::Require));
            assert!(!play(&mut session, method, &[]).1.is_empty(), "{method:?}");
        }
    }

    #[test]
    fn a_proof_goes_unencrypted_only_where_the_user_says_so_and_after_many_rounds() {
        let agreed = |agreed| {
            let password = Some(Password::new("pencil"));
            let login = Login { password, agreed, reach: Reach::Network, ..Login::new(Dialect::Postgres, "u") };
            begin(&Arc::new(login)).0
        };
        let begins = request(10, b"SCRAM-SHA-256\0\0");
        let (events, sent) = play(&mut agreed(false), &begins, &[]);
        assert!(sent.is_empty() && events[0].contains("`sslmode=prefer`"), "{events:?}");
        for (rounds, is_answered) in [(4096, true), (4095, false), (1, false)] {
            let mut session = agreed(true);
            let (_, first) = play(&mut session, &begins, &[]);
            let first = String::from_utf8_lossy(&first).into_owned();
            let nonce = first.rsplit("r=").next().unwrap();
            let challenge = format!("r={nonce}x,s=W22ZaJ0SNY7soEsUEjb6gQ==,i={rounds}");
            let (_, sent) = play(&mut session, &request(11, challenge.as_bytes()), &[]);
            assert_eq!(!sent.is_empty(), is_answered, "{rounds}");
        }
    }

    #[test]
    fn weak_methods_are_answered_with_a_caution() {
        let cautions = |session: &mut Session, request: Vec<u8>| {
            let stream = [request, super::tests::request(0, b""), b"Z\0\0\0\x05I".to_vec()].concat();
            assert_eq!(play(session, &stream, &[]).0, ["Ready"]);
            session.about().cautions.join(" ")
        };
        let md5 = request(5, &[0; 4]);
        assert!(cautions(&mut begin(&login(Some("x"), Tls::Disable)).0, md5).contains("scram-sha-256"));
        let clear = |tls| cautions(&mut encrypted(&at(Reach::Network, Some("x"), tls)), request(3, b""));
        assert!(clear(Tls::Require).contains("not verified") && clear(Tls::VerifyFull).is_empty());
        let open = at(Reach::Network, None, Tls::Disable);
        let trusted = [request(0, b""), b"Z\0\0\0\x05I".to_vec()].concat();
        let mut session = begin(&open).0;
        play(&mut session, &trusted, &[]);
        assert!(session.about().cautions[0].contains("unencrypted"), "{:?}", session.about());
    }

    #[test]
    fn a_login_is_bound_to_tls_where_the_server_offers_it() {
        let with = |binding, offered: &[u8]| {
            let password = Some(Password::new("pencil"));
            let login = Login { password, binding, tls: Tls::Require, ..Login::new(Dialect::Postgres, "u") };
            let mut session = encrypted(&Arc::new(login));
            let (events, sent) = play(&mut session, &request(10, offered), &[]);
            (events.join(" "), String::from_utf8_lossy(sent.get(5..).unwrap_or_default()).into_owned())
        };
        let (both, plain) = (&b"SCRAM-SHA-256-PLUS\0SCRAM-SHA-256\0\0"[..], &b"SCRAM-SHA-256\0\0"[..]);
        for binding in [Binding::Prefer, Binding::Require] {
            let sent = with(binding, both).1;
            assert!(
                sent.starts_with("SCRAM-SHA-256-PLUS\0") && sent.contains("p=tls-server-end-point,,n=,r="),
                "{sent}"
            );
        }
        assert!(with(Binding::Prefer, plain).1.contains("y,,n=,r="));
        assert!(with(Binding::Disable, both).1.contains("n,,n=,r="));
        assert!(with(Binding::Require, plain).0.contains("somebody may be in between"));
    }

    #[test]
    fn who_demands_a_bound_login_takes_no_other() {
        let login = |tls| {
            let password = Some(Password::new("x"));
            Arc::new(Login { password, tls, binding: Binding::Require, ..Login::new(Dialect::Postgres, "u") })
        };
        for method in [request(0, b""), request(3, b""), request(5, &[0; 4])] {
            let (events, sent) = play(&mut encrypted(&login(Tls::Require)), &method, &[]);
            assert!(sent.is_empty() && events[0].contains("SCRAM-SHA-256-PLUS"), "{events:?}");
            let (events, sent) = play(&mut begin(&login(Tls::Disable)).0, &method, &[]);
            assert!(sent.is_empty() && events[0].contains("needs TLS"), "{events:?}");
        }
    }

    #[test]
    fn a_server_that_skips_its_proof_is_an_impostor() {
        let (mut session, _) = begin(&login(Some("x"), Tls::Disable));
        let stream = [request(10, b"SCRAM-SHA-256\0\0"), request(0, b"")].concat();
        assert!(play(&mut session, &stream, &[]).0[0].contains("impostor"));
    }

    #[test]
    fn a_login_without_an_end_is_ended() {
        let of =
            |message: &[u8], times| play(&mut begin(&login(Some("x"), Tls::Disable)).0, &message.repeat(times), &[]).0;
        let last = |events: Vec<String>| events.last().cloned().unwrap_or_default();
        assert!(last(of(&request(5, &[0; 4]), 50)).contains("without an end"));
        assert!(last(of(&request(10, b"SCRAM-SHA-256\0\0"), 50)).contains("without an end"));
        let mut notice = Vec::new();
        message(b'N', &mut notice, |out| out.extend_from_slice(&[b'x'; 1000]));
        assert!(last(of(&notice, 300)).contains("without an end") && of(&notice, 100).is_empty());
        let mut setting = Vec::new();
        message(b'S', &mut setting, |out| out.extend_from_slice(&[b'x'; 1000]));
        assert!(last(of(&setting, 300)).contains("without an end"));
        assert!(last(of(b"R\x7f\xff\xff\xff", 1)).contains("a message of 2147483647 bytes"));
    }

    #[test]
    fn what_cannot_be_done_is_said() {
        let reported = |login: &Arc<Login>, stream: &[u8]| play(&mut begin(login).0, stream, &[]).0.join(" ");
        assert!(reported(&login(None, Tls::Disable), &request(5, &[0; 4])).contains("none is given"));
        assert!(reported(&login(Some("x"), Tls::Disable), &request(7, b"")).contains("GSSAPI"));
        assert!(reported(&login(Some("x"), Tls::Disable), &request(10, b"OTHER\0\0")).contains("SCRAM-SHA-256"));
        let mut refused = Vec::new();
        message(b'E', &mut refused, |out| out.extend_from_slice(b"SFATAL\0VFATAL\0C28P01\0Mwrong password\0\0"));
        assert!(reported(&login(Some("x"), Tls::Disable), &refused).contains("wrong password (28P01)"));
        assert!(reported(&login(None, Tls::Require), b"N").contains("offers no TLS"));
        assert!(reported(&login(None, Tls::Require), b"SR").contains("plain bytes"));
        assert_eq!(reported(&login(None, Tls::Require), b"S"), "StartTls");
    }
}
