//! Entries that are given as the value of a key: `tool = [ { … }, { … } ]`.

use toml_edit::{Array, InlineTable, RawString, Value};

use crate::fields;
use crate::model::Tool;

/// Adds an entry at the end of a list, on a line of its own where the others have theirs.
pub(super) fn push(list: &mut Array, tool: &Tool) {
    let mut entry = InlineTable::new();
    for name in fields::TOOL.names() {
        if let Some(value) = tool.field(name) {
            entry.insert(name, value.to_toml());
        }
    }
    let mut entry = Value::InlineTable(entry);
    let blank = text(list.iter().last().and_then(|last| last.decor().prefix()));
    // Comments before the last entry are about that one.
    let before = match blank.rfind('\n') {
        Some(at) => blank[at..].to_owned(),
        None if list.is_empty() => String::new(),
        None => " ".to_owned(),
    };
    // What stands between the last entry and the bracket: after a comma it is the list's, else the entry's.
    let after = if list.trailing_comma() {
        let rest = text(Some(list.trailing()));
        let (about_last, end) = split(&rest);
        list.set_trailing(end);
        entry.decor_mut().set_prefix(format!("{about_last}{before}"));
        String::new()
    } else if let Some(last) = list.iter_mut().last() {
        let rest = text(last.decor().suffix());
        let (about_last, end) = split(&rest);
        // A comment would swallow the comma.
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

/// Parts the blank before the bracket from comments before it.
fn split(text: &str) -> (&str, &str) {
    let comments = text.trim_end();
    text.split_at(comments.len())
}

fn text(raw: Option<&RawString>) -> String {
    raw.and_then(RawString::as_str).unwrap_or_default().to_owned()
}
