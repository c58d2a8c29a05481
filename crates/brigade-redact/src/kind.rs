//! The kinds of secret.

use std::fmt;

/// Why a text looks like a secret.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum SecretKind {
    /// It starts with the prefix of an issuer's tokens.
    TokenPrefix {
        /// The issuer.
        issuer: &'static str,
    },
    /// A JSON web token.
    JsonWebToken,
    /// A private key in PEM.
    PrivateKey,
    /// A URL with a name and password.
    UrlCredentials,
    /// A bearer or basic authorization.
    Authorization,
    /// A value with a secret name in the same text: `password=…`.
    NamedValue,
}

/// Displays a few words that complete "this looks like …".
impl fmt::Display for SecretKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SecretKind::TokenPrefix { issuer } => write!(f, "a token of {issuer}"),
            SecretKind::JsonWebToken => f.write_str("a JSON web token"),
            SecretKind::PrivateKey => f.write_str("a private key"),
            SecretKind::UrlCredentials => f.write_str("a URL with a name and password"),
            SecretKind::Authorization => f.write_str("an authorization header"),
            SecretKind::NamedValue => f.write_str("a named secret"),
        }
    }
}
