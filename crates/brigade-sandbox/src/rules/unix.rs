//! No sandbox on systems without Landlock. Best effort reports that; enforce refuses.

use std::path::Path;

use crate::{Enforcement, Mode, PlaceholderCleanup, SandboxError, SandboxProfile};

const SENTENCE: &str = "this platform has no sandbox that Brigade can use: nothing is enforced";

/// A profile in best effort mode that is not enforced.
#[derive(Debug)]
pub struct PreparedSandbox(Enforcement);

impl PreparedSandbox {
    /// Fails if the profile must be enforced.
    pub fn new(
        profile: &SandboxProfile,
        _home: Option<&Path>,
        _cleanup: PlaceholderCleanup,
    ) -> Result<PreparedSandbox, SandboxError> {
        match profile.mode {
            Mode::Enforce => Err(SandboxError::Unsupported(SENTENCE.to_owned())),
            Mode::BestEffort => Ok(PreparedSandbox(Enforcement {
                mode: profile.mode,
                landlock: 0,
                enforced: Vec::new(),
                missing: vec![SENTENCE.to_owned()],
            })),
        }
    }

    /// Returns what is enforced: nothing.
    pub fn enforcement(&self) -> Enforcement {
        self.0.clone()
    }
}
