//! Tools of files: registries, catalogs and descriptions of servers.

use super::*;

const SEED: &str = "version: \"1.0\"\nsettings:\n  auto_install: true\ntools:\n  - id: filesystem\n    name: Filesystem\n    source:\n      type: mcp\n      server: filesystem\n      transport: stdio\n      command: uvx mcp-server-filesystem\n    availability: installed\n    install:\n      check: which uvx\n      command: pip install uv\n    colour: red\n  - id: jq\n    name: jq\n    source: {type: cli, command: jq}\n    capabilities: [parse_json]\n";

fn cli(id: &str) -> String {
    format!("id: {id}\nsource: {{type: cli, command: jq}}\n")
}

fn site() -> Bench {
    Bench::new(&[(CATALOG, KEPT)])
}

#[track_caller]
fn put(bench: &Bench, name: &str, content: &str) -> RegisterReport {
    done(bench, &request(vec![text(name, content)]))
}

#[test]
fn tools_of_a_registry_are_added_behind_the_text_that_is_there() {
    let bench = site();
    let report = put(&bench, "r.yaml", SEED);
    let row = &report.registered[0];
    assert_eq!((row.tool_id.as_str(), row.action, row.enabled), ("filesystem", RegisterAction::Add, false));
    assert_eq!((row.family.as_str(), row.runtime_id.as_deref()), ("mcp", Some("filesystem")));
    assert_eq!(
        notes(&report).iter().map(|note| note.0).collect::<Vec<_>>(),
        ["auto_install_ignored", "unknown_key"]
    );
    let catalog = bench.read(CATALOG).unwrap();
    assert!(catalog.starts_with(KEPT), "{catalog}");
    let runtimes = bench.read(RUNTIMES).unwrap();
    assert!(runtimes.contains("enabled = false") && runtimes.contains("on_demand = true"), "{runtimes}");
    let jq = tool(&bench, "jq");
    assert_eq!((jq.enabled, jq.capabilities.as_slice()), (false, &["parse_json".to_owned()][..]));
}

#[test]
fn a_dry_run_reports_the_same_and_writes_nothing() {
    let bench = site();
    let dry = RegisterRequest { dry_run: true, ..request(vec![text("r.yaml", SEED)]) };
    let report = done(&bench, &dry);
    let actions: Vec<_> = report.registered.iter().map(|row| row.action).collect();
    assert_eq!(actions, [RegisterAction::WouldAdd; 2]);
    assert!(report.registered.iter().all(|row| row.next_command.is_none()), "there is nothing to review");
    assert_eq!(bench.paths(), [CATALOG], "not even a lock is left");
    assert_eq!(bench.read(CATALOG).as_deref(), Some(KEPT));
    put(&bench, "r.yaml", SEED);
    let report = done(&bench, &RegisterRequest { replace: true, ..dry });
    assert_eq!(report.registered[0].action, RegisterAction::WouldReplace);
}

#[test]
fn a_replaced_entry_waits_for_a_review_again() {
    let bench = site();
    put(&bench, "r.yaml", SEED);
    let before = bench.read(CATALOG).unwrap();
    assert!(errors(&refused(&bench, &request(vec![text("r.yaml", SEED)]))).contains(&("id_taken", "jq.id")));
    bench.write(CATALOG, &before.replace("enabled = false", "enabled = true"));
    let again = RegisterRequest { replace: true, ..request(vec![text("r.yaml", SEED)]) };
    assert_eq!(done(&bench, &again).registered[1].action, RegisterAction::Replace);
    assert_eq!(bench.read(CATALOG).unwrap(), before);
    // Also an entry that would be enabled if it were new.
    let web = "id: web\nsource: {type: harness, provider: claude}\n";
    assert!(put(&bench, "web.yaml", web).registered[0].enabled);
    let again = RegisterRequest { replace: true, ..request(vec![text("web.yaml", web)]) };
    assert!(!done(&bench, &again).registered[0].enabled);
    assert!(!tool(&bench, "web").enabled);
}

#[test]
fn one_refused_tool_of_a_file_keeps_all_out() {
    let bench = site();
    let both = format!(
        "tools:\n  - id: good\n    source: {{type: cli, command: jq}}\n  - id: bad\n    source: {{type: cli, command: 'curl --token {SECRET}'}}\n"
    );
    let report = refused(&bench, &request(vec![text("s.yaml", &both)]));
    assert_eq!(errors(&report), [("secret_in_entry", "bad.command")]);
    // The same for two files.
    let sources = vec![text("a.yaml", &cli("good")), text("b.yaml", &cli("own"))];
    assert_eq!(errors(&refused(&bench, &request(sources))), [("id_taken", "own.id")]);
}

#[test]
fn a_secret_in_any_field_is_refused_and_not_shown() {
    for field in ["auth_label: TOKEN", "code: [TOKEN]", "projections: {claude: TOKEN}"] {
        let entry =
            format!("id: bad\n{}\nsource: {{type: cli, command: jq}}\n", field.replace("TOKEN", SECRET));
        let report = refused(&site(), &request(vec![text("t.yaml", &entry)]));
        assert_eq!(errors(&report)[0].0, "secret_in_entry", "{report:#?}");
        assert!(!format!("{report:?}").contains(SECRET), "{report:#?}");
    }
    let labels =
        format!("[[tool]]\nid = \"x\"\nname = \"X\"\nfamily = \"skill\"\nenv_labels = [\"{SECRET}\"]\n");
    let report = refused(&site(), &request(vec![text("x.toml", &labels)]));
    assert_eq!(errors(&report), [("secret_in_entry", "x.env_labels[1]")]);
    assert!(!format!("{report:?}").contains(SECRET), "{report:#?}");
}

#[test]
fn a_file_that_is_not_understood_is_refused_with_its_code() {
    for (name, content, code) in [
        ("a.yaml", "tools: [", "file_invalid"),
        ("b.yaml", "version: '2.0'\ntools: []\n", "schema_newer"),
        ("c.yaml", "just a text", "file_invalid"),
        ("d.toml", "[[tool]]\nid = 'x'\nname = 'x'\nfamily = 'skill'\n[[tool]]\nid = 'x'\n", "file_invalid"),
    ] {
        let report = refused(&site(), &request(vec![text(name, content)]));
        assert_eq!((errors(&report)[0].0, report.errors[0].file.as_deref()), (code, Some(name)));
    }
}

#[test]
fn a_catalog_or_runtimes_that_are_broken_are_named_and_stay() {
    for (catalog, runtimes, file) in
        [("[[tool]\n", "", CATALOG), ("schema = 9\n", "", CATALOG), (KEPT, "[[runtime]\n", RUNTIMES)]
    {
        let bench = Bench::new(&[(CATALOG, catalog), (RUNTIMES, runtimes)]);
        let report = refused(&bench, &request(vec![text("d.yaml", &cli("jq"))]));
        assert_eq!((errors(&report)[0].0, report.errors[0].file.as_deref()), ("target_invalid", Some(file)));
    }
}

#[test]
fn a_name_that_another_tool_has_is_refused_in_every_form() {
    let catalog = format!("{KEPT}aliases = [\"mine\"]\n");
    for (content, code) in [
        ("id: x\naliases: [MINE]\nsource: {type: cli, command: jq}\n", ("alias_taken", "x.aliases")),
        ("id: x\naliases: [own]\nsource: {type: cli, command: jq}\n", ("alias_taken", "x.aliases")),
        (
            "tools:\n- id: x\n  aliases: [z]\n  source: {type: cli, command: jq}\n- id: y\n  aliases: [Z]\n  source: {type: cli, command: jq}\n",
            ("alias_taken", "y.aliases"),
        ),
        ("id: mine\nsource: {type: cli, command: jq}\n", ("alias_taken", "mine.id")),
        (
            "tools:\n- id: x\n  source: {type: cli, command: jq}\n- id: x\n  source: {type: cli, command: jq}\n",
            ("id_taken", "x.id"),
        ),
        // Of two tools, the later one has the name that is taken.
        (
            "tools:\n- id: al2\n  aliases: [q]\n  source: {type: cli, command: jq}\n- id: q\n  source: {type: cli, command: jq}\n",
            ("alias_taken", "q.id"),
        ),
        (
            "tools:\n- id: q\n  source: {type: cli, command: jq}\n- id: al2\n  aliases: [q]\n  source: {type: cli, command: jq}\n",
            ("alias_taken", "al2.aliases"),
        ),
    ] {
        let bench = Bench::new(&[(CATALOG, &catalog)]);
        let report = refused(&bench, &request(vec![text("two.yaml", content)]));
        assert_eq!(errors(&report), [code], "{content}");
    }
}

#[test]
fn names_of_built_in_tools_belong_to_them() {
    let file = "tools:\n- {id: fs.read, source: {type: cli, command: jq}}\n- {id: TodoWrite, source: {type: cli, command: jq}}\n- {id: b, aliases: [ok, readFile, tools.call], source: {type: cli, command: jq}}\n";
    let report = refused(&site(), &request(vec![text("tools.yaml", file)]));
    let expect = [
        ("reserved_tool_id", "fs.read.id"),
        ("alias_taken", "TodoWrite.id"),
        ("alias_taken", "b.aliases[2]"),
        ("alias_taken", "b.aliases[3]"),
    ];
    assert_eq!(errors(&report), expect);
}

#[test]
fn entries_of_a_catalog_lose_what_they_grant_themselves() {
    let bench = site();
    let entries = "[[tool]]\nid = 'jq'\nname = 'jq'\nfamily = 'script'\ncommand = 'jq'\nenabled = true\napproval_mode = 'never'\n\
        effects = ['local-read']\npermissions = ['read']\n[tool.install]\ncommand = 'apt install jq'\n\n[[tool]]\nid = 'doc'\nname = 'Doc'\nfamily = 'skill'\n";
    let report = put(&bench, "tools.toml", entries);
    let codes: Vec<&str> = notes(&report).iter().map(|note| note.0).collect();
    assert_eq!(codes, ["enabled_ignored", "approval_mode_ignored"]);
    let jq = tool(&bench, "jq");
    assert_eq!((jq.enabled, jq.approval_mode), (false, Some(ApprovalMode::Always)));
    assert_eq!(
        (jq.effects.as_slice(), jq.permissions.as_slice()),
        (&["local-read".to_owned()][..], &["read".to_owned()][..])
    );
    assert!(tool(&bench, "doc").enabled, "a text runs nothing");
}

#[test]
fn more_tools_than_a_person_reviews_are_refused() {
    let many = |count: usize| -> String {
        (0..count).map(|n| format!("- {{id: t{n}, source: {{type: cli, command: jq}}}}\n")).collect()
    };
    let report =
        refused(&site(), &request(vec![text("many.yaml", &format!("tools:\n{}", many(MAX_TOOLS + 1)))]));
    assert_eq!(errors(&report), [("too_many_tools", "tools")]);
    assert_eq!(report.errors[0].message, "there are 1001 tools, and at most 1000 are registered at once");
    let some = text("many.yaml", &format!("tools:\n{}", many(50)));
    assert_eq!(done(&site(), &request(vec![some])).registered_count, 50);
}

#[test]
fn the_setting_of_a_registry_is_kept_where_the_catalog_has_none() {
    let bench = site();
    let file = |id: &str, truth: bool| {
        format!(
            "version: '1.0'\nsettings: {{fallback_harness: {truth}}}\ntools:\n- {}",
            cli(id).replace('\n', "\n  ")
        )
    };
    let first = put(&bench, "a.yaml", file("a", false).trim_end());
    assert_eq!(notes(&first), [("harness_tools_set", "settings.fallback_harness")]);
    let catalog = bench.read(CATALOG).unwrap();
    assert!(
        catalog.starts_with(KEPT) && catalog.contains("[registry]\nharness_tools = false\n"),
        "{catalog}"
    );
    assert_eq!(notes(&put(&bench, "b.yaml", file("b", false).trim_end())), []);
    let other = put(&bench, "c.yaml", file("c", true).trim_end());
    assert_eq!(notes(&other), [("fallback_harness_ignored", "settings.fallback_harness")]);
    assert!(!load::catalog(&bench.context).unwrap().offers_harness_tools());
}

#[test]
fn another_id_is_for_exactly_one_usable_tool() {
    let renamed = |sources: Vec<RegisterSource>, id: &str| {
        let bench = site();
        let request = RegisterRequest { id: Some(id.to_owned()), ..request(sources) };
        register(&bench.context, &request).map(|report| (bench, report))
    };
    let server = r#"{"name": "io.github.x/weather", "description": "W", "version": "1.0.0", "packages": [{"registryType": "npm",
        "identifier": "@x/weather", "version": "1.2.3", "environmentVariables": [{"name": "API_KEY", "isSecret": true}]}]}"#;
    let (bench, report) = renamed(vec![text("server.json", server)], "wetter").unwrap();
    assert_eq!(report.registered[0].runtime_id.as_deref(), Some("wetter"));
    let runtimes = bench.read(RUNTIMES).unwrap();
    assert!(runtimes.contains("npx -y @x/weather@1.2.3"), "{runtimes}");
    assert!(report.notes.iter().all(|note| note.field.starts_with("wetter.")), "{:?}", report.notes);
    let two = vec![text("a.yaml", &cli("a")), text("b.yaml", &cli("b"))];
    for (sources, id) in [(two, "c"), (vec![text("a.yaml", &cli("a"))], "a b c\n/")] {
        let failure = renamed(sources, id).map(drop).unwrap_err();
        assert_eq!(failure.failure.kind(), ErrorKind::Usage, "{}", failure.failure);
        assert!(failure.report.is_none());
    }
}

#[test]
fn a_secret_beside_a_name_in_a_command_is_found() {
    let entry = |id: &str, command: &str| {
        let command = brigade_core::Json::from(command).to_compact();
        format!("[[tool]]\nid = \"{id}\"\nname = \"{id}\"\nfamily = \"script\"\ncommand = {command}\n")
    };
    for command in [
        "node app.js -e API_KEY hunter2",
        "node app.js --seed-phrase hunter2",
        "node app.js --headers X-Api-Key hunter2",
        r#"node app.js --config '{"headers":{"X-A":"hunter2"}}'"#,
        r#"node app.js --config '{"env":{"A":"hunter2"}}'"#,
        "curl https://e.com/?key=hunter2",
        "git clone https://S3cr3t4hunter2@github.com/a/b",
        "x --openai-key S3cr3t4hunter2",
        "aws configure set aws_secret_access_key hunter2",
    ] {
        let report = refused(&site(), &request(vec![text("t.toml", &entry("t", command))]));
        assert_eq!(errors(&report)[0].0, "secret_in_entry", "{command}");
        assert!(!format!("{report:?}").contains("hunter2"), "{report:?}");
    }
    let server = r#"{"name": "io.github.x/weather", "version": "1.0.0", "packages": [{"registryType": "npm",
        "identifier": "@x/weather", "version": "1.2.3", "packageArguments": [{"type": "positional", "value": "-e"},
        {"type": "positional", "value": "API_KEY"}, {"type": "positional", "value": "hunter2"}]}]}"#;
    assert_eq!(
        errors(&refused(&site(), &request(vec![text("server.json", server)])))[0].0,
        "secret_in_entry"
    );
    let ordinary = [
        "nc -u host:53",
        "kubectl config set-context c --user=bob:dev",
        "jq '{token: .token}' f",
        "sed -i 's/password=old/password=new/' f",
        "gcloud secrets versions access latest --secret=my-secret",
        "helm template --set existingSecret=my-secret c",
        "aws ec2 create-tags --tags Key=Name,Value=web",
        "openssl dgst -sha256 -hmac sha256 f",
        "fetch --credentials same-origin",
        "grep -e token -e secret src",
        "git clone https://user@host/x",
        "gpg --passphrase-fd 0",
        "python3 -c 'f(password=getpass())'",
        "printf 'token: %s\\n' x",
        "perl -pe 's/token=\\w+/token=X/' f",
        "go test -run TestToken/secret=empty",
        "echo 'Secret: ready'",
    ];
    let entries = ordinary.iter().enumerate().map(|(at, command)| entry(&format!("t{at}"), command));
    let bench = site();
    put(&bench, "t.toml", &entries.collect::<String>());
    for (at, command) in ordinary.iter().enumerate() {
        assert_eq!(tool(&bench, &format!("t{at}")).command.as_deref(), Some(*command));
    }
}

#[test]
fn a_runtime_that_was_left_is_used_again_unless_a_person_enabled_it() {
    let server = "id: srv\nsource: {type: mcp, transport: stdio, command: server}\n";
    let bench = site();
    put(&bench, "s.yaml", server);
    // The catalog was not written yet.
    bench.write(CATALOG, KEPT);
    put(&bench, "s.yaml", server);
    assert_eq!(bench.read(RUNTIMES).unwrap().matches("[[runtime]]").count(), 1);
    bench.write(CATALOG, KEPT);
    bench.replace(RUNTIMES, "enabled = false", "enabled = true");
    assert_eq!(
        errors(&refused(&bench, &request(vec![text("s.yaml", server)]))),
        [("id_taken", "srv.runtime_id")]
    );
}

#[test]
fn the_entry_of_a_registry_that_is_read_in_place_is_copied_alone() {
    let registry = "tools:\n  - id: jq\n    source: {type: cli, command: jq}\n  - id: other\n    source: {type: cli, command: sh}\n    colour: red\n";
    let bench = Bench::new(&[(CATALOG, KEPT), (".cub/tools-registry.yaml", registry)]);
    assert_eq!(tool(&bench, "jq").origin.level, Level::ProjectRegistry);
    let report = done(&bench, &request(refs(&["registry:jq"])));
    assert_eq!((report.registered.len(), notes(&report)), (1, vec![]));
    let jq = tool(&bench, "jq");
    assert_eq!((jq.origin.level, jq.enabled), (Level::Project, false));
    assert_eq!(tool(&bench, "other").origin.level, Level::ProjectRegistry);
    let unknown = refused(&bench, &request(refs(&["registry:gone"])));
    assert_eq!((errors(&unknown).len(), unknown.errors[0].reference.as_deref()), (1, Some("registry:gone")));
}
