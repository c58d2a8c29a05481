use brigade_access::builtin::definition;
use brigade_workspace::{CATALOG, POLICY, gather, load};

use super::*;
use crate::testing::Bench;

/// Returns whether a topic is allowed, its message and its line, for a tool of this id.
#[track_caller]
fn ruling(policy: &str, id: &str, topic: &str) -> (bool, String, Option<usize>) {
    let tool = "[[tool]]\nid = \"sum\"\nname = \"Sum\"\nfamily = \"script\"\ncommand = \"sum\"\neffects = [\"network\"]\n";
    let bench = Bench::new(&[(CATALOG, tool), (POLICY, policy)]);
    let config = gather::config(&bench.context).unwrap();
    let tool = load::any_tool(&config.catalog, id).unwrap();
    let (_, rulings) = tool_rulings(&bench.context, &config, tool).unwrap();
    let found = rulings.iter().find(|ruling| ruling.topic == topic);
    let found = found.unwrap_or_else(|| panic!("no {topic} in {rulings:#?}"));
    (found.allowed, found.message.clone(), found.line)
}

#[test]
fn a_ruling_names_the_line_that_decides() {
    let policy = "allowed_families = [\"script\"]\ndenied_effects = [\"network\"]\n";
    let (allowed, message, line) = ruling(policy, "sum", "effect");
    assert_eq!((allowed, line), (false, Some(2)), "{message}");
    let (allowed, _, line) = ruling(policy, "sum", "family");
    assert_eq!((allowed, line), (true, Some(1)));
}

#[test]
fn built_in_tools_say_what_they_reach() {
    for (policy, id, topic, allowed, expect) in [
        ("", "web.fetch", "web_domains", false, "no host is named"),
        ("[web]\ndomains = [\"example.org\"]\n", "web.fetch", "web_domains", true, "example.org"),
        ("", "git.clone", "git_urls", false, "no repository is named"),
        (
            "[git]\nurls = [\"https://example.org/a\"]\n",
            "git.push",
            "git_urls",
            true,
            "https://example.org/a",
        ),
        ("", SCREENSHOT, "program", false, "no program is named"),
    ] {
        assert!(definition(id).is_some(), "{id}");
        let (is_allowed, message, _) = ruling(policy, id, topic);
        assert!(is_allowed == allowed && message.contains(expect), "{id}: {is_allowed} {message}");
    }
}
