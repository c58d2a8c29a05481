//! The instructions on how to answer: by result file or by tags. No line of them counts as a tag itself.

use super::Writer;
use crate::signal::{Role, TABLE};

/// The members of a role's result file, with their meanings.
fn members(role: Role) -> &'static [(&'static str, &'static str)] {
    match role {
        Role::Work => &[
            ("\"signal\"", "one of the words below"),
            ("\"absorbed_by\"", "the id of the task, for absorbed"),
            ("\"reason\"", "for blocked"),
            ("\"question\"", "for question"),
            ("\"approach\"", "how you went about it, in one or two sentences"),
            ("\"learnings\"", "a list of what later workers should know about this code base"),
            ("\"backlog\"", "a list of what you noticed beyond the task"),
        ],
        Role::Review => &[
            ("\"review\"", "\"pass\" or \"fail\""),
            ("\"reason\"", "each criterion that is not met, and where"),
        ],
        Role::Decide => &[
            ("\"decision\"", "\"retry\", \"skip\" or \"abort\""),
            ("\"reason\"", "why"),
            ("\"guidance\"", "for retry: what the next attempt does differently"),
        ],
        Role::Scope => &[("\"answer\"", "what belongs to the task"), ("\"reason\"", "why")],
        Role::Phase => &[
            ("\"status\"", "\"on_track\", \"minor_concerns\" or \"needs_attention\""),
            ("\"content\"", "what you found"),
            ("\"remediation\"", "a list of tasks that should be added, in the form of the PRD"),
        ],
        Role::Gate => &[("\"status\"", "\"proceed\", \"pause\" or \"stop\""), ("\"content\"", "why")],
        Role::Plan => &[
            (
                "\"prd\"",
                "the document, with `featureName`, `branchName` and `tasks`; each task has `id` (US-001 …), `title`, `acceptanceCriteria`, `verification` (objects with `type` and `cmd`), `dependsOn`, `complexity` and `passes: false`",
            ),
            ("\"questions\"", "instead of it: a list of questions that only a person can answer"),
        ],
        Role::Map | Role::Task => &[("\"output\"", "your text")],
    }
}

/// The tags of a role.
fn tags(role: Role) -> &'static [&'static str] {
    match role {
        Role::Work => &[],
        Role::Review => &["`<review>PASS</review>` or `<review>FAIL</review>`, then `<reason>…</reason>`"],
        Role::Decide => &[
            "`<decision>RETRY</decision>`, `<decision>SKIP</decision>` or `<decision>ABORT</decision>`",
            "`<reason>…</reason>` and `<guidance>…</guidance>`",
        ],
        Role::Scope => &["`<decision>…</decision>` with the answer, then `<reason>…</reason>`"],
        Role::Phase => {
            &["`<phase_review>STATUS: on_track …</phase_review>` with one of the words and your text"]
        }
        Role::Gate => &["`<phase_gate>STATUS: proceed …</phase_gate>` with one of the words and your text"],
        Role::Plan => &[
            "`<prd_generated>PATH</prd_generated>` with the file of the document, if you wrote one inside of the workspace",
            "or else, at the very end, the object itself in a code block",
        ],
        Role::Map | Role::Task => &[],
    }
}

pub(super) fn write(writer: &mut Writer, role: Role, nonce: &str) {
    writer.section("How to answer");
    writer.line("When you end, write a JSON object to the file that the variable BRIGADE_RESULT_FILE names, with these members:");
    writer.line("");
    writer.line(&format!("- \"nonce\": \"{nonce}\" (always)"));
    for (member, meaning) in members(role) {
        writer.line(&format!("- {member}: {meaning}"));
    }
    writer.line("- \"summary\": what you did, in one sentence (if you like)");
    if role == Role::Map {
        writer.line("");
        writer.line("If you cannot write the file, answer with the text and nothing else.");
    }
    if role == Role::Work {
        writer.line("");
        writer.text.push_str(include_str!("signals.md"));
        for spelling in TABLE {
            let tag = match spelling.promise {
                "" => String::new(),
                promise if promise.ends_with(':') => format!(" or `<promise>{promise}ID</promise>`"),
                promise => format!(" or `<promise>{promise}</promise>`"),
            };
            writer.line(&format!("- \"{}\"{tag}: {}", spelling.word, spelling.meaning));
        }
        writer.text.push_str(include_str!("complete.md"));
    } else if !tags(role).is_empty() {
        writer.line("");
        writer.line(match role {
            Role::Plan => "If you cannot write the file, end your answer with one of these:",
            _ => "If you cannot write the file, end your answer with these tags, each alone on its line:",
        });
        writer.line("");
        for tag in tags(role) {
            writer.line(&format!("- {tag}"));
        }
    }
}
