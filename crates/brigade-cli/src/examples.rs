//! The examples in the help of each command.

mod daily;
mod first_steps;
#[cfg(feature = "team")]
mod team;

use clap::Command;

/// A command group, one of its commands, and examples: a command line and its purpose.
///
/// Words in capitals stand for ids. Other names are from the sample workspace that `brigade demo` creates.
type Examples = (&'static str, &'static str, &'static [(&'static str, &'static str)]);

/// The group of the top-level commands.
pub(crate) const PROGRAM: &str = "brigade";

const GROUPS: &[Examples] = &[
    (
        "brigade",
        "serve",
        &[
            ("brigade serve --as codex", "Serve one agent over standard input and output"),
            ("brigade serve --http", "Serve agents with tokens at http://127.0.0.1:8766/mcp"),
            ("brigade serve --web --open", "Review calls in the browser, at http://127.0.0.1:7717"),
        ],
    ),
    ("brigade", "plan", &[("brigade plan 'Count words per file'", "The same as brigade kitchen plan")]),
    ("brigade", "map", &[("brigade map", "The same as brigade kitchen map")]),
    ("brigade", "service", &[("brigade service --dry-run", "The same as brigade kitchen service --dry-run")]),
    ("brigade", "ticket", &[("brigade ticket brigade/tasks/prd-words.json US-001", "Work on one task")]),
    ("brigade", "resume", &[("brigade resume retry", "The same as brigade kitchen resume retry")]),
    ("brigade", "status", &[("brigade status --brief", "The same as brigade kitchen status --brief")]),
    ("brigade", "cost", &[("brigade cost", "The same as brigade kitchen cost")]),
    ("brigade", "summary", &[("brigade summary", "The same as brigade kitchen summary")]),
    (
        "brigade",
        "validate",
        &[("brigade validate brigade/tasks/prd-words.json", "The same as brigade kitchen validate")],
    ),
    (
        "kitchen",
        "init",
        &[
            ("brigade kitchen init", "Write .brigade/kitchen.toml with every key explained"),
            ("brigade kitchen init --skills", "Let agent programs write PRDs with you, too"),
            ("brigade kitchen init --import --force", "Translate brigade.config, and replace the file"),
        ],
    ),
    (
        "kitchen",
        "plan",
        &[
            ("brigade kitchen plan 'Count words per file'", "Let the executive write a PRD"),
            ("brigade kitchen plan --continue PLAN --answer 1=yes", "Answer its first question"),
        ],
    ),
    (
        "kitchen",
        "map",
        &[
            ("brigade kitchen map", "Write brigade/codebase-map.md"),
            ("brigade kitchen map docs/map.md --json", "Write it elsewhere, and report it"),
        ],
    ),
    (
        "kitchen",
        "validate",
        &[
            ("brigade kitchen validate", "Check the PRD in progress, or the next one"),
            ("brigade kitchen validate --strict", "Also fail on warnings"),
            ("brigade kitchen validate --json", "Print errors with places, and waves"),
        ],
    ),
    (
        "kitchen",
        "approve",
        &[
            ("brigade kitchen approve", "Show what would be executed, and ask"),
            ("brigade kitchen approve --revoke", "Revoke the approval"),
            ("brigade kitchen approve --workers --fingerprint FINGERPRINT", "Let the tiers plan"),
        ],
    ),
    (
        "kitchen",
        "service",
        &[
            ("brigade kitchen service --dry-run", "Show the waves of the PRD in progress"),
            ("brigade kitchen service --only US-001", "Serve one task"),
        ],
    ),
    (
        "kitchen",
        "ticket",
        &[
            ("brigade kitchen ticket brigade/tasks/prd-words.json US-001 --dry-run", "Start nothing"),
            (
                "brigade kitchen ticket brigade/tasks/prd-words.json US-001 --max-iterations 1",
                "One attempt only",
            ),
        ],
    ),
    (
        "kitchen",
        "log",
        &[
            ("brigade kitchen log brigade/tasks/prd-words.json US-001", "Show the newest one"),
            ("brigade kitchen log brigade/tasks/prd-words.json US-001 --attempt 1 --json", "The first one"),
        ],
    ),
    ("receipts", "list", &[("brigade kitchen receipts list --json", "The newest receipts, for scripts")]),
    ("receipts", "show", &[("brigade kitchen receipts show RUN", "Show one receipt")]),
    ("receipts", "verify", &[("brigade kitchen receipts verify", "Check that no receipt was changed")]),
    (
        "kitchen",
        "clean",
        &[
            ("brigade kitchen clean", "Remove what is integrated"),
            (
                "brigade kitchen clean brigade/tasks/prd-words.json --abandon US-001",
                "Keep its work under a ref",
            ),
        ],
    ),
    (
        "kitchen",
        "resume",
        &[
            ("brigade kitchen resume", "Continue after an interruption"),
            ("brigade kitchen resume brigade/tasks/prd-words.json retry", "Try the failed task again"),
            ("brigade kitchen resume skip --all", "Skip all failed tasks, and continue"),
        ],
    ),
    (
        "kitchen",
        "status",
        &[
            ("brigade kitchen status", "Show the progress of each task"),
            ("brigade kitchen status --brief", "One line of JSON, for supervisors"),
            ("brigade kitchen status --watch --all", "Follow a service, with all escalations"),
        ],
    ),
    (
        "kitchen",
        "decisions",
        &[
            ("brigade kitchen decisions", "List waiting questions"),
            ("brigade kitchen decisions --all --json", "Answered ones, too, for scripts"),
        ],
    ),
    (
        "kitchen",
        "answer",
        &[
            ("brigade kitchen answer DECISION retry --guidance 'use the old API'", "Try the task again"),
            ("brigade kitchen answer DECISION skip --reason 'not needed'", "Leave the task out"),
        ],
    ),
    (
        "kitchen",
        "summary",
        &[
            ("brigade kitchen summary", "Print the report"),
            ("brigade kitchen summary brigade/tasks/prd-words.json report.md", "Write it to a file"),
        ],
    ),
    (
        "kitchen",
        "cost",
        &[
            ("brigade kitchen cost", "Show what the workers of the PRD cost"),
            ("brigade kitchen cost --json", "The same for scripts"),
        ],
    ),
    (
        "kitchen",
        "demo",
        &[
            ("brigade kitchen demo", "Show a service in a temporary directory"),
            ("brigade kitchen demo --in greeting --json", "Keep it in your own directory, for scripts"),
        ],
    ),
    (
        "kitchen",
        "workers",
        &[
            ("brigade kitchen workers", "Show what each tier starts, and whether it is there"),
            ("brigade kitchen workers --json", "The same for scripts"),
        ],
    ),
    (
        "tools",
        "init",
        &[
            ("brigade tools init", "Create a catalog in the current directory"),
            ("brigade tools init --force --target ../other", "Overwrite the catalog of another directory"),
        ],
    ),
    (
        "tools",
        "defaults",
        &[
            ("brigade tools defaults --dry-run", "Show which built-in tools would be added"),
            ("brigade tools defaults", "Add them"),
        ],
    ),
    (
        "tools",
        "list",
        &[
            ("brigade tools list", "List the tools"),
            ("brigade tools list --json", "The catalog and its health, for scripts"),
            ("brigade tools list --as local", "List what the agent local is shown"),
        ],
    ),
    (
        "tools",
        "connect",
        &[
            ("brigade tools connect cursor", "Show the entry for Cursor in this workspace"),
            ("brigade tools connect codex --as ci --write", "Write the one for Codex"),
            ("brigade tools connect codex --remove", "Remove it"),
        ],
    ),
    (
        "tools",
        "discover",
        &[
            ("brigade tools discover", "List what all agent programs have"),
            ("brigade tools discover --harness cursor --source mcp", "Only the MCP servers of Cursor"),
            ("brigade tools discover --scope project --json", "What the files of this workspace say"),
        ],
    ),
    (
        "tools",
        "install",
        &[
            ("brigade tools install yq", "Queue the installation of the tool yq"),
            ("brigade tools install yq --with pip", "Queue the one that pip does"),
            (
                "brigade tools install --all-missing --dry-run",
                "Show what would install everything that is missing",
            ),
        ],
    ),
    (
        "tools",
        "register",
        &[
            (
                "brigade tools register tools-registry.yaml --dry-run",
                "Show which tools of a file would be added",
            ),
            ("brigade tools register server.json --id weather", "Add a server of the MCP registry"),
            ("brigade tools register mcp:github@cursor/project", "Add a server of an agent program"),
        ],
    ),
    (
        "tools",
        "trust",
        &[
            ("brigade tools trust deploy", "Show what it runs, and record your review"),
            ("brigade tools trust judge runtime:db --yes", "Record it without asking"),
        ],
    ),
    (
        "tools",
        "enable",
        &[
            ("brigade tools enable 'files-*' --accept-hints", "Grant the proposed effects"),
            ("brigade tools enable files-read --effects local-read", "Grant this effect"),
        ],
    ),
    (
        "tools",
        "login",
        &[
            ("brigade tools login linear", "Log in to a remote server in the browser"),
            ("brigade tools login linear --no-browser", "Only print the URL"),
        ],
    ),
    ("tools", "logout", &[("brigade tools logout linear", "Remove the tokens for a server")]),
    ("tools", "disable", &[("brigade tools disable 'files-*'", "Disable all tools of a server")]),
    (
        "tools",
        "update",
        &[
            ("brigade tools update --dry-run", "Show what changed at all servers"),
            ("brigade tools update files", "Show it for one server, and accept it on yes"),
        ],
    ),
    ("tools", "show", &[("brigade tools show count-words", "Show a tool and its projections")]),
    ("tools", "search", &[("brigade tools search format json", "Search all tools for words")]),
    (
        "tools",
        "find",
        &[
            ("brigade tools find git log", "Show which tools have these words"),
            ("brigade tools find --capability \"parse yaml\"", "Show which tools can do it"),
            ("brigade tools find --category data --available", "Leave out tools that are missing"),
        ],
    ),
    (
        "tools",
        "check",
        &[
            ("brigade tools check count-words", "Check whether one tool is installed"),
            ("brigade tools check --all --json", "List which tools are there, missing or outdated"),
            ("brigade tools check --all --run-checks", "Start install checks and version commands, too"),
        ],
    ),
    ("tools", "stats", &[("brigade tools stats", "Count the runs of every tool")]),
    (
        "tools",
        "describe",
        &[
            ("brigade tools describe count-words", "Show its arguments, examples and effects"),
            ("brigade tools describe TOOL --live", "Compare with what its MCP server lists"),
        ],
    ),
    (
        "tools",
        "contracts",
        &[
            ("brigade tools contracts", "Show which tools can be called"),
            ("brigade tools contracts --live", "Compare with what MCP servers list"),
        ],
    ),
    ("tools", "cost", &[("brigade tools cost --as local", "Compare the ways of listing its tools")]),
    (
        "tools",
        "observe",
        &[
            ("brigade tools observe count-words", "Show what its last runs used and nothing covers"),
            ("brigade tools observe count-words --write", "Declare it in the entry of the tool"),
        ],
    ),
    (
        "tools",
        "plan",
        &[
            ("brigade tools plan", "Show which projections would be written"),
            ("brigade tools plan count-words", "Only the projections of one tool"),
        ],
    ),
    (
        "tools",
        "apply",
        &[
            ("brigade tools apply --all --dry-run", "Show what would be written"),
            ("brigade tools apply count-words", "Write the projections of one tool"),
            ("brigade tools apply --all --prune", "Write all, and remove orphans"),
        ],
    ),
    (
        "tools",
        "doctor",
        &[
            ("brigade tools doctor", "Show all issues and how to fix them"),
            ("brigade tools doctor --strict --only policy,projection", "Fail on issues of two areas only"),
            ("brigade tools doctor --fix --dry-run", "Show what can be fixed automatically"),
        ],
    ),
    (
        "tools",
        "import-issues",
        &[
            ("brigade tools import-issues", "Add all issues to the work inbox"),
            ("brigade work inbox list", "List them"),
        ],
    ),
    (
        "call",
        "plan",
        &[
            (
                r#"brigade tools call plan count-words --args '{"paths": ["README.md"]}'"#,
                "Show what it would run",
            ),
            (
                "brigade tools call plan count-words --args-json args.json --json",
                "Read arguments from a file",
            ),
        ],
    ),
    (
        "call",
        "queue",
        &[
            (r#"brigade tools call queue count-words --args '{"paths": ["README.md"]}'"#, "Queue one call"),
            ("brigade tools call queue --stdin --json < calls.jsonl", "Queue many calls"),
        ],
    ),
    (
        "call",
        "list",
        &[
            ("brigade tools call list --status pending", "List calls that need a decision"),
            ("brigade tools call list --tool count-words --limit 5", "List the latest calls of one tool"),
        ],
    ),
    ("registry", "add", &[("brigade tools registry add servers.json --name ours", "Add a file")]),
    ("registry", "list", &[("brigade tools registry list", "List the registries")]),
    ("registry", "remove", &[("brigade tools registry remove ours", "Forget one")]),
    ("registry", "search", &[("brigade tools registry search weather", "Search all")]),
    ("registry", "info", &[("brigade tools registry info example/weather@1.2.0", "Show a version")]),
    ("call", "show", &[("brigade tools call show CALL", "Show a call and its blockers")]),
    ("call", "approve", &[("brigade tools call approve CALL", "Approve exactly this call")]),
    ("call", "reject", &[("brigade tools call reject CALL --reason 'not now'", "Reject a call")]),
    ("call", "hold", &[("brigade tools call hold CALL --reason 'ask Kim first'", "Put a call on hold")]),
    (
        "call",
        "run",
        &[
            ("brigade tools call run CALL", "Run an approved call"),
            ("brigade tools call run --next", "Run the oldest call that is still as approved"),
        ],
    ),
    (
        "run",
        "list",
        &[
            ("brigade tools run list", "List the latest runs"),
            ("brigade tools run list --status failed --tool count-words", "List some"),
        ],
    ),
    (
        "run",
        "show",
        &[
            ("brigade tools run show RUN", "Show a receipt"),
            ("brigade tools run show RUN --log stderr", "Show what the program printed"),
        ],
    ),
    ("run", "latest", &[("brigade tools run latest", "Show the latest receipt")]),
    ("run", "replay", &[("brigade tools run replay RUN", "Queue the same call again")]),
    ("run", "export", &[("brigade tools run export RUN > receipt.json", "Export a signed receipt")]),
    (
        "run",
        "verify",
        &[
            ("brigade tools run verify", "Verify every receipt"),
            ("brigade tools run verify --envelope receipt.json --key KEY.pub", "Verify an exported one"),
        ],
    ),
    ("checkpoint", "list", &[("brigade tools checkpoint list", "List open questions of programs")]),
    ("checkpoint", "show", &[("brigade tools checkpoint show CHECKPOINT", "Show one question")]),
    (
        "checkpoint",
        "approve",
        &[("brigade tools checkpoint approve CHECKPOINT --choice publish", "Answer with a choice")],
    ),
    (
        "checkpoint",
        "reject",
        &[("brigade tools checkpoint reject CHECKPOINT --reason 'wrong branch'", "Reject it")],
    ),
    ("checkpoint", "resume", &[("brigade tools checkpoint resume CHECKPOINT", "Continue the call")]),
    ("policy", "init", &[("brigade tools policy init", "Create a policy with the sandbox enabled")]),
    ("policy", "show", &[("brigade tools policy show", "Show what this host allows")]),
    ("policy", "test", &[("brigade tools policy test --file new.toml", "Test a file before it is used")]),
    ("policy", "doctor", &[("brigade tools policy doctor", "Check the policy and the tools")]),
    (
        "policy",
        "explain",
        &[
            ("brigade tools policy explain count-words", "Show which rules decide about a tool"),
            ("brigade tools policy explain count-words --as local", "Show which rule approves its calls"),
        ],
    ),
    ("runtime", "init", &[("brigade tools runtime init", "Create runtimes.toml")]),
    ("runtime", "list", &[("brigade tools runtime list", "List the runtimes")]),
    ("runtime", "show", &[("brigade tools runtime show local-helper", "Show its paths and its process")]),
    ("runtime", "status", &[("brigade tools runtime status", "Show which are running and healthy")]),
    (
        "runtime",
        "start",
        &[("brigade tools runtime start local-helper", "Start it and wait until it is ready")],
    ),
    ("runtime", "stop", &[("brigade tools runtime stop local-helper", "Stop it and all its processes")]),
    ("runtime", "restart", &[("brigade tools runtime restart local-helper", "Stop it and start it again")]),
    (
        "runtime",
        "logs",
        &[
            ("brigade tools runtime logs local-helper -n 20", "Show the end of its log"),
            ("brigade tools runtime logs local-helper --stderr --follow", "Follow its errors"),
        ],
    ),
    ("runtime", "doctor", &[("brigade tools runtime doctor --strict", "Fail if there are issues")]),
    ("sync", "plan", &[("brigade tools sync plan", "Show which projections would be written")]),
    (
        "sync",
        "apply",
        &[
            ("brigade tools sync apply --all", "Show what would be written"),
            ("brigade tools sync apply --all --write --force", "Write the files"),
        ],
    ),
    ("parity", "status", &[("brigade tools parity status", "Show where harnesses differ")]),
    (
        "parity",
        "closeout",
        &[("brigade tools parity closeout --reason 'known gaps'", "Accept the current differences")],
    ),
    ("harness", "list", &[("brigade tools harness list", "List the supported harnesses")]),
    ("harness", "show", &[("brigade tools harness show claude", "Show which files it reads")]),
    (
        "state",
        "adopt",
        &[
            ("brigade state adopt", "Show what another host approved, and ask"),
            ("brigade state adopt --yes --json", "Accept it in a script"),
        ],
    ),
    ("state", "check", &[("brigade tools state check", "Check queue, receipts and ledger")]),
    ("state", "compact", &[("brigade tools state compact", "Move finished calls out of the journal")]),
    ("state", "export", &[("brigade tools state export > state.jsonl", "Export everything")]),
    (
        "import",
        "mcp",
        &[
            ("brigade tools import mcp RUNTIME --dry-run", "Show what its server lists"),
            ("brigade tools import mcp RUNTIME --tool search", "Add one of its tools, disabled"),
            ("brigade tools import mcp RUNTIME --enable", "Enable all of them, too"),
        ],
    ),
    ("pack", "build", &[("brigade tools pack build", "Build a pack of the catalog and its sources")]),
    ("pack", "list", &[("brigade tools pack list", "List the packs")]),
    ("pack", "show", &[("brigade tools pack show latest", "Show the newest pack")]),
    ("pack", "archive", &[("brigade tools pack archive PACK", "Move a pack to the archive")]),
    (
        "pack",
        "import",
        &[
            ("brigade tools pack import PACK", "Add its entries and sources"),
            ("brigade tools pack import PACK --force", "Replace entries and sources that differ"),
        ],
    ),
    ("pins", "list", &[("brigade tools pins list", "List pinned MCP tools and their changes")]),
    ("pins", "show", &[("brigade tools pins show PIN", "Show what changed at the server")]),
    (
        "pins",
        "accept",
        &[("brigade tools pins accept PIN --fingerprint FINGERPRINT", "Accept the change that was shown")],
    ),
    ("agent", "list", &[("brigade tools agent list", "List the agents and their profiles")]),
    ("agent", "add", &[("brigade tools agent add codex-ci", "Add an agent and print its token")]),
    ("agent", "rotate", &[("brigade tools agent rotate codex-ci", "Replace its token")]),
    ("agent", "remove", &[("brigade tools agent remove codex-ci", "Remove it")]),
    ("profile", "list", &[("brigade tools profile list", "List the profiles of all slots")]),
    ("profile", "show", &[("brigade tools profile show permission.plan", "Show what it hides")]),
    (
        "profile",
        "explain",
        &[("brigade tools profile explain count-words --as local", "Say why the agent sees the tool")],
    ),
    #[cfg(feature = "builtin")]
    (
        "script",
        "promote",
        &[
            ("brigade tools script promote SCRIPT", "Make a disabled tool of a script"),
            ("brigade tools script promote SCRIPT --id count-words", "Give the tool another id"),
        ],
    ),
    ("keys", "init", &[("brigade tools keys init", "Create the key that signs exported receipts")]),
    ("work", "brief", &[("brigade work brief", "Show what needs a decision, and the next command")]),
    (
        "work",
        "answer",
        &[
            ("brigade work answer WAITING --choice approve", "Approve a call that waits"),
            ("brigade work answer WAITING --text 'port 8080'", "Answer a question of an agent"),
            ("brigade work answer WAITING --decline --text 'not now'", "Decline, or reject with a reason"),
        ],
    ),
    #[cfg(feature = "builtin")]
    ("work", "turn", &[("brigade work turn --as local < turn.txt", "Report the start of a turn, in a hook")]),
    #[cfg(feature = "builtin")]
    (
        "memory",
        "list",
        &[
            ("brigade work memory list", "List what agents remember"),
            ("brigade work memory list --as local --scope agent", "List the memories of one agent"),
        ],
    ),
    #[cfg(feature = "builtin")]
    ("memory", "show", &[("brigade work memory show MEMORY", "Show a memory")]),
    #[cfg(feature = "builtin")]
    ("memory", "remove", &[("brigade work memory remove MEMORY", "Remove it")]),
    #[cfg(feature = "builtin")]
    (
        "memory",
        "pin",
        &[
            ("brigade work memory pin MEMORY", "Keep it for good"),
            ("brigade work memory pin MEMORY --off", "Allow its eviction again"),
        ],
    ),
    #[cfg(feature = "builtin")]
    ("memory", "export", &[("brigade work memory export", "Print all memories as JSON lines")]),
    #[cfg(feature = "builtin")]
    ("pr", "list", &[("brigade work pr list", "List pull requests of lanes")]),
    #[cfg(feature = "builtin")]
    ("pr", "show", &[("brigade work pr show 1", "Show the first one with its review")]),
    #[cfg(feature = "builtin")]
    (
        "pr",
        "comment",
        &[
            ("brigade work pr comment 1 'Add a test'", "Comment on a pull request"),
            ("brigade work pr comment 1 'Off by one' --path src/lib.rs --line 4", "Comment on a line"),
        ],
    ),
    #[cfg(feature = "builtin")]
    ("pr", "reply", &[("brigade work pr reply THREAD 'Better now'", "Reply to a thread")]),
    #[cfg(feature = "builtin")]
    (
        "pr",
        "resolve",
        &[
            ("brigade work pr resolve THREAD", "Mark a thread as resolved"),
            ("brigade work pr resolve THREAD --off", "Open it again"),
        ],
    ),
    #[cfg(feature = "builtin")]
    ("pr", "close", &[("brigade work pr close 1", "Close it without merging")]),
    (
        "inbox",
        "list",
        &[
            ("brigade work inbox list", "List the work inbox"),
            ("brigade work inbox list --status pending --source tool-catalog", "List some rows"),
        ],
    ),
    ("inbox", "show", &[("brigade work inbox show ROW", "Show a row")]),
    ("inbox", "promote", &[("brigade work inbox promote ROW", "Promote it to a work item")]),
    (
        "inbox",
        "dismiss",
        &[("brigade work inbox dismiss ROW --reason 'as intended'", "Dismiss it until it changes")],
    ),
    ("inbox", "done", &[("brigade work inbox done ROW", "Mark it as done")]),
    (PROGRAM, "complete", &[("brigade complete -- tools show count", "Print what a shell offers for it")]),
];

/// Adds examples to the commands of a group, or to a command at the top level.
pub(crate) fn attach(group: Command) -> Command {
    let name = group.get_name().to_owned();
    if !group.has_subcommands() {
        return group.after_help(help_text(PROGRAM, &name).unwrap_or_default());
    }
    group.mut_subcommands(|command| match help_text(&name, command.get_name()) {
        Some(examples) => command.after_help(examples),
        None => command,
    })
}

/// Returns the examples section of a command's help.
pub(crate) fn help_text(group: &str, command: &str) -> Option<String> {
    let listed = all().find(|(of, leaf, _)| *of == group && *leaf == command);
    listed.map(|(_, _, examples)| section(examples))
}

/// Returns the examples of all commands.
fn all() -> impl Iterator<Item = &'static Examples> {
    #[cfg(feature = "team")]
    let team = team::ROWS;
    #[cfg(not(feature = "team"))]
    let team: &[Examples] = &[];
    first_steps::FIRST_STEPS.iter().chain(daily::ROWS).chain(team).chain(GROUPS)
}

/// Returns the command lines of all examples.
#[cfg(test)]
pub(crate) fn lines() -> impl Iterator<Item = &'static str> {
    all().flat_map(|(_, _, examples)| examples.iter().map(|(line, _)| *line))
}

/// Formats the examples of a command, with the purpose in a second column.
fn section(examples: &[(&str, &str)]) -> String {
    let width = examples.iter().map(|(line, _)| line.len()).max().unwrap_or(0);
    let mut text = String::from("Examples:");
    for (line, purpose) in examples {
        text.push_str(
            match purpose.is_empty() {
                true => format!("\n  {line}"),
                false => format!("\n  {line:width$}   {purpose}"),
            }
            .as_str(),
        );
    }
    text
}

#[cfg(test)]
mod tests;
