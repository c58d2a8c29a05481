//! Reads the sources and targets of projections, each once.

use std::collections::HashMap;
use std::sync::OnceLock;

use brigade_catalog::{Level, Tool};
use brigade_core::parallel::in_parallel;
use brigade_fs::RelPath;
use brigade_projection::{
    Depth, Overwrite, PathRefusal, ProjectionAction, ProjectionItem, ProjectionReason, ProjectionStatus,
    SourceFacts, ToolFacts, input_among, plan_tool,
};

use crate::config::Config;
use crate::files::ToolReader;
use crate::host::Host;
use crate::places::{Places, ResolvedPath};

/// The sources of some tools, each read on first use.
pub struct Sources<'c> {
    host: Host<'c>,
    outside: Vec<String>,
    known: HashMap<&'c str, OnceLock<SourceFacts>>,
    /// The sources of user entries, whose paths have another base directory.
    of_user: HashMap<&'c str, OnceLock<SourceFacts>>,
}

impl<'c> Sources<'c> {
    /// Creates a reader with nothing read.
    pub fn new(host: Host<'c>, config: &Config, tools: &[&'c Tool]) -> Sources<'c> {
        let paths = |is_of_project| {
            let tools =
                tools.iter().filter(move |tool| (tool.origin.level == Level::Project) == is_of_project);
            let paths = tools.filter_map(|tool| tool.source_path.as_deref());
            paths.map(|path| (path, OnceLock::new())).collect()
        };
        Sources { host, outside: config.outside(), known: paths(true), of_user: paths(false) }
    }

    fn of_tool(&self, tool: &Tool) -> &SourceFacts {
        const NONE: &SourceFacts = &SourceFacts::NotConfigured;
        let known = if tool.origin.level == Level::Project { &self.known } else { &self.of_user };
        let Some(source) = tool.source_path.as_deref().and_then(|path| known.get(path)) else {
            return NONE;
        };
        source.get_or_init(|| {
            let reader = ToolReader { host: self.host, tool, outside: &self.outside };
            reader.source().into_source()
        })
    }
}

impl Sources<'_> {
    /// Reads the source and the targets of a tool.
    pub fn facts<'t>(&self, tool: &'t Tool, places: &Places<'_>) -> ToolFacts<'t> {
        let look = |path: &str| places.look(path);
        let facts = ToolFacts::gather(&self.host.root(), tool, self.of_tool(tool), look);
        let reader = ToolReader { host: self.host, tool, outside: &self.outside };
        facts.leading_out(leading_out(&reader, places))
    }
}

/// Finds the first field other than the source whose path leads out of the workspace to a place that is not allowed.
fn leading_out(reader: &ToolReader<'_>, places: &Places<'_>) -> Option<&'static str> {
    let tool = reader.tool;
    let fields = [
        ("cwd", &tool.cwd),
        ("manifest_path", &tool.manifest_path),
        ("schema_path", &tool.schema_path),
        ("input_schema_path", &tool.input_schema_path),
        ("output_schema_path", &tool.output_schema_path),
        ("examples_path", &tool.examples_path),
        ("health_path", &tool.health_path),
        ("runtime_health_path", &tool.runtime_health_path),
    ];
    let leads_out = |path: &str| match path.parse::<RelPath>() {
        // Fast path for most files, which share a few directories.
        Ok(plain) if !path.starts_with('~') => {
            matches!(places.spot(&plain), ResolvedPath::Refused(PathRefusal::SymlinkOut))
                && reader.leads_out(Some(path))
        }
        _ => reader.leads_out(Some(path)),
    };
    let is_out = |path: &Option<String>| path.as_deref().is_some_and(leads_out);
    fields.into_iter().find(|(_, path)| is_out(path)).map(|(field, _)| field)
}

/// Plans the projections of tools and converts each, keeping the order. Writes nothing.
pub fn plan_projections<T: Send>(
    host: Host<'_>,
    config: &Config,
    tools: &[&Tool],
    places: &Places<'_>,
    depth: Depth,
    convert: impl Fn(ProjectionItem) -> T + Sync,
) -> Vec<T> {
    let sources = Sources::new(host, config, tools);
    let planned = in_parallel(tools.len(), |index| {
        let facts = sources.facts(tools[index], places);
        let items = plan_tool(&facts, &config.claims, Overwrite::Never, depth);
        let settle = |mut item| {
            refuse_shared(&mut item, places, config);
            convert(item)
        };
        items.into_iter().map(settle).collect::<Vec<T>>()
    });
    planned.into_iter().flatten().collect()
}

/// Refuses a projection whose links lead to a file that another tool projects to, or that a tool reads or runs.
pub fn refuse_shared(item: &mut ProjectionItem, places: &Places<'_>, config: &Config) {
    let Some(real) = item.projection_path.as_deref().and_then(|path| places.moved(path)) else { return };
    if let Some(input) = input_among(places.root(), config.catalog.tools(), real.as_str()) {
        item.status = ProjectionStatus::Invalid;
        item.action = ProjectionAction::Skip;
        item.reason = Some(ProjectionReason::IsInput);
        item.detail = format!("through a link this is `{real}`, which {input}").into();
        return;
    }
    let Some(holder) = config.claims.holder(real.as_str()).filter(|holder| *holder != item.tool_id.as_str())
    else {
        return;
    };
    item.status = ProjectionStatus::Invalid;
    item.action = ProjectionAction::Skip;
    item.reason = Some(ProjectionReason::PathTaken);
    item.detail = format!("through a link this is `{real}`, which belongs to the tool {holder}").into();
}
