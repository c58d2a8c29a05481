//! How each report looks.

mod calls;
mod catalog;
mod checkpoints;
mod policy;
mod runs;
mod setup;
