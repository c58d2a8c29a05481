//! The MCP server in front of a workspace's tools.
//!
//! A call through the gateway goes the way of every call: plan, policy, approval, verification, sandbox, receipt. The
//! gateway owns what is between a client and that way: connections, who speaks, what is listed, results, and waiting
//! for a person. Decisions about rights are those of `brigade-profile` and `brigade-policy`; it makes none of its own.
//!
//! Identity follows from the connection and from nothing that a client says: over standard input and output and on a
//! Unix socket the agent is given when the server starts, over HTTP the bearer token names it.
#![cfg_attr(feature = "serve", doc = "")]
#![cfg_attr(feature = "serve", doc = "```no_run")]
#![cfg_attr(feature = "serve", doc = "use brigade::{CancelToken, Workspace};")]
#![cfg_attr(feature = "serve", doc = "use brigade_gateway::{Serve, Transport, serve};")]
#![cfg_attr(feature = "serve", doc = "# fn main() -> Result<(), Box<dyn std::error::Error>> {")]
#![cfg_attr(feature = "serve", doc = "let wanted = Serve::new(Transport::Stdio);")]
#![cfg_attr(
    feature = "serve",
    doc = "serve(&Workspace::here()?, wanted, CancelToken::new()?, &mut |_| {}, &|_| {})?;"
)]
#![cfg_attr(feature = "serve", doc = "# Ok(())")]
#![cfg_attr(feature = "serve", doc = "# }")]
#![cfg_attr(feature = "serve", doc = "```")]
#![forbid(unsafe_code)]
#![warn(missing_docs)]

#[cfg(feature = "serve")]
mod answer;
#[cfg(feature = "serve")]
mod call;
#[cfg(feature = "serve")]
mod confirm;
#[cfg(feature = "serve")]
mod control;
#[cfg(feature = "serve")]
mod gateway;
#[cfg(feature = "serve")]
mod http;
#[cfg(feature = "serve")]
mod listing;
#[cfg(feature = "serve")]
mod message;
#[cfg(feature = "serve")]
mod own;
#[cfg(feature = "serve")]
mod serve;
#[cfg(feature = "serve")]
mod session;
#[cfg(feature = "serve")]
mod stdio;
#[cfg(feature = "serve")]
mod turns;
#[cfg(feature = "serve")]
mod view;
#[cfg(feature = "serve")]
mod watch;

#[cfg(feature = "serve")]
pub use brigade::profile::{Listing, NameStyle};
#[cfg(feature = "serve")]
pub use serve::{Listening, Serve, Transport, serve};
