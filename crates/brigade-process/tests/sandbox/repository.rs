//! Tests what a run may do to the repository of its workspace when the policy opens it.

use super::*;

/// Creates a workspace that is a git repository with one commit.
fn repository() -> Ground {
    let ground = Ground::new();
    fs::remove_dir_all(ground.workspace.join(".git")).unwrap();
    let settings = "[user]\nname = Ada\nemail = ada@example.org\n[maintenance]\nauto = false\n";
    fs::write(ground.home.join(".gitconfig"), settings).unwrap();
    git(&ground, &["init", "-q", "-b", "main"]);
    for word in settings.split("\n").filter(|line| line.contains('=')) {
        let (name, value) = word.split_once(" = ").unwrap();
        let section = if name == "auto" { "maintenance" } else { "user" };
        git(&ground, &["config", &format!("{section}.{name}"), value]);
    }
    git(&ground, &["add", "top.txt"]);
    git(&ground, &["commit", "-qm", "one"]);
    ground
}

/// Runs git outside of the sandbox and returns its output.
#[track_caller]
fn git(ground: &Ground, words: &[&str]) -> String {
    let mut git = std::process::Command::new("git");
    let output = git.args(words).current_dir(&ground.workspace).env("HOME", &ground.home).output().unwrap();
    assert!(output.status.success(), "{words:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap().trim().to_owned()
}

#[test]
fn git_commits_where_the_repository_is_open() {
    for writes in [false, true] {
        let ground = repository();
        let profile = if writes { ground.writing() } else { ground.reading() };
        fs::write(ground.workspace.join("top.txt"), "new").unwrap();
        let opened = OpenedRepository::open(&ground.workspace).unwrap();
        let profile = SandboxProfile { replaced: Some(opened.replaced()), ..profile };
        let script = "
import subprocess
for words in (['add', '-A'], ['commit', '-qm', 'two'], ['checkout', '-qb', 'side'], ['tag', 'v1'],
              ['commit', '-q', '--allow-empty', '-m', 'three'], ['pack-refs', '--all'],
              ['update-ref', '-d', 'refs/heads/main']):
    subprocess.run(['git', *words], check=True)
print(open('.git/HEAD').read())";
        assert_eq!(python_says(&ground, profile, script), "ref: refs/heads/side", "{writes}");
        assert_eq!(opened.close(), Vec::<String>::new());
        assert_eq!(git(&ground, &["log", "--format=%s %D"]), "three HEAD -> side\ntwo tag: v1\none");
        assert_eq!(git(&ground, &["branch", "--format=%(refname:short)"]), "side");
        assert_eq!(git(&ground, &["status", "--porcelain", "--untracked-files=no"]), "");
        assert_eq!(git(&ground, &["reflog", "-1", "--format=%gs"]), "commit: three");
        git(&ground, &["fsck", "--strict"]);
    }
}

#[test]
fn an_open_repository_keeps_executed_files_closed() {
    let ground = repository();
    let git_folder = ground.workspace.join(".git");
    fs::create_dir_all(git_folder.join("modules/one/hooks")).unwrap();
    fs::write(git_folder.join("modules/one/config"), "real").unwrap();
    let opened = OpenedRepository::open(&ground.workspace).unwrap();
    let profile = SandboxProfile { replaced: Some(opened.replaced()), ..ground.writing() };
    let attempts = [
        "open('.git/config', 'a')",
        "os.rename('.git/config', '.git/other')",
        "open('.git/mine', 'w').close(); os.rename('.git/mine', '.git/config')",
        "os.unlink('.git/config')",
        "os.chmod('.git/config', 0o777)",
        "open('.git/hooks/pre-commit', 'w')",
        "os.rename('.git/hooks', '.git/old')",
        "os.mkdir('folder'); os.rename('folder', '.git/hooks')",
        "open('.git/info/attributes', 'w')",
        "open('.git/modules/one/config', 'a')",
        "open('.git/modules/one/hooks/x', 'w')",
        "os.mkdir('.git/modules/two')",
        "open('.git/objects/info/alternates', 'w')",
        "os.rename('.git/objects/info', '.git/objects/old')",
        "os.rename('.git', 'old')",
        "os.rmdir('.git/refs')",
        "os.symlink('../config', '.git/logs/link')",
        "os.symlink('x', 'link-at-the-top')",
        "os.link('top.txt', '.git/refs/heads/top')",
        "os.rename('link', '.git/logs/link')",
        "open('.brigade/new', 'w')",
    ];
    check_blocked(&ground, profile.clone(), &attempts);
    // Other files that the run creates are removed with the run.
    let script = "
import os
for name in ('commondir', 'config.worktree', 'hooks2'):
    open('.git/' + name, 'w').write('x')
os.makedirs('.git/rebase-merge')
os.makedirs('.git/worktrees/x')
print('done')";
    assert_eq!(python_says(&ground, profile, script), "done");
    assert_eq!(opened.close(), Vec::<String>::new());
    for name in ["commondir", "config.worktree", "hooks2", "rebase-merge", "worktrees", "mine", "other"] {
        assert!(git_folder.join(name).symlink_metadata().is_err(), "{name}");
    }
    git(&ground, &["status"]);
}

#[test]
fn a_repository_stays_closed_without_mounts() {
    let ground = repository();
    let opened = OpenedRepository::open(&ground.workspace).unwrap();
    let profile = SandboxProfile { landlock_at_most: Some(0), mode: Mode::BestEffort, ..ground.reading() };
    let profile = SandboxProfile { replaced: Some(opened.replaced()), ..profile };
    let missing = profile.check().unwrap().missing;
    assert!(missing.iter().any(|said| said.contains("the repository stays closed")), "{missing:?}");
}
