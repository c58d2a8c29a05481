//! Converts the output of a search program to the result of `web.search`.

use brigade_access::builtin::{SEARCH, definition};
use brigade_core::json::Dialect;
use brigade_core::{ErrorCode, Json};
use serde::Serialize;

use super::search::SearchArgs;
use crate::context::{Failure, Output};
use crate::run::arguments;

/// The maximum length of one search result, in bytes.
const MAX_RESULT_BYTES: usize = 2_000;

/// The result of `web.search`.
#[derive(Serialize)]
pub(super) struct SearchResult<'a> {
    pub(super) query: &'a str,
    pub(super) results: Vec<SearchRow>,
    /// Whether some documents were not searched.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub(super) truncated: bool,
}

#[derive(Serialize)]
pub(super) struct SearchRow {
    pub(super) title: String,
    pub(super) url: String,
    pub(super) snippet: String,
}

impl SearchResult<'_> {
    /// Writes the result, and as text a list with title, URL and snippet of each.
    pub(super) fn output(&self) -> Output {
        let row =
            |row: &SearchRow| format!("{}\n{}\n{}", row.title, row.url, row.snippet).trim_end().to_owned();
        let rows: Vec<String> = self.results.iter().map(row).collect();
        Output::from_result(self).text(rows.join("\n\n"))
    }
}

/// Parses the output of a search program: a list of objects with `title`, `url` and `snippet`, or an object with such a
/// list as `results`. Leaves out results beyond the number in the arguments.
///
/// # Errors
/// Returns `provider_failed` if the output has another form.
pub(crate) fn search_answer(args: &Json, printed: &str) -> Result<Output, Failure> {
    let args = definition(SEARCH).map_or_else(|| args.clone(), |row| row.with_defaults(args));
    let SearchArgs { query, max_results } = arguments(&args)?;
    let failed = |what: &str| {
        let message = format!("the search program did not print a list of results: {what}");
        Failure::new(ErrorCode::ProviderFailed, message)
    };
    let printed = Json::parse_bytes(printed.as_bytes(), Dialect::Strict);
    let printed = printed.map_err(|error| failed(&error.to_string()))?;
    let list = printed.as_array().or_else(|| printed.get("results")?.as_array());
    let list = list.ok_or_else(|| failed("expected a list, or an object with `results`"))?;
    let rows: Option<Vec<SearchRow>> = list.iter().take(max_results).map(row).collect();
    let rows =
        rows.ok_or_else(|| failed("each result needs a `title` and a `url`, and may have a `snippet`"))?;
    Ok(SearchResult { query: &query, results: rows, truncated: false }.output())
}

fn row(found: &Json) -> Option<SearchRow> {
    let cut = |text: &str| text[..text.floor_char_boundary(MAX_RESULT_BYTES)].to_owned();
    let text = |name: &str| found.get(name).and_then(Json::as_str).map(cut);
    let snippet = match found.get("snippet") {
        None | Some(Json::Null) => String::new(),
        Some(_) => text("snippet")?,
    };
    Some(SearchRow { title: text("title")?, url: text("url")?, snippet })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(printed: &str, most: usize, expect: Result<&str, ErrorCode>) {
        let args = Json::parse(&format!(r#"{{"query": "q", "max_results": {most}}}"#)).unwrap();
        let found = search_answer(&args, printed);
        let found = found.map(|output| output.structured.get("results").unwrap().to_compact());
        assert_eq!(found.as_deref().map_err(|failure| failure.code), expect, "{printed}");
    }

    #[test]
    fn a_list_of_results_is_read_and_nothing_else() {
        let one = r#"{"snippet":"s","title":"t","url":"u"}"#;
        let list = format!("[{one}]");
        check(&list, 9, Ok(&list));
        check(&format!(r#"{{"results": [{one}], "took": 3}}"#), 9, Ok(&list));
        check(&format!("[{one},{one}]"), 1, Ok(&list));
        check(r#"[{"title":"t","url":"u","rank":1}]"#, 9, Ok(r#"[{"snippet":"","title":"t","url":"u"}]"#));
        check("[]", 9, Ok("[]"));
        for printed in
            ["", "no network", "{}", "7", r#"[{"title":"t"}]"#, r#"[{"title":1,"url":"u"}]"#, "[null]"]
        {
            check(printed, 9, Err(ErrorCode::ProviderFailed));
        }
    }
}
