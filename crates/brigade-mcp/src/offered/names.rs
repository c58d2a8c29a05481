//! Caches the resources and prompts that a server listed last, for a list or a diagnosis that starts no server.
//!
//! Each server has one file in `.brigade/tools/runtime/offered/`. Without it, nothing is known.

use std::collections::BTreeMap;

use brigade_catalog::Reads;
use brigade_core::json::{from_json, to_json};
use brigade_core::{Dialect, Json};
use brigade_fs::{Fs, RelPath};
use serde::{Deserialize, Serialize};

use super::{OfferSet, OfferedArgument, OfferedPrompt, OfferedResource};
use crate::pins::server_file_name;

/// The directory of the files.
const OFFERED_FOLDER: &str = ".brigade/tools/runtime/offered";

/// The schema id of a file.
const SCHEMA: &str = "brigade.offered.v1";

/// The largest file that is read.
const LIMIT: u64 = 16 << 20;

/// The URIs and names that a server listed last and that gateway.toml offers.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct OfferedNames {
    schema: String,
    /// The server.
    pub server: String,
    /// URIs of resources.
    #[serde(default)]
    pub resources: Vec<String>,
    /// Templates of URIs.
    #[serde(default)]
    pub templates: Vec<String>,
    /// Names of prompts.
    #[serde(default)]
    pub prompts: Vec<String>,
    /// The media types of resources and templates, by URI.
    #[serde(default)]
    media_types: BTreeMap<String, String>,
    /// The arguments of prompts, by name.
    #[serde(default)]
    arguments: BTreeMap<String, Vec<OfferedArgument>>,
}

impl OfferedNames {
    /// Reads what a server listed last; empty if that is unknown.
    pub fn read(fs: &dyn Fs, server: &str) -> OfferedNames {
        let bytes = path(server).and_then(|path| fs.read(&path, LIMIT).ok());
        let json = bytes.and_then(|bytes| Json::parse_bytes(&bytes, Dialect::Strict).ok());
        let names: Option<OfferedNames> = json.and_then(|json| from_json(&json).ok());
        let names = names.filter(|names| names.schema == SCHEMA && names.server == server);
        let nothing = || OfferedNames { schema: SCHEMA.to_owned(), ..OfferedNames::default() };
        OfferedNames { server: server.to_owned(), ..names.unwrap_or_else(nothing) }
    }

    /// Returns the last list of resources or prompts.
    pub fn offered(&self, reads: Reads) -> OfferSet {
        let resource = |uri: &String| {
            let media_type = self.media_types.get(uri).cloned();
            OfferedResource { uri: uri.clone(), media_type, size: None }
        };
        let prompt = |name: &String| {
            let arguments = self.arguments.get(name).cloned().unwrap_or_default();
            OfferedPrompt { name: name.clone(), arguments }
        };
        match reads {
            Reads::Resource => OfferSet {
                resources: self.resources.iter().map(resource).collect(),
                templates: self.templates.iter().map(resource).collect(),
                prompts: Vec::new(),
            },
            Reads::Prompt => {
                OfferSet { prompts: self.prompts.iter().map(prompt).collect(), ..OfferSet::default() }
            }
        }
    }

    /// Stores what a server lists now. A write error is ignored, because the next list is stored again.
    pub fn keep(fs: &dyn Fs, server: &str, reads: Reads, offered: &OfferSet) {
        let before = OfferedNames::read(fs, server);
        let uris = |rows: &[OfferedResource]| rows.iter().map(|row| row.uri.clone()).collect();
        let resources = offered.resources.iter().chain(&offered.templates);
        let media_types = resources.filter_map(|row| Some((row.uri.clone(), row.media_type.clone()?)));
        let arguments = offered.prompts.iter().filter(|prompt| !prompt.arguments.is_empty());
        let now = match reads {
            Reads::Resource => OfferedNames {
                resources: uris(&offered.resources),
                templates: uris(&offered.templates),
                media_types: media_types.collect(),
                ..before.clone()
            },
            Reads::Prompt => OfferedNames {
                prompts: offered.prompts.iter().map(|prompt| prompt.name.clone()).collect(),
                arguments: arguments.map(|prompt| (prompt.name.clone(), prompt.arguments.clone())).collect(),
                ..before.clone()
            },
        };
        let Some(path) = path(server).filter(|_| now != before) else { return };
        let text = to_json(&now).map(|json| json.to_pretty()).unwrap_or_default();
        if let Ok(folder) = OFFERED_FOLDER.parse() {
            let _ = fs.create_dir_all(&folder).and_then(|()| fs.write_cache(&path, text.as_bytes()));
        }
    }
}

fn path(server: &str) -> Option<RelPath> {
    let folder: RelPath = OFFERED_FOLDER.parse().ok()?;
    folder.join(&server_file_name(server, None)).ok()
}

#[cfg(test)]
mod tests {
    use brigade_fs::MemoryFs;

    use super::*;

    #[test]
    fn each_kind_of_list_is_stored() {
        let fs = MemoryFs::new();
        let uri = |uri: &str| OfferedResource { uri: uri.to_owned(), media_type: None, size: None };
        let arguments = vec![OfferedArgument { name: "code".to_owned(), required: true }];
        let prompt = OfferedPrompt { name: "review".to_owned(), arguments };
        let resources = vec![uri("file:///a")];
        let offered = OfferSet { resources, templates: vec![uri("file:///{a}")], prompts: Vec::new() };
        assert_eq!(OfferedNames::read(&fs, "a/b").resources, Vec::<String>::new());
        OfferedNames::keep(&fs, "a/b", Reads::Resource, &offered);
        OfferedNames::keep(
            &fs,
            "a/b",
            Reads::Prompt,
            &OfferSet { prompts: vec![prompt.clone()], ..OfferSet::default() },
        );
        let names = OfferedNames::read(&fs, "a/b");
        assert_eq!(names.offered(Reads::Resource), offered);
        assert_eq!(names.offered(Reads::Prompt).prompts, [prompt]);
        assert_eq!(
            (names.resources, names.templates),
            (vec!["file:///a".to_owned()], vec!["file:///{a}".to_owned()])
        );
        assert_eq!(names.prompts, ["review"]);
        assert_eq!(OfferedNames::read(&fs, "a_b").prompts, Vec::<String>::new());
    }
}
