//! The key of a pin: which file belongs to which tool of which server.
//!
//! A server has the name that receipts use: `mcp_server_id`, or else `runtime_id`. Two catalog entries may use one name
//! for servers with different commands. A pin records the command that it was created with. If that command belongs to
//! another entry, a tool has a separate pin, whose name ends in a fingerprint. An entry whose command is edited keeps
//! its pin.

use brigade_call::ContractLabels;
use brigade_catalog::{Catalog, Family, Tool};
use brigade_core::{Fingerprint, RecordedWord};
use serde::{Deserialize, Serialize};

/// The longest part of a file name that is used unchanged.
const PART: usize = 80;

/// Identifies how a server is started: command and directory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct ServerCommand(pub(crate) Fingerprint);

impl ServerCommand {
    /// Returns the command of the server of a tool.
    pub fn from_tool(tool: &Tool) -> ServerCommand {
        let builder = Fingerprint::builder("brigade.mcp-command.v1");
        ServerCommand(
            builder.text("command", tool.command.as_deref()).text("cwd", tool.cwd.as_deref()).finish(),
        )
    }

    /// Returns the commands of tools. Computes each server's command only once.
    pub(crate) fn of_all<'c>(tools: impl Iterator<Item = &'c Tool>) -> Vec<ServerCommand> {
        let mut last: Option<(&Tool, ServerCommand)> = None;
        let command = |tool: &'c Tool| {
            let known = last.filter(|(before, _)| before.command == tool.command && before.cwd == tool.cwd);
            let command = known.map_or_else(|| ServerCommand::from_tool(tool), |(_, command)| command);
            last = Some((tool, command));
            command
        };
        tools.map(command).collect()
    }

    /// Returns the suffix that distinguishes a separate file from the common one.
    pub fn variant(self) -> String {
        self.0.short()
    }
}

/// One tool of one server.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[non_exhaustive]
pub struct McpTool {
    /// The server, as receipts name it.
    pub server: String,
    /// The tool, as the server names it.
    pub tool: String,
    /// Which of several servers with this name, if it does not have the plain name.
    pub variant: Option<String>,
}

impl McpTool {
    /// Returns the MCP tool that a call with this contract uses; `None` if it is not an MCP call.
    pub fn of_contract(family: &RecordedWord<Family>, contract: &ContractLabels) -> Option<McpTool> {
        let label = |label: &Option<String>| label.clone().filter(|text| !text.is_empty());
        if *family != Family::Mcp {
            return None;
        }
        let server = label(&contract.mcp_server_id).or_else(|| label(&contract.runtime_id))?;
        Some(McpTool { server, tool: label(&contract.mcp_tool_name)?, variant: None })
    }

    /// Returns the MCP tool of a catalog tool, by its names alone; `None` if it is not a complete MCP tool.
    pub fn of_tool(tool: &Tool) -> Option<McpTool> {
        let name = tool.mcp_tool_name.clone().filter(|text| !text.is_empty() && tool.reads.is_none());
        Some(McpTool { server: tool.mcp_server()?.to_owned(), tool: name?, variant: None })
    }

    /// Returns whether a catalog tool has the same server and tool name.
    fn has_names_of(&self, tool: &Tool) -> bool {
        tool.mcp_server() == Some(&self.server) && tool.mcp_tool_name.as_ref() == Some(&self.tool)
    }

    /// Returns the server commands of all entries with the same server and tool name.
    pub fn commands(&self, catalog: &Catalog) -> Vec<ServerCommand> {
        ServerCommand::of_all(catalog.tools().iter().filter(|tool| self.has_names_of(tool)))
    }

    /// Returns the name of its file.
    pub fn file_name(&self) -> String {
        file_name(&self.server, &self.tool, self.variant.as_deref())
    }
}

/// Returns whether a separate file is needed next to the common one of a name.
///
/// `all` are the commands of all entries of that name in the order of the catalog; `recorded` is the command that the
/// common file was created with, if known.
pub(crate) fn has_own_place(
    own: ServerCommand,
    all: &[ServerCommand],
    is_there: bool,
    recorded: impl FnOnce() -> Option<ServerCommand>,
) -> bool {
    if !is_there && all.iter().all(|command| *command == own) {
        return false;
    }
    match recorded() {
        Some(recorded) if recorded == own => false,
        Some(_) | None if is_there => true,
        // If no entry has the recorded command any more, the command was edited.
        Some(recorded) => all.contains(&recorded),
        None => all.first().is_some_and(|first| *first != own),
    }
}

/// Creates one file name from two names that may contain anything; different names never share a file.
///
/// Lower-case letters, digits, `_`, `.` and `-` stay. A fingerprint of both names follows if another character was
/// replaced, if the two names could be split in another place, or if there is a variant.
fn file_name(server: &str, tool: &str, variant: Option<&str>) -> String {
    let names = format!("{}--{}", safe(server).trim_start_matches(['-', '.']), safe(tool));
    if is_plain(server) && is_plain(tool) && variant.is_none() {
        return format!("{names}.json");
    }
    let both = Fingerprint::builder("brigade.pin-file.v1").text("server", server).text("tool", tool);
    let all = match variant {
        Some(variant) => both.text("variant", variant),
        None => both,
    };
    format!("{names}--{}.json", all.finish().short())
}

/// Creates a file name from the name of a server.
pub(crate) fn server_file_name(server: &str, variant: Option<&str>) -> String {
    let name = safe(server);
    let name = name.trim_start_matches(['-', '.']);
    if is_plain(server) && variant.is_none() {
        return format!("{name}.json");
    }
    let whole = Fingerprint::builder("brigade.listing-file.v1").text("server", server);
    format!("{name}--{}.json", whole.text("variant", variant).finish().short())
}

fn safe(name: &str) -> String {
    let legal = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || matches!(c, '_' | '.' | '-');
    name.chars().take(PART).map(|c| if legal(c) { c } else { '_' }).collect()
}

fn is_plain(name: &str) -> bool {
    safe(name) == name
        && !name.is_empty()
        && !name.starts_with(['-', '.'])
        && !name.ends_with('-')
        && !name.contains("--")
}

#[cfg(test)]
mod tests {
    use brigade_fs::RelPath;

    use super::*;
    use crate::pins::PINS;

    #[test]
    fn unusual_names_get_distinct_file_names() {
        assert_eq!(file_name("voice", "say_it.v2", None), "voice--say_it.v2.json");
        assert_eq!(server_file_name("voice", None), "voice.json");
        let odd = ["a/b", "a_b", "A_b", "", "..", "-x", "x-", "a--b", "é", "a\u{0}", &"x".repeat(500)];
        let variants = [None, Some("1"), Some("2")];
        let mut names: Vec<String> = odd
            .iter()
            .flat_map(|server| odd.iter().map(move |tool| (server, tool)))
            .flat_map(|(server, tool)| variants.map(|variant| file_name(server, tool, variant)))
            .collect();
        names.extend(odd.iter().flat_map(|server| variants.map(|variant| server_file_name(server, variant))));
        let mut different = names.clone();
        different.sort_unstable();
        different.dedup();
        assert_eq!(different.len(), names.len(), "different names never share a file");
        for name in &names {
            assert!(RelPath::from_static(PINS).join(name).is_ok() && name.len() < 255, "{name}");
            assert!(!name.starts_with('.') && !name.contains(['/', '\0']), "{name}");
        }
        assert_ne!(file_name("a--b", "c", None), file_name("a", "b--c", None));
    }

    #[test]
    fn another_server_of_the_same_name_has_its_own_file() {
        let [one, two, three] =
            ["1", "2", "3"].map(|text| ServerCommand(Fingerprint::of_bytes(text.as_bytes())));
        let check = |own, all: &[ServerCommand], is_there, recorded, expect, why: &str| {
            assert_eq!(has_own_place(own, all, is_there, || recorded), expect, "{why}");
        };
        check(one, &[one], false, None, false, "the only one");
        check(two, &[two], false, Some(one), false, "the only one, whose command was edited");
        check(one, &[one, two], false, Some(one), false, "the one that the common file belongs to");
        check(two, &[one, two], false, Some(one), true, "another one");
        check(three, &[three, two], false, Some(one), false, "edited next to another one");
        check(one, &[one, two], false, None, false, "the first of two unknown ones");
        check(two, &[one, two], false, None, true, "the second of two unknown ones");
        check(two, &[two], true, Some(one), true, "the other one was removed");
        check(two, &[two], true, Some(two), false, "recorded is recorded");
    }
}
