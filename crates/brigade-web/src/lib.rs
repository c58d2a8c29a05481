//! A page in the browser to review the calls of a workspace, and to look at what ran.
//!
//! Owns the listener of the page, its logins and sessions, the checks of each request, the API, its events, and the
//! files of the page. A decision takes the same operations as those of the command line. The crate does not know
//! arguments, agents or MCP, and writes no files.
//!
//! ```no_run
//! use std::sync::Arc;
//!
//! use brigade::{CancelToken, Workspace};
//! use brigade_web::{Reviews, WebOptions, WebServer};
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let address = "127.0.0.1:7717".parse()?;
//! let options = WebOptions { address, public_origin: None, reviews: Reviews::Allowed };
//! let server = WebServer::bind(Workspace::here()?, options, Arc::new(|error| error.to_string()))?;
//! println!("{}", server.served().link());
//! server.run(CancelToken::new()?)?;
//! # Ok(())
//! # }
//! ```

#![forbid(unsafe_code)]
#![warn(missing_docs)]

mod address;
mod answer;
mod api;
mod assets;
mod changes;
mod events;
mod guard;
mod heads;
mod logins;
mod page;
mod page_hosts;
mod server;

pub use address::{PublicOrigin, check_address};
pub use page::{DescribeError, Reviews};
pub use server::{WebOptions, WebServer};
