use proptest::prelude::{any, prop_assert, prop_assert_eq, proptest};
use proptest::strategy::Strategy as Values;

use super::*;
use crate::manifest::{Workflow, read};

fn initial(spec: &WorkflowSpec) -> ExecutionState {
    let state = spec.initial_state.clone();
    ExecutionState { visits: [(state.clone(), 1)].into(), state, transitions: 0 }
}

fn spec(states: &str, most: Option<u64>) -> WorkflowSpec {
    let most = most.map_or(String::new(), |most| format!("  max_total_transitions: {most}\n"));
    let text = format!(
        "apiVersion: 100monkeys.ai/v1\nkind: Workflow\nmetadata: {{name: a}}\nspec:\n  initial_state: A\n{most}  \
         states:\n{states}"
    );
    let read = read::<Workflow>(&text);
    read.manifest.unwrap_or_else(|| panic!("{:?}\n{text}", read.faults)).spec
}

/// Checks where the state `A` leads with these transitions: a state, `end`, or the code of a failure.
#[track_caller]
fn check(transitions: &str, outcome: &Outcome, expect: &str) {
    let kind = "kind: ParallelAgents, agents: [{agent: a}], consensus: {strategy: majority}";
    assert_eq!(following(kind, transitions, outcome), expect, "{transitions}: {outcome:?}");
}

/// Returns where a state `A` of a kind leads.
fn following(kind: &str, transitions: &str, outcome: &Outcome) -> String {
    let others: String = ["B", "C", "D", "E"]
        .iter()
        .filter(|name| transitions.contains(&format!("target: {name}")))
        .map(|name| format!("    {name}: {{kind: Human, prompt: x, transitions: []}}\n"))
        .collect();
    let states = format!("    A: {{{kind}, transitions: [{transitions}]}}\n{others}");
    let spec = spec(&states, Some(10));
    let scope = Scope { names: [("A".to_owned(), outcome.recorded().to_json())].into() };
    match decide(&spec, &initial(&spec), outcome, &scope) {
        NextAction::Enter { execution, .. } => execution.state,
        NextAction::End { failure: None } => "end".to_owned(),
        NextAction::End { failure: Some((code, _)) } => code,
    }
}

fn good() -> Outcome {
    Outcome { is_success: true, ..Outcome::default() }
}

#[test]
fn the_first_transition_that_fits_is_taken() {
    let bad = Outcome::failed("broken", "it broke");
    check("", &good(), "end");
    check("", &bad, "broken");
    check("{target: B}", &good(), "B");
    check("{target: B}", &bad, "B");
    let both = "{condition: on_failure, target: B}, {condition: on_success, target: C}";
    check(both, &good(), "C");
    check(both, &bad, "B");
    check("{condition: on_failure, target: B}", &good(), "no_transition");
    check("{condition: on_success, target: B}", &bad, "broken");
    let code = |code| Outcome { exit_code: Some(code), is_success: code == 0, ..Outcome::default() };
    let codes = "{condition: exit_code, value: 3, target: B}, {condition: exit_code_zero, target: C}, \
                 {condition: exit_code_non_zero, target: D}";
    check(codes, &code(3), "B");
    check(codes, &code(0), "C");
    check(codes, &code(1), "D");
    check(codes, &bad, "broken");
    let score = |score| Outcome { score: Some(score), confidence: Some(0.5), ..good() };
    let scores = "{condition: score_above, threshold: 0.9, target: B}, {condition: score_between, min: 0.5, max: 0.9, \
                  target: C}, {condition: score_below, threshold: 0.5, target: D}";
    check(scores, &score(0.95), "B");
    check(scores, &score(0.9), "C");
    check(scores, &score(0.5), "C");
    check(scores, &score(0.4), "D");
    check(scores, &good(), "no_transition");
    check("{condition: confidence_above, threshold: 0.4, target: B}", &score(0.0), "B");
    check("{condition: consensus, threshold: 0.5, agreement: 0.6, target: B}", &score(0.5), "no_transition");
    check("{condition: consensus, threshold: 0.5, agreement: 0.5, target: B}", &score(0.5), "B");
    let custom = "{condition: custom, expression: \"A.status == 'completed' && A.score > 0.1\", target: B}";
    check(custom, &score(0.2), "B");
    check(custom, &score(0.1), "no_transition");
}

#[test]
fn the_answer_of_a_person_decides() {
    let answered = |text: &str| Outcome { response: Some(text.to_owned()), ..good() };
    let all = "{condition: input_equals, value: again, target: B}, {condition: input_equals_yes, target: C}, \
               {condition: input_equals_no, target: D}";
    check(all, &answered(" again "), "B");
    check(all, &answered("Yes"), "C");
    check(all, &answered("n"), "D");
    check(all, &answered("perhaps"), "no_transition");
    check(all, &Outcome::failed(DECLINED, "declined"), "D");
    check("{condition: input_equals, value: 3, target: B}", &answered("3"), "B");
    let human =
        |transitions: &str, outcome: &Outcome| following("kind: Human, prompt: x", transitions, outcome);
    let declined = Outcome::failed(DECLINED, "declined");
    assert_eq!(human("{target: B}", &answered("no")), "B");
    assert_eq!(human("{target: B}", &declined), "declined");
    assert_eq!(human("{target: B}", &Outcome::failed("timed_out", "late")), "timed_out");
    assert_eq!(human("{condition: always, target: B}", &declined), "B");
    assert_eq!(human("{target: B}, {condition: on_failure, target: C}", &declined), "C");
}

#[test]
fn several_agents_agree_or_do_not() {
    #[track_caller]
    fn agree(consensus: &str, scores: &[f64], expect: Option<&str>) -> Outcome {
        let states = format!(
            "    A: {{kind: ParallelAgents, agents: [{{agent: a}}], consensus: {consensus}, transitions: []}}\n"
        );
        let spec = spec(&states, None);
        let consensus = spec.states["A"].consensus.as_ref().unwrap();
        let verdict = |(index, score): (usize, &f64)| Verdict {
            score: *score,
            confidence: 0.8,
            weight: if index == 0 { 3.0 } else { 1.0 },
        };
        let outcome = consent(consensus, scores.iter().enumerate().map(verdict).collect(), Json::Null);
        assert_eq!(outcome.code.as_deref(), expect, "{consensus:?} {scores:?}");
        assert_eq!(outcome.is_success, expect.is_none());
        outcome
    }
    let weighed = agree("{strategy: weighted_average, threshold: 0.75}", &[1.0, 0.0], None);
    assert_eq!(weighed.score, Some(0.75));
    agree("{strategy: weighted_average, threshold: 0.76}", &[1.0, 0.0], Some("no_consensus"));
    agree("{strategy: majority}", &[0.9, 0.9, 0.1], None);
    agree("{strategy: majority}", &[0.9, 0.1], Some("no_consensus"));
    agree("{strategy: unanimous}", &[0.9, 0.9], None);
    agree("{strategy: unanimous}", &[0.9, 0.69], Some("no_consensus"));
    agree("{strategy: best_of_n, n: 2}", &[0.0, 0.9, 0.8, 0.1], None);
    agree("{strategy: majority, min_judges_required: 3}", &[0.9, 0.9], Some("too_few_verdicts"));
    agree("{strategy: majority, min_agreement_confidence: 0.9}", &[0.9, 0.9], Some("no_consensus"));
    agree("{strategy: unanimous}", &[], Some("too_few_verdicts"));
    let rejected = Outcome {
        verdicts: vec![Verdict { score: 0.2, confidence: 1.0, weight: 1.0 }],
        ..Outcome::default()
    };
    check("{condition: all_approved, target: B}, {condition: any_rejected, target: C}", &rejected, "C");
}

#[test]
fn an_output_has_a_score_and_writes_the_blackboard() {
    let outcome =
        good().with_output(Json::from(r#" {"score": 0.9, "confidence": 2, "blackboard": {"n": 1}}"#));
    assert_eq!((outcome.score, outcome.confidence), (Some(0.9), None));
    assert_eq!(outcome.writes().get("n"), Some(&Json::from(1)));
    let outcome = good().with_output(Json::from("3"));
    assert_eq!((outcome.output, outcome.score), (Json::from("3"), None));
}

#[test]
fn feedback_for_a_state_is_rendered() {
    let spec = spec(
        "    A: {kind: Human, prompt: x, transitions: [{target: B, feedback: 'said {{A.response}}'}]}\n    \
         B: {kind: Human, prompt: x, transitions: []}\n",
        None,
    );
    let outcome = Outcome { response: Some("{{intent}}".to_owned()), ..good() };
    let scope = Scope { names: [("A".to_owned(), outcome.recorded().to_json())].into() };
    let NextAction::Enter { feedback, .. } = decide(&spec, &initial(&spec), &outcome, &scope) else {
        panic!()
    };
    assert_eq!(feedback.as_deref(), Some("said {{intent}}"));
}

fn any_outcome() -> impl Values<Value = Outcome> {
    (any::<bool>(), proptest::option::of(0_i64..3), proptest::option::of(0.0..1.0_f64)).prop_map(
        |(is_success, exit_code, score)| Outcome { is_success, exit_code, score, ..Outcome::default() },
    )
}

proptest! {
    /// For any outcomes, an execution ends within its bounds and counts exactly what it did.
    #[test]
    fn every_execution_ends(
        outcomes in proptest::collection::vec(any_outcome(), 64),
        visits in 1_u64..5,
        most in proptest::option::of(1_u64..20),
    ) {
        let states = format!(
            "    A: {{kind: System, command: a, max_state_visits: {visits}, transitions: [{{condition: on_success, \
             target: B}}, {{target: A}}]}}\n    B: {{kind: System, command: b, max_state_visits: {visits}, \
             transitions: [{{condition: exit_code_zero, target: A}}, {{condition: score_above, threshold: 0.5, target: \
             B}}]}}\n"
        );
        let spec = spec(&states, most);
        let mut execution = initial(&spec);
        let mut has_ended = false;
        for outcome in &outcomes {
            let scope = Scope::default();
            match decide(&spec, &execution, outcome, &scope) {
                NextAction::Enter { execution: next, .. } => {
                    prop_assert_eq!(next.transitions, execution.transitions + 1);
                    prop_assert!(most.is_none_or(|most| next.transitions <= most));
                    prop_assert!(next.visits.values().all(|count| *count <= visits));
                    prop_assert_eq!(next.visits.values().sum::<u64>(), next.transitions + 1);
                    execution = next;
                }
                NextAction::End { .. } => {
                    has_ended = true;
                    break;
                }
            }
        }
        prop_assert!(has_ended, "{:?}", execution);
    }
}
