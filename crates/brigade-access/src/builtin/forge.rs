//! Calls of `pr.*` that the program `gh` answers, where the policy names it as the forge.

use brigade_catalog::Tool;
use brigade_cmdline::Argv;
use brigade_core::Json;

use super::argued::is_number;
use super::{Forge, entry_with};

/// The name of the program.
const GH: &str = "gh";

/// The labels by which the program gets its token, if the policy binds one.
pub const FORGE_LABELS: [&str; 2] = ["GH_TOKEN", "GITHUB_TOKEN"];

/// Queries all facts about a pull request.
const INVENTORY: &str = "query($owner: String!, $name: String!, $number: Int!) { repository(owner: $owner, name: $name) { \
    pullRequest(number: $number) { id number title body state headRefName baseRefName url \
    commits(last: 1) { nodes { commit { oid statusCheckRollup { contexts(first: 100) { totalCount nodes { __typename \
    ... on CheckRun { name status conclusion } ... on StatusContext { context state } } } } } } } \
    reviewThreads(first: 100) { totalCount nodes { id path line isResolved comments(first: 100) { totalCount \
    nodes { id body createdAt author { login } } } } } \
    comments(first: 100) { totalCount nodes { id body createdAt author { login } } } } } }";

const REPLY: &str = "mutation($thread: ID!, $body: String!) { addPullRequestReviewThreadReply(input: \
    { pullRequestReviewThreadId: $thread, body: $body }) { comment { id } } }";

const RESOLVE: &str = "mutation($thread: ID!) { resolveReviewThread(input: { threadId: $thread }) { thread { id isResolved } } }";

/// The work of a lane that becomes a pull request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LaneWork {
    /// Its branch.
    pub branch: String,
    /// The branch to merge into.
    pub base: String,
    /// Its name, which is the usual title.
    pub name: String,
    /// Its description, which is the usual text.
    pub description: String,
}

/// Returns whether calls of a tool go to the forge program, if the policy names one.
pub fn is_of_forge(id: &str) -> bool {
    matches!(id, "pr.comments" | "pr.create" | "pr.inventory" | "pr.reply" | "pr.resolve")
}

/// Returns whether there is an adapter for a program that the policy names as the forge.
pub fn is_forge(program: &Argv) -> bool {
    program.program().rsplit('/').next() == Some(GH)
}

/// Makes the entry of a call that the forge program answers. `lane` is the work for `pr.create`, and `labels` are the
/// bound ones of [`FORGE_LABELS`]. `None` for every other tool.
///
/// Texts of agents always follow the name of a field, and `--raw-field` passes them unchanged.
pub fn forge_entry(
    id: &str,
    args: &Json,
    program: &Argv,
    lane: Option<&LaneWork>,
    labels: Vec<String>,
) -> Option<Tool> {
    let graphql = |query: &str| vec!["graphql".to_owned(), format!("--raw-field=query={query}")];
    // `--field` reads a file for `@FILE`, and makes a number of digits. So only digits use it.
    let number = |name: &'static str| {
        let is_number = match args.get(name)? {
            Json::String(text) => is_number(text),
            value => is_number(&value.to_compact()),
        };
        let field = if is_number { "--field" } else { "--raw-field" };
        Some((name, format!("{field}=number={{{name}}}")))
    };
    let raw = |name: &'static str, field: &str| (name, format!("--raw-field={field}={{{name}}}"));
    let (thread, body) = (raw("threadId", "thread"), raw("body", "body"));
    let (words, arguments): (Vec<String>, Vec<(&str, String)>) = match id {
        "pr.comments" | "pr.inventory" => {
            let repository_fields = ["--field=owner={owner}", "--field=name={repo}"].map(str::to_owned);
            let numbers = ["prId", "prNumber"].into_iter().filter_map(number);
            (graphql(INVENTORY).into_iter().chain(repository_fields).collect(), numbers.collect())
        }
        "pr.create" => {
            let mut words = vec!["repos/{owner}/{repo}/pulls".to_owned()];
            if let Some(LaneWork { branch, base, name, description }) = lane {
                words.extend([format!("--raw-field=head={branch}"), format!("--raw-field=base={base}")]);
                let usual = [("title", name), ("body", description)];
                let missing = usual.iter().filter(|(field, _)| args.get(field).is_none());
                words.extend(missing.map(|(field, text)| format!("--raw-field={field}={text}")));
            }
            (words, vec![raw("title", "title"), body])
        }
        "pr.reply" => (graphql(REPLY), vec![thread, body]),
        "pr.resolve" => (graphql(RESOLVE), vec![thread]),
        _ => return None,
    };
    let mut command = program.clone();
    let words = std::iter::once("api".to_owned()).chain(words);
    for word in words {
        command.push(&word).ok()?;
    }
    let template = arguments.into_iter().map(|(name, word)| (name.to_owned(), word));
    Some(Tool {
        command: Some(command.to_string()),
        argument_template: template.collect(),
        env_labels: labels,
        ..entry_with(id, Forge::Program)?.clone()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_of_agents_follows_a_field_name() {
        let gh = Argv::parse("/usr/bin/gh").unwrap();
        assert!(is_forge(&gh) && !is_forge(&Argv::parse("ghost").unwrap()));
        let lane = LaneWork {
            branch: "brigade/x-1".to_owned(),
            base: "main".to_owned(),
            name: "X".to_owned(),
            description: String::new(),
        };
        for id in ["pr.comments", "pr.create", "pr.inventory", "pr.reply", "pr.resolve"] {
            let args = Json::parse(r#"{"laneId": "lane-1", "body": "Text"}"#).unwrap();
            let tool = forge_entry(id, &args, &gh, Some(&lane), vec!["GH_TOKEN".to_owned()]).unwrap();
            assert!(is_of_forge(id) && tool.is_built_in() && !tool.acts_inside(), "{id}");
            assert!(tool.argument_template.values().all(|word| word.starts_with("--")), "{tool:?}");
            let reads = ["pr.comments", "pr.inventory"].contains(&id);
            let command = tool.command.as_deref().unwrap_or_default();
            assert!(command.starts_with("/usr/bin/gh api "), "{command}");
            let is_create = id == "pr.create";
            assert_eq!(
                (command.contains("field=title=X"), command.contains("field=body=")),
                (is_create, false),
                "{command}"
            );
            assert_eq!(tool.effects, [if reads { "remote-read" } else { "remote-mutation" }], "{id}");
        }
        for (args, word) in [
            (r#"{"prId": "7"}"#, "--field=number={prId}"),
            (r#"{"prId": "@.env"}"#, "--raw-field=number={prId}"),
            (r#"{"prId": "pr-7"}"#, "--raw-field=number={prId}"),
        ] {
            let tool =
                forge_entry("pr.inventory", &Json::parse(args).unwrap(), &gh, None, Vec::new()).unwrap();
            assert_eq!(tool.argument_template["prId"], word, "{args}");
        }
        assert!(forge_entry("pr.rerun_checks", &Json::Null, &gh, None, Vec::new()).is_none());
    }
}
