//! `brigade kitchen status`

use std::ops::ControlFlow;
use std::path::PathBuf;

use brigade::kitchen::{FollowTarget, StatusReport, WatchView};
use brigade::{Error, Exit, Report as _};
use clap::Args;

use crate::live::{Region, scene_lines};
use crate::output::Output;
use crate::render::text::{Text, Tone};
use crate::render::{Escalations, show_status, task_lines, waiting_line};
use crate::session::Session;

/// Show the progress of a PRD
#[derive(Args, Debug)]
pub(crate) struct StatusArgs {
    /// File of the PRD; by default the PRD in progress
    prd: Option<PathBuf>,

    /// Print one line of JSON: progress, running tasks, and whether attention is needed
    #[arg(long, conflicts_with_all = ["watch", "all"])]
    brief: bool,

    /// Print that line only if attention is needed
    #[arg(long, conflicts_with_all = ["watch", "all"])]
    alert_only: bool,

    /// Show it again at every change, until the service ends
    #[arg(long)]
    watch: bool,

    /// Show all escalations
    #[arg(long)]
    all: bool,
}

pub(crate) fn run(
    session: &Session<'_>,
    arguments: &StatusArgs,
    output: &mut Output<'_, '_>,
) -> Result<Exit, Error> {
    let prd = arguments.prd.as_deref();
    if arguments.brief || arguments.alert_only {
        let brief = session.workspace()?.kitchen().brief(prd)?;
        let is_shown = !arguments.alert_only || brief.attention;
        return Ok(if is_shown { line(&brief, output) } else { Exit::Done });
    }
    let escalations = if arguments.all { Escalations::All } else { Escalations::Newest };
    if arguments.watch {
        return watch(session, arguments, escalations, output);
    }
    Ok(show(&session.workspace()?.kitchen().status(prd)?, escalations, output))
}

/// Writes a document on one line.
fn line(document: &impl serde::Serialize, output: &mut Output<'_, '_>) -> Exit {
    output.write(Exit::Done, |out| {
        serde_json::to_writer(&mut *out, document)?;
        out.write_all(b"\n")
    })
}

pub(crate) fn show(report: &StatusReport, escalations: Escalations, output: &mut Output<'_, '_>) -> Exit {
    if output.is_json() {
        return output.document(report, report.exit());
    }
    let mut page = output.new_page();
    show_status(report, escalations, &mut page);
    output.page(&page, report.exit())
}

fn watch(
    session: &Session<'_>,
    arguments: &StatusArgs,
    escalations: Escalations,
    output: &mut Output<'_, '_>,
) -> Result<Exit, Error> {
    let workspace = session.workspace_to_run()?;
    let surroundings = session.surroundings;
    let terminal = surroundings.output.filter(|_| !surroundings.dumb && !output.is_json());
    let mut region = terminal.map(Region::new);
    let follow = if region.is_some() { FollowTarget::Output } else { FollowTarget::Status };
    let mut exit = Exit::Done;
    let watched = workspace.kitchen().watch(arguments.prd.as_deref(), follow, &mut |watched| {
        exit = match &mut region {
            // At the end, the whole status is shown.
            Some(region) if watched.report.running || watched.waits => redraw(region, watched, output),
            Some(region) => {
                let mut text = String::new();
                region.erase(&mut text);
                output.text(&text);
                show(&watched.report, escalations, output)
            }
            None if output.is_json() => line(&watched.report, output),
            None => show(&watched.report, escalations, output),
        };
        // A closed pipe or a full disk ends the display.
        if output.is_broken() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    });
    if let Some(mut region) = region {
        // After Ctrl-C, the last status is shown.
        let mut text = String::new();
        if region.leave(&mut text) {
            output.text(&text);
        }
    }
    watched.map(|()| exit)
}

/// Shows as much of a status as fits, with running tasks last.
fn redraw(region: &mut Region, watched: &WatchView, output: &mut Output<'_, '_>) -> Exit {
    let (_, rows) = region.size();
    let report = &watched.report;
    let running = scene_lines(&watched.scene, rows / 2);
    let waiting: Vec<Text> = report.decisions.iter().take(3).map(waiting_line).collect();
    let room = rows.saturating_sub(running.len() + waiting.len() + 2);
    let mut lines = task_lines(report, room);
    lines.extend(waiting);
    lines.extend(running);
    lines.extend(
        watched.waits.then(|| Text::new(Tone::Faint, "no service runs; waiting for one (Ctrl-C ends)")),
    );
    let mut text = String::new();
    region.erase(&mut text);
    region.draw(lines, output.colour(), &mut text);
    output.text(&text)
}
