//! The binary `brigade`.

fn main() {}
