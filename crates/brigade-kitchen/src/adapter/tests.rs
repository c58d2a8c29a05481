use super::*;
use crate::config::{Config, ConfigFile};
use crate::names::Tier;

macro_rules! sample {
    ($name:literal) => {
        include_bytes!(concat!("../../../../fixtures/kitchen/answers/", $name))
    };
}

fn ours(id: &str) -> &'static Adapter {
    TABLE.iter().find(|adapter| adapter.id == id).unwrap()
}

fn now() -> brigade_core::Timestamp {
    "2026-01-19T12:00:00Z".parse().unwrap()
}

fn read(id: &str, stdout: &[u8]) -> Answer {
    ours(id).answer(&Output { stdout, succeeded: true, ..Output::default() }, now(), 60)
}

fn end(answer: &Answer) -> Option<String> {
    answer.limit.map(|limit| limit.until.map_or_else(|| "unknown".to_owned(), |until| until.to_string()))
}

#[test]
fn recorded_answers_are_read() {
    let claude = read("claude", sample!("claude.json"));
    assert!(claude.text.as_deref().unwrap().ends_with("<promise>COMPLETE</promise>"));
    assert_eq!((claude.cost_usd, claude.tokens), (Some(0.1834), Some(Tokens { input: 1203, output: 2110 })));
    assert_eq!((claude.failed, claude.limit), (false, None));

    let output = Output {
        stdout: sample!("codex.jsonl"),
        answer_file: Some(sample!("codex.answer.txt")),
        succeeded: true,
        ..Output::default()
    };
    let codex = ours("codex").answer(&output, now(), 0);
    assert_eq!(codex.text.as_deref(), Some("Done.\n<promise>COMPLETE</promise>"));
    assert_eq!((codex.cost_usd, codex.tokens), (None, Some(Tokens { input: 24763, output: 122 })));

    let opencode = read("opencode", sample!("opencode.jsonl"));
    // Output of a tool is not part of the answer.
    assert_eq!(opencode.text.as_deref(), Some("Done.\n<promise>ALREADY_DONE</promise>"));
    assert_eq!(opencode.tokens, Some(Tokens { input: 1500, output: 100 }));
    assert!((opencode.cost_usd.unwrap() - 0.0034).abs() < 1e-9);

    let gemini = read("gemini", sample!("gemini.json"));
    assert_eq!(gemini.text.as_deref(), Some("Done.\n<promise>COMPLETE</promise>"));
    assert_eq!(gemini.tokens, Some(Tokens { input: 33904, output: 30 }));

    let cursor = read("cursor-agent", sample!("cursor-agent.json"));
    assert_eq!((cursor.text.as_deref(), cursor.cost_usd), (Some("Done.\n<promise>COMPLETE</promise>"), None));
    assert!(read("aider", sample!("aider.txt")).text.unwrap().contains("\n<promise>COMPLETE</promise>\n"));
}

#[test]
fn a_limit_is_read_with_its_end() {
    assert_eq!(
        end(&read("claude", sample!("claude-limit.json"))).as_deref(),
        Some("2026-01-19T14:00:00+00:00")
    );
    let codex = Output { stdout: sample!("codex-limit.jsonl"), ..Output::default() };
    let codex = ours("codex").answer(&codex, now(), 0);
    assert_eq!((codex.text.as_deref(), codex.failed), (None, true));
    assert_eq!(end(&codex).as_deref(), Some("2026-01-19T15:42:00+00:00"));
    let said = |text: &str| end(&read("plain", text.as_bytes()));
    assert_eq!(
        said("Claude AI usage limit reached|1768831200").as_deref(),
        Some("2026-01-19T14:00:00+00:00")
    );
    assert_eq!(said("Weekly limit reached.").as_deref(), Some("unknown"));
    assert_eq!(
        said("Quota exceeded. Please retry in 34.07s.").as_deref(),
        Some("2026-01-19T12:00:34.070000+00:00")
    );
    let output = Output { stderr: b"Error: 429 Too Many Requests", ..Output::default() };
    assert_eq!(end(&ours("plain").answer(&output, now(), 0)).as_deref(), Some("unknown"));
}

#[test]
fn every_known_limit_is_read_with_its_end() {
    for limit in table::KnownLimits::read() {
        assert!(!limit.examples.is_empty());
        for (text, until) in &limit.examples {
            let until = if until.is_empty() { "unknown" } else { until };
            let output = Output { stderr: text.as_bytes(), ..Output::default() };
            let answer = ours("plain").answer(&output, now(), 60);
            assert!(answer.limit.is_some_and(|limit| limit.is_known), "{text}");
            assert_eq!(end(&answer).as_deref(), Some(until), "{text}");
        }
    }
}

#[test]
fn an_unknown_mention_of_a_limit_is_not_known() {
    let said = |stderr: &[u8], succeeded| {
        let output = Output { stderr, succeeded, ..Output::default() };
        ours("claude").answer(&output, now(), 60).limit.map(|limit| limit.is_known)
    };
    assert_eq!(said(b"Your allowance is used up until the new moon", false), Some(false));
    assert_eq!(said(b"The limits of this plan are strict", false), Some(false));
    assert_eq!(said(b"The limits of this plan are strict", true), None);
    assert_eq!(said(b"error: no such file", false), None);
}

#[test]
fn a_long_answer_about_limits_is_not_a_limit() {
    let text = format!(
        "{}\nThe page now says that the usage limit was reached.\n",
        "I changed a file.\n".repeat(60)
    );
    assert_eq!(read("plain", text.as_bytes()).limit, None);
    assert_eq!(read("plain", b"All tests pass.").limit, None);
}

#[test]
fn an_unexpected_output_has_no_answer() {
    for (id, text) in [
        ("claude", "<promise>COMPLETE</promise>\n"),
        ("claude", "{\"result\": 5}"),
        ("claude", "{\"result\": \"x\""),
        ("opencode", "{\"type\":\"text\"}\n<promise>COMPLETE</promise>\n\u{0}\u{1}"),
        ("codex", "<promise>COMPLETE</promise>"),
    ] {
        assert_eq!(read(id, text.as_bytes()).text, None, "{id}: {text}");
    }
    assert_eq!(read("claude", b"{\"result\":\"x\",\"total_cost_usd\":-1}").cost_usd, None);
    assert_eq!(read("plain", b"\xff\xfe").text.as_deref(), Some("\u{fffd}\u{fffd}"));
}

fn start(command: &str, wanted: PermissionMode, may_skip: bool) -> Result<WorkerInvocation, ArgvFault> {
    let argv = Argv::parse(command).unwrap();
    choose(&[], None, &argv).unwrap().start(&argv, wanted, may_skip, "P", "A", Some("http://s"))
}

#[track_caller]
fn check(command: &str, wanted: PermissionMode, expect: &str) {
    let started = start(command, wanted, wanted == PermissionMode::Skip).unwrap();
    assert_eq!(started.argv.words().join(" "), expect);
}

#[test]
fn arguments_are_added_unless_they_are_there() {
    use PermissionMode::{Narrow, Skip};
    check(
        "claude --model opus",
        Narrow,
        "claude --model opus --permission-mode acceptEdits -p --output-format json",
    );
    check(
        "claude --model opus",
        Skip,
        "claude --model opus --dangerously-skip-permissions -p --output-format json",
    );
    check(
        "claude --print --output-format=json --permission-mode plan",
        Skip,
        "claude --print --output-format=json --permission-mode plan",
    );
    check(
        "codex --model x",
        Narrow,
        "codex exec --model x --sandbox workspace-write --json --skip-git-repo-check -o A -",
    );
    check(
        "codex exec --json -",
        Narrow,
        "codex exec --json --sandbox workspace-write --skip-git-repo-check -o A -",
    );
    check("opencode --model a/b", Narrow, "opencode run --model a/b --format json --attach http://s");
    check("opencode run", Skip, "opencode run --auto --format json --attach http://s");
    check("gemini", Skip, "gemini --approval-mode yolo --output-format json");
    check("gemini", Narrow, "gemini --approval-mode auto_edit --output-format json");
    check("ollama run llama3", Narrow, "ollama run llama3");
    check("/opt/x/my-agent --a", Skip, "/opt/x/my-agent --a");
    check(
        "aider --model x",
        Narrow,
        "aider --model x --message-file P --yes-always --no-auto-commits --no-stream --no-pretty --no-check-update",
    );
    let aider = start("aider", Narrow, false).unwrap();
    assert_eq!(
        (aider.prompt, aider.answers_in_file, aider.permissions),
        (PromptWay::File, false, Permissions::OwnChoice)
    );
    assert!(start("codex", Narrow, false).unwrap().answers_in_file);
}

#[test]
fn a_command_that_contradicts_is_refused() {
    let taken = |flag: &str, adapter: &str| {
        Err(ArgvFault::Taken { flag: flag.to_owned(), adapter: adapter.to_owned() })
    };
    assert_eq!(
        start("claude --output-format text", PermissionMode::Narrow, false),
        taken("--output-format", "claude")
    );
    assert_eq!(start("codex exec -o mine", PermissionMode::Narrow, false), taken("-o", "codex"));
    let refused = |flag: &str| Err(ArgvFault::SkipRefused { flag: flag.to_owned() });
    assert_eq!(
        start("claude --dangerously-skip-permissions", PermissionMode::Narrow, false),
        refused("--dangerously-skip-permissions")
    );
    assert_eq!(
        start("gemini --approval-mode=yolo", PermissionMode::Skip, false),
        refused("--approval-mode yolo")
    );
    assert_eq!(
        start("claude --dangerously-skip-permissions", PermissionMode::Narrow, true).unwrap().permissions,
        Permissions::Skipped
    );
    // If the policy does not allow skipping, the narrow flags are used.
    let narrow = start("claude", PermissionMode::Skip, false).unwrap();
    assert_eq!(narrow.permissions, Permissions::Narrow);
    assert!(!narrow.argv.words().contains(&"--dangerously-skip-permissions".to_owned()));
}

#[test]
fn every_way_to_skip_permissions_needs_the_policy() {
    for command in [
        "claude --permission-mode bypassPermissions",
        "claude --permission-mode=bypassPermissions",
        "claude --permission-mode plan --permission-mode bypassPermissions",
        "claude --allow-dangerously-skip-permissions",
        "env A=b claude --dangerously-skip-permissions",
        "timeout 60 /opt/bin/codex --yolo",
        "codex --sandbox danger-full-access",
        "codex --sandbox=danger-full-access",
        "codex -s danger-full-access",
        "codex -sdanger-full-access",
        "codex -s=danger-full-access",
        "codex --yolo",
        "codex -c sandbox_mode=danger-full-access",
        "codex -c 'sandbox_mode=\"danger-full-access\"'",
        "codex --config 'sandbox_mode = \"danger\\u002dfull-access\"'",
        "codex --config='profiles={x={sandbox_mode=\"danger-full-access\"}}'",
        "codex -csandbox_mode=danger-full-access",
        "gemini -y",
        "gemini -dy",
        "gemini --yolo",
        "gemini --yolo=true",
        "gemini --approvalMode yolo",
        "opencode run --auto",
        "opencode run --dangerously-skip-permissions",
        "cursor-agent -f",
        "cursor-agent -pf",
        "cursor-agent --yolo",
        "cursor-agent --sandbox disabled",
    ] {
        for wanted in [PermissionMode::Narrow, PermissionMode::Skip] {
            let found = start(command, wanted, false);
            assert!(matches!(found, Err(ArgvFault::SkipRefused { .. })), "{command}: {found:?}");
            assert_eq!(start(command, wanted, true).unwrap().permissions, Permissions::Skipped, "{command}");
        }
    }
    // Neither a configured adapter nor a user's adapter hides the flag.
    let argv = Argv::parse("claude --dangerously-skip-permissions").unwrap();
    let named = choose(&[], Some("plain"), &argv).unwrap();
    assert!(named.start(&argv, PermissionMode::Narrow, false, "P", "A", None).is_err());
    let row = Adapter { args: vec!["--yolo".to_owned()], ..ours("plain").clone() };
    let argv = Argv::parse("codex").unwrap();
    assert!(row.start(&argv, PermissionMode::Narrow, false, "P", "A", None).is_err());
}

#[test]
fn only_flags_of_the_program_skip_permissions() {
    for (command, permissions) in [
        ("claude --permission-mode plan", Permissions::OwnChoice),
        ("claude --append-system-prompt 'never --yolo'", Permissions::Narrow),
        ("codex -s read-only", Permissions::OwnChoice),
        ("codex -c model_reasoning_effort=high", Permissions::Narrow),
        ("codex -c 'sandbox_mode=\"workspace-write\"'", Permissions::Narrow),
        ("codex -c 'developer_instructions=\"no danger-full-access\"'", Permissions::Narrow),
        ("gemini -m yolo", Permissions::Narrow),
        ("gemini -mgemini-y", Permissions::Narrow),
        ("gemini --approval-mode=plan", Permissions::OwnChoice),
        ("gemini --yolo=false", Permissions::Narrow),
        ("cursor-agent --model fast-f", Permissions::OwnChoice),
        ("my-agent --yolo", Permissions::OwnChoice),
        ("aider --yes-always", Permissions::OwnChoice),
    ] {
        assert_eq!(
            start(command, PermissionMode::Skip, false).unwrap().permissions,
            permissions,
            "{command}"
        );
    }
    let words = start("codex -s read-only", PermissionMode::Narrow, false).unwrap().argv.words().join(" ");
    assert!(!words.contains("workspace-write"), "{words}");
}

#[test]
fn the_prompt_is_never_an_argument() {
    for adapter in TABLE.iter() {
        let in_file = adapter.args.iter().any(|word| word.contains("{prompt_file}"));
        assert_eq!(in_file, adapter.prompt == PromptWay::File, "{}", adapter.id);
    }
}

#[test]
fn rows_of_users_stand_before_ours() {
    let text =
        b"[[adapter]]\nid = 'mine'\nprogram = 'claude'\nprompt = 'file'\nargs = ['--in', '{prompt_file}']\n\
        answer = 'jsonl:msg:a.b'\ntokens = ['json:a', 'json:b']\nlimit = ['slow down (?P<reset>.*)']\n\
        env_labels = ['KEY']\n[tier.sous]\nadapter = 'codex'\n";
    let config = Config::read(None, Some(ConfigFile { name: "kitchen.toml", bytes: text }));
    assert_eq!(config.issues, []);
    let command = config.settings.command(Tier::Line);
    let adapter = choose(&config.adapters, config.settings.adapter_name(Tier::Line), command.argv()).unwrap();
    assert_eq!((adapter.id.as_str(), adapter.prompt), ("mine", PromptWay::File));
    assert_eq!(adapter.answer.to_string(), "jsonl:msg:a.b");
    let sous = choose(&config.adapters, config.settings.adapter_name(Tier::Sous), command.argv()).unwrap();
    assert_eq!(sous.id, "codex");
    assert_eq!(choose(&[], Some("nobody"), command.argv()), Err("nobody".to_owned()));
}

#[test]
fn a_faulty_row_is_an_error() {
    let check = |text: &str, field: &str| {
        let bytes = format!("[[adapter]]\n{text}");
        let config = Config::read(None, Some(ConfigFile { name: "kitchen.toml", bytes: bytes.as_bytes() }));
        assert!(config.refuses(), "{text}");
        assert_eq!(config.issues[0].field.as_deref(), Some(field), "{text}");
    };
    check("id = 'a'\n", "adapter[1].program");
    check("id = 'a'\nprogram = 'a'\nprompt = 'argument'\n", "adapter[1].prompt");
    check("id = 'a'\nprogram = 'a'\nprompt = 'file'\n", "adapter[1].args");
    check("id = 'a'\nprogram = 'a'\nanswer = 'xml:a'\n", "adapter[1].answer");
    check("id = 'a'\nprogram = 'a'\nanswer = 'json:a..b'\n", "adapter[1].answer");
    check("id = 'a'\nprogram = 'a'\nlimit = ['(']\n", "adapter[1].limit");
    check("id = 'a'\nprogram = 'a'\ntokens = ['json:a']\n", "adapter[1].tokens");
    check("id = 'a'\nprogram = 'a'\nprompts = 'stdin'\n", "adapter[1].prompts");
    check("id = 'a'\nprogram = 'a'\n[[adapter]]\nid = 'a'\nprogram = 'b'\n", "adapter[2].id");
}

#[test]
fn a_flag_that_the_program_does_not_know_is_named() {
    let check = |stderr: &str, succeeded: bool, expect: Option<&str>| {
        let output = Output { stderr: stderr.as_bytes(), succeeded, ..Output::default() };
        let answer = ours("claude").answer(&output, now(), 0);
        assert_eq!(answer.unknown_flag.as_deref(), expect, "{stderr}");
    };
    let said = "error: unknown option '--output-format'";
    check(said, false, Some("--output-format"));
    check(said, true, None);
    check("usage: x\nx: error: unrecognized arguments: --output-format json", false, Some("--output-format"));
    check("error: unexpected argument '--output-format' found\n\nUsage: x", false, Some("--output-format"));
    check("Unknown arguments: output-format, outputFormat", false, Some("--output-format"));
    check("flag provided but not defined: --output-format", false, Some("--output-format"));
    check("unknown option of the output-format", false, None);
    check("error: unknown option '--mine'", false, None);
    check("--output-format: unknown option of the test", false, None);
    check("error: unknown option '--output-format-x'", false, None);
}

#[test]
fn a_model_replaces_the_one_of_the_command() {
    let check = |id: &str, command: &str, model: Option<&str>, effort: Option<&str>, expect: &str| {
        let command = Argv::parse(command).unwrap();
        let chosen = ours(id).with_model(&command, model, effort);
        let chosen = chosen.map_or_else(|fault| fault.to_string(), |argv| argv.words().join(" "));
        assert!(chosen.contains(expect), "{id}: {chosen}");
    };
    check("claude", "claude --model opus", Some("haiku"), Some("high"), "claude --model haiku --effort high");
    check("claude", "claude --model=opus -v", Some("haiku"), None, "claude -v --model haiku");
    check(
        "codex",
        "codex -m a -c x=1 -",
        Some("b"),
        Some("low"),
        "codex -c x=1 --model b --config model_reasoning_effort=low -",
    );
    check("opencode", "opencode run", Some("p/m"), Some("max"), "opencode run --model p/m --variant max");
    check(
        "gemini",
        "gemini",
        None,
        Some("high"),
        "the adapter `gemini` of the worker has no option for the effort",
    );
    check("plain", "mine", Some("m"), None, "no option for the model");
    for odd in ["--dangerously-skip-permissions", "", "a b", "a\"b", "-x"] {
        check("claude", "claude", Some(odd), None, "the model must be a name");
    }
    check("claude", "claude", None, None, "claude");
}
