//! Files that are kept as evidence: `proof.attach`, and the screenshot that a program printed: `proof.screenshot`.

use brigade_core::{ErrorCode, Fingerprint, Json};
use brigade_db::records::Proof;
use brigade_fs::{FileMode, RelPath};
use serde::{Deserialize, Serialize};

use crate::context::{Context, Failure, Output, TouchedPath};
use crate::files::read_whole;
use crate::run::{Function, arguments};

/// The tools of this family.
pub(crate) const TOOLS: &[(&str, Function)] = &[("proof.attach", attach)];

/// The directory of copies, relative to the workspace.
const PROOFS: &str = ".brigade/proofs";

/// The maximum size of a kept file, in bytes.
const MAX_ARTIFACT_BYTES: u64 = 64 << 20;

/// The maximum length of a description, in bytes.
const MAX_DESCRIPTION: usize = 2 << 10;

#[derive(Deserialize)]
struct AttachArgs {
    path: String,
    description: Option<String>,
}

/// The result of `proof.attach`.
#[derive(Serialize)]
struct ProofAttached {
    artifact_id: String,
    sha256: Fingerprint,
    size_bytes: usize,
}

/// The result of a run that stored an image.
#[derive(Serialize)]
struct ImageResult<'a> {
    artifact_id: &'a str,
    sha256: Fingerprint,
}

fn attach(input: &Json, context: &mut Context<'_>) -> Result<Output, Failure> {
    let AttachArgs { path, description } = arguments(input)?;
    if description.as_ref().is_some_and(|text| MAX_DESCRIPTION < text.len()) {
        let message = format!("a description has at most {MAX_DESCRIPTION} bytes");
        return Err(Failure::new(ErrorCode::InvalidArguments, message));
    }
    let (shown, bytes) = read_whole(context, &path, MAX_ARTIFACT_BYTES)?;
    let hash = Fingerprint::of_bytes(&bytes);
    let path = context.in_workspace(&shown);
    context.touched.push(TouchedPath { path: path.clone(), before: Some(hash), after: Some(hash) });
    let id = keep(context, &path, description.as_deref(), &bytes)?;
    Ok(Output::from_result(&ProofAttached { artifact_id: id, sha256: hash, size_bytes: bytes.len() }))
}

/// Stores a copy of bytes with a row for it. Returns its id.
fn keep(
    context: &mut Context<'_>,
    from: &str,
    description: Option<&str>,
    bytes: &[u8],
) -> Result<String, Failure> {
    let hash = Fingerprint::of_bytes(bytes);
    let disk = |error: brigade_fs::FsError| Failure::new(ErrorCode::FileError, error.to_string());
    let folder: RelPath =
        PROOFS.parse().map_err(|_| Failure::new(ErrorCode::FileError, "no directory for proofs"))?;
    context.fs.create_dir_all(&folder).map_err(disk)?;
    let ignored =
        folder.join(".gitignore").map_err(|error| Failure::new(ErrorCode::FileError, error.to_string()))?;
    if !context.fs.exists(&ignored).map_err(disk)? {
        context.fs.write_cache(&ignored, b"*\n").map_err(disk)?;
    }
    let store = context.store()?;
    let id = store.new_record_id::<Proof>()?;
    let copy = folder.join(&id).map_err(|error| Failure::new(ErrorCode::FileError, error.to_string()))?;
    // The file comes first, because the row refers to it.
    context.fs.write_atomic(&copy, bytes, FileMode::Private).map_err(disk)?;
    let record = Proof {
        path: context.redactor.redact_str(from),
        description: description.map(|text| context.redactor.redact_str(text)),
        sha256: hash.to_hex(),
        bytes: bytes.len() as u64,
    };
    store.put_record(&id, &context.owner(), &record, context.clock.now())?;
    context.touched.push(TouchedPath { path: copy.to_string(), before: None, after: Some(hash) });
    Ok(id)
}

/// First bytes that identify an image, because no text begins with them.
const IMAGES: &[&[u8]] = &[b"\x89PNG\r\n\x1a\n", b"\xff\xd8\xff", b"GIF87a", b"GIF89a", b"II*\0", b"MM\0*"];

/// Returns whether bytes are an image. For formats whose first bytes could also begin a text, further bytes are
/// checked: images are stored unmasked, but a text must be masked.
fn is_image(bytes: &[u8]) -> bool {
    let at = |range: std::ops::Range<usize>| bytes.get(range).unwrap_or_default();
    let is_bmp =
        || at(2..6) == (bytes.len() as u64).to_le_bytes().get(..4).unwrap_or_default() && at(6..10) == [0; 4];
    let is_ppm =
        || matches!(at(2..4), [blank, digit] if blank.is_ascii_whitespace() && digit.is_ascii_digit());
    IMAGES.iter().any(|first| bytes.starts_with(first))
        || (bytes.starts_with(b"RIFF") && at(8..12) == b"WEBP")
        || (bytes.starts_with(b"BM") && is_bmp())
        || (bytes.starts_with(b"P6") && is_ppm())
        || (bytes.starts_with(b"qoif") && matches!(at(12..14), [3 | 4, 0 | 1]))
}

/// Stores the output of a program as a screenshot.
///
/// # Errors
/// Returns `no_image` if the output is not an image.
pub fn keep_image(printed: &[u8], context: &mut Context<'_>) -> Result<(), Failure> {
    if !is_image(printed) {
        return Err(Failure::new(
            ErrorCode::NoImage,
            "the capture program printed no image on standard output",
        ));
    }
    keep(context, "standard output of the capture program", None, printed).map(drop)
}

/// Returns the result of a run that stored an image. The receipt names the copy.
pub fn kept_image(copy: &str, sha256: Fingerprint) -> Output {
    Output::from_result(&ImageResult { artifact_id: copy.rsplit('/').next().unwrap_or_default(), sha256 })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stored::testing::Bench;

    #[test]
    fn a_text_is_not_an_image() {
        for text in ["BM secret", "P6", "P6 secret", "P6\n", "qoif secret texts", "RIFF of a WEBP"] {
            assert!(!is_image(text.as_bytes()), "{text}");
        }
        for image in [
            &b"BM\x0e\0\0\0\0\0\0\0\x36\0\0\0"[..],
            b"P6\n2 2\n255\n",
            b"qoif\0\0\0\x02\0\0\0\x02\x03\0",
            b"RIFF\0\0\0\0WEBP",
        ] {
            assert!(is_image(image), "{image:?}");
        }
    }

    #[test]
    fn only_an_image_is_kept() {
        let bench = Bench::new();
        bench.with("agent:ada", |context| {
            assert_eq!(keep_image(b"no display", context).unwrap_err().code, ErrorCode::NoImage);
            assert_eq!(keep_image(b"", context).unwrap_err().code, ErrorCode::NoImage);
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
