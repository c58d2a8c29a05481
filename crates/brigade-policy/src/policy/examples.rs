//! Reads `[[test]]`: examples of calls with the decision that the author of the policy expects.

use brigade_catalog::{ApprovalMode, Family, Seconds, Tool};
use brigade_core::Json;

use crate::document::{Reader, Value};
use crate::testing::{Expectation, PolicyTest, TestSubject};

const KEYS: &[&str] = &[
    "tool",
    "family",
    "effects",
    "approval_mode",
    "timeout",
    "runtime",
    "env_labels",
    "args",
    "agent",
    "expect",
    "because",
];

/// The id of an inline tool without one.
const INLINE: &str = "inline";

/// Reads the tests.
pub(super) fn read(reader: &mut Reader<'_>, value: &Value<'_>, top: &[&str]) -> Vec<PolicyTest> {
    let mut tests = Vec::new();
    for (index, (place, table)) in reader.tables("test", value).into_iter().enumerate() {
        let prefix = format!("test[{}].", index + 1);
        let (mut id, mut expect) = (None, None);
        let (mut agent, mut because) = (None, None);
        let mut args = Json::object::<String>([]);
        let mut tool = Tool::new(INLINE, Family::Script).expect("the id is valid");
        tool.family = None;
        let mut is_inline = false;
        for (key, value) in table {
            let name = key.get_ref().as_ref();
            let field = format!("{prefix}{name}");
            is_inline |=
                matches!(name, "family" | "effects" | "approval_mode" | "timeout" | "runtime" | "env_labels");
            match name {
                "tool" => id = reader.string(&field, value),
                "family" => {
                    let family = reader.word(&field, value, Family::ALL, Family::as_str);
                    tool.family = family.map(|family| family.value);
                }
                "effects" => {
                    let effects = reader.strings(&field, value);
                    tool.effects = effects.into_iter().map(|effect| effect.value).collect();
                }
                "approval_mode" => {
                    let mode = reader.word(&field, value, ApprovalMode::ALL, ApprovalMode::as_str);
                    tool.approval_mode = mode.map(|mode| mode.value);
                }
                "timeout" => {
                    let number = reader.positive(&field, value);
                    tool.timeout = number.and_then(|number| Seconds::new(number.value).ok());
                }
                "runtime" => tool.runtime_id = reader.string(&field, value).map(|id| id.value),
                "env_labels" => {
                    let labels = reader.strings(&field, value);
                    tool.env_labels = labels.into_iter().map(|label| label.value).collect();
                }
                "args" => {
                    if reader.table(&field, value).is_some() {
                        args = reader.json(value);
                    }
                }
                "agent" => agent = reader.string(&field, value),
                "expect" => expect = reader.string(&field, value),
                "because" => because = reader.string(&field, value).map(|code| code.value),
                _ => reader.unknown_member(key, &prefix, KEYS, top),
            }
        }
        reader.needed(table, &place, &prefix, &["expect"]);
        if id.is_none() && !is_inline && reader.is_toml() {
            let message = "a test needs `tool`, or the facts of one such as `family` and `effects`";
            reader.error_at(place.clone(), &format!("{prefix}tool"), message, None);
        }
        let subject = match (&id, is_inline) {
            (Some(id), false) => TestSubject::Catalog(id.value.clone()),
            (id, _) => {
                if let Some(id) = id {
                    match Tool::new(&id.value, Family::Script) {
                        Ok(named) => tool.id = named.id,
                        Err(error) => {
                            reader.error_at(
                                id.place.clone(),
                                &format!("{prefix}tool"),
                                &error.to_string(),
                                None,
                            );
                        }
                    }
                }
                TestSubject::Inline(Box::new(tool))
            }
        };
        let agent = agent.and_then(|agent| match agent.value.parse() {
            Ok(name) => Some(name),
            Err(_) => {
                let message = "expected the name of an agent: letters, digits, `-` and `_`, at most 64";
                reader.error_at(agent.place, &format!("{prefix}agent"), message, None);
                None
            }
        });
        let Some(expect) = expect else { continue };
        match expect.value.parse() {
            Ok(Expectation::Rule(_)) if agent.is_none() => {
                let message = "a rule approves calls of agents only, so the test needs `agent`";
                reader.error_at(expect.place, &format!("{prefix}expect"), message, None);
            }
            Ok(expect) => tests.push(PolicyTest { place, subject, args, agent, expect, because }),
            Err(message) => reader.error_at(expect.place, &format!("{prefix}expect"), message, None),
        }
    }
    tests
}
