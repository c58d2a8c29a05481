//! The files of a directory of code, and one fingerprint for all of them.

use std::collections::BTreeSet;
use std::path::{Component, Path, PathBuf};

use brigade_core::{Fingerprint, Glob};
use brigade_fs::{FileKind, Fs, FsError, FsErrorKind, Location, RelPath, bound_fingerprint};

/// The maximum number of files in a directory.
const MAX_FILES: usize = 10_000;

/// The maximum number of bytes in a directory.
const MAX_BYTES: u64 = 256 << 20;

/// Directories that never have code: the state of Brigade and of git.
const EXCLUDED_FOLDERS: &[&str] = &[".brigade", ".git"];

/// The files below a directory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FolderFiles {
    /// All regular files and links to directories, sorted: by path in the workspace, or an absolute path if a link to a
    /// file leads out.
    All(Vec<String>),
    /// The directory has more than the limits; this much was counted.
    TooMuch {
        /// How many files.
        files: usize,
        /// How many bytes they have.
        bytes: u64,
    },
    /// A link to a directory outside of the workspace.
    LeadsOut(RelPath),
    /// A directory has a name that is not UTF-8.
    OddName(RelPath),
}

/// Lists all regular files below a directory of the workspace, and follows links.
///
/// # Errors
/// Fails if a directory cannot be read.
pub fn folder_files(fs: &dyn Fs, folder: &RelPath) -> Result<FolderFiles, FsError> {
    let mut files = BTreeSet::new();
    let mut bytes = 0u64;
    let mut visited = BTreeSet::from([folder.clone()]);
    let mut folders = vec![folder.clone()];
    while let Some(folder) = folders.pop() {
        let entries = fs.list_dir(&folder)?;
        if !fs.unreadable_names(&folder)?.is_empty() {
            return Ok(FolderFiles::OddName(folder));
        }
        for entry in entries {
            let Ok(path) = folder.join(&entry.name) else { continue };
            if EXCLUDED_FOLDERS.contains(&entry.name.as_str()) && entry.kind == FileKind::Directory {
                continue;
            }
            match entry.kind {
                FileKind::Directory => {
                    if visited.insert(path.clone()) {
                        folders.push(path);
                    }
                }
                FileKind::File => {
                    bytes += fs.metadata(&path)?.len;
                    files.insert(path.as_str().to_owned());
                }
                FileKind::Link => match linked(fs, &path)? {
                    LinkTarget::File(name, length) => {
                        bytes += length;
                        files.insert(name);
                    }
                    LinkTarget::Folder(real) => {
                        files.insert(path.as_str().to_owned());
                        if visited.insert(real.clone()) {
                            folders.push(real);
                        }
                    }
                    LinkTarget::FolderElsewhere => return Ok(FolderFiles::LeadsOut(path)),
                    LinkTarget::Unnamed => return Ok(FolderFiles::OddName(folder)),
                    LinkTarget::Nothing => {}
                },
                FileKind::Other => {}
            }
        }
        if MAX_FILES < files.len() || MAX_FILES < visited.len() || MAX_BYTES < bytes {
            return Ok(FolderFiles::TooMuch { files: files.len(), bytes });
        }
    }
    Ok(FolderFiles::All(files.into_iter().collect()))
}

/// Finds the state of git and of Brigade below a directory of the workspace, at any depth. `None` if there are too many
/// directories to look at.
///
/// # Errors
/// Fails if a directory cannot be read.
pub(crate) fn state_below(fs: &dyn Fs, folder: &RelPath) -> Result<Option<Vec<RelPath>>, FsError> {
    let mut found = Vec::new();
    let mut folders = vec![folder.clone()];
    let mut visited = 0;
    while let Some(folder) = folders.pop() {
        visited += 1;
        if MAX_FILES < visited {
            return Ok(None);
        }
        for entry in fs.list_dir(&folder)? {
            let Ok(path) = folder.join(&entry.name) else { continue };
            if EXCLUDED_FOLDERS.contains(&entry.name.as_str()) {
                found.push(path);
            } else if entry.kind == FileKind::Directory {
                folders.push(path);
            }
        }
    }
    Ok(Some(found))
}

/// Tells whether a directory is, or is in, one of Brigade or git.
fn is_state(folder: &RelPath) -> bool {
    folder.as_str().split('/').any(|part| EXCLUDED_FOLDERS.contains(&part))
}

/// The target of a link.
enum LinkTarget {
    File(String, u64),
    Folder(RelPath),
    FolderElsewhere,
    /// Something whose path is not UTF-8.
    Unnamed,
    Nothing,
}

fn linked(fs: &dyn Fs, link: &RelPath) -> Result<LinkTarget, FsError> {
    let path = fs.root().join(link.as_path());
    let Some(path) = path.to_str() else { return Ok(LinkTarget::Nothing) };
    Ok(match fs.resolve(path, None) {
        Ok(Location::Inside(real)) => match fs.metadata(&real) {
            Ok(metadata) if metadata.kind == FileKind::File => {
                LinkTarget::File(link.as_str().to_owned(), metadata.len)
            }
            Ok(metadata) if metadata.kind == FileKind::Directory => LinkTarget::Folder(real),
            Ok(_) | Err(_) => LinkTarget::Nothing,
        },
        Ok(Location::Outside(real)) => match fs.open_outside(&real) {
            Ok(file) => LinkTarget::File(real.to_string_lossy().into_owned(), file.len()?),
            Err(error) if error.kind == FsErrorKind::NotAFile => LinkTarget::FolderElsewhere,
            Err(_) => LinkTarget::Nothing,
        },
        Err(_) => match fs.metadata_outside(Path::new(path)) {
            Ok(found) if matches!(found.kind, FileKind::File | FileKind::Directory) => LinkTarget::Unnamed,
            Ok(_) | Err(_) => LinkTarget::Nothing,
        },
    })
}

/// Returns the fingerprint of a path that a command names. A file has a path in the workspace, or an absolute path if a
/// link leads out. A directory ends with `/` and covers everything below it.
///
/// # Errors
/// Fails if the path cannot be read.
pub fn file_fingerprint(fs: &dyn Fs, path: &str) -> Result<Fingerprint, FsError> {
    let inside = path.strip_suffix('/').unwrap_or(path).parse::<RelPath>();
    match inside {
        Ok(folder) if path.ends_with('/') => {
            let FolderFiles::All(files) = folder_files(fs, &folder)? else {
                // The directory had less when it was bound.
                return Ok(Fingerprint::builder("brigade.folder.v1").text("files", None::<&str>).finish());
            };
            let mut table = Vec::with_capacity(files.len());
            for file in files {
                let fingerprint = file_fingerprint(fs, &file)?;
                table.push((file, fingerprint));
            }
            Ok(folder_fingerprint(table))
        }
        Ok(file) => match real_of(fs, &file)? {
            Location::Inside(real) => match fs.open(&real) {
                // A directory, whose files are bound by their own names.
                Err(error) if error.kind == FsErrorKind::NotAFile => leads_to(fs, &file)?.ok_or(error),
                opened => Ok(reached(&file, real.as_str(), bound_fingerprint(fs, path, &*opened?)?)),
            },
            // What is there has its own name.
            Location::Outside(real) if is_link(fs, path) => Ok(link_to(&real.to_string_lossy())),
            Location::Outside(_) => fs.open(&file).and_then(|opened| bound_fingerprint(fs, path, &*opened)),
        },
        Err(_) => bound_fingerprint(fs, path, &*fs.open_outside(Path::new(path))?),
    }
}

/// Returns the fingerprint of a file by the name that it is reached by. Which file a link leads to is part of it: a
/// program finds its own files beside the file, not beside the link.
pub(crate) fn reached(name: &RelPath, real: &str, bytes: Fingerprint) -> Fingerprint {
    if name.as_str() == real {
        return bytes;
    }
    Fingerprint::builder("brigade.link.v1").text("to", real).fingerprint("bytes", bytes).finish()
}

/// Returns the fingerprint of a link to what is bound by other names.
pub(crate) fn link_to(real: &str) -> Fingerprint {
    Fingerprint::builder("brigade.link.v1").text("to", real).finish()
}

/// Returns where a path of the workspace leads.
fn real_of(fs: &dyn Fs, path: &RelPath) -> Result<Location, FsError> {
    fs.resolve(&fs.root().join(path.as_path()).to_string_lossy(), None)
}

/// Lists the links below the workspace that an absolute path leads through, also if it leaves the workspace and comes
/// back.
pub fn links_on(fs: &dyn Fs, path: &Path) -> Vec<RelPath> {
    const MAX_LINKS: usize = 40;
    let root = fs.root();
    let mut links = Vec::new();
    // Most paths are their own, and the system says so at once.
    if let Some(Ok(Location::Inside(real))) = path.to_str().map(|path| fs.resolve(path, None))
        && root.join(real.as_path()) == path
    {
        return links;
    }
    // A path that begins in the workspace is in it up to the first link or `..`.
    let (mut at, rest) = match path.strip_prefix(root) {
        Ok(below) => (root.to_owned(), below),
        Err(_) => (PathBuf::from("/"), path),
    };
    for part in rest.components() {
        match part {
            Component::ParentDir => {
                at.pop();
                continue;
            }
            Component::Normal(name) => at.push(name),
            Component::CurDir | Component::RootDir | Component::Prefix(_) => continue,
        }
        let below = at.strip_prefix(root).ok().and_then(|below| RelPath::try_from(below).ok());
        let is_outside = below.is_none();
        if let Some(below) = below {
            match fs.link_metadata(&below) {
                Ok(found) if found.kind == FileKind::Link => links.push(below),
                Ok(_) => continue,
                // Nothing is there, or below it.
                Err(_) => return links,
            }
        } else if root.starts_with(&at) {
            // The root has no link on its way.
            continue;
        }
        if MAX_LINKS <= links.len() {
            return links;
        }
        match fs.resolve(&at.to_string_lossy(), None) {
            Ok(Location::Inside(real)) => at = root.join(real.as_path()),
            Ok(Location::Outside(real)) => at = real,
            Err(_) if is_outside => {}
            Err(_) => return links,
        }
    }
    links
}

/// Lists the other paths to the workspace by which these paths lead into it: through links around it.
pub fn ways_to_root(fs: &dyn Fs, paths: impl IntoIterator<Item = PathBuf>) -> BTreeSet<PathBuf> {
    let is_root = |path: &&Path| {
        let found = path.to_str().and_then(|path| fs.resolve(path, None).ok());
        found.is_some_and(|found| matches!(found, Location::Inside(real) if real.is_root()))
    };
    let paths = paths.into_iter().filter(|path| path.is_absolute() && !path.starts_with(fs.root()));
    let mut visited = BTreeSet::new();
    let mut ways = BTreeSet::new();
    for path in paths {
        // Of what was looked at, everything above was, too.
        let above = path.ancestors().take_while(|path| visited.insert(path.to_path_buf()));
        ways.extend(above.filter(is_root).map(Path::to_owned));
    }
    ways
}

/// Tells whether a path of the workspace names a link.
pub(crate) fn is_link(fs: &dyn Fs, path: &str) -> bool {
    let path: Result<RelPath, _> = path.parse();
    let found = path.ok().and_then(|path| fs.link_metadata(&path).ok());
    found.is_some_and(|found| found.kind == FileKind::Link)
}

/// Returns the fingerprint of where a link leads, if that is a directory of the workspace.
pub(crate) fn leads_to(fs: &dyn Fs, link: &RelPath) -> Result<Option<Fingerprint>, FsError> {
    Ok(match linked(fs, link)? {
        LinkTarget::Folder(real) => Some(link_to(real.as_str())),
        _ => None,
    })
}

/// Returns the fingerprint of a directory from those of its files.
pub(crate) fn folder_fingerprint(files: Vec<(String, Fingerprint)>) -> Fingerprint {
    let table = files.into_iter().map(|(file, fingerprint)| (file, fingerprint.to_hex()));
    Fingerprint::builder("brigade.folder.v1").table("files", table).finish()
}

/// What a pattern of an entry matches.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PatternMatches {
    /// These regular files, by their path in the workspace. Sorted.
    All(Vec<String>),
    /// There is more than can be read each time; this much was counted.
    TooMuch {
        /// How many files.
        files: usize,
        /// How many bytes they have.
        bytes: u64,
    },
    /// A directory has a name that is not UTF-8, so that nothing can bind what is there.
    OddName {
        /// The directory.
        folder: RelPath,
    },
    /// It matches a link that leads out of the workspace, or such a link is on its way.
    LeadsOut {
        /// The first such link.
        link: RelPath,
        /// The regular files of the workspace that it matches. Sorted.
        files: Vec<String>,
    },
}

/// Checks that a pattern of an entry stays below the workspace, and away from `.brigade` and `.git`.
///
/// # Errors
/// Why it does not, as the end of a sentence.
pub fn check_pattern(pattern: &str) -> Result<(), &'static str> {
    let mut parts = pattern.split('/');
    if pattern.is_empty() || pattern.starts_with(['/', '~']) || parts.clone().any(|part| part == "..") {
        return Err("leads out of the workspace");
    }
    if parts.any(|part| EXCLUDED_FOLDERS.contains(&part)) {
        return Err("names the state of Brigade or of git");
    }
    Ok(())
}

/// Returns the directory of which a pattern matches everything (`fixtures/**`).
pub fn plain_folder(pattern: &str) -> Option<RelPath> {
    let folder = pattern.strip_prefix("./").unwrap_or(pattern).strip_suffix("/**")?;
    Some(folder).filter(|folder| !folder.contains(['*', '?', '\\']))?.parse().ok()
}

/// Returns the part of a pattern before the first name with a wildcard.
pub fn plain_part(pattern: &str) -> PathBuf {
    let pattern = pattern.strip_prefix("./").unwrap_or(pattern);
    pattern.split('/').take_while(|part| !part.contains(['*', '?', '\\'])).collect()
}

/// What a pattern of an entry is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PatternUse {
    /// What an approval binds. Nothing that a program finds there may be missed, so links to directories are followed,
    /// and a name that is not UTF-8 is a reason against the pattern.
    Code,
    /// What a run may read. Links to directories open nothing.
    Data,
}

/// Lists every regular file of the workspace that a pattern matches. Below `.brigade` and `.git` nothing matches.
///
/// # Errors
/// Fails if a directory cannot be read.
pub fn matching_files(fs: &dyn Fs, pattern: &str, use_of: PatternUse) -> Result<PatternMatches, FsError> {
    let glob = Glob::beneath(pattern);
    let pattern = pattern.strip_prefix("./").unwrap_or(pattern);
    // What is before the first directory that is not a plain name need not be searched.
    let is_plain = |part: &&str| !part.contains(['*', '?', '\\']);
    let parts: Vec<&str> = pattern.split('/').collect();
    let base: Vec<&str> = parts[..parts.len() - 1].iter().copied().take_while(is_plain).collect();
    let Ok(base) = base.join("/").parse::<RelPath>() else { return Ok(PatternMatches::All(Vec::new())) };
    let binds = use_of == PatternUse::Code;
    let may_match_below =
        |folder: &RelPath| parts.contains(&"**") || folder.as_path().components().count() < parts.len();
    let mut found = BTreeSet::new();
    let (mut bytes, mut visited) = (0u64, 0usize);
    let mut leading = None;
    // The path of each directory, the one without links, and whether a link led to it.
    let mut folders = vec![(base.clone(), base, false)];
    // Each directory that links lead to is looked at once, however many do, and however they go round.
    let mut linked_to = BTreeSet::new();
    while let Some((folder, real, is_linked)) = folders.pop() {
        let mut entries = match fs.list_dir(&real) {
            Err(error) if error.is_not_found() || error.kind == FsErrorKind::NotADirectory => continue,
            Err(error) if error.kind == FsErrorKind::Outside => {
                leading.get_or_insert(folder);
                continue;
            }
            entries => entries?,
        };
        if binds && may_match_below(&folder) && !fs.unreadable_names(&real)?.is_empty() {
            return Ok(PatternMatches::OddName { folder });
        }
        entries.sort_by(|one, other| one.name.cmp(&other.name));
        for entry in entries {
            let (Ok(path), Ok(own)) = (folder.join(&entry.name), real.join(&entry.name)) else { continue };
            let is_left_out = EXCLUDED_FOLDERS.contains(&entry.name.as_str());
            if is_left_out && (!binds || entry.kind == FileKind::Directory) {
                continue;
            }
            let is_match = glob.matches(path.as_str());
            match entry.kind {
                FileKind::Directory => {
                    if !is_linked || linked_to.insert(own.clone()) {
                        folders.push((path, own, is_linked));
                    }
                }
                FileKind::File if is_match => {
                    bytes += fs.metadata(&own)?.len;
                    found.insert(own.as_str().to_owned());
                }
                FileKind::Link if is_match || binds => match linked(fs, &own)? {
                    LinkTarget::File(name, length) if is_match && !name.starts_with('/') => {
                        bytes += length;
                        found.insert(own.as_str().to_owned());
                    }
                    LinkTarget::File(..) if is_match => {
                        leading.get_or_insert(path);
                    }
                    LinkTarget::FolderElsewhere if is_match || may_match_below(&path) => {
                        leading.get_or_insert(path);
                    }
                    LinkTarget::Folder(target) if binds && may_match_below(&path) && is_state(&target) => {
                        leading.get_or_insert(path);
                    }
                    LinkTarget::Folder(target) if binds && may_match_below(&path) => {
                        // Where it leads is bound, too.
                        found.insert(own.as_str().to_owned());
                        if linked_to.insert(target.clone()) {
                            folders.push((path, target, true));
                        }
                    }
                    LinkTarget::Unnamed if binds && (is_match || may_match_below(&path)) => {
                        return Ok(PatternMatches::OddName { folder });
                    }
                    LinkTarget::File(..)
                    | LinkTarget::FolderElsewhere
                    | LinkTarget::Folder(_)
                    | LinkTarget::Unnamed
                    | LinkTarget::Nothing => {}
                },
                FileKind::File | FileKind::Link | FileKind::Other => {}
            }
        }
        visited += 1;
        if MAX_FILES < found.len() || 10 * MAX_FILES < visited || MAX_BYTES < bytes {
            return Ok(PatternMatches::TooMuch { files: found.len(), bytes });
        }
    }
    let found = found.into_iter().collect();
    Ok(match leading {
        None => PatternMatches::All(found),
        Some(link) => PatternMatches::LeadsOut { link, files: found },
    })
}

#[cfg(test)]
mod tests {
    use std::os::unix::ffi::OsStrExt as _;

    use brigade_fs::MemoryFs;

    use super::*;

    #[test]
    fn patterns_stay_below_the_workspace() {
        for pattern in ["lib/**", "package.json", "**/*.py", "a/..b/c", "./lib/*"] {
            assert_eq!(check_pattern(pattern), Ok(()), "{pattern}");
        }
        assert_eq!(check_pattern("./~/**"), Ok(()));
        for pattern in ["", "/etc/*", "~/x", "../x", "a/../../x", ".git/**", "a/.brigade/x", ".git"] {
            assert!(check_pattern(pattern).is_err(), "{pattern}");
        }
    }

    #[test]
    fn state_is_found_at_any_depth() {
        let fs = MemoryFs::new();
        for path in ["a/.git/config", "a/b/.brigade/tools.toml", "a/b/c/.git", "a/file", "d/.git/config"] {
            let path: RelPath = path.parse().unwrap();
            fs.create_dir_all(&path.parent()).unwrap();
            fs.write_cache(&path, b"text").unwrap();
        }
        let mut found = state_below(&fs, &"a".parse().unwrap()).unwrap().unwrap();
        found.sort();
        let found: Vec<&str> = found.iter().map(RelPath::as_str).collect();
        assert_eq!(found, ["a/.git", "a/b/.brigade", "a/b/c/.git"]);
    }

    #[test]
    fn a_pattern_matches_files_and_nothing_of_brigade_and_git() {
        let fs = MemoryFs::new();
        for path in ["lib/a.py", "lib/deep/b.py", "lib/deep/c.txt", "main.py", ".git/x.py", "lib/.git/y.py"] {
            let path: RelPath = path.parse().unwrap();
            fs.create_dir_all(&path.parent()).unwrap();
            fs.write_cache(&path, b"text").unwrap();
        }
        for (pattern, expect) in [
            ("lib/**", &["lib/a.py", "lib/deep/b.py", "lib/deep/c.txt"][..]),
            ("**/*.py", &["lib/a.py", "lib/deep/b.py", "main.py"]),
            ("lib/*.py", &["lib/a.py"]),
            ("./main.py", &["main.py"]),
            ("gone/**", &[]),
            ("main.py/*", &[]),
        ] {
            let expect = expect.iter().map(|path| (*path).to_owned()).collect();
            assert_eq!(
                matching_files(&fs, pattern, PatternUse::Data).unwrap(),
                PatternMatches::All(expect),
                "{pattern}"
            );
        }
    }

    #[test]
    #[allow(clippy::disallowed_methods, reason = "the test makes the links")]
    fn a_link_that_leads_out_hides_no_other_file() {
        let (root, elsewhere) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        std::fs::create_dir(root.path().join("lib")).unwrap();
        std::fs::write(root.path().join("lib/a.py"), "1").unwrap();
        std::os::unix::fs::symlink(elsewhere.path(), root.path().join("lib/out")).unwrap();
        let fs = brigade_fs::DiskFs::open(root.path()).unwrap();
        let matching = |pattern| matching_files(&fs, pattern, PatternUse::Data).unwrap();
        let leads_out = |files: &[&str]| PatternMatches::LeadsOut {
            link: "lib/out".parse().unwrap(),
            files: files.iter().map(|file| (*file).to_owned()).collect(),
        };
        assert_eq!(matching("lib/**"), leads_out(&["lib/a.py"]));
        assert_eq!(matching("lib/out/*.py"), leads_out(&[]));
        assert_eq!(matching("lib/*.py"), PatternMatches::All(vec!["lib/a.py".to_owned()]));
    }
    #[test]
    #[allow(clippy::disallowed_methods, reason = "the test makes the links")]
    fn code_is_found_behind_links_and_under_any_name() {
        let root = tempfile::tempdir().unwrap();
        let path = |name: &str| root.path().join(name);
        for folder in ["lib/deep", "other", "sub"] {
            std::fs::create_dir_all(path(folder)).unwrap();
        }
        for file in ["lib/a.py", "lib/deep/b.py", "other/e.py", "lib/.git"] {
            std::fs::write(path(file), "1").unwrap();
        }
        let link = |to: &Path, at: &str| std::os::unix::fs::symlink(to, path(at)).unwrap();
        link(Path::new("../other"), "lib/z");
        link(&path("other"), "lib/deep/y");
        link(Path::new("deep"), "lib/around");
        link(Path::new("."), "lib/self");
        let fs = brigade_fs::DiskFs::open(root.path()).unwrap();
        let matching = |pattern, use_of| matching_files(&fs, pattern, use_of).unwrap();
        let all = |files: &[&str]| PatternMatches::All(files.iter().map(|file| (*file).to_owned()).collect());
        let code = [
            "lib/.git",
            "lib/a.py",
            "lib/around",
            "lib/deep/b.py",
            "lib/deep/y",
            "lib/self",
            "lib/z",
            "other/e.py",
        ];
        assert_eq!(matching("lib/**", PatternUse::Code), all(&code));
        assert_eq!(matching("lib/*.py", PatternUse::Code), all(&["lib/a.py"]));
        let links = ["lib/around", "lib/self", "lib/z"];
        assert_eq!(matching("lib/*/e.py", PatternUse::Code), all(&[&links[..], &["other/e.py"]].concat()));
        let leads = |link: &str| file_fingerprint(&fs, link).unwrap();
        assert_eq!(leads("lib/z"), leads("lib/deep/y"));
        assert_ne!(leads("lib/z"), leads("lib/around"));
        assert_eq!(matching("lib/**", PatternUse::Data), all(&["lib/a.py", "lib/deep/b.py"]));
        // What git and Brigade keep is not code, whatever leads there.
        std::fs::create_dir_all(path(".git/hooks")).unwrap();
        link(Path::new("../.git/hooks"), "lib/kept");
        let PatternMatches::LeadsOut { link: kept, files } = matching("lib/**", PatternUse::Code) else {
            panic!()
        };
        assert!(kept.as_str() == "lib/kept" && !files.iter().any(|file| file.contains("hooks")));
        std::fs::remove_file(path("lib/kept")).unwrap();
        // Links that go round are followed once, also to what is around.
        link(Path::new("../lib"), "other/back");
        link(Path::new(".."), "lib/up");
        let PatternMatches::All(files) = matching("lib/**", PatternUse::Code) else { panic!() };
        assert!(files.contains(&"lib/up".to_owned()) && files.len() < 20, "{files:?}");
        std::fs::remove_file(path("lib/up")).unwrap();
        let odd = std::ffi::OsStr::from_bytes(b"\xff.py");
        std::fs::write(path("lib/deep").join(odd), "1").unwrap();
        let folder = "lib/deep".parse().unwrap();
        assert_eq!(matching("lib/**", PatternUse::Code), PatternMatches::OddName { folder });
        assert_eq!(matching("lib/*.py", PatternUse::Code), all(&["lib/a.py"]));
        let folder: RelPath = "lib/deep".parse().unwrap();
        assert_eq!(folder_files(&fs, &folder).unwrap(), FolderFiles::OddName(folder));
        std::fs::remove_file(path("lib/deep").join(odd)).unwrap();
        // What a link leads to has such a name.
        std::fs::create_dir(root.path().join(odd)).unwrap();
        link(&root.path().join(odd), "other/odd");
        assert!(matches!(matching("other/**", PatternUse::Code), PatternMatches::OddName { .. }));
    }
}
