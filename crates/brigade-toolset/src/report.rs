//! The final report of work: `report.completion`.

use brigade_access::{LimitViolation, LiveSession};
use brigade_core::{ErrorCode, Fingerprint, Json};
use brigade_fs::RelPath;
use serde::{Deserialize, Serialize};

use crate::context::{Context, Failure, Output, TouchedPath};
use crate::files::{PathContent, look_at};
use crate::git::repository::Repository;
use crate::run::{Function, arguments};

/// The tools of this family.
pub(crate) const TOOLS: &[(&str, Function)] = &[("report.completion", completion)];

/// The maximum number of artifacts of a report.
const MAX_ARTIFACTS: usize = 100;

/// The maximum length of a summary, in characters.
const MAX_SUMMARY: usize = 8_000;

/// The maximum size of a hashed file.
const MAX_FILE: u64 = 1 << 30;

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ReportArgs {
    status: String,
    summary: String,
    #[serde(default)]
    artifacts: Vec<Artifact>,
    blocker_description: Option<String>,
}

#[derive(Deserialize)]
struct Artifact {
    #[serde(rename = "type")]
    kind: Option<String>,
    reference: String,
}

/// The result of `report.completion`.
#[derive(Serialize)]
struct ReportResult {
    report_id: String,
    status: String,
    missing_references: Vec<String>,
}

/// What a reference refers to.
enum Reference {
    /// A file, with its hash.
    File(String, Fingerprint),
    /// Something in this workspace, such as a run or a directory.
    There,
    /// A web page. It is not fetched.
    Page,
    /// Nothing.
    Missing,
}

fn completion(input: &Json, context: &mut Context<'_>) -> Result<Output, Failure> {
    let args: ReportArgs = arguments(input)?;
    let invalid = |message: String| Failure::new(ErrorCode::InvalidArguments, message);
    if args.summary.trim().is_empty() || MAX_SUMMARY < args.summary.chars().count() {
        return Err(invalid(format!("`summary` has 1 to {MAX_SUMMARY} characters")));
    }
    if MAX_ARTIFACTS < args.artifacts.len() {
        return Err(invalid(format!("there are at most {MAX_ARTIFACTS} artifacts")));
    }
    let blocker = args.blocker_description.as_deref().map(str::trim).filter(|text| !text.is_empty());
    if args.status == "blocked" && blocker.is_none() {
        return Err(Failure::new(
            ErrorCode::BlockerNeeded,
            "a report of status `blocked` needs `blockerDescription`",
        ));
    }
    let mut missing = Vec::new();
    for artifact in &args.artifacts {
        let found = match artifact.kind.as_deref() {
            Some("commit") => look_for_commit(context, &artifact.reference),
            _ => look(context, &artifact.reference)?,
        };
        match found {
            Reference::File(path, hash) => {
                let path = context.in_workspace(&path);
                context.touched.push(TouchedPath { path, before: Some(hash), after: Some(hash) });
            }
            Reference::There | Reference::Page => {}
            Reference::Missing => missing.push(artifact.reference.clone()),
        }
    }
    let id = Fingerprint::builder("brigade.report.v1")
        .text("caller", context.caller)
        .text("session", context.session.map_or("", LiveSession::id))
        .text("at", context.clock.now().to_string().as_str())
        .json("report", input)
        .finish();
    let id = format!("report-{}", &id.to_hex()[..16]);
    Ok(Output::from_result(&ReportResult { report_id: id, status: args.status, missing_references: missing }))
}

/// Looks up a commit, a branch or a tag in the repository of the workspace.
fn look_for_commit(context: &Context<'_>, reference: &str) -> Reference {
    let found = Repository::for_workspace(context).and_then(|found| found.commit_of(reference.trim()));
    match found {
        Ok(Some(_)) => Reference::There,
        Ok(None) | Err(_) => Reference::Missing,
    }
}

/// Looks up a reference. Paths that `fs.read` must not read are not read either, but the existence of runs is checked.
fn look(context: &Context<'_>, reference: &str) -> Result<Reference, Failure> {
    let reference = reference.trim();
    if ["https://", "http://"].iter().any(|scheme| reference.starts_with(scheme)) {
        return Ok(Reference::Page);
    }
    if reference.starts_with("run-") && !reference.contains(['/', '\\']) {
        let path: Result<RelPath, _> = format!(".brigade/tools/runs/{reference}.json").parse();
        let is_there = path.is_ok_and(|path| context.fs.exists(&path).unwrap_or(false));
        return Ok(if is_there { Reference::There } else { Reference::Missing });
    }
    let found = match look_at(context, reference, MAX_FILE) {
        Ok(found) => found,
        Err(failure) if failure.code == ErrorCode::Unreadable => return Err(failure),
        Err(failure) if failure.code == ErrorCode::Cancelled => return Err(failure),
        Err(failure) if failure.code == LimitViolation::CODE => return Err(failure),
        Err(_) => return Ok(Reference::Missing),
    };
    Ok(match found {
        PathContent::File(path, hash) => Reference::File(path, hash),
        PathContent::LargeFile | PathContent::Directory => Reference::There,
        PathContent::Nothing => Reference::Missing,
    })
}

#[cfg(test)]
mod tests {
    use brigade_core::json::to_json;
    use brigade_fs::{FileMode, Fs as _};

    use super::*;
    use crate::run::run;
    use crate::stored::testing::{Bench, text};

    #[test]
    fn references_are_looked_up_and_files_are_hashed() {
        let bench = Bench::new();
        let write = |path: &str| {
            let path: RelPath = path.parse().unwrap();
            bench.fs.create_dir_all(&path.parent()).unwrap();
            bench.fs.write_atomic(&path, b"done\n", FileMode::Private).unwrap();
        };
        for path in ["out/result.txt", ".brigade/tools/runs/run-1.json", ".git/config"] {
            write(path);
        }
        let args = r#"{"status": "partial", "summary": "Most of it", "artifacts": [
            {"reference": "out/result.txt"}, {"reference": "/workspace/out/result.txt"}, {"reference": "out"},
            {"reference": "run-1"}, {"reference": "https://example.org/x"},
            {"reference": "none.txt"}, {"reference": "../outside"}, {"reference": "run-2"}, {"reference": ".git/config"}]}"#;
        let args = Json::parse(args).unwrap();
        let (output, touched) = bench.with("agent:ada", |context| {
            let row = brigade_access::builtin::definition("report.completion").unwrap();
            (run(row, &args, context).unwrap(), context.touched.clone())
        });
        let missing = ["none.txt", "../outside", "run-2", ".git/config"].map(str::to_owned);
        assert_eq!(output.structured.get("missing_references"), Some(&to_json(&missing).unwrap()));
        assert!(text(&output.structured, "report_id").starts_with("report-"));
        let hash = Some(Fingerprint::of_bytes(b"done\n"));
        let file = TouchedPath { path: "out/result.txt".to_owned(), before: hash, after: hash };
        assert_eq!(touched, [file.clone(), file]);
    }

    #[test]
    #[expect(clippy::disallowed_methods, reason = "tests make links by themselves")]
    fn unreadable_references_are_missing_and_not_hashed() {
        let bench = Bench::new();
        for path in [".env", "id_rsa", "a.pem", "hold/x/.env", ".git/config", "open.txt"] {
            let path: RelPath = path.parse().unwrap();
            bench.fs.create_dir_all(&path.parent()).unwrap();
            bench.fs.write_atomic(&path, b"PIN=1234\n", FileMode::Private).unwrap();
        }
        for (link, to) in [("notes", ".git/config"), ("word", ".env"), ("fine", "open.txt")] {
            std::os::unix::fs::symlink(to, bench.fs.root().join(link)).unwrap();
        }
        let closed = [".env", "id_rsa", "a.pem", "hold/x/.env", "hold/x/../../.env", "notes", "word", "."];
        let artifacts =
            closed.iter().chain(&["fine"]).map(|path| Json::object([("reference", Json::from(*path))]));
        let args = Json::object([
            ("status", Json::from("completed")),
            ("summary", Json::from("Done")),
            ("artifacts", Json::Array(artifacts.collect())),
        ]);
        let (output, touched) = bench.with("agent:ada", |context| {
            let row = brigade_access::builtin::definition("report.completion").unwrap();
            (run(row, &args, context).unwrap(), context.touched.clone())
        });
        let missing = closed.map(str::to_owned);
        assert_eq!(output.structured.get("missing_references"), Some(&to_json(&missing).unwrap()));
        assert_eq!(touched.iter().map(|touched| touched.path.as_str()).collect::<Vec<_>>(), ["open.txt"]);
    }

    #[test]
    fn a_blocked_report_says_what_blocks() {
        let bench = Bench::new();
        let code = |args: &str| {
            bench.call_as("agent:ada", "report.completion", args).err().map(|failure| failure.code)
        };
        assert_eq!(code(r#"{"status": "blocked", "summary": "No way"}"#), Some(ErrorCode::BlockerNeeded));
        assert_eq!(
            code(r#"{"status": "blocked", "summary": "No way", "blockerDescription": " "}"#),
            Some(ErrorCode::BlockerNeeded)
        );
        assert_eq!(
            code(r#"{"status": "blocked", "summary": "No way", "blockerDescription": "A wall"}"#),
            None
        );
        assert_eq!(code(r#"{"status": "completed", "summary": " "}"#), Some(ErrorCode::InvalidArguments));
    }
}
