//! Reads the servers of a client's file.

use brigade_core::Json;
use brigade_core::yaml::Position;

use crate::client::{Client, Format};
use crate::edit::{EditRefusal, decode};
use crate::{entry, json, toml};

/// A server in a client's file.
#[derive(Clone, Debug, PartialEq)]
pub struct Server {
    /// Its name.
    pub name: String,
    /// Its entry. The file may contain any value.
    pub value: Json,
    /// Its position.
    pub at: Position,
}

impl Server {
    /// Returns the command line of the server; empty if the entry has none.
    pub fn words(&self) -> Vec<String> {
        entry::words(&self.value)
    }

    /// Returns whether it has members that Brigade never writes.
    pub fn has_additions(&self) -> bool {
        entry::has_additions(&self.value)
    }
}

/// Lists the servers of a file, in order.
///
/// # Errors
/// Fails if the file cannot be read, or if its servers are not in an object or table.
pub fn servers(client: &Client, file: &[u8]) -> Result<Vec<Server>, EditRefusal> {
    let text = decode(file)?;
    let entries = match client.format {
        Format::Json | Format::JsonWithComments | Format::JsonWithCommas => json::entries(client, text),
        Format::Toml => toml::entries(client, text),
    }?;
    Ok(entries.into_iter().map(|(name, value, at)| Server { name, value, at }).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::client;

    fn read(label: &str, text: &str) -> Vec<(String, String, usize)> {
        let servers = servers(client(label).unwrap(), text.as_bytes()).unwrap();
        servers.iter().map(|server| (server.name.clone(), server.words().join(" "), server.at.line)).collect()
    }

    fn row(name: &str, words: &str, line: usize) -> (String, String, usize) {
        (name.to_owned(), words.to_owned(), line)
    }

    #[test]
    fn whatever_real_files_hold_is_read() {
        let text = "\u{feff}{\"mcpServers\": {\n\"a\": {\"command\": \"npx -y x\"},\n\"b/ c\\u0001\": null,\n\
            \"c\": {\"command\": \"npx\", \"args\": \"-y\"}, \"d\": {\"command\": \"z\", \"url\": \"u\", \"env\": {\"N\": 1}},\n\
            \"d\": [], \"e\": {\"command\": {\"path\": \"p\", \"args\": [\"q\"]}}}}";
        assert_eq!(
            read("cursor", text),
            [
                row("a", "npx -y x", 2),
                row("b/ c\u{1}", "", 3),
                row("c", "npx -y", 4),
                row("d", "z", 4),
                row("d", "", 5),
                row("e", "p q", 5),
            ]
        );
        let toml = "[mcp_servers]\na = { command = 'x', args = ['y'] }\n[mcp_servers.\"b c\"]\nurl = 'u'\n";
        assert_eq!(read("codex", toml), [row("a", "x y", 2), row("b c", "", 3)]);
        assert_eq!(read("codex", "model = 'x'\n"), []);
        assert_eq!(read("gemini", "\n"), []);
    }
}
