//! Registers entries of tools registries: those that are read in place, and servers of registries of tools.

use std::path::Path;

use brigade_catalog::Level;
use brigade_catalog::register::Registrations;
use brigade_core::ErrorCode;
use brigade_core::text::escape_terminal;
use brigade_fs::RelPath;
use brigade_policy::Failure;
use brigade_workspace::{WorkspaceContext, load};

use super::{LIMIT, REGISTRY, Source, SourceFindings, container, refusal, row};
use crate::report::RegisterErrorRow;
use crate::tools::registries::find_server;

impl SourceFindings {
    /// Reads the entry of a tools registry that `registry:ID` names.
    pub(super) fn read_entry(
        &mut self,
        context: &WorkspaceContext,
        name: &str,
        level: Level,
    ) -> Result<(), Failure> {
        let source = Source::Reference(escape_terminal(name).into_owned());
        let id = name.trim_start_matches(REGISTRY);
        let catalog = load::catalog(context)?;
        let hidden = catalog.shadowed().iter().map(|hidden| &hidden.tool);
        let mut entries = catalog.tools().iter().chain(hidden);
        let entry = entries.find(|tool| tool.id == id && tool.origin.level.is_registry());
        let Some(entry) = entry else {
            self.read_server(context, id, &source, level);
            return Ok(());
        };
        let file = entry.origin.place.file.as_str();
        let bytes = match file.parse::<RelPath>() {
            Ok(path) if entry.origin.level == Level::ProjectRegistry => context.fs.read(&path, LIMIT)?,
            _ => context.fs.read_outside(Path::new(file), LIMIT)?,
        };
        let mut read = Registrations::read(file, &bytes, level, None);
        let is_its =
            |field: &str| field == id || field.strip_prefix(id).is_some_and(|rest| rest.starts_with('.'));
        read.tools.retain(|found| found.tool.id == id);
        read.notes.retain(|note| is_its(&note.field));
        read.errors.retain(|error| error.field.as_deref().is_none_or(is_its));
        read.harness_tools = None;
        self.take(read, &source, |error| row(error, Some(file)));
        Ok(())
    }

    /// Reads the server of a registry of tools. Its entry names the version and the digest that were seen.
    fn read_server(&mut self, context: &WorkspaceContext, name: &str, source: &Source, level: Level) {
        let (_, reference) = source.names();
        let found = match find_server(context, name, false) {
            Ok(found) => found,
            Err(error) => {
                let message = error.failure().with_hints(&context.speller());
                let refused = refusal(ErrorCode::RefUnknown, name.to_owned(), &message);
                self.errors.push(RegisterErrorRow {
                    code: error.failure().code_word().to_owned(),
                    reference,
                    ..refused
                });
                return;
            }
        };
        let text = found.manifest.to_compact();
        let mut read = Registrations::read("server.json", text.as_bytes(), level, container(context));
        for tool in read.tools.iter_mut().map(|registration| &mut registration.tool) {
            let source = tool.source.get_or_insert_default();
            source.reference = Some(found.reference());
            source.fingerprint = Some(found.digest.clone());
        }
        self.take(read, source, |error| RegisterErrorRow {
            reference: reference.clone(),
            ..row(error, None)
        });
    }
}
