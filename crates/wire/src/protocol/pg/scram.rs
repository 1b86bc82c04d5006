//! SCRAM-SHA-256 (RFC 5802, RFC 7677), bound to the TLS connection or not, as PostgreSQL's servers ask for it, and MD5.

use base64::{Engine as _, engine::general_purpose::STANDARD as BASE64};
use hmac::{Hmac, Mac};
use md5::{Digest, Md5};
use sha2::Sha256;

use crate::login::{Login, Salted};

/// More rounds than this, 244 times the server's default, would only keep the client busy: nothing ends them once they began.
const MAX_ROUNDS: u32 = 1_000_000;

/// Channel binding of an exchange.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Bound {
    /// To this hash of the server's certificate.
    To(Vec<u8>),
    /// It would be, and the server did not offer it.
    IfOffered,
    /// It is not.
    Never,
}

/// The content of a server's first message.
#[derive(Debug)]
pub struct Challenge {
    nonce: String,
    salt: Vec<u8>,
    /// How often the password is hashed.
    pub rounds: u32,
}

/// One exchange, from the client's side.
#[derive(Debug)]
pub struct Scram {
    nonce: String,
    bound: Bound,
    is_verified: bool,
    /// The signature with which the server proves that it knows the password; after the client's proof.
    expected: Option<[u8; 32]>,
}

impl Scram {
    /// An exchange with a nonce that must never repeat.
    pub fn new(random: [u8; 18], bound: Bound) -> Scram {
        Scram { nonce: BASE64.encode(random), bound, is_verified: false, expected: None }
    }

    /// The first message. The server knows the user from the startup message, so the name is empty.
    pub fn first(&self) -> String {
        format!("{}{}", self.header(), self.bare())
    }

    /// The channel binding flag.
    fn header(&self) -> &'static str {
        match self.bound {
            Bound::To(_) => "p=tls-server-end-point,,",
            Bound::IfOffered => "y,,",
            Bound::Never => "n,,",
        }
    }

    /// Returns true if it is bound to the connection.
    pub fn is_bound(&self) -> bool {
        matches!(self.bound, Bound::To(_))
    }

    /// Returns true if the client's proof was sent.
    pub fn has_proven(&self) -> bool {
        self.expected.is_some()
    }

    /// Returns true if the server proved that it knows the password.
    pub fn is_verified(&self) -> bool {
        self.is_verified
    }

    fn bare(&self) -> String {
        format!("n=,r={}", self.nonce)
    }

    /// Reads the server's first message.
    ///
    /// # Errors
    /// The fault of the message.
    pub fn challenge(&self, server: &[u8]) -> Result<Challenge, String> {
        let server = std::str::from_utf8(server).map_err(|_| broken())?;
        let field = |key: &str| server.split(',').find_map(|part| part.strip_prefix(key)).ok_or_else(broken);
        let nonce = field("r=")?;
        if !nonce.starts_with(&self.nonce) || nonce.len() == self.nonce.len() {
            return Err("the server's challenge (SCRAM) is not an answer to ours".to_owned());
        }
        let salt = BASE64.decode(field("s=")?).map_err(|_| broken())?;
        let rounds = field("i=")?.parse().ok().filter(|n| (1..=MAX_ROUNDS).contains(n)).ok_or_else(broken)?;
        Ok(Challenge { nonce: nonce.to_owned(), salt, rounds })
    }

    /// The proof that answers the server's first message.
    ///
    /// # Errors
    /// As [`Scram::challenge`].
    pub fn proof(&mut self, server: &[u8], login: &Login) -> Result<String, String> {
        let Challenge { nonce, salt, rounds } = self.challenge(server)?;
        let server = std::str::from_utf8(server).map_err(|_| broken())?;
        let salted = salted(login, salt, rounds);
        let client_key = hmac(&salted, b"Client Key");
        let stored_key: [u8; 32] = Sha256::digest(client_key).into();
        let mut binding = self.header().as_bytes().to_vec();
        if let Bound::To(end_point) = &self.bound {
            binding.extend_from_slice(end_point);
        }
        let unproven = format!("c={},r={nonce}", BASE64.encode(binding));
        let signed = format!("{},{server},{unproven}", self.bare());
        let signature = hmac(&stored_key, signed.as_bytes());
        let mut proof = client_key;
        proof.iter_mut().zip(signature).for_each(|(a, b)| *a ^= b);
        self.expected = Some(hmac(&hmac(&salted, b"Server Key"), signed.as_bytes()));
        Ok(format!("{unproven},p={}", BASE64.encode(proof)))
    }

    /// Checks the server's last message.
    ///
    /// # Errors
    /// A text that the server did not prove that it knows the password.
    pub fn verify(&mut self, server: &[u8]) -> Result<(), String> {
        let signature = server.strip_prefix(b"v=").and_then(|text| BASE64.decode(text).ok());
        match (signature, self.expected) {
            (Some(signature), Some(expected)) if signature == expected => {
                self.is_verified = true;
                Ok(())
            }
            _ => Err("the server failed to prove that it knows the password; it may be an impostor".to_owned()),
        }
    }
}

fn broken() -> String {
    "the server's challenge (SCRAM) is malformed".to_owned()
}

/// The salted password, from the login when it was salted so before.
fn salted(login: &Login, salt: Vec<u8>, rounds: u32) -> [u8; 32] {
    let mut held = login.salted.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    match &*held {
        Some(known) if known.salt == salt && known.rounds == rounds => known.key,
        _ => {
            let password = login.password.as_ref().map_or("", |p| p.reveal());
            // A password that cannot be prepared is used as it is, as the server does.
            let prepared = stringprep::saslprep(password).unwrap_or(password.into());
            let key = pbkdf2(prepared.as_bytes(), &salt, rounds);
            *held = Some(Salted { salt, rounds, key });
            key
        }
    }
}

/// PBKDF2 with HMAC-SHA-256 and one block of output (RFC 8018), which is SCRAM's `Hi`.
fn pbkdf2(password: &[u8], salt: &[u8], rounds: u32) -> [u8; 32] {
    let mut last = hmac(password, &[salt, &[0, 0, 0, 1]].concat());
    let mut sum = last;
    for _ in 1..rounds {
        last = hmac(password, &last);
        sum.iter_mut().zip(last).for_each(|(a, b)| *a ^= b);
    }
    sum
}

fn hmac(key: &[u8], message: &[u8]) -> [u8; 32] {
    // A key of any length is one for HMAC.
    let Ok(mut mac) = Hmac::<Sha256>::new_from_slice(key) else { return [0; 32] };
    mac.update(message);
    mac.finalize().into_bytes().into()
}

/// Response to an MD5 request: `md5` and the hash of the salted hash of password and user.
pub fn md5(login: &Login, salt: [u8; 4]) -> String {
    let hex = |bytes: &[u8]| bytes.iter().map(|b| format!("{b:02x}")).collect::<String>();
    let password = login.password.as_ref().map_or("", |p| p.reveal());
    let inner = hex(&Md5::digest([password.as_bytes(), login.user.as_bytes()].concat()));
    format!("md5{}", hex(&Md5::digest([inner.as_bytes(), &salt].concat())))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Dialect, login::Password};

    fn login(user: &str, password: &str) -> Login {
        Login { password: Some(Password::new(password)), ..Login::new(Dialect::Postgres, user) }
    }

    fn exchange(bound: Bound) -> Scram {
        Scram { nonce: "rOprNGfwEbeRWgbNEkqO".to_owned(), ..Scram::new([0; 18], bound) }
    }

    #[test]
    fn a_bound_exchange_signs_the_hash_of_the_certificate() {
        let challenge = b"r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096";
        let login = login("user", "pencil");
        let of = |bound| {
            let mut scram = exchange(bound);
            (scram.first(), scram.proof(challenge, &login).unwrap())
        };
        let (first, plus) = of(Bound::To(vec![7; 32]));
        assert_eq!(first, "p=tls-server-end-point,,n=,r=rOprNGfwEbeRWgbNEkqO");
        let header = BASE64.encode([&b"p=tls-server-end-point,,"[..], &[7; 32]].concat());
        assert!(plus.starts_with(&format!("c={header},r=")), "{plus}");
        let (first, hidden) = of(Bound::IfOffered);
        assert!(first.starts_with("y,,n=") && hidden.starts_with("c=eSws,r="), "{first} {hidden}");
        // Another certificate, and none, give other proofs.
        let proofs = [plus, hidden, of(Bound::To(vec![8; 32])).1, of(Bound::Never).1]
            .map(|message| message.rsplit(",p=").next().unwrap().to_owned());
        assert!((0..4).all(|a| (0..a).all(|b| proofs[a] != proofs[b])), "{proofs:?}");
    }

    #[test]
    fn the_exchange_of_the_standard_comes_out() {
        // RFC 7677, section 3, with the empty name that PostgreSQL wants: the signatures are computed over it, by
        // Python's hashlib and hmac.
        let mut scram = exchange(Bound::Never);
        let challenge = b"r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096";
        assert_eq!(scram.first(), "n,,n=,r=rOprNGfwEbeRWgbNEkqO");
        let login = login("user", "pencil");
        let proof = scram.proof(challenge, &login).unwrap();
        assert_eq!(
            proof,
            "c=biws,r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,p=qvT2SWdEH5Q06albL+hjSYuUhCG7VndFyzIb7CK4n9k="
        );
        assert_eq!(BASE64.encode(scram.expected.unwrap()), "3HO6Qt1M4MKJrmlKaoOqLAI0/0TV0HZe7J9H3MBtSOg=");
        scram.verify(b"v=3HO6Qt1M4MKJrmlKaoOqLAI0/0TV0HZe7J9H3MBtSOg=").unwrap();
        assert!(scram.verify(b"v=AAAA").is_err() && scram.verify(b"e=other-error").is_err());
        // The second time the salted password is at hand, and gives the same.
        assert!(login.salted.lock().unwrap().is_some());
        assert_eq!(scram.proof(challenge, &login).unwrap(), proof);
    }

    #[test]
    fn a_challenge_that_is_no_answer_to_ours_is_refused() {
        let mut scram = Scram::new([7; 18], Bound::Never);
        let login = login("user", "pencil");
        for challenge in ["r=other,s=AAAA,i=1", "s=AAAA,i=1", "", "r=,s=,i=0"] {
            assert!(scram.proof(challenge.as_bytes(), &login).is_err(), "{challenge}");
        }
        let nonce = scram.nonce.clone();
        assert!(scram.proof(format!("r={nonce}x,s=AAAA,i=0").as_bytes(), &login).is_err());
        assert!(scram.proof(format!("r={nonce}x,s=AAAA,i=99999999999").as_bytes(), &login).is_err());
    }

    #[test]
    fn md5_is_what_the_server_computes() {
        // printf 'md5%s' "$(printf '%s\1\2\3\4' "$(printf secretbob | md5sum | cut -c1-32)" | md5sum | cut -c1-32)"
        assert_eq!(md5(&login("bob", "secret"), [1, 2, 3, 4]), "md5f21dfe33ff3a9e03dbc3e008251fe5cc");
    }
}
