use proptest::prelude::*;

use super::*;
use crate::adapter::Limit;

fn evidence(answer: &str) -> Evidence<'_> {
    Evidence { exit: Exit::Code(0), result: Ok(None), nonce: "n0", answer: Some(answer), limit: None }
}

fn promises(answer: &str) -> Vec<Signal> {
    Tags::find(answer).promises
}

#[test]
fn the_table_spells_every_signal_once() {
    let signals = [
        Signal::Complete,
        Signal::AlreadyDone,
        Signal::Absorbed("US-1".parse().unwrap()),
        Signal::Blocked,
        Signal::Continue,
        Signal::Question("x".to_owned()),
    ];
    assert_eq!(signals.len(), TABLE.len());
    for (at, signal) in signals.iter().enumerate() {
        assert_eq!(signal.spelling(), &TABLE[at]);
        let id = if TABLE[at].promise.ends_with(':') { "US-1" } else { "" };
        let read = Signal::from_promise(&format!("{}{id}", TABLE[at].promise));
        assert_eq!(read.as_ref(), Some(signal).filter(|_| !TABLE[at].promise.is_empty()));
        let extra = r#""absorbed_by":"US-1","question":"x""#;
        let file = format!(r#"{{"nonce":"n0","signal":"{}",{extra}}}"#, TABLE[at].word);
        let result = Ok(Some(file.as_bytes()));
        let (ending, _) = classify_ending(&Evidence { result, ..evidence("") });
        assert_eq!(ending, Ending::Said { signal: signal.clone(), by: SignalSource::ResultFile });
    }
    assert_eq!(TABLE.iter().map(|row| row.exit_code).collect::<Vec<_>>(), [0, 33, 34, 32, 1, 1]);
}

#[test]
fn a_promise_counts_unless_it_is_quoted() {
    for answer in [
        "<promise>COMPLETE</promise>",
        "text\n<promise>COMPLETE</promise>",
        "text\r\n  <promise>COMPLETE</promise>  \r\nmore",
        "<promise> COMPLETE </promise>\n<promise>COMPLETE</promise>",
        "```\ncode\n```\n<promise>COMPLETE</promise>",
        "~~~~ rust\n~~~\n~~~~\n<promise>COMPLETE</promise>",
        "`a`\n``` not `a` fence\n<promise>COMPLETE</promise>",
        "<learning>never closed\n<promise>COMPLETE</promise>",
        "All tests pass. <promise>COMPLETE</promise> Thank you",
        "**<promise>COMPLETE</promise>**",
        "- Status: **<promise>COMPLETE</promise>**.",
        "`<promise>COMPLETE</promise>`",
        "```\n<promise>COMPLETE</promise>\n```",
        "- ```\n  <promise>COMPLETE</promise>\n  ```",
        "    <promise>COMPLETE</promise>",
        "<promise>COMPLETE</promise><promise>COMPLETE</promise>",
    ] {
        assert_eq!(promises(answer), [Signal::Complete], "{answer}");
    }
    for answer in [
        "I would write `<promise>COMPLETE</promise>` soon",
        "- \"complete\" or `<promise>COMPLETE</promise>`: every criterion is met",
        "The prompt says \"<promise>COMPLETE</promise>\".",
        "> <promise>COMPLETE</promise>",
        "  > > <promise>COMPLETE</promise>",
        "```sh\necho <promise>COMPLETE</promise>\n```",
        "<promise>\nCOMPLETE\n</promise>",
        "<promise>complete</promise>",
        "Ends with <promise>X</promise> or another",
        "<PROMISE>COMPLETE</PROMISE>",
        "<learning>\n<promise>COMPLETE</promise>\n</learning>",
    ] {
        assert_eq!(promises(answer), [], "{answer}");
    }
}

#[test]
fn different_promises_are_a_conflict() {
    let ending = |answer: &str| classify_ending(&evidence(answer)).0;
    let both = "<promise>COMPLETE</promise>\n<promise>BLOCKED</promise>";
    assert_eq!(ending(both), Ending::Iteration(Iteration::Conflict));
    let two = "<promise>ABSORBED_BY:a</promise>\n<promise>ABSORBED_BY:b</promise>";
    assert_eq!(ending(two), Ending::Iteration(Iteration::Conflict));
    let unknown = "<promise>DONE</promise>";
    assert_eq!(ending(unknown), Ending::Iteration(Iteration::UnknownPromise));
    assert_eq!(ending("<promise>ABSORBED_BY:../x</promise>"), Ending::Iteration(Iteration::UnknownPromise));
    assert_eq!(
        ending(&format!("{unknown}\n<promise>COMPLETE</promise>")),
        Ending::Iteration(Iteration::Conflict)
    );
}

#[test]
fn tags_over_several_lines_are_whole() {
    let answer = "<learning>one\n\n  - two\n</learning>\n<learning>one line</learning>\n<backlog>\nlater\n</backlog> \n\
        <learning>one line</learning>\n<learning>a</learning> behind\n<approach>try\nthis</approach>\n\
        <promise>BLOCKED</promise>\n<reason>no\nkey</reason>\n> <backlog>quoted</backlog>";
    let (ending, said) = classify_ending(&evidence(answer));
    assert_eq!(ending, Ending::Said { signal: Signal::Blocked, by: SignalSource::Tag });
    assert_eq!(said.learnings, ["one\n\n  - two", "one line"]);
    assert_eq!(said.backlog, ["later"]);
    assert_eq!((said.approach.as_deref(), said.reason.as_deref()), (Some("try\nthis"), Some("no\nkey")));
}

#[track_caller]
fn check(exit: Exit, result: Option<&str>, answer: &str, expect: Ending) {
    let result = Ok(result.map(str::as_bytes));
    assert_eq!(classify_ending(&Evidence { exit, result, ..evidence(answer) }).0, expect);
}

const COMPLETE: &str = "<promise>COMPLETE</promise>";

#[test]
fn the_first_match_wins() {
    use Exit::{Code, TimeLimit};
    let said = |signal, by| Ending::Said { signal, by };
    let blocked = Some(r#"{"nonce":"n0","signal":"blocked","reason":"r"}"#);
    check(TimeLimit, blocked, COMPLETE, Ending::TimeLimit);
    check(Exit::Stalled, blocked, COMPLETE, Ending::Stalled);
    check(Exit::Interrupted, None, COMPLETE, Ending::Interrupted);
    check(Code(0), blocked, COMPLETE, said(Signal::Blocked, SignalSource::ResultFile));
    check(Code(0), None, COMPLETE, said(Signal::Complete, SignalSource::Tag));
    check(Code(32), None, "", said(Signal::Blocked, SignalSource::ExitCode));
    check(Code(33), None, "no tags", said(Signal::AlreadyDone, SignalSource::ExitCode));
    check(Code(34), None, "", Ending::Iteration(Iteration::NoSignal));
    check(Code(0), None, "", Ending::Iteration(Iteration::NoSignal));
    check(
        Code(0),
        None,
        "<scope-question>Which?</scope-question>",
        said(Signal::Question("Which?".into()), SignalSource::Tag),
    );
}

#[test]
fn a_claim_of_a_failed_process_does_not_count() {
    let failed = |exit| Ending::Iteration(Iteration::Failed(exit));
    for exit in [Exit::Code(1), Exit::Code(2), Exit::Code(34), Exit::Code(137), Exit::Signal(9)] {
        check(exit, None, COMPLETE, failed(exit));
        check(exit, Some(r#"{"nonce":"n0","signal":"complete"}"#), "", failed(exit));
    }
    check(Exit::Code(1), None, "<promise>ALREADY_DONE</promise>", failed(Exit::Code(1)));
    let absorbed = Ending::Said { signal: Signal::Absorbed("a".parse().unwrap()), by: SignalSource::Tag };
    check(Exit::Code(34), None, "<promise>ABSORBED_BY:a</promise>", absorbed);
    let blocked = Ending::Said { signal: Signal::Blocked, by: SignalSource::Tag };
    check(Exit::Code(1), None, "<promise>BLOCKED</promise>", blocked);
}

#[test]
fn a_result_file_that_does_not_count_never_completes() {
    let fault = |fault| Ending::Iteration(Iteration::Result(fault));
    for (text, expect) in [
        ("", ResultFault::Broken),
        ("[]", ResultFault::Broken),
        ("{\"nonce\":\"n0\",\"signal\":\"complete\"", ResultFault::Broken),
        ("{\"nonce\":\"n0\",\"signal\":\"complete\",\"signal\":\"blocked\"}", ResultFault::Broken),
        ("{\"signal\":\"complete\"}", ResultFault::ForeignNonce),
        ("{\"nonce\":\"n1\",\"signal\":\"complete\"}", ResultFault::ForeignNonce),
        ("{\"nonce\":5,\"signal\":\"complete\"}", ResultFault::ForeignNonce),
        ("{\"nonce\":\"n0\"}", ResultFault::NoVerdict("signal")),
        ("{\"nonce\":\"n0\",\"signal\":\"done\"}", ResultFault::NoVerdict("signal")),
        ("{\"nonce\":\"n0\",\"signal\":\"absorbed\"}", ResultFault::NoVerdict("absorbed_by")),
        (
            "{\"nonce\":\"n0\",\"signal\":\"absorbed\",\"absorbed_by\":\"a/b\"}",
            ResultFault::NoVerdict("absorbed_by"),
        ),
        ("{\"nonce\":\"n0\",\"signal\":\"question\"}", ResultFault::NoVerdict("question")),
        ("{\"nonce\":\"n0\",\"signal\":\"complete\",\"learnings\":5}", ResultFault::Broken),
    ] {
        check(Exit::Code(0), Some(text), COMPLETE, fault(expect));
    }
    let large =
        format!("{{\"nonce\":\"n0\",\"signal\":\"complete\",\"summary\":\"{}\"}}", "x".repeat(1 << 20));
    check(Exit::Code(0), Some(&large), COMPLETE, fault(ResultFault::TooLarge));
    for (result, expect) in
        [ResultFault::NotRegular, ResultFault::Unreadable].map(|fault| (Err(fault), fault))
    {
        assert_eq!(classify_ending(&Evidence { result, ..evidence(COMPLETE) }).0, fault(expect));
    }
    // An empty nonce never matches.
    let result = Ok(Some(&b"{\"nonce\":\"\",\"signal\":\"complete\"}"[..]));
    let ending = classify_ending(&Evidence { result, nonce: "", ..evidence("") }).0;
    assert_eq!(ending, fault(ResultFault::ForeignNonce));
}

#[test]
fn a_limit_counts_only_when_nothing_was_said() {
    let limit = Some(Limit { until: None, is_known: true });
    let ending = |exit, answer| classify_ending(&Evidence { exit, limit, ..evidence(answer) }).0;
    assert_eq!(ending(Exit::Code(1), "limit"), Ending::Limit(Limit { until: None, is_known: true }));
    assert_eq!(ending(Exit::Code(1), COMPLETE), Ending::Limit(Limit { until: None, is_known: true }));
    assert_eq!(
        ending(Exit::Code(0), COMPLETE),
        Ending::Said { signal: Signal::Complete, by: SignalSource::Tag }
    );
    assert_eq!(ending(Exit::TimeLimit, ""), Ending::TimeLimit);
}

#[test]
fn result_file_and_tags_give_notes_together() {
    let text = r#"{"nonce":"n0","signal":"complete","summary":"s","cost_usd":0.5,"tokens":{"input":3,"output":4},
        "approach":"a","learnings":["x"," y "],"backlog":["b"],"theirs":1}"#;
    let result = Ok(Some(text.as_bytes()));
    let answer = "<learning>y</learning>\n<learning>z</learning>\n<approach>other</approach>";
    let (_, said) = classify_ending(&Evidence { result, ..evidence(answer) });
    assert_eq!(said.learnings, ["x", "y", "z"]);
    assert_eq!((said.approach.as_deref(), said.cost_usd), (Some("a"), Some(0.5)));
    assert_eq!(said.tokens, Some(crate::adapter::Tokens { input: 3, output: 4 }));
}

#[test]
fn an_unclear_verdict_is_none() {
    let pass = |answer: &str| read_review(&evidence(answer)).map(|review| review.pass);
    assert_eq!(pass("<review>PASS</review>\n<reason>fine</reason>"), Some(true));
    assert_eq!(pass("<review>FAIL</review>"), Some(false));
    assert_eq!(pass("<review>PASS</review>\n<review>FAIL</review>"), None);
    assert_eq!(pass("It is a <review>PASS</review>"), None);
    assert_eq!(pass("<review>MAYBE</review>"), None);
    assert_eq!(pass(""), None);
    // A failed review never passes a task.
    let failed = |answer| read_review(&Evidence { exit: Exit::Code(1), ..evidence(answer) });
    assert_eq!(failed("<review>PASS</review>"), None);
    assert!(!failed("<review>FAIL</review>").unwrap().pass);
    let result = Ok(Some(&b"{\"nonce\":\"n0\",\"review\":\"fail\",\"reason\":\"r\"}"[..]));
    let review = read_review(&Evidence { result, ..evidence("<review>PASS</review>") }).unwrap();
    assert_eq!((review.pass, review.reason.as_deref()), (false, Some("r")));
    let result = Ok(Some(&b"{\"nonce\":\"n1\",\"review\":\"pass\"}"[..]));
    assert_eq!(read_review(&Evidence { result, ..evidence("<review>PASS</review>") }), None);
}

#[test]
fn the_other_roles_are_read_too() {
    let choice = |answer: &str| read_decision(&evidence(answer)).map(|decided| decided.choice);
    assert_eq!(choice("<decision>SKIP</decision>\n<reason>r</reason>"), Some(Choice::Skip));
    assert_eq!(choice("<decision>SKIP</decision>\n<decision>RETRY</decision>"), None);
    assert_eq!(choice("<decision>skip it</decision>"), None);
    let phase =
        read_phase_review(&evidence("<phase_review>\nSTATUS: needs_attention\nTwo tests.\n</phase_review>"))
            .unwrap();
    assert_eq!((phase.status, phase.content.as_str()), (PhaseStatus::NeedsAttention, "Two tests."));
    assert_eq!(
        read_gate(&evidence("<phase_gate>STATUS: stop</phase_gate>")).unwrap().status,
        GateStatus::Stop
    );
    assert!(read_gate(&evidence("<phase_gate>STATUS: perhaps</phase_gate>")).is_none());
    assert_eq!(
        read_plan(&evidence("<prd_generated>brigade/tasks/prd-x.json</prd_generated>")),
        Some(PlanningResult::Path("brigade/tasks/prd-x.json".to_owned()))
    );
    assert_eq!(read_plan(&evidence("<prd_generated>../x</prd_generated>")), None);
    let result = Ok(Some(&b"{\"nonce\":\"n0\",\"questions\":[\"Which?\"]}"[..]));
    assert_eq!(
        read_plan(&Evidence { result, ..evidence("") }),
        Some(PlanningResult::Questions(vec!["Which?".to_owned()]))
    );
    let result = Ok(Some(&b"{\"nonce\":\"n0\",\"prd\":{\"tasks\":[]}}"[..]));
    assert!(matches!(read_plan(&Evidence { result, ..evidence("") }), Some(PlanningResult::Prd(_))));
    let prd_at_the_end = |answer: &str| matches!(read_plan(&evidence(answer)), Some(PlanningResult::Prd(_)));
    assert!(prd_at_the_end("{\"tasks\": []}"));
    assert!(prd_at_the_end("Here it is:\n\n```json\n{\"prd\": {\"tasks\": []}}\n```\n"));
    assert!(!prd_at_the_end("```json\n{\"tasks\": []}\n```\nI would not."));
    assert!(!prd_at_the_end("```json\n{\"tasks\": []}\n{}\n```"));
    assert!(!prd_at_the_end("```\n[]\n```") && !prd_at_the_end("```"));
    assert_eq!(
        read_plan(&evidence("```\n{\"questions\": [\"Which?\"]}\n```")),
        Some(PlanningResult::Questions(vec!["Which?".to_owned()]))
    );
    // A tag takes precedence over the end of the answer.
    assert_eq!(read_plan(&evidence("<prd_generated>/a</prd_generated>\n{\"tasks\": []}")), None);
    assert_eq!(read_plan(&Evidence { exit: Exit::Code(1), ..evidence("{\"tasks\": []}") }), None);
    let result = Ok(Some(&b"{\"nonce\":\"n0\",\"output\":\" text \"}"[..]));
    assert_eq!(mapped(&Evidence { result, ..evidence("other") }).as_deref(), Some("text"));
    for (output, text) in [
        ("{\"a\": [1, 2]}", Some("{\"a\":[1,2]}")),
        ("7", Some("7")),
        ("false", Some("false")),
        ("null", None),
    ] {
        let bytes = format!("{{\"nonce\":\"n0\",\"output\":{output}}}");
        let result = Ok(Some(bytes.as_bytes()));
        assert_eq!(mapped(&Evidence { result, ..evidence("other") }).as_deref(), text, "{output}");
    }
    // Issue 17: `null` is a valid output of a task. Without the member `output`, the answer counts.
    let result = Ok(Some(&b"{\"nonce\":\"n0\",\"output\":null}"[..]));
    assert_eq!(read_tasks(&Evidence { result, ..evidence("other") }).as_deref(), Some("null"));
    for members in ["", ",\"summary\":\"s\"", ",\"cost_usd\":1"] {
        let bytes = format!("{{\"nonce\":\"n0\"{members}}}");
        let result = Ok(Some(bytes.as_bytes()));
        assert_eq!(
            read_tasks(&Evidence { result, ..evidence("other") }).as_deref(),
            Some("other"),
            "{members}"
        );
        assert_eq!(read_tasks(&Evidence { result, ..evidence("n0 in it") }), None, "{members}");
    }
    assert_eq!(mapped(&evidence("text\n")).as_deref(), Some("text"));
    assert_eq!(
        (mapped(&evidence(" \n")), mapped(&Evidence { exit: Exit::TimeLimit, ..evidence("x") })),
        (None, None)
    );
    let result = Ok(Some(&b"{\"nonce\":\"n1\",\"output\":\"x\"}"[..]));
    assert_eq!(mapped(&Evidence { result, ..evidence("x") }), None);
    assert_eq!(
        missing_verdict_reason(&Evidence { result, ..evidence("x") }),
        "the result file does not have the nonce of this run"
    );
    assert_eq!(
        missing_verdict_reason(&Evidence { exit: Exit::Code(3), ..evidence("x") }),
        "it exited with 3"
    );
    let result = Ok(Some(&b"{\"nonce\":\"n0\",\"answer\":\"yes\",\"reason\":\"r\"}"[..]));
    assert_eq!(read_scope_answer(&Evidence { result, ..evidence("") }).unwrap().answer, "yes");
}

proptest! {
    #[test]
    fn broken_tags_never_count(text in "(<|</|promise>|learning>|review>|COMPLETE|PASS|</promise>|\n|```| |[a-z]){0,24}") {
        prop_assert_eq!(Tags::find(&break_tags(&text)), Tags::default());
    }

    #[test]
    fn any_text_has_tags_or_none(text in any::<String>()) {
        let _ = classify_ending(&evidence(&text));
        prop_assert_eq!(Tags::find(&break_tags(&text)), Tags::default());
    }

    #[test]
    fn other_tags_in_a_fence_never_count(text in "[^`~]{0,40}") {
        let answer = format!("```\n{text}\n<review>PASS</review>\n{text}\n```");
        prop_assert_eq!(Tags::find(&answer), Tags::default());
    }
}

#[test]
fn costs_count_even_without_a_verdict() {
    let spent = |file: &str, exit| {
        let result = Ok(Some(file.as_bytes()));
        let (ending, said) = classify_ending(&Evidence { exit, result, ..evidence("") });
        (matches!(ending, Ending::Said { .. }), said.cost_usd, said.tokens.map(|tokens| tokens.output))
    };
    let tokens = r#""cost_usd":5,"tokens":{"input":1,"output":2}"#;
    for members in
        ["", r#""signal":"bogus","#, r#""signal":"absorbed","#, r#""signal":"complete","learnings":3,"#]
    {
        let file = format!(r#"{{"nonce":"n0",{members}{tokens}}}"#);
        assert_eq!(spent(&file, Exit::Code(0)), (false, Some(5.0), Some(2)), "{members}");
        assert_eq!(spent(&file, Exit::TimeLimit), (false, Some(5.0), Some(2)), "{members}");
    }
    assert_eq!(spent(&format!(r#"{{"nonce":"n1",{tokens}}}"#), Exit::Code(0)), (false, None, None));
}
