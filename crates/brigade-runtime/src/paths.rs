//! The paths of a runtime.

use std::path::{Path, PathBuf};

use brigade_catalog::Runtime;
use brigade_core::Fingerprint;
use brigade_doctor::{IssueType, RuntimeIssue};
use brigade_fs::{FileKind, Fs, Location, RelPath};

use crate::host::Host;

/// The directory of the state of all runtimes.
pub(crate) const STATE: &str = ".brigade/tools/runtime";

/// The longest id that is used unchanged as a file name.
const MAX_NAME_LEN: usize = 100;

/// The working directory of a runtime.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Directory {
    /// Absolute, links followed.
    pub(crate) path: PathBuf,
    /// Relative to the workspace if it is inside.
    pub(crate) shown: String,
}

/// Where health results are stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum HealthFile {
    /// In the metadata file, because no other file is configured.
    InMetadata,
    /// In a separate file.
    Own(RelPath),
    /// Not stored, because the configured path cannot be used.
    Nowhere,
}

/// All paths. A path that leads out of the workspace is absent and reported as an issue.
#[derive(Clone, Debug)]
pub(crate) struct Paths {
    pub(crate) metadata: RelPath,
    pub(crate) lock: RelPath,
    pub(crate) pid: Option<RelPath>,
    pub(crate) stdout: Option<RelPath>,
    pub(crate) stderr: Option<RelPath>,
    pub(crate) health: HealthFile,
    pub(crate) directory: Option<Directory>,
    pub(crate) issues: Vec<RuntimeIssue>,
}

/// Returns whether a runtime may have been started, because it has a record or a pid file. Reads the metadata of only
/// two files.
pub fn was_started(fs: &dyn Fs, runtime: &Runtime) -> bool {
    let pid = format!("{STATE}/{}.pid", file_stem(runtime.id.as_str()));
    let is_there = |path: &RelPath| fs.exists(path).unwrap_or(true);
    runtime.pid_path.as_ref().is_some_and(|path| !path.is_empty())
        || is_there(&Paths::metadata_of(runtime.id.as_str()))
        || pid.parse().is_ok_and(|path| is_there(&path))
}

impl Paths {
    /// Returns the path of the metadata of the runtime with this id.
    pub(crate) fn metadata_of(id: &str) -> RelPath {
        let stem = file_stem(id);
        RelPath::composed(&format!("{STATE}/{stem}.json"))
    }

    /// Resolves the paths of a runtime. Reads only links and directories.
    pub(crate) fn find(fs: &dyn Fs, host: &Host, runtime: &Runtime) -> Paths {
        let stem = file_stem(runtime.id.as_str());
        let state = |extension: &str| RelPath::composed(&format!("{STATE}/{stem}.{extension}"));
        let metadata = Paths::metadata_of(runtime.id.as_str());
        let mut finder = Finder { fs, host, runtime, issues: Vec::new() };
        let or_default = |path: &Option<String>, extension: &str| match path {
            Some(path) if !path.is_empty() => path.clone(),
            _ => state(extension).to_string(),
        };
        let mut pid = finder.file("pid_path", &or_default(&runtime.pid_path, "pid"));
        let log = or_default(&runtime.log_path, "log");
        let mut stdout = finder.file("log_path", &format!("{log}.stdout"));
        let mut stderr = match &stdout {
            Some(_) => finder.file("log_path", &format!("{log}.stderr")),
            None => None,
        };
        let health = match runtime.health_path.as_deref().filter(|path| !path.is_empty()) {
            None => HealthFile::InMetadata,
            Some(path) => match finder.file("health_path", path) {
                None => HealthFile::Nowhere,
                Some(path) if path == metadata => HealthFile::InMetadata,
                Some(path) => HealthFile::Own(path),
            },
        };
        let is_taken = |path: &RelPath| *path == metadata || HealthFile::Own(path.clone()) == health;
        if pid.as_ref().is_some_and(is_taken) {
            let detail = "`pid_path` names the file that holds the metadata or the health";
            finder.issues.push(RuntimeIssue::of_field(runtime, IssueType::RuntimeConfig, "pid_path", detail));
            pid = None;
        }
        let logs = [&stdout, &stderr].into_iter().flatten();
        let logs: Vec<RelPath> = logs.flat_map(|log| [log.clone(), crate::logs::older(log)]).collect();
        let health_file = if let HealthFile::Own(path) = &health { Some(path) } else { None };
        if [pid.as_ref(), health_file, Some(&metadata)].into_iter().flatten().any(|path| logs.contains(path))
        {
            let detail = "`log_path` names the file that holds the process id, the metadata or the health";
            finder.issues.push(RuntimeIssue::of_field(runtime, IssueType::RuntimeConfig, "log_path", detail));
            (stdout, stderr) = (None, None);
        }
        let directory = finder.directory();
        let issues = finder.issues;
        Paths { lock: state("lock"), metadata, pid, stdout, stderr, health, directory, issues }
    }

    /// Returns the directories that must exist before anything is written.
    pub(crate) fn folders(&self) -> Vec<RelPath> {
        let health = match &self.health {
            HealthFile::Own(path) => Some(path),
            HealthFile::InMetadata | HealthFile::Nowhere => None,
        };
        let files = [Some(&self.metadata), self.pid.as_ref(), self.stdout.as_ref(), health];
        let mut folders: Vec<RelPath> = files.into_iter().flatten().map(RelPath::parent).collect();
        folders.sort();
        folders.dedup();
        folders
    }
}

struct Finder<'a> {
    fs: &'a dyn Fs,
    host: &'a Host,
    runtime: &'a Runtime,
    issues: Vec<RuntimeIssue>,
}

impl Finder<'_> {
    fn refuse(&mut self, issue_type: IssueType, field: &'static str, detail: impl Into<String>) {
        self.issues.push(RuntimeIssue::of_field(self.runtime, issue_type, field, detail));
    }

    /// Finds a file that Brigade writes.
    fn file(&mut self, field: &'static str, path: &str) -> Option<RelPath> {
        match self.fs.resolve(path, self.host.home()) {
            Ok(Location::Inside(path)) if path.is_root() || is_in_git(&path) => {
                let detail = format!("`{field}` names a place that Brigade does not write to");
                self.refuse(IssueType::RuntimeConfig, field, detail);
                None
            }
            Ok(Location::Inside(path)) => Some(path),
            Ok(Location::Outside(_)) => {
                self.refuse(
                    IssueType::RuntimeOutsidePath,
                    field,
                    format!("`{field}` leads out of the workspace"),
                );
                None
            }
            Err(error) => {
                let detail = format!("`{field}` cannot be checked: {}", error.kind);
                self.refuse(IssueType::RuntimeConfig, field, detail);
                None
            }
        }
    }

    fn directory(&mut self) -> Option<Directory> {
        let missing = "`cwd` is not a directory";
        match self.fs.resolve(self.runtime.cwd(), self.host.home()) {
            Ok(Location::Inside(path)) => match self.fs.metadata(&path) {
                Ok(metadata) if metadata.kind == FileKind::Directory => {
                    let absolute = if path.is_root() {
                        self.fs.root().to_owned()
                    } else {
                        self.fs.root().join(path.as_path())
                    };
                    return Some(Directory { path: absolute, shown: path.to_string() });
                }
                Ok(_) | Err(_) => self.refuse(IssueType::RuntimeMissingCwd, "cwd", missing),
            },
            Ok(Location::Outside(path)) => {
                if !self.host.outside.iter().any(|folder| path.starts_with(folder)) {
                    let detail = "`cwd` leads out of the workspace";
                    self.refuse(IssueType::RuntimeOutsidePath, "cwd", detail);
                } else if is_folder(&path) {
                    return Some(Directory { shown: path.display().to_string(), path });
                } else {
                    self.refuse(IssueType::RuntimeMissingCwd, "cwd", missing);
                }
            }
            Err(error) => {
                let detail = format!("`cwd` cannot be checked: {}", error.kind);
                self.refuse(IssueType::RuntimeMissingCwd, "cwd", detail);
            }
        }
        None
    }
}

fn is_in_git(path: &RelPath) -> bool {
    path.as_str().split('/').next() == Some(".git")
}

fn is_folder(path: &Path) -> bool {
    rustix::fs::stat(path).is_ok_and(|stat| {
        rustix::fs::FileType::from_raw_mode(stat.st_mode) == rustix::fs::FileType::Directory
    })
}

/// Returns the file name prefix of a runtime: its id if that is a plain name, otherwise a readable part and a
/// fingerprint. So no id can lead to another directory or share files with another runtime.
fn file_stem(id: &str) -> String {
    let is_plain = |c: char| c.is_alphanumeric() || matches!(c, '-' | '_' | '.' | ' ' | '@' | '+');
    if id.len() <= MAX_NAME_LEN && id.chars().all(is_plain) && !id.starts_with('.') {
        return id.to_owned();
    }
    let readable: String = id.chars().filter(char::is_ascii_alphanumeric).take(40).collect();
    format!("{readable}-{}", &Fingerprint::of_bytes(id.as_bytes()).to_hex()[..16])
}

#[cfg(test)]
mod tests {
    use brigade_fs::MemoryFs;
    use proptest::prelude::*;

    use super::*;

    fn find(runtime: &Runtime) -> Paths {
        Paths::find(&MemoryFs::new(), &Host::default(), runtime)
    }

    fn types(paths: &Paths) -> Vec<(&'static str, Option<&'static str>)> {
        paths.issues.iter().map(|issue| (issue.issue_type.code(), issue.field)).collect()
    }

    #[test]
    fn defaults_are_those_of_the_original() {
        let paths = find(&Runtime::new("local-helper", "x").unwrap());
        let text = |path: &Option<RelPath>| path.as_ref().unwrap().to_string();
        assert_eq!(text(&paths.pid), ".brigade/tools/runtime/local-helper.pid");
        assert_eq!(text(&paths.stdout), ".brigade/tools/runtime/local-helper.log.stdout");
        assert_eq!(text(&paths.stderr), ".brigade/tools/runtime/local-helper.log.stderr");
        assert_eq!(paths.metadata.as_str(), ".brigade/tools/runtime/local-helper.json");
        assert_eq!(paths.health, HealthFile::InMetadata);
        assert_eq!(paths.directory.as_ref().unwrap().shown, ".");
        assert_eq!(types(&paths), []);
    }

    #[test]
    fn a_health_path_may_name_the_metadata_file() {
        let mut runtime = Runtime::new("local-helper", "x").unwrap();
        runtime.health_path = Some("./.brigade/tools/runtime/local-helper.json".into());
        assert_eq!(find(&runtime).health, HealthFile::InMetadata);
        runtime.health_path = Some("health.json".into());
        assert_eq!(find(&runtime).health, HealthFile::Own("health.json".parse().unwrap()));
    }

    #[test]
    fn paths_that_lead_out_are_refused() {
        let mut runtime = Runtime::new("r", "x").unwrap();
        runtime.pid_path = Some("../r.pid".into());
        runtime.log_path = Some("/var/log/r".into());
        runtime.health_path = Some("a/../../h".into());
        runtime.cwd = Some("/".into());
        let out = "runtime_outside_path";
        let expect = [
            (out, Some("pid_path")),
            (out, Some("log_path")),
            (out, Some("health_path")),
            (out, Some("cwd")),
        ];
        assert_eq!(types(&find(&runtime)), expect);
        let host = Host { outside: vec!["/".into()], ..Host::default() };
        let paths = Paths::find(&MemoryFs::new(), &host, &runtime);
        assert_eq!(types(&paths), expect[..3], "the policy may allow the folder, never the files");
        assert_eq!(paths.directory.unwrap().shown, "/");
    }

    #[test]
    fn state_does_not_overwrite_other_files() {
        let mut runtime = Runtime::new("r", "x").unwrap();
        runtime.log_path = Some("log".into());
        for (pid, health) in [("log.stdout", "h"), ("p", "log.stderr"), ("log.stdout.1", "h")] {
            (runtime.pid_path, runtime.health_path) = (Some(pid.into()), Some(health.into()));
            let paths = find(&runtime);
            assert_eq!(types(&paths), [("runtime_config", Some("log_path"))], "{pid} {health}");
            assert_eq!(paths.stdout, None);
        }
        runtime.health_path = None;
        runtime.pid_path = Some(".brigade/tools/runtime/r.json".into());
        runtime.log_path = Some(".git/log".into());
        runtime.cwd = Some("missing".into());
        let expect = [
            ("runtime_config", Some("log_path")),
            ("runtime_config", Some("pid_path")),
            ("runtime_missing_cwd", Some("cwd")),
        ];
        assert_eq!(types(&find(&runtime)), expect);
    }

    proptest! {
        #[test]
        fn every_id_has_one_name_of_a_file_for_itself(id in any::<String>(), other in "[a-z/.]{1,6}") {
            for id in [&id, &other] {
                let stem = file_stem(id);
                prop_assert!(!stem.contains(['/', '\0']) && !stem.starts_with('.') && stem.len() < 150);
            }
            prop_assert_eq!(id == other, file_stem(&id) == file_stem(&other));
        }
    }
}
