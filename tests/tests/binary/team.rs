//! One queue in PostgreSQL for several checkouts, each with a person and a key.

#![allow(clippy::disallowed_methods, reason = "the tests look at files and copy them")]

use std::os::unix::fs::PermissionsExt as _;

use brigade_testkit::Postgres;
use brigade_tests::Site;
use serde_json::{Value, json};

const TEAM: &str = ".brigade/tools/team.toml";

/// A checkout of the same tool.
fn checkout() -> Site {
    Site::script("echo ran >> ran.txt\necho done\n")
}

/// A team with the members `asker`, `rev-1` and `rev-2`, whose names begin with the name of the schema.
pub(crate) struct Team {
    server: &'static Postgres,
    schema: &'static str,
    pub(crate) sites: Vec<Site>,
    pub(crate) owner: Site,
}

/// Checks that a document says that calls are in the team, and returns it.
#[track_caller]
fn on_team(document: Value) -> Value {
    let path = document["calls_path"].as_str().expect("a path");
    assert!(path.starts_with("postgresql://") && !path.contains('@'), "{path}");
    assert_eq!(document["store"], json!("team"), "{document:#}");
    document
}

impl Team {
    pub(crate) fn new(schema: &'static str) -> Option<Team> {
        Team::with_checkouts(schema, checkout)
    }

    /// Makes the team with these checkouts.
    pub(crate) fn with_checkouts(schema: &'static str, checkout: impl Fn() -> Site) -> Option<Team> {
        let server = Postgres::get(schema)?;
        let owner = checkout().env("BRIGADE_TEAM_URL", server.url("postgres", "owner"));
        let init = || owner.document(["team", "init", "--schema", schema]).expect(0);
        let (made, again) = (init(), init());
        assert_eq!((&made["created"], &again["created"]), (&json!(true), &json!(false)));
        assert_eq!((&made["team_id"], &made["version"]), (&again["team_id"], &json!(3)));
        assert_eq!(made["roles"][3], format!("{schema}_auditor"));
        let sites = vec![checkout(), checkout(), checkout()];
        let team = Team { server, schema, sites, owner };
        let owner = &team.owner;
        for (site, name) in team.sites.iter().zip(["asker", "rev-1", "rev-2"]) {
            let key = site.json(["keys", "init"]).expect(0)["public_key_path"].clone();
            let key = key.as_str().expect("a path");
            let name = team.login(name);
            let mut words = vec!["team", "member", "add", &name, "--schema", schema, "--key", key];
            words.extend(["--role", "queuer", "--role", "reviewer", "--role", "runner"]);
            owner.document(words).expect(0);
        }
        owner
            .document(["team", "rule", "add", "--approvals", "2", "--tool", "tool", "--schema", schema])
            .expect(0);
        let members = owner.document(["team", "member", "list", "--schema", schema]).expect(0);
        assert_eq!(members["members"].as_array().map(Vec::len), Some(3), "{members:#}");
        Some(team)
    }

    /// Lets all checkouts join.
    pub(crate) fn join_all(&self) {
        for (site, name) in self.sites.iter().zip(["asker", "rev-1", "rev-2"]) {
            self.join(site, name, &["--accept-roster"]).expect(0);
        }
    }

    pub(crate) fn login(&self, name: &str) -> String {
        format!("{}-{name}", self.schema)
    }

    /// Runs a command as the owner.
    fn administer(&self, words: &[&str]) -> brigade_tests::Answer {
        self.owner.document([&["team"], words, &["--schema", self.schema]].concat())
    }

    fn join(&self, site: &Site, name: &str, extra: &[&str]) -> brigade_tests::Answer {
        let url = self.server.url("postgres", &self.login(name));
        let words = ["team", "join", "--url", &url, "--workspace", "shop", "--schema", self.schema];
        site.document([&words[..], extra].concat())
    }
}

#[test]
fn two_people_approve_a_call_of_a_third() {
    let Some(team) = Team::new("bin_people") else { return };
    let [asker, one, two] = &team.sites[..] else { unreachable!() };
    assert_eq!(asker.document(["team", "status"]).expect(0)["joined"], json!(false));
    let shown = team.join(asker, "asker", &[]).expect(1);
    assert_eq!((&shown["joined"], shown["reviewers"].as_array().map(Vec::len)), (&json!(false), Some(3)));
    assert!(!asker.workspace.exists(TEAM), "nothing was accepted");
    for (site, name) in team.sites.iter().zip(["asker", "rev-1", "rev-2"]) {
        let joined = team.join(site, name, &["--accept-roster"]).expect(0);
        assert_eq!((&joined["joined"], &joined["member"]), (&json!(true), &json!(team.login(name))));
        let mode = std::fs::metadata(site.workspace.join(TEAM)).expect("it is there").permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
    }
    let queued = on_team(asker.json(["call", "queue", "tool"]).expect(0));
    let id = queued["call"]["id"].as_str().expect("an id").to_owned();
    assert_eq!(on_team(one.json(["call", "list"]).expect(0))["calls"][0]["id"], json!(id));
    assert_eq!(one.json(["call", "queue", "tool"]).expect(0)["skipped"], json!(1), "an equal call is queued");
    let own = asker.json(["call", "approve", &id]).expect(1);
    assert_eq!(code(&own), "team_own_call", "{own:#}");
    let half = on_team(one.json(["call", "approve", &id]).expect(0));
    let expect = json!({"have": 1, "need": 2, "by": [team.login("rev-1")]});
    assert_eq!((&half["call"]["status"], &half["call"]["approvals"]), (&json!("pending"), &expect));
    one.json(["call", "approve", &id]).expect(1);
    assert_eq!(on_team(two.json(["call", "show", &id]).expect(0))["call"]["approvals"], expect);
    assert_eq!(two.json(["call", "approve", &id]).expect(0)["call"]["status"], json!("approved"));
    assert_eq!(asker.status(&id), "approved");
    let ran = on_team(two.run_call(&id).expect(0));
    assert_eq!(ran["receipt"]["status"], json!("completed"), "{ran:#}");
    let verified = one.document(["team", "verify"]).expect(0);
    assert_eq!(verified["checked"], json!({"receipts": 1, "hosts": 1, "approvals": 2}), "{verified:#}");
    assert_eq!((&verified["valid"], &verified["findings"]), (&json!(true), &json!([])));
    let other = asker.json(["call", "queue", "tool", "--args", r#"{"n":1}"#]).expect(0);
    let id = other["call"]["id"].as_str().expect("an id").to_owned();
    let held = one.json(["call", "hold", &id, "--reason", "wait"]).expect(0);
    assert_eq!(held["call"]["status"], json!("held"));
    let rejected = two.json(["call", "reject", &id, "--reason", "no"]).expect(0);
    assert_eq!(rejected["call"]["status"], json!("rejected"));
    let status = asker.document(["team", "status"]).expect(0);
    assert_eq!(
        (&status["joined"], &status["calls"]),
        (&json!(true), &json!({"completed": 1, "rejected": 1})),
        "{status:#}"
    );
    assert_eq!((&status["workspace"], &status["database"]["schema_version"]), (&json!("shop"), &json!(3)));
    // The rules that were accepted hold, until a person accepts others.
    let rules = ["team", "rule", "remove", "1", "--schema", team.schema];
    assert_eq!(team.owner.document(rules).expect(0)["changed"], json!(true));
    let changed = asker.document(["team", "roster"]).expect(1);
    assert_eq!(changed["changes"].as_array().map(Vec::len), Some(1), "{changed:#}");
    let issues = asker.document(["team", "status"]).expect(1)["issues"].clone();
    let (issue, change) =
        (issues[0].as_str().expect("a text"), changed["changes"][0].as_str().expect("a text"));
    assert!(issue.starts_with(change) && issue.ends_with("brigade team roster accept"), "{issue}");
    asker.document(["team", "roster", "accept", "--yes"]).expect(0);
    assert_eq!(asker.document(["team", "roster"]).expect(0)["changes"], json!([]));
    let none = one.document(["team", "accept-failover"]).expect(0);
    assert_eq!((&none["accepted"], &none["waits_for"]), (&json!(false), &json!([])));
    assert_eq!(asker.document(["team", "leave"]).expect(0)["left"], json!(true));
    let list = asker.json(["call", "list"]).expect(0);
    assert_eq!((&list["calls"], &list["store"]), (&json!([]), &json!("files")), "the files are used again");
}

#[test]
fn only_a_file_of_this_host_joins_and_nothing_else_is_queued() {
    let Some(team) = Team::new("bin_files") else { return };
    let [asker, one, _] = &team.sites[..] else { unreachable!() };
    team.join(asker, "asker", &["--accept-roster"]).expect(0);
    one.workspace.write(TEAM, asker.workspace.read_text(TEAM));
    for words in [&["call", "queue", "tool"][..], &["call", "list"]] {
        assert_eq!(code(&one.json(words).expect(1)), "team_not_joined");
    }
    assert!(!one.workspace.exists(".brigade/tools/calls.jsonl"), "nothing is queued in the files");
    assert_eq!(one.document(["team", "leave"]).expect(0)["left"], json!(true));
    let away = ["team", "join", "--url", "postgresql:///x?host=/nonexistent&user=a", "--workspace", "shop"];
    let away = one.document([&away[..], &["--lock-timeout", "1"]].concat()).expect(3);
    assert_eq!(code(&away), "team_unreachable");
    let url = "postgresql://a:hunter2@db.example/x";
    let with_password = one.document(["team", "join", "--url", url, "--workspace", "shop"]).expect(2);
    assert_eq!(code(&with_password), "team_url");
    assert!(!with_password.to_string().contains("hunter2"));
    let unnamed = one.document(["team", "member", "list"]).expect(1);
    assert_eq!(code(&unnamed), "team_not_joined");
}

#[test]
fn files_come_into_the_team_and_out_again() {
    let Some(team) = Team::new("bin_import") else { return };
    let [one, two, _] = &team.sites[..] else { unreachable!() };
    let receipt = one.receipt_of("tool", r#"{"n":1}"#);
    let run = receipt["id"].as_str().expect("an id");
    one.approved("tool", r#"{"n":2}"#);
    one.queue("tool", r#"{"n":3}"#);
    assert_eq!(code(&one.document(["team", "import"]).expect(1)), "team_not_joined");
    for (site, name) in [(one, "asker"), (two, "rev-1")] {
        team.join(site, name, &["--accept-roster"]).expect(0);
    }
    let counts = |calls, receipts| json!({"calls": calls, "receipts": receipts, "checkpoints": 0});
    let dry = one.document(["team", "import", "--dry-run"]).expect(0);
    assert_eq!((&dry["dry_run"], &dry["added"]), (&json!(true), &counts(3, 1)));
    assert_eq!(two.json(["call", "list"]).expect(0)["calls"], json!([]), "nothing was written");
    let imported = one.document(["team", "import"]).expect(0);
    assert_eq!((&imported["added"], &imported["left_out"]), (&counts(3, 1), &json!([])), "{imported:#}");
    let again = one.document(["team", "import"]).expect(0);
    assert_eq!((&again["added"], &again["present"]), (&counts(0, 0), &counts(3, 1)));
    assert_eq!(
        two.json(["call", "list"]).expect(0)["counts"],
        json!({"completed": 1, "pending": 2}),
        "an approval in files does not count"
    );
    let verified = two.document(["team", "verify"]).expect(0);
    assert_eq!((&verified["valid"], &verified["checked"]["receipts"]), (&json!(true), &json!(1)));
    let replay = on_team(two.json(["run", "replay", run]).expect(0));
    assert_eq!(replay["created"], json!(1));
    let directory = two.workspace.join("exported");
    let place = directory.to_str().expect("a path");
    let exported = two.document(["team", "export", place]).expect(0);
    assert_eq!(exported["written"], counts(4, 1), "{exported:#}");
    let verified = two.json(["run", "verify", "--target", place]).expect(0);
    assert_eq!((&verified["valid"], &verified["checked"]), (&json!(true), &json!(1)));
    let path = format!(".brigade/tools/runs/{run}.json");
    let read = |root: &std::path::Path| std::fs::read(root.join(&path)).expect("it is there");
    assert_eq!(read(&directory), read(&one.workspace.join(".")), "byte for byte");
    two.document(["team", "export", place]).expect(3);
}

#[test]
fn a_new_key_counts_once_it_is_accepted() {
    let Some(team) = Team::new("bin_roster") else { return };
    let [one, ..] = &team.sites[..] else { unreachable!() };
    team.join(one, "asker", &["--accept-roster"]).expect(0);
    assert_eq!(one.document(["team", "roster"]).expect(0)["accepted"], json!(true));
    let other = checkout();
    let key = other.json(["keys", "init"]).expect(0)["public_key_path"].clone();
    let login = team.login("rev-2");
    let change = ["member", "add", &login, "--role", "reviewer", "--key", key.as_str().expect("a path")];
    team.administer(&change).expect(0);
    team.administer(&["member", "remove", &team.login("rev-1")]).expect(0);
    let status = one.document(["team", "status"]).expect(1);
    assert!(status["issues"][0].as_str().is_some_and(|issue| issue.contains("roster accept")), "{status:#}");
    let shown = one.document(["team", "roster"]).expect(1);
    let changes = shown["changes"].as_array().map(Vec::len);
    assert_eq!((&shown["accepted"], changes), (&json!(false), Some(2)), "{shown:#}");
    one.document(["team", "roster", "accept"]).expect(2);
    one.document(["team", "status"]).expect(1);
    assert_eq!(one.document(["team", "roster", "accept", "--yes"]).expect(0)["accepted"], json!(true));
    one.document(["team", "status"]).expect(0);
}

#[test]
fn logs_in_the_database_are_read_on_another_host() {
    let Some(team) = Team::new("bin_logs") else { return };
    let [one, two, three] = &team.sites[..] else { unreachable!() };
    team.administer(&["rule", "remove", "1"]).expect(0);
    for (site, name) in [(one, "asker"), (two, "rev-1"), (three, "rev-2")] {
        team.join(site, name, &["--accept-roster"]).expect(0);
    }
    let on_host = one.receipt_of("tool", r#"{"n":1}"#)["id"].clone();
    let on_host = on_host.as_str().expect("an id");
    let log = |run: &str| two.json(["run", "show", run, "--log", "stdout"]);
    let gone = log(on_host).expect(1);
    assert!(gone.to_string().contains("no longer exists"), "{gone:#}");
    team.administer(&["init", "--logs", "database"]).expect(0);
    let stored = one.receipt_of("tool", r#"{"n":2}"#)["id"].clone();
    let stored = stored.as_str().expect("an id");
    let shown = log(stored).expect(0);
    assert_eq!((&shown["text"], &shown["bytes"]), (&json!("done\n"), &json!(5)), "{shown:#}");
    assert!(shown["path"].as_str().is_some_and(|path| path.starts_with("postgresql://")), "{shown:#}");
    let text = |site: &Site| site.tools(["run", "show", stored]).stdout_text();
    assert!(text(two).contains("logs:") && !text(two).contains("full output:"), "{}", text(two));
    assert!(text(one).contains("full output:") && !text(one).contains("logs:"), "{}", text(one));
    let pruned = |age| team.administer(&["prune", "--logs-older-than", age]).expect(0);
    assert_eq!(pruned("30d")["chunks"], json!(0));
    assert_eq!((&pruned("0s")["chunks"], &pruned("0s")["runs"]), (&json!(1), &json!(0)));
    log(stored).expect(1);
    two.document(["team", "verify"]).expect(0);
    let migrated = team.administer(&["migrate"]).expect(0);
    assert_eq!((&migrated["applied"], &migrated["version"]), (&json!(0), &json!(3)));
    let checked = two.document(["team", "doctor"]).expect(0);
    let checks = checked["checks"].as_array().expect("a list");
    assert!(checks.iter().any(|check| check["name"] == "listen" && check["state"] == "ok"), "{checked:#}");
}

#[test]
fn without_the_server_commands_end_and_queue_nothing() {
    let Some(team) = Team::new("bin_away") else { return };
    let [one, ..] = &team.sites[..] else { unreachable!() };
    let url = team.server.url("postgres", &team.login("asker"));
    // Another server than ours cannot be taken away.
    let Some((_, place)) = url.split_once("host=") else { return };
    let place = place.split('&').next().expect("a directory");
    let link = std::env::temp_dir().join(format!("brigade-away-{}", std::process::id()));
    let connect = || std::os::unix::fs::symlink(place, &link).expect("a link is made");
    connect();
    let url = url.replace(place, link.to_str().expect("a path"));
    let join =
        ["team", "join", "--url", &url, "--workspace", "shop", "--schema", team.schema, "--accept-roster"];
    one.document(join).expect(0);
    std::fs::remove_file(&link).expect("the link is removed");
    for words in [&["call", "queue", "tool"][..], &["call", "list"], &["call", "run", "--next"]] {
        let away = one.json([words, &["--lock-timeout", "1"]].concat()).expect(3);
        assert_eq!(code(&away), "team_unreachable", "{away:#}");
    }
    let checked = one.document(["team", "doctor", "--lock-timeout", "1"]).expect(1);
    assert_eq!(
        (&checked["checks"][0]["state"], &checked["checks"][1]["state"]),
        (&json!("failed"), &json!("skipped"))
    );
    assert!(!one.workspace.exists(".brigade/tools/calls.jsonl"), "nothing is queued in the files");
    connect();
    assert_eq!(one.json(["call", "list"]).expect(0)["calls"], json!([]), "nor later in the team");
    std::fs::remove_file(&link).expect("the link is removed");
}

/// Returns the code of a document's error.
pub(crate) fn code(document: &Value) -> String {
    document["diagnosis"]["code"].as_str().or(document["code"].as_str()).unwrap_or_default().to_owned()
}
