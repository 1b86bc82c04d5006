//! Login sessions, and rate limits of failed logins.

use std::{
    collections::BTreeMap,
    net::IpAddr,
    time::{Duration, Instant},
};

use crate::connections::Household;

/// A session that is not used for so long ends.
const IDLE: Duration = Duration::from_secs(12 * 3600);
/// A session ends after this, however much it is used.
pub(crate) const LONGEST: Duration = Duration::from_secs(7 * 24 * 3600);
/// Sessions at the same time; the one that was not used for longest makes room.
const MOST: usize = 1000;
/// Wrong tokens from one address within [`WINDOW`]; further ones are not looked at.
const WRONG: u32 = 5;
/// Wrong tokens from all addresses within [`WINDOW`].
const WRONG_OF_ALL: u32 = 1000;
/// The time in which wrong tokens are counted.
const WINDOW: Duration = Duration::from_secs(60);

/// A word that cannot be guessed: 256 random bits in hexadecimal.
pub(crate) fn random_word() -> String {
    let mut random = [0u8; 32];
    if getrandom::fill(&mut random).is_err() {
        // The kernel always has random numbers on what Fenxi runs on; without them no one gets in.
        return String::new();
    }
    blake3::Hash::from_bytes(random).to_hex().to_string()
}

/// Sessions by the hash of their secret: who reads this memory cannot take one over.
#[derive(Default)]
pub(crate) struct Sessions(BTreeMap<[u8; 32], Session>);

struct Session {
    /// Hash of the token that it was begun with.
    token: [u8; 32],
    begun: Instant,
    used: Instant,
}

impl Sessions {
    /// Begins a session with a token of this hash; gives its secret, None when there are no random numbers.
    pub(crate) fn begin(&mut self, token: [u8; 32], now: Instant) -> Option<String> {
        let secret = random_word();
        if secret.is_empty() {
            return None;
        }
        self.0.retain(|_, session| session.lasts(now));
        if self.0.len() >= MOST {
            let oldest = self.0.iter().min_by_key(|(_, s)| s.used).map(|(key, _)| *key);
            oldest.map(|key| self.0.remove(&key));
        }
        self.0.insert(key(&secret), Session { token, begun: now, used: now });
        Some(secret)
    }

    /// The hash of the token with which the session of this secret was begun.
    pub(crate) fn token(&mut self, secret: &str, now: Instant) -> Option<[u8; 32]> {
        let key = key(secret);
        let session = self.0.get_mut(&key)?;
        if !session.lasts(now) {
            self.0.remove(&key);
            return None;
        }
        session.used = now;
        Some(session.token)
    }

    /// Ends a session.
    pub(crate) fn end(&mut self, secret: &str) {
        self.0.remove(&key(secret));
    }
}

impl Session {
    fn lasts(&self, now: Instant) -> bool {
        now.duration_since(self.used) < IDLE && now.duration_since(self.begun) < LONGEST
    }
}

fn key(secret: &str) -> [u8; 32] {
    *blake3::hash(secret.as_bytes()).as_bytes()
}

/// Wrong tokens, counted by where they came from.
#[derive(Default)]
pub(crate) struct Attempts {
    since: Option<Instant>,
    all: u32,
    by: BTreeMap<Household, u32>,
}

impl Attempts {
    /// Whether a token from `address` may be looked at.
    pub(crate) fn may(&mut self, address: IpAddr, now: Instant) -> bool {
        if self.since.is_none_or(|since| now.duration_since(since) >= WINDOW) {
            *self = Attempts { since: Some(now), ..Attempts::default() };
        }
        self.all < WRONG_OF_ALL && self.by.get(&Household::of(address)).is_none_or(|n| *n < WRONG)
    }

    /// Counts a wrong one.
    pub(crate) fn wrong(&mut self, address: IpAddr) {
        self.all += 1;
        *self.by.entry(Household::of(address)).or_default() += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ANN: [u8; 32] = [7; 32];

    #[test]
    fn sessions_end_when_they_are_idle_or_old_or_ended() {
        let mut sessions = Sessions::default();
        let begin = Instant::now();
        let secret = sessions.begin(ANN, begin).unwrap();
        let mut now = begin;
        while now < begin + LONGEST - IDLE {
            now += IDLE / 2;
            assert_eq!(sessions.token(&secret, now), Some(ANN));
        }
        assert_eq!(sessions.token(&secret, begin + LONGEST), None);
        let secret = sessions.begin(ANN, begin).unwrap();
        assert_eq!(sessions.token(&secret, begin + IDLE), None);
        let secret = sessions.begin(ANN, begin).unwrap();
        sessions.end(&secret);
        assert_eq!(sessions.token(&secret, begin), None);
        assert_eq!(sessions.token("", begin), None);
    }

    #[test]
    fn wrong_tokens_are_counted_by_address_for_a_minute() {
        let (mut attempts, now) = (Attempts::default(), Instant::now());
        let (here, there): (IpAddr, IpAddr) = ([10, 0, 0, 1].into(), [10, 0, 0, 2].into());
        for _ in 0..WRONG {
            assert!(attempts.may(here, now));
            attempts.wrong(here);
        }
        assert!(!attempts.may(here, now) && attempts.may(there, now));
        // Who has one address of a network of IPv6 has all of them.
        for last in 0..WRONG as u16 {
            attempts.wrong([0x2001, 0xdb8, 0, 1, 0, 0, 0, last].into());
        }
        assert!(!attempts.may([0x2001, 0xdb8, 0, 1, 1, 1, 1, 1].into(), now));
        assert!(attempts.may([0x2001, 0xdb8, 0, 2, 0, 0, 0, 1].into(), now));
        assert!(attempts.may(here, now + WINDOW));
    }
}
