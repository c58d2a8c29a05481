//! One session with a server: started, spoken to in the protocol, and ended.

mod conversation;
mod lines;
mod link;
mod message;
mod pipes;
mod session;

pub use session::{call_tool, list_tools};
