//! Writes issues as SARIF 2.1.0, which editors and code hosts show next to the lines.

use std::path::Path;

use brigade_core::{ErrorKind, Json};
use brigade_fs::{DiskFs, FileMode, Fs as _, RelPath};
use brigade_policy::Failure;
use brigade_workspace::CATALOG;

use crate::report::CatalogReport;

impl CatalogReport {
    /// Returns the issues as the log of one run.
    pub fn sarif(&self) -> Json {
        brigade_doctor::sarif(self.issues.iter(), CATALOG)
    }

    /// Writes the log to a file, atomically.
    ///
    /// # Errors
    /// Returns [`ErrorKind::Usage`] if the path is not a file in a directory, and file errors.
    pub fn write_sarif(&self, file: &Path) -> Result<(), Failure> {
        let unusable =
            |why: String| Failure::new(ErrorKind::Usage, format!("the SARIF file cannot be written: {why}"));
        let name = file.file_name().and_then(|name| name.to_str());
        let name: RelPath = name
            .and_then(|name| name.parse().ok())
            .ok_or_else(|| unusable("its path does not end with the name of a file".to_owned()))?;
        let folder = file.parent().filter(|folder| !folder.as_os_str().is_empty());
        let folder =
            DiskFs::open(folder.unwrap_or(Path::new("."))).map_err(|error| unusable(error.to_string()))?;
        Ok(folder.write_atomic(&name, self.sarif().to_pretty().as_bytes(), FileMode::KeepOr(0o644))?)
    }
}
