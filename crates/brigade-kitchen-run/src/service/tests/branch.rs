//! Concurrent tasks in worktrees, and their branch.

use std::process::Command;
use std::sync::LazyLock;

use brigade_testkit::SavedTree;

use super::*;

/// A repository of one commit.
static REPOSITORY: LazyLock<SavedTree> = LazyLock::new(|| {
    SavedTree::new(|root| {
        fs::write(root.join(".gitignore"), ".brigade/\nbrigade/\n").unwrap();
        fs::write(root.join("shared.txt"), "first\n").unwrap();
        git(root, &["init", "-q", "--template=", "-b", "main"]);
        git(root, &["add", "-A"]);
        git(root, &["commit", "-qm", "first"]);
    })
});

fn git(folder: &Path, words: &[&str]) -> String {
    let mut git = Command::new("git");
    git.args(["-c", "user.name=T", "-c", "user.email=t@example.com", "-c", "maintenance.auto=false"]);
    git.args(words).current_dir(folder);
    git.env_clear().env("PATH", std::env::var_os("PATH").unwrap()).env("HOME", "/nonexistent");
    let output = git.output().unwrap();
    assert!(output.status.success(), "git {words:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap().trim().to_owned()
}

impl World {
    pub(super) fn git(&self, words: &[&str]) -> String {
        git(&self.folder.join("work"), words)
    }

    /// Returns a world with a repository of one commit, and a PRD that names a branch.
    pub(super) fn with_branch(prd: &str, config: &str, script: &str) -> World {
        let prd = prd.replacen("{\"featureName\"", "{\"branchName\": \"feature/x\", \"featureName\"", 1);
        let world = World::new(&prd, &format!("worktrees = \"on\"\n{config}"), script);
        REPOSITORY.write(&world.folder.join("work"));
        world.approve();
        world
    }
}

#[test]
fn each_task_is_one_commit_and_checkout_stays() {
    let prd = tasks(&[("a", "test -f a.txt", &[]), ("b", "test -f b.txt", &["a"])]);
    let world = World::with_branch(&prd, "", &format!("pwd > \"$D/pwd-$BRIGADE_TASK\"\n{WRITES}"));
    let report = world.serve();
    assert_eq!((report.outcome, report.branch.as_deref()), (Outcome::Complete, Some("feature/x")));
    assert_eq!(report.commit, Some(world.git(&["rev-parse", "feature/x"])));
    let log = world.git(&["log", "--format=%s", "main..feature/x"]);
    assert_eq!(log, "b: Write b\na: Write a");
    let run = world.git(&["log", "-1", "--format=%(trailers:key=Brigade-Run,valueonly)", "feature/x"]);
    assert!(run.starts_with("run-"));
    assert_eq!(
        (world.git(&["status", "--porcelain"]), world.git(&["branch", "--show-current"])),
        (String::new(), "main".to_owned())
    );
    assert!(!world.folder.join("work/a.txt").exists());
    assert!(world.note("pwd-a").contains("/.brigade/kitchen/worktrees/prd-a/a"));
    assert!(
        !world.folder.join("work/.brigade/kitchen/worktrees/prd-a/a").exists(),
        "its work is in the branch"
    );
}

#[test]
fn concurrent_tasks_are_verified_on_the_new_tip() {
    // Each worker waits until the other one runs.
    let script = "touch \"$D/here-$BRIGADE_TASK\"\nfor other in a b; do while [ ! -e \"$D/here-$other\" ]; do sleep 0.05; done; done\n\
        echo $BRIGADE_TASK > \"$BRIGADE_TASK.txt\"\ndone_";
    let prd = tasks(&[("a", "test -f a.txt", &[]), ("b", "test -f b.txt", &[])]);
    let world = World::with_branch(&prd, "", script);
    let report = world.serve();
    assert_eq!((report.outcome, report.attempts), (Outcome::Complete, 2));
    assert_eq!(world.git(&["ls-tree", "--name-only", "feature/x"]), ".gitignore\na.txt\nb.txt\nshared.txt");
    // The second task was moved to the commit of the first and verified there again.
    assert_eq!(world.receipts(RunKind::Verification), 3);
}

#[test]
fn a_branch_that_is_checked_out_needs_no_merge() {
    let world = World::with_branch(&tasks(&[("a", "true", &[])]), "", WRITES);
    world.git(&["checkout", "-qb", "feature/x"]);
    let report = world.serve();
    assert_eq!((report.outcome, report.next.len()), (Outcome::Complete, 0), "{:?}", report.next);
    let world = World::with_branch(&tasks(&[("a", "true", &[])]), "", WRITES);
    assert_eq!(world.serve().next.len(), 1);
}

#[test]
fn no_more_run_at_once_than_the_policy_allows() {
    let script = format!("mkdir \"$D/one\" || touch \"$D/two\"\nsleep 0.3\nrmdir \"$D/one\"\n{WRITES}");
    let world = World::with_branch(&tasks(&[("a", "true", &[]), ("b", "true", &[])]), "", &script);
    let policy = "[sandbox]\nmode = \"off\"\n[kitchen]\nmax_parallel = 1\n";
    fs::create_dir_all(world.folder.join("work/.brigade/tools")).unwrap();
    fs::write(world.folder.join("work/.brigade/tools/policy.toml"), policy).unwrap();
    world.approve();
    let flags = Flags { max_parallel: Some(4), ..Flags::default() };
    let options = ServiceOptions { flags, ..ServiceOptions::default() };
    assert_eq!(world.try_serve(&options, &NoFollower).unwrap().outcome, Outcome::Complete);
    assert!(!world.folder.join("notes/two").exists());
}

#[test]
fn a_conflict_is_a_failed_attempt_with_its_files() {
    let script = "if [ $n = 1 ]; then touch \"$D/here-$BRIGADE_TASK\"\n\
        for other in a b; do while [ ! -e \"$D/here-$other\" ]; do sleep 0.05; done; done; fi\n\
        echo $BRIGADE_TASK $n > shared.txt\ndone_";
    let world = World::with_branch(&tasks(&[("a", "true", &[]), ("b", "true", &[])]), "", script);
    let report = world.serve();
    assert_eq!((report.outcome, report.attempts), (Outcome::Complete, 3));
    let second = if world.starts("work", "a") == 2 { "a" } else { "b" };
    assert!(world.note(&format!("prompt-work-{second}-2")).contains("shared.txt"));
    assert_eq!(world.git(&["show", "feature/x:shared.txt"]), format!("{second} 2"));
}

#[test]
fn tasks_with_one_exclusive_name_never_run_together() {
    let script = "mkdir \"$D/alone\" || echo together > \"$D/together\"\nsleep 0.2\nrmdir \"$D/alone\"\n\
        echo $BRIGADE_TASK > \"$BRIGADE_TASK.txt\"\ndone_";
    let prd = tasks(&[("a", "true", &[]), ("b", "true", &[])])
        .replace("\"passes\"", "\"exclusive\": \"db\", \"passes\"");
    let world = World::with_branch(&prd, "", script);
    assert_eq!(world.serve().outcome, Outcome::Complete);
    assert_eq!(world.note("together"), "");
}

/// A worker may only write in its worktree, commit there, and use its temporary directory.
#[test]
fn a_sandbox_keeps_a_worker_in_its_worktree() {
    let script = "W=\"$D/../work\"\n\
        echo x > a.txt && git add a.txt && git -c user.name=W -c user.email=w@example.com commit -qm work && echo yes > \"$D/committed\"\n\
        echo x > \"$TMPDIR/free\" && echo yes > \"$D/temporary\"\n\
        for path in shared.txt brigade/tasks/prd-a.json .git/config .brigade/kitchen.toml .git/refs/heads/evil; do\n\
        (echo x >> \"$W/$path\") 2>/dev/null && echo \"$path\" >> \"$D/escaped\"; done\n\
        cat \"$W/.brigade/kitchen/prd-a/journal.jsonl\" > /dev/null 2>&1 && echo journal >> \"$D/escaped\"\n\
        result '\"signal\":\"complete\"'";
    let world =
        World::with_branch(&tasks(&[("a", "test -f a.txt && ! touch ../../../../x", &[])]), "", script);
    let (notes, tools) = (world.folder.join("notes"), world.folder.join("tools"));
    let policy = format!(
        "[kitchen]\nworker_write_paths = ['{}']\n[sandbox]\nmode = 'enforce'\nread_paths = ['{}']\n",
        notes.display(),
        tools.display()
    );
    fs::create_dir_all(world.folder.join("work/.brigade/tools")).unwrap();
    fs::write(world.folder.join("work/.brigade/tools/policy.toml"), policy).unwrap();
    world.approve();
    let report = world.serve();
    assert_eq!(report.outcome, Outcome::Complete, "{report:?} {:?}", world.life().tasks);
    assert_eq!((world.note("committed"), world.note("temporary")), ("yes\n".to_owned(), "yes\n".to_owned()));
    assert_eq!(world.note("escaped"), "");
}

#[test]
fn settings_of_a_user_who_had_none_are_noticed() {
    for place in [".gitconfig", ".config/git/config"] {
        let script = format!("mkdir -p ~/.config/git\necho '[core]' > ~/{place}\n{WRITES}");
        let mut world = World::with_branch(&tasks(&[("a", "test -f a.txt", &[])]), "", &script);
        let home = world.folder.join("home");
        fs::create_dir(&home).unwrap();
        let known = world.environment.variables().map(|(name, value)| (name.clone(), value.clone()));
        let known: Vec<_> = known.chain([("HOME".into(), home.into_os_string())]).collect();
        world.environment = HostEnvironment::new(known);
        let report = world.serve();
        assert_eq!((report.outcome, report.done), (Outcome::Paused, 0), "{place}");
        assert!(report.reason.unwrap().contains(place));
    }
}

#[test]
fn a_new_included_settings_file_is_noticed() {
    let script = format!("echo '[core]' > \"$D/later.cfg\"\n{WRITES}");
    let world = World::with_branch(&tasks(&[("a", "test -f a.txt", &[])]), "", &script);
    let config = world.folder.join("work/.git/config");
    let include = format!("[include]\n\tpath = {}\n", world.folder.join("notes/later.cfg").display());
    fs::write(&config, fs::read_to_string(&config).unwrap() + &include).unwrap();
    let report = world.serve();
    assert_eq!(report.done, 0, "{report:?}");
    assert!(report.reason.unwrap().contains("later.cfg"));
}

#[test]
fn an_attempt_that_changes_git_settings_fails() {
    let script = "if [ $n = 1 ]; then printf '[core]\\n\\thooksPath = /tmp/x\\n' >> \"$(git rev-parse --git-dir)/config\"; fi\n\
        echo x > a.txt\ndone_";
    let world = World::with_branch(&tasks(&[("a", "true", &[])]), "", script);
    assert_eq!(world.serve().outcome, Outcome::Complete);
    assert_eq!(world.starts("work", "a"), 2);
    assert!(world.note("prompt-work-a-2").contains("settings or hooks of git were changed"));
}
