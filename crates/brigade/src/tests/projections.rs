#![allow(clippy::disallowed_methods, reason = "tests set up files themselves")]

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use brigade_core::Exit;
use brigade_ops::ErrorKind;
use brigade_testkit::TickingClock;
use tempfile::TempDir;

use crate::Refusal;
use crate::env::Env;
use crate::report::{ApplyReport, ProjectionAction, ProjectionReason, ProjectionStatus, Report as _};
use crate::tools::{ApplyRequest, Selection, SyncRequest};
use crate::workspace::Workspace;

/// A tool: id, family, and the path for each harness.
type Entry<'e> = (&'e str, &'e str, &'e [(&'e str, &'e str)]);

/// A temporary workspace with a catalog.
struct Sample {
    folder: TempDir,
}

impl Sample {
    /// Creates a workspace with these tools, each with a source `tools/<id>.md`.
    fn new(tools: &[Entry<'_>]) -> Sample {
        let sample = Sample { folder: tempfile::tempdir().unwrap() };
        sample.catalog(tools);
        for (id, _, _) in tools {
            sample.write(&format!("tools/{id}.md"), &format!("About {id}.\n"));
        }
        sample
    }

    fn one(path: &str) -> Sample {
        Sample::new(&[("greet", "slash-command", &[("claude", path)])])
    }

    fn catalog(&self, tools: &[Entry<'_>]) {
        let mut text = String::new();
        for (id, family, projections) in tools {
            let harnesses: Vec<String> = projections.iter().map(|(name, _)| format!("{name:?}")).collect();
            let paths: Vec<String> =
                projections.iter().map(|(name, path)| format!("{name} = {path:?}")).collect();
            text += &format!(
                "[[tool]]\nid = {id:?}\nname = {id:?}\nfamily = {family:?}\nsource_path = \"tools/{id}.md\"\n\
                 supported_harnesses = [{}]\nprojections = {{ {} }}\n\n",
                harnesses.join(", "),
                paths.join(", ")
            );
        }
        self.write(".brigade/tools.toml", &text);
    }

    fn at(&self, path: &str) -> PathBuf {
        self.folder.path().join(path)
    }

    fn write(&self, path: &str, text: &str) {
        fs::create_dir_all(self.at(path).parent().unwrap()).unwrap();
        fs::write(self.at(path), text).unwrap();
    }

    fn read(&self, path: &str) -> String {
        fs::read_to_string(self.at(path)).unwrap()
    }

    fn open(&self) -> Workspace {
        let context = Env::of_process().clock(Arc::new(TickingClock::new()));
        Workspace::open(self.folder.path(), context).unwrap()
    }

    fn apply(&self) -> ApplyReport {
        self.open().projections().apply(&ALL).unwrap()
    }

    fn apply_with(&self, change: impl Fn(&mut ApplyRequest)) -> ApplyReport {
        let mut request = ALL;
        change(&mut request);
        self.open().projections().apply(&request).unwrap()
    }

    /// Returns the status and reason of every projection.
    #[track_caller]
    fn check_plan(&self, expect: &[(&str, Option<&str>)]) {
        let plan = self.open().projections().plan(None).unwrap();
        let found: Vec<_> = plan
            .projections
            .iter()
            .map(|item| (item.status.as_str(), item.reason.map(ProjectionReason::as_str)))
            .collect();
        assert_eq!(found, expect);
    }

    /// Lists every file in the workspace with inode and time, without the state of Brigade.
    fn files(&self) -> Vec<(PathBuf, u64, i64)> {
        let mut found = Vec::new();
        let mut ahead = vec![self.folder.path().to_owned()];
        while let Some(folder) = ahead.pop() {
            for entry in fs::read_dir(folder).unwrap() {
                let path = entry.unwrap().path();
                let metadata = fs::symlink_metadata(&path).unwrap();
                if metadata.is_dir() && path.file_name().unwrap() != ".brigade" {
                    ahead.push(path.clone());
                }
                found.push((path, metadata.ino(), metadata.mtime_nsec()));
            }
        }
        found.retain(|(path, _, _)| path.file_name().unwrap() != ".brigade");
        found.sort();
        found
    }
}

const ALL: ApplyRequest = ApplyRequest { which: Selection::All, dry_run: false, force: false, prune: false };

fn mode(path: &Path) -> u32 {
    fs::metadata(path).unwrap().permissions().mode() & 0o7777
}

#[test]
fn a_projection_is_missing_then_current_then_stale() {
    let sample = Sample::one(".claude/commands/greet.md");
    sample.check_plan(&[("missing", None)]);
    let report = sample.apply();
    assert_eq!((report.applied_count, report.exit()), (1, Exit::Done));
    assert_eq!(report.applied[0].action, ProjectionAction::Create);
    let text = sample.read(".claude/commands/greet.md");
    assert!(text.starts_with("---\n# brigade-tool-projection: {"), "{text}");
    assert!(text.ends_with("\n---\nAbout greet.\n"), "{text}");
    sample.check_plan(&[("current", None)]);
    sample.write("tools/greet.md", "Another text.\n");
    sample.check_plan(&[("stale", None)]);
    assert_eq!(sample.apply().applied[0].action, ProjectionAction::Update);
    sample.check_plan(&[("current", None)]);
    fs::remove_file(sample.at("tools/greet.md")).unwrap();
    sample.check_plan(&[("missing_source", Some("source-absent"))]);
}

#[test]
fn headers_stand_where_the_readers_of_files_allow_it() {
    let sample = Sample::new(&[
        ("a", "skill", &[("codex", ".codex/skills/a/SKILL.md"), ("gemini", ".gemini/commands/a.toml")]),
        ("b", "script", &[("scripts", "scripts/b.sh")]),
    ]);
    sample.write("tools/b.md", "#!/bin/sh\necho b\n");
    assert_eq!(sample.apply().applied_count, 3);
    let skill = sample.read(".codex/skills/a/SKILL.md");
    assert!(skill.starts_with("---\n# brigade-tool-projection: {"), "{skill}");
    let command = sample.read(".gemini/commands/a.toml");
    assert!(command.starts_with("# brigade-tool-projection: {"), "{command}");
    let script = sample.read("scripts/b.sh");
    assert!(script.contains("# brigade-tool-projection: {") && !script.contains("<!--"), "{script}");
    sample.check_plan(&[("current", None), ("current", None), ("current", None)]);
}

#[test]
fn a_second_run_writes_nothing() {
    let sample = Sample::new(&[
        ("a", "skill", &[("codex", ".codex/skills/a/SKILL.md"), ("claude", ".claude/skills/a/SKILL.md")]),
        ("b", "mcp", &[("mcp", ".mcp/b.md")]),
    ]);
    assert_eq!(sample.apply().applied_count, 3);
    let before = sample.files();
    let report = sample.apply();
    assert_eq!((report.applied_count, report.skipped_count, report.exit()), (0, 3, Exit::Done));
    assert_eq!(sample.files(), before);
}

#[test]
fn many_files_are_written_as_one_batch() {
    let ids: Vec<String> = (0..200).map(|number| format!("tool-{number}")).collect();
    let paths: Vec<[(&str, String); 2]> = ids
        .iter()
        .map(|id| {
            [
                ("claude", format!(".claude/commands/{id}.md")),
                ("codex", format!(".codex/skills/{id}/SKILL.md")),
            ]
        })
        .collect();
    let borrowed: Vec<Vec<(&str, &str)>> =
        paths.iter().map(|pair| pair.iter().map(|(name, path)| (*name, path.as_str())).collect()).collect();
    let tools: Vec<_> =
        ids.iter().zip(&borrowed).map(|(id, paths)| (id.as_str(), "skill", paths.as_slice())).collect();
    let sample = Sample::new(&tools);
    let report = sample.apply();
    assert_eq!((report.applied_count, report.failed_count), (400, 0));
    assert!(
        sample
            .open()
            .projections()
            .plan(None)
            .unwrap()
            .projections
            .iter()
            .all(|item| item.status == ProjectionStatus::Current)
    );
    assert_eq!(fs::read_dir(sample.at(".brigade/tools/staging")).unwrap().count(), 0);
}

#[test]
fn local_edits_are_kept_until_forced() {
    let sample = Sample::one(".claude/commands/greet.md");
    sample.apply();
    let edited = sample.read(".claude/commands/greet.md") + "mine\n";
    sample.write(".claude/commands/greet.md", &edited);
    sample.check_plan(&[("conflicted", None)]);
    let report = sample.apply();
    assert_eq!((report.conflict_count, report.exit()), (1, Exit::Refused));
    assert_eq!(sample.read(".claude/commands/greet.md"), edited);
    let report = sample.apply_with(|request| request.force = true);
    assert_eq!((report.applied_count, report.exit()), (1, Exit::Done));
    assert!(!sample.read(".claude/commands/greet.md").contains("mine"));
}

#[test]
fn a_file_of_somebody_else_is_kept_until_forced() {
    let sample = Sample::one(".claude/commands/greet.md");
    sample.write(".claude/commands/greet.md", "mine\n");
    sample.check_plan(&[("unmanaged", None)]);
    assert_eq!(sample.apply().conflict_count, 1);
    assert_eq!(sample.read(".claude/commands/greet.md"), "mine\n");
    assert_eq!(sample.apply_with(|request| request.force = true).applied_count, 1);
}

#[test]
fn a_dry_run_shows_the_change_and_does_nothing() {
    let sample = Sample::one(".claude/commands/greet.md");
    sample.apply();
    sample.write("tools/greet.md", "Another text.\n");
    let before = sample.files();
    let report = sample.apply_with(|request| request.dry_run = true);
    let item = &report.applied[0];
    assert_eq!(item.dry_run, Some(true));
    let diff = item.diff.as_deref().unwrap();
    assert!(diff.contains("--- a/.claude/commands/greet.md\n"), "{diff}");
    assert!(diff.contains("\n-About greet.\n") && diff.contains("\n+Another text.\n"), "{diff}");
    assert_eq!(sample.files(), before);
    let fresh = Sample::one("x/greet.md");
    fresh.apply_with(|request| request.dry_run = true);
    assert!(!fresh.at(".brigade/tools").exists());
}

#[test]
fn modes_are_kept_and_new_ones_are_those_of_a_repository() {
    let sample = Sample::one("a/b/greet.md");
    sample.apply();
    assert_eq!(mode(&sample.at("a/b/greet.md")), 0o644);
    assert_eq!((mode(&sample.at("a")), mode(&sample.at("a/b"))), (0o755, 0o755));
    fs::set_permissions(sample.at("a/b/greet.md"), fs::Permissions::from_mode(0o640)).unwrap();
    sample.write("tools/greet.md", "Another text.\n");
    assert_eq!(sample.apply().applied_count, 1);
    assert_eq!(mode(&sample.at("a/b/greet.md")), 0o640);
    assert_eq!(mode(&sample.at(".brigade/tools")), 0o700);
}

#[test]
fn targets_in_git_brigade_and_outside_are_refused() {
    let sample = Sample::new(&[(
        "greet",
        "slash-command",
        &[
            ("a", ".git/hooks/post-commit"),
            ("b", ".brigade/tools/policy.md"),
            ("c", "../greet.md"),
            ("d", "x/../.git/config"),
            ("e", "/etc/greet.md"),
            ("f", "sub/.GIT/greet.md"),
        ],
    )]);
    let reasons = ["in-git", "in-brigade", "outside-workspace", "in-git", "outside-workspace", "in-git"];
    sample.check_plan(&reasons.map(|reason| ("invalid", Some(reason))));
    let report = sample.apply_with(|request| request.force = true);
    assert_eq!((report.applied_count, report.refused_count, report.exit()), (0, 6, Exit::Refused));
    assert!(!sample.at(".git").exists() && !sample.at("sub").exists());
}

#[test]
fn links_that_lead_out_or_into_state_are_refused() {
    let outside = tempfile::tempdir().unwrap();
    let sample = Sample::new(&[(
        "greet",
        "slash-command",
        &[
            ("a", "out/greet.md"),
            ("b", "git/greet.md"),
            ("c", "top/.brigade/tools/greet.md"),
            ("d", "file-out.md"),
            ("e", "state.md"),
            ("f", "loop/greet.md"),
        ],
    )]);
    fs::create_dir_all(sample.at(".git/hooks")).unwrap();
    fs::create_dir_all(sample.at("deep")).unwrap();
    fs::write(outside.path().join("secret"), "secret").unwrap();
    symlink(outside.path(), sample.at("out")).unwrap();
    symlink(".git/hooks", sample.at("git")).unwrap();
    symlink("deep/..", sample.at("top")).unwrap();
    symlink(outside.path().join("secret"), sample.at("file-out.md")).unwrap();
    symlink(".brigade/tools.toml", sample.at("state.md")).unwrap();
    symlink("loop", sample.at("loop")).unwrap();
    sample.check_plan(&[
        ("invalid", Some("symlink-out")),
        ("invalid", Some("in-git")),
        ("invalid", Some("in-brigade")),
        ("invalid", Some("symlink-out")),
        ("invalid", Some("in-brigade")),
        ("invalid", Some("unreadable")),
    ]);
    let catalog = sample.read(".brigade/tools.toml");
    let report = sample.apply_with(|request| request.force = true);
    assert_eq!((report.applied_count, report.exit()), (0, Exit::Refused));
    assert_eq!(fs::read_dir(outside.path()).unwrap().count(), 1);
    assert_eq!(fs::read_to_string(outside.path().join("secret")).unwrap(), "secret");
    assert_eq!(fs::read_dir(sample.at(".git/hooks")).unwrap().count(), 0);
    assert_eq!(sample.read(".brigade/tools.toml"), catalog);
}

#[test]
fn links_within_the_workspace_are_followed_and_stay() {
    let sample = Sample::new(&[(
        "greet",
        "skill",
        &[("codex", ".agents/skills/greet/SKILL.md"), ("claude", ".claude/skills/greet/SKILL.md")],
    )]);
    fs::create_dir_all(sample.at(".agents/skills")).unwrap();
    fs::create_dir_all(sample.at(".claude")).unwrap();
    symlink("../.agents/skills", sample.at(".claude/skills")).unwrap();
    let report = sample.apply();
    assert_eq!((report.applied_count, report.exit()), (1, Exit::Done));
    assert_eq!(report.skipped[0].reason.map(ProjectionReason::as_str), Some("same-file"));
    assert!(fs::symlink_metadata(sample.at(".claude/skills")).unwrap().is_symlink());
    sample.check_plan(&[("current", None), ("current", None)]);
    let plan = sample.open().projections().plan(None).unwrap();
    assert_eq!(plan.orphan_count, 0);
    // Only the link makes the file wanted.
    sample.catalog(&[("greet", "skill", &[("claude", ".claude/skills/greet/SKILL.md")])]);
    assert_eq!(sample.apply_with(|request| request.prune = true).pruned_count, 0);
    sample.check_plan(&[("current", None)]);
}

#[test]
fn a_link_to_the_file_of_another_tool_is_refused() {
    let sample = Sample::new(&[
        ("a", "slash-command", &[("claude", "shared.md")]),
        ("b", "slash-command", &[("claude", "link.md")]),
    ]);
    symlink("shared.md", sample.at("link.md")).unwrap();
    for _ in 0..2 {
        sample.apply_with(|request| request.force = true);
        sample.check_plan(&[("current", None), ("invalid", Some("path-taken"))]);
    }
}

#[test]
fn what_cannot_be_a_file_is_refused() {
    let sample = Sample::new(&[(
        "greet",
        "slash-command",
        &[("a", "folder"), ("b", "file/greet.md"), ("c", "greet.json")],
    )]);
    fs::create_dir(sample.at("folder")).unwrap();
    sample.write("file", "a file");
    sample.check_plan(&[
        ("invalid", Some("is-directory")),
        ("invalid", Some("parent-is-file")),
        ("invalid", Some("no-comment")),
    ]);
    let report = sample.apply_with(|request| request.force = true);
    assert_eq!((report.applied_count, report.failed_count, report.exit()), (0, 0, Exit::Refused));
    assert_eq!(sample.read("file"), "a file");
}

#[test]
fn a_broken_entry_takes_no_other_down() {
    let sample = Sample::one(".claude/commands/greet.md");
    let broken = "[[tool]]\nid = \"bad\"\nname = \"Bad\"\nfamily = \"nonsense\"\n\
                  supported_harnesses = [\"claude\"]\nprojections = { claude = \"x/bad.md\" }\n";
    let catalog = sample.read(".brigade/tools.toml") + broken;
    sample.write(".brigade/tools.toml", &catalog);
    let report = sample.apply();
    assert_eq!((report.applied_count, report.valid, report.exit()), (1, false, Exit::Refused));
    assert!(!report.errors.is_empty());
    assert_eq!(report.skipped[0].reason.map(ProjectionReason::as_str), Some("broken-entry"));
    assert!(!sample.at("x").exists());
}

#[test]
fn an_unknown_tool_is_said_to_be_unknown() {
    let sample = Sample::one(".claude/commands/greet.md");
    let workspace = sample.open();
    let error = workspace.projections().plan(Some("gret")).unwrap_err();
    let Some(Refusal::ProjectionPlan(plan)) = error.refusal() else { panic!("{error:?}") };
    assert_eq!((plan.valid, error.exit(), plan.tools.len()), (false, Exit::Refused, 0));
    assert!(
        plan.errors[0].as_str().contains("no tool has the id `gret`")
            && plan.errors[0].as_str().contains("greet")
    );
    let request = ApplyRequest { which: Selection::One("gret".to_owned()), ..ALL };
    let error = workspace.projections().apply(&request).unwrap_err();
    assert!(matches!(error.refusal(), Some(Refusal::Apply(report)) if !report.valid), "{error:?}");
    assert_eq!((error.kind(), error.exit()), (ErrorKind::NotFound, Exit::Refused));
    let request = ApplyRequest { which: Selection::One("greet".to_owned()), ..ALL };
    let report = workspace.projections().apply(&request).unwrap();
    assert_eq!((report.applied_count, report.all, report.exit()), (1, false, Exit::Done));
}

#[test]
fn without_a_catalog_nothing_is_made() {
    let folder = tempfile::tempdir().unwrap();
    let workspace = Workspace::open(folder.path(), Env::of_process()).unwrap();
    let error = workspace.projections().plan(None).unwrap_err();
    let Some(Refusal::ProjectionPlan(plan)) = error.refusal() else { panic!("{error:?}") };
    assert_eq!((error.kind(), error.exit(), plan.errors.len()), (ErrorKind::InvalidConfig, Exit::Refused, 1));
    let error = workspace.projections().apply(&ALL).unwrap_err();
    let Some(Refusal::Apply(report)) = error.refusal() else { panic!("{error:?}") };
    assert_eq!((error.exit(), report.exit(), report.errors.len()), (Exit::Refused, Exit::Refused, 1));
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
}

#[test]
fn orphans_are_listed_and_pruned_unless_edited() {
    let gone: &[(&str, &str)] =
        &[("codex", ".codex/skills/gone/SKILL.md"), ("claude", ".claude/commands/gone.md")];
    let sample = Sample::new(&[
        ("greet", "slash-command", &[("claude", ".claude/commands/greet.md")]),
        ("gone", "skill", gone),
    ]);
    sample.write(".claude/commands/own.md", "mine\n");
    sample.apply();
    sample.catalog(&[("greet", "slash-command", &[("claude", ".claude/commands/sub/greet.md")])]);
    let edited = sample.read(".claude/commands/gone.md") + "mine\n";
    sample.write(".claude/commands/gone.md", &edited);

    let plan = sample.open().projections().plan(None).unwrap();
    let found: Vec<_> = plan
        .orphans
        .iter()
        .map(|orphan| (&*orphan.tool_id, orphan.reason.as_str(), orphan.prunable.as_str()))
        .collect();
    assert_eq!(
        found,
        [("gone", "tool-gone", "edited"), ("greet", "moved", "yes"), ("gone", "tool-gone", "yes")]
    );
    assert_eq!((plan.exit(), plan.orphans_complete), (Exit::Done, true));
    let of_gone = sample.open().projections().plan(Some("gone")).unwrap();
    assert_eq!((of_gone.orphan_count, of_gone.exit()), (2, Exit::Done));

    let dry = sample.apply_with(|request| (request.dry_run, request.prune) = (true, true));
    assert_eq!((dry.pruned_count, dry.orphan_count), (2, 1));
    assert!(sample.at(".claude/commands/greet.md").exists());

    let report = sample.apply_with(|request| request.prune = true);
    assert_eq!((report.applied_count, report.pruned_count, report.orphan_count), (1, 2, 1));
    assert_eq!(report.exit(), Exit::Refused);
    assert!(!sample.at(".claude/commands/greet.md").exists());
    assert!(sample.at(".claude/commands/sub/greet.md").exists());
    assert!(!sample.at(".codex/skills/gone").exists() && sample.at(".codex/skills").exists());
    assert_eq!(sample.read(".claude/commands/gone.md"), edited);
    assert_eq!(sample.read(".claude/commands/own.md"), "mine\n");
}

#[test]
fn nothing_is_pruned_while_the_catalog_is_broken() {
    let sample = Sample::one(".claude/commands/greet.md");
    sample.apply();
    sample.write(".brigade/tools.toml", "[[tool]]\nid = \"x\"\nname = \n");
    let report = sample.apply_with(|request| request.prune = true);
    assert_eq!(report.pruned_count, 0);
    assert!(sample.at(".claude/commands/greet.md").exists());
}

#[test]
fn orphans_behind_links_are_not_looked_for() {
    let sample = Sample::one(".claude/commands/greet.md");
    sample.apply();
    fs::rename(sample.at(".claude"), sample.at("kept")).unwrap();
    symlink("kept", sample.at(".claude")).unwrap();
    sample.catalog(&[]);
    assert_eq!(sample.open().projections().plan(None).unwrap().orphan_count, 0);
}

#[test]
fn what_a_crash_left_in_the_staging_folder_is_no_hindrance() {
    let sample = Sample::one("x/greet.md");
    sample.write(".brigade/tools/staging/0", "half");
    assert_eq!(sample.apply().applied_count, 1);
    assert_eq!(fs::read_dir(sample.at(".brigade/tools/staging")).unwrap().count(), 0);
    assert!(!sample.read("x/greet.md").contains("half"));
}

#[test]
fn several_applies_at_once_write_each_file_once() {
    let tools: Vec<String> = (0..30).map(|number| format!("t{number}")).collect();
    let paths: Vec<String> = tools.iter().map(|id| format!(".claude/commands/{id}.md")).collect();
    let pairs: Vec<[(&str, &str); 1]> = paths.iter().map(|path| [("claude", path.as_str())]).collect();
    let entries: Vec<_> =
        tools.iter().zip(&pairs).map(|(id, pair)| (id.as_str(), "slash-command", &pair[..])).collect();
    let sample = Sample::new(&entries);
    let reports: Vec<ApplyReport> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..4).map(|_| scope.spawn(|| sample.apply())).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    assert_eq!(reports.iter().map(|report| report.applied_count).sum::<usize>(), 30);
    assert!(reports.iter().all(|report| report.exit() == Exit::Done && report.conflict_count == 0));
}

#[test]
fn one_who_waits_too_long_is_told_who_is_at_it() {
    let sample = Sample::one("x/greet.md");
    let workspace = sample.open();
    let fs = brigade_fs::DiskFs::open(sample.folder.path()).unwrap();
    fs::create_dir_all(sample.at(".brigade/tools")).unwrap();
    let lock = brigade_fs::RelPath::from_static(".brigade/tools/apply.lock");
    let held = brigade_fs::Fs::lock(&fs, &lock, "the other one", Duration::ZERO).unwrap();
    let context = Env::of_process().lock_timeout(Duration::ZERO);
    let other = Workspace::open(sample.folder.path(), context).unwrap();
    let error = other.projections().apply(&ALL).unwrap_err();
    assert_eq!(error.exit(), Exit::Environment);
    assert!(error.to_string().contains("the other one"), "{error}");
    drop(held);
    assert_eq!(workspace.projections().apply(&ALL).unwrap().applied_count, 1);
}

#[test]
fn sync_writes_only_when_told_twice() {
    let sample = Sample::one("x/greet.md");
    let workspace = sample.open();
    let plan = workspace.projections().sync_plan(None).unwrap();
    let json = serde_json::to_value(&plan).unwrap();
    assert_eq!(json["schema"], "brigade.sync-plan.v1");
    assert_eq!((json["mode"].as_str(), json["add_only"].as_bool()), (Some("sync-plan"), Some(true)));
    let request = SyncRequest { which: None, dry_run: false, write: true, force: false };
    assert!(workspace.projections().sync_apply(&request).unwrap().dry_run);
    let request = SyncRequest { force: true, ..request };
    assert_eq!(workspace.projections().sync_apply(&request).unwrap_err().kind(), ErrorKind::Usage);
    let request = SyncRequest { which: Some(Selection::All), ..request };
    assert!(
        workspace
            .projections()
            .sync_apply(&SyncRequest { dry_run: true, ..request.clone() })
            .unwrap()
            .dry_run
    );
    assert!(!sample.at("x").exists());
    assert_eq!(workspace.projections().sync_apply(&request).unwrap().applied_count, 1);
    assert!(sample.at("x/greet.md").exists());
}

#[test]
fn harnesses_are_listed_with_the_tools_that_support_them() {
    let sample =
        Sample::new(&[("greet", "slash-command", &[("claude", "x/greet.md"), ("nobody", "y/greet.md")])]);
    let workspace = sample.open();
    let list = workspace.projections().harnesses().unwrap();
    let line = |name: &str| list.harnesses.iter().find(|line| line.name == name).unwrap();
    assert_eq!((line("claude").tool_count, line("claude").known), (1, true));
    assert_eq!((line("nobody").tool_count, line("nobody").known), (1, false));
    assert!(line("claude").folders.iter().any(|folder| folder == ".claude/commands"));
    let shown = workspace.projections().harness("claude").unwrap();
    assert_eq!(shown.tools[0].projection_path.as_deref(), Some("x/greet.md"));
    assert!(shown.places.iter().any(|place| place.path == ".claude/commands/{id}.md"));
    let error = workspace.projections().harness("claud").unwrap_err();
    assert_eq!((error.kind(), error.hints().len()), (ErrorKind::NotFound, 1));
}
