#![allow(
    clippy::unwrap_used,
    clippy::disallowed_methods,
    reason = "tests may panic, and set up repositories and programs on the disk"
)]

mod clones;
mod hostile;
mod lanes;
mod refresh;

use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use brigade_access::{CallLimits, RuleLimits};
use brigade_core::{ErrorCode, Json, Place};
use brigade_exec::HostEnvironment;
use brigade_fs::DiskFs;
use brigade_policy::{GitCredential, GitLogin};
use brigade_testkit::TempWorkspace;

use crate::context::{Context, Failure, Output};
use crate::references::{ArgumentReferences, argument_references, reference};
use crate::stored::testing::{Bench, StillClock, text};

/// The arguments of a call for the repository of the workspace.
const HERE: &str = r#"{"binding_id": "workspace"}"#;

/// A workspace that is a repository, pushed to a repository `origin.git` next to it.
struct GitBench {
    workspace: TempWorkspace,
    bench: Bench,
    environment: HostEnvironment,
    urls: Vec<String>,
    credentials: Vec<GitCredential>,
    limits: CallLimits,
}

impl GitBench {
    fn new() -> GitBench {
        let git = GitBench::without_repository();
        let workspace = &git.workspace;
        workspace.write(".gitignore", ".brigade/\n");
        workspace.write("a.txt", "one\n");
        workspace.git_init();
        let origin = git.origin();
        workspace.git(["init", "--quiet", "--bare", "--initial-branch=main", &origin]);
        workspace.git(["remote", "add", "origin", &origin]);
        workspace.git(["push", "--quiet", "--set-upstream", "origin", "main"]);
        git
    }

    fn without_repository() -> GitBench {
        let workspace = TempWorkspace::empty();
        let path = std::env::var_os("PATH").unwrap();
        let variables = [("PATH".into(), path), ("HOME".into(), workspace.home().into())];
        let bench = Bench { fs: DiskFs::open(workspace.path()).unwrap(), ..Bench::new() };
        let mut git = GitBench {
            workspace,
            bench,
            environment: HostEnvironment::new(variables),
            urls: Vec::new(),
            credentials: Vec::new(),
            limits: CallLimits::default(),
        };
        git.urls.push(git.origin());
        git
    }

    /// Returns a path next to the workspace.
    fn beside(&self, name: &str) -> PathBuf {
        self.workspace.home().parent().unwrap().join(name)
    }

    fn origin(&self) -> String {
        self.beside("origin.git").display().to_string()
    }

    fn with<T>(&self, act: impl FnOnce(&mut Context<'_>) -> T) -> T {
        let Bench { fs, redactor, stores, session, .. } = &self.bench;
        act(&mut Context {
            session: Some(session),
            environment: Some(&self.environment),
            git_urls: self.urls.clone(),
            git_credentials: self.credentials.clone(),
            limits: Some(self.limits.clone()),
            ..Context::new(fs, "agent:ada", &StillClock, redactor, stores)
        })
    }

    fn call(&self, tool: &str, args: &str) -> Result<Output, Failure> {
        let args = Json::parse(args).unwrap();
        let row = brigade_access::builtin::definition(tool).unwrap();
        self.with(|context| crate::run::run(row, &args, context))
    }

    #[track_caller]
    fn done(&self, tool: &str, args: &str) -> Json {
        self.call(tool, args).unwrap_or_else(|failure| panic!("{tool} {args}: {failure:?}")).structured
    }

    #[track_caller]
    fn fails(&self, tool: &str, args: &str, code: ErrorCode) -> Failure {
        let failure = self.call(tool, args).expect_err(tool);
        assert_eq!(failure.code, code, "{tool} {args}: {failure:?}");
        failure
    }

    /// Returns what an approval of a call would bind.
    fn references(&self, tool: &str, args: &str) -> ArgumentReferences {
        let found = reference(tool).expect("the arguments refer to something");
        self.with(|context| argument_references(found, tool, &Json::parse(args).unwrap(), context))
    }

    fn head(&self) -> String {
        self.workspace.git(["rev-parse", "HEAD"]).trim().to_owned()
    }

    fn status(&self) -> String {
        self.workspace.git(["status", "--porcelain"])
    }
}

fn commit(paths: &[&str]) -> String {
    let paths = if paths.is_empty() { String::new() } else { format!(r#", "paths": {paths:?}"#) };
    format!(r#"{{"binding_id": "workspace", "message": "Change"{paths}}}"#)
}

fn executable(path: &Path, script: &str) {
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, script).unwrap();
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755)).unwrap();
}

#[test]
fn commits_take_no_closed_place() {
    let git = GitBench::new();
    git.workspace.git(["config", "core.hooksPath", "checks"]);
    for path in [".vscode/tasks.json", "deep/.mcp.json", "checks/pre-commit"] {
        git.workspace.write(path, "x\n");
        git.fails("git.commit", &commit(&[]), ErrorCode::ProtectedPath);
        git.fails("git.commit", &commit(&[path]), ErrorCode::ProtectedPath);
        git.workspace.remove(path);
    }
    git.workspace.write(".env", "KEY=canary-4711\n");
    git.fails("git.commit", &commit(&[".env"]), ErrorCode::ProtectedPath);
    git.fails("git.commit", &commit(&["../x"]), ErrorCode::PathOutside);
    git.workspace.git(["add", "--force", ".env"]);
    let staged =
        git.call("git.diff", r#"{"binding_id": "workspace", "staged": true}"#).unwrap().text.unwrap();
    assert!(!staged.contains("canary-4711") && staged.contains("protected"), "{staged}");
}

#[test]
fn commits_take_no_secret() {
    let git = GitBench::new();
    git.workspace.write("token.txt", "one\nkey = AKIAIOSFODNN7EXAMPLE\n");
    let refused = git.fails("git.commit", &commit(&[]), ErrorCode::SecretInCommit);
    assert!(refused.message.contains("`token.txt` line 2"), "{refused:?}");
    git.workspace.remove("token.txt");
    git.workspace.write("AKIAIOSFODNN7EXAMPLE.txt", "");
    git.fails("git.commit", &commit(&[]), ErrorCode::SecretInCommit);
    git.workspace.remove("AKIAIOSFODNN7EXAMPLE.txt");
    git.workspace.write("token.txt", "this.token = reply.accessToken\n");
    git.done("git.commit", &commit(&[]));
    assert_eq!(git.status(), "");
}

#[test]
fn files_with_a_user_filter_are_not_committed_raw() {
    let git = GitBench::new();
    git.workspace.write(".gitattributes", "*.bin filter=lfs\n*.raw filter=unknown\n");
    let filter = "[filter \"lfs\"]\n\tclean = cat\n\tsmudge = cat\n\trequired = true\n";
    std::fs::write(git.workspace.home().join(".gitconfig"), filter).unwrap();
    git.workspace.write("x.bin", "large\n");
    git.fails("git.commit", &commit(&[]), ErrorCode::NeedsFilter);
    // Git ignores a filter that is not defined.
    git.workspace.remove("x.bin");
    git.workspace.write("x.raw", "small\n");
    git.done("git.commit", &commit(&[]));
}

#[test]
fn non_utf8_names_are_committed_and_reported() {
    use std::os::unix::ffi::OsStrExt as _;
    let git = GitBench::new();
    let name = std::ffi::OsStr::from_bytes(b"caf\xe9.txt");
    std::fs::write(git.workspace.path().join(name), "text\n").unwrap();
    let made = git.done("git.commit", &commit(&[]));
    assert_eq!(git.status(), "");
    let none = "0123456789abcdef0123456789abcdef01234567";
    let artifact = |commit: &str| format!(r#"{{"type": "commit", "reference": "{commit}"}}"#);
    let artifacts = [artifact(text(&made, "commit_sha")), artifact(none)].join(", ");
    let report = format!(r#"{{"status": "completed", "summary": "Done", "artifacts": [{artifacts}]}}"#);
    let report = git.done("report.completion", &report);
    assert_eq!(report.get("missing_references"), Some(&Json::from(vec![none])));
}

#[test]
fn without_changes_there_is_no_commit() {
    let git = GitBench::new();
    git.fails("git.commit", &commit(&[]), ErrorCode::NothingToCommit);
    git.fails("git.commit", &commit(&["a.txt"]), ErrorCode::NothingToCommit);
    git.workspace.write(".git/MERGE_HEAD", format!("{}\n", git.head()));
    git.workspace.write("a.txt", "two\n");
    git.fails("git.commit", &commit(&[]), ErrorCode::Busy);
}

#[test]
fn a_diff_that_is_cut_says_so() {
    // Issue 17: a diff ended in the middle of a line without a note that it was cut.
    let git = GitBench::new();
    git.workspace.write("a.txt", (0..20_000).map(|line| format!("{line}\n")).collect::<String>());
    let diff = git.call("git.diff", HERE).unwrap();
    assert_eq!(diff.structured.get("truncated"), Some(&Json::from(true)));
    let text = diff.text.unwrap();
    assert!(text.ends_with(" bytes; `fs.read` shows a file]\n"), "{}", &text[text.len() - 100..]);
}

#[test]
fn a_context_limits_what_git_takes_shows_and_reaches() {
    let mut git = GitBench::new();
    git.workspace.write("docs/a.txt", "one\n");
    git.workspace.git(["add", "--all"]);
    git.workspace.git(["commit", "--quiet", "--message=Docs"]);
    let constrain = RuleLimits {
        paths: Some(vec!["docs".to_owned()]),
        domains: Some(vec!["forge.example".to_owned()]),
        ..RuleLimits::default()
    };
    git.limits.add(&"context.docs".parse().unwrap(), &Place::file("profiles.toml"), &constrain);
    git.workspace.write("a.txt", "PRIVATE\n");
    git.workspace.write("docs/a.txt", "two\n");
    let shown = git.call("git.diff", HERE).unwrap().text.unwrap();
    assert!(shown.contains("+two") && !shown.contains("PRIVATE"), "{shown}");
    git.fails("git.commit", &commit(&[]), ErrorCode::OutsideContext);
    git.fails("git.commit", &commit(&["a.txt"]), ErrorCode::OutsideContext);
    git.done("git.commit", &commit(&["docs"]));
    assert_eq!(git.status(), " M a.txt\n");
    let report = r#"{"status": "completed", "summary": "Done", "artifacts": [{"type": "file", "reference": "a.txt"}]}"#;
    git.fails("report.completion", report, ErrorCode::OutsideContext);
    // The context does not list the host of the configured remote.
    git.workspace.git(["checkout", "--quiet", "a.txt"]);
    git.fails("git.refresh", HERE, ErrorCode::OutsideContext);
    git.fails("git.push", HERE, ErrorCode::OutsideContext);
}

#[test]
fn an_approval_of_a_push_binds_commit_and_address() {
    let mut git = GitBench::new();
    let names = |git: &GitBench| {
        let named = git.references("git.push", HERE);
        (named.things.into_keys().collect::<Vec<_>>(), named.against.map(|failure| failure.code))
    };
    let expect =
        vec![format!("refs/heads/main at {}", git.head()), format!("remote origin {}", git.origin())];
    assert_eq!(names(&git), (expect, None));
    git.urls.clear();
    assert_eq!(names(&git).1, Some(ErrorCode::UrlNotAllowed));
    for args in
        [r#""ref": "+main""#, r#""ref": "-f""#, r#""ref": "a:b""#, r#""remote": "-x""#, r#""ref": "none""#]
    {
        let args = format!(r#"{{"binding_id": "workspace", {args}}}"#);
        git.fails("git.push", &args, ErrorCode::InvalidArguments);
    }
}

#[test]
fn an_approval_of_a_commit_binds_the_bytes_it_takes() {
    let git = GitBench::new();
    let named = |paths: &[&str]| git.references("git.commit", &commit(paths)).things;
    git.workspace.write("a.txt", "two\n");
    git.workspace.write("b.txt", "new\n");
    let all = named(&[]);
    let names = |things: &std::collections::BTreeMap<String, _>| things.keys().cloned().collect::<Vec<_>>();
    assert_eq!(names(&all), ["changes in workspace to 2 files: a.txt, b.txt"]);
    assert_eq!(names(&named(&["b.txt"])), ["changes in workspace to 1 file: b.txt"]);
    git.workspace.write("b.txt", "other\n");
    let later = named(&[]);
    assert_eq!(names(&later), names(&all));
    assert_ne!(later, all);
}

#[test]
fn a_proof_is_a_copy_with_its_hash() {
    let git = GitBench::new();
    let kept = git.done("proof.attach", r#"{"path": "a.txt", "description": "The text"}"#);
    assert_eq!(kept.get("size_bytes"), Some(&Json::from(4)));
    let copy = format!(".brigade/proofs/{}", text(&kept, "artifact_id"));
    git.workspace.write("a.txt", "changed\n");
    assert_eq!(git.workspace.read_text(&copy), "one\n");
    git.fails("proof.attach", r#"{"path": ".git/config"}"#, ErrorCode::ProtectedPath);
    git.fails("proof.attach", r#"{"path": "../x"}"#, ErrorCode::PathOutside);
    git.fails("proof.attach", r#"{"path": "none"}"#, ErrorCode::NotFound);
}
