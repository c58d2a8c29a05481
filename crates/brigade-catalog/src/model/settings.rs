//! The settings of a catalog file.

use brigade_core::Place;

/// The newest `schema` of a catalog file that this version understands completely.
pub const SCHEMA: u64 = 1;

/// The keys of a catalog file that concern no single tool: `schema` and `[registry]`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Settings {
    /// The schema of the file. `None` means 1; an invalid value becomes the maximum.
    pub schema: Option<u64>,
    /// The harnesses whose files discovery reads. Absent means all.
    pub harnesses: Option<Vec<String>>,
    /// Whether `find` includes tools that only a harness can run. Absent means yes.
    pub harness_tools: Option<bool>,
    /// The place of `schema`.
    pub schema_place: Option<Place>,
    /// The `settings` of a tools registry that is read in place.
    pub registry: RegistrySettings,
}

/// The `settings` of a tools registry that catalog files do not have.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RegistrySettings {
    /// Whether a call of a missing tool also queues its installation.
    pub auto_install: Option<bool>,
    /// Whether the registry of the project comes before that of the user.
    pub prefer_local: Option<bool>,
    /// Whether discovery shows the skills of Clawdbot.
    pub inherit_skills: Option<bool>,
    /// Whether discovery shows the MCP servers of Clawdbot.
    pub inherit_servers: Option<bool>,
}

impl RegistrySettings {
    /// Adds the settings of a farther registry.
    #[must_use]
    pub fn or(self, farther: RegistrySettings) -> RegistrySettings {
        RegistrySettings {
            auto_install: self.auto_install.or(farther.auto_install),
            prefer_local: self.prefer_local.or(farther.prefer_local),
            inherit_skills: self.inherit_skills.or(farther.inherit_skills),
            inherit_servers: self.inherit_servers.or(farther.inherit_servers),
        }
    }

    /// Returns the setting of a name, to set it. `None` for other names.
    pub(crate) fn named(&mut self, name: &str) -> Option<&mut Option<bool>> {
        Some(match name {
            "auto_install" => &mut self.auto_install,
            "prefer_local" => &mut self.prefer_local,
            "inherit_clawdbot_skills" => &mut self.inherit_skills,
            "inherit_clawdbot_mcp" => &mut self.inherit_servers,
            _ => return None,
        })
    }
}

impl Settings {
    /// Adds the settings of a farther file.
    #[must_use]
    pub(crate) fn or(self, farther: Settings) -> Settings {
        let (schema, schema_place) = match self.schema {
            Some(_) => (self.schema, self.schema_place),
            None => (farther.schema, farther.schema_place),
        };
        Settings {
            schema,
            schema_place,
            harnesses: self.harnesses.or(farther.harnesses),
            harness_tools: self.harness_tools.or(farther.harness_tools),
            registry: self.registry.or(farther.registry),
        }
    }

    /// Returns the place of `schema` if it is newer than this version understands, or invalid.
    pub fn newer_schema(&self) -> Option<&Place> {
        self.schema.filter(|schema| SCHEMA < *schema)?;
        self.schema_place.as_ref()
    }
}
