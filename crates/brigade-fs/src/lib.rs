//! Reads and writes beneath a root, atomic replacement, journals and locks.
