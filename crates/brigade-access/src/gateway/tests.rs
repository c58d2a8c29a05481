use super::*;

fn parse(text: &str) -> Result<GatewayConfig, Vec<ConfigIssue>> {
    GatewayConfig::parse("gateway.toml", Some(text.as_bytes()), Profiles::shipped())
}

#[test]
fn a_missing_file_has_the_agent_local_alone() {
    let config = GatewayConfig::parse("gateway.toml", None, Profiles::shipped()).unwrap();
    assert_eq!(config.agent_names(), [AgentName::local()]);
    assert!(!config.exists && config.http == Http::default() && config.list == Listing::Full);
    assert_eq!((config.page_size, config.max_result_bytes), (100, 32 << 10));
    assert_eq!(config.agent("local").unwrap().confirm, Confirm::None);
}

#[test]
fn a_file_without_agents_has_none() {
    let config = parse("list = \"search\"\n").unwrap();
    assert!(config.exists && config.agents.is_empty() && config.list == Listing::Search);
}

#[test]
fn a_notification_is_an_array_or_a_line() {
    let command = |text: &str| {
        let notify = parse(text).map(|config| config.notify.unwrap());
        notify.map(|notify| (notify.command.words().to_vec(), notify.timeout))
    };
    let words = vec!["sh".to_owned(), "a b.sh".to_owned()];
    assert_eq!(command("[notify]\ncommand = [\"sh\", \"a b.sh\"]\n"), Ok((words.clone(), 5)));
    assert_eq!(command("[notify]\ncommand = \"sh 'a b.sh'\"\ntimeout = 9\n"), Ok((words, 9)));
    for (text, line, message) in [
        ("[notify]\n", 1, "is missing"),
        ("[notify]\ncommand = []\n", 2, "empty list"),
        ("[notify]\ncommand = 1\n", 2, "expected a string or a list of strings"),
        ("[notify]\ncommand = [\"x\"]\ntimeout = 301\n", 3, "from 1 to 300"),
        ("[notify]\ncomand = \"x\"\ncommand = \"x\"\n", 2, "unknown key"),
    ] {
        let issues = parse(text).unwrap_err();
        let found = issues.iter().any(|issue| {
            issue.place.line == Some(line) && format!("{} {:?}", issue.message, issue.hint).contains(message)
        });
        assert!(found, "{text}: {issues:?}");
    }
}

#[test]
fn everything_is_read() {
    let hash = Fingerprint::of_bytes(b"secret").to_hex();
    let text = format!(
        r#"
list = "compact"
page_size = 1000
max_result_bytes = "64KiB"
max_request_bytes = 1024
sync = "before"
[http]
allowed_origins = ["http://localhost:5173"]
public = true
[[agent]]
name = "codex-ci"
token_sha256 = "{hash}"
profiles = ["permission.plan", "guard.judge", "guard.rate"]
confirm = "elicitation"
confirm_risk = "medium"
[agent.limits]
calls_per_minute = 60
calls_per_hour = 1000
seconds_per_hour = 1800
output_per_hour = "64MiB"
concurrent = 2
pending = 5
pending_bytes = "1MiB"
[[upstream]]
id = "files"
keep = 10
share = "workspace"
resources = ["file:///srv/docs/**"]
prompts = ["review-*"]
effects = ["local-read"]
sampling = true
"#
    );
    let config = parse(&text).unwrap();
    assert_eq!((config.list, config.page_size, config.sync), (Listing::Compact, 1000, SyncTime::Before));
    assert_eq!((config.max_result_bytes, config.max_request_bytes), (64 << 10, 1024));
    assert!(config.http.public && config.http.allowed_origins == ["http://localhost:5173"]);
    let agent = config.agent("codex-ci").unwrap();
    assert_eq!(agent.place.line, Some(10));
    assert_eq!((agent.confirm, agent.confirm_risk), (Confirm::Elicitation, RiskLevel::Medium));
    assert_eq!(agent.profiles.len(), 3);
    assert_eq!((agent.limits.output_per_hour, agent.limits.concurrent), (Some(64 << 20), 2));
    assert_eq!((agent.limits.pending, agent.limits.pending_bytes), (5, 1 << 20));
    let files = config.upstream("files");
    assert_eq!((files.keep, files.share, files.sampling), (10, Share::Workspace, true));
    assert!(files.resources[0].matches("file:///srv/docs/a/b"));
    assert_eq!(config.upstream("other").keep, 300);
    assert_eq!(config.agent_of_token(b"secret").map(|agent| agent.name.as_str()), Some("codex-ci"));
    assert_eq!(config.agent_of_token(b"Secret"), None);
}

#[test]
fn an_agent_without_a_token_has_no_token() {
    let config = parse("[[agent]]\nname = \"a\"\n").unwrap();
    assert_eq!(config.agent_of_token(b""), None);
}

#[track_caller]
fn check_invalid(text: &str, line: usize, field: &str, part: &str) {
    let issues = parse(text).expect_err(text);
    let found = issues.iter().any(|issue| {
        issue.place.line == Some(line)
            && issue.place.column.is_some()
            && issue.field.as_deref() == Some(field)
            && format!("{} {:?}", issue.message, issue.hint).contains(part)
    });
    assert!(found, "{issues:#?}");
}

#[test]
fn every_error_has_a_place_and_a_near_name() {
    let hash = "0".repeat(64);
    check_invalid("lists = \"full\"", 1, "lists", "`list`");
    check_invalid("list = \"ful\"", 1, "list", "`full`");
    check_invalid("page_size = 0", 1, "page_size", "number");
    check_invalid("page_size = 1001", 1, "page_size", "1 to 1000");
    check_invalid("page_size = \"9\"", 1, "page_size", "number");
    check_invalid("max_result_bytes = -1", 1, "max_result_bytes", "bytes");
    check_invalid("sync = true", 1, "sync", "string");
    check_invalid("[http]\npublik = true", 2, "http.publik", "public");
    check_invalid("[http]\npublic = \"yes\"", 2, "http.public", "true or false");
    for origin in ["http://localhost:5173/", "null", "*", "http://*", "localhost", "http://A", "http://"] {
        let text = format!("[http]\nallowed_origins = [\"{origin}\"]");
        check_invalid(&text, 2, "http.allowed_origins[1]", "exact origin");
    }
    let agent = |rest: &str| format!("[[agent]]\nname = \"a\"\n{rest}\n");
    check_invalid("[[agent]]\n", 1, "agent[1].name", "missing");
    check_invalid("[[agent]]\nname = \"a b\"", 2, "agent[1].name", "letters");
    check_invalid("[agent]\nname = \"a\"", 1, "agent", "[[agent]]");
    check_invalid(&format!("{}{}", agent(""), agent("")), 5, "agent[2].name", "line 2");
    check_invalid(&agent("token = \"x\""), 3, "agent[1].token", "token_sha256");
    check_invalid(&agent("token_sha256 = \"x\""), 3, "agent[1].token_sha256", "never the token");
    let two = format!(
        "{}[[agent]]\nname = \"b\"\ntoken_sha256 = \"{hash}\"\n",
        agent(&format!("token_sha256 = \"{hash}\""))
    );
    check_invalid(&two, 6, "agent[2].token_sha256", "line 3");
    check_invalid(&agent("profiles = [\"permission.pln\"]"), 3, "agent[1].profiles[1]", "permission.plan");
    check_invalid(
        &agent("profiles = [\"permission.plan\", \"permission.edit\"]"),
        3,
        "agent[1].profiles[2]",
        "one profile in the slot permission",
    );
    check_invalid(&agent("confirm = \"always\""), 3, "agent[1].confirm", "elicitation");
    check_invalid(&agent("confirm_risk = \"lo\""), 3, "agent[1].confirm_risk", "low");
    check_invalid(&agent("limits = { concurrent = 0 }"), 3, "agent[1].limits.concurrent", "number");
    check_invalid(&agent("limits = { calls_per_day = 3 }"), 3, "agent[1].limits.calls_per_day", "unknown");
    let upstream = |rest: &str| format!("[[upstream]]\nid = \"a\"\n{rest}\n");
    check_invalid("[[upstream]]\n", 1, "upstream[1].id", "missing");
    check_invalid(&upstream("resources = [\"x\"]"), 1, "upstream[1].effects", "missing");
    check_invalid(&upstream("prompts = [\"x\"]"), 1, "upstream[1].effects", "missing");
    check_invalid(&upstream("share = \"all\""), 3, "upstream[1].share", "workspace");
    check_invalid(&format!("{}{}", upstream(""), upstream("")), 5, "upstream[2].id", "line 2");
    let worker = |rest: &str| format!("[[worker]]\nid = \"a\"\n{rest}\n");
    check_invalid(&worker(""), 1, "worker[1].command", "missing");
    check_invalid(&worker("command = \"'\""), 3, "worker[1].command", "");
    check_invalid(&worker("command = \"x\"\nprompt = \"argument\""), 4, "worker[1].prompt", "stdin");
    check_invalid(&worker("command = \"x\"\nmodel = \"y\""), 4, "worker[1].model", "unknown");
    let twice = format!("{0}{0}", worker("command = \"x\""));
    check_invalid(&twice, 5, "worker[2].id", "line 2");
    check_invalid("[judge]\n", 1, "judge.worker", "missing");
    check_invalid("[judge]\nworker = \"a\"\n", 2, "judge.worker", "[[worker]]");
    let judge = |rest: &str| format!("[judge]\nworker = \"a\"\n{rest}\n{}", worker("command = \"x\""));
    check_invalid(&judge("threshold = 1.5"), 3, "judge.threshold", "at most 1");
    check_invalid(&judge("threshold = 0"), 3, "judge.threshold", "greater than 0");
    check_invalid(&judge("model = \"y\""), 3, "judge.model", "unknown");
    check_invalid("a = \n", 1, "a", "");
}

#[test]
fn a_worker_is_a_command_without_a_shell() {
    let text = "[[worker]]\nid = \"a\"\ncommand = \"claude --model 'x y'\"\nprompt = \"file\"\nresult = \"stdout\"\n";
    let workers = parse(text).unwrap().workers;
    assert_eq!(workers[0].command.words(), ["claude", "--model", "x y"]);
    assert_eq!(
        (workers[0].prompt, workers[0].result),
        (Some(WorkerPrompt::File), Some(WorkerResult::Stdout))
    );
}

#[test]
fn a_judge_is_a_worker_with_a_threshold() {
    let judge = |rest: &str| {
        let text = format!("[judge]\nworker = \"a\"\n{rest}\n[[worker]]\nid = \"a\"\ncommand = \"x\"\n");
        parse(&text).unwrap().judge.unwrap()
    };
    assert_eq!((judge("").worker.as_str(), judge("").threshold), ("a", 0.7));
    assert_eq!(judge("threshold = 1").threshold, 1.0);
    assert!(parse("").unwrap().judge.is_none());
}

fn token() -> Token {
    Token::of_random([7; TOKEN_BYTES])
}

fn new(name: &str) -> NewAgent {
    NewAgent { token_sha256: Some(token().sha256()), ..NewAgent::new(name.parse().unwrap()) }
}

#[test]
fn the_first_agent_of_a_new_file_keeps_local() {
    let text = add_agent(None, &new("codex")).unwrap();
    let config = parse(&text).unwrap();
    assert_eq!(config.agent_names(), [AgentName::local(), "codex".parse().unwrap()]);
    assert_eq!(config.agent_of_token(token().expose().as_bytes()).unwrap().name.as_str(), "codex");
    let text = add_agent(None, &new("local")).unwrap();
    assert_eq!(parse(&text).unwrap().agent_names(), [AgentName::local()]);
}

#[test]
fn edits_keep_comments_and_order() {
    let text = "# ours\nlist = \"full\" # all\n\n# one\n[[agent]]\nname = \"a\" # A\nconfirm = \"none\"\n[http]\n# web\n";
    let added = add_agent(Some(text), &new("b")).unwrap();
    assert!(added.starts_with(text.trim_end_matches("[http]\n# web\n")), "{added}");
    assert!(added.contains("# web"));
    assert_eq!(parse(&added).unwrap().agents.len(), 2);
    let rotated = rotate_token(&added, &"a".parse().unwrap(), Fingerprint::of_bytes(b"x")).unwrap();
    assert_eq!(parse(&rotated).unwrap().agent_of_token(b"x").unwrap().name.as_str(), "a");
    let removed = remove_agent(&added, &"b".parse().unwrap()).unwrap();
    assert_eq!(removed, text);
}

#[test]
fn edits_keep_line_ends_and_a_byte_order_mark() {
    let text = "# ours\r\nlist = \"full\"\r\n\r\n[[agent]]\r\nname = \"a\"\r\n";
    for text in [text.to_owned(), format!("\u{feff}{text}"), text.trim_end().to_owned()] {
        let added = add_agent(Some(&text), &new("b")).unwrap();
        assert_eq!(added.matches('\n').count(), added.matches("\r\n").count(), "{added:?}");
        assert_eq!(parse(&added).unwrap().agents.len(), 2);
        let removed = remove_agent(&added, &"b".parse().unwrap()).unwrap();
        assert_eq!(removed, text);
    }
}

#[test]
fn an_edit_that_is_not_possible_changes_nothing() {
    let text = "[[agent]]\nname = \"codex\"\n";
    let name: AgentName = "codxe".parse().unwrap();
    let near = Some("codex".to_owned());
    assert_eq!(add_agent(Some(text), &new("codex")), Err(EditError::Exists("codex".parse().unwrap())));
    assert_eq!(remove_agent(text, &name), Err(EditError::Unknown { name: name.clone(), near }));
    assert_eq!(rotate_token("a = ", &name, token().sha256()), Err(EditError::NotToml));
    assert_eq!(add_agent(Some("agent = 3"), &new("a")), Err(EditError::NotTables));
}

#[test]
fn a_token_is_long_and_hides_itself() {
    assert_eq!(token().expose().len(), "brigade_".len() + 64);
    assert_eq!(format!("{:?}", token()), "Token(..)");
}

#[test]
fn comments_that_are_not_of_an_agent_outlive_it() {
    #[track_caller]
    fn check(text: &str, name: &str, expect: &str) {
        assert_eq!(remove_agent(text, &name.parse().unwrap()).unwrap(), expect);
    }
    let house = "# house rules\n\n";
    let (a, b) = ("# of a\n[[agent]]\nname = \"a\"\n", "[[agent]]\nname = \"b\"\n");
    check(&format!("{house}{a}\n{b}"), "a", &format!("{house}{b}"));
    check(&format!("{a}# note about a\n\n{b}"), "b", &format!("{a}# note about a\n"));
    check(&format!("{house}{a}[agent.limits]\nconcurrent = 2\n"), "a", "# house rules\n");
    let upstream = "[[upstream]]\nid = \"files\"\n";
    check(
        &format!("list = \"full\"\n{house}{a}{upstream}"),
        "a",
        &format!("list = \"full\"\n{house}{upstream}"),
    );
    check(&format!("{a}\n{b}"), "a", &format!("\n{b}"));
}
