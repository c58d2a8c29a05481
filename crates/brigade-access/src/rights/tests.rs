use std::collections::BTreeSet;

use brigade_catalog::{Family, Tool};
use brigade_core::{AgentName, ErrorCode};
use brigade_policy::approval::ReviewState;
use brigade_policy::{Blocker, PolicyValidity};
use proptest::prelude::*;

use super::*;
use crate::AccessLevel;
use crate::Mode;
use crate::builtin::{Definition, definitions};
use crate::names::NameClashes;
use crate::visible::{Facts, visible};

const OWN: &str = r#"
[[profile]]
name = "context.docs"
show = ["id:a*", "group:fs", "!effect:local-delete"]
  [[profile.rule]]
  match = "effect:local-read"
  action = "allow"
  constrain = { paths = ["docs"] }
  [[profile.rule]]
  match = "risk:>=high"
  action = "ask"
[[profile]]
name = "guard.no-network"
  [[profile.rule]]
  match = ["effect:network", "effect:remote-read"]
  action = "deny"
[[profile]]
name = "permission.open"
  [[profile.rule]]
  match = "*"
  action = "allow"
[[profile]]
name = "guard.nothing"
show = []
"#;

fn profiles() -> Profiles {
    Profiles::parse("profiles.toml", Some(OWN.as_bytes())).unwrap()
}

fn agent(names: &[&str]) -> Agent {
    let place = Place::file("gateway.toml");
    let located =
        |name: &&str| brigade_policy::LocatedValue { value: name.parse().unwrap(), place: place.clone() };
    Agent { profiles: names.iter().map(located).collect(), ..Agent::new(AgentName::local(), place.clone()) }
}

fn tool(id: &str, effects: &[&str]) -> Tool {
    let effects = effects.iter().map(|effect| (*effect).to_owned()).collect();
    Tool { effects, ..Tool::new(id, Family::Script).unwrap() }
}

#[test]
fn a_limit_that_holds_no_argument_is_told() {
    let rights = Rights::new(&profiles(), &agent(&["context.docs"]), &[]).unwrap();
    let not_held = |traits: &ToolTraits<'_>| -> Vec<&'static str> {
        rights.opinions(traits).into_iter().flat_map(|opinion| opinion.not_held).collect()
    };
    // An entry of the catalog does not say which of its arguments are paths; a tool of Brigade does.
    assert_eq!(not_held(&ToolTraits::from_tool(&tool("a1", &["local-read"]))), ["constrain.paths"]);
    assert_eq!(not_held(&ToolTraits::from_tool(&tool("a2", &["local-delete"]))), [] as [&str; 0]);
    let read = crate::builtin::entry("fs.read").unwrap();
    assert_eq!(not_held(&ToolTraits::from_tool(read)), [] as [&str; 0]);
}

#[test]
fn an_agent_has_one_profile_in_each_slot() {
    let rights = Rights::new(&profiles(), &agent(&["permission.plan"]), &[]).unwrap();
    let names: Vec<&str> = rights.profiles().iter().map(|profile| profile.name.as_str()).collect();
    assert_eq!(
        names,
        ["access.user", "role.any", "mode.any", "permission.plan", "context.workspace", "guard.rate"]
    );
}

/// Returns whether the columns of a row let an agent with these profiles see the tool.
fn is_for(row: &Definition, mode: Mode, access: AccessLevel, permission: &str) -> bool {
    let only_reads = |effect: &&str| ["local-read", "remote-read", "session"].contains(effect);
    let is_of_permission = match (permission, row.id) {
        (_, "session.exit_plan") => permission == "permission.plan",
        ("permission.plan", _) => row.effects.iter().all(only_reads),
        _ => true,
    };
    (mode == Mode::Operator || row.modes.contains(&mode)) && row.access <= access && is_of_permission
}

#[test]
fn the_columns_of_a_row_decide_who_sees_the_tool() {
    let profiles = profiles();
    for mode in Mode::ALL {
        for access in AccessLevel::ALL {
            for permission in ["permission.plan", "permission.edit", "permission.full-auto"] {
                let agent = agent(&["access.operator", permission]);
                let narrowed = [format!("mode.{}", mode.as_str()), format!("access.{}", access.as_str())];
                let rights = Rights::new(&profiles, &agent, &narrowed).unwrap();
                for row in definitions().iter().filter(|row| !row.is_control) {
                    let entry = crate::builtin::entry(row.id).unwrap();
                    let is_shown = rights.shows(&ToolTraits::from_tool(entry));
                    assert_eq!(
                        is_shown,
                        is_for(row, *mode, *access, permission),
                        "{} {narrowed:?} {permission}",
                        row.id
                    );
                }
            }
        }
    }
}

#[test]
fn every_opinion_has_its_rule_and_line() {
    let rights =
        Rights::new(&profiles(), &agent(&["context.docs"]), &["guard.no-network".to_owned()]).unwrap();
    let (one, two) = (tool("a", &["process-exec"]), tool("b", &["network"]));
    let traits = ToolTraits::from_tool(&one);
    assert!(rights.shows(&traits) && rights.strictest(&traits) == Action::Ask);
    let opinions = rights.opinions(&traits);
    let docs = opinions.iter().find(|opinion| opinion.profile.slot() == Slot::Context).unwrap();
    assert_eq!((docs.shows, docs.action), (true, Action::Ask));
    assert_eq!(docs.place.as_ref().unwrap().to_string(), "profiles.toml:9:3");
    let traits = ToolTraits::from_tool(&two);
    let opinions = rights.opinions(&traits);
    let against: Vec<&str> =
        opinions.iter().filter(|opinion| !opinion.shows).map(|opinion| opinion.profile.as_str()).collect();
    assert_eq!(against, ["context.docs", "guard.no-network"]);
    assert!(!rights.shows(&traits));
}

#[test]
fn a_call_outside_of_the_rule_that_decides_is_refused() {
    let rights = Rights::new(&profiles(), &agent(&["context.docs"]), &[]).unwrap();
    let read = tool("a", &["local-read"]);
    let mut traits = ToolTraits::from_tool(&read);
    let args = |path: &str| Json::object([("path", Json::from(path))]);
    // Catalog tools declare no paths.
    assert_eq!(rights.check_call(&traits, &args("/etc/passwd"), "/work"), Ok(()));
    traits.arguments.paths = &["path"];
    assert_eq!(rights.check_call(&traits, &args("docs/a"), "/work"), Ok(()));
    for outside in ["src/a", "docs/../src", "/etc/passwd"] {
        let refusal = rights.check_call(&traits, &args(outside), "/work").unwrap_err();
        assert_eq!((refusal.argument.as_str(), refusal.limit), ("path", "constrain.paths"));
        assert_eq!(refusal.profile.as_str(), "context.docs");
    }
    let everywhere = Rights::new(&profiles(), &agent(&[]), &[]).unwrap();
    assert!(everywhere.check_call(&traits, &args("src/a"), "/work").is_ok());
    assert!(everywhere.check_call(&traits, &args("../x"), "/work").is_err());
}

#[test]
fn a_task_has_the_effects_that_its_context_grants() {
    // Issue 17: the limits of a task counted as a context that grants nothing.
    let rule = |name: &str, limits: &str| {
        format!(
            "[[profile]]\nname = \"{name}\"\n[[profile.rule]]\nmatch = \"id:cmd.run\"\naction = \"allow\"\n\
             constrain = {{ commands = [\"make\"]{limits} }}\n"
        )
    };
    let text = rule("context.wide", ", effects = [\"local-write\"]") + &rule("context.other", "");
    let profiles = Profiles::parse("profiles.toml", Some(text.as_bytes())).unwrap();
    let tool = tool("cmd.run", &["process-exec"]);
    let mut session = SessionProfiles::default();
    let granted = |session: &SessionProfiles| {
        let rights = Rights::of_session(&profiles, &agent(&["context.wide"]), session, &[]).unwrap();
        rights.granted_effects(&ToolTraits::from_tool(&tool))
    };
    assert_eq!(granted(&session), ["local-write"]);
    let mut limits = TaskLimits { agent: "one".to_owned(), ..TaskLimits::default() };
    limits.add_tool("cmd.run");
    session.within(limits.clone());
    assert_eq!(granted(&session), ["local-write"]);
    let mut reading = session.clone();
    reading.within(TaskLimits { only_reads: true, ..limits });
    assert_eq!(granted(&reading), [""; 0]);
    // The security context of a manifest is a context like others.
    session.narrow("context.other".parse().unwrap());
    assert_eq!(granted(&session), [""; 0]);
}

#[test]
fn modes_end_where_a_task_begins() {
    let shows = |session: &SessionProfiles, over: &[String], id: &str| {
        let rights = Rights::of_session(&profiles(), &agent(&["mode.execute"]), session, over).unwrap();
        rights.shows(&ToolTraits::from_tool(crate::builtin::entry(id).unwrap()))
    };
    let mut session = SessionProfiles::default();
    session.narrow("mode.chat".parse().unwrap());
    session.narrow("permission.plan".parse().unwrap());
    assert!(!shows(&session, &[], "fs.read"));
    // The records of calls list the mode of the session that began the task.
    let recorded = ["mode.execute".to_owned(), "mode.chat".to_owned()];
    let mut inner = session.inside();
    assert!(shows(&inner, &recorded, "fs.read") && !shows(&inner, &recorded, "session.mode"));
    assert!(!shows(&inner, &recorded, "fs.write"), "the permission counts");
    inner.narrow("mode.chat".parse().unwrap());
    assert!(!shows(&inner.inside(), &[], "fs.read"), "the manifest names this mode");
}

#[test]
fn a_tool_that_a_person_approves_needs_no_access() {
    let mut session = SessionProfiles::default().inside();
    let asks = ["agent.create".to_owned()].into();
    session.within(TaskLimits { agent: "writer".to_owned(), asks, ..TaskLimits::default() });
    let rights = Rights::of_session(&profiles(), &agent(&[]), &session, &[]).unwrap();
    let traits = |id: &str| ToolTraits::from_tool(crate::builtin::entry(id).unwrap());
    assert!(
        rights.shows(&traits("agent.create")) && rights.strictest(&traits("agent.create")) == Action::Ask
    );
    assert_eq!(rights.hidden_by(&traits("agent.update")).unwrap().as_str(), "access.user");
    let closed = ["guard.nothing".to_owned()];
    let rights = Rights::of_session(&profiles(), &agent(&[]), &session, &closed).unwrap();
    assert!(!rights.shows(&traits("agent.create")), "every other profile counts");
}

#[test]
fn an_unknown_profile_is_named_with_a_near_one() {
    let error = Rights::new(&profiles(), &agent(&[]), &["permission.pln".to_owned()]).unwrap_err();
    assert_eq!(error.near.as_deref(), Some("permission.plan"));
}

fn all_names() -> Vec<String> {
    profiles().all().map(|profile| profile.name.to_string()).collect()
}

fn any_tool() -> impl Strategy<Value = Tool> {
    let effect = prop::sample::select(vec![
        "local-read",
        "local-write",
        "network",
        "remote-read",
        "process-exec",
        "local-delete",
        "session",
        "secret-read",
        "odd",
    ]);
    let id = prop::sample::select(vec!["a", "ab", "b", "fs.x", "session.x", "tools.call"]);
    (id, prop::collection::vec(effect, 0..4)).prop_map(|(id, effects)| tool(id, &effects))
}

/// One profile for each slot, and any overlays.
fn any_profiles() -> impl Strategy<Value = (Vec<String>, Vec<String>)> {
    let own_in = |slot: Slot| {
        let names: Vec<String> =
            all_names().into_iter().filter(|name| name.starts_with(slot.as_str())).collect();
        prop::sample::select(names)
    };
    let own: Vec<_> = Slot::ALL.iter().map(|slot| own_in(*slot)).collect();
    (own, prop::collection::vec(prop::sample::select(all_names()), 0..4))
}

proptest! {
    /// What is visible can be called, and the listing states the approval that the call needs. What is not visible has
    /// a reason.
    #[test]
    fn visible_is_callable(tool in any_tool(), (own, over) in any_profiles(), against in any::<bool>(), enabled in any::<bool>()) {
        let own: Vec<&str> = own.iter().map(String::as_str).collect();
        let rights = Rights::new(&profiles(), &agent(&own), &over).unwrap();
        let traits = ToolTraits::from_tool(&tool);
        let against = if against { vec![Blocker::new(ErrorCode::PolicyDeniedEffect, "x")] } else { Vec::new() };
        for policy in [PolicyValidity::Missing, PolicyValidity::Invalid, PolicyValidity::Valid] {
            let facts = Facts { policy, tool: traits, is_enabled: enabled, check: ArgumentCheck::Checked, reviewed: &ReviewState::Yes, against: &against, clashes: &NameClashes::default() };
            match visible(&rights, &facts) {
                Ok(need) => {
                    prop_assert!(rights.shows(&traits) && enabled && against.is_empty());
                    prop_assert_eq!(need, rights.approval(&traits, ArgumentCheck::Checked, &ReviewState::Yes, None).need());
                    prop_assert!(policy == PolicyValidity::Valid && tool.id != "tools.call");
                    prop_assert_eq!(rights.check_call(&traits, &Json::object::<&str>([]), "/work"), Ok(()));
                }
                Err(reasons) => prop_assert!(!reasons.is_empty()),
            }
        }
    }

    /// An overlay shows nothing more and needs no fewer approvals, in any position.
    #[test]
    fn an_overlay_only_narrows(tool in any_tool(), (own, over) in any_profiles()) {
        let own: Vec<&str> = own.iter().map(String::as_str).collect();
        let traits = ToolTraits::from_tool(&tool);
        let mut rights = Rights::new(&profiles(), &agent(&own), &[]).unwrap();
        for name in &over {
            let narrowed = rights.clone().with(profiles().get(name).unwrap().clone());
            prop_assert!(rights.shows(&traits) || !narrowed.shows(&traits));
            prop_assert!(rights.strictest(&traits) <= narrowed.strictest(&traits));
            rights = narrowed;
        }
    }

    /// Overlays of a session only narrow. A profile from a person replaces one slot, until the agent's own profile
    /// changes.
    #[test]
    fn a_session_only_narrows_without_a_person(tool in any_tool(), (own, over) in any_profiles(), given in prop::sample::select(all_names())) {
        let own: Vec<&str> = own.iter().map(String::as_str).collect();
        let (profiles, traits) = (profiles(), ToolTraits::from_tool(&tool));
        let before = Rights::new(&profiles, &agent(&own), &[]).unwrap();
        let mut session = SessionProfiles::default();
        for name in &over {
            session.narrow(name.parse().unwrap());
            let now = Rights::of_session(&profiles, &agent(&own), &session, &[]).unwrap();
            prop_assert!(now.is_within(&before, [traits]));
        }
        let given: ProfileName = given.parse().unwrap();
        let names = Rights::own_names(&profiles, &agent(&own), given.slot()).unwrap();
        let mut granted = SessionProfiles::default();
        granted.grant(names, given.clone());
        let now = Rights::of_session(&profiles, &agent(&own), &granted, &over).unwrap();
        let mut others: Vec<&str> = own.iter().copied().filter(|name| !name.starts_with(given.slot().as_str())).collect();
        others.push(given.as_str());
        let meant = Rights::new(&profiles, &agent(&others), &over).unwrap();
        prop_assert_eq!((now.shows(&traits), now.strictest(&traits)), (meant.shows(&traits), meant.strictest(&traits)));
        // The agent has another profile in this slot, so the person's choice lapses.
        granted.grant(vec!["guard.other".parse().unwrap()], given);
        let lapsed = Rights::of_session(&profiles, &agent(&own), &granted, &[]).unwrap();
        prop_assert_eq!((lapsed.shows(&traits), lapsed.strictest(&traits)), (before.shows(&traits), before.strictest(&traits)));
    }

    /// A task has at most the rights of its caller, limited by its manifest, whatever a person gives the session.
    #[test]
    fn a_task_only_narrows(
        tool in any_tool(),
        (own, over) in any_profiles(),
        named in prop::option::of(prop::collection::vec(prop::sample::select(vec!["fs.read", "fs.*", "*", "a b", "x"]), 0..3)),
        given in prop::sample::select(all_names()),
    ) {
        let own: Vec<&str> = own.iter().map(String::as_str).collect();
        let (profiles, traits) = (profiles(), ToolTraits::from_tool(&tool));
        let mut session = SessionProfiles::default();
        over.iter().for_each(|name| session.narrow(name.parse().unwrap()));
        let given: ProfileName = given.parse().unwrap();
        let names = Rights::own_names(&profiles, &agent(&own), given.slot()).unwrap();
        session.grant(names, given);
        let before = Rights::of_session(&profiles, &agent(&own), &session, &[]).unwrap();
        let mut limits = TaskLimits { agent: "one".to_owned(), ..TaskLimits::default() };
        if let Some(named) = &named {
            limits.tools = Some(Default::default());
            named.iter().for_each(|name| limits.add_tool(name));
        }
        session.within(limits.clone());
        let now = Rights::of_session(&profiles, &agent(&own), &session, &[]).unwrap();
        prop_assert!(now.is_within(&before, [traits]));
        let is_named = named.is_none_or(|named| named.contains(&tool.id.as_str()));
        prop_assert_eq!(now.shows(&traits), before.shows(&traits) && is_named);
        // Records list its profile. The name is valid only in this session.
        let recorded: Vec<String> = now.profiles().iter().map(|profile| profile.name.to_string()).collect();
        let again = Rights::of_session(&profiles, &agent(&own), &session, &recorded).unwrap();
        prop_assert_eq!((again.shows(&traits), again.strictest(&traits)), (now.shows(&traits), now.strictest(&traits)));
        prop_assert!(Rights::new(&profiles, &agent(&own), &recorded).is_err());
        // A task that it starts, of an agent of the same name, adds another profile and narrows further.
        limits.tools = Some(BTreeSet::from(["none".to_owned()]));
        let mut other = SessionProfiles::default();
        other.within(limits.clone());
        prop_assert!(Rights::of_session(&profiles, &agent(&own), &other, &recorded).is_err());
        session.within(limits);
        let below = Rights::of_session(&profiles, &agent(&own), &session, &[]).unwrap();
        prop_assert!(!below.shows(&traits));
    }

    /// A deny in any slot hides the tool, whatever the others say, and the strictest opinion decides.
    #[test]
    fn a_deny_anywhere_wins(tool in any_tool(), (own, over) in any_profiles()) {
        let own: Vec<&str> = own.iter().map(String::as_str).collect();
        let rights = Rights::new(&profiles(), &agent(&own), &over).unwrap();
        let traits = ToolTraits::from_tool(&tool);
        let strictest = rights.opinions(&traits).iter().map(|opinion| opinion.action).max().unwrap();
        prop_assert_eq!(rights.shows(&traits), strictest != Action::Deny);
        prop_assert_eq!(rights.strictest(&traits), strictest);
    }

    /// The order of overlays, and naming one again, change nothing.
    #[test]
    fn only_the_set_of_profiles_counts(tool in any_tool(), (own, over) in any_profiles()) {
        let own: Vec<&str> = own.iter().map(String::as_str).collect();
        let traits = ToolTraits::from_tool(&tool);
        let one = Rights::new(&profiles(), &agent(&own), &over).unwrap();
        let mut twice = over.clone();
        twice.extend(over.iter().rev().cloned());
        twice.reverse();
        let two = Rights::new(&profiles(), &agent(&own), &twice).unwrap();
        prop_assert_eq!((one.shows(&traits), one.strictest(&traits)), (two.shows(&traits), two.strictest(&traits)));
    }
}
