use super::*;
use crate::testing::Bench;

fn runtime(lines: &str) -> brigade_catalog::Runtimes {
    let text = format!("[[runtime]]\nid = 'db'\nname = 'db'\ncommand = 'sh serve.sh data.json'\n{lines}\n");
    let runtimes = brigade_catalog::Runtimes::parse("r", brigade_catalog::Level::Project, text.as_bytes());
    assert!(runtimes.is_valid(), "{:?}", runtimes.issues());
    runtimes
}

const FILES: &[(&str, &str)] = &[
    ("check", "ping"),
    ("lib.py", "1"),
    ("sub/check", "ping"),
    ("run.pid", "7"),
    ("serve.sh", "1"),
    ("data.json", "{}"),
    (".brigade/tools.toml", ""),
];

#[test]
fn a_health_command_binds_what_it_executes_and_not_what_it_inspects() {
    let bench = Bench::on_disk(FILES).with_variables(&[("PATH", "/bin:/usr/bin")]);
    let files = |lines: &str| -> Vec<String> {
        let runtimes = runtime(lines);
        bench.host().health_files(&runtimes.runtimes()[0], &[]).unwrap().into_keys().collect()
    };
    let named = |paths: &[&str]| -> Vec<String> {
        paths.iter().map(|path| format!("health command of db: {path}")).collect()
    };
    assert_eq!(files(""), named(&[]));
    assert_eq!(files("health_command = 'sh check run.pid'"), named(&["check"]));
    assert_eq!(files("health_command = 'sh -e ./check run.pid'"), named(&["check"]));
    assert_eq!(files("health_command = 'python3 lib.py run.pid'"), named(&["lib.py"]));
    for looks in ["test -s run.pid", "timeout 5 cat run.pid", "find run.pid -size +0"] {
        let bound = files(&format!("health_command = '{looks}'"));
        assert!(bound.iter().all(|file| !file.ends_with("run.pid")), "{looks}: {bound:?}");
    }
    let check = bench.path("check").display().to_string();
    assert_eq!(files(&format!("health_command = 'sh {check} run.pid'")), named(&["check"]));
    assert_eq!(files("health_command = 'sh check'\ncwd = 'sub'"), named(&["sub/check"]));
    assert_eq!(files("health_command = 'sh check'\ncwd = 'gone'"), named(&[]));
}

#[test]
fn a_tool_binds_the_health_command_of_the_runtime_that_it_requires() {
    let text = "[[runtime]]\nid = 'db'\nname = 'db'\ncommand = 'sleep 9'\nhealth_command = 'sh check'\n";
    for (lines, count) in [
        ("runtime_id = 'db'\nrequires_runtime = true", 1),
        ("runtime_id = 'db'", 0),
        ("runtime_id = 'gone'\nrequires_runtime = true", 0),
        ("requires_runtime = true", 0),
    ] {
        let catalog = crate::testing::entry("go", &format!("command = 'x'\n{lines}"));
        let bench = Bench::on_disk(&[(crate::CATALOG, &catalog), (crate::RUNTIMES, text), ("check", "")])
            .with_variables(&[("PATH", "/bin:/usr/bin")]);
        let config = bench.config();
        let reader = FactReader::new(bench.host(), &config);
        let found = reader.health_files(config.catalog.tool("go").unwrap()).unwrap();
        assert_eq!(found.len(), count, "{lines}");
    }
}

#[test]
fn the_parts_of_a_runtime_are_its_command_and_its_files() {
    let bench = Bench::on_disk(FILES).with_variables(&[("PATH", "/bin:/usr/bin")]);
    let parts = |lines: &str| {
        let runtimes = runtime(lines);
        bench.host().runtime_parts(&runtimes.runtimes()[0], &[]).unwrap()
    };
    let here = parts("");
    let names: Vec<&str> = here.iter().map(|part| part.name.as_str()).collect();
    assert_eq!(names, ["command", "file data.json", "file serve.sh"]);
    assert_ne!(here[0].fingerprint, parts("cwd = 'sub'")[0].fingerprint);
    bench.write("data.json", "{1}");
    assert_ne!(here[1].fingerprint, parts("")[1].fingerprint);
}

#[test]
fn a_blank_command_is_no_entry() {
    let runtimes = runtime("");
    let of = |command: Option<&str>| entry_of(&runtimes.runtimes()[0], command).map(|tool| tool.cwd);
    assert_eq!((of(None), of(Some("  "))), (None, None));
    assert_eq!(of(Some("x")), Some(Some(".".to_owned())));
}

#[test]
fn the_script_of_an_interpreter_is_its_first_word_that_is_no_option() {
    let files =
        BTreeMap::from(["sub/check", "other"].map(|path| (path.to_owned(), Fingerprint::of_bytes(b""))));
    let script = |line: &str| {
        let entry = Tool { command: Some(line.to_owned()), ..Tool::new("command", Family::Script).unwrap() };
        script_of(&entry, &files)
    };
    for (line, expect) in [
        ("sh -e check", Some("sub/check")),
        ("sh ./check", Some("sub/check")),
        ("sh /ws/sub/check", Some("sub/check")),
        ("env A=1 python3 other", Some("other")),
        ("cat other", None),
        ("sh", None),
        ("sh gone", None),
    ] {
        assert_eq!(script(line).as_deref(), expect, "{line}");
    }
}
