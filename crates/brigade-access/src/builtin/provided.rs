//! Calls of built-in tools that a configured program answers.

use brigade_catalog::Tool;
use brigade_cmdline::Argv;

use super::{COMMAND, entry, is_of_forge, is_of_issues};

/// The tool that searches the web.
pub const SEARCH: &str = "web.search";

/// The tool that saves an image of the screen.
pub const SCREENSHOT: &str = "proof.screenshot";

/// Returns whether the arguments or the configuration may name a program for calls of a tool.
pub fn may_start_a_program(id: &str) -> bool {
    let id = id.trim();
    matches!(id, COMMAND | SEARCH | SCREENSHOT) || is_of_forge(id) || is_of_issues(id)
}

/// Makes the entry of a call that a configured program answers. `None` for tools that are never answered by a program.
///
/// So the program is checked like the command of any tool: words, risks, program, files, sandbox and limits. It gets
/// the arguments as words that never begin with text of an agent, or on standard input. `env` names variables that it
/// needs.
pub fn provided_entry(id: &str, program: &Argv, env: &[String]) -> Option<Tool> {
    let arguments: &[(&str, &str)] = match id.trim() {
        SEARCH => &[("max_results", "--max-results={max_results}"), ("query", "--query={query}")],
        SCREENSHOT => &[],
        id if is_of_issues(id) => &[],
        _ => return None,
    };
    let template = arguments.iter().map(|(name, word)| ((*name).to_owned(), (*word).to_owned()));
    let entry = entry(id.trim())?.clone();
    let (command, argument_template) = (Some(program.to_string()), template.collect());
    Some(Tool { command, argument_template, env_labels: env.to_vec(), ..entry })
}

#[cfg(test)]
mod tests {
    use brigade_core::Json;

    use super::*;
    use crate::builtin::issue_request;

    #[test]
    fn a_program_gets_the_query_behind_its_name() {
        let program = Argv::parse("find-pages --site 'a b'").unwrap();
        let tool = provided_entry(SEARCH, &program, &[]).unwrap();
        assert_eq!(tool.command.as_deref(), Some("find-pages --site 'a b'"));
        assert!(!tool.acts_inside() && tool.is_built_in());
        assert!(tool.argument_template.values().all(|word| word.starts_with("--")), "{tool:?}");
        assert_eq!(tool.effects, ["remote-read"]);
        assert_eq!(provided_entry(SCREENSHOT, &program, &[]).unwrap().argument_template.len(), 0);
        assert!(provided_entry("fs.read", &program, &[]).is_none());
        let tool = provided_entry("issue.close", &program, &["TOKEN".to_owned()]).unwrap();
        assert_eq!((tool.argument_template.len(), tool.env_labels), (0, vec!["TOKEN".to_owned()]));
        let request = issue_request("issue.close", &Json::parse(r#"{"id": "ENG-1"}"#).unwrap());
        let expect = r#"{"arguments":{"id":"ENG-1","state":"completed"},"operation":"close","version":1}"#;
        assert_eq!(request.unwrap().to_compact(), expect);
        assert!(issue_request("fs.read", &Json::Null).is_none());
        assert!(may_start_a_program(" web.search ") && !may_start_a_program("web.fetch"));
    }
}
