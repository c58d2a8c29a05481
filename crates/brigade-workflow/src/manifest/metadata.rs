//! The members that all manifests share.

use std::collections::BTreeMap;

use crate::manifest::value::{Name, Version};

/// The `apiVersion` of manifests.
pub const API_VERSION: &str = "100monkeys.ai/v1";

members! {
    #[doc = "Name, version and labels of a manifest."]
    Metadata {
        #[doc = "The name. Name and version together are unique."]
        name = "name": needed Name,
        #[doc = "The version of the manifest. Default: 1.0.0."]
        version = "version": maybe Version,
        #[doc = "A description for people."]
        description = "description": maybe String,
        #[doc = "Labels for searching."]
        labels = "labels": maybe BTreeMap<String, String>,
        #[doc = "Notes. No program reads them."]
        annotations = "annotations": maybe BTreeMap<String, String>,
    }
}

impl Metadata {
    /// Returns the version, or the default one.
    pub fn version(&self) -> Version {
        self.version.clone().unwrap_or_else(|| Version::new("1.0.0").expect("a constant version"))
    }
}
