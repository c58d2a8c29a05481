//! The hands of the kitchen: reads what `brigade-kitchen` decides on, and does what it decided.

#![forbid(unsafe_code)]
#![warn(missing_docs)]

pub mod workplace;
