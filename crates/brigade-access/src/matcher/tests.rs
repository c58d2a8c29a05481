use brigade_catalog::{Family, Tool};

use super::*;

fn tool(id: &str, effects: &[&str]) -> Tool {
    let effects = effects.iter().map(|effect| (*effect).to_owned()).collect();
    Tool { effects, ..Tool::new(id, Family::Script).unwrap() }
}

#[track_caller]
fn check(text: &str, yes: &[(&str, &[&str])], no: &[(&str, &[&str])]) {
    let matcher = Matcher::parse(text).unwrap();
    for (expect, tools) in [(true, yes), (false, no)] {
        for (id, effects) in tools {
            let tool = tool(id, effects);
            assert_eq!(matcher.matches(&ToolTraits::from_tool(&tool)), expect, "{text} {id} {effects:?}");
        }
    }
}

#[test]
fn terms_match_ids_groups_effects_and_risks() {
    check("*", &[("a", &[])], &[]);
    check("id:fs.*", &[("fs.read", &[])], &[("fsx.read", &[]), ("fs", &[])]);
    check("group:fs", &[("fs.read", &[]), ("fs.a.b", &[])], &[("fs", &[]), ("fsx.read", &[])]);
    check("effect:network", &[("a", &["local-read", "network"])], &[("a", &["net"]), ("a", &[])]);
    check("effect:<=local-read,session", &[("a", &["session"]), ("a", &[])], &[("a", &["session", "x"])]);
    check("risk:>=high", &[("a", &["network"]), ("a", &["x"])], &[("a", &["local-write"])]);
    check("risk:medium", &[("a", &["local-write"])], &[("a", &[]), ("a", &["network"])]);
    check("risk:<medium", &[("a", &["local-read"])], &[("a", &["local-write"])]);
    check("source:script", &[("a", &[])], &[]);
    check("source:cat*", &[("a", &[])], &[]);
    check("source:builtin", &[], &[("a", &[])]);
    check("access:<=user", &[("a", &[])], &[]);
    check("access:>user", &[], &[("a", &[])]);
    check("role:universal", &[("a", &[])], &[]);
    check("mode:chat", &[], &[("a", &[])]);
    check("judge:run", &[], &[("a", &[])]);
}

#[test]
fn blanks_are_and_and_exclamation_marks_are_not() {
    check(
        "group:fs !effect:local-delete",
        &[("fs.read", &[])],
        &[("fs.delete", &["local-delete"]), ("a", &[])],
    );
    check("!*", &[], &[("a", &[])]);
}

fn list(texts: &[&str]) -> Vec<LocatedValue<Matcher>> {
    let place = brigade_core::Place::file("p");
    texts
        .iter()
        .map(|text| LocatedValue { value: Matcher::parse(text).unwrap(), place: place.clone() })
        .collect()
}

#[test]
fn a_list_matches_what_any_element_matches() {
    let list = list(&["id:a", "!effect:network"]);
    let at = |id, effects| first_match(&list, &ToolTraits::from_tool(&tool(id, effects)));
    assert_eq!(at("a", &["network"]), Some(0));
    assert_eq!(at("b", &[]), Some(1));
    assert_eq!(at("b", &["network"]), None);
}

#[test]
fn what_is_only_negated_is_taken_from_what_is_shown() {
    let show = list(&["id:count-words", "group:fs", "!effect:local-delete"]);
    let shown = |id, effects| shows(&show, &ToolTraits::from_tool(&tool(id, effects)));
    assert!(shown("count-words", &["local-read"]) && shown("fs.read", &[]));
    assert!(!shown("other", &[]) && !shown("fs.delete", &["local-delete"]));
    assert!(!shows(&[], &ToolTraits::from_tool(&tool("a", &[]))));
    assert!(shows(&list(&["!effect:x"]), &ToolTraits::from_tool(&tool("a", &[]))));
}

#[track_caller]
fn check_invalid(text: &str, part: &str, near: Option<&str>) {
    let error = Matcher::parse(text).unwrap_err();
    assert!(error.message.contains(part), "{error:?}");
    assert_eq!(error.near.as_deref(), near, "{error:?}");
}

#[test]
fn invalid_matchers_suggest_a_near_word() {
    check_invalid("", "expected `*`", None);
    check_invalid("fs.read", "KEY:VALUE", None);
    check_invalid("efect:network", "one of id, group", Some("effect"));
    check_invalid("id:", "after `id:`", None);
    check_invalid("risk:>=hihg", "low, medium, high, critical", Some("high"));
    check_invalid("access:users", "user, system, operator", Some("user"));
    check_invalid("id:a mode:cat", "one of chat", Some("chat"));
    check_invalid("judge:skip", "run", None);
}
