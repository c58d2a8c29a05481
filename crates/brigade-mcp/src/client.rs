//! One session with a server, from its start to its end.

mod conversation;
mod lines;
mod link;
mod message;
mod pipes;
mod session;

pub use session::{call_tool, list_tools};
