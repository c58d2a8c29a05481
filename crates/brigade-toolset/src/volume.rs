//! Volumes and their files: `volume.*` and `file.*`.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use brigade_core::{ErrorCode, Fingerprint, Json, Timestamp};
use brigade_db::volumes::{Volume, VolumeEntry, VolumeFiles};
use brigade_fs::FileKind;
use serde::{Deserialize, Serialize};
use std::time::Duration;

use crate::context::{Context, Failure, Output, TouchedPath};
use crate::references::ArgumentReferences;
use crate::run::{Function, arguments};

/// The tools of this family.
pub(crate) const TOOLS: &[(&str, Function)] = &[
    ("file.delete", delete_file),
    ("file.list", list_files),
    ("file.mkdir", make_folder),
    ("file.read", read_file),
    ("file.write", write_file),
    ("volume.create", create),
    ("volume.delete", delete),
    ("volume.list", list),
    ("volume.quota", quota),
];

/// How long a writer waits for another writer of the same volume.
const LOCK_TIMEOUT: Duration = Duration::from_secs(10);

#[derive(Deserialize)]
struct CreateArgs {
    label: String,
    size_limit_bytes: u64,
}

#[derive(Deserialize)]
struct IdArgs {
    volume_id: String,
}

#[derive(Deserialize)]
struct PathArgs {
    volume_id: String,
    path: String,
    #[serde(default)]
    recursive: bool,
}

#[derive(Deserialize)]
struct ReadArgs {
    volume_id: String,
    path: String,
    encoding: String,
}

#[derive(Deserialize)]
struct WriteArgs {
    volume_id: String,
    path: String,
    content: String,
    encoding: String,
}

/// How the files of a volume are used.
#[derive(Clone, Copy)]
enum VolumeAccess {
    Read,
    Change,
}

/// Opens the files of a volume of the caller. A person can open all volumes.
fn files(context: &Context<'_>, id: &str, wish: VolumeAccess) -> Result<VolumeFiles, Failure> {
    let volume = context.stored_or_missing("volume")?.volume(context.agent(), id)?;
    open(context, &volume, wish)
}

fn open(context: &Context<'_>, volume: &Volume, wish: VolumeAccess) -> Result<VolumeFiles, Failure> {
    let patience = match wish {
        VolumeAccess::Read => None,
        VolumeAccess::Change => Some(LOCK_TIMEOUT),
    };
    Ok(VolumeFiles::open(context.fs, volume, &context.volumes, patience)?)
}

/// The maximum number of hashed files of a volume in a receipt.
const MAX_HASHED_FILES: usize = 10_000;

/// Adds the hash of a file, or of all files below a directory.
fn hashes(files: &VolumeFiles, path: &str, found: &mut Vec<(String, Fingerprint)>) {
    if MAX_HASHED_FILES <= found.len() {
        return;
    }
    if let Ok(bytes) = files.read(path) {
        found.push((path.to_owned(), Fingerprint::of_bytes(&bytes)));
        return;
    }
    let is_real = |entry: &VolumeEntry| matches!(entry.kind, FileKind::File | FileKind::Directory);
    for entry in files.list(path).unwrap_or_default().into_iter().filter(is_real) {
        let below = if path.is_empty() { entry.name } else { format!("{path}/{}", entry.name) };
        hashes(files, &below, found);
    }
}

/// Records a change of a file in a volume, for the receipt.
fn touch(
    context: &mut Context<'_>,
    volume: &str,
    path: &str,
    before: Option<Fingerprint>,
    after: Option<Fingerprint>,
) {
    let path = format!(".brigade/volumes/{volume}/{}", path.trim_matches('/'));
    context.touched.push(TouchedPath { path, before, after });
}

/// A volume: the result of `volume.create`, and a row of `volume.list`.
#[derive(Serialize)]
struct VolumeRow {
    volume_id: String,
    label: String,
    size_limit_bytes: u64,
    used_bytes: u64,
    created_at: Timestamp,
}

#[derive(Serialize)]
struct VolumeList {
    total: usize,
    volumes: Vec<VolumeRow>,
}

#[derive(Serialize)]
struct VolumeDeleted {
    volume_id: String,
    deleted: bool,
}

#[derive(Serialize)]
struct VolumeQuota {
    total_bytes_allowed: u64,
    total_bytes_used: u64,
    volume_count: usize,
    max_volumes: u64,
    max_file_size_bytes: u64,
}

#[derive(Serialize)]
struct FileList {
    volume_id: String,
    path: String,
    entries: Vec<FileEntry>,
}

#[derive(Serialize)]
struct FileEntry {
    name: String,
    file_type: &'static str,
    size_bytes: u64,
}

#[derive(Serialize)]
struct FileContent {
    volume_id: String,
    path: String,
    content: String,
    encoding: &'static str,
    size_bytes: usize,
}

#[derive(Serialize)]
struct FileWritten {
    volume_id: String,
    path: String,
    bytes_written: usize,
}

#[derive(Serialize)]
struct FileDeleted {
    volume_id: String,
    path: String,
    deleted: bool,
}

#[derive(Serialize)]
struct FolderResult {
    volume_id: String,
    path: String,
}

fn row(context: &Context<'_>, volume: &Volume) -> Result<VolumeRow, Failure> {
    Ok(VolumeRow {
        volume_id: volume.id.clone(),
        label: volume.label.clone(),
        size_limit_bytes: volume.size_limit_bytes,
        used_bytes: open(context, volume, VolumeAccess::Read)?.used()?,
        created_at: volume.created_at,
    })
}

fn create(input: &Json, context: &mut Context<'_>) -> Result<Output, Failure> {
    let CreateArgs { label, size_limit_bytes } = arguments(input)?;
    let (owner, now) = (context.owner(), context.clock.now());
    let store = context.store()?;
    let volume = store.create_volume(context.fs, &owner, &label, size_limit_bytes, &context.volumes, now)?;
    Ok(Output::from_result(&row(context, &volume)?))
}

fn list(_input: &Json, context: &mut Context<'_>) -> Result<Output, Failure> {
    let volumes = match context.stored()? {
        Some(store) => store.volumes(context.agent())?,
        None => Vec::new(),
    };
    let volumes: Vec<VolumeRow> =
        volumes.iter().map(|volume| row(context, volume)).collect::<Result<_, Failure>>()?;
    Ok(Output::from_result(&VolumeList { total: volumes.len(), volumes }))
}

fn delete(input: &Json, context: &mut Context<'_>) -> Result<Output, Failure> {
    let IdArgs { volume_id } = arguments(input)?;
    if crate::git::uses_volume(context, &volume_id)? {
        let message = "the volume holds the files of a repository; `git.delete` deletes both";
        return Err(Failure::new(ErrorCode::InUse, message));
    }
    let mut hashes_before = Vec::new();
    if let Ok(files) = files(context, &volume_id, VolumeAccess::Read) {
        hashes(&files, "", &mut hashes_before);
    }
    let volume = context.store()?.delete_volume(context.fs, context.agent(), &volume_id)?;
    for (path, before) in hashes_before {
        touch(context, &volume.id, &path, Some(before), None);
    }
    Ok(Output::from_result(&VolumeDeleted { volume_id: volume.id, deleted: true }))
}

/// Adds the files of a volume that a call would delete.
pub(crate) fn deleted(
    input: &Json,
    context: &Context<'_>,
    named: &mut ArgumentReferences,
) -> Result<(), Failure> {
    let IdArgs { volume_id } = arguments(input)?;
    let mut found = Vec::new();
    hashes(&files(context, &volume_id, VolumeAccess::Read)?, "", &mut found);
    let found = found.into_iter().map(|(path, hash)| (path, hash.to_hex()));
    named.add_files(&format!("volume {volume_id} with"), found.collect());
    Ok(())
}

fn quota(_input: &Json, context: &mut Context<'_>) -> Result<Output, Failure> {
    let volumes = match context.stored()? {
        Some(store) => store.volumes(Some(&context.owner()))?,
        None => Vec::new(),
    };
    let mut used = 0u64;
    for volume in &volumes {
        used = used.saturating_add(open(context, volume, VolumeAccess::Read)?.used()?);
    }
    let limits = context.volumes;
    Ok(Output::from_result(&VolumeQuota {
        total_bytes_allowed: limits.max_bytes,
        total_bytes_used: used,
        volume_count: volumes.len(),
        max_volumes: limits.max_count,
        max_file_size_bytes: limits.max_file_bytes,
    }))
}

fn list_files(input: &Json, context: &mut Context<'_>) -> Result<Output, Failure> {
    let PathArgs { volume_id, path, .. } = arguments(input)?;
    let entries = files(context, &volume_id, VolumeAccess::Read)?.list(&path)?;
    let entries = entries.into_iter().map(|entry| {
        let file_type = match entry.kind {
            FileKind::File => "file",
            FileKind::Directory => "directory",
            FileKind::Link => "symlink",
            FileKind::Other => "other",
        };
        FileEntry { name: entry.name, file_type, size_bytes: entry.bytes }
    });
    let entries = entries.collect();
    Ok(Output::from_result(&FileList { volume_id, path, entries }))
}

fn read_file(input: &Json, context: &mut Context<'_>) -> Result<Output, Failure> {
    let ReadArgs { volume_id, path, encoding } = arguments(input)?;
    let bytes = files(context, &volume_id, VolumeAccess::Read)?.read(&path)?;
    let hash = Some(Fingerprint::of_bytes(&bytes));
    touch(context, &volume_id, &path, hash, hash);
    let size_bytes = bytes.len();
    let (content, encoding) = match (encoding.as_str(), String::from_utf8(bytes)) {
        ("base64", Ok(text)) => (STANDARD.encode(text), "base64"),
        ("utf8", Err(_)) => {
            return Err(Failure::new(ErrorCode::NotUtf8, "the file is not UTF-8; read it as base64"));
        }
        (_, Ok(text)) => (text, "utf8"),
        (_, Err(error)) => (STANDARD.encode(error.as_bytes()), "base64"),
    };
    Ok(Output::from_result(&FileContent { volume_id, path, content, encoding, size_bytes }))
}

fn write_file(input: &Json, context: &mut Context<'_>) -> Result<Output, Failure> {
    let WriteArgs { volume_id, path, content, encoding } = arguments(input)?;
    let bytes = match encoding.as_str() {
        "base64" => STANDARD
            .decode(&content)
            .map_err(|_| Failure::new(ErrorCode::InvalidArguments, "`content` is not base64"))?,
        _ => content.into_bytes(),
    };
    let files = files(context, &volume_id, VolumeAccess::Change)?;
    let before = files.read(&path).ok().map(|before| Fingerprint::of_bytes(&before));
    files.write(&path, &bytes)?;
    touch(context, &volume_id, &path, before, Some(Fingerprint::of_bytes(&bytes)));
    Ok(Output::from_result(&FileWritten { volume_id, path, bytes_written: bytes.len() }))
}

fn delete_file(input: &Json, context: &mut Context<'_>) -> Result<Output, Failure> {
    let PathArgs { volume_id, path, recursive } = arguments(input)?;
    let files = files(context, &volume_id, VolumeAccess::Change)?;
    let mut hashes_before = Vec::new();
    hashes(&files, &path, &mut hashes_before);
    files.delete(&path, recursive)?;
    for (path, before) in hashes_before {
        touch(context, &volume_id, &path, Some(before), None);
    }
    Ok(Output::from_result(&FileDeleted { volume_id, path, deleted: true }))
}

fn make_folder(input: &Json, context: &mut Context<'_>) -> Result<Output, Failure> {
    let PathArgs { volume_id, path, .. } = arguments(input)?;
    files(context, &volume_id, VolumeAccess::Change)?.make_folder(&path)?;
    Ok(Output::from_result(&FolderResult { volume_id, path }))
}

#[cfg(test)]
mod tests {
    use brigade_db::volumes::Limits;

    use super::*;
    use crate::stored::testing::{Bench, text};

    #[test]
    fn files_of_a_volume_are_written_within_its_limit() {
        let bench = Bench {
            limits: Limits { max_bytes: 50, max_file_bytes: 40, ..Limits::default() },
            ..Bench::new()
        };
        assert_eq!(bench.call("volume.list", "{}").get("total"), Some(&Json::from(0)));
        let made = bench.call("volume.create", r#"{"label": "data", "size_limit_bytes": 50}"#);
        let id = text(&made, "volume_id").to_owned();
        let args = |rest: &str| format!(r#"{{"volume_id": "{id}", {rest}}}"#);
        let write = args(r#""path": "a/b.txt", "content": "hello""#);
        assert_eq!(bench.call("file.write", &write).get("bytes_written"), Some(&Json::from(5)));
        let read = bench.call("file.read", &args(r#""path": "a/b.txt""#));
        assert_eq!((text(&read, "content"), text(&read, "encoding")), ("hello", "utf8"));
        bench.call("file.write", &args(r#""path": "bin", "content": "/wA=", "encoding": "base64""#));
        let read = bench.call("file.read", &args(r#""path": "bin""#));
        assert_eq!((text(&read, "content"), text(&read, "encoding")), ("/wA=", "base64"));
        assert_eq!(
            bench.code("agent:ada", "file.read", &args(r#""path": "bin", "encoding": "utf8""#)),
            ErrorCode::NotUtf8
        );
        let quota = bench.call("volume.quota", "{}");
        assert_eq!(quota.get("total_bytes_used"), Some(&Json::from(7)));
        let long = args(&format!(r#""path": "x", "content": "{}""#, "x".repeat(41)));
        assert_eq!(bench.code("agent:ada", "file.write", &long), ErrorCode::FileTooLarge);
        assert_eq!(
            bench.code("agent:ada", "volume.create", r#"{"label": "more", "size_limit_bytes": 1}"#),
            ErrorCode::QuotaExceeded
        );
        bench.call("file.mkdir", &args(r#""path": "c""#));
        let names: Vec<String> = bench
            .call("file.list", &args(r#""path": """#))
            .get("entries")
            .unwrap()
            .as_array()
            .unwrap()
            .iter()
            .map(|entry| text(entry, "name").to_owned())
            .collect();
        assert_eq!(names, ["a", "bin", "c"]);
        bench.call("file.delete", &args(r#""path": "a", "recursive": true"#));
        // Other agents cannot see that it exists.
        for (tool, rest) in [
            ("file.read", r#""path": "bin""#),
            ("file.write", r#""path": "bin", "content": """#),
            ("file.list", r#""path": """#),
            ("file.delete", r#""path": "bin""#),
        ] {
            assert_eq!(bench.code("agent:bob", tool, &args(rest)), ErrorCode::NotFound, "{tool}");
        }
        assert_eq!(
            bench.code("agent:bob", "volume.delete", &format!(r#"{{"volume_id": "{id}"}}"#)),
            ErrorCode::NotFound
        );
        bench.call("volume.delete", &format!(r#"{{"volume_id": "{id}"}}"#));
        assert_eq!(bench.code("agent:ada", "file.read", &args(r#""path": "bin""#)), ErrorCode::NotFound);
    }
}
