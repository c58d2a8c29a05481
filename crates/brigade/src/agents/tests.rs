use brigade_access::NameStyle;
use brigade_core::ErrorCode;
use brigade_policy::{Gate, RiskLevel};

use crate::gateway::AgentTools;
use crate::{Env, Error, NewFile, Workspace};

const POLICY: &str =
    "allowed_families = [\"script\", \"mcp\"]\ndenied_effects = [\"network\"]\nallowed_effects = []\n";

const CATALOG: &str = r#"
[[tool]]
id = "zeta.read"
name = "Read"
family = "script"
command = "sh read.sh"
input_schema_path = "s.json"
effects = ["local-read"]
[[tool]]
id = "alpha"
name = "Alpha"
family = "script"
command = "sh alpha.sh"
input_schema_path = "s.json"
effects = ["process-exec"]
[[tool]]
id = "net"
name = "Net"
family = "script"
command = "sh net.sh"
input_schema_path = "s.json"
effects = ["network"]
[[tool]]
id = "off"
name = "Off"
family = "script"
enabled = false
command = "sh off.sh"
input_schema_path = "s.json"
[[tool]]
id = "page"
name = "Page"
family = "skill"
[[tool]]
id = "no-schema"
name = "No schema"
family = "script"
command = "sh x.sh"
input_schema_path = "missing.json"
[[tool]]
id = "no-program"
name = "No program"
family = "script"
command = "no-such-program-anywhere"
input_schema_path = "s.json"
[[tool]]
id = "broken"
name = "Broken"
family = "script"
command = 7
input_schema_path = "s.json"
[[tool]]
id = "fs.read"
name = "Shadow"
family = "script"
command = "sh x.sh"
input_schema_path = "s.json"
[[tool]]
id = "zeta_read"
name = "Clash"
family = "script"
command = "sh x.sh"
input_schema_path = "s.json"
approval_mode = "always"
"#;

const GATEWAY: &str =
    "[[agent]]\nname = \"ci\"\nprofiles = [\"permission.plan\"]\n[[agent]]\nname = \"dev\"\n";

fn workspace(files: &[(&'static str, &str)]) -> (tempfile::TempDir, Workspace) {
    let folder = tempfile::tempdir().unwrap();
    let names: Vec<&str> = files.iter().map(|(path, _)| *path).collect();
    let mut all = vec![
        NewFile::new(".brigade/tools.toml", CATALOG),
        NewFile::new(".brigade/tools/gateway.toml", GATEWAY),
        NewFile::new("s.json", r#"{"type": "object", "properties": {"path": {"type": "string"}}}"#),
    ];
    all.retain(|file| !names.contains(&file.path));
    all.extend(files.iter().map(|(path, text)| NewFile::new(path, *text)));
    let workspace = Workspace::with_files(folder.path(), &all, Env::of_process()).unwrap();
    (folder, workspace)
}

fn tools(workspace: &Workspace, agent: &str, overlays: &[&str]) -> Result<AgentTools, Error> {
    let overlays: Vec<String> = overlays.iter().map(|name| (*name).to_owned()).collect();
    workspace.agents().tools(agent, &overlays, NameStyle::Dotted)
}

fn names(tools: &AgentTools) -> Vec<&str> {
    tools.tools().iter().map(|tool| tool.name.as_str()).collect()
}

const POLICY_FILE: &str = ".brigade/tools/policy.toml";

#[test]
fn an_agent_is_shown_what_it_may_call() {
    let (_folder, workspace) = workspace(&[(POLICY_FILE, POLICY)]);
    let dev = tools(&workspace, "dev", &[]).unwrap();
    assert_eq!(names(&dev), ["alpha", "zeta.read", "zeta_read"]);
    let gates: Vec<_> = dev.tools().iter().map(|tool| (tool.need.gate(), tool.risk)).collect();
    assert_eq!(
        gates,
        [(Gate::Ask, RiskLevel::High), (Gate::Allow, RiskLevel::Low), (Gate::Ask, RiskLevel::Low)]
    );
    assert_eq!(dev.entry(dev.find("zeta.read").unwrap()).name, "Read");
    assert!(dev.find("zeta.read").unwrap().input_schema().json().get("properties").is_some());
    for hidden in ["net", "off", "page", "no-schema", "no-program", "broken", "fs.read", "nothing"] {
        assert!(dev.find(hidden).is_none(), "{hidden}");
    }
    assert_eq!(names(&tools(&workspace, "ci", &[]).unwrap()), ["zeta.read", "zeta_read"]);
    assert_eq!(names(&tools(&workspace, "dev", &["permission.plan"]).unwrap()), ["zeta.read", "zeta_read"]);
    assert_eq!(names(&tools(&workspace, "dev", &["mode.chat"]).unwrap()), [""; 0]);
}

#[test]
fn of_a_clash_no_tool_is_listed() {
    let (_folder, workspace) = workspace(&[(POLICY_FILE, POLICY)]);
    let plain = workspace.agents().tools("dev", &[], NameStyle::Plain).unwrap();
    assert_eq!(names(&plain), ["alpha"]);
    assert!(plain.find("zeta.read").is_none() && plain.find("zeta_read").is_none());
}

#[test]
fn without_a_valid_policy_nothing_is_visible() {
    let (_folder, missing) = workspace(&[]);
    assert!(tools(&missing, "dev", &[]).unwrap().tools().is_empty());
    let (_folder, invalid) = workspace(&[(POLICY_FILE, "[sandbox]\nmode = \"of\"\n")]);
    assert!(tools(&invalid, "dev", &[]).unwrap().tools().is_empty());
}

#[test]
fn unknown_agents_and_profiles_are_refused_with_a_near_name() {
    let (_folder, workspace) = workspace(&[(POLICY_FILE, POLICY)]);
    let error = tools(&workspace, "local", &[]).err().unwrap();
    assert_eq!((error.code(), error.exit().code()), (ErrorCode::AgentMissing, 1));
    let error = tools(&workspace, "dve", &[]).err().unwrap();
    assert!(format!("{:?}", error.hints()).contains("`dev`"));
    let error = tools(&workspace, "dev", &["permission.pla"]).err().unwrap();
    assert_eq!(error.code(), ErrorCode::ProfileMissing);
}

#[test]
fn an_error_in_the_gateway_has_its_place() {
    let gateway = (".brigade/tools/gateway.toml", "list = \"ful\"\n");
    let (_folder, workspace) = workspace(&[(POLICY_FILE, POLICY), gateway]);
    let error = workspace.agents().config().unwrap_err();
    assert_eq!(error.code(), ErrorCode::GatewayConfigInvalid);
    let place = error.blockers()[0].place.clone().unwrap();
    assert_eq!(place.to_string(), ".brigade/tools/gateway.toml:1:8");
}
