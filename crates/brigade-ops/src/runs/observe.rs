//! Says what the entry of a tool should declare, by what its last runs used, and declares it.

use std::collections::BTreeSet;
use std::path::Path;

use crate::calls::watching::forget_observed;
use crate::seen_runs;
use crate::setup::Setup;
use brigade_call::{FileUse, Patterns, ToolUse, UnboundFile, binds, pattern_of};
use brigade_core::text::escape_terminal;
use brigade_core::{Json, NextStep, Object};
use brigade_exec::{BESIDE_DATABASE, PatternMatches, PatternUse, is_database, links_on, matching_files};
use brigade_fs::{FileKind, Fs, Location, RelPath};
use brigade_workspace::{CATALOG, Learned, WorkspaceContext, gather, is_code_file, load};

use crate::error::{Error, ErrorKind};
use crate::refusal::Refusal;
use crate::report::{ObserveReport, Report as _};

/// Whether to change the entry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Declare {
    /// Only say what it should declare.
    Show,
    /// Forget what earlier runs of it used as code. Calls that were approved keep what their approval binds.
    Forget,
    /// Write it into the catalog. This ends approvals of the tool's calls.
    Write {
        /// Files to take out of `code` and to declare as data, so that nothing binds them any more. Only the caller can
        /// tell that such a file is not code.
        as_data: Vec<String>,
    },
}

/// Sums up what the last runs of a tool used, and says what its entry should declare. Starts nothing.
///
/// # Errors
/// Returns [`Refusal::Tool`] if no tool has this id, [`ErrorKind::Usage`] if a file is to become data that `code` does
/// not name or that no run tried to write, [`ErrorKind::InvalidConfig`] if the entry cannot be edited or a run asks for
/// it, and file errors.
pub fn observe(
    context: &WorkspaceContext,
    id: &str,
    runs: usize,
    declare: Declare,
) -> Result<ObserveReport, Error> {
    // Held from reading to writing.
    let (_lock, moved) = match &declare {
        Declare::Show => (None, &[][..]),
        Declare::Forget => {
            context.require_outside_run()?;
            (Some(Setup::new(context).lock_catalog()?), &[][..])
        }
        Declare::Write { as_data } => {
            context.require_outside_run()?;
            (Some(Setup::new(context).lock_catalog()?), as_data.as_slice())
        }
    };
    let config = gather::config(context)?;
    let tool = load::any_tool(&config.catalog, id)
        .map_err(|error| Error::from(error).refusing(context, Refusal::Tool))?;
    let mut learned = Learned::read(&*context.fs);
    let forgotten = match declare {
        Declare::Forget => learned.forget(tool.id.as_str()),
        Declare::Show | Declare::Write { .. } => None,
    };
    if forgotten.is_some() {
        learned.write(&*context.fs)?;
        forget_observed(context);
    }
    let queue = context.queue();
    let found = seen_runs(&*context.fs, &queue.read()?, tool.id.as_str(), runs)?;
    let mut used =
        ToolUse::new(tool, &found.runs, context.fs.root(), &|path| is_code_file(&*context.fs, path));
    // What its command binds by now is declared, whatever these runs had bound.
    let mut advice: Vec<String> = Vec::new();
    if !used.unbound.is_empty() {
        let none = Ok(Json::Object(Object::new()));
        let planned = gather::plan_call(context, &config, tool, none, context.caller.clone(), None, None)?;
        let binding = planned.plan.binding();
        let is_learned = |path: &String| binding.learned.contains(path);
        used.unbound.retain(|file| !binds(binding, &file.path) || is_learned(&file.path));
        used.bound.extend(binding.files.keys().cloned());
    }
    let is_blank = |file: &&UnboundFile| file.path.trim() != file.path;
    advice.extend(used.unbound.iter().find(is_blank).map(|file| {
        format!(
            "rename \"{}\" to declare it: the catalog holds no names that begin or end with a blank",
            escape_terminal(&file.path)
        )
    }));
    let fits = |pattern: &str| {
        matches!(matching_files(&*context.fs, pattern, PatternUse::Code), Ok(PatternMatches::All(_)))
    };
    // A link opens nothing, whatever declares it.
    let leads = |path: &str| links_on(&*context.fs, &context.fs.root().join(path)).is_empty();
    let declarable = used.unbound.iter().filter(|file| leads(&file.path)).cloned();
    let declarable = declarable.chain(beside_databases(&*context.fs, &used.unbound)).collect();
    let mut patterns = ToolUse { unbound: declarable, ..used.clone() }.patterns(&fits);
    let linked = used.unbound.iter().filter(|file| !leads(&file.path));
    let linked: BTreeSet<String> =
        linked.flat_map(|file| package_patterns(&*context.fs, &file.path, &fits)).collect();
    let is_new = |pattern: &String| !patterns.code.contains(pattern) && !tool.code.contains(pattern);
    let linked: Vec<String> = linked.into_iter().filter(|pattern| is_new(pattern) && fits(pattern)).collect();
    patterns.code.extend(linked);
    if let Some(path) = moved.iter().find(|path| !used.state.contains(*path)) {
        let message = format!(
            "{} is not a file that `code` of the tool names and that one of these runs tried to write",
            escape_terminal(path)
        );
        return Err(Error::new(ErrorKind::Usage, message).hint("edit `code` and `data` in its entry"));
    }
    let written = matches!(declare, Declare::Write { .. })
        && Setup::new(context).set_lists(tool.id.as_str(), &used.lists(tool, &patterns, moved))?;
    let is_done = patterns == Patterns::default()
        && used.effects_undeclared.is_empty()
        && used.effects_unused.is_empty();
    let id = tool.id.to_string();
    Ok(ObserveReport {
        schema: ObserveReport::SCHEMA,
        target: context.target(),
        config_path: context.absolute(CATALOG),
        errors: load::errors_of(&config.catalog),
        run_count: found.looked_at,
        observed_run_ids: found.runs.into_iter().map(|run| run.id).collect(),
        reason: found.why_not,
        complete: used.is_complete,
        next_command: context.spelled(match declare {
            Declare::Show if !is_done => NextStep::DeclareUsed(id.clone()),
            Declare::Show | Declare::Write { .. } | Declare::Forget => NextStep::QueueCall(id.clone()),
        }),
        code_written: used.state.iter().filter(|path| !moved.contains(path)).cloned().collect(),
        code_removed: moved.to_vec(),
        learned: learned.of_tool(tool).map(|known| known.files.iter().cloned().collect()).unwrap_or_default(),
        forgotten: forgotten.unwrap_or_default(),
        advice,
        tool_id: id,
        code: patterns.code,
        data: patterns.data,
        unbound: used.unbound,
        effects_undeclared: used.effects_undeclared,
        effects_unused: used.effects_unused,
        written,
    })
}

/// Lists the files that SQLite reads with a database which a run was not let read, where they are.
fn beside_databases(fs: &dyn Fs, unbound: &[UnboundFile]) -> Vec<UnboundFile> {
    let denied =
        |file: &&UnboundFile| file.denied && file.kind == FileUse::Data && is_database(fs, &file.path);
    let beside = |file: &UnboundFile| {
        BESIDE_DATABASE.map(|end| UnboundFile { path: format!("{}{end}", file.path), ..file.clone() })
    };
    let is_there = |file: &UnboundFile| {
        let path: Option<RelPath> = file.path.parse().ok();
        path.is_some_and(|path| fs.metadata(&path).is_ok_and(|found| found.kind == FileKind::File))
            && !unbound.iter().any(|known| known.path == file.path)
    };
    unbound.iter().filter(denied).flat_map(beside).filter(is_there).collect()
}

/// How directories of installed packages of JavaScript are called.
const PACKAGES: &str = "node_modules";

/// Makes patterns of the packages of JavaScript that a path leads through by links: the directories of the links, and
/// what they lead to elsewhere in the workspace. Each package depends on others by its own links, so these count,
/// too: a run would come to them one after the other.
fn package_patterns(fs: &dyn Fs, path: &str, fits: &dyn Fn(&str) -> bool) -> BTreeSet<String> {
    const MAX_PATTERNS: usize = 1_000;
    let below = |folder: &Path| format!("{}/**", pattern_of(&folder.to_string_lossy()));
    let mut found = BTreeSet::new();
    let mut seen = BTreeSet::new();
    let mut waiting = links_on(fs, &fs.root().join(path));
    while let Some(link) = waiting.pop() {
        let Some(packages) = nearest_packages(link.as_path()) else { continue };
        if MAX_PATTERNS <= seen.len() || !seen.insert(link.as_str().to_owned()) {
            continue;
        }
        found.insert(below(packages));
        let target = fs.resolve(&fs.root().join(link.as_path()).to_string_lossy(), None);
        let Ok(Location::Inside(real)) = target else { continue };
        if real.is_root() || real.as_path().starts_with(packages) {
            continue;
        }
        let is_directory = fs.metadata(&real).is_ok_and(|metadata| metadata.kind == FileKind::Directory);
        // All packages of a store, if an approval can bind them.
        let store = real.as_path().ancestors().filter(|folder| folder.ends_with(PACKAGES)).last();
        let store = store.map(below).filter(|pattern| fits(pattern));
        let own = if is_directory { below(real.as_path()) } else { pattern_of(real.as_str()) };
        found.insert(store.unwrap_or(own));
        // pnpm puts what a package depends on beside it.
        let beside = nearest_packages(real.as_path()).filter(|packages| {
            packages.parent().and_then(Path::parent).is_some_and(|store| store.ends_with(".pnpm"))
        });
        let folders = [Some(real.as_path().join(PACKAGES)), beside.map(Path::to_owned)];
        waiting.extend(folders.iter().flatten().flat_map(|folder| links_in(fs, folder)));
    }
    found
}

fn nearest_packages(path: &Path) -> Option<&Path> {
    path.ancestors().skip(1).find(|folder| folder.ends_with(PACKAGES))
}

/// Lists the packages in a directory that are links, also of scopes.
fn links_in(fs: &dyn Fs, folder: &Path) -> Vec<RelPath> {
    let Some(folder) = folder.to_str().and_then(|folder| folder.parse::<RelPath>().ok()) else {
        return Vec::new();
    };
    let mut found = Vec::new();
    for entry in fs.list_dir(&folder).unwrap_or_default() {
        let Ok(path) = folder.join(&entry.name) else { continue };
        match entry.kind {
            FileKind::Link => found.push(path),
            FileKind::Directory if entry.name.starts_with('@') => {
                let scoped = fs.list_dir(&path).unwrap_or_default().into_iter();
                let links = scoped.filter(|entry| entry.kind == FileKind::Link);
                found.extend(links.filter_map(|entry| path.join(&entry.name).ok()));
            }
            FileKind::Directory | FileKind::File | FileKind::Other => {}
        }
    }
    found
}
