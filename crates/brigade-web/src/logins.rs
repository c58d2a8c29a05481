//! Sessions of browsers, and how slowly wrong tokens are answered.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use brigade::core::Fingerprint;
use brigade::profile::Token;

/// How long a session lasts.
pub(crate) const SESSION_LIFETIME: Duration = Duration::from_secs(12 * 3600);

/// The maximum number of sessions. The oldest ends when there are more.
const MAX_SESSIONS: usize = 64;

/// The wait after the first wrong token. Each further one doubles it.
const FIRST_WAIT: Duration = Duration::from_millis(250);

/// The longest wait after a wrong token.
const MAX_WAIT: Duration = Duration::from_secs(30);

/// The open sessions.
#[derive(Default)]
pub(crate) struct Sessions {
    open: Mutex<HashMap<Fingerprint, Session>>,
    wrong: Mutex<u32>,
}

/// The session of a browser.
#[derive(Clone)]
pub(crate) struct Session {
    /// The text that each change repeats in a header.
    pub(crate) csrf: String,
    pub(crate) until: Instant,
}

impl Sessions {
    fn open(&self) -> MutexGuard<'_, HashMap<Fingerprint, Session>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Begins a session with two secrets: that of the cookie, and that of the header.
    pub(crate) fn begin(&self, cookie: &Token, csrf: &Token, now: Instant) {
        *self.wrong.lock().unwrap_or_else(PoisonError::into_inner) = 0;
        let mut open = self.open();
        open.retain(|_, session| now < session.until);
        if MAX_SESSIONS <= open.len()
            && let Some(oldest) = open.iter().min_by_key(|(_, session)| session.until).map(|(key, _)| *key)
        {
            open.remove(&oldest);
        }
        let session = Session { csrf: csrf.expose().to_owned(), until: now + SESSION_LIFETIME };
        open.insert(cookie.sha256(), session);
    }

    /// Returns the session of a cookie.
    pub(crate) fn find(&self, cookie: &str, now: Instant) -> Option<Session> {
        let found = self.open().get(&Fingerprint::of_bytes(cookie.as_bytes())).cloned();
        found.filter(|session| now < session.until)
    }

    /// Counts a wrong token, and returns how long its answer waits.
    pub(crate) fn count_wrong(&self) -> Duration {
        let mut wrong = self.wrong.lock().unwrap_or_else(PoisonError::into_inner);
        let wait = FIRST_WAIT.saturating_mul(1 << (*wrong).min(16));
        *wrong += 1;
        wait.min(MAX_WAIT)
    }
}

impl Session {
    /// Returns whether a header repeats the secret of the session.
    pub(crate) fn has_csrf(&self, header: &str) -> bool {
        // Hashes take the same time to compare, whatever was sent.
        Fingerprint::of_bytes(self.csrf.as_bytes()) == Fingerprint::of_bytes(header.as_bytes())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn token(byte: u8) -> Token {
        Token::of_random([byte; 32])
    }

    #[test]
    fn a_session_ends_after_twelve_hours() {
        let (sessions, now) = (Sessions::default(), Instant::now());
        sessions.begin(&token(1), &token(2), now);
        let found = |cookie: &Token, at: Instant| sessions.find(cookie.expose(), at).is_some();
        assert!(found(&token(1), now) && !found(&token(2), now));
        let end = now + Duration::from_secs(12 * 3600);
        assert!(found(&token(1), end - Duration::from_secs(1)) && !found(&token(1), end));
    }

    #[test]
    fn the_oldest_session_ends_when_there_are_too_many() {
        let (sessions, now) = (Sessions::default(), Instant::now());
        for byte in 0..=64 {
            sessions.begin(&token(byte), &token(255), now + Duration::from_secs(u64::from(byte)));
        }
        let now = now + Duration::from_secs(65);
        assert!(
            sessions.find(token(0).expose(), now).is_none()
                && sessions.find(token(1).expose(), now).is_some()
        );
    }

    #[test]
    fn each_wrong_token_is_answered_more_slowly() {
        let sessions = Sessions::default();
        let waits: Vec<u128> = (0..9).map(|_| sessions.count_wrong().as_millis()).collect();
        assert_eq!(waits, [250, 500, 1_000, 2_000, 4_000, 8_000, 16_000, 30_000, 30_000]);
        sessions.begin(&token(1), &token(2), Instant::now());
        assert_eq!(sessions.count_wrong().as_millis(), 250);
    }
}
