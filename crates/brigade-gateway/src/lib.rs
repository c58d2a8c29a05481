//! The MCP server in front of a workspace's tools.
//!
//! A call through the gateway takes the same steps as every call: plan, policy, approval, verification, sandbox,
//! receipt. The gateway owns connections, the identity of callers, listings, results, and waiting for a person. It
//! makes no decisions about rights: `brigade-access` and `brigade-policy` make them.
//!
//! The connection alone decides the identity of a caller, never the data that a client sends. Over standard input and
//! output and on a Unix socket, the agent is set when the server starts. Over HTTP, the bearer token names the agent.
//!
//! ```no_run
//! use brigade::{CancelToken, Workspace};
//! use brigade_gateway::{Serve, Transport, serve};
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let wanted = Serve::new(Transport::Stdio);
//! serve(&Workspace::here()?, wanted, CancelToken::new()?, &mut |_| {}, &|_| {})?;
//! # Ok(())
//! # }
//! ```
//!
//! Without the feature `serve` the crate is empty.

#![cfg(feature = "serve")]
#![forbid(unsafe_code)]
#![warn(missing_docs)]

mod answer;
mod blocking;
mod call;
mod call_ender;
mod call_slots;
mod call_state;
mod confirm;
mod control;
mod event;
mod file_watch;
mod gateway;
mod http;
mod http_accepts;
mod http_batch;
mod http_sessions;
mod listing;
mod message;
mod message_budget;
mod message_id;
mod numbers;
mod offers;
mod open_set;
mod read_request;
mod results;
mod serve;
mod session;
mod sessions;
mod stdio;
mod stdio_batch;
mod tasks;
mod upstream;
mod view;
mod workspace_offers;

pub use brigade::profile::{Listing, NameStyle};
pub use brigade::report::ServeReport;
pub use event::ServeEvent;
pub use serve::{Serve, Transport, serve};
pub use tasks::connect;
