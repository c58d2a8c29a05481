//! Edits the agents of a gateway.toml. Keeps comments, order and all other text.

use std::fmt;

use brigade_core::{AgentName, Fingerprint};
use brigade_policy::RiskLevel;
use thiserror::Error;
use toml_edit::{ArrayOfTables, DocumentMut, Item, RawString, Table, value};

use super::Confirm;

/// The number of random bytes of a token.
pub const TOKEN_BYTES: usize = 32;

/// A token. It is shown once and never stored; its debug form hides it.
#[derive(Clone, PartialEq, Eq)]
pub struct Token(String);

impl Token {
    /// Encodes random bytes as a token.
    pub fn of_random(bytes: [u8; TOKEN_BYTES]) -> Token {
        let hex: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
        Token(format!("brigade_{hex}"))
    }

    /// Returns the secret text that a client sends.
    pub fn expose(&self) -> &str {
        &self.0
    }

    /// Returns the hash that is stored.
    pub fn sha256(&self) -> Fingerprint {
        Fingerprint::of_bytes(self.0.as_bytes())
    }
}

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Token(..)")
    }
}

/// An agent to add.
#[derive(Clone, Debug)]
pub struct NewAgent {
    /// Its name.
    pub name: AgentName,
    /// The sha256 of its token; `None` for a program that starts the gateway itself.
    pub token_sha256: Option<Fingerprint>,
    /// Whether the client's own dialogue may approve its calls, and up to which risk.
    pub confirm: Option<RiskLevel>,
}

impl NewAgent {
    /// Describes an agent without a token, whose calls only people at the command line approve.
    pub fn new(name: AgentName) -> NewAgent {
        NewAgent { name, token_sha256: None, confirm: None }
    }
}

/// Why the agents of a file were not changed.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum EditError {
    /// The file is not TOML.
    #[error("not valid TOML; fix it by hand first")]
    NotToml,
    /// `agent` is not a list of tables.
    #[error("`agent` is not a list of tables; write every agent under its own [[agent]] header")]
    NotTables,
    /// An agent of this name exists.
    #[error("there is an agent `{0}` already")]
    Exists(AgentName),
    /// No agent has this name.
    #[error("there is no agent `{name}`")]
    Unknown {
        /// The name.
        name: AgentName,
        /// The most similar name.
        near: Option<String>,
    },
}

/// Adds an agent at the end. `None` means that the file is missing. The new file then also gets the agent `local`,
/// which exists without a file.
///
/// # Errors
/// Fails if an agent of this name exists, or the file cannot be edited.
pub fn add_agent(text: Option<&str>, new: &NewAgent) -> Result<String, EditError> {
    let mut document = parse(text.unwrap_or_default())?;
    let agents = tables(&mut document)?;
    if position(agents, &new.name).is_some() {
        return Err(EditError::Exists(new.name.clone()));
    }
    if text.is_none() && new.name != AgentName::local() {
        let mut local = Table::new();
        local.insert("name", value(AgentName::LOCAL));
        agents.push(local);
    }
    let mut table = Table::new();
    table.insert("name", value(new.name.as_str()));
    if let Some(token) = new.token_sha256 {
        table.insert("token_sha256", value(token.to_hex()));
    }
    if let Some(risk) = new.confirm {
        table.insert("confirm", value(Confirm::Elicitation.as_str()));
        table.insert("confirm_risk", value(risk.as_str()));
    }
    if !agents.is_empty() || text.is_some_and(|text| !text.trim().is_empty()) {
        table.decor_mut().set_prefix("\n");
    }
    agents.push(table);
    Ok(written(text.unwrap_or_default(), &document))
}

/// Replaces the token of an agent.
///
/// # Errors
/// Fails if no agent has this name, or the file cannot be edited.
pub fn rotate_token(text: &str, name: &AgentName, token_sha256: Fingerprint) -> Result<String, EditError> {
    let mut document = parse(text)?;
    let agents = tables(&mut document)?;
    let at = find(agents, name)?;
    let table = agents.get_mut(at).expect("the position is in the list");
    match table.get_mut("token_sha256").and_then(Item::as_value_mut) {
        Some(old) => {
            let decor = old.decor().clone();
            *old = token_sha256.to_hex().into();
            *old.decor_mut() = decor;
        }
        None => {
            table.insert("token_sha256", value(token_sha256.to_hex()));
        }
    }
    Ok(written(text, &document))
}

/// Removes the table of an agent and the comments directly above it. Comments before a blank line stay.
///
/// # Errors
/// Fails if no agent has this name, or the file cannot be edited.
pub fn remove_agent(text: &str, name: &AgentName) -> Result<String, EditError> {
    let mut document = parse(text)?;
    let agents = tables(&mut document)?;
    let at = find(agents, name)?;
    let removed = agents.remove(at);
    let above = removed.decor().prefix().and_then(RawString::as_str).unwrap_or_default();
    let stays = above.rfind("\n\n").or_else(|| above.rfind("\n\r\n")).map_or("", |end| &above[..=end]);
    if !stays.trim().is_empty() {
        let after = removed.position().unwrap_or_default();
        insert_comments(&mut document, after, stays);
    }
    Ok(written(text, &document))
}

/// Inserts comments before the first table after a position, or at the end.
fn insert_comments(document: &mut DocumentMut, after: isize, comments: &str) {
    let next = positions(document).into_iter().filter(|position| after < *position).min();
    match next.and_then(|next| table_at(document, next)) {
        Some(table) => {
            let own = table.decor().prefix().and_then(RawString::as_str).unwrap_or_default();
            let gap = if own.starts_with(['\n', '\r']) { "" } else { "\n" };
            let both = format!("{comments}{gap}{own}");
            table.decor_mut().set_prefix(both);
        }
        None => {
            let own = document.trailing().as_str().unwrap_or_default();
            let both = format!("{comments}{own}");
            document.set_trailing(both);
        }
    }
}

/// Lists the positions of all tables with a header.
fn positions(table: &Table) -> Vec<isize> {
    let below = |item: &Item| match item {
        Item::Table(table) => positions(table),
        Item::ArrayOfTables(tables) => tables.iter().flat_map(positions).collect(),
        Item::None | Item::Value(_) => Vec::new(),
    };
    table.position().into_iter().chain(table.iter().flat_map(|(_, item)| below(item))).collect()
}

fn table_at(table: &mut Table, position: isize) -> Option<&mut Table> {
    if table.position() == Some(position) && !table.is_implicit() {
        return Some(table);
    }
    table.iter_mut().find_map(|(_, item)| match item {
        Item::Table(table) => table_at(table, position),
        Item::ArrayOfTables(tables) => tables.iter_mut().find_map(|table| table_at(table, position)),
        Item::None | Item::Value(_) => None,
    })
}

fn parse(text: &str) -> Result<DocumentMut, EditError> {
    text.trim_start_matches('\u{feff}').parse().map_err(|_| EditError::NotToml)
}

/// Serializes a changed document with the byte order mark and line endings of the old text.
fn written(text: &str, document: &DocumentMut) -> String {
    let mut new = document.to_string().replace("\r\n", "\n");
    if !text.is_empty() && !text.ends_with('\n') && new.ends_with('\n') {
        new.pop();
    }
    if text.find('\n').is_some_and(|at| text[..at].ends_with('\r')) {
        new = new.replace('\n', "\r\n");
    }
    if text.starts_with('\u{feff}') { format!("\u{feff}{new}") } else { new }
}

fn tables(document: &mut DocumentMut) -> Result<&mut ArrayOfTables, EditError> {
    let item = document.entry("agent").or_insert_with(|| Item::ArrayOfTables(ArrayOfTables::new()));
    item.as_array_of_tables_mut().ok_or(EditError::NotTables)
}

fn name_of(table: &Table) -> Option<&str> {
    table.get("name").and_then(Item::as_str).map(str::trim)
}

fn position(agents: &ArrayOfTables, name: &AgentName) -> Option<usize> {
    agents.iter().position(|table| name_of(table) == Some(name.as_str()))
}

fn find(agents: &ArrayOfTables, name: &AgentName) -> Result<usize, EditError> {
    position(agents, name).ok_or_else(|| {
        let near = brigade_core::closest(name.as_str(), agents.iter().filter_map(name_of));
        EditError::Unknown { name: name.clone(), near: near.map(str::to_owned) }
    })
}
