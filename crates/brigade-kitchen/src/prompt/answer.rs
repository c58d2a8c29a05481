//! The instructions on how to answer: by result file or by tags. No line of them counts as a tag itself.

use super::Writer;
use crate::signal::{Role, TABLE};

/// The instructions of a role, after the member that all roles write.
const fn instructions(role: Role) -> &'static str {
    match role {
        Role::Work => include_str!("answer/work.md"),
        Role::Review => include_str!("answer/review.md"),
        Role::Decide => include_str!("answer/decide.md"),
        Role::Scope => include_str!("answer/scope.md"),
        Role::Phase => include_str!("answer/phase.md"),
        Role::Gate => include_str!("answer/gate.md"),
        Role::Plan => include_str!("answer/plan.md"),
        Role::Map => include_str!("answer/map.md"),
        Role::Task => include_str!("answer/task.md"),
    }
}

pub(super) fn write(writer: &mut Writer, role: Role, nonce: &str) {
    writer.section("How to answer");
    writer.line("When you end, write a JSON object to the file that the variable BRIGADE_RESULT_FILE names, with these members:");
    writer.line("");
    writer.line(&format!("- \"nonce\": \"{nonce}\" (always)"));
    writer.text.push_str(instructions(role));
    if role == Role::Work {
        for spelling in TABLE {
            let tag = match spelling.promise {
                "" => String::new(),
                promise if promise.ends_with(':') => format!(" or `<promise>{promise}ID</promise>`"),
                promise => format!(" or `<promise>{promise}</promise>`"),
            };
            writer.line(&format!("- \"{}\"{tag}: {}", spelling.word, spelling.meaning));
        }
        writer.text.push_str(include_str!("answer/complete.md"));
    }
}
