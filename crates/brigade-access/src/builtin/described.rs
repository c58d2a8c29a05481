//! The descriptions of the arguments of built-in tools.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::OnceLock;

/// Descriptions by argument. A member of an argument has dots, as in `questions.options.label`. An entry with a tool,
/// as in `fs.read:limit`, comes before the one that all tools share.
fn arguments() -> &'static BTreeMap<&'static str, Cow<'static, str>> {
    static ARGUMENTS: OnceLock<BTreeMap<&str, Cow<'_, str>>> = OnceLock::new();
    ARGUMENTS.get_or_init(|| {
        serde_json::from_str(include_str!("arguments.json")).expect("the descriptions are JSON")
    })
}

/// Returns the description of an argument of a tool. `path` is its name, or names with dots.
pub(super) fn argument(tool: &str, path: &str) -> Option<&'static str> {
    let all = arguments();
    all.get(&*format!("{tool}:{path}")).or_else(|| all.get(path)).map(AsRef::as_ref)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use brigade_core::Json;

    use super::*;
    use crate::builtin::definitions;
    use crate::control::control_tools;

    /// Calls `each` with the schema of every argument and member, and with its path.
    fn walk(schema: &Json, path: &str, each: &mut dyn FnMut(&str, &Json)) {
        let schema = schema.get("items").unwrap_or(schema);
        for (name, member) in schema.get("properties").and_then(Json::as_object).into_iter().flatten() {
            let path = if path.is_empty() { name.clone() } else { format!("{path}.{name}") };
            each(&path, member);
            walk(member, &path, each);
        }
    }

    #[test]
    fn every_argument_is_described() {
        let mut faults = Vec::new();
        let mut used = BTreeSet::new();
        let rows = definitions().iter().map(|row| (row.id, row.input_schema()));
        let control = control_tools().iter().map(|own| (own.id.as_str(), &own.input));
        for (id, schema) in rows.chain(control) {
            walk(schema, "", &mut |path, schema| {
                let place = format!("{id}:{path}");
                used.extend([place.clone(), path.to_owned()]);
                let text = schema.get("description").and_then(Json::as_str).unwrap_or_default();
                if !text.ends_with('.') {
                    faults.push(format!("{place} has no description"));
                }
                for word in schema.get("enum").and_then(Json::as_array).into_iter().flatten() {
                    let word = word.as_str().unwrap_or_default();
                    if !text.contains(&format!("`{word}`")) {
                        faults.push(format!("{place} does not describe `{word}`"));
                    }
                }
            });
        }
        let unused = arguments().keys().filter(|key| !used.contains(**key));
        faults.extend(unused.map(|key| format!("{key} is not an argument")));
        assert!(faults.is_empty(), "{}", faults.join("\n"));
    }
}
