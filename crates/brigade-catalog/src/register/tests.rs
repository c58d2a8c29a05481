//! Tests of the formats.

use super::*;
use crate::model::{RiskClass, Runtimes, Seconds};

const SEED: &str = "version: \"1.0\"\nsettings:\n  auto_install: true\ntools:\n  - id: web_search\n    name: Web\n    source:\n      type: harness\n      provider: claude\n    categories: [research]\n  - id: filesystem\n    name: Files\n    source:\n      type: mcp\n      server: filesystem\n      transport: stdio\n      command: uvx mcp-server-filesystem\n    install:\n      check: which uvx\n      command: pip install uv\n    colour: red\n  - id: jq\n    name: jq\n    source: {type: cli, command: jq}\n";

fn read(file: &str, text: &str) -> Registrations {
    Registrations::read(file, text.as_bytes(), Level::Project, Some("docker"))
}

#[test]
fn registry_tools_become_disabled_entries() {
    let found = read("tools-registry.yaml", SEED);
    assert_eq!(found.errors, []);
    let notes: Vec<_> = found.notes.iter().map(|note| (note.code.as_str(), note.field.as_str())).collect();
    assert_eq!(
        notes,
        [("auto_install_ignored", "settings.auto_install"), ("unknown_key", "filesystem.colour")]
    );
    let [web, files, jq] = &found.tools[..] else { panic!("{:?}", found.tools) };
    assert!(web.tool.enabled && web.runtime.is_none());
    assert_eq!(web.tool.source(), Some(ToolSource::Harness));
    let runtime = files.runtime.as_ref().unwrap();
    assert_eq!(runtime.command, "uvx mcp-server-filesystem");
    assert!(!runtime.enabled && runtime.on_demand && !files.tool.enabled);
    assert_eq!(files.tool.runtime_id.as_deref(), Some("filesystem"));
    assert_eq!((jq.tool.command.as_deref(), jq.tool.enabled), (Some("jq"), false));
    assert_eq!(jq.tool.approval_mode, Some(ApprovalMode::Always));
}

#[test]
fn the_server_of_a_file_is_started_as_its_entry_says() {
    let text =
        "id: y\nsource: {type: mcp, command: python3 srv.py}\nenv_labels: [Q]\ntimeout: 20\ncwd: sub\n";
    let found = read("s.yaml", text);
    let runtime = found.tools[0].runtime.as_ref().unwrap();
    assert_eq!((&*runtime.env_labels, runtime.cwd.as_deref()), (&["Q".to_owned()][..], Some("sub")));
    assert_eq!(runtime.timeout, found.tools[0].tool.timeout);
    assert!(runtime.timeout.is_some());
}

#[test]
fn packages_of_the_mcp_registry_are_pinned() {
    let text = |package: &str| {
        format!(
            r#"{{"name":"io.github.x/weather","description":"W","version":"1.2.3","packages":[{package}]}}"#
        )
    };
    let command = |package: &str| {
        let found = read("server.json", &text(package));
        let runtime = found.tools.first().and_then(|found| found.runtime.clone());
        (runtime.map(|runtime| runtime.command), found.errors.first().map(|error| error.code.as_str()))
    };
    let npm = r#"{"registryType":"npm","identifier":"@x/weather","version":"1.0.2","packageArguments":[{"type":"positional","value":"a b"}],"environmentVariables":[{"name":"API_KEY","isSecret":true}]}"#;
    assert_eq!(command(npm), (Some("npx -y @x/weather@1.0.2 'a b'".to_owned()), None));
    let found = read("server.json", &text(npm));
    assert_eq!(
        (found.tools[0].tool.id.as_str(), &found.tools[0].tool.env_labels[..]),
        ("weather", &["API_KEY".to_owned()][..])
    );
    // The runtime starts the server, so it gets the variables.
    assert_eq!(found.tools[0].runtime.as_ref().unwrap().env_labels, ["API_KEY"]);
    let pypi = r#"{"registryType":"pypi","identifier":"weather"}"#;
    assert_eq!(command(pypi), (Some("uvx weather@1.2.3".to_owned()), None));
    // Server and package may have different versions.
    let notes = |package: &str| {
        read("server.json", &text(package)).notes.iter().map(|note| note.code.as_str()).collect::<Vec<_>>()
    };
    assert_eq!((notes(npm), notes(pypi)), (vec![], vec!["version_of_server"]));
    for bad in ["latest", "^1.0", "1 2"] {
        let package = format!(r#"{{"registryType":"npm","identifier":"x","version":"{bad}"}}"#);
        assert_eq!(command(&package), (None, Some("version_not_pinned")), "{bad}");
    }
    let remote = read(
        "server.json",
        r#"{"name":"a/b","remotes":[{"type":"streamable-http","url":"https://x/?k=1"}]}"#,
    );
    assert!(remote.tools[0].runtime.is_none() && !remote.tools[0].tool.enabled);
    for (remote, errors) in [
        (r#"{"type":"sse","url":"not a url"}"#, &["b.remotes[1].url"][..]),
        (r#"{"type":"sse","url":"ftp://h/"}"#, &["b.remotes[1].url"]),
        (r#"{"type":"sse"}"#, &["b.remotes[1].url"]),
        (r#"{"type":"sse","url":"https://{tenant}.h.example/mcp"}"#, &[]),
        (r#"{"type":"http","url":"https://h.example/mcp"}"#, &[]),
        (r#"{"transport_type":"sse","url":"https://h.example/mcp"}"#, &[]),
        (r#"{"type":"telepathy","url":"https://h.example/mcp"}"#, &["b.remotes[1].type"]),
        (r#"{"url":"https://h.example/mcp"}"#, &["b.remotes[1].type"]),
        (r#"{"type":7,"url":"https://h.example/mcp"}"#, &["b.remotes[1].type"]),
        (r#"{"type":"sse","url":"https://h.example/mcp","headers":{"X":"y"}}"#, &["b.remotes[1].headers"]),
        (
            r#"{"type":"sse","url":"https://h.example/mcp","headers":[{"value":"y"}]}"#,
            &["b.remotes[1].headers[1].name"],
        ),
    ] {
        let found = read("server.json", &format!(r#"{{"name":"a/b","remotes":[{remote}]}}"#));
        let fields: Vec<_> = found.errors.iter().filter_map(|error| error.field.as_deref()).collect();
        assert_eq!(fields, errors, "{remote}");
    }
}

#[test]
fn headers_of_a_remote_are_noted_by_their_names() {
    let found = read(
        "server.json",
        r#"{"name":"a/b","remotes":[{"type":"sse","url":"https://h.example/mcp",
            "headers":[{"name":"X-Key","value":"hunter2","isSecret":true},{"name":"X-Org"}]}]}"#,
    );
    assert_eq!(found.errors, []);
    let notes: Vec<_> = found.notes.iter().map(|note| (note.code.as_str(), note.field.as_str())).collect();
    let kept = ["b.remotes[1].headers.X-Key", "b.remotes[1].headers.X-Org"];
    let kept = kept.map(|field| ("value_not_kept", field));
    assert_eq!(notes, kept);
    let runtime = found.tools[0].runtime.as_ref().unwrap();
    assert_eq!(runtime.url.as_deref(), Some("https://h.example/mcp"));
    assert_eq!(runtime.env_labels, ["B_X_KEY", "B_X_ORG"]);
    assert!(!runtime.enabled && found.tools[0].tool.runtime_id.as_deref() == Some("b"));
    assert!(!format!("{found:?}").contains("hunter2"));
}

#[test]
fn keys_of_the_mcp_registry_without_a_place_are_noted() {
    let found = read(
        "server.json",
        r#"{"server":{"$schema":"s","name":"a/b","title":"B","version":"1.0.0","websiteUrl":"w","repository":{},"icons":[],
            "status":"active","packages":[{"registryType":"npm","registryBaseUrl":"https://registry.npmjs.org/",
            "identifier":"b","version":"1.0.0","fileSha256":"00","runtimeHint":"npx"}]},"_meta":{}}"#,
    );
    assert_eq!((found.errors.len(), found.tools[0].tool.name.as_str()), (0, "B"));
    let mut notes: Vec<_> =
        found.notes.iter().map(|note| (note.code.as_str(), note.field.as_str())).collect();
    notes.sort_unstable();
    let fields =
        ["b._meta", "b.icons", "b.packages[1].fileSha256", "b.repository", "b.status", "b.websiteUrl"];
    assert_eq!(notes, fields.map(|field| ("unknown_key", field)));
}

#[test]
fn packages_of_private_registries_are_refused() {
    for (kind, base) in
        [("npm", "https://npm.corp.example"), ("pypi", "https://pypi.org.evil.example/"), ("npm", "")]
    {
        let package = format!(
            r#"{{"name":"a/b","version":"1.0.0","packages":[{{"registryType":"{kind}","identifier":"b","registryBaseUrl":"{base}"}}]}}"#
        );
        let found = read("server.json", &package);
        let errors: Vec<_> = found
            .errors
            .iter()
            .map(|error| (error.code.as_str(), error.field.as_deref().unwrap_or_default()))
            .collect();
        assert_eq!(errors, [("package_unsupported", "b.packages[1].registryBaseUrl")], "{base}");
        assert!(found.tools.is_empty());
    }
}

#[test]
fn what_is_broken_or_newer_says_where() {
    for (file, text, code) in [
        ("a.yaml", "version: \"2.0\"\ntools: []\n", "schema_newer"),
        ("a.toml", "schema = 99\n", "schema_newer"),
        ("a.yaml", "tools: [", "file_invalid"),
        ("a.json", "{\"tools\": 1", "file_invalid"),
        ("a.toml", "[[tool]\n", "file_invalid"),
        ("a.yaml", "id: x\n", "field_invalid"),
        ("a.yaml", "tools: []\n", "nothing_to_register"),
    ] {
        let found = read(file, text);
        assert_eq!(found.errors.first().map(|error| error.code.as_str()), Some(code), "{text}");
    }
}

#[test]
fn values_of_another_type_are_told_and_never_dropped() {
    let base = "source: {type: cli, command: jq}";
    for (line, field) in [
        ("install: brew install jq", "a.install"),
        ("install: {command: {linux: apt install jq}}", "a.install.command"),
        ("install: {docs: 5}", "a.install.docs"),
        ("description: 5", "a.description"),
        ("capabilities: [parse, 5]", "a.capabilities[2]"),
        ("aliases: [\"\"]", "a.aliases[1]"),
        ("categories: {a: 1}", "a.categories"),
        ("project_specific: \"yes\"", "a.project_specific"),
        ("availability: true", "a.availability"),
        ("timeout: -5", "a.timeout"),
        ("timeout: 0", "a.timeout"),
        ("timeout: soon", "a.timeout"),
        ("risk_class: huge", "a.risk_class"),
    ] {
        let found = read("a.yaml", &format!("id: a\n{base}\n{line}\n"));
        let errors: Vec<_> = found
            .errors
            .iter()
            .map(|error| (error.code.as_str(), error.field.as_deref().unwrap_or_default()))
            .collect();
        assert_eq!(errors, [("field_invalid", field)], "{line}");
    }
    let socket = read("a.yaml", "id: a\nsource: {type: mcp, transport: websocket, command: x}\n");
    assert_eq!(socket.errors.first().and_then(|error| error.field.as_deref()), Some("a.source.transport"));
}

/// Issue 15: how a server is started or reached is never guessed.
#[test]
fn servers_of_files_have_a_command_or_an_address() {
    let check = |source: &str, expect: &[(&str, &str)]| {
        let found = read("a.yaml", &format!("id: a\nsource: {{type: mcp, {source}}}\n"));
        let errors: Vec<_> = found
            .errors
            .iter()
            .map(|error| (error.code.as_str(), error.field.as_deref().unwrap_or_default()))
            .collect();
        assert_eq!(errors, expect, "{source}");
        found
    };
    let unclear = [("definition_unclear", "a.source.url")];
    check("command: npx x, url: 'https://h/mcp'", &unclear);
    check("transport: http, command: npx x, url: 'https://h/mcp'", &unclear);
    check("transport: http, command: npx x", &unclear);
    check("transport: sse", &unclear);
    check("transport: http, url: not a url", &unclear);
    check("url: 'ftp://h/'", &unclear);
    check("transport: stdio, url: 'https://h/mcp'", &[("field_invalid", "a.source.command")]);
    for source in ["transport: sse, url: 'https://{tenant}.h/mcp'", "url: 'https://h/mcp?k=v'"] {
        let found = check(source, &[]);
        assert_eq!(found.notes.iter().map(|note| note.code.as_str()).collect::<Vec<_>>(), ["url_not_kept"]);
        assert_eq!((found.tools[0].runtime.is_none(), found.tools[0].tool.runs_in()), (true, None));
    }
    let twice = read("a.yaml", "id: a\ncommand: jq\nsource: {type: cli, command: yq}\n");
    assert_eq!(twice.errors[0].field.as_deref(), Some("a.command"));
    let beside = read("a.yaml", "id: a\ncommand: jq\nsource: {type: cli}\n");
    assert_eq!((beside.errors.len(), beside.tools[0].tool.command.as_deref()), (0, Some("jq")));
}

/// Issue 15: a `server.json` of another shape is refused instead of partly dropped.
#[test]
fn wrong_shapes_of_the_mcp_registry_are_told() {
    let text = |member: &str| {
        format!(
            r#"{{"name":"a/b","packages":[{{"registryType":"npm","identifier":"b","version":"1.0.0",{member}}}]}}"#
        )
    };
    let fields = |text: &str| {
        let found = read("server.json", text);
        assert!(found.errors.iter().all(|error| error.code == ErrorCode::FieldInvalid), "{:?}", found.errors);
        found.errors.into_iter().filter_map(|error| error.field).collect::<Vec<_>>()
    };
    for (member, field) in [
        (r#""packageArguments":"--root /srv""#, "packageArguments"),
        (r#""packageArguments":{"value":"x"}"#, "packageArguments"),
        (r#""packageArguments":["--root"]"#, "packageArguments[1]"),
        (r#""packageArguments":[{"type":"positional","value":5}]"#, "packageArguments[1].value"),
        (r#""packageArguments":[{"name":["--a"],"value":"x"}]"#, "packageArguments[1].name"),
        (r#""environmentVariables":{"KEY":"v"}"#, "environmentVariables"),
        (r#""environmentVariables":["KEY"]"#, "environmentVariables[1]"),
        (r#""environmentVariables":[{"value":"v"}]"#, "environmentVariables[1].name"),
        (r#""transport":"stdio""#, "transport"),
        (r#""transport":{"type":1}"#, "transport.type"),
    ] {
        assert_eq!(fields(&text(member)), [format!("b.packages[1].{field}")], "{member}");
    }
    // One cause gives one note.
    let notes = |package: &str| {
        let package = format!(r#"{{"registryType":"npm","identifier":"b",{package}}}"#);
        read("server.json", &format!(r#"{{"name":"a/b","version":"1.0.0","packages":[{package}]}}"#)).notes
    };
    assert_eq!(notes(r#""version":1"#), []);
    assert_eq!(notes(r#""version":"1.0.0","packageArguments":[{"type":"positional","value":80}]"#), []);
    for nameless in [r#"{"packages":[]}"#, r#"{"name":5,"packages":[]}"#, r#"{"remotes":[]}"#] {
        let found = read("server.json", nameless);
        let told: Vec<_> = found.errors.iter().map(|error| error.message.as_str()).collect();
        assert_eq!(told, ["a server needs a name"], "{nameless}");
    }
    assert_eq!(fields(r#"{"name":"a/b","packages":{}}"#), ["b.packages"]);
    assert_eq!(fields(r#"{"name":"a/b","remotes":["https://x"]}"#), ["b.remotes[1]"]);
    assert_eq!(fields(r#"{"name":"a/b","packages":[{"registryType":7}]}"#), ["b.packages[1].registryType"]);
}

/// Issue 15: a placeholder without a value was dropped, and a wrong type was reported as unknown.
#[test]
fn argument_values_are_kept_or_noted() {
    for (argument, command, note) in [
        (r#"{"type":"named","name":"--port","default":"80"}"#, "npx -y b@1.0.0 --port 80", None),
        (r#"{"type":"positional","default":"80","value":"90"}"#, "npx -y b@1.0.0 90", None),
        (r#"{"type":"positional"}"#, "npx -y b@1.0.0", Some("its value is not known; add it to the command")),
        (
            r#"{"type":"positional","value":"{root}/x"}"#,
            "npx -y b@1.0.0",
            Some("its value has variables, which are not known; add it to the command"),
        ),
    ] {
        let text = format!(
            r#"{{"name":"a/b","packages":[{{"registryType":"npm","identifier":"b","version":"1.0.0","packageArguments":[{argument}]}}]}}"#
        );
        let found = read("server.json", &text);
        assert_eq!(found.errors, []);
        assert_eq!(found.tools[0].runtime.as_ref().unwrap().command, command);
        let notes: Vec<_> = found.notes.iter().map(|note| note.message.as_str()).collect();
        assert_eq!(notes, note.into_iter().collect::<Vec<_>>(), "{argument}");
    }
}

#[test]
fn a_file_that_is_nested_too_deep_is_called_so() {
    let deep = |depth: usize| format!("{{\"a\": {}{}}}", "[".repeat(depth), "]".repeat(depth));
    for (text, message) in [
        (deep(200), "the file is nested too deep"),
        (deep(70).replace("\"a\"", "a"), "the YAML is not read: nested too deep"),
        ("{\"a\": [}".to_owned(), "the file is not JSON: expected a value"),
    ] {
        assert_eq!(read("a.json", &text).errors[0].message, message);
    }
}

/// Issue 15: YAML and JSON can set all fields of an entry, too.
#[test]
fn every_field_of_an_entry_has_a_place_in_other_forms() {
    let text = "id: a\nname: A\nfamily: script\nenabled: true\ndescription: d\nsource_path: s.md\nmanifest_path: m\nschema_path: p\ncommand: jq\nauth_label: gh\nhealth_path: h\nfingerprint: f\ninput_schema_path: i\noutput_schema_path: o\nexamples_path: e\napproval_mode: always\ncwd: sub\nruntime_id: r\nruntime_health_path: rh\nmcp_server_id: ms\nmcp_tool_name: mt\nrequires_runtime: true\ntimeout: 5\nidle_timeout: 5\ndomain: data\ncapability: [c]\nrisk_class: read\npermissions: [p]\neffects: [local-read]\nenv_labels: [L]\nsupported_harnesses: [claude]\nprojections: {claude: x.md}\nprojection_fingerprints: {claude: y}\nargument_template: {path: '--path={value}'}\nallow_option_values: [path]\ncode: ['*.py']\ndata: ['*.csv']\naliases: [q]\ncategories: [k]\ncapabilities: [l]\navailability: always\nversion: '1'\nversion_command: jq --version\nproject_specific: true\nicons: [i]\nproposed_effects: [local-read]\ninstall: {check: which jq}\ncost: {unit: USD}\nsource: {type: cli}\n";
    let found = read("a.yaml", text);
    assert_eq!(found.errors, []);
    assert_eq!(found.notes.iter().map(|note| note.field.as_str()).collect::<Vec<_>>(), ["a.enabled"]);
    let stated = text.lines().filter_map(|line| Some(line.split_once(':')?.0));
    assert!(crate::fields::TOOL.names().all(|name| stated.clone().any(|stated| stated == name)));
    let tool = &found.tools[0].tool;
    assert_eq!(tool.argument_template["path"], "--path={value}");
    assert_eq!((tool.auth_label.as_deref(), tool.mcp_server_id.as_deref()), (Some("gh"), Some("ms")));
    assert_eq!((tool.requires_runtime, &tool.supported_harnesses[..]), (true, &["claude".to_owned()][..]));
    let other = read("a.yaml", "id: a\nfamily: mcp\nsource: {type: cli, command: jq, ref: x}\n");
    let notes: Vec<_> = other.notes.iter().map(|note| (note.code.as_str(), note.field.as_str())).collect();
    assert_eq!(notes, [("family_ignored", "a.family"), ("origin_ignored", "a.source.ref")]);
}

/// Issue 15: one fault is reported once.
#[test]
fn a_command_of_a_wrong_type_is_refused_once() {
    for (text, field) in [
        ("id: a\nsource: {type: mcp, command: [npx, 1]}\n", "a.source.command"),
        ("id: a\ncommand: [npx, 1]\nsource: {type: mcp}\n", "a.command"),
        ("id: a\ncommand: 1\nsource: {type: cli}\n", "a.command"),
        ("id: a\nsource: {type: cli}\n", "a.source.command"),
    ] {
        let found = read("a.yaml", text);
        let fields: Vec<_> = found.errors.iter().filter_map(|error| error.field.as_deref()).collect();
        assert_eq!(fields, [field], "{text}");
    }
    let package = r#"{"name":"a/b","version":"1.0.0","packages":[{"registryType":"npm","identifier":"b","registryBaseUrl":4}]}"#;
    let found = read("server.json", package);
    let errors: Vec<_> =
        found.errors.iter().map(|error| (error.code.as_str(), error.field.as_deref())).collect();
    assert_eq!(errors, [("field_invalid", Some("b.packages[1].registryBaseUrl"))]);
}

#[test]
fn a_key_that_stands_twice_is_told_with_its_place() {
    for (file, text, place) in [
        ("a.yaml", "tools:\n - id: a\n   id: b\n   source: {type: cli, command: jq}\n", (3, 4)),
        ("a.yaml", "tools: []\ntools:\n - {id: a, source: {type: cli, command: jq}}\n", (2, 1)),
        ("a.yaml", "{id: a, id: b, source: {type: cli, command: jq}}\n", (1, 9)),
        ("a.json", r#"{"id": "a", "id": "b", "source": {"type": "cli", "command": "jq"}}"#, (1, 13)),
        (
            "server.json",
            r#"{"name": "a/b", "name": "a/c", "remotes": [{"type": "sse", "url": "https://x"}]}"#,
            (1, 17),
        ),
    ] {
        let found = read(file, text);
        let errors: Vec<_> =
            found.errors.iter().map(|error| (error.code.as_str(), error.line, error.column)).collect();
        assert_eq!(errors, [("file_invalid", Some(place.0), Some(place.1))], "{text}");
        assert!(found.tools.is_empty(), "{text}");
    }
}

#[test]
fn an_id_that_is_a_secret_is_refused_and_not_named() {
    let id = "ghp_abcdefCNRY0123456789abcdefABCDEF0123";
    for (file, text) in [
        ("a.yaml", format!("id: {id}\nsource: {{type: cli, command: jq}}\n")),
        (
            "a.toml",
            format!(
                "[[tool]]\nid = \"{id}\"\nname = \"x\"\nfamily = \"script\"\ncommand = \"jq\"\nenabled = true\n"
            ),
        ),
        ("a.yaml", format!("id: a\n{id}: 1\nsource: {{type: cli, command: jq}}\n")),
    ] {
        let found = read(file, &text);
        let told = format!("{:?} {:?}", found.errors, found.notes);
        assert!(!told.contains("CNRY"), "{told}");
        assert_eq!(
            found.errors.iter().any(|error| error.code == ErrorCode::SecretInEntry),
            !text.contains("id: a")
        );
    }
}

#[test]
fn what_an_entry_has_a_place_for_is_taken_over() {
    let text = "version: '1.0'\nsettings: {fallback_harness: false}\ntools:\n- id: yq\n  source: {type: cli, command: yq}\n  version_command: yq --version\n  cost: {per_call: 0.002, unit: USD}\n  timeout: 2.5\n  risk_class: read\n  enabled: true\n  approval_mode: never\n- id: h\n  source: {type: harness, provider: claude}\n  enabled: false\n";
    let found = read("a.yaml", text);
    assert_eq!((&found.errors[..], found.harness_tools), (&[][..], Some(false)));
    let notes: Vec<_> = found.notes.iter().map(|note| (note.code.as_str(), note.field.as_str())).collect();
    assert_eq!(notes, [("enabled_ignored", "yq.enabled"), ("approval_mode_ignored", "yq.approval_mode")]);
    let [yq, native] = &found.tools[..] else { panic!("{:?}", found.tools) };
    let cost = yq.tool.cost.as_deref().unwrap();
    assert_eq!((cost.per_call, cost.unit.as_deref()), (Some(0.002), Some("USD")));
    assert_eq!(yq.tool.version_command.as_deref(), Some("yq --version"));
    assert_eq!((yq.tool.timeout, yq.tool.risk_class), (Seconds::new(2.5).ok(), Some(RiskClass::Read)));
    assert_eq!((yq.tool.enabled, yq.tool.approval_mode), (false, Some(ApprovalMode::Always)));
    assert!(!native.tool.enabled);
    let broken = read(
        "a.yaml",
        &text.replace("0.002", "-1").replace("never", "x").replace("harness: false", "harness: 5"),
    );
    let fields: Vec<_> = broken.errors.iter().filter_map(|error| error.field.as_deref()).collect();
    assert_eq!(fields, ["settings.fallback_harness", "yq.approval_mode", "yq.cost.per_call"]);
}

#[test]
fn a_package_is_one_version_of_one_name() {
    let codes = |registry: &str, name: &str, version: &str, more: &str| {
        let package = format!(
            r#"{{"registryType":"{registry}","identifier":"{name}","version":"{version}","transport":{{"type":"stdio"}}{more}}}"#
        );
        let found =
            read("server.json", &format!(r#"{{"name":"io.x/w","version":"1.0.0","packages":[{package}]}}"#));
        (found.errors.iter().map(|error| error.code.as_str()).collect::<Vec<_>>(), found.tools.len())
    };
    for (registry, names) in [
        (
            "npm",
            ["a/b", "A/../../b", "..", ".", "@a", "@../b", "a@git", "@a/b@2", "a[extra]", "-a", "_a", ""],
        ),
        ("pypi", ["a/b", ".", "..", "a[extra]", "a@git", "@a/b", "a-", "-a", "a.", "./a", "~a", ""]),
    ] {
        for name in names {
            assert_eq!(codes(registry, name, "1.2.3", ""), (vec!["field_invalid"], 0), "{registry} {name}");
        }
    }
    for (registry, name) in
        [("npm", "@scope/a.b-c_d"), ("npm", "JSONStream"), ("pypi", "Zope.interface"), ("pypi", "a")]
    {
        assert_eq!(codes(registry, name, "1.2.3", ""), (vec![], 1), "{registry} {name}");
    }
    for (registry, versions) in [
        (
            "npm",
            &[
                "1",
                "1.2",
                "1.x",
                "1.2.x",
                "x",
                "*",
                "^1.0.0",
                "latest",
                "1.2.3.4",
                "v1.2.3",
                "1.2.3-",
                "01.2.3",
                "1.02.3",
                "1.2.003",
                "1.2.3-01",
                "1.2.3-rc.01",
            ][..],
        ),
        ("pypi", &["1.x", "1.*", "x", "latest", ">=1", "1..2", "1.0foo", "v1", "1.0+"]),
    ] {
        for version in versions {
            assert_eq!(
                codes(registry, "a", version, ""),
                (vec!["version_not_pinned"], 0),
                "{registry} {version}"
            );
        }
    }
    for (registry, versions) in [
        ("npm", &["0.0.1", "1.2.3-rc.1", "1.2.3-0.a-b+build.5", "1.2.3-0a+007", "2026.11.26"][..]),
        ("pypi", &["1", "1.2", "1.2.3.4", "2.0rc1", "1!2.0.post2.dev3+local.1", "1.0-1", "1.0a1", "1.0.0b2"]),
    ] {
        for version in versions {
            assert_eq!(codes(registry, "a", version, ""), (vec![], 1), "{registry} {version}");
        }
    }
    for (argument, errors) in [
        (r#"{"type":"named","name":"--sec","value":"open","isSecret":true}"#, vec!["secret_in_entry"]),
        (r#"{"type":"positional","value":"open","isSecret":true}"#, vec!["secret_in_entry"]),
        (r#"{"type":"positional","value":"{secret}","isSecret":true}"#, vec![]),
        (r#"{"type":"positional","default":"open","isSecret":true}"#, vec!["secret_in_entry"]),
        (r#"{"type":"positional","value":"open","isSecret":false}"#, vec![]),
    ] {
        let more = format!(r#","packageArguments":[{argument}]"#);
        assert_eq!(codes("npm", "a", "1.2.3", &more).0, errors, "{argument}");
    }
}

#[test]
fn defaults_of_variables_and_plain_values_are_used() {
    let package = |rest: &str| {
        let text = format!(
            r#"{{"name":"a/b","version":"1.2.3","packages":[{{"registryType":"npm","identifier":"b",{rest}}}]}}"#
        );
        read("server.json", &text)
    };
    for (arguments, expect, note) in [
        (r#"{"value":"h.{r}.x","variables":{"r":{"default":"eu"}}}"#, "npx -y b@1.2.3 h.eu.x", None),
        (
            r#"{"name":"--r","value":"{r}","variables":{"r":{"value":"a b"}}}"#,
            "npx -y b@1.2.3 --r 'a b'",
            None,
        ),
        (
            r#"{"value":"{r}","variables":{"r":{"isRequired":true}}}"#,
            "npx -y b@1.2.3",
            Some("argument_missing"),
        ),
        (
            r#"{"value":"{r}","variables":{"r":{"default":"x","isSecret":true}}}"#,
            "npx -y b@1.2.3",
            Some("argument_missing"),
        ),
    ] {
        let found = package(&format!(r#""packageArguments":[{arguments}]"#));
        assert_eq!(found.tools[0].runtime.as_ref().unwrap().command, expect, "{arguments}");
        let notes: Vec<&str> = found.notes.iter().map(|note| note.code.as_str()).collect();
        assert_eq!(notes.contains(&"argument_missing"), note.is_some(), "{arguments}");
    }
    let found = package(
        r#""environmentVariables":[{"name":"DATA","default":"/srv/{d}","variables":{"d":{"default":"x"}}},
            {"name":"API_KEY","default":"abc"},{"name":"SECRET_WORD","isSecret":true,"value":"abc"},{"name":"MODE"}]"#,
    );
    let runtime = found.tools[0].runtime.as_ref().unwrap();
    assert_eq!(runtime.env, [("DATA".to_owned(), "/srv/x".to_owned())].into());
    assert_eq!(runtime.env_labels, ["API_KEY", "SECRET_WORD", "MODE"]);
    assert_eq!(runtime.home, Some(crate::RuntimeHome::Private));
}

#[test]
fn a_manifest_says_what_is_missing() {
    let first = |text: &str| read("server.json", text).errors.first().map(|error| error.message.clone());
    let schema =
        r#""$schema":"https://static.modelcontextprotocol.io/schemas/2025-09-29/server.schema.json""#;
    for text in [
        format!(r#"{{{schema},"name":"a/b","version":"1.0.0"}}"#),
        r#"{"name":"a/b","packages":[]}"#.to_owned(),
    ] {
        assert!(first(&text).unwrap().contains("neither `packages` nor `remotes`"), "{text}");
    }
    let nuget = r#"{"name":"a/b","packages":[{"registryType":"nuget","identifier":"b","version":"1.0.0"}]}"#;
    assert!(first(nuget).unwrap().ends_with("it has `nuget`"));
}

#[test]
fn defaults_of_a_remote_server_are_used() {
    let found = read(
        "server.json",
        r#"{"name":"a/b","remotes":[{"type":"sse","url":"https://{region}.acme.example/mcp",
            "variables":{"region":{"default":"eu-1"}},
            "headers":[{"name":"X-Zone","value":"a"},{"name":"X-Api-Key","isSecret":true}]}]}"#,
    );
    let runtime = found.tools[0].runtime.as_ref().unwrap();
    assert_eq!(runtime.url.as_deref(), Some("https://eu-1.acme.example/mcp"));
    let header = |name: &str| runtime.headers[name].clone();
    assert_eq!((header("X-Zone"), header("X-Api-Key")), ("a".to_owned(), "{B_X_API_KEY}".to_owned()));
    let fields: Vec<&str> = found.notes.iter().map(|note| &*note.field).collect();
    assert_eq!(fields, ["b.remotes[1].headers.X-Api-Key"]);
}

#[test]
fn an_image_is_started_without_network() {
    let text = |identifier: &str, version: &str| {
        format!(
            r#"{{"name":"a/b","packages":[{{"registryType":"oci","identifier":"{identifier}"{version},
                "environmentVariables":[{{"name":"KEY","isSecret":true}}]}}]}}"#
        )
    };
    let run = "docker run --rm -i --network none -e KEY";
    let digest = format!("sha256:{}", "a".repeat(64));
    for (identifier, version, expect) in [
        ("ghcr.io/a/b:1.0".to_owned(), "", Some(format!("{run} ghcr.io/a/b:1.0"))),
        ("localhost:5000/b".to_owned(), r#","version":"2.1""#, Some(format!("{run} localhost:5000/b:2.1"))),
        (format!("ghcr.io/a/b@{digest}"), "", Some(format!("{run} ghcr.io/a/b@{digest}"))),
        ("ghcr.io/a/b".to_owned(), "", None),
        ("ghcr.io/a/b:latest".to_owned(), "", None),
        ("-v/:/x".to_owned(), r#","version":"1""#, None),
    ] {
        let found = read("server.json", &text(&identifier, version));
        let command =
            found.tools.first().and_then(|found| found.runtime.as_ref()).map(|found| &found.command);
        assert_eq!(command, expect.as_ref(), "{identifier} {:?}", found.errors);
    }
    let text = text("ghcr.io/a/b:1.0", "");
    let mut found = read("server.json", &text).tools.remove(0);
    let runtime = found.runtime.take().unwrap();
    let of_network = Tool {
        command: Some(runtime.command.clone()),
        runtime_id: Some("b".to_owned()),
        mcp_tool_name: Some("x".to_owned()),
        effects: vec!["remote-read".to_owned()],
        ..found.tool
    };
    let tools = Catalog::new(vec![of_network], Vec::new());
    let opened = tools.connect(&Runtimes::new(vec![runtime], Vec::new()));
    assert_eq!(opened.tools()[0].command.as_deref(), Some("docker run --rm -i -e KEY ghcr.io/a/b:1.0"));
    let none = Registrations::read("server.json", text.as_bytes(), Level::Project, None);
    assert!(none.errors[0].message.contains("needs docker or podman"));
}
