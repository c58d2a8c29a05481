//! Runs a verified call and writes down what happened.
