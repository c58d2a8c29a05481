//! Supervises the local runtimes that calls depend on.
