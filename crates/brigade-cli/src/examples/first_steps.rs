//! Examples of the commands for the first minutes.

use super::{Examples, PROGRAM};

pub(super) const FIRST_STEPS: &[Examples] = &[
    (
        PROGRAM,
        "setup",
        &[
            ("brigade setup", "Look what is here, and ask what to govern"),
            ("brigade setup --yes --agents claude --servers git,time", "Do not ask, for scripts"),
            ("brigade setup --undo", "Take it back"),
        ],
    ),
    (
        PROGRAM,
        "add",
        &[
            ("brigade add git", "Put a server of a program behind the gateway"),
            ("brigade add https://mcp.example.com --id docs", "Put a remote server there"),
            ("brigade add server.json --dry-run", "Show what a file would add"),
        ],
    ),
    (PROGRAM, "discover", &[("brigade discover", "List what the agent programs of this machine have")]),
    (
        PROGRAM,
        "enable",
        &[("brigade enable 'notes-*' --accept-hints", "Grant the effects that the server proposes")],
    ),
    (PROGRAM, "disable", &[("brigade disable 'notes-*'", "Take the tools of a server away from agents")]),
    (
        PROGRAM,
        "demo",
        &[
            ("brigade demo", "Put made-up servers behind the gateway, and see calls wait"),
            ("brigade demo catalog", "Walk through plans, policies and receipts"),
            ("brigade demo --in ~/brigade-demo", "In a directory of your choice"),
        ],
    ),
    (
        PROGRAM,
        "completions",
        &[
            ("brigade completions bash > ~/.local/share/bash-completion/completions/brigade", ""),
            ("brigade completions fish > ~/.config/fish/completions/brigade.fish", ""),
        ],
    ),
];
