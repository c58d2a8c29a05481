//! The credentials of a connection: configured headers, or the tokens of a login.

use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::error::RemoteError;
use crate::http::Client;
use crate::oauth::refresh;
use crate::tokens::{TokenStore, Tokens};

/// How long before its end a token is refreshed, in seconds.
const EARLY_SECONDS: i64 = 60;

/// The credentials of a connection.
pub(crate) struct Access {
    url: String,
    headers: Vec<(String, String)>,
    /// Where tokens are stored. Unused with a configured header for credentials.
    store: Option<TokenStore>,
    tokens: Mutex<Option<Tokens>>,
}

impl Access {
    pub(crate) fn new(url: String, headers: Vec<(String, String)>, store: Option<TokenStore>) -> Access {
        let store = store.filter(|_| credential_of(&headers).is_none());
        Access { url, headers, store, tokens: Mutex::default() }
    }

    fn known(&self) -> MutexGuard<'_, Option<Tokens>> {
        self.tokens.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the headers of a request. Refreshes a token that is about to expire.
    pub(crate) fn headers(&self, client: &Client, now: i64) -> Result<Vec<(String, String)>, RemoteError> {
        let mut headers = self.headers.clone();
        if let Some(store) = &self.store {
            let mut known = self.known();
            if known.is_none() {
                *known = store.read(&self.url)?;
            }
            if known.as_ref().is_some_and(|tokens| {
                tokens.refresh_token.is_some() && tokens.expires_within(EARLY_SECONDS, now)
            }) {
                self.renew(store, &mut known, client, now)?;
            }
            headers.extend(known.as_ref().map(|tokens| authorization(&tokens.access_token)));
        }
        Ok(headers)
    }

    /// Looks for another token after the server refused one.
    ///
    /// # Errors
    /// Fails without one, and says what the person has to do.
    pub(crate) fn replace(
        &self,
        refused: &[(String, String)],
        client: &Client,
        now: i64,
    ) -> Result<(), RemoteError> {
        if let Some(name) = credential_of(&self.headers) {
            return Err(RemoteError::HeaderRefused(name.to_owned()));
        }
        let Some(store) = &self.store else { return Err(RemoteError::LoginRequired) };
        let mut known = self.known();
        let is_refused = |tokens: &Tokens| refused.contains(&authorization(&tokens.access_token));
        // Another request may have replaced it meanwhile.
        if known.as_ref().is_some_and(|tokens| !is_refused(tokens)) {
            return Ok(());
        }
        self.renew(store, &mut known, client, now)
    }

    /// Takes the tokens that another process stored meanwhile, or refreshes them.
    fn renew(
        &self,
        store: &TokenStore,
        known: &mut Option<Tokens>,
        client: &Client,
        now: i64,
    ) -> Result<(), RemoteError> {
        let _lock = store.lock()?;
        let stored = store.read(&self.url)?;
        let before = known.as_ref().map(|tokens| &tokens.access_token);
        if let Some(stored) = &stored
            && before != Some(&stored.access_token)
            && !stored.expires_within(0, now)
        {
            *known = Some(stored.clone());
            return Ok(());
        }
        let Some(stored) = stored else { return Err(RemoteError::LoginRequired) };
        let renewed = refresh(client, &stored, now)?;
        store.write(&renewed)?;
        *known = Some(renewed);
        Ok(())
    }
}

/// Returns the name of a configured header for credentials.
fn credential_of(headers: &[(String, String)]) -> Option<&str> {
    let name = headers.iter().map(|(name, _)| name.as_str());
    name.into_iter().find(|name| name.eq_ignore_ascii_case("authorization"))
}

fn authorization(token: &str) -> (String, String) {
    ("Authorization".to_owned(), format!("Bearer {token}"))
}
