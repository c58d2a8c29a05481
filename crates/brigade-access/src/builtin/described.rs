//! The descriptions of the arguments of built-in tools.

/// Descriptions by argument. A member of an argument has dots, as in `questions.options.label`. An entry with a tool,
/// as in `fs.read:limit`, comes before the one that all tools share.
const ARGUMENTS: &[(&str, &str)] = &[
    ("activeFocus", "What is worked on at the moment."),
    ("agent_id", "The id or name of an agent."),
    ("args", "More words, each as it is."),
    ("artifacts", "What the work left."),
    ("artifacts.description", "What it is."),
    ("artifacts.reference", "A path, a URL or an id."),
    ("artifacts.type", "What kind of thing it is, such as `file` or `pr`."),
    ("binding_id", "The id of a repository from `git.list`, or `workspace` for that of the workspace."),
    ("blackboard", "Values that the states share, written before the first state begins."),
    ("blockerDescription", "What blocks the work. Required with `blocked`."),
    ("body", "The text."),
    (
        "category",
        "What it is: `fact`, `convention` (how it is done here), `pattern`, `decision`, `gotcha` (a trap) or \
         `preference` (of a person).",
    ),
    ("code", "The source of the script, at most 256 KiB."),
    ("command", "The program and its words in POSIX quotes. No shell reads them."),
    ("content", "The whole text."),
    ("criticalConventions", "Conventions that must be kept."),
    ("description", "What it is, in a sentence."),
    ("execution_id", "The id of the execution, from the tool that began it."),
    ("expected_sha256", "The sha256 from `fs.read`. The call is refused if the file is another one now."),
    ("force", "Whether an existing one with this name and version is replaced."),
    ("fleet_command_id", "The id from `fleet.invoke`."),
    ("follow_redirects", "Whether redirects are followed, at most 5 and each if its host is allowed."),
    ("id", "The id."),
    ("include_platform_templates", "Whether those that are shipped with Brigade are included."),
    ("input", "Values for it."),
    ("intent", "The goal in words."),
    ("label", "A name for people."),
    ("labels", "Labels with their values; a match has all of them."),
    ("laneId", "The id of a lane from `lane.list`."),
    ("lane_id", "The id of a lane from `lane.list`."),
    ("limit", "How many at most."),
    ("manifest_yaml", "The whole manifest, as YAML."),
    ("max_output_bytes", "How many bytes of the output are returned at most."),
    ("message", "The message of the commit."),
    ("min_score", "The least score of a match, from 0 to 1."),
    ("name", "The name."),
    ("notes", "Other notes."),
    ("offset", "How many to skip."),
    ("path", "A path in the workspace, relative or below `/workspace`."),
    ("pipeline_execution_id", "The id from `execute.intent`."),
    ("poll_interval_seconds", "At least 1. Without effect on when it returns: the end wakes it."),
    ("prId", "The id of the pull request. Give either this or `prNumber`."),
    ("prNumber", "The number of the pull request."),
    ("projectSummary", "What the project is."),
    ("query", "Words to look for."),
    ("recursive", "Whether a directory is deleted with its content."),
    ("replace_all", "Whether every occurrence is replaced. Otherwise the text must occur exactly once."),
    ("replacement_content", "The new text."),
    ("scope", "Whose memories: `project`, `agent` (the own ones) or `mission`."),
    ("scopeOwnerId", "The id of the mission. Leave it out in other scopes."),
    ("suite", "The id of a test suite from `test.list`."),
    ("tags", "Tags: at most 16, of lower-case letters, digits, `-`, `/` and `_`."),
    ("target", "`kind` (`lane` or `volume`), `id` (one or a list) and `name`, in which `*` is any text."),
    ("target_content", "The text to replace, literally."),
    ("tenant_id", "Only `local` exists; anything else is ignored."),
    ("threadId", "The id of a thread from `pr.comments`."),
    ("timeout_seconds", "After how many seconds it returns at the latest."),
    ("title", "The title."),
    ("user_id", "Ignored: the rights are those of the caller."),
    ("userPreferences", "What the person prefers."),
    ("version", "The version. Without it, the newest one."),
    ("volume_id", "The id of a volume from `volume.list`."),
    ("agent.delete:agent_id", "The id of the agent."),
    ("agent.generate:input", "What the agent is for, in words."),
    (
        "agent.search:status",
        "Only agents in this state: `active`, `paused` or `failed`. Deployed agents are `active`.",
    ),
    ("agent.export:name", "The name of the agent."),
    ("ask.user:title", "A title for several questions."),
    ("ask.user:body", "What the person needs to know."),
    ("question", "One question. Give either this or `questions`."),
    ("questions", "Several questions that are answered together."),
    ("questions.allowsFreeform", "Whether the person may write an own answer."),
    ("questions.defaultAssumption", "What is assumed without an answer."),
    ("questions.header", "A short name of the question."),
    ("questions.id", "The key of its answer."),
    ("questions.impact", "What depends on the answer."),
    ("questions.isSecret", "Whether the answer is a secret; such a question is refused."),
    ("questions.multiSelect", "Whether several options may be chosen."),
    ("questions.options", "The answers to choose from."),
    ("questions.options.description", "What the option means."),
    ("questions.options.label", "What the person sees."),
    ("questions.options.recommended", "Whether this one is recommended."),
    ("questions.options.value", "What the answer holds, if it is not the label."),
    ("questions.question", "The question."),
    (
        "shell",
        "Whether `/bin/sh -c` reads the command. The policy must allow it, and a person approves each call.",
    ),
    ("cmd.run:cwd", "The directory that it runs in."),
    ("cmd.run:timeout_seconds", "After how many seconds the command is ended."),
    ("env", "Variables that the policy binds, each with `true`."),
    ("execute.intent:intent", "What to execute, such as \"count the words of each file in docs\"."),
    ("inputs", "Values for the program, which gets them as JSON in its first argument."),
    ("execute.intent:language", "The language of the program: `python`, `javascript` or `bash`."),
    ("execute.intent:timeout_seconds", "After how many seconds the program is ended."),
    (
        "execute.intent:volume_id",
        "A volume that keeps the program and, in `output.txt`, what it prints. The program itself writes no files.",
    ),
    ("execution.file:path", "A path in what the execution left; `/workspace/` in front of it is removed."),
    ("file.delete:path", "A path in the volume."),
    ("file.list:path", "A path in the volume; `/` is the whole volume."),
    ("file.mkdir:path", "A path in the volume."),
    ("file.read:path", "A path in the volume."),
    (
        "file.read:encoding",
        "How the content is returned: `utf8` (as text), `base64`, or `auto`: as text if it is text.",
    ),
    ("file.write:path", "A path in the volume."),
    ("file.write:content", "The whole content, in this encoding."),
    ("file.write:encoding", "How `content` is written here: `utf8` (as text) or `base64` (binary)."),
    ("fleet.invoke:args", "Arguments of the tool, without the target."),
    ("tool_name", "A tool with an argument for a lane or a volume, which each call gets."),
    ("fs.glob:pattern", "A pattern such as `**/*.rs`. `*` stops at `/`, `**` does not."),
    ("fs.glob:path", "The directory to search, relative to the workspace or below `/workspace`."),
    ("fs.grep:pattern", "A regular expression."),
    ("fs.grep:path", "The directory or file to search, relative to the workspace or below `/workspace`."),
    ("context", "How many lines before and after each match are returned."),
    ("glob", "Only files whose path matches this pattern."),
    ("fs.read:offset", "How many lines to skip."),
    ("fs.read:limit", "How many lines at most."),
    ("edits", "The edits, in order. Each works on the result of the one before."),
    ("edits.replace_all", "Whether every occurrence is replaced."),
    ("edits.replacement_content", "The new text."),
    ("edits.target_content", "The text to replace, literally."),
    ("git.clone:label", "The name of the repository here."),
    ("repo_url", "The URL: `https://…`, `ssh://…`, `git@host:path` or what else the policy allows."),
    ("credential_binding_id", "The name of a credential in `[git.credentials]` of the policy."),
    ("git_ref", "What to check out."),
    ("git_ref.kind", "What `value` names: a `branch`, a `tag` or a `commit`."),
    ("git_ref.value", "The name, or the whole id of a commit."),
    ("sparse_paths", "Only these paths are checked out."),
    ("auto_refresh", "Always false: nothing starts by itself, so call `git.refresh`."),
    ("shallow", "Whether only the newest commit is fetched."),
    ("paths", "Only these changed files. Without it, all of them."),
    ("staged", "Whether the changes of the index are shown instead of those of the files."),
    ("page", "The page, from 1."),
    ("remote", "The name of the remote."),
    ("ref", "The branch. Without it, the current one."),
    ("lane.archive:name", "The name of the lane; without effect."),
    ("lane.create:name", "A name, which the branch gets, too."),
    ("lane.create:description", "What the lane is for."),
    ("parentLaneId", "The lane from whose commit it begins. Without it, the commit of the workspace."),
    ("lane.rename:name", "The new name."),
    ("memory.add:content", "The fact, in a sentence or two."),
    ("importance", "How important it is: `low`, `medium` or `high`."),
    ("pin", "Whether it is pinned at once, so that it is never removed to make room."),
    (
        "writeMode",
        "`default` keeps a candidate. `strict` promotes at once what has high importance and is a convention, \
         pattern, gotcha or decision.",
    ),
    ("memory.pin:id", "The id of the memory."),
    ("pinned", "Whether it is pinned."),
    ("memory.search:scope", "Only memories of this scope: `project`, `agent` (the own ones) or `mission`."),
    ("pr.create:title", "The title. Without it, the name of the lane."),
    ("pr.reply:body", "The reply."),
    ("proof.attach:path", "The file, relative to the workspace or below `/workspace`."),
    ("proof.attach:description", "What it shows."),
    ("report.completion:kind", "What is reported: a `completion`, a `status`, a `result` or a `validation`."),
    ("report.completion:status", "How the work ended: `completed`, `partial` or `blocked`."),
    ("summary", "What was done."),
    ("runtime.list:language", "Only runtimes of this language, such as `python`."),
    ("key", "Which schema: `agent/manifest/v1` or `workflow/manifest/v1`."),
    (
        "schema.validate:kind",
        "What the manifest is of: an `agent` (or `Agent`) or a `workflow` (or `Workflow`).",
    ),
    ("script.save:name", "A name that no other script has, at most 128 bytes, without `/` and `\\`."),
    ("script.save:description", "What it does, at most 2 KiB."),
    ("script.save:language", "The language of the code."),
    ("script.update:name", "The name, at most 128 bytes."),
    ("script.update:description", "What it does, at most 2 KiB."),
    ("script.update:language", "The language of the code. Without it, as before."),
    ("script.delete:id", "The id of the script."),
    ("script.get:id", "The id of the script."),
    ("script.update:id", "The id of the script."),
    ("tag", "Only scripts with this tag."),
    ("q", "Only scripts whose name contains this text; case does not count."),
    ("session.docs:query", "What to find out about Brigade."),
    ("plan", "The plan that the person sees."),
    (
        "mode",
        "The mode to begin in: `chat` (talk and documentation), `agentic` (agents and their tasks), `execute` \
         (intents), `architect` (design of workflows and agents), `operator` (everything), or one of profiles.toml.",
    ),
    (
        "target_mode",
        "The mode to change to: `chat` (talk and documentation), `agentic` (agents and their tasks), `execute` \
         (intents), `architect` (design of workflows and agents), `operator` (everything), or one of profiles.toml.",
    ),
    ("reason", "Why, in a sentence that the person reads."),
    ("task.execute:agent_id", "The id or name of the agent to run."),
    (
        "task.execute:input",
        "Values that fit the `input_schema` of the agent. `prompt` holds whole instructions, `lane` a lane.",
    ),
    ("task.handoff:agent_id", "The id or name of the agent that continues."),
    ("note", "What the next agent should know."),
    ("task.list:agent_id", "Only tasks of this agent."),
    ("text", "The text."),
    ("todos", "The whole list."),
    ("todos.activeForm", "What is being done while it is in progress."),
    ("todos.content", "What to do."),
    ("todos.description", "The same as `content`."),
    ("todos.id", "Its id. Without it, the next number."),
    ("todos.status", "How far it is: `pending`, `in_progress` or `completed`."),
    ("todos.text", "The same as `content`."),
    ("size_limit_bytes", "How many bytes it may hold."),
    ("url", "The URL of the page."),
    ("to_markdown", "Whether HTML becomes Markdown."),
    ("web.fetch:timeout_seconds", "After how many seconds the answer must be there."),
    ("max_results", "How many results at most."),
    ("task_context", "What the workflow is for; the judge reads it."),
    ("judge_agents", "The ids of workers that judge. Without it, the worker of `[judge]`."),
    ("workflow.create:min_score", "The least score that the judges must give, from 0 to 1."),
    ("min_confidence", "The least confidence that the judges must have, from 0 to 1."),
    ("workflow.delete:name", "The name of the workflow."),
    ("workflow.demote:name", "The name or id of the workflow."),
    (
        "workflow.demote:target_scope",
        "Who is offered it then: `tenant` or `project` (this workspace), `user` or `session` (its author).",
    ),
    ("workflow_id", "Only executions of this workflow, by id or name."),
    ("workflow.export:name", "The name of the workflow."),
    ("workflow.generate:input", "What the workflow should do, in words."),
    (
        "workflow.list:scope",
        "Only workflows of this scope: `global` or `host` (all workspaces), `tenant` or `project` (this workspace), \
         `user` or `session` (the author). `visible` means all.",
    ),
    ("workflow.promote:name", "The name or id of the workflow."),
    (
        "workflow.promote:target_scope",
        "Who is offered it then: `global` or `host` (all workspaces), `tenant` or `project` (this workspace).",
    ),
    ("members", "Values to write, by name."),
    ("workflow.run:name", "The name or id of the workflow."),
    ("response", "The answer, as text or as one of the choices."),
    ("issue.list:query", "Words that the issues contain."),
    ("issue.list:project", "The project, by its name or slug."),
    ("issue.list:assignee", "Who the issues are assigned to."),
    ("issue.list:states", "Which kinds of states the issues have; without it, those that are not closed."),
    ("issue.list:limit", "How many issues are returned at most."),
    ("issue.get:id", "The id or identifier of the issue, such as `ENG-42`."),
    ("issue.create:title", "The title."),
    ("issue.create:description", "The description, as Markdown."),
    ("issue.create:project", "The project, by its name or slug."),
    ("issue.create:labels", "The names of its labels."),
    ("issue.create:priority", "Its priority, as the tracker names it."),
    ("issue.create:assignee", "Who it is assigned to."),
    ("issue.update:id", "The id or identifier of the issue, such as `ENG-42`."),
    ("issue.update:title", "The new title."),
    ("issue.update:description", "The new description, as Markdown."),
    ("issue.update:state", "The new state, as the tracker names it."),
    ("issue.update:labels", "The names of all its labels."),
    ("issue.update:priority", "The new priority, as the tracker names it."),
    ("issue.update:assignee", "Who it is assigned to."),
    ("issue.comment:id", "The id or identifier of the issue, such as `ENG-42`."),
    ("issue.comment:body", "The comment, as Markdown."),
    ("issue.dispatch:id", "The id or identifier of the issue, such as `ENG-42`."),
    ("issue.dispatch:assignee", "Who works on it: a person or an agent, as the tracker names them."),
    ("issue.dispatch:note", "A comment that is added, as Markdown."),
    ("issue.close:id", "The id or identifier of the issue, such as `ENG-42`."),
    ("issue.close:state", "How it ends: `completed`, or `canceled` without being done."),
    ("issue.close:note", "A comment that is added, as Markdown."),
];

/// Returns the description of an argument of a tool. `path` is its name, or names with dots.
pub(super) fn argument(tool: &str, path: &str) -> Option<&'static str> {
    let find = |wanted: &dyn Fn(&str) -> bool| ARGUMENTS.iter().find(|(key, _)| wanted(key));
    let own = find(&|key| key.split_once(':') == Some((tool, path)));
    own.or_else(|| find(&|key| key == path)).map(|(_, text)| *text)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use brigade_core::Json;

    use super::*;
    use crate::builtin::definitions;
    use crate::control::control_tools;

    /// Calls `each` with the schema of every argument and member, and with its path.
    fn walk(schema: &Json, path: &str, each: &mut dyn FnMut(&str, &Json)) {
        let schema = schema.get("items").unwrap_or(schema);
        for (name, member) in schema.get("properties").and_then(Json::as_object).into_iter().flatten() {
            let path = if path.is_empty() { name.clone() } else { format!("{path}.{name}") };
            each(&path, member);
            walk(member, &path, each);
        }
    }

    #[test]
    fn every_argument_is_described() {
        let mut faults = Vec::new();
        let mut used = BTreeSet::new();
        let rows = definitions().iter().map(|row| (row.id, row.input_schema()));
        let control = control_tools().iter().map(|own| (own.id.as_str(), &own.input));
        for (id, schema) in rows.chain(control) {
            walk(schema, "", &mut |path, schema| {
                let place = format!("{id}:{path}");
                used.extend([place.clone(), path.to_owned()]);
                let text = schema.get("description").and_then(Json::as_str).unwrap_or_default();
                if !text.ends_with('.') {
                    faults.push(format!("{place} has no description"));
                }
                for word in schema.get("enum").and_then(Json::as_array).into_iter().flatten() {
                    let word = word.as_str().unwrap_or_default();
                    if !text.contains(&format!("`{word}`")) {
                        faults.push(format!("{place} does not describe `{word}`"));
                    }
                }
            });
        }
        let unused = ARGUMENTS.iter().filter(|(key, _)| !used.contains(*key));
        faults.extend(unused.map(|(key, _)| format!("{key} is not an argument")));
        assert!(faults.is_empty(), "{}", faults.join("\n"));
    }
}
