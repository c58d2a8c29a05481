//! The capabilities of this build.

use brigade_core::ErrorCode;
use brigade_policy::Blocker;

/// Returns why this build cannot call MCP tools; `None` if it can.
pub fn refusal_of_build() -> Option<Blocker> {
    (!cfg!(feature = "client")).then(|| {
        Blocker::new(ErrorCode::McpNotInBuild, "this build does not speak to MCP servers")
            .hint("use a build with the feature `mcp`")
    })
}
