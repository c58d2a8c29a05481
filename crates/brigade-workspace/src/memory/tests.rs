use super::*;
use crate::testing::{Bench, json};
use crate::{CATALOG, gather};

const SERVED: &str = "[[tool]]\nid = 'own'\nname = 'N'\nfamily = 'mcp'\ncommand = 'sh serve.sh'\nmcp_server_id = 's'\n\
                      mcp_tool_name = 'x'\ninput_schema_path = 's.json'\n";

fn bench(catalog: &str) -> Bench {
    let files = [(CATALOG, catalog), ("serve.sh", "1"), ("s.json", "{\"type\": \"object\"}")];
    let mut bench = Bench::on_disk(&files).with_variables(&[("PATH", "/bin:/usr/bin")]).much_later();
    bench.context.memory = Some(Arc::default());
    bench
}

/// Plans a call as an agent, and returns the number of cached facts.
fn plan(bench: &Bench, caller: Caller) -> (brigade_call::Plan, usize) {
    let config = bench.config();
    let tool = config.catalog.tool("own").unwrap();
    let planned =
        gather::plan_call(&bench.context, &config, tool, Ok(json("{}")), caller, None, None).unwrap();
    let memory = bench.context.memory.as_ref().unwrap();
    (planned.plan, memory.inputs.lock().len())
}

fn agent(name: &str) -> Caller {
    Caller::Agent(name.to_owned())
}

#[test]
fn facts_of_a_kept_server_are_cached_for_each_agent() {
    let bench = bench(SERVED);
    assert_eq!(plan(&bench, agent("ada")).1, 1);
    let (first, count) = plan(&bench, agent("ada"));
    assert_eq!(count, 1);
    assert_eq!(plan(&bench, agent("bob")).1, 2);
    bench.write("serve.sh", "2");
    let (second, _) = plan(&bench, agent("ada"));
    assert_eq!(first.binding().changes(second.binding()).len(), 1, "a change is noticed");
}

#[test]
fn facts_of_what_a_call_starts_itself_are_never_cached() {
    assert_eq!(plan(&bench(SERVED), Caller::CommandLine).1, 0);
    let script = crate::testing::entry("own", "command = 'sh serve.sh'");
    assert_eq!(plan(&bench(&script), agent("ada")).1, 0);
    let broken = SERVED.replace("mcp_tool_name = 'x'", "timeout = 'x'");
    assert_eq!(plan(&bench(&broken), agent("ada")).1, 0);
}

#[test]
fn cached_facts_are_those_that_were_read() {
    let bench = bench(SERVED);
    let (first, _) = plan(&bench, agent("ada"));
    let (second, _) = plan(&bench, agent("ada"));
    assert!(first.binding().changes(second.binding()).is_empty());
    assert_eq!(first.reasons(), second.reasons());
    assert_eq!(first.tool_id(), second.tool_id());
}

#[test]
fn runtimes_are_cached_until_their_file_changes() {
    let bench = bench("");
    let read = || crate::load::known_runtimes(&bench.context).unwrap();
    assert!(Arc::ptr_eq(&read(), &read()));
    bench.write(crate::RUNTIMES, "[[runtime]]\nid = 'db'\nname = 'db'\ncommand = 'sleep 9'\n");
    assert_eq!(read().runtimes().len(), 1);
}
