//! Temporary workspaces, a ticking clock and output filters for tests.
