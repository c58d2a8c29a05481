//! Agent programs, where they keep MCP servers, and edits of one entry in place.
//!
//! Owns the table of [programs](Program) and of [clients](Client): files per platform, format, container and spelling;
//! reading the servers of such a file; the [edits](put) that add, change or remove the entry `brigade` and keep every
//! other byte. Knows no disk, no tools and no calls.
//!
//! ```
//! use brigade_discovery::{Connection, Traces, client, put, take};
//!
//! let cursor = client("cursor").expect("it is in the table");
//! let file = b"{\n  // mine\n  \"mcpServers\": {}\n}\n";
//! let connection = Connection::stdio("brigade", "local", "/work");
//! let entry = cursor.entry(&connection).expect("every client starts programs");
//! let put = put(cursor, Some(file), &entry, None)?;
//! assert!(put.text.contains("\"brigade\": {\n      \"command\": \"brigade\","));
//! assert!(put.text.starts_with("{\n  // mine\n"));
//!
//! let taken = take(cursor, put.text.as_bytes(), &put.traces, None)?.expect("the entry is there");
//! assert_eq!(taken.text.as_deref(), Some("{\n  // mine\n  \"mcpServers\": {}\n}\n"));
//! # Ok::<(), brigade_discovery::Refused>(())
//! ```

#![forbid(unsafe_code)]
#![warn(missing_docs)]

mod client;
mod connected;
mod edit;
mod entry;
mod json;
mod program;
mod servers;
mod toml;

pub use client::{Client, Files, Format, Grade, Platform, Scope, Transport, client, clients};
pub use connected::{Connected, ConnectedEntry, NotRead};
pub use edit::{At, Put, Refused, Taken, Traces, put, take};
pub use entry::{Connection, Entry, NAME, TOKEN_VARIABLE, holds, token_variable};
pub use program::{Program, program, programs};
pub use servers::{Server, servers};
pub use toml::{json_of, to_toml};
