use std::collections::BTreeSet;

use brigade_access::CONTROL_TOOLS;

use super::*;
use crate::testing::{Bench, entry, json};
use crate::{CATALOG, POLICY};

const SCHEMA: (&str, &str) = ("s.json", "{\"type\": \"object\"}");

/// Returns a catalog entry that agents can call, with more lines.
fn usable(id: &str, lines: &str) -> String {
    entry(id, &format!("command = 'bin/run'\ninput_schema_path = 's.json'\n{lines}"))
}

/// Returns a workspace with a program, a schema, a catalog and a policy for scripts.
fn bench(catalog: &str) -> Bench {
    let bench = Bench::new(&[(CATALOG, catalog), (POLICY, "allowed_families = ['script']\n"), SCHEMA]);
    bench.program("bin/run", "#!/bin/sh\n");
    bench
}

/// Returns the tools that the agent `local` sees.
#[track_caller]
fn seen(bench: &Bench) -> AgentTools {
    seen_as(bench, "local")
}

#[track_caller]
fn seen_as(bench: &Bench, name: &str) -> AgentTools {
    let agents = Arc::new(read_agents(&*bench.context.fs, &bench.context.trust).unwrap());
    let agent = agents.gateway.agent(name).unwrap().clone();
    let rights = Rights::new(&agents.profiles, &agent, &[]).unwrap();
    agent_tools(bench.host(), bench.config(), agents, agent, rights, NameStyle::Dotted).unwrap()
}

fn ids(seen: &AgentTools) -> Vec<&str> {
    seen.tools().iter().map(|tool| seen.entry(tool).id.as_str()).collect()
}

#[test]
fn without_files_there_are_the_shipped_profiles_and_the_agent_local() {
    let bench = Bench::new(&[]);
    let agents = read_agents(&*bench.context.fs, &bench.context.trust).unwrap();
    assert!(agents.gateway.agent("local").is_some());
    assert!(agents.profiles.get("permission.plan").is_some());
}

#[test]
fn a_file_with_an_error_or_of_git_is_not_used() {
    let code = |prepare: &dyn Fn(&Bench)| {
        let bench = Bench::new(&[]);
        prepare(&bench);
        let read = read_agents(&*bench.context.fs, &bench.context.trust);
        read.err().map(|issues| (agents_error_code(&issues), issues[0].place.file.clone()))
    };
    let invalid = |file: &str| Some((ErrorCode::GatewayConfigInvalid, file.to_owned()));
    assert_eq!(code(&|bench| bench.write(GATEWAY, "list = 'full'\n")), None);
    assert_eq!(code(&|bench| bench.write(GATEWAY, "list = 'ful'\n")), invalid(GATEWAY));
    assert_eq!(code(&|bench| bench.write(PROFILES, "[[profile]]\nname = 7\n")), invalid(PROFILES));
    assert_eq!(code(&|bench| bench.folder(GATEWAY)), invalid(GATEWAY));
    // Profiles come first, because gateway.toml names them.
    let both = |bench: &Bench| {
        bench.write(GATEWAY, "list = 'ful'\n");
        bench.write(PROFILES, "x = [");
    };
    assert_eq!(code(&both), invalid(PROFILES));
    let tracked = |bench: &Bench| {
        bench.write(GATEWAY, "list = 'full'\n");
        bench.track_all();
    };
    assert_eq!(code(&tracked), Some((ErrorCode::TrackedState, GATEWAY.to_owned())));
}

#[test]
fn an_agent_sees_the_tools_that_can_be_called_by_id() {
    let catalog = [
        usable("zoo", ""),
        usable("docs.read", ""),
        usable("off", "enabled = false"),
        entry("no-schema", "command = 'bin/run'\ninput_schema_path = 'gone.json'"),
        entry("no-program", "command = 'bin/gone'\ninput_schema_path = 's.json'"),
        entry("bad", "command = 7"),
    ];
    let bench = bench(&catalog.concat());
    let seen = seen(&bench);
    assert_eq!(ids(&seen), ["docs.read", "zoo"]);
    let from: Vec<(bool, bool)> =
        seen.started_from().map(|(path, there)| (path.ends_with("run"), there)).collect();
    assert_eq!(from.iter().copied().collect::<BTreeSet<_>>(), BTreeSet::from([(true, true), (false, false)]));
}

#[test]
fn without_a_valid_policy_no_tool_is_seen() {
    let bench = bench(&usable("zoo", ""));
    assert_eq!(ids(&seen(&bench)), ["zoo"]);
    assert!(CONTROL_TOOLS.len() <= seen(&bench).rows().len());
    for text in ["max_timeout = 'x'\n", "allowed_families = ['mcp']\n"] {
        bench.write(POLICY, text);
        assert!(ids(&seen(&bench)).is_empty(), "{text}");
    }
    bench.write(POLICY, "max_timeout = 'x'\n");
    assert!(seen(&bench).rows().is_empty());
    bench.context.fs.remove(&POLICY.parse().unwrap()).unwrap();
    assert!(ids(&seen(&bench)).is_empty());
}

#[test]
fn rows_have_the_control_tools_in_order() {
    let rows = seen(&bench(&usable("zoo", ""))).rows();
    let ids: Vec<&str> = rows.iter().map(|row| &*row.id).collect();
    assert!(
        ids.is_sorted() && ids.contains(&"zoo") && CONTROL_TOOLS.iter().all(|own| ids.contains(own)),
        "{ids:?}"
    );
}

#[test]
fn a_tool_is_found_by_its_listed_name_and_its_id() {
    let catalog = usable("docs.read", "") + &usable("zoo", "");
    let bench = bench(&catalog);
    let agents = Arc::new(read_agents(&*bench.context.fs, &bench.context.trust).unwrap());
    let agent = agents.gateway.agent("local").unwrap().clone();
    let rights = Rights::new(&agents.profiles, &agent, &[]).unwrap();
    let style = NameStyle::Plain;
    let seen = agent_tools(bench.host(), bench.config(), agents, agent, rights, style).unwrap();
    let find = |name: &str| seen.find(name).map(|tool| seen.entry(tool).id.as_str());
    assert_eq!(
        (find("docs_read"), find("docs.read"), find("zoo")),
        (Some("docs.read"), Some("docs.read"), Some("zoo"))
    );
    assert_eq!((find("docs"), find("gone")), (None, None));
    assert_eq!(seen.near("docs_raed"), Some("docs_read"));
    assert_eq!(seen.near("nothing-like-it-at-all"), None);
    // A call names the id.
    let args = json("{}");
    assert!(seen.callable("docs.read", &args).is_some() && seen.callable("docs_read", &args).is_none());
    assert!(seen.callable("gone", &args).is_none());
}

#[test]
fn a_profile_of_the_agent_hides_tools() {
    let bench = bench(&(usable("docs.read", "") + &usable("deploy", "effects = ['network']")));
    bench.write(PROFILES, "[[profile]]\nname = 'context.docs'\nshow = ['group:docs']\n");
    bench
        .write(GATEWAY, "[[agent]]\nname = 'reader'\nprofiles = ['context.docs']\n[[agent]]\nname = 'all'\n");
    assert_eq!(ids(&seen_as(&bench, "reader")), ["docs.read"]);
    assert_eq!(ids(&seen_as(&bench, "all")), ["deploy", "docs.read"]);
    assert_eq!(seen_as(&bench, "all").traits().count(), 2 + bench.config().own_tools().len());
}

#[test]
fn a_mode_is_found_with_and_without_its_slot() {
    let seen = seen(&bench(""));
    for (name, expect) in [
        ("mode.architect", true),
        ("architect", true),
        ("permission.plan", false),
        ("plan", false),
        ("gone", false),
    ] {
        assert_eq!(seen.mode(name).is_some(), expect, "{name}");
    }
}

#[test]
fn a_built_in_tool_with_missing_needs_says_what_would_provide_them() {
    let bench = bench("");
    assert!(seen(&bench).absent().next().is_none(), "the policy offers no built-in tools");
    bench.write(POLICY, "allowed_families = ['builtin']\nallowed_effects = ['local-read', 'session']\n");
    let tools = seen(&bench);
    assert!(ids(&tools).contains(&"fs.read"));
    let absent: Vec<&str> = tools.absent().map(|(id, _)| id).collect();
    assert!(absent.contains(&"git.status"), "{absent:?}");
    let Some(OwnName::Absent { id, why }) = tools.own_name("git.status") else { panic!("it is absent") };
    assert!(id == "git.status" && why.contains("git init"), "{why}");
    assert!(matches!(tools.own_name("fs.read"), Some(OwnName::Listed { id: "fs.read", .. })));
    assert!(tools.own_name("no.such.tool").is_none());
    let direct = |id: &str| tools.callable(id, &json("{}")).is_some_and(|target| target.is_direct());
    assert!(!direct("fs.read"));
    for id in ids(&tools).into_iter().filter(|id| direct(id)) {
        assert!(builtin::definition(id).is_some_and(|row| !row.is_queued()), "{id}");
    }
}

#[test]
fn a_reader_of_resources_has_the_effects_and_the_strictest_need_of_all_offers() {
    let served = |id: &str, server: &str| {
        format!(
            "[[tool]]\nid = '{id}'\nname = 'N'\nfamily = 'mcp'\ncommand = 'bin/run'\nmcp_server_id = '{server}'\n\
             mcp_tool_name = 'x'\n"
        )
    };
    let bench = bench(&(served("one", "files") + &served("two", "more")));
    let upstream = |id: &str, effect: &str| {
        format!("[[upstream]]\nid = '{id}'\nresources = ['file:///{id}/**']\neffects = ['{effect}']\n")
    };
    bench.write(GATEWAY, &(upstream("files", "local-read") + &upstream("more", "network")));
    let config = bench.config();
    let needs = [(ApprovalNeed::None, RiskLevel::Low), (ApprovalNeed::Person, RiskLevel::High)];
    let offers: Vec<AgentOffer> = config
        .offers(&bench.host())
        .iter()
        .zip(needs)
        .map(|(offer, (need, risk))| AgentOffer { offer: offer.clone(), need, risk })
        .collect();
    let (entry, tool) = reader_of(Reads::Resource, &offers, NameStyle::Plain, 7).unwrap();
    assert_eq!(entry.effects, ["local-read", "network"]);
    assert_eq!(
        (tool.name.as_str(), tool.need, tool.risk),
        ("resource_read", ApprovalNeed::Person, RiskLevel::High)
    );
    let schema = tool.input_schema().json();
    let server = schema.get("properties").and_then(|all| all.get("server")?.get("enum"));
    assert_eq!(server, Some(&json("[\"files\", \"more\"]")));
    assert!(tool.output_schema().is_none());
    assert!(reader_of(Reads::Prompt, &offers, NameStyle::Plain, 7).is_none());
}

#[test]
fn a_listing_costs_more_in_full_than_by_search() {
    let seen = seen(&bench(&(usable("a", "description = 'Does much. And more.'") + &usable("b", ""))));
    let (full, compact) = (seen.listed(&seen.tools()[0]), seen.listed_compact(&seen.tools()[0]));
    assert_eq!((full.name.as_str(), full.name == compact.name), ("a", true));
    assert!(format!("{:?}", seen.costs()).contains("full"), "{:?}", seen.costs());
}

#[test]
fn plans_remember_only_if_the_gateway_says_so() {
    let profiles = |text: &str| {
        let bench = Bench::new(&[(GATEWAY, text)]);
        let agents = read_agents(&*bench.context.fs, &bench.context.trust).unwrap();
        format!("{:?}", agents.profiles.get("permission.plan"))
    };
    let usual = profiles("");
    assert_eq!(profiles("[builtin]\nplan_memory_write = 'deny'\n"), usual);
    assert_ne!(profiles("[builtin]\nplan_memory_write = 'allow'\n"), usual);
}

/// What approves calls of the tool `docs.read` of the agent `local`.
mod approvals {
    use brigade_call::ApprovedBy;
    use brigade_core::Timestamp;
    use brigade_policy::approval::ReviewState;

    use super::*;
    use crate::approval::{CallRequest, Rules, ToolRequest, approve, explain_approval};

    const RULE: &str = "allowed_families = ['script']\n[[auto_approve]]\nname = 'reads'\ntools = ['docs.*']\n\
                        effects = ['local-read']\narguments = { path = 'docs/**' }\nmax_calls_per_hour = 2\n";

    fn bench() -> Bench {
        let tool =
            usable("docs.read", "effects = ['local-read']\nrisk_class = 'read'") + &usable("other", "");
        let bench = super::bench(&tool);
        bench.write("s.json", "{\"type\": \"object\", \"properties\": {\"path\": {\"type\": \"string\"}}}");
        bench.write(POLICY, RULE);
        bench.folder("docs");
        bench
    }

    /// Records that a person reviewed the tool.
    fn review(bench: &Bench) {
        let plan = bench.plan("docs.read", "{}");
        bench.host().record_plan(&bench.config().policy, &plan, "tools trust").unwrap();
    }

    fn decide(
        bench: &Bench,
        args: &str,
        rules: Rules<'_>,
        change: impl FnOnce(&mut CallRequest<'_>),
    ) -> Result<ApprovedBy, Vec<String>> {
        let seen = seen(bench);
        let plan = bench.plan("docs.read", args);
        let now = Timestamp::from_unix_micros(0);
        let mut request = CallRequest {
            plan: &plan,
            agent: Some("local"),
            now,
            rules,
            is_passed: false,
            is_end_unknown: false,
        };
        change(&mut request);
        approve(&seen, &bench.host(), request)
    }

    fn word(decided: &Result<ApprovedBy, Vec<String>>) -> String {
        match decided {
            Ok(by) => by.rule().unwrap_or("no rule").to_owned(),
            Err(gaps) => gaps.join("; "),
        }
    }

    #[test]
    fn a_rule_approves_only_a_reviewed_tool_and_covered_arguments() {
        let bench = bench();
        let all = Rules::All(&|_| 0);
        let decide = |args: &str| word(&decide(&bench, args, all, |_| ()));
        let never = decide("{\"path\": \"docs/a\"}");
        assert!(never.starts_with("the rule `reads`: ") && never.contains("no person has seen"), "{never}");
        review(&bench);
        assert_eq!(decide("{\"path\": \"docs/a\"}"), "reads");
        let other = decide("{\"path\": \"src/a\"}");
        assert!(other.starts_with("the rule `reads`: "), "{other}");
    }

    #[test]
    fn a_rule_counts_its_calls_and_asks_after_an_unknown_end() {
        let bench = bench();
        review(&bench);
        let args = "{\"path\": \"docs/a\"}";
        let after = |count: u64| word(&decide(&bench, args, Rules::All(&move |_| count), |_| ()));
        assert_eq!(after(1), "reads");
        assert!(after(2).starts_with("the rule `reads`: "), "{}", after(2));
        let unknown = decide(&bench, args, Rules::All(&|_| 0), |request| request.is_end_unknown = true);
        assert!(unknown.is_err(), "{unknown:?}");
    }

    #[test]
    fn a_call_is_approved_again_only_by_the_rule_that_did() {
        let bench = bench();
        review(&bench);
        let args = "{\"path\": \"docs/a\"}";
        let by = |rule: &str| ApprovedBy::Rule { rule: rule.to_owned(), file: String::new(), line: 1 };
        // Its calls of the hour are counted already.
        assert_eq!(word(&decide(&bench, args, Rules::Again(&by("reads")), |_| ())), "reads");
        assert!(decide(&bench, args, Rules::Again(&by("gone")), |_| ()).is_err());
        let person = ApprovedBy::Person { reviewer: "command-line".to_owned() };
        assert!(decide(&bench, args, Rules::Again(&person), |_| ()).is_err());
    }

    #[test]
    fn a_tool_that_the_agent_cannot_see_is_not_approved() {
        let bench = bench();
        review(&bench);
        bench.write("s.json", "{");
        assert_eq!(decide(&bench, "{}", Rules::All(&|_| 0), |_| ()), Err(Vec::new()));
    }

    #[test]
    fn without_arguments_every_rule_says_what_it_covers() {
        let bench = bench();
        let explain = |id: &str, reviewed: ReviewState| {
            let config = bench.config();
            let seen = seen(&bench);
            let request = ToolRequest {
                tool: config.catalog.tool(id).unwrap(),
                check: ArgumentCheck::Checked,
                agent: "local",
                agents: &seen.agents.gateway.agent_names(),
                now: Timestamp::from_unix_micros(0),
                reviewed: &reviewed,
                pin_changed: false,
                approved_last_hour: &|_| 0,
            };
            let (name, reports) = explain_approval(&config, &seen.rights, &request);
            (name, reports.len())
        };
        assert_eq!(explain("docs.read", ReviewState::Yes), (Some("reads".to_owned()), 1));
        assert_eq!(explain("docs.read", ReviewState::Never), (None, 1));
        assert_eq!(explain("other", ReviewState::Yes), (None, 1));
    }
}
