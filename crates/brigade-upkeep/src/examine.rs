//! Finding what is wrong with many tools while their files are at hand.

use brigade_catalog::Tool;
use brigade_doctor::{PolicyFacts, ToolIssues, ToolState, diagnose_tool};
use brigade_facts::{Config, FactReader, Host, SummaryFacts, ToolFacts};

/// Reads the files of tools, and finds what is wrong with them.
pub fn examine<'c>(
    host: Host<'_>,
    config: &'c Config,
    tools: &[&'c Tool],
    policy: Option<PolicyFacts<'_>>,
    keep: Keep,
) -> Examined<'c> {
    let (catalog, now) = (&config.catalog, host.clock.now());
    let part = |tools: &mut dyn Iterator<Item = ToolFacts<'c>>| {
        let mut examined = Examined::default();
        for read in tools {
            let ToolFacts { tool, files, projections, .. } = &read;
            let state = ToolState { catalog, tool, files: Some(files), projections, policy };
            diagnose_tool(&state, now, &mut examined.issues);
            examined.summaries.push(read.summary());
            if keep == Keep::All {
                examined.read.push(read);
            }
        }
        examined
    };
    let mut examined = Examined::default();
    FactReader::new(host, config).read_parts(tools, part, |mut part| {
        examined.issues.append(part.issues);
        examined.summaries.append(&mut part.summaries);
        examined.read.append(&mut part.read);
    });
    examined
}

/// What was found of tools, and what is wrong with them.
#[derive(Default)]
pub struct Examined<'c> {
    /// What is wrong with them.
    pub issues: ToolIssues,
    /// What lists say of them.
    pub summaries: Vec<SummaryFacts>,
    /// What was read; empty when nothing was to be kept.
    pub read: Vec<ToolFacts<'c>>,
}

/// What of the files of tools is kept, when thousands were read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Keep {
    /// All that plans are made of.
    All,
    /// What lists say.
    Summaries,
}
