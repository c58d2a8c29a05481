//! Answers of programs that the configuration names for built-in tools.

use brigade_access::builtin::{SEARCH, is_of_issues};
use brigade_core::Json;

use crate::context::{Failure, Output};
use crate::issue::issue_answer;
use crate::pr::forge_answer;
use crate::web::search_answer;

/// Converts what a program printed for a call of `web.search`, `issue.*` or `pr.*` to a result.
///
/// # Errors
/// Returns `provider_failed` if the output has another form, and errors that the program reports.
pub fn provider_answer(tool: &str, args: &Json, printed: &str) -> Result<Output, Failure> {
    match tool {
        SEARCH => search_answer(args, printed),
        tool if is_of_issues(tool) => issue_answer(tool, printed),
        _ => forge_answer(tool, printed),
    }
}
