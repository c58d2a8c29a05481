//! Lanes, which are worktrees of the repository.

use super::*;

/// Makes a lane. Returns its arguments and its directory.
fn lane(git: &GitBench) -> (String, String) {
    let lane = git.done("lane.create", r#"{"name": "Apart"}"#);
    (format!(r#"{{"lane_id": "{}"}}"#, text(&lane, "lane_id")), text(&lane, "worktree_path").to_owned())
}

#[test]
fn a_lane_with_a_foreign_directory_is_not_archived() {
    let git = GitBench::new();
    let (id, path) = lane(&git);
    let elsewhere = git.workspace.join("elsewhere").display().to_string();
    git.workspace.git(["init", "--quiet", &elsewhere]);
    git.workspace.write(format!("{path}/.git"), format!("gitdir: {elsewhere}/.git\n"));
    git.workspace.write(format!("{path}/new.txt"), "work\n");
    git.fails("lane.archive", &id, ErrorCode::UnsafeRepository);
    let seen = git.done("lane.get", &id);
    assert_eq!(
        (seen.get("dirty"), seen.get("archived")),
        (Some(&Json::from(true)), Some(&Json::from(false)))
    );
    assert_eq!(git.workspace.read_text(format!("{path}/new.txt")), "work\n");
}

#[test]
fn work_that_only_a_lane_holds_needs_a_person() {
    let git = GitBench::new();
    let reason = |id: &str| git.references("lane.archive", id).for_person;
    let commits = Some("the lane has commits that are not merged".to_owned());
    for checkout in [&["checkout", "--quiet", "--detach"][..], &["checkout", "--quiet", "-b", "other"], &[]] {
        let (id, path) = lane(&git);
        assert_eq!(reason(&id), None);
        let top = git.workspace.join(&path).display().to_string();
        if !checkout.is_empty() {
            git.workspace.git([&["-C", top.as_str()], checkout].concat());
        }
        git.workspace.write(format!("{path}/a.txt"), "apart\n");
        assert_eq!(reason(&id), Some("the lane has changes that are not committed".to_owned()));
        git.workspace.git(["-C", &top, "commit", "--quiet", "--all", "--message=Apart"]);
        assert_eq!(git.done("lane.get", &id).get("ahead"), Some(&Json::from(1)));
        assert_eq!(reason(&id), commits);
        git.fails("lane.archive", &id, ErrorCode::UnmergedWork);
        assert_eq!(git.workspace.read_text(format!("{path}/a.txt")), "apart\n");
    }
}
