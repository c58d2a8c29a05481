use proptest::prelude::*;

use super::*;
use crate::harness;
use brigade_catalog::ServerTransport;

const SECRET: &str = "hunter2EXAMPLE";

/// Reads a text as the first file of a harness with this syntax.
fn read_in(label: &str, extent: Extent, text: &[u8]) -> Reading {
    let harness = harness(label).unwrap();
    let config = harness.configs().into_iter().find(|config| config.extent == extent).unwrap();
    let source = Source { harness, extent, path: "/f", workspace: "/w" };
    read_config(&source, &config, text)
}

fn read(label: &str, text: &str) -> Reading {
    read_in(label, Extent::User, text.as_bytes())
}

/// Reads the only server in a text.
#[track_caller]
fn only(label: &str, text: &str) -> DiscoveredEntry {
    let reading = read(label, text);
    assert_eq!(reading.entries.len(), 1, "{reading:?}");
    reading.entries.into_iter().next().unwrap()
}

fn codes(reading: &Reading) -> Vec<(&str, usize)> {
    reading.issues.iter().map(|issue| (issue.code.code(), issue.line.unwrap_or(0))).collect()
}

/// The entry of one server in the usual form.
fn server(members: &str) -> DiscoveredEntry {
    only("cursor", &format!(r#"{{"mcpServers": {{"a": {{{members}}}}}}}"#))
}

/// Returns the codes of the issues of one server in the usual form.
fn troubles(label: &str, value: &str) -> Vec<String> {
    let reading = read(label, &format!(r#"{{"mcpServers": {{"a": {value}}}}}"#));
    reading.issues.iter().map(|issue| issue.code.code().to_owned()).collect()
}

#[test]
fn commands_are_words() {
    assert_eq!(server(r#""command": "npx", "args": ["-y", 1, true]"#).command, ["npx", "-y", "1", "true"]);
    assert_eq!(server(r#""command": "npx -y x", "args": ["z"]"#).command, ["npx", "-y", "x", "z"]);
    assert_eq!(server(r#""command": "/My Apps/x""#).command, ["/My Apps/x"]);
    assert_eq!(server(r#""command": "npx", "args": "-y x""#).command, ["npx", "-y", "x"]);
    assert_eq!(server(r#""command": ["a", "b c"]"#).command, ["a", "b c"]);
    assert_eq!(troubles("cursor", r#"{"command": "npx -y x"}"#), ["command_in_one_text"]);
    assert_eq!(troubles("cursor", r#"{"command": "npx", "args": "x"}"#), ["field_invalid"]);
    assert_eq!(troubles("cursor", r#"{"command": 5, "url": "https://h/"}"#), ["field_invalid"]);
}

#[test]
fn secrets_are_reported_and_not_fingerprinted() {
    let entry = |words: &str| server(&format!(r#""command": "x", "args": {words}"#));
    for (words, at) in [
        (r#"["-DAPI_KEY=V1"]"#, 1),
        (r#"["--dbpass=V1"]"#, 1),
        (r#"["--pass", "V1"]"#, 2),
        (r#"["root:V1@tcp(h)/d"]"#, 1),
        (r#"["--cookie", "sid=V1"]"#, 2),
        (r#"["{\"headers\":{\"A\":\"V1\"}}"]"#, 1),
        (r#"["--jwt", "V1"]"#, 2),
        (r#"["--authtoken=V1"]"#, 1),
        (r#"["--mytoken=V1"]"#, 1),
        (r#"["accesstoken=V1"]"#, 1),
        (r#"["-basic", "me:V1"]"#, 2),
        (r#"["--basic", "me", "V1"]"#, 3),
        (r#"["--PAT=V1"]"#, 1),
        (r#"["Bearer", "V1"]"#, 2),
        (r#"["[{\"name\": \"X\", \"value\": \"V1\"}]"]"#, 1),
    ] {
        let (one, other) = (entry(words), entry(&words.replace("V1", "hunter2")));
        assert!(!one.command.join(" ").contains("V1"), "{words}");
        assert_eq!(one.literal_secrets, [format!("command[{at}]")], "{words}");
        assert_eq!((one.fingerprint, one.command), (other.fingerprint, other.command), "{words}");
    }
    let entry = entry(r#"["${ghp_abcdefCNRY0123456789abcdefABCDEF0123}"]"#);
    assert!(!format!("{entry:?}").contains("CNRY"), "{entry:?}");
    assert_eq!(
        (entry.unresolved, entry.literal_secrets),
        (vec!["${…}".to_owned()], vec!["command[1]".to_owned()])
    );
}

#[test]
fn ordinary_words_are_not_secrets() {
    let words =
        r#"["--key=primary", "--jwt=none", "pkg:npm/x@next", "--user", "node:node", "--password", "none"]"#;
    let entry =
        server(&format!(r#""command": "x", "args": {words}, "env": {{"SID": "ORCL", "PASSAGE": "q1"}}"#));
    assert_eq!(entry.literal_secrets, [] as [&str; 0], "{:?}", entry.command);
    assert!(!entry.command.join(" ").contains("[redacted]"), "{:?}", entry.command);
}

#[test]
fn secrets_of_variables_are_named_in_every_form() {
    for (env, keys) in [
        (r#"{"GITHUB_PAT": "q1", "SID": "d41d8cd9"}"#, &["env.GITHUB_PAT", "env.SID"][..]),
        (r#"[{"name": "API_KEY", "value": "q1"}, {"name": "MODE", "value": "q1"}]"#, &["env[0]"]),
        (r#"["MODE=q1", "API_KEY=q1"]"#, &["env[1]"]),
    ] {
        let entry = server(&format!(r#""command": "x", "env": {env}"#));
        assert_eq!(entry.literal_secrets, keys, "{env}");
        assert!(!format!("{entry:?}").contains("q1"), "{entry:?}");
    }
}

#[test]
fn a_secret_as_the_name_of_a_server_is_not_shown() {
    let token = |part: &str| format!("ghp_{}", part.repeat(9));
    let of = |one: &str, two: &str| {
        let text = format!(
            r#"{{"mcpServers": {{"{one}": {{"command": "x"}}, "{two}": {{"command": "y"}}, "c": {{"command": "z"}}}}}}"#
        );
        read("cursor", &text)
    };
    let reading = of(&token("a1B2"), &token("C3d4"));
    let said = format!("{reading:?}");
    assert!(!said.contains("a1B2") && !said.contains("C3d4"), "{said}");
    let ids: Vec<&str> = reading.entries.iter().map(|entry| entry.id.as_str()).collect();
    assert_eq!(ids, ["mcp:[redacted]", "mcp:[redacted]-2", "mcp:c"]);
    let entry = &reading.entries[0];
    assert_eq!(entry.literal_secrets, ["name"]);
    assert_eq!(entry.origins[0].key_path.as_deref(), Some(r#"mcpServers["[redacted]"]"#));
    assert_eq!(reading.launches[0].left_out().len(), 1);
    assert_eq!(reading.entries, of(&token("E5f6"), &token("g7H8")).entries);
}

#[test]
fn an_invalid_server_is_an_issue_without_entry() {
    for value in ["null", "\"npx\"", "[]", "5"] {
        assert_eq!(troubles("cursor", value), ["server_invalid"], "{value}");
    }
    for value in ["{}", r#"{"command": ""}"#, r#"{"args": ["x"]}"#, r#"{"url": ""}"#, r#"{"type": "stdio"}"#]
    {
        let reading = read("cursor", &format!("{{\"mcpServers\": {{\n\"a\": {value}}}}}"));
        assert_eq!(
            (codes(&reading), reading.entries.len()),
            (vec![("server_without_command", 2)], 0),
            "{value}"
        );
        assert_eq!(reading.issues[0].entry_id.as_deref(), Some("mcp:a"));
    }
    for url in ["not a url", "ftp://h.example/", "https://", "https://:80/x"] {
        let found = read("cursor", &format!(r#"{{"mcpServers": {{"a": {{"url": "{url}"}}}}}}"#));
        let issues: Vec<_> = found.issues.iter().map(|issue| issue.code.code()).collect();
        assert_eq!(issues, ["field_invalid"], "{url}");
    }
    let both = read("cursor", r#"{"mcpServers": {"a": {"command": "x", "url": "https://h/"}}}"#);
    assert_eq!(
        (codes(&both), both.entries[0].transport.map(ServerTransport::as_str)),
        (vec![("server_ambiguous", 1)], Some("stdio"))
    );
}

#[test]
fn names_may_be_anything() {
    let text = "{\"mcpServers\": {\n\"a/b c.d\": {\"command\": \"x\"},\n\"e\\u001b[2J\": {\"command\": \"y\"},\n\
                \"f\": {\"command\": \"old\"},\n\"f\": {\"command\": \"new\", \"command\": \"newer\"},\n\"\": {}}}";
    let reading = read("cursor", text);
    let found: Vec<(&str, &str)> =
        reading.entries.iter().map(|entry| (entry.id.as_str(), entry.command[0].as_str())).collect();
    assert_eq!(found, [("mcp:a/b c.d", "x"), ("mcp:e\u{1b}[2J", "y"), ("mcp:f", "newer")]);
    assert_eq!(
        codes(&reading),
        [("name_unusual", 3), ("duplicate_key", 4), ("duplicate_key", 5), ("server_invalid", 6)]
    );
    assert_eq!(reading.entries[0].origins[0].key_path.as_deref(), Some(r#"mcpServers["a/b c.d"]"#));
    assert_eq!(reading.entries[2].origins[0].key_path.as_deref(), Some("mcpServers.f"));
}

#[test]
fn values_are_never_kept() {
    let text = format!(
        r#"{{"mcpServers": {{"a": {{
            "command": "docker", "args": ["run", "-e", "PLAIN={SECRET}", "--env=API_KEY={SECRET}", "--token", "{SECRET}",
                "https://me:{SECRET}@h.example/{SECRET}?{SECRET}#x", "postgresql://u:{SECRET}@h/{SECRET}",
                "git+https://{SECRET}@github.com/a/b?{SECRET}", "${{API_KEY:-{SECRET}}}"],
            "env": {{"PLAIN": "{SECRET}", "API_KEY": "{SECRET}", "REF": "${{X:-{SECRET}}}", "N": 5}},
            "headers": {{"Authorization": "Bearer {SECRET}", "X-Plain": "{SECRET}"}},
            "url": "https://me:{SECRET}@h.example:8443/{SECRET}?api_key={SECRET}",
            "auth": {{"client_secret": "{SECRET}"}}, "type": "stdio"
        }}}}}}"#
    );
    let reading = read("cursor", &text);
    let entry = &reading.entries[0];
    assert!(!format!("{reading:?}").contains(SECRET), "{reading:?}");
    assert_eq!(entry.env_labels, ["API_KEY", "N", "PLAIN", "REF"]);
    assert_eq!(entry.header_names, ["Authorization", "X-Plain"]);
    assert_eq!(entry.url_host.as_deref(), Some("h.example:8443"));
    assert_eq!(
        entry.command[..9],
        [
            "docker",
            "run",
            "-e",
            "PLAIN=[redacted]",
            "--env=API_KEY=[redacted]",
            "--token",
            "[redacted]",
            "https://h.example/[redacted]",
            "postgresql://h/[redacted]"
        ]
    );
    assert_eq!(entry.command[9], "git+https://github.com/a/b");
    for key in
        ["auth.client_secret", "env.API_KEY", "headers.Authorization", "url", "command[4]", "command[6]"]
    {
        assert!(
            entry.literal_secrets.iter().any(|found| found == key),
            "{key} in {:?}",
            entry.literal_secrets
        );
    }
    assert!(!entry.literal_secrets.contains(&"env.PLAIN".to_owned()), "{:?}", entry.literal_secrets);
    assert_eq!(entry.unknown_keys, ["auth"]);
    // The fingerprint does not depend on the value.
    let other = read("cursor", &text.replace(SECRET, "correct4EXAMPLE"));
    assert_eq!(other.entries[0].fingerprint, entry.fingerprint);
    let other = read("cursor", &text.replace("h.example:8443", "i.example"));
    assert_ne!(other.entries[0].fingerprint, entry.fingerprint);
}

/// However a command spells a value, nothing that is read contains it or depends on it.
#[test]
fn values_in_commands_are_never_kept() {
    let read_with = |value: &str, args: &str| {
        let args = args.replace("VALUE", value);
        read("cursor", &format!(r#"{{"mcpServers": {{"a": {{{args}}}}}}}"#))
    };
    for args in [
        r#""command": "docker", "args": ["run", "-e", "DBPW=VALUE", "img"]"#,
        r#""command": "docker", "args": ["run", "-eDBPW=VALUE", "img"]"#,
        r#""command": "podman", "args": ["run", "-ie", "DBPW=VALUE", "img"]"#,
        r#""command": "nerdctl", "args": ["container", "run", "--env=t=VALUE", "img"]"#,
        r#""command": "docker", "args": ["run", "--strange", "--env", "t=VALUE", "img", "-e", "u=VALUE"]"#,
        r#""command": "env", "args": ["t=VALUE", "npx", "x"]"#,
        r#""command": "uvx", "args": ["mcp-proxy", "--headers", "X-Key", "VALUE"]"#,
        r#""command": "uvx", "args": ["mcp-proxy", "-e", "MY_VAR", "VALUE", "srv"]"#,
        r#""command": "npx", "args": ["-y", "x", "--key", "VALUE"]"#,
        r#""command": "npx", "args": ["pg", "postgresql://me:VALUE#x@h/app"]"#,
        r#""command": "npx", "args": ["pg", "postgresql://me:p VALUE@h/app"]"#,
        r#""command": "npx cross-env t=VALUE npx x""#,
        r#""command": "sh", "args": ["-c", "t=VALUE npx x"]"#,
        r#""command": "npx", "args": ["mcp-remote", "https://h/VALUE/mcp?x=VALUE"]"#,
        r#""command": "npx", "args": ["mcp-remote", "https://h/", "--header", "X-Org-Id: VALUE"]"#,
        r#""command": "npx", "args": ["mcp-remote", "--header", "Authorization: Bearer VALUE"]"#,
    ] {
        let reading = read_with("CANARY1one2", args);
        assert!(!format!("{reading:?}").contains("CANARY"), "{reading:?}");
        // A launch does not show the values either.
        assert!(reading.launches.iter().all(|launch| !launch.words().join(" ").contains("CANARY")), "{args}");
        let other = read_with(SECRET, args);
        assert_eq!(reading.entries[0].fingerprint, other.entries[0].fingerprint, "{args}");
        assert_eq!(reading.entries[0].command, other.entries[0].command, "{args}");
    }
}

#[test]
fn a_container_variable_is_registered_by_name() {
    let text = r#"{"mcpServers": {"a": {"command": "docker", "env": {"A": "1"}, "args":
        ["run", "-i", "-e", "A=1", "-eB=hunter2", "--env=API_KEY=hunter2", "-ie", "C=${X}", "img", "-e", "D=1"]}}}"#;
    let reading = read("cursor", text);
    let launch = &reading.launches[0];
    assert_eq!(
        launch.words(),
        [
            "docker",
            "run",
            "-i",
            "-e",
            "A",
            "-eB",
            "--env=API_KEY",
            "-ie",
            "C=${X}",
            "img",
            "-e",
            "[redacted]"
        ]
    );
    assert_eq!(launch.variables(), ["A", "B", "API_KEY"]);
    assert_eq!(launch.not_kept(), [(11, crate::OmittedValue::Value(crate::ValueKind::Variable))]);
    assert_eq!(reading.entries[0].env_labels, ["A", "B", "API_KEY"]);
    assert!(crate::shows_words(&reading.entries[0].command, launch.words()));
}

#[test]
fn omitted_parts_of_a_definition_are_named() {
    let left_out = |members: &str| {
        let reading = read("cursor", &format!(r#"{{"mcpServers": {{"a": {{{members}}}}}}}"#));
        (reading.entries[0].command.join(" "), reading.launches[0].left_out().to_vec())
    };
    let one = |text: &str| vec![text.to_owned()];
    assert_eq!(
        left_out(r#""command": "npx", "args": [{"x": 1}, null, "ok"]"#),
        ("npx ok".to_owned(), one("an element of `args` is not a string"))
    );
    assert_eq!(
        left_out(r#""command": "npx", "args": [1, true, "ok"]"#),
        ("npx 1 true ok".to_owned(), one("an element of `args` is not a string"))
    );
    assert_eq!(left_out(r#""command": "npx", "env": "A=b""#).1, one("`env` is not an object"));
    assert_eq!(left_out(r#""command": "npx", "url": "https://h/""#).1.len(), 1);
    let many = format!(r#""command": "npx", "args": [{}"x"]"#, "\"x\",".repeat(1_000));
    assert_eq!(left_out(&many).1, one("the command has more than 1000 words"));
    let many: Vec<String> = (0..1_001).map(|n| format!(r#""A{n}": """#)).collect();
    let many = format!(r#""command": "npx", "env": {{{}}}"#, many.join(","));
    assert_eq!(left_out(&many).1, one("`env` has more than 1000 names"));
    assert_eq!(left_out(r#""command": "npx 'a""#).1.len(), 1);
    let (command, none) = left_out(r#""command": "npx -y 'a b' x", "args": "'c d'""#);
    assert_eq!((command.as_str(), none.len()), ("npx -y a b x c d", 0));
    assert_eq!(server(r#""command": "npx -y 'a b' x""#).command, ["npx", "-y", "a b", "x"]);
    assert_eq!(server(r#""command": "x", "env": {"A=CANARY": ""}"#).env_labels, ["A=[redacted]"]);
    let headers = server(r#""url": "https://h/x", "headers": {"X-Team: CANARY": "1"}"#).header_names;
    assert_eq!(headers, ["X-Team: [redacted]"]);
}

#[test]
fn default_values_are_not_kept() {
    let reading = read(
        "cursor",
        r#"{"mcpServers": {"a": {"command": "x", "args": ["${V:-CANARY}"], "cwd": "/${W:-CANARY}"}}}"#,
    );
    assert!(!format!("{reading:?}").contains("CANARY"), "{reading:?}");
    assert_eq!(reading.launches[0].words(), ["x", "${V}"]);
    assert_eq!(reading.launches[0].cwd(), Some("/${W}"));
}

#[test]
fn references_are_listed() {
    let entry = server(
        r#""command": "${BIN}", "args": ["$HOME/x", "{env:Y}"], "envFile": ".env",
           "env": {"A": "${input:key}", "PASSWORD": "$(pass show x)", "TOKEN": "${T}"}"#,
    );
    assert_eq!(entry.unresolved, ["${BIN}", "$HOME", "{env:Y}", "${input:key}", "$(…)", "${T}", "envFile"]);
    assert_eq!(entry.literal_secrets, [] as [&str; 0]);
    let spelt = |word: &str| server(&format!(r#""command": "{word}""#)).fingerprint;
    assert_eq!(spelt("${env:X}"), spelt("${X}"));
}

#[test]
fn a_token_instead_of_a_variable_name_is_a_secret() {
    let token = format!("ghp_{}", "a1B2".repeat(9));
    let text = format!(
        "[mcp_servers.a]\nurl = 'https://h/x'\nbearer_token_env_var = '{token}'\n\
         env_http_headers = {{ X = '{token}', Y = 'GOOD' }}\nenv_vars = ['{token}']\n"
    );
    let entry = only("codex", &text);
    let keys = ["env_vars", "bearer_token_env_var", "env_http_headers.X"];
    assert_eq!(
        (entry.literal_secrets.clone(), entry.env_labels.clone()),
        (keys.map(str::to_owned).to_vec(), vec!["GOOD".to_owned()])
    );
    assert!(!format!("{entry:?}").contains(&token));
}

#[test]
fn each_harness_has_its_own_keys() {
    let entry = only("windsurf", r#"{"mcpServers": {"a": {"serverUrl": "https://h/x", "disabled": true}}}"#);
    assert_eq!((entry.url_host.as_deref(), entry.enabled), (Some("h"), false));
    let entry = only("gemini", r#"{"mcpServers": {"a": {"url": "https://h/x", "timeout": 1500}}}"#);
    assert_eq!(
        (entry.transport.map(ServerTransport::as_str), entry.timeout.unwrap().as_f64()),
        (Some("sse"), 1.5)
    );
    let entry = only("gemini", r#"{"mcpServers": {"a": {"httpUrl": "https://h/x", "timeout": 600000}}}"#);
    assert_eq!(
        (entry.transport.map(ServerTransport::as_str), entry.timeout.unwrap().as_i64()),
        (Some("http"), Some(600))
    );
    let entry = only("gemini", r#"{"mcpServers": {"a": {"url": "https://h/x", "type": "http"}}}"#);
    assert_eq!(entry.transport.map(ServerTransport::as_str), Some("http"));
    let entry = only("crush", r#"{"mcp": {"a": {"type": "stdio", "command": "x", "timeout": 120}}}"#);
    assert_eq!(entry.timeout.unwrap().as_i64(), Some(120));
    let entry =
        only("codex", "[mcp_servers.a]\ncommand = 'x'\nheaders = { H = 'v' }\nbearer_token = 'abc'\n");
    assert_eq!(
        (entry.header_names.len(), entry.unknown_keys),
        (0, vec!["bearer_token".to_owned(), "headers".to_owned()])
    );
    assert_eq!(entry.literal_secrets, ["bearer_token"]);
    let entry = only("opencode", r#"{"mcp": {"servers": {"a": {"type": "local", "command": ["x", "y"]}}}}"#);
    assert_eq!(
        (entry.command.join(" "), entry.origins[0].key_path.as_deref()),
        ("x y".to_owned(), Some("mcp.servers.a"))
    );
    let entry = only("opencode", r#"{"mcp": {"servers": {"type": "local", "command": ["x"]}}}"#);
    assert_eq!(entry.id, "mcp:servers");
    let entry =
        only("amp", r#"{"amp.mcpServers": {"a": {"command": "x"}}, "mcpServers": {"b": {"command": "y"}}}"#);
    assert_eq!(entry.origins[0].key_path.as_deref(), Some(r#"["amp.mcpServers"].a"#));
    let entry = only(
        "goose",
        "config:\n  extensions:\n    a:\n      type: stdio\n      cmd: x\n    b: {type: platform}\n",
    );
    assert_eq!((entry.id.as_str(), entry.origins[0].line), ("mcp:a", Some(3)));
    let entry =
        only("copilot", r#"{"mcpServers": {"a": {"type": "local", "command": "x", "tools": ["*"]}}}"#);
    assert_eq!(entry.tools_allowed, [] as [&str; 0]);
    let entry = only(
        "zed",
        r#"{"context_servers": {"a": {"command": {"path": "p", "args": ["q"], "env": {"E": "f"}}}}}"#,
    );
    assert_eq!((entry.command.join(" "), entry.env_labels), ("p q".to_owned(), vec!["E".to_owned()]));
    assert_eq!(troubles("claude", r#"{"url": "https://h/"}"#), ["server_type_unclear"]);
    assert_eq!(troubles("cursor", r#"{"url": "https://h/"}"#), [] as [&str; 0]);
    assert_eq!(
        troubles("cursor", r#"{"url": "https://h/", "type": "carrier-pigeon"}"#),
        ["server_type_unclear"]
    );
}

#[test]
fn lists_of_a_file_switch_servers() {
    let text = r#"{"mcp": {"allowed": ["a", "b"], "excluded": ["b"]},
        "mcpServers": {"a": {"command": "x"}, "b": {"command": "x"}, "c": {"command": "x"}}}"#;
    let enabled: Vec<bool> = read("qwen", text).entries.iter().map(|entry| entry.enabled).collect();
    assert_eq!(enabled, [true, false, false]);
}

#[test]
fn local_servers_are_those_of_this_workspace() {
    let text = br#"{"mcpServers": {"u": {"command": "x"}}, "projects": {
        "/w": {"mcpServers": {"l": {"command": "y"}}}, "/w/inner": {"mcpServers": {"z": {"command": "z"}}}, "/v": null}}"#;
    let reading = read_in("claude", Extent::Local, text);
    assert_eq!(reading.entries[0].origins[0].reference, "mcp:l@claude/local");
    assert_eq!(reading.entries[0].origins[0].key_path.as_deref(), Some(r#"projects["/w"].mcpServers.l"#));
    assert_eq!((reading.entries.len(), reading.issues.len()), (1, 0));
    assert_eq!(read_in("claude", Extent::Local, b"{}").entries, []);
}

#[test]
fn our_own_entry_is_known() {
    let args = r#""args": ["serve", "--stdio", "--as", "a", "--target", "/w"]"#;
    let of = |name: &str, command: &str| {
        let text = format!(r#"{{"mcpServers": {{"{name}": {{"command": "{command}", {args}}}}}}}"#);
        only("cursor", &text).registered_as
    };
    assert_eq!(of("brigade", "/opt/brigade").as_deref(), Some("brigade"));
    assert_eq!((of("other", "brigade"), of("brigade", "npx")), (None, None));
}

#[test]
fn broken_files_have_a_place_and_no_quote() {
    let check = |label: &str, text: &[u8], place: (usize, usize)| {
        let reading = read_in(label, Extent::User, text);
        let at = reading.broken.unwrap_or_else(|| panic!("{label} is read: {reading:?}"));
        assert_eq!((at.line, at.column), place, "{label}");
        assert_eq!((reading.entries.len(), codes(&reading)), (0, vec![("client_file_invalid", place.0)]));
        assert!(!reading.issues[0].message.contains(SECRET), "{reading:?}");
    };
    check("cursor", format!("{{\"a\": 1,\n  \"b\": {SECRET}}}").as_bytes(), (2, 8));
    check("cursor", b"\xff\xfe{\x00}\x00", (1, 1));
    check("cursor", b"{\n\"a\": \"\xff\"}", (2, 7));
    check("cursor", b"{\"mcpServers\": [1]}", (1, 16));
    check("codex", format!("a = 1\nb = {SECRET}").as_bytes(), (2, 5));
    check("codex", b"mcp_servers = 5", (1, 15));
    check("goose", format!("a: 1\nb: [{SECRET}\n").as_bytes(), (3, 1));
    check("goose", b"- 1", (1, 1));
    check("continue", b"mcpServers: yes", (1, 13));
    for label in ["cursor", "codex", "goose"] {
        for text in ["", "\u{feff}", "\n\n"] {
            assert_eq!(read(label, text), Reading::default(), "{label}");
        }
    }
}

#[test]
fn unsupported_comments_are_reported() {
    let text = "\u{feff}{ // mine\n\"mcpServers\": {\"a\": {\"command\": \"x\",}}}";
    let reading = read("cursor", text);
    assert_eq!(
        (codes(&reading), reading.entries.len(), reading.broken),
        (vec![("client_file_loose", 1)], 1, None)
    );
    let zed = text.replace("mcpServers", "context_servers");
    assert_eq!(codes(&read("zed", &zed)), []);
    assert_eq!(codes(&read("gemini", text)), [("client_file_loose", 1)]);
    assert_eq!(codes(&read("gemini", &text.replace(",}", "}"))), []);
    let plain = "\u{feff}{\"mcpServers\": {\"a\": {\"command\": \"x\"}}}";
    assert_eq!(codes(&read("cursor", plain)), []);
}

#[test]
fn a_broken_file_says_why_and_quotes_nothing() {
    let check = |label: &str, text: &str, place: (usize, usize), why: &str| {
        let reading = read(label, text);
        let issue = &reading.issues[0];
        assert_eq!((issue.message.as_str(), issue.line, issue.column), (why, Some(place.0), Some(place.1)));
        assert!(!format!("{reading:?}").contains(SECRET), "{reading:?}");
    };
    let escape = "not valid TOML: a backslash must be followed by an escape such as `n` or `\\`; in '…' a backslash is itself";
    check("codex", &format!("token = \"{SECRET}\"\npath = \"C:\\{SECRET}\"\n"), (2, 12), escape);
    let unquoted = "not valid TOML: a value is missing, or a string is not quoted";
    check("codex", &format!("token = {SECRET}\n"), (1, 9), unquoted);
    let colon = "not valid YAML: `: ` is not allowed here; put a text that contains it in quotes";
    check("goose", &format!("extensions:\n  a: x: {SECRET}\n"), (2, 7), colon);
    check("cursor", &format!("{{\"mcpServers\": {SECRET}}}"), (1, 16), "expected a value");
    assert_eq!(
        read("codex", &"a = [\n".repeat(200_000)).issues[0].message,
        "not valid TOML: too many values"
    );
}

/// Nothing is built for what is not a server, so a large file with other contents is read.
#[test]
fn a_large_file_is_read() {
    let history = "[0,\n\"x\",{\"a\":[]}],".repeat(400_000);
    let text = format!("{{\"history\": [{history}0], \"mcpServers\": {{\"a\": {{\"command\": \"x\"}}}}}}");
    let reading = read("claude", &text);
    assert_eq!((reading.entries.len(), codes(&reading)), (1, vec![]));
    assert_eq!(reading.entries[0].origins[0].line, Some(400_001));
}

#[test]
fn hostile_files_end_soon() {
    let deep = |open: &str| format!("{{\"mcpServers\": {}", open.repeat(10 << 20 >> 3));
    assert!(read("cursor", &deep("[")).broken.is_some());
    assert!(read("cursor", &deep("{\"a\":")).broken.is_some());
    assert!(read("codex", &format!("a = {}", "[".repeat(1 << 19))).broken.is_some());
    assert!(read("codex", &format!("[{}]", vec!["a"; 1 << 18].join("."))).entries.is_empty());
    assert!(read("codex", &format!("{} = 1", vec!["mcp_servers"; 1 << 15].join("."))).entries.is_empty());
    assert!(read("goose", &"[".repeat(1 << 19)).broken.is_some());
    let keys: String = (0..20_000).map(|index| format!("k{index}: &a{index} {{b: 1}}\n")).collect();
    assert_eq!(read("goose", &keys).entries, []);
    let many: String = (0..5_000).map(|index| format!("\"s{index}\": {{\"command\": \"x\"}},")).collect();
    let many = read("zed", &format!("{{\"context_servers\": {{{many}}}}}"));
    assert_eq!((many.entries.len(), codes(&many)), (MAX_ENTRIES, vec![("too_many_entries", 0)]));
    let wide: String = (0..50_000).map(|index| format!("\"k{index}\": 1,")).collect();
    let wide = read("zed", &format!("{{\"context_servers\": {{\"a\": {{{wide} \"command\": \"x\"}}}}}}"));
    assert_eq!(wide.entries.len(), 1);
    let long = server(&format!(r#""command": "x", "args": ["{}"]"#, "y".repeat(1 << 20)));
    assert!(long.command[1].len() < 10_000);
}

proptest! {
    #[test]
    fn arbitrary_bytes_never_panic(bytes in any::<Vec<u8>>(), text in "[\\[\\]{}:,\"&*a-c \n#!|>'-]{0,60}") {
        for label in ["cursor", "codex", "goose", "continue", "zed"] {
            let _ = read_in(label, Extent::User, &bytes);
            let _ = read_in(label, Extent::User, text.as_bytes());
            let _ = read_in(label, Extent::User, format!("mcpServers:\n- name: {text}").as_bytes());
        }
    }

    #[test]
    fn planted_values_never_show(
        key in "[a-zA-Z_]{1,12}",
        before in "[a-z=:/@?&#${} -]{0,8}",
        after in "[a-z=:/@?&#$ -]{0,8}",
    ) {
        let value = Json::from(format!("{before}Zq9{SECRET}{after}")).to_compact();
        let text = format!(
            r#"{{"mcpServers": {{"s": {{"command": "x", "url": {value}, "env": {{"{key}": {value}}}, "headers": {{"{key}": {value}}}}}}}}}"#
        );
        for label in ["cursor", "gemini", "claude", "copilot"] {
            let shown = format!("{:?}", read(label, &text));
            // The host of a URL remains visible.
            let host = crate::urls::host_of(&format!("{before}Zq9{SECRET}{after}")).unwrap_or_default();
            prop_assert!(host.contains("zq9") || !shown.contains(SECRET), "{}", shown);
        }
    }
}

#[test]
fn too_long_values_are_issues_and_not_read() {
    let long = |part: &str| part.repeat((1 << 20) / part.len());
    for part in ["a ", "${", "a=b ", "-u a:b "] {
        let (in_one, in_list) = (long(part), format!("[\"{}\", \"x\"]", long(part)));
        for text in [format!(r#""command": "{in_one}""#), format!(r#""command": "x", "args": {in_list}"#)] {
            let value = format!("{{{text}}}");
            assert_eq!(troubles("cursor", &value), ["field_invalid"], "{part}");
            let entry = server(&text);
            assert!(entry.command.iter().all(|word| word.len() < 20), "{part}");
        }
        let many = vec![format!("\"{}\"", part.repeat(1_000)); 100].join(",");
        assert_eq!(
            server(&format!(r#""command": "x", "args": [{many}]"#)).command.last().unwrap(),
            "[redacted]"
        );
        let others = format!(r#"{{"command": "x", "env": {{"A": "{in_one}"}}, "other": "{in_one}"}}"#);
        assert_eq!(troubles("cursor", &others), ["field_invalid", "field_invalid"], "{part}");
        assert_eq!(
            troubles("cursor", &format!(r#"{{"url": "https://h/{in_one}"}}"#)).first().unwrap(),
            "field_invalid"
        );
    }
}

#[test]
fn the_contents_of_a_file_are_bounded() {
    let words = vec!["\"A=1\""; 900].join(",");
    let servers: Vec<String> =
        (0..500).map(|n| format!(r#""s{n}": {{"command": "x", "args": [{words}]}}"#)).collect();
    let reading = read("cursor", &format!(r#"{{"mcpServers": {{{}}}}}"#, servers.join(",")));
    assert!((50..100).contains(&reading.entries.len()), "{}", reading.entries.len());
    let last = reading.issues.last().unwrap();
    assert_eq!(last.code.code(), "too_many_entries");
    assert!(
        last.message.starts_with(&format!("{} entries", 500 - reading.entries.len())),
        "{}",
        last.message
    );
}

#[test]
fn keys_without_a_place_are_named() {
    for (label, key) in [
        ("cursor", "alwaysAllow"),
        ("gemini", "trust"),
        ("gemini", "oauth"),
        ("gemini", "authProviderType"),
        ("cline", "autoApprove"),
    ] {
        let entry = only(label, &format!(r#"{{"mcpServers": {{"a": {{"command": "x", "{key}": true}}}}}}"#));
        assert_eq!(entry.unknown_keys, [key], "{label}");
    }
    let entry = only("codex", "[mcp_servers.a]\ncommand = 'x'\nrequired = true\n");
    assert_eq!(entry.unknown_keys, ["required"]);
    // Only one of two timeouts is used.
    let entry =
        only("codex", "[mcp_servers.a]\ncommand = 'x'\nstartup_timeout_sec = 90\ntool_timeout_sec = 7\n");
    assert_eq!(entry.unknown_keys, ["startup_timeout_sec"]);
    let entry = only(
        "continue",
        "mcpServers:\n  - name: k\n    command: c\n    requestOptions: {headers: {A: x}, proxy: 'http://u:CNRYpw@h'}\n",
    );
    assert_eq!(
        (entry.unknown_keys, entry.literal_secrets),
        (vec!["requestOptions.proxy".to_owned()], vec!["requestOptions.proxy".to_owned()],)
    );
    let entry =
        only("zed", r#"{"context_servers": {"a": {"command": {"path": "x", "args": [], "extra": 1}}}}"#);
    assert_eq!(entry.unknown_keys, ["command.extra"]);
    let entry =
        only("goose", "extensions:\n  a:\n    type: stdio\n    name: a\n    cmd: x\n    bundled: true\n");
    assert_eq!(entry.unknown_keys, ["bundled"]);
}

#[test]
fn lower_case_variables_are_unresolved_unless_masked() {
    let entry = only(
        "claude",
        r#"{"mcpServers": {"a": {"command": "x", "args": ["$foo", "--x=$fooBar", "$Foo", "$FOO", "${foo}",
            "--password", "$3cretpass", "--env", "A=$3cretword"]}}}"#,
    );
    assert_eq!(entry.unresolved, ["$FOO", "${foo}", "$foo", "$fooBar", "$Foo"]);
    assert!(!format!("{entry:?}").contains("$3cret"), "{entry:?}");
}

#[test]
fn no_tool_is_not_every_tool() {
    let entry = |tools: &str| {
        only("copilot", &format!(r#"{{"mcpServers": {{"a": {{"type": "local", "command": "x"{tools}}}}}}}"#))
    };
    let (none, all, silent) = (entry(r#", "tools": []"#), entry(r#", "tools": ["*"]"#), entry(""));
    assert_eq!((all.fingerprint, none.tools_allowed.len()), (silent.fingerprint, 0));
    assert_ne!(none.fingerprint, all.fingerprint);
    assert_eq!(troubles("copilot", r#"{"type": "local", "command": "x", "tools": []}"#), ["field_invalid"]);
}

#[test]
fn a_user_before_a_host_is_a_token() {
    let secrets =
        |server: &str| only("claude", &format!(r#"{{"mcpServers": {{"a": {server}}}}}"#)).literal_secrets;
    assert_eq!(secrets(r#"{"type": "http", "url": "https://CNRYT0K3Nq7@h.example/x"}"#), ["url"]);
    assert_eq!(
        secrets(r#"{"command": "npx", "args": ["r", "https://CNRYT0K3Nq7@h.example/x"]}"#),
        ["command[2]"]
    );
    assert!(secrets(r#"{"type": "http", "url": "https://${TOKEN}@h.example/x"}"#).is_empty());
    assert!(secrets(r#"{"command": "uvx", "args": ["git+ssh://git@h.example/x"]}"#).is_empty());
}

#[test]
fn an_unknown_type_is_not_guessed() {
    assert_eq!(troubles("claude", r#"{"type": "ws", "url": "wss://h/"}"#), ["server_type_unclear"]);
    assert_eq!(read("claude", r#"{"mcpServers": {"a": {"type": "ws", "url": "wss://h/"}}}"#).entries, []);
    assert_eq!(troubles("claude", r#"{"type": "ws", "command": "x"}"#), ["server_type_unclear"]);
}
