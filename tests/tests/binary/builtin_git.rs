//! `git.*`, `lane.*` and `proof.attach`, also in a hostile repository that names programs.

#![allow(
    clippy::unwrap_used,
    clippy::disallowed_methods,
    reason = "tests set up files and programs, and one that cannot read an answer fails"
)]

use std::collections::BTreeSet;

use brigade_tests::Site;
use serde_json::{Value, json};

use crate::serve_common::{Client, GATEWAY, POLICY, about, assert_stands, done, id_of, text};

/// Returns a policy whose rule covers everything here except pushes, and which allows one repository.
fn rules(urls: &str) -> String {
    format!(
        r#"allowed_families = ["builtin"]
allowed_effects = ["local-read", "local-write", "local-delete", "state-write", "remote-read", "remote-mutation", "process-exec"]

[git]
urls = [{urls}]

[[auto_approve]]
name = "repositories"
tools = ["git.*", "lane.*", "proof.*", "file.*", "volume.*", "report.*"]
effects = ["local-read", "local-write", "local-delete", "state-write", "remote-read"]
"#
    )
}

/// Returns a workspace that is a repository, pushed to a repository `origin.git` next to it.
fn site() -> Site {
    let site = Site::empty();
    let origin = site.beside("origin.git");
    site.workspace.write(POLICY, rules(&format!("{:?}", origin.display().to_string())));
    site.workspace.write(".brigade/tools.toml", "");
    site.workspace.write(".gitignore", ".brigade/\n");
    site.workspace.write("a.txt", "one\n");
    let profiles = "[\"permission.full-auto\", \"access.operator\"]";
    site.workspace.write(GATEWAY, format!("[[agent]]\nname = \"local\"\nprofiles = {profiles}\n"));
    site.workspace.git_init();
    let path = origin.display().to_string();
    site.workspace.git(["init", "--quiet", "--bare", "--initial-branch=main", &path]);
    site.workspace.git(["remote", "add", "origin", &path]);
    site.workspace.git(["push", "--quiet", "--set-upstream", "origin", "main"]);
    site
}

#[track_caller]
fn fails(client: &mut Client, tool: &str, args: Value, code: &str) {
    let answer = client.call(tool, args.clone());
    assert_eq!(about(&answer)["code"], code, "{tool} {args}: {answer:#}");
    assert_eq!(answer["isError"], true);
}

#[test]
fn ssh_gets_the_key_of_the_policy() {
    let site = site();
    let (bin, key) = (site.beside("bin"), site.beside("deploy"));
    std::fs::write(&key, "a key\n").unwrap();
    std::fs::create_dir_all(&bin).unwrap();
    // Stands for ssh, and says how it was started.
    std::fs::write(bin.join("ssh"), "#!/bin/sh\necho \"started as $*\" >&2\nexit 1\n").unwrap();
    std::fs::set_permissions(bin.join("ssh"), std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    let site = site.env("PATH", format!("{}:{}", bin.display(), std::env::var("PATH").unwrap()));
    let credentials = format!(
        "[git.credentials.deploy]\nhosts = [\"forge.example\"]\nkey = {:?}\n\n[[auto",
        key.display().to_string()
    );
    let urls = "\"git@forge.example:*/*\", \"git@other.example:*\"";
    site.workspace.write(POLICY, rules(urls).replacen("[[auto", &credentials, 1));
    let mut client = Client::connect(&site, "local");
    let mut started = |url: &str, name: Option<&str>| {
        let mut args = json!({"repo_url": url, "label": "copy"});
        if let Some(name) = name {
            args["credential_binding_id"] = json!(name);
        }
        let failed = client.call("git.clone", args);
        assert_eq!(about(&failed)["code"], "git_failed", "{failed:#}");
        text(&failed)
    };
    for name in [None, Some("deploy")] {
        let options = started("git@forge.example:team/a.git", name);
        assert!(options.contains(&format!("-o IdentityFile={}", key.display())), "{options}");
        assert!(options.contains("started as -F /dev/null -o BatchMode=yes"), "{options}");
        assert!(options.contains("git@forge.example git-upload-pack 'team/a.git'"), "{options}");
    }
    // Without a credential for the host, the user's agent may log in.
    let options = started("git@other.example:a.git", None);
    assert!(!options.contains("IdentityFile") && options.contains("-F /dev/null"), "{options}");
    for (url, name, code) in [
        ("git@forge.example:team/a.git", "other", "not_found"),
        ("git@other.example:a.git", "deploy", "invalid_arguments"),
        ("git@forge.example:--upload-pack=x", "deploy", "url_not_plain"),
        ("git@third.example:a.git", "deploy", "url_not_allowed"),
    ] {
        let args = json!({"repo_url": url, "label": "x", "credential_binding_id": name});
        fails(&mut client, "git.clone", args, code);
    }
}

/// Approves a call as a person, and returns its result.
#[track_caller]
fn agreed(site: &Site, client: &mut Client, tool: &str, args: Value) -> Value {
    let asked = client.call(tool, args);
    assert_stands(&asked, "pending", "approval_pending");
    site.json(["call", "approve", &id_of(&asked)]).expect(0);
    client.call("call.wait", json!({"call_id": id_of(&asked)}))
}

const HERE: &str = "workspace";

#[test]
fn the_workspace_repository_is_read_and_committed() {
    let site = site();
    let mut client = Client::connect(&site, "local");
    let status = done(&mut client, "git.status", json!({"binding_id": HERE}));
    let head = site.workspace.git(["rev-parse", "HEAD"]).trim().to_owned();
    assert_eq!(
        (&status["dirty"], &status["ahead"], &status["behind"]),
        (&json!(false), &json!(0), &json!(0))
    );
    assert_eq!(status["binding"]["last_commit_sha"], json!(head));
    assert_eq!(status["binding"]["ref"], json!({"kind": "branch", "value": "main"}));
    fails(&mut client, "git.commit", json!({"binding_id": HERE, "message": "x"}), "nothing_to_commit");
    site.workspace.write("a.txt", "one\ntwo\n");
    site.workspace.write("b c.txt", "new\n");
    site.workspace.write(".env", "KEY=canary-4711\n");
    let answer = client.call("gitDiff", json!({}));
    assert_eq!(about(&answer)["tool"], "git.diff");
    assert!(text(&answer).contains("+two"), "{answer:#}");
    assert_eq!(done(&mut client, "gitStatus", json!({}))["dirty"], true);
    let made = done(
        &mut client,
        "git.commit",
        json!({"binding_id": HERE, "message": "Add two", "paths": ["a.txt"]}),
    );
    assert_eq!(made["commit_sha"], json!(site.workspace.git(["rev-parse", "HEAD"]).trim()));
    assert_eq!(site.workspace.git(["status", "--porcelain"]), "?? .env\n?? \"b c.txt\"\n");
    done(&mut client, "git.commit", json!({"binding_id": HERE, "message": "Add the rest"}));
    // A file that seems to contain keys is never committed or shown.
    assert_eq!(site.workspace.git(["status", "--porcelain"]), "?? .env\n");
    fails(
        &mut client,
        "git.commit",
        json!({"binding_id": HERE, "message": "x", "paths": [".env"]}),
        "protected_path",
    );
    site.workspace.git(["add", "--force", ".env"]);
    let answer = client.call("git.diff", json!({"binding_id": HERE, "staged": true}));
    assert!(!answer.to_string().contains("canary-4711") && text(&answer).contains("protected"), "{answer:#}");
    site.workspace.git(["rm", "--quiet", "--cached", ".env"]);
    let log = done(&mut client, "gitLog", json!({"limit": 2}));
    let subjects: Vec<&str> =
        log["commits"].as_array().unwrap().iter().map(|commit| commit["subject"].as_str().unwrap()).collect();
    assert_eq!(subjects, ["Add the rest", "Add two"]);
    let listed = done(&mut client, "git.list", json!({}));
    assert_eq!((&listed["total"], &listed["bindings"][0]["binding_id"]), (&json!(1), &json!(HERE)));
    assert_eq!(site.json(["run", "verify"]).expect(0)["valid"], true);
}

#[test]
fn commits_take_no_closed_place_and_no_secret() {
    let site = site();
    let mut client = Client::connect(&site, "local");
    let commit = |paths: &[&str]| match paths {
        [] => json!({"binding_id": HERE, "message": "x"}),
        paths => json!({"binding_id": HERE, "message": "x", "paths": paths}),
    };
    site.workspace.git(["config", "core.hooksPath", "checks"]);
    for path in [".vscode/tasks.json", "deep/.mcp.json", "checks/pre-commit"] {
        site.workspace.write(path, "x\n");
        fails(&mut client, "git.commit", commit(&[]), "protected_path");
        fails(&mut client, "git.commit", commit(&[path]), "protected_path");
        std::fs::remove_file(site.workspace.join(path)).unwrap();
    }
    site.workspace.write("token.txt", "one\nkey = AKIAIOSFODNN7EXAMPLE\n");
    let refused = client.call("git.commit", commit(&[]));
    assert_eq!(about(&refused)["code"], "secret_in_commit", "{refused:#}");
    assert!(refused.to_string().contains("`token.txt` line 2"), "{refused:#}");
    let named = site.workspace.join("AKIAIOSFODNN7EXAMPLE.txt");
    std::fs::rename(site.workspace.join("token.txt"), &named).unwrap();
    std::fs::write(&named, "").unwrap();
    fails(&mut client, "git.commit", commit(&[]), "secret_in_commit");
    std::fs::remove_file(named).unwrap();
    site.workspace.write("token.txt", "this.token = reply.accessToken\n");
    done(&mut client, "git.commit", commit(&[]));

    // What upstream changes there is not taken over, either.
    let head = site.workspace.git(["rev-parse", "HEAD"]).trim().to_owned();
    site.workspace.write(".mcp.json", "{}\n");
    site.workspace.git(["add", ".mcp.json"]);
    site.workspace.git(["commit", "--quiet", "--no-verify", "-m", "upstream"]);
    site.workspace.git(["push", "--quiet", "--no-verify", "origin", "main"]);
    site.workspace.git(["reset", "--quiet", "--hard", &head]);
    fails(&mut client, "git.refresh", json!({"binding_id": HERE}), "protected_path");
    assert!(!site.workspace.exists(".mcp.json"));
}

#[test]
fn files_with_a_user_filter_are_not_committed_raw() {
    let site = site();
    site.workspace.write(".gitattributes", "*.bin filter=lfs\n*.raw filter=unknown\n");
    std::fs::write(
        site.workspace.home().join(".gitconfig"),
        "[filter \"lfs\"]\n\tclean = cat\n\tsmudge = cat\n\trequired = true\n",
    )
    .unwrap();
    site.workspace.write("x.bin", "large\n");
    let mut client = Client::connect(&site, "local");
    fails(&mut client, "git.commit", json!({"binding_id": HERE, "message": "x"}), "needs_filter");
    // Git ignores a filter that is not defined.
    std::fs::remove_file(site.workspace.path().join("x.bin")).unwrap();
    site.workspace.write("x.raw", "small\n");
    done(&mut client, "git.commit", json!({"binding_id": HERE, "message": "x"}));
}

#[test]
fn non_utf8_names_are_committed_and_reported() {
    use std::os::unix::ffi::OsStrExt as _;
    let site = site();
    let name = std::ffi::OsStr::from_bytes(b"caf\xe9.txt");
    std::fs::write(site.workspace.path().join(name), "text\n").unwrap();
    let mut client = Client::connect(&site, "local");
    let made = done(&mut client, "git.commit", json!({"binding_id": HERE, "message": "x"}));
    assert_eq!(site.workspace.git(["status", "--porcelain"]), "");
    let commit = |name: &Value| json!({"type": "commit", "reference": name});
    let artifacts = [commit(&made["commit_sha"]), commit(&json!("0123456789abcdef0123456789abcdef01234567"))];
    let report = json!({"status": "completed", "summary": "Done", "artifacts": artifacts});
    let report = done(&mut client, "report.completion", report);
    assert_eq!(report["missing_references"], json!(["0123456789abcdef0123456789abcdef01234567"]));
}

#[test]
fn a_push_is_asked_about_each_time_and_never_forced() {
    let site = site();
    let mut client = Client::connect(&site, "local");
    site.workspace.write("a.txt", "two\n");
    let made = done(&mut client, "git.commit", json!({"binding_id": HERE, "message": "Two"}));
    assert_eq!(done(&mut client, "gitStatus", json!({}))["ahead"], 1);
    let pushed = agreed(&site, &mut client, "git.push", json!({"binding_id": HERE}));
    assert_stands(&pushed, "completed", "");
    assert_eq!(pushed["structuredContent"]["commit_sha"], made["commit_sha"]);
    let origin = site.beside("origin.git").display().to_string();
    let there = site.workspace.git(["--git-dir", &origin, "rev-parse", "main"]);
    assert_eq!(json!(there.trim()), made["commit_sha"]);
    assert_eq!(done(&mut client, "gitStatus", json!({}))["ahead"], 0);
    // A diverged history is rejected.
    site.workspace.git(["reset", "--quiet", "--hard", "HEAD~1"]);
    site.workspace.write("a.txt", "three\n");
    done(&mut client, "git.commit", json!({"binding_id": HERE, "message": "Three"}));
    let rejected = agreed(&site, &mut client, "git.push", json!({"binding_id": HERE, "ref": "main"}));
    assert_eq!(about(&rejected)["code"], "rejected", "{rejected:#}");
    fails(&mut client, "git.refresh", json!({"binding_id": HERE}), "not_fast_forward");
    // A call that must fail does not ask a person.
    for args in
        [json!({"ref": "+main"}), json!({"ref": "-f"}), json!({"ref": "a:b"}), json!({"remote": "-x"})]
    {
        let mut args = args;
        args["binding_id"] = json!(HERE);
        assert_stands(&client.call("git.push", args), "refused", "invalid_arguments");
    }
    for (paths, code) in [(["../x"], "path_outside"), ([".env"], "protected_path")] {
        let args = json!({"binding_id": HERE, "message": "x", "paths": paths});
        assert_stands(&client.call("git.commit", args), "refused", code);
    }
    let nothing = json!({"binding_id": HERE, "message": " "});
    assert_stands(&client.call("git.commit", nothing), "refused", "invalid_arguments");
    // A remote that the policy does not allow is refused before a person is asked.
    site.workspace.git(["remote", "set-url", "origin", "https://forge.example/x"]);
    let args = json!({"binding_id": HERE, "ref": "main", "remote": "origin"});
    assert_stands(&client.call("git.push", args), "refused", "url_not_allowed");
}

#[test]
fn repositories_are_cloned_and_updated_in_volumes() {
    let site = site();
    let origin = site.beside("origin.git").display().to_string();
    let mut client = Client::connect(&site, "local");
    for (url, code) in [
        ("https://forge.example/x", "url_not_allowed"),
        ("ext::sh -c id", "url_not_plain"),
        ("--upload-pack=x", "url_not_plain"),
        ("https://user@forge.example/x", "credentials_in_url"),
        ("https://u:p@forge.example/x", "credentials_in_url"),
    ] {
        fails(&mut client, "git.clone", json!({"repo_url": url, "label": "x"}), code);
    }
    let no = json!({"repo_url": origin, "label": "x", "auto_refresh": true});
    fails(&mut client, "git.clone", no, "argument_not_allowed");
    let none = json!({"repo_url": origin, "label": "x", "git_ref": {"kind": "branch", "value": "none"}});
    fails(&mut client, "git.clone", none, "ref_not_found");
    assert_eq!(done(&mut client, "volume.list", json!({}))["total"], 0);
    let cloned =
        done(&mut client, "git.clone", json!({"repo_url": origin, "label": "copy"}))["binding"].clone();
    let (id, volume) = (cloned["binding_id"].clone(), cloned["volume_id"].clone());
    assert_eq!((&cloned["status"], &cloned["label"]), (&json!("ready"), &json!("copy")));
    let read = done(&mut client, "file.read", json!({"volume_id": volume, "path": "a.txt"}));
    assert_eq!(read["content"], "one\n");
    assert_eq!(done(&mut client, "git.list", json!({}))["total"], 2);
    // The file tools for volumes cannot reach the git directory.
    let listed = done(&mut client, "file.list", json!({"volume_id": volume, "path": ""}));
    assert!(!listed["entries"].to_string().contains(".git\""), "{listed:#}");
    site.workspace.write("a.txt", "one\nmore\n");
    site.workspace.git(["commit", "--quiet", "--all", "--message=More"]);
    site.workspace.git(["push", "--quiet"]);
    let refreshed = done(&mut client, "git.refresh", json!({"binding_id": id}));
    assert_eq!(refreshed["changed"], true);
    assert_eq!(
        refreshed["binding"]["last_commit_sha"],
        json!(site.workspace.git(["rev-parse", "HEAD"]).trim())
    );
    assert_eq!(done(&mut client, "git.refresh", json!({"binding_id": id}))["changed"], false);
    done(&mut client, "file.write", json!({"volume_id": volume, "path": "a.txt", "content": "mine\n"}));
    fails(&mut client, "git.refresh", json!({"binding_id": id}), "dirty_tree");
    done(&mut client, "git.commit", json!({"binding_id": id, "message": "Mine"}));
    let pushed = agreed(&site, &mut client, "git.push", json!({"binding_id": id}));
    assert_stands(&pushed, "completed", "");
    // The workspace is updated, too.
    assert_eq!(done(&mut client, "git.refresh", json!({"binding_id": HERE}))["changed"], true);
    assert_eq!(site.workspace.read_text("a.txt"), "mine\n");
    fails(&mut client, "volume.delete", json!({"volume_id": volume}), "in_use");
    assert_eq!(done(&mut client, "git.delete", json!({"binding_id": id}))["deleted"], true);
    fails(&mut client, "git.status", json!({"binding_id": id}), "not_found");
    assert_eq!(done(&mut client, "volume.list", json!({}))["total"], 0);
    fails(&mut client, "git.delete", json!({"binding_id": HERE}), "invalid_arguments");
}

#[test]
fn refresh_keeps_state_and_untracked_files() {
    let site = site();
    let mut client = Client::connect(&site, "local");
    let other = site.beside("other");
    let there = other.display().to_string();
    let origin = site.beside("origin.git").display().to_string();
    site.workspace.git(["clone", "--quiet", &origin, &there]);
    site.workspace.write(".gitignore", ".brigade\n.env\ncache\n");
    site.workspace.git(["commit", "--quiet", "--all", "--message=Ignore"]);
    site.workspace.git(["push", "--quiet"]);
    site.workspace.git(["-C", &there, "pull", "--quiet"]);
    let start = site.workspace.git(["rev-parse", "HEAD"]).trim().to_owned();
    let policy = site.workspace.read_text(POLICY);
    site.workspace.write(".env", "mine\n");
    site.workspace.write("cache/kept", "mine\n");
    let push = |path: &str, link: bool| {
        site.workspace.git(["-C", &there, "reset", "--quiet", "--hard", &start]);
        let path = other.join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        match link {
            true => std::os::unix::fs::symlink("a.txt", &path).unwrap(),
            false => std::fs::write(&path, "theirs\n").unwrap(),
        }
        site.workspace.git(["-C", &there, "add", "--force", "."]);
        site.workspace.git(["-C", &there, "commit", "--quiet", "--message=Theirs"]);
        site.workspace.git(["-C", &there, "push", "--quiet", "--force"]);
        std::fs::remove_file(&path).unwrap();
    };
    for (path, link, code) in [
        (".brigade/tools/policy.toml", false, "protected_path"),
        (".brigade/tools/profiles.toml", false, "protected_path"),
        (".brigade", true, "protected_path"),
        ("lib/.Brigade/x", false, "protected_path"),
        (".env", false, "dirty_tree"),
        (".env/x", false, "dirty_tree"),
        ("cache", true, "dirty_tree"),
        ("cache/kept", false, "dirty_tree"),
    ] {
        push(path, link);
        fails(&mut client, "git.refresh", json!({"binding_id": HERE}), code);
        assert_eq!(site.workspace.git(["rev-parse", "HEAD"]).trim(), start, "{path}");
        assert_eq!(site.workspace.read_text(POLICY), policy, "{path}");
        assert!(!site.workspace.exists(".brigade/tools/profiles.toml"), "{path}");
        assert_eq!(site.workspace.read_text(".env"), "mine\n");
        assert_eq!(site.workspace.read_text("cache/kept"), "mine\n");
    }
    push("cache/new", false);
    assert_eq!(done(&mut client, "git.refresh", json!({"binding_id": HERE}))["changed"], true);
    assert_eq!(site.workspace.read_text("cache/new"), "theirs\n");
    assert_eq!(site.workspace.read_text("cache/kept"), "mine\n");
}

/// Configures a program everywhere a repository can name one. The program leaves a file.
fn poison(site: &Site, folder: &str) -> String {
    let mark = site.beside("ran").display().to_string();
    let trap = site.beside("trap.sh").display().to_string();
    let script = format!("#!/bin/sh\necho \"$0 $*\" >> {mark}\ncat\n");
    site.write_program("trap.sh", &script);
    std::fs::copy(site.workspace.join("trap.sh"), &trap).unwrap();
    site.workspace.remove("trap.sh");
    for hook in [
        "pre-commit",
        "commit-msg",
        "post-commit",
        "prepare-commit-msg",
        "post-checkout",
        "post-merge",
        "pre-push",
        "reference-transaction",
        "post-index-change",
        "post-rewrite",
        "pre-auto-gc",
        "fsmonitor-watchman",
    ] {
        site.write_program(&format!("{folder}.git/hooks/{hook}"), &script);
    }
    let config = format!(
        "[core]\n\tfsmonitor = {trap}\n\thooksPath = {folder}.git/hooks\n\tsshCommand = {trap}\n\teditor = {trap}\n\
         \tpager = {trap}\n\taskPass = {trap}\n\tgitProxy = {trap}\n\talternateRefsCommand = {trap}\n\
         [filter \"trap\"]\n\tclean = {trap}\n\tsmudge = {trap}\n\tprocess = {trap}\n\trequired = true\n\
         [diff]\n\texternal = {trap}\n[diff \"trap\"]\n\tcommand = {trap}\n\ttextconv = {trap}\n\
         [merge \"trap\"]\n\tdriver = {trap}\n[alias]\n\tstatus = !{trap}\n\tdiff = !{trap}\n\tlog = !{trap}\n\
         [credential]\n\thelper = !{trap}\n[gpg]\n\tprogram = {trap}\n[commit]\n\tgpgSign = true\n\
         [log]\n\tshowSignature = true\n[pager]\n\tdiff = {trap}\n\tlog = {trap}\n[submodule]\n\trecurse = true\n\
         [status]\n\tsubmoduleSummary = true\n[sequence]\n\teditor = {trap}\n[interactive]\n\tdiffFilter = {trap}\n\
         [remote \"origin\"]\n\tuploadpack = {trap}\n\treceivepack = {trap}\n"
    );
    let path = format!("{folder}.git/config");
    let before = site.workspace.read_text(&path);
    site.workspace.write(&path, format!("{before}{config}"));
    mark
}

#[test]
fn a_hostile_repository_makes_git_start_nothing() {
    let site = site();
    // A nested repository, which a plain `git status` would enter.
    let inner = site.workspace.join("sub").display().to_string();
    site.workspace.git(["init", "--quiet", &inner]);
    site.workspace.write("sub/x", "x\n");
    site.workspace.git(["-C", &inner, "add", "--all"]);
    site.workspace.git(["-C", &inner, "commit", "--quiet", "--message=Sub"]);
    site.workspace.git(["-c", "advice.addEmbeddedRepo=false", "add", "sub"]);
    site.workspace.write("plain.txt", "plain\n");
    site.workspace.git(["add", "plain.txt"]);
    site.workspace.git(["commit", "--quiet", "--message=Sub"]);
    let mark = poison(&site, "");
    poison(&site, "sub/");
    site.workspace.write(".gitattributes", "*.bin filter=trap diff=trap merge=trap\n");
    site.workspace.write("x.bin", "x\n");
    site.workspace.write("plain.txt", "changed\n");
    site.workspace.write("sub/x", "changed\n");
    let mut client = Client::connect(&site, "local");
    assert_eq!(done(&mut client, "git.status", json!({"binding_id": HERE}))["dirty"], true);
    done(&mut client, "git.diff", json!({"binding_id": HERE}));
    done(&mut client, "git.diff", json!({"binding_id": HERE, "staged": true}));
    done(&mut client, "git.log", json!({"binding_id": HERE}));
    done(&mut client, "git.list", json!({}));
    // A file that needs a filter is refused. Everything else is committed without hooks.
    fails(&mut client, "git.commit", json!({"binding_id": HERE, "message": "x"}), "needs_filter");
    let paths = ["plain.txt", ".gitattributes"];
    done(&mut client, "git.commit", json!({"binding_id": HERE, "message": "Plain", "paths": paths}));
    done(&mut client, "lane.create", json!({"name": "Hostile"}));
    done(&mut client, "lane.list", json!({}));
    site.workspace.remove("x.bin");
    fails(&mut client, "git.refresh", json!({"binding_id": HERE}), "unsafe_repository");
    let answer = agreed(&site, &mut client, "git.push", json!({"binding_id": HERE}));
    assert_eq!(about(&answer)["code"], "unsafe_repository", "{answer:#}");
    let ran = std::fs::read_to_string(&mark).unwrap_or_default();
    assert_eq!(ran, "", "programs of the repository ran");
    // The trap works: git runs it when a person starts git.
    let mut plain = std::process::Command::new("git");
    plain.args(["hook", "run", "post-commit"]).current_dir(site.workspace.path());
    plain.env("HOME", site.workspace.home()).output().unwrap();
    assert_ne!(std::fs::read_to_string(&mark).unwrap_or_default(), "");
}

/// Issue 17: a diff ended in the middle of a line without a note that it was cut.
#[test]
fn a_diff_that_is_cut_says_so() {
    let site = site();
    let lines: String = (0..20_000).map(|line| format!("{line}\n")).collect();
    site.workspace.write("a.txt", lines);
    let mut client = Client::connect(&site, "local");
    let diff = client.call("git.diff", json!({"binding_id": HERE}));
    assert_stands(&diff, "completed", "");
    assert_eq!(diff["structuredContent"]["truncated"], true);
    let said = text(&diff);
    assert!(said.ends_with(" bytes; `fs.read` shows a file]\n"), "{}", &said[said.len() - 100..]);
}

/// Issue 17: a repository that git could not read appeared empty, so that no lane could be created.
#[test]
fn an_unreadable_repository_is_not_empty() {
    let site = site();
    let config = site.workspace.read_text(".git/config");
    // The sandbox keeps git from reading this file.
    std::fs::write(site.workspace.home().join("more"), "[core]\n").unwrap();
    let more = site.workspace.home().join("more");
    site.workspace.write(".git/config", format!("{config}[include]\n\tpath = {}\n", more.display()));
    let mut client = Client::connect(&site, "local");
    for (tool, args) in [("git.log", json!({})), ("lane.create", json!({"name": "x"}))] {
        fails(&mut client, tool, args, "git_failed");
    }
}

#[test]
fn a_lane_with_a_foreign_directory_is_not_archived() {
    let site = site();
    let mut client = Client::connect(&site, "local");
    let lane = done(&mut client, "lane.create", json!({"name": "Lost"}));
    let (id, path) = (lane["lane_id"].clone(), lane["worktree_path"].as_str().unwrap().to_owned());
    let elsewhere = site.workspace.join("elsewhere").display().to_string();
    site.workspace.git(["init", "--quiet", &elsewhere]);
    site.workspace.write(format!("{path}/.git"), format!("gitdir: {elsewhere}/.git\n"));
    site.workspace.write(format!("{path}/new.txt"), "work\n");
    fails(&mut client, "lane.archive", json!({"lane_id": id}), "unsafe_repository");
    let seen = done(&mut client, "lane.get", json!({"lane_id": id}));
    assert_eq!((&seen["dirty"], &seen["archived"]), (&json!(true), &json!(false)), "{seen:#}");
    assert_eq!(site.workspace.read_text(format!("{path}/new.txt")), "work\n");
}

#[test]
fn commits_without_a_branch_count_as_lane_work() {
    let site = site();
    let mut client = Client::connect(&site, "local");
    for checkout in [&["checkout", "--quiet", "--detach"][..], &["checkout", "--quiet", "-b", "other"]] {
        let lane = done(&mut client, "lane.create", json!({"name": "Apart"}));
        let path = lane["worktree_path"].as_str().unwrap();
        let top = site.workspace.join(path).display().to_string();
        site.workspace.git([&["-C", top.as_str()], checkout].concat());
        site.workspace.write(format!("{path}/a.txt"), "apart\n");
        site.workspace.git(["-C", &top, "commit", "--quiet", "--all", "--message=Apart"]);
        let id = lane["lane_id"].clone();
        assert_eq!(done(&mut client, "lane.get", json!({"lane_id": id}))["ahead"], 1);
        let waits = client.call("lane.archive", json!({"lane_id": id}));
        assert_stands(&waits, "pending", "approval_pending");
        assert_eq!(site.workspace.read_text(format!("{path}/a.txt")), "apart\n");
    }
}

#[test]
fn lanes_are_worktrees_that_never_wait_for_each_other() {
    let site = site();
    let mut client = Client::connect(&site, "local");
    let lane = done(&mut client, "createLane", json!({"name": "Fix the log-in", "description": "x"}));
    let (id, branch) =
        (lane["lane_id"].as_str().unwrap().to_owned(), lane["branch"].as_str().unwrap().to_owned());
    assert!(branch.starts_with("brigade/fix-the-log-in-"), "{branch}");
    let path = lane["worktree_path"].as_str().unwrap().to_owned();
    assert_eq!(path, format!(".brigade/lanes/{id}"));
    assert_eq!(site.workspace.read_text(format!("{path}/a.txt")), "one\n");
    assert_eq!(site.workspace.git(["status", "--porcelain"]), "");
    let expect = json!({"id": id, "name": "Fix the log-in", "branch": branch, "base": "main", "path": path,
        "dirty": false, "ahead": 0, "behind": 0, "parent": null, "archived": false});
    assert_eq!(done(&mut client, "inspectLane", json!({"lane_id": id})), expect);
    let top = site.workspace.join(&path).display().to_string();
    site.workspace.write(format!("{path}/a.txt"), "two\n");
    assert_eq!(done(&mut client, "lane.get", json!({"lane_id": id}))["dirty"], true);
    site.workspace.git(["-C", &top, "commit", "--quiet", "--all", "--message=Two"]);
    assert_eq!(done(&mut client, "lane.get", json!({"lane_id": id}))["ahead"], 1);
    // A lane of a lane starts at the branch of its parent.
    let child = done(&mut client, "lane.create", json!({"name": "Child", "parentLaneId": id}));
    let read = site.workspace.read_text(format!("{}/a.txt", child["worktree_path"].as_str().unwrap()));
    assert_eq!(read, "two\n");
    assert_eq!(done(&mut client, "lane.get", json!({"lane_id": child["lane_id"]}))["parent"], json!(id));
    let renamed = done(&mut client, "renameLane", json!({"lane_id": id, "name": "Log-in"}));
    assert_eq!((&renamed["lane"]["name"], &renamed["lane"]["branch"]), (&json!("Log-in"), &json!(branch)));
    // Unmerged work is kept unless a person approves. A rule cannot approve it (issue 17).
    let waits = client.call("lane.archive", json!({"lane_id": id, "name": "Log-in"}));
    assert_stands(&waits, "pending", "approval_pending");
    assert!(text(&waits).contains("the lane has commits that are not merged"), "{waits:#}");
    let archived = agreed(&site, &mut client, "archiveLane", json!({"lane_id": id, "name": "Log-in"}));
    assert_eq!(archived["structuredContent"]["lane"]["archived"], true, "{archived:#}");
    assert!(!site.workspace.exists(&path));
    assert_eq!(site.workspace.git(["log", "-1", "--format=%s", &branch]), "Two\n");
    // A rule can archive a lane without work.
    let empty = done(&mut client, "lane.create", json!({"name": "Empty"}))["lane_id"].clone();
    assert_eq!(done(&mut client, "lane.archive", json!({"lane_id": empty}))["lane"]["archived"], true);
    // Several clients at once.
    let mut clients: Vec<Client> = (0..4).map(|_| Client::connect(&site, "local")).collect();
    let asked: Vec<u64> = clients
        .iter_mut()
        .map(|client| client.send_call("lane.create", json!({"name": "Same name"})))
        .collect();
    let branches: BTreeSet<String> = clients
        .iter_mut()
        .zip(asked)
        .map(|(client, id)| {
            let answer = client.answer(id)["result"].clone();
            assert_stands(&answer, "completed", "");
            answer["structuredContent"]["branch"].as_str().unwrap().to_owned()
        })
        .collect();
    assert_eq!(branches.len(), 4);
    let listed = done(&mut clients[0], "listLanes", json!({}));
    assert_eq!(listed["lanes"].as_array().unwrap().len(), 7);
}

#[test]
fn a_context_limits_what_git_takes_shows_and_reaches() {
    let site = site();
    site.workspace.write("docs/a.txt", "one\n");
    site.workspace.git(["add", "--all"]);
    site.workspace.git(["commit", "--quiet", "--message=Docs"]);
    site.workspace.write(
        ".brigade/tools/profiles.toml",
        "[[profile]]\nname = \"context.docs\"\n\n[[profile.rule]]\nmatch = \"*\"\naction = \"allow\"\n\
         constrain = { paths = [\"docs\"], domains = [\"forge.example\"] }\n",
    );
    let mut client = Client::start(&site, &["--profile", "context.docs"]);
    client.hello("2025-11-25", json!({}));
    site.workspace.write("a.txt", "PRIVATE\n");
    site.workspace.write("docs/a.txt", "two\n");
    let shown = client.call("git.diff", json!({"binding_id": HERE}));
    assert!(text(&shown).contains("+two") && !shown.to_string().contains("PRIVATE"), "{shown:#}");
    let commit = |paths: Value| json!({"binding_id": HERE, "message": "Change", "paths": paths});
    fails(&mut client, "git.commit", json!({"binding_id": HERE, "message": "All"}), "outside_context");
    fails(&mut client, "git.commit", commit(json!(["a.txt"])), "outside_context");
    done(&mut client, "git.commit", commit(json!(["docs"])));
    assert_eq!(site.workspace.git(["status", "--porcelain"]), " M a.txt\n");
    let report = json!({"status": "completed", "summary": "Done", "artifacts": [{"type": "file", "reference": "a.txt"}]});
    fails(&mut client, "report.completion", report, "outside_context");
    // The context does not list the host of the configured remote.
    site.workspace.git(["checkout", "--quiet", "a.txt"]);
    fails(&mut client, "git.refresh", json!({"binding_id": HERE}), "outside_context");
    let pushed = agreed(&site, &mut client, "git.push", json!({"binding_id": HERE}));
    assert_eq!(about(&pushed)["code"], "outside_context", "{pushed:#}");
}

#[test]
fn a_proof_is_a_copy_with_its_hash() {
    let site = site();
    let mut client = Client::connect(&site, "local");
    let kept = done(&mut client, "proof.attach", json!({"path": "a.txt", "description": "The text"}));
    assert_eq!(kept["size_bytes"], 4);
    let copy = format!(".brigade/proofs/{}", kept["artifact_id"].as_str().unwrap());
    site.workspace.write("a.txt", "changed\n");
    assert_eq!(site.workspace.read_text(&copy), "one\n");
    fails(&mut client, "proof.attach", json!({"path": ".git/config"}), "protected_path");
    fails(&mut client, "proof.attach", json!({"path": "../x"}), "path_outside");
    fails(&mut client, "proof.attach", json!({"path": "none"}), "not_found");
}

#[test]
fn without_a_repository_its_tools_are_not_here() {
    let site = Site::empty();
    site.workspace.write(POLICY, rules(""));
    site.workspace.write(".brigade/tools.toml", "");
    let mut client = Client::connect(&site, "local");
    let refused = client.call("git.status", json!({"binding_id": HERE}));
    assert_stands(&refused, "refused", "not_available_here");
    assert!(text(&refused).contains("git.repository"), "{refused:#}");
    assert_eq!(done(&mut client, "git.list", json!({}))["total"], 0);
}

#[test]
fn clones_work_without_a_workspace_repository() {
    // Issue 17: the tools for clones were available only after `git init` in the workspace.
    let source = site();
    let site = Site::empty();
    let origin = source.beside("origin.git").display().to_string();
    site.workspace.write(POLICY, rules(&format!("{origin:?}")));
    site.workspace.write(".brigade/tools.toml", "");
    let profiles = "[\"permission.full-auto\", \"access.operator\"]";
    site.workspace.write(GATEWAY, format!("[[agent]]\nname = \"local\"\nprofiles = {profiles}\n"));
    let mut client = Client::connect(&site, "local");
    let id =
        done(&mut client, "git.clone", json!({"repo_url": origin, "label": "copy"}))["binding"]["binding_id"]
            .clone();
    assert_eq!(done(&mut client, "git.status", json!({"binding_id": id}))["dirty"], false);
    assert_eq!(
        done(&mut client, "git.log", json!({"binding_id": id}))["commits"].as_array().unwrap().len(),
        1
    );
    fails(&mut client, "git.status", json!({"binding_id": HERE}), "not_available_here");
    fails(&mut client, "lane.list", json!({}), "not_available_here");
    done(&mut client, "git.delete", json!({"binding_id": id}));
    fails(&mut client, "git.status", json!({"binding_id": id}), "not_available_here");
}
