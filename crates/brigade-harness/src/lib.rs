//! Reads and edits the files of agent programs.
//!
//! This crate owns:
//!
//! * the tables of [harnesses](Harness), [plugins](PluginStore) and [clients](Client): files per
//!   platform, format, container and spelling;
//! * readers of [servers](read_config), [skills](read_skill) and [commands](read_command), which turn bytes into
//!   [entries](DiscoveredEntry) and [issues](DiscoveryIssue) without any secret value;
//! * [registration](Definition) of what was read, as entries of a catalog;
//! * [edits](put) that add, change or remove the entry `brigade` and keep every other byte.
//!
//! It does not know disks or calls. Its callers read and write the files.
//!
//! ```
//! use brigade_harness::{Source, harness, read_config};
//!
//! let cursor = harness("cursor").expect("it is in the table");
//! let config = cursor.configs()[0];
//! let source =
//!     Source { harness: cursor, extent: config.extent, path: "/home/me/.cursor/mcp.json", workspace: "/work" };
//! let file = br#"{"mcpServers": {"github": {"command": "npx", "args": ["-y", "x"], "env": {"TOKEN": "ghp_x"}}}}"#;
//! let reading = read_config(&source, &config, file);
//! let entry = &reading.entries[0];
//! assert_eq!((entry.id.as_str(), entry.env_labels.as_slice()), ("mcp:github", ["TOKEN".to_owned()].as_slice()));
//! assert_eq!(entry.origins[0].reference, "mcp:github@cursor/user");
//! assert_eq!(entry.literal_secrets, ["env.TOKEN"]);
//! ```
//!
//! An entry can be inserted into a file and removed again:
//!
//! ```
//! use brigade_harness::{Connection, Traces, client, put, take};
//!
//! let cursor = client("cursor").expect("it is in the table");
//! let file = b"{\n  // mine\n  \"mcpServers\": {}\n}\n";
//! let connection = Connection::stdio("brigade", "local", Some("/work"));
//! let entry = cursor.entry(&connection).expect("every client starts programs");
//! let put = put(cursor, Some(file), &entry, None)?;
//! assert!(put.text.contains("\"brigade\": {\n      \"command\": \"brigade\","));
//! assert!(put.text.starts_with("{\n  // mine\n"));
//!
//! let taken = take(cursor, put.text.as_bytes(), &put.traces, None)?.expect("the entry is there");
//! assert_eq!(taken.text.as_deref(), Some("{\n  // mine\n  \"mcpServers\": {}\n}\n"));
//! # Ok::<(), brigade_harness::EditRefusal>(())
//! ```

#![forbid(unsafe_code)]
#![warn(missing_docs)]

mod beside;
mod client;
mod connected;
mod container;
mod curl;
mod edit;
mod entry;
mod found;
mod harness;
mod hooks;
mod inventory;
mod json;
mod launch;
mod plugins;
mod read;
mod register;
mod registered;
mod remembered;
mod servers;
mod skill;
mod spelling;
mod switches;
mod toml;
mod urls;
mod values;
mod variables;

pub use brigade_core::yaml::Position;
pub use client::{Client, Files, Format, Grade, Platform, Scope, Transport, client};
pub use connected::{ConnectedEntries, ConnectedEntry, ConnectedFileError};
pub use edit::{EditRefusal, EntryInsertion, EntryRemoval, Traces, put, take};
pub use entry::{Connection, Entry, NAME, TOKEN_VARIABLE, holds, token_variable};
pub use found::{
    DiscoveredEntry, DiscoveryIssue, EntryFamily, EntryOrigin, EntrySource, FileState, FileStatus,
    HarnessFiles,
};
pub use harness::{
    Config, Extent, FolderContent, Harness, PathContent, SkillDirectory, Syntax, clients, harness, harnesses,
};
pub use hooks::{HOOK_FILES, HookFile, OldHooks, old_hooks};
pub use inventory::{DefinitionLookupError, Inventory, name_entries, named, natives};
pub use launch::{Launch, Launches, OmittedValue, shows_words};
pub use plugins::{
    InstalledPlugin, PLUGIN_FILE_LIMIT, PluginLayout, PluginManifest, PluginStore, PluginSwitches,
    SwitchForm, installed_plugins, linked_plugin, newest_version, read_manifest, read_plugin_switches,
};
pub use read::{MAX_ENTRIES, Reading, Source, read_config};
pub use register::{Definition, SourceChange, may_be_elsewhere, source_changes};
pub use registered::RegistrationCache;
pub use remembered::{ChangedEntry, Difference, RememberedEntries, RememberedFileError};
pub use servers::{Server, servers};
pub use skill::{COMMAND_LIMIT, SkillFile, read_command, read_skill};
pub use switches::{DisabledServers, SwitchFile, read_switches};
pub use values::ValueKind;
