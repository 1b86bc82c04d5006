//! MySQL session start: greeting, TLS, authentication.

use std::sync::Arc;

use super::{
    super::{About, Fields, MOST_REQUESTS, WireError},
    auth, malformed, packet, refusal,
};
use crate::{
    login::{Login, Reach, Tls},
    safety::{Method, permit, unencrypted},
};

const LONG_PASSWORD: u32 = 1;
const LONG_FLAG: u32 = 1 << 2;
const WITH_DATABASE: u32 = 1 << 3;
const LOCAL_FILES: u32 = 1 << 7;
const PROTOCOL_41: u32 = 1 << 9;
const TLS: u32 = 1 << 11;
const TRANSACTIONS: u32 = 1 << 13;
const SECURE_CONNECTION: u32 = 1 << 15;
const MULTI_RESULTS: u32 = 1 << 17;
const PREPARED_MULTI_RESULTS: u32 = 1 << 18;
const PLUGINS: u32 = 1 << 19;

/// `utf8mb4_general_ci`, which every server since MySQL 5.5 knows.
const CHARSET: u8 = 45;

const NATIVE: &[u8] = b"mysql_native_password";
const CACHING: &[u8] = b"caching_sha2_password";
const SHA256: &[u8] = b"sha256_password";
const CLEAR: &[u8] = b"mysql_clear_password";

/// Next step after a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// More packets.
    Waits,
    /// TLS, after what was written is sent.
    StartTls,
    /// The login is done.
    Done,
}

/// A login that is under way.
#[derive(Debug)]
pub struct Handshake {
    login: Arc<Login>,
    greeted: bool,
    /// Capability flags: offered by the server and wanted by us.
    flags: u32,
    plugin: Vec<u8>,
    challenge: Vec<u8>,
    sequence: u8,
    /// How often the server asked for something.
    requests: u32,
    /// The content of the greeting.
    about: About,
}

impl Handshake {
    /// Waits for the greeting.
    pub fn new(login: &Arc<Login>) -> Handshake {
        Handshake {
            login: Arc::clone(login),
            greeted: false,
            flags: 0,
            plugin: NATIVE.to_vec(),
            challenge: Vec::new(),
            sequence: 0,
            requests: 0,
            about: About::default(),
        }
    }

    /// The content of the greeting, and warnings for the user, once the login is done.
    pub fn about(&mut self) -> About {
        self.about.cautions.extend(unencrypted(&self.login, self.is_encrypted()));
        std::mem::take(&mut self.about)
    }

    /// Takes a packet; answers have the number `sequence`.
    pub fn packet(&mut self, body: &[u8], sequence: u8, out: &mut Vec<u8>) -> Result<Step, WireError> {
        self.sequence = sequence;
        self.requests += 1;
        if self.requests > MOST_REQUESTS {
            return Err(malformed("a login that asks without an end"));
        }
        let (first, rest) = body.split_first().ok_or_else(|| malformed("an empty packet during the login"))?;
        match first {
            0xff => Err(WireError::Server(refusal(body))),
            _ if !self.greeted => self.greeting(*first, rest, out),
            0x00 => Ok(Step::Done),
            0xfe => {
                let mut fields = Fields(rest);
                let plugin = fields.text().ok_or_else(|| {
                    WireError::Login("the account has a password from before MySQL 4.1, which is not supported".into())
                })?;
                self.plugin = plugin.to_vec();
                self.challenge = fields.0.strip_suffix(&[0]).unwrap_or(fields.0).to_vec();
                let answer = self.answer()?;
                self.send(&answer, out);
                Ok(Step::Waits)
            }
            0x01 => self.more(rest, out),
            _ => Err(malformed("a packet during the login")),
        }
    }

    fn greeting(&mut self, version: u8, rest: &[u8], out: &mut Vec<u8>) -> Result<Step, WireError> {
        if version != 10 {
            return Err(malformed(&format!("a greeting of version {version}")));
        }
        let offered = self.read_greeting(rest).ok_or_else(|| malformed("a greeting that is cut short"))?;
        self.greeted = true;
        let mut wanted = LONG_PASSWORD | LONG_FLAG | PROTOCOL_41 | TRANSACTIONS | SECURE_CONNECTION;
        wanted |= MULTI_RESULTS | PREPARED_MULTI_RESULTS | PLUGINS;
        let encrypted = match self.login.tls {
            _ if self.login.reach == Reach::Socket => false,
            Tls::Disable => false,
            Tls::Prefer => offered & TLS != 0,
            Tls::Require | Tls::VerifyCa | Tls::VerifyFull => true,
        };
        for (flag, wants) in
            [(WITH_DATABASE, !self.login.database.is_empty()), (LOCAL_FILES, self.login.local_files), (TLS, encrypted)]
        {
            wanted |= if wants { flag } else { 0 };
        }
        if wanted & TLS & !offered != 0 {
            return Err(WireError::Login(
                "the server offers no TLS; use `ssl-mode=disable` if it is not needed".into(),
            ));
        }
        if offered & PROTOCOL_41 == 0 {
            return Err(WireError::Login("the server is older than MySQL 4.1".into()));
        }
        self.flags = wanted & offered;
        if self.flags & TLS == 0 {
            self.respond(out)?;
            return Ok(Step::Waits);
        }
        packet(self.sequence, out, |out| self.head(out));
        self.sequence = self.sequence.wrapping_add(1);
        Ok(Step::StartTls)
    }

    /// Returns the server's capabilities; the challenge and the plugin are kept.
    fn read_greeting(&mut self, rest: &[u8]) -> Option<u32> {
        let mut fields = Fields(rest);
        let version = super::super::version(fields.text()?);
        // MariaDB puts this before its version so that old replicas take it for a MySQL.
        self.about.version = version.strip_prefix("5.5.5-").unwrap_or(&version).into();
        self.about.number = u32::from_le_bytes(fields.array()?);
        self.challenge = fields.take(8)?.to_vec();
        fields.take(1)?;
        let low = u16::from_le_bytes(fields.array()?);
        // Character set and status.
        fields.take(3)?;
        let high = u16::from_le_bytes(fields.array()?);
        let length = usize::from(fields.byte()?);
        fields.take(10)?;
        let second = fields.take(length.saturating_sub(8).max(13))?;
        self.challenge.extend_from_slice(second.strip_suffix(&[0]).unwrap_or(second));
        let offered = u32::from(low) | u32::from(high) << 16;
        if offered & PLUGINS != 0 {
            // One old server forgets the zero at the end.
            self.plugin = fields.text().unwrap_or(fields.0).to_vec();
        }
        Some(offered)
    }

    /// Goes on inside TLS. What could not be answered is asked again by the server, with a switch of the plugin.
    pub fn secured(&mut self, out: &mut Vec<u8>) {
        if self.respond(out).is_err() {
            self.plugin = NATIVE.to_vec();
            let _ = self.respond(out);
        }
    }

    fn head(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.flags.to_le_bytes());
        out.extend_from_slice(&(1_u32 << 30).to_le_bytes());
        out.push(CHARSET);
        out.extend_from_slice(&[0; 23]);
    }

    fn respond(&mut self, out: &mut Vec<u8>) -> Result<(), WireError> {
        // A server that prefers a plugin that we do not know may have one for the account that we do.
        let answer = match self.answer() {
            Ok(answer) => answer,
            Err(_) if self.flags & PLUGINS != 0 => {
                self.plugin = NATIVE.to_vec();
                self.answer()?
            }
            Err(error) => return Err(error),
        };
        packet(self.sequence, out, |out| {
            self.head(out);
            out.extend_from_slice(self.login.user.as_bytes());
            out.push(0);
            out.push(answer.len() as u8);
            out.extend_from_slice(&answer);
            if self.flags & WITH_DATABASE != 0 {
                out.extend_from_slice(self.login.database.as_bytes());
                out.push(0);
            }
            if self.flags & PLUGINS != 0 {
                out.extend_from_slice(&self.plugin);
                out.push(0);
            }
        });
        Ok(())
    }

    fn is_encrypted(&self) -> bool {
        self.flags & TLS != 0
    }

    /// Whether the connection cannot be intercepted.
    fn is_safe(&self) -> bool {
        self.is_encrypted() || self.login.reach == Reach::Socket
    }

    /// Lets the password out in a way if that is safe; an empty one reveals nothing.
    fn permit(&mut self, method: Method) -> Result<(), WireError> {
        if !self.password().is_empty() {
            let caution = permit(&self.login, self.is_encrypted(), method)?;
            self.about.cautions.extend(caution);
        }
        Ok(())
    }

    fn password(&self) -> &str {
        self.login.password.as_ref().map_or("", |p| p.reveal())
    }

    fn answer(&mut self) -> Result<Vec<u8>, WireError> {
        match self.plugin.as_slice() {
            NATIVE | b"" => {
                self.permit(Method::Scramble)?;
                Ok(auth::native(self.password(), &self.challenge))
            }
            CACHING => {
                self.permit(Method::Scramble)?;
                Ok(auth::caching_sha2(self.password(), &self.challenge))
            }
            SHA256 if self.password().is_empty() => Ok(vec![0]),
            // Asks for the key.
            SHA256 if !self.is_safe() => {
                self.permit(Method::Sealed)?;
                Ok(vec![1])
            }
            SHA256 | CLEAR => self.clear(),
            // The server asks the kernel who is at the other end of the socket.
            b"unix_socket" | b"auth_socket" => Ok(Vec::new()),
            other => Err(WireError::Login(format!(
                "the account requires `{}`; supported are mysql_native_password, caching_sha2_password, sha256_password, \
                 mysql_clear_password or unix_socket",
                String::from_utf8_lossy(other)
            ))),
        }
    }

    /// The password as it is.
    fn clear(&mut self) -> Result<Vec<u8>, WireError> {
        self.permit(Method::Clear)?;
        Ok(auth::clear(self.password()))
    }

    /// A plugin's message after the first answer.
    fn more(&mut self, data: &[u8], out: &mut Vec<u8>) -> Result<Step, WireError> {
        match (self.plugin.as_slice(), data) {
            // The server knew the hash; OK follows.
            (CACHING, [3]) => {}
            (CACHING, [4]) if self.is_safe() => {
                let password = self.clear()?;
                self.send(&password, out);
            }
            (CACHING, [4]) => {
                self.permit(Method::Sealed)?;
                self.send(&[2], out);
            }
            (CACHING | SHA256, key) if key.len() > 1 => {
                self.permit(Method::Sealed)?;
                let sealed = auth::encrypted(self.password(), &self.challenge, key).map_err(WireError::Login)?;
                self.send(&sealed, out);
            }
            _ => return Err(malformed("a further challenge")),
        }
        Ok(Step::Waits)
    }

    fn send(&self, body: &[u8], out: &mut Vec<u8>) {
        packet(self.sequence, out, |out| out.extend_from_slice(body));
    }
}

#[cfg(test)]
mod tests {
    use super::{
        super::super::{Dialect, Session, tests::play},
        *,
    };
    use crate::login::Password;

    /// A greeting with the challenge 1, 2, … 20.
    fn greeting(flags: u32, plugin: &str) -> Vec<u8> {
        let mut body = b"\x0a8.0.1\0\x07\0\0\0\x01\x02\x03\x04\x05\x06\x07\x08\0".to_vec();
        body.extend_from_slice(&(flags as u16).to_le_bytes());
        body.extend_from_slice(&[45, 2, 0]);
        body.extend_from_slice(&((flags >> 16) as u16).to_le_bytes());
        body.push(21);
        body.extend_from_slice(&[0; 10]);
        body.extend(9..=20);
        body.push(0);
        body.extend_from_slice(plugin.as_bytes());
        body.push(0);
        framed(0, &body)
    }

    fn framed(sequence: u8, body: &[u8]) -> Vec<u8> {
        let mut out = Vec::new();
        packet(sequence, &mut out, |out| out.extend_from_slice(body));
        out
    }

    /// Over a socket, or over loopback.
    fn login(tls: Tls, local: bool) -> Arc<Login> {
        at(if local { Reach::Socket } else { Reach::Loopback }, tls, "secret")
    }

    fn at(reach: Reach, tls: Tls, password: &str) -> Arc<Login> {
        let password = Some(Password::new(password));
        Arc::new(Login { password, tls, reach, database: "d".into(), ..Login::new(Dialect::Mysql, "bob") })
    }

    fn session(login: &Arc<Login>) -> Session {
        Session::new(login, &mut Vec::new())
    }

    fn challenge() -> Vec<u8> {
        (1..=20).collect()
    }

    #[test]
    fn a_native_password_is_answered_and_the_login_done() {
        let stream = [greeting(!TLS, "mysql_native_password"), framed(2, &[0, 0, 0, 2, 0, 0, 0])].concat();
        for cut in 0..stream.len() {
            let (events, sent) = play(&mut session(&login(Tls::Disable, false)), &stream, &[cut]);
            assert_eq!(events, ["Ready"]);
            let answer = auth::native("secret", &challenge());
            let tail = [b"bob\0\x14", &answer[..], b"d\0mysql_native_password\0"].concat();
            assert!(sent.ends_with(&tail) && sent[3] == 1);
        }
    }

    #[test]
    fn a_switch_of_the_plugin_is_followed() {
        let switch = [b"\xfecaching_sha2_password\0", &challenge()[..], b"\0"].concat();
        let stream = [greeting(!TLS, "mysql_native_password"), framed(2, &switch)].concat();
        let (_, sent) = play(&mut session(&login(Tls::Disable, false)), &stream, &[]);
        assert!(sent.ends_with(&framed(3, &auth::caching_sha2("secret", &challenge()))));
        // The server does not know the hash yet: over TCP its key is asked for, over a socket the password is sent.
        let full = [stream, framed(4, &[1, 4])].concat();
        assert!(play(&mut session(&login(Tls::Disable, false)), &full, &[]).1.ends_with(&framed(5, &[2])));
        assert!(play(&mut session(&login(Tls::Disable, true)), &full, &[]).1.ends_with(&framed(5, b"secret\0")));
    }

    #[test]
    fn tls_begins_behind_the_head_of_the_response() {
        let mut session = session(&login(Tls::Require, false));
        let (events, sent) = play(&mut session, &greeting(u32::MAX, "caching_sha2_password"), &[]);
        assert_eq!((events.join(""), sent.len(), sent[3]), ("StartTls".to_owned(), 36, 1));
        let mut out = Vec::new();
        session.secured(&mut out);
        assert!(out[3] == 2 && out.ends_with(b"caching_sha2_password\0"));
    }

    fn switch(to: &str) -> Vec<u8> {
        framed(2, &[&[0xfe], to.as_bytes(), b"\0", &challenge()[..], b"\0"].concat())
    }

    #[test]
    fn nothing_of_a_password_leaves_the_machine_unencrypted() {
        let all = ["mysql_native_password", "caching_sha2_password", "sha256_password", "mysql_clear_password"];
        for plugin in all {
            // The greeting names it, or the server switches to it.
            let greeted = greeting(!TLS, plugin);
            let switched = [greeting(!TLS, "unix_socket"), switch(plugin)].concat();
            for stream in [greeted, switched] {
                let (events, sent) = play(&mut session(&at(Reach::Network, Tls::Disable, "secret")), &stream, &[]);
                assert!(events[0].contains("needs TLS") && events[0].contains("`ssl-mode=require`"), "{events:?}");
                // At most the name of who logs in.
                assert!(sent.is_empty() || sent.ends_with(b"bob\0\0d\0unix_socket\0"), "{plugin}: {sent:?}");
                // An empty password reveals nothing.
                let (_, sent) = play(&mut session(&at(Reach::Network, Tls::Disable, "")), &stream, &[]);
                assert!(!sent.is_empty(), "{plugin}");
            }
        }
        // A key that the server sends may be one of an interceptor.
        let full = [greeting(!TLS, "unix_socket"), switch("caching_sha2_password"), framed(4, &[1, 4])].concat();
        assert!(play(&mut session(&at(Reach::Network, Tls::Disable, "secret")), &full, &[]).0[0].contains("needs TLS"));
    }

    #[test]
    fn a_clear_password_under_unverified_tls_is_a_caution_and_none_over_a_socket() {
        let cautions = |tls| {
            let mut session = session(&at(Reach::Network, tls, "secret"));
            play(&mut session, &greeting(u32::MAX, "mysql_clear_password"), &[]);
            let mut out = Vec::new();
            session.secured(&mut out);
            assert!(out.ends_with(b"bob\0\x07secret\0d\0mysql_clear_password\0"), "{out:?}");
            play(&mut session, &framed(3, &[0, 0, 0, 2, 0, 0, 0]), &[]);
            session.about().cautions.join(" ")
        };
        assert!(cautions(Tls::Require).contains("not verified") && cautions(Tls::VerifyCa).is_empty());
        let mut local = session(&login(Tls::Disable, true));
        let stream = [greeting(!TLS, "mysql_clear_password"), framed(2, &[0, 0, 0, 2, 0, 0, 0])].concat();
        assert_eq!(play(&mut local, &stream, &[]).0, ["Ready"]);
        assert!(local.about().cautions.is_empty());
    }

    #[test]
    fn what_comes_before_tls_is_not_taken_for_what_comes_inside() {
        let injected = [greeting(u32::MAX, "caching_sha2_password"), switch("mysql_clear_password")].concat();
        let (events, _) = play(&mut session(&at(Reach::Network, Tls::Require, "secret")), &injected, &[]);
        assert!(events[0].contains("plain bytes before TLS"), "{events:?}");
    }

    #[test]
    fn a_login_without_an_end_is_ended() {
        let stream = [greeting(!TLS, "mysql_native_password"), switch("mysql_native_password").repeat(50)].concat();
        let (events, _) = play(&mut session(&login(Tls::Disable, false)), &stream, &[]);
        assert!(events[0].contains("without an end"), "{events:?}");
        let (events, _) = play(&mut session(&login(Tls::Disable, false)), b"\xff\xff\xff\0", &[]);
        assert!(events[0].contains("a packet of 16777215 bytes"), "{events:?}");
    }

    #[test]
    fn what_cannot_be_done_is_said() {
        let message = |login: &Arc<Login>, stream: &[u8]| play(&mut session(login), stream, &[]).0.join(" ");
        let greeted = greeting(!TLS, "mysql_native_password");
        assert!(message(&login(Tls::Require, false), &greeted).contains("offers no TLS"));
        let with = |plugin: &str| {
            let mut body = vec![0xfe];
            body.extend_from_slice(plugin.as_bytes());
            body.push(0);
            [greeted.clone(), framed(2, &body)].concat()
        };
        assert!(message(&login(Tls::Disable, false), &with("client_ed25519")).contains("`client_ed25519`"));
        assert!(message(&login(Tls::Disable, false), &with("mysql_clear_password")).contains("needs TLS"));
        let full = framed(0, b"\xff\x10\x04Too many connections");
        assert!(message(&login(Tls::Disable, false), &full).contains("Too many connections (HY000, error 1040)"));
        assert!(message(&login(Tls::Disable, false), &framed(0, b"\x09")).contains("version 9"));
    }
}
