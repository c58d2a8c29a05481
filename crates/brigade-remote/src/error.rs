//! Why a remote server could not be reached, or a login failed.

use thiserror::Error;

/// The member of `data` by which the bridge marks its errors.
pub const ERROR_MEMBER: &str = "brigade";

/// The value of that member if a person must log in.
pub const LOGIN_REQUIRED: &str = "login_required";

/// The value of that member for other errors of the connection.
const CONNECTION: &str = "connection";

/// Why a remote server could not be reached, or a login failed. The messages have no secrets.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum RemoteError {
    /// The URL is not one that can be used.
    #[error("{0}")]
    Url(String),
    /// The server needs a login, which is missing or was revoked.
    #[error("the server needs a login")]
    LoginRequired,
    /// The server refuses the configured header.
    #[error(
        "the server answers 401 to the configured `{0}` header; check the value that its label is bound to"
    )]
    HeaderRefused(String),
    /// A label of a header has no value.
    #[error("a label of the header `{0}` has no value")]
    NoValue(String),
    /// A redirect leads to an origin that the policy does not name.
    #[error("the server redirects to {0}, which is not in remote of [mcp] of the policy")]
    Redirect(String),
    /// There were too many redirects.
    #[error("the server redirects too often")]
    Redirects,
    /// The host has no address.
    #[error("the host {0} has no address")]
    NoHost(String),
    /// The host has an address of this machine or of a private network.
    #[error(
        "the host {0} has an address of this machine or of a private network; a server there is named by its address in remote of [mcp] of the policy"
    )]
    Private(String),
    /// The connection failed.
    #[error("no connection to {origin}: {why}")]
    Unreachable {
        /// The origin.
        origin: String,
        /// The reason.
        why: String,
    },
    /// The server did not answer in time.
    #[error("{0} did not answer in time")]
    TimedOut(String),
    /// The server answered with an error.
    #[error("{origin} answers with status {status}")]
    Status {
        /// The origin.
        origin: String,
        /// The status.
        status: u16,
    },
    /// An answer is too long.
    #[error("an answer of {0} is longer than is read")]
    TooLong(String),
    /// An answer is not of the protocol.
    #[error("{origin} does not speak MCP at this URL: {why}")]
    NotMcp {
        /// The origin.
        origin: String,
        /// The reason.
        why: String,
    },
    /// The stream ended before the answer.
    #[error("{0} ended its answer before it was complete")]
    Ended(String),
    /// The metadata of a login are invalid.
    #[error("the login cannot be made: {0}")]
    Login(String),
    /// The tokens of this user cannot be read or written.
    #[error("the tokens cannot be stored: {0}")]
    Store(String),
}

impl RemoteError {
    /// Returns the word of this kind in errors of the bridge.
    pub fn word(&self) -> &'static str {
        match self {
            RemoteError::LoginRequired => LOGIN_REQUIRED,
            _ => CONNECTION,
        }
    }
}
