//! Plugins and extensions of programs, and skills in directories.

use super::*;

fn skill(bench: &Bench, path: &str) {
    let name = path.rsplit('/').next().unwrap();
    bench.write(
        &format!("home/{path}/SKILL.md"),
        &format!("---\nname: {name}\ndescription: Does {name}.\n---\nText.\n"),
    );
}

/// Returns whether an entry is enabled, and the plugin of its only origin.
#[track_caller]
fn state(report: &DiscoveryReport, id: &str) -> (bool, String) {
    let [origin] = entry(report, id).origins.as_slice() else { panic!("several origins of {id}") };
    assert_eq!(entry(report, id).enabled, origin.enabled);
    (origin.enabled, origin.plugin.clone().unwrap_or_default())
}

/// Makes a plugin of Claude Code in two versions.
fn two_versions(bench: &Bench) {
    for version in ["1.0.0", "1.1.0"] {
        let at = format!("home/.claude/plugins/cache/shop/cards/{version}");
        let manifest = r#"{"name": "cards", "commands": ["./extra/sort.md"]}"#;
        bench.write(&format!("{at}/.claude-plugin/plugin.json"), manifest);
        // The servers of a plugin may be at the outermost level.
        bench.write(&format!("{at}/.mcp.json"), &format!("{{\"cards\": {{\"command\": \"{version}\"}}}}"));
        bench.write(&format!("{at}/extra/sort.md"), "Sort.\n");
        skill(bench, &format!(".claude/plugins/cache/shop/cards/{version}/skills/triage"));
    }
}

#[test]
fn the_list_of_plugins_decides_what_is_installed() {
    const INDEX: &str = "home/.claude/plugins/installed_plugins.json";
    let bench = Bench::of_user(&[(CATALOG, "")]);
    two_versions(&bench);
    let index = |record: &str| format!("{{\"version\": 2, \"plugins\": {{\"cards@shop\": [{record}]}}}}");
    let path = "\"installPath\": \"/memory/home/.claude/plugins/cache/shop/cards/1.0.0\"";
    let all = || DiscoverRequest {
        sources: vec![EntrySource::Mcp, EntrySource::Skill],
        ..DiscoverRequest::default()
    };
    assert_eq!(look_for(&bench, &all()).entry_count, 0);
    bench.write(INDEX, &index(&format!("{{\"scope\": \"user\", {path}}}")));
    let report = look_for(&bench, &all());
    assert_eq!(ids(&report), ["mcp:cards", "skill:sort", "skill:triage"]);
    assert_eq!(entry(&report, "mcp:cards").command, ["1.0.0"]);
    let is = |is_on: bool| {
        let report = look_for(&bench, &all());
        ["mcp:cards", "skill:triage"].iter().all(|id| state(&report, id) == (is_on, "cards@shop".to_owned()))
    };
    assert!(is(true));
    bench.write("home/.claude/settings.json", r#"{"enabledPlugins": {"cards@shop": false}}"#);
    assert!(is(false));
    // The settings of the workspace are stronger.
    bench.write(".claude/settings.json", r#"{"enabledPlugins": {"cards@shop": true}}"#);
    assert!(is(true));
    // Plugins of other workspaces are not shown.
    bench.write(INDEX, &index(&format!("{{\"scope\": \"project\", \"projectPath\": \"/other\", {path}}}")));
    assert_eq!(look_for(&bench, &all()).entry_count, 0);
}

#[test]
fn the_newest_version_of_an_extension_counts() {
    let bench = Bench::of_user(&[
        (CATALOG, ""),
        ("home/.codex/config.toml", "[plugins.\"board@shop\"]\nenabled = true\n"),
    ]);
    for (version, depth) in [("0.9.0", "a"), ("0.10.0", "a/b/c")] {
        let at = format!(".codex/plugins/cache/shop/board/{version}");
        let manifest = r#"{"name": "board", "mcpServers": "./servers.json"}"#;
        bench.write(&format!("home/{at}/.codex-plugin/plugin.json"), manifest);
        bench.write(&format!("home/{at}/servers.json"), r#"{"mcpServers": {"board": {"command": "x"}}}"#);
        skill(&bench, &format!("{at}/skills/{depth}/deep"));
    }
    let report = found(&bench);
    assert_eq!(state(&report, "mcp:board"), (true, "board@shop".to_owned()));
    assert_eq!(state(&report, "skill:deep"), (true, "board@shop".to_owned()));
    let path = &entry(&report, "skill:deep").origins[0].path;
    assert!(path.contains("/0.10.0/"), "{path}");
}

#[test]
fn rules_and_settings_turn_extensions_off() {
    let bench = Bench::of_user(&[(CATALOG, "")]);
    for name in ["papers", "quiet"] {
        let at = format!("home/.gemini/extensions/{name}");
        let extension =
            format!("{{\"name\": \"{name}\", \"mcpServers\": {{\"{name}\": {{\"command\": \"node\"}}}}}}");
        bench.write(&format!("{at}/gemini-extension.json"), &extension);
        bench.write(&format!("{at}/commands/{name}/go.toml"), "prompt = 'Go.'\n");
    }
    let rules = r#"{"quiet": {"overrides": ["!/*"]}, "papers": {"overrides": ["!/*", "/*"]}}"#;
    bench.write("home/.gemini/extensions/extension-enablement.json", rules);
    let config =
        r#"{"command": "node", "args": ["${__dirname}/x.js"], "env": {"TOKEN": "${user_config.token}"}}"#;
    let manifest =
        format!("{{\"name\": \"notes\", \"server\": {{\"type\": \"node\", \"mcp_config\": {config}}}}}");
    bench.write("home/.config/Claude/Claude Extensions/org.notes/manifest.json", &manifest);
    let settings = r#"{"isEnabled": false, "userConfig": {"token": "hunter2EXAMPLE"}}"#;
    bench.write("home/.config/Claude/Claude Extensions Settings/org.notes.json", settings);
    let report = found(&bench);
    for (id, is_on, plugin) in [
        ("mcp:papers", true, "papers"),
        ("skill:papers:go", true, "papers"),
        ("mcp:quiet", false, "quiet"),
        ("mcp:notes", false, "notes"),
    ] {
        assert_eq!(state(&report, id), (is_on, plugin.to_owned()), "{id}");
    }
    let notes = entry(&report, "mcp:notes");
    assert_eq!(notes.unresolved, ["${__dirname}", "${user_config.token}"]);
    assert!(notes.literal_secrets.is_empty() && !format!("{report:?}").contains("hunter2"));
}

#[test]
fn skills_are_read_to_the_depth_of_the_program() {
    let bench = Bench::of_user(&[(CATALOG, "")]);
    skill(&bench, ".agents/skills/team/shared");
    skill(&bench, ".claude/skills/team/hidden");
    let report = found(&bench);
    let programs: Vec<&str> =
        entry(&report, "skill:shared").origins.iter().map(|origin| origin.harness.as_str()).collect();
    assert_eq!(programs, ["codex", "opencode", "crush"]);
    let skills = DiscoverRequest { sources: vec![EntrySource::Skill], ..of_mcp(&["claude"], &[]) };
    assert_eq!(ids(&look_for(&bench, &skills)), [""; 0], "Claude Code reads one level");
}
