use brigade_access::builtin::Guards;
use brigade_catalog::Family;

use super::*;
use crate::testing::Bench;

fn tool() -> Tool {
    Tool::new("go", Family::Script).unwrap()
}

/// Calls a function with the reader of an entry in a workspace with some files.
fn with_reader<T>(tool: &Tool, outside: &[&str], get: impl FnOnce(&ToolReader<'_>) -> T) -> T {
    let files = [
        ("docs/a.md", "text"),
        ("sub/b.md", "b"),
        (".git/config", ""),
        (".brigade/tools.toml", ""),
        (".env", ""),
    ];
    let bench = Bench::new(&files).with_variables(&[("HOME", "/memory/sub")]);
    let outside: Vec<String> = outside.iter().map(|path| (*path).to_owned()).collect();
    get(&ToolReader { host: bench.host(), tool, outside: &outside })
}

#[test]
fn a_document_is_read_inside_and_where_the_policy_allows() {
    let bytes = |text: &str| FileFact::Present(Fingerprint::of_bytes(text.as_bytes()));
    let unreadable = FileFact::Unreadable("it is not a file".to_owned());
    for (path, outside, expect) in [
        (None, &[][..], FileFact::NotNamed),
        (Some(""), &[], FileFact::NotNamed),
        (Some("docs/a.md"), &[], bytes("text")),
        (Some("./docs/../docs/a.md"), &[], bytes("text")),
        (Some("/memory/docs/a.md"), &[], bytes("text")),
        (Some("~/b.md"), &[], bytes("b")),
        (Some("docs/../../memory/docs/a.md"), &[], bytes("text")),
        (Some("/memory-other/docs/a.md"), &[], FileFact::Outside),
        (Some("docs/gone.md"), &[], FileFact::Missing),
        (Some("docs"), &[], unreadable),
        (Some("../a.md"), &[], FileFact::Outside),
        (Some("/srv/a.md"), &["/srvs"], FileFact::Outside),
        (Some("/srv/a.md"), &["/srv"], FileFact::Missing),
    ] {
        let fact = with_reader(&tool(), outside, |reader| reader.document(path).fact());
        assert_eq!(fact, expect, "{path:?}");
    }
}

#[test]
fn a_file_is_the_same_fact_for_plans_and_projections() {
    let outside = SourceFacts::Refused(PathRefusal::OutsideWorkspace);
    for (file, source, has_bytes) in [
        (EntryFile::NotNamed, SourceFacts::NotConfigured, false),
        (EntryFile::Missing, SourceFacts::Absent, false),
        (EntryFile::Unreadable("why".to_owned()), SourceFacts::Unreadable, false),
        (EntryFile::Outside, outside, false),
        (EntryFile::Bytes(vec![1]), SourceFacts::File(vec![1]), true),
    ] {
        assert_eq!(file.bytes().is_some(), has_bytes);
        assert_eq!(file.fact().fingerprint().is_some(), has_bytes);
        assert_eq!(file.into_source(), source);
    }
}

#[test]
fn a_program_starts_in_a_directory_that_exists() {
    let present = |path: &str| (PathBuf::from(path), DirectoryFact::Present);
    let none = |fact| (PathBuf::from("/memory"), fact);
    for (cwd, outside, expect) in [
        (None, &[][..], present("/memory")),
        (Some(""), &[], present("/memory")),
        (Some("."), &[], present("/memory")),
        (Some("docs"), &[], present("/memory/docs")),
        (Some("docs/../sub"), &[], present("/memory/sub")),
        (Some("~"), &[], present("/memory/sub")),
        (Some("docs/a.md"), &[], (PathBuf::from("/memory/docs/a.md"), DirectoryFact::Missing)),
        (Some("gone"), &[], none(DirectoryFact::Missing)),
        (Some("/srv"), &[], none(DirectoryFact::Outside)),
        (Some("/srv"), &["/srv"], none(DirectoryFact::Missing)),
    ] {
        let tool = Tool { cwd: cwd.map(str::to_owned), ..tool() };
        assert_eq!(with_reader(&tool, outside, |reader| reader.directory()), expect, "{cwd:?}");
    }
}

#[test]
fn only_a_directory_that_is_another_one_is_the_real_directory() {
    for (cwd, expect) in [
        (None, None),
        (Some("docs"), None),
        (Some("./docs"), None),
        (Some("docs/../sub"), Some("sub")),
        (Some("~"), Some("sub")),
        (Some("/srv"), None),
    ] {
        let tool = Tool { cwd: cwd.map(str::to_owned), ..tool() };
        let found = with_reader(&tool, &[], |reader| reader.real_directory());
        assert_eq!(found.as_deref(), expect, "{cwd:?}");
    }
}

#[test]
fn a_missing_file_outside_leads_out_too() {
    for (path, outside, expect) in [
        (None, &[][..], false),
        (Some(""), &[], false),
        (Some("gone"), &[], false),
        (Some("../x"), &[], true),
        (Some("/srv/x"), &[], true),
        (Some("/srv/x"), &["/srv"], false),
        (Some("~/x"), &[], false),
    ] {
        assert_eq!(with_reader(&tool(), outside, |reader| reader.leads_out(path)), expect, "{path:?}");
    }
}

#[test]
fn agents_read_no_source_that_is_closed_to_them() {
    let guards = Guards { protected: Vec::new(), readable: Vec::new(), agent_files: AgentFiles::Closed };
    for (path, is_shown) in [
        (None, false),
        (Some("docs/a.md"), true),
        (Some("/memory/docs/a.md"), true),
        (Some(".git/config"), false),
        (Some("docs/../.git/config"), false),
        (Some("/memory/.brigade/tools.toml"), false),
        (Some(".env"), false),
        (Some("/srv/id_rsa"), false),
    ] {
        let tool = Tool { source_path: path.map(str::to_owned), ..tool() };
        let found = with_reader(&tool, &["/srv"], |reader| reader.source_for_agents(&guards));
        assert_eq!(found.bytes().is_some(), is_shown, "{path:?}: {found:?}");
    }
}

#[test]
fn schemas_of_built_in_tools_and_of_words_are_built_in() {
    let own = brigade_access::builtin::entry("fs.read").unwrap();
    let schema =
        |tool: &Tool| with_reader(tool, &[], |reader| reader.input_schema().bytes().map(<[u8]>::to_vec));
    assert_eq!(schema(own).map(|bytes| compile_schema(&bytes).schema().is_some()), Some(true));
    assert!(with_reader(own, &[], |reader| reader.output_schema().bytes().is_some()));
    assert_eq!(schema(&tool()), None);
    let named = Tool { input_schema_path: Some("docs/a.md".to_owned()), ..tool() };
    assert_eq!(schema(&named), Some(b"text".to_vec()));
}

#[test]
fn json_may_begin_with_a_byte_order_mark() {
    assert!(parse_json(b"\xef\xbb\xbf{}").is_ok_and(|json| json == Json::object::<&str>([])));
    for bad in [&b"\xef\xbb\xbf\xef\xbb\xbf{}"[..], b"", b"{", b"{} {}"] {
        assert!(parse_json(bad).is_err(), "{bad:?}");
    }
}

#[test]
fn a_schema_is_sound_or_says_why_not() {
    let word = |bytes: &[u8]| match compile_schema(bytes) {
        SchemaFact::File(_) => "file",
        SchemaFact::NotJson(_) => "not JSON",
        SchemaFact::Unsound(problems) => {
            assert!(!problems.is_empty());
            "unsound"
        }
        SchemaFact::Sound { fingerprint, .. } => {
            assert_eq!(fingerprint, Fingerprint::of_bytes(bytes));
            "sound"
        }
    };
    assert_eq!(word(b"{\"type\": \"object\"}"), "sound");
    assert_eq!(word(b"{"), "not JSON");
    assert_eq!(word(b"{\"type\": \"string\"}"), "unsound");
    assert_eq!(word(b"{\"type\": \"object\", \"properties\": 7}"), "unsound");
}

#[test]
fn the_target_of_a_projection_is_what_is_at_its_path() {
    let bench = Bench::new(&[("a/b.md", "text")]);
    let parent = TargetFacts::Refused(PathRefusal::ParentIsFile);
    for (path, expect) in [
        ("a/b.md", TargetFacts::File(b"text".to_vec())),
        ("a/c.md", TargetFacts::Absent),
        ("x/y/z.md", TargetFacts::Absent),
        ("a", TargetFacts::Directory),
        ("a/b.md/c", parent),
        ("../x", TargetFacts::Refused(PathRefusal::OutsideWorkspace)),
    ] {
        assert_eq!(target_facts(&*bench.context.fs, path), expect, "{path}");
    }
}

#[test]
fn the_word_brigade_is_the_running_program_where_path_has_none() {
    let (named, other) = (Argv::parse("brigade mcp").unwrap(), Argv::parse("gone").unwrap());
    let found =
        |argv: &Argv| with_reader(&tool(), &[], |reader| reader.finds_program(argv, Path::new("/memory")));
    assert_eq!((found(&named), found(&other)), (true, false));
    for (path, expect) in [("/usr/bin/brigade", true), ("/usr/bin/editor", false), ("/", false)] {
        assert_eq!(is_named_brigade(Path::new(path)), expect, "{path}");
    }
}
