//! The smallest workspace with a callable tool.

use brigade_testkit::TempWorkspace;

/// Makes a workspace with one script, `greet`, and no policy. `lines` are in its entry from line 8 on.
///
/// If `lines` are valid, doctor only reports the missing policy.
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
