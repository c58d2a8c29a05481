//! Files that are kept as proof: `proof.attach`, and the image of the screen that a program printed:
//! `proof.screenshot`.

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
    context.touched.push(Touched { path: shown.clone(), before: Some(hash), after: Some(hash) });
    let id = keep(context, &shown, description.as_deref(), &bytes)?;
    Ok(Output::new([
        ("artifact_id", Json::from(id)),
        ("sha256", Json::from(hash.to_hex())),
        ("size_bytes", Json::from(bytes.len())),
    ]))
}

/// Keeps a copy of bytes with a row that names it. Returns its id.
fn keep(
    context: &mut Context<'_>,
    from: &str,
    description: Option<&str>,
    bytes: &[u8],
) -> Result<String, Failure> {
    let hash = Fingerprint::of_bytes(bytes);
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
    context.fs.write_atomic(&copy, bytes, FileMode::Private).map_err(disk)?;
    let record = Proof {
        path: context.redactor.redact_str(from),
        description: description.map(|text| context.redactor.redact_str(text)),
        sha256: hash.to_hex(),
        bytes: bytes.len() as u64,
    };
    store.put_record(&id, &context.owner(), &record, context.clock.now())?;
    context.touched.push(Touched { path: copy.to_string(), before: None, after: Some(hash) });
    Ok(id)
}

/// The first bytes of images.
const IMAGES: &[&[u8]] =
    &[b"\x89PNG\r\n\x1a\n", b"\xff\xd8\xff", b"GIF87a", b"GIF89a", b"BM", b"II*\0", b"MM\0*", b"P6", b"qoif"];

/// Keeps what a program printed as an image of the screen.
///
/// # Errors
/// Returns `no_image` for what is none.
pub fn keep_image(printed: &[u8], context: &mut Context<'_>) -> Result<(), Failure> {
    let is_webp = printed.starts_with(b"RIFF") && printed.get(8..12) == Some(b"WEBP");
    if !is_webp && !IMAGES.iter().any(|first| printed.starts_with(first)) {
        return Err(Failure::new("no_image", "the capture program printed no image on standard output"));
    }
    keep(context, "standard output of the capture program", None, printed).map(drop)
}

/// Writes the result of a run that kept an image: a copy that the receipt names.
pub fn kept_image(copy: &str, sha256: Fingerprint) -> Output {
    let id = copy.rsplit('/').next().unwrap_or_default();
    Output::new([("artifact_id", Json::from(id)), ("sha256", Json::from(sha256.to_hex()))])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stored::testing::Bench;

    #[test]
    fn only_an_image_is_kept() {
        let bench = Bench::new();
        bench.with("agent:ada", |context| {
            assert_eq!(keep_image(b"no display", context).unwrap_err().code, "no_image");
            assert_eq!(keep_image(b"", context).unwrap_err().code, "no_image");
            assert!(context.touched.is_empty());
            keep_image(b"\x89PNG\r\n\x1a\nrest", context).unwrap();
            let [kept] = context.touched.as_slice() else { panic!("{:?}", context.touched) };
            let output = kept_image(&kept.path, kept.after.unwrap());
            let id = output.structured.get("artifact_id").and_then(Json::as_str).unwrap();
            let store = context.store().unwrap();
            let record = store.record::<Proof>(Some("ada"), id).unwrap().record;
            assert_eq!(output.structured.get("sha256"), Some(&Json::from(record.sha256)));
            assert_eq!(record.bytes, 12);
        });
    }
}
