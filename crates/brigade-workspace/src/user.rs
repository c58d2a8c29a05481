//! Reads the files of the user, which all workspaces share, and tools registries in place.

use std::path::{Path, PathBuf};

use brigade_catalog::{Catalog, Level, MAX_REGISTRY_BYTES, RegistrySettings, Runtimes, UnsafeUserFile};
use brigade_core::{ConfigIssue, Place, Severity};
use brigade_fs::{FileKind, FsError, FsErrorKind, Metadata, Owner, RelPath};

use crate::config::{CONFIG_LIMIT, read_config};
use crate::host::Host;

/// The configuration file of runtimes.
pub const RUNTIMES: &str = ".brigade/tools/runtimes.toml";

/// The tools registries of the workspace that are read in place, the nearest first.
pub const REGISTRIES: [&str; 2] = [".brigade/tools-registry.yaml", ".cub/tools-registry.yaml"];

/// The tools registry in the home directory of the user.
const USER_REGISTRY: &str = ".cub/tools-registry.yaml";

/// Returns the directory of the user's files: `brigade` in `XDG_CONFIG_HOME`, or in `~/.config`.
pub fn user_directory(host: &Host<'_>) -> Option<PathBuf> {
    Some(host.environment.config_folder()?.join("brigade"))
}

/// Reads the tools of the user. `None` without the file, which is usual and cheap.
pub fn read_user_catalog(host: &Host<'_>) -> Option<Catalog> {
    let path = user_directory(host)?.join("tools.toml");
    let file = path.display().to_string();
    match read(host, &path, CONFIG_LIMIT) {
        Ok(bytes) => Some(Catalog::parse(&file, Level::User, &bytes?)),
        Err(message) => Some(unread(&file, message)),
    }
}

/// Adds all farther levels to the catalog of a workspace: the tools registries of the workspace, the tools of the user,
/// and the registry of the user. Without a catalog, `missing` is the catalog if the workspace has no registry either.
pub fn with_levels(host: &Host<'_>, project: Result<Catalog, Catalog>) -> Catalog {
    let own: Vec<Catalog> = REGISTRIES.iter().filter_map(|file| read_registry(host, file)).collect();
    let of_user = read_user_registry(host);
    let is_used = |catalog: &Catalog| !catalog.tools().is_empty();
    let project =
        project.unwrap_or_else(|missing| if own.iter().any(is_used) { Catalog::default() } else { missing });
    let settings = own.iter().chain(&of_user).map(|catalog| catalog.settings().registry);
    let settings = settings.fold(RegistrySettings::default(), RegistrySettings::or);
    let user = read_user_catalog(host);
    let levels: Vec<Catalog> = match settings.prefer_local {
        Some(false) => user.into_iter().chain(of_user).chain(own).collect(),
        Some(true) | None => own.into_iter().chain(user).chain(of_user).collect(),
    };
    levels.into_iter().fold(project, Catalog::with_level)
}

/// Reads a tools registry of the workspace. `None` without the file.
fn read_registry(host: &Host<'_>, file: &str) -> Option<Catalog> {
    match host.fs.read(&RelPath::composed(file), MAX_REGISTRY_BYTES) {
        Ok(bytes) => Some(Catalog::parse_registry(file, Level::ProjectRegistry, &bytes)),
        Err(error) if is_absent(&error) => None,
        Err(error) => Some(unread(file, format!("cannot be read: {}", error.kind))),
    }
}

/// Reads the tools registry of the user. `None` without the file.
fn read_user_registry(host: &Host<'_>) -> Option<Catalog> {
    let path = host.home()?.join(USER_REGISTRY);
    let file = path.display().to_string();
    match read(host, &path, MAX_REGISTRY_BYTES) {
        Ok(bytes) => Some(Catalog::parse_registry(&file, Level::UserRegistry, &bytes?)),
        Err(message) => Some(unread(&file, message)),
    }
}

fn unread(file: &str, message: String) -> Catalog {
    Catalog::new(Vec::new(), vec![issue(file, message)])
}

/// Reads the runtimes of the user. `None` without such a file.
pub fn read_user_runtimes(host: &Host<'_>) -> Option<Runtimes> {
    let path = user_directory(host)?.join("tools/runtimes.toml");
    let file = path.display().to_string();
    match read(host, &path, CONFIG_LIMIT) {
        Ok(bytes) => Some(Runtimes::parse(&file, Level::User, &bytes?)),
        Err(message) => Some(Runtimes::new(Vec::new(), vec![issue(&file, message)])),
    }
}

/// Reads the runtimes of the workspace and the user. Without a file of the workspace, returns those of the user.
///
/// # Errors
/// Fails if the file of the workspace cannot be read, or if both files are missing.
pub fn read_runtimes(host: &Host<'_>) -> Result<Runtimes, FsError> {
    let user = read_user_runtimes(host);
    match read_config(host.fs, RUNTIMES) {
        Ok(bytes) => {
            let project = Runtimes::parse(RUNTIMES, Level::Project, &bytes);
            Ok(match user {
                Some(user) => project.with_user(user),
                None => project,
            })
        }
        Err(error) => {
            let user = user.filter(|user| !user.runtimes().is_empty() || !user.issues().is_empty());
            let user = user.filter(|_| error.is_not_found()).ok_or(error)?;
            Ok(Runtimes::default().with_user(user))
        }
    }
}

/// Reads a file of the user. `None` without the file. The error is a text for people.
fn read(host: &Host<'_>, path: &Path, limit: u64) -> Result<Option<Vec<u8>>, String> {
    let reason = |error: &FsError| error.kind.to_string();
    let metadata = match host.fs.metadata_outside(path) {
        Ok(metadata) => metadata,
        Err(error) if is_absent(&error) => return Ok(None),
        Err(error) => return Err(format!("cannot be read: {}", reason(&error))),
    };
    if metadata.kind != FileKind::File {
        return Err("cannot be read: it is not a file".to_owned());
    }
    if let Some(why) = why_unsafe(&metadata) {
        return Err(why.message().to_owned());
    }
    let read = host.fs.read_outside(path, limit);
    read.map(Some).map_err(|error| format!("cannot be read: {}", reason(&error)))
}

fn is_absent(error: &FsError) -> bool {
    matches!(error.kind, FsErrorKind::NotFound | FsErrorKind::NotADirectory)
}

/// Returns why a file of the user is not used. Another account may be able to write it.
pub fn why_unsafe(metadata: &Metadata) -> Option<UnsafeUserFile> {
    match metadata.owner() {
        Owner::Other => Some(UnsafeUserFile::Foreign),
        Owner::Us | Owner::Root => (metadata.mode & 0o002 != 0).then_some(UnsafeUserFile::Writable),
    }
}

fn issue(file: &str, message: String) -> ConfigIssue {
    let place = Place::file(file);
    ConfigIssue { severity: Severity::Error, place, entry: None, field: None, message, hint: None }
}

#[cfg(test)]
mod tests {
    use brigade_core::Timestamp;

    use super::*;
    use crate::testing::{Bench, entry};

    #[test]
    fn a_file_is_used_if_nobody_else_can_have_written_it() {
        let of = |uid: Option<u32>, mode: u32| {
            let modified = Timestamp::from_unix_micros(0);
            why_unsafe(&Metadata { kind: FileKind::File, len: 0, modified, mode, uid, id: None })
        };
        assert_eq!((of(None, 0o600), of(Some(0), 0o644)), (None, None));
        assert_eq!(of(None, 0o666), Some(UnsafeUserFile::Writable));
        // The owner is reported, whatever the mode is.
        assert_eq!(of(Some(u32::MAX - 7), 0o600), Some(UnsafeUserFile::Foreign));
        assert_eq!(of(Some(u32::MAX - 7), 0o666), Some(UnsafeUserFile::Foreign));
    }

    const REGISTRY: &str = "tools:\n  - id: shared\n    source: {type: cli, command: jq}\n  - id: far\n    source: {type: cli, command: jq}\n";

    fn ids(catalog: &Catalog) -> Vec<(String, Level)> {
        catalog.tools().iter().map(|tool| (tool.id.to_string(), tool.origin.level)).collect()
    }

    fn read_levels(bench: &Bench, project: &str) -> Catalog {
        let project = Catalog::parse(crate::CATALOG, Level::Project, project.as_bytes());
        with_levels(&bench.host(), Ok(project))
    }

    #[test]
    fn the_nearest_level_has_the_id_and_the_others_are_shadowed() {
        let mine = entry("shared", "command = 'x'") + &entry("mine", "command = 'x'");
        let bench = Bench::new(&[
            ("home/.config/brigade/tools.toml", &mine),
            (REGISTRIES[0], REGISTRY),
            ("home/.cub/tools-registry.yaml", &REGISTRY.replace("id: far", "id: farthest")),
        ])
        .with_home();
        let of = |level, ids: &[&str]| ids.iter().map(|id| ((*id).to_owned(), level)).collect::<Vec<_>>();
        let mut found = ids(&read_levels(&bench, &entry("own", "command = 'x'")));
        found.sort();
        let mut expect = of(Level::Project, &["own"]);
        expect.extend(of(Level::ProjectRegistry, &["shared", "far"]));
        expect.extend(of(Level::User, &["mine"]));
        expect.extend(of(Level::UserRegistry, &["farthest"]));
        expect.sort();
        assert_eq!(found, expect);
        let found = ids(&read_levels(&bench, &entry("shared", "command = 'x'")));
        assert!(found.contains(&("shared".to_owned(), Level::Project)), "{found:?}");
    }

    #[test]
    fn a_registry_may_put_the_tools_of_the_user_first() {
        let settings = format!("settings:\n  prefer_local: false\n{REGISTRY}");
        let bench = Bench::new(&[
            ("home/.config/brigade/tools.toml", &entry("shared", "command = 'x'")),
            (REGISTRIES[0], &settings),
        ])
        .with_home();
        let level = |bench: &Bench| {
            ids(&read_levels(bench, "")).into_iter().find(|(id, _)| id == "shared").unwrap().1
        };
        assert_eq!(level(&bench), Level::User);
        bench.write(REGISTRIES[0], REGISTRY);
        assert_eq!(level(&bench), Level::ProjectRegistry);
    }

    #[test]
    fn a_registry_makes_a_catalog_unnecessary() {
        let missing = || Catalog::new(Vec::new(), vec![issue(crate::CATALOG, "missing".to_owned())]);
        for (text, count) in [(REGISTRY, 0), ("tools: []\n", 1)] {
            let bench = Bench::new(&[(REGISTRIES[1], text)]);
            let read = with_levels(&bench.host(), Err(missing()));
            let found = read.issues().iter().filter(|issue| issue.place.file == crate::CATALOG).count();
            assert_eq!(found, count, "{text}");
        }
    }

    #[test]
    fn a_file_of_the_user_that_is_not_used_is_an_issue() {
        let path = "home/.config/brigade/tools.toml";
        let tool = entry("mine", "command = 'x'");
        let read = |prepare: &dyn Fn(&Bench)| {
            let bench = Bench::new(&[]).with_home();
            prepare(&bench);
            let read = read_user_catalog(&bench.host())?;
            Some((read.tools().len(), read.issues().first().map(|issue| issue.message.clone())))
        };
        assert_eq!(read(&|_| ()), None);
        assert_eq!(read(&|bench| bench.write(path, &tool)), Some((1, None)));
        let none = |message: &str| Some((0, Some(message.to_owned())));
        assert_eq!(read(&|bench| bench.folder(path)), none("cannot be read: it is not a file"));
        let open = |bench: &Bench| {
            bench.write(path, &tool);
            bench.context.fs.set_mode(&path.parse().unwrap(), 0o666).unwrap();
        };
        assert_eq!(read(&open), none(UnsafeUserFile::Writable.message()));
        // A file where the directory should be holds no tools.
        assert_eq!(read(&|bench| bench.write("home/.config/brigade", "")), None);
    }

    #[test]
    fn runtimes_of_the_workspace_and_the_user_are_read_together() {
        let runtime = |id: &str| format!("[[runtime]]\nid = '{id}'\nname = '{id}'\ncommand = 'sleep 9'\n");
        let read = |own: Option<String>, user: Option<String>| {
            let bench = Bench::new(&[]).with_home();
            own.iter().for_each(|text| bench.write(RUNTIMES, text));
            user.iter().for_each(|text| bench.write("home/.config/brigade/tools/runtimes.toml", text));
            let read = read_runtimes(&bench.host()).map_err(|error| error.kind);
            read.map(|read| read.runtimes().iter().map(|one| one.id.to_string()).collect::<Vec<_>>())
        };
        assert_eq!(read(Some(runtime("a")), Some(runtime("b"))), Ok(vec!["a".to_owned(), "b".to_owned()]));
        assert_eq!(read(None, Some(runtime("b"))), Ok(vec!["b".to_owned()]));
        assert_eq!(read(Some(runtime("a")), Some(runtime("a"))), Ok(vec!["a".to_owned()]));
        assert_eq!(read(None, None), Err(FsErrorKind::NotFound));
        let bench = Bench::new(&[("home/.config/brigade/tools/runtimes.toml", &runtime("b"))]).with_home();
        bench.folder(RUNTIMES);
        assert_eq!(read_runtimes(&bench.host()).err().map(|error| error.kind), Some(FsErrorKind::NotAFile));
    }

    #[test]
    fn the_directory_of_the_user_follows_its_variables() {
        for (variables, expect) in [
            (&[("HOME", "/home/ann")][..], Some("/home/ann/.config/brigade")),
            (&[("HOME", "/home/ann"), ("XDG_CONFIG_HOME", "/cfg")], Some("/cfg/brigade")),
            (&[("HOME", "/home/ann"), ("XDG_CONFIG_HOME", "cfg")], Some("/home/ann/.config/brigade")),
            (&[], None),
        ] {
            let bench = Bench::new(&[]).with_variables(variables);
            let found = user_directory(&bench.host()).map(|path| path.display().to_string());
            assert_eq!(found.as_deref(), expect, "{variables:?}");
        }
    }
}
