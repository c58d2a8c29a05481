//! The reports of this crate: one type per JSON document.

mod discovery;
mod register;

pub use discovery::*;
pub use register::*;
