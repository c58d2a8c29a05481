//! The resources, resource templates and prompts that a server lists.
//!
//! These lists are not reviewed by a person. So only identifying members are used: URIs and names, which people match
//! with patterns, media types, sizes, and the names of arguments. Titles and descriptions are dropped.

mod names;

use brigade_catalog::Reads;
use serde::{Deserialize, Serialize};

pub use names::OfferedNames;

/// What a server lists of one kind.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OfferSet {
    /// Resources.
    pub resources: Vec<OfferedResource>,
    /// Templates of resources.
    pub templates: Vec<OfferedResource>,
    /// Prompts.
    pub prompts: Vec<OfferedPrompt>,
}

impl OfferSet {
    /// Returns a list of resources or prompts about which only URIs or names are known.
    pub fn named<'n>(reads: Reads, names: impl IntoIterator<Item = &'n str>) -> OfferSet {
        let names = names.into_iter().map(str::to_owned);
        let resource = |uri| OfferedResource { uri, media_type: None, size: None };
        match reads {
            Reads::Resource => OfferSet { resources: names.map(resource).collect(), ..OfferSet::default() },
            Reads::Prompt => OfferSet {
                prompts: names.map(|name| OfferedPrompt { name, arguments: Vec::new() }).collect(),
                ..OfferSet::default()
            },
        }
    }

    /// Returns whether nothing is listed.
    pub fn is_empty(&self) -> bool {
        self.resources.is_empty() && self.templates.is_empty() && self.prompts.is_empty()
    }
}

/// A resource or a template of resources.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OfferedResource {
    /// The URI or the template of URIs.
    pub uri: String,
    /// Its media type.
    pub media_type: Option<String>,
    /// Its length in bytes, as reported by the server.
    pub size: Option<u64>,
}

/// A prompt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OfferedPrompt {
    /// The name.
    pub name: String,
    /// The arguments.
    pub arguments: Vec<OfferedArgument>,
}

/// An argument of a prompt.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OfferedArgument {
    /// The name.
    pub name: String,
    /// Whether the prompt needs it.
    pub required: bool,
}
