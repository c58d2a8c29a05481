use brigade_access::gateway::{NewAgent, add_agent};

use super::*;
use crate::testing::Bench;

const TWO: &str = "# mine\n[[agent]]\nname = \"one\"\n[[agent]]\nname = \"two\"\n";

fn agent(name: &str) -> NewAgent {
    NewAgent::new(name.parse().unwrap())
}

fn add(bench: &Bench, name: &str) -> Result<(), Failure> {
    Setup::new(&bench.context).change_agents(|text| add_agent(text, &agent(name)))
}

#[test]
fn an_agent_is_added_behind_the_others() {
    let bench = Bench::new(&[]);
    add(&bench, "one").unwrap();
    let first = bench.read(GATEWAY).unwrap();
    add(&bench, "two").unwrap();
    assert!(bench.read(GATEWAY).unwrap().starts_with(first.trim_end()));
    let config = agent_config(&bench.context).unwrap().gateway;
    let names: Vec<&str> = config.agents.iter().map(|agent| agent.name.as_str()).collect();
    assert_eq!(names, ["local", "one", "two"], "the agent of a gateway without a file stays");
}

#[test]
fn a_refused_edit_leaves_the_file_as_it_was() {
    for (text, name, code) in [
        (TWO, "one", ErrorCode::AgentExists),
        ("[[agent]\n", "three", ErrorCode::GatewayConfigInvalid),
        ("[[agent]]\nname = 3\n", "three", ErrorCode::GatewayConfigInvalid),
    ] {
        let bench = Bench::new(&[(GATEWAY, text)]);
        assert_eq!(add(&bench, name).unwrap_err().code(), code, "{text}");
        assert_eq!(bench.read(GATEWAY).as_deref(), Some(text));
    }
}

#[test]
fn an_edit_that_would_break_the_file_is_refused() {
    let bench = Bench::new(&[(GATEWAY, TWO)]);
    let broken = Setup::new(&bench.context).change_agents(|_| Ok("[[agent]]\nname = 3\n".to_owned()));
    assert_eq!(broken.unwrap_err().kind(), ErrorKind::InvalidConfig);
    assert_eq!(bench.read(GATEWAY).as_deref(), Some(TWO));
}

#[test]
fn a_missing_agent_is_refused_with_a_similar_one_or_with_its_command() {
    let bench = Bench::new(&[(GATEWAY, TWO)]);
    let config = agent_config(&bench.context).unwrap().gateway;
    assert_eq!(find_agent(&config, "one").unwrap().name.as_str(), "one");
    for (name, hint) in [
        ("onn", "did you mean `one`?".to_owned()),
        ("claude", NextStep::AddAgent("claude".to_owned()).to_string()),
        ("not a name!", NextStep::ListAgents.to_string()),
    ] {
        let error = find_agent(&config, name).unwrap_err();
        assert_eq!((error.kind(), error.code()), (ErrorKind::NotFound, ErrorCode::AgentMissing));
        assert!(error.hints().iter().any(|given| given.to_string() == hint), "{name}: {:?}", error.hints());
    }
}

#[test]
fn an_error_of_the_profiles_is_one_of_the_agents() {
    let bench = Bench::new(&[(GATEWAY, TWO), (".brigade/tools/profiles.toml", "[[profile]\n")]);
    let error = agent_config(&bench.context).map(drop).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidConfig);
    assert!(
        error.to_string().contains("profiles.toml")
            || error.places().any(|place| place.file.contains("profiles.toml"))
    );
    assert!(agent_profiles(&bench.context).is_err());
    assert!(add(&bench, "three").is_err());
}
