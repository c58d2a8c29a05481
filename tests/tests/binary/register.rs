//! `tools register` writes the tools of files for a review.

#![allow(clippy::unwrap_used, reason = "a test fails when it cannot continue")]
#![allow(clippy::disallowed_methods, reason = "tests set up files and look at what the binary left")]

use std::fs;

use brigade_tests::Site;
use serde_json::{Value, json};

const SEED: &str = "version: \"1.0\"\nsettings:\n  auto_install: true\ntools:\n  - id: filesystem\n    name: Filesystem\n    source:\n      type: mcp\n      server: filesystem\n      transport: stdio\n      command: uvx mcp-server-filesystem\n    availability: installed\n    install:\n      check: which uvx\n      command: pip install uv\n    colour: red\n  - id: jq\n    name: jq\n    source: {type: cli, command: jq}\n    capabilities: [parse_json]\n";

const KEPT: &str =
    "# mine\n[[tool]]\nid = \"own\" # the first\nname = \"Own\"\nfamily = \"script\"\ncommand = \"sh\"\n";

fn site() -> Site {
    let site = Site::empty();
    site.workspace.write(".brigade/tools.toml", KEPT);
    site
}

fn register(site: &Site, text: &str, name: &str, words: &[&str], code: i32) -> Value {
    let file = site.beside(name);
    fs::write(&file, text).unwrap();
    let file = file.display().to_string();
    let words: Vec<&str> = ["register", &file].into_iter().chain(words.iter().copied()).collect();
    site.json(words).expect(code)
}

fn codes(document: &Value, key: &str) -> Vec<String> {
    let rows = document[key].as_array().unwrap().iter();
    rows.map(|row| row["code"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn tools_of_a_registry_are_added_for_a_review() {
    let site = site();
    let dry = register(&site, SEED, "r.yaml", &["--dry-run"], 0);
    assert_eq!((&dry["registered"][0]["action"], &dry["registered_count"]), (&json!("would-add"), &json!(2)));
    assert_eq!(site.workspace.read_text(".brigade/tools.toml"), KEPT);
    let document = register(&site, SEED, "r.yaml", &[], 0);
    let row = &document["registered"][0];
    assert_eq!(
        (&row["tool_id"], &row["action"], &row["enabled"]),
        (&json!("filesystem"), &json!("add"), &json!(false))
    );
    assert_eq!(
        (&row["family"], &row["source"], &row["runtime_id"]),
        (&json!("mcp"), &json!("mcp"), &json!("filesystem"))
    );
    assert_eq!(codes(&document, "notes"), ["auto_install_ignored", "unknown_key"]);
    let catalog = site.workspace.read_text(".brigade/tools.toml");
    assert!(catalog.starts_with(KEPT), "{catalog}");
    let runtimes = site.workspace.read_text(".brigade/tools/runtimes.toml");
    assert!(runtimes.contains("enabled = false") && runtimes.contains("on_demand = true"), "{runtimes}");
    let shown = site.json(["show", "jq"]).expect(0);
    assert_eq!(
        (&shown["tool"]["enabled"], &shown["tool"]["capabilities"]),
        (&json!(false), &json!(["parse_json"]))
    );
    // A second time, the id is taken. Replacing the entry disables it again.
    assert!(codes(&register(&site, SEED, "r.yaml", &[], 1), "errors").contains(&"id_taken".to_owned()));
    site.workspace.write(".brigade/tools.toml", catalog.replace("enabled = false", "enabled = true"));
    let replaced = register(&site, SEED, "r.yaml", &["--replace"], 0);
    assert_eq!(replaced["registered"][1]["action"], "replace");
    assert_eq!(site.workspace.read_text(".brigade/tools.toml"), catalog);
}

#[test]
fn all_are_written_or_none() {
    let site = site();
    let secret = "tools:\n  - id: good\n    source: {type: cli, command: jq}\n  - id: bad\n    source: {type: cli, command: 'curl --token ghp_0123456789abcdefghijABCDEFGHIJ012345'}\n";
    let document = register(&site, secret, "s.yaml", &[], 1);
    assert_eq!(
        (codes(&document, "errors"), &document["registered"]),
        (vec!["secret_in_entry".to_owned()], &json!([]))
    );
    assert!(!document.to_string().contains("ghp_0123"));
    for field in ["auth_label: TOKEN", "code: [TOKEN]", "projections: {claude: TOKEN}"] {
        let field = field.replace("TOKEN", "ghp_0123456789abcdefghijABCDEFGHIJ012345");
        let entry = format!("id: bad\n{field}\nsource: {{type: cli, command: jq}}\n");
        let document = register(&site, &entry, "t.yaml", &[], 1);
        assert_eq!(codes(&document, "errors"), ["secret_in_entry"], "{document}");
        assert!(!document.to_string().contains("ghp_0123"));
    }
    assert_eq!(site.workspace.read_text(".brigade/tools.toml"), KEPT);
    for (name, text, code) in [
        ("a.yaml", "tools: [", "file_invalid"),
        ("b.yaml", "version: '2.0'\ntools: []\n", "schema_newer"),
        ("c.yaml", "id: own\nsource: {type: cli, command: jq}\n", "id_taken"),
    ] {
        assert_eq!(codes(&register(&site, text, name, &[], 1), "errors"), [code]);
    }
    site.workspace.write(".brigade/tools.toml", "[[tool]\n");
    let broken = register(&site, "id: jq\nsource: {type: cli, command: jq}\n", "d.yaml", &[], 1);
    assert_eq!(codes(&broken, "errors"), ["target_invalid"]);
    assert_eq!(site.workspace.read_text(".brigade/tools.toml"), "[[tool]\n");
}

/// Issue 15: `register` and `discover` use the same rule for secrets in a command.
#[test]
fn secret_beside_a_name_is_refused() {
    let entry = |id: &str, command: &str| {
        let command = Value::from(command);
        format!("[[tool]]\nid = \"{id}\"\nname = \"{id}\"\nfamily = \"script\"\ncommand = {command}\n")
    };
    let site = site();
    for command in [
        "node app.js -e API_KEY hunter2",
        "node app.js --seed-phrase hunter2",
        "node app.js --headers X-Api-Key hunter2",
        r#"node app.js --config '{"headers":{"X-A":"hunter2"}}'"#,
        r#"node app.js --config '{"env":{"A":"hunter2"}}'"#,
        "curl https://e.com/?key=hunter2",
        "git clone https://S3cr3t4hunter2@github.com/a/b",
        "x --openai-key S3cr3t4hunter2",
        "aws configure set aws_secret_access_key hunter2",
    ] {
        let document = register(&site, &entry("t", command), "t.toml", &[], 1);
        assert_eq!(codes(&document, "errors"), ["secret_in_entry"], "{command}");
        assert!(document["errors"][0]["file"].as_str().unwrap().ends_with("t.toml"), "{document}");
        assert!(!document.to_string().contains("hunter2"), "{document}");
    }
    let server = r#"{"name": "io.github.x/weather", "version": "1.0.0", "packages": [{"registryType": "npm",
        "identifier": "@x/weather", "version": "1.2.3", "packageArguments": [{"type": "positional", "value": "-e"},
        {"type": "positional", "value": "API_KEY"}, {"type": "positional", "value": "hunter2"}]}]}"#;
    assert_eq!(codes(&register(&site, server, "server.json", &[], 1), "errors"), ["secret_in_entry"]);
    let ordinary = [
        "nc -u host:53",
        "kubectl config set-context c --user=bob:dev",
        "jq '{token: .token}' f",
        "sed -i 's/password=old/password=new/' f",
        "gcloud secrets versions access latest --secret=my-secret",
        "helm template --set existingSecret=my-secret c",
        "aws ec2 create-tags --tags Key=Name,Value=web",
        "openssl dgst -sha256 -hmac sha256 f",
        "fetch --credentials same-origin",
        "grep -e token -e secret src",
        "git clone https://user@host/x",
        "gpg --passphrase-fd 0",
        "python3 -c 'f(password=getpass())'",
        "printf 'token: %s\\n' x",
        "perl -pe 's/token=\\w+/token=X/' f",
        "go test -run TestToken/secret=empty",
        "echo 'Secret: ready'",
    ];
    let entries = ordinary.iter().enumerate().map(|(at, command)| entry(&format!("t{at}"), command));
    register(&site, &entries.collect::<String>(), "t.toml", &[], 0);
    for (at, command) in ordinary.iter().enumerate() {
        assert_eq!(site.json(["show", &format!("t{at}")]).expect(0)["tool"]["command"], *command);
    }
}

#[test]
fn a_server_of_the_mcp_registry_is_pinned() {
    let site = site();
    let text = r#"{"name": "io.github.x/weather", "description": "W", "version": "1.0.0", "packages": [{"registryType": "npm",
        "identifier": "@x/weather", "version": "1.2.3", "environmentVariables": [{"name": "API_KEY", "isSecret": true}]}]}"#;
    let document = register(&site, text, "server.json", &["--id", "wetter"], 0);
    assert_eq!(document["registered"][0]["runtime_id"], "wetter");
    let runtimes = site.workspace.read_text(".brigade/tools/runtimes.toml");
    assert!(runtimes.contains("npx -y @x/weather@1.2.3"), "{runtimes}");
    assert!(site.workspace.read_text(".brigade/tools.toml").contains("API_KEY"));
    // The user's catalog is outside of the workspace.
    let user =
        register(&site, "id: jq\nsource: {type: cli, command: jq}\n", "u.yaml", &["--level", "user"], 0);
    assert!(user["config_path"].as_str().unwrap().ends_with("brigade/tools.toml"));
    assert!(fs::read_to_string(user["config_path"].as_str().unwrap()).unwrap().contains("id = \"jq\""));
}

#[test]
fn registry_settings_are_kept_in_an_empty_catalog() {
    let site = site();
    let text = |id: &str, truth: bool| {
        format!(
            "version: '1.0'\nsettings: {{fallback_harness: {truth}}}\ntools:\n- id: {id}\n  source: {{type: cli, command: jq}}\n"
        )
    };
    let first = register(&site, &text("a", false), "a.yaml", &[], 0);
    assert_eq!(codes(&first, "notes"), ["harness_tools_set"]);
    let catalog = site.workspace.read_text(".brigade/tools.toml");
    assert!(
        catalog.starts_with(KEPT) && catalog.contains("[registry]\nharness_tools = false\n"),
        "{catalog}"
    );
    assert_eq!(codes(&register(&site, &text("b", false), "b.yaml", &[], 0), "notes"), [""; 0]);
    let other = register(&site, &text("c", true), "c.yaml", &[], 0);
    assert_eq!(codes(&other, "notes"), ["fallback_harness_ignored"]);
    assert_eq!(site.workspace.read_text(".brigade/tools.toml").matches("[[tool]]").count(), 4);
}
