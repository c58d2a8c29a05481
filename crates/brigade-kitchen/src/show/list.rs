//! The learnings and backlog files. People and the `brigade` shell program also edit them, so existing text is kept.

use std::ops::Range;

/// The start of a block that the shell program wrote: `## [US-001] Line Cook (2026-01-19)`.
const BLOCK: &str = "## [";

/// The end of such a block.
const BLOCK_END: &str = "---";

/// A learning or finding, with its bytes in the file.
struct Entry {
    text: String,
    at: Range<usize>,
    /// Whether it is below the title of Brigade's own list.
    is_ours: bool,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum ParserState {
    Text,
    Entry,
    Block,
}

/// A parsed file.
struct List {
    entries: Vec<Entry>,
    /// Whether the title exists and appended text would belong to its list.
    is_open: bool,
}

fn read(text: &str, title: &str) -> List {
    let mut entries: Vec<Entry> = Vec::new();
    let (mut place, mut is_ours, mut end) = (ParserState::Text, false, 0);
    for raw in text.split_inclusive('\n') {
        let begin = end;
        end += raw.len();
        let line = raw.trim_end_matches(['\n', '\r']);
        let is_heading = line.starts_with("# ");
        is_ours |= line == title;
        let entry = |text: &str, is_ours| Entry { text: text.to_owned(), at: begin..end, is_ours };
        if line.starts_with(BLOCK) {
            place = ParserState::Block;
            entries.push(entry("", false));
        } else if place == ParserState::Block && !is_heading && line != BLOCK_END {
            let block = entries.last_mut().expect("a block began with an entry");
            block.text.push_str(line);
            block.text.push('\n');
        } else if let Some(text) = line.strip_prefix("- ") {
            place = ParserState::Entry;
            entries.push(entry(text, is_ours));
        } else if let (ParserState::Entry, Some(more)) = (place, line.strip_prefix("  ")) {
            let last = entries.last_mut().expect("an entry began");
            last.text.push('\n');
            last.text.push_str(more);
            last.at.end = end;
        } else {
            place = ParserState::Text;
        }
    }
    for entry in &mut entries {
        entry.text = entry.text.trim().to_owned();
    }
    entries.retain(|entry| !entry.text.is_empty());
    List { entries, is_open: is_ours && place != ParserState::Block }
}

/// Lists the entries of such a file, the oldest first: list items, and blocks of the shell program.
///
/// ```
/// use brigade_kitchen::show::list_entries;
///
/// let text = "My notes.\n\n## [US-001] Line Cook (2026-01-19)\nUse tabs\n---\n\n# Learnings\n\n- Run it\n  twice\n";
/// assert_eq!(list_entries(text), ["Use tabs", "Run it\ntwice"]);
/// ```
pub fn list_entries(text: &str) -> Vec<String> {
    read(text, "").entries.into_iter().map(|entry| entry.text).collect()
}

/// Adds new entries to such a file, below a title of Brigade. If there are more than `most` entries, the oldest are
/// removed. Every other byte stays the same. Returns `None` if nothing is new.
pub fn list_with(text: &str, title: &str, new: &[String], most: usize) -> Option<String> {
    let list = read(text, title);
    let mut added: Vec<&str> = Vec::new();
    for entry in new.iter().map(|entry| entry.trim()).filter(|entry| !entry.is_empty()) {
        if !added.contains(&entry) && list.entries.iter().all(|known| known.text != entry) {
            added.push(entry);
        }
    }
    if added.is_empty() {
        return None;
    }
    added.drain(..added.len().saturating_sub(most));
    let ours: Vec<&Entry> = list.entries.iter().filter(|entry| entry.is_ours).collect();
    let surplus = (ours.len() + added.len()).saturating_sub(most);
    let (mut out, mut from) = (String::with_capacity(text.len()), 0);
    for old in ours.iter().take(surplus) {
        out.push_str(&text[from..old.at.start]);
        from = old.at.end;
    }
    out.push_str(&text[from..]);
    if !out.is_empty() && !out.ends_with('\n') {
        out.push('\n');
    }
    if !list.is_open {
        let gap = if out.is_empty() || out.ends_with("\n\n") { "" } else { "\n" };
        out.push_str(&format!("{gap}{title}\n\n"));
    }
    for entry in added {
        out.push_str(&format!("- {}\n", entry.replace('\n', "\n  ")));
    }
    Some(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    const OF_BASH: &str = "# Brigade Learnings\n\nMy own notes.\n\n## [US-001] Line Cook (2026-01-19)\nAdd rate limiting\n- and more\n---\n";

    #[track_caller]
    fn check(text: &str, new: &[&str], most: usize, expect: Option<&str>) {
        let new: Vec<String> = new.iter().map(|text| (*text).to_owned()).collect();
        assert_eq!(list_with(text, "# Learnings", &new, most).as_deref(), expect);
    }

    #[test]
    fn new_entries_are_appended_and_other_bytes_stay() {
        check("", &["a", "b\nc", "a", " "], 9, Some("# Learnings\n\n- a\n- b\n  c\n"));
        check("# Learnings\n\n- a\n", &["b"], 9, Some("# Learnings\n\n- a\n- b\n"));
        check("# Learnings\n\n- a\n", &["a"], 9, None);
        check("# Learnings\r\n\r\n- a\r\n", &["a", "b"], 9, Some("# Learnings\r\n\r\n- a\r\n- b\n"));
        check("mine", &["a"], 9, Some("mine\n\n# Learnings\n\n- a\n"));
        check(OF_BASH, &["Add rate limiting\n- and more"], 9, None);
        check(OF_BASH, &["a"], 9, Some(&format!("{OF_BASH}\n# Learnings\n\n- a\n")));
        // A block without an end would include the text after it.
        let open = "# Learnings\n\n- a\n\n## [b] Sous Chef\nc\n";
        check(open, &["d"], 9, Some(&format!("{open}\n# Learnings\n\n- d\n")));
        assert_eq!(list_entries(&format!("{open}\n# Learnings\n\n- d\n")), ["a", "c", "d"]);
    }

    #[test]
    fn only_entries_of_brigade_go() {
        check("# Learnings\n\n- a\n  a2\n- b\n", &["c"], 2, Some("# Learnings\n\n- b\n- c\n"));
        check("- mine\n\n# Learnings\n\n- a\n", &["b"], 1, Some("- mine\n\n# Learnings\n\n- b\n"));
        check("# Learnings\n\n- a\n", &["b", "c", "d"], 2, Some("# Learnings\n\n- c\n- d\n"));
        let full = format!("{OF_BASH}\n# Learnings\n\n- a\nA word of mine.\n");
        check(&full, &["b"], 1, Some(&format!("{OF_BASH}\n# Learnings\n\nA word of mine.\n- b\n")));
    }

    #[test]
    fn blocks_of_the_bash_program_are_entries() {
        assert_eq!(list_entries(OF_BASH), ["Add rate limiting\n- and more"]);
        assert_eq!(list_entries("## [a] Line Cook\n---\n## [b] Line Cook\nx\n\n## [c] Chef\ny"), ["x", "y"]);
    }
}
