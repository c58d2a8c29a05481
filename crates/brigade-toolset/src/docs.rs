//! The documentation of Brigade, which is compiled into the binary: `session.docs` and its pages.

use brigade_core::{ErrorCode, Json};
use brigade_db::texts::{Section, TextIndex};
use serde::{Deserialize, Serialize};
use std::sync::{Mutex, PoisonError};

use crate::context::{Context, Failure, Output};
use crate::run::{Function, arguments};

/// The tools of this family.
pub(crate) const TOOLS: &[(&str, Function)] = &[("session.docs", search)];

/// The scheme and host of pages.
const PAGES_AT: &str = "brigade://docs/";

/// The number of sections that a search returns.
const FOUND: usize = 5;

/// The maximum length of a section in a result, in bytes.
const MAX_SECTION_BYTES: usize = 4_000;

/// The pages, with their names in URLs.
const PAGES: &[(&str, &str)] = &[
    ("agents", include_str!("../../../docs/agents.md")),
    ("architecture", include_str!("../../../docs/architecture.md")),
    ("builtin-tools", include_str!("../../../docs/builtin-tools.md")),
    ("connect", include_str!("../../../docs/connect.md")),
    ("daily", include_str!("../../../docs/daily.md")),
    ("decisions", include_str!("../../../docs/decisions.md")),
    ("errors", include_str!("../../../docs/reference/errors.md")),
    ("gateway", include_str!("../../../docs/gateway.md")),
    ("issues", include_str!("../../../docs/reference/issues.md")),
    ("kitchen", include_str!("../../../docs/kitchen.md")),
    ("library", include_str!("../../../docs/library.md")),
    ("memory", include_str!("../../../docs/memory.md")),
    ("performance", include_str!("../../../docs/performance.md")),
    ("prd", include_str!("../../../docs/prd.md")),
    ("receipts", include_str!("../../../docs/receipts.md")),
    ("registry", include_str!("../../../docs/registry.md")),
    ("review", include_str!("../../../docs/review.md")),
    ("security", include_str!("../../../docs/security.md")),
    ("servers", include_str!("../../../docs/servers.md")),
    ("state", include_str!("../../../docs/state.md")),
    ("switching", include_str!("../../../docs/switching.md")),
    ("team", include_str!("../../../docs/team.md")),
    ("web", include_str!("../../../docs/web.md")),
    ("worker", include_str!("../../../docs/worker.md")),
];

#[derive(Deserialize)]
struct DocsArgs {
    query: String,
}

/// Returns a page of the documentation, or the section that a URL names, as Markdown.
pub fn page(url: &str) -> Option<String> {
    let (name, section) = match url.strip_prefix(PAGES_AT)?.split_once('#') {
        Some((name, section)) => (name, Some(section)),
        None => (url.strip_prefix(PAGES_AT)?, None),
    };
    let (_, text) = PAGES.iter().find(|(known, _)| *known == name)?;
    match section {
        None => Some((*text).to_owned()),
        Some(_) => {
            let page = format!("{PAGES_AT}{name}");
            sections(&page, text).find(|section| section.key == url).map(|section| section.text)
        }
    }
}

/// Splits a page at its headings. Ignores `#` lines in code. Keys begin with `page`.
pub(crate) fn sections(page: &str, text: &str) -> impl Iterator<Item = Section> + use<> {
    let mut found: Vec<Section> = Vec::new();
    let mut is_code = false;
    for line in text.lines() {
        is_code ^= line.trim_start().starts_with("```");
        let level = line.bytes().take_while(|byte| *byte == b'#').count();
        let is_heading = !is_code && (1..=3).contains(&level) && line[level..].starts_with(' ');
        if is_heading || found.is_empty() {
            let title = line.trim_start_matches('#').trim().to_owned();
            let key = match found.is_empty() {
                true => page.to_owned(),
                false => format!("{page}#{}", slug(&title)),
            };
            found.push(Section { key, title, text: String::new() });
        }
        if let Some(section) = found.last_mut() {
            section.text.push_str(line);
            section.text.push('\n');
        }
    }
    found.into_iter()
}

/// Converts a heading to its form in URLs.
fn slug(title: &str) -> String {
    let letters = title.chars().filter(|c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_'));
    letters.map(|c| if c == ' ' { '-' } else { c.to_ascii_lowercase() }).collect()
}

/// Returns the beginning of a text, in whole lines if possible.
fn excerpt(text: &str) -> &str {
    if text.len() <= MAX_SECTION_BYTES {
        return text;
    }
    let end = (0..=MAX_SECTION_BYTES).rev().find(|end| text.is_char_boundary(*end)).unwrap_or_default();
    text[..end].rfind('\n').map_or(&text[..end], |line| &text[..=line])
}

/// The result of `session.docs`.
#[derive(Serialize)]
struct DocsResult {
    query: String,
    sections: Vec<SectionRow>,
    total_matches: usize,
}

#[derive(Serialize)]
struct SectionRow {
    title: String,
    content: String,
    url: String,
}

/// `session.docs`
fn search(input: &Json, _: &mut Context<'_>) -> Result<Output, Failure> {
    static INDEX: Mutex<Option<TextIndex>> = Mutex::new(None);
    let DocsArgs { query } = arguments(input)?;
    if brigade_db::memory::blank(&query) {
        return Err(Failure::new(ErrorCode::BlankQuery, "the query has no words to search for"));
    }
    let mut index = INDEX.lock().unwrap_or_else(PoisonError::into_inner);
    let index = match &mut *index {
        Some(index) => index,
        none => {
            let all = |(name, text): &(&str, &str)| sections(&format!("{PAGES_AT}{name}"), text);
            none.insert(TextIndex::new(PAGES.iter().flat_map(all))?)
        }
    };
    let (found, total) = index.search(&query, FOUND)?;
    let row = |section: &Section| SectionRow {
        title: section.title.clone(),
        content: excerpt(&section.text).to_owned(),
        url: section.key.clone(),
    };
    let sections = found.iter().map(row).collect();
    Ok(Output::from_result(&DocsResult { query, sections, total_matches: total }))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::stored::testing::{Bench, text};

    #[test]
    #[allow(clippy::disallowed_methods, reason = "the test lists the pages of the checkout")]
    fn every_page_of_the_documentation_is_there() {
        let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs");
        let entries = ["", "reference"].map(|inside| std::fs::read_dir(folder.join(inside)).unwrap());
        let pages = entries.into_iter().flatten().filter_map(|entry| {
            let name = entry.unwrap().file_name().into_string().unwrap();
            name.strip_suffix(".md").map(str::to_owned)
        });
        let known: BTreeSet<String> = PAGES.iter().map(|(name, _)| (*name).to_owned()).collect();
        assert_eq!(known, pages.collect());
    }

    #[test]
    fn sections_begin_at_headings_and_not_in_code() {
        let page = "# Page\nfirst\n## One & two\na\n```sh\n# no heading\n```\n### Three\nb\n";
        let keys: Vec<(String, usize)> =
            sections("p/x", page).map(|section| (section.key, section.text.lines().count())).collect();
        let expect = [("x", 2), ("x#one--two", 5), ("x#three", 2)];
        assert_eq!(keys, expect.map(|(key, lines)| (format!("p/{key}"), lines)));
    }

    #[test]
    fn found_sections_can_be_read() {
        let bench = Bench::new();
        let found = bench.call("session.docs", r#"{"query": "which paths are protected secrets?"}"#);
        let rows = found.get("sections").unwrap().as_array().unwrap();
        assert!(!rows.is_empty() && rows.len() <= FOUND);
        for row in rows {
            let section = page(text(row, "url")).unwrap();
            assert!(section.starts_with(text(row, "content")), "{}", text(row, "url"));
        }
        assert!(rows.iter().any(|row| text(row, "url").contains("builtin-tools")), "{rows:?}");
        let none = bench.call("session.docs", r#"{"query": "zzqxv"}"#);
        assert_eq!(none.get("total_matches"), Some(&Json::from(0)));
        assert_eq!(bench.code("agent:ada", "session.docs", r#"{"query": " ?"}"#), ErrorCode::BlankQuery);
        assert_eq!(page("brigade://docs/none"), None);
        assert_eq!(page("brigade://docs/gateway#none"), None);
        assert!(page("brigade://docs/gateway").unwrap().starts_with("# "));
    }
}
