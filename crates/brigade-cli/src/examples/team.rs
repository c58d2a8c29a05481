//! The examples of teams.

use super::Examples;

pub(super) const ROWS: &[Examples] = &[
    ("team", "init", &[("brigade team init", "Make the tables of the database in BRIGADE_TEAM_URL")]),
    (
        "team",
        "join",
        &[(
            "brigade team join --url postgresql://rev-1@db.example/brigade --workspace shop",
            "Join as rev-1",
        )],
    ),
    ("team", "verify", &[("brigade team verify", "Check receipts, signatures and approvals")]),
    ("team", "leave", &[("brigade team leave", "Use the files again")]),
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
