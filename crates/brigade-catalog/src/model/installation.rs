//! Makes entries for the commands that check and install a tool.

use super::{ApprovalMode, Family, FieldPlace, Install, Origin, Tool};
use crate::fields;

/// The effects of every installation.
const EFFECTS: [&str; 3] = ["install", "network", "local-write"];

impl Tool {
    /// Returns `install`, if it names a command.
    pub fn installable(&self) -> Option<&Install> {
        self.install.as_deref().filter(|install| install.command.iter().any(|line| !line.is_empty()))
    }

    /// Returns one of the tool's check commands as a script. It runs in the workspace and takes no arguments.
    #[must_use]
    pub fn look_with(&self, command: &str) -> Tool {
        Tool {
            name: self.name.clone(),
            family: Some(Family::Script),
            enabled: self.enabled,
            command: Some(command.to_owned()),
            effects: vec!["local-read".to_owned()],
            is_broken: self.is_broken,
            ..Tool::bare(self.id.clone(), self.origin.clone())
        }
    }

    /// Returns one of the tool's installation commands as a script. It runs in the workspace, takes no arguments, has
    /// the effects of an installation, and always needs approval by a person.
    ///
    /// It has the id of the tool. Its `command` has the place of the command in `[tool.install]`.
    #[must_use]
    pub fn installation(&self, command: &str) -> Tool {
        let place = self.place_of("install.command");
        let field = fields::TOOL
            .position("command")
            .zip(place.line)
            .map(|(field, line)| FieldPlace::new(field, 0, line, place.column.unwrap_or_default()));
        let fields = field.into_iter().collect();
        let origin = Origin::with_fields(self.origin.level, self.origin.place.clone(), fields);
        Tool {
            name: self.name.clone(),
            family: Some(Family::Script),
            enabled: self.enabled,
            command: Some(command.to_owned()),
            effects: EFFECTS.map(str::to_owned).to_vec(),
            approval_mode: Some(ApprovalMode::Always),
            is_broken: self.is_broken,
            ..Tool::bare(self.id.clone(), origin)
        }
    }
}

#[cfg(test)]
mod tests {
    use brigade_core::Place;

    use crate::{Catalog, Level};

    use super::*;

    #[test]
    fn an_installation_keeps_only_names_of_the_tool() {
        let text = "[[tool]]\nid = 'yq'\nname = 'YQ'\nfamily = 'mcp'\ncommand = 'yq -P'\nenv_labels = ['TOKEN']\n\
                    runtime_id = 'r'\ncwd = 'sub'\n[tool.install]\ncheck = 'which yq'\n\
                    command = ['brew install yq', 'pip install yq']\n";
        let catalog = Catalog::parse("tools.toml", Level::User, text.as_bytes());
        let tool = &catalog.tools()[0];
        let found = tool.installation("pip install yq");
        let mut expect = Tool::new("yq", Family::Script).unwrap();
        expect.name = "YQ".to_owned();
        expect.command = Some("pip install yq".to_owned());
        expect.effects = ["install", "network", "local-write"].map(str::to_owned).to_vec();
        expect.approval_mode = Some(ApprovalMode::Always);
        expect.origin = found.origin.clone();
        assert_eq!(found, expect);
        assert_eq!(found.origin.level, Level::User);
        assert_eq!(found.place_of("command"), Place::at("tools.toml", 11, 1));
        assert_eq!(found.place_of("effects"), tool.origin.place);
    }
}
