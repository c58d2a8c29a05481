//! Tests of decisions through one `check`, and properties of any input.

use std::collections::BTreeSet;

use brigade_catalog::{ApprovalMode, Family, Tool};
use proptest::prelude::*;

use super::*;

const FILE: &str = ".brigade/tools/policy.toml";

/// A script with the effects `local-read` and `network`, mode `on-request`, 30 s, a runtime and a label.
fn tool() -> Tool {
    let mut tool = Tool::new("greet", Family::Script).unwrap();
    tool.effects = vec!["local-read".to_owned(), "network".to_owned()];
    tool.approval_mode = Some(ApprovalMode::OnRequest);
    tool.timeout = Some(Seconds::new(30.0).unwrap());
    tool.runtime_id = Some("local-helper".to_owned());
    tool.env_labels = vec!["SAFE_ENV".to_owned()];
    tool
}

fn decision_on(policy: Option<&str>, tool: &Tool) -> Decision {
    let state = PolicyState::parse(FILE, policy.map(str::as_bytes));
    decide(&state, &CallFacts::from_tool(tool), &|name: &str| name == "BOUND")
}

/// Compares the codes of the blockers and the lines of their rules: `code:line`. The refusals alone are the same.
#[track_caller]
fn check(policy: Option<&str>, tool: &Tool, expect: &[&str]) {
    let decision = decision_on(policy, tool);
    let state = PolicyState::parse(FILE, policy.map(str::as_bytes));
    let (facts, environment) = (CallFacts::from_tool(tool), |name: &str| name == "BOUND");
    let mut rulings = explain(&state, &facts, &environment).rulings;
    rulings.retain(|ruling| ruling.blocker.is_some());
    assert_eq!(refusals(&state, &facts, &environment), rulings);
    let found: Vec<String> = decision
        .blockers
        .iter()
        .map(|blocker| {
            assert!(blocker.hint.is_some(), "{blocker:?}");
            let line = blocker.place.as_ref().and_then(|place| place.line);
            line.map_or(blocker.code.to_string(), |line| format!("{}:{line}", blocker.code))
        })
        .collect();
    assert_eq!(found, expect);
}

/// Compares the codes of the blockers, and the file and line of their rules, if a project's policy narrows the user's.
#[track_caller]
fn check_narrowed(user: &str, project: Option<&str>, expect: &[&str]) {
    let (tool, is_set) = (tool(), |name: &str| name == "BOUND");
    let facts = CallFacts::from_tool(&tool);
    let user = PolicyState::parse("user", Some(format!("{BOUND}{user}").as_bytes()));
    let alone = decide(&user, &facts, &is_set);
    let mut decision = alone.clone();
    decision.narrow(&PolicyState::parse("project", project.map(str::as_bytes)), &facts, &is_set);
    let blockers = decision.blockers.iter();
    let found = blockers.map(|blocker| format!("{} {}", blocker.code, blocker.place.as_ref().unwrap()));
    assert_eq!(found.collect::<Vec<_>>(), expect, "{project:?}");
    // Nothing is widened, and no term changes.
    assert!(decision.blockers.starts_with(&alone.blockers));
    assert_eq!(Decision { blockers: alone.blockers.clone(), ..decision }, alone);
}

#[test]
fn a_project_only_narrows() {
    let denied = "denied_effects = [\"network\"]\n";
    check_narrowed("", None, &[]);
    check_narrowed("", Some(""), &[]);
    check_narrowed("", Some("allowed_effects = [\"local-read\", \"network\"]\n"), &[]);
    check_narrowed("", Some(denied), &["policy_denied_effect project:1:19"]);
    check_narrowed("", Some("max_timeout = 10\n"), &["policy_timeout project:1:15"]);
    check_narrowed("", Some("denied_effects = 1\n"), &["policy_invalid project:1:18"]);
    check_narrowed(denied, None, &["policy_denied_effect user:2:19"]);
    check_narrowed(denied, Some(""), &["policy_denied_effect user:2:19"]);
    check_narrowed(
        denied,
        Some(denied),
        &["policy_denied_effect user:2:19", "policy_denied_effect project:1:19"],
    );
}

const BOUND: &str = "env_bindings = { SAFE_ENV = \"BOUND\" }\n";

#[test]
fn a_missing_policy_blocks_nothing() {
    check(None, &tool(), &[]);
    let decision = decision_on(None, &tool());
    assert_eq!(decision.sandbox.mode, SandboxMode::Off);
    assert!(decision.env_bindings.is_empty());
}

#[test]
fn an_empty_policy_requires_only_bindings() {
    check(Some(""), &tool(), &["policy_env_unbound"]);
    check(Some(BOUND), &tool(), &[]);
}

#[test]
fn code_in_a_command_is_refused_by_a_rule_only() {
    let mut tool = tool();
    tool.command = Some("python3 -c 'print(1)'".to_owned());
    let policy = |value: &str| format!("{BOUND}[commands]\ninline_code = {value}\n");
    check(Some(BOUND), &tool, &[]);
    check(Some(&policy("'allow'")), &tool, &[]);
    check(Some(&policy("'refuse'")), &tool, &["policy_inline_code:3"]);
    // A misspelt rule would have no effect.
    check(Some(&policy("'refused'")), &tool, &["policy_invalid:3"]);
    check(Some(&policy("true")), &tool, &["policy_invalid:3"]);
    check(Some("[commands]\ninlinecode = 'refuse'\n"), &tool, &["policy_invalid:2"]);
    tool.command = Some("python3 print.py".to_owned());
    check(Some(&policy("'refuse'")), &tool, &[]);
    let state = |text: &str| PolicyState::parse(FILE, Some(text.as_bytes()));
    assert_eq!(state("").refuses_inline_code(), None);
    assert_eq!(state("[commands]\ninline_code = 'refuse'").refuses_inline_code().unwrap().line, Some(2));
    assert!(state("[commands").refuses_inline_code().is_some());
}

#[test]
fn every_rule_gives_its_reason_in_a_stable_order() {
    let policy = "env_bindings = { OTHER = \"X\" }
allowed_runtimes = [\"another\"]
max_timeout = 10
required_approval_modes = [\"always\"]
allowed_effects = [\"local-read\"]
denied_effects = [\"network\"]
allowed_families = [\"mcp\"]
";
    check(
        Some(policy),
        &tool(),
        &[
            "policy_family:7",
            "policy_denied_effect:6",
            "policy_effect_not_allowed:5",
            "policy_approval_mode:4",
            "policy_timeout:3",
            "policy_runtime:2",
            "policy_env_unbound:1",
        ],
    );
}

#[test]
fn a_bound_variable_must_be_set() {
    check(Some("env_bindings = { SAFE_ENV = \"UNSET\" }"), &tool(), &["policy_env_missing:1"]);
}

#[test]
fn no_approval_mode_means_never() {
    let tool = Tool { approval_mode: None, env_labels: Vec::new(), ..tool() };
    check(Some("required_approval_modes = [\"on-request\"]"), &tool, &["policy_approval_mode:1"]);
    check(Some("required_approval_modes = [\"never\"]"), &tool, &[]);
}

#[test]
fn a_call_without_timeout_gets_the_maximum() {
    let silent = Tool { timeout: None, env_labels: Vec::new(), ..tool() };
    let of = |policy| {
        let decision = decision_on(policy, &silent);
        (decision.effective_timeout.get(), decision.timeout_source)
    };
    assert_eq!(of(Some("max_timeout = 60")), (60.0, TimeoutSource::Policy));
    assert_eq!(of(Some("max_timeout = inf")), (300.0, TimeoutSource::Default));
    assert_eq!(of(None), (300.0, TimeoutSource::Default));
    check(Some("max_timeout = 0.5"), &silent, &[]);
}

#[test]
fn unsafe_labels_block_with_and_without_a_policy() {
    let token = format!("ghp_{}", "a1B2".repeat(9));
    let tool = Tool { env_labels: vec!["PATH".to_owned(), token.clone(), "a b".to_owned()], ..tool() };
    let unsafe_labels = ["unsafe_env_label"; 3];
    check(None, &tool, &unsafe_labels);
    check(Some("env_bindings = { PATH = \"BOUND\" }"), &tool, &unsafe_labels);
    let decision = decision_on(Some("env_bindings = { PATH = \"BOUND\" }"), &tool);
    assert!(decision.env_bindings.is_empty());
    assert!(!format!("{decision:?}").contains(&token));
}

#[test]
fn a_token_in_the_place_of_a_label_is_not_repeated() {
    let token = format!("ghp_{}", "a1B2".repeat(9));
    let policy =
        format!("denied_effects = [\"{token}\"]\nallowed_effects = [\"x\"]\nallowed_runtimes = [\"x\"]");
    let (effects, runtime_id) = (vec![token.clone()], Some(token.clone()));
    let tool = Tool { effects, runtime_id, env_labels: Vec::new(), ..tool() };
    let expect = ["policy_denied_effect:1", "policy_effect_not_allowed:2", "policy_runtime:3"];
    check(Some(&policy), &tool, &expect);
    assert!(!format!("{:?}", decision_on(Some(&policy), &tool).blockers).contains(&token));
}

#[test]
fn an_invalid_policy_blocks_everything() {
    check(Some("denied_effects = ["), &tool(), &["policy_invalid:1"]);
    check(
        Some("\nmax_timeout = \"soon\"\nallowed_families = [\"scripts\"]"),
        &tool(),
        &["policy_invalid:2", "policy_invalid:3"],
    );
    check(Some("env_bindings = { \"ghp-secret\" = \"X\" }"), &tool(), &["policy_invalid:1"]);
    check(Some("max_timeout = 1\nmax_timeout = 2"), &tool(), &["policy_invalid:2"]);
    check(Some("[sandbox]\nmode = \"enforced\""), &tool(), &["policy_invalid:2"]);
}

#[test]
fn a_file_full_of_errors_is_read_quickly() {
    for text in ["[".repeat(200_000), "a = ".repeat(200_000), "=\n".repeat(200_000), "a={".repeat(100_000)] {
        let state = PolicyState::parse(FILE, Some(text.as_bytes()));
        assert_eq!(state.validity(), PolicyValidity::Invalid);
    }
}

#[test]
fn values_of_an_invalid_policy_are_not_repeated() {
    let texts = [
        "max_timeout = \"hunter2\"",
        "env_bindings = { A = \"hunter2!\" }",
        "allowed_families = [\"hunter2\"]",
        "env_bindings = { \"hunter2!\" = \"A\" }",
        "x = hunter2",
        "denied_effects = { hunter2 = 1 }",
        "[sandbox]\nmode = \"hunter2\"",
        "environment.pass = [\"hunter2=\"]",
    ];
    for text in texts {
        let decision = decision_on(Some(text), &tool());
        assert!(!decision.blockers.is_empty(), "{text}");
        assert!(!format!("{:?}", decision.blockers).contains("hunter2"), "{text}: {:?}", decision.blockers);
    }
}

/// Compares the issues of a policy, without the file name, and whether it is valid.
#[track_caller]
fn check_issues(text: &str, validity: PolicyValidity, expect: &[&str]) {
    let state = PolicyState::parse(FILE, Some(text.as_bytes()));
    let issues: Vec<String> = state.issues().iter().map(ToString::to_string).collect();
    let prefix = format!("{FILE}:");
    let issues: Vec<&str> = issues.iter().map(|issue| issue.strip_prefix(&prefix).unwrap()).collect();
    assert_eq!((issues.as_slice(), state.validity()), (expect, validity));
}

#[test]
fn a_misspelt_top_level_key_is_only_a_warning() {
    check_issues(
        "denied_efects = [\"x\"]\nsandbx = \"enforce\"\n[other]\nmode = 1\n",
        PolicyValidity::Valid,
        &[
            "1:1: denied_efects: unknown key, so it has no effect (did you mean `denied_effects`?)",
            "2:1: sandbx: unknown key, so it has no effect (did you mean `sandbox`?)",
            "3:2: other: unknown key, so it has no effect",
        ],
    );
}

#[test]
fn a_misspelt_restriction_is_an_error() {
    let check = |text: &str, expect: &[&str]| check_issues(text, PolicyValidity::Invalid, expect);
    check("[sandbx]\nmode = \"enforce\"", &["1:2: sandbx: unknown table (did you mean `sandbox`?)"]);
    check("[Sandbox]\nmode = \"enforce\"", &["1:2: Sandbox: unknown table (did you mean `sandbox`?)"]);
    check("limit.memory = 5", &["1:1: limit: unknown table (did you mean `limits`?)"]);
    check("[path]\noutside = []", &["1:2: path: unknown table (did you mean `paths`?)"]);
    check("limits = { memori = 5 }", &["1:12: limits.memori: unknown key (did you mean `memory`?)"]);
    check("paths.outsid = []", &["1:7: paths.outsid: unknown key (did you mean `outside`?)"]);
    check("environment.allow = []", &["1:13: environment.allow: unknown key"]);
    check(
        "[sandbox]\nmode = \"off\"\nmax_timeout = 3\n",
        &[
            "3:1: sandbox.max_timeout: unknown key (`max_timeout` belongs above the first [table] of the file)",
        ],
    );
    check(
        "[sandbox]\nmode = \"off\"\n[sandbox.tool.greet]\nmod = \"enforce\"\n",
        &["4:1: sandbox.tool.greet.mod: unknown key (did you mean `mode`?)"],
    );
}

#[test]
fn a_sandbox_must_set_its_mode() {
    let without = |start: &str| {
        format!(
            "{start}: sandbox: mode is missing: off, enforce or best-effort (add mode = \"enforce\", \"best-effort\" or \"off\")"
        )
    };
    let check = |text: &str, start: &str| check_issues(text, PolicyValidity::Invalid, &[&without(start)]);
    check("[sandbox]\n", "1:2");
    check("[sandbox]\nread_paths = [\"/a\"]", "1:2");
    check("sandbox.tool = {}", "1:1");
    check("[sandbox.tool.greet]\nread_paths = []", "1:2");
    check("[sandbox.tool.a]\nmode = \"off\"\n[sandbox.tool.b]\nread_paths = []", "1:2");
    check("[sandbox]\nread_paths = []\n[sandbox.tool.a]\nmode = \"off\"", "1:2");
    check_issues(
        "[sandbox.tool.a]\nmode = \"off\"\n[sandbox.tool.b]\nmode = \"enforce\"",
        PolicyValidity::Valid,
        &[],
    );
    check_issues("[sandbox]\nmode = \"off\"\n[sandbox.tool.b]\nread_paths = []", PolicyValidity::Valid, &[]);
}

#[test]
fn a_byte_order_mark_is_accepted() {
    let state = PolicyState::parse(FILE, Some(b"\xef\xbb\xbfmax_timeout = 60"));
    assert_eq!(state.policy().unwrap().max_timeout.as_ref().unwrap().place.column, Some(15));
    let state = PolicyState::parse(FILE, Some(b"a = 1\n\xff"));
    assert_eq!(state.issues()[0].place, Place::at(FILE, 2, 1));
}

#[test]
fn effects_become_grants() {
    let policy = "[sandbox]\nmode = \"enforce\"\nread_paths = [\"/b\", \"/a\"]\nwrite_paths = [\"/w\"]\n\
        [sandbox.tool.greet]\nmode = \"best-effort\"\nread_paths = [\"/a\", \"/c\"]\nlocal_sockets = true\n";
    let mut tool = Tool { env_labels: Vec::new(), ..tool() };
    let sandbox = decision_on(Some(policy), &tool).sandbox;
    let read_paths = ["/a", "/b", "/c"].map(str::to_owned).to_vec();
    let grants = Grants { network: true, local_sockets: true, read_paths, ..Grants::default() };
    assert_eq!(
        sandbox,
        SandboxRequest {
            mode: SandboxMode::BestEffort,
            grants: grants.clone(),
            observe: Observe::Changed,
            reads: Reads::Workspace,
            agent_files: AgentFiles::Closed,
        }
    );
    tool.effects = vec!["local-write".to_owned()];
    let write_paths = vec!["/w".to_owned()];
    let grants = Grants { workspace_write: true, network: false, write_paths, ..grants };
    assert_eq!(decision_on(Some(policy), &tool).sandbox.grants, grants);
    tool.id = "other".parse().unwrap();
    assert_eq!(decision_on(Some(policy), &tool).sandbox.mode, SandboxMode::Enforce);
}

#[test]
fn git_opens_by_key_and_effect() {
    let check = |lines: &str, effects: &[&str], git: bool, write: &[&str], closed: &[&str]| {
        let policy = format!("[sandbox]\nmode = \"enforce\"\n{lines}");
        let mut tool = tool();
        tool.effects = effects.iter().map(|effect| (*effect).to_owned()).collect();
        let sandbox = decision_on(Some(&policy), &tool).sandbox;
        let access = sandbox.access();
        assert_eq!(sandbox.grants.git_write, git, "{policy}");
        assert_eq!(
            (access.write, access.closed),
            (
                write.iter().map(|path| (*path).to_owned()).collect(),
                closed.iter().map(|path| (*path).to_owned()).collect()
            ),
            "{policy}"
        );
    };
    let key = "[sandbox.tool.greet]\ngit = \"write\"\n";
    check("", &["local-read", "git-write"], false, &[], &[]);
    check(key, &["local-read"], false, &[], &[]);
    check(key, &["git-write"], true, &[REPOSITORY], &[GIT_CLOSED]);
    check(key, &["local-write", "git-write"], true, &["workspace", REPOSITORY], &[".brigade", GIT_CLOSED]);
    check(&format!("{key}reads = \"closed\"\n"), &["git-write"], false, &[], &[]);
    check("[sandbox.tool.other]\ngit = \"write\"\n", &["git-write"], false, &[], &[]);
    let paths = "write_paths = [\".git\", \"/w\", \"a/.brigade/x\"]\n";
    check(paths, &["local-write"], false, &["workspace", "/w"], &[".brigade", ".git", "a/.brigade/x"]);
    check(paths, &["local-read"], false, &[], &[]);
    let issues = |text: &str| PolicyState::parse(FILE, Some(text.as_bytes())).policy().is_none();
    for wrong in
        ["git = \"write\"\n", "[sandbox.install]\ngit = \"write\"\n", "[sandbox.tool.a]\ngit = true\n"]
    {
        assert!(issues(&format!("[sandbox]\nmode = \"enforce\"\n{wrong}")), "{wrong}");
    }
}

#[test]
fn the_starter_policy_of_the_specification_is_valid() {
    let policy = "# comment\nallowed_families = ['script']\nallowed_effects = ['local-read', 'local-write']\n\
        denied_effects = ['remote-mutation', 'secret-read']\nrequired_approval_modes = ['on-request', 'always']\n\
        max_timeout = 60\nallowed_runtimes = ['local-helper']\nenv_bindings = { SAFE_ENV = 'BOUND' }\n";
    let tool = Tool { effects: vec!["local-read".to_owned()], ..tool() };
    check(Some(policy), &tool, &[]);
    let limits = "max_output_bytes = '1KiB'\nlimits = { processes = 4, memory = '1GiB', file_size = 9, open_files = 64 }";
    let decision = decision_on(Some(&format!("{policy}{limits}")), &tool);
    let expect =
        Limits { processes: Some(4), memory: Some(1 << 30), file_size: Some(9), open_files: Some(64) };
    assert_eq!((decision.max_output_bytes, decision.limits), (1024, expect));
}

#[test]
fn an_explanation_names_the_line_of_each_rule() {
    let policy = "allowed_families = [\"script\"]\nmax_timeout = 60\nenv_bindings = { SAFE_ENV = \"BOUND\" }\n\
        [sandbox]\nmode = \"enforce\"\n";
    let state = PolicyState::parse(FILE, Some(policy.as_bytes()));
    let tool = tool();
    let explanation = explain(&state, &CallFacts::from_tool(&tool), &|_: &str| true);
    let line = |topic: Topic| {
        let ruling = explanation.rulings.iter().find(|ruling| ruling.topic == topic).unwrap();
        ruling.place.as_ref().and_then(|place| place.line)
    };
    let topics =
        [Topic::Family, Topic::Effect, Topic::Timeout, Topic::EnvLabel, Topic::Sandbox, Topic::Network];
    assert_eq!(topics.map(line), [Some(1), None, Some(2), Some(3), Some(5), None]);
    assert!(explanation.decision.is_allowed());
}

/// Checks whether replacing one policy with another changes what an approval binds.
#[track_caller]
fn check_bound(before: Option<&str>, after: Option<&str>, bound: bool) {
    let tool = tool();
    let mark = |policy| decision_on(policy, &tool).fingerprint();
    assert_eq!(mark(before) != mark(after), bound, "{before:?} {after:?}");
}

#[test]
fn an_approval_binds_what_concerns_the_call() {
    let with = |more: &str| Some(format!("{more}\n{BOUND}"));
    let base = Some(BOUND);
    let check = |more: &str, bound: bool| check_bound(base, with(more).as_deref(), bound);
    check_bound(None, Some(BOUND), true);
    check("# only a comment\n\n", false);
    check("allowed_families = [\"script\", \"mcp\"]", false);
    check("denied_effects = [\"secret-read\"]", false);
    check("max_timeout = 60", false);
    check("sandbox = { mode = \"off\", read_paths = [\"/a\"] }", false);
    check("sandbox.tool.other.mode = \"enforce\"", false);
    check("paths.outside = [\"/a\"]", false);
    check("unknown = 1", false);
    check("denied_effects = [\"network\"]", true);
    check("max_timeout = 3", true);
    check("max_output_bytes = 1", true);
    check("limits.processes = 5", true);
    check("environment.pass = [\"X\"]", true);
    check("sandbox.mode = \"enforce\"", true);
    check("sandbox.tool.greet.mode = \"best-effort\"", true);
    check_bound(base, Some("env_bindings = { SAFE_ENV = \"ELSE\" }"), true);
    check_bound(base, Some("env_bindings = { SAFE_ENV = \"BOUND\", MORE = \"X\" }"), false);
    let enforced = |more: &str| format!("{BOUND}[sandbox]\nmode = \"enforce\"\n{more}");
    check_bound(Some(&enforced("")), Some(&enforced("read_paths = [\"/a\"]")), true);
    check_bound(Some(&enforced("")), Some(&enforced("write_paths = [\"/a\"]")), false);
    let (one, other) = ("read_paths = [\"/a\", \"/b\"]", "read_paths = [\"/b\", \"/a\", \"/b\"]");
    check_bound(Some(&enforced(one)), Some(&enforced(other)), false);
}

/// A TOML value of any type, with the name of the type.
fn any_value() -> impl Strategy<Value = (&'static str, String)> {
    prop_oneof![
        "[a-z]{0,8}".prop_map(|text| ("string", format!("\"{text}\""))),
        any::<i32>().prop_map(|number| ("number", number.to_string())),
        any::<bool>().prop_map(|truth| ("truth", truth.to_string())),
        Just(("date", "1979-05-27".to_owned())),
        prop::collection::vec("[a-z]{1,8}", 0..3).prop_map(|texts| ("list", format!("{texts:?}"))),
        Just(("list of numbers", "[1]".to_owned())),
        Just(("table", "{ a = 1 }".to_owned())),
    ]
}

const TYPES: &[(&str, &[&str])] = &[
    ("allowed_families", &["list"]),
    ("allowed_effects", &["list"]),
    ("denied_effects", &["list"]),
    ("required_approval_modes", &["list"]),
    ("max_timeout", &["number"]),
    ("allowed_runtimes", &["list"]),
    ("env_bindings", &[]),
    ("max_output_bytes", &["number", "string"]),
    ("max_bound_file", &["number", "string"]),
    ("sandbox", &["table"]),
    ("sandbox.mode", &["string"]),
    ("sandbox.read_paths", &["list"]),
    ("sandbox.write_paths", &["list"]),
    ("sandbox.local_sockets", &["truth"]),
    ("sandbox.tool", &[]),
    ("sandbox.tool.greet.mode", &["string"]),
    ("paths", &["table"]),
    ("paths.outside", &["list"]),
    ("git", &["table"]),
    ("git.urls", &["list"]),
    ("environment", &["table"]),
    ("environment.pass", &["list"]),
    ("limits", &["table"]),
    ("limits.processes", &["number"]),
    ("limits.memory", &["number", "string"]),
    ("limits.file_size", &["number", "string"]),
    ("limits.open_files", &["number"]),
];

proptest! {
    #[test]
    fn any_bytes_are_read(bytes in any::<Vec<u8>>()) {
        let _ = PolicyState::parse(FILE, Some(&bytes));
    }

    #[test]
    fn any_text_of_toml_letters_is_read(text in r#"[\[\]{}=.,"'a-c0-1 \n#-]{0,40}"#) {
        let _ = PolicyState::parse(FILE, Some(text.as_bytes()));
    }

    #[test]
    fn a_wrong_type_is_never_valid((name, types) in prop::sample::select(TYPES), (kind, value) in any_value()) {
        let state = PolicyState::parse(FILE, Some(format!("{name} = {value}\n").as_bytes()));
        if !types.contains(&kind) {
            prop_assert_eq!(state.validity(), PolicyValidity::Invalid);
            prop_assert!(state.issues().iter().all(|issue| issue.place.line == Some(1)));
        }
    }

    #[test]
    fn the_order_of_lines_and_comments_is_not_bound(seed in prop::collection::vec(any::<u32>(), 8)) {
        let mut lines: Vec<String> = [
            "allowed_families = [\"script\"]", "denied_effects = [\"x\", \"y\"]", "max_timeout = 60",
            "max_output_bytes = 5", "limits.memory = 5", "environment.pass = [\"B\", \"A\"]", BOUND.trim(),
            "sandbox = { mode = \"enforce\", read_paths = [\"/a\", \"/b\"] }",
        ].map(str::to_owned).to_vec();
        let plain = decision_on(Some(&lines.join("\n")), &tool()).fingerprint();
        let mut keyed: Vec<(u32, String)> = seed.into_iter().zip(lines).collect();
        keyed.sort();
        lines = keyed.into_iter().map(|(number, line)| format!("{line} # {number}")).collect();
        prop_assert_eq!(decision_on(Some(&lines.join("\n")), &tool()).fingerprint(), plain);
    }

    #[test]
    fn only_denied_or_unlisted_effects_block(
        effects in prop::collection::vec("[ab]{1,2}", 0..4),
        denied in prop::collection::vec("[ab]{1,2}", 0..3),
        allowed in prop::collection::vec("[ab]{1,2}", 0..3),
    ) {
        let policy = format!("denied_effects = {denied:?}\nallowed_effects = {allowed:?}\n");
        let tool = Tool { effects: effects.clone(), env_labels: Vec::new(), ..tool() };
        let unique: BTreeSet<&String> = effects.iter().collect();
        let expect = unique.iter().filter(|effect| denied.contains(effect)).count()
            + unique.iter().filter(|effect| !allowed.is_empty() && !allowed.contains(effect)).count();
        prop_assert_eq!(decision_on(Some(&policy), &tool).blockers.len(), expect);
    }
}

#[test]
fn an_installation_needs_a_policy_that_names_it() {
    #[track_caller]
    fn check(policy: Option<&str>, expect: &[&str]) {
        let state = PolicyState::parse(FILE, policy.map(str::as_bytes));
        let tool = Tool { capabilities: vec!["send mail".to_owned()], ..tool() };
        let installation = tool.installation("pip install x");
        let decision = decide(&state, &CallFacts::of_installation(&installation, &tool), &|_: &str| true);
        let found: Vec<String> = decision
            .blockers
            .iter()
            .map(|blocker| {
                let line = blocker.place.as_ref().and_then(|place| place.line).unwrap_or_default();
                format!("{}:{line}", blocker.code)
            })
            .collect();
        assert_eq!(found, expect);
    }
    check(None, &["policy_install_not_allowed:1"]);
    check(Some(""), &["policy_install_not_allowed:1"]);
    // The rules of an invalid policy are unknown, so only its errors are reported.
    check(Some("\nallowed_levels = [\"projekt\"]"), &["policy_invalid:2"]);
    check(Some("[["), &["policy_invalid:1"]);
    check(Some("max_timeout = 5\nallowed_effects = []"), &["policy_install_not_allowed:2"]);
    check(
        Some("allowed_effects = [\"local-write\"]"),
        &["policy_effect_not_allowed:1", "policy_install_not_allowed:1"],
    );
    check(Some("allowed_effects = [\"local-write\", \"network\", \"install\"]"), &[]);
    check(
        Some("allowed_effects = [\"local-write\", \"network\", \"install\"]\ndenied_effects = [\"install\"]"),
        &["policy_denied_effect:2"],
    );
    // Rules about the tool also apply to its installation.
    check(
        Some(
            "allowed_effects = [\"local-write\", \"network\", \"install\"]\nallowed_levels = [\"user\"]\n\
             allowed_sources = [\"mcp\"]\ndenied_capabilities = [\"Send_Mail\"]",
        ),
        &["policy_level:2", "policy_source:3", "policy_capability:4"],
    );
}

#[test]
fn installations_have_sandbox_rules_of_their_own() {
    let policy = "[sandbox]\nmode = \"enforce\"\nwrite_paths = [\"/a\"]\n[sandbox.tool.greet]\nwrite_paths = [\"/b\"]\n\
                  [sandbox.install]\nwrite_paths = [\"/c\"]\n";
    let state = PolicyState::parse(FILE, Some(policy.as_bytes()));
    let (tool, installation) = (tool(), tool().installation("pip install x"));
    let paths = |facts: &CallFacts<'_>| decide(&state, facts, &|_: &str| true).sandbox.grants.write_paths;
    assert_eq!(paths(&CallFacts::of_installation(&installation, &tool)), ["/a", "/c"]);
    assert_eq!(paths(&CallFacts::from_tool(&installation)), ["/a", "/b"]);
    let wrong = "[sandbox]\nmode = \"off\"\n[sandbox.install]\nmod = \"off\"\n";
    assert_eq!(PolicyState::parse(FILE, Some(wrong.as_bytes())).validity(), PolicyValidity::Invalid);
}

#[test]
fn hints_for_unbound_labels_are_not_masked() {
    let mut tool = tool();
    tool.env_labels = vec!["DB_TOKEN".to_owned()];
    let decision = decision_on(Some(BOUND), &tool);
    let hints = decision.blockers.iter().filter_map(|blocker| blocker.hint.as_ref());
    let hint = hints.map(ToString::to_string).find(|hint| hint.contains("DB_TOKEN")).unwrap();
    assert_eq!(brigade_redact::Redactor::new(&[]).redact_str(&hint), hint);
}

#[test]
fn a_runtime_adds_its_home_paths_and_variables() {
    let state = PolicyState::parse("policy.toml", Some(b"[sandbox]\nmode = \"enforce\"\n"));
    let mut decision = decide(&state, &CallFacts::missing("x"), &|_: &str| false);
    let plain = decision.fingerprint();
    let row = "[[runtime]]\nid = 'a'\nname = 'a'\ncommand = 'x'\nhome = 'private'\n\
        write_paths = ['~/.a', '.git/hooks']\nenv = { DATA = 'd', LD_PRELOAD = 'x', 'not a name' = 'y' }\n";
    let runtimes = brigade_catalog::Runtimes::parse("r", brigade_catalog::Level::Project, row.as_bytes());
    decision.add_runtime(runtimes.runtime("a").unwrap());
    let grants = &decision.sandbox.grants;
    assert_eq!(grants.home.as_deref(), Some(".brigade/tools/runtime/a/home"));
    assert_eq!(
        (&grants.write_paths[..], &grants.closed_paths[..]),
        (&["~/.a".to_owned()][..], &[".git/hooks".to_owned()][..])
    );
    assert_eq!(decision.variables.keys().collect::<Vec<_>>(), ["DATA"]);
    assert_eq!(decision.sandbox.access().write, ["~/.a", ".brigade/tools/runtime/a/home"]);
    assert_ne!(decision.fingerprint(), plain);
}
