//! Lists: their elements, and entries given as a list value: `tool = [ { … }, { … } ]`.

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
    append(list, Value::InlineTable(entry));
}

/// Adds a value at the end of a list, on its own line if the other values are.
pub(super) fn append(list: &mut Array, mut entry: Value) {
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
        // The comma must not become part of a comment.
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

/// Removes a value with the comment on its line. A comment on the line before belongs to the value before.
pub(super) fn remove(list: &mut Array, index: usize) {
    let removed = list.remove(index);
    let before = text(removed.decor().prefix());
    let (kept, _) = before.split_at(before.find('\n').unwrap_or(0));
    let rest = |after: &str| match after.find('\n') {
        Some(at) => format!("{kept}{}", &after[at..]),
        None => format!("{kept}{after}"),
    };
    if let Some(next) = list.get_mut(index) {
        let after = text(next.decor().prefix());
        next.decor_mut().set_prefix(rest(&after));
    } else {
        let end = format!("{}{}", text(removed.decor().suffix()), text(Some(list.trailing())));
        list.set_trailing(rest(&end));
    }
    if index == 0
        && !before.contains('\n')
        && let Some(first) = list.get_mut(0)
    {
        // No space before the first element.
        let prefix = text(first.decor().prefix());
        first.decor_mut().set_prefix(if prefix.contains('\n') { prefix } else { before });
    }
}

/// Separates the whitespace before the bracket from the comments before it.
fn split(text: &str) -> (&str, &str) {
    let comments = text.trim_end();
    text.split_at(comments.len())
}

fn text(raw: Option<&RawString>) -> String {
    raw.and_then(RawString::as_str).unwrap_or_default().to_owned()
}
