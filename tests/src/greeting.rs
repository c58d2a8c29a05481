//! The smallest workspace with a tool that can be called.

use brigade_testkit::TempWorkspace;

/// Makes a workspace with one script, `greet`, and no policy; `lines` stand in its entry from line 8 on.
///
/// All that doctor finds, as long as `lines` are sound, is that there is no policy.
pub fn greeting(lines: &str) -> TempWorkspace {
    let workspace = TempWorkspace::empty();
    let entry = format!(
        "
[[tool]]
id = \"greet\"
name = \"Greet\"
family = \"script\"
command = \"sh bin/greet.sh\"
input_schema_path = \"greet.json\"
{lines}
effects = [\"local-read\"]
"
    );
    workspace.write(".brigade/tools.toml", entry);
    workspace.write("greet.json", r#"{"type": "object"}"#);
    workspace.write("bin/greet.sh", "echo hello\n");
    workspace
}
