//! The table of effects: how risky each is, and what it opens in a sandbox.

use brigade_catalog::RiskClass;
use brigade_core::words;

words! {
    /// How much a call can do, from reading to secrets.
    RiskLevel {
        /// It reads local files, or changes its own session.
        Low = "low",
        /// It changes local files or state, or reads remote data.
        Medium = "medium",
        /// It starts programs, uses the network, deletes, or changes remote data. Also used for unknown effects.
        High = "high",
        /// It reads secrets, or has more than ordinary user rights.
        Critical = "critical",
    }
}

/// What an effect opens in the sandbox, in addition to the access of every run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SandboxOpening {
    /// Nothing.
    Nothing,
    /// Writing in the workspace.
    Workspace,
    /// Network sockets.
    Network,
    /// The repository of the workspace, if the policy says `git = "write"` for the tool.
    Repository,
}

/// What an effect may change, for the hints to clients.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Changes {
    /// Nothing that lasts.
    Nothing,
    /// Records of Brigade, which keep earlier versions.
    Records,
    /// Anything.
    Anything,
}

/// One effect.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EffectRow {
    /// The label in the catalog and in policies.
    pub name: &'static str,
    /// How risky it is.
    pub risk: RiskLevel,
    /// What it opens in a sandbox.
    pub opens: SandboxOpening,
    /// What it may change.
    pub changes: Changes,
    /// Whether it reaches beyond this machine.
    pub is_remote: bool,
}

const fn effect(name: &'static str, risk: RiskLevel, opens: SandboxOpening, changes: Changes) -> EffectRow {
    EffectRow { name, risk, opens, changes, is_remote: matches!(opens, SandboxOpening::Network) }
}

/// Every known effect.
pub const EFFECTS: &[EffectRow] = &[
    effect(READ_EFFECT, RiskLevel::Low, SandboxOpening::Nothing, Changes::Nothing),
    effect("session", RiskLevel::Low, SandboxOpening::Nothing, Changes::Nothing),
    effect("local-write", RiskLevel::Medium, SandboxOpening::Workspace, Changes::Anything),
    effect("git-write", RiskLevel::Medium, SandboxOpening::Repository, Changes::Anything),
    effect("state-write", RiskLevel::Medium, SandboxOpening::Nothing, Changes::Records),
    effect("memory-write", RiskLevel::Medium, SandboxOpening::Nothing, Changes::Records),
    effect("network", RiskLevel::High, SandboxOpening::Network, Changes::Anything),
    effect("remote-read", RiskLevel::Medium, SandboxOpening::Network, Changes::Nothing),
    effect("remote-mutation", RiskLevel::High, SandboxOpening::Network, Changes::Anything),
    effect("process-exec", RiskLevel::High, SandboxOpening::Nothing, Changes::Anything),
    effect("process-control", RiskLevel::High, SandboxOpening::Nothing, Changes::Anything),
    effect("local-delete", RiskLevel::High, SandboxOpening::Nothing, Changes::Anything),
    EffectRow {
        is_remote: true,
        ..effect("install", RiskLevel::High, SandboxOpening::Nothing, Changes::Anything)
    },
    effect("secret-read", RiskLevel::Critical, SandboxOpening::Nothing, Changes::Nothing),
];

/// The effect of reading the workspace, which every run may do.
pub const READ_EFFECT: &str = "local-read";

/// The effect that makes the workspace writable.
pub const WRITE_EFFECT: &str = opening::<1>(SandboxOpening::Workspace)[0];

/// The effect of tools that write to the repository of the workspace.
pub const GIT_EFFECT: &str = opening::<1>(SandboxOpening::Repository)[0];

/// The effects that allow network access.
pub const NETWORK_EFFECTS: &[&str] = &opening::<3>(SandboxOpening::Network);

/// Returns the effects that open something, in the order of the table.
const fn opening<const COUNT: usize>(sandbox_opening: SandboxOpening) -> [&'static str; COUNT] {
    let mut names = [""; COUNT];
    let (mut at, mut found) = (0, 0);
    while at < EFFECTS.len() {
        if EFFECTS[at].opens as u8 == sandbox_opening as u8 {
            names[found] = EFFECTS[at].name;
            found += 1;
        }
        at += 1;
    }
    assert!(found == COUNT, "the table has as many effects as the constant");
    names
}

/// Returns the row of a known effect.
pub fn effect_of(name: &str) -> Option<&'static EffectRow> {
    EFFECTS.iter().find(|effect| effect.name == name)
}

/// Returns the risk of a call: the highest of its tool's risk class and its effects.
///
/// An unknown effect is [`RiskLevel::High`]. Without a class and effects, it is [`RiskLevel::Low`].
pub fn risk_of<E: AsRef<str>>(risk_class: Option<RiskClass>, effects: &[E]) -> RiskLevel {
    let class = risk_class.map(|class| match class {
        RiskClass::Read => RiskLevel::Low,
        RiskClass::LocalWrite => RiskLevel::Medium,
        RiskClass::Network => RiskLevel::High,
        RiskClass::Privileged => RiskLevel::Critical,
    });
    let risk = |name: &str| effect_of(name).map_or(RiskLevel::High, |effect| effect.risk);
    effects.iter().map(|effect| risk(effect.as_ref())).chain(class).max().unwrap_or(RiskLevel::Low)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(class: Option<RiskClass>, effects: &[&str], expect: RiskLevel) {
        assert_eq!(risk_of(class, effects), expect, "{class:?} {effects:?}");
    }

    #[test]
    fn containers_get_a_network_for_the_same_effects() {
        assert_eq!(NETWORK_EFFECTS, brigade_catalog::REMOTE_EFFECTS);
    }

    #[test]
    fn the_highest_of_class_and_effects_is_the_risk() {
        check(None, &[], RiskLevel::Low);
        check(Some(RiskClass::Read), &["session", "local-read"], RiskLevel::Low);
        check(Some(RiskClass::LocalWrite), &[], RiskLevel::Medium);
        for medium in ["local-write", "git-write", "state-write", "memory-write", "remote-read"] {
            check(Some(RiskClass::Read), &["local-read", medium], RiskLevel::Medium);
        }
        for high in
            ["network", "process-exec", "process-control", "local-delete", "remote-mutation", "install"]
        {
            check(Some(RiskClass::LocalWrite), &[high], RiskLevel::High);
        }
        check(Some(RiskClass::Network), &["local-read"], RiskLevel::High);
        check(Some(RiskClass::Network), &["secret-read"], RiskLevel::Critical);
        check(Some(RiskClass::Privileged), &["local-read"], RiskLevel::Critical);
    }

    #[test]
    fn an_unknown_effect_is_high() {
        check(Some(RiskClass::Read), &["local-read", "local-raed"], RiskLevel::High);
        check(None, &["Local-Read"], RiskLevel::High);
    }

    #[test]
    fn the_sandbox_reads_the_table() {
        assert_eq!((WRITE_EFFECT, GIT_EFFECT), ("local-write", "git-write"));
        assert_eq!(NETWORK_EFFECTS, ["network", "remote-read", "remote-mutation"]);
    }

    #[test]
    fn levels_are_ordered_and_written_in_lower_case() {
        assert!(RiskLevel::ALL.is_sorted());
        for level in RiskLevel::ALL {
            let json = serde_json::to_string(level).unwrap();
            assert_eq!(json, format!("\"{}\"", level.as_str()));
        }
    }
}
