//! The table of [`decide`]: a call that a rule covers, one fact changed per row, and the answer.

use super::*;
use crate::PolicyState;

const RULES: &str = r#"
[[auto_approve]]
name = "reads"
tools = ["docs.*", "fs.*", "cmd.run"]
effects = ["local-read"]
agents = ["codex"]
arguments = { path = "docs/**" }
max_calls_per_hour = 2
expires = "2027-01-31"

[[auto_approve]]
name = "words"
tools = ["count-words", "fs.*"]
effects = ["local-read", "local-write"]
env = ["SVC_TOKEN"]
"#;

/// A change of the request, which may name values of the case.
type Change = for<'a> fn(&mut Request<'a>, &mut CallFacts<'a>, &'a Values);

/// Values that a changed request borrows.
struct Values {
    docs: Json,
    secret: Json,
    none: Json,
    number: Json,
    writes: Vec<String>,
    reads: Vec<String>,
    agents: Vec<AgentName>,
    rules: PolicyState,
    changed: ReviewState,
    secrets: Vec<String>,
}

impl Values {
    fn new() -> Values {
        let path = |path: &str| Json::object([("path", Json::from(path))]);
        Values {
            docs: path("docs/a.md"),
            secret: path("secret/a.md"),
            none: Json::object::<&str>([]),
            number: Json::object([("path", Json::from(true))]),
            writes: vec!["local-read".to_owned(), "local-write".to_owned()],
            reads: vec!["local-read".to_owned()],
            agents: vec!["codex".parse().unwrap(), "other".parse().unwrap()],
            rules: PolicyState::parse("policy.toml", Some(RULES.as_bytes())),
            changed: ReviewState::Changed(vec!["contract".to_owned(), "file bin/a".to_owned()]),
            secrets: vec!["SVC_TOKEN".to_owned()],
        }
    }

    fn arguments<'a>(&'a self, written: &'a Json, followed: &'a Json) -> Option<Arguments<'a>> {
        Some(Arguments { written, followed, command: None })
    }
}

/// Writes an answer in words.
fn words(approval: &Approval<'_>) -> String {
    let reason = |reason: &Reason<'_>| match reason {
        Reason::AlwaysAsks => "mode".to_owned(),
        Reason::Profiles(action) => format!("profiles {action}"),
        Reason::ToolAsks => "tool".to_owned(),
        Reason::AnyCommand => "any command".to_owned(),
        Reason::Unchecked => "unchecked".to_owned(),
        Reason::NotReviewed => "not reviewed".to_owned(),
        Reason::EndUnknown => "end unknown".to_owned(),
        Reason::ForPerson => "for person".to_owned(),
        Reason::NoRules => "no rules".to_owned(),
        Reason::NotCovered(rule, gaps) => {
            let gaps: Vec<String> = gaps.iter().map(|gap| format!("{gap:?}")).collect();
            format!("{}: {}", rule.name, gaps.join(" "))
        }
    };
    match approval {
        Approval::Rule(rule) => format!("rule {}", rule.name),
        Approval::NotNeeded(own) => format!("not needed, {own}"),
        Approval::Person(reasons) => {
            let reasons: Vec<String> = reasons.iter().map(reason).collect();
            format!("person: {}", reasons.join("; "))
        }
    }
}

/// Compares the answer about a changed call, and what a listing says of the tool.
#[track_caller]
fn check(name: &str, change: Change, expect: &str, need: ApprovalNeed) {
    let values = Values::new();
    let tool = ToolFacts {
        id: "docs.search",
        effects: &values.reads,
        risk: RiskLevel::Low,
        approval_mode: Some(ApprovalMode::OnRequest),
        own: None,
        profiles: Action::Allow,
        is_full_auto: false,
        runs_any_command: false,
        check: ArgumentCheck::Checked,
        reviewed: &ReviewState::Yes,
    };
    let mut call = CallFacts {
        agent: Some("codex"),
        agents: &values.agents,
        rules: values.rules.auto_approve(),
        within: None,
        now: "2027-01-31T23:59:59Z".parse().unwrap(),
        approved_last_hour: &|_| 1,
        arguments: values.arguments(&values.docs, &values.docs),
        pin_changed: false,
        for_person: None,
        is_passed: false,
        is_end_unknown: false,
        secrets: &[],
    };
    let mut request = Request { tool, call: None };
    change(&mut request, &mut call, &values);
    let listed = decide(&request);
    assert_eq!(listed.need(), need, "listing: {name}");
    let is_settled = matches!(listed, Approval::NotNeeded(_)) || need.gate() == Gate::Ask;
    request.call = Some(call);
    let decided = decide(&request);
    assert_eq!(words(&decided), expect, "{name}");
    // Listing and call agree on who approves, unless the call itself gives the reason.
    let by_call = call.is_passed || call.is_end_unknown || call.for_person.is_some();
    assert!(by_call || !is_settled || decided.need() == need, "{name}");
    // A person is asked, whatever the rules say.
    assert!(need != ApprovalNeed::Person || matches!(decided, Approval::Person(_)), "{name}");
}

#[test]
#[rustfmt::skip]
fn table() {
    use ApprovalMode as Mode;
    use ApprovalNeed as N;
    use ToolApproval as Own;

    const NONE: &str = "not needed, none";
    const READS: &str = "rule reads";
    const ARGUMENT: &str = "person: reads: Argument(\"`path`\"); words: Tool";
    let gaps = |gaps: &str| format!("person: reads: {gaps}; words: {gaps} Tool");
    let asks = |reason: &str| format!("person: {reason}; reads: GateAsks; words: GateAsks Tool");
    let not_reviewed = |problem: &str| {
        let gap = format!("NotReviewed {{ tool: \"docs.search\", problem: \"{problem}\" }}");
        format!("person: not reviewed; reads: {gap}; words: {gap} Tool")
    };
    let always = "person: mode; reads: AlwaysAsks GateAsks; words: AlwaysAsks GateAsks Tool";
    let rows: &[(&str, Change, &str, ApprovalNeed)] = &[
        // The mode of the entry.
        ("a rule covers", |_, _, _| {}, READS, N::Rule),
        ("no mode", |r, _, _| r.tool.approval_mode = None, READS, N::Rule),
        ("mode never", |r, _, _| r.tool.approval_mode = Some(Mode::Never), READS, N::Rule),
        ("mode always", |r, _, _| r.tool.approval_mode = Some(Mode::Always), always, N::Person),
        // The approval of a built-in tool.
        ("own none", |r, _, _| r.tool.own = Some(Own::None), NONE, N::None),
        ("of another tool", |r, _, _| r.tool.own = Some(Own::OfNamedTool), "not needed, as the named tool", N::None),
        ("own rule", |r, _, _| r.tool.own = Some(Own::Rule), READS, N::Rule),
        ("own ask", |r, _, _| r.tool.own = Some(Own::Ask), &asks("tool"), N::Person),
        ("own ask, full auto", |r, _, _| (r.tool.own, r.tool.is_full_auto) = (Some(Own::Ask), true), READS, N::Rule),
        ("full auto, a rule covers", |r, _, _| r.tool.is_full_auto = true, READS, N::Rule),
        ("full auto, mode always", |r, _, _| (r.tool.is_full_auto, r.tool.approval_mode) = (true, Some(Mode::Always)),
            always, N::Person),
        ("own none, mode always", |r, _, _| (r.tool.own, r.tool.approval_mode) = (Some(Own::None), Some(Mode::Always)),
            always, N::Person),
        ("own none, no rules", |r, c, _| { r.tool.own = Some(Own::None); c.rules = &[]; }, NONE, N::None),
        ("own none, no agent", |r, c, _| { r.tool.own = Some(Own::None); c.agent = None; }, NONE, N::None),
        ("own none, no effects", |r, _, _| { r.tool.own = Some(Own::None); r.tool.effects = &[]; }, NONE, N::None),
        // What the profiles say.
        ("profiles ask", |r, _, _| r.tool.profiles = Action::Ask, &asks("profiles ask"), N::Person),
        ("profiles judge", |r, _, _| r.tool.profiles = Action::Judge, &asks("profiles judge"), N::Judge),
        ("passed", |r, c, _| { r.tool.profiles = Action::Judge; c.is_passed = true; }, READS, N::Judge),
        ("passed, no rules", |r, c, _| { r.tool.profiles = Action::Judge; c.is_passed = true; c.rules = &[]; },
            "person: no rules", N::Judge),
        ("passed, profiles ask", |r, c, _| { r.tool.profiles = Action::Ask; c.is_passed = true; },
            &asks("profiles ask"), N::Person),
        ("passed, mode always", |r, c, _| {
            (r.tool.profiles, r.tool.approval_mode, c.is_passed) = (Action::Judge, Some(Mode::Always), true);
        }, always, N::Person),
        ("passed, unchecked", |r, c, _| {
            (r.tool.profiles, r.tool.check, c.is_passed) = (Action::Judge, ArgumentCheck::Unchecked, true);
        }, &asks("unchecked"), N::Person),
        ("profiles deny", |r, _, _| r.tool.profiles = Action::Deny,
            "person: profiles deny; reads: Denied; words: Denied", N::Person),
        ("own none, profiles ask", |r, _, _| (r.tool.own, r.tool.profiles) = (Some(Own::None), Action::Ask),
            &asks("profiles ask"), N::Person),
        ("own none, profiles judge", |r, _, _| (r.tool.own, r.tool.profiles) = (Some(Own::None), Action::Judge),
            &asks("profiles judge"), N::Judge),
        ("own none, passed", |r, c, _| {
            (r.tool.own, r.tool.profiles, c.is_passed) = (Some(Own::None), Action::Judge, true);
        }, NONE, N::Judge),
        // `cmd.run`.
        ("any command", |r, _, _| (r.tool.id, r.tool.runs_any_command) = ("cmd.run", true),
            &asks("any command"), N::Person),
        ("any command, full auto", |r, _, _| {
            (r.tool.id, r.tool.runs_any_command, r.tool.is_full_auto) = ("cmd.run", true, true);
        }, &asks("any command"), N::Person),
        ("limited commands", |r, _, _| r.tool.id = "cmd.run", READS, N::Rule),
        // Arguments that are not checked.
        ("unchecked", |r, _, _| r.tool.check = ArgumentCheck::Unchecked, &asks("unchecked"), N::Person),
        ("own none, unchecked", |r, _, _| (r.tool.own, r.tool.check) = (Some(Own::None), ArgumentCheck::Unchecked),
            &asks("unchecked"), N::Person),
        // What is never covered.
        ("no agent", |_, c, _| c.agent = None, &gaps("NoAgent"), N::Rule),
        ("changed pin", |_, c, _| c.pin_changed = true, &gaps("PinChanged"), N::Rule),
        ("critical", |r, _, _| r.tool.risk = RiskLevel::Critical, &gaps("Critical"), N::Rule),
        ("high risk", |r, _, _| r.tool.risk = RiskLevel::High, READS, N::Rule),
        ("no effects", |r, _, _| r.tool.effects = &[], &gaps("NoEffects"), N::Rule),
        // What a person has reviewed.
        ("never reviewed", |r, _, _| r.tool.reviewed = &ReviewState::Never, &not_reviewed("no person has seen it"),
            N::Person),
        ("changed since", |r, _, v| r.tool.reviewed = &v.changed,
            &not_reviewed("changed since a person saw it: contract, file bin/a"), N::Person),
        ("never reviewed, passed", |r, c, _| {
            (r.tool.reviewed, r.tool.profiles, c.is_passed) = (&ReviewState::Never, Action::Judge, true);
        }, &not_reviewed("no person has seen it"), N::Person),
        // Bound values beside a command.
        ("a secret", |_, c, v| c.secrets = &v.secrets,
            "person: reads: Secret(\"`SVC_TOKEN`\"); words: Tool", N::Rule),
        ("a named secret", |r, c, v| (r.tool.id, c.secrets) = ("count-words", &v.secrets), "rule words", N::Rule),
        ("for a person", |_, c, _| c.for_person = Some("x"),
            "person: for person; reads: ForPerson(\"x\"); words: ForPerson(\"x\") Tool", N::Rule),
        ("own none, for a person", |r, c, _| { r.tool.own = Some(Own::None); c.for_person = Some("x"); },
            "person: for person; reads: ForPerson(\"x\"); words: ForPerson(\"x\") Tool", N::None),
        ("unknown end", |_, c, _| c.is_end_unknown = true, "person: end unknown; words: Tool", N::Rule),
        ("own none, unknown end", |r, c, _| { r.tool.own = Some(Own::None); c.is_end_unknown = true; },
            "person: end unknown; words: Tool", N::None),
        // What a rule covers.
        ("no rules", |_, c, _| c.rules = &[], "person: no rules", N::Rule),
        ("another tool", |r, _, _| r.tool.id = "deploy", "person: reads: Tool; words: Tool", N::Rule),
        ("similar names", |r, _, _| r.tool.id = "docsx.search", "person: reads: Tool; words: Tool", N::Rule),
        ("the second rule", |r, _, _| r.tool.id = "count-words", "rule words", N::Rule),
        ("the first of two", |r, _, _| r.tool.id = "fs.read", READS, N::Rule),
        ("only the second of two", |r, _, v| (r.tool.id, r.tool.effects) = ("fs.write", &v.writes),
            "rule words", N::Rule),
        ("another effect", |r, _, v| r.tool.effects = &v.writes,
            "person: reads: Effect(\"`local-write`\"); words: Tool", N::Rule),
        ("another agent", |_, c, _| c.agent = Some("other"), "person: reads: Agent; words: Tool", N::Rule),
        ("an unknown agent", |_, c, _| c.agent = Some("third"),
            "person: reads: UnknownAgent; words: Tool UnknownAgent", N::Rule),
        ("no agents", |_, c, _| c.agents = &[], "person: reads: UnknownAgent; words: Tool UnknownAgent", N::Rule),
        ("other arguments", |_, c, v| c.arguments = v.arguments(&v.secret, &v.secret), ARGUMENT, N::Rule),
        ("a link that leads out", |_, c, v| c.arguments = v.arguments(&v.docs, &v.secret), ARGUMENT, N::Rule),
        ("a link that leads in", |_, c, v| c.arguments = v.arguments(&v.secret, &v.docs), ARGUMENT, N::Rule),
        ("no argument", |_, c, v| c.arguments = v.arguments(&v.none, &v.none),
            "person: reads: ArgumentMissing(\"`path`\"); words: Tool", N::Rule),
        ("not text", |_, c, v| c.arguments = v.arguments(&v.number, &v.number),
            "person: reads: ArgumentNotText(\"`path`\"); words: Tool", N::Rule),
        ("any arguments", |_, c, _| c.arguments = None, READS, N::Rule),
        ("after the last day", |_, c, _| c.now = "2027-02-01".parse().unwrap(),
            "person: reads: Expired(\"2027-01-31\"); words: Tool", N::Rule),
        ("at its limit", |_, c, _| c.approved_last_hour = &|_| 2,
            "person: reads: LimitReached(2); words: Tool", N::Rule),
        // What a second policy says.
        ("a second policy covers", |_, c, v| c.within = Some(v.rules.auto_approve()), READS, N::Rule),
        ("a second policy has no rule", |_, c, _| c.within = Some(&[]),
            "person: reads: Within; words: Tool", N::Rule),
        ("only another rule of the second policy", |_, c, v| c.within = Some(&v.rules.auto_approve()[1..]),
            "person: reads: Within; words: Tool", N::Rule),
        ("a second policy covers more", |r, c, v| {
            (r.tool.id, c.within) = ("deploy", Some(v.rules.auto_approve()));
        }, "person: reads: Tool; words: Tool", N::Rule),
        ("own none, a second policy without rules", |r, c, _| {
            r.tool.own = Some(Own::None);
            c.within = Some(&[]);
        }, NONE, N::None),
        ("not counted", |_, c, v| {
            c.arguments = v.arguments(&v.secret, &v.secret);
            c.approved_last_hour = &|_| panic!("a rule that does not cover the call counts nothing");
        }, ARGUMENT, N::Rule),
    ];
    assert!(40 <= rows.len());
    for (name, change, expect, need) in rows {
        check(name, *change, expect, *need);
    }
}

#[test]
fn needs_are_ordered_by_strictness() {
    let all = [ApprovalNeed::None, ApprovalNeed::Rule, ApprovalNeed::Judge, ApprovalNeed::Person];
    assert!(all.is_sorted());
    assert_eq!(all.map(ApprovalNeed::gate), [Gate::Allow, Gate::Allow, Gate::Ask, Gate::Ask]);
}
