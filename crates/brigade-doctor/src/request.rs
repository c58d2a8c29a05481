//! Options that select the issues of a health check.

use brigade_core::text::escape_terminal;
use brigade_core::{ErrorCode, ErrorKind, NextStep, closest};
use brigade_policy::Failure;

use crate::{Area, Issue, IssueType};

/// Options of a health check.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DoctorRequest {
    /// Whether issues fail the command.
    pub strict: bool,
    /// Only issues of these areas (`tool`, `policy`, …) and types (`missing_source`, …); all if empty.
    pub only: Vec<String>,
    /// Only issues of this tool or runtime.
    pub tool: Option<String>,
    /// Whether to list the built-in tools with missing requirements.
    pub explain_missing: bool,
    /// Whether failures of agents are issues however old they are.
    pub all: bool,
}

impl DoctorRequest {
    /// Refuses words that are not an area or a type.
    ///
    /// # Errors
    /// Fails if there is such a word.
    pub fn check(&self) -> Result<(), Failure> {
        // Problems in the files of agent programs are reported by discovery, not by this check.
        let is_found = |area: &Area| *area != Area::Discovery;
        let areas: Vec<&str> = Area::ALL.iter().copied().filter(is_found).map(Area::as_str).collect();
        let kinds = IssueType::all().iter().filter(|kind| is_found(&kind.area())).map(|kind| kind.code());
        let known: Vec<&str> = areas.iter().copied().chain(kinds).collect();
        let Some(word) = self.only.iter().find(|word| !known.contains(&word.as_str())) else {
            return Ok(());
        };
        let shown = escape_terminal(word);
        let is_named = |kind: &IssueType| !is_found(&kind.area()) && kind.code() == word;
        if word == Area::Discovery.as_str() || IssueType::all().iter().any(is_named) {
            let message =
                format!("`{shown}` is about files of agent programs, which this check does not read");
            return Err(Failure::new(ErrorKind::Usage, message)
                .coded(ErrorCode::FilterUnknown)
                .hint(NextStep::SyncRegistry));
        }
        let error =
            Failure::new(ErrorKind::Usage, format!("`{shown}` is neither an area nor a type of issues"))
                .coded(ErrorCode::FilterUnknown);
        Err(match closest(word, known.iter().copied()) {
            Some(near) => error.hint(format!("did you mean `{near}`?")),
            None => error.hint(format!("areas are {}", areas.join(", "))),
        })
    }

    /// Refuses a tool or runtime that is not configured and has no issue.
    ///
    /// # Errors
    /// Fails if the tool or runtime is not in `configured` and has no issue.
    pub fn check_tool<'a>(
        &self,
        configured: impl Iterator<Item = &'a str>,
        found: &'a [Issue],
    ) -> Result<(), Failure> {
        let Some(wanted) = &self.tool else { return Ok(()) };
        let concerned = found.iter().filter_map(|issue| issue.tool_id.as_deref());
        let known: Vec<&str> = configured.chain(concerned).collect();
        if known.contains(&wanted.as_str()) {
            return Ok(());
        }
        let shown = escape_terminal(wanted);
        let error = Failure::new(ErrorKind::Usage, format!("unknown tool or runtime `{shown}`"))
            .coded(ErrorCode::FilterUnknown);
        Err(match closest(wanted, known.iter().copied()) {
            Some(near) => error.hint(format!("did you mean `{near}`?")),
            None => error.hint(NextStep::ListTools),
        })
    }

    /// Returns whether the request includes issues that need the catalog.
    pub fn needs_catalog(&self) -> bool {
        let of_word = |word: &String| {
            let kind = || IssueType::all().iter().find(|kind| kind.code() == word);
            Area::from_word(word).or_else(|| kind().map(|kind| kind.area())).is_none_or(Area::needs_catalog)
        };
        self.only.is_empty() || self.only.iter().any(of_word)
    }

    /// Returns whether the request includes an issue.
    pub fn wants(&self, issue: &Issue) -> bool {
        let is_named = |word: &String| word == issue.area().as_str() || word == issue.kind.code();
        (self.only.is_empty() || self.only.iter().any(is_named))
            && self.tool.as_ref().is_none_or(|tool| issue.tool_id.as_ref() == Some(tool))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(word: &str, refused: Option<&str>) {
        let request = DoctorRequest { only: vec![word.to_owned()], ..DoctorRequest::default() };
        let found = request.check().err();
        assert_eq!(found.as_ref().map(|error| error.to_string()).as_deref(), refused, "{word}");
    }

    #[test]
    fn only_areas_and_types_of_the_check_are_accepted() {
        check("tool", None);
        check("client_literal_secret", None);
        let elsewhere =
            |word| format!("`{word}` is about files of agent programs, which this check does not read");
        check("discovery", Some(&elsewhere("discovery")));
        check("literal_secret", Some(&elsewhere("literal_secret")));
        check("tols", Some("`tols` is neither an area nor a type of issues"));
    }

    #[test]
    fn some_areas_are_checked_without_a_catalog() {
        #[track_caller]
        fn check(only: &[&str], expect: bool) {
            let only = only.iter().map(|word| (*word).to_owned()).collect();
            assert_eq!(DoctorRequest { only, ..DoctorRequest::default() }.needs_catalog(), expect);
        }
        check(&[], true);
        check(&["kitchen"], false);
        check(&["kitchen_receipts_broken", "policy"], false);
        check(&["kitchen", "missing_source"], true);
    }
}
