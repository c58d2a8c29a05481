//! Diagnoses many tools while their files are read.

use brigade_catalog::{Runtimes, Tool};
use brigade_doctor::{PolicyFacts, ToolIssues, ToolState, diagnose_tool};
use brigade_workspace::{Config, FactReader, Host, PresenceReader, SummaryFacts, ToolFacts};

/// Reads the files of tools and diagnoses them.
pub fn examine<'c>(
    host: Host<'_>,
    config: &'c Config,
    tools: &[&'c Tool],
    policy: Option<PolicyFacts<'_>>,
    keep: FactRetention,
) -> ToolExamination<'c> {
    let (catalog, now) = (&config.catalog, host.clock.now());
    let reader = FactReader::new(host, config);
    // Problems of a runtime are reported with the runtime, not with its tools.
    let no_runtimes = Runtimes::default();
    let presences = PresenceReader::new(&reader, &no_runtimes);
    let part = |tools: &mut dyn Iterator<Item = ToolFacts<'c>>| {
        let mut examined = ToolExamination::default();
        for read in tools {
            let ToolFacts { tool, files, projections, .. } = &read;
            let presence = tool.claims_presence().then(|| presences.presence(tool));
            let presence = presence.as_ref();
            let (files, home) = (Some(files), host.home());
            let state = ToolState { catalog, tool, files, home, projections, policy, presence };
            diagnose_tool(&state, now, &mut examined.issues);
            examined.summaries.push(read.summary());
            if keep == FactRetention::All {
                examined.read.push(read);
            }
        }
        examined
    };
    let mut examined = ToolExamination::default();
    reader.read_parts(tools, part, |mut part| {
        examined.issues.append(part.issues);
        examined.summaries.append(&mut part.summaries);
        examined.read.append(&mut part.read);
    });
    examined
}

/// The facts and issues of tools.
#[derive(Default)]
pub struct ToolExamination<'c> {
    /// The issues.
    pub issues: ToolIssues,
    /// Tool facts for lists.
    pub summaries: Vec<SummaryFacts>,
    /// All facts; empty with [`FactRetention::Summaries`].
    pub read: Vec<ToolFacts<'c>>,
}

/// Which facts to keep, as a catalog may have thousands of tools.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FactRetention {
    /// Everything that planning needs.
    All,
    /// Only what lists show.
    Summaries,
}
