//! `pr.*`: pull requests of lanes, their checks and comments.

#![allow(
    clippy::unwrap_used,
    clippy::disallowed_methods,
    reason = "tests set up files and programs, and one that cannot read an answer fails"
)]

use brigade_tests::Site;
use serde_json::{Value, json};

use crate::serve_common::{Client, GATEWAY, POLICY, about, add, assert_stands, done, entry, id_of, text};

const RULES: &str = r#"allowed_families = ["builtin", "script"]
allowed_effects = ["local-read", "local-write", "state-write", "process-exec"]

[[auto_approve]]
name = "lanes"
tools = ["lane.*", "pr.*", "passes", "fails"]
effects = ["local-read", "local-write", "state-write", "process-exec"]
"#;

/// Returns a repository with two checks. One of them takes the branch as an argument and records it.
fn site() -> Site {
    let site = Site::empty();
    site.workspace.write(POLICY, RULES);
    site.workspace.write(".brigade/tools.toml", "");
    site.workspace.write(".gitignore", ".brigade/\n");
    site.workspace.write("a.txt", "one\n");
    let profiles = "[\"permission.full-auto\", \"access.operator\"]";
    site.workspace.write(GATEWAY, format!("[[agent]]\nname = \"local\"\nprofiles = {profiles}\n"));
    for name in ["text", "branch"] {
        let schema = json!({"type": "object", "properties": {name: {"type": "string"}}});
        site.workspace.write(format!("schemas/{name}.json"), schema.to_string());
    }
    let test = "categories = [\"test\"]\neffects = [\"local-write\"]\n";
    let entry = entry("passes", test)
        .replace("{ text = \"{text}\" }", "{ branch = \"--branch={branch}\" }")
        .replace("schemas/text", "schemas/branch");
    site.workspace.write("bin/passes.sh", "echo \"$@\" > told\n");
    site.add_to_catalog(&entry);
    add(&site, "fails", test, "test -e mended\n");
    site.trust(["passes", "fails"]);
    site.workspace.git_init();
    site
}

#[track_caller]
fn fails(client: &mut Client, tool: &str, args: Value, code: &str) {
    let answer = client.call(tool, args.clone());
    assert_eq!(about(&answer)["code"], code, "{tool} {args}: {answer:#}");
    assert_eq!(answer["isError"], true);
}

/// Approves a call as a person, and returns its result.
#[track_caller]
fn agreed(site: &Site, client: &mut Client, tool: &str, args: Value) -> Value {
    let asked = client.call(tool, args);
    assert_stands(&asked, "pending", "approval_pending");
    site.json(["call", "approve", &id_of(&asked)]).expect(0);
    client.call("call.wait", json!({"call_id": id_of(&asked)}))
}

/// Makes a lane with a commit.
fn lane(site: &Site, client: &mut Client) -> Value {
    let lane = done(client, "lane.create", json!({"name": "Log in", "description": "Lets people in."}));
    let path = lane["worktree_path"].as_str().unwrap();
    site.workspace.write(format!("{path}/b.txt"), "two\n");
    site.workspace.git(["-C", path, "add", "b.txt"]);
    site.workspace.git(["-C", path, "commit", "--quiet", "-m", "Add two"]);
    lane
}

/// Returns the status of each check, by name.
fn statuses(seen: &Value) -> Vec<(&str, &str)> {
    let checks = seen["checks"].as_array().unwrap().iter();
    checks.map(|check| (check["name"].as_str().unwrap(), check["status"].as_str().unwrap())).collect()
}

#[test]
fn the_work_of_a_lane_is_reviewed_and_checked() {
    let site = site();
    let mut client = Client::connect(&site, "local");
    let names = client.names();
    for name in ["pr.create", "pr.comments", "pr.inventory", "pr.reply", "pr.resolve", "pr.rerun_checks"] {
        assert!(names.contains(&name.to_owned()), "{names:?}");
    }
    let empty = done(&mut client, "lane.create", json!({"name": "Empty"}));
    fails(&mut client, "pr.create", json!({"laneId": empty["lane_id"]}), "nothing_to_review");
    let lane = lane(&site, &mut client);
    // No rule covers it, so a person is asked.
    let made = agreed(&site, &mut client, "createPrFromLane", json!({"laneId": lane["lane_id"]}));
    assert_stands(&made, "completed", "");
    assert_eq!(about(&made)["tool"], "pr.create");
    let made = made["structuredContent"].clone();
    assert_eq!(
        (&made["title"], &made["branch"], &made["base"], &made["url"]),
        (&json!("Log in"), &lane["branch"], &json!("main"), &json!("brigade://pr/1"))
    );
    fails(&mut client, "pr.create", json!({"laneId": lane["lane_id"]}), "already_open");
    let seen = done(&mut client, "pr.inventory", json!({"prNumber": 1}));
    assert!(seen["summary"].as_str().unwrap().ends_with("\n\nLets people in."), "{seen:#}");
    assert!(seen["summary"].as_str().unwrap().contains("open, 1 commits"), "{seen:#}");
    assert_eq!(statuses(&seen), [("passes", "not_run"), ("fails", "not_run")], "{seen:#}");
    // Each check is a call with a receipt. A check with this argument gets the branch.
    let asked = done(&mut client, "prRerunFailedChecks", json!({"prId": made["pr_id"]}));
    let ids: Vec<&str> = asked["rerun"].as_array().unwrap().iter().map(|id| id.as_str().unwrap()).collect();
    assert_eq!(ids.len(), 2, "{asked:#}");
    for id in &ids {
        client.call("call.wait", json!({"call_id": id}));
    }
    let seen = done(&mut client, "prGetChecks", json!({"prNumber": 1}));
    assert_eq!(statuses(&seen), [("passes", "passed"), ("fails", "failed")], "{seen:#}");
    let told = site.workspace.read_text("told");
    assert_eq!(told.trim(), format!("--branch={}", lane["branch"].as_str().unwrap()));
    assert_eq!(
        (&seen["checks"][0]["looked_at"], &seen["checks"][1]["looked_at"]),
        (&json!("branch"), &json!("workspace"))
    );
    // Only the failed check runs again.
    site.workspace.write("mended", "");
    let asked = done(&mut client, "pr.rerun_checks", json!({"prNumber": 1}));
    let [again] = asked["rerun"].as_array().unwrap().as_slice() else { panic!("{asked:#}") };
    client.call("call.wait", json!({"call_id": again}));
    let seen = done(&mut client, "pr.inventory", json!({"prNumber": 1}));
    assert_eq!(statuses(&seen), [("passes", "passed"), ("fails", "passed")], "{seen:#}");
    let none = done(&mut client, "pr.rerun_checks", json!({"prNumber": 1}));
    assert_eq!(none["rerun"], json!([]));
    // A check that passed for another commit does not count, and runs again.
    let path = lane["worktree_path"].as_str().unwrap();
    let before = site.workspace.git(["-C", path, "rev-parse", "HEAD"]).trim().to_owned();
    assert_eq!(seen["checks"][0]["commit"], json!(before), "{seen:#}");
    site.workspace.write(format!("{path}/b.txt"), "three\n");
    site.workspace.git(["-C", path, "commit", "--quiet", "-am", "Add three"]);
    let seen = done(&mut client, "pr.inventory", json!({"prNumber": 1}));
    assert_eq!(statuses(&seen), [("passes", "outdated"), ("fails", "passed")], "{seen:#}");
    assert!(seen["summary"].as_str().unwrap().contains("1 passed, 0 failed, 1 outdated"), "{seen:#}");
    site.workspace.write("a.txt", "two\n");
    let seen = done(&mut client, "pr.inventory", json!({"prNumber": 1}));
    assert_eq!(statuses(&seen), [("passes", "outdated"), ("fails", "outdated")], "{seen:#}");
    site.workspace.git(["checkout", "--quiet", "a.txt"]);
    let asked = done(&mut client, "pr.rerun_checks", json!({"prNumber": 1}));
    let [again] = asked["rerun"].as_array().unwrap().as_slice() else { panic!("{asked:#}") };
    client.call("call.wait", json!({"call_id": again}));
    let seen = done(&mut client, "pr.inventory", json!({"prNumber": 1}));
    assert_eq!(statuses(&seen), [("passes", "passed"), ("fails", "passed")], "{seen:#}");
    // When the base contains the work, the request is merged.
    site.workspace.git(["merge", "--quiet", lane["branch"].as_str().unwrap()]);
    let seen = done(&mut client, "pr.inventory", json!({"prNumber": 1}));
    assert!(seen["summary"].as_str().unwrap().contains(": merged;"), "{seen:#}");
    for args in [json!({}), json!({"prNumber": 1, "prId": made["pr_id"]})] {
        fails(&mut client, "pr.inventory", args, "invalid_arguments");
    }
    fails(&mut client, "pr.inventory", json!({"prNumber": 2}), "not_found");
}

/// Issue 17: conditions for a pull request are checked before a person is asked, and again when it is created.
#[test]
fn a_lane_never_has_two_pull_requests() {
    let site = site();
    let mut client = Client::connect(&site, "local");
    let lane = lane(&site, &mut client)["lane_id"].clone();
    let asked = |client: &mut Client, title: &str| {
        let asked = client.call("pr.create", json!({"laneId": lane, "title": title}));
        assert_stands(&asked, "pending", "approval_pending");
        id_of(&asked)
    };
    let ids = ["One", "Two"].map(|title| asked(&mut client, title));
    ids.iter().for_each(|id| drop(site.json(["call", "approve", id]).expect(0)));
    let [one, two] = ids.map(|id| client.call("call.wait", json!({"call_id": id})));
    assert_stands(&one, "completed", "");
    assert_eq!(about(&two)["code"], "already_open", "{two:#}");
    let id = one["structuredContent"]["pr_id"].as_str().unwrap();
    let plan = |args: Value, code: i32| {
        let plan = site.json(["call", "plan", "pr.create", "--args", &args.to_string()]).expect(code);
        plan["blocker_details"].as_array().unwrap().iter().map(|row| row["code"].clone()).collect::<Vec<_>>()
    };
    assert_eq!(plan(json!({"laneId": lane, "title": "Three"}), 1), ["already_open"]);
    assert_eq!(plan(json!({"laneId": "lane-nothing"}), 1), ["not_found"]);
    site.brigade.run(["work", "pr", "close", id]).assert_code(0);
    assert_eq!(plan(json!({"laneId": lane, "title": "Three"}), 0), [""; 0]);
    asked(&mut client, "Three");
}

#[test]
fn people_and_agents_talk_in_threads() {
    let site = site();
    let mut client = Client::connect(&site, "local");
    let lane = lane(&site, &mut client);
    agreed(&site, &mut client, "pr.create", json!({"laneId": lane["lane_id"], "title": "Let people in"}));
    let work = |words: &[&str]| {
        let words = [&["work", "pr"][..], words, &["--json"]].concat();
        site.brigade.run(words).assert_code(0).json()
    };
    let listed = work(&["list"]);
    assert_eq!(
        (&listed["count"], &listed["pull_requests"][0]["title"]),
        (&json!(1), &json!("Let people in"))
    );
    let secret = "the key is ghp_0123456789abcdefghijklmnopqrstuvwxyzAB";
    let said = work(&["comment", "1", secret, "--path", "b.txt", "--line", "1"]);
    let thread = said["threads"][0]["id"].as_str().unwrap().to_owned();
    assert!(!said.to_string().contains("ghp_"), "{said:#}");
    work(&["comment", "#1", "Nice"]);
    let seen = done(&mut client, "prGetReviewComments", json!({"prNumber": 1}));
    let first = &seen["threads"][0];
    assert_eq!(
        (&first["id"], &first["path"], &first["line"], &first["resolved"]),
        (&json!(thread), &json!("b.txt"), &json!(1), &json!(false)),
        "{seen:#}"
    );
    assert_eq!(seen["comments"][0]["author"], "a person");
    let reply = json!({"threadId": thread, "body": "Mended."});
    let replied = agreed(&site, &mut client, "prReplyToReviewThread", reply);
    assert_stands(&replied, "completed", "");
    // A thread with a newer comment is not the one that was to be resolved.
    let asked = client.call("pr.resolve", json!({"threadId": thread}));
    site.json(["call", "approve", &id_of(&asked)]).expect(0);
    work(&["reply", &thread, "No, still broken"]);
    let refused = client.call("call.wait", json!({"call_id": id_of(&asked)}));
    assert_eq!(about(&refused)["code"], "changed_named", "{refused:#}");
    let resolved = agreed(&site, &mut client, "prResolveReviewThread", json!({"threadId": thread}));
    assert_eq!(resolved["structuredContent"], json!({"thread_id": thread, "resolved": true}));
    let shown = work(&["show", "1"]);
    let comments = &shown["threads"][0]["comments"];
    assert_eq!((&comments[1]["author"], &comments[1]["body"]), (&json!("local"), &json!("Mended.")));
    assert_eq!(
        (&shown["threads"][0]["is_resolved"], &shown["pull_request"]["open_threads"]),
        (&json!(true), &json!(1))
    );
    assert_eq!(work(&["resolve", &thread, "--off"])["pull_request"]["open_threads"], 2);
    work(&["reply", &thread, "Not yet"]);
    assert_eq!(work(&["close", "1"])["pull_request"]["is_closed"], true);
    let page = site.brigade.run(["work", "pr", "show", "1"]).assert_code(0).stdout_text();
    assert!(page.contains("Not yet") && page.contains("b.txt:1"), "{page}");
    for words in [["show", "9"], ["close", "pr-nothing"]] {
        site.brigade.run([&["work", "pr"][..], &words].concat()).assert_code(1);
    }
    let unknown = agreed(&site, &mut client, "pr.resolve", json!({"threadId": "thread-nothing"}));
    assert_eq!(about(&unknown)["code"], "not_found", "{unknown:#}");
    // Masked secrets are not in receipts or results.
    assert!(!text(&client.call("pr.comments", json!({"prNumber": 1}))).contains("ghp_"));
}

#[test]
fn a_forge_needs_a_repository() {
    let site = Site::empty();
    site.workspace.write(POLICY, RULES);
    site.workspace.write(".brigade/tools.toml", "");
    let profiles = "[\"permission.full-auto\", \"access.operator\"]";
    site.workspace.write(GATEWAY, format!("[[agent]]\nname = \"local\"\nprofiles = {profiles}\n"));
    let mut client = Client::connect(&site, "local");
    assert!(!client.names().iter().any(|name| name.starts_with("pr.")));
    fails(&mut client, "pr.inventory", json!({"prNumber": 1}), "not_available_here");
    assert_eq!(
        site.json(["call", "plan", "pr.inventory", "--args", "{\"prNumber\":1}"]).expect(1)["blockers"][0]
            .as_str()
            .map(|text| text.contains("forge")),
        Some(true)
    );
    let empty = site.brigade.run(["work", "pr", "list"]).assert_code(0).stdout_text();
    assert!(empty.contains("no pull requests"), "{empty}");
}

/// The output of `gh api graphql` (version 2) for a pull request.
const INVENTORY: &str = r#"{"data":{"repository":{"pullRequest":{"id":"PR_kwDOA1","number":12,"title":"Log in",
"body":"Lets people in.","state":"OPEN","headRefName":"brigade/log-in-1","baseRefName":"main",
"url":"https://github.example/team/app/pull/12",
"commits":{"nodes":[{"commit":{"oid":"0123456789abcdef0123456789abcdef01234567","statusCheckRollup":{"contexts":{"totalCount":3,"nodes":[
{"__typename":"CheckRun","name":"build","status":"COMPLETED","conclusion":"SUCCESS"},
{"__typename":"CheckRun","name":"lint","status":"COMPLETED","conclusion":"FAILURE"},
{"__typename":"StatusContext","context":"deploy","state":"PENDING"}]}}}}]},
"reviewThreads":{"totalCount":1,"nodes":[{"id":"PRRT_kwDOA2","path":"b.txt","line":1,"isResolved":false,"comments":{"totalCount":1,"nodes":[
{"id":"PRRC_kwDOA3","body":"Why two?","createdAt":"2026-05-01T10:00:00Z","author":{"login":"eve"}}]}}]},
"comments":{"totalCount":101,"nodes":[{"id":"IC_kwDOA4","body":"Nice.","createdAt":"2026-05-01T09:00:00Z","author":null}]}}}}}"#;

const MADE: &str = r#"{"url":"https://api.github.example/repos/team/app/pulls/12","number":12,"title":"Log in","state":"open",
"html_url":"https://github.example/team/app/pull/12","head":{"ref":"BRANCH","sha":"0123"},"base":{"ref":"main","sha":"4567"}}"#;

/// Makes a fake `gh` the forge. It records its arguments and prints what `gh` would print.
fn with_gh(site: Site) -> Site {
    let folder = site.beside("gh-bin");
    std::fs::create_dir_all(&folder).unwrap();
    let calls = site.beside("gh.calls").display().to_string();
    let script = format!(
        "#!/bin/sh\nprintf '%s\\n' \"$@\" '' >> '{calls}'\nprintf 'token %s\\n' \"$GH_TOKEN\" >> '{calls}'\n\
         case \"$*\" in\n*reviewThreads*) cat '{0}/inventory' ;;\n*pulls*) cat '{0}/made' ;;\n\
         *addPullRequestReviewThreadReply*) echo '{{\"data\":{{\"addPullRequestReviewThreadReply\":{{\"comment\":{{\"id\":\"PRRC_kwDOA5\"}}}}}}}}' ;;\n\
         *resolveReviewThread*) echo '{{\"data\":{{\"resolveReviewThread\":{{\"thread\":{{\"id\":\"PRRT_kwDOA2\",\"isResolved\":true}}}}}}}}' ;;\nesac\n",
        folder.display()
    );
    std::fs::write(folder.join("inventory"), INVENTORY).unwrap();
    std::fs::write(folder.join("made"), MADE).unwrap();
    std::fs::write(folder.join("gh"), script).unwrap();
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    std::fs::set_permissions(folder.join("gh"), mode).unwrap();
    let path = std::env::var("PATH").unwrap();
    let site = site.env("PATH", format!("{}:{path}", folder.display())).env("CANARY", "canary-4711-token");
    let rules = RULES
        .replace("\"process-exec\"]\n\n", "\"process-exec\", \"remote-read\", \"remote-mutation\"]\n\n")
        .replace("\"process-exec\"]\n", "\"process-exec\", \"remote-read\"]\n");
    site.workspace.write(
        POLICY,
        format!("{rules}\n[programs]\nforge = \"gh\"\n\n[env_bindings]\nGH_TOKEN = \"CANARY\"\n"),
    );
    site
}

/// Returns the arguments of the last call of `gh`, and its token.
fn words(site: &Site) -> Vec<String> {
    let all = std::fs::read_to_string(site.beside("gh.calls")).unwrap();
    std::fs::remove_file(site.beside("gh.calls")).unwrap();
    all.lines().map(str::to_owned).collect()
}

#[test]
fn pull_requests_use_gh_if_the_policy_names_it() {
    let site = with_gh(site());
    let mut client = Client::connect(&site, "local");
    let lane = lane(&site, &mut client);
    let branch = lane["branch"].as_str().unwrap();
    std::fs::write(site.beside("gh-bin/made"), MADE.replace("BRANCH", branch)).unwrap();
    let made =
        agreed(&site, &mut client, "pr.create", json!({"laneId": lane["lane_id"], "body": "- $(id)\n`x`"}));
    assert_stands(&made, "completed", "");
    let expect = json!({"pr_id": "12", "title": "Log in", "branch": branch, "base": "main",
        "url": "https://github.example/team/app/pull/12"});
    assert_eq!(made["structuredContent"], expect, "{made:#}");
    let said = words(&site);
    assert_eq!(said[..2], ["api", "repos/{owner}/{repo}/pulls"]);
    for word in [&format!("--raw-field=head={branch}"), "--raw-field=base=main", "--raw-field=title=Log in"] {
        assert!(said.iter().any(|said| said == word), "{word}: {said:?}");
    }
    // Text of an agent is one argument. The token comes from the policy.
    assert!(said.join("\n").contains("--raw-field=body=- $(id)\n`x`\n"), "{said:?}");
    assert_eq!(said.last().unwrap(), "token canary-4711-token");
    // It is a program that reads from the network, and a rule that allows this approves it.
    let seen = done(&mut client, "pr.inventory", json!({"prNumber": 12}));
    assert_eq!(statuses(&seen), [("build", "passed"), ("lint", "failed"), ("deploy", "waiting")], "{seen:#}");
    let summary = seen["summary"].as_str().unwrap();
    assert!(summary.contains("open") && summary.contains("100 comments"), "{summary}");
    assert_eq!(seen["threads"][0]["id"], "PRRT_kwDOA2", "{seen:#}");
    assert_eq!(
        (&seen["comments"][1]["author"], &seen["comments"][1]["body"]),
        (&json!("eve"), &json!("Why two?"))
    );
    assert!(words(&site).contains(&"--field=number=12".to_owned()));
    let again = client.call("pr.comments", json!({"prId": "12"}));
    assert_eq!(again["structuredContent"], seen);
    let replied =
        agreed(&site, &mut client, "pr.reply", json!({"threadId": "PRRT_kwDOA2", "body": "@/etc/passwd"}));
    assert_eq!(replied["structuredContent"], json!({"reply_id": "PRRC_kwDOA5"}), "{replied:#}");
    assert!(words(&site).contains(&"--raw-field=body=@/etc/passwd".to_owned()));
    let resolved = agreed(&site, &mut client, "pr.resolve", json!({"threadId": "PRRT_kwDOA2"}));
    assert_eq!(resolved["structuredContent"], json!({"thread_id": "PRRT_kwDOA2", "resolved": true}));
    // The receipt is that of a program, without the token.
    let run = about(&made)["run_id"].as_str().unwrap();
    let receipt = site.json(["run", "show", run]).expect(0)["run"].clone();
    assert!(receipt["binding"]["program"]["path"].as_str().unwrap().ends_with("gh-bin/gh"), "{receipt:#}");
    assert_eq!(receipt["effects"], json!(["remote-mutation"]));
    assert!(!receipt.to_string().contains("canary-4711"));
    // The forge itself runs the checks.
    assert!(!client.names().contains(&"pr.rerun_checks".to_owned()));
    fails(&mut client, "pr.rerun_checks", json!({"prNumber": 12}), "not_available_here");
}

#[test]
fn limits_of_gh_are_reported() {
    let site = with_gh(site());
    let mut client = Client::connect(&site, "local");
    let empty = done(&mut client, "lane.create", json!({"name": "Empty"}));
    assert_stands(
        &client.call("pr.create", json!({"laneId": empty["lane_id"]})),
        "refused",
        "nothing_to_review",
    );
    assert_stands(&client.call("pr.create", json!({"laneId": "lane-none"})), "refused", "not_found");
    assert_stands(&client.call("pr.inventory", json!({})), "refused", "invalid_arguments");
    std::fs::write(site.beside("gh-bin/inventory"), "not logged in\n").unwrap();
    fails(&mut client, "pr.inventory", json!({"prNumber": 12}), "provider_failed");
    std::fs::write(site.beside("gh-bin/inventory"), r#"{"data":{"repository":{"pullRequest":null}}}"#)
        .unwrap();
    fails(&mut client, "pr.inventory", json!({"prNumber": 13}), "not_found");
    // The policy decides about the network. A rule for local reads does not cover it.
    let rules = std::fs::read_to_string(site.workspace.join(POLICY)).unwrap();
    site.workspace.write(POLICY, rules.replace("\"process-exec\", \"remote-read\"]", "\"process-exec\"]"));
    assert_stands(&client.call("pr.inventory", json!({"prNumber": 14})), "pending", "approval_pending");
    site.workspace.write(POLICY, rules.replace(", \"remote-read\", \"remote-mutation\"", ""));
    let call = json!({"name": "pr.inventory", "arguments": {"prNumber": 15}});
    assert_eq!(client.refused("tools/call", call), -32602);
    let plan = site.json(["call", "plan", "pr.inventory", "--args", "{\"prNumber\":15}"]).expect(1);
    assert_eq!(plan["blocker_details"][0]["code"], "policy_effect_not_allowed", "{plan:#}");
    // A missing program, and a program without an adapter.
    for program in ["gh-none/gh", "tea"] {
        site.workspace.write(POLICY, rules.replace("\"gh\"", &format!("{program:?}")));
        assert!(!client.names().contains(&"pr.inventory".to_owned()), "{program}");
        let refused = client.call("pr.inventory", json!({"prNumber": 12}));
        assert_eq!(about(&refused)["code"], "not_available_here", "{refused:#}");
        assert!(text(&refused).contains("forge"), "{refused:#}");
    }
}

/// Issue 17: profiles, listings and explanations use the effects of the configured forge.
#[test]
fn pull_requests_have_the_effects_of_the_forge() {
    let local = json!(["local-read"]);
    let site = site();
    let effects = |site: &Site, id: &str| site.json(["describe", id]).expect(0)["tool"]["effects"].clone();
    assert_eq!(effects(&site, "pr.inventory"), local);
    let site = with_gh(site);
    for (id, effect) in [
        ("pr.inventory", "remote-read"),
        ("pr.comments", "remote-read"),
        ("pr.create", "remote-mutation"),
        ("pr.reply", "remote-mutation"),
        ("pr.resolve", "remote-mutation"),
    ] {
        assert_eq!(effects(&site, id), json!([effect]), "{id}");
    }
    let mut client = Client::connect(&site, "local");
    let described = client.call("tools.describe", json!({"name": "pr.inventory"})).to_string();
    assert!(described.contains("remote-read") && !described.contains("local-read"), "{described}");
    let described = client.call("tools.describe", json!({"name": "pr.create"})).to_string();
    assert!(described.contains("remote-mutation") && !described.contains("state-write"), "{described}");
    drop(client);
    let profile = "[[profile]]\nname = \"context.near\"\n[[profile.rule]]\nmatch = \"effect:remote-read\"\naction = \"deny\"\n";
    site.workspace.write(".brigade/tools/profiles.toml", profile);
    site.workspace.replace(GATEWAY, "\"access.operator\"]", "\"access.operator\", \"context.near\"]");
    let mut client = Client::connect(&site, "local");
    let names = client.names();
    assert!(
        !names.contains(&"pr.inventory".to_owned()) && names.contains(&"pr.create".to_owned()),
        "{names:?}"
    );
    let call = json!({"name": "pr.inventory", "arguments": {"prNumber": 12}});
    assert_eq!(client.refused("tools/call", call), -32602);
    assert!(!site.beside("gh.calls").exists(), "it ran");
    let explained = site.json(["profile", "explain", "pr.inventory", "--as", "local"]).expect(0);
    assert_eq!(explained["visible"], false, "{explained:#}");
    let explained = site.json(["policy", "explain", "pr.inventory"]).expect(0);
    assert!(explained["rulings"].to_string().contains("remote-read"), "{explained:#}");
    assert!(!explained["rulings"].to_string().contains("local-read"), "{explained:#}");
    // A plan session shows read-only tools, and hides tools that change another machine.
    site.workspace.replace(
        GATEWAY,
        "\"permission.full-auto\", \"access.operator\", \"context.near\"",
        "\"permission.plan\"",
    );
    let names = Client::connect(&site, "local").names();
    assert!(
        names.contains(&"pr.inventory".to_owned()) && !names.contains(&"pr.reply".to_owned()),
        "{names:?}"
    );
}
