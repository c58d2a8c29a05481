//! The result of an installation.

use brigade_catalog::ToolState;

use brigade_macros::record;
use brigade_policy::CallKind;

use super::Receipt;

/// The result of an installation, which depends on whether the tool is present afterwards.
#[record(Default, PartialEq)]
pub struct InstallRun {
    /// The state of the tool before the run.
    pub before: Option<ToolState>,
    /// Its state after the run; absent if the end of the run was not seen.
    pub after: Option<ToolState>,
    /// Where the program of the tool is now.
    pub program: Option<String>,
    /// The version of that program, if it was observed.
    pub version: Option<String>,
    /// `install_not_effective`, if the command succeeded and the tool is still missing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub code: Option<String>,
}

impl InstallRun {
    /// The code of an installation that changed nothing.
    pub const NOT_EFFECTIVE: &'static str = "install_not_effective";
}

impl Receipt {
    /// Returns whether the run was an installation, according to its kind.
    pub fn is_installation(&self) -> bool {
        match self.kind.as_deref() {
            Some(kind) => kind == CallKind::Install.as_str(),
            // The first receipts of installations had no kind.
            None => self.install.is_some(),
        }
    }
}
