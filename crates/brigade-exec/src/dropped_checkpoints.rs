//! The checkpoints of a script: files that it drops into its checkpoint directory.

use brigade_call::Checkpoint;
use brigade_core::text::short;
use brigade_core::{
    CallId, CheckpointId, Dialect, Fingerprint, Json, JsonErrorKind, Object, RunId, Timestamp,
};
use brigade_fs::{DirEntry, FileKind, Fs, FsError, FsErrorKind, RelPath};
use brigade_redact::Redactor;
use thiserror::Error;

/// A dropped file.
#[derive(Clone, Debug)]
pub struct DroppedFile {
    /// The file name.
    pub name: String,
    /// The bytes, or why they cannot be read.
    pub bytes: Result<Vec<u8>, String>,
}

/// How many dropped files are looked at.
const MAX_FILES: usize = 256;

/// How much of them is read in all, in bytes.
const MAX_BYTES: u64 = 4 << 20;

/// The longest dropped file that is read, in bytes.
const CHECKPOINT_LIMIT: u64 = 1 << 20;

/// The content of a run's checkpoint directory.
#[derive(Debug, Default)]
pub(crate) struct DroppedFiles {
    /// Checkpoint files. An entry that cannot be one, such as a directory, has the reason.
    pub(crate) files: Vec<DroppedFile>,
    /// Sorted names that do not end in `.json`, of whatever. They are ignored with a warning.
    pub(crate) left_out: Vec<String>,
    /// How many files were not read, because there are more than are read, in number or in bytes.
    pub(crate) beyond: u64,
}

/// Reads the checkpoint directory of a run.
pub(crate) fn list_dropped(fs: &dyn Fs, folder: &RelPath) -> Result<DroppedFiles, FsError> {
    // Counted and measured before it is read: memory does not depend on what the tool left.
    let (entries, mut beyond) = match fs.list_some(folder, MAX_FILES) {
        Err(error) if error.is_not_found() => return Ok(DroppedFiles::default()),
        // The program may have closed its own directory.
        Err(error) if error.kind == FsErrorKind::Permission => {
            fs.set_mode(folder, 0o700)?;
            fs.list_some(folder, MAX_FILES)?
        }
        listed => listed?,
    };
    let mut bytes_left = MAX_BYTES;
    let mut files = Vec::new();
    let mut left_out = Vec::new();
    for DirEntry { name, kind } in entries {
        if !is_checkpoint(&name) {
            left_out.push(name);
            continue;
        }
        let bytes = match (kind, folder.join(&name)) {
            (FileKind::File, Ok(path)) => {
                let length =
                    fs.metadata(&path).map(|found| found.len.min(CHECKPOINT_LIMIT)).unwrap_or_default();
                if bytes_left < length {
                    beyond += 1;
                    continue;
                }
                bytes_left -= length;
                fs.read(&path, CHECKPOINT_LIMIT).map_err(|error| error.to_string())
            }
            (FileKind::Directory, _) => Err("a directory, and not a file".to_owned()),
            _ => Err("not a regular file".to_owned()),
        };
        files.push(DroppedFile { name, bytes });
    }
    // With so many names, those that are not text are left out.
    let unreadable = if beyond == 0 { fs.unreadable_names(folder)? } else { Vec::new() };
    for name in unreadable.into_iter().take(MAX_FILES) {
        match is_checkpoint(&name) {
            true => files.push(DroppedFile { name, bytes: Err("its name is not UTF-8".to_owned()) }),
            false => left_out.push(name),
        }
    }
    left_out.sort();
    Ok(DroppedFiles { files, left_out, beyond })
}

/// Returns whether a file of this name is a checkpoint.
fn is_checkpoint(name: &str) -> bool {
    name.ends_with(".json")
}

/// Parses lenient JSON. Duplicate keys are refused, because it is unknown which one the script meant.
fn parse(bytes: &[u8]) -> Result<Json, String> {
    let refused = |error: brigade_core::JsonError| format!("not JSON: {error}");
    if let Err(error) = Json::parse_bytes(bytes, Dialect::Strict)
        && error.kind == JsonErrorKind::DuplicateKey
    {
        return Err(refused(error));
    }
    Json::parse_bytes(bytes, Dialect::Lenient).map_err(refused)
}

/// A dropped file that is not a valid checkpoint, so the run fails.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("checkpoint file {}: {problem}", brigade_core::text::escape_terminal(.name))]
pub struct BrokenCheckpoint {
    /// The file name.
    pub name: String,
    /// The problem.
    pub problem: String,
}

/// The owner of checkpoints.
pub(crate) struct Owner<'a> {
    pub(crate) tool_id: &'a str,
    pub(crate) call_id: &'a CallId,
    pub(crate) run_id: &'a RunId,
    pub(crate) completed_at: Timestamp,
}

/// Reads all dropped files. Returns the checkpoints in order of creation, and the invalid files.
pub(crate) fn read_dropped(
    files: Vec<DroppedFile>,
    owner: &Owner<'_>,
    redactor: &Redactor,
) -> (Vec<Checkpoint>, Vec<BrokenCheckpoint>) {
    let mut checkpoints = Vec::new();
    let mut broken = Vec::new();
    for file in files {
        let parsed = file.bytes.and_then(|bytes| parse(&bytes));
        match parsed.and_then(|json| read_one(&file.name, &json, owner, redactor)) {
            Ok(checkpoint) => checkpoints.push(checkpoint),
            Err(problem) => broken.push(BrokenCheckpoint { name: file.name, problem }),
        }
    }
    checkpoints.sort_by(|left, right| (left.created_at, &left.id).cmp(&(right.created_at, &right.id)));
    (checkpoints, broken)
}

fn read_one(name: &str, json: &Json, owner: &Owner<'_>, redactor: &Redactor) -> Result<Checkpoint, String> {
    let Json::Object(members) = json else {
        return Err("expected an object".to_owned());
    };
    must_match(members, "call_id", owner.call_id.as_str())?;
    must_match(members, "run_id", owner.run_id.as_str())?;
    match text(members, "status")? {
        None | Some("" | "pending") => {}
        Some(_) => return Err("`status`: a script can only ask for a pending checkpoint".to_owned()),
    }
    let id = match text(members, "id")? {
        None | Some("") => generated_id(name, owner),
        // The id becomes a file name.
        Some(id) if redactor.redact_str(id) != id => return Err("`id`: looks like a secret".to_owned()),
        Some(id) => id.parse::<CheckpointId>().map_err(|error| format!("`id`: {error}"))?,
    };
    let clean = |text: Option<&str>, limit: usize| text.map(|text| short(&redactor.redact_str(text), limit));
    let choices = match first(members, &["choices", "allowed_resume_choices"]) {
        None => Vec::new(),
        Some(Json::String(choice)) => vec![choice.as_str()],
        Some(Json::Array(choices)) => choices
            .iter()
            .map(|choice| choice.as_str().ok_or("`choices`: expected texts"))
            .collect::<Result<_, _>>()?,
        Some(_) => return Err("`choices`: expected a list of texts".to_owned()),
    };
    let context = match members.get("context") {
        None | Some(Json::Null) => Json::Object(Object::new()),
        Some(context @ Json::Object(_)) => redactor.redact_fields(context),
        Some(other) => Json::object([("value", redactor.redact_fields(other))]),
    };
    let mut checkpoint = Checkpoint::new(id, owner.call_id.clone(), owner.run_id.as_str());
    checkpoint.tool_id = owner.tool_id.to_owned();
    checkpoint.reason = clean(text(members, "reason")?, 240);
    checkpoint.requested_action =
        clean(text(members, "requested_action")?.or(text(members, "action")?).or(Some("review")), 240);
    checkpoint.prompt = clean(text(members, "prompt")?.or(text(members, "operator_prompt")?), 1000);
    checkpoint.context = context;
    checkpoint.choices = choices.into_iter().filter_map(|choice| clean(Some(choice), 160)).collect();
    checkpoint.created_at = Some(time(members, "created_at")?.unwrap_or(owner.completed_at));
    checkpoint.expires_at = time(members, "expires_at")?;
    Ok(checkpoint)
}

fn must_match(members: &Object, key: &str, expected: &str) -> Result<(), String> {
    match text(members, key)? {
        None | Some("") => Ok(()),
        Some(given) if given == expected => Ok(()),
        Some(_) => Err(format!("`{key}`: names another one than ours")),
    }
}

fn first<'m>(members: &'m Object, keys: &[&str]) -> Option<&'m Json> {
    keys.iter().find_map(|key| members.get(*key)).filter(|value| !value.is_null())
}

fn text<'m>(members: &'m Object, key: &str) -> Result<Option<&'m str>, String> {
    match members.get(key) {
        None | Some(Json::Null) => Ok(None),
        Some(Json::String(text)) => Ok(Some(text)),
        Some(_) => Err(format!("`{key}`: expected a text")),
    }
}

fn time(members: &Object, key: &str) -> Result<Option<Timestamp>, String> {
    match text(members, key)? {
        None | Some("") => Ok(None),
        Some(at) => at.parse().map(Some).map_err(|error| format!("`{key}`: {error}")),
    }
}

fn generated_id(name: &str, owner: &Owner<'_>) -> CheckpointId {
    let fingerprint = Fingerprint::builder("brigade.checkpoint-id.v1")
        .text("name", name)
        .text("call_id", owner.call_id.as_str())
        .text("run_id", owner.run_id.as_str())
        .finish();
    format!("checkpoint-{}", fingerprint.short()).parse().expect("hex digits and dashes are an id")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Checkpoint, String> {
        let (call_id, run_id) = ("call-1".parse().unwrap(), "run-1".parse().unwrap());
        let owner = Owner {
            tool_id: "release",
            call_id: &call_id,
            run_id: &run_id,
            completed_at: Timestamp::from_unix_micros(0),
        };
        let file = DroppedFile { name: "a.json".into(), bytes: Ok(text.as_bytes().to_vec()) };
        let (mut checkpoints, mut broken) =
            read_dropped(vec![file], &owner, &Redactor::new(&[]).for_output());
        match broken.pop() {
            Some(broken) => Err(broken.problem),
            None => Ok(checkpoints.remove(0)),
        }
    }

    #[test]
    fn files_of_other_names_are_left_out() {
        let fs = brigade_fs::MemoryFs::new();
        let folder: RelPath = "incoming/run-1".parse().unwrap();
        fs.create_dir_all(&folder).unwrap();
        for name in ["b.json", "notes.txt", "a.json.tmp"] {
            fs.write_atomic(&folder.join(name).unwrap(), b"{}", brigade_fs::FileMode::Private).unwrap();
        }
        for name in ["c", "d.json"] {
            fs.create_dir_all(&folder.join(name).unwrap()).unwrap();
        }
        let dropped = list_dropped(&fs, &folder).unwrap();
        assert_eq!(dropped.left_out, ["a.json.tmp", "c", "notes.txt"]);
        let found: Vec<_> =
            dropped.files.iter().map(|file| (file.name.as_str(), file.bytes.is_ok())).collect();
        assert_eq!(found, [("b.json", true), ("d.json", false)]);
    }

    #[test]
    fn both_spellings_of_the_protocol_are_read() {
        let checkpoint = read(
            r#"{"id":"gate","reason":"r","action":"deploy","operator_prompt":"go?","allowed_resume_choices":"yes",
                "context":5,"expires_at":"2026-01-01","call_id":"call-1","run_id":"","status":"pending"}"#,
        )
        .unwrap();
        assert_eq!(checkpoint.id.as_str(), "gate");
        assert_eq!(checkpoint.requested_action.as_deref(), Some("deploy"));
        assert_eq!(checkpoint.prompt.as_deref(), Some("go?"));
        assert_eq!(checkpoint.choices, ["yes"]);
        assert_eq!(checkpoint.context, Json::object([("value", Json::from(5))]));
        assert_eq!(checkpoint.expires_at.unwrap().to_string(), "2026-01-01T00:00:00+00:00");
    }

    #[test]
    fn what_a_script_may_not_ask_for_is_broken() {
        for text in [
            "{",
            "[]",
            r#"{"id":"../../evil"}"#,
            r#"{"id":"/etc/x"}"#,
            r#"{"id":".hidden"}"#,
            r#"{"id":"a\nb"}"#,
            r#"{"id":7}"#,
            r#"{"status":"approved"}"#,
            r#"{"call_id":"call-2"}"#,
            r#"{"choices":[1]}"#,
            r#"{"choices":7}"#,
            r#"{"expires_at":"tomorrow"}"#,
        ] {
            assert!(read(text).is_err(), "{text}");
        }
    }

    #[test]
    fn secrets_of_the_context_are_not_stored() {
        let checkpoint =
            read(r#"{"context":{"password":"hunter2-EXAMPLE"},"reason":"token=EXAMPLE12345"}"#).unwrap();
        let stored = Json::Object(checkpoint.to_document()).to_compact();
        assert!(!stored.contains("hunter2") && !stored.contains("EXAMPLE12345"), "{stored}");
    }

    #[test]
    fn a_bound_value_is_in_no_part_of_a_checkpoint() {
        const VALUE: &str = "cAnary-4711-secret_VALUE-zz";
        let (call_id, run_id) = ("call-1".parse().unwrap(), "run-1".parse().unwrap());
        let completed_at = Timestamp::from_unix_micros(0);
        let owner = Owner { tool_id: "release", call_id: &call_id, run_id: &run_id, completed_at };
        let redactor = Redactor::new(&[VALUE.into()]).for_output();
        for (name, text) in [
            ("VALUE.json", "{"),
            ("VALUE.json", "{}"),
            ("a.json", r#"{"id":"VALUE","choices":["a"]}"#),
            ("a.json", r#"{"id":"x-VALUE-x"}"#),
            ("a.json", r#"{"id":"ok","context":{"VALUE":1,"b":{"x VALUE":[]}}}"#),
            ("a.json", r#"{"id":"ok","VALUE":1}"#),
            ("a.json", r#"{"id":"ok","status":"VALUE"}"#),
            ("a.json", r#"{"id":"ok","expires_at":"VALUE"}"#),
            ("a.json", r#"{"id":"ok","reason":"VALUE","prompt":"use VALUE?","choices":["yes","VALUE"]}"#),
        ] {
            let bytes = text.replace("VALUE", VALUE).into_bytes();
            let file = DroppedFile { name: name.replace("VALUE", VALUE), bytes: Ok(bytes) };
            let (checkpoints, broken) = read_dropped(vec![file], &owner, &redactor);
            assert_eq!(checkpoints.len() + broken.len(), 1, "{name} {text}");
            for checkpoint in checkpoints {
                let stored = Json::Object(checkpoint.to_document()).to_compact();
                assert!(!stored.contains(VALUE), "{text}: {stored}");
            }
            for broken in broken {
                assert!(!broken.problem.contains(VALUE), "{text}: {}", broken.problem);
            }
        }
    }
}
