use super::*;
use crate::testing::Bench;

fn part(name: &str, path: Option<&str>, bytes: &str) -> SeenPart {
    let fingerprint = Fingerprint::of_bytes(bytes.as_bytes());
    SeenPart { name: name.to_owned(), path: path.map(str::to_owned), fingerprint }
}

fn target() -> TrustTarget {
    TrustTarget::new(TrustKind::Tool, "deploy")
}

fn changed(names: &[&str]) -> ReviewState {
    ReviewState::Changed(names.iter().map(|name| (*name).to_owned()).collect())
}

/// Records these parts, and checks what is to be reviewed of other parts.
#[track_caller]
fn check(seen: &[SeenPart], now: &[SeenPart], expect: &ReviewState) {
    let bench = Bench::new(&[(".brigade/tools.toml", "")]);
    bench.folder(".brigade/tools");
    let (fs, trust) = (&*bench.context.fs, &bench.context.trust);
    trust.record(fs, bench.context.now(), target(), seen, "a test").unwrap();
    assert_eq!(trust.reviewed(fs, &target(), now), *expect);
}

#[test]
fn each_part_that_differs_from_the_record_is_named() {
    let (a, b) = (part("a", None, "1"), part("b", None, "1"));
    check(&[a.clone(), b.clone()], &[b.clone(), a.clone()], &ReviewState::Yes);
    check(std::slice::from_ref(&a), &[a.clone(), b.clone()], &changed(&["b"]));
    check(&[a.clone(), b.clone()], std::slice::from_ref(&a), &changed(&["b"]));
    check(&[a.clone(), b.clone()], &[part("a", None, "2"), part("b", None, "2")], &changed(&["a", "b"]));
    // Without a part that could be written, no record is needed.
    check(&[a.clone(), b], &[], &ReviewState::Yes);
    check(&[], &[a], &ReviewState::Never);
}

#[test]
fn a_record_counts_only_for_its_thing_and_its_host() {
    let bench = Bench::new(&[]);
    bench.folder(".brigade/tools");
    let (fs, trust, parts) = (&*bench.context.fs, &bench.context.trust, [part("a", None, "1")]);
    trust.record(fs, bench.context.now(), target(), &parts, "a test").unwrap();
    assert_eq!(TrustStore::new(trust.key.clone()).reviewed(fs, &target(), &parts), ReviewState::Yes);
    assert_eq!(TrustStore::default().reviewed(fs, &target(), &parts), ReviewState::Never);
    for kind in [TrustKind::Runtime, TrustKind::Worker, TrustKind::File] {
        let other = TrustTarget::new(kind, "deploy");
        assert_eq!(trust.reviewed(fs, &other, &parts), ReviewState::Never, "{other}");
    }
}

#[test]
fn what_was_reviewed_already_is_not_written_again() {
    let bench = Bench::new(&[]);
    bench.folder(".brigade/tools");
    let record = |parts: &[SeenPart], by: &str| {
        bench.context.trust.record(&*bench.context.fs, bench.context.now(), target(), parts, by).unwrap();
        bench.read(TRUSTED)
    };
    assert_eq!(record(&[], "nothing"), None);
    let parts = [part("a", None, "1")];
    let first = record(&parts, "first");
    assert!(first.is_some());
    assert_eq!(record(&parts, "second"), first);
    assert_ne!(record(&[part("a", None, "2")], "third"), first);
}

#[test]
fn records_of_other_things_are_kept() {
    let bench = Bench::new(&[]);
    bench.folder(".brigade/tools");
    let (fs, trust, parts) = (&*bench.context.fs, &bench.context.trust, [part("a", None, "1")]);
    let other = TrustTarget::new(TrustKind::Runtime, "db");
    for target in [target(), other.clone()] {
        trust.record(fs, bench.context.now(), target, &parts, "a test").unwrap();
    }
    for target in [target(), other] {
        assert_eq!(trust.reviewed(fs, &target, &parts), ReviewState::Yes, "{target}");
    }
}

#[test]
fn a_part_of_a_record_that_was_edited_makes_it_void() {
    let bench = Bench::new(&[]);
    bench.folder(".brigade/tools");
    let parts = [part("a", None, "1")];
    let (fs, trust) = (&*bench.context.fs, &bench.context.trust);
    trust.record(fs, bench.context.now(), target(), &parts, "a test").unwrap();
    let good = bench.read(TRUSTED).unwrap();
    for (from, to) in [
        ("\"kind\": \"tool\"", "\"kind\": \"worker\""),
        ("deploy", "delete"),
        ("a test", "a text"),
        ("2026-01-02", "2026-01-03"),
        ("brigade.trusted.v1", "brigade.trusted.v2"),
    ] {
        assert!(good.contains(from), "{from}: {good}");
        bench.write(TRUSTED, &good.replace(from, to));
        assert_eq!(trust.reviewed(fs, &target(), &parts), ReviewState::Never, "{from}");
    }
    bench.write(TRUSTED, &good);
    assert_eq!(trust.reviewed(fs, &target(), &parts), ReviewState::Yes);
}

#[test]
fn configuration_is_closed_to_agents_and_other_state_is_not() {
    for (path, expect) in [
        (".brigade/tools.toml", true),
        (".brigade/tools/policy.toml", true),
        (".brigade/tools/schemas/in.json", true),
        (".brigade/tools/packs/p/bin/x", true),
        (".brigade/tools/schemas", true),
        (".brigade/tools/runs/r/out.log", false),
        (".brigade/lanes/l/x", false),
        (".brigade", false),
        ("bin/x", false),
        ("sub/.brigade/tools.toml", false),
    ] {
        assert_eq!(is_configuration(path), expect, "{path}");
    }
}

/// Checks whether agents may write a path under a policy.
#[track_caller]
fn check_place(policy: &str, path: &str, expect: bool) {
    let bench = Bench::new(&[]).with_variables(&[("HOME", "/home/ann")]);
    let policy = PolicyState::parse("p", Some(policy.as_bytes()));
    let places = WritablePlaces::new(&bench.host(), &policy);
    assert_eq!(places.contains(&bench.host(), path), expect, "{path}");
}

#[test]
fn agents_write_the_workspace_and_what_the_policy_opens() {
    let open = "[sandbox]\nmode = 'enforce'\nwrite_paths = ['/srv', '~/cache']\n";
    check_place("", "bin/x", true);
    check_place("", "/memory/bin/x", true);
    check_place("", "/memory/.brigade/tools.toml", false);
    check_place("", "/usr/bin/python3", false);
    check_place("", "/srv/x", false);
    check_place(open, "/srv/x", true);
    check_place(open, "/srv-other/x", false);
    check_place(open, "/home/ann/cache/x", true);
    check_place(open, "/home/ann/x", false);
    check_place("", "../memory/x", true);
}

#[test]
fn nothing_is_to_be_reviewed_if_agents_can_write_no_file() {
    let bench = Bench::new(&[]);
    let places = WritablePlaces::new(&bench.host(), &PolicyState::parse("p", None));
    let review = |parts: &[SeenPart]| -> Vec<String> {
        places.to_review(&bench.host(), parts.to_vec()).into_iter().map(|part| part.name).collect()
    };
    let (contract, system, own) =
        (part("contract", None, ""), part("sh", Some("/bin/sh"), ""), part("script", Some("bin/x"), ""));
    assert!(review(&[contract.clone(), system.clone()]).is_empty());
    assert!(review(std::slice::from_ref(&contract)).is_empty());
    assert_eq!(review(&[contract, system, own]), ["contract", "script"]);
}

#[test]
fn a_bound_value_in_the_name_of_a_part_is_masked_and_names_stay_different() {
    let bench = Bench::new(&[]).with_variables(&[("V", "hunter2-hunter2")]);
    let policy = PolicyState::parse("p", Some(b"env_bindings = { TOKEN = 'V' }\n"));
    let places = WritablePlaces::new(&bench.host(), &policy);
    let parts = ["hunter2-hunter2", "[redacted]"].map(|name| part(name, Some(name), ""));
    let parts = places.to_review(&bench.host(), parts.to_vec());
    assert!(parts[0].name.starts_with("[redacted] (") && parts[1].name == "[redacted]", "{parts:?}");
}

#[test]
fn an_unknown_kind_is_a_part_of_the_id() {
    for text in ["mcp:a:b", "tool", "Runtime:db", ""] {
        let target: TrustTarget = text.parse().unwrap();
        assert_eq!((target.kind, target.id.as_str()), (TrustKind::Tool, text));
    }
    let notify: TrustTarget = "notify:command".parse().unwrap();
    assert_eq!(notify, TrustTarget::notify());
}

#[test]
fn a_worker_is_reviewed_until_a_file_of_it_changes() {
    let bench = Bench::on_disk(&[
        (".brigade/tools/gateway.toml", "[[worker]]\nid = 'w'\ncommand = 'sh work.sh'\n"),
        ("work.sh", "1"),
    ]);
    let agents = crate::read_agents(&*bench.context.fs, &bench.context.trust).unwrap();
    let worker = &agents.gateway.workers[0];
    let policy = PolicyState::parse("p", None);
    let host = bench.host();
    assert_eq!(host.reviewed_worker(&policy, worker), ReviewState::Never);
    let target = TrustTarget::new(TrustKind::Worker, "w");
    host.record_review(&policy, target, host.worker_parts(worker), "tools trust").unwrap();
    assert_eq!(host.reviewed_worker(&policy, worker), ReviewState::Yes);
    bench.write("work.sh", "2");
    assert_eq!(host.reviewed_worker(&policy, worker), changed(&["file work.sh of worker w"]));
}

#[test]
fn a_program_of_notify_outside_of_the_workspace_needs_no_review() {
    let bench = Bench::on_disk(&[]);
    let policy = PolicyState::parse("p", None);
    let reviewed = |line: &str| {
        bench.write(".brigade/tools/gateway.toml", &format!("[notify]\ncommand = '{line}'\n"));
        let agents = crate::read_agents(&*bench.context.fs, &bench.context.trust).unwrap();
        bench.host().reviewed_notify(&policy, agents.gateway.notify.as_ref().unwrap())
    };
    assert_eq!(reviewed("/bin/echo done"), ReviewState::Yes);
    bench.write("tell.sh", "");
    assert_eq!(reviewed("/bin/sh tell.sh"), ReviewState::Never);
}
