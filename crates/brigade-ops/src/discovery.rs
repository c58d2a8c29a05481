//! Finds and remembers the tools of other agent programs. Never starts a program or opens a connection.

pub(crate) mod machine_view;
pub(crate) mod remember;

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use crate::{
    DISCOVERED, DiscoverRequest, Discovery, Machine, Memory, fit_to_remember, read_remembered,
    registered_from, remember,
};
use brigade_catalog::{Catalog, Masks, RegistrySettings, Runtimes, Tool};
use brigade_cmdline::Argv;
use brigade_core::text::escape_terminal;
use brigade_core::{ErrorCode, ErrorKind, IssueType, Report as _, closest};
use brigade_harness::{
    DiscoveredEntry, DiscoveryIssue, EntrySource, Extent, RememberedEntries, RememberedFileError,
    SourceChange, harness, harnesses, may_be_elsewhere, shows_words, source_changes,
};
use brigade_policy::Failure;
use brigade_workspace::{WorkspaceContext, load};

use crate::error::Error;
use crate::report::{DiscoveryReport, RegistrySyncReport};

/// The harnesses that the `inherit_clawdbot_*` settings are about: the program, and its later name.
const CLAWDBOT: [&str; 2] = ["clawdbot", "openclaw"];

/// Operations on the tools of other agent programs. None of them starts a program or opens a connection.
#[derive(Clone)]
pub struct Registry {
    context: Arc<WorkspaceContext>,
}

impl Registry {
    /// Creates the operations on a workspace.
    pub fn new(context: Arc<WorkspaceContext>) -> Registry {
        Registry { context }
    }

    /// Reads the files of agent programs. Writes nothing.
    ///
    /// Without harnesses in the request, those of `[registry] harnesses` in the catalog are meant, or all.
    ///
    /// # Errors
    /// Returns [`ErrorKind::Usage`](crate::ErrorKind::Usage) for an unknown harness. A file that cannot be read is an
    /// issue of the report.
    pub fn discover(&self, request: &DiscoverRequest) -> Result<DiscoveryReport, Error> {
        Ok(discover(&self.context, request)?)
    }

    /// Compares what the files of agent programs say with the cache, and writes the cache if something changed.
    ///
    /// A damaged cache is replaced.
    ///
    /// # Errors
    /// Returns [`ErrorKind::Refused`](crate::ErrorKind::Refused) if a newer version wrote the cache, and file errors.
    pub fn sync(&self, dry_run: bool) -> Result<RegistrySyncReport, Error> {
        Ok(sync(&self.context, dry_run)?)
    }
}

pub(crate) fn discover(
    context: &WorkspaceContext,
    request: &DiscoverRequest,
) -> Result<DiscoveryReport, Failure> {
    if let Some(unknown) = request.harnesses.iter().flatten().find(|label| harness(label).is_none()) {
        return Err(unknown_harness(unknown));
    }
    let Discovery { harnesses, entries, issues, .. } = look(context, request)?;
    Ok(DiscoveryReport {
        schema: DiscoveryReport::SCHEMA,
        target: context.target(),
        harnesses,
        entry_count: entries.len(),
        entries,
        issue_count: issues.len(),
        issues,
    })
}

pub(crate) fn sync(context: &WorkspaceContext, dry_run: bool) -> Result<RegistrySyncReport, Failure> {
    let found = look(context, &DiscoverRequest::default())?;
    let Discovery { harnesses, mut entries, mut issues, lacks_home, .. } = found;
    let nothing = || RememberedEntries::new(context.now(), Vec::new(), Vec::new());
    // The stored text is compared unmasked, so that a value that is masked only now is rewritten.
    let memory = read_remembered(&*context.fs, &Masks::default())?;
    let is_damaged = memory == Memory::Unfit(RememberedFileError::Damaged);
    let (before, is_new) = match memory {
        Memory::Found(found) => (*found, false),
        Memory::Nothing | Memory::Unfit(RememberedFileError::Damaged) => (nothing(), true),
        Memory::Unfit(RememberedFileError::Newer) => {
            let message = format!("`{DISCOVERED}`: {}", RememberedFileError::Newer);
            let error = Failure::new(ErrorKind::Refused, message).coded(ErrorCode::NewerVersion);
            return Err(error.hint("delete the file; it is only a cache"));
        }
    };
    keep_unread(&before, &mut entries, &mut issues);
    if lacks_home {
        // Files that environment variables locate were read even without a home directory.
        let read: HashSet<&str> =
            harnesses.iter().flat_map(|harness| &harness.files).map(|file| &*file.path).collect();
        let mut of_user = HashSet::new();
        for origin in before.entries.iter().flat_map(|entry| &entry.origins) {
            if origin.scope == Extent::User && !read.contains(&*origin.path) {
                of_user.insert(origin.path.as_str());
            }
        }
        before.keep(|path| of_user.contains(path), &mut entries, &mut issues);
    }
    let now = context.now();
    let mut found = RememberedEntries::new(now, entries, issues);
    fit_to_remember(&mut found);
    let catalog = load::catalog(context)?;
    let registered = registered_from(&*context.fs, context.environment.config_folder().as_deref(), &catalog);
    let masks = load::masks_of(context);
    let changed_sources: Vec<DiscoveryIssue> = source_changes(
        &catalog,
        Some(&load::runtimes(context)?),
        &registered.definitions,
        &found.entries,
        &found.issues,
    )
    .iter()
    .map(|change| source_issue(change, &masks))
    .collect();
    let difference = match read_remembered(&*context.fs, &masks)? {
        Memory::Found(before) if !is_new => before.compare(&found.entries),
        _ => before.compare(&found.entries),
    };
    let is_changed =
        is_new || 0 < before.left_out || before.entries != found.entries || before.issues != found.issues;
    let written = is_changed && !dry_run;
    let entry_count = found.entries.len();
    let mut made_at = (!is_new).then_some(before.made_at);
    if written {
        remember(&*context.fs, &found)?;
        made_at = Some(now);
    }
    let mut issues = found.issues;
    let of_cache = |message| DiscoveryIssue {
        path: Some(context.absolute(DISCOVERED)),
        ..DiscoveryIssue::new(IssueType::DiscoveredCacheDamaged, message)
    };
    if is_damaged {
        let what = if written { "was damaged, and is replaced" } else { "is damaged" };
        issues.insert(0, of_cache(format!("the cache {what}")));
    }
    if let Some(what) = before.says_left_out() {
        let then = if written { "; the cache is replaced" } else { "" };
        issues.insert(0, of_cache(format!("the cache: {what}{then}")));
    }
    if let Some((path, why)) = registered.not_used {
        let issue = DiscoveryIssue::new(IssueType::ClientFileUnreadable, why.message());
        issues.push(DiscoveryIssue { path: Some(path.display().to_string()), ..issue });
    }
    issues.extend(changed_sources);
    Ok(RegistrySyncReport {
        schema: RegistrySyncReport::SCHEMA,
        target: context.target(),
        cache_path: context.absolute(DISCOVERED),
        made_at,
        dry_run,
        written,
        added: difference.added,
        changed: difference.changed,
        removed: difference.removed,
        unchanged_count: difference.unchanged,
        entry_count,
        issues,
    })
}

/// Returns whether an issue is about a file whose entries are missing.
pub(crate) fn is_of_unread(issue: &DiscoveryIssue) -> bool {
    matches!(issue.code, IssueType::ClientFileInvalid | IssueType::ClientFileUnreadable)
}

/// Keeps the old entries of files that cannot be read now, and adds a note.
fn keep_unread(
    before: &RememberedEntries,
    entries: &mut Vec<DiscoveredEntry>,
    issues: &mut Vec<DiscoveryIssue>,
) {
    let unread: Vec<String> =
        issues.iter().filter(|issue| is_of_unread(issue)).filter_map(|issue| issue.path.clone()).collect();
    let is_of = |folder: &str, path: &str| {
        path.strip_prefix(folder).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    };
    let kept = before.keep(|path| unread.iter().any(|folder| is_of(folder, path)), entries, issues);
    for issue in issues.iter_mut().filter(|issue| is_of_unread(issue)) {
        if issue.path.as_deref().is_some_and(|folder| kept.iter().any(|path| is_of(folder, path))) {
            issue.message.push_str("; what it said before is kept");
        }
    }
}

fn look(context: &WorkspaceContext, request: &DiscoverRequest) -> Result<Discovery, Failure> {
    let catalog = load::catalog(context)?;
    let harnesses = match &request.harnesses {
        Some(harnesses) => Some(harnesses.clone()),
        None => catalog.chosen_harnesses()?.map(<[String]>::to_vec),
    };
    let request = DiscoverRequest { harnesses, ..request.clone() };
    let mut found = crate::look_at_machine(
        &Machine::new(&*context.fs, &context.environment, load::masks_of(context)),
        &request,
    );
    leave_out_clawdbot(catalog.registry_settings(), &mut found.entries);
    note_registered(&catalog, &load::runtimes(context)?, &mut found.entries);
    Ok(found)
}

/// Leaves out the skills and servers of Clawdbot that the settings of a tools registry do not inherit.
fn leave_out_clawdbot(settings: RegistrySettings, entries: &mut Vec<DiscoveredEntry>) {
    let is_left_out = |source: EntrySource| match source {
        EntrySource::Skill => settings.inherit_skills == Some(false),
        EntrySource::Mcp => settings.inherit_servers == Some(false),
        EntrySource::Harness => false,
    };
    for entry in entries.iter_mut().filter(|entry| is_left_out(entry.source)) {
        entry.origins.retain(|origin| !CLAWDBOT.contains(&&*origin.harness));
    }
    entries.retain(|entry| !entry.origins.is_empty());
}

fn source_issue(change: &SourceChange<'_>, masks: &Masks) -> DiscoveryIssue {
    let code = match change.differences {
        Some(_) => IssueType::RegisteredSourceChanged,
        None => IssueType::RegisteredSourceGone,
    };
    DiscoveryIssue {
        path: change.path.clone(),
        line: change.line,
        entry_id: change.reference.rsplit_once('@').map(|(id, _)| id.to_owned()),
        refs: vec![change.reference.to_owned()],
        ..DiscoveryIssue::new(code, masks.shown(&change.message()))
    }
}

/// Records which catalog tools were made from the entries, and which runtimes start the same servers.
fn note_registered(catalog: &Catalog, runtimes: &Runtimes, entries: &mut [DiscoveredEntry]) {
    let of_tool = |tool: &Tool| {
        let source = tool.source.as_ref()?;
        let reference = source.reference.clone()?;
        // The same name in another workspace is another entry.
        let only = may_be_elsewhere(tool, &reference).then(|| source.fingerprint.clone()).flatten();
        Some((reference, (tool.id.as_str().to_owned(), only)))
    };
    let registered: HashMap<String, (String, Option<String>)> =
        catalog.tools().iter().filter_map(of_tool).collect();
    let commands: Vec<(Vec<String>, &str)> = runtimes
        .runtimes()
        .iter()
        .filter_map(|runtime| {
            Some((Argv::parse(&runtime.command).ok()?.words().to_vec(), runtime.id.as_str()))
        })
        .collect();
    if registered.is_empty() && commands.is_empty() {
        return;
    }
    for entry in entries.iter_mut().filter(|entry| entry.registered_as.is_none()) {
        let references = entry.origins.iter().map(|origin| &origin.reference);
        let of_tool = references.chain([&entry.id]).find_map(|reference| {
            let (id, only) = registered.get(reference)?;
            let is_it = only.as_ref().is_none_or(|only| entry.fingerprint.to_hex() == *only);
            is_it.then(|| id.clone())
        });
        let of_runtime = || {
            let starts = commands.iter().find(|(words, _)| shows_words(&entry.command, words));
            starts.map(|(_, id)| (*id).to_owned())
        };
        entry.registered_as = of_tool.or_else(of_runtime);
    }
}

/// Returns the labels of all harnesses whose files can be read.
pub fn harness_labels() -> impl Iterator<Item = &'static str> {
    harnesses().iter().map(|harness| harness.label())
}

fn unknown_harness(name: &str) -> Failure {
    let error = Failure::new(ErrorKind::Usage, format!("no harness `{}` is known", escape_terminal(name)));
    let error = error.coded(ErrorCode::HarnessMissing);
    match closest(name, harness_labels()) {
        Some(near) => error.hint(format!("did you mean `{near}`?")),
        None => error.hint(format!("known are {}", harness_labels().collect::<Vec<_>>().join(", "))),
    }
}

#[cfg(test)]
mod tests;
