//! Issues of a tracker, over the adapter that gateway.toml names.

use brigade_core::Object;

use super::*;

const ISSUES: &str = "issues:[id:string identifier:?string title:string state:string state_type:?string \
    priority:?string labels:[string] assignee:?string project:?string url:?string] total:integer";

/// The members of results with one issue.
const ISSUE: &str = "issue:object";

const CHANGE: Definition = Definition {
    output: ISSUE,
    effects: &["remote-mutation"],
    tiers: &[Tier::Control],
    approval: ToolApproval::Ask,
    needs: &[Fact::Issues],
    stage: 7,
    is_built: true,
    ..ROW
};

const READ: Definition = Definition { effects: &["remote-read"], approval: ToolApproval::Rule, ..CHANGE };

const ID: (&str, &str) = ("id", "The id or identifier of the issue, such as `ENG-42`.");

/// Issues of a tracker.
pub(super) const ROWS: &[Definition] = &[
    Definition {
        id: "issue.list",
        title: "List issues",
        description: "Lists issues of the tracker, newest first.",
        input: "query?:string project?:string assignee?:string \
            states?:[string(backlog,unstarted,started,completed,canceled)] limit:integer(1..100)=20",
        said: &[
            ("query", "Words that the issues contain."),
            ("project", "The project, by its name or slug."),
            ("assignee", "Who the issues are assigned to."),
            ("states", "Which kinds of states the issues have; without it, those that are not closed."),
            ("limit", "How many issues are returned at most."),
        ],
        output: ISSUES,
        aliases: &[Alias {
            name: "linearSearchIssues",
            arguments: &[("projectSlug", "project"), ("stateTypes", "states")],
            ..ALIAS
        }],
        ..READ
    },
    Definition {
        id: "issue.get",
        title: "Read an issue",
        description: "Returns an issue with its description and comments.",
        input: "id!:string",
        said: &[ID],
        aliases: &[Alias { name: "linearGetIssue", arguments: &[("issueId", "id")], ..ALIAS }],
        ..READ
    },
    Definition {
        id: "issue.create",
        title: "Create an issue",
        description: "Creates an issue in the tracker.",
        input: "title!:string description?:string project?:string labels?:[string] priority?:string \
            assignee?:string",
        said: &[
            ("title", "The title."),
            ("description", "The description, as Markdown."),
            ("project", "The project, by its name or slug."),
            ("labels", "The names of its labels."),
            ("priority", "Its priority, as the tracker names it."),
            ("assignee", "Who it is assigned to."),
        ],
        ..CHANGE
    },
    Definition {
        id: "issue.update",
        title: "Change an issue",
        description: "Changes the given parts of an issue.",
        input: "id!:string title?:string description?:string state?:string labels?:[string] \
            priority?:string assignee?:string",
        said: &[
            ID,
            ("title", "The new title."),
            ("description", "The new description, as Markdown."),
            ("state", "The new state, as the tracker names it."),
            ("labels", "The names of all its labels."),
            ("priority", "The new priority, as the tracker names it."),
            ("assignee", "Who it is assigned to."),
        ],
        aliases: &[Alias {
            name: "linearUpdateIssueState",
            arguments: &[("issueId", "id"), ("stateId", "state")],
            ..ALIAS
        }],
        ..CHANGE
    },
    Definition {
        id: "issue.comment",
        title: "Comment on an issue",
        description: "Adds a comment to an issue.",
        input: "id!:string body!:string",
        said: &[ID, ("body", "The comment, as Markdown.")],
        output: "comment_id:string",
        aliases: &[
            Alias { name: "issue.reply", ..ALIAS },
            Alias { name: "linearAddComment", arguments: &[("issueId", "id")], ..ALIAS },
        ],
        ..CHANGE
    },
    Definition {
        id: "issue.dispatch",
        title: "Dispatch an issue",
        description: "Assigns an issue to who works on it, and marks it as started.",
        input: "id!:string assignee!:string note?:string",
        said: &[
            ID,
            ("assignee", "Who works on it: a person or an agent, as the tracker names them."),
            ("note", "A comment that is added, as Markdown."),
        ],
        ..CHANGE
    },
    Definition {
        id: "issue.close",
        title: "Close an issue",
        description: "Closes an issue as completed or canceled.",
        input: "id!:string state:string(completed,canceled)=\"completed\" note?:string",
        said: &[ID, ("state", "How it ends."), ("note", "A comment that is added, as Markdown.")],
        ..CHANGE
    },
];

/// Returns whether a tool is answered by the adapter of the issue tracker.
pub fn is_of_issues(id: &str) -> bool {
    ROWS.iter().any(|row| row.id == id)
}

/// Returns what the adapter reads on its standard input for a call. `None` for other tools.
pub fn issue_request(id: &str, args: &Json) -> Option<Json> {
    let row = ROWS.iter().find(|row| row.id == id)?;
    let operation = id.rsplit('.').next()?;
    let members = [
        ("version", Json::from(1_u64)),
        ("operation", Json::from(operation)),
        ("arguments", row.with_defaults(args)),
    ];
    Some(Json::Object(members.map(|(name, value)| (name.to_owned(), value)).into_iter().collect::<Object>()))
}
