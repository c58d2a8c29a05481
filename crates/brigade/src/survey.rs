//! Finding what is wrong with many tools while their files are at hand.

use brigade_catalog::Tool;
use brigade_doctor::{PolicyFacts, ToolIssues, ToolState, diagnose_tool};
use brigade_facts::{FactReader, SummaryFacts, ToolFacts};

use crate::gather;
use crate::gather::Config;
use crate::room::Room;

/// Reads the files of tools, and finds what is wrong with them.
pub(crate) fn examine<'c>(
    room: &Room,
    config: &'c Config,
    tools: &[&'c Tool],
    policy: Option<PolicyFacts<'_>>,
    keep: Keep,
) -> Examined<'c> {
    let (catalog, now) = (&config.catalog, room.now());
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
    FactReader::new(gather::host(room), config).read_parts(tools, part, |mut part| {
        examined.issues.append(part.issues);
        examined.summaries.append(&mut part.summaries);
        examined.read.append(&mut part.read);
    });
    examined
}

/// What was found of tools, and what is wrong with them.
#[derive(Default)]
pub(crate) struct Examined<'c> {
    pub(crate) issues: ToolIssues,
    pub(crate) summaries: Vec<SummaryFacts>,
    /// None when nothing was to be kept.
    pub(crate) read: Vec<ToolFacts<'c>>,
}

/// What of the files of tools is kept, when thousands were read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Keep {
    /// All that plans are made of.
    All,
    /// What lists say.
    Summaries,
}
