//! The directories of tool packs.
//!
//! A pack is written into a hidden directory and then renamed, so a crash leaves no incomplete pack. An imported pack
//! is not trusted: its size is limited, and links in it are not followed.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::sync::Arc;

use brigade_catalog::pack::{Entry, Pack, PackedSource, SourceState, source_place};
use brigade_core::text::escape_terminal;
use brigade_core::{ErrorCode, ErrorKind, IdPrefix, Json, NextStep, PrefixMatch, Timestamp};
use brigade_fs::{FileKind, Fs, FsError, FsErrorKind, Location, RelPath};
use brigade_policy::Failure;
use brigade_redact::Redactor;
use brigade_workspace::{DOCUMENT_LIMIT, parse_json};

/// The directory of packs.
pub const PACKS: &str = ".brigade/tools/packs";

/// The directory of archived packs.
pub const PACKS_ARCHIVE: &str = ".brigade/tools/packs-archive";

/// The suffix of every pack name.
const SUFFIX: &str = "tool-pack";

/// The document of a pack.
const MANIFEST: &str = "tool-pack.json";

/// The entries of a pack as a catalog.
const ENTRIES_FILE: &str = "portable-tools.toml";

/// The sources of a pack.
const SOURCES: &str = "source-files";

/// The maximum size of a manifest, and of all sources of an imported pack together.
const PACK_LIMIT: u64 = 64 << 20;

/// The maximum number of entries that are imported.
const MAX_ENTRIES: usize = 10_000;

/// The packs of a workspace.
#[derive(Default)]
pub struct FoundPacks {
    /// The packs, newest first. Each has the name of its directory as its id, and a `path` relative to the workspace.
    pub packs: Vec<Pack>,
    /// The ids of packs that cannot be read, and why.
    pub unreadable: Vec<(String, String)>,
}

/// Lists the packs.
///
/// # Errors
/// Returns an error if the directory cannot be listed.
pub fn packs(fs: &dyn Fs) -> Result<FoundPacks, FsError> {
    let parent = RelPath::from_static(PACKS);
    let entries = match fs.list_dir(&parent) {
        Ok(entries) => entries,
        Err(error) if error.is_not_found() => return Ok(FoundPacks::default()),
        Err(error) => return Err(error),
    };
    let (mut found, mut unreadable) = (Vec::new(), Vec::new());
    for entry in entries {
        if entry.kind != FileKind::Directory || entry.name.starts_with('.') {
            continue;
        }
        let folder = inside(&parent, &entry.name);
        match read_manifest(fs, &folder) {
            Ok(pack) => {
                let created = pack.created_at.parse::<Timestamp>().ok();
                let path = Some(folder.to_string());
                found.push((created, Pack { pack_id: entry.name, path, ..pack }));
            }
            Err(why) => unreadable.push((entry.name, why.text())),
        }
    }
    found.sort_by(|(a, one), (b, other)| (b, &other.pack_id).cmp(&(a, &one.pack_id)));
    unreadable.sort();
    Ok(FoundPacks { packs: found.into_iter().map(|(_, pack)| pack).collect(), unreadable })
}

/// A pack that is being built.
pub struct NewPack<'f> {
    fs: &'f dyn Fs,
    folder: RelPath,
    /// Its id.
    pub pack_id: String,
}

impl NewPack<'_> {
    /// Adds the sources of entries. A source that may not leave the workspace is left out, with the reason.
    pub fn add_sources(&self, entries: &[Entry], redactor: &Redactor) -> Result<Vec<PackedSource>, FsError> {
        let mut sources = Vec::new();
        for entry in entries {
            let Some(path) = entry.tool.source_path.as_deref().filter(|path| !path.trim().is_empty()) else {
                continue;
            };
            let mut source = PackedSource {
                tool_id: entry.tool.id.as_str().to_owned(),
                source_path: redactor.redact_str(path),
                ..PackedSource::default()
            };
            match self.portable_source(path, redactor) {
                Ok((place, bytes)) => {
                    let path = format!("{SOURCES}/{place}");
                    self.write(&path, &bytes)?;
                    source.packed = true;
                    source.pack_path = Some(path);
                }
                Err(reason) => source.reason = Some(reason),
            }
            sources.push(source);
        }
        Ok(sources)
    }

    fn portable_source(&self, path: &str, redactor: &Redactor) -> Result<(String, Vec<u8>), String> {
        let place = source_place(path)?;
        let read = match self.fs.resolve(&place, None) {
            Ok(Location::Outside(_)) => return Err("source leads out of the workspace".to_owned()),
            // A link may lead to a file of the state.
            Ok(Location::Inside(real)) => {
                source_place(real.as_str())?;
                self.fs.read(&real, DOCUMENT_LIMIT)
            }
            Err(error) => Err(error),
        };
        let bytes = read.map_err(|error| match error.kind {
            FsErrorKind::NotFound => "source missing".to_owned(),
            kind => format!("source cannot be read: {kind}"),
        })?;
        let text = String::from_utf8_lossy(&bytes);
        if redactor.redact_str(&text) != text {
            return Err("source seems to contain a secret".to_owned());
        }
        Ok((place, bytes))
    }

    /// Adds the documents. The manifest comes last: without it, a directory is not a pack.
    pub fn add_documents(&self, manifest: &Json, entries: &[Entry], readme: &str) -> Result<(), FsError> {
        if !entries.is_empty() {
            let entries: Vec<String> = entries.iter().map(Entry::to_toml).collect();
            self.write(ENTRIES_FILE, entries.join("\n").as_bytes())?;
        }
        self.write("TOOL_PACK.md", readme.as_bytes())?;
        self.write(MANIFEST, manifest.to_pretty().as_bytes())
    }

    fn write(&self, path: &str, bytes: &[u8]) -> Result<(), FsError> {
        let path = inside(&self.folder, path);
        self.fs.create_dir_all(&path.parent())?;
        let mut file = match self.fs.create(&path, 0o600) {
            // Several tools may have one source.
            Err(error) if error.is_exists() => return Ok(()),
            file => file?,
        };
        file.write(bytes)?;
        file.sync()
    }
}

/// Builds a pack in a new directory, which appears when it is complete. Returns what `fill` returns, and the directory.
///
/// # Errors
/// Returns file errors, and those of `fill`. No pack remains then.
pub fn store_pack<T, E: From<FsError>>(
    fs: &dyn Fs,
    now: Timestamp,
    fill: impl FnOnce(&NewPack<'_>) -> Result<T, E>,
) -> Result<(T, RelPath), E> {
    let parent = private_folder(fs, PACKS)?;
    let name = format!("{}-{SUFFIX}", now.compact());
    let mut number = 1;
    let pack = loop {
        let pack_id = if number == 1 { name.clone() } else { format!("{name}-{number}") };
        let folder = inside(&parent, &format!(".new-{pack_id}"));
        match fs.create_dir(&folder) {
            // The hidden directory reserves the name, unless a complete pack already has it.
            Ok(()) if !fs.exists(&inside(&parent, &pack_id))? => break NewPack { fs, folder, pack_id },
            Ok(()) => fs.remove_dir(&folder)?,
            Err(error) if error.is_exists() => {}
            Err(error) => return Err(error.into()),
        }
        number += 1;
    };
    let target = inside(&parent, &pack.pack_id);
    let filled = fill(&pack).and_then(|filled| {
        fs.rename(&pack.folder, &target)?;
        fs.sync_dir(&parent)?;
        Ok(filled)
    });
    match filled {
        Ok(filled) => Ok((filled, target)),
        Err(error) => {
            let _ = fs.remove_tree(&pack.folder);
            Err(error)
        }
    }
}

/// Moves a pack to the archive. Returns its new directory.
///
/// # Errors
/// Returns [`FsErrorKind::Exists`] if the archive already has it, and file errors.
pub fn archive_pack(fs: &dyn Fs, pack_id: &str) -> Result<RelPath, FsError> {
    let archive = private_folder(fs, PACKS_ARCHIVE)?;
    let target = inside(&archive, pack_id);
    if fs.exists(&target)? {
        return Err(FsError::new("archive", target.as_str(), FsErrorKind::Exists));
    }
    fs.rename(&inside(&RelPath::from_static(PACKS), pack_id), &target)?;
    fs.sync_dir(&archive)?;
    fs.sync_dir(&RelPath::from_static(PACKS))?;
    Ok(target)
}

/// Why a directory cannot be imported.
#[derive(Debug)]
pub enum OpenPackError {
    /// It is not a pack. The text says why.
    NotAPack(String),
    /// It cannot be read.
    Disk(FsError),
}

impl From<String> for OpenPackError {
    fn from(why: String) -> OpenPackError {
        OpenPackError::NotAPack(why)
    }
}

impl OpenPackError {
    fn text(&self) -> String {
        match self {
            OpenPackError::NotAPack(why) => why.clone(),
            OpenPackError::Disk(error) => error.kind.to_string(),
        }
    }

    /// Distinguishes a directory that is not a pack from one that cannot be read.
    pub fn from_disk(error: FsError) -> OpenPackError {
        match error.kind {
            FsErrorKind::Permission | FsErrorKind::Other { .. } => OpenPackError::Disk(error),
            kind => OpenPackError::NotAPack(kind.to_string()),
        }
    }
}

/// A pack to be imported, and the sources that were read from it.
pub struct OpenPack {
    fs: Arc<dyn Fs>,
    folder: RelPath,
    pack: Pack,
    entry_errors: Vec<String>,
    sources: RefCell<BTreeMap<String, Vec<u8>>>,
}

impl OpenPack {
    /// Reads the manifest of the pack in a directory.
    ///
    /// # Errors
    /// Fails if it is not a pack, or cannot be read.
    pub fn open(fs: Arc<dyn Fs>, folder: RelPath) -> Result<OpenPack, OpenPackError> {
        let mut pack = read_manifest(&*fs, &folder)?;
        let entries = &mut pack.portable_catalog.entries;
        let mut entry_errors = Vec::new();
        if entries.is_empty()
            && let Some(bytes) = read_plain(&*fs, &folder, ENTRIES_FILE, PACK_LIMIT)?
        {
            let text = String::from_utf8(bytes).map_err(|_| format!("`{ENTRIES_FILE}` is not UTF-8 text"))?;
            let (found, errors) = Entry::of_catalog(ENTRIES_FILE, &text);
            entry_errors = errors;
            entries.extend(found.iter().map(|entry| Json::Object(entry.to_object())));
        }
        if MAX_ENTRIES < entries.len() {
            return Err(format!("it has more than {MAX_ENTRIES} entries").into());
        }
        Ok(OpenPack { fs, folder, pack, entry_errors, sources: RefCell::default() })
    }

    /// Returns the errors in the separate file of entries.
    pub fn entry_errors(&self) -> &[String] {
        &self.entry_errors
    }

    /// Returns the manifest.
    pub fn manifest(&self) -> &Pack {
        &self.pack
    }

    /// Compares the source at a place in the pack with the file at that place in a workspace.
    pub fn compare(&self, place: &str, workspace: &dyn Fs) -> SourceState {
        let mut sources = self.sources.borrow_mut();
        let read: u64 = sources.values().map(|bytes| bytes.len() as u64).sum();
        let limit = DOCUMENT_LIMIT.min(PACK_LIMIT - read.min(PACK_LIMIT));
        let packed = match sources.get(place) {
            Some(bytes) => Ok(Some(bytes.clone())),
            None => read_plain(&*self.fs, &self.folder, &format!("{SOURCES}/{place}"), limit),
        };
        let existing = read_plain(workspace, &RelPath::root(), place, DOCUMENT_LIMIT);
        match (packed, existing) {
            (Err(reason), _) => SourceState::Unusable(format!("source in the pack: {}", reason.text())),
            (Ok(None), _) => SourceState::NotPacked,
            (Ok(Some(_)), Err(reason)) => {
                SourceState::Unusable(format!("source in the workspace: {}", reason.text()))
            }
            (Ok(Some(packed)), Ok(existing)) => {
                let state = match existing {
                    None => SourceState::New,
                    Some(existing) if existing == packed => SourceState::Same,
                    Some(_) => SourceState::Different,
                };
                sources.insert(place.to_owned(), packed);
                state
            }
        }
    }

    /// Returns a source that was compared.
    pub fn source(&self, place: &str) -> Vec<u8> {
        self.sources.borrow().get(place).cloned().unwrap_or_default()
    }
}

fn read_manifest(fs: &dyn Fs, folder: &RelPath) -> Result<Pack, OpenPackError> {
    let bytes = read_plain(fs, folder, MANIFEST, PACK_LIMIT)?.ok_or(format!("it has no `{MANIFEST}`"))?;
    let json = parse_json(&bytes).map_err(|error| format!("`{MANIFEST}`: {error}"))?;
    let Json::Object(members) = json else { return Err(format!("`{MANIFEST}` is not an object").into()) };
    Ok(Pack::from_members(members).map_err(|error| format!("`{MANIFEST}`: {error}"))?)
}

/// Reads a file below a directory; `None` if it does not exist. Links are not followed.
fn read_plain(
    fs: &dyn Fs,
    folder: &RelPath,
    path: &str,
    limit: u64,
) -> Result<Option<Vec<u8>>, OpenPackError> {
    let mut at = folder.clone();
    let names: Vec<&str> = path.split('/').collect();
    for (index, name) in names.iter().enumerate() {
        at = at.join(name).map_err(|error| error.to_string())?;
        let kind = match fs.link_metadata(&at) {
            Ok(metadata) => metadata.kind,
            Err(error) if error.is_not_found() => return Ok(None),
            Err(error) => return Err(OpenPackError::from_disk(error)),
        };
        let expected = if index + 1 == names.len() { FileKind::File } else { FileKind::Directory };
        if kind == FileKind::Link {
            return Err("it is a symbolic link, or below one".to_owned().into());
        }
        if kind != expected {
            return Err("it is not a file".to_owned().into());
        }
    }
    fs.read(&at, limit).map(Some).map_err(OpenPackError::from_disk)
}

/// Creates a directory whose content git ignores.
fn private_folder(fs: &dyn Fs, path: &str) -> Result<RelPath, FsError> {
    let folder = RelPath::composed(path);
    fs.create_dir_all(&folder)?;
    let ignore = inside(&folder, ".gitignore");
    if !fs.exists(&ignore)? {
        fs.create_new_durable(&ignore, b"*\n")?;
    }
    Ok(folder)
}

fn inside(folder: &RelPath, name: &str) -> RelPath {
    folder.join(name).expect("names of packs, and checked places, stay inside")
}

/// Finds a stored pack by its id or a prefix; `latest` is the newest one.
///
/// # Errors
/// Fails if no pack or several packs match, or on a disk error.
pub fn find_pack(fs: &dyn Fs, id: &IdPrefix) -> Result<Pack, Failure> {
    let FoundPacks { packs, unreadable } = packs(fs)?;
    let found = match (id.as_str(), packs.first()) {
        ("latest", Some(latest)) => PrefixMatch::One(latest),
        _ => id.resolve(packs.iter().map(|pack| (pack.pack_id.as_str(), pack))),
    };
    match found {
        PrefixMatch::One(pack) => Ok(pack.clone()),
        PrefixMatch::None => {
            let is_meant = |(name, _): &&(String, String)| name.starts_with(id.as_str());
            if let Some((name, why)) = unreadable.iter().find(is_meant) {
                let message = format!("the pack `{}` cannot be read: {why}", escape_terminal(name));
                return Err(Failure::new(ErrorKind::InvalidConfig, message).coded(ErrorCode::PackInvalid));
            }
            let message = format!("no pack matches `{}`", escape_terminal(id.as_str()));
            Err(Failure::new(ErrorKind::NotFound, message)
                .coded(ErrorCode::PackMissing)
                .hint(NextStep::ListPacks))
        }
        PrefixMatch::Ambiguous(several) => {
            let candidates = several.iter().map(|pack| pack.pack_id.clone()).collect();
            Err(Failure::ambiguous("pack", id.as_str(), candidates))
        }
    }
}

#[cfg(test)]
mod tests {
    use brigade_fs::{FileMode, MemoryFs};

    use super::*;

    const NOW: i64 = 1_700_000_000_000_000;

    fn build(fs: &dyn Fs, text: &str) -> String {
        let now = Timestamp::from_unix_micros(NOW);
        let manifest =
            Json::object([("created_at", Json::from(now.to_string())), ("text", Json::from(text))]);
        let fill = |pack: &NewPack<'_>| pack.add_documents(&manifest, &[], "read me");
        let (_, folder) = store_pack::<_, FsError>(fs, now, fill).unwrap();
        folder.name().to_owned()
    }

    #[test]
    fn packs_of_one_second_are_numbered() {
        let fs = MemoryFs::new();
        assert_eq!(build(&fs, "a"), "20231114-221320-tool-pack");
        assert_eq!(build(&fs, "b"), "20231114-221320-tool-pack-2");
        // A command that was killed leaves the hidden directory.
        fs.create_dir_all(&RelPath::from_static(".brigade/tools/packs/.new-20231114-221320-tool-pack-3"))
            .unwrap();
        assert_eq!(build(&fs, "c"), "20231114-221320-tool-pack-4");
        let failed: Result<((), RelPath), FsError> =
            store_pack(&fs, Timestamp::from_unix_micros(NOW), |pack| {
                pack.write("source-files/a", b"a")?;
                Err(FsError::new("write", "x", FsErrorKind::NoSpace))
            });
        assert!(failed.is_err());
        let ids: Vec<String> = packs(&fs).unwrap().packs.into_iter().map(|pack| pack.pack_id).collect();
        let newest =
            ["20231114-221320-tool-pack-4", "20231114-221320-tool-pack-2", "20231114-221320-tool-pack"];
        assert_eq!(ids, newest);
        assert_eq!(
            fs.list_dir(&RelPath::from_static(PACKS)).unwrap().len(),
            5,
            "three packs, the half one and .gitignore"
        );
    }

    #[test]
    fn an_archived_pack_is_not_replaced() {
        let fs = MemoryFs::new();
        let id = build(&fs, "a");
        assert_eq!(archive_pack(&fs, &id).unwrap().parent(), RelPath::from_static(PACKS_ARCHIVE));
        assert!(packs(&fs).unwrap().packs.is_empty());
        assert_eq!(build(&fs, "b"), id);
        assert!(archive_pack(&fs, &id).unwrap_err().is_exists());
        assert_eq!(packs(&fs).unwrap().packs.len(), 1);
    }

    #[test]
    fn an_unreadable_directory_is_a_disk_error() {
        let is_disk = |kind: FsErrorKind| {
            matches!(OpenPackError::from_disk(FsError::new("open", "x", kind)), OpenPackError::Disk(_))
        };
        assert!(is_disk(FsErrorKind::Permission));
        assert!(!is_disk(FsErrorKind::NotFound) && !is_disk(FsErrorKind::NotADirectory));
    }

    #[test]
    fn a_pack_that_cannot_be_read_is_named() {
        let fs = MemoryFs::new();
        let id = build(&fs, "a");
        let manifest = RelPath::composed(&format!("{PACKS}/{id}/{MANIFEST}"));
        fs.write_atomic(&manifest, b"{", FileMode::Private).unwrap();
        let found = packs(&fs).unwrap();
        assert!(found.packs.is_empty());
        assert_eq!(found.unreadable[0].0, id);
        let failure = find_pack(&fs, &IdPrefix::new(&id)).unwrap_err();
        assert!(failure.to_string().contains("cannot be read"), "{failure}");
    }

    #[test]
    fn all_sources_of_a_pack_together_are_bounded() {
        let fs = Arc::new(MemoryFs::new());
        let write = |path: &str, bytes: &[u8]| {
            fs.create_dir_all(&RelPath::composed(path).parent()).unwrap();
            fs.write_atomic(&RelPath::composed(path), bytes, FileMode::Private).unwrap();
        };
        write("pack/tool-pack.json", b"{}");
        let large = vec![b'x'; DOCUMENT_LIMIT as usize];
        for name in ["a", "b", "c", "d", "e"] {
            write(&format!("pack/source-files/{name}"), &large);
        }
        let pack = OpenPack::open(fs.clone(), RelPath::from_static("pack")).ok().unwrap();
        let workspace = MemoryFs::new();
        for name in ["a", "b", "c", "d"] {
            assert_eq!(pack.compare(name, &workspace), SourceState::New);
        }
        assert!(matches!(pack.compare("e", &workspace), SourceState::Unusable(_)));
        assert_eq!(pack.compare("a", &workspace), SourceState::New);
        assert_eq!(pack.compare("f", &workspace), SourceState::NotPacked);
    }
}
