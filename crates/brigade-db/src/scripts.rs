//! Scripts that agents save. They do not run until a person makes a tool of them.

use brigade_core::{ErrorCode, Timestamp};
use brigade_macros::part;
use rusqlite::{Row, Transaction, params};

use crate::error::StoreError;
use crate::store::{Store, find, list, new_id, stored, time};

/// The maximum length of a name, in bytes.
pub const MAX_NAME: usize = 128;
/// The maximum length of the code, in bytes.
pub const MAX_CODE: usize = 256 << 10;
/// The maximum length of a description, in bytes.
pub const MAX_DESCRIPTION: usize = 2 << 10;
/// The maximum number of tags.
pub const MAX_TAGS: usize = 16;
/// The maximum length of a tag or a language, in bytes.
const MAX_TAG: usize = 32;
/// The maximum number of scripts of one owner.
const MAX_SCRIPTS: i64 = 1_000;

/// A script, without its code.
#[part(PartialEq, Eq)]
pub struct Script {
    /// Its id.
    pub id: String,
    /// The agent that saved it, or `person`.
    pub owner: String,
    /// Its name, which is unique among scripts of the same owner.
    pub name: String,
    /// The language.
    pub language: String,
    /// What it does.
    pub description: String,
    /// Its tags.
    pub tags: Vec<String>,
    /// The number of versions so far.
    pub version: i64,
    /// When it was first saved.
    pub created_at: Timestamp,
    /// When it was last written.
    pub updated_at: Timestamp,
}

/// A version of a script.
#[part(PartialEq, Eq)]
pub struct ScriptVersion {
    /// Its number, from 1.
    pub version: i64,
    /// The code.
    pub code: String,
    /// When it was written.
    pub created_at: Timestamp,
}

/// The content of a script to save.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScriptText {
    /// Its name.
    pub name: String,
    /// The code.
    pub code: String,
    /// What it does. `None` keeps the current description.
    pub description: Option<String>,
    /// Its tags. `None` keeps the current tags.
    pub tags: Option<Vec<String>>,
    /// The language. `None` keeps the current one; a new script then is TypeScript.
    pub language: Option<String>,
}

/// The default language.
pub const DEFAULT_LANGUAGE: &str = "typescript";

fn is_tag(text: &str) -> bool {
    (1..=MAX_TAG).contains(&text.len())
        && text.bytes().all(|byte| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'_' | b'-'))
}

impl ScriptText {
    /// Checks the name, the language, the tags and all lengths.
    ///
    /// # Errors
    /// Returns `invalid_name`, `too_long`, `invalid_tags` or `invalid_language`.
    pub fn check(&self) -> Result<(), StoreError> {
        let is_name = |name: &str| {
            (1..=MAX_NAME).contains(&name.len())
                && !name.contains(['/', '\\'])
                && !name.chars().any(char::is_control)
                && name.trim() == name
                && name != "."
                && name != ".."
        };
        if !is_name(&self.name) {
            let message = format!(
                "a name has 1 to {MAX_NAME} bytes, no `/`, `\\` or control characters, and no surrounding whitespace"
            );
            return Err(StoreError::refused(ErrorCode::InvalidName, message));
        }
        if self.code.is_empty() || MAX_CODE < self.code.len() {
            return Err(StoreError::refused(
                ErrorCode::TooLong,
                format!("the code has 1 to {} KiB", MAX_CODE >> 10),
            ));
        }
        if self.description.as_ref().is_some_and(|text| MAX_DESCRIPTION < text.len()) {
            return Err(StoreError::refused(
                ErrorCode::TooLong,
                format!("a description has at most {} KiB", MAX_DESCRIPTION >> 10),
            ));
        }
        if self.tags.as_ref().is_some_and(|tags| MAX_TAGS < tags.len() || !tags.iter().all(|tag| is_tag(tag)))
        {
            let message =
                format!("there are at most {MAX_TAGS} tags, each 1 to {MAX_TAG} of a-z, 0-9, `_` and `-`");
            return Err(StoreError::refused(ErrorCode::InvalidTags, message));
        }
        if self.language.as_ref().is_some_and(|language| !is_tag(language)) {
            let message = format!("a language is 1 to {MAX_TAG} of a-z, 0-9, `_` and `-`");
            return Err(StoreError::refused(ErrorCode::InvalidLanguage, message));
        }
        Ok(())
    }
}

fn read(row: &Row<'_>) -> rusqlite::Result<Script> {
    Ok(Script {
        id: row.get("id")?,
        owner: row.get("owner")?,
        name: row.get("name")?,
        language: row.get("language")?,
        description: row.get("description")?,
        tags: stored(row, "tags")?,
        version: row.get("version")?,
        created_at: time(row, "created_at")?,
        updated_at: time(row, "updated_at")?,
    })
}

/// Finds a script that is not deleted. `owner` is `None` for a person, who sees every script.
fn by_id(transaction: &Transaction<'_>, owner: Option<&str>, id: &str) -> Result<Script, StoreError> {
    let sql = "SELECT * FROM script WHERE id = ?1 AND deleted_at IS NULL AND (?2 IS NULL OR owner = ?2)";
    find(transaction, "script", sql, params![id, owner], read)
}

fn check_name(
    transaction: &Transaction<'_>,
    owner: &str,
    name: &str,
    but: Option<&str>,
) -> Result<(), StoreError> {
    let taken: bool = transaction.query_row(
        "SELECT EXISTS (SELECT 1 FROM script WHERE owner = ?1 AND name = ?2 AND deleted_at IS NULL AND id IS NOT ?3)",
        params![owner, name, but],
        |row| row.get(0),
    )?;
    if taken {
        Err(StoreError::refused(ErrorCode::NameTaken, "another script has this name"))
    } else {
        Ok(())
    }
}

fn add_version(
    transaction: &Transaction<'_>,
    id: &str,
    version: i64,
    code: &str,
    now: Timestamp,
) -> Result<(), StoreError> {
    transaction.execute(
        "INSERT INTO script_version (script, version, code, created_at) VALUES (?1, ?2, ?3, ?4)",
        params![id, version, code, now.unix_micros()],
    )?;
    Ok(())
}

fn json(tags: &[String]) -> Result<String, StoreError> {
    serde_json::to_string(tags).map_err(|error| StoreError::Database(error.to_string()))
}

impl Store {
    /// Saves a new script, as version 1.
    ///
    /// # Errors
    /// Returns `name_taken`, `too_many` or what [`ScriptText::check`] returns. Also fails on a disk error.
    pub fn save_script(&self, owner: &str, text: &ScriptText, now: Timestamp) -> Result<Script, StoreError> {
        text.check()?;
        self.change(|transaction| {
            check_name(transaction, owner, &text.name, None)?;
            let count: i64 = transaction.query_row(
                "SELECT count(*) FROM script WHERE owner = ?1 AND deleted_at IS NULL",
                [owner],
                |row| row.get(0),
            )?;
            if MAX_SCRIPTS <= count {
                return Err(StoreError::refused(ErrorCode::TooMany, format!("there are already {count} scripts")));
            }
            let id = new_id(transaction, "script")?;
            transaction.execute(
                "INSERT INTO script (id, owner, name, language, description, tags, version, created_at, updated_at) \
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6, 1, ?7, ?7)",
                params![
                    id,
                    owner,
                    text.name,
                    text.language.as_deref().unwrap_or(DEFAULT_LANGUAGE),
                    text.description.as_deref().unwrap_or_default(),
                    json(text.tags.as_deref().unwrap_or_default())?,
                    now.unix_micros()
                ],
            )?;
            add_version(transaction, &id, 1, &text.code, now)?;
            by_id(transaction, Some(owner), &id)
        })
    }

    /// Writes a new version of a script. Keeps the older versions.
    ///
    /// # Errors
    /// Returns `not_found`, `name_taken` or what [`ScriptText::check`] returns. Also fails on a disk error.
    pub fn update_script(
        &self,
        owner: Option<&str>,
        id: &str,
        text: &ScriptText,
        now: Timestamp,
    ) -> Result<Script, StoreError> {
        text.check()?;
        self.change(|transaction| {
            let old = by_id(transaction, owner, id)?;
            check_name(transaction, &old.owner, &text.name, Some(id))?;
            let tags = text.tags.as_ref().unwrap_or(&old.tags);
            transaction.execute(
                "UPDATE script SET name = ?2, language = ?3, description = ?4, tags = ?5, version = ?6, updated_at = ?7 \
                 WHERE id = ?1",
                params![
                    id,
                    text.name,
                    text.language.as_ref().unwrap_or(&old.language),
                    text.description.as_ref().unwrap_or(&old.description),
                    json(tags)?,
                    old.version + 1,
                    now.unix_micros()
                ],
            )?;
            add_version(transaction, id, old.version + 1, &text.code, now)?;
            by_id(transaction, owner, id)
        })
    }

    /// Lists scripts by name. `None` as owner lists all. `text` filters by a part of the name or the description.
    ///
    /// # Errors
    /// Fails on a disk error.
    pub fn scripts(
        &self,
        owner: Option<&str>,
        tag: Option<&str>,
        text: Option<&str>,
    ) -> Result<Vec<Script>, StoreError> {
        self.look(|transaction| {
            let sql =
                "SELECT * FROM script WHERE deleted_at IS NULL AND (?1 IS NULL OR owner = ?1) ORDER BY name, id";
            let all = list(transaction, sql, [owner], read)?;
            let text = text.map(str::to_lowercase);
            let fits = |script: &Script| {
                tag.is_none_or(|tag| script.tags.iter().any(|own| own == tag))
                    && text.as_ref().is_none_or(|text| {
                        script.name.to_lowercase().contains(text)
                            || script.description.to_lowercase().contains(text)
                    })
            };
            Ok(all.into_iter().filter(fits).collect())
        })
    }

    /// Returns a script with all its versions, oldest first.
    ///
    /// # Errors
    /// Returns `not_found`. Also fails on a disk error.
    pub fn script(&self, owner: Option<&str>, id: &str) -> Result<(Script, Vec<ScriptVersion>), StoreError> {
        self.look(|transaction| {
            let script = by_id(transaction, owner, id)?;
            let sql =
                "SELECT version, code, created_at FROM script_version WHERE script = ?1 ORDER BY version";
            let versions = list(transaction, sql, [id], |row| {
                Ok(ScriptVersion {
                    version: row.get("version")?,
                    code: row.get("code")?,
                    created_at: time(row, "created_at")?,
                })
            })?;
            Ok((script, versions))
        })
    }

    /// Deletes a script. Keeps its row and versions, and frees its name.
    ///
    /// # Errors
    /// Returns `not_found`. Also fails on a disk error.
    pub fn delete_script(&self, owner: Option<&str>, id: &str, now: Timestamp) -> Result<Script, StoreError> {
        self.change(|transaction| {
            let script = by_id(transaction, owner, id)?;
            transaction
                .execute("UPDATE script SET deleted_at = ?2 WHERE id = ?1", params![id, now.unix_micros()])?;
            Ok(script)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(name: &str) -> ScriptText {
        ScriptText {
            name: name.to_owned(),
            code: "echo hello".to_owned(),
            description: None,
            tags: None,
            language: None,
        }
    }

    #[track_caller]
    fn check(text: &ScriptText, expect: Option<ErrorCode>) {
        assert_eq!(text.check().err().map(|error| error.answered_code()), expect);
    }

    #[test]
    fn names_code_and_tags_have_limits() {
        check(&text("a name with ümlauts.ts"), None);
        for name in ["", "a/b", "a\\b", "a\nb", " a", "..", &"x".repeat(129)] {
            check(&text(name), Some(ErrorCode::InvalidName));
        }
        check(&ScriptText { code: String::new(), ..text("a") }, Some(ErrorCode::TooLong));
        check(&ScriptText { code: "x".repeat(MAX_CODE), ..text("a") }, None);
        check(&ScriptText { code: "x".repeat(MAX_CODE + 1), ..text("a") }, Some(ErrorCode::TooLong));
        check(&ScriptText { description: Some("x".repeat(2_049)), ..text("a") }, Some(ErrorCode::TooLong));
        let tags = |tags: &[&str]| ScriptText {
            tags: Some(tags.iter().map(|tag| (*tag).to_owned()).collect()),
            ..text("a")
        };
        check(&tags(&["a-b_1"]), None);
        check(&tags(&["A"]), Some(ErrorCode::InvalidTags));
        check(&tags(&[""]), Some(ErrorCode::InvalidTags));
        check(&tags(&["a"; 17]), Some(ErrorCode::InvalidTags));
        check(
            &ScriptText { language: Some("C++".to_owned()), ..text("a") },
            Some(ErrorCode::InvalidLanguage),
        );
    }
}
