//! The current input of a service: PRD, settings, workers and policy.

use std::path::PathBuf;

use brigade_core::{ErrorCode, ErrorKind, Fingerprint};
use brigade_fs::RelPath;
use brigade_kitchen::approval::MissingProgramReason;
use brigade_kitchen::config::{Flags, Settings};
use brigade_kitchen::life::{Life, RunSet, is_reviewed, tiers_ahead};
use brigade_kitchen::prd::{Lints, ValidPrd};
use brigade_kitchen::prompt::role_file;
use brigade_kitchen::{PrdName, Tier, route};
use brigade_policy::{Failure, KitchenGrants, PolicyState};
use brigade_redact::SecretValue;

use crate::approve::crew_refusal;
use crate::attempt::TierWorker;
use crate::gather::{KITCHEN_TOML, PrdSearch, SHELL_CONFIGS};
use crate::kitchen::Kitchen;
use crate::named_files::BoundFiles;
use crate::service::MissingProgram;

/// The input of a service, read again between tasks when files change.
pub(crate) struct ServedPrd {
    pub(crate) path: RelPath,
    pub(crate) name: PrdName,
    pub(crate) prd: ValidPrd,
    /// The settings of the files and the PRD, without flags.
    pub(crate) settings: Settings,
    /// Settings that have no effect as written.
    pub(crate) warnings: Vec<String>,
    /// What a person should know before the start.
    pub(crate) notes: Vec<String>,
    pub(crate) policy: PolicyState,
    pub(crate) grants: KitchenGrants,
    pub(crate) fingerprint: Fingerprint,
    /// The items that the fingerprint covers.
    pub(crate) items: std::collections::BTreeMap<String, String>,
    workers: Vec<(Tier, Option<TierWorker>)>,
    why_missing: Vec<(Tier, MissingProgramReason)>,
    role_texts: Vec<(&'static str, String)>,
    /// The approved bytes of files that commands name.
    pub(crate) files: BoundFiles,
    workspace: PathBuf,
    /// Values that must not be shown.
    pub(crate) secrets: Vec<SecretValue>,
    /// The metadata of its files when they were read.
    pub(crate) stamps: FileStamps,
    /// The fingerprint of the PRD file.
    pub(crate) bytes: Fingerprint,
}

impl ServedPrd {
    pub(crate) fn read(kitchen: &Kitchen<'_>, path: &RelPath) -> Result<ServedPrd, Failure> {
        let stamps = FileStamps::read(kitchen, path);
        let configuration = kitchen.configuration()?;
        let file = kitchen.prd(&PrdSearch::At(path.clone()), Lints::NONE)?;
        let (path, name, bytes) = (file.path.clone(), file.name.clone(), file.reading.bytes);
        let prd = file.valid()?;
        let crew = kitchen.crew(&configuration, Some(&prd));
        let refused = || crew_refusal(&crew);
        let ready = crew.ready().ok_or_else(refused)?;
        let execution = ready.execution(&prd);
        let (fingerprint, items) = (execution.fingerprint(), execution.items());
        let grants = crew.grants.clone().ok_or_else(refused)?;
        let workspace = kitchen.fs.root().to_owned();
        let workers = Tier::ALL.iter().map(|tier| (*tier, crew.tier_worker(*tier, &workspace))).collect();
        drop(ready);
        let missing = crew.workers.iter().filter_map(|worker| Some((worker.tier, worker.missing?)));
        let why_missing = missing.collect();
        let notes = crew.sandbox_note().into_iter().collect();
        Ok(ServedPrd {
            secrets: kitchen.secrets(&configuration),
            path,
            name,
            settings: crew.settings,
            warnings: configuration.warnings(),
            notes,
            policy: configuration.policy,
            grants,
            fingerprint,
            items,
            workers,
            why_missing,
            role_texts: crew.role_texts,
            files: crew.files,
            workspace,
            prd,
            stamps,
            bytes,
        })
    }

    /// Returns the settings with the flags of the command, and the concurrency that the policy allows.
    pub(crate) fn settings_with(&self, flags: &Flags) -> Settings {
        self.settings.with_flags(flags).within(self.grants.max_parallel)
    }

    /// Returns the worker of a tier; `None` if its program is missing.
    pub(crate) fn worker(&self, tier: Tier) -> Option<&TierWorker> {
        self.workers.iter().find(|(of, _)| *of == tier).and_then(|(_, worker)| worker.as_ref())
    }

    pub(crate) fn role_text(&self, tier: Tier) -> Option<&str> {
        let file = role_file(tier);
        self.role_texts.iter().find(|(name, _)| *name == file).map(|(_, text)| text.as_str())
    }

    /// Returns the files that workers must not write in place: the PRD and its state.
    pub(crate) fn closed(&self) -> Vec<PathBuf> {
        let state = self.path.parent().join(&self.name.state_file());
        let paths = [Some(self.path.clone()), state.ok()];
        paths.into_iter().flatten().map(|path| self.workspace.join(path.as_path())).collect()
    }
}

/// Metadata of files, to notice changes without reading them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct FileStamps {
    configuration: Vec<Option<(u64, i64)>>,
    prd: Option<(u64, i64)>,
}

impl FileStamps {
    /// Reads the metadata. `prd` is the path of the PRD.
    pub(crate) fn read(kitchen: &Kitchen<'_>, prd: &RelPath) -> FileStamps {
        let role_files: Vec<String> =
            Tier::ALL.iter().map(|tier| format!("brigade/chef/{}", role_file(*tier))).collect();
        let named = [SHELL_CONFIGS[0], SHELL_CONFIGS[1], KITCHEN_TOML, ".brigade/tools/policy.toml"];
        let paths = named.into_iter().chain(role_files.iter().map(String::as_str)).map(RelPath::composed);
        let configuration = paths.map(|path| stamp(kitchen, &path)).collect();
        FileStamps { configuration, prd: stamp(kitchen, prd) }
    }

    /// Updates the metadata of the PRD after Brigade wrote it.
    pub(crate) fn of_prd(&mut self, kitchen: &Kitchen<'_>, prd: &RelPath) {
        self.prd = stamp(kitchen, prd);
    }
}

fn stamp(kitchen: &Kitchen<'_>, path: &RelPath) -> Option<(u64, i64)> {
    let found = kitchen.fs.metadata(path).ok()?;
    Some((found.len, found.modified.unix_micros()))
}

impl ServedPrd {
    /// Refuses to merge or push if the policy does not allow it.
    pub(crate) fn refuse_delivery(&self, settings: &Settings) -> Result<(), Failure> {
        let requested =
            [("merge", settings.merge, self.grants.merge), ("push", settings.push, self.grants.push)];
        match requested.into_iter().find(|(_, requested, allowed)| *requested && !allowed) {
            None => Ok(()),
            Some((what, ..)) => {
                let message = format!("`--{what}` was asked for, and the policy does not allow it");
                let failure = Failure::new(ErrorKind::Refused, message).coded(ErrorCode::KitchenRefused);
                Err(if what == "push" { failure.hint(KitchenGrants::PUSH_NEEDS) } else { failure })
            }
        }
    }

    /// Lists the missing programs of all tiers that the selected tasks may reach.
    pub(crate) fn missing(&self, set: &RunSet, life: &Life, settings: &Settings) -> Vec<MissingProgram> {
        let open =
            self.prd.tasks.iter().enumerate().filter(|(at, task)| set.has(*at) && !life.is_done(&task.id));
        let mut needed: Vec<Tier> = Vec::new();
        for (_, task) in open {
            let own = life.tasks.get(&task.id).and_then(|own| own.tier);
            let tier = own.unwrap_or_else(|| route(task).tier);
            needed.extend(tiers_ahead(tier, settings));
            needed.extend(is_reviewed(tier, settings).then_some(Tier::Executive));
        }
        let asks_executive = settings.walkaway_mode || settings.phase_review_enabled;
        if asks_executive && !needed.is_empty() {
            needed.push(Tier::Executive);
        }
        needed.sort();
        needed.dedup();
        needed.retain(|tier| self.worker(*tier).is_none());
        let named = |tier: Tier| {
            let program = settings.command(tier).argv().program().to_owned();
            let why = self.why_missing.iter().find(|(of, _)| *of == tier);
            MissingProgram { tier, program, why: why.map_or(MissingProgramReason::NotFound, |(_, why)| *why) }
        };
        needed.into_iter().map(named).collect()
    }
}
