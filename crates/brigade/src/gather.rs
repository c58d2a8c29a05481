//! Reading the facts that a plan is made of: one tool's files, and no other's.

use std::path::PathBuf;

use brigade_call::{
    ArgsProblem, DirectoryFact, FileFact, Plan, PlanFacts, ProgramFact, ProjectionFacts, SchemaFact,
};
use brigade_catalog::{Catalog, Tool};
use brigade_core::{ConfigIssue, Hint, Json, NextStep, Severity};
use brigade_exec::OpenedProgram;
use brigade_policy::{Blocker, CallFacts, PolicyState, decide};
use brigade_projection::{
    Claims, Depth, Overwrite, ProjectionItem, SourceFacts, ToolFacts, blocking, plan_tool, summarise,
};
use brigade_redact::SecretValue;

use crate::error::Error;
use crate::files::ToolReader;
use crate::named::{NamedFiles, named_files};
use crate::policy_json::decision_json;
use crate::projections::Places;
use crate::room::Room;

/// A plan, and what was opened for it.
pub(crate) struct Planned {
    pub(crate) plan: Plan,
    pub(crate) projections: Vec<ProjectionItem>,
    /// The program, when the family is executed and it was found.
    pub(crate) program: Option<OpenedProgram>,
    /// The folder that the program starts in.
    pub(crate) directory: PathBuf,
}

/// The facts of a tool without arguments, and what was opened for them.
pub(crate) struct GatheredTool<'c> {
    pub(crate) facts: PlanFacts<'c>,
    projections: Vec<ProjectionItem>,
    program: Option<OpenedProgram>,
    directory: PathBuf,
}

/// The configuration that plans are made with, read once for any number of them.
pub(crate) struct Config {
    pub(crate) catalog: Catalog,
    pub(crate) policy: PolicyState,
    pub(crate) claims: Claims,
}

impl Room {
    /// Reads catalog and policy.
    pub(crate) fn config(&self) -> Result<Config, Error> {
        let catalog = self.catalog()?;
        let policy = self.policy()?;
        let claims = Claims::of(&self.target(), catalog.tools());
        Ok(Config { catalog, policy, claims })
    }

    /// Plans a call of a tool with arguments.
    pub(crate) fn plan_tool(
        &self,
        config: &Config,
        tool: &Tool,
        args: Result<Json, ArgsProblem>,
    ) -> Result<Planned, Error> {
        let GatheredTool { facts, projections, program, directory } = self.gather_tool(config, tool)?;
        let plan = brigade_call::plan(PlanFacts { args, ..facts }).spelled(&*self.env.speller);
        tracing::debug!(
            tool = plan.tool_id(),
            directory = %directory.display(),
            program = plan.binding().program.as_ref().map(|program| program.path.as_str()),
            files = plan.binding().files.len(),
            blockers = plan.blockers().len(),
            "planned a call"
        );
        Ok(Planned { plan, projections, program, directory })
    }

    /// Reads the facts of plans of a tool, whatever their arguments, which are still to come.
    pub(crate) fn gather_tool<'c>(
        &self,
        config: &'c Config,
        tool: &'c Tool,
    ) -> Result<GatheredTool<'c>, Error> {
        let is_set = |name: &str| self.env.environment.is_set(name);
        let mut decision = decide(&config.policy, &CallFacts::of(tool), &is_set);
        let policy = decision_json(&config.policy, &decision, tool);
        let bound_values = self.bound_values(&config.policy);
        let reader = ToolReader { workspace: self, tool, outside: &decision.outside_paths };
        let (directory, directory_fact) = reader.directory();
        let (program, program_fact, files) =
            if tool.is_executable() && directory_fact == DirectoryFact::Present {
                let (program, fact) = reader.program(&directory);
                (program, fact, named_files(&reader, &directory)?)
            } else if tool.is_executable() {
                (None, ProgramFact::NotFound, NamedFiles::default())
            } else {
                (None, ProgramFact::NotExecuted, NamedFiles::default())
            };
        let (pin, untrusted) = self.pin_store().fact(&config.catalog, tool)?;
        decision.blockers.extend(untrusted);
        decision.blockers.extend(files.blockers(tool));
        let source = reader.source();
        let source_fact = source.fact();
        let input_schema = reader.schema(tool.input_schema_path.as_deref());
        let output_schema = reader.document(tool.output_schema_path.as_deref()).fact();
        let examples = reader.document(tool.examples_path.as_deref()).fact();
        let others = other_paths_outside(&reader);
        let leads_out = [
            ("cwd", directory_fact == DirectoryFact::Outside),
            ("input_schema_path", matches!(input_schema, SchemaFact::File(FileFact::Outside))),
            ("output_schema_path", output_schema == FileFact::Outside),
            ("examples_path", examples == FileFact::Outside),
        ];
        let leads_out = leads_out.into_iter().find(|(_, leads_out)| *leads_out).map(|(field, _)| field);
        let outside = leads_out.or_else(|| others.first().copied());
        let source = source.into_source();
        let projections = self.project(&self.places(), tool, outside, &config.claims, source, Depth::Status);
        let facts = PlanFacts {
            tool,
            entry_errors: errors_of(&config.catalog, tool),
            args: Ok(Json::Null),
            input_schema,
            output_schema,
            examples,
            source: source_fact,
            directory: directory_fact,
            real_directory: reader.real_directory(),
            outside: others.into_iter().map(str::to_owned).collect(),
            program: program_fact,
            files: files.files,
            projections: projection_facts(&projections),
            decision,
            policy,
            bound_values,
            pin,
            caller: self.env.caller.clone(),
        };
        Ok(GatheredTool { facts, projections, program, directory })
    }

    /// Returns the values that the policy binds labels of any tool to, which no argument and no text of a person may carry.
    pub(crate) fn bound_values(&self, policy: &PolicyState) -> Vec<SecretValue> {
        let bindings = policy.policy().map(|policy| &policy.env_bindings).into_iter().flatten();
        let values = bindings.filter_map(|(_, variable)| self.env.environment.get(variable.value.as_str()));
        values.map(|value| SecretValue::new(value.as_encoded_bytes())).collect()
    }

    /// Returns the values that are neither stored nor shown, as the policy binds them now.
    pub(crate) fn secrets(&self) -> Result<Vec<SecretValue>, Error> {
        Ok(self.bound_values(&self.policy()?))
    }

    /// Looks how the projections of a tool stand; `outside` is a field of its entry whose path leads out of the workspace.
    pub(crate) fn project(
        &self,
        places: &Places<'_>,
        tool: &Tool,
        outside: Option<&'static str>,
        claims: &Claims,
        source: SourceFacts,
        depth: Depth,
    ) -> Vec<ProjectionItem> {
        let facts = ToolFacts::gather(&self.target(), tool, &source, |path| places.look(path));
        plan_tool(&facts.leading_out(outside), claims, Overwrite::Never, depth)
    }
}

/// Returns the errors that make a tool unusable.
pub(crate) fn errors_of<'c>(catalog: &'c Catalog, tool: &Tool) -> Vec<&'c ConfigIssue> {
    if !tool.is_broken {
        return Vec::new();
    }
    let concerns = |issue: &&ConfigIssue| {
        // An issue of an entry without an id names a field and no entry, and is none of the file.
        let is_its = issue.entry.as_deref().map_or(issue.field.is_none(), |entry| tool.id == entry);
        issue.severity == Severity::Error && is_its
    };
    catalog.issues().iter().filter(concerns).collect()
}

/// Lists the fields whose paths lead out, of those that a plan does not read.
pub(crate) fn other_paths_outside(reader: &ToolReader<'_>) -> Vec<&'static str> {
    let fields = [
        ("manifest_path", &reader.tool.manifest_path),
        ("schema_path", &reader.tool.schema_path),
        ("health_path", &reader.tool.health_path),
        ("runtime_health_path", &reader.tool.runtime_health_path),
    ];
    let outside = fields.into_iter().filter(|(_, path)| reader.leads_out(path.as_deref()));
    outside.map(|(field, _)| field).collect()
}

/// Returns what a plan needs to know of projections.
pub(crate) fn projection_facts(items: &[ProjectionItem]) -> ProjectionFacts {
    let summary = summarise(items);
    let blockers = blocking(items).into_iter().map(|item| {
        let path = item.projection_path.as_deref().unwrap_or_default();
        let message = format!(
            "projection for {} is {}: `{}`",
            brigade_core::text::escape_terminal(&item.harness),
            item.status.as_str(),
            brigade_core::text::escape_terminal(path)
        );
        Blocker::new("projection", message)
            .field(format!("projections.{}", item.harness))
            .hint(Hint::from(NextStep::ApplyForced(item.tool_id.to_string())).then(" replaces it"))
    });
    ProjectionFacts {
        blockers: blockers.collect(),
        summary: summary.to_json(str::to_owned),
        fingerprint: summary.fingerprint,
    }
}
