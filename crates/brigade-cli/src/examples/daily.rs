//! The examples of the words of every day.

use super::Examples;

pub(super) const ROWS: &[Examples] = &[
    ("brigade", "pending", &[("brigade pending", "One row for each decision, with a number")]),
    (
        "brigade",
        "approve",
        &[
            ("brigade approve 1-3", "Approve three rows of brigade pending"),
            ("brigade approve 2 --always", "Approve it, and add a rule for such calls"),
            ("brigade approve --tool count-words", "Approve all waiting calls of a tool"),
        ],
    ),
    ("brigade", "review", &[("brigade review", "See what waits in full, and decide with one key")]),
    ("tools", "review", &[("brigade tools review", "The same as brigade review")]),
    ("brigade", "reject", &[("brigade reject 2 --reason 'Too broad'", "Tell the agent why")]),
    ("brigade", "hold", &[("brigade hold CALL", "Decide later")]),
    (
        "brigade",
        "log",
        &[
            ("brigade log", "Show the newest runs"),
            ("brigade log --since yesterday --agent codex --failed", "What failed for codex"),
            ("brigade log --since 7d --stat", "Sum up a week by tool and agent"),
        ],
    ),
    (
        "brigade",
        "show",
        &[("brigade show count-words", "Show a tool"), ("brigade show CALL --full", "Every detail")],
    ),
    ("brigade", "why", &[("brigade why CALL", "Who asked, which rule decided, what ran")]),
    ("brigade", "explain", &[("brigade explain changed_program", "What the code means, and what to do")]),
];
