//! Compares what the last runs of a tool used with the declarations in its entry.

use brigade_call::{EffectUse, FileUse, ToolUse};
use brigade_catalog::Tool;

use crate::{Issue, IssueType, Snapshot};

/// The maximum number of files in an issue.
const MAX_NAMED_FILES: usize = 3;

pub(super) fn uses(snapshot: &Snapshot<'_>, tools: &[&Tool], found: &mut Vec<Issue>) {
    // The declarations of an entry that cannot be read are unknown.
    for tool in tools.iter().filter(|tool| !tool.is_broken) {
        if let Some(used) = snapshot.uses.get(tool.id.as_str()) {
            found.extend(issues(tool, used));
        }
    }
}

fn issues(tool: &Tool, used: &ToolUse) -> Vec<Issue> {
    let mut found = Vec::new();
    // In such a process it is unknown which call, of which entry, used a file.
    let who =
        if used.is_of_server { "its server, with the calls of all its entries," } else { "the last run" };
    let files: Vec<&str> = used.to_declare(FileUse::Code).map(|file| file.path.as_str()).collect();
    if !files.is_empty() {
        let named = files.iter().take(MAX_NAMED_FILES).copied().collect::<Vec<_>>().join(", ");
        let more = match files.len().saturating_sub(MAX_NAMED_FILES) {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        let detail = format!("no approval binds code that {who} loaded: {named}{more}");
        let issue = Issue::of_tool(IssueType::ToolReadsUnbound, tool, "code", detail);
        found.push(issue.evidence(files.join("\n")));
    }
    for EffectUse { effect, example, denied } in &used.effects_undeclared {
        let verb = if *denied { "tried" } else { "had" };
        let detail = format!("{who} {verb} the effect {effect}, which is not declared: {example}");
        found.push(Issue::of_tool(IssueType::EffectsUndeclared, tool, "effects", detail).subject(effect));
    }
    for effect in &used.effects_unused {
        let detail = format!("{who} did not have the declared effect {effect}");
        found.push(Issue::of_tool(IssueType::EffectsUnused, tool, "effects", detail).subject(effect));
    }
    found
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use brigade_call::UnboundFile;
    use brigade_catalog::{Catalog, Level};
    use brigade_core::{NextStep, Timestamp};

    use super::*;
    use crate::{ConfigFile, diagnose};

    #[test]
    fn the_last_run_is_compared_with_the_entry() {
        let text =
            b"[[tool]]\nid = 'a'\nname = 'A'\nfamily = 'custom'\ncommand = 'x'\neffects = ['network']\n\
            input_schema_path = 's'\n";
        let catalog = Catalog::parse("tools.toml", Level::Project, text);
        let file = |path: &str, kind, written| UnboundFile {
            path: path.to_owned(),
            kind,
            executed: false,
            denied: false,
            written,
        };
        let used = ToolUse {
            unbound: vec![
                file("a.py", FileUse::Code, false),
                file("b.py", FileUse::Code, false),
                file("c.csv", FileUse::Data, false),
                file("d.py", FileUse::Code, true),
                file("e.py", FileUse::Code, false),
                file("f.py", FileUse::Code, false),
            ],
            effects_undeclared: vec![EffectUse {
                effect: "local-write".to_owned(),
                example: "out.txt".to_owned(),
                denied: true,
            }],
            effects_unused: vec!["network".to_owned()],
            is_complete: true,
            ..ToolUse::default()
        };
        let uses = BTreeMap::from([("a".to_owned(), used.clone()), ("gone".to_owned(), used)]);
        let found = diagnose(Snapshot {
            catalog: Some(ConfigFile::Read(&catalog)),
            uses: &uses,
            ..Snapshot::new(Timestamp::from_unix_micros(0))
        });
        let found: Vec<(IssueType, &str, NextStep)> =
            found.iter().map(|issue| (issue.kind, issue.detail.as_str(), issue.next_step())).collect();
        assert_eq!(
            found,
            [
                (
                    IssueType::ToolReadsUnbound,
                    "no approval binds code that the last run loaded: a.py, b.py, e.py and 1 more",
                    NextStep::DeclareUsed("a".to_owned())
                ),
                (
                    IssueType::EffectsUndeclared,
                    "the last run tried the effect local-write, which is not declared: out.txt",
                    NextStep::DeclareUsed("a".to_owned())
                ),
                (
                    IssueType::EffectsUnused,
                    "the last run did not have the declared effect network",
                    NextStep::ObserveTool("a".to_owned())
                ),
            ]
        );
        let used =
            ToolUse { effects_unused: vec!["network".to_owned()], is_of_server: true, ..ToolUse::default() };
        let uses = BTreeMap::from([("a".to_owned(), used)]);
        let found = diagnose(Snapshot {
            catalog: Some(ConfigFile::Read(&catalog)),
            uses: &uses,
            ..Snapshot::new(Timestamp::from_unix_micros(0))
        });
        let said = "its server, with the calls of all its entries, did not have the declared effect network";
        assert_eq!(found.iter().map(|issue| issue.detail.as_str()).collect::<Vec<_>>(), [said]);
    }
}
