use brigade_schema::Schema;

use super::*;
use crate::names::{CONTROL_TOOLS, builtin_ids};

#[test]
fn every_row_is_complete_and_its_schemas_are_sound() {
    for definition in definitions() {
        let id = definition.id;
        for text in [id, definition.title, definition.description] {
            assert!(!text.is_empty(), "{id}");
        }
        assert!(definition.description.ends_with('.'), "{id}");
        assert!(!definition.tiers.is_empty(), "{id}");
        for schema in [definition.input_schema(), definition.output_schema()] {
            Schema::compile_root(&schema.to_serde()).unwrap_or_else(|faults| panic!("{id}: {faults:?}"));
        }
        let properties = definition.input_schema().get("properties").and_then(Json::as_object).unwrap();
        let kinds = definition.arguments();
        for name in [kinds.paths, kinds.urls, kinds.contents].into_iter().flatten() {
            let Some((list, member)) = name.split_once("[].") else {
                assert!(properties.contains_key(*name), "{id} {name}");
                continue;
            };
            let items = properties[list].get("items").and_then(|items| items.get("properties"));
            assert!(items.is_some_and(|members| members.get(member).is_some()), "{id} {name}");
        }
        assert_eq!(definition.input_schema().get("additionalProperties"), Some(&Json::from(false)), "{id}");
    }
}

#[test]
fn the_gateways_own_tools_are_marked() {
    let is_control = |id: &&str| CONTROL_TOOLS.contains(id);
    assert!(definitions().iter().all(|row| row.is_control == is_control(&row.id)));
}

#[test]
fn no_name_means_two_things() {
    let mut seen = std::collections::BTreeSet::new();
    for definition in definitions() {
        assert!(seen.insert(definition.id), "{}", definition.id);
        for alias in definition.aliases {
            assert!(seen.insert(alias.name), "{}", alias.name);
        }
    }
    for id in builtin_ids() {
        assert!(!is_alias(id), "{id}");
    }
}

#[track_caller]
fn check(name: &str, expect: Option<&str>) {
    let found = own_name(name).map(|meant| match meant {
        BuiltinName::Tool(definition, _) => definition.id,
        BuiltinName::Control(id) => id,
        BuiltinName::Never(never) => never.name,
    });
    assert_eq!(found, expect, "{name}");
}

#[test]
fn prefixes_are_taken_off_once_and_in_order() {
    check("fs.read", Some("fs.read"));
    check("readFile", Some("fs.read"));
    check("aegis.agent.list", Some("agent.list"));
    check("aegis.tools.list", Some("tools.list"));
    check("mcp__brigade__readFile", Some("fs.read"));
    check("mcp__brigade__ade.coordinator__spawn_worker", Some("task.execute"));
    check("mcp__x__ade.y__aegis.fs.read", Some("fs.read"));
    check("aegis.mcp__x__fs.read", None);
    check("mcp__x__mcp__y__fs.read", None);
    check("mcp____fs.read", None);
    check("ade.__fs.read", None);
    check("aegis.aegis.fs.read", None);
    check("READFILE", None);
    check("fs_read", None);
    check("issue.reply", Some("issue.comment"));
    check("issue.vote", None);
    check("zaru.init", Some("session.init"));
    check("get_budget_status", Some("budget.get"));
    check("", None);
}

#[track_caller]
fn check_arguments(name: &str, given: &str, expect: Result<&str, AliasProblem>) {
    let Some(BuiltinName::Tool(_, Some(alias))) = own_name(name) else { panic!("{name} is not an alias") };
    let Ok(Json::Object(given)) = Json::parse(given) else { panic!("not an object") };
    let expect = expect.map(|text| Json::parse(text).unwrap());
    assert_eq!(alias.arguments_of(given).map(Json::Object), expect);
}

#[test]
fn an_alias_takes_its_own_names_of_arguments() {
    check_arguments(
        "editFile",
        r#"{"path": "a", "old_string": "x", "replacement_content": "y"}"#,
        Ok(r#"{"path": "a", "target_content": "x", "replacement_content": "y"}"#),
    );
    check_arguments(
        "bash",
        r#"{"command": "ls", "timeout": 1500}"#,
        Ok(r#"{"command": "ls", "timeout_seconds": 2}"#),
    );
    check_arguments("bash", r#"{"timeout": "soon"}"#, Ok(r#"{"timeout_seconds": "soon"}"#));
    check_arguments("grep", r#"{"pattern": "x"}"#, Ok(r#"{"path": ".", "pattern": "x"}"#));
    check_arguments("grep", r#"{"pattern": "x", "path": "src"}"#, Ok(r#"{"path": "src", "pattern": "x"}"#));
    check_arguments(
        "spawnChat",
        r#"{"prompt": "go", "lane": "l"}"#,
        Ok(r#"{"agent_id": "brigade-chat", "input": {"lane": "l", "prompt": "go"}}"#),
    );
    check_arguments(
        "spawnChat",
        r#"{"agent_id": "a", "laneId": "l", "model": "m", "reasoningEffort": "high"}"#,
        Ok(r#"{"agent_id": "a", "input": {"effort": "high", "lane": "l", "model": "m"}}"#),
    );
    check_arguments("interruptChat", r#"{"sessionId": "t"}"#, Ok(r#"{"execution_id": "t"}"#));
    check_arguments(
        "handoffChat",
        r#"{"sessionId": "t", "reason": "late"}"#,
        Ok(r#"{"agent_id": "brigade-chat", "execution_id": "t", "note": "late"}"#),
    );
    check_arguments(
        "triggerAgentWakeup",
        r#"{"agentId": "a", "prompt": "go"}"#,
        Ok(r#"{"agent_id": "a", "input": {"prompt": "go"}}"#),
    );
    let twice = r#"{"old_string": "x", "target_content": "y"}"#;
    check_arguments("editFile", twice, Err(AliasProblem::GivenTwice("old_string")));
}

#[test]
fn a_command_runs_with_all_its_words_or_not_at_all() {
    let command = |args: &str| {
        let args = Json::parse(args).unwrap();
        command_entry(COMMAND, &args, "/w", &[], None).unwrap().command.unwrap()
    };
    assert_eq!(command(r#"{"command":"printf '%s'","args":["a b",";"]}"#), "printf '%s' 'a b' ';'");
    let text = r#"{"command":"a | b > c","args":["x y"],"shell":true}"#;
    assert_eq!(command(text), "/bin/sh -c 'a | b > c' sh 'x y'");
    let for_shell = |args: &str| {
        let args = Json::parse(args).unwrap();
        is_for_shell(&command_entry(COMMAND, &args, "/w", &[], None).unwrap())
    };
    assert!(
        for_shell(text) && for_shell(r#"{"command":"/bin/sh -c ls"}"#) && !for_shell(r#"{"command":"sh x"}"#)
    );
    for args in [r#"{"command":"rm","args":["one","\u0000"]}"#, r#"{"command":"rm\u0000","args":["one"]}"#] {
        assert!(brigade_cmdline::Argv::parse(&command(args)).is_err(), "{args}");
    }
}

#[test]
fn command_arguments_are_read_as_written() {
    let args = CommandArgs {
        command: "make".to_owned(),
        args: vec!["all".to_owned()],
        cwd: Some("src".to_owned()),
        timeout_seconds: Some(5),
        max_output_bytes: None,
        shell: false,
        env: BTreeMap::from([("TOKEN".to_owned(), true)]),
    };
    let text = r#"{"args":["all"],"command":"make","cwd":"src","env":{"TOKEN":true},"timeout_seconds":5}"#;
    assert_eq!(brigade_core::json::to_json(&args).unwrap().to_compact(), text);
    assert_eq!(CommandArgs::read(&Json::parse(text).unwrap()), args);
    // What the schema refuses hides nothing else.
    let wrong = r#"{"args":["all",5],"command":"make","cwd":7,"env":{"TOKEN":"x"},"timeout_seconds":"5"}"#;
    let read = CommandArgs::read(&Json::parse(wrong).unwrap());
    assert_eq!((read.command.as_str(), read.args, read.cwd), ("make", vec!["all".to_owned()], None));
    assert_eq!((read.timeout_seconds, read.env["TOKEN"]), (None, false));
    assert_eq!(CommandArgs::read(&Json::Null), CommandArgs::default());
}

#[test]
fn results_are_read_as_they_are_written() {
    let rejected = MemoryAdded::rejected("it holds a secret");
    let text = rejected.to_json().to_compact();
    assert_eq!(MemoryAdded::read(&text), Some(rejected));
    // A text that was cut, and the result of another tool.
    assert_eq!(MemoryAdded::read(&text[..text.len() - 2]), None);
    assert_eq!(MemoryAdded::read(r#"{"saved": false}"#), None);

    let output =
        CommandOutput { exit_code: Some(3), stdout: Some("x".to_owned()), ..CommandOutput::default() };
    let text = r#"{"exit_code":3,"stderr":null,"stdout":"x","timed_out":false}"#;
    assert_eq!(output.to_json().to_compact(), text);
    assert_eq!(CommandOutput::read(&output.to_json()), output);
    let whole = CommandOutput { truncated: Some(false), ..output };
    assert!(whole.to_json().to_compact().contains(r#""truncated":false"#));
    // Another tool may give the same names another meaning.
    for other in [r#"{"stdout": 5}"#, r#"["x"]"#, r#"{"code": 7}"#] {
        assert_eq!(CommandOutput::read(&Json::parse(other).unwrap()), CommandOutput::default(), "{other}");
    }
    let default = |argument| definition(COMMAND).unwrap().default_of(argument).map(Json::to_compact);
    assert_eq!((default("max_output_bytes"), default("command")), (Some("1048576".to_owned()), None));
}
