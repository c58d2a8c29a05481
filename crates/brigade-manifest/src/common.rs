//! What all manifests have in common.

use std::collections::BTreeMap;

use crate::value::{Name, Version};

/// The `apiVersion` of manifests.
pub const API_VERSION: &str = "100monkeys.ai/v1";

members! {
    #[doc = "What a manifest is called."]
    Metadata {
        #[doc = "The name. With the version, it is unique."]
        name = "name": needed Name,
        #[doc = "The version of the manifest; 1.0.0 if it is missing."]
        version = "version": maybe Version,
        #[doc = "What it is for, for people."]
        description = "description": maybe String,
        #[doc = "Labels to find it by."]
        labels = "labels": maybe BTreeMap<String, String>,
        #[doc = "Notes that nothing reads."]
        annotations = "annotations": maybe BTreeMap<String, String>,
    }
}

impl Metadata {
    /// Returns the version.
    pub fn version(&self) -> Version {
        self.version.clone().unwrap_or_else(|| Version::new("1.0.0").expect("a constant version"))
    }
}
