//! Clones in volumes, and how git logs in.

use super::*;

fn clone(url: &str, more: &str) -> String {
    format!(r#"{{"repo_url": "{url}", "label": "copy"{more}}}"#)
}

/// Clones the origin. Returns the arguments for the binding, and its volume.
fn cloned(git: &GitBench) -> (String, String) {
    let made = git.done("git.clone", &clone(&git.origin(), ""));
    let binding = made.get("binding").unwrap();
    assert_eq!((text(binding, "status"), text(binding, "label")), ("ready", "copy"));
    let args = format!(r#"{{"binding_id": "{}"}}"#, text(binding, "binding_id"));
    (args, text(binding, "volume_id").to_owned())
}

fn total(git: &GitBench, tool: &str) -> Json {
    git.done(tool, "{}").get("total").unwrap().clone()
}

#[test]
fn only_plain_addresses_of_the_policy_are_cloned() {
    let git = GitBench::new();
    for (url, code) in [
        ("https://forge.example/x", ErrorCode::UrlNotAllowed),
        ("ext::sh -c id", ErrorCode::UrlNotPlain),
        ("--upload-pack=x", ErrorCode::UrlNotPlain),
        ("https://user@forge.example/x", ErrorCode::CredentialsInUrl),
        ("https://u:p@forge.example/x", ErrorCode::CredentialsInUrl),
    ] {
        git.fails("git.clone", &clone(url, ""), code);
    }
    let refresh = clone(&git.origin(), r#", "auto_refresh": true"#);
    git.fails("git.clone", &refresh, ErrorCode::ArgumentNotAllowed);
    let none = clone(&git.origin(), r#", "git_ref": {"kind": "branch", "value": "none"}"#);
    git.fails("git.clone", &none, ErrorCode::RefNotFound);
    // An incomplete clone leaves nothing.
    assert_eq!(total(&git, "volume.list"), Json::from(0));
    assert_eq!(total(&git, "git.list"), Json::from(1));
}

#[test]
fn repositories_are_cloned_and_updated_in_volumes() {
    let git = GitBench::new();
    let (id, volume) = cloned(&git);
    let in_volume =
        |path: &str, more: &str| format!(r#"{{"volume_id": "{volume}", "path": "{path}"{more}}}"#);
    let read = git.done("file.read", &in_volume("a.txt", ""));
    assert_eq!(text(&read, "content"), "one\n");
    assert_eq!(total(&git, "git.list"), Json::from(2));
    // The file tools for volumes cannot reach the git directory.
    let listed = git.done("file.list", &in_volume("", ""));
    assert!(!listed.to_compact().contains(".git\""), "{}", listed.to_compact());
    git.workspace.write("a.txt", "one\nmore\n");
    git.workspace.git(["commit", "--quiet", "--all", "--message=More"]);
    git.workspace.git(["push", "--quiet"]);
    let changed = |git: &GitBench, args: &str| git.done("git.refresh", args).get("changed").unwrap().clone();
    assert_eq!(changed(&git, &id), Json::from(true));
    let status = git.done("git.status", &id);
    assert_eq!(text(status.get("binding").unwrap(), "last_commit_sha"), git.head());
    assert_eq!(changed(&git, &id), Json::from(false));
    git.done("file.write", &in_volume("a.txt", r#", "content": "mine\n""#));
    git.fails("git.refresh", &id, ErrorCode::DirtyTree);
    git.done("git.commit", &id.replace('}', r#", "message": "Mine"}"#));
    git.done("git.push", &id);
    // The workspace is updated, too.
    assert_eq!(changed(&git, HERE), Json::from(true));
    assert_eq!(git.workspace.read_text("a.txt"), "mine\n");
    git.fails("volume.delete", &format!(r#"{{"volume_id": "{volume}"}}"#), ErrorCode::InUse);
    git.done("git.delete", &id);
    git.fails("git.status", &id, ErrorCode::NotFound);
    assert_eq!(total(&git, "volume.list"), Json::from(0));
    git.fails("git.delete", HERE, ErrorCode::InvalidArguments);
}

#[test]
fn clones_work_without_a_workspace_repository() {
    // Issue 17: the tools for clones were available only after `git init` in the workspace.
    let source = GitBench::new();
    let mut git = GitBench::without_repository();
    git.urls = vec![source.origin()];
    let made = git.done("git.clone", &clone(&source.origin(), ""));
    let id = format!(r#"{{"binding_id": "{}"}}"#, text(made.get("binding").unwrap(), "binding_id"));
    assert_eq!(git.done("git.status", &id).get("dirty"), Some(&Json::from(false)));
    assert_eq!(git.done("git.log", &id).get("commits").unwrap().as_array().unwrap().len(), 1);
    git.fails("git.status", HERE, ErrorCode::NotAvailableHere);
    git.fails("lane.list", "{}", ErrorCode::NotAvailableHere);
    git.done("git.delete", &id);
    git.fails("git.status", &id, ErrorCode::NotFound);
    assert_eq!(total(&git, "git.list"), Json::from(0));
}

#[test]
fn diverged_histories_are_not_pushed_or_refreshed() {
    let git = GitBench::new();
    git.workspace.write("a.txt", "two\n");
    git.done("git.commit", &commit(&[]));
    git.done("git.push", HERE);
    git.workspace.git(["reset", "--quiet", "--hard", "HEAD~1"]);
    git.workspace.write("a.txt", "three\n");
    git.done("git.commit", &commit(&[]));
    git.fails("git.push", r#"{"binding_id": "workspace", "ref": "main"}"#, ErrorCode::Rejected);
    git.fails("git.refresh", HERE, ErrorCode::NotFastForward);
}

#[test]
fn ssh_gets_the_key_of_the_policy() {
    let mut git = GitBench::without_repository();
    let (bin, key) = (git.beside("bin"), git.beside("deploy"));
    std::fs::write(&key, "a key\n").unwrap();
    // Stands for ssh, and says how it was started.
    executable(&bin.join("ssh"), "#!/bin/sh\necho \"started as $*\" >&2\nexit 1\n");
    let path = format!("{}:{}", bin.display(), std::env::var("PATH").unwrap());
    let home = git.workspace.home().into();
    git.environment = HostEnvironment::new([("PATH".into(), path.into()), ("HOME".into(), home)]);
    git.credentials = vec![GitCredential {
        name: "deploy".to_owned(),
        place: Place::file("policy.toml"),
        hosts: vec!["forge.example".to_owned()],
        login: GitLogin::Key(key.display().to_string()),
    }];
    git.urls = ["git@forge.example:*/*", "git@other.example:*"].map(str::to_owned).to_vec();
    let named = |name: &str| format!(r#", "credential_binding_id": "{name}""#);
    let started =
        |url: &str, more: &str| git.fails("git.clone", &clone(url, more), ErrorCode::GitFailed).message;
    for more in [String::new(), named("deploy")] {
        let options = started("git@forge.example:team/a.git", &more);
        assert!(options.contains(&format!("-o IdentityFile={}", key.display())), "{options}");
        assert!(options.contains("started as -F /dev/null -o BatchMode=yes"), "{options}");
        assert!(options.contains("git@forge.example git-upload-pack 'team/a.git'"), "{options}");
    }
    // Without a credential for the host, the user's agent may log in.
    let options = started("git@other.example:a.git", "");
    assert!(!options.contains("IdentityFile") && options.contains("-F /dev/null"), "{options}");
    for (url, name, code) in [
        ("git@forge.example:team/a.git", "other", ErrorCode::NotFound),
        ("git@other.example:a.git", "deploy", ErrorCode::InvalidArguments),
        ("git@forge.example:--upload-pack=x", "deploy", ErrorCode::UrlNotPlain),
        ("git@third.example:a.git", "deploy", ErrorCode::UrlNotAllowed),
    ] {
        git.fails("git.clone", &clone(url, &named(name)), code);
    }
}
