//! URLs of servers, and in words of commands: their host, and whether they hold secrets.

use brigade_redact::{MARK, is_secret_name};

use crate::variables::references;

/// Returns the host of a URL in small letters, with the port if one is written; `None` if it is not a plain host.
pub(crate) fn host_of(url: &str) -> Option<String> {
    let (_, rest) = url.trim().split_once("://")?;
    let authority = rest.split(['/', '?', '#', '\\']).next().unwrap_or_default();
    let host = authority.rsplit('@').next().unwrap_or_default();
    let is_plain = !host.is_empty()
        && host.len() <= 260
        && host.bytes().all(|byte| byte.is_ascii_alphanumeric() || b".-_:[]".contains(&byte));
    is_plain.then(|| host.to_ascii_lowercase())
}

/// Returns whether a member of the query of a URL is a secret by its name.
pub(crate) fn has_secret_query(url: &str) -> bool {
    let query = url.split_once('?').map_or("", |(_, query)| query);
    let mut members = query.split(['&', ';', '#']).filter_map(|member| member.split_once('='));
    members.any(|(name, value)| (is_secret_name(name) || name == "key") && references(value).is_literal())
}

/// Cuts user, path and query off a URL in a word. Those of packages (`git+https://…`) and files keep their path.
pub(crate) fn without_path(word: &str) -> String {
    let Some(at) = word.find("://") else { return word.to_owned() };
    let start =
        word[..at].rfind(|c: char| !c.is_ascii_alphanumeric() && !"+.-".contains(c)).map_or(0, |end| end + 1);
    let scheme = &word[start..at];
    let rest = &word[at + 3..];
    let authority = rest.find(['/', '?', '#']).unwrap_or(rest.len());
    let host = rest[..authority].rsplit('@').next().unwrap_or_default();
    let before = &word[..at + 3];
    if scheme == "file" || scheme.starts_with("git+") || scheme == "git" {
        let path = rest[authority..].split(['?', '#']).next().unwrap_or_default();
        return format!("{before}{host}{path}");
    }
    let path = &rest[authority..];
    let has_more = !matches!(path, "" | "/");
    format!("{before}{host}{}", if has_more { format!("/{MARK}") } else { path.to_owned() })
}

/// Returns what [`without_path`] cuts off: user, path and query of a URL in a word.
pub(crate) fn rest_of_url(word: &str) -> String {
    let Some((_, rest)) = word.split_once("://") else { return String::new() };
    let authority = rest.find(['/', '?', '#']).unwrap_or(rest.len());
    let user = rest[..authority].rsplit_once('@').map_or("", |(user, _)| user);
    let cut = if word.contains("git+") || word.contains("git://") || word.contains("file://") {
        rest[authority..].find(['?', '#']).map_or("", |at| &rest[authority + at..])
    } else {
        &rest[authority..]
    };
    format!("{user}{cut}")
}

/// Returns whether a URL in a word may hold a secret: in its user, its query, or a step of its path that nobody would
/// type.
pub(crate) fn may_hold_secret(word: &str) -> bool {
    let Some((_, rest)) = word.split_once("://") else { return false };
    let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
    let path = rest[authority.len()..].split(['?', '#']).next().unwrap_or_default();
    let is_random = |step: &str| {
        24 <= step.len()
            && step.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_-".contains(&byte))
            && 4 <= step.bytes().filter(u8::is_ascii_digit).count()
            && step.bytes().any(|byte| byte.is_ascii_alphabetic())
    };
    let user = authority.rsplit_once('@').map_or("", |(user, _)| user);
    (!user.is_empty() && references(user).is_literal())
        || has_secret_query(word)
        || path.split('/').any(is_random)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn urls_that_may_hold_secrets_are_recognized() {
        for word in [
            "https://me:pass@h/x",
            "--url=https://h/x?api_key=abc",
            "https://h/api/s/ZWJj12345678abcdefghijkl/mcp",
            "https://h/0123456789abcdef0123456789abcdef",
        ] {
            assert!(may_hold_secret(word), "{word}");
        }
        for word in [
            "https://mcp.linear.app/sse",
            "https://${USER}@h/x",
            "https://h/x?api_key=${KEY}&readonly=true",
            "git+https://github.com/some-organization-2026/a-quite-long-name-of-a-repository",
            "no-url/0123456789abcdef0123456789abcdef",
        ] {
            assert!(!may_hold_secret(word), "{word}");
        }
    }
}
