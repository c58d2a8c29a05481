//! Runs and kills process trees without a shell, with capped capture and a sandbox.
