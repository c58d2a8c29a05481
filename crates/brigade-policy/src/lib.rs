//! Decides by host policy what a call may do.
