//! Tests of operations in a whole workspace.

mod inbox;
mod parity;
mod projections;
