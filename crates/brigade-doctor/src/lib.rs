//! Diagnoses a workspace from facts that were read once.
