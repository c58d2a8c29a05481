//! The floors of the workspace: which crate may depend on which.
//!
//! A crate may depend on crates of lower floors. It may depend on crates of the same floor only where
//! [`Floor::Ordered`] allows it. Only normal and build dependencies are checked; dev-dependencies are free.

/// How the crates of one floor relate to each other.
enum Floor {
    /// No crate of this floor may depend on another.
    Apart(&'static [&'static str]),
    /// Each crate may depend on those after it.
    Ordered(&'static [&'static str]),
}

/// The floors, from the lowest up.
const FLOORS: &[Floor] = &[
    Floor::Ordered(&[
        "brigade-process",
        "brigade-fs",
        "brigade-redact",
        "brigade-sandbox",
        "brigade-cmdline",
        "brigade-core",
        "brigade-macros",
    ]),
    Floor::Ordered(&[
        "brigade-doctor",
        "brigade-kitchen",
        "brigade-call",
        "brigade-access",
        "brigade-projection",
        "brigade-policy",
        "brigade-harness",
        "brigade-catalog",
        "brigade-schema",
    ]),
    Floor::Ordered(&[
        "brigade-workflow",
        "brigade-ops",
        "brigade-kitchen-run",
        "brigade-toolset",
        "brigade-git",
        "brigade-workspace",
        "brigade-mcp",
        "brigade-exec",
        "brigade-team",
        "brigade-queue",
        "brigade-runtime",
        "brigade-db",
        "brigade-journal",
        "brigade-remote",
    ]),
    Floor::Apart(&["brigade"]),
    Floor::Ordered(&["brigade-cli", "brigade-gateway", "brigade-web"]),
];

/// Dependencies that the order of the floors would allow but that are refused, with the reason.
const FORBIDDEN: &[(&str, &str, &str)] = &[
    ("brigade-process", "brigade-fs", "starting processes and reading files are separate interfaces"),
    ("brigade-mcp", "brigade-queue", "a session with a server does not depend on queued calls"),
    ("brigade-mcp", "brigade-runtime", "an MCP server is started for each call, not supervised"),
    ("brigade-exec", "brigade-queue", "the caller claims and records a run"),
    ("brigade-exec", "brigade-runtime", "the caller checks the runtime of a run"),
    ("brigade-queue", "brigade-runtime", "records do not depend on processes"),
    ("brigade-workspace", "brigade-runtime", "planning a call starts no runtime"),
];

/// Crates that may depend only on the listed crates of the workspace.
const ONLY: &[(&str, &[&str], &str)] = &[
    (
        "brigade-cli",
        &["brigade", "brigade-gateway", "brigade-web"],
        "a frontend uses only the façade, and starts the gateway and the page",
    ),
    ("brigade-gateway", &["brigade"], "a frontend uses only the façade"),
    ("brigade-web", &["brigade"], "a frontend uses only the façade"),
    ("brigade-testkit", &["brigade-core", "brigade-fs"], "test helpers do not depend on the code under test"),
];

/// Crates outside the floors: no other crate is built from them.
const BESIDE: &[&str] = &["brigade-testkit", "brigade-tests", "xtask"];

/// Returns why one crate of the workspace may not depend on another, or `None` if it may.
pub fn objection(from: &str, to: &str) -> Option<String> {
    let may_use_testkit = from == "brigade-tests" || from == "xtask";
    if BESIDE.contains(&to) && !(to == "brigade-testkit" && may_use_testkit) {
        return Some(format!("`{to}` is for tests and tasks: make it a dev-dependency"));
    }
    if let Some((_, allowed, reason)) = ONLY.iter().find(|(name, ..)| *name == from) {
        let names = allowed.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ");
        return (!allowed.contains(&to)).then(|| format!("`{from}` may depend only on {names}: {reason}"));
    }
    if let Some((.., reason)) = FORBIDDEN.iter().find(|(a, b, _)| (*a, *b) == (from, to)) {
        return Some(format!("`{from}` may not depend on `{to}`: {reason}"));
    }
    if BESIDE.contains(&from) {
        return None;
    }
    let (Some((from_floor, from_place)), Some((to_floor, to_place))) = (place(from), place(to)) else {
        let unknown = if place(from).is_none() { from } else { to };
        return Some(format!("`{unknown}` has no floor: add it to xtask/src/floors.rs"));
    };
    if to_floor < from_floor {
        return None;
    }
    if from_floor < to_floor {
        return Some(format!(
            "`{from}` (floor {from_floor}) may not depend on `{to}` (floor {to_floor}), which is above it"
        ));
    }
    match FLOORS[from_floor] {
        Floor::Apart(_) => {
            Some(format!("`{from}` and `{to}` share floor {from_floor}, whose crates do not know each other"))
        }
        Floor::Ordered(_) if from_place < to_place => None,
        Floor::Ordered(names) => Some(format!(
            "`{from}` may not depend on `{to}`: the order of floor {from_floor} is {}",
            names.join(" > ")
        )),
    }
}

/// Returns whether the table contains a crate.
pub fn is_known(name: &str) -> bool {
    BESIDE.contains(&name) || place(name).is_some()
}

/// Returns the floor of a crate, and its position there.
fn place(name: &str) -> Option<(usize, usize)> {
    FLOORS.iter().enumerate().find_map(|(floor, crates)| {
        let (Floor::Apart(names) | Floor::Ordered(names)) = crates;
        names.iter().position(|known| *known == name).map(|place| (floor, place))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(from: &str, allowed: &[&str], refused: &[&str]) {
        for to in allowed {
            assert_eq!(objection(from, to), None, "{from} -> {to}");
        }
        for to in refused {
            assert!(objection(from, to).is_some(), "{from} -> {to}");
        }
    }

    #[test]
    fn the_lowest_floor_depends_on_nothing() {
        check("brigade-core", &[], &["brigade-fs", "brigade-process", "brigade-catalog", "brigade-core"]);
        check("brigade-fs", &["brigade-core"], &["brigade-process"]);
        check("brigade-process", &["brigade-sandbox", "brigade-core"], &["brigade-fs", "brigade"]);
        check("brigade-sandbox", &["brigade-cmdline"], &["brigade-fs", "brigade-process"]);
    }

    #[test]
    fn deciders_depend_in_one_direction() {
        check("brigade-doctor", &["brigade-call", "brigade-schema", "brigade-core"], &["brigade-queue"]);
        check(
            "brigade-call",
            &["brigade-projection", "brigade-policy"],
            &["brigade-doctor", "brigade-kitchen"],
        );
        check(
            "brigade-kitchen",
            &["brigade-policy", "brigade-cmdline"],
            &["brigade-queue", "brigade-journal"],
        );
        check("brigade-policy", &["brigade-catalog"], &["brigade-projection", "brigade-call"]);
        check("brigade-schema", &["brigade-core"], &["brigade-catalog"]);
        check("brigade-harness", &["brigade-catalog"], &["brigade-projection"]);
        check("brigade-catalog", &["brigade-core"], &["brigade-harness"]);
    }

    #[test]
    fn crates_that_act_do_not_depend_on_each_other() {
        check(
            "brigade-exec",
            &["brigade-call", "brigade-process"],
            &["brigade-queue", "brigade-runtime", "brigade"],
        );
        check("brigade-queue", &["brigade-fs"], &["brigade-exec"]);
        check("brigade-ops", &["brigade-queue", "brigade-runtime", "brigade-workspace"], &["brigade"]);
        check(
            "brigade-workspace",
            &["brigade-queue"],
            &["brigade-kitchen-run", "brigade-ops", "brigade-runtime"],
        );
        check("brigade-mcp", &["brigade-exec", "brigade-call"], &["brigade-queue", "brigade-runtime"]);
    }

    #[test]
    fn a_frontend_depends_only_on_the_facade() {
        check("brigade-cli", &["brigade", "brigade-gateway"], &["brigade-core", "brigade-call"]);
        check("brigade-gateway", &["brigade"], &["brigade-cli", "brigade-access"]);
        check("brigade", &["brigade-exec", "brigade-core"], &["brigade-cli"]);
    }

    #[test]
    fn nothing_is_built_from_test_helpers() {
        check("brigade", &[], &["brigade-testkit", "xtask", "brigade-tests"]);
        check("brigade-tests", &["brigade-testkit", "brigade", "brigade-core"], &["xtask"]);
        check("brigade-testkit", &["brigade-core", "brigade-fs"], &["brigade", "brigade-call"]);
        check("xtask", &["brigade", "brigade-cli"], &[]);
    }

    #[test]
    fn an_unknown_crate_needs_a_place() {
        check("brigade-new", &[], &["brigade-core"]);
        assert!(!is_known("brigade-new") && is_known("xtask") && is_known("brigade-fs"));
    }
}
