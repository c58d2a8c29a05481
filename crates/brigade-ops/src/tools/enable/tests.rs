use brigade_workspace::{GATEWAY, POLICY};

use super::*;
use crate::RUNTIMES;
use crate::testing::Bench;

const TOOLS: &str = "# mine\n\
[[tool]]\nid = \"notes\"\nname = \"Notes\"\nfamily = \"mcp\"\nruntime_id = \"notes\"\nenabled = false\n\n\
[[tool]]\nid = \"notes-find\" # reads\nname = \"Find\"\nfamily = \"mcp\"\nruntime_id = \"notes\"\nmcp_tool_name = \"find\"\n\
command = \"python3 server.py\"\nenabled = false\nproposed_effects = [\"local-read\"]\n\n\
[[tool]]\nid = \"notes-drop\"\nname = \"Drop\"\nfamily = \"mcp\"\nruntime_id = \"notes\"\nmcp_tool_name = \"drop\"\n\
command = \"python3 server.py\"\nenabled = false\nproposed_effects = [\"local-write\", \"local-delete\"]\n\n\
[[tool]]\nid = \"notes-other\"\nname = \"Other\"\nfamily = \"mcp\"\nruntime_id = \"notes\"\nmcp_tool_name = \"other\"\n\
command = \"python3 server.py\"\nenabled = false\n";

fn site() -> Bench {
    Bench::of_user(&[(CATALOG, TOOLS)])
}

fn change(enabled: bool) -> EnableChange {
    EnableChange { enabled, effects: None, approval: None, accept_hints: false, dry_run: false }
}

fn request(globs: &[&str], change: EnableChange) -> EnableRequest {
    EnableRequest { globs: globs.iter().map(|glob| (*glob).to_owned()).collect(), change }
}

#[track_caller]
fn done(bench: &Bench, request: &EnableRequest) -> EnableReport {
    enable_tools(&bench.context, request, &mut |_| Ok(true)).unwrap()
}

fn ids(report: &EnableReport) -> Vec<&str> {
    report.tools.iter().map(|row| row.tool_id.as_str()).collect()
}

/// Returns whether a tool is enabled, and its effects.
#[track_caller]
fn entry(bench: &Bench, id: &str) -> (bool, String) {
    let catalog = load::catalog(&bench.context).unwrap();
    let tool = catalog.tool(id).expect("the entry");
    (tool.enabled, tool.effects.join(" "))
}

#[test]
fn nothing_is_written_without_a_yes() {
    let bench = site();
    let mut seen = Vec::new();
    let report = enable_tools(&bench.context, &request(&["notes-*"], change(true)), &mut |report| {
        seen = ids(report).into_iter().map(str::to_owned).collect();
        Ok(false)
    });
    let report = report.unwrap();
    assert_eq!((seen.join(" ").as_str(), report.written), ("notes-find notes-drop notes-other", false));
    let dry = request(&["notes-*"], EnableChange { dry_run: true, ..change(true) });
    let report = enable_tools(&bench.context, &dry, &mut |_| panic!("a dry run asks nothing")).unwrap();
    assert_eq!((report.written, report.changed_count), (false, 3));
    let error = enable_tools(&bench.context, &request(&["notes-*"], change(true)), &mut |_| {
        Err(Error::new(ErrorKind::Usage, "nobody is there"))
    });
    assert_eq!(error.unwrap_err().kind(), ErrorKind::Usage);
    assert_eq!(bench.read(CATALOG).as_deref(), Some(TOOLS));
}

#[test]
fn hints_grant_effects_only_if_a_person_accepts_them() {
    let bench = site();
    done(&bench, &request(&["notes-drop"], change(true)));
    assert_eq!(entry(&bench, "notes-drop"), (true, String::new()));
    let hints = EnableChange { accept_hints: true, approval: Some(ApprovalMode::Always), ..change(true) };
    done(&bench, &request(&["notes-find"], hints.clone()));
    assert_eq!(entry(&bench, "notes-find"), (true, "local-read".to_owned()));
    let catalog = load::catalog(&bench.context).unwrap();
    assert_eq!(catalog.tool("notes-find").unwrap().approval_mode, Some(ApprovalMode::Always));
    // A tool without hints gets the given effects.
    let both = EnableChange { effects: Some(vec!["network".to_owned()]), ..hints };
    done(&bench, &request(&["notes-find", "notes-other"], both));
    assert_eq!(entry(&bench, "notes-other").1, "network");
    assert_eq!(entry(&bench, "notes-find").1, "local-read", "what it has stays");
}

#[test]
fn a_tool_without_effects_says_what_it_lacks() {
    let report = done(&site(), &request(&["notes-*"], change(true)));
    let detail =
        |id: &str| report.tools.iter().find(|row| row.tool_id == id).unwrap().detail.clone().unwrap();
    assert!(detail("notes-find").contains("accept the hints"), "{}", detail("notes-find"));
    assert!(detail("notes-other").contains("its server hints at none"), "{}", detail("notes-other"));
}

#[test]
fn other_text_of_the_catalog_stays() {
    let bench = site();
    done(&bench, &request(&["notes-find"], change(true)));
    let text = bench.read(CATALOG).unwrap();
    let expect = TOOLS.replacen(
        "command = \"python3 server.py\"\nenabled = false\nproposed_effects = [\"local-read\"]",
        "command = \"python3 server.py\"\nenabled = true\nproposed_effects = [\"local-read\"]",
        1,
    );
    assert_eq!(text, expect);
    let again = done(&bench, &request(&["notes-find"], change(true)));
    assert_eq!((again.written, again.changed_count), (false, 0));
    done(&bench, &request(&["*"], change(false)));
    assert_eq!(bench.read(CATALOG).as_deref(), Some(TOOLS));
}

#[test]
fn a_pattern_means_tools_and_a_name_also_the_entry_of_a_server() {
    let bench = site();
    let picked = |glob: &str, enabled: bool| {
        let report = done(&bench, &request(&[glob], EnableChange { dry_run: true, ..change(enabled) }));
        ids(&report).join(" ")
    };
    assert_eq!(picked("notes*", true), "notes-find notes-drop notes-other");
    assert_eq!(picked("notes", true), "notes");
    assert_eq!(picked("notes*", false), "notes notes-find notes-drop notes-other");
    let error = enable_tools(&bench.context, &request(&["note?"], change(true)), &mut |_| Ok(true));
    assert_eq!(error.unwrap_err().kind(), ErrorKind::NotFound);
}

#[test]
fn each_pattern_must_match_something() {
    let bench = site();
    for (glob, message, hint) in [
        ("nots-find", "no tool of .brigade/tools.toml matches `nots-find`", "did you mean `notes-find`?"),
        ("zzzzzzzz*", "no tool of .brigade/tools.toml matches `zzzzzzzz*`", "list-tools"),
    ] {
        let error =
            enable_tools(&bench.context, &request(&["notes-find", glob], change(true)), &mut |_| Ok(true));
        let error = error.unwrap_err();
        assert_eq!((error.to_string().as_str(), error.hints()[0].to_string().as_str()), (message, hint));
    }
    assert_eq!(bench.read(CATALOG).as_deref(), Some(TOOLS));
}

#[test]
fn an_entry_that_is_only_read_is_registered_first() {
    let bench = site();
    bench.write(".cub/tools-registry.yaml", "tools:\n  - id: jq\n    source: {type: cli, command: jq}\n");
    let error = enable_tools(&bench.context, &request(&["jq"], change(true)), &mut |_| Ok(true)).unwrap_err();
    assert!(error.to_string().contains(".cub/tools-registry.yaml, which is only read"), "{error}");
    assert!(error.hints()[0].to_string().contains("registry:jq"), "{error:?}");
}

#[test]
fn an_effect_that_is_misspelt_is_refused() {
    for (effect, is_known) in
        [("local-reed", false), ("", false), (" ", false), ("local-read", true), ("deploy", true)]
    {
        let checked = check_effects(&[effect.to_owned()]);
        assert_eq!(checked.is_ok(), is_known, "{effect}");
    }
    let error = check_effects(&["local-reed".to_owned()]).unwrap_err();
    assert_eq!(
        (error.kind(), error.to_string().as_str()),
        (ErrorKind::Usage, "`local-reed` is not an effect")
    );
    assert_eq!(error.hints()[0].to_string(), "did you mean `local-read`?");
    let effects = Some(vec!["local-reed".to_owned()]);
    let misspelt = request(&["notes-find"], EnableChange { effects, ..change(true) });
    assert!(enable_tools(&site().context, &misspelt, &mut |_| Ok(true)).is_err());
}

#[test]
fn a_catalog_that_changed_while_a_person_read_is_not_written() {
    let bench = site();
    let error = enable_tools(&bench.context, &request(&["notes-find"], change(true)), &mut |_| {
        bench.write(CATALOG, &format!("{TOOLS}# later\n"));
        Ok(true)
    });
    let error = error.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Refused);
    assert!(error.to_string().contains("changed after it was shown"), "{error}");
    assert_eq!(bench.read(CATALOG), Some(format!("{TOOLS}# later\n")));
}

#[test]
fn a_broken_entry_stays_and_a_broken_file_is_an_error() {
    let bench = site();
    bench.replace(CATALOG, "name = \"Find\"", "name = \"Find\"\ntimeout = 0");
    let report = done(&bench, &request(&["notes-*"], change(true)));
    let row = &report.tools[0];
    assert_eq!((row.tool_id.as_str(), row.enabled, row.changed), ("notes-find", false, false));
    assert_eq!(row.detail.as_deref(), Some("the entry has errors, so it is not changed"));
    bench.write(CATALOG, &format!("{TOOLS}[[tool\n"));
    let error = enable_tools(&bench.context, &request(&["notes-find"], change(true)), &mut |_| Ok(true));
    assert_eq!(error.unwrap_err().kind(), ErrorKind::InvalidConfig);
}

#[test]
fn a_person_sees_what_becomes_of_calls_of_each_agent() {
    let bench = site();
    bench.write(POLICY, "allowed_families = [\"mcp\"]\nallowed_effects = [\"local-read\"]\n");
    bench.write(
        RUNTIMES,
        "[[runtime]]\nid = \"notes\"\nname = \"N\"\ncommand = \"python3 server.py\"\non_demand = true\n",
    );
    bench.write(GATEWAY, "[[agent]]\nname = 'one'\n[[agent]]\nname = 'two'\n");
    let hints = EnableChange { accept_hints: true, dry_run: true, ..change(true) };
    let report = done(&bench, &request(&["notes-find", "notes-drop"], hints));
    let gates = |at: usize| &report.tools[at].gates;
    assert_eq!(gates(0).keys().collect::<Vec<_>>(), ["one", "two"]);
    assert!(gates(1)["one"].starts_with("hidden: "), "{:?}", gates(1));
    // Without agents there are no gates.
    bench.write(GATEWAY, "[[agent]\n");
    let report = done(&bench, &request(&["notes-find"], EnableChange { dry_run: true, ..change(true) }));
    assert!(report.tools[0].gates.is_empty());
}

#[test]
fn enabling_the_entry_of_a_server_shows_what_it_would_start() {
    let bench = Bench::of_user(&[
        (
            CATALOG,
            "[[tool]]\nid = \"notes\"\nname = \"Notes\"\nfamily = \"mcp\"\nruntime_id = \"notes\"\nenabled = true\nsource = { kind = \"mcp\" }\n",
        ),
        (
            RUNTIMES,
            "[[runtime]]\nid = \"notes\"\nname = \"N\"\ncommand = \"python3 server.py\"\nenabled = false\n",
        ),
    ]);
    let dry = |enabled: bool| {
        let report = done(&bench, &request(&["notes"], EnableChange { dry_run: true, ..change(enabled) }));
        (report.tools[0].starts.clone(), report.tools[0].changed)
    };
    assert_eq!(dry(true), (Some("python3 server.py".to_owned()), true));
    assert_eq!(dry(false), (None, true));
}
