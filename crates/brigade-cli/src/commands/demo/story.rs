//! The story of the first minutes: servers on a machine, setup, and calls of an agent.

use brigade::core::Json;
use brigade::gateway::{AgentCall, RequestOutcome, RunRequestOutcome};
use brigade::profile::NameStyle;
use brigade::{AgentCalls, CallStatus, Caller, Env, Error, Exit, NewFile, Workspace};

use super::stage::{Expect, Stage};
use super::{DemoArgs, place};
use crate::output::Output;
use crate::render::shell::quote;
use crate::session::Session;

/// The program whose agent calls.
const AGENT: &str = "claude";

const SERVER: &str = include_str!("story/server.py");

/// The script of the server, in the project.
const SCRIPT: &str = "project/server.py";

pub(super) fn run(
    arguments: &DemoArgs,
    session: &Session<'_>,
    output: &mut Output<'_, '_>,
) -> Result<Exit, Error> {
    let (machine, workspace) = make(arguments, session)?;
    let mut stage = Stage::new(&workspace, session.surroundings, output);
    stage.at_home(machine.root().join("home"));
    play(&machine, &workspace, &mut stage)?;
    let folder = quote(&workspace.root().display().to_string());
    Ok(stage.end(&[
        ("brigade setup".to_owned(), "do the same on this machine; nothing is written before the last yes"),
        ("brigade kitchen demo".to_owned(), "see a crew of agents work through a list of tasks"),
        ("brigade demo catalog".to_owned(), "walk through plans, policies and receipts"),
        (format!("cd {folder}"), "the workspace stays until you remove it"),
    ]))
}

/// Makes a machine: a home with the files of two agent programs, and a project.
fn make(arguments: &DemoArgs, session: &Session<'_>) -> Result<(Workspace, Workspace), Error> {
    let (folder, context) = place(arguments, session)?;
    let script = folder.join(SCRIPT).display().to_string();
    let words = |kind: &str| Json::from(vec![script.clone(), kind.to_owned()]);
    let entry = |kind: &str| Json::object([("command", Json::from("python3")), ("args", words(kind))]);
    let of_claude = Json::object([("mcpServers", Json::object([("notes", entry("notes"))]))]);
    let of_codex =
        format!("[mcp_servers.clock]\ncommand = \"python3\"\nargs = {}\n", words("clock").to_compact());
    let files = [
        NewFile::new("home/.claude.json", of_claude.to_pretty()),
        NewFile::new("home/.claude/settings.json", "{}\n"),
        NewFile::new("home/.codex/config.toml", of_codex),
        NewFile::new("project/notes.txt", "buy milk\nwater the plants\n"),
        NewFile::new(SCRIPT, SERVER),
    ];
    let machine = Workspace::with_files(&folder, &files, context.clone())?;
    let context = context.home(&machine.root().join("home"));
    let workspace = Workspace::open(&machine.root().join("project"), context)?;
    Ok((machine, workspace))
}

fn play(machine: &Workspace, workspace: &Workspace, stage: &mut Stage<'_, '_, '_>) -> Result<(), Error> {
    stage.say("A made-up machine with two agent programs. Each starts a server, and nothing asks you first.");
    stage.command(&["discover"], Expect::Done);

    stage.say(
        "One command puts both behind the gateway. (On a terminal it asks, and shows every change first.)",
    );
    stage.command(&["setup", "--yes"], Expect::Done);

    stage.say("The agent of Claude Code reads. The rule allows it, so it does not wait.");
    agent(workspace, stage, "notes-find", "milk")?;

    stage.say("It writes. No rule allows that, so the call waits for you.");
    agent(workspace, stage, "notes-add", "call Ada")?;
    stage.command(&["pending"], Expect::Done);
    stage.command(&["approve", "1"], Expect::Done);
    agent(workspace, stage, "notes-add", "call Ada")?;

    stage.say("Now the script of the server changes.");
    machine.write_files(&[NewFile::new(SCRIPT, format!("{SERVER}# one more line\n"))])?;
    stage.shell("echo '# one more line' >> server.py");
    stage.say("It is no longer what you saw, so the rule does not cover it any more.");
    agent(workspace, stage, "notes-find", "plants")?;

    stage.say("Every run has a receipt: who asked, who or which rule approved, and what was run.");
    stage.command(&["log"], Expect::Done);
    Ok(())
}

/// Calls a tool as the agent, and shows what it gets.
fn agent(workspace: &Workspace, stage: &mut Stage<'_, '_, '_>, tool: &str, text: &str) -> Result<(), Error> {
    let own = workspace.with_env(|env: Env| env.caller(Caller::Agent(AGENT.to_owned())));
    let shown = own.agents().tools(AGENT, &[], NameStyle::Dotted)?;
    let arguments = Json::object([("text", Json::from(text))]);
    let line = format!("{AGENT} calls {tool} {}", arguments.to_compact());
    let calls = own.agent_calls();
    let outcome = calls.ask_and_run(&shown, tool, arguments, &|_| {});
    let text = match outcome {
        Ok(RunRequestOutcome::Ran(ran)) => answer(&calls, &ran)?,
        Ok(RunRequestOutcome::NotRun { error, .. }) => error.to_string(),
        Ok(RunRequestOutcome::Requested(RequestOutcome::Stored { call, uncovered, .. })) => match call.status
        {
            CallStatus::Approved => {
                let ran = calls.go_on(Some(&shown), &call.id)?;
                answer(&calls, &ran)?
            }
            _ => {
                let mut text = format!("waits for a person ({})", call.id);
                uncovered.iter().for_each(|why| text.push_str(&format!("\n{why}")));
                text
            }
        },
        Ok(RunRequestOutcome::Requested(_)) => "no answer".to_owned(),
        Err(error) => error.to_string(),
    };
    stage.agent(&line, &text);
    Ok(())
}

/// Returns how a call ended, and the text that the server answered.
fn answer(calls: &AgentCalls, ran: &AgentCall) -> Result<String, Error> {
    let stored = match (&ran.answer, &ran.call.claim) {
        (None, Some(claim)) => calls.answer(&claim.run_id)?,
        (answer, _) => answer.clone(),
    };
    let first = stored.as_ref().and_then(|answer| answer.get("content")?.as_array()?.first()?.get("text"));
    let status = &ran.call.status;
    Ok(match first.and_then(Json::as_str) {
        Some(text) => format!("{status}: {}", text.trim_end()),
        None => status.to_string(),
    })
}
