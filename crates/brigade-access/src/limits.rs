//! The limits of `constrain`, and their checks.

use brigade_core::{ErrorCode, Glob, Json, Place};
use thiserror::Error;

use crate::builtin::relative;
use crate::profiles::RuleLimits;
use crate::slot::ProfileName;
use crate::traits::{Source, ToolTraits};

/// A call that is outside of a limit of a profile.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{argument} is outside of {limit} of the profile {profile}", profile = profile.as_str())]
pub struct LimitViolation {
    /// The profile.
    pub profile: ProfileName,
    /// The place of the rule.
    pub place: Place,
    /// The argument. If no argument names the value: the path or host itself.
    pub argument: String,
    /// The limit, such as `constrain.paths`.
    pub limit: &'static str,
}

impl LimitViolation {
    /// The code of the refusal.
    pub const CODE: ErrorCode = ErrorCode::OutsideContext;
}

/// The limits of a caller's profiles for calls of one tool. The tool checks values that are not in the arguments, such
/// as redirects of a page or the files of a commit.
#[derive(Clone, Debug, Default)]
pub struct CallLimits(Vec<CallLimit>);

#[derive(Clone, Debug)]
struct CallLimit {
    profile: ProfileName,
    place: Place,
    constrain: RuleLimits,
}

impl CallLimits {
    /// Adds the limits of a profile's rule.
    pub fn add(&mut self, profile: &ProfileName, place: &Place, constrain: &RuleLimits) {
        let (profile, place) = (profile.clone(), place.clone());
        self.0.push(CallLimit { profile, place, constrain: constrain.clone() });
    }

    /// Checks a path relative to the workspace.
    ///
    /// # Errors
    /// Returns the first profile whose `constrain.paths` does not hold it.
    pub fn check_path(&self, path: &str) -> Result<(), Box<LimitViolation>> {
        let is_inside =
            |limits: &RuleLimits| limits.paths.as_ref().is_none_or(|allowed| is_in(allowed, path));
        self.check(path, "constrain.paths", &is_inside)
    }

    /// Checks a URL.
    ///
    /// # Errors
    /// Returns the first profile whose `constrain.domains` does not name its host.
    pub fn check_url(&self, url: &str) -> Result<(), Box<LimitViolation>> {
        let host = host(url);
        let is_inside = |limits: &RuleLimits| {
            limits.domains.as_ref().is_none_or(|allowed| names_host(allowed, host.as_deref()))
        };
        self.check(host.as_deref().unwrap_or("a URL without a host"), "constrain.domains", &is_inside)
    }

    /// Checks the size of a file that a call makes out of another file.
    ///
    /// # Errors
    /// Returns the first profile whose `constrain.max_bytes` is smaller.
    pub fn check_bytes(&self, path: &str, bytes: u64) -> Result<(), Box<LimitViolation>> {
        let is_inside = |limits: &RuleLimits| limits.max_bytes.is_none_or(|most| bytes <= most);
        self.check(path, "constrain.max_bytes", &is_inside)
    }

    /// Returns the number of calls that are allowed per minute.
    pub fn calls_per_minute(&self) -> Option<u64> {
        self.0.iter().filter_map(|known| known.constrain.calls_per_minute).min()
    }

    fn check(
        &self,
        what: &str,
        limit: &'static str,
        is_inside: &dyn Fn(&RuleLimits) -> bool,
    ) -> Result<(), Box<LimitViolation>> {
        match self.0.iter().find(|known| !is_inside(&known.constrain)) {
            None => Ok(()),
            Some(CallLimit { profile, place, .. }) => {
                let (profile, place) = (profile.clone(), place.clone());
                Err(Box::new(LimitViolation { profile, place, argument: what.to_owned(), limit }))
            }
        }
    }
}

/// Checks the arguments that the tool declares. Returns the first argument outside of a limit, with the limit.
pub(crate) fn check(
    constrain: &RuleLimits,
    tool: &ToolTraits<'_>,
    args: &Json,
    root: &str,
) -> Result<(), (String, &'static str)> {
    let kinds = &tool.arguments;
    if let Some(allowed) = &constrain.paths {
        let is_inside = |path: &str| relative(path, root).is_some_and(|path| is_in(allowed, &path));
        every(args, kinds.paths, &is_inside).map_err(|argument| (argument, "constrain.paths"))?;
    }
    if let Some(allowed) = &constrain.domains {
        let is_allowed = |url: &str| names_host(allowed, host(url).as_deref());
        every(args, kinds.urls, &is_allowed).map_err(|argument| (argument, "constrain.domains"))?;
    }
    if let Some(most) = constrain.max_bytes {
        let fits = |text: &str| text.len() as u64 <= most;
        every(args, kinds.contents, &fits).map_err(|argument| (argument, "constrain.max_bytes"))?;
    }
    Ok(())
}

/// Returns the limits that do not apply to a catalog tool, because its entry declares no arguments of their kind.
pub(crate) fn not_held(constrain: &RuleLimits, tool: &ToolTraits<'_>) -> Vec<&'static str> {
    if !matches!(tool.source, Source::Catalog { .. }) {
        return Vec::new();
    }
    let kinds = &tool.arguments;
    [
        ("constrain.paths", constrain.paths.is_some() && kinds.paths.is_empty()),
        ("constrain.domains", constrain.domains.is_some() && kinds.urls.is_empty()),
        ("constrain.max_bytes", constrain.max_bytes.is_some() && kinds.contents.is_empty()),
        ("constrain.commands", constrain.commands.is_some()),
    ]
    .into_iter()
    .filter_map(|(limit, is_idle)| is_idle.then_some(limit))
    .collect()
}

/// Checks every string in these arguments. An argument that is neither a string nor a list of strings is outside.
fn every(args: &Json, names: &[&str], is_inside: &dyn Fn(&str) -> bool) -> Result<(), String> {
    for name in names {
        // `list[].member` names the member of each element.
        if let Some((list, member)) = name.split_once("[].") {
            let elements = args.get(list).and_then(Json::as_array).unwrap_or_default();
            elements.iter().try_for_each(|element| every(element, &[member], is_inside))?;
            continue;
        }
        let fits = match args.get(name) {
            None => true,
            Some(Json::Array(elements)) => {
                elements.iter().all(|element| element.as_str().is_some_and(is_inside))
            }
            Some(value) => value.as_str().is_some_and(is_inside),
        };
        if !fits {
            return Err((*name).to_owned());
        }
    }
    Ok(())
}

fn names_host(allowed: &[String], host: Option<&str>) -> bool {
    host.is_some_and(|host| allowed.iter().any(|domain| Glob::new(domain).matches(host)))
}

/// Returns whether a path equals or matches one of these, or is below it.
fn is_in(allowed: &[String], path: &str) -> bool {
    allowed.iter().any(|pattern| {
        let Some(pattern) = relative(pattern, "/") else { return false };
        pattern.is_empty()
            || Glob::new(&pattern).matches(path)
            || Glob::new(&format!("{pattern}/**")).matches(path)
    })
}

/// Compares words of a command with words that a profile allows.
#[derive(Clone, Copy)]
pub struct SameWords<'a> {
    /// Whether the typed word for a program means the same program as the allowed word.
    pub program: &'a dyn Fn(&str, &str) -> bool,
    /// Whether a later word with the allowed text is not a file, or is the same file here.
    pub file: &'a dyn Fn(&str) -> bool,
}

/// Returns whether the words of a command begin with the words of an allowed command.
pub(crate) fn begins(typed: &[String], allowed: &[String], same: SameWords<'_>) -> bool {
    let Some((program, typed)) = typed.split_first() else { return false };
    allowed.iter().any(|words| {
        let mut words = words.split_whitespace();
        words.next().is_some_and(|allowed| (same.program)(program, allowed))
            && words.clone().count() <= typed.len()
            && words.zip(typed).all(|(allowed, typed)| allowed == typed && (same.file)(typed))
    })
}

/// Returns the host of a URL, in lower case.
fn host(url: &str) -> Option<String> {
    // Clients read these characters differently.
    if url.contains(|c: char| c == '\\' || c.is_whitespace() || c.is_control()) {
        return None;
    }
    let (_, rest) = url.split_once("://")?;
    let authority = rest.split(['/', '?', '#']).next()?;
    let host = authority.rsplit('@').next()?;
    let host = match host.strip_prefix('[') {
        Some(rest) => rest.split(']').next()?,
        None => host.split(':').next()?,
    };
    Some(host.trim_end_matches('.').to_ascii_lowercase()).filter(|host| !host.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check_path(path: &str, expect: Option<&str>) {
        assert_eq!(relative(path, "/work/space").as_deref(), expect, "{path}");
    }

    #[test]
    fn paths_are_beneath_the_workspace_or_outside() {
        check_path("docs/./a/../b", Some("docs/b"));
        check_path(".", Some(""));
        check_path("/work/space/docs", Some("docs"));
        check_path("/work/space", Some(""));
        check_path("/work/spaces/docs", None);
        check_path("/etc/passwd", None);
        check_path("docs/../../etc", None);
        check_path("~/notes", None);
    }

    #[track_caller]
    fn check_in(allowed: &[&str], path: &str, expect: bool) {
        let allowed: Vec<String> = allowed.iter().map(|text| (*text).to_owned()).collect();
        assert_eq!(is_in(&allowed, path), expect, "{allowed:?} {path}");
    }

    #[test]
    fn a_directory_holds_what_is_beneath_it() {
        check_in(&["docs"], "docs", true);
        check_in(&["docs/"], "docs/a/b", true);
        check_in(&["docs"], "docsx/a", false);
        check_in(&["src/*.rs"], "src/a.rs", true);
        check_in(&["src/*.rs"], "src/a/b.rs", false);
        check_in(&["."], "anything/at/all", true);
        check_in(&["../x"], "x", false);
        check_in(&[], "a", false);
    }

    #[track_caller]
    fn check_command(allowed: &str, command: &[&str], expect: bool) {
        let typed: Vec<String> = command.iter().map(|word| (*word).to_owned()).collect();
        let is_same = |typed: &str, allowed: &str| typed.trim_start_matches("/bin/") == allowed;
        let same = SameWords { program: &is_same, file: &|word| word != "elsewhere" };
        assert_eq!(begins(&typed, &[allowed.to_owned()], same), expect, "{allowed}: {command:?}");
    }

    #[test]
    fn commands_are_compared_word_by_word() {
        check_command("git status", &["git", "status", "--short"], true);
        check_command("git status", &["/bin/git", "status"], true);
        check_command("git status", &["git", "statusx"], false);
        check_command("git status", &["git", "-C", "status"], false);
        check_command("git status", &["git"], false);
        check_command("git", &["gitk"], false);
        check_command("python3 elsewhere", &["python3", "elsewhere"], false);
        check_command("python3", &["python3", "elsewhere"], true);
        check_command("", &["git"], false);
        check_command("git", &[], false);
    }

    #[test]
    fn hosts_are_what_a_client_would_connect_to() {
        assert_eq!(host("https://User@Docs.RS:443/x?y").as_deref(), Some("docs.rs"));
        assert_eq!(host("https://good.org\\@evil.org/"), None);
        assert_eq!(host("http://[::1]:80/").as_deref(), Some("::1"));
        assert_eq!(host("https://evil.org#@good.org").as_deref(), Some("evil.org"));
        assert_eq!(host("no url"), None);
    }
}
