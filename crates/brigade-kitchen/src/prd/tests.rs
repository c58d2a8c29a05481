mod codes;

use std::time::{Duration, Instant};

use proptest::prelude::*;

use super::*;
use crate::route;

const GOOD: &str = r#"{
  "featureName": "Login",
  "branchName": "feature/login",
  "createdAt": "2026-01-19",
  "constraints": ["no new dependencies"],
  "decisions": [{"question": "Which store?", "answer": "SQLite"}, "keep it small"],
  "testCommand": "npm test",
  "x-estimate": {"days": 2},
  "tasks": [
    {
      "id": "US-001", "title": "Store users", "description": "In a table.",
      "acceptanceCriteria": ["Table `users` exists"],
      "verification": ["grep -q users schema.sql", {"type": "integration", "cmd": "npm test -- --grep 'users'"}],
      "complexity": "senior", "passes": true, "exclusive": "database"
    },
    {
      "id": "US-002", "title": "Show the form", "acceptanceCriteria": ["2 fields"],
      "verification": [{"cmd": "./binary --help"}], "dependsOn": ["US-001"], "complexity": "line",
      "manualVerification": "look at it", "_owner": "me"
    }
  ]
}"#;

/// Reads a PRD and lists the faults as `code line:column`.
fn faults(text: &str) -> Vec<String> {
    let lints = Lints { unverified: false, ..Lints::ALL };
    let reading = read("prd.json", text.as_bytes(), lints);
    let place = |place: &Place| {
        place.line.map_or_else(String::new, |line| format!(" {line}:{}", place.column.unwrap_or_default()))
    };
    reading
        .errors
        .iter()
        .chain(&reading.warnings)
        .map(|fault| format!("{}{}", fault.code, place(&fault.place)))
        .collect()
}

/// Returns a PRD whose only task has these members.
fn one(members: &str) -> String {
    format!(
        "{{\"featureName\":\"x\",\"tasks\":[\n{{\"id\":\"a\",\"complexity\":\"auto\",\"title\":\"t\",\n\"acceptanceCriteria\":[\"3\"]{members}}}]}}"
    )
}

#[track_caller]
fn check(text: &str, expect: &[&str]) {
    assert_eq!(faults(text), expect, "{text}");
}

#[test]
fn a_good_prd_is_read_whole() {
    let reading = read("prd.json", GOOD.as_bytes(), Lints::ALL);
    assert_eq!((reading.errors.as_slice(), reading.warnings.as_slice()), (&[][..], &[][..]));
    let prd = reading.valid().unwrap();
    assert_eq!((prd.feature_name.as_str(), prd.branch_name.as_deref()), ("Login", Some("feature/login")));
    assert_eq!(prd.decisions, ["Which store?: SQLite", "keep it small"]);
    assert_eq!(prd.test_command.as_ref().unwrap().argv(), ["npm", "test"]);
    assert_eq!(prd.other.keys().collect::<Vec<_>>(), ["x-estimate"]);
    let [first, second] = prd.tasks.as_slice() else { panic!("two tasks") };
    assert!(first.passes && !second.passes);
    assert_eq!(first.exclusive.as_deref(), Some("database"));
    let kinds = |task: &Task| task.verification.iter().map(|v| (v.kind, v.inferred)).collect::<Vec<_>>();
    assert_eq!(kinds(first), [(VerificationKind::Pattern, true), (VerificationKind::Integration, false)]);
    assert_eq!(kinds(second), [(VerificationKind::Smoke, true)]);
    assert_eq!(second.complexity, Some(Complexity::Junior));
    assert_eq!(second.manual_verification, ["look at it"]);
    assert_eq!(second.other.keys().collect::<Vec<_>>(), ["_owner"]);
    assert_eq!(second.place, Place::at("prd.json", 16, 5));
    assert_eq!(waves(prd.graph(), |_| true), [vec![0], vec![1]]);
    assert_eq!(prd.task(&"US-002".parse().unwrap()), Some(second));
}

#[test]
fn a_byte_order_mark_is_accepted() {
    let reading = read("prd.json", format!("\u{feff}{GOOD}").as_bytes(), Lints::ALL);
    assert!(reading.errors.is_empty());
    assert_eq!(reading.prd.tasks[1].place, Place::at("prd.json", 16, 5));
}

#[test]
fn a_file_that_is_not_a_prd_is_refused_with_a_place() {
    check("", &["syntax 1:1"]);
    check("{\n \"tasks\": [,]}", &["syntax 2:12"]);
    check("[]", &["syntax 1:1"]);
    check("{}", &["feature_name 1:1", "tasks 1:1"]);
    check("{\"featureName\": \" \",\n\"tasks\": {}}", &["feature_name 1:17", "tasks 2:10"]);
    check("{\"featureName\": 1, \"tasks\": []}", &["feature_name 1:17", "tasks 1:29"]);
    check("\u{ff}", &["syntax 1:1"]);
}

#[test]
fn every_fault_is_reported_at_once() {
    let text = r#"{"featureName": "x", "walkaway": "yes", "tasks": [
 {"id": "a", "title": "", "title": "x", "complexity": "easy", "acceptanceCriteria": ["1"]},
 {"id": "a b", "title": "x", "complexity": "auto", "acceptanceCriteria": ["1"]},
 {"title": 5, "complexity": "auto"},
 7,
 {"id": "a", "title": "x", "complexity": "auto", "acceptanceCriteria": ["1"], "dependsOn": ["a", "b", "c"]},
 {"id": "b", "title": "x", "complexity": "auto", "acceptanceCriteria": ["1"],
  "verification": ["", "sudo x", {"type": "unit", "cmd": "rm -rf /"}, {"type": "uni", "cmd": "x | y"}, 1, {}]}
]}"#;
    check(
        text,
        &[
            "type 1:34",
            "title 2:23",
            "duplicate_key 2:27",
            "complexity 2:55",
            "task_id 3:9",
            "task_id 4:2",
            "title 4:12",
            "type 5:2",
            "duplicate_id 6:2",
            "self_dependency 6:93",
            "unknown_dependency 6:103",
            "empty_command 8:20",
            "dangerous_command 8:24",
            "dangerous_command 8:58",
            "type 8:104",
            "empty_command 8:107",
            "unknown_type 8:80",
            "shell_command 8:94",
        ],
    );
    let reading = read("prd.json", text.as_bytes(), Lints::ALL);
    let find = |code: FaultCode| reading.errors.iter().find(|fault| fault.code == code).unwrap();
    assert_eq!(find(FaultCode::Complexity).task.as_deref(), Some("a"));
    assert_eq!(find(FaultCode::Complexity).field.as_deref(), Some("tasks[0].complexity"));
    assert_eq!(find(FaultCode::UnknownDependency).field.as_deref(), Some("tasks[4].dependsOn[2]"));
    assert_eq!(find(FaultCode::DangerousCommand).field.as_deref(), Some("tasks[5].verification[1]"));
    assert!(reading.valid().is_err());
}

#[test]
fn an_unknown_key_is_an_error() {
    let messages = |text: &str| {
        let errors = read("prd.json", text.as_bytes(), Lints::NONE).errors;
        errors.into_iter().map(|fault| (fault.field.unwrap_or_default(), fault.message)).collect::<Vec<_>>()
    };
    let text = one(",\"dependOn\":[],\"verification\":[{\"cmd\":\"x\",\"typ\":\"unit\"}]").replacen(
        '{',
        "{\"extraTop\":1,",
        1,
    );
    let expect = [
        ("extraTop", "unknown key `extraTop`"),
        ("tasks[0].dependOn", "unknown key `dependOn`; did you mean `dependsOn`?"),
        ("tasks[0].verification[0].typ", "unknown key `typ`; did you mean `type`?"),
    ];
    assert_eq!(messages(&text), expect.map(|(field, message)| (field.to_owned(), message.to_owned())));
    let own = one(",\"x-owner\":1,\"_note\":2").replacen('{', "{\"$schema\":\"s\",", 1);
    check(&own, &[]);
}

#[test]
fn a_task_without_verification_is_a_warning() {
    let warnings = |text: &str| {
        let found = read("prd.json", text.as_bytes(), Lints::ALL).warnings;
        found.iter().map(|fault| fault.code).collect::<Vec<_>>()
    };
    assert_eq!(warnings(&one("")), [FaultCode::NoVerification]);
    assert_eq!(warnings(&one("").replacen('{', "{\"testCommand\":\"make test\",", 1)), []);
}

#[test]
fn no_message_quotes_a_command() {
    let text = one(",\"verification\": [\"sudo hunter2EXAMPLE\", \"grep 'hunter2EXAMPLE\"]");
    for fault in read("prd.json", text.as_bytes(), Lints::ALL).errors {
        assert!(!fault.to_string().contains("hunter2"), "{fault}");
    }
}

/// Returns a PRD with these dependencies.
fn depending(edges: &[(&str, &[&str])]) -> String {
    let task = |(id, on): &(&str, &[&str])| {
        format!(
            "{{\"id\":\"{id}\",\"title\":\"t\",\"complexity\":\"auto\",\"acceptanceCriteria\":[\"1\"],\"dependsOn\":{on:?}}}"
        )
    };
    let tasks: Vec<String> = edges.iter().map(task).collect();
    format!("{{\"featureName\":\"x\",\"tasks\":[\n{}]}}", tasks.join(",\n"))
}

#[test]
fn a_cycle_is_named_whole_through_any_dependency() {
    let text =
        depending(&[("a", &["d"]), ("b", &["d", "a"]), ("c", &["d", "b"]), ("d", &["e", "c"]), ("e", &[])]);
    let reading = read("prd.json", text.as_bytes(), Lints::ALL);
    let [cycle] = reading.errors.as_slice() else { panic!("one error: {:?}", reading.errors) };
    assert_eq!((cycle.code, cycle.task.as_deref()), (FaultCode::Cycle, Some("a")));
    assert_eq!(cycle.message, "the tasks depend on each other: a → d → c → b → a");
    assert_eq!((cycle.place.line, cycle.place.column), (Some(2), Some(83)));
    // Two groups of tasks give two errors.
    let text = depending(&[("a", &["b"]), ("b", &["a"]), ("c", &["d", "a"]), ("d", &["c"]), ("e", &["a"])]);
    let reading = read("prd.json", text.as_bytes(), Lints::ALL);
    assert_eq!(reading.errors.iter().map(|fault| fault.code).collect::<Vec<_>>(), [FaultCode::Cycle; 2]);
    let graph = Graph::new(&reading.prd.tasks);
    assert!(waves(&graph, |_| true).is_empty());
}

#[test]
fn a_walkaway_prd_needs_more_than_patterns() {
    for entry in ["\"grep -q x f\"", "{\"type\":\"pattern\",\"cmd\":\"npm test\"}"] {
        let text = one(&format!(",\"verification\":[{entry}]"));
        let walkaway = text.replacen('{', "{\"walkaway\":true,", 1);
        assert!(
            faults(&walkaway).contains(&"walkaway_pattern_only 3:44".to_owned()),
            "{:?}",
            faults(&walkaway)
        );
        check(&text, &["pattern_only 3:44"]);
        let prd = read("prd.json", text.as_bytes(), Lints::ALL).prd;
        assert_eq!(prd.walkaway_faults().len(), 1);
    }
    let text =
        one(",\"verification\":[\"grep -q x f\", \"npm test\"]").replacen('{', "{\"walkaway\":true,", 1);
    check(&text, &[]);
}

#[test]
fn an_entry_with_an_error_is_not_called_missing() {
    let refused = "{\"type\":\"unit\",\"cmd\":\"sudo rm -rf /\"}";
    for entries in [refused.to_owned(), format!("\"grep -q x f\",{refused}")] {
        let text = one(&format!(",\"verification\":[{entries}]")).replace("\"t\"", "\"Add a button\"");
        let text = text.replacen('{', "{\"walkaway\":true,", 1);
        let found = faults(&text);
        assert!(matches!(found.as_slice(), [only] if only.starts_with("dangerous_command 3:")), "{found:?}");
    }
}

#[test]
fn verification_has_to_fit_the_title() {
    let coverage = |title: &str, verification: &str| {
        let text =
            one(&format!(",\"verification\":[{verification}]")).replace("\"t\"", &format!("{title:?}"));
        faults(&text).iter().any(|fault| fault.starts_with("coverage"))
    };
    let typed = |kind: &str| format!("{{\"type\":\"{kind}\",\"cmd\":\"npm test\"}}");
    assert!(coverage("Add a button", "") && coverage("Add a button", &typed("pattern")));
    assert!(!coverage("Add a button", &typed("unit")) && !coverage("Implement it", &typed("integration")));
    assert!(coverage("Integrate the parser", &typed("unit")) && coverage("Wiring it up", &typed("smoke")));
    assert!(!coverage("Connect both", &typed("integration")));
    assert!(coverage("A user can log in", &typed("unit")) && !coverage("Login flow", &typed("smoke")));
    assert!(!coverage("Address the reviews", "") && !coverage("Fix the label", ""));
}

#[test]
fn vague_criteria_need_numbers_or_quotes() {
    let vague = |criterion: &str| {
        let text = one("").replace("[\"3\"]", &format!("[{criterion:?}]"));
        faults(&text).iter().any(|fault| fault.starts_with("vague_criterion"))
    };
    assert!(vague("It works properly") && vague("Errors are handled appropriately."));
    assert!(
        !vague("Responds in 200 ms, as expected") && !vague("`works` is printed") && !vague("A row is added")
    );
    let quiet = Lints { tasks: true, ..Lints::NONE };
    let text = one(",\"verification\":[\"grep -q x f\"]").replace("\"3\"", "\"works\"");
    assert!(read("prd.json", text.as_bytes(), quiet).warnings.is_empty());
}

/// Returns a large PRD with random dependencies on earlier tasks.
fn large(count: usize) -> String {
    let mut state = 0x2545_f491_4f6c_dd1d_u64;
    let mut random = |below: usize| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state % below.max(1) as u64) as usize
    };
    let mut tasks = Vec::with_capacity(count);
    for at in 0..count {
        let on: Vec<String> = (0..random(6).min(at)).map(|_| format!("T-{}", random(at))).collect();
        tasks.push(format!(
            "{{\"id\":\"T-{at}\",\"title\":\"Add part {at}\",\"acceptanceCriteria\":[\"Part {at} exists\"],\
             \"verification\":[{{\"type\":\"unit\",\"cmd\":\"npm test -- --grep 'part {at}'\"}}],\"dependsOn\":{on:?},\
             \"complexity\":\"auto\",\"passes\":false}}"
        ));
    }
    format!("{{\"featureName\":\"x\",\"tasks\":[{}]}}", tasks.join(",\n"))
}

#[test]
fn ten_thousand_tasks_are_validated_fast() {
    let text = large(10_000);
    #[allow(clippy::disallowed_methods, reason = "measures")]
    let start = Instant::now();
    let reading = read("prd.json", text.as_bytes(), Lints::ALL);
    let routes: usize = reading.prd.tasks.iter().map(|task| route(task).reason.len()).sum();
    let prd = reading.valid().unwrap();
    let waves = waves(prd.graph(), |_| true);
    let took = start.elapsed();
    assert_eq!(waves.iter().map(Vec::len).sum::<usize>(), 10_000);
    assert!(0 < routes);
    // A release build has 200 ms. Unoptimized tests have more.
    let limit = if cfg!(debug_assertions) { Duration::from_secs(20) } else { Duration::from_millis(200) };
    assert!(took < limit, "{took:?}");
}

#[test]
fn a_long_chain_needs_no_deep_stack() {
    let task =
        |at: usize| format!("{{\"id\":\"{at}\",\"title\":\"t\",\"dependsOn\":[\"{}\"]}}", (at + 1) % 20_000);
    let tasks: Vec<String> = (0..20_000).map(task).collect();
    let text = format!("{{\"featureName\":\"x\",\"tasks\":[{}]}}", tasks.join(","));
    let reading = read("prd.json", text.as_bytes(), Lints::ALL);
    assert_eq!(reading.errors.iter().map(|fault| fault.code).collect::<Vec<_>>(), [FaultCode::Cycle]);
}

proptest! {
    #[test]
    fn any_bytes_are_read(bytes in any::<Vec<u8>>()) {
        let reading = read("prd.json", &bytes, Lints::ALL);
        prop_assert!(!reading.errors.is_empty());
    }

    #[test]
    fn a_damaged_prd_is_read(at in 0..GOOD.len(), byte in any::<u8>()) {
        let mut bytes = GOOD.as_bytes().to_vec();
        bytes[at] = byte;
        let _ = read("prd.json", &bytes, Lints::ALL);
    }

    #[test]
    fn waves_follow_dependencies(edges in prop::collection::vec((0..12usize, 0..12usize), 0..24)) {
        let names: Vec<String> = (0..12).map(|at| format!("t{at}")).collect();
        let on = |task: usize| -> Vec<&str> {
            edges.iter().filter(|(from, to)| *from == task && from != to).map(|(_, to)| names[*to].as_str()).collect()
        };
        let lists: Vec<Vec<&str>> = (0..12).map(on).collect();
        let rows: Vec<(&str, &[&str])> = (0..12).map(|at| (names[at].as_str(), lists[at].as_slice())).collect();
        let reading = read("prd.json", depending(&rows).as_bytes(), Lints::ALL);
        let graph = Graph::new(&reading.prd.tasks);
        let waves = waves(&graph, |_| true);
        let in_wave: usize = waves.iter().map(Vec::len).sum();
        // There is an error exactly if a cycle keeps tasks out of the waves.
        prop_assert_eq!(graph.cycles().is_empty(), in_wave == 12);
        prop_assert_eq!(reading.errors.is_empty(), in_wave == 12);
        for cycle in graph.cycles() {
            for (at, task) in cycle.iter().enumerate() {
                prop_assert!(graph.needs(*task).contains(&cycle[(at + 1) % cycle.len()]));
            }
        }
        let wave_of = |task: usize| waves.iter().position(|wave| wave.contains(&task));
        for task in 0..12 {
            for need in graph.needs(task).iter().filter(|_| wave_of(task).is_some()) {
                prop_assert!(wave_of(*need) < wave_of(task) && wave_of(*need).is_some());
            }
        }
    }
}

#[test]
fn a_branch_that_git_does_not_take_is_an_error() {
    let errors = |members: &str| -> Vec<String> {
        let text = format!(
            "{{\"featureName\": \"x\", {members}, \"tasks\": [{{\"id\": \"a\", \"title\": \"x\"}}]}}"
        );
        let reading = read("prd.json", text.as_bytes(), Lints::NONE);
        reading.errors.iter().map(|fault| format!("{} {}", fault.code.as_str(), fault.message)).collect()
    };
    for name in ["a b", "-x", "a..b", "x.lock", "a//b", "HEAD"] {
        let found = errors(&format!("\"branchName\": \"{name}\""));
        assert!(found.len() == 1 && found[0].starts_with("branch_name "), "{name}: {found:?}");
    }
    for name in ["feature/add-auth", "x", "ünïcode/1.0", "", " "] {
        assert_eq!(errors(&format!("\"branchName\": \"{name}\"")), [""; 0], "{name}");
    }
    let found = errors("\"testCommand\": \"npm 'test\"");
    assert!(found.len() == 1 && found[0].starts_with("unreadable_command "), "{found:?}");
}
