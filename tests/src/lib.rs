//! Helpers of the tests that drive the real binary.
