//! What each role's own credential can do, as `psql` does it.

use std::collections::BTreeSet;

use brigade_call::CallStatus;
use brigade_core::{ErrorCode, OperationError as _};
use brigade_team::Role;
use postgres::error::SqlState;

use crate::suite::common::{approve, enqueue, stored};
use crate::world::{World, queue_on};

/// The functions that each role may call.
const FUNCTIONS: [(Role, &[&str]); 4] = [
    (
        Role::Queuer,
        &[
            "import_call",
            "import_receipt",
            "interrupt_call",
            "needed_approvals",
            "queue_call",
            "readable_workspaces",
            "record_receipt",
            "server_name",
            "withdraw_call",
        ],
    ),
    (
        Role::Reviewer,
        &[
            "accept_failover",
            "interrupt_call",
            "needed_approvals",
            "readable_workspaces",
            "record_receipt",
            "review_call",
            "server_name",
        ],
    ),
    (
        Role::Runner,
        &[
            "add_checkpoint",
            "claim_call",
            "find_claim",
            "finish_call",
            "interrupt_call",
            "needed_approvals",
            "offer_calls",
            "readable_workspaces",
            "record_receipt",
            "renew_claim",
            "report_host",
            "restore_claim",
            "runner_work",
            "server_name",
            "store_log",
        ],
    ),
    (Role::Auditor, &["needed_approvals", "readable_workspaces", "server_name"]),
];

/// The functions that change nothing.
const READ_ONLY: [&str; 3] = ["needed_approvals", "readable_workspaces", "server_name"];

/// The functions that only other functions call.
const INNER: [&str; 11] = [
    "add_count",
    "call_at",
    "count_calls",
    "count_runs",
    "endings",
    "is_id",
    "is_name",
    "request_of",
    "require_importer",
    "require_role",
    "write_call",
];

#[test]
fn each_role_reads_all_and_calls_only_its_functions() {
    let members =
        Role::ALL.iter().map(|role| (role.as_str(), std::slice::from_ref(role))).collect::<Vec<_>>();
    let Some(world) = World::new("matrix", &members) else { return };
    let mut owner = world.psql("owner");
    let tables =
        owner.query("SELECT tablename::text FROM pg_tables WHERE schemaname = 'matrix'", &[]).unwrap();
    assert!(11 <= tables.len());
    let all = owner
        .query(
            "SELECT proname::text, coalesce((SELECT string_agg('NULL::' || format_type(kind, NULL), ', ' ORDER BY place)
                 FROM unnest(proargtypes) WITH ORDINALITY a (kind, place)), '')
             FROM pg_proc WHERE pronamespace = 'matrix'::regnamespace ORDER BY 1",
            &[],
        )
        .unwrap();
    let known: BTreeSet<&str> =
        FUNCTIONS.iter().flat_map(|(_, names)| *names).copied().chain(INNER).collect();
    assert_eq!(all.iter().map(|row| row.get::<_, &str>(0)).collect::<BTreeSet<_>>(), known);
    for (role, expect) in FUNCTIONS {
        let mut client = world.psql(&world.login(role.as_str()));
        for table in &tables {
            let table = format!("matrix.{}", table.get::<_, &str>(0));
            client.query(&format!("SELECT * FROM {table}"), &[]).unwrap();
            for change in [
                format!("INSERT INTO {table} DEFAULT VALUES"),
                format!("DELETE FROM {table}"),
                format!("TRUNCATE {table}"),
                format!("SELECT * FROM {table} FOR UPDATE"),
                format!("ALTER TABLE {table} DISABLE ROW LEVEL SECURITY"),
            ] {
                let error = client.batch_execute(&change).unwrap_err();
                assert_eq!(error.code(), Some(&SqlState::INSUFFICIENT_PRIVILEGE), "{role}: {change}");
            }
        }
        let functions = client
            .query(
                "SELECT proname::text FROM pg_proc WHERE pronamespace = 'matrix'::regnamespace
                     AND has_function_privilege(oid, 'EXECUTE')",
                &[],
            )
            .unwrap();
        let functions: BTreeSet<String> = functions.iter().map(|row| row.get(0)).collect();
        assert_eq!(functions.iter().map(String::as_str).collect::<Vec<_>>(), expect, "{role}");
        // What a role may not call is refused before the function looks at anything. What it may call asks for the role
        // of the member again, and a new function is called like the others.
        for function in &all {
            let (name, arguments): (&str, &str) = (function.get(0), function.get(1));
            let error = client.query(&format!("SELECT matrix.{name}({arguments})"), &[]).err();
            let code = error.as_ref().and_then(|error| error.code()).map(SqlState::code);
            match expect.contains(&name) {
                false => assert_eq!(code, Some("42501"), "{role}: {name}"),
                true => assert_ne!(code, Some("42501"), "{role}: {name}: {error:?}"),
            }
        }
        let login = world.login(role.as_str());
        let roles =
            |roles: &str| format!("UPDATE @schema@.members SET roles = '{{{roles}}}' WHERE name = '{login}'");
        world.as_owner(&roles(""));
        for name in expect.iter().filter(|name| !READ_ONLY.contains(name)) {
            let arguments: &str = all.iter().find(|row| row.get::<_, &str>(0) == *name).unwrap().get(1);
            let error = client.query(&format!("SELECT matrix.{name}({arguments})"), &[]).unwrap_err();
            assert_eq!(error.code().map(SqlState::code), Some("BR001"), "{role}: {name}: {error:?}");
        }
        world.as_owner(&roles(role.as_str()));
        let create = client.batch_execute("CREATE TABLE matrix.mine (x int)").unwrap_err();
        assert_eq!(create.code(), Some(&SqlState::INSUFFICIENT_PRIVILEGE));
    }
    let open = owner
        .query(
            "SELECT proname::text FROM pg_proc WHERE pronamespace = 'matrix'::regnamespace AND (NOT prosecdef
                 OR coalesce(proconfig[1], '') <> 'search_path=pg_catalog, pg_temp')",
            &[],
        )
        .unwrap();
    assert_eq!(open.len(), 0, "every function runs as the owner with a fixed search path");
}

#[test]
fn a_stolen_runner_credential_neither_queues_nor_approves() {
    let all: &[Role] = &[Role::Queuer, Role::Reviewer];
    let Some(world) = World::new("runner_only", &[("rev-1", all), ("box-1", &[Role::Runner])]) else {
        return;
    };
    enqueue(&world.queue("rev-1"), "call-a", "a", 1).unwrap();
    let (queue, runner) = (world.queue("rev-1"), world.queue("box-1"));
    let denied = enqueue(&runner, "call-b", "b", 1).unwrap_err();
    assert_eq!(denied.code(), Some(ErrorCode::TeamRole), "{denied}");
    let denied = approve(&runner, "call-a", 2).unwrap_err();
    assert_eq!(denied.code(), Some(ErrorCode::TeamRole), "{denied}");
    assert_eq!(stored(&queue.read().unwrap(), "call-a").call.status, CallStatus::Pending);
    // A removed member can do nothing any more, although the session is open.
    approve(&queue, "call-a", 2).unwrap();
    assert!(world.owner.remove_member(&world.login("rev-1")).unwrap());
    assert_eq!(enqueue(&queue, "call-c", "c", 3).unwrap_err().code(), Some(ErrorCode::TeamRole));
    assert_eq!(
        stored(&runner.read().unwrap(), "call-a").call.status,
        CallStatus::Pending,
        "nor do approvals count"
    );
}

#[test]
fn other_workspaces_are_invisible() {
    let all: &[Role] = &[Role::Queuer, Role::Reviewer, Role::Runner];
    let Some(mut world) = World::new("workspaces", &[("all", all)]) else { return };
    world.add("shop-only", all, &["shop".to_owned()]);
    let bank = queue_on(world.store("all", "bank"));
    enqueue(&bank, "call-a", "a", 1).unwrap();
    approve(&bank, "call-a", 1).unwrap();
    enqueue(&world.queue("shop-only"), "call-a", "a", 1).unwrap();
    let outside = queue_on(world.store("shop-only", "bank"));
    assert!(outside.read().unwrap().call_counts().unwrap().is_empty());
    assert_eq!(enqueue(&outside, "call-b", "b", 1).unwrap_err().code(), Some(ErrorCode::TeamRole));
    let mut client = world.psql(&world.login("shop-only"));
    let tables = "SELECT relname::text FROM pg_class JOIN pg_attribute ON attrelid = pg_class.oid
                  WHERE relnamespace = 'workspaces'::regnamespace AND relkind = 'r' AND attname = 'workspace'";
    let tables = client.query(tables, &[]).unwrap();
    assert!(7 <= tables.len());
    for table in tables.iter().map(|row| row.get::<_, &str>(0)) {
        let sql = format!("SELECT FROM workspaces.{table} WHERE workspace = 'bank'");
        assert!(client.query(&sql, &[]).unwrap().is_empty(), "{table}");
    }
}

/// What a member writes with `psql` is what others read.
#[test]
fn ids_and_names_are_checked_by_the_database() {
    let all: &[Role] = &[Role::Queuer, Role::Reviewer, Role::Runner];
    let Some(world) = World::new("hostile", &[("all", all)]) else { return };
    enqueue(&world.queue("all"), "call-a", "a", 1).unwrap();
    let mut client = world.psql(&world.login("all"));
    let queue = |workspace: &str, id: &str, tool: &str| {
        let record =
            format!(r#"{{"id": "{id}", "status": "pending", "tool_id": "{tool}", "contract": {{}}}}"#);
        format!("SELECT hostile.queue_call('{workspace}', E'{id}', 1, E'{record}')")
    };
    let receipt = |host: &str, run: &str| {
        format!(
            "SELECT hostile.record_receipt('shop', E'{host}', E'{run}', 'none', 'failed', '1', 'x', false)"
        )
    };
    let offer = |host: &str| {
        format!("SELECT hostile.offer_calls('shop', E'{host}', '{{call-a}}', '{{1}}', '{{false}}', '{{x}}')")
    };
    let report = |seen: &str| format!("SELECT hostile.report_host('shop', 'box', 'ready', E'{seen}', false)");
    for (sql, is_taken) in [
        (queue("shop", "call-b", "deploy"), true),
        (queue("shop", "../call", "deploy"), false),
        (queue("shop", "--yes", "deploy"), false),
        (queue("shop", "call-c; rm", "deploy"), false),
        (queue("shop", &"c".repeat(201), "deploy"), false),
        (queue("shop", "call-d", r"de\\u001b[2Jploy"), false),
        (queue("shop", "call-e", ""), false),
        (queue("", "call-f", "deploy"), false),
        (receipt("box", "run-a"), true),
        (receipt("box", "run/../a"), false),
        (receipt(r"box\u001b[2J", "run-b"), false),
        (receipt(r"box\u009b2J", "run-c"), false),
        (offer("box"), true),
        (offer(r"box\nother"), false),
        (report(r"new server\n"), false),
    ] {
        let code = client.query(&sql, &[]).err().and_then(|error| error.code().cloned());
        assert_eq!(code, (!is_taken).then_some(SqlState::CHECK_VIOLATION), "{sql}");
    }
}
