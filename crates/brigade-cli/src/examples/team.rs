//! The examples of teams.

use super::Examples;

pub(super) const ROWS: &[Examples] = &[
    (
        "team",
        "init",
        &[
            ("brigade team init", "Make the tables of the database in BRIGADE_TEAM_URL"),
            ("brigade team init --logs database", "Also store raw logs there"),
        ],
    ),
    (
        "team",
        "join",
        &[(
            "brigade team join --url postgresql://rev-1@db.example/brigade --workspace shop",
            "Join as rev-1",
        )],
    ),
    (
        "team",
        "import",
        &[
            ("brigade team import --dry-run", "Show what the files have and the team has not"),
            ("brigade team import", "Bring it into the team"),
        ],
    ),
    ("team", "export", &[("brigade team export ../copy", "Write the team's records as files")]),
    ("team", "migrate", &[("brigade team migrate", "Update the tables for this version")]),
    ("team", "prune", &[("brigade team prune --logs-older-than 30d", "Delete old raw logs")]),
    ("team", "doctor", &[("brigade team doctor", "Check the database and the connection")]),
    ("roster", "accept", &[("brigade team roster accept", "Accept the present keys")]),
    ("team", "verify", &[("brigade team verify", "Check receipts, signatures and approvals")]),
    ("team", "leave", &[("brigade team leave", "Use the files again")]),
    (
        "team",
        "runner",
        &[
            ("brigade team runner", "Run approved calls of the team here until SIGTERM"),
            ("brigade team runner --parallel 4 --events", "Four at a time, and print what happens as JSON"),
            ("brigade team runner --exit-when-idle", "Run what is approved, and end"),
        ],
    ),
    (
        "team",
        "accept-failover",
        &[("brigade team accept-failover", "Let runners claim calls, although a host is gone")],
    ),
    ("team", "status", &[("brigade team status", "Show database, runners and calls")]),
    (
        "member",
        "add",
        &[(
            "brigade team member add rev-1 --role queuer --role reviewer --key rev-1.pub.pem",
            "Add a reviewer",
        )],
    ),
    ("member", "remove", &[("brigade team member remove rev-1", "Take all roles away")]),
    ("member", "list", &[("brigade team member list", "Show roles, workspaces and keys")]),
    (
        "rule",
        "add",
        &[("brigade team rule add --effect remote-mutation --approvals 2", "Two people approve such calls")],
    ),
    ("rule", "remove", &[("brigade team rule remove 2", "Remove the second rule")]),
    ("rule", "list", &[("brigade team rule list", "Show how many people approve what")]),
];
