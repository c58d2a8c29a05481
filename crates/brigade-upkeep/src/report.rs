//! The reports of this crate: one type per JSON document.

mod parity;
mod projections;
mod setup;
mod state;
mod upstreams;
mod work;

pub use parity::*;
pub use projections::*;
pub use setup::*;
pub use state::*;
pub use upstreams::*;
pub use work::*;
