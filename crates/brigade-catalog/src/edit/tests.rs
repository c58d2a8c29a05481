use std::collections::BTreeMap;

use proptest::prelude::*;

use super::*;
use crate::Family;
use crate::{Catalog, Level, Seconds};

const FILE: &str = r#"# my tools

# about a
[[tool]]
id = "a"   # the first
name   = 'A'
family = "script"
timeout = 30 # seconds
effects = [ "x", # why
  "y" ]
projections = { claude = "old.md" }

# about b
# more about b
[[tool]]
id = 'b'
name = 'B'
family = 'skill'
[tool.projections]
# kept
claude = 'b.md'

[[tool]]
id = 'c'
name = 'C'
family = 'mcp'
"#;

fn text(text: &str) -> FieldValue {
    FieldValue::Text(text.to_owned())
}

#[track_caller]
fn check_set(id: &str, field: &str, value: FieldValue, from: &str, to: &str) {
    for (file, from, to) in [
        (FILE.to_owned(), from.to_owned(), to.to_owned()),
        (
            format!("\u{feff}{}", FILE.replace('\n', "\r\n")),
            from.replace('\n', "\r\n"),
            to.replace('\n', "\r\n"),
        ),
    ] {
        assert!(file.contains(&from));
        assert_eq!(set_field(&file, id, field, &value), Ok(file.replacen(&from, &to, 1)));
    }
}

#[test]
fn setting_a_field_changes_its_value_only() {
    check_set(
        "a",
        "timeout",
        FieldValue::Seconds(Seconds::new(5.0).unwrap()),
        "timeout = 30 #",
        "timeout = 5 #",
    );
    check_set("a", "name", text("New"), "name   = 'A'", "name   = \"New\"");
    check_set("a", "id", text("z"), "id = \"a\"   #", "id = \"z\"   #");
    check_set("a", "projections.claude", text("n"), "\"old.md\"", "\"n\"");
    check_set("a", "projections.codex", text("n"), "\"old.md\" }", "\"old.md\", codex = \"n\" }");
    check_set("b", "projections.claude", text("n"), "claude = 'b.md'", "claude = \"n\"");
    check_set("c", "cwd", text("."), "family = 'mcp'\n", "family = 'mcp'\ncwd = \".\"\n");
    check_set("a", "cwd", text("."), "\"old.md\" }\n", "\"old.md\" }\ncwd = \".\"\n");
    check_set(
        "c",
        "projections.claude",
        text("x"),
        "family = 'mcp'\n",
        "family = 'mcp'\nprojections = { claude = \"x\" }\n",
    );
    let pairs =
        BTreeMap::from([("claude".to_owned(), "b.md".to_owned()), ("codex".to_owned(), "x".to_owned())]);
    check_set(
        "b",
        "projections",
        FieldValue::Table(pairs),
        "claude = 'b.md'\n",
        "claude = 'b.md'\ncodex = \"x\"\n",
    );
}

#[test]
fn setting_an_equal_value_changes_nothing() {
    check_set("a", "effects", FieldValue::List(vec!["x".into(), "y".into()]), "", "");
    check_set("a", "name", text("A"), "", "");
}

#[test]
fn adding_a_tool_appends_its_entry() {
    let tool = Tool { description: Some("It \"works\"".into()), ..Tool::new("d", Family::Script).unwrap() };
    let entry = "[[tool]]\nid = \"d\"\nname = \"d\"\nfamily = \"script\"\nenabled = true\ndescription = 'It \"works\"'\n";
    assert_eq!(add_tool("", &tool).as_deref(), Ok(entry));
    assert_eq!(add_tool(FILE, &tool), Ok(format!("{FILE}\n{entry}")));
    assert_eq!(add_tool("# x", &tool), Ok(format!("# x\n\n{entry}")));
    assert_eq!(add_tool("# x\r\n", &tool), Ok(format!("# x\n\n{entry}").replace('\n', "\r\n")));
    assert_eq!(add_tool(entry, &tool), Err(EditError::Exists));
    assert_eq!(add_tool("a = '''\n", &tool), Err(EditError::Broken { line: 1 }));
}

#[test]
fn adding_to_a_list_writes_as_the_list_is_written() {
    let tool = Tool::new("d", Family::Script).unwrap();
    let (a, d) = (
        r#"{ id = "a", name = "a", family = "mcp" }"#,
        r#"{ id = "d", name = "d", family = "script", enabled = true }"#,
    );
    #[track_caller]
    fn check(tool: &Tool, file: &str, expect: &str) {
        for (file, expect) in
            [(file.to_owned(), expect.to_owned()), (file.replace('\n', "\r\n"), expect.replace('\n', "\r\n"))]
        {
            assert_eq!(add_tool(&file, tool).as_deref(), Ok(expect.as_str()));
            let catalog = Catalog::parse("", Level::Project, expect.as_bytes());
            assert!(catalog.is_valid() && catalog.tool("d").is_some(), "{:?}", catalog.issues());
        }
    }
    check(&tool, "# mine\ntool = []\n", &format!("# mine\ntool = [{d}]\n"));
    check(&tool, &format!("tool = [ {a} ] # x\n"), &format!("tool = [ {a}, {d} ] # x\n"));
    check(&tool, &format!("tool = [{a}]\n"), &format!("tool = [{a}, {d}]\n"));
    check(&tool, &format!("tool = [\n  {a}\n]\n"), &format!("tool = [\n  {a},\n  {d}\n]\n"));
    check(&tool, &format!("tool = [\n  {a},\n]\n"), &format!("tool = [\n  {a},\n  {d},\n]\n"));
    check(
        &tool,
        &format!("tool = [\n  # a\n  {a}, # yes\n]\n"),
        &format!("tool = [\n  # a\n  {a}, # yes\n  {d},\n]\n"),
    );
    check(&tool, &format!("tool = [\n  {a} # yes\n]\n"), &format!("tool = [\n  {a} # yes\n,\n  {d}\n]\n"));
}

#[test]
fn nothing_is_added_to_a_value_that_is_not_a_list() {
    let tool = Tool::new("d", Family::Script).unwrap();
    for (file, line) in
        [("tool = 'x'\n", 1), ("# x\n\ntool = [1]\n", 3), ("[tool]\nid = 'x'\n", 1), ("a = 1\n[tool.x]\n", 2)]
    {
        let (read, added) = (Catalog::parse("", Level::Project, file.as_bytes()), add_tool(file, &tool));
        match added {
            Err(error) => assert_eq!(error, EditError::NotAList { line }, "{file}"),
            Ok(added) => panic!("{file}{:?}{added}", read.issues()),
        }
    }
}

#[test]
fn values_that_the_reader_rejects_are_refused() {
    let wrong = |field, value| set_field(FILE, "a", field, &value).unwrap_err();
    assert_eq!(
        wrong("risk_class", text("x")),
        EditError::WrongValue {
            field: "risk_class",
            expected: "expected one of read, local-write, network, privileged"
        }
    );
    assert_eq!(
        wrong("enabled", text("x")),
        EditError::WrongValue { field: "enabled", expected: "expected true or false" }
    );
    assert_eq!(wrong("timout", text("x")), EditError::UnknownField);
    assert_eq!(wrong("id", text("b")), EditError::Exists);
    assert_eq!(set_field(FILE, "d", "name", &text("x")), Err(EditError::NotFound));
}

#[test]
fn broken_entries_do_not_block_edits_of_others() {
    let file = FILE.replace("timeout = 30", "timeout = ");
    assert_eq!(set_field(&file, "a", "name", &text("x")), Err(EditError::Broken { line: 4 }));
    assert_eq!(set_field(&file, "c", "name", &text("x")), Ok(file.replace("'C'", "\"x\"")));
}

#[test]
fn elements_of_a_list_are_added_and_removed_in_place() {
    let list = |texts: &[&str]| texts.iter().map(|text| (*text).to_owned()).collect::<Vec<_>>();
    let head = "[[tool]]\nid = 'a'\nname = 'A'\nfamily = 'script'\n";
    let file = format!("{head}code = [\n    'lib/**', # the library\n    'old.py',\n]  # bound\n# end\n");
    let expect = file.replace("'old.py',", "\"bin/x\",");
    assert_eq!(set_list(&file, "a", "code", &list(&["lib/**", "bin/x"])), Ok(expect));
    let one_line = format!("{head}effects = ['local-read'] # reads\n");
    let expect = one_line.replace("['local-read']", "['local-read', \"local-write\"]");
    assert_eq!(set_list(&one_line, "a", "effects", &list(&["local-read", "local-write"])), Ok(expect));
    for (before, keep, after) in [
        ("['a', 'b', 'c']", "b c", "['b', 'c']"),
        ("['a', 'b', 'c']", "a c", "['a', 'c']"),
        ("['a', 'b', 'c']", "a b", "['a', 'b']"),
        ("[ 'a', 'b' ]", "a", "[ 'a' ]"),
        ("['a']", "", "[]"),
        ("[\n 'a', # 1\n 'b', # 2\n 'c', # 3\n]", "a c", "[\n 'a', # 1\n 'c', # 3\n]"),
        ("[\n 'a', # 1\n 'b', # 2\n 'c', # 3\n]", "a b", "[\n 'a', # 1\n 'b', # 2\n]"),
        ("[\n 'a', # 1\n 'b', # 2\n 'c' # 3\n]", "a b", "[\n 'a', # 1\n 'b' # 2\n]"),
        ("[\n 'a', # 1\n 'b', # 2\n]", "b", "[\n 'b', # 2\n]"),
    ] {
        let file = |list: &str| format!("{head}effects = {list} # end\n");
        let keep: Vec<String> = keep.split_whitespace().map(str::to_owned).collect();
        assert_eq!(set_list(&file(before), "a", "effects", &keep), Ok(file(after)), "{before}");
    }
    let added = format!("{head}data = [\"x\"]\n");
    assert_eq!(set_list(head, "a", "data", &list(&["x"])), Ok(added));
    assert_eq!(set_list(head, "a", "data", &[]), Ok(head.to_owned()));
    assert_eq!(set_list(head, "a", "nothing", &[]), Err(EditError::UnknownField));
    assert!(matches!(set_list(head, "a", "cwd", &[]), Err(EditError::WrongValue { .. })));
}

#[test]
fn a_list_of_inline_tables_can_be_edited() {
    let file =
        "tool = [ { id = 'a', name = 'A', family = 'mcp' }, { id = 'b', name = 'B', family = 'mcp' } ]\n";
    assert_eq!(set_field(file, "b", "name", &text("x")), Ok(file.replace("'B'", "\"x\"")));
}

#[test]
fn a_merge_adds_what_is_missing_and_reports_conflicts() {
    let tool = |id: &str, source: &str| Tool {
        source_path: Some(source.into()),
        ..Tool::new(id, Family::Skill).unwrap()
    };
    let text = add_tool("# mine\n", &tool("a", "a.md")).unwrap();

    let merged = merge(&text, &[tool("a", "a.md"), tool("b", "b.md")], OnExisting::Keep).unwrap();
    assert_eq!(
        (merged.added.len(), merged.updated.len(), merged.skipped.len(), merged.conflicts.len()),
        (1, 0, 1, 0)
    );
    assert!(merged.text.starts_with(&text));

    let merged = merge(&text, &[tool("b", "b.md"), tool("a", "other.md")], OnExisting::Keep).unwrap();
    assert_eq!((merged.added.len(), merged.conflicts.len()), (1, 1), "what would have been added is said");

    let merged = merge(&text, &[tool("a", "other.md")], OnExisting::Overwrite).unwrap();
    assert_eq!(merged.text, text.replace("a.md", "other.md"));
    assert_eq!(merged.updated.len(), 1);
}

proptest! {
    #[test]
    fn editing_an_entry_leaves_all_other_bytes(
        before in "(# [a-z]{0,4}\n|[a-z]{1,3} = 1 #x\n|\n|\r\n| \n){0,4}",
        inner in "(\n|# [a-z]{0,4}\n|domain = 'é' # x\r\n| cwd= \"\"\"\n x\"\"\"\n){0,3}",
        after in "(# [a-z]{0,4}\n|\n|\\[\\[tool\\]\\]\nid = 'z'\n|\r\n|broken = \n){0,5}",
        value in "[ -~é\n]{0,8}",
    ) {
        let head = format!("{before}[[tool]]\nid = 'a' # the id\n");
        let file = format!("{head}description = 'd'\n{inner}\n[[tool]]\nid = 'last'\n{after}");
        // The generated text may be invalid TOML; then nothing may change.
        if let Ok(edited) = set_field(&file, "a", "description", &text(&value)) {
            let tail = format!("[[tool]]\nid = 'last'\n{after}");
            prop_assert!(edited.starts_with(&before));
            prop_assert!(edited.ends_with(&tail), "{}", edited);
            let catalog = Catalog::parse("", Level::Project, edited.as_bytes());
            prop_assert_eq!(catalog.tool("a").and_then(|tool| tool.description.as_deref()), Some(value.trim()));
        }
    }

    #[test]
    fn no_text_makes_an_edit_panic(file in "(\\[\\[tool\\]\\]\n|id = 'a'\n|x|\\[|\\]|=|\"|'|\n|\r|#|é|\\\\|\u{feff}){0,30}") {
        let tool = Tool::new("a", Family::Mcp).unwrap();
        let _ = set_field(&file, "a", "projections.claude", &text("x"));
        if let Ok(added) = add_tool(&file, &tool) {
            prop_assert!(added.starts_with(&file));
            let catalog = Catalog::parse("", Level::Project, added.as_bytes());
            prop_assert!(catalog.tools().iter().any(|tool| tool.id == "a"));
        }
    }
}

#[test]
fn fields_about_the_registry_are_set_in_place() {
    let text = "[[tool]]\nid = 'a'\nname = 'A'\nfamily = 'script'\n[tool.install]\ncheck = 'which a' # how\n";
    let value = |text: &str| FieldValue::Text(text.to_owned());
    let edited = set_field(text, "a", "install.check", &value("test -x a")).unwrap();
    assert_eq!(edited, text.replace("'which a'", "\"test -x a\""));
    let edited = set_field(text, "a", "version", &value(">=1")).unwrap();
    assert_eq!(edited, text.replace("'script'\n", "'script'\nversion = \">=1\"\n"));
    let edited = set_field(text, "a", "source.kind", &value("cli")).unwrap();
    assert_eq!(edited, text.replace("'script'\n", "'script'\nsource = { kind = \"cli\" }\n"));
    assert!(set_field(text, "a", "source.kind", &value("x")).is_err());
    assert!(set_field(text, "a", "install.chek", &value("x")).is_err());
    assert!(set_field(text, "a", "version", &value("x")).is_err());
}

#[test]
fn a_file_of_a_newer_schema_is_not_changed() {
    let text = "schema = 2\n[[tool]]\nid = 'a'\nname = 'A'\nfamily = 'script'\n";
    let refused = Err(EditError::NewerSchema { line: 1, known: 1 });
    assert_eq!(set_field(text, "a", "name", &FieldValue::Text("b".to_owned())), refused);
    assert_eq!(add_tool(text, &Tool::new("b", Family::Script).unwrap()), refused);
    assert!(add_tool(&text.replace('2', "1"), &Tool::new("b", Family::Script).unwrap()).is_ok());
    for none in ["0", "-1", "'x'", "true"] {
        let refused = add_tool(&text.replace('2', none), &Tool::new("b", Family::Script).unwrap());
        assert_eq!(refused, Err(EditError::NoSchema { line: 1 }), "{none}");
    }
}

#[test]
fn a_setting_is_written_beside_everything_else() {
    let settings = |text: &str| Catalog::parse("t", Level::Project, text.as_bytes()).settings().harness_tools;
    let entry = "# mine\nschema = 1\n\n[[tool]]\nid = \"a\" # the first\nname = \"A\"\nfamily = \"script\"\n";
    for (text, expect) in [
        ("", "[registry]\nharness_tools = false\n".to_owned()),
        (entry, format!("{entry}\n[registry]\nharness_tools = false\n")),
        (
            "[registry] # where\nharnesses = [\"cursor\"]\n",
            "[registry] # where\nharnesses = [\"cursor\"]\nharness_tools = false\n".to_owned(),
        ),
    ] {
        let after = set_harness_tools(text, false).unwrap();
        assert_eq!((after.as_str(), settings(&after)), (expect.as_str(), Some(false)));
        assert_eq!(settings(&set_harness_tools(&after, true).unwrap()), Some(true));
        let more = Tool::new("b", Family::Script).unwrap();
        let more = add_tool(&after, &more).unwrap();
        assert!(Catalog::parse("t", Level::Project, more.as_bytes()).tool("b").is_some(), "{more}");
    }
    assert!(set_harness_tools("registry = 5\n", true).is_err());
}

#[test]
fn comments_above_a_field_that_goes_stay() {
    let text = "[[tool]]\nid = \"a\"\n# why off\nenabled = true # mine\n# why slow\ntimeout = 30\nname = \"A\"\nfamily = \"script\"\n# last\ncwd = \"x\"\n";
    let tool = Tool { enabled: false, ..Tool::new("a", Family::Script).unwrap() };
    let after = put_entry(text, &tool, &brigade_core::Object::new()).unwrap();
    for comment in ["# why off\nenabled = false # mine\n", "# why slow\nname = ", "# last\n"] {
        assert!(after.contains(comment), "{after}");
    }
    assert!(!after.contains("timeout") && !after.contains("cwd"), "{after}");
    assert!(Catalog::parse("t", Level::Project, after.as_bytes()).is_valid(), "{after}");
}
