//! Checks a call of a built-in tool as far as possible without running it.

use brigade_access::builtin::{
    ArgumentRefusal, COMMAND, CommandArgs, Fact, PathUse, allowed_url, definition, refused_arguments,
};
use brigade_access::files_root;
use brigade_cmdline::shell_syntax;
use brigade_core::{ErrorCode, Json};
use brigade_policy::{Blocker, ShellUse, WebUrl, shown_label};

use crate::facts::PlanFacts;

/// Refuses a tool that needs a missing fact, and closed paths. The tool checks them again when it runs.
pub(super) fn blockers(facts: &PlanFacts<'_>, args: Option<&Json>, blockers: &mut Vec<Blocker>) {
    let row = if facts.tool.is_built_in() { definition(facts.tool.id.as_str()) } else { None };
    let Some((row, known)) = row.zip(facts.builtin.as_ref()) else { return };
    // With a profile that requires approval, this becomes a call in the agent's session.
    if args.is_some() && !row.is_queued() && facts.session.is_none() {
        let message = format!("the gateway answers `{}` itself; it cannot be queued", row.id);
        blockers.push(Blocker::new(ErrorCode::NotAvailableHere, message).hint(Fact::Session.remedy()));
    }
    for fact in &known.missing {
        let message = format!("`{}` needs the fact `{}`, which does not hold here", row.id, fact.as_str());
        blockers.push(Blocker::new(ErrorCode::NotAvailableHere, message).hint(fact.remedy()));
    }
    if let Some(args) = args.filter(|_| row.id == COMMAND) {
        command_blockers(args, blockers);
    }
    let url = args.filter(|_| row.id == "git.clone").and_then(|args| args.get("repo_url"));
    if let Some(Err(problem)) = url.and_then(Json::as_str).map(|url| allowed_url(url, &known.git_urls)) {
        let blocker = Blocker::new(problem.code(), format!("$.repo_url: {problem}"));
        blockers.push(blocker.field("$.repo_url"));
    }
    let url = args.filter(|_| row.id == "web.fetch").and_then(|args| args.get("url"));
    let judged = url.and_then(Json::as_str).map(|url| WebUrl::parse(url)?.check(&known.web_domains));
    if let Some(Err(problem)) = judged.filter(|_| known.missing.is_empty()) {
        blockers.push(Blocker::new(problem.code(), format!("$.url: {problem}")).field("$.url"));
    }
    blockers.extend(known.named.against.iter().cloned());
    let lane = facts.session.as_ref().and_then(|session| session.root_of(row.id));
    let root = files_root(&facts.root, lane).display().to_string();
    if let Some(args) = args {
        let refused = refused_arguments(row, args, facts.caller.agent(), &known.guards, &root);
        blockers.extend(refused.iter().map(ArgumentRefusal::blocker));
    }
    for name in row.paths {
        let Some(path) = args.and_then(|args| args.get(name)).and_then(Json::as_str) else { continue };
        if let Err(problem) = known.guards.check(path, &root, PathUse::from_definition(row)) {
            blockers.push(problem.blocker(name));
        }
    }
}

/// Returns why only a shell would understand the command that a call names.
///
/// All other checks of such a command assume words that no shell has changed, so this reason comes first.
pub fn shell_blocker(tool_id: &str, args: &Json) -> Option<Blocker> {
    let command = (tool_id == COMMAND).then(|| CommandArgs::read(args)).filter(|args| !args.shell)?.command;
    let found = shell_syntax(&command)?;
    let found = if found == "\n" { "a second line".to_owned() } else { format!("`{found}`") };
    let message = format!(
        "$.command: {found} is shell syntax, but no shell reads the command; quote plain text, or set `shell` \
         where the policy allows it; for several steps, ask a person to add a script to the catalog"
    );
    Some(Blocker::new(ErrorCode::ShellSyntax, message).field("$.command"))
}

/// Returns why no shell reads the command of a call that asks for one.
pub(super) fn policy_shell(facts: &PlanFacts<'_>, args: &Json) -> Option<Blocker> {
    let shell = facts.builtin.as_ref().filter(|_| facts.tool.id == COMMAND)?.shell;
    (shell == ShellUse::Never && CommandArgs::read(args).shell).then(|| {
        let message = "$.shell: a shell reads a command only with `shell = \"approved\"` under [commands] of \
                       .brigade/tools/policy.toml";
        Blocker::new(ErrorCode::PolicyShell, message).field("$.shell")
    })
}

/// Refuses values for variables, because only the policy binds them.
fn command_blockers(args: &Json, blockers: &mut Vec<Blocker>) {
    let args = CommandArgs::read(args);
    for (name, is_named) in args.env {
        if !is_named {
            let field = format!("$.env.{}", shown_label(&name));
            let message = format!("{field}: set the variable to `true`; the policy provides its value");
            blockers.push(
                Blocker::new(ErrorCode::EnvByPolicy, message)
                    .field(field)
                    .hint("bind the name under `env_bindings` in .brigade/tools/policy.toml"),
            );
        }
    }
}
