//! Targets of links at `.git` and `.brigade`.

use super::*;

#[test]
fn targets_of_reserved_links_are_not_changed() {
    let work = Work::new();
    work.put("conf/policy.toml", b"x");
    work.put("hooks/pre-commit", b"x");
    work.put("hk/pre-push", b"x");
    work.put("free/file", b"x");
    work.put(".brigade/tools/x", b"");
    work.put(".git/config", b"[core]\nhooksPath = hk\n");
    symlink("../../conf/policy.toml", work.at(".brigade/tools/policy.toml")).unwrap();
    symlink("../hooks", work.at(".git/hooks")).unwrap();
    for path in ["conf/policy.toml", "hooks/pre-commit", "hooks/new", "hk/pre-push"] {
        work.refused("fs.write", &format!(r#"{{"path": "{path}", "content": "y"}}"#), "protected_path");
        work.refused("fs.delete", &format!(r#"{{"path": "{path}"}}"#), "protected_path");
    }
    work.refused("fs.delete", r#"{"path": "conf", "recursive": true}"#, "protected_path");
    work.ok("fs.read", r#"{"path": "conf/policy.toml"}"#);
    work.ok("fs.write", r#"{"path": "conf/other.toml", "content": "y"}"#);
    work.ok("fs.write", r#"{"path": "free/file", "content": "y"}"#);
}
