//! Searches documents of the workspace instead of the web.

use std::collections::BTreeSet;

use brigade_core::{ErrorCode, Fingerprint, Json};
use brigade_db::memory::{blank, search_words};
use brigade_db::texts::{Section, TextIndex};
use brigade_redact::Redactor;
use serde::Deserialize;

use super::answer::{SearchResult, SearchRow};
use crate::context::{Context, Failure, Output, TouchedPath};
use crate::docs::sections;
use crate::files::{Texts, texts_beneath};
use crate::run::arguments;

/// The maximum length of a snippet, in bytes.
const SNIPPET: usize = 300;

/// How many sections are fetched per requested page, because several may be in one page.
const SECTIONS_PER_PAGE: usize = 8;

/// The arguments of `web.search`.
#[derive(Deserialize)]
pub(super) struct SearchArgs {
    pub(super) query: String,
    pub(super) max_results: usize,
}

/// `web.search` in documents instead of the web. Other calls are answered by a program.
pub(super) fn search(input: &Json, context: &mut Context<'_>) -> Result<Output, Failure> {
    let SearchArgs { query, max_results } = arguments(input)?;
    if blank(&query) {
        return Err(Failure::new(ErrorCode::BlankQuery, "the query has no words to search for"));
    }
    let folder = context.search_folder.clone().ok_or_else(|| {
        let message = "no search provider: set `search` under `[web]` in .brigade/tools/gateway.toml";
        Failure::new(ErrorCode::NotAvailableHere, message)
    })?;
    let Texts { texts, is_all } = texts_beneath(context, &folder)?;
    let all = texts.iter().flat_map(|(path, text)| sections(path, text).map(titled(path)));
    let (index, words) = (TextIndex::new(all)?, search_words(&query));
    let file = |section: &Section| section.key.split('#').next().unwrap_or_default().to_owned();
    // One file may contain all of the best sections.
    let mut most = max_results * SECTIONS_PER_PAGE;
    let found = loop {
        let (found, _) = index.search(&query, most)?;
        let files: BTreeSet<String> = found.iter().map(file).collect();
        if max_results <= files.len() || found.len() < most {
            break found;
        }
        most *= 8;
    };
    let mut rows: Vec<SearchRow> = Vec::new();
    let mut listed: Vec<String> = Vec::new();
    for section in &found {
        let path = &file(section);
        if max_results <= rows.len() || listed.contains(path) {
            continue;
        }
        listed.push(path.to_owned());
        rows.push(SearchRow {
            title: section.title.clone(),
            url: section.key.clone(),
            snippet: snippet(&section.text, &words, context.redactor),
        });
    }
    for (path, text) in texts.iter().filter(|(path, _)| listed.contains(path)) {
        let hash = Some(Fingerprint::of_bytes(text.as_bytes()));
        context.touched.push(TouchedPath { path: path.clone(), before: hash, after: hash });
    }
    Ok(SearchResult { query: &query, results: rows, truncated: !is_all }.output())
}

/// Uses the file name as the title of the text before the first heading.
fn titled(path: &str) -> impl Fn(Section) -> Section {
    let name = path.rsplit('/').next().unwrap_or_default().to_owned();
    move |mut section| {
        if section.title.is_empty() || !section.text.trim_start().starts_with('#') {
            section.title.clone_from(&name);
        }
        section
    }
}

/// Returns the lines around the first search word.
fn snippet(text: &str, words: &[String], redactor: &Redactor) -> String {
    let bare: Vec<String> = words.iter().map(|word| word.trim_matches('"').to_lowercase()).collect();
    let is_hit = |line: &&str| {
        let line = line.to_lowercase();
        bare.iter().any(|word| line.contains(word.as_str()))
    };
    let lines: Vec<&str> = text.lines().filter(|line| !line.trim().is_empty()).collect();
    let hit = lines.iter().position(|line| !line.starts_with('#') && is_hit(line)).unwrap_or_default();
    let mut found = lines[hit.min(lines.len())..].join(" ");
    if redactor.cut(&mut found, SNIPPET) {
        found.push('…');
    }
    found
}

#[cfg(test)]
mod tests {
    use brigade_access::builtin::definition;
    use brigade_redact::SecretValue;

    use super::*;
    use crate::run::run;
    use crate::stored::testing::{Bench, text};

    fn searched(bench: &Bench, args: &str) -> Result<Output, Failure> {
        bench.with("agent:ada", |context| {
            context.search_folder = Some("pages".to_owned());
            let found = run(definition("web.search").unwrap(), &Json::parse(args).unwrap(), context);
            assert!(context.touched.iter().all(|touched| touched.path.starts_with("pages/")));
            found
        })
    }

    #[test]
    #[allow(clippy::disallowed_methods, reason = "the test writes the documents that are searched")]
    fn documents_are_searched_instead_of_the_web() {
        let bench = Bench::new();
        let write = |path: &str, bytes: &[u8]| {
            let path = bench.fs_root().join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, bytes).unwrap();
        };
        write("pages/soup.md", b"# Soup\n\nWith lentils.\n\n## Salt\n\nA pinch of salt for the lentils.\n");
        write("pages/deep/bread.txt", b"Flour, water, salt.\nBake it.\n");
        write("pages/.env", b"SALT=lentils\n");
        write("pages/picture.png", b"\x89PNG\0salt");
        write("elsewhere.md", b"# Salt\n");
        let found = searched(&bench, r#"{"query": "salt"}"#).unwrap().structured;
        let rows = found.get("results").unwrap().as_array().unwrap();
        let urls: Vec<&str> = rows.iter().map(|row| text(row, "url")).collect();
        assert_eq!(urls, ["pages/soup.md#salt", "pages/deep/bread.txt"], "{found:?}");
        assert_eq!((text(&rows[0], "title"), text(&rows[1], "title")), ("Salt", "bread.txt"));
        assert_eq!(text(&rows[0], "snippet"), "A pinch of salt for the lentils.");
        let one = searched(&bench, r#"{"query": "salt lentils", "max_results": 1}"#).unwrap().structured;
        assert_eq!(one.get("results").unwrap().as_array().unwrap().len(), 1);
        // A file with many headings does not hide others.
        write("pages/many.md", "# h salt\n".repeat(2_000).as_bytes());
        let two = searched(&bench, r#"{"query": "salt", "max_results": 3}"#).unwrap().structured;
        assert_eq!(two.get("results").unwrap().as_array().unwrap().len(), 3, "{two:?}");
        let none = searched(&bench, r#"{"query": "zzqxv"}"#).unwrap().structured;
        assert_eq!(none.get("results"), Some(&Json::from(Vec::<Json>::new())));
        assert_eq!(searched(&bench, r#"{"query": "?"}"#).unwrap_err().code, ErrorCode::BlankQuery);
        assert_eq!(
            bench.code("agent:ada", "web.search", r#"{"query": "salt"}"#),
            ErrorCode::NotAvailableHere
        );
        let gone = Bench::new();
        assert_eq!(searched(&gone, r#"{"query": "salt"}"#).unwrap_err().code, ErrorCode::NotFound);
    }

    #[test]
    fn a_snippet_is_cut_at_a_character() {
        let long = "é".repeat(SNIPPET);
        let none = Redactor::new(&[]);
        assert!(snippet(&long, &[], &none).ends_with('…'));
        let bound = Redactor::new(&[SecretValue::new("zq7Canary#Wert-9931")]);
        let hidden = format!("{}zq7Canary#Wert-9931 more", "q".repeat(SNIPPET - 9));
        assert!(snippet(&hidden, &[], &bound).ends_with("qqq[redacted]…"));
        assert_eq!(snippet("", &["x".to_owned()], &none), "");
        assert_eq!(snippet("# x\na\nb x\nc", &["\"x\"".to_owned()], &none), "b x c");
    }
}
