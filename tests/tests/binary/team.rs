//! One queue in PostgreSQL for several checkouts, each with a person and a key.

#![allow(clippy::disallowed_methods, reason = "the tests look at files and copy them")]

use std::os::unix::fs::PermissionsExt as _;

use brigade_testkit::Postgres;
use brigade_tests::Site;
use serde_json::{Value, json};

const TEAM: &str = ".brigade/tools/team.toml";

/// A checkout of the same tool.
fn checkout() -> Site {
    Site::script("echo ran >> ran.txt\n")
}

/// A team with the members `asker`, `rev-1` and `rev-2`, whose names begin with the name of the schema.
pub(crate) struct Team {
    server: &'static Postgres,
    schema: &'static str,
    pub(crate) sites: Vec<Site>,
    pub(crate) owner: Site,
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
        assert_eq!((&made["team_id"], &made["version"]), (&again["team_id"], &json!(2)));
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
    let queued = asker.json(["call", "queue", "tool"]).expect(0);
    let path = queued["calls_path"].as_str().expect("a path");
    assert!(path.starts_with("postgresql://") && !path.contains('@'), "{path}");
    let id = queued["call"]["id"].as_str().expect("an id").to_owned();
    assert_eq!(one.json(["call", "list"]).expect(0)["calls"][0]["id"], json!(id));
    assert_eq!(one.json(["call", "queue", "tool"]).expect(0)["skipped"], json!(1), "an equal call is queued");
    let own = asker.json(["call", "approve", &id]).expect(1);
    assert_eq!(code(&own), "team_own_call", "{own:#}");
    let half = one.json(["call", "approve", &id]).expect(0);
    let expect = json!({"have": 1, "need": 2, "by": [team.login("rev-1")]});
    assert_eq!((&half["call"]["status"], &half["call"]["approvals"]), (&json!("pending"), &expect));
    one.json(["call", "approve", &id]).expect(1);
    assert_eq!(two.json(["call", "show", &id]).expect(0)["call"]["approvals"], expect);
    assert_eq!(two.json(["call", "approve", &id]).expect(0)["call"]["status"], json!("approved"));
    assert_eq!(asker.status(&id), "approved");
    let ran = two.run_call(&id).expect(0);
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
    assert_eq!((&status["workspace"], &status["database"]["schema_version"]), (&json!("shop"), &json!(2)));
    // The rules that were accepted hold, until a person accepts others.
    let rules = ["team", "rule", "remove", "1", "--schema", team.schema];
    assert_eq!(team.owner.document(rules).expect(0)["changed"], json!(true));
    let changed = asker.document(["team", "roster", "list"]).expect(1);
    assert_eq!(changed["changes"].as_array().map(Vec::len), Some(1), "{changed:#}");
    assert_eq!(asker.document(["team", "status"]).expect(1)["issues"], changed["changes"]);
    asker.document(["team", "roster", "accept"]).expect(0);
    assert_eq!(asker.document(["team", "roster", "list"]).expect(0)["changes"], json!([]));
    let none = one.document(["team", "accept-failover"]).expect(0);
    assert_eq!((&none["accepted"], &none["waits_for"]), (&json!(false), &json!([])));
    assert_eq!(asker.document(["team", "leave"]).expect(0)["left"], json!(true));
    assert_eq!(asker.json(["call", "list"]).expect(0)["calls"], json!([]), "the files are used again");
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

/// Returns the code of a document's error.
pub(crate) fn code(document: &Value) -> String {
    document["diagnosis"]["code"].as_str().or(document["code"].as_str()).unwrap_or_default().to_owned()
}
