use brigade_call::CallStatus;

use super::*;
use crate::testing::{CallBench, RunEnding};

#[test]
fn numbers_and_ranges_are_not_ids() {
    assert_eq!(number_range("2"), Some((2, 2)));
    assert_eq!(number_range("1-3"), Some((1, 3)));
    for word in ["3-1", "call-1", "a", "+1", "", "1-", "run-1-2"] {
        assert_eq!(number_range(word), None, "{word}");
    }
}

/// A workspace with three calls that were listed as 1, 2 and 3.
fn listed() -> (CallBench, [CallId; 3]) {
    let bench = CallBench::new(r#"argument_template = { path = "{path}" }"#);
    let ids = ["a", "b", "c"].map(|path| bench.queue(&format!("{{\"path\":\"{path}\"}}")));
    let pending = bench.daily().pending().unwrap();
    let numbers: Vec<(u64, &str)> =
        pending.rows.iter().map(|row| (row.number, row.ids[0].as_str())).collect();
    assert_eq!(numbers, [(1, ids[0].as_str()), (2, ids[1].as_str()), (3, ids[2].as_str())]);
    (bench, ids)
}

fn words(words: &[&str]) -> PendingChoice {
    PendingChoice { words: words.iter().map(|word| (*word).to_owned()).collect(), ..PendingChoice::default() }
}

/// Returns the ids of the chosen calls, or the code of the failure.
fn chosen(bench: &CallBench, choice: &PendingChoice) -> Result<Vec<String>, ErrorCode> {
    let chosen = bench.daily().choose(choice).map_err(|error| error.code())?;
    Ok(chosen.iter().map(|call| call.prefix().as_str().to_owned()).collect())
}

#[test]
fn words_are_numbers_ids_and_tools() {
    let (bench, [a, b, c]) = listed();
    let [a, b, c] = [a, b, c].map(|id| id.to_string());
    let all = vec![a.clone(), b.clone(), c.clone()];
    for (typed, expect) in [
        (&["2"][..], Ok(vec![b.clone()])),
        (&["1", "3"], Ok(vec![a.clone(), c.clone()])),
        // Each call once, in the order of the words.
        (&["3", "1-3", &a], Ok(vec![c.clone(), a.clone(), b.clone()])),
        (&["2-9"], Ok(vec![b, c])),
        (&["tool"], Ok(all.clone())),
        (&["t*"], Ok(all.clone())),
        (&["?ool"], Ok(all.clone())),
        // An id that does not wait is found when it is decided.
        (&["call-nope"], Ok(vec!["call-nope".to_owned()])),
        (&["other"], Ok(vec!["other".to_owned()])),
        (&["4"], Err(ErrorCode::WaitingMissing)),
        (&["5-9"], Err(ErrorCode::WaitingMissing)),
        (&["0"], Err(ErrorCode::WaitingMissing)),
        (&[], Ok(Vec::new())),
    ] {
        assert_eq!(chosen(&bench, &words(typed)), expect, "{typed:?}");
    }
    let every = PendingChoice { all: true, ..PendingChoice::default() };
    assert_eq!(chosen(&bench, &every), Ok(all));
}

#[test]
fn calls_are_chosen_by_tool_and_agent() {
    let (bench, ids) = listed();
    let choice = |tool: Option<&str>, agent: Option<&str>| PendingChoice {
        tool: tool.map(str::to_owned),
        agent: agent.map(str::to_owned),
        ..PendingChoice::default()
    };
    let all: Vec<String> = ids.iter().map(ToString::to_string).collect();
    assert_eq!(chosen(&bench, &choice(Some("tool"), None)), Ok(all.clone()));
    assert_eq!(chosen(&bench, &choice(Some("to*"), Some("you"))), Ok(all));
    assert_eq!(chosen(&bench, &choice(Some("other"), None)), Err(ErrorCode::WaitingMissing));
    assert_eq!(chosen(&bench, &choice(None, Some("ann"))), Err(ErrorCode::WaitingMissing));
}

#[test]
fn what_is_not_a_call_has_its_own_command() {
    let bench = CallBench::new("");
    bench.ran("{}", RunEnding::waiting(&[("gate-one", &["yes"]), ("gate-two", &["yes"])]));
    bench.daily().pending().unwrap();
    for (word, code) in
        [("1", ErrorCode::Usage), ("gate-one", ErrorCode::Usage), ("gate", ErrorCode::Ambiguous)]
    {
        assert_eq!(chosen(&bench, &words(&[word])), Err(code), "{word}");
    }
    let every = PendingChoice { all: true, ..PendingChoice::default() };
    assert_eq!(chosen(&bench, &every), Err(ErrorCode::WaitingMissing));
}

#[test]
fn a_number_counts_only_for_what_was_shown_with_it() {
    let (bench, ids) = listed();
    let daily = bench.daily();
    bench.calls.hold(&ids[1], "later").unwrap();
    let [shown] = daily.choose(&words(&["2"])).unwrap().try_into().unwrap();
    let error = daily.decide(&shown, &CallDecision::Approve).unwrap_err();
    assert_eq!((error.code(), bench.status(&ids[1])), (ErrorCode::ChangedMeanwhile, CallStatus::Held));
    // By its id it is decided as it is now.
    let named = ChosenCall::Named(IdPrefix::new(ids[1].as_str()));
    daily.decide(&named, &CallDecision::Approve).unwrap();
    assert_eq!(bench.status(&ids[1]), CallStatus::Approved);
}

#[test]
fn a_decided_number_is_not_given_again() {
    let (bench, ids) = listed();
    let daily = bench.daily();
    let decide = |word: &str, decision: CallDecision| {
        for call in daily.choose(&words(&[word])).unwrap() {
            daily.decide(&call, &decision).unwrap();
        }
    };
    decide("1", CallDecision::Approve);
    decide("3", CallDecision::Reject("no".to_owned()));
    decide("2", CallDecision::Hold(CallDecision::HELD.to_owned()));
    let statuses = [CallStatus::Approved, CallStatus::Held, CallStatus::Rejected];
    assert_eq!(ids.each_ref().map(|id| bench.status(id)), statuses);
    let held = daily.pending().unwrap();
    assert_eq!((held.rows.len(), held.rows[0].number, held.rows[0].held), (1, 2, true));
    assert_eq!(held.rows[0].reason.as_deref(), Some("held for later"));
    let new = bench.queue(r#"{"path":"d"}"#);
    let rows = daily.pending().unwrap().rows;
    assert_eq!((rows[1].number, rows[1].ids.as_slice()), (4, &[new.to_string()][..]));
    assert_eq!(chosen(&bench, &words(&["1"])), Err(ErrorCode::WaitingMissing));
    assert_eq!(daily.ids_of_number(2), [ids[1].to_string()]);
    assert_eq!(daily.ids_of_number(1), [""; 0]);
}

#[test]
fn numbers_of_another_program_mean_nothing() {
    let (bench, ids) = listed();
    bench.replace(".brigade/tools/shown.json", ids[2].as_str(), ids[0].as_str());
    assert_eq!(chosen(&bench, &words(&["3"])), Err(ErrorCode::WaitingMissing));
    for damage in ["", "{", "[]"] {
        bench.write(".brigade/tools/shown.json", damage);
        assert_eq!(chosen(&bench, &words(&["1"])), Err(ErrorCode::WaitingMissing));
    }
}

#[test]
fn equal_requests_have_one_number() {
    let bench = CallBench::new("");
    let first = bench.ran("{}", RunEnding::completed());
    let prefix = IdPrefix::new(first.receipt.id.as_str());
    let replays = [(); 2].map(|()| bench.runs().replay(&prefix).unwrap().call.id);
    let pending = bench.daily().pending().unwrap();
    assert_eq!((pending.waiting_count, pending.rows.len()), (2, 1));
    assert_eq!(pending.rows[0].ids, replays.each_ref().map(ToString::to_string));
    let ids = chosen(&bench, &words(&["1"])).unwrap();
    assert_eq!(ids.len(), 2);
}

#[test]
fn a_review_is_decided_only_as_it_was_shown() {
    let (bench, ids) = listed();
    let daily = bench.daily();
    let reviewed = |place: usize| {
        let review = daily.review_call(&IdPrefix::new(ids[place].as_str())).unwrap();
        ChosenCall::Reviewed { id: ids[place].to_string(), fingerprint: review.review_fingerprint }
    };
    let (first, second) = (reviewed(0), reviewed(1));
    daily.decide(&first, &CallDecision::Approve).unwrap();
    bench.write("bin/tool.sh", "echo other\n");
    for decision in [CallDecision::Approve, CallDecision::Reject("no".to_owned())] {
        let error = daily.decide(&second, &decision).unwrap_err();
        assert_eq!((error.code(), bench.status(&ids[1])), (ErrorCode::ChangedMeanwhile, CallStatus::Pending));
        assert!(error.to_string().contains("changed since it was shown: code"), "{error}");
    }
    // The change itself is reported to a person who reviews it.
    let error = daily.decide(&reviewed(1), &CallDecision::Approve).unwrap_err();
    assert!(error.to_string().ends_with("it would not run what was queued"), "{error}");
    daily.decide(&reviewed(1), &CallDecision::Approve).unwrap();
    assert_eq!(bench.status(&ids[1]), CallStatus::Approved);
}
