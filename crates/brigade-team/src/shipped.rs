//! The functions and grants of the shipped migrations, read from their text, so that a database can be compared.

use std::collections::{BTreeMap, BTreeSet};

use crate::migrate::{GROUPS, MIGRATIONS, Schema};

/// A function as the migrations define it last.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct ShippedFunction {
    /// The text between the dollar quotes.
    pub(crate) body: String,
    /// The group roles that may call it, without the name of the schema.
    pub(crate) groups: BTreeSet<&'static str>,
}

/// Returns the functions by name, as the first `version` migrations define them in this schema.
pub(crate) fn functions(schema: &Schema, version: usize) -> BTreeMap<String, ShippedFunction> {
    let mut functions: BTreeMap<String, ShippedFunction> = BTreeMap::new();
    for (_, text) in MIGRATIONS.iter().take(version) {
        // A dollar quote may have semicolons, so every second part is the body of what came before.
        let parts: Vec<&str> = text.split("$$").collect();
        for (place, part) in parts.iter().enumerate().filter(|(place, _)| place % 2 == 0) {
            let lines = part.lines().filter(|line| !line.trim_start().starts_with("--"));
            let part = lines.collect::<Vec<_>>().join(" ");
            for statement in part.split(';') {
                let words = statement.trim_start();
                let named = |prefix: &str| words.strip_prefix(prefix);
                if let Some(rest) = named("CREATE OR REPLACE FUNCTION @schema@.")
                    .or_else(|| named("CREATE FUNCTION @schema@."))
                {
                    let name = rest.split('(').next().unwrap_or_default().to_owned();
                    let body = parts.get(place + 1).copied().unwrap_or_default();
                    functions.entry(name).or_default().body = schema.sql(body);
                } else if let Some(rest) = named("DROP FUNCTION") {
                    for name in names(rest) {
                        functions.remove(&name);
                    }
                } else if let Some(rest) = named("GRANT EXECUTE ON FUNCTION") {
                    let (granted, to) = rest.split_once(" TO ").unwrap_or((rest, ""));
                    for name in names(granted) {
                        let groups = &mut functions.entry(name).or_default().groups;
                        groups
                            .extend(GROUPS.iter().filter(|group| to.contains(&format!("@schema@_{group}"))));
                    }
                } else if let Some(rest) = named("REVOKE EXECUTE ON FUNCTION") {
                    let (granted, from) = rest.split_once(" FROM ").unwrap_or((rest, ""));
                    for name in names(granted) {
                        let groups = &mut functions.entry(name).or_default().groups;
                        groups.retain(|group| !from.contains(&format!("@schema@_{group}")));
                    }
                }
            }
        }
    }
    functions
}

/// Returns the names of functions in a list.
fn names(list: &str) -> impl Iterator<Item = String> {
    list.split("@schema@.")
        .skip(1)
        .map(|rest| rest.chars().take_while(|c| c.is_ascii_alphanumeric() || *c == '_').collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_text_of_the_migrations_is_read() {
        let functions = functions(&"team".parse().unwrap(), MIGRATIONS.len());
        assert!(19 <= functions.len(), "{:?}", functions.keys());
        assert!(
            functions
                .values()
                .all(|function| !function.body.contains("@schema@") && 20 < function.body.len())
        );
        let claim = &functions["claim_call"];
        assert_eq!(claim.groups, BTreeSet::from(["runner"]));
        assert!(claim.body.contains("FOR UPDATE SKIP LOCKED"));
        assert_eq!(functions["record_receipt"].groups, BTreeSet::from(["queuer", "reviewer", "runner"]));
        assert_eq!(functions["require_role"].groups, BTreeSet::new());
    }
}
