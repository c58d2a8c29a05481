//! Combines the catalogs of project and user, and resolves typed names.

use std::collections::BTreeMap;

use brigade_core::{ConfigIssue, NextStep, Severity};

use crate::model::{Catalog, Level, LostEntries, Runtimes, Tool};

/// Why a file of the user is not used. Another account may be able to write it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UnsafeUserFile {
    /// Other users can write it.
    Writable,
    /// It belongs to another account.
    Foreign,
}

impl UnsafeUserFile {
    const ALL: [UnsafeUserFile; 2] = [UnsafeUserFile::Writable, UnsafeUserFile::Foreign];

    /// Returns what is wrong, as a sentence without a final period.
    pub const fn message(self) -> &'static str {
        match self {
            UnsafeUserFile::Writable => "other users can write the file, so it is ignored",
            UnsafeUserFile::Foreign => "the file belongs to another account, so it is ignored",
        }
    }

    /// Returns what to do, as the end of a sentence.
    pub const fn remedy(self) -> &'static str {
        match self {
            UnsafeUserFile::Writable => {
                "read what it says, and take the right to write it from others (`chmod o-w`)"
            }
            UnsafeUserFile::Foreign => {
                "read what it says, and make yourself its owner (`chown`), or put a copy of your own in its place"
            }
        }
    }

    /// Returns the step that fixes it, for the file at a path.
    pub fn fix(self, file: &str) -> NextStep {
        match self {
            UnsafeUserFile::Writable => NextStep::CloseFile(file.to_owned()),
            UnsafeUserFile::Foreign => NextStep::OwnFile(file.to_owned()),
        }
    }

    /// Returns the reason of an issue, if the issue is about an unused file.
    pub fn said_by(issue: &ConfigIssue) -> Option<UnsafeUserFile> {
        UnsafeUserFile::ALL.into_iter().find(|why| why.message() == issue.message)
    }
}

/// An entry that is hidden by an entry with the same id at a nearer level.
#[derive(Clone, Debug, PartialEq)]
pub struct ShadowedEntry {
    /// The hidden entry.
    pub tool: Tool,
}

/// An alias without effect, because another tool has the name.
#[derive(Clone, Debug, PartialEq)]
pub struct TakenAlias<'c> {
    /// The tool with the alias.
    pub tool: &'c Tool,
    /// The position in its `aliases`, from 1.
    pub number: usize,
    /// The alias.
    pub alias: &'c str,
    /// The id of the other tool with this alias or id.
    pub other: &'c str,
}

impl Catalog {
    /// Adds the entries of a farther level after those of this catalog.
    ///
    /// An entry replaces one of a farther level as a whole, even if it is disabled or broken. Errors of farther files
    /// are kept separately and do not affect the project. If a file is not text, the entries that it would hide are
    /// unknown, so entries of farther levels are not used.
    #[must_use]
    pub fn with_level(mut self, farther: Catalog) -> Catalog {
        let LostEntries::Ids(lost) = &mut self.lost else { return self };
        let mut ids: Vec<String> =
            self.tools.iter().map(|tool| tool.id.as_str().to_owned()).chain(lost.iter().cloned()).collect();
        ids.sort();
        match farther.lost {
            LostEntries::Ids(more) => lost.extend(more),
            LostEntries::Unknown => self.lost = LostEntries::Unknown,
        }
        for tool in farther.tools {
            if ids.binary_search_by(|id| id.as_str().cmp(tool.id.as_str())).is_ok() {
                self.shadowed.push(ShadowedEntry { tool });
            } else {
                self.tools.push(tool);
            }
        }
        self.user_issues.extend(farther.issues);
        self.user_settings = std::mem::take(&mut self.user_settings).or(farther.settings);
        self.indexed()
    }

    /// Finds the tool that a typed name means: its exact id, else an alias, else `<source>:<id>`.
    ///
    /// An alias has no effect if two tools have it, if it is an id, or if it `is_taken` by something else.
    pub fn named(&self, name: &str, is_taken: impl Fn(&str) -> bool) -> Option<&Tool> {
        let name = name.trim();
        if let Some(tool) = self.tool(name) {
            return Some(tool);
        }
        if name.is_empty() {
            return None;
        }
        let has_name = |tool: &&Tool| !is_taken(name) && tool.aliases.iter().any(|alias| alias == name);
        let mut with_alias = self.tools().iter().filter(has_name);
        match (with_alias.next(), with_alias.next()) {
            (Some(tool), None) => return Some(tool),
            (Some(_), Some(_)) => return None,
            (None, _) => {}
        }
        let (source, id) = name.split_once(':')?;
        self.tool(id).filter(|tool| tool.source().is_some_and(|own| own.as_str() == source))
    }

    /// Lists the aliases without effect.
    pub fn taken_aliases(&self) -> Vec<TakenAlias<'_>> {
        let mut owners: BTreeMap<&str, Vec<&Tool>> = BTreeMap::new();
        for tool in self.tools() {
            for alias in &tool.aliases {
                let owners = owners.entry(alias).or_default();
                if !owners.iter().any(|owner| owner.id == tool.id) {
                    owners.push(tool);
                }
            }
        }
        let mut found = Vec::new();
        for tool in self.tools().iter().filter(|tool| !tool.aliases.is_empty()) {
            for (at, alias) in tool.aliases.iter().enumerate() {
                let is_other = |other: &&Tool| other.id != tool.id;
                let by_id = self.tool(alias).filter(is_other);
                let by_alias = || owners.get(alias.as_str())?.iter().copied().find(is_other);
                if let Some(other) = by_id.or_else(by_alias) {
                    found.push(TakenAlias { tool, number: at + 1, alias, other: other.id.as_str() });
                }
            }
        }
        found
    }

    /// Returns the issues of the file that a tool is in.
    pub fn issues_of<'c>(&'c self, tool: &Tool) -> impl Iterator<Item = &'c ConfigIssue> + use<'c> {
        let (issues, is_own) = match tool.origin.level {
            Level::Project => (self.issues(), true),
            Level::ProjectRegistry | Level::User | Level::UserRegistry | Level::Discovered => {
                (self.user_issues(), false)
            }
        };
        let file = tool.origin.place.file.clone();
        issues.iter().filter(move |issue| is_own || issue.place.file == file)
    }

    /// Returns whether both files are without errors, so that all entries are known.
    pub fn is_whole(&self) -> bool {
        self.is_valid() && self.user_issues().iter().all(|issue| issue.severity != Severity::Error)
    }
}

impl Runtimes {
    /// Adds the runtimes of the user's file after those of this project. Of equal ids, the runtime of the project wins.
    #[must_use]
    pub fn with_user(self, user: Runtimes) -> Runtimes {
        let (mut runtimes, issues) = self.into_parts();
        let (of_user, user_issues) = user.into_parts();
        for runtime in of_user {
            if !runtimes.iter().any(|known| known.id == runtime.id) {
                runtimes.push(runtime);
            }
        }
        Runtimes::new(runtimes, issues).with_user_issues(user_issues)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PROJECT: &str = "
        [[tool]]
        id = 'a'
        name = 'A'
        family = 'script'
        aliases = ['first', 'b', 'both']
        [[tool]]
        id = 'off'
        name = 'Off'
        family = 'script'
        enabled = false
        [[tool]]
        id = 'broken'
        name = 'Broken'
        family = 'nonsense'
        [[tool]]
        id = 'lost
        name = 'Lost'
    ";

    fn entry(id: &str, more: &str) -> String {
        format!("[[tool]]\nid = '{id}'\nname = '{id}'\nfamily = 'script'\n{more}\n")
    }

    fn layered(user: &str) -> Catalog {
        let user = Catalog::parse("/u/tools.toml", Level::User, user.as_bytes());
        Catalog::parse("t", Level::Project, PROJECT.as_bytes()).with_level(user)
    }

    #[test]
    fn broken_project_entries_hide_user_entries() {
        let user: String = ["a", "off", "broken", "lost", "own"].map(|id| entry(id, "")).concat();
        let catalog = layered(&user);
        let own: Vec<_> = catalog.tools().iter().filter(|tool| tool.origin.level == Level::User).collect();
        assert_eq!(own.iter().map(|tool| tool.id.as_str()).collect::<Vec<_>>(), ["own"]);
        let hidden: Vec<_> = catalog.shadowed().iter().map(|hidden| hidden.tool.id.as_str()).collect();
        assert_eq!(hidden, ["a", "off", "broken", "lost"]);
        assert!(catalog.tool("a").is_some_and(|tool| tool.origin.level == Level::Project));
    }

    #[test]
    fn binary_project_file_disables_user_entries() {
        let wide: Vec<u8> = format!("\u{feff}{PROJECT}").encode_utf16().flat_map(u16::to_le_bytes).collect();
        let latin = [entry("b", "").as_bytes(), b"# \xe9\n"].concat();
        for bytes in [wide, latin] {
            let user = Catalog::parse("/u/tools.toml", Level::User, entry("a", "").as_bytes());
            let catalog = Catalog::parse("t", Level::Project, &bytes).with_level(user);
            assert!(catalog.tools().iter().all(|tool| tool.origin.level == Level::Project));
            assert!(!catalog.is_valid());
        }
    }

    #[test]
    fn errors_of_the_user_are_kept_apart() {
        let catalog = layered("[[tool]]\nid = 'own'\n");
        let before = Catalog::parse("t", Level::Project, PROJECT.as_bytes());
        assert_eq!(catalog.issues(), before.issues());
        assert_eq!(catalog.user_issues().len(), 2);
        assert!(!catalog.is_whole());
    }

    #[test]
    fn a_name_is_an_id_an_alias_or_a_qualified_id() {
        let user = format!(
            "{}{}",
            entry("b", "aliases = ['both', 'mine']\nsource = {kind = 'cli'}"),
            entry("c", "")
        );
        let catalog = layered(&user);
        let named = |name: &str| catalog.named(name, |_| false).map(|tool| tool.id.as_str());
        assert_eq!(named("a"), Some("a"));
        assert_eq!(named("first"), Some("a"));
        assert_eq!(named("b"), Some("b"));
        assert_eq!(named("mine"), Some("b"));
        assert_eq!(named("both"), None);
        assert_eq!(named("cli:b"), Some("b"));
        assert_eq!(named("script:c"), Some("c"));
        assert_eq!(named("script:b"), None);
        assert_eq!(named(""), None);
        let beside = |name: &str| catalog.named(name, |name| name == "first").map(|tool| tool.id.as_str());
        assert_eq!((beside("first"), beside("mine"), beside("a")), (None, Some("b"), Some("a")));
        let taken: Vec<_> = catalog
            .taken_aliases()
            .into_iter()
            .map(|taken| (taken.tool.id.as_str(), taken.alias, taken.other))
            .collect();
        assert_eq!(taken, [("a", "b", "b"), ("a", "both", "b"), ("b", "both", "a")]);
    }
}
