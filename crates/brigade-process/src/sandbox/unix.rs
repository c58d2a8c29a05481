//! No sandbox on systems without Landlock. Best effort reports that; enforce refuses.

use super::{Enforcement, Mode, PlaceholderCleanup, SandboxError, SandboxProfile};

const SENTENCE: &str = "this platform has no sandbox that Brigade can use: nothing is enforced";

/// A profile in best effort mode that is not enforced.
#[derive(Debug)]
pub(crate) struct PreparedSandbox(Enforcement);

impl PreparedSandbox {
    pub(crate) fn enforcement(&self) -> Enforcement {
        self.0.clone()
    }
}

pub(super) fn prepare(
    profile: &SandboxProfile,
    _home: Option<&std::path::Path>,
    _keeping: PlaceholderCleanup,
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
