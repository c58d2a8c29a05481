//! Judges whether a command line is too risky to run.
