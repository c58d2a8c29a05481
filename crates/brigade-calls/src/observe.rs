//! Says what the entry of a tool should declare, by what its last runs used, and declares it.

use brigade_call::{Patterns, ToolUse, binds};
use brigade_core::{Json, NextStep, Object};
use brigade_exec::{Matching, PatternOf, links_on, matching_files};
use brigade_facts::{CATALOG, is_code_file};
use brigade_upkeep::{Seams, gather, load, seen_runs};

use crate::error::Error;
use crate::refusal::Refusal;
use crate::report::{ObserveReport, Report as _};

/// Whether to change the entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Declare {
    /// Only say what it should declare.
    Show,
    /// Write it into the catalog. This ends approvals of the tool's calls.
    Write,
}

/// Sums up what the last runs of a tool used, and says what its entry should declare. Starts nothing.
///
/// # Errors
/// Returns [`Refusal::Tool`] if no tool has this id, [`ErrorKind::InvalidConfig`](crate::ErrorKind::InvalidConfig)
/// if its entry cannot be edited or a run asks for it, and file errors.
pub fn observe(seams: &Seams, id: &str, runs: usize, declare: Declare) -> Result<ObserveReport, Error> {
    // Held from reading to writing.
    let _lock = match declare {
        Declare::Show => None,
        Declare::Write => {
            seams.decides()?;
            Some(seams.setup().lock_catalog()?)
        }
    };
    let config = gather::config(seams)?;
    let tool = load::any_tool(&config.catalog, id)
        .map_err(|error| Error::from(error).refusing(seams, Refusal::Tool))?;
    let queue = seams.queue();
    let found = seen_runs(&*seams.fs, &queue.read()?, tool.id.as_str(), runs)?;
    let mut used = ToolUse::of(tool, &found.runs, seams.fs.root(), &|path| is_code_file(&*seams.fs, path));
    // What its command binds by now is declared, whatever these runs had bound.
    if !used.unbound.is_empty() {
        let none = Ok(Json::Object(Object::new()));
        let planned = gather::plan_call(seams, &config, tool, none, seams.caller.clone(), None, None)?;
        used.unbound.retain(|file| !binds(planned.plan.binding(), &file.path));
    }
    let fits =
        |pattern: &str| matches!(matching_files(&*seams.fs, pattern, PatternOf::Code), Ok(Matching::All(_)));
    // A link opens nothing, whatever declares it.
    let leads = |path: &str| links_on(&*seams.fs, &seams.fs.root().join(path)).is_empty();
    let declarable = used.unbound.iter().filter(|file| leads(&file.path)).cloned().collect();
    let patterns = ToolUse { unbound: declarable, ..used.clone() }.patterns(&fits);
    let written = declare == Declare::Write
        && seams.setup().set_lists(tool.id.as_str(), &used.lists(tool, &patterns))?;
    let is_done = patterns == Patterns::default()
        && used.effects_undeclared.is_empty()
        && used.effects_unused.is_empty();
    let id = tool.id.to_string();
    Ok(ObserveReport {
        schema: ObserveReport::SCHEMA,
        target: seams.target(),
        config_path: seams.absolute(CATALOG),
        run_count: found.looked_at,
        observed_run_ids: found.runs.into_iter().map(|run| run.id).collect(),
        reason: found.why_not,
        complete: used.is_complete,
        next_command: seams.spelled(match (written || is_done, declare) {
            (true, _) | (_, Declare::Write) => NextStep::QueueCall(id.clone()),
            (false, Declare::Show) => NextStep::DeclareUsed(id.clone()),
        }),
        tool_id: id,
        code: patterns.code,
        data: patterns.data,
        unbound: used.unbound,
        effects_undeclared: used.effects_undeclared,
        effects_unused: used.effects_unused,
        written,
    })
}
