use super::*;
use crate::testing::Bench;

#[test]
fn a_worker_is_its_words_and_the_files_of_the_workspace_among_them() {
    let bench = Bench::on_disk(&[("prompt.md", "do"), ("other.md", "")]);
    bench.program("bin/agent", "#!/bin/sh\n");
    let files = |line: &str| {
        let command = Argv::parse(line).unwrap();
        bench.host().command_files("w", &command)
    };
    let names = |line: &str| files(line).into_keys().collect::<Vec<_>>();
    assert_eq!(
        names("bin/agent --read prompt.md gone.md"),
        ["file bin/agent of worker w", "file prompt.md of worker w", "worker w"]
    );
    assert_eq!(names("/bin/sh -c true"), ["worker w"], "programs of the system update themselves");
    assert_ne!(files("/bin/sh a")["worker w"], files("/bin/sh b")["worker w"]);
    let before = files("bin/agent prompt.md");
    bench.write("prompt.md", "do more");
    let after = files("bin/agent prompt.md");
    let changed: Vec<&String> = after.keys().filter(|name| before[*name] != after[*name]).collect();
    assert_eq!(changed, ["file prompt.md of worker w"]);
}

#[test]
fn workers_and_health_commands_are_told_from_other_named_things() {
    let names = [
        "worker a",
        "file x of worker y of worker a",
        "file plan.md",
        "health command of db: bin/check: it",
        "health command of nothing",
        "workers",
    ];
    let named =
        names.iter().map(|name| ((*name).to_owned(), Fingerprint::of_bytes(name.as_bytes()))).collect();
    let parts = |found: BTreeMap<TrustTarget, Vec<SeenPart>>| -> Vec<(String, Vec<Option<String>>)> {
        let paths = |parts: Vec<SeenPart>| parts.into_iter().map(|part| part.path).collect();
        found.into_iter().map(|(target, parts)| (target.to_string(), paths(parts))).collect()
    };
    let path = |path: &str| Some(path.to_owned());
    assert_eq!(parts(named_workers(&named)), [("worker:a".to_owned(), vec![path("x of worker y"), None])]);
    assert_eq!(parts(named_health(&named)), [("health:db".to_owned(), vec![path("bin/check: it")])]);
}
