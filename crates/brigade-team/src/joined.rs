//! The file that says which team a workspace has joined.

use std::collections::BTreeMap;

use brigade_call::Call;
use brigade_core::Fingerprint;
use brigade_fs::{FileMode, Fs, RelPath, WorkspaceKey, require_untracked};
use serde::{Deserialize, Serialize};

use crate::error::TeamError;
use crate::migrate::Schema;
use crate::url::TeamUrl;

pub use brigade_call::TEAM as TEAM_FILE;

/// The largest file that is read.
const FILE_LIMIT: u64 = 256 << 10;

/// The domain of the MAC.
const MAC_DOMAIN: &str = "brigade.team-file.v1";

/// The first line of the file.
const HEAD: &str = "# Written by `brigade team join`. It counts only on this host.\n";

/// The team of a workspace, and the keys of reviewers that a person of this host accepted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JoinedTeam {
    /// The address of the database.
    pub url: TeamUrl,
    /// The schema of the tables.
    pub schema: Schema,
    /// The name of the workspace in the team.
    pub workspace: String,
    /// The id of the team.
    pub team_id: String,
    /// The public keys by member, as hex digits. An approval with another key does not count here.
    pub keys: BTreeMap<String, String>,
    /// The rules about how many people approve. The database can only be stricter.
    pub rules: Vec<JoinedRule>,
}

/// A rule about how many people must approve, as a person of this host accepted it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct JoinedRule {
    /// The effect of the calls; absent for all.
    pub effect: Option<String>,
    /// The tool of the calls; absent for all.
    pub tool: Option<String>,
    /// The family of the calls; absent for all.
    pub family: Option<String>,
    /// How many people must approve, 1 to 9.
    pub approvals: i32,
    /// When the rule was added. It does not count for runs that started before.
    pub added_at: String,
}

impl JoinedRule {
    /// Returns the rule as one text.
    fn content(&self) -> String {
        let JoinedRule { effect, tool, family, approvals, added_at } = self;
        format!("{effect:?} {tool:?} {family:?} {approvals} {added_at}")
    }

    /// Returns whether the rule is about a call.
    pub(crate) fn matches(&self, call: &Call) -> bool {
        self.effect.as_ref().is_none_or(|effect| call.contract.effects.contains(effect))
            && self.tool.as_ref().is_none_or(|tool| *tool == call.tool_id)
            && self.family.as_ref().is_none_or(|family| *family == call.family.as_str())
    }
}

/// The members of the file.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct TeamFile {
    version: u64,
    url: String,
    schema: String,
    workspace: String,
    team_id: String,
    mac: String,
    keys: BTreeMap<String, String>,
    #[serde(default)]
    rules: Vec<JoinedRule>,
}

impl JoinedTeam {
    /// Reads the file, if there is one.
    ///
    /// # Errors
    /// Returns [`TeamError::NotJoined`] if the file was not written on this host for this workspace. Fails if git
    /// tracks it, and on a disk error.
    pub fn read(fs: &dyn Fs, key: &WorkspaceKey) -> Result<Option<JoinedTeam>, TeamError> {
        let path = RelPath::from_static(TEAM_FILE);
        if !fs.exists(&path)? {
            return Ok(None);
        }
        require_untracked(fs, TEAM_FILE)?;
        let bytes = fs.read(&path, FILE_LIMIT)?;
        let invalid = || TeamError::NotJoined(format!("{TEAM_FILE} is not a file that this version writes"));
        let text = std::str::from_utf8(&bytes).map_err(|_| invalid())?;
        let file: TeamFile = toml::from_str(text).map_err(|_| invalid())?;
        if file.version != 1 {
            return Err(invalid());
        }
        let joined = JoinedTeam {
            url: file.url.parse()?,
            schema: file.schema.parse()?,
            workspace: file.workspace,
            team_id: file.team_id,
            keys: file.keys,
            rules: file.rules,
        };
        match key.verify(MAC_DOMAIN, &joined.signed_content(), Some(&file.mac)) {
            true => Ok(Some(joined)),
            false => {
                let message =
                    format!("{TEAM_FILE} was not written on this host for this workspace; join again");
                Err(TeamError::NotJoined(message))
            }
        }
    }

    /// Writes the file, with mode 0600.
    ///
    /// # Errors
    /// Fails if git tracks the file, and on a disk error.
    pub fn write(&self, fs: &dyn Fs, key: &WorkspaceKey) -> Result<(), TeamError> {
        let path = RelPath::from_static(TEAM_FILE);
        require_untracked(fs, TEAM_FILE)?;
        let file = TeamFile {
            version: 1,
            url: self.url.as_str().to_owned(),
            schema: self.schema.to_string(),
            workspace: self.workspace.clone(),
            team_id: self.team_id.clone(),
            mac: key.sign(MAC_DOMAIN, &self.signed_content())?,
            keys: self.keys.clone(),
            rules: self.rules.clone(),
        };
        let text = toml::to_string(&file).map_err(|_| TeamError::Invalid("not TOML".to_owned()))?;
        fs.create_dir_all(&path.parent())?;
        Ok(fs.write_atomic(&path, format!("{HEAD}{text}").as_bytes(), FileMode::Private)?)
    }

    /// Removes the file. Returns whether there was one.
    ///
    /// # Errors
    /// Fails on a disk error.
    pub fn remove(fs: &dyn Fs) -> Result<bool, TeamError> {
        let path = RelPath::from_static(TEAM_FILE);
        let exists = fs.exists(&path)?;
        if exists {
            fs.remove(&path)?;
        }
        Ok(exists)
    }

    fn signed_content(&self) -> Vec<u8> {
        Fingerprint::builder(MAC_DOMAIN)
            .text("url", self.url.as_str())
            .text("schema", self.schema.to_string().as_str())
            .text("workspace", self.workspace.as_str())
            .text("team_id", self.team_id.as_str())
            .table("keys", &self.keys)
            .list("rules", self.rules.iter().map(JoinedRule::content))
            .finish()
            .to_hex()
            .into_bytes()
    }
}

#[cfg(test)]
mod tests {
    use brigade_fs::MemoryFs;

    use super::*;

    #[test]
    fn a_file_counts_only_where_it_was_written() {
        let (fs, key) = (MemoryFs::new(), WorkspaceKey::temporary());
        assert_eq!(JoinedTeam::read(&fs, &key), Ok(None));
        let joined = JoinedTeam {
            url: "postgresql://rev-1@db.example/x".parse().unwrap(),
            schema: Schema::default(),
            workspace: "shop".to_owned(),
            team_id: "t".to_owned(),
            keys: BTreeMap::from([("rev-1".to_owned(), "00".repeat(32))]),
            rules: vec![JoinedRule {
                effect: None,
                tool: Some("deploy".to_owned()),
                family: None,
                approvals: 2,
                added_at: "2026-11-29T10:00:00Z".to_owned(),
            }],
        };
        joined.write(&fs, &key).unwrap();
        assert_eq!(JoinedTeam::read(&fs, &key), Ok(Some(joined)));
        let foreign = JoinedTeam::read(&fs, &WorkspaceKey::temporary());
        assert!(matches!(foreign, Err(TeamError::NotJoined(_))), "{foreign:?}");
        let path = RelPath::from_static(TEAM_FILE);
        let text = String::from_utf8(fs.read(&path, FILE_LIMIT).unwrap()).unwrap();
        for changed in [text.replace("shop", "bank"), text.replace("approvals = 2", "approvals = 1")] {
            fs.write_atomic(&path, changed.as_bytes(), FileMode::Private).unwrap();
            let read = JoinedTeam::read(&fs, &key);
            assert!(matches!(read, Err(TeamError::NotJoined(_))), "it was changed by hand: {read:?}");
        }
        assert_eq!((JoinedTeam::remove(&fs), JoinedTeam::remove(&fs)), (Ok(true), Ok(false)));
    }
}
