//! Secrets do not reach any file, terminal or document. The tests plant canaries and search everywhere.

#![allow(clippy::disallowed_methods, reason = "tests look at the files that the binary wrote")]

use brigade_testkit::Run;
use brigade_tests::Site;
use serde_json::{Value, json};

const CANARY: &str = "cAnary/4711+secret_VALUE=zz";

const LABEL: &str = r#"env_labels = ["GITHUB_TOKEN"]
"#;

fn base64(bytes: &[u8]) -> String {
    const DIGITS: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::new();
    for chunk in bytes.chunks(3) {
        let number =
            chunk.iter().fold(0u32, |number, byte| number << 8 | u32::from(*byte)) << (8 * (3 - chunk.len()));
        for place in 0..4 {
            let is_there = place <= chunk.len();
            let digit = DIGITS[(number >> (18 - 6 * place)) as usize & 63] as char;
            text.push(if is_there { digit } else { '=' });
        }
    }
    text
}

/// Returns the value itself and all encodings that must be found.
pub(crate) fn forms(secret: &str) -> Vec<String> {
    let hex: String = secret.bytes().map(|byte| format!("{byte:02x}")).collect();
    let url: String = secret
        .bytes()
        .map(|byte| match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'_' | b'.' | b'~' => (byte as char).to_string(),
            _ => format!("%{byte:02X}"),
        })
        .collect();
    vec![
        secret.to_owned(),
        base64(secret.as_bytes()).trim_end_matches('=').to_owned(),
        hex.to_uppercase(),
        hex,
        url,
    ]
}

#[track_caller]
fn holds_none(run: &Run, secret: &str) {
    for form in forms(secret) {
        for stream in [&run.stdout, &run.stderr] {
            let holds = stream.windows(form.len()).any(|part| part == form.as_bytes());
            assert!(!holds, "the output holds {form}\n{run}");
        }
    }
}

/// Searches all files for the secret. Commands that show runs and calls read nothing else.
#[track_caller]
fn is_in_no_file(site: &Site, secret: &str) {
    for form in forms(secret) {
        site.assert_nowhere(form.as_bytes(), &[]);
    }
}

/// Runs every command that shows something, as text and as JSON, and searches its output and all files for the secret.
#[track_caller]
fn look_everywhere(site: &Site, secret: &str) {
    look_everywhere_but(site, secret, &[]);
}

/// Like [`look_everywhere`]. `except` lists files into which a person wrote the secret.
#[track_caller]
fn look_everywhere_but(site: &Site, secret: &str, except: &[&str]) {
    let commands: &[&[&str]] = &[
        &["list"],
        &["show", "tool"],
        &["describe", "tool"],
        &["contracts"],
        &["search", "tool"],
        &["call", "plan", "tool"],
        &["call", "list"],
        &["call", "show", "call-"],
        &["run", "list"],
        &["run", "latest"],
        &["run", "show", "run-"],
        &["run", "replay", "run-"],
        &["run", "verify"],
        &["checkpoint", "list"],
        &["checkpoint", "show", "c"],
        &["policy", "show"],
        &["policy", "doctor"],
        &["doctor"],
        &["plan"],
        &["import-issues"],
        &["runtime", "status"],
        &["run", "export", "run-"],
        &["state", "export"],
        &["state", "check"],
    ];
    holds_none(&site.brigade.run(["work", "brief"]), secret);
    for command in commands {
        for more in ["--json", "--verbose"] {
            holds_none(&site.tools(command.iter().chain(&[more])), secret);
        }
    }
    for form in forms(secret) {
        site.assert_nowhere(form.as_bytes(), except);
    }
}

#[test]
fn a_bound_value_that_is_printed_is_nowhere() {
    // Every form, on both streams, also split over writes with a pause that the reader notices.
    let body = r#"
for form in "$@"; do
    printf '%s\n' "$form"
    printf 'x%sx' "$form" >&2
done
printf '%s' "$GITHUB_TOKEN"; printf '%s\n' "$GITHUB_TOKEN"
first=${GITHUB_TOKEN%????????}
printf '<%s' "$first"; read line < bin/pause || true; printf '%s>\n' "${GITHUB_TOKEN#"$first"}"
printf '%s' "$GITHUB_TOKEN" | od -An -tx1 | tr -d ' \n'; echo
printf '%s' "$GITHUB_TOKEN" | base64
printf 'a%s' "$GITHUB_TOKEN" | base64
printf 'ab%s' "$GITHUB_TOKEN" | base64
echo end
"#;
    let site = Site::script_with(body, LABEL).env("CANARY", CANARY);
    site.workspace.write("bin/pause", "\n");
    let receipt = site.receipt_of("tool", "{}");
    assert_eq!(receipt["status"], "completed", "{receipt:#}");
    let log = site.log_text(&receipt, "stdout");
    assert!(log.contains("[redacted]") && log.ends_with("end\n"), "{log}");
    assert_eq!(receipt["env_labels_used"], json!(["GITHUB_TOKEN"]));
    look_everywhere(&site, CANARY);
}

#[test]
fn a_bound_value_in_a_command_runs_but_is_not_shown() {
    const VALUE: &str = "Zq7tail-EXAMPLE";
    let site = Site::script_with("printf '%s\\n' \"${#1}\"\n", "").env("CANARY", VALUE);
    let entry = |value: &str| {
        let install =
            format!("[tool.install]\ncommand = [\"sh bin/tool.sh {value}\"]\ncheck = \"true {value}\"\n");
        let lines = format!("{LABEL}version_command = \"true {value}\"\ncapabilities = [\"try things\"]\n");
        Site::entry("tool", &format!("sh bin/tool.sh {value}"), &lines) + &install
    };
    site.workspace.write(".brigade/tools.toml", entry(VALUE));
    let receipt = site.receipt_of("tool", "{}");
    assert_eq!(receipt["command_label"], "sh bin/tool.sh [redacted]");
    // The program got the value, which has 15 characters.
    assert_eq!(site.log_text(&receipt, "stdout"), "15\n");
    look_everywhere_but(&site, VALUE, &[".brigade/tools.toml"]);
    let others: &[&[&str]] = &[
        &["find", "try things"],
        &["pack", "build"],
        &["call", "queue", "tool"],
        &["install", "tool", "--dry-run"],
        &["check", "tool"],
        &["policy", "explain", "tool"],
    ];
    for words in others {
        for json in [&[][..], &["--json"]] {
            holds_none(&site.tools(words.iter().chain(json)), VALUE);
        }
    }
    let listed = site.json(["call", "list"]).expect(0);
    assert!(listed["calls"][0]["command"] == "sh bin/tool.sh [redacted]", "{listed:#}");
    // An approval covers the exact command. Another command with the same masked form is not approved.
    let id = site.approved("tool", r#"{"a":1}"#);
    let changed = site.env("CANARY", "Zq8tail-EXAMPLE");
    changed.workspace.write(".brigade/tools.toml", entry("Zq8tail-EXAMPLE"));
    let refused = changed.json(["call", "run", &id]).expect(1);
    assert!(refused.to_string().contains("changed_contract"), "{refused:#}");
}

/// A workspace with a bound value in every field of a command. Runs still succeed.
struct Commands {
    site: Site,
}

impl Drop for Commands {
    fn drop(&mut self) {
        let _ = self.site.brigade.command(["tools", "runtime", "stop", "helper"]).output();
    }
}

impl Commands {
    const VALUE: &str = "Zq7tail-EXAMPLE";

    /// The files into which a person wrote the value.
    const WRITTEN: &[&str] = &[
        ".brigade/tools.toml",
        ".brigade/tools/runtimes.toml",
        ".brigade/tools/gateway.toml",
        ".brigade/kitchen.toml",
        "tasks/prd.json",
    ];

    fn new() -> Commands {
        let value = Commands::VALUE;
        let site = Site::script_with("printf '%s\\n' \"${#1}\"\n", "").env("CANARY", value);
        site.workspace.replace(".brigade/tools/policy.toml", "[\"script\"]", "[\"script\", \"mcp\"]");
        let detail =
            format!("[tool.install]\ncommand = [\"sh bin/tool.sh {value}\"]\ncheck = \"true {value}\"\n");
        let lines = format!("{LABEL}version_command = \"true {value}\"\n");
        let tool = Site::entry("tool", &format!("sh bin/tool.sh {value}"), &lines) + &detail;
        let remote = "family = \"mcp\"\nruntime_id = \"voice\"\nmcp_tool_name = \"echo\"\n";
        let remote = Site::entry("say", &format!("python3 -S -E server.py {value}"), remote);
        let absent = Site::entry("absent", &format!("bin/{value} x"), "");
        let labels =
            format!("env_labels = [\"{value}\"]\neffects = [\"{value}\"]\nversion = \">=1-{value}\"\n");
        let labelled = Site::entry("labelled", "true", &labels);
        site.workspace.write(".brigade/tools.toml", format!("{tool}\n{remote}\n{absent}\n{labelled}"));
        let server = std::fs::read(brigade_testkit::fixtures().join("mcp/server.py"))
            .expect("the server of the tests is there");
        site.workspace.write("server.py", server);
        site.workspace.write("bin/wait.sh", "exec sleep 600\n");
        let runtime = |id: &str, command: &str, lines: &str| {
            format!(
                "[[runtime]]\nid = '{id}'\nname = 'The {value}'\ncommand = '{command} {value}'\n{lines}\n"
            )
        };
        let helper =
            runtime("helper", "sh bin/wait.sh", &format!("health_command = 'true {value}'\ntimeout = 5"));
        let voice = runtime("voice", "python3 -S -E server.py", "on_demand = true");
        let gone = format!(
            "[[runtime]]\nid = 'gone'\nname = 'Gone'\ncommand = 'bin/{value}'\nhealth_command = '{value}'\n"
        );
        let open = format!("[[runtime]]\nid = 'open'\nname = 'Open'\ncommand = \"sh '{value}\"\n");
        let fails = runtime("fails", "false", "");
        let asks = runtime("asks", "true", &format!("env_labels = ['{value}']"));
        let runtimes = [helper, voice, gone, open, fails, asks].join("\n");
        site.workspace.write(".brigade/tools/runtimes.toml", runtimes);
        let gateway = format!(
            "[web.search]\ncommand = \"true {value}\"\n[[worker]]\nid = \"w\"\ncommand = \"true {value}\"\n"
        );
        site.workspace.write(".brigade/tools/gateway.toml", gateway);
        let tier = |name: &str| format!("[tier.{name}]\ncommand = \"true {value}\"\n");
        site.workspace.write(".brigade/kitchen.toml", ["line", "sous", "executive"].map(tier).concat());
        let task = json!({"id": "a", "title": "A", "acceptanceCriteria": ["x"], "dependsOn": [],
            "verification": [{"type": "unit", "cmd": format!("true {value}")}], "complexity": "junior", "passes": false});
        let prd = json!({"featureName": "F", "branchName": "feature/f", "tasks": [task]});
        site.workspace.write("tasks/prd.json", format!("{prd:#}\n"));
        site.workspace.git_init();
        Commands { site }
    }

    /// Runs a command as text and as JSON, and checks that neither its output nor its files contain the value.
    #[track_caller]
    fn hide_it(&self, words: &[&str]) {
        for json in [&[][..], &["--json"]] {
            let run = self.site.brigade.run(words.iter().chain(json));
            assert_ne!(run.code(), Some(2), "no such command: {words:?}");
            holds_none(&run, Commands::VALUE);
        }
        for form in forms(Commands::VALUE) {
            self.site.assert_nowhere(form.as_bytes(), &[Commands::WRITTEN, &[".git/"]].concat());
        }
    }
}

#[test]
fn a_bound_value_in_any_command_is_not_stored() {
    let commands = Commands::new();
    let site = &commands.site;
    site.json(["runtime", "start", "helper"]).expect(0);
    let of_helper = |document: &Value| document["runtime"].clone();
    let started = of_helper(&site.json(["runtime", "show", "helper"]).expect(0));
    assert_eq!(
        (&started["command"], &started["running"], &started["health_ok"]),
        (&json!("sh bin/wait.sh [redacted]"), &json!(true), &json!(true))
    );
    let tools: &[&[&str]] = &[
        &["runtime", "start", "gone"],
        &["runtime", "start", "open"],
        &["runtime", "start", "fails"],
        &["runtime", "start", "helper"],
        &["runtime", "restart", "helper"],
        &["runtime", "list"],
        &["runtime", "status"],
        &["runtime", "show", "helper"],
        &["runtime", "show", "gone"],
        &["runtime", "start", "asks"],
        &["runtime", "show", "asks"],
        &["runtime", "doctor"],
        &["runtime", "logs", "helper"],
        &["doctor"],
        &["list"],
        &["check", "tool", "say", "absent"],
        &["describe", "say", "--live"],
        &["contracts", "--live"],
        &["pins", "list"],
        &["call", "plan", "say"],
        &["call", "plan", "absent"],
        &["import-issues"],
        &["apply", "--all"],
        &["plan"],
        &["sync", "--dry-run"],
        &["sync", "plan"],
        &["cost"],
        &["stats"],
        &["parity", "status"],
        &["describe", "absent"],
        &["search", "tool"],
        &["find", "--source", "script"],
        &["install", "tool", "--dry-run"],
        &["observe", "tool"],
        &["pack", "build"],
        &["pack", "list"],
        &["policy", "explain", "say"],
        &["policy", "explain", "labelled"],
        &["policy", "explain", "labelled", "--as", "local"],
        &["profile", "explain", "labelled", "--as", "local"],
        &["call", "plan", "labelled"],
        &["call", "queue", "labelled", "--include-blocked"],
        &["call", "list"],
        &["show", "labelled"],
        &["check", "labelled"],
        &["state", "check"],
        &["state", "export"],
        &["runtime", "stop", "helper"],
    ];
    for words in tools {
        commands.hide_it(&[&["tools"], *words].concat());
    }
    let others: &[&[&str]] = &[
        &["work", "brief"],
        &["kitchen", "validate", "tasks/prd.json"],
        &["kitchen", "workers"],
        &["kitchen", "status"],
        &["kitchen", "approve", "tasks/prd.json"],
        &["kitchen", "cost"],
        &["kitchen", "receipts"],
        &["kitchen", "summary"],
        &["kitchen", "map"],
    ];
    for words in others {
        commands.hide_it(words);
    }
}

#[test]
fn a_runtime_with_a_changed_value_is_outdated() {
    let mut commands = Commands::new();
    let issue = |commands: &Commands| {
        let shown = commands.site.json(["runtime", "show", "helper"]).expect(0).to_string();
        shown.contains("runtime_outdated")
    };
    commands.site.json(["runtime", "start", "helper"]).expect(0);
    assert!(!issue(&commands));
    commands.site.brigade = commands.site.brigade.clone().env("CANARY", "Zq8tail-EXAMPLE");
    commands.site.workspace.replace(".brigade/tools/runtimes.toml", "wait.sh Zq7tail", "wait.sh Zq8tail");
    assert!(issue(&commands));
}

#[test]
fn a_checkpoint_holds_no_bound_value() {
    let body = r#"
if [ -z "${BRIGADE_TOOL_RESUME_CHOICE:-}" ]; then
    printf '{"id":"ask","reason":"%s","prompt":"use %s?","choices":["yes","%s"],"context":{"value":"%s","list":["a %s"]}}' \
        "$GITHUB_TOKEN" "$GITHUB_TOKEN" "$GITHUB_TOKEN" "$GITHUB_TOKEN" "$GITHUB_TOKEN" \
        > "$BRIGADE_TOOL_CHECKPOINT_DIR/ask.json"
fi
echo "$GITHUB_TOKEN"
"#;
    let site = Site::script_with(body, LABEL).env("CANARY", CANARY);
    let receipt = site.receipt_of("tool", "{}");
    assert_eq!(receipt["status"], "waiting", "{receipt:#}");
    is_in_no_file(&site, CANARY);
    for json in [&[][..], &["--json"]] {
        holds_none(&site.tools(["checkpoint", "show", "ask"].iter().chain(json)), CANARY);
    }
    holds_none(&site.tools(["checkpoint", "approve", "ask", "--choice", "yes", "--json"]), CANARY);
    holds_none(&site.tools(["checkpoint", "resume", "ask", "--json"]), CANARY);
    is_in_no_file(&site, CANARY);
}

#[test]
fn bound_value_is_masked_in_every_tool() {
    // The tool has no label. It gets the value from elsewhere.
    let body = r#"
value=$(printf '%s%s' cAnary/4711+ secret_VALUE=zz)
echo "$value"
echo "x${value}x" >&2
printf '{"id":"ask","prompt":"use %s?","choices":["yes"],"context":{"%s":1}}' "$value" "$value" \
    > "$BRIGADE_TOOL_CHECKPOINT_DIR/ask.json"
exit "$CODE"
"#;
    for code in ["0", "3"] {
        let site = Site::script_with(&body.replace("$CODE", code), "").env("CANARY", CANARY);
        let receipt = site.receipt_of("tool", "{}");
        assert_eq!(receipt["env_labels_used"], json!([]));
        assert_eq!(site.log_text(&receipt, "stdout"), "[redacted]\n");
        assert_eq!(site.log_text(&receipt, "stderr"), "x[redacted]x\n");
        is_in_no_file(&site, CANARY);
    }
}

#[test]
fn bound_values_are_masked_in_runtime_output() {
    let site = Site::script_with("true\n", LABEL).env("CANARY", CANARY);
    let runtime = |line: &str| {
        format!("[[runtime]]\nid = 'loud'\nname = 'Loud'\ncommand = 'sh bin/loud.sh'\ntimeout = 5\n{line}")
    };
    site.workspace.write(".brigade/tools/runtimes.toml", runtime(""));
    site.workspace.write("bin/loud.sh", "printf '%s%s\n' cAnary/4711+ secret_VALUE=zz; exit 1\n");
    let started = site.tools(["runtime", "start", "loud"]);
    assert!(
        started.stderr_text().contains("[redacted]") || started.stdout_text().contains("[redacted]"),
        "{started}"
    );
    holds_none(&started, CANARY);
    for words in [&["runtime", "logs", "loud"][..], &["runtime", "logs", "loud", "--json"]] {
        let shown = site.tools(words);
        assert!(shown.stdout_text().contains("[redacted]"), "{shown}");
        holds_none(&shown, CANARY);
    }
}

#[test]
fn a_program_that_cannot_be_started_tells_no_value() {
    let site = Site::script_with("", LABEL).env("CANARY", CANARY);
    site.write_program("bin/broken", b"\x7fELF not really");
    site.workspace.replace(".brigade/tools.toml", "sh bin/tool.sh", "./bin/broken");
    let id = site.approved("tool", "{}");
    let run = site.run_call(&id);
    assert_eq!(run.json["call"]["status"], "failed", "{}", run.run);
    holds_none(&run.run, CANARY);
    is_in_no_file(&site, CANARY);
}

#[test]
fn the_child_sees_what_is_named_and_nothing_else() {
    let site = Site::script_with("env\n", LABEL)
        .env("CANARY", CANARY)
        .env("OTHER_SECRET", "other-4711-other")
        .env("PASSED", "passed-on")
        .env("LD_LIBRARY_PATH", "/nowhere")
        .env("PYTHONPATH", "/nowhere")
        .env("BASH_ENV", "/nowhere")
        .env("ENV", "/nowhere")
        .env("LC_ALL", "C.UTF-8")
        .env("LANG", "C.UTF-8")
        .env("TERM", "dumb")
        .env("BRIGADE_TOOL_RESUME_CHOICE", "forged");
    let names = |receipt: &Value| -> Vec<String> {
        let log = site.log_text(receipt, "stdout");
        let mut names: Vec<String> =
            log.lines().filter_map(|line| line.split_once('=')).map(|(name, _)| name.to_owned()).collect();
        names.retain(|name| !matches!(name.as_str(), "PWD" | "OLDPWD" | "SHLVL" | "_"));
        names.sort();
        names
    };
    let ours = ["BRIGADE_TOOL_CALL_ID", "BRIGADE_TOOL_CHECKPOINT_DIR", "BRIGADE_TOOL_RUN_ID", "GITHUB_TOKEN"];
    let base = ["HOME", "LANG", "LC_ALL", "PATH", "TERM", "TMPDIR"];
    let mut expect: Vec<&str> = ours.iter().chain(&base).copied().collect();
    assert_eq!(names(&site.receipt_of("tool", "{}")), expect);
    site.add_to_policy("[environment]\npass = [\"PASSED\"]\n");
    expect.push("PASSED");
    expect.sort_unstable();
    assert_eq!(names(&site.receipt_of("tool", "{}")), expect);
    site.assert_nowhere(b"other-4711-other", &[]);
}

#[test]
fn a_token_as_a_label_is_refused_and_not_repeated() {
    let token = "ghp_0123456789abcdefghijABCDEFGHIJ012345";
    for line in [format!("env_labels = [{token:?}]"), format!("auth_label = {token:?}")] {
        let site = Site::script_with("echo ran > ran.txt\n", &line);
        for command in [
            &["call", "plan", "tool"][..],
            &["call", "queue", "tool"],
            &["call", "queue", "tool", "--include-blocked"],
            &["call", "list"],
            &["list"],
            &["show", "tool"],
            &["describe", "tool"],
            &["contracts"],
        ] {
            for json in [&[][..], &["--json"]] {
                let run = site.tools(command.iter().chain(json));
                let said = format!("{}{}", run.stdout_text(), run.stderr_text());
                assert!(!said.contains(token), "{run}");
            }
        }
        site.json(["call", "plan", "tool"]).refused("looks like a value");
        site.assert_nowhere(token.as_bytes(), &[".brigade/tools.toml"]);
    }
}

#[test]
fn an_argument_that_looks_secret_is_never_stored() {
    let lines = r#"argument_template = { a = "{a}" }"#;
    for (template, secret) in [
        (r#"{"password":"SECRET"}"#, "hunter2-4711-hunter2"),
        (r#"{"a":["x","AKIAIOSFODNN7EXAMPLE","see SECRET"]}"#, "ghp_0123456789abcdefghijABCDEFGHIJ012345"),
    ] {
        let args = template.replace("SECRET", secret);
        let site = Site::script_with("echo ran > ran.txt\n", lines);
        site.workspace.write(
            "schemas/tool.json",
            r#"{"type":"object","properties":{"a":{"type":["string","integer"]}}}"#,
        );
        for flags in [&[][..], &["--include-blocked"]] {
            for json in [&[][..], &["--json"]] {
                let words = ["call", "queue", "tool", "--args", &args].into_iter();
                let run = site.tools(words.chain(flags.iter().copied()).chain(json.iter().copied()));
                run.assert_code(1);
                let said = format!("{}{}", run.stdout_text(), run.stderr_text());
                assert!(said.contains("looks like a secret") && said.contains("env_labels"), "{args}\n{run}");
                assert!(!said.contains(secret), "the command repeats it\n{run}");
            }
        }
        let plan = site.json(["call", "plan", "tool", "--args", &args]).refused("looks like a secret");
        assert!(!plan.to_string().contains(secret), "{plan:#}");
        site.assert_nowhere(secret.as_bytes(), &[]);
        assert!(!site.workspace.exists(".brigade/tools/calls.jsonl"));
    }
}

#[test]
fn known_secrets_are_cut_from_summaries_not_logs() {
    let secrets = [
        "AKIAIOSFODNN7EXAMPLE",
        "ghp_0123456789abcdefghijABCDEFGHIJ012345",
        "hunter2-one",
        "hunter2-two",
        "hunter2-three",
        "hunter2-four",
        "hunter2-five",
    ];
    let body = format!(
        "cat <<'END'\n{}\n{}\npassword = \"{}\"\nAuthorization: Bearer {}\n{{\"access_token\": \"{}\"}}\n\
         https://me:{}@example.com/\n-----BEGIN RSA PRIVATE KEY-----\n{}\n-----END RSA PRIVATE KEY-----\nend\nEND\n",
        secrets[0], secrets[1], secrets[2], secrets[3], secrets[4], secrets[5], secrets[6]
    );
    let site = Site::script(&body);
    let receipt = site.receipt_of("tool", "{}");
    let summary = receipt["stdout_summary"].as_str().unwrap();
    let log = site.log_text(&receipt, "stdout");
    assert!(summary.ends_with("end"), "{summary}");
    for command in [&["run", "latest"][..], &["run", "list"], &["call", "list"], &["run", "latest", "--json"]]
    {
        let run = site.tools(command);
        let said = format!("{}{}", run.stdout_text(), run.stderr_text());
        assert!(secrets.iter().all(|secret| !said.contains(secret)), "{run}");
    }
    for secret in secrets {
        assert!(!summary.contains(secret), "{secret} is in {summary}");
        assert!(log.contains(secret), "the log keeps what the program printed");
        site.assert_nowhere(secret.as_bytes(), &["bin/", ".brigade/tools/runs/run-"]);
        // Of the files of a run, only the log may contain it.
        let holds = |(path, bytes): (&String, &Vec<u8>)| {
            bytes.windows(secret.len()).any(|part| part == secret.as_bytes()).then(|| path.clone())
        };
        let files = site.workspace.files(".brigade");
        let holding: Vec<String> = files.iter().filter_map(holds).collect();
        assert!(holding.iter().all(|path| path.ends_with(".stdout.log")), "{holding:?}");
    }
}

#[test]
fn secrets_in_the_catalog_are_named_and_not_shown() {
    let site = Site::script_with(
        "true\n",
        "api_key = \"hunter2-4711-key\"\nextra = { password = \"hunter2-4711-key\" }\n",
    );
    for command in
        [&["list"][..], &["show", "tool"], &["describe", "tool"], &["contracts"], &["call", "plan", "tool"]]
    {
        for json in [&[][..], &["--json"]] {
            let run = site.tools(command.iter().chain(json));
            let said = format!("{}{}", run.stdout_text(), run.stderr_text());
            assert!(!said.contains("hunter2-4711-key"), "{run}");
        }
    }
    let _ = site.json(["call", "queue", "tool"]);
    site.assert_nowhere(b"hunter2-4711-key", &[".brigade/tools.toml"]);
    // Nor if the file is broken at this place.
    let catalog = site.workspace.read_text(".brigade/tools.toml");
    site.workspace.write(
        ".brigade/tools.toml",
        catalog.replace("\"hunter2-4711-key\"\nextra", "\"hunter2-4711-key\nextra"),
    );
    for json in [&[][..], &["--json"]] {
        let run = site.tools(["list"].iter().chain(json));
        assert!(!format!("{}{}", run.stdout_text(), run.stderr_text()).contains("hunter2-4711-key"), "{run}");
    }
}
