//! Files that are kept as proof: `proof.attach`.

use brigade_core::{Fingerprint, Json};
use brigade_fs::{FileMode, RelPath};
use brigade_store::records::Proof;
use serde::Deserialize;

use crate::context::{Context, Failure, Output, Touched};
use crate::files::read_whole;
use crate::run::{Function, arguments};

/// The tools of this family.
pub(crate) const TOOLS: &[(&str, Function)] = &[("proof.attach", attach)];

/// The directory of copies, relative to the workspace.
const PROOFS: &str = ".brigade/proofs";

/// The largest file that is kept, in bytes.
const LARGEST: u64 = 64 << 20;

/// The longest description, in bytes.
const MAX_DESCRIPTION: usize = 2 << 10;

#[derive(Deserialize)]
struct AttachArgs {
    path: String,
    description: Option<String>,
}

fn attach(input: &Json, context: &mut Context<'_>) -> Result<Output, Failure> {
    let AttachArgs { path, description } = arguments(input)?;
    if description.as_ref().is_some_and(|text| MAX_DESCRIPTION < text.len()) {
        let message = format!("a description has at most {MAX_DESCRIPTION} bytes");
        return Err(Failure::new("invalid_arguments", message));
    }
    let (shown, bytes) = read_whole(context, &path, LARGEST)?;
    let hash = Fingerprint::of_bytes(&bytes);
    let disk = |error: brigade_fs::FsError| Failure::new("file_error", error.to_string());
    let folder: RelPath =
        PROOFS.parse().map_err(|_| Failure::new("file_error", "no directory for proofs"))?;
    context.fs.create_dir_all(&folder).map_err(disk)?;
    let ignored = folder.join(".gitignore").map_err(|error| Failure::new("file_error", error.to_string()))?;
    if !context.fs.exists(&ignored).map_err(disk)? {
        context.fs.write_cache(&ignored, b"*\n").map_err(disk)?;
    }
    let store = context.store()?;
    let id = store.new_record_id::<Proof>()?;
    let copy = folder.join(&id).map_err(|error| Failure::new("file_error", error.to_string()))?;
    // The row names what is there, so the file is first.
    context.fs.write_atomic(&copy, &bytes, FileMode::Private).map_err(disk)?;
    let size = bytes.len() as u64;
    let record = Proof {
        path: context.redactor.redact_str(&shown),
        description: description.map(|text| context.redactor.redact_str(&text)),
        sha256: hash.to_hex(),
        bytes: size,
    };
    store.put_record(&id, &context.owner(), &record, context.clock.now())?;
    context.touched.push(Touched { path: shown, before: Some(hash), after: Some(hash) });
    context.touched.push(Touched { path: copy.to_string(), before: None, after: Some(hash) });
    Ok(Output::new([
        ("artifact_id", Json::from(id)),
        ("sha256", Json::from(hash.to_hex())),
        ("size_bytes", Json::from(size)),
    ]))
}
