//! Scripts that agents saved, and that a person makes tools of.

use brigade_catalog::{ApprovalMode, Family, Level, Tool};
use brigade_cmdline::LanguageRuntime;
use brigade_core::ErrorCode;
use brigade_db::StoreError;
use brigade_fs::{FileMode, RelPath};
use brigade_ops::{Error, ErrorKind};

use crate::catalog::{RegisterRequest, RegisterSource, Tools};
use crate::report::RegisterReport;

/// The directory of the files.
const FOLDER: &str = "scripts";

/// The schema of the arguments of such a tool. A person who reviews it may write another.
const NO_ARGUMENTS: &str = "{\"type\": \"object\", \"properties\": {}, \"additionalProperties\": false}\n";

/// Writes a name as one that a file and a tool may have.
fn plain(name: &str) -> String {
    let letter = |c: char| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { '-' };
    let plain: String = name.chars().map(letter).collect();
    let words: Vec<&str> = plain.split('-').filter(|word| !word.is_empty()).collect();
    words.join("-")
}

impl Tools {
    /// Makes a disabled tool of the newest version of a saved script, and writes its file and its schema. Starts
    /// nothing.
    ///
    /// # Errors
    /// Fails inside of a run, if there is no such script, no program for its language is known, or another file has its
    /// place, and on file errors. Returns [`Refusal::Register`](crate::Refusal::Register) with the reasons of the
    /// catalog, and then nothing is written.
    pub fn promote_script(&self, id: &str, tool: Option<&str>) -> Result<RegisterReport, Error> {
        let inner = &*self.inner;
        inner.require_outside_run()?;
        let none =
            || Error::new(ErrorKind::NotFound, "there is no such script").coded(ErrorCode::ScriptMissing);
        let store = inner.stores.reading(&*inner.fs)?.ok_or_else(none)?;
        let (script, versions) = match store.script(None, id) {
            Ok(found) => found,
            Err(StoreError::Refused(_)) => return Err(none()),
            Err(error) => return Err(error.into()),
        };
        let newest = versions.iter().max_by_key(|version| version.version).ok_or_else(none)?;
        let Some(runtime) = LanguageRuntime::of_language(&script.language) else {
            let message = "no program is known that runs the language of the script";
            let error = Error::new(ErrorKind::Refused, message);
            return Err(error.hint(format!("known are {}", LanguageRuntime::languages().join(", "))));
        };
        let LanguageRuntime { command, ending, .. } = runtime;
        let name = plain(tool.unwrap_or(&script.name));
        if name.is_empty() {
            return Err(Error::new(ErrorKind::Usage, "the name of the script has no letters; give an id"));
        }
        let (code, schema) = (format!("{FOLDER}/{name}.{ending}"), format!("{FOLDER}/{name}.schema.json"));
        let bare = Tool::new(tool.unwrap_or(&name), Family::Script);
        let bare = bare.map_err(|error| Error::new(ErrorKind::Usage, error.to_string()))?;
        let entry = Tool {
            name: script.name.clone(),
            enabled: false,
            description: Some(format!("{} (saved by {})", script.description, script.owner)),
            command: Some(format!("{command} {code}")),
            source_path: Some(code.clone()),
            input_schema_path: Some(schema.clone()),
            approval_mode: Some(ApprovalMode::Always),
            ..bare
        };
        let entry = entry.to_toml();
        let request = |dry_run| RegisterRequest {
            sources: vec![RegisterSource::Text(format!("{}.toml", script.id), entry.clone())],
            level: Level::Project,
            id: None,
            replace: false,
            dry_run,
        };
        self.register(&request(true))?;
        for (path, text) in [(&code, newest.code.as_str()), (&schema, NO_ARGUMENTS)] {
            let path: RelPath = path.parse().map_err(|_| none())?;
            match inner.fs.read(&path, u64::from(u32::MAX)) {
                Ok(there) if there == text.as_bytes() => continue,
                Err(error) if error.is_not_found() => {}
                Ok(_) => {
                    let message = format!("another file is at `{path}`; give the tool another id");
                    return Err(Error::new(ErrorKind::Refused, message));
                }
                Err(error) => return Err(error.into()),
            }
            inner.fs.create_dir_all(&path.parent())?;
            inner.fs.write_atomic(&path, text.as_bytes(), FileMode::KeepOr(0o644))?;
        }
        self.register(&request(false))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_become_those_of_files() {
        for (name, expect) in [("Count words", "count-words"), ("../x y", "x-y"), ("ÄÖ", ""), ("a.b", "a-b")]
        {
            assert_eq!(plain(name), expect, "{name}");
        }
    }
}
