use brigade_catalog::{Family, Tool};

use super::*;

fn tool(id: &str, effects: &[&str]) -> Tool {
    let effects = effects.iter().map(|effect| (*effect).to_owned()).collect();
    Tool { effects, ..Tool::new(id, Family::Script).unwrap() }
}

/// Says what a profile does with a catalog tool of these effects: `hidden`, or its action.
fn stand(profiles: &Profiles, name: &str, id: &str, effects: &[&str]) -> &'static str {
    let tool = tool(id, effects);
    let stand = profiles.get(name).unwrap_or_else(|| panic!("{name}")).verdict(&ToolTraits::from_tool(&tool));
    if stand.shows() { stand.action().as_str() } else { "hidden" }
}

#[track_caller]
fn check(name: &str, effects: &[&str], expect: &str) {
    assert_eq!(stand(Profiles::shipped(), name, "t", effects), expect, "{name} {effects:?}");
}

#[test]
fn the_shipped_profiles_are_valid() {
    let (_, issues) = read::profiles(SHIPPED, SHIPPED_TEXT, None);
    assert_eq!(issues, []);
    for slot in Slot::ALL {
        assert_eq!(Profiles::shipped().default_of(*slot).name.slot(), *slot);
    }
}

#[test]
fn permissions_of_catalog_tools() {
    for effects in [&[][..], &["local-read"], &["remote-read", "session", "local-read"]] {
        check("permission.plan", effects, "allow");
    }
    for effect in ["local-write", "memory-write", "network", "secret-read", "unheard-of"] {
        check("permission.plan", &["local-read", effect], "hidden");
        check("permission.edit", &["local-read", effect], "allow");
    }
    for effect in ["process-exec", "local-delete", "remote-mutation"] {
        check("permission.plan", &[effect], "hidden");
        check("permission.edit", &["local-read", effect], "ask");
        check("permission.full-auto", &[effect], "allow");
    }
}

#[test]
fn catalog_tools_belong_to_a_user_and_to_every_role() {
    for access in ["access.user", "access.system", "access.operator"] {
        check(access, &["network"], "allow");
    }
    for role in ["chat", "worker", "employee", "cto", "coordinator", "run-agent", "standalone", "any"] {
        check(&format!("role.{role}"), &["network"], "allow");
    }
    check("role.external", &["local-read"], "allow");
    for effects in [&[][..], &["local-read", "local-write"], &["session"], &["remote-read"]] {
        check("role.external", effects, "hidden");
    }
}

#[test]
fn only_some_modes_show_catalog_tools() {
    for mode in ["any", "external", "agent-loop", "operator"] {
        check(&format!("mode.{mode}"), &[], "allow");
    }
    for mode in ["chat", "agentic", "execute", "architect", "workflow"] {
        check(&format!("mode.{mode}"), &[], "hidden");
    }
}

const DOCS: &str = r#"
[[profile]]
name = "context.docs"
show = ["id:count-words", "group:fs", "!effect:local-delete"]
hide = ["id:fs.write"]
  [[profile.rule]]
  match = "effect:process-exec"
  action = "ask"
  constrain = { paths = ["docs"], max_bytes = "1MiB" }
  [[profile.rule]]
  match = ["effect:network", "risk:>=high"]
  action = "deny"
"#;

#[test]
fn the_first_rule_that_matches_decides() {
    let profiles = Profiles::parse("p.toml", Some(DOCS.as_bytes())).unwrap();
    let stand = |id, effects: &[&str]| stand(&profiles, "context.docs", id, effects);
    assert_eq!(stand("count-words", &["local-read"]), "allow");
    assert_eq!(stand("fs.write", &["local-write"]), "hidden");
    assert_eq!(stand("fs.delete", &["local-delete"]), "hidden");
    assert_eq!(stand("other", &[]), "hidden");
    assert_eq!(stand("fs.run", &["process-exec", "network"]), "ask");
    assert_eq!(stand("fs.fetch", &["network"]), "hidden");
    let rule = &profiles.get("context.docs").unwrap().rules[0];
    let constrain = rule.constrain.as_ref().unwrap();
    assert_eq!((constrain.max_bytes, rule.place.line), (Some(1 << 20), Some(6)));
}

#[track_caller]
fn check_invalid(text: &str, line: usize, field: &str, part: &str) {
    let issues = Profiles::parse("p.toml", Some(text.as_bytes())).expect_err(text);
    let found = issues.iter().any(|issue| {
        issue.place.line == Some(line)
            && issue.field.as_deref() == Some(field)
            && format!("{} {:?}", issue.message, issue.hint).contains(part)
    });
    assert!(found, "{issues:#?}");
}

#[test]
fn an_error_in_the_file_has_a_place_and_a_near_name() {
    let with = |rest: &str| format!("[[profile]]\nname = \"context.x\"\n{rest}\n");
    check_invalid("[[profil]]\n", 1, "profil", "profile");
    check_invalid("[[profile]]\n", 1, "profile[1].name", "missing");
    check_invalid("[[profile]]\nname = \"docs\"\n", 2, "profile[1].name", "SLOT.NAME");
    check_invalid("[[profile]]\nname = \"role.any\"\n", 2, "profile[1].name", "part of Brigade");
    check_invalid(&format!("{}{}", with(""), with("")), 5, "profile[2].name", "line 1");
    check_invalid(&with("shows = []"), 3, "profile[1].shows", "show");
    check_invalid(&with("show = [\"efect:x\"]"), 3, "profile[1].show", "effect");
    check_invalid(&with("show = 3"), 3, "profile[1].show", "list");
    let rule = |rest: &str| with(&format!("[[profile.rule]]\n{rest}"));
    check_invalid(&rule("match = \"*\""), 3, "profile[1].rule[1].action", "missing");
    check_invalid(&rule("action = \"ask\""), 3, "profile[1].rule[1].match", "missing");
    check_invalid(&rule("match = []\naction = \"ask\""), 4, "profile[1].rule[1].match", "empty");
    check_invalid(&rule("match = \"*\"\naction = \"asc\""), 5, "profile[1].rule[1].action", "ask");
    check_invalid(
        &rule("match = \"*\"\naction = \"ask\"\nconstrain = { path = [\"x\"] }"),
        6,
        "profile[1].rule[1].constrain.path",
        "paths",
    );
}

#[test]
fn a_missing_file_leaves_the_shipped_profiles() {
    let profiles = Profiles::parse("p.toml", None).unwrap();
    assert_eq!(profiles.all().count(), Profiles::shipped().all().count());
    assert_eq!(profiles.near("permission.pln"), Some("permission.plan"));
}
