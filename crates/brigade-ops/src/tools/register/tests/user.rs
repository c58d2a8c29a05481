//! The level of the user, whose files are outside of the workspace, and on the disk.

use super::*;
use crate::RUNTIMES as OF_PROJECT;
use crate::discovery::sync;

const FOLDER: &str = "home/.config/brigade";
const CURSOR: &str = "home/.cursor/mcp.json";

fn site() -> Bench {
    Bench::on_disk(&[
        (CATALOG, ""),
        (
            CURSOR,
            &format!(
                r#"{{"mcpServers": {{"files": {{"command": "npx"}}, "leak": {{"command": "x", "args": ["--token", "{SECRET}"]}}}}}}"#
            ),
        ),
        (".claude/skills/notes/SKILL.md", "---\nname: notes\ndescription: Notes\n---\n"),
    ]).with_user()
}

fn of_user(sources: Vec<RegisterSource>) -> RegisterRequest {
    RegisterRequest { level: Level::User, ..request(sources) }
}

fn jq() -> RegisterRequest {
    of_user(vec![text("jq.yaml", "id: jq\nsource: {type: cli, command: jq}\n")])
}

fn set_mode(bench: &Bench, path: &str, mode: u32) {
    bench.context.fs.set_mode(&path.parse().unwrap(), mode).unwrap();
}

#[test]
fn the_directory_of_the_user_is_made_only_for_something_to_write() {
    let bench = site();
    let is_there = || bench.context.fs.exists(&FOLDER.parse().unwrap()).unwrap();
    let dry = RegisterRequest { dry_run: true, ..of_user(refs(&["mcp:files", "skill:notes"])) };
    assert_eq!((done(&bench, &dry).registered_count, is_there()), (2, false));
    refused(&bench, &of_user(refs(&["mcp:leak"])));
    assert!(!is_there());
    done(&bench, &of_user(refs(&["mcp:files", "skill:notes"])));
    assert!(bench.read(&format!("{FOLDER}/tools/runtimes.toml")).unwrap().contains("id = \"files\""));
    assert_eq!((bench.read(CATALOG).as_deref(), bench.read(OF_PROJECT)), (Some(""), None));
    assert_eq!(tool(&bench, "files").origin.level, Level::User);
    // Paths in the user's documents are relative to that directory, so the skill of this workspace has an absolute one.
    let source = tool(&bench, "notes").source.unwrap();
    assert!(Path::new(source.path.as_deref().unwrap()).is_absolute(), "{source:?}");
}

#[test]
fn the_next_step_names_the_file_of_the_user() {
    let bench = site();
    let report = done(&bench, &of_user(refs(&["mcp:files"])));
    let file = format!("{}/{FOLDER}/tools/runtimes.toml:4", bench.context.target());
    let next = report.registered[0].next_command.as_ref().unwrap().to_string();
    assert!(next.contains(&file), "{next}");
    assert_eq!(report.config_path, format!("{}/{FOLDER}/tools.toml", bench.context.target()));
}

#[test]
fn a_file_that_others_can_write_is_not_extended() {
    for name in ["tools.toml", "tools/runtimes.toml", "tools/registered.json"] {
        let bench = site();
        let file = format!("{FOLDER}/{name}");
        bench.write(&file, "# of a stranger\n");
        set_mode(&bench, &file, 0o666);
        for dry_run in [false, true] {
            let report = refused(&bench, &RegisterRequest { dry_run, ..jq() });
            let shown = format!("{}/{file}", bench.context.target());
            assert_eq!(
                (errors(&report)[0].0, report.errors[0].file.as_deref()),
                ("user_catalog_unsafe", Some(shown.as_str()))
            );
        }
        assert_eq!(bench.read(&file).as_deref(), Some("# of a stranger\n"));
        bench.write(&file, "");
        set_mode(&bench, &file, 0o600);
        done(&bench, &jq());
    }
}

#[test]
fn errors_of_the_disk_name_files_of_the_user_absolutely() {
    for name in ["tools.toml", "tools/runtimes.toml"] {
        let bench = site();
        bench.write(&format!("{FOLDER}/{name}/x"), "a directory in the way");
        let failure = register(&bench.context, &jq()).unwrap_err().failure;
        let shown = format!("`{}/{FOLDER}/{name}`", bench.context.target());
        assert_eq!(failure.kind(), ErrorKind::Environment);
        assert!(failure.to_string().contains(&shown), "{failure}");
    }
}

#[test]
fn without_a_home_there_is_no_level_of_the_user() {
    let bench = Bench::new(&[]);
    assert_eq!(register(&bench.context, &jq()).unwrap_err().failure.kind(), ErrorKind::Environment);
}

#[test]
fn definitions_that_others_can_write_are_not_compared_with() {
    let bench = site();
    done(&bench, &of_user(refs(&["mcp:files"])));
    let kept = format!("{FOLDER}/tools/registered.json");
    set_mode(&bench, &kept, 0o666);
    bench.replace(CURSOR, "\"npx\"", "\"uvx\"");
    let issues = sync(&bench.context, false).unwrap().issues;
    let path = format!("{}/{kept}", bench.context.target());
    let reported = issues.iter().find(|issue| issue.path.as_deref() == Some(&path)).expect("an issue");
    assert_eq!(reported.code, IssueType::ClientFileUnreadable);
    assert!(issues.iter().any(|issue| issue.code == IssueType::RegisteredSourceChanged), "{issues:?}");
}
