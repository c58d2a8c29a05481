//! Speaks HTTP to other hosts: guarded connections, the bridge to remote MCP servers, and their OAuth logins.
//!
//! It owns:
//!
//! * which addresses a connection may use ([`addresses`], [`PinnedResolver`]), for pages and for servers;
//! * the [bridge](bridge::run): a process that passes the messages of its standard streams to a remote server, so that
//!   everything else treats the server like a local one, in the same sandbox;
//! * the OAuth protocol of MCP ([`oauth`]), and the [tokens](tokens::TokenStore) of this user.
//!
//! It does not know tools, policies, calls or sessions.
//!
//! ```
//! use brigade_remote::Environment;
//!
//! let environment = Environment { origins: vec!["https://mcp.example.com".to_owned()], ..Environment::default() };
//! let text = environment.to_text();
//! assert_eq!(Environment::parse(&text), Some(environment));
//! ```

#![forbid(unsafe_code)]
#![warn(missing_docs)]

pub mod bridge;
mod environment;
mod error;
mod events;
mod guard;
mod http;
pub mod oauth;
pub mod tokens;

pub use environment::{Environment, VARIABLE};
pub use error::{ERROR_MEMBER, LOGIN_REQUIRED, RemoteError};
pub use guard::{AddressProblem, PinnedResolver, addresses, configuration};
pub use http::Client;
