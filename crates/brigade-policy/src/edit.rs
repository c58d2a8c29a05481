//! Adds to a policy.toml, and keeps its comments, order and all other text.

use std::collections::{BTreeMap, BTreeSet};

use thiserror::Error;
use toml_edit::{Array, DocumentMut, InlineTable, Item, Table, TableLike, Value, value};

/// What a policy should also allow. A list that the policy leaves out restricts nothing, so it stays left out.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PolicyAdditions {
    /// Families for `allowed_families`.
    pub families: BTreeSet<String>,
    /// Effects for `allowed_effects`.
    pub effects: BTreeSet<String>,
    /// Origins for `remote` of `[mcp]`. Without this list, no remote server is allowed, so it is made.
    pub remotes: BTreeSet<String>,
    /// Labels for `env_bindings`, each bound to the variable of its name. A label that is bound stays as it is.
    pub labels: BTreeSet<String>,
    /// Directories for `read_paths` of `[sandbox]`.
    pub read_paths: BTreeSet<String>,
}

/// A rule of `[[auto_approve]]`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RuleText {
    /// Its name. A rule that has it gets the tools and agents in addition.
    pub name: String,
    /// What it does, for a comment above it; empty for none.
    pub comment: String,
    /// Patterns for ids of tools.
    pub tools: BTreeSet<String>,
    /// The effects that a tool may have.
    pub effects: Vec<String>,
    /// The agents.
    pub agents: BTreeSet<String>,
    /// The exact texts of arguments, by name.
    pub arguments: BTreeMap<String, String>,
    /// The tool of a call that the rule approves, for a `[[test]]` which says so.
    pub tested: Option<String>,
}

/// Why a policy was not changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum PolicyEditError {
    /// The file is not TOML.
    #[error("not valid TOML; fix it by hand first")]
    NotToml,
    /// A key has another type.
    #[error("`{0}` has another type than it should; fix it by hand first")]
    WrongType(&'static str),
}

/// Adds permissions to the text of a policy.
///
/// # Errors
/// Fails if the text cannot be edited.
pub fn add_permissions(text: &str, additions: &PolicyAdditions) -> Result<String, PolicyEditError> {
    let mut document = parse(text)?;
    extend(document.as_table_mut(), "allowed_families", &additions.families, Absent::Allows)?;
    extend(document.as_table_mut(), "allowed_effects", &additions.effects, Absent::Allows)?;
    if !additions.labels.is_empty() {
        let bindings = table(&mut document, "env_bindings")?;
        for label in &additions.labels {
            if bindings.get(label).is_none() {
                bindings.insert(label, value(label.as_str()));
            }
        }
    }
    for (section, key, texts) in
        [("mcp", "remote", &additions.remotes), ("sandbox", "read_paths", &additions.read_paths)]
    {
        if !texts.is_empty() {
            extend(table(&mut document, section)?, key, texts, Absent::Refuses)?;
        }
    }
    Ok(written(text, &document))
}

/// Adds a rule at the end, with its test, or extends the rule of its name.
///
/// # Errors
/// Fails if the text cannot be edited.
pub fn add_rule(text: &str, rule: &RuleText) -> Result<String, PolicyEditError> {
    let mut document = parse(text)?;
    let has_name = |table: &&mut Table| table.get("name").and_then(Item::as_str) == Some(&rule.name);
    let known = document.get_mut(RULES).and_then(Item::as_array_of_tables_mut);
    if let Some(known) = known.and_then(|rules| rules.iter_mut().find(has_name)) {
        extend(known, "tools", &rule.tools, Absent::Refuses)?;
        extend(known, "agents", &rule.agents, Absent::Allows)?;
        return Ok(written(text, &document));
    }
    let mut table = Table::new();
    table.insert("name", value(rule.name.as_str()));
    table.insert("tools", value(rule.tools.iter().collect::<Array>()));
    table.insert("effects", value(rule.effects.iter().collect::<Array>()));
    table.insert("agents", value(rule.agents.iter().collect::<Array>()));
    if !rule.arguments.is_empty() {
        let patterns = rule.arguments.iter().map(|(name, text)| (name, literal(text)));
        table.insert("arguments", value(patterns.collect::<InlineTable>()));
    }
    append(&mut document, RULES, table, &rule.comment)?;
    if let Some((tool, agent)) = rule.tested.as_ref().zip(rule.agents.first()) {
        let mut test = Table::new();
        test.insert("tool", value(tool));
        test.insert("agent", value(agent));
        if !rule.arguments.is_empty() {
            test.insert("args", value(rule.arguments.iter().collect::<InlineTable>()));
        }
        test.insert("expect", value(format!("rule:{}", rule.name)));
        append(&mut document, "test", test, "")?;
    }
    Ok(written(text, &document))
}

/// The key of the rules.
const RULES: &str = "auto_approve";

/// Appends a table to an array of tables, which is made if it is missing.
fn append(
    document: &mut DocumentMut,
    key: &'static str,
    mut table: Table,
    comment: &str,
) -> Result<(), PolicyEditError> {
    let gap = if document.to_string().trim().is_empty() { "" } else { "\n" };
    let comment = if comment.is_empty() { String::new() } else { format!("# {comment}\n") };
    if document.get(key).is_none() {
        // Comments at the end of the file stay above the first table.
        let trailing = document.trailing().as_str().unwrap_or_default().to_owned();
        document.set_trailing("");
        table.decor_mut().set_prefix(format!("{trailing}{gap}{comment}"));
        document.insert(key, Item::ArrayOfTables([table].into_iter().collect()));
        return Ok(());
    }
    table.decor_mut().set_prefix(format!("{gap}{comment}"));
    let tables = document.get_mut(key).and_then(Item::as_array_of_tables_mut);
    tables.ok_or(PolicyEditError::WrongType(key))?.push(table);
    Ok(())
}

/// Returns the pattern that matches only this text.
pub fn literal(text: &str) -> String {
    let mut pattern = String::with_capacity(text.len());
    for c in text.chars() {
        if matches!(c, '*' | '?' | '\\') {
            pattern.push('\\');
        }
        pattern.push(c);
    }
    pattern
}

/// What a missing list means.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Absent {
    Allows,
    Refuses,
}

/// Adds texts to a list.
fn extend(
    table: &mut dyn TableLike,
    key: &'static str,
    texts: &BTreeSet<String>,
    absent: Absent,
) -> Result<(), PolicyEditError> {
    if texts.is_empty() {
        return Ok(());
    }
    if table.get(key).is_none() && absent == Absent::Refuses {
        table.insert(key, value(Array::new()));
    }
    let Some(item) = table.get_mut(key) else { return Ok(()) };
    let list = item.as_array_mut().ok_or(PolicyEditError::WrongType(key))?;
    if list.is_empty() && absent == Absent::Allows {
        return Ok(());
    }
    let missing: Vec<&String> =
        texts.iter().filter(|text| !list.iter().any(|known| known.as_str() == Some(text))).collect();
    for text in missing {
        list.push(Value::from(text.as_str()));
    }
    Ok(())
}

/// Returns a table, which is made if it is missing.
fn table<'d>(
    document: &'d mut DocumentMut,
    key: &'static str,
) -> Result<&'d mut dyn TableLike, PolicyEditError> {
    let item = document.entry(key).or_insert_with(|| Item::Table(Table::new()));
    item.as_table_like_mut().ok_or(PolicyEditError::WrongType(key))
}

fn parse(text: &str) -> Result<DocumentMut, PolicyEditError> {
    text.trim_start_matches('\u{feff}').parse().map_err(|_| PolicyEditError::NotToml)
}

/// Serializes a changed document with the byte order mark and line endings of the old text.
fn written(text: &str, document: &DocumentMut) -> String {
    let mut new = document.to_string().replace("\r\n", "\n");
    if text.find('\n').is_some_and(|at| text[..at].ends_with('\r')) {
        new = new.replace('\n', "\r\n");
    }
    if text.starts_with('\u{feff}') { format!("\u{feff}{new}") } else { new }
}

#[cfg(test)]
mod tests {
    use brigade_catalog::starter::POLICY_TOML;

    use super::*;
    use crate::PolicyState;

    fn set(texts: &[&str]) -> BTreeSet<String> {
        texts.iter().map(|text| (*text).to_owned()).collect()
    }

    fn rule(tools: &[&str], agents: &[&str]) -> RuleText {
        RuleText {
            name: "reads".to_owned(),
            comment: "Reads run without asking.".to_owned(),
            tools: set(tools),
            effects: vec!["local-read".to_owned()],
            agents: set(agents),
            ..RuleText::default()
        }
    }

    #[track_caller]
    fn check_permissions(text: &str, expect: &str) {
        let additions = PolicyAdditions {
            families: set(&["mcp"]),
            effects: set(&["network"]),
            remotes: set(&["https://a.example"]),
            labels: set(&["TOKEN"]),
            read_paths: set(&[]),
        };
        let added = add_permissions(text, &additions).unwrap();
        assert_eq!(added, expect);
        assert_eq!(add_permissions(&added, &additions).unwrap(), expect, "a second time changes nothing");
        assert!(PolicyState::parse("policy.toml", Some(added.as_bytes())).policy().is_some(), "{added}");
    }

    #[test]
    fn lists_that_restrict_get_what_is_missing() {
        check_permissions(
            "# mine\nallowed_families = [\"script\"] # x\nenv_bindings = { TOKEN = \"MINE\" }\n[mcp]\n\
             remote = [\"https://b.example\"]\n",
            "# mine\nallowed_families = [\"script\", \"mcp\"] # x\nenv_bindings = { TOKEN = \"MINE\" }\n[mcp]\n\
             remote = [\"https://b.example\", \"https://a.example\"]\n",
        );
        check_permissions(
            "allowed_effects = []\n",
            "allowed_effects = []\n\n[env_bindings]\nTOKEN = \"TOKEN\"\n\n[mcp]\nremote = [\"https://a.example\"]\n",
        );
    }

    #[test]
    fn a_rule_is_added_once_and_then_extended() {
        let added = add_rule(POLICY_TOML, &rule(&["git-*"], &["claude"])).unwrap();
        assert!(added.starts_with(POLICY_TOML), "{added}");
        let expect = "\n# Reads run without asking.\n[[auto_approve]]\nname = \"reads\"\ntools = [\"git-*\"]\n\
                      effects = [\"local-read\"]\nagents = [\"claude\"]\n";
        assert_eq!(&added[POLICY_TOML.len()..], expect);
        let more = add_rule(&added, &rule(&["git-*", "time-*"], &["codex"])).unwrap();
        assert!(more.ends_with(
            "tools = [\"git-*\", \"time-*\"]\neffects = [\"local-read\"]\nagents = [\"claude\", \"codex\"]\n"
        ));
        assert!(PolicyState::parse("policy.toml", Some(more.as_bytes())).policy().is_some(), "{more}");
    }

    #[test]
    fn a_rule_with_a_test_matches_only_its_arguments() {
        let arguments = [("path", "a*\\\"b\n?"), ("ключ", "é")];
        let arguments = arguments.map(|(name, text)| (name.to_owned(), text.to_owned())).into();
        let tested = Some("t".to_owned());
        let new = RuleText { arguments, tested, comment: String::new(), ..rule(&["t"], &["codex"]) };
        for text in ["", "# mine\n", "[[test]]\ntool = \"x\"\nexpect = \"asks\"\n\n[mcp]\n"] {
            let added = add_rule(text, &new).unwrap();
            let state = PolicyState::parse("policy.toml", Some(added.as_bytes()));
            let policy = state.policy().unwrap_or_else(|| panic!("{added}\n{:?}", state.issues()));
            let [rule] = policy.auto_approve.as_slice() else { panic!("{added}") };
            assert!(
                rule.covers_text("path", "a*\\\"b\n?") && !rule.covers_text("path", "axx\\\"b\n?"),
                "{added}"
            );
            let test = policy.tests.last().unwrap();
            assert_eq!(
                (
                    test.expect.to_string().as_str(),
                    test.args.get("path").and_then(brigade_core::Json::as_str)
                ),
                ("rule:reads", Some("a*\\\"b\n?"))
            );
        }
        assert_eq!(
            add_rule("", &rule(&["t"], &["codex"])).unwrap().lines().next(),
            Some("# Reads run without asking.")
        );
    }

    #[test]
    fn texts_that_cannot_be_edited_are_refused() {
        let additions = PolicyAdditions { families: set(&["mcp"]), ..PolicyAdditions::default() };
        assert_eq!(add_permissions("x = [", &additions), Err(PolicyEditError::NotToml));
        let wrong = add_permissions("allowed_families = 1\n", &additions);
        assert_eq!(wrong, Err(PolicyEditError::WrongType("allowed_families")));
    }
}
