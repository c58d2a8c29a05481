//! Checks documents: links must have a target, the architecture page must name everything, and lines must fit.

use super::manifests::Manifests;
use super::width::WIDEST;
use super::{Finding, line_of};
use crate::repository::Tree;

/// The page that explains each crate and each package.
const ARCHITECTURE: &str = "docs/architecture.md";

/// The changelog, and the maximum number of characters of one of its bullets.
const CHANGELOG: (&str, usize) = ("CHANGELOG.md", 160);

/// Lists every violation of the rules for documents.
pub fn findings(tree: &Tree, manifests: &Manifests) -> Vec<Finding> {
    let mut found = architecture(tree, manifests);
    for (path, text) in tree.texts(".md") {
        for (offset, target) in links(text) {
            if let Some(problem) = problem(tree, path, target) {
                found.push(Finding::new(path, line_of(text, offset), problem));
            }
        }
        if path.starts_with("docs/") || !path.contains('/') {
            let message = format!("the line has more than {WIDEST} columns");
            found.extend(too_wide(text).map(|line| Finding::new(path, line, message.clone())));
        }
        let (changelog, longest) = CHANGELOG;
        if path == changelog {
            let message = format!("the bullet has more than {longest} characters");
            let too_long = bullets(text).into_iter().filter(|(_, length)| longest < *length);
            found.extend(too_long.map(|(line, _)| Finding::new(path, line, message.clone())));
        }
    }
    found
}

/// Lists the lines, from 1, that are too wide. Tables and code may have any width.
fn too_wide(text: &str) -> impl Iterator<Item = usize> + use<'_> {
    let mut is_code = false;
    text.lines().enumerate().filter_map(move |(index, line)| {
        is_code ^= line.trim_start().starts_with("```");
        (!is_code && !line.starts_with('|') && WIDEST < line.chars().count()).then_some(index + 1)
    })
}

/// Returns the line and the length of each bullet.
fn bullets(text: &str) -> Vec<(usize, usize)> {
    let mut found: Vec<(usize, usize)> = Vec::new();
    let mut is_open = false;
    for (index, line) in text.lines().enumerate() {
        let item = line.strip_prefix("- ").or_else(|| line.strip_prefix("* "));
        is_open = item.is_some() || is_open && line.starts_with(' ');
        match (item, found.last_mut()) {
            (Some(item), _) => found.push((index + 1, item.chars().count())),
            (None, Some((_, length))) if is_open => *length += 1 + line.trim().chars().count(),
            _ => {}
        }
    }
    found
}

fn architecture(tree: &Tree, manifests: &Manifests) -> Vec<Finding> {
    let Some(page) = tree.text(ARCHITECTURE) else {
        return vec![Finding::new(
            ARCHITECTURE,
            1,
            "is missing: it names every crate, and the reason of every dependency",
        )];
    };
    let is_named = |name: &str| page.contains(&format!("`{name}`"));
    let mut found = Vec::new();
    for name in manifests.names() {
        if !is_named(name) {
            found.push(Finding::new(ARCHITECTURE, 1, format!("does not name the crate `{name}`")));
        }
    }
    for (name, (path, line)) in manifests.third_party() {
        if !is_named(name) {
            let message = format!("{ARCHITECTURE} does not give the reason for `{name}`");
            found.push(Finding::new(path, line, message));
        }
    }
    found
}

/// Returns the target of every inline link, image and reference of a Markdown text, with its offset.
fn links(text: &str) -> Vec<(usize, &str)> {
    let mut found = Vec::new();
    let (mut offset, mut fence) = (0, None);
    for line in text.split_inclusive('\n') {
        let trimmed = line.trim_start();
        let mark = ["```", "~~~"].into_iter().find(|mark| trimmed.starts_with(mark));
        match (fence, mark) {
            (None, Some(mark)) => fence = Some(mark),
            (Some(open), Some(mark)) if open == mark => fence = None,
            (None, None) => links_of_line(line, offset, &mut found),
            _ => {}
        }
        offset += line.len();
    }
    found
}

fn links_of_line<'a>(line: &'a str, offset: usize, found: &mut Vec<(usize, &'a str)>) {
    if line.starts_with('[')
        && let Some((_, target)) = line.split_once("]: ")
    {
        found.push((offset, target.split_whitespace().next().unwrap_or_default()));
        return;
    }
    let mut is_code = false;
    for (at, next) in line.char_indices() {
        match next {
            '`' => is_code = !is_code,
            ']' if !is_code => {
                if let Some(target) = line[at..].strip_prefix("](").and_then(|rest| rest.split(')').next()) {
                    let target = target.split_whitespace().next().unwrap_or_default();
                    found.push((offset + at, target.trim_start_matches('<').trim_end_matches('>')));
                }
            }
            _ => {}
        }
    }
}

/// Returns what is wrong with a link, or `None` if its target exists or is outside the repository.
fn problem(tree: &Tree, path: &str, target: &str) -> Option<String> {
    if target.contains("://") || target.starts_with("mailto:") {
        return None;
    }
    let (file, anchor) = target.split_once('#').map_or((target, None), |(file, anchor)| (file, Some(anchor)));
    let Some(resolved) = resolve(path, file) else {
        return Some(format!("the link `{target}` leads out of the repository"));
    };
    if !tree.holds(&resolved) {
        return Some(format!("the link `{target}` leads nowhere: there is no `{resolved}`"));
    }
    let anchor = anchor?;
    let text = tree.text(&resolved).filter(|_| resolved.ends_with(".md"))?;
    (!anchors(text).iter().any(|known| known == anchor))
        .then(|| format!("the link `{target}` leads nowhere: `{resolved}` has no such heading"))
}

/// Resolves a link relative to its file, lexically.
fn resolve(path: &str, link: &str) -> Option<String> {
    if link.is_empty() {
        return Some(path.to_owned());
    }
    let mut parts: Vec<&str> = if link.starts_with('/') { Vec::new() } else { path.split('/').collect() };
    parts.pop();
    for part in link.split('/') {
        match part {
            "" | "." => {}
            ".." => drop(parts.pop()?),
            part => parts.push(part),
        }
    }
    Some(parts.join("/"))
}

/// Returns the anchors of a page's headings, as code hosts generate them.
fn anchors(text: &str) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    let mut is_fenced = false;
    for line in text.lines() {
        is_fenced ^= line.trim_start().starts_with("```");
        let title = line.trim_start_matches('#');
        if is_fenced || title.len() == line.len() || !title.starts_with(' ') {
            continue;
        }
        let anchor: String = title
            .trim()
            .to_lowercase()
            .chars()
            .filter(|c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_'))
            .map(|c| if c == ' ' { '-' } else { c })
            .collect();
        let repeated = found.iter().filter(|known| **known == anchor).count();
        found.push(if repeated == 0 { anchor } else { format!("{anchor}-{repeated}") });
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expect: &[(usize, &str)]) {
        let tree = Tree::from_texts(&[
            ("docs/a.md", text),
            ("docs/b/c.md", "# One two\n\n## `x`: y\n"),
            ("README.md", "# Top\n"),
        ]);
        let manifests = Manifests::default();
        let found: Vec<_> =
            findings(&tree, &manifests).into_iter().filter(|finding| finding.path == "docs/a.md").collect();
        assert_eq!(found.len(), expect.len(), "{found:#?}");
        for (finding, (line, part)) in found.iter().zip(expect) {
            assert!(finding.line == *line && finding.message.contains(part), "{found:#?}");
        }
    }

    #[test]
    fn links_with_a_target() {
        check(
            "# Here\n[a](b/c.md) [b](../README.md#top) [c](b/) [d](#here) [e](/docs/b/c.md \"title\")",
            &[],
        );
        check("[a](b/c.md#one-two) [b](b/c.md#x-y)", &[]);
        check("[a](https://example.com/x) <mailto:a@b> [b](mailto:a@b)", &[]);
    }

    #[test]
    fn links_without_a_target() {
        check("\n[a](missing.md)", &[(2, "no `docs/missing.md`")]);
        check("![a](b/c.png)\n\n[b]: gone.md", &[(1, "c.png"), (3, "gone.md")]);
        check("[a](../../x.md)", &[(1, "out of the repository")]);
        check("[a](b/c.md#three)", &[(1, "no such heading")]);
    }

    #[test]
    fn only_prose_is_too_wide() {
        let wide = "x ".repeat(61);
        check(&format!("{wide}\n| {wide} |\n```\n{wide}\n```\n- {wide}\n"), &[(1, "120"), (6, "120")]);
    }

    #[test]
    fn bullets_of_the_changelog_are_short() {
        let text = format!("# A\n\n- {}\n  {}\n\nB\n\n- c\n", "x".repeat(100), "y".repeat(60));
        assert_eq!(bullets(&text), [(3, 161), (8, 1)]);
        let found = findings(&Tree::from_texts(&[("CHANGELOG.md", &text)]), &Manifests::default());
        assert_eq!(found.iter().filter(|finding| finding.path == "CHANGELOG.md").count(), 1, "{found:#?}");
    }

    #[test]
    fn code_contains_no_links() {
        check("```\n[a](missing.md)\n```\n`[b](missing.md)`", &[]);
    }

    #[test]
    fn the_architecture_page_names_everything() {
        let tree = |page: &str| {
            let manifest = "[package]\nname = \"brigade-core\"\n\n[dependencies]\nserde = \"1\"\n";
            Tree::from_texts(&[("docs/architecture.md", page), ("crates/c/Cargo.toml", manifest)])
        };
        let found = |page: &str| {
            let tree = tree(page);
            findings(&tree, &super::super::manifests::read(&tree))
        };
        assert_eq!(found("`brigade-core` uses `serde`"), []);
        assert_eq!(
            found("brigade-core-extra, serde"),
            [
                Finding::new("docs/architecture.md", 1, "does not name the crate `brigade-core`"),
                Finding::new(
                    "crates/c/Cargo.toml",
                    5,
                    "docs/architecture.md does not give the reason for `serde`"
                ),
            ]
        );
    }

    #[test]
    fn anchors_are_numbered_when_they_repeat() {
        assert_eq!(anchors("# A b\n## A b\n```\n# c\n```\n#d"), ["a-b", "a-b-1"]);
    }
}
