//! `git.refresh` overwrites nothing that git does not track.

use super::*;

#[test]
fn refresh_keeps_state_and_untracked_files() {
    let git = GitBench::new();
    let other = git.beside("other");
    let there = other.display().to_string();
    git.workspace.git(["clone", "--quiet", &git.origin(), &there]);
    git.workspace.write(".gitignore", ".brigade\n.env\ncache\n");
    git.workspace.git(["commit", "--quiet", "--all", "--message=Ignore"]);
    git.workspace.git(["push", "--quiet"]);
    git.workspace.git(["-C", &there, "pull", "--quiet"]);
    let start = git.head();
    git.workspace.write(".brigade/tools/policy.toml", "mine\n");
    git.workspace.write(".env", "mine\n");
    git.workspace.write("cache/kept", "mine\n");
    let push = |path: &str, link: bool| {
        git.workspace.git(["-C", &there, "reset", "--quiet", "--hard", &start]);
        let path = other.join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        match link {
            true => std::os::unix::fs::symlink("a.txt", &path).unwrap(),
            false => std::fs::write(&path, "theirs\n").unwrap(),
        }
        git.workspace.git(["-C", &there, "add", "--force", "."]);
        git.workspace.git(["-C", &there, "commit", "--quiet", "--message=Theirs"]);
        git.workspace.git(["-C", &there, "push", "--quiet", "--force"]);
        std::fs::remove_file(&path).unwrap();
    };
    for (path, link, code) in [
        (".mcp.json", false, ErrorCode::ProtectedPath),
        (".brigade/tools/policy.toml", false, ErrorCode::ProtectedPath),
        (".brigade/tools/profiles.toml", false, ErrorCode::ProtectedPath),
        (".brigade", true, ErrorCode::ProtectedPath),
        ("lib/.Brigade/x", false, ErrorCode::ProtectedPath),
        (".env", false, ErrorCode::DirtyTree),
        (".env/x", false, ErrorCode::DirtyTree),
        ("cache", true, ErrorCode::DirtyTree),
        ("cache/kept", false, ErrorCode::DirtyTree),
    ] {
        push(path, link);
        git.fails("git.refresh", HERE, code);
        assert_eq!(git.head(), start, "{path}");
        for (kept, expect) in
            [(".brigade/tools/policy.toml", "mine\n"), (".env", "mine\n"), ("cache/kept", "mine\n")]
        {
            assert_eq!(git.workspace.read_text(kept), expect, "{path}");
        }
        for made in [".brigade/tools/profiles.toml", ".mcp.json", "lib"] {
            assert!(!git.workspace.exists(made), "{path}");
        }
    }
    push("cache/new", false);
    assert_eq!(git.done("git.refresh", HERE).get("changed"), Some(&Json::from(true)));
    assert_eq!(git.workspace.read_text("cache/new"), "theirs\n");
    assert_eq!(git.workspace.read_text("cache/kept"), "mine\n");
}
