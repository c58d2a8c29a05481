//! The members that all manifests share.

use std::collections::BTreeMap;

use crate::manifest::value::{Name, Version};

/// The `apiVersion` of manifests.
pub const API_VERSION: &str = "100monkeys.ai/v1";

members! {
    /// Name, version and labels of a manifest.
    Metadata {
        /// The name. Name and version together are unique.
        name = "name": needed Name,
        /// The version of the manifest. Default: 1.0.0.
        version = "version": maybe Version,
        /// A description for people.
        description = "description": maybe String,
        /// Labels for searching.
        labels = "labels": maybe BTreeMap<String, String>,
        /// Notes. No program reads them.
        annotations = "annotations": maybe BTreeMap<String, String>,
    }
}

impl Metadata {
    /// Returns the version, or the default one.
    pub fn version(&self) -> Version {
        self.version.clone().unwrap_or_else(|| Version::new("1.0.0").expect("a constant version"))
    }
}
