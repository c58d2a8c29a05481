//! The words of every day: pending, approve, reject, hold, log, show, why, explain.

use brigade_tests::Site;
use serde_json::{Value, json};

use crate::serve_common::{Client, assert_stands, site as served};

fn site() -> Site {
    let lines = "argument_template = { path = \"{path}\" }\neffects = [\"local-read\"]";
    let site = Site::script_with("echo \"$@\"; test \"$1\" != bad\n", lines);
    site.workspace.write("schemas/tool.json", r#"{"type":"object","properties":{"path":{"type":"string"}}}"#);
    site
}

#[track_caller]
fn text(site: &Site, words: &[&str]) -> String {
    let run = site.brigade.run(words);
    run.assert_code(0);
    run.stdout_text()
}

fn number_of(pending: &Value, id: &str) -> u64 {
    let rows = pending["rows"].as_array().expect("a list of rows");
    let has_id = |row: &&Value| row["ids"].as_array().is_some_and(|ids| ids.contains(&json!(id)));
    let row = rows.iter().find(has_id).expect("a row for the call");
    row["number"].as_u64().expect("a number")
}

/// Issue 45: a number means exactly what was shown with it.
#[test]
fn calls_are_decided_by_their_numbers() {
    let site = site();
    let ids: Vec<String> =
        ["a", "b", "c"].map(|path| site.queue("tool", &format!("{{\"path\":\"{path}\"}}"))).into();
    let pending = site.document(["pending"]).expect(0);
    assert_eq!(pending["waiting_count"], 3);
    assert_eq!([1_u64, 2, 3], [0, 1, 2].map(|place: usize| number_of(&pending, &ids[place])));
    let row = &pending["rows"][0];
    assert_eq!(
        (&row["who"], &row["text"], &row["effects"]),
        (&json!("you"), &json!("path=a"), &json!(["local-read"]))
    );
    let shown = text(&site, &["pending"]);
    assert!(shown.starts_with("NO  AGE") && shown.contains("path=b"), "{shown}");
    // The second changes after it was shown, so its number no longer counts.
    site.tools(["call", "hold", &ids[1], "--reason", "later"]).assert_code(0);
    let refused = site.document(["approve", "2"]).expect(1);
    assert_eq!(refused["code"], "changed_meanwhile", "{refused:#}");
    assert_eq!(site.status(&ids[1]), "held");
    let said = text(&site, &["approve", "1", "3"]);
    assert_eq!(said.matches("approved  tool  path=").count(), 2, "{said}");
    assert_eq!(site.status(&ids[0]), "approved");
    // After a new list, the held call has its number still, and the gone ones are not used again.
    let pending = site.document(["p"]).expect(0);
    assert_eq!((number_of(&pending, &ids[1]), &pending["rows"][0]["held"]), (2, &json!(true)));
    let other = site.queue("tool", r#"{"path":"d"}"#);
    assert_eq!(number_of(&site.document(["pending"]).expect(0), &other), 4);
    assert_eq!(site.document(["approve", "1"]).expect(1)["code"], "waiting_missing");
    // It is neither an exit code nor anything else.
    assert_eq!(site.document(["show", "1"]).expect(1)["code"], "waiting_missing");
    text(&site, &["reject", "4", "--reason", "too broad"]);
    // Of a range, those that are still listed.
    assert_eq!(site.document(["approve", "5-9"]).expect(1)["code"], "waiting_missing");
    assert!(text(&site, &["approve", "1-3"]).contains(&ids[1]));
    assert_eq!([site.status(&other), site.status(&ids[1])], ["rejected", "approved"]);
    let nothing = site.brigade.run(["approve"]);
    nothing.assert_code(2);
    assert!(nothing.stderr_text().contains("brigade approve --all"), "{}", nothing.stderr_text());
    // What another program writes into the file of numbers means nothing.
    let last = site.queue("tool", r#"{"path":"e"}"#);
    let number = number_of(&site.document(["pending"]).expect(0), &last).to_string();
    site.workspace.replace(".brigade/tools/shown.json", &last, &ids[0]);
    assert_eq!(site.document(["approve", &number]).expect(1)["code"], "waiting_missing");
}

/// Issue 45: no program of a run decides, with any of the words, or changes what numbers mean.
#[test]
fn programs_of_runs_decide_nothing() {
    let brigade = brigade_testkit::brigade_binary().display().to_string();
    let script = format!(
        "for words in 'approve 1' 'approve --all' 'reject 1' 'hold tool' 'approve tool --always --yes'; do\n\
         {brigade} $words --json </dev/null; {brigade} $words </dev/null 2>&1; done; {brigade} pending --json\n"
    );
    let site = Site::script(&script);
    let waits = site.queue("tool", r#"{}"#);
    site.tools(["call", "approve", &waits]).assert_code(0);
    site.add_to_catalog(&Site::entry("other", "sh bin/tool.sh", ""));
    site.workspace.write("schemas/other.json", "{\"type\":\"object\"}");
    let other = site.queue("other", "{}");
    let run = site.run_call(&waits).expect(0);
    let log = site.log_text(&run["receipt"], "stdout");
    assert!(log.matches("inside_a_run").count() >= 5, "{log}");
    assert_eq!(site.status(&other), "pending");
    assert!(!site.workspace.exists(".brigade/tools/shown.json"));
}

#[test]
fn history_names_who_what_and_how() {
    let site = site();
    for path in ["good", "bad"] {
        let id = site.approved("tool", &format!("{{\"path\":\"{path}\"}}"));
        site.tools(["call", "run", &id]);
    }
    let history = site.document(["log"]).expect(0);
    let runs = history["runs"].as_array().unwrap();
    let of = |member: &str| runs.iter().map(|run| run[member].clone()).collect::<Vec<_>>();
    assert_eq!(of("text"), ["path=good", "path=bad"]);
    assert_eq!(of("status"), ["completed", "failed"]);
    assert_eq!(of("approved_by"), ["person", "person"]);
    assert_eq!(of("who"), ["you", "you"]);
    let short = runs[1]["short_id"].as_str().unwrap();
    assert!(short.len() <= 12 && runs[1]["call_id"].as_str().unwrap().starts_with(short), "{short}");
    let failed = site.document(["log", "--failed", "--since", "yesterday", "--agent", "you"]).expect(0);
    assert_eq!((&failed["run_count"], &failed["runs"][0]["text"]), (&json!(1), &json!("path=bad")));
    let one = site.document(["log", "--limit", "1"]).expect(0);
    assert_eq!((&one["runs"][0]["text"], &one["more"]), (&json!("path=bad"), &json!(true)));
    assert_eq!(site.document(["log", "--until", "2020-01-01"]).expect(0)["run_count"], 0);
    assert_eq!(site.document(["log", "--since", "soon"]).expect(2)["code"], "usage");
    let typed = site.document(["log", "--since", "yesteday"]).expect(2);
    assert_eq!(typed["hints"][0], "did you mean `yesterday`?", "{typed:#}");
    let sums = site.document(["log", "--stat"]).expect(0)["statistics"].clone();
    assert_eq!(
        (&sums["runs"], &sums["failed"], &sums["tools"][0]["name"]),
        (&json!(2), &json!(1), &json!("tool"))
    );
    assert_eq!(sums["tools"][0]["activity"].as_array().unwrap().len(), 24);
    assert!(text(&site, &["log", "--stat"]).contains("runs:"));
    // The short id works everywhere.
    let why = site.document(["why", short]).expect(0);
    let kinds: Vec<&str> =
        why["events"].as_array().unwrap().iter().map(|e| e["kind"].as_str().unwrap()).collect();
    assert_eq!(kinds, ["asked", "planned", "approved", "bound", "started", "ended"], "{why:#}");
    assert!(text(&site, &["why", short]).contains("a person approved it"));
    assert_eq!(site.document(["show", short]).expect(0)["call"]["status"], "failed");
    assert!(text(&site, &["show", "tool"]).contains("tool"));
    assert_eq!(
        site.document(["show", runs[0]["run_id"].as_str().unwrap()]).expect(0)["schema"],
        "brigade.run.v1"
    );
    assert_eq!(site.document(["show", "nothing-like-it"]).expect(1)["code"], "not_found");
}

/// Issue 45: a name that neither the configuration nor any run has is mistyped.
#[test]
fn unknown_names_in_the_history_are_noted() {
    let site = site();
    let id = site.approved("tool", r#"{"path":"a"}"#);
    site.tools(["call", "run", &id]).assert_code(0);
    let notes = |words: &[&str]| site.document([&["log"], words].concat()).expect(0)["notes"].clone();
    assert_eq!(notes(&["--agent", "locl"]), json!(["no agent has the name `locl` (did you mean `local`?)"]));
    assert_eq!(notes(&["--tool", "tol"]), json!(["no tool has the id `tol` (did you mean `tool`?)"]));
    // Nothing ran for them, but they exist; or did when something ran.
    assert_eq!(notes(&["--agent", "local", "--stat"]), json!([]));
    site.workspace.write(".brigade/tools.toml", "");
    assert_eq!(notes(&["--tool", "tool", "--failed"]), json!([]));
    assert_eq!(notes(&["--tool", "tol", "--stat"]).as_array().map(Vec::len), Some(1));
}

/// Issue 45: "always" adds a rule that covers this call and no other.
#[test]
fn always_adds_the_narrowest_rule() {
    let site = served();
    let (mut ann, mut ben) = (Client::connect(&site, "ann"), Client::connect(&site, "ben"));
    let same = json!({"text": "one*"});
    assert_stands(&ann.call("asks", same.clone()), "pending", "approval_pending");
    let said = text(&site, &["approve", "--agent", "ann", "--always", "--yes"]);
    for line in ["+agents = [\"ann\"]", "+arguments = { text = 'one\\*' }", "+tools = [\"asks\"]"] {
        assert!(said.lines().any(|said| said == line), "{line}\n{said}");
    }
    // The approved call, and then one that the rule approves.
    for _ in 0..2 {
        assert_stands(&ann.call("asks", same.clone()), "completed", "");
    }
    assert_stands(&ann.call("asks", json!({"text": "one more"})), "pending", "approval_pending");
    assert_stands(&ben.call("asks", same), "pending", "approval_pending");
    let history = site.document(["log", "--agent", "ann"]).expect(0);
    let by: Vec<&Value> = history["runs"].as_array().unwrap().iter().map(|run| &run["approved_by"]).collect();
    assert_eq!(by, [&json!("person"), &json!("rule ann-asks")]);
    // The test beside the rule says that it covers the call.
    assert_eq!(site.json(["policy", "test"]).expect(0)["passed"], 1);
}

#[test]
fn codes_are_explained() {
    let site = Site::empty();
    let code = site.document(["explain", "inside_a_run"]).expect(0);
    assert_eq!(
        (&code["meanings"][0]["kind"], code["causes"].as_array().unwrap().len()),
        (&json!("error"), 1)
    );
    let issue = text(&site, &["explain", "missing_projection"]);
    assert!(issue.contains("issue:") && issue.contains("what to do:"), "{issue}");
    for exit in ["3", "exit-3"] {
        assert!(text(&site, &["explain", exit]).contains("environment: "), "{exit}");
    }
    assert_eq!(site.document(["explain", "INSIDE_A_RUN"]).expect(0)["code"], "inside_a_run");
    let near = site.brigade.run(["explain", "inside_a_ran"]);
    near.assert_code(1);
    assert!(near.stderr_text().contains("did you mean `inside_a_run`?"), "{}", near.stderr_text());
}
