//! Decides which repositories may be reached, from the text of a URL only.

use brigade_core::{ErrorCode, Glob};
use thiserror::Error;

/// Why a URL of a repository is refused. The messages do not quote it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum UrlProblem {
    /// Programs would read it as something else than a URL.
    #[error("this is not a plain URL of a repository")]
    NotPlain,
    /// It holds a user with a password, or a token.
    #[error("the URL holds credentials")]
    Credentials,
    /// No pattern of the policy matches it.
    #[error("no pattern under `urls` in [git] of .brigade/tools/policy.toml allows the URL")]
    NotAllowed,
}

impl UrlProblem {
    /// Returns the code of the refusal.
    pub fn code(self) -> ErrorCode {
        match self {
            UrlProblem::NotPlain => ErrorCode::UrlNotPlain,
            UrlProblem::Credentials => ErrorCode::CredentialsInUrl,
            UrlProblem::NotAllowed => ErrorCode::UrlNotAllowed,
        }
    }
}

/// The schemes that git itself speaks. Every other one starts a program.
const SCHEMES: &[&str] = &["https", "http", "ssh", "git", "file"];

/// Splits the short form of an ssh URL, `user@host:path`, into `user@host` and the path.
fn short_form(url: &str) -> Option<(&str, &str)> {
    let (authority, path) = url.split_once(':').filter(|_| !url.contains("://"))?;
    let (user, host) = authority.split_once('@')?;
    let is_plain = |text: &str| {
        let is_legal = |c: char| c.is_ascii_alphanumeric() || "._-".contains(c);
        !text.is_empty() && !text.starts_with(['-', '.']) && text.chars().all(is_legal)
    };
    (is_plain(user) && is_plain(host) && !path.is_empty()).then_some((authority, path))
}

/// Returns the scheme and the host of the URL of a repository, with the port if it has one. `None` for files.
pub fn remote_host(url: &str) -> Option<(&str, &str)> {
    if let Some((authority, _)) = short_form(url) {
        return Some(("ssh", authority.rsplit_once('@').map_or(authority, |(_, host)| host)));
    }
    let (scheme, rest) = url.split_once("://").filter(|(scheme, _)| *scheme != "file")?;
    let authority = rest.split('/').next().unwrap_or_default();
    Some((scheme, authority.rsplit_once('@').map_or(authority, |(_, host)| host)))
}

/// Checks a URL with the patterns of the policy: `https://host/path`, `ssh://git@host/path`, `git@host:path`,
/// `file:///path`, or an absolute path of this machine.
///
/// # Errors
/// Fails if programs may read it differently, if it holds credentials, or if no pattern matches it.
pub fn allowed_url(url: &str, patterns: &[String]) -> Result<(), UrlProblem> {
    let is_odd = |c: char| c.is_whitespace() || c.is_control() || "\\\"'`$<>{}|^*?#[]".contains(c);
    if url.is_empty() || 2_000 < url.len() || url.starts_with('-') || url.contains(is_odd) {
        return Err(UrlProblem::NotPlain);
    }
    let path = match url.split_once("://") {
        Some((scheme, rest)) => {
            let (authority, path) = rest.split_once('/').unwrap_or((rest, ""));
            if !SCHEMES.contains(&scheme) || (authority.is_empty() != (scheme == "file")) {
                return Err(UrlProblem::NotPlain);
            }
            if let Some((user, host)) = authority.rsplit_once('@') {
                // Only ssh URLs may name a user, which ssh needs to connect.
                if scheme != "ssh" || user.contains(':') || user.contains('@') {
                    return Err(UrlProblem::Credentials);
                }
                if user.starts_with('-') || host.starts_with('-') {
                    return Err(UrlProblem::NotPlain);
                }
            }
            if authority.starts_with('-') {
                return Err(UrlProblem::NotPlain);
            }
            path
        }
        None => match short_form(url) {
            Some((_, path)) => path,
            None => url.strip_prefix('/').ok_or(UrlProblem::NotPlain)?,
        },
    };
    let plain = path.to_ascii_lowercase().replace("%2e", ".").replace("%2f", "/");
    if plain.contains("::")
        || plain.split('/').any(|part| matches!(part, "." | "..") || part.starts_with('-'))
    {
        return Err(UrlProblem::NotPlain);
    }
    let is_allowed = patterns.iter().any(|pattern| Glob::new(pattern).matches(url));
    if is_allowed { Ok(()) } else { Err(UrlProblem::NotAllowed) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(url: &str, expect: Result<(), UrlProblem>) {
        let patterns = [
            "https://forge.example/team/**",
            "/srv/git/*",
            "ssh://git@forge.example/**",
            "file:///srv/**",
            "git@forge.example:**",
        ];
        assert_eq!(allowed_url(url, &patterns.map(str::to_owned)), expect, "{url}");
    }

    #[test]
    fn only_what_the_policy_allows_is_reached() {
        check("https://forge.example/team/a.git", Ok(()));
        check("https://forge.example/team/a/b", Ok(()));
        check("ssh://git@forge.example/a", Ok(()));
        check("git@forge.example:team/a.git", Ok(()));
        check("git@forge.example.evil:team/a.git", Err(UrlProblem::NotAllowed));
        check("/srv/git/a", Ok(()));
        check("file:///srv/git/a", Ok(()));
        check("/srv/git/a/b", Err(UrlProblem::NotAllowed));
        check("https://forge.example.evil/team/a", Err(UrlProblem::NotAllowed));
        check("http://forge.example/team/a", Err(UrlProblem::NotAllowed));
        assert_eq!(allowed_url("https://forge.example/a", &[]), Err(UrlProblem::NotAllowed));
    }

    #[test]
    fn ambiguous_urls_are_always_refused() {
        let all = ["**".to_owned()];
        for url in [
            "",
            "-u",
            "--upload-pack=x",
            "ext::sh -c id",
            "ext::id",
            "fd::17",
            "hg::https://a/b",
            "host:path",
            "-x@host:path",
            "git@-oProxyCommand=x:path",
            "git@host:",
            "git@host:a/../b",
            "git@host:--upload-pack=x",
            "a@b@host:path",
            "../a",
            "a/b",
            "https:///a",
            "file://host/a",
            "https://a/../b",
            "https://a/%2e%2e/b",
            "https://a/%2E%2fb",
            "https://a/b?x",
            "https://a/b#x",
            "https://a/b c",
            "https://a/b\nc",
            "https://a\\@b/c",
            "ssh://-oProxyCommand=x/a",
            "ssh://a@-oProxyCommand=x/a",
            "https://a/--upload-pack=x",
            "gopher://a/b",
        ] {
            assert_eq!(allowed_url(url, &all), Err(UrlProblem::NotPlain), "{url}");
        }
        for url in ["https://user@a/b", "https://user:word@a/b", "ssh://u:p@a/b", "https://token@a/b"] {
            assert_eq!(allowed_url(url, &all), Err(UrlProblem::Credentials), "{url}");
        }
        assert_eq!(allowed_url("https://a/b", &all), Ok(()));
        for (url, host) in [
            ("https://forge.example:8443/a", Some(("https", "forge.example:8443"))),
            ("ssh://git@forge.example/a", Some(("ssh", "forge.example"))),
            ("git@forge.example:a", Some(("ssh", "forge.example"))),
            ("file:///srv/a", None),
            ("/srv/a", None),
        ] {
            assert_eq!(remote_host(url), host, "{url}");
        }
    }
}
