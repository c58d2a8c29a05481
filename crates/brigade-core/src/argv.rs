//! The words of a command line.
