//! Secrets that the form of a word of a command line shows: attached to an option, or before a host.

use crate::rules::{is_placeholder, is_reference};
use crate::words::{HARMLESS_WORDS, PACKAGES, PASSES, SECRET_OPTIONS, TAGS};
use crate::{MARK, is_secret_name};

/// Returns whether an option takes a password, a web token or a cookie by a short name, whatever its value is:
/// `--pass`, `--dbpass`, `--pw`, `--jwt`, `--cookie`.
///
/// ```
/// use brigade_redact::is_secret_option;
///
/// assert!(is_secret_option("--dbpass") && is_secret_option("-jwt"));
/// assert!(!is_secret_option("--bypass") && !is_secret_option("--no-cookies") && !is_secret_option("pass"));
/// ```
pub fn is_secret_option(option: &str) -> bool {
    let Some(name) = option.strip_prefix('-') else { return false };
    let name = name.trim_start_matches('-').to_ascii_lowercase();
    SECRET_OPTIONS.contains(&name.as_str()) || is_glued_pass(&name)
}

/// Returns whether a word ends in `pass`, and is no other word: `dbpass`.
fn is_glued_pass(name: &str) -> bool {
    let is_word = name.len() <= 32 && name.bytes().all(|byte| byte.is_ascii_lowercase());
    is_word && name.len() > 4 && name.ends_with("pass") && !PASSES.contains(&name)
}

fn may_be_secret(value: &str) -> bool {
    !value.is_empty()
        && value != MARK
        && !is_placeholder(value)
        && !is_reference(value)
        && !HARMLESS_WORDS.contains(&value.to_ascii_lowercase().as_str())
}

/// Returns where the value begins in a word that defines a property with a secret name, such as `-DAPI_KEY=q1`.
///
/// ```
/// use brigade_redact::secret_property;
///
/// assert_eq!(secret_property("-DAPI_KEY=q1"), Some(10));
/// assert_eq!(secret_property("-Dmax_tokens=5"), None);
/// ```
pub fn secret_property(word: &str) -> Option<usize> {
    let (name, value) = word.strip_prefix('-')?.split_once('=')?;
    let is_letter = |c: char| c.is_ascii_alphabetic();
    let name = name.strip_prefix(is_letter)?;
    (is_secret_name(name) && may_be_secret(value)).then(|| word.len() - value.len())
}

/// Returns where the password begins in a word of the form `user:password@host` that has no scheme, alone or attached
/// to an option. Names of packages and images are none.
///
/// ```
/// use brigade_redact::password_before_host;
///
/// assert_eq!(password_before_host("--dsn=root:q1@tcp(db:3306)/app"), Some(11));
/// assert_eq!(password_before_host("npm:left-pad@1.3.0"), None);
/// ```
pub fn password_before_host(word: &str) -> Option<usize> {
    let text = if word.starts_with('-') { word.split_once('=')?.1 } else { word };
    let (user, rest) = text.split_once(':')?;
    let (password, host) = rest.rsplit_once('@')?;
    let is_user = user.len() <= 64
        && user.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_.%+-".contains(&byte))
        && !PACKAGES.contains(&user.to_ascii_lowercase().as_str());
    let is_password = !password.is_empty()
        && !password.starts_with(['/', '\\'])
        && !password.contains(char::is_whitespace)
        && !is_port_and_path(password)
        && password != MARK
        && !is_placeholder(password);
    (is_user && is_password && is_host(host)).then(|| word.len() - rest.len())
}

/// Returns whether a text is the rest of an address of a registry: `5000/image`.
fn is_port_and_path(text: &str) -> bool {
    text.split_once('/').is_some_and(|(port, _)| port.bytes().all(|byte| byte.is_ascii_digit()))
}

fn is_host(text: &str) -> bool {
    let end = text.find([':', '/', '?', '(', ',', '#']).unwrap_or(text.len());
    let name = &text[..end];
    let is_name =
        !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-.".contains(&byte));
    let is_version = || {
        let number = name.strip_prefix('v').unwrap_or(name);
        number.starts_with(|c: char| c.is_ascii_digit()) && name.parse::<std::net::Ipv4Addr>().is_err()
    };
    // `user:password@/database`, `user:password@(host)/database`.
    text.starts_with(['[', '/', '(']) || (is_name && !is_version() && !TAGS.contains(&name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn passwords_before_a_host_are_found() {
        for (word, at) in [
            ("me:pw1@db", Some(3)),
            ("me:p@w@db.example:5432/app", Some(3)),
            ("root:q1@tcp(127.0.0.1:3306)/app", Some(5)),
            ("root:q1@unix(/run/db.sock)/app", Some(5)),
            ("root:q1@/app", Some(5)),
            ("root:q1@(db)/app", Some(5)),
            (":q1@db:6379", Some(1)),
            ("-dsn=me:q1@10.0.0.1/app", Some(8)),
            ("me:${PW}@db", None),
            ("me:[redacted]@db", None),
            ("git@github.com:a/b", None),
            ("npm:@scope/x@1.2", None),
            ("image:1.0@sha256:0123", None),
            ("localhost:5000/image@v1", None),
            ("left:pad@latest", None),
            ("C:\\a@b", None),
            ("a:b c@d", None),
        ] {
            assert_eq!(password_before_host(word), at, "{word}");
        }
    }

    #[test]
    fn options_for_secrets_have_short_names() {
        for option in ["--pass", "-pass", "--userpass", "--pw", "--jwt", "--cookie", "--cookies"] {
            assert!(is_secret_option(option), "{option}");
        }
        for option in ["pass", "--compass", "--cookie-jar", "--no-pass", "--password-file", "--key"] {
            assert!(!is_secret_option(option), "{option}");
        }
        assert_eq!((secret_property("-Dtoken=q1"), secret_property("-Ptoken=$TOKEN")), (Some(8), None));
        assert_eq!((secret_property("-Dmode=q1"), secret_property("--token=q1")), (None, None));
    }
}
