//! Plans, reviews and verifies calls.
