//! Sessions with servers: one from its start to its end for one call, and kept ones for many.

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
