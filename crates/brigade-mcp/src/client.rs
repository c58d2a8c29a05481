//! Sessions with servers: a server for a single call, or a kept server for many.

mod conversation;
mod flight;
mod kept;
mod lines;
mod link;
mod lists;
mod message;
mod pipes;
mod reads;
mod server;
mod session;
mod uses;

pub use reads::LiveOffers;
pub use server::{Server, ServerHold};
pub use session::{call_tool, list_tools};
