//! Stores the tool lists of servers: the names that are known of each, and what it has listed since.
//!
//! Each server has one file, `.brigade/tools/pins/servers/<server>.json`. The first pin of one of its tools, or the
//! first import from it, creates the file with the names listed then: these are *known*. Later sessions with the server
//! update its current list. A listed name that is neither known nor in the catalog has *appeared*. A known name that is
//! no longer listed has *vanished*. [`PinStore::accept_names`] makes the current list the known one. Calls do not
//! depend on this, so a damaged file is created again.

use std::collections::BTreeSet;

use brigade_catalog::{Catalog, Tool};
use brigade_core::json::{from_json, pretty_text};
use brigade_core::text::{escape_terminal, short};
use brigade_core::{Json, Object, Timestamp};
use brigade_fs::{FileMode, FsError, RelPath};
use serde::{Deserialize, Serialize};

use super::key::{ServerCommand, has_own_place, server_file_name};
use super::store::PinRecord;
use super::{PINS, PinStore, is_newer, parse};

/// The schema id of the files.
const SCHEMA: &str = "brigade.mcp_listing.v1";

/// The directory of the files, inside the directory of the pins. It is also the prefix of the ids that people use.
const SERVERS: &str = "servers";

/// The largest file that is read.
const LIMIT: u64 = 64 << 20;

/// The maximum number of names in a sentence.
const NAMES: usize = 20;

/// The maximum length of a name in a sentence, in characters.
const NAME: usize = 80;

/// Whether an unknown server becomes known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OnFirstUse {
    /// Its current list becomes the known one.
    Begin,
    /// Nothing is stored.
    Leave,
}

/// The content of a file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Listing {
    schema: String,
    /// The server.
    pub server: String,
    variant: Option<String>,
    command: ServerCommand,
    known: BTreeSet<String>,
    /// When it became known.
    pub known_at: Timestamp,
    /// The names that it lists.
    pub listed: BTreeSet<String>,
    /// When the server sent this list.
    pub listed_at: Timestamp,
    #[serde(flatten)]
    extra: Object,
}

/// A current list compared with the known one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServerState {
    /// The known and the current list.
    pub listing: Listing,
    /// Names that are listed now, were not known, and are in no catalog entry.
    pub appeared: Vec<String>,
    /// Names that were known and are not listed any more, except those of pinned tools, whose pins report that.
    pub vanished: Vec<String>,
}

impl Listing {
    /// Returns the id that people use.
    pub fn id(&self) -> String {
        let name = server_file_name(&self.server, self.variant.as_deref());
        format!("{SERVERS}/{}", name.strip_suffix(".json").unwrap_or(&name))
    }

    /// Returns the path of its file.
    pub fn path(&self) -> RelPath {
        path_of(&self.server, self.variant.as_deref())
    }

    fn parse(json: &Json) -> Option<Listing> {
        from_json(json).ok().filter(|listing: &Listing| listing.schema == SCHEMA)
    }
}

impl ServerState {
    /// Returns whether the current list differs from the known one.
    pub fn is_changed(&self) -> bool {
        !self.appeared.is_empty() || !self.vanished.is_empty()
    }

    /// Returns the changes, as sentences.
    pub fn changes(&self) -> Vec<String> {
        let changes = [("appeared", &self.appeared), ("vanished", &self.vanished)];
        let changes = changes.into_iter().filter(|(_, names)| !names.is_empty());
        changes.map(|(what, names)| sentence(names, what)).collect()
    }
}

/// Returns a sentence about tools that appeared or vanished since the list became known.
pub fn sentence(names: &[String], what: &str) -> String {
    let shown: Vec<String> =
        names.iter().take(NAMES).map(|name| format!("`{}`", escape_terminal(&short(name, NAME)))).collect();
    let more = if NAMES < names.len() { ", …" } else { "" };
    match names.len() {
        1 => format!("the tool {} {what} in the server's list", shown.join("")),
        count => format!("{count} tools {what} in the server's list: {}{more}", shown.join(", ")),
    }
    .replace("vanished in", "vanished from")
}

impl PinStore<'_> {
    /// Stores the names that the server of a tool lists. Ignores an empty list.
    ///
    /// # Errors
    /// Fails on a disk error.
    pub fn note_names<'n>(
        &self,
        catalog: &Catalog,
        tool: &Tool,
        names: impl Iterator<Item = &'n str>,
        first_time: OnFirstUse,
    ) -> Result<(), FsError> {
        let listed: BTreeSet<String> = names.map(str::to_owned).collect();
        let Some(server) = tool.mcp_server().filter(|_| !listed.is_empty()) else { return Ok(()) };
        let command = ServerCommand::from_tool(tool);
        let variant = self.variant_of_server(catalog, server, command)?;
        let path = path_of(server, variant.as_deref());
        let now = self.clock.now();
        let listing = match self.read_listing(&path)? {
            ListingFile::Newer => return Ok(()),
            ListingFile::Nothing if first_time == OnFirstUse::Leave => return Ok(()),
            ListingFile::Nothing => Listing {
                schema: SCHEMA.to_owned(),
                server: server.to_owned(),
                variant,
                command,
                known: listed.clone(),
                known_at: now,
                listed,
                listed_at: now,
                extra: Object::new(),
            },
            ListingFile::Listing(known) if known.listed == listed && known.command == command => {
                return Ok(());
            }
            ListingFile::Listing(known) => Listing { command, listed, listed_at: now, ..*known },
        };
        self.write_listing(&listing)
    }

    /// Reads the known and the current list of every server, by name.
    ///
    /// # Errors
    /// Fails on a disk error.
    pub fn servers(&self, catalog: &Catalog, pins: &[PinRecord]) -> Result<Vec<ServerState>, FsError> {
        let folder = RelPath::from_static(PINS).join(SERVERS).expect("it is a name");
        let entries = match self.fs.list_dir(&folder) {
            Ok(entries) => entries,
            Err(error) if error.is_not_found() => return Ok(Vec::new()),
            Err(error) => return Err(error),
        };
        let mut found = Vec::new();
        for entry in entries {
            let Ok(path) = folder.join(&entry.name) else { continue };
            if let ListingFile::Listing(listing) = self.read_listing(&path)?
                && listing.path() == path
            {
                found.push(state(*listing, catalog, pins));
            }
        }
        found.sort_by_key(|state| state.listing.id());
        Ok(found)
    }

    /// Makes the current list of a server the known one.
    ///
    /// # Errors
    /// Fails on a disk error.
    pub fn accept_names(&self, state: ServerState) -> Result<ServerState, FsError> {
        let listing = state.listing;
        let listing = Listing { known: listing.listed.clone(), known_at: self.clock.now(), ..listing };
        self.write_listing(&listing)?;
        Ok(ServerState { listing, appeared: Vec::new(), vanished: Vec::new() })
    }

    fn variant_of_server(
        &self,
        catalog: &Catalog,
        server: &str,
        own: ServerCommand,
    ) -> Result<Option<String>, FsError> {
        let of_server = catalog.tools().iter().filter(|tool| tool.mcp_server() == Some(server));
        let all = ServerCommand::of_all(of_server);
        let variant = own.variant();
        let is_there = self.fs.exists(&path_of(server, Some(&variant)))?;
        let common = self.read_listing(&path_of(server, None))?;
        let recorded =
            || if let ListingFile::Listing(listing) = common { Some(listing.command) } else { None };
        Ok(has_own_place(own, &all, is_there, recorded).then_some(variant))
    }

    fn read_listing(&self, path: &RelPath) -> Result<ListingFile, FsError> {
        let bytes = match self.fs.read(path, LIMIT) {
            Ok(bytes) => bytes,
            Err(_) => return Ok(ListingFile::Nothing),
        };
        let Some(json) = parse(&bytes) else { return Ok(ListingFile::Nothing) };
        if is_newer(&json, SCHEMA) {
            return Ok(ListingFile::Newer);
        }
        Ok(Listing::parse(&json)
            .map_or(ListingFile::Nothing, |listing| ListingFile::Listing(Box::new(listing))))
    }

    fn write_listing(&self, listing: &Listing) -> Result<(), FsError> {
        let path = listing.path();
        self.fs.create_dir_all(&path.parent())?;
        let text = pretty_text(listing).expect("a listing is JSON");
        self.fs.write_atomic(&path, text.as_bytes(), FileMode::Private)
    }
}

/// The result of reading a file.
enum ListingFile {
    /// The file does not exist or is damaged.
    Nothing,
    /// The file has a newer version and must not be changed.
    Newer,
    Listing(Box<Listing>),
}

fn path_of(server: &str, variant: Option<&str>) -> RelPath {
    let folder = RelPath::from_static(PINS).join(SERVERS).expect("it is a name");
    folder.join(&server_file_name(server, variant)).expect("the name was made to be a file name")
}

fn state(listing: Listing, catalog: &Catalog, pins: &[PinRecord]) -> ServerState {
    let of_server = catalog.tools().iter().filter(|tool| tool.mcp_server() == Some(&listing.server));
    let in_catalog: BTreeSet<&str> = of_server.filter_map(|tool| tool.mcp_tool_name.as_deref()).collect();
    let of_server = pins.iter().filter(|pin| pin.tool.server == listing.server);
    let pinned: BTreeSet<&str> = of_server.map(|pin| pin.tool.tool.as_str()).collect();
    let difference = |from: &BTreeSet<String>, without: &BTreeSet<String>, but: &BTreeSet<&str>| {
        from.difference(without).filter(|name| !but.contains(name.as_str())).cloned().collect()
    };
    ServerState {
        appeared: difference(&listing.listed, &listing.known, &in_catalog),
        vanished: difference(&listing.known, &listing.listed, &pinned),
        listing,
    }
}

#[cfg(test)]
mod tests {
    use brigade_catalog::Level;

    use brigade_core::json::to_json;

    use super::*;

    fn names(names: &[&str]) -> BTreeSet<String> {
        names.iter().map(|name| (*name).to_owned()).collect()
    }

    fn listing(known: &[&str], listed: &[&str]) -> Listing {
        Listing {
            schema: SCHEMA.to_owned(),
            server: "voice".to_owned(),
            variant: None,
            command: ServerCommand(brigade_core::Fingerprint::of_bytes(b"")),
            known: names(known),
            known_at: Timestamp::from_unix_micros(0),
            listed: names(listed),
            listed_at: Timestamp::from_unix_micros(1_000_000),
            extra: Object::new(),
        }
    }

    #[test]
    fn a_listing_round_trips_and_needs_every_member() {
        let listing = listing(&["a"], &["a", "b"]);
        let json = to_json(&listing).unwrap();
        assert_eq!(Listing::parse(&json), Some(listing));
        for key in ["schema", "server", "command", "known", "known_at", "listed", "listed_at"] {
            let mut members = json.as_object().unwrap().clone();
            members.remove(key);
            assert_eq!(Listing::parse(&Json::Object(members)), None, "{key}");
        }
    }

    #[test]
    fn names_in_the_catalog_did_not_appear() {
        let text = "[[tool]]\nid = 'x'\nfamily = 'mcp'\nruntime_id = 'voice'\nmcp_tool_name = 'c'\n";
        let catalog = Catalog::parse("tools.toml", Level::Project, text.as_bytes());
        let state = state(listing(&["a", "b"], &["b", "c", "d"]), &catalog, &[]);
        assert_eq!(
            (state.appeared.as_slice(), state.vanished.as_slice()),
            (&["d".to_owned()][..], &["a".to_owned()][..])
        );
        assert_eq!(
            state.changes(),
            ["the tool `d` appeared in the server's list", "the tool `a` vanished from the server's list"]
        );
    }
}
