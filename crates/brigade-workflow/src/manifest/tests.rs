//! Reads valid and hostile manifests.

use brigade_core::Json;
use brigade_core::yaml::parse;
use brigade_schema::Schema;
use proptest::prelude::*;

use super::agent::ToolRef;
use super::document::ManifestReading;
use super::member::{Member as _, Reader};
use super::{Agent, Kind, Manifest, Workflow, read, schema_of};

const AGENT: &str = r#"
apiVersion: 100monkeys.ai/v1
kind: Agent
metadata:
  name: python-coder
  version: "1.0.0"
  description: Writes programs.
  labels: {role: worker, team: platform}
spec:
  runtime:
    language: python
    version: "3.11"
    isolation: inherit
  task:
    instruction: |
      Write a program.
    prompt_template: "{{instruction}} {{input}}"
  security:
    network: {mode: none}
    filesystem: {read: [/workspace], write: []}
    resources: {timeout: 300s}
  execution:
    mode: iterative
    max_iterations: 3
    iteration_timeout: 60s
    validation:
      - type: exit_code
        expected: 0
      - type: json_schema
        schema: {type: object, required: [answer]}
      - {type: regex, pattern: "^ok", target: stdout}
      - type: semantic
        judge_agent: judge
        criteria: It is right.
        min_score: 0.8
  input_schema:
    type: object
    properties: {task: {type: string}}
  tools:
    - fs.read
    - name: cmd
      executor: "builtin:cmd"
      config: {timeout_ceiling_secs: 120}
  builtin_dispatchers:
    - name: cmd
      capabilities:
        - name: cmd.run
          subcommand_allowlist: ["python", "pip"]
"#;

const WORKFLOW: &str = r#"
apiVersion: 100monkeys.ai/v1
kind: Workflow
metadata: {name: pipeline, version: 1.2.3}
spec:
  initial_state: GENERATE
  max_total_transitions: 20
  context: {limit: 10, words: [a, b]}
  states:
    GENERATE:
      kind: Agent
      agent: coder
      input: "{{workflow.task}}"
      transitions:
        - {condition: always, target: EXECUTE}
    EXECUTE:
      kind: System
      command: python main.py
      env: {PYTHONPATH: /workspace}
      transitions:
        - {condition: exit_code_zero, target: AUDIT}
        - {condition: exit_code_non_zero, target: GENERATE, feedback: "{{EXECUTE.output.stderr}}"}
    AUDIT:
      kind: ParallelAgents
      agents: [{agent: a, weight: 1.0}, {agent: b, weight: 2.5}]
      consensus: {strategy: weighted_average, threshold: 0.85}
      transitions:
        - {condition: consensus, threshold: 0.85, agreement: 0.75, target: ASK}
    ASK:
      kind: Human
      prompt: Go on?
      timeout: 1h
      transitions: [{condition: input_equals_yes, target: DONE}, {condition: input_equals_no, target: DONE}]
    DONE:
      kind: System
      command: [echo, done]
      transitions: []
"#;

fn messages<M>(read: &ManifestReading<M>) -> Vec<String> {
    read.faults.iter().map(ToString::to_string).collect()
}

#[track_caller]
fn faults<M: Manifest>(text: &str, expect: &[&str]) {
    assert_eq!(messages(&read::<M>(text)), expect, "{text}");
}

/// Replaces a part of a manifest. The part must occur.
#[track_caller]
fn changed(text: &str, from: &str, to: &str) -> String {
    assert!(text.contains(from), "{from}");
    text.replacen(from, to, 1)
}

fn fits_its_schema<M: Manifest + PartialEq + std::fmt::Debug>(text: &str) {
    let first = read::<M>(text);
    assert_eq!(messages(&first), Vec::<String>::new());
    let json = Json::read(&parse(text).unwrap().unwrap(), "", &mut Reader::default()).unwrap();
    // JSON is YAML, too.
    assert_eq!(read::<M>(&json.to_compact()).manifest, first.manifest);
    let schema = Schema::compile_root(&schema_of(M::KIND).to_serde()).unwrap();
    let found: Vec<String> = schema.violations(&json.to_serde()).iter().map(ToString::to_string).collect();
    assert_eq!(found, Vec::<String>::new());
}

#[test]
fn readers_and_schemas_accept_the_same() {
    fits_its_schema::<Agent>(AGENT);
    fits_its_schema::<Workflow>(WORKFLOW);
}

#[test]
fn faults_have_a_place_and_a_path() {
    faults::<Agent>("", &["line 1, column 1: the manifest is empty"]);
    faults::<Agent>("- x", &["line 1, column 1: expected a map"]);
    faults::<Agent>(
        "kind: Workflow\nmetadata: {name: A, version: 1}\n",
        &[
            "line 1, column 1: apiVersion: is missing",
            "line 1, column 1: spec: is missing",
            "line 1, column 7: kind: expected `Agent`",
            "line 2, column 18: metadata.name: expected a name: 1 to 63 of a-z, 0-9 and `-`, and no `-` at the start",
            "line 2, column 30: metadata.version: expected a string: put it in quotes",
        ],
    );
    let text = changed(AGENT, "tools:\n    - fs.read", "tools:\n    - [1]");
    faults::<Agent>(&text, &["line 40, column 7: spec.tools[1]: expected a string"]);
    let text = changed(AGENT, "    language: python\n", "    language: python\n    language: go\n");
    faults::<Agent>(&text, &["line 12, column 5: spec.runtime.language: appears twice"]);
    let text = changed(AGENT, "max_iterations: 3", "max_iterations: 21");
    faults::<Agent>(
        &text,
        &["line 24, column 21: spec.execution.max_iterations: expected a number from 1 to 20"],
    );
    let text = changed(AGENT, "\"^ok\"", "\"(\"");
    assert_eq!(read::<Agent>(&text).faults[0].path, "spec.execution.validation[3].pattern");
    let text = changed(AGENT, "        criteria: It is right.\n", "");
    assert_eq!(read::<Agent>(&text).faults[0].path, "spec.execution.validation[4].criteria");
}

#[test]
fn exactly_one_runtime_is_named() {
    let with = |runtime: &str| changed(AGENT, "    language: python\n    version: \"3.11\"\n", runtime);
    let fault = |runtime: &str| messages(&read::<Agent>(&with(runtime))).join("; ");
    assert_eq!(fault("    image: ghcr.io/a/b:1\n"), "");
    assert!(fault("    image: plain\n").contains("spec.runtime.image: expected a registry or folder"));
    assert!(fault("    language: python\n").contains("`language` without `version`"));
    assert!(fault("    version: '3'\n").contains("`version` without `language`"));
    assert!(fault("").contains("expected `language` and `version`, or `image`"));
    assert!(fault("    image: a/b\n    language: go\n    version: '1'\n").contains("exactly one of the two"));
    // The schema refuses the same manifests.
    let schema = Schema::compile_root(&schema_of(Kind::Agent).to_serde()).unwrap();
    let fits = |runtime: &str| {
        let text = format!(
            r#"{{"apiVersion": "100monkeys.ai/v1", "kind": "Agent", "metadata": {{"name": "a"}}, "spec": {{"runtime": {runtime}}}}}"#
        );
        schema.accepts(&Json::parse(&text).unwrap().to_serde())
    };
    assert!(fits(r#"{"language": "python", "version": "3"}"#) && fits(r#"{"image": "a/b"}"#));
    assert!(!fits("{}") && !fits(r#"{"language": "python"}"#));
    assert!(!fits(r#"{"language": "python", "version": "3", "image": "a/b"}"#));
}

#[test]
fn fields_without_effect_are_warnings() {
    let text = changed(AGENT, "  task:\n", "  colour: blue\n  env: {A: b}\n  task:\n    mood: good\n");
    let read = read::<Agent>(&text);
    assert!(read.manifest.is_some());
    let wanted = |path: &str| ["spec.colour", "spec.env", "spec.task.mood"].contains(&path);
    let warnings = read.warnings.iter().filter(|warning| wanted(&warning.path));
    let warnings: Vec<(&str, &str)> =
        warnings.map(|warning| (warning.path.as_str(), warning.message.as_str())).collect();
    let unknown = "unknown field, ignored";
    let expect = [
        ("spec.colour", unknown),
        ("spec.env", "is kept, but has no effect here"),
        ("spec.task.mood", unknown),
    ];
    assert_eq!(warnings, expect);
}

#[test]
fn a_workflow_leads_somewhere_and_ends() {
    let text = changed(WORKFLOW, "target: AUDIT", "target: NOWHERE");
    let fault = &read::<Workflow>(&text).faults[0];
    assert_eq!(fault.path, "spec.states.EXECUTE.transitions[1].target");
    // Issue 44: the place is that of the transition.
    let line = text.lines().position(|line| line.contains("NOWHERE")).unwrap() + 1;
    assert_eq!(fault.at.line, line);
    let text = changed(WORKFLOW, "initial_state: GENERATE", "initial_state: X");
    assert_eq!(read::<Workflow>(&text).faults[0].path, "spec.initial_state");
    let text = changed(WORKFLOW, "target: ASK", "target: DONE");
    assert_eq!(messages(&read::<Workflow>(&text)).len(), 1);
    assert_eq!(read::<Workflow>(&text).faults[0].message, "no state leads here");
    let hidden = WORKFLOW.replace("AUDIT", "human");
    assert_eq!(read::<Workflow>(&hidden).faults[0].message, "the name is reserved in templates");
    let text = changed(WORKFLOW, "  max_total_transitions: 20\n", "");
    let fault = &read::<Workflow>(&text).faults[0];
    assert!(fault.message.starts_with("the loop EXECUTE -> GENERATE -> EXECUTE"), "{fault}");
    let bound =
        |text: &str, state: &str| changed(text, state, &format!("{state}      max_state_visits: 3\n"));
    let text = bound(&bound(&text, "    GENERATE:\n"), "    EXECUTE:\n");
    faults::<Workflow>(&text, &[]);
    let text = changed(WORKFLOW, "      prompt: Go on?\n", "");
    assert_eq!(read::<Workflow>(&text).faults[0].path, "spec.states.ASK.prompt");
}

#[test]
fn hostile_texts_end_at_once() {
    let mut bomb = "a0: &a0 [x, x, x, x, x, x, x, x, x]\n".to_owned();
    for level in 1..12 {
        let list = vec![format!("*a{}", level - 1); 9].join(", ");
        bomb.push_str(&format!("a{level}: &a{level} [{list}]\n"));
    }
    faults::<Agent>(&bomb, &["line 6, column 10: too many values"]);
    assert_eq!(read::<Agent>(&"- ".repeat(10_000)).faults[0].message, "nested too deep");
    assert_eq!(read::<Agent>(&"x".repeat(300_000)).faults[0].message, "a manifest has at most 256 KiB");
    let many = (0..2_000).fold(AGENT.to_owned(), |text, number| format!("{text}x{number}: 1\n"));
    assert_eq!(read::<Agent>(&many).warnings.len(), 200);
}

/// Texts that are almost manifests: with lines left out, repeated, moved and corrupted.
fn nearly() -> impl Strategy<Value = String> {
    let lines: Vec<&'static str> = AGENT.lines().chain(WORKFLOW.lines()).collect();
    let hostile = prop_oneof![
        4 => proptest::sample::select(lines).prop_map(str::to_owned),
        1 => "[ ]{0,8}[a-z]{1,4}: (&a |\\*a|!!map |\\{\\}|\\[|\\]|~|1e999|-|\\|)[a-z]{0,3}",
        1 => "\\PC{0,20}",
    ];
    proptest::collection::vec(hostile, 0..60).prop_map(|lines| lines.join("\n"))
}

proptest! {
    #[test]
    fn no_text_panics_and_no_manifest_has_faults(text in nearly()) {
        let agent = read::<Agent>(&text);
        prop_assert_eq!(agent.manifest.is_some(), agent.faults.is_empty());
        let workflow = read::<Workflow>(&text);
        prop_assert_eq!(workflow.manifest.is_some(), workflow.faults.is_empty());
    }

    #[test]
    fn manifests_hold_what_was_written(
        name in "[a-z0-9][a-z0-9-]{0,20}",
        description in "\\PC{0,40}",
        labels in proptest::collection::btree_map("\\PC{1,10}", "\\PC{0,10}", 0..4),
        count in 1_i64..=20,
        score in 0.0_f64..1.0,
        tools in proptest::collection::vec("[a-z.]{1,12}", 0..4),
    ) {
        let text = |text: &str| Json::from(text).to_compact();
        let pairs: Vec<String> = labels.iter().map(|(key, value)| format!("{}: {}", text(key), text(value))).collect();
        let listed: Vec<String> = tools.iter().map(|tool| text(tool)).collect();
        let manifest = format!(
            "apiVersion: 100monkeys.ai/v1\nkind: Agent\nmetadata: {{name: {}, description: {}, labels: {{{}}}}}\nspec:\n  \
             runtime: {{language: go, version: '1'}}\n  tools: [{}]\n  execution:\n    max_iterations: {count}\n    \
             validation: [{{type: exit_code, min_score: {score:?}}}]\n",
            text(&name), text(&description), pairs.join(", "), listed.join(", "),
        );
        let first = read::<Agent>(&manifest);
        prop_assert_eq!(messages(&first), Vec::<String>::new());
        let Agent { metadata, spec, .. } = first.manifest.unwrap();
        prop_assert_eq!(metadata.name.as_str(), name);
        prop_assert_eq!((metadata.description, metadata.labels), (Some(description), Some(labels)));
        let names: Vec<&str> = spec.tools.iter().flatten().map(ToolRef::name).collect();
        prop_assert_eq!(names, tools);
        let execution = spec.execution.unwrap();
        prop_assert_eq!((execution.max_iterations, execution.validation.unwrap()[0].min_score), (Some(count), Some(score)));
    }
}
