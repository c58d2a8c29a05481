//! Updates the derived files after a command, if no service runs.

use brigade_fs::RelPath;
use brigade_kitchen::PrdName;
use brigade_kitchen::life::Line;
use brigade_policy::Failure;

use crate::gather::PrdSearch;
use crate::journal::PrdJournal;
use crate::kitchen::Kitchen;
use crate::lock::ServiceLock;
use crate::projections::{Projections, Targets};

impl Kitchen<'_> {
    /// Updates the derived files for new records, unless a running service does. Does nothing if no service ever ran.
    /// The records count even if this fails.
    pub(crate) fn update_derived_files(&self, name: &PrdName, journal: &PrdJournal, lines: &[Line]) {
        if let Err(failure) = self.try_update(name, journal, lines) {
            tracing::debug!(%failure, prd = %name, "files for people and other programs are not written");
        }
    }

    fn try_update(&self, name: &PrdName, journal: &PrdJournal, lines: &[Line]) -> Result<(), Failure> {
        let life = journal.life();
        if life.service.is_none() || lines.is_empty() || ServiceLock::holder(&*self.fs, name)?.is_some() {
            return Ok(());
        }
        // Older approvals do not name the file.
        let path = life.prd_path.clone().unwrap_or_else(|| format!("brigade/tasks/{name}.json"));
        let Ok(path) = path.parse::<RelPath>() else { return Ok(()) };
        let state = self.prd_state(&PrdSearch::At(path))?;
        let settings = &state.crew.settings;
        let targets = Targets::new(&*self.fs, &state.path, name, settings);
        let (redactor, most) = (self.redactor(&state.configuration), settings.learnings_max);
        let mut projections = Projections::new(self.fs.clone(), name.clone(), targets, redactor, 0, most);
        projections.after(&state.view(self.now()), lines, &|| journal.lines_after(0));
        Ok(())
    }
}
