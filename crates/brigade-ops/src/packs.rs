//! Tool packs: the portable part of a catalog, in a directory that another workspace can import.

pub(crate) mod files;

use std::path::Path;
use std::sync::Arc;

use crate::error::Error;
use crate::refusal::Refusal;
use crate::setup::Setup;
use crate::{
    FoundPacks, Ignore, OnExisting, OpenPack, OpenPackError, PACKS, ProjectionPlanReport, archive_pack,
    find_pack, packs as all_packs, projections, store_pack,
};
use brigade_catalog::pack::{
    CopiedSource, Entry, ImportPlan, Pack, PackConflict, PortableCatalog, SourceState, portable_entries,
    stored,
};
use brigade_core::json::to_json;
use brigade_core::text::escape_terminal;
use brigade_core::{ErrorCode, ErrorKind, Fingerprint, IdPrefix, Json, NextStep, Place, Report as _};
use brigade_fs::{DiskFs, FileMode, FsErrorKind, RelPath};
use brigade_policy::{Blocker, Failure, FailureReport};
use brigade_redact::Redactor;
use brigade_workspace::{CATALOG, WorkspaceContext, did_you_mean, gather, near_path};

use crate::report::{
    CatalogReport, PackArchiveReport, PackBuildReport, PackImportReport, PackListReport, PackShowReport,
    UnreadablePack,
};
use crate::tools::health::list as list_tools;

/// Builds, lists, archives and imports tool packs.
#[derive(Clone)]
pub struct Packs {
    context: Arc<WorkspaceContext>,
}

impl Packs {
    /// Creates the operations on a workspace.
    pub fn new(context: Arc<WorkspaceContext>) -> Packs {
        Packs { context }
    }

    /// Builds a pack of the catalog, the sources of its entries, and its health. It contains no secrets, and paths in
    /// it are relative.
    ///
    /// # Errors
    /// When the disk fails, or the catalog is not text.
    pub fn build(&self) -> Result<PackBuildReport, Error> {
        Ok(build(&self.context)?)
    }

    /// Lists the newest packs.
    ///
    /// # Errors
    /// When the disk fails.
    pub fn list(&self, limit: usize) -> Result<PackListReport, Error> {
        Ok(list(&self.context, limit)?)
    }

    /// Shows a pack, or the newest one with `latest`.
    ///
    /// # Errors
    /// When no pack or several packs have this prefix, or the disk fails.
    pub fn show(&self, id: &IdPrefix) -> Result<PackShowReport, Error> {
        Ok(show(&self.context, id)?)
    }

    /// Moves a pack to the archive.
    ///
    /// # Errors
    /// [`ErrorKind::Usage`](crate::ErrorKind::Usage) when the archive already has it; when no pack or several packs
    /// have this prefix, or the disk fails.
    pub fn archive(&self, id: &IdPrefix) -> Result<PackArchiveReport, Error> {
        Ok(archive(&self.context, id)?)
    }

    /// Adds the entries of a pack to the catalog, and their sources to the workspace. Nothing is run. If there are
    /// conflicts, nothing is written.
    ///
    /// # Errors
    /// [`Refusal::PackImport`] with all conflicts; [`ErrorKind::Usage`](crate::ErrorKind::Usage) when the directory is
    /// not a pack; when the catalog cannot be edited, or the disk fails. Also fails inside a run.
    pub fn import(&self, folder: &Path, existing: OnExisting) -> Result<PackImportReport, Error> {
        self.context.require_outside_run()?;
        let imported = import(&self.context, folder, existing);
        imported.map_err(|error| Error::not_done(&self.context, error, Refusal::PackImport))
    }
}

pub(crate) fn build(context: &WorkspaceContext) -> Result<PackBuildReport, Failure> {
    let catalog = list_tools(context)?;
    // A pack also reports an unreadable catalog.
    let projections = match projections::plan(context, None) {
        Ok(planned) => planned,
        Err(FailureReport { failure, report }) => *report.ok_or(failure)?,
    };
    let values = gather::telling_values(context);
    let (redactor, bound) = (Redactor::new(&values).for_settings(), Redactor::bound_only(&values));
    let (all, mut entry_errors) = Entry::of_catalog(CATALOG, &Setup::new(context).text_of_catalog()?);
    let (entries, missing) = portable_entries(&all, &redactor, &bound);
    entry_errors.extend(missing);
    let now = context.now();
    let (report, _) = store_pack(&*context.fs, now, |pack| -> Result<PackBuildReport, Failure> {
        let portable_catalog = PortableCatalog {
            entries: entries.iter().map(|entry| Json::Object(entry.to_object())).collect(),
            entry_errors,
            source_files: pack.add_sources(&all, &redactor)?,
        };
        let path = context.absolute(&format!("{}/{}", PACKS, pack.pack_id));
        let report = PackBuildReport {
            schema: PackBuildReport::SCHEMA,
            target: context.target(),
            pack_id: pack.pack_id.clone(),
            path,
            status: "built".into(),
            created_at: now.to_string(),
            evidence_fingerprint: evidence(&catalog, &projections),
            tool_count: catalog.tool_count,
            tools: catalog.tools,
            projection_counts: projections.counts,
            projections: projections.projections,
            parity: catalog.parity,
            policy: catalog.policy,
            runtimes: catalog.runtimes,
            call_queue: catalog.call_queue,
            run_history: catalog.run_history,
            checkpoints: catalog.checkpoints,
            issue_count: catalog.issue_count,
            issues: catalog.issues,
            portable_catalog,
        };
        let readme = format!(
            "# Tool pack {id}\n\nEntries: {}. Sources: {}. Issues: {}.\n\nTo add the entries to another workspace, \
             import this directory there with `tools pack import`.\n",
            entries.len(),
            report.portable_catalog.source_files.iter().filter(|source| source.packed).count(),
            report.issue_count,
            id = report.pack_id,
        );
        let manifest = to_json(&report).expect("a report is JSON");
        let manifest = stored(manifest, &report.target, &bound);
        pack.add_documents(&manifest, &entries, &readme)?;
        Ok(report)
    })?;
    Ok(report)
}

pub(crate) fn list(context: &WorkspaceContext, limit: usize) -> Result<PackListReport, Failure> {
    let FoundPacks { mut packs, unreadable } = all_packs(&*context.fs)?;
    packs.truncate(limit);
    let unreadable = unreadable.into_iter().map(|(pack_id, error)| UnreadablePack { pack_id, error });
    Ok(PackListReport {
        schema: PackListReport::SCHEMA,
        target: context.target(),
        pack_count: packs.len(),
        packs: packs.into_iter().map(|pack| shown(context, pack)).collect(),
        unreadable: unreadable.collect(),
    })
}

pub(crate) fn show(context: &WorkspaceContext, id: &IdPrefix) -> Result<PackShowReport, Failure> {
    let pack = shown(context, require_pack(context, id)?);
    Ok(PackShowReport { schema: PackShowReport::SCHEMA, target: context.target(), pack })
}

pub(crate) fn archive(context: &WorkspaceContext, id: &IdPrefix) -> Result<PackArchiveReport, Failure> {
    let pack = require_pack(context, id)?;
    let archived = archive_pack(&*context.fs, &pack.pack_id).map_err(|error| match error.kind {
        FsErrorKind::Exists => {
            let message = format!("`{}` is already in the archive", error.path);
            Failure::new(ErrorKind::Usage, message).coded(ErrorCode::FileExists)
        }
        _ => error.into(),
    })?;
    Ok(PackArchiveReport {
        schema: PackArchiveReport::SCHEMA,
        target: context.target(),
        pack_id: pack.pack_id,
        status: "archived".into(),
        archive_path: context.absolute(archived.as_str()),
    })
}

pub(crate) fn import(
    context: &WorkspaceContext,
    folder: &Path,
    existing: OnExisting,
) -> Result<PackImportReport, FailureReport<Box<PackImportReport>>> {
    let pack = open(context, folder)?;
    let setup = Setup::new(context);
    setup.check_place(CATALOG)?;
    let ignored = setup.ignore_change(Ignore::Write)?;
    let _lock = setup.lock_catalog()?;
    let before = setup.text_of_catalog()?;
    let (current, errors) = Entry::of_catalog(CATALOG, &before);
    let (packed, redactor) = (&pack.manifest().portable_catalog.entries, Redactor::new(&[]).for_settings());
    let plan =
        ImportPlan::new(packed, &current, existing, &redactor, |place| pack.compare(place, &*context.fs));
    let mut report = PackImportReport {
        schema: PackImportReport::SCHEMA,
        target: context.target(),
        pack: pack_path(context, folder),
        pack_id: redactor.redact_str(&pack.manifest().pack_id),
        valid: false,
        imported_count: 0,
        imported: Vec::new(),
        copied_sources: Vec::new(),
        skipped_existing: Vec::new(),
        skipped_existing_count: 0,
        conflicts: plan.conflicts.clone(),
        gitignore: "skipped".to_owned(),
        next_command: context.spelled(NextStep::ListContracts),
    };
    if !pack.entry_errors().is_empty() {
        let (reason, errors) = ("entries of the pack have errors".to_owned(), pack.entry_errors().to_vec());
        report.conflicts.push(PackConflict { reason, errors, ..PackConflict::default() });
    }
    if !errors.is_empty() {
        let reason = "the catalog has errors".to_owned();
        report.conflicts.push(PackConflict { reason, errors, ..PackConflict::default() });
    }
    if !report.conflicts.is_empty() {
        let failure = Failure::new(ErrorKind::Refused, "nothing was imported");
        return Err(FailureReport::refused(
            failure.because(report.conflicts.iter().flat_map(reasons)),
            Box::new(report),
        ));
    }
    let (text, done) = plan
        .apply(&before)
        .map_err(|error| Failure::new(ErrorKind::InvalidConfig, format!("{CATALOG}: {error}")))?;
    // Sources are written first, so that no entry names a missing source.
    for place in plan.imports.iter().filter_map(|import| import.source.as_deref()) {
        if pack.compare(place, &*context.fs) != SourceState::Same {
            setup.create_folder(&RelPath::composed(place).parent())?;
            context.fs.write_atomic(
                &RelPath::composed(place),
                &pack.source(place),
                FileMode::KeepOr(0o644),
            )?;
        }
    }
    if text != before {
        setup.write_config(CATALOG, &text)?;
    }
    report.gitignore = setup.write_ignore(ignored)?;
    let copied = done.copied_sources.into_iter();
    let absolute = |path: String| context.absolute(&path);
    report.copied_sources =
        copied.map(|copy| CopiedSource { target_path: absolute(copy.target_path), ..copy }).collect();
    (report.imported_count, report.skipped_existing_count) =
        (done.imported.len(), done.skipped_existing.len());
    (report.imported, report.skipped_existing) = (done.imported, done.skipped_existing);
    report.valid = true;
    Ok(report)
}

/// Returns the text of a conflict, and the errors that cause it.
fn reasons(conflict: &PackConflict) -> Vec<Blocker> {
    let of_tool = Blocker {
        field: conflict.tool_id.clone(),
        ..Blocker::new(ErrorCode::PackConflict, &conflict.reason)
            .at(conflict.source_path.clone().map(Place::file))
    };
    let errors = conflict.errors.iter().map(|error| Blocker::new(ErrorCode::ConfigInvalid, error));
    std::iter::once(of_tool).chain(errors).collect()
}

fn shown(context: &WorkspaceContext, pack: Pack) -> Pack {
    Pack { path: pack.path.as_deref().map(|path| context.absolute(path)), ..pack }
}

fn require_pack(context: &WorkspaceContext, id: &IdPrefix) -> Result<Pack, Failure> {
    find_pack(&*context.fs, id)
}

/// Opens a pack in any directory of the disk, or of the file system that replaces it.
fn open(context: &WorkspaceContext, folder: &Path) -> Result<OpenPack, Failure> {
    let failed = |why: OpenPackError, near: Option<String>| match why {
        OpenPackError::NotAPack(why) => {
            let message = format!("not a tool pack: `{}`: {why}", pack_path(context, folder));
            let hint = near.map_or_else(
                || "name a directory with tool-pack.json".to_owned(),
                |near| did_you_mean(&near),
            );
            Failure::new(ErrorKind::Usage, message).coded(ErrorCode::PackInvalid).hint(hint)
        }
        OpenPackError::Disk(error) => error.into(),
    };
    if let Some(files) = &context.files {
        let inside = folder.strip_prefix(files.root()).unwrap_or(folder);
        let inside = RelPath::try_from(inside).map_err(|error| failed(error.to_string().into(), None))?;
        return OpenPack::open(files.clone(), inside).map_err(|why| failed(why, None));
    }
    let path = context.typed_path(folder);
    let disk = DiskFs::open(&path)
        .map_err(|error| failed(OpenPackError::from_disk(error), near_path(folder, &path)));
    OpenPack::open(Arc::new(disk?), RelPath::root()).map_err(|why| failed(why, None))
}

fn pack_path(context: &WorkspaceContext, folder: &Path) -> String {
    escape_terminal(&context.environment.expand(folder).display().to_string()).into_owned()
}

/// Returns the fingerprint of the workspace state in a pack. It changes if a new pack would differ.
fn evidence(catalog: &CatalogReport, projections: &ProjectionPlanReport) -> String {
    let json = |value: Result<Json, _>| value.expect("a report is JSON");
    let sources = catalog.tools.iter().map(|tool| (tool.id, Json::from(tool.source_fingerprint.flatten())));
    let issues: Vec<Json> = catalog.issues.iter().map(|issue| json(to_json(&issue))).collect();
    let parity = &catalog.parity;
    let closeout = parity.latest_closeout.as_ref().map(|closeout| closeout.closeout_id.clone());
    Fingerprint::builder("brigade.pack-evidence.v1")
        .json("sources", &Json::object(sources))
        .json("projections", &json(to_json(&projections.counts)))
        .json("issues", &Json::from(issues))
        .json("calls", &json(to_json(&catalog.call_queue.counts)))
        .json("runs", &json(to_json(&catalog.run_history.counts)))
        .json("checkpoints", &json(to_json(&catalog.checkpoints.counts)))
        .json("closeout", &Json::from(closeout))
        .json("quieted", &Json::from(parity.quieted_issue_count))
        .json("changed", &Json::from(parity.changed_issue_count))
        .finish()
        .to_hex()
}

#[cfg(test)]
mod tests;
