//! The meaning of exit codes.

pub use brigade_core::Exit;
