//! Names that look like they hold a secret.

/// Returns whether a key's name says that its value is a secret.
pub(crate) fn is_secret_name(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    ["password", "passwd", "secret", "credential", "token", "api_key", "apikey", "api-key"]
        .iter()
        .any(|word| name.contains(word))
}
