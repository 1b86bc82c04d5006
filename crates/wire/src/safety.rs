//! Which answers to a server's request for a password may go out: a server may ask for any, and need not be the one that
//! was meant.
//!
//! No password and nothing from which one could be found leaves this machine without encryption. What may go where:
//!
//! | answer | TLS, Unix socket | loopback | network, not encrypted |
//! |---|---|---|---|
//! | the password itself | yes | no | no |
//! | MD5, MySQL's scrambles, the password under the server's RSA key | yes | yes | no |
//! | SCRAM | yes | yes | if the URL sets the encryption, with enough rounds |
//!
//! On loopback the password itself is refused because any user of the machine can listen at a port whose server is down.

use crate::{
    Dialect, WireError,
    login::{Login, Reach},
};

/// Rounds of hashing below which a SCRAM proof is guessed nearly as fast as a plain hash (RFC 7677, section 4).
pub(crate) const ENOUGH_ROUNDS: u32 = 4096;

/// How a server wants the password.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Method {
    /// As it is.
    Clear,
    /// PostgreSQL's MD5.
    Md5,
    /// A fast hash over a challenge of the server, as MySQL's plugins have it.
    Scramble,
    /// Encrypted with a key that the server sends: any server has one.
    Sealed,
    /// A proof after so many rounds of hashing.
    Scram(u32),
}

/// Whether an answer may go out; if so, what the user should know of it.
///
/// # Errors
/// Why it may not, and the way out.
pub(crate) fn permit(login: &Login, encrypted: bool, method: Method) -> Result<Option<String>, WireError> {
    let key = mode_key(login.dialect);
    let is_safe = encrypted || login.reach == Reach::Socket;
    let is_heard = !is_safe && login.reach == Reach::Network;
    let refused = |what: &str| {
        let way = format!("nothing of it was sent; `{key}=require` encrypts the connection");
        Err(WireError::Login(format!("the server asks for {what}: {way}")))
    };
    match method {
        Method::Clear if !is_safe => {
            refused("the password in clear text, which needs TLS or a Unix socket, as others could read it")
        }
        Method::Md5 | Method::Scramble if is_heard => {
            refused("a fast hash of the password, which needs TLS, as it would leave this machine unencrypted")
        }
        Method::Sealed if is_heard => {
            refused("the password under its own key, which needs TLS, as an interceptor could send another")
        }
        Method::Scram(rounds) if is_heard && (!login.agreed || rounds < ENOUGH_ROUNDS) => refused(
            "a proof of the password (SCRAM) over a connection that leaves this machine unencrypted, which the URL has to allow \
             (`sslmode=prefer` or `disable`) and which takes 4096 rounds or more",
        ),
        Method::Clear if encrypted && !login.tls.is_verified() => Ok(Some(format!(
            "the password went in clear text, under TLS, to a server whose certificate is not verified: `{key}=verify-full` \
             verifies it"
        ))),
        Method::Md5 => Ok(Some(
            "the server asks for an MD5 hash of the password, from which the password is soon guessed: give it a new one \
             under `password_encryption = 'scram-sha-256'`"
                .to_owned(),
        )),
        _ => Ok(None),
    }
}

/// Warning for the user about an established connection: it is unencrypted.
pub(crate) fn unencrypted(login: &Login, encrypted: bool) -> Option<String> {
    let was_wanted = login.agreed && login.tls == crate::login::Tls::Disable;
    (login.reach == Reach::Network && !encrypted && !was_wanted).then(|| {
        let key = mode_key(login.dialect);
        format!(
            "the connection leaves this machine unencrypted: `{key}=require` encrypts it, `{key}=disable` accepts it"
        )
    })
}

/// The URL parameter for encryption.
pub(crate) fn mode_key(dialect: Dialect) -> &'static str {
    match dialect {
        Dialect::Postgres => "sslmode",
        Dialect::Mysql => "ssl-mode",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::login::Tls;

    const ALL: [Method; 6] = [
        Method::Clear,
        Method::Md5,
        Method::Scramble,
        Method::Sealed,
        Method::Scram(ENOUGH_ROUNDS),
        Method::Scram(ENOUGH_ROUNDS - 1),
    ];

    #[test]
    fn each_answer_goes_only_where_it_is_safe() {
        for dialect in [Dialect::Postgres, Dialect::Mysql] {
            for agreed in [false, true] {
                let allowed = |reach, encrypted| {
                    let login = Login { reach, agreed, tls: Tls::Prefer, ..Login::new(dialect, "u") };
                    ALL.map(|method| permit(&login, encrypted, method).is_ok())
                };
                assert_eq!(allowed(Reach::Socket, false), [true; 6]);
                assert_eq!(allowed(Reach::Network, true), [true; 6]);
                assert_eq!(allowed(Reach::Loopback, false), [false, true, true, true, true, true]);
                assert_eq!(allowed(Reach::Network, false), [false, false, false, false, agreed, false]);
            }
        }
    }

    #[test]
    fn who_goes_unencrypted_off_the_machine_without_having_said_so_is_warned() {
        let of = |reach, tls, agreed| {
            unencrypted(&Login { reach, tls, agreed, ..Login::new(Dialect::Postgres, "u") }, false).is_some()
        };
        assert!(of(Reach::Network, Tls::Disable, false) && of(Reach::Network, Tls::Prefer, true));
        assert!(!of(Reach::Network, Tls::Disable, true) && !of(Reach::Loopback, Tls::Prefer, false));
    }
}
