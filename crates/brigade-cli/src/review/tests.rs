//! Tests of the screen without a terminal.
