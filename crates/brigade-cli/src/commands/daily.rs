//! The words of every day: what waits, deciding, what ran, and why.

mod advice;
pub(crate) mod decide;
pub(crate) mod explain;
pub(crate) mod log;
mod moment;
pub(crate) mod pending;
mod prompts;
pub(crate) mod review;
pub(crate) mod show;
pub(crate) mod start;
pub(crate) mod why;

#[cfg(test)]
mod tests;
