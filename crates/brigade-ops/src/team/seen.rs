//! The file that says which server a workspace saw last.

use std::sync::Arc;

use brigade_fs::{FileMode, Fs, RelPath};
use brigade_team::SeenServer;

/// The file: the id of the team and the name of the server.
const SEEN: &str = ".brigade/tools/team-server.txt";

/// The largest file that is read.
const SEEN_LIMIT: u64 = 4 << 10;

/// The server that a workspace saw last, in a file. It counts only for one team.
pub(super) struct SeenFile {
    fs: Arc<dyn Fs>,
    team_id: String,
}

impl SeenFile {
    pub(super) fn new(fs: Arc<dyn Fs>, team_id: &str) -> SeenFile {
        SeenFile { fs, team_id: team_id.to_owned() }
    }
}

impl SeenServer for SeenFile {
    fn read(&self) -> Option<String> {
        let bytes = self.fs.read(&RelPath::from_static(SEEN), SEEN_LIMIT).ok()?;
        let text = String::from_utf8(bytes).ok()?;
        let (team_id, server) = text.trim_end().split_once(' ')?;
        (team_id == self.team_id).then(|| server.to_owned())
    }

    fn write(&self, name: &str) {
        let text = format!("{} {name}\n", self.team_id);
        let path = RelPath::from_static(SEEN);
        if let Err(error) = self.fs.write_atomic(&path, text.as_bytes(), FileMode::Private) {
            tracing::warn!(%error, "the server of the team is not noted");
        }
    }
}

#[cfg(test)]
mod tests {
    use brigade_fs::MemoryFs;

    use super::*;

    #[test]
    fn the_server_is_that_of_one_team() {
        let fs: Arc<dyn Fs> = Arc::new(MemoryFs::new());
        fs.create_dir_all(&RelPath::from_static(".brigade/tools")).unwrap();
        let seen = |team: &str| SeenFile::new(fs.clone(), team);
        assert_eq!(seen("t").read(), None);
        seen("t").write("7/1");
        assert_eq!((seen("t").read().as_deref(), seen("u").read()), (Some("7/1"), None));
    }
}
