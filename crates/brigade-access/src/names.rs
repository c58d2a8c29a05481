//! The listed names of tools, and ids that catalog entries may not have.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::OnceLock;

use brigade_catalog::Reads;
use brigade_core::{Fingerprint, words};

use crate::builtin::{alias_names, definitions, is_alias};

words! {
    /// How ids are spelled in listings.
    NameStyle {
        /// With their dots.
        Dotted = "dotted",
        /// With `_` for dots, for clients that do not allow dots.
        Plain = "plain",
    }
}

/// The longest listed name.
const MAX_NAME_LEN: usize = 64;

/// The longest part of an id before the digits that make it unique.
const MAX_PART_LEN: usize = 55;

/// The gateway's own tools, in order.
pub const CONTROL_TOOLS: &[&str] = &[
    "budget.get",
    "call.cancel",
    "call.list",
    "call.status",
    "call.wait",
    "output.read",
    "tools.call",
    "tools.describe",
    "tools.list",
    "tools.search",
];

/// Returns the ids of built-in tools, in order: those of the [table](crate::builtin), and those that read resources and
/// prompts of MCP servers.
pub fn builtin_ids() -> &'static [&'static str] {
    static IDS: OnceLock<Vec<&'static str>> = OnceLock::new();
    IDS.get_or_init(|| {
        let rows = definitions().iter().filter(|row| !row.is_control);
        let mut ids: Vec<&str> = rows.map(|row| row.id).collect();
        ids.extend(Reads::ALL.map(Reads::tool_id));
        ids.sort_unstable();
        ids
    })
}

/// Returns whether the id is reserved for Brigade, so that catalog entries may not have it.
pub fn is_reserved(id: &str) -> bool {
    CONTROL_TOOLS.binary_search(&id).is_ok() || builtin_ids().binary_search(&id).is_ok()
}

/// Returns whether a name is an id or alias of one of Brigade's own tools. A catalog entry with this id is not shown to
/// agents, and a catalog alias with this name has no effect.
pub fn is_taken(name: &str) -> bool {
    is_reserved(name) || is_alias(name)
}

/// Returns the name under which a tool is listed: 1 to 64 letters, digits, `_`, `-` and, if dotted, `.`.
///
/// An id that fits is also the name. In other ids, `_` replaces the characters that do not fit, and eight digits of the
/// id's sha256 make the name unique.
pub fn listed_name(id: &str, style: NameStyle) -> String {
    spelled_name(id, style).into_owned()
}

/// Spells the [name](listed_name) under which a tool is listed; borrowed if it is the id itself.
fn spelled_name(id: &str, style: NameStyle) -> Cow<'_, str> {
    let fits = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.');
    if (1..=MAX_NAME_LEN).contains(&id.len()) && id.chars().all(fits) {
        let keeps_dots = style == NameStyle::Dotted || !id.contains('.');
        return if keeps_dots { Cow::Borrowed(id) } else { Cow::Owned(id.replace('.', "_")) };
    }
    let spelled = |c: char| if fits(c) && (c != '.' || style == NameStyle::Dotted) { c } else { '_' };
    let part: String = id.chars().take(MAX_PART_LEN).map(spelled).collect();
    Cow::Owned(format!("{part}-{}", &Fingerprint::of_bytes(id.as_bytes()).to_hex()[..8]))
}

/// Ids that cannot be listed because their names clash.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NameClashes {
    unlisted: BTreeSet<String>,
    /// Each name of several entries, with their ids, in order.
    pub groups: BTreeMap<String, Vec<String>>,
}

impl NameClashes {
    /// Compares the names of catalog entries, in one spelling, with each other and with the names of Brigade's tools.
    ///
    /// Entries with the same name are all unlisted. Brigade's own tools keep their names and aliases.
    pub fn find<'a>(ids: impl IntoIterator<Item = &'a str>, style: NameStyle) -> NameClashes {
        let own = CONTROL_TOOLS.iter().chain(builtin_ids()).map(|id| (spelled_name(id, style), *id, true));
        // Aliases are spelled the same in both styles.
        let aliases = alias_names().map(|alias| (Cow::Borrowed(alias), alias, true));
        let entries = ids.into_iter().map(|id| (spelled_name(id, style), id, false));
        let mut named: Vec<(Cow<'_, str>, &str, bool)> = entries.chain(own).chain(aliases).collect();
        named.sort_unstable();
        let mut clashes = NameClashes::default();
        for alike in named.chunk_by(|one, next| one.0 == next.0).filter(|alike| 1 < alike.len()) {
            let ids_of =
                |is_own: bool| alike.iter().filter(move |named| named.2 == is_own).map(|named| named.1);
            let mut ids: Vec<&str> = ids_of(false).collect();
            let reserved = ids_of(true).find(|own| !ids.contains(own));
            if ids.is_empty() || (ids.len() < 2 && reserved.is_none()) {
                continue;
            }
            clashes.unlisted.extend(ids.iter().map(|id| (*id).to_owned()));
            ids.extend(reserved);
            ids.sort_unstable();
            clashes.groups.insert(alike[0].0.to_string(), ids.into_iter().map(str::to_owned).collect());
        }
        clashes
    }

    /// Returns whether an entry cannot be listed.
    pub fn is_unlisted(&self, id: &str) -> bool {
        self.unlisted.contains(id)
    }
}

#[cfg(test)]
mod tests;
