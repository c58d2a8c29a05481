//! The reports of this crate: one type per JSON document.

mod catalog;
mod checking;
mod discovery;
mod finding;
mod install;
mod packs;
mod register;

pub use catalog::*;
pub use checking::*;
pub use discovery::*;
pub use finding::*;
pub use install::*;
pub use packs::*;
pub use register::*;
