//! The block in `.gitignore` that excludes local state from the repository.

/// The paths that the block ignores.
pub const IGNORED: &[&str] = &[".brigade/tools.toml", ".brigade/tools/", ".brigade/work/"];

const BEGIN: &str = include_str!("ignore/begin.txt");
const END: &str = include_str!("ignore/end.txt");

/// The change to a `.gitignore`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum IgnoreChange {
    /// The file does not exist; this is its content.
    Created(String),
    /// The file changes to this content.
    Updated(String),
    /// The file needs no change.
    Skipped,
}

/// Adds the managed block to a `.gitignore`, or updates it.
///
/// Lines outside the block are kept. A block without its end marker ends after its known lines.
pub fn merge_ignore(existing: Option<&str>) -> IgnoreChange {
    let Some(existing) = existing else {
        return IgnoreChange::Created(block("\n"));
    };
    let end = if existing.contains("\r\n") { "\r\n" } else { "\n" };
    let block = block(end);
    let text = match find_block(existing) {
        Some((start, stop)) => format!("{}{block}{}", &existing[..start], &existing[stop..]),
        None if is_covered(existing) => return IgnoreChange::Skipped,
        None if existing.is_empty() => block,
        None => {
            let gap = if existing.ends_with('\n') { "" } else { end };
            format!("{existing}{gap}{end}{block}")
        }
    };
    if text == existing { IgnoreChange::Skipped } else { IgnoreChange::Updated(text) }
}

fn block(end: &str) -> String {
    let lines = [BEGIN].into_iter().chain(IGNORED.iter().copied()).chain([END]);
    lines.flat_map(|line| [line, end]).collect()
}

/// Returns whether the file ignores the paths without a block.
fn is_covered(text: &str) -> bool {
    let has = |wanted: &str| text.lines().any(|line| line.trim().trim_start_matches('/') == wanted);
    // A later `!` line may include the paths again.
    !text.lines().any(|line| line.trim_start().starts_with('!') && line.contains(".brigade"))
        && (has(".brigade/") || has(".brigade") || IGNORED.iter().all(|line| has(line)))
}

/// Returns the start and end of the block, including its last line end.
fn find_block(text: &str) -> Option<(usize, usize)> {
    let mut at = 0;
    let mut lines = text.split_inclusive('\n').map(|line| {
        let start = at;
        at += line.len();
        (start, at, line.trim())
    });
    let (start, mut stop, _) = lines.by_ref().find(|(_, _, line)| *line == BEGIN)?;
    let rest: Vec<_> = lines.collect();
    match rest.iter().find(|(_, _, line)| *line == END) {
        Some((_, after, _)) => stop = *after,
        None => {
            for (_, after, _) in rest.iter().take_while(|(_, _, line)| IGNORED.contains(line)) {
                stop = *after;
            }
        }
    }
    Some((start, stop))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[track_caller]
    fn check(existing: &str, expect: &str) {
        let expect =
            if existing == expect { IgnoreChange::Skipped } else { IgnoreChange::Updated(expect.to_owned()) };
        assert_eq!(merge_ignore(Some(existing)), expect);
    }

    #[test]
    fn the_block_is_created_added_updated_or_left() {
        let block = block("\n");
        assert_eq!(merge_ignore(None), IgnoreChange::Created(block.clone()));
        check("", &block);
        check("target\n", &format!("target\n\n{block}"));
        check("target", &format!("target\n\n{block}"));
        check(&format!("a\n{block}b\n"), &format!("a\n{block}b\n"));
        check(&format!("a\n{BEGIN}\nold\n{END}\nb\n"), &format!("a\n{block}b\n"));
        check(&format!("a\n{BEGIN}\n.brigade/tools/\nb\n"), &format!("a\n{block}b\n"));
        check("a\r\n", &format!("a\r\n\r\n{block}").replace("a\r\n\r\n", "a\n\n").replace('\n', "\r\n"));
    }

    #[test]
    fn paths_that_are_already_ignored_need_no_block() {
        check("/.brigade/\n", "/.brigade/\n");
        check(
            ".brigade/tools.toml\n.brigade/tools/\n.brigade/work/\n",
            ".brigade/tools.toml\n.brigade/tools/\n.brigade/work/\n",
        );
        assert!(matches!(merge_ignore(Some(".brigade/\n!.brigade/tools.toml\n")), IgnoreChange::Updated(_)));
    }

    proptest! {
        #[test]
        fn merging_twice_changes_nothing_more(text in "(a|\n|\r\n|# >>> brigade tools \\(managed\\) >>>|# <<< brigade tools \\(managed\\) <<<|\\.brigade/tools/| ){0,12}") {
            if let IgnoreChange::Updated(once) = merge_ignore(Some(&text)) {
                prop_assert_eq!(merge_ignore(Some(&once)), IgnoreChange::Skipped);
            }
        }
    }
}
