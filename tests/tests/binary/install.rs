//! `tools install`: a queued call whose result depends on whether the tool exists afterwards.

#![allow(clippy::unwrap_used, reason = "a test fails when it cannot continue")]
#![allow(clippy::disallowed_methods, reason = "tests set up files and look at what the binary left")]

use std::fs;
use std::os::unix::fs::PermissionsExt;

use brigade_tests::Site;
use serde_json::{Value, json};

const POLICY: &str = "allowed_families = [\"script\"]\n\
    allowed_effects = [\"local-read\", \"local-write\", \"network\", \"install\"]\n[sandbox]\nmode = \"enforce\"\n";

/// An installer that puts the program where the entry expects it.
const INSTALLER: &str =
    "#!/bin/sh\nmkdir -p \"$(dirname \"$1\")\" && printf '#!/bin/sh\\n' > \"$1\" && chmod +x \"$1\"\n";

/// A site whose tool `yq` is missing, with an installer on PATH.
fn site(install: &str) -> Site {
    let site = Site::empty();
    site.workspace.write(
        ".brigade/tools.toml",
        format!(
            "[[tool]]\nid = \"yq\"\nname = \"yq\"\nfamily = \"script\"\ncommand = \"vendor/yq\"\n\
             source = {{ kind = \"cli\" }}\n[tool.install]\n{install}\n"
        ),
    );
    site.workspace.write(".brigade/tools/policy.toml", POLICY);
    let bin = site.beside("bin");
    fs::create_dir_all(&bin).unwrap();
    for (name, text) in
        [("fetcher", INSTALLER), ("lazy", "#!/bin/sh\nexit 0\n"), ("broken", "#!/bin/sh\nexit 3\n")]
    {
        let path = bin.join(name);
        fs::write(&path, text).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    }
    let path = format!("{}:/usr/bin:/bin", bin.display());
    site.env("PATH", path)
}

const ONE: &str = "command = [\"nowhere-installer vendor/yq\", \"fetcher vendor/yq\", \"lazy vendor/yq\"]\ncheck = \"test -x vendor/yq\"";

fn call_of(document: &Value) -> String {
    document["queued"][0]["call_id"].as_str().unwrap().to_owned()
}

/// Approves and runs a call; returns the receipt.
#[track_caller]
fn run(site: &Site, id: &str, code: i32) -> Value {
    site.json(["call", "approve", id]).expect(0);
    site.json(["call", "run", id]).expect(code)["receipt"].clone()
}

#[test]
fn an_installation_is_a_call_with_an_approval() {
    let site = site(ONE);
    let document = site.json(["install", "yq"]).expect(0);
    let id = call_of(&document);
    assert_eq!(
        document["queued"],
        json!([{"tool_id": "yq", "call_id": id, "status": "pending", "command": "fetcher vendor/yq",
            "program": "fetcher", "created": true}])
    );
    assert_eq!((&document["queued_count"], &document["blocked_count"]), (&json!(1), &json!(0)));
    assert!(!site.workspace.join("vendor").exists());
    let call = site.json(["call", "show", id.as_str()]).expect(0);
    assert_eq!(call["call"]["kind"], "install");
    assert_eq!(call["call"]["family"], "script");
    assert_eq!(call["call"]["contract"]["effects"], json!(["install", "network", "local-write"]));
    assert_eq!(call["call"]["contract"]["approval_mode"], "always");
    // A repeated request returns the same call.
    let again = site.json(["install", "yq"]).expect(0);
    assert_eq!((call_of(&again), &again["queued"][0]["created"]), (id.clone(), &json!(false)));
    // A dry run shows what the real command would do (issue 15).
    let dry = site.json(["install", "yq", "--dry-run"]).expect(0);
    assert_eq!((call_of(&dry), &dry["queued"][0]["status"]), (id.clone(), &json!("pending")));
    let receipt = run(&site, &id, 0);
    assert_eq!(receipt["status"], "completed", "{receipt:#}");
    assert_eq!(receipt["install"]["before"], "missing");
    assert_eq!(receipt["install"]["after"], "available");
    assert!(receipt["install"]["program"].as_str().unwrap().ends_with("vendor/yq"));
    assert_eq!(receipt["install"]["version"], Value::Null);
    // An installation is not a use or run of the tool, but is counted separately (issue 15).
    for words in [&["stats", "yq"][..], &["stats"]] {
        let counted = site.json(words).expect(0)["tools"][0].clone();
        assert_eq!(
            (&counted["id"], &counted["runs"], &counted["installations"]),
            (&json!("yq"), &json!(0), &json!(1))
        );
    }
    site.json(["run", "verify"]).expect(0);
    let skipped = site.json(["install", "yq"]).expect(0);
    assert_eq!(skipped["skipped"], json!([{"tool_id": "yq", "reason": "available"}]));
    let text = site.tools(["install", "yq"]);
    assert!(text.stdout_text().contains("available"), "{}", text.stdout_text());
}

#[test]
fn the_receipt_has_the_version_that_was_installed() {
    let installer = "#!/bin/sh\nmkdir -p vendor && printf '#!/bin/sh\\necho yq 4.2.1\\n' > vendor/yq && chmod +x vendor/yq\n";
    let site = site("command = \"versioned\"");
    let path = site.beside("bin").join("versioned");
    fs::write(&path, installer).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    let lines = "version = \">=4\"\nversion_command = \"vendor/yq --version\"\n[tool.install]";
    let catalog = site.workspace.read_text(".brigade/tools.toml").replace("[tool.install]", lines);
    site.workspace.write(".brigade/tools.toml", catalog);
    let receipt = run(&site, &call_of(&site.json(["install", "yq"]).expect(0)), 0);
    assert_eq!(receipt["install"]["before"], "missing");
    assert_eq!(receipt["install"]["after"], "available", "{receipt:#}");
    assert_eq!(receipt["install"]["version"], "4.2.1");
    // All commands know the observed version.
    assert_eq!(site.json(["check", "yq"]).expect(0)["tools"][0]["version"]["observed"], "4.2.1");
    site.json(["run", "verify"]).expect(0);
}

#[test]
fn a_check_of_any_shape_judges_an_installation() {
    for (body, code, after) in [("touch done", 0, "available"), ("true", 1, "missing")] {
        let site = site("command = \"any\"\ncheck = \"checker yq\"");
        for (name, text) in [("any", body), ("checker", "test -f done")] {
            let path = site.beside("bin").join(name);
            fs::write(&path, format!("#!/bin/sh\n{text}\n")).unwrap();
            fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
        }
        let catalog = site.workspace.read_text(".brigade/tools.toml").replace("\"vendor/yq\"\n", "\"sh\"\n");
        site.workspace.write(".brigade/tools.toml", catalog);
        let receipt = run(&site, &call_of(&site.json(["install", "yq"]).expect(0)), code);
        assert_eq!(
            (&receipt["install"]["before"], &receipt["install"]["after"]),
            (&json!("unknown"), &json!(after))
        );
    }
}

#[test]
fn an_installer_without_effect_has_failed() {
    let site = site(ONE);
    let lazy = call_of(&site.json(["install", "yq", "--with", "lazy"]).expect(0));
    let receipt = run(&site, &lazy, 1);
    assert_eq!((&receipt["status"], &receipt["exit_code"]), (&json!("failed"), &json!(0)));
    assert_eq!(receipt["install"]["code"], "install_not_effective");
    assert_eq!(receipt["install"]["after"], "missing");
    assert!(receipt["failure"].as_str().unwrap().contains("install_not_effective"));
    assert_eq!(site.status(&lazy), "failed");
    site.json(["run", "verify"]).expect(0);
    let stats = site.json(["stats", "yq"]).expect(0);
    let stats = &stats["tools"][0];
    assert_eq!((&stats["installations"], &stats["failed_installations"]), (&json!(0), &json!(1)));
    // A replay of an installation is an installation.
    let replay = site.json(["run", "replay", receipt["id"].as_str().unwrap()]).expect(0);
    assert_eq!(replay["call"]["kind"], "install");
    let site = self::site("command = \"broken\"");
    let receipt = run(&site, &call_of(&site.json(["install", "yq"]).expect(0)), 1);
    assert_eq!((&receipt["status"], &receipt["exit_code"]), (&json!("failed"), &json!(3)));
    assert_eq!(receipt["install"]["after"], "missing");
}

#[test]
fn all_that_is_missing_is_queued_and_nothing_runs() {
    let site = site(ONE);
    assert_eq!(site.tools(["install"]).code(), Some(2));
    assert_eq!(site.tools(["install", "yq", "--all-missing"]).code(), Some(2));
    site.add_to_catalog(
        "[[tool]]\nid = \"here\"\nname = \"Here\"\nfamily = \"script\"\ncommand = \"sh\"\n\
         [tool.install]\ncommand = \"fetcher x\"\n\
         [[tool]]\nid = \"off\"\nname = \"Off\"\nfamily = \"script\"\nenabled = false\ncommand = \"vendor/off\"\n\
         [tool.install]\ncommand = \"fetcher vendor/off\"\n",
    );
    let dry = site.json(["install", "--all-missing", "--dry-run"]).expect(0);
    assert_eq!((&dry["dry_run"], &dry["queued"][0]["status"]), (&json!(true), &json!("would-queue")));
    assert_eq!(site.json(["call", "list"]).expect(0)["calls"], json!([]));
    let document = site.json(["install", "--all-missing"]).expect(0);
    assert_eq!(document["queued_count"], 1);
    assert_eq!(document["queued"][0]["tool_id"], "yq");
    assert!(!site.workspace.join("vendor").exists());
    // A disabled entry is only installed by name.
    let id = call_of(&site.json(["install", "off"]).expect(0));
    assert_eq!(run(&site, &id, 0)["install"]["after"], "available");
}

#[test]
fn writing_elsewhere_needs_its_paths_in_the_policy() {
    for (policy, after) in
        [("", "missing"), ("[sandbox.install]\nwrite_paths = [\"ELSEWHERE\"]\n", "available")]
    {
        let site = Site::empty();
        let elsewhere = site.beside("elsewhere");
        fs::create_dir_all(&elsewhere).unwrap();
        let target = elsewhere.join("yq").display().to_string();
        drop(site);
        let site = self::site(&format!("command = \"fetcher {target}\"\ncheck = \"test -x {target}\""));
        let elsewhere = elsewhere.display().to_string();
        fs::create_dir_all(&elsewhere).unwrap();
        let catalog = site.workspace.read_text(".brigade/tools.toml").replace("\"vendor/yq\"\n", "\"sh\"\n");
        site.workspace.write(".brigade/tools.toml", catalog);
        site.add_to_policy(&policy.replace("ELSEWHERE", &elsewhere));
        let id = call_of(&site.json(["install", "yq"]).expect(0));
        let receipt = run(&site, &id, if after == "available" { 0 } else { 1 });
        assert_eq!(receipt["install"]["after"], after, "{receipt:#}");
        let told = (after == "missing").then(|| {
            json!([format!(
                "denied: writing {target}; what it needs outside of the workspace belongs in write_paths of \
                 [sandbox.install] in .brigade/tools/policy.toml"
            )])
        });
        assert_eq!(receipt["warnings"], told.unwrap_or_default(), "{receipt:#}");
        let _ = fs::remove_dir_all(elsewhere);
    }
}

/// Issue 15: an agent must not get more tools through a program that it may run, confined or not.
#[test]
fn a_program_of_a_run_makes_no_decisions() {
    let site = Site::script("");
    site.workspace.replace(
        ".brigade/tools/policy.toml",
        "allowed_effects = [",
        "allowed_effects = [\"install\", ",
    );
    let absent =
        "command = \"vendor/yq\"\nsource = { kind = \"cli\" }\ninstall = { command = \"sh x vendor/yq\" }\n";
    site.add_to_catalog(&format!("[[tool]]\nid = \"yq\"\nname = \"yq\"\nfamily = \"script\"\n{absent}"));
    site.workspace.write("mine.toml", "[[tool]]\nid = \"mine\"\nname = \"Mine\"\nfamily = \"script\"\n");
    site.workspace
        .write(".cursor/mcp.json", r#"{"mcpServers": {"found": {"command": "sh", "args": ["x.sh"]}}}"#);
    let binary = brigade_testkit::brigade_binary().display().to_string();
    let pending = call_of(&site.json(["install", "yq"]).expect(0));
    let asked = [
        "register mine.toml".to_owned(),
        "register mcp:found --level user".to_owned(),
        "import mcp found".to_owned(),
        "observe tool --write".to_owned(),
        "install yq".to_owned(),
        format!("call approve {pending}"),
        format!("call run {pending}"),
    ];
    let script: String = asked
        .iter()
        .map(|words| {
            format!(
                "env -i PATH=/usr/bin:/bin HOME=\"$PWD/home\" {binary} tools {words} --json\necho \"=$?\"\n"
            )
        })
        .collect();
    site.workspace.write("bin/tool.sh", script);
    let before = site.workspace.read_text(".brigade/tools.toml");
    let receipt = site.receipt_of("tool", "{}");
    let said = site.log_text(&receipt, "stdout");
    assert_eq!(said.matches("\"inside_a_run\"").count(), asked.len(), "{said}");
    assert_eq!(said.lines().filter(|line| *line == "=1").count(), asked.len(), "{said}");
    assert_eq!(site.workspace.read_text(".brigade/tools.toml"), before);
    assert!(!site.workspace.exists("home") && !site.workspace.exists(".brigade/tools/runtimes.toml"));
    assert_eq!(site.status(&pending), "pending");
    // A person outside of runs can do all of it.
    site.json(["register", "mine.toml"]).expect(0);
    site.json(["call", "reject", &pending, "--reason", "seen"]).expect(0);
}

#[test]
fn installation_with_bound_value_is_masked() {
    let site =
        site("command = [\"fetcher vendor/yq Zq7tail-EXAMPLE\", \"fetcher vendor/yq Zq8tail-EXAMPLE\"]");
    site.add_to_policy("[env_bindings]\nA = \"ONE\"\nB = \"TWO\"\n");
    let site = site.env("ONE", "Zq7tail-EXAMPLE").env("TWO", "Zq8tail-EXAMPLE");
    let document = site.json(["install", "yq"]).expect(0);
    assert_eq!(document["queued"][0]["command"], "fetcher vendor/yq [redacted]");
    let receipt = run(&site, &call_of(&document), 0);
    assert_eq!(
        (&receipt["status"], &receipt["command_label"]),
        (&json!("completed"), &json!("fetcher vendor/yq [redacted]"))
    );
    site.assert_nowhere(b"tail-EXAMPLE", &[".brigade/tools.toml"]);
    // A replay queues the same command, even if another command has the same masked form.
    fs::remove_file(site.workspace.join("vendor/yq")).unwrap();
    let replayed = site.json(["run", "replay", receipt["id"].as_str().unwrap()]).expect(0);
    assert_eq!(replayed["call"]["contract_fingerprint"], receipt["contract_fingerprint"]);
}
