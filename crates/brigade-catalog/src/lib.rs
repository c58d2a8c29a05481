//! The model of tools.toml and runtimes.toml.
