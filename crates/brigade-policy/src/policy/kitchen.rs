//! `[kitchen]`: what a crew of coding agents may do.

use brigade_core::{Place, words};
use brigade_macros::part;
use toml::de::DeTable;

use super::read::{effects, paths, texts};
use super::{Policy, PolicyState, Rule};
use crate::document::{LocatedValue, Reader};
use crate::effects::{READ_EFFECT, WRITE_EFFECT};

const KEYS: &[&str] = &[
    "workers",
    "shell",
    "skip_permissions",
    "merge",
    "push",
    "worker_effects",
    "worker_write_paths",
    "verification_effects",
    "max_minutes",
    "max_cost_usd",
    "max_parallel",
];

/// The effect of a push. The policy must not deny it, and `allowed_effects` must contain it if it is set.
const PUSH_EFFECT: &str = "remote-mutation";

words! {
    /// Whether a shell may read verification, test, setup and notification commands.
    #[derive(Default)]
    ShellUse {
        /// It may read a text that a person approved.
        #[default]
        Approved = "approved",
        /// Commands that need a shell are refused.
        Never = "never",
    }
}

/// The table `[kitchen]`. Absent keys have their defaults, and an empty list means none.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct KitchenRules {
    /// The place of the table, if it is present.
    pub place: Option<Place>,
    /// Programs or adapters that may be workers. Absent means any that a person approved.
    pub workers: Rule<String>,
    /// Whether a shell may read commands.
    pub shell: Option<LocatedValue<ShellUse>>,
    /// Whether workers may skip their own permissions.
    pub skip_permissions: Option<LocatedValue<bool>>,
    /// Whether a finished branch may be merged.
    pub merge: Option<LocatedValue<bool>>,
    /// Whether a finished branch may be pushed.
    pub push: Option<LocatedValue<bool>>,
    /// Effects of workers.
    pub worker_effects: Rule<String>,
    /// Paths that workers may write in addition to their worktree and the paths of their adapter.
    pub worker_write_paths: Rule<String>,
    /// Effects of verification, test and setup commands.
    pub verification_effects: Rule<String>,
    /// The maximum minutes of workers for a PRD.
    pub max_minutes: Option<LocatedValue<f64>>,
    /// The maximum cost of a PRD, in US dollars.
    pub max_cost_usd: Option<LocatedValue<f64>>,
    /// The maximum number of concurrent attempts.
    pub max_parallel: Option<LocatedValue<u64>>,
}

/// What the policy grants the kitchen, with the defaults of absent keys.
#[part(PartialEq)]
pub struct KitchenGrants {
    /// Programs or adapters that may be workers; `null` for any that a person approved.
    pub workers: Option<Vec<String>>,
    /// Whether a shell may read approved commands.
    pub shell: ShellUse,
    /// Whether workers may skip their own permissions.
    pub skip_permissions: bool,
    /// Whether a finished branch may be merged.
    pub merge: bool,
    /// Whether a finished branch may be pushed.
    pub push: bool,
    /// Effects of workers, without denied ones.
    pub worker_effects: Vec<String>,
    /// Additional paths that workers may write.
    pub worker_write_paths: Vec<String>,
    /// Effects of verification, without denied ones.
    pub verification_effects: Vec<String>,
    /// The maximum minutes of workers for a PRD.
    pub max_minutes: Option<f64>,
    /// The maximum cost of a PRD, in US dollars.
    pub max_cost_usd: Option<f64>,
    /// The maximum number of concurrent attempts.
    pub max_parallel: Option<u64>,
}

impl PolicyState {
    /// Returns what the policy grants the kitchen. A missing policy or table means the defaults. An invalid policy
    /// grants nothing.
    pub fn kitchen(&self) -> Option<KitchenGrants> {
        match self {
            PolicyState::Missing { .. } => Some(Policy::default().kitchen_grants()),
            PolicyState::Invalid { .. } => None,
            PolicyState::Valid(policy) => Some(policy.kitchen_grants()),
        }
    }
}

impl Policy {
    pub(crate) fn kitchen_grants(&self) -> KitchenGrants {
        let rules = &self.kitchen;
        let is_denied = |effect: &str| self.denied_effects.values().any(|denied| denied == effect);
        let allowed = &self.allowed_effects;
        let is_allowed =
            |effect: &str| allowed.items.is_empty() || allowed.values().any(|allowed| allowed == effect);
        let effects = |rule: &Rule<String>, default: &[&str]| -> Vec<String> {
            let mut effects: Vec<String> = match rule.place {
                Some(_) => rule.values().cloned().collect(),
                None => default.iter().map(|effect| (*effect).to_owned()).collect(),
            };
            effects.retain(|effect| !is_denied(effect));
            effects
        };
        let is_on = |rule: &Option<LocatedValue<bool>>| rule.as_ref().is_some_and(|rule| rule.value);
        KitchenGrants {
            workers: rules.workers.place.as_ref().map(|_| rules.workers.values().cloned().collect()),
            shell: rules.shell.as_ref().map_or_else(ShellUse::default, |rule| rule.value),
            skip_permissions: is_on(&rules.skip_permissions),
            merge: is_on(&rules.merge),
            push: is_on(&rules.push) && !is_denied(PUSH_EFFECT) && is_allowed(PUSH_EFFECT),
            worker_effects: effects(&rules.worker_effects, &[READ_EFFECT, WRITE_EFFECT, "network"]),
            worker_write_paths: rules.worker_write_paths.values().cloned().collect(),
            verification_effects: effects(&rules.verification_effects, &[READ_EFFECT, WRITE_EFFECT]),
            max_minutes: rules.max_minutes.as_ref().map(|rule| rule.value),
            max_cost_usd: rules.max_cost_usd.as_ref().map(|rule| rule.value),
            max_parallel: rules.max_parallel.as_ref().map(|rule| rule.value),
        }
    }
}

impl KitchenGrants {
    /// The message about what a push needs.
    pub const PUSH_NEEDS: &'static str = "it needs `push = true` in [kitchen], and the effect `remote-mutation` not in \
        denied_effects and, where allowed_effects is set, in it";

    /// Returns whether a program may be a worker, by its name or its adapter's name.
    pub fn allows_worker(&self, program: &str, adapter: &str) -> bool {
        let name = program.rsplit('/').next().unwrap_or(program);
        let allows = |allowed: &String| [program, name, adapter].contains(&allowed.as_str());
        self.workers.as_ref().is_none_or(|workers| workers.iter().any(allows))
    }
}

/// Reads the table. An unknown key makes the policy invalid.
pub(super) fn read(reader: &mut Reader<'_>, place: Place, table: &DeTable<'_>, top: &[&str]) -> KitchenRules {
    let mut rules = KitchenRules { place: Some(place), ..KitchenRules::default() };
    for (key, value) in table {
        let field = format!("kitchen.{}", key.get_ref());
        let place = reader.place(&key.span());
        match key.get_ref().as_ref() {
            "workers" => rules.workers = texts(reader, &field, place, value),
            "shell" => rules.shell = reader.word(&field, value, ShellUse::ALL, ShellUse::as_str),
            "skip_permissions" => rules.skip_permissions = reader.truth(&field, value),
            "merge" => rules.merge = reader.truth(&field, value),
            "push" => rules.push = reader.truth(&field, value),
            "worker_effects" => rules.worker_effects = effects(reader, &field, place, value),
            "worker_write_paths" => {
                rules.worker_write_paths = Rule { place: Some(place), items: paths(reader, &field, value) };
            }
            "verification_effects" => rules.verification_effects = effects(reader, &field, place, value),
            "max_minutes" => rules.max_minutes = reader.positive(&field, value),
            "max_cost_usd" => rules.max_cost_usd = reader.positive(&field, value),
            "max_parallel" => rules.max_parallel = reader.count(&field, value),
            _ => reader.unknown_member(key, "kitchen.", KEYS, top),
        }
    }
    rules
}

#[cfg(test)]
mod tests {
    use super::*;

    fn grants(text: &str) -> Option<KitchenGrants> {
        PolicyState::parse("policy.toml", Some(text.as_bytes())).kitchen()
    }

    #[test]
    fn a_missing_table_means_the_defaults() {
        let missing = PolicyState::parse("policy.toml", None).kitchen().unwrap();
        assert_eq!(grants(""), Some(missing.clone()));
        assert_eq!(grants("[kitchen]\n"), Some(missing.clone()));
        assert_eq!(
            (&missing.workers, missing.shell, missing.skip_permissions),
            (&None, ShellUse::Approved, false)
        );
        assert_eq!((missing.merge, missing.push), (false, false));
        assert_eq!(missing.worker_effects, ["local-read", "local-write", "network"]);
        assert_eq!(missing.verification_effects, ["local-read", "local-write"]);
        assert!(missing.allows_worker("/opt/x/any", "plain"));
    }

    #[test]
    fn every_key_is_read() {
        let text = "[kitchen]\nworkers = ['claude', 'my-agent']\nshell = 'never'\nskip_permissions = true\nmerge = true\n\
            push = true\nworker_effects = ['local-read']\nworker_write_paths = ['~/.cache']\n\
            verification_effects = []\nmax_minutes = 90\nmax_cost_usd = 2.5\nmax_parallel = 2\n";
        let grants = grants(text).unwrap();
        assert_eq!(
            (grants.shell, grants.skip_permissions, grants.merge, grants.push),
            (ShellUse::Never, true, true, true)
        );
        assert_eq!(
            (grants.worker_effects.as_slice(), grants.verification_effects.len()),
            (&["local-read".to_owned()][..], 0)
        );
        assert_eq!(
            (grants.max_minutes, grants.max_cost_usd, grants.max_parallel),
            (Some(90.0), Some(2.5), Some(2))
        );
        assert!(grants.allows_worker("/usr/bin/my-agent", "plain") && grants.allows_worker("x", "claude"));
        assert!(!grants.allows_worker("codex", "codex"));
    }

    #[test]
    fn denied_effects_hold_for_the_kitchen_too() {
        let grants =
            grants("denied_effects = ['network', 'remote-mutation']\n[kitchen]\npush = true\n").unwrap();
        assert_eq!(
            (grants.worker_effects.as_slice(), grants.push),
            (&["local-read".to_owned(), "local-write".to_owned()][..], false)
        );
    }

    #[test]
    fn a_push_needs_its_effect() {
        let push = |effects: &str| grants(&format!("{effects}\n[kitchen]\npush = true\n")).unwrap().push;
        assert!(push("") && push("allowed_effects = ['local-read', 'remote-mutation']"));
        assert!(!push("allowed_effects = ['local-read', 'network']"));
        assert!(!push("denied_effects = ['remote-mutation']"));
    }

    #[test]
    fn a_faulty_table_makes_the_policy_invalid() {
        for text in [
            "[kitchen]\nworker = ['x']\n",
            "[kitchen]\nshell = 'always'\n",
            "[kitchen]\nskip_permissions = 'yes'\n",
            "[kitchen]\nmax_parallel = 0\n",
            "[kitchn]\nshell = 'never'\n",
            "kitchen = 5\n",
        ] {
            assert_eq!(grants(text), None, "{text}");
        }
    }
}
