//! Entries given as a list value: `tool = [ { … }, { … } ]`.

use toml_edit::{Array, InlineTable, RawString, Value};

use crate::fields;
use crate::model::Tool;

/// Adds an entry at the end of a list, on its own line if the other entries are.
pub(super) fn push(list: &mut Array, tool: &Tool) {
    let mut entry = InlineTable::new();
    for name in fields::TOOL.names() {
        if let Some(value) = tool.field(name) {
            entry.insert(name, value.to_toml());
        }
    }
    let mut entry = Value::InlineTable(entry);
    let blank = text(list.iter().last().and_then(|last| last.decor().prefix()));
    // Comments before the last entry belong to that entry.
    let before = match blank.rfind('\n') {
        Some(at) => blank[at..].to_owned(),
        None if list.is_empty() => String::new(),
        None => " ".to_owned(),
    };
    // The text between the last entry and the bracket. After a trailing comma it belongs to the list, otherwise to the
    // entry.
    let after = if list.trailing_comma() {
        let rest = text(Some(list.trailing()));
        let (about_last, end) = split(&rest);
        list.set_trailing(end);
        entry.decor_mut().set_prefix(format!("{about_last}{before}"));
        String::new()
    } else if let Some(last) = list.iter_mut().last() {
        let rest = text(last.decor().suffix());
        let (about_last, end) = split(&rest);
        // A comment would include the comma.
        let line = if about_last.contains('#') { "\n" } else { "" };
        let (about_last, end) = (format!("{about_last}{line}"), end.to_owned());
        last.decor_mut().set_suffix(about_last);
        entry.decor_mut().set_prefix(before);
        end
    } else {
        String::new()
    };
    entry.decor_mut().set_suffix(after);
    list.push_formatted(entry);
}

/// Separates the whitespace before the bracket from the comments before it.
fn split(text: &str) -> (&str, &str) {
    let comments = text.trim_end();
    text.split_at(comments.len())
}

fn text(raw: Option<&RawString>) -> String {
    raw.and_then(RawString::as_str).unwrap_or_default().to_owned()
}
