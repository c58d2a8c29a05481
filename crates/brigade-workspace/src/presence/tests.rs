use brigade_catalog::ToolState;
use brigade_core::Timestamp;

use super::*;
use crate::CATALOG;
use crate::testing::{Bench, entry};

/// Checks the state of a tool with these lines, and the code of the first reason.
#[track_caller]
fn check(lines: &str, state: ToolState, code: Option<&str>) {
    let runtimes = "[[runtime]]\nid = 'db'\nname = 'db'\ncommand = 'bin/there'\n[[runtime]]\nid = 'off'\nname = 'o'\n\
                    command = 'bin/there'\nenabled = false\n[[runtime]]\nid = 'bare'\nname = 'b'\ncommand = 'bin/gone'\n";
    let bench = Bench::new(&[
        (CATALOG, &entry("go", lines)),
        (crate::RUNTIMES, runtimes),
        ("a.txt", ""),
        ("sub/a", ""),
    ])
    .with_variables(&[("PATH", "/memory/bin")]);
    bench.program("bin/there", "#!/bin/sh\n");
    let config = bench.config();
    let facts = FactReader::new(bench.host(), &config);
    let reader = PresenceReader::new(&facts, config.runtimes(&bench.host()));
    let found = reader.presence(config.catalog.tool("go").unwrap());
    let first = found.reasons.first().map(|reason| reason.code);
    assert_eq!((found.state, first), (state, code), "{lines}: {found:?}");
}

#[test]
fn a_tool_is_there_if_its_program_is() {
    check("command = 'there x'", ToolState::Available, None);
    check("command = 'bin/there x'", ToolState::Available, None);
    check("command = 'gone x'", ToolState::Missing, Some("program_missing"));
    check("command = 'there x'\ncwd = 'gone'", ToolState::Missing, Some("missing_cwd"));
}

#[test]
fn a_check_about_a_program_or_path_starts_nothing() {
    let with = |check: &str| format!("command = 'there x'\n[tool.install]\ncheck = '{check}'");
    for test in ["which there", "command -v there", "test -f a.txt", "test -d sub", "test -x bin/there"] {
        check(&with(test), ToolState::Available, None);
    }
    for test in ["which gone", "test -f sub", "test -d a.txt", "test -x a.txt", "test -f gone"] {
        let lines = with(test);
        let bench = Bench::new(&[(CATALOG, &entry("go", &lines)), ("a.txt", ""), ("sub/a", "")])
            .with_variables(&[("PATH", "/memory/bin")]);
        bench.program("bin/there", "#!/bin/sh\n");
        let config = bench.config();
        let facts = FactReader::new(bench.host(), &config);
        let runtimes = Runtimes::default();
        let found = PresenceReader::new(&facts, &runtimes).presence(config.catalog.tool("go").unwrap());
        assert_eq!(found.state, ToolState::Missing, "{test}");
    }
    check(&with("there --check"), ToolState::Unknown, Some("check_not_run"));
}

#[test]
fn a_condition_of_test_is_about_kind_or_mode() {
    let metadata = |kind, mode| {
        let modified = Timestamp::from_unix_micros(0);
        Metadata { kind, len: 0, modified, mode, uid: None, id: None }
    };
    let (file, program, folder) = (
        metadata(FileKind::File, 0o644),
        metadata(FileKind::File, 0o755),
        metadata(FileKind::Directory, 0o755),
    );
    for (test, expect) in [
        (PathTest::File, [true, true, false]),
        (PathTest::Directory, [false, false, true]),
        (PathTest::Executable, [false, true, true]),
    ] {
        assert_eq!([&file, &program, &folder].map(|found| holds(test, found)), expect, "{test:?}");
    }
    assert_eq!([&file, &program, &folder].map(is_source), [true, true, false]);
}

#[test]
fn a_runtime_is_there_if_it_is_enabled_and_has_its_program() {
    let bench =
        Bench::new(&[(CATALOG, &entry("go", "command = 'x'"))]).with_variables(&[("PATH", "/memory/bin")]);
    bench.program("bin/there", "#!/bin/sh\n");
    let text = "[[runtime]]\nid = 'db'\nname = 'd'\ncommand = 'bin/there'\n[[runtime]]\nid = 'off'\nname = 'o'\n\
                command = 'bin/there'\nenabled = false\n[[runtime]]\nid = 'bare'\nname = 'b'\ncommand = 'bin/gone'\n";
    bench.write(crate::RUNTIMES, text);
    let config = bench.config();
    let facts = FactReader::new(bench.host(), &config);
    let presences = PresenceReader::new(&facts, config.runtimes(&bench.host()));
    let reader = facts.reader(config.catalog.tool("go").unwrap());
    let answer = |id: &str| presences.answer(&reader, &Need::Runtime(id.to_owned()));
    assert_eq!(answer("db"), Answer::There(Some("/memory/bin/there".to_owned())));
    assert_eq!(answer("off"), Answer::Disabled);
    assert_eq!(
        answer("bare"),
        Answer::NoProgram { program: "bin/gone".to_owned(), runtime: "bare".to_owned() }
    );
    assert_eq!(answer("gone"), Answer::Missing("gone".to_owned()));
}

#[test]
fn a_harness_is_there_if_its_program_or_its_directory_is() {
    let answer = |prepare: &dyn Fn(&Bench)| {
        let bench = Bench::new(&[(CATALOG, "")]);
        let bench = bench.with_variables(&[("PATH", "/memory/bin"), ("HOME", "/memory/home")]);
        prepare(&bench);
        let config = bench.config();
        let facts = FactReader::new(bench.host(), &config);
        let runtimes = Runtimes::default();
        matches!(PresenceReader::new(&facts, &runtimes).provider("claude"), Answer::There(_))
    };
    assert!(!answer(&|_| ()));
    assert!(answer(&|bench| bench.program("bin/claude", "#!/bin/sh\n")));
    assert!(answer(&|bench| bench.folder("home/.claude")));
    assert!(!answer(&|bench| bench.write("home/.claude", "")));
}

#[test]
fn the_needs_of_a_built_in_tool_are_reasons_with_a_remedy() {
    let bench = Bench::new(&[(CATALOG, "")]);
    let config = bench.config();
    let facts = FactReader::new(bench.host(), &config);
    let runtimes = Runtimes::default();
    let presences = PresenceReader::new(&facts, &runtimes);
    let reasons = presences.lacking(config.own_tool("git.status").unwrap());
    assert!(reasons.iter().all(|reason| reason.code == "not_available_here" && reason.hint.is_some()));
    assert!(reasons.iter().any(|reason| reason.message.contains("git.repository")), "{reasons:?}");
    assert!(presences.lacking(config.own_tool("fs.read").unwrap()).is_empty());
}
