use brigade_workspace::POLICY;

use super::*;
use crate::testing::Bench;

const FILE: &str = "servers.json";

/// The same file, as a person names it.
const TYPED: &str = "/memory/servers.json";

/// Returns the entry of a server in a registry.
fn weather(version: &str, identifier: &str) -> String {
    format!(
        r#"{{"server": {{"name": "io.github.x/weather", "description": "Tells the weather", "version": "{version}",
        "packages": [{{"registryType": "npm", "identifier": "{identifier}", "version": "1.0.0"}}]}}, "_meta": {{}}}}"#
    )
}

/// Makes a workspace with a registry in a file, which has two versions of a server.
fn site() -> Bench {
    let servers =
        format!("{{\"servers\": [{}, {}]}}", weather("1.1.0", "weather"), weather("1.0.0", "weather"));
    let bench = Bench::new(&[(FILE, &servers)]);
    add_registry(&bench.context, TYPED, None).unwrap();
    bench
}

fn names(report: &RegistriesReport) -> Vec<&str> {
    report.registries.iter().map(|registry| registry.name.as_str()).collect()
}

#[track_caller]
fn check_refused<T: std::fmt::Debug>(result: Result<T, Error>, kind: ErrorKind, code: ErrorCode) -> Error {
    let error = result.unwrap_err();
    assert_eq!((error.kind(), error.code()), (kind, code), "{error}");
    error
}

#[test]
fn names_are_parts_of_a_url() {
    assert_eq!(encoded("io.github.x/a b?&"), "io.github.x%2Fa%20b%3F%26");
    assert_eq!(encoded("a-Z.0_~"), "a-Z.0_~");
    assert_eq!(encoded("ä"), "%C3%A4");
}

#[test]
fn a_registry_in_a_file_has_the_name_of_the_file_or_another() {
    let bench = site();
    let report = registries(&bench.context).unwrap();
    assert_eq!(
        (names(&report), report.registries[0].location.as_str()),
        (vec!["servers"], "/memory/servers.json")
    );
    assert!(report.registries[0].digest.is_some());
    bench.write("other.json", "[]");
    let report = add_registry(&bench.context, "/memory/other.json", Some(" ours ")).unwrap();
    assert_eq!(names(&report), ["servers", "ours"]);
    // The same file again replaces it.
    assert_eq!(names(&add_registry(&bench.context, TYPED, None).unwrap()), ["ours", "servers"]);
    assert_eq!(names(&remove_registry(&bench.context, "ours").unwrap()), ["servers"]);
    assert_eq!(remove_registry(&bench.context, "ours").unwrap_err().kind(), ErrorKind::NotFound);
}

#[test]
fn a_name_belongs_to_one_registry() {
    let bench = site();
    bench.write("other.json", "[]");
    for name in ["servers", "", "  "] {
        let error = add_registry(&bench.context, "/memory/other.json", Some(name)).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Refused, "{name}");
    }
    assert_eq!(names(&registries(&bench.context).unwrap()), ["servers"]);
}

#[test]
fn a_source_that_is_no_registry_is_refused() {
    let bench = Bench::new(&[("text.json", "no JSON"), ("object.json", "{\"servers\": {}}")]);
    for source in ["/memory/text.json", "/memory/object.json"] {
        check_refused(
            add_registry(&bench.context, source, None),
            ErrorKind::InvalidConfig,
            ErrorCode::FileInvalid,
        );
    }
    assert!(add_registry(&bench.context, "/memory/gone.json", None).is_err());
    for source in ["ftp://host", "https://user@host", "https://host?x=1"] {
        assert_eq!(
            add_registry(&bench.context, source, None).unwrap_err().kind(),
            ErrorKind::Usage,
            "{source}"
        );
    }
    assert!(registries(&bench.context).unwrap().registries.is_empty());
}

#[test]
fn the_policy_names_the_origins_of_registries() {
    const URL: &str = "https://registry.example/v0.1/";
    let bench = Bench::new(&[]);
    let refused = |policy: &str| {
        bench.write(POLICY, policy);
        let code = ErrorCode::PolicyRegistryRemote;
        check_refused(add_registry(&bench.context, URL, None), ErrorKind::Refused, code).hints()[0]
            .to_string()
    };
    assert!(refused("").contains("`remote = [\"https://registry.example\"]`"));
    refused("[registry]\nremote = [\"https://other.example\"]\n");
    refused("[registry]\nremote = [\"http://registry.example\"]\n");
    bench.write(POLICY, "[registry]\nremote = [\"https://registry.example\"]\n");
    let report = add_registry(&bench.context, URL, None).unwrap();
    assert_eq!((names(&report), report.registries[0].digest.as_deref()), (vec!["registry.example"], None));
    // Without the line, nothing is asked any more.
    bench.write(POLICY, "");
    let found = search_registries(&bench.context, "x").unwrap();
    assert!(found.notes[0].contains("remote of [registry]"), "{:?}", found.notes);
    let error = registry_info(&bench.context, "io.github.x/weather", false).unwrap_err();
    assert!(error.to_string().contains("remote of [registry]"), "{error}");
}

#[test]
fn the_api_version_is_added_where_the_url_has_none() {
    for (url, base) in [
        ("https://r.example", "https://r.example/v0.1"),
        ("https://r.example/", "https://r.example/v0.1"),
        ("https://r.example/v0", "https://r.example/v0"),
        ("https://r.example/api/v0.2/", "https://r.example/api/v0.2"),
        ("https://r.example/v0x", "https://r.example/v0x/v0.1"),
    ] {
        let bench = Bench::new(&[(POLICY, "[registry]\nremote = [\"https://r.example\"]\n")]);
        let report = add_registry(&bench.context, url, None).unwrap();
        let opened = RemoteRegistry::open(&bench.context, &report.registries[0]);
        assert_eq!(opened.ok().unwrap().base, base, "{url}");
    }
}

#[test]
fn a_search_needs_all_words_in_any_order() {
    let bench = site();
    let count = |words: &str| search_registries(&bench.context, words).unwrap().server_count;
    for (words, expect) in [("the weather", 2), ("WEATHER tells", 2), ("", 2), ("weather snow", 0)] {
        assert_eq!(count(words), expect, "{words}");
    }
}

#[test]
fn without_a_registry_nothing_can_be_searched() {
    let bench = Bench::new(&[]);
    assert_eq!(search_registries(&bench.context, "x").unwrap_err().kind(), ErrorKind::NotFound);
    assert_eq!(registry_info(&bench.context, "x", false).unwrap_err().kind(), ErrorKind::NotFound);
}

#[test]
fn a_server_is_the_newest_version_or_the_named_one() {
    let bench = site();
    let version = |name: &str| registry_info(&bench.context, name, false).map(|report| report.server.version);
    assert_eq!(version("io.github.x/weather").unwrap().as_deref(), Some("1.1.0"));
    assert_eq!(version("io.github.x/weather@1.0.0").unwrap().as_deref(), Some("1.0.0"));
    for name in ["io.github.x/weather@2.0.0", "weather", "io.github.x/other"] {
        check_refused(version(name), ErrorKind::NotFound, ErrorCode::RefUnknown);
    }
}

#[test]
fn a_named_version_is_read_from_the_cache_after_its_first_use() {
    let bench = site();
    const NAME: &str = "io.github.x/weather@1.0.0";
    let first = registry_info(&bench.context, NAME, false).unwrap();
    assert!(!first.cached);
    bench.remove(FILE);
    let again = registry_info(&bench.context, NAME, false).unwrap();
    assert_eq!((again.cached, again.digest, again.manifest), (true, first.digest.clone(), first.manifest));
    // A cached document that is not what its name says does not count.
    bench.write(&format!("{CACHE}/{}.json", first.digest), &weather("1.0.0", "evil"));
    assert!(registry_info(&bench.context, NAME, false).is_err());
}

#[test]
fn a_file_that_changed_since_it_was_added_is_not_used() {
    let bench = site();
    bench.replace(FILE, "\"weather\"", "\"evil\"");
    let error = registry_info(&bench.context, "io.github.x/weather", false).unwrap_err();
    assert!(error.to_string().contains("changed since it was added"), "{error}");
    let found = search_registries(&bench.context, "weather").unwrap();
    assert_eq!((found.server_count, found.notes.len()), (0, 1));
}

#[test]
fn other_content_of_a_version_is_refused_until_a_person_accepts_it() {
    let bench = site();
    const NAME: &str = "io.github.x/weather@1.0.0";
    let first = registry_info(&bench.context, NAME, false).unwrap();
    bench.remove(&format!("{CACHE}/{}.json", first.digest));
    bench.replace(FILE, "\"identifier\": \"weather\"", "\"identifier\": \"evil\"");
    add_registry(&bench.context, TYPED, None).unwrap();
    let code = ErrorCode::RegistryChanged;
    check_refused(registry_info(&bench.context, NAME, false), ErrorKind::Refused, code);
    let accepted = registry_info(&bench.context, NAME, true).unwrap();
    assert_ne!(accepted.digest, first.digest);
    assert_eq!(registry_info(&bench.context, NAME, false).unwrap().digest, accepted.digest);
}

#[test]
fn a_damaged_or_newer_list_of_registries_is_not_replaced() {
    for text in ["{", "{\"schema\": \"brigade.known-registries.v9\", \"registries\": [], \"pins\": {}}"] {
        let bench = Bench::new(&[(REGISTRIES, text), (FILE, "[]")]);
        assert_eq!(registries(&bench.context).unwrap_err().kind(), ErrorKind::InvalidConfig);
        assert!(add_registry(&bench.context, TYPED, None).is_err());
        assert_eq!(bench.read(REGISTRIES).as_deref(), Some(text));
    }
}

#[test]
fn of_too_many_pins_the_oldest_go() {
    let bench = Bench::new(&[]);
    let pin = |at: i64| PinnedServer {
        digest: String::new(),
        registry: String::new(),
        at: Timestamp::from_unix_micros(at),
    };
    let pins = (0..=MAX_PINS as i64).map(|at| (format!("x@{at}"), pin(1 + at)));
    let mut document = Document { schema: SCHEMA.to_owned(), registries: Vec::new(), pins: pins.collect() };
    bench.context.fs.create_dir_all(&RelPath::from_static(".brigade/tools")).unwrap();
    document.write(&*bench.context.fs).unwrap();
    let read = Document::read(&*bench.context.fs).unwrap();
    assert_eq!((read.pins.len(), read.pins.contains_key("x@0")), (MAX_PINS, false));
}

#[test]
fn what_a_registry_says_is_shown_without_secrets_and_not_too_long() {
    let manifest =
        |text: String| Json::object([("name", Json::from("x")), ("description", Json::from(text))]);
    let shown = row(&manifest("d".repeat(1_000)), "r").unwrap();
    assert_eq!(shown.description.len(), 400);
    let secret = row(&manifest("use ghp_abcdefghijklmnopqrstuvwxyz0123456789".to_owned()), "r").unwrap();
    assert!(!secret.description.contains("ghp_"), "{}", secret.description);
    assert!(row(&Json::object([("description", Json::from("x"))]), "r").is_none(), "it has no name");
}

#[test]
fn a_server_of_a_registry_is_registered_with_its_version_and_digest() {
    let bench = site();
    let request = crate::RegisterRequest {
        sources: vec![crate::RegisterSource::Reference("registry:io.github.x/weather@1.0.0".to_owned())],
        level: brigade_catalog::Level::Project,
        id: None,
        replace: false,
        dry_run: false,
    };
    crate::register(&bench.context, &request).map_err(|error| error.failure).unwrap();
    let digest = registry_info(&bench.context, "io.github.x/weather@1.0.0", false).unwrap().digest;
    let catalog = load::catalog(&bench.context).unwrap();
    let tool = catalog.tool("weather").expect("its entry");
    let source = tool.source.as_ref().unwrap();
    assert_eq!(source.reference.as_deref(), Some("registry:io.github.x/weather@1.0.0"));
    assert_eq!((source.fingerprint.as_deref(), tool.enabled), (Some(digest.as_str()), false));
}
