//! The JSON Schema subset that tool contracts are written in.
